/* Exceptions: which days survive, and the search for local seconds that do.
 *
 * An exception that has every time of its days takes days away: bits of a table. One that has some times
 * ("partial") is compared hour by hour on the days that it names, both when the table is made, to see
 * whether anything of a day is left, and while a day is searched. A day depends on the month and on the
 * weekday of its 1st alone, so there are 13 times 7 months to look at.
 *
 * Invariant  a day in the table has a second that survives; so a search ends on the first day that it finds
 *            there, but for the dates, which are looked up one by one.
 * Not here   JSON (rule_except.c), zones and policies (due.c). */
#include "calendar/except.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"
#include "calendar/civil.h"

#define ALL_SIXTY    ((UINT64_C(1) << 60) - 1)
#define ALL_HOURS    ((1u << 24) - 1)
#define LEAP_MONTH   12 /* the row of a leap year's February */
#define MEMORY_SLOTS 64

/* The exceptions that name one day. */
struct matching {
	const struct bf_cron *crons[BF_EXCEPT_PARTIAL_MAX];
	size_t count;
};

void bf_except_set_free(struct bf_except_set *set)
{
	if (set != NULL) {
		bf_free(set->calendar);
		bf_free(set->dates);
		bf_free(set->crons);
		bf_free(set->instants);
		bf_free(set);
	}
}

void bf_except_free(struct bf_except *except)
{
	if (except != NULL) {
		bf_free(except->partial);
		bf_free(except);
	}
}

static int lowest(uint64_t set)
{
	return __builtin_ctzll(set);
}

/* ---- within a day ------------------------------------------------------------------------------ */

/* The first second >= from of one minute that no exception has; -1: none. */
static int free_second(const struct bf_cron *cron, const struct matching *m, int hour, int minute,
		int from)
{
	uint64_t seconds = cron->seconds;

	for (size_t i = 0; i < m->count; i++) {
		const struct bf_cron *e = m->crons[i];
		if (e->hours >> hour & 1u && e->minutes >> minute & 1u) {
			seconds &= ~e->seconds;
		}
	}
	seconds = seconds >> from << from;
	return seconds != 0 ? lowest(seconds) : -1;
}

/* The minutes >= from of one hour that no exception has whole. */
static uint64_t free_minutes(const struct bf_cron *cron, const struct matching *m, int hour,
		int from)
{
	uint64_t minutes = cron->minutes;

	for (size_t i = 0; i < m->count; i++) {
		const struct bf_cron *e = m->crons[i];
		if (e->hours >> hour & 1u && e->seconds == ALL_SIXTY) {
			minutes &= ~e->minutes;
		}
	}
	return minutes >> from << from;
}

/* The first time of day >= second that survives; -1: none. */
static int32_t free_time(const struct bf_cron *cron, const struct matching *m, int32_t second)
{
	int first_hour = second / 3600;
	int first_minute = second / 60 % 60;
	uint32_t hours = cron->hours >> first_hour << first_hour;

	for (; hours != 0; hours &= hours - 1) {
		int hour = lowest(hours);
		bool is_first_hour = hour == first_hour;
		uint64_t minutes = free_minutes(cron, m, hour, is_first_hour ? first_minute : 0);
		for (; minutes != 0; minutes &= minutes - 1) {
			int minute = lowest(minutes);
			bool is_first = is_first_hour && minute == first_minute;
			int found = free_second(cron, m, hour, minute, is_first ? second % 60 : 0);
			if (found >= 0) {
				return hour * 3600 + minute * 60 + found;
			}
		}
	}
	return -1;
}

/* ---- which days survive ------------------------------------------------------------------------ */

/* The days that an expression names in a month of this shape. */
static uint32_t month_of(const struct bf_cron *cron, int month, int length, int first_weekday)
{
	return cron->months >> month & 1u ? cron->days[length - 28][first_weekday] : 0;
}

static bool is_whole_days(const struct bf_cron *cron)
{
	return cron->hours == ALL_HOURS && cron->minutes == ALL_SIXTY && cron->seconds == ALL_SIXTY;
}

/* Whether a set of partial exceptions (bit i: partial[i]) leaves anything of a day: most days of a rule
 * have the same few sets, so the answers are kept. */
struct survival {
	const struct bf_cron *cron;
	const struct bf_except *except;
	uint32_t sets[MEMORY_SLOTS]; /* 0: empty slot */
	bool answers[MEMORY_SLOTS];
};

