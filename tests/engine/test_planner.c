/* The planner, driven event by event with a store's answers made up here: each state, each failure. */
#include "cases.h"

#include "engine/planner.h"
#include "support.h"

#define TICK  BELFRY_SECOND
#define LEASE (8 * BELFRY_SECOND)

struct bench {
	struct bf_planner *planner;
	struct bf_planner_orders orders;
	struct bf_boot_time now;
	belfry_time store_now;
	struct bf_buf definition; /* "* * * * *" */
	struct bf_list done;      /* requests that were answered */
	struct bf_born *born;     /* the last news, kept until the next */
};

static int set_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct bf_planner_config config = {.zones = zones(),
			.tz_version = "2026a",
			.tick = TICK,
			.seed = 1};

	assert_int_equal(bf_planner_new(&config, &b->planner), BELFRY_OK);
	b->now = boot(1000 * BELFRY_SECOND);
	b->store_now = at_time(10, 0, 0);
	b->definition = definition_of("* * * * *", NULL);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	bf_planner_free(b->planner);
	bf_buf_fini(&b->definition);
	bf_born_free(b->born);
	test_free(b);
	return 0;
}

static void step(struct bench *b, struct bf_planner_event event)
{
	struct bf_planner_orders under_way = b->orders;

	event.now = b->now;
	bf_planner_step(b->planner, &event, &b->orders);
	if (event.kind != BF_PLANNER_DONE && b->orders.list == NULL && b->orders.advance == NULL) {
		b->orders.list = under_way.list;
		b->orders.advance = under_way.advance;
	}
	if (b->orders.born != NULL) {
		bf_born_free(b->born);
		b->born = b->orders.born;
	}
	while (b->orders.done.first != NULL) {
		bf_list_move(&b->done, b->orders.done.first);
	}
	/* At most one operation, and a wake that lies ahead. */
	assert_true(b->orders.list == NULL || b->orders.advance == NULL);
	assert_true(b->orders.wake.us > b->now.us);
}

static void wake(struct bench *b)
{
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_WAKE});
}

static void pass_time(struct bench *b, belfry_duration d)
{
	b->now = bf_boot_add(b->now, d);
	b->store_now += d;
}

static void done(struct bench *b, enum belfry_status status)
{
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_DONE, .status = status});
}

static void cover_alone(struct bench *b, unsigned id, belfry_time from)
{
	struct bf_cover news = {.incarnation = id_of(id),
			.from = from,
			.to = b->store_now + 2 * BELFRY_SECOND,
			.act_until = bf_boot_add(b->now, 6 * BELFRY_SECOND),
			.store_now = b->store_now,
			.at = b->now};

	step(b, (struct bf_planner_event){.kind = BF_PLANNER_COVER, .cover = news});
}

static void tickets(struct bench *b, unsigned id, uint32_t places)
{
	struct bf_tickets news = {.incarnation = id_of(id),
			.places = places,
			.bytes = 1 << 20,
			.floor = bf_run_id_floor(b->store_now - BELFRY_MINUTE)};

	step(b, (struct bf_planner_event){.kind = BF_PLANNER_TICKETS, .tickets = news});
}

/* A cover as it comes: the dispatcher sends tickets with it, here none yet. */
static void cover(struct bench *b, unsigned id, belfry_time from)
{
	struct bf_tickets none = {.incarnation = id_of(id)};

	cover_alone(b, id, from);
	if (b->orders.list == NULL && b->orders.advance == NULL) {
		step(b, (struct bf_planner_event){.kind = BF_PLANNER_TICKETS, .tickets = none});
		bf_born_free(b->born);
		b->born = NULL;
	}
}

static struct belfry_schedule_row row(const struct bench *b, const char *id, belfry_time cursor)
{
	return (struct belfry_schedule_row){.id = bf_str(id),
			.version = 7,
			.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED,
			.cursor = cursor,
			.payload_bytes = 10,
			.definition = bf_buf_str(&b->definition)};
}

/* The answer to a read that is under way. */
static void answer_rows(struct bench *b, struct belfry_schedule_row *rows, size_t count,
		belfry_time next_due)
{
	assert_non_null(b->orders.list);
	b->orders.list->rows = rows;
	b->orders.list->count = count;
	b->orders.list->now = b->store_now;
	b->orders.list->next_due = next_due;
	done(b, BELFRY_OK);
}

static void answer_incarnations(struct bench *b, struct belfry_incarnation *rows, size_t count)
{
	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_INCARNATIONS);
	b->orders.list->incarnations = rows;
	b->orders.list->count = count;
	b->orders.list->now = b->store_now;
	done(b, BELFRY_OK);
}

