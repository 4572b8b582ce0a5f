/* Runs that somebody asked for: Run now, replay, backfill; and the global switch.
 *
 * Request key and Run are one commit. A Run made so waits in the queue. */
#include "store-sqlite/sqlite_priv.h"

struct add_call {
	struct belfry_add *adds;
	size_t count;
	bool is_careful;
};

/* The schedule and revision of one request. */
struct origin {
	int64_t schedule; /* 0: there is none */
	int64_t revision;
	uint32_t flags;  /* of that revision */
	bool is_present; /* the schedule's present revision */
	bool is_revision_used;
};

static enum belfry_status find_schedule(struct bf_db *db, struct belfry_str id,
		struct origin *origin, bool *ret_is_there)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_SCHEDULE_FIND, bf_v_text(id));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	*origin = (struct origin){0};
	*ret_is_there = false;
	if (status == BELFRY_OK && has_row) {
		*origin = (struct origin){
				.schedule = bf_db_int(row, 0),
				.revision = bf_db_int(row, 2),
				.flags = bf_db_u32(row, 3),
				.is_present = true,
				.is_revision_used = bf_db_int(row, 5) != 0,
		};
		*ret_is_there = bf_db_int(row, 4) == 0;
	}
	return status;
}

/* A revision that is kept, else schedule becomes 0. */
static enum belfry_status find_revision(struct bf_db *db, int64_t revision, struct origin *origin)
{
	int64_t flags = -1;

	if (revision == 0 || revision == origin->revision) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_db_number(db, BF_ST_REVISION_FLAGS, -1, &flags,
			bf_v_int(origin->schedule), bf_v_int(revision));
	if (status == BELFRY_OK) {
		origin->schedule = flags < 0 ? 0 : origin->schedule;
		origin->revision = revision;
		origin->flags = (uint32_t)flags;
		origin->is_present = false;
	}
	return status;
}

/* NOT_FOUND where the key was not used. */
static enum belfry_status find_key(struct bf_db *db, int64_t schedule, struct belfry_add *add,
		enum belfry_status *ret_result)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_KEY_FIND, bf_v_int(schedule),
			bf_v_text(add->request_key));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	if (status != BELFRY_OK || !has_row) {
		*ret_result = BELFRY_NOT_FOUND;
		return status;
	}
	bool is_same = (uint64_t)bf_db_int(row, 1) == add->request_hash;
	add->existing = bf_db_id(row, 0);
	*ret_result = is_same ? BELFRY_OK : BELFRY_KEY_REUSED;
	return BELFRY_OK;
}

static enum belfry_status insert(struct bf_sqlite *store, const struct belfry_add *add,
		const struct origin *origin, belfry_time now, bool *ret_is_inserted)
{
	struct bf_db *db = &store->writer;
	belfry_time ready_at = add->ready_at != 0 ? add->ready_at : now;
	bool is_local = (origin->flags & BELFRY_SCHEDULE_F_LOCAL_SESSION) != 0;
	int64_t tz;
	enum belfry_status status = bf_sqlite_name_key(store, add->tz_version, &tz);

	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_ST_RUN_INSERT, bf_v_id(&add->id),
				bf_v_int(origin->schedule), bf_v_int(BELFRY_RUN_QUEUED),
				bf_v_int(BELFRY_STATUS_QUEUED), bf_v_int(add->trigger),
				bf_v_int(is_local ? BELFRY_RUN_F_LOCAL_SESSION : 0),
				bf_v_int(origin->revision), bf_v_int(add->due_at),
				bf_v_int(ready_at), bf_v_int(now), bf_v_int(0), bf_v_int(0),
				bf_v_int(0), bf_v_int(0), bf_v_int(0), bf_v_int(1), bf_v_int(1),
				bf_v_int(tz), bf_v_int(BELFRY_RUN_ERROR_NONE),
				bf_v_optional_id(&add->replayed_from));
	}
	if (status != BELFRY_OK) {
		return status;
	}
	*ret_is_inserted = bf_db_changes(db) > 0;
	return *ret_is_inserted
			? bf_db_run(db, BF_ST_QUEUE_PUT, bf_v_id(&add->id), bf_v_int(ready_at),
					  bf_v_int(origin->schedule), bf_v_null(), bf_v_int(0))
			: BELFRY_OK;
}

