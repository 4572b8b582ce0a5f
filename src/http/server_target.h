/* The request target: a path in segments and a query in parameters, decoded. */
#ifndef BF_HTTP_SERVER_TARGET_H
#define BF_HTTP_SERVER_TARGET_H

#include <belfry/status.h>

#include "base/compiler.h"

#include "http/server_headers.h"

#define BF_HTTP_SEGMENTS   32
#define BF_HTTP_PARAMETERS 64

/* Owns its texts; they are borrowed from it until bf_http_target_fini. */
struct bf_http_target {
	struct belfry_str path;      /* raw, without the query */
	size_t segment_count;        /* "/" has none, "/a" one, "/a/" two, the second empty */
	struct belfry_str *segments; /* decoded; one may hold '/', from %2F */
	size_t parameter_count;
	struct bf_http_pair
			*parameters; /* decoded, in the order of the wire, '+' read as a space */
	char *text;
};

/* `raw` is copied. Origin form alone ("/..."); every percent escape must be whole, and what it gives
 * must be UTF-8 without U+0000.
 * BELFRY_OK; BELFRY_INVALID (err says what and where); BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_http_target_parse(struct belfry_str raw,
		struct bf_http_target *ret_target, struct belfry_error *err);
void bf_http_target_fini(struct bf_http_target *target);

#endif
