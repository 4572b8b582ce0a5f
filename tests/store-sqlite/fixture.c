/* Folders, clocks and operations for the tests. */
#include "fixture.h"

#include <dirent.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Atomic int64_t clock_offset;

static belfry_time moved_wall(void *data)
{
	const struct bf_env *env = bf_env_system();

	(void)data;
	return env->wall(env->data) + clock_offset;
}

static const struct bf_env *moved_env(void)
{
	static struct bf_env env;

	if (env.wall == NULL) {
		env = *bf_env_system();
		env.wall = moved_wall;
	}
	return &env;
}

void clock_move(belfry_duration step)
{
	clock_offset += step;
}

belfry_time clock_now(void)
{
	return moved_wall(NULL);
}

void place_init(struct place *place, bool in_memory)
{
	const char *root = getenv("TMPDIR");
	struct stat found;

	if (in_memory && stat("/dev/shm", &found) == 0) {
		root = "/dev/shm";
	}
	(void)snprintf(place->folder, sizeof(place->folder), "%s/belfry-test-XXXXXX",
			root != NULL ? root : "/tmp");
	assert_non_null(mkdtemp(place->folder));
	(void)snprintf(place->path, sizeof(place->path), "%s/store", place->folder);
	(void)snprintf(place->url, sizeof(place->url), "sqlite:%s", place->path);
	bf_sqlite_set_env(moved_env());
}

void place_fini(struct place *place)
{
	DIR *folder = opendir(place->folder);
	struct dirent *entry;
	char path[512];

	assert_non_null(folder);
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] != '.') {
			(void)snprintf(path, sizeof(path), "%s/%s", place->folder, entry->d_name);
			assert_int_equal(unlink(path), 0);
		}
	}
	closedir(folder);
	assert_int_equal(rmdir(place->folder), 0);
}

enum belfry_status try_open(const struct place *place, struct belfry_store **ret_store,
		struct belfry_error *err)
{
	struct belfry_store_options options = {
			.size = sizeof(options),
			.url = bf_str(place->url),
			.owner = BF_STR("test pid 1"),
	};

	return bf_sqlite_store_ops.open(&options, ret_store, err);
}

enum belfry_status try_open_migrated(const struct place *place, struct belfry_store **ret_store,
		struct belfry_error *err)
{
	struct belfry_store *store = NULL;
	enum belfry_status status = try_open(place, &store, err);

	if (status == BELFRY_OK) {
		status = bf_sqlite_store_ops.migrate(store, err);
		if (status != BELFRY_OK) {
			close_store(store);
		} else {
			*ret_store = store;
		}
	}
	return status;
}

struct belfry_store *open_migrated(const struct place *place)
{
	struct belfry_store *store = NULL;
	struct belfry_error err = {0};
	enum belfry_status status = try_open_migrated(place, &store, &err);

	if (status != BELFRY_OK) {
		fail_msg("open: %s: %s (%s)", belfry_status_name(status), err.message, err.detail);
	}
	return store;
}

void close_store(struct belfry_store *store)
{
	bf_sqlite_store_ops.close(store);
}

void raw_exec(const struct place *place, const char *text)
{
	sqlite3 *db = NULL;
	char *message = NULL;

	assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK) {
		fail_msg("%s: %s", text, message);
	}
	sqlite3_close(db);
}

int64_t raw_number(const struct place *place, const char *text)
{
	sqlite3 *db = NULL;
	sqlite3_stmt *row = NULL;
	int64_t number = 0;

	assert_int_equal(sqlite3_open(place->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, text, -1, &row, NULL), SQLITE_OK);
	if (sqlite3_step(row) == SQLITE_ROW) {
		number = sqlite3_column_int64(row, 0);
	}
	sqlite3_finalize(row);
	sqlite3_close(db);
	return number;
}

/* --- operations --- */

struct belfry_id incarnation_id(unsigned n)
{
	struct belfry_id id = {{0}};

	id.bytes[0] = 0xa0;
	id.bytes[14] = (unsigned char)(n >> 8);
	id.bytes[15] = (unsigned char)n;
	return id;
}

struct belfry_id run_id(const char *schedule, belfry_time due)
{
	struct belfry_id id;

	assert_int_equal(belfry_run_id(bf_str(schedule), due, &id), BELFRY_OK);
	return id;
}

