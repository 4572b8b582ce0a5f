/* The blocking pool: in order, by a bounded number of threads; what is over leaves, is told, or costs a
 * thread until it returns; each reply is given back once. */
#include "cases.h"

#include <stdatomic.h>

#include <belfry/pool.h>

#include "base/alloc.h"
#include "base/env.h"
#include "calls.h"

/* A function that waits at a door, so that a test says when a call ends. */
struct bench {
	struct calls calls;
	struct belfry_pool *pool;
	const struct belfry_handler *handler;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned begun;       /* calls that a thread has taken */
	unsigned order[64];   /* ... and of which Runs */
	unsigned let_through; /* so many may end */
	unsigned ended;
	unsigned over; /* of those that ended, how many were over by then */
	enum belfry_status result;
	void (*speak)(struct belfry_work *work);
};

/* Until `*count` is at least `wanted`; ten seconds at most. */
static void wait_for(struct bench *b, const unsigned *count, unsigned wanted)
{
	struct timespec until = bf_monotonic_in(10 * BELFRY_SECOND);
	int code = 0;

	(void)pthread_mutex_lock(&b->lock);
	while (*count < wanted && code == 0) {
		code = pthread_cond_timedwait(&b->changed, &b->lock, &until);
	}
	unsigned seen = *count;
	(void)pthread_mutex_unlock(&b->lock);
	assert_in_range(seen, wanted, UINT32_MAX);
}

static void let_through(struct bench *b, unsigned count)
{
	(void)pthread_mutex_lock(&b->lock);
	b->let_through += count;
	(void)pthread_cond_broadcast(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
}

static enum belfry_status work(void *data, const struct belfry_invocation *invocation,
		struct belfry_work *work)
{
	struct bench *b = data;

	(void)pthread_mutex_lock(&b->lock);
	b->order[b->begun++ % BF_COUNT(b->order)] = calls_number(invocation->run);
	(void)pthread_cond_broadcast(&b->changed);
	while (b->ended >= b->let_through) {
		(void)pthread_cond_wait(&b->changed, &b->lock);
	}
	b->ended++;
	b->over += belfry_work_is_over(work);
	enum belfry_status result = b->result;
	(void)pthread_cond_broadcast(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
	if (b->speak != NULL) {
		b->speak(work);
	}
	bool is_whole = bf_str_equal(invocation->payload, BF_STR("payload")) &&
			bf_str_equal(invocation->schedule, BF_STR("schedule"));
	return is_whole ? result : BELFRY_CORRUPT;
}

static void begin(struct bench *b, uint32_t threads, belfry_work_fn start_session)
{
	struct belfry_pool_options options = BELFRY_POOL_OPTIONS_INIT;

	*b = (struct bench){.result = BELFRY_OK};
	calls_init(&b->calls);
	assert_int_equal(pthread_mutex_init(&b->lock, NULL), 0);
	assert_int_equal(bf_condition_init(&b->changed), BELFRY_OK);
	options.threads = threads;
	options.data = b;
	options.run = work;
	options.start_session = start_session;
	assert_int_equal(belfry_pool_new(&options, &b->pool, NULL), BELFRY_OK);
	b->handler = belfry_pool_handler(b->pool);
}

static void end(struct bench *b)
{
	let_through(b, 1000);
	belfry_pool_free(b->pool);
	calls_fini(&b->calls);
	(void)pthread_cond_destroy(&b->changed);
	(void)pthread_mutex_destroy(&b->lock);
}

static struct belfry_pool_state state_of(struct bench *b)
{
	struct belfry_pool_state state;

	belfry_pool_get_state(b->pool, &state);
	return state;
}

/* The answer of the next call that ends, by Run. */
static struct bf_answer *next_answer(struct bench *b, unsigned number)
{
	struct bf_answer *answer = calls_wait(&b->calls);

	assert_non_null(answer);
	assert_int_equal(calls_number(answer->token.run), number);
	return answer;
}

static void calls_are_taken_in_order_and_answered_completed(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, NULL);
	for (unsigned n = 0; n < 20; n++) {
		calls_turn(&b.calls, b.handler, n);
	}
	wait_for(&b, &b.begun, 1);
	assert_int_equal(state_of(&b).busy, 1);
	assert_int_equal(state_of(&b).waiting, 19);
	let_through(&b, 20);
	for (unsigned n = 0; n < 20; n++) {
		struct bf_answer *answer = next_answer(&b, n);
		assert_int_equal(answer->kind, BF_ANSWER_TURN);
		assert_true(answer->has_outcome);
		assert_int_equal(answer->status, BELFRY_STATUS_COMPLETED);
		assert_int_equal(answer->name.len, BELFRY_ID_TEXT_BYTES - 1);
		assert_int_equal(b.order[n], n);
		bf_answer_release(answer);
	}
	end(&b);
}

static void no_more_calls_run_at_once_than_threads(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 3, NULL);
	for (unsigned n = 0; n < 10; n++) {
		calls_turn(&b.calls, b.handler, n);
	}
	wait_for(&b, &b.begun, 3);
	assert_int_equal(state_of(&b).threads, 3);
	assert_int_equal(state_of(&b).busy, 3);
	assert_int_equal(state_of(&b).waiting, 7);
	let_through(&b, 1);
	wait_for(&b, &b.begun, 4);
	assert_int_equal(state_of(&b).waiting, 6);
	end(&b);
}

