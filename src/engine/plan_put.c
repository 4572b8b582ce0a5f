/* Puts and removals: settle what is owed under the old revision, then the new one, in one item. */
#include "base/grow.h"
#include "calendar/anew.h"
#include "engine/plan_zones.h"

void bf_planner_finish(struct bf_planner_orders *orders, struct bf_plan_request *request,
		enum belfry_status status, belfry_time at)
{
	request->status = status;
	request->at = at;
	bf_list_move(&orders->done, &request->link);
}

static const struct belfry_schedule_row *find_row(const struct belfry_list *rows,
		struct belfry_str id)
{
	for (size_t i = 0; i < rows->count; i++) {
		if (bf_str_equal(rows->rows[i].id, id)) {
			return &rows->rows[i];
		}
	}
	return NULL;
}

enum belfry_status bf_plan_settle_unreadable(struct bf_planner *planner,
		const struct belfry_schedule_row *row, struct bf_plan_note *note)
{
	belfry_time from = row->cursor != BELFRY_TIME_NEVER ? row->cursor : row->idle_since;

	note->settlement = (struct bf_settlement){.is_complete = true,
			.first_run = planner->batch.run_count,
			.first_gap = planner->batch.gap_count};
	if (from == 0 || from > planner->rows.now) {
		return BELFRY_OK;
	}
	enum belfry_status status = BF_GROW(planner->batch.gaps, planner->batch.gap_capacity,
			planner->batch.gap_count + 1);
	if (status == BELFRY_OK) {
		planner->batch.gaps[planner->batch.gap_count++] = (struct belfry_gap){
				.schedule = row->id,
				.from = from,
				.to = planner->rows.now,
				.is_at_least = true,
				.reason = BELFRY_GAP_QUARANTINED,
				.revision = row->revision,
				.who = BF_STR("planner"),
		};
		note->settlement.gap_count = 1;
	}
	return status;
}

static enum belfry_status settle_idle_row(struct bf_planner *planner,
		const struct belfry_schedule_row *row, struct bf_plan_note *note,
		const struct bf_definition *definition, const struct belfry_rule *rule)
{
	struct bf_settle_input input = {
			.schedule = row->id,
			.revision = row->revision,
			.policies = &definition->policies,
			.rule = rule,
			.now = planner->rows.now,
	};
	bool is_enabled = (row->flags & BELFRY_SCHEDULE_F_ENABLED) != 0;
	if (bf_plan_fires_left(rule, row->fired_count) <= 0) {
		return BELFRY_OK; /* nothing was due any more */
	}
	enum belfry_gap_reason reason = is_enabled ? BELFRY_GAP_QUARANTINED : BELFRY_GAP_DISABLED;
	enum belfry_status status = bf_settle_idle(&input, row->idle_since, reason, &planner->batch,
			&note->settlement);

	note->idle_count = note->settlement.missed;
	return status;
}

/* What the row owes under its present revision, whatever state it is in. */
static enum belfry_status settle_old_revision(struct bf_planner *planner,
		const struct belfry_schedule_row *row, struct belfry_advance_item *item,
		struct bf_plan_note *note)
{
	struct bf_definition definition;
	const struct belfry_rule *rule;

	note->settlement = (struct bf_settlement){.is_complete = true,
			.first_run = planner->batch.run_count,
			.first_gap = planner->batch.gap_count};
	if (row == NULL || row->is_removed) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_plan_rule(planner, row, &definition, &rule, NULL);
	if (status == BELFRY_NOMEM) {
		return status;
	}
	if (status != BELFRY_OK) {
		return bf_plan_settle_unreadable(planner, row, note);
	}
	if (row->cursor != BELFRY_TIME_NEVER) {
		return bf_plan_settle(planner, row, item, note, &definition, rule);
	}
	return row->idle_since != 0 ? settle_idle_row(planner, row, note, &definition, rule)
				    : BELFRY_OK;
}

/* What has fired, with what this commit is sure to add: an edit never resets it. */
static int64_t fired_count(const struct belfry_schedule_row *row, const struct bf_plan_note *note)
{
	const struct bf_settlement *s = &note->settlement;
	int64_t before = row != NULL && !row->is_removed ? row->fired_count : 0;

	return before + (int64_t)(s->run_count - s->again_count);
}

