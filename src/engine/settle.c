/* Settling what a schedule owes. Bounded in every direction: Runs by max_runs, counting by COUNT_MAX,
 * ledger rows by GAPS_MAX; what is left over stays owed, because the cursor stops before it. */
#include "engine/settle.h"

#include "base/grow.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "calendar/advance.h"
#include "calendar/anew.h"

#define COUNT_MAX UINT64_C(100000) /* due times counted in one stretch; then "at least" */
#define GAPS_MAX  ((size_t)64)     /* ledger rows of one schedule in one batch */

void bf_batch_fini(struct bf_batch *batch)
{
	bf_free(batch->runs);
	bf_free(batch->gaps);
	*batch = (struct bf_batch){0};
}

void bf_batch_clear(struct bf_batch *batch)
{
	batch->run_count = 0;
	batch->gap_count = 0;
}

/* The due time after `at`; NEVER when there is none. */
static belfry_time next_due(const struct belfry_rule *rule, belfry_time at)
{
	belfry_time due;

	return belfry_rule_next(rule, at, &due) == BELFRY_OK ? due : BELFRY_TIME_NEVER;
}

static enum belfry_status add_run(const struct bf_settle_input *in, struct bf_batch *batch,
		struct bf_settlement *s, belfry_time due)
{
	struct belfry_id id;
	enum belfry_status status = BF_GROW(batch->runs, batch->run_capacity, batch->run_count + 1);

	if (status == BELFRY_OK) {
		status = belfry_run_id(in->schedule, due, &id);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	batch->runs[batch->run_count++] = (struct belfry_new_run){
			.id = id,
			.trigger = BELFRY_TRIGGER_SCHEDULE,
			.state = BELFRY_RUN_QUEUED,
			.due_at = due,
			.ready_at = bf_time_add(due,
					bf_id_spread(id, belfry_rule_spread(in->rule))),
			.stands_for = 1,
	};
	s->run_count++;
	s->again_count += due <= in->last_fire_at ? 1 : 0;
	s->last_fire_at = due;
	return BELFRY_OK;
}

static enum belfry_status add_gap(const struct bf_settle_input *in, struct bf_batch *batch,
		struct bf_settlement *s, struct belfry_gap gap)
{
	struct belfry_gap *last = s->gap_count > 0 ? &batch->gaps[batch->gap_count - 1] : NULL;
	bool has_run_between = last != NULL && s->last_fire_at > last->from;

	s->missed += gap.count;
	if (last != NULL && last->reason == gap.reason && !has_run_between) {
		last->to = gap.to;
		last->count += gap.count;
		last->is_at_least = last->is_at_least || gap.is_at_least;
		return BELFRY_OK;
	}
	enum belfry_status status = BF_GROW(batch->gaps, batch->gap_capacity, batch->gap_count + 1);
	if (status != BELFRY_OK) {
		return status;
	}
	gap.schedule = in->schedule;
	gap.revision = in->revision;
	gap.who = BF_STR("planner");
	batch->gaps[batch->gap_count++] = gap;
	s->gap_count++;
	return BELFRY_OK;
}

/* The due times from `from` (which counts, by the rule or because it is stored) to `to`, as one gap. */
static struct belfry_gap count_gap(const struct belfry_rule *rule, belfry_time from, belfry_time to,
		enum belfry_gap_reason reason)
{
	uint64_t more = 0;
	belfry_time last = from;

