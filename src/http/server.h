/* The HTTP server: our own thin face of the library behind it, so that the library can be swapped.
 * Nothing but server_mhd*.c knows which one it is.
 *
 * Life of a request
 *   1. Its head is read and judged (server_head.h): what is ambiguous gets 400 and the connection is
 *      closed. Then the caller's judge may refuse it, and it is closed. A Content-Length above the
 *      limit gets 413. All that before the body is read.
 *   2. Its body is read, counted as it comes: above the limit 413, out of room 503, both at once.
 *   3. The whole request waits in a bounded queue (full: 503, Retry-After: 1) for one of the server's
 *      worker threads, which calls the handler. The threads that read and write sockets never do.
 *   4. The handler takes the request and answers it by bf_http_respond: at once, or later from any
 *      thread. One that returns without taking it gets a 500 sent in its place.
 * Each part has a total deadline, so a client that drips bytes is cut off all the same.
 *
 * Every answer carries X-Content-Type-Options, Referrer-Policy and Cache-Control (no-store, unless the
 * response sets its own), Date, and no Server field and no CORS field. The refusals that the library
 * makes by itself (431 for a head too large, 400 for a line without a colon) are plain and lack them.
 *
 * A streamed answer (bf_http_response_stream) has a body without an end: its bytes come from a source
 * that is asked when there is room for them, and its request is open until the client leaves or the
 * server stops.
 *
 * Not here: routes, tokens, ETag and 304, ranges, compression: the caller's, above this. */
#ifndef BF_HTTP_SERVER_H
#define BF_HTTP_SERVER_H

#include <belfry/status.h>

#include "base/compiler.h"
#include "base/env.h"
#include "base/str.h"

#include "http/server_headers.h"

enum bf_http_method {
	BF_HTTP_METHOD_GET,
	BF_HTTP_METHOD_HEAD,
	BF_HTTP_METHOD_POST,
	BF_HTTP_METHOD_PUT,
	BF_HTTP_METHOD_PATCH,
	BF_HTTP_METHOD_DELETE,
	BF_HTTP_METHOD_OPTIONS,
	BF_HTTP_METHOD_COUNT
};

/* "GET"; static text. */
const char *bf_http_method_text(enum bf_http_method method);

/* --- the request --- */

/* Complete and read-only. All texts that the functions below give out are borrowed from it until it is
 * answered. One thread at a time. */
struct bf_http_request;

enum bf_http_method bf_http_request_method(const struct bf_http_request *request);
/* The path as it came, still escaped, without the query: for logs and comparisons. */
struct belfry_str bf_http_request_path(const struct bf_http_request *request);
/* The path between its slashes, each part decoded once: valid UTF-8 without NUL, but one may hold a
 * slash (%2F). "/" has no segment; "/v1/" has two, the second empty. index < count. */
size_t bf_http_request_segment_count(const struct bf_http_request *request);
struct belfry_str bf_http_request_segment(const struct bf_http_request *request, size_t index);
/* The query's parameters in their order, decoded, '+' read as a space. index < count. */
size_t bf_http_request_parameter_count(const struct bf_http_request *request);
struct bf_http_pair bf_http_request_parameter(const struct bf_http_request *request, size_t index);
/* The first parameter of this name, ptr NULL where there is none ("?q=" is there and empty). */
struct belfry_str bf_http_request_find_parameter(const struct bf_http_request *request,
		const char *name);
/* The first header field of this name (ASCII case does not count), ptr NULL where there is none.
 * White space around values is gone. */
struct belfry_str bf_http_request_header(const struct bf_http_request *request, const char *name);
const struct bf_http_headers *bf_http_request_headers(const struct bf_http_request *request);
/* Was a body announced (Content-Length above 0, or chunked, even where it turned out empty)? */
bool bf_http_request_has_body(const struct bf_http_request *request);
struct belfry_str bf_http_request_body(const struct bf_http_request *request);
/* The other end's address without its port, "127.0.0.1". */
struct belfry_str bf_http_request_peer(const struct bf_http_request *request);
/* Random, for logs and problem documents; the text of a UUID. */
struct belfry_str bf_http_request_id(const struct bf_http_request *request);

/* --- the response --- */

#define BF_HTTP_RESPONSE_HEADERS 12

/* Built by the caller, starting from {0} with a status. Owns what it holds until bf_http_respond takes
 * it; bf_http_response_fini drops one that was not sent. */
struct bf_http_response {
	int status;                 /* 200 to 599 */
	const char *content_type;   /* static text; NULL: none */
	struct bf_buf body;         /* sent where it is not empty */
	struct belfry_str borrowed; /* else this: must outlive the server (assets, fixed texts) */
	struct bf_http_stream *stream; /* instead of both: bf_http_response_stream */
	bool is_close;                 /* close the connection behind it */
	bool is_failed; /* a header did not fit, or there was no memory: 500 is sent */
	size_t header_count;
	struct {
		const char *name; /* static text */
		char *value;
	} headers[BF_HTTP_RESPONSE_HEADERS];
};

/* Adds a header field; `name` is static text, `value` is copied. A failure (no memory, no room, a
 * control character in the value) is kept and becomes a 500. Content-Length, Connection, Date and
 * Transfer-Encoding are the server's: never put them. */
void bf_http_response_put_header(struct bf_http_response *response, const char *name,
		struct belfry_str value);
void bf_http_response_fini(struct bf_http_response *response);

/* --- the streamed response --- */

/* Where the bytes of a streamed answer come from. Its functions are called by threads that read and
 * write sockets, and must not block. */
