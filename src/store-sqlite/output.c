/* Output of Sessions: a file and a connection of its own, so that large writes without a sync never
 * hold up a commit that has one. One connection, behind a mutex, which also brings its log in.
 * After the file failed it is opened anew by the next call. */
#include "store-sqlite/output.h"

#include "store-sqlite/sqlite_priv.h"

/* Locks the connection and has it open; nothing is locked where it fails. */
static enum belfry_status take(struct bf_sqlite *store, struct belfry_error *err)
{
	struct bf_db *db = &store->output;
	enum belfry_status status = BELFRY_OK;

	if (!store->is_ready) {
		return bf_error_set(err, BELFRY_CONFIGURATION, "the store was not migrated");
	}
	if (!bf_sqlite_is_in_place(store)) {
		return bf_error_system(err, BELFRY_UNAVAILABLE, 0, BF_OUT_OF_PLACE);
	}
	bf_sqlite_enter(store);
	if (!bf_sqlite_pass_door(store, &store->output_door)) {
		bf_sqlite_leave(store);
		return bf_error_system(err, BELFRY_UNAVAILABLE, 0, "waited too long for output");
	}
	if (db->handle == NULL || db->is_broken) {
		bf_db_close(db, false);
		status = bf_sqlite_connect_output(store);
	}
	db->deadline = bf_sqlite_deadline(store);
	if (status != BELFRY_OK) {
		(void)bf_db_fail(db, status, err);
		bf_door_leave(&store->output_door);
		bf_sqlite_leave(store);
	}
	return status;
}

static enum belfry_status give(struct bf_sqlite *store, enum belfry_status status,
		struct belfry_error *err)
{
	if (status == BELFRY_NOT_FOUND) {
		(void)bf_error_set(err, status, "%s", belfry_status_text(status));
	} else if (status != BELFRY_OK) {
		(void)bf_db_fail(&store->output, status, err);
	}
	store->output.deadline = (struct bf_boot_time){0};
	bf_door_leave(&store->output_door);
	bf_sqlite_leave(store);
	return status;
}

enum belfry_status bf_sqlite_put_output(struct belfry_store *base, struct belfry_id run,
		struct belfry_str content_type, struct belfry_str bytes, struct belfry_error *err)
{
	struct bf_sqlite *store = bf_sqlite_of(base);
	enum belfry_status status = take(store, err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_db_run(&store->output, BF_OUT_PUT, bf_v_id(&run), bf_v_text(content_type),
			bf_v_blob(bytes));
	return give(store, status, err);
}

struct found {
	int64_t key; /* 0: there is none */
	struct belfry_str content_type;
	int64_t length;
};

static enum belfry_status find(struct bf_db *db, const struct belfry_id *run,
		struct belfry_arena *arena, struct found *ret_found)
{
	BF_CLEANUP(bf_db_reset) sqlite3_stmt *row = bf_db_bind(db, BF_OUT_FIND, bf_v_id(run));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	*ret_found = (struct found){0};
	if (status == BELFRY_OK && !has_row) {
		return BELFRY_NOT_FOUND;
	}
	if (status == BELFRY_OK) {
		ret_found->key = bf_db_int(row, 0);
		ret_found->length = bf_db_int(row, 2);
		status = bf_db_text(row, 1, arena, &ret_found->content_type);
	}
	return status;
}

/* Part of the value alone is read, however long it is. */
static enum belfry_status read_part(struct bf_db *db, int64_t key, int64_t from, int64_t len,
		struct belfry_arena *arena, struct belfry_str *ret_bytes)
{
	sqlite3_blob *blob = NULL;
	char *bytes = belfry_arena_alloc(arena, (size_t)len + 1);

	if (bytes == NULL) {
		return BELFRY_NOMEM;
	}
	int code = sqlite3_blob_open(db->handle, "main", "outputs", "bytes", key, 0, &blob);
	if (code == SQLITE_OK) {
		code = sqlite3_blob_read(blob, bytes, (int)len, (int)from);
	}
	enum belfry_status status = code == SQLITE_OK ? BELFRY_OK : bf_db_failure(db, code);
	(void)sqlite3_blob_close(blob); /* repeats the failure */
	if (status == BELFRY_OK) {
		*ret_bytes = (struct belfry_str){bytes, (size_t)len};
	}
	return status;
}

enum belfry_status bf_sqlite_read_output(struct belfry_store *base, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err)
{
	struct bf_sqlite *store = bf_sqlite_of(base);
	struct belfry_str bytes = {"", 0};
	struct found found;
	enum belfry_status status = take(store, err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = find(&store->output, &run, arena, &found);
	int64_t from = (int64_t)BF_MIN(offset, (uint64_t)found.length);
	int64_t len = (int64_t)BF_MIN((uint64_t)max, (uint64_t)(found.length - from));
	if (status == BELFRY_OK && len > 0) {
		status = read_part(&store->output, found.key, from, len, arena, &bytes);
	}
	if (status == BELFRY_OK) {
		*ret_content_type = found.content_type;
		*ret_bytes = bytes;
		*ret_length = (uint64_t)found.length;
	}
	return give(store, status, err);
}

enum belfry_status bf_sqlite_drop_output(struct bf_sqlite *store, const struct belfry_id *run)
{
	enum belfry_status status = take(store, NULL);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_db_run(&store->output, BF_OUT_DELETE, bf_v_id(run));
	return give(store, status, NULL);
}
