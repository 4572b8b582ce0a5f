/* The provider seam: what a host asks of whoever computes due times, makes Runs and dispatches them.
 * `embedded` (our engine over a store) is one; `none` runs a host without scheduled deployments.
 *
 * Guarantees (contract.md, 1 to 8): one Run per due time on every replica together; Session stored
 * before the turn; recovery under the same Run id; disable is final when it answers; a Run asked for
 * is stored when enqueue answers; history newest first; failures in a fixed vocabulary.
 *
 * Shapes     each call is one struct with its size first, or plain arguments.
 * Ownership  arguments are borrowed for the call; answers that point somewhere point into the caller's
 *            arena.
 * Threads    every method but create and free may be called from any thread, and may block for as long
 *            as the options' timeout says.
 * Answers    BELFRY_UNAVAILABLE (store or engine failed), BELFRY_INVALID_SCHEDULE, BELFRY_CAPACITY,
 *            BELFRY_CONFIGURATION, BELFRY_CANNOT, and what a method names. Engine words never show.
 * Since      0.1 */
#ifndef BELFRY_PROVIDER_H
#define BELFRY_PROVIDER_H

#include <belfry/arena.h>
#include <belfry/handler.h>
#include <belfry/store.h>

BELFRY_BEGIN_DECLS

enum belfry_recovery_scope { BELFRY_RECOVERY_CLUSTER, BELFRY_RECOVERY_EXECUTOR };

struct belfry_properties {
	size_t size;
	const char *name;
	enum belfry_recovery_scope recovery_scope;
	int64_t max_active_schedules;     /* 0: no ceiling */
	belfry_duration pause_visibility; /* how long after disable has answered a Run may start */
};

/* What the host's log sees. `line` is key=value text; level as in syslog's idea: 0 error .. 3 debug. */
typedef void (*belfry_log_fn)(void *data, int level, const char *line);

/* A Run of this schedule was made, moved on or ended, or the engine changed the schedule's state. A hint
 * for who shows it: read again. It may come late, once for many changes, or not at all for what another
 * replica did. Called from the provider's threads: must not block, and must not call the provider. */
typedef void (*belfry_changed_fn)(void *data, struct belfry_str schedule);

struct belfry_provider_options {
	size_t size;
	struct belfry_store *store;      /* borrowed until free: open and migrated */
	const char *tz_directory;        /* NULL: the system's tz database */
	struct belfry_str identity;      /* names this process to people; may be empty */
	struct belfry_str version;       /* of the host */
	int64_t max_active_schedules;    /* 0: no ceiling */
	uint32_t max_concurrent;         /* calls open at once; 0: 1000 */
	uint64_t max_payload_bytes;      /* of payloads held at once; 0: 256 MiB */
	uint32_t recovery_limit;         /* 0: 10 */
	belfry_duration lease;           /* 0: 8 s */
	belfry_duration beat;            /* 0: 2 s */
	belfry_duration tick;            /* longest sleep without looking; 0: 1 s */
	belfry_duration timeout;         /* of one call of this seam; 0: 10 s */
	belfry_duration keep_age;        /* 0: 30 days */
	int64_t keep_runs;               /* 0: 10000 */
	belfry_duration keep_failed_age; /* 0: 90 days */
	void *log_data;
	belfry_log_fn log; /* may be NULL */
	void *changed_data;
	belfry_changed_fn changed;   /* may be NULL */
	belfry_duration zones_check; /* between looks whether the tz database is another; 0: 30 s */
};

#define BELFRY_PROVIDER_OPTIONS_INIT                                                               \
	{                                                                                          \
		sizeof(struct belfry_provider_options), NULL, NULL, {NULL, 0}, {NULL, 0}, 0, 0, 0, \
				0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, 0                  \
	}

struct belfry_provider_ops;

struct belfry_provider {
	const struct belfry_provider_ops *ops;
};

/* The stored schedules of a host. The list is cheap (ids and revisions alone); what a schedule says is
 * asked for by `load`, and only where the list has a higher revision than the engine, or has not what
 * the engine has.
 *
 * The list may grow old while it is read. What is not in it is removed only after `load` has said, of
 * that id, that it is not there: so a host that writes its record before it applies, and that never
 * gives an id out twice, may go on changing schedules meanwhile, and needs no lock (T079). */
