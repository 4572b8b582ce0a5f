/* Instants, periods and zones in words: as a person in the rule's zone tells them.
 *
 * Not here   which instants are told (explain.c). */
#include "calendar/explain.h"

#include <stdio.h>

#include "base/timefmt.h"
#include "calendar/civil.h"

#define NUMBER_BYTES   24
#define SAID_ALONE_MAX 999 /* of one unit, before hours and seconds are told apart */

/* An instant taken apart, in some zone. */
struct civil {
	int64_t day; /* since 1970 */
	int64_t year;
	int month;
	int day_of_month;
	int second_of_day;
	int us;
};

static struct civil take_apart(belfry_time local)
{
	struct civil civil;
	int64_t second = bf_floor_div(local, BELFRY_SECOND);

	civil.day = bf_floor_div(second, BF_DAY_S);
	civil.second_of_day = (int)(second - civil.day * BF_DAY_S);
	civil.us = (int)(local - second * BELFRY_SECOND);
	bf_civil_from_days(civil.day, &civil.year, &civil.month, &civil.day_of_month);
	return civil;
}

belfry_time bf_explain_local(const struct belfry_rule *rule, belfry_time time)
{
	return bf_time_add(time, (belfry_duration)belfry_rule_offset(rule, time) * BELFRY_SECOND);
}

static struct belfry_str say_long(struct bf_speech *speech, int64_t value)
{
	return bf_say_number(speech, (int)BF_MIN(value, INT32_MAX));
}

/* A number with a fraction in millionths, without zeros at its end. */
static struct belfry_str with_fraction(struct bf_speech *speech, struct belfry_str whole, int us)
{
	char text[NUMBER_BYTES];
	int digits = 6;

	if (us == 0) {
		return whole;
	}
	for (; us % 10 == 0; us /= 10) {
		digits--;
	}
	(void)snprintf(text, sizeof(text), ".%0*d", digits, us); /* seven characters */
	return bf_say_two(speech, BF_SAY_JOINED, whole, bf_str(text));
}

static struct belfry_str say_clock(struct bf_speech *speech, const struct civil *civil)
{
	return with_fraction(speech, bf_say_clock(speech, civil->second_of_day, civil->us != 0),
			civil->us);
}

static struct belfry_str say_date(struct bf_speech *speech, const struct civil *civil)
{
	return bf_say(speech, BF_SAY_DATE,
			(struct belfry_str[]){bf_say_number(speech, civil->day_of_month),
					bf_say_month(speech, civil->month),
					say_long(speech, civil->year)});
}

struct belfry_str bf_explain_date(struct bf_speech *speech, belfry_time local)
{
	struct civil civil = take_apart(local);

	return say_date(speech, &civil);
}

/* The date, without the year where it is that of `now`. */
static struct belfry_str say_near_date(struct bf_speech *speech, const struct civil *civil,
		const struct civil *now)
{
	if (civil->year != now->year) {
		return say_date(speech, civil);
	}
	return bf_say_two(speech, BF_SAY_DAY_MONTH, bf_say_number(speech, civil->day_of_month),
			bf_say_month(speech, civil->month));
}

/* Whether the zone's clocks show this time twice. */
static bool is_repeated(const struct belfry_rule *rule, belfry_time local)
{
	const struct bf_due_policy both = {rule->zone, BELFRY_DST_GAP_SKIP, BELFRY_DST_FOLD_BOTH};
	int64_t second = bf_floor_div(local, BELFRY_SECOND);

	if (second < BF_FIRST_SECOND || second > BF_LAST_SECOND) {
		return false;
	}
	struct bf_due_local due = bf_due_local(&both, second);
	return due.is_due && due.first != due.last;
}

struct belfry_str bf_explain_clock_of(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time time)
{
	belfry_time local = bf_explain_local(rule, time);
	struct civil civil = take_apart(local);
	struct belfry_str clock = say_clock(speech, &civil);

	if (!is_repeated(rule, local)) {
		return clock;
	}
	struct civil utc = take_apart(time);
	return bf_say_two(speech, BF_SAY_WITH_UTC, clock, say_clock(speech, &utc));
}

struct belfry_str bf_explain_clock_on_date(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time time)
{
	belfry_time local = bf_explain_local(rule, time);
	struct civil civil = take_apart(local);
	bool is_midnight = civil.second_of_day == 0 && civil.us == 0 && !is_repeated(rule, local);
	struct belfry_str clock = is_midnight ? bf_say(speech, BF_SAY_MIDNIGHT, NULL)
					      : bf_explain_clock_of(speech, rule, time);

