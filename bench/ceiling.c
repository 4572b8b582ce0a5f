/* The honest ceiling, and what both sides of a comparison share. */
#include "ceiling.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/env.h"
#include "base/str.h"
#include "model/run.h"
#include "store-sqlite/sqlite.h"

void bench_init(struct bench *bench, const char *folder, int batches)
{
	bench->batches = batches;
	(void)snprintf(bench->path, sizeof(bench->path), "%s/bench-store-%d", folder,
			(int)getpid());
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		(void)snprintf(bench->texts[i], sizeof(bench->texts[i]), "schedule-%04d", i);
		bench->ids[i] = bf_str(bench->texts[i]);
	}
}

void bench_need(bool holds, const char *what)
{
	if (!holds) {
		(void)fprintf(stderr, "bench: %s failed\n", what);
		exit(2);
	}
}

int64_t bench_now_us(void)
{
	const struct bf_env *env = bf_env_system();

	return env->boot(env->data).us;
}

struct belfry_id bench_run_id(const struct bench *bench, int schedule, belfry_time due)
{
	struct belfry_id id;

	bench_need(belfry_run_id(bench->ids[schedule], due, &id) == BELFRY_OK, "id");
	return id;
}

struct belfry_id bench_holder(void)
{
	return (struct belfry_id){{0xb, 0xe, 0xf}};
}

void bench_forget(const struct bench *bench)
{
	static const char *const endings[] = {"", "-wal", "-shm", ".lock", ".output", ".output-wal",
			".output-shm"};
	char path[600];

	for (size_t i = 0; i < BF_COUNT(endings); i++) {
		(void)snprintf(path, sizeof(path), "%s%s", bench->path, endings[i]);
		(void)unlink(path);
	}
}

struct belfry_store *bench_open_store(const struct bench *bench)
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

void bench_begin_store(struct bench *bench, struct belfry_store *store)
{
	static struct belfry_advance_item items[BENCH_SCHEDULES];
	struct belfry_schedule_put put = {.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED | BELFRY_SCHEDULE_F_LOCAL_SESSION,
			.definition = BF_STR("{\"rule\":\"* * * * * *\",\"zone\":\"UTC\"}"),
			.payload = BF_STR("payload")};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_REGISTER,
			.incarnation = bench_holder()};

	bench_need(bf_sqlite_store_ops.beat(store, &beat, &arena, NULL) == BELFRY_OK, "register");
	belfry_arena_fini(&arena);
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		items[i] = (struct belfry_advance_item){.schedule = bench->ids[i],
				.put = &put,
				.cursor = BENCH_START,
				.tz_version = BF_STR("2026a")};
	}
	struct belfry_advance advance = {.size = sizeof(advance),
			.items = items,
			.item_count = BENCH_SCHEDULES};
	bench_need(bf_sqlite_store_ops.advance(store, &advance, NULL) == BELFRY_OK, "put");
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		bench_need(items[i].result == BELFRY_OK, "put of one");
		bench->versions[i] = items[i].version;
	}
}

struct direct {
	sqlite3 *db;
	sqlite3_stmt *begin;
	sqlite3_stmt *commit;
	sqlite3_stmt *move;
	sqlite3_stmt *insert;
	sqlite3_stmt *session;
	sqlite3_stmt *turn;
};

static sqlite3_stmt *prepare(sqlite3 *db, const char *text)
{
	sqlite3_stmt *statement = NULL;

	bench_need(sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) ==
					SQLITE_OK,
			sqlite3_errmsg(db));
	return statement;
}

static void step(sqlite3_stmt *statement)
{
	bench_need(sqlite3_step(statement) == SQLITE_DONE, "step");
	(void)sqlite3_reset(statement);
}

static void direct_open(struct direct *direct, const struct bench *bench)
{
	bench_need(sqlite3_open(bench->path, &direct->db) == SQLITE_OK, "open");
	bench_need(sqlite3_exec(direct->db,
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
	direct->session = prepare(direct->db, "UPDATE runs SET session=?2 WHERE id=?1");
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
	(void)sqlite3_finalize(direct->session);
	(void)sqlite3_finalize(direct->turn);
	bench_need(sqlite3_close(direct->db) == SQLITE_OK, "close");
}

/* As long as an id that a host gives. */
static void direct_sessions(struct direct *direct, const struct belfry_id *ids)
{
	char text[BELFRY_ID_TEXT_BYTES];

	step(direct->begin);
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		belfry_id_format(ids[i], text);
		(void)sqlite3_bind_blob(direct->session, 1, ids[i].bytes, 16, SQLITE_STATIC);
		(void)sqlite3_bind_text(direct->session, 2, text, -1, SQLITE_STATIC);
		step(direct->session);
	}
	step(direct->commit);
}

static void direct_batch(struct direct *direct, const struct belfry_id *ids, belfry_time due,
		bool has_session)
{
	belfry_time now = bf_env_system()->wall(NULL);

	step(direct->begin);
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
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
	if (has_session) {
		direct_sessions(direct, ids);
	}
	step(direct->begin);
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		(void)sqlite3_bind_blob(direct->turn, 1, ids[i].bytes, 16, SQLITE_STATIC);
		(void)sqlite3_bind_int64(direct->turn, 2, now + 1000);
		step(direct->turn);
	}
	step(direct->commit);
}

double bench_measure_ceiling(struct bench *bench, bool has_session)
{
	static struct belfry_id ids[BENCH_SCHEDULES];
	struct direct direct;
	struct belfry_store *store = bench_open_store(bench);

	bench_begin_store(bench, store); /* the same schema and the same schedules */
	bf_sqlite_store_ops.close(store);
	direct_open(&direct, bench);
	int64_t begun = bench_now_us();
	for (int i = 0; i < bench->batches; i++) {
		belfry_time due = BENCH_START + i * BELFRY_SECOND;
		for (int j = 0; j < BENCH_SCHEDULES; j++) {
			ids[j] = bench_run_id(bench, j, due);
		}
		direct_batch(&direct, ids, due, has_session);
	}
	int64_t took = bench_now_us() - begun;
	direct_close(&direct);
	bench_forget(bench);
	return (double)bench->batches * BENCH_SCHEDULES * 1e6 / (double)took;
}
