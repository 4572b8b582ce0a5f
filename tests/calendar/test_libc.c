/* The calendar against the C library and against plain counting. A binary of its own: the C library has
 * one zone per process.
 *
 * offsets   every zone of the database, a second before, at and after each change, in the middle of each
 *           span, and every five days, from 1900 to 2500; then the last years that there are
 * files     the same from fat and from slim files, and from files that begin in 1970, of every zone
 * due times a walk over every minute around each change of every zone from 2020 to 2030, and of zones that
 *           are known to be odd from 1972 to 2045, for fixed and interval-like expressions under every
 *           policy, written without looking at due.c */
#include "cases.h"

#include <stdio.h>

#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/zones.h"
#include "libc_time.h"
#include "walk.h"
#include "zone_list.h"

#define SYSTEM  "/usr/share/zoneinfo"
#define YEAR_S  INT64_C(31556952)
#define FIRST_S (-INT64_C(2208988800))  /* 1900 */
#define LAST_S  (INT64_C(16725225600))  /* 2500 */
#define END_S   (INT64_C(253402300800)) /* 10000 */

/* Checked code is slower by so much that a share of it must do. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_CHECKED 1
#else
#define IS_CHECKED 0
#endif

static struct zone_list all;

/* --- offsets --- */

static void check_instant(const struct bf_zone *zone, int64_t at)
{
	int32_t ours = bf_zone_span(zone, at).offset;
	int32_t theirs = libc_offset(at);

	if (ours != theirs) {
		char text[BF_TIME_TEXT_BYTES];
		bf_time_format(at * BELFRY_SECOND, 0, text);
		fail_msg("%s at %s: %d, the C library says %d", zone->name, text, (int)ours,
				(int)theirs);
	}
}

/* Every change from first to last, and in steps between; says how many changes there were. */
static size_t check_spans(const struct bf_zone *zone, int64_t first, int64_t last, int64_t step)
{
	size_t changes = 0;
	int64_t at = first;

	while (at < last) {
		struct bf_span span = bf_zone_span(zone, at);
		assert_true(span.start <= at && at < span.end);
		if (span.start > first) {
			check_instant(zone, span.start - 1);
			check_instant(zone, span.start);
			check_instant(zone, span.start + 1);
			assert_int_not_equal(bf_zone_span(zone, span.start - 1).offset,
					span.offset);
			changes++;
		}
		if (span.end < last) {
			check_instant(zone, at + (span.end - at) / 2);
			check_instant(zone, span.end - 1);
		}
		at = span.end;
	}
	for (at = first; at < last; at += step) {
		check_instant(zone, at);
	}
	return changes;
}

/* Every zone of a folder just as the C library reads the same file. */
static void check_directory(const char *directory, int64_t first, int64_t step)
{
	struct belfry_zones *set = NULL;
	struct zone_list list;
	size_t changes = 0;

	assert_int_equal(belfry_zones_new(directory, &set, NULL), BELFRY_OK);
	zone_list_read(directory, &list);
	for (size_t i = 0; i < list.count; i++) {
		char path[256];
		struct bf_zone *zone = NULL;
		struct belfry_error err = {0};
		(void)snprintf(path, sizeof(path), "%s/%s", directory, list.names[i]);
		libc_set_zone(path);
		if (bf_zones_find(set, bf_str(list.names[i]), &zone, &err) != BELFRY_OK) {
			fail_msg("%s: %s (%s)", path, err.message, err.detail);
		}
		changes += check_spans(zone, first, LAST_S, step);
		changes += check_spans(zone, END_S - 12 * YEAR_S, END_S - BF_DAY_S, 71 * BF_DAY_S);
		bf_zone_free(zone);
	}
	print_message("%zu zones, %zu changes\n", list.count, changes);
	zone_list_fini(&list);
	belfry_zones_free(set);
}

static void every_zone_has_the_offsets_of_the_c_library(void **state)
{
	(void)state;
	check_directory(SYSTEM, FIRST_S, 5 * BF_DAY_S + 7717);
}

/* What they say of far years differs: zic itself leaves out some changes of a slim file. What a shortened
 * file says of the time before it begins is nobody's to know: RFC 9636 and the C library differ. */
static void fat_slim_and_shortened_files_are_read_alike(void **state)
{
	static const struct {
		int64_t first;
		const char *arguments[5];
	} styles[] = {
			{FIRST_S, {"-b", "fat", NULL}},
			{FIRST_S, {"-b", "slim", NULL}},
			{0, {"-b", "slim", "-r", "@0", NULL}},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(styles); i++) {
		char directory[32];
		zic_make(styles[i].arguments, directory);
		check_directory(directory, styles[i].first, 97 * BF_DAY_S + 7717);
		zic_remove(directory);
	}
}

