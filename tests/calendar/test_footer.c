/* Footer strings: the shapes that real files have, the changes of a year, and what is refused. */
#include "cases.h"

#include "base/timefmt.h"
#include "calendar/footer.h"

static struct bf_footer parse(const char *text)
{
	struct bf_footer footer = {0};

	if (bf_footer_parse(bf_str(text), &footer) != BELFRY_OK) {
		fail_msg("\"%s\" is refused", text);
	}
	return footer;
}

static void check_changes(const char *text, int64_t year, const char *start, const char *end)
{
	struct bf_footer footer = parse(text);
	char found[BF_TIME_TEXT_BYTES];
	int64_t start_s;
	int64_t end_s;

	bf_footer_changes(&footer, year, &start_s, &end_s);
	bf_time_format(start_s * BELFRY_SECOND, 0, found);
	assert_string_equal(found, start);
	bf_time_format(end_s * BELFRY_SECOND, 0, found);
	assert_string_equal(found, end);
}

static void offsets_and_changes_are_read(void **state)
{
	(void)state;
	assert_int_equal(parse("<+0545>-5:45").standard_offset, 20700);
	assert_int_equal(parse("EST5").standard_offset, -18000);
	assert_int_equal(parse("ABC+1:02:03").standard_offset, -3723);
	assert_false(parse("UTC0").has_dst);
	assert_int_equal(parse("CET-1CEST,M3.5.0,M10.5.0/3").dst_offset, 7200);
	check_changes("CET-1CEST,M3.5.0,M10.5.0/3", 2026, "2026-03-29T01:00:00Z",
			"2026-10-25T01:00:00Z");
	check_changes("IST-1GMT0,M10.5.0,M3.5.0/1", 2026, "2026-10-25T01:00:00Z",
			"2026-03-29T01:00:00Z");
	check_changes("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", 2026, "2026-03-29T01:00:00Z",
			"2026-10-25T01:00:00Z");
	check_changes("EET-2EEST,M3.4.4/50,M10.4.4/50", 2026, "2026-03-28T00:00:00Z",
			"2026-10-23T23:00:00Z");
	check_changes("<+00>0<+02>-2,M3.5.0/1,M10.5.0/3", 2026, "2026-03-29T01:00:00Z",
			"2026-10-25T01:00:00Z");
	check_changes("AAA3BBB,J60/0,J365/25", 2028, "2028-03-01T03:00:00Z",
			"2029-01-01T03:00:00Z");
	check_changes("AAA3BBB,J59/0,J60/0", 2028, "2028-02-28T03:00:00Z", "2028-03-01T02:00:00Z");
	check_changes("AAA3BBB,59/0,365/0:30:15", 2028, "2028-02-29T03:00:00Z",
			"2028-12-31T02:30:15Z");
	check_changes("AAA0BBB,M2.5.2/0,M1.1.4/-167", 2028, "2028-02-29T00:00:00Z",
			"2027-12-30T00:00:00Z");
}

static void other_text_is_refused(void **state)
{
	static const char *const bad[] = {"", "A0", "AB0", "ABC", "<+00", "<+0>", "<>0",
			"ABC0:", "ABC25", "ABC0:60", "ABC0:00:60", "ABC0DEF", "ABC0DEF,",
			"ABC0DEF,M3.5.0", "ABC0DEF,M3.5.0,", "ABC0DEF,M13.5.0,M10.5.0",
			"ABC0DEF,M0.5.0,M10.5.0", "ABC0DEF,M3.6.0,M10.5.0",
			"ABC0DEF,M3.0.0,M10.5.0", "ABC0DEF,M3.5.7,M10.5.0", "ABC0DEF,J0,J365",
			"ABC0DEF,J1,J366", "ABC0DEF,1,366", "ABC0DEF,M3.5.0/168,M10.5.0",
			"ABC0DEF,M3.5.0,M10.5.0/-168", "ABC0DEF,M3.5.0,M10.5.0 ",
			"ABC0,M3.5.0,M10.5.0", "ABC0DEF,M3.5.0,M10.5.0/",
			"ABC0DEF,M3.5.0/+-1,M10.5.0", "<A C>0", "ABC0DE,1,2", ":UTC", "ABC00000",
			"ABC0DEF25,1,2"};
	struct bf_footer footer;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		if (bf_footer_parse(bf_str(bad[i]), &footer) != BELFRY_CORRUPT) {
			fail_msg("\"%s\" is not refused", bad[i]);
		}
	}
}

int run_footer_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(offsets_and_changes_are_read),
			cmocka_unit_test(other_text_is_refused),
	};

	return cmocka_run_group_tests_name("footer", tests, NULL, NULL);
}