struct belfry_schedule_iterator {
	void *data;
	/* The next one, by rising ids. *ret_id is borrowed until the following call. BELFRY_NEVER: the
	 * end. Any other answer ends the reconcile, and nothing is removed. */
	enum belfry_status (*next)(void *data, struct belfry_str *ret_id, int64_t *ret_revision,
			struct belfry_error *err);
	/* The schedule as it is stored now, borrowed until the following call. BELFRY_NOT_FOUND: it is
	 * not there (any more). An answer that concerns this one alone (every class but RETRY and SYSTEM)
	 * is told to `refused`. */
	enum belfry_status (*load)(void *data, struct belfry_str id,
			struct belfry_schedule *ret_schedule, struct belfry_error *err);
	/* This one could not be loaded, or the engine refuses it; why->status and why->message say what
	 * is wrong. What the engine had of it stays; the others go on. `revision`: the list's, 0 where
	 * it has none. May be NULL: then the first refusal is the reconcile's answer, at its end. */
	void (*refused)(void *data, struct belfry_str id, int64_t revision,
			const struct belfry_error *why);
};

/* Bounds of texts that a host hands in; longer ones are BELFRY_INVALID. */
#define BELFRY_REQUEST_KEY_BYTES 256u
#define BELFRY_MESSAGE_BYTES     1024u /* of cancel, and of a concluded outcome: UTF-8 */

/* Run now, replay. */
struct belfry_enqueue {
	size_t size;
	struct belfry_str schedule;
	enum belfry_trigger trigger;    /* MANUAL or REPLAY */
	struct belfry_id replayed_from; /* REPLAY: a Run of this schedule (else BELFRY_NOT_FOUND);
					   * the new Run carries its revision, that is its payload */
	struct belfry_str request_key;  /* empty: none; at most BELFRY_REQUEST_KEY_BYTES */
	/* Of what the request says, in the program's own words, with request_key: the key sent again with
	 * another hash is BELFRY_KEY_REUSED. 0 is a value like any other. */
	uint64_t request_hash;
	/* answers */
	struct belfry_id run;
	bool is_new; /* false: the key had made this Run before */
};

#define BELFRY_ENQUEUE_INIT                                                                        \
	{                                                                                          \
		sizeof(struct belfry_enqueue), {NULL, 0}, BELFRY_TRIGGER_MANUAL, {{0}}, {NULL, 0}, \
				0, {{0}}, false                                                    \
	}

struct belfry_run_query {
	size_t size;
	struct belfry_str schedule; /* empty: of all */
	uint32_t statuses;          /* bit n (1 << BELFRY_STATUS_...): that status; 0: all */
	uint32_t triggers;          /* bit n (1 << BELFRY_TRIGGER_...): that trigger; 0: all */
	belfry_time since;          /* of due or creation time; 0: all */
	struct belfry_id before;    /* ids below this one; all zero: from the newest */
	uint32_t limit;             /* clamped to 1..200: 0 is 1; BELFRY_RUN_QUERY_INIT has 200 */
	/* answers: newest first */
	struct belfry_run *runs;
	size_t count;
	bool has_more;
};

#define BELFRY_RUN_QUERY_INIT                                                                      \
	{                                                                                          \
		sizeof(struct belfry_run_query), {NULL, 0}, 0, 0, 0, {{0}}, 200, NULL, 0, false    \
	}

/* What the engine knows of a schedule, apart from what the host told it. */
struct belfry_schedule_state {
	struct belfry_str id;
	bool is_known;
	int64_t revision;
	enum belfry_phase phase;
	struct belfry_str phase_reason;
	belfry_time next_due; /* NEVER: none */
	belfry_time last_fire_at;
	int64_t fired_count;
};

enum belfry_why_kind {
	BELFRY_WHY_RUN,      /* there is a Run: `run` */
	BELFRY_WHY_GAP,      /* the ledger says why not: `gap` */
	BELFRY_WHY_NOT_DUE,  /* not a due time of revision `revision`; nearest before and after */
	BELFRY_WHY_COMING,   /* it is due in the future */
	BELFRY_WHY_PENDING,  /* due, and not decided yet */
	BELFRY_WHY_BEFORE,   /* before the schedule existed (`from`) */
	BELFRY_WHY_OLDER,    /* older than the kept ledger (`from`) */
	BELFRY_WHY_DISABLED, /* the schedule is disabled since `from` */
	BELFRY_WHY_REMOVED
};

