/* The simulator's inside, shared by its files.
 *
 *   sim.c      time, chance, trace, failure      gate.c     a store call in two moments, and its fate
 *   process.c  a process: birth, inboxes, death  store.c    the observing table over the memory store
 *   steps.c    events in, orders out             runs.c     what is known of each Run; cheap invariants
 *   host.c     deployments and what was asked    handler.c  sessions, turns, and who may call
 *   world.c    what the seed lets happen         final.c    the expensive invariants */
#ifndef SIM_PRIV_H
#define SIM_PRIV_H

#include "base/alloc.h"
#include "base/assert.h"
#include "base/env.h"
#include "base/grow.h"
#include "base/list.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "engine/dispatcher.h"
#include "engine/jitter.h"
#include "engine/keeper.h"
#include "engine/planner.h"
#include "model/run.h"
#include "sim/queue.h"
#include "sim/sim.h"
#include "store/store.h"

/* A failed insertion asserts, as every lack of memory does here. */
#define uthash_malloc(size)        bf_alloc(size)
#define uthash_free(pointer, size) bf_free(pointer)
#include <uthash.h>

#define SIM_TRACE_LINES 120u
#define SIM_LINE_BYTES  200u
#define SIM_TRAPS_MAX   8u
#define SIM_ZONES_MAX   64u /* stretches over which the clock was set back */

enum { SIM_PLANNER, SIM_DISPATCHER, SIM_KEEPER, SIM_MACHINES };

enum sim_message_kind {
	SIM_MESSAGE_COVER,
	SIM_MESSAGE_LOST,
	SIM_MESSAGE_TICKETS,
	SIM_MESSAGE_BORN,
	SIM_MESSAGE_REQUEST,
	SIM_MESSAGE_ANSWER,
	SIM_MESSAGE_KICK,
	SIM_MESSAGE_LOW,
	SIM_MESSAGE_BEAT_NOW,
	SIM_MESSAGE_CLOCK_BACK,
	SIM_MESSAGE_CANCELLED,
	SIM_MESSAGE_ZONES,
	SIM_MESSAGE_STOP,
	SIM_MESSAGE_END
};

struct sim_message {
	struct bf_link link;
	enum sim_message_kind kind;
	union {
		struct bf_cover cover;
		struct bf_tickets tickets;
		struct bf_born *born;            /* owned */
		struct bf_plan_request *request; /* the host's */
		struct bf_answer *answer;        /* owned */
		struct belfry_id low;
		struct bf_boot_time until;
		struct bf_cancelled cancelled; /* its Runs are owned */
	};
};

/* A store operation that a machine ordered. The memory is the machine's: it is not stepped meanwhile. */
struct sim_call_order {
	enum bf_sim_op op;
	enum bf_sim_fate fate;
	bool is_open;         /* ordered, not answered */
	bool is_done;         /* its moment at the store is over */
	bool is_held;         /* its answer waits for a frozen process */
	bool is_void;         /* the process died before it was sent */
	unsigned writes_left; /* CRASH_INSIDE */
	belfry_duration answer_delay;
	struct belfry_beat *beat;
	struct belfry_advance *advance;
	struct belfry_claim *claim;
	struct belfry_record *records;
	size_t record_count;
	struct belfry_list *list;
	struct belfry_prune *prune;
	struct belfry_arena *arena;
	enum belfry_status status;
};

struct sim_process;

struct sim_machine {
	struct sim_process *process;
	int kind;
	struct bf_list inbox;
	struct sim_call_order order;
	struct bf_boot_time wake;
	int64_t pump_at;    /* virtual time of the next look; INT64_MAX: none is planned */
	bool is_closed;     /* a clean stop: its loop has ended */
	bool has_seen_stop; /* the STOP message was read */
};

enum sim_stop { SIM_STOP_NO, SIM_STOP_DRAINING, SIM_STOP_ENDING, SIM_STOP_OVER };

/* From start to death. Outlives its death while events or operations still point to it. */
struct sim_process {
	struct bf_sim *sim;
	unsigned replica;
	unsigned generation;
	size_t refs;
	bool is_dead;
	bool is_frozen;
	int64_t frozen_at;
	int64_t boot_offset;
	belfry_duration standstill; /* the longest since the keeper asked */
	enum sim_stop stop;
	int64_t stop_until;
	bool is_ended; /* the keeper said so */

	/* As the dispatcher's loop knows them. */
	int64_t act_until;
	bool has_cover;
	struct belfry_id incarnation;

	struct belfry_zones *zones; /* its tz database */
	struct bf_planner *planner;
	struct bf_dispatcher *dispatcher;
	struct bf_keeper *keeper;
	struct sim_machine machines[SIM_MACHINES];
	struct bf_store *store;
	char identity[BF_SIM_ID_BYTES];
};