static enum belfry_status make(struct bf_sqlite *store, struct belfry_add *add,
		const struct origin *origin, belfry_time now)
{
	struct bf_db *db = &store->writer;
	bool is_inserted = false;
	enum belfry_status status = insert(store, add, origin, now, &is_inserted);

	if (status != BELFRY_OK || !is_inserted) {
		add->result = BELFRY_CONFLICT;
		return status;
	}
	if (add->request_key.len > 0) {
		status = bf_db_run(db, BF_ST_KEY_INSERT, bf_v_int(origin->schedule),
				bf_v_text(add->request_key), bf_v_bits(add->request_hash),
				bf_v_id(&add->id));
	}
	if (status == BELFRY_OK && origin->is_present && !origin->is_revision_used) {
		status = bf_db_run(db, BF_ST_SCHEDULE_REVISION_USED, bf_v_int(origin->schedule));
	}
	add->result = BELFRY_OK;
	add->existing = add->id;
	add->is_new = true;
	return status;
}

static enum belfry_status add_one(struct bf_sqlite *store, struct belfry_add *add, belfry_time now)
{
	struct bf_db *db = &store->writer;
	struct origin origin;
	bool is_there;
	enum belfry_status result = BELFRY_NOT_FOUND;
	enum belfry_status status = find_schedule(db, add->schedule, &origin, &is_there);

	add->is_new = false;
	if (status == BELFRY_OK && origin.schedule != 0 && add->request_key.len > 0) {
		status = find_key(db, origin.schedule, add, &result);
	}
	if (status == BELFRY_OK && result != BELFRY_NOT_FOUND) {
		add->result = result;
		return BELFRY_OK;
	}
	if (status == BELFRY_OK && is_there) {
		status = find_revision(db, add->revision, &origin);
	}
	if (status != BELFRY_OK || !is_there || origin.schedule == 0) {
		add->result = BELFRY_NOT_FOUND;
		return status;
	}
	return make(store, add, &origin, now);
}

static enum belfry_status run_add(struct bf_sqlite *store, void *data)
{
	struct add_call *call = data;
	belfry_time now = bf_sqlite_now(store);
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < call->count; i++) {
		status = bf_sqlite_item_begin(store, call->is_careful);
		if (status == BELFRY_OK) {
			status = add_one(store, &call->adds[i], now);
		}
		status = bf_sqlite_item_end(store, call->is_careful, status);
		if (status == BELFRY_CORRUPT && call->is_careful) {
			call->adds[i].is_new = false;
			call->adds[i].result = BELFRY_CORRUPT;
			status = BELFRY_OK;
		}
	}
	return status;
}

enum belfry_status bf_sqlite_add_runs(struct belfry_store *base, struct belfry_add *adds,
		size_t count, struct belfry_error *err)
{
	struct add_call call = {.adds = adds, .count = count};

	return bf_sqlite_write_items(bf_sqlite_of(base), run_add, &call, &call.is_careful, err);
}

static enum belfry_status run_switch(struct bf_sqlite *store, void *data)
{
	const bool *is_on = data;
	enum belfry_status status = bf_db_run(&store->writer, BF_ST_META_SET,
			bf_v_text(BF_STR("is_on")), bf_v_int(*is_on ? 1 : 0));

	return status == BELFRY_OK && !*is_on
			? bf_sqlite_end_unstarted(store, 0, bf_sqlite_now(store), NULL)
			: status;
}

enum belfry_status bf_sqlite_turn_switch(struct belfry_store *base, bool is_on,
		struct belfry_error *err)
{
	return bf_sqlite_write(bf_sqlite_of(base), run_switch, &is_on, err);
}
