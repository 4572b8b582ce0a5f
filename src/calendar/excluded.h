/* Which exception of a rule leaves out an instant. Pure; allocates nothing. Threads: any. */
#ifndef BF_CALENDAR_EXCLUDED_H
#define BF_CALENDAR_EXCLUDED_H

#include <belfry/calendar.h>

#include "base/compiler.h"

/* True: the rule names `at`, and is not due then because an exception leaves it out. *ret_calendar is the
 * shared calendar that does, borrowed from the rule, or empty for the rule's own exceptions. Times that are
 * listed ("at") and left out are not kept in a rule, so of them it knows nothing: false. */
bool bf_rule_excluded(const struct belfry_rule *rule, belfry_time at,
		struct belfry_str *ret_calendar);

#endif
