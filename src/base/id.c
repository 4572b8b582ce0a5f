/* Ids of 128 bits: random ones, their order, their text (RFC 9562), and those that follow from a due time.
 * The bytes of the last, and what they make of a spread, are part of the contract: see belfry_run_id in
 * run.h, contract.md, and the test vectors in tests/model. */
#include "base/id.h"

#include <string.h>

#include "base/hash.h"
#include "base/str.h"

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

	if (text.len != BELFRY_ID_TEXT_BYTES - 1 || text.ptr == NULL || ret_id == NULL) {
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

static void put_big_endian(unsigned char *bytes, size_t count, uint64_t value)
{
	for (size_t i = 0; i < count; i++) {
		bytes[i] = (unsigned char)(value >> (8 * (count - 1 - i)));
	}
}

void bf_id_put_time(struct belfry_id *id, belfry_time at)
{
	uint64_t ms = (uint64_t)(at / BELFRY_MILLISECOND);

	put_big_endian(id->bytes, 6, BF_MIN(ms, (UINT64_C(1) << 48) - 1));
}

enum belfry_status belfry_run_id(struct belfry_str schedule, belfry_time due,
		struct belfry_id *ret_id)
{
	unsigned char digest[BF_SHA256_BYTES];
	char due_bytes[9] = {0}; /* the separating zero, then the time */
	struct belfry_id id = {{0}};

	if (due < 0 || due == BELFRY_TIME_NEVER || ret_id == NULL ||
			(schedule.len > 0 && schedule.ptr == NULL)) {
		return BELFRY_INVALID;
	}
	put_big_endian((unsigned char *)due_bytes + 1, 8, (uint64_t)due);
	struct belfry_str parts[] = {schedule, {due_bytes, sizeof(due_bytes)}};
	enum belfry_status status = bf_sha256(parts, BF_COUNT(parts), digest);
	if (status != BELFRY_OK) {
		return status;
	}
	bf_id_put_time(&id, due);
	memcpy(id.bytes + 6, digest, 10);
	bf_id_put_version(&id, 8);
	*ret_id = id;
	return BELFRY_OK;
}

belfry_duration bf_id_spread(struct belfry_id run, belfry_duration window)
{
	uint64_t drawn = 0;

	if (window <= 0) {
		return 0;
	}
	for (size_t i = sizeof(run.bytes) - 6; i < sizeof(run.bytes); i++) {
		drawn = drawn << 8 | run.bytes[i];
	}
	belfry_duration offset = (belfry_duration)(drawn % (uint64_t)window);
	return offset - offset % BELFRY_MILLISECOND;
}
