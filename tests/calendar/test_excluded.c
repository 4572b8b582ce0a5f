/* Which exception left a due time out. */
#include "cases.h"

#include "calendar/excluded.h"

#define HOLIDAYS "{\"calendar\":\"holidays-de\",\"except\":[\"2026-12-25\"]}"

/* `wanted`: the calendar; "": the rule's own exceptions; NULL: it is not excluded. */
static void expect(const char *text, const char *zone, const char *time, const char *wanted)
{
	struct belfry_rule *rule = new_rule(text, zone);
	struct belfry_str calendar = {0};
	bool is_excluded = bf_rule_excluded(rule, at(time), &calendar);

	assert_int_equal(is_excluded, wanted != NULL);
	if (is_excluded && !bf_str_equal(calendar, bf_str(wanted))) {
		fail_msg("%s is excluded by \"%.*s\", not by \"%s\"", time, BF_STR_ARGS(calendar),
				wanted);
	}
	belfry_rule_free(rule);
}

static void the_list_that_has_the_instant_is_told(void **state)
{
	static const char rule[] = "{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-24\"," HOLIDAYS
				   ",{\"cron\":\"* * 26 12 *\"},\"2026-12-27T09:00:00\"]}";

	(void)state;
	expect(rule, "Europe/Berlin", "2026-12-25T08:00:00Z", "holidays-de");
	expect(rule, "Europe/Berlin", "2026-12-24T08:00:00Z", "");
	expect(rule, "Europe/Berlin", "2026-12-26T08:00:00Z", "");
	expect(rule, "Europe/Berlin", "2026-12-27T08:00:00Z", "");
}

static void what_is_due_or_was_never_named_is_not_excluded(void **state)
{
	static const char rule[] = "{\"cron\":\"0 9 * * *\",\"except\":[" HOLIDAYS
				   "],\"not_after\":\"2026-12-26T12:00:00Z\"}";

	(void)state;
	expect(rule, "UTC", "2026-12-26T09:00:00Z", NULL);
	expect(rule, "UTC", "2026-12-25T10:00:00Z", NULL);
	expect(rule, "UTC", "2026-12-25T09:00:00.5Z", NULL);
	expect(rule, "UTC", "2026-12-27T09:00:00Z", NULL);
	expect("0 9 * * *", "UTC", "2026-12-25T10:00:00Z", NULL);
	expect("{\"at\":[\"2026-12-25T09:00:00\",\"2026-12-26T09:00:00\"],\"except\":[" HOLIDAYS
	       "]}",
			"UTC", "2026-12-25T10:00:00Z", NULL);
}

static void intervals_and_unions_are_asked_part_by_part(void **state)
{
	static const char rule[] = "{\"any\":[{\"every\":\"PT6H\",\"except\":[" HOLIDAYS
				   "]},{\"cron\":\"0 9 * * *\"},{\"cron\":\"30 9 * * *\","
				   "\"except\":[\"2026-12-25\"]}]}";

	(void)state;
	expect(rule, "UTC", "2026-12-25T06:00:00Z", "holidays-de");
	expect(rule, "UTC", "2026-12-25T09:00:00Z", NULL);
	expect(rule, "UTC", "2026-12-25T09:30:00Z", "");
	expect(rule, "UTC", "2026-12-25T07:00:00Z", NULL);
	expect(rule, "UTC", "2026-12-26T06:00:00Z", NULL);
	expect(rule, "UTC", "2026-12-24T18:00:00Z", NULL);
}

/* 02:30 does not exist on that day, and stands for 03:00, which the list does not name. */
static void a_local_time_in_a_gap_is_told_of_too(void **state)
{
	(void)state;
	expect("{\"cron\":\"30 2 * * *\",\"except\":[{\"calendar\":\"a\",\"except\":"
	       "[\"2026-12-25\",{\"cron\":\"30 2 29 3 *\"}]}]}",
			"Europe/Berlin", "2026-03-29T01:00:00Z", "a");
}

static void what_the_clocks_skip_is_told_with_its_borders(void **state)
{
	static const struct {
		const char *rule;
		enum belfry_dst_gap gap;
		const char *at;
		bool is_skipped;
	} rows[] = {
			{"30 2 * * *", BELFRY_DST_GAP_SKIP, "2027-03-28T01:00:00Z", true},
			{"30 2 * * *", BELFRY_DST_GAP_SKIP, "2027-03-28T01:59:59Z", true},
			{"30 2 * * *", BELFRY_DST_GAP_SKIP, "2027-03-28T02:00:00Z", false},
			{"30 2 * * *", BELFRY_DST_GAP_SKIP, "2027-03-28T00:59:59Z", false},
			{"30 2 * * *", BELFRY_DST_GAP_SKIP, "2027-03-29T01:00:00Z", false},
			{"30 2 * * *", BELFRY_DST_GAP_SKIP, "2027-10-31T01:00:00Z", false},
			{"30 2 * * *", BELFRY_DST_GAP_AT_END, "2027-03-28T01:30:00Z", false},
			{"30 3 * * *", BELFRY_DST_GAP_SKIP, "2027-03-28T01:00:00Z", false},
			{"*/20 2 * * *", BELFRY_DST_GAP_AT_END, "2027-03-28T01:20:00Z", true},
			{"*/20 2 * 4 *", BELFRY_DST_GAP_AT_END, "2027-03-28T01:20:00Z", false},
			{"{\"at\":\"2027-03-28T02:30:00\"}", BELFRY_DST_GAP_SHIFT,
					"2027-03-28T01:00:00Z", false},
			{"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"at\":[\"2027-03-28T02:30:00\","
			 "\"2027-04-01T00:00:00\"]}]}",
					BELFRY_DST_GAP_SKIP, "2027-03-28T01:00:00Z", true},
			{"{\"every\":\"PT1H\"}", BELFRY_DST_GAP_SKIP, "2027-03-28T01:30:00Z",
					false},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_rule *rule = new_rule_with(rows[i].rule, "Europe/Berlin", rows[i].gap,
				BELFRY_DST_FOLD_FIRST);
		struct bf_rule_skip skip = {0};
		bool is_skipped = bf_rule_skipped(rule, at(rows[i].at), &skip);
		if (is_skipped != rows[i].is_skipped) {
			fail_msg("%s at %s", rows[i].rule, rows[i].at);
		}
		if (is_skipped) {
			assert_int_equal(skip.from * BELFRY_SECOND, at("2027-03-28T02:00:00Z"));
			assert_int_equal(skip.to * BELFRY_SECOND, at("2027-03-28T03:00:00Z"));
		}
		belfry_rule_free(rule);
	}
}

int run_excluded_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_list_that_has_the_instant_is_told),
			cmocka_unit_test(what_is_due_or_was_never_named_is_not_excluded),
			cmocka_unit_test(intervals_and_unions_are_asked_part_by_part),
			cmocka_unit_test(a_local_time_in_a_gap_is_told_of_too),
			cmocka_unit_test(what_the_clocks_skip_is_told_with_its_borders),
	};

	return cmocka_run_group_tests_name("excluded", tests, NULL, NULL);
}
