/* A deployment as a file of `belfry apply` holds it: the shape of the API without its read-only members and
 * without what is the default anyway. */
#ifndef BF_CLI_DEPLOYMENT_FILE_H
#define BF_CLI_DEPLOYMENT_FILE_H

#include "base/json.h"

/* `shape` is what the API shows. `grace`: the server's default ("PT1M"); empty: not known, and then the
 * member always stays. Applying *ret_file (json_decref) to the server that gave `shape` changes nothing.
 * BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_deployment_file(const json_t *shape, struct belfry_str grace,
		json_t **ret_file, struct belfry_error *err);

#endif
