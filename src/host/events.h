/* The hub of hints: which deployments changed, for whoever shows them and reads again
 * (docs/interface.md, GET /v1/events).
 *
 * A reader gets RESYNC first, and whenever it may have missed something; else CHANGED for each
 * deployment that changed since it last asked, in the order of the last change, and each once however
 * often it changed. Changes become visible in batches, at most one every BF_EVENTS_PAUSE: so one
 * reader hears of one deployment at most so often.
 *
 * Memory   bounded, whatever changes and however slow the readers are: BF_EVENTS_KEPT deployments.
 *          A reader further behind than that is told RESYNC. A reader itself costs a few words.
 * Work     a change costs one atomic read while nobody listens.
 * Threads  all of it from any thread; one thread at a time for one reader. Nothing blocks but
 *          bf_events_wait. */
#ifndef BF_HOST_EVENTS_H
#define BF_HOST_EVENTS_H

#include <belfry/types.h>

#include "base/compiler.h"
#include "base/env.h"

#define BF_EVENTS_KEPT  1000
#define BF_EVENTS_PAUSE (250 * BELFRY_MILLISECOND)

struct bf_events;

/* env is borrowed until free. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_events_new(const struct bf_env *env,
		struct bf_events **ret_events);
void bf_events_free(struct bf_events *events); /* NULL is allowed; nobody listens any more */

/* A Run of this deployment, or the deployment itself, has changed, and a read shows it. NULL events:
 * nothing happens. */
void bf_events_changed(struct bf_events *events, struct belfry_str deployment);
/* Anything may have changed: everybody is to read everything again. NULL: nothing happens. */
void bf_events_lost(struct bf_events *events);

/* --- who publishes --- */

/* Until there is something new and the last batch is old enough; then makes it visible: true. Waits
 * for as long as it takes where nobody listens. false: bf_events_end was called. One thread. */
BF_MUST_CHECK bool bf_events_wait(struct bf_events *events);
/* No further batch. */
void bf_events_end(struct bf_events *events);

/* --- who reads --- */

/* Plain: the caller's memory. */
struct bf_events_reader {
	uint64_t seen; /* it has read all visible changes up to this one */
	bool is_resync;
};

void bf_events_join(struct bf_events *events, struct bf_events_reader *ret_reader);
void bf_events_leave(struct bf_events *events);
/* At most `max` deployments that changed, in the order of their last changes; 0: nothing is new.
 * *ret_is_resync: everything is to be read again, and none is returned. */
size_t bf_events_read(struct bf_events *events, struct bf_events_reader *reader, size_t max,
		struct belfry_id *ret_deployments, bool *ret_is_resync);

#endif
