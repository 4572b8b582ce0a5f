/* Digests through libcrypto; a small seeded hash for tables. */
#include "base/hash.h"

#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

enum belfry_status bf_sha256(const struct belfry_str *parts, size_t part_count,
		unsigned char *ret_digest)
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool is_ok = context != NULL && EVP_DigestInit_ex(context, EVP_sha256(), NULL) == 1;

	for (size_t i = 0; is_ok && i < part_count; i++) {
		is_ok = EVP_DigestUpdate(context, parts[i].ptr, parts[i].len) == 1;
	}
	is_ok = is_ok && EVP_DigestFinal_ex(context, ret_digest, NULL) == 1;
	EVP_MD_CTX_free(context);
	return is_ok ? BELFRY_OK : BELFRY_NOMEM;
}

enum belfry_status bf_hmac_sha256(struct belfry_str key, struct belfry_str message,
		unsigned char *ret_digest)
{
	unsigned int len = 0;
	const char *key_bytes = key.len > 0 ? key.ptr : ""; /* libcrypto refuses an absent key */

	if (key.len > INT32_MAX ||
			HMAC(EVP_sha256(), key_bytes, (int)key.len,
					(const unsigned char *)message.ptr, message.len, ret_digest,
					&len) == NULL) {
		return BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

/* FNV-1a over the bytes, seeded, with a final mix so that the low bits depend on all of them. */
uint64_t bf_hash64(uint64_t seed, const void *bytes, size_t len)
{
	const unsigned char *at = bytes;
	uint64_t hash = UINT64_C(0xcbf29ce484222325) ^ seed;

	for (size_t i = 0; i < len; i++) {
		hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
	}
	hash ^= hash >> 32;
	hash *= UINT64_C(0xd6e8feb86659fd93);
	return hash ^ (hash >> 32);
}

bool bf_equal_secret(const void *a, const void *b, size_t len)
{
	return CRYPTO_memcmp(a, b, len) == 0;
}

static const char base64_digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void bf_base64_encode(const void *bytes, size_t len, char *ret_text)
{
	const unsigned char *in = bytes;
	size_t at = 0;

	for (size_t i = 0; i < len; i += 3) {
		uint32_t group = (uint32_t)in[i] << 16;
		group |= i + 1 < len ? (uint32_t)in[i + 1] << 8 : 0;
		group |= i + 2 < len ? in[i + 2] : 0;
		ret_text[at++] = base64_digits[group >> 18];
		ret_text[at++] = base64_digits[group >> 12 & 63];
		ret_text[at++] = i + 1 < len ? base64_digits[group >> 6 & 63] : '=';
		ret_text[at++] = i + 2 < len ? base64_digits[group & 63] : '=';
	}
	ret_text[at] = '\0';
}

enum belfry_status bf_base64_decode(struct belfry_str text, void *ret_bytes, size_t *ret_len)
{
	unsigned char *out = ret_bytes;
	size_t at = 0;
	size_t pads = 0;

	if (text.len % 4 != 0) {
		return BELFRY_INVALID;
	}
	while (pads < 2 && pads < text.len && text.ptr[text.len - 1 - pads] == '=') {
		pads++;
	}
	uint32_t group = 0;
	for (size_t i = 0; i < text.len; i++) {
		const char *digit = text.ptr[i] != '\0' ? strchr(base64_digits, text.ptr[i]) : NULL;
		bool is_pad = i >= text.len - pads;
		if (digit == NULL && !is_pad) {
			return BELFRY_INVALID;
		}
		group = group << 6 | (is_pad ? 0 : (uint32_t)(digit - base64_digits));
		if (i % 4 == 3) {
			size_t count = i == text.len - 1 ? 3 - pads : 3;
			if (count < 3 && (group & ((1u << (8 * (3 - count))) - 1)) != 0) {
				return BELFRY_INVALID;
			}
			for (size_t k = 0; k < count; k++) {
				out[at++] = (unsigned char)(group >> (16 - 8 * k));
			}
			group = 0;
		}
	}
	*ret_len = at;
	return BELFRY_OK;
}
