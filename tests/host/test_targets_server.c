/* A small HTTP server for the tests: poll(2) over all connections, an answer kept until it is due. */
#include "test_targets_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/env.h"

#define CONNECTIONS 2200

struct connection {
	int fd;
	struct bf_buf in;
	struct bf_buf out;
	int64_t due_us; /* of an answer that waits; -1: never; 0: none waits */
	bool is_closing;
};

struct test_server {
	pthread_t thread;
	pthread_mutex_t lock; /* guards the counts and latest */
	int listener;
	int wake[2];
	uint16_t port;
	int requests;
	int open;
	int most_open;
	struct bf_buf latest;
	size_t count;
	struct connection connections[CONNECTIONS];
	struct pollfd polls[CONNECTIONS + 2];
};

static int64_t now_us(void)
{
	const struct bf_env *env = bf_env_system();

	return env->boot(env->data).us;
}

static void require(bool is_good)
{
	if (!is_good) {
		abort();
	}
}

static void add_open(struct test_server *server, int step)
{
	(void)pthread_mutex_lock(&server->lock);
	server->open += step;
	server->most_open = BF_MAX(server->most_open, server->open);
	(void)pthread_mutex_unlock(&server->lock);
}

static int64_t number_of(struct belfry_str path, const char *prefix)
{
	struct belfry_str rest = bf_str_slice(path, strlen(prefix), path.len);
	int64_t number = 0;
	size_t end = 0;

	while (end < rest.len && rest.ptr[end] >= '0' && rest.ptr[end] <= '9') {
		end++;
	}
	require(bf_str_parse_int(bf_str_slice(rest, 0, end), 0, 1 << 30, &number) == BELFRY_OK);
	return number;
}

static void answer(struct connection *connection, int code, const char *header, size_t body)
{
	bf_buf_appendf(&connection->out,
			"HTTP/1.1 %d Test\r\nContent-Type: text/plain\r\n%sContent-Length: %zu\r\n\r\n",
			code, header, body);
	for (size_t i = 0; i < body; i++) {
		bf_buf_append_byte(&connection->out, 'x');
	}
}

static void answer_status(struct connection *connection, struct belfry_str path)
{
	char header[128] = "";
	char text[128] = "";
	char *retry;

	memcpy(text, path.ptr, BF_MIN(path.len, sizeof(text) - 1));
	retry = strstr(text, "retry=");
	if (retry != NULL) {
		for (char *at = retry; *at != '\0'; at++) {
			*at = *at == '+' ? ' ' : *at;
		}
		(void)snprintf(header, sizeof(header), "Retry-After: %.80s\r\n", retry + 6);
	}
	answer(connection, (int)number_of(path, "/status/"), header, 2);
}

static bool begins(struct belfry_str path, const char *prefix)
{
	return bf_str_starts_with(path, bf_str(prefix));
}

static void answer_raw(struct connection *connection, int kind)
{
	static const char *const begins[] = {"garbage\r\n\r\n", "HTTP/9.9 what\r\n\r\n",
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
			"HTTP/1.1 200 OK\r\nX: "};

	bf_buf_append_text(&connection->out, begins[kind]);
	for (int i = 0; kind == 3 && i < 400 * 1024; i++) {
		bf_buf_append_byte(&connection->out, 'x');
	}
	connection->is_closing = true;
}

static void route(struct test_server *server, struct connection *connection, struct belfry_str path)
{
	if (begins(path, "/status/")) {
		answer_status(connection, path);
	} else if (begins(path, "/delay/")) {
		connection->due_us = now_us() + number_of(path, "/delay/") * 1000;
		add_open(server, 1);
	} else if (begins(path, "/big/")) {
		answer(connection, 200, "", (size_t)number_of(path, "/big/"));
	} else if (begins(path, "/redirect")) {
		answer(connection, 302, "Location: /status/200\r\n", 0);
	} else if (begins(path, "/raw/")) {
		answer_raw(connection, (int)number_of(path, "/raw/"));
	} else if (begins(path, "/cut")) {
		bf_buf_append_text(&connection->out,
				"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx");
		connection->is_closing = true;
	} else if (begins(path, "/hang")) {
		connection->due_us = -1;
		add_open(server, 1);
	} else {
		connection->is_closing = true;
	}
}

static size_t body_length(const char *head)
{
	const char *at = strstr(head, "Content-Length: ");

	return at != NULL ? (size_t)number_of(bf_str(at), "Content-Length: ") : 0;
}

/* One whole request, if there is one. */
static void read_request(struct test_server *server, struct connection *connection)
{
	const char *end = connection->in.len > 0 ? strstr(connection->in.ptr, "\r\n\r\n") : NULL;

	if (end == NULL) {
		return;
	}
	size_t length = (size_t)(end - connection->in.ptr) + 4 + body_length(connection->in.ptr);
	if (connection->in.len < length) {
		return;
	}
	const char *path = strchr(connection->in.ptr, ' ') + 1;
	struct belfry_str text = {path, strcspn(path, " ")};
	(void)pthread_mutex_lock(&server->lock);
	server->requests++;
	bf_buf_clear(&server->latest);
	bf_buf_append(&server->latest, connection->in.ptr, length);
	(void)pthread_mutex_unlock(&server->lock);
	route(server, connection, text);
	bf_buf_remove_front(&connection->in, length);
}

