/* A rule: parts, each a cron expression, an interval or a list of instants, and their union.
 *
 * Invariant  a rule that belfry_rule_new hands out has at least one due time, never changes, and asks
 *            nothing outside itself: the same question always has the same answer.
 * Not here   the search within a part's zone (due.c), JSON (rule_json.c). */
#include "calendar/rule.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/zones.h"

static void free_part(struct bf_part *part)
{
	if (part->kind == BF_PART_AT) {
		bf_free(part->of.at.times);
		bf_free(part->of.at.locals);
	} else if (part->kind == BF_PART_EVERY) {
		bf_free(part->of.every.seconds);
	}
	bf_except_free(part->left);
}

void belfry_rule_free(struct belfry_rule *rule)
{
	if (rule == NULL) {
		return;
	}
	for (size_t i = 0; i < rule->count; i++) {
		free_part(&rule->parts[i]);
	}
	for (size_t i = 0; i < rule->set_count; i++) {
		bf_except_set_free(rule->sets[i]);
	}
	bf_free(rule->parts);
	bf_free(rule->sets);
	bf_zone_free(rule->zone);
	bf_free(rule);
}

/* The first due time of a cron part strictly after `after`. */
static belfry_time next_cron(const struct belfry_rule *rule, const struct bf_cron *cron,
		belfry_time after)
{
	int64_t due = bf_due_next(&rule->policy, cron, bf_floor_div(after, BELFRY_SECOND) + 1);

	return due != BF_DUE_NEVER ? due * BELFRY_SECOND : BELFRY_TIME_NEVER;
}

static belfry_time next_every(belfry_time anchor, belfry_duration period, belfry_time after)
{
	if (after < anchor) {
		return anchor;
	}
	belfry_duration since = bf_time_since(after, anchor);
	return bf_time_add(after, period - since % period);
}

static belfry_time next_at(const belfry_time *times, size_t count, belfry_time after)
{
	size_t low = 0;
	size_t high = count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (times[middle] > after) {
			high = middle;
		} else {
			low = middle + 1;
		}
	}
	return low < count ? times[low] : BELFRY_TIME_NEVER;
}

static belfry_time next_of_kind(const struct belfry_rule *rule, const struct bf_part *part,
		belfry_time after)
{
	switch (part->kind) {
	case BF_PART_CRON: return next_cron(rule, &part->of.cron, after);
	case BF_PART_EVERY: return next_every(part->of.every.anchor, part->of.every.period, after);
	case BF_PART_AT: return next_at(part->of.at.times, part->of.at.count, after);
	}
	return BELFRY_TIME_NEVER;
}

/* The first due time of an interval at or after `from` whose local time is not left out: a search within each
 * stretch of one offset. */
static belfry_time next_interval(const struct belfry_rule *rule, const struct bf_part *part,
		belfry_time from, unsigned *looks)
{
	while (from <= part->not_after && *looks > 0) {
		struct bf_span span = bf_zone_span(rule->zone, bf_floor_div(from, BELFRY_SECOND));
		belfry_duration offset = span.offset * BELFRY_SECOND;
		belfry_time end = span.end < BF_LAST_SECOND ? span.end * BELFRY_SECOND
							    : BF_RULE_LAST_TIME + 1;
		struct bf_except_steps steps = {part->of.every.anchor + offset,
				part->of.every.period};
		int64_t found = bf_except_next_step(part->of.every.seconds, &steps, from + offset,
				end + offset, looks);
		if (found != BF_EXCEPT_UNTIL) {
			return found - offset;
		}
		from = end;
	}
	return BELFRY_TIME_NEVER;
}

/* What is due next and not left out. Instants that are left out are few; the looks are an interval's
 * (except.h). */
static belfry_time next_left(const struct belfry_rule *rule, const struct bf_part *part,
		belfry_time after, unsigned *looks)
{
	bool is_interval = part->kind == BF_PART_EVERY && part->of.every.seconds != NULL;

	for (;;) {
		belfry_time due = is_interval ? next_interval(rule, part, after + 1, looks)
					      : next_of_kind(rule, part, after);
		if (due > part->not_after || due == BELFRY_TIME_NEVER) {
			return BELFRY_TIME_NEVER;
		}
		if (!bf_except_has_instant(part->excepts, due)) {
			return due;
		}
		after = due;
	}
}

belfry_time bf_rule_look(const struct belfry_rule *rule, const struct bf_part *part,
		belfry_time after, unsigned *looks)
{
	if (after < part->not_before) {
		after = part->not_before - 1;
	}
	if (after >= part->not_after || (part->over != 0 && after >= part->over)) {
		return BELFRY_TIME_NEVER;
	}
	if (part->excepts != NULL) {
		return next_left(rule, part, after, looks);
	}
	belfry_time due = next_of_kind(rule, part, after);
	return due <= part->not_after ? due : BELFRY_TIME_NEVER;
}

