/* The clock fields of an expression in words.
 *
 * A fixed-time expression is told by its times ("at 09:00", "every hour from 09:00 to 17:00"), an
 * interval-like one by its rhythm ("every 15 minutes between 09:00 and 17:59"), so that two expressions
 * that differ in nothing but their class are not told alike.
 *
 * Invariant  each phrase gives back the three sets and the class.
 * Not here   days (explain_days.c). */
#include "calendar/explain.h"

#include "calendar/cron_field.h"

#define TIMES_SHOWN_MAX 6 /* times of day that are told one by one */
#define ROW_FROM        5 /* times of day, from where on an even row is told as one */
#define HOURS_ROW_FROM  4 /* the same for hours that follow each other */

#define ALL_SECONDS ((UINT64_C(1) << 60) - 1)
#define ALL_MINUTES ALL_SECONDS
#define ALL_HOURS   UINT64_C(0xffffff)

/* The three sets, and what follows from them. */
struct clock {
	const struct bf_cron *cron;
	uint64_t seconds;
	uint64_t minutes;
	uint64_t hours;
	int second; /* the only one, or -1 */
	int minute;
	bool has_all_days;
};

static int only_member(uint64_t set)
{
	return bf_set_count(set) == 1 ? bf_set_lowest(set) : -1;
}

/* A count with its unit, in the singular for 1. */
static struct belfry_str say_count(struct bf_speech *speech, enum bf_phrase one,
		enum bf_phrase many, int count)
{
	return count == 1 ? bf_say(speech, one, NULL)
			  : bf_say_one(speech, many, bf_say_number(speech, count));
}

static bool is_starred(const struct clock *clock, enum bf_cron_field field)
{
	return (clock->cron->starred & BF_CRON_STARRED(field)) != 0;
}

/* --- times of day as a row --- */

static int64_t count_times(const struct clock *clock)
{
	return (int64_t)bf_set_count(clock->hours) * bf_set_count(clock->minutes) *
			bf_set_count(clock->seconds);
}

/* The next time of day after `second` (-1: the first), or -1. */
static int next_time(const struct clock *clock, int second)
{
	for (second++; second < 86400; second++) {
		if ((clock->hours >> second / 3600 & 1u) == 0) {
			second += 3599 - second % 3600;
		} else if ((clock->minutes >> second / 60 % 60 & 1u) == 0) {
			second += 59 - second % 60;
		} else if ((clock->seconds >> second % 60 & 1u) != 0) {
			return second;
		}
	}
	return -1;
}

/* Whether all times of day are evenly apart. */
static bool find_row(const struct clock *clock, struct bf_progression *ret)
{
	int first = next_time(clock, -1);
	struct bf_progression row = {.first = first, .last = first, .count = 1};

	for (int at = next_time(clock, first); at >= 0; at = next_time(clock, at)) {
		int step = at - row.last;
		if (row.step != 0 && step != row.step) {
			return false;
		}
		row.step = step;
		row.last = at;
		row.count++;
	}
	*ret = row;
	return true;
}

static struct belfry_str say_every(struct bf_speech *speech, int step_s)
{
	if (step_s % 3600 == 0) {
		return say_count(speech, BF_SAY_EVERY_HOUR, BF_SAY_EVERY_HOURS, step_s / 3600);
	}
	if (step_s % 60 == 0) {
		return say_count(speech, BF_SAY_EVERY_MINUTE, BF_SAY_EVERY_MINUTES, step_s / 60);
	}
	return say_count(speech, BF_SAY_EVERY_SECOND, BF_SAY_EVERY_SECONDS, step_s);
}

static struct belfry_str say_times(struct bf_speech *speech, const struct clock *clock,
		enum bf_phrase last)
{
	struct belfry_str items[24];
	size_t count = 0;
	bool is_long = clock->second != 0;

	for (int at = next_time(clock, -1); at >= 0 && count < BF_COUNT(items);
			at = next_time(clock, at)) {
		items[count++] = bf_say_clock(speech, at, is_long);
	}
	return bf_say_list(speech, last, items, count);
}