/* The answer to a commit: every item the same, every Run inserted. */
static void answer_commit(struct bench *b, enum belfry_status result)
{
	struct belfry_advance *a = b->orders.advance;

	assert_non_null(a);
	a->now = b->store_now;
	a->fence = 77;
	for (size_t i = 0; i < a->item_count; i++) {
		a->items[i].result = result;
		for (size_t k = 0; result == BELFRY_OK && k < a->items[i].run_count; k++) {
			a->items[i].runs[k].is_inserted = true;
		}
	}
	done(b, BELFRY_OK);
}

/* Covered since nine, with a due pass under way. */
static void begin_pass(struct bench *b)
{
	cover(b, 1, at_time(9, 0, 0));
	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_DUE);
}

static void post(struct bench *b, struct bf_plan_request *request)
{
	step(b, (struct bf_planner_event){.kind = BF_PLANNER_REQUEST, .request = request});
}

static struct bf_plan_request put_of(const struct bench *b, const char *id, int64_t revision,
		uint32_t flags, const struct bf_buf *definition)
{
	return (struct bf_plan_request){.schedule = bf_str(id),
			.revision = revision,
			.put = {.revision = revision,
					.flags = flags,
					.definition = bf_buf_str(definition),
					.payload = BF_STR("p")},
			.deadline = bf_boot_add(b->now, 10 * BELFRY_SECOND),
			.is_open = true};
}

static bool is_done(const struct bench *b, const struct bf_plan_request *request)
{
	return request->link.list == &b->done;
}

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

/* ---- requests ---------------------------------------------------------------------------------- */

static void b03_a_put_settles_the_old_revision_and_begins_strictly_after(void **state)
{
	struct bench *b = *state;
	struct bf_buf daily = definition_of("0 12 * * *", NULL);
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(9, 59, 0))};
	struct bf_plan_request request = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED, &daily);

	begin_pass(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	post(b, &request);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_SCHEDULES);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_false(b->orders.advance->is_plan);
	assert_int_equal(item->run_count, 2); /* owed under the old one, 9:59 and 10:00 */
	assert_non_null(item->put);
	assert_true(item->cursor == at_time(12, 0, 0));
	assert_false(is_done(b, &request));
	answer_commit(b, BELFRY_OK);
	assert_true(is_done(b, &request));
	assert_int_equal(request.status, BELFRY_OK);
	bf_buf_fini(&daily);
}

static void a_lower_or_equal_revision_changes_nothing(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 5, 0))};
	struct bf_plan_request request = put_of(b, "a", 1, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);

	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_null(b->orders.advance);
	assert_true(is_done(b, &request));
	assert_int_equal(request.status, BELFRY_OK);
}

static void t087_a_removal_of_what_is_not_there_succeeds(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row tombstone = {.id = BF_STR("b"),
			.revision = 1,
			.is_removed = true,
			.cursor = BELFRY_TIME_NEVER};
	struct bf_plan_request a = {.schedule = BF_STR("a"), .revision = 2, .is_remove = true};
	struct bf_plan_request c = {.schedule = BF_STR("b"), .revision = 2, .is_remove = true};

	a.deadline = c.deadline = bf_boot_add(b->now, BELFRY_SECOND);
	step(b,
			(struct bf_planner_event){.kind = BF_PLANNER_REQUEST,
					.request = &a,
					.has_more = true});
	assert_null(b->orders.list); /* more is waiting: one read for both */
	post(b, &c);
	assert_int_equal(b->orders.list->id_count, 2);
	answer_rows(b, &tombstone, 1, BELFRY_TIME_NEVER);
	/* Each leaves a tombstone of its revision, which an older put cannot pass. */
	assert_int_equal(b->orders.advance->item_count, 2);
	for (size_t i = 0; i < 2; i++) {
		assert_true(b->orders.advance->items[i].flags & BELFRY_ADVANCE_F_REMOVE);
		assert_int_equal(b->orders.advance->items[i].remove_revision, 2);
		assert_true(b->orders.advance->items[i].expect_version == 0);
	}
	answer_commit(b, BELFRY_OK);
	assert_true(is_done(b, &a) && is_done(b, &c));
	assert_int_equal(a.status, BELFRY_OK);
}

static void t006_enabling_writes_what_passed_under_the_disable(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", BELFRY_TIME_NEVER)};
	struct bf_plan_request request = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);

	rows[0].flags = 0;
	rows[0].idle_since = at_time(9, 30, 0);
	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 0);
	assert_int_equal(item->gap_count, 1);
	assert_int_equal(item->gaps[0].reason, BELFRY_GAP_DISABLED);
	assert_true(item->gaps[0].from == at_time(9, 31, 0));
	assert_true(item->gaps[0].to == at_time(10, 0, 0));
	assert_true(item->gaps[0].count == 30);
	assert_true(item->cursor == at_time(10, 1, 0));
	answer_commit(b, BELFRY_OK);
	assert_int_equal(bf_planner_counts(b->planner)->due_disabled, 30);
	assert_int_equal(bf_planner_counts(b->planner)->due_missed, 0);
}

