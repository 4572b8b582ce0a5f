/* The embedding program of the tests of the installed library: asks for one Run, and says what becomes of
 * it. Usage: embed STORE answer|hang
 *
 *   answer  says "begin ID", ends the Run, says "completed ID" once that is stored, stops, exits 0
 *   hang    says "begin ID" and never answers: to be killed
 *
 * It has a function of SQLite's name of its own, and expects to keep it. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <belfry/pool.h>
#include <belfry/scheduler.h>
#include <belfry/version.h>

struct watch {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned changes;
	bool is_hanging;
};

int sqlite3_libversion_number(void);
int sqlite3_libversion_number(void)
{
	return 1;
}

static void require(enum belfry_status status, const struct belfry_error *err, const char *what)
{
	if (status != BELFRY_OK) {
		fprintf(stderr, "%s: %s: %s [%s]\n", what, belfry_status_name(status), err->message,
				err->detail);
		exit(1);
	}
}

static void say(const char *word, struct belfry_id id)
{
	char text[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(id, text);
	printf("%s %s\n", word, text);
	fflush(stdout);
}

static enum belfry_status work(void *data, const struct belfry_invocation *call,
		struct belfry_work *work)
{
	struct watch *watch = data;

	(void)work;
	say("begin", call->run);
	pthread_mutex_lock(&watch->lock);
	while (watch->is_hanging) {
		pthread_cond_wait(&watch->changed, &watch->lock);
	}
	pthread_mutex_unlock(&watch->lock);
	return BELFRY_OK;
}

static void note_change(void *data, struct belfry_str schedule)
{
	struct watch *watch = data;

	(void)schedule;
	pthread_mutex_lock(&watch->lock);
	watch->changes++;
	pthread_cond_broadcast(&watch->changed);
	pthread_mutex_unlock(&watch->lock);
}

/* Until something has changed, or for a tenth of a second: `changed` is a hint. */
static void await_change(struct watch *watch, unsigned *seen)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 100000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&watch->lock);
	if (watch->changes == *seen) {
		pthread_cond_timedwait(&watch->changed, &watch->lock, &until);
	}
	*seen = watch->changes;
	pthread_mutex_unlock(&watch->lock);
}

static void await_end(struct belfry_scheduler *scheduler, struct watch *watch, struct belfry_id id)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_error err = {0};
	struct belfry_run run = {0};
	unsigned seen = 0;

	while (!belfry_run_status_is_terminal(run.status)) {
		await_change(watch, &seen);
		belfry_arena_reset(&arena);
		require(belfry_scheduler_get_run(scheduler, id, &arena, &run, &err), &err,
				"get_run");
	}
	if (run.status != BELFRY_STATUS_COMPLETED) {
		fprintf(stderr, "%s\n", belfry_run_status_name(run.status));
		exit(1);
	}
	belfry_arena_fini(&arena);
	say("completed", id);
}

/* The key makes it the same Run in every life. The rule is for the year that the test does not see. */
static struct belfry_id ask_for_run(struct belfry_scheduler *scheduler)
{
	struct belfry_schedule schedule = BELFRY_SCHEDULE_INIT;
	struct belfry_enqueue request = {.size = sizeof(request), .trigger = BELFRY_TRIGGER_MANUAL};
	struct belfry_error err = {0};

	schedule.id = belfry_str_of("job");
	schedule.revision = 1;
	schedule.rule = belfry_str_of("0 0 1 1 *");
	schedule.zone = belfry_str_of("UTC");
	require(belfry_scheduler_apply(scheduler, &schedule, &err), &err, "apply");
	request.schedule = schedule.id;
	request.request_key = belfry_str_of("the one");
	require(belfry_scheduler_enqueue(scheduler, &request, &err), &err, "enqueue");
	return request.run;
}

int main(int argc, char **argv)
{
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_pool_options pool_options = BELFRY_POOL_OPTIONS_INIT;
	struct watch watch = {.lock = PTHREAD_MUTEX_INITIALIZER,
			.changed = PTHREAD_COND_INITIALIZER};
	struct belfry_scheduler *scheduler = NULL;
	struct belfry_pool *pool = NULL;
	struct belfry_error err = {0};

	if (argc != 3 || strcmp(belfry_version(), BELFRY_VERSION) != 0) {
		fprintf(stderr, "library %s, headers %s\n", belfry_version(), BELFRY_VERSION);
		return 2;
	}
	watch.is_hanging = strcmp(argv[2], "hang") == 0;
	options.store = argv[1];
	options.engine.changed = note_change;
	options.engine.changed_data = &watch;
	pool_options.run = work;
	pool_options.data = &watch;
	require(belfry_scheduler_open(&options, &scheduler, &err), &err, "open");
	require(belfry_pool_new(&pool_options, &pool, &err), &err, "pool_new");
	require(belfry_scheduler_start(scheduler, belfry_pool_handler(pool), &err), &err, "start");
	await_end(scheduler, &watch, ask_for_run(scheduler));
	require(belfry_scheduler_stop(scheduler, 10 * BELFRY_SECOND, &err), &err, "stop");
	belfry_scheduler_close(scheduler);
	belfry_pool_free(pool);
	return sqlite3_libversion_number() == 1 ? 0 : 1;
}
