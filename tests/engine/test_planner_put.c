/* What hosts put and remove, through the planner event by event. */
#include "cases.h"

#include "planner_bench.h"

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

static void a_removal_takes_back_the_put_of_its_own_revision(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 5, 0))};
	struct bf_plan_request request = {.schedule = BF_STR("a"),
			.revision = rows[0].revision,
			.is_remove = true,
			.deadline = bf_boot_add(b->now, BELFRY_SECOND)};

	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_true(item->flags & BELFRY_ADVANCE_F_REMOVE);
	assert_int_equal(item->remove_revision, rows[0].revision);
	answer_commit(b, BELFRY_OK);
	assert_true(is_done(b, &request));
	assert_int_equal(request.status, BELFRY_OK);
	assert_int_equal(request.known_revision, 0);
}

static void a_removal_below_the_known_revision_changes_nothing(void **state)
{
	struct bench *b = *state;
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(10, 5, 0))};
	struct bf_plan_request request = {.schedule = BF_STR("a"),
			.revision = 4,
			.is_remove = true,
			.deadline = bf_boot_add(b->now, BELFRY_SECOND)};

	rows[0].revision = 5;
	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_null(b->orders.advance);
	assert_true(is_done(b, &request));
	assert_int_equal(request.status, BELFRY_OK);
	assert_int_equal(request.known_revision, 5);
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

int run_planner_put_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(b03_a_put_settles_the_old_revision_and_begins_strictly_after),
			CASE(a_lower_or_equal_revision_changes_nothing),
			CASE(a_removal_takes_back_the_put_of_its_own_revision),
			CASE(a_removal_below_the_known_revision_changes_nothing),
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
	};
	return cmocka_run_group_tests_name("planner: put", tests, NULL, NULL);
}
