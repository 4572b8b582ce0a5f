/* What is refused at the door, who may come in, and how the schema comes into being. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

static void refused(const struct place *place, const char *words)
{
	struct belfry_store *store = NULL;
	struct belfry_error err = {0};
	enum belfry_status status = try_open_migrated(place, &store, &err);

	assert_int_equal(status, BELFRY_CONFIGURATION);
	assert_int_equal(err.status, BELFRY_CONFIGURATION);
	if (strstr(err.message, words) == NULL) {
		fail_msg("\"%s\" does not say \"%s\"", err.message, words);
	}
	assert_null(strstr(err.message, "SQL"));
}

static void write_file(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void refuses_an_address_without_a_path(void **state)
{
	struct place place = {.url = "sqlite:"};

	(void)state;
	refused(&place, "names no file");
	(void)snprintf(place.url, sizeof(place.url), "sqlite:/tmp/..");
	refused(&place, "names no file");
	(void)snprintf(place.url, sizeof(place.url), "other:/tmp/x");
	refused(&place, "address");
}

static void assert_absent(const struct place *place, const char *suffix)
{
	struct stat found;
	char path[256];

	(void)snprintf(path, sizeof(path), "%s%s", place->path, suffix);
	assert_int_equal(lstat(path, &found), -1);
}

static void refuses_a_name_of_memory_and_makes_no_file(void **state)
{
	struct place place = {.url = "sqlite::memory:", .path = ":memory:"};

	(void)state;
	refused(&place, "colon");
	assert_absent(&place, "");
	assert_absent(&place, ".lock");
}

static void refuses_a_device_and_makes_no_file(void **state)
{
	struct place place = {.url = "sqlite:/dev/null", .path = "/dev/null"};

	(void)state;
	refused(&place, "regular file");
	assert_absent(&place, ".lock");
	assert_absent(&place, ".output");
	assert_absent(&place, "-journal");
}

static void refuses_a_folder_in_place_of_a_file(void **state)
{
	struct place place;
	char path[256];

	(void)state;
	place_init(&place, true);
	assert_int_equal(mkdir(place.path, 0700), 0);
	refused(&place, "regular file");
	assert_absent(&place, ".lock");
	assert_int_equal(rmdir(place.path), 0);
	(void)snprintf(path, sizeof(path), "%s.output", place.path);
	assert_int_equal(mkdir(path, 0700), 0);
	refused(&place, "regular file");
	assert_absent(&place, ".lock");
	assert_int_equal(rmdir(path), 0);
	place_fini(&place);
}

static void refuses_a_folder_that_is_not_there(void **state)
{
	struct place place = {.url = "sqlite:/nowhere/at/all/store"};

	(void)state;
	refused(&place, "folder");
}

static void refuses_a_folder_that_cannot_be_written(void **state)
{
	struct place place = {.url = "sqlite:/proc/store"};

	(void)state;
	refused(&place, "folder");
}

static void refuses_a_file_that_is_no_database(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	write_file(place.path, "this is a letter to somebody, longer than the head of a file\n");
	refused(&place, "not a store");
	place_fini(&place);
}

static void refuses_a_short_file_that_is_no_database(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	write_file(place.path, "hm");
	refused(&place, "not a store");
	assert_absent(&place, ".lock");
	assert_absent(&place, ".output");
	place_fini(&place);
}

static void refuses_the_database_of_another_program(void **state)
{
	struct place place;
	struct stat found;
	char path[256];

	(void)state;
	place_init(&place, true);
	raw_exec(&place, "CREATE TABLE notes(text)");
	refused(&place, "another program");
	assert_absent(&place, ".lock");
	assert_absent(&place, ".output");
	assert_absent(&place, "-wal");
	/* Only what the refused call made itself goes. */
	(void)snprintf(path, sizeof(path), "%s.lock", place.path);
	write_file(path, "theirs");
	refused(&place, "another program");
	assert_int_equal(lstat(path, &found), 0);
	assert_int_equal(unlink(path), 0);
	place_fini(&place);
}

