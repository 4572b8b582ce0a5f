/* The calendar against the C library and against plain counting. A binary of its own: the C library has
 * one zone per process.
 *
 * offsets   every zone of the database, a second before, at and after each change, in the middle of each
 *           span, and every five days, up to the year 2500
 * files     fat and slim files (where zic is installed)
 * due times a walk over every minute around each change of zones that are known to be odd, for fixed and
 *           interval-like expressions under every policy, written without looking at due.c */
#define _XOPEN_SOURCE 700 /* nftw */
#include "cases.h"

#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/zones.h"
#include "libc_time.h"
#include "walk.h"

#define YEAR_S  INT64_C(31556952)
#define FIRST_S (-INT64_C(2208988800)) /* 1900 */
#define LAST_S  (INT64_C(16725225600)) /* 2500 */

static struct belfry_zones *zones;

/* --- all zones --- */

static char *names[1024];
static size_t name_count;

static int take_name(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	const char *name = path + sizeof("/usr/share/zoneinfo/") - 1;
	struct belfry_error err;
	struct bf_zone *zone;

	(void)info;
	(void)where;
	if (kind == FTW_F && name_count < BF_COUNT(names) &&
			bf_zones_find(zones, bf_str(name), &zone, &err) == BELFRY_OK) {
		bf_zone_free(zone);
		names[name_count++] = bf_str_dup(bf_str(name));
	}
	return 0;
}

static struct bf_zone *find_zone(const char *name)
{
	struct bf_zone *zone = NULL;
	struct belfry_error err;

	if (bf_zones_find(zones, bf_str(name), &zone, &err) != BELFRY_OK) {
		fail_msg("%s: %s (%s)", name, err.message, err.detail);
	}
	libc_set_zone(name);
	return zone;
}

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

static void check_spans(const struct bf_zone *zone)
{
	int64_t at = FIRST_S;

	while (at < LAST_S) {
		struct bf_span span = bf_zone_span(zone, at);
		assert_true(span.start <= at && at < span.end);
		if (span.start > FIRST_S) {
			check_instant(zone, span.start - 1);
			check_instant(zone, span.start);
			check_instant(zone, span.start + 1);
			assert_int_not_equal(bf_zone_span(zone, span.start - 1).offset,
					span.offset);
		}
		if (span.end < LAST_S) {
			check_instant(zone, at + (span.end - at) / 2);
			check_instant(zone, span.end - 1);
		}
		at = span.end;
	}
	for (at = FIRST_S; at < LAST_S; at += 5 * BF_DAY_S + 7717) {
		check_instant(zone, at);
	}
}

static void every_zone_has_the_offsets_of_the_c_library(void **state)
{
	(void)state;
	name_count = 0;
	assert_int_equal(nftw("/usr/share/zoneinfo", take_name, 16, FTW_PHYS), 0);
	assert_true(name_count > 300);
	for (size_t i = 0; i < name_count; i++) {
		struct bf_zone *zone = find_zone(names[i]);
		check_spans(zone);
		bf_zone_free(zone);
		bf_free(names[i]);
	}
	print_message("%zu zones\n", name_count);
}

/* --- fat and slim --- */

extern char **environ;

/* Compiles the system's source into `directory`; false where zic or the source is missing. */
static bool run_zic(const char *style, const char *directory)
{
	const char *const arguments[] = {"zic", "-b", style, "-d", directory,
			"/usr/share/zoneinfo/tzdata.zi", NULL};
	char *copies[BF_COUNT(arguments)] = {NULL};
	pid_t child;
	int status = -1;

	for (size_t i = 0; arguments[i] != NULL; i++) {
		copies[i] = bf_str_dup(bf_str(arguments[i]));
	}
	bool is_run = access("/usr/sbin/zic", X_OK) == 0 && access(arguments[5], R_OK) == 0 &&
			posix_spawn(&child, "/usr/sbin/zic", NULL, NULL, copies, environ) == 0 &&
			waitpid(child, &status, 0) == child && status == 0;
	for (size_t i = 0; i < BF_COUNT(copies); i++) {
		bf_free(copies[i]);
	}
	return is_run;
}

