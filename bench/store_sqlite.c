/* How many Runs a second the one-file store takes through their whole life, against a ceiling measured in
 * the same run: the client library called directly with exactly the same rows, indexes and commits.
 *
 * One batch is 1000 Runs of 1000 schedules in two commits: cursors moved and Runs inserted as already
 * owned; then turns recorded as completed. Rounds of both sides take turns, and each side's best one
 * counts, because a shared disk is noisy in one direction.
 *
 * Usage: bench-store-sqlite [FOLDER [BATCHES [ROUNDS]]]. Exit 1: below the floor of 60 %. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/env.h"
#include "base/str.h"
#include "model/run.h"
#include "store-sqlite/sqlite.h"

#define SCHEDULES 1000
#define START     (1700000000 * BELFRY_SECOND)
#define FLOOR     60

struct bench {
	char path[512];
	int batches;
	struct belfry_str ids[SCHEDULES];
	char texts[SCHEDULES][24];
	uint64_t versions[SCHEDULES];
};

static void need(bool holds, const char *what)
{
	if (!holds) {
		(void)fprintf(stderr, "bench: %s failed\n", what);
		exit(2);
	}
}

static int64_t now_us(void)
{
	const struct bf_env *env = bf_env_system();

	return env->boot(env->data).us;
}

static struct belfry_id run_id(const struct bench *bench, int schedule, belfry_time due)
{
	struct belfry_id id;

	need(belfry_run_id(bench->ids[schedule], due, &id) == BELFRY_OK, "id");
	return id;
}

static struct belfry_id holder_id(void)
{
	return (struct belfry_id){{0xb, 0xe, 0xf}};
}

static void forget(const struct bench *bench)
{
	static const char *const endings[] = {"", "-wal", "-shm", ".lock", ".output", ".output-wal",
			".output-shm"};
	char path[600];

	for (size_t i = 0; i < BF_COUNT(endings); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", bench->path, endings[i]);
		(void)unlink(path);
	}
}

/* --- the product --- */

static struct belfry_store *open_store(const struct bench *bench)
{
	char url[600];
	struct belfry_store *store = NULL;
	struct belfry_error err = {0};

	(void)snprintf(url, sizeof(url), "sqlite:%s", bench->path);
	struct belfry_store_options options = {.size = sizeof(options), .url = bf_str(url)};
	if (bf_sqlite_store_ops.open(&options, &store, &err) != BELFRY_OK ||
			bf_sqlite_store_ops.migrate(store, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "bench: %s (%s)\n", err.message, err.detail);
		exit(2);
	}
	return store;
}

static void begin_store(struct bench *bench, struct belfry_store *store)
{
	static struct belfry_advance_item items[SCHEDULES];
	struct belfry_schedule_put put = {.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED | BELFRY_SCHEDULE_F_LOCAL_SESSION,
			.definition = BF_STR("{\"rule\":\"* * * * * *\",\"zone\":\"UTC\"}"),
			.payload = BF_STR("payload")};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_REGISTER,
			.incarnation = holder_id()};

	need(bf_sqlite_store_ops.beat(store, &beat, &arena, NULL) == BELFRY_OK, "register");
	belfry_arena_fini(&arena);
	for (int i = 0; i < SCHEDULES; i++) {
		items[i] = (struct belfry_advance_item){.schedule = bench->ids[i],
				.put = &put,
				.cursor = START,
				.tz_version = BF_STR("2026a")};
	}
	struct belfry_advance advance = {.size = sizeof(advance),
			.items = items,
			.item_count = SCHEDULES};
	need(bf_sqlite_store_ops.advance(store, &advance, NULL) == BELFRY_OK, "put");
	for (int i = 0; i < SCHEDULES; i++) {
		need(items[i].result == BELFRY_OK, "put of one");
		bench->versions[i] = items[i].version;
	}
}

static void plan_batch(struct bench *bench, struct belfry_store *store, belfry_time due,
		struct belfry_new_run *runs, belfry_fence *ret_fence)
{
	static struct belfry_advance_item items[SCHEDULES];

