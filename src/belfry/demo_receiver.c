/* A receiver of webhooks in one thread: poll over a listening socket and a few connections, each reading,
 * waiting until its answer is due, or writing it. Knows as much HTTP as the demo's own host speaks:
 * requests with a Content-Length, one after the other on a connection. */
#include "belfry/demo_receiver.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "base/timefmt.h"

#define CONNECTIONS_MAX 256
#define REQUEST_MAX     (256u << 10)
#define DELAY_MIN_MS    50
#define DELAY_SPAN_MS   700

struct connection {
	int fd; /* -1: free */
	struct bf_buf in;
	bool is_waiting;
	struct bf_boot_time answer_at;
};

struct bf_demo_receiver {
	const struct bf_env *env;
	int listener;
	int stop_pipe[2];
	uint16_t port;
	pthread_t thread;
	bool has_thread;
	struct connection connections[CONNECTIONS_MAX];
	pthread_mutex_t lock; /* guards what follows */
	struct bf_demo_call *calls;
	size_t call_count;
	size_t call_capacity;
	unsigned open_count;
	bool has_dropped;
};

static void change_open(struct bf_demo_receiver *receiver, int by)
{
	(void)pthread_mutex_lock(&receiver->lock);
	receiver->open_count = (unsigned)((int)receiver->open_count + by);
	(void)pthread_mutex_unlock(&receiver->lock);
}

static void close_connection(struct bf_demo_receiver *receiver, struct connection *connection)
{
	if (connection->is_waiting) {
		change_open(receiver, -1);
	}
	(void)close(connection->fd);
	bf_buf_fini(&connection->in);
	*connection = (struct connection){.fd = -1};
}

static void remember(struct bf_demo_receiver *receiver, const struct bf_demo_call *call)
{
	(void)pthread_mutex_lock(&receiver->lock);
	if (receiver->call_count == receiver->call_capacity) {
		size_t capacity = receiver->call_capacity > 0 ? receiver->call_capacity * 2 : 256;
		struct bf_demo_call *calls = bf_realloc_array(receiver->calls, capacity,
				sizeof(*calls));

		if (calls != NULL) {
			receiver->calls = calls;
			receiver->call_capacity = capacity;
		}
	}
	if (receiver->call_count < receiver->call_capacity) {
		receiver->calls[receiver->call_count++] = *call;
	} else {
		receiver->has_dropped = true;
	}
	(void)pthread_mutex_unlock(&receiver->lock);
}

/* What the default body of a webhook says: {"run": {"id", "due_at"}, "deployment": {"id"}}. */
static void take_call(struct bf_demo_receiver *receiver, struct belfry_str body)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	struct bf_demo_call call = {.arrived = receiver->env->wall(receiver->env->data)};

	if (bf_json_parse(body, REQUEST_MAX, &value, NULL) != BELFRY_OK) {
		return;
	}
	const json_t *run = json_object_get(value, "run");
	struct belfry_str deployment = bf_json_str(
			json_object_get(json_object_get(value, "deployment"), "id"));
	struct belfry_str due = bf_json_str(json_object_get(run, "due_at"));
	if (belfry_id_parse(bf_json_str(json_object_get(run, "id")), &call.run) != BELFRY_OK ||
			deployment.len >= sizeof(call.deployment)) {
		return;
	}
	(void)snprintf(call.deployment, sizeof(call.deployment), "%.*s", BF_STR_ARGS(deployment));
	if (bf_time_parse(due, &call.due) != BELFRY_OK) {
		call.due = 0;
	}
	remember(receiver, &call);
}

static size_t content_length(struct belfry_str head)
{
	struct belfry_str name = BF_STR("content-length:");

	for (size_t at = 0; at + name.len < head.len; at++) {
		int64_t length = 0;
		size_t from = at + name.len;
		size_t to;

		if (!bf_str_equal_nocase(bf_str_slice(head, at, from), name)) {
			continue;
		}
		while (from < head.len && head.ptr[from] == ' ') {
			from++;
		}
		for (to = from; to < head.len && head.ptr[to] != '\r'; to++) {
		}
		if (bf_str_parse_int(bf_str_slice(head, from, to), 0, REQUEST_MAX, &length) ==
				BELFRY_OK) {
			return (size_t)length;
		}
	}
	return 0;
}

