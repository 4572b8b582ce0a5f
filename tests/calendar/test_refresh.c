/* A database that changes on disk: what a refresh finds, and what it leaves alone. Each case has a
 * folder of its own with two small zones. */
#include "cases.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "tzif_build.h"

#define HOUR_S 3600

struct database {
	char root[64];    /* with the folders in it, for cases that move them */
	char folder[128]; /* root/zones */
	struct belfry_zones *zones;
};

static void path_of(const struct database *d, const char *name, char *ret_path, size_t size)
{
	(void)snprintf(ret_path, size, "%s/%s", d->folder, name);
}

/* A new file put in place of the old one, as installers do it. */
static void write_file(const struct database *d, const char *name, const void *bytes, size_t len)
{
	char path[256];
	char fresh[256];

	path_of(d, name, path, sizeof(path));
	path_of(d, "fresh", fresh, sizeof(fresh));
	FILE *file = fopen(fresh, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, path), 0);
}

static void write_version(const struct database *d, const char *version)
{
	char text[64];

	(void)snprintf(text, sizeof(text), "# version %s\n# more\n", version);
	write_file(d, "tzdata.zi", text, strlen(text));
}

static void write_zone(const struct database *d, const char *name, int32_t hours)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	int32_t offset = hours * HOUR_S;
	struct tzif_spec spec = {'2', NULL, 0, &offset, 1, "", 0};

	tzif_build(&spec, &file);
	write_file(d, name, file.ptr, file.len);
}

static void remove_file(const struct database *d, const char *name)
{
	char path[256];

	path_of(d, name, path, sizeof(path));
	assert_int_equal(unlink(path), 0);
}

static void fill_folder(const struct database *d, const char *version, int32_t hours)
{
	assert_int_equal(mkdir(d->folder, 0700), 0);
	write_version(d, version);
	write_zone(d, "City", hours);
	write_zone(d, "Town", 0);
}

static void empty_folder(const struct database *d)
{
	static const char *const names[] = {"tzdata.zi", "+VERSION", "City", "Town", "New"};
	char path[256];

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		path_of(d, names[i], path, sizeof(path));
		(void)unlink(path); /* no case has all of them */
	}
	(void)rmdir(d->folder); /* or it is a symbolic link */
	(void)unlink(d->folder);
}

static int make_database(void **state)
{
	struct database *d = bf_alloc(sizeof(*d));

	assert_non_null(d);
	(void)snprintf(d->root, sizeof(d->root), "/tmp/belfry-refresh-XXXXXX");
	assert_non_null(mkdtemp(d->root));
	(void)snprintf(d->folder, sizeof(d->folder), "%s/zones", d->root);
	fill_folder(d, "2031a", 1);
	assert_int_equal(belfry_zones_new(d->folder, &d->zones, NULL), BELFRY_OK);
	*state = d;
	return 0;
}

static int remove_database(void **state)
{
	struct database *d = *state;

	belfry_zones_free(d->zones);
	empty_folder(d);
	assert_int_equal(rmdir(d->root), 0);
	bf_free(d);
	return 0;
}

static struct belfry_rule *make_rule(const struct database *d, const char *zone)
{
	struct belfry_rule *rule = NULL;
	struct belfry_error err = {0};

	if (belfry_rule_new(d->zones, BF_STR("0 12 * * *"), bf_str(zone), NULL, &rule, &err) !=
			BELFRY_OK) {
		fail_msg("%s: %s (%s)", zone, err.message, err.detail);
	}
	return rule;
}

/* The offset that a rule made now has; in hours. */
static int hours_of(const struct database *d, const char *zone)
{
	struct belfry_rule *rule = make_rule(d, zone);
	int32_t offset = belfry_rule_offset(rule, 0);

	belfry_rule_free(rule);
	return offset / HOUR_S;
}

