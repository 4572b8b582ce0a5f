/* A rule as text again, in one canonical form: cron text where it is nothing else, else JSON with the parts of
 * all unions side by side, bounds and times as instants, and exceptions in one list of each part, or of the
 * whole where they are the same for all.
 *
 * Invariant  a rule made of the text in the same zone has the same due times, and prints the same text.
 * Not here   a cron expression's own text (cron_print.c). */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/timefmt.h"
#include "calendar/cron_print.h"
#include "calendar/rule.h"

/* ---- values ------------------------------------------------------------------------------------ */

/* Takes `value`; false: no memory, or there was none. */
BF_MUST_CHECK static bool put(json_t *list, json_t *value)
{
	return json_array_append_new(list, value) == 0;
}

static json_t *new_time(belfry_time time, int bytes)
{
	char text[BF_TIME_TEXT_BYTES];

	bf_time_format(time, 0, text);
	return json_stringn(text, bytes > 0 ? (size_t)bytes : strlen(text));
}

static json_t *new_cron_text(const struct bf_cron *cron)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

	bf_cron_print(cron, &buf);
	return bf_buf_status(&buf) == BELFRY_OK ? bf_json_new_str(bf_buf_str(&buf)) : NULL;
}

/* ---- exceptions -------------------------------------------------------------------------------- */

#define DATE_BYTES 10

static int by_time(const void *a, const void *b)
{
	const belfry_time *left = a;
	const belfry_time *right = b;

	return (*left > *right) - (*left < *right);
}

static bool is_own(const struct bf_except_set *set)
{
	return set->calendar == NULL;
}

/* The dates of the chain's own sets, as the first instant of each in UTC; or their instants. */
static size_t list_times(const struct bf_except_set *chain, bool is_dates, belfry_time *ret_times)
{
	size_t count = 0;

	for (const struct bf_except_set *set = chain; set != NULL; set = set->outer) {
		size_t length = is_dates ? set->date_count : set->instant_count;
		for (size_t i = 0; is_own(set) && i < length; i++, count++) {
			if (ret_times != NULL) {
				ret_times[count] = is_dates ? set->dates[i] * BELFRY_DAY
							    : set->instants[i];
			}
		}
	}
	return count;
}

static bool put_times(json_t *list, const struct bf_except_set *chain, bool is_dates)
{
	size_t count = list_times(chain, is_dates, NULL);
	BF_CLEANUP(bf_free_pointer) belfry_time *times = bf_alloc_array(count + 1, sizeof(*times));

	if (times == NULL) {
		return false;
	}
	(void)list_times(chain, is_dates, times); /* as many as before */
	qsort(times, count, sizeof(*times), by_time);
	for (size_t i = 0; i < count; i++) {
		bool is_again = i > 0 && times[i] == times[i - 1];
		if (!is_again && !put(list, new_time(times[i], is_dates ? DATE_BYTES : 0))) {
			return false;
		}
	}
	return true;
}

static bool put_crons(json_t *list, const struct bf_except_set *set)
{
	for (size_t i = 0; i < set->cron_count; i++) {
		if (!put(list, json_pack("{s:o}", "cron", new_cron_text(&set->crons[i])))) {
			return false;
		}
	}
	return true;
}

static bool put_set(json_t *list, const struct bf_except_set *set)
{
	if (is_own(set)) {
		return put_crons(list, set);
	}
	struct bf_except_set content = *set;
	content.outer = NULL;
	content.calendar = NULL;
	json_t *inner = json_array();
	if (!put(list, json_pack("{s:s, s:o}", "calendar", set->calendar, "except", inner))) {
		return false;
	}
	return put_times(inner, &content, true) && put_times(inner, &content, false) &&
			put_crons(inner, &content);
}

/* From the outermost set to the innermost: the rule's own, or the calendars. */
static bool put_sets(json_t *list, const struct bf_except_set *chain, bool is_of_own)
{
	size_t depth = 0;

	for (const struct bf_except_set *set = chain; set != NULL; set = set->outer) {
		depth++;
	}
	for (; depth > 0; depth--) {
		const struct bf_except_set *set = chain;
		for (size_t i = 1; i < depth; i++) {
			set = set->outer;
		}
		if (is_own(set) == is_of_own && !put_set(list, set)) {
			return false;
		}
	}
	return true;
}

/* NULL: no memory. */
static json_t *new_excepts(const struct bf_except_set *chain)
{
	json_t *list = json_array();

	if (list == NULL || !put_times(list, chain, true) || !put_times(list, chain, false) ||
			!put_sets(list, chain, true) || !put_sets(list, chain, false)) {
		json_decref(list);
		return NULL;
	}
	return list;
}

/* ---- parts ------------------------------------------------------------------------------------- */

