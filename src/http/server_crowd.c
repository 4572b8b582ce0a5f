/* Too many clients: those that want nothing make room for those that do.
 *
 * Invariants  from seven eighths of a limit on, each new connection ends an old one: of those that are
 *             idle the one that has been so the longest, else of those that have not sent a whole head,
 *             else of those that have not sent their whole body. One whose request is with the handler, or is being
 *             answered, is never ended. So clients that sit there or drip, however many, keep nobody
 *             out. The eighth is for the moment that the library takes to close what was ended.
 *             The library accepts nobody at its limit, so one that was busy and becomes idle thins the
 *             crowd as a new one does.
 * Not here    deadlines (server_reaper.c). The limit of all connections is also the library's: beyond it
 *             clients wait to be accepted. */
#include "http/server_priv.h"

#include <string.h>
#include <sys/socket.h>

#define SAID_EVERY BELFRY_MINUTE

static struct bf_http_connection *connection_at(struct bf_link *link)
{
	return BF_CONTAINER(link, struct bf_http_connection, link);
}

static bool is_of(const struct bf_http_connection *connection, const char *peer)
{
	return peer == NULL || strcmp(connection->peer, peer) == 0;
}

/* The longest in this stage; peer NULL: of anybody. */
static struct bf_http_connection *find_oldest(struct bf_http_server *server,
		enum bf_http_stage stage, const char *peer)
{
	for (struct bf_link *link = server->connections.first; link != NULL; link = link->next) {
		struct bf_http_connection *connection = connection_at(link);
		if (connection->stage == stage && !connection->is_evicted &&
				is_of(connection, peer)) {
			return connection;
		}
	}
	return NULL;
}

/* false: there is none that may be ended. */
static bool evict_oldest(struct bf_http_server *server, const char *peer)
{
	static const enum bf_http_stage order[] = {BF_HTTP_STAGE_IDLE, BF_HTTP_STAGE_HEAD,
			BF_HTTP_STAGE_BODY};
	struct bf_http_connection *oldest = NULL;

	for (size_t i = 0; oldest == NULL && i < BF_COUNT(order); i++) {
		oldest = find_oldest(server, order[i], peer);
	}
	if (oldest == NULL) {
		return false;
	}
	oldest->is_evicted = true;
	server->evicted_count++;
	oldest->until.us = INT64_MAX;
	(void)shutdown(oldest->fd, SHUT_RDWR); /* gone already is as good */
	return true;
}

/* Those that stay; what was ended is closed in a moment, and does not keep a new one out. */
static size_t count_of(const struct bf_http_server *server, const char *peer)
{
	size_t count = 0;

	for (struct bf_link *link = server->connections.first; link != NULL; link = link->next) {
		const struct bf_http_connection *connection = connection_at(link);
		count += is_of(connection, peer) && !connection->is_evicted ? 1 : 0;
	}
	return count;
}

static bool is_near(size_t count, size_t limit)
{
	return count >= limit - limit / 8;
}

/* At most one line a minute; true: it is to be said now. */
static bool take_turn_to_say(struct bf_http_server *server)
{
	const struct bf_env *env = server->options.env;
	struct bf_boot_time now = env->boot(env->data);

	if (server->crowd_said_at.us != 0 &&
			bf_boot_since(now, server->crowd_said_at) < SAID_EVERY) {
		return false;
	}
	server->crowd_said_at = now;
	return true;
}

bool bf_http_crowd_thin(struct bf_http_server *server)
{
	if (!is_near(server->open_count - server->evicted_count,
			    server->options.connection_count)) {
		return false;
	}
	(void)evict_oldest(server, NULL); /* else all are busy, and thinned when they are done */
	return true;
}

bool bf_http_crowd_admit(struct bf_http_server *server, const char *peer)
{
	const struct bf_http_server_options *o = &server->options;
	bool is_admitted = true;

	(void)pthread_mutex_lock(&server->lock); /* cannot fail on a plain mutex */
	size_t open_count = server->open_count;
	bool is_crowded = bf_http_crowd_thin(server);
	/* Counted where it may matter alone: it walks the list. */
	if (o->per_ip_count > 0 && is_near(open_count, o->per_ip_count)) {
		size_t count = count_of(server, peer);
		if (is_near(count, o->per_ip_count)) {
			is_crowded = true;
			count -= evict_oldest(server, peer) ? 1 : 0;
		}
		is_admitted = count < o->per_ip_count;
	}
	bool is_said = is_crowded && take_turn_to_say(server);
	(void)pthread_mutex_unlock(&server->lock);
	if (is_said) {
		bf_log(o->env, BF_LOG_WARNING,
				"event=http_crowded peer=%s open=%zu limit=%u per_address=%u detail=\"clients "
				"are turned away, those that want nothing first\"",
				peer, open_count, o->connection_count, o->per_ip_count);
	}
	return is_admitted;
}