struct belfry_why {
	size_t size;
	struct belfry_str schedule;
	belfry_time at; /* 0: the latest due time that is decided */
	/* answers */
	enum belfry_why_kind kind;
	belfry_time due; /* the due time that the answer is about */
	struct belfry_run *run;
	struct belfry_gap *gap;
	int64_t revision;
	belfry_time from;
	belfry_time nearest_before; /* 0: none */
	belfry_time nearest_after;  /* NEVER: none */
	/* BELFRY_WHY_NOT_DUE: the present rule names it, and an exception leaves it out. Since 0.2 */
	bool is_excluded;
	struct belfry_str calendar; /* the shared calendar that does; empty: the rule itself */
	/* BELFRY_WHY_NOT_DUE: the present rule names it, or a time that the clocks skip, and it was none all
	 * the same; in words. Since 0.2 */
	struct belfry_str because;
};

#define BELFRY_WHY_INIT                                                                            \
	{                                                                                          \
		sizeof(struct belfry_why), {NULL, 0}, 0, BELFRY_WHY_RUN, 0, NULL, NULL, 0, 0, 0,   \
				0, false, {NULL, 0},                                               \
		{                                                                                  \
			NULL, 0                                                                    \
		}                                                                                  \
	}

#define BELFRY_LATENESS_BUCKETS 14
/* Upper bounds in microseconds of all lateness buckets but the last, which has none. */
#define BELFRY_LATENESS_BOUNDS                                                                     \
	{                                                                                          \
		1000, 2500, 5000, 10000, 25000, 50000, 100000, 250000, 500000, 1000000, 5000000,   \
				30000000, 300000000                                                \
	}

enum belfry_due_outcome {
	BELFRY_DUE_RUN,
	BELFRY_DUE_MISSED,
	BELFRY_DUE_DISABLED,
	BELFRY_DUE_OUTCOME_COUNT
};

/* Counted since start, for metrics and readiness. */
struct belfry_provider_metrics {
	size_t size;
	int64_t due_times[BELFRY_DUE_OUTCOME_COUNT];
	int64_t runs[BELFRY_TRIGGER_COUNT]
		    [BELFRY_RUN_STATUS_COUNT];     /* ended, by trigger and status */
	int64_t lateness[BELFRY_LATENESS_BUCKETS]; /* started_at - ready_at */
	int64_t lateness_sum_us;
	int64_t lateness_count;
	int64_t takeovers;
	int64_t open[BELFRY_RUN_STATE_COUNT];
	belfry_time oldest_queued;    /* 0: none waits */
	belfry_duration clock_offset; /* store's clock minus ours */
	bool is_store_up;
	bool is_started;
	/* planner, dispatcher, keeper: how long ago each last made a step that succeeded */
	belfry_duration step_age[3];
	belfry_duration lease;
};

#define BELFRY_PROVIDER_METRICS_INIT                                                               \
	{                                                                                          \
		sizeof(struct belfry_provider_metrics), {0}, {{0}}, {0}, 0, 0, 0, {0}, 0, 0,       \
				false, false, {0}, 0                                               \
	}

/* Optional methods, for hosts that offer more. A NULL one is answered BELFRY_CANNOT. */
struct belfry_provider_more_ops {
	size_t size;
	/* ids -> states, in their order, in one read. */
	enum belfry_status (*state)(struct belfry_provider *provider, const struct belfry_str *ids,
			size_t count, struct belfry_arena *arena,
			struct belfry_schedule_state **ret_states, struct belfry_error *err);
	/* What became of the due time why->at of why->schedule. BELFRY_NOT_FOUND: no such schedule. */
	enum belfry_status (*why)(struct belfry_provider *provider, struct belfry_why *why,
			struct belfry_arena *arena, struct belfry_error *err);
	/* How a Run's turn ended, said by the host (decision 6). outcome->status is terminal. Idempotent:
	 * the same status again is BELFRY_OK and changes nothing; another one is BELFRY_CONFLICT, and the
	 * first stays. A Run whose Session is stored and whose turn is not yet is thereby dispatched: who
	 * knows how the turn ended knows that it was admitted. BELFRY_STALE: no Session is stored, there
	 * is nothing that could have ended. BELFRY_NOT_FOUND. */
	enum belfry_status (*conclude)(struct belfry_provider *provider, struct belfry_id run,
			const struct belfry_outcome *outcome, struct belfry_error *err);
	/* The attempts that are kept of a Run (from the first failure or second attempt on), oldest first,
	 * in the arena. BELFRY_NOT_FOUND. */
	enum belfry_status (*attempts)(struct belfry_provider *provider, struct belfry_id run,
			struct belfry_arena *arena, struct belfry_attempt **ret_attempts,
			size_t *ret_count, struct belfry_error *err);
	/* What was counted since the provider was made, and what is open now. Answers also while the store
	 * is down (is_store_up). */
	enum belfry_status (*metrics)(struct belfry_provider *provider,
			struct belfry_provider_metrics *ret_metrics, struct belfry_error *err);
	/* At most `max` coming due times after `from` (microseconds UTC), computed with the engine's own
	 * zone data. BELFRY_NOT_FOUND. */
	enum belfry_status (*due)(struct belfry_provider *provider, struct belfry_str schedule,
			belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
			struct belfry_error *err);
	/* End a Run as CANCELLED whose turn is not stored yet: waiting, or being dispatched. Its handler
	 * is told (handler.h, cancel), on whichever replica, within a beat; what it answers is dropped.
	 * Idempotent. BELFRY_CONFLICT: it has ended otherwise, or its turn is admitted (then only its
	 * Session can end it). BELFRY_NOT_FOUND. `message`: who and why, for people; may be empty. */
	enum belfry_status (*cancel)(struct belfry_provider *provider, struct belfry_id run,
			struct belfry_str message, struct belfry_error *err);
};

