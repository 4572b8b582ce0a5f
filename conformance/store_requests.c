/* Runs on request: Run now, replay, backfill, and the request key. */
#include "conformance/store_priv.h"

static const struct belfry_id nobody = {{0}};

static struct belfry_add manual(struct belfry_store_trial *trial, unsigned n)
{
	return (struct belfry_add){.schedule = bf_suite_str("a"),
			.id = bf_suite_request_id(trial, n),
			.trigger = BELFRY_TRIGGER_MANUAL,
			.tz_version = bf_suite_str("2026a")};
}

static void t057_a_run_now_has_no_due_time(struct belfry_store_trial *trial)
{
	(void)bf_suite_put(trial, "a", 2, bf_suite_due(trial, 0));
	struct belfry_run run = bf_suite_run(trial, bf_suite_request(trial, "a", 1));
	CHECK(trial, run.trigger == BELFRY_TRIGGER_MANUAL);
	CHECK(trial, run.state == BELFRY_RUN_QUEUED && run.status == BELFRY_STATUS_QUEUED);
	CHECK(trial, run.due_at == 0);
	CHECK(trial, run.revision == 2);
	CHECK(trial, run.ready_at >= trial->start && run.ready_at == run.created_at);
	CHECK(trial, run.stands_for == 1 && run.attempt == 0 && bf_suite_is_zero(run.holder));
	CHECK(trial, bf_suite_is(run.schedule, "a"));
}

static void t051_a_request_that_answered_outlives_a_restart(struct belfry_store_trial *trial)
{
	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	struct belfry_id id = bf_suite_request(trial, "a", 1);
	REQUIRE(trial, bf_suite_reopen(trial));
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 9);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, bf_suite_same_id(claim.runs[0].run.id, id));
}

static void t052_a_run_now_moves_no_cursor(struct belfry_store_trial *trial)
{
	uint64_t version = bf_suite_put(trial, "a", 1, bf_suite_due(trial, 7));

	(void)bf_suite_request(trial, "a", 1);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.cursor == bf_suite_due(trial, 7));
	CHECK(trial, row.version == version);
	CHECK(trial, row.fired_count == 0 && row.last_fire_at == 0);
}

static void t056_two_requests_make_two_runs(struct belfry_store_trial *trial)
{
	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	(void)bf_suite_request(trial, "a", 1);
	(void)bf_suite_request(trial, "a", 2);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_QUEUED] == 2);
}

static void t023_a_run_now_at_a_due_time_is_a_second_run(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);

	(void)bf_suite_put(trial, "a", 1, due);
	CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	(void)bf_suite_request(trial, "a", 1);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_QUEUED] == 2);
}

static void t047_a_disabled_schedule_runs_on_request(struct belfry_store_trial *trial)
{
	REQUIRE(trial, bf_suite_put_flags(trial, "a", 1, 0, 0, BELFRY_TIME_NEVER) != 0);
	struct belfry_id id = bf_suite_request(trial, "a", 1);
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 9);
	CHECK(trial, claim.run_count == 1 && bf_suite_same_id(claim.runs[0].run.id, id));
}

static void t053_a_replay_has_the_old_payload(struct belfry_store_trial *trial)
{
	struct belfry_add add = manual(trial, 2);

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	struct belfry_id source = bf_suite_request(trial, "a", 1);
	(void)bf_suite_put(trial, "a", 2, bf_suite_due(trial, 0));
	add.trigger = BELFRY_TRIGGER_REPLAY;
	add.replayed_from = source;
	add.revision = 1;
	REQUIRE(trial, bf_suite_add(trial, &add) == BELFRY_OK);
	struct belfry_run run = bf_suite_run(trial, add.id);
	CHECK(trial, run.trigger == BELFRY_TRIGGER_REPLAY && run.due_at == 0);
	CHECK(trial, bf_suite_same_id(run.replayed_from, source));
	CHECK(trial, run.revision == 1);
	CHECK(trial, bf_suite_is(bf_suite_payload(trial, add.id), "payload 1"));
	CHECK(trial,
			bf_suite_is(bf_suite_payload(trial, bf_suite_request(trial, "a", 3)),
					"payload 2"));
}

static void b05_a_backfill_leaves_what_is_there(struct belfry_store_trial *trial)
{
	belfry_time there = bf_suite_due(trial, 0);
	belfry_time missing = bf_suite_due(trial, 1);
	struct belfry_add adds[2] = {manual(trial, 0), manual(trial, 0)};

	(void)bf_suite_put(trial, "a", 1, there);
	CHECK(trial, bf_suite_plan(trial, "a", there, BELFRY_RUN_QUEUED, nobody));
	for (int i = 0; i < 2; i++) {
		adds[i].trigger = BELFRY_TRIGGER_BACKFILL;
		adds[i].due_at = i == 0 ? there : missing;
		adds[i].id = bf_suite_run_id("a", adds[i].due_at);
	}
	REQUIRE(trial, trial->store->ops->add_runs(trial->store, adds, 2, NULL) == BELFRY_OK);
	CHECK(trial, adds[0].result == BELFRY_CONFLICT);
	CHECK(trial, adds[1].result == BELFRY_OK && adds[1].is_new);
	CHECK(trial, bf_suite_run(trial, adds[0].id).trigger == BELFRY_TRIGGER_SCHEDULE);
	struct belfry_run run = bf_suite_run(trial, adds[1].id);
	CHECK(trial, run.trigger == BELFRY_TRIGGER_BACKFILL && run.due_at == missing);
}

