/* The planner's inside, shared by its files in this folder. */
#ifndef BF_PLANNER_PRIV_H
#define BF_PLANNER_PRIV_H

#include "engine/jitter.h"
#include "engine/planner.h"
#include "engine/settle.h"

enum bf_planner_state {
#define BF_PLANNER_STATE(name, text, flags, next) BF_PLANNER_##name,
#include "engine/planner_state.def"
#undef BF_PLANNER_STATE
	BF_PLANNER_STATE_COUNT
};

/* What the read that is under way, or was last done, is for. */
enum bf_plan_purpose {
	BF_PLAN_DUE,
	BF_PLAN_ROWS,
	BF_PLAN_PAGE,
	BF_PLAN_VERSIONS, /* which tz versions are in use */
	BF_PLAN_SWEEP     /* a page of the rows with one of them */
};

/* Where we are in looking for rows that an older tz database was asked for (plan_zones.c). */
struct bf_plan_sweep {
	bool is_wanted;
	bool is_full;   /* the database changed: rows of our own version count as older too */
	bool is_first;  /* of this planner: rows whose version cannot be compared do */
	bool is_paging; /* through the rows of `version`, behind `after` */
	char version[64];
	size_t version_len;
	char after[BELFRY_SCHEDULE_ID_BYTES];
	size_t after_len;
};

/* How long a plan waits for tickets where more is owed than there are. A handler that is done sooner gets
 * its Runs born claimed, two commits each; for a slower one they go to the queue, so many in that time:
 * fewer than a quick handler drains, so that it comes back to the first way. */
#define BF_PLAN_TICKET_WAIT (100 * BELFRY_MILLISECOND)
/* Two passes by turns while more is owed than one pass takes and it waits longer than CROWD: the oldest
 * first, and what came due later, within FRESH. So what is due now is not kept waiting by what was missed
 * or by a crowd, and the other way round. The pass of the oldest leaves a quarter of the tickets. */
#define BF_PLAN_CROWD        (250 * BELFRY_MILLISECOND)
#define BF_PLAN_FRESH        (2 * BELFRY_SECOND)
#define BF_PLAN_RUNS_MAX     ((size_t)2000) /* Runs of one commit */
#define BF_PLAN_REQUESTS_MAX ((size_t)256)  /* puts of one commit */
#define BF_PLAN_TRIES_MAX    100u           /* conflicts that one request lives through */

/* Rows that the store could not write: their next pass puts them into quarantine instead. */
#define BF_PLAN_BAD_MAX ((size_t)16)

struct bf_plan_bad {
	size_t len;
	char id[BELFRY_SCHEDULE_ID_BYTES];
};

/* Beside each item of the commit: what its answer will be counted as. */
struct bf_plan_note {
	struct bf_settlement settlement;
	struct bf_call_policy policy;
	struct bf_plan_request *request; /* NULL: a plan */
	uint32_t payload_bytes;
	uint32_t schedule_flags;
	int64_t idle_count; /* of the settlement's missed ones: no cursor over them */
};

struct bf_planner {
	struct bf_planner_config config;
	struct bf_rules *rules;
	struct bf_jitter jitter;
	unsigned state; /* enum bf_planner_state */
	enum bf_plan_purpose purpose;
	enum bf_plan_purpose own_purpose; /* of the last pass that nobody had requested */
	bool is_stopping;

	struct bf_coverage coverage;
	struct bf_cover cover;
	bool has_cover;  /* an incarnation of ours lives */
	uint32_t places; /* tickets in hand */
	uint64_t bytes;
	struct belfry_id floor;
	bool is_backlog;
	bool awaits_tickets;             /* the first ones of this incarnation */
	struct bf_boot_time spent_until; /* tickets ran out: give them so long to come back */

	struct bf_list requests; /* waiting */
	struct bf_list working;  /* in the read or commit under way */

