/* Two tables of networks, and the address inside an address.
 *
 * Invariants  a table is read from the top and the first row that holds the address decides, so that an
 *             exception stands above its network. What no row holds is public in IPv4, and refused in
 *             IPv6 unless it is global unicast (2000::/3).
 * Not here    what the operator allows (allow.c). */
#include "host/targets/address.h"

#include <string.h>

#include <arpa/inet.h>

#include "base/str.h"

struct row {
	unsigned char bytes[16];
	unsigned bits;
	enum bf_address_class class;
};

static const struct row v4_rows[] = {
		{{100, 100, 100, 200}, 32, BF_ADDRESS_NEVER}, /* a cloud's metadata */
		{{168, 63, 129, 16}, 32, BF_ADDRESS_NEVER},   /* another's */
		{{0}, 8, BF_ADDRESS_NEVER},
		{{10}, 8, BF_ADDRESS_PRIVATE},
		{{100, 64}, 10, BF_ADDRESS_PRIVATE},
		{{127}, 8, BF_ADDRESS_PRIVATE},
		{{169, 254}, 16, BF_ADDRESS_NEVER},
		{{172, 16}, 12, BF_ADDRESS_PRIVATE},
		{{192, 0, 0}, 24, BF_ADDRESS_NEVER},
		{{192, 0, 2}, 24, BF_ADDRESS_NEVER},
		{{192, 88, 99}, 24, BF_ADDRESS_NEVER},
		{{192, 168}, 16, BF_ADDRESS_PRIVATE},
		{{198, 18}, 15, BF_ADDRESS_NEVER},
		{{198, 51, 100}, 24, BF_ADDRESS_NEVER},
		{{203, 0, 113}, 24, BF_ADDRESS_NEVER},
		{{224}, 4, BF_ADDRESS_NEVER},
		{{240}, 4, BF_ADDRESS_NEVER},
};

static const struct row v6_rows[] = {
		{{[15] = 1}, 128, BF_ADDRESS_PRIVATE}, /* ::1 */
		{{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, BF_ADDRESS_NEVER},
		{{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, [15] = 0x54}, 128, BF_ADDRESS_NEVER},
		{{0xfc}, 7, BF_ADDRESS_PRIVATE},
		{{0x20, 0x01, 0x0d, 0xb8}, 32, BF_ADDRESS_NEVER}, /* documentation */
		{{0x20, 0x01}, 23, BF_ADDRESS_NEVER}, /* IETF protocols, ORCHID, benchmarks */
		{{0x3f, 0xff}, 20, BF_ADDRESS_NEVER}, /* documentation */
		{{0x20}, 3, BF_ADDRESS_PUBLIC},
		{{0}, 0, BF_ADDRESS_NEVER},
};

/* Networks whose addresses carry an IPv4 address, and where. */
struct carrier {
	unsigned char bytes[12];
	unsigned bits;
	unsigned offset;
	unsigned char mask; /* Teredo writes the client's address inverted */
};

static const struct carrier carriers[] = {
		{{[10] = 0xff, [11] = 0xff}, 96, 12, 0},  /* ::ffff:0:0/96, mapped */
		{{[8] = 0xff, [9] = 0xff}, 96, 12, 0},    /* ::ffff:0:0:0/96, translated */
		{{0x00, 0x64, 0xff, 0x9b}, 96, 12, 0},    /* 64:ff9b::/96, NAT64 */
		{{0x20, 0x02}, 16, 2, 0},                 /* 2002::/16, 6to4 */
		{{0x20, 0x01, 0x00, 0x00}, 32, 12, 0xff}, /* 2001::/32, Teredo */
};

static bool has_prefix(const unsigned char *bytes, const unsigned char *prefix, unsigned bits)
{
	unsigned whole = bits / 8;
	unsigned rest = bits % 8;

	if (memcmp(bytes, prefix, whole) != 0) {
		return false;
	}
	return rest == 0 || (bytes[whole] ^ prefix[whole]) >> (8 - rest) == 0;
}

enum belfry_status bf_address_from_sockaddr(const struct sockaddr *address, socklen_t len,
		struct bf_address *ret_address, uint16_t *ret_port)
{
	struct bf_address result = {0};
	uint16_t port;

	if (address->sa_family == AF_INET && len >= (socklen_t)sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;
		memcpy(&in, address, sizeof(in));
		result.is_v4 = true;
		memcpy(result.bytes, &in.sin_addr, 4);
		port = ntohs(in.sin_port);
	} else if (address->sa_family == AF_INET6 &&
			len >= (socklen_t)sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in6;
		memcpy(&in6, address, sizeof(in6));
		memcpy(result.bytes, &in6.sin6_addr, 16);
		port = ntohs(in6.sin6_port);
	} else {
		return BELFRY_INVALID;
	}
	*ret_address = result;
	if (ret_port != NULL) {
		*ret_port = port;
	}
	return BELFRY_OK;
}

enum belfry_status bf_address_parse(struct belfry_str text, struct bf_address *ret_address)
{
	char buffer[INET6_ADDRSTRLEN];
	struct bf_address result = {0};

	if (text.len >= 2 && text.ptr[0] == '[' && text.ptr[text.len - 1] == ']') {
		text = bf_str_slice(text, 1, text.len - 1);
	}
	if (text.len == 0 || text.len >= sizeof(buffer)) {
		return BELFRY_INVALID;
	}
	memcpy(buffer, text.ptr, text.len);
	buffer[text.len] = '\0';
	result.is_v4 = inet_pton(AF_INET, buffer, result.bytes) == 1;
	if (!result.is_v4 && inet_pton(AF_INET6, buffer, result.bytes) != 1) {
		return BELFRY_INVALID;
	}
	*ret_address = result;
	return BELFRY_OK;
}

void bf_address_format(const struct bf_address *address, char *buffer)
{
	buffer[0] = '\0';
	/* Cannot fail: the buffer is large enough for both families. */
	(void)inet_ntop(address->is_v4 ? AF_INET : AF_INET6, address->bytes, buffer,
			BF_ADDRESS_TEXT_BYTES);
}

struct bf_address bf_address_inner(const struct bf_address *address)
{
	for (size_t i = 0; !address->is_v4 && i < BF_COUNT(carriers); i++) {
		const struct carrier *carrier = &carriers[i];
		if (has_prefix(address->bytes, carrier->bytes, carrier->bits)) {
			struct bf_address inner = {.is_v4 = true};
			for (unsigned k = 0; k < 4; k++) {
				inner.bytes[k] = address->bytes[carrier->offset + k] ^
						carrier->mask;
			}
			return inner;
		}
	}
	return *address;
}

bool bf_address_is_within(const struct bf_address *address, const struct bf_address *network,
		unsigned bits)
{
	return address->is_v4 == network->is_v4 && has_prefix(address->bytes, network->bytes, bits);
}

enum bf_address_class bf_address_classify(const struct bf_address *address)
{
	struct bf_address inner = bf_address_inner(address);
	const struct row *rows = inner.is_v4 ? v4_rows : v6_rows;
	size_t count = inner.is_v4 ? BF_COUNT(v4_rows) : BF_COUNT(v6_rows);

	for (size_t i = 0; i < count; i++) {
		if (has_prefix(inner.bytes, rows[i].bytes, rows[i].bits)) {
			return rows[i].class;
		}
	}
	return BF_ADDRESS_PUBLIC;
}
