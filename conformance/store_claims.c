/* Claiming: what is handed out, in which order, with which fence; taking over; finding one's
 * own. */
#include "conformance/store_priv.h"

static const struct belfry_id nobody = {{0}};

/* Queues `count` Runs of "a", due one second apart. */
static void queue_runs(struct belfry_store_trial *trial, int count)
{
	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (int i = 0; i < count; i++) {
		CHECK(trial,
				bf_suite_plan(trial, "a", bf_suite_due(trial, i), BELFRY_RUN_QUEUED,
						nobody));
	}
}

static void a_claim_gives_a_holder_and_a_fence(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);

	queue_runs(trial, 1);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 5);
	REQUIRE(trial, claim.run_count == 1);
	const struct belfry_claimed *got = &claim.runs[0];
	CHECK(trial, got->run.state == BELFRY_RUN_DISPATCHING);
	CHECK(trial, got->run.status == BELFRY_STATUS_RUNNING);
	CHECK(trial, bf_suite_same_id(got->run.holder, holder));
	CHECK(trial, got->run.fence >= (belfry_fence)trial->start);
	CHECK(trial, got->run.attempt == 1 && got->run.takeovers == 0);
	CHECK(trial, got->run.started_at == claim.now);
	CHECK(trial, bf_suite_is(got->run.schedule, "a"));
	CHECK(trial, bf_suite_is(got->definition, "definition 1"));
	CHECK(trial, got->payload_bytes == strlen("payload 1"));
	struct belfry_run stored = bf_suite_run(trial, got->run.id);
	CHECK(trial, stored.fence == got->run.fence && stored.attempt == 1);
	CHECK(trial, stored.started_at == got->run.started_at);
	CHECK(trial, stored.state == BELFRY_RUN_DISPATCHING);
}

static void t033_no_run_is_claimed_twice(struct belfry_store_trial *trial)
{
	struct belfry_id a = bf_suite_begin_incarnation(trial, 1);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);

	queue_runs(trial, 2);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, a, 9).run_count == 2);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, b, 9).run_count == 0);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, a, 9).run_count == 0);
}

static void l14_the_oldest_ready_is_claimed_first(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);

	queue_runs(trial, 5);
	struct belfry_claim first = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 2);
	REQUIRE(trial, first.run_count == 2);
	CHECK(trial, first.runs[0].run.due_at == bf_suite_due(trial, 0));
	CHECK(trial, first.runs[1].run.due_at == bf_suite_due(trial, 1));
	CHECK(trial, !first.is_short);
	struct belfry_claim rest = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 9);
	REQUIRE(trial, rest.run_count == 3);
	CHECK(trial, rest.runs[0].run.due_at == bf_suite_due(trial, 2));
	CHECK(trial, rest.is_short);
	CHECK(trial, rest.next_ready == BELFRY_TIME_NEVER);
}

static void an_empty_queue_answers_short(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 9);

	CHECK(trial, claim.run_count == 0 && claim.is_short);
	CHECK(trial, claim.next_ready == BELFRY_TIME_NEVER);
	CHECK(trial, claim.now >= trial->start);
}

static void payload_bytes_bound_a_claim(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_claim claim = {.size = sizeof(claim),
			.kind = BELFRY_CLAIM_QUEUE,
			.holder = holder,
			.max_runs = 9,
			.max_bytes = 2 * strlen("payload 1")};
	const struct belfry_store_ops *ops = trial->store->ops;

	queue_runs(trial, 4);
	REQUIRE(trial, ops->claim_runs(trial->store, &claim, &trial->arena, NULL) == BELFRY_OK);
	CHECK(trial, claim.run_count == 2 && !claim.is_short);
	claim.max_bytes = 1; /* the first is returned even past it */
	REQUIRE(trial, ops->claim_runs(trial->store, &claim, &trial->arena, NULL) == BELFRY_OK);
	CHECK(trial, claim.run_count == 1 && !claim.is_short);
	CHECK(trial, claim.runs[0].run.due_at == bf_suite_due(trial, 2));
}

static void one_that_ended_claims_nothing(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);

	queue_runs(trial, 1);
	REQUIRE(trial, bf_suite_declare_dead(trial, holder, 1) == BELFRY_OK);
	CHECK(trial, bf_suite_claim_status(trial, BELFRY_CLAIM_QUEUE, holder) == BELFRY_STALE);
	CHECK(trial, bf_suite_claim_status(trial, BELFRY_CLAIM_TAKEOVER, holder) == BELFRY_STALE);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_QUEUED] == 1);
}

static void a_second_claim_has_a_higher_fence(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", holder);
	struct belfry_record retry = bf_suite_record_of(&run, BELFRY_RECORD_RETRY);

	retry.ready_at = trial->start;
	retry.is_failure = true;
	REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, claim.runs[0].run.fence > run.fence);
	CHECK(trial, claim.runs[0].run.attempt == 2);
	CHECK(trial, claim.runs[0].run.failures == 1);
	CHECK(trial, claim.runs[0].run.started_at == run.started_at);
}