	bool wants_pass; /* look for due rows as soon as possible */
	bool wants_page; /* the clock was set back: look at every row */
	char page_after[BELFRY_SCHEDULE_ID_BYTES];
	size_t page_after_len;
	struct bf_plan_sweep sweep;
	bool has_swept;              /* through to the end, once */
	const char *tz_version;      /* of this pass: borrowed from the zones */
	belfry_time *stored_cursors; /* of the rows read, where they were computed anew (the arena's) */
	struct bf_boot_time wake;       /* of the next look for due rows */
	struct bf_boot_time not_before; /* after a failure or a conflict */
	unsigned failures;
	uint32_t unreadable; /* due rows that we leave to others: read past them */
	size_t rows_max;     /* of one read: halved while a row of it makes the statement fail */
	size_t requests_max;
	bool owes_news; /* the dispatcher could not be told of a commit: no memory */
	struct bf_plan_bad bad[BF_PLAN_BAD_MAX];
	size_t bad_count;
	bool is_cut;       /* this pass had to leave due rows for the next one */
	size_t runs_max;   /* of this pass */
	bool is_undecided; /* this pass met an instant whose coverage is open */
	bool is_crowded;   /* the last pass of the oldest left some that wait */
	belfry_time crowd; /* ... and read up to this cursor */
	bool is_fresh;     /* this pass looks at what came due later alone */

	struct belfry_arena arena;
	struct belfry_list rows; /* the rows of this pass, and the store's time */
	struct belfry_list incarnations;
	struct bf_boot_time read_at;
	struct bf_batch batch;
	struct belfry_advance advance;
	struct belfry_advance_item *items;
	struct bf_plan_note *notes;
	size_t item_capacity;
	size_t note_capacity;
	struct bf_planner_counts counts;
};

/* Computes the items of a commit from the rows read. Each answers BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_plan_due(struct bf_planner *planner);
BF_MUST_CHECK enum belfry_status bf_plan_page(struct bf_planner *planner);
/* Requests that need no commit are moved to `orders->done`. */
BF_MUST_CHECK enum belfry_status bf_plan_rows(struct bf_planner *planner,
		struct bf_planner_orders *orders);

/* A new item at the end, with its note; NULL: no memory. Valid until the next one. */
BF_MUST_CHECK struct belfry_advance_item *bf_plan_item(struct bf_planner *planner,
		struct bf_plan_note **ret_note);

/* Definition and rule of a row. BELFRY_CORRUPT: its own format fails; BELFRY_INVALID_SCHEDULE: this
 * replica cannot evaluate it. */
BF_MUST_CHECK enum belfry_status bf_plan_rule(struct bf_planner *planner,
		const struct belfry_schedule_row *row, struct bf_definition *ret_definition,
		const struct belfry_rule **ret_rule, struct belfry_error *err);

/* Settle what `row` owes up to the time of the read, into the item and its note. */
BF_MUST_CHECK enum belfry_status bf_plan_settle(struct bf_planner *planner,
		const struct belfry_schedule_row *row, struct belfry_advance_item *item,
		struct bf_plan_note *note, const struct bf_definition *definition,
		const struct belfry_rule *rule);

/* Schedule, version, phase and what was decided: as the row has them. */
void bf_plan_begin_item(struct belfry_advance_item *item, const struct belfry_schedule_row *row);
/* How often the rule may still fire; INT64_MAX: without limit. */
int64_t bf_plan_fires_left(const struct belfry_rule *rule, int64_t fired_count);
/* The item leaves no cursor, because nothing is left; is_spent: by max_fires. */
void bf_plan_exhaust(struct belfry_advance_item *item, bool is_spent);

/* The definition cannot be read: its due times since the cursor go to the ledger uncounted. */
BF_MUST_CHECK enum belfry_status bf_plan_settle_unreadable(struct bf_planner *planner,
		const struct belfry_schedule_row *row, struct bf_plan_note *note);

/* The one mover of the planner's state; requests under way wait again. */
void bf_plan_move(struct bf_planner *planner, enum bf_planner_state to);
void bf_plan_retry_requests(struct bf_planner *planner);

/* plan_read.c: begin a pass with its read. */
void bf_plan_read_due(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now);
void bf_plan_read_requested(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now);
void bf_plan_read_page(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now);

void bf_plan_read_sweep(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now);

/* plan_news.c: Runs that the commit made ours, what is still untold, tickets that came. */
void bf_plan_collect_born(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now);
void bf_plan_tell_news(struct bf_planner *planner, struct bf_planner_orders *orders);
void bf_plan_take_tickets(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_tickets *tickets);

void bf_planner_finish(struct bf_planner_orders *orders, struct bf_plan_request *request,
		enum belfry_status status, belfry_time at);

#endif
