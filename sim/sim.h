/* The deterministic simulator: N replicas of the engine's three machines over one memory store, in
 * virtual time, on one thread, from one seed. It takes the place of src/runtime: it carries out what
 * the machines order, and lets the world change between "committed" and "heard that it committed".
 *
 * Two ways to use it:
 *   a world   config.has_faults: faults, a host and a handler that the seed chooses (bf_sim_run_world)
 *   a scene   the caller sets deployments, handler and faults himself, and lets time pass
 *
 * After every store operation the cheap invariants are checked, by bf_sim_finish all of them, after a
 * quiet period without faults. The first one that fails stays (bf_sim_failure), with its trace, and
 * stops time.
 *
 * Ownership  a simulator is owned by its maker, freed by bf_sim_free. What it hands out is borrowed
 *            until time passes.
 * Memory     without memory the simulator asserts: it is a tool, and a half-made world proves nothing.
 * Threads    one. */
#ifndef BF_SIM_H
#define BF_SIM_H

#include <stdio.h>

#include <belfry/calendar.h>
#include <belfry/run.h>
#include <belfry/schedule.h>
#include <belfry/store.h>

#include "base/compiler.h"

#define BF_SIM_REPLICAS_MAX 8u
#define BF_SIM_ID_BYTES     24
#define BF_SIM_NAME_BYTES   80
#define BF_SIM_TEXT_BYTES   160
#define BF_SIM_ANY_REPLICA  UINT32_MAX
#define BF_SIM_ANY_RECORD   (-1)

struct bf_sim;

/* Faults of the simulator itself, to prove that the invariants can fail. */
enum bf_sim_sabotage {
	BF_SIM_SABOTAGE_NONE,
	BF_SIM_SABOTAGE_IGNORE_FENCES,  /* the store takes records of holders that lost their Run */
	BF_SIM_SABOTAGE_DUPLICATE,      /* some due times get a second Run under another id */
	BF_SIM_SABOTAGE_LOSE_SESSION,   /* a Session is acknowledged and not stored */
	BF_SIM_SABOTAGE_LOSE_RUNS,      /* a cursor moves without its Runs */
	BF_SIM_SABOTAGE_LOSE_GAPS,      /* a cursor moves without its ledger rows */
	BF_SIM_SABOTAGE_START_DISABLED, /* a disable leaves the Runs that have not started */
	BF_SIM_SABOTAGE_EARLY,          /* the store's clock of plans is an hour ahead */
	BF_SIM_SABOTAGE_NO_TAKEOVER,    /* what dead incarnations own is never given out */
	BF_SIM_SABOTAGE_LEAK_PLACES,    /* what planners say of their places gets lost */
	BF_SIM_SABOTAGE_LOW_MARK,       /* beats carry a low mark above everything */
	BF_SIM_SABOTAGE_CALL_LOST,      /* dispatchers believe in their lease an hour too long */
	BF_SIM_SABOTAGE_SAME_FENCE,     /* a takeover does not raise the fence */
	BF_SIM_SABOTAGE_DEAF,           /* what is cancelled is told to no dispatcher */
	BF_SIM_SABOTAGE_FORGET_LOCAL,   /* local times of what was decided are not stored */
	BF_SIM_SABOTAGE_FORGET_COUNT,   /* half of the rows read say that nothing has fired */
	BF_SIM_SABOTAGE_COUNT
};
const char *bf_sim_sabotage_name(enum bf_sim_sabotage sabotage);

struct bf_sim_config {
	uint64_t seed;
	struct belfry_zones *zones; /* borrowed */
	/* A world of two databases: each process has one or the other; Test/Zone, in which every deployment is,
	 * lies an hour further east in this one, whose version is newer. Borrowed; NULL: no such world. */
	struct belfry_zones *newer_zones;
	unsigned replicas; /* 0: 3 */
	bool single_document;
	bool has_faults;         /* a world; else a scene, in which nothing happens by itself */
	bool may_step_clock;     /* a world: the wall clock is stepped too */
	belfry_time start;       /* the store's clock when time begins; 0: by the seed */
	belfry_duration beat;    /* 0: 2 s; lease is four beats, tick half a beat */
	uint32_t max_runs;       /* places of a replica; 0: 100 */
	uint64_t max_bytes;      /* 0: 1 MiB */
	uint32_t recovery_limit; /* 0: 10 */
	unsigned deployments;    /* of a world; 0: 12 */
	enum bf_sim_sabotage sabotage;
	FILE *trace; /* every line of the trace; NULL: none */
};