/* --- pieces --- */

static struct belfry_str say_seconds(struct bf_speech *speech, uint64_t set)
{
	int only = only_member(set);

	return only == 1 ? bf_say(speech, BF_SAY_ONE_SECOND, NULL)
			 : bf_say_one(speech, BF_SAY_SECONDS,
					   bf_say_set(speech, set, bf_say_number));
}

static struct belfry_str say_minutes(struct bf_speech *speech, uint64_t set)
{
	int only = only_member(set);

	return only == 1 ? bf_say(speech, BF_SAY_ONE_MINUTE, NULL)
			 : bf_say_one(speech, BF_SAY_MINUTES,
					   bf_say_set(speech, set, bf_say_number));
}

/* Stretches of hours that follow each other, from `from` on; how many there are. */
static int count_stretches(uint64_t hours)
{
	return bf_set_count(hours & ~(hours << 1));
}

static struct belfry_str say_stretch(struct bf_speech *speech, int from, int to)
{
	return bf_say_two(speech, BF_SAY_BETWEEN, bf_say_clock(speech, from * 3600, false),
			bf_say_clock(speech, to * 3600 + 3540, false));
}

static struct belfry_str say_stretches(struct bf_speech *speech, uint64_t hours)
{
	struct belfry_str items[24];
	size_t count = 0;

	for (int from = 0; from < 24; from++) {
		int to = from;
		if ((hours >> from & 1u) == 0) {
			continue;
		}
		while (to < 23 && (hours >> (to + 1) & 1u) != 0) {
			to++;
		}
		items[count++] = say_stretch(speech, from, to);
		from = to;
	}
	return bf_say_list(speech, BF_SAY_AND, items, count);
}

/* The hours of an interval-like expression: empty where all count. */
static struct belfry_str say_hours(struct bf_speech *speech, const struct clock *clock)
{
	uint64_t hours = clock->hours;
	int stretches = count_stretches(hours);
	bool is_over_midnight = (hours & 1u) != 0 && (hours >> 23 & 1u) != 0;

	if (hours == ALL_HOURS) {
		return BF_STR("");
	}
	if (stretches == 2 && is_over_midnight && clock->has_all_days) {
		uint64_t others = ~hours & ALL_HOURS;
		return say_stretch(speech, bf_set_highest(others) + 1, bf_set_lowest(others) - 1);
	}
	if (stretches <= 2) {
		return say_stretches(speech, hours);
	}
	return bf_say_one(speech, BF_SAY_IN_HOURS, bf_say_set(speech, hours, bf_say_two_digits));
}

static struct belfry_str with_hours(struct bf_speech *speech, const struct clock *clock,
		struct belfry_str phrase)
{
	struct belfry_str hours = say_hours(speech, clock);

	return hours.len == 0 ? phrase : bf_say_two(speech, BF_SAY_THEN, phrase, hours);
}

/* A step from the field's start that comes out even at its end. */
static bool is_even(const struct bf_progression *row, int size)
{
	return row->first == 0 && row->count > 1 && size % row->step == 0 &&
			row->count == size / row->step;
}

/* A step from the field's start, up to the end as far as it goes. */
static bool is_whole(const struct bf_progression *row, int size)
{
	return row->first == 0 && row->count > 1 && row->last + row->step >= size;
}

/* --- more than one second --- */

