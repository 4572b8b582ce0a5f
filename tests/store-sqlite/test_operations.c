/* What this adapter does in its own way: takeover by range, items that cannot be written, forgetting. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "store-sqlite/statements.h"

#define START (1700000000 * BELFRY_SECOND)

static struct place place;

static int begin(void **state)
{
	place_init(&place, true);
	*state = open_migrated(&place);
	return 0;
}

static int end(void **state)
{
	close_store(*state);
	place_fini(&place);
	return 0;
}

static void runs_born_before_the_low_mark_are_taken_over(void **state)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	uint64_t version = put_schedule(*state, "s", START);
	belfry_fence fence = 0;

	begin_incarnation(*state, 1);
	for (int i = 0; i < 5000; i++) {
		assert_int_equal(plan_run(*state, "s", &version, START + i * BELFRY_SECOND,
						 BELFRY_RUN_DISPATCHING, 1, &fence),
				BELFRY_OK);
	}
	close_store(*state);
	*state = open_migrated(&place);
	begin_incarnation(*state, 2);
	size_t taken = 0;
	bool is_short = false;
	while (!is_short) {
		struct belfry_claim claimed = claim(*state, BELFRY_CLAIM_TAKEOVER, 2, 700, &arena);
		assert_true(claimed.run_count > 0 || claimed.is_short);
		for (size_t i = 0; i < claimed.run_count; i++) {
			assert_int_equal(claimed.runs[i].run.takeovers, 1);
			assert_int_equal(claimed.runs[i].run.attempt, 1);
			assert_true(claimed.runs[i].run.fence > fence ||
					claimed.runs[i].run.fence > 0);
		}
		taken += claimed.run_count;
		is_short = claimed.is_short;
	}
	assert_int_equal(taken, 5000);
	assert_int_equal(claim(*state, BELFRY_CLAIM_OWNED, 2, 9000, &arena).run_count, 5000);
	belfry_arena_fini(&arena);
}

static void a_dead_incarnation_is_settled_once_nothing_is_left(void **state)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;

	begin_incarnation(*state, 1);
	close_store(*state);
	*state = open_migrated(&place);
	begin_incarnation(*state, 2);
	assert_true(claim(*state, BELFRY_CLAIM_TAKEOVER, 2, 10, &arena).is_short);
	close_store(*state);
	assert_int_equal(raw_number(&place, "SELECT is_settled FROM incarnations WHERE key=1"), 1);
	*state = open_migrated(&place);
	belfry_arena_fini(&arena);
}

static void a_run_taken_over_twice_is_found_again(void **state)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	uint64_t version = put_schedule(*state, "s", START);

	begin_incarnation(*state, 1);
	assert_int_equal(plan_run(*state, "s", &version, START, BELFRY_RUN_DISPATCHING, 1, NULL),
			BELFRY_OK);
	for (unsigned n = 2; n < 5; n++) {
		close_store(*state);
		*state = open_migrated(&place);
		begin_incarnation(*state, n);
		struct belfry_claim claimed = claim(*state, BELFRY_CLAIM_TAKEOVER, n, 10, &arena);
		assert_int_equal(claimed.run_count, 1);
		assert_int_equal(claimed.runs[0].run.takeovers, n - 1);
	}
	belfry_arena_fini(&arena);
}

static struct belfry_counts counts_of(struct belfry_store *store)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {.size = sizeof(list), .kind = BELFRY_LIST_COUNTS};

	assert_int_equal(bf_sqlite_store_ops.list(store, &list, &arena, NULL), BELFRY_OK);
	struct belfry_counts counts = *list.counts;
	belfry_arena_fini(&arena);
	return counts;
}

static void counts_follow_a_run_through_its_states(void **state)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	uint64_t version = put_schedule(*state, "s", START);
	belfry_fence fence;

	begin_incarnation(*state, 1);
	assert_int_equal(plan_run(*state, "s", &version, START, BELFRY_RUN_QUEUED, 0, NULL),
			BELFRY_OK);
	assert_int_equal(plan_run(*state, "s", &version, START + BELFRY_SECOND,
					 BELFRY_RUN_DISPATCHING, 1, &fence),
			BELFRY_OK);
	struct belfry_counts counts = counts_of(*state);
	assert_int_equal(counts.by_state[BELFRY_RUN_QUEUED], 1);
	assert_int_equal(counts.by_state[BELFRY_RUN_DISPATCHING], 1);
	assert_int_equal(counts.oldest_queued, START);
	assert_int_equal(counts.active_schedules, 1);
	assert_int_equal(claim(*state, BELFRY_CLAIM_QUEUE, 1, 9, &arena).run_count, 1);
	assert_int_equal(counts_of(*state).by_state[BELFRY_RUN_DISPATCHING], 2);
	assert_int_equal(turn_run(*state, run_id("s", START + BELFRY_SECOND), fence), BELFRY_OK);
	assert_int_equal(counts_of(*state).by_state[BELFRY_RUN_DISPATCHING], 1);
	belfry_arena_fini(&arena);
}

/* A trigger stands for a row that cannot be written. */
static void an_item_that_cannot_be_written_stops_no_other(void **state)
{
	uint64_t versions[3];
	struct belfry_new_run runs[3];
	struct belfry_advance_item items[3];
	static const char *ids[] = {"a", "b", "c"};

	for (size_t i = 0; i < 3; i++) {
		versions[i] = put_schedule(*state, ids[i], START);
	}
	close_store(*state);
	raw_exec(&place,
			"CREATE TRIGGER broken BEFORE UPDATE ON schedules WHEN old.id='b'"
			" BEGIN SELECT RAISE(ABORT, 'broken'); END");
	*state = open_migrated(&place);
	for (size_t i = 0; i < 3; i++) {
		runs[i] = (struct belfry_new_run){.id = run_id(ids[i], START),
				.due_at = START,
				.ready_at = START,
				.stands_for = 1};
		items[i] = (struct belfry_advance_item){.schedule = bf_str(ids[i]),
				.expect_version = versions[i],
				.cursor = START + BELFRY_SECOND,
				.runs = &runs[i],
				.run_count = 1};
	}
	struct belfry_advance advance = {.size = sizeof(advance), .items = items, .item_count = 3};
	assert_int_equal(bf_sqlite_store_ops.advance(*state, &advance, NULL), BELFRY_OK);
	assert_int_equal(items[0].result, BELFRY_OK);
	assert_int_equal(items[1].result, BELFRY_CORRUPT);
	assert_int_equal(items[2].result, BELFRY_OK);
	struct belfry_run run;
	assert_true(find_run(*state, runs[0].id, &run));
	assert_false(find_run(*state, runs[1].id, &run));
	assert_true(find_run(*state, runs[2].id, &run));
}

