/* The tables, step by step.
 *
 * Invariants  a step that was released is never edited: a new one follows it. Each step and the number
 *             that says so are one transaction. What uniqueness rests on is proved at every start.
 *
 * How the tables are cut (performance.md, "What follows"):
 *   runs       begins with time, so rows are added at the end; the one history index has (schedule, id).
 *              No index names a state that a Run passes on its common way: a born-claimed Run is one
 *              insert and one update. `in_queue` says that a row in `queue` goes with it.
 *   queue      Runs that were not born claimed, from their making to their end, and delayed ones.
 *   schedules  narrow, because each due time rewrites the row: definitions are in schedule_revisions.
 *   payloads   once for all revisions with the same bytes.
 * Runs keep the keys of schedules, incarnations and names instead of their text. A schedule's row stays
 * as long as any Run of it, as a tombstone (presence 1) after its removal. */
#include "store-sqlite/schema.h"

#include <stdio.h>

#include "base/error.h"

#define APPLICATION_ID 0x42656c66 /* "Belf" */

static const char step_1[] =
		"PRAGMA application_id=1113943142;"
		"CREATE TABLE meta(key TEXT NOT NULL PRIMARY KEY, value INTEGER NOT NULL)"
		" STRICT, WITHOUT ROWID;"
		"INSERT INTO meta VALUES('is_on',1),('schedules',0),('active_schedules',0);"
		"CREATE TABLE names(key INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;"

		"CREATE TABLE schedules(key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
		" version INTEGER NOT NULL, revision INTEGER NOT NULL, flags INTEGER NOT NULL,"
		" presence INTEGER NOT NULL DEFAULT 0, phase INTEGER NOT NULL DEFAULT 0,"
		" cursor INTEGER, idle_since INTEGER NOT NULL DEFAULT 0,"
		" tz INTEGER NOT NULL DEFAULT 0, decided_local INTEGER NOT NULL DEFAULT 0,"
		" fired_count INTEGER NOT NULL DEFAULT 0, last_fire_at INTEGER NOT NULL DEFAULT 0,"
		" is_revision_used INTEGER NOT NULL DEFAULT 0,"
		" failed_in_row INTEGER NOT NULL DEFAULT 0, open_count INTEGER NOT NULL DEFAULT 0,"
		" waiting_count INTEGER NOT NULL DEFAULT 0, removed_at INTEGER NOT NULL DEFAULT 0,"
		" history_from INTEGER NOT NULL DEFAULT 0, last_error TEXT NOT NULL DEFAULT '',"
		" phase_reason TEXT NOT NULL DEFAULT '') STRICT;"
		"CREATE INDEX schedules_due ON schedules(cursor) WHERE cursor IS NOT NULL;"
		"CREATE INDEX schedules_removed ON schedules(removed_at) WHERE presence = 1;"

		"CREATE TABLE payloads(key INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE,"
		" bytes BLOB NOT NULL) STRICT;"
		"CREATE TABLE schedule_revisions(schedule INTEGER NOT NULL,"
		" revision INTEGER NOT NULL, flags INTEGER NOT NULL, payload INTEGER NOT NULL,"
		" payload_bytes INTEGER NOT NULL, fair_key TEXT NOT NULL, definition BLOB NOT NULL,"
		" PRIMARY KEY(schedule, revision)) STRICT, WITHOUT ROWID;"
		"CREATE INDEX schedule_revisions_payload ON schedule_revisions(payload)"
		" WHERE payload <> 0;"

		"CREATE TABLE runs(id BLOB NOT NULL PRIMARY KEY, schedule INTEGER NOT NULL,"
		" state INTEGER NOT NULL, status INTEGER NOT NULL, trigger INTEGER NOT NULL,"
		" flags INTEGER NOT NULL, revision INTEGER NOT NULL, due_at INTEGER NOT NULL,"
		" ready_at INTEGER NOT NULL, created_at INTEGER NOT NULL,"
		" started_at INTEGER NOT NULL, dispatched_at INTEGER NOT NULL DEFAULT 0,"
		" finished_at INTEGER NOT NULL DEFAULT 0, holder INTEGER NOT NULL,"
		" fence INTEGER NOT NULL, attempt INTEGER NOT NULL,"
		" failures INTEGER NOT NULL DEFAULT 0, takeovers INTEGER NOT NULL DEFAULT 0,"
		" stands_for INTEGER NOT NULL, in_queue INTEGER NOT NULL, tz INTEGER NOT NULL,"
		" error INTEGER NOT NULL DEFAULT 0, session TEXT NOT NULL DEFAULT '',"
		" turn TEXT NOT NULL DEFAULT '', message TEXT NOT NULL DEFAULT '',"
		" detail TEXT NOT NULL DEFAULT '', replayed_from BLOB NOT NULL DEFAULT x'')"
		" STRICT, WITHOUT ROWID;"
		"CREATE INDEX runs_history ON runs(schedule, id);"
		"CREATE INDEX runs_rare ON runs(schedule, id) WHERE status > 3;"

		"CREATE TABLE attempts(run BLOB NOT NULL, number INTEGER NOT NULL,"
		" fence INTEGER NOT NULL, step INTEGER NOT NULL, holder INTEGER NOT NULL,"
		" started_at INTEGER NOT NULL, ended_at INTEGER NOT NULL, error INTEGER NOT NULL,"
		" message TEXT NOT NULL, detail TEXT NOT NULL,"
		" PRIMARY KEY(run, number, fence, step)) STRICT, WITHOUT ROWID;"

		"CREATE TABLE queue(id BLOB NOT NULL PRIMARY KEY, ready_at INTEGER NOT NULL,"
		" schedule INTEGER NOT NULL, holder INTEGER, is_delayed INTEGER NOT NULL)"
		" STRICT, WITHOUT ROWID;"
		"CREATE INDEX queue_waiting ON queue(ready_at, id) WHERE holder IS NULL;"
		"CREATE INDEX queue_held ON queue(holder, id) WHERE holder IS NOT NULL;"
		"CREATE INDEX queue_schedule ON queue(schedule, id) WHERE holder IS NULL;"

		"CREATE TABLE gaps(key INTEGER PRIMARY KEY, schedule INTEGER NOT NULL,"
		" from_at INTEGER NOT NULL, to_at INTEGER NOT NULL, count INTEGER NOT NULL,"
		" is_at_least INTEGER NOT NULL, reason INTEGER NOT NULL,"
		" revision INTEGER NOT NULL, written_at INTEGER NOT NULL, who TEXT NOT NULL)"
		" STRICT;"
		"CREATE INDEX gaps_schedule ON gaps(schedule, from_at);"
		"CREATE TABLE occurrence_edits(schedule INTEGER NOT NULL, due_at INTEGER NOT NULL,"
		" kind INTEGER NOT NULL, moved_to INTEGER NOT NULL, written_at INTEGER NOT NULL,"
		" who TEXT NOT NULL, PRIMARY KEY(schedule, due_at)) STRICT, WITHOUT ROWID;"

		"CREATE TABLE incarnations(key INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,"
		" beat INTEGER NOT NULL DEFAULT 0, registered_at INTEGER NOT NULL,"
		" covers_from INTEGER NOT NULL DEFAULT 0,"
		" covered_until INTEGER NOT NULL DEFAULT 0, ended_at INTEGER NOT NULL DEFAULT 0,"
		" was_declared_dead INTEGER NOT NULL DEFAULT 0,"
		" is_settled INTEGER NOT NULL DEFAULT 0, low BLOB NOT NULL,"
		" high BLOB NOT NULL DEFAULT x'', identity TEXT NOT NULL, version TEXT NOT NULL,"
		" tz_version TEXT NOT NULL) STRICT;"
		"CREATE INDEX incarnations_open ON incarnations(key) WHERE is_settled = 0;"
		"CREATE INDEX incarnations_covered ON incarnations(covered_until);"

		"CREATE TABLE request_keys(schedule INTEGER NOT NULL, key TEXT NOT NULL,"
		" hash INTEGER NOT NULL, run BLOB NOT NULL, PRIMARY KEY(schedule, key))"
		" STRICT, WITHOUT ROWID;"
		"CREATE INDEX request_keys_run ON request_keys(run);"

		"CREATE TABLE documents(kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL,"
		" name TEXT NOT NULL, flags INTEGER NOT NULL, etag INTEGER NOT NULL,"
		" created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, bytes BLOB NOT NULL,"
		" PRIMARY KEY(kind, id)) STRICT;"
		"CREATE UNIQUE INDEX documents_name ON documents(kind, owner, name)"
		" WHERE name <> '';"
		"CREATE INDEX documents_order ON documents(kind, owner, name, id);";