static void refuses_a_link_in_place_of_the_file(void **state)
{
	struct place place;
	char target[256];

	(void)state;
	place_init(&place, true);
	(void)snprintf(target, sizeof(target), "%s/elsewhere", place.folder);
	write_file(target, "");
	assert_int_equal(symlink(target, place.path), 0);
	refused(&place, "file");
	place_fini(&place);
}

static void takes_a_folder_behind_a_link(void **state)
{
	struct place place, linked;

	(void)state;
	place_init(&place, true);
	linked = place;
	(void)snprintf(linked.folder, sizeof(linked.folder), "%.100s-link", place.folder);
	(void)snprintf(linked.url, sizeof(linked.url), "sqlite:%s/store", linked.folder);
	assert_int_equal(symlink(place.folder, linked.folder), 0);
	close_store(open_migrated(&linked));
	assert_int_equal(unlink(linked.folder), 0);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM meta"), 3);
	place_fini(&place);
}

static void refuses_a_damaged_file(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	int file = open(place.path, O_WRONLY);
	assert_true(file >= 0);
	char noise[4096];
	memset(noise, 0x5a, sizeof(noise));
	assert_int_equal(pwrite(file, noise, 3996, 100), 3996);
	close(file);
	refused(&place, "cannot be read");
	place_fini(&place);
}

static void refuses_a_newer_schema(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	raw_exec(&place, "PRAGMA user_version=99");
	refused(&place, "version 99");
	assert_int_equal(raw_number(&place, "PRAGMA user_version"), 99);
	place_fini(&place);
}

static void migrates_from_nothing_once(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	struct belfry_store *store = NULL;
	assert_int_equal(try_open(&place, &store, NULL), BELFRY_OK);
	close_store(store);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM sqlite_schema"), 0);
	close_store(open_migrated(&place));
	int64_t tables = raw_number(&place, "SELECT count(*) FROM sqlite_schema");
	assert_true(tables > 20);
	assert_int_equal(raw_number(&place, "PRAGMA user_version"), 4);
	assert_int_equal(raw_number(&place, "PRAGMA application_id"), 0x42656c66);
	close_store(open_migrated(&place));
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM sqlite_schema"), tables);
	place_fini(&place);
}

/* A file of the first version: what it holds stays, what it lacks is made. */
static void brings_an_older_file_up_with_its_rows(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	int64_t tables = raw_number(&place, "SELECT count(*) FROM sqlite_schema");
	int64_t version = raw_number(&place, "PRAGMA user_version");
	raw_exec(&place,
			"DROP INDEX schedules_revisions; DROP INDEX documents_revisions;"
			"DROP TABLE cancels; DROP INDEX schedules_tz;"
			"ALTER TABLE schedules DROP COLUMN decided_due;"
			"ALTER TABLE schedules DROP COLUMN cursor_local;"
			"INSERT INTO names(name) VALUES('kept'); PRAGMA user_version=1");
	close_store(open_migrated(&place));
	assert_int_equal(raw_number(&place, "PRAGMA user_version"), version);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM sqlite_schema"), tables);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM names WHERE name='kept'"), 1);
	place_fini(&place);
}

static void answers_nothing_before_it_is_migrated(void **state)
{
	struct place place;
	struct belfry_store *store = NULL;

	(void)state;
	place_init(&place, true);
	assert_int_equal(try_open(&place, &store, NULL), BELFRY_OK);
	assert_int_equal(try_register(store, 1), BELFRY_CONFIGURATION);
	close_store(store);
	place_fini(&place);
}

