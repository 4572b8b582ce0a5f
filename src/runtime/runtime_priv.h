/* The runtime's inside, shared by its files in this folder. */
#ifndef BF_RUNTIME_PRIV_H
#define BF_RUNTIME_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "runtime/inbox.h"
#include "runtime/message.h"
#include "runtime/replies.h"
#include "runtime/runtime.h"

enum { BF_THREAD_PLANNER, BF_THREAD_DISPATCHER, BF_THREAD_KEEPER, BF_THREAD_COUNT };

/* The failure that a thread's loop has reported last. */
struct bf_report {
	const char *who; /* NULL: none */
	enum belfry_status status;
	struct bf_boot_time again_at;
	unsigned untold;
};

struct bf_runtime {
	struct bf_runtime_config config;
	const struct bf_env *env;
	char *identity;
	char *version;

	struct bf_planner *planner;
	struct bf_dispatcher *dispatcher;
	struct bf_keeper *keeper;
	struct bf_inbox inboxes[BF_THREAD_COUNT];
	size_t inbox_count; /* initialised */
	pthread_t threads[BF_THREAD_COUNT];
	bool has_thread[BF_THREAD_COUNT];
	pthread_t pulse;
	bool has_pulse;

	struct bf_boot_time zones_at; /* the planner's: the next look at the tz database */
	bool are_zones_unreadable;    /* the planner's: the last look failed, and that was said */
	bool owes_clock_back; /* the keeper's: the planner was not told, for lack of memory */

	const struct belfry_handler *handler;
	struct bf_reply_book *book;

	atomic_bool quits[BF_THREAD_COUNT];
	atomic_llong pulse_at;   /* boot clock of the last turn, microseconds */
	atomic_llong standstill; /* the longest since the keeper asked */
	atomic_llong act_until;  /* boot clock: the dispatcher begins no call after it */

	bool is_draining;     /* the dispatcher's: it has read that it shall stop */
	pthread_mutex_t life; /* held over start and stop: one of them at a time */

	/* Everything below is under `lock`; `changed` tells of idle, ended and answered. */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool pulse_quits;
	bool is_started;
	bool is_stopped;
	bool is_planner_stopped; /* it bears no Run any more, and has told of all that it bore */
	bool is_dispatcher_idle; /* it has read that it shall stop, and nothing is left to it */
	bool is_keeper_ended;
	struct bf_planner_counts planner_counts;
	struct bf_dispatcher_counts dispatcher_counts;
	struct bf_keeper_counts keeper_counts;
	int64_t host_ended[BELFRY_TRIGGER_COUNT]
			  [BELFRY_RUN_STATUS_COUNT];    /* cancelled, concluded */
	struct bf_boot_time turned_at[BF_THREAD_COUNT]; /* last step that did not fail */
	struct bf_boot_time started_at;
	struct bf_report reports[BF_THREAD_COUNT];
};

struct bf_boot_time bf_runtime_now(const struct bf_runtime *runtime);
/* Post a copy of the message, merged with one that waits and is of its kind (inbox.h). False: there is no
 * memory for it. Most messages may be lost, because they
 * are repeated or looked for by their receiver at the next tick. */
bool bf_runtime_post(struct bf_runtime *runtime, int thread, const struct bf_message *message);
void bf_message_free(struct bf_message *message);
/* With what it carries and nobody has taken. */
void bf_message_drop(struct bf_message *message);
/* A store call failed in a thread's loop: said here, where it is handled, and not again for some seconds while
 * nothing else goes wrong. */
void bf_runtime_report(struct bf_runtime *runtime, const char *who, enum belfry_status status,
		const struct belfry_error *err);

/* The schedules of one batch, one after another, for the host's `changed`: one that is the same as the one
 * before is told once. Only where the host wants to know (config.changed). */
struct bf_changes {
	struct bf_runtime *runtime;
	struct belfry_str last; /* borrowed: of the batch */
};
void bf_changes_tell(struct bf_changes *changes, struct belfry_str schedule);
/* Copies the Runs. May be lost for lack of memory: each beat of a minute says it again. */
void bf_runtime_post_cancelled(struct bf_runtime *runtime, const struct bf_cancelled *news);

void *bf_runtime_planner_main(void *runtime);
void *bf_runtime_dispatcher_main(void *runtime);
void *bf_runtime_keeper_main(void *runtime);
void *bf_runtime_pulse_main(void *runtime);

/* The longest time that this process stood still since the last question. */
belfry_duration bf_runtime_standstill(struct bf_runtime *runtime);

#endif
