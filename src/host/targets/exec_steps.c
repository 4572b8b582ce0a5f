/* What comes next for one command of the target `exec`: the steps of exec.c's diagram, on the loop's thread.
 * Whatever blocks is a job of the writer's thread (exec_command.c, exec_output.c), which brings the command
 * back here. */
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "host/targets/exec_priv.h"

#define TICK         (250 * BELFRY_MILLISECOND) /* new output is looked for */
#define CHECK_LATEST (30 * BELFRY_SECOND)

typedef void (*job_fn)(struct bf_exec_command *command);

static void do_job(struct bf_exec_command *command, job_fn work)
{
	struct bf_exec *exec = command->exec;

	work(command);
	bf_exec_lock(exec);
	bf_list_append(&exec->returned, &command->link);
	bf_exec_wake(exec);
	bf_exec_unlock(exec);
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
void bf_exec_deliver(struct bf_exec_command *command, const struct bf_exec_result *result)
{
	bf_exec_lock(command->exec);
	bf_exec_done_fn done = command->request.done;
	void *data = command->request.data;
	command->request.done = NULL;
	bf_list_remove(&command->cancelled);
	bf_exec_unlock(command->exec);
	if (done != NULL) {
		done(data, result);
	}
}

void bf_exec_deliver_kind(struct bf_exec_command *command, enum bf_exec_kind kind)
{
	bf_exec_deliver(command, &(struct bf_exec_result){.kind = kind});
}

/* Who waited to meet it arrives anew; at the end it is given back. */
static void release_successor(struct bf_exec_command *command)
{
	struct bf_exec *exec = command->exec;

	bf_exec_lock(exec);
	struct bf_exec_command *fresh = BF_TAKE(command->successor);
	if (fresh != NULL && !exec->is_winding_up) {
		bf_list_append(&exec->arrived, &fresh->link);
		bf_exec_wake(exec);
		fresh = NULL;
	}
	bf_exec_unlock(exec);
	if (fresh != NULL) {
		bf_exec_deliver_kind(fresh, BF_EXEC_CANCELLED);
		bf_exec_command_free(fresh);
	}
}

void bf_exec_forget(struct bf_exec_command *command)
{
	struct bf_exec *exec = command->exec;

	release_successor(command);
	bf_exec_deliver_kind(command, BF_EXEC_CANCELLED); /* where nobody was told */
	bf_exec_lock(exec);
	bf_list_remove(&command->all);
	bf_exec_unlock(exec);
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

void bf_exec_check_in(struct bf_exec_command *command, belfry_duration after)
{
	command->check_after = BF_MIN(after, CHECK_LATEST);
	command->check_at = bf_boot_add(bf_exec_now(command->exec), command->check_after);
}

void bf_exec_leave(struct bf_exec_command *command)
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
		bf_exec_deliver_kind(command, BF_EXEC_CANCELLED);
	} else {
		bf_exec_deliver(command, &command->result);
	}
	bf_exec_leave(command);
}

void bf_exec_tell_to_end(struct bf_exec_command *command)
{
	if (!command->is_told && command->pidfd >= 0) {
		command->is_told = true;
		bf_exec_process_signal(command->pidfd, SIGTERM);
	}
}

/* What it ended with is a result, but for a command that we made end because its host had gone. */
void bf_exec_deliver_end(struct bf_exec_command *command)
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
	bf_exec_deliver(command, &result);
}

static void settle(struct bf_exec_command *command)
{
	command->state = BF_EXEC_SETTLED;
	bf_exec_command_release(command);
	bf_exec_check_in(command, BF_EXEC_CHECK_FIRST);
	bf_exec_deliver_end(command);
}

void bf_exec_watch(struct bf_exec_command *command)
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
	bf_exec_watch(command);
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

void bf_exec_come_back(struct bf_exec_command *command)
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
			bf_exec_check_in(command, BF_EXEC_CHECK_FIRST);
		}
		break;
	case BF_EXEC_LEAVING: bf_exec_forget(command); break;
	case BF_EXEC_RUNNING:
	case BF_EXEC_SETTLED:
	case BF_EXEC_WAITING: break;
	}
}

/* The supervisor has ended. */
void bf_exec_reap(struct bf_exec_command *command)
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
	bf_exec_lock(command->exec);
	command->request.fence = BF_MAX(command->request.fence, command->fence_seen);
	bf_exec_unlock(command->exec);
	if (command->state == BF_EXEC_RUNNING && !command->is_told && !command->is_gone) {
		command->is_orphan = true;
		bf_log(command->exec->options.env, BF_LOG_WARNING,
				"event=exec_orphan_ended run=%s pid=%d detail=\"its Run is over, so the "
				"command is told to end\"",
				command->run_text, (int)command->identity.pid);
		bf_exec_tell_to_end(command);
	}
}

static void consider_running(struct bf_exec_command *command, struct bf_boot_time at)
{
	bool is_detached = command->request.done == NULL;
	struct pollfd end = {.fd = command->pidfd, .events = POLLIN};

	learn(command);
	if (!command->is_gone && poll(&end, 1, 0) == 1) {
		bf_exec_reap(command);
	}
	if (command->is_gone) {
		command->state = BF_EXEC_ENDING;
		submit(command, run_finish);
	} else if (command->needs_note) {
		command->needs_note = false;
		submit(command, run_note);
	} else if (is_detached && !command->is_run_over && at.us >= command->check_at.us) {
		bf_exec_check_in(command, BF_MAX(command->check_after * 2, BF_EXEC_CHECK_FIRST));
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
		bf_exec_leave(command);
	} else if (command->state == BF_EXEC_SETTLED && at.us >= command->check_at.us) {
		bf_exec_check_in(command, command->check_after * 2);
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

struct bf_boot_time bf_exec_consider_all(struct bf_exec *exec)
{
	struct bf_boot_time at = bf_exec_now(exec);
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

void bf_exec_fill_places(struct bf_exec *exec)
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

void bf_exec_look(struct bf_exec_command *command)
{
	submit(command, run_look);
}
