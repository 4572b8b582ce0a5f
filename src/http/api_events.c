/* GET /v1/events: server-sent events, hints from the hub (host/events.h) to whoever reads again.
 *
 *   retry: 2741
 *
 *   event: resync
 *   data: {}
 *
 *   event: changed
 *   data: {"deployment_id": "..."}
 *
 * Threads  one waits for the hub's next batch and wakes the streams; the server's own read the hub for
 *          each of them when its socket takes more.
 * Locks    events->lock (who listens), before a stream's, before the hub's. A stream is read under its
 *          lock, and so without events->lock; it is closed under none.
 * Limits   of all streams and of those of one token; a place is free once the server has let go of the
 *          connection. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/id.h"
#include "base/list.h"
#include "http/api_priv.h"

#define RETRY_MS       2000 /* and up to as long again, so that not all come back at once */
#define EVENT_BYTES    88   /* of a change, and of everything else that is written at once */
#define CHANGES_AT_ONE 64

struct bf_api_events {
	struct bf_api_events_options options;
	pthread_mutex_t lock;
	struct bf_list listeners;
	pthread_t publisher;
};

struct listener {
	struct bf_link link; /* under events->lock */
	struct bf_api_events *events;
	struct belfry_id token;
	struct bf_http_stream *stream;
	struct bf_events_reader reader; /* of the thread that reads it */
	bool is_begun;                  /* the same */
};

/* ---- what is written --------------------------------------------------------------------------- */

static size_t put(char *bytes, size_t size, const char *text)
{
	int len = snprintf(bytes, size, "%s", text);

	return BF_MIN((size_t)BF_MAX(len, 0), size);
}

static size_t put_beginning(struct listener *listener, char *bytes, size_t size)
{
	const struct bf_env *env = listener->events->options.env;
	uint16_t more = 0;
	char text[EVENT_BYTES];

	listener->is_begun = true;
	env->random(env->data, &more, sizeof(more));
	(void)snprintf(text, sizeof(text), "retry: %d\n\n", RETRY_MS + more % RETRY_MS);
	return put(bytes, size, text);
}

/* An id has no byte that JSON would escape. */
static size_t put_change(struct belfry_id id, char *bytes, size_t size)
{
	char text[BELFRY_ID_TEXT_BYTES];
	char event[EVENT_BYTES];

	belfry_id_format(id, text);
	(void)snprintf(event, sizeof(event),
			"event: changed\ndata: {\"deployment_id\": \"%s\"}\n\n", text);
	return put(bytes, size, event);
}

static size_t put_news(struct listener *listener, char *bytes, size_t size)
{
	struct belfry_id ids[CHANGES_AT_ONE];
	size_t max = BF_MIN(size / EVENT_BYTES, (size_t)CHANGES_AT_ONE);
	size_t used = 0;
	bool is_resync = false;

	/* A resync comes alone, so that there is room for it. */
	size_t count = bf_events_read(listener->events->options.events, &listener->reader, max, ids,
			&is_resync);
	if (is_resync) {
		return put(bytes, size, "event: resync\ndata: {}\n\n");
	}
	for (size_t i = 0; i < count; i++) {
		used += put_change(ids[i], bytes + used, size - used);
	}
	return used;
}

static size_t read_listener(void *data, char *bytes, size_t size, bool is_quiet)
{
	struct listener *listener = data;
	size_t used = listener->is_begun ? put_news(listener, bytes, size)
					 : put_beginning(listener, bytes, size);

	return used == 0 && is_quiet ? put(bytes, size, ": still here\n\n") : used;
}

/* ---- who listens ------------------------------------------------------------------------------- */

static void free_listener(struct listener *listener)
{
	bf_http_stream_release(listener->stream);
	bf_free(listener);
}

static void close_listener(void *data)
{
	struct listener *listener = data;
	struct bf_api_events *events = listener->events;

	(void)pthread_mutex_lock(&events->lock); /* cannot fail on a plain mutex */
	bf_list_remove(&listener->link);
	(void)pthread_mutex_unlock(&events->lock);
	bf_events_leave(events->options.events);
	free_listener(listener);
}

static size_t count_of(const struct bf_api_events *events, struct belfry_id token)
{
	size_t count = 0;

	for (struct bf_link *link = events->listeners.first; link != NULL; link = link->next) {
		const struct listener *other = BF_CONTAINER(link, struct listener, link);
		count += bf_id_compare(other->token, token) == 0 ? 1 : 0;
	}
	return count;
}

