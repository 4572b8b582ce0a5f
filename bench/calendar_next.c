/* How many due times a second one core answers, and what a look-up of a zone costs.
 *
 * Usage: calendar-next [SECONDS]   for each line, 1 by default
 * Prints one line each: what, answers a second, nanoseconds per answer. The questions walk forward from
 * 2026 and start again, as a planner's do; the cases behind the four of docs/performance.md are the worst
 * ones that the dialect allows. */
#include <stdio.h>
#include <time.h>

#include <belfry/calendar.h>

#include "base/json.h"
#include "base/timefmt.h"
#include "calendar/advance.h"
#include "calendar/zones.h"

#define ZONE  "America/New_York"
#define BATCH 4096

/* Time on the processor: what else runs on the machine does not count. */
static int64_t now_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now); /* cannot fail for this clock */
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void print_rate(const char *what, uint64_t answers, int64_t ns)
{
	printf("%-40s %12.0f /s %9.1f ns\n", what, (double)answers * 1e9 / (double)ns,
			(double)ns / (double)answers);
}

static int bench_rule(struct belfry_zones *zones, const char *text, int64_t limit_ns)
{
	struct belfry_rule *rule;
	struct belfry_error err;
	belfry_time start = INT64_C(1767225600) * BELFRY_SECOND;
	belfry_time end = start + 20 * 366 * BELFRY_DAY;
	belfry_time due = start;
	uint64_t answers = 0;

	if (belfry_rule_new(zones, bf_str(text), bf_str(ZONE), NULL, &rule, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "%s: %s\n", text, err.message);
		return 1;
	}
	int64_t begun = now_ns();
	int64_t spent = 0;
	while (spent < limit_ns) {
		for (int i = 0; i < BATCH; i++) {
			if (belfry_rule_next(rule, due, &due) != BELFRY_OK || due > end) {
				due = start;
			}
		}
		answers += BATCH;
		spent = now_ns() - begun;
	}
	print_rate(text, answers, spent);
	belfry_rule_free(rule);
	return 0;
}

/* Offsets at instants that jump about between two. */
static int bench_offset(struct belfry_zones *zones, const char *what, int64_t from, int64_t to,
		int64_t limit_ns)
{
	struct belfry_rule *rule;
	uint64_t seed = 1;
	uint64_t answers = 0;
	int64_t sum = 0;

	if (belfry_rule_new(zones, BF_STR("@daily"), BF_STR(ZONE), NULL, &rule, NULL) !=
			BELFRY_OK) {
		return 1;
	}
	int64_t begun = now_ns();
	int64_t spent = 0;
	while (spent < limit_ns) {
		for (int i = 0; i < BATCH; i++) {
			seed = seed * UINT64_C(6364136223846793005) + 1;
			/* The high bits, over the range without a division. */
			int64_t at = from + (int64_t)((seed >> 32) * (uint64_t)(to - from) >> 32);
			sum += belfry_rule_offset(rule, at * BELFRY_SECOND);
		}
		answers += BATCH;
		spent = now_ns() - begun;
	}
	print_rate(what, answers, spent);
	belfry_rule_free(rule);
	return sum == 1 ? 1 : 0;
}

static int bench_new(struct belfry_zones *zones, const char *text, int64_t limit_ns)
{
	uint64_t answers = 0;
	int64_t begun = now_ns();
	int64_t spent = 0;
	char what[80];

	while (spent < limit_ns) {
		for (int i = 0; i < 64; i++) {
			struct belfry_rule *rule;
			if (belfry_rule_new(zones, bf_str(text), bf_str(ZONE), NULL, &rule, NULL) !=
					BELFRY_OK) {
				return 1;
			}
			belfry_rule_free(rule);
		}
		answers += 64;
		spent = now_ns() - begun;
	}
	(void)snprintf(what, sizeof(what), "rule made of %s", text);
	print_rate(what, answers, spent);
	return 0;
}

static int bench_zone(struct belfry_zones *zones, int64_t limit_ns)
{
	uint64_t answers = 0;
	int64_t begun = now_ns();
	int64_t spent = 0;

	while (spent < limit_ns) {
		for (int i = 0; i < BATCH; i++) {
			struct bf_zone *zone;
			if (bf_zones_find(zones, BF_STR(ZONE), &zone, NULL) != BELFRY_OK) {
				return 1;
			}
			bf_zone_free(zone);
		}
		answers += BATCH;
		spent = now_ns() - begun;
	}
	print_rate("zone by name, loaded before", answers, spent);
	return 0;
}

static int bench_load(int64_t limit_ns)
{
	uint64_t answers = 0;
	int64_t begun = now_ns();
	int64_t spent = 0;

	while (spent < limit_ns) {
		struct belfry_zones *zones;
		struct bf_zone *zone;
		if (belfry_zones_new(NULL, &zones, NULL) != BELFRY_OK) {
			return 1;
		}
		if (bf_zones_find(zones, BF_STR(ZONE), &zone, NULL) == BELFRY_OK) {
			bf_zone_free(zone);
		}
		belfry_zones_free(zones);
		answers++;
		spent = now_ns() - begun;
	}
	print_rate("database opened and one zone loaded", answers, spent);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const rules[] = {
			"*/5 * * * *", "0 9 * * 1-5", "0 0 29 2 *", "30 2 * * *", "* * * * * *",
			"0 0 L,15W * 1#2", "0 0 * 2 1#5", /* 28 years apart */
			"*/20 2 * 3 SUN#2", /* only in the gap: never, after 400 years */
	};
	struct belfry_zones *zones;
	int64_t seconds = 1;
	int failed = 0;

	if (argc > 2 ||
			(argc == 2 &&
					bf_str_parse_int(bf_str(argv[1]), 1, 3600, &seconds) !=
							BELFRY_OK)) {
		(void)fprintf(stderr, "usage: calendar-next [SECONDS]\n");
		return 2;
	}
	bf_json_init();
	if (belfry_zones_new(NULL, &zones, NULL) != BELFRY_OK) {
		return 1;
	}
	int64_t limit_ns = seconds * 1000000000;
	printf("zone %s, database %s\n", ZONE, belfry_zones_version(zones));
	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		failed |= bench_rule(zones, rules[i], limit_ns);
	}
	failed |= bench_offset(zones, "offset of an instant, 2000 to 2037", INT64_C(946684800),
			INT64_C(2145916800), limit_ns);
	failed |= bench_offset(zones, "offset of an instant, 2500", INT64_C(16725225600),
			INT64_C(16756761600), limit_ns);
	failed |= bench_offset(zones, "offset of an instant, 9000", INT64_C(221845305600),
			INT64_C(221876841600), limit_ns);
	failed |= bench_zone(zones, limit_ns);
	failed |= bench_load(limit_ns);
	failed |= bench_new(zones, "0 9 * * 1-5", limit_ns);
	failed |= bench_new(zones, "{\"cron\":\"0 9 * * 1-5\"}", limit_ns);
	belfry_zones_free(zones);
	return failed;
}
