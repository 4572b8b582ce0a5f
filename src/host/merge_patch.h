/* Merge patches (RFC 7396) for a deployment's content.
 *
 * A null takes a member away. Where the member has a default that is the same as giving it the
 * default, and so this writes the null into the content, for the reader to see: a misspelt name is
 * refused there even when its value is null. Inside `rule`, `input`, `labels`, `target/headers`
 * and `target/body`, whose member names are free, it is removed as the RFC says. */
#ifndef BF_HOST_MERGE_PATCH_H
#define BF_HOST_MERGE_PATCH_H

#include "base/json.h"

/* Lays `patch` (an object, at most BF_JSON_DEPTH deep) over `content`, which is changed in place.
 * BELFRY_OK; BELFRY_INVALID (patch is no object); BELFRY_NOMEM: content may be half changed. */
BF_MUST_CHECK enum belfry_status bf_merge_patch(json_t *content, const json_t *patch,
		struct belfry_error *err);

#endif
