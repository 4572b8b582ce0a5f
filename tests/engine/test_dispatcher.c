/* The dispatcher: from a Run that is ours to its record; retries, losses, stops. */
#include "cases.h"

#include "dispatcher_bench.h"

/* ---- the two steps ----------------------------------------------------------------------------- */

static void t024_session_is_stored_before_the_turn_is_admitted(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	struct bf_token token = open_call(b, owned(1));
	assert_int_equal(token.step, BELFRY_STEP_SESSION);
	answer_call(b, token, session_s);
	assert_int_equal(b->orders.call_count, 0);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_SESSION);
	assert_true(bf_str_equal(b->orders.records[0].session, BF_STR("s-1")));
	answer_records(b, BELFRY_OK); /* its small payload was kept: the turn follows at once */
	assert_null(b->orders.list);
	assert_int_equal(b->orders.call_count, 1);
	assert_int_equal(b->orders.calls[0].token.step, BELFRY_STEP_TURN);
	assert_int_equal(b->orders.calls[0].token.fence, token.fence);
	assert_true(bf_str_equal(b->orders.calls[0].session, BF_STR("s-1")));
	answer_call(b, b->orders.calls[0].token, turn_t);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_TURN);
	assert_int_equal(b->orders.records[0].status, BELFRY_STATUS_RUNNING);
	answer_records(b, BELFRY_OK);
	/* t035: it leaves memory although the agent still works. */
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	assert_int_equal(b->released, 2);
}

static void a_local_session_goes_straight_to_the_turn(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.run_flags = BELFRY_RUN_F_LOCAL_SESSION;
	begin_dispatch(b);
	struct bf_token token = open_call(b, run);
	assert_int_equal(token.step, BELFRY_STEP_TURN);
	assert_int_equal(b->orders.calls[0].session.len, 0);
	struct bf_answer ended = turn_t;
	ended.has_outcome = true;
	ended.status = BELFRY_STATUS_COMPLETED;
	answer_call(b, token, ended);
	assert_int_equal(b->orders.records[0].status, BELFRY_STATUS_COMPLETED);
	answer_records(b, BELFRY_OK);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)
					 ->ended[BELFRY_TRIGGER_SCHEDULE][BELFRY_STATUS_COMPLETED],
			1);
}

static void t027_t028_a_permanent_answer_fails_the_run_with_its_reason(void **state)
{
	struct bench *b = *state;
	struct bf_answer no = {.kind = BF_ANSWER_PERMANENT,
			.error = BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED,
			.message = BF_STR("not allowed")};

	begin_dispatch(b);
	answer_call(b, open_call(b, owned(1)), no);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED);
	assert_true(b->orders.records[0].write_attempt);
	answer_records(b, BELFRY_OK);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
}

static void an_answer_to_another_question_fails_the_run(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	answer_call(b, open_call(b, owned(1)), turn_t);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	answer_records(b, BELFRY_OK);
}

static void a_run_whose_payload_is_gone_ends(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin_dispatch(b);
	bear(b, &run, 1);
	b->orders.list->count = 0;
	store_done(b, BELFRY_OK);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	answer_records(b, BELFRY_OK);
}

/* ---- retries ----------------------------------------------------------------------------------- */

static belfry_duration wait_after(struct bench *b, uint32_t failures, struct bf_answer answer)
{
	struct bf_owned_run run = owned(failures + 1);

	run.failures = failures;
	run.policy.max_attempts = 100;
	answer_call(b, open_call(b, run), answer);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RETRY);
	belfry_duration wait = b->orders.records[0].ready_at - at_time(10, 0, 0);
	answer_records(b, BELFRY_OK);
	return wait;
}

