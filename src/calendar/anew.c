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

/* Is it in the ascending list? */
static bool has_time(const belfry_time *times, size_t count, belfry_time time)
{
	size_t i = 0;

	while (i < count && times[i] < time) {
		i++;
	}
	return i < count && times[i] == time;
}

/* Where the databases disagree about what was decided: local times go on behind the decided one's reading,
 * wherever they lie now; instants as they are. */
static belfry_time next_listed(const struct belfry_rule *rule, size_t part,
		const struct bf_anew *old, belfry_time after)
{
	const struct bf_part *p = &rule->parts[part];
	belfry_time due = BELFRY_TIME_NEVER;

	for (size_t i = 0; i < p->of.at.count; i++) {
		belfry_time time = p->of.at.times[i];
		bool is_local = has_time(p->of.at.locals, p->of.at.local_count, time);
		bool is_new = is_local ? bf_rule_local(rule, time) > old->decided_local
				       : time > after;
		bool is_within = time >= p->not_before && time <= p->not_after;
		if (is_new && is_within) {
			due = BF_MIN(due, time);
		}
	}
	return due;
}

static belfry_time next_of(const struct belfry_rule *rule, size_t part, const struct bf_anew *old,
		bool agrees, belfry_time after)
{
	const struct bf_part *p = &rule->parts[part];

	if (old->decided_due == 0) {
		return bf_rule_part_next(rule, part, after);
	}
	if (p->kind == BF_PART_AT) {
		return agrees ? bf_rule_part_next(rule, part, old->decided_due)
			      : next_listed(rule, part, old, after);
	}
	bool is_fixed = p->kind == BF_PART_CRON && p->of.cron.is_fixed;
	return is_fixed ? next_fixed(rule, part, old, agrees)
			: bf_rule_part_next(rule, part, after);
}

belfry_time bf_rule_anew(const struct belfry_rule *rule, const struct bf_anew *old, belfry_time now)
{
	bool agrees = old->decided_due != 0 &&
			bf_rule_local(rule, old->decided_due) == old->decided_local;
	belfry_time after = BF_MIN(now, bf_time_add(old->cursor, -1));
	belfry_time next = BELFRY_TIME_NEVER;

	for (size_t i = 0; i < rule->count; i++) {
		belfry_time due = next_of(rule, i, old, agrees, after);
		next = BF_MIN(next, due);
	}
	return next;
}
