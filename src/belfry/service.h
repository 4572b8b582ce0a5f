/* A running host, made of all its parts in the order in which they need each other: store, zones,
 * provider, targets, host, API server. The only place that puts them together.
 *
 * Life       open -> (serves) -> close. Signals are the caller's.
 * Threads    open and close by the same thread. */
#ifndef BF_BELFRY_SERVICE_H
#define BF_BELFRY_SERVICE_H

#include "host/host.h"
#include "host/settings.h"
#include "host/tokens.h"

struct bf_service;

struct bf_service_options {
	const struct bf_env *env; /* borrowed, like everything below */
	const char *data_folder;  /* made where it is missing, mode 0700 */
	const char *store_url;    /* NULL: the SQLite file in the data folder */
	const char *provider;     /* "embedded", "none" */
	const char *address;      /* numbers alone; beyond loopback only with is_token_needed */
	uint16_t port;            /* 0: a free one */
	const char *tz_directory; /* NULL: the system's */
	const char *credentials_folder; /* NULL: none */
	const char *identity;           /* NULL: none */
	const char *version;
	bool is_standby;
	bool is_token_needed;  /* make the first token where there is none (host/tokens.h) */
	bool is_token_renewed; /* make a new one */
	const struct bf_settings *settings;
	const struct bf_allow_list *allow;
	const char *const *programs; /* that targets may run */
	size_t program_count;
};

/* BELFRY_OK, or why the host does not start: BELFRY_CONFIGURATION, BELFRY_BUSY, BELFRY_UNAVAILABLE... */
BF_MUST_CHECK enum belfry_status bf_service_open(const struct bf_service_options *options,
		struct bf_service **ret_service, struct belfry_error *err);
/* Stops serving, drains, hands back, closes. NULL is fine. */
void bf_service_close(struct bf_service *service);

enum bf_tokens_news bf_service_tokens_news(const struct bf_service *service);
/* Where it listens: "http://127.0.0.1:8377". Borrowed until close. */
const char *bf_service_url(const struct bf_service *service);
struct bf_host *bf_service_host(struct bf_service *service);

#endif
