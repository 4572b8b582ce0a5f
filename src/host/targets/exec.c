/* The target's loop: one thread over the pidfds of supervisors. It decides what comes next for each command,
 * and does nothing that blocks but to start a supervisor; the rest is jobs of the writer's thread.
 *
 * LOOKING - WAITING - PREPARING - STORING - RUNNING - ENDING - SETTLED - LEAVING
 *
 * Invariants  a command that is WAITING has no document of this attempt; the gate is opened only by the step
 *             from STORING to RUNNING; the document goes only where the Run was seen to be over, or by
 *             being written over by the next attempt. A command without a callback (its caller was told,
 *             or it is an earlier host's) is looked after all the same. */
#include "host/targets/exec.h"

#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/error.h"
#include "base/hash.h"
#include "host/backend.h"
#include "host/targets/exec_priv.h"
#include "model/run.h"

#define EVENTS       64
#define TICK         (250 * BELFRY_MILLISECOND) /* new output is looked for */
#define CHECK_FIRST  BELFRY_SECOND
#define CHECK_LATEST (30 * BELFRY_SECOND)
#define PAGE_ROWS    200
#define ACCOUNT      16384
#define SWEEP_EVERY  BELFRY_HOUR

static void lock(struct bf_exec *exec)
{
	(void)pthread_mutex_lock(&exec->lock); /* fails only for what is a bug */
}

static void unlock(struct bf_exec *exec)
{
	(void)pthread_mutex_unlock(&exec->lock);
}

/* Under the lock: else the loop may be gone as soon as it has what it waited for. */
static void wake(struct bf_exec *exec)
{
	uint64_t one = 1;

	/* Fails only when the counter is full, and then it wakes already. */
	(void)!write(exec->wake_fd, &one, sizeof(one));
}

static struct bf_boot_time now(const struct bf_exec *exec)
{
	return exec->options.env->boot(exec->options.env->data);
}

static struct bf_list *bucket_of(struct bf_exec *exec, struct belfry_id run)
{
	return &exec->commands[bf_hash64(0, run.bytes, sizeof(run.bytes)) % BF_EXEC_BUCKETS];
}

static struct bf_exec_command *find(struct bf_exec *exec, struct belfry_id run)
{
	for (struct bf_link *link = bucket_of(exec, run)->first; link != NULL; link = link->next) {
		struct bf_exec_command *command = BF_CONTAINER(link, struct bf_exec_command, all);
		if (bf_id_compare(command->request.run, run) == 0) {
			return command;
		}
	}
	return NULL;
}

/* --- steps --- */

typedef void (*job_fn)(struct bf_exec_command *command);

static void do_job(struct bf_exec_command *command, job_fn work)
{
	struct bf_exec *exec = command->exec;

	work(command);
	lock(exec);
	bf_list_append(&exec->returned, &command->link);
	wake(exec);
	unlock(exec);
}

/* One function for each kind of job, for a job carries no data but its place. */
#define JOB(name, work)                                                                            \
	static void run_##name(struct bf_output_job *job)                                          \
	{                                                                                          \
		do_job(BF_CONTAINER(job, struct bf_exec_command, job), work);                      \
	}
JOB(look, bf_exec_job_look)
JOB(prepare, bf_exec_job_prepare)
JOB(store, bf_exec_job_store)
JOB(note, bf_exec_job_note)
JOB(check, bf_exec_job_check)
JOB(leave, bf_exec_job_leave)
JOB(stream, bf_exec_stream)
JOB(finish, bf_exec_finish)

static void submit(struct bf_exec_command *command, void (*run)(struct bf_output_job *job))
{
	command->is_busy = true;
	command->exec->busy++;
	command->job.run = run;
	bf_outputs_submit(command->exec->options.outputs, &command->job);
}

/* Tells the caller, once. */
static void deliver(struct bf_exec_command *command, const struct bf_exec_result *result)
{
	lock(command->exec);
	bf_exec_done_fn done = command->request.done;
	void *data = command->request.data;
	command->request.done = NULL;
	bf_list_remove(&command->cancelled);
	unlock(command->exec);
	if (done != NULL) {
		done(data, result);
	}
}

