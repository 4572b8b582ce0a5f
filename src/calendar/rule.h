/* Inside a rule: a union of parts, each with its window. */
#ifndef BF_CALENDAR_RULE_H
#define BF_CALENDAR_RULE_H

#include <belfry/calendar.h>

#include "calendar/cron.h"
#include "calendar/due.h"
#include "calendar/except.h"

/* The last instant that can be a due time: 9999-12-31T23:59:59.999999Z. */
#define BF_RULE_LAST_TIME  INT64_C(253402300799999999)
#define BF_RULE_FIRST_TIME INT64_C(-62135596800000000)

enum bf_part_kind { BF_PART_CRON, BF_PART_EVERY, BF_PART_AT };

struct bf_part {
	enum bf_part_kind kind;
	belfry_time not_before; /* both ends count */
	belfry_time not_after;
	belfry_time over; /* nothing is due from here on; 0: that is not known */
	const struct bf_except_set
			*excepts; /* what holds for it, of the rule's sets; NULL: nothing */
	struct bf_except *left;   /* owned; of a cron, or of `every.seconds`; may be NULL */
	union {
		struct bf_cron cron;
		struct {
			belfry_time anchor; /* the first due time */
			belfry_duration period;
			bool is_anchor_default;  /* when the schedule is made: for telling */
			struct bf_cron *seconds; /* owned: every second, less the exceptions; may be
						    NULL */
		} every;
		struct {
			belfry_time *times; /* owned by the rule; ascending */
			size_t count;
			belfry_time *locals; /* owned: those of them that were written as local times,
						ascending too; another database has them elsewhere */
			size_t local_count;
			/* The first local second as written that the clocks skip, and that they
			 * show twice: for telling. BF_CRON_NEVER: none. */
			int64_t missing;
			int64_t repeated;
		} at;
	} of;
};

struct belfry_rule {
	struct bf_due_policy policy; /* the rule owns one reference of its zone */
	struct bf_zone *zone;
	struct bf_part *parts;
	size_t count;
	struct bf_except_set **sets; /* owned, each and all */
	size_t set_count;
	size_t set_capacity;
	unsigned looks;         /* that an answer takes at days and minutes of one interval */
	uint32_t max_fires;     /* 0: no limit; counted by whoever fires */
	belfry_duration spread; /* 0: none */
};

/* belfry_rule_next of one part alone; BELFRY_TIME_NEVER: none. */
belfry_time bf_rule_part_next(const struct belfry_rule *rule, size_t part, belfry_time after);

/* The same for a part, with so many looks at exceptions; *looks counts down, and at 0 it was given up. */
belfry_time bf_rule_look(const struct belfry_rule *rule, const struct bf_part *part,
		belfry_time after, unsigned *looks);

/* Whether it fires, and is answered soon (rule_check.c); sets `looks` and each part's `over`. BELFRY_OK or
 * BELFRY_INVALID_SCHEDULE. */
BF_MUST_CHECK enum belfry_status bf_rule_check(struct belfry_rule *rule, struct belfry_error *err);

/* The JSON form (docs/calendar.md). Fills rule->parts; rule->policy and zone are set. */
BF_MUST_CHECK enum belfry_status bf_rule_parse_json(struct belfry_rule *rule,
		struct belfry_str text, const struct belfry_rule_options *options,
		struct belfry_error *err);

#endif