	for (int i = 0; i < SCHEDULES; i++) {
		runs[i] = (struct belfry_new_run){.id = run_id(bench, i, due),
				.state = BELFRY_RUN_DISPATCHING,
				.due_at = due,
				.ready_at = due,
				.stands_for = 1};
		items[i] = (struct belfry_advance_item){.schedule = bench->ids[i],
				.expect_version = bench->versions[i],
				.cursor = due + BELFRY_SECOND,
				.tz_version = BF_STR("2026a"),
				.fired_add = 1,
				.last_fire_at = due,
				.runs = &runs[i],
				.run_count = 1};
	}
	struct belfry_advance advance = {.size = sizeof(advance),
			.holder = holder_id(),
			.is_plan = true,
			.items = items,
			.item_count = SCHEDULES};
	need(bf_sqlite_store_ops.advance(store, &advance, NULL) == BELFRY_OK, "plan");
	for (int i = 0; i < SCHEDULES; i++) {
		need(items[i].result == BELFRY_OK && runs[i].is_inserted, "plan of one");
		bench->versions[i] = items[i].version;
	}
	*ret_fence = advance.fence;
}

static void record_batch(struct belfry_store *store, const struct belfry_new_run *runs,
		belfry_fence fence)
{
	static struct belfry_record records[SCHEDULES];

	for (int i = 0; i < SCHEDULES; i++) {
		records[i] = (struct belfry_record){.kind = BELFRY_RECORD_TURN,
				.run = runs[i].id,
				.fence = fence,
				.attempt = 1,
				.step = BELFRY_STEP_TURN,
				.status = BELFRY_STATUS_COMPLETED};
	}
	need(bf_sqlite_store_ops.record(store, records, SCHEDULES, NULL) == BELFRY_OK, "record");
	for (int i = 0; i < SCHEDULES; i++) {
		need(records[i].result == BELFRY_OK, "record of one");
	}
}

static double measure_product(struct bench *bench)
{
	static struct belfry_new_run runs[SCHEDULES];
	struct belfry_store *store = open_store(bench);

	begin_store(bench, store);
	int64_t begun = now_us();
	for (int i = 0; i < bench->batches; i++) {
		belfry_fence fence;
		plan_batch(bench, store, START + i * BELFRY_SECOND, runs, &fence);
		record_batch(store, runs, fence);
	}
	int64_t took = now_us() - begun;
	bf_sqlite_store_ops.close(store);
	forget(bench);
	return (double)bench->batches * SCHEDULES * 1e6 / (double)took;
}

/* --- the ceiling --- */

struct direct {
	sqlite3 *db;
	sqlite3_stmt *begin;
	sqlite3_stmt *commit;
	sqlite3_stmt *move;
	sqlite3_stmt *insert;
	sqlite3_stmt *turn;
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *text)
{
	sqlite3_stmt *statement = NULL;

	need(sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) ==
					SQLITE_OK,
			sqlite3_errmsg(db));
	return statement;
}

static void step(sqlite3_stmt *statement)
{
	need(sqlite3_step(statement) == SQLITE_DONE, "step");
	(void)sqlite3_reset(statement);
}

static void direct_open(struct direct *direct, const struct bench *bench)
{
	need(sqlite3_open(bench->path, &direct->db) == SQLITE_OK, "open");
	need(sqlite3_exec(direct->db,
			     "PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=8192;"
			     "PRAGMA journal_size_limit=67108864; PRAGMA cache_size=-65536;"
			     "PRAGMA secure_delete=OFF",
			     NULL, NULL, NULL) == SQLITE_OK,
			"pragma");
	direct->begin = prepare(direct->db, "BEGIN IMMEDIATE");
	direct->commit = prepare(direct->db, "COMMIT");
	direct->move = prepare(direct->db,
			"UPDATE schedules SET version=version+1,cursor=?2,last_fire_at=?3,"
			"fired_count=fired_count+1,is_revision_used=1 WHERE key=?1");
	direct->insert = prepare(direct->db,
			"INSERT INTO runs(id,schedule,state,status,trigger,flags,revision,due_at,"
			"ready_at,created_at,started_at,holder,fence,attempt,stands_for,in_queue,tz)"
			" VALUES(?1,?2,2,1,0,1,1,?3,?3,?4,?4,1,?4,1,1,0,1)");
	direct->turn = prepare(direct->db,
			"UPDATE runs SET state=3,status=3,dispatched_at=?2,finished_at=?2"
			" WHERE id=?1");
}

