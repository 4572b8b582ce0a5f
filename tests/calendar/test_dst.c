/* Daylight saving: gaps and folds of every length, under every policy, and zones that are odd. */
#include "cases.h"

#include "base/timefmt.h"

static void t001_working_days_at_nine_in_shanghai(void **state)
{
	(void)state;
	check_rule("0 9 * * 1-5", "Asia/Shanghai", "2026-11-01T00:00:00Z",
			"2026-11-02T01:00:00Z,2026-11-03T01:00:00Z,2026-11-04T01:00:00Z,"
			"2026-11-05T01:00:00Z,2026-11-06T01:00:00Z,2026-11-09T01:00:00Z");
}

static void t002_nine_local_moves_with_the_offset(void **state)
{
	(void)state;
	check_rule("0 9 * * *", "Europe/Berlin", "2026-03-27T12:00:00Z",
			"2026-03-28T08:00:00Z,2026-03-29T07:00:00Z,2026-03-30T07:00:00Z");
	check_rule("0 9 * * *", "America/New_York", "2026-10-30T14:00:00Z",
			"2026-10-31T13:00:00Z,2026-11-01T14:00:00Z,2026-11-02T14:00:00Z");
}

static void check_gap(const char *text, const char *zone, enum belfry_dst_gap gap, const char *from,
		const char *expected)
{
	struct belfry_rule *rule = new_rule_with(text, zone, gap, BELFRY_DST_FOLD_FIRST);

	check_dues(rule, from, expected);
	belfry_rule_free(rule);
}

static void check_fold(const char *text, const char *zone, enum belfry_dst_fold fold,
		const char *from, const char *expected)
{
	struct belfry_rule *rule = new_rule_with(text, zone, BELFRY_DST_GAP_AT_END, fold);

	check_dues(rule, from, expected);
	belfry_rule_free(rule);
}

static void t012_a_time_in_the_gap_goes_by_the_policy(void **state)
{
	const char *text = "30 2 * * *";
	const char *from = "2026-03-28T12:00:00Z";

	(void)state;
	check_gap(text, "Europe/Berlin", BELFRY_DST_GAP_AT_END, from,
			"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z");
	check_gap(text, "Europe/Berlin", BELFRY_DST_GAP_SKIP, from, "2026-03-30T00:30:00Z");
	check_gap(text, "Europe/Berlin", BELFRY_DST_GAP_SHIFT, from,
			"2026-03-29T01:30:00Z,2026-03-30T00:30:00Z");
	/* Times in the gap and the one at its end are one due time; moved ones stand apart. */
	text = "0,20,40 2,3 * * *";
	check_gap(text, "Europe/Berlin", BELFRY_DST_GAP_AT_END, from,
			"2026-03-29T01:00:00Z,2026-03-29T01:20:00Z,2026-03-29T01:40:00Z,"
			"2026-03-30T00:00:00Z");
	text = "10,40 2,3 * * *";
	check_gap(text, "Europe/Berlin", BELFRY_DST_GAP_AT_END, from,
			"2026-03-29T01:00:00Z,2026-03-29T01:10:00Z,2026-03-29T01:40:00Z,"
			"2026-03-30T00:10:00Z");
	check_gap(text, "Europe/Berlin", BELFRY_DST_GAP_SHIFT, from,
			"2026-03-29T01:10:00Z,2026-03-29T01:40:00Z,2026-03-30T00:10:00Z");
	text = "15 2 * * *";
	check_gap(text, "Australia/Lord_Howe", BELFRY_DST_GAP_SHIFT, "2025-10-04T00:00:00Z",
			"2025-10-04T15:45:00Z,2025-10-05T15:15:00Z");
}

static void a_moved_time_is_found_from_within_its_gap(void **state)
{
	(void)state;
	check_gap("30 2 * * *", "Europe/Berlin", BELFRY_DST_GAP_SHIFT, "2026-03-29T01:00:00Z",
			"2026-03-29T01:30:00Z,2026-03-30T00:30:00Z");
	check_gap("30 2 * * *", "Europe/Berlin", BELFRY_DST_GAP_SHIFT, "2026-03-29T01:30:00Z",
			"2026-03-30T00:30:00Z");
	check_gap("30 2 * * *", "Europe/Berlin", BELFRY_DST_GAP_AT_END,
			"2026-03-29T00:59:59.999999Z", "2026-03-29T01:00:00Z,2026-03-30T00:30:00Z");
	check_gap("30 2 * * *", "Europe/Berlin", BELFRY_DST_GAP_AT_END, "2026-03-29T01:00:00Z",
			"2026-03-30T00:30:00Z");
	check_gap("0 12 * * *", "Pacific/Apia", BELFRY_DST_GAP_SHIFT, "2011-12-29T23:00:00Z",
			"2011-12-30T22:00:00Z,2011-12-31T22:00:00Z");
	check_gap("0 12 * * *", "Pacific/Apia", BELFRY_DST_GAP_SKIP, "2011-12-29T23:00:00Z",
			"2011-12-30T22:00:00Z");
	check_gap("0 12 * * 5", "Pacific/Apia", BELFRY_DST_GAP_AT_END, "2011-12-28T23:00:00Z",
			"2011-12-30T10:00:00Z,2012-01-05T22:00:00Z");
}

