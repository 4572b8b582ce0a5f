/* The supervisor of one command.
 *
 * Invariants  nothing is started before the gate's byte was read and `going` is there. `end` is written
 *             once, when nothing that the command started lives any more. However much is printed, no
 *             more than the limit is written, and no more than one buffer is in memory.
 * Not here    attempts, the Run and its record: the host's. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* pipe2, posix_spawn_file_actions_addchdir_np */
#endif
#include "host/targets/exec_supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/env.h"
#include "base/error.h"

#define ARGUMENTS   6 /* in front of the command */
#define PIECE_BYTES 65536
#define KILL_EVERY  (50 * BELFRY_MILLISECOND)
#define DESCENDANTS 4096
#define LEFT_USAGE  64
#define USUAL_FILES 1024

extern char **environ;

struct supervisor {
	const struct bf_env *env;
	const char *cwd;
	char **command;
	uint64_t limit;
	belfry_duration timeout;
	int folder_fd;
	int signal_fd;
	int output_fd; /* reading end; -1: at its end */
	int head_fd;
	int tail_fd;
	pid_t pid; /* of the command */
	struct bf_exec_end end;
	struct bf_boot_time timeout_at; /* INT64_MAX: never */
	struct bf_boot_time kill_at;    /* INT64_MAX: nobody was told to end */
	bool is_over;                   /* the command itself; what it started may live */
	bool has_children;
};

static struct bf_boot_time now(const struct supervisor *s)
{
	return s->env->boot(s->env->data);
}

/* --- output --- */

static bool write_at(int fd, const char *bytes, size_t len, uint64_t at)
{
	while (len > 0) {
		ssize_t done = pwrite(fd, bytes, len, (off_t)at);
		if (done < 0 && errno == EINTR) {
			continue;
		}
		if (done <= 0) {
			return false;
		}
		bytes += done;
		len -= (size_t)done;
		at += (uint64_t)done;
	}
	return true;
}

/* Into the ring, in at most two writes for each round of it. */
static bool write_tail(const struct supervisor *s, const char *bytes, size_t len, uint64_t at)
{
	uint64_t size = s->limit - bf_exec_head_bytes(s->limit);

	if (size == 0) {
		return true;
	}
	while (len > 0) {
		uint64_t place = at % size;
		size_t part = (size_t)BF_MIN((uint64_t)len, size - place);
		if (!write_at(s->tail_fd, bytes, part, place)) {
			return false;
		}
		bytes += part;
		len -= part;
		at += part;
	}
	return true;
}

static void keep_output(struct supervisor *s, const char *bytes, size_t len)
{
	uint64_t head = bf_exec_head_bytes(s->limit);
	uint64_t at = s->end.total;
	size_t first = at < head ? (size_t)BF_MIN((uint64_t)len, head - at) : 0;

	s->end.total += len;
	if (!write_at(s->head_fd, bytes, first, at)) {
		s->end.is_lost = true;
	}
	if (len > first && !write_tail(s, bytes + first, len - first, at + first - head)) {
		s->end.is_lost = true;
	}
}

/* False: there is nothing more just now, or at all. */
static bool read_output(struct supervisor *s)
{
	char bytes[PIECE_BYTES];
	ssize_t got = s->output_fd >= 0 ? read(s->output_fd, bytes, sizeof(bytes)) : -1;

	if (got > 0) {
		keep_output(s, bytes, (size_t)got);
		return true;
	}
	if (s->output_fd >= 0 && (got == 0 || (errno != EAGAIN && errno != EINTR))) {
		(void)close(s->output_fd); /* nothing was written */
		s->output_fd = -1;
	}
	return false;
}

/* --- processes --- */

/* Appends the children of `pid` (those of its first thread; the others come to us when it ends). */
static size_t add_children(pid_t pid, pid_t *list, size_t count)
{
	char path[64];
	char text[PIECE_BYTES];

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text)) : 0;
	if (fd >= 0) {
		(void)close(fd); /* nothing was written */
	}
	struct belfry_str rest = {text, got > 0 ? (size_t)got : 0};
	while (rest.len > 0 && count < DESCENDANTS) {
		const char *space = memchr(rest.ptr, ' ', rest.len);
		size_t len = space != NULL ? (size_t)(space - rest.ptr) : rest.len;
		int64_t child;
		if (bf_str_parse_int(bf_str_slice(rest, 0, len), 2, INT32_MAX, &child) ==
				BELFRY_OK) {
			list[count++] = (pid_t)child;
		}
		rest = bf_str_slice(rest, len + 1, rest.len);
	}
	return count;
}

