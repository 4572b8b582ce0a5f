/* The HTTP client's thread: what comes in from other threads, curl's sockets and time, the end of calls.
 *
 * Invariants  curl is touched by this thread alone, and no call is freed or started from within one of
 *             curl's callbacks. A call is in `calls` from its start to just before on_done, so that
 *             stopping finds every one. No lock is held while on_start or on_done runs.
 * Not here    queues and names (http_host.c), one transfer (http_transfer.c). */
#include "host/targets/http_client.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/hash.h"
#include "host/targets/http_client_priv.h"

#ifndef BF_VERSION
#error "the build names the version"
#endif

#define EVENTS               64
#define SWEEP_EVERY          BELFRY_MINUTE
#define MAX_IDLE_CONNECTIONS 4096

static void lock(struct bf_http_client *client)
{
	(void)pthread_mutex_lock(&client->lock); /* fails only for what is a bug */
}

static void unlock(struct bf_http_client *client)
{
	(void)pthread_mutex_unlock(&client->lock);
}

static void wake(struct bf_http_client *client)
{
	uint64_t one = 1;

	/* Fails only when the counter is full, and then it wakes already. */
	(void)!write(client->wake_fd, &one, sizeof(one));
}

static struct bf_list *calls_of(struct bf_http_client *client, struct belfry_id run)
{
	uint64_t hash = bf_hash64(client->seed, run.bytes, sizeof(run.bytes));

	return &client->calls[hash % BF_HTTP_BUCKETS];
}

/* --- from any thread --- */

static void free_call(struct bf_http_call *call)
{
	if (call != NULL) {
		bf_target_url_fini(&call->url);
		bf_buf_fini(&call->headers);
		bf_buf_fini(&call->body);
		bf_free(call);
	}
}

BF_CLEANUP_POINTER(call, struct bf_http_call, free_call)

static enum belfry_status make_call(struct bf_http_client *client,
		const struct bf_http_request *request, struct bf_http_call **ret_call,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_call) struct bf_http_call *call = bf_alloc(sizeof(*call));

	enum belfry_status status = bf_target_method_check(request->method, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (call == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a call");
	}
	status = bf_target_url_parse(request->url, &call->url, err);
	if (status != BELFRY_OK) {
		return status;
	}
	call->client = client;
	call->request = *request;
	memcpy(call->method, request->method.ptr, request->method.len);
	bf_buf_append_str(&call->headers, request->headers);
	if (bf_buf_status(&call->headers) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a call's headers");
	}
	*ret_call = BF_TAKE(call);
	return BELFRY_OK;
}

enum belfry_status bf_http_client_start(struct bf_http_client *client,
		const struct bf_http_request *request, struct belfry_error *err)
{
	struct bf_http_call *call = NULL;

	enum belfry_status status = make_call(client, request, &call, err);
	if (status != BELFRY_OK) {
		return status;
	}
	lock(client);
	bool is_stopping = client->is_stopping;
	if (!is_stopping) {
		bf_list_append(&client->inbox, &call->link);
		bf_list_append(calls_of(client, request->run), &call->key_link);
	}
	unlock(client);
	if (is_stopping) {
		free_call(call);
		return bf_error_set(err, BELFRY_UNAVAILABLE, "the host is stopping");
	}
	wake(client);
	return BELFRY_OK;
}

static bool has_key(const struct bf_http_call *call, struct belfry_id run, belfry_fence fence)
{
	return call->request.fence == fence &&
			memcmp(call->request.run.bytes, run.bytes, sizeof(run.bytes)) == 0;
}

void bf_http_client_cancel(struct bf_http_client *client, struct belfry_id run, belfry_fence fence)
{
	lock(client);
	for (struct bf_link *link = calls_of(client, run)->first; link != NULL; link = link->next) {
		struct bf_http_call *call = BF_CONTAINER(link, struct bf_http_call, key_link);
		if (has_key(call, run, fence)) {
			bf_list_move(&client->cancelled, &call->cancel_link);
		}
	}
	unlock(client);
	wake(client);
}