static void t045_a_disable_ends_what_has_not_started_and_starts_nothing(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 0, 0))};
	struct bf_plan_request request = put_of(b, "a", 2, 0, &b->definition);

	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 5);
	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_true((item->flags & BELFRY_ADVANCE_F_END_UNSTARTED) != 0);
	assert_true(item->cursor == BELFRY_TIME_NEVER);
	assert_int_equal(item->run_count, 1);
	assert_int_equal(item->runs[0].state, BELFRY_RUN_QUEUED); /* not born claimed */
}

static void a_put_clears_a_quarantine_and_leaves_its_ledger(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", BELFRY_TIME_NEVER)};
	struct bf_plan_request request = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);

	rows[0].definition = BF_STR("\x01noise");
	rows[0].phase = BELFRY_PHASE_QUARANTINED;
	rows[0].idle_since = at_time(9, 0, 0);
	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->phase, BELFRY_PHASE_ACTIVE);
	assert_int_equal(item->gap_count, 1);
	assert_int_equal(item->gaps[0].reason, BELFRY_GAP_QUARANTINED);
	assert_true(item->cursor == at_time(10, 1, 0));
}

static void a_refused_revision_that_comes_again_with_other_words_means_them(void **state)
{
	struct bench *b = *state;
	struct bf_buf daily = definition_of("0 12 * * *", NULL);
	struct bf_plan_request first = put_of(b, "a", 1, BELFRY_SCHEDULE_F_ENABLED, &daily);
	struct bf_plan_request again = put_of(b, "a", 1, BELFRY_SCHEDULE_F_ENABLED, &b->definition);

	post(b, &first);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_CAPACITY);
	assert_true(is_done(b, &first));
	assert_int_equal(first.status, BELFRY_CAPACITY);
	post(b, &again);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	assert_true(b->orders.advance->items[0].cursor == at_time(10, 1, 0));
	bf_buf_fini(&daily);
}

static void a_request_that_conflicts_for_ever_is_answered(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(11, 0, 0))};
	struct bf_plan_request request = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);
	int rounds = 0;

	request.deadline = bf_boot_add(b->now, BELFRY_HOUR);
	post(b, &request);
	while (!is_done(b, &request) && rounds++ < 1000) {
		answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
		answer_commit(b, BELFRY_CONFLICT);
		if (!is_done(b, &request)) {
			assert_null(b->orders.list);
			pass_time(b, 50 * BELFRY_MILLISECOND);
			wake(b);
		}
	}
	assert_true(is_done(b, &request));
	assert_int_equal(request.status, BELFRY_BUSY);
	assert_int_equal(rounds, 100);
}

static void t065_an_outage_answers_who_waits_and_the_deadline_answers_the_rest(void **state)
{
	struct bench *b = *state;
	struct bf_plan_request first = put_of(b, "a", 1, BELFRY_SCHEDULE_F_ENABLED, &b->definition);
	struct bf_plan_request second = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED,
			&b->definition);

	post(b, &first);
	post(b, &second); /* the same schedule: not in the same commit */
	done(b, BELFRY_UNAVAILABLE);
	assert_true(is_done(b, &first));
	assert_int_equal(first.status, BELFRY_UNAVAILABLE);
	assert_false(is_done(b, &second));
	pass_time(b, 10 * BELFRY_SECOND);
	wake(b);
	assert_true(is_done(b, &second));
	assert_int_equal(second.status, BELFRY_UNAVAILABLE);
}

static void one_request_that_the_store_refuses_spoils_no_other(void **state)
{
	struct bench *b = *state;
	struct bf_plan_request requests[9];
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
	size_t done_count = 0;

	for (size_t i = 0; i < BF_COUNT(requests); i++) {
		requests[i] = put_of(b, names[i], 1, BELFRY_SCHEDULE_F_ENABLED, &b->definition);
		step(b,
				(struct bf_planner_event){.kind = BF_PLANNER_REQUEST,
						.request = &requests[i],
						.has_more = i + 1 < BF_COUNT(requests)});
	}
	for (int turns = 0; turns < 60 && done_count < BF_COUNT(requests); turns++) {
		answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
		struct belfry_advance *a = b->orders.advance;
		bool is_bad = false;
		for (size_t i = 0; i < a->item_count; i++) {
			is_bad = is_bad || bf_str_equal(a->items[i].schedule, BF_STR("e"));
		}
		if (is_bad) {
			done(b, BELFRY_INVALID);
		} else {
			answer_commit(b, BELFRY_OK);
		}
		done_count = b->done.count;
		for (int i = 0; i < 10 && b->orders.list == NULL; i++) {
			pass_time(b, 20 * BELFRY_MILLISECOND);
			wake(b);
		}
	}
	assert_int_equal(done_count, BF_COUNT(requests));
	for (size_t i = 0; i < BF_COUNT(requests); i++) {
		assert_int_equal(requests[i].status, i == 4 ? BELFRY_INVALID : BELFRY_OK);
	}
}

