/* How fast the engine is from a due time to a recorded success, over SQLite, with a handler that does
 * nothing: throughput, a burst, lateness. Prints one line a figure: name, value, unit, note.
 *
 *   bench-engine throughput SCHEDULES SECONDS PLACES [local]
 *   bench-engine burst SCHEDULES PLACES [local]
 *   bench-engine lateness SCHEDULES SECONDS
 *   bench-engine crowd SCHEDULES OTHERS PLACES
 *
 * throughput  SCHEDULES schedules owe SECONDS due times each when the engine starts (all inside grace):
 *             Runs recorded as COMPLETED a second, from the start to the last one.
 * burst       SCHEDULES schedules are due at one second: time from the due time until every Run is
 *             durable, and until every turn was handed over.
 * lateness    SCHEDULES schedules due every second: p50, p99 and worst of the handler's first call.
 * crowd       SCHEDULES schedules are due at one minute, all local, and OTHERS every other second: Runs a second
 *             until the crowd is over, memory meanwhile, lateness of the others. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "ceiling.h"
#include "model/run.h"
#include "process.h"
#include "provider/provider.h"
#include "store-sqlite/sqlite.h"
#include "store/store.h"

#define LATENESS_MAX      2000000
#define FLOOR             60   /* percent of the ceiling */
#define BURST_FLOOR_MS    2000 /* all handed over */
#define LATENESS_FLOOR_MS 50   /* p99 */
#define CROWD_FLOOR_MS    1000 /* p99 of the others */
#define CROWD_FLOOR_MB    300

struct engine_bench {
	struct bf_store *store;
	struct belfry_scheduler *scheduler;
	bool is_local;
	atomic_llong turns;
	atomic_llong last_turn_at;
	int64_t *lateness;
	atomic_llong other_turns; /* of a crowd: the lateness is theirs alone */
	bool is_crowd;
};

/* The bench's clock for the store: the real one, moved by `shift`. */
static atomic_llong shift;

static belfry_time shifted_wall(void *data)
{
	(void)data;
	return bf_env_system()->wall(NULL) + atomic_load(&shift);
}

static void give_up(const char *what, enum belfry_status status, const struct belfry_error *err)
{
	fprintf(stderr, "%s: %s: %s %s\n", what, belfry_status_name(status), err->message,
			err->detail);
	exit(1);
}

static void start_session(void *data, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	char id[BELFRY_ID_TEXT_BYTES];

	(void)data;
	belfry_id_format(invocation->run, id);
	(void)belfry_reply_session(&reply, bf_str(id));
}

static bool is_other(struct belfry_str schedule)
{
	return bf_str_starts_with(schedule, BF_STR("other-"));
}

static void admit_turn(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	struct engine_bench *bench = data;
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};
	belfry_time now = shifted_wall(NULL);

	(void)session;
	long long index = atomic_fetch_add(&bench->turns, 1);
	atomic_store(&bench->last_turn_at, now);
	bool is_counted = !bench->is_crowd || is_other(invocation->schedule);
	if (bench->is_crowd && is_counted) {
		index = atomic_fetch_add(&bench->other_turns, 1);
	}
	if (is_counted && bench->lateness != NULL && index < LATENESS_MAX) {
		bench->lateness[index] = now - invocation->due_at;
	}
	(void)belfry_reply_turn(&reply, BF_STR("1"), &outcome);
}

static void open_bench(struct engine_bench *bench, const char *folder, uint32_t places)
{
	struct belfry_error err = {0};
	char url[512];
	static struct bf_env env;

	env = *bf_env_system();
	env.wall = shifted_wall;
	env.data = NULL;
	bf_sqlite_set_env(&env);
	(void)snprintf(url, sizeof(url), "sqlite:%s/bench.db", folder);
	struct belfry_store_options store_options = {.size = sizeof(store_options),
			.url = bf_str(url),
			.timeout = 60 * BELFRY_SECOND,
			.owner = BF_STR("bench")};
	enum belfry_status status = bf_store_open(&bf_sqlite_store_ops, &store_options,
			&bench->store, &err);
	if (status == BELFRY_OK) {
		status = bf_store_migrate(bench->store, &err);
	}
	if (status != BELFRY_OK) {
		give_up("store", status, &err);
	}
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	options.engine.store = bf_store_inner(bench->store);
	options.engine.max_concurrent = places;
	options.engine.timeout = 60 * BELFRY_SECOND;
	status = belfry_scheduler_open(&options, &bench->scheduler, &err);
	if (status != BELFRY_OK) {
		give_up("scheduler", status, &err);
	}
}

