/* The database: names refused before any file is opened, unknown zones, the version, other folders. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "calendar/zones.h"
#include "tzif_build.h"

static void names_that_no_zone_has_are_refused_unopened(void **state)
{
	static const char *const bad[] = {"", "/", "/Europe/Berlin", "Europe//Berlin", "Europe/",
			"..", "../etc/passwd", "../../etc/passwd", "Europe/../Europe/Berlin",
			"./Europe/Berlin", "Europe/./Berlin", "Europe/.Berlin", "Europe/Berlin ",
			" Europe/Berlin", "Europe/Berlin\n", "Europe\\Berlin",
			"Europe/B\xc3\xa9rlin", "Europe/Berlin:", "~/Berlin", "Europe/Ber*",
			"posix/Europe/Berlin", "right/Europe/Berlin", "localtime", "posixrules",
			"a234567890123456789012345678901234567890123456789012345678901234x"};
	struct belfry_error err;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		err = (struct belfry_error){.status = BELFRY_OK};
		if (bf_zones_check_name(bf_str(bad[i]), &err) != BELFRY_INVALID_SCHEDULE) {
			fail_msg("\"%s\" is not refused", bad[i]);
		}
		assert_string_equal(err.pointer, "/timezone");
		check_refused("0 0 * * *", bad[i], -1, "not a time zone name");
	}
	assert_int_equal(bf_zones_check_name((struct belfry_str){"UTC\0", 4}, &err),
			BELFRY_INVALID_SCHEDULE);
}

static void t004_an_unknown_zone_is_refused_in_plain_words(void **state)
{
	static const char *const unknown[] = {"Mars/Olympus", "europe/berlin/", "Europe",
			"zone.tab", "tzdata.zi", "America/Argentina", "UTC/x"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(unknown); i++) {
		struct belfry_rule *rule = NULL;
		struct belfry_error err = {0};
		assert_int_equal(belfry_rule_new(shared_zones(), BF_STR("0 0 * * *"),
						 bf_str(unknown[i]), NULL, &rule, &err),
				BELFRY_INVALID_SCHEDULE);
		assert_string_equal(err.pointer, "/timezone");
		assert_non_null(strstr(err.message, "time zone"));
		assert_null(strstr(err.message, "/usr"));
		assert_null(strstr(err.message, "TZif"));
	}
}

static void names_of_every_shape_are_found(void **state)
{
	static const char *const good[] = {"UTC", "Etc/GMT+1", "Etc/GMT-14",
			"America/Port-au-Prince", "America/Argentina/Buenos_Aires", "GMT",
			"Asia/Ust-Nera"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(good); i++) {
		belfry_rule_free(new_rule("0 0 * * *", good[i]));
	}
}

static void a_zone_is_loaded_once_and_outlives_the_set(void **state)
{
	struct belfry_zones *zones;
	struct bf_zone *a;
	struct bf_zone *b;
	struct belfry_rule *rule;
	belfry_time due;

	(void)state;
	assert_int_equal(belfry_zones_new(NULL, &zones, NULL), BELFRY_OK);
	assert_int_equal(bf_zones_find(zones, BF_STR("Asia/Tokyo"), &a, NULL), BELFRY_OK);
	assert_int_equal(bf_zones_find(zones, BF_STR("Asia/Tokyo"), &b, NULL), BELFRY_OK);
	assert_ptr_equal(a, b);
	bf_zone_free(a);
	bf_zone_free(b);
	assert_int_equal(belfry_rule_new(zones, BF_STR("0 0 * * *"), BF_STR("Asia/Tokyo"), NULL,
					 &rule, NULL),
			BELFRY_OK);
	belfry_zones_free(zones);
	assert_int_equal(belfry_rule_next(rule, 0, &due), BELFRY_OK);
	belfry_rule_free(rule);
	belfry_zones_free(NULL);
	belfry_rule_free(NULL);
}

static void write_file(const char *directory, const char *name, const void *bytes, size_t len)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static void check_version(const char *directory, const char *expected)
{
	struct belfry_zones *zones;

	assert_int_equal(belfry_zones_new(directory, &zones, NULL), BELFRY_OK);
	assert_string_equal(belfry_zones_version(zones), expected);
	belfry_zones_free(zones);
}

static void remove_file(const char *directory, const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/%s", directory, name);
	assert_int_equal(unlink(path), 0);
}

static void a_folder_without_a_database_is_a_configuration_error(void **state)
{
	char directory[] = "/tmp/belfry-zones-XXXXXX";
	struct belfry_zones *zones = NULL;
	struct belfry_error err;

	(void)state;
	assert_non_null(mkdtemp(directory));
	assert_int_equal(belfry_zones_new(directory, &zones, &err), BELFRY_CONFIGURATION);
	assert_int_equal(belfry_zones_new("/nowhere/at/all", &zones, &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, "TZDIR"));
	assert_null(zones);
	assert_int_equal(rmdir(directory), 0);
}

static void the_version_is_what_the_folder_says(void **state)
{
	/* It is shown in logs and as the label of a metric. */
	static const char *const odd[] = {"\n", "2031\"c", "2031=c", "2031c\x1b[1m", "\\n",
			"2031c\x7f", "a1234567890123456789012345678901"};
	char directory[] = "/tmp/belfry-zones-XXXXXX";
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};

	(void)state;
	assert_non_null(mkdtemp(directory));
	tzif_read_system("UTC", &file);
	write_file(directory, "UTC", file.ptr, file.len);
	check_version(directory, "unknown");
	write_file(directory, "+VERSION", "2031c\n", 6);
	check_version(directory, "2031c");
	write_file(directory, "tzdata.zi", "# version 2032a\n# This\n", 23);
	check_version(directory, "2032a");
	write_file(directory, "tzdata.zi", "nothing", 7);
	check_version(directory, "2031c");
	for (size_t i = 0; i < BF_COUNT(odd); i++) {
		write_file(directory, "+VERSION", odd[i], strlen(odd[i]));
		check_version(directory, "unknown");
	}
	remove_file(directory, "+VERSION");
	remove_file(directory, "tzdata.zi");
	remove_file(directory, "UTC");
	assert_int_equal(rmdir(directory), 0);
}

