/* Which instants some process covered (contract.md, Coverage): decided from the incarnations that the
 * store knows and from our own, whose last acknowledged beat we know better.
 *
 * An answer is final: an incarnation that has ended gains nothing, one that registers later covers
 * later times alone, and as long as a living one could still come to cover an instant the answer is
 * UNDECIDED. */
#ifndef BF_COVERAGE_H
#define BF_COVERAGE_H

#include <belfry/store.h>

#include "base/compiler.h"

struct bf_span {
	belfry_time from;
	belfry_time to; /* counts as well */
};

struct bf_coverage {
	struct bf_span own;    /* as acknowledged; from 0: we cover nothing (yet) */
	struct bf_span *spans; /* of all others, ordered, not touching each other */
	size_t span_count;
	size_t span_capacity;
	belfry_time undecided_from; /* a living other may still come to cover from here on; NEVER */
	bool is_known;              /* spans were read since our own incarnation began */
	belfry_time known_from;     /* ... those that cover anything from here on */
};

enum bf_covered { BF_COVERED_NO, BF_COVERED_YES, BF_COVERED_UNDECIDED };

void bf_coverage_fini(struct bf_coverage *coverage);

/* Take what the store lists. `self` is left out of the spans: it is `own`. BELFRY_OK, BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_coverage_read(struct bf_coverage *coverage,
		const struct belfry_incarnation *incarnations, size_t count, struct belfry_id self);

/* May instants before `own` be asked about? */
bool bf_coverage_reaches(const struct bf_coverage *coverage, belfry_time at);

/* The answer for `at`, and the last instant for which the same answer holds. */
enum bf_covered bf_coverage_at(const struct bf_coverage *coverage, belfry_time at,
		belfry_time *ret_until);

#endif