static struct belfry_str say_second_rhythm(struct bf_speech *speech, const struct clock *clock,
		bool *ret_is_every)
{
	struct bf_progression row = {0};
	bool is_row = bf_set_progression(clock->seconds, &row);

	*ret_is_every = true;
	if (is_row && is_even(&row, 60)) {
		return say_every(speech, row.step);
	}
	if (is_row && is_whole(&row, 60) && is_starred(clock, BF_CRON_SECOND)) {
		return bf_say_two(speech, BF_SAY_FROM_THE_MINUTE, say_every(speech, row.step),
				bf_say_set(speech, clock->seconds, bf_say_colon));
	}
	*ret_is_every = false;
	if (clock->minutes == ALL_MINUTES && !clock->cron->is_fixed) {
		return bf_say_one(speech, BF_SAY_PAST_EVERY_MINUTE,
				say_seconds(speech, clock->seconds));
	}
	return bf_say_one(speech, clock->second >= 0 ? BF_SAY_AT_SECOND : BF_SAY_AT_SECONDS,
			bf_say_set(speech, clock->seconds, bf_say_number));
}

static struct belfry_str say_in_minutes(struct bf_speech *speech, const struct clock *clock,
		struct belfry_str rhythm)
{
	bool is_one = clock->minute >= 0;
	struct belfry_str minutes = bf_say_set(speech, clock->minutes, bf_say_number);

	if (clock->minutes == ALL_MINUTES) {
		return rhythm;
	}
	if (clock->hours == ALL_HOURS) {
		return bf_say_two(speech,
				is_one ? BF_SAY_IN_MINUTE_OF_EVERY_HOUR
				       : BF_SAY_IN_MINUTES_OF_EVERY_HOUR,
				rhythm, minutes);
	}
	return bf_say_two(speech, is_one ? BF_SAY_IN_MINUTE : BF_SAY_IN_MINUTES, rhythm, minutes);
}

static struct bf_clock_phrase say_many_seconds(struct bf_speech *speech, const struct clock *clock)
{
	struct bf_clock_phrase phrase;
	struct belfry_str rhythm = say_second_rhythm(speech, clock, &phrase.is_every);

	phrase.text = with_hours(speech, clock, say_in_minutes(speech, clock, rhythm));
	return phrase;
}

/* --- interval-like, one second --- */

static struct belfry_str say_colons(struct bf_speech *speech, const struct clock *clock)
{
	return bf_say_set(speech, clock->minutes, bf_say_colon);
}

/* Minutes within the hour, but for one alone. *ret_is_every as in bf_clock_phrase. */
static struct belfry_str say_minute_rhythm(struct bf_speech *speech, const struct clock *clock,
		bool *ret_is_every)
{
	enum bf_phrase past = clock->hours == ALL_HOURS ? BF_SAY_PAST_EVERY_HOUR
							: BF_SAY_PAST_THE_HOUR;
	struct bf_progression row = {0};
	bool is_row = bf_set_progression(clock->minutes, &row);
	struct belfry_str every = say_every(speech, row.step * 60);

	*ret_is_every = true;
	if (is_row && is_even(&row, 60)) {
		return every;
	}
	if (is_row && is_whole(&row, 60) && is_starred(clock, BF_CRON_MINUTE)) {
		return bf_say_two(speech, BF_SAY_FROM_THE_HOUR, every, say_colons(speech, clock));
	}
	if (is_row && row.count >= 4 && 60 % row.step == 0 && row.count == 60 / row.step) {
		return bf_say_two(speech, BF_SAY_EVERY_AT, every, say_colons(speech, clock));
	}
	if (is_row && row.count >= 4) {
		return bf_say_one(speech, past,
				bf_say(speech, BF_SAY_EVERY_FROM_TO,
						(struct belfry_str[]){every,
								bf_say_colon(speech, row.first),
								bf_say_colon(speech, row.last)}));
	}
	*ret_is_every = false;
	return bf_say_one(speech, BF_SAY_AT,
			bf_say_one(speech, past, say_minutes(speech, clock->minutes)));
}

