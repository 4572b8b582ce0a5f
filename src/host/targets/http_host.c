/* Target hosts: the queue of each, and what is known of its name.
 *
 * Invariants  no more than per_host calls of a host run. A name is looked up once for all calls that
 *             wait for it, and only one lookup of it is under way, however long it hangs. Addresses stay
 *             fresh for a minute and are used for an hour while a new lookup is under way or fails; a failure is remembered for
 *             some seconds, so that dead names cost no thread each.
 * Not here    the transfer itself (http_transfer.c). */
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "host/targets/http_client_priv.h"

#define FRESH  BELFRY_MINUTE
#define STALE  BELFRY_HOUR
#define FAILED (5 * BELFRY_SECOND)

static bool is_before(struct bf_boot_time a, struct bf_boot_time b)
{
	return a.us < b.us;
}

static struct bf_list *bucket_of(struct bf_http_client *client, struct belfry_str name,
		uint16_t port)
{
	uint64_t hash = bf_hash64(client->seed ^ port, name.ptr, name.len);

	return &client->hosts[hash % BF_HTTP_BUCKETS];
}

static struct bf_http_host *find_host(struct bf_http_client *client, struct belfry_str name,
		uint16_t port)
{
	struct bf_list *bucket = bucket_of(client, name, port);

	for (struct bf_link *link = bucket->first; link != NULL; link = link->next) {
		struct bf_http_host *host = BF_CONTAINER(link, struct bf_http_host, link);
		if (host->port == port && bf_str_equal(bf_str(host->name), name)) {
			return host;
		}
	}
	return NULL;
}

static void free_host(struct bf_http_host *host)
{
	bf_list_remove(&host->link);
	bf_list_remove(&host->pump_link);
	bf_list_remove(&host->lookup_link);
	bf_free(host->addresses);
	bf_free(host->name);
	bf_free(host);
}

static struct bf_http_host *new_host(struct bf_http_client *client, const struct bf_target_url *url)
{
	struct bf_http_host *host = bf_alloc(sizeof(*host));

	if (host == NULL) {
		return NULL;
	}
	host->name = bf_str_dup(bf_str(url->host));
	if (host->name == NULL) {
		bf_free(host);
		return NULL;
	}
	host->port = url->port;
	host->is_literal = url->is_literal;
	bf_list_append(bucket_of(client, bf_str(url->host), url->port), &host->link);
	return host;
}

void bf_http_host_mark(struct bf_http_client *client, struct bf_http_host *host)
{
	bf_list_move(&client->pumps, &host->pump_link);
}

enum belfry_status bf_http_host_admit(struct bf_http_client *client, struct bf_http_call *call)
{
	struct bf_http_host *host = find_host(client, bf_str(call->url.host), call->url.port);

	if (host == NULL) {
		host = new_host(client, &call->url);
	}
	if (host == NULL) {
		return BELFRY_NOMEM;
	}
	call->host = host;
	bf_list_move(&host->waiting, &call->link);
	bf_http_host_mark(client, host);
	return BELFRY_OK;
}

/* --- names --- */

static void note_failure(struct bf_http_client *client, struct bf_http_host *host,
		const char *reason)
{
	host->is_refused = false;
	host->failed_until = bf_boot_add(bf_http_now(client), FAILED);
	(void)snprintf(host->failure, sizeof(host->failure), "the name %.100s was not found: %s",
			host->name, reason);
}

static void ask(struct bf_http_client *client, struct bf_http_host *host)
{
	enum belfry_status status = bf_resolver_ask(client->resolver, bf_str(host->name),
			host->port);

	if (status != BELFRY_OK) {
		note_failure(client, host, "no memory or thread for a lookup");
		return;
	}
	host->is_asked = true;
	host->lookup_until = bf_boot_add(bf_http_now(client), client->options.connect_timeout);
	bf_list_append(&client->lookups, &host->lookup_link);
}

/* "1.2.3.4,[2606:4700::1]" of those that are allowed; names one that is not. */
static void append_allowed(struct bf_http_client *client, struct bf_http_host *host,
		const struct bf_lookup *lookup, struct bf_buf *list, char *refused)
{
	for (unsigned i = 0; i < lookup->count; i++) {
		const struct bf_address *address = &lookup->addresses[i];
		char text[BF_ADDRESS_TEXT_BYTES];
		bf_address_format(address, text);
		if (!bf_allow_list_permits(client->options.allow, bf_str(host->name), address,
				    host->port)) {
			host->is_private = bf_address_classify(address) == BF_ADDRESS_PRIVATE;
			(void)snprintf(refused, BF_ADDRESS_TEXT_BYTES, "%s", text);
			continue;
		}
		bf_buf_appendf(list, address->is_v4 ? "%s%s" : "%s[%s]", list->len > 0 ? "," : "",
				text);
	}
}

