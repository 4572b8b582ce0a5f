/* The dispatcher: Runs that are taken over, and places for those that are born or wait. */
#include "cases.h"

#include "dispatcher_bench.h"

/* ---- takeover ---------------------------------------------------------------------------------- */

static void t026_t037_a_takeover_goes_on_where_the_store_says(void **state)
{
	struct bench *b = *state;

	give_cover(b, 1);
	claim_one(b, claimed_run(1, 1, "stored-session"));
	answer_load(b);
	assert_int_equal(b->orders.calls[0].token.step, BELFRY_STEP_TURN);
	assert_true(bf_str_equal(b->orders.calls[0].session, BF_STR("stored-session")));
	assert_int_equal(b->orders.calls[0].token.attempt, 2);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->takeovers, 1);
}

static void t025_without_a_stored_session_the_session_is_started_again(void **state)
{
	struct bench *b = *state;

	give_cover(b, 1);
	claim_one(b, claimed_run(1, 1, ""));
	answer_load(b);
	assert_int_equal(b->orders.calls[0].token.step, BELFRY_STEP_SESSION);
	assert_int_equal(b->orders.calls[0].run->takeovers, 1); /* it may repeat a call */
	struct bf_token token = b->orders.calls[0].token;
	finish_claims(b);
	answer_call(b, token, session_s);
	answer_records(b, BELFRY_OK);
	assert_int_equal(b->orders.call_count, 1);
	assert_int_equal(b->orders.calls[0].token.step, BELFRY_STEP_TURN);
	assert_int_equal(b->orders.calls[0].run->takeovers, 0); /* and this one repeats none */
}

static void t042_past_the_recovery_limit_a_run_is_failed_without_a_call(void **state)
{
	struct bench *b = *state;

	give_cover(b, 1);
	claim_one(b, claimed_run(1, 3, ""));
	answer_load(b); /* the limit itself is still taken */
	assert_int_equal(b->orders.call_count, 1);
	finish_claims(b);
	give_cover(b, 1);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	claim_one(b, claimed_run(2, 4, ""));
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_RECOVERY_LIMIT);
	assert_string_equal(b->orders.records[0].message.ptr,
			belfry_run_error_text(BELFRY_RUN_ERROR_RECOVERY_LIMIT));
}

static void an_abandoned_takeover_is_failed_as_interrupted(void **state)
{
	struct bench *b = *state;
	struct belfry_policies policies = BELFRY_POLICIES_INIT;

	policies.interrupted = BELFRY_INTERRUPTED_ABANDON;
	struct bf_buf definition = definition_of("* * * * *", &policies);
	struct belfry_claimed run = claimed_run(1, 1, "");
	run.definition = bf_buf_str(&definition);
	give_cover(b, 1);
	claim_one(b, run);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_INTERRUPTED);
	bf_buf_fini(&definition);
}

/* ---- tickets ----------------------------------------------------------------------------------- */

static void tickets_leave_a_quarter_for_the_queue_and_are_counted(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[30];

	begin_dispatch(b);
	assert_int_equal(b->tickets.places, 75);
	assert_int_equal(b->tickets.bytes, 750);
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		runs[i] = owned(i);
	}
	bear(b, runs, BF_COUNT(runs));
	/* 30 are held and 45 granted still: nothing more may be given out. */
	assert_int_equal(b->tickets.places, 75);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 30);
}

static void t031_a_single_place_is_kept_for_the_queue(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	assert_int_equal(b->tickets.places, 0);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->max_runs, 1);
}

static void a_backlog_calls_the_tickets_back(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	assert_int_equal(b->tickets.places, 75);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	struct belfry_claimed run = claimed_run(1, 0, "");
	run.definition = bf_buf_str(&b->definition);
	b->orders.claim->runs = &run;
	b->orders.claim->run_count = 1;
	b->orders.claim->now = at_time(10, 0, 0);
	b->orders.claim->is_short = false;
	store_done(b, BELFRY_OK);
	assert_true(b->tickets.is_backlog);
	assert_int_equal(b->tickets.places, 75); /* no more */
	answer_load(b);
	/* It sits in a slow commit: told once, and again at the tick. */
	for (int i = 0; i < 10; i++) {
		wake_up(b);
		assert_false(b->orders.has_tickets);
	}
	let_pass(b, TICK);
	wake_up(b);
	assert_true(b->orders.has_tickets && b->orders.tickets.is_backlog);
	wake_up(b);
	assert_false(b->orders.has_tickets);
	/* It has answered, and what it has still is asked for once more. */
	bear(b, (struct bf_owned_run[]){owned(2)}, 1);
	assert_true(b->orders.has_tickets && b->orders.tickets.is_backlog);
}

