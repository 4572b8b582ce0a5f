/* Small things that several operations need: rows into structs, keys of names and holders, ending
 * Runs that have not started. */
#include "store-sqlite/sqlite_priv.h"

#include <string.h>

belfry_time bf_sqlite_now(const struct bf_sqlite *store)
{
	return store->env->wall(store->env->data);
}

static int64_t cached_name(const struct bf_sqlite *store, struct belfry_str name)
{
	for (size_t i = 0; i < store->name_count; i++) {
		if (bf_str_equal((struct belfry_str){store->names[i].text, store->names[i].len},
				    name)) {
			return store->names[i].key;
		}
	}
	return 0;
}

static void cache_name(struct bf_sqlite *store, struct belfry_str name, int64_t key)
{
	if (name.len > sizeof(store->names[0].text)) {
		return;
	}
	if (store->name_count == BF_NAME_CACHE) {
		store->name_count = 0;
	}
	memcpy(store->names[store->name_count].text, name.ptr, name.len);
	store->names[store->name_count].len = name.len;
	store->names[store->name_count++].key = key;
}

enum belfry_status bf_sqlite_name_key(struct bf_sqlite *store, struct belfry_str name,
		int64_t *ret_key)
{
	struct bf_db *db = &store->writer;
	int64_t key = name.len > 0 ? cached_name(store, name) : 0;

	if (name.len == 0 || key != 0) {
		*ret_key = key;
		return BELFRY_OK;
	}
	enum belfry_status status = bf_db_number(db, BF_ST_NAME_FIND, 0, &key, bf_v_text(name));
	if (status == BELFRY_OK && key == 0) {
		status = bf_db_run(db, BF_ST_NAME_INSERT, bf_v_text(name));
		key = sqlite3_last_insert_rowid(db->handle);
	}
	if (status == BELFRY_OK) {
		cache_name(store, name, key);
		*ret_key = key;
	}
	return status;
}

enum belfry_status bf_sqlite_find_holder(struct bf_sqlite *store, const struct belfry_id *id,
		struct bf_holder *ret_holder)
{
	struct bf_db *db = &store->writer;
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_HOLDER_LIVING, bf_v_id(id));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	if (status == BELFRY_OK && has_row) {
		*ret_holder = (struct bf_holder){bf_db_int(row, 0), bf_db_id(row, 1)};
	}
	return status == BELFRY_OK && !has_row ? BELFRY_STALE : status;
}

enum belfry_status bf_sqlite_get_meta(struct bf_db *db, const char *key, int64_t *ret_value)
{
	return bf_db_number(db, BF_ST_META_GET, 0, ret_value, bf_v_text(bf_str(key)));
}

/* The Session of a Run that is the host's own carries the Run's id, and is not stored as text. */
static enum belfry_status local_session(struct belfry_arena *arena, struct belfry_run *run)
{
	char text[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(run->id, text);
	return belfry_arena_copy(arena, bf_str(text), &run->session);
}

static enum belfry_status read_run_texts(sqlite3_stmt *row, struct belfry_arena *arena,
		struct belfry_run *run)
{
	const struct {
		int column;
		struct belfry_str *text;
	} texts[] = {
			{1, &run->schedule},
			{20, &run->session},
			{21, &run->turn},
			{23, &run->message},
			{24, &run->detail},
			{25, &run->tz_version},
	};

	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		enum belfry_status status = bf_db_text(row, texts[i].column, arena, texts[i].text);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	if ((run->flags & BELFRY_RUN_F_LOCAL_SESSION) != 0 && run->session.len == 0) {
		return local_session(arena, run);
	}
	return BELFRY_OK;
}

enum belfry_status bf_sqlite_read_run(sqlite3_stmt *row, struct belfry_arena *arena,
		struct belfry_run *ret_run)
{
	*ret_run = (struct belfry_run){
			.id = bf_db_id(row, 0),
			.trigger = (enum belfry_trigger)bf_db_u32(row, 2),
			.state = (enum belfry_run_state)bf_db_u32(row, 3),
			.status = (enum belfry_run_status)bf_db_u32(row, 4),
			.flags = bf_db_u32(row, 5),
			.revision = bf_db_int(row, 6),
			.due_at = bf_db_int(row, 7),
			.ready_at = bf_db_int(row, 8),
			.created_at = bf_db_int(row, 9),
			.started_at = bf_db_int(row, 10),
			.dispatched_at = bf_db_int(row, 11),
			.finished_at = bf_db_int(row, 12),
			.replayed_from = bf_db_id(row, 13),
			.holder = bf_db_id(row, 14),
			.fence = (belfry_fence)bf_db_int(row, 15),
			.attempt = bf_db_u32(row, 16),
			.failures = bf_db_u32(row, 17),
			.takeovers = bf_db_u32(row, 18),
			.stands_for = bf_db_u32(row, 19),
			.error = (enum belfry_run_error)bf_db_u32(row, 22),
	};
	return read_run_texts(row, arena, ret_run);
}

enum belfry_status bf_sqlite_read_schedule(sqlite3_stmt *row, struct belfry_arena *arena,
		struct belfry_schedule_row *ret_row)
{
	bool has_cursor = sqlite3_column_type(row, 6) != SQLITE_NULL;

