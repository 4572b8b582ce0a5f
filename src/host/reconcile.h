/* Hands the provider every stored deployment, ordered by id. Private to this folder. */
#ifndef BF_HOST_RECONCILE_H
#define BF_HOST_RECONCILE_H

#include "host/host.h"

/* BELFRY_OK; BELFRY_CORRUPT (a record cannot be read; detail names it), BELFRY_NOMEM, and what the
 * seams answer. Holds 16 bytes for each deployment and one decoded record at a time. */
BF_MUST_CHECK enum belfry_status bf_reconcile(struct bf_host *host, struct belfry_error *err);

#endif