static void t022_refuses_runs_without_their_primary_key(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	raw_exec(&place,
			"CREATE TABLE copy AS SELECT * FROM runs; DROP TABLE runs;"
			"ALTER TABLE copy RENAME TO runs;"
			"CREATE INDEX runs_history ON runs(schedule, id);"
			"CREATE INDEX runs_rare ON runs(schedule, id) WHERE status > 3;");
	refused(&place, "\"runs\" has lost its unique key (id)");
	place_fini(&place);
}

static void t022_a_unique_index_that_holds_for_some_rows_is_no_key(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	raw_exec(&place,
			"CREATE TABLE copy AS SELECT * FROM runs; DROP TABLE runs;"
			"ALTER TABLE copy RENAME TO runs;"
			"CREATE UNIQUE INDEX runs_some ON runs(id) WHERE state = 1;");
	refused(&place, "\"runs\" has lost its unique key (id)");
	place_fini(&place);
}

static void t022_refuses_other_tables_without_their_keys(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	raw_exec(&place,
			"CREATE TABLE copy AS SELECT * FROM request_keys; DROP TABLE request_keys;"
			"ALTER TABLE copy RENAME TO request_keys;");
	refused(&place, "\"request_keys\"");
	place_fini(&place);
}

static void refuses_a_schema_that_lacks_a_column(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	raw_exec(&place, "ALTER TABLE runs DROP COLUMN detail");
	refused(&place, "cannot be read");
	place_fini(&place);
}

static void remove_beside(const struct place *place, const char *suffix)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s%s", place->path, suffix);
	assert_int_equal(unlink(path), 0);
}

static void a_store_that_is_gone_is_not_begun_anew(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	remove_beside(&place, "");
	refused(&place, "put back the store's file");
	assert_absent(&place, "");
	write_file(place.path, "");
	refused(&place, "put back the store's file");
	remove_beside(&place, ".output");
	close_store(open_migrated(&place));
	place_fini(&place);
}

/* As after a kill: the child leaves without closing. */
static void leave_open(const struct place *place, unsigned n)
{
	int result;
	pid_t child = fork();

	assert_true(child >= 0);
	if (child == 0) {
		begin_incarnation(open_migrated(place), n);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &result, 0), child);
	assert_int_equal(result, 0);
}

static void a_log_that_is_gone_is_missed(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	leave_open(&place, 1);
	close_store(open_migrated(&place));
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM incarnations"), 1);
	leave_open(&place, 2);
	remove_beside(&place, "-wal");
	refused(&place, "log beside its file is gone");
	remove_beside(&place, "-shm");
	close_store(open_migrated(&place));
	place_fini(&place);
}

/* --- the lock --- */

static void a_second_owner_is_told_who_holds_it(void **state)
{
	struct place place;
	struct belfry_error err = {0};
	struct belfry_store *second = NULL;
	char holder[64];

	(void)state;
	place_init(&place, true);
	struct belfry_store *store = open_migrated(&place);
	assert_int_equal(try_open(&place, &second, &err), BELFRY_BUSY);
	(void)snprintf(holder, sizeof(holder), "test pid 1 (process %ld)", (long)getpid());
	assert_non_null(strstr(err.message, holder));
	close_store(store);
	close_store(open_migrated(&place));
	place_fini(&place);
}

static void run_second_process(const struct place *place, int answer)
{
	struct belfry_error err = {0};
	struct belfry_store *second = NULL;
	enum belfry_status status = try_open(place, &second, &err);
	bool is_named = strstr(err.message, "test pid 1") != NULL;

	if (write(answer, status == BELFRY_BUSY && is_named ? "y" : "n", 1) != 1) {
		_exit(1);
	}
	_exit(0);
}

static void a_second_process_is_told_who_holds_it(void **state)
{
	struct place place;
	int answer[2];
	char byte = 0;

	(void)state;
	place_init(&place, true);
	struct belfry_store *store = open_migrated(&place);
	assert_int_equal(pipe(answer), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		run_second_process(&place, answer[1]);
	}
	assert_int_equal(read(answer[0], &byte, 1), 1);
	assert_int_equal(byte, 'y');
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(answer[0]);
	close(answer[1]);
	close_store(store);
	place_fini(&place);
}