static void deliver_kind(struct bf_exec_command *command, enum bf_exec_kind kind)
{
	deliver(command, &(struct bf_exec_result){.kind = kind});
}

/* Who waited to meet it arrives anew; at the end it is given back. */
static void release_successor(struct bf_exec_command *command)
{
	struct bf_exec *exec = command->exec;

	lock(exec);
	struct bf_exec_command *fresh = bf_take(&command->successor);
	if (fresh != NULL && !exec->is_winding_up) {
		bf_list_append(&exec->arrived, &fresh->link);
		wake(exec);
		fresh = NULL;
	}
	unlock(exec);
	if (fresh != NULL) {
		deliver_kind(fresh, BF_EXEC_CANCELLED);
		bf_exec_command_free(fresh);
	}
}

static void forget(struct bf_exec_command *command)
{
	struct bf_exec *exec = command->exec;

	release_successor(command);
	deliver_kind(command, BF_EXEC_CANCELLED); /* where nobody was told */
	lock(exec);
	bf_list_remove(&command->all);
	unlock(exec);
	bf_list_remove(&command->link);
	if (command->is_placed) {
		exec->running--;
	}
	bf_exec_command_free(command);
}

static void give_place(struct bf_exec_command *command)
{
	if (command->is_placed) {
		command->is_placed = false;
		command->exec->running--;
	}
}

static void check_in(struct bf_exec_command *command, belfry_duration after)
{
	command->check_after = BF_MIN(after, CHECK_LATEST);
	command->check_at = bf_boot_add(now(command->exec), command->check_after);
}

static void leave(struct bf_exec_command *command)
{
	command->state = BF_EXEC_LEAVING;
	bf_list_remove(&command->link); /* from `waiting` */
	give_place(command);
	submit(command, run_leave);
}

/* At its gate it has started nothing, so that it may be killed. */
static void drop_supervisor(struct bf_exec_command *command)
{
	siginfo_t info;

	bf_exec_close_gate(command);
	if (command->pidfd >= 0) {
		bf_exec_process_signal(command->pidfd, SIGKILL);
		(void)waitid(P_PIDFD, (id_t)command->pidfd, &info, WEXITED); /* it is ours */
		(void)close(command->pidfd); /* nothing was written */
		command->pidfd = -1;
	}
}

/* It did not start, and the caller is told why. The document may be there: of an attempt before, or
 * because its put was answered by nobody. */
static void end_unstarted(struct bf_exec_command *command)
{
	drop_supervisor(command);
	if (command->is_cancelled) {
		deliver_kind(command, BF_EXEC_CANCELLED);
	} else {
		deliver(command, &command->result);
	}
	leave(command);
}

static void tell_to_end(struct bf_exec_command *command)
{
	if (!command->is_told && command->pidfd >= 0) {
		command->is_told = true;
		bf_exec_process_signal(command->pidfd, SIGTERM);
	}
}

/* What it ended with is a result, but for a command that we made end because its host had gone. */
static void deliver_end(struct bf_exec_command *command)
{
	struct bf_exec_result result = command->result;

	if (result.kind == BF_EXEC_ENDED && result.end.by == BF_EXEC_BY_STOP &&
			command->request.is_abandoned) {
		result.kind = BF_EXEC_INTERRUPTED;
		result.detail = BF_STR(
				"the command was ended when its host stopped or was taken over");
	}
	if (result.kind == BF_EXEC_NOT_NOW && command->is_recovered) {
		result.kind = BF_EXEC_BUSY; /* its host died before its gate: that costs no attempt */
	}
	BF_CRASH_POINT("exec-ended");
	deliver(command, &result);
}

static void settle(struct bf_exec_command *command)
{
	command->state = BF_EXEC_SETTLED;
	bf_exec_command_release(command);
	check_in(command, CHECK_FIRST);
	deliver_end(command);
}