struct source {
	size_t count;
	size_t others; /* after those, due every second */
	size_t at;
	const char *rule;
	bool is_local;
	char id[32];
};

static enum belfry_status next_entry(void *data, struct belfry_str *ret_id, int64_t *ret_revision,
		struct belfry_error *err)
{
	struct source *source = data;

	(void)err;
	if (source->at == source->count + source->others) {
		return BELFRY_NEVER;
	}
	(void)snprintf(source->id, sizeof(source->id), "%s-%07zu",
			source->at < source->count ? "bench" : "other", source->at);
	source->at++;
	*ret_id = bf_str(source->id);
	*ret_revision = 1;
	return BELFRY_OK;
}

static enum belfry_status load_schedule(void *data, struct belfry_str id,
		struct belfry_schedule *ret_schedule, struct belfry_error *err)
{
	static const struct belfry_schedule defaults = BELFRY_SCHEDULE_INIT;
	const struct source *source = data;

	(void)err;
	*ret_schedule = defaults;
	ret_schedule->id = id;
	ret_schedule->revision = 1;
	ret_schedule->rule = bf_str(is_other(id) ? "1-59 * * * * *" : source->rule);
	ret_schedule->zone = BF_STR("UTC");
	ret_schedule->payload = BF_STR("{\"prompt\":\"Summarise the news of the last 24 hours.\"}");
	ret_schedule->policies.grace = is_other(id) ? 0 : BELFRY_HOUR;
	ret_schedule->flags |= source->is_local ? BELFRY_SCHEDULE_F_LOCAL_SESSION : 0;
	return BELFRY_OK;
}

static void apply_crowd(struct engine_bench *bench, size_t count, const char *rule, size_t others)
{
	struct source source = {.count = count,
			.others = others,
			.rule = rule,
			.is_local = bench->is_local};
	struct belfry_schedule_iterator iterator = {.data = &source,
			.next = next_entry,
			.load = load_schedule};
	struct belfry_error err = {0};
	enum belfry_status status = belfry_scheduler_reconcile(bench->scheduler, &iterator, &err);

	if (status != BELFRY_OK) {
		give_up("reconcile", status, &err);
	}
}

static void apply_all(struct engine_bench *bench, size_t count, const char *rule)
{
	apply_crowd(bench, count, rule, 0);
}

static void start(struct engine_bench *bench)
{
	static struct belfry_handler handler;
	struct belfry_error err = {0};

	handler = (struct belfry_handler){.size = sizeof(handler),
			.data = bench,
			.start_session = start_session,
			.admit_turn = admit_turn};
	enum belfry_status status = belfry_scheduler_start(bench->scheduler, &handler, &err);
	if (status != BELFRY_OK) {
		give_up("start", status, &err);
	}
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&pause, NULL);
}

static int64_t completed(struct engine_bench *bench)
{
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};
	struct belfry_error err = {0};

	if (belfry_scheduler_metrics(bench->scheduler, &metrics, &err) != BELFRY_OK) {
		give_up("metrics", err.status, &err);
	}
	return metrics.runs[BELFRY_TRIGGER_SCHEDULE][BELFRY_STATUS_COMPLETED];
}

static int64_t made(struct engine_bench *bench)
{
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};
	struct belfry_error err = {0};

	if (belfry_scheduler_metrics(bench->scheduler, &metrics, &err) != BELFRY_OK) {
		give_up("metrics", err.status, &err);
	}
	return metrics.due_times[BELFRY_DUE_RUN];
}

static void close_bench(struct engine_bench *bench)
{
	struct belfry_error err = {0};

	(void)belfry_scheduler_stop(bench->scheduler, BELFRY_SECOND, &err);
	belfry_scheduler_close(bench->scheduler);
	bf_store_close(bench->store);
}

