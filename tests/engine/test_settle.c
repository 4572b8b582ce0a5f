/* What becomes of owed due times: live, grace, late_limit, and the ledger with its counts. */
#include "cases.h"

#include "engine/settle.h"
#include "support.h"

struct bench {
	struct bf_batch batch;
	struct bf_coverage coverage;
	struct belfry_policies policies;
	struct belfry_rule *rule;
	struct bf_settlement settled;
	size_t max_runs;
};

static int set_up(void **state)
{
	static const struct belfry_policies defaults = BELFRY_POLICIES_INIT;
	struct bench *b = test_calloc(1, sizeof(*b));

	b->policies = defaults;
	b->coverage.undecided_from = BELFRY_TIME_NEVER;
	b->coverage.is_known = true;
	b->max_runs = 1000;
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	bf_batch_fini(&b->batch);
	bf_coverage_fini(&b->coverage);
	belfry_rule_free(b->rule);
	test_free(b);
	return 0;
}

static void settle(struct bench *b, const char *cron, belfry_time cursor, belfry_time now)
{
	belfry_rule_free(b->rule);
	b->rule = rule_of(cron);
	struct bf_settle_input in = {.schedule = BF_STR("s"),
			.revision = 3,
			.policies = &b->policies,
			.rule = b->rule,
			.coverage = &b->coverage,
			.cursor = cursor,
			.now = now,
			.max_runs = b->max_runs,
			.fires_left = INT64_MAX};
	bf_batch_clear(&b->batch);
	assert_int_equal(bf_settle(&in, &b->batch, &b->settled), BELFRY_OK);
}

static void check_run(const struct bench *b, size_t i, belfry_time due)
{
	struct belfry_id id;

	assert_true(i < b->settled.run_count);
	assert_true(b->batch.runs[i].due_at == due);
	assert_true(b->batch.runs[i].ready_at == due);
	assert_int_equal(b->batch.runs[i].stands_for, 1);
	assert_int_equal(b->batch.runs[i].state, BELFRY_RUN_QUEUED);
	assert_int_equal(b->batch.runs[i].trigger, BELFRY_TRIGGER_SCHEDULE);
	assert_int_equal(belfry_run_id(BF_STR("s"), due, &id), BELFRY_OK);
	assert_int_equal(bf_id_compare(b->batch.runs[i].id, id), 0);
}

static void check_gap(const struct bench *b, size_t i, belfry_time from, belfry_time to,
		int64_t count, enum belfry_gap_reason reason)
{
	assert_true(i < b->settled.gap_count);
	assert_true(b->batch.gaps[i].from == from);
	assert_true(b->batch.gaps[i].to == to);
	assert_true(b->batch.gaps[i].count == count);
	assert_int_equal(b->batch.gaps[i].reason, reason);
	assert_int_equal(b->batch.gaps[i].revision, 3);
}

static void cover_span(struct bench *b, belfry_time from, belfry_time to)
{
	struct belfry_incarnation row = {.id = id_of(1),
			.covers_from = from,
			.covered_until = to,
			.ended_at = to};

	assert_int_equal(bf_coverage_read(&b->coverage, &row, 1, id_of(99)), BELFRY_OK);
}

static void a_live_due_time_becomes_one_run(void **state)
{
	struct bench *b = *state;

	cover_span(b, at_time(9, 0, 0), at_time(11, 0, 0));
	settle(b, "*/5 * * * *", at_time(10, 0, 0), at_time(10, 0, 1));
	assert_int_equal(b->settled.run_count, 1);
	assert_int_equal(b->settled.gap_count, 0);
	check_run(b, 0, at_time(10, 0, 0));
	assert_true(b->settled.cursor == at_time(10, 5, 0));
	assert_true(b->settled.is_complete);
	assert_true(b->settled.last_fire_at == at_time(10, 0, 0));
}

static void t005_a_stretch_that_nobody_covered_makes_no_run(void **state)
{
	struct bench *b = *state;

	cover_span(b, at_time(9, 0, 0), at_time(9, 59, 59));
	b->coverage.own = (struct bf_span){at_time(10, 31, 0), at_time(10, 31, 2)};
	settle(b, "*/5 * * * *", at_time(10, 0, 0), at_time(10, 31, 1));
	assert_int_equal(b->settled.run_count, 0);
	assert_int_equal(b->settled.gap_count, 1);
	check_gap(b, 0, at_time(10, 0, 0), at_time(10, 30, 0), 7, BELFRY_GAP_MISSED);
	assert_true(b->settled.missed == 7);
	assert_true(b->settled.cursor == at_time(10, 35, 0));
}