/* On a thread of the resolver. */
static void take_lookup(void *data, struct bf_lookup *lookup)
{
	struct bf_http_client *client = data;

	lock(client);
	bf_list_append(&client->found, &lookup->link);
	unlock(client);
	wake(client);
}

/* --- the end of a call --- */

void bf_http_call_finish(struct bf_http_call *call, const struct bf_answer *answer)
{
	struct bf_http_client *client = call->client;

	if (call->host != NULL) {
		if (call->link.list == &client->running) {
			call->host->running--;
		}
		bf_http_host_mark(client, call->host);
	}
	lock(client);
	bf_list_remove(&call->link);
	bf_list_remove(&call->key_link);
	bf_list_remove(&call->cancel_link);
	unlock(client);
	call->request.on_done(call->request.data, answer);
	bf_http_transfer_stop(call);
	free_call(call);
}

static void cancel_call(struct bf_http_call *call, const char *detail)
{
	const struct bf_answer answer = {.kind = BF_ANSWER_CANCELLED, .detail = bf_str(detail)};

	bf_http_call_finish(call, &answer);
}

/* --- what came in --- */

static struct bf_link *take_first(struct bf_http_client *client, struct bf_list *list)
{
	lock(client);
	struct bf_link *link = list->first;
	if (link != NULL) {
		bf_list_remove(link);
	}
	unlock(client);
	return link;
}

static void admit_calls(struct bf_http_client *client)
{
	static const struct bf_answer no_memory = {.kind = BF_ANSWER_UNREACHABLE,
			.detail = {"no memory for its host", 22}};
	struct bf_link *link;

	while ((link = take_first(client, &client->inbox)) != NULL) {
		struct bf_http_call *call = BF_CONTAINER(link, struct bf_http_call, link);
		if (bf_http_host_admit(client, call) != BELFRY_OK) {
			bf_http_call_finish(call, &no_memory);
		}
	}
}

/* One that is still in the inbox has no host yet, and ends like the others. */
static void cancel_calls(struct bf_http_client *client)
{
	struct bf_link *link;

	while ((link = take_first(client, &client->cancelled)) != NULL) {
		struct bf_http_call *call = BF_CONTAINER(link, struct bf_http_call, cancel_link);
		cancel_call(call, "the attempt is over");
	}
}

static void learn_lookups(struct bf_http_client *client)
{
	struct bf_link *link;

	while ((link = take_first(client, &client->found)) != NULL) {
		bf_http_hosts_learn(client, BF_CONTAINER(link, struct bf_lookup, link));
	}
}

/* --- curl --- */

static int set_socket(CURL *easy, curl_socket_t fd, int what, void *data, void *socket_data)
{
	struct bf_http_client *client = data;
	struct epoll_event event = {.data = {.fd = fd}};

	(void)easy;
	(void)socket_data;
	if (what == CURL_POLL_REMOVE) {
		/* It may be closed already. */
		(void)epoll_ctl(client->epoll_fd, EPOLL_CTL_DEL, fd, NULL);
		return 0;
	}
	event.events |= (what & CURL_POLL_IN) != 0 ? (uint32_t)EPOLLIN : 0u;
	event.events |= (what & CURL_POLL_OUT) != 0 ? (uint32_t)EPOLLOUT : 0u;
	if (epoll_ctl(client->epoll_fd, EPOLL_CTL_MOD, fd, &event) != 0) {
		/* A failure here would end every call of the handle; so only this one waits for its time
		 * limit. */
		(void)epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, fd, &event);
	}
	return 0;
}

static int set_timer(CURLM *multi, long timeout_ms, void *data)
{
	struct bf_http_client *client = data;

	(void)multi;
	client->curl_due = timeout_ms < 0
			? (struct bf_boot_time){INT64_MAX}
			: bf_boot_add(bf_http_now(client), timeout_ms * BELFRY_MILLISECOND);
	return 0;
}

