/* The HTTP API: every route of interface.md that this version offers, over one host.
 *
 * Who may ask: where the host has tokens, whoever sends one of them; else every request passes the rule
 * for requests without one (guard.h). GET /healthz and /readyz need no token, and without tokens the
 * rule's Host alone. It is decided before anything else is looked at (api_auth.c).
 *
 * Threads  bf_api_handle may run in many threads at once, and blocks as long as the host does. */
#ifndef BF_HTTP_API_H
#define BF_HTTP_API_H

#include "host/events.h"
#include "host/host.h"
#include "http/server.h"

struct bf_api_events;
struct bf_tokens; /* host/tokens.h */

/* All borrowed: they outlive the server. */
struct bf_api {
	struct bf_host *host;
	struct bf_tokens *tokens;     /* NULL: none */
	struct bf_api_events *events; /* NULL: no streams are offered */
};

/* The largest body that a route takes, and of all of them (apply): body_bytes of the server's options. */
#define BF_API_BODY_BYTES         ((size_t)4 * 1024 * 1024)
#define BF_API_LARGEST_BODY_BYTES ((size_t)16 * 1024 * 1024)

/* A bf_http_handler_fn; data is the struct bf_api. Answers each request before it returns. */
void bf_api_handle(void *data, struct bf_http_request **request);
/* A bf_http_judge_fn for the same data: refuses who has no token before a body is read. The handler asks
 * again: a server that was started without it is no less guarded. */
BF_MUST_CHECK enum belfry_status bf_api_judge(void *data, const struct bf_http_request *request,
		struct belfry_error *err);

/* --- streams (api_events.c) --- */

struct bf_api_events_options {
	size_t size;
	const struct bf_env *env;
	struct bf_events *events; /* host/events.h; this is the one that publishes */
	unsigned stream_count;    /* open at once */
	unsigned token_count;     /* of one token, or of all without one */
	belfry_duration quiet_time;
};

#define BF_API_EVENTS_OPTIONS_INIT                                                                 \
	{                                                                                          \
		.size = sizeof(struct bf_api_events_options), .stream_count = 1024,                \
		.token_count = 64, .quiet_time = 15 * BELFRY_SECOND                                \
	}

/* Publishes from now on, by a thread of its own. Started before the server, stopped when that has
 * stopped. BELFRY_OK, BELFRY_NOMEM, BELFRY_INTERNAL. */
BF_MUST_CHECK enum belfry_status bf_api_events_start(const struct bf_api_events_options *options,
		struct bf_api_events **ret_events, struct belfry_error *err);
void bf_api_events_stop(struct bf_api_events *events); /* NULL is allowed */
/* How many streams are open. */
size_t bf_api_events_count(struct bf_api_events *events);

#endif