/* Percent of the ceiling, which is measured before and after: the better one counts. */
static double throughput(struct engine_bench *bench, int schedules, int seconds)
{
	static struct bench direct;
	int64_t total = (int64_t)schedules * seconds;

	bench_init(&direct, ".", (int)(total / BENCH_SCHEDULES));
	int64_t direct_cpu = bench_cpu_us();
	double ceiling = bench_measure_ceiling(&direct, !bench->is_local);
	direct_cpu = bench_cpu_us() - direct_cpu;

	apply_all(bench, (size_t)schedules, "* * * * * *");
	atomic_store(&shift, seconds * BELFRY_SECOND);
	int64_t began = bench_now_us();
	int64_t cpu = bench_cpu_us();
	start(bench);
	/* Asking for metrics costs the store: not before the last Run was handed over. */
	while (atomic_load(&bench->turns) < total) {
		pause_ms(2);
	}
	while (completed(bench) < total) {
		pause_ms(2);
	}
	double took = (double)(bench_now_us() - began) / 1e6;
	cpu = bench_cpu_us() - cpu;
	double rate = (double)total / took;
	ceiling = BF_MAX(ceiling, bench_measure_ceiling(&direct, !bench->is_local));
	printf("throughput, %s session\t%.0f Runs/s\tceiling %.0f\tratio %.0f %% (floor %d)\tn=%lld s=%.2f\n\t       ",
			bench->is_local ? "local" : "outside", rate, ceiling, 100 * rate / ceiling,
			FLOOR, (long long)total, took);
	printf("processor time a Run\t%.1f us\tceiling %.1f us\n", (double)cpu / (double)total,
			(double)direct_cpu / (double)total);
	return 100 * rate / ceiling;
}

/* The clock is moved to a few seconds before the next minute, so that beats come first. Returns the minute. */
static belfry_time move_to_minute(void)
{
	belfry_time now = shifted_wall(NULL);
	belfry_time due = (now / BELFRY_MINUTE + 1) * BELFRY_MINUTE;

	due += due - now > 6 * BELFRY_SECOND ? 0 : BELFRY_MINUTE;
	atomic_fetch_add(&shift, due - now - 6 * BELFRY_SECOND);
	return due;
}

