/* The planner's passes, event by event: each state, each failure. */
#include "cases.h"

#include "planner_bench.h"

/* ---- due passes -------------------------------------------------------------------------------- */

static void a_new_incarnation_waits_a_moment_for_its_tickets_and_not_longer(void **state)
{
	struct bench *b = *state;

	cover_alone(b, 1, at_time(9, 0, 0));
	assert_null(b->orders.list);
	pass_time(b, 99 * BELFRY_MILLISECOND);
	wake(b);
	assert_null(b->orders.list);
	pass_time(b, 2 * BELFRY_MILLISECOND);
	wake(b);
	assert_non_null(b->orders.list); /* without them what is owed goes to the queue */
}

static void l14_what_is_due_first_is_made_first_whichever_row_owes_it(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[2];

	cover_alone(b, 1, at_time(9, 0, 0));
	tickets(b, 1, 4);
	rows[0] = row(b, "a", at_time(9, 50, 0));
	rows[1] = row(b, "b", at_time(9, 50, 0));
	answer_rows(b, rows, 2, BELFRY_TIME_NEVER);
	/* Eleven are owed by each and four fit: the first row does not take them all. */
	assert_int_equal(b->orders.advance->item_count, 2);
	assert_in_range(b->orders.advance->items[0].run_count, 1, 3);
	assert_in_range(b->orders.advance->items[1].run_count, 1, 3);
}

/* Two rows of a long backlog, which fill the pass that reads them; then the pass that follows. */
static void answer_backlog(struct bench *b, belfry_time cursor)
{
	struct belfry_schedule_row rows[] = {row(b, "old-1", cursor), row(b, "old-2", cursor)};

	assert_non_null(b->orders.list);
	b->orders.list->has_more = true;
	answer_rows(b, rows, 2, at_time(11, 0, 0));
	answer_commit(b, BELFRY_OK);
	pass_time(b, 101 * BELFRY_MILLISECOND); /* no tickets come */
	wake(b);
	assert_non_null(b->orders.list);
}

static void what_is_due_now_and_a_backlog_take_turns(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row fresh[] = {row(b, "new", at_time(10, 0, 0))};

	begin_pass(b);
	for (int i = 0; i < 3; i++) {
		assert_true(b->orders.list->from == 0);
		answer_backlog(b, at_time(9, 30 + i, 0));
		/* The other pass begins at once, and looks at nothing that is old. */
		assert_true(b->orders.list->from == b->store_now - 2 * BELFRY_SECOND);
		answer_rows(b, fresh, 1, at_time(11, 0, 0));
		assert_int_equal(b->orders.advance->item_count, 1);
		answer_commit(b, BELFRY_OK);
		assert_non_null(b->orders.list);
	}
	/* Nothing is left: no pass looks twice any more. */
	answer_rows(b, NULL, 0, at_time(11, 0, 0));
	assert_null(b->orders.list);
	pass_time(b, TICK);
	wake(b);
	assert_true(b->orders.list->from == 0);
}

static void many_rows_that_are_due_just_now_are_no_backlog(void **state)
{
	struct bench *b = *state;

	begin_pass(b);
	answer_backlog(b, b->store_now - 200 * BELFRY_MILLISECOND);
	assert_true(b->orders.list->from == 0);
	/* They wait longer: then what came due after them has a pass of its own. */
	answer_backlog(b, at_time(9, 59, 59));
	assert_true(b->orders.list->from == at_time(9, 59, 59) + 1);
}

static void a_backlog_leaves_tickets_to_what_is_due_now(void **state)
{
	struct bench *b = *state;

	begin_pass(b);
	answer_backlog(b, at_time(9, 30, 0));
	tickets(b, 1, 8);
	answer_rows(b, NULL, 0, at_time(11, 0, 0)); /* what is due now: nothing */
	assert_true(b->orders.list->from == 0);
	struct belfry_schedule_row old[] = {row(b, "old", at_time(9, 30, 0))};
	answer_rows(b, old, 1, at_time(11, 0, 0));
	assert_int_equal(b->orders.advance->items[0].run_count, 6); /* of thirty-one */
}

