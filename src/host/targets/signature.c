/* Standard Webhooks signatures. A decoded key lives on the stack for one call and is wiped. */
#include "host/targets/signature.h"

#include <openssl/crypto.h>

#include "base/error.h"
#include "base/hash.h"

#define KEY_BYTES 512

/* BELFRY_CONFIGURATION: not "whsec_" and base64 of 1 to KEY_BYTES bytes. */
static enum belfry_status decode_key(struct belfry_str value, unsigned char *key, size_t *ret_len)
{
	static const struct belfry_str prefix = {"whsec_", 6};

	if (!bf_str_starts_with(value, prefix)) {
		return BELFRY_CONFIGURATION;
	}
	struct belfry_str digits = bf_str_slice(value, prefix.len, value.len);
	if (digits.len == 0 || digits.len / 4 * 3 > KEY_BYTES ||
			bf_base64_decode(digits, key, ret_len) != BELFRY_OK) {
		return BELFRY_CONFIGURATION;
	}
	return BELFRY_OK;
}

enum belfry_status bf_signature_check(const struct bf_secret *secret, struct belfry_str name,
		struct belfry_error *err)
{
	unsigned char key[KEY_BYTES];
	enum belfry_status status = BELFRY_OK;
	size_t len;

	for (unsigned i = 0; i < secret->count && status == BELFRY_OK; i++) {
		status = decode_key(secret->values[i], key, &len);
	}
	OPENSSL_cleanse(key, sizeof(key));
	if (status != BELFRY_OK) {
		return bf_error_set(err, status,
				"the secret %.*s cannot sign: each line must be whsec_ and base64",
				BF_STR_ARGS(name));
	}
	return BELFRY_OK;
}

static enum belfry_status append_one(struct bf_buf *out, struct belfry_str value,
		struct belfry_str message)
{
	unsigned char key[KEY_BYTES];
	unsigned char digest[BF_SHA256_BYTES];
	char text[(BF_SHA256_BYTES + 2) / 3 * 4 + 1];
	size_t len = 0;

	enum belfry_status status = decode_key(value, key, &len);
	if (status == BELFRY_OK) {
		status = bf_hmac_sha256((struct belfry_str){(const char *)key, len}, message,
				digest);
	}
	OPENSSL_cleanse(key, sizeof(key));
	if (status != BELFRY_OK) {
		return status;
	}
	bf_base64_encode(digest, sizeof(digest), text);
	bf_buf_appendf(out, "v1,%s", text);
	return bf_buf_status(out);
}

enum belfry_status bf_signature_append(struct bf_buf *out, const struct bf_secret *secret,
		struct belfry_str id, int64_t timestamp_s, struct belfry_str body)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf message = {0};

	bf_buf_append_str(&message, id);
	bf_buf_appendf(&message, ".%lld.", (long long)timestamp_s);
	bf_buf_append_str(&message, body);
	enum belfry_status status = bf_buf_status(&message);
	for (unsigned i = 0; i < secret->count && status == BELFRY_OK; i++) {
		if (i > 0) {
			bf_buf_append_byte(out, ' ');
		}
		status = append_one(out, secret->values[i], bf_buf_str(&message));
	}
	return status;
}