static void t029_t034_waits_double_within_half_of_themselves_and_are_bounded(void **state)
{
	struct bench *b = *state;
	belfry_duration nominal = BELFRY_SECOND;
	belfry_duration before = 0;

	begin_dispatch(b);
	for (uint32_t failures = 0; failures < 40; failures++) {
		belfry_duration wait = wait_after(b, failures, retry_r);
		assert_true(wait >= nominal / 2);
		assert_true(wait <= nominal);
		if (nominal < BELFRY_MINUTE) {
			assert_true(wait >= before); /* half fixed: they grow */
			before = wait;
		}
		nominal = BF_MIN(2 * nominal, BELFRY_MINUTE);
	}
}

/* What failed together at two replicas does not come back together. */
static void t034_two_seeds_wait_differently_and_one_seed_the_same(void **state)
{
	belfry_duration waits[3][8];
	size_t different = 0;

	for (size_t i = 0; i < BF_COUNT(waits); i++) {
		void *bench = NULL;
		set_up_dispatcher_with(&bench, 100, i == 2 ? 6 : 5);
		begin_dispatch(bench);
		for (uint32_t failures = 0; failures < BF_COUNT(waits[i]); failures++) {
			waits[i][failures] = wait_after(bench, failures, retry_r);
		}
		(void)tear_down_dispatcher(&bench);
	}
	assert_memory_equal(waits[0], waits[1], sizeof(waits[0]));
	for (size_t i = 0; i < BF_COUNT(waits[0]); i++) {
		different += waits[0][i] != waits[2][i];
	}
	assert_true(different >= BF_COUNT(waits[0]) - 1);
	(void)state;
}

static void a_retry_is_asked_for_when_it_gets_ready_and_not_a_tick_later(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.policy.first_delay = TICK / 5;
	begin_dispatch(b);
	answer_call(b, open_call(b, run), retry_r);
	belfry_duration wait = b->orders.records[0].ready_at - at_time(10, 0, 0);
	assert_in_range(wait, TICK / 10, TICK / 5);
	answer_records(b, BELFRY_OK);
	assert_null(b->orders.claim);
	assert_int_equal(b->orders.wake.us - b->now.us, wait);
	let_pass(b, wait);
	wake_up(b);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	finish_claims(b);
}

static void t030_retries_that_are_spent_fail_the_run_once(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.failures = 4;
	run.attempt = 5;
	begin_dispatch(b);
	answer_call(b, open_call(b, run), retry_r);
	assert_int_equal(b->orders.record_count, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_RETRIES_SPENT);
	/* What went wrong last is the attempt's. */
	assert_int_equal(b->orders.records[0].attempt_error, BELFRY_RUN_ERROR_TARGET_UNREACHABLE);
	answer_records(b, BELFRY_OK);
}

static void with_one_attempt_its_own_error_is_the_runs(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.policy.max_attempts = 1;
	begin_dispatch(b);
	answer_call(b, open_call(b, run), retry_r);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_TARGET_UNREACHABLE);
	answer_records(b, BELFRY_OK);
}

static void a_wait_that_the_target_asks_for_is_no_attempt_for_a_day(void **state)
{
	struct bench *b = *state;
	struct bf_answer later = retry_r;
	struct bf_owned_run run = owned(1);

	later.after = 10 * BELFRY_MINUTE;
	run.failures = 4; /* the last one, if it counted */
	begin_dispatch(b);
	answer_call(b, open_call(b, run), later);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RETRY);
	assert_false(b->orders.records[0].is_failure);
	assert_in_range(b->orders.records[0].ready_at, at_time(10, 10, 0), at_time(10, 11, 0));
	answer_records(b, BELFRY_OK);
	/* At most an hour, and a tenth. */
	later.after = BELFRY_DAY;
	answer_call(b, open_call(b, run = owned(2)), later);
	assert_in_range(b->orders.records[0].ready_at, at_time(11, 0, 0), at_time(11, 6, 0));
	answer_records(b, BELFRY_OK);
	/* A day after its start it counts, however short ago it got ready again. */
	run = owned(3);
	run.failures = 4;
	run.started_at = at_time(10, 0, 0) - BELFRY_DAY;
	run.ready_at = at_time(9, 59, 0);
	later.after = 10 * BELFRY_MINUTE;
	answer_call(b, open_call(b, run), later);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	answer_records(b, BELFRY_OK);
}

