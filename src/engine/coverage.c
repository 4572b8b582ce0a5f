/* Coverage as spans of time. Pure. */
#include "engine/coverage.h"

#include <stdlib.h>

#include "base/grow.h"
#include "base/timefmt.h"
#include "model/run.h"

void bf_coverage_fini(struct bf_coverage *coverage)
{
	bf_free(coverage->spans);
	*coverage = (struct bf_coverage){0};
}

static int compare_spans(const void *a, const void *b)
{
	const struct bf_span *x = a;
	const struct bf_span *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Ordered spans that touch or overlap become one. */
static void merge_spans(struct bf_coverage *coverage)
{
	size_t kept = 0;

	qsort(coverage->spans, coverage->span_count, sizeof(*coverage->spans), compare_spans);
	for (size_t i = 0; i < coverage->span_count; i++) {
		struct bf_span span = coverage->spans[i];
		struct bf_span *last = kept > 0 ? &coverage->spans[kept - 1] : NULL;
		if (last != NULL && span.from <= bf_time_add(last->to, 1)) {
			last->to = BF_MAX(last->to, span.to);
		} else {
			coverage->spans[kept++] = span;
		}
	}
	coverage->span_count = kept;
}

enum belfry_status bf_coverage_read(struct bf_coverage *coverage,
		const struct belfry_incarnation *incarnations, size_t count, struct belfry_id self)
{
	enum belfry_status status = BF_GROW(coverage->spans, coverage->span_capacity, count);

	if (status != BELFRY_OK) {
		return status;
	}
	coverage->span_count = 0;
	coverage->undecided_from = BELFRY_TIME_NEVER;
	for (size_t i = 0; i < count; i++) {
		const struct belfry_incarnation *other = &incarnations[i];
		bool is_silent = other->covers_from == 0 ||
				other->covered_until < other->covers_from;
		if (is_silent || bf_id_compare(other->id, self) == 0) {
			continue;
		}
		coverage->spans[coverage->span_count++] = (struct bf_span){other->covers_from,
				other->covered_until};
		if (other->ended_at == 0) {
			coverage->undecided_from = BF_MIN(coverage->undecided_from,
					bf_time_add(other->covered_until, 1));
		}
	}
	if (coverage->span_count > 0) {
		merge_spans(coverage);
	}
	coverage->is_known = true;
	return BELFRY_OK;
}

bool bf_coverage_reaches(const struct bf_coverage *coverage, belfry_time at)
{
	bool is_read = coverage->is_known && at >= coverage->known_from;

	return is_read || (coverage->own.from != 0 && at >= coverage->own.from);
}

static enum bf_covered answer(enum bf_covered covered, belfry_time until, belfry_time *ret_until)
{
	*ret_until = until;
	return covered;
}

/* Where a stretch without an answer of its own ends: before the next span, our own, or the undecided. */
static belfry_time stretch_end(const struct bf_coverage *coverage, belfry_time at)
{
	belfry_time end = BELFRY_TIME_NEVER;

	if (coverage->own.from > at) {
		end = coverage->own.from - 1;
	}
	if (coverage->undecided_from > at && coverage->undecided_from != BELFRY_TIME_NEVER) {
		end = BF_MIN(end, coverage->undecided_from - 1);
	}
	for (size_t i = 0; i < coverage->span_count; i++) {
		if (coverage->spans[i].from > at) {
			return BF_MIN(end, coverage->spans[i].from - 1);
		}
	}
	return end;
}

enum bf_covered bf_coverage_at(const struct bf_coverage *coverage, belfry_time at,
		belfry_time *ret_until)
{
	const struct bf_span *own = &coverage->own;

	if (own->from != 0 && at >= own->from) {
		/* Past our last acknowledged beat another beat decides, or our end. */
		return at <= own->to ? answer(BF_COVERED_YES, own->to, ret_until)
				     : answer(BF_COVERED_UNDECIDED, BELFRY_TIME_NEVER, ret_until);
	}
	for (size_t i = 0; i < coverage->span_count; i++) {
		if (at >= coverage->spans[i].from && at <= coverage->spans[i].to) {
			return answer(BF_COVERED_YES, coverage->spans[i].to, ret_until);
		}
	}
	belfry_time end = stretch_end(coverage, at);
	bool is_read = coverage->is_known && at >= coverage->known_from;
	if (!is_read || at >= coverage->undecided_from) {
		return answer(BF_COVERED_UNDECIDED, end, ret_until);
	}
	return answer(BF_COVERED_NO, end, ret_until);
}