static void files_with_leap_seconds_are_refused(void **state)
{
	static const char *const style[] = {"-L", SYSTEM "/leapseconds", NULL};
	char directory[32];
	struct zone_list list;
	struct belfry_zones *set = NULL;

	(void)state;
	zic_make(style, directory);
	zone_list_read(directory, &list);
	assert_int_equal(belfry_zones_new(directory, &set, NULL), BELFRY_OK);
	for (size_t i = 0; i < list.count; i++) {
		struct bf_zone *zone = NULL;
		struct belfry_error err = {0};
		assert_int_equal(bf_zones_find(set, bf_str(list.names[i]), &zone, &err),
				BELFRY_INVALID_SCHEDULE);
		assert_non_null(strstr(err.detail, "it counts leap seconds"));
	}
	belfry_zones_free(set);
	zone_list_fini(&list);
	zic_remove(directory);
}

/* --- the walk over minutes --- */

static struct belfry_zones *zones;

static void check_edge(const char *name, int64_t edge, size_t random_count, uint64_t *seed)
{
	static struct walk w;
	struct bf_zone *zone;

	assert_int_equal(bf_zones_find(zones, bf_str(name), &zone, NULL), BELFRY_OK);
	w.start = (edge / 60 - WALK_MINUTES / 2) * 60;
	for (int i = 0; i < WALK_MINUTES; i++) {
		int64_t at = w.start + i * INT64_C(60);
		w.local[i] = bf_floor_div(at + libc_offset(at), 60);
	}
	for (size_t i = 0; i < walk_chosen_count + random_count; i++) {
		struct naive n = i < walk_chosen_count ? walk_chosen[i]
						       : walk_random_expression(seed);
		walk_compare(&w, &n, zone);
	}
	bf_zone_free(zone);
}

/* The changes of a zone are found with the C library, a step at a time; one in `share` is walked. Whole
 * minutes alone: the walk knows no seconds. */
static size_t check_edges(const char *name, int64_t from, int64_t to, int64_t step, uint64_t share,
		uint64_t *seed)
{
	size_t edges = 0;

	libc_set_zone(name);
	int32_t offset = libc_offset(from);
	for (int64_t at = from; at < to; at += step) {
		int32_t next = libc_offset(at);
		if (next != offset && next % 60 == 0 && offset % 60 == 0 &&
				walk_random(seed, share) == 0) {
			check_edge(name, at, 2, seed);
			edges++;
		}
		offset = next;
	}
	return edges;
}

static const char *const odd_zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
		"Antarctica/Troll", "Pacific/Apia", "Africa/Cairo", "Africa/Casablanca",
		"Atlantic/Azores", "America/Sao_Paulo", "America/Havana", "Pacific/Chatham",
		"America/Nuuk", "Europe/Dublin", "Asia/Gaza"};

static void due_times_in_odd_zones_agree_with_a_walk_over_every_minute(void **state)
{
	size_t edges = 0;
	uint64_t seed = 7;
	uint64_t share = IS_CHECKED ? 40 : 2;

	(void)state;
	for (size_t z = 0; z < BF_COUNT(odd_zones); z++) {
		edges += check_edges(odd_zones[z], 2 * YEAR_S, 75 * YEAR_S, 3600, share, &seed);
	}
	print_message("%zu edges, one of %d\n", edges, (int)share);
	assert_true(edges > 1000 / share);
}

#define Y2020_S INT64_C(1577836800)
#define Y2031_S INT64_C(1924992000)

static void due_times_in_every_zone_agree_with_a_walk_from_2020_to_2030(void **state)
{
	size_t edges = 0;
	size_t changing = 0;
	uint64_t seed = 2020;
	uint64_t share = IS_CHECKED ? 20 : 1;

	(void)state;
	for (size_t z = 0; z < all.count; z++) {
		size_t count = check_edges(all.names[z], Y2020_S, Y2031_S, BF_DAY_S, share, &seed);
		if (count == 0) { /* nothing changes, or none was drawn: an ordinary day */
			check_edge(all.names[z], Y2020_S + (int64_t)z * 7 * BF_DAY_S, 1, &seed);
		}
		edges += count;
		changing += count > 0 ? 1 : 0;
	}
	print_message("%zu edges of %zu zones, one of %d; %zu zones in all\n", edges, changing,
			(int)share, all.count);
	assert_true(changing > (IS_CHECKED ? 20 : 100));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_zone_has_the_offsets_of_the_c_library),
			cmocka_unit_test(fat_slim_and_shortened_files_are_read_alike),
			cmocka_unit_test(files_with_leap_seconds_are_refused),
			cmocka_unit_test(
					due_times_in_odd_zones_agree_with_a_walk_over_every_minute),
			cmocka_unit_test(
					due_times_in_every_zone_agree_with_a_walk_from_2020_to_2030),
	};
	struct belfry_error err;

	if (belfry_zones_new(NULL, &zones, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	zone_list_read(SYSTEM, &all);
	int failed = cmocka_run_group_tests_name("against the C library", tests, NULL, NULL);
	zone_list_fini(&all);
	belfry_zones_free(zones);
	return failed;
}
