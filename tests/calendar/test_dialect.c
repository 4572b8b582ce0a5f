/* The cron dialect: what each form means, and every refusal with its place and reason. */
#include "cases.h"

#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/cron.h"

static struct bf_cron parse(const char *text)
{
	struct bf_cron cron = {0};
	struct belfry_error err;

	if (bf_cron_parse(bf_str(text), false, &cron, &err) != BELFRY_OK) {
		fail_msg("\"%s\": %s", text, err.message);
	}
	return cron;
}

/* Two spellings of the same expression, field by field. */
static void check_same(const char *a, const char *b)
{
	struct bf_cron x = parse(a);
	struct bf_cron y = parse(b);

	if (x.seconds != y.seconds || x.minutes != y.minutes || x.hours != y.hours ||
			x.months != y.months || memcmp(x.days, y.days, sizeof(x.days)) != 0) {
		fail_msg("\"%s\" is not \"%s\"", a, b);
	}
}

static void spellings_of_one_thing_are_one_thing(void **state)
{
	static const char *const pairs[][2] = {
			{"0 0 * JAN-MAR *", "0 0 * 1-3 *"},
			{"0 0 * jan,Dec *", "0 0 * 1,12 *"},
			{"0 0 * JAN-DEC/5 *", "0 0 * 1,6,11 *"},
			{"0 0 * OCT/1 *", "0 0 * 10,11,12 *"},
			{"0 0 * * 7", "0 0 * * 0"},
			{"0 0 * * SUN", "0 0 * * 0"},
			{"0 0 * * 5-7", "0 0 * * 5,6,0"},
			{"0 0 * * FRI-SUN", "0 0 * * 5,6,0"},
			{"0 0 * * FRI-MON", "0 0 * * 5,6,0,1"},
			{"0 0 * * 6-2", "0 0 * * 6,0,1,2"},
			{"0 0 * * 7-2", "0 0 * * 0,1,2"},
			{"0 0 * * 7-7", "0 0 * * 0"},
			{"0 0 * * 7-0", "0 0 * * 0"},
			{"0 0 * * SUN-TUE", "0 0 * * 0-2"},
			{"0 0 * * MON-SUN", "0 0 * * 0,1,2,3,4,5,6"},
			{"0 0 * * 0-7", "0 0 * * 0,1,2,3,4,5,6"},
			{"0 0 * * FRI-MON/2", "0 0 * * 5,0"},
			{"0 0 * * 1/2", "0 0 * * 1,3,5,0"},
			{"0 0 * * MON/2", "0 0 * * 1,3,5,0"},
			{"0 0 * * 0/2", "0 0 * * 0,2,4,6"},
			{"0 0 * * 7/2", "0 0 * * 0"},
			{"0 0 * * */3", "0 0 * * 0,3,6"},
			{"0 0 * * 7L", "0 0 * * 0L"},
			{"0 0 * * sunl", "0 0 * * 0L"},
			{"0 0 * * THU#3", "0 0 * * 4#3"},
			{"0 0 * * 7#1", "0 0 * * sun#1"},
			{"0 0 l * *", "0 0 L-0 * *"},
			{"0 0 lw * *", "0 0 LW * *"},
			{"0 0 15w * *", "0 0 15W * *"},
			{"0 0 L-3,L-3 * *", "0 0 L-3 * *"},
			{"0 0 ? * ?", "0 0 * * *"},
			{"*/1 * * * *", "* * * * *"},
			{"*/120 * * * *", "0 * * * *"},
			{"*/999999999 * * * *", "0 * * * *"},
			{"3/20 * * * *", "3,23,43 * * * *"},
			{"3-50/20 * * * *", "3,23,43 * * * *"},
			{"5-5 * * * *", "5 * * * *"},
			{"59/5 * * * *", "59 * * * *"},
			{"*/40 * * * *", "0,40 * * * *"},
			{"1,2,3-5,3 * * * *", "1-5 * * * *"},
			{"30,*/20 * * * *", "0,20,30,40 * * * *"},
			{"007 00 * * *", "7 0 * * *"},
			{"  0\t0  * * *\t ", "0 0 * * *"},
			{"0 0 0 * * *", "0 0 * * *"},
			{"@yearly", "0 0 1 1 *"},
			{"@annually", "0 0 1 1 *"},
			{"@monthly", "0 0 1 * *"},
			{"@weekly", "0 0 * * 0"},
			{"@daily", "0 0 * * *"},
			{"@midnight", "0 0 * * *"},
			{" @hourly\t", "0 * * * *"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(pairs); i++) {
		check_same(pairs[i][0], pairs[i][1]);
	}
}

static void t003_five_and_six_fields_are_the_dialects_choice(void **state)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule = NULL;
	struct belfry_error err = {0};
	static const char *const bad[] = {"0 9 * *", "0 0 9 * * *", "", "  ", "0"};

	(void)state;
	options.five_fields = true;
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		assert_int_equal(belfry_rule_new(shared_zones(), bf_str(bad[i]), BF_STR("UTC"),
						 &options, &rule, &err),
				BELFRY_INVALID_SCHEDULE);
		assert_non_null(strstr(err.message, "has five"));
		assert_null(rule);
	}
	assert_int_equal(belfry_rule_new(shared_zones(), BF_STR("0 0 9 * * *"), BF_STR("UTC"),
					 &options, &rule, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_int_equal(err.position, 10 + 1);
	assert_int_equal(belfry_rule_new(shared_zones(), BF_STR("@daily"), BF_STR("UTC"), &options,
					 &rule, &err),
			BELFRY_OK);
	belfry_rule_free(rule);
	check_rule("15 0 9 * * *", "UTC", "2026-01-01T00:00:00Z", "2026-01-01T09:00:15Z");
}

static void refusals_say_where_and_why(void **state)
{
	static const struct {
		const char *text;
		int position;
		const char *words;
	} rows[] = {
			{"0 24 * * *", 2, "field 2 (hour): 24 is past 23"},
			{"0 0 24 * * *", 4, "field 3 (hour): 24 is past 23"},
			{"60 * * * *", 0, "field 1 (minute): 60 is past 59"},
			{"60 * * * * *", 0, "field 1 (second): 60 is past 59"},
			{"* * 0 * *", 4, "field 3 (day of month): 0 is below 1"},
			{"* * 32 * *", 4, "32 is past 31"},
			{"* * * 0 *", 6, "field 4 (month): 0 is below 1"},
			{"* * * 13 *", 6, "13 is past 12"},
			{"* * * * 8", 8, "field 5 (day of week): 8 is past 7"},
			{"1-60 * * * *", 2, "60 is past 59"},
			{"99999999999999999999 * * * *", 0, "99999999999999999999 is past 59"},
			{"*/0 * * * *", 2, "a step must be 1 or more"},
			{"*/00 * * * *", 2, "a step must be 1 or more"},
			{"*/ * * * *", 2, "a step is missing"},
			{"*/x * * * *", 2, "a step is missing"},
			{"*/-1 * * * *", 2, "a step is missing"},
			{"*/1234567890 * * * *", 2, "at most 9 digits"},
			{"*/18446744073709551617 * * * *", 2, "at most 9 digits"},
			{"1/2/3 * * * *", 3, "\"/3\" is not understood"},
			{",1 * * * *", 0, "a list member is empty"},
			{"1, * * * *", 2, "a list member is empty"},
			{"1,,2 * * * *", 2, "a list member is empty"},
			{"0 17-9 * * *", 2, "the range 17-9 runs backwards"},
			{"0 0 * DEC-JAN *", 6, "the range DEC-JAN runs backwards"},
			{"5- * * * *", 2, "a value is missing"},
			{"-5 * * * *", 0, "\"-5\" is not understood"},
			{"1-2-3 * * * *", 3, "\"-3\" is not understood"},
			{"** * * * *", 1, "\"*\" is not understood"},
			{"*5 * * * *", 1, "\"5\" is not understood"},
			{"5* * * * *", 1, "\"*\" is not understood"},
			{"*-5 * * * *", 1, "\"-5\" is not understood"},
			{"*/10abc * * * *", 4, "\"abc\" is not understood"},
			{"/5 * * * *", 0, "\"/5\" is not understood"},
			{"? * * * *", 0, "two day fields only"},
			{"* ? * * *", 2, "two day fields only"},
			{"* * * ? *", 6, "two day fields only"},
			{"* * ?/2 * *", 4, "stands alone"},
			{"* * 1,? * *", 6, "stands alone"},
			{"* * * * ??", 8, "stands alone"},
			{"JAN * * * *", 0, "\"JAN\" is no name of a minute"},
			{"0 0 * * JAN", 8, "\"JAN\" is no name of a day of week"},
			{"0 0 * MON *", 6, "\"MON\" is no name of a month"},
			{"0 0 MON * *", 4, "\"MON\" is no name of a day of month"},
			{"0 0 * JANUARY *", 9, "\"UARY\" is not understood"},
			{"0 0 * JA *", 6, "\"JA\" is no name"},
			{"0 0 * * L", 8, "\"L\" is no name of a day of week"},
			{"0 0 * * 1#0", 10, "0 is below 1"},
			{"0 0 * * 1#6", 10, "6 is past 5"},
			{"0 0 * * 1#", 10, "a value is missing"},
			{"0 0 * * #2", 8, "\"#2\" is not understood"},
			{"0 0 * * 1#2#3", 11, "\"#3\" is not understood"},
			{"0 0 * * 1-5#2", 11, "\"#2\" is not understood"},
			{"0 0 * * 1L/2", 10, "\"/2\" is not understood"},
			{"0 0 * * 1W", 9, "\"W\" is not understood"},
			{"0 0 * * 8L", 8, "8 is past 7"},
			{"0 0 1#2 * *", 5, "\"#2\" is not understood"},
			{"0 0 5L * *", 5, "\"L\" is not understood"},
			{"0 0 W * *", 4, "\"W\" is no name"},
			{"0 0 0W * *", 4, "0 is below 1"},
			{"0 0 32W * *", 4, "32 is past 31"},
			{"0 0 1-5W * *", 7, "\"W\" is not understood"},
			{"0 0 15W/2 * *", 7, "\"/2\" is not understood"},
			{"0 0 15WW * *", 7, "\"W\" is not understood"},
			{"0 0 L-31 * *", 6, "31 is past 30"},
			{"0 0 L- * *", 6, "a value is missing"},
			{"0 0 L3 * *", 5, "\"3\" is not understood"},
			{"0 0 LW-3 * *", 6, "\"-3\" is not understood"},
			{"0 0 L-3W * *", 7, "\"W\" is not understood"},
			{"0 0 WL * *", 4, "\"WL\" is no name"},
			{"0L * * * *", 1, "\"L\" is not understood"},
			{"* * * *", 7, "4 fields, where a cron expression has five or six"},
			{"*", 1, "1 field, where"},
			{"", 0, "0 fields, where"},
			{"  \t", 3, "0 fields, where"},
			{"* * * * * * *", 12, "7 fields"},
			{"* * * * * * * *ASDS", 12, "8 fields"},
			{"0 0 1 1 1 * /bin/true", 12, "7 fields"},
			{"0 0\n* * *", 3, "control character (byte 0x0a)"},
			{"0 0 * * *\n", 9, "control character (byte 0x0a)"},
			{"0 0 * * *\r", 9, "control character (byte 0x0d)"},
			{"0 0 * * \x7f", 8, "control character (byte 0x7f)"},
			{"0\xc2\xa0"
			 "0 * * *",
					10, "4 fields"},
			{"0 0 * * \xc3\xa9", 8, "byte 0xc3"},
			{"0 0 * * *\xc3\xa9", 9, "byte 0xc3"},
			{"0 0 * * 1.5", 9, "\".5\" is not understood"},
			{"0 0 * * +1", 8, "\"+1\" is not understood"},
			{"0x1 0 * * *", 1, "\"x1\" is not understood"},
			{"@reboot", 0, "@reboot names no time"},
			{" @REBOOT ", 1, "@reboot names no time"},
			{"@fortnightly", 0, "unknown macro"},
			{"@", 0, "unknown macro"},
			{"@every 5m", 0, "unknown macro"},
			{"@daily * * * *", 0, "unknown macro"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		check_refused(rows[i].text, "UTC", rows[i].position, rows[i].words);
	}
}

static void text_is_at_most_256_bytes(void **state)
{
	char text[300];

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "0 0 * * *", 9);
	text[256] = '\0';
	struct belfry_rule *rule = new_rule(text, "UTC");
	belfry_rule_free(rule);
	text[256] = ' ';
	text[257] = '\0';
	check_refused(text, "UTC", 256, "at most 256 bytes");
	struct belfry_error err;
	assert_int_equal(belfry_rule_new(shared_zones(), (struct belfry_str){"0 0\0* * *", 9},
					 BF_STR("UTC"), NULL, &rule, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_int_equal(err.position, 4);
}

static void t015_a_day_that_never_comes_is_refused(void **state)
{
	static const char *const never[] = {
			"0 0 30 2 *",
			"0 0 31 2,4,6,9,11 *",
			"0 0 31W 4 *",
			"0 0 30W 2 *",
			"0 0 L-29 2 *",
			"0 0 L-30 4 *",
			"0 0 30,31 FEB *",
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(never); i++) {
		check_refused(never[i], "UTC", 4, "never comes");
	}
	check_rule("0 0 30 2 1", "UTC", "2026-01-31T00:00:00Z", "2026-02-02T00:00:00Z");
}

static void rare_days_are_found_however_far(void **state)
{
	(void)state;
	check_rule("0 0 29 2 *", "UTC", "2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z");
	/* A step does not restrict a day field, so both must match: here every weekday does. */
	check_rule("0 0 29 2 */1", "UTC", "2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z");
	check_rule("0 0 * 2 1#5", "UTC", "2026-01-01T00:00:00Z",
			"2044-02-29T00:00:00Z,2072-02-29T00:00:00Z,2112-02-29T00:00:00Z");
	check_rule("0 0 * 2 MON#5", "Europe/Berlin", "2072-03-01T00:00:00Z",
			"2112-02-28T23:00:00Z");
	check_rule("0 0 L-28 2 *", "UTC", "2026-01-01T00:00:00Z",
			"2028-02-01T00:00:00Z,2032-02-01T00:00:00Z");
}

static void the_last_year_is_9999(void **state)
{
	(void)state;
	check_rule("59 59 23 31 12 *", "UTC", "9998-12-31T23:59:58Z",
			"9998-12-31T23:59:59Z,9999-12-31T23:59:59Z,never");
	check_rule("* * * * *", "UTC", "9999-12-31T23:58:00Z", "9999-12-31T23:59:00Z,never");
	check_rule("* * * * *", "Asia/Tokyo", "9999-12-31T14:58:00Z", "9999-12-31T14:59:00Z,never");
	check_rule("* * * * *", "America/New_York", "9999-12-31T23:58:00Z",
			"9999-12-31T23:59:00Z,never");
	check_rule("30 2 * * *", "Europe/Berlin", "9999-12-30T02:00:00Z",
			"9999-12-31T01:30:00Z,never");
	check_rule("0 0 29 2 *", "America/New_York", "9992-03-01T00:00:00Z",
			"9996-02-29T05:00:00Z,never");
	struct belfry_rule *rule = new_rule("* * * * *", "UTC");
	belfry_time due;
	assert_int_equal(belfry_rule_next(rule, INT64_MAX, &due), BELFRY_NEVER);
	assert_int_equal(belfry_rule_next(rule, INT64_MAX - 1, &due), BELFRY_NEVER);
	assert_int_equal(belfry_rule_next(rule, INT64_MIN, &due), BELFRY_OK);
	assert_int_equal(due, at("0001-01-01T00:00:00Z"));
	belfry_rule_free(rule);
}

static void fractions_of_a_second_round_to_strictly_after(void **state)
{
	(void)state;
	check_rule("* * * * * *", "UTC", "2026-01-01T00:00:00.000001Z", "2026-01-01T00:00:01Z");
	check_rule("* * * * * *", "UTC", "2025-12-31T23:59:59.999999Z", "2026-01-01T00:00:00Z");
	check_rule("* * * * * *", "UTC", "1969-12-31T23:59:58.5Z",
			"1969-12-31T23:59:59Z,1970-01-01T00:00:00Z");
}

static void t009_the_first_due_time_is_strictly_after(void **state)
{
	(void)state;
	check_rule("* * * * *", "UTC", "2026-01-01T12:00:20Z", "2026-01-01T12:01:00Z");
	check_rule("* * * * *", "UTC", "2026-01-01T12:00:00Z", "2026-01-01T12:01:00Z");
}

static void days_restricted_on_both_sides_match_either(void **state)
{
	(void)state;
	check_rule("0 0 13 * 5", "UTC", "2026-09-08T00:00:00Z",
			"2026-09-11T00:00:00Z,2026-09-13T00:00:00Z,2026-09-18T00:00:00Z");
	check_rule("0 0 */2 * 1", "UTC", "2026-01-01T00:00:00Z",
			"2026-01-05T00:00:00Z,2026-01-19T00:00:00Z,2026-02-09T00:00:00Z");
	check_rule("0 0 1 * */2", "UTC", "2026-01-01T00:00:00Z",
			"2026-02-01T00:00:00Z,2026-03-01T00:00:00Z,2026-08-01T00:00:00Z");
	check_rule("0 0 ? * 1", "UTC", "2026-01-01T00:00:00Z",
			"2026-01-05T00:00:00Z,2026-01-12T00:00:00Z");
	check_rule("0 0 1-31 * 1", "UTC", "2026-01-01T00:00:00Z",
			"2026-01-02T00:00:00Z,2026-01-03T00:00:00Z");
	check_rule("0 0 LW * 1#1", "UTC", "2026-01-01T00:00:00Z",
			"2026-01-05T00:00:00Z,2026-01-30T00:00:00Z,2026-02-02T00:00:00Z");
}

static void special_days_stand_in_lists(void **state)
{
	(void)state;
	check_rule("0 0 1W,15W,L * *", "UTC", "2026-01-01T00:00:00Z",
			"2026-01-15T00:00:00Z,2026-01-31T00:00:00Z,2026-02-02T00:00:00Z,"
			"2026-02-16T00:00:00Z,2026-02-28T00:00:00Z,2026-03-02T00:00:00Z");
	check_rule("0 0 L-2,L-1,L 2 *", "UTC", "2028-01-01T00:00:00Z",
			"2028-02-27T00:00:00Z,2028-02-28T00:00:00Z,2028-02-29T00:00:00Z");
	check_rule("0 0 * * MON#1,FRIL,3", "UTC", "2026-01-01T00:00:00Z",
			"2026-01-05T00:00:00Z,2026-01-07T00:00:00Z,2026-01-14T00:00:00Z,"
			"2026-01-21T00:00:00Z,2026-01-28T00:00:00Z,2026-01-30T00:00:00Z");
	check_rule("0 0 1W * *", "UTC", "2026-07-31T00:00:00Z", "2026-08-03T00:00:00Z");
	check_rule("0 0 LW 5 *", "UTC", "2026-01-01T00:00:00Z", "2026-05-29T00:00:00Z");
	check_rule("0 0 30W 5 *", "UTC", "2026-01-01T00:00:00Z", "2026-05-29T00:00:00Z");
	check_rule("0 0 28W 2 *", "UTC", "2026-01-01T00:00:00Z", "2026-02-27T00:00:00Z");
}

/* A whole cycle of every shape of month against plain counting of days. */
static void the_day_tables_agree_with_counting(void **state)
{
	struct bf_cron cron = parse("0 0 L-2,15W,7 * 2#5,4L");
	int64_t first = bf_days_from_civil(2000, 1, 1);
	int64_t next = bf_cron_next(&cron, first * BF_DAY_S);

	(void)state;
	for (int64_t day = first; day < first + BF_CYCLE_DAYS; day++) {
		int64_t year;
		int month;
		int d;
		bf_civil_from_days(day, &year, &month, &d);
		int length = bf_month_length(bf_is_leap(year), month);
		int weekday = bf_weekday(day);
		bool is_near = (d == 15 && weekday >= 1 && weekday <= 5) ||
				(d == 14 && weekday == 5) || (d == 16 && weekday == 1);
		bool is_match = d == length - 2 || d == 7 || is_near || (weekday == 2 && d > 28) ||
				(weekday == 4 && d + 7 > length);
		assert_int_equal(next == day * BF_DAY_S, is_match);
		if (is_match) {
			next = bf_cron_next(&cron, next + 1);
		}
	}
}

int run_dialect_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(spellings_of_one_thing_are_one_thing),
			cmocka_unit_test(t003_five_and_six_fields_are_the_dialects_choice),
			cmocka_unit_test(refusals_say_where_and_why),
			cmocka_unit_test(text_is_at_most_256_bytes),
			cmocka_unit_test(t015_a_day_that_never_comes_is_refused),
			cmocka_unit_test(rare_days_are_found_however_far),
			cmocka_unit_test(the_last_year_is_9999),
			cmocka_unit_test(fractions_of_a_second_round_to_strictly_after),
			cmocka_unit_test(t009_the_first_due_time_is_strictly_after),
			cmocka_unit_test(days_restricted_on_both_sides_match_either),
			cmocka_unit_test(special_days_stand_in_lists),
			cmocka_unit_test(the_day_tables_agree_with_counting),
	};

	return cmocka_run_group_tests_name("dialect", tests, NULL, NULL);
}
