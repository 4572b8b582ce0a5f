/* Where a store's files are, whether they may be there, and the lock that makes one process own them. */
#ifndef BF_STORE_SQLITE_LOCK_H
#define BF_STORE_SQLITE_LOCK_H

#include <stdbool.h>

#include <belfry/store.h>

#include "base/compiler.h"

/* Absolute, free of symbolic links up to the folder; freed by bf_paths_fini. */
struct bf_paths {
	char *database;
	char *lock;
	char *output;
	char *log;       /* changes that are not in the database yet */
	char *log_index; /* there while the log is, and after a crash */
};

/* From "sqlite:PATH". BELFRY_CONFIGURATION: another URL, no such folder, a file system on which the
 * lock and the log cannot be believed; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_paths_init(struct bf_paths *paths, struct belfry_str url,
		struct belfry_error *err);
void bf_paths_fini(struct bf_paths *paths);

/* Looks at what is there, makes nothing. BELFRY_CONFIGURATION: one of the files is of a kind that cannot
 * be a store. To be asked before the lock is taken, and again with it. */
BF_MUST_CHECK enum belfry_status bf_paths_check(const struct bf_paths *paths,
		struct belfry_error *err);

/* BELFRY_CONFIGURATION: the database or its log is gone while what is left of them beside it says that
 * there was one. To be asked with the lock held. */
BF_MUST_CHECK enum belfry_status bf_paths_check_traces(const struct bf_paths *paths,
		struct belfry_error *err);

/* Take the lock and write `owner` into it. BELFRY_BUSY: held, by whom is in err; with is_standby the
 * call waits for it instead, and BUSY means that a signal ended the wait. BELFRY_CONFIGURATION: the
 * folder cannot be written. *ret_lock is given back by bf_lock_release (or by the process's end). */
BF_MUST_CHECK enum belfry_status bf_lock_take(const char *path, struct belfry_str owner,
		bool is_standby, int *ret_lock, struct belfry_error *err);
void bf_lock_release(int lock);

/* Sees to it that there is a file that may be read and written and is empty or a database. To be asked
 * with the lock held and before any connection is open: closing a descriptor of the file would drop a
 * connection's own locks. BELFRY_CONFIGURATION with the remedy. */
BF_MUST_CHECK enum belfry_status bf_file_check(const char *path, struct belfry_error *err);

/* The byte of the database that its owner holds locked. */
#define BF_FILE_MARK (INT64_C(1) << 62)
/* Holds the database itself, whatever name it goes by. BELFRY_BUSY and is_standby as for bf_lock_take.
 * *ret_file is to be closed (bf_lock_release) after every connection of the file. */
BF_MUST_CHECK enum belfry_status bf_file_hold(const char *path, bool is_standby, int *ret_file,
		struct belfry_error *err);
/* A look at the name alone: nothing is opened. */
bool bf_file_is_there(const char *path);
bool bf_file_is_empty(const char *path); /* false where there is none */
/* The open file is still the one that others find under its name. Costs two looks at the system's
 * memory; opens nothing. */
bool bf_file_is_current(int file, const char *path);

#endif
