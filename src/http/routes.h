/* The routes of the API as one table. */
#ifndef BF_HTTP_ROUTES_H
#define BF_HTTP_ROUTES_H

#include "http/api_priv.h"

/* Finds the route of the call's request and fills the call's words. HEAD is answered as GET.
 * BELFRY_OK; BELFRY_NOT_FOUND (also for what a later version offers, and then it says so);
 * BELFRY_METHOD_NOT_ALLOWED, with the methods that are (for Allow) in ret_allow. */
BF_MUST_CHECK enum belfry_status bf_routes_find(struct bf_api_call *call, bf_api_fn *ret_function,
		struct bf_buf *ret_allow, struct belfry_error *err);

#endif