static struct bf_clock_phrase say_several_minutes(struct bf_speech *speech,
		const struct clock *clock)
{
	struct bf_clock_phrase phrase = {.is_every = false};
	bool has_all_hours = clock->hours == ALL_HOURS;

	if (clock->minutes == ALL_MINUTES && has_all_hours && clock->second > 0) {
		phrase.text = bf_say_one(speech, BF_SAY_PAST_EVERY_MINUTE,
				say_seconds(speech, clock->seconds));
		return phrase;
	}
	phrase.text = say_minute_rhythm(speech, clock, &phrase.is_every);
	if (clock->second > 0) {
		phrase.text = bf_say_two(speech,
				has_all_hours ? BF_SAY_WITH_SECOND : BF_SAY_WITH_SECOND_TAIL,
				phrase.text, say_seconds(speech, clock->seconds));
	}
	phrase.text = with_hours(speech, clock, phrase.text);
	return phrase;
}

/* "5 minutes and 30 seconds"; empty on the hour. */
static struct belfry_str say_past(struct bf_speech *speech, const struct clock *clock)
{
	if (clock->minute == 0 && clock->second == 0) {
		return BF_STR("");
	}
	if (clock->second == 0) {
		return say_minutes(speech, clock->minutes);
	}
	if (clock->minute == 0) {
		return say_seconds(speech, clock->seconds);
	}
	return bf_say_two(speech, BF_SAY_AND, say_minutes(speech, clock->minutes),
			say_seconds(speech, clock->seconds));
}

static struct bf_clock_phrase say_every_hour(struct bf_speech *speech, struct belfry_str past)
{
	if (past.len == 0) {
		return (struct bf_clock_phrase){bf_say(speech, BF_SAY_EVERY_HOUR, NULL), true};
	}
	return (struct bf_clock_phrase){
			bf_say_one(speech, BF_SAY_AT,
					bf_say_one(speech, BF_SAY_PAST_EVERY_HOUR, past)),
			false};
}

/* Hours in an even row from midnight. */
static struct belfry_str say_hour_steps(struct bf_speech *speech, const struct clock *clock,
		const struct bf_progression *row, struct belfry_str past)
{
	struct belfry_str every = say_every(speech, row->step * 3600);

	if (is_even(row, 24)) {
		return past.len == 0
				? every
				: bf_say_two(speech, BF_SAY_EVERY_AT, every,
						  bf_say_one(speech, BF_SAY_PAST_THE_HOUR, past));
	}
	struct belfry_str times = say_times(speech, clock, BF_SAY_AND);
	if (past.len == 0) {
		return bf_say_two(speech, BF_SAY_FROM_MIDNIGHT, every, times);
	}
	return bf_say(speech, BF_SAY_FROM_CLOCK,
			(struct belfry_str[]){every,
					bf_say_clock(speech, next_time(clock, -1), false), times});
}

static struct bf_clock_phrase say_one_minute(struct bf_speech *speech, const struct clock *clock)
{
	struct belfry_str past = say_past(speech, clock);
	struct bf_progression row = {0};

	if (clock->hours == ALL_HOURS) {
		return say_every_hour(speech, past);
	}
	if (bf_set_progression(clock->hours, &row) && is_whole(&row, 24)) {
		return (struct bf_clock_phrase){say_hour_steps(speech, clock, &row, past), true};
	}
	if (bf_set_count(clock->hours) <= TIMES_SHOWN_MAX) {
		return (struct bf_clock_phrase){
				bf_say_one(speech, BF_SAY_WHENEVER,
						say_times(speech, clock, BF_SAY_OR)),
				false};
	}
	struct belfry_str start = past.len == 0
			? bf_say(speech, BF_SAY_ON_THE_HOUR, NULL)
			: bf_say_one(speech, BF_SAY_AT,
					  bf_say_one(speech, BF_SAY_PAST_THE_HOUR, past));
	return (struct bf_clock_phrase){with_hours(speech, clock, start), false};
}

/* --- fixed times --- */

static struct belfry_str say_row(struct bf_speech *speech, const struct clock *clock,
		const struct bf_progression *row)
{
	bool is_long = clock->second != 0;

	return bf_say(speech, BF_SAY_EVERY_FROM_TO,
			(struct belfry_str[]){say_every(speech, row->step),
					bf_say_clock(speech, row->first, is_long),
					bf_say_clock(speech, row->last, is_long)});
}

