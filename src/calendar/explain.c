/* A rule as one sentence: its parts, the zone, its limits, and when it is due next.
 *
 * Everything is said from the compiled rule, so that a rule read from anywhere, and however it was
 * written, is told in the same words. Pieces are put together in an arena of the call's own; the answer
 * alone goes to the caller's.
 *
 * Invariant  the sentence is bounded: of many parts, and of many times, the first few are told and the
 *            others counted.
 * Not here   the words (explain_words.def), warnings (explain_warn.c). */
#include "calendar/explain.h"

#include "base/assert.h"
#include "base/timefmt.h"
#include "calendar/civil.h"

#define PARTS_SHOWN_MAX 3   /* and one more: "1 more rule" is no shorter */
#define PARTS_BYTES     900 /* beyond the first part, which is told in any case */
#define TIMES_SHOWN_MAX 4
#define TIMES_SHOWN     2 /* of more than that, at the beginning */

/* The stretch of time in which a part is due. */
struct window {
	belfry_time not_before;
	belfry_time not_after;
};

static struct window window_of(const struct bf_part *part)
{
	return (struct window){part->not_before, part->not_after};
}

static struct belfry_str with_window(struct bf_speech *speech, const struct belfry_rule *rule,
		struct belfry_str phrase, struct window window)
{
	bool has_start = window.not_before > BF_RULE_FIRST_TIME;
	bool has_end = window.not_after < BF_RULE_LAST_TIME;
	struct belfry_str start = BF_STR("");
	struct belfry_str end = BF_STR("");

	if (has_start) {
		start = bf_explain_bound(speech, rule, window.not_before, true);
	}
	if (has_end) {
		end = bf_explain_bound(speech, rule, window.not_after, false);
	}
	if (has_start && has_end) {
		return bf_say(speech, BF_SAY_FROM_UNTIL, (struct belfry_str[]){phrase, start, end});
	}
	if (has_start) {
		return bf_say_two(speech, BF_SAY_FROM, phrase, start);
	}
	return has_end ? bf_say_two(speech, BF_SAY_UNTIL, phrase, end) : phrase;
}

/* --- lists of instants --- */

static struct belfry_str say_at(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time time)
{
	return bf_say_one(speech, BF_SAY_AT, bf_explain_clock_on_date(speech, rule, time));
}

/* The times of the part that its window leaves: a slice of the list. */
static const belfry_time *times_in_window(const struct bf_part *part, size_t *ret_count)
{
	const belfry_time *times = part->of.at.times;
	size_t first = 0;
	size_t end = part->of.at.count;

	while (first < end && times[first] < part->not_before) {
		first++;
	}
	while (end > first && times[end - 1] > part->not_after) {
		end--;
	}
	*ret_count = end - first;
	return times + first;
}

/* "at 09:00 and 18:00 on 24 December 2026", where the few times are all of one day. */
static bool is_one_day(const struct belfry_rule *rule, const belfry_time *times, size_t count)
{
	return bf_floor_div(bf_explain_local(rule, times[0]), BELFRY_DAY) ==
			bf_floor_div(bf_explain_local(rule, times[count - 1]), BELFRY_DAY);
}

static struct belfry_str say_few(struct bf_speech *speech, const struct belfry_rule *rule,
		const belfry_time *times, size_t count)
{
	struct belfry_str items[TIMES_SHOWN_MAX];
	bool is_one = is_one_day(rule, times, count);

	for (size_t i = 0; i < count; i++) {
		items[i] = is_one ? bf_explain_clock_of(speech, rule, times[i])
				  : say_at(speech, rule, times[i]);
	}
	struct belfry_str list = bf_say_list(speech, BF_SAY_AND, items, count);
	if (!is_one) {
		return list;
	}
	return bf_say_one(speech, BF_SAY_AT,
			bf_say_two(speech, BF_SAY_CLOCK_ON_DATE, list,
					bf_explain_date(speech, bf_explain_local(rule, times[0]))));
}

static struct belfry_str say_times(struct bf_speech *speech, const struct belfry_rule *rule,
		const struct bf_part *part)
{
	size_t count;
	const belfry_time *times = times_in_window(part, &count);

	if (count == 1) {
		return bf_say_one(speech, BF_SAY_ONCE_AT,
				bf_explain_clock_on_date(speech, rule, times[0]));
	}
	if (count <= TIMES_SHOWN_MAX) {
		return say_few(speech, rule, times, count);
	}
	return bf_say(speech, BF_SAY_MORE_TIMES,
			(struct belfry_str[]){bf_say_two(speech, BF_SAY_COMMA,
							      say_at(speech, rule, times[0]),
							      say_at(speech, rule, times[1])),
					bf_say_number(speech, (int)(count - TIMES_SHOWN)),
					bf_explain_clock_on_date(speech, rule, times[count - 1])});
}