static void a_payload_is_kept_once_and_goes_with_the_last_run(void **state)
{
	uint64_t version = put_schedule(*state, "s", START);
	struct belfry_schedule_put put = {.revision = 2,
			.flags = BELFRY_SCHEDULE_F_ENABLED,
			.definition = BF_STR("second"),
			.payload = BF_STR("payload")};
	struct belfry_advance_item item = {.schedule = BF_STR("s"), .put = &put, .cursor = START};
	struct belfry_advance advance = {.size = sizeof(advance), .items = &item, .item_count = 1};
	struct belfry_prune prune = {.size = sizeof(prune), .max_rows = 100};
	belfry_fence fence;

	begin_incarnation(*state, 1);
	assert_int_equal(plan_run(*state, "s", &version, START, BELFRY_RUN_DISPATCHING, 1, &fence),
			BELFRY_OK);
	item.expect_version = version;
	assert_int_equal(bf_sqlite_store_ops.advance(*state, &advance, NULL), BELFRY_OK);
	assert_int_equal(item.result, BELFRY_OK);
	assert_int_equal(turn_run(*state, run_id("s", START), fence), BELFRY_OK);
	put.revision = 3;
	put.payload = BF_STR("another");
	item.expect_version = item.version;
	assert_int_equal(bf_sqlite_store_ops.advance(*state, &advance, NULL), BELFRY_OK);
	close_store(*state);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM payloads"), 2);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM schedule_revisions"), 2);
	*state = open_migrated(&place);
	assert_int_equal(bf_sqlite_store_ops.prune(*state, &prune, NULL), BELFRY_OK);
	assert_int_equal(prune.removed, 1);
	assert_true(prune.is_done);
	close_store(*state);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM payloads"), 1);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM schedule_revisions"), 1);
	*state = open_migrated(&place);
}