	*ret_row = (struct belfry_schedule_row){
			.version = (uint64_t)bf_db_int(row, 1),
			.revision = bf_db_int(row, 2),
			.flags = bf_db_u32(row, 3),
			.is_removed = bf_db_int(row, 4) != 0,
			.phase = (enum belfry_phase)bf_db_u32(row, 5),
			.cursor = has_cursor ? bf_db_int(row, 6) : BELFRY_TIME_NEVER,
			.idle_since = bf_db_int(row, 7),
			.fired_count = bf_db_int(row, 8),
			.last_fire_at = bf_db_int(row, 9),
			.payload_bytes = bf_db_u32(row, 10),
			.decided_due = bf_db_int(row, 15),
			.decided_local = bf_db_int(row, 16),
			.cursor_local = bf_db_int(row, 17),
	};
	enum belfry_status status = bf_db_text(row, 0, arena, &ret_row->id);
	if (status == BELFRY_OK) {
		status = bf_db_text(row, 11, arena, &ret_row->definition);
	}
	if (status == BELFRY_OK) {
		status = bf_db_text(row, 12, arena, &ret_row->fair_key);
	}
	if (status == BELFRY_OK) {
		status = bf_db_text(row, 13, arena, &ret_row->tz_version);
	}
	return status == BELFRY_OK ? bf_db_text(row, 14, arena, &ret_row->phase_reason) : status;
}

static enum belfry_status read_incarnation(sqlite3_stmt *row, struct belfry_arena *arena,
		struct belfry_incarnation *ret_incarnation)
{
	*ret_incarnation = (struct belfry_incarnation){
			.id = bf_db_id(row, 0),
			.beat = (uint64_t)bf_db_int(row, 1),
			.registered_at = bf_db_int(row, 2),
			.covers_from = bf_db_int(row, 3),
			.covered_until = bf_db_int(row, 4),
			.ended_at = bf_db_int(row, 5),
			.was_declared_dead = bf_db_int(row, 6) != 0,
	};
	enum belfry_status status = bf_db_text(row, 7, arena, &ret_incarnation->identity);
	if (status == BELFRY_OK) {
		status = bf_db_text(row, 8, arena, &ret_incarnation->version);
	}
	return status == BELFRY_OK ? bf_db_text(row, 9, arena, &ret_incarnation->tz_version)
				   : status;
}

enum belfry_status bf_sqlite_grow(struct belfry_arena *arena, size_t size, size_t count,
		size_t *capacity, void **array)
{
	if (count < *capacity) {
		return BELFRY_OK;
	}
	size_t larger = BF_MAX(*capacity * 2, 16);
	void *grown = belfry_arena_alloc(arena, larger * size);
	if (grown == NULL) {
		return BELFRY_NOMEM;
	}
	if (count > 0) {
		memcpy(grown, *array, count * size);
	}
	*array = grown;
	*capacity = larger;
	return BELFRY_OK;
}

enum belfry_status bf_sqlite_read_incarnations(struct bf_db *db, sqlite3_stmt *row,
		struct belfry_arena *arena, struct belfry_incarnation **ret_rows, size_t *ret_count)
{
	void *rows = NULL;
	size_t count = 0, capacity = 0;
	bool has_row = true;

	for (;;) {
		enum belfry_status status = bf_db_step(db, row, &has_row);
		if (status == BELFRY_OK && has_row) {
			status = bf_sqlite_grow(arena, sizeof(**ret_rows), count, &capacity, &rows);
		}
		if (status == BELFRY_OK && has_row) {
			status = read_incarnation(row, arena,
					&((struct belfry_incarnation *)rows)[count++]);
		}
		if (status != BELFRY_OK) {
			return status;
		}
		if (!has_row) {
			*ret_rows = rows;
			*ret_count = count;
			return BELFRY_OK;
		}
	}
}

enum belfry_status bf_sqlite_end_unstarted(struct bf_sqlite *store, int64_t schedule,
		belfry_time now, uint32_t *ret_count)
{
	struct bf_db *db = &store->writer;
	enum belfry_status status = schedule == 0
			? bf_db_run(db, BF_ST_END_ALL_UNSTARTED, bf_v_int(now))
			: bf_db_run(db, BF_ST_END_UNSTARTED, bf_v_int(now), bf_v_int(schedule));

	int64_t count = status == BELFRY_OK ? bf_db_changes(db) : 0;
	if (ret_count != NULL) {
		*ret_count = (uint32_t)BF_MIN(count, UINT32_MAX);
	}
	if (count == 0) {
		return status;
	}
	return schedule == 0 ? bf_db_run_values(db, BF_ST_QUEUE_SWEEP_ALL, NULL, 0)
			     : bf_db_run(db, BF_ST_QUEUE_SWEEP, bf_v_int(schedule));
}

enum belfry_status bf_sqlite_drop_revision(struct bf_db *db, int64_t schedule, int64_t revision)
{
	int64_t payload = 0;
	enum belfry_status status = bf_db_number(db, BF_ST_REVISION_PAYLOAD, 0, &payload,
			bf_v_int(schedule), bf_v_int(revision));

	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_ST_REVISION_DELETE, bf_v_int(schedule),
				bf_v_int(revision));
	}
	if (status == BELFRY_OK && payload != 0) {
		status = bf_db_run(db, BF_ST_PAYLOAD_SWEEP, bf_v_int(payload));
	}
	return status;
}
