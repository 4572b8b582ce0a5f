/* The conditional step of schedules: plan, put, remove, enable, disable.
 *
 * First everything that an item may need is allocated (struct change); then the items are judged
 * and carried out one after another, which cannot fail. An item is carried out in two parts: the
 * schedule's own document moves its cursor and takes the new Runs and gaps as owed (apply_change:
 * this is their birth), then what is owed is carried out (owed.c). In the atomic mode both parts
 * are one; in the single-document mode a crash between them leaves the push for whoever comes
 * next. */
#include "store/memory/memory_priv.h"

/* What one item may need; whatever the item did not use is freed at the end. */
struct change {
	struct mem_schedule *schedule; /* for a schedule that is not there yet */
	struct mem_revision *revision; /* of a put */
	struct mem_owed *owed;
	struct belfry_str definition;
	struct belfry_str fair_key;
	struct belfry_str tz_version;
	struct belfry_str phase_reason;
};

static void change_fini(struct change *change)
{
	mem_schedule_free(change->schedule);
	mem_revision_free(change->revision);
	mem_owed_free(change->owed);
	mem_text_free(&change->definition);
	mem_text_free(&change->fair_key);
	mem_text_free(&change->tz_version);
	mem_text_free(&change->phase_reason);
}

/* --- allocating --- */

