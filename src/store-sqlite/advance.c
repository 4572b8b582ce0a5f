/* The conditional step of schedules: plan, put, remove, enable, disable.
 *
 * An item is judged against its row inside the transaction and then carried out; both are one commit,
 * so nobody sees a cursor without its Runs. Uniqueness rests on the primary key of `runs`: an id that
 * is there already is left as it is, and said so.
 * The Runs of an item were owed under the definition that the step finds; only a schedule that was not
 * there owes them under the one that the step brings. */
#include "store-sqlite/sqlite_priv.h"

#include "base/hash.h"

/* A row as the step finds it; key 0: there is none. */
struct row {
	int64_t key;
	int64_t version;
	int64_t revision;
	uint32_t flags;
	bool is_there; /* and no tombstone */
	bool is_revision_used;
	int64_t tz;
};

struct advance_call {
	struct belfry_advance *advance;
	bool is_careful;
};

/* What the items of one call share. */
struct step {
	struct bf_sqlite *store;
	struct bf_db *db;
	struct belfry_advance *advance;
	struct bf_holder holder;
	bool is_on;
	bool is_careful;
	int64_t active; /* enabled schedules; read when there is a ceiling */
	int64_t active_add;
	int64_t schedules_add;
	struct belfry_id lowest; /* of the Runs born claimed that were inserted */
};

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

static enum belfry_status find_row(struct bf_db *db, struct belfry_str id, struct row *ret_row)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *found = bf_db_bind(db, BF_ST_SCHEDULE_FIND, bf_v_text(id));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, found, &has_row);

	*ret_row = (struct row){0};
	if (status == BELFRY_OK && has_row) {
		*ret_row = (struct row){
				.key = bf_db_int(found, 0),
				.version = bf_db_int(found, 1),
				.revision = bf_db_int(found, 2),
				.flags = bf_db_u32(found, 3),
				.is_there = bf_db_int(found, 4) == 0,
				.is_revision_used = bf_db_int(found, 5) != 0,
				.tz = bf_db_int(found, 6),
		};
	}
	return status;
}

/* --- judging --- */

