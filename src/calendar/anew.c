/* Going on with a rule behind what another tz database has decided.
 *
 * Invariants  no local time of a fixed-time expression comes twice (but under fold: both, where it is meant to),
 *             and none is left out that was not decided; where both databases agree nothing changes.
 * Not here    which rows were computed with another database, and when that is looked at: the engine's. */
#include "calendar/anew.h"

#include "base/timefmt.h"
#include "calendar/rule.h"

belfry_time bf_rule_local(const struct belfry_rule *rule, belfry_time at)
{
	return bf_time_add(at, (belfry_duration)belfry_rule_offset(rule, at) * BELFRY_SECOND);
}

/* No instant before it reads later than `local`: the largest offset around it decides. */
static belfry_time before_local(const struct belfry_rule *rule, belfry_time local)
{
	int32_t offset = belfry_rule_offset(rule, local);

	for (int days = -1; days <= 1; days += 2) {
		int32_t near = belfry_rule_offset(rule, bf_time_add(local, days * BELFRY_DAY));
		offset = BF_MAX(offset, near);
	}
	return bf_time_add(local, -(belfry_duration)offset * BELFRY_SECOND - 1);
}

/* Was this local time decided already? Where the databases agree about what was decided, what lies behind it is
 * new, but for a repetition that only the rule's own database has. */
static bool is_repeated(const struct belfry_rule *rule, const struct bf_anew *old, bool agrees,
		belfry_time due)
{
	if (bf_rule_local(rule, due) > old->decided_local) {
		return false;
	}
	return !agrees || (rule->policy.fold == BELFRY_DST_FOLD_LAST && due != old->cursor);
}

static belfry_time next_fixed(const struct belfry_rule *rule, size_t part,
		const struct bf_anew *old, bool agrees)
{
	belfry_time after = agrees ? old->decided_due : before_local(rule, old->decided_local);
	belfry_time due = bf_rule_part_next(rule, part, after);

	while (due != BELFRY_TIME_NEVER && is_repeated(rule, old, agrees, due)) {
		due = bf_rule_part_next(rule, part, due);
	}
	return due;
}

belfry_time bf_rule_anew(const struct belfry_rule *rule, const struct bf_anew *old, belfry_time now)
{
	bool is_known = old->decided_due != 0;
	bool agrees = is_known && bf_rule_local(rule, old->decided_due) == old->decided_local;
	belfry_time after = BF_MIN(now, bf_time_add(old->cursor, -1));
	belfry_time next = BELFRY_TIME_NEVER;

	for (size_t i = 0; i < rule->count; i++) {
		const struct bf_part *part = &rule->parts[i];
		bool is_fixed = part->kind == BF_PART_CRON && part->of.cron.is_fixed;
		bool is_instant = part->kind == BF_PART_AT && agrees;
		belfry_time due = is_known && is_fixed ? next_fixed(rule, i, old, agrees)
				: is_instant ? bf_rule_part_next(rule, i, old->decided_due)
					     : bf_rule_part_next(rule, i, after);
		next = BF_MIN(next, due);
	}
	return next;
}
