/* What is recorded of a Run, by whom, and what is refused. */
#include "conformance/store_priv.h"

static struct belfry_run begin(struct belfry_store_trial *trial)
{
	return bf_suite_claimed_run(trial, "a", bf_suite_begin_incarnation(trial, 1));
}

static enum belfry_status record_session(struct belfry_store_trial *trial,
		const struct belfry_run *run, const char *session)
{
	struct belfry_record record = bf_suite_record_of(run, BELFRY_RECORD_SESSION);

	record.session = bf_suite_str(session);
	return bf_suite_record(trial, &record);
}

static void a_session_is_stored(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_session(trial, &run, "s-1") == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, bf_suite_is(stored.session, "s-1"));
	CHECK(trial, stored.state == BELFRY_RUN_DISPATCHING);
	CHECK(trial, stored.fence == run.fence && stored.attempt == run.attempt);
	CHECK(trial, bf_suite_same_id(stored.holder, run.holder));
}

static void t026_a_stored_session_outlives_a_restart(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_session(trial, &run, "s-1") == BELFRY_OK);
	REQUIRE(trial, bf_suite_reopen(trial));
	CHECK(trial, bf_suite_is(bf_suite_run(trial, run.id).session, "s-1"));
}

static void t033_a_stored_session_is_never_replaced(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_session(trial, &run, "s-1") == BELFRY_OK);
	CHECK(trial, record_session(trial, &run, "s-1") == BELFRY_OK);
	CHECK(trial, record_session(trial, &run, "s-2") == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_is(bf_suite_run(trial, run.id).session, "s-1"));
}

static void t036_a_lower_fence_records_nothing(struct belfry_store_trial *trial)
{
	struct belfry_run old = begin(trial);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);

	REQUIRE(trial, bf_suite_declare_dead(trial, old.holder, 1) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, record_session(trial, &old, "s-old") == BELFRY_STALE);
	CHECK(trial, bf_suite_finish_run(trial, &old, BELFRY_STATUS_COMPLETED) == BELFRY_STALE);
	enum belfry_record_kind kinds[] = {BELFRY_RECORD_RETRY, BELFRY_RECORD_FAILED,
			BELFRY_RECORD_CANCELLED, BELFRY_RECORD_RELEASED};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct belfry_record record = bf_suite_record_of(&old, kinds[i]);
		record.ready_at = trial->start;
		CHECK(trial, bf_suite_record(trial, &record) == BELFRY_STALE);
	}
	struct belfry_run stored = bf_suite_run(trial, old.id);
	CHECK(trial, stored.state == BELFRY_RUN_DISPATCHING && stored.session.len == 0);
	CHECK(trial, record_session(trial, &claim.runs[0].run, "s-new") == BELFRY_OK);
}

static void t036_a_higher_fence_records_nothing_either(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	run.fence++;
	CHECK(trial, record_session(trial, &run, "s-1") == BELFRY_STALE);
	CHECK(trial, bf_suite_run(trial, run.id).session.len == 0);
}

static void a_dead_holder_records_until_it_is_taken_over(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, bf_suite_declare_dead(trial, run.holder, 1) == BELFRY_OK);
	CHECK(trial, record_session(trial, &run, "s-1") == BELFRY_OK);
}

static void t035_a_turn_makes_the_run_dispatched(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record turn = bf_suite_record_of(&run, BELFRY_RECORD_TURN);

	REQUIRE(trial, record_session(trial, &run, "s-1") == BELFRY_OK);
	turn.turn = bf_suite_str("t-1");
	turn.status = BELFRY_STATUS_RUNNING;
	turn.run_flags = BELFRY_RUN_F_OUTPUT_TRUNCATED;
	REQUIRE(trial, bf_suite_record(trial, &turn) == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.state == BELFRY_RUN_DISPATCHED);
	CHECK(trial, stored.status == BELFRY_STATUS_RUNNING);
	CHECK(trial, bf_suite_is(stored.session, "s-1") && bf_suite_is(stored.turn, "t-1"));
	CHECK(trial, stored.dispatched_at >= trial->start && stored.finished_at == 0);
	CHECK(trial, (stored.flags & BELFRY_RUN_F_OUTPUT_TRUNCATED) != 0);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_DISPATCHING] == 0);
	CHECK(trial, bf_suite_record(trial, &turn) != BELFRY_OK);
}