	return bf_say_two(speech, BF_SAY_CLOCK_ON_DATE, clock, say_date(speech, &civil));
}

struct belfry_str bf_explain_bound(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time time, bool is_start)
{
	struct civil civil = take_apart(bf_explain_local(rule, time));
	struct belfry_str date = say_date(speech, &civil);

	if (is_start && civil.second_of_day == 0 && civil.us == 0) {
		return date;
	}
	return bf_say_two(speech, BF_SAY_DATE_CLOCK, date, say_clock(speech, &civil));
}

static struct belfry_str say_day(struct bf_speech *speech, const struct civil *due,
		const struct civil *now)
{
	struct belfry_str clock = say_clock(speech, due);

	if (due->day == now->day) {
		return bf_say_one(speech, BF_SAY_TODAY, clock);
	}
	if (due->day == now->day + 1) {
		return bf_say_one(speech, BF_SAY_TOMORROW, clock);
	}
	struct belfry_str weekday = bf_say_weekday(speech, bf_weekday(due->day));
	if (due->day > now->day && due->day < now->day + 7) {
		return bf_say_two(speech, BF_SAY_WEEKDAY_CLOCK, weekday, clock);
	}
	return bf_say(speech, BF_SAY_WEEKDAY_DATE_CLOCK,
			(struct belfry_str[]){weekday, say_near_date(speech, due, now), clock});
}

struct belfry_str bf_explain_due(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time now, belfry_time due)
{
	struct civil here = take_apart(bf_explain_local(rule, due));
	struct civil utc = take_apart(due);
	struct civil today = take_apart(bf_explain_local(rule, now));
	struct belfry_str day = say_day(speech, &here, &today);

	if (belfry_rule_offset(rule, due) == 0) {
		return day;
	}
	if (here.day == utc.day) {
		return bf_say_two(speech, BF_SAY_WITH_UTC, day, say_clock(speech, &utc));
	}
	return bf_say(speech, BF_SAY_WITH_UTC_DATE,
			(struct belfry_str[]){day, say_clock(speech, &utc),
					say_near_date(speech, &utc, &today)});
}

/* --- periods --- */

static struct belfry_str say_unit(struct bf_speech *speech, enum bf_phrase one, enum bf_phrase many,
		int64_t count)
{
	return count == 1 ? bf_say(speech, one, NULL)
			  : bf_say_one(speech, many, say_long(speech, count));
}

/* Hours, minutes and seconds, those that there are: for what no single unit tells well. */
static struct belfry_str say_units(struct bf_speech *speech, belfry_duration amount)
{
	struct belfry_str items[3];
	size_t count = 0;
	int64_t second = amount / BELFRY_SECOND;

	if (second >= 3600) {
		items[count++] = say_unit(speech, BF_SAY_ONE_HOUR, BF_SAY_HOURS, second / 3600);
	}
	if (second / 60 % 60 != 0) {
		items[count++] = say_unit(speech, BF_SAY_ONE_MINUTE, BF_SAY_MINUTES,
				second / 60 % 60);
	}
	int us = (int)(amount % BELFRY_SECOND);
	if (us == 0 && second % 60 != 0) {
		items[count++] = say_unit(speech, BF_SAY_ONE_SECOND, BF_SAY_SECONDS, second % 60);
	} else if (us != 0) {
		items[count++] = bf_say_one(speech, BF_SAY_SECONDS,
				with_fraction(speech, say_long(speech, second % 60), us));
	}
	return bf_say_list(speech, BF_SAY_AND, items, count);
}

struct belfry_str bf_explain_amount(struct bf_speech *speech, belfry_duration amount)
{
	int64_t second = amount / BELFRY_SECOND;

	if (amount % BELFRY_DAY == 0 && amount > BELFRY_DAY) {
		return bf_say_one(speech, BF_SAY_LONG_DAYS, say_long(speech, amount / BELFRY_DAY));
	}
	if (amount % (3600 * BELFRY_SECOND) == 0) {
		return say_unit(speech, BF_SAY_ONE_HOUR, BF_SAY_HOURS, second / 3600);
	}
	if (amount % (60 * BELFRY_SECOND) == 0 && second / 60 <= SAID_ALONE_MAX) {
		return say_unit(speech, BF_SAY_ONE_MINUTE, BF_SAY_MINUTES, second / 60);
	}
	if (amount % BELFRY_SECOND == 0 && second <= SAID_ALONE_MAX) {
		return say_unit(speech, BF_SAY_ONE_SECOND, BF_SAY_SECONDS, second);
	}
	return say_units(speech, amount);
}

