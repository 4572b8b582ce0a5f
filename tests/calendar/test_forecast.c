/* The load of rules: what the sets of a cron expression say at once is what asking for each due time says. */
#include "cases.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "walk.h"

#define SCHEDULE    "0190d8a1-0000-7000-8000-000000000001"
#define BUCKETS_MAX 30000

static uint32_t expected[BUCKETS_MAX];
static uint32_t found[BUCKETS_MAX];

/* Asks for each, and counts in plain arithmetic. */
static void count_naively(const struct belfry_rule *rule, const struct belfry_forecast_options *o)
{
	belfry_time due = o->from - o->spread - 1;
	belfry_time left_since = BF_MAX(o->from, o->left_since);
	uint64_t left = o->max_fires;

	memset(expected, 0, sizeof(expected));
	while (belfry_rule_next(rule, due, &due) == BELFRY_OK && due < o->to) {
		struct belfry_id run;
		belfry_time ready = due;
		if (due < o->since) {
			continue;
		}
		if (o->max_fires != 0 && due >= left_since && left-- == 0) {
			return;
		}
		if (o->spread != 0) {
			assert_int_equal(belfry_run_id(o->schedule, due, &run), BELFRY_OK);
			ready += bf_id_spread(run, o->spread);
		}
		if (ready >= o->from && ready < o->to) {
			expected[(ready - o->from + o->lead) / o->bucket]++;
		}
	}
}

static void compare(const char *text, const char *zone, const struct belfry_rule *rule,
		const struct belfry_forecast_options *o)
{
	char from[BF_TIME_TEXT_BYTES];

	count_naively(rule, o);
	memset(found, 0, sizeof(found));
	assert_int_equal(belfry_rule_forecast(rule, o, found, BUCKETS_MAX, NULL), BELFRY_OK);
	bf_time_format(o->from, 0, from);
	for (size_t i = 0; i < BUCKETS_MAX; i++) {
		if (found[i] != expected[i]) {
			fail_msg("%s in %s from %s, bucket %zu of %lld us: %u, not %u", text, zone,
					from, i, (long long)o->bucket, found[i], expected[i]);
		}
	}
}

static const char *const zones_with_changes[] = {"UTC", "America/New_York", "Europe/Dublin",
		"Australia/Lord_Howe", "Antarctica/Troll", "Pacific/Apia", "Africa/Monrovia",
		"Asia/Kathmandu"};

/* Instants around which a zone above changes its clocks, and one where none does. */
static const char *const changes[] = {"2026-03-08T07:00:00Z", "2026-11-01T06:00:00Z",
		"2026-03-29T01:00:00Z", "2026-10-25T01:00:00Z", "2026-04-04T15:00:00Z",
		"2026-10-03T15:30:00Z", "2011-12-30T10:00:00Z", "1972-01-07T00:44:30Z",
		"2024-02-29T12:00:00Z"};

/* A cron of random fields; a third with seconds. */
static void put_random_cron(struct bf_buf *text, uint64_t *seed)
{
	struct naive expression = walk_random_expression(seed);

	if (walk_random(seed, 3) == 0) {
		bf_buf_appendf(text, "%d,%d ", (int)walk_random(seed, 60),
				(int)walk_random(seed, 60));
	}
	bf_buf_append_text(text, expression.text);
}

static void put_random_rule(struct bf_buf *text, uint64_t *seed)
{
	switch (walk_random(seed, 9)) {
	case 0:
		bf_buf_append_text(text,
				"{\"every\":\"PT7M30S\",\"anchor\":\"2011-01-01T00:00:00Z\"}");
		return;
	case 1:
		bf_buf_append_text(text, "{\"any\":[{\"cron\":\"*/10 * * * *\"},{\"cron\":\"");
		put_random_cron(text, seed);
		bf_buf_append_text(text, "\"}]}");
		return;
	case 2:
		bf_buf_append_text(text,
				"{\"not_before\":\"2026-03-08T06:59:30Z\",\"not_after\":"
				"\"2026-10-25T00:59:59.5Z\",\"cron\":\"");
		put_random_cron(text, seed);
		bf_buf_append_text(text, "\"}");
		return;
	case 3:
		bf_buf_append_text(text,
				"{\"except\":[\"2026-03-08\",{\"cron\":\"*/4 1-2 * * *\"},"
				"\"2026-10-25T00:00:00Z\"],\"cron\":\"");
		put_random_cron(text, seed);
		bf_buf_append_text(text, "\"}");
		return;
	default: put_random_cron(text, seed);
	}
}