static void check_unknown(const struct database *d, const char *zone)
{
	struct belfry_rule *rule = NULL;
	struct belfry_error err = {0};

	assert_int_equal(belfry_rule_new(d->zones, BF_STR("0 12 * * *"), bf_str(zone), NULL, &rule,
					 &err),
			BELFRY_INVALID_SCHEDULE);
	assert_string_equal(err.pointer, "/timezone");
}

static void check_refresh(const struct database *d, bool is_change)
{
	uint64_t before = belfry_zones_generation(d->zones);
	bool is_changed = !is_change;
	struct belfry_error err = {0};

	if (belfry_zones_refresh(d->zones, &is_changed, &err) != BELFRY_OK) {
		fail_msg("%s", err.message);
	}
	assert_int_equal(is_changed, is_change);
	assert_int_equal(belfry_zones_generation(d->zones), before + (is_change ? 1 : 0));
}

/* A look that must fail, say why in these words, and leave everything as it is. */
static void check_refusal(const struct database *d, const char *words)
{
	uint64_t before = belfry_zones_generation(d->zones);
	const char *version = belfry_zones_version(d->zones);
	int hours = hours_of(d, "City");
	bool is_changed = true;
	struct belfry_error err = {0};

	assert_int_equal(belfry_zones_refresh(d->zones, &is_changed, &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, words));
	assert_non_null(strstr(err.message, "stays in use"));
	assert_true(is_changed); /* outputs are written on success alone */
	assert_int_equal(belfry_zones_generation(d->zones), before);
	assert_ptr_equal(belfry_zones_version(d->zones), version);
	assert_int_equal(hours_of(d, "City"), hours);
}

static void a_newer_database_is_read_and_rules_that_exist_keep_theirs(void **state)
{
	struct database *d = *state;
	struct belfry_rule *rule = make_rule(d, "City");
	const char *version = belfry_zones_version(d->zones);

	assert_string_equal(version, "2031a");
	assert_int_equal(belfry_zones_generation(d->zones), 1);
	check_refresh(d, false);
	write_zone(d, "City", 2);
	write_version(d, "2031b");
	assert_int_equal(hours_of(d, "City"), 1); /* until somebody looks */
	check_refresh(d, true);
	assert_string_equal(belfry_zones_version(d->zones), "2031b");
	assert_string_equal(version, "2031a"); /* borrowed for as long as the set lives */
	assert_int_equal(hours_of(d, "City"), 2);
	assert_int_equal(belfry_rule_offset(rule, 0), HOUR_S);
	check_dues(rule, "2031-01-01T00:00:00Z", "2031-01-01T11:00:00Z,2031-01-02T11:00:00Z");
	belfry_rule_free(rule);
	check_refresh(d, false);
}

static void a_version_alone_and_a_zone_alone_are_changes(void **state)
{
	struct database *d = *state;

	assert_int_equal(hours_of(d, "City"), 1);
	write_version(d, "2031b");
	check_refresh(d, true);
	assert_int_equal(hours_of(d, "City"), 1);
	write_zone(d, "City", 3);
	check_refresh(d, true);
	assert_string_equal(belfry_zones_version(d->zones), "2031b");
	assert_int_equal(hours_of(d, "City"), 3);
	write_file(d, "+VERSION", "2031x\n", 6); /* tzdata.zi counts */
	check_refresh(d, false);
	remove_file(d, "tzdata.zi");
	check_refresh(d, true);
	assert_string_equal(belfry_zones_version(d->zones), "2031x");
	check_refresh(d, false);
}

static void a_version_that_comes_back_is_the_same_text(void **state)
{
	struct database *d = *state;
	const char *first = belfry_zones_version(d->zones);

	for (int i = 0; i < 3; i++) {
		write_version(d, "2031b");
		check_refresh(d, true);
		assert_string_equal(belfry_zones_version(d->zones), "2031b");
		write_version(d, "2031a");
		check_refresh(d, true);
		assert_ptr_equal(belfry_zones_version(d->zones), first);
	}
}