struct belfry_str bf_explain_period(struct bf_speech *speech, belfry_duration period)
{
	if (period == 3600 * BELFRY_SECOND) {
		return bf_say(speech, BF_SAY_EVERY_HOUR, NULL);
	}
	if (period == 60 * BELFRY_SECOND) {
		return bf_say(speech, BF_SAY_EVERY_MINUTE, NULL);
	}
	if (period == BELFRY_SECOND) {
		return bf_say(speech, BF_SAY_EVERY_SECOND, NULL);
	}
	return bf_say_one(speech, BF_SAY_EVERY, bf_explain_amount(speech, period));
}

/* --- zones --- */

static bool is_one_of(struct belfry_str name, const char *const *list)
{
	for (size_t i = 0; list[i] != NULL; i++) {
		if (bf_str_equal(name, bf_str(list[i]))) {
			return true;
		}
	}
	return false;
}

static size_t last_slash(struct belfry_str name)
{
	size_t at = name.len;

	while (at > 0 && name.ptr[at - 1] != '/') {
		at--;
	}
	return at;
}

/* An abbreviation such as CET or EST5EDT: no slash, no small letter, T at its end. */
static bool is_abbreviation(struct belfry_str name)
{
	for (size_t i = 0; i < name.len; i++) {
		if (name.ptr[i] == '/' || (name.ptr[i] >= 'a' && name.ptr[i] <= 'z')) {
			return false;
		}
	}
	return name.len > 0 && name.ptr[name.len - 1] == 'T';
}

/* What of the name people say: the place, or all of it where the place is but a direction. */
static struct belfry_str said_part(struct belfry_str name)
{
	static const char *const countries[] = {"Brazil", "Canada", "Chile", "Mexico", "US", NULL};
	static const char *const directions[] = {"North", "South", "East", "West", NULL};
	size_t slash = last_slash(name);
	struct belfry_str place = bf_str_slice(name, slash, name.len);
	struct belfry_str before = bf_str_slice(name, 0, slash > 0 ? slash - 1 : 0);

	return is_one_of(before, countries) || is_one_of(place, directions) ? name : place;
}

static struct belfry_str with_blanks(struct bf_speech *speech, struct belfry_str name)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

	for (size_t i = 0; i < name.len; i++) {
		char c = name.ptr[i];
		bf_buf_append_byte(&buf, c == '_' || c == '/' ? ' ' : c);
	}
	if (bf_buf_status(&buf) != BELFRY_OK) {
		speech->is_failed = true;
	}
	return bf_say_one(speech, BF_SAY_ZONE_TIME, bf_buf_str(&buf));
}

/* Etc/GMT+5 is five hours behind: "UTC-5". */
static struct belfry_str say_offset_zone(struct bf_speech *speech, struct belfry_str rest)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

	bf_buf_append_byte(&buf, rest.ptr[0] == '+' ? '-' : '+');
	bf_buf_append_str(&buf, bf_str_slice(rest, 1, rest.len));
	if (bf_buf_status(&buf) != BELFRY_OK) {
		speech->is_failed = true;
	}
	return bf_say_one(speech, BF_SAY_ZONE_UTC_OFFSET, bf_buf_str(&buf));
}

struct belfry_str bf_explain_zone(struct bf_speech *speech, struct belfry_str name)
{
	static const char *const utc[] = {"UTC", "Etc/UTC", "UCT", "Etc/UCT", "Zulu", "Etc/Zulu",
			"Universal", "Etc/Universal", NULL};
	static const char *const gmt[] = {"GMT", "Etc/GMT", "GMT0", "GMT+0", "GMT-0", "Etc/GMT0",
			"Etc/GMT+0", "Etc/GMT-0", "Greenwich", "Etc/Greenwich", NULL};
	struct belfry_str hours = BF_STR("Etc/GMT");

	if (is_one_of(name, utc)) {
		return bf_say(speech, BF_SAY_ZONE_UTC, NULL);
	}
	if (is_one_of(name, gmt)) {
		return bf_say(speech, BF_SAY_ZONE_GMT, NULL);
	}
	if (bf_str_starts_with(name, hours) && name.len > hours.len) {
		return say_offset_zone(speech, bf_str_slice(name, hours.len, name.len));
	}
	if (is_abbreviation(name)) {
		return bf_say_one(speech, BF_SAY_ZONE_AS_IS, name);
	}
	return with_blanks(speech, said_part(name));
}
