/* What a rule must hold to be one: it fires, and no question about it takes long.
 *
 * Two kinds of part could take long. An interval whose times meet exceptions one by one is looked at minute by
 * minute, and day by day, so the looks of one answer are counted, and a part that needs more is refused here,
 * where it is tried from several times of a year. A cron expression that names nothing but local times which the
 * clocks have come to skip is searched through 400 years each time; there may be few of them, and when the last
 * was due is found here once.
 *
 * Not here  reading rules (rule_json.c), asking them (rule.c). */
#include "base/error.h"
#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/rule.h"

#define LOOKS_SUM   20000u /* days and minutes of one answer, over all intervals of a rule */
#define LOOKS_MIN   4000u  /* ... and of each, however many there are */
#define TRIES       3      /* from so many times of a year */
#define TRIES_APART (122 * BELFRY_DAY)
#define SKIPPED_MAX 2
#define FIRST_YEAR  1970

static bool has_steps(const struct bf_part *part)
{
	return part->kind == BF_PART_EVERY && part->left != NULL && part->left->partial_count > 0;
}

static void share_looks(struct belfry_rule *rule)
{
	unsigned count = 0;

	for (size_t i = 0; i < rule->count; i++) {
		count += has_steps(&rule->parts[i]) ? 1 : 0;
	}
	rule->looks = BF_MAX(LOOKS_SUM / BF_MAX(count, 1u), LOOKS_MIN);
}

/* Whether an answer takes too many looks, from any of some times of the year that it begins in. */
static bool is_too_slow(const struct belfry_rule *rule, const struct bf_part *part)
{
	belfry_time from = BF_MAX(part->of.every.anchor, part->not_before) - 1;

	for (int i = 0; i < TRIES; i++) {
		unsigned looks = rule->looks;
		(void)bf_rule_look(rule, part, bf_time_add(from, i * TRIES_APART), &looks);
		if (looks == 0) {
			return true;
		}
	}
	return false;
}

static enum belfry_status check_intervals(const struct belfry_rule *rule, struct belfry_error *err)
{
	for (size_t i = 0; i < rule->count; i++) {
		if (has_steps(&rule->parts[i]) && is_too_slow(rule, &rule->parts[i])) {
			return bf_error_set(err, BELFRY_INVALID_SCHEDULE,
					"the exceptions leave out the times of this interval one by one, as far as "
					"was looked: leave out whole hours or days instead");
		}
	}
	return BELFRY_OK;
}

/* Has the expression anything due after the beginning of a year? */
static bool is_due_after(const struct belfry_rule *rule, const struct bf_cron *cron, int64_t year)
{
	int64_t second = bf_days_from_civil(year, 1, 1) * BF_DAY_S;

	return bf_due_next(&rule->policy, cron, second) != BF_DUE_NEVER;
}

/* From here on the zone is as it will always be. */
static int64_t settled_year(const struct belfry_rule *rule)
{
	int64_t year;
	int month;
	int day;

	bf_civil_from_days(bf_floor_div(BF_MAX(rule->zone->settled, 0), BF_DAY_S), &year, &month,
			&day);
	return BF_MIN(year + 1, BF_LAST_YEAR);
}

/* The first year in which nothing is due any more, nor later; there is one up to `high`. */
static int64_t over_from(const struct belfry_rule *rule, const struct bf_cron *cron, int64_t high)
{
	int64_t low = FIRST_YEAR;

	while (low < high) {
		int64_t middle = (low + high) / 2;
		if (is_due_after(rule, cron, middle)) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low;
}

static enum belfry_status check_crons(struct belfry_rule *rule, struct belfry_error *err)
{
	int64_t settled = settled_year(rule);
	int skipped = 0;

	for (size_t i = 0; i < rule->count; i++) {
		struct bf_part *part = &rule->parts[i];
		if (part->kind != BF_PART_CRON || is_due_after(rule, &part->of.cron, settled)) {
			continue;
		}
		if (++skipped > SKIPPED_MAX) {
			return bf_error_set(err, BELFRY_INVALID_SCHEDULE,
					"more than %d rules in \"any\" name nothing but local times that "
					"the clocks of the zone skip: take them out",
					SKIPPED_MAX);
		}
		part->over = bf_days_from_civil(over_from(rule, &part->of.cron, settled), 1, 1) *
				BELFRY_DAY;
	}
	return BELFRY_OK;
}

/* Once any part has a due time, the rule has. */
static enum belfry_status check_that_it_fires(const struct belfry_rule *rule,
		struct belfry_error *err)
{
	belfry_time first;

	if (belfry_rule_next(rule, INT64_MIN, &first) == BELFRY_OK) {
		return BELFRY_OK;
	}
	return bf_error_set(err, BELFRY_INVALID_SCHEDULE, "this rule can never fire");
}

enum belfry_status bf_rule_check(struct belfry_rule *rule, struct belfry_error *err)
{
	share_looks(rule);
	enum belfry_status status = check_intervals(rule, err);
	if (status == BELFRY_OK) {
		status = check_crons(rule, err);
	}
	return status == BELFRY_OK ? check_that_it_fires(rule, err) : status;
}
