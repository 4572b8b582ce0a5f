/* Why a rule is not due at an instant that it names: each part is asked as though it had no exceptions, and
 * then the lists that hold for it which of them has the instant.
 *
 * A local time that the clocks left out stands for another instant (due.c). The list that names the local
 * time itself is then not found by the instant, and the innermost one is told, whose words come first. */
#include "calendar/excluded.h"

#include "base/str.h"
#include "base/timefmt.h"
#include "calendar/advance.h"
#include "calendar/civil.h"
#include "calendar/rule.h"

static bool names_cron(const struct belfry_rule *rule, const struct bf_cron *cron, belfry_time at)
{
	struct bf_cron whole = *cron;
	int64_t second = bf_floor_div(at, BELFRY_SECOND);

	whole.except = NULL;
	return second * BELFRY_SECOND == at && bf_due_next(&rule->policy, &whole, second) == second;
}

static bool names(const struct belfry_rule *rule, const struct bf_part *part, belfry_time at)
{
	if (part->excepts == NULL || at < part->not_before || at > part->not_after) {
		return false;
	}
	switch (part->kind) {
	case BF_PART_CRON: return names_cron(rule, &part->of.cron, at);
	case BF_PART_EVERY:
		return at >= part->of.every.anchor &&
				bf_time_since(at, part->of.every.anchor) % part->of.every.period ==
				0;
	case BF_PART_AT: break;
	}
	return false;
}

bool bf_rule_excluded(const struct belfry_rule *rule, belfry_time at,
		struct belfry_str *ret_calendar)
{
	if (bf_advance_is_due(rule, at)) {
		return false;
	}
	for (size_t i = 0; i < rule->count; i++) {
		const struct bf_part *part = &rule->parts[i];
		if (!names(rule, part, at)) {
			continue;
		}
		const struct bf_except_set *set = bf_except_find(part->excepts, rule->zone, at);
		if (set == NULL) {
			set = part->excepts;
		}
		*ret_calendar = bf_str(set->calendar);
		return true;
	}
	return false;
}

/* The change that put the clocks forward by more than has gone by since. False: there is none. */
static bool find_skip(const struct bf_zone *zone, int64_t second, struct bf_rule_skip *ret_skip)
{
	struct bf_span span = bf_zone_span(zone, second);

	if (span.start == BF_ZONE_BEGIN) {
		return false;
	}
	struct bf_span before = bf_zone_span(zone, span.start - 1);
	ret_skip->from = span.start + before.offset;
	ret_skip->to = span.start + span.offset;
	return second - span.start < ret_skip->to - ret_skip->from;
}

static bool is_skipped(const struct belfry_rule *rule, const struct bf_part *part,
		const struct bf_rule_skip *skip)
{
	const struct bf_cron *cron = &part->of.cron;
	bool is_left_to_policy = part->kind == BF_PART_AT || cron->is_fixed;
	int64_t local = BF_CRON_NEVER;

	if (part->kind == BF_PART_EVERY ||
			(is_left_to_policy && rule->policy.gap != BELFRY_DST_GAP_SKIP)) {
		return false;
	}
	local = part->kind == BF_PART_AT ? part->of.at.missing : bf_cron_next(cron, skip->from);
	return local >= skip->from && local < skip->to &&
			bf_due_local(&rule->policy, local).is_missing;
}

bool bf_rule_skipped(const struct belfry_rule *rule, belfry_time at, struct bf_rule_skip *ret_skip)
{
	struct bf_rule_skip skip;

	if (at < BF_RULE_FIRST_TIME || at > BF_RULE_LAST_TIME ||
			!find_skip(rule->zone, bf_floor_div(at, BELFRY_SECOND), &skip)) {
		return false;
	}
	for (size_t i = 0; i < rule->count; i++) {
		const struct bf_part *part = &rule->parts[i];
		if (at >= part->not_before && at <= part->not_after &&
				is_skipped(rule, part, &skip)) {
			*ret_skip = skip;
			return true;
		}
	}
	return false;
}
