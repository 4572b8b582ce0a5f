/* The day fields and the month of an expression in words.
 *
 * Invariant  each phrase gives back the days that the fields name together, whatever the month's shape.
 * Not here   the clock (explain_clock.c). */
#include "calendar/explain.h"

#include "base/assert.h"
#include "calendar/cron_field.h"

#define ALL_DAYS   UINT32_C(0xfffffffe)
#define ALL_WEEK   UINT32_C(0x7f)
#define ALL_MONTHS UINT32_C(0x1ffe)
#define ITEMS_MAX  48 /* more than both day fields together can name */
#define RUN_FROM   3

/* Phrases one behind the other. */
struct items {
	struct belfry_str list[ITEMS_MAX];
	size_t count;
};

static void put(struct items *items, struct belfry_str text)
{
	BF_ASSERT(items->count < ITEMS_MAX);
	items->list[items->count++] = text;
}

static bool has_all_month_days(const struct bf_cron_days *days)
{
	return (days->dom & ALL_DAYS) == ALL_DAYS;
}

static bool has_all_week_days(const struct bf_cron_days *days)
{
	return (days->dow & ALL_WEEK) == ALL_WEEK;
}

/* --- months --- */

/* The only run of three months and more that the set is, over the year's end too. */
static bool find_month_run(uint32_t months, int *ret_from, int *ret_to)
{
	uint32_t others = ~months & ALL_MONTHS;
	int count = bf_set_count(months & ALL_MONTHS);
	struct bf_progression row = {0};

	if (count < RUN_FROM || count == 12) {
		return false;
	}
	if (bf_set_progression(months & ALL_MONTHS, &row) && row.step == 1) {
		*ret_from = row.first;
		*ret_to = row.last;
		return true;
	}
	if (bf_set_progression(others, &row) && row.step <= 1) {
		*ret_from = row.last % 12 + 1;
		*ret_to = row.first - 1;
		return row.first > 1 && row.last < 12;
	}
	return false;
}

/* "of the month", "of March", "of every month from November to February". */
static struct belfry_str say_of_months(struct bf_speech *speech, uint32_t months)
{
	int from;
	int to;

	if ((months & ALL_MONTHS) == ALL_MONTHS) {
		return bf_say(speech, BF_SAY_OF_THE_MONTH, NULL);
	}
	if (find_month_run(months, &from, &to)) {
		return bf_say_two(speech, BF_SAY_OF_EVERY_MONTH_FROM_TO, bf_say_month(speech, from),
				bf_say_month(speech, to));
	}
	return bf_say_one(speech, BF_SAY_OF_MONTHS,
			bf_say_runs(speech, months & ALL_MONTHS, bf_say_month));
}

/* "in January and July", "from November to February"; empty for all. */
static struct belfry_str say_in_months(struct bf_speech *speech, uint32_t months)
{
	int from;
	int to;

	if ((months & ALL_MONTHS) == ALL_MONTHS) {
		return BF_STR("");
	}
	if (find_month_run(months, &from, &to)) {
		return bf_say_two(speech, BF_SAY_FROM_MONTH_TO_MONTH, bf_say_month(speech, from),
				bf_say_month(speech, to));
	}
	return bf_say_one(speech, BF_SAY_IN_MONTHS,
			bf_say_runs(speech, months & ALL_MONTHS, bf_say_month));
}

static struct belfry_str with_months(struct bf_speech *speech, struct belfry_str phrase,
		uint32_t months)
{
	struct belfry_str in = say_in_months(speech, months);

	if (phrase.len == 0 || in.len == 0) {
		return phrase.len == 0 ? in : phrase;
	}
	return bf_say_two(speech, BF_SAY_THEN, phrase, in);
}

/* --- days of the week --- */

/* Whether the set follows itself round the week's end without a gap. */
static bool find_week_run(uint32_t week, int *ret_from, int *ret_to)
{
	for (int from = 0; from < 7; from++) {
		int before = (from + 6) % 7;
		int length = 0;
		while (length < 7 && (week >> (from + length) % 7 & 1u) != 0) {
			length++;
		}
		if (length == bf_set_count(week) && (week >> before & 1u) == 0) {
			*ret_from = from;
			*ret_to = (from + length - 1) % 7;
			return true;
		}
	}
	return false;
}