	bf_advance_count(rule, from, to, COUNT_MAX, &more, &last);
	bool is_at_least = more >= COUNT_MAX;
	return (struct belfry_gap){
			.from = from,
			.to = is_at_least ? to : BF_MAX(from, more > 0 ? last : from),
			.count = (int64_t)more + 1,
			.is_at_least = is_at_least,
			.reason = (int32_t)reason,
	};
}

static enum belfry_gap_reason missed_reason(enum bf_covered covered)
{
	return covered == BF_COVERED_YES ? BELFRY_GAP_LATE : BELFRY_GAP_MISSED;
}

static void note_decided(const struct bf_settle_input *in, struct bf_settlement *s, belfry_time due)
{
	bool is_theirs = in->is_foreign && due == in->cursor && in->cursor_local != 0;

	s->decided_due = due;
	s->decided_local = is_theirs ? in->cursor_local : bf_rule_local(in->rule, due);
}

/* What follows the due time that was decided last. Behind a cursor of a newer database: the first local time
 * behind its own. One that our older database has before `after` is passed over: the newer one has it later, and
 * finds it again by decided_local. */
static belfry_time next_owed(const struct bf_settle_input *in, const struct bf_settlement *s,
		belfry_time after)
{
	struct bf_anew theirs = {s->decided_due, s->decided_local, bf_time_add(after, 1)};
	belfry_time due = in->is_foreign && s->decided_due == in->cursor
			? bf_rule_anew(in->rule, &theirs, after)
			: 0;

	return due > after ? due : next_due(in->rule, after);
}

/* Too old for anything but the ledger: a whole stretch at once. *due moves to the next one. */
static enum belfry_status settle_old(const struct bf_settle_input *in, struct bf_batch *batch,
		struct bf_settlement *s, belfry_time horizon, enum bf_covered covered,
		belfry_time until, belfry_time *due)
{
	belfry_time to = BF_MIN(until, horizon - 1);
	struct belfry_gap gap = count_gap(in->rule, *due, to, missed_reason(covered));
	enum belfry_status status = add_gap(in, batch, s, gap);

	note_decided(in, s, gap.to);
	*due = next_owed(in, s, to);
	return status;
}

/* `until`: the end of the stretch that `due` lies in. Grace goes by how long nobody covered, not by how long
 * the planner took after that: what a crowd of due times delays is fired late, like what was covered. */
static bool fires(const struct bf_settle_input *in, enum bf_covered covered, belfry_time until,
		belfry_time due)
{
	if (covered == BF_COVERED_YES && bf_time_since(in->now, due) <= in->policies->late_limit) {
		return true;
	}
	belfry_time decidable = covered == BF_COVERED_NO ? bf_time_add(until, 1) : in->now;

	return bf_time_since(BF_MIN(in->now, decidable), due) <= in->policies->grace;
}

static enum belfry_status settle_one(const struct bf_settle_input *in, struct bf_batch *batch,
		struct bf_settlement *s, enum bf_covered covered, belfry_time until,
		belfry_time *due)
{
	enum belfry_status status;

	if (fires(in, covered, until, *due)) {
		status = add_run(in, batch, s, *due);
	} else {
		struct belfry_gap gap = {.from = *due,
				.to = *due,
				.count = 1,
				.reason = (int32_t)missed_reason(covered)};
		status = add_gap(in, batch, s, gap);
	}
	note_decided(in, s, *due);
	*due = next_owed(in, s, *due);
	return status;
}

static void begin(const struct bf_settle_input *in, const struct bf_batch *batch,
		struct bf_settlement *s)
{
	*s = (struct bf_settlement){.revision = in->revision,
			.first_run = batch->run_count,
			.first_gap = batch->gap_count};
}

static bool has_fires_left(const struct bf_settle_input *in, const struct bf_settlement *s)
{
	return (int64_t)s->run_count < in->fires_left;
}

/* Where the limit ends it: no due time is left, or the store has to count first. */
static void end_at_limit(const struct bf_settle_input *in, struct bf_settlement *s)
{
	if (!has_fires_left(in, s) && s->again_count == 0) {
		s->is_spent = true;
		s->is_complete = true;
		s->cursor = BELFRY_TIME_NEVER;
	}
}

enum belfry_status bf_settle(const struct bf_settle_input *input, struct bf_batch *batch,
		struct bf_settlement *ret_settlement)
{
	struct bf_settlement *s = ret_settlement;
	belfry_duration reach = BF_MAX(input->policies->late_limit, input->policies->grace);
	belfry_time horizon = bf_time_add(input->now, -reach);
	belfry_time due = input->cursor;
	enum belfry_status status = BELFRY_OK;

	begin(input, batch, s);
	while (status == BELFRY_OK && due <= input->now && s->run_count < input->max_runs &&
			has_fires_left(input, s) && s->gap_count < GAPS_MAX) {
		belfry_time until;
		enum bf_covered covered = bf_coverage_at(input->coverage, due, &until);
		if (covered == BF_COVERED_UNDECIDED) {
			s->is_undecided = true;
			break;
		}
		status = due < horizon ? settle_old(input, batch, s, horizon, covered, until, &due)
				       : settle_one(input, batch, s, covered, until, &due);
	}
	s->cursor = due;
	s->is_complete = due > input->now;
	end_at_limit(input, s);
	return status;
}

enum belfry_status bf_settle_idle(const struct bf_settle_input *input, belfry_time since,
		enum belfry_gap_reason reason, struct bf_batch *batch,
		struct bf_settlement *ret_settlement)
{
	belfry_time first = next_due(input->rule, since);

	begin(input, batch, ret_settlement);
	ret_settlement->is_complete = true;
	if (first > input->now) {
		return BELFRY_OK;
	}
	return add_gap(input, batch, ret_settlement,
			count_gap(input->rule, first, input->now, reason));
}
