/* The start of a command: its folders and files, its environment, and its supervisor at the gate.
 *
 * The environment is made anew: of the host's own nothing but HOME, USER and LOGNAME (of its account) goes
 * in; no other descriptor either. Secrets are read here, just before the start. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* posix_spawn_file_actions_addclosefrom_np */
#endif
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/pidfd.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/targets/exec_priv.h"

#define PATH_DEFAULT "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define HIGH_FD      10 /* above what the supervisor is given */

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* --- folders and files --- */

static enum belfry_status make_one(const char *path, struct belfry_error *err)
{
	if (mkdir(path, 0700) != 0 && errno != EEXIST) {
		return bf_error_system(err, BELFRY_UNAVAILABLE, errno,
				"the folder %s could not be made: %d", path, errno);
	}
	return BELFRY_OK;
}

enum belfry_status bf_exec_make_folder(const char *path, struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) char *part = bf_str_dup(bf_str(path));
	enum belfry_status status = BELFRY_OK;

	if (part == NULL) {
		return no_memory(err);
	}
	for (char *at = part + 1; status == BELFRY_OK && *at != '\0'; at++) {
		if (*at != '/') {
			continue;
		}
		*at = '\0';
		if (access(part, F_OK) != 0) {
			status = make_one(part, err);
		}
		*at = '/';
	}
	return status == BELFRY_OK ? make_one(path, err) : status;
}

static void append_folder(const struct bf_buf *base, const struct bf_exec_command *command,
		struct bf_buf *out)
{
	bf_buf_append_str(out, bf_buf_str(base));
	bf_buf_append_byte(out, '/');
	bf_buf_append_text(out, command->run_text);
}

static const char *const file_names[] = {"prompt", "input", "going", "head", "tail", "end",
		"end.new", "log"};

static void append_file(const struct bf_exec_command *command, const char *name, struct bf_buf *out)
{
	append_folder(&command->exec->folder, command, out);
	bf_buf_append_byte(out, '/');
	bf_buf_append_text(out, name);
}

int bf_exec_open_file(const struct bf_exec_command *command, const char *name)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	append_file(command, name, &path);
	if (bf_buf_status(&path) != BELFRY_OK) {
		return -1;
	}
	return open(path.ptr, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static void remove_files(const struct bf_exec_command *command)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	for (size_t i = 0; i < BF_COUNT(file_names); i++) {
		bf_buf_clear(&path);
		append_file(command, file_names[i], &path);
		if (bf_buf_status(&path) == BELFRY_OK) {
			(void)unlink(path.ptr); /* most are not there */
		}
	}
}

void bf_exec_remove_folders(struct bf_exec_command *command)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	remove_files(command);
	append_folder(&command->exec->folder, command, &path);
	if (bf_buf_status(&path) == BELFRY_OK) {
		(void)rmdir(path.ptr); /* made anew by the next start of it */
	}
	bf_buf_clear(&path);
	append_folder(&command->exec->sessions, command, &path);
	if (bf_buf_status(&path) == BELFRY_OK) {
		(void)rmdir(path.ptr); /* where it is empty: what a command made stays */
	}
}

static enum belfry_status write_file(const struct bf_exec_command *command, const char *name,
		struct belfry_str bytes, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};

	append_file(command, name, &path);
	if (bf_buf_status(&path) != BELFRY_OK) {
		return no_memory(err);
	}
	int fd = open(path.ptr, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
	bool is_written = fd >= 0;
	while (is_written && bytes.len > 0) {
		ssize_t done = write(fd, bytes.ptr, bytes.len);
		is_written = done > 0 || (done < 0 && errno == EINTR);
		bytes = bf_str_slice(bytes, done > 0 ? (size_t)done : 0, bytes.len);
	}
	int code = errno;
	if (fd >= 0 && close(fd) != 0) {
		is_written = false;
	}
	return is_written ? BELFRY_OK
			  : bf_error_system(err, BELFRY_UNAVAILABLE, code,
					    "%s could not be written: %d", path.ptr, code);
}

static enum belfry_status make_files(struct bf_exec_command *command, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf folder = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf session = {0};

	append_folder(&command->exec->folder, command, &folder);
	append_folder(&command->exec->sessions, command, &session);
	if (bf_buf_status(&folder) != BELFRY_OK || bf_buf_status(&session) != BELFRY_OK) {
		return no_memory(err);
	}
	enum belfry_status status = bf_exec_make_folder(folder.ptr, err);
	if (status == BELFRY_OK) {
		status = bf_exec_make_folder(session.ptr, err);
	}
	remove_files(command); /* of an attempt before */
	if (status == BELFRY_OK) {
		status = write_file(command, "prompt", command->request.prompt, err);
	}
	if (status == BELFRY_OK && command->request.input.len > 0) {
		status = write_file(command, "input", command->request.input, err);
	}
	return status;
}

