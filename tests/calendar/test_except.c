/* Exceptions: what each form leaves out, against rows by hand and against a walk over every minute. */
#include "cases.h"

#include <stdio.h>

#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/rule.h"
#include "walk.h"

#define NINE_DAILY "{\"cron\":\"0 9 * * *\",\"except\":["

static void a_date_leaves_out_its_local_day(void **state)
{
	(void)state;
	check_rule(NINE_DAILY "\"2026-12-25\",\"2026-12-26\"]}", "Europe/Berlin",
			"2026-12-24T00:00:00Z",
			"2026-12-24T08:00:00Z,2026-12-27T08:00:00Z,2026-12-28T08:00:00Z");
	/* The day of Tokyo, which begins at 15:00 UTC. */
	check_rule("{\"cron\":\"0 */6 * * *\",\"except\":[\"2026-12-25\"]}", "Asia/Tokyo",
			"2026-12-24T08:00:00Z",
			"2026-12-24T09:00:00Z,2026-12-25T15:00:00Z,2026-12-25T21:00:00Z");
	check_rule("{\"every\":\"PT12H\",\"anchor\":\"2026-12-24T00:00:00Z\","
		   "\"except\":[\"2026-12-25\"]}",
			"Asia/Tokyo", "2026-12-24T00:00:00Z",
			"2026-12-24T12:00:00Z,2026-12-26T00:00:00Z");
	check_rule("{\"at\":[\"2026-12-24T18:00:00\",\"2026-12-25T18:00:00\"],"
		   "\"except\":[\"2026-12-24\"]}",
			"Europe/Berlin", "2026-01-01T00:00:00Z", "2026-12-25T17:00:00Z,never");
}

static void a_time_leaves_out_one_instant(void **state)
{
	(void)state;
	check_rule("{\"cron\":\"0 9,10 * * *\",\"except\":[\"2026-12-24T09:00:00\"]}",
			"Europe/Berlin", "2026-12-23T12:00:00Z",
			"2026-12-24T09:00:00Z,2026-12-25T08:00:00Z");
	check_rule("{\"cron\":\"0 9,10 * * *\",\"except\":[\"2026-12-24T09:00:00Z\"]}",
			"Europe/Berlin", "2026-12-23T12:00:00Z",
			"2026-12-24T08:00:00Z,2026-12-25T08:00:00Z");
	/* In a fold it is a fixed time: by default the first of the two. */
	check_rule("{\"cron\":\"*/30 2 * * *\",\"except\":[\"2026-10-25T02:30:00\"]}",
			"Europe/Berlin", "2026-10-24T23:00:00Z",
			"2026-10-25T00:00:00Z,2026-10-25T01:00:00Z,2026-10-25T01:30:00Z");
	check_rule("{\"every\":\"PT1H\",\"anchor\":\"2026-01-01T00:00:00Z\","
		   "\"except\":[\"2026-01-01T02:00:00+01:00\"]}",
			"UTC", "2026-01-01T00:00:00Z", "2026-01-01T02:00:00Z");
}

static void an_expression_leaves_out_what_it_names(void **state)
{
	(void)state;
	check_rule(NINE_DAILY "{\"cron\":\"* * * 1 *\"}]}", "Europe/Berlin", "2026-12-31T00:00:00Z",
			"2026-12-31T08:00:00Z,2027-02-01T08:00:00Z");
	check_rule(NINE_DAILY "{\"cron\":\"* * * * SAT,SUN\"}]}", "Europe/Berlin",
			"2026-12-24T00:00:00Z",
			"2026-12-24T08:00:00Z,2026-12-25T08:00:00Z,2026-12-28T08:00:00Z");
	/* Lunch. */
	check_rule("{\"cron\":\"*/30 11-13 * * *\",\"except\":[{\"cron\":\"* 12 * * *\"}]}", "UTC",
			"2026-12-24T11:00:00Z",
			"2026-12-24T11:30:00Z,2026-12-24T13:00:00Z,2026-12-24T13:30:00Z,"
			"2026-12-25T11:00:00Z");
	check_rule("{\"every\":\"PT20M\",\"anchor\":\"2026-01-01T00:00:00Z\","
		   "\"except\":[{\"cron\":\"* 0-22 * * *\"}]}",
			"UTC", "2026-01-01T00:00:00Z",
			"2026-01-01T23:00:00Z,2026-01-01T23:20:00Z,2026-01-01T23:40:00Z,"
			"2026-01-02T23:00:00Z");
}

