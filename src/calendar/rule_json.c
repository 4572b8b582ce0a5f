/* Rule JSON: {"cron"}, {"every"}, {"at"}, {"any"}, each with a window and exceptions; and what belongs to
 * the rule as a whole.
 *
 * A union of unions is one union: the windows of nested rules are cut down to their parents', and the
 * exceptions of their parents hold for them too, while the rules are laid out in one row. The row is worked off from front to back, so nothing recurses on input.
 *
 * Invariant  every part has a window inside its parents' windows.
 * Not here   JSON itself (base/json.h), cron text (cron_parse.c), exceptions (rule_except.c). */
#include "calendar/rule_json.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"
#include "calendar/civil.h"

#define PERIOD_MAX (36525 * BELFRY_DAY)
#define SPREAD_MAX BELFRY_DAY

static const char *const outermost[] = {"max_fires", "spread"};
static const char *const forms[] = {"cron", "every", "at", "any"};
enum form { FORM_CRON, FORM_EVERY, FORM_AT, FORM_ANY };

enum belfry_status bf_rule_read_moment(const struct bf_due_policy *policy, struct belfry_str text,
		struct bf_rule_moment *ret)
{
	char local_text[BF_RULE_TIME_BYTES + 1];
	belfry_time time;

	if (bf_time_parse(text, &time) == BELFRY_OK) {
		*ret = (struct bf_rule_moment){false, true, time, time, BF_CRON_NEVER,
				BF_CRON_NEVER};
		return BELFRY_OK;
	}
	if (text.len == 0 || text.len >= BF_RULE_TIME_BYTES) {
		return BELFRY_INVALID;
	}
	memcpy(local_text, text.ptr, text.len);
	local_text[text.len] = 'Z';
	if (bf_time_parse((struct belfry_str){local_text, text.len + 1}, &time) != BELFRY_OK) {
		return BELFRY_INVALID;
	}
	int64_t second = bf_floor_div(time, BELFRY_SECOND);
	const struct bf_due_policy both = {policy->zone, policy->gap, BELFRY_DST_FOLD_BOTH};
	struct bf_due_local due = bf_due_local(policy, second);
	struct bf_due_local twice = bf_due_local(&both, second);
	belfry_duration rest = time - second * BELFRY_SECOND;
	if (due.is_missing && policy->gap != BELFRY_DST_GAP_SHIFT) {
		rest = 0; /* the gap's end, to the second */
	}
	*ret = (struct bf_rule_moment){true, due.is_due, due.first * BELFRY_SECOND + rest,
			due.last * BELFRY_SECOND + rest, due.is_missing ? second : BF_CRON_NEVER,
			twice.first != twice.last ? second : BF_CRON_NEVER};
	return BELFRY_OK;
}

/* A member that is an instant or a local time, if it is there. */
static bool read_member(struct bf_json_reader *reader, const struct bf_due_policy *policy,
		const char *name, struct bf_rule_moment *ret)
{
	struct belfry_str text;

	if (!bf_json_reader_string(reader, name, BF_JSON_OPTIONAL, 1, BF_RULE_TIME_BYTES, &text)) {
		return false;
	}
	if (bf_rule_read_moment(policy, text, ret) != BELFRY_OK) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" " BF_RULE_TIME_HINT, name);
		return false;
	}
	return true;
}

/* Cuts the window down. A bound in a gap that is skipped stands for the gap: nothing in it is left out
 * before, nothing behind it is let in after. */
static void read_window(const struct bf_rule_parser *p, struct bf_json_reader *reader,
		struct bf_rule_pending *window)
{
	struct bf_rule_moment moment;

	if (read_member(reader, &p->rule->policy, "not_before", &moment)) {
		window->not_before = BF_MAX(window->not_before, moment.first);
	}
	if (read_member(reader, &p->rule->policy, "not_after", &moment)) {
		belfry_time last = moment.is_due ? moment.last : moment.last - 1;
		window->not_after = BF_MIN(window->not_after, last);
	}
	if (bf_json_reader_is_ok(reader) && window->not_before > window->not_after) {
		bf_json_reader_refuse(reader, NULL, NULL, BELFRY_INVALID,
				"the rule can never fire: its window is empty (not_before is after not_after)");
	}
}

