/* Walking due times: what is owed, how many, the latest, and what follows. */
#include "cases.h"

#include "calendar/advance.h"

static void what_is_owed_comes_oldest_first_then_what_follows(void **state)
{
	struct belfry_rule *rule = new_rule("*/5 * * * *", "UTC");
	struct bf_advance advance;
	belfry_time due;

	(void)state;
	bf_advance_init(&advance, rule, at("2026-01-01T10:00:00Z"), at("2026-01-01T10:10:00Z"));
	for (int minute = 0; minute <= 10; minute += 5) {
		assert_int_equal(bf_advance_next(&advance, &due), BELFRY_OK);
		assert_int_equal(due, at("2026-01-01T10:00:00Z") + minute * BELFRY_MINUTE);
	}
	assert_int_equal(bf_advance_next(&advance, &due), BELFRY_NEVER);
	assert_int_equal(advance.next, at("2026-01-01T10:15:00Z"));
	belfry_rule_free(rule);
}

static void a_stored_due_time_is_owed_though_the_rule_does_not_name_it(void **state)
{
	struct belfry_rule *rule = new_rule("0 * * * *", "UTC");
	struct bf_advance advance;
	belfry_time due;

	(void)state;
	bf_advance_init(&advance, rule, at("2026-01-01T10:07:00Z"), at("2026-01-01T10:30:00Z"));
	assert_int_equal(bf_advance_next(&advance, &due), BELFRY_OK);
	assert_int_equal(due, at("2026-01-01T10:07:00Z"));
	assert_int_equal(bf_advance_next(&advance, &due), BELFRY_NEVER);
	assert_int_equal(advance.next, at("2026-01-01T11:00:00Z"));
	belfry_rule_free(rule);
}

static void the_last_due_time_is_owed_and_leaves_the_rule_exhausted(void **state)
{
	struct belfry_rule *rule = new_rule("{\"at\":\"2026-01-01T10:00:00Z\"}", "UTC");
	struct bf_advance advance;
	belfry_time due;

	(void)state;
	bf_advance_init(&advance, rule, at("2026-01-01T10:00:00Z"), at("2026-01-01T10:00:00Z"));
	assert_int_equal(bf_advance_next(&advance, &due), BELFRY_OK);
	assert_int_equal(advance.next, BELFRY_TIME_NEVER);
	assert_int_equal(bf_advance_next(&advance, &due), BELFRY_NEVER);
	bf_advance_init(&advance, rule, BELFRY_TIME_NEVER, BELFRY_TIME_NEVER);
	assert_int_equal(bf_advance_next(&advance, &due), BELFRY_NEVER);
	belfry_rule_free(rule);
}

static void l05_one_microsecond_before_a_due_time_asks_for_it(void **state)
{
	struct belfry_rule *rule = new_rule("30 2 * * *", "Europe/Berlin");
	belfry_time due;
	belfry_time stored = at("2026-03-29T01:00:00Z");

	(void)state;
	assert_int_equal(belfry_rule_next(rule, stored - 1, &due), BELFRY_OK);
	assert_int_equal(due, stored);
	assert_true(bf_advance_is_due(rule, stored));
	assert_false(bf_advance_is_due(rule, stored + 1));
	belfry_rule_free(rule);
}

static void l06_the_one_after_a_due_time_is_later(void **state)
{
	struct belfry_rule *rule = new_rule("* * * * * *", "UTC");
	belfry_time due = at("2026-01-01T00:00:00Z");

	(void)state;
	for (int i = 1; i <= 1000; i++) {
		belfry_time before = due;
		assert_int_equal(belfry_rule_next(rule, due, &due), BELFRY_OK);
		assert_int_equal(due, before + BELFRY_SECOND);
	}
	belfry_rule_free(rule);
}

