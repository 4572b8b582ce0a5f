/* The keeper: our incarnation and its beats, the death of others, retention.
 *
 * Protocol (architecture.md, decision 5 and Coverage). An incarnation is a row with a beat counter. We
 * renew it every beat; the first renewal sets from when it covers. Another one is declared dead when,
 * over one lease on OUR boot clock, successful reads showed the same counter, by compare-and-set on
 * it; an outage of the store restarts every observation. No wall clock takes part.
 *
 * When this process stood still longer than the lease, when the store's clock was stepped, or when we
 * were declared dead, the incarnation is over: planner and dispatcher drop what they hold, and a new
 * one begins. A due time in between is not covered.
 *
 * Crash argument. A crash leaves the row as it is: it covers until its last beat plus one beat, and
 * others (or the next owner of the lock file) end it.
 *
 * Pure: a step takes one event and fills a struct of orders. */
#ifndef BF_KEEPER_H
#define BF_KEEPER_H

#include <belfry/calendar.h>

#include "engine/messages.h"

struct bf_keeper;

struct bf_keeper_config {
	const struct bf_env *trace; /* may be NULL */
	belfry_duration lease;
	belfry_duration beat;
	struct belfry_str identity; /* borrowed, as what follows */
	struct belfry_str version;
	const struct belfry_zones
			*zones;    /* borrowed; its version goes with each beat; NULL: none */
	uint64_t seed[2];          /* of incarnation ids: random, 128 bits */
	struct belfry_prune prune; /* the four ages and counts; the rest is the keeper's */
};

enum bf_keeper_event_kind {
	BF_KEEPER_WAKE,
	BF_KEEPER_BEAT_NOW, /* coverage does not reach: beat earlier than planned */
	BF_KEEPER_LOW,
	BF_KEEPER_LOST, /* the store told somebody else that we are over */
	BF_KEEPER_DONE,
	BF_KEEPER_END /* everything is handed back: end cleanly */
};

struct bf_keeper_event {
	enum bf_keeper_event_kind kind;
	struct bf_boot_time now;
	belfry_duration standstill; /* the longest that this process stood still since the last event */
	struct belfry_id low;
	enum belfry_status status;
};

struct bf_keeper_orders {
	struct belfry_beat *beat; /* at most one of the three: fill, then DONE */
	struct belfry_list *list;
	struct belfry_prune *prune;
	struct bf_cover cover; /* for planner and dispatcher */
	bool has_cover;
	struct bf_cancelled
			cancelled; /* for the dispatcher, after any cover; borrowed; none: 0 Runs */
	bool is_lost;              /* for planner and dispatcher, before any cover of this step */
	bool is_clock_back;        /* for the planner */
	bool is_ended;
	struct bf_boot_time wake;
};

struct bf_keeper_counts {
	int64_t beats;
	int64_t lost; /* incarnations of ours that ended otherwise than by a stop */
	int64_t judged;
	int64_t pruned;
	struct bf_boot_time last_step;
	struct belfry_id incarnation;
	belfry_time store_now; /* at last_beat */
	struct bf_boot_time last_beat;
};

BF_MUST_CHECK enum belfry_status bf_keeper_new(const struct bf_keeper_config *config,
		struct bf_keeper **ret_keeper);
void bf_keeper_free(struct bf_keeper *keeper);
void bf_keeper_step(struct bf_keeper *keeper, const struct bf_keeper_event *event,
		struct bf_keeper_orders *orders);
struct belfry_arena *bf_keeper_arena(struct bf_keeper *keeper);
const struct bf_keeper_counts *bf_keeper_counts(const struct bf_keeper *keeper);

#endif
