/* A server with a handler whose answers a test can hold back. */
#ifndef HTTP_FIXTURE_H
#define HTTP_FIXTURE_H

#include <pthread.h>

#include "cases.h"
#include "client.h"

#include "http/server.h"

/* Paths of the handler:
 *   /echo...   at once: the method, segments, parameters, the header X-Echo, and the body
 *   /hold      kept until fixture_release, then answered by the thread that released it
 *   /block     stays inside the handler until fixture_open_gate
 *   /forget    not answered at all: the server must do it
 *   /status/N  status N with a body
 *   /guarded   the rule for requests without a token
 *   else       a fixed text that is not copied */
#define FIXTURE_HELD 256

struct fixture {
	struct bf_http_server *server;
	uint16_t port;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct bf_http_request *held[FIXTURE_HELD];
	size_t held_count;
	size_t blocked_count; /* inside /block now */
	bool is_gate_open;
	size_t called_count;
};

/* Short limits where a test needs them: start from these. */
struct bf_http_server_options fixture_options(void);
void fixture_start(struct fixture *fixture, const struct bf_http_server_options *options);
/* Answers what is held, opens the gate, stops the server. */
void fixture_stop(struct fixture *fixture);
void fixture_wait_held(struct fixture *fixture, size_t count);
void fixture_wait_blocked(struct fixture *fixture, size_t count);
void fixture_release(struct fixture *fixture); /* answers all that are held with 200 "late" */
void fixture_open_gate(struct fixture *fixture);

#endif