static void drop(struct test_server *server, struct connection *connection)
{
	if (connection->due_us != 0) {
		add_open(server, -1);
	}
	(void)close(connection->fd);
	bf_buf_fini(&connection->in);
	bf_buf_fini(&connection->out);
	*connection = server->connections[--server->count];
}

/* False: it is over. */
static bool read_some(struct test_server *server, struct connection *connection)
{
	char bytes[16384];
	ssize_t got = read(connection->fd, bytes, sizeof(bytes));

	if (got > 0) {
		bf_buf_append(&connection->in, bytes, (size_t)got);
		read_request(server, connection);
	}
	return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

static bool write_some(struct connection *connection)
{
	if (connection->out.len == 0) {
		return !connection->is_closing;
	}
	ssize_t done = send(connection->fd, connection->out.ptr, connection->out.len, MSG_NOSIGNAL);
	if (done > 0) {
		bf_buf_remove_front(&connection->out, (size_t)done);
	}
	if (connection->out.len == 0 && connection->is_closing) {
		return false;
	}
	return done >= 0 || errno == EAGAIN || errno == EINTR;
}

static void accept_all(struct test_server *server)
{
	int fd;

	while (server->count < CONNECTIONS && (fd = accept(server->listener, NULL, NULL)) >= 0) {
		require(fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0);
		server->connections[server->count++] = (struct connection){.fd = fd};
	}
}

static int fill_polls(struct test_server *server, int64_t now)
{
	int64_t due = now + 1000000;

	server->polls[0] = (struct pollfd){.fd = server->wake[0], .events = POLLIN};
	server->polls[1] = (struct pollfd){.fd = server->listener, .events = POLLIN};
	for (size_t i = 0; i < server->count; i++) {
		struct connection *connection = &server->connections[i];
		short events = connection->out.len > 0 || connection->is_closing ? POLLIN | POLLOUT
										 : POLLIN;
		server->polls[i + 2] = (struct pollfd){.fd = connection->fd, .events = events};
		if (connection->due_us > 0) {
			due = BF_MIN(due, connection->due_us);
		}
	}
	return due <= now ? 0 : (int)((due - now) / 1000 + 1);
}

static void serve(struct test_server *server, size_t index, int64_t now)
{
	struct connection *connection = &server->connections[index];
	short events = server->polls[index + 2].revents;
	bool is_good = true;

	if (connection->due_us > 0 && connection->due_us <= now) {
		connection->due_us = 0;
		add_open(server, -1);
		answer(connection, 200, "", 2);
	}
	if ((events & (POLLIN | POLLHUP | POLLERR)) != 0) {
		is_good = read_some(server, connection);
	}
	is_good = is_good && write_some(connection);
	if (!is_good) {
		drop(server, connection);
	}
}

static void *run(void *data)
{
	struct test_server *server = data;

	for (;;) {
		int timeout = fill_polls(server, now_us());
		(void)poll(server->polls, (nfds_t)server->count + 2, timeout);
		if (server->polls[0].revents != 0) {
			return NULL;
		}
		int64_t now = now_us();
		/* Backwards: a dropped one is replaced by the last, which was served already. */
		for (size_t i = server->count; i > 0; i--) {
			serve(server, i - 1, now);
		}
		if (server->polls[1].revents != 0) {
			accept_all(server);
		}
	}
}

struct test_server *test_server_new(void)
{
	struct test_server *server = calloc(1, sizeof(*server));
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	require(server != NULL);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	server->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	require(server->listener >= 0);
	require(bind(server->listener, (struct sockaddr *)&address, sizeof(address)) == 0);
	require(listen(server->listener, 2048) == 0);
	require(getsockname(server->listener, (struct sockaddr *)&address, &len) == 0);
	server->port = ntohs(address.sin_port);
	require(pipe(server->wake) == 0);
	require(pthread_mutex_init(&server->lock, NULL) == 0);
	require(pthread_create(&server->thread, NULL, run, server) == 0);
	return server;
}

void test_server_free(struct test_server *server)
{
	require(write(server->wake[1], "x", 1) == 1);
	require(pthread_join(server->thread, NULL) == 0);
	while (server->count > 0) {
		drop(server, &server->connections[0]);
	}
	(void)close(server->listener);
	(void)close(server->wake[0]);
	(void)close(server->wake[1]);
	(void)pthread_mutex_destroy(&server->lock);
	bf_buf_fini(&server->latest);
	free(server);
}

uint16_t test_server_port(const struct test_server *server)
{
	return server->port;
}

int test_server_requests(struct test_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	int requests = server->requests;
	(void)pthread_mutex_unlock(&server->lock);
	return requests;
}

int test_server_most_open(struct test_server *server)
{
	(void)pthread_mutex_lock(&server->lock);
	int most_open = server->most_open;
	(void)pthread_mutex_unlock(&server->lock);
	return most_open;
}

void test_server_latest(struct test_server *server, struct bf_buf *out)
{
	(void)pthread_mutex_lock(&server->lock);
	bf_buf_append_str(out, bf_buf_str(&server->latest));
	(void)pthread_mutex_unlock(&server->lock);
}