static void a_later_ready_time_is_kept(struct belfry_store_trial *trial)
{
	struct belfry_add add = manual(trial, 1);

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	add.ready_at = trial->start + BELFRY_HOUR;
	REQUIRE(trial, bf_suite_add(trial, &add) == BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, add.id).ready_at == add.ready_at);
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 9);
	CHECK(trial, claim.run_count == 0 && claim.is_short);
	CHECK(trial, claim.next_ready == add.ready_at);
}

static void what_is_not_there_cannot_run(struct belfry_store_trial *trial)
{
	struct belfry_add add = manual(trial, 1);
	struct belfry_run run;

	CHECK(trial, bf_suite_add(trial, &add) == BELFRY_NOT_FOUND);
	uint64_t version = bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	add.revision = 9;
	CHECK(trial, bf_suite_add(trial, &add) == BELFRY_NOT_FOUND);
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = version,
			.flags = BELFRY_ADVANCE_F_REMOVE,
			.remove_revision = 2,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start};
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	for (add.revision = 0; add.revision <= 2; add.revision++) {
		CHECK(trial, bf_suite_add(trial, &add) == BELFRY_NOT_FOUND);
	}
	CHECK(trial, !bf_suite_find_run(trial, add.id, &run));
}

static void one_id_makes_one_run(struct belfry_store_trial *trial)
{
	struct belfry_add add = manual(trial, 1);

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	REQUIRE(trial, bf_suite_add(trial, &add) == BELFRY_OK);
	CHECK(trial, bf_suite_add(trial, &add) == BELFRY_CONFLICT);
}

static void a_request_key_makes_one_run(struct belfry_store_trial *trial)
{
	struct belfry_add first = manual(trial, 1);
	struct belfry_add again = manual(trial, 2);

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	first.request_key = again.request_key = bf_suite_str("press-1");
	first.request_hash = again.request_hash = UINT64_C(0xf0f1f2f3f4f5f6f7);
	REQUIRE(trial, bf_suite_add(trial, &first) == BELFRY_OK && first.is_new);
	CHECK(trial, bf_suite_add(trial, &again) == BELFRY_OK);
	CHECK(trial, !again.is_new);
	CHECK(trial, bf_suite_same_id(again.existing, first.id));
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_QUEUED] == 1);
}

static void a_request_key_belongs_to_one_request(struct belfry_store_trial *trial)
{
	struct belfry_add first = manual(trial, 1);
	struct belfry_add other = manual(trial, 2);
	struct belfry_add elsewhere = manual(trial, 3);

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	(void)bf_suite_put(trial, "b", 1, bf_suite_due(trial, 0));
	first.request_key = other.request_key = elsewhere.request_key = bf_suite_str("press-1");
	first.request_hash = 1;
	other.request_hash = 2;
	elsewhere.request_hash = 2;
	elsewhere.schedule = bf_suite_str("b");
	REQUIRE(trial, bf_suite_add(trial, &first) == BELFRY_OK);
	CHECK(trial, bf_suite_add(trial, &other) == BELFRY_KEY_REUSED);
	CHECK(trial, bf_suite_add(trial, &elsewhere) == BELFRY_OK && elsewhere.is_new);
}

static void one_refused_request_stops_no_other(struct belfry_store_trial *trial)
{
	struct belfry_add adds[2] = {manual(trial, 1), manual(trial, 2)};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	adds[0].schedule = bf_suite_str("unknown");
	REQUIRE(trial, trial->store->ops->add_runs(trial->store, adds, 2, NULL) == BELFRY_OK);
	CHECK(trial, adds[0].result == BELFRY_NOT_FOUND);
	CHECK(trial, adds[1].result == BELFRY_OK && adds[1].is_new);
}

const struct belfry_store_case bf_suite_requests[] = {
		{"t057_a_run_now_has_no_due_time", t057_a_run_now_has_no_due_time},
		{"t051_a_request_that_answered_outlives_a_restart",
				t051_a_request_that_answered_outlives_a_restart},
		{"t052_a_run_now_moves_no_cursor", t052_a_run_now_moves_no_cursor},
		{"t056_two_requests_make_two_runs", t056_two_requests_make_two_runs},
		{"t023_a_run_now_at_a_due_time_is_a_second_run",
				t023_a_run_now_at_a_due_time_is_a_second_run},
		{"t047_a_disabled_schedule_runs_on_request",
				t047_a_disabled_schedule_runs_on_request},
		{"t053_a_replay_has_the_old_payload", t053_a_replay_has_the_old_payload},
		{"b05_a_backfill_leaves_what_is_there", b05_a_backfill_leaves_what_is_there},
		{"a_later_ready_time_is_kept", a_later_ready_time_is_kept},
		{"what_is_not_there_cannot_run", what_is_not_there_cannot_run},
		{"one_id_makes_one_run", one_id_makes_one_run},
		{"a_request_key_makes_one_run", a_request_key_makes_one_run},
		{"a_request_key_belongs_to_one_request", a_request_key_belongs_to_one_request},
		{"one_refused_request_stops_no_other", one_refused_request_stops_no_other},
		{NULL, NULL},
};
