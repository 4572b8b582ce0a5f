/* A small HTTP server for the tests of the targets: one thread, a free port on loopback.
 *
 *   /status/CODE[?retry=TEXT]  answers so, with Retry-After
 *   /delay/MS                  200 after that time
 *   /hang                      never answers
 *   /big/BYTES                 200 and a body of so many bytes
 *   /redirect                  302 to /status/200
 *   /close                     closes without an answer
 *   /raw/N                     garbage, a version that is none, a bad chunk, a head too large
 *   /cut                       promises more than it sends, then closes */
#ifndef TEST_TARGETS_SERVER_H
#define TEST_TARGETS_SERVER_H

#include <stdint.h>

#include "base/str.h"

struct test_server;

struct test_server *test_server_new(void);
void test_server_free(struct test_server *server);
uint16_t test_server_port(const struct test_server *server);
/* Requests read to their end, and how many of /delay and /hang were open at once at most. */
int test_server_requests(struct test_server *server);
int test_server_most_open(struct test_server *server);
/* The latest request with its head and body, appended to `out`. */
void test_server_latest(struct test_server *server, struct bf_buf *out);

#endif
