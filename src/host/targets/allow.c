/* The list of what the operator allows besides public addresses.
 *
 * Invariants  a rule has either a network or a host name. bf_address_classify is asked first, and what
 *             it never allows no rule can allow.
 * Not here    names are not looked up: a rule with a name matches the name of the URL. */
#include "host/targets/allow.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

#define HOST_BYTES 253

struct rule {
	struct rule *next;
	struct bf_address network;
	unsigned bits;
	uint16_t port;   /* 0: every port */
	size_t host_len; /* 0: a network */
	char host[HOST_BYTES + 1];
};

struct bf_allow_list {
	bool is_private_allowed;
	struct rule *rules;
};

enum belfry_status bf_allow_list_new(struct bf_allow_list **ret_list)
{
	struct bf_allow_list *list = bf_alloc(sizeof(*list));

	if (list == NULL) {
		return BELFRY_NOMEM;
	}
	*ret_list = list;
	return BELFRY_OK;
}

void bf_allow_list_free(struct bf_allow_list *list)
{
	while (list != NULL && list->rules != NULL) {
		struct rule *rule = list->rules;
		list->rules = rule->next;
		bf_free(rule);
	}
	bf_free(list);
}

void bf_allow_list_set_private(struct bf_allow_list *list, bool is_private_allowed)
{
	list->is_private_allowed = is_private_allowed;
}

/* --- reading a rule --- */

static enum belfry_status refuse(struct belfry_error *err, struct belfry_str text, const char *why)
{
	return bf_error_set(err, BELFRY_USAGE,
			"--allow-target %.*s: %s; use a network (10.1.0.0/16), a host or HOST:PORT",
			(int)BF_MIN(text.len, 100), text.ptr, why);
}

static size_t find_byte(struct belfry_str text, char byte)
{
	const char *at = text.len > 0 ? memchr(text.ptr, byte, text.len) : NULL;

	return at != NULL ? (size_t)(at - text.ptr) : text.len;
}

/* The last address of the network, to see what it holds. */
static struct bf_address last_address(const struct bf_address *network, unsigned bits)
{
	struct bf_address last = *network;

	for (unsigned bit = bits; bit < (network->is_v4 ? 32u : 128u); bit++) {
		last.bytes[bit / 8] |= (unsigned char)(0x80u >> bit % 8);
	}
	return last;
}

static bool has_host_bits(const struct bf_address *network, unsigned bits)
{
	for (unsigned bit = bits; bit < (network->is_v4 ? 32u : 128u); bit++) {
		if ((network->bytes[bit / 8] & (0x80u >> bit % 8)) != 0) {
			return true;
		}
	}
	return false;
}

/* A network that is refused throughout would be a rule without effect. The very wide ones begin and end
 * in reserved space and still hold private networks. */
static bool is_never(const struct rule *rule)
{
	struct bf_address last = last_address(&rule->network, rule->bits);

	return rule->bits >= 8 && bf_address_classify(&rule->network) == BF_ADDRESS_NEVER &&
			bf_address_classify(&last) == BF_ADDRESS_NEVER;
}

static enum belfry_status parse_network(struct belfry_str text, struct rule *rule,
		struct belfry_error *err)
{
	size_t slash = find_byte(text, '/');
	int64_t bits;

	if (bf_address_parse(bf_str_slice(text, 0, slash), &rule->network) != BELFRY_OK) {
		return refuse(err, text, "this is not the address of a network");
	}
	if (bf_str_parse_int(bf_str_slice(text, slash + 1, text.len), 0,
			    rule->network.is_v4 ? 32 : 128, &bits) != BELFRY_OK) {
		return refuse(err, text, "the number behind the slash is not a prefix length");
	}
	rule->bits = (unsigned)bits;
	if (has_host_bits(&rule->network, rule->bits)) {
		return refuse(err, text, "the address has bits set behind the prefix");
	}
	return BELFRY_OK;
}

static bool is_host_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			c == '-' || c == '.' || c == '_';
}

/* A name whose last label is a number would be read as an address by some. */
static bool is_host_name(struct belfry_str text)
{
	size_t last = 0;

	if (text.len == 0 || text.len > HOST_BYTES || text.ptr[0] == '.' || text.ptr[0] == '-') {
		return false;
	}
	for (size_t i = 0; i < text.len; i++) {
		if (!is_host_char(text.ptr[i])) {
			return false;
		}
		last = text.ptr[i] == '.' ? i + 1 : last;
	}
	return last < text.len && !(text.ptr[last] >= '0' && text.ptr[last] <= '9');
}

