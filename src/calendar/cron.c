/* Searching a cron expression: by field, never by minute.
 *
 * Invariant  days[][] already holds the day rule and every special member, so that a month is one
 *            32-bit set; year_months[] says which months of a year are worth looking at. A search
 *            looks at the rest of the day, of the month, of the year, and then at years one by one: at
 *            most 40 of them, since bf_cron_build refuses what no year matches.
 * Not here   time zones (due.c), text (cron_parse.c). */
#include "calendar/cron.h"

#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/except.h"

static int lowest(uint64_t set)
{
	return __builtin_ctzll(set);
}

/* The weekday (Mon-Fri) nearest to `day`, without leaving the month. */
static int nearest_weekday(int day, int length, int first_weekday)
{
	int weekday = (first_weekday + day - 1) % 7;

	if (weekday == 6) {
		return day > 1 ? day - 1 : day + 2;
	}
	if (weekday == 0) {
		return day < length ? day + 1 : day - 2;
	}
	return day;
}

/* The days that day-of-month names in a month of this shape. */
static uint32_t month_days(const struct bf_cron_days *days, int length, int first_weekday)
{
	uint32_t set = days->dom;

	for (uint32_t rest = days->before_last; rest != 0; rest &= rest - 1) {
		set |= lowest(rest) < length ? 1u << (length - lowest(rest)) : 0;
	}
	for (uint32_t rest = days->nearest; rest != 0; rest &= rest - 1) {
		int day = lowest(rest);
		set |= day <= length ? 1u << nearest_weekday(day, length, first_weekday) : 0;
	}
	if (days->has_last_weekday) {
		set |= 1u << nearest_weekday(length, length, first_weekday);
	}
	return set;
}

/* Week days (bit 0 Sunday) as days of a week that begins on `first_weekday`. */
static uint32_t turned(uint32_t dow, int first_weekday)
{
	return (dow >> first_weekday | dow << (7 - first_weekday)) & 0x7f;
}

/* The same in every week of a month. */
static uint32_t every_week(uint32_t dow, int first_weekday)
{
	uint64_t week = turned(dow, first_weekday);

	return (uint32_t)((week | week << 7 | week << 14 | week << 21 | week << 28) << 1);
}

/* The days that day-of-week names in a month of this shape. */
static uint32_t week_days(const struct bf_cron_days *days, int length, int first_weekday)
{
	uint32_t last_week = (0x7fu << (length - 7)) << 1;
	uint32_t set = every_week(days->dow, first_weekday) |
			(every_week(days->last_dow, first_weekday) & last_week);

	for (int n = 1; n <= 5; n++) {
		set |= (uint32_t)((uint64_t)turned(days->nth_dow[n], first_weekday)
				<< (7 * (n - 1) + 1));
	}
	return set;
}

/* False: some month has no day. */
static bool build_days(struct bf_cron *cron, const struct bf_cron_days *days)
{
	bool has_all = true;

	for (int length = 28; length <= 31; length++) {
		uint32_t existing = (uint32_t)((UINT64_C(2) << length) - 2);
		for (int first = 0; first < 7; first++) {
			uint32_t dom = month_days(days, length, first);
			uint32_t dow = week_days(days, length, first);
			uint32_t set = days->is_either ? dom | dow : dom & dow;
			cron->days[length - 28][first] = set & existing;
			has_all = has_all && (set & existing) != 0;
		}
	}
	return has_all;
}

/* The months of one kind of year (7 * leap + weekday of 1 January) that have a day. */
static uint32_t months_of_year(const struct bf_cron *cron, int type)
{
	int first = type % 7;
	uint32_t months = 0;

	for (int month = 1; month <= 12; month++) {
		int length = bf_month_length(type >= 7, month);
		if (cron->months >> month & 1u && cron->days[length - 28][first] != 0) {
			months |= 1u << month;
		}
		first = (first + length) % 7;
	}
	return months;
}

bool bf_cron_build(struct bf_cron *cron, const struct bf_cron_days *days)
{
	uint32_t possible = 0;

	cron->special = *days;
	bool has_all = build_days(cron, days);
	for (int type = 0; type < 14; type++) {
		uint32_t months = has_all ? cron->months : months_of_year(cron, type);
		cron->year_months[type] = (uint16_t)months;
		possible |= months;
	}
	cron->first_of_hour_s = lowest(cron->minutes) * 60 + lowest(cron->seconds);
	cron->first_of_day_s = lowest(cron->hours) * 3600 + cron->first_of_hour_s;
	return possible != 0;
}

/* The first time of day >= second that matches, or -1. */
static inline int32_t time_of_day(const struct bf_cron *cron, int32_t second)
{
	int hour = second / 3600;
	int minute = second / 60 % 60;

	if (cron->hours >> hour & 1u) {
		uint64_t seconds = cron->seconds >> second % 60;
		if (cron->minutes >> minute & 1u && seconds != 0) {
			return second + lowest(seconds);
		}
		uint64_t minutes = cron->minutes >> minute >> 1;
		if (minutes != 0) {
			return hour * 3600 + (minute + 1 + lowest(minutes)) * 60 +
					lowest(cron->seconds);
		}
	}
	uint32_t hours = cron->hours >> hour >> 1;
	return hours != 0 ? (hour + 1 + lowest(hours)) * 3600 + cron->first_of_hour_s : -1;
}

/* The first matching second of a month later than `month` of `year`, or of a later year; new_year is the
 * day number of 1 January of `year`. */
static int64_t next_month(const struct bf_cron *cron, int64_t year, int month, int64_t new_year)
{
	uint32_t later = ~(uint32_t)0 << month << 1;
	int weekday = bf_weekday(new_year);

	for (; year <= BF_LAST_YEAR; year++) {
		int leap = bf_is_leap(year) ? 1 : 0;
		uint32_t months = cron->year_months[leap * 7 + weekday] & later;
		if (months != 0) {
			int found = lowest(months);
			int64_t before = bf_days_before_month(leap, found);
			int length = bf_month_length(leap, found);
			int day = lowest(cron->days[length - 28][(weekday + before) % 7]);
			return (new_year + before + day - 1) * BF_DAY_S + cron->first_of_day_s;
		}
		new_year += 365 + leap;
		weekday += 1 + leap;
		weekday -= weekday >= 7 ? 7 : 0;
		later = ~(uint32_t)0;
	}
	return BF_CRON_NEVER;
}

int64_t bf_cron_next(const struct bf_cron *cron, int64_t from)
{
	if (cron->except != NULL) {
		return bf_except_next(cron, from);
	}
	int64_t number = bf_floor_div(from, BF_DAY_S);
	int64_t year;
	int month;
	int day;

	bf_civil_from_days(number, &year, &month, &day);
	if (year > BF_LAST_YEAR) {
		return BF_CRON_NEVER;
	}
	uint32_t days = 0;
	if (cron->months >> month & 1u) {
		int length = bf_month_length(bf_is_leap(year), month);
		days = cron->days[length - 28][bf_weekday(number - (day - 1))];
	}
	if (days >> day & 1u) {
		int32_t time = time_of_day(cron, (int32_t)(from - number * BF_DAY_S));
		if (time >= 0) {
			return number * BF_DAY_S + time;
		}
	}
	days = days >> day >> 1;
	if (days != 0) {
		return (number + 1 + lowest(days)) * BF_DAY_S + cron->first_of_day_s;
	}
	int64_t past = bf_days_before_month(bf_is_leap(year), month) + day - 1;
	return next_month(cron, year, month, number - past);
}
