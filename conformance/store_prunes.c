/* Forgetting: what either rule keeps stays, open Runs always stay. */
#include "conformance/store_priv.h"

static const struct belfry_id nobody = {{0}};

/* Makes `count` scheduled Runs of "a" that are finished with `status`. */
static void finish_runs(struct belfry_store_trial *trial, int count, enum belfry_run_status status)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (int i = 0; i < count; i++) {
		CHECK(trial,
				bf_suite_plan(trial, "a", bf_suite_due(trial, i), BELFRY_RUN_QUEUED,
						nobody));
	}
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder,
			(uint32_t)count);
	CHECK(trial, claim.run_count == (size_t)count);
	for (size_t i = 0; i < claim.run_count; i++) {
		CHECK(trial, bf_suite_finish_run(trial, &claim.runs[i].run, status) == BELFRY_OK);
	}
}

static struct belfry_prune prune(struct belfry_store_trial *trial, struct belfry_prune ask)
{
	ask.size = sizeof(ask);
	ask.max_rows = ask.max_rows != 0 ? ask.max_rows : 1000;
	CHECK(trial, trial->store->ops->prune(trial->store, &ask, NULL) == BELFRY_OK);
	return ask;
}

static size_t count_runs(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS, .schedule = bf_suite_str("a")};

	bf_suite_list(trial, &list);
	return list.count;
}

static void what_no_rule_keeps_goes(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS, .schedule = bf_suite_str("a")};

	finish_runs(trial, 4, BELFRY_STATUS_COMPLETED);
	struct belfry_prune done = prune(trial, (struct belfry_prune){.keep_runs = 1});
	CHECK(trial, done.removed == 3 && done.is_done);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1);
	CHECK(trial, list.runs[0].due_at == bf_suite_due(trial, 3));
	CHECK(trial, list.history_from > bf_suite_due(trial, 2));
	CHECK(trial, list.history_from <= bf_suite_due(trial, 3));
	CHECK(trial, bf_suite_is(bf_suite_payload(trial, list.runs[0].id), "payload 1"));
}

static void young_runs_stay(struct belfry_store_trial *trial)
{
	finish_runs(trial, 3, BELFRY_STATUS_COMPLETED);
	struct belfry_prune done = prune(trial, (struct belfry_prune){.keep_age = BELFRY_DAY});
	CHECK(trial, done.removed == 0 && done.is_done);
	CHECK(trial, count_runs(trial) == 3);
}

static void failed_runs_stay_longer(struct belfry_store_trial *trial)
{
	finish_runs(trial, 3, BELFRY_STATUS_FAILED);
	(void)prune(trial, (struct belfry_prune){.keep_failed_age = BELFRY_DAY});
	CHECK(trial, count_runs(trial) == 3);
	(void)prune(trial, (struct belfry_prune){0});
	CHECK(trial, count_runs(trial) == 0);
}

static void open_runs_stay(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", holder);

	(void)bf_suite_request(trial, "a", 1);
	struct belfry_prune done = prune(trial, (struct belfry_prune){0});
	CHECK(trial, done.removed == 0);
	CHECK(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_RUNNING) == BELFRY_OK);
	done = prune(trial, (struct belfry_prune){0}); /* dispatched, and not ended yet */
	CHECK(trial, done.removed == 0 && count_runs(trial) == 2);
}

static void the_newest_of_each_deployment_stay(struct belfry_store_trial *trial)
{
	finish_runs(trial, 3, BELFRY_STATUS_COMPLETED);
	(void)bf_suite_put(trial, "b", 1, bf_suite_due(trial, 0));
	CHECK(trial, bf_suite_plan(trial, "b", bf_suite_due(trial, 0), BELFRY_RUN_QUEUED, nobody));
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE,
			bf_suite_incarnation_id(1), 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial,
			bf_suite_finish_run(trial, &claim.runs[0].run, BELFRY_STATUS_COMPLETED) ==
					BELFRY_OK);
	(void)prune(trial, (struct belfry_prune){.keep_runs = 2});
	CHECK(trial, count_runs(trial) == 2);
	CHECK(trial, bf_suite_run(trial, claim.runs[0].run.id).state == BELFRY_RUN_DISPATCHED);
}

static void a_pass_goes_on_where_it_stopped(struct belfry_store_trial *trial)
{
	struct belfry_prune ask = {.max_rows = 2};
	uint64_t removed = 0;
	int calls = 0;

	finish_runs(trial, 5, BELFRY_STATUS_COMPLETED);
	do {
		struct belfry_prune done = prune(trial, ask);
		CHECK(trial, done.removed <= 2);
		removed += done.removed;
		ask.after = done.next;
		ask.is_done = done.is_done;
	} while (!ask.is_done && ++calls < 20);
	CHECK(trial, ask.is_done && removed == 5);
	CHECK(trial, count_runs(trial) == 0);
}

static void a_request_key_goes_with_its_run(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_add add = {.schedule = bf_suite_str("a"),
			.id = bf_suite_request_id(trial, 1),
			.trigger = BELFRY_TRIGGER_MANUAL,
			.request_key = bf_suite_str("press"),
			.request_hash = 1};

	(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	REQUIRE(trial, bf_suite_add(trial, &add) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial,
			bf_suite_finish_run(trial, &claim.runs[0].run, BELFRY_STATUS_COMPLETED) ==
					BELFRY_OK);
	(void)prune(trial, (struct belfry_prune){0});
	add.id = bf_suite_request_id(trial, 2);
	add.request_hash = 2;
	CHECK(trial, bf_suite_add(trial, &add) == BELFRY_OK && add.is_new);
}

static void an_old_tombstone_goes(struct belfry_store_trial *trial)
{
	struct belfry_schedule_row row;
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER),
			.flags = BELFRY_ADVANCE_F_REMOVE,
			.remove_revision = 2,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	(void)prune(trial, (struct belfry_prune){.keep_tombstones = BELFRY_DAY});
	CHECK(trial, bf_suite_find_row(trial, "a", &row) && row.is_removed);
	if (bf_suite_can_move_clock(trial)) {
		trial->fixture->move_clock(trial->fixture->data, 2 * BELFRY_DAY);
		(void)prune(trial, (struct belfry_prune){.keep_tombstones = BELFRY_DAY});
		CHECK(trial, !bf_suite_find_row(trial, "a", &row));
		(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	}
	trial->is_skipped = false;
}

const struct belfry_store_case bf_suite_prunes[] = {
		{"what_no_rule_keeps_goes", what_no_rule_keeps_goes},
		{"young_runs_stay", young_runs_stay},
		{"failed_runs_stay_longer", failed_runs_stay_longer},
		{"open_runs_stay", open_runs_stay},
		{"the_newest_of_each_deployment_stay", the_newest_of_each_deployment_stay},
		{"a_pass_goes_on_where_it_stopped", a_pass_goes_on_where_it_stopped},
		{"a_request_key_goes_with_its_run", a_request_key_goes_with_its_run},
		{"an_old_tombstone_goes", an_old_tombstone_goes},
		{NULL, NULL},
};