static void without_a_function_the_session_is_the_run(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, NULL);
	calls_session(&b.calls, b.handler, 7); /* answered when it returns, by no thread */
	struct bf_answer *answer = calls_take(&b.calls);
	assert_non_null(answer);
	assert_int_equal(answer->kind, BF_ANSWER_SESSION);
	assert_int_equal(answer->name.len, BELFRY_ID_TEXT_BYTES - 1);
	assert_int_equal(b.begun, 0);
	bf_answer_release(answer);
	end(&b);
}

static void name_it(struct belfry_work *work)
{
	assert_int_equal(belfry_work_name(work, BF_STR("the first")), BELFRY_OK);
	assert_int_equal(belfry_work_name(work, BF_STR("the name")), BELFRY_OK);
}

static void a_session_is_named_by_its_function(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, work);
	b.speak = name_it;
	let_through(&b, 1);
	calls_session(&b.calls, b.handler, 7);
	struct bf_answer *answer = next_answer(&b, 7);
	assert_int_equal(answer->kind, BF_ANSWER_SESSION);
	assert_true(bf_str_equal(answer->name, BF_STR("the name")));
	bf_answer_release(answer);
	end(&b);
}

static void say_and_wait(struct belfry_work *work)
{
	assert_true(bf_str_equal(belfry_work_session(work), BF_STR("session")));
	belfry_work_say(work, BF_STR("not now"), BF_STR("port 1"));
	belfry_work_retry_after(work, BELFRY_MINUTE);
}

static void what_a_function_returns_is_the_answer(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, NULL);
	b.result = BELFRY_UNAVAILABLE;
	b.speak = say_and_wait;
	let_through(&b, 2);
	calls_turn(&b.calls, b.handler, 1);
	struct bf_answer *answer = next_answer(&b, 1);
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	assert_int_equal(answer->after, BELFRY_MINUTE);
	assert_int_equal(answer->error, BELFRY_RUN_ERROR_TARGET_ANSWERED);
	assert_true(bf_str_equal(answer->message, BF_STR("not now")));
	assert_true(bf_str_equal(answer->detail, BF_STR("port 1")));
	bf_answer_release(answer);
	b.result = BELFRY_INVALID;
	b.speak = NULL;
	calls_turn(&b.calls, b.handler, 2);
	answer = next_answer(&b, 2);
	assert_int_equal(answer->kind, BF_ANSWER_PERMANENT);
	assert_int_equal(answer->error, BELFRY_RUN_ERROR_PERMANENT);
	assert_true(bf_str_equal(answer->message, bf_str(belfry_status_text(BELFRY_INVALID))));
	bf_answer_release(answer);
	end(&b);
}

static void go_on_elsewhere(struct belfry_work *work)
{
	belfry_work_end(work, BELFRY_STATUS_RUNNING, BELFRY_RUN_ERROR_NONE);
}

static void fail_it(struct belfry_work *work)
{
	belfry_work_end(work, BELFRY_STATUS_FAILED, BELFRY_RUN_ERROR_TIMEOUT);
	belfry_work_say(work, BF_STR("too long"), BF_STR(""));
}

static void a_turn_ends_as_its_function_says(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, NULL);
	let_through(&b, 2);
	b.speak = go_on_elsewhere;
	calls_turn(&b.calls, b.handler, 1);
	struct bf_answer *answer = next_answer(&b, 1);
	assert_int_equal(answer->kind, BF_ANSWER_TURN);
	assert_false(answer->has_outcome);
	bf_answer_release(answer);
	b.speak = fail_it;
	calls_turn(&b.calls, b.handler, 2);
	answer = next_answer(&b, 2);
	assert_true(answer->has_outcome);
	assert_int_equal(answer->status, BELFRY_STATUS_FAILED);
	assert_int_equal(answer->error, BELFRY_RUN_ERROR_TIMEOUT);
	assert_true(bf_str_equal(answer->message, BF_STR("too long")));
	bf_answer_release(answer);
	end(&b);
}

