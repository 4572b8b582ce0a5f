/* One datagram to systemd. */
#include "belfry/notify.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/str.h"

#ifndef SOCK_CLOEXEC
#define SOCK_CLOEXEC 02000000
#endif

void bf_notify(const char *path, const char *state)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = path != NULL ? strlen(path) : 0;

	if (len == 0 || len >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@')) {
		return;
	}
	memcpy(address.sun_path, path, len);
	if (path[0] == '@') {
		address.sun_path[0] = '\0'; /* an abstract name */
	}
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		return;
	}
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
			(socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	(void)close(fd);
}

belfry_duration bf_notify_interval(const char *watchdog_usec)
{
	int64_t usec;

	if (bf_str_parse_int(bf_str(watchdog_usec), 1, INT64_MAX / 2, &usec) != BELFRY_OK) {
		return 0;
	}
	return usec / 2;
}