static struct belfry_str say_fixed_times(struct bf_speech *speech, const struct clock *clock)
{
	int only = count_times(clock) == 1 ? next_time(clock, -1) : -1;

	if (only == 0) {
		return bf_say_one(speech, BF_SAY_AT, bf_say(speech, BF_SAY_MIDNIGHT, NULL));
	}
	if (only == 43200) {
		return bf_say_one(speech, BF_SAY_AT, bf_say(speech, BF_SAY_NOON, NULL));
	}
	return bf_say_one(speech, BF_SAY_AT, say_times(speech, clock, BF_SAY_AND));
}

static struct belfry_str say_fixed_sets(struct bf_speech *speech, const struct clock *clock,
		bool *ret_is_every)
{
	bool is_one_hour = bf_set_count(clock->hours) == 1;
	struct belfry_str hours = bf_say_set(speech, clock->hours, bf_say_two_digits);

	*ret_is_every = false;
	if (clock->second == 0) {
		return bf_say_two(speech, is_one_hour ? BF_SAY_PAST_ONE_HOUR : BF_SAY_PAST_HOURS,
				say_minutes(speech, clock->minutes), hours);
	}
	return bf_say(speech, BF_SAY_OF_MINUTES,
			(struct belfry_str[]){say_second_rhythm(speech, clock, ret_is_every),
					bf_say_one(speech,
							clock->minute >= 0 ? BF_SAY_THE_MINUTE
									   : BF_SAY_THE_MINUTES,
							bf_say_set(speech, clock->minutes,
									bf_say_number)),
					bf_say_one(speech,
							is_one_hour ? BF_SAY_THE_HOUR
								    : BF_SAY_THE_HOURS,
							hours)});
}

static struct bf_clock_phrase say_fixed(struct bf_speech *speech, const struct clock *clock)
{
	struct bf_clock_phrase phrase = {.is_every = false};
	struct bf_progression row = {0};
	bool is_row = find_row(clock, &row);

	if (is_row && row.count >= (row.step == 3600 ? HOURS_ROW_FROM : ROW_FROM)) {
		return (struct bf_clock_phrase){say_row(speech, clock, &row), true};
	}
	if (count_times(clock) <= TIMES_SHOWN_MAX) {
		return (struct bf_clock_phrase){say_fixed_times(speech, clock), false};
	}
	phrase.text = say_fixed_sets(speech, clock, &phrase.is_every);
	return phrase;
}

static struct clock clock_of(const struct bf_cron *cron, bool has_all_days)
{
	return (struct clock){
			.cron = cron,
			.seconds = cron->seconds,
			.minutes = cron->minutes,
			.hours = cron->hours,
			.second = only_member(cron->seconds),
			.minute = only_member(cron->minutes),
			.has_all_days = has_all_days,
	};
}

struct bf_clock_phrase bf_explain_clock(struct bf_speech *speech, const struct bf_cron *cron,
		bool has_all_days)
{
	const struct clock clock = clock_of(cron, has_all_days);

	if (cron->is_fixed) {
		return say_fixed(speech, &clock);
	}
	if (clock.second < 0) {
		return say_many_seconds(speech, &clock);
	}
	return clock.minute >= 0 ? say_one_minute(speech, &clock)
				 : say_several_minutes(speech, &clock);
}

struct belfry_str bf_explain_covered(struct bf_speech *speech, const struct bf_cron *cron,
		bool has_all_days)
{
	struct bf_cron minutes = *cron;

	if (cron->seconds != ALL_SECONDS) {
		return bf_explain_clock(speech, cron, has_all_days).text;
	}
	if (cron->minutes == ALL_MINUTES) {
		const struct clock clock = clock_of(cron, has_all_days);
		return say_hours(speech, &clock);
	}
	minutes.seconds = 1; /* whole minutes are told like minutes */
	return bf_explain_clock(speech, &minutes, has_all_days).text;
}