/* To the command's group, and to every descendant wherever it went. */
static void signal_all(const struct supervisor *s, int signal)
{
	pid_t list[DESCENDANTS];
	size_t count = add_children(getpid(), list, 0);

	if (!s->is_over) {
		(void)kill(-s->pid, signal); /* it may be gone: then the list is what there is */
	}
	for (size_t i = 0; i < count; i++) {
		count = add_children(list[i], list, count);
		(void)kill(list[i], signal); /* the same */
	}
}

static void begin_end(struct supervisor *s, enum bf_exec_by by)
{
	if (s->kill_at.us != INT64_MAX) {
		return; /* it is under way */
	}
	if (!s->is_over) {
		s->end.by = by;
	}
	s->kill_at = bf_boot_add(now(s), BF_EXEC_GRACE);
	signal_all(s, SIGTERM);
	signal_all(s, SIGCONT); /* a stopped process cannot end */
}

static void reap(struct supervisor *s)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		if (pid != s->pid) {
			continue;
		}
		s->is_over = true;
		s->end.how = WIFSIGNALED(status) ? BF_EXEC_SIGNALLED : BF_EXEC_EXITED;
		s->end.code = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
	}
	s->has_children = pid == 0;
	if (s->is_over && s->has_children) {
		begin_end(s, BF_EXEC_BY_ITSELF); /* what it left running */
	}
}

static void read_signals(struct supervisor *s)
{
	struct signalfd_siginfo info;

	while (read(s->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGCHLD) {
			begin_end(s, BF_EXEC_BY_STOP);
		}
	}
}

static void check_times(struct supervisor *s)
{
	struct bf_boot_time at = now(s);

	if (!s->is_over && at.us >= s->timeout_at.us) {
		s->timeout_at.us = INT64_MAX;
		begin_end(s, BF_EXEC_BY_TIMEOUT);
	}
	if (at.us >= s->kill_at.us) {
		signal_all(s, SIGKILL);
		s->kill_at = bf_boot_add(at, KILL_EVERY);
	}
}

static int wait_milliseconds(const struct supervisor *s)
{
	int64_t next = BF_MIN(s->kill_at.us, s->is_over ? INT64_MAX : s->timeout_at.us);

	if (next == INT64_MAX) {
		return -1;
	}
	belfry_duration wait = BF_MAX(next - now(s).us, 0) / BELFRY_MILLISECOND + 1;
	return (int)BF_MIN(wait, (belfry_duration)60000);
}

static void watch(struct supervisor *s)
{
	while (!s->is_over || s->has_children) {
		struct pollfd fds[] = {{.fd = s->signal_fd, .events = POLLIN},
				{.fd = s->output_fd, .events = POLLIN}};

		(void)poll(fds, BF_COUNT(fds), wait_milliseconds(s)); /* all are looked at anyway */
		(void)read_output(s);
		read_signals(s);
		reap(s);
		check_times(s);
	}
	while (read_output(s)) {
		/* What the last of them had written. Somebody else who got hold of the pipe is not
		 * waited for. */
	}
}

/* --- the start --- */

static int open_in(const struct supervisor *s, const char *name, int flags)
{
	return openat(s->folder_fd, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* 0, or the errno. */
static int spawn(struct supervisor *s, int prompt_fd, int pipe_fd)
{
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
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	(void)posix_spawnattr_setflags(&attributes,
			(short)(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					POSIX_SPAWN_SETPGROUP));
	int code = posix_spawn_file_actions_adddup2(&actions, prompt_fd, STDIN_FILENO);
	code = code != 0 ? code
			 : posix_spawn_file_actions_adddup2(&actions, pipe_fd, STDOUT_FILENO);
	code = code != 0 ? code
			 : posix_spawn_file_actions_adddup2(&actions, pipe_fd, STDERR_FILENO);
	code = code != 0 ? code : posix_spawn_file_actions_addclosefrom_np(&actions, 3);
	if (code == 0) {
		code = posix_spawn_file_actions_addchdir_np(&actions, s->cwd);
	}
	code = code != 0 ? code
			 : posix_spawn(&s->pid, s->command[0], &actions, &attributes, s->command,
					   environ);
	(void)posix_spawn_file_actions_destroy(&actions); /* cannot fail */
	(void)posix_spawnattr_destroy(&attributes);       /* the same */
	return code;
}

/* The host has as many descriptors as the system gives; programs that close them one by one, or that select,
 * expect the usual number. */
static void usual_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > USUAL_FILES) {
		limit.rlim_cur = USUAL_FILES;
		(void)setrlimit(RLIMIT_NOFILE, &limit); /* lower than it was: cannot fail */
	}
}