static void watch(struct bf_exec_command *command)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = command};

	if (command->pidfd < 0) {
		command->is_gone = true;
		return;
	}
	/* Where it fails the end is seen at the next tick. */
	(void)epoll_ctl(command->exec->epoll_fd, EPOLL_CTL_ADD, command->pidfd, &event);
}

static void run(struct bf_exec_command *command)
{
	BF_CRASH_POINT("exec-stored");
	bf_exec_open_gate(command);
	BF_CRASH_POINT("exec-started");
	command->state = BF_EXEC_RUNNING;
	watch(command);
}

static void start_supervisor(struct bf_exec_command *command)
{
	struct belfry_error err = {0};
	enum belfry_status status = bf_exec_spawn(command, &err);

	if (status != BELFRY_OK) {
		bf_exec_command_fail(command, status, &err);
		end_unstarted(command);
		return;
	}
	command->state = BF_EXEC_STORING;
	submit(command, run_store);
}

static void go_on(struct bf_exec_command *command)
{
	command->is_cancelled = command->is_cancelled || command->exec->is_winding_up;
	if (command->state == BF_EXEC_LOOKING && command->has_result &&
			command->result.kind == BF_EXEC_INTERRUPTED) {
		settle(command); /* its document stays until that is on record */
	} else if (command->has_result || command->is_cancelled) {
		end_unstarted(command);
	} else if (command->state == BF_EXEC_LOOKING) {
		command->state = BF_EXEC_WAITING;
		bf_list_append(&command->exec->waiting, &command->link);
	} else if (command->state == BF_EXEC_PREPARING) {
		start_supervisor(command);
	} else {
		run(command);
	}
}

static void come_back(struct bf_exec_command *command)
{
	command->is_busy = false;
	command->exec->busy--;
	release_successor(command);
	switch (command->state) {
	case BF_EXEC_LOOKING:
	case BF_EXEC_PREPARING:
	case BF_EXEC_STORING: go_on(command); break;
	case BF_EXEC_ENDING:
		if (command->has_result) {
			settle(command);
		} else {
			check_in(command, CHECK_FIRST);
		}
		break;
	case BF_EXEC_LEAVING: forget(command); break;
	case BF_EXEC_RUNNING:
	case BF_EXEC_SETTLED:
	case BF_EXEC_WAITING: break;
	}
}

/* The supervisor has ended. */
static void reap(struct bf_exec_command *command)
{
	siginfo_t info;

	if (command->is_child) {
		(void)waitid(P_PIDFD, (id_t)command->pidfd, &info, WEXITED | WNOHANG);
	}
	(void)close(command->pidfd); /* leaves the epoll with it */
	command->pidfd = -1;
	command->is_gone = true;
	give_place(command);
}

/* --- what is due for one that has no job --- */

static void learn(struct bf_exec_command *command)
{
	if (!command->is_run_over) {
		return;
	}
	lock(command->exec);
	command->request.fence = BF_MAX(command->request.fence, command->fence_seen);
	unlock(command->exec);
	if (command->state == BF_EXEC_RUNNING && !command->is_told && !command->is_gone) {
		command->is_orphan = true;
		bf_log(command->exec->options.env, BF_LOG_WARNING,
				"event=exec_orphan_ended run=%s pid=%d detail=\"its Run is over, so the "
				"command is told to end\"",
				command->run_text, (int)command->identity.pid);
		tell_to_end(command);
	}
}

static void consider_running(struct bf_exec_command *command, struct bf_boot_time at)
{
	bool is_detached = command->request.done == NULL;
	struct pollfd end = {.fd = command->pidfd, .events = POLLIN};

	learn(command);
	if (!command->is_gone && poll(&end, 1, 0) == 1) {
		reap(command);
	}
	if (command->is_gone) {
		command->state = BF_EXEC_ENDING;
		submit(command, run_finish);
	} else if (command->needs_note) {
		command->needs_note = false;
		submit(command, run_note);
	} else if (is_detached && !command->is_run_over && at.us >= command->check_at.us) {
		check_in(command, BF_MAX(command->check_after * 2, CHECK_FIRST));
		submit(command, run_check);
	} else if (bf_exec_has_news(command)) {
		submit(command, run_stream);
	}
}

