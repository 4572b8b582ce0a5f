/* What the files of the HTTP client share: calls, hosts and the client itself.
 *
 * A call's state is the list that holds its link: inbox (any thread put it there), waiting (of its
 * host), running (curl has it). All of them are also in `calls` by their key, until they are done.
 *
 *   http_client.c    the thread: inbox, curl's events, the end of calls
 *   http_host.c      hosts: their queue, their addresses, when a call may start
 *   http_transfer.c  one call as curl sees it, and the guard */
#ifndef BF_HOST_TARGETS_HTTP_CLIENT_PRIV_H
#define BF_HOST_TARGETS_HTTP_CLIENT_PRIV_H

#include <pthread.h>

#include <curl/curl.h>

#include "base/list.h"
#include "host/targets/http_client.h"
#include "host/targets/url.h"

#define BF_HTTP_BUCKETS      256
#define BF_HTTP_DETAIL_BYTES 256

struct bf_http_host {
	struct bf_link link;        /* of its bucket */
	struct bf_link pump_link;   /* of client->pumps: something may be able to start */
	struct bf_link lookup_link; /* of client->lookups: waits for the resolver */
	char *name;
	uint16_t port;
	bool is_literal;
	struct bf_list waiting;
	unsigned running;
	/* what is known of its name */
	char *addresses; /* as CURLOPT_RESOLVE takes them; NULL: none that is allowed */
	bool is_refused; /* found, and every address is refused */
	bool is_private; /* likewise, and a setting would allow the latest of them */
	bool is_asked;   /* the resolver has not answered yet, even if nobody waits any more */
	struct bf_boot_time fresh_until;
	struct bf_boot_time stale_until;
	struct bf_boot_time failed_until;
	struct bf_boot_time lookup_until;
	char failure[BF_HTTP_DETAIL_BYTES];
};

struct bf_http_call {
	struct bf_link link;
	struct bf_link key_link;    /* of client->calls; under the lock */
	struct bf_link cancel_link; /* of client->cancelled; under the lock */
	struct bf_http_client *client;
	struct bf_http_host *host; /* once it is out of the inbox */
	struct bf_http_request request;
	struct bf_target_url url;
	char method[8];
	struct bf_buf headers;
	/* while it runs */
	CURL *easy;
	struct curl_slist *header_list;
	struct curl_slist *resolve_list;
	struct bf_buf body;
	bool is_truncated;
	bool is_refused;
	bool is_private; /* where it is refused: a setting would allow it */
	char detail[BF_HTTP_DETAIL_BYTES];
	char curl_error[CURL_ERROR_SIZE];
};

struct bf_http_client {
	struct bf_http_client_options options;
	char *user_agent;
	pthread_t thread;
	int epoll_fd;
	int wake_fd;
	pthread_mutex_t lock; /* guards the next five */
	struct bf_list inbox;
	struct bf_list cancelled;
	struct bf_list found; /* lookups that are done */
	struct bf_list calls[BF_HTTP_BUCKETS];
	bool is_stopping;
	/* the thread's own */
	CURLM *multi;
	struct bf_boot_time curl_due; /* INT64_MAX: curl waits for no time */
	struct bf_boot_time sweep_due;
	struct bf_list running;
	struct bf_list pumps;
	struct bf_list lookups;
	struct bf_list hosts[BF_HTTP_BUCKETS];
	uint64_t seed;
	struct bf_resolver *resolver;
};

static inline struct bf_boot_time bf_http_now(const struct bf_http_client *client)
{
	return client->options.env->boot(client->options.env->data);
}

/* --- http_client.c --- */
/* The end of a call that waits or runs: calls on_done and frees it. */
void bf_http_call_finish(struct bf_http_call *call, const struct bf_answer *answer);

/* --- http_host.c --- */
/* Into the queue of its host. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_http_host_admit(struct bf_http_client *client,
		struct bf_http_call *call);
/* Starts or ends whatever can be, on every host marked for it. */
void bf_http_hosts_pump(struct bf_http_client *client);
void bf_http_host_mark(struct bf_http_client *client, struct bf_http_host *host);
/* Takes what the resolver found. */
void bf_http_hosts_learn(struct bf_http_client *client, struct bf_lookup *lookup);
/* Gives up lookups that take too long; returns when to come again. */
struct bf_boot_time bf_http_hosts_check(struct bf_http_client *client);
void bf_http_hosts_sweep(struct bf_http_client *client);
void bf_http_hosts_fini(struct bf_http_client *client);

/* --- http_transfer.c --- */
/* Hands the call to curl. BELFRY_OK, or why not (call->detail says so). */
BF_MUST_CHECK enum belfry_status bf_http_transfer_start(struct bf_http_call *call);
/* What became of it. Text in *ret_answer is borrowed from the call. */
void bf_http_transfer_read(struct bf_http_call *call, CURLcode code, struct bf_answer *ret_answer);
/* Takes the call back from curl and drops what it needed. */
void bf_http_transfer_stop(struct bf_http_call *call);

#endif