/* Where the head ends, 0: not yet. */
static size_t head_end(struct belfry_str text)
{
	for (size_t at = 0; at + 4 <= text.len; at++) {
		if (memcmp(text.ptr + at, "\r\n\r\n", 4) == 0) {
			return at + 4;
		}
	}
	return 0;
}

/* Takes a whole request out of the buffer, and lets its answer wait. */
static void take_request(struct bf_demo_receiver *receiver, struct connection *connection)
{
	struct belfry_str text = bf_buf_str(&connection->in);
	size_t head = head_end(text);
	size_t whole = head + (head > 0 ? content_length(bf_str_slice(text, 0, head)) : 0);
	uint32_t random = 0;

	if (connection->is_waiting || head == 0 || text.len < whole) {
		return;
	}
	take_call(receiver, bf_str_slice(text, head, whole));
	bf_buf_remove_front(&connection->in, whole);
	receiver->env->random(receiver->env->data, &random, sizeof(random));
	connection->answer_at = bf_boot_add(receiver->env->boot(receiver->env->data),
			(belfry_duration)(DELAY_MIN_MS + random % DELAY_SPAN_MS) *
					BELFRY_MILLISECOND);
	connection->is_waiting = true;
	change_open(receiver, 1);
}

/* The answer fits into any socket's buffer; a connection that does not take it is dead. */
static void answer(struct bf_demo_receiver *receiver, struct connection *connection)
{
	static const char text[] = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
				   "Content-Length: 5\r\n\r\ndong\n";

	connection->is_waiting = false;
	change_open(receiver, -1);
	if (send(connection->fd, text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT) !=
			(ssize_t)(sizeof(text) - 1)) {
		close_connection(receiver, connection);
		return;
	}
	take_request(receiver, connection);
}

static void read_more(struct bf_demo_receiver *receiver, struct connection *connection)
{
	char chunk[8192];
	ssize_t got = recv(connection->fd, chunk, sizeof(chunk), MSG_DONTWAIT);

	if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
		return;
	}
	if (got <= 0 || connection->in.len + (size_t)got > REQUEST_MAX) {
		close_connection(receiver, connection);
		return;
	}
	bf_buf_append(&connection->in, chunk, (size_t)got);
	if (bf_buf_status(&connection->in) != BELFRY_OK) {
		close_connection(receiver, connection);
		return;
	}
	take_request(receiver, connection);
}

static void accept_one(struct bf_demo_receiver *receiver)
{
	int fd = accept(receiver->listener, NULL, NULL);

	if (fd < 0) {
		return;
	}
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (receiver->connections[i].fd < 0) {
			receiver->connections[i].fd = fd;
			return;
		}
	}
	(void)close(fd);
}

/* Milliseconds until the next answer is due; -1: none waits. */
static int next_wait(const struct bf_demo_receiver *receiver, struct bf_boot_time now)
{
	int64_t wait = -1;

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		const struct connection *c = &receiver->connections[i];
		int64_t left;

		if (c->fd < 0 || !c->is_waiting) {
			continue;
		}
		left = BF_MAX(bf_boot_since(c->answer_at, now), 0) / BELFRY_MILLISECOND + 1;
		wait = wait < 0 ? left : BF_MIN(wait, left);
	}
	return (int)wait;
}

/* The connections' places are those of the poll set, two behind. A free one has fd -1: poll skips it. */
static void serve_connections(struct bf_demo_receiver *receiver, const struct pollfd *fds)
{
	struct bf_boot_time now = receiver->env->boot(receiver->env->data);

	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		struct connection *c = &receiver->connections[i];

		if (c->fd < 0) {
			continue;
		}
		if (fds[i].fd == c->fd && (fds[i].revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
			read_more(receiver, c);
		}
		if (c->fd >= 0 && c->is_waiting && bf_boot_since(c->answer_at, now) <= 0) {
			answer(receiver, c);
		}
	}
}

static void *run_receiver(void *data)
{
	struct bf_demo_receiver *receiver = data;
	struct pollfd fds[CONNECTIONS_MAX + 2];

	for (;;) {
		fds[0] = (struct pollfd){.fd = receiver->stop_pipe[0], .events = POLLIN};
		fds[1] = (struct pollfd){.fd = receiver->listener, .events = POLLIN};
		for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
			fds[i + 2] = (struct pollfd){.fd = receiver->connections[i].fd,
					.events = POLLIN};
		}
		int wait = next_wait(receiver, receiver->env->boot(receiver->env->data));
		if (poll(fds, BF_COUNT(fds), wait) < 0 && errno != EINTR) {
			return NULL;
		}
		if (fds[0].revents != 0) {
			return NULL;
		}
		serve_connections(receiver, fds + 2);
		if (fds[1].revents != 0) {
			accept_one(receiver);
		}
	}
}