static void files_that_were_touched_and_say_the_same_are_no_change(void **state)
{
	struct database *d = *state;

	assert_int_equal(hours_of(d, "City"), 1);
	write_zone(d, "City", 1);
	write_version(d, "2031a");
	check_refresh(d, false);
	write_zone(d, "Town", 5); /* nobody has asked for it */
	check_refresh(d, false);
	assert_int_equal(hours_of(d, "Town"), 5);
	check_refresh(d, false);
}

static void a_file_is_seen_whatever_its_time_says(void **state)
{
	struct database *d = *state;
	struct timespec times[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
	char path[256];

	path_of(d, "City", path, sizeof(path));
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	assert_int_equal(hours_of(d, "City"), 1);
	write_zone(d, "City", 2);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
	check_refresh(d, true);
	assert_int_equal(hours_of(d, "City"), 2);
}

/* Clocks of files stand still for milliseconds: a newer version makes every zone be read. */
static void a_newer_version_reads_zones_that_look_untouched(void **state)
{
	struct database *d = *state;
	char path[256];
	struct stat before;
	struct stat after;
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	int32_t offset = 2 * HOUR_S;
	struct tzif_spec spec = {'2', NULL, 0, &offset, 1, "", 0};

	assert_int_equal(hours_of(d, "City"), 1);
	path_of(d, "City", path, sizeof(path));
	assert_int_equal(stat(path, &before), 0);
	tzif_build(&spec, &bytes);
	FILE *file = fopen(path, "r+e");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes.ptr, 1, bytes.len, file), bytes.len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(before.st_size, after.st_size);
	assert_int_equal(before.st_ino, after.st_ino);
	write_version(d, "2031b");
	check_refresh(d, true);
	assert_int_equal(hours_of(d, "City"), 2);
}

static void a_database_that_is_away_changes_nothing(void **state)
{
	struct database *d = *state;
	char aside[128];

	assert_int_equal(hours_of(d, "City"), 1);
	(void)snprintf(aside, sizeof(aside), "%s/aside", d->root);
	assert_int_equal(rename(d->folder, aside), 0);
	check_refusal(d, "not there any more");
	check_refusal(d, "not there any more");
	assert_int_equal(rename(aside, d->folder), 0);
	check_refresh(d, false);
	remove_file(d, "tzdata.zi");
	check_refusal(d, "not there any more"); /* nothing says that this is a database */
}

static void a_database_half_written_changes_nothing(void **state)
{
	struct database *d = *state;

	assert_int_equal(hours_of(d, "City"), 1);
	write_version(d, "2031b");
	write_file(d, "City", "TZif2", 5);
	check_refusal(d, "\"City\" holds no usable data");
	write_file(d, "City", "", 0);
	check_refusal(d, "not whole");
	write_zone(d, "City", 2);
	write_file(d, "tzdata.zi", "# vers", 6);
	check_refusal(d, "no version");
	write_version(d, "2031b");
	check_refresh(d, true);
	assert_int_equal(hours_of(d, "City"), 2);
	assert_string_equal(belfry_zones_version(d->zones), "2031b");
}

static void a_zone_that_is_gone_is_refused_until_it_comes_back(void **state)
{
	struct database *d = *state;
	struct belfry_rule *rule = make_rule(d, "City");

	remove_file(d, "City");
	assert_int_equal(hours_of(d, "City"), 1);
	check_refresh(d, true);
	check_unknown(d, "City");
	check_dues(rule, "2031-01-01T00:00:00Z", "2031-01-01T11:00:00Z");
	assert_int_equal(hours_of(d, "Town"), 0);
	check_refresh(d, false);
	write_zone(d, "City", 4);
	assert_int_equal(hours_of(d, "City"), 4); /* a new rule may have it at once */
	check_refresh(d, true);                   /* and whoever waits for it is told */
	assert_int_equal(hours_of(d, "City"), 4);
	check_refresh(d, false);
	belfry_rule_free(rule);
}

