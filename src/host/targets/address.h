/* Which addresses a target may have: the pure half of the guard against calls into the host's own
 * network.
 *
 * An address that carries another one inside (IPv4-mapped, NAT64, 6to4, Teredo) is judged by the inner
 * one. Pure, any thread. Sources: IANA special-purpose registries; RFC 6890, 4291, 6052, 3056, 4380. */
#ifndef BF_HOST_TARGETS_ADDRESS_H
#define BF_HOST_TARGETS_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include <belfry/status.h>

#include "base/compiler.h"

enum bf_address_class {
	BF_ADDRESS_PUBLIC,
	BF_ADDRESS_PRIVATE, /* loopback, RFC 1918, ULA, 100.64/10: allowed by a setting */
	BF_ADDRESS_NEVER    /* link-local, metadata, multicast, unspecified, broadcast, reserved */
};

/* An address without its port. IPv4 has four bytes. */
struct bf_address {
	bool is_v4;
	unsigned char bytes[16];
};

#define BF_ADDRESS_TEXT_BYTES 64

/* BELFRY_INVALID where it is neither AF_INET nor AF_INET6, or too short. ret_port may be NULL. */
BF_MUST_CHECK enum belfry_status bf_address_from_sockaddr(const struct sockaddr *address,
		socklen_t len, struct bf_address *ret_address, uint16_t *ret_port);
/* Dotted quad (no octal, no short forms) or IPv6, with or without brackets. BELFRY_INVALID otherwise. */
BF_MUST_CHECK enum belfry_status bf_address_parse(struct belfry_str text,
		struct bf_address *ret_address);
/* Buffer: BF_ADDRESS_TEXT_BYTES. IPv6 without brackets. */
void bf_address_format(const struct bf_address *address, char *buffer);

enum bf_address_class bf_address_classify(const struct bf_address *address);
/* The address inside, where there is one; else the address itself. */
struct bf_address bf_address_inner(const struct bf_address *address);
/* Do the first `bits` bits of both agree, and are they of one family? */
bool bf_address_is_within(const struct bf_address *address, const struct bf_address *network,
		unsigned bits);

#endif