static void take_found(struct bf_http_client *client, struct bf_http_host *host,
		const struct bf_lookup *lookup)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf list = {0};
	char refused[BF_ADDRESS_TEXT_BYTES] = "";
	struct bf_boot_time now = bf_http_now(client);

	append_allowed(client, host, lookup, &list, refused);
	host->is_refused = list.len == 0 && !list.is_failed;
	char *addresses = bf_buf_take(&list);
	if (addresses == NULL) {
		note_failure(client, host, "no memory for its addresses");
		return;
	}
	bf_free(host->addresses);
	host->addresses = NULL;
	host->failed_until = (struct bf_boot_time){0};
	if (host->is_refused) {
		bf_free(addresses);
		host->failed_until = bf_boot_add(now, FAILED);
		(void)snprintf(host->failure, sizeof(host->failure),
				"%.100s is at %s, which is not allowed (--allow-target, "
				"--allow-private-targets)",
				host->name, refused);
		return;
	}
	host->addresses = addresses;
	host->fresh_until = bf_boot_add(now, FRESH);
	host->stale_until = bf_boot_add(now, STALE);
}

void bf_http_hosts_learn(struct bf_http_client *client, struct bf_lookup *lookup)
{
	struct bf_http_host *host = find_host(client, bf_str(lookup->host), lookup->port);

	if (host != NULL) {
		bf_list_remove(&host->lookup_link);
		host->is_asked = false;
		if (lookup->is_found) {
			take_found(client, host, lookup);
		} else {
			note_failure(client, host, lookup->failure);
		}
		bf_http_host_mark(client, host);
	}
	bf_lookup_free(lookup);
}

struct bf_boot_time bf_http_hosts_check(struct bf_http_client *client)
{
	struct bf_boot_time now = bf_http_now(client);

	/* In the order of asking, and so of their deadlines. */
	while (client->lookups.first != NULL) {
		struct bf_http_host *host = BF_CONTAINER(client->lookups.first, struct bf_http_host,
				lookup_link);
		if (is_before(now, host->lookup_until)) {
			return host->lookup_until;
		}
		bf_list_remove(&host->lookup_link);
		note_failure(client, host, "the lookup took too long");
		bf_http_host_mark(client, host);
	}
	return (struct bf_boot_time){INT64_MAX};
}

/* --- starting --- */

enum readiness { READY, WAITING, REFUSED, FAILING };

static enum readiness ask_or_wait(struct bf_http_client *client, struct bf_http_host *host)
{
	struct bf_boot_time now = bf_http_now(client);
	bool is_failed = is_before(now, host->failed_until);

	if (host->is_literal || (host->addresses != NULL && is_before(now, host->fresh_until))) {
		return READY;
	}
	if (!host->is_asked && !is_failed) {
		ask(client, host);
		is_failed = is_before(now, host->failed_until);
	}
	if (host->addresses != NULL && is_before(now, host->stale_until)) {
		return READY;
	}
	if (is_failed) {
		return host->is_refused ? REFUSED : FAILING;
	}
	return host->lookup_link.list != NULL ? WAITING : FAILING;
}

static void fail_call(struct bf_http_call *call, enum bf_answer_kind kind, const char *detail)
{
	const struct bf_answer answer = {
			.kind = kind,
			.is_private = call->host->is_private,
			.detail = bf_str(detail),
	};

	bf_http_call_finish(call, &answer);
}

static void start_call(struct bf_http_host *host, struct bf_http_call *call)
{
	if (bf_http_transfer_start(call) != BELFRY_OK) {
		fail_call(call, BF_ANSWER_UNREACHABLE, call->detail);
		return;
	}
	host->running++;
	bf_list_move(&call->client->running, &call->link);
}

static void pump_host(struct bf_http_client *client, struct bf_http_host *host)
{
	while (host->waiting.first != NULL && host->running < client->options.per_host) {
		struct bf_http_call *call = BF_CONTAINER(host->waiting.first, struct bf_http_call,
				link);
		switch (ask_or_wait(client, host)) {
		case READY: start_call(host, call); break;
		case WAITING: return;
		case REFUSED: fail_call(call, BF_ANSWER_NOT_ALLOWED, host->failure); break;
		case FAILING: fail_call(call, BF_ANSWER_UNREACHABLE, host->failure); break;
		}
	}
}

void bf_http_hosts_pump(struct bf_http_client *client)
{
	while (client->pumps.first != NULL) {
		struct bf_http_host *host = BF_CONTAINER(client->pumps.first, struct bf_http_host,
				pump_link);
		bf_list_remove(&host->pump_link);
		pump_host(client, host);
	}
}

/* --- forgetting --- */

void bf_http_hosts_sweep(struct bf_http_client *client)
{
	struct bf_boot_time now = bf_http_now(client);

	for (size_t i = 0; i < BF_HTTP_BUCKETS; i++) {
		struct bf_link *next;
		for (struct bf_link *link = client->hosts[i].first; link != NULL; link = next) {
			struct bf_http_host *host = BF_CONTAINER(link, struct bf_http_host, link);
			next = link->next;
			if (host->waiting.first == NULL && host->running == 0 && !host->is_asked &&
					!is_before(now, host->stale_until) &&
					!is_before(now, host->failed_until)) {
				free_host(host);
			}
		}
	}
}

void bf_http_hosts_fini(struct bf_http_client *client)
{
	for (size_t i = 0; i < BF_HTTP_BUCKETS; i++) {
		while (client->hosts[i].first != NULL) {
			free_host(BF_CONTAINER(client->hosts[i].first, struct bf_http_host, link));
		}
	}
}