static void direct_close(struct direct *direct)
{
	(void)sqlite3_finalize(direct->begin);
	(void)sqlite3_finalize(direct->commit);
	(void)sqlite3_finalize(direct->move);
	(void)sqlite3_finalize(direct->insert);
	(void)sqlite3_finalize(direct->turn);
	need(sqlite3_close(direct->db) == SQLITE_OK, "close");
}

static void direct_batch(struct direct *direct, const struct belfry_id *ids, belfry_time due)
{
	belfry_time now = bf_env_system()->wall(NULL);

	step(direct->begin);
	for (int i = 0; i < SCHEDULES; i++) {
		(void)sqlite3_bind_int64(direct->move, 1, i + 1);
		(void)sqlite3_bind_int64(direct->move, 2, due + BELFRY_SECOND);
		(void)sqlite3_bind_int64(direct->move, 3, due);
		step(direct->move);
		(void)sqlite3_bind_blob(direct->insert, 1, ids[i].bytes, 16, SQLITE_STATIC);
		(void)sqlite3_bind_int64(direct->insert, 2, i + 1);
		(void)sqlite3_bind_int64(direct->insert, 3, due);
		(void)sqlite3_bind_int64(direct->insert, 4, now);
		step(direct->insert);
	}
	step(direct->commit);
	step(direct->begin);
	for (int i = 0; i < SCHEDULES; i++) {
		(void)sqlite3_bind_blob(direct->turn, 1, ids[i].bytes, 16, SQLITE_STATIC);
		(void)sqlite3_bind_int64(direct->turn, 2, now + 1000);
		step(direct->turn);
	}
	step(direct->commit);
}

static double measure_ceiling(struct bench *bench)
{
	static struct belfry_id ids[SCHEDULES];
	struct direct direct;
	struct belfry_store *store = open_store(bench);

	begin_store(bench, store); /* the same schema and the same schedules */
	bf_sqlite_store_ops.close(store);
	direct_open(&direct, bench);
	int64_t begun = now_us();
	for (int i = 0; i < bench->batches; i++) {
		belfry_time due = START + i * BELFRY_SECOND;
		for (int j = 0; j < SCHEDULES; j++) {
			ids[j] = run_id(bench, j, due);
		}
		direct_batch(&direct, ids, due);
	}
	int64_t took = now_us() - begun;
	direct_close(&direct);
	forget(bench);
	return (double)bench->batches * SCHEDULES * 1e6 / (double)took;
}

static int argument(int argc, char **argv, int at, int otherwise)
{
	int64_t value = otherwise;

	if (argc > at && bf_str_parse_int(bf_str(argv[at]), 1, 100000, &value) != BELFRY_OK) {
		(void)fprintf(stderr, "bench: argument %d is no number\n", at);
		exit(2);
	}
	return (int)value;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	double product = 0, ceiling = 0;
	int rounds = argument(argc, argv, 3, 3);

	bench.batches = argument(argc, argv, 2, 100);
	(void)snprintf(bench.path, sizeof(bench.path), "%s/bench-store-%d",
			argc > 1 ? argv[1] : ".", (int)getpid());
	for (int i = 0; i < SCHEDULES; i++) {
		(void)snprintf(bench.texts[i], sizeof(bench.texts[i]), "schedule-%04d", i);
		bench.ids[i] = bf_str(bench.texts[i]);
	}
	for (int i = 0; i < rounds; i++) {
		ceiling = BF_MAX(ceiling, measure_ceiling(&bench));
		product = BF_MAX(product, measure_product(&bench));
	}
	double ratio = 100 * product / ceiling;
	(void)printf("store-sqlite: %.0f Runs/s whole life, ceiling %.0f, ratio %.0f %% (floor %d)\n",
			product, ceiling, ratio, FLOOR);
	return ratio < FLOOR ? 1 : 0;
}