static void five_fields_leave_out_the_minute_and_six_the_second(void **state)
{
	(void)state;
	check_rule("{\"cron\":\"0,30 * * * * *\",\"except\":[{\"cron\":\"1 * * * *\"}]}", "UTC",
			"2026-01-01T00:00:00Z",
			"2026-01-01T00:00:30Z,2026-01-01T00:02:00Z,2026-01-01T00:02:30Z");
	check_rule("{\"cron\":\"0,30 * * * * *\",\"except\":[{\"cron\":\"30 1 * * * *\"}]}", "UTC",
			"2026-01-01T00:00:00Z",
			"2026-01-01T00:00:30Z,2026-01-01T00:01:00Z,2026-01-01T00:02:00Z");
	check_rule("{\"every\":\"1s\",\"anchor\":\"2026-01-01T00:00:00.25Z\","
		   "\"except\":[{\"cron\":\"0-57 * * * * *\"}]}",
			"UTC", "2026-01-01T00:00:00Z",
			"2026-01-01T00:00:58.250Z,2026-01-01T00:00:59.250Z,2026-01-01T00:01:58.250Z");
}

static void a_local_time_that_is_left_out_moves_nowhere(void **state)
{
	(void)state;
	/* 02:30 does not exist on 29 March, and is left out all the same: nothing at 03:00. */
	check_rule("{\"cron\":\"30 2 * * *\",\"except\":[{\"cron\":\"30 2 29 3 *\"}]}",
			"Europe/Berlin", "2026-03-28T00:00:00Z",
			"2026-03-28T01:30:00Z,2026-03-30T00:30:00Z");
	/* 03:00 is left out, and 02:30 is not. */
	check_rule("{\"cron\":\"30 2 * * *\",\"except\":[{\"cron\":\"0 3 29 3 *\"}]}",
			"Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z");
	/* Apia had no 30 December 2011. */
	check_rule("{\"cron\":\"0 9 * * *\",\"except\":[\"2011-12-30\"]}", "Pacific/Apia",
			"2011-12-29T00:00:00Z", "2011-12-29T19:00:00Z,2011-12-30T19:00:00Z");
	/* A repeated local time is left out both times. */
	check_rule("{\"cron\":\"*/30 * * * *\",\"except\":[{\"cron\":\"30 2 25 10 *\"}]}",
			"Europe/Berlin", "2026-10-25T00:00:00Z",
			"2026-10-25T01:00:00Z,2026-10-25T02:00:00Z");
}

static void exceptions_hold_for_all_rules_below_them(void **state)
{
	(void)state;
	check_rule("{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"0 10 * * *\","
		   "\"except\":[\"2026-12-26\"]}],\"except\":[\"2026-12-25\"]}",
			"UTC", "2026-12-24T09:30:00Z",
			"2026-12-24T10:00:00Z,2026-12-26T09:00:00Z,2026-12-27T09:00:00Z,"
			"2026-12-27T10:00:00Z");
}

static void a_shared_calendar_stands_with_what_it_holds(void **state)
{
	(void)state;
	check_rule(NINE_DAILY
			"{\"calendar\":\"holidays-de\",\"except\":[\"2026-12-25\","
			"{\"cron\":\"* * 26 12 *\"},\"2026-12-27T09:00:00\"]},\"2026-12-28\"]}",
			"Europe/Berlin", "2026-12-24T00:00:00Z",
			"2026-12-24T08:00:00Z,2026-12-29T08:00:00Z");
	check_rule(NINE_DAILY "{\"calendar\":\"empty\",\"except\":[]}]}", "UTC",
			"2026-12-24T00:00:00Z", "2026-12-24T09:00:00Z,2026-12-25T09:00:00Z");
	check_rule(NINE_DAILY "]}", "UTC", "2026-12-24T00:00:00Z", "2026-12-24T09:00:00Z");
}

static void check_except(const char *except, const char *pointer, const char *words)
{
	struct belfry_error err = {0};
	struct belfry_rule *rule = NULL;
	char text[4096];

	assert_true(snprintf(text, sizeof(text), "{\"cron\":\"0 9 * * *\",\"except\":%s}", except) <
			(int)sizeof(text));
	enum belfry_status status = belfry_rule_new(shared_zones(), bf_str(text), BF_STR("UTC"),
			NULL, &rule, &err);
	if (status != BELFRY_INVALID_SCHEDULE || strcmp(err.pointer, pointer) != 0 ||
			strstr(err.message, words) == NULL) {
		fail_msg("%s: %s at \"%s\": %s", except, belfry_status_name(status), err.pointer,
				err.message);
	}
}

