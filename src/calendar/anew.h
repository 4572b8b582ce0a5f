/* A due time that was computed with another tz database, computed anew with the rule's own. Pure.
 *
 * What was decided is known by its local time, and that is what counts: a fixed time is due once a day, whatever
 * the databases say when that is. A local time is an instant's reading on the clocks of the rule's zone, in
 * microseconds as though they showed UTC. */
#ifndef BF_CALENDAR_ANEW_H
#define BF_CALENDAR_ANEW_H

#include <belfry/calendar.h>

struct bf_anew {
	belfry_time decided_due; /* the last due time that was decided, or where the rule began; 0: not known */
	belfry_time decided_local; /* its local time by the other database */
	belfry_time cursor;        /* the due time that the other database has behind it */
};

/* The due time to follow, BELFRY_TIME_NEVER: none. With a database that says the same it is old->cursor.
 *
 * A fixed-time expression goes on with the first due time whose LOCAL time is later than the decided one's; it
 * may lie before `now`, and is owed then; so does a list with its local times. An interval, an
 * interval-like expression and, where the database has another offset at the decided due time, an instant
 * of a list go on with the first after `now`, or with the cursor where that has passed. */
belfry_time bf_rule_anew(const struct belfry_rule *rule, const struct bf_anew *old,
		belfry_time now);
/* What the clocks of the rule's zone show at `at`. */
belfry_time bf_rule_local(const struct belfry_rule *rule, belfry_time at);

#endif
