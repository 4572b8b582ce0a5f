/* The target's loop: one thread over the pidfds of supervisors. It decides what comes next for each command
 * (exec_steps.c, exec_arrive.c), and does nothing that blocks but to start a supervisor; the rest is jobs of
 * the writer's thread.
 *
 * LOOKING - WAITING - PREPARING - STORING - RUNNING - ENDING - SETTLED - LEAVING
 *
 * Invariants  a command that is WAITING has no document of this attempt; the gate is opened only by the step
 *             from STORING to RUNNING; the document goes only where the Run was seen to be over, or by
 *             being written over by the next attempt. A command without a callback (its caller was told,
 *             or it is an earlier host's) is looked after all the same. */
#include "host/targets/exec.h"

#include <errno.h>
#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/id.h"
#include "host/backend.h"
#include "host/targets/exec_priv.h"

#define EVENTS      64
#define PAGE_ROWS   200
#define ACCOUNT     16384
#define SWEEP_EVERY BELFRY_HOUR

/* Under the lock: else the loop may be gone as soon as it has what it waited for. */
void bf_exec_wake(struct bf_exec *exec)
{
	uint64_t one = 1;

	/* Fails only when the counter is full, and then it wakes already. */
	(void)!write(exec->wake_fd, &one, sizeof(one));
}

struct bf_boot_time bf_exec_now(const struct bf_exec *exec)
{
	return exec->options.env->boot(exec->options.env->data);
}

/* --- the sweep --- */

static void run_sweep(struct bf_output_job *job)
{
	struct bf_exec *exec = BF_CONTAINER(job, struct bf_exec, sweep);

	bf_exec_sweep(exec);
	bf_exec_lock(exec);
	exec->is_swept = true;
	bf_exec_wake(exec);
	bf_exec_unlock(exec);
}

static void sweep(struct bf_exec *exec)
{
	bf_exec_lock(exec);
	bool is_swept = exec->is_swept;
	exec->is_swept = false;
	if (exec->wants_sweep) {
		exec->wants_sweep = false;
		exec->sweep_at = (struct bf_boot_time){0};
		exec->sweep_after = BELFRY_SECOND;
	}
	bf_exec_unlock(exec);
	if (is_swept) {
		exec->is_sweeping = false;
		exec->busy--;
	}
	if (!exec->is_sweeping && !exec->is_winding_up &&
			bf_exec_now(exec).us >= exec->sweep_at.us) {
		/* After a start soon again: its Runs are being decided. */
		exec->sweep_after = BF_MIN(exec->sweep_after * 2, SWEEP_EVERY);
		exec->sweep_at = bf_boot_add(bf_exec_now(exec), exec->sweep_after);
		exec->is_sweeping = true;
		exec->busy++;
		exec->sweep.run = run_sweep;
		bf_outputs_submit(exec->options.outputs, &exec->sweep);
	}
}

/* --- the thread --- */

static struct bf_exec_command *take(struct bf_exec *exec, struct bf_list *list, size_t offset)
{
	bf_exec_lock(exec);
	struct bf_link *link = list->first;
	if (link != NULL) {
		bf_list_remove(link);
	}
	bf_exec_unlock(exec);
	return link == NULL ? NULL : (struct bf_exec_command *)(void *)((char *)link - offset);
}

static void read_inbox(struct bf_exec *exec)
{
	size_t link = offsetof(struct bf_exec_command, link);
	struct bf_exec_command *command;

	while ((command = take(exec, &exec->returned, link)) != NULL) {
		bf_exec_come_back(command);
	}
	while ((command = take(exec, &exec->arrived, link)) != NULL) {
		bf_exec_arrive(command);
	}
	while ((command = take(exec, &exec->cancelled,
				offsetof(struct bf_exec_command, cancelled))) != NULL) {
		bf_exec_let_go(command);
	}
}

static void wait_for_events(struct bf_exec *exec, struct bf_boot_time due)
{
	struct epoll_event events[EVENTS];
	int wait = -1;
	uint64_t count;

	if (due.us != INT64_MAX) {
		belfry_duration rest = BF_MAX(due.us - bf_exec_now(exec).us, 0) /
						BELFRY_MILLISECOND +
				1;
		wait = (int)BF_MIN(rest, (belfry_duration)60000);
	}
	int got = epoll_wait(exec->epoll_fd, events, EVENTS, wait);
	for (int i = 0; i < got; i++) {
		if (events[i].data.ptr == NULL) {
			(void)!read(exec->wake_fd, &count, sizeof(count)); /* it only wakes */
		} else {
			bf_exec_reap(events[i].data.ptr);
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
			bf_exec_forget(BF_CONTAINER(exec->waiting.first, struct bf_exec_command,
					link));
		}
		sweep(exec); /* only takes back the one that is out */
		if (exec->busy == 0) {
			break;
		}
		wait_for_events(exec, (struct bf_boot_time){INT64_MAX});
	}
	for (size_t i = 0; i < BF_EXEC_BUCKETS; i++) {
		while (exec->commands[i].first != NULL) {
			bf_exec_forget(BF_CONTAINER(exec->commands[i].first, struct bf_exec_command,
					all));
		}
	}
}

static void *run_loop(void *data)
{
	struct bf_exec *exec = data;

	for (;;) {
		bf_exec_lock(exec);
		bool is_stopping = exec->is_stopping;
		bf_exec_unlock(exec);
		if (is_stopping) {
			wind_up(exec);
			return NULL;
		}
		read_inbox(exec);
		struct bf_boot_time due = bf_exec_consider_all(exec);
		sweep(exec);
		bf_exec_fill_places(exec);
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
	bf_exec_lock(exec);
	bool is_stopping = exec->is_stopping;
	if (!is_stopping) {
		bf_list_append(&exec->arrived, &command->link);
		bf_exec_wake(exec);
	}
	bf_exec_unlock(exec);
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
	struct bf_exec_command *command = bf_exec_find(exec, run);

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
	bf_exec_lock(exec);
	struct bf_exec_command *command = find_call(exec, run, fence);
	if (command != NULL && command->request.done != NULL && command->cancelled.list == NULL) {
		bf_list_append(&exec->cancelled, &command->cancelled);
		bf_exec_wake(exec);
	}
	bf_exec_unlock(exec);
}

bool bf_exec_knows(struct bf_exec *exec, struct belfry_id run)
{
	bf_exec_lock(exec);
	bool is_known = bf_exec_find(exec, run) != NULL;
	for (struct bf_link *link = exec->arrived.first; link != NULL; link = link->next) {
		struct bf_exec_command *command = BF_CONTAINER(link, struct bf_exec_command, link);
		is_known = is_known || bf_id_compare(command->request.run, run) == 0;
	}
	bf_exec_unlock(exec);
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
	bf_exec_lock(exec);
	bf_list_append(&exec->arrived, &command->link);
	bf_exec_unlock(exec);
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
	bf_exec_lock(exec);
	exec->wants_sweep = true; /* what is not known by now is not needed */
	bf_exec_wake(exec);
	bf_exec_unlock(exec);
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
	bf_exec_lock(exec);
	exec->is_stopping = true;
	bf_exec_wake(exec);
	bf_exec_unlock(exec);
	(void)pthread_join(exec->thread, NULL);
	free_parts(exec);
}
