/* What the three machines tell each other. They share nothing: each message is a value that the sender
 * gives away (the receiver frees what it points to), carried by the runtime or by the simulator.
 *
 *   planner    -> dispatcher   born      Runs that were born to us, places given back
 *   dispatcher -> planner      tickets   places for Runs to be born into
 *   dispatcher -> keeper       low       no open Run that was born to us has a smaller id
 *   keeper     -> both         cover     our incarnation, what it covers, how long it may act
 *   keeper     -> both         lost      our incarnation is over
 *   keeper     -> dispatcher   cancelled Runs of ours that the host has cancelled (a host in this process
 *                                        tells it as well, at once) */
#ifndef BF_MESSAGES_H
#define BF_MESSAGES_H

#include <string.h>

#include <belfry/store.h>

#include "base/env.h"

/* What the dispatcher needs of a definition for the Runs of one revision. */
struct bf_call_policy {
	enum belfry_interrupted interrupted;
	uint32_t max_attempts;
	belfry_duration first_delay;
	belfry_duration max_delay;
	belfry_duration timeout; /* 0: none */
};

/* A Run that is ours: claimed, or born claimed. */
struct bf_owned_run {
	struct belfry_id id;
	belfry_fence fence;
	enum belfry_trigger trigger;
	uint32_t run_flags; /* BELFRY_RUN_F_... */
	uint32_t attempt;
	uint32_t failures;
	uint32_t payload_bytes;
	uint32_t stands_for;
	uint32_t takeovers;
	int64_t revision;
	struct belfry_id replayed_from;
	belfry_time due_at;
	belfry_time ready_at;
	belfry_time started_at;
	bool is_first_start; /* this claim is its start: its lateness counts */
	bool is_born;        /* by a plan: only these are found again by their ids' range */
	struct bf_call_policy policy;
	unsigned char schedule_len;
	char schedule[BELFRY_SCHEDULE_ID_BYTES];
};

static inline void bf_owned_set_schedule(struct bf_owned_run *run, struct belfry_str schedule)
{
	run->schedule_len = (unsigned char)BF_MIN(schedule.len, sizeof(run->schedule));
	memcpy(run->schedule, schedule.ptr, run->schedule_len);
}

struct bf_born {
	struct belfry_id incarnation;
	struct bf_owned_run *runs; /* owned by the message: bf_free */
	size_t run_count;
	uint32_t places_back; /* tickets that were not used */
	uint64_t bytes_back;
	struct belfry_id floor; /* nothing will be born below this id from now on */
	bool is_unknown;        /* a commit's answer was lost: ask the store what is ours */
	bool has_queued;        /* Runs were made that wait in the queue */
};

struct bf_tickets {
	struct belfry_id incarnation;
	uint32_t places;
	uint64_t bytes;
	struct belfry_id floor;
	bool is_backlog; /* give everything back: the queue goes first */
};

struct bf_cover {
	struct belfry_id incarnation;
	belfry_time from; /* 0: registered, covers nothing yet */
	belfry_time to;
	struct bf_boot_time act_until; /* no plan, claim or call is begun after this */
	belfry_time store_now;         /* the store's clock ... */
	struct bf_boot_time at;        /* ... and ours, at the same moment */
};

/* Final: the store has ended them. */
struct bf_cancelled {
	struct belfry_id *runs; /* of the message */
	size_t run_count;
	belfry_time at; /* the store's clock; all of them were cancelled before */
	bool is_beats;  /* all that the latest beat named: those of the last minute or so, again */
};

/* Frees the message and its Runs; NULL is fine. */
void bf_born_free(struct bf_born *born);

#endif