static enum belfry_status prepare_runs(struct mem_owed *owed,
		const struct belfry_advance_item *item)
{
	owed->runs = bf_alloc_array(item->run_count, sizeof(struct mem_run *));
	if (owed->runs == NULL) {
		return BELFRY_NOMEM;
	}
	for (; owed->run_count < item->run_count; owed->run_count++) {
		enum belfry_status status = mem_run_new(item->schedule,
				item->runs[owed->run_count].id, item->tz_version,
				&owed->runs[owed->run_count]);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status prepare_gaps(struct mem_owed *owed,
		const struct belfry_advance_item *item)
{
	owed->gaps = bf_alloc_array(item->gap_count, sizeof(struct mem_gap *));
	if (owed->gaps == NULL) {
		return BELFRY_NOMEM;
	}
	for (; owed->gap_count < item->gap_count; owed->gap_count++) {
		enum belfry_status status = mem_gap_new(item->schedule,
				&item->gaps[owed->gap_count], &owed->gaps[owed->gap_count]);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status prepare_put(struct change *change, const struct belfry_advance_item *item)
{
	if (mem_revision_new(item->schedule, item->put, &change->revision) != BELFRY_OK ||
			mem_text_copy(&change->definition, item->put->definition) != BELFRY_OK ||
			mem_text_copy(&change->fair_key, item->put->fair_key) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

static enum belfry_status prepare(struct change *change, const struct belfry_advance_item *item)
{
	change->schedule = bf_alloc(sizeof(*change->schedule));
	change->owed = bf_alloc(sizeof(*change->owed));
	if (change->schedule == NULL || change->owed == NULL ||
			mem_text_copy(&change->schedule->row.id, item->schedule) != BELFRY_OK ||
			mem_text_copy(&change->tz_version, item->tz_version) != BELFRY_OK ||
			mem_text_copy(&change->phase_reason, item->phase_reason) != BELFRY_OK ||
			prepare_runs(change->owed, item) != BELFRY_OK ||
			prepare_gaps(change->owed, item) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return item->put != NULL ? prepare_put(change, item) : BELFRY_OK;
}

/* --- judging --- */

static bool is_active(const struct mem_schedule *schedule)
{
	return schedule != NULL && !schedule->row.is_removed &&
			(schedule->row.flags & BELFRY_SCHEDULE_F_ENABLED) != 0;
}

/* Where nothing lives: only a put or a removal, and above the tombstone's revision. */
static bool may_begin(const struct mem_schedule *tombstone, const struct belfry_advance_item *item)
{
	int64_t revision = item->put != NULL ? item->put->revision : item->remove_revision;

	if (item->put == NULL && (item->flags & BELFRY_ADVANCE_F_REMOVE) == 0) {
		return false;
	}
	if (tombstone == NULL) {
		return item->expect_version == 0;
	}
	return (item->expect_version == 0 || item->expect_version == tombstone->row.version) &&
			revision > tombstone->row.revision;
}

static bool is_ahead(const struct belfry_advance_item *item, belfry_time now)
{
	for (size_t i = 0; i < item->run_count; i++) {
		if (item->runs[i].due_at > now) {
			return true;
		}
	}
	return false;
}

static enum belfry_status judge(const struct mem_db *db, const struct belfry_advance *advance,
		const struct belfry_advance_item *item)
{
	const struct mem_schedule *row = mem_schedule_find(db, item->schedule);
	bool is_there = row != NULL && !row->row.is_removed;

	if ((advance->is_plan && !db->is_on) || is_ahead(item, advance->now)) {
		return BELFRY_CONFLICT;
	}
	if (is_there ? item->expect_version != row->row.version : !may_begin(row, item)) {
		return BELFRY_CONFLICT;
	}
	if (item->put == NULL) {
		return BELFRY_OK;
	}
	if (is_there && item->put->revision <= row->row.revision) {
		return BELFRY_CONFLICT;
	}
	bool becomes_active = (item->put->flags & BELFRY_SCHEDULE_F_ENABLED) != 0;
	if (becomes_active && !is_active(row) && advance->max_active > 0 &&
			db->active_count >= advance->max_active) {
		return BELFRY_CAPACITY;
	}
	return BELFRY_OK;
}

/* --- carrying out --- */

static void set_cursor(struct mem_db *db, struct mem_schedule *schedule,
		const struct belfry_advance_item *item, belfry_time now)
{
	bool has_cursor = item->cursor != BELFRY_TIME_NEVER &&
			(item->flags & BELFRY_ADVANCE_F_REMOVE) == 0;

	mem_tree_remove(&db->due, &schedule->due);
	schedule->row.cursor = has_cursor ? item->cursor : BELFRY_TIME_NEVER;
	if (has_cursor) {
		schedule->row.idle_since = 0;
		BF_ASSERT(mem_tree_put(&db->due, &schedule->due));
	} else {
		schedule->row.idle_since = item->decided_at != 0 ? item->decided_at : now;
		mem_text_free(&schedule->row.tz_version);
	}
	schedule->row.decided_due = item->decided_due;
	schedule->row.decided_local = item->decided_local;
	schedule->row.cursor_local = has_cursor ? item->cursor_local : 0;
}

/* A new row begins as a tombstone that nobody made: nothing lives there yet. */
static struct mem_schedule *find_or_put(struct mem_db *db, struct belfry_str id,
		struct change *change)
{
	struct mem_schedule *schedule = mem_schedule_find(db, id);

	if (schedule == NULL) {
		schedule = BF_TAKE(change->schedule);
		schedule->row.is_removed = true;
		schedule->row.cursor = BELFRY_TIME_NEVER;
		BF_ASSERT(mem_tree_put(&db->schedules, &schedule->by_id));
	}
	return schedule;
}

static void apply_put(struct mem_db *db, struct mem_schedule *schedule,
		const struct belfry_schedule_put *put, struct change *change)
{
	schedule->present = BF_TAKE(change->revision);
	mem_revision_put(db, schedule->present);
	schedule->row.is_removed = false;
	schedule->row.revision = put->revision;
	schedule->row.flags = put->flags;
	schedule->row.payload_bytes = (uint32_t)put->payload.len;
	mem_text_move(&schedule->row.definition, &change->definition);
	mem_text_move(&schedule->row.fair_key, &change->fair_key);
	bf_list_remove(&schedule->tombstone_link);
}

/* Id and revision stay: an older put cannot bring it back. Revisions with Runs stay too. */
static void apply_remove(struct mem_db *db, struct mem_schedule *schedule,
		const struct belfry_advance_item *item, belfry_time now)
{
	struct belfry_schedule_row *row = &schedule->row;

	row->is_removed = true;
	row->revision = BF_MAX(row->revision, item->remove_revision);
	row->flags = 0;
	row->fired_count = 0;
	row->last_fire_at = 0;
	row->decided_due = row->decided_local = 0;
	row->payload_bytes = 0;
	row->phase = BELFRY_PHASE_ACTIVE;
	mem_text_free(&row->definition);
	mem_text_free(&row->fair_key);
	mem_text_free(&row->tz_version);
	mem_text_free(&row->phase_reason);
	if (schedule->present != NULL) {
		schedule->present->replaced_at = now;
		schedule->present = NULL;
	}
	schedule->removed_at = now;
	bf_list_move(&db->tombstones, &schedule->tombstone_link);
}

/* The item's Runs were owed under the definition that the step found; only a schedule that was not
 * there owes them under the one that the step brings. */
static void fill_runs(struct mem_owed *owed, const struct belfry_advance *advance,
		const struct belfry_advance_item *item, struct mem_revision *revision,
		uint64_t version)
{
	for (size_t i = 0; i < owed->run_count; i++) {
		const struct belfry_new_run *from = &item->runs[i];
		struct mem_run *run = owed->runs[i];
		run->revision = revision;
		run->born_version = version;
		run->run.revision = revision->revision;
		run->run.trigger = from->trigger;
		run->run.state = from->state;
		run->run.status = bf_run_state_status(from->state);
		run->run.due_at = from->due_at;
		run->run.ready_at = from->ready_at;
		run->run.stands_for = from->stands_for;
		run->run.error = from->error;
		run->run.created_at = advance->now;
		if ((revision->flags & BELFRY_SCHEDULE_F_LOCAL_SESSION) != 0) {
			run->run.flags = BELFRY_RUN_F_LOCAL_SESSION;
		}
		if (from->state == BELFRY_RUN_DISPATCHING) {
			run->run.holder = advance->holder;
			run->run.fence = advance->fence;
			run->run.attempt = 1;
			run->run.started_at = advance->now;
		}
		if (belfry_run_status_is_terminal(run->run.status)) {
			run->run.finished_at = advance->now;
		}
	}
}

static void drop_later_gaps(struct mem_db *db, struct belfry_str schedule, belfry_time after)
{
	struct mem_node *node = mem_tree_find_from(&db->gaps,
			&(struct mem_key){.text = {schedule}, .number = INT64_MIN});

	while (node != NULL) {
		struct mem_gap *gap = BF_CONTAINER(node, struct mem_gap, by_time);
		node = mem_tree_next(node);
		if (!bf_str_equal(gap->gap.schedule, schedule)) {
			return;
		}
		if (gap->gap.from > after) {
			mem_tree_remove(&db->gaps, &gap->by_time);
			mem_gap_free(gap);
		} else if (gap->gap.to > after) {
			gap->gap.to = after;
			gap->gap.count =
					1; /* `from`; of the others nobody knows how many were later */
			gap->gap.is_at_least = true;
		}
	}
}

/* What the count rises by: Runs that this step gives birth to. An id that is there already is no birth. */
static int64_t count_firings(const struct mem_db *db, const struct belfry_advance_item *item)
{
	int64_t count = 0;

	for (size_t i = 0; i < item->run_count; i++) {
		const struct belfry_new_run *run = &item->runs[i];
		count += run->trigger == BELFRY_TRIGGER_SCHEDULE &&
				run->state != BELFRY_RUN_SKIPPED &&
				mem_run_find(db, run->id) == NULL;
	}
	return count;
}

/* The one write of the schedule's own document. */
static void apply_change(struct mem_db *db, const struct belfry_advance *advance,
		struct belfry_advance_item *item, struct change *change)
{
	struct mem_schedule *schedule = find_or_put(db, item->schedule, change);
	struct mem_revision *found = schedule->present;
	struct belfry_schedule_row *row = &schedule->row;

	db->schedule_count -= !row->is_removed;
	db->active_count -= is_active(schedule);
	item->version = row->version = ++db->last_version;
	row->phase = item->phase;
	mem_text_move(&row->tz_version, &change->tz_version);
	mem_text_move(&row->phase_reason, &change->phase_reason);
	row->fired_count += count_firings(db, item);
	row->last_fire_at = BF_MAX(row->last_fire_at, item->last_fire_at);
	if (found != NULL && change->revision != NULL) {
		found->replaced_at = advance->now;
	}
	if (item->put != NULL) {
		apply_put(db, schedule, item->put, change);
	}
	set_cursor(db, schedule, item, advance->now);
	if ((item->flags & BELFRY_ADVANCE_F_DROP_LATER_GAPS) != 0) {
		drop_later_gaps(db, row->id, item->decided_at);
	}
	schedule->owed = BF_TAKE(change->owed);
	schedule->owed->ends_unstarted = (item->flags & BELFRY_ADVANCE_F_END_UNSTARTED) != 0;
	for (size_t i = 0; i < schedule->owed->gap_count; i++) {
		schedule->owed->gaps[i]->gap.written_at = advance->now;
	}
	fill_runs(schedule->owed, advance, item, found != NULL ? found : schedule->present,
			row->version);
	bf_list_append(&db->owed, &schedule->owed_link);
	if ((item->flags & BELFRY_ADVANCE_F_REMOVE) != 0) {
		apply_remove(db, schedule, item, advance->now);
	}
	db->schedule_count += !row->is_removed;
	db->active_count += is_active(schedule);
}

static void answer_inserted(const struct mem_db *db, struct belfry_advance_item *item)
{
	for (size_t i = 0; i < item->run_count; i++) {
		const struct mem_run *run = mem_run_find(db, item->runs[i].id);
		item->runs[i].is_inserted = run != NULL && run->born_version == item->version;
	}
}

static enum belfry_status advance_one(struct mem_db *db, const struct belfry_advance *advance,
		struct belfry_advance_item *item, struct change *change)
{
	enum belfry_status status = mem_owed_finish(db, item->schedule);

	if (status != BELFRY_OK) {
		return status;
	}
	item->result = judge(db, advance, item);
	if (item->result != BELFRY_OK) {
		return BELFRY_OK;
	}
	apply_change(db, advance, item, change);
	status = mem_step(db, "advance: pushed");
	uint64_t before = db->ended_unstarted;
	if (status == BELFRY_OK) {
		status = mem_owed_finish(db, item->schedule);
	}
	item->ended = (uint32_t)(db->ended_unstarted - before);
	answer_inserted(db, item);
	return status;
}

static bool has_born_claimed(const struct belfry_advance *advance)
{
	for (size_t i = 0; i < advance->item_count; i++) {
		for (size_t j = 0; j < advance->items[i].run_count; j++) {
			if (advance->items[i].runs[j].state == BELFRY_RUN_DISPATCHING) {
				return true;
			}
		}
	}
	return false;
}

static enum belfry_status advance_all(struct mem_db *db, struct belfry_advance *advance,
		struct change *changes)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < advance->item_count; i++) {
		status = prepare(&changes[i], &advance->items[i]);
	}
	if (status == BELFRY_OK && has_born_claimed(advance) &&
			!mem_incarnation_lives(db, advance->holder)) {
		status = BELFRY_STALE;
	}
	for (size_t i = 0; status == BELFRY_OK && i < advance->item_count; i++) {
		status = advance_one(db, advance, &advance->items[i], &changes[i]);
	}
	return status;
}

enum belfry_status mem_advance(struct belfry_store *store, struct belfry_advance *advance,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer)
	struct change *changes = bf_alloc_array(advance->item_count, sizeof(*changes));
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);

	(void)err;
	if (changes == NULL) {
		return BELFRY_NOMEM;
	}
	advance->now = mem_now(db);
	advance->fence = (belfry_fence)advance->now;
	enum belfry_status status = advance_all(db, advance, changes);
	for (size_t i = 0; i < advance->item_count; i++) {
		change_fini(&changes[i]);
	}
	return status;
}