/* Splits "HOST:PORT"; a bare IPv6 address has no port. */
static bool split_port(struct belfry_str text, struct belfry_str *ret_host, uint16_t *ret_port)
{
	size_t colon = find_byte(text, ':');
	struct bf_address address;
	int64_t port;

	if (text.len > 0 && text.ptr[0] == '[') {
		size_t close = find_byte(text, ']');
		colon = BF_MIN(close + 1, text.len);
	} else if (bf_address_parse(text, &address) == BELFRY_OK) {
		colon = text.len;
	}
	*ret_host = bf_str_slice(text, 0, colon);
	*ret_port = 0;
	if (colon == text.len) {
		return true;
	}
	if (text.ptr[colon] != ':' ||
			bf_str_parse_int(bf_str_slice(text, colon + 1, text.len), 1, UINT16_MAX,
					&port) != BELFRY_OK) {
		return false;
	}
	*ret_port = (uint16_t)port;
	return true;
}

static enum belfry_status parse_host(struct belfry_str text, struct rule *rule,
		struct belfry_error *err)
{
	struct belfry_str host;

	if (!split_port(text, &host, &rule->port)) {
		return refuse(err, text, "the port is not a number from 1 to 65535");
	}
	if (bf_address_parse(host, &rule->network) == BELFRY_OK) {
		rule->bits = rule->network.is_v4 ? 32 : 128;
		return BELFRY_OK;
	}
	if (!is_host_name(host)) {
		return refuse(err, text, "this is neither an address nor a host name");
	}
	memcpy(rule->host, host.ptr, host.len);
	rule->host_len = host.len;
	return BELFRY_OK;
}

enum belfry_status bf_allow_list_add(struct bf_allow_list *list, struct belfry_str text,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) struct rule *rule = bf_alloc(sizeof(*rule));

	if (rule == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for an allowed target");
	}
	bool is_network = find_byte(text, '/') < text.len;
	enum belfry_status status = is_network ? parse_network(text, rule, err)
					       : parse_host(text, rule, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (rule->host_len == 0 && is_never(rule)) {
		return refuse(err, text,
				"link-local, metadata, multicast and reserved addresses are never allowed");
	}
	rule->next = list->rules;
	list->rules = rule;
	rule = NULL;
	return BELFRY_OK;
}

/* --- asking --- */

static bool is_port_of(const struct rule *rule, uint16_t port)
{
	return rule->port == 0 || rule->port == port;
}

static bool has_network(const struct bf_allow_list *list, const struct bf_address *address,
		uint16_t port)
{
	struct bf_address inner = bf_address_inner(address);

	for (const struct rule *rule = list->rules; rule != NULL; rule = rule->next) {
		if (rule->host_len == 0 && is_port_of(rule, port) &&
				(bf_address_is_within(address, &rule->network, rule->bits) ||
						bf_address_is_within(&inner, &rule->network,
								rule->bits))) {
			return true;
		}
	}
	return false;
}

bool bf_allow_list_names(const struct bf_allow_list *list, struct belfry_str host, uint16_t port)
{
	for (const struct rule *rule = list != NULL ? list->rules : NULL; rule != NULL;
			rule = rule->next) {
		struct belfry_str name = {rule->host, rule->host_len};
		if (name.len > 0 && is_port_of(rule, port) && bf_str_equal_nocase(name, host)) {
			return true;
		}
	}
	return false;
}

bool bf_allow_list_permits(const struct bf_allow_list *list, struct belfry_str host,
		const struct bf_address *address, uint16_t port)
{
	switch (bf_address_classify(address)) {
	case BF_ADDRESS_PUBLIC: return true;
	case BF_ADDRESS_NEVER: return false;
	case BF_ADDRESS_PRIVATE: break;
	}
	return list != NULL &&
			(list->is_private_allowed || has_network(list, address, port) ||
					bf_allow_list_names(list, host, port));
}

bool bf_allow_list_permits_loopback(const struct bf_allow_list *list, uint16_t port)
{
	const struct bf_address v4 = {.is_v4 = true, .bytes = {127, 0, 0, 1}};
	const struct bf_address v6 = {.bytes = {[15] = 1}};

	return list != NULL &&
			(list->is_private_allowed || has_network(list, &v4, port) ||
					has_network(list, &v6, port));
}