static void act(struct bf_http_client *client, curl_socket_t fd, int mask)
{
	int running;

	/* What it returns concerns the multi handle itself; each call's end comes as a message. */
	(void)curl_multi_socket_action(client->multi, fd, mask, &running);
}

static void reap(struct bf_http_client *client)
{
	CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(client->multi, &left)) != NULL) {
		struct bf_http_call *call = NULL;
		struct bf_answer answer;
		if (message->msg != CURLMSG_DONE ||
				curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call) !=
						CURLE_OK) {
			continue;
		}
		bf_http_transfer_read(call, message->data.result, &answer);
		bf_http_call_finish(call, &answer);
	}
}

static void handle_event(struct bf_http_client *client, const struct epoll_event *event)
{
	int mask = 0;

	if (event->data.fd == client->wake_fd) {
		uint64_t count;
		(void)!read(client->wake_fd, &count, sizeof(count)); /* never blocks */
		return;
	}
	mask |= (event->events & (uint32_t)EPOLLIN) != 0 ? CURL_CSELECT_IN : 0;
	mask |= (event->events & (uint32_t)EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0;
	mask |= (event->events & (uint32_t)(EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0;
	act(client, event->data.fd, mask);
}

/* --- the loop --- */

static void step(struct bf_http_client *client)
{
	admit_calls(client);
	cancel_calls(client);
	learn_lookups(client);
	bf_http_hosts_pump(client);
	if (client->curl_due.us <= bf_http_now(client).us) {
		client->curl_due = (struct bf_boot_time){INT64_MAX};
		act(client, CURL_SOCKET_TIMEOUT, 0);
	}
	reap(client);
	if (client->sweep_due.us <= bf_http_now(client).us) {
		bf_http_hosts_sweep(client);
		client->sweep_due = bf_boot_add(bf_http_now(client), SWEEP_EVERY);
	}
}

static int wait_ms(struct bf_http_client *client)
{
	struct bf_boot_time due = bf_http_hosts_check(client);

	due.us = BF_MIN(due.us, BF_MIN(client->curl_due.us, client->sweep_due.us));
	if (client->pumps.first != NULL) {
		return 0;
	}
	int64_t wait = bf_boot_since(due, bf_http_now(client));
	/* Rounded up, else the last millisecond is spent turning. */
	return wait <= 0 ? 0 : (int)((wait + BELFRY_MILLISECOND - 1) / BELFRY_MILLISECOND);
}

static bool is_stopping(struct bf_http_client *client)
{
	lock(client);
	bool is_stopping = client->is_stopping;
	unlock(client);
	return is_stopping;
}

static void cancel_everything(struct bf_http_client *client)
{
	for (size_t i = 0; i < BF_HTTP_BUCKETS; i++) {
		while (client->calls[i].first != NULL) {
			cancel_call(BF_CONTAINER(client->calls[i].first, struct bf_http_call,
						    key_link),
					"the host is stopping");
		}
	}
}

static void *run(void *data)
{
	struct bf_http_client *client = data;
	struct epoll_event events[EVENTS];

	while (!is_stopping(client)) {
		step(client);
		int count = epoll_wait(client->epoll_fd, events, EVENTS, wait_ms(client));
		for (int i = 0; i < count; i++) {
			handle_event(client, &events[i]);
		}
		reap(client);
	}
	cancel_everything(client);
	return NULL;
}

/* --- making and freeing --- */

static long max_idle(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur / 2 >= MAX_IDLE_CONNECTIONS) {
		return MAX_IDLE_CONNECTIONS;
	}
	return (long)BF_MAX(limit.rlim_cur / 2, 16);
}

static bool set_multi(struct bf_http_client *client)
{
	CURLM *multi = client->multi;
	bool is_ok = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, set_socket) == CURLM_OK;

	is_ok = is_ok && curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, client) == CURLM_OK;
	is_ok = is_ok && curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer) == CURLM_OK;
	is_ok = is_ok && curl_multi_setopt(multi, CURLMOPT_TIMERDATA, client) == CURLM_OK;
	is_ok = is_ok && curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, max_idle()) == CURLM_OK;
	return is_ok && curl_multi_setopt(multi, CURLMOPT_PIPELINING, CURLPIPE_NOTHING) == CURLM_OK;
}

