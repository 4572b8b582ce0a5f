/* Where `belfry serve` listens: the text of --listen, as numbers. */
#ifndef BF_BELFRY_LISTEN_H
#define BF_BELFRY_LISTEN_H

#include <belfry/status.h>

#include "base/compiler.h"

#define BF_LISTEN_DEFAULT "127.0.0.1:8377"

struct bf_listen {
	char address[64]; /* numbers alone, "::1" */
	uint16_t port;    /* 0: a free one */
};

/* "127.0.0.1:80", "[::1]:80", "localhost:80", "NAME:80". Beyond loopback only where is_plain_http says
 * that a proxy in front does TLS: else BELFRY_CONFIGURATION, and the message has both remedies. A name
 * is looked up then, and must have one address. BELFRY_USAGE: it is none of these. */
BF_MUST_CHECK enum belfry_status bf_listen_read(const char *text, bool is_plain_http,
		struct bf_listen *ret_listen, struct belfry_error *err);
/* By its numbers: a name that begins like an address may lead anywhere. */
bool bf_listen_is_loopback(const struct bf_listen *listen);

#endif