static void consider(struct bf_exec_command *command, struct bf_boot_time at)
{
	if (command->is_busy) {
		return;
	}
	if (command->state == BF_EXEC_RUNNING) {
		consider_running(command, at);
	} else if (command->state == BF_EXEC_ENDING && at.us >= command->check_at.us) {
		submit(command, run_finish);
	} else if (command->state == BF_EXEC_SETTLED && command->is_run_over) {
		leave(command);
	} else if (command->state == BF_EXEC_SETTLED && at.us >= command->check_at.us) {
		check_in(command, command->check_after * 2);
		submit(command, run_check);
	}
}

/* When to look again without being woken. */
static struct bf_boot_time due_of(const struct bf_exec_command *command, struct bf_boot_time at)
{
	if (command->is_busy || command->state < BF_EXEC_RUNNING ||
			command->state == BF_EXEC_LEAVING) {
		return (struct bf_boot_time){INT64_MAX};
	}
	return command->state == BF_EXEC_RUNNING ? bf_boot_add(at, TICK) : command->check_at;
}

static struct bf_boot_time consider_all(struct bf_exec *exec)
{
	struct bf_boot_time at = now(exec);
	struct bf_boot_time due = {INT64_MAX};

	for (size_t i = 0; i < BF_EXEC_BUCKETS; i++) {
		struct bf_link *next;
		for (struct bf_link *link = exec->commands[i].first; link != NULL; link = next) {
			struct bf_exec_command *command = BF_CONTAINER(link, struct bf_exec_command,
					all);
			next = link->next;
			consider(command, at);
			due.us = BF_MIN(due.us, due_of(command, at).us);
		}
	}
	return due;
}

static void fill_places(struct bf_exec *exec)
{
	while (exec->waiting.first != NULL && exec->running < exec->options.concurrent) {
		struct bf_exec_command *command = BF_CONTAINER(exec->waiting.first,
				struct bf_exec_command, link);
		bf_list_remove(&command->link);
		command->is_placed = true;
		exec->running++;
		command->state = BF_EXEC_PREPARING;
		submit(command, run_prepare);
	}
}

/* --- the sweep --- */

static void run_sweep(struct bf_output_job *job)
{
	struct bf_exec *exec = BF_CONTAINER(job, struct bf_exec, sweep);

	bf_exec_sweep(exec);
	lock(exec);
	exec->is_swept = true;
	wake(exec);
	unlock(exec);
}

static void sweep(struct bf_exec *exec)
{
	lock(exec);
	bool is_swept = exec->is_swept;
	exec->is_swept = false;
	if (exec->wants_sweep) {
		exec->wants_sweep = false;
		exec->sweep_at = (struct bf_boot_time){0};
		exec->sweep_after = BELFRY_SECOND;
	}
	unlock(exec);
	if (is_swept) {
		exec->is_sweeping = false;
		exec->busy--;
	}
	if (!exec->is_sweeping && !exec->is_winding_up && now(exec).us >= exec->sweep_at.us) {
		/* After a start soon again: its Runs are being decided. */
		exec->sweep_after = BF_MIN(exec->sweep_after * 2, SWEEP_EVERY);
		exec->sweep_at = bf_boot_add(now(exec), exec->sweep_after);
		exec->is_sweeping = true;
		exec->busy++;
		exec->sweep.run = run_sweep;
		bf_outputs_submit(exec->options.outputs, &exec->sweep);
	}
}

/* --- arrivals --- */

static void insert(struct bf_exec_command *command)
{
	lock(command->exec);
	bf_list_append(bucket_of(command->exec, command->request.run), &command->all);
	unlock(command->exec);
}

/* The earlier one's document is written over by the new one's. */
static void replace(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	fresh->etag = old->etag;
	forget(old);
	insert(fresh);
	fresh->state = BF_EXEC_WAITING;
	bf_list_append(&fresh->exec->waiting, &fresh->link);
}