static void nothing_is_planned_before_coverage_or_after_the_lease(void **state)
{
	struct bench *b = *state;

	wake(b);
	assert_null(b->orders.list);
	cover(b, 1, 0); /* registered, covers nothing yet */
	assert_null(b->orders.list);
	cover(b, 1, b->store_now);
	assert_non_null(b->orders.list);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	pass_time(b, 6 * BELFRY_SECOND); /* act_until */
	wake(b);
	assert_null(b->orders.list);
}

static void a_due_row_is_one_conditional_commit_and_born_to_us(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance *a = b->orders.advance;
	assert_non_null(a);
	assert_true(a->is_plan);
	assert_int_equal(a->items[0].expect_version, 7);
	assert_true(a->items[0].cursor == at_time(10, 1, 0));
	assert_int_equal(a->items[0].run_count, 1);
	assert_int_equal(a->items[0].runs[0].state, BELFRY_RUN_DISPATCHING);
	assert_int_equal(bf_id_compare(a->holder, id_of(1)), 0);
	answer_commit(b, BELFRY_OK);
	assert_int_equal(b->born->run_count, 1);
	assert_int_equal(b->born->runs[0].fence, 77);
	assert_true(b->born->runs[0].due_at == at_time(10, 0, 0));
	assert_int_equal(bf_planner_counts(b->planner)->due_runs, 1);
}

static void without_tickets_runs_wait_in_the_queue(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	begin_pass(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.advance->items[0].runs[0].state, BELFRY_RUN_QUEUED);
	assert_true(bf_id_is_zero(b->orders.advance->holder));
	answer_commit(b, BELFRY_OK);
	assert_int_equal(b->born->run_count, 0);
	assert_true(b->born->has_queued);
}

static void a_run_below_the_floor_is_not_born_claimed(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(9, 57, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 50);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 4);
	assert_int_equal(item->runs[0].state, BELFRY_RUN_QUEUED);      /* 9:57 */
	assert_int_equal(item->runs[1].state, BELFRY_RUN_QUEUED);      /* 9:58 */
	assert_int_equal(item->runs[2].state, BELFRY_RUN_DISPATCHING); /* 9:59 */
	assert_int_equal(item->runs[3].state, BELFRY_RUN_DISPATCHING);
}

static void what_was_there_already_is_not_dispatched(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	b->orders.advance->items[0].result = BELFRY_OK;
	done(b, BELFRY_OK); /* no Run is marked inserted */
	assert_int_equal(b->born->run_count, 0);
	assert_int_equal(bf_planner_counts(b->planner)->due_runs, 0);
}

static void tickets_of_an_incarnation_that_is_over_are_void(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	/* The news that it was lost did not arrive; a new one covers. */
	cover(b, 2, at_time(9, 0, 0));
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.advance->items[0].runs[0].state, BELFRY_RUN_QUEUED);
	answer_commit(b, BELFRY_OK);
	tickets(b, 1, 5); /* late */
	assert_int_equal(b->born->places_back, 0);
}

static void a_commit_lost_to_another_incarnation_is_not_held(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_LOST});
	answer_commit(b, BELFRY_OK);
	assert_int_equal(b->born->run_count, 0);
}

static void a_conflict_is_looked_at_again_soon_and_not_at_once(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	begin_pass(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_CONFLICT);
	assert_null(b->orders.list);
	belfry_duration wait = bf_boot_since(b->orders.wake, b->now);
	assert_in_range(wait, 20 * BELFRY_MILLISECOND, 50 * BELFRY_MILLISECOND);
	pass_time(b, wait);
	wake(b);
	assert_non_null(b->orders.list);
}

static void one_conflict_among_others_does_not_wait_for_the_tick(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0)),
			row(b, "b", at_time(10, 0, 0))};

	begin_pass(b);
	answer_rows(b, rows, 2, BELFRY_TIME_NEVER);
	struct belfry_advance *a = b->orders.advance;
	a->items[0].result = BELFRY_OK;
	a->items[1].result = BELFRY_CONFLICT;
	done(b, BELFRY_OK);
	assert_non_null(b->orders.list);
}

