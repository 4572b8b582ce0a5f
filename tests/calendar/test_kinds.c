/* The statements about due times, in each kind of rule. */
#include "cases.h"

#include "base/timefmt.h"

#define BERLIN "Europe/Berlin"

/* Each has due times before and after both changes of the clocks in Berlin, 2026. */
static const char *const kinds[] = {
		"30 2 * * *",
		"*/20 * * * *",
		"15 0,30 2 * * *",
		"0 9 L,15W * 1#2",
		"{\"every\":\"PT7H\",\"anchor\":\"2026-01-01T00:00:00Z\"}",
		"{\"every\":\"1d\",\"anchor\":\"2026-01-01T01:30:00Z\"}",
		"{\"at\":[\"2026-02-01T09:00:00\",\"2026-03-29T02:30:00\",\"2026-10-25T02:30:00\","
		"\"2026-12-01T00:00:00Z\"]}",
		"{\"any\":[{\"cron\":\"30 2 * * *\"},{\"every\":\"PT12H\",\"anchor\":"
		"\"2026-01-01T00:30:00Z\"},{\"at\":\"2026-10-25T02:30:00\"}]}",
		"{\"cron\":\"30 2 * * *\",\"except\":[{\"cron\":\"* * * * SAT\"},\"2026-10-26\"]}",
		"{\"every\":\"PT1H\",\"anchor\":\"2026-01-01T00:00:00Z\",\"except\":"
		"[{\"cron\":\"* 0-1 * * *\"},\"2026-03-30\"]}",
		"{\"cron\":\"0 * * * *\",\"not_before\":\"2026-03-29T02:30:00\","
		"\"not_after\":\"2026-10-25T02:30:00\",\"max_fires\":1000000,\"spread\":\"PT1M\"}",
};

static void for_each_due_time(
		void (*check)(const struct belfry_rule *rule, belfry_time before, belfry_time due))
{
	for (size_t i = 0; i < BF_COUNT(kinds); i++) {
		struct belfry_rule *rule = new_rule(kinds[i], BERLIN);
		belfry_time before = at("2026-01-02T00:00:00Z");
		belfry_time due;
		int count = 0;
		while (belfry_rule_next(rule, before, &due) == BELFRY_OK &&
				due < at("2027-01-01T00:00:00Z")) {
			check(rule, before, due);
			before = due;
			count++;
		}
		assert_true(count >= 4);
		belfry_rule_free(rule);
	}
}

static void is_asked_for_from_just_before(const struct belfry_rule *rule, belfry_time before,
		belfry_time due)
{
	belfry_time again;

	(void)before;
	assert_int_equal(belfry_rule_next(rule, due - 1, &again), BELFRY_OK);
	assert_int_equal(again, due);
}

static void l05_one_microsecond_before_a_due_time_asks_for_it_in_each_kind(void **state)
{
	(void)state;
	for_each_due_time(is_asked_for_from_just_before);
}

static void is_later(const struct belfry_rule *rule, belfry_time before, belfry_time due)
{
	belfry_time between;

	assert_true(due > before);
	/* Nothing lies between: half way asks for the same one. */
	assert_int_equal(belfry_rule_next(rule, before + (due - before) / 2, &between), BELFRY_OK);
	assert_int_equal(between, due);
}

static void l06_the_one_after_a_due_time_is_later_in_each_kind(void **state)
{
	(void)state;
	for_each_due_time(is_later);
}

static void t009_the_first_due_time_is_after_the_creation_in_each_kind(void **state)
{
	(void)state;
	check_rule("* * * * *", "UTC", "2026-05-05T12:00:20Z", "2026-05-05T12:01:00Z");
	check_rule("* * * * *", "UTC", "2026-05-05T12:00:00Z", "2026-05-05T12:01:00Z");
	check_rule("{\"every\":\"1m\",\"anchor\":\"2026-05-05T12:00:20Z\"}", "UTC",
			"2026-05-05T12:00:20Z", "2026-05-05T12:01:20Z");
	check_rule("{\"at\":[\"2026-05-05T12:00:20\",\"2026-05-05T12:00:21\"]}", "UTC",
			"2026-05-05T12:00:20Z", "2026-05-05T12:00:21Z,never");
	check_rule("{\"any\":[{\"at\":\"2026-05-05T12:00:20\"},{\"cron\":\"* * * * *\"}]}", "UTC",
			"2026-05-05T12:00:20Z", "2026-05-05T12:01:00Z");
	check_rule("{\"cron\":\"* * * * *\",\"except\":[{\"cron\":\"1 * * * *\"}]}", "UTC",
			"2026-05-05T12:00:20Z", "2026-05-05T12:02:00Z");
}

static void check_policy(const char *text, enum belfry_dst_gap gap, enum belfry_dst_fold fold,
		const char *from, const char *expected)
{
	struct belfry_rule *rule = new_rule_with(text, BERLIN, gap, fold);

	check_dues(rule, from, expected);
	belfry_rule_free(rule);
}