static enum belfry_status advance_item(struct belfry_store *store, unsigned holder,
		struct belfry_advance_item *item, belfry_fence *ret_fence)
{
	struct belfry_advance advance = {
			.size = sizeof(advance),
			.items = item,
			.item_count = 1,
	};

	if (holder != 0) {
		advance.holder = incarnation_id(holder);
	}
	enum belfry_status status = bf_sqlite_store_ops.advance(store, &advance, NULL);
	if (ret_fence != NULL) {
		*ret_fence = advance.fence;
	}
	return status == BELFRY_OK ? item->result : status;
}

uint64_t put_schedule(struct belfry_store *store, const char *id, belfry_time cursor)
{
	struct belfry_schedule_put put = {
			.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED,
			.definition = BF_STR("definition"),
			.payload = BF_STR("payload"),
	};
	struct belfry_advance_item item = {
			.schedule = bf_str(id),
			.put = &put,
			.cursor = cursor,
			.tz_version = BF_STR("2026a"),
	};

	return advance_item(store, 0, &item, NULL) == BELFRY_OK ? item.version : 0;
}

enum belfry_status try_register(struct belfry_store *store, unsigned n)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_beat beat = {
			.size = sizeof(beat),
			.kind = BELFRY_BEAT_REGISTER,
			.incarnation = incarnation_id(n),
			.identity = BF_STR("test"),
	};
	enum belfry_status status = bf_sqlite_store_ops.beat(store, &beat, &arena, NULL);

	belfry_arena_fini(&arena);
	return status;
}

void begin_incarnation(struct belfry_store *store, unsigned n)
{
	assert_int_equal(try_register(store, n), BELFRY_OK);
}

enum belfry_status plan_run(struct belfry_store *store, const char *schedule, uint64_t *version,
		belfry_time due, enum belfry_run_state state, unsigned holder,
		belfry_fence *ret_fence)
{
	struct belfry_new_run run = {
			.id = run_id(schedule, due),
			.state = state,
			.due_at = due,
			.ready_at = due,
			.stands_for = 1,
	};
	struct belfry_advance_item item = {
			.schedule = bf_str(schedule),
			.expect_version = *version,
			.cursor = due + BELFRY_SECOND,
			.tz_version = BF_STR("2026a"),
			.last_fire_at = due,
			.runs = &run,
			.run_count = 1,
	};
	enum belfry_status status = advance_item(store, holder, &item, ret_fence);

	if (status == BELFRY_OK) {
		*version = item.version;
	}
	return status;
}

enum belfry_status add_run(struct belfry_store *store, const char *schedule, struct belfry_id id,
		const char *key)
{
	struct belfry_add add = {
			.schedule = bf_str(schedule),
			.id = id,
			.trigger = BELFRY_TRIGGER_MANUAL,
			.request_key = bf_str(key),
	};
	enum belfry_status status = bf_sqlite_store_ops.add_runs(store, &add, 1, NULL);

	return status == BELFRY_OK ? add.result : status;
}

struct belfry_claim claim(struct belfry_store *store, enum belfry_claim_kind kind, unsigned holder,
		uint32_t max, struct belfry_arena *arena)
{
	struct belfry_claim claim = {
			.size = sizeof(claim),
			.kind = kind,
			.holder = incarnation_id(holder),
			.max_runs = max,
			.max_bytes = UINT64_MAX,
	};

	if (bf_sqlite_store_ops.claim_runs(store, &claim, arena, NULL) != BELFRY_OK) {
		claim.run_count = 0;
	}
	return claim;
}

enum belfry_status turn_run(struct belfry_store *store, struct belfry_id run, belfry_fence fence)
{
	struct belfry_record record = {
			.kind = BELFRY_RECORD_TURN,
			.run = run,
			.fence = fence,
			.attempt = 1,
			.step = BELFRY_STEP_TURN,
			.turn = BF_STR("turn"),
			.status = BELFRY_STATUS_COMPLETED,
	};
	enum belfry_status status = bf_sqlite_store_ops.record(store, &record, 1, NULL);

	return status == BELFRY_OK ? record.result : status;
}

bool find_run(struct belfry_store *store, struct belfry_id id, struct belfry_run *ret_run)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_RUN_IDS,
			.run_ids = &id,
			.run_id_count = 1,
			.limit = 1,
	};

	assert_int_equal(bf_sqlite_store_ops.list(store, &list, &arena, NULL), BELFRY_OK);
	if (list.count > 0) {
		*ret_run = list.runs[0];
	}
	belfry_arena_fini(&arena);
	return list.count > 0;
}