static bool survives(struct survival *s, uint32_t set)
{
	size_t slot = (set ^ set >> 6) % MEMORY_SLOTS;

	if (s->sets[slot] != set) {
		struct matching m = {.count = 0};
		for (uint32_t rest = set; rest != 0; rest &= rest - 1) {
			m.crons[m.count++] = s->except->partial[lowest(rest)];
		}
		s->sets[slot] = set;
		s->answers[slot] = free_time(s->cron, &m, 0) >= 0;
	}
	return s->answers[slot];
}

/* Takes out of `days` those of which the partial exceptions leave nothing. */
static uint32_t drop_eaten_days(struct survival *s, uint32_t days, int month, int length,
		int first_weekday)
{
	uint32_t named[BF_EXCEPT_PARTIAL_MAX];
	uint32_t any = 0;

	for (size_t i = 0; i < s->except->partial_count; i++) {
		named[i] = month_of(s->except->partial[i], month, length, first_weekday);
		any |= named[i];
	}
	for (uint32_t rest = days & any; rest != 0; rest &= rest - 1) {
		int day = lowest(rest);
		uint32_t set = 0;
		for (size_t i = 0; i < s->except->partial_count; i++) {
			set |= (named[i] >> day & 1u) << i;
		}
		if (!survives(s, set)) {
			days &= ~(1u << day);
		}
	}
	return days;
}

static uint32_t drop_whole_days(const struct bf_except_set *set, uint32_t days, int month,
		int length, int first_weekday)
{
	for (; set != NULL && days != 0; set = set->outer) {
		for (size_t i = 0; i < set->cron_count; i++) {
			if (is_whole_days(&set->crons[i])) {
				days &= ~month_of(&set->crons[i], month, length, first_weekday);
			}
		}
	}
	return days;
}

static void build_days(struct survival *s, struct bf_except *except)
{
	for (int row = 0; row < 13; row++) {
		int month = row == LEAP_MONTH ? 2 : row + 1;
		int length = bf_month_length(row == LEAP_MONTH, month);
		for (int first = 0; first < 7; first++) {
			uint32_t days = month_of(s->cron, month, length, first);
			days = drop_whole_days(except->innermost, days, month, length, first);
			days = drop_eaten_days(s, days, month, length, first);
			except->days[row][first] = days;
		}
	}
}

static int row_of(bool is_leap, int month)
{
	return is_leap && month == 2 ? LEAP_MONTH : month - 1;
}

/* False: nothing is left in any year. */
static bool build_years(struct bf_except *except)
{
	uint32_t sum = 0;

	for (int type = 0; type < 14; type++) {
		bool is_leap = type >= 7;
		int first = type % 7;
		uint32_t months = 0;
		for (int month = 1; month <= 12; month++) {
			if (except->days[row_of(is_leap, month)][first] != 0) {
				months |= 1u << month;
			}
			first = (first + bf_month_length(is_leap, month)) % 7;
		}
		except->year_months[type] = (uint16_t)months;
		sum |= months;
	}
	return sum != 0;
}

static bool has_seconds(const struct bf_except *except)
{
	for (size_t i = 0; i < except->partial_count; i++) {
		if (except->partial[i]->has_seconds) {
			return true;
		}
	}
	return false;
}

static enum belfry_status check_counts(const struct bf_except *except, size_t crons, size_t partial,
		struct bf_except_sums *sums, struct belfry_error *err)
{
	if (partial > BF_EXCEPT_SECONDS_MAX && has_seconds(except)) {
		return bf_error_set(err, BELFRY_INVALID_SCHEDULE,
				"too many exceptions: at most %zu expressions that leave out some times "
				"of a day hold for one rule of a union where one has seconds",
				BF_EXCEPT_SECONDS_MAX);
	}
	sums->crons += crons;
	sums->partial += partial;
	if (partial > BF_EXCEPT_PARTIAL_MAX || sums->partial > BF_EXCEPT_PARTIAL_SUM_MAX) {
		return bf_error_set(err, BELFRY_INVALID_SCHEDULE,
				"too many exceptions: at most %zu expressions that leave out some times "
				"of a day hold for one rule of a union, %zu for all; whole days "
				"(\"* * ...\") and dates cost less",
				BF_EXCEPT_PARTIAL_MAX, BF_EXCEPT_PARTIAL_SUM_MAX);
	}
	if (crons > BF_EXCEPT_CRON_MAX || sums->crons > BF_EXCEPT_CRON_SUM_MAX) {
		return bf_error_set(err, BELFRY_INVALID_SCHEDULE,
				"too many exceptions: at most %zu expressions hold for one rule of a "
				"union, %zu for all; dates cost less",
				BF_EXCEPT_CRON_MAX, BF_EXCEPT_CRON_SUM_MAX);
	}
	return BELFRY_OK;
}

