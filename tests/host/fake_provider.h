/* A provider of the tests: keeps schedules and Runs in memory, dispatches nothing by itself, and
 * answers what a test tells it to. Also the reply handles of the handler seam, so that a test can
 * play provider.
 *
 * Threads  its methods from any; the fields that a test sets, before or between calls. */
#ifndef FAKE_PROVIDER_H
#define FAKE_PROVIDER_H

#include <pthread.h>

#include <belfry/provider.h>

#define FAKE_SCHEDULES 1500
#define FAKE_RUNS      512

enum fake_method {
	FAKE_START,
	FAKE_RECONCILE,
	FAKE_APPLY,
	FAKE_REMOVE,
	FAKE_ENQUEUE,
	FAKE_LIST_RUNS,
	FAKE_GET_RUN,
	FAKE_STATE,
	FAKE_WHY,
	FAKE_ATTEMPTS,
	FAKE_METRICS,
	FAKE_DUE,
	FAKE_CANCEL,
	FAKE_METHOD_COUNT
};

struct fake_schedule {
	char id[65];
	int64_t revision;
	uint32_t flags;
	bool is_removed;
	bool is_listed; /* by the last reconcile */
	bool is_old;    /* it was there before that began */
	char *rule;
	char *zone;
	char *payload;
	size_t payload_len;
	struct belfry_policies policies;
};

struct fake_run {
	struct belfry_run run; /* its text points to static text or to `schedule` */
	char schedule[65];
	char key[256];
	uint64_t hash;
};

struct fake_provider {
	struct belfry_provider base;
	pthread_mutex_t lock;
	const struct belfry_handler *handler; /* while started */
	struct fake_schedule schedules[FAKE_SCHEDULES];
	size_t schedule_count;
	struct fake_run runs[FAKE_RUNS];
	size_t run_count;
	unsigned calls[FAKE_METHOD_COUNT];

	/* What a test sets. */
	enum belfry_status fails[FAKE_METHOD_COUNT]; /* OK: it works */
	const char *detail;                          /* err->detail (and message) of a failure */
	struct belfry_provider_metrics metrics;
	struct belfry_why why; /* the answers; `run` may point to one of runs[] */
	belfry_time next_due;  /* of every enabled schedule; 0: NEVER */
	enum belfry_phase phase;
	struct belfry_attempt attempts[2];
	size_t attempt_count;
	bool has_no_more;    /* optional methods answer BELFRY_CANNOT */
	char refused_id[65]; /* a reconcile does not take this one */
	unsigned loads;      /* by reconciles */
	/* What happens meanwhile; NULL: nothing. Called without a lock. */
	void (*on_apply)(void *data);  /* before it is carried out, or fails */
	void (*on_loaded)(void *data); /* in a reconcile, before the schedule is put */
	void *on_data;
};

void fake_provider_init(struct fake_provider *fake);
/* Its schedules, as if there had never been any. */
void fake_provider_forget(struct fake_provider *fake);
void fake_provider_fini(struct fake_provider *fake);
/* Borrowed; NULL: it has none, or it is removed. */
struct fake_schedule *fake_find_schedule(struct fake_provider *fake, const char *id);
/* A Run of this schedule, borrowed, queued, due at `due`. */
struct belfry_run *fake_add_run(struct fake_provider *fake, const char *schedule, belfry_time due);

/* --- replies --- */

enum fake_reply_kind {
	FAKE_REPLY_NONE,
	FAKE_REPLY_SESSION,
	FAKE_REPLY_TURN,
	FAKE_REPLY_RETRY,
	FAKE_REPLY_PERMANENT
};

struct belfry_reply {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	enum fake_reply_kind kind;
	unsigned count; /* how many answers came: must be one */
	char text[64];  /* session or turn */
	struct belfry_outcome outcome;
	belfry_duration after;
	enum belfry_run_error error;
	char message[320];
	char detail[320];
};

void fake_reply_init(struct belfry_reply *reply);
/* Until the answer is there; fails the test after 20 s. */
void fake_reply_wait(struct belfry_reply *reply);
void fake_reply_fini(struct belfry_reply *reply);

#endif