static void put_random_options(struct belfry_forecast_options *o, uint64_t *seed)
{
	static const belfry_duration buckets[] = {BELFRY_MINUTE, BELFRY_MINUTE, BELFRY_MINUTE,
			15 * BELFRY_MINUTE, BELFRY_HOUR, 7 * BELFRY_SECOND, 90 * BELFRY_SECOND};
	belfry_time change = at(changes[walk_random(seed, BF_COUNT(changes))]);
	belfry_duration unit = walk_random(seed, 2) == 0 ? BELFRY_MINUTE : 333333;

	o->from = change - (belfry_duration)walk_random(seed, 1500) * unit;
	o->to = change + (belfry_duration)walk_random(seed, 1500) * unit;
	o->bucket = buckets[walk_random(seed, BF_COUNT(buckets))];
	o->max_fires = walk_random(seed, 6) == 0 ? 1 + walk_random(seed, 200) : 0;
	o->lead = walk_random(seed, 2) == 0
			? (belfry_duration)walk_random(seed, 60) * BELFRY_SECOND + 7
			: 0;
	if (walk_random(seed, 3) == 0) {
		o->since = change - (belfry_duration)walk_random(seed, 1500) * unit;
	}
	if (walk_random(seed, 3) == 0) {
		o->left_since = change - (belfry_duration)walk_random(seed, 1500) * unit;
	}
	if (walk_random(seed, 8) == 0) {
		o->schedule = BF_STR(SCHEDULE);
		o->spread = (belfry_duration)(1 + walk_random(seed, 3600)) * BELFRY_SECOND;
	}
}

static void sets_and_questions_agree_on_random_rules_across_clock_changes(void **state)
{
	uint64_t seed = 20260308;

	(void)state;
	for (int i = 0; i < 6000; i++) {
		struct belfry_forecast_options o = BELFRY_FORECAST_OPTIONS_INIT;
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
		const char *zone = zones_with_changes[walk_random(&seed,
				BF_COUNT(zones_with_changes))];
		struct belfry_rule_options policies = BELFRY_RULE_OPTIONS_INIT;
		struct belfry_rule *rule = NULL;
		put_random_rule(&text, &seed);
		put_random_options(&o, &seed);
		policies.gap = (enum belfry_dst_gap)walk_random(&seed, BELFRY_DST_GAP_COUNT);
		policies.fold = (enum belfry_dst_fold)walk_random(&seed, BELFRY_DST_FOLD_COUNT);
		enum belfry_status status = belfry_rule_new(shared_zones(), bf_buf_str(&text),
				bf_str(zone), &policies, &rule, NULL);
		if (status == BELFRY_INVALID_SCHEDULE) {
			continue; /* a random rule that can never fire */
		}
		assert_int_equal(status, BELFRY_OK);
		compare(text.ptr, zone, rule, &o);
		belfry_rule_free(rule);
	}
}

static struct belfry_forecast_options a_day(const char *from)
{
	struct belfry_forecast_options o = BELFRY_FORECAST_OPTIONS_INIT;

	o.from = at(from);
	o.to = o.from + BELFRY_DAY;
	return o;
}

static uint64_t total(const char *text, const char *zone, const struct belfry_forecast_options *o)
{
	struct belfry_rule *rule = new_rule(text, zone);
	uint64_t sum = 0;

	memset(found, 0, sizeof(found));
	assert_int_equal(belfry_rule_forecast(rule, o, found, BUCKETS_MAX, NULL), BELFRY_OK);
	for (size_t i = 0; i < BUCKETS_MAX; i++) {
		sum += found[i];
	}
	belfry_rule_free(rule);
	return sum;
}

static void a_day_has_its_due_times_and_a_short_day_fewer(void **state)
{
	struct belfry_forecast_options plain = a_day("2026-06-01T00:00:00Z");
	struct belfry_forecast_options missing = a_day("2026-03-08T05:00:00Z");

	(void)state;
	assert_int_equal(total("* * * * *", "UTC", &plain), 1440);
	assert_int_equal(found[0], 1);
	assert_int_equal(found[1439], 1);
	assert_int_equal(found[1440], 0);
	assert_int_equal(total("*/30 * * * * *", "UTC", &plain), 2880);
	assert_int_equal(found[7], 2);
	assert_int_equal(total("30 2 * * *", "America/New_York", &missing), 1);
	assert_int_equal(found[120], 1); /* at the end of the gap, 03:00 */
}

static void parts_of_a_union_that_agree_count_once(void **state)
{
	struct belfry_forecast_options o = a_day("2026-06-01T00:00:00Z");

	(void)state;
	assert_int_equal(total("{\"any\":[{\"cron\":\"0 * * * *\"},{\"cron\":\"0 */2 * * *\"},"
			       "{\"at\":\"2026-06-01T05:00:00Z\"}]}",
					 "UTC", &o),
			24);
	assert_int_equal(found[300], 1);
}

static void load_adds_up_and_stops_at_the_largest_count(void **state)
{
	struct belfry_forecast_options o = a_day("2026-06-01T00:00:00Z");
	struct belfry_rule *rule = new_rule("* * * * *", "UTC");

	(void)state;
	memset(found, 0, sizeof(found));
	found[3] = UINT32_MAX;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(belfry_rule_forecast(rule, &o, found, 1440, NULL), BELFRY_OK);
	}
	assert_int_equal(found[2], 2);
	assert_int_equal(found[3], UINT32_MAX);
	belfry_rule_free(rule);
}