/* Everything but the thread. */
static void free_parts(struct bf_http_client *client)
{
	struct bf_link *link;

	if (client == NULL) {
		return;
	}
	bf_resolver_free(client->resolver);
	while ((link = take_first(client, &client->found)) != NULL) {
		bf_lookup_free(BF_CONTAINER(link, struct bf_lookup, link));
	}
	bf_http_hosts_fini(client);
	if (client->multi != NULL) {
		(void)curl_multi_cleanup(client->multi); /* no handle is left in it */
	}
	if (client->epoll_fd >= 0) {
		(void)close(client->epoll_fd); /* nothing was written */
	}
	if (client->wake_fd >= 0) {
		(void)close(client->wake_fd);
	}
	(void)pthread_mutex_destroy(&client->lock);
	curl_global_cleanup();
	bf_free(client->user_agent);
	bf_free(client);
}

BF_CLEANUP_POINTER(client, struct bf_http_client, free_parts)

static enum belfry_status open_parts(struct bf_http_client *client)
{
	struct epoll_event event = {.events = EPOLLIN};
	const struct bf_http_client_options *options = &client->options;

	options->env->random(options->env->data, &client->seed, sizeof(client->seed));
	client->user_agent = bf_str_dup(BF_STR("belfry/" BF_VERSION));
	client->multi = curl_multi_init();
	if (client->user_agent == NULL || client->multi == NULL || !set_multi(client)) {
		return BELFRY_NOMEM;
	}
	client->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	event.data.fd = client->wake_fd;
	if (client->epoll_fd < 0 || client->wake_fd < 0 ||
			epoll_ctl(client->epoll_fd, EPOLL_CTL_ADD, client->wake_fd, &event) != 0) {
		return BELFRY_UNAVAILABLE;
	}
	return bf_resolver_new(options->max_lookups, options->lookup, options->lookup_data,
			take_lookup, client, &client->resolver);
}

static enum belfry_status start_thread(struct bf_http_client *client)
{
	sigset_t all;
	sigset_t old;

	/* Signals belong to the main thread; SIGPIPE of a broken TLS connection stays unseen. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	int code = pthread_create(&client->thread, NULL, run, client);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	errno = code;
	return code == 0 ? BELFRY_OK : BELFRY_UNAVAILABLE;
}

enum belfry_status bf_http_client_new(const struct bf_http_client_options *options,
		struct bf_http_client **ret_client, struct belfry_error *err)
{
	if (options->env == NULL || options->per_host == 0) {
		return bf_error_set(err, BELFRY_INVALID, "the client needs env and per_host");
	}
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "curl cannot start");
	}
	BF_CLEANUP(bf_cleanup_client) struct bf_http_client *client = bf_alloc(sizeof(*client));
	if (client == NULL) {
		curl_global_cleanup();
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for the HTTP client");
	}
	client->options = *options;
	client->epoll_fd = -1;
	client->wake_fd = -1;
	client->curl_due = (struct bf_boot_time){INT64_MAX};
	(void)pthread_mutex_init(&client->lock, NULL); /* default attributes cannot fail */
	enum belfry_status status = open_parts(client);
	if (status == BELFRY_OK) {
		status = start_thread(client);
	}
	if (status != BELFRY_OK) {
		return bf_error_system(err, status, errno, "the HTTP client cannot start");
	}
	*ret_client = BF_TAKE(client);
	return BELFRY_OK;
}

void bf_http_client_free(struct bf_http_client *client)
{
	if (client == NULL) {
		return;
	}
	lock(client);
	client->is_stopping = true;
	unlock(client);
	wake(client);
	(void)pthread_join(client->thread, NULL);
	free_parts(client);
}
