/* Instants as text and civil dates. */
#include "cases.h"

#include "base/timefmt.h"

#define S BELFRY_SECOND

static void check_format(belfry_time time, int32_t offset_s, const char *expected)
{
	char text[BF_TIME_TEXT_BYTES];

	bf_time_format(time, offset_s, text);
	check_text(bf_str(text), expected);
}

static void check_parse(const char *text, belfry_time expected)
{
	belfry_time time = 42;

	if (bf_time_parse(bf_str(text), &time) != BELFRY_OK || time != expected) {
		fail_msg("\"%s\" was read as %lld, not %lld", text, (long long)time,
				(long long)expected);
	}
}

static void instants_are_written_and_read_back(void **state)
{
	(void)state;
	static const struct {
		belfry_time time;
		int32_t offset_s;
		const char *text;
	} rows[] = {
			{0, 0, "1970-01-01T00:00:00Z"},
			{-1, 0, "1969-12-31T23:59:59.999999Z"},
			{INT64_C(1796086800) * S, 0, "2026-12-01T01:00:00Z"},
			{INT64_C(1796086800) * S, 28800, "2026-12-01T09:00:00+08:00"},
			{INT64_C(1796086800) * S, -12600, "2026-11-30T21:30:00-03:30"},
			{INT64_C(1796086800) * S + 500000, 0, "2026-12-01T01:00:00.500Z"},
			{INT64_C(1796086800) * S + 1, 3600, "2026-12-01T02:00:00.000001+01:00"},
			{INT64_C(951782400) * S, 0, "2000-02-29T00:00:00Z"},
			{INT64_C(4107542399) * S, 0, "2100-02-28T23:59:59Z"},
			{INT64_C(4107542400) * S, 0, "2100-03-01T00:00:00Z"},
			{INT64_C(-62135596800) * S, 0, "0001-01-01T00:00:00Z"},
			{INT64_C(253402300799) * S + 999999, 0, "9999-12-31T23:59:59.999999Z"},
	};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		check_format(rows[i].time, rows[i].offset_s, rows[i].text);
		check_parse(rows[i].text, rows[i].time);
	}
}

/* RFC 3339 has no seconds in an offset: Liberia's of 1971 is 44 minutes and 30 seconds. */
static void an_offset_with_seconds_still_names_the_same_instant(void **state)
{
	(void)state;
	static const int32_t offsets[] = {-2670, 3208, 30, -30, 53, -53, 45296, -86399};

	for (size_t i = 0; i < BF_COUNT(offsets); i++) {
		char text[BF_TIME_TEXT_BYTES];
		bf_time_format(INT64_C(40000000) * S, offsets[i], text);
		check_parse(text, INT64_C(40000000) * S);
	}
}

static void the_ends_of_time_fit_the_buffer(void **state)
{
	(void)state;
	check_format(INT64_MAX, 0, "294247-01-10T04:00:54.775807Z");
	check_format(INT64_MIN, 0, "-290308-12-21T19:59:05.224192Z");
	check_format(INT64_MAX, 50400, "294247-01-10T04:00:54.775807+14:00");
	check_format(INT64_MIN, -43200, "-290308-12-21T19:59:05.224192-12:00");
}

static void other_spellings_of_an_instant_are_read(void **state)
{
	(void)state;
	check_parse("2026-12-01t01:00:00z", INT64_C(1796086800) * S);
	check_parse("2026-12-01 01:00:00Z", INT64_C(1796086800) * S);
	check_parse("2026-12-01T01:00:00-00:00", INT64_C(1796086800) * S);
	check_parse("2026-12-01T01:00:00.5Z", INT64_C(1796086800) * S + 500000);
	check_parse("2026-12-01T01:00:00.123456789Z", INT64_C(1796086800) * S + 123456);
	check_parse("2026-12-01T01:00:00.000000999Z", INT64_C(1796086800) * S);
	check_parse("2016-12-31T23:59:60Z", INT64_C(1483228800) * S);
	check_parse("2026-12-01T00:59:60Z", INT64_C(1796086800) * S);
}

