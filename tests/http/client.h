/* A client on a raw socket, so that a test can send what no library would. Each wait has a deadline;
 * one that passes fails the test. */
#ifndef HTTP_CLIENT_H
#define HTTP_CLIENT_H

#include "cases.h"

struct client {
	int fd;
	struct bf_buf got; /* read and not yet taken */
};

/* A whole response. */
struct reply {
	int status; /* 0: the connection was closed without one */
	struct bf_buf head;
	struct bf_buf body;
};

struct client client_open(uint16_t port);
void client_close(struct client *client);
/* Sends everything, or as much as the server takes before it closes. */
void client_send(struct client *client, struct belfry_str bytes);
void client_send_text(struct client *client, const char *text);
/* As many bytes as go without waiting; false: the server has closed. */
bool client_try_send(struct client *client, struct belfry_str bytes);
/* Reads one response, by its Content-Length; is_head: one without a body. */
struct reply client_read(struct client *client, bool is_head);
/* One request, one answer, over a connection of its own. */
struct reply client_ask(uint16_t port, struct belfry_str bytes);
/* Reads until this text has come, and takes everything up to its end; fails the test where the server
 * closes before. */
void client_expect_text(struct client *client, const char *text);
/* Reads until the server closes. */
void client_expect_close(struct client *client);
/* Until there is something to read, or the end. Allocates nothing. */
void client_wait_readable(const struct client *client);
bool client_is_closed(struct client *client); /* does not wait */
void reply_fini(struct reply *reply);

#endif
