/* The dispatcher's inside, shared by its files in this folder. */
#ifndef BF_DISPATCHER_PRIV_H
#define BF_DISPATCHER_PRIV_H

#include "base/alloc.h"
#include "base/grow.h"
#include "base/list.h"
#include "engine/dispatcher.h"
#include "engine/jitter.h"

#define HASH_NONFATAL_OOM          1
#define uthash_malloc(size)        bf_alloc(size)
#define uthash_free(pointer, size) bf_free(pointer)
#include <uthash.h>

/* Where a held Run is: the list that it is in. */
struct bf_held {
	struct bf_link link;
	UT_hash_handle hh;
	struct bf_owned_run run;
	enum belfry_step step;
	char *session; /* owned; NULL: none stored, or local */
	char *payload; /* owned; kept between the steps where it is small */
	size_t payload_len;
	struct bf_boot_time call_deadline; /* calling: then it is a TIMEOUT */
	belfry_time attempt_started_at;
	struct bf_answer *answer;    /* answered and recording: what the record speaks of */
	struct belfry_record record; /* drafted when it was answered */
};

enum bf_dispatch_work { BF_WORK_NONE, BF_WORK_RECORD, BF_WORK_LOAD, BF_WORK_CLAIM };

/* Payloads up to here are kept from the first step to the second: one read of the store less. */
#define BF_DISPATCH_KEEP_BYTES 4096u
#define BF_DISPATCH_BATCH_MAX  ((size_t)1000)
#define BF_DISPATCH_CLAIM_MAX  500u

struct bf_dispatcher {
	struct bf_dispatcher_config config;
	struct bf_jitter jitter;
	bool is_stopping;
	struct bf_boot_time stop_until;

	struct bf_cover cover;
	bool has_cover;

	struct bf_held *by_id;
	struct bf_list ready;
	struct bf_list again; /* ready for the turn, payload at hand */
	struct bf_list loading;
	struct bf_list calling;
	struct bf_list answered; /* records to write with the next batch */
	struct bf_list recording;

	/* Places: total = held + granted + free. */
	uint64_t held_bytes;
	uint32_t granted;
	uint64_t granted_bytes;
	struct belfry_id floor;         /* announced with tickets */
	struct belfry_id planner_floor; /* echoed: nothing is born below it */
	struct bf_boot_time tickets_at;
	bool is_recalled; /* the planner has been told of the backlog, and has not answered */

	enum bf_dispatch_work work;
	struct belfry_claim claim;
	struct belfry_list list;
	struct belfry_record *records;
	size_t record_count;
	size_t record_capacity;
	size_t record_max; /* of one batch: halved while a record of it makes the call fail */
	struct belfry_id *load_ids;
	size_t load_capacity;

	bool wants_claim;
	bool wants_takeover;
	bool wants_owned;
	struct belfry_id owned_after;
	belfry_fence owned_seen; /* what was born up to here the store has shown us */
	struct belfry_id *told;  /* cancelled Runs that the latest beat named */
	size_t told_count;
	size_t told_capacity;
	bool is_short_of_memory; /* a Run that is ours could not be held */
	bool is_backlog;
	struct bf_boot_time claim_at;   /* look into the queue then, unasked */
	struct bf_boot_time not_before; /* after a failure */
	unsigned failures;

	struct bf_call *calls;
	size_t call_count;
	size_t call_capacity;
	struct bf_token *cancels;
	size_t cancel_count;
	size_t cancel_capacity;
	struct bf_answer *released;
	int64_t next_deadline; /* no open call ends before it (boot clock) */

	struct belfry_arena arena;
	struct bf_dispatcher_counts counts;
};

/* The store's clock as well as we know it: never used to decide, only to name a time. */
belfry_time bf_dispatch_store_now(const struct bf_dispatcher *dispatcher, struct bf_boot_time now);
bool bf_dispatch_may_act(const struct bf_dispatcher *dispatcher, struct bf_boot_time now);
uint32_t bf_dispatch_free_places(const struct bf_dispatcher *dispatcher);

/* dispatch_hold.c: Runs in memory. */
struct bf_held *bf_dispatch_find(struct bf_dispatcher *dispatcher, struct belfry_id run);
/* Takes a copy of the Run (and of its Session); ready for its next step. A Run that is held already is
 * left alone. NULL: no memory (it stays ours in the store; `wants_owned` finds it again). */
struct bf_held *bf_dispatch_hold(struct bf_dispatcher *dispatcher, const struct bf_owned_run *run,
		struct belfry_str session);
/* Runs may be ours that we do not hold: ask the store, from the first one. */
void bf_dispatch_ask_owned(struct bf_dispatcher *dispatcher);
void bf_dispatch_drop(struct bf_dispatcher *dispatcher, struct bf_held *held);
void bf_dispatch_drop_all(struct bf_dispatcher *dispatcher);
/* The attempt is over for us: the handler is told. */
void bf_dispatch_cancel(struct bf_dispatcher *dispatcher, struct bf_held *held);
void bf_dispatch_release(struct bf_dispatcher *dispatcher, struct bf_answer *answer);
struct bf_token bf_dispatch_token(const struct bf_held *held);

/* dispatch_record.c: from answers to records, and what the store says of them. */
void bf_dispatch_answer(struct bf_dispatcher *dispatcher, struct bf_answer *answer,
		struct bf_boot_time now);
void bf_dispatch_time_out(struct bf_dispatcher *dispatcher, struct bf_held *held,
		struct bf_boot_time now);
/* message: lives as long as the program; for people. */
void bf_dispatch_fail(struct bf_dispatcher *dispatcher, struct bf_held *held,
		enum belfry_run_error error, struct belfry_str message);
void bf_dispatch_hand_back(struct bf_dispatcher *dispatcher, struct bf_held *held);
BF_MUST_CHECK enum belfry_status bf_dispatch_begin_records(struct bf_dispatcher *dispatcher);
void bf_dispatch_recorded(struct bf_dispatcher *dispatcher, struct bf_boot_time now);
/* The batch failed as a whole: it is written again, in halves where one of it is at fault. */
void bf_dispatch_unrecorded(struct bf_dispatcher *dispatcher, enum belfry_status status);

/* The handler did what it was asked for. */
bool bf_dispatch_is_success(const struct belfry_record *record);

/* dispatch_cancel.c: what the host has cancelled. */
void bf_dispatch_cancelled(struct bf_dispatcher *dispatcher, const struct bf_cancelled *news,
		struct bf_boot_time now);
/* Drop a Run that is not ours to record any more; a handler that may still work on it is told. */
void bf_dispatch_forget(struct bf_dispatcher *dispatcher, struct bf_held *held);

/* dispatch_claim.c: Runs from the store, tickets for the planner, the low mark. */
/* Runs due before it are not born claimed: by the store's clock at `now`. */
struct belfry_id bf_dispatch_floor(const struct bf_dispatcher *dispatcher, struct bf_boot_time now);
void bf_dispatch_begin_claim(struct bf_dispatcher *dispatcher);
void bf_dispatch_claimed(struct bf_dispatcher *dispatcher, struct bf_boot_time now);
/* The claim failed: ask again. */
void bf_dispatch_unclaimed(struct bf_dispatcher *dispatcher, enum belfry_status status);
void bf_dispatch_born(struct bf_dispatcher *dispatcher, const struct bf_born *born);
void bf_dispatch_give_tickets(struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders,
		struct bf_boot_time now);
void bf_dispatch_low(const struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders);

#endif
