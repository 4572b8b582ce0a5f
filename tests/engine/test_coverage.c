/* Which instants some process covered: every edge, and when the answer has to wait. */
#include "cases.h"

#include "engine/coverage.h"
#include "support.h"

static struct belfry_incarnation span(unsigned id, belfry_time from, belfry_time to,
		belfry_time ended)
{
	return (struct belfry_incarnation){.id = id_of(id),
			.covers_from = from,
			.covered_until = to,
			.ended_at = ended};
}

static void check(const struct bf_coverage *coverage, belfry_time at, enum bf_covered expected,
		belfry_time expected_until)
{
	belfry_time until = 0;

	assert_int_equal(bf_coverage_at(coverage, at, &until), expected);
	assert_true(until == expected_until);
}

static void read_spans(struct bf_coverage *coverage, const struct belfry_incarnation *rows,
		size_t count)
{
	assert_int_equal(bf_coverage_read(coverage, rows, count, id_of(99)), BELFRY_OK);
}

static void both_ends_of_a_span_count(void **state)
{
	struct bf_coverage c = {.undecided_from = BELFRY_TIME_NEVER};
	struct belfry_incarnation rows[] = {span(1, 100, 200, 300)};

	(void)state;
	read_spans(&c, rows, 1);
	check(&c, 99, BF_COVERED_NO, 99);
	check(&c, 100, BF_COVERED_YES, 200);
	check(&c, 200, BF_COVERED_YES, 200);
	check(&c, 201, BF_COVERED_NO, BELFRY_TIME_NEVER);
	bf_coverage_fini(&c);
}

static void spans_that_touch_or_overlap_are_one(void **state)
{
	struct bf_coverage c = {0};
	struct belfry_incarnation rows[] = {span(1, 500, 600, 9), span(2, 100, 200, 9),
			span(3, 201, 300, 9), span(4, 150, 160, 9), span(5, 302, 400, 9)};

	(void)state;
	read_spans(&c, rows, BF_COUNT(rows));
	assert_int_equal(c.span_count, 3);
	check(&c, 100, BF_COVERED_YES, 300);
	check(&c, 201, BF_COVERED_YES, 300);
	check(&c, 301, BF_COVERED_NO, 301);
	check(&c, 302, BF_COVERED_YES, 400);
	check(&c, 401, BF_COVERED_NO, 499);
	bf_coverage_fini(&c);
}

static void a_living_other_leaves_what_is_past_its_last_beat_undecided(void **state)
{
	struct bf_coverage c = {0};
	struct belfry_incarnation rows[] = {span(1, 100, 200, 300), span(2, 400, 500, 0)};

	(void)state;
	read_spans(&c, rows, BF_COUNT(rows));
	check(&c, 450, BF_COVERED_YES, 500);
	check(&c, 250, BF_COVERED_NO, 399);
	check(&c, 501, BF_COVERED_UNDECIDED, BELFRY_TIME_NEVER);
	/* It ended: what was open is decided now. */
	rows[1].ended_at = 700;
	read_spans(&c, rows, BF_COUNT(rows));
	check(&c, 501, BF_COVERED_NO, BELFRY_TIME_NEVER);
	bf_coverage_fini(&c);
}

static void a_stretch_without_answer_ends_where_the_undecided_begins(void **state)
{
	struct bf_coverage c = {0};
	struct belfry_incarnation rows[] = {span(1, 1, 10, 0), span(2, 100, 200, 300)};

	(void)state;
	read_spans(&c, rows, BF_COUNT(rows));
	/* From 11 on the first may still come to cover, but 100 to 200 is covered whatever it does. */
	check(&c, 50, BF_COVERED_UNDECIDED, 99);
	check(&c, 150, BF_COVERED_YES, 200);
	check(&c, 250, BF_COVERED_UNDECIDED, BELFRY_TIME_NEVER);
	bf_coverage_fini(&c);
}

static void our_own_span_needs_no_reading_and_ends_at_our_last_beat(void **state)
{
	struct bf_coverage c = {.own = {100, 200}, .undecided_from = BELFRY_TIME_NEVER};

	(void)state;
	assert_true(bf_coverage_reaches(&c, 100));
	assert_false(bf_coverage_reaches(&c, 99));
	check(&c, 100, BF_COVERED_YES, 200);
	check(&c, 201, BF_COVERED_UNDECIDED, BELFRY_TIME_NEVER);
	check(&c, 99, BF_COVERED_UNDECIDED, 99);
	read_spans(&c, NULL, 0);
	assert_true(bf_coverage_reaches(&c, 99));
	check(&c, 99, BF_COVERED_NO, 99);
}

static void we_are_left_out_of_the_others_and_so_are_those_that_cover_nothing(void **state)
{
	struct bf_coverage c = {.own = {100, 200}};
	struct belfry_incarnation rows[] = {span(99, 100, 150, 0), span(2, 0, 0, 0),
			span(3, 300, 250, 0)};

	(void)state;
	read_spans(&c, rows, BF_COUNT(rows));
	assert_int_equal(c.span_count, 0);
	assert_true(c.undecided_from == BELFRY_TIME_NEVER);
	bf_coverage_fini(&c);
}

static void the_end_of_time_is_no_overflow(void **state)
{
	struct bf_coverage c = {0};
	struct belfry_incarnation rows[] = {span(1, 100, INT64_MAX, 0), span(2, 200, 300, 0)};

	(void)state;
	read_spans(&c, rows, BF_COUNT(rows));
	check(&c, INT64_MAX - 1, BF_COVERED_YES, INT64_MAX);
	bf_coverage_fini(&c);
}

static void reading_without_memory_says_so_and_keeps_what_was_known(void **state)
{
	struct bf_coverage c = {0};
	struct belfry_incarnation rows[64];

	(void)state;
	for (unsigned i = 0; i < BF_COUNT(rows); i++) {
		rows[i] = span(i, 1 + 10 * i, 5 + 10 * i, 9);
	}
	read_spans(&c, rows, 1);
	bf_fault_arm(bf_alloc_fault(), 1, 1);
	assert_int_equal(bf_coverage_read(&c, rows, BF_COUNT(rows), id_of(99)), BELFRY_NOMEM);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	check(&c, 3, BF_COVERED_YES, 5);
	bf_coverage_fini(&c);
}

int run_coverage_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(both_ends_of_a_span_count),
			cmocka_unit_test(spans_that_touch_or_overlap_are_one),
			cmocka_unit_test(
					a_living_other_leaves_what_is_past_its_last_beat_undecided),
			cmocka_unit_test(a_stretch_without_answer_ends_where_the_undecided_begins),
			cmocka_unit_test(our_own_span_needs_no_reading_and_ends_at_our_last_beat),
			cmocka_unit_test(
					we_are_left_out_of_the_others_and_so_are_those_that_cover_nothing),
			cmocka_unit_test(the_end_of_time_is_no_overflow),
			cmocka_unit_test(reading_without_memory_says_so_and_keeps_what_was_known),
	};
	return cmocka_run_group_tests_name("coverage", tests, NULL, NULL);
}
