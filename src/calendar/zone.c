/* From the changes of a TZif file to an array of spans.
 *
 * The table of the file comes first. From its last change on the footer rules; its changes repeat with
 * the calendar's 400-year cycle, so they are written out once for a little more than a cycle and every
 * later instant is moved back by whole cycles before it is looked up. A look-up is therefore one short
 * search, whatever the year.
 *
 * Invariants  starts ascend; offsets of neighbours differ; the first cycle begins at least one whole year
 *             of footer changes after the table's end, so that what lies before an instant in the cycle
 *             is what lies before its image.
 * Not here    files (zones.c), local times and policies (due.c). */
#include "calendar/zone.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/footer.h"
#include "calendar/tzif.h"

/* Years of footer changes written out: one before the cycle, the cycle, and some for both edges. */
#define FOOTER_YEARS  406
#define BUCKET_ORIGIN (-(INT64_C(1) << 31))

static void put_span(struct bf_zone *zone, int64_t start, int32_t offset)
{
	uint32_t last = zone->count - 1;

	if (start <= zone->starts[last]) {
		zone->offsets[last] = offset;
		if (last > 0 && zone->offsets[last - 1] == offset) {
			zone->count--;
		}
	} else if (zone->offsets[last] != offset) {
		zone->starts[zone->count] = start;
		zone->offsets[zone->count] = offset;
		zone->count++;
	}
}

static enum belfry_status put_table(struct bf_zone *zone, const struct bf_tzif *tzif,
		struct belfry_error *err)
{
	zone->count = 1;
	zone->starts[0] = BF_ZONE_BEGIN;
	zone->offsets[0] = bf_tzif_offset(tzif, 0);
	for (size_t i = 0; i < tzif->change_count; i++) {
		int64_t time = bf_tzif_time(tzif, i);
		if (time <= BF_ZONE_BEGIN || time >= BF_ZONE_END) {
			return bf_error_system(err, BELFRY_CORRUPT, 0,
					"zone data: a change out of range");
		}
		put_span(zone, time, bf_tzif_offset(tzif, tzif->indices[i]));
	}
	return BELFRY_OK;
}

/* Daylight saving as one interval a year, those that touch or overlap made one (all-year DST). */
struct dst_intervals {
	const struct bf_footer *footer;
	int64_t year; /* the next to be looked at */
	int64_t last_year;
};

static bool next_of_year(struct dst_intervals *it, int64_t *ret_from, int64_t *ret_to)
{
	int64_t unused;

	for (; it->year <= it->last_year; it->year++) {
		bf_footer_changes(it->footer, it->year, ret_from, ret_to);
		if (*ret_to < *ret_from) { /* southern: it ends in the next year */
			bf_footer_changes(it->footer, it->year + 1, &unused, ret_to);
		}
		if (*ret_to > *ret_from) {
			it->year++;
			return true;
		}
	}
	return false;
}

/* Writes one interval of daylight saving; of what lies before `begin` only its offset at `begin` counts. */
static void put_interval(struct bf_zone *zone, const struct bf_footer *footer, int64_t begin,
		int64_t from, int64_t to)
{
	if (to <= begin) {
		return;
	}
	put_span(zone, from > begin ? from : begin, footer->dst_offset);
	put_span(zone, to, footer->standard_offset);
}

static void put_footer_years(struct bf_zone *zone, const struct bf_footer *footer, int64_t begin,
		int64_t first_year)
{
	struct dst_intervals it = {footer, first_year - 1, first_year + FOOTER_YEARS};
	int64_t from;
	int64_t to;
	int64_t next_from;
	int64_t next_to;

	if (!next_of_year(&it, &from, &to)) {
		return;
	}
	while (next_of_year(&it, &next_from, &next_to)) {
		if (next_from <= to) {
			to = BF_MAX(to, next_to);
			continue;
		}
		put_interval(zone, footer, begin, from, to);
		from = next_from;
		to = next_to;
	}
	/* Daylight saving that goes on past the last year never ends: standard time is not written. */
	put_span(zone, BF_MAX(from, begin), footer->dst_offset);
	if (from > begin) {
		put_span(zone, to, footer->standard_offset);
	}
}

/* The footer holds from the last change of the table on; without a table, always. */
static void put_footer(struct bf_zone *zone, const struct bf_footer *footer, int64_t begin)
{
	int64_t year = 0;
	int month;
	int day;

	if (begin > BF_FIRST_SECOND) {
		bf_civil_from_days(bf_floor_div(begin, BF_DAY_S), &year, &month, &day);
	}
	if (year > BF_LAST_YEAR) {
		return;
	}
	put_span(zone, begin, footer->standard_offset);
	if (!footer->has_dst) {
		return;
	}
	put_footer_years(zone, footer, begin, year);
	int64_t cycle_start = bf_days_from_civil(year + 2, 1, 1) * BF_DAY_S;
	if (zone->starts[zone->count - 1] > cycle_start) {
		zone->settled = cycle_start;
		zone->cycle_end = cycle_start + BF_CYCLE_S;
	}
}

static void index_zone(struct bf_zone *zone)
{
	uint32_t span = 0;

	zone->starts[zone->count] = BF_ZONE_END;
	for (int64_t i = 0; i <= BF_ZONE_BUCKETS; i++) {
		int64_t start = BUCKET_ORIGIN + (i << BF_ZONE_BUCKET_SHIFT);
		while (zone->starts[span + 1] <= start) {
			span++;
		}
		zone->buckets[i] = (uint16_t)span;
	}
	zone->min_offset = zone->offsets[0];
	zone->max_offset = zone->offsets[0];
	for (uint32_t i = 1; i < zone->count; i++) {
		zone->min_offset = BF_MIN(zone->min_offset, zone->offsets[i]);
		zone->max_offset = BF_MAX(zone->max_offset, zone->offsets[i]);
	}
}

