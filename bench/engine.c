/* How fast the engine is from a due time to a recorded success, over SQLite, with a handler that does
 * nothing: throughput, a burst, lateness. Prints one line a figure: name, value, unit, note.
 *
 *   engine FOLDER throughput SCHEDULES SECONDS PLACES [local]
 *   engine FOLDER burst SCHEDULES PLACES [local]
 *   engine FOLDER lateness SCHEDULES SECONDS
 *
 * throughput  SCHEDULES schedules owe SECONDS due times each when the engine starts (all inside grace):
 *             Runs recorded as COMPLETED a second, from the start to the last one.
 * burst       SCHEDULES schedules are due at one second: time from the due time until every Run is
 *             durable, and until every turn was handed over.
 * lateness    SCHEDULES schedules due every second: p50, p99 and worst of the handler's first call. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "model/run.h"
#include "provider/provider.h"
#include "store-sqlite/sqlite.h"
#include "store/store.h"

#define LATENESS_MAX 2000000

struct bench {
	struct bf_store *store;
	struct belfry_provider *provider;
	const struct belfry_provider_ops *ops;
	bool is_local;
	atomic_llong turns;
	atomic_llong last_turn_at;
	int64_t *lateness;
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

static void admit_turn(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	struct bench *bench = data;
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};
	belfry_time now = shifted_wall(NULL);

	(void)session;
	long long index = atomic_fetch_add(&bench->turns, 1);
	atomic_store(&bench->last_turn_at, now);
	if (bench->lateness != NULL && index < LATENESS_MAX) {
		bench->lateness[index] = now - invocation->due_at;
	}
	(void)belfry_reply_turn(&reply, BF_STR("1"), &outcome);
}

static void open_bench(struct bench *bench, const char *folder, uint32_t places)
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
	struct belfry_provider_options options = {.size = sizeof(options),
			.store = bf_store_inner(bench->store),
			.max_concurrent = places,
			.timeout = 60 * BELFRY_SECOND};
	bench->ops = &bf_embedded_provider_ops;
	status = bench->ops->create(&options, &bench->provider, &err);
	if (status != BELFRY_OK) {
		give_up("provider", status, &err);
	}
}

struct source {
	size_t count;
	size_t at;
	const char *rule;
	bool is_local;
	char id[32];
};

static enum belfry_status next_schedule(void *data, struct belfry_schedule *ret_schedule,
		struct belfry_error *err)
{
	static const struct belfry_schedule defaults = BELFRY_SCHEDULE_INIT;
	struct source *source = data;

	(void)err;
	if (source->at == source->count) {
		return BELFRY_NEVER;
	}
	(void)snprintf(source->id, sizeof(source->id), "bench-%07zu", source->at++);
	*ret_schedule = defaults;
	ret_schedule->id = bf_str(source->id);
	ret_schedule->revision = 1;
	ret_schedule->rule = bf_str(source->rule);
	ret_schedule->zone = BF_STR("UTC");
	ret_schedule->payload = BF_STR("{\"prompt\":\"Summarise the news of the last 24 hours.\"}");
	ret_schedule->policies.grace = BELFRY_HOUR;
	ret_schedule->flags |= source->is_local ? BELFRY_SCHEDULE_F_LOCAL_SESSION : 0;
	return BELFRY_OK;
}

static void apply_all(struct bench *bench, size_t count, const char *rule)
{
	struct source source = {.count = count, .rule = rule, .is_local = bench->is_local};
	struct belfry_schedule_iterator iterator = {.data = &source, .next = next_schedule};
	struct belfry_error err = {0};
	enum belfry_status status = bench->ops->reconcile(bench->provider, &iterator, &err);

	if (status != BELFRY_OK) {
		give_up("reconcile", status, &err);
	}
}

static void start(struct bench *bench)
{
	static struct belfry_handler handler;
	struct belfry_error err = {0};

	handler = (struct belfry_handler){.size = sizeof(handler),
			.data = bench,
			.start_session = start_session,
			.admit_turn = admit_turn};
	enum belfry_status status = bench->ops->start(bench->provider, &handler, &err);
	if (status != BELFRY_OK) {
		give_up("start", status, &err);
	}
}

static void pause_ms(long ms)
{
	const struct timespec pause = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	(void)nanosleep(&pause, NULL);
}

static int64_t completed(struct bench *bench)
{
	struct belfry_provider_metrics metrics;
	struct belfry_error err = {0};

	(void)bench->ops->more->metrics(bench->provider, &metrics, &err);
	return metrics.runs[BELFRY_TRIGGER_SCHEDULE][BELFRY_STATUS_COMPLETED];
}

static int64_t made(struct bench *bench)
{
	struct belfry_provider_metrics metrics;
	struct belfry_error err = {0};

	(void)bench->ops->more->metrics(bench->provider, &metrics, &err);
	return metrics.due_times[BELFRY_DUE_RUN];
}

static void close_bench(struct bench *bench)
{
	struct belfry_error err = {0};

	(void)bench->ops->stop(bench->provider, BELFRY_SECOND, &err);
	bench->ops->free(bench->provider);
	bf_store_close(bench->store);
}

static void throughput(struct bench *bench, size_t schedules, int64_t seconds)
{
	int64_t total = (int64_t)schedules * seconds;

	apply_all(bench, schedules, "* * * * * *");
	atomic_store(&shift, seconds * BELFRY_SECOND);
	int64_t began = bf_env_system()->boot(NULL).us;
	start(bench);
	/* Asking for metrics costs the store: not before the last Run was handed over. */
	while (atomic_load(&bench->turns) < total) {
		pause_ms(2);
	}
	while (completed(bench) < total) {
		pause_ms(2);
	}
	double took = (double)(bf_env_system()->boot(NULL).us - began) / 1e6;
	printf("throughput%s\t%.0f\tRuns/s\tn=%lld s=%.2f\n", bench->is_local ? " local" : "",
			(double)total / took, (long long)total, took);
}