struct sim_deployment;

/* A revision that the host asked for. */
struct sim_revision {
	int64_t number;
	bool is_remove;
	uint32_t flags;
	char rule[BF_SIM_TEXT_BYTES];
	char zone[BF_SIM_NAME_BYTES];
	char payload[BF_SIM_NAME_BYTES];
	struct belfry_policies policies;
	struct bf_buf definition;
	struct belfry_rule *compiled; /* NULL: a removal */
	bool is_effective;            /* the store took it */
	belfry_time begin;            /* the instant that parts it from the one before */
	bool is_answered;
};

struct sim_request {
	struct bf_plan_request request;
	struct sim_deployment *deployment;
	struct sim_revision *revision;
	struct sim_process *process;
};

struct sim_deployment {
	char id[BF_SIM_ID_BYTES];
	struct sim_revision **revisions;
	size_t revision_count;
	size_t revision_capacity;
	struct sim_request *request; /* under way; NULL: none */
	bool is_retry_planned;
	int64_t stopped_revision; /* the highest disable or removal that was acknowledged */
	bool has_definition;      /* the last revision asked for is no removal */
};

/* What is known of a Run, from watching the store and the handler. */
struct sim_run {
	UT_hash_handle hh;
	struct bf_link open; /* in sim->open while it may call */
	struct belfry_id id;
	struct sim_deployment *deployment;
	enum belfry_trigger trigger;
	enum belfry_run_state state;
	enum belfry_run_status status;
	int64_t revision;
	belfry_time due_at;
	belfry_time decided_at; /* by the plan that inserted it; 0: not seen */
	belfry_time started_at;
	belfry_time ready_at;
	int64_t made;    /* virtual time at which it was first seen */
	int64_t started; /* virtual time; -1: not yet */
	bool is_born;    /* born claimed ... */
	struct belfry_id born_to;
	struct belfry_id holder;
	belfry_fence fence;
	uint32_t takeovers;
	uint64_t session_hash; /* 0: none stored */
	/* the handler's side */
	belfry_fence called_fence; /* the highest */
	struct belfry_id called_by;
	unsigned sessions_asked;
	unsigned turns_asked;
	uint64_t invocation_hash; /* 0: never called */
	/* the host's side */
	bool is_ended_by_host;
	unsigned heard[BF_SIM_REPLICAS_MAX]; /* the process of each replica that was told of it */
};

struct sim_incarnation {
	UT_hash_handle hh;
	struct belfry_id id;
	belfry_time covers_from;
	belfry_time covered_until;
	struct belfry_id low; /* of the last renewal that took effect */
};

struct sim_answer {
	struct bf_answer answer;
	char name[BF_SIM_NAME_BYTES];
};

struct bf_sim {
	struct bf_sim_config config;
	struct bf_sim_counts counts;
	struct bf_jitter chance; /* of the world */
	int64_t now;             /* virtual time */
	belfry_duration wall_offset;
	belfry_time highest_wall;
	int64_t outage_until;
	bool is_quiet; /* no more faults */
	bool is_closing;
	struct sim_queue queue;
	struct bf_env env; /* the store's clock */

	struct belfry_store *database;                      /* the memory store, unwatched */
	struct belfry_store *host_store;                    /* watched */
	struct sim_process *processes[BF_SIM_REPLICAS_MAX]; /* NULL: down */
	unsigned generations[BF_SIM_REPLICAS_MAX];
	struct sim_machine
			*pending[BF_SIM_REPLICAS_MAX * SIM_MACHINES * 4]; /* not yet at the store */
	size_t pending_count;
	struct sim_machine *acting[4]; /* whose operations are inside the store, outermost first */
	size_t acting_count;
	struct bf_sim_trap traps[SIM_TRAPS_MAX];
	size_t trap_count;
	bool is_early; /* sabotage: the clock that a plan sees */

	struct sim_deployment **deployments;
	size_t deployment_count;
	size_t deployment_capacity;
	struct sim_run *runs;
	struct bf_list open;
	struct sim_incarnation *incarnations;
	struct bf_sim_call *calls;
	size_t call_count;
	size_t call_capacity;
	bf_sim_handler_fn handler;
	void *handler_data;
	struct belfry_arena scratch; /* of the observers */
	struct belfry_arena outer;   /* of lists that observers walk */

	struct {
		belfry_time from;
		belfry_time to;
	} zones[SIM_ZONES_MAX];
	size_t zone_count;

	char trace[SIM_TRACE_LINES][SIM_LINE_BYTES];
	size_t trace_count;
	uint64_t digest;
	const char *invariant; /* NULL: all is well */
	char failure_text[400];
	struct bf_buf failure;
};