/* The one that runs, or ran, is what the new call asks for. */
static void take_over(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	struct bf_exec *exec = old->exec;

	lock(exec);
	bf_list_move(bucket_of(exec, old->request.run), &old->all);
	old->request.fence = fresh->request.fence;
	old->request.attempt = fresh->request.attempt;
	old->request.done = fresh->request.done;
	old->request.data = fresh->request.data;
	fresh->request.done = NULL;
	bf_list_remove(&fresh->cancelled);
	unlock(exec);
	bf_exec_command_free(fresh);
	bf_log(exec->options.env, BF_LOG_INFO, "event=exec_adopted run=%s pid=%d state=%s",
			old->run_text, (int)old->identity.pid,
			old->state == BF_EXEC_SETTLED ? "ended" : "running");
	if (old->state == BF_EXEC_SETTLED) {
		check_in(old, CHECK_FIRST);
		deliver_end(old);
		return;
	}
	old->needs_note = true;
	if (old->request.is_abandoned) {
		tell_to_end(old);
	}
}

static void cancel(struct bf_exec_command *command)
{
	if (command->state == BF_EXEC_WAITING) {
		leave(command);
		deliver_kind(command, BF_EXEC_CANCELLED);
	} else if (command->state < BF_EXEC_RUNNING) {
		command->is_cancelled = true; /* its job is out */
	} else {
		deliver_kind(command, BF_EXEC_CANCELLED);
		check_in(command, 0);
		if (command->state == BF_EXEC_RUNNING && command->request.is_abandoned) {
			tell_to_end(command);
		}
	}
}

/* It meets the old one when that has no job out. Who waited for the same has a lower fence. */
static void succeed(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	lock(old->exec);
	struct bf_exec_command *earlier = old->successor;
	old->successor = fresh;
	unlock(old->exec);
	if (earlier != NULL) {
		deliver_kind(earlier, BF_EXEC_CANCELLED);
		bf_exec_command_free(earlier);
	}
}

static void meet(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	bool is_settled = old->state == BF_EXEC_SETTLED;
	bool is_next = old->request.attempt < fresh->request.attempt ||
			(is_settled && old->result.kind == BF_EXEC_NOT_NOW);

	if (old->request.done != NULL) {
		cancel(old); /* of a lower fence */
	}
	if (old->is_busy) {
		succeed(old, fresh);
	} else if (is_settled && is_next) {
		replace(old, fresh);
	} else if (!is_next && old->state >= BF_EXEC_RUNNING && old->state <= BF_EXEC_SETTLED) {
		take_over(old, fresh);
	} else {
		deliver_kind(fresh, BF_EXEC_BUSY);
		bf_exec_command_free(fresh);
	}
}

static void arrive(struct bf_exec_command *command)
{
	struct bf_exec_command *old = find(command->exec, command->request.run);

	if (command->is_cancelled) { /* while it waited to meet another */
		deliver_kind(command, BF_EXEC_CANCELLED);
		bf_exec_command_free(command);
		return;
	}
	if (old != NULL) {
		meet(old, command);
		return;
	}
	insert(command);
	if (command->state == BF_EXEC_RUNNING) {
		command->is_placed = command->pidfd >= 0;
		command->exec->running += command->is_placed;
		watch(command);
	} else {
		submit(command, run_look);
	}
}

/* --- the thread --- */

static struct bf_exec_command *take(struct bf_exec *exec, struct bf_list *list, size_t offset)
{
	lock(exec);
	struct bf_link *link = list->first;
	if (link != NULL) {
		bf_list_remove(link);
	}
	unlock(exec);
	return link == NULL ? NULL : (struct bf_exec_command *)(void *)((char *)link - offset);
}

static void read_inbox(struct bf_exec *exec)
{
	size_t link = offsetof(struct bf_exec_command, link);
	struct bf_exec_command *command;

	while ((command = take(exec, &exec->returned, link)) != NULL) {
		come_back(command);
	}
	while ((command = take(exec, &exec->arrived, link)) != NULL) {
		arrive(command);
	}
	while ((command = take(exec, &exec->cancelled,
				offsetof(struct bf_exec_command, cancelled))) != NULL) {
		cancel(command);
	}
}

