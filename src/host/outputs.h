/* A writer of outputs: answers of targets arrive on a loop that may not block, and go to the store
 * by a thread of their own. Private to this folder.
 *
 * Memory     what waits is bounded by the calls that may be open, each with its answer's limit.
 * Threads    put from any; `done` is called on the writer's thread, and must not block. */
#ifndef BF_HOST_OUTPUTS_H
#define BF_HOST_OUTPUTS_H

#include "base/env.h"
#include "store/store.h"

struct bf_outputs;

/* store and env are borrowed until free. BELFRY_OK, BELFRY_NOMEM, BELFRY_INTERNAL (no thread). */
BF_MUST_CHECK enum belfry_status bf_outputs_new(struct bf_store *store, const struct bf_env *env,
		struct bf_outputs **ret_outputs, struct belfry_error *err);
/* Writes what still waits, then ends. NULL is allowed. */
void bf_outputs_free(struct bf_outputs *outputs);

/* `is_written`: false where the output is lost. */
typedef void (*bf_output_done_fn)(void *data, bool is_written);

/* Text is copied. BELFRY_OK: `done` will be called, once, after the write was tried; a write that
 * failed is logged, and the output is lost, as documents.h allows. BELFRY_NOMEM: `done` will not
 * be called. */
BF_MUST_CHECK enum belfry_status bf_outputs_put(struct bf_outputs *outputs, struct belfry_id run,
		struct belfry_str content_type, struct belfry_str bytes, bf_output_done_fn done,
		void *data);

#endif