static void what_is_no_zone_file_is_refused(void **state)
{
	char directory[] = "/tmp/belfry-zones-XXXXXX";
	char path[512];
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	struct belfry_zones *zones;
	struct bf_zone *zone;
	struct belfry_error err = {0};

	(void)state;
	assert_non_null(mkdtemp(directory));
	tzif_read_system("UTC", &file);
	write_file(directory, "UTC", file.ptr, file.len);
	write_file(directory, "Empty", "", 0);
	write_file(directory, "Half", file.ptr, file.len / 2);
	(void)snprintf(path, sizeof(path), "%s/Pipe", directory);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(belfry_zones_new(directory, &zones, NULL), BELFRY_OK);
	assert_int_equal(bf_zones_find(zones, BF_STR("UTC"), &zone, &err), BELFRY_OK);
	bf_zone_free(zone);
	assert_int_equal(bf_zones_find(zones, BF_STR("Empty"), &zone, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_int_equal(bf_zones_find(zones, BF_STR("Half"), &zone, &err),
			BELFRY_INVALID_SCHEDULE);
	assert_non_null(strstr(err.message, "no usable data"));
	assert_non_null(strstr(err.detail, "zone data"));
	assert_int_equal(bf_zones_find(zones, BF_STR("Pipe"), &zone, &err),
			BELFRY_INVALID_SCHEDULE);
	belfry_zones_free(zones);
	remove_file(directory, "UTC");
	remove_file(directory, "Empty");
	remove_file(directory, "Half");
	remove_file(directory, "Pipe");
	assert_int_equal(rmdir(directory), 0);
}

int run_zones_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(names_that_no_zone_has_are_refused_unopened),
			cmocka_unit_test(t004_an_unknown_zone_is_refused_in_plain_words),
			cmocka_unit_test(names_of_every_shape_are_found),
			cmocka_unit_test(a_zone_is_loaded_once_and_outlives_the_set),
			cmocka_unit_test(a_folder_without_a_database_is_a_configuration_error),
			cmocka_unit_test(the_version_is_what_the_folder_says),
			cmocka_unit_test(what_is_no_zone_file_is_refused),
	};

	return cmocka_run_group_tests_name("zones", tests, NULL, NULL);
}
