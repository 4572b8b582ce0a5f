/* Compiled rules by schedule, revision and words: a plan asks for the same ones every time. Bounded in
 * number and in bytes (a shared calendar makes a rule ten times as large); the oldest go first. One user, no lock. */
#ifndef BF_RULES_H
#define BF_RULES_H

#include <belfry/calendar.h>

#include "model/definition.h"

struct bf_rules;

BF_MUST_CHECK enum belfry_status bf_rules_new(struct belfry_zones *zones, size_t max_count,
		size_t max_bytes, struct bf_rules **ret_rules);
void bf_rules_free(struct bf_rules *rules);

/* The rule of a definition, parsed where it is not kept yet. Borrowed until the next find or clear.
 * BELFRY_OK, BELFRY_INVALID_SCHEDULE (cannot be evaluated here, err says why), BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_rules_find(struct bf_rules *rules, struct belfry_str schedule,
		int64_t revision, const struct bf_definition *definition,
		const struct belfry_rule **ret_rule, struct belfry_error *err);

/* Forget all. A tz database that has changed (belfry_zones_generation) is found by the next find. */
void bf_rules_clear(struct bf_rules *rules);

/* What is kept now, as it was asked for. */
size_t bf_rules_bytes(const struct bf_rules *rules);

#endif
