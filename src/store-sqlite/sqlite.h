/* The store in one file: "sqlite:PATH" (architecture.md, Stores).
 *
 * PATH         the database, with PATH-wal and PATH-shm beside it while it is open
 * PATH.lock    held by the one process that may use it; holds the owner's text
 * PATH.output  output of Sessions, which may be lost in a power cut
 *
 * One process owns the files, whatever names they go by: a database with hard links is refused, and one
 * that is mounted elsewhere as a single file is busy there. Network file systems are refused; a memory or overlay file system is
 * taken (one kernel sees one file there), and is as durable as it is. No other program may write or
 * checkpoint the file while it is open: copy it through the owner or while it is closed.
 *
 * open waits without limit as a standby (a signal ends the wait: BELFRY_BUSY). A call that is being
 * carried out is interrupted at its timeout; a disk that does not answer at all is waited for. */
#ifndef BF_STORE_SQLITE_SQLITE_H
#define BF_STORE_SQLITE_SQLITE_H

#include <belfry/documents.h>

#include "base/env.h"

extern const struct belfry_store_ops bf_sqlite_store_ops;

/* The clock that stores opened from now on go by. NULL: the system's. Set before any thread exists;
 * borrowed while a store is open. */
void bf_sqlite_set_env(const struct bf_env *env);

/* What happened so far, for tests and measurements. */
struct bf_sqlite_counts {
	uint64_t operations; /* writing calls that were carried out */
	uint64_t reads;      /* reading calls that began */
	uint64_t commits;    /* transactions that carried them */
	uint64_t reopened;   /* times that the file was opened anew after it failed */
	uint64_t wal_bytes;  /* length of the log of changes at the last commit */
};
void bf_sqlite_get_counts(struct belfry_store *store, struct bf_sqlite_counts *ret_counts);

#endif