/* Runs that the host cancelled under a holder, until it has been told for long enough or is settled. */
static const char step_2[] =
		"CREATE TABLE cancels(holder INTEGER NOT NULL, at INTEGER NOT NULL,"
		" run BLOB NOT NULL, PRIMARY KEY(holder, at, run)) STRICT, WITHOUT ROWID;";

/* Ids and revisions alone, so that a million are compared without the rows. Neither has a column that a due
 * time changes. */
static const char step_3[] =
		"CREATE INDEX schedules_revisions ON schedules(id, revision, presence);"
		"CREATE INDEX documents_revisions ON documents(kind, id, flags, etag);";

/* What a newer tz database needs. The index has no column that a due time changes; rows without a cursor are
 * not in it, and those which have one are found by its version. */
static const char step_4[] =
		"ALTER TABLE schedules ADD COLUMN decided_due INTEGER NOT NULL DEFAULT 0;"
		"ALTER TABLE schedules ADD COLUMN cursor_local INTEGER NOT NULL DEFAULT 0;"
		"UPDATE schedules SET tz=0 WHERE cursor IS NULL AND tz<>0;"
		"CREATE INDEX schedules_tz ON schedules(tz, id) WHERE tz <> 0;";

static const char output_step_1[] =
		"PRAGMA application_id=1113943142;"
		"CREATE TABLE outputs(key INTEGER PRIMARY KEY, run BLOB NOT NULL UNIQUE,"
		" content_type TEXT NOT NULL, bytes BLOB NOT NULL) STRICT;";

