/* Ids of 128 bits: random ones, their order, and their text (RFC 9562). */
#include "base/id.h"

#include <string.h>

/* RFC 9562: version in the high half of byte 6, variant in the two high bits of byte 8. */
void bf_id_put_version(struct belfry_id *id, unsigned version)
{
	id->bytes[6] = (unsigned char)((id->bytes[6] & 0x0f) | version << 4);
	id->bytes[8] = (unsigned char)((id->bytes[8] & 0x3f) | 0x80);
}

struct belfry_id bf_id_random(const struct bf_env *env)
{
	struct belfry_id id;

	env->random(env->data, id.bytes, sizeof(id.bytes));
	bf_id_put_version(&id, 4);
	return id;
}

bool bf_id_is_zero(struct belfry_id id)
{
	static const struct belfry_id zero;

	return bf_id_compare(id, zero) == 0;
}

int bf_id_compare(struct belfry_id a, struct belfry_id b)
{
	return memcmp(a.bytes, b.bytes, sizeof(a.bytes));
}

static const char hex_digits[] = "0123456789abcdef";

static bool is_dash_before(size_t byte)
{
	return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

void belfry_id_format(struct belfry_id id, char *buffer)
{
	size_t at = 0;

	for (size_t i = 0; i < sizeof(id.bytes); i++) {
		if (is_dash_before(i)) {
			buffer[at++] = '-';
		}
		buffer[at++] = hex_digits[id.bytes[i] >> 4];
		buffer[at++] = hex_digits[id.bytes[i] & 15];
	}
	buffer[at] = '\0';
}

static int hex_value(char c)
{
	char lower = c >= 'A' && c <= 'F' ? (char)(c + ('a' - 'A')) : c;
	const char *digit = lower != '\0' ? strchr(hex_digits, lower) : NULL;

	return digit != NULL ? (int)(digit - hex_digits) : -1;
}

enum belfry_status belfry_id_parse(struct belfry_str text, struct belfry_id *ret_id)
{
	struct belfry_id id;
	size_t at = 0;

	if (text.len != BELFRY_ID_TEXT_BYTES - 1) {
		return BELFRY_INVALID;
	}
	for (size_t i = 0; i < sizeof(id.bytes); i++) {
		if (is_dash_before(i) && text.ptr[at++] != '-') {
			return BELFRY_INVALID;
		}
		int high = hex_value(text.ptr[at]);
		int low = hex_value(text.ptr[at + 1]);
		if (high < 0 || low < 0) {
			return BELFRY_INVALID;
		}
		id.bytes[i] = (unsigned char)(high << 4 | low);
		at += 2;
	}
	*ret_id = id;
	return BELFRY_OK;
}
