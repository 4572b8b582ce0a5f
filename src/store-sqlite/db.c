/* One connection: pragmas, kept statements, values, result codes.
 *
 * Invariants  the writing connection alone writes and checkpoints; a reader can do neither (opened
 *             read-only, query_only, no checkpoint when it closes), because two connections that do
 *             may lose commits in every release of the client that is common today. Automatic
 *             checkpoints are off everywhere but in a relaxed file, which has one connection only.
 * Not here    when to checkpoint and what a transaction holds (commit.c). */
#include "store-sqlite/db.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

/* Steps of the client's machine between two looks at the clock. */
#define STEPS_PER_LOOK 20000
#define BUSY_MS        1000

static int look_at_clock(void *data)
{
	const struct bf_db *db = data;
	const struct bf_env *env = bf_env_system();

	return db->deadline.us != 0 && env->boot(env->data).us > db->deadline.us;
}

static enum belfry_status status_of(int code)
{
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE: return BELFRY_OK;
	case SQLITE_NOMEM: return BELFRY_NOMEM;
	case SQLITE_IOERR: return code == SQLITE_IOERR_NOMEM ? BELFRY_NOMEM : BELFRY_UNAVAILABLE;
	case SQLITE_FULL:
	case SQLITE_READONLY:
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
	case SQLITE_CANTOPEN:
	case SQLITE_PROTOCOL:
	case SQLITE_INTERRUPT:
	case SQLITE_PERM: return BELFRY_UNAVAILABLE;
	default: return BELFRY_CORRUPT;
	}
}

/* After these the client's picture of the file may differ from the file. */
static bool breaks(int code)
{
	switch (code & 0xff) {
	case SQLITE_IOERR: return code != SQLITE_IOERR_NOMEM;
	case SQLITE_CANTOPEN:
	case SQLITE_READONLY:
	case SQLITE_PROTOCOL: return true;
	default: return false;
	}
}

enum belfry_status bf_db_failure(struct bf_db *db, int code)
{
	db->code = code;
	db->is_broken = db->is_broken || breaks(code);
	(void)snprintf(db->detail, sizeof(db->detail), "store file: %s (%d)",
			db->handle != NULL ? sqlite3_errmsg(db->handle) : sqlite3_errstr(code),
			code);
	return status_of(code);
}

enum belfry_status bf_db_fail(const struct bf_db *db, enum belfry_status status,
		struct belfry_error *err)
{
	return bf_error_system(err, status, db->code, "%s", db->detail);
}

bool bf_db_is_rolled_back(const struct bf_db *db)
{
	return sqlite3_get_autocommit(db->handle) != 0;
}

enum belfry_status bf_db_exec(struct bf_db *db, const char *text)
{
	int code = sqlite3_exec(db->handle, text, NULL, NULL, NULL);

	return code == SQLITE_OK ? BELFRY_OK : bf_db_failure(db, code);
}

static enum belfry_status configure(struct bf_db *db, unsigned flags)
{
	static const char every[] = "PRAGMA trusted_schema=OFF; PRAGMA mmap_size=0;"
				    "PRAGMA secure_delete=OFF; PRAGMA cell_size_check=ON;"
				    "PRAGMA recursive_triggers=OFF; PRAGMA temp_store=MEMORY";
	static const char reader[] = "PRAGMA wal_autocheckpoint=0; PRAGMA query_only=ON;"
				     "PRAGMA cache_size=-8192";
	static const char relaxed[] = "PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=1000;"
				      "PRAGMA journal_size_limit=4194304; PRAGMA cache_size=-2048";
	static const char writer[] = "PRAGMA wal_autocheckpoint=0; PRAGMA synchronous=FULL;"
				     "PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-65536";
	int code = sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);

	if (code == SQLITE_OK) {
		code = sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	}
	if (code == SQLITE_OK) {
		code = sqlite3_busy_timeout(db->handle, BUSY_MS);
	}
	if (code != SQLITE_OK) {
		return bf_db_failure(db, code);
	}
	sqlite3_progress_handler(db->handle, STEPS_PER_LOOK, look_at_clock, db);
	enum belfry_status status = bf_db_exec(db, every);
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_db_exec(db,
			(flags & BF_DB_READER) != 0                    ? reader
					: (flags & BF_DB_RELAXED) != 0 ? relaxed
								       : writer);
}

enum belfry_status bf_db_open(struct bf_db *db, const char *path, unsigned flags,
		const char *const *texts, size_t count)
{
	int mode = (flags & BF_DB_READER) != 0 ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;

	*db = (struct bf_db){.texts = texts, .count = count};
	db->statements = bf_alloc_array(count, sizeof(*db->statements));
	if (db->statements == NULL) {
		return bf_db_failure(db, SQLITE_NOMEM);
	}
	int code = sqlite3_open_v2(path, &db->handle,
			mode | SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX,
			NULL);
	enum belfry_status status = code == SQLITE_OK ? configure(db, flags)
						      : bf_db_failure(db, code);
	if (status != BELFRY_OK) {
		bf_db_close(db, false);
	}
	return status;
}