static void waits_that_a_target_asks_for_get_no_shorter_than_its_policys(void **state)
{
	struct bench *b = *state;
	struct bf_answer soon = retry_r;
	belfry_duration floor = BELFRY_SECOND;
	size_t different = 0;
	belfry_duration before = 0;

	soon.after = 1; /* a microsecond, for a day */
	begin_dispatch(b);
	for (uint32_t attempt = 1; attempt < 40; attempt++) {
		struct bf_owned_run run = owned(attempt);
		run.attempt = attempt;
		answer_call(b, open_call(b, run), soon);
		assert_false(b->orders.records[0].is_failure);
		belfry_duration wait = b->orders.records[0].ready_at - at_time(10, 0, 0);
		assert_in_range(wait, floor, floor + floor / 10);
		different += wait != before;
		before = wait;
		answer_records(b, BELFRY_OK);
		floor = BF_MIN(2 * floor, BELFRY_MINUTE);
	}
	assert_true(different > 30); /* those sent away together come back apart */
}

static void b10_a_call_past_its_limit_is_told_and_its_late_answer_dropped(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	struct bf_token token = open_call(b, owned(1));
	let_pass(b, BELFRY_MINUTE - 1);
	give_cover(b, 1);
	answer_claims(b);
	assert_int_equal(b->cancelled, 0);
	let_pass(b, 1);
	wake_up(b);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RETRY);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_TIMEOUT);
	assert_string_equal(b->orders.records[0].message.ptr,
			belfry_run_error_text(BELFRY_RUN_ERROR_TIMEOUT));
	answer_call(b, token, session_s); /* too late */
	assert_int_equal(b->released, 1);
	answer_records(b, BELFRY_OK);
	answer_call(b, token, session_s);
	assert_int_equal(b->released, 2);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
}

static void a_call_without_limit_stays_open(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.policy.timeout = 0;
	begin_dispatch(b);
	(void)open_call(b, run);
	let_pass(b, 1000 * BELFRY_DAY);
	give_cover(b, 1);
	answer_claims(b);
	assert_int_equal(b->cancelled, 0);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

/* ---- stale, lost, uncertain -------------------------------------------------------------------- */

static void t036_a_record_that_is_refused_drops_the_run(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	answer_call(b, open_call(b, owned(1)), session_s);
	answer_records(b, BELFRY_STALE);
	assert_int_equal(b->orders.call_count, 0);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->stale, 1);
}

static void t033_another_session_is_stored_so_the_store_is_asked(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	answer_call(b, open_call(b, owned(1)), session_s);
	answer_records(b, BELFRY_CONFLICT);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
}

static void t041_a_lost_holder_cancels_its_calls_and_begins_none(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	begin_dispatch(b);
	struct bf_token token = open_call(b, runs[0]);
	bear(b, &runs[1], 1); /* loading */
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_LOST});
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 0);
	answer_call(b, token, session_s);
	assert_null(b->orders.records);
	assert_int_equal(b->released, 1);
	wake_up(b);
	assert_null(b->orders.claim);
}

static void no_call_is_begun_past_the_lease(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin_dispatch(b);
	bear(b, &run, 1);
	let_pass(b, 6 * BELFRY_SECOND); /* the store took so long */
	answer_load(b);
	assert_int_equal(b->orders.call_count, 0);
	assert_null(b->orders.list);
	give_cover(b, 1);
	while (b->orders.claim != NULL) {
		answer_claims(b);
	}
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
}

static void a_new_incarnation_ends_the_old_one_also_without_its_news(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	struct bf_token token = open_call(b, owned(1));
	give_cover(b, 2);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	answer_claims(b);
	answer_call(b, token, session_s);
	assert_null(b->orders.records);
}

