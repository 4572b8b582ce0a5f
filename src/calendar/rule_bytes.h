/* How much memory a rule keeps: see rule_bytes.c. */
#ifndef BF_CALENDAR_RULE_BYTES_H
#define BF_CALENDAR_RULE_BYTES_H

#include <belfry/calendar.h>

size_t bf_rule_bytes(const struct belfry_rule *rule);

#endif
