/* The load of a rule: its due times counted by bucket.
 *
 * Ten thousand rules that fire each minute of a day have fourteen million due times; asking for them one
 * by one takes seconds. Where nothing but a cron expression decides, and no clock change is near, the sets
 * of its fields are the answer already: the minutes of an hour are one word, and each of its bits is a
 * count. Everything else is counted one by one, by belfry_rule_next; both ways give the same counts.
 *
 * Invariant  the plain stretch of a span is where due.c takes every local time that matches as it comes:
 *            for fixed times further from the span's borders than the zone's offsets differ.
 * Not here   what a due time is (rule.c, due.c). */
#include <belfry/calendar.h>

#include "base/error.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/rule.h"

#define MINUTE_S 60
#define HOUR_S   3600

struct load {
	const struct belfry_rule *rule;
	const struct belfry_forecast_options *options;
	belfry_time origin; /* where the first bucket begins: `from` or before it */
	uint32_t *counts;
};

static void add_to(uint32_t *count, uint32_t due_count)
{
	*count = *count > UINT32_MAX - due_count ? UINT32_MAX : *count + due_count;
}

static void add(const struct load *load, belfry_time at, uint32_t due_count)
{
	add_to(&load->counts[(at - load->origin) / load->options->bucket], due_count);
}

/* --- one by one --- */

/* Due times in [from, to), instants in microseconds. */
static void add_slowly(const struct load *load, belfry_time from, belfry_time to)
{
	belfry_time due = from - 1;

	while (belfry_rule_next(load->rule, due, &due) == BELFRY_OK && due < to) {
		add(load, due, 1);
	}
}

/* When its Run gets ready; at once where a due time before 1970 has no Run. */
static enum belfry_status find_ready(const struct belfry_forecast_options *options, belfry_time due,
		belfry_time *ret_ready)
{
	struct belfry_id run;
	belfry_duration late = 0;

	if (options->spread > 0 && due >= 0) {
		enum belfry_status status = belfry_run_id(options->schedule, due, &run);
		if (status != BELFRY_OK) {
			return status;
		}
		late = bf_id_spread(run, options->spread);
	}
	*ret_ready = bf_time_add(due, late);
	return BELFRY_OK;
}

/* With a spread, or a limit of firings: then the order of due times matters, and each by itself. What was
 * due before `from` and gets ready later is load too, and of no firing that is left; so is what was due
 * before `left_since`. */
static enum belfry_status add_each(const struct load *load, struct belfry_error *err)
{
	const struct belfry_forecast_options *options = load->options;
	belfry_time left_since = BF_MAX(options->from, options->left_since);
	belfry_time due = BF_MAX(bf_time_add(options->from, -options->spread - 1),
			bf_time_add(options->since, -1));
	uint64_t fires = 0;

	while (belfry_rule_next(load->rule, due, &due) == BELFRY_OK && due < options->to) {
		belfry_time ready;
		bool is_counted = due >= left_since && options->max_fires != 0;
		if (is_counted && fires++ == options->max_fires) {
			break;
		}
		enum belfry_status status = find_ready(options, due, &ready);
		if (status != BELFRY_OK) {
			return bf_error_set(err, status, "forecast: %s",
					belfry_status_text(status));
		}
		if (ready >= options->from && ready < options->to) {
			add(load, ready, 1);
		}
	}
	return BELFRY_OK;
}

/* --- by sets --- */

/* The seconds of one minute that match, where the buckets part a minute. */
static void add_seconds(const struct load *load, uint64_t seconds, belfry_time minute)
{
	for (; seconds != 0; seconds &= seconds - 1) {
		add(load, minute + __builtin_ctzll(seconds) * BELFRY_SECOND, 1);
	}
}

/* The minutes of the hour that begins at `hour`. */
static void add_minutes(const struct load *load, const struct bf_cron *cron, uint64_t minutes,
		belfry_time hour)
{
	const struct belfry_forecast_options *options = load->options;
	belfry_duration since = hour - load->origin;
	uint32_t in_minute = (uint32_t)__builtin_popcountll(cron->seconds);
	bool is_whole = options->bucket % BELFRY_MINUTE == 0 && since % BELFRY_MINUTE == 0;

	if (is_whole && options->bucket == BELFRY_MINUTE) {
		for (; minutes != 0; minutes &= minutes - 1) {
			add_to(&load->counts[since / BELFRY_MINUTE + __builtin_ctzll(minutes)],
					in_minute);
		}
	}
	for (; minutes != 0; minutes &= minutes - 1) {
		belfry_time minute = hour + __builtin_ctzll(minutes) * BELFRY_MINUTE;
		if (is_whole) {
			add(load, minute, in_minute);
		} else {
			add_seconds(load, cron->seconds, minute);
		}
	}
}

