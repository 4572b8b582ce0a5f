/* Settling: what becomes of the due times that a schedule owes, from its stored cursor up to now. Pure:
 * it reads values and appends to a batch, decides nothing twice, and never looks past an instant whose
 * coverage is undecided.
 *
 * A due time is live if an incarnation covers it and it is not older than late_limit; a live one, and
 * any other that was not older than grace when somebody covered again, becomes a Run; the rest goes to the
 * ledger with its reason. */
#ifndef BF_SETTLE_H
#define BF_SETTLE_H

#include <belfry/calendar.h>
#include <belfry/store.h>

#include "engine/coverage.h"
#include "model/definition.h"

/* What several schedules owe, gathered for one commit. */
struct bf_batch {
	struct belfry_new_run *runs;
	size_t run_count;
	size_t run_capacity;
	struct belfry_gap *gaps;
	size_t gap_count;
	size_t gap_capacity;
};

void bf_batch_fini(struct bf_batch *batch);
void bf_batch_clear(struct bf_batch *batch);

struct bf_settle_input {
	struct belfry_str schedule;
	int64_t revision;
	const struct belfry_policies *policies;
	const struct belfry_rule *rule;
	const struct bf_coverage *coverage;
	belfry_time cursor;
	belfry_time now;
	size_t max_runs;          /* of this schedule in this batch */
	int64_t fires_left;       /* INT64_MAX: no limit; 0 or less: nothing is owed any more */
	belfry_time last_fire_at; /* what is due up to here may have its Run, which was counted then */
	bool is_foreign;          /* a newer tz database than the rule's computed the cursor ... */
	belfry_time cursor_local; /* ... and says that this is its local time */
};

struct bf_settlement {
	int64_t revision;
	belfry_time cursor; /* the next due time after `now`, or the first that is not decided */
	bool is_complete;   /* everything up to `now` is decided */
	bool is_undecided;  /* it stopped at an instant whose coverage is not known yet */
	bool is_spent; /* the last firing that max_fires allows is among the Runs, or was before */
	size_t first_run; /* index into batch->runs */
	size_t run_count;
	size_t again_count; /* of the Runs: not due after last_fire_at */
	size_t first_gap;
	size_t gap_count;
	belfry_time last_fire_at; /* 0: no Run */
	int64_t missed;           /* due times that went to the ledger */
	belfry_time decided_due;  /* the last of all; 0: none */
	belfry_time decided_local;
};

/* BELFRY_OK or BELFRY_NOMEM. Runs are made QUEUED, ready at their due time or within the rule's spread after it.
 *
 * With a limit: the last allowed firing leaves no cursor. Whether a due time that is not after
 * `last_fire_at` makes a Run is known to the store alone (its id may be there since before the clock was
 * set back), so with such ones no more is settled than could be allowed, and the rest comes when the store
 * has counted. */
BF_MUST_CHECK enum belfry_status bf_settle(const struct bf_settle_input *input,
		struct bf_batch *batch, struct bf_settlement *ret_settlement);

/* One ledger row for a stretch without cursor (disabled, quarantined): the due times of `rule` after
 * `since` up to `now`, none where there are none. */
BF_MUST_CHECK enum belfry_status bf_settle_idle(const struct bf_settle_input *input,
		belfry_time since, enum belfry_gap_reason reason, struct bf_batch *batch,
		struct bf_settlement *ret_settlement);

#endif