static void what_fires_a_few_times_more_is_counted_so_often(void **state)
{
	struct belfry_forecast_options o = a_day("2026-06-01T00:00:00Z");

	(void)state;
	o.max_fires = 3;
	assert_int_equal(total("0 * * * *", "UTC", &o), 3);
	assert_int_equal(found[120], 1);
	assert_int_equal(found[180], 0);
}

static void the_first_bucket_may_have_begun_and_nothing_is_due_before_since(void **state)
{
	struct belfry_forecast_options o = a_day("2026-06-01T00:00:00Z");

	(void)state;
	o.from += 27 * BELFRY_SECOND;
	o.lead = 27 * BELFRY_SECOND;
	assert_int_equal(total("* * * * *", "UTC", &o), 1439);
	assert_int_equal(found[0], 0);
	assert_int_equal(found[1], 1);
	assert_int_equal(total("*/10 * * * * *", "UTC", &o), 6 * 1440 - 3);
	assert_int_equal(found[0], 3);
	o.since = o.from + 2 * BELFRY_HOUR;
	assert_int_equal(total("0 * * * *", "UTC", &o), 21);
	assert_int_equal(found[120], 0);
	o.max_fires = 3;
	assert_int_equal(total("0 * * * *", "UTC", &o), 3);
	assert_int_equal(found[180], 1);
	o.left_since = o.from + 4 * BELFRY_HOUR; /* what was due before has fired */
	assert_int_equal(total("0 * * * *", "UTC", &o), 2 + 3);
}

static void b11_a_spread_is_counted_where_its_runs_get_ready(void **state)
{
	struct belfry_forecast_options o = a_day("2026-06-01T00:00:00Z");
	struct belfry_id run;

	(void)state;
	o.schedule = BF_STR(SCHEDULE);
	o.spread = BELFRY_HOUR;
	assert_int_equal(belfry_run_id(o.schedule, o.from, &run), BELFRY_OK);
	assert_int_equal(total("@daily", "UTC", &o), 1);
	assert_int_equal(found[bf_id_spread(run, o.spread) / BELFRY_MINUTE], 1);
	o.from += bf_id_spread(run, o.spread); /* due before it, and ready at once */
	assert_int_equal(total("@daily", "UTC", &o), 1);
	assert_int_equal(found[0], 1);
	o.from += 1;
	assert_int_equal(total("@daily", "UTC", &o), 0);
	o.max_fires = 1; /* what was due before is none of those that are left */
	o.from -= 1;
	o.to = o.from + 2 * BELFRY_DAY;
	assert_int_equal(total("@daily", "UTC", &o), 2);
}

static void questions_that_make_no_sense_are_refused_and_add_nothing(void **state)
{
	struct belfry_forecast_options o = a_day("2026-06-01T00:00:00Z");
	struct belfry_forecast_options bad;
	struct belfry_rule *rule = new_rule("* * * * *", "UTC");
	struct belfry_error err;

	(void)state;
	memset(found, 0, sizeof(found));
	assert_int_equal(belfry_rule_forecast(rule, NULL, found, 1440, &err), BELFRY_INVALID);
	assert_int_equal(belfry_rule_forecast(rule, &o, found, 1439, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "too few buckets"));
	bad = o;
	bad.size = 1;
	assert_int_equal(belfry_rule_forecast(rule, &bad, found, 1440, &err), BELFRY_INVALID);
	bad = o;
	bad.bucket = 0;
	assert_int_equal(belfry_rule_forecast(rule, &bad, found, 1440, &err), BELFRY_INVALID);
	bad = o;
	bad.spread = -1;
	assert_int_equal(belfry_rule_forecast(rule, &bad, found, 1440, &err), BELFRY_INVALID);
	bad = o;
	bad.to = bad.from - 1;
	assert_int_equal(belfry_rule_forecast(rule, &bad, found, 1440, &err), BELFRY_INVALID);
	bad.to = BELFRY_TIME_NEVER;
	assert_int_equal(belfry_rule_forecast(rule, &bad, found, 1440, &err), BELFRY_INVALID);
	bad = o;
	bad.from = INT64_MIN;
	assert_int_equal(belfry_rule_forecast(rule, &bad, found, 1440, &err), BELFRY_INVALID);
	assert_int_equal(found[0], 0);
	o.to = o.from;
	assert_int_equal(belfry_rule_forecast(rule, &o, found, 0, &err), BELFRY_OK);
	belfry_rule_free(rule);
}

int run_forecast_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					sets_and_questions_agree_on_random_rules_across_clock_changes),
			cmocka_unit_test(a_day_has_its_due_times_and_a_short_day_fewer),
			cmocka_unit_test(parts_of_a_union_that_agree_count_once),
			cmocka_unit_test(load_adds_up_and_stops_at_the_largest_count),
			cmocka_unit_test(what_fires_a_few_times_more_is_counted_so_often),
			cmocka_unit_test(
					the_first_bucket_may_have_begun_and_nothing_is_due_before_since),
			cmocka_unit_test(b11_a_spread_is_counted_where_its_runs_get_ready),
			cmocka_unit_test(questions_that_make_no_sense_are_refused_and_add_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