/* Collects the partial ones. */
static enum belfry_status take_crons(struct bf_except *except, struct bf_except_sums *sums,
		struct belfry_error *err)
{
	size_t crons = 0;
	size_t partial = 0;

	for (const struct bf_except_set *set = except->innermost; set != NULL; set = set->outer) {
		crons += set->cron_count;
		for (size_t i = 0; i < set->cron_count; i++) {
			if (!is_whole_days(&set->crons[i])) {
				if (partial < BF_EXCEPT_PARTIAL_MAX) {
					except->partial[partial] = &set->crons[i];
				}
				partial++;
			}
		}
	}
	except->partial_count = BF_MIN(partial, BF_EXCEPT_PARTIAL_MAX);
	return check_counts(except, crons, partial, sums, err);
}

BF_CLEANUP_POINTER(except, struct bf_except, bf_except_free)

enum belfry_status bf_except_new(const struct bf_cron *cron, const struct bf_except_set *innermost,
		struct bf_except_sums *sums, struct bf_except **ret_except,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_except) struct bf_except *except = bf_alloc(sizeof(*except));

	if (except != NULL) {
		except->innermost = innermost;
		except->partial = bf_alloc_array(BF_EXCEPT_PARTIAL_MAX, sizeof(*except->partial));
	}
	if (except == NULL || except->partial == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
	}
	enum belfry_status status = take_crons(except, sums, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct survival survival = {.cron = cron, .except = except};
	build_days(&survival, except);
	if (!build_years(except)) {
		return bf_error_set(err, BELFRY_INVALID_SCHEDULE,
				"the exceptions leave nothing of it: it can never fire");
	}
	*ret_except = BF_TAKE(except);
	return BELFRY_OK;
}

/* ---- searching --------------------------------------------------------------------------------- */

