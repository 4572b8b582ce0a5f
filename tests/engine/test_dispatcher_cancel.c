/* The dispatcher: Runs that the host has cancelled, wherever they are. */
#include "cases.h"

#include "dispatcher_bench.h"

static void cancel(struct bench *b, const struct bf_owned_run *run, bool is_beats)
{
	struct belfry_id id = run->id;
	struct bf_cancelled news = {.runs = &id,
			.run_count = 1,
			.at = at_time(10, 0, 1),
			.is_beats = is_beats};

	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_CANCELLED, .cancelled = news});
}

static void assert_nothing_held(const struct bench *b)
{
	const struct bf_dispatcher_counts *counts = bf_dispatcher_counts(b->dispatcher);

	assert_int_equal(counts->held, 0);
	assert_int_equal(counts->held_bytes, 0);
}

static void a_cancelled_run_leaves_its_call_and_its_place(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin_dispatch(b);
	struct bf_token token = open_call(b, run);
	cancel(b, &run, false);
	assert_int_equal(b->cancelled, 1);
	assert_memory_equal(b->orders.cancels[0].run.bytes, run.id.bytes, sizeof(run.id.bytes));
	assert_true(b->orders.cancels[0].fence == run.fence);
	assert_nothing_held(b);
	answer_call(b, token, session_s);
	assert_int_equal(b->released, 1);
	assert_null(b->orders.records);
	cancel(b, &run, true); /* by the beat, again */
	assert_int_equal(b->cancelled, 1);
}

static void a_cancelled_run_that_is_loading_is_not_called(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	begin_dispatch(b);
	bear(b, runs, 2);
	cancel(b, &runs[0], true);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
	assert_memory_equal(b->orders.calls[0].token.run.bytes, runs[1].id.bytes,
			sizeof(runs[1].id.bytes));
	assert_int_equal(b->cancelled, 0); /* no handler has heard of it */
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

static void a_cancelled_run_between_its_steps_is_not_called_again(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin_dispatch(b);
	answer_call(b, open_call(b, run), session_s);
	cancel(b, &run, false); /* while its Session is being stored */
	assert_int_equal(b->cancelled, 1);
	answer_records(b, BELFRY_OK);
	assert_int_equal(b->orders.call_count, 0);
	assert_nothing_held(b);
}

static void an_answer_of_a_cancelled_run_is_not_recorded(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	begin_dispatch(b);
	struct bf_token first = open_call(b, runs[0]);
	struct bf_token second = open_call(b, runs[1]);
	answer_call(b, first, session_s);
	answer_call(b, second, session_s); /* waits for the record of the first */
	cancel(b, &runs[1], false);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(b->released, 1);
	answer_records(b, BELFRY_OK);
	assert_null(b->orders.records);
}

static void a_refused_session_or_open_turn_is_told_to_the_handler(void **state)
{
	struct bench *b = *state;

	begin_dispatch(b);
	answer_call(b, open_call(b, owned(1)), session_s);
	answer_records(b, BELFRY_STALE);
	assert_int_equal(b->cancelled, 1);
	answer_call(b, open_call(b, owned(2)), (struct bf_answer){.kind = BF_ANSWER_RETRY});
	answer_records(b, BELFRY_STALE);
	assert_int_equal(b->cancelled, 1); /* nobody works on it */
	assert_nothing_held(b);
}

/* The commit's answer comes later than the news of the cancel: only the store knows. */
static void a_run_born_before_its_cancel_was_heard_is_asked_for(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);
	struct bf_owned_run later = owned(2);

	begin_dispatch(b);
	cancel(b, &run, false);
	bear(b, &run, 1);
	assert_nothing_held(b);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	answer_claims(b);
	later.fence = (belfry_fence)at_time(10, 0, 2);
	bear(b, &later, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

/* Each beat of a minute names it: what is born meanwhile is held all the same. */
static void a_cancel_told_again_is_no_news(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run gone = owned(1);
	struct bf_owned_run run = owned(2);
	struct bf_cancelled again = {.runs = &gone.id,
			.run_count = 1,
			.at = at_time(10, 0, 30),
			.is_beats = true};

	begin_dispatch(b);
	cancel(b, &gone, true);
	feed(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_CANCELLED, .cancelled = again});
	run.fence = (belfry_fence)at_time(10, 0, 20);
	bear(b, &run, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

/* Without memory for the order the call is not told; the Run goes all the same. */
static void a_cancel_survives_each_failed_allocation(void **state)
{
	struct bench *b = *state;
	int64_t fired = 1;

	begin_dispatch(b);
	for (int64_t n = 1; fired > 0; n++) {
		struct bf_owned_run run = owned((unsigned)n);
		(void)open_call(b, run);
		bf_fault_arm(bf_alloc_fault(), n, 1);
		cancel(b, &run, true);
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_nothing_held(b);
	}
}

int run_dispatcher_cancel_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(a_cancelled_run_leaves_its_call_and_its_place),
			CASE(a_cancelled_run_that_is_loading_is_not_called),
			CASE(a_cancelled_run_between_its_steps_is_not_called_again),
			CASE(an_answer_of_a_cancelled_run_is_not_recorded),
			CASE(a_refused_session_or_open_turn_is_told_to_the_handler),
			CASE(a_run_born_before_its_cancel_was_heard_is_asked_for),
			CASE(a_cancel_told_again_is_no_news),
			CASE(a_cancel_survives_each_failed_allocation),
	};

	return cmocka_run_group_tests_name("dispatcher, cancels", tests, NULL, NULL);
}
