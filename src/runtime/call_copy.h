/* A copy of what a handler is called with, for those that work on it after the call has returned (pool,
 * pull). One block of memory holds all of its text. */
#ifndef BF_CALL_COPY_H
#define BF_CALL_COPY_H

#include <belfry/handler.h>

#include "base/str.h"

struct bf_call_copy {
	struct belfry_invocation invocation;
	struct belfry_str session; /* empty: there is none yet */
	char *text;                /* owned: what the two point into */
};

/* BELFRY_NOMEM: nothing is to be freed. */
BF_MUST_CHECK enum belfry_status bf_call_copy_init(struct bf_call_copy *copy,
		const struct belfry_invocation *invocation, struct belfry_str session);
void bf_call_copy_fini(struct bf_call_copy *copy);
/* The attempt of this Run under this fence. */
bool bf_call_copy_is(const struct bf_call_copy *copy, struct belfry_id run, belfry_fence fence);

#endif