static void an_outage_backs_off_and_ends(void **state)
{
	struct bench *b = *state;

	begin_pass(b);
	for (int i = 0; i < 10; i++) {
		done(b, BELFRY_UNAVAILABLE);
		assert_null(b->orders.list);
		belfry_duration wait = bf_boot_since(b->orders.wake, b->now);
		assert_in_range(wait, 100 * BELFRY_MILLISECOND, BELFRY_SECOND);
		pass_time(b, wait);
		cover(b, 1, at_time(9, 0, 0));
		assert_non_null(b->orders.list);
	}
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
}

static void a_commit_whose_answer_was_lost_is_told_and_all_tickets_go_back(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	done(b, BELFRY_UNKNOWN);
	assert_true(b->born->is_unknown);
	assert_int_equal(b->born->places_back, 5);
}

static void news_that_found_no_memory_come_with_a_later_step(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	bf_fault_arm(bf_alloc_fault(), 1, -1);
	answer_commit(b, BELFRY_OK);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_null(b->orders.born);
	wake(b);
	assert_non_null(b->orders.born);
	assert_true(b->born->is_unknown);
	assert_int_equal(b->born->places_back, 5);
	wake(b);
	assert_null(b->orders.born);
}

static void news_that_could_not_be_carried_come_again(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	struct bf_born *born = b->born;
	b->born = NULL;
	assert_int_equal(born->run_count, 1);
	bf_planner_untold(b->planner, born);
	wake(b);
	assert_true(b->born->is_unknown);
	assert_int_equal(b->born->places_back, 5);
	assert_int_equal(b->born->bytes_back, 1 << 20);
}

static void a_backlog_takes_every_ticket_back(void **state)
{
	struct bench *b = *state;

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	assert_int_equal(b->born->places_back, 0);
	struct bf_tickets recall = {.incarnation = id_of(1), .is_backlog = true};
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_TICKETS, .tickets = recall});
	assert_int_equal(b->born->places_back, 5);
	assert_int_equal(b->born->bytes_back, 1 << 20);
}

/* ---- coverage ---------------------------------------------------------------------------------- */

static void what_our_own_beats_do_not_cover_is_asked_of_the_store(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(9, 58, 0))};
	struct belfry_incarnation other = {.id = id_of(9),
			.covers_from = at_time(9, 0, 0),
			.covered_until = at_time(9, 58, 30),
			.ended_at = at_time(9, 59, 0)};

	cover(b, 1, at_time(9, 59, 30));
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_incarnations(b, &other, 1);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 2); /* 9:58 was covered by the other, 10:00 by us */
	assert_int_equal(item->gap_count, 1);
	assert_true(item->gaps[0].from == at_time(9, 59, 0));
	answer_commit(b, BELFRY_OK);
	assert_int_equal(bf_planner_counts(b->planner)->due_missed, 1);
}

static void an_undecided_instant_asks_for_a_beat_and_does_not_spin(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(9, 59, 0))};
	struct belfry_incarnation other = {.id = id_of(9),
			.covers_from = at_time(9, 0, 0),
			.covered_until = at_time(9, 58, 30)};

	cover(b, 1, at_time(9, 59, 30));
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_incarnations(b, &other, 1);
	assert_null(b->orders.advance);
	assert_null(b->orders.list);
	assert_true(b->orders.wants_beat);
	assert_true(bf_boot_since(b->orders.wake, b->now) >= 20 * BELFRY_MILLISECOND);
	/* The other one is declared dead: our next beat decides. */
	pass_time(b, 100 * BELFRY_MILLISECOND);
	other.ended_at = b->store_now;
	cover(b, 1, at_time(9, 59, 30));
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_incarnations(b, &other, 1);
	assert_int_equal(b->orders.advance->items[0].gap_count, 1);
	assert_int_equal(b->orders.advance->items[0].run_count, 1);
}