struct bf_sim_counts {
	int64_t virtual_us;
	uint64_t events;
	uint64_t store_calls;
	uint64_t runs_scheduled;
	uint64_t runs_asked_for; /* Run now and replay */
	uint64_t gaps;
	uint64_t session_calls;
	uint64_t turn_calls;
	uint64_t takeovers;
	uint64_t retries;
	uint64_t crashes;
	uint64_t crashes_in_commit; /* of these: between the document writes of one call */
	uint64_t freezes;
	uint64_t stops;
	uint64_t outages;
	uint64_t lost_acks;
	uint64_t late_acks;
	uint64_t refused; /* UNAVAILABLE */
	uint64_t clock_steps;
	uint64_t puts;
	uint64_t removes;
	uint64_t interleaved; /* operations that ran between the document writes of another */
	uint64_t cancels;     /* Runs that the host ended: cancelled ... */
	uint64_t conclusions; /* ... and concluded */
	uint64_t stale_calls; /* calls by a holder that could not know that it was lost */
};

/* A world's config by its seed alone: beat, places, deployments, and whether the clock is stepped vary
 * with it. zones borrowed. */
struct bf_sim_config bf_sim_world_config(uint64_t seed, struct belfry_zones *zones,
		bool single_document);

void bf_sim_new(const struct bf_sim_config *config, struct bf_sim **ret_sim);
void bf_sim_free(struct bf_sim *sim);
const struct bf_sim_counts *bf_sim_counts(const struct bf_sim *sim);
/* NULL: every invariant has held so far. Else seed, time, invariant and the last lines of the trace. */
const char *bf_sim_failure(struct bf_sim *sim);
/* The name of the invariant that failed; NULL. */
const char *bf_sim_invariant(const struct bf_sim *sim);
/* Over every line of the trace: the same for the same seed. */
uint64_t bf_sim_digest(const struct bf_sim *sim);

/* ---- time -------------------------------------------------------------------------------------- */

belfry_time bf_sim_now(const struct bf_sim *sim);         /* the store's clock */
belfry_duration bf_sim_elapsed(const struct bf_sim *sim); /* virtual time since the beginning */
/* Lets time pass; stops early at a failure. */
void bf_sim_run(struct bf_sim *sim, belfry_duration duration);
/* Until the store's clock shows `time` (which must lie ahead). */
void bf_sim_run_until(struct bf_sim *sim, belfry_time time);
/* A world: `duration` with faults, then bf_sim_finish. */
void bf_sim_run_world(struct bf_sim *sim, belfry_duration duration);
/* No more faults, everybody runs, handlers answer; time passes until all is drained; then every
 * invariant is checked. */
void bf_sim_finish(struct bf_sim *sim);

/* ---- replicas ---------------------------------------------------------------------------------- */

void bf_sim_start(struct bf_sim *sim, unsigned replica);
void bf_sim_crash(struct bf_sim *sim, unsigned replica);
void bf_sim_stop(struct bf_sim *sim, unsigned replica, belfry_duration drain);
void bf_sim_freeze(struct bf_sim *sim, unsigned replica);   /* SIGSTOP */
void bf_sim_unfreeze(struct bf_sim *sim, unsigned replica); /* SIGCONT */
bool bf_sim_is_up(const struct bf_sim *sim, unsigned replica);
struct belfry_id bf_sim_incarnation(const struct bf_sim *sim, unsigned replica);
uint32_t bf_sim_held(const struct bf_sim *sim, unsigned replica); /* Runs in its memory */

/* ---- the store --------------------------------------------------------------------------------- */

enum bf_sim_op {
	BF_SIM_BEAT,
	BF_SIM_ADVANCE,
	BF_SIM_CLAIM,
	BF_SIM_RECORD,
	BF_SIM_LIST,
	BF_SIM_PRUNE
};
enum bf_sim_fate {
	BF_SIM_NORMAL,
	BF_SIM_REFUSED,      /* not done; UNAVAILABLE */
	BF_SIM_LOST_ACK,     /* done; UNKNOWN */
	BF_SIM_LATE_ACK,     /* done; heard of `delay` later */
	BF_SIM_LATE_EFFECT,  /* done `delay` later */
	BF_SIM_CRASH_BEFORE, /* not done, and the process dies */
	BF_SIM_CRASH_AFTER,  /* done, and the process dies before it hears of it */
	BF_SIM_CRASH_INSIDE  /* single-document mode: dies after some of the document writes */
};
struct bf_sim_trap {
	uint32_t replica; /* BF_SIM_ANY_REPLICA */
	enum bf_sim_op op;
	int record; /* the kind of a claim, or of the first record; BF_SIM_ANY_RECORD */
	enum bf_sim_fate fate;
	belfry_duration delay;
	unsigned count; /* how many operations meet it; 0: 1 */
};
/* The next operation that fits meets this fate. Up to 8 at a time. */
void bf_sim_set_trap(struct bf_sim *sim, struct bf_sim_trap trap);
/* Every operation is refused, for so long. */
void bf_sim_outage(struct bf_sim *sim, belfry_duration duration);
void bf_sim_step_clock(struct bf_sim *sim, belfry_duration by);

