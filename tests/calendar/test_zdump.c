/* Every zone against what zdump(8) prints: the same changes at the same seconds with the same offsets, and
 * nothing between them, from 1900 to 2400.
 *
 * zdump looks at every twelve hours, so that 500 years of one zone take it a tenth of a second. Without an
 * argument zones that change no more are looked at up to 2040 alone, and the system's files alone; with the
 * argument "all" every zone is to the end, and files made fat and slim too. */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "cases.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/timefmt.h"
#include "calendar/civil.h"
#include "calendar/zones.h"
#include "zone_list.h"

#define SYSTEM     "/usr/share/zoneinfo"
#define FIRST_YEAR 1900
#define LAST_YEAR  2400
#define QUIET_YEAR 2040
/* zdumps that run at once */
#define AHEAD 4

static bool is_thorough;

static int64_t year_start(int64_t year)
{
	return bf_days_from_civil(year, 1, 1) * BF_DAY_S;
}

/* --- what zdump says --- */

struct instant {
	int64_t at;
	int32_t offset;
};

static int month_of(const char *name)
{
	static const char names[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

	for (int i = 0; i < 12; i++) {
		if (strncmp(names + i * 3, name, 3) == 0) {
			return i + 1;
		}
	}
	return 0;
}

/* "NAME  Sun Apr 30 21:59:59 1916 UT = ... gmtoff=3600"; false: the instant has no such date, or it is not of
 * the years that we look at (zdump always adds the first and the last second that there are). */
static bool read_line(const char *line, struct instant *ret_instant)
{
	char month[4];
	int day;
	int hour;
	int minute;
	int second;
	long long year;
	const char *offset = strstr(line, "gmtoff=");

	if (offset == NULL) {
		assert_non_null(strstr(line, "= NULL"));
		return false;
	}
	assert_int_equal(sscanf(line, "%*s %*3s %3s %d %d:%d:%d %lld UT", month, &day, &hour,
					 &minute, &second, &year),
			6);
	if (year < FIRST_YEAR || year > LAST_YEAR) {
		return false;
	}
	ret_instant->at = bf_days_from_civil(year, month_of(month), day) * BF_DAY_S +
			hour * INT64_C(3600) + minute * INT64_C(60) + second;
	ret_instant->offset = (int32_t)strtol(offset + 7, NULL, 10);
	return true;
}

static FILE *start_zdump(const char *directory, const char *name, int64_t year)
{
	char command[300];

	(void)snprintf(command, sizeof(command), "exec zdump -v -c %d,%lld %s/%s", FIRST_YEAR,
			(long long)year + 1, directory, name);
	FILE *pipe = popen(command, "re");
	assert_non_null(pipe);
	(void)fcntl(fileno(pipe), F_SETPIPE_SZ, 1 << 20); /* so that it need not wait for us */
	return pipe;
}

/* --- the comparison --- */

static void fail_at(const struct bf_zone *zone, int64_t at, const char *what)
{
	char text[BF_TIME_TEXT_BYTES];

	bf_time_format(at * BELFRY_SECOND, 0, text);
	fail_msg("%s at %s: %s", zone->name, text, what);
}

/* Between two instants that zdump prints nothing changes, or they are one second apart. */
static void check_between(const struct bf_zone *zone, int64_t from, int64_t to)
{
	struct bf_span span = bf_zone_span(zone, from);

	if (to > from + 1 && span.end < to) {
		fail_at(zone, span.end, "a change that zdump does not have");
	}
}

static size_t compare(const struct bf_zone *zone, FILE *lines, int64_t last_year)
{
	char line[300];
	int64_t before = year_start(FIRST_YEAR);
	struct instant instant = {0, 0};
	size_t changes = 0;
	int32_t offset = bf_zone_span(zone, before).offset;

	while (fgets(line, sizeof(line), lines) != NULL) {
		if (!read_line(line, &instant)) {
			continue;
		}
		if (bf_zone_span(zone, instant.at).offset != instant.offset) {
			fail_at(zone, instant.at, line);
		}
		check_between(zone, before, instant.at);
		changes += instant.offset != offset ? 1 : 0;
		offset = instant.offset;
		before = instant.at;
	}
	check_between(zone, before, year_start(last_year + 1));
	return changes;
}

struct dump {
	struct bf_zone *zone;
	FILE *lines;
	int64_t last_year;
};

static struct dump start(struct belfry_zones *set, const char *directory, const char *name)
{
	struct dump dump = {.last_year = LAST_YEAR};

	assert_int_equal(bf_zones_find(set, bf_str(name), &dump.zone, NULL), BELFRY_OK);
	if (!is_thorough && dump.zone->cycle_end == INT64_MAX &&
			dump.zone->settled < year_start(QUIET_YEAR)) {
		dump.last_year = QUIET_YEAR;
	}
	dump.lines = start_zdump(directory, name, dump.last_year);
	return dump;
}

static void check_folder(const char *directory)
{
	struct belfry_zones *set = NULL;
	struct zone_list list;
	struct dump dumps[ZONE_LIST_MAX];
	size_t started = 0;
	size_t changes = 0;

	assert_int_equal(belfry_zones_new(directory, &set, NULL), BELFRY_OK);
	zone_list_read(directory, &list);
	for (size_t i = 0; i < list.count; i++) {
		for (; started < list.count && started < i + AHEAD; started++) {
			dumps[started] = start(set, directory, list.names[started]);
		}
		changes += compare(dumps[i].zone, dumps[i].lines, dumps[i].last_year);
		assert_int_equal(pclose(dumps[i].lines), 0);
		bf_zone_free(dumps[i].zone);
	}
	print_message("%zu zones, %zu changes, %s\n", list.count, changes,
			is_thorough ? "all to 2400" : "to 2400 where they go on, else to 2040");
	assert_true(changes > 100000);
	zone_list_fini(&list);
	belfry_zones_free(set);
}

static void every_zone_changes_as_zdump_says(void **state)
{
	(void)state;
	check_folder(SYSTEM);
}

static void fat_and_slim_files_change_as_zdump_says(void **state)
{
	static const char *const styles[][3] = {{"-b", "fat", NULL}, {"-b", "slim", NULL}};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(styles); i++) {
		char directory[32];
		zic_make(styles[i], directory);
		check_folder(directory);
		zic_remove(directory);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_zone_changes_as_zdump_says),
			cmocka_unit_test(fat_and_slim_files_change_as_zdump_says),
	};
	const struct CMUnitTest first[] = {
			cmocka_unit_test(every_zone_changes_as_zdump_says),
	};

	is_thorough = argc == 2 && strcmp(argv[1], "all") == 0;
	return is_thorough ? cmocka_run_group_tests_name("against zdump", tests, NULL, NULL)
			   : cmocka_run_group_tests_name("against zdump", first, NULL, NULL);
}
