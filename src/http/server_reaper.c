/* The reaper: total deadlines of connections, and their end without loss.
 *
 * Deadlines  the library knows inactivity alone, so a client that sends a byte now and then stays for
 *            ever. Here each connection has the time by which its present part must be over; past it
 *            the reaper shuts the socket down, and the library's thread closes it. It is safe because
 *            a connection leaves the list, under the lock, before its descriptor is closed: one in the
 *            list is never somebody else's.
 * Lingering  closing a socket with unread bytes makes the system throw away what the client has not
 *            read yet, often the very refusal. So an early end keeps a copy of the descriptor, reads
 *            and drops what still comes, and closes it at the client's end, after two seconds, or
 *            after 32 MiB, whatever is first (RFC 9112, 9.6).
 * A connection whose request is with the handler has no deadline: the handler answers for that time. */
#include "http/server_priv.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

#define LINGER_TIME  (2 * BELFRY_SECOND)
#define LINGER_BYTES ((size_t)32 * 1024 * 1024)
#define LINGER_TICK  (10 * BELFRY_MILLISECOND)
#define LINGER_READS 16

static struct bf_boot_time now(const struct bf_http_server *server)
{
	return server->options.env->boot(server->options.env->data);
}

static void set_deadline(struct bf_http_connection *connection, belfry_duration time)
{
	connection->until = time > 0 ? bf_boot_add(now(connection->server), time)
				     : (struct bf_boot_time){INT64_MAX};
}

void bf_http_reaper_add(struct bf_http_connection *connection)
{
	struct bf_http_server *server = connection->server;

	(void)pthread_mutex_lock(&server->lock);
	set_deadline(connection, server->options.head_time);
	bf_list_append(&server->connections, &connection->link);
	server->open_count++;
	(void)pthread_mutex_unlock(&server->lock);
}

void bf_http_reaper_arm(struct bf_http_connection *connection, enum bf_http_stage stage,
		belfry_duration time)
{
	(void)pthread_mutex_lock(&connection->server->lock);
	if (!connection->is_evicted) {
		set_deadline(connection, time);
	}
	connection->stage = stage;
	bf_list_move(&connection->server->connections, &connection->link);
	if (stage == BF_HTTP_STAGE_IDLE) {
		(void)bf_http_crowd_thin(connection->server); /* that it is near was said before */
	}
	(void)pthread_mutex_unlock(&connection->server->lock);
}

static void keep_lingering(struct bf_http_server *server, int fd)
{
	if (server->linger_count == BF_HTTP_LINGER_COUNT || server->is_stopping) {
		return;
	}
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0) {
		return; /* the client may lose the refusal; nothing else depends on it */
	}
	server->lingers[server->linger_count++] = (struct bf_http_linger){
			.fd = copy,
			.left_bytes = LINGER_BYTES,
			.until = bf_boot_add(now(server), LINGER_TIME),
	};
	bf_http_event_raise(server->tick_fd);
}

void bf_http_reaper_remove(struct bf_http_connection *connection)
{
	struct bf_http_server *server = connection->server;

	(void)pthread_mutex_lock(&server->lock);
	bf_list_remove(&connection->link);
	server->open_count--;
	server->evicted_count -= connection->is_evicted ? 1 : 0;
	if (connection->is_early) {
		keep_lingering(server, connection->fd);
	}
	(void)pthread_mutex_unlock(&server->lock);
}

static void reap(struct bf_http_server *server, struct bf_boot_time at)
{
	for (struct bf_link *link = server->connections.first; link != NULL; link = link->next) {
		struct bf_http_connection *connection = BF_CONTAINER(link,
				struct bf_http_connection, link);
		if (connection->until.us <= at.us) {
			connection->until.us = INT64_MAX;
			(void)shutdown(connection->fd, SHUT_RDWR); /* gone already is as good */
			bf_log(server->options.env, BF_LOG_DEBUG, "event=http_deadline peer=%s",
					connection->peer);
		}
	}
}

/* Reads and drops; false: it is over. */
static bool drain(struct bf_http_linger *linger, struct bf_boot_time at)
{
	char waste[16 * 1024];

	for (int i = 0; i < LINGER_READS && linger->left_bytes > 0; i++) {
		ssize_t got = recv(linger->fd, waste, sizeof(waste), MSG_DONTWAIT);
		if (got == 0) {
			return false;
		}
		if (got < 0) {
			break; /* nothing there now; a broken one ends by its time */
		}
		linger->left_bytes -= BF_MIN((size_t)got, linger->left_bytes);
	}
	return linger->left_bytes > 0 && linger->until.us > at.us;
}

/* Under the lock: what the socket threads have left. There is room for as many as come at once; where
 * too many are open already, the new ones are closed at once. */
static void take_lingers(struct bf_http_server *server)
{
	for (size_t i = 0; i < server->linger_count; i++) {
		if (server->drain_count < BF_HTTP_LINGER_COUNT) {
			server->drains[server->drain_count++] = server->lingers[i];
		} else {
			(void)close(server->lingers[i].fd); /* nothing was to be kept */
		}
	}
	server->linger_count = 0;
}

/* Without the lock: reading may take its time. */
static void drain_all(struct bf_http_server *server, struct bf_boot_time at)
{
	for (size_t i = 0; i < server->drain_count;) {
		if (drain(&server->drains[i], at)) {
			i++;
			continue;
		}
		(void)close(server->drains[i].fd); /* nothing was to be kept */
		server->drains[i] = server->drains[--server->drain_count];
	}
}

/* An eighth of the shortest deadline, so that each is kept to that precision. */
static belfry_duration tick_time(const struct bf_http_server *server)
{
	const struct bf_http_server_options *o = &server->options;
	belfry_duration shortest = BF_MIN(BF_MIN(o->head_time, o->body_time),
			BF_MIN(o->idle_time, o->send_time));

	if (server->drain_count > 0) {
		return LINGER_TICK;
	}
	return BF_MAX(BF_MIN(shortest / 8, BELFRY_SECOND), LINGER_TICK);
}

static void *run_reaper(void *data)
{
	struct bf_http_server *server = data;
	bool is_end = false;

	while (!is_end) {
		struct bf_boot_time at = now(server);
		(void)pthread_mutex_lock(&server->lock);
		reap(server, at);
		take_lingers(server);
		is_end = server->is_reaper_end;
		(void)pthread_mutex_unlock(&server->lock);
		drain_all(server, at);
		bf_http_streams_look(server, at);
		if (!is_end) {
			bf_http_event_wait(server->tick_fd, tick_time(server));
		}
	}
	return NULL;
}

enum belfry_status bf_http_reaper_start(struct bf_http_server *server, struct belfry_error *err)
{
	int code = pthread_create(&server->reaper, NULL, run_reaper, server);

	if (code != 0) {
		return bf_error_system(err, BELFRY_INTERNAL, code,
				"the deadline thread of the HTTP server does not start");
	}
	server->has_reaper = true;
	return BELFRY_OK;
}

void bf_http_reaper_stop(struct bf_http_server *server)
{
	if (!server->has_reaper) {
		return;
	}
	(void)pthread_mutex_lock(&server->lock);
	server->is_reaper_end = true;
	bf_http_event_raise(server->tick_fd);
	(void)pthread_mutex_unlock(&server->lock);
	(void)pthread_join(server->reaper, NULL); /* ours, joined once */
	server->has_reaper = false;
	take_lingers(server);
	while (server->drain_count > 0) {
		(void)close(server->drains[--server->drain_count].fd); /* nothing was to be kept */
	}
}
