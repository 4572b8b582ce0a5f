/* The pool's inside: the threads are in pool.c, one call in pool_work.c. */
#ifndef BF_POOL_PRIV_H
#define BF_POOL_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include <belfry/pool.h>

#include "base/list.h"
#include "runtime/call_copy.h"

/* One call: waiting, then running. Everything below `reply` is its thread's alone while it runs. */
struct belfry_work {
	struct bf_link link;
	atomic_bool is_over; /* for the provider; nothing comes of it any more */
	enum belfry_step step;
	struct bf_call_copy call;
	struct belfry_reply *reply; /* NULL: given back */

	struct bf_buf name;
	struct bf_buf message;
	struct bf_buf detail;
	belfry_duration after;
	bool has_end;
	enum belfry_run_status end;
	enum belfry_run_error error; /* NONE: by what the function returns */
};

/* A copy of the call; NULL: no memory, and the reply is still the caller's. */
struct belfry_work *bf_work_new(enum belfry_step step, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply);
/* Gives a reply that is still there back, unanswered. */
void bf_work_free(struct belfry_work *work);
/* The function has returned this: give the reply back with it. */
void bf_work_answer(struct belfry_work *work, enum belfry_status result);

#endif
