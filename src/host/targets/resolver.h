/* Name lookups on a bounded pool of threads, because the system's lookup blocks and cannot be called
 * off. The HTTP client never looks a name up itself: it is told the addresses found here.
 *
 * Threads    bf_resolver_ask: any. `done` is called on a thread of the pool with the pool's lock held:
 *            it must only put the lookup away and wake somebody. */
#ifndef BF_HOST_TARGETS_RESOLVER_H
#define BF_HOST_TARGETS_RESOLVER_H

#include "base/list.h"
#include "host/targets/address.h"

#define BF_LOOKUP_ADDRESSES 16

struct bf_lookup {
	struct bf_link link; /* for whoever holds it */
	char *host;
	uint16_t port; /* the asker's own; not used by the lookup */
	bool is_found;
	unsigned count;
	struct bf_address addresses[BF_LOOKUP_ADDRESSES];
	char failure[96]; /* where it was not found, for operators */
};

void bf_lookup_free(struct bf_lookup *lookup);

/* Fills is_found, count, addresses and failure. Blocks. */
typedef void (*bf_lookup_fn)(void *data, struct bf_lookup *lookup);
/* Takes the lookup (bf_lookup_free). */
typedef void (*bf_lookup_done_fn)(void *data, struct bf_lookup *lookup);

struct bf_resolver;

/* find NULL: the system's. Data is borrowed until bf_resolver_free. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_resolver_new(unsigned max_threads, bf_lookup_fn find,
		void *find_data, bf_lookup_done_fn done, void *done_data,
		struct bf_resolver **ret_resolver);
/* Nothing is handed to `done` afterwards. Does not wait for a lookup that hangs: its thread ends by
 * itself and frees what it holds. */
void bf_resolver_free(struct bf_resolver *resolver);

/* BELFRY_OK: `done` will be called once. BELFRY_NOMEM, BELFRY_UNAVAILABLE (no thread can be made). */
BF_MUST_CHECK enum belfry_status bf_resolver_ask(struct bf_resolver *resolver,
		struct belfry_str host, uint16_t port);

#endif