static void a_zone_may_become_a_folder_and_new_names_appear(void **state)
{
	struct database *d = *state;
	char path[256];

	assert_int_equal(hours_of(d, "City"), 1);
	remove_file(d, "City");
	path_of(d, "City", path, sizeof(path));
	assert_int_equal(mkdir(path, 0700), 0);
	check_unknown(d, "New");
	write_zone(d, "New", 7);
	check_refresh(d, true);
	check_unknown(d, "City");
	assert_int_equal(hours_of(d, "New"), 7);
	check_refresh(d, false);
	assert_int_equal(rmdir(path), 0);
	check_refresh(d, false);
}

static void a_folder_that_is_a_link_may_be_turned_to_another(void **state)
{
	struct database *d = *state;
	struct database other = *d;
	char old[128];

	assert_int_equal(hours_of(d, "City"), 1);
	(void)snprintf(old, sizeof(old), "%s/old", d->root);
	(void)snprintf(other.folder, sizeof(other.folder), "%s/new", d->root);
	assert_int_equal(rename(d->folder, old), 0);
	fill_folder(&other, "2031c", 9);
	assert_int_equal(symlink(old, d->folder), 0);
	check_refresh(d, false);
	assert_int_equal(unlink(d->folder), 0);
	assert_int_equal(symlink(other.folder, d->folder), 0);
	check_refresh(d, true);
	assert_string_equal(belfry_zones_version(d->zones), "2031c");
	assert_int_equal(hours_of(d, "City"), 9);
	empty_folder(&other);
	assert_int_equal(unlink(d->folder), 0);
	assert_int_equal(rename(old, d->folder), 0);
}

static void a_refresh_without_memory_changes_nothing(void **state)
{
	struct database *d = *state;
	int64_t call = 0;
	bool is_changed = false;
	enum belfry_status status;

	assert_int_equal(hours_of(d, "City"), 1);
	write_zone(d, "City", 2);
	write_version(d, "2031b");
	do {
		struct belfry_error err = {0};
		call++;
		bf_fault_arm(bf_alloc_fault(), call, 1);
		status = belfry_zones_refresh(d->zones, &is_changed, &err);
		bool has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, has_fired ? BELFRY_NOMEM : BELFRY_OK);
		assert_int_equal(err.status, status);
		assert_int_equal(belfry_zones_generation(d->zones), has_fired ? 1 : 2);
		assert_int_equal(hours_of(d, "City"), has_fired ? 1 : 2);
	} while (status != BELFRY_OK);
	assert_true(is_changed);
	assert_true(call > 5);
	assert_int_equal(belfry_zones_refresh(NULL, &is_changed, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_zones_refresh(d->zones, NULL, NULL), BELFRY_OK);
}

int run_refresh_tests(void)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_database, remove_database)
	const struct CMUnitTest tests[] = {
			IN_A_FOLDER(a_newer_database_is_read_and_rules_that_exist_keep_theirs),
			IN_A_FOLDER(a_version_alone_and_a_zone_alone_are_changes),
			IN_A_FOLDER(a_version_that_comes_back_is_the_same_text),
			IN_A_FOLDER(files_that_were_touched_and_say_the_same_are_no_change),
			IN_A_FOLDER(a_file_is_seen_whatever_its_time_says),
			IN_A_FOLDER(a_newer_version_reads_zones_that_look_untouched),
			IN_A_FOLDER(a_database_that_is_away_changes_nothing),
			IN_A_FOLDER(a_database_half_written_changes_nothing),
			IN_A_FOLDER(a_zone_that_is_gone_is_refused_until_it_comes_back),
			IN_A_FOLDER(a_zone_may_become_a_folder_and_new_names_appear),
			IN_A_FOLDER(a_folder_that_is_a_link_may_be_turned_to_another),
			IN_A_FOLDER(a_refresh_without_memory_changes_nothing),
	};

	return cmocka_run_group_tests_name("refresh", tests, NULL, NULL);
}
