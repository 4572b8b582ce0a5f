/* The TZif file format (RFC 9636, versions 1 to 4), read from bytes that nobody trusts. */
#ifndef BF_CALENDAR_TZIF_H
#define BF_CALENDAR_TZIF_H

#include <belfry/status.h>

#include "base/compiler.h"

/* The largest file of the tz database has less than a seventh of these; the reference code takes 2000
 * changes. They also bound what a hostile file costs: about as much as two real ones. */
#define BF_TZIF_BYTES_MAX   (64u << 10)
#define BF_TZIF_CHANGES_MAX 2048u

/* A view into the file's bytes, borrowed from them; every index in it is checked. */
struct bf_tzif {
	size_t change_count;
	size_t time_bytes;            /* 4 or 8 */
	const unsigned char *times;   /* change_count of time_bytes each, big-endian, ascending */
	const unsigned char *indices; /* change_count, each below type_count */
	size_t type_count;            /* 1 or more */
	const unsigned char *types;   /* six bytes each */
	struct belfry_str footer;     /* may be empty */
};

/* BELFRY_OK, or BELFRY_CORRUPT with the reason in err->detail. Files that count leap seconds are
 * refused: their times are not POSIX times. */
BF_MUST_CHECK enum belfry_status bf_tzif_open(const unsigned char *bytes, size_t len,
		struct bf_tzif *ret_tzif, struct belfry_error *err);

/* Seconds UTC of change `index`. */
int64_t bf_tzif_time(const struct bf_tzif *tzif, size_t index);
/* Seconds east of UTC of a type. */
int32_t bf_tzif_offset(const struct bf_tzif *tzif, size_t type);

#endif