static void a_lost_claim_answer_asks_what_is_ours_and_repeats_the_claim(void **state)
{
	struct bench *b = *state;

	give_cover(b, 1);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	store_done(b, BELFRY_UNKNOWN);
	let_pass(b, BELFRY_SECOND);
	wake_up(b);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	b->orders.claim->now = at_time(10, 0, 0);
	store_done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	store_done(b, BELFRY_UNAVAILABLE);
	let_pass(b, BELFRY_SECOND);
	wake_up(b);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	b->orders.claim->now = at_time(10, 0, 0);
	store_done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
}

/* The question that comes while an answer is under way is not answered by it. */
static void what_is_asked_during_a_claim_is_asked_again_after_it(void **state)
{
	struct bench *b = *state;
	struct bf_born *born = bf_alloc(sizeof(*born));

	assert_non_null(born);
	*born = (struct bf_born){.incarnation = id_of(1), .is_unknown = true};
	give_cover(b, 1);
	store_done(b, BELFRY_UNKNOWN);
	let_pass(b, BELFRY_SECOND);
	wake_up(b);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN, .born = born});
	b->orders.claim->now = at_time(10, 0, 0);
	store_done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	b->orders.claim->now = at_time(10, 0, 0);
	store_done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	b->orders.claim->now = at_time(10, 0, 0);
	store_done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	/* Run now, stored after the claim read the queue: looked for at once, not at the tick. */
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	b->orders.claim->now = at_time(10, 0, 0);
	b->orders.claim->is_short = true;
	b->orders.claim->next_ready = BELFRY_TIME_NEVER;
	store_done(b, BELFRY_OK);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	answer_claims(b);
}

static void while_a_commit_is_uncertain_no_low_mark_is_told(void **state)
{
	struct bench *b = *state;
	struct bf_born *born = bf_alloc(sizeof(*born));

	begin_dispatch(b);
	size_t told = b->low_count;
	assert_non_null(born);
	*born = (struct bf_born){.incarnation = id_of(1), .is_unknown = true};
	feed(b,
			(struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN,
					.born = born,
					.has_more = true});
	give_cover(b, 1);
	assert_int_equal(b->low_count, told);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	give_cover(b, 1); /* the question is under way */
	assert_int_equal(b->low_count, told);
	answer_claims(b);
	give_cover(b, 1);
	assert_int_equal(b->low_count, told + 1);
	answer_claims(b);
}

static void the_low_mark_is_the_oldest_open_run_that_was_born_to_us(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	runs[0].id = bf_run_id_floor(at_time(9, 0, 0));
	begin_dispatch(b);
	bear(b, runs, 2);
	answer_load(b);
	give_cover(b, 1);
	assert_int_equal(bf_id_compare(b->low, runs[0].id), 0);
	answer_claims(b);
}

/* ---- a batch that fails ------------------------------------------------------------------------ */

static void an_outage_repeats_the_records_word_for_word(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	answer_call(b, open_call(b, owned(1)), session_s);
	for (int i = 0; i < 5; i++) {
		store_done(b, i % 2 == 0 ? BELFRY_UNKNOWN : BELFRY_UNAVAILABLE);
		assert_null(b->orders.records);
		let_pass(b, BELFRY_SECOND);
		give_cover(b, 1);
		assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_SESSION);
		assert_true(bf_str_equal(b->orders.records[0].session, BF_STR("s-1")));
	}
	answer_records(b, BELFRY_OK);
}

