/* The inside of the HTTP server, for server*.c alone.
 *
 * Threads  socket threads (the library's; they run server_mhd.c), workers (server_pool.c) and one
 *          reaper (server_reaper.c).
 * Locks    request->lock before server->lock; neither is held while the handler runs.
 *          server->streams_lock before stream->lock before server->lock.
 *          request->lock  whether it is answered and whether its connection sleeps: the two that must
 *                         not be seen apart, or a wake-up is lost
 *          stream->lock   whether its source has something and whether its connection sleeps: the same;
 *                         held while the source is read, and not while it is closed
 *          server->lock   all lists, counters and flags of the server, all deadlines
 * Owners   a request is counted: one for its connection, one for whoever is to answer it. A connection
 *          belongs to its socket thread, and is in server->connections from open to close. */
#ifndef BF_HTTP_SERVER_PRIV_H
#define BF_HTTP_SERVER_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include <belfry/types.h>

#include "base/list.h"

#include "http/server.h"
#include "http/server_head.h"
#include "http/server_target.h"

#define BF_HTTP_PEER_BYTES   64
#define BF_HTTP_LINGER_COUNT 64
#define BF_HTTP_STREAM_BYTES 4096 /* of a stream, at once */

struct MHD_Connection;
struct MHD_Daemon;

/* A connection closed early, kept a moment longer (server_reaper.c). */
struct bf_http_linger {
	int fd;
	size_t left_bytes;
	struct bf_boot_time until;
};

/* What a connection is about. */
enum bf_http_stage {
	BF_HTTP_STAGE_HEAD,  /* its first head is not complete, or another one has begun */
	BF_HTTP_STAGE_IDLE,  /* it was answered, and no further request line has come */
	BF_HTTP_STAGE_BODY,  /* its body is not complete */
	BF_HTTP_STAGE_ANSWER /* its request is with the handler, or being answered */
};

struct bf_http_connection {
	struct bf_link link; /* in server->connections, which has the longest in its stage first */
	struct bf_http_server *server;
	int fd;                    /* the library's: valid while the link is in the list */
	struct bf_boot_time until; /* then the reaper shuts it down; INT64_MAX: never */
	enum bf_http_stage stage;  /* under server->lock */
	bool is_evicted;           /* under server->lock: shut down to make room */
	bool is_served; /* has had a request before: the next one's head is timed afresh */
	bool is_early;  /* the request was refused before all of it was read */
	struct bf_http_request *begun; /* not completed yet: released with the connection */
	char peer[BF_HTTP_PEER_BYTES];
};

struct bf_http_request {
	atomic_int references;
	pthread_mutex_t lock;
	struct bf_http_server *server;         /* for the socket thread alone */
	struct bf_http_connection *connection; /* likewise */
	struct MHD_Connection *transport;      /* under lock; NULL: gone */
	bool is_asleep;                        /* under lock: the transport is suspended */
	bool is_answered;                      /* under lock */
	bool is_dispatched;                    /* socket thread: it has been queued */
	bool is_head_read;                     /* socket thread: the head has been judged */
	bool is_refused;                       /* socket thread: answered past the library */
	bool is_whole;                  /* socket thread: head and body were read to the end */
	struct bf_http_response answer; /* under lock */
	struct bf_link flight_link;     /* in server->flight: dispatched, not completed */
	struct bf_link queue_link;      /* in server->queue */

	char *target_text; /* as it came */
	const char *target_at;
	struct bf_http_target target;
	enum bf_http_method method;
	struct bf_http_framing framing;
	struct bf_http_headers headers;
	struct bf_http_pair *header_items;
	char *header_text;
	struct bf_buf body;
	char peer[BF_HTTP_PEER_BYTES];
	char id[BELFRY_ID_TEXT_BYTES];
};

struct bf_http_stream {
	atomic_int references; /* its maker's, and its response's */
	pthread_mutex_t lock;
	struct bf_http_source source;
	struct bf_link link; /* in server->streams while it is being sent; under their lock */
	struct bf_http_server *server;         /* NULL before */
	struct bf_http_connection *connection; /* for the socket thread, and while it is asleep */
	struct MHD_Connection *transport; /* under lock; NULL before it is sent and after its end */
	bool is_asleep;                   /* under lock: the transport is suspended */
	bool is_quiet;                    /* under lock: a sign of life is due */
	bool is_ending;                   /* under lock: no further byte */
	bool is_gone;                     /* under lock: and nobody to hear of it */
	struct bf_boot_time quiet_at;     /* under lock: then it is quiet */
};

struct bf_http_server {
	struct bf_http_server_options options;
	bf_http_handler_fn handler;
	void *data;
	struct MHD_Daemon *daemon;
	int listen_fd; /* -1 once the library has it */
	uint16_t port;
	bool is_old_parser; /* the library needs bf_http_head_check_raw */

