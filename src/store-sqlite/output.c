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

struct found {
	int64_t key; /* 0: there is none */
	struct belfry_str content_type;
	int64_t length;
	int64_t fence;
	int64_t first_length; /* of the part that lies in the row itself */
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
		ret_found->fence = bf_db_int(row, 3);
		ret_found->first_length = bf_db_int(row, 4);
		status = bf_db_text(row, 1, arena, &ret_found->content_type);
	}
	return status;
}

/* --- writing --- */

static enum belfry_status put_whole(struct bf_db *db, const struct belfry_output *output,
		const struct found *found)
{
	enum belfry_status status = BELFRY_OK;

	if (found->key != 0) {
		status = bf_db_run(db, BF_OUT_PIECES_DROP, bf_v_int(found->key), bf_v_int(0));
	}
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_db_run(db, BF_OUT_PUT, bf_v_id(&output->run), bf_v_text(output->content_type),
			bf_v_blob(output->bytes), bf_v_bits(output->fence),
			bf_v_int((int64_t)output->bytes.len));
}

static enum belfry_status put_piece(struct bf_db *db, const struct belfry_output *output,
		const struct found *found)
{
	int64_t offset = (int64_t)output->offset;
	enum belfry_status status = BELFRY_OK;

	if (offset < found->length) {
		status = bf_db_run(db, BF_OUT_PIECES_DROP, bf_v_int(found->key), bf_v_int(offset));
		if (status == BELFRY_OK) {
			status = bf_db_run(db, BF_OUT_PIECE_CUT, bf_v_int(found->key),
					bf_v_int(offset));
		}
	}
	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_OUT_CUT, bf_v_int(found->key),
				bf_v_text(output->content_type), bf_v_bits(output->fence),
				bf_v_int(offset), bf_v_int((int64_t)output->bytes.len));
	}
	if (status == BELFRY_OK && output->bytes.len > 0) {
		status = bf_db_run(db, BF_OUT_PIECE_PUT, bf_v_int(found->key), bf_v_int(offset),
				bf_v_blob(output->bytes));
	}
	return status;
}

/* Within the transaction. */
static enum belfry_status put(struct bf_db *db, const struct belfry_output *output)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct found found;
	enum belfry_status status = find(db, &output->run, &arena, &found);

	if (status != BELFRY_OK && status != BELFRY_NOT_FOUND) {
		return status;
	}
	if (found.fence > (int64_t)output->fence) {
		return BELFRY_STALE;
	}
	if (output->offset > (uint64_t)found.length) {
		return BELFRY_PRECONDITION;
	}
	return output->offset == 0 ? put_whole(db, output, &found) : put_piece(db, output, &found);
}

enum belfry_status bf_sqlite_write_output(struct belfry_store *base,
		const struct belfry_output *output, struct belfry_error *err)
{
	struct bf_sqlite *store = bf_sqlite_of(base);
	struct bf_db *db = &store->output;
	enum belfry_status status = take(store, err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_db_exec(db, "BEGIN IMMEDIATE");
	if (status == BELFRY_OK) {
		status = put(db, output);
	}
	if (status == BELFRY_OK) {
		status = bf_db_exec(db, "COMMIT");
	}
	if (status != BELFRY_OK && sqlite3_get_autocommit(db->handle) == 0 &&
			bf_db_exec(db, "ROLLBACK") != BELFRY_OK) {
		db->is_broken = true; /* opened anew by the next call */
	}
	return give(store, status, err);
}

/* --- reading --- */

/* Where a part of an output lies: bytes [from, from + len) of a value. */
struct part {
	const char *table;
	int64_t key;
	int64_t from;
	int64_t len;
};

/* A part of the value alone is read, however long it is. */
static enum belfry_status read_part(struct bf_db *db, const struct part *part, char *out)
{
	sqlite3_blob *blob = NULL;
	int code = sqlite3_blob_open(db->handle, "main", part->table, "bytes", part->key, 0, &blob);

	if (code == SQLITE_OK) {
		code = sqlite3_blob_read(blob, out, (int)part->len, (int)part->from);
	}
	enum belfry_status status = code == SQLITE_OK ? BELFRY_OK : bf_db_failure(db, code);
	(void)sqlite3_blob_close(blob); /* repeats the failure */
	return status;
}

/* Of the pieces: bytes [from, to) of the output; out[0] is byte `from`. */
static enum belfry_status read_pieces(struct bf_db *db, const struct found *found, int64_t from,
		int64_t to, char *out)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_OUT_PIECES_READ, bf_v_int(found->key), bf_v_int(from),
			bf_v_int(to));
	bool has_row = false;
	int64_t at = from;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	while (status == BELFRY_OK && has_row && at < to) {
		int64_t start = bf_db_int(row, 1);
		int64_t end = BF_MIN(start + bf_db_int(row, 2), to);
		struct part part = {"pieces", bf_db_int(row, 0), at - start, end - at};
		if (start > at || end <= at) {
			break;
		}
		status = read_part(db, &part, out + (at - from));
		at = end;
		if (status == BELFRY_OK) {
			status = bf_db_step(db, row, &has_row);
		}
	}
	return status == BELFRY_OK && at < to ? BELFRY_CORRUPT : status;
}

static enum belfry_status read_range(struct bf_db *db, const struct found *found, int64_t from,
		int64_t len, struct belfry_arena *arena, struct belfry_str *ret_bytes)
{
	char *bytes = belfry_arena_alloc(arena, (size_t)len + 1);
	int64_t to = from + len;
	int64_t first_to = BF_MIN(to, found->first_length);
	enum belfry_status status = BELFRY_OK;

	if (bytes == NULL) {
		return BELFRY_NOMEM;
	}
	if (from < first_to) {
		struct part part = {"outputs", found->key, from, first_to - from};
		status = read_part(db, &part, bytes);
	}
	int64_t rest = BF_MAX(from, found->first_length);
	if (status == BELFRY_OK && rest < to) {
		status = read_pieces(db, found, rest, to, bytes + (rest - from));
	}
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
		status = read_range(&store->output, &found, from, len, arena, &bytes);
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
	status = bf_db_run(&store->output, BF_OUT_PIECES_DELETE, bf_v_id(run));
	if (status == BELFRY_OK) {
		status = bf_db_run(&store->output, BF_OUT_DELETE, bf_v_id(run));
	}
	return give(store, status, NULL);
}
