/* One connection to one database file: opening, statements kept prepared, values bound by type, and
 * the one place where the client's result codes become ours.
 *
 * Failures are kept on the connection (code and text) until the next one, so that functions in between
 * pass a plain status on; bf_db_fail_text puts them into a struct belfry_error once, at the seam.
 * Threads: one at a time; who holds a connection is the caller's business. */
#ifndef BF_STORE_SQLITE_DB_H
#define BF_STORE_SQLITE_DB_H

#include <sqlite3.h>

#include <belfry/arena.h>

#include "base/compiler.h"
#include "base/env.h"
#include "model/run.h"

struct bf_db {
	sqlite3 *handle;
	const char *const *texts; /* statement texts, borrowed (static) */
	sqlite3_stmt **statements;
	size_t count;
	int code;                     /* of the latest failure */
	bool is_broken;               /* the file failed: close and open anew before the next use */
	struct bf_boot_time deadline; /* a statement that runs past it is interrupted; 0: none */
	char detail[256];             /* text of the latest failure */
};

enum bf_db_flags {
	BF_DB_READER = 1,  /* reads alone, never checkpoints */
	BF_DB_RELAXED = 2, /* syncs at checkpoints alone, which it makes itself */
};

/* Opens `path` (absolute, no symbolic link, there already: a file that vanished is not made anew in the
 * middle of a life). texts: `count` statements, borrowed. After a failure the
 * connection is closed again, the failure's text still there. */
BF_MUST_CHECK enum belfry_status bf_db_open(struct bf_db *db, const char *path, unsigned flags,
		const char *const *texts, size_t count);
/* May be called at any time. with_checkpoint: the log is brought into the file by it. */
void bf_db_close(struct bf_db *db, bool with_checkpoint);
/* Prepares every statement: proves that the schema has what they name. */
BF_MUST_CHECK enum belfry_status bf_db_prepare_all(struct bf_db *db);
/* Statements without parameters and answers, one after another. */
BF_MUST_CHECK enum belfry_status bf_db_exec(struct bf_db *db, const char *text);
/* The status of a result code, which is kept with the connection's own words. */
enum belfry_status bf_db_failure(struct bf_db *db, int code);
/* The latest failure as the seam tells it. */
enum belfry_status bf_db_fail(const struct bf_db *db, enum belfry_status status,
		struct belfry_error *err);
/* True: a failure ended the transaction that was open. */
bool bf_db_is_rolled_back(const struct bf_db *db);

struct bf_value {
	enum bf_value_kind { BF_VALUE_NULL, BF_VALUE_INT, BF_VALUE_TEXT, BF_VALUE_BLOB } kind;
	int64_t number;
	const void *bytes;
	size_t len;
};

static inline struct bf_value bf_v_null(void)
{
	return (struct bf_value){.kind = BF_VALUE_NULL};
}

static inline struct bf_value bf_v_int(int64_t number)
{
	return (struct bf_value){.kind = BF_VALUE_INT, .number = number};
}

/* 64 bits that are no number to calculate with (flags, hashes, fences below 2^63). */
static inline struct bf_value bf_v_bits(uint64_t bits)
{
	return (struct bf_value){.kind = BF_VALUE_INT, .number = (int64_t)bits};
}

static inline struct bf_value bf_v_text(struct belfry_str text)
{
	return (struct bf_value){.kind = BF_VALUE_TEXT, .bytes = text.ptr, .len = text.len};
}

static inline struct bf_value bf_v_blob(struct belfry_str bytes)
{
	return (struct bf_value){.kind = BF_VALUE_BLOB, .bytes = bytes.ptr, .len = bytes.len};
}

/* The id is borrowed until the statement is reset. */
static inline struct bf_value bf_v_id(const struct belfry_id *id)
{
	return (struct bf_value){.kind = BF_VALUE_BLOB, .bytes = id->bytes, .len = 16};
}

/* Empty where the id is all zero. */
static inline struct bf_value bf_v_optional_id(const struct belfry_id *id)
{
	return (struct bf_value){.kind = BF_VALUE_BLOB,
			.bytes = id->bytes,
			.len = bf_id_is_zero(*id) ? 0 : 16};
}

/* A statement with its values bound (borrowed until it is reset), ready to step. NULL after a failure.
 * Each statement may be in use once at a time; give it back by bf_db_reset, or BF_CLEANUP of it. */
sqlite3_stmt *bf_db_bind_values(struct bf_db *db, unsigned which, const struct bf_value *values,
		size_t count);
void bf_db_reset(sqlite3_stmt **statement);
/* To the next row, if there is one. A NULL statement answers what its binding failed with. */
BF_MUST_CHECK enum belfry_status bf_db_step(struct bf_db *db, sqlite3_stmt *statement,
		bool *ret_has_row);
/* Bind, step to the end, reset: for what returns nothing. */
BF_MUST_CHECK enum belfry_status bf_db_run_values(struct bf_db *db, unsigned which,
		const struct bf_value *values, size_t count);
/* One integer, or `otherwise` where there is no row. */
BF_MUST_CHECK enum belfry_status bf_db_number_values(struct bf_db *db, unsigned which,
		int64_t otherwise, int64_t *ret_number, const struct bf_value *values,
		size_t count);
/* Rows that the latest statement changed. */
int64_t bf_db_changes(const struct bf_db *db);

/* The last argument list is struct bf_value ...; at least one. */
#define BF_VALUES(...)                                                                             \
	(const struct bf_value[]){__VA_ARGS__},                                                    \
			sizeof((const struct bf_value[]){__VA_ARGS__}) / sizeof(struct bf_value)
#define bf_db_bind(db, which, ...) bf_db_bind_values((db), (which), BF_VALUES(__VA_ARGS__))
#define bf_db_run(db, which, ...)  bf_db_run_values((db), (which), BF_VALUES(__VA_ARGS__))
#define bf_db_number(db, which, otherwise, ret_number, ...)                                        \
	bf_db_number_values((db), (which), (otherwise), (ret_number), BF_VALUES(__VA_ARGS__))

/* Columns of the present row. Text is copied into the arena. A blob that is no id reads as none. */
BF_MUST_CHECK enum belfry_status bf_db_text(sqlite3_stmt *statement, int column,
		struct belfry_arena *arena, struct belfry_str *ret_text);
struct belfry_id bf_db_id(sqlite3_stmt *statement, int column);
int64_t bf_db_int(sqlite3_stmt *statement, int column);
uint32_t bf_db_u32(sqlite3_stmt *statement, int column);

#endif