	pthread_mutex_t lock;
	pthread_cond_t work; /* the queue has something, or the workers shall end */
	int settled_fd;      /* eventfd: while stopping, a request in flight was completed */
	int tick_fd;         /* eventfd: the reaper shall look now */
	struct bf_list connections;
	size_t open_count;    /* in connections */
	size_t evicted_count; /* of those */
	struct bf_boot_time crowd_said_at;
	struct bf_list flight;
	struct bf_list queue;
	size_t flight_count; /* dispatched and not completed; stays when the stop empties the list */
	size_t bodies_bytes; /* held by requests that are not completed */
	bool is_stopping;    /* nothing more is dispatched */
	bool is_workers_end;
	bool is_reaper_end;

	pthread_mutex_t streams_lock;
	struct bf_list streams;
	bool is_streams_end;                /* under streams_lock: those that begin end at once */
	struct bf_boot_time streams_looked; /* the reaper's alone */

	pthread_t *workers;
	unsigned worker_count; /* started */
	pthread_t reaper;
	bool has_reaper;
	struct bf_http_linger
			lingers[BF_HTTP_LINGER_COUNT]; /* under lock: new ones, for the reaper */
	size_t linger_count;
	struct bf_http_linger drains[BF_HTTP_LINGER_COUNT]; /* the reaper's alone */
	size_t drain_count;
};

/* server_request.c */
BF_MUST_CHECK struct bf_http_request *bf_http_request_new(struct bf_http_server *server);
void bf_http_request_hold(struct bf_http_request *request);
void bf_http_request_release(struct bf_http_request *request);

/* server_pool.c. Dispatch gives the request to the workers with a reference of its own; false: the queue
 * is full or the server is stopping. Caller holds request->lock. */
BF_MUST_CHECK enum belfry_status bf_http_pool_start(struct bf_http_server *server,
		struct belfry_error *err);
BF_MUST_CHECK bool bf_http_pool_dispatch(struct bf_http_server *server,
		struct bf_http_request *request);
BF_MUST_CHECK bool bf_http_pool_is_stopping(struct bf_http_server *server);
void bf_http_pool_complete(struct bf_http_server *server, struct bf_http_request *request);
/* Waits until nothing is in flight, at most so long. */
void bf_http_pool_settle(struct bf_http_server *server, belfry_duration time);
/* Answers everything in flight with 503. */
void bf_http_pool_give_up(struct bf_http_server *server);
void bf_http_pool_stop(struct bf_http_server *server);

/* server_reaper.c. */
BF_MUST_CHECK enum belfry_status bf_http_reaper_start(struct bf_http_server *server,
		struct belfry_error *err);
void bf_http_reaper_stop(struct bf_http_server *server);
void bf_http_reaper_add(struct bf_http_connection *connection);
/* Begins a stage, with its deadline `time` from now; 0: none. */
void bf_http_reaper_arm(struct bf_http_connection *connection, enum bf_http_stage stage,
		belfry_duration time);
/* Before the library closes the descriptor. */
void bf_http_reaper_remove(struct bf_http_connection *connection);

/* server_stream.c. Begin, fill and end are the socket thread's. Fill: the caller holds stream->lock and
 * suspends where it returns 0. */
void bf_http_stream_begin(struct bf_http_stream *stream, struct bf_http_request *request,
		struct MHD_Connection *transport);
BF_MUST_CHECK size_t bf_http_stream_fill(struct bf_http_stream *stream, char *bytes, size_t size);
/* Closes the source and lets go: of one that was sent, or never will be. */
void bf_http_stream_end(struct bf_http_stream *stream);
/* Looks at those that sleep: is a sign of life due, is the client still there? The reaper's. */
void bf_http_streams_look(struct bf_http_server *server, struct bf_boot_time at);
/* Ends all of them, and those that would begin. */
void bf_http_streams_stop(struct bf_http_server *server);

/* server_crowd.c. Before a connection is accepted: makes room where the limits are near; false: there is
 * none. Any thread. */
BF_MUST_CHECK bool bf_http_crowd_admit(struct bf_http_server *server, const char *peer);
/* Ends a connection where the limit of all is near, and tells whether it is. Caller holds server->lock. */
bool bf_http_crowd_thin(struct bf_http_server *server);

/* server_event.c: a descriptor that one thread waits on and others raise (eventfd). Waiting takes a length
 * of time, where a condition variable needs an instant of a clock that is not ours to read. */
BF_MUST_CHECK enum belfry_status bf_http_event_open(int *ret_fd, struct belfry_error *err);
void bf_http_event_raise(int fd);
/* Until it is raised, at most so long; what was raised is taken back. */
void bf_http_event_wait(int fd, belfry_duration time);

/* server_socket.c */
BF_MUST_CHECK enum belfry_status bf_http_socket_listen(const char *address, uint16_t port,
		int *ret_fd, uint16_t *ret_port, struct belfry_error *err);
void bf_http_socket_peer(const void *sockaddr, char *ret_text);

/* server_mhd.c: the library. Wake is called under the lock that says that the transport is asleep. */
BF_MUST_CHECK enum belfry_status bf_http_library_start(struct bf_http_server *server,
		struct belfry_error *err);
void bf_http_library_stop(struct bf_http_server *server);
void bf_http_library_wake(struct MHD_Connection *transport);

#endif
