/* What may surprise in a rule, each with the facts of this rule, this zone and this year.
 *
 * Codes are stable; who reads them by machine goes by these. A warning is about what the rule does and
 * differs from what its writer may have meant; what it costs is no warning.
 *
 * Not here   the words (explain_words.def). */
#include "calendar/explain.h"

#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/cron_field.h"

#define ALL_DAYS   UINT32_C(0xfffffffe)
#define ALL_WEEK   UINT32_C(0x7f)
#define ALL_MONTHS UINT32_C(0x1ffe)
#define ALL_HOURS  UINT32_C(0xffffff)
#define LOOK_AHEAD (366 * BELFRY_DAY)
#define DUE_LOOKED 5 /* due times that are looked at for long pauses */
#define FEBRUARY   2
#define LEAP_YEARS 8 /* the longest way from one leap year to the next */

struct warner {
	struct bf_speech *speech;
	const struct belfry_rule *rule;
	belfry_time now;
	int64_t year; /* of now, in the zone */
	struct bf_warnings *list;
};

static void warn(struct warner *w, const char *code, struct belfry_str text)
{
	struct bf_warnings *list = w->list;

	for (size_t i = 0; i < list->count; i++) {
		if (strcmp(list->list[i].code, code) == 0 &&
				bf_str_equal(list->list[i].text, text)) {
			return;
		}
	}
	if (list->count < BF_WARNINGS_MAX) {
		list->list[list->count++] = (struct belfry_rule_warning){code, text};
	}
}

static struct belfry_str say_count(struct bf_speech *speech, enum bf_phrase one,
		enum bf_phrase many, int count)
{
	return count == 1 ? bf_say(speech, one, NULL)
			  : bf_say_one(speech, many, bf_say_number(speech, count));
}

/* --- the day fields --- */

static void warn_of_day_rule(struct warner *w, const struct bf_cron *cron)
{
	const struct bf_cron_days *days = &cron->special;
	bool has_month = (days->dom & ALL_DAYS) == ALL_DAYS;
	bool has_week = (days->dow & ALL_WEEK) == ALL_WEEK;

	if (has_month || has_week) {
		return;
	}
	if (days->is_either) {
		warn(w, "EITHER_DAY",
				bf_say_one(w->speech, BF_SAY_EITHER_DAY,
						bf_explain_either(w->speech, cron, false)));
	} else {
		warn(w, "STAR_STEP",
				bf_say_one(w->speech, BF_SAY_BOTH_DAYS,
						bf_explain_days(w->speech, cron, false)));
	}
}

/* Months of `year` in which a weekday comes five times. */
static uint32_t fifth_months(int64_t year, int weekday)
{
	uint32_t months = 0;

	for (int month = 1; month <= 12; month++) {
		int first = bf_weekday(bf_days_from_civil(year, month, 1));
		int day = 1 + (weekday - first + 7) % 7;
		if (day + 28 <= bf_month_length(bf_is_leap(year), month)) {
			months |= 1u << month;
		}
	}
	return months;
}

static void warn_of_fifth(struct warner *w, const struct bf_cron *cron)
{
	struct belfry_str year = bf_say_number(w->speech, (int)w->year);

	for (int day = 0; day < 7; day++) {
		uint32_t months = fifth_months(w->year, day) & cron->months;
		struct belfry_str name = bf_say_weekday(w->speech, day);
		if ((cron->special.nth_dow[5] >> day & 1u) == 0) {
			continue;
		}
		if (months == 0) {
			warn(w, "FIFTH_WEEKDAY",
					bf_say_two(w->speech, BF_SAY_FIFTH_NONE, name, year));
			continue;
		}
		struct belfry_str in = bf_say_one(w->speech, BF_SAY_IN_MONTHS,
				bf_say_runs(w->speech, months, bf_say_month));
		warn(w, "FIFTH_WEEKDAY",
				bf_say(w->speech, BF_SAY_FIFTH_SOME,
						(struct belfry_str[]){name, year, in}));
	}
}

/* The latest day from the 29th on that is named for itself: not at the end of a run from before, as in
 * 15-31, and not one of many, as in a step. 0: none. */
