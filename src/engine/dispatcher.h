/* The dispatcher: drives each Run that is ours to a recorded end.
 *
 * Protocol of one Run:  ready -> loading -> calling -> answered -> recording -> (next step, or done)
 *   start_session is called, its Session stored, and only then admit_turn is called (T024). A Run with
 *   a local Session begins with admit_turn: its Session was stored with it.
 *
 * Crash argument. What a Run has reached is in the store before the next step begins; our memory is
 * never more than a copy. A crash leaves the Run with our incarnation, which others declare dead, and
 * its takeover calls the same step again under a higher fence. Answers that come for an attempt that is
 * over find no Run here and are dropped; records with a fence that has moved are refused by the store.
 *
 * A Run that the host has cancelled is dropped wherever it is, as soon as we hear of it, and its handler is
 * told. Until then it is like one that was lost: what we record of it is refused.
 *
 * Memory is bounded by places and bytes: no ticket, no Run in memory (architecture.md, decision 8).
 *
 * Pure: a step takes one event and fills a struct of orders. */
#ifndef BF_DISPATCHER_H
#define BF_DISPATCHER_H

#include <belfry/handler.h>

#include "base/str.h"
#include "engine/messages.h"

struct bf_dispatcher;

struct bf_dispatcher_config {
	const struct bf_env *trace; /* may be NULL */
	uint32_t max_runs;          /* places */
	uint64_t max_bytes;         /* of payloads */
	uint32_t recovery_limit;
	belfry_duration tick; /* longest sleep without looking into the queue */
	uint64_t seed;
};

/* Which attempt an answer belongs to. */
struct bf_token {
	struct belfry_id run;
	belfry_fence fence;
	uint32_t attempt;
	enum belfry_step step;
};

enum bf_answer_kind { BF_ANSWER_SESSION, BF_ANSWER_TURN, BF_ANSWER_RETRY, BF_ANSWER_PERMANENT };

/* What the handler answered. The text lives in `text` of the same object. */
struct bf_answer {
	struct bf_token token;
	enum bf_answer_kind kind;
	belfry_duration after; /* RETRY: the target's own wait; 0: none */
	bool has_outcome;      /* TURN: it has ended */
	enum belfry_run_status status;
	enum belfry_run_error error;
	uint32_t run_flags;
	struct belfry_str name; /* Session or turn */
	struct belfry_str message;
	struct belfry_str detail;
	void *owner;            /* whatever holds this memory, for whoever frees it */
	struct bf_answer *next; /* among the released */
};

/* A call to make now. Text is borrowed until the next step. */
struct bf_call {
	struct bf_token token;
	const struct bf_owned_run *run;
	struct belfry_str session;
	struct belfry_str payload;
};

enum bf_dispatcher_event_kind {
	BF_DISPATCHER_WAKE,
	BF_DISPATCHER_COVER,
	BF_DISPATCHER_LOST,
	BF_DISPATCHER_BORN,      /* the machine takes event->born */
	BF_DISPATCHER_KICK,      /* Runs may wait in the queue */
	BF_DISPATCHER_ANSWER,    /* the machine keeps event->answer until it orders its release */
	BF_DISPATCHER_CANCELLED, /* event->cancelled is borrowed for the step */
	BF_DISPATCHER_DONE,      /* the store's answer */
	BF_DISPATCHER_STOP       /* drain until `until`, then hand back */
};

struct bf_dispatcher_event {
	enum bf_dispatcher_event_kind kind;
	struct bf_boot_time now;
	bool has_more; /* further events wait: begin no store operation yet */
	struct bf_cover cover;
	struct bf_born *born;
	struct bf_answer *answer;
	struct bf_cancelled cancelled;
	enum belfry_status status;
	struct bf_boot_time until;
};

struct bf_dispatcher_orders {
	struct belfry_claim *claim; /* at most one of the three: fill, then DONE */
	struct belfry_record *records;
	size_t record_count;
	struct belfry_list *list;
	const struct bf_call *calls; /* make them, in order */
	size_t call_count;
	const struct bf_token *cancels; /* attempts that are over: tell the handler, drop answers */
	size_t cancel_count;
	struct bf_answer *released; /* answers that are no longer needed, a chain by `next` */
	struct bf_tickets tickets;  /* for the planner */
	bool has_tickets;
	struct belfry_id low; /* for the keeper */
	bool has_low;
	bool is_lost; /* the store says that our incarnation is over */
	struct bf_boot_time wake;
};

struct bf_dispatcher_counts {
	int64_t ended[BELFRY_TRIGGER_COUNT][BELFRY_RUN_STATUS_COUNT];
	int64_t lateness[16]; /* by belfry/provider.h's bounds */
	int64_t lateness_sum_us;
	int64_t lateness_count;
	int64_t takeovers;
	int64_t stale; /* records that the store refused */
	uint32_t held;
	uint32_t granted; /* places that the planner has, or that are on their way to or from it */
	uint64_t held_bytes;
	struct bf_boot_time last_step;
};

BF_MUST_CHECK enum belfry_status bf_dispatcher_new(const struct bf_dispatcher_config *config,
		struct bf_dispatcher **ret_dispatcher);
/* Answers that are still inside are released through `release` (may be NULL: forgotten). */
void bf_dispatcher_free(struct bf_dispatcher *dispatcher, void (*release)(struct bf_answer *));
void bf_dispatcher_step(struct bf_dispatcher *dispatcher, const struct bf_dispatcher_event *event,
		struct bf_dispatcher_orders *orders);
/* A call of the last orders was not made (no memory for its handle, or its time was over): its Run is
 * ready again after a pause. */
void bf_dispatcher_uncalled(struct bf_dispatcher *dispatcher, const struct bf_token *token,
		struct bf_boot_time now);
/* The tickets of the last orders could not be carried to the planner (no memory). */
void bf_dispatcher_untold(struct bf_dispatcher *dispatcher, const struct bf_tickets *tickets);
/* The schedule of a Run that is held; empty where it is not. Borrowed until the next step. */
struct belfry_str bf_dispatcher_schedule(struct bf_dispatcher *dispatcher, struct belfry_id run);
struct belfry_arena *bf_dispatcher_arena(struct bf_dispatcher *dispatcher);
const struct bf_dispatcher_counts *bf_dispatcher_counts(const struct bf_dispatcher *dispatcher);
/* After STOP: nothing is held and nothing is under way. */
bool bf_dispatcher_is_idle(const struct bf_dispatcher *dispatcher);

#endif
