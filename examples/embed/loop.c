/* A program with an event loop of its own, and Belfry in it: one thread, epoll, no call ever waits. Each due
 * time (every five seconds) starts a job that takes 300 ms, played by a timer; several may be open at once.
 * The state is in looper.db, or where the argument says.
 *
 *   cc loop.c $(pkg-config --cflags --libs belfry) -o looper && ./looper sqlite:looper.db */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <belfry/pull.h>
#include <belfry/scheduler.h>

#define JOBS 16

/* A call that is being worked on: its timer plays the work. */
struct job {
	int timer;
	struct belfry_pull_item *item; /* NULL: the place is free */
};

struct looper {
	int epoll;
	int signals;
	struct belfry_pull *pull;
	struct job jobs[JOBS];
};

/* Without a place for it: "again, in a second", which costs the Run no attempt. */
static void begin_job(struct looper *looper, struct belfry_pull_item *item)
{
	struct itimerspec work = {.it_value.tv_nsec = 300000000};
	struct epoll_event event = {.events = EPOLLIN};
	struct job *job = looper->jobs;

	while (job < looper->jobs + JOBS && job->item != NULL) {
		job++;
	}
	if (job == looper->jobs + JOBS ||
			(job->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC)) < 0) {
		belfry_reply_retry(&item->reply, BELFRY_SECOND, BELFRY_RUN_ERROR_NONE,
				belfry_str_of("the program is busy"), belfry_str_of(""));
		belfry_pull_item_free(item);
		return;
	}
	job->item = item;
	event.data.ptr = job;
	timerfd_settime(job->timer, 0, &work, NULL);
	epoll_ctl(looper->epoll, EPOLL_CTL_ADD, job->timer, &event);
}

/* Closing the timer takes it out of the epoll set. An item that was not reported is given back. */
static void end_job(struct job *job)
{
	close(job->timer);
	belfry_pull_item_free(job->item);
	job->item = NULL;
}

static void finish_job(struct job *job)
{
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};
	const struct belfry_invocation *call = job->item->invocation;
	char run[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(call->run, run);
	printf("%.*s (Run %s)\n", (int)call->payload.len, call->payload.ptr, run);
	fflush(stdout);
	/* BELFRY_STALE would say that the attempt is over: nothing comes of the report, all the same to us. */
	belfry_reply_turn(&job->item->reply, belfry_str_of(run), &outcome);
	end_job(job);
}

/* The attempt is over for Belfry (its time limit, or somebody cancelled the Run). */
static void cancel_job(struct looper *looper, const struct belfry_invocation *call)
{
	for (struct job *job = looper->jobs; job < looper->jobs + JOBS; job++) {
		if (job->item != NULL && job->item->invocation->fence == call->fence &&
				memcmp(&job->item->invocation->run, &call->run,
						sizeof(call->run)) == 0) {
			end_job(job);
		}
	}
}

static void take_items(struct looper *looper)
{
	struct belfry_pull_item *item;
	char run[BELFRY_ID_TEXT_BYTES];

	while (belfry_pull_next(looper->pull, &item) == BELFRY_OK) {
		if (item->kind == BELFRY_PULL_ADMIT_TURN) {
			begin_job(looper, item);
			continue;
		}
		if (item->kind == BELFRY_PULL_CANCEL) {
			cancel_job(looper, item->invocation);
		} else { /* a Session of our own: what it is called is all that there is to start */
			belfry_id_format(item->invocation->run, run);
			belfry_reply_session(&item->reply, belfry_str_of(run));
		}
		belfry_pull_item_free(item);
	}
}

static int watch(struct looper *looper, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	return fd < 0 ? -1 : epoll_ctl(looper->epoll, EPOLL_CTL_ADD, fd, &event);
}

/* Until SIGINT or SIGTERM is there. An event without a job is a hint to look. */
static void loop(struct looper *looper)
{
	struct epoll_event events[JOBS];
	struct signalfd_siginfo signal;

	while (read(looper->signals, &signal, sizeof(signal)) < 0) {
		int count = epoll_wait(looper->epoll, events, JOBS, -1);

		for (int i = 0; i < count; i++) {
			struct job *job = events[i].data.ptr;

			if (job != NULL && job->item != NULL) {
				finish_job(job);
			}
		}
		take_items(looper);
	}
}

/* What is still open is handed back: the next start goes on with it. The first stop answers BELFRY_BUSY
 * while we hold calls of which nothing comes any more, so they are given back and it is asked again. */
static enum belfry_status stop(struct looper *looper, struct belfry_scheduler *scheduler,
		struct belfry_error *err)
{
	enum belfry_status status = belfry_scheduler_stop(scheduler, 0, err);

	for (struct job *job = looper->jobs; job < looper->jobs + JOBS; job++) {
		if (job->item != NULL) {
			end_job(job);
		}
	}
	take_items(looper);
	return status == BELFRY_BUSY ? belfry_scheduler_stop(scheduler, BELFRY_SECOND, err)
				     : status;
}

static enum belfry_status apply(struct belfry_scheduler *scheduler, struct belfry_error *err)
{
	struct belfry_schedule schedule = BELFRY_SCHEDULE_INIT;

	schedule.id = belfry_str_of("greeting");
	schedule.revision = 1; /* to be raised with every change of the schedule */
	schedule.rule = belfry_str_of("*/5 * * * * *");
	schedule.zone = belfry_str_of("Europe/Berlin");
	schedule.payload = belfry_str_of("good day");
	schedule.policies.timeout = BELFRY_MINUTE;
	return belfry_scheduler_apply(scheduler, &schedule, err);
}

static int prepare(struct looper *looper)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals,
			NULL); /* before there are other threads: they inherit it */
	looper->epoll = epoll_create1(EPOLL_CLOEXEC);
	looper->signals = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
	return looper->epoll < 0 ? -1 : watch(looper, looper->signals);
}

int main(int argc, char **argv)
{
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_scheduler *scheduler = NULL;
	struct belfry_error err = BELFRY_ERROR_INIT;
	struct looper looper = {0};
	enum belfry_status status;

	if (prepare(&looper) != 0) {
		perror("epoll");
		return 1;
	}
	options.store = argc > 1 ? argv[1] : "sqlite:looper.db";
	if ((status = belfry_scheduler_open(&options, &scheduler, &err)) != BELFRY_OK ||
			(status = apply(scheduler, &err)) != BELFRY_OK ||
			(status = belfry_pull_new(NULL, &looper.pull, &err)) != BELFRY_OK) {
		goto out;
	}
	if (watch(&looper, belfry_pull_fd(looper.pull)) != 0) {
		perror("epoll");
		status = BELFRY_UNAVAILABLE;
		goto out;
	}
	status = belfry_scheduler_start(scheduler, belfry_pull_handler(looper.pull), &err);
	if (status == BELFRY_OK) {
		loop(&looper);
		status = stop(&looper, scheduler, &err);
	}
out:
	if (status != BELFRY_OK && err.status != BELFRY_OK) {
		fprintf(stderr, "%s [%s]\n", err.message, err.detail);
	}
	belfry_scheduler_close(scheduler);
	belfry_pull_free(looper.pull);
	close(looper.signals);
	close(looper.epoll);
	return status == BELFRY_OK ? 0 : 1;
}