static void a_turn_may_end_the_run_at_once(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record turn = bf_suite_record_of(&run, BELFRY_RECORD_TURN);

	turn.status = BELFRY_STATUS_FAILED;
	turn.error = BELFRY_RUN_ERROR_TARGET_ANSWERED;
	turn.message = bf_suite_str("it answered 500");
	turn.detail = bf_suite_str("body: oops");
	REQUIRE(trial, bf_suite_record(trial, &turn) == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.state == BELFRY_RUN_DISPATCHED);
	CHECK(trial, stored.status == BELFRY_STATUS_FAILED);
	CHECK(trial, stored.finished_at == stored.dispatched_at && stored.finished_at != 0);
	CHECK(trial, stored.error == BELFRY_RUN_ERROR_TARGET_ANSWERED);
	CHECK(trial, bf_suite_is(stored.message, "it answered 500"));
	CHECK(trial, bf_suite_is(stored.detail, "body: oops"));
}

static void t029_a_retry_waits_without_a_holder(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record retry = bf_suite_record_of(&run, BELFRY_RECORD_RETRY);

	retry.ready_at = trial->start + BELFRY_HOUR;
	retry.is_failure = true;
	REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.state == BELFRY_RUN_DELAYED && stored.status == BELFRY_STATUS_QUEUED);
	CHECK(trial, bf_suite_is_zero(stored.holder));
	CHECK(trial, stored.ready_at == retry.ready_at);
	CHECK(trial, stored.failures == 1 && stored.attempt == 1);
	CHECK(trial, stored.fence == run.fence && stored.started_at == run.started_at);
	CHECK(trial, bf_suite_record(trial, &retry) == BELFRY_STALE);
}

static void a_wait_that_was_asked_for_is_no_failure(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record retry = bf_suite_record_of(&run, BELFRY_RECORD_RETRY);

	retry.ready_at = trial->start;
	REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).failures == 0);
}

static void failures_begin_anew_with_the_session(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record retry = bf_suite_record_of(&run, BELFRY_RECORD_RETRY);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);

	retry.ready_at = trial->start;
	retry.is_failure = true;
	REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	REQUIRE(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, run.holder, 1).run_count == 1);
	REQUIRE(trial, bf_suite_declare_dead(trial, run.holder, 1) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, claim.runs[0].run.failures == 1 && claim.runs[0].run.takeovers == 1);
	REQUIRE(trial, record_session(trial, &claim.runs[0].run, "s-1") == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.failures == 0 && stored.takeovers == 0);
}

static void takeovers_begin_anew_with_a_retry(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);

	REQUIRE(trial, bf_suite_declare_dead(trial, run.holder, 1) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, b, 1);
	REQUIRE(trial, claim.run_count == 1);
	struct belfry_record retry = bf_suite_record_of(&claim.runs[0].run, BELFRY_RECORD_RETRY);
	retry.ready_at = trial->start;
	REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).takeovers == 0);
}

static void t028_a_failed_run_keeps_its_session(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record failed = bf_suite_record_of(&run, BELFRY_RECORD_FAILED);

	REQUIRE(trial, record_session(trial, &run, "s-1") == BELFRY_OK);
	failed.error = BELFRY_RUN_ERROR_PERMANENT;
	failed.message = bf_suite_str("no such agent");
	failed.detail = bf_suite_str("404");
	REQUIRE(trial, bf_suite_record(trial, &failed) == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.state == BELFRY_RUN_FAILED && stored.status == BELFRY_STATUS_FAILED);
	CHECK(trial, stored.error == BELFRY_RUN_ERROR_PERMANENT && stored.finished_at != 0);
	CHECK(trial, bf_suite_is(stored.message, "no such agent"));
	CHECK(trial, bf_suite_is(stored.detail, "404"));
	CHECK(trial, bf_suite_is(stored.session, "s-1"));
	CHECK(trial, bf_suite_record(trial, &failed) != BELFRY_OK);
	CHECK(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_COMPLETED) != BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).status == BELFRY_STATUS_FAILED);
}

