/* The forms of a time on the command line; the fixture's clock stands at 2026-12-01T12:00:00Z. */
#include <string.h>

#include "base/str.h"
#include "base/timefmt.h"
#include "cases.h"
#include "cli/timearg.h"

static enum belfry_status read_time(const char *text, const char *zone, belfry_time *ret_time,
		struct belfry_error *err)
{
	struct fixture fixture;

	*err = (struct belfry_error){0};
	fixture_open(&fixture);
	enum belfry_status status = bf_timearg_parse(&fixture.cli, "--from", text, zone, ret_time,
			err);
	belfry_zones_free(fixture.cli.zones);
	fixture_close(&fixture);
	return status;
}

static void every_form_is_read(void **state)
{
	static const struct {
		const char *text;
		const char *zone;
		const char *wanted;
	} rows[] = {
			{"now", NULL, "2026-12-01T12:00:00Z"},
			{"-2h", NULL, "2026-12-01T10:00:00Z"},
			{"-1d", NULL, "2026-11-30T12:00:00Z"},
			{"+PT30M", NULL, "2026-12-01T12:30:00Z"},
			{"2026-12-01T09:00:00+08:00", "Europe/Berlin", "2026-12-01T01:00:00Z"},
			{"2026-12-01T09:00:00.5Z", NULL, "2026-12-01T09:00:00.500Z"},
			{"2026-12-01 09:00", NULL, "2026-12-01T09:00:00Z"},
			{"2026-12-01 09:00", "Asia/Shanghai", "2026-12-01T01:00:00Z"},
			{"2026-07-01T09:00", "Europe/Berlin", "2026-07-01T07:00:00Z"},
			{"2026-12-01", "America/New_York", "2026-12-01T05:00:00Z"},
			{"2026-10-25 02:30:00", "Europe/Berlin", "2026-10-25T00:30:00Z"},
			{"2011-12-31", "Pacific/Apia", "2011-12-30T10:00:00Z"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_error err;
		belfry_time time = 0;
		char got[BF_TIME_TEXT_BYTES];

		assert_int_equal(read_time(rows[i].text, rows[i].zone, &time, &err), BELFRY_OK);
		bf_time_format(time, 0, got);
		assert_string_equal(got, rows[i].wanted);
	}
}

static void what_is_no_time_is_refused_with_the_forms(void **state)
{
	static const char *const wrong[] = {"", "tomorrow", "2h", "-", "-2", "-2y", "2026-13-01",
			"2026-02-30", "2026-12-01 9:00", "2026-12-01T24:01", "12:00", "2026-12-01Z",
			"2026-12-01T09:00:00+8", "NOW", "now "};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(wrong); i++) {
		struct belfry_error err;
		belfry_time time = 0;

		assert_int_equal(read_time(wrong[i], "Europe/Berlin", &time, &err), BELFRY_USAGE);
		assert_non_null(strstr(err.message, "is no time: use 2026-12-01T09:00:00Z"));
	}
}

static void a_local_time_that_the_clocks_skip_is_refused(void **state)
{
	static const struct {
		const char *text;
		const char *zone;
	} rows[] = {
			{"2026-03-29 02:30", "Europe/Berlin"},
			{"2011-12-30 12:00", "Pacific/Apia"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_error err;
		belfry_time time = 0;

		assert_int_equal(read_time(rows[i].text, rows[i].zone, &time, &err), BELFRY_USAGE);
		assert_non_null(strstr(err.message, "skip"));
	}
}

static void an_unknown_zone_is_named(void **state)
{
	struct belfry_error err;
	belfry_time time = 0;

	(void)state;
	assert_int_equal(read_time("2026-12-01", "Mars/Olympus", &time, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_non_null(strstr(err.message, "Mars/Olympus"));
}

int run_time_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_form_is_read),
			cmocka_unit_test(what_is_no_time_is_refused_with_the_forms),
			cmocka_unit_test(a_local_time_that_the_clocks_skip_is_refused),
			cmocka_unit_test(an_unknown_zone_is_named),
	};

	return cmocka_run_group_tests_name("time", tests, NULL, NULL);
}