static void wait_for_events(struct bf_exec *exec, struct bf_boot_time due)
{
	struct epoll_event events[EVENTS];
	int wait = -1;
	uint64_t count;

	if (due.us != INT64_MAX) {
		belfry_duration rest = BF_MAX(due.us - now(exec).us, 0) / BELFRY_MILLISECOND + 1;
		wait = (int)BF_MIN(rest, (belfry_duration)60000);
	}
	int got = epoll_wait(exec->epoll_fd, events, EVENTS, wait);
	for (int i = 0; i < got; i++) {
		if (events[i].data.ptr == NULL) {
			(void)!read(exec->wake_fd, &count, sizeof(count)); /* it only wakes */
		} else {
			reap(events[i].data.ptr);
		}
	}
}

/* Nothing begins any more; what waits is told so; jobs that are out are waited for. */
static void wind_up(struct bf_exec *exec)
{
	exec->is_winding_up = true;
	for (;;) {
		read_inbox(exec);
		while (exec->waiting.first != NULL) {
			forget(BF_CONTAINER(exec->waiting.first, struct bf_exec_command, link));
		}
		sweep(exec); /* only takes back the one that is out */
		if (exec->busy == 0) {
			break;
		}
		wait_for_events(exec, (struct bf_boot_time){INT64_MAX});
	}
	for (size_t i = 0; i < BF_EXEC_BUCKETS; i++) {
		while (exec->commands[i].first != NULL) {
			forget(BF_CONTAINER(exec->commands[i].first, struct bf_exec_command, all));
		}
	}
}

static void *run_loop(void *data)
{
	struct bf_exec *exec = data;

	for (;;) {
		lock(exec);
		bool is_stopping = exec->is_stopping;
		unlock(exec);
		if (is_stopping) {
			wind_up(exec);
			return NULL;
		}
		read_inbox(exec);
		struct bf_boot_time due = consider_all(exec);
		sweep(exec);
		fill_places(exec);
		due.us = BF_MIN(due.us, exec->sweep_at.us);
		wait_for_events(exec, due);
	}
}

/* --- from any thread --- */

enum belfry_status bf_exec_check(const struct bf_exec_allowed *allowed, struct belfry_str program,
		struct belfry_error *err)
{
	for (size_t i = 0; allowed != NULL && i < allowed->count; i++) {
		if (bf_str_equal(program, bf_str(allowed->programs[i]))) {
			return BELFRY_OK;
		}
	}
	program = bf_str_slice(program, 0, 150);
	return bf_error_set(err, BELFRY_TARGET_NOT_ALLOWED,
			"the command %.*s is not allowed: start the host with --allow-exec %.*s",
			BF_STR_ARGS(program), BF_STR_ARGS(program));
}

enum belfry_status bf_exec_start(struct bf_exec *exec, const struct bf_exec_request *request,
		struct belfry_error *err)
{
	struct bf_exec_command *command = bf_exec_command_new(exec, request);

