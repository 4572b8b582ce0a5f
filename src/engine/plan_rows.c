/* From rows to the items of one commit: due rows, requested puts and removals, and every row after the
 * clock was set back. Computes alone; planner.c says when. */
#include "base/grow.h"
#include "calendar/anew.h"
#include "engine/plan_zones.h"

struct belfry_advance_item *bf_plan_item(struct bf_planner *planner, struct bf_plan_note **ret_note)
{
	size_t at = planner->advance.item_count;

	if (BF_GROW(planner->items, planner->item_capacity, at + 1) != BELFRY_OK ||
			BF_GROW(planner->notes, planner->note_capacity, at + 1) != BELFRY_OK) {
		return NULL;
	}
	planner->items[at] = (struct belfry_advance_item){
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = planner->rows.now,
			.tz_version = bf_str(planner->tz_version),
	};
	planner->notes[at] = (struct bf_plan_note){0};
	planner->advance.item_count++;
	*ret_note = &planner->notes[at];
	return &planner->items[at];
}

/* The item made last is not needed after all. */
static void drop_item(struct bf_planner *planner)
{
	planner->advance.item_count--;
}

enum belfry_status bf_plan_rule(struct bf_planner *planner, const struct belfry_schedule_row *row,
		struct bf_definition *ret_definition, const struct belfry_rule **ret_rule,
		struct belfry_error *err)
{
	enum belfry_status status = bf_definition_decode(row->definition, ret_definition, err);

	if (status != BELFRY_OK) {
		return status;
	}
	return bf_rules_find(planner->rules, row->id, row->revision, ret_definition, ret_rule, err);
}

int64_t bf_plan_fires_left(const struct belfry_rule *rule, int64_t fired_count)
{
	uint32_t max = belfry_rule_max_fires(rule);

	return max == 0 ? INT64_MAX : max - fired_count;
}

void bf_plan_exhaust(struct belfry_advance_item *item, bool is_spent)
{
	item->cursor = BELFRY_TIME_NEVER;
	item->phase = BELFRY_PHASE_EXHAUSTED;
	item->phase_reason = is_spent ? BF_STR("it has fired as often as max_fires allows")
				      : BF_STR("the rule has no further due time");
}

static struct bf_call_policy call_policy(const struct belfry_policies *p)
{
	return (struct bf_call_policy){
			.interrupted = p->interrupted,
			.max_attempts = p->max_attempts,
			.first_delay = p->first_delay,
			.max_delay = p->max_delay,
			.timeout = p->timeout,
	};
}

static struct bf_settle_input settle_input(struct bf_planner *planner,
		const struct belfry_schedule_row *row, const struct bf_definition *definition,
		const struct belfry_rule *rule)
{
	size_t left = planner->runs_max - BF_MIN(planner->batch.run_count, planner->runs_max);
	/* Every row its share, so that what is due first is made first, whichever row owes it (L14). */
	size_t share = planner->runs_max / BF_MAX(planner->rows.count, 1) + 1;

	return (struct bf_settle_input){
			.schedule = row->id,
			.revision = row->revision,
			.policies = &definition->policies,
			.rule = rule,
			.coverage = &planner->coverage,
			.cursor = row->cursor,
			.now = planner->rows.now,
			.max_runs = BF_MIN(left, share),
			.fires_left = bf_plan_fires_left(rule, row->fired_count),
			.last_fire_at = row->last_fire_at,
			.is_foreign = bf_plan_is_foreign(planner, row),
			.cursor_local = row->cursor_local,
	};
}

/* The cursor, and what a newer tz database would need to compute it anew. */
static void put_decided(struct belfry_advance_item *item, const struct belfry_schedule_row *row,
		const struct bf_settlement *s, const struct belfry_rule *rule)
{
	bool is_decided = s->decided_due != 0;
	bool is_moved = s->cursor != row->cursor;

	item->cursor = s->cursor;
	item->decided_due = is_decided ? s->decided_due : row->decided_due;
	item->decided_local = is_decided ? s->decided_local : row->decided_local;
	item->cursor_local = is_moved ? bf_rule_local(rule, s->cursor) : row->cursor_local;
}

enum belfry_status bf_plan_settle(struct bf_planner *planner, const struct belfry_schedule_row *row,
		struct belfry_advance_item *item, struct bf_plan_note *note,
		const struct bf_definition *definition, const struct belfry_rule *rule)
{
	struct bf_settle_input input = settle_input(planner, row, definition, rule);
	enum belfry_status status = bf_settle(&input, &planner->batch, &note->settlement);

	note->policy = call_policy(&definition->policies);
	note->payload_bytes = row->payload_bytes;
	note->schedule_flags = row->flags;
	put_decided(item, row, &note->settlement, rule);
	item->last_fire_at = note->settlement.last_fire_at;
	return status;
}