static void t006_t050_due_times_under_a_disable_go_to_the_ledger_alone(void **state)
{
	struct bench *b = *state;
	struct bf_settle_input in = {.schedule = BF_STR("s"),
			.revision = 3,
			.policies = &b->policies,
			.now = at_time(10, 20, 0)};

	b->rule = rule_of("*/5 * * * *");
	in.rule = b->rule;
	b->policies.grace = BELFRY_HOUR; /* not even grace fires them */
	assert_int_equal(bf_settle_idle(&in, at_time(10, 0, 0), BELFRY_GAP_DISABLED, &b->batch,
					 &b->settled),
			BELFRY_OK);
	assert_int_equal(b->settled.run_count, 0);
	check_gap(b, 0, at_time(10, 5, 0), at_time(10, 20, 0), 4, BELFRY_GAP_DISABLED);
	/* A stretch without a due time leaves nothing. */
	in.now = at_time(10, 4, 59);
	bf_batch_clear(&b->batch);
	assert_int_equal(bf_settle_idle(&in, at_time(10, 0, 0), BELFRY_GAP_DISABLED, &b->batch,
					 &b->settled),
			BELFRY_OK);
	assert_int_equal(b->settled.gap_count, 0);
	assert_true(b->settled.is_complete);
}

static void t007_the_next_run_carries_its_own_due_time_alone(void **state)
{
	struct bench *b = *state;

	b->coverage.own = (struct bf_span){at_time(10, 31, 0), at_time(10, 40, 0)};
	settle(b, "*/5 * * * *", at_time(10, 0, 0), at_time(10, 35, 0));
	assert_int_equal(b->settled.run_count, 1);
	check_run(b, 0, at_time(10, 35, 0));
	check_gap(b, 0, at_time(10, 0, 0), at_time(10, 30, 0), 7, BELFRY_GAP_MISSED);
}

static void t010_b24_grace_fires_what_nobody_covered_late_with_its_true_time(void **state)
{
	struct bench *b = *state;

	b->policies.grace = BELFRY_MINUTE;
	b->coverage.own = (struct bf_span){at_time(10, 0, 3), at_time(10, 0, 5)};
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(10, 0, 3));
	check_run(b, 0, at_time(10, 0, 0));
	/* At its very edge, and one microsecond past it. */
	b->coverage.own = (struct bf_span){at_time(10, 1, 0), at_time(10, 2, 0)};
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(10, 1, 0));
	assert_int_equal(b->settled.run_count, 1);
	b->coverage.own.from++;
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(10, 1, 0) + 1);
	assert_int_equal(b->settled.run_count, 0);
	check_gap(b, 0, at_time(10, 0, 0), at_time(10, 0, 0), 1, BELFRY_GAP_MISSED);
}

/* A host was down for 39 s, and so much was due that its planner came to this one late. */
static void b24_grace_goes_by_how_long_nobody_covered_and_not_by_how_long_planning_took(
		void **state)
{
	struct bench *b = *state;

	b->policies.grace = BELFRY_MINUTE;
	b->coverage.own = (struct bf_span){at_time(10, 0, 39), at_time(10, 40, 0)};
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(10, 2, 0));
	check_run(b, 0, at_time(10, 0, 0));
	/* The limit of what is late holds for it as for what was covered. */
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(11, 0, 0));
	assert_int_equal(b->settled.run_count, 1);
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(11, 0, 1));
	assert_int_equal(b->settled.run_count, 0);
	check_gap(b, 0, at_time(10, 0, 0), at_time(10, 0, 0), 1, BELFRY_GAP_MISSED);
	/* While nobody covers, it grows with every second. */
	b->coverage.own = (struct bf_span){0, 0};
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(10, 1, 1));
	assert_int_equal(b->settled.run_count, 0);
}

static void a_covered_time_older_than_late_limit_is_late(void **state)
{
	struct bench *b = *state;

	cover_span(b, at_time(0, 0, 1), at_time(20, 0, 0));
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(11, 0, 0));
	assert_int_equal(b->settled.run_count, 1);
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(11, 0, 0) + 1);
	assert_int_equal(b->settled.run_count, 0);
	check_gap(b, 0, at_time(10, 0, 0), at_time(10, 0, 0), 1, BELFRY_GAP_LATE);
	assert_true(b->settled.cursor == at_time(34, 0, 0));
}

