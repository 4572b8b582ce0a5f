/* Streamed answers: when their source is asked, and how their end is found.
 *
 * Life       made (with a response) -> begun (the answer is sent) -> asleep and awake in turn -> ended.
 * Invariants a stream is in server->streams from its beginning to its end; only one that is asleep is
 *            woken, and whoever wakes it has its lock: so a wake-up is never lost and never comes twice.
 *            Once is_streams_end is set none falls asleep any more: the library may be stopped.
 * A client that left is not seen by the library while its connection is suspended. So the reaper looks
 * once a second whether the other end has closed, a sign of life is sent when nothing else was, and the
 * system gives a connection up whose bytes nobody has acknowledged for send_time. A client that does
 * not read has send_time for each piece (server_reaper.c). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* TCP_USER_TIMEOUT */
#endif
#include "http/server_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include "base/alloc.h"

#define LOOK_EVERY BELFRY_SECOND

/* ---- life -------------------------------------------------------------------------------------- */

enum belfry_status bf_http_response_stream(struct bf_http_response *response,
		const struct bf_http_source *source, struct bf_http_stream **ret_stream)
{
	struct bf_http_stream *stream = bf_alloc(sizeof(*stream));

	if (stream == NULL) {
		return BELFRY_NOMEM;
	}
	if (pthread_mutex_init(&stream->lock, NULL) != 0) {
		bf_free(stream);
		return BELFRY_NOMEM;
	}
	atomic_init(&stream->references, 2);
	stream->source = *source;
	response->stream = stream;
	*ret_stream = stream;
	return BELFRY_OK;
}

void bf_http_stream_release(struct bf_http_stream *stream)
{
	if (stream == NULL || atomic_fetch_sub(&stream->references, 1) > 1) {
		return;
	}
	(void)pthread_mutex_destroy(&stream->lock); /* nobody else is left */
	bf_free(stream);
}

static struct bf_boot_time now(const struct bf_http_server *server)
{
	return server->options.env->boot(server->options.env->data);
}

/* How long bytes may stay without an answer from the other end. */
static void limit_silence(const struct bf_http_server *server, int fd)
{
	unsigned ms = (unsigned)BF_MIN(server->options.send_time / BELFRY_MILLISECOND, 3600000);

	/* Else the system's own patience has to do. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
}

void bf_http_stream_begin(struct bf_http_stream *stream, struct bf_http_request *request,
		struct MHD_Connection *transport)
{
	struct bf_http_server *server = request->server;

	limit_silence(server, request->connection->fd);
	(void)pthread_mutex_lock(&server->streams_lock);
	(void)pthread_mutex_lock(&stream->lock);
	stream->server = server;
	stream->connection = request->connection;
	stream->transport = transport;
	stream->quiet_at = bf_boot_add(now(server), stream->source.quiet_time);
	stream->is_ending = server->is_streams_end;
	bf_list_append(&server->streams, &stream->link);
	(void)pthread_mutex_unlock(&stream->lock);
	(void)pthread_mutex_unlock(&server->streams_lock);
}

void bf_http_stream_end(struct bf_http_stream *stream)
{
	struct bf_http_server *server = stream->server;

	if (server != NULL) {
		(void)pthread_mutex_lock(&server->streams_lock);
		bf_list_remove(&stream->link);
		(void)pthread_mutex_lock(&stream->lock);
		stream->transport = NULL;
		stream->is_asleep = false;
		(void)pthread_mutex_unlock(&stream->lock);
		(void)pthread_mutex_unlock(&server->streams_lock);
	}
	stream->source.close(stream->source.data);
	bf_http_stream_release(stream);
}

/* ---- awake and asleep -------------------------------------------------------------------------- */

size_t bf_http_stream_fill(struct bf_http_stream *stream, char *bytes, size_t size)
{
	struct bf_http_server *server = stream->server;
	size_t got = stream->source.read(stream->source.data, bytes, size, stream->is_quiet);

	stream->is_quiet = false;
	if (got > 0) {
		stream->quiet_at = bf_boot_add(now(server), stream->source.quiet_time);
	}
	/* Asleep it has none: all that was read before has left. */
	bf_http_reaper_arm(stream->connection, BF_HTTP_STAGE_ANSWER,
			got > 0 ? server->options.send_time : 0);
	return got;
}

/* Caller holds its lock. */
static void wake(struct bf_http_stream *stream)
{
	if (stream->is_asleep) {
		stream->is_asleep = false;
		bf_http_library_wake(stream->transport);
	}
}

void bf_http_stream_wake(struct bf_http_stream *stream)
{
	(void)pthread_mutex_lock(&stream->lock);
	wake(stream);
	(void)pthread_mutex_unlock(&stream->lock);
}

/* The other end has closed, or the connection has failed. Its descriptor is open while it is asleep. */
static bool has_left(const struct bf_http_stream *stream)
{
	char byte;
	ssize_t got = recv(stream->connection->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

static void look(struct bf_http_stream *stream, struct bf_boot_time at)
{
	(void)pthread_mutex_lock(&stream->lock);
	if (stream->is_asleep && has_left(stream)) {
		stream->is_gone = true;
		wake(stream);
	} else if (stream->is_asleep && at.us >= stream->quiet_at.us) {
		stream->is_quiet = true;
		wake(stream);
	}
	(void)pthread_mutex_unlock(&stream->lock);
}

void bf_http_streams_look(struct bf_http_server *server, struct bf_boot_time at)
{
	if (bf_boot_since(at, server->streams_looked) < LOOK_EVERY) {
		return;
	}
	server->streams_looked = at;
	(void)pthread_mutex_lock(&server->streams_lock);
	for (struct bf_link *link = server->streams.first; link != NULL; link = link->next) {
		look(BF_CONTAINER(link, struct bf_http_stream, link), at);
	}
	(void)pthread_mutex_unlock(&server->streams_lock);
}

void bf_http_streams_stop(struct bf_http_server *server)
{
	(void)pthread_mutex_lock(&server->streams_lock);
	server->is_streams_end = true;
	for (struct bf_link *link = server->streams.first; link != NULL; link = link->next) {
		struct bf_http_stream *stream = BF_CONTAINER(link, struct bf_http_stream, link);
		(void)pthread_mutex_lock(&stream->lock);
		stream->is_ending = true;
		wake(stream);
		(void)pthread_mutex_unlock(&stream->lock);
	}
	(void)pthread_mutex_unlock(&server->streams_lock);
}
