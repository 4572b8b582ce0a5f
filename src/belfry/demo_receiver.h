/* The demo's own target: a small HTTP server on loopback that answers each call after a short random
 * delay, and remembers which Run called when.
 *
 * Threads    one of its own; every function here may be called from another one. */
#ifndef BF_BELFRY_DEMO_RECEIVER_H
#define BF_BELFRY_DEMO_RECEIVER_H

#include <belfry/run.h>

#include "base/env.h"

struct bf_demo_receiver;

struct bf_demo_call {
	struct belfry_id run;
	char deployment[BELFRY_ID_TEXT_BYTES];
	belfry_time due;     /* as the call said; 0: it said none */
	belfry_time arrived; /* when the whole request was there */
};

/* Listens on a free port of 127.0.0.1. BELFRY_UNAVAILABLE, BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_demo_receiver_start(const struct bf_env *env,
		struct bf_demo_receiver **ret_receiver, struct belfry_error *err);
uint16_t bf_demo_receiver_port(const struct bf_demo_receiver *receiver);
/* Calls that are waiting for their answer just now. */
unsigned bf_demo_receiver_open_calls(struct bf_demo_receiver *receiver);
/* A copy of what has been remembered so far (bf_free); *ret_count of them. BELFRY_NOMEM also when the
 * receiver had to drop one. */
BF_MUST_CHECK enum belfry_status bf_demo_receiver_copy(struct bf_demo_receiver *receiver,
		struct bf_demo_call **ret_calls, size_t *ret_count);
/* Ends the thread. Accepts NULL. */
void bf_demo_receiver_stop(struct bf_demo_receiver *receiver);

#endif