static void t013_a_time_that_comes_twice_goes_by_the_policy(void **state)
{
	const char *from = "2026-10-24T12:00:00Z";

	(void)state;
	check_fold("30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_FIRST, from,
			"2026-10-25T00:30:00Z,2026-10-26T01:30:00Z");
	check_fold("30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_LAST, from,
			"2026-10-25T01:30:00Z,2026-10-26T01:30:00Z");
	check_fold("30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_BOTH, from,
			"2026-10-25T00:30:00Z,2026-10-25T01:30:00Z,2026-10-26T01:30:00Z");
	check_fold("*/30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_FIRST, from,
			"2026-10-25T00:00:00Z,2026-10-25T00:30:00Z,2026-10-25T01:00:00Z,"
			"2026-10-25T01:30:00Z,2026-10-26T01:00:00Z");
	check_fold("0 1-3 * * *", "Europe/Berlin", BELFRY_DST_FOLD_LAST, from,
			"2026-10-24T23:00:00Z,2026-10-25T01:00:00Z,2026-10-25T02:00:00Z,"
			"2026-10-26T00:00:00Z");
	check_fold("45 1 * * *", "Australia/Lord_Howe", BELFRY_DST_FOLD_BOTH,
			"2026-04-04T01:00:00Z",
			"2026-04-04T14:45:00Z,2026-04-04T15:15:00Z,2026-04-05T15:15:00Z");
}

static void an_answer_does_not_depend_on_where_in_a_fold_one_asks(void **state)
{
	(void)state;
	check_fold("30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_FIRST, "2026-10-25T00:30:00Z",
			"2026-10-26T01:30:00Z");
	check_fold("30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_LAST, "2026-10-25T00:10:00Z",
			"2026-10-25T01:30:00Z");
	check_fold("30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_LAST, "2026-10-25T01:30:00Z",
			"2026-10-26T01:30:00Z");
	check_fold("30 2 * * *", "Europe/Berlin", BELFRY_DST_FOLD_BOTH, "2026-10-25T00:30:00Z",
			"2026-10-25T01:30:00Z");
	check_fold("0 0 * * *", "America/Sao_Paulo", BELFRY_DST_FOLD_FIRST, "2018-02-17T12:00:00Z",
			"2018-02-18T03:00:00Z");
	check_fold("30 23 * * *", "America/Sao_Paulo", BELFRY_DST_FOLD_BOTH, "2018-02-17T12:00:00Z",
			"2018-02-18T01:30:00Z,2018-02-18T02:30:00Z,2018-02-19T02:30:00Z");
}

static void seconds_do_not_decide_the_class(void **state)
{
	(void)state;
	check_rule("*/20 30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z",
			"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z,2026-03-30T00:30:20Z");
	check_rule("* 0-59 2 * * *", "Europe/Berlin", "2026-10-25T00:59:58Z",
			"2026-10-25T00:59:59Z,2026-10-26T01:00:00Z");
}

/* Its only times lie in the gap of every year: no due time in the whole cycle, and no endless search. */
static void an_interval_that_only_names_the_gap_never_fires(void **state)
{
	(void)state;
	check_rule("*/20 2 * 3 SUN#2", "America/New_York", "2007-03-01T00:00:00Z", "never");
	check_rule("*/20 2 * 3 SUN#2", "America/New_York", "2026-01-01T00:00:00Z", "never");
	check_rule("*/20 2 * 3 SUN#2", "America/New_York", "2005-01-01T00:00:00Z",
			"2005-03-13T07:00:00Z,2005-03-13T07:20:00Z");
	check_gap("0 2 * 3 SUN#2", "America/New_York", BELFRY_DST_GAP_SKIP, "2026-01-01T00:00:00Z",
			"never");
	check_gap("0 2 * 3 SUN#2", "America/New_York", BELFRY_DST_GAP_AT_END,
			"2026-01-01T00:00:00Z", "2026-03-08T07:00:00Z,2027-03-14T07:00:00Z");
}

static void negative_daylight_saving_is_only_an_offset(void **state)
{
	(void)state;
	check_rule("30 1 * * *", "Europe/Dublin", "2026-03-28T12:00:00Z",
			"2026-03-29T01:00:00Z,2026-03-30T00:30:00Z");
	check_rule("30 1 * * *", "Europe/Dublin", "2026-10-24T12:00:00Z",
			"2026-10-25T00:30:00Z,2026-10-26T01:30:00Z");
	check_rule("0 12 * * *", "Europe/Dublin", "2050-11-01T00:00:00Z", "2050-11-01T12:00:00Z");
	check_rule("0 12 * * *", "Europe/Dublin", "2999-07-01T00:00:00Z", "2999-07-01T11:00:00Z");
}

