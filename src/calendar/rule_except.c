/* The member "except" of rule JSON: local dates, local times and instants, expressions, and shared
 * calendars written out; and what they leave of each part.
 *
 * Invariant  a set is the rule's from the moment that it exists, so that a refusal leaks nothing.
 * Not here   the search (except.c). */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/rule_json.h"

#define ITEMS_MAX  1000 /* of one list */
#define DATE_BYTES 10
#define ALL_SIXTY  ((UINT64_C(1) << 60) - 1)

static void refuse_item(struct bf_json_reader *reader, size_t index, const char *words)
{
	char key[24];

	(void)snprintf(key, sizeof(key), "%zu", index);
	bf_json_reader_refuse(reader, "except", key, BELFRY_INVALID, "\"except\": item %zu %s",
			index, words);
}

static void refuse_no_memory(struct bf_json_reader *reader)
{
	bf_json_reader_refuse(reader, NULL, NULL, BELFRY_NOMEM, "%s",
			belfry_status_text(BELFRY_NOMEM));
}

/* ---- a set ------------------------------------------------------------------------------------- */

/* A new set with room for `count` items of each kind, in front of *chain. NULL: no memory. */
static struct bf_except_set *new_set(struct bf_rule_parser *p, size_t count,
		const struct bf_except_set *outer)
{
	struct belfry_rule *rule = p->rule;

	if (BF_GROW(rule->sets, rule->set_capacity, rule->set_count + 1) != BELFRY_OK) {
		return NULL;
	}
	struct bf_except_set *set = bf_alloc(sizeof(*set));
	if (set == NULL) {
		return NULL;
	}
	rule->sets[rule->set_count++] = set;
	set->outer = outer;
	count += count == 0 ? 1 : 0;
	set->dates = bf_alloc_array(count, sizeof(*set->dates));
	/* Two instants each, where both of a fold count. */
	set->instants = bf_alloc_array(2 * count, sizeof(*set->instants));
	return set->dates != NULL && set->instants != NULL ? set : NULL;
}

/* Most items are dates, and a rule lives long: what no item needed goes back. A failure costs memory alone. */
static void shrink_set(struct bf_except_set *set)
{
	int64_t *dates = bf_realloc_array(set->dates, BF_MAX(set->date_count, 1), sizeof(*dates));
	belfry_time *instants = bf_realloc_array(set->instants, BF_MAX(set->instant_count, 1),
			sizeof(*instants));

	set->dates = dates != NULL ? dates : set->dates;
	set->instants = instants != NULL ? instants : set->instants;
}

/* "2026-12-25" */
static bool read_date(struct belfry_str text, int64_t *ret_date)
{
	char full[] = "YYYY-MM-DDT00:00:00Z";
	belfry_time time;

	if (text.len != DATE_BYTES) {
		return false;
	}
	memcpy(full, text.ptr, DATE_BYTES);
	if (bf_time_parse(bf_str(full), &time) != BELFRY_OK) {
		return false;
	}
	*ret_date = bf_floor_div(time, BELFRY_DAY);
	return true;
}

static void read_text_item(const struct bf_rule_parser *p, struct bf_json_reader *reader,
		struct bf_except_set *set, size_t index, struct belfry_str text)
{
	struct bf_rule_moment moment;
	int64_t date;

	if (read_date(text, &date)) {
		bf_rule_put_value(set->dates, &set->date_count, date);
	} else if (text.len < BF_RULE_TIME_BYTES &&
			bf_rule_read_moment(&p->rule->policy, text, &moment) == BELFRY_OK) {
		bf_rule_put_moment(set->instants, &set->instant_count, &moment);
	} else {
		refuse_item(reader, index,
				"is neither a date like \"2026-12-25\" nor a time like "
				"\"2026-12-24T18:00:00\"");
	}
}

/* An expression without seconds names the whole minute. */
static void read_cron_item(const struct bf_rule_parser *p, struct bf_json_reader *item,
		struct bf_except_set *set, size_t room)
{
	if (set->crons == NULL) {
		set->crons = bf_alloc_array(room, sizeof(*set->crons));
	}
	if (set->crons == NULL) {
		refuse_no_memory(item);
		return;
	}
	struct bf_cron *cron = &set->crons[set->cron_count];
	if (bf_rule_read_cron(p, item, cron)) {
		cron->seconds = cron->has_seconds ? cron->seconds : ALL_SIXTY;
		set->cron_count++;
	}
}

/* Room for the items behind `index` and itself: no more expressions can come. */
static size_t crons_from(const json_t *list, size_t index)
{
	size_t count = 0;

	for (; index < json_array_size(list); index++) {
		count += json_is_object(json_array_get(list, index)) ? 1 : 0;
	}
	return count;
}

/* Everything but shared calendars. */
static void read_plain_item(const struct bf_rule_parser *p, struct bf_json_reader *reader,
		struct bf_except_set *set, const json_t *list, size_t index)
{
	const json_t *value = json_array_get(list, index);
	struct bf_json_reader item;

	if (json_is_string(value)) {
		read_text_item(p, reader, set, index, bf_json_str(value));
	} else if (!json_is_object(value)) {
		refuse_item(reader, index,
				"is neither a text nor an object like {\"cron\": \"* * * 1 *\"} or "
				"{\"calendar\": \"NAME\"}");
	} else if (bf_json_reader_enter_item(reader, "except", list, index, &item)) {
		read_cron_item(p, &item, set, crons_from(list, index));
		(void)bf_json_reader_end(&item); /* kept in the reader too */
	}
}