static int late_day(const struct bf_cron_days *days)
{
	struct bf_progression row = {0};
	uint32_t named = days->nearest;
	bool is_step = bf_set_progression(days->dom & ALL_DAYS, &row) && row.count > 3;

	if (!is_step && (days->dom >> 28 & 1u) == 0) {
		named |= days->dom;
	}
	for (int day = 31; day >= 29; day--) {
		if ((named >> day & 1u) != 0) {
			return day;
		}
	}
	return 0;
}

static int next_leap_year(const struct warner *w)
{
	int64_t today = bf_floor_div(bf_explain_local(w->rule, w->now), BELFRY_DAY);

	for (int64_t year = w->year; year <= w->year + LEAP_YEARS; year++) {
		if (bf_is_leap(year) && bf_days_from_civil(year, FEBRUARY, 29) >= today) {
			return (int)year;
		}
	}
	return (int)w->year;
}

static void warn_of_short_months(struct warner *w, const struct bf_cron *cron)
{
	int day = late_day(&cron->special);
	bool is_february_named = (cron->months & ALL_MONTHS) != ALL_MONTHS &&
			(cron->months >> FEBRUARY & 1u) != 0;
	uint32_t lacking = 0;

	for (int month = 1; month <= 12 && day != 0; month++) {
		if ((cron->months >> month & 1u) != 0 && bf_month_length(true, month) < day) {
			lacking |= 1u << month;
		}
	}
	struct belfry_str ordinal = bf_say_ordinal(w->speech, day);
	if (lacking != 0) {
		bool is_one = bf_set_count(lacking) == 1;
		warn(w, "SHORT_MONTHS",
				bf_say_two(w->speech,
						is_one ? BF_SAY_SHORT_MONTH : BF_SAY_SHORT_MONTHS,
						bf_say_runs(w->speech, lacking, bf_say_month),
						ordinal));
	} else if (day == 29 && is_february_named) {
		warn(w, "LEAP_DAY",
				bf_say_one(w->speech, BF_SAY_LEAP_DAY,
						bf_say_number(w->speech, next_leap_year(w))));
	} else if (day == 29 && (cron->months >> FEBRUARY & 1u) != 0) {
		warn(w, "SHORT_MONTHS", bf_say_one(w->speech, BF_SAY_SHORT_FEBRUARY, ordinal));
	}
}

/* --- steps --- */

/* What one field counts in, and how its values are said. */
struct step_words {
	enum bf_cron_field field;
	int first;
	int size; /* values of the field */
	enum bf_phrase one;
	enum bf_phrase many;
	enum bf_phrase whole;
	bf_say_item_fn item;
};

static struct belfry_str say_hour(struct bf_speech *speech, int value)
{
	return bf_say_clock(speech, value * 3600, false);
}

static const struct step_words step_words[] = {
		{BF_CRON_SECOND, 0, 60, BF_SAY_ONE_SECOND, BF_SAY_SECONDS, BF_SAY_UNIT_MINUTE,
				bf_say_colon},
		{BF_CRON_MINUTE, 0, 60, BF_SAY_ONE_MINUTE, BF_SAY_MINUTES, BF_SAY_UNIT_HOUR,
				bf_say_colon},
		{BF_CRON_HOUR, 0, 24, BF_SAY_ONE_HOUR, BF_SAY_HOURS, BF_SAY_UNIT_DAY, say_hour},
		{BF_CRON_DOM, 1, 31, BF_SAY_ONE_DAY, BF_SAY_DAYS, BF_SAY_UNIT_MONTH,
				bf_say_ordinal},
		{BF_CRON_MONTH, 1, 12, BF_SAY_ONE_MONTH, BF_SAY_MONTHS, BF_SAY_UNIT_YEAR,
				bf_say_month},
		{BF_CRON_DOW, 0, 7, BF_SAY_ONE_DAY, BF_SAY_DAYS, BF_SAY_UNIT_WEEK, bf_say_weekday},
};

static uint64_t field_set(const struct bf_cron *cron, enum bf_cron_field field)
{
	switch (field) {
	case BF_CRON_SECOND: return cron->seconds;
	case BF_CRON_MINUTE: return cron->minutes;
	case BF_CRON_HOUR: return cron->hours;
	case BF_CRON_DOM: return cron->special.dom & ALL_DAYS;
	case BF_CRON_MONTH: return cron->months & ALL_MONTHS;
	case BF_CRON_DOW: return cron->special.dow & ALL_WEEK;
	case BF_CRON_FIELDS: break;
	}
	return 0;
}

