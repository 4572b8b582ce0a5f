/* The listening socket, and addresses as text. Numbers alone: a name would have to be looked up, and
 * may mean another interface tomorrow. */
#include "http/server_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

#define BACKLOG 511

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* Cuts "[::1]" to "::1" into a buffer for inet_pton. */
static bool copy_bare(const char *text, char *ret_bare, size_t size)
{
	struct belfry_str bare = bf_str(text);

	if (bare.len >= 2 && bare.ptr[0] == '[' && bare.ptr[bare.len - 1] == ']') {
		bare = bf_str_slice(bare, 1, bare.len - 1);
	}
	if (bare.len >= size) {
		return false;
	}
	memcpy(ret_bare, bare.ptr, bare.len);
	ret_bare[bare.len] = '\0';
	return true;
}

static enum belfry_status parse_address(const char *text, uint16_t port, union address *ret_address,
		socklen_t *ret_len, struct belfry_error *err)
{
	char bare[INET6_ADDRSTRLEN];

	*ret_address = (union address){.v6 = {.sin6_family = AF_INET6}};
	if (copy_bare(text, bare, sizeof(bare))) {
		if (inet_pton(AF_INET, bare, &ret_address->v4.sin_addr) == 1) {
			ret_address->v4.sin_family = AF_INET;
			ret_address->v4.sin_port = htons(port);
			*ret_len = sizeof(ret_address->v4);
			return BELFRY_OK;
		}
		if (inet_pton(AF_INET6, bare, &ret_address->v6.sin6_addr) == 1) {
			ret_address->v6.sin6_port = htons(port);
			*ret_len = sizeof(ret_address->v6);
			return BELFRY_OK;
		}
	}
	return bf_error_set(err, BELFRY_CONFIGURATION,
			"listen address \"%.64s\": write an IP address, such as 127.0.0.1 or [::1]",
			text);
}

static enum belfry_status refuse(const char *address, uint16_t port, int code,
		struct belfry_error *err)
{
	if (code == EADDRINUSE) {
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"%s port %u is in use already: stop what listens there, or choose another",
				address, (unsigned)port);
	}
	if (code == EADDRNOTAVAIL || code == EACCES) {
		return bf_error_set(err, BELFRY_UNAVAILABLE,
				"%s port %u cannot be listened on: it is not an address of this machine, or "
				"the port is reserved",
				address, (unsigned)port);
	}
	return bf_error_system(err, BELFRY_UNAVAILABLE, code, "listening on %s port %u", address,
			(unsigned)port);
}

static int bind_and_listen(int fd, union address *address, socklen_t len)
{
	int on = 1;

	/* Without it a restart waits for the old connections' last minute. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
			bind(fd, &address->any, len) != 0 || listen(fd, BACKLOG) != 0 ||
			getsockname(fd, &address->any, &len) != 0) {
		return errno;
	}
	return 0;
}

enum belfry_status bf_http_socket_listen(const char *address, uint16_t port, int *ret_fd,
		uint16_t *ret_port, struct belfry_error *err)
{
	union address parsed;
	socklen_t len = 0;
	enum belfry_status status = parse_address(address, port, &parsed, &len, err);

	if (status != BELFRY_OK) {
		return status;
	}
	int fd = socket(parsed.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0) {
		return refuse(address, port, errno, err);
	}
	int code = bind_and_listen(fd, &parsed, len);
	if (code != 0) {
		(void)close(fd); /* never used */
		return refuse(address, port, code, err);
	}
	*ret_fd = fd;
	*ret_port = ntohs(
			parsed.any.sa_family == AF_INET ? parsed.v4.sin_port : parsed.v6.sin6_port);
	return BELFRY_OK;
}

void bf_http_socket_peer(const void *sockaddr, char *ret_text)
{
	const union address *address = sockaddr;
	const void *bytes = NULL;

	ret_text[0] = '\0';
	if (address == NULL) {
		return;
	}
	if (address->any.sa_family == AF_INET) {
		bytes = &address->v4.sin_addr;
	} else if (address->any.sa_family == AF_INET6) {
		bytes = &address->v6.sin6_addr;
	}
	if (bytes == NULL ||
			inet_ntop(address->any.sa_family, bytes, ret_text, BF_HTTP_PEER_BYTES) ==
					NULL) {
		ret_text[0] = '\0';
	}
}