/* What a command prints is appended while it runs: the first write is in `outputs`, the others are rows of
 * their own, so that no append writes anew what is there. */
static const char output_step_2[] =
		"ALTER TABLE outputs ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;"
		"ALTER TABLE outputs ADD COLUMN length INTEGER NOT NULL DEFAULT 0;"
		"UPDATE outputs SET length=length(bytes);"
		"CREATE TABLE pieces(key INTEGER PRIMARY KEY, output INTEGER NOT NULL,"
		" start INTEGER NOT NULL, bytes BLOB NOT NULL, UNIQUE(output, start)) STRICT;";

/* Number of the step: its place here, from 1. It is kept in user_version, set by `done`. */
struct step {
	const char *text;
	const char *done;
};

static const struct step steps[] = {
		{step_1, "PRAGMA user_version=1"},
		{step_2, "PRAGMA user_version=2"},
		{step_3, "PRAGMA user_version=3"},
		{step_4, "PRAGMA user_version=4"},
};
static const struct step output_steps[] = {
		{output_step_1, "PRAGMA user_version=1"},
		{output_step_2, "PRAGMA user_version=2"},
};

/* Keys without which a read before the write would be all that keeps rows unique. */
static const struct key {
	const char *table;
	const char *columns;
} keys[] = {
		{"runs", "id"},
		{"queue", "id"},
		{"schedules", "id"},
		{"schedule_revisions", "schedule,revision"},
		{"payloads", "hash"},
		{"names", "name"},
		{"attempts", "run,number,fence,step"},
		{"incarnations", "id"},
		{"request_keys", "schedule,key"},
		{"meta", "key"},
		{"documents", "kind,id"},
		{"documents", "kind,owner,name"},
};
static const struct key output_keys[] = {
		{"outputs", "run"},
		{"pieces", "output,start"},
};

struct schema {
	const struct step *steps;
	int64_t step_count;
	const struct key *keys;
	size_t key_count;
};

static enum belfry_status read_number(struct bf_db *db, const char *text, int64_t *ret_number)
{
	BF_CLEANUP(bf_db_reset) sqlite3_stmt *statement = NULL;
	bool has_row;
	int code = sqlite3_prepare_v2(db->handle, text, -1, &statement, NULL);

	if (code != SQLITE_OK) {
		return bf_db_failure(db, code);
	}
	enum belfry_status status = bf_db_step(db, statement, &has_row);
	if (status == BELFRY_OK) {
		*ret_number = has_row ? bf_db_int(statement, 0) : 0;
	}
	(void)sqlite3_finalize(statement);
	statement = NULL;
	return status;
}

enum belfry_status bf_schema_refuse(const struct bf_db *db, enum belfry_status status,
		struct belfry_error *err)
{
	if (status != BELFRY_CORRUPT) {
		return bf_db_fail(db, status, err);
	}
	(void)bf_error_set(err, BELFRY_CONFIGURATION,
			"the store's file cannot be read: put back a copy of it, or name another "
			"file");
	if (err != NULL) {
		err->driver_code = db->code;
		(void)snprintf(err->detail, sizeof(err->detail), "%s", db->detail);
	}
	return BELFRY_CONFIGURATION;
}

