/* The target `webhook`: one signed request of one Run.
 *
 * Always sent  Idempotency-Key (the Run's id), Belfry-Fence, traceparent, User-Agent, Content-Type
 *              application/json. With a secret also webhook-id, webhook-timestamp, webhook-signature.
 * Threads      call and cancel: any. `done` is called on the webhook's own thread, exactly once for each
 *              call that was taken; it must not block, and may call again. */
#ifndef BF_HOST_TARGETS_WEBHOOK_H
#define BF_HOST_TARGETS_WEBHOOK_H

#include "base/env.h"
#include "host/targets/allow.h"
#include "host/targets/answer.h"
#include "host/targets/resolver.h"
#include "host/targets/secrets.h"

struct bf_webhook;

struct bf_webhook_options {
	size_t size;
	const struct bf_env *env;          /* borrowed until free, like the next two */
	const struct bf_allow_list *allow; /* NULL: public addresses alone */
	const struct bf_secrets *secrets;  /* NULL: there are none */
	unsigned per_host;                 /* calls at once to one host and port */
	size_t answer_limit;               /* bytes of an answer's body that are kept */
	unsigned max_lookups;              /* names looked up at once */
	belfry_duration connect_timeout;
	bf_lookup_fn lookup; /* NULL: the system's (tests bring their own) */
	void *lookup_data;
};

#define BF_WEBHOOK_OPTIONS_INIT                                                                    \
	{                                                                                          \
		sizeof(struct bf_webhook_options), NULL, NULL, NULL, 100, 65536, 16,               \
				10 * BELFRY_SECOND, NULL, NULL                                     \
	}

/* `secret` names one where the value is secret (its first line); else `value` is sent. */
struct bf_webhook_header {
	struct belfry_str name;
	struct belfry_str value;
	struct belfry_str secret;
};

typedef void (*bf_webhook_done_fn)(void *data, const struct bf_answer *answer);

/* All text is copied. */
struct bf_webhook_request {
	size_t size;
	struct belfry_id run;
	belfry_fence fence;
	struct belfry_str url;
	struct belfry_str method; /* empty: POST */
	struct belfry_str body;   /* JSON; not sent with GET */
	const struct bf_webhook_header *headers;
	size_t header_count;
	struct belfry_str secret;      /* name of the signing secret; empty: unsigned */
	struct belfry_str traceparent; /* empty: made from the Run's id */
	belfry_duration timeout; /* of the running call, not of its wait in the queue; 0: none */
	bf_webhook_done_fn done;
	void *data;
};

#define BF_WEBHOOK_REQUEST_INIT                                                                    \
	{                                                                                          \
		.size = sizeof(struct bf_webhook_request)                                          \
	}

/* BELFRY_OK, BELFRY_NOMEM, BELFRY_UNAVAILABLE. */
BF_MUST_CHECK enum belfry_status bf_webhook_new(const struct bf_webhook_options *options,
		struct bf_webhook **ret_webhook, struct belfry_error *err);
/* Every open call ends as BF_ANSWER_CANCELLED before this returns. Not from within `done`. */
void bf_webhook_free(struct bf_webhook *webhook);

/* BELFRY_OK: taken, `done` will be called. Else it will not: BELFRY_INVALID (URL, method or header),
 * BELFRY_NOT_FOUND or BELFRY_CONFIGURATION (a secret), BELFRY_NOMEM, BELFRY_UNAVAILABLE (stopping).
 * Reads the files of the secrets it names, and blocks for nothing else. */
BF_MUST_CHECK enum belfry_status bf_webhook_call(struct bf_webhook *webhook,
		const struct bf_webhook_request *request, struct belfry_error *err);
/* The attempt is over: an open call of it ends as BF_ANSWER_CANCELLED. Returns at once. */
void bf_webhook_cancel(struct bf_webhook *webhook, struct belfry_id run, belfry_fence fence);

#endif