static bool open_listener(struct bf_demo_receiver *receiver)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	receiver->listener = socket(AF_INET, SOCK_STREAM, 0);
	if (receiver->listener < 0 || pipe(receiver->stop_pipe) != 0) {
		return false;
	}
	(void)fcntl(receiver->listener, F_SETFD, FD_CLOEXEC);
	(void)fcntl(receiver->listener, F_SETFL, O_NONBLOCK);
	(void)fcntl(receiver->stop_pipe[0], F_SETFD, FD_CLOEXEC);
	(void)fcntl(receiver->stop_pipe[1], F_SETFD, FD_CLOEXEC);
	if (bind(receiver->listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
			listen(receiver->listener, CONNECTIONS_MAX) != 0 ||
			getsockname(receiver->listener, (struct sockaddr *)&address, &len) != 0) {
		return false;
	}
	receiver->port = ntohs(address.sin_port);
	return true;
}

enum belfry_status bf_demo_receiver_start(const struct bf_env *env,
		struct bf_demo_receiver **ret_receiver, struct belfry_error *err)
{
	struct bf_demo_receiver *receiver = bf_alloc(sizeof(*receiver));

	if (receiver == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	receiver->env = env;
	receiver->listener = receiver->stop_pipe[0] = receiver->stop_pipe[1] = -1;
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		receiver->connections[i].fd = -1;
	}
	(void)pthread_mutex_init(&receiver->lock, NULL);
	if (!open_listener(receiver) ||
			pthread_create(&receiver->thread, NULL, run_receiver, receiver) != 0) {
		bf_demo_receiver_stop(receiver);
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"the demo's receiver cannot listen on 127.0.0.1");
	}
	receiver->has_thread = true;
	*ret_receiver = receiver;
	return BELFRY_OK;
}

uint16_t bf_demo_receiver_port(const struct bf_demo_receiver *receiver)
{
	return receiver->port;
}

unsigned bf_demo_receiver_open_calls(struct bf_demo_receiver *receiver)
{
	(void)pthread_mutex_lock(&receiver->lock);
	unsigned count = receiver->open_count;
	(void)pthread_mutex_unlock(&receiver->lock);
	return count;
}

enum belfry_status bf_demo_receiver_copy(struct bf_demo_receiver *receiver,
		struct bf_demo_call **ret_calls, size_t *ret_count)
{
	enum belfry_status status = BELFRY_NOMEM;

	(void)pthread_mutex_lock(&receiver->lock);
	struct bf_demo_call *calls = bf_alloc_array(receiver->call_count + 1, sizeof(*calls));
	if (calls != NULL && !receiver->has_dropped) {
		if (receiver->call_count > 0) {
			memcpy(calls, receiver->calls, receiver->call_count * sizeof(*calls));
		}
		*ret_calls = BF_TAKE(calls);
		*ret_count = receiver->call_count;
		status = BELFRY_OK;
	}
	(void)pthread_mutex_unlock(&receiver->lock);
	bf_free(calls);
	return status;
}

static void close_if_open(int fd)
{
	if (fd >= 0) {
		(void)close(fd);
	}
}

void bf_demo_receiver_stop(struct bf_demo_receiver *receiver)
{
	if (receiver == NULL) {
		return;
	}
	if (receiver->has_thread) {
		/* A full pipe would do as well: the thread looks at whether there is anything. */
		ssize_t written = write(receiver->stop_pipe[1], "", 1);
		(void)written;
		(void)pthread_join(receiver->thread, NULL);
	}
	for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
		if (receiver->connections[i].fd >= 0) {
			close_connection(receiver, &receiver->connections[i]);
		}
	}
	close_if_open(receiver->listener);
	close_if_open(receiver->stop_pipe[0]);
	close_if_open(receiver->stop_pipe[1]);
	(void)pthread_mutex_destroy(&receiver->lock);
	bf_free(receiver->calls);
	bf_free(receiver);
}
