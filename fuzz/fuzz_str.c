/* Fuzzes the small readers: UTF-8, whole numbers, base64, ids. Each is held against another way to say
 * the same: a slow decoder, or the text that the value is written as. */
#include <stdio.h>

#include "base/hash.h"
#include "base/str.h"
#include "fuzz.h"
#include "model/run.h"

/* One character by its value (RFC 3629, 3), 0 where it is none or not the shortest. */
static size_t slow_character(const uint8_t *p, size_t len)
{
	static const uint32_t first[] = {0, 1, 0x80, 0x800, 0x10000};
	size_t need = p[0] < 0x80         ? 1
			: p[0] >> 5 == 6  ? 2
			: p[0] >> 4 == 14 ? 3
			: p[0] >> 3 == 30 ? 4
					  : 0;
	uint32_t value = need == 1 ? p[0] : p[0] & (0x7fu >> need);

	for (size_t i = 1; i < need; i++) {
		if (i >= len || p[i] >> 6 != 2) {
			return 0;
		}
		value = value << 6 | (p[i] & 0x3f);
	}
	bool is_surrogate = value >= 0xd800 && value <= 0xdfff;
	return need > 0 && value >= first[need] && value <= 0x10ffff && !is_surrogate ? need : 0;
}

static void check_utf8(struct belfry_str text)
{
	size_t at = 0;

	for (size_t step = 1; at < text.len && step > 0; at += step) {
		step = slow_character((const uint8_t *)text.ptr + at, text.len - at);
		if (step == 0) {
			break;
		}
	}
	fuzz_require(bf_str_is_utf8(text) == (at == text.len));
}

static void check_number(struct belfry_str text)
{
	char again[32];
	int64_t value;
	bool is_negative = text.len > 0 && text.ptr[0] == '-';

	if (bf_str_parse_int(text, INT64_MIN, INT64_MAX, &value) != BELFRY_OK) {
		return;
	}
	(void)snprintf(again, sizeof(again), "%lld", (long long)value);
	text = bf_str_slice(text, is_negative ? 1 : 0, text.len);
	while (text.len > 1 && text.ptr[0] == '0') {
		text = bf_str_slice(text, 1, text.len);
	}
	fuzz_require(bf_str_equal(text, bf_str(again + (value < 0 ? 1 : 0))));
	fuzz_require(value == 0 || is_negative == (value < 0));
}

static void check_base64(struct belfry_str text)
{
	char *out = malloc(text.len * 2 + 8); /* room for either way */
	uint8_t *bytes = malloc(text.len / 4 * 3 + 3);
	size_t len = 0;

	fuzz_require(out != NULL && bytes != NULL);
	if (bf_base64_decode(text, bytes, &len) == BELFRY_OK) {
		bf_base64_encode(bytes, len, out);
		fuzz_require(bf_str_equal(text, bf_str(out)));
	}
	free(bytes);
	bytes = malloc(text.len + 3);
	fuzz_require(bytes != NULL);
	bf_base64_encode(text.ptr, text.len, out);
	fuzz_require(bf_base64_decode(bf_str(out), bytes, &len) == BELFRY_OK && len == text.len);
	fuzz_require(len == 0 || memcmp(bytes, text.ptr, len) == 0);
	free(bytes);
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str text = {(const char *)data, size};
	char again[BELFRY_ID_TEXT_BYTES];
	struct belfry_id id;

	check_utf8(text);
	check_number(text);
	check_base64(text);
	if (belfry_id_parse(text, &id) == BELFRY_OK) {
		belfry_id_format(id, again);
		fuzz_require(bf_str_equal_nocase(text, bf_str(again)));
	}
	return 0;
}