static struct belfry_str say_uneven(struct bf_speech *speech, const struct step_words *words,
		const struct bf_progression *row)
{
	int rest = words->size - (row->last - words->first);
	struct belfry_str step = say_count(speech, words->one, words->many, row->step);
	struct belfry_str last = say_count(speech, words->one, words->many, rest);

	if (words->field == BF_CRON_DOM) {
		return bf_say(speech, BF_SAY_UNEVEN_DAYS,
				(struct belfry_str[]){step, last,
						bf_say_ordinal(speech, row->last)});
	}
	return bf_say(speech, BF_SAY_UNEVEN,
			(struct belfry_str[]){step, bf_say(speech, words->whole, NULL), last,
					bf_say_two(speech, BF_SAY_TO,
							words->item(speech, row->last),
							words->item(speech, words->first))});
}

static struct belfry_str say_only(struct bf_speech *speech, const struct step_words *words)
{
	static const enum bf_phrase clocks[] = {[BF_CRON_SECOND] = BF_SAY_ONLY_SECOND,
			[BF_CRON_MINUTE] = BF_SAY_ONLY_MINUTE,
			[BF_CRON_HOUR] = BF_SAY_ONLY_HOUR};
	struct belfry_str only = words->field <= BF_CRON_HOUR
			? bf_say(speech, clocks[words->field], NULL)
			: words->item(speech, words->first);

	if (words->field == BF_CRON_DOM) {
		only = bf_say_one(speech, BF_SAY_THE, only);
	}
	return bf_say_two(speech, BF_SAY_TOO_WIDE, bf_say(speech, words->whole, NULL), only);
}

static void warn_of_steps(struct warner *w, const struct bf_cron *cron)
{
	for (size_t i = 0; i < BF_COUNT(step_words); i++) {
		const struct step_words *words = &step_words[i];
		struct bf_progression row;
		if ((cron->starred & BF_CRON_STARRED(words->field)) == 0 ||
				!bf_set_progression(field_set(cron, words->field), &row) ||
				row.first != words->first) {
			continue;
		}
		int rest = words->size - (row.last - words->first);
		if (row.count == 1) {
			warn(w, "UNEVEN_STEP", say_only(w->speech, words));
		} else if (rest < row.step) {
			warn(w, "UNEVEN_STEP", say_uneven(w->speech, words, &row));
		}
	}
}

/* --- changes of the clocks --- */

/* One change in the year ahead. Seconds. */
struct change {
	int64_t at;
	int64_t from; /* local times that are left out, or come twice: from <= t < to */
	int64_t to;
	bool is_gap;
};

static int second_of_day(int64_t second)
{
	return (int)(second - bf_floor_div(second, BF_DAY_S) * BF_DAY_S);
}

static struct belfry_str say_clock_at(struct bf_speech *speech, int64_t second)
{
	return bf_say_clock(speech, second_of_day(second), false);
}

static void warn_of_gap(struct warner *w, const struct change *change, int64_t local)
{
	static const enum bf_phrase phrases[] = {[BELFRY_DST_GAP_AT_END] = BF_SAY_GAP_AT_END,
			[BELFRY_DST_GAP_SKIP] = BF_SAY_GAP_SKIP,
			[BELFRY_DST_GAP_SHIFT] = BF_SAY_GAP_SHIFT};
	enum belfry_dst_gap gap = w->rule->policy.gap;
	int64_t instead = gap == BELFRY_DST_GAP_SHIFT ? local + change->to - change->from
						      : change->to;

	warn(w, "DST_GAP",
			bf_say(w->speech, phrases[gap],
					(struct belfry_str[]){say_clock_at(w->speech, local),
							bf_explain_date(w->speech,
									local * BELFRY_SECOND),
							bf_say_two(w->speech, BF_SAY_TO,
									say_clock_at(w->speech,
											change->from),
									say_clock_at(w->speech,
											change->to)),
							say_clock_at(w->speech, instead)}));
}

