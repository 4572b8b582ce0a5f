/* Arithmetic of the proleptic Gregorian calendar that the fast paths want inline. Seconds and days count
 * from 1970-01-01; a "local second" is a civil date and time written as if its zone were UTC. */
#ifndef BF_CALENDAR_CIVIL_H
#define BF_CALENDAR_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define BF_DAY_S INT64_C(86400)
/* The calendar, week days included, repeats after 400 years: 146097 days, a multiple of seven. */
#define BF_CYCLE_DAYS INT64_C(146097)
#define BF_CYCLE_S    (BF_CYCLE_DAYS * BF_DAY_S)
/* 0001-01-01T00:00:00 and 9999-12-31T23:59:59: no due time lies outside, as RFC 3339 writes none. */
#define BF_FIRST_SECOND INT64_C(-62135596800)
#define BF_LAST_SECOND  INT64_C(253402300799)
#define BF_LAST_YEAR    9999

/* Rounds towards minus infinity; b > 0. */
static inline int64_t bf_floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0 ? 1 : 0);
}

/* 0 is Sunday; 1970-01-01 was a Thursday. */
static inline int bf_weekday(int64_t day)
{
	int rest = (int)((day + 4) % 7);

	return rest < 0 ? rest + 7 : rest;
}

static inline bool bf_is_leap(int64_t year)
{
	return (year & 3) == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* month: 1 to 12. */
static inline int bf_month_length(bool is_leap, int month)
{
	return month == 2 ? (is_leap ? 29 : 28) : 30 + ((month + (month >> 3)) & 1);
}

/* Days of the year that lie before a month. */
static inline int bf_days_before_month(bool is_leap, int month)
{
	static const int16_t before[] = {0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};

	return before[month] + (is_leap && month > 2 ? 1 : 0);
}

#endif