/* A file without one has rules for no time. */
static enum belfry_status read_footer(const struct bf_tzif *tzif, struct bf_footer *ret_footer,
		struct belfry_error *err)
{
	*ret_footer = (struct bf_footer){.has_dst = false};
	if (tzif->footer.len > 0 && bf_footer_parse(tzif->footer, ret_footer) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"zone data: a footer not understood");
	}
	return BELFRY_OK;
}

static enum belfry_status fill_zone(struct bf_zone *zone, const struct bf_tzif *tzif,
		const struct bf_footer *footer, struct belfry_error *err)
{
	enum belfry_status status = put_table(zone, tzif, err);

	if (status != BELFRY_OK) {
		return status;
	}
	zone->cycle_end = INT64_MAX;
	int64_t begin = tzif->change_count > 0 ? bf_tzif_time(tzif, tzif->change_count - 1)
					       : BF_ZONE_BEGIN;
	zone->settled = begin;
	if (tzif->footer.len > 0) {
		put_footer(zone, footer, begin);
	}
	index_zone(zone);
	return BELFRY_OK;
}

/* Spans at most: what lies before all changes, each change, and what the footer writes. */
static size_t room_for(const struct bf_tzif *tzif, const struct bf_footer *footer)
{
	return 1 + tzif->change_count + 1 + (footer->has_dst ? 2 * (FOOTER_YEARS + 4) : 0);
}

BF_CLEANUP_POINTER(zone, struct bf_zone, bf_zone_free)

enum belfry_status bf_zone_new(struct belfry_str name, const unsigned char *bytes, size_t len,
		struct bf_zone **ret_zone, struct belfry_error *err)
{
	struct bf_tzif tzif;
	struct bf_footer footer;
	enum belfry_status status = bf_tzif_open(bytes, len, &tzif, err);

	if (status == BELFRY_OK) {
		status = read_footer(&tzif, &footer, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	BF_CLEANUP(bf_cleanup_zone) struct bf_zone *zone = bf_alloc(sizeof(*zone));
	if (zone == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
	}
	size_t room = room_for(&tzif, &footer);
	atomic_init(&zone->references, 1);
	zone->name = bf_str_dup(name);
	zone->starts = bf_alloc_array(room + 1, sizeof(*zone->starts));
	zone->offsets = bf_alloc_array(room, sizeof(*zone->offsets));
	if (zone->name == NULL || zone->starts == NULL || zone->offsets == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
	}
	status = fill_zone(zone, &tzif, &footer, err);
	if (status != BELFRY_OK) {
		return status;
	}
	*ret_zone = BF_TAKE(zone);
	return BELFRY_OK;
}

struct bf_zone *bf_zone_share(struct bf_zone *zone)
{
	(void)atomic_fetch_add_explicit(&zone->references, 1, memory_order_relaxed);
	return zone;
}

void bf_zone_free(struct bf_zone *zone)
{
	if (zone == NULL ||
			atomic_fetch_sub_explicit(&zone->references, 1, memory_order_acq_rel) !=
					1) {
		return;
	}
	bf_free(zone->starts);
	bf_free(zone->offsets);
	bf_free(zone->name);
	bf_free(zone);
}

bool bf_zone_equal(const struct bf_zone *a, const struct bf_zone *b)
{
	return a->count == b->count && a->cycle_end == b->cycle_end && a->settled == b->settled &&
			memcmp(a->starts, b->starts, a->count * sizeof(a->starts[0])) == 0 &&
			memcmp(a->offsets, b->offsets, a->count * sizeof(a->offsets[0])) == 0;
}

/* The last span that starts at or before `at`; low does, high + 1 does not. */
static uint32_t search(const int64_t *starts, uint32_t low, uint32_t high, int64_t at)
{
	while (low < high) {
		uint32_t middle = (low + high + 1) / 2;
		if (starts[middle] <= at) {
			low = middle;
		} else {
			high = middle - 1;
		}
	}
	return low;
}

/* Nearly every bucket has two changes at most. Then both are compared without a branch, which no
 * processor could foresee; behind the last span stands BF_ZONE_END, which is never reached. */
static inline uint32_t find_span(const struct bf_zone *zone, int64_t at)
{
	int64_t bucket = (at - BUCKET_ORIGIN) >> BF_ZONE_BUCKET_SHIFT;
	const int64_t *starts = zone->starts;

	if (bucket < 0) {
		return search(starts, 0, zone->buckets[0], at);
	}
	if (bucket >= BF_ZONE_BUCKETS) {
		return search(starts, zone->buckets[BF_ZONE_BUCKETS], zone->count - 1, at);
	}
	uint32_t low = zone->buckets[bucket];
	uint32_t high = zone->buckets[bucket + 1];
	if (high - low > 2) {
		return search(starts, low, high, at);
	}
	low += starts[low + 1] <= at ? 1 : 0;
	low += starts[low + 1] <= at ? 1 : 0;
	return low;
}

struct bf_span bf_zone_span(const struct bf_zone *zone, int64_t at)
{
	int64_t moved = 0;

	if (at >= zone->cycle_end) {
		moved = ((at - zone->cycle_end) / BF_CYCLE_S + 1) * BF_CYCLE_S;
	}
	uint32_t i = find_span(zone, at - moved);
	return (struct bf_span){
			.start = zone->starts[i] + moved,
			.end = zone->starts[i + 1] + moved,
			.offset = zone->offsets[i],
	};
}
