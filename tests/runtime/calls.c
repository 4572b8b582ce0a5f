/* See calls.h. */
#include "calls.h"

#include "cases.h"

#include "base/alloc.h"
#include "base/env.h"
#include "runtime/message.h"

void calls_init(struct calls *calls)
{
	assert_int_equal(bf_inbox_init(&calls->inbox), BELFRY_OK);
	assert_int_equal(bf_reply_book_new(&calls->inbox, &calls->book), BELFRY_OK);
}

void calls_fini(struct calls *calls)
{
	struct bf_answer *answer;

	while ((answer = calls_take(calls)) != NULL) {
		bf_answer_release(answer);
	}
	assert_int_equal(bf_reply_book_wait(calls->book, bf_monotonic_in(0)),
			0); /* each handle was given back */
	bf_reply_book_close(calls->book);
	bf_inbox_fini(&calls->inbox);
}

static struct bf_token token_of(unsigned number, enum belfry_step step)
{
	struct bf_token token = {.fence = 1000 + number, .attempt = 1, .step = step};

	token.run.bytes[14] = (unsigned char)(number >> 8);
	token.run.bytes[15] = (unsigned char)number;
	token.run.bytes[0] = 1;
	return token;
}

unsigned calls_number(struct belfry_id run)
{
	return (unsigned)run.bytes[14] << 8 | run.bytes[15];
}

static void call(struct calls *calls, const struct belfry_handler *handler, unsigned number,
		enum belfry_step step)
{
	struct bf_token token = token_of(number, step);
	char payload[] = "payload";
	char schedule[] = "schedule";
	char session[] = "session";
	struct belfry_invocation invocation = {
			.size = sizeof(invocation),
			.run = token.run,
			.fence = token.fence,
			.schedule = bf_str(schedule),
			.payload = bf_str(payload),
			.attempt = 1,
	};
	struct belfry_reply *reply = bf_reply_new(calls->book, &token);

	assert_non_null(reply);
	if (calls->fail_at != 0) {
		bf_fault_arm(bf_alloc_fault(), calls->fail_at, 1);
		calls->fail_at = 0;
	}
	if (step == BELFRY_STEP_SESSION) {
		handler->start_session(handler->data, &invocation, reply);
	} else {
		handler->admit_turn(handler->data, &invocation, bf_str(session), reply);
	}
	memset(payload, 'X', sizeof(payload));
	memset(schedule, 'X', sizeof(schedule));
	memset(session, 'X', sizeof(session));
}

void calls_session(struct calls *calls, const struct belfry_handler *handler, unsigned number)
{
	call(calls, handler, number, BELFRY_STEP_SESSION);
}

void calls_turn(struct calls *calls, const struct belfry_handler *handler, unsigned number)
{
	call(calls, handler, number, BELFRY_STEP_TURN);
}

void calls_cancel(struct calls *calls, const struct belfry_handler *handler, unsigned number,
		enum belfry_step step)
{
	struct bf_token token = token_of(number, step);

	bf_reply_cancel(calls->book, &token);
	handler->cancel(handler->data, token.run, token.fence);
}

struct bf_answer *calls_take(struct calls *calls)
{
	bool has_more;
	struct bf_link *link = bf_inbox_take(&calls->inbox, &has_more);

	return link != NULL ? BF_CONTAINER(link, struct bf_message, link)->answer : NULL;
}

struct bf_answer *calls_wait(struct calls *calls)
{
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time until = bf_boot_add(env->boot(env->data), 10 * BELFRY_SECOND);
	struct bf_answer *answer;
	bool clock_set;

	while ((answer = calls_take(calls)) == NULL && env->boot(env->data).us < until.us) {
		bf_inbox_wait(&calls->inbox, until, &clock_set);
	}
	return answer;
}
