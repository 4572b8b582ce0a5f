/* One command in memory, and what the writer's thread does for it: everything that blocks. */
#include <unistd.h>

#include <openssl/crypto.h>

#include "base/alloc.h"
#include "base/crash.h"
#include "base/error.h"
#include "host/backend.h"
#include "host/targets/exec_priv.h"

/* --- in memory --- */

static bool copy_text(struct belfry_arena *arena, struct belfry_str *text)
{
	return belfry_arena_copy(arena, *text, text) == BELFRY_OK;
}

static bool copy_arguments(struct bf_exec_command *command)
{
	struct bf_exec_request *request = &command->request;
	struct belfry_str *copies = belfry_arena_alloc(&command->arena,
			request->argument_count * sizeof(*copies));
	bool is_copied = copies != NULL;

	for (size_t i = 0; is_copied && i < request->argument_count; i++) {
		copies[i] = request->arguments[i];
		is_copied = copy_text(&command->arena, &copies[i]);
	}
	request->arguments = copies;
	return is_copied;
}

static bool copy_variables(struct bf_exec_command *command)
{
	struct bf_exec_request *request = &command->request;
	struct bf_exec_variable *copies = belfry_arena_alloc(&command->arena,
			(request->variable_count + 1) * sizeof(*copies));
	bool is_copied = copies != NULL;

	for (size_t i = 0; is_copied && i < request->variable_count; i++) {
		copies[i] = request->variables[i];
		is_copied = copy_text(&command->arena, &copies[i].name) &&
				copy_text(&command->arena, &copies[i].value) &&
				copy_text(&command->arena, &copies[i].secret);
	}
	request->variables = copies;
	return is_copied;
}

static bool copy_request(struct bf_exec_command *command, const struct bf_exec_request *request)
{
	uint64_t limit = command->exec->options.output_limit;

	command->request = *request;
	command->request.output_limit = BF_MAX(BF_MIN(request->output_limit, limit), 1u);
	belfry_id_format(request->run, command->run_text);
	return copy_arguments(command) && copy_variables(command) &&
			copy_text(&command->arena, &command->request.cwd) &&
			copy_text(&command->arena, &command->request.prompt) &&
			copy_text(&command->arena, &command->request.input);
}

struct bf_exec_command *bf_exec_command_new(struct bf_exec *exec,
		const struct bf_exec_request *request)
{
	struct bf_exec_command *command = bf_alloc(sizeof(*command));

	if (command == NULL) {
		return NULL;
	}
	command->exec = exec;
	command->pidfd = -1;
	command->gate_fd = -1;
	if (request != NULL && !copy_request(command, request)) {
		bf_exec_command_free(command);
		return NULL;
	}
	return command;
}

void bf_exec_command_release(struct bf_exec_command *command)
{
	if (command->env.ptr != NULL) {
		OPENSSL_cleanse(command->env.ptr, command->env.capacity);
	}
	bf_buf_fini(&command->env);
	belfry_arena_fini(&command->arena);
	command->arena = (struct belfry_arena)BELFRY_ARENA_INIT;
	command->argv = NULL;
	command->envp = NULL;
	command->request.arguments = NULL;
	command->request.variables = NULL;
	command->request.argument_count = 0;
	command->request.variable_count = 0;
	command->request.cwd = command->request.prompt = command->request.input = BF_STR("");
}

void bf_exec_command_free(struct bf_exec_command *command)
{
	if (command == NULL) {
		return;
	}
	bf_exec_close_gate(command);
	if (command->pidfd >= 0) {
		(void)close(command->pidfd); /* nothing was written */
	}
	bf_exec_command_release(command);
	bf_free(command);
}

void bf_exec_command_fail(struct bf_exec_command *command, enum belfry_status status,
		const struct belfry_error *err)
{
	enum belfry_class class_ = belfry_status_class(status);
	bool is_for_good = class_ == BELFRY_CLASS_CALLER || class_ == BELFRY_CLASS_GONE;

	command->failure = *err;
	command->has_result = true;
	command->result = (struct bf_exec_result){
			.kind = is_for_good                               ? BF_EXEC_REFUSED
					: class_ == BELFRY_CLASS_CONFLICT ? BF_EXEC_BUSY
									  : BF_EXEC_NOT_NOW,
			.status = status,
			.message = bf_str(command->failure.message),
			.detail = bf_str(command->failure.detail[0] != '\0'
							? command->failure.detail
							: command->failure.message),
	};
}

/* --- jobs --- */

/* Was it started before, by a host whose commands are not ours to see? */
void bf_exec_job_look(struct bf_exec_command *command)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_error err = {0};
	struct bf_exec_note note;
	enum belfry_status status = bf_exec_note_get(command, &arena, &note, &err);

	if (status == BELFRY_NOT_FOUND) {
		return;
	}
	if (status != BELFRY_OK && status != BELFRY_CORRUPT) {
		bf_exec_command_fail(command, status, &err);
		return;
	}
	if (status == BELFRY_OK && note.attempt < command->request.attempt) {
		return; /* that one is over, and on record */
	}
	command->has_result = true;
	command->result = (struct bf_exec_result){
			.kind = BF_EXEC_INTERRUPTED,
			.is_truncated = true,
			.detail = BF_STR(
					"it was started by another host, or before the machine was"),
	};
}

void bf_exec_job_prepare(struct bf_exec_command *command)
{
	struct belfry_error err = {0};
	enum belfry_status status = bf_exec_prepare(command, &err);

	if (status != BELFRY_OK) {
		bf_exec_command_fail(command, status, &err);
	}
}

/* The output of an attempt before goes first: what lies there is this one's once the document says so. */
void bf_exec_job_store(struct bf_exec_command *command)
{
	struct belfry_error err = {0};

	bf_exec_begin_output(command);
	BF_CRASH_POINT("exec-spawned");
	enum belfry_status status = bf_exec_note_put(command, &err);
	if (status != BELFRY_OK) {
		bf_exec_command_fail(command, status, &err);
	}
}

/* Only the fence is new: a failure is made good by the next takeover. */
void bf_exec_job_note(struct bf_exec_command *command)
{
	struct belfry_error err = {0};

	if (bf_exec_note_put(command, &err) != BELFRY_OK) {
		bf_log(command->exec->options.env, BF_LOG_WARNING,
				"event=exec_note_old run=%s detail=\"%s\"", command->run_text,
				err.detail[0] != '\0' ? err.detail : err.message);
	}
}

void bf_exec_job_check(struct bf_exec_command *command)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_run run = {0};
	enum belfry_status status = belfry_scheduler_get_run(command->exec->options.scheduler,
			command->request.run, &arena, &run, NULL);

	if (status == BELFRY_OK && belfry_run_status_is_terminal(run.status)) {
		command->is_run_over = true;
		command->fence_seen = run.fence;
	} else if (status == BELFRY_NOT_FOUND) {
		command->is_run_over = true;
	}
}

/* The folders first: as long as the document is there, they are looked for again. */
void bf_exec_job_leave(struct bf_exec_command *command)
{
	bf_exec_remove_folders(command);
	bf_exec_note_remove(command);
}