static void without_coverage_of_our_own_the_others_are_read_every_time(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(9, 59, 0))};
	struct belfry_incarnation other = {.id = id_of(9),
			.covers_from = at_time(9, 59, 30),
			.covered_until = at_time(10, 0, 30),
			.ended_at = at_time(10, 1, 0)};
	struct bf_plan_request first = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED, &b->definition);
	struct bf_plan_request second = put_of(b, "a", 3, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);

	b->store_now = at_time(9, 59, 10);
	post(b, &first);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_incarnations(b, NULL, 0);
	assert_int_equal(b->orders.advance->items[0].gap_count, 1);
	answer_commit(b, BELFRY_OK);
	assert_true(is_done(b, &first));
	/* Another process began to cover since. */
	b->store_now = at_time(10, 0, 10);
	rows[0].cursor = at_time(10, 0, 0);
	rows[0].revision = 2;
	post(b, &second);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_incarnations(b, &other, 1);
	assert_int_equal(b->orders.advance->items[0].gap_count, 0);
	assert_int_equal(b->orders.advance->items[0].run_count, 1);
	answer_commit(b, BELFRY_OK);
	assert_true(is_done(b, &second));
}

/* ---- rows that cannot be read or written ------------------------------------------------------- */

static void an_unreadable_row_is_quarantined_with_its_ledger_and_stops_nobody(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[7];

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g"};
		rows[i] = row(b, names[i], at_time(9, 59, 0));
		if (i % 2 == 1) {
			rows[i].definition = BF_STR("\x01noise");
		}
	}
	begin_pass(b);
	answer_rows(b, rows, BF_COUNT(rows), BELFRY_TIME_NEVER);
	const struct belfry_advance *a = b->orders.advance;
	assert_int_equal(a->item_count, BF_COUNT(rows));
	for (size_t i = 0; i < a->item_count; i++) {
		const struct belfry_advance_item *item = &a->items[i];
		if (i % 2 == 0) {
			assert_int_equal(item->run_count, 2);
			assert_int_equal(item->phase, BELFRY_PHASE_ACTIVE);
			continue;
		}
		assert_int_equal(item->phase, BELFRY_PHASE_QUARANTINED);
		assert_true(item->phase_reason.len > 0);
		assert_true(item->cursor == BELFRY_TIME_NEVER);
		assert_int_equal(item->run_count, 0);
		/* A cursor that moves over due times leaves a ledger row (decision 3). */
		assert_int_equal(item->gap_count, 1);
		assert_int_equal(item->gaps[0].reason, BELFRY_GAP_QUARANTINED);
		assert_true(item->gaps[0].from == at_time(9, 59, 0));
		assert_true(item->gaps[0].to == b->store_now);
		assert_true(item->gaps[0].is_at_least);
	}
}

static void a_row_that_this_replica_cannot_evaluate_is_left_to_others(void **state)
{
	struct bench *b = *state;
	struct bf_buf foreign = definition_of("H H * * *", NULL);
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0)),
			row(b, "b", at_time(10, 0, 0))};

	rows[0].definition = bf_buf_str(&foreign);
	begin_pass(b);
	uint32_t limit = b->orders.list->limit;
	answer_rows(b, rows, 2, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.advance->item_count, 1);
	assert_true(bf_str_equal(b->orders.advance->items[0].schedule, BF_STR("b")));
	answer_commit(b, BELFRY_OK);
	/* Nor does it keep us busy. */
	assert_true(bf_boot_since(b->orders.wake, b->now) >= 20 * BELFRY_MILLISECOND);
	pass_time(b, TICK);
	cover(b, 1, at_time(9, 0, 0));
	if (b->orders.list == NULL) {
		wake(b);
	}
	assert_int_equal(b->orders.list->limit, limit + 1); /* read past it */
	bf_buf_fini(&foreign);
}

static void a_row_that_cannot_be_written_is_quarantined_and_not_repeated_for_ever(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0)),
			row(b, "b", at_time(10, 0, 0))};

	begin_pass(b);
	answer_rows(b, rows, 2, BELFRY_TIME_NEVER);
	b->orders.advance->items[0].result = BELFRY_CORRUPT;
	b->orders.advance->items[1].result = BELFRY_OK;
	done(b, BELFRY_OK);
	pass_time(b, TICK);
	cover(b, 1, at_time(9, 0, 0));
	if (b->orders.list == NULL) {
		wake(b);
	}
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_int_equal(b->orders.advance->items[0].phase, BELFRY_PHASE_QUARANTINED);
	/* Not even that can be written: it is tried again at the tick, not at once. */
	answer_commit(b, BELFRY_CORRUPT);
	assert_null(b->orders.list);
	assert_true(bf_boot_since(b->orders.wake, b->now) > 100 * BELFRY_MILLISECOND);
}