/* The file under another name, as a mount of a single file would show it. */
static void a_file_in_use_under_another_name_is_busy(void **state)
{
	struct place place, other;
	struct belfry_error err = {0};
	struct belfry_store *second = NULL;

	(void)state;
	place_init(&place, true);
	struct belfry_store *store = open_migrated(&place);
	other = place;
	(void)snprintf(other.path, sizeof(other.path), "%s/other", place.folder);
	(void)snprintf(other.url, sizeof(other.url), "sqlite:%s/other", place.folder);
	assert_int_equal(rename(place.path, other.path), 0);
	assert_int_equal(try_open(&other, &second, &err), BELFRY_BUSY);
	assert_non_null(strstr(err.message, "another name"));
	assert_int_equal(rename(other.path, place.path), 0);
	close_store(store);
	close_store(open_migrated(&place));
	place_fini(&place);
}

static void a_removed_lock_file_lets_nobody_in(void **state)
{
	struct place place;
	struct belfry_store *second = NULL;
	char path[256];

	(void)state;
	place_init(&place, true);
	struct belfry_store *store = open_migrated(&place);
	(void)snprintf(path, sizeof(path), "%s.lock", place.path);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(try_open(&place, &second, NULL), BELFRY_BUSY);
	close_store(store);
	place_fini(&place);
}

static void refuses_a_file_with_two_names(void **state)
{
	struct place place, other;

	(void)state;
	place_init(&place, true);
	close_store(open_migrated(&place));
	other = place;
	(void)snprintf(other.path, sizeof(other.path), "%s/other", place.folder);
	(void)snprintf(other.url, sizeof(other.url), "sqlite:%s/other", place.folder);
	assert_int_equal(link(place.path, other.path), 0);
	refused(&place, "2 names");
	refused(&other, "2 names");
	assert_absent(&other, ".lock");
	assert_int_equal(unlink(other.path), 0);
	close_store(open_migrated(&place));
	place_fini(&place);
}

/* The child must exist before the owner opens the file: it would inherit the owner's lock. */
static void run_standby(const struct place *place, int go, int answer)
{
	char byte;

	struct belfry_store_options options = {
			.size = sizeof(options),
			.url = bf_str(place->url),
			.is_standby = true,
			.owner = BF_STR("standby"),
	};
	struct belfry_store *store = NULL;

	if (read(go, &byte, 1) != 1 || write(answer, "w", 1) != 1 ||
			bf_sqlite_store_ops.open(&options, &store, NULL) != BELFRY_OK ||
			bf_sqlite_store_ops.migrate(store, NULL) != BELFRY_OK ||
			write(answer, "o", 1) != 1) {
		_exit(1);
	}
	close_store(store);
	_exit(0);
}

static char read_in_time(int file)
{
	struct pollfd wait = {.fd = file, .events = POLLIN};
	char byte = 0;

	assert_int_equal(poll(&wait, 1, 20000), 1);
	assert_int_equal(read(file, &byte, 1), 1);
	return byte;
}

static void a_standby_waits_and_then_owns_it(void **state)
{
	struct place place;
	int answer[2], go[2], result = -1;

	(void)state;
	place_init(&place, true);
	assert_int_equal(pipe(answer), 0);
	assert_int_equal(pipe(go), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		run_standby(&place, go[0], answer[1]);
	}
	struct belfry_store *store = open_migrated(&place);
	assert_int_equal(write(go[1], "g", 1), 1);
	assert_int_equal(read_in_time(answer[0]), 'w');
	close_store(store);
	assert_int_equal(read_in_time(answer[0]), 'o');
	assert_int_equal(waitpid(child, &result, 0), child);
	assert_int_equal(result, 0);
	close(go[0]);
	close(go[1]);
	close(answer[0]);
	close(answer[1]);
	place_fini(&place);
}