static void grace_longer_than_late_limit_wins(void **state)
{
	struct bench *b = *state;

	b->policies.late_limit = 0;
	b->policies.grace = 2 * BELFRY_HOUR;
	settle(b, "0 10 * * *", at_time(10, 0, 0), at_time(11, 0, 0));
	assert_int_equal(b->settled.run_count, 1);
}

static void reasons_part_gaps_and_runs_part_them_too(void **state)
{
	struct bench *b = *state;

	/* Covered long ago (late), then not covered (missed), then covered (Runs), then not. */
	struct belfry_incarnation rows[] = {
			{.id = id_of(1),
					.covers_from = at_time(1, 0, 0),
					.covered_until = at_time(1, 30, 0),
					.ended_at = 1},
			{.id = id_of(2),
					.covers_from = at_time(9, 30, 0),
					.covered_until = at_time(9, 40, 0),
					.ended_at = 1},
	};
	assert_int_equal(bf_coverage_read(&b->coverage, rows, 2, id_of(99)), BELFRY_OK);
	settle(b, "*/10 * * * *", at_time(1, 0, 0), at_time(10, 0, 1));
	assert_int_equal(b->settled.gap_count, 3);
	check_gap(b, 0, at_time(1, 0, 0), at_time(1, 30, 0), 4, BELFRY_GAP_LATE);
	check_gap(b, 1, at_time(1, 40, 0), at_time(9, 20, 0), 47, BELFRY_GAP_MISSED);
	check_run(b, 0, at_time(9, 30, 0));
	check_run(b, 1, at_time(9, 40, 0));
	check_gap(b, 2, at_time(9, 50, 0), at_time(10, 0, 0), 2, BELFRY_GAP_MISSED);
	assert_true(b->settled.missed == 53);
	/* Every due time is in exactly one place. */
	assert_true(b->settled.missed + (int64_t)b->settled.run_count == 55);
}

static void years_of_missed_seconds_are_counted_as_at_least(void **state)
{
	struct bench *b = *state;
	belfry_time now = DAY0 + 700 * BELFRY_DAY;

	b->coverage.own = (struct bf_span){now - BELFRY_SECOND, now + BELFRY_SECOND};
	settle(b, "* * * * * *", DAY0, now);
	assert_true(b->batch.gaps[0].is_at_least);
	assert_true(b->batch.gaps[0].count >= 100000);
	assert_true(b->batch.gaps[0].from == DAY0);
	/* Nothing is left out between the gap, the Runs and the cursor. */
	assert_int_equal(b->settled.gap_count, 1);
	assert_true(b->batch.gaps[0].to == now - 2 * BELFRY_SECOND);
	check_run(b, 0, now - BELFRY_SECOND);
	check_run(b, 1, now);
	assert_true(b->settled.cursor == now + BELFRY_SECOND);
}

static void the_cut_by_max_runs_leaves_the_rest_owed(void **state)
{
	struct bench *b = *state;

	cover_span(b, at_time(0, 0, 1), at_time(20, 0, 0));
	b->max_runs = 3;
	settle(b, "* * * * *", at_time(10, 0, 0), at_time(10, 10, 30));
	assert_int_equal(b->settled.run_count, 3);
	assert_true(b->settled.cursor == at_time(10, 3, 0));
	assert_false(b->settled.is_complete);
	assert_false(b->settled.is_undecided);
	b->max_runs = 0;
	settle(b, "* * * * *", at_time(10, 0, 0), at_time(10, 10, 30));
	assert_true(b->settled.cursor == at_time(10, 0, 0));
	assert_false(b->settled.is_complete);
}

static void it_stops_at_the_first_undecided_instant(void **state)
{
	struct bench *b = *state;
	struct belfry_incarnation row = {.id = id_of(1),
			.covers_from = at_time(10, 0, 0),
			.covered_until = at_time(10, 2, 30)};

	assert_int_equal(bf_coverage_read(&b->coverage, &row, 1, id_of(99)), BELFRY_OK);
	settle(b, "* * * * *", at_time(9, 59, 0), at_time(10, 5, 0));
	check_gap(b, 0, at_time(9, 59, 0), at_time(9, 59, 0), 1, BELFRY_GAP_MISSED);
	assert_int_equal(b->settled.run_count, 3);
	assert_true(b->settled.cursor == at_time(10, 3, 0));
	assert_true(b->settled.is_undecided);
	assert_false(b->settled.is_complete);
}

