/* The pull interface: the descriptor is readable exactly while something waits; calls come in order, each
 * reply is given back once, whatever becomes of the item. */
#include "cases.h"

#include <poll.h>

#include <belfry/pull.h>

#include "base/alloc.h"
#include "calls.h"

struct bench {
	struct calls calls;
	struct belfry_pull *pull;
	const struct belfry_handler *handler;
};

static void begin(struct bench *b, uint32_t max_waiting)
{
	struct belfry_pull_options options = BELFRY_PULL_OPTIONS_INIT;

	options.max_waiting = max_waiting;
	calls_init(&b->calls);
	assert_int_equal(belfry_pull_new(&options, &b->pull, NULL), BELFRY_OK);
	b->handler = belfry_pull_handler(b->pull);
}

static void end(struct bench *b)
{
	belfry_pull_free(b->pull);
	calls_fini(&b->calls);
}

static bool is_readable(const struct bench *b)
{
	struct pollfd poll_fd = {.fd = belfry_pull_fd(b->pull), .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

static struct belfry_pull_item *next(struct bench *b)
{
	struct belfry_pull_item *item = NULL;

	assert_int_equal(belfry_pull_next(b->pull, &item), BELFRY_OK);
	assert_int_equal(item->size, sizeof(*item));
	return item;
}

static void assert_none(struct bench *b)
{
	struct belfry_pull_item *item = NULL;

	assert_false(is_readable(b));
	assert_int_equal(belfry_pull_next(b->pull, &item), BELFRY_NOT_FOUND);
	assert_null(item);
}

static void calls_come_in_order_while_the_descriptor_is_readable(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0);
	assert_none(&b);
	calls_session(&b.calls, b.handler, 1);
	assert_true(is_readable(&b));
	calls_turn(&b.calls, b.handler, 2);
	struct belfry_pull_item *first = next(&b);
	assert_true(is_readable(&b));
	struct belfry_pull_item *second = next(&b);
	assert_none(&b);
	assert_int_equal(first->kind, BELFRY_PULL_START_SESSION);
	assert_int_equal(calls_number(first->invocation->run), 1);
	assert_int_equal(first->session.len, 0);
	assert_true(bf_str_equal(first->invocation->payload, BF_STR("payload")));
	assert_int_equal(second->kind, BELFRY_PULL_ADMIT_TURN);
	assert_true(bf_str_equal(second->session, BF_STR("session")));
	assert_true(bf_str_equal(second->invocation->schedule, BF_STR("schedule")));
	assert_int_equal(belfry_reply_turn(&second->reply, BF_STR("t"), NULL), BELFRY_OK);
	assert_int_equal(belfry_reply_session(&first->reply, BF_STR("s")), BELFRY_OK);
	assert_null(first->reply);
	belfry_pull_item_free(first);
	belfry_pull_item_free(second);
	struct bf_answer *answer = calls_take(&b.calls);
	assert_int_equal(answer->kind, BF_ANSWER_TURN);
	bf_answer_release(answer);
	end(&b);
}

static void past_its_places_a_call_is_put_off(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 2);
	for (unsigned n = 1; n <= 3; n++) {
		calls_turn(&b.calls, b.handler, n);
	}
	struct bf_answer *answer = calls_take(&b.calls);
	assert_non_null(answer);
	assert_int_equal(calls_number(answer->token.run), 3);
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	assert_true(answer->after > 0); /* it costs no attempt */
	bf_answer_release(answer);
	assert_null(calls_take(&b.calls));
	belfry_pull_item_free(next(&b));
	bf_answer_release(calls_take(&b.calls));
	calls_turn(&b.calls, b.handler, 4); /* there is room again */
	assert_null(calls_take(&b.calls));
	end(&b);
}

static void what_is_freed_unreported_is_tried_again(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0);
	calls_turn(&b.calls, b.handler, 1);
	belfry_pull_item_free(next(&b));
	struct bf_answer *answer = calls_take(&b.calls);
	assert_non_null(answer);
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	assert_int_equal(answer->after, 0);
	assert_true(answer->error != BELFRY_RUN_ERROR_NONE);
	bf_answer_release(answer);
	belfry_pull_item_free(NULL);
	end(&b);
}