static void one_record_that_the_store_refuses_spoils_no_other(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[9];
	struct bf_token tokens[9];

	begin_dispatch(b);
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		runs[i] = owned(i);
	}
	bear(b, runs, BF_COUNT(runs));
	answer_load(b);
	for (size_t i = 0; i < BF_COUNT(runs); i++) {
		tokens[i] = b->orders.calls[i].token;
	}
	for (size_t i = 0; i < BF_COUNT(runs); i++) {
		answer_call(b, tokens[i], session_s);
	}
	size_t written = 0;
	size_t failed = 0;
	for (int turns = 0; turns < 60 && written + failed < BF_COUNT(runs); turns++) {
		bool is_bad = false;
		for (size_t i = 0; i < b->orders.record_count && b->orders.records != NULL; i++) {
			const struct belfry_record *r = &b->orders.records[i];
			bool is_it = bf_id_compare(r->run, runs[4].id) == 0;
			is_bad = is_bad || (is_it && r->kind == BELFRY_RECORD_SESSION);
			failed += is_it && r->kind == BELFRY_RECORD_FAILED;
		}
		if (b->orders.records != NULL && is_bad) {
			store_done(b, BELFRY_INVALID);
		} else if (b->orders.records != NULL) {
			for (size_t i = 0; i < b->orders.record_count; i++) {
				written += b->orders.records[i].kind == BELFRY_RECORD_SESSION;
			}
			answer_records(b, BELFRY_OK);
		} else if (b->orders.list != NULL) {
			store_done(b, BELFRY_UNAVAILABLE);
		} else if (b->orders.claim != NULL) {
			answer_claims(b);
		} else {
			let_pass(b, BELFRY_SECOND);
			give_cover(b, 1);
		}
	}
	assert_int_equal(written, 8);
	assert_int_equal(failed, 1);
}

/* ---- stop -------------------------------------------------------------------------------------- */

static void t080_t081_stop_drains_and_then_hands_back(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2), owned(3)};

	begin_dispatch(b);
	bear(b, runs, 2);
	answer_load(b);
	struct bf_token first = b->orders.calls[0].token;
	bear(b, &runs[2], 1); /* loading */
	feed(b,
			(struct bf_dispatcher_event){.kind = BF_DISPATCHER_STOP,
					.until = bf_boot_add(b->now, BELFRY_SECOND)});
	answer_load(b);
	assert_int_equal(b->orders.call_count, 0);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_false(bf_dispatcher_is_idle(b->dispatcher));
	answer_call(b, first, session_s); /* in time: its result is stored */
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_SESSION);
	answer_records(b, BELFRY_OK);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_int_equal(b->cancelled, 0);
	let_pass(b, BELFRY_SECOND);
	wake_up(b);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_true(bf_dispatcher_is_idle(b->dispatcher));
	wake_up(b);
	assert_null(b->orders.claim);
	/* What the planner bore in the last moment goes back as well. */
	runs[0] = owned(9);
	bear(b, runs, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_true(bf_dispatcher_is_idle(b->dispatcher));
}

static void b21_a_dispatcher_that_has_nothing_to_ask_does_not_stand_still(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	(void)open_call(b, owned(1));
	let_pass(b, 30 * BELFRY_SECOND);
	give_cover(b, 1);
	answer_claims(b);
	let_pass(b, 100 * BELFRY_MILLISECOND);
	wake_up(b); /* under its lease, and not time yet to look into the queue */
	assert_null(b->orders.claim);
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == b->now.us);
}

static void b21_a_dispatcher_that_may_not_ask_stands_still(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	(void)open_call(b, owned(1));
	struct bf_boot_time last = b->now;
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == last.us);
	for (int i = 0; i < 30; i++) {
		let_pass(b, BELFRY_SECOND);
		wake_up(b); /* the lease runs out meanwhile */
		answer_claims(b);
		if (i < 5) {
			last = b->now;
		}
	}
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == last.us);
	give_cover(b, 1);
	answer_claims(b);
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == b->now.us);
}

