/* The files of a tz database: its folder, its version, its zones. Plain functions; nothing is kept. */
#ifndef BF_CALENDAR_ZONES_DISK_H
#define BF_CALENDAR_ZONES_DISK_H

#include <stdint.h>

#include <belfry/status.h>

#include "calendar/zone.h"

#define BF_ZONES_VERSION_BYTES 32

/* By what a file is known again without being read; all zero: there is none. */
struct bf_file_mark {
	bool is_there;
	uint64_t device;
	uint64_t inode;
	int64_t size;
	int64_t written_ns; /* its content */
	int64_t changed_ns; /* anything about it: tells where the time of writing was set back */
};

bool bf_file_mark_equal(const struct bf_file_mark *a, const struct bf_file_mark *b);

/* Whether the folder holds a tz database at all. */
bool bf_zones_disk_is_database(const char *directory);

/* The folder to use: `directory`, or of the usual ones the first that holds a database where it is NULL.
 * Borrowed: from the argument, or static. BELFRY_OK, BELFRY_CONFIGURATION. */
BF_MUST_CHECK enum belfry_status bf_zones_disk_find(const char *directory,
		const char **ret_directory, struct belfry_error *err);

/* What the folder says its version is, into BF_ZONES_VERSION_BYTES; false, and "unknown", where it says
 * none. */
bool bf_zones_disk_version(const char *directory, char *ret_version);

/* Looks at a file without opening it. `name` is one that bf_zones_check_name lets pass. */
struct bf_file_mark bf_zones_disk_mark(const char *directory, struct belfry_str name);

/* Reads one zone; the mark is that of the bytes read. Owned by the caller (one reference).
 * BELFRY_OK; BELFRY_NOT_FOUND (no such file); BELFRY_CORRUPT (it is not to be read, or no zone file:
 * err->detail); BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_zones_disk_load(const char *directory, struct belfry_str name,
		struct bf_zone **ret_zone, struct bf_file_mark *ret_mark, struct belfry_error *err);

#endif
