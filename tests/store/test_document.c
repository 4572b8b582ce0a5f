/* The single-document mode: a crash after any document write, and other replicas in between.
 * Whatever was pushed into a schedule is carried out by whoever touches it next, once. */
#include "support.h"

/* The hook: dies at write number `die_at`; at `act_at` lets another replica act. */
struct hook {
	int writes;
	int die_at;
	int act_at;
	void (*act)(struct test_store *test);
	struct test_store *test;
	bool is_busy;
};

static bool on_step(void *data, const char *step)
{
	struct hook *hook = data;

	assert_non_null(step);
	if (hook->is_busy) {
		return false; /* a write of the other replica */
	}
	hook->writes++;
	if (hook->writes == hook->act_at) {
		hook->is_busy = true;
		hook->act(hook->test);
		hook->is_busy = false;
	}
	return hook->writes == hook->die_at;
}

/* A schedule with one queued Run and an incarnation; the hook is armed last. */
static void begin(struct test_store *test, struct hook *hook)
{
	test_store_init(test, true);
	test_begin(test->store, 1);
	test_begin(test->store, 2);
	test_put(test->store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	test_plan(test->store, "a", 0, 1);
	hook->test = test;
	bf_memory_store_set_step(test->raw, on_step, hook);
}

static void end(struct test_store *test)
{
	bf_memory_store_set_step(test->raw, NULL, NULL);
	test_store_fini(test);
}

/* --- a plan: one queued Run, one born claimed, one gap --- */

static enum belfry_status plan(struct test_store *test, struct belfry_new_run *runs)
{
	struct belfry_gap gap = {.from = test_due(3), .to = test_due(4), .count = 2};
	struct belfry_advance_item item = {.schedule = BF_STR("a"),
			.expect_version = test_version(test->store, "a"),
			.cursor = test_due(5),
			.runs = runs,
			.run_count = 2,
			.gaps = &gap,
			.gap_count = 1};
	struct belfry_advance advance = {.holder = test_incarnation(1),
			.items = &item,
			.item_count = 1};

	for (int i = 0; i < 2; i++) {
		runs[i] = (struct belfry_new_run){.id = test_run_id("a", i + 1),
				.state = i == 0 ? BELFRY_RUN_QUEUED : BELFRY_RUN_DISPATCHING,
				.due_at = test_due(i + 1),
				.ready_at = test_due(i + 1),
				.stands_for = 1};
	}
	enum belfry_status status = bf_store_advance(test->store, &advance, NULL);
	if (status == BELFRY_OK) {
		assert_int_equal(item.result, BELFRY_OK);
	}
	return status;
}

static void check_planned(struct test_store *test)
{
	struct belfry_list gaps = {.kind = BELFRY_LIST_GAPS, .schedule = BF_STR("a")};
	struct belfry_list runs = {.kind = BELFRY_LIST_RUNS, .schedule = BF_STR("a")};
	struct belfry_str id = BF_STR("a");
	struct belfry_list rows = {.kind = BELFRY_LIST_SCHEDULES, .ids = &id, .id_count = 1};

	assert_int_equal(bf_store_list(test->store, &rows, &test->arena, NULL), BELFRY_OK);
	assert_int_equal(rows.rows[0].cursor, test_due(5));
	assert_int_equal(rows.rows[0].fired_count, 3);
	assert_int_equal(bf_store_list(test->store, &runs, &test->arena, NULL), BELFRY_OK);
	assert_int_equal(runs.count, 3);
	assert_int_equal(bf_store_list(test->store, &gaps, &test->arena, NULL), BELFRY_OK);
	assert_int_equal(gaps.count, 1);
}

static void a_crash_in_a_plan_loses_and_doubles_nothing(void **state)
{
	int die_at = 1;

	(void)state;
	for (enum belfry_status status = BELFRY_UNKNOWN; status != BELFRY_OK; die_at++) {
		struct hook hook = {.die_at = die_at};
		struct test_store test;
		struct belfry_new_run runs[2];

		begin(&test, &hook);
		status = plan(&test, runs);
		assert_int_equal(status, hook.writes >= die_at ? BELFRY_UNKNOWN : BELFRY_OK);
		bf_memory_store_set_step(test.raw, NULL, NULL);
		struct belfry_claim owned = {.kind = BELFRY_CLAIM_OWNED,
				.holder = test_incarnation(1),
				.max_runs = 9,
				.max_bytes = 1000};
		assert_int_equal(bf_store_claim_runs(test.store, &owned, &test.arena, NULL),
				BELFRY_OK);
		/* Pushed is born: its holder finds it, though the answer was lost. */
		assert_int_equal(owned.run_count, 1);
		check_planned(&test);
		end(&test);
	}
	assert_in_range(die_at, 6, 12);
}

static void list_due(struct test_store *test)
{
	struct belfry_list list = {.kind = BELFRY_LIST_DUE};

	assert_int_equal(bf_store_list(test->store, &list, &test->arena, NULL), BELFRY_OK);
}

static void claim_queue(struct test_store *test)
{
	struct belfry_claim claim = {.kind = BELFRY_CLAIM_QUEUE,
			.holder = test_incarnation(2),
			.max_runs = 9,
			.max_bytes = 1000};

	assert_int_equal(bf_store_claim_runs(test->store, &claim, &test->arena, NULL), BELFRY_OK);
}

static void plan_again(struct test_store *test)
{
	struct belfry_advance_item item = {.schedule = BF_STR("a"),
			.expect_version = test_version(test->store, "a"),
			.cursor = test_due(5)};
	struct belfry_advance advance = {.items = &item, .item_count = 1};

	assert_int_equal(bf_store_advance(test->store, &advance, NULL), BELFRY_OK);
}

/* Another replica finishes the push while its owner still works on it: both are content. */
static void anybody_may_finish_a_plan(void **state)
{
	void (*const acts[])(struct test_store *) = {list_due, claim_queue, plan_again};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(acts); i++) {
		for (int act_at = 1;; act_at++) {
			struct hook hook = {.act_at = act_at, .act = acts[i]};
			struct test_store test;
			struct belfry_new_run runs[2];

			begin(&test, &hook);
			assert_int_equal(plan(&test, runs), BELFRY_OK);
			assert_true(runs[0].is_inserted && runs[1].is_inserted);
			check_planned(&test);
			end(&test);
			if (hook.writes < act_at) {
				break;
			}
		}
	}
}

