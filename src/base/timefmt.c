/* Times and durations as text. Knows no time zone but fixed offsets, reads no clock. */
#include "base/timefmt.h"

#include <stdio.h>

#include "base/str.h"

#define DAY_S INT64_C(86400)

belfry_time bf_time_add(belfry_time time, belfry_duration duration)
{
	int64_t sum;

	if (time == BELFRY_TIME_NEVER) {
		return BELFRY_TIME_NEVER;
	}
	if (__builtin_add_overflow(time, duration, &sum)) {
		return duration > 0 ? BELFRY_TIME_NEVER : INT64_MIN;
	}
	return sum;
}

belfry_duration bf_time_since(belfry_time later, belfry_time earlier)
{
	int64_t difference;

	if (__builtin_sub_overflow(later, earlier, &difference)) {
		return later > earlier ? INT64_MAX : INT64_MIN;
	}
	return difference;
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0 ? 1 : 0);
}

/* Years are counted from 1 March of year 0, so that the leap day is the last of its year; 146097 days
 * are 400 years. */
void bf_civil_from_days(int64_t days, int64_t *ret_year, int *ret_month, int *ret_day)
{
	int64_t shifted = days + 719468;
	int64_t era = floor_div(shifted, 146097);
	int64_t day_of_era = shifted - era * 146097;
	int64_t year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
					      day_of_era / 146096) /
			365;
	int64_t day_of_year = day_of_era -
			(365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	int64_t month_index = (5 * day_of_year + 2) / 153;

	*ret_day = (int)(day_of_year - (153 * month_index + 2) / 5 + 1);
	*ret_month = (int)(month_index < 10 ? month_index + 3 : month_index - 9);
	*ret_year = year_of_era + era * 400 + (*ret_month <= 2 ? 1 : 0);
}

