/* The raw client of the tests. A connection reset counts as closed: what was read before it stays. */
#include "client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/env.h"

#define WAIT_MS 20000

struct client client_open(uint16_t port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return (struct client){.fd = fd};
}

void client_close(struct client *client)
{
	(void)close(client->fd);
	bf_buf_fini(&client->got);
}

static void wait_for(int fd, short events)
{
	struct pollfd waited = {.fd = fd, .events = events};

	if (poll(&waited, 1, WAIT_MS) != 1) {
		fail_msg("nothing happened for %d ms", WAIT_MS);
	}
}

bool client_try_send(struct client *client, struct belfry_str bytes)
{
	ssize_t sent = send(client->fd, bytes.ptr, bytes.len, MSG_NOSIGNAL);

	return sent >= 0 || errno == EAGAIN;
}

void client_send(struct client *client, struct belfry_str bytes)
{
	size_t done = 0;

	while (done < bytes.len) {
		ssize_t sent = send(client->fd, bytes.ptr + done, bytes.len - done, MSG_NOSIGNAL);
		if (sent > 0) {
			done += (size_t)sent;
		} else if (errno == EAGAIN) {
			wait_for(client->fd, POLLOUT);
		} else {
			return;
		}
	}
}

void client_send_text(struct client *client, const char *text)
{
	client_send(client, bf_str(text));
}

/* Waits for more; false: the server has closed. */
static bool read_more(struct client *client)
{
	char bytes[16384];

	wait_for(client->fd, POLLIN);
	ssize_t got = recv(client->fd, bytes, sizeof(bytes), 0);
	if (got <= 0) {
		return false;
	}
	bf_buf_append(&client->got, bytes, (size_t)got);
	return true;
}

static size_t head_len(const struct bf_buf *got)
{
	for (size_t i = 0; i + 4 <= got->len; i++) {
		if (memcmp(got->ptr + i, "\r\n\r\n", 4) == 0) {
			return i + 4;
		}
	}
	return 0;
}

static size_t content_length(struct belfry_str head)
{
	struct belfry_str name = BF_STR("Content-Length: ");
	int64_t value = 0;

	for (size_t i = 0; i + name.len < head.len; i++) {
		if (bf_str_equal_nocase(bf_str_slice(head, i, i + name.len), name)) {
			size_t end = i + name.len;
			while (head.ptr[end] != '\r') {
				end++;
			}
			assert_int_equal(bf_str_parse_int(bf_str_slice(head, i + name.len, end), 0,
							 INT32_MAX, &value),
					BELFRY_OK);
		}
	}
	return (size_t)value;
}

struct reply client_read(struct client *client, bool is_head)
{
	struct reply reply = {0};
	int64_t status = 0;

	while (head_len(&client->got) == 0) {
		if (!read_more(client)) {
			return reply;
		}
	}
	bf_buf_append(&reply.head, client->got.ptr, head_len(&client->got));
	bf_buf_remove_front(&client->got, reply.head.len);
	size_t len = is_head ? 0 : content_length(bf_buf_str(&reply.head));
	while (client->got.len < len) {
		if (!read_more(client)) {
			fail_msg("closed in the middle of a body");
		}
	}
	bf_buf_append(&reply.body, client->got.ptr != NULL ? client->got.ptr : "", len);
	bf_buf_remove_front(&client->got, len);
	assert_int_equal(bf_str_parse_int(bf_str_slice(bf_buf_str(&reply.head), 9, 12), 100, 599,
					 &status),
			BELFRY_OK);
	reply.status = (int)status;
	return reply;
}

struct reply client_ask(uint16_t port, struct belfry_str bytes)
{
	struct client client = client_open(port);

	client_send(&client, bytes);
	struct reply reply = client_read(&client, false);
	client_close(&client);
	return reply;
}

void client_expect_text(struct client *client, const char *text)
{
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time until = bf_boot_add(env->boot(env->data), WAIT_MS * BELFRY_MILLISECOND);
	size_t len = strlen(text);
	size_t at = 0;

	/* Signs of life may come for ever. */
	while (env->boot(env->data).us < until.us) {
		for (; at + len <= client->got.len; at++) {
			if (memcmp(client->got.ptr + at, text, len) == 0) {
				bf_buf_remove_front(&client->got, at + len);
				return;
			}
		}
		if (!read_more(client)) {
			fail_msg("closed before \"%s\" came", text);
		}
	}
	fail_msg("\"%s\" did not come within %d ms", text, WAIT_MS);
}

void client_expect_close(struct client *client)
{
	while (read_more(client)) {
	}
}

void client_wait_readable(const struct client *client)
{
	wait_for(client->fd, POLLIN);
}

bool client_is_closed(struct client *client)
{
	char byte;
	ssize_t got = recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

	return got == 0 || (got < 0 && errno != EAGAIN);
}

void reply_fini(struct reply *reply)
{
	bf_buf_fini(&reply->head);
	bf_buf_fini(&reply->body);
	*reply = (struct reply){0};
}