static void output_goes_with_its_run(void **state)
{
	const struct belfry_document_ops *documents = bf_sqlite_store_ops.documents;
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	uint64_t version = put_schedule(*state, "s", START);
	struct belfry_prune prune = {.size = sizeof(prune), .max_rows = 1};
	struct belfry_id id = run_id("s", START);
	struct belfry_str type, bytes;
	uint64_t length;
	belfry_fence fence;

	begin_incarnation(*state, 1);
	assert_int_equal(plan_run(*state, "s", &version, START, BELFRY_RUN_DISPATCHING, 1, &fence),
			BELFRY_OK);
	assert_int_equal(turn_run(*state, id, fence), BELFRY_OK);
	struct belfry_output output = {.size = sizeof(output),
			.run = id,
			.fence = fence,
			.content_type = BF_STR("text/plain"),
			.bytes = BF_STR("01234")};
	assert_int_equal(documents->write_output(*state, &output, NULL), BELFRY_OK);
	output.offset = 5;
	output.bytes = BF_STR("56789");
	assert_int_equal(documents->write_output(*state, &output, NULL), BELFRY_OK);
	assert_int_equal(documents->read_output(*state, id, 3, 4, &arena, &type, &bytes, &length,
					 NULL),
			BELFRY_OK);
	assert_true(bf_str_equal(bytes, BF_STR("3456")));
	assert_int_equal(length, 10);
	assert_int_equal(bf_sqlite_store_ops.prune(*state, &prune, NULL), BELFRY_OK);
	assert_false(prune.is_done);
	assert_int_equal(documents->read_output(*state, id, 0, 4, &arena, &type, &bytes, &length,
					 NULL),
			BELFRY_NOT_FOUND);
	belfry_arena_fini(&arena);
}

static void the_log_stays_bounded(void **state)
{
	static char bytes[262144];
	struct bf_sqlite_counts counts;
	uint64_t largest = 0;

	for (int i = 0; i < 400; i++) {
		struct belfry_document document = {.kind = BF_STR("large"),
				.id = BF_STR("one"),
				.bytes = {bytes, sizeof(bytes)}};
		memset(bytes, i, sizeof(bytes));
		assert_int_equal(bf_sqlite_store_ops.documents->put(*state, &document, i, NULL),
				BELFRY_OK);
		bf_sqlite_get_counts(*state, &counts);
		largest = BF_MAX(largest, counts.wal_bytes);
	}
	assert_true(largest < (40 << 20));
}

/* What a copying tool may do: take the file's own lock while it is open here. */
static void t065_a_held_file_is_unavailable_within_the_time_of_a_call(void **state)
{
	const struct bf_env *env = bf_env_system();
	struct belfry_store_options options = {.size = sizeof(options),
			.url = bf_str(place.url),
			.timeout = BELFRY_SECOND / 5};
	struct belfry_store *store = NULL;
	sqlite3 *other = NULL;

	close_store(*state);
	assert_int_equal(bf_sqlite_store_ops.open(&options, &store, NULL), BELFRY_OK);
	assert_int_equal(bf_sqlite_store_ops.migrate(store, NULL), BELFRY_OK);
	assert_int_equal(sqlite3_open(place.path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_db_config(other, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL),
			SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	int64_t begun = env->boot(NULL).us;
	assert_int_equal(try_register(store, 1), BELFRY_UNAVAILABLE);
	assert_true(env->boot(NULL).us - begun < 5 * BELFRY_SECOND);
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(other), SQLITE_OK);
	assert_int_equal(try_register(store, 1), BELFRY_OK);
	close_store(store);
	*state = open_migrated(&place);
}

/* A file that vanished is not made anew: nothing answers OK from an empty one. */
static void a_file_that_vanished_is_unavailable(void **state)
{
	struct bf_fault *fault = vfs_fault();

	assert_true(put_schedule(*state, "s", START) != 0);
	vfs_set_kind(FAULT_IO);
	bf_fault_arm(fault, 1, -1);
	assert_int_not_equal(try_register(*state, 1), BELFRY_OK);
	bf_fault_arm(fault, 0, 0);
	char away[256];
	(void)snprintf(away, sizeof(away), "%s-away", place.path);
	assert_int_equal(rename(place.path, away), 0);
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time until = bf_boot_add(env->boot(NULL), BELFRY_SECOND / 2);
	while (env->boot(NULL).us < until.us) {
		assert_int_equal(try_register(*state, 2), BELFRY_UNAVAILABLE);
	}
	assert_int_equal(rename(away, place.path), 0);
	enum belfry_status status = BELFRY_UNAVAILABLE;
	until = bf_boot_add(env->boot(NULL), 20 * BELFRY_SECOND);
	while (status != BELFRY_OK && env->boot(NULL).us < until.us) {
		status = try_register(*state, 3);
	}
	assert_int_equal(status, BELFRY_OK);
}

/* Removed, and then replaced by a store that another process could have begun. */
static void nothing_is_acknowledged_into_a_file_that_was_removed(void **state)
{
	struct belfry_store *other = NULL;
	struct belfry_error err = {0};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_RENEW,
			.incarnation = incarnation_id(1),
			.length = BELFRY_MINUTE};
	struct belfry_document document;
	const struct belfry_document_ops *documents = bf_sqlite_store_ops.documents;
	char away[256];

	begin_incarnation(*state, 1);
	(void)snprintf(away, sizeof(away), "%s-away", place.path);
	assert_int_equal(rename(place.path, away), 0);
	assert_int_equal(bf_sqlite_store_ops.beat(*state, &beat, &arena, &err), BELFRY_UNAVAILABLE);
	assert_non_null(strstr(err.detail, "removed or replaced"));
	assert_null(strstr(err.message, "database"));
	int file = open(place.path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_true(file >= 0);
	close(file);
	assert_int_equal(try_register(*state, 2), BELFRY_UNAVAILABLE);
	assert_int_equal(documents->get(*state, BF_STR("a"), BF_STR("b"), BF_STR(""), BF_STR(""),
					 &arena, &document, &err),
			BELFRY_UNAVAILABLE);
	assert_non_null(strstr(err.detail, "removed or replaced"));
	struct belfry_output output = {.size = sizeof(output),
			.run = run_id("s", START),
			.content_type = BF_STR("t"),
			.bytes = BF_STR("b")};
	assert_int_equal(documents->write_output(*state, &output, &err), BELFRY_UNAVAILABLE);
	assert_int_equal(try_open(&place, &other, NULL), BELFRY_BUSY);
	assert_int_equal(rename(away, place.path), 0);
	assert_int_equal(bf_sqlite_store_ops.beat(*state, &beat, &arena, &err), BELFRY_OK);
	belfry_arena_fini(&arena);
}

/* The files of the one that took the name stay as they are when the old owner closes. */
static void closing_leaves_what_took_its_place_alone(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".output"};
	char path[256], away[256];
	int64_t count;

	begin_incarnation(*state, 1);
	for (size_t i = 0; i < BF_COUNT(suffixes); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", place.path, suffixes[i]);
		(void)snprintf(away, sizeof(away), "%s/away%s", place.folder, suffixes[i]);
		assert_int_equal(rename(path, away), 0);
	}
	struct belfry_store *other = open_migrated(&place);
	begin_incarnation(other, 2);
	close_store(*state);
	*state = other;
	begin_incarnation(other, 3);
	close_store(other);
	count = raw_number(&place, "SELECT count(*) FROM incarnations");
	assert_int_equal(count, 2);
	*state = open_migrated(&place);
}