static void a_cancelled_run_says_why(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record record = bf_suite_record_of(&run, BELFRY_RECORD_CANCELLED);

	record.error = BELFRY_RUN_ERROR_CANCELLED;
	REQUIRE(trial, bf_suite_record(trial, &record) == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.state == BELFRY_RUN_CANCELLED);
	CHECK(trial, stored.status == BELFRY_STATUS_CANCELLED && stored.finished_at != 0);
	CHECK(trial, stored.error == BELFRY_RUN_ERROR_CANCELLED);
}

static void t081_a_run_handed_back_costs_no_attempt(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record released = bf_suite_record_of(&run, BELFRY_RECORD_RELEASED);

	REQUIRE(trial, bf_suite_record(trial, &released) == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.state == BELFRY_RUN_QUEUED && bf_suite_is_zero(stored.holder));
	CHECK(trial, stored.attempt == 0 && stored.failures == 0 && stored.takeovers == 0);
	CHECK(trial, stored.started_at == run.started_at);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, run.holder, 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, claim.runs[0].run.attempt == 1 && claim.runs[0].run.fence > run.fence);
}

/* A Run that was handed back has started: a disable does not end it. */
static void t046_a_run_handed_back_has_started(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record released = bf_suite_record_of(&run, BELFRY_RECORD_RELEASED);

	REQUIRE(trial, bf_suite_record(trial, &released) == BELFRY_OK);
	REQUIRE(trial,
			bf_suite_put_flags(trial, "a", 2, 0, BELFRY_ADVANCE_F_END_UNSTARTED,
					BELFRY_TIME_NEVER) != 0);
	CHECK(trial, bf_suite_run(trial, run.id).state == BELFRY_RUN_QUEUED);
}

/* --- conclusions --- */

static struct belfry_record conclusion(const struct belfry_run *run, enum belfry_run_status status)
{
	struct belfry_record record = bf_suite_record_of(run, BELFRY_RECORD_CONCLUDED);

	record.fence = 0;
	record.status = status;
	return record;
}

static void b19_the_host_concludes_without_a_fence(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record record = conclusion(&run, BELFRY_STATUS_FAILED);

	REQUIRE(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_RUNNING) == BELFRY_OK);
	record.error = BELFRY_RUN_ERROR_TIMEOUT;
	record.message = bf_suite_str("too long");
	REQUIRE(trial, bf_suite_record(trial, &record) == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, stored.state == BELFRY_RUN_DISPATCHED);
	CHECK(trial, stored.status == BELFRY_STATUS_FAILED);
	CHECK(trial, stored.error == BELFRY_RUN_ERROR_TIMEOUT);
	CHECK(trial, bf_suite_is(stored.message, "too long") && stored.finished_at != 0);
}

static void b19_the_first_conclusion_stays(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record first = conclusion(&run, BELFRY_STATUS_COMPLETED);
	struct belfry_record other = conclusion(&run, BELFRY_STATUS_FAILED);

	REQUIRE(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_RUNNING) == BELFRY_OK);
	REQUIRE(trial, bf_suite_record(trial, &first) == BELFRY_OK);
	belfry_time finished_at = bf_suite_run(trial, run.id).finished_at;
	CHECK(trial, bf_suite_record(trial, &other) == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_record(trial, &first) == BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).status == BELFRY_STATUS_COMPLETED);
	CHECK(trial, bf_suite_run(trial, run.id).finished_at == finished_at);
}

