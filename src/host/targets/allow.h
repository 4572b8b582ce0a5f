/* What the operator allows besides public addresses: --allow-target and --allow-private-targets.
 *
 * Ownership  a list is owned by whoever made it; freely shared between threads once it is filled.
 * Never      a link-local, metadata, multicast, unspecified or reserved address is refused whatever
 *            the list says. */
#ifndef BF_HOST_TARGETS_ALLOW_H
#define BF_HOST_TARGETS_ALLOW_H

#include "host/targets/address.h"

struct bf_allow_list;

BF_MUST_CHECK enum belfry_status bf_allow_list_new(struct bf_allow_list **ret_list);
void bf_allow_list_free(struct bf_allow_list *list);

/* --allow-private-targets: loopback, RFC 1918, ULA and 100.64/10. */
void bf_allow_list_set_private(struct bf_allow_list *list, bool is_private_allowed);
/* One --allow-target: "10.1.0.0/16", "fd12::/32", "10.1.2.3", "[fd12::1]:8080", "hooks.lan",
 * "hooks.lan:8080". Copied. BELFRY_OK, BELFRY_USAGE (says what would be right), BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_allow_list_add(struct bf_allow_list *list,
		struct belfry_str text, struct belfry_error *err);

/* May `host` (as the URL names it, without brackets), found at `address`, be called at `port`?
 * `list` NULL: public addresses alone. */
bool bf_allow_list_permits(const struct bf_allow_list *list, struct belfry_str host,
		const struct bf_address *address, uint16_t port);
/* Does the list name this host, so that its private addresses are allowed? */
bool bf_allow_list_names(const struct bf_allow_list *list, struct belfry_str host, uint16_t port);
/* Is loopback allowed as such (by --allow-private-targets or a network that holds it)? */
bool bf_allow_list_permits_loopback(const struct bf_allow_list *list, uint16_t port);

#endif
