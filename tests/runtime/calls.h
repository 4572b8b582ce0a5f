/* A handler's other side: makes calls of a handler and takes what it answers, as the runtime does. */
#ifndef RUNTIME_CALLS_H
#define RUNTIME_CALLS_H

#include <belfry/handler.h>

#include "engine/dispatcher.h"
#include "runtime/inbox.h"
#include "runtime/replies.h"

struct calls {
	struct bf_inbox inbox;
	struct bf_reply_book *book;
	int64_t fail_at; /* this allocation from the handler's next call on fails; 0: none */
};

void calls_init(struct calls *calls);
/* Every answer that has come is released. */
void calls_fini(struct calls *calls);
/* Run `number`, with a payload that is overwritten once the call has returned. */
void calls_session(struct calls *calls, const struct belfry_handler *handler, unsigned number);
void calls_turn(struct calls *calls, const struct belfry_handler *handler, unsigned number);
/* Cancels it as the dispatcher does: the handle first, then the handler. */
void calls_cancel(struct calls *calls, const struct belfry_handler *handler, unsigned number,
		enum belfry_step step);
/* Waits for the next answer, ten seconds at most; NULL: none came. Owned: bf_answer_release. */
struct bf_answer *calls_wait(struct calls *calls);
/* What has come already; NULL: nothing. */
struct bf_answer *calls_take(struct calls *calls);
/* The Run's number, from its id. */
unsigned calls_number(struct belfry_id run);

#endif
