/* SHA-256 and HMAC-SHA-256 through libcrypto, and the fast hash of tables. */
#ifndef BF_HASH_H
#define BF_HASH_H

#include <stdint.h>

#include <belfry/status.h>

#include "base/compiler.h"

#define BF_SHA256_BYTES 32

/* Over the parts one after another. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_sha256(const struct belfry_str *parts, size_t part_count,
		unsigned char *ret_digest);
BF_MUST_CHECK enum belfry_status bf_hmac_sha256(struct belfry_str key, struct belfry_str message,
		unsigned char *ret_digest);

/* 64 bits for a table in memory; seeded per table, so that keys cannot be chosen to collide. */
uint64_t bf_hash64(uint64_t seed, const void *bytes, size_t len);

/* Time does not depend on where they differ. */
bool bf_equal_secret(const void *a, const void *b, size_t len);

/* base64 (RFC 4648) into a buffer that the caller keeps: encode writes 4 * ceil(len / 3) + 1 bytes. */
void bf_base64_encode(const void *bytes, size_t len, char *ret_text);
/* decode writes at most len / 4 * 3 bytes; strict: padding as it must be, nothing else inside. */
BF_MUST_CHECK enum belfry_status bf_base64_decode(struct belfry_str text, void *ret_bytes,
		size_t *ret_len);

#endif