static void counting_includes_the_end_and_stops_at_the_limit(void **state)
{
	struct belfry_rule *rule = new_rule("0 * * * *", "UTC");
	uint64_t count;
	belfry_time last = 7;

	(void)state;
	bf_advance_count(rule, at("2026-01-01T00:00:00Z"), at("2026-01-01T00:59:59Z"), 10, &count,
			&last);
	assert_int_equal(count, 0);
	assert_int_equal(last, 7);
	bf_advance_count(rule, at("2026-01-01T00:00:00Z"), at("2026-01-01T05:00:00Z"), 10, &count,
			&last);
	assert_int_equal(count, 5);
	assert_int_equal(last, at("2026-01-01T05:00:00Z"));
	bf_advance_count(rule, at("2026-01-01T00:00:00Z"), at("2027-01-01T00:00:00Z"), 10, &count,
			&last);
	assert_int_equal(count, 10);
	assert_int_equal(last, at("2026-01-01T10:00:00Z"));
	bf_advance_count(rule, at("2026-01-02T00:00:00Z"), at("2026-01-01T00:00:00Z"), 10, &count,
			&last);
	assert_int_equal(count, 0);
	belfry_rule_free(rule);
}

static void check_latest(const struct belfry_rule *rule, const char *from, const char *to,
		size_t max, size_t expected_count, const char *expected_first)
{
	belfry_time times[16];
	size_t count;

	bf_advance_latest(rule, at(from), at(to), max, times, &count);
	assert_int_equal(count, expected_count);
	for (size_t i = 0; i < count; i++) {
		belfry_time due;
		assert_true(times[i] > at(from) && times[i] <= at(to));
		assert_true(bf_advance_is_due(rule, times[i]));
		assert_int_equal(belfry_rule_next(rule, times[i], &due), BELFRY_OK);
		assert_true(i + 1 < count ? due == times[i + 1] : due > at(to));
	}
	if (count > 0) {
		assert_int_equal(times[0], at(expected_first));
	}
}

static void the_latest_of_a_long_stretch_are_found(void **state)
{
	struct belfry_rule *rule = new_rule("0 * * * *", "UTC");

	(void)state;
	check_latest(rule, "2000-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 10, 10,
			"2025-12-31T15:00:00Z");
	check_latest(rule, "2026-01-01T00:00:00Z", "2026-01-01T03:30:00Z", 10, 3,
			"2026-01-01T01:00:00Z");
	check_latest(rule, "2026-01-01T00:00:00Z", "2026-01-01T03:30:00Z", 1, 1,
			"2026-01-01T03:00:00Z");
	check_latest(rule, "2026-01-01T00:00:00Z", "2026-01-01T00:30:00Z", 10, 0, "");
	check_latest(rule, "2026-01-01T00:00:00Z", "2026-01-01T03:00:00Z", 0, 0, "");
	belfry_rule_free(rule);
	rule = new_rule("* * * * * *", "UTC");
	for (size_t max = 1; max <= 16; max++) {
		check_latest(rule, "0001-01-01T00:00:00Z", "2026-01-01T00:01:00Z", max, max,
				max == 16 ? "2026-01-01T00:00:45Z"
					  : (const char *[]){"", "2026-01-01T00:01:00Z",
							    "2026-01-01T00:00:59Z",
							    "2026-01-01T00:00:58Z",
							    "2026-01-01T00:00:57Z",
							    "2026-01-01T00:00:56Z",
							    "2026-01-01T00:00:55Z",
							    "2026-01-01T00:00:54Z",
							    "2026-01-01T00:00:53Z",
							    "2026-01-01T00:00:52Z",
							    "2026-01-01T00:00:51Z",
							    "2026-01-01T00:00:50Z",
							    "2026-01-01T00:00:49Z",
							    "2026-01-01T00:00:48Z",
							    "2026-01-01T00:00:47Z",
							    "2026-01-01T00:00:46Z"}[max]);
	}
	belfry_rule_free(rule);
	rule = new_rule("0 0 29 2 *", "UTC");
	check_latest(rule, "0001-01-01T00:00:00Z", "2026-01-01T00:00:00Z", 3, 3,
			"2016-02-29T00:00:00Z");
	belfry_rule_free(rule);
}

int run_advance_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(what_is_owed_comes_oldest_first_then_what_follows),
			cmocka_unit_test(
					a_stored_due_time_is_owed_though_the_rule_does_not_name_it),
			cmocka_unit_test(the_last_due_time_is_owed_and_leaves_the_rule_exhausted),
			cmocka_unit_test(l05_one_microsecond_before_a_due_time_asks_for_it),
			cmocka_unit_test(l06_the_one_after_a_due_time_is_later),
			cmocka_unit_test(counting_includes_the_end_and_stops_at_the_limit),
			cmocka_unit_test(the_latest_of_a_long_stretch_are_found),
	};

	return cmocka_run_group_tests_name("advance", tests, NULL, NULL);
}