static void bytes_go_with_places_and_the_queue_keeps_its_own(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[30];

	begin_dispatch(b);
	assert_int_equal(b->tickets.bytes, 750);
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		runs[i] = owned(i);
	}
	bear(b, runs, BF_COUNT(runs));
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		/* Whatever is granted again and again, the queue's quarter of the bytes is left. */
		let_pass(b, TICK);
		give_cover(b, 1);
		feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
		assert_true(bf_dispatcher_counts(b->dispatcher)->held_bytes + b->tickets.bytes -
						10 * BF_COUNT(runs) <=
				750);
	}
	answer_load(b);
	finish_claims(b);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	assert_in_range(b->orders.claim->max_bytes, 250, 1000);
}

/* A Run that was handed back by a stop has its first attempt again, but not its first start. */
static void a_start_is_counted_once_for_the_latency(void **state)
{
	struct bench *b = *state;
	struct belfry_claimed again = claimed_run(1, 0, "");
	struct belfry_claimed first = claimed_run(2, 0, "");

	begin_dispatch(b);
	again.run.attempt = 1; /* started at 9 */
	first.run.attempt = 1;
	first.run.started_at = at_time(10, 0, 0);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	claim_one(b, again);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->lateness_count, 0);
	answer_load(b);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	claim_one(b, first);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->lateness_count, 1);
}

static void tickets_that_could_not_be_carried_are_given_again(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	assert_int_equal(b->tickets.places, 75);
	bf_dispatcher_untold(b->dispatcher, &b->tickets);
	b->tickets.places = 0;
	wake_up(b);
	assert_int_equal(b->tickets.places, 75);
}

static void a_call_that_could_not_be_made_is_made_later(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.policy.timeout = 0; /* no time limit would bring it back */
	begin_dispatch(b);
	struct bf_token token = open_call(b, run);
	bf_dispatcher_uncalled(b->dispatcher, &token, b->now);
	wake_up(b);
	assert_null(b->orders.list); /* not at once */
	let_pass(b, 50 * BELFRY_MILLISECOND);
	wake_up(b);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
}

/* Not at the tick: when the store says that the next one is ready. */
static void b11_the_queue_is_looked_at_when_the_next_run_gets_ready(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	b->orders.claim->now = at_time(10, 0, 0);
	b->orders.claim->is_short = true;
	b->orders.claim->next_ready = at_time(10, 0, 0) + 300 * BELFRY_MILLISECOND;
	store_done(b, BELFRY_OK);
	assert_null(b->orders.claim);
	assert_int_equal(bf_boot_since(b->orders.wake, b->now), 300 * BELFRY_MILLISECOND);
	let_pass(b, 299 * BELFRY_MILLISECOND);
	wake_up(b);
	assert_null(b->orders.claim);
	let_pass(b, BELFRY_MILLISECOND);
	wake_up(b);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	claim_one(b, claimed_run(3, 0, ""));
	finish_claims(b);
}

int run_dispatcher_claims_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(b11_the_queue_is_looked_at_when_the_next_run_gets_ready),
			CASE(t026_t037_a_takeover_goes_on_where_the_store_says),
			CASE(t025_without_a_stored_session_the_session_is_started_again),
			CASE(t042_past_the_recovery_limit_a_run_is_failed_without_a_call),
			CASE(an_abandoned_takeover_is_failed_as_interrupted),
			CASE(tickets_leave_a_quarter_for_the_queue_and_are_counted),
			cmocka_unit_test_setup_teardown(t031_a_single_place_is_kept_for_the_queue,
					set_up_one_place, tear_down_dispatcher),
			CASE(a_backlog_calls_the_tickets_back),
			CASE(bytes_go_with_places_and_the_queue_keeps_its_own),
			CASE(a_start_is_counted_once_for_the_latency),
			CASE(tickets_that_could_not_be_carried_are_given_again),
			CASE(a_call_that_could_not_be_made_is_made_later),
	};

	return cmocka_run_group_tests_name("dispatcher, claims", tests, NULL, NULL);
}
