/* The library behind the server, GNU libmicrohttpd; this file and server_mhd_send.c alone know it. An
 * epoll loop in each of a few threads; everything here runs in them, except start, stop and wake.
 *
 * A connection that waits for its answer is suspended. The library's rule: it may be suspended from
 * inside the request callback alone (a stream: from its reader, server_mhd_stream.c), and the test "is
 * there an answer?" and the suspension must be one step, or the wake-up of an answer in between is lost.
 * request->lock makes them one (finish, bf_http_respond).
 *
 * Known faults of version 0.9.75 that are dealt with here and in server_head.c:
 *   - it stops at a NUL in a header, and joins folded lines wrongly: bf_http_head_check_raw;
 *   - it accepts several Host or Content-Length, and both lengths at once: bf_http_head_check;
 *   - its timeout is one of inactivity: server_reaper.c;
 *   - it cannot answer in the middle of a body: bf_http_mhd_refuse_midway writes past it;
 *   - with more parameters than it has memory for it falls silent and never calls back, or, while it is
 *     being stopped, crashes: is_target_fit, hide_query;
 *   - its strict mode refuses a missing Host and a space in the target, as bf_http_head_check does, but
 *     writes the head of that refusal twice: strict mode is for later versions;
 *   - it aborts the process when it is stopped with a connection suspended, and now and then when it is
 *     told to stop listening, because two threads race for one removal: server.c, the stop. */
#include "http/server_mhd_priv.h"

#include <stdio.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

#include "http/problem.h"

#define REFUSED_TIME    (2 * BELFRY_SECOND) /* for a client to read why it was refused */
#define PARAMETER_BYTES 64                  /* at most, in the library's memory */

/* --- the head --- */

static enum MHD_Result collect_field(void *data, enum MHD_ValueKind kind, const char *name,
		size_t name_len, const char *value, size_t value_len)
{
	struct bf_http_request *request = data;

	(void)kind;
	request->header_items[request->headers.count++] = (struct bf_http_pair){
			.name = {name, name_len},
			.value = {value != NULL ? value : "", value_len},
	};
	return MHD_YES;
}

/* The fields as they lie in the library's memory. */
static enum belfry_status collect_fields(struct bf_http_request *request,
		struct MHD_Connection *mhd)
{
	int count = MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, NULL, NULL);

	request->header_items = bf_alloc_array((size_t)BF_MAX(count, 1),
			sizeof(*request->header_items));
	if (request->header_items == NULL) {
		return BELFRY_NOMEM;
	}
	request->headers.items = request->header_items;
	(void)MHD_get_connection_values_n(mhd, MHD_HEADER_KIND, collect_field, request);
	return BELFRY_OK;
}

static struct belfry_str copy_text(char **at, struct belfry_str text)
{
	struct belfry_str copy = {*at, text.len};

	memcpy(*at, text.ptr, text.len);
	*at += text.len;
	return copy;
}

/* Moves the fields into the request's own memory, which outlives the connection's; white space behind
 * a value is dropped. */
static enum belfry_status keep_fields(struct bf_http_request *request)
{
	size_t total = 1;

	for (size_t i = 0; i < request->headers.count; i++) {
		struct bf_http_pair *pair = &request->header_items[i];
		while (pair->value.len > 0 &&
				(pair->value.ptr[pair->value.len - 1] == ' ' ||
						pair->value.ptr[pair->value.len - 1] == '\t')) {
			pair->value.len--;
		}
		total += pair->name.len + pair->value.len;
	}
	char *at = request->header_text = bf_alloc(total);
	if (at == NULL) {
		return BELFRY_NOMEM;
	}
	for (size_t i = 0; i < request->headers.count; i++) {
		struct bf_http_pair *pair = &request->header_items[i];
		pair->name = copy_text(&at, pair->name);
		pair->value = copy_text(&at, pair->value);
	}
	return BELFRY_OK;
}

static enum belfry_status check_raw(struct bf_http_request *request, struct MHD_Connection *mhd,
		const char *method, const char *version, struct belfry_error *err)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd,
			MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE);
	struct bf_http_raw_head raw = {
			.bytes = method,
			.len = info != NULL ? info->header_size : 0,
			.target = request->target_at,
			.target_len = strlen(request->target_text),
			.version = version,
	};

	return bf_http_head_check_raw(&raw, &request->headers, err);
}

