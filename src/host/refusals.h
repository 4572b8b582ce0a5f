/* Which deployments the last reconcile could not hand over, and why: shown as their last_error.
 * Kept in memory alone, for each reconcile finds them anew. Private to this folder.
 *
 * Threads  begin, note and end from one thread at a time; get from any. */
#ifndef BF_HOST_REFUSALS_H
#define BF_HOST_REFUSALS_H

#include <pthread.h>

#include <belfry/types.h>

#include "base/str.h"

struct bf_refusal;

struct bf_refusals {
	pthread_mutex_t mutex;
	struct bf_refusal *known; /* of the last whole round; under the mutex */
	size_t known_count;
	struct bf_refusal *fresh; /* of the round under way */
	size_t fresh_count;
	size_t fresh_capacity;
};

void bf_refusals_init(struct bf_refusals *refusals);
void bf_refusals_fini(struct bf_refusals *refusals);

/* `revision`: of the record; 0: whatever it has. Text is copied (and left out where there is no
 * memory). True: the last round did not have it, so that the log shall. */
bool bf_refusals_note(struct bf_refusals *refusals, struct belfry_str id, int64_t revision,
		const char *message);
/* The round is over. Whole: what it found is what is known; else that is dropped. */
void bf_refusals_end(struct bf_refusals *refusals, bool is_whole);
/* Appends the reason where this revision of it was refused; nothing where it was not. */
void bf_refusals_get(struct bf_refusals *refusals, struct belfry_str id, int64_t revision,
		struct bf_buf *reason);

#endif
