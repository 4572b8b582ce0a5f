/* A program with Belfry inside: `greet` is called once for every due time, each five seconds; what a crash
 * interrupts is taken up at the next start. The state is in greeter.db, or where the argument says.
 *
 *   cc main.c $(pkg-config --cflags --libs belfry) -o greeter && ./greeter sqlite:greeter.db */
#include <signal.h>
#include <stdio.h>

#include <belfry/pool.h>
#include <belfry/scheduler.h>

static enum belfry_status greet(void *data, const struct belfry_invocation *call,
		struct belfry_work *work)
{
	char run[BELFRY_ID_TEXT_BYTES]; /* the same at every attempt: make work idempotent by it */

	(void)data, (void)work; /* pool_options.data; and what says more than a status: pool.h */
	belfry_id_format(call->run, run);
	printf("%.*s (Run %s)\n", (int)call->payload.len, call->payload.ptr, run);
	return fflush(stdout) == 0 ? BELFRY_OK : BELFRY_UNAVAILABLE; /* failed: again, later */
}

int main(int argc, char **argv)
{
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_pool_options pool_options = BELFRY_POOL_OPTIONS_INIT;
	struct belfry_schedule schedule = BELFRY_SCHEDULE_INIT;
	struct belfry_scheduler *scheduler = NULL;
	struct belfry_pool *pool = NULL;
	struct belfry_error err = BELFRY_ERROR_INIT;
	sigset_t stop;
	int number;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigprocmask(SIG_BLOCK, &stop,
			NULL); /* while there is one thread: all later ones inherit it */
	options.store = argc > 1 ? argv[1] : "sqlite:greeter.db";
	pool_options.run = greet;
	schedule.id = belfry_str_of("greeting");
	schedule.revision = 1; /* to be raised with every change of the schedule */
	schedule.rule = belfry_str_of("*/5 * * * * *");
	schedule.zone = belfry_str_of("Europe/Berlin");
	schedule.payload = belfry_str_of("good day");
	if (belfry_scheduler_open(&options, &scheduler, &err) == BELFRY_OK &&
			belfry_scheduler_apply(scheduler, &schedule, &err) == BELFRY_OK &&
			belfry_pool_new(&pool_options, &pool, &err) == BELFRY_OK &&
			belfry_scheduler_start(scheduler, belfry_pool_handler(pool), &err) ==
					BELFRY_OK) {
		sigwait(&stop, &number);
		belfry_scheduler_stop(scheduler, 10 * BELFRY_SECOND, &err);
	}
	if (err.status != BELFRY_OK) {
		fprintf(stderr, "%s [%s]\n", err.message, err.detail);
	}
	belfry_scheduler_close(scheduler);
	belfry_pool_free(pool);
	return err.status == BELFRY_OK ? 0 : 1;
}
