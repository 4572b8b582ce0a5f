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

#define WALK_DAYS    5
#define WALK_MINUTES (WALK_DAYS * 1440)
#define DUES_MAX     (2 * WALK_MINUTES)

/* Local minute of every minute around an edge, by the C library. */
struct walk {
	int64_t start; /* seconds UTC, on a minute */
	int64_t local[WALK_MINUTES];
};

/* An expression in sets of its own, and as text. */
struct naive {
	uint64_t minutes;
	uint32_t hours;
	uint32_t weekdays;
	bool is_fixed;
	char text[128];
};

static bool is_named(const struct naive *n, int64_t local_minute)
{
	int64_t day = bf_floor_div(local_minute, 1440);
	int64_t of_day = local_minute - day * 1440;
	int64_t weekday = ((day + 4) % 7 + 7) % 7;

	return n->minutes >> of_day % 60 & 1 && n->hours >> of_day / 60 & 1 &&
			n->weekdays >> weekday & 1;
}

struct dues {
	int64_t at[DUES_MAX];
	size_t count;
};

static void put_due(struct dues *dues, int64_t at)
{
	size_t i = dues->count;

	while (i > 0 && dues->at[i - 1] > at) {
		i--;
	}
	if (i > 0 && dues->at[i - 1] == at) {
		return;
	}
	memmove(dues->at + i + 1, dues->at + i, (dues->count - i) * sizeof(dues->at[0]));
	dues->at[i] = at;
	dues->count++;
}

static bool occurs(const struct walk *w, int64_t local, int from, int to)
{
	for (int i = from < 0 ? 0 : from; i < to && i < WALK_MINUTES; i++) {
		if (w->local[i] == local) {
			return true;
		}
	}
	return false;
}

static void walk_gap(const struct walk *w, const struct naive *n, int index,
		enum belfry_dst_gap gap, struct dues *dues)
{
	for (int64_t local = w->local[index - 1] + 1; local < w->local[index]; local++) {
		if (!is_named(n, local) || occurs(w, local, 0, WALK_MINUTES)) {
			continue;
		}
		if (gap == BELFRY_DST_GAP_AT_END) {
			put_due(dues, w->start + index * INT64_C(60));
		} else if (gap == BELFRY_DST_GAP_SHIFT) {
			put_due(dues, w->start + (index - 1 + local - w->local[index - 1]) * 60);
		}
	}
}

/* Everything that is due in the walk. Folds are looked for within 26 hours on both sides. */
static void walk_dues(const struct walk *w, const struct naive *n, enum belfry_dst_gap gap,
		enum belfry_dst_fold fold, struct dues *dues)
{
	static bool has_edge[WALK_MINUTES];
	int reach = 26 * 60;

	memset(has_edge, 0, sizeof(has_edge));
	for (int i = 1; i < WALK_MINUTES; i++) {
		if (w->local[i] < w->local[i - 1] + 1) {
			for (int j = BF_MAX(0, i - reach); j < BF_MIN(WALK_MINUTES, i + reach);
					j++) {
				has_edge[j] = true;
			}
		}
	}
	dues->count = 0;
	for (int i = 1; i < WALK_MINUTES; i++) {
		int64_t at = w->start + i * INT64_C(60);
		if (n->is_fixed && w->local[i] > w->local[i - 1] + 1) {
			walk_gap(w, n, i, gap, dues);
		}
		if (!is_named(n, w->local[i])) {
			continue;
		}
		bool is_taken = n->is_fixed && has_edge[i] &&
				((fold == BELFRY_DST_FOLD_FIRST &&
						 occurs(w, w->local[i], i - reach, i)) ||
						(fold == BELFRY_DST_FOLD_LAST &&
								occurs(w, w->local[i], i + 1,
										i + reach)));
		if (!is_taken) {
			put_due(dues, at);
		}
	}
}

static void compare(const struct walk *w, const struct naive *n, const char *zone,
		enum belfry_dst_gap gap, enum belfry_dst_fold fold)
{
	static struct dues dues;
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule;
	int64_t first = w->start + 28 * 3600;
	int64_t last = w->start + (WALK_DAYS * 24 - 28) * INT64_C(3600);
	belfry_time due = first * BELFRY_SECOND;

	options.gap = gap;
	options.fold = fold;
	walk_dues(w, n, gap, fold, &dues);
	assert_int_equal(belfry_rule_new(zones, bf_str(n->text), bf_str(zone), &options, &rule,
					 NULL),
			BELFRY_OK);
	for (size_t i = 0; i < dues.count; i++) {
		if (dues.at[i] <= first || dues.at[i] > last) {
			continue;
		}
		int64_t before = due;
		assert_int_equal(belfry_rule_next(rule, due, &due), BELFRY_OK);
		if (due != dues.at[i] * BELFRY_SECOND) {
			char found[BF_TIME_TEXT_BYTES];
			char expected[BF_TIME_TEXT_BYTES];
			char from[BF_TIME_TEXT_BYTES];
			bf_time_format(before, 0, from);
			bf_time_format(due, 0, found);
			bf_time_format(dues.at[i] * BELFRY_SECOND, 0, expected);
			fail_msg("\"%s\" in %s, gap %d, fold %d, from %s: %s is not %s", n->text,
					zone, (int)gap, (int)fold, from, found, expected);
		}
	}
	assert_true(belfry_rule_next(rule, due, &due) != BELFRY_OK || due > last * BELFRY_SECOND);
	belfry_rule_free(rule);
}