static bool has_value(const int64_t *ascending, size_t count, int64_t value)
{
	size_t low = 0;
	size_t high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (ascending[middle] < value) {
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return low < count && ascending[low] == value;
}

static bool has_date(const struct bf_except_set *set, int64_t number)
{
	return has_value(set->dates, set->date_count, number);
}

static bool is_excepted_date(const struct bf_except_set *set, int64_t number)
{
	for (; set != NULL; set = set->outer) {
		if (has_date(set, number)) {
			return true;
		}
	}
	return false;
}

/* A day being looked at. */
struct place {
	int64_t number;   /* since 1970-01-01 */
	int64_t new_year; /* the number of its year's first day */
	int64_t year;
	int month;
	int day;
	int first; /* the weekday of its month's 1st */
	bool is_leap;
};

static struct place place_of(int64_t number)
{
	struct place p = {.number = number};

	bf_civil_from_days(number, &p.year, &p.month, &p.day);
	p.is_leap = bf_is_leap(p.year);
	p.first = bf_weekday(number - (p.day - 1));
	p.new_year = number - (bf_days_before_month(p.is_leap, p.month) + p.day - 1);
	return p;
}

static void go_to(struct place *p, int month, int day)
{
	int64_t first = p->new_year + bf_days_before_month(p->is_leap, month);

	p->month = month;
	p->day = day;
	p->first = bf_weekday(first);
	p->number = first + day - 1;
}

/* The next day of the table; false: none up to the year 9999. */
static bool next_day(const struct bf_except *except, struct place *p)
{
	uint32_t days = except->days[row_of(p->is_leap, p->month)][p->first];
	uint32_t later = ~(uint32_t)0 << p->month << 1;

	days = days >> p->day >> 1;
	if (days != 0) {
		p->number += 1 + lowest(days);
		p->day += 1 + lowest(days);
		return true;
	}
	for (;;) {
		int type = (p->is_leap ? 7 : 0) + bf_weekday(p->new_year);
		uint32_t months = except->year_months[type] & later;
		if (months != 0) {
			go_to(p, lowest(months), 1);
			days = except->days[row_of(p->is_leap, p->month)][p->first];
			go_to(p, p->month, lowest(days));
			return true;
		}
		if (p->year == BF_LAST_YEAR) {
			return false;
		}
		p->new_year += p->is_leap ? 366 : 365;
		p->year++;
		p->is_leap = bf_is_leap(p->year);
		later = ~(uint32_t)0;
	}
}

/* What holds on one day: the exceptions themselves, and their bits. */
static uint32_t match_day(const struct bf_except *except, const struct place *p, struct matching *m)
{
	int length = bf_month_length(p->is_leap, p->month);
	uint32_t set = 0;

	m->count = 0;
	for (size_t i = 0; i < except->partial_count; i++) {
		const struct bf_cron *e = except->partial[i];
		if (month_of(e, p->month, length, p->first) >> p->day & 1u) {
			m->crons[m->count++] = e;
			set |= 1u << i;
		}
	}
	return set;
}

static int32_t time_on(const struct bf_cron *cron, const struct place *p, int32_t second)
{
	struct matching m;

	(void)match_day(cron->except, p, &m); /* the set itself tells nothing here */
	return free_time(cron, &m, second);
}

int64_t bf_except_next(const struct bf_cron *cron, int64_t from)
{
	const struct bf_except *except = cron->except;
	struct place p = place_of(bf_floor_div(from, BF_DAY_S));
	int32_t second = (int32_t)(from - p.number * BF_DAY_S);

	if (p.year > BF_LAST_YEAR) {
		return BF_CRON_NEVER;
	}
	bool is_there = except->days[row_of(p.is_leap, p.month)][p.first] >> p.day & 1u;
	for (;;) {
		if (is_there && !is_excepted_date(except->innermost, p.number)) {
			int32_t time = time_on(cron, &p, second);
			if (time >= 0) {
				return p.number * BF_DAY_S + time;
			}
		}
		second = 0;
		is_there = next_day(except, &p);
		if (!is_there) {
			return BF_CRON_NEVER;
		}
	}
}

/* ---- intervals --------------------------------------------------------------------------------- */

#define SECOND_US  INT64_C(1000000)
#define MINUTE_US  (60 * SECOND_US)
#define HOUR_US    (60 * MINUTE_US)
#define DAY_US     (BF_DAY_S * SECOND_US)
#define DEAD_SLOTS 16

/* One search. `dead` are sets of partial exceptions (as in struct survival) of which a whole day has shown
 * that no step survives on any day that has them. */
struct step_search {
	const struct bf_cron *seconds;
	const struct bf_except_steps *steps;
	unsigned *looks;
	uint32_t dead[DEAD_SLOTS];
};

/* The first step at or after a local time. */
static int64_t step_from(const struct bf_except_steps *steps, int64_t local)
{
	int64_t since = local - steps->anchor;

	if (since <= 0) {
		return steps->anchor;
	}
	int64_t rest = since % steps->period;
	return rest == 0 ? local : local + (steps->period - rest);
}

static bool spend(unsigned *looks)
{
	*looks -= *looks > 0 ? 1 : 0;
	return *looks > 0;
}

/* The seconds of one minute that no exception has. */
static uint64_t free_seconds(const struct matching *m, int hour, int minute)
{
	uint64_t seconds = ALL_SIXTY;

	for (size_t i = 0; i < m->count; i++) {
		const struct bf_cron *e = m->crons[i];
		if (e->hours >> hour & 1u && e->minutes >> minute & 1u) {
			seconds &= ~e->seconds;
		}
	}
	return seconds;
}

/* The first step in [from, end), which lie on one day, of steps so far apart; BF_EXCEPT_UNTIL: none. */
static int64_t step_on_day(const struct step_search *s, const struct bf_except_steps *steps,
		const struct matching *m, int64_t from, int64_t end)
{
	int64_t local = step_from(steps, from);

	while (local < end && spend(s->looks)) {
		int64_t day = bf_floor_div(local, DAY_US) * DAY_US;
		int hour = (int)((local - day) / HOUR_US);
		int minute = (int)((local - day) / MINUTE_US % 60);
		int64_t hour_start = day + hour * HOUR_US;
		uint64_t minutes = free_minutes(s->seconds, m, hour, minute);
		if (minutes == 0) {
			local = step_from(steps, hour_start + HOUR_US);
			continue;
		}
		if (lowest(minutes) > minute) {
			local = step_from(steps, hour_start + lowest(minutes) * MINUTE_US);
			continue;
		}
		uint64_t seconds = free_seconds(m, hour, minute);
		int64_t minute_end = BF_MIN(end, hour_start + (minute + 1) * MINUTE_US);
		for (; local < minute_end; local += steps->period) {
			if (seconds >> (local - day) / SECOND_US % 60 & 1u) {
				return local;
			}
		}
	}
	return BF_EXCEPT_UNTIL;
}

static int64_t common_divisor(int64_t a, int64_t b)
{
	while (b != 0) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/* On every day the steps' times of day are some of those that are a common divisor of day and period apart.
 * Where nothing of these survives, no day with these exceptions has anything. */
static bool is_dead_on_any_day(const struct step_search *s, const struct matching *m, int64_t day)
{
	int64_t apart = common_divisor(s->steps->period, DAY_US);
	struct bf_except_steps all = {.period = apart};

	if (apart < SECOND_US) {
		return false; /* all times of day are among them, and the day's table says that some survive */
	}
	all.anchor = s->steps->anchor + bf_floor_div(day - s->steps->anchor, apart) * apart;
	return step_on_day(s, &all, m, day, day + DAY_US) == BF_EXCEPT_UNTIL && *s->looks > 0;
}

/* The first step of one day that is not left out. */
static int64_t look_at_day(struct step_search *s, const struct place *p, int64_t from,
		int64_t until)
{
	int64_t day = p->number * DAY_US;
	struct matching m;
	uint32_t set = match_day(s->seconds->except, p, &m);
	uint32_t *slot = &s->dead[(set ^ set >> 4) % DEAD_SLOTS];

	if (set == 0) {
		return from;
	}
	if (*slot == set) {
		return BF_EXCEPT_UNTIL;
	}
	int64_t found = step_on_day(s, s->steps, &m, from, BF_MIN(until, day + DAY_US));
	if (found == BF_EXCEPT_UNTIL && is_dead_on_any_day(s, &m, day)) {
		*slot = set;
	}
	return found;
}

int64_t bf_except_next_step(const struct bf_cron *seconds, const struct bf_except_steps *steps,
		int64_t from, int64_t until, unsigned *looks)
{
	const struct bf_except *except = seconds->except;
	struct step_search s = {.seconds = seconds, .steps = steps, .looks = looks};
	int64_t local = step_from(steps, from);

	while (local < until && spend(looks)) {
		struct place p = place_of(bf_floor_div(local, DAY_US));
		bool is_there = p.year <= BF_LAST_YEAR &&
				except->days[row_of(p.is_leap, p.month)][p.first] >> p.day & 1u &&
				!is_excepted_date(except->innermost, p.number);
		int64_t found = is_there ? look_at_day(&s, &p, local, until) : BF_EXCEPT_UNTIL;
		if (found != BF_EXCEPT_UNTIL) {
			return found < until ? found : BF_EXCEPT_UNTIL;
		}
		if (p.year > BF_LAST_YEAR || !next_day(except, &p)) {
			return BF_EXCEPT_UNTIL;
		}
		local = step_from(steps, p.number * DAY_US);
	}
	return BF_EXCEPT_UNTIL;
}

/* ---- instants ---------------------------------------------------------------------------------- */

static bool has_instant(const struct bf_except_set *set, belfry_time at)
{
	return has_value(set->instants, set->instant_count, at);
}

bool bf_except_has_instant(const struct bf_except_set *innermost, belfry_time at)
{
	for (const struct bf_except_set *set = innermost; set != NULL; set = set->outer) {
		if (has_instant(set, at)) {
			return true;
		}
	}
	return false;
}

static bool names_local(const struct bf_except_set *set, int64_t local)
{
	bool is_named = has_date(set, bf_floor_div(local, BF_DAY_S));

	for (size_t i = 0; !is_named && i < set->cron_count; i++) {
		is_named = bf_cron_next(&set->crons[i], local) == local;
	}
	return is_named;
}

const struct bf_except_set *bf_except_find(const struct bf_except_set *innermost,
		const struct bf_zone *zone, belfry_time at)
{
	int64_t second = bf_floor_div(at, BELFRY_SECOND);
	int64_t local = second + bf_zone_span(zone, second).offset;

	for (const struct bf_except_set *set = innermost; set != NULL; set = set->outer) {
		if (has_instant(set, at) || names_local(set, local)) {
			return set;
		}
	}
	return NULL;
}
