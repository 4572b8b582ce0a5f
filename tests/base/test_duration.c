/* Durations as text: both ways of writing one, and what is neither. */
#include "cases.h"

#include "base/timefmt.h"

static void check_parse(const char *text, belfry_duration expected)
{
	belfry_duration duration = 42;

	if (bf_duration_parse(bf_str(text), &duration) != BELFRY_OK || duration != expected) {
		fail_msg("\"%s\" was read as %lld, not %lld", text, (long long)duration,
				(long long)expected);
	}
}

static void durations_are_written_and_read_back(void **state)
{
	(void)state;
	static const struct {
		belfry_duration duration;
		const char *text;
	} rows[] = {
			{0, "PT0S"},
			{1, "PT0.000001S"},
			{BELFRY_MILLISECOND, "PT0.001S"},
			{1500 * BELFRY_MILLISECOND, "PT1.5S"},
			{250 * BELFRY_MILLISECOND, "PT0.25S"},
			{BELFRY_SECOND + 10, "PT1.00001S"},
			{BELFRY_SECOND, "PT1S"},
			{BELFRY_MINUTE, "PT1M"},
			{90 * BELFRY_SECOND, "PT1M30S"},
			{BELFRY_HOUR, "PT1H"},
			{BELFRY_HOUR + BELFRY_SECOND, "PT1H1S"},
			{BELFRY_DAY, "P1D"},
			{BELFRY_DAY + 2 * BELFRY_HOUR, "P1DT2H"},
			{BELFRY_DAY + BELFRY_SECOND / 2, "P1DT0.5S"},
			{30 * BELFRY_DAY, "P30D"},
			{INT64_MAX, "P106751991DT4H54.775807S"},
	};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		char text[BF_DURATION_TEXT_BYTES];
		bf_duration_format(rows[i].duration, text);
		check_text(bf_str(text), rows[i].text);
		check_parse(rows[i].text, rows[i].duration);
	}
}

static void a_negative_duration_is_written_as_none(void **state)
{
	(void)state;
	char text[BF_DURATION_TEXT_BYTES];

	bf_duration_format(-1, text);
	assert_string_equal(text, "PT0S");
}

static void other_spellings_of_a_duration_are_read(void **state)
{
	(void)state;
	check_parse("P2W", 14 * BELFRY_DAY);
	check_parse("P1W1D", 8 * BELFRY_DAY);
	check_parse("PT24H", BELFRY_DAY);
	check_parse("PT90S", 90 * BELFRY_SECOND);
	check_parse("PT0.1234567S", 123456);
	check_parse("P0D", 0);
	check_parse("10m", 10 * BELFRY_MINUTE);
	check_parse("1h30m", 90 * BELFRY_MINUTE);
	check_parse("1d", BELFRY_DAY);
	check_parse("1d2h3m4s5ms",
			BELFRY_DAY + 2 * BELFRY_HOUR + 3 * BELFRY_MINUTE + 4 * BELFRY_SECOND +
					5 * BELFRY_MILLISECOND);
	check_parse("250ms", 250 * BELFRY_MILLISECOND);
	check_parse("0.5s", BELFRY_SECOND / 2);
	check_parse("0s", 0);
}

static void what_is_no_duration_is_refused(void **state)
{
	(void)state;
	static const char *rows[] = {"", "P", "PT", "P1", "PT1", "P1DT", "1", "1x", "m", "-1h",
			"-PT1S", "P-1D", "+1h", "1h 30m", " 1h", "1h ", "30m1h", "1m1m", "1ms1s",
			"1.5h", "0.5ms", "PT0.5M", "P0.5D", "PT1.S", "PT.5S", "1.s", "PT1,5S",
			"P1Y", "P1M", "P1H", "PT1D", "PT1W", "P1D2H", "PT1M1H", "PT1M1M", "PT1HT1M",
			"PTT1H", "P1DTT1H", "pt1m", "Pt1m", "1H", "1D", "PT1h", "PT1S1", "1e3s",
			"P1D ", "forever", "999999999999d", "P106751992D", "1234567890123s",
			"PT1S\n", "PT1.1234567890S"};
	belfry_duration duration = 42;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (bf_duration_parse(bf_str(rows[i]), &duration) != BELFRY_INVALID) {
			fail_msg("\"%s\" was read", rows[i]);
		}
	}
	assert_int_equal(bf_duration_parse(BF_STR("1h\0"), &duration), BELFRY_INVALID);
	assert_int_equal(duration, 42);
}

int run_duration_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(durations_are_written_and_read_back),
			cmocka_unit_test(a_negative_duration_is_written_as_none),
			cmocka_unit_test(other_spellings_of_a_duration_are_read),
			cmocka_unit_test(what_is_no_duration_is_refused),
	};

	return cmocka_run_group_tests_name("duration", tests, NULL, NULL);
}