/* Where nothing lives: only a put or a removal, and above the tombstone's revision. */
static bool may_begin(const struct row *row, const struct belfry_advance_item *item)
{
	int64_t revision = item->put != NULL ? item->put->revision : item->remove_revision;

	if (item->put == NULL && (item->flags & BELFRY_ADVANCE_F_REMOVE) == 0) {
		return false;
	}
	if (row->key == 0) {
		return item->expect_version == 0;
	}
	return (item->expect_version == 0 || item->expect_version == (uint64_t)row->version) &&
			revision > row->revision;
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

static bool is_active(const struct row *row)
{
	return row->is_there && (row->flags & BELFRY_SCHEDULE_F_ENABLED) != 0;
}

static enum belfry_status judge(const struct step *step, const struct belfry_advance_item *item,
		const struct row *row)
{
	if ((step->advance->is_plan && !step->is_on) || is_ahead(item, step->advance->now)) {
		return BELFRY_CONFLICT;
	}
	if (row->is_there ? item->expect_version != (uint64_t)row->version
			  : !may_begin(row, item)) {
		return BELFRY_CONFLICT;
	}
	if (item->put == NULL) {
		return BELFRY_OK;
	}
	if (row->is_there && item->put->revision <= row->revision) {
		return BELFRY_CONFLICT;
	}
	bool becomes_active = (item->put->flags & BELFRY_SCHEDULE_F_ENABLED) != 0 &&
			!is_active(row);
	if (becomes_active && step->advance->max_active > 0 &&
			step->active + step->active_add >= step->advance->max_active) {
		return BELFRY_CAPACITY;
	}
	return BELFRY_OK;
}

/* --- Runs and gaps --- */

static void note_lowest(struct step *step, const struct belfry_new_run *run)
{
	if (run->state == BELFRY_RUN_DISPATCHING &&
			(bf_id_is_zero(step->lowest) || bf_id_compare(run->id, step->lowest) < 0)) {
		step->lowest = run->id;
	}
}

/* What the Runs of an item have in common. */
struct birth {
	int64_t schedule;
	int64_t revision;
	uint32_t flags;
	int64_t tz;
};

static enum belfry_status insert_run(struct step *step, const struct birth *birth,
		struct belfry_new_run *run)
{
	struct bf_db *db = step->db;
	enum belfry_run_status status = bf_run_state_status(run->state);
	belfry_time now = step->advance->now;
	bool is_born = run->state == BELFRY_RUN_DISPATCHING;
	bool waits = run->state == BELFRY_RUN_QUEUED;
	struct belfry_id none = {{0}};

	enum belfry_status answer = bf_db_run(db, BF_ST_RUN_INSERT, bf_v_id(&run->id),
			bf_v_int(birth->schedule), bf_v_int(run->state), bf_v_int(status),
			bf_v_int(run->trigger), bf_v_int(birth->flags), bf_v_int(birth->revision),
			bf_v_int(run->due_at), bf_v_int(run->ready_at), bf_v_int(now),
			bf_v_int(is_born ? now : 0),
			bf_v_int(belfry_run_status_is_terminal(status) ? now : 0),
			bf_v_int(is_born ? step->holder.key : 0),
			bf_v_bits(is_born ? step->advance->fence : 0), bf_v_int(is_born ? 1 : 0),
			bf_v_int(run->stands_for), bf_v_int(waits ? 1 : 0), bf_v_int(birth->tz),
			bf_v_int(run->error), bf_v_optional_id(&none));
	if (answer != BELFRY_OK) {
		return answer;
	}
	run->is_inserted = bf_db_changes(db) > 0;
	if (run->is_inserted) {
		note_lowest(step, run);
	}
	if (run->is_inserted && waits) {
		answer = bf_db_run(db, BF_ST_QUEUE_PUT, bf_v_id(&run->id), bf_v_int(run->ready_at),
				bf_v_int(birth->schedule), bf_v_null(), bf_v_int(0));
	}
	return answer;
}

/* What the Runs of an item change besides themselves. */
struct births {
	bool is_any_inserted;
	int64_t fired; /* what `fired_count` rises by */
};

static enum belfry_status insert_runs(struct step *step, struct belfry_advance_item *item,
		const struct birth *birth, struct births *ret_births)
{
	enum belfry_status status = BELFRY_OK;
	struct births births = {0};

	for (size_t i = 0; status == BELFRY_OK && i < item->run_count; i++) {
		struct belfry_new_run *run = &item->runs[i];
		status = insert_run(step, birth, run);
		births.is_any_inserted = births.is_any_inserted || run->is_inserted;
		births.fired += run->is_inserted && run->trigger == BELFRY_TRIGGER_SCHEDULE &&
				run->state != BELFRY_RUN_SKIPPED;
	}
	*ret_births = births;
	return status;
}

static enum belfry_status drop_later_gaps(struct bf_db *db, int64_t key, belfry_time after)
{
	enum belfry_status status = bf_db_run(db, BF_ST_GAPS_DROP_LATER, bf_v_int(key),
			bf_v_int(after));

	return status == BELFRY_OK ? bf_db_run(db, BF_ST_GAPS_CUT, bf_v_int(key), bf_v_int(after))
				   : status;
}

static enum belfry_status write_gaps(struct step *step, const struct belfry_advance_item *item,
		int64_t key)
{
	enum belfry_status status = BELFRY_OK;

	if ((item->flags & BELFRY_ADVANCE_F_DROP_LATER_GAPS) != 0) {
		status = drop_later_gaps(step->db, key, item->decided_at);
	}
	for (size_t i = 0; status == BELFRY_OK && i < item->gap_count; i++) {
		const struct belfry_gap *gap = &item->gaps[i];
		status = bf_db_run(step->db, BF_ST_GAP_INSERT, bf_v_int(key), bf_v_int(gap->from),
				bf_v_int(gap->to), bf_v_int(gap->count),
				bf_v_int(gap->is_at_least ? 1 : 0), bf_v_int(gap->reason),
				bf_v_int(gap->revision), bf_v_int(step->advance->now),
				bf_v_text(gap->who));
	}
	return status;
}

/* --- the row and its definition --- */

/* The payload's key; 0 for the empty one. */
static enum belfry_status put_payload(struct bf_db *db, struct belfry_str payload, int64_t *ret_key)
{
	unsigned char digest[BF_SHA256_BYTES];
	struct belfry_str hash = {(const char *)digest, sizeof(digest)};

	*ret_key = 0;
	if (payload.len == 0) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_sha256(&payload, 1, digest);
	if (status == BELFRY_OK) {
		status = bf_db_number(db, BF_ST_PAYLOAD_FIND, 0, ret_key, bf_v_blob(hash));
	}
	if (status == BELFRY_OK && *ret_key == 0) {
		status = bf_db_run(db, BF_ST_PAYLOAD_INSERT, bf_v_blob(hash), bf_v_blob(payload));
		*ret_key = sqlite3_last_insert_rowid(db->handle);
	}
	return status;
}

static enum belfry_status put_definition(struct bf_db *db, const struct belfry_schedule_put *put,
		int64_t key, bool is_used)
{
	int64_t payload;
	enum belfry_status status = put_payload(db, put->payload, &payload);

	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_ST_REVISION_PUT, bf_v_int(key), bf_v_int(put->revision),
				bf_v_int(put->flags), bf_v_int(payload),
				bf_v_int((int64_t)put->payload.len), bf_v_text(put->fair_key),
				bf_v_blob(put->definition));
	}
	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_ST_SCHEDULE_PUT, bf_v_int(key), bf_v_int(put->revision),
				bf_v_int(put->flags), bf_v_int(is_used ? 1 : 0));
	}
	return status;
}

