/* A cron expression, ready to be asked: bit sets for the clock, and for the days one table per shape of
 * a month, so that L, 15W, 1#2 and the day rule cost nothing at the time of asking.
 *
 * Everything here is about local seconds (civil.h); zones come in with due.h. No ownership: plain values. */
#ifndef BF_CALENDAR_CRON_H
#define BF_CALENDAR_CRON_H

#include <belfry/status.h>

#include "base/compiler.h"

struct bf_except;

#define BF_CRON_TEXT_BYTES 256
/* After every local second, and far enough from the edge that an offset can be added. */
#define BF_CRON_NEVER (INT64_C(1) << 61)

/* What the two day fields name. Bit d of a set is day (or weekday, 0 Sunday) d. */
struct bf_cron_days {
	uint32_t dom;          /* plain days of the month */
	uint32_t before_last;  /* bit n: n days before the last of the month (L, L-n) */
	uint32_t nearest;      /* bit d: the weekday (Mon-Fri) nearest to the d-th */
	bool has_last_weekday; /* LW */
	uint32_t dow;          /* plain days of the week */
	uint32_t last_dow;     /* dL */
	uint32_t nth_dow[6];   /* d#n, by n */
	bool is_either;        /* both fields restricted: either may match */
};

/* A field's bit in bf_cron.starred: it begins with "*" or "?". */
#define BF_CRON_STARRED(field) (1u << (field))

struct bf_cron {
	uint64_t seconds;
	uint64_t minutes;
	uint32_t hours;
	uint32_t months;  /* bit 1 is January */
	bool is_fixed;    /* fixed-time, else interval-like (calendar.md, 3) */
	bool has_seconds; /* it has six fields */
	uint8_t starred;  /* BF_CRON_STARRED(enum bf_cron_field); a second not given is none */
	int32_t first_of_hour_s; /* the first time that matches in an hour, and in a day */
	int32_t first_of_day_s;
	uint16_t year_months
			[14]; /* [7 * leap + weekday of 1 January]: months with a day that matches */
	uint32_t days[4][7];  /* [length - 28][weekday of the 1st]: days that match */
	struct bf_cron_days special; /* what the day fields said, for telling; not for searching */
	const struct bf_except *except; /* what is left of it (except.h), borrowed; NULL: all */
};

/* Parse cron text; with five_fields six are refused. Returns BELFRY_OK or BELFRY_INVALID_SCHEDULE,
 * with the position of the fault in text. Allocates nothing. */
BF_MUST_CHECK enum belfry_status bf_cron_parse(struct belfry_str text, bool five_fields,
		struct bf_cron *ret_cron, struct belfry_error *err);

/* Fills days, year_months and the first times from the clock sets, months and `days`. False: no day of
 * the 400-year cycle matches. */
BF_MUST_CHECK bool bf_cron_build(struct bf_cron *cron, const struct bf_cron_days *days);

/* The first local second >= from that matches; BF_CRON_NEVER past the year 9999. */
int64_t bf_cron_next(const struct bf_cron *cron, int64_t from);

#endif