static void burst(struct bench *bench, size_t schedules)
{
	/* Everything is due at one minute; the clock is moved close to it, but so that beats come first. */
	apply_all(bench, schedules, "* * * * *");
	belfry_time now = shifted_wall(NULL);
	int64_t period = BELFRY_MINUTE;
	belfry_time due = (now / period + 1) * period;
	/* Close to it, so that the wait is short, but not so close that the beats are missing. */
	if (due - now > 6 * BELFRY_SECOND) {
		atomic_fetch_add(&shift, due - now - 6 * BELFRY_SECOND);
	} else {
		due += period;
		atomic_fetch_add(&shift, due - now - 6 * BELFRY_SECOND);
	}
	start(bench);
	while (shifted_wall(NULL) < due + 20 * BELFRY_MILLISECOND ||
			made(bench) < (int64_t)schedules) {
		pause_ms(5);
	}
	double durable = (double)(shifted_wall(NULL) - due) / 1e3;
	while (atomic_load(&bench->turns) < (long long)schedules) {
		pause_ms(1);
	}
	double handed = (double)(atomic_load(&bench->last_turn_at) - due) / 1e3;
	while (completed(bench) < (int64_t)schedules) {
		pause_ms(1);
	}
	double recorded = (double)(shifted_wall(NULL) - due) / 1e3;
	printf("burst durable\t%.0f\tms\tn=%zu\nburst handed over\t%.0f\tms\tn=%zu\nburst recorded\t%.0f\tms\tn=%zu\n",
			durable, schedules, handed, schedules, recorded, schedules);
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a;
	int64_t y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void lateness(struct bench *bench, size_t schedules, int64_t seconds)
{
	int64_t total = (int64_t)schedules * seconds;

	bench->lateness = bf_alloc_array(LATENESS_MAX, sizeof(*bench->lateness));
	apply_all(bench, schedules, "* * * * * *");
	start(bench);
	while (atomic_load(&bench->turns) < total) {
		pause_ms(20);
	}
	/* The first second is the start itself. */
	size_t skip = schedules * 3;
	size_t count = (size_t)total - skip;
	qsort(bench->lateness + skip, count, sizeof(*bench->lateness), compare);
	printf("lateness p50\t%.2f\tms\tn=%zu\nlateness p99\t%.2f\tms\tn=%zu\nlateness worst\t%.2f\tms\tn=%zu\n",
			(double)bench->lateness[skip + count / 2] / 1e3, count,
			(double)bench->lateness[skip + count * 99 / 100] / 1e3, count,
			(double)bench->lateness[skip + count - 1] / 1e3, count);
}

int main(int argc, char **argv)
{
	static struct bench bench;

	if (argc < 5) {
		fprintf(stderr, "usage: engine FOLDER throughput|burst|lateness SCHEDULES ...\n");
		return 2;
	}
	size_t schedules = (size_t)strtoul(argv[3], NULL, 10);
	long third = strtol(argv[4], NULL, 10);
	bench.is_local = strcmp(argv[argc - 1], "local") == 0;
	if (strcmp(argv[2], "throughput") == 0 && argc >= 6) {
		open_bench(&bench, argv[1], (uint32_t)strtoul(argv[5], NULL, 10));
		throughput(&bench, schedules, third);
	} else if (strcmp(argv[2], "burst") == 0) {
		open_bench(&bench, argv[1], (uint32_t)third);
		burst(&bench, schedules);
	} else {
		open_bench(&bench, argv[1], 1000);
		lateness(&bench, schedules, third);
	}
	close_bench(&bench);
	return 0;
}