static void t012_a_gap_is_what_the_policy_says_in_each_kind(void **state)
{
	const char *from = "2026-03-28T12:00:00Z";
	const char *const fixed[] = {
			"{\"cron\":\"30 2 * * *\"}",
			"{\"any\":[{\"cron\":\"30 2 * * *\"},{\"at\":\"2026-03-29T02:30:00\"}]}",
			"{\"cron\":\"30,45 2 * * *\",\"except\":[{\"cron\":\"45 2 * * *\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(fixed); i++) {
		check_policy(fixed[i], BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST, from,
				"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z");
		check_policy(fixed[i], BELFRY_DST_GAP_SHIFT, BELFRY_DST_FOLD_FIRST, from,
				"2026-03-29T01:30:00Z,2026-03-30T00:30:00Z");
		check_policy(fixed[i], BELFRY_DST_GAP_SKIP, BELFRY_DST_FOLD_FIRST, from,
				"2026-03-30T00:30:00Z,2026-03-31T00:30:00Z");
	}
	/* Elapsed time and real minutes know of no gap. */
	check_policy("{\"every\":\"PT30M\",\"anchor\":\"2026-03-29T00:30:00Z\"}",
			BELFRY_DST_GAP_SKIP, BELFRY_DST_FOLD_FIRST, "2026-03-29T00:29:00Z",
			"2026-03-29T00:30:00Z,2026-03-29T01:00:00Z,2026-03-29T01:30:00Z");
	check_policy("*/30 * * * *", BELFRY_DST_GAP_SHIFT, BELFRY_DST_FOLD_FIRST,
			"2026-03-29T00:29:00Z",
			"2026-03-29T00:30:00Z,2026-03-29T01:00:00Z,2026-03-29T01:30:00Z");
}

static void t013_a_fold_is_what_the_policy_says_in_each_kind(void **state)
{
	const char *from = "2026-10-24T12:00:00Z";
	const char *const fixed[] = {
			"{\"cron\":\"30 2 * * *\"}",
			"{\"any\":[{\"cron\":\"30 2 * * *\"},{\"at\":\"2026-10-25T02:30:00\"}]}",
			"{\"cron\":\"30,45 2 * * *\",\"except\":[{\"cron\":\"45 2 * * *\"}]}",
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(fixed); i++) {
		check_policy(fixed[i], BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST, from,
				"2026-10-25T00:30:00Z,2026-10-26T01:30:00Z");
		check_policy(fixed[i], BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_LAST, from,
				"2026-10-25T01:30:00Z,2026-10-26T01:30:00Z");
		check_policy(fixed[i], BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_BOTH, from,
				"2026-10-25T00:30:00Z,2026-10-25T01:30:00Z,2026-10-26T01:30:00Z");
	}
	/* An expression of every so many minutes fires in both hours. */
	check_policy("*/30 2 * * *", BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST, from,
			"2026-10-25T00:00:00Z,2026-10-25T00:30:00Z,2026-10-25T01:00:00Z,"
			"2026-10-25T01:30:00Z,2026-10-26T01:00:00Z");
	check_policy("{\"every\":\"PT1H\",\"anchor\":\"2026-10-24T23:30:00Z\"}",
			BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST, "2026-10-25T00:00:00Z",
			"2026-10-25T00:30:00Z,2026-10-25T01:30:00Z,2026-10-25T02:30:00Z");
}

/* The wall clock at 09:00, winter and summer, in every kind that names local times. */
static void t002_local_times_move_with_the_offset_in_each_kind(void **state)
{
	const char *const rules[] = {
			"0 9 * * *",
			"{\"any\":[{\"cron\":\"0 9 * * 0-5\"},{\"cron\":\"0 9 * * 6\"}]}",
			"{\"cron\":\"0 9,10 * * *\",\"except\":[{\"cron\":\"* 10 * * *\"}]}",
			"{\"at\":[\"2026-03-28T09:00:00\",\"2026-03-29T09:00:00\"]}",
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		check_rule(rules[i], BERLIN, "2026-03-27T12:00:00Z",
				"2026-03-28T08:00:00Z,2026-03-29T07:00:00Z");
	}
}

int run_kinds_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					l05_one_microsecond_before_a_due_time_asks_for_it_in_each_kind),
			cmocka_unit_test(l06_the_one_after_a_due_time_is_later_in_each_kind),
			cmocka_unit_test(
					t009_the_first_due_time_is_after_the_creation_in_each_kind),
			cmocka_unit_test(t012_a_gap_is_what_the_policy_says_in_each_kind),
			cmocka_unit_test(t013_a_fold_is_what_the_policy_says_in_each_kind),
			cmocka_unit_test(t002_local_times_move_with_the_offset_in_each_kind),
	};

	return cmocka_run_group_tests_name("each kind of rule", tests, NULL, NULL);
}