void bf_plan_begin_item(struct belfry_advance_item *item, const struct belfry_schedule_row *row)
{
	item->schedule = row->id;
	item->expect_version = row->version;
	item->phase = row->phase;
	item->phase_reason = row->phase_reason;
	item->decided_due = row->decided_due;
	item->decided_local = row->decided_local;
}

/* A row that fails its own format is switched off with a reason, and every other one goes on (C6). */
static enum belfry_status quarantine(struct bf_planner *planner,
		const struct belfry_schedule_row *row)
{
	struct bf_plan_note *note;
	struct belfry_advance_item *item = bf_plan_item(planner, &note);

	if (item == NULL) {
		return BELFRY_NOMEM;
	}
	bf_plan_begin_item(item, row);
	item->phase = BELFRY_PHASE_QUARANTINED;
	item->phase_reason = BF_STR("the stored schedule cannot be read: save it again");
	return bf_plan_settle_unreadable(planner, row, note);
}

/* Was it this row that the store could not write? Asked once: then it is forgotten. */
static bool take_bad(struct bf_planner *planner, struct belfry_str id)
{
	for (size_t i = 0; i < planner->bad_count; i++) {
		struct bf_plan_bad *bad = &planner->bad[i];
		if (bf_str_equal(id, (struct belfry_str){bad->id, bad->len})) {
			*bad = planner->bad[--planner->bad_count];
			return true;
		}
	}
	return false;
}

static enum belfry_status plan_due_row(struct bf_planner *planner,
		const struct belfry_schedule_row *row)
{
	struct bf_definition definition;
	const struct belfry_rule *rule;
	struct bf_plan_note *note;
	enum belfry_status status = bf_plan_rule(planner, row, &definition, &rule, NULL);

	if (status == BELFRY_CORRUPT || take_bad(planner, row->id)) {
		return quarantine(planner, row);
	}
	if (status != BELFRY_OK) {
		planner->unreadable++;
		return status == BELFRY_NOMEM ? status : BELFRY_OK;
	}
	struct belfry_advance_item *item = bf_plan_item(planner, &note);
	if (item == NULL) {
		return BELFRY_NOMEM;
	}
	bf_plan_begin_item(item, row);
	status = bf_plan_settle(planner, row, item, note, &definition, rule);
	planner->is_undecided = planner->is_undecided || note->settlement.is_undecided;
	if (status == BELFRY_OK && note->settlement.cursor == bf_plan_stored_cursor(planner, row)) {
		drop_item(planner);
	} else if (item->cursor == BELFRY_TIME_NEVER) {
		bf_plan_exhaust(item, note->settlement.is_spent);
	}
	return status;
}

enum belfry_status bf_plan_due(struct bf_planner *planner)
{
	enum belfry_status status = BELFRY_OK;

	planner->unreadable = 0;
	planner->advance.is_plan = true;
	for (size_t i = 0; status == BELFRY_OK && i < planner->rows.count; i++) {
		if (planner->batch.run_count >= planner->runs_max) {
			planner->is_cut = true;
			break;
		}
		status = plan_due_row(planner, &planner->rows.rows[i]);
	}
	return status;
}

/* After the clock was set back: the cursor may lie ahead of the first due time after now. */
static enum belfry_status plan_page_row(struct bf_planner *planner,
		const struct belfry_schedule_row *row)
{
	struct bf_definition definition;
	const struct belfry_rule *rule;
	struct bf_plan_note *note;
	belfry_time now = planner->rows.now;
	belfry_time next = BELFRY_TIME_NEVER;

	if (row->is_removed || row->phase == BELFRY_PHASE_QUARANTINED ||
			bf_plan_rule(planner, row, &definition, &rule, NULL) != BELFRY_OK ||
			bf_plan_fires_left(rule, row->fired_count) <= 0) {
		return BELFRY_OK;
	}
	if ((row->flags & BELFRY_SCHEDULE_F_ENABLED) != 0 &&
			belfry_rule_next(rule, now, &next) != BELFRY_OK) {
		next = BELFRY_TIME_NEVER;
	}
	bool is_ahead = row->cursor != BELFRY_TIME_NEVER || next != BELFRY_TIME_NEVER
			? row->cursor > next
			: row->idle_since > now;
	if (!is_ahead) {
		return BELFRY_OK;
	}
	struct belfry_advance_item *item = bf_plan_item(planner, &note);
	if (item == NULL) {
		return BELFRY_NOMEM;
	}
	bf_plan_begin_item(item, row);
	item->flags = BELFRY_ADVANCE_F_DROP_LATER_GAPS;
	item->cursor = next;
	item->decided_due = now;
	item->decided_local = bf_rule_local(rule, now);
	item->cursor_local = bf_rule_local(rule, next);
	if (next != BELFRY_TIME_NEVER) {
		item->phase = BELFRY_PHASE_ACTIVE;
		item->phase_reason = BF_STR("");
	}
	return BELFRY_OK;
}

enum belfry_status bf_plan_page(struct bf_planner *planner)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < planner->rows.count; i++) {
		status = plan_page_row(planner, &planner->rows.rows[i]);
	}
	return status;
}