/* Rows as the store has them; the arrays live in the caller's arena. */
void bf_sim_list_runs(struct bf_sim *sim, const char *deployment, struct belfry_arena *arena,
		struct belfry_run **ret_runs, size_t *ret_count); /* newest first */
bool bf_sim_find_run(struct bf_sim *sim, struct belfry_id run, struct belfry_arena *arena,
		struct belfry_run *ret_run);
void bf_sim_list_gaps(struct bf_sim *sim, const char *deployment, struct belfry_arena *arena,
		struct belfry_gap **ret_gaps, size_t *ret_count);

/* ---- the host ---------------------------------------------------------------------------------- */

struct bf_sim_deployment {
	const char *id;
	const char *rule;
	const char *zone; /* NULL: UTC */
	bool is_disabled;
	bool has_local_session;
	const char *payload; /* NULL: one that names id and revision */
	struct belfry_policies policies;
};
#define BF_SIM_DEPLOYMENT_INIT                                                                     \
	{                                                                                          \
		NULL, NULL, NULL, false, false, NULL, BELFRY_POLICIES_INIT                         \
	}

/* Asks for a new revision (or its removal) and returns at once; whoever does not hear of it is asked
 * again until it is acknowledged, like a host that reconciles. */
void bf_sim_put(struct bf_sim *sim, const struct bf_sim_deployment *deployment);
void bf_sim_remove(struct bf_sim *sim, const char *id);
/* Is the latest request acknowledged? */
bool bf_sim_is_settled(const struct bf_sim *sim, const char *id);
/* Lets time pass until it is, ten minutes at most. */
void bf_sim_settle(struct bf_sim *sim, const char *id);
/* Run now; a replay where `replayed` is not NULL. Committed when it returns. */
struct belfry_id bf_sim_enqueue(struct bf_sim *sim, const char *deployment,
		const struct belfry_id *replayed);

/* Ends a Run as a host does, and tells the process that it asked. Committed when it returns; the record's
 * own answer. */
enum belfry_status bf_sim_cancel(struct bf_sim *sim, struct belfry_id run);
enum belfry_status bf_sim_conclude(struct bf_sim *sim, struct belfry_id run,
		enum belfry_run_status status);

/* ---- the handler ------------------------------------------------------------------------------- */

enum bf_sim_reply_kind {
	BF_SIM_REPLY_OK,   /* a Session; or a turn that has COMPLETED */
	BF_SIM_REPLY_OPEN, /* a turn that goes on */
	BF_SIM_REPLY_RETRY,
	BF_SIM_REPLY_PERMANENT,
	BF_SIM_REPLY_HANG,
	BF_SIM_REPLY_CRASH /* the process dies of the call */
};
struct bf_sim_reply {
	enum bf_sim_reply_kind kind;
	belfry_duration delay;
	belfry_duration after; /* RETRY */
	bool is_doubled;       /* the answer comes a second time, much later */
};
struct bf_sim_call {
	belfry_time at;          /* the store's clock */
	belfry_duration elapsed; /* virtual time */
	unsigned replica;
	struct belfry_id run;
	enum belfry_trigger trigger;
	enum belfry_step step;
	belfry_fence fence;
	uint32_t attempt;
	uint32_t takeovers;
	int64_t revision;
	belfry_time due_at;
	struct belfry_id replayed_from;
	char deployment[BF_SIM_ID_BYTES];
	char session[BF_SIM_NAME_BYTES];
	char payload[BF_SIM_NAME_BYTES];
	bool is_cancelled;
};
typedef struct bf_sim_reply (*bf_sim_handler_fn)(void *data, const struct bf_sim_call *call);

/* NULL: everything answers OK after 10 ms. */
void bf_sim_set_handler(struct bf_sim *sim, bf_sim_handler_fn handler, void *data);
/* Every call so far, in order. */
const struct bf_sim_call *bf_sim_calls(const struct bf_sim *sim, size_t *ret_count);

#endif