static enum belfry_status move_row(struct step *step, const struct belfry_advance_item *item,
		const struct row *row, const struct births *births, int64_t version, int64_t tz)
{
	bool has_cursor = item->cursor != BELFRY_TIME_NEVER &&
			(item->flags & BELFRY_ADVANCE_F_REMOVE) == 0;
	belfry_time idle_since = item->decided_at != 0 ? item->decided_at : step->advance->now;

	tz = has_cursor ? tz : 0; /* in an index: written where it changes */
	enum belfry_status status = tz == row->tz
			? BELFRY_OK
			: bf_db_run(step->db, BF_ST_SCHEDULE_TZ, bf_v_int(row->key), bf_v_int(tz));
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_db_run(step->db, BF_ST_SCHEDULE_MOVE, bf_v_int(row->key), bf_v_int(version),
			bf_v_int(item->phase), has_cursor ? bf_v_int(item->cursor) : bf_v_null(),
			bf_v_int(has_cursor ? 0 : idle_since), bf_v_int(item->decided_due),
			bf_v_int(births->fired), bf_v_int(item->last_fire_at),
			bf_v_text(item->phase_reason), bf_v_int(row->is_revision_used ? 1 : 0),
			bf_v_int(item->decided_local),
			bf_v_int(has_cursor ? item->cursor_local : 0));
}

/* A row that nobody has seen begins as a tombstone; its versions begin with the time, so that one
 * which was forgotten and comes again has none of its old ones. */
static enum belfry_status ensure_row(struct step *step, const struct belfry_advance_item *item,
		struct row *row, int64_t *ret_version)
{
	*ret_version = row->key != 0 ? row->version + 1 : BF_MAX(step->advance->now, 1);
	if (row->key != 0) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_db_run(step->db, BF_ST_SCHEDULE_INSERT,
			bf_v_text(item->schedule), bf_v_int(*ret_version));
	row->key = sqlite3_last_insert_rowid(step->db->handle);
	return status;
}

/* What a put or a removal changes besides the cursor. */
static enum belfry_status change_definition(struct step *step, struct belfry_advance_item *item,
		const struct row *row, bool is_any_inserted)
{
	struct bf_db *db = step->db;
	bool is_removal = (item->flags & BELFRY_ADVANCE_F_REMOVE) != 0;
	enum belfry_status status = BELFRY_OK;

	if (item->put == NULL && !is_removal) {
		return BELFRY_OK;
	}
	if (item->put != NULL) {
		status = put_definition(db, item->put, row->key, !row->is_there && is_any_inserted);
	}
	if (status == BELFRY_OK && is_removal) {
		status = bf_db_run(db, BF_ST_SCHEDULE_REMOVE, bf_v_int(row->key),
				bf_v_int(item->remove_revision), bf_v_int(step->advance->now));
	}
	if (status == BELFRY_OK && row->is_there && !row->is_revision_used) {
		status = bf_sqlite_drop_revision(db, row->key, row->revision);
	}
	return status;
}

static void count(struct step *step, const struct belfry_advance_item *item, const struct row *row)
{
	bool is_removal = (item->flags & BELFRY_ADVANCE_F_REMOVE) != 0;
	uint32_t flags = item->put != NULL ? item->put->flags : row->flags;
	bool is_there = !is_removal && (item->put != NULL || row->is_there);

	step->schedules_add += (is_there ? 1 : 0) - (row->is_there ? 1 : 0);
	step->active_add += (is_there && (flags & BELFRY_SCHEDULE_F_ENABLED) != 0 ? 1 : 0) -
			(is_active(row) ? 1 : 0);
}

/* --- an item --- */

static struct birth birth_of(const struct belfry_advance_item *item, const struct row *row,
		int64_t tz)
{
	bool is_local = ((row->is_there || item->put == NULL ? row->flags : item->put->flags) &
					BELFRY_SCHEDULE_F_LOCAL_SESSION) != 0;
	int64_t brought = item->put != NULL ? item->put->revision : item->remove_revision;

	return (struct birth){
			.schedule = row->key,
			.revision = row->is_there ? row->revision : brought,
			.flags = is_local ? BELFRY_RUN_F_LOCAL_SESSION : 0,
			.tz = tz,
	};
}

