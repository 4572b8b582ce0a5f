/* A small host: a store, the provider `embedded` over it behind the scheduler's checks, and a handler that does
 * what the test says. */
#ifndef PROVIDER_HOST_H
#define PROVIDER_HOST_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include "faulty.h"
#include "model/run.h"
#include "provider/provider.h"

enum behaviour {
	ANSWER,        /* at once, in the calling thread */
	ANSWER_THREAD, /* at once, from a thread of its own */
	HOLD_SESSION,  /* never: the reply is kept until host_release */
	HOLD_TURN,     /* the Session is answered, the turn held */
	RETRY_SESSION, /* refuse for now, `retries` times, then answer */
	RETRY_TURN,
	REFUSE_SESSION, /* for good */
	REFUSE_TURN
};

enum { CALLS_MAX = 4096, HELD_MAX = 64 };

/* A call as the handler saw it. */
struct call {
	struct belfry_id run;
	belfry_fence fence;
	uint32_t attempt;
	enum belfry_step step;
	enum belfry_trigger trigger;
	char session[64];
	char payload[64];
	belfry_time at;
};

struct host {
	struct bf_store *store;      /* fault points; owned by the shelf below */
	struct belfry_store *faulty; /* what the provider sees */
	struct belfry_scheduler *scheduler;
	struct belfry_handler handler;
	struct belfry_provider_options options;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum behaviour behaviour;
	unsigned retries;
	bool has_outcome; /* turns end as COMPLETED */
	struct call calls[CALLS_MAX];
	size_t call_count;
	struct belfry_reply *held[HELD_MAX];
	size_t held_count;
	size_t cancel_count;
	pthread_t threads[CALLS_MAX];
	size_t thread_count;
	struct belfry_error err;
};

/* Where a store outlives the host that uses it: memory, or one file in a folder of its own. */
struct shelf {
	bool is_sqlite;
	char folder[64];
	struct bf_store *store; /* NULL: closed */
};

void shelf_init(struct shelf *shelf, bool is_sqlite);
void shelf_fini(struct shelf *shelf);
/* SQLite: close and open the file again, as a new process would. */
void shelf_reopen(struct shelf *shelf);

/* Opens the scheduler; nothing runs yet. */
struct host *host_new(struct shelf *shelf);
/* The same with options that the test has changed. */
struct host *host_new_with(struct shelf *shelf, const struct belfry_provider_options *options);
struct belfry_provider_options host_options(void);
void host_start(struct host *host);
/* Stops (a drain of `drain`), answers what is held, frees. */
void host_free(struct host *host, belfry_duration drain);
/* As a crash would: nothing is handed back, because no store call succeeds any more. */
void host_crash(struct host *host);
/* Answers what is held. */
void host_release(struct host *host);
void host_behave(struct host *host, enum behaviour behaviour);

struct belfry_schedule schedule_of(const char *id, int64_t revision, const char *rule);
enum belfry_status host_apply(struct host *host, const struct belfry_schedule *schedule);
struct belfry_id host_run_now(struct host *host, const char *schedule);
struct belfry_run host_run(struct host *host, struct belfry_id run, struct belfry_arena *arena);
size_t host_call_count(struct host *host); /* of all steps */
size_t host_calls_of(struct host *host, struct belfry_id run, enum belfry_step step,
		struct call *ret_last);

/* Conditions, asked again until they hold; the test fails when the time is up. */
typedef bool (*condition_fn)(struct host *host, const void *data);
void wait_until(struct host *host, condition_fn condition, const void *data, const char *what);
void wait_past(struct host *host, belfry_time at);
bool run_is_over(struct host *host, const void *run);     /* failed, dispatched, cancelled */
bool run_is_held(struct host *host, const void *run);     /* a call of it is open */
bool has_calls(struct host *host, const void *size);      /* that many, or more */
bool covers(struct host *host, const void *unused);       /* the incarnation has renewed twice */
bool all_are_over(struct host *host, const void *unused); /* no Run is open */
belfry_time now_wall(void);

#endif
