/* One field of a cron expression: from its text to a set of values. Used by cron_parse.c alone. */
#ifndef BF_CALENDAR_CRON_FIELD_H
#define BF_CALENDAR_CRON_FIELD_H

#include "calendar/cron.h"

enum bf_cron_field {
	BF_CRON_SECOND,
	BF_CRON_MINUTE,
	BF_CRON_HOUR,
	BF_CRON_DOM,
	BF_CRON_MONTH,
	BF_CRON_DOW,
	BF_CRON_FIELDS
};

/* One field being read. */
struct bf_cron_cursor {
	const char *text; /* the expression; at and end are places in it */
	size_t at;
	size_t end;
	enum bf_cron_field field;
	int number; /* of the field as the reader counts, from 1 */
	uint64_t set;
	struct bf_cron_days *days; /* of both day fields */
	struct belfry_error *err;  /* may be NULL */
};

/* Reads the whole field from at to end, into set, or for L, W and # into days. BELFRY_OK, or
 * BELFRY_INVALID_SCHEDULE with position and reason. */
BF_MUST_CHECK enum belfry_status bf_cron_read_field(struct bf_cron_cursor *c);

#endif