/* --- a disable --- */

static enum belfry_status disable(struct test_store *test)
{
	struct belfry_new_run run = {.id = test_run_id("a", 1),
			.due_at = test_due(1),
			.ready_at = test_due(1),
			.stands_for = 1};
	struct belfry_schedule_put put = {.revision = 2};
	struct belfry_advance_item item = {.schedule = BF_STR("a"),
			.expect_version = test_version(test->store, "a"),
			.flags = BELFRY_ADVANCE_F_END_UNSTARTED,
			.put = &put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = NOW,
			.runs = &run,
			.run_count = 1};
	struct belfry_advance advance = {.items = &item, .item_count = 1};
	enum belfry_status status = bf_store_advance(test->store, &advance, NULL);

	assert_true(status != BELFRY_OK || item.result == BELFRY_OK);
	return status;
}

static void t045_a_crash_in_a_disable_lets_nothing_start(void **state)
{
	int die_at = 1;

	(void)state;
	for (enum belfry_status status = BELFRY_UNKNOWN; status != BELFRY_OK; die_at++) {
		struct hook hook = {.die_at = die_at};
		struct test_store test;

		begin(&test, &hook);
		status = disable(&test);
		bf_memory_store_set_step(test.raw, NULL, NULL);
		claim_queue(&test);
		for (int i = 0; i < 2; i++) {
			struct belfry_run run = test_run(&test, test_run_id("a", i));
			assert_int_equal(run.state, BELFRY_RUN_CANCELLED);
			assert_int_equal(run.error, BELFRY_RUN_ERROR_SCHEDULE_DISABLED);
			assert_int_equal(run.started_at, 0);
		}
		end(&test);
	}
	assert_in_range(die_at, 5, 12);
}

/* Started while the disable was under way, and so before it answered: it goes on. */
static void t046_what_starts_during_a_disable_goes_on(void **state)
{
	(void)state;
	for (int act_at = 1;; act_at++) {
		struct hook hook = {.act_at = act_at, .act = claim_queue};
		struct test_store test;

		begin(&test, &hook);
		assert_int_equal(disable(&test), BELFRY_OK);
		for (int i = 0; i < 2; i++) {
			struct belfry_run run = test_run(&test, test_run_id("a", i));
			assert_int_equal(run.state == BELFRY_RUN_CANCELLED, run.started_at == 0);
			assert_int_not_equal(run.state, BELFRY_RUN_QUEUED);
		}
		end(&test);
		if (hook.writes < act_at) {
			return;
		}
	}
}