/* Where the new revision begins: strictly after the instant that parts old and new (B03). */
static enum belfry_status begin_revision(struct bf_planner *planner,
		const struct bf_plan_request *request, struct belfry_advance_item *item,
		int64_t fired)
{
	struct bf_definition definition;
	const struct belfry_rule *rule;
	belfry_time next = BELFRY_TIME_NEVER;
	enum belfry_status status = bf_definition_decode(request->put.definition, &definition,
			NULL);

	if (status == BELFRY_OK) {
		status = bf_rules_find(planner->rules, request->schedule, request->revision,
				&definition, &rule, NULL);
	}
	bool is_enabled = (request->put.flags & BELFRY_SCHEDULE_F_ENABLED) != 0;
	item->flags |= is_enabled ? 0 : BELFRY_ADVANCE_F_END_UNSTARTED;
	if (status == BELFRY_INVALID_SCHEDULE && !is_enabled) {
		/* Its zone is gone: to be switched off it need not be evaluated. */
		item->put = &request->put;
		item->cursor = BELFRY_TIME_NEVER;
		item->phase = BELFRY_PHASE_ACTIVE;
		return BELFRY_OK;
	}
	if (status != BELFRY_OK) {
		return status;
	}
	bool is_spent = bf_plan_fires_left(rule, fired) <= 0;
	item->put = &request->put;
	item->decided_due = planner->rows.now;
	item->decided_local = bf_rule_local(rule, planner->rows.now);
	if (is_spent || belfry_rule_next(rule, planner->rows.now, &next) != BELFRY_OK) {
		bf_plan_exhaust(item, is_spent);
		return BELFRY_OK;
	}
	item->cursor = is_enabled ? next : BELFRY_TIME_NEVER;
	item->cursor_local = bf_rule_local(rule, item->cursor);
	item->phase = BELFRY_PHASE_ACTIVE;
	item->phase_reason = BF_STR("");
	return BELFRY_OK;
}

/* Is it known already, or something later? A removal may have the number of the put that it takes back. */
static bool is_known(const struct belfry_schedule_row *row, const struct bf_plan_request *request)
{
	if (row == NULL) {
		return false;
	}
	return request->is_remove && !row->is_removed ? row->revision > request->revision
						      : row->revision >= request->revision;
}

static bool is_unmoved(const struct bf_planner *planner, const struct belfry_schedule_row *row,
		const struct belfry_advance_item *item)
{
	return item->cursor == bf_plan_stored_cursor(planner, row);
}

static enum belfry_status plan_request(struct bf_planner *planner, struct bf_plan_request *request,
		struct bf_planner_orders *orders)
{
	const struct belfry_schedule_row *row = find_row(&planner->rows, request->schedule);
	struct bf_plan_note *note;

	/* What is not there is removed all the same: the tombstone holds against a put that lands late. */
	if (is_known(row, request)) {
		request->known_revision = row->revision;
		bf_planner_finish(orders, request, BELFRY_OK, planner->rows.now);
		return BELFRY_OK;
	}
	struct belfry_advance_item *item = bf_plan_item(planner, &note);
	if (item == NULL) {
		return BELFRY_NOMEM;
	}
	item->schedule = request->schedule;
	item->expect_version = row != NULL && !row->is_removed ? row->version : 0;
	item->phase = row != NULL ? row->phase : BELFRY_PHASE_ACTIVE;
	note->request = request;
	enum belfry_status status = settle_old_revision(planner, row, item, note);
	if (status != BELFRY_OK) {
		return status;
	}
	planner->is_undecided = planner->is_undecided || note->settlement.is_undecided;
	if (!note->settlement.is_complete) {
		/* This commit takes what is decided by now; the request comes again for the rest. */
		planner->advance.item_count -= is_unmoved(planner, row, item) ? 1 : 0;
		return BELFRY_OK;
	}
	if (request->is_remove) {
		item->flags = BELFRY_ADVANCE_F_REMOVE | BELFRY_ADVANCE_F_END_UNSTARTED;
		item->remove_revision = request->revision;
		item->cursor = BELFRY_TIME_NEVER;
		return BELFRY_OK;
	}
	status = begin_revision(planner, request, item, fired_count(row, note));
	if (status == BELFRY_OK || status == BELFRY_NOMEM) {
		return status;
	}
	planner->advance.item_count--;
	bf_planner_finish(orders, request, status, planner->rows.now);
	return BELFRY_OK;
}

enum belfry_status bf_plan_rows(struct bf_planner *planner, struct bf_planner_orders *orders)
{
	enum belfry_status status = BELFRY_OK;
	struct bf_link *next;

	planner->advance.is_plan = false;
	for (struct bf_link *link = planner->working.first; status == BELFRY_OK && link != NULL;
			link = next) {
		next = link->next;
		status = plan_request(planner, BF_CONTAINER(link, struct bf_plan_request, link),
				orders);
	}
	return status;
}
