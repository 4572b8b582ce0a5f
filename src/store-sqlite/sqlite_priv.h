/* What the files of this adapter share: the open store, and how a writing operation is carried out. */
#ifndef BF_STORE_SQLITE_SQLITE_PRIV_H
#define BF_STORE_SQLITE_SQLITE_PRIV_H

#include <pthread.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "base/str.h"
#include "store-sqlite/db.h"
#include "store-sqlite/lock.h"
#include "store-sqlite/schema.h"
#include "store-sqlite/sqlite.h"
#include "store-sqlite/statements.h"

#define BF_NAME_CACHE 8

struct bf_sqlite;

/* A lock that can be waited for by the monotonic clock (a plain one goes by the wall clock). */
struct bf_door {
	pthread_mutex_t mutex;
	pthread_cond_t opened;
	bool is_shut;
};

/* One operation of many in a transaction. It returns BELFRY_OK, or the reason why nothing of it may
 * stay. It may be carried out more than once before its answer is believed, by any thread, while its
 * caller waits. */
typedef enum belfry_status (*bf_write_fn)(struct bf_sqlite *store, void *call);

struct bf_sqlite {
	struct belfry_store base; /* first */
	const struct bf_env *env;
	struct bf_paths paths;
	int lock_file;
	int held_file; /* the database; closed after its last connection */
	belfry_duration timeout;
	bool is_ready;    /* migrated */
	bool made_lock;   /* there was no such file when it was opened */
	bool made_output; /* the same */

	/* Under `mutex`: who waits, who writes, who is inside. */
	pthread_mutex_t mutex;
	pthread_cond_t idle; /* the last call has left */
	struct bf_list queue;
	bool has_leader;
	size_t calls;

	/* Belongs to the leader. */
	struct bf_db writer;
	struct bf_boot_time retry_at; /* a broken file is not opened anew before */
	bool is_out_of_place; /* the latest look found another file under the name, or none */
	int wal_frames;       /* in the log at the latest commit */
	struct bf_boot_time last_write;
	struct {
		char text[64];
		size_t len;
		int64_t key;
	} names[BF_NAME_CACHE]; /* forgotten at each rollback */
	size_t name_count;

	struct bf_door reader_door;
	struct bf_db reader;
	bool is_connected; /* the file is open, so a reader may be */

	struct bf_door output_door;
	struct bf_db output;

	_Atomic uint64_t operations;
	_Atomic uint64_t reads;
	_Atomic uint64_t commits;
	_Atomic uint64_t reopened;
	_Atomic uint64_t wal_bytes;
};

/* ---- door.c ---- */

BF_MUST_CHECK enum belfry_status bf_door_init(struct bf_door *door);
void bf_door_fini(struct bf_door *door);
void bf_door_pass(struct bf_door *door);
/* False: `deadline` has come first. */
BF_MUST_CHECK bool bf_door_pass_until(struct bf_door *door, struct bf_boot_time deadline);
void bf_door_leave(struct bf_door *door);
/* Wait for a condition made by bf_condition_init: true when it was signalled (or for no reason),
 * false at the deadline. With the mutex held. */
bool bf_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, struct bf_boot_time deadline);

/* ---- commit.c ---- */

/* Queue an operation and wait for its commit. Answers what the operation did, BELFRY_UNAVAILABLE when
 * its time ran out or the file failed, BELFRY_UNKNOWN when the commit's own answer was lost. */
BF_MUST_CHECK enum belfry_status bf_sqlite_write(struct bf_sqlite *store, bf_write_fn run,
		void *call, struct belfry_error *err);
/* The same for an operation of many items. When one of them cannot be written or read, all is carried
 * out again with *is_careful set, and then such an item is the only one that is left out. */
BF_MUST_CHECK enum belfry_status bf_sqlite_write_items(struct bf_sqlite *store, bf_write_fn run,
		void *call, bool *is_careful, struct belfry_error *err);
/* Around an item. end passes on what became of it: BELFRY_CORRUPT from a careful one has been undone
 * and is the item's answer; every other failure is the operation's. */
BF_MUST_CHECK enum belfry_status bf_sqlite_item_begin(struct bf_sqlite *store, bool is_careful);
BF_MUST_CHECK enum belfry_status bf_sqlite_item_end(struct bf_sqlite *store, bool is_careful,
		enum belfry_status status);

/* Around every call that uses the store: close waits for the last one. */
void bf_sqlite_enter(struct bf_sqlite *store);
void bf_sqlite_leave(struct bf_sqlite *store);
/* True: the caller is inside. False: no such luck within the time of a call. */
bool bf_sqlite_pass_door(struct bf_sqlite *store, struct bf_door *door);
/* When a call that begins now must be over. */
struct bf_boot_time bf_sqlite_deadline(const struct bf_sqlite *store);

/* ---- connect.c ---- */

/* The reading connection, locked, inside a transaction (one picture of the file). Every OK is followed
 * by bf_sqlite_read_end. */
BF_MUST_CHECK enum belfry_status bf_sqlite_read_begin(struct bf_sqlite *store,
		struct belfry_error *err);
/* Passes `status` on, with its detail. */
enum belfry_status bf_sqlite_read_end(struct bf_sqlite *store, enum belfry_status status,
		struct belfry_error *err);