int64_t bf_days_from_civil(int64_t year, int month, int day)
{
	int64_t shifted = month <= 2 ? year - 1 : year;
	int64_t era = floor_div(shifted, 400);
	int64_t year_of_era = shifted - era * 400;
	int64_t month_index = month > 2 ? month - 3 : month + 9;
	int64_t day_of_year = (153 * month_index + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
			day_of_year - 719468;
}

void bf_time_format(belfry_time time, int32_t offset_s, char *buffer)
{
	/* Whole minutes alone can be written: the local time follows what is written, so that the
	 * text still names the same instant (offsets of local mean time have seconds). */
	offset_s = offset_s / 60 * 60;
	int64_t local_us = bf_time_add(time, (belfry_duration)offset_s * BELFRY_SECOND);
	int64_t seconds = floor_div(local_us, BELFRY_SECOND);
	int fraction = (int)(local_us % BELFRY_SECOND);
	int64_t days = floor_div(seconds, DAY_S);
	int rest = (int)(seconds - days * DAY_S);
	int64_t year;
	int month;
	int day;

	fraction += fraction < 0 ? (int)BELFRY_SECOND : 0;
	bf_civil_from_days(days, &year, &month, &day);
	int len = snprintf(buffer, BF_TIME_TEXT_BYTES, "%04lld-%02d-%02dT%02d:%02d:%02d",
			(long long)year, month, day, rest / 3600, rest / 60 % 60, rest % 60);
	char *end = buffer + len;
	size_t left = (size_t)(BF_TIME_TEXT_BYTES - len);
	if (fraction % 1000 != 0) {
		len = snprintf(end, left, ".%06d", fraction);
	} else if (fraction != 0) {
		len = snprintf(end, left, ".%03d", fraction / 1000);
	} else {
		len = 0;
	}
	end += len;
	left -= (size_t)len;
	if (offset_s == 0) {
		(void)snprintf(end, left, "Z");
		return;
	}
	int minutes = (offset_s < 0 ? -offset_s : offset_s) / 60;
	(void)snprintf(end, left, "%c%02d:%02d", offset_s < 0 ? '-' : '+', minutes / 60,
			minutes % 60);
}

/* A cursor over text that remembers a failure, so that a parser reads like the grammar. */
struct scanner {
	struct belfry_str text;
	size_t at;
	bool is_failed;
};

static char peek(const struct scanner *s)
{
	return s->at < s->text.len ? s->text.ptr[s->at] : '\0';
}

static bool accept(struct scanner *s, char c)
{
	if (s->at >= s->text.len || s->text.ptr[s->at] != c) {
		return false;
	}
	s->at++;
	return true;
}

static void expect(struct scanner *s, char c)
{
	if (!accept(s, c)) {
		s->is_failed = true;
	}
}

/* Exactly `digits` digits whose value is in [min, max]. */
static int fixed_number(struct scanner *s, int digits, int min, int max)
{
	int value = 0;

	for (int i = 0; i < digits; i++) {
		char c = peek(s);
		if (c < '0' || c > '9') {
			s->is_failed = true;
			return min;
		}
		value = value * 10 + (c - '0');
		s->at++;
	}
	if (value < min || value > max) {
		s->is_failed = true;
		return min;
	}
	return value;
}

/* Digits behind a point, one to nine of them, as microseconds; the rest is cut. */
static int64_t fraction_us(struct scanner *s)
{
	int64_t value = 0;
	int digits = 0;

	for (; peek(s) >= '0' && peek(s) <= '9'; s->at++, digits++) {
		if (digits < 6) {
			value = value * 10 + (peek(s) - '0');
		}
	}
	if (digits < 1 || digits > 9) {
		s->is_failed = true;
	}
	for (; digits < 6; digits++) {
		value *= 10;
	}
	return value;
}

static int32_t offset_seconds(struct scanner *s)
{
	if (accept(s, 'Z') || accept(s, 'z')) {
		return 0;
	}
	bool is_west = accept(s, '-');
	if (!is_west) {
		expect(s, '+');
	}
	int hours = fixed_number(s, 2, 0, 23);
	expect(s, ':');
	int minutes = fixed_number(s, 2, 0, 59);
	int32_t seconds = hours * 3600 + minutes * 60;
	return is_west ? -seconds : seconds;
}

static int month_days(int year, int month)
{
	if (month == 2) {
		bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
		return is_leap ? 29 : 28;
	}
	return month == 4 || month == 6 || month == 9 || month == 11 ? 30 : 31;
}

enum belfry_status bf_time_parse(struct belfry_str text, belfry_time *ret_time)
{
	struct scanner s = {.text = text};
	int year = fixed_number(&s, 4, 1, 9999);
	expect(&s, '-');
	int month = fixed_number(&s, 2, 1, 12);
	expect(&s, '-');
	int day = fixed_number(&s, 2, 1, month_days(year, month));
	if (!accept(&s, 'T') && !accept(&s, 't')) {
		expect(&s, ' ');
	}
	int hour = fixed_number(&s, 2, 0, 23);
	expect(&s, ':');
	int minute = fixed_number(&s, 2, 0, 59);
	expect(&s, ':');
	int second = fixed_number(&s, 2, 0, 60);
	int64_t us = accept(&s, '.') ? fraction_us(&s) : 0;
	int32_t offset = offset_seconds(&s);

	if (s.is_failed || s.at != text.len) {
		return BELFRY_INVALID;
	}
	int64_t seconds = bf_days_from_civil(year, month, day) * DAY_S + hour * 3600 + minute * 60 +
			second - offset;
	/* An offset or a leap second may lead out of the years that can be written again. */
	if (seconds < bf_days_from_civil(1, 1, 1) * DAY_S ||
			seconds >= bf_days_from_civil(10000, 1, 1) * DAY_S) {
		return BELFRY_INVALID;
	}
	*ret_time = seconds * BELFRY_SECOND + us;
	return BELFRY_OK;
}

void bf_duration_format(belfry_duration duration, char *buffer)
{
	struct {
		belfry_duration unit;
		char letter;
	} units[] = {{BELFRY_DAY, 'D'}, {BELFRY_HOUR, 'H'}, {BELFRY_MINUTE, 'M'}};
	size_t left = BF_DURATION_TEXT_BYTES;
	size_t at = (size_t)snprintf(buffer, left, "P");
	bool has_time = false;
	belfry_duration rest = duration < 0 ? 0 : duration;

	for (size_t i = 0; i < BF_COUNT(units); i++) {
		belfry_duration count = rest / units[i].unit;
		rest %= units[i].unit;
		if (count > 0) {
			bool is_time = units[i].letter != 'D';
			at += (size_t)snprintf(buffer + at, left - at, "%s%lld%c",
					is_time && !has_time ? "T" : "", (long long)count,
					units[i].letter);
			has_time |= is_time;
		}
	}
	if (rest == 0 && at > 1) {
		return;
	}
	at += (size_t)snprintf(buffer + at, left - at, "%s%lld", has_time ? "" : "T",
			(long long)(rest / BELFRY_SECOND));
	int us = (int)(rest % BELFRY_SECOND);
	if (us != 0) {
		at += (size_t)snprintf(buffer + at, left - at, ".%06d", us);
		while (buffer[at - 1] == '0') {
			at--;
		}
	}
	(void)snprintf(buffer + at, left - at, "S");
}

/* One "12.5X" of a duration: adds value times the unit that `unit_of` names. Digits are bounded, so
 * that the sum is checked in one place. */
static int64_t amount(struct scanner *s, int64_t *ret_us)
{
	int64_t value = 0;
	int digits = 0;

	for (; peek(s) >= '0' && peek(s) <= '9'; s->at++, digits++) {
		if (digits >= 12) {
			s->is_failed = true;
			return 0;
		}
		value = value * 10 + (peek(s) - '0');
	}
	if (digits == 0) {
		s->is_failed = true;
	}
	*ret_us = accept(s, '.') ? fraction_us(s) : 0;
	return value;
}

static void add_amount(struct scanner *s, belfry_duration unit, int64_t value, int64_t fraction,
		belfry_duration *sum)
{
	belfry_duration product;

	/* A fraction is taken of seconds alone: "0.5S" is common, "0.3H" is a trap. */
	if ((fraction != 0 && unit != BELFRY_SECOND) ||
			__builtin_mul_overflow(value, unit, &product) ||
			__builtin_add_overflow(*sum, product + fraction, sum)) {
		s->is_failed = true;
	}
}

/* ISO 8601 behind its 'P'. Units must come in order, each at most once. */
static belfry_duration iso_duration(struct scanner *s)
{
	static const struct {
		char letter;
		bool is_time;
		belfry_duration unit;
	} units[] = {{'W', false, 7 * BELFRY_DAY}, {'D', false, BELFRY_DAY},
			{'H', true, BELFRY_HOUR}, {'M', true, BELFRY_MINUTE},
			{'S', true, BELFRY_SECOND}};
	belfry_duration sum = 0;
	bool in_time = false;
	size_t next = 0;

	do {
		in_time = in_time || accept(s, 'T');
		int64_t fraction;
		int64_t value = amount(s, &fraction);
		char letter = peek(s);
		while (next < BF_COUNT(units) &&
				(units[next].letter != letter || units[next].is_time != in_time)) {
			next++;
		}
		if (next == BF_COUNT(units) || s->is_failed) {
			s->is_failed = true;
			return 0;
		}
		add_amount(s, units[next].unit, value, fraction, &sum);
		next++;
		s->at++;
	} while (!s->is_failed && s->at < s->text.len);
	return sum;
}

static belfry_duration short_duration(struct scanner *s)
{
	belfry_duration sum = 0;
	belfry_duration last = INT64_MAX;

	do {
		int64_t fraction;
		int64_t value = amount(s, &fraction);
		belfry_duration unit = 0;
		if (accept(s, 'd')) {
			unit = BELFRY_DAY;
		} else if (accept(s, 'h')) {
			unit = BELFRY_HOUR;
		} else if (accept(s, 's')) {
			unit = BELFRY_SECOND;
		} else if (accept(s, 'm')) {
			unit = accept(s, 's') ? BELFRY_MILLISECOND : BELFRY_MINUTE;
		}
		if (unit == 0 || unit >= last) {
			s->is_failed = true;
			return 0;
		}
		last = unit;
		add_amount(s, unit, value, fraction, &sum);
	} while (!s->is_failed && s->at < s->text.len);
	return sum;
}

enum belfry_status bf_duration_parse(struct belfry_str text, belfry_duration *ret_duration)
{
	struct scanner s = {.text = text};
	belfry_duration sum = accept(&s, 'P') ? iso_duration(&s) : short_duration(&s);

	if (s.is_failed || s.at != text.len) {
		return BELFRY_INVALID;
	}
	*ret_duration = sum;
	return BELFRY_OK;
}