static void footers_rule_for_ever(void **state)
{
	(void)state;
	check_rule("30 2 * * *", "Europe/Berlin", "3026-03-25T12:00:00Z",
			"3026-03-26T01:00:00Z,3026-03-27T00:30:00Z");
	check_rule("30 2 * * *", "America/New_York", "9999-03-13T12:00:00Z",
			"9999-03-14T07:00:00Z,9999-03-15T06:30:00Z");
	/* Hours beyond a day in the footer. */
	check_rule("0 0 * * *", "America/Nuuk", "2045-03-24T12:00:00Z",
			"2045-03-25T02:00:00Z,2045-03-26T01:00:00Z,2045-03-27T01:00:00Z");
	check_rule("30 2 * * 6", "Asia/Gaza", "2100-03-20T12:00:00Z",
			"2100-03-27T00:00:00Z,2100-04-02T23:30:00Z");
}

/* Edges that do not lie on a whole minute or hour, and a day that came twice. */
static void edges_of_history_are_exact_to_the_second(void **state)
{
	(void)state;
	check_rule("30 0 * * *", "Africa/Monrovia", "1972-01-06T12:00:00Z",
			"1972-01-07T00:44:30Z,1972-01-08T00:30:00Z");
	check_rule("5 0 * * *", "Europe/Berlin", "1893-03-31T12:00:00Z",
			"1893-03-31T23:06:32Z,1893-04-01T23:05:00Z");
	check_rule("0 12 * * *", "America/Juneau", "1867-10-17T12:00:00Z",
			"1867-10-17T20:57:41Z,1867-10-18T20:57:41Z,1867-10-20T20:57:41Z");
	check_fold("0 12 * * *", "America/Juneau", BELFRY_DST_FOLD_BOTH, "1867-10-17T12:00:00Z",
			"1867-10-17T20:57:41Z,1867-10-18T20:57:41Z,1867-10-19T20:57:41Z");
}

/* Rules are asked backwards and forwards over one edge: always the same due times. */
static void every_question_within_an_edge_has_one_answer(void **state)
{
	belfry_time from = at("2026-10-24T20:00:00Z");
	belfry_time to = at("2026-10-25T06:00:00Z");

	(void)state;
	for (int fold = 0; fold < BELFRY_DST_FOLD_COUNT; fold++) {
		struct belfry_rule *rule = new_rule_with("*/1 2 * * *", "Europe/Berlin",
				BELFRY_DST_GAP_AT_END, (enum belfry_dst_fold)fold);
		belfry_time expected;
		assert_int_equal(belfry_rule_next(rule, from, &expected), BELFRY_OK);
		for (belfry_time t = from; t < to; t += 10 * BELFRY_SECOND) {
			belfry_time due;
			if (t >= expected) {
				assert_int_equal(belfry_rule_next(rule, expected, &expected),
						BELFRY_OK);
			}
			assert_int_equal(belfry_rule_next(rule, t, &due), BELFRY_OK);
			assert_int_equal(due, expected);
		}
		belfry_rule_free(rule);
	}
}

static void the_offset_is_that_of_the_zone(void **state)
{
	struct belfry_rule *rule = new_rule("0 0 * * *", "Asia/Kathmandu");

	(void)state;
	assert_int_equal(belfry_rule_offset(rule, at("2026-01-01T00:00:00Z")), 20700);
	belfry_rule_free(rule);
	rule = new_rule("0 0 * * *", "Europe/Berlin");
	assert_int_equal(belfry_rule_offset(rule, at("2026-03-29T00:59:59.999999Z")), 3600);
	assert_int_equal(belfry_rule_offset(rule, at("2026-03-29T01:00:00Z")), 7200);
	assert_int_equal(belfry_rule_offset(rule, at("1890-01-01T00:00:00Z")), 3208);
	assert_int_equal(belfry_rule_offset(rule, INT64_MIN), 3208);
	assert_int_equal(belfry_rule_offset(rule, INT64_MAX) % 3600, 0);
	belfry_rule_free(rule);
}

int run_dst_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(t001_working_days_at_nine_in_shanghai),
			cmocka_unit_test(t002_nine_local_moves_with_the_offset),
			cmocka_unit_test(t012_a_time_in_the_gap_goes_by_the_policy),
			cmocka_unit_test(a_moved_time_is_found_from_within_its_gap),
			cmocka_unit_test(t013_a_time_that_comes_twice_goes_by_the_policy),
			cmocka_unit_test(an_answer_does_not_depend_on_where_in_a_fold_one_asks),
			cmocka_unit_test(seconds_do_not_decide_the_class),
			cmocka_unit_test(an_interval_that_only_names_the_gap_never_fires),
			cmocka_unit_test(negative_daylight_saving_is_only_an_offset),
			cmocka_unit_test(footers_rule_for_ever),
			cmocka_unit_test(edges_of_history_are_exact_to_the_second),
			cmocka_unit_test(every_question_within_an_edge_has_one_answer),
			cmocka_unit_test(the_offset_is_that_of_the_zone),
	};

	return cmocka_run_group_tests_name("daylight saving", tests, NULL, NULL);
}
