/* How many due times a second one core answers, and what rules and zones cost beside.
 *
 * Usage: calendar-next [SECONDS]   for each line, 1 by default
 * Prints one line each: what, answers a second, nanoseconds per answer, and where there are any the floor and
 * the aim in nanoseconds and whether they hold. Fails below a floor. The questions walk forward from 2026 and
 * start again, as a planner's do; the cases behind the four of docs/performance.md are the worst ones that the
 * dialect allows. bench/calendar_peers.py reads the lines of the four. */
#include <stdio.h>
#include <time.h>

#include <belfry/calendar.h>

#include "base/json.h"
#include "base/timefmt.h"
#include "calendar/advance.h"
#include "calendar/cron.h"
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

/* Nanoseconds that an answer may cost at the most, and should; 0: nothing is said. */
struct bound {
	double floor;
	double aim;
};

/* Three million and ten million answers a second. */
static const struct bound next_bound = {1e3 / 3, 100};
/* A pattern that never comes again. */
static const struct bound never_bound = {50e3, 0};
static const struct bound parse_bound = {0, 1000};
static const struct bound offset_bound = {0, 20};
static const struct bound no_bound = {0, 0};

static void print_bound(const char *name, double bound, double each)
{
	if (bound > 0) {
		printf("  %s %.0f: %s", name, bound, each <= bound ? "held" : "MISSED");
	}
}

/* 1 below the floor. */
static int print_rate(const char *what, uint64_t answers, int64_t ns, const struct bound *bound)
{
	double each = (double)ns / (double)answers;

	printf("%-70.70s %12.0f /s %9.1f ns", what, 1e9 / each, each);
	print_bound("floor", bound->floor, each);
	print_bound("aim", bound->aim, each);
	printf("\n");
	return bound->floor > 0 && each > bound->floor ? 1 : 0;
}

static int bench_rule(struct belfry_zones *zones, const char *text, const struct bound *bound,
		int64_t limit_ns)
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
	belfry_rule_free(rule);
	return print_rate(text, answers, spent, bound);
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
	belfry_rule_free(rule);
	return print_rate(what, answers, spent, &offset_bound) | (sum == 1);
}

static int bench_new(struct belfry_zones *zones, const char *text, enum belfry_status expected,
		const struct bound *bound, int64_t limit_ns)
{
	uint64_t answers = 0;
	int64_t begun = now_ns();
	int64_t spent = 0;
	char what[160];

	while (spent < limit_ns) {
		for (int i = 0; i < 64; i++) {
			struct belfry_rule *rule = NULL;
			if (belfry_rule_new(zones, bf_str(text), bf_str(ZONE), NULL, &rule, NULL) !=
					expected) {
				return 1;
			}
			belfry_rule_free(rule);
		}
		answers += 64;
		spent = now_ns() - begun;
	}
	(void)snprintf(what, sizeof(what), "rule %s %s",
			expected == BELFRY_OK ? "made of" : "refused:", text);
	return print_rate(what, answers, spent, bound);
}

/* The expression alone, without a rule, a zone or memory. */
static int bench_parse(const char *text, enum belfry_status expected, const struct bound *bound,
		int64_t limit_ns)
{
	uint64_t answers = 0;
	int64_t begun = now_ns();
	int64_t spent = 0;
	struct bf_cron cron;
	char what[160];

	while (spent < limit_ns) {
		for (int i = 0; i < 64; i++) {
			if (bf_cron_parse(bf_str(text), false, &cron, NULL) != expected) {
				return 1;
			}
		}
		answers += 64;
		spent = now_ns() - begun;
	}
	(void)snprintf(what, sizeof(what), "%s %s", expected == BELFRY_OK ? "parsed" : "refused",
			text);
	return print_rate(what, answers, spent, bound);
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
	return print_rate("zone by name, loaded before", answers, spent, &no_bound);
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
	return print_rate("database opened and one zone loaded", answers, spent, &no_bound);
}

int main(int argc, char **argv)
{
	static const char *const rules[] = {
			"*/5 * * * *", "0 9 * * 1-5", "0 0 29 2 *", "30 2 * * *", "* * * * * *",
			"0 0 L,15W * 1#2", "0 0 * 2 1#5", /* 28 years apart */
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
		failed |= bench_rule(zones, rules[i], &next_bound, limit_ns);
	}
	/* Only in the gap: never, after 400 years. */
	failed |= bench_rule(zones, "*/20 2 * 3 SUN#2", &never_bound, limit_ns);
	failed |= bench_offset(zones, "offset of an instant, 2000 to 2037", INT64_C(946684800),
			INT64_C(2145916800), limit_ns);
	failed |= bench_offset(zones, "offset of an instant, 2500", INT64_C(16725225600),
			INT64_C(16756761600), limit_ns);
	failed |= bench_offset(zones, "offset of an instant, 9000", INT64_C(221845305600),
			INT64_C(221876841600), limit_ns);
	failed |= bench_zone(zones, limit_ns);
	failed |= bench_load(limit_ns);
	failed |= bench_parse("0 9 * * 1-5", BELFRY_OK, &parse_bound, limit_ns);
	failed |= bench_parse("*/5 1-5 L,15W JAN-JUN FRI-MON,1#2", BELFRY_OK, &parse_bound,
			limit_ns);
	failed |= bench_parse("0 0 30 2 *", BELFRY_INVALID_SCHEDULE, &never_bound, limit_ns);
	failed |= bench_new(zones, "0 9 * * 1-5", BELFRY_OK, &parse_bound, limit_ns);
	failed |= bench_new(zones, "{\"cron\":\"0 9 * * 1-5\"}", BELFRY_OK, &no_bound, limit_ns);
	failed |= bench_new(zones, "{\"cron\":\"* * * * *\",\"except\":[{\"cron\":\"* * * * *\"}]}",
			BELFRY_INVALID_SCHEDULE, &never_bound, limit_ns);
	failed |= bench_new(zones,
			"{\"every\":\"PT7M\",\"except\":[{\"cron\":\"*/2 * * * *\"},"
			"{\"cron\":\"1-59/2 * * * *\"}]}",
			BELFRY_INVALID_SCHEDULE, &never_bound, limit_ns);
	belfry_zones_free(zones);
	return failed;
}
