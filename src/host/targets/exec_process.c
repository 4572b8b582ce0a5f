/* Processes named by pid and start time, so that a pid that was given out again is never taken for the one
 * that is meant. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* syscall, readlink, memmem */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sys/pidfd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/targets/exec_priv.h"

#define SESSION_FIELD    6
#define START_TIME_FIELD 22

/* More of a process's environment is not read. */
#define ENVIRONMENT_BYTES ((size_t)4 << 20)

/* A small file of /proc; empty where it cannot be read. */
static struct belfry_str read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, out, size) : 0;

	if (fd >= 0) {
		(void)close(fd); /* nothing was written */
	}
	return (struct belfry_str){out, got > 0 ? (size_t)got : 0};
}

void bf_exec_boot_read(char boot[BF_EXEC_BOOT_BYTES])
{
	char id[64];
	char space[32];
	struct belfry_str text = read_small("/proc/sys/kernel/random/boot_id", id, sizeof(id));
	ssize_t len = readlink("/proc/self/ns/pid", space, sizeof(space));

	while (text.len > 0 && text.ptr[text.len - 1] == '\n') {
		text.len--;
	}
	(void)snprintf(boot, BF_EXEC_BOOT_BYTES, "%.*s %.*s", BF_STR_ARGS(text),
			len > 0 ? (int)len : 0, space);
}

/* The name of the program, field 2, is in parentheses and may hold anything. */
enum belfry_status bf_exec_stat_parse(struct belfry_str text, uint64_t *ret_start_time,
		int64_t *ret_session)
{
	int64_t session = -1;
	int64_t start_time = -1;
	size_t at = text.len;

	while (at > 0 && text.ptr[at - 1] != ')') {
		at--;
	}
	struct belfry_str rest = bf_str_slice(text, at + 1, text.len);
	for (unsigned field = 3; at > 0 && rest.len > 0 && field <= START_TIME_FIELD; field++) {
		const char *space = memchr(rest.ptr, ' ', rest.len);
		size_t len = space != NULL ? (size_t)(space - rest.ptr) : rest.len;
		int64_t *value = field == SESSION_FIELD     ? &session
				: field == START_TIME_FIELD ? &start_time
							    : NULL;
		if (value != NULL &&
				bf_str_parse_int(bf_str_slice(rest, 0, len), 0, INT64_MAX, value) !=
						BELFRY_OK) {
			return BELFRY_CORRUPT;
		}
		rest = bf_str_slice(rest, len + 1, rest.len);
	}
	if (session < 0 || start_time < 0) {
		return BELFRY_CORRUPT;
	}
	*ret_session = session;
	*ret_start_time = (uint64_t)start_time;
	return BELFRY_OK;
}

static enum belfry_status read_stat(pid_t pid, uint64_t *ret_start_time, int64_t *ret_session)
{
	char path[64];
	char text[1024];

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	struct belfry_str stat = read_small(path, text, sizeof(text));
	return stat.len > 0 ? bf_exec_stat_parse(stat, ret_start_time, ret_session)
			    : BELFRY_NOT_FOUND;
}

enum belfry_status bf_exec_start_time(pid_t pid, uint64_t *ret_start_time)
{
	int64_t session;

	return read_stat(pid, ret_start_time, &session);
}

int bf_exec_process_open(const struct bf_exec_identity *identity)
{
	uint64_t start_time = 0;
	int fd = pidfd_open(identity->pid, 0);

	if (fd < 0) {
		return -1;
	}
	/* Opened first: if it is the one now, it is the one that the descriptor has. */
	if (bf_exec_start_time(identity->pid, &start_time) != BELFRY_OK ||
			start_time != identity->start_time) {
		(void)close(fd); /* nothing was written */
		return -1;
	}
	return fd;
}

void bf_exec_process_signal(int pidfd, int signal)
{
	(void)pidfd_send_signal(pidfd, signal, NULL, 0); /* it may have ended */
}

/* Was it started for this Run? Its first environment says so; what cannot be read was not. */
static bool is_of_run(pid_t pid, struct belfry_str run)
{
	BF_CLEANUP(bf_free_pointer) char *text = bf_alloc(ENVIRONMENT_BYTES);
	char path[64];
	char wanted[sizeof("BELFRY_RUN=") + BELFRY_ID_TEXT_BYTES];
	int len = snprintf(wanted, sizeof(wanted), "BELFRY_RUN=%.*s", BF_STR_ARGS(run));
	size_t size = 0;
	ssize_t got = 1;

	(void)snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	int fd = text != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	while (fd >= 0 && got > 0 && size < ENVIRONMENT_BYTES) {
		got = read(fd, text + size, ENVIRONMENT_BYTES - size);
		size += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0) {
		(void)close(fd); /* nothing was written */
	}
	/* With its NUL, so that it is the whole value. */
	return size > 0 && memmem(text, size, wanted, (size_t)len + 1) != NULL;
}

/* The number of a session whose members have all ended may have been given out again, to somebody else's: so
 * only who was started for the Run is ended. */
void bf_exec_session_kill(pid_t session, struct belfry_str run)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder != NULL && (entry = readdir(folder)) != NULL) {
		int64_t pid;
		int64_t own = 0;
		uint64_t start_time;
		if (bf_str_parse_int(bf_str(entry->d_name), 2, INT32_MAX, &pid) == BELFRY_OK &&
				read_stat((pid_t)pid, &start_time, &own) == BELFRY_OK &&
				own == session && is_of_run((pid_t)pid, run)) {
			(void)kill((pid_t)pid, SIGKILL); /* it may have ended */
		}
	}
	if (folder != NULL) {
		(void)closedir(folder); /* was only read */
	}
}