static bool is_large(const char *plan)
{
	static const char *const tables[] = {"SCAN runs", "SCAN r", "SCAN schedule", "SCAN s",
			"SCAN v", "SCAN attempts", "SCAN a", "SCAN payloads", "SCAN p", "SCAN gaps",
			"SCAN request_keys", "SCAN documents"};

	for (size_t i = 0; i < BF_COUNT(tables); i++) {
		if (bf_str_starts_with(bf_str(plan), bf_str(tables[i]))) {
			return true;
		}
	}
	return false;
}

/* The oldest Run is the first row of its table: the one scan that ends at once. */
static void no_statement_walks_through_a_large_table(void **state)
{
	sqlite3 *db = NULL;

	close_store(*state);
	assert_int_equal(sqlite3_open(place.path, &db), SQLITE_OK);
	for (unsigned i = 0; i < BF_ST_COUNT; i++) {
		char text[4096];
		sqlite3_stmt *row = NULL;
		(void)snprintf(text, sizeof(text), "EXPLAIN QUERY PLAN %s", bf_statement_texts[i]);
		assert_int_equal(sqlite3_prepare_v2(db, text, -1, &row, NULL), SQLITE_OK);
		while (sqlite3_step(row) == SQLITE_ROW) {
			const char *plan = (const char *)sqlite3_column_text(row, 3);
			if (is_large(plan) && i != BF_ST_RUN_OLDEST) {
				fail_msg("%s: %s", plan, bf_statement_texts[i]);
			}
		}
		sqlite3_finalize(row);
	}
	sqlite3_close(db);
	*state = open_migrated(&place);
}

#define CASE(function) cmocka_unit_test_setup_teardown(function, begin, end)
const struct CMUnitTest operation_tests[] = {
		CASE(runs_born_before_the_low_mark_are_taken_over),
		CASE(a_dead_incarnation_is_settled_once_nothing_is_left),
		CASE(a_run_taken_over_twice_is_found_again),
		CASE(counts_follow_a_run_through_its_states),
		CASE(an_item_that_cannot_be_written_stops_no_other),
		CASE(a_payload_is_kept_once_and_goes_with_the_last_run),
		CASE(output_goes_with_its_run),
		CASE(the_log_stays_bounded),
		CASE(t065_a_held_file_is_unavailable_within_the_time_of_a_call),
		CASE(a_file_that_vanished_is_unavailable),
		CASE(nothing_is_acknowledged_into_a_file_that_was_removed),
		CASE(closing_leaves_what_took_its_place_alone),
		CASE(no_statement_walks_through_a_large_table),
};
const size_t operation_test_count = sizeof(operation_tests) / sizeof(operation_tests[0]);