static void what_is_wrong_with_an_exception_is_named(void **state)
{
	(void)state;
	check_except("7", "/except", "except");
	check_except("[7]", "/except/0", "neither a text nor an object");
	check_except("[null]", "/except/0", "neither a text nor an object");
	check_except("[\"2026-12-24\",\"2026-13-01\"]", "/except/1", "item 1 is neither a date");
	check_except("[\"2026-02-29\"]", "/except/0", "neither a date");
	check_except("[\"holidays-de\"]", "/except/0", "neither a date");
	check_except("[\"\"]", "/except/0", "neither a date");
	check_except("[{}]", "/except/0/cron", "cron");
	check_except("[{\"cron\":\"0 24 * * *\"}]", "/except/0/cron", "24 is past 23");
	check_except("[{\"cron\":\"* * * * *\",\"x\":1}]", "/except/0/x", "x");
	check_except("[{\"every\":\"1h\"}]", "/except/0/cron", "cron");
	check_except("[{\"calendar\":\"holidays-de\"}]", "/except/0/calendar",
			"\"holidays-de\" is not known here");
	check_except("[{\"calendar\":\"\",\"except\":[]}]", "/except/0/calendar", "calendar");
	check_except("[{\"calendar\":\"x\",\"except\":[\"2026-13-01\"]}]", "/except/0/except/0",
			"neither a date");
	check_except("[{\"calendar\":\"x\",\"except\":[{\"calendar\":\"y\",\"except\":[]}]}]",
			"/except/0/except/0/cron", "cron");
	check_except("[{\"calendar\":\"x\",\"except\":[],\"cron\":\"* * * * *\"}]",
			"/except/0/cron", "cron");
}

static void what_leaves_nothing_is_refused(void **state)
{
	static const char *const rules[] = {
			"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* * * * *\"}]}",
			"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"0 9 * * *\"}]}",
			"{\"cron\":\"* * * * *\",\"except\":[{\"cron\":\"*/2 * * * *\"},"
			"{\"cron\":\"1-59/2 * * * *\"}]}",
			"{\"cron\":\"0 0 29 2 *\",\"except\":[{\"cron\":\"* * L 2 *\"}]}",
			"{\"cron\":\"* * * * * *\",\"except\":[{\"cron\":\"0-29 * * * * *\"},"
			"{\"cron\":\"30-59 * * * * *\"}]}",
			"{\"every\":\"1s\",\"except\":[{\"cron\":\"* * * * *\"}]}",
			"{\"every\":\"1h\",\"except\":[{\"cron\":\"* 0-11 * * *\"},"
			"{\"cron\":\"* 12-23 * * *\"}]}",
			"{\"at\":\"2026-12-24T18:00:00\",\"except\":[\"2026-12-24\"]}",
			"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"0 10 * * *\"}],"
			"\"except\":[{\"cron\":\"* 10 * * *\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		struct belfry_error err = {0};
		struct belfry_rule *rule;
		enum belfry_status status = belfry_rule_new(shared_zones(), bf_str(rules[i]),
				BF_STR("Europe/Berlin"), NULL, &rule, &err);
		if (status != BELFRY_INVALID_SCHEDULE ||
				strstr(err.message, "leave nothing") == NULL) {
			fail_msg("%s: %s: %s", rules[i], belfry_status_name(status), err.message);
		}
	}
}

static void random_field(uint64_t *seed, char *out, size_t size, int min, int max)
{
	int from = min + (int)walk_random(seed, (uint64_t)(max - min + 1));
	int to = from + (int)walk_random(seed, (uint64_t)(max - from + 1));

	switch (walk_random(seed, 4)) {
	case 0: (void)snprintf(out, size, "*"); break;
	case 1: (void)snprintf(out, size, "%d", from); break;
	case 2: (void)snprintf(out, size, "%d-%d", from, to); break;
	default: (void)snprintf(out, size, "*/%d", 2 + (int)walk_random(seed, (uint64_t)(max / 2)));
	}
}

