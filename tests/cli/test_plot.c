/* The plot of a forecast: rows by the zone's clock, cells by the columns there are. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/timefmt.h"
#include "cli/forecast_plot.h"

#define MINUTES 10080

static uint64_t counts[MINUTES];

static belfry_time at(const char *text)
{
	belfry_time time = 0;

	assert_int_equal(bf_time_parse(bf_str(text), &time), BELFRY_OK);
	return time;
}

/* The lines of a plot of `count` minutes; freed by the caller. */
static char *plot_of(const char *zone, const char *from, size_t count, size_t columns,
		bool has_blocks)
{
	struct belfry_zones *zones = NULL;
	struct belfry_rule *rule = NULL;
	struct bf_plot plot = {
			.from = at(from),
			.counts = counts,
			.count = count,
			.columns = columns,
			.has_blocks = has_blocks,
	};
	char *text = NULL;
	size_t len = 0;

	assert_int_equal(belfry_zones_new(NULL, &zones, NULL), BELFRY_OK);
	assert_int_equal(belfry_rule_new(zones, BF_STR("* * * * *"), bf_str(zone), NULL, &rule,
					 NULL),
			BELFRY_OK);
	plot.zone = rule;
	for (size_t i = 0; i < count; i++) {
		plot.peak = counts[i] > plot.peak ? counts[i] : plot.peak;
	}
	FILE *file = open_memstream(&text, &len);
	assert_non_null(file);
	bf_plot_print(&plot, file);
	(void)fclose(file);
	belfry_rule_free(rule);
	belfry_zones_free(zones);
	return text;
}

static void fill(uint64_t each)
{
	for (size_t i = 0; i < MINUTES; i++) {
		counts[i] = each;
	}
}

static void expect_lines(char *text, const char *wanted)
{
	assert_string_equal(text, wanted);
	free(text);
}

static void a_row_is_an_hour_and_a_cell_a_minute_by_its_share(void **state)
{
	(void)state;
	fill(0);
	counts[0] = 80;
	counts[1] = 10;
	counts[2] = 11;
	counts[59] = 1;
	counts[60] = 40;
	expect_lines(plot_of("UTC", "2026-12-01T22:00:00Z", 180, 80, false),
			"           :00            :15            :30            :45\n"
			"Tue 1 Dec\n"
			" 22:00 102 #.:                                                        .\n"
			" 23:00  40 =\n"
			"Wed 2 Dec\n"
			" 00:00   0\n"
			"           # = 80\n");
	expect_lines(plot_of("UTC", "2026-12-01T22:00:00Z", 3, 80, true),
			"           :00            :15            :30            :45\n"
			"Tue 1 Dec\n"
			" 22:00 101 \xe2\x96\x88\xe2\x96\x81\xe2\x96\x82\n"
			"           \xe2\x96\x88 = 80\n");
}

static void hours_are_those_of_the_zone_from_any_minute_on(void **state)
{
	(void)state;
	fill(0);
	counts[0] = 1;
	counts[29] = 1;
	counts[30] = 1;
	expect_lines(plot_of("Asia/Kolkata", "2026-12-01T18:00:00Z", 31, 80, false),
			"         :00            :15            :30            :45\n"
			"Tue 1 Dec\n"
			" 23:00 2                               #                            #\n"
			"Wed 2 Dec\n"
			" 00:00 1 #\n"
			"         # = 1\n");
}

static void an_hour_that_comes_twice_has_two_rows_and_one_that_is_missing_none(void **state)
{
	(void)state;
	fill(1);
	char *text = plot_of("Europe/Berlin", "2026-10-25T00:00:00Z", 180, 80, false);
	assert_non_null(strstr(text, "\n 02:00+02:00 60 #"));
	assert_non_null(strstr(text, "\n 02:00+01:00 60 #"));
	assert_non_null(strstr(text, "\n 03:00       60 #"));
	free(text);
	text = plot_of("Europe/Berlin", "2026-03-29T00:00:00Z", 120, 80, false);
	assert_non_null(strstr(text, "\n 01:00 60 "));
	assert_null(strstr(text, "\n 02:00 "));
	assert_non_null(strstr(text, "\n 03:00 60 "));
	free(text);
	text = plot_of("Australia/Lord_Howe", "2026-04-04T14:00:00Z", 120, 80, false);
	assert_non_null(strstr(text, "\n 01:00       60 "));
	assert_non_null(strstr(text, "\n 01:00+10:30 30 "));
	free(text);
}

static void a_time_that_the_clock_shows_twice_has_its_offset(void **state)
{
	static const struct {
		const char *at;
		const char *zone;
		const char *wanted;
	} rows[] = {
			{"2026-10-25T00:59:00Z", "Europe/Berlin", "Sun 02:59+02:00"},
			{"2026-10-25T01:59:00Z", "Europe/Berlin", "Sun 02:59+01:00"},
			{"2026-10-25T02:00:00Z", "Europe/Berlin", "Sun 03:00"},
			{"2026-10-24T23:59:00Z", "Europe/Berlin", "Sun 01:59"},
			{"2026-03-29T01:00:00Z", "Europe/Berlin", "Sun 03:00"},
			{"2026-11-01T05:30:00Z", "America/New_York", "Sun 01:30-04:00"},
			{"2026-11-01T06:30:00Z", "America/New_York", "Sun 01:30-05:00"},
	};
	struct belfry_zones *zones = NULL;

	(void)state;
	assert_int_equal(belfry_zones_new(NULL, &zones, NULL), BELFRY_OK);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct belfry_rule *rule = NULL;
		char text[BF_PLOT_TIME_BYTES];
		assert_int_equal(belfry_rule_new(zones, BF_STR("* * * * *"), bf_str(rows[i].zone),
						 NULL, &rule, NULL),
				BELFRY_OK);
		bf_plot_format_time(rule, at(rows[i].at), text);
		assert_string_equal(text, rows[i].wanted);
		belfry_rule_free(rule);
	}
	belfry_zones_free(zones);
}

static void few_columns_show_the_fullest_minute_of_each_cell(void **state)
{
	(void)state;
	fill(0);
	counts[3] = 8;
	counts[4] = 4;
	expect_lines(plot_of("UTC", "2026-12-01T22:00:00Z", 60, 40, false),
			"          :00            :30\n"
			"Tue 1 Dec\n"
			" 22:00 12  #=\n"
			"          # = 8\n");
	expect_lines(plot_of("UTC", "2026-12-01T22:00:00Z", 60, 50, false),
			"          :00            :30\n"
			"Tue 1 Dec\n"
			" 22:00 12  #=\n"
			"          # = 8\n");
	for (size_t columns = 0; columns < 200; columns++) {
		fill(7);
		char *text = plot_of("UTC", "2026-12-01T22:00:00Z", 120, columns, false);
		for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
			assert_true(strcspn(line, "\n") <= (columns < 20 ? 20 : columns));
		}
		free(text);
	}
}

int run_plot_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_row_is_an_hour_and_a_cell_a_minute_by_its_share),
			cmocka_unit_test(hours_are_those_of_the_zone_from_any_minute_on),
			cmocka_unit_test(
					an_hour_that_comes_twice_has_two_rows_and_one_that_is_missing_none),
			cmocka_unit_test(a_time_that_the_clock_shows_twice_has_its_offset),
			cmocka_unit_test(few_columns_show_the_fullest_minute_of_each_cell),
	};

	return cmocka_run_group_tests_name("plot", tests, NULL, NULL);
}