/* Turns a position within an expression into one within the document. Where the expression is written
 * with escapes there is none, and the pointer has to do. The first place that has the same text has the
 * same fault. */
static void move_position(const struct bf_rule_parser *p, struct belfry_str cron)
{
	if (p->err == NULL || p->err->position == 0) {
		return;
	}
	for (size_t i = 1; i + cron.len < p->text.len; i++) {
		if (p->text.ptr[i - 1] == '"' && p->text.ptr[i + cron.len] == '"' &&
				memcmp(p->text.ptr + i, cron.ptr, cron.len) == 0) {
			p->err->position += (int64_t)i;
			return;
		}
	}
	p->err->position = 0;
}

bool bf_rule_read_cron(const struct bf_rule_parser *p, struct bf_json_reader *reader,
		struct bf_cron *ret_cron)
{
	struct belfry_str text;

	if (!bf_json_reader_string(reader, "cron", BF_JSON_REQUIRED, 1, BELFRY_RULE_BYTES, &text)) {
		return false;
	}
	enum belfry_status status = bf_cron_parse(text, p->options->five_fields, ret_cron, p->err);
	if (status != BELFRY_OK) {
		move_position(p, text);
		bf_json_reader_refuse_from(reader, "cron", status);
	}
	return status == BELFRY_OK;
}

static void read_every(const struct bf_rule_parser *p, struct bf_json_reader *reader,
		struct bf_part *part)
{
	part->kind = BF_PART_EVERY;
	part->of.every.anchor = p->options->anchor;
	part->of.every.is_anchor_default = true;
	part->of.every.period = BELFRY_SECOND;
	(void)bf_json_reader_duration(reader, "every", BF_JSON_REQUIRED, BELFRY_SECOND, PERIOD_MAX,
			&part->of.every.period); /* the reader keeps the failure, here and below */
	if (bf_json_reader_time(reader, "anchor", BF_JSON_OPTIONAL, &part->of.every.anchor)) {
		part->of.every.is_anchor_default = false;
	}
	if (part->of.every.anchor < BF_RULE_FIRST_TIME ||
			part->of.every.anchor > BF_RULE_LAST_TIME) {
		bf_json_reader_refuse(reader, "anchor", NULL, BELFRY_INVALID,
				"\"anchor\" must lie in the years 1 to 9999");
	}
}

void bf_rule_put_value(int64_t *values, size_t *count, int64_t value)
{
	size_t at = *count;

	while (at > 0 && values[at - 1] > value) {
		at--;
	}
	if (at > 0 && values[at - 1] == value) {
		return;
	}
	memmove(values + at + 1, values + at, (*count - at) * sizeof(*values));
	values[at] = value;
	++*count;
}

static void put_time(belfry_time *times, size_t *count, belfry_time time)
{
	if (time >= BF_RULE_FIRST_TIME && time <= BF_RULE_LAST_TIME) {
		bf_rule_put_value(times, count, time);
	}
}

void bf_rule_put_moment(belfry_time *times, size_t *count, const struct bf_rule_moment *moment)
{
	if (moment->is_due) {
		put_time(times, count, moment->first);
		put_time(times, count, moment->last);
	}
}

static void put_at(struct bf_part *part, const struct bf_rule_moment *moment)
{
	part->of.at.missing = BF_MIN(part->of.at.missing, moment->missing);
	part->of.at.repeated = BF_MIN(part->of.at.repeated, moment->repeated);
	bf_rule_put_moment(part->of.at.times, &part->of.at.count, moment);
	if (moment->is_local) {
		bf_rule_put_moment(part->of.at.locals, &part->of.at.local_count, moment);
	}
}

static void read_at_list(const struct bf_rule_parser *p, struct bf_json_reader *reader,
		struct bf_part *part, const json_t *list)
{
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count; i++) {
		struct belfry_str text;
		struct bf_rule_moment moment;
		if (!bf_json_reader_item_string(reader, "at", list, i, 1, BF_RULE_TIME_BYTES,
				    &text)) {
			return;
		}
		if (bf_rule_read_moment(&p->rule->policy, text, &moment) != BELFRY_OK) {
			bf_json_reader_refuse(reader, "at", NULL, BELFRY_INVALID,
					"\"at\": item %zu is neither a local time like "
					"\"2026-12-24T18:00:00\" nor an instant with an offset",
					i);
			return;
		}
		put_at(part, &moment);
	}
}