static void a_call_that_waits_is_struck_out(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, NULL);
	calls_turn(&b.calls, b.handler, 1);
	calls_turn(&b.calls, b.handler, 2);
	calls_turn(&b.calls, b.handler, 3);
	wait_for(&b, &b.begun, 1);
	calls_cancel(&b.calls, b.handler, 2, BELFRY_STEP_TURN);
	assert_int_equal(state_of(&b).waiting, 1);
	assert_int_equal(state_of(&b).lost, 0);
	assert_int_equal(bf_reply_book_wait(b.calls.book, bf_monotonic_in(0)),
			2); /* its handle came back */
	let_through(&b, 2);
	bf_answer_release(next_answer(&b, 1));
	bf_answer_release(next_answer(&b, 3));
	assert_int_equal(b.order[1], 3);
	end(&b);
}

/* B10: the attempt is over, the function hangs on; its thread is lost until it returns, and no other. */
static void b10_a_call_that_runs_is_told_and_its_thread_counts_as_lost(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2, NULL);
	calls_turn(&b.calls, b.handler, 1);
	wait_for(&b, &b.begun, 1);
	calls_cancel(&b.calls, b.handler, 1, BELFRY_STEP_TURN);
	calls_cancel(&b.calls, b.handler, 1, BELFRY_STEP_TURN);
	assert_int_equal(state_of(&b).lost, 1);
	assert_int_equal(state_of(&b).busy, 1);
	calls_turn(&b.calls, b.handler, 2);
	wait_for(&b, &b.begun, 2);
	assert_int_equal(state_of(&b).busy, 2);
	let_through(&b, 2);
	bf_answer_release(next_answer(&b, 2)); /* of the first nothing comes */
	wait_for(&b, &b.ended, 2);
	assert_int_equal(b.over, 1);
	calls_turn(&b.calls, b.handler, 3);
	calls_turn(&b.calls, b.handler, 4);
	wait_for(&b, &b.begun, 4); /* both threads work again */
	assert_int_equal(state_of(&b).lost, 0);
	end(&b);
}

static void when_every_thread_is_lost_it_says_so(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2, NULL);
	for (unsigned n = 1; n <= 3; n++) {
		calls_turn(&b.calls, b.handler, n);
	}
	wait_for(&b, &b.begun, 2);
	calls_cancel(&b.calls, b.handler, 1, BELFRY_STEP_TURN);
	calls_cancel(&b.calls, b.handler, 2, BELFRY_STEP_TURN);
	assert_int_equal(state_of(&b).lost, state_of(&b).threads);
	assert_int_equal(state_of(&b).waiting, 1);
	end(&b);
}

/* What was called after a Session of the same Run is told, not the Session's thread that returns. */
static void a_cancel_means_the_call_that_is_open(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2, work);
	let_through(&b, 1);
	calls_session(&b.calls, b.handler, 1);
	bf_answer_release(next_answer(&b, 1));
	calls_turn(&b.calls, b.handler, 1);
	wait_for(&b, &b.begun, 2);
	calls_cancel(&b.calls, b.handler, 1, BELFRY_STEP_TURN);
	assert_int_equal(state_of(&b).lost, 1);
	end(&b);
	assert_int_equal(b.over, 1);
}

static void *free_pool(void *data)
{
	belfry_pool_free(data);
	return NULL;
}