/* --- parts --- */

static struct belfry_str say_cron(struct bf_speech *speech, const struct bf_cron *cron)
{
	struct bf_clock_phrase clock = bf_explain_clock(speech, cron,
			bf_explain_has_all_days(cron));
	struct belfry_str days = bf_explain_days(speech, cron, clock.is_every || !cron->is_fixed);

	return days.len == 0 ? clock.text : bf_say_two(speech, BF_SAY_THEN, clock.text, days);
}

static struct belfry_str say_part(struct bf_speech *speech, const struct belfry_rule *rule,
		const struct bf_part *part)
{
	switch (part->kind) {
	case BF_PART_CRON: return say_cron(speech, &part->of.cron);
	case BF_PART_AT: return say_times(speech, rule, part);
	case BF_PART_EVERY: break;
	}
	if (part->of.every.is_anchor_default) {
		return bf_say_one(speech, BF_SAY_ELAPSED_FROM_MADE,
				bf_explain_period(speech, part->of.every.period));
	}
	return bf_say_two(speech, BF_SAY_ELAPSED_FROM,
			bf_explain_period(speech, part->of.every.period),
			bf_explain_clock_on_date(speech, rule, part->of.every.anchor));
}

/* A list of times of which the window leaves none is as good as not there. */
static bool is_empty(const struct bf_part *part)
{
	size_t count = 1;

	if (part->kind == BF_PART_AT) {
		(void)times_in_window(part, &count); /* for the count alone */
	}
	return count == 0;
}

/* The window is told once where all parts share it; of times it has been carried out already. */
static bool find_common_window(const struct belfry_rule *rule, struct window *ret)
{
	bool has_other = false;

	for (size_t i = 0; i < rule->count; i++) {
		struct window window = window_of(&rule->parts[i]);
		if (i > 0 &&
				(ret->not_before != window.not_before ||
						ret->not_after != window.not_after)) {
			return false;
		}
		*ret = window;
		has_other = has_other || rule->parts[i].kind != BF_PART_AT;
	}
	return has_other;
}

static struct belfry_str join_parts(struct bf_speech *speech, const struct belfry_str *parts,
		size_t shown, size_t count)
{
	struct belfry_str text = parts[0];

	for (size_t i = 1; i < shown; i++) {
		bool is_last = i + 1 == count;
		text = bf_say_two(speech, is_last ? BF_SAY_AND_ALSO : BF_SAY_SEMICOLON, text,
				parts[i]);
	}
	if (shown == count) {
		return text;
	}
	return count - shown == 1 ? bf_say_one(speech, BF_SAY_ONE_MORE_RULE, text)
				  : bf_say_two(speech, BF_SAY_MORE_RULES, text,
						    bf_say_number(speech, (int)(count - shown)));
}

/* How many of the parts are told: the first, and others as long as they are few and short. */
static size_t count_shown(const struct belfry_str *parts, size_t count)
{
	size_t most = count <= PARTS_SHOWN_MAX + 1 ? count : PARTS_SHOWN_MAX;
	size_t bytes = parts[0].len;
	size_t shown = 1;

	while (shown < most && bytes + parts[shown].len <= PARTS_BYTES) {
		bytes += parts[shown++].len;
	}
	return shown;
}

/* What all parts share is told once, behind the zone. */
struct common {
	bool has_window;
	struct window window;
	bool has_excepts;
};

static struct common find_common(const struct belfry_rule *rule)
{
	struct common common = {.has_excepts = true};

	common.has_window = find_common_window(rule, &common.window);
	for (size_t i = 1; i < rule->count; i++) {
		common.has_excepts = common.has_excepts &&
				rule->parts[i].excepts == rule->parts[0].excepts;
	}
	return common;
}

static struct belfry_str say_whole_part(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time now, const struct bf_part *part, const struct common *common)
{
	struct belfry_str said = say_part(speech, rule, part);

	if (!common->has_window && part->kind != BF_PART_AT) {
		said = with_window(speech, rule, said, window_of(part));
	}
	return common->has_excepts
			? said
			: bf_explain_with_excepts(speech, rule, now, said, part->excepts);
}