static enum belfry_status carry_out(struct step *step, struct belfry_advance_item *item,
		struct row *row)
{
	int64_t version, tz;
	struct births births = {0};
	enum belfry_status status = ensure_row(step, item, row, &version);

	if (status == BELFRY_OK) {
		status = bf_sqlite_name_key(step->store, item->tz_version, &tz);
	}
	if (status == BELFRY_OK) {
		struct birth birth = birth_of(item, row, tz);
		status = insert_runs(step, item, &birth, &births);
	}
	row->is_revision_used = row->is_revision_used || (row->is_there && births.is_any_inserted);
	if (status == BELFRY_OK) {
		status = move_row(step, item, row, &births, version, tz);
	}
	if (status == BELFRY_OK) {
		status = change_definition(step, item, row, births.is_any_inserted);
	}
	if (status == BELFRY_OK) {
		status = write_gaps(step, item, row->key);
	}
	item->ended = 0;
	if (status == BELFRY_OK && (item->flags & BELFRY_ADVANCE_F_END_UNSTARTED) != 0) {
		status = bf_sqlite_end_unstarted(step->store, row->key, step->advance->now,
				&item->ended);
	}
	if (status == BELFRY_OK) {
		count(step, item, row);
		item->version = (uint64_t)version;
	}
	return status;
}

static enum belfry_status advance_one(struct step *step, struct belfry_advance_item *item)
{
	struct row row;
	enum belfry_status status = bf_sqlite_item_begin(step->store, step->is_careful);

	if (status == BELFRY_OK) {
		status = find_row(step->db, item->schedule, &row);
	}
	if (status == BELFRY_OK) {
		item->result = judge(step, item, &row);
		if (item->result == BELFRY_OK) {
			status = carry_out(step, item, &row);
		}
	}
	status = bf_sqlite_item_end(step->store, step->is_careful, status);
	if (status == BELFRY_CORRUPT && step->is_careful) {
		item->result = BELFRY_CORRUPT;
		status = BELFRY_OK;
	}
	return status;
}

/* --- the call --- */

static enum belfry_status begin(struct step *step)
{
	struct belfry_advance *advance = step->advance;
	int64_t is_on = 1;
	enum belfry_status status = BELFRY_OK;

	advance->now = bf_sqlite_now(step->store);
	advance->fence = (belfry_fence)advance->now;
	if (advance->is_plan) {
		status = bf_sqlite_get_meta(step->db, "is_on", &is_on);
	}
	if (status == BELFRY_OK && advance->max_active > 0) {
		status = bf_sqlite_get_meta(step->db, "active_schedules", &step->active);
	}
	if (status == BELFRY_OK && has_born_claimed(advance)) {
		status = bf_sqlite_find_holder(step->store, &advance->holder, &step->holder);
	}
	step->is_on = is_on != 0;
	return status;
}

static enum belfry_status add_meta(struct bf_db *db, const char *key, int64_t add)
{
	return add == 0 ? BELFRY_OK
			: bf_db_run(db, BF_ST_META_ADD, bf_v_text(bf_str(key)), bf_v_int(add));
}

/* Counters, and the holder's low mark where a Run was born below it. */
static enum belfry_status end(struct step *step)
{
	struct bf_db *db = step->db;
	enum belfry_status status = add_meta(db, "schedules", step->schedules_add);

	if (status == BELFRY_OK) {
		status = add_meta(db, "active_schedules", step->active_add);
	}
	if (status == BELFRY_OK && !bf_id_is_zero(step->lowest) &&
			bf_id_compare(step->lowest, step->holder.low) < 0) {
		status = bf_db_run(db, BF_ST_INCARNATION_LOW, bf_v_int(step->holder.key),
				bf_v_id(&step->lowest));
	}
	return status;
}

static enum belfry_status run_advance(struct bf_sqlite *store, void *data)
{
	struct advance_call *call = data;
	struct step step = {
			.store = store,
			.db = &store->writer,
			.advance = call->advance,
			.is_careful = call->is_careful,
	};
	enum belfry_status status = begin(&step);

	for (size_t i = 0; status == BELFRY_OK && i < step.advance->item_count; i++) {
		status = advance_one(&step, &step.advance->items[i]);
	}
	return status == BELFRY_OK ? end(&step) : status;
}

enum belfry_status bf_sqlite_advance(struct belfry_store *base, struct belfry_advance *advance,
		struct belfry_error *err)
{
	struct belfry_advance work = *advance;
	struct advance_call call = {.advance = &work};
	enum belfry_status status = bf_sqlite_write_items(bf_sqlite_of(base), run_advance, &call,
			&call.is_careful, err);

	if (status == BELFRY_OK) {
		advance->now = work.now;
		advance->fence = work.fence;
	}
	return status;
}