	if (command == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	lock(exec);
	bool is_stopping = exec->is_stopping;
	if (!is_stopping) {
		bf_list_append(&exec->arrived, &command->link);
		wake(exec);
	}
	unlock(exec);
	if (is_stopping) {
		command->request.done = NULL;
		bf_exec_command_free(command);
		return bf_error_set(err, BELFRY_UNAVAILABLE, "the host is stopping");
	}
	return BELFRY_OK;
}

/* Under the lock. */
static struct bf_exec_command *find_call(struct bf_exec *exec, struct belfry_id run,
		belfry_fence fence)
{
	struct bf_exec_command *command = find(exec, run);

	if (command != NULL && command->successor != NULL &&
			command->successor->request.fence == fence) {
		return command->successor;
	}
	if (command != NULL && command->request.fence == fence) {
		return command;
	}
	for (struct bf_link *link = exec->arrived.first; link != NULL; link = link->next) {
		command = BF_CONTAINER(link, struct bf_exec_command, link);
		if (bf_id_compare(command->request.run, run) == 0 &&
				command->request.fence == fence) {
			return command;
		}
	}
	return NULL;
}

void bf_exec_cancel(struct bf_exec *exec, struct belfry_id run, belfry_fence fence)
{
	lock(exec);
	struct bf_exec_command *command = find_call(exec, run, fence);
	if (command != NULL && command->request.done != NULL && command->cancelled.list == NULL) {
		bf_list_append(&exec->cancelled, &command->cancelled);
		wake(exec);
	}
	unlock(exec);
}

bool bf_exec_knows(struct bf_exec *exec, struct belfry_id run)
{
	lock(exec);
	bool is_known = find(exec, run) != NULL;
	for (struct bf_link *link = exec->arrived.first; link != NULL; link = link->next) {
		struct bf_exec_command *command = BF_CONTAINER(link, struct bf_exec_command, link);
		is_known = is_known || bf_id_compare(command->request.run, run) == 0;
	}
	unlock(exec);
	return is_known;
}

/* --- life --- */

/* What an earlier host has stored of the output; from the end of the head on it is stored again. */
static void find_streamed(struct bf_exec_command *command, struct belfry_arena *arena)
{
	struct belfry_str bytes;
	uint64_t length = 0;

	if (bf_backend_read_output(command->exec->options.store, command->request.run, 0, 0, arena,
			    &bytes, &length, NULL) == BELFRY_OK) {
		command->is_output_begun = true;
		command->streamed = BF_MIN(length,
				bf_exec_head_bytes(command->request.output_limit));
	}
}

static enum belfry_status recover_one(struct bf_exec *exec, const struct belfry_document *document,
		struct belfry_arena *arena)
{
	struct bf_exec_note note;
	struct belfry_id id;

	if (belfry_id_parse(document->id, &id) != BELFRY_OK ||
			bf_exec_note_parse(document->bytes, arena, &note) != BELFRY_OK ||
			!bf_str_equal(note.folder, bf_str(exec->options.data_folder))) {
		return BELFRY_OK; /* another host's: who takes its Run up finds it */
	}
	struct bf_exec_command *command = bf_exec_command_new(exec, NULL);
	if (command == NULL) {
		return BELFRY_NOMEM;
	}
	bool is_here = bf_str_equal(bf_str(note.identity.boot), bf_str(exec->boot));
	command->state = BF_EXEC_RUNNING;
	command->is_recovered = true;
	command->identity = note.identity;
	command->etag = document->etag;
	command->request = (struct bf_exec_request){.size = sizeof(command->request),
			.run = id,
			.fence = note.fence,
			.attempt = note.attempt,
			.output_limit = note.output_limit,
			.is_abandoned = note.is_abandoned};
	belfry_id_format(id, command->run_text);
	command->pidfd = is_here ? bf_exec_process_open(&note.identity) : -1;
	find_streamed(command, arena);
	lock(exec);
	bf_list_append(&exec->arrived, &command->link);
	unlock(exec);
	return BELFRY_OK;
}

enum belfry_status bf_exec_recover(struct bf_exec *exec, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document_query query = {.kind = BF_STR(BF_EXEC_KIND), .limit = PAGE_ROWS};
	enum belfry_status status = BELFRY_OK;

	do {
		status = bf_backend_list_documents(exec->options.store, &query, &arena, err);
		for (size_t i = 0; status == BELFRY_OK && i < query.count; i++) {
			status = recover_one(exec, &query.documents[i], &arena);
			if (status != BELFRY_OK) {
				return bf_error_set(err, status, "out of memory");
			}
			query.after_owner = query.documents[i].owner;
			query.after_name = query.documents[i].name;
			query.after_id = query.documents[i].id;
		}
	} while (status == BELFRY_OK && query.has_more);
	lock(exec);
	exec->wants_sweep = true; /* what is not known by now is not needed */
	wake(exec);
	unlock(exec);
	return status;
}

/* Of the account that we run as, and not from our own environment. */
static void read_account(struct bf_exec *exec)
{
	BF_CLEANUP(bf_free_pointer) char *text = bf_alloc(ACCOUNT);
	struct passwd entry;
	struct passwd *found = NULL;

	if (text == NULL || getpwuid_r(geteuid(), &entry, text, ACCOUNT, &found) != 0) {
		found = NULL;
	}
	const char *const pairs[][2] = {{"HOME=", found != NULL ? entry.pw_dir : "/"},
			{"USER=", found != NULL ? entry.pw_name : NULL},
			{"LOGNAME=", found != NULL ? entry.pw_name : NULL}};
	for (size_t i = 0; i < BF_COUNT(pairs); i++) {
		if (pairs[i][1] != NULL) {
			bf_buf_append_text(&exec->account, pairs[i][0]);
			bf_buf_append_text(&exec->account, pairs[i][1]);
			bf_buf_append_byte(&exec->account, '\0');
		}
	}
}

static enum belfry_status open_descriptors(struct bf_exec *exec, struct belfry_error *err)
{
	struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};