static void warn_of_fold(struct warner *w, int64_t local, const struct bf_due_local *both)
{
	static const enum bf_phrase phrases[] = {[BELFRY_DST_FOLD_FIRST] = BF_SAY_FOLD_FIRST,
			[BELFRY_DST_FOLD_LAST] = BF_SAY_FOLD_LAST,
			[BELFRY_DST_FOLD_BOTH] = BF_SAY_FOLD_BOTH};
	enum belfry_dst_fold fold = w->rule->policy.fold;
	int64_t due = fold == BELFRY_DST_FOLD_LAST ? both->last : both->first;

	warn(w, "DST_FOLD",
			bf_say(w->speech, phrases[fold],
					(struct belfry_str[]){say_clock_at(w->speech, local),
							bf_explain_date(w->speech,
									local * BELFRY_SECOND),
							say_clock_at(w->speech, due),
							say_clock_at(w->speech, both->last)}));
}

/* Local times of the expression in [from, to). */
static int count_local(const struct bf_cron *cron, int64_t from, int64_t to)
{
	int count = 0;

	for (int64_t at = bf_cron_next(cron, from); at < to; at = bf_cron_next(cron, at + 1)) {
		count++;
	}
	return count;
}

/* Of an interval-like expression: what is due in the hours that are left out, or come twice. How often that
 * day is told where nothing else is due. */
static void warn_of_interval(struct warner *w, const struct bf_cron *cron,
		const struct change *change, int64_t local)
{
	struct bf_speech *speech = w->speech;
	int64_t day = bf_floor_div(local, BF_DAY_S) * BF_DAY_S;
	struct belfry_str clocks = bf_say_two(speech, BF_SAY_TO, say_clock_at(speech, change->from),
			say_clock_at(speech, change->to));
	struct belfry_str text = bf_say_two(speech,
			change->is_gap ? BF_SAY_GAP_INTERVAL : BF_SAY_FOLD_INTERVAL,
			bf_explain_date(speech, local * BELFRY_SECOND), clocks);

	if (w->rule->count == 1) {
		int usual = count_local(cron, day, day + BF_DAY_S);
		int touched = count_local(cron, BF_MAX(change->from, day),
				BF_MIN(change->to, day + BF_DAY_S));
		text = bf_say(speech, BF_SAY_DUE_INSTEAD,
				(struct belfry_str[]){text,
						bf_say_number(speech,
								change->is_gap ? usual - touched
									       : usual + touched),
						bf_say_number(speech, usual)});
	}
	warn(w, change->is_gap ? "DST_GAP" : "DST_FOLD", text);
}

/* A local second that the part names as a fixed time, and that the change leaves out or brings twice;
 * or that an interval-like one confined to some hours does; or some other. */
static int64_t touched_second(const struct bf_part *part, const struct change *change)
{
	switch (part->kind) {
	case BF_PART_CRON:
		return part->of.cron.is_fixed || part->of.cron.hours != ALL_HOURS
				? bf_cron_next(&part->of.cron, change->from)
				: BF_CRON_NEVER;
	case BF_PART_AT: return change->is_gap ? part->of.at.missing : part->of.at.repeated;
	case BF_PART_EVERY: break;
	}
	return BF_CRON_NEVER;
}

/* Exceptions of an expression are looked at by its search; those of instants are when they are read. */
static bool is_left_out(const struct belfry_rule *rule, const struct bf_part *part,
		const struct bf_due_local *due)
{
	return part->kind == BF_PART_AT &&
			bf_except_find(part->excepts, rule->zone, due->first * BELFRY_SECOND) !=
			NULL;
}

/* Whether the part names a fixed time that the change touches; says so. */
static bool is_touched(struct warner *w, const struct bf_part *part, const struct change *change)
{
	const struct bf_due_policy both = {w->rule->zone, BELFRY_DST_GAP_AT_END,
			BELFRY_DST_FOLD_BOTH};
	belfry_time at = change->at * BELFRY_SECOND;
	int64_t local = touched_second(part, change);

	if (at < part->not_before || at > part->not_after || local < change->from ||
			local >= change->to || local < BF_FIRST_SECOND || local > BF_LAST_SECOND) {
		return false;
	}
	struct bf_due_local due = bf_due_local(&both, local);
	if (is_left_out(w->rule, part, &due)) {
		return false;
	}
	/* Another change may undo this one. */
	bool is_hit = change->is_gap ? due.is_missing : due.first != due.last;
	if (is_hit && part->kind == BF_PART_CRON && !part->of.cron.is_fixed) {
		warn_of_interval(w, &part->of.cron, change, local);
		return true;
	}
	if (change->is_gap && due.is_missing) {
		warn_of_gap(w, change, local);
		return true;
	}
	if (!change->is_gap && due.first != due.last) {
		warn_of_fold(w, local, &due);
		return true;
	}
	return false;
}

