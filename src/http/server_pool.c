/* The workers: a bounded queue of complete requests, and a few threads that call the handler.
 *
 * Invariants  the queue holds a reference of each request in it, and the handler gets exactly that one;
 *             a request is in `flight` from its dispatch to the moment its connection lets go of it,
 *             or until the stop gives it up;
 *             after is_stopping nothing enters queue or flight.
 * It never touches a socket: waking a connection is the library's (server_mhd.c). */
#include "http/server_priv.h"

#include "base/alloc.h"
#include "base/error.h"

#include "http/problem.h"

static void answer_with(struct bf_http_request **request, enum belfry_status status)
{
	struct bf_http_response response;

	bf_http_problem_status(status, bf_http_request_id(*request), &response);
	bf_http_respond(request, &response);
}

/* The next request, NULL when the workers shall end. */
static struct bf_http_request *next_request(struct bf_http_server *server)
{
	struct bf_http_request *request = NULL;

	(void)pthread_mutex_lock(&server->lock);
	while (server->queue.first == NULL && !server->is_workers_end) {
		(void)pthread_cond_wait(&server->work, &server->lock);
	}
	if (server->queue.first != NULL) {
		request = BF_CONTAINER(server->queue.first, struct bf_http_request, queue_link);
		bf_list_remove(&request->queue_link);
	}
	(void)pthread_mutex_unlock(&server->lock);
	return request;
}

static void *run_worker(void *data)
{
	struct bf_http_server *server = data;
	struct bf_http_request *request;

	while ((request = next_request(server)) != NULL) {
		server->handler(server->data, &request);
		if (request != NULL) {
			bf_log(server->options.env, BF_LOG_ERROR,
					"event=http_unanswered request=%s", request->id);
			answer_with(&request, BELFRY_INTERNAL);
		}
	}
	return NULL;
}

enum belfry_status bf_http_pool_start(struct bf_http_server *server, struct belfry_error *err)
{
	unsigned count = server->options.worker_count;

	server->workers = bf_alloc_array(count, sizeof(*server->workers));
	if (server->workers == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "worker table");
	}
	while (server->worker_count < count) {
		int code = pthread_create(&server->workers[server->worker_count], NULL, run_worker,
				server);
		if (code != 0) {
			return bf_error_system(err, BELFRY_INTERNAL, code,
					"a worker thread of the HTTP server does not start");
		}
		server->worker_count++;
	}
	return BELFRY_OK;
}

bool bf_http_pool_dispatch(struct bf_http_server *server, struct bf_http_request *request)
{
	bool is_taken = false;

	(void)pthread_mutex_lock(&server->lock);
	if (!server->is_stopping && server->queue.count < server->options.queue_count) {
		bf_http_request_hold(request);
		bf_list_append(&server->queue, &request->queue_link);
		bf_list_append(&server->flight, &request->flight_link);
		server->flight_count++;
		(void)pthread_cond_signal(&server->work);
		is_taken = true;
	}
	(void)pthread_mutex_unlock(&server->lock);
	return is_taken;
}

bool bf_http_pool_is_stopping(struct bf_http_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	bool is_stopping = server->is_stopping;
	(void)pthread_mutex_unlock(&server->lock);
	return is_stopping;
}

void bf_http_pool_complete(struct bf_http_server *server, struct bf_http_request *request)
{
	(void)pthread_mutex_lock(&server->lock);
	bf_list_remove(&request->flight_link);
	server->bodies_bytes -= request->body.len;
	if (request->is_dispatched) {
		server->flight_count--;
		if (server->is_stopping) {
			bf_http_event_raise(server->settled_fd);
		}
	}
	(void)pthread_mutex_unlock(&server->lock);
}

static bool is_settled(struct bf_http_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	bool is_none = server->flight_count == 0;
	(void)pthread_mutex_unlock(&server->lock);
	return is_none;
}

void bf_http_pool_settle(struct bf_http_server *server, belfry_duration time)
{
	const struct bf_env *env = server->options.env;
	struct bf_boot_time until = bf_boot_add(env->boot(env->data), time);
	belfry_duration left = time;

	while (left > 0 && !is_settled(server)) {
		bf_http_event_wait(server->settled_fd, left);
		left = bf_boot_since(until, env->boot(env->data));
	}
}

/* Takes one request out of the flight, with a reference of the caller's own; NULL: none is left. One
 * that still waits in the queue loses its place there, and with it the worker's reference. */
static struct bf_http_request *take_flight(struct bf_http_server *server)
{
	struct bf_http_request *request = NULL;
	bool is_queued = false;

	(void)pthread_mutex_lock(&server->lock);
	if (server->flight.first != NULL) {
		request = BF_CONTAINER(server->flight.first, struct bf_http_request, flight_link);
		bf_list_remove(&request->flight_link);
		is_queued = request->queue_link.list != NULL;
		bf_list_remove(&request->queue_link);
		if (!is_queued) {
			bf_http_request_hold(request);
		}
	}
	(void)pthread_mutex_unlock(&server->lock);
	return request;
}

void bf_http_pool_give_up(struct bf_http_server *server)
{
	struct bf_http_request *request;

	while ((request = take_flight(server)) != NULL) {
		answer_with(&request, BELFRY_UNAVAILABLE);
	}
}

void bf_http_pool_stop(struct bf_http_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	server->is_workers_end = true;
	(void)pthread_cond_broadcast(&server->work);
	(void)pthread_mutex_unlock(&server->lock);
	for (unsigned i = 0; i < server->worker_count; i++) {
		(void)pthread_join(server->workers[i], NULL); /* ours, joined once */
	}
	bf_free(server->workers);
	server->workers = NULL;
	server->worker_count = 0;
}
