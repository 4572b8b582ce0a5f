/* The connections of an open store: one that writes, one that reads, one for the output file; how they
 * are opened, and opened anew after the file failed.
 *
 * Opening anew  A failed sync may have left changes in the system's memory that are on no disk, marked
 *               clean. So the log is brought into the file at once: everything in doubt is written
 *               again before anything new is acknowledged.
 * Not here      when to do so (commit.c). */
#include "store-sqlite/sqlite_priv.h"

static int note_log(void *data, sqlite3 *handle, const char *name, int frames)
{
	struct bf_sqlite *store = data;

	(void)handle;
	(void)name;
	store->wal_frames = frames;
	return SQLITE_OK;
}

static enum belfry_status open_reader(struct bf_sqlite *store)
{
	return bf_db_open(&store->reader, store->paths.database, BF_DB_READER, bf_statement_texts,
			BF_ST_COUNT);
}

/* Nobody else may write, but a copying tool might: it is not waited for longer than half of a call. */
static void limit_waiting(const struct bf_sqlite *store, struct bf_db *db)
{
	belfry_duration wait = BF_MIN(store->timeout / 2, BELFRY_SECOND);

	(void)sqlite3_busy_timeout(db->handle, (int)(wait / BELFRY_MILLISECOND));
}

enum belfry_status bf_sqlite_connect(struct bf_sqlite *store)
{
	enum belfry_status status = bf_db_open(&store->writer, store->paths.database, 0,
			bf_statement_texts, BF_ST_COUNT);

	if (status == BELFRY_OK) {
		limit_waiting(store, &store->writer);
		(void)sqlite3_wal_hook(store->writer.handle, note_log, store);
		store->wal_frames = 0;
		store->name_count = 0;
	}
	return status;
}

void bf_sqlite_disconnect(struct bf_sqlite *store, bool with_checkpoint)
{
	bf_door_pass(&store->reader_door);
	store->is_connected = false;
	bf_db_close(&store->reader, false);
	bf_db_close(&store->writer, with_checkpoint);
	bf_door_leave(&store->reader_door);
}

enum belfry_status bf_sqlite_connect_reader(struct bf_sqlite *store)
{
	bf_door_pass(&store->reader_door);
	enum belfry_status status = open_reader(store);
	store->is_connected = status == BELFRY_OK;
	bf_door_leave(&store->reader_door);
	return status;
}

/* quick_check answers with rows; the first one is "ok" or what is wrong. */
static int look_at_answer(void *data, int count, char **values, char **names)
{
	bool *is_ok = data;

	(void)names;
	*is_ok = count > 0 && values[0] != NULL && bf_str_equal(bf_str(values[0]), BF_STR("ok"));
	return 0;
}

static enum belfry_status check(struct bf_db *db)
{
	bool is_ok = true;
	int code = sqlite3_exec(db->handle, "PRAGMA quick_check(1)", look_at_answer, &is_ok, NULL);

	if (code == SQLITE_INTERRUPT) {
		return BELFRY_OK;
	}
	if (code != SQLITE_OK) {
		return bf_db_failure(db, code);
	}
	return is_ok ? BELFRY_OK : bf_db_failure(db, SQLITE_CORRUPT);
}

static enum belfry_status bring_in_log(struct bf_db *db)
{
	int code = sqlite3_wal_checkpoint_v2(db->handle, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL,
			NULL);

	return code == SQLITE_OK ? BELFRY_OK : bf_db_failure(db, code);
}

enum belfry_status bf_sqlite_reconnect(struct bf_sqlite *store, struct bf_boot_time deadline)
{
	struct bf_db *db = &store->writer;

	bf_sqlite_disconnect(store, false);
	enum belfry_status status = bf_sqlite_connect(store);
	if (status == BELFRY_OK) {
		/* A connection finds its log with the first read. */
		status = bf_db_exec(db, "SELECT 1 FROM sqlite_schema");
	}
	if (status == BELFRY_OK) {
		status = bring_in_log(db);
	}
	if (status == BELFRY_OK) {
		status = bf_db_prepare_all(db); /* it is still the file that was migrated */
	}
	if (status == BELFRY_OK) {
		db->deadline = deadline;
		status = check(db);
		db->deadline = (struct bf_boot_time){0};
	}
	if (status == BELFRY_OK) {
		status = bf_sqlite_connect_reader(store);
	}
	if (status != BELFRY_OK) {
		bf_sqlite_disconnect(store, false);
	}
	return status;
}

bool bf_sqlite_is_in_place(const struct bf_sqlite *store)
{
	return bf_file_is_current(store->held_file, store->paths.database);
}

enum belfry_status bf_sqlite_connect_output(struct bf_sqlite *store)
{
	return bf_db_open(&store->output, store->paths.output, BF_DB_RELAXED, bf_output_texts,
			BF_OUT_COUNT);
}

static enum belfry_status nothing(struct bf_sqlite *store, void *call)
{
	(void)store;
	(void)call;
	return BELFRY_OK;
}

/* Locks the reader and has it open; nothing is locked where it fails. BELFRY_CONFLICT: the file is
 * closed, and the leader must open it first. */
static enum belfry_status take_reader(struct bf_sqlite *store)
{
	struct bf_db *db = &store->reader;
	enum belfry_status status = BELFRY_OK;

	if (!bf_sqlite_pass_door(store, &store->reader_door)) {
		return BELFRY_UNAVAILABLE;
	}
	if (!store->is_connected) {
		status = BELFRY_CONFLICT;
	} else if (db->handle == NULL || db->is_broken) {
		bf_db_close(db, false);
		status = open_reader(store);
	}
	if (status == BELFRY_OK) {
		db->deadline = bf_sqlite_deadline(store);
		status = bf_db_run_values(db, BF_ST_BEGIN_READ, NULL, 0);
	}
	if (status != BELFRY_OK) {
		bf_door_leave(&store->reader_door);
	}
	return status;
}

enum belfry_status bf_sqlite_read_begin(struct bf_sqlite *store, struct belfry_error *err)
{
	if (!store->is_ready) {
		return bf_error_set(err, BELFRY_CONFIGURATION, "the store was not migrated");
	}
	if (!bf_sqlite_is_in_place(store)) {
		return bf_error_system(err, BELFRY_UNAVAILABLE, 0, BF_OUT_OF_PLACE);
	}
	bf_sqlite_enter(store);
	enum belfry_status status = take_reader(store);
	if (status == BELFRY_CONFLICT && bf_sqlite_write(store, nothing, NULL, NULL) == BELFRY_OK) {
		status = take_reader(store);
	}
	if (status != BELFRY_OK) {
		bf_sqlite_leave(store);
		status = status == BELFRY_CONFLICT ? BELFRY_UNAVAILABLE : status;
		return bf_error_system(err, status, 0, "the store file cannot be read now");
	}
	store->reads++;
	return BELFRY_OK;
}

enum belfry_status bf_sqlite_read_end(struct bf_sqlite *store, enum belfry_status status,
		struct belfry_error *err)
{
	struct bf_db *db = &store->reader;

	if (status != BELFRY_OK) {
		(void)bf_db_fail(db, status, err);
	}
	db->deadline = (struct bf_boot_time){0};
	if (db->handle != NULL && !bf_db_is_rolled_back(db) &&
			bf_db_run_values(db, BF_ST_ROLLBACK, NULL, 0) != BELFRY_OK) {
		db->is_broken = true;
	}
	bf_door_leave(&store->reader_door);
	bf_sqlite_leave(store);
	return status;
}