	exec->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	exec->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (exec->epoll_fd < 0 || exec->wake_fd < 0 ||
			epoll_ctl(exec->epoll_fd, EPOLL_CTL_ADD, exec->wake_fd, &event) != 0) {
		return bf_error_system(err, BELFRY_UNAVAILABLE, errno, "no descriptors for exec");
	}
	return BELFRY_OK;
}

/* The thread takes no signal: those are the main thread's. */
static enum belfry_status start_thread(struct bf_exec *exec, struct belfry_error *err)
{
	sigset_t all;
	sigset_t before;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	int failed = pthread_create(&exec->thread, NULL, run_loop, exec);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed == 0 ? BELFRY_OK
			   : bf_error_system(err, BELFRY_UNAVAILABLE, failed, "no thread for exec");
}

static void free_parts(struct bf_exec *exec)
{
	if (exec->epoll_fd >= 0) {
		(void)close(exec->epoll_fd); /* nothing was written */
	}
	if (exec->wake_fd >= 0) {
		(void)close(exec->wake_fd); /* the same */
	}
	bf_buf_fini(&exec->folder);
	bf_buf_fini(&exec->sessions);
	bf_buf_fini(&exec->account);
	(void)pthread_mutex_destroy(&exec->lock); /* nobody holds it */
	bf_free(exec);
}

enum belfry_status bf_exec_new(const struct bf_exec_options *options, struct bf_exec **ret_exec,
		struct belfry_error *err)
{
	struct bf_exec *exec = bf_alloc(sizeof(*exec));

	if (exec == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	exec->options = *options;
	exec->sweep_at = (struct bf_boot_time){INT64_MAX};
	exec->epoll_fd = -1;
	exec->wake_fd = -1;
	(void)pthread_mutex_init(&exec->lock, NULL); /* default kind: cannot fail */
	bf_buf_appendf(&exec->folder, "%s/exec", options->data_folder);
	bf_buf_appendf(&exec->sessions, "%s/sessions", options->data_folder);
	read_account(exec);
	bf_exec_boot_read(exec->boot);
	enum belfry_status status = BELFRY_OK;
	if (exec->folder.is_failed || exec->sessions.is_failed || exec->account.is_failed) {
		status = bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (status == BELFRY_OK) {
		status = open_descriptors(exec, err);
	}
	if (status == BELFRY_OK) {
		status = start_thread(exec, err);
	}
	if (status != BELFRY_OK) {
		free_parts(exec);
		return status;
	}
	*ret_exec = exec;
	return BELFRY_OK;
}

void bf_exec_free(struct bf_exec *exec)
{
	if (exec == NULL) {
		return;
	}
	lock(exec);
	exec->is_stopping = true;
	wake(exec);
	unlock(exec);
	(void)pthread_join(exec->thread, NULL);
	free_parts(exec);
}