/* Milliseconds until everything was handed over. */
static double burst(struct engine_bench *bench, int schedules)
{
	/* Everything is due at one minute. */
	apply_all(bench, (size_t)schedules, "* * * * *");
	belfry_time due = move_to_minute();
	start(bench);
	while (shifted_wall(NULL) < due + 20 * BELFRY_MILLISECOND || made(bench) < schedules) {
		pause_ms(5);
	}
	double durable = (double)(shifted_wall(NULL) - due) / 1e3;
	while (atomic_load(&bench->turns) < schedules) {
		pause_ms(1);
	}
	double handed = (double)(atomic_load(&bench->last_turn_at) - due) / 1e3;
	while (completed(bench) < schedules) {
		pause_ms(1);
	}
	double recorded = (double)(shifted_wall(NULL) - due) / 1e3;
	printf("burst of %d\tdurable %.0f ms\thanded over %.0f ms\trecorded %.0f ms (floor 1000 / 2000)\n\t       ",
			schedules, durable, handed, recorded);
	return handed;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

/* Milliseconds, p99. */
static double lateness(struct engine_bench *bench, int schedules, int seconds)
{
	int64_t total = (int64_t)schedules * seconds;

	bench->lateness = bf_alloc_array(LATENESS_MAX, sizeof(*bench->lateness));
	apply_all(bench, (size_t)schedules, "* * * * * *");
	start(bench);
	while (atomic_load(&bench->turns) < total) {
		pause_ms(20);
	}
	/* The first second is the start itself. */
	size_t skip = (size_t)schedules * 3;
	size_t count = (size_t)total - skip;
	qsort(bench->lateness + skip, count, sizeof(*bench->lateness), compare);
	double p99 = (double)bench->lateness[skip + count * 99 / 100] / 1e3;
	printf("lateness of %d each second\tp50 %.2f ms\tp99 %.2f ms\tworst %.2f ms (floor: p99 50)\tn=%zu\n\t       ",
			schedules, (double)bench->lateness[skip + count / 2] / 1e3, p99,
			(double)bench->lateness[skip + count - 1] / 1e3, count);
	bf_free(bench->lateness);
	bench->lateness = NULL;
	return p99;
}

/* Is anything below its floor? */
static bool crowd(struct engine_bench *bench, int schedules, int others)
{
	int64_t memory = 0;

	bench->is_local = true;
	bench->is_crowd = true;
	bench->lateness = bf_alloc_array(LATENESS_MAX, sizeof(*bench->lateness));
	/* From the beginning of an hour on, so that half of it is left to store them all. */
	atomic_store(&shift, -(shifted_wall(NULL) % BELFRY_HOUR));
	int64_t began = bench_now_us();
	apply_crowd(bench, (size_t)schedules, "30 * * * *", (size_t)others);
	double applied = (double)(bench_now_us() - began) / 1e6;
	atomic_fetch_add(&shift, 29 * BELFRY_MINUTE - shifted_wall(NULL) % BELFRY_HOUR);
	belfry_time due = move_to_minute();
	start(bench);
	while (shifted_wall(NULL) < due) {
		pause_ms(5);
	}
	long long first = atomic_load(&bench->other_turns);
	while (atomic_load(&bench->turns) - atomic_load(&bench->other_turns) < schedules) {
		memory = BF_MAX(memory, bench_memory("VmRSS:"));
		pause_ms(20);
	}
	double took = (double)(shifted_wall(NULL) - due) / 1e6;
	size_t count = (size_t)(atomic_load(&bench->other_turns) - first);
	qsort(bench->lateness + first, count, sizeof(*bench->lateness), compare);
	const int64_t *late = bench->lateness + first;
	double p99 = (double)late[count * 99 / 100] / 1e3;
	printf("crowd of %d\t%.0f Runs/s (%.1f s)\tmemory at most %.0f MB (floor %d)\t"
	       "%d others each second: p50 %.1f ms p99 %.1f ms worst %.1f ms (floor: p99 %d) n=%zu\t"
	       "stored at %.0f/s\n",
			schedules, schedules / took, took, (double)memory / 1e6, CROWD_FLOOR_MB,
			others, (double)late[count / 2] / 1e3, p99, (double)late[count - 1] / 1e3,
			CROWD_FLOOR_MS, count, schedules / applied);
	bf_free(bench->lateness);
	bench->lateness = NULL;
	return p99 > CROWD_FLOOR_MS || (double)memory / 1e6 > CROWD_FLOOR_MB;
}

/* A folder of its own under the working folder, removed at the end. */
static void make_folder(char *folder)
{
	bench_need(mkdtemp(folder) != NULL, "a folder under the working folder");
}

static void remove_folder(const char *folder)
{
	static const char *const names[] = {"bench.db", "bench.db-wal", "bench.db-shm",
			"bench.db.lock", "bench.db.output", "bench.db.output-wal",
			"bench.db.output-shm"};
	char path[600];

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
}

static int number(const char *text)
{
	int64_t value = 0;

	bench_need(bf_str_parse_int(bf_str(text), 1, 10000000, &value) == BELFRY_OK, "a number");
	return (int)value;
}

int main(int argc, char **argv)
{
	static struct engine_bench bench;
	char folder[] = "./bench-engine-XXXXXX";
	bool is_below = false;

	if (argc < 4) {
		fprintf(stderr, "usage: bench-engine throughput|burst|lateness|crowd SCHEDULES ...\n");
		return 2;
	}
	bench.is_local = strcmp(argv[argc - 1], "local") == 0;
	make_folder(folder);
	if (strcmp(argv[1], "throughput") == 0 && argc >= 5) {
		open_bench(&bench, folder, (uint32_t)number(argv[4]));
		is_below = throughput(&bench, number(argv[2]), number(argv[3])) < FLOOR;
	} else if (strcmp(argv[1], "burst") == 0) {
		open_bench(&bench, folder, (uint32_t)number(argv[3]));
		is_below = burst(&bench, number(argv[2])) > BURST_FLOOR_MS;
	} else if (strcmp(argv[1], "crowd") == 0 && argc >= 5) {
		open_bench(&bench, folder, (uint32_t)number(argv[4]));
		is_below = crowd(&bench, number(argv[2]), number(argv[3]));
	} else {
		open_bench(&bench, folder, 1000);
		is_below = lateness(&bench, number(argv[2]), number(argv[3])) > LATENESS_FLOOR_MS;
	}
	close_bench(&bench);
	remove_folder(folder);
	return is_below ? 1 : 0;
}