static void read_at(const struct bf_rule_parser *p, struct bf_json_reader *reader,
		struct bf_part *part)
{
	const json_t *value;
	const json_t *list = NULL;
	struct bf_rule_moment moment;

	part->kind = BF_PART_AT;
	part->of.at.missing = BF_CRON_NEVER;
	part->of.at.repeated = BF_CRON_NEVER;
	bool is_list = bf_json_reader_value(reader, "at", BF_JSON_REQUIRED, &value) &&
			json_is_array(value);
	if (is_list &&
			!bf_json_reader_array(reader, "at", BF_JSON_REQUIRED, 1, BF_RULE_TIMES_MAX,
					&list)) {
		return;
	}
	/* Two instants each, where both of a fold count. */
	size_t room = 2 * (list != NULL ? json_array_size(list) : 1);
	part->of.at.times = bf_alloc_array(room, sizeof(*part->of.at.times));
	part->of.at.locals = bf_alloc_array(room, sizeof(*part->of.at.locals));
	if (part->of.at.times == NULL || part->of.at.locals == NULL) {
		bf_json_reader_refuse(reader, NULL, NULL, BELFRY_NOMEM, "%s",
				belfry_status_text(BELFRY_NOMEM));
		return;
	}
	if (list != NULL) {
		read_at_list(p, reader, part, list);
	} else if (read_member(reader, &p->rule->policy, "at", &moment)) {
		put_at(part, &moment);
	}
}

/* The members of a union go to the end of the row. */
static void read_any(struct bf_rule_parser *p, struct bf_json_reader *reader,
		const struct bf_rule_pending *parent)
{
	const json_t *list;

	if (!bf_json_reader_array(reader, "any", BF_JSON_REQUIRED, 1, BF_RULE_PARTS_MAX, &list)) {
		return;
	}
	size_t count = json_array_size(list);
	if (count > BF_RULE_PARTS_MAX - p->count) {
		bf_json_reader_refuse(reader, "any", NULL, BELFRY_INVALID,
				"\"any\": more than %d rules in all", BF_RULE_PARTS_MAX);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		struct bf_rule_pending *item = &p->row[p->count++];
		*item = (struct bf_rule_pending){json_array_get(list, i), parent->not_before,
				parent->not_after, parent->excepts, ""};
		if (snprintf(item->pointer, sizeof(item->pointer), "%s/any/%zu", parent->pointer,
				    i) < 0) {
			item->pointer[0] = '\0';
		}
	}
}

/* Which form the object has; it must be one. */
static bool find_form(struct bf_json_reader *reader, enum form *ret_form)
{
	int found = 0;

	for (size_t i = 0; i < BF_COUNT(forms); i++) {
		if (bf_json_reader_has(reader, forms[i])) {
			*ret_form = (enum form)i;
			found++;
		}
	}
	if (found != 1) {
		bf_json_reader_refuse(reader, NULL, NULL, BELFRY_INVALID,
				"a rule has exactly one of \"cron\", \"every\", \"at\" and \"any\", this one has "
				"%d",
				found);
	}
	return found == 1;
}

/* They are about the rule as a whole: what has fired is counted once, and a due time that several agree on
 * has one ready time. */
static void refuse_within(struct bf_json_reader *reader)
{
	for (size_t i = 0; i < BF_COUNT(outermost); i++) {
		if (bf_json_reader_has(reader, outermost[i])) {
			bf_json_reader_refuse(reader, outermost[i], NULL, BELFRY_INVALID,
					"\"%s\" belongs to the rule as a whole: move it out of \"any\"",
					outermost[i]);
		}
	}
}

static void read_outermost(struct belfry_rule *rule, struct bf_json_reader *reader)
{
	int64_t max_fires = 0;

	if (bf_json_reader_int(reader, "max_fires", BF_JSON_OPTIONAL, 1, INT32_MAX, &max_fires)) {
		rule->max_fires = (uint32_t)max_fires;
	}
	(void)bf_json_reader_duration(reader, "spread", BF_JSON_OPTIONAL, BELFRY_SECOND, SPREAD_MAX,
			&rule->spread); /* the reader keeps the failure */
}