static json_t *new_times(const struct bf_part *part)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < part->of.at.count; i++) {
		if (!put(list, new_time(part->of.at.times[i], 0))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static void write_form(struct bf_json_writer *w, const struct bf_part *part)
{
	switch (part->kind) {
	case BF_PART_CRON: bf_json_write_value(w, "cron", new_cron_text(&part->of.cron)); break;
	case BF_PART_EVERY:
		bf_json_write_duration(w, "every", part->of.every.period);
		bf_json_write_value(w, "anchor", new_time(part->of.every.anchor, 0));
		break;
	case BF_PART_AT: bf_json_write_value(w, "at", new_times(part)); break;
	}
}

static void write_part(struct bf_json_writer *w, const struct bf_part *part)
{
	write_form(w, part);
	if (part->not_before != BF_RULE_FIRST_TIME) {
		bf_json_write_value(w, "not_before", new_time(part->not_before, 0));
	}
	if (part->not_after != BF_RULE_LAST_TIME) {
		bf_json_write_value(w, "not_after", new_time(part->not_after, 0));
	}
}

/* Exceptions have been taken out of a list of times when it was read. */
static const struct bf_except_set *excepts_of(const struct bf_part *part)
{
	return part->kind != BF_PART_AT ? part->excepts : NULL;
}

/* A list of which a gap, or the years, have left nothing is no part of what is printed. */
static bool is_empty(const struct bf_part *part)
{
	return part->kind == BF_PART_AT && part->of.at.count == 0;
}

/* What holds for all parts; NULL: nothing does, or not the same. */
static const struct bf_except_set *common_excepts(const struct belfry_rule *rule)
{
	const struct bf_except_set *common = NULL;
	bool is_first = true;

	for (size_t i = 0; i < rule->count; i++) {
		if (is_empty(&rule->parts[i])) {
			continue;
		}
		if (!is_first && rule->parts[i].excepts != common) {
			return NULL;
		}
		common = rule->parts[i].excepts;
		is_first = false;
	}
	return common;
}

static void write_excepts(struct bf_json_writer *w, const struct bf_except_set *chain)
{
	if (chain != NULL) {
		bf_json_write_value(w, "except", new_excepts(chain));
	}
}

static json_t *new_part(const struct bf_part *part, bool has_own_excepts)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	write_part(&w, part);
	write_excepts(&w, has_own_excepts ? excepts_of(part) : NULL);
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

/* The only part; NULL: there are more. */
static const struct bf_part *only_part(const struct belfry_rule *rule)
{
	const struct bf_part *only = NULL;

	for (size_t i = 0; i < rule->count; i++) {
		if (is_empty(&rule->parts[i])) {
			continue;
		}
		if (only != NULL) {
			return NULL;
		}
		only = &rule->parts[i];
	}
	return only;
}

static json_t *new_union(const struct belfry_rule *rule, bool has_own_excepts)
{
	json_t *list = json_array();

	for (size_t i = 0; list != NULL && i < rule->count; i++) {
		if (!is_empty(&rule->parts[i]) &&
				!put(list, new_part(&rule->parts[i], has_own_excepts))) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

/* ---- the whole --------------------------------------------------------------------------------- */

static bool is_plain_cron(const struct belfry_rule *rule, const struct bf_part *part)
{
	return part != NULL && part->kind == BF_PART_CRON && part->excepts == NULL &&
			part->not_before == BF_RULE_FIRST_TIME &&
			part->not_after == BF_RULE_LAST_TIME && rule->max_fires == 0 &&
			rule->spread == 0;
}

static enum belfry_status print_json(const struct belfry_rule *rule, const struct bf_part *only,
		struct bf_buf *buf)
{
	const struct bf_except_set *common = only != NULL ? excepts_of(only) : common_excepts(rule);
	struct bf_json_writer w;
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;

	bf_json_writer_begin(&w);
	if (only != NULL) {
		write_part(&w, only);
	} else {
		bf_json_write_value(&w, "any", new_union(rule, common == NULL));
	}
	write_excepts(&w, common);
	if (rule->max_fires != 0) {
		bf_json_write_int(&w, "max_fires", rule->max_fires);
	}
	if (rule->spread != 0) {
		bf_json_write_duration(&w, "spread", rule->spread);
	}
	enum belfry_status status = bf_json_writer_end(&w, &object);
	return status == BELFRY_OK ? bf_json_dump(object, buf) : status;
}

enum belfry_status belfry_rule_print(const struct belfry_rule *rule, struct belfry_arena *arena,
		struct belfry_str *ret_text)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};
	enum belfry_status status = BELFRY_OK;

	if (rule == NULL || arena == NULL || ret_text == NULL) {
		return BELFRY_INVALID;
	}
	const struct bf_part *only = only_part(rule);
	if (is_plain_cron(rule, only)) {
		bf_cron_print(&only->of.cron, &buf);
		status = bf_buf_status(&buf);
	} else {
		status = print_json(rule, only, &buf);
	}
	if (status == BELFRY_OK && buf.len > BELFRY_RULE_BYTES) {
		return BELFRY_TOO_LARGE;
	}
	return status == BELFRY_OK ? belfry_arena_copy(arena, bf_buf_str(&buf), ret_text) : status;
}
