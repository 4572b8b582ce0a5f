/* A wait with an end, for one thread, on an eventfd: raised any number of times it counts as one. */
#include "http/server_priv.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "base/error.h"

enum belfry_status bf_http_event_open(int *ret_fd, struct belfry_error *err)
{
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0) {
		return bf_error_system(err, BELFRY_INTERNAL, errno,
				"no event descriptor for the HTTP server");
	}
	*ret_fd = fd;
	return BELFRY_OK;
}

void bf_http_event_raise(int fd)
{
	(void)eventfd_write(fd, 1); /* fails only where it is raised to the brim already */
}

void bf_http_event_wait(int fd, belfry_duration time)
{
	struct pollfd waited = {.fd = fd, .events = POLLIN};
	belfry_duration ms = BF_MIN((time + BELFRY_MILLISECOND - 1) / BELFRY_MILLISECOND, 60000);
	eventfd_t count;

	if (poll(&waited, 1, (int)ms) > 0) {
		(void)eventfd_read(fd, &count); /* somebody else's reading is as good */
	}
}
