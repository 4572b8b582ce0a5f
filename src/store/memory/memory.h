/* The memory store: the readable reference of the store seam, and the simulator's database.
 *
 * Shapes     two method tables over one implementation: "memory" commits each call at once,
 *            "memory-document" commits each document alone (BELFRY_STORE_CAP_SINGLE_DOCUMENT).
 * Ownership  a store is closed by its table's `close`; the database goes with its last handle.
 * Threads    those of store.h: one mutex. */
#ifndef BF_STORE_MEMORY_H
#define BF_STORE_MEMORY_H

#include <belfry/documents.h>

#include "base/compiler.h"
#include "base/env.h"

extern const struct belfry_store_ops bf_memory_store_ops;
extern const struct belfry_store_ops bf_memory_document_store_ops;

/* An empty database and its first handle. `env` is borrowed until the last handle is closed; its
 * wall clock is the store's clock. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_memory_store_new(const struct bf_env *env, bool single_document,
		struct belfry_store **ret_store);

/* Another handle on the database of `store` (which must be a memory store), for one more
 * replica. */
BF_MUST_CHECK enum belfry_status bf_memory_store_share(struct belfry_store *store,
		struct belfry_store **ret_store);

/* Called after each document write of the single-document mode, without any lock held: it may call
 * the store itself, as another replica would. `step` is static text ("advance: pushed"). True: the
 * process that made the call dies here; the call answers BELFRY_UNKNOWN and leaves what was
 * written. */
typedef bool (*bf_memory_step_fn)(void *data, const char *step);

/* For every handle of the database. NULL: no hook. Not while a call is under way in another
 * thread. */
void bf_memory_store_set_step(struct belfry_store *store, bf_memory_step_fn step, void *data);

#endif
