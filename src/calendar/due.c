/* Due times: local seconds that match, carried over to instants span by span.
 *
 * A zone is a row of spans with one offset each. Within a span local time runs straight, so the question
 * is one search of the expression. What makes it a calendar happens at the borders:
 *   - a border forwards leaves out local times (a gap); fixed times among them follow the gap policy;
 *   - a border backwards repeats local times (a fold); fixed times among them follow the fold policy;
 *   - an interval-like expression takes every local second as it comes and needs neither.
 * Two occurrences of one local second are never further apart than the zone's largest difference of
 * offsets (its spread), so only spans that near to an instant are ever looked at.
 *
 * Invariants  the answer is >= from and depends on nothing but the arguments; a search stops after one
 *             400-year cycle, in which a rule and a zone that repeat have shown all they do.
 * Not here    parsing, bounds and unions of rules (rule.c). */
#include "calendar/due.h"

#include "calendar/civil.h"

#define HORIZON_S (BF_CYCLE_S + 8 * BF_DAY_S)

static int32_t spread_of(const struct bf_zone *zone)
{
	return zone->max_offset - zone->min_offset;
}

static bool holds_local(const struct bf_span *span, int64_t local)
{
	return local >= span->start + span->offset && local < span->end + span->offset;
}

/* If a span before `span`, near enough to instant `at`, holds `local`: the local time at which that span
 * ends. Else local. */
static int64_t earlier_until(const struct bf_zone *zone, struct bf_span span, int64_t at,
		int64_t local)
{
	int32_t spread = spread_of(zone);

	while (span.start > BF_ZONE_BEGIN && at - span.start <= spread) {
		span = bf_zone_span(zone, span.start - 1);
		if (holds_local(&span, local)) {
			return span.end + span.offset;
		}
	}
	return local;
}

/* The same for the spans behind `span`. */
static int64_t later_until(const struct bf_zone *zone, struct bf_span span, int64_t at,
		int64_t local)
{
	int32_t spread = spread_of(zone);

	while (span.end < BF_ZONE_END && span.end - at <= spread) {
		span = bf_zone_span(zone, span.end);
		if (holds_local(&span, local)) {
			return span.end + span.offset;
		}
	}
	return local;
}

/* Local time up to which fixed times of `span` are taken by another occurrence of theirs; local if this
 * one is due. */
static int64_t folded_until(const struct bf_due_policy *p, const struct bf_span *span, int64_t at,
		int64_t local)
{
	switch (p->fold) {
	case BELFRY_DST_FOLD_FIRST: return earlier_until(p->zone, *span, at, local);
	case BELFRY_DST_FOLD_LAST: return later_until(p->zone, *span, at, local);
	case BELFRY_DST_FOLD_BOTH:
	case BELFRY_DST_FOLD_COUNT: return local;
	}
	return local;
}

/* The first matching local second in [from, to), a range left out where `span` begins, that occurs
 * nowhere else either; BF_CRON_NEVER if there is none. */
static int64_t next_missing(const struct bf_zone *zone, const struct bf_cron *cron,
		const struct bf_span *span, int64_t from, int64_t to)
{
	int64_t local = bf_cron_next(cron, from);

	while (local < to) {
		int64_t until = earlier_until(zone, *span, span->start, local);
		if (until == local) {
			until = later_until(zone, *span, span->start, local);
		}
		if (until == local) {
			return local;
		}
		local = bf_cron_next(cron, until);
	}
	return BF_CRON_NEVER;
}

/* What the gap at the beginning of `span`, if there is one, makes due at or after `from`. */
static int64_t due_of_gap(const struct bf_due_policy *p, const struct bf_cron *cron,
		const struct bf_span *span, int64_t from)
{
	if (span->start <= BF_ZONE_BEGIN) {
		return BF_DUE_NEVER;
	}
	int32_t before = bf_zone_span(p->zone, span->start - 1).offset;
	int64_t gap_start = span->start + before;
	int64_t gap_end = span->start + span->offset;
	if (gap_start >= gap_end) {
		return BF_DUE_NEVER;
	}
	int64_t local;
	switch (p->gap) {
	case BELFRY_DST_GAP_AT_END:
		if (from > span->start) {
			return BF_DUE_NEVER;
		}
		local = next_missing(p->zone, cron, span, gap_start, gap_end);
		return local != BF_CRON_NEVER ? span->start : BF_DUE_NEVER;
	case BELFRY_DST_GAP_SHIFT:
		gap_start = gap_start > from + before ? gap_start : from + before;
		local = next_missing(p->zone, cron, span, gap_start, gap_end);
		return local != BF_CRON_NEVER ? local - before : BF_DUE_NEVER;
	case BELFRY_DST_GAP_SKIP:
	case BELFRY_DST_GAP_COUNT: return BF_DUE_NEVER;
	}
	return BF_DUE_NEVER;
}

/* The same for every gap whose moved times may still come at or after `from`, an instant of `span`. */
static int64_t due_of_gaps(const struct bf_due_policy *p, const struct bf_cron *cron,
		struct bf_span span, int64_t from)
{
	int32_t spread = spread_of(p->zone);
	int64_t due = BF_DUE_NEVER;

	while (span.start > BF_ZONE_BEGIN && from - span.start <= spread) {
		int64_t candidate = due_of_gap(p, cron, &span, from);
		due = BF_MIN(due, candidate);
		span = bf_zone_span(p->zone, span.start - 1);
	}
	return due;
}

