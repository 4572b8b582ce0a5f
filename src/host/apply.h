/* Applying a set of deployments: each is matched by its name, and becomes what it says. All are
 * checked before anything is changed. */
#ifndef BF_HOST_APPLY_H
#define BF_HOST_APPLY_H

#include "base/json.h"
#include "host/host.h"

#define BF_APPLY_ITEMS 1000

/* `body`: {"deployments": [...], "calendars": [...]}, shared; calendars may be left out, or stand alone with
 * an empty list of deployments. They are carried out first, and rules of the set may name them. *ret_answer
 * is the answer with one item for each (interface.md), owned by the caller.
 * BELFRY_OK: all were carried out, or with is_dry_run would be. Another status with an answer: that of the
 * first item that is refused, err->pointer into the body; nothing was changed, unless the refusal came
 * while it was carried out, which each item says. Another status with *ret_answer NULL: the body cannot
 * be read, or store or memory failed before anything was changed. */
BF_MUST_CHECK enum belfry_status bf_apply(struct bf_host *host, const json_t *body, bool is_dry_run,
		json_t **ret_answer, struct belfry_error *err);

#endif
