/* Calls to other hosts over HTTP: one thread, thousands of calls at once.
 *
 * Guarded    a call goes only to addresses that bf_allow_list_permits; no redirect is followed, no
 *            proxy is used, nothing but http and https is spoken.
 * Queued     per target host (name and port); a call's time limit counts only while it runs.
 * Threads    start and cancel: any thread, also from within on_done. on_start and on_done are called on
 *            the client's thread and must not block; on_done exactly once for each call that was
 *            started, also when the client is freed. */
#ifndef BF_HOST_TARGETS_HTTP_CLIENT_H
#define BF_HOST_TARGETS_HTTP_CLIENT_H

#include "base/env.h"
#include "base/str.h"
#include "host/targets/allow.h"
#include "host/targets/answer.h"
#include "host/targets/resolver.h"

struct bf_http_client;

struct bf_http_client_options {
	size_t size;
	const struct bf_env *env;          /* borrowed until free */
	const struct bf_allow_list *allow; /* borrowed until free; NULL: public addresses alone */
	unsigned per_host;                 /* calls running to one host and port */
	size_t answer_bytes;               /* of a body that are kept */
	unsigned max_lookups;              /* names looked up at once */
	belfry_duration connect_timeout;   /* and of a lookup */
	bf_lookup_fn lookup;               /* NULL: the system's */
	void *lookup_data;
};

#define BF_HTTP_CLIENT_OPTIONS_INIT                                                                \
	{                                                                                          \
		sizeof(struct bf_http_client_options), NULL, NULL, 100, 65536, 16,                 \
				10 * BELFRY_SECOND, NULL, NULL                                     \
	}

struct bf_http_request {
	size_t size;
	struct belfry_id run; /* with fence: what bf_http_client_cancel names */
	belfry_fence fence;
	struct belfry_str method;  /* one of bf_target_method_check */
	struct belfry_str url;     /* copied */
	struct belfry_str body;    /* borrowed until on_done; not sent with GET */
	struct belfry_str headers; /* copied: lines "Name: value", each ended by a newline */
	belfry_duration timeout;   /* from its start; 0: none */
	/* Adds header lines that depend on the time; may be NULL. */
	enum belfry_status (*on_start)(void *data, struct bf_buf *headers);
	void (*on_done)(void *data, const struct bf_answer *answer);
	void *data;
};

/* Starts the thread. BELFRY_OK, BELFRY_NOMEM, BELFRY_UNAVAILABLE (no thread or descriptor). */
BF_MUST_CHECK enum belfry_status bf_http_client_new(const struct bf_http_client_options *options,
		struct bf_http_client **ret_client, struct belfry_error *err);
/* Ends every open call as cancelled, and waits for the thread. Not from the client's own thread. */
void bf_http_client_free(struct bf_http_client *client);

/* BELFRY_OK: on_done will be called. BELFRY_INVALID (the URL), BELFRY_NOMEM, BELFRY_UNAVAILABLE (the
 * client is being freed): it will not. */
BF_MUST_CHECK enum belfry_status bf_http_client_start(struct bf_http_client *client,
		const struct bf_http_request *request, struct belfry_error *err);
/* Ends every open call of this run and fence; nothing where there is none. Returns at once. */
void bf_http_client_cancel(struct bf_http_client *client, struct belfry_id run, belfry_fence fence);

#endif