struct bf_http_source {
	void *data;
	/* Writes what there is to send now, at most `size` bytes (at least 128), and returns how many.
	 * 0: nothing; the stream sleeps until it is woken. is_quiet: nothing was sent for quiet_time, and
	 * a sign of life is due. Never at once with itself. */
	size_t (*read)(void *data, char *bytes, size_t size, bool is_quiet);
	/* The last call: the client has left, the server stops, or the answer was never sent. */
	void (*close)(void *data);
	belfry_duration quiet_time;
};

struct bf_http_stream;

/* Makes `response` a streamed one; `source` is copied, and closed by the response from now on. BELFRY_OK
 * (*ret_stream is owned by the caller: bf_http_stream_release) or BELFRY_NOMEM (close is not called). */
BF_MUST_CHECK enum belfry_status bf_http_response_stream(struct bf_http_response *response,
		const struct bf_http_source *source, struct bf_http_stream **ret_stream);
/* The source has something to send. Any thread; does not block. Allowed before the answer was sent,
 * and when the stream is over. */
void bf_http_stream_wake(struct bf_http_stream *stream);
void bf_http_stream_release(struct bf_http_stream *stream); /* does not end it */

/* Answers. Both are taken: *request is NULL and *response {0} afterwards. For HEAD, 204 and 304 the
 * body is not sent. Any thread, also one that the handler handed the request to; never blocks on the
 * network. Where the connection or the server is gone already the answer is dropped quietly. */
void bf_http_respond(struct bf_http_request **request, struct bf_http_response *response);

/* --- the server --- */

/* Called by a worker thread of the server. *request is taken: answered by bf_http_respond, or moved
 * elsewhere (BF_TAKE) to be answered later. A request that is never answered holds its connection until
 * the server stops. It may block for as long as a store call takes, and must return in the end: the
 * stop waits for it. */
typedef void (*bf_http_handler_fn)(void *data, struct bf_http_request **request);

/* May a request go on whose head is read, and whose body is not? Called by a thread that reads and writes
 * sockets: must not block. Anything but BELFRY_OK is answered with err, and the connection is closed. */
typedef enum belfry_status (*bf_http_judge_fn)(void *data, const struct bf_http_request *request,
		struct belfry_error *err);

struct bf_http_server_options {
	size_t size;
	const struct bf_env
			*env;  /* borrowed until the stop; its log must be safe from any thread */
	const char *address;   /* copied: numbers alone, "127.0.0.1", "::1" or "[::1]" */
	uint16_t port;         /* 0: a free one, see bf_http_server_port */
	unsigned thread_count; /* that read and write sockets */
	unsigned worker_count; /* that call the handler */
	unsigned queue_count;  /* complete requests that may wait for a worker */
	unsigned connection_count; /* open at once; more wait to be accepted */
	/* Open at once from one address; more are closed. 0: no such limit. From seven eighths of either
	 * limit on, connections that are idle or drip are ended for new ones (server_crowd.c). */
	unsigned per_ip_count;
	size_t connection_bytes;   /* memory of one connection: also bounds the head of a request */
	size_t body_bytes;         /* of one request */
	size_t all_bodies_bytes;   /* of all requests at once */
	belfry_duration head_time; /* from the connection, or the request line, to the whole head */
	belfry_duration body_time; /* from the head to the whole body */
	belfry_duration idle_time; /* between two requests on one connection */
	belfry_duration send_time; /* from the answer to its last byte */
	belfry_duration stop_time; /* how long the stop waits for answers that are still to come */
	bf_http_judge_fn judge;    /* with the handler's data; NULL: none */
};

#define BF_HTTP_SERVER_OPTIONS_INIT                                                                \
	{                                                                                          \
		.size = sizeof(struct bf_http_server_options), .address = "127.0.0.1",             \
		.thread_count = 2, .worker_count = 4, .queue_count = 128, .connection_count = 512, \
		.per_ip_count = 256, .connection_bytes = 12 * 1024, .body_bytes = 2 * 1024 * 1024, \
		.all_bodies_bytes = 64 * 1024 * 1024, .head_time = 10 * BELFRY_SECOND,             \
		.body_time = 30 * BELFRY_SECOND, .idle_time = 60 * BELFRY_SECOND,                  \
		.send_time = 60 * BELFRY_SECOND, .stop_time = 5 * BELFRY_SECOND                    \
	}

struct bf_http_server;

/* Listens and serves from now on, by threads that block every signal and descriptors that are closed
 * on exec. `options` is copied; handler and data are borrowed until the stop.
 * BELFRY_OK (*ret_server is owned by the caller: bf_http_server_stop); BELFRY_CONFIGURATION (the
 * address is not one, or an option is out of range); BELFRY_UNAVAILABLE (the address is in use or not
 * ours); BELFRY_NOMEM; BELFRY_INTERNAL. */
BF_MUST_CHECK enum belfry_status bf_http_server_start(const struct bf_http_server_options *options,
		bf_http_handler_fn handler, void *data, struct bf_http_server **ret_server,
		struct belfry_error *err);

/* The port that it listens on. */
uint16_t bf_http_server_port(const struct bf_http_server *server);

/* Ends it: ends every stream, lets what was begun be answered for stop_time while everything new gets 503
 * and is closed, answers the rest with 503, waits for the workers, closes all connections and frees the
 * server. NULL is allowed. Blocks.
 * Requests that somebody still holds stay valid until they are answered; those answers are dropped. */
void bf_http_server_stop(struct bf_http_server *server);

#endif