static void an_enable_waits_for_the_disable_before_it(void **state)
{
	struct hook hook = {.die_at = 1};
	struct test_store test;

	(void)state;
	begin(&test, &hook);
	assert_int_equal(disable(&test), BELFRY_UNKNOWN);
	bf_memory_store_set_step(test.raw, NULL, NULL);
	test_put(test.store, "a", 3, BELFRY_SCHEDULE_F_ENABLED);
	test_plan(test.store, "a", 2, 1);
	assert_int_equal(test_run(&test, test_run_id("a", 0)).state, BELFRY_RUN_CANCELLED);
	assert_int_equal(test_run(&test, test_run_id("a", 1)).state, BELFRY_RUN_CANCELLED);
	assert_int_equal(test_run(&test, test_run_id("a", 2)).state, BELFRY_RUN_QUEUED);
	end(&test);
}

/* --- claims, records, requests: each row commits alone --- */

static void a_crash_in_a_claim_is_found_by_asking(void **state)
{
	struct hook hook = {.die_at = 2};
	struct test_store test;
	struct belfry_claim claim = {.kind = BELFRY_CLAIM_QUEUE,
			.holder = test_incarnation(1),
			.max_runs = 9,
			.max_bytes = 1000};

	(void)state;
	begin(&test, &(struct hook){0});
	bf_memory_store_set_step(test.raw, NULL, NULL);
	test_plan(test.store, "a", 1, 4);
	bf_memory_store_set_step(test.raw, on_step, &hook);
	assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL),
			BELFRY_UNKNOWN);
	assert_int_equal(claim.run_count, 0);
	bf_memory_store_set_step(test.raw, NULL, NULL);
	claim.kind = BELFRY_CLAIM_OWNED;
	assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL), BELFRY_OK);
	assert_int_equal(claim.run_count, 2);
	claim.kind = BELFRY_CLAIM_QUEUE;
	assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL), BELFRY_OK);
	assert_int_equal(claim.run_count, 3);
	end(&test);
}

/* Another claimer comes between the choice and the conditional write. */
static void t033_two_claims_that_interleave_share_nothing(void **state)
{
	(void)state;
	for (int act_at = 1; act_at <= 5; act_at++) {
		struct hook hook = {.act_at = act_at, .act = claim_queue};
		struct test_store test;
		struct belfry_claim claim = {.kind = BELFRY_CLAIM_QUEUE,
				.holder = test_incarnation(1),
				.max_runs = 9,
				.max_bytes = 1000};

		begin(&test, &(struct hook){0});
		bf_memory_store_set_step(test.raw, NULL, NULL);
		test_plan(test.store, "a", 1, 4);
		hook.test = &test;
		bf_memory_store_set_step(test.raw, on_step, &hook);
		assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL),
				BELFRY_OK);
		assert_int_equal(claim.run_count, act_at);
		bf_memory_store_set_step(test.raw, NULL, NULL);
		claim.kind = BELFRY_CLAIM_OWNED;
		assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL),
				BELFRY_OK);
		assert_int_equal(claim.run_count, act_at);
		claim.holder = test_incarnation(2);
		assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL),
				BELFRY_OK);
		assert_int_equal(claim.run_count, 5 - act_at);
		end(&test);
	}
}

static void a_pause_of_everything_survives_a_crash(void **state)
{
	struct hook hook = {.die_at = 1};
	struct test_store test;

	(void)state;
	begin(&test, &hook);
	assert_int_equal(bf_store_turn_switch(test.store, false, NULL), BELFRY_UNKNOWN);
	bf_memory_store_set_step(test.raw, NULL, NULL);
	assert_int_equal(bf_store_turn_switch(test.store, false, NULL), BELFRY_OK);
	assert_int_equal(test_run(&test, test_run_id("a", 0)).state, BELFRY_RUN_CANCELLED);
	end(&test);
}

int test_document_mode(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_crash_in_a_plan_loses_and_doubles_nothing),
			cmocka_unit_test(anybody_may_finish_a_plan),
			cmocka_unit_test(t045_a_crash_in_a_disable_lets_nothing_start),
			cmocka_unit_test(t046_what_starts_during_a_disable_goes_on),
			cmocka_unit_test(an_enable_waits_for_the_disable_before_it),
			cmocka_unit_test(a_crash_in_a_claim_is_found_by_asking),
			cmocka_unit_test(t033_two_claims_that_interleave_share_nothing),
			cmocka_unit_test(a_pause_of_everything_survives_a_crash),
	};

	return cmocka_run_group_tests_name("single-document mode", tests, NULL, NULL);
}