static void what_is_no_instant_is_refused(void **state)
{
	(void)state;
	static const char *rows[] = {"", "now", "2026-12-01", "2026-12-01T01:00:00",
			"2026-12-01T01:00Z", "2026-12-01T1:00:00Z", "26-12-01T01:00:00Z",
			"2026-12-1T01:00:00Z", "02026-12-01T01:00:00Z", "0000-01-01T00:00:00Z",
			"-001-01-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-13-01T00:00:00Z",
			"2026-01-00T00:00:00Z", "2026-01-32T00:00:00Z", "2026-02-29T00:00:00Z",
			"2100-02-29T00:00:00Z", "2026-04-31T00:00:00Z", "2026-12-01T24:00:00Z",
			"2026-12-01T01:60:00Z", "2026-12-01T01:00:61Z", "2026-12-01T01:00:00.Z",
			"2026-12-01T01:00:00.1234567890Z", "2026-12-01T01:00:00,5Z",
			"2026-12-01T01:00:00+8", "2026-12-01T01:00:00+0800",
			"2026-12-01T01:00:00+08", "2026-12-01T01:00:00+24:00",
			"2026-12-01T01:00:00+08:60", "2026-12-01T01:00:00 Z",
			"2026-12-01T01:00:00ZZ", " 2026-12-01T01:00:00Z", "2026-12-01T01:00:00Z ",
			"2026/12/01T01:00:00Z", "2026-12-01  01:00:00Z", "2026-12-01_01:00:00Z",
			"2026-12-01T01.00.00Z", "+2026-12-01T01:00:00Z", "2026-W49-2T01:00:00Z",
			"2026-335T01:00:00Z", "20261201T010000Z", "2026-12-01T-1:00:00Z",
			"2026-12-01T01:00:00UTC", "0001-01-01T00:00:00+00:01",
			"9999-12-31T23:59:59-00:01", "9999-12-31T23:59:60Z"};
	belfry_time time = 42;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (bf_time_parse(bf_str(rows[i]), &time) != BELFRY_INVALID) {
			fail_msg("\"%s\" was read", rows[i]);
		}
	}
	assert_int_equal(bf_time_parse(BF_STR("2026-12-01T01:00:00Z\0"), &time), BELFRY_INVALID);
	assert_int_equal(time, 42);
}

static bool is_leap(int64_t year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* Walks the days one by one, by the rules of the calendar alone, over more than 400 years both ways. */
static void civil_dates_of_each_day_of_800_years(void **state)
{
	(void)state;
	static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t days = -146462; /* 1 January 1569 */

	for (int64_t year = 1569; year <= 2371; year++) {
		for (int month = 1; month <= 12; month++) {
			int length = lengths[month - 1] + (month == 2 && is_leap(year) ? 1 : 0);
			for (int day = 1; day <= length; day++, days++) {
				int64_t y;
				int m;
				int d;
				bf_civil_from_days(days, &y, &m, &d);
				if (y != year || m != month || d != day ||
						bf_days_from_civil(year, month, day) != days) {
					fail_msg("day %lld", (long long)days);
				}
			}
		}
	}
	assert_int_equal(bf_days_from_civil(1970, 1, 1), 0);
}

static void civil_dates_repeat_after_400_years(void **state)
{
	(void)state;
	for (int64_t days = -1000000; days <= 1000000; days += 997) {
		int64_t years[2];
		int months[2];
		int in_month[2];
		bf_civil_from_days(days, &years[0], &months[0], &in_month[0]);
		bf_civil_from_days(days - 146097, &years[1], &months[1], &in_month[1]);
		assert_int_equal(years[0] - years[1], 400);
		assert_int_equal(months[0], months[1]);
		assert_int_equal(in_month[0], in_month[1]);
		assert_int_equal(bf_days_from_civil(years[1], months[1], in_month[1]),
				days - 146097);
	}
}

static void sums_of_times_saturate(void **state)
{
	(void)state;
	assert_true(bf_time_add(5, 3) == 8);
	assert_true(bf_time_add(5, -8) == -3);
	assert_true(bf_time_add(BELFRY_TIME_NEVER, -8) == BELFRY_TIME_NEVER);
	assert_true(bf_time_add(INT64_MAX - 1, 5) == BELFRY_TIME_NEVER);
	assert_true(bf_time_add(INT64_MIN + 1, -5) == INT64_MIN);
	assert_true(bf_time_add(INT64_MIN, INT64_MAX) == -1);
	assert_true(bf_time_since(8, 5) == 3);
	assert_true(bf_time_since(5, 8) == -3);
	assert_true(bf_time_since(BELFRY_TIME_NEVER, -1) == INT64_MAX);
	assert_true(bf_time_since(INT64_MIN, 1) == INT64_MIN);
}

int run_timefmt_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(instants_are_written_and_read_back),
			cmocka_unit_test(an_offset_with_seconds_still_names_the_same_instant),
			cmocka_unit_test(the_ends_of_time_fit_the_buffer),
			cmocka_unit_test(other_spellings_of_an_instant_are_read),
			cmocka_unit_test(what_is_no_instant_is_refused),
			cmocka_unit_test(civil_dates_of_each_day_of_800_years),
			cmocka_unit_test(civil_dates_repeat_after_400_years),
			cmocka_unit_test(sums_of_times_saturate),
	};

	return cmocka_run_group_tests_name("timefmt", tests, NULL, NULL);
}