static void b12_a_fence_rises_though_the_clock_went_back(struct belfry_store_trial *trial)
{
	if (!bf_suite_can_move_clock(trial)) {
		return;
	}
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", holder);
	struct belfry_record released = bf_suite_record_of(&run, BELFRY_RECORD_RELEASED);
	REQUIRE(trial, bf_suite_record(trial, &released) == BELFRY_OK);
	trial->fixture->move_clock(trial->fixture->data, -BELFRY_MINUTE);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, claim.runs[0].run.fence == run.fence + 1);
}

static void a_run_is_claimed_once_it_is_ready(struct belfry_store_trial *trial)
{
	if (!bf_suite_can_move_clock(trial)) {
		return;
	}
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", holder);
	struct belfry_record retry = bf_suite_record_of(&run, BELFRY_RECORD_RETRY);
	retry.ready_at = trial->start + BELFRY_MINUTE;
	REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	CHECK(trial, claim.run_count == 0 && claim.next_ready == retry.ready_at);
	trial->fixture->move_clock(trial->fixture->data, BELFRY_MINUTE);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1).run_count == 1);
}

/* --- taking over --- */

static void t037_a_takeover_repeats_the_attempt(struct belfry_store_trial *trial)
{
	struct belfry_id a = bf_suite_begin_incarnation(trial, 1);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", a);
	struct belfry_record session = bf_suite_record_of(&run, BELFRY_RECORD_SESSION);

	session.session = bf_suite_str("s-1");
	REQUIRE(trial, bf_suite_record(trial, &session) == BELFRY_OK);
	REQUIRE(trial, bf_suite_declare_dead(trial, a, 1) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 9);
	REQUIRE(trial, claim.run_count == 1);
	const struct belfry_run *got = &claim.runs[0].run;
	CHECK(trial, bf_suite_same_id(got->id, run.id));
	CHECK(trial, bf_suite_same_id(got->holder, b));
	CHECK(trial, got->fence > run.fence);
	CHECK(trial, got->attempt == run.attempt);
	CHECK(trial, got->takeovers == 1);
	CHECK(trial, got->started_at == run.started_at);
	CHECK(trial, bf_suite_is(got->session, "s-1"));
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 9).run_count == 0);
}

static void t032_a_living_holder_is_not_taken_over(struct belfry_store_trial *trial)
{
	struct belfry_id a = bf_suite_begin_incarnation(trial, 1);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", a);

	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 9).run_count == 0);
	CHECK(trial, bf_suite_run(trial, run.id).takeovers == 0);
}

static void t038_every_ended_holder_is_taken_over(struct belfry_store_trial *trial)
{
	struct belfry_id ids[3];

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (unsigned i = 0; i < 3; i++) {
		ids[i] = bf_suite_begin_incarnation(trial, i + 1);
		CHECK(trial,
				bf_suite_plan(trial, "a", bf_suite_due(trial, (int)i),
						BELFRY_RUN_DISPATCHING, ids[i]));
	}
	REQUIRE(trial, bf_suite_declare_dead(trial, ids[0], 1) == BELFRY_OK);
	REQUIRE(trial, bf_suite_end_incarnation(trial, ids[2]) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, ids[1], 9);
	CHECK(trial, claim.run_count == 2 && claim.is_short);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_OWNED, ids[1], 9).run_count == 3);
}

/* The mark that a holder's beats carry says where its open Runs begin, and hides none of them. */
static void the_low_mark_hides_no_open_run(struct belfry_store_trial *trial)
{
	struct belfry_id a = bf_suite_begin_incarnation(trial, 1);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);
	struct belfry_run first = {0};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (int i = 0; i < 4; i++) {
		CHECK(trial,
				bf_suite_plan(trial, "a", bf_suite_due(trial, i),
						BELFRY_RUN_DISPATCHING, a));
	}
	first = bf_suite_run(trial, bf_suite_run_id("a", bf_suite_due(trial, 0)));
	CHECK(trial, bf_suite_finish_run(trial, &first, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	struct belfry_beat beat = {.kind = BELFRY_BEAT_RENEW,
			.incarnation = a,
			.length = BELFRY_MINUTE,
			.low = bf_suite_run_id("a", bf_suite_due(trial, 1))};
	REQUIRE(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	REQUIRE(trial, bf_suite_declare_dead(trial, a, beat.beat) == BELFRY_OK);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 2).run_count == 2);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 2).run_count == 1);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_OWNED, b, 9).run_count == 3);
}

static void a_takeover_takes_as_many_as_are_asked_for(struct belfry_store_trial *trial)
{
	struct belfry_id a = bf_suite_begin_incarnation(trial, 1);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);

	queue_runs(trial, 3);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, a, 9).run_count == 3);
	REQUIRE(trial, bf_suite_declare_dead(trial, a, 1) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 2);
	CHECK(trial, claim.run_count == 2 && !claim.is_short);
	claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 2);
	CHECK(trial, claim.run_count == 1 && claim.is_short);
}