static void a_turn_that_ended_the_run_is_its_conclusion(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record other = conclusion(&run, BELFRY_STATUS_FAILED);

	REQUIRE(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	CHECK(trial, bf_suite_record(trial, &other) == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_run(trial, run.id).status == BELFRY_STATUS_COMPLETED);
}

static void what_is_not_dispatched_cannot_be_concluded(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record record = conclusion(&run, BELFRY_STATUS_COMPLETED);

	CHECK(trial, bf_suite_record(trial, &record) == BELFRY_STALE);
	CHECK(trial, bf_suite_run(trial, run.id).status == BELFRY_STATUS_RUNNING);
}

/* --- batches and attempts --- */

static void a_run_that_is_not_there_is_not_found(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	run.id = bf_suite_request_id(trial, 99);
	CHECK(trial, record_session(trial, &run, "s") == BELFRY_NOT_FOUND);
	struct belfry_record record = conclusion(&run, BELFRY_STATUS_COMPLETED);
	CHECK(trial, bf_suite_record(trial, &record) == BELFRY_NOT_FOUND);
}

static void one_refused_record_stops_no_other(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record records[3] = {bf_suite_record_of(&run, BELFRY_RECORD_SESSION),
			bf_suite_record_of(&run, BELFRY_RECORD_SESSION),
			bf_suite_record_of(&run, BELFRY_RECORD_TURN)};

	records[0].fence++;
	records[0].session = bf_suite_str("wrong");
	records[1].session = bf_suite_str("right");
	records[2].status = BELFRY_STATUS_COMPLETED;
	REQUIRE(trial, trial->store->ops->record(trial->store, records, 3, NULL) == BELFRY_OK);
	CHECK(trial, records[0].result == BELFRY_STALE);
	CHECK(trial, records[1].result == BELFRY_OK && records[2].result == BELFRY_OK);
	CHECK(trial, bf_suite_is(bf_suite_run(trial, run.id).session, "right"));
	CHECK(trial, bf_suite_run(trial, run.id).state == BELFRY_RUN_DISPATCHED);
}

static void attempts_are_kept_where_asked_for(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record retry = bf_suite_record_of(&run, BELFRY_RECORD_RETRY);
	struct belfry_list list = {.kind = BELFRY_LIST_ATTEMPTS,
			.run_ids = &run.id,
			.run_id_count = 1};

	retry.step = BELFRY_STEP_SESSION;
	retry.ready_at = trial->start;
	retry.is_failure = true;
	retry.write_attempt = true;
	retry.error = BELFRY_RUN_ERROR_TARGET_UNREACHABLE;
	retry.message = bf_suite_str("refused");
	retry.detail = bf_suite_str("port 1");
	REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	CHECK(trial, bf_suite_record(trial, &retry) == BELFRY_STALE); /* keeps no row */
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, run.holder, 1);
	REQUIRE(trial, claim.run_count == 1);
	struct belfry_record turn = bf_suite_record_of(&claim.runs[0].run, BELFRY_RECORD_TURN);
	turn.status = BELFRY_STATUS_RUNNING;
	turn.write_attempt = true;
	REQUIRE(trial, bf_suite_record(trial, &turn) == BELFRY_OK);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2);
	const struct belfry_attempt *first = &list.attempts[0];
	CHECK(trial, bf_suite_same_id(first->run, run.id) && first->number == 1);
	CHECK(trial, first->step == BELFRY_STEP_SESSION && first->fence == run.fence);
	CHECK(trial, bf_suite_same_id(first->holder, run.holder));
	CHECK(trial, first->started_at == run.started_at && first->ended_at >= trial->start);
	CHECK(trial, first->error == BELFRY_RUN_ERROR_TARGET_UNREACHABLE);
	CHECK(trial, bf_suite_is(first->message, "refused"));
	CHECK(trial, bf_suite_is(first->detail, "port 1"));
	CHECK(trial, list.attempts[1].number == 2 && list.attempts[1].step == BELFRY_STEP_TURN);
	CHECK(trial, list.attempts[1].error == BELFRY_RUN_ERROR_NONE);
}

/* The Run ends because attempts are spent, and the last attempt says what it failed of itself. */
static void an_attempt_may_keep_an_error_of_its_own(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record failed = bf_suite_record_of(&run, BELFRY_RECORD_FAILED);
	struct belfry_list list = {.kind = BELFRY_LIST_ATTEMPTS,
			.run_ids = &run.id,
			.run_id_count = 1};

	failed.write_attempt = true;
	failed.error = BELFRY_RUN_ERROR_RETRIES_SPENT;
	failed.attempt_error = BELFRY_RUN_ERROR_TIMEOUT;
	REQUIRE(trial, bf_suite_record(trial, &failed) == BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).error == BELFRY_RUN_ERROR_RETRIES_SPENT);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1);
	CHECK(trial, list.attempts[0].error == BELFRY_RUN_ERROR_TIMEOUT);
}