/* A row whose presence makes the whole statement fail, among good ones: found by halving. */
static void a_row_that_makes_the_statement_fail_is_found_by_halving(void **state)
{
	struct bench *b = *state;
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	bool is_owed[8] = {true, true, true, true, true, true, true, true};
	bool is_quarantined = false;

	begin_pass(b);
	for (int turns = 0; turns < 60; turns++) {
		struct belfry_schedule_row rows[8];
		size_t count = 0;
		for (size_t i = 0; i < 8 && count < b->orders.list->limit; i++) {
			if (is_owed[i]) {
				rows[count++] = row(b, names[i], at_time(10, 0, 0));
			}
		}
		answer_rows(b, rows, count, BELFRY_TIME_NEVER);
		struct belfry_advance *a = b->orders.advance;
		if (a != NULL) {
			bool is_bad = false;
			for (size_t i = 0; i < a->item_count; i++) {
				bool is_c = bf_str_equal(a->items[i].schedule, BF_STR("c"));
				is_bad = is_bad ||
						(is_c && a->items[i].phase != BELFRY_PHASE_QUARANTINED);
				is_quarantined = is_quarantined || (is_c && !is_bad);
			}
			for (size_t i = 0; !is_bad && i < a->item_count; i++) {
				is_owed[a->items[i].schedule.ptr[0] - 'a'] = false;
			}
			if (is_bad) {
				done(b, BELFRY_CORRUPT);
			} else {
				answer_commit(b, BELFRY_OK);
			}
		}
		for (int i = 0; i < 100 && b->orders.list == NULL; i++) {
			pass_time(b, 20 * BELFRY_MILLISECOND);
			cover(b, 1, at_time(9, 0, 0));
		}
		assert_non_null(b->orders.list);
	}
	assert_true(is_quarantined);
	for (size_t i = 0; i < 8; i++) {
		assert_false(is_owed[i]);
	}
}

/* ---- stop, and the clock set back -------------------------------------------------------------- */

static void after_stop_what_is_under_way_ends_and_nothing_is_planned(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};
	struct bf_plan_request request = put_of(b, "b", 1, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	pass_time(b, TICK);
	wake(b);
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_STOP});
	assert_false(bf_planner_is_idle(b->planner));
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	/* It is committed, but born to nobody: we are about to go. */
	assert_int_equal(b->orders.advance->items[0].runs[0].state, BELFRY_RUN_QUEUED);
	answer_commit(b, BELFRY_OK);
	assert_true(bf_planner_is_idle(b->planner));
	pass_time(b, TICK);
	wake(b);
	assert_null(b->orders.list);
	/* Hosts may still put and remove (B22). */
	post(b, &request);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	assert_true(is_done(b, &request));
}

static void after_the_clock_was_set_back_cursors_ahead_come_back(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(34, 0, 0)),
			row(b, "b", at_time(10, 1, 0)), row(b, "c", BELFRY_TIME_NEVER)};

	rows[2].flags = 0;
	rows[2].idle_since = at_time(33, 0, 0);
	begin_pass(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_CLOCK_BACK});
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_SCHEDULES);
	answer_rows(b, rows, 3, BELFRY_TIME_NEVER);
	const struct belfry_advance *a = b->orders.advance;
	assert_int_equal(a->item_count, 2);
	assert_true(a->items[0].cursor == at_time(10, 1, 0));
	assert_true((a->items[0].flags & BELFRY_ADVANCE_F_DROP_LATER_GAPS) != 0);
	assert_true(a->items[1].cursor == BELFRY_TIME_NEVER);
	assert_true(a->items[1].decided_at == b->store_now);
	answer_commit(b, BELFRY_OK);
}