static enum belfry_status refuse(const char *setting, unsigned limit, const char *whose,
		struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_RATE_LIMITED,
			"%s: %u streams of %s are open already; close one, or come back later",
			setting, limit, whose);
}

/* Takes a place for it. */
static enum belfry_status admit(struct bf_api_events *events, struct listener *listener,
		struct belfry_error *err)
{
	const struct bf_api_events_options *o = &events->options;
	enum belfry_status status = BELFRY_OK;

	(void)pthread_mutex_lock(&events->lock);
	if (events->listeners.count >= o->stream_count) {
		status = refuse("streams", o->stream_count, "all", err);
	} else if (count_of(events, listener->token) >= o->token_count) {
		status = refuse("streams_per_token", o->token_count, "this token", err);
	} else {
		bf_list_append(&events->listeners, &listener->link);
	}
	(void)pthread_mutex_unlock(&events->lock);
	return status;
}

static enum belfry_status begin_stream(struct bf_api_call *call, struct belfry_error *err)
{
	struct bf_api_events *events = call->api->events;
	struct listener *listener = bf_alloc(sizeof(*listener));
	struct bf_http_source source = {listener, read_listener, close_listener,
			events->options.quiet_time};

	if (listener == NULL) {
		return bf_api_no_memory(err);
	}
	listener->events = events;
	listener->token = call->token;
	enum belfry_status status = bf_http_response_stream(&call->response, &source,
			&listener->stream);
	if (status != BELFRY_OK) {
		bf_free(listener);
		return bf_api_no_memory(err);
	}
	/* From here on the response closes it. */
	bf_events_join(events->options.events, &listener->reader);
	return admit(events, listener, err);
}

enum belfry_status bf_api_stream_events(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const no_parameters[] = {NULL};
	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);

	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK && call->api->events == NULL) {
		status = bf_error_set(err, BELFRY_NOT_FOUND, "this host offers no events");
	}
	if (status == BELFRY_OK && bf_http_request_method(call->request) != BF_HTTP_METHOD_HEAD) {
		status = begin_stream(call, err);
	}
	if (status == BELFRY_OK) {
		call->response.status = 200;
		call->response.content_type = "text/event-stream";
		bf_http_response_put_header(&call->response, "Cache-Control", BF_STR("no-store"));
		bf_http_response_put_header(&call->response, "X-Accel-Buffering", BF_STR("no"));
	}
	return status;
}

size_t bf_api_events_count(struct bf_api_events *events)
{
	(void)pthread_mutex_lock(&events->lock);
	size_t count = events->listeners.count;
	(void)pthread_mutex_unlock(&events->lock);
	return count;
}

/* ---- publishing -------------------------------------------------------------------------------- */

static void *publish(void *data)
{
	struct bf_api_events *events = data;

	while (bf_events_wait(events->options.events)) {
		(void)pthread_mutex_lock(&events->lock);
		for (struct bf_link *link = events->listeners.first; link != NULL;
				link = link->next) {
			bf_http_stream_wake(BF_CONTAINER(link, struct listener, link)->stream);
		}
		(void)pthread_mutex_unlock(&events->lock);
	}
	return NULL;
}

static int start_publisher(struct bf_api_events *events)
{
	sigset_t all;
	sigset_t before;

	/* Threads inherit the mask: signals are the main thread's alone. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int code = pthread_create(&events->publisher, NULL, publish, events);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return code;
}

enum belfry_status bf_api_events_start(const struct bf_api_events_options *options,
		struct bf_api_events **ret_events, struct belfry_error *err)
{
	struct bf_api_events *events = bf_alloc(sizeof(*events));

	if (events == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "the streams of events");
	}
	events->options = *options;
	(void)pthread_mutex_init(&events->lock, NULL); /* default kind: cannot fail */
	int code = start_publisher(events);
	if (code != 0) {
		(void)pthread_mutex_destroy(&events->lock); /* nobody holds it */
		bf_free(events);
		return bf_error_system(err, BELFRY_INTERNAL, code,
				"the thread that publishes events does not start");
	}
	*ret_events = events;
	return BELFRY_OK;
}

void bf_api_events_stop(struct bf_api_events *events)
{
	if (events == NULL) {
		return;
	}
	bf_events_end(events->options.events);
	(void)pthread_join(events->publisher, NULL); /* ours, joined once */
	(void)pthread_mutex_destroy(&events->lock);  /* nobody holds it */
	bf_free(events);
}
