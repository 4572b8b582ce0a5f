/* Starting and stopping the HTTP server.
 *
 * The order of the stop is what matters: the library aborts the process when it is stopped while a
 * connection is suspended. So: dispatch nothing more (what still comes gets 503 and is closed); end the
 * streams, which wakes them, so that none sleeps any more; wait for
 * the answers that are to come; answer the rest with 503, which wakes every suspended connection; join
 * the workers; let the last answers leave; then stop the library, which closes the listening socket, and
 * the reaper after it (the closing connections still report to it).
 *
 * The library's own way to stop listening early is not used: in its threads the same descriptor is
 * removed once more, and the slower of the two aborts the process. */
#include "http/server.h"

#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

#include "http/server_priv.h"

#define LAST_ANSWERS_TIME BELFRY_SECOND

static enum belfry_status check_options(const struct bf_http_server_options *o,
		struct belfry_error *err)
{
	if (o->size != sizeof(*o) || o->env == NULL || o->address == NULL || o->thread_count == 0 ||
			o->worker_count == 0 || o->queue_count == 0 ||
			o->connection_count < o->thread_count || o->connection_bytes < 2048 ||
			o->body_bytes == 0 || o->all_bodies_bytes < o->body_bytes ||
			o->head_time <= 0 || o->body_time <= 0 || o->idle_time <= 0 ||
			o->send_time <= 0 || o->stop_time < 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"a limit of the HTTP server is out of range");
	}
	return BELFRY_OK;
}

static struct bf_http_server *server_new(const struct bf_http_server_options *options,
		bf_http_handler_fn handler, void *data)
{
	struct bf_http_server *server = bf_alloc(sizeof(*server));

	if (server == NULL) {
		return NULL;
	}
	if (pthread_mutex_init(&server->lock, NULL) != 0 ||
			pthread_mutex_init(&server->streams_lock, NULL) != 0 ||
			pthread_cond_init(&server->work, NULL) != 0) {
		bf_free(server);
		return NULL;
	}
	server->options = *options;
	server->options.address = NULL; /* was the caller's; not needed again */
	server->handler = handler;
	server->data = data;
	server->listen_fd = server->settled_fd = server->tick_fd = -1;
	return server;
}

static void close_if_open(int fd)
{
	if (fd >= 0) {
		(void)close(fd); /* nothing is written to any of them */
	}
}

static void server_free(struct bf_http_server *server)
{
	close_if_open(server->listen_fd);
	close_if_open(server->settled_fd);
	close_if_open(server->tick_fd);
	(void)pthread_cond_destroy(&server->work);
	(void)pthread_mutex_destroy(&server->streams_lock);
	(void)pthread_mutex_destroy(&server->lock);
	bf_free(server);
}

static enum belfry_status open_descriptors(struct bf_http_server *server,
		const struct bf_http_server_options *options, struct belfry_error *err)
{
	enum belfry_status status = bf_http_socket_listen(options->address, options->port,
			&server->listen_fd, &server->port, err);

	if (status == BELFRY_OK) {
		status = bf_http_event_open(&server->settled_fd, err);
	}
	if (status == BELFRY_OK) {
		status = bf_http_event_open(&server->tick_fd, err);
	}
	return status;
}

static enum belfry_status start_threads(struct bf_http_server *server, struct belfry_error *err)
{
	sigset_t all;
	sigset_t before;

	/* Threads inherit the mask: signals are the main thread's alone. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	enum belfry_status status = bf_http_pool_start(server, err);
	if (status == BELFRY_OK) {
		status = bf_http_reaper_start(server, err);
	}
	if (status == BELFRY_OK) {
		status = bf_http_library_start(server, err);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return status;
}

enum belfry_status bf_http_server_start(const struct bf_http_server_options *options,
		bf_http_handler_fn handler, void *data, struct bf_http_server **ret_server,
		struct belfry_error *err)
{
	enum belfry_status status = check_options(options, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct bf_http_server *server = server_new(options, handler, data);
	if (server == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "the HTTP server");
	}
	status = open_descriptors(server, options, err);
	if (status == BELFRY_OK) {
		status = start_threads(server, err);
	}
	if (status != BELFRY_OK) {
		bf_http_server_stop(server);
		return status;
	}
	*ret_server = server;
	return BELFRY_OK;
}

uint16_t bf_http_server_port(const struct bf_http_server *server)
{
	return server->port;
}

void bf_http_server_stop(struct bf_http_server *server)
{
	if (server == NULL) {
		return;
	}
	(void)pthread_mutex_lock(&server->lock);
	server->is_stopping = true;
	(void)pthread_mutex_unlock(&server->lock);
	bf_http_streams_stop(server);
	bf_http_pool_settle(server, server->options.stop_time);
	bf_http_pool_give_up(server);
	bf_http_pool_stop(server);
	bf_http_pool_settle(server, LAST_ANSWERS_TIME);
	bf_http_library_stop(server);
	bf_http_reaper_stop(server);
	server_free(server);
}