static void random_cron(uint64_t *seed, char *text, size_t size)
{
	char fields[5][24];

	random_field(seed, fields[0], sizeof(fields[0]), 0, 59);
	random_field(seed, fields[1], sizeof(fields[1]), 0, 23);
	random_field(seed, fields[2], sizeof(fields[2]), 1, 28);
	random_field(seed, fields[3], sizeof(fields[3]), 1, 12);
	random_field(seed, fields[4], sizeof(fields[4]), 0, 6);
	(void)snprintf(text, size, "%s %s %s %s %s", fields[0], fields[1], fields[2], fields[3],
			fields[4]);
}

/* Hours on the hour, each with an exception of its own: nothing contiguous to jump over. */
static void an_interval_that_meets_exceptions_only_is_given_up(void **state)
{
	struct belfry_error err = {0};
	struct belfry_rule *rule;

	(void)state;
	assert_int_equal(
			belfry_rule_new(shared_zones(),
					BF_STR("{\"every\":\"1h\",\"anchor\":\"2026-01-01T00:00:00Z\","
					       "\"except\":[{\"cron\":\"0 * * * *\"}]}"),
					BF_STR("UTC"), NULL, &rule, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_non_null(strstr(err.message, "one by one"));
	/* Neither a year's hours nor a day's seconds are too many, wherever it is asked. */
	check_rule("{\"every\":\"1h\",\"anchor\":\"2026-01-01T00:00:00Z\","
		   "\"except\":[{\"cron\":\"0 * * 1-11 *\"}]}",
			"UTC", "2026-01-01T00:00:00Z", "2026-12-01T00:00:00Z,2026-12-01T01:00:00Z");
	check_rule("{\"every\":\"PT5S\",\"anchor\":\"2026-12-01T00:00:00Z\","
		   "\"except\":[{\"cron\":\"*/5 * 1-20 * * *\"}]}",
			"UTC", "2026-12-01T00:59:50Z",
			"2026-12-01T00:59:55Z,2026-12-01T21:00:00Z,2026-12-01T21:00:05Z");
	check_rule("{\"every\":\"PT2M\",\"anchor\":\"2026-12-01T00:00:00Z\","
		   "\"except\":[{\"cron\":\"*/2 * 2-31 * *\"}]}",
			"UTC", "2026-12-02T12:00:00Z", "2027-01-01T00:00:00Z");
	check_rule("{\"every\":\"PT1H\",\"anchor\":\"2026-01-01T00:00:00Z\","
		   "\"except\":[{\"cron\":\"0 * * 1,3-12 *\"},{\"cron\":\"0 * 1-28 * *\"}]}",
			"UTC", "2026-01-01T00:00:00Z", "2028-02-29T00:00:00Z");
}

#define WALKED_STEPS 3000

/* Each step up to `due`, which is one if it is no later than `last`, against both expressions. */
static void check_steps(const struct belfry_rule *rule, const struct bf_cron *excepts,
		int64_t period, int64_t *step, belfry_time due, const char *json)
{
	for (; *step * BELFRY_SECOND <= due; *step += period) {
		int64_t local = *step + belfry_rule_offset(rule, *step * BELFRY_SECOND);
		bool is_left = bf_cron_next(&excepts[0], local) != local &&
				bf_cron_next(&excepts[1], local) != local;
		if (is_left != (*step * BELFRY_SECOND == due)) {
			fail_msg("%s: %lld", json, (long long)*step);
		}
	}
}

static void random_except(uint64_t *seed, char *text, size_t size, struct bf_cron *ret_cron)
{
	size_t len = 0;

	if (walk_random(seed, 2) == 0) {
		len = (size_t)snprintf(text, size, "*/%d ", 1 + (int)walk_random(seed, 10));
	}
	random_cron(seed, text + len, size - len);
	assert_int_equal(bf_cron_parse(bf_str(text), false, ret_cron, NULL), BELFRY_OK);
	ret_cron->seconds = ret_cron->has_seconds ? ret_cron->seconds : (UINT64_C(1) << 60) - 1;
}

static bool compare_interval(uint64_t *seed)
{
	static const int64_t periods[] = {1, 5, 7, 45, 60, 420, 1800, 3600, 5400, 25200, 86400,
			90000};
	char texts[2][128];
	struct bf_cron excepts[2];
	struct belfry_rule *rule;
	char json[512];
	char anchor_text[BF_TIME_TEXT_BYTES];
	int64_t period = periods[walk_random(seed, BF_COUNT(periods))];
	int64_t anchor = at("2026-10-24T00:00:00Z") / BELFRY_SECOND +
			(int64_t)walk_random(seed, 86400);

	bf_time_format(anchor * BELFRY_SECOND, 0, anchor_text);
	random_except(seed, texts[0], sizeof(texts[0]), &excepts[0]);
	random_except(seed, texts[1], sizeof(texts[1]), &excepts[1]);
	(void)snprintf(json, sizeof(json),
			"{\"every\":\"PT%lldS\",\"anchor\":\"%s\",\"except\":[{\"cron\":\"%s\"},"
			"{\"cron\":\"%s\"}]}",
			(long long)period, anchor_text, texts[0], texts[1]);
	if (belfry_rule_new(shared_zones(), bf_str(json), BF_STR("Europe/Berlin"), NULL, &rule,
			    NULL) != BELFRY_OK) {
		return false; /* nothing is left of it */
	}
	int64_t step = anchor;
	belfry_time due = (anchor - 1) * BELFRY_SECOND;
	while (step < anchor + WALKED_STEPS * period) {
		if (belfry_rule_next(rule, due, &due) != BELFRY_OK) {
			fail_msg("%s: never behind %lld", json, (long long)step);
		}
		check_steps(rule, excepts, period, &step, due, json);
	}
	belfry_rule_free(rule);
	return true;
}

/* Against one look at each step, in a zone that changes its clocks. */
static void random_intervals_with_exceptions_are_what_a_walk_leaves(void **state)
{
	uint64_t seed = 4;
	int compared = 0;

	(void)state;
	for (int i = 0; i < 300; i++) {
		compared += compare_interval(&seed) ? 1 : 0;
	}
	assert_true(compared > 200);
}

static void what_is_rare_is_found(void **state)
{
	(void)state;
	check_rule("{\"cron\":\"* * * * *\",\"except\":[{\"cron\":\"*/2 * * 1-11 *\"},"
		   "{\"cron\":\"1-59/2 * * 1-11 *\"},{\"cron\":\"* * 1-30 12 *\"},"
		   "{\"cron\":\"* * * 12 0-5\"}]}",
			"UTC", "2026-01-01T00:00:00Z", "2033-12-31T00:00:00Z,2033-12-31T00:01:00Z");
	check_rule("{\"cron\":\"0 0 29 2 *\",\"except\":[\"2028-02-29\",\"2032-02-29\"]}", "UTC",
			"2026-01-01T00:00:00Z", "2036-02-29T00:00:00Z");
	check_rule("{\"cron\":\"59 59 23 * * *\",\"except\":[{\"cron\":\"0-58 * * * * *\"}]}",
			"UTC", "9999-12-30T23:59:59Z", "9999-12-31T23:59:59Z,never");
}

static void too_many_exceptions_are_refused(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct belfry_error err = {0};
	struct belfry_rule *rule;

	(void)state;
	bf_buf_append_text(&text, "{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"0 1 * * *\"}");
	for (int i = 0; i < 16; i++) {
		bf_buf_appendf(&text, ",{\"cron\":\"%d 9 1 * *\"}", i);
	}
	bf_buf_append_text(&text, "]}");
	assert_int_equal(belfry_rule_new(shared_zones(), bf_buf_str(&text), BF_STR("UTC"), NULL,
					 &rule, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_non_null(strstr(err.message, "too many exceptions: at most 16"));
	bf_buf_clear(&text);
	bf_buf_append_text(&text, "{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"1 0 9 * * *\"}");
	for (int i = 0; i < 4; i++) {
		bf_buf_appendf(&text, ",{\"cron\":\"%d 9 1 * *\"}", i);
	}
	bf_buf_append_text(&text, "]}");
	assert_int_equal(belfry_rule_new(shared_zones(), bf_buf_str(&text), BF_STR("UTC"), NULL,
					 &rule, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_non_null(strstr(err.message, "at most 4 expressions"));
	bf_buf_clear(&text);
	bf_buf_append_text(&text, "{\"cron\":\"0 9 * * *\",\"except\":[\"2026-01-01\"");
	for (int i = 0; i < 999; i++) {
		bf_buf_appendf(&text, ",\"%04d-%02d-%02d\"", 2026 + i / 336, 1 + i / 28 % 12,
				1 + i % 28);
	}
	bf_buf_append_text(&text, "]}");
	assert_int_equal(belfry_rule_new(shared_zones(), bf_buf_str(&text), BF_STR("UTC"), NULL,
					 &rule, &err),
			BELFRY_OK);
	check_dues(rule, "2026-01-01T00:00:00Z", "2026-01-29T09:00:00Z");
	belfry_rule_free(rule);
}

/* ---- against a walk over every minute ---- */

#define WALKED_DAYS 40
#define EXCEPTS_MAX 4

static bool is_left(const struct bf_cron *plain, const struct bf_cron *excepts, size_t count,
		int64_t date, int64_t local)
{
	if (bf_cron_next(plain, local) != local || bf_floor_div(local, BF_DAY_S) == date) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (bf_cron_next(&excepts[i], local) == local) {
			return false;
		}
	}
	return true;
}

/* A local row of minutes, before any zone: the search against one look at each. */
static void compare_local(uint64_t *seed)
{
	char texts[1 + EXCEPTS_MAX][128];
	struct bf_cron excepts[EXCEPTS_MAX];
	struct bf_cron plain;
	struct belfry_error err = {0};
	struct belfry_rule *rule;
	char json[1024];
	size_t count = 1 + walk_random(seed, EXCEPTS_MAX);
	int64_t start = (20454 + (int64_t)walk_random(seed, 2000)) * BF_DAY_S;
	int64_t date = bf_floor_div(start, BF_DAY_S) + (int64_t)walk_random(seed, WALKED_DAYS);
	char date_text[BF_TIME_TEXT_BYTES];

	random_cron(seed, texts[0], sizeof(texts[0]));
	assert_int_equal(bf_cron_parse(bf_str(texts[0]), false, &plain, NULL), BELFRY_OK);
	bf_time_format(date * BELFRY_DAY, 0, date_text);
	int len = snprintf(json, sizeof(json), "{\"cron\":\"%s\",\"except\":[\"%.10s\"", texts[0],
			date_text);
	for (size_t i = 0; i < count; i++) {
		random_cron(seed, texts[1 + i], sizeof(texts[0]));
		assert_int_equal(bf_cron_parse(bf_str(texts[1 + i]), false, &excepts[i], NULL),
				BELFRY_OK);
		len += snprintf(json + len, sizeof(json) - (size_t)len, ",{\"cron\":\"%s\"}",
				texts[1 + i]);
	}
	(void)snprintf(json + len, sizeof(json) - (size_t)len, "]}");
	if (belfry_rule_new(shared_zones(), bf_str(json), BF_STR("UTC"), NULL, &rule, &err) !=
			BELFRY_OK) {
		assert_non_null(strstr(err.message, "never fire"));
		rule = NULL;
	}
	belfry_time due = (start - 1) * BELFRY_SECOND;
	if (rule == NULL || belfry_rule_next(rule, due, &due) != BELFRY_OK) {
		due = BELFRY_TIME_NEVER;
	}
	for (int64_t local = start; local < start + WALKED_DAYS * BF_DAY_S; local += 60) {
		bool expected = is_left(&plain, excepts, count, date, local);
		if ((due == local * BELFRY_SECOND) != expected) {
			fail_msg("%s: local second %lld", json, (long long)local);
		}
		if (expected && belfry_rule_next(rule, due, &due) != BELFRY_OK) {
			due = BELFRY_TIME_NEVER;
		}
	}
	belfry_rule_free(rule);
}

static void random_exceptions_are_what_a_walk_leaves_out(void **state)
{
	uint64_t seed = 20261130;

	(void)state;
	for (int i = 0; i < 300; i++) {
		compare_local(&seed);
	}
}

int run_except_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_date_leaves_out_its_local_day),
			cmocka_unit_test(a_time_leaves_out_one_instant),
			cmocka_unit_test(an_expression_leaves_out_what_it_names),
			cmocka_unit_test(five_fields_leave_out_the_minute_and_six_the_second),
			cmocka_unit_test(a_local_time_that_is_left_out_moves_nowhere),
			cmocka_unit_test(exceptions_hold_for_all_rules_below_them),
			cmocka_unit_test(a_shared_calendar_stands_with_what_it_holds),
			cmocka_unit_test(what_is_wrong_with_an_exception_is_named),
			cmocka_unit_test(what_leaves_nothing_is_refused),
			cmocka_unit_test(an_interval_that_meets_exceptions_only_is_given_up),
			cmocka_unit_test(random_intervals_with_exceptions_are_what_a_walk_leaves),
			cmocka_unit_test(what_is_rare_is_found),
			cmocka_unit_test(too_many_exceptions_are_refused),
			cmocka_unit_test(random_exceptions_are_what_a_walk_leaves_out),
	};

	return cmocka_run_group_tests_name("exceptions", tests, NULL, NULL);
}
