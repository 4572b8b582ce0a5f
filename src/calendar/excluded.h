/* Which exception of a rule leaves out an instant, and which change of the clocks. Pure; allocates nothing. Threads: any. */
#ifndef BF_CALENDAR_EXCLUDED_H
#define BF_CALENDAR_EXCLUDED_H

#include <belfry/calendar.h>

#include "base/compiler.h"

/* True: the rule names `at`, and is not due then because an exception leaves it out. *ret_calendar is the
 * shared calendar that does, borrowed from the rule, or empty for the rule's own exceptions. Times that are
 * listed ("at") and left out are not kept in a rule, so of them it knows nothing: false. */
bool bf_rule_excluded(const struct belfry_rule *rule, belfry_time at,
		struct belfry_str *ret_calendar);

/* What the clocks left out. Local seconds, as if UTC. */
struct bf_rule_skip {
	int64_t from;
	int64_t to;
};

/* True: `at`, which is no due time, lies where the clocks would have shown what they skip, and the rule names a
 * time in there that is therefore not due: one of an interval, or one that `gap` says to skip. */
bool bf_rule_skipped(const struct belfry_rule *rule, belfry_time at, struct bf_rule_skip *ret_skip);

#endif
