/* The planner: makes exactly one Run per due time, and carries out what hosts put and remove.
 *
 * Protocol. Plan = read without locks, compute, ONE conditional commit (architecture.md, decision 2).
 * It reads due rows, settles each (settle.h), and asks the store to move the cursors, insert the Runs
 * and write the ledger for the rows that are still as they were read. A put first settles, in the same
 * commit, what is owed under the old revision.
 *
 * Crash argument. Nothing is kept here that the store does not know: a crash before the commit leaves
 * the cursors where they were; after it, the Runs belong to our incarnation and are taken over. Ids
 * are computed, so a plan that is done twice inserts nothing twice.
 *
 * Pure: a step takes one event and fills a struct of orders; it calls nothing and reads no clock. */
#ifndef BF_PLANNER_H
#define BF_PLANNER_H

#include <belfry/store.h>

#include "base/list.h"
#include "engine/messages.h"
#include "engine/rules.h"

struct bf_planner;

/* What a host asks for: put a definition, or remove one. The caller owns it and keeps it until the
 * planner gives it back in `done`. */
struct bf_plan_request {
	struct bf_link link;
	struct belfry_str schedule;
	int64_t revision;
	bool is_remove;
	struct belfry_schedule_put put; /* not with is_remove */
	struct bf_boot_time deadline;   /* then it is answered BELFRY_UNAVAILABLE */
	unsigned tries;
	bool is_open;              /* for whoever waits; not the machine's */
	enum belfry_status status; /* answer */
	belfry_time at;            /* answer: the instant that parts old and new */
	int64_t known_revision; /* answer: what was known already, so that nothing was done; else 0 */
};

struct bf_planner_config {
	struct belfry_zones *zones; /* borrowed */
	const char *tz_version; /* borrowed: what cursors and Runs are marked with; NULL: the zones' */
	const struct bf_env *trace; /* for debug lines alone; may be NULL */
	belfry_duration tick;       /* longest sleep without looking */
	int64_t max_active;
	uint32_t max_rows; /* of one plan; 0: 1000 */
	uint64_t seed;     /* of jitter */
};

enum bf_planner_event_kind {
	BF_PLANNER_WAKE, /* the time it asked for has come, or something may have changed */
	BF_PLANNER_COVER,
	BF_PLANNER_LOST,
	BF_PLANNER_TICKETS,
	BF_PLANNER_REQUEST, /* the machine keeps the request until it is done */
	BF_PLANNER_DONE,    /* the store's answer to what it asked for */
	BF_PLANNER_ZONES, /* somebody looked at the tz database: is there anything older in the store? */
	BF_PLANNER_CLOCK_BACK, /* the store's clock was set back: look at every cursor */
	BF_PLANNER_STOP        /* finish what is under way, answer the rest, plan no more */
};

struct bf_planner_event {
	enum bf_planner_event_kind kind;
	struct bf_boot_time now;
	bool has_more; /* further events wait: begin no store operation yet */
	struct bf_cover cover;
	struct bf_tickets tickets;
	struct bf_plan_request *request;
	enum belfry_status status; /* DONE */
	bool is_changed;           /* ZONES: it is another than before */
};

/* What one step orders. `list` and `advance` point into the machine: fill their answers (arrays in
 * bf_planner_arena), then send DONE. */
struct bf_planner_orders {
	struct belfry_list *list; /* NULL: none */
	struct belfry_advance *advance;
	struct bf_born *born;     /* for the dispatcher, given away (bf_born_free); NULL: none */
	struct bf_list done;      /* requests that are answered */
	bool wants_beat;          /* coverage does not reach: the keeper should beat now */
	bool is_lost;             /* the store says that our incarnation is over */
	struct bf_boot_time wake; /* send WAKE then */
};

struct bf_planner_counts {
	int64_t due_runs;
	int64_t due_missed;
	int64_t due_disabled;
	int64_t ended; /* Runs of due times that a disable or a removal has cancelled */
	int64_t conflicts;
	int64_t unreadable;            /* rows that this replica cannot evaluate */
	uint32_t places;               /* tickets in hand */
	struct bf_boot_time last_step; /* of the last step that no failure hung over */
};

BF_MUST_CHECK enum belfry_status bf_planner_new(const struct bf_planner_config *config,
		struct bf_planner **ret_planner);
/* Requests that are still inside are not answered: stop first. */
void bf_planner_free(struct bf_planner *planner);
void bf_planner_step(struct bf_planner *planner, const struct bf_planner_event *event,
		struct bf_planner_orders *orders);
/* `orders.born` could not be carried to the dispatcher (no memory): takes it back; its news come again
 * with a later step. */
void bf_planner_untold(struct bf_planner *planner, struct bf_born *born);
/* Where the store's answers go. */
struct belfry_arena *bf_planner_arena(struct bf_planner *planner);
const struct bf_planner_counts *bf_planner_counts(const struct bf_planner *planner);
/* Nothing is under way and nothing waits: after STOP the loop may end. */
bool bf_planner_is_idle(const struct bf_planner *planner);
/* After STOP: no commit is under way that was begun before it, and all that was born is told. */
bool bf_planner_has_stopped(const struct bf_planner *planner);

#endif
