/* What a rule leaves out and where it ends, in words.
 *
 * Of exceptions those are told that may still matter: dates and instants that are past by `now` are not. Of
 * many the first few are told and the others counted; of a shared calendar its name.
 *
 * Not here   windows, which belong to the parts (explain.c). */
#include "calendar/explain.h"

#include "base/assert.h"
#include "base/timefmt.h"
#include "calendar/civil.h"

#define SHOWN_MAX 3 /* of each kind */
#define ITEMS_MAX (4 * (SHOWN_MAX + 1))
#define BYTES_MAX 250 /* of all items; those behind are counted */
#define RUN_FROM  3   /* days that follow each other */

/* The exceptions that are told, and how many of each kind are not. */
struct left_out {
	struct bf_speech *speech;
	const struct belfry_rule *rule;
	belfry_time now;
	struct belfry_str items[ITEMS_MAX];
	size_t count;
	size_t bytes;
	size_t of_kind; /* items told of the kind at work */
	int more;       /* and not told */
};

static void begin_kind(struct left_out *out)
{
	out->of_kind = 0;
	out->more = 0;
}

static void put(struct left_out *out, struct belfry_str item)
{
	BF_ASSERT(out->count < ITEMS_MAX);
	out->items[out->count++] = item;
	out->bytes += item.len;
}

/* Whether nothing more of this kind is told, so that no words need be made for it. */
static bool is_full(const struct left_out *out)
{
	return out->of_kind == SHOWN_MAX;
}

/* Told where there is room, else counted as `of`. */
static void put_or_count(struct left_out *out, struct belfry_str item, int of)
{
	if (out->bytes + item.len > BYTES_MAX) {
		out->of_kind = SHOWN_MAX; /* in order: none behind it is told either */
		out->more += of;
		return;
	}
	out->of_kind++;
	put(out, item);
}

static void end_kind(struct left_out *out, enum bf_phrase one, enum bf_phrase many)
{
	if (out->more == 1) {
		put(out, bf_say(out->speech, one, NULL));
	} else if (out->more > 1) {
		put(out, bf_say_one(out->speech, many, bf_say_number(out->speech, out->more)));
	}
}

/* --- dates --- */

static struct belfry_str say_dates(struct left_out *out, int64_t from, int64_t to)
{
	struct belfry_str first = bf_explain_date(out->speech, from * BELFRY_DAY);

	if (from == to) {
		return bf_say_one(out->speech, BF_SAY_ON, first);
	}
	return bf_say_two(out->speech, BF_SAY_FROM_DATE_TO_DATE, first,
			bf_explain_date(out->speech, to * BELFRY_DAY));
}

static void put_dates(struct left_out *out, const struct bf_except_set *set)
{
	int64_t today = bf_floor_div(bf_explain_local(out->rule, out->now), BELFRY_DAY);

	for (size_t i = 0; i < set->date_count;) {
		size_t last = i;
		while (last + 1 < set->date_count && set->dates[last + 1] == set->dates[last] + 1) {
			last++;
		}
		bool is_run = last - i + 1 >= RUN_FROM;
		last = is_run ? last : i;
		int days = (int)(last - i + 1);
		if (set->dates[last] >= today && is_full(out)) {
			out->more += days;
		} else if (set->dates[last] >= today) {
			put_or_count(out, say_dates(out, set->dates[i], set->dates[last]), days);
		}
		i = last + 1;
	}
}

/* --- the other kinds --- */

static void put_instants(struct left_out *out, const struct bf_except_set *set)
{
	for (size_t i = 0; i < set->instant_count; i++) {
		if (set->instants[i] < out->now) {
			continue;
		}
		if (is_full(out)) {
			out->more++;
			continue;
		}
		put_or_count(out,
				bf_say_one(out->speech, BF_SAY_AT,
						bf_explain_clock_on_date(out->speech, out->rule,
								set->instants[i])),
				1);
	}
}

struct belfry_str bf_explain_exception(struct bf_speech *speech, const struct bf_cron *cron)
{
	struct belfry_str clock = bf_explain_covered(speech, cron, bf_explain_has_all_days(cron));
	struct belfry_str days = bf_explain_days(speech, cron, true);

	if (clock.len == 0 || days.len == 0) {
		return clock.len == 0 ? days : clock;
	}
	return bf_say_two(speech, BF_SAY_THEN, clock, days);
}

static void put_expressions(struct left_out *out, const struct bf_except_set *set)
{
	for (size_t i = 0; i < set->cron_count; i++) {
		if (is_full(out)) {
			out->more++;
		} else {
			put_or_count(out, bf_explain_exception(out->speech, &set->crons[i]), 1);
		}
	}
}

static void put_calendar(struct left_out *out, const struct bf_except_set *set)
{
	if (is_full(out)) {
		out->more++;
	} else {
		put_or_count(out, bf_say_one(out->speech, BF_SAY_CALENDAR, bf_str(set->calendar)),
				1);
	}
}

bool bf_explain_holds(const struct bf_except_set *chain, const struct bf_except_set *set)
{
	while (chain != NULL && chain != set) {
		chain = chain->outer;
	}
	return chain != NULL;
}

/* Each kind over the whole chain, in the order in which it was written: the rule's own lists,
 * or those with a name. */
static void put_kind(struct left_out *out, const struct bf_except_set *chain, bool is_named,
		void (*put_set)(struct left_out *, const struct bf_except_set *),
		enum bf_phrase one, enum bf_phrase many)
{
	begin_kind(out);
	for (size_t i = 0; i < out->rule->set_count; i++) {
		const struct bf_except_set *set = out->rule->sets[i];
		if ((set->calendar != NULL) == is_named && bf_explain_holds(chain, set)) {
			put_set(out, set);
		}
	}
	end_kind(out, one, many);
}

struct belfry_str bf_explain_with_excepts(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time now, struct belfry_str phrase, const struct bf_except_set *excepts)
{
	struct left_out out = {.speech = speech, .rule = rule, .now = now};

	put_kind(&out, excepts, false, put_expressions, BF_SAY_ONE_MORE_EXPRESSION,
			BF_SAY_MORE_EXPRESSIONS);
	put_kind(&out, excepts, false, put_dates, BF_SAY_ONE_MORE_DATE, BF_SAY_MORE_DATES);
	put_kind(&out, excepts, false, put_instants, BF_SAY_ONE_MORE_INSTANT, BF_SAY_MORE_INSTANTS);
	put_kind(&out, excepts, true, put_calendar, BF_SAY_ONE_MORE_CALENDAR,
			BF_SAY_MORE_CALENDARS);
	if (out.count == 0) {
		return phrase;
	}
	return bf_say_two(speech, BF_SAY_EXCEPT, phrase,
			bf_say_list(speech, BF_SAY_AND, out.items, out.count));
}

struct belfry_str bf_explain_with_limits(struct bf_speech *speech, const struct belfry_rule *rule,
		struct belfry_str phrase)
{
	if (rule->max_fires == 1) {
		phrase = bf_say_one(speech, BF_SAY_ONLY_ONCE, phrase);
	} else if (rule->max_fires > 1) {
		phrase = bf_say_two(speech, BF_SAY_AT_MOST, phrase,
				bf_say_number(speech, (int)rule->max_fires));
	}
	if (rule->spread > 0) {
		phrase = bf_say_two(speech, BF_SAY_SPREAD, phrase,
				bf_explain_amount(speech, rule->spread));
	}
	return phrase;
}
