/* Starting, killing and cleaning up after the demo's host process. The child gets its own process group,
 * so that Ctrl-C on the terminal reaches the demo alone, which then ends the child itself. */
#include "belfry/demo_host.h"

#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

#define LOOK_MS    20
#define DEPTH_MAX  8
#define LOG_NAME   "host.log"
#define LAST_WORDS 512

extern char **environ;

/* A port that is free now. Somebody else may take it before the host does; then the host says so. */
static uint16_t free_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	uint16_t port = 0;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0 &&
			getsockname(fd, (struct sockaddr *)&address, &len) == 0) {
		port = ntohs(address.sin_port);
	}
	if (fd >= 0) {
		(void)close(fd);
	}
	return port;
}

enum belfry_status bf_demo_host_init(struct bf_demo_host *host, struct belfry_error *err)
{
	const char *parent = getenv("TMPDIR");
	uint16_t port = free_port();

	parent = parent != NULL && parent[0] != '\0' ? parent : "/tmp";
	*host = (struct bf_demo_host){0};
	int len = snprintf(host->folder, sizeof(host->folder), "%s/belfry-demo-XXXXXX", parent);
	if (len < 0 || len >= BF_DEMO_PATH_BYTES - 32 || mkdtemp(host->folder) == NULL) {
		host->folder[0] = '\0';
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"cannot make a temporary folder in %.100s: set TMPDIR to one that is writable",
				parent);
	}
	if (port == 0) {
		return bf_error_set(err, BELFRY_UNAVAILABLE, "there is no free port on 127.0.0.1");
	}
	(void)snprintf(host->listen, sizeof(host->listen), "127.0.0.1:%u", port);
	(void)snprintf(host->url, sizeof(host->url), "http://%s", host->listen);
	return BELFRY_OK;
}

/* The child starts with no signal blocked or ignored, whatever the demo does. */
static int prepare(posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes,
		const char *log_path)
{
	sigset_t none;
	sigset_t all;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	int failed = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY,
			0);
	failed |= posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, log_path,
			O_WRONLY | O_CREAT | O_APPEND, 0600);
	failed |= posix_spawn_file_actions_adddup2(actions, STDOUT_FILENO, STDERR_FILENO);
	failed |= posix_spawnattr_setsigmask(attributes, &none);
	failed |= posix_spawnattr_setsigdefault(attributes, &all);
	failed |= posix_spawnattr_setpgroup(attributes, 0);
	failed |= posix_spawnattr_setflags(attributes,
			POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	return failed;
}

enum belfry_status bf_demo_host_start(struct bf_demo_host *host, struct belfry_error *err)
{
	char data[BF_DEMO_PATH_BYTES + 16];
	char log_path[BF_DEMO_PATH_BYTES + 16];
	const char *const argv[] = {"belfry", "serve", "--data", data, "--listen", host->listen,
			"--allow-private-targets", NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;

	(void)snprintf(data, sizeof(data), "%s/data", host->folder);
	(void)snprintf(log_path, sizeof(log_path), "%s/" LOG_NAME, host->folder);
	if (posix_spawn_file_actions_init(&actions) != 0) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (posix_spawnattr_init(&attributes) != 0) {
		(void)posix_spawn_file_actions_destroy(&actions);
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	int failed = prepare(&actions, &attributes, log_path);
	if (failed == 0) {
		failed = posix_spawn(&host->pid, "/proc/self/exe", &actions, &attributes,
				(char *const *)(uintptr_t)argv, environ);
	}
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	if (failed != 0) {
		host->pid = 0;
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"the host could not be started: is /proc mounted?");
	}
	return BELFRY_OK;
}

bool bf_demo_host_has_died(struct bf_demo_host *host)
{
	if (host->pid != 0 && waitpid(host->pid, NULL, WNOHANG) == host->pid) {
		host->pid = 0;
	}
	return host->pid == 0;
}

void bf_demo_host_kill(struct bf_demo_host *host)
{
	if (host->pid == 0) {
		return;
	}
	(void)kill(host->pid, SIGKILL);
	(void)waitpid(host->pid, NULL, 0);
	host->pid = 0;
}

void bf_demo_host_stop(struct bf_demo_host *host, int seconds)
{
	if (host->pid != 0) {
		(void)kill(host->pid, SIGTERM);
	}
	for (int waited = 0; waited < seconds * 1000 && !bf_demo_host_has_died(host);
			waited += LOOK_MS) {
		(void)poll(NULL, 0, LOOK_MS);
	}
	bf_demo_host_kill(host);
}

void bf_demo_host_last_words(const struct bf_demo_host *host, char *buffer, size_t size)
{
	char path[BF_DEMO_PATH_BYTES + 16];
	char tail[LAST_WORDS];
	size_t len = 0;
	size_t from;

	buffer[0] = '\0';
	(void)snprintf(path, sizeof(path), "%s/" LOG_NAME, host->folder);
	FILE *file = fopen(path, "re");
	if (file == NULL) {
		return;
	}
	if (fseek(file, -(long)sizeof(tail), SEEK_END) != 0) {
		rewind(file);
	}
	len = fread(tail, 1, sizeof(tail), file);
	(void)fclose(file);
	while (len > 0 && tail[len - 1] == '\n') {
		len--;
	}
	for (from = len; from > 0 && tail[from - 1] != '\n'; from--) {
	}
	(void)snprintf(buffer, size, "%.*s", (int)(len - from), tail + from);
}

/* Recursion is bounded: the folder is ours, and only as deep as a data folder is. */
static void remove_below(int parent, const char *name, int depth)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (list == NULL) {
		if (fd >= 0) {
			(void)close(fd);
		}
		return;
	}
	for (struct dirent *entry; (entry = readdir(list)) != NULL;) {
		const char *child = entry->d_name;

		if (strcmp(child, ".") == 0 || strcmp(child, "..") == 0) {
			continue;
		}
		if (unlinkat(dirfd(list), child, 0) != 0 && depth < DEPTH_MAX) {
			remove_below(dirfd(list), child, depth + 1);
			(void)unlinkat(dirfd(list), child, AT_REMOVEDIR);
		}
	}
	(void)closedir(list);
}

void bf_demo_host_fini(struct bf_demo_host *host)
{
	bf_demo_host_kill(host);
	if (host->folder[0] != '\0') {
		remove_below(AT_FDCWD, host->folder, 0);
		(void)rmdir(host->folder);
		host->folder[0] = '\0';
	}
}