static void a_call_that_was_not_taken_leaves_with_its_cancel(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0);
	calls_turn(&b.calls, b.handler, 1);
	calls_turn(&b.calls, b.handler, 2);
	calls_cancel(&b.calls, b.handler, 1, BELFRY_STEP_TURN);
	assert_int_equal(bf_reply_book_wait(b.calls.book, bf_monotonic_in(0)), 1);
	struct belfry_pull_item *item = next(&b);
	assert_int_equal(calls_number(item->invocation->run), 2);
	assert_none(&b);
	belfry_pull_item_free(item);
	calls_turn(&b.calls, b.handler, 3);
	calls_cancel(&b.calls, b.handler, 3, BELFRY_STEP_TURN);
	assert_none(&b); /* the descriptor too */
	end(&b);
}

static void of_a_call_that_was_taken_the_program_is_told(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 1);
	calls_turn(&b.calls, b.handler, 1);
	struct belfry_pull_item *item = next(&b);
	calls_cancel(&b.calls, b.handler, 1, BELFRY_STEP_TURN);
	assert_true(is_readable(&b));
	calls_turn(&b.calls, b.handler, 2); /* a cancel takes no call's place */
	struct belfry_pull_item *news = next(&b);
	assert_int_equal(news->kind, BELFRY_PULL_CANCEL);
	assert_int_equal(calls_number(news->invocation->run), 1);
	assert_true(news->invocation->fence == item->invocation->fence);
	assert_null(news->reply);
	belfry_pull_item_free(news);
	assert_int_equal(belfry_reply_turn(&item->reply, BF_STR("t"), NULL), BELFRY_STALE);
	assert_null(item->reply);
	belfry_pull_item_free(item);
	end(&b);
}

static void what_was_taken_outlives_the_queue(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0);
	calls_turn(&b.calls, b.handler, 1);
	calls_turn(&b.calls, b.handler, 2);
	struct belfry_pull_item *item = next(&b);
	belfry_pull_free(b.pull);
	struct bf_answer *answer = calls_take(&b.calls);
	assert_int_equal(calls_number(answer->token.run), 2); /* given back */
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	bf_answer_release(answer);
	assert_true(bf_str_equal(item->invocation->payload, BF_STR("payload")));
	assert_int_equal(belfry_reply_turn(&item->reply, BF_STR("t"), NULL), BELFRY_OK);
	belfry_pull_item_free(item);
	b.pull = NULL;
	end(&b);
}

/* Several threads take while one calls: nothing is taken twice, nothing is left. */
struct taker {
	struct belfry_pull *pull;
	size_t taken;
	pthread_t thread;
};

static void *take_many(void *data)
{
	struct taker *taker = data;
	struct belfry_pull_item *item;
	struct pollfd poll_fd = {.fd = belfry_pull_fd(taker->pull), .events = POLLIN};

	while (poll(&poll_fd, 1, 10000) == 1) {
		bool is_last = false;
		if (belfry_pull_next(taker->pull, &item) == BELFRY_OK) {
			is_last = item->kind == BELFRY_PULL_CANCEL;
			taker->taken += !is_last;
			if (item->reply != NULL) {
				(void)belfry_reply_turn(&item->reply, BF_STR("t"), NULL);
			}
			belfry_pull_item_free(item);
		}
		if (is_last) {
			return NULL;
		}
	}
	return NULL;
}

static void threads_share_the_queue(void **state)
{
	struct bench b;
	struct taker takers[3] = {{0}};
	const size_t total = 2000;
	size_t taken = 0;

	(void)state;
	begin(&b, (uint32_t)total);
	for (size_t i = 0; i < BF_COUNT(takers); i++) {
		takers[i].pull = b.pull;
		assert_int_equal(pthread_create(&takers[i].thread, NULL, take_many, &takers[i]), 0);
	}
	for (unsigned n = 0; n < total; n++) {
		calls_turn(&b.calls, b.handler, n);
	}
	for (size_t i = 0; i < BF_COUNT(takers); i++) {
		/* Of a call that does not wait: one item of news for each taker, behind the calls. */
		b.handler->cancel(b.handler->data, (struct belfry_id){{9}}, i);
	}
	for (size_t i = 0; i < BF_COUNT(takers); i++) {
		assert_int_equal(pthread_join(takers[i].thread, NULL), 0);
		taken += takers[i].taken;
	}
	assert_int_equal(taken, total);
	assert_none(&b);
	end(&b);
}

