/* The footer of a TZif file: a POSIX TZ string with the extensions of RFC 9636 (hours -167 to 167, names
 * in angle brackets). Plain values, no ownership. */
#ifndef BF_CALENDAR_FOOTER_H
#define BF_CALENDAR_FOOTER_H

#include <belfry/status.h>

#include "base/compiler.h"

enum bf_footer_day {
	BF_FOOTER_JULIAN, /* Jn: 1 to 365, 29 February is never counted */
	BF_FOOTER_ZERO,   /* n: 0 to 365, 29 February is counted */
	BF_FOOTER_WEEK    /* Mm.w.d */
};

struct bf_footer_rule {
	enum bf_footer_day kind;
	int day; /* of the year, or of the week */
	int week;
	int month;
	int32_t time_s; /* local time of the change, seconds after (or before) midnight */
};

struct bf_footer {
	bool has_dst;
	int32_t standard_offset; /* seconds east of UTC */
	int32_t dst_offset;
	struct bf_footer_rule start; /* daylight saving begins, in standard time */
	struct bf_footer_rule end;   /* and ends, in daylight saving time */
};

/* BELFRY_OK, or BELFRY_CORRUPT where the text is no such string. */
BF_MUST_CHECK enum belfry_status bf_footer_parse(struct belfry_str text,
		struct bf_footer *ret_footer);

/* The instants (seconds UTC) of the two changes that the rules give for `year`. */
void bf_footer_changes(const struct bf_footer *footer, int64_t year, int64_t *ret_start,
		int64_t *ret_end);

#endif
