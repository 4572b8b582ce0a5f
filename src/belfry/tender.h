/* The thread that tends a host by the clock (bf_host_tend), so that whoever waits for signals and feeds the
 * watchdog is not kept from it by a reconciliation of a million records, or by a store that is slow.
 *
 * Threads  ask from any; start and stop from one. */
#ifndef BF_BELFRY_TENDER_H
#define BF_BELFRY_TENDER_H

#include <pthread.h>

#include "base/compiler.h"
#include "host/host.h"

struct bf_tender {
	struct bf_host *host;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news;
	bool is_asked;
	bool is_stopping;
};

/* host: borrowed until stop, which must come before the host is stopped. BELFRY_OK; BELFRY_NOMEM: nothing
 * runs, and there is nothing to stop. */
BF_MUST_CHECK enum belfry_status bf_tender_start(struct bf_tender *tender, struct bf_host *host);
/* Tend now, whatever the clock says. Never blocks for long. */
void bf_tender_ask(struct bf_tender *tender);
/* Waits for what is under way. */
void bf_tender_stop(struct bf_tender *tender);

#endif
