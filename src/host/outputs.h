/* The host's writer: store calls of those who may not block (the loops of targets) are done by a thread
 * of their own, in the order in which they came. Private to this folder.
 *
 * Memory     what waits is bounded by the calls that may be open, each with its answer's limit.
 * Threads    put and submit from any; jobs and `done` run on the writer's thread. */
#ifndef BF_HOST_OUTPUTS_H
#define BF_HOST_OUTPUTS_H

#include "base/env.h"
#include "base/list.h"
#include "store/store.h"

struct bf_outputs;

/* store and env are borrowed until free. BELFRY_OK, BELFRY_NOMEM, BELFRY_INTERNAL (no thread). */
BF_MUST_CHECK enum belfry_status bf_outputs_new(struct bf_store *store, const struct bf_env *env,
		struct bf_outputs **ret_outputs, struct belfry_error *err);
/* Does what still waits, then ends. NULL is allowed. */
void bf_outputs_free(struct bf_outputs *outputs);

/* Something that blocks: embedded in what it is about, and the submitter's again once `run` is called;
 * the writer looks at it no more. */
struct bf_output_job {
	struct bf_link link;
	void (*run)(struct bf_output_job *job);
};

void bf_outputs_submit(struct bf_outputs *outputs, struct bf_output_job *job);

/* `is_written`: false where the output is lost. Must not block. */
typedef void (*bf_output_done_fn)(void *data, bool is_written);

/* The whole output of one attempt. Text is copied. BELFRY_OK: `done` will be called, once, after the write
 * was tried; a write that failed is logged, and the output is lost, as documents.h allows.
 * BELFRY_NOMEM: `done` will not be called. */
BF_MUST_CHECK enum belfry_status bf_outputs_put(struct bf_outputs *outputs,
		const struct belfry_output *output, bf_output_done_fn done, void *data);

#endif