/* ---- sim.c ---- */
uint64_t sim_random(struct bf_sim *sim, uint64_t below); /* 0 to below - 1 */
belfry_duration sim_between(struct bf_sim *sim, belfry_duration min, belfry_duration max);
bool sim_chance(struct bf_sim *sim, unsigned in_ten_thousand);
void sim_at(struct bf_sim *sim, int64_t at, sim_event_fn fn, void *data, int64_t number);
BF_PRINTF(2, 3) void sim_trace(struct bf_sim *sim, const char *format, ...);
/* The first one stays. `invariant` is static text. */
BF_PRINTF(3, 4) void sim_fail(struct bf_sim *sim, const char *invariant, const char *format, ...);
belfry_time sim_wall(const struct bf_sim *sim);
void *sim_alloc(size_t size);
/* An id, short: enough of it to tell Runs apart in a trace. */
struct sim_short {
	char text[14];
};
struct sim_short sim_short_id(struct belfry_id id);

/* ---- process.c ---- */
void sim_process_start(struct bf_sim *sim, unsigned replica);
void sim_process_kill(struct sim_process *process, const char *why);
void sim_process_stop(struct sim_process *process, belfry_duration drain);
void sim_process_freeze(struct sim_process *process);
void sim_process_unfreeze(struct sim_process *process);
void sim_process_hold(struct sim_process *process);
void sim_process_drop(struct sim_process **process);
struct bf_boot_time sim_boot(const struct sim_process *process);
void sim_post(struct sim_process *process, int machine, const struct sim_message *message);
void sim_message_free(struct sim_message *message);
/* Look at the inbox or the clock at virtual time `at`. */
void sim_pump_at(struct sim_machine *machine, int64_t at);
void sim_process_check_stop(struct sim_process *process);

/* ---- steps.c ---- */
void sim_step_message(struct sim_machine *machine, struct sim_message *message);
void sim_step_wake(struct sim_machine *machine);
void sim_step_done(struct sim_machine *machine, enum belfry_status status);
void sim_answer_release(struct bf_answer *answer);

/* ---- gate.c ---- */
void sim_gate_order(struct sim_machine *machine, struct sim_call_order order);
/* A frozen process goes on: hand it the answer that waited. */
void sim_gate_deliver(struct sim_machine *machine);
bool sim_gate_step(void *sim, const char *step);
void sim_gate_forget(struct sim_process *process);

/* ---- store.c ---- */
void sim_store_new(struct bf_sim *sim, struct belfry_store **ret_store);
/* Straight to the database, unwatched. `list` needs kind and what goes with it. */
void sim_read(struct bf_sim *sim, struct belfry_list *list, struct belfry_arena *arena);

/* ---- runs.c ---- */
struct sim_run *sim_run_find(struct bf_sim *sim, struct belfry_id id);
struct sim_run *sim_run_see(struct bf_sim *sim, const struct belfry_run *row);
/* Reads these Runs and looks at each. */
void sim_runs_look(struct bf_sim *sim, const struct belfry_id *ids, size_t count);
void sim_runs_sweep(struct bf_sim *sim);
struct sim_incarnation *sim_incarnation_see(struct bf_sim *sim, struct belfry_id id);
void sim_runs_check_low(struct bf_sim *sim, struct sim_incarnation *incarnation);
void sim_runs_free(struct bf_sim *sim);

/* ---- host.c ---- */
struct sim_deployment *sim_deployment_find(struct bf_sim *sim, struct belfry_str id);
/* The put, or the removal, that the host asked for under this number; NULL: none. */
struct sim_revision *sim_revision_find(struct sim_deployment *deployment, int64_t number);
struct sim_revision *sim_removal_find(struct sim_deployment *deployment, int64_t number);
void sim_host_answered(struct bf_sim *sim, struct bf_plan_request *request);
void sim_host_process_gone(struct sim_process *process);
void sim_host_free(struct bf_sim *sim);
void sim_post_cancelled(struct sim_process *process, const struct bf_cancelled *news);
struct sim_process *sim_any_process(struct bf_sim *sim);

/* ---- handler.c ---- */
void sim_handler_call(struct sim_process *process, const struct bf_call *call);
void sim_handler_cancel(struct sim_process *process, const struct bf_token *token);
struct bf_sim_reply sim_handler_world(struct bf_sim *sim, const struct bf_sim_call *call);

/* ---- world.c ---- */
void sim_world_begin(struct bf_sim *sim);
enum bf_sim_fate sim_world_fate(struct bf_sim *sim, enum bf_sim_op op, belfry_duration *ret_delay);

/* ---- final.c ---- */
void sim_final_check(struct bf_sim *sim, int64_t quiet_since);
bool sim_in_zone(const struct bf_sim *sim, belfry_time at);
bool sim_places_agree(struct sim_process *process, bool *ret_is_comparable);

#endif