/* --- the environment --- */

static void put(struct bf_buf *env, const char *name, struct belfry_str value)
{
	bf_buf_append_text(env, name);
	bf_buf_append_byte(env, '=');
	bf_buf_append_str(env, value);
	bf_buf_append_byte(env, '\0');
}

static enum belfry_status put_variable(struct bf_exec_command *command,
		const struct bf_exec_variable *variable, struct belfry_error *err)
{
	BF_CLEANUP(bf_secret_fini) struct bf_secret secret = {0};
	const struct bf_secrets *secrets = command->exec->options.secrets;
	struct belfry_str value = variable->value;

	if (variable->secret.len > 0 && secrets == NULL) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"there is no secret %.*s: this host has no secrets",
				BF_STR_ARGS(variable->secret));
	}
	if (variable->secret.len > 0) {
		enum belfry_status status = bf_secrets_get(secrets, variable->secret, &secret, err);
		if (status != BELFRY_OK) {
			return status;
		}
		value = secret.values[0];
	}
	bf_buf_append_str(&command->env, variable->name);
	bf_buf_append_byte(&command->env, '=');
	bf_buf_append_str(&command->env, value);
	bf_buf_append_byte(&command->env, '\0');
	return BELFRY_OK;
}

/* envp: pointers into the text, once that is whole. A later value of a name takes the earlier one's
 * place. */
static enum belfry_status point_into(struct bf_exec_command *command, struct belfry_error *err)
{
	const struct bf_buf *env = &command->env;
	size_t count = 0;
	size_t used = 0;

	for (size_t i = 0; i < env->len; i++) {
		count += env->ptr[i] == '\0';
	}
	command->envp = belfry_arena_alloc(&command->arena, (count + 1) * sizeof(char *));
	if (command->envp == NULL) {
		return no_memory(err);
	}
	for (size_t at = 0; at < env->len; at += strlen(env->ptr + at) + 1) {
		char *entry = env->ptr + at;
		size_t name_len = strcspn(entry, "=") + 1;
		size_t place = 0;
		while (place < used && strncmp(command->envp[place], entry, name_len) != 0) {
			place++;
		}
		command->envp[place] = entry;
		used = BF_MAX(used, place + 1);
	}
	command->envp[used] = NULL;
	return BELFRY_OK;
}

