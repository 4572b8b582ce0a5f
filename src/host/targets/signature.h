/* Signing as Standard Webhooks 1.0: HMAC-SHA-256 over "ID.TIMESTAMP.BODY", one signature for each secret
 * that holds. Pure, any thread. */
#ifndef BF_HOST_TARGETS_SIGNATURE_H
#define BF_HOST_TARGETS_SIGNATURE_H

#include "base/str.h"
#include "host/targets/secrets.h"

/* Is each value "whsec_" and base64? BELFRY_OK, BELFRY_CONFIGURATION (names `name`, never the text),
 * BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_signature_check(const struct bf_secret *secret,
		struct belfry_str name, struct belfry_error *err);

/* Appends the value of webhook-signature: "v1,BASE64" for each value of `secret`, with a blank between.
 * BELFRY_OK, BELFRY_CONFIGURATION, BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_signature_append(struct bf_buf *out,
		const struct bf_secret *secret, struct belfry_str id, int64_t timestamp_s,
		struct belfry_str body);

#endif