struct belfry_provider_ops {
	uint32_t seams_abi;
	size_t size;
	const char *name;
	uint32_t caps; /* none yet */

	/* Required. Checks the configuration and makes the provider; nothing runs yet.
	 * BELFRY_CONFIGURATION names what is missing and both remedies: another provider, or `none`. */
	enum belfry_status (*create)(const struct belfry_provider_options *options,
			struct belfry_provider **ret_provider, struct belfry_error *err);
	/* Required. Accepts NULL; stops first where stop was not called. */
	void (*free)(struct belfry_provider *provider);
	/* Required. The same at every call; borrowed until free. Never blocks. */
	void (*properties)(struct belfry_provider *provider,
			struct belfry_properties *ret_properties);
	/* Required. Begin to dispatch, and resume what a lost process left. A second call changes
	 * nothing (T082). The handler is borrowed until stop has answered BELFRY_OK. */
	enum belfry_status (*start)(struct belfry_provider *provider,
			const struct belfry_handler *handler, struct belfry_error *err);
	/* Required. Drain for at most `drain`, hand back what is still open, end the incarnation.
	 * BELFRY_BUSY: calls are still open and hold reply handles; they are over for us. */
	enum belfry_status (*stop)(struct belfry_provider *provider, belfry_duration drain,
			struct belfry_error *err);
	/* Required. Make the engine's schedules those of the iterator (by higher revision), remove what
	 * is not in it. Makes no Run. The same before and after start (B22). One schedule that cannot be
	 * taken does not stop the others. BELFRY_INVALID: the iterator's ids do not rise (the message
	 * names one); nothing was changed then. */
	enum belfry_status (*reconcile)(struct belfry_provider *provider,
			struct belfry_schedule_iterator *schedules, struct belfry_error *err);
	/* Required. Put one definition that has a higher revision than the known one; a lower or equal
	 * one changes nothing and answers BELFRY_OK. BELFRY_INVALID_SCHEDULE, BELFRY_CAPACITY. Disabled
	 * is final when it answers (guarantee 5). */
	enum belfry_status (*apply)(struct belfry_provider *provider,
			const struct belfry_schedule *schedule, struct belfry_error *err);
	/* Required. Takes effect where `revision` is that of the known definition or higher; a lower one
	 * changes nothing and answers BELFRY_OK. Leaves a tombstone of that revision, also of an unknown id:
	 * a put that is not above it changes nothing. */
	enum belfry_status (*remove)(struct belfry_provider *provider, struct belfry_str schedule,
			int64_t revision, struct belfry_error *err);
	/* Required. BELFRY_NOT_FOUND, BELFRY_KEY_REUSED. */
	enum belfry_status (*enqueue)(struct belfry_provider *provider,
			struct belfry_enqueue *request, struct belfry_error *err);
	/* Required. History, newest first, in the arena. An unknown schedule has none. */
	enum belfry_status (*list_runs)(struct belfry_provider *provider,
			struct belfry_run_query *query, struct belfry_arena *arena,
			struct belfry_error *err);
	/* Required. BELFRY_NOT_FOUND. */
	enum belfry_status (*get_run)(struct belfry_provider *provider, struct belfry_id run,
			struct belfry_arena *arena, struct belfry_run *ret_run,
			struct belfry_error *err);

	const struct belfry_provider_more_ops *more; /* may be NULL */
};

BELFRY_END_DECLS

#endif
