/* Between the files of apply. */
#ifndef BF_HOST_APPLY_PRIV_H
#define BF_HOST_APPLY_PRIV_H

#include "host/deployment.h"
#include "host/host.h"

/* The members that differ, [{"pointer", "old", "new"}], by their deepest object; `before` may be NULL:
 * then nothing is named, since all is new. Owned by the caller; NULL: no memory. */
BF_MUST_CHECK json_t *bf_apply_list_changes(const json_t *before, const json_t *after);

/* The first due times after now that only one of the two has. `old` and `changed` may be NULL. Both lists
 * are owned by the caller. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_apply_list_due(struct bf_host *host,
		const struct bf_deployment *old, const struct bf_deployment *changed,
		json_t **ret_appears, json_t **ret_vanishes);

#endif