/* The first due instant of a fixed-time expression in [from, end of span). */
static int64_t fixed_in_span(const struct bf_due_policy *p, const struct bf_cron *cron,
		const struct bf_span *span, int64_t from)
{
	int64_t due = due_of_gaps(p, cron, *span, from);
	int64_t end = BF_MIN(due, span->end);
	int64_t local = bf_cron_next(cron, from + span->offset);

	while (local < end + span->offset) {
		int64_t until = folded_until(p, span, local - span->offset, local);
		if (until == local) {
			return local - span->offset;
		}
		local = bf_cron_next(cron, until);
	}
	return due < span->end ? due : BF_DUE_NEVER;
}

/* Where a search that found nothing before `end` goes on. No local time at or after the end of a span is
 * earlier than `end + min_offset`, no gap there begins earlier; so nothing happens before the first match
 * from there on, and the spans in between need no look. */
static int64_t skip_to(const struct bf_zone *zone, int64_t end, int64_t local)
{
	return local == BF_CRON_NEVER ? BF_DUE_NEVER : BF_MAX(end, local - zone->max_offset);
}

/* Whether fixed times in [from, at] of `span` are as plain as the others: far from its borders. */
static bool is_plain(const struct bf_due_policy *p, const struct bf_span *span, int64_t from,
		int64_t at)
{
	int32_t spread = spread_of(p->zone);

	return from - span->start > spread &&
			(p->fold != BELFRY_DST_FOLD_LAST || span->end - at > spread);
}

/* The first due instant in [from, end of span); else BF_DUE_NEVER, and where to go on. `known` is the first
 * match that the span before has found behind its end, and becomes this one's. */
static int64_t in_span(const struct bf_due_policy *p, const struct bf_cron *cron,
		const struct bf_span *span, int64_t from, int64_t *known, int64_t *ret_next)
{
	int64_t local = *known >= from + span->offset ? *known
						      : bf_cron_next(cron, from + span->offset);
	bool is_inside = local < span->end + span->offset;
	int64_t at = local - span->offset;
	bool is_simple = !cron->is_fixed || is_plain(p, span, from, is_inside ? at : from);

	if (is_inside && is_simple) {
		return at;
	}
	if (cron->is_fixed && !is_simple) {
		int64_t due = fixed_in_span(p, cron, span, from);
		if (due != BF_DUE_NEVER) {
			return due;
		}
	}
	if (is_inside || span->end + p->zone->min_offset < from + span->offset) {
		local = bf_cron_next(cron, span->end + p->zone->min_offset);
	}
	*known = local;
	*ret_next = skip_to(p->zone, span->end, local);
	return BF_DUE_NEVER;
}

int64_t bf_due_next(const struct bf_due_policy *policy, const struct bf_cron *cron, int64_t from)
{
	const struct bf_zone *zone = policy->zone;
	int64_t at = BF_MAX(from, BF_FIRST_SECOND);
	int64_t horizon = BF_MAX(at, zone->settled) + HORIZON_S;
	int64_t known = INT64_MIN;

	horizon = BF_MIN(horizon, BF_LAST_SECOND);
	while (at <= horizon) {
		struct bf_span span = bf_zone_span(zone, at);
		int64_t due = in_span(policy, cron, &span, at, &known, &at);
		if (due != BF_DUE_NEVER) {
			return due <= BF_LAST_SECOND ? due : BF_DUE_NEVER;
		}
		if (span.end >= BF_ZONE_END) {
			return BF_DUE_NEVER;
		}
	}
	return BF_DUE_NEVER;
}

/* The first or last span that holds `local`; false: none does. */
static bool find_occurrence(const struct bf_zone *zone, int64_t local, bool is_last,
		int64_t *ret_instant)
{
	int64_t low = local - zone->max_offset;
	int64_t high = local - zone->min_offset;
	struct bf_span span = bf_zone_span(zone, low);
	bool is_found = false;

	for (;;) {
		if (holds_local(&span, local)) {
			*ret_instant = local - span.offset;
			is_found = true;
			if (!is_last) {
				return true;
			}
		}
		if (span.end > high || span.end >= BF_ZONE_END) {
			return is_found;
		}
		span = bf_zone_span(zone, span.end);
	}
}

/* The gap that leaves `local` out: the first border past it. */
static struct bf_due_local missing_local(const struct bf_due_policy *p, int64_t local)
{
	struct bf_span before = bf_zone_span(p->zone, local - p->zone->max_offset);
	struct bf_span after = bf_zone_span(p->zone, before.end);

	while (after.start + after.offset <= local) {
		before = after;
		after = bf_zone_span(p->zone, before.end);
	}
	int64_t instant = p->gap == BELFRY_DST_GAP_SHIFT ? local - before.offset : after.start;
	return (struct bf_due_local){true, p->gap != BELFRY_DST_GAP_SKIP, instant, instant};
}

struct bf_due_local bf_due_local(const struct bf_due_policy *policy, int64_t local)
{
	struct bf_due_local due = {.is_due = true};

	if (!find_occurrence(policy->zone, local, false, &due.first)) {
		return missing_local(policy, local);
	}
	due.last = due.first;
	if (policy->fold != BELFRY_DST_FOLD_FIRST) {
		(void)find_occurrence(policy->zone, local, true,
				&due.last); /* one was found above */
	}
	if (policy->fold == BELFRY_DST_FOLD_LAST) {
		due.first = due.last;
	}
	return due;
}