static void a_page_that_was_not_committed_is_looked_at_again(void **state)
{
	static const enum belfry_status answers[] = {BELFRY_UNAVAILABLE, BELFRY_UNKNOWN,
			BELFRY_CONFLICT};
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(34, 0, 0))};

	begin_pass(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_CLOCK_BACK});
	for (size_t i = 0; i < BF_COUNT(answers); i++) {
		assert_int_equal(b->orders.list->kind, BELFRY_LIST_SCHEDULES);
		assert_int_equal(b->orders.list->after_text.len, 0);
		answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
		assert_non_null(b->orders.advance);
		if (answers[i] == BELFRY_CONFLICT) {
			answer_commit(b, BELFRY_CONFLICT);
		} else {
			done(b, answers[i]);
		}
		pass_time(b, BELFRY_SECOND);
		cover(b, 1, at_time(9, 0, 0));
	}
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_SCHEDULES);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	if (b->orders.list != NULL) {
		assert_int_equal(b->orders.list->kind, BELFRY_LIST_DUE);
	}
}

/* Fail the allocations of a pass one after another: nothing leaks, and the pass takes place later. */
static void a_pass_survives_each_failed_allocation(void **state)
{
	struct bench *b = *state;

	for (int64_t n = 1; n < 100; n++) {
		struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};
		rows[0].revision = n; /* parsed anew */
		for (int i = 0; i < 100 && b->orders.list == NULL; i++) {
			pass_time(b, 100 * BELFRY_MILLISECOND);
			cover(b, 1, at_time(9, 0, 0));
		}
		assert_non_null(b->orders.list);
		b->store_now = at_time(10, 0, 1);
		bf_fault_arm(bf_alloc_fault(), n, 1);
		answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
		if (b->orders.advance != NULL) {
			answer_commit(b, BELFRY_OK);
		}
		int64_t fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		if (fired == 0) {
			return;
		}
	}
	fail_msg("the sweep did not end");
}

int run_planner_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(a_new_incarnation_waits_a_moment_for_its_tickets_and_not_longer),
			CASE(l14_what_is_due_first_is_made_first_whichever_row_owes_it),
			CASE(what_is_due_now_and_a_backlog_take_turns),
			CASE(many_rows_that_are_due_just_now_are_no_backlog),
			CASE(a_backlog_leaves_tickets_to_what_is_due_now),
			CASE(nothing_is_planned_before_coverage_or_after_the_lease),
			CASE(a_due_row_is_one_conditional_commit_and_born_to_us),
			CASE(without_tickets_runs_wait_in_the_queue),
			CASE(a_run_below_the_floor_is_not_born_claimed),
			CASE(what_was_there_already_is_not_dispatched),
			CASE(tickets_of_an_incarnation_that_is_over_are_void),
			CASE(a_commit_lost_to_another_incarnation_is_not_held),
			CASE(a_conflict_is_looked_at_again_soon_and_not_at_once),
			CASE(one_conflict_among_others_does_not_wait_for_the_tick),
			CASE(an_outage_backs_off_and_ends),
			CASE(a_commit_whose_answer_was_lost_is_told_and_all_tickets_go_back),
			CASE(news_that_found_no_memory_come_with_a_later_step),
			CASE(news_that_could_not_be_carried_come_again),
			CASE(a_backlog_takes_every_ticket_back),
			CASE(what_our_own_beats_do_not_cover_is_asked_of_the_store),
			CASE(an_undecided_instant_asks_for_a_beat_and_does_not_spin),
			CASE(without_coverage_of_our_own_the_others_are_read_every_time),
			CASE(an_unreadable_row_is_quarantined_with_its_ledger_and_stops_nobody),
			CASE(a_row_that_this_replica_cannot_evaluate_is_left_to_others),
			CASE(a_row_that_cannot_be_written_is_quarantined_and_not_repeated_for_ever),
			CASE(a_row_that_makes_the_statement_fail_is_found_by_halving),
			CASE(after_stop_what_is_under_way_ends_and_nothing_is_planned),
			CASE(after_the_clock_was_set_back_cursors_ahead_come_back),
			CASE(a_page_that_was_not_committed_is_looked_at_again),
			CASE(a_pass_survives_each_failed_allocation),
	};
	return cmocka_run_group_tests_name("planner", tests, NULL, NULL);
}