static void free_tells_what_runs_and_gives_back_what_waits(void **state)
{
	struct bench b;
	pthread_t thread;

	(void)state;
	begin(&b, 1, NULL);
	calls_turn(&b.calls, b.handler, 1);
	calls_turn(&b.calls, b.handler, 2);
	wait_for(&b, &b.begun, 1);
	assert_int_equal(pthread_create(&thread, NULL, free_pool, b.pool), 0);
	struct bf_answer *answer = next_answer(&b, 2); /* never taken */
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	bf_answer_release(answer);
	let_through(&b, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(b.ended, 1);
	b.pool = NULL;
	end(&b);
}

static void wrong_options_are_refused_with_a_remedy(void **state)
{
	struct belfry_pool_options options = BELFRY_POOL_OPTIONS_INIT;
	struct belfry_pool *pool = NULL;
	struct belfry_error err;

	(void)state;
	assert_int_equal(belfry_pool_new(NULL, &pool, &err), BELFRY_INVALID);
	assert_int_equal(belfry_pool_new(&options, &pool, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "`run`"));
	options.run = work;
	options.threads = UINT32_MAX;
	assert_int_equal(belfry_pool_new(&options, &pool, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "threads"));
	assert_null(pool);
	belfry_pool_free(NULL);
}

/* Each allocation of a call in turn: whatever is missing, the reply is given back. */
static void every_allocation_of_a_call_may_fail(void **state)
{
	int64_t fired = 1;

	(void)state;
	for (int64_t n = 1; fired > 0; n++) {
		struct bench b;
		begin(&b, 1, NULL);
		b.speak = fail_it;
		let_through(&b, 1);
		b.calls.fail_at = n;
		calls_turn(&b.calls, b.handler, 1);
		struct bf_answer *answer = calls_wait(&b.calls);
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_non_null(answer);
		assert_true(answer->kind == BF_ANSWER_TURN || answer->kind == BF_ANSWER_RETRY);
		bf_answer_release(answer);
		end(&b);
	}
}

static void opening_without_memory_opens_nothing(void **state)
{
	struct belfry_pool_options options = BELFRY_POOL_OPTIONS_INIT;
	struct belfry_pool *pool = NULL;
	enum belfry_status status = BELFRY_NOMEM;

	(void)state;
	options.run = work;
	options.threads = 1;
	for (int64_t n = 1; status != BELFRY_OK; n++) {
		bf_fault_arm(bf_alloc_fault(), n, 1);
		status = belfry_pool_new(&options, &pool, NULL);
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(status == BELFRY_OK || status == BELFRY_NOMEM);
	}
	belfry_pool_free(pool);
}

/* The scheduler goes on: its calls are put off, and the memory stays until it lets go. */
static void a_pool_that_is_freed_first_takes_no_call(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, NULL);
	struct belfry_handler handler = *b.handler; /* as the scheduler copies it */
	handler.hold(handler.data);
	let_through(&b, 1000);
	belfry_pool_free(b.pool);
	calls_turn(&b.calls, &handler, 1);
	calls_cancel(&b.calls, &handler, 2, BELFRY_STEP_TURN);
	struct bf_answer *answer = next_answer(&b, 1);
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	assert_true(answer->after > 0); /* it costs no attempt */
	bf_answer_release(answer);
	handler.release(handler.data);
	calls_fini(&b.calls);
	(void)pthread_cond_destroy(&b.changed);
	(void)pthread_mutex_destroy(&b.lock);
}

static void say_noise(struct belfry_work *work)
{
	belfry_work_say(work, BF_STR("caf\xe9 is open"), (struct belfry_str){NULL, 5});
	assert_int_equal(belfry_work_name(work, (struct belfry_str){NULL, 5}), BELFRY_INVALID);
	assert_int_equal(belfry_work_name(work, BF_STR("\xff")), BELFRY_INVALID);
}

static void what_is_said_is_made_utf8(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1, NULL);
	b.speak = say_noise;
	calls_turn(&b.calls, b.handler, 1);
	let_through(&b, 1);
	struct bf_answer *answer = next_answer(&b, 1);
	assert_int_equal(answer->kind, BF_ANSWER_TURN);
	assert_true(bf_str_equal(answer->message, BF_STR("caf\xef\xbf\xbd is open")));
	bf_answer_release(answer);
	end(&b);
}

static void a_pool_without_a_place_or_a_pool_is_refused(void **state)
{
	struct belfry_pool_options options = BELFRY_POOL_OPTIONS_INIT;
	struct belfry_pool_state pool_state = BELFRY_POOL_STATE_INIT;
	struct belfry_error err = BELFRY_ERROR_INIT;
	struct belfry_pool *pool = NULL;

	(void)state;
	options.run = work;
	assert_int_equal(belfry_pool_new(&options, NULL, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "place for the answer"));
	options.size = 0;
	assert_int_equal(belfry_pool_new(&options, &pool, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "size"));
	assert_null(belfry_pool_handler(NULL));
	pool_state.busy = 7;
	belfry_pool_get_state(NULL, &pool_state);
	assert_int_equal(pool_state.busy, 0);
	belfry_pool_get_state(NULL, NULL);
	belfry_pool_free(NULL);
}

int run_pool_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(calls_are_taken_in_order_and_answered_completed),
			cmocka_unit_test(no_more_calls_run_at_once_than_threads),
			cmocka_unit_test(without_a_function_the_session_is_the_run),
			cmocka_unit_test(a_session_is_named_by_its_function),
			cmocka_unit_test(what_a_function_returns_is_the_answer),
			cmocka_unit_test(a_turn_ends_as_its_function_says),
			cmocka_unit_test(a_call_that_waits_is_struck_out),
			cmocka_unit_test(
					b10_a_call_that_runs_is_told_and_its_thread_counts_as_lost),
			cmocka_unit_test(when_every_thread_is_lost_it_says_so),
			cmocka_unit_test(a_cancel_means_the_call_that_is_open),
			cmocka_unit_test(free_tells_what_runs_and_gives_back_what_waits),
			cmocka_unit_test(wrong_options_are_refused_with_a_remedy),
			cmocka_unit_test(every_allocation_of_a_call_may_fail),
			cmocka_unit_test(opening_without_memory_opens_nothing),
			cmocka_unit_test(a_pool_that_is_freed_first_takes_no_call),
			cmocka_unit_test(what_is_said_is_made_utf8),
			cmocka_unit_test(a_pool_without_a_place_or_a_pool_is_refused),
	};

	return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