/* Minutes [from, to) of a matching day that begins at second `day` UTC. */
static void add_day(const struct load *load, const struct bf_cron *cron, int64_t day, int from,
		int to)
{
	for (uint32_t hours = cron->hours; hours != 0; hours &= hours - 1) {
		int hour = __builtin_ctz(hours);
		int first = BF_MAX(from - hour * 60, 0);
		int last = BF_MIN(to - hour * 60, 60);
		if (first < last) {
			uint64_t inside = ((UINT64_C(1) << (last - first)) - 1) << first;
			add_minutes(load, cron, cron->minutes & inside,
					(day + hour * HOUR_S) * BELFRY_SECOND);
		}
	}
}

/* Local seconds [from, to), whole minutes of one offset. */
static void add_stretch(const struct load *load, const struct bf_cron *cron, int32_t offset,
		int64_t from, int64_t to)
{
	int64_t local = bf_cron_next(cron, from);

	while (local < to) {
		int64_t day = bf_floor_div(local, BF_DAY_S) * BF_DAY_S;
		int first = (int)(BF_MAX(from - day, 0) / MINUTE_S);
		int last = (int)(BF_MIN(to - day, BF_DAY_S) / MINUTE_S);
		add_day(load, cron, day - offset, first, last);
		from = day + BF_DAY_S;
		local = bf_cron_next(cron, from);
	}
}

/* Instants [from, to) in seconds, all of them in `span`. */
static void add_span(const struct load *load, const struct bf_cron *cron,
		const struct bf_span *span, int64_t from, int64_t to)
{
	const struct bf_due_policy *policy = &load->rule->policy;
	int32_t offsets_differ = policy->zone->max_offset - policy->zone->min_offset;
	int64_t first = from;
	int64_t last = to;

	if (cron->is_fixed) {
		first = BF_MAX(first, span->start + offsets_differ + 1);
	}
	if (cron->is_fixed && policy->fold == BELFRY_DST_FOLD_LAST) {
		last = BF_MIN(last, span->end - offsets_differ);
	}
	first = -bf_floor_div(-(first + span->offset), MINUTE_S) * MINUTE_S - span->offset;
	last = bf_floor_div(last + span->offset, MINUTE_S) * MINUTE_S - span->offset;
	if (first >= last) {
		add_slowly(load, from * BELFRY_SECOND, to * BELFRY_SECOND);
		return;
	}
	add_slowly(load, from * BELFRY_SECOND, first * BELFRY_SECOND);
	add_stretch(load, cron, span->offset, first + span->offset, last + span->offset);
	add_slowly(load, last * BELFRY_SECOND, to * BELFRY_SECOND);
}

/* The first second that is not before `at`. */
static int64_t second_from(belfry_time at)
{
	return bf_floor_div(at, BELFRY_SECOND) + (at % BELFRY_SECOND != 0 ? 1 : 0);
}

static void add_cron(const struct load *load, const struct bf_part *part)
{
	belfry_time from = BF_MAX(load->options->from, load->options->since);
	int64_t at = second_from(BF_MAX(from, part->not_before));
	int64_t end = second_from(BF_MIN(load->options->to, part->not_after + 1));

	while (at < end) {
		struct bf_span span = bf_zone_span(load->rule->policy.zone, at);
		int64_t to = BF_MIN(end, span.end);
		add_span(load, &part->of.cron, &span, at, to);
		at = to;
	}
}

static bool is_plain(const struct load *load)
{
	return load->options->spread == 0 && load->options->max_fires == 0 &&
			load->rule->count == 1 && load->rule->parts[0].kind == BF_PART_CRON &&
			load->rule->parts[0].excepts == NULL;
}

static enum belfry_status check(const struct belfry_forecast_options *options, size_t bucket_count,
		struct belfry_error *err)
{
	if (options == NULL || options->size != sizeof(*options)) {
		return bf_error_set(err, BELFRY_INVALID, "forecast: options not initialised");
	}
	if (options->from < BF_RULE_FIRST_TIME || options->to > BF_RULE_LAST_TIME ||
			options->from > options->to) {
		return bf_error_set(err, BELFRY_INVALID,
				"forecast: from and to do not lie in order in the years 1 to 9999");
	}
	if (options->bucket < 1 || options->spread < 0 || options->lead < 0 ||
			options->lead > options->from - BF_RULE_FIRST_TIME) {
		return bf_error_set(err, BELFRY_INVALID,
				"forecast: no bucket, or a negative spread or lead");
	}
	belfry_duration length = options->to - options->from + options->lead;
	if ((uint64_t)(length / options->bucket + (length % options->bucket != 0 ? 1 : 0)) >
			bucket_count) {
		return bf_error_set(err, BELFRY_INVALID, "forecast: too few buckets for its time");
	}
	return BELFRY_OK;
}

enum belfry_status belfry_rule_forecast(const struct belfry_rule *rule,
		const struct belfry_forecast_options *options, uint32_t *counts,
		size_t bucket_count, struct belfry_error *err)
{
	enum belfry_status status = check(options, bucket_count, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct load load = {rule, options, options->from - options->lead, counts};
	if (!is_plain(&load)) {
		return add_each(&load, err);
	}
	add_cron(&load, &rule->parts[0]);
	return BELFRY_OK;
}