/* ---- shared calendars -------------------------------------------------------------------------- */

static void refuse_unknown_calendar(struct bf_json_reader *item, struct belfry_str name)
{
	bf_json_reader_refuse(item, "calendar", NULL, BELFRY_INVALID,
			"the shared calendar \"%.*s\" is not known here: give its days beside it as "
			"\"except\", or ask a host that keeps it: POST /v1/preview, belfry explain --deployment",
			BF_STR_ARGS(name));
}

static void read_calendar_list(struct bf_rule_parser *p, struct bf_json_reader *item,
		struct belfry_str name, const struct bf_except_set **chain)
{
	const json_t *list;

	if (!bf_json_reader_array(item, "except", BF_JSON_REQUIRED, 0, ITEMS_MAX, &list)) {
		return;
	}
	struct bf_except_set *set = new_set(p, json_array_size(list), *chain);
	if (set != NULL) {
		set->calendar = bf_str_dup(name);
	}
	if (set == NULL || set->calendar == NULL) {
		refuse_no_memory(item);
		return;
	}
	for (size_t i = 0; i < json_array_size(list) && bf_json_reader_is_ok(item); i++) {
		read_plain_item(p, item, set, list, i);
	}
	shrink_set(set);
	*chain = set;
}

static void read_calendar(struct bf_rule_parser *p, struct bf_json_reader *reader,
		const json_t *list, size_t index, const struct bf_except_set **chain)
{
	struct bf_json_reader item;
	struct belfry_str name;

	if (!bf_json_reader_enter_item(reader, "except", list, index, &item)) {
		return;
	}
	if (bf_json_reader_string(&item, "calendar", BF_JSON_REQUIRED, 1, BF_EXCEPT_NAME_BYTES,
			    &name)) {
		if (bf_json_reader_has(&item, "except")) {
			read_calendar_list(p, &item, name, chain);
		} else {
			refuse_unknown_calendar(&item, name);
		}
	}
	(void)bf_json_reader_end(&item); /* kept in the reader too */
}

void bf_rule_read_except(struct bf_rule_parser *p, struct bf_json_reader *reader,
		const struct bf_except_set **chain)
{
	const json_t *list;

	if (!bf_json_reader_array(reader, "except", BF_JSON_OPTIONAL, 0, ITEMS_MAX, &list) ||
			json_array_size(list) == 0) {
		return;
	}
	struct bf_except_set *own = new_set(p, json_array_size(list), *chain);
	if (own == NULL) {
		refuse_no_memory(reader);
		return;
	}
	*chain = own;
	for (size_t i = 0; i < json_array_size(list) && bf_json_reader_is_ok(reader); i++) {
		if (json_object_get(json_array_get(list, i), "calendar") != NULL) {
			read_calendar(p, reader, list, i, chain);
		} else {
			read_plain_item(p, reader, own, list, i);
		}
	}
	shrink_set(own);
}

/* ---- what is left of a part -------------------------------------------------------------------- */

static enum belfry_status no_memory(const struct bf_rule_parser *p)
{
	return bf_error_set(p->err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
}

static enum belfry_status except_cron(struct bf_rule_parser *p, struct bf_part *part,
		struct bf_cron *cron)
{
	enum belfry_status status = bf_except_new(cron, part->excepts, &p->sums, &part->left,
			p->err);

	cron->except = part->left;
	return status;
}

/* An interval is looked up second by second: in an expression of every second. */
static enum belfry_status except_every(struct bf_rule_parser *p, struct bf_part *part)
{
	const struct bf_cron_days all = {.dom = ~(uint32_t)1, .dow = 0x7f};
	struct bf_cron *seconds = bf_alloc(sizeof(*seconds));

	if (seconds == NULL) {
		return no_memory(p);
	}
	part->of.every.seconds = seconds;
	*seconds = (struct bf_cron){.seconds = ALL_SIXTY,
			.minutes = ALL_SIXTY,
			.hours = (1u << 24) - 1,
			.months = 0x1ffe};
	return bf_cron_build(seconds, &all) ? except_cron(p, part, seconds)
					    : BELFRY_INVALID_SCHEDULE;
}

/* How many of the times stay. */
static size_t drop_times(const struct bf_rule_parser *p, const struct bf_except_set *excepts,
		belfry_time *times, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (bf_except_find(excepts, p->rule->zone, times[i]) == NULL) {
			times[kept++] = times[i];
		}
	}
	return kept;
}

static enum belfry_status except_times(struct bf_rule_parser *p, struct bf_part *part)
{
	size_t kept = drop_times(p, part->excepts, part->of.at.times, part->of.at.count);

	if (kept == 0 && part->of.at.count > 0) {
		return bf_error_set(p->err, BELFRY_INVALID_SCHEDULE,
				"the exceptions leave nothing of it: it can never fire");
	}
	part->of.at.count = kept;
	part->of.at.local_count = drop_times(p, part->excepts, part->of.at.locals,
			part->of.at.local_count);
	return BELFRY_OK;
}

enum belfry_status bf_rule_except_part(struct bf_rule_parser *p, struct bf_part *part,
		const struct bf_except_set *chain)
{
	part->excepts = chain;
	if (chain == NULL) {
		return BELFRY_OK;
	}
	switch (part->kind) {
	case BF_PART_CRON: return except_cron(p, part, &part->of.cron);
	case BF_PART_EVERY: return except_every(p, part);
	case BF_PART_AT: return except_times(p, part);
	}
	return BELFRY_OK;
}