/* The writer, and the reader once the schema is there. Closed again after a failure. */
BF_MUST_CHECK enum belfry_status bf_sqlite_connect(struct bf_sqlite *store);
BF_MUST_CHECK enum belfry_status bf_sqlite_connect_reader(struct bf_sqlite *store);
/* After the file failed: both connections anew, the log brought into the file (what a failed sync left
 * in doubt is written again), and as much of a check as `deadline` allows. By the leader. */
BF_MUST_CHECK enum belfry_status bf_sqlite_reconnect(struct bf_sqlite *store,
		struct bf_boot_time deadline);
/* False: the database was removed or replaced under its name. What is written into the open file then is
 * read by no later process, and another one may have begun anew in its place, so nothing answers OK
 * until it is back. */
bool bf_sqlite_is_in_place(const struct bf_sqlite *store);
#define BF_OUT_OF_PLACE "the database file was removed or replaced: restore it and restart"
BF_MUST_CHECK enum belfry_status bf_sqlite_connect_output(struct bf_sqlite *store);
void bf_sqlite_disconnect(struct bf_sqlite *store, bool with_checkpoint);

/* ---- small things (rows.c) ---- */

belfry_time bf_sqlite_now(const struct bf_sqlite *store);
/* Key of a zone database's name; 0 for the empty one. */
BF_MUST_CHECK enum belfry_status bf_sqlite_name_key(struct bf_sqlite *store, struct belfry_str name,
		int64_t *ret_key);
/* Who acts: the key of a living incarnation, and the id below which no open Run was born to it. */
struct bf_holder {
	int64_t key;
	struct belfry_id low;
};
/* BELFRY_STALE: there is no such incarnation, or it has ended. */
BF_MUST_CHECK enum belfry_status bf_sqlite_find_holder(struct bf_sqlite *store,
		const struct belfry_id *id, struct bf_holder *ret_holder);
BF_MUST_CHECK enum belfry_status bf_sqlite_get_meta(struct bf_db *db, const char *key,
		int64_t *ret_value);
/* A Run from the columns of RUN_COLUMNS (statements.c). */
#define BF_RUN_COLUMN_COUNT 26
BF_MUST_CHECK enum belfry_status bf_sqlite_read_run(sqlite3_stmt *row, struct belfry_arena *arena,
		struct belfry_run *ret_run);
/* A schedule from the columns of SCHEDULE_COLUMNS. */
BF_MUST_CHECK enum belfry_status bf_sqlite_read_schedule(sqlite3_stmt *row,
		struct belfry_arena *arena, struct belfry_schedule_row *ret_row);
/* All rows of a statement with INCARNATION_COLUMNS. */
BF_MUST_CHECK enum belfry_status bf_sqlite_read_incarnations(struct bf_db *db, sqlite3_stmt *row,
		struct belfry_arena *arena, struct belfry_incarnation **ret_rows,
		size_t *ret_count);
/* Room in the arena for at least count + 1 elements of `size` bytes; the first `count` are kept. */
BF_MUST_CHECK enum belfry_status bf_sqlite_grow(struct belfry_arena *arena, size_t size,
		size_t count, size_t *capacity, void **array);
/* End, as cancelled, the Runs that were scheduled and have not started: of one schedule, or of
 * all (0). ret_count (may be NULL): how many these were. */
BF_MUST_CHECK enum belfry_status bf_sqlite_end_unstarted(struct bf_sqlite *store, int64_t schedule,
		belfry_time now, uint32_t *ret_count);
/* Drop a revision that nothing needs any more, and its payload where it was the last to use it. */
BF_MUST_CHECK enum belfry_status bf_sqlite_drop_revision(struct bf_db *db, int64_t schedule,
		int64_t revision);
/* Output of a Run that is being pruned. */
BF_MUST_CHECK enum belfry_status bf_sqlite_drop_output(struct bf_sqlite *store,
		const struct belfry_id *run);

/* ---- the methods ---- */

enum belfry_status bf_sqlite_beat(struct belfry_store *base, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err);
enum belfry_status bf_sqlite_advance(struct belfry_store *base, struct belfry_advance *advance,
		struct belfry_error *err);
enum belfry_status bf_sqlite_add_runs(struct belfry_store *base, struct belfry_add *adds,
		size_t count, struct belfry_error *err);
enum belfry_status bf_sqlite_claim_runs(struct belfry_store *base, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err);
enum belfry_status bf_sqlite_record(struct belfry_store *base, struct belfry_record *records,
		size_t count, struct belfry_error *err);
enum belfry_status bf_sqlite_prune(struct belfry_store *base, struct belfry_prune *prune,
		struct belfry_error *err);
enum belfry_status bf_sqlite_list(struct belfry_store *base, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err);
enum belfry_status bf_sqlite_turn_switch(struct belfry_store *base, bool is_on,
		struct belfry_error *err);
extern const struct belfry_document_ops bf_sqlite_document_ops;

/* Ends every living incarnation: the lock proves that they are dead. */
BF_MUST_CHECK enum belfry_status bf_sqlite_bury_predecessors(struct bf_sqlite *store,
		struct belfry_error *err);

static inline struct bf_sqlite *bf_sqlite_of(struct belfry_store *base)
{
	return BF_CONTAINER(base, struct bf_sqlite, base);
}

#endif