static enum belfry_status read_head(struct bf_http_request *request, struct MHD_Connection *mhd,
		const char *method, const char *version, struct belfry_error *err)
{
	const struct bf_http_server *server = request->server;
	enum belfry_status status = collect_fields(request, mhd);

	if (status == BELFRY_OK && server->is_old_parser) {
		status = check_raw(request, mhd, method, version, err);
	}
	if (status == BELFRY_OK) {
		status = keep_fields(request);
	}
	if (status == BELFRY_NOMEM) {
		return bf_error_system(err, status, 0, "the head of a request");
	}
	struct bf_http_head head = {bf_str(method), bf_str(version), request->headers};
	if (status == BELFRY_OK) {
		status = bf_http_head_check(&head, &request->method, &request->framing, err);
	}
	if (status == BELFRY_OK) {
		status = bf_http_target_parse(bf_str(request->target_text), &request->target, err);
	}
	return status;
}

/* Whoever may not ask is not told how large a body may be. */
static enum belfry_status judge_head(const struct bf_http_request *request,
		struct belfry_error *err)
{
	const struct bf_http_server *server = request->server;
	const struct bf_http_server_options *o = &server->options;
	enum belfry_status status = o->judge != NULL ? o->judge(server->data, request, err)
						     : BELFRY_OK;

	if (status == BELFRY_OK && request->framing.length_bytes > (int64_t)o->body_bytes) {
		status = bf_error_set(err, BELFRY_TOO_LARGE,
				"the body has %lld bytes, at most %zu are taken",
				(long long)request->framing.length_bytes, o->body_bytes);
	}
	return status;
}

static enum MHD_Result begin(struct bf_http_request *request, struct MHD_Connection *mhd,
		const char *method, const char *version)
{
	struct belfry_error err = {0};

	request->is_head_read = true;
	enum belfry_status status = read_head(request, mhd, method, version, &err);
	if (status == BELFRY_OK) {
		status = judge_head(request, &err);
	}
	if (status != BELFRY_OK) {
		return bf_http_mhd_refuse(request, mhd, &err);
	}
	bf_http_reaper_arm(request->connection, BF_HTTP_STAGE_BODY,
			request->server->options.body_time);
	return MHD_YES;
}

/* --- the body --- */

static bool reserve_body(struct bf_http_server *server, size_t len)
{
	(void)pthread_mutex_lock(&server->lock);
	bool is_free = server->options.all_bodies_bytes - server->bodies_bytes >= len;
	server->bodies_bytes += is_free ? len : 0;
	(void)pthread_mutex_unlock(&server->lock);
	return is_free;
}

static enum MHD_Result take_body(struct bf_http_request *request, const char *bytes, size_t *len)
{
	struct bf_http_server *server = request->server;
	struct belfry_error err = {.status = BELFRY_BUSY};

	if (*len > server->options.body_bytes - request->body.len) {
		(void)bf_error_set(&err, BELFRY_TOO_LARGE, "the body is longer than %zu bytes",
				server->options.body_bytes);
		return bf_http_mhd_refuse_midway(request, &err);
	}
	if (!reserve_body(server, *len)) {
		return bf_http_mhd_refuse_midway(request, &err);
	}
	size_t before = request->body.len;
	bf_buf_append(&request->body, bytes, *len);
	if (request->body.len == before) {
		(void)pthread_mutex_lock(&server->lock);
		server->bodies_bytes -= *len;
		(void)pthread_mutex_unlock(&server->lock);
		err.status = BELFRY_NOMEM;
		return bf_http_mhd_refuse_midway(request, &err);
	}
	*len = 0;
	return MHD_YES;
}

/* Everything is there: to the workers, and to sleep; or, when woken, the answer. */
static enum MHD_Result finish(struct bf_http_request *request, struct MHD_Connection *mhd)
{
	struct bf_http_response answer = {0};
	bool is_answered;

	request->is_whole = true;
	(void)pthread_mutex_lock(&request->lock); /* cannot fail on a plain mutex */
	if (!request->is_dispatched && !request->is_answered) {
		request->transport = mhd;
		bf_http_reaper_arm(request->connection, BF_HTTP_STAGE_ANSWER, 0);
		request->is_dispatched = bf_http_pool_dispatch(request->server, request);
		if (!request->is_dispatched) {
			bf_http_problem_status(BELFRY_BUSY, bf_str(request->id), &request->answer);
			request->answer.is_close = bf_http_pool_is_stopping(request->server);
			request->is_answered = true;
		}
	}
	is_answered = request->is_answered;
	if (is_answered) {
		answer = request->answer;
		request->answer = (struct bf_http_response){0};
	} else {
		request->is_asleep = true;
		MHD_suspend_connection(mhd);
	}
	(void)pthread_mutex_unlock(&request->lock);
	return is_answered ? bf_http_mhd_send(request, mhd, &answer) : MHD_YES;
}