static void t043_after_a_restart_runs_are_found_again(struct belfry_store_trial *trial)
{
	struct belfry_id a = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", a);
	struct belfry_beat beat;

	REQUIRE(trial, bf_suite_reopen(trial));
	if ((trial->store->ops->caps & BELFRY_STORE_CAP_EXCLUSIVE) == 0) {
		CHECK(trial, bf_suite_declare_dead(trial, a, 1) == BELFRY_OK);
	}
	CHECK(trial, bf_suite_renew(trial, a, &beat) == BELFRY_STALE);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 9);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, bf_suite_same_id(claim.runs[0].run.id, run.id));
}

/* --- one's own --- */

static void what_a_holder_owns_is_read_page_by_page(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_claim page = {.size = sizeof(page),
			.kind = BELFRY_CLAIM_OWNED,
			.holder = holder,
			.max_runs = 2,
			.max_bytes = UINT64_MAX / 2};
	const struct belfry_store_ops *ops = trial->store->ops;

	queue_runs(trial, 3);
	struct belfry_claim all = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 9);
	REQUIRE(trial, all.run_count == 3);
	REQUIRE(trial, ops->claim_runs(trial->store, &page, &trial->arena, NULL) == BELFRY_OK);
	REQUIRE(trial, page.run_count == 2 && !page.is_short);
	CHECK(trial, bf_suite_same_id(page.runs[0].run.id, all.runs[0].run.id));
	CHECK(trial, page.runs[0].run.fence == all.runs[0].run.fence);
	CHECK(trial, page.runs[0].run.attempt == 1 && page.runs[0].run.takeovers == 0);
	CHECK(trial, bf_suite_is(page.runs[0].definition, "definition 1"));
	page.after = page.runs[1].run.id;
	REQUIRE(trial, ops->claim_runs(trial->store, &page, &trial->arena, NULL) == BELFRY_OK);
	REQUIRE(trial, page.run_count == 1 && page.is_short);
	CHECK(trial, bf_suite_same_id(page.runs[0].run.id, all.runs[2].run.id));
}

static void a_holder_owns_no_more_what_it_gave_back(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", holder);

	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_OWNED, holder, 9).run_count == 1);
	REQUIRE(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_RUNNING) == BELFRY_OK);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_OWNED, holder, 9).run_count == 0);
}

static void t060_a_run_keeps_its_revision(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);

	queue_runs(trial, 2);
	struct belfry_claim first = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	REQUIRE(trial, first.run_count == 1);
	(void)bf_suite_put(trial, "a", 22, bf_suite_due(trial, 5));
	CHECK(trial, bf_suite_is(bf_suite_payload(trial, first.runs[0].run.id), "payload 1"));
	struct belfry_claim second = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	REQUIRE(trial, second.run_count == 1);
	CHECK(trial, second.runs[0].run.revision == 1);
	CHECK(trial, bf_suite_is(second.runs[0].definition, "definition 1"));
	CHECK(trial, second.runs[0].payload_bytes == strlen("payload 1"));
	CHECK(trial, bf_suite_is(bf_suite_payload(trial, second.runs[0].run.id), "payload 1"));
	CHECK(trial,
			bf_suite_finish_run(trial, &second.runs[0].run, BELFRY_STATUS_COMPLETED) ==
					BELFRY_OK);
	CHECK(trial, bf_suite_is(bf_suite_payload(trial, second.runs[0].run.id), "payload 1"));
}

const struct belfry_store_case bf_suite_claims[] = {
		{"a_claim_gives_a_holder_and_a_fence", a_claim_gives_a_holder_and_a_fence},
		{"t033_no_run_is_claimed_twice", t033_no_run_is_claimed_twice},
		{"l14_the_oldest_ready_is_claimed_first", l14_the_oldest_ready_is_claimed_first},
		{"an_empty_queue_answers_short", an_empty_queue_answers_short},
		{"payload_bytes_bound_a_claim", payload_bytes_bound_a_claim},
		{"one_that_ended_claims_nothing", one_that_ended_claims_nothing},
		{"t036_a_second_claim_has_a_higher_fence", a_second_claim_has_a_higher_fence},
		{"b12_a_fence_rises_though_the_clock_went_back",
				b12_a_fence_rises_though_the_clock_went_back},
		{"a_run_is_claimed_once_it_is_ready", a_run_is_claimed_once_it_is_ready},
		{"t037_a_takeover_repeats_the_attempt", t037_a_takeover_repeats_the_attempt},
		{"t032_a_living_holder_is_not_taken_over", t032_a_living_holder_is_not_taken_over},
		{"t038_every_ended_holder_is_taken_over", t038_every_ended_holder_is_taken_over},
		{"the_low_mark_hides_no_open_run", the_low_mark_hides_no_open_run},
		{"a_takeover_takes_as_many_as_are_asked_for",
				a_takeover_takes_as_many_as_are_asked_for},
		{"t043_after_a_restart_runs_are_found_again",
				t043_after_a_restart_runs_are_found_again},
		{"what_a_holder_owns_is_read_page_by_page",
				what_a_holder_owns_is_read_page_by_page},
		{"a_holder_owns_no_more_what_it_gave_back",
				a_holder_owns_no_more_what_it_gave_back},
		{"t060_a_run_keeps_its_revision", t060_a_run_keeps_its_revision},
		{NULL, NULL},
};
