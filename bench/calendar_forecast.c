/* What the load of a crowd of schedules over a day costs: 10,000 rules, each counted minute by minute.
 *
 * Usage: calendar-forecast [COUNT]   schedules, 10000 by default
 * Prints one line each: what, due times counted, milliseconds on the processor. The yardstick, in the same
 * run, is asking for each due time of every 125th rule. Fails where counting the crowd is not ten times
 * as fast. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <belfry/calendar.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/timefmt.h"

#define ZONE     "America/New_York"
#define MINUTES  1440
#define SHARE    125
#define FLOOR    10
#define SCHEDULE "0190d8a1-0000-7000-8000-000000000001"

static uint32_t counts[MINUTES];

/* Time on the processor: what else runs on the machine does not count. */
static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail for this clock */
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static uint64_t sum_counts(void)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < MINUTES; i++) {
		sum += counts[i];
	}
	memset(counts, 0, sizeof(counts));
	return sum;
}

/* Nanoseconds on the processor; 0: it was refused. */
static int64_t bench_crowd(const char *what, struct belfry_rule *const *rules, size_t count,
		const struct belfry_forecast_options *options)
{
	int64_t begun = now_ns();

	for (size_t i = 0; i < count; i++) {
		if (belfry_rule_forecast(rules[i], options, counts, MINUTES, NULL) != BELFRY_OK) {
			return 0;
		}
	}
	int64_t spent = now_ns() - begun;
	printf("%-44s %10llu due %10.2f ms\n", what, (unsigned long long)sum_counts(),
			(double)spent / 1e6);
	return spent;
}

/* The same by asking, of a share of the rules, scaled up. */
static int64_t bench_asking(struct belfry_rule *const *rules, size_t count,
		const struct belfry_forecast_options *options)
{
	int64_t begun = now_ns();
	uint64_t dues = 0;

	for (size_t i = 0; i < count; i += SHARE) {
		belfry_time due = options->from - 1;
		while (belfry_rule_next(rules[i], due, &due) == BELFRY_OK && due < options->to) {
			counts[(due - options->from) / options->bucket]++;
		}
	}
	int64_t spent = (now_ns() - begun) * SHARE;
	dues = sum_counts() * SHARE;
	printf("%-44s %10llu due %10.2f ms\n", "  asked for one by one", (unsigned long long)dues,
			(double)spent / 1e6);
	return spent;
}

/* Rules of the texts by turns. */
static bool make_rules(struct belfry_zones *zones, const char *const *texts, size_t text_count,
		struct belfry_rule **rules, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct belfry_error err;
		const char *text = texts[i % text_count];
		if (belfry_rule_new(zones, bf_str(text), bf_str(ZONE), NULL, &rules[i], &err) !=
				BELFRY_OK) {
			(void)fprintf(stderr, "%s: %s\n", text, err.message);
			return false;
		}
	}
	return true;
}

/* *ret_failed: counting was not FLOOR times as fast as asking. */
static bool bench(struct belfry_zones *zones, const char *what, const char *const *texts,
		size_t text_count, struct belfry_rule **rules, size_t count,
		const struct belfry_forecast_options *options, double floor)
{
	bool is_made = make_rules(zones, texts, text_count, rules, count);
	int64_t counted = is_made ? bench_crowd(what, rules, count, options) : 0;
	int64_t asked = counted > 0 ? bench_asking(rules, count, options) : 0;
	bool is_met = counted > 0 && (double)asked >= floor * (double)counted;

	if (counted > 0) {
		printf("  %.1f times as fast\n", (double)asked / (double)counted);
	}
	for (size_t i = 0; i < count; i++) {
		belfry_rule_free(rules[i]);
		rules[i] = NULL;
	}
	return is_met;
}

int main(int argc, char **argv)
{
	static const char *const each_minute[] = {"* * * * *"};
	static const char *const mixed[] = {"0 * * * *", "*/5 * * * *", "0 2 * * *", "30 9 * * 1-5",
			"* * * * *", "0 0 1 * *", "15 */2 * * *", "*/15 8-18 * * *"};
	struct belfry_forecast_options day = BELFRY_FORECAST_OPTIONS_INIT;
	struct belfry_zones *zones;
	int64_t count = 10000;

	if (argc > 2 ||
			(argc == 2 &&
					bf_str_parse_int(bf_str(argv[1]), 1, 1000000, &count) !=
							BELFRY_OK)) {
		(void)fprintf(stderr, "usage: calendar-forecast [COUNT]\n");
		return 2;
	}
	bf_json_init();
	struct belfry_rule **rules = bf_alloc_array((size_t)count, sizeof(struct belfry_rule *));
	if (rules == NULL || belfry_zones_new(NULL, &zones, NULL) != BELFRY_OK) {
		return 1;
	}
	memset(rules, 0, (size_t)count * sizeof(struct belfry_rule *));
	day.from = INT64_C(1780272000) * BELFRY_SECOND; /* a day of June without a change */
	day.to = day.from + BELFRY_DAY;
	printf("%lld schedules over 24 hours by minute, zone %s\n", (long long)count, ZONE);
	bool is_met = bench(zones, "each minute", each_minute, BF_COUNT(each_minute), rules,
			(size_t)count, &day, FLOOR);
	is_met = bench(zones, "mixed", mixed, BF_COUNT(mixed), rules, (size_t)count, &day, 1) &&
			is_met;
	day.from = INT64_C(1772928000) * BELFRY_SECOND; /* the clocks go forward: 8 March */
	day.to = day.from + BELFRY_DAY;
	is_met = bench(zones, "each minute, across a change", each_minute, BF_COUNT(each_minute),
				 rules, (size_t)count, &day, FLOOR) &&
			is_met;
	day.schedule = BF_STR(SCHEDULE);
	day.spread = 5 * BELFRY_MINUTE;
	is_met = bench(zones, "mixed, with a spread", mixed, BF_COUNT(mixed), rules,
				 (size_t)BF_MIN(count, 1000), &day, 0) &&
			is_met;
	belfry_zones_free(zones);
	bf_free(rules);
	if (!is_met) {
		(void)fprintf(stderr, "slower than its floor\n");
	}
	return is_met ? 0 : 1;
}