/* All parts, with the zone and what they share behind them. */
static struct belfry_str say_parts(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time now)
{
	struct belfry_str parts[PARTS_SHOWN_MAX + 1];
	struct common common = find_common(rule);
	size_t count = 0;

	for (size_t i = 0; i < rule->count; i++) {
		const struct bf_part *part = &rule->parts[i];
		if (is_empty(part)) {
			continue;
		}
		if (count < BF_COUNT(parts)) {
			parts[count] = say_whole_part(speech, rule, now, part, &common);
		}
		count++;
	}
	BF_ASSERT(count > 0); /* a rule has a due time */
	size_t shown = count_shown(parts, count);
	struct belfry_str text = bf_say_two(speech,
			count == 1 ? BF_SAY_IN_ZONE : BF_SAY_ALL_IN_ZONE,
			join_parts(speech, parts, shown, count),
			bf_explain_zone(speech, bf_str(rule->zone->name)));
	if (common.has_window) {
		text = with_window(speech, rule, text, common.window);
	}
	text = bf_explain_with_limits(speech, rule, text);
	return common.has_excepts
			? bf_explain_with_excepts(speech, rule, now, text, rule->parts[0].excepts)
			: text;
}

/* Nobody means the microsecond at which a schedule is made. */
static bool is_of_no_second(const struct belfry_rule *rule)
{
	for (size_t i = 0; i < rule->count; i++) {
		if (rule->parts[i].kind == BF_PART_EVERY &&
				rule->parts[i].of.every.is_anchor_default) {
			return true;
		}
	}
	return false;
}

static struct belfry_str with_next(struct bf_speech *speech, const struct belfry_rule *rule,
		belfry_time now, struct belfry_str text)
{
	belfry_time due;

	if (belfry_rule_next(rule, now, &due) != BELFRY_OK) {
		return bf_say_one(speech, BF_SAY_NEVER, text);
	}
	if (is_of_no_second(rule)) {
		due = bf_floor_div(due, BELFRY_SECOND) * BELFRY_SECOND;
	}
	return bf_say_two(speech, BF_SAY_NEXT, text, bf_explain_due(speech, rule, now, due));
}

static void begin_with_capital(struct belfry_str text)
{
	char *first = (char *)text.ptr; /* made here, in the caller's arena */

	if (text.len > 0 && *first >= 'a' && *first <= 'z') {
		*first = (char)(*first - 'a' + 'A');
	}
}

static enum belfry_status copy_warnings(struct belfry_arena *arena,
		const struct bf_warnings *warnings, struct belfry_explanation *ret)
{
	struct belfry_rule_warning *copies = NULL;

	if (warnings->count > 0) {
		copies = belfry_arena_alloc(arena, warnings->count * sizeof(*copies));
		if (copies == NULL) {
			return BELFRY_NOMEM;
		}
	}
	for (size_t i = 0; i < warnings->count; i++) {
		copies[i].code = warnings->list[i].code;
		if (belfry_arena_copy(arena, warnings->list[i].text, &copies[i].text) !=
				BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	ret->warnings = copies;
	ret->warning_count = warnings->count;
	return BELFRY_OK;
}

enum belfry_status belfry_rule_explain(const struct belfry_rule *rule, belfry_time now,
		struct belfry_arena *arena, struct belfry_explanation *ret_explanation)
{
	if (rule == NULL || arena == NULL || ret_explanation == NULL ||
			ret_explanation->size != sizeof(*ret_explanation)) {
		return BELFRY_INVALID;
	}
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena pieces = BELFRY_ARENA_INIT;
	struct bf_speech speech = {.arena = &pieces};
	struct belfry_explanation answer = BELFRY_EXPLANATION_INIT;
	struct bf_warnings warnings = {.count = 0};

	now = BF_MIN(BF_MAX(now, BF_RULE_FIRST_TIME), BF_RULE_LAST_TIME);
	struct belfry_str text = with_next(&speech, rule, now, say_parts(&speech, rule, now));
	bf_explain_warnings(&speech, rule, now, &warnings);
	if (speech.is_failed || belfry_arena_copy(arena, text, &answer.sentence) != BELFRY_OK ||
			copy_warnings(arena, &warnings, &answer) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	begin_with_capital(answer.sentence);
	answer.class_ = belfry_rule_class(rule);
	*ret_explanation = answer;
	return BELFRY_OK;
}
