/* What a target's definition may hold: URL, method and header names. Checked when a deployment is
 * saved, and again before a call. Parsed by the same library that makes the call, so that both read a
 * URL alike. Any thread. */
#ifndef BF_HOST_TARGETS_URL_H
#define BF_HOST_TARGETS_URL_H

#include "host/targets/allow.h"

#define BF_TARGET_URL_BYTES 2048

/* A URL taken apart; text is owned, freed by bf_target_url_fini. */
struct bf_target_url {
	char *text; /* as it is called: normal form, without a fragment */
	char *host; /* lower case, without brackets */
	uint16_t port;
	bool is_literal;           /* host is an address */
	struct bf_address address; /* where is_literal */
};

/* Takes `text` apart and refuses what is no http(s) URL with a host, holds a user or password, control
 * or non-ASCII characters, or is too long.
 * BELFRY_OK, BELFRY_INVALID (message says what would be right), BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_target_url_parse(struct belfry_str text,
		struct bf_target_url *ret_url, struct belfry_error *err);
void bf_target_url_fini(struct bf_target_url *url);

/* For saving a deployment: parses, and refuses an address (or localhost) that is not allowed, naming
 * the setting. BELFRY_OK, BELFRY_INVALID, BELFRY_TARGET_NOT_ALLOWED, BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_target_url_check(struct belfry_str text,
		const struct bf_allow_list *allow, struct belfry_error *err);

/* GET, POST, PUT, PATCH or DELETE. */
BF_MUST_CHECK enum belfry_status bf_target_method_check(struct belfry_str method,
		struct belfry_error *err);
/* A header of the deployment's own: its name is a token, is none of those that are sent always or
 * belong to the connection; its value has no control characters. */
BF_MUST_CHECK enum belfry_status bf_target_header_check(struct belfry_str name,
		struct belfry_str value, struct belfry_error *err);

#endif