/* The days in the order of the week from Monday, with "to" from three on. */
static void put_week_days(struct bf_speech *speech, uint32_t week, struct items *items)
{
	int from = 0;
	int to = 0;

	if (find_week_run(week, &from, &to) && bf_set_count(week) >= RUN_FROM) {
		put(items,
				bf_say_two(speech, BF_SAY_TO, bf_say_weekday(speech, from),
						bf_say_weekday(speech, to)));
		return;
	}
	bool starts_sunday = week == 3; /* Sunday and Monday, in this order */
	for (int i = 0; i < 7; i++) {
		int day = (i + (starts_sunday ? 0 : 1)) % 7;
		int length = 0;
		while (i + length < 7 && (week >> (day + length) % 7 & 1u) != 0) {
			length++;
		}
		if (length >= RUN_FROM) {
			put(items,
					bf_say_two(speech, BF_SAY_TO, bf_say_weekday(speech, day),
							bf_say_weekday(speech,
									(day + length - 1) % 7)));
			i += length - 1;
		} else if (length > 0) {
			put(items, bf_say_weekday(speech, day));
		}
	}
}

/* "every Monday", "on Monday to Friday", "every day but Wednesday". */
static struct belfry_str say_plain_week(struct bf_speech *speech, uint32_t week, bool after_every)
{
	struct items items = {.count = 0};
	uint32_t others = ~week & ALL_WEEK;

	if (bf_set_count(week) == 1) {
		return bf_say_one(speech, after_every ? BF_SAY_ON_WEEKDAYS : BF_SAY_EVERY_WEEKDAY,
				bf_say_weekday(speech, bf_set_lowest(week)));
	}
	if (bf_set_count(others) == 1 && others != 1) {
		return bf_say_one(speech, BF_SAY_EVERY_DAY_BUT,
				bf_say_weekday(speech, bf_set_lowest(others)));
	}
	put_week_days(speech, week, &items);
	return bf_say_one(speech, BF_SAY_ON,
			bf_say_list(speech, BF_SAY_AND, items.list, items.count));
}

/* "the second Monday", "the first Monday", "the last Friday". */
static void put_special_week_days(struct bf_speech *speech, const struct bf_cron_days *days,
		struct items *items)
{
	for (int nth = 1; nth <= 5; nth++) {
		for (int i = 0; i < 7; i++) {
			int day = (i + 1) % 7;
			if ((days->nth_dow[nth] >> day & 1u) != 0) {
				put(items,
						bf_say_two(speech, BF_SAY_NTH_WEEKDAY,
								bf_say(speech,
										(enum bf_phrase)(
												BF_SAY_FIRST +
												nth -
												1),
										NULL),
								bf_say_weekday(speech, day)));
			}
		}
	}
	for (int i = 0; i < 7; i++) {
		int day = (i + 1) % 7;
		if ((days->last_dow >> day & 1u) != 0) {
			put(items,
					bf_say_one(speech, BF_SAY_LAST_WEEKDAY,
							bf_say_weekday(speech, day)));
		}
	}
}

/* What day-of-week names, with its months. */
struct belfry_str bf_explain_week_days(struct bf_speech *speech, const struct bf_cron *cron,
		bool after_every)
{
	const struct bf_cron_days *days = &cron->special;
	struct items items = {.count = 0};
	struct belfry_str plain = BF_STR("");

	if ((days->dow & ALL_WEEK) != 0) {
		plain = say_plain_week(speech, days->dow & ALL_WEEK, after_every);
	}
	put_special_week_days(speech, days, &items);
	if (items.count == 0) {
		return with_months(speech, plain, cron->months);
	}
	struct belfry_str special = bf_say_two(speech, BF_SAY_ON_OF,
			bf_say_list(speech, BF_SAY_AND, items.list, items.count),
			say_of_months(speech, cron->months));
	return plain.len == 0 ? special
			      : bf_say_two(speech, BF_SAY_ALSO_ON,
						with_months(speech, plain, cron->months), special);
}

/* --- days of the month --- */

static void put_before_last(struct bf_speech *speech, uint32_t set, struct items *items)
{
	uint32_t others = set & ~3u;

	if (others != 0) {
		put(items,
				bf_say_one(speech,
						bf_set_count(others) == 1 ? BF_SAY_NTH_BEFORE_LAST
									  : BF_SAY_NTHS_BEFORE_LAST,
						bf_say_set(speech, others, bf_say_ordinal)));
	}
	if ((set & 2u) != 0) {
		put(items, bf_say(speech, BF_SAY_DAY_BEFORE_LAST, NULL));
	}
	if ((set & 1u) != 0) {
		put(items, bf_say(speech, BF_SAY_LAST_DAY, NULL));
	}
}