static bool is_any_touched(struct warner *w, const struct change *change)
{
	for (size_t i = 0; i < w->rule->count; i++) {
		if (is_touched(w, &w->rule->parts[i], change)) {
			return true;
		}
	}
	return false;
}

/* The first gap and the first fold of the year ahead that matter. */
static void warn_of_changes(struct warner *w)
{
	int64_t second = bf_floor_div(w->now, BELFRY_SECOND);
	int64_t end = bf_floor_div(bf_time_add(w->now, LOOK_AHEAD), BELFRY_SECOND);
	bool is_told[2] = {false, false};
	struct bf_span span = bf_zone_span(w->rule->zone, second);

	while (span.end < end) {
		struct bf_span next = bf_zone_span(w->rule->zone, span.end);
		struct change change = {
				.at = span.end,
				.from = span.end + BF_MIN(span.offset, next.offset),
				.to = span.end + BF_MAX(span.offset, next.offset),
				.is_gap = next.offset > span.offset,
		};
		if (!is_told[change.is_gap]) {
			is_told[change.is_gap] = is_any_touched(w, &change);
		}
		span = next;
	}
}

/* --- exceptions --- */

/* Whether their fields already say that no local time is of both. */
static bool is_apart(const struct bf_cron *a, const struct bf_cron *b)
{
	return (a->seconds & b->seconds) == 0 || (a->minutes & b->minutes) == 0 ||
			(a->hours & b->hours) == 0 || (a->months & b->months & ALL_MONTHS) == 0;
}

/* Exceptions of each expression are compared with those for which they hold; what is none, or may meet on
 * some day, is not told. */
static void warn_of_idle_exceptions(struct warner *w, const struct bf_except_set *set)
{
	for (size_t i = 0; i < set->cron_count; i++) {
		bool is_idle = true;
		for (size_t j = 0; j < w->rule->count && is_idle; j++) {
			const struct bf_part *part = &w->rule->parts[j];
			is_idle = !bf_explain_holds(part->excepts, set) ||
					(part->kind == BF_PART_CRON &&
							is_apart(&part->of.cron, &set->crons[i]));
		}
		if (is_idle) {
			warn(w, "EXCEPT_NOTHING",
					bf_say_one(w->speech, BF_SAY_EXCEPT_NOTHING,
							bf_explain_exception(w->speech,
									&set->crons[i])));
		}
	}
}

/* --- due times --- */

static void warn_of_rarity(struct warner *w)
{
	belfry_time before = w->now;
	belfry_time due;

	if (belfry_rule_next(w->rule, before, &due) != BELFRY_OK) {
		warn(w, "NEVER", bf_say(w->speech, BF_SAY_WARN_NEVER, NULL));
	}
	for (int i = 0; i < DUE_LOOKED; i++) {
		if (belfry_rule_next(w->rule, before, &due) != BELFRY_OK) {
			return;
		}
		if (bf_time_since(due, before) > LOOK_AHEAD) {
			warn(w, "RARE",
					bf_say_one(w->speech, BF_SAY_WARN_RARE,
							bf_explain_clock_on_date(w->speech, w->rule,
									due)));
			return;
		}
		before = due;
	}
}

void bf_explain_warnings(struct bf_speech *speech, const struct belfry_rule *rule, belfry_time now,
		struct bf_warnings *ret)
{
	int month;
	int day;
	struct warner w = {.speech = speech, .rule = rule, .now = now, .list = ret};

	bf_civil_from_days(bf_floor_div(bf_explain_local(rule, now), BELFRY_DAY), &w.year, &month,
			&day);
	warn_of_rarity(&w);
	for (size_t i = 0; i < rule->count; i++) {
		const struct bf_part *part = &rule->parts[i];
		if (part->kind == BF_PART_CRON && part->not_after >= now) {
			warn_of_day_rule(&w, &part->of.cron);
			warn_of_fifth(&w, &part->of.cron);
			warn_of_short_months(&w, &part->of.cron);
			warn_of_steps(&w, &part->of.cron);
		}
	}
	for (size_t i = 0; i < rule->set_count; i++) {
		if (rule->sets[i]->calendar == NULL) { /* a shared one is for other rules too */
			warn_of_idle_exceptions(&w, rule->sets[i]);
		}
	}
	warn_of_changes(&w);
}