/* Ours, or empty; not newer than this build. */
static enum belfry_status check_version(struct bf_db *db, const struct schema *schema,
		int64_t *ret_version, struct belfry_error *err)
{
	int64_t application = 0, tables = 0;
	enum belfry_status status = read_number(db, "PRAGMA application_id", &application);

	if (status == BELFRY_OK) {
		status = read_number(db, "PRAGMA user_version", ret_version);
	}
	if (status == BELFRY_OK) {
		status = read_number(db, "SELECT count(*) FROM sqlite_schema", &tables);
	}
	if (status != BELFRY_OK) {
		return bf_schema_refuse(db, status, err);
	}
	if (application != APPLICATION_ID &&
			(application != 0 || *ret_version != 0 || tables != 0)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's file belongs to another program: name another file");
	}
	if (*ret_version > schema->step_count) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's file has version %lld and this program knows %lld: "
				"start the newer program, or put back a copy from before the upgrade",
				(long long)*ret_version, (long long)schema->step_count);
	}
	return BELFRY_OK;
}

static enum belfry_status apply(struct bf_db *db, const struct step *step)
{
	enum belfry_status status = bf_db_exec(db, "BEGIN IMMEDIATE");

	if (status == BELFRY_OK) {
		status = bf_db_exec(db, step->text);
	}
	if (status == BELFRY_OK) {
		status = bf_db_exec(db, step->done);
	}
	if (status == BELFRY_OK) {
		status = bf_db_exec(db, "COMMIT");
	}
	if (status != BELFRY_OK && !bf_db_is_rolled_back(db)) {
		/* The failure that is told is the first one. */
		(void)sqlite3_exec(db->handle, "ROLLBACK", NULL, NULL, NULL);
	}
	return status;
}

static const char key_query[] =
		"SELECT count(*) FROM pragma_index_list(?1) l WHERE l.\"unique\" = 1 AND"
		" (l.partial = 0 OR ?1 = 'documents') AND"
		" (SELECT group_concat(name, ',') FROM"
		" (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno)) = ?2";

static enum belfry_status has_key(struct bf_db *db, sqlite3_stmt *query, const struct key *key,
		bool *ret_has_key)
{
	bool has_row;
	int code = sqlite3_bind_text(query, 1, key->table, -1, SQLITE_STATIC);

	if (code == SQLITE_OK) {
		code = sqlite3_bind_text(query, 2, key->columns, -1, SQLITE_STATIC);
	}
	if (code != SQLITE_OK) {
		return bf_db_failure(db, code);
	}
	enum belfry_status status = bf_db_step(db, query, &has_row);
	*ret_has_key = status == BELFRY_OK && has_row && bf_db_int(query, 0) > 0;
	(void)sqlite3_reset(query); /* repeats the failure of the step */
	return status;
}

/* The contract's T022. */
static enum belfry_status check_keys(struct bf_db *db, const struct schema *schema,
		struct belfry_error *err)
{
	sqlite3_stmt *query = NULL;
	bool is_there = true;
	size_t i = 0;
	int code = sqlite3_prepare_v2(db->handle, key_query, -1, &query, NULL);
	enum belfry_status status = code == SQLITE_OK ? BELFRY_OK : bf_db_failure(db, code);

	for (; status == BELFRY_OK && i < schema->key_count; i++) {
		status = has_key(db, query, &schema->keys[i], &is_there);
		if (!is_there) {
			break;
		}
	}
	(void)sqlite3_finalize(query);
	if (status != BELFRY_OK) {
		return bf_schema_refuse(db, status, err);
	}
	if (i < schema->key_count) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the store's table \"%s\" has lost its unique key (%s), so rows could "
				"be doubled: put back a copy of the store from before it was changed",
				schema->keys[i].table, schema->keys[i].columns);
	}
	return BELFRY_OK;
}

static enum belfry_status migrate(struct bf_db *db, const struct schema *schema,
		struct belfry_error *err)
{
	int64_t version = 0;
	enum belfry_status status = check_version(db, schema, &version, err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_db_exec(db, "PRAGMA journal_mode=WAL");
	for (; status == BELFRY_OK && version < schema->step_count; version++) {
		status = apply(db, &schema->steps[version]);
	}
	if (status != BELFRY_OK) {
		return bf_schema_refuse(db, status, err);
	}
	status = check_keys(db, schema, err);
	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_db_prepare_all(db);
	return status == BELFRY_OK ? BELFRY_OK : bf_schema_refuse(db, status, err);
}

enum belfry_status bf_schema_migrate(struct bf_db *db, struct belfry_error *err)
{
	static const struct schema schema = {steps, BF_COUNT(steps), keys, BF_COUNT(keys)};

	return migrate(db, &schema, err);
}

enum belfry_status bf_schema_migrate_output(struct bf_db *db, struct belfry_error *err)
{
	static const struct schema schema = {output_steps, BF_COUNT(output_steps), output_keys,
			BF_COUNT(output_keys)};

	return migrate(db, &schema, err);
}
