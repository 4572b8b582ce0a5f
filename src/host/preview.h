/* A rule looked at before anything is made of it: its due times, and what people are surprised by. */
#ifndef BF_HOST_PREVIEW_H
#define BF_HOST_PREVIEW_H

#include "base/json.h"
#include "host/host.h"

#define BF_PREVIEW_DUE_DEFAULT 5
#define BF_PREVIEW_DUE_MAX     200

/* `body` and the answer (owned by the caller): interface.md, POST /v1/preview. Nothing is stored. Refuses
 * what a create would refuse, in the same words: BELFRY_INVALID, BELFRY_INVALID_SCHEDULE; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_preview(struct bf_host *host, const json_t *body,
		json_t **ret_answer, struct belfry_error *err);

#endif