static void opening_declares_predecessors_dead(void **state)
{
	struct place place;

	(void)state;
	place_init(&place, true);
	struct belfry_store *store = open_migrated(&place);
	begin_incarnation(store, 1);
	close_store(store);
	store = open_migrated(&place);
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_RENEW,
			.incarnation = incarnation_id(1)};
	assert_int_equal(bf_sqlite_store_ops.beat(store, &beat, &arena, NULL), BELFRY_STALE);
	belfry_arena_fini(&arena);
	close_store(store);
	assert_int_equal(raw_number(&place, "SELECT was_declared_dead FROM incarnations"), 1);
	assert_int_equal(raw_number(&place, "SELECT covered_until FROM incarnations"), 0);
	place_fini(&place);
}

static void nothing_is_left_beside_a_closed_file(void **state)
{
	struct place place;
	struct stat found;
	char path[256];

	(void)state;
	place_init(&place, true);
	struct belfry_store *store = open_migrated(&place);
	begin_incarnation(store, 1);
	close_store(store);
	(void)snprintf(path, sizeof(path), "%s-wal", place.path);
	assert_int_equal(stat(path, &found), -1);
	(void)snprintf(path, sizeof(path), "%s-shm", place.path);
	assert_int_equal(stat(path, &found), -1);
	assert_int_equal(stat(place.path, &found), 0);
	assert_int_equal(found.st_mode & 0777, 0600);
	bf_sqlite_store_ops.close(NULL);
	place_fini(&place);
}

const struct CMUnitTest open_tests[] = {
		cmocka_unit_test(refuses_an_address_without_a_path),
		cmocka_unit_test(refuses_a_name_of_memory_and_makes_no_file),
		cmocka_unit_test(refuses_a_device_and_makes_no_file),
		cmocka_unit_test(refuses_a_folder_in_place_of_a_file),
		cmocka_unit_test(refuses_a_folder_that_is_not_there),
		cmocka_unit_test(refuses_a_folder_that_cannot_be_written),
		cmocka_unit_test(refuses_a_file_that_is_no_database),
		cmocka_unit_test(refuses_a_short_file_that_is_no_database),
		cmocka_unit_test(refuses_the_database_of_another_program),
		cmocka_unit_test(refuses_a_link_in_place_of_the_file),
		cmocka_unit_test(takes_a_folder_behind_a_link),
		cmocka_unit_test(refuses_a_damaged_file),
		cmocka_unit_test(refuses_a_newer_schema),
		cmocka_unit_test(migrates_from_nothing_once),
		cmocka_unit_test(brings_an_older_file_up_with_its_rows),
		cmocka_unit_test(answers_nothing_before_it_is_migrated),
		cmocka_unit_test(t022_refuses_runs_without_their_primary_key),
		cmocka_unit_test(t022_a_unique_index_that_holds_for_some_rows_is_no_key),
		cmocka_unit_test(t022_refuses_other_tables_without_their_keys),
		cmocka_unit_test(refuses_a_schema_that_lacks_a_column),
		cmocka_unit_test(a_store_that_is_gone_is_not_begun_anew),
		cmocka_unit_test(a_log_that_is_gone_is_missed),
		cmocka_unit_test(a_second_owner_is_told_who_holds_it),
		cmocka_unit_test(a_second_process_is_told_who_holds_it),
		cmocka_unit_test(a_file_in_use_under_another_name_is_busy),
		cmocka_unit_test(a_removed_lock_file_lets_nobody_in),
		cmocka_unit_test(refuses_a_file_with_two_names),
		cmocka_unit_test(a_standby_waits_and_then_owns_it),
		cmocka_unit_test(opening_declares_predecessors_dead),
		cmocka_unit_test(nothing_is_left_beside_a_closed_file),
};
const size_t open_test_count = sizeof(open_tests) / sizeof(open_tests[0]);