static void many_requests_go_in_bounded_commits(void **state)
{
	struct bench *b = *state;
	static struct bf_plan_request requests[600];
	static char names[600][8];
	int commits = 0;

	for (size_t i = 0; i < BF_COUNT(requests); i++) {
		names[i][0] = 'n';
		names[i][1] = (char)('0' + i / 100);
		names[i][2] = (char)('0' + i / 10 % 10);
		names[i][3] = (char)('0' + i % 10);
		requests[i] = put_of(b, names[i], 1, BELFRY_SCHEDULE_F_ENABLED, &b->definition);
		step(b,
				(struct bf_planner_event){.kind = BF_PLANNER_REQUEST,
						.request = &requests[i],
						.has_more = i + 1 < BF_COUNT(requests)});
	}
	while (b->done.count < BF_COUNT(requests) && commits < 10) {
		answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
		assert_in_range(b->orders.advance->item_count, 1, 256);
		answer_commit(b, BELFRY_OK);
		commits++;
	}
	assert_int_equal(commits, 3);
}

static void a_partly_settled_put_comes_again_until_it_is_whole(void **state)
{
	struct bench *b = *state;
	struct bf_buf seconds = definition_of("* * * * * *", NULL);
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(9, 10, 0))};
	struct bf_plan_request request = put_of(b, "a", 2, 0, &b->definition);
	int commits = 0;

	rows[0].definition = bf_buf_str(&seconds);
	cover(b, 1, at_time(9, 0, 0));
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	post(b, &request);
	while (!is_done(b, &request) && commits < 10) {
		if (b->orders.list->kind == BELFRY_LIST_DUE) {
			answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
			continue;
		}
		answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
		const struct belfry_advance_item *item = &b->orders.advance->items[0];
		assert_in_range(item->run_count, 0, 2000);
		rows[0].cursor = item->cursor;
		rows[0].version++;
		answer_commit(b, BELFRY_OK);
		commits++;
	}
	assert_true(is_done(b, &request));
	assert_int_equal(commits, 2); /* 3001 Runs in parts of 2000 */
	bf_buf_fini(&seconds);
}

static void requests_and_passes_take_turns(void **state)
{
	struct bench *b = *state;
	struct bf_plan_request requests[3];
	int passes = 0;

	begin_pass(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	for (int i = 0; i < 3; i++) {
		/* The same schedule each: three commits. */
		requests[i] = put_of(b, "a", i + 1, BELFRY_SCHEDULE_F_ENABLED, &b->definition);
		post(b, &requests[i]);
	}
	for (int i = 0; i < 20 && b->done.count < 3; i++) {
		if (b->orders.list->kind == BELFRY_LIST_DUE) {
			passes++;
			answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
			continue;
		}
		answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
		answer_commit(b, BELFRY_OK);
	}
	assert_int_equal(b->done.count, 3);
	assert_in_range(passes, 1, 3);
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

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int run_planner_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(a_new_incarnation_waits_a_moment_for_its_tickets_and_not_longer),
			CASE(l14_what_is_due_first_is_made_first_whichever_row_owes_it),
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
			CASE(b03_a_put_settles_the_old_revision_and_begins_strictly_after),
			CASE(a_lower_or_equal_revision_changes_nothing),
			CASE(t087_a_removal_of_what_is_not_there_succeeds),
			CASE(t006_enabling_writes_what_passed_under_the_disable),
			CASE(t045_a_disable_ends_what_has_not_started_and_starts_nothing),
			CASE(a_put_clears_a_quarantine_and_leaves_its_ledger),
			CASE(a_refused_revision_that_comes_again_with_other_words_means_them),
			CASE(a_request_that_conflicts_for_ever_is_answered),
			CASE(t065_an_outage_answers_who_waits_and_the_deadline_answers_the_rest),
			CASE(one_request_that_the_store_refuses_spoils_no_other),
			CASE(many_requests_go_in_bounded_commits),
			CASE(a_partly_settled_put_comes_again_until_it_is_whole),
			CASE(requests_and_passes_take_turns),
			CASE(after_stop_what_is_under_way_ends_and_nothing_is_planned),
			CASE(after_the_clock_was_set_back_cursors_ahead_come_back),
			CASE(a_page_that_was_not_committed_is_looked_at_again),
			CASE(a_pass_survives_each_failed_allocation),
	};
	return cmocka_run_group_tests_name("planner", tests, NULL, NULL);
}