static bool is_folder(const char *path)
{
	struct stat info;

	return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && access(path, X_OK) == 0;
}

static void start(struct supervisor *s)
{
	int pipe_fds[2] = {-1, -1};
	int prompt_fd = open_in(s, "prompt", O_RDONLY);
	int code = prompt_fd < 0 || pipe2(pipe_fds, O_CLOEXEC) != 0 ? errno : 0;

	s->output_fd = pipe_fds[0];
	if (code == 0 && !is_folder(s->cwd)) {
		code = errno != 0 ? errno : ENOTDIR;
		s->end.is_cwd_failed = true;
	}
	if (code == 0) {
		(void)fcntl(s->output_fd, F_SETFL, O_NONBLOCK); /* ours, and open: cannot fail */
		code = spawn(s, prompt_fd, pipe_fds[1]);
	}
	if (pipe_fds[1] >= 0) {
		(void)close(pipe_fds[1]); /* nothing was written */
	}
	if (prompt_fd >= 0) {
		(void)close(prompt_fd); /* the same */
	}
	if (code != 0) {
		s->end.how = BF_EXEC_UNSTARTED;
		s->end.code = code;
		return;
	}
	s->has_children = true;
	s->timeout_at.us = INT64_MAX;
	if (s->timeout > 0) {
		s->timeout_at = bf_boot_add(now(s), s->timeout);
	}
}

static bool pass_gate(void)
{
	char byte;
	ssize_t got;

	do {
		got = read(BF_EXEC_GATE_FD, &byte, 1);
	} while (got < 0 && errno == EINTR);
	(void)close(BF_EXEC_GATE_FD); /* nothing was written */
	return got == 1;
}

static int make_signal_fd(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGCHLD);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
}

static int write_end(const struct supervisor *s)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	int fd = open_in(s, "end.new", O_WRONLY | O_CREAT | O_TRUNC);

	bf_exec_end_format(&s->end, &text);
	bool is_written = fd >= 0 && bf_buf_status(&text) == BELFRY_OK &&
			write_at(fd, text.ptr, text.len, 0);
	if (fd >= 0 && close(fd) != 0) {
		is_written = false;
	}
	if (!is_written || renameat(s->folder_fd, "end.new", s->folder_fd, "end") != 0) {
		(void)fprintf(stderr, "belfry: the end of a command could not be written: %d\n",
				errno);
		return 1;
	}
	return 0;
}

static bool read_arguments(struct supervisor *s, int argc, char **argv)
{
	int64_t limit = 0;
	struct stat gate;

	if (argc <= ARGUMENTS || fstat(BF_EXEC_GATE_FD, &gate) != 0 || !S_ISFIFO(gate.st_mode) ||
			bf_str_parse_int(bf_str(argv[4]), 1, INT64_MAX, &limit) != BELFRY_OK ||
			bf_str_parse_int(bf_str(argv[5]), 0, INT64_MAX, &s->timeout) != BELFRY_OK) {
		return false;
	}
	s->folder_fd = open(argv[2], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	s->cwd = argv[3];
	s->limit = (uint64_t)limit;
	s->command = argv + ARGUMENTS;
	return s->folder_fd >= 0;
}

int bf_exec_supervise(int argc, char **argv)
{
	struct supervisor s = {.env = bf_env_system(),
			.output_fd = -1,
			.kill_at = {INT64_MAX},
			.timeout_at = {INT64_MAX}};

	if (!read_arguments(&s, argc, argv)) {
		(void)fprintf(stderr, "belfry: %s is for the host's own use\n", BF_EXEC_SUPERVISOR);
		return LEFT_USAGE;
	}
	(void)prctl(PR_SET_NAME, "belfry-exec"); /* for people who look */
	s.signal_fd = make_signal_fd();
	/* Without it what leaves the group is not ended; that is a bonus. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (s.signal_fd < 0 || !pass_gate()) {
		return 0;
	}
	int going_fd = open_in(&s, "going", O_WRONLY | O_CREAT);
	s.head_fd = open_in(&s, "head", O_WRONLY | O_CREAT | O_TRUNC);
	s.tail_fd = open_in(&s, "tail", O_WRONLY | O_CREAT | O_TRUNC);
	if (going_fd < 0 || s.head_fd < 0 || s.tail_fd < 0) {
		s.end = (struct bf_exec_end){.how = BF_EXEC_UNSTARTED, .code = errno};
		return write_end(&s);
	}
	(void)close(going_fd); /* nothing was written */
	usual_limits();
	start(&s);
	if (s.end.how != BF_EXEC_UNSTARTED) {
		watch(&s);
	}
	return write_end(&s);
}