static int remove_entry(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info;
	(void)kind;
	(void)where;
	return remove(path);
}

static const char *const odd_zones[] = {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe",
		"Antarctica/Troll", "Pacific/Apia", "Africa/Cairo", "Africa/Casablanca",
		"Atlantic/Azores", "America/Sao_Paulo", "America/Havana", "Pacific/Chatham",
		"America/Nuuk", "Europe/Dublin", "Asia/Gaza"};

/* Reads every odd zone of a folder just as the C library reads the same file. The two styles do not
 * always say the same: zic itself leaves out some far changes of a slim file. */
static void check_directory(const char *directory)
{
	struct belfry_zones *set;

	assert_int_equal(belfry_zones_new(directory, &set, NULL), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(odd_zones); i++) {
		char path[256];
		struct bf_zone *zone;
		(void)snprintf(path, sizeof(path), "%s/%s", directory, odd_zones[i]);
		libc_set_zone(path);
		assert_int_equal(bf_zones_find(set, bf_str(odd_zones[i]), &zone, NULL), BELFRY_OK);
		check_spans(zone);
		bf_zone_free(zone);
	}
	belfry_zones_free(set);
}

static void fat_and_slim_files_are_read_alike(void **state)
{
	static const char *const styles[] = {"fat", "slim"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(styles); i++) {
		char directory[] = "/tmp/belfry-zic-XXXXXX";
		assert_non_null(mkdtemp(directory));
		bool is_built = run_zic(styles[i], directory);
		if (is_built) {
			check_directory(directory);
		}
		(void)nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
		if (!is_built) {
			print_message("zic is not installed: skipped\n");
			skip();
		}
	}
}

/* --- the walk over minutes --- */

static void check_edge(const char *name, int64_t edge, uint64_t *seed)
{
	static struct walk w;
	struct bf_zone *zone;

	assert_int_equal(bf_zones_find(zones, bf_str(name), &zone, NULL), BELFRY_OK);
	w.start = (edge / 60 - WALK_MINUTES / 2) * 60;
	for (int i = 0; i < WALK_MINUTES; i++) {
		int64_t at = w.start + i * INT64_C(60);
		w.local[i] = bf_floor_div(at + libc_offset(at), 60);
	}
	for (size_t i = 0; i < walk_chosen_count + 6; i++) {
		struct naive n = i < walk_chosen_count ? walk_chosen[i]
						       : walk_random_expression(seed);
		walk_compare(&w, &n, zone);
	}
	bf_zone_free(zone);
}

/* Changes are found with the C library, an hour at a time. */
static void due_times_agree_with_a_walk_over_every_minute(void **state)
{
	int edges = 0;
	uint64_t seed = 7;

	(void)state;
	for (size_t z = 0; z < BF_COUNT(odd_zones); z++) {
		libc_set_zone(odd_zones[z]);
		int32_t offset = libc_offset(2 * YEAR_S);
		for (int64_t at = 2 * YEAR_S; at < 75 * YEAR_S; at += 3600) {
			int32_t next = libc_offset(at);
			bool is_sampled = at > 30 * YEAR_S || walk_random(&seed, 4) == 0;
			/* Whole minutes alone: the walk knows no seconds. */
			if (next != offset && is_sampled && next % 60 == 0 && offset % 60 == 0) {
				check_edge(odd_zones[z], at, &seed);
				edges++;
			}
			offset = next;
		}
	}
	print_message("%d edges\n", edges);
	assert_true(edges > 700);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_zone_has_the_offsets_of_the_c_library),
			cmocka_unit_test(fat_and_slim_files_are_read_alike),
			cmocka_unit_test(due_times_agree_with_a_walk_over_every_minute),
	};
	struct belfry_error err;

	if (belfry_zones_new(NULL, &zones, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	int failed = cmocka_run_group_tests_name("against the C library", tests, NULL, NULL);
	belfry_zones_free(zones);
	return failed;
}