static void every_allocation_of_a_pulled_call_may_fail(void **state)
{
	int64_t fired = 1;

	(void)state;
	for (int64_t n = 1; fired > 0; n++) {
		struct bench b;
		struct belfry_pull_item *item = NULL;
		begin(&b, 0);
		b.calls.fail_at = n;
		calls_turn(&b.calls, b.handler, 1);
		if (belfry_pull_next(b.pull, &item) == BELFRY_OK) {
			calls_cancel(&b.calls, b.handler, 1, BELFRY_STEP_TURN);
		}
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		belfry_pull_item_free(item);
		end(&b); /* every handle came back */
	}
}

static void opening_a_queue_refuses_what_it_cannot_take(void **state)
{
	struct belfry_pull_options options = {0};
	struct belfry_pull *pull = NULL;
	struct belfry_error err;

	(void)state;
	assert_int_equal(belfry_pull_new(&options, &pull, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "INIT"));
	bf_fault_arm(bf_alloc_fault(), 1, 1);
	assert_int_equal(belfry_pull_new(NULL, &pull, &err), BELFRY_NOMEM);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_null(pull);
	assert_int_equal(belfry_pull_new(NULL, &pull, &err), BELFRY_OK);
	belfry_pull_free(pull);
	belfry_pull_free(NULL);
}

/* The scheduler goes on: its calls are put off, and the memory stays until it lets go. */
static void a_queue_that_is_freed_first_takes_no_call(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0);
	struct belfry_handler handler = *b.handler; /* as the scheduler copies it */
	handler.hold(handler.data);
	belfry_pull_free(b.pull);
	calls_turn(&b.calls, &handler, 1);
	calls_cancel(&b.calls, &handler, 2, BELFRY_STEP_TURN);
	struct bf_answer *answer = calls_take(&b.calls);
	assert_int_equal(answer->kind, BF_ANSWER_RETRY);
	assert_true(answer->after > 0); /* it costs no attempt */
	bf_answer_release(answer);
	handler.release(handler.data);
	calls_fini(&b.calls);
}

static void a_queue_without_a_place_or_a_queue_is_refused(void **state)
{
	struct belfry_pull_item *item = NULL;
	struct belfry_error err = BELFRY_ERROR_INIT;

	(void)state;
	assert_int_equal(belfry_pull_new(NULL, NULL, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "place for the answer"));
	assert_int_equal(belfry_pull_next(NULL, &item), BELFRY_INVALID);
	assert_int_equal(belfry_pull_fd(NULL), -1);
	assert_null(belfry_pull_handler(NULL));
	belfry_pull_free(NULL);
}

int run_pull_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(calls_come_in_order_while_the_descriptor_is_readable),
			cmocka_unit_test(past_its_places_a_call_is_put_off),
			cmocka_unit_test(what_is_freed_unreported_is_tried_again),
			cmocka_unit_test(a_call_that_was_not_taken_leaves_with_its_cancel),
			cmocka_unit_test(of_a_call_that_was_taken_the_program_is_told),
			cmocka_unit_test(what_was_taken_outlives_the_queue),
			cmocka_unit_test(threads_share_the_queue),
			cmocka_unit_test(every_allocation_of_a_pulled_call_may_fail),
			cmocka_unit_test(opening_a_queue_refuses_what_it_cannot_take),
			cmocka_unit_test(a_queue_that_is_freed_first_takes_no_call),
			cmocka_unit_test(a_queue_without_a_place_or_a_queue_is_refused),
	};

	return cmocka_run_group_tests_name("pull", tests, NULL, NULL);
}
