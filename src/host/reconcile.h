/* Hands the provider every stored deployment, ordered by id. Private to this folder. */
#ifndef BF_HOST_RECONCILE_H
#define BF_HOST_RECONCILE_H

#include "host/host.h"

/* BELFRY_OK, also where single ones were refused (refusals.h has them); BELFRY_NOMEM, and what the
 * seams answer of themselves. Holds 24 bytes for each deployment, and one decoded record at a time.
 * Changes go on meanwhile; a second reconciliation waits for the first. */
BF_MUST_CHECK enum belfry_status bf_reconcile(struct bf_host *host, struct belfry_error *err);

#endif
