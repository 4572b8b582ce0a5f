/* Walking a rule's due times over a stretch of time: what a planner owes after it slept. Pure, allocates
 * nothing, commits nothing. All bounds are instants; `to` counts, `from` does not.
 *
 * Threads  any; the rule is only read. rule is borrowed for the life of the iterator. */
#ifndef BF_CALENDAR_ADVANCE_H
#define BF_CALENDAR_ADVANCE_H

#include <belfry/calendar.h>

#include "base/compiler.h"

/* Due times from a stored one up to `now`, oldest first, and then the one that follows. */
struct bf_advance {
	const struct belfry_rule *rule;
	belfry_time next; /* not yet handed out; BELFRY_TIME_NEVER: the rule has no more */
	belfry_time now;
};

/* Start with the stored due time: it is owed because it is stored, the rule is asked only for what comes
 * after it. BELFRY_TIME_NEVER as stored_due: nothing is owed. */
void bf_advance_init(struct bf_advance *advance, const struct belfry_rule *rule,
		belfry_time stored_due, belfry_time now);
/* The next due time that is owed. BELFRY_OK; BELFRY_NEVER when none is left at or before now: then
 * advance->next is the one that follows (BELFRY_TIME_NEVER: the rule is exhausted). */
BF_MUST_CHECK enum belfry_status bf_advance_next(struct bf_advance *advance, belfry_time *ret_due);

/* How many due times lie in (from, to], counting no further than max, and the last one counted. With no
 * due time there *ret_count is 0 and *ret_last stays as it was. */
void bf_advance_count(const struct belfry_rule *rule, belfry_time from, belfry_time to,
		uint64_t max, uint64_t *ret_count, belfry_time *ret_last);

/* The latest `max` due times in (from, to], oldest first; costs no more than a few times their number,
 * however long the stretch. ret_times has room for max. */
void bf_advance_latest(const struct belfry_rule *rule, belfry_time from, belfry_time to, size_t max,
		belfry_time *ret_times, size_t *ret_count);

/* Whether `time` itself is a due time. */
bool bf_advance_is_due(const struct belfry_rule *rule, belfry_time time);

#endif
