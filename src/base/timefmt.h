/* Times and durations as text: the one parser and the one writer of the tree, and saturating sums.
 * Source: RFC 3339, ISO 8601-1 (durations of days, hours, minutes, seconds; weeks too when read). */
#ifndef BF_TIMEFMT_H
#define BF_TIMEFMT_H

#include <belfry/status.h>
#include <belfry/types.h>

#include "base/compiler.h"

#define BF_TIME_TEXT_BYTES     40
#define BF_DURATION_TEXT_BYTES 40

/* Saturate at INT64_MIN and BELFRY_TIME_NEVER; NEVER plus anything is NEVER. */
belfry_time bf_time_add(belfry_time time, belfry_duration duration);
belfry_duration bf_time_since(belfry_time later, belfry_time earlier);

/* Civil date of the proleptic Gregorian calendar from days since 1970-01-01, and back. */
void bf_civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day);
int64_t bf_days_from_civil(int64_t year, int month, int day);

/* Writes "2026-12-01T01:00:00Z", with as many digits of the second's fraction as are needed (0, 3 or
 * 6); with offset_s other than 0 "2026-12-01T09:00:00+08:00"
 * (cut to whole minutes, local time and offset alike: RFC 3339 has no seconds there).
 * Buffer: BF_TIME_TEXT_BYTES. */
void bf_time_format(belfry_time time, int32_t offset_s, char *buffer);
/* Reads RFC 3339 with "Z" or an offset, 'T' or one space between, up to nine digits of fraction
 * (cut to microseconds), years 1 to 9999 there and in UTC; a leap second (:60) reads as the next
 * second.
 * BELFRY_INVALID otherwise. */
BF_MUST_CHECK enum belfry_status bf_time_parse(struct belfry_str text, belfry_time *ret_time);

/* Writes ISO 8601: "PT1M", "PT1.5S", "P1DT2H"; zero is "PT0S". Buffer: BF_DURATION_TEXT_BYTES. */
void bf_duration_format(belfry_duration duration, char *buffer);
/* Reads ISO 8601 ("P1DT2H", "PT0.5S", "P2W") or the short form ("10m", "1h30m", "1d", "250ms").
 * Not negative; a day is 24 h. BELFRY_INVALID otherwise. */
BF_MUST_CHECK enum belfry_status bf_duration_parse(struct belfry_str text,
		belfry_duration *ret_duration);

#endif