static enum belfry_status make_environment(struct bf_exec_command *command,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf input = {0};
	enum belfry_status status = BELFRY_OK;

	bf_buf_clear(&command->env);
	put(&command->env, "PATH", BF_STR(PATH_DEFAULT));
	put(&command->env, "LANG", BF_STR("C.UTF-8"));
	put(&command->env, "SHELL", BF_STR("/bin/sh"));
	bf_buf_append_str(&command->env, bf_buf_str(&command->exec->account));
	if (command->request.input.len > 0) {
		append_file(command, "input", &input);
		put(&command->env, "BELFRY_INPUT", bf_buf_str(&input));
	}
	for (size_t i = 0; status == BELFRY_OK && i < command->request.variable_count; i++) {
		status = put_variable(command, &command->request.variables[i], err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (bf_buf_status(&command->env) != BELFRY_OK || input.is_failed) {
		return no_memory(err);
	}
	return point_into(command, err);
}

/* --- the supervisor --- */

static char *number_text(struct belfry_arena *arena, uint64_t number)
{
	char *text = belfry_arena_alloc(arena, 24);

	if (text != NULL) {
		(void)snprintf(text, 24, "%llu", (unsigned long long)number);
	}
	return text;
}

static char *path_text(struct belfry_arena *arena, const struct bf_buf *base,
		const struct bf_exec_command *command)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	struct belfry_str copy = {0};

	append_folder(base, command, &path);
	if (bf_buf_status(&path) != BELFRY_OK ||
			belfry_arena_copy(arena, bf_buf_str(&path), &copy) != BELFRY_OK) {
		return NULL;
	}
	return (char *)(uintptr_t)copy.ptr;
}

static char *text_of(struct belfry_str text)
{
	return (char *)(uintptr_t)text.ptr; /* ours, in the arena, with a NUL behind */
}

static enum belfry_status make_arguments(struct bf_exec_command *command, struct belfry_error *err)
{
	static char name[] = "belfry-exec";
	static char mode[] = BF_EXEC_SUPERVISOR;
	const struct bf_exec_request *request = &command->request;
	struct belfry_arena *arena = &command->arena;
	char **argv = belfry_arena_alloc(arena, (request->argument_count + 7) * sizeof(*argv));

	if (argv == NULL) {
		return no_memory(err);
	}
	argv[0] = name;
	argv[1] = mode;
	argv[2] = path_text(arena, &command->exec->folder, command);
	argv[3] = request->cwd.len > 0 ? text_of(request->cwd)
				       : path_text(arena, &command->exec->sessions, command);
	argv[4] = number_text(arena, request->output_limit);
	argv[5] = number_text(arena, (uint64_t)request->timeout);
	for (size_t i = 0; i < request->argument_count; i++) {
		argv[6 + i] = text_of(request->arguments[i]);
	}
	for (size_t i = 2; i < 6; i++) {
		if (argv[i] == NULL) {
			return no_memory(err);
		}
	}
	command->argv = argv;
	return BELFRY_OK;
}

enum belfry_status bf_exec_prepare(struct bf_exec_command *command, struct belfry_error *err)
{
	const struct bf_exec_options *options = &command->exec->options;
	enum belfry_status status = bf_exec_check(options->allowed, command->request.arguments[0],
			err);

	if (status == BELFRY_OK) {
		status = make_files(command, err);
	}
	if (status == BELFRY_OK) {
		status = make_environment(command, err);
	}
	return status == BELFRY_OK ? make_arguments(command, err) : status;
}

/* 0, or the errno. */
static int spawn(struct bf_exec_command *command, const char *log, int gate_fd)
{
	const char *program = command->exec->options.program;
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	sigset_t all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	if (posix_spawn_file_actions_init(&actions) != 0 ||
			posix_spawnattr_init(&attributes) != 0) {
		return ENOMEM;
	}
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setflags(&attributes,
			(short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					POSIX_SPAWN_SETSID));
	int code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
	code = code != 0 ? code : posix_spawn_file_actions_adddup2(&actions, 0, 1);
	code = code != 0 ? code
			 : posix_spawn_file_actions_addopen(&actions, 2, log,
					   O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW, 0600);
	code = code != 0 ? code
			 : posix_spawn_file_actions_adddup2(&actions, gate_fd, BF_EXEC_GATE_FD);
	code = code != 0 ? code
			 : posix_spawn_file_actions_addclosefrom_np(&actions, BF_EXEC_GATE_FD + 1);
	code = code != 0 ? code
			 : posix_spawn(&command->identity.pid,
					   program != NULL ? program : "/proc/self/exe", &actions,
					   &attributes, command->argv, command->envp);
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	(void)posix_spawnattr_destroy(&attributes);       /* the same */
	return code;
}

static enum belfry_status make_gate(struct bf_exec_command *command, int *ret_read_fd)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0) {
		return BELFRY_UNAVAILABLE;
	}
	/* Out of the way of the descriptors that the supervisor is given. */
	int high = fcntl(fds[0], F_DUPFD_CLOEXEC, HIGH_FD);
	(void)close(fds[0]); /* nothing was written */
	if (high < 0) {
		(void)close(fds[1]); /* the same */
		return BELFRY_UNAVAILABLE;
	}
	command->gate_fd = fds[1];
	*ret_read_fd = high;
	return BELFRY_OK;
}

/* Not reaped yet, so the pid is its own. */
static enum belfry_status identify(struct bf_exec_command *command)
{
	struct bf_exec_identity *identity = &command->identity;

	memcpy(identity->boot, command->exec->boot, sizeof(identity->boot));
	command->is_child = true;
	command->pidfd = pidfd_open(identity->pid, 0);
	return command->pidfd >= 0 ? bf_exec_start_time(identity->pid, &identity->start_time)
				   : BELFRY_UNAVAILABLE;
}

enum belfry_status bf_exec_spawn(struct bf_exec_command *command, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf log = {0};
	int read_fd = -1;

	append_file(command, "log", &log);
	if (bf_buf_status(&log) != BELFRY_OK || make_gate(command, &read_fd) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_UNAVAILABLE, errno, "no gate for a command");
	}
	int code = spawn(command, log.ptr, read_fd);
	(void)close(read_fd); /* nothing was written */
	if (code != 0) {
		bf_exec_close_gate(command);
		return bf_error_system(err, BELFRY_UNAVAILABLE, code,
				"a command's supervisor could not be started: %d", code);
	}
	if (identify(command) != BELFRY_OK) {
		bf_exec_close_gate(command); /* it goes away */
		return bf_error_system(err, BELFRY_UNAVAILABLE, errno,
				"a command's supervisor could not be watched: %d", errno);
	}
	return BELFRY_OK;
}

void bf_exec_open_gate(struct bf_exec_command *command)
{
	/* Fails only where the supervisor is gone: its end says so. */
	(void)!write(command->gate_fd, "g", 1);
	bf_exec_close_gate(command);
}

void bf_exec_close_gate(struct bf_exec_command *command)
{
	if (command->gate_fd >= 0) {
		(void)close(command->gate_fd); /* the byte is in the pipe, or none is meant to be */
		command->gate_fd = -1;
	}
}