enum belfry_status belfry_rule_next(const struct belfry_rule *rule, belfry_time after,
		belfry_time *ret_due)
{
	belfry_time due = BELFRY_TIME_NEVER;

	for (size_t i = 0; i < rule->count; i++) {
		unsigned looks = rule->looks;
		belfry_time candidate = bf_rule_look(rule, &rule->parts[i], after, &looks);
		due = BF_MIN(due, candidate);
	}
	if (due == BELFRY_TIME_NEVER) {
		return BELFRY_NEVER;
	}
	*ret_due = due;
	return BELFRY_OK;
}

belfry_time bf_rule_part_next(const struct belfry_rule *rule, size_t part, belfry_time after)
{
	unsigned looks = rule->looks;

	return bf_rule_look(rule, &rule->parts[part], after, &looks);
}

int32_t belfry_rule_offset(const struct belfry_rule *rule, belfry_time at)
{
	return bf_zone_span(rule->zone, bf_floor_div(at, BELFRY_SECOND)).offset;
}

uint32_t belfry_rule_max_fires(const struct belfry_rule *rule)
{
	return rule->max_fires;
}

belfry_duration belfry_rule_spread(const struct belfry_rule *rule)
{
	return rule->spread;
}

enum belfry_rule_class belfry_rule_class(const struct belfry_rule *rule)
{
	for (size_t i = 0; i < rule->count; i++) {
		const struct bf_part *part = &rule->parts[i];
		if (part->kind == BF_PART_EVERY ||
				(part->kind == BF_PART_CRON && !part->of.cron.is_fixed)) {
			return BELFRY_RULE_INTERVAL_LIKE;
		}
	}
	return BELFRY_RULE_FIXED_TIME;
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
}

static enum belfry_status parse_cron(struct belfry_rule *rule, struct belfry_str text,
		const struct belfry_rule_options *options, struct belfry_error *err)
{
	rule->parts = bf_alloc(sizeof(*rule->parts));
	if (rule->parts == NULL) {
		return no_memory(err);
	}
	rule->count = 1;
	rule->parts[0] = (struct bf_part){
			.kind = BF_PART_CRON,
			.not_before = BF_RULE_FIRST_TIME,
			.not_after = BF_RULE_LAST_TIME,
	};
	return bf_cron_parse(text, options->five_fields, &rule->parts[0].of.cron, err);
}

static bool is_json(struct belfry_str text)
{
	size_t at = 0;

	while (at < text.len &&
			(text.ptr[at] == ' ' || text.ptr[at] == '\t' || text.ptr[at] == '\n' ||
					text.ptr[at] == '\r')) {
		at++;
	}
	return at < text.len && text.ptr[at] == '{';
}

static enum belfry_status check_options(const struct belfry_rule_options *options,
		struct belfry_error *err)
{
	if (options->size != sizeof(*options) || (unsigned)options->gap >= BELFRY_DST_GAP_COUNT ||
			(unsigned)options->fold >= BELFRY_DST_FOLD_COUNT) {
		return bf_error_set(err, BELFRY_INVALID_SCHEDULE, "rule options: not initialised");
	}
	return BELFRY_OK;
}

static enum belfry_status fill_rule(struct belfry_rule *rule, struct belfry_zones *zones,
		struct belfry_str text, struct belfry_str zone,
		const struct belfry_rule_options *options, struct belfry_error *err)
{
	enum belfry_status status = bf_zones_find(zones, zone, &rule->zone, err);
	if (status != BELFRY_OK) {
		return status;
	}
	rule->policy = (struct bf_due_policy){rule->zone, options->gap, options->fold};
	status = is_json(text) ? bf_rule_parse_json(rule, text, options, err)
			       : parse_cron(rule, text, options, err);
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_rule_check(rule, err);
}

BF_CLEANUP_POINTER(rule, struct belfry_rule, belfry_rule_free)

enum belfry_status belfry_rule_new(struct belfry_zones *zones, struct belfry_str text,
		struct belfry_str zone, const struct belfry_rule_options *options,
		struct belfry_rule **ret_rule, struct belfry_error *err)
{
	struct belfry_rule_options defaults = BELFRY_RULE_OPTIONS_INIT;

	options = options != NULL ? options : &defaults;
	if (zones == NULL || ret_rule == NULL) {
		return bf_error_set(err, BELFRY_INVALID,
				"rule: no zones, or no place for the answer");
	}
	if ((text.len > 0 && text.ptr == NULL) || (zone.len > 0 && zone.ptr == NULL)) {
		return bf_error_set(err, BELFRY_INVALID, "rule: a text has a length and no bytes");
	}
	enum belfry_status status = check_options(options, err);
	if (status != BELFRY_OK) {
		return status;
	}
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = bf_alloc(sizeof(*rule));
	if (rule == NULL) {
		return no_memory(err);
	}
	status = fill_rule(rule, zones, text, zone, options, err);
	if (status != BELFRY_OK) {
		return status;
	}
	*ret_rule = BF_TAKE(rule);
	return BELFRY_OK;
}