static void a_cursor_that_is_not_on_the_rule_is_owed_because_it_is_stored(void **state)
{
	struct bench *b = *state;

	cover_span(b, at_time(0, 0, 1), at_time(20, 0, 0));
	settle(b, "0 * * * *", at_time(10, 17, 3) + 5, at_time(10, 30, 0));
	assert_int_equal(b->settled.run_count, 1);
	check_run(b, 0, at_time(10, 17, 3) + 5);
	assert_true(b->settled.cursor == at_time(11, 0, 0));
	/* Missed, it is counted as well. */
	b->coverage.span_count = 0;
	settle(b, "0 * * * *", at_time(1, 17, 3), at_time(4, 30, 0));
	check_gap(b, 0, at_time(1, 17, 3), at_time(4, 0, 0), 4, BELFRY_GAP_MISSED);
}

static void a_cursor_after_now_owes_nothing(void **state)
{
	struct bench *b = *state;

	settle(b, "* * * * *", at_time(10, 1, 0), at_time(10, 1, 0) - 1);
	assert_int_equal(b->settled.run_count + b->settled.gap_count, 0);
	assert_true(b->settled.is_complete);
	assert_true(b->settled.cursor == at_time(10, 1, 0));
	settle(b, "* * * * *", BELFRY_TIME_NEVER, at_time(10, 1, 0));
	assert_true(b->settled.is_complete);
}

static void many_gaps_are_written_in_bounded_parts(void **state)
{
	struct bench *b = *state;
	struct belfry_incarnation rows[200];
	belfry_time cursor = at_time(0, 0, 0);
	int64_t total = 0;

	/* Covered every second minute, so that each due time parts from the next one. */
	for (unsigned i = 0; i < BF_COUNT(rows); i++) {
		rows[i] = (struct belfry_incarnation){.id = id_of(i),
				.covers_from = at_time(0, 0, 30) + 2 * i * BELFRY_MINUTE,
				.covered_until = at_time(0, 1, 30) + 2 * i * BELFRY_MINUTE,
				.ended_at = 1};
	}
	assert_int_equal(bf_coverage_read(&b->coverage, rows, BF_COUNT(rows), id_of(99)),
			BELFRY_OK);
	b->policies.late_limit = BELFRY_DAY;
	for (int parts = 0; parts < 20; parts++) {
		settle(b, "* * * * *", cursor, at_time(6, 0, 0));
		assert_in_range(b->settled.gap_count, 0, 64);
		total += b->settled.missed + (int64_t)b->settled.run_count;
		assert_true(b->settled.cursor > cursor);
		cursor = b->settled.cursor;
		if (b->settled.is_complete) {
			break;
		}
	}
	assert_true(b->settled.is_complete);
	assert_true(total == 361);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int run_settle_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(a_live_due_time_becomes_one_run),
			CASE(t005_a_stretch_that_nobody_covered_makes_no_run),
			CASE(t006_t050_due_times_under_a_disable_go_to_the_ledger_alone),
			CASE(t007_the_next_run_carries_its_own_due_time_alone),
			CASE(t010_b24_grace_fires_what_nobody_covered_late_with_its_true_time),
			CASE(a_covered_time_older_than_late_limit_is_late),
			CASE(b24_grace_goes_by_how_long_nobody_covered_and_not_by_how_long_planning_took),
			CASE(grace_longer_than_late_limit_wins),
			CASE(reasons_part_gaps_and_runs_part_them_too),
			CASE(years_of_missed_seconds_are_counted_as_at_least),
			CASE(the_cut_by_max_runs_leaves_the_rest_owed),
			CASE(it_stops_at_the_first_undecided_instant),
			CASE(a_cursor_that_is_not_on_the_rule_is_owed_because_it_is_stored),
			CASE(a_cursor_after_now_owes_nothing),
			CASE(many_gaps_are_written_in_bounded_parts),
	};
	return cmocka_run_group_tests_name("settle", tests, NULL, NULL);
}