void bf_db_close(struct bf_db *db, bool with_checkpoint)
{
	for (size_t i = 0; db->statements != NULL && i < db->count; i++) {
		(void)sqlite3_finalize(db->statements[i]); /* repeats an old failure */
	}
	bf_free(db->statements);
	db->statements = NULL;
	if (db->handle == NULL) {
		return;
	}
	/* Where the checkpoint fails the log stays, and the next open reads it. */
	(void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
			with_checkpoint ? 0 : 1, NULL);
	(void)sqlite3_close_v2(db->handle); /* nothing is left open: cannot fail */
	db->handle = NULL;
}

/* The kept statement, prepared at its first use. */
static sqlite3_stmt *statement_of(struct bf_db *db, unsigned which)
{
	if (db->statements[which] == NULL) {
		int code = sqlite3_prepare_v3(db->handle, db->texts[which], -1,
				SQLITE_PREPARE_PERSISTENT, &db->statements[which], NULL);
		if (code != SQLITE_OK) {
			(void)bf_db_failure(db, code);
		}
	}
	return db->statements[which];
}

enum belfry_status bf_db_prepare_all(struct bf_db *db)
{
	for (unsigned i = 0; i < db->count; i++) {
		if (statement_of(db, i) == NULL) {
			return status_of(db->code);
		}
	}
	return BELFRY_OK;
}

static int bind_one(sqlite3_stmt *statement, int place, const struct bf_value *value)
{
	switch (value->kind) {
	case BF_VALUE_NULL: return sqlite3_bind_null(statement, place);
	case BF_VALUE_INT: return sqlite3_bind_int64(statement, place, value->number);
	case BF_VALUE_TEXT:
		return sqlite3_bind_text64(statement, place,
				value->bytes != NULL ? value->bytes : "", value->len, SQLITE_STATIC,
				SQLITE_UTF8);
	case BF_VALUE_BLOB:
		return sqlite3_bind_blob64(statement, place,
				value->bytes != NULL ? value->bytes : "", value->len,
				SQLITE_STATIC);
	}
	return SQLITE_MISUSE;
}

sqlite3_stmt *bf_db_bind_values(struct bf_db *db, unsigned which, const struct bf_value *values,
		size_t count)
{
	sqlite3_stmt *statement = statement_of(db, which);

	for (size_t i = 0; statement != NULL && i < count; i++) {
		int code = bind_one(statement, (int)i + 1, &values[i]);
		if (code != SQLITE_OK) {
			(void)bf_db_failure(db, code);
			return NULL;
		}
	}
	return statement;
}

void bf_db_reset(sqlite3_stmt **statement)
{
	/* Repeats the failure of the step before, which was looked at there. */
	(void)sqlite3_reset(*statement);
	*statement = NULL;
}

enum belfry_status bf_db_step(struct bf_db *db, sqlite3_stmt *statement, bool *ret_has_row)
{
	if (statement == NULL) {
		return status_of(db->code);
	}
	int code = sqlite3_step(statement);
	if (code != SQLITE_ROW && code != SQLITE_DONE) {
		return bf_db_failure(db, code);
	}
	*ret_has_row = code == SQLITE_ROW;
	return BELFRY_OK;
}

enum belfry_status bf_db_run_values(struct bf_db *db, unsigned which, const struct bf_value *values,
		size_t count)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *statement = bf_db_bind_values(db, which, values, count);
	bool has_row = true;
	enum belfry_status status = BELFRY_OK;

	while (status == BELFRY_OK && has_row) {
		status = bf_db_step(db, statement, &has_row);
	}
	return status;
}

enum belfry_status bf_db_number_values(struct bf_db *db, unsigned which, int64_t otherwise,
		int64_t *ret_number, const struct bf_value *values, size_t count)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *statement = bf_db_bind_values(db, which, values, count);
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, statement, &has_row);

	if (status == BELFRY_OK) {
		*ret_number = has_row ? bf_db_int(statement, 0) : otherwise;
	}
	return status;
}

int64_t bf_db_changes(const struct bf_db *db)
{
	return sqlite3_changes64(db->handle);
}

enum belfry_status bf_db_text(sqlite3_stmt *statement, int column, struct belfry_arena *arena,
		struct belfry_str *ret_text)
{
	const void *bytes = sqlite3_column_blob(statement, column);
	size_t len = (size_t)sqlite3_column_bytes(statement, column);

	if (len == 0) {
		*ret_text = (struct belfry_str){"", 0};
		return BELFRY_OK;
	}
	return belfry_arena_copy(arena, (struct belfry_str){bytes, len}, ret_text);
}

struct belfry_id bf_db_id(sqlite3_stmt *statement, int column)
{
	struct belfry_id id = {{0}};
	const void *bytes = sqlite3_column_blob(statement, column);

	if (bytes != NULL && sqlite3_column_bytes(statement, column) == (int)sizeof(id)) {
		memcpy(&id, bytes, sizeof(id));
	}
	return id;
}

int64_t bf_db_int(sqlite3_stmt *statement, int column)
{
	return sqlite3_column_int64(statement, column);
}

/* What does not fit was not written by us; it reads as the nearest that fits. */
uint32_t bf_db_u32(sqlite3_stmt *statement, int column)
{
	int64_t number = sqlite3_column_int64(statement, column);

	return (uint32_t)(number < 0 ? 0 : BF_MIN(number, UINT32_MAX));
}
