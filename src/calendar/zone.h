/* A zone: for every instant, how far its local time is from UTC. Immutable once made, so it is shared
 * between threads without a lock; counted references.
 *
 * All times are seconds UTC. */
#ifndef BF_CALENDAR_ZONE_H
#define BF_CALENDAR_ZONE_H

#include <stdatomic.h>

#include <belfry/status.h>

#include "base/compiler.h"

#define BF_ZONE_BEGIN (-(INT64_C(1) << 60))
#define BF_ZONE_END   (INT64_C(1) << 60)
/* Buckets of 2^24 s (194 days) from 1901 to 2480, where the search for a span starts. */
#define BF_ZONE_BUCKET_SHIFT 24
#define BF_ZONE_BUCKETS      1089

struct bf_zone {
	atomic_uint references;
	uint32_t count;   /* of spans, at least 1 */
	int64_t *starts;  /* count + 1: of each span, and BF_ZONE_END */
	int32_t *offsets; /* of each span; neighbours differ */
	int64_t cycle_end; /* from here on everything repeats every 400 years; INT64_MAX: nothing does */
	int64_t settled; /* from here on the zone is as it will be for ever, years repeating or not */
	int32_t min_offset;
	int32_t max_offset;
	uint16_t buckets[BF_ZONE_BUCKETS + 1]; /* the span of each bucket's start */
	char *name;
};

/* A stretch of time with one offset: start <= t < end. */
struct bf_span {
	int64_t start; /* BF_ZONE_BEGIN: none */
	int64_t end;   /* BF_ZONE_END: none */
	int32_t offset;
};

/* Make a zone from the bytes of a TZif file; name is copied. Owned by the caller (one reference).
 * BELFRY_OK, BELFRY_NOMEM, BELFRY_CORRUPT (err->detail). */
BF_MUST_CHECK enum belfry_status bf_zone_new(struct belfry_str name, const unsigned char *bytes,
		size_t len, struct bf_zone **ret_zone, struct belfry_error *err);
struct bf_zone *bf_zone_share(struct bf_zone *zone); /* one reference more */
void bf_zone_free(struct bf_zone *zone);             /* one less; NULL is fine */
/* Whether both have the same offset at every instant and the same spans to say so. */
bool bf_zone_equal(const struct bf_zone *a, const struct bf_zone *b);

/* The span that `at` lies in. at must lie between BF_ZONE_BEGIN and BF_ZONE_END. */
struct bf_span bf_zone_span(const struct bf_zone *zone, int64_t at);

#endif