/* A target that puts a Run off for a day fills no table. */
static void the_latest_attempts_alone_are_kept(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_list list = {.kind = BELFRY_LIST_ATTEMPTS,
			.run_ids = &run.id,
			.run_id_count = 1};
	const unsigned over = 3;

	for (unsigned i = 1; i <= BELFRY_ATTEMPTS_KEPT + over; i++) {
		struct belfry_record retry = bf_suite_record_of(&run, BELFRY_RECORD_RETRY);
		retry.step = BELFRY_STEP_SESSION;
		retry.ready_at = trial->start;
		retry.write_attempt = true;
		REQUIRE(trial, run.attempt == i);
		REQUIRE(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
		struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, run.holder,
				1);
		REQUIRE(trial, claim.run_count == 1);
		run.fence = claim.runs[0].run.fence;
		run.attempt = claim.runs[0].run.attempt;
	}
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == BELFRY_ATTEMPTS_KEPT);
	CHECK(trial, list.attempts[0].number == over + 1);
	CHECK(trial, list.attempts[list.count - 1].number == BELFRY_ATTEMPTS_KEPT + over);
}

/* After a lost answer the same record comes again. */
static void a_record_again_keeps_one_attempt(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record record = bf_suite_record_of(&run, BELFRY_RECORD_SESSION);
	struct belfry_list list = {.kind = BELFRY_LIST_ATTEMPTS,
			.run_ids = &run.id,
			.run_id_count = 1};

	record.session = bf_suite_str("s-1");
	record.write_attempt = true;
	REQUIRE(trial, bf_suite_record(trial, &record) == BELFRY_OK);
	REQUIRE(trial, bf_suite_record(trial, &record) == BELFRY_OK);
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 1);
}

const struct belfry_store_case bf_suite_records[] = {
		{"an_attempt_may_keep_an_error_of_its_own",
				an_attempt_may_keep_an_error_of_its_own},
		{"t024_a_session_is_stored", a_session_is_stored},
		{"t026_a_stored_session_outlives_a_restart",
				t026_a_stored_session_outlives_a_restart},
		{"t033_a_stored_session_is_never_replaced",
				t033_a_stored_session_is_never_replaced},
		{"t036_a_lower_fence_records_nothing", t036_a_lower_fence_records_nothing},
		{"t036_a_higher_fence_records_nothing_either",
				t036_a_higher_fence_records_nothing_either},
		{"a_dead_holder_records_until_it_is_taken_over",
				a_dead_holder_records_until_it_is_taken_over},
		{"t035_a_turn_makes_the_run_dispatched", t035_a_turn_makes_the_run_dispatched},
		{"a_turn_may_end_the_run_at_once", a_turn_may_end_the_run_at_once},
		{"t029_a_retry_waits_without_a_holder", t029_a_retry_waits_without_a_holder},
		{"a_wait_that_was_asked_for_is_no_failure",
				a_wait_that_was_asked_for_is_no_failure},
		{"failures_begin_anew_with_the_session", failures_begin_anew_with_the_session},
		{"takeovers_begin_anew_with_a_retry", takeovers_begin_anew_with_a_retry},
		{"t028_a_failed_run_keeps_its_session", t028_a_failed_run_keeps_its_session},
		{"a_cancelled_run_says_why", a_cancelled_run_says_why},
		{"t081_a_run_handed_back_costs_no_attempt",
				t081_a_run_handed_back_costs_no_attempt},
		{"t046_a_run_handed_back_has_started", t046_a_run_handed_back_has_started},
		{"b19_the_host_concludes_without_a_fence", b19_the_host_concludes_without_a_fence},
		{"b19_the_first_conclusion_stays", b19_the_first_conclusion_stays},
		{"b19_a_turn_that_ended_the_run_is_its_conclusion",
				a_turn_that_ended_the_run_is_its_conclusion},
		{"what_is_not_dispatched_cannot_be_concluded",
				what_is_not_dispatched_cannot_be_concluded},
		{"a_run_that_is_not_there_is_not_found", a_run_that_is_not_there_is_not_found},
		{"one_refused_record_stops_no_other", one_refused_record_stops_no_other},
		{"attempts_are_kept_where_asked_for", attempts_are_kept_where_asked_for},
		{"the_latest_attempts_alone_are_kept", the_latest_attempts_alone_are_kept},
		{"a_record_again_keeps_one_attempt", a_record_again_keeps_one_attempt},
		{NULL, NULL},
};