static void read_form(struct bf_rule_parser *p, struct bf_json_reader *reader, enum form form,
		const struct bf_rule_pending *window)
{
	if (form == FORM_ANY) {
		read_any(p, reader, window);
		return;
	}
	struct bf_part *part = &p->rule->parts[p->rule->count++];
	part->not_before = window->not_before;
	part->not_after = window->not_after;
	switch (form) {
	case FORM_CRON:
		part->kind = BF_PART_CRON;
		(void)bf_rule_read_cron(p, reader, &part->of.cron); /* the reader keeps it */
		break;
	case FORM_EVERY: read_every(p, reader, part); break;
	case FORM_AT: read_at(p, reader, part); break;
	case FORM_ANY: break;
	}
}

/* To the part that was read last. */
static void apply_excepts(struct bf_rule_parser *p, struct bf_json_reader *reader,
		const struct bf_except_set *chain)
{
	enum belfry_status status = bf_rule_except_part(p, &p->rule->parts[p->rule->count - 1],
			chain);

	if (status != BELFRY_OK) {
		bf_json_reader_refuse_from(reader, "except", status);
	}
}

static enum belfry_status read_rule(struct bf_rule_parser *p, size_t index)
{
	struct bf_json_reader reader;
	struct bf_rule_pending window = p->row[index];
	enum form form;

	bf_json_reader_begin(&reader, window.value, window.pointer, p->err);
	if (index == 0) {
		read_outermost(p->rule, &reader);
	} else {
		refuse_within(&reader);
	}
	if (bf_json_reader_is_ok(&reader) && find_form(&reader, &form)) {
		read_window(p, &reader, &window);
		bf_rule_read_except(p, &reader, &window.excepts);
		if (bf_json_reader_is_ok(&reader)) {
			read_form(p, &reader, form, &window);
		}
		if (bf_json_reader_is_ok(&reader) && form != FORM_ANY) {
			apply_excepts(p, &reader, window.excepts);
		}
	}
	return bf_json_reader_end(&reader);
}

static enum belfry_status read_row(struct bf_rule_parser *p, const json_t *document)
{
	p->row[0] = (struct bf_rule_pending){document, BF_RULE_FIRST_TIME, BF_RULE_LAST_TIME, NULL,
			""};
	p->count = 1;
	for (size_t i = 0; i < p->count; i++) {
		enum belfry_status status = read_rule(p, i);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* The JSON layer speaks of requests; here every refusal is one of a schedule. */
static enum belfry_status as_schedule(enum belfry_status status, struct belfry_error *err)
{
	if (status != BELFRY_INVALID && status != BELFRY_TOO_LARGE) {
		return status;
	}
	if (err != NULL) {
		err->status = BELFRY_INVALID_SCHEDULE;
	}
	return BELFRY_INVALID_SCHEDULE;
}

enum belfry_status bf_rule_parse_json(struct belfry_rule *rule, struct belfry_str text,
		const struct belfry_rule_options *options, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *document = NULL;
	enum belfry_status status = bf_json_parse(text, BELFRY_RULE_BYTES, &document, err);

	if (status != BELFRY_OK) {
		return as_schedule(status, err);
	}
	BF_CLEANUP(bf_free_pointer)
	struct bf_rule_pending *row = bf_alloc_array(BF_RULE_PARTS_MAX, sizeof(*row));
	rule->parts = bf_alloc_array(BF_RULE_PARTS_MAX, sizeof(*rule->parts));
	if (row == NULL || rule->parts == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
	}
	struct bf_rule_parser parser = {.rule = rule,
			.options = options,
			.err = err,
			.text = text,
			.row = row};
	status = read_row(&parser, document);
	/* A rule lives as long as its schedule, in memory: give back what it does not need. */
	struct bf_part *parts = bf_realloc_array(rule->parts, BF_MAX(rule->count, (size_t)1),
			sizeof(*rule->parts));
	rule->parts = parts != NULL ? parts : rule->parts;
	return as_schedule(status, err);
}