void bf_http_library_wake(struct MHD_Connection *transport)
{
	MHD_resume_connection(transport);
}

/* --- the library's callbacks --- */

static struct bf_http_connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd,
			MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info != NULL ? info->socket_context : NULL;
}

/* Does the library have the memory to take this target apart? It keeps a record for each parameter
 * beside the head itself. */
static bool is_target_fit(const struct bf_http_server *server, struct belfry_str target)
{
	size_t parts = 1;

	for (size_t i = 0; i < target.len; i++) {
		parts += target.ptr[i] == '&' ? 1 : 0;
	}
	return parts <= BF_HTTP_PARAMETERS &&
			target.len + parts * PARAMETER_BYTES <=
			server->options.connection_bytes / 4 * 3;
}

/* Takes the parameters out of the library's own memory, where it is about to read them: it then makes no
 * records of them, and finds nothing that is too much for it. */
static void hide_query(const char *target)
{
	const char *mark = target != NULL ? strchr(target, '?') : NULL;

	if (mark != NULL && mark[1] != '\0') {
		((char *)(uintptr_t)mark)[1] = '\0';
	}
}

/* Answers past the library, which may not call back any more, and lets the connection end. */
static void refuse_target(struct bf_http_request *request)
{
	struct bf_http_connection *connection = request->connection;
	struct belfry_error err = {0};

	(void)bf_error_set(&err, BELFRY_INVALID,
			"the address is too long, or has too many parts: at most %d segments and %d "
			"parameters",
			BF_HTTP_SEGMENTS, BF_HTTP_PARAMETERS);
	hide_query(request->target_at);
	bf_http_mhd_write_refusal(request, &err);
	request->is_refused = true;
	connection->is_early = true;
	(void)shutdown(connection->fd, SHUT_WR); /* gone already is as good */
	bf_http_reaper_arm(connection, BF_HTTP_STAGE_BODY, REFUSED_TIME);
}

/* The request line is there, and nothing has been cut off it yet. What this returns is the request of
 * the calls that follow; the connection keeps it, because there may be none. */
static void *on_target(void *data, const char *target, struct MHD_Connection *mhd)
{
	struct bf_http_server *server = data;
	struct bf_http_connection *connection = connection_of(mhd);
	struct bf_http_request *request = connection != NULL ? bf_http_request_new(server) : NULL;

	if (request == NULL) {
		return NULL;
	}
	request->connection = connection;
	request->target_at = target;
	request->target_text = bf_strndup(target, target != NULL ? strlen(target) : 0);
	memcpy(request->peer, connection->peer, sizeof(request->peer));
	if (request->target_text == NULL) {
		bf_http_request_release(request);
		return NULL;
	}
	bf_http_request_release(connection->begun);
	connection->begun = request;
	if (connection->is_served) {
		bf_http_reaper_arm(connection, BF_HTTP_STAGE_HEAD, server->options.head_time);
	}
	if (!is_target_fit(server, bf_str(request->target_text))) {
		refuse_target(request);
	}
	return request;
}

static enum MHD_Result on_request(void *data, struct MHD_Connection *mhd, const char *url,
		const char *method, const char *version, const char *bytes, size_t *len,
		void **request_place)
{
	struct bf_http_request *request = *request_place;

	(void)data;
	(void)url;
	if (request == NULL || request->is_refused) {
		return MHD_NO;
	}
	if (!request->is_head_read) {
		return begin(request, mhd, method, version);
	}
	return *len > 0 ? take_body(request, bytes, len) : finish(request, mhd);
}

static void on_completed(void *data, struct MHD_Connection *mhd, void **request_place,
		enum MHD_RequestTerminationCode how)
{
	struct bf_http_server *server = data;
	struct bf_http_request *request = *request_place;

	(void)mhd;
	(void)how;
	if (request == NULL) {
		return;
	}
	*request_place = NULL;
	(void)pthread_mutex_lock(&request->lock);
	request->transport = NULL;
	request->is_asleep = false;
	(void)pthread_mutex_unlock(&request->lock);
	request->connection->is_served = true;
	request->connection->is_early = !request->is_whole;
	bf_http_reaper_arm(request->connection, BF_HTTP_STAGE_IDLE, server->options.idle_time);
	bf_http_pool_complete(server, request);
	request->connection->begun = NULL;
	bf_http_request_release(request);
}

