/* The HTTP API: every route of interface.md that this version offers, over one host.
 *
 * Who may ask: there are no tokens yet, so every request passes the rule for requests without one
 * (guard.h) before anything else is looked at; /healthz and /readyz need its Host alone.
 *
 * Threads  bf_api_handle may run in many threads at once, and blocks as long as the host does. */
#ifndef BF_HTTP_API_H
#define BF_HTTP_API_H

#include "host/host.h"
#include "http/server.h"

struct bf_api {
	struct bf_host *host; /* borrowed: outlives the server */
};

/* The largest body of a request that the API takes: body_bytes of the server's options. */
#define BF_API_BODY_BYTES ((size_t)4 * 1024 * 1024)

/* A bf_http_handler_fn; data is the struct bf_api. Answers each request before it returns. */
void bf_api_handle(void *data, struct bf_http_request **request);

#endif