static void put_month_days(struct bf_speech *speech, const struct bf_cron_days *days,
		struct items *items)
{
	if ((days->dom & ALL_DAYS) != 0) {
		put(items,
				bf_say_one(speech, BF_SAY_THE,
						bf_say_set(speech, days->dom & ALL_DAYS,
								bf_say_ordinal)));
	}
	put_before_last(speech, days->before_last, items);
	if (days->nearest != 0) {
		put(items,
				bf_say_one(speech,
						bf_set_count(days->nearest) == 1
								? BF_SAY_NEAREST
								: BF_SAY_NEAREST_SEVERAL,
						bf_say_set(speech, days->nearest, bf_say_ordinal)));
	}
	if (days->has_last_weekday) {
		put(items, bf_say(speech, BF_SAY_LAST_WORKDAY, NULL));
	}
}

static bool is_plain(const struct bf_cron_days *days)
{
	return days->before_last == 0 && days->nearest == 0 && !days->has_last_weekday;
}

/* What day-of-month names, with its months. */
struct belfry_str bf_explain_month_days(struct bf_speech *speech, const struct bf_cron *cron)
{
	const struct bf_cron_days *days = &cron->special;
	uint32_t months = cron->months & ALL_MONTHS;
	struct bf_progression row = {0};
	struct items items = {.count = 0};

	bool is_row = is_plain(days) && bf_set_progression(days->dom & ALL_DAYS, &row);
	if (is_row && row.count == 1 && bf_set_count(months) == 1) {
		return bf_say_two(speech, BF_SAY_ON_DATE, bf_say_number(speech, row.first),
				bf_say_month(speech, bf_set_lowest(months)));
	}
	if (is_row && row.count >= RUN_FROM && row.step == 1) {
		return bf_say(speech, BF_SAY_FROM_THE_TO_THE,
				(struct belfry_str[]){bf_say_ordinal(speech, row.first),
						bf_say_ordinal(speech, row.last),
						say_of_months(speech, months)});
	}
	put_month_days(speech, days, &items);
	return bf_say_two(speech, BF_SAY_ON_OF,
			bf_say_list(speech, BF_SAY_AND, items.list, items.count),
			say_of_months(speech, months));
}

/* --- both --- */

/* Both fields leave days out, and one of them begins with a star: both must name the day. */
static struct belfry_str say_both(struct bf_speech *speech, const struct bf_cron *cron,
		bool after_every)
{
	struct bf_cron all_year = *cron;
	bool is_month_first = (cron->starred & BF_CRON_STARRED(BF_CRON_DOW)) != 0 &&
			(cron->starred & BF_CRON_STARRED(BF_CRON_DOM)) == 0;

	all_year.months = ALL_MONTHS;
	if (is_month_first) {
		return bf_say_two(speech, BF_SAY_BOTH, bf_explain_month_days(speech, cron),
				bf_explain_week_days(speech, &all_year, true));
	}
	return bf_say_two(speech, BF_SAY_BOTH, bf_explain_week_days(speech, cron, after_every),
			bf_explain_month_days(speech, &all_year));
}

struct belfry_str bf_explain_either(struct bf_speech *speech, const struct bf_cron *cron,
		bool after_every)
{
	struct bf_cron told = *cron;
	bool is_one_month = bf_set_count(cron->months & ALL_MONTHS) == 1;

	if (!is_one_month) {
		told.months = ALL_MONTHS; /* they are told once, behind both */
	}
	struct belfry_str either = bf_say_two(speech, BF_SAY_EITHER,
			bf_explain_month_days(speech, &told),
			bf_explain_week_days(speech, &told, after_every));
	struct belfry_str in = say_in_months(speech, cron->months);
	return is_one_month || in.len == 0 ? either : bf_say_two(speech, BF_SAY_ONLY, either, in);
}

bool bf_explain_has_all_days(const struct bf_cron *cron)
{
	const struct bf_cron_days *days = &cron->special;
	bool has_month = has_all_month_days(days);
	bool has_week = has_all_week_days(days);
	bool has_days = days->is_either ? has_month || has_week : has_month && has_week;

	return has_days && (cron->months & ALL_MONTHS) == ALL_MONTHS;
}

struct belfry_str bf_explain_days(struct bf_speech *speech, const struct bf_cron *cron,
		bool after_every)
{
	const struct bf_cron_days *days = &cron->special;
	bool has_month = has_all_month_days(days);
	bool has_week = has_all_week_days(days);

	if ((has_month && has_week) || (days->is_either && (has_month || has_week))) {
		struct belfry_str every = after_every || !cron->is_fixed
				? BF_STR("")
				: bf_say(speech, BF_SAY_EVERY_DAY, NULL);
		return with_months(speech, every, cron->months);
	}
	if (days->is_either) {
		return bf_explain_either(speech, cron, after_every);
	}
	if (has_month) {
		return bf_explain_week_days(speech, cron, after_every);
	}
	return has_week ? bf_explain_month_days(speech, cron) : say_both(speech, cron, after_every);
}