static uint64_t seed = 7;

static uint64_t random_below(uint64_t limit)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (seed >> 33) % limit;
}

/* A field as text and as a set; weekdays never begin with a star, so that days stay simple. */
static uint64_t random_field(struct bf_buf *text, uint64_t size, bool *ret_star)
{
	uint64_t set = 0;
	uint64_t kind = random_below(4);

	*ret_star = kind == 0;
	if (kind == 0) {
		uint64_t step = 1 + random_below(size / 2);
		for (uint64_t i = 0; i < size; i += step) {
			set |= UINT64_C(1) << i;
		}
		bf_buf_appendf(text, "*/%d ", (int)step);
	} else if (kind == 1) {
		uint64_t from = random_below(size);
		uint64_t to = from + random_below(size - from);
		for (uint64_t i = from; i <= to; i++) {
			set |= UINT64_C(1) << i;
		}
		bf_buf_appendf(text, "%d-%d ", (int)from, (int)to);
	} else {
		uint64_t count = 1 + random_below(3);
		for (uint64_t i = 0; i < count; i++) {
			uint64_t value = random_below(size == 24 && kind == 2 ? 4 : size);
			set |= UINT64_C(1) << value;
			bf_buf_appendf(text, "%s%d", i > 0 ? "," : "", (int)value);
		}
		bf_buf_append_byte(text, ' ');
	}
	return set;
}

static struct naive random_expression(void)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct naive n = {.weekdays = 0x7f};
	bool has_star[2];

	n.minutes = random_field(&text, 60, &has_star[0]);
	n.hours = (uint32_t)random_field(&text, 24, &has_star[1]);
	n.is_fixed = !has_star[0] && !has_star[1];
	bf_buf_append_text(&text, "* * ");
	if (random_below(3) == 0) {
		n.weekdays = 1u << random_below(7) | 1u << random_below(7) | 1;
		for (int day = 0; day < 7; day++) {
			bf_buf_appendf(&text, n.weekdays >> day & 1 ? "%d," : "", day);
		}
		text.ptr[text.len - 1] = '\0';
	} else {
		bf_buf_append_byte(&text, '*');
	}
	(void)snprintf(n.text, sizeof(n.text), "%s", text.ptr);
	return n;
}

static const struct naive chosen[] = {
		{1u << 30, 1u << 2, 0x7f, true, "30 2 * * *"},
		{1u, 1u, 0x7f, true, "0 0 * * *"},
		{1u << 30, 3u, 0x7f, true, "30 0,1 * * *"},
		{1u | 1u << 15 | 1u << 30 | UINT64_C(1) << 45, 0xffffff, 0x7f, true,
				"0,15,30,45 0-23 * * *"},
		{1u | 1u << 20 | UINT64_C(1) << 40, 1u << 2 | 1u << 3, 0x7f, true,
				"0/20 2,3 * * *"},
		{1u | 1u << 10 | 1u << 20 | 1u << 30 | UINT64_C(1) << 40 | UINT64_C(1) << 50,
				0xffffff, 0x7f, false, "*/10 * * * *"},
		{1u, 0xffffff, 0x7f, false, "0 * * * *"},
		{1u | 1u << 20 | UINT64_C(1) << 40, 1u << 2, 0x7f, false, "*/20 2 * * *"},
};

static void check_edge(const char *zone, int64_t edge)
{
	static struct walk w;

	w.start = (edge / 60 - WALK_MINUTES / 2) * 60;
	for (int i = 0; i < WALK_MINUTES; i++) {
		int64_t at = w.start + i * INT64_C(60);
		w.local[i] = bf_floor_div(at + libc_offset(at), 60);
	}
	for (size_t i = 0; i < BF_COUNT(chosen) + 6; i++) {
		struct naive n = i < BF_COUNT(chosen) ? chosen[i] : random_expression();
		for (int policy = 0; policy < 9; policy += 1) {
			compare(&w, &n, zone, (enum belfry_dst_gap)(policy / 3),
					(enum belfry_dst_fold)(policy % 3));
		}
	}
}

/* Changes are found with the C library, an hour at a time. */
static void due_times_agree_with_a_walk_over_every_minute(void **state)
{
	int edges = 0;

	(void)state;
	for (size_t z = 0; z < BF_COUNT(odd_zones); z++) {
		libc_set_zone(odd_zones[z]);
		int32_t offset = libc_offset(2 * YEAR_S);
		for (int64_t at = 2 * YEAR_S; at < 75 * YEAR_S; at += 3600) {
			int32_t next = libc_offset(at);
			bool is_sampled = at > 30 * YEAR_S || random_below(4) == 0;
			/* Whole minutes alone: the walk knows no seconds. */
			if (next != offset && is_sampled && next % 60 == 0 && offset % 60 == 0) {
				check_edge(odd_zones[z], at);
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