/* Fail the allocations of one Run's way one after another: no leak, and it ends once they work. */
static void a_run_survives_each_failed_allocation(void **state)
{
	struct bench *b = *state;
	int64_t fired = 1;

	begin_dispatch(b);
	for (int64_t n = 1; n < 60 && fired > 0; n++) {
		struct bf_owned_run run = owned((unsigned)n);
		struct bf_born *born = bf_alloc(sizeof(*born));
		bool is_over = false;
		assert_non_null(born);
		born->incarnation = id_of(1);
		born->runs = bf_alloc_array(1, sizeof(run));
		born->runs[0] = run;
		born->run_count = 1;
		bf_fault_arm(bf_alloc_fault(), n, 1);
		feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN, .born = born});
		for (int turns = 0; turns < 200 && !is_over; turns++) {
			if (b->orders.call_count > 0) {
				answer_call(b, b->orders.calls[0].token,
						b->orders.calls[0].token.step == BELFRY_STEP_TURN
								? turn_t
								: session_s);
			} else if (b->orders.list != NULL) {
				answer_load(b);
			} else if (b->orders.records != NULL) {
				is_over = b->orders.records[0].kind == BELFRY_RECORD_TURN;
				answer_records(b, BELFRY_OK);
			} else if (b->orders.claim != NULL &&
					b->orders.claim->kind == BELFRY_CLAIM_OWNED) {
				struct belfry_claimed mine = claimed_run((unsigned)n, 0, "");
				mine.run.attempt = 1;
				claim_one(b, mine);
			} else if (b->orders.claim != NULL) {
				answer_claims(b);
			} else {
				let_pass(b, BELFRY_SECOND);
				give_cover(b, 1);
			}
		}
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(is_over);
	}
	assert_int_equal(fired, 0);
}

int run_dispatcher_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(t024_session_is_stored_before_the_turn_is_admitted),
			CASE(a_local_session_goes_straight_to_the_turn),
			CASE(t027_t028_a_permanent_answer_fails_the_run_with_its_reason),
			CASE(an_answer_to_another_question_fails_the_run),
			CASE(a_run_whose_payload_is_gone_ends),
			CASE(t029_t034_waits_double_within_half_of_themselves_and_are_bounded),
			cmocka_unit_test(t034_two_seeds_wait_differently_and_one_seed_the_same),
			CASE(a_retry_is_asked_for_when_it_gets_ready_and_not_a_tick_later),
			CASE(t030_retries_that_are_spent_fail_the_run_once),
			CASE(with_one_attempt_its_own_error_is_the_runs),
			CASE(a_wait_that_the_target_asks_for_is_no_attempt_for_a_day),
			CASE(waits_that_a_target_asks_for_get_no_shorter_than_its_policys),
			CASE(b10_a_call_past_its_limit_is_told_and_its_late_answer_dropped),
			CASE(a_call_without_limit_stays_open),
			CASE(t036_a_record_that_is_refused_drops_the_run),
			CASE(t033_another_session_is_stored_so_the_store_is_asked),
			CASE(t041_a_lost_holder_cancels_its_calls_and_begins_none),
			CASE(no_call_is_begun_past_the_lease),
			CASE(a_new_incarnation_ends_the_old_one_also_without_its_news),
			CASE(a_lost_claim_answer_asks_what_is_ours_and_repeats_the_claim),
			CASE(what_is_asked_during_a_claim_is_asked_again_after_it),
			CASE(while_a_commit_is_uncertain_no_low_mark_is_told),
			CASE(the_low_mark_is_the_oldest_open_run_that_was_born_to_us),
			CASE(an_outage_repeats_the_records_word_for_word),
			CASE(one_record_that_the_store_refuses_spoils_no_other),
			CASE(t080_t081_stop_drains_and_then_hands_back),
			CASE(b21_a_dispatcher_that_has_nothing_to_ask_does_not_stand_still),
			CASE(b21_a_dispatcher_that_may_not_ask_stands_still),
			CASE(a_run_survives_each_failed_allocation),
	};

	return cmocka_run_group_tests_name("dispatcher", tests, NULL, NULL);
}