/* The library's own limit for one address is not used: it closes without a word. */
static enum MHD_Result on_accept(void *data, const struct sockaddr *address, socklen_t len)
{
	char peer[BF_HTTP_PEER_BYTES];

	(void)len;
	bf_http_socket_peer(address, peer);
	return bf_http_crowd_admit(data, peer) ? MHD_YES : MHD_NO;
}

static void *open_connection(struct bf_http_server *server, struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd,
			MHD_CONNECTION_INFO_CONNECTION_FD);
	struct bf_http_connection *connection = bf_alloc(sizeof(*connection));

	if (info == NULL || connection == NULL) {
		bf_free(connection);
		return NULL; /* its first request closes it */
	}
	connection->server = server;
	connection->fd = info->connect_fd;
	info = MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	bf_http_socket_peer(info != NULL ? info->client_addr : NULL, connection->peer);
	bf_http_reaper_add(connection);
	return connection;
}

static void close_connection(struct bf_http_connection *connection)
{
	bf_http_reaper_remove(connection);
	bf_http_request_release(connection->begun); /* the library never came to call for it */
	bf_free(connection);
}

static void on_connection(void *data, struct MHD_Connection *mhd, void **place,
		enum MHD_ConnectionNotificationCode what)
{
	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*place = open_connection(data, mhd);
	} else if (*place != NULL) {
		close_connection(*place);
		*place = NULL;
	}
}

/* The library decodes nothing: server_target.c does it once, and strictly. */
static size_t keep_escapes(void *data, struct MHD_Connection *mhd, char *text)
{
	(void)data;
	(void)mhd;
	return strlen(text);
}

BF_PRINTF(2, 0) static void on_message(void *data, const char *format, va_list args)
{
	const struct bf_http_server *server = data;
	char text[256];

	int len = vsnprintf(text, sizeof(text), format, args);
	for (int i = 0; i < len && i < (int)sizeof(text) - 1; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == '"') {
			text[i] = ' ';
		}
	}
	if (len >= 0) {
		bf_log(server->options.env, BF_LOG_DEBUG, "event=http_library message=\"%s\"",
				text);
	}
}

/* --- start and stop --- */

/* 0.9.75 and before; later ones refuse a NUL and join folded lines rightly by themselves. */
static bool is_old_version(struct belfry_str version)
{
	struct belfry_str old = BF_STR("0.9.");
	int64_t patch;

	return bf_str_starts_with(version, old) &&
			(bf_str_parse_int(bf_str_slice(version, old.len, old.len + 2), 0, 99,
					 &patch) != BELFRY_OK ||
					patch <= 75);
}

enum belfry_status bf_http_library_start(struct bf_http_server *server, struct belfry_error *err)
{
	const struct bf_http_server_options *o = &server->options;
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ITC |
			MHD_USE_ERROR_LOG;
	/* A pool of one is no pool to the library: 0 is its word for it. */
	unsigned pool = o->thread_count > 1 ? o->thread_count : 0;

	server->is_old_parser = is_old_version(bf_str(MHD_get_version()));
	int strict = server->is_old_parser ? 0 : 1;
	server->daemon = MHD_start_daemon(flags, 0, on_accept, server, on_request, server,
			MHD_OPTION_EXTERNAL_LOGGER, on_message, server, MHD_OPTION_LISTEN_SOCKET,
			server->listen_fd, MHD_OPTION_THREAD_POOL_SIZE, pool,
			MHD_OPTION_CONNECTION_LIMIT, o->connection_count,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, o->connection_bytes,
			MHD_OPTION_STRICT_FOR_CLIENT, strict, MHD_OPTION_UNESCAPE_CALLBACK,
			keep_escapes, NULL, MHD_OPTION_URI_LOG_CALLBACK, on_target, server,
			MHD_OPTION_NOTIFY_COMPLETED, on_completed, server,
			MHD_OPTION_NOTIFY_CONNECTION, on_connection, server, MHD_OPTION_END);
	server->listen_fd = -1; /* the library's, also where it failed: it closes it */
	if (server->daemon == NULL) {
		return bf_error_system(err, BELFRY_INTERNAL, 0, "the HTTP library does not start");
	}
	return BELFRY_OK;
}

void bf_http_library_stop(struct bf_http_server *server)
{
	if (server->daemon != NULL) {
		MHD_stop_daemon(server->daemon);
		server->daemon = NULL;
	}
}
