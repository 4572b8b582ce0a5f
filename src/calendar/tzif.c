/* Reading TZif. The bytes are hostile until proved otherwise: counts before they are multiplied, sizes
 * before anything is pointed at, indices and order before the view is handed out.
 *
 * Invariant  a view that bf_tzif_open returns can be read without further checks.
 * Not here   files and names (zones.c), what the changes mean (zone.c), the footer's text (footer.c). */
#include "calendar/tzif.h"

#include <string.h>

#include "base/error.h"
#include "base/str.h"

#define HEADER_BYTES 44
#define TYPE_BYTES   6
/* What RFC 9636, 3.2 calls the range that readers can expect. */
#define OFFSET_MIN (-89999)
#define OFFSET_MAX 93599

struct header {
	char version; /* NUL, '2', '3', '4' */
	uint32_t isut;
	uint32_t isstd;
	uint32_t leap;
	uint32_t time;
	uint32_t type;
	uint32_t character;
};

static uint32_t read_u32(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t read_i64(const unsigned char *p)
{
	uint64_t bits = (uint64_t)read_u32(p) << 32 | read_u32(p + 4);
	int64_t value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static int32_t read_i32(const unsigned char *p)
{
	uint32_t bits = read_u32(p);
	int32_t value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static enum belfry_status corrupt(struct belfry_error *err, const char *reason)
{
	return bf_error_system(err, BELFRY_CORRUPT, 0, "zone data: %s", reason);
}

static enum belfry_status read_header(const unsigned char *p, size_t left, struct header *ret,
		struct belfry_error *err)
{
	if (left < HEADER_BYTES || memcmp(p, "TZif", 4) != 0) {
		return corrupt(err, "no TZif header");
	}
	*ret = (struct header){
			.version = (char)p[4],
			.isut = read_u32(p + 20),
			.isstd = read_u32(p + 24),
			.leap = read_u32(p + 28),
			.time = read_u32(p + 32),
			.type = read_u32(p + 36),
			.character = read_u32(p + 40),
	};
	if (ret->version != '\0' && (ret->version < '2' || ret->version > '4')) {
		return corrupt(err, "an unknown version");
	}
	if (ret->type == 0 || ret->type > 256 || ret->character == 0 || ret->character > 4096 ||
			ret->time > BF_TZIF_CHANGES_MAX || ret->leap > BF_TZIF_CHANGES_MAX ||
			(ret->isut != 0 && ret->isut != ret->type) ||
			(ret->isstd != 0 && ret->isstd != ret->type)) {
		return corrupt(err, "counts out of range");
	}
	return BELFRY_OK;
}

/* Bytes behind the header; the counts are bounded, so this cannot overflow. */
static size_t block_bytes(const struct header *h, size_t time_bytes)
{
	return h->time * (time_bytes + 1) + h->type * (size_t)TYPE_BYTES + h->character +
			h->leap * (time_bytes + 4) + h->isstd + h->isut;
}

static enum belfry_status check_types(const struct header *h, const unsigned char *types,
		struct belfry_error *err)
{
	const unsigned char *names = types + h->type * (size_t)TYPE_BYTES;

	for (uint32_t i = 0; i < h->type; i++) {
		const unsigned char *type = types + i * (size_t)TYPE_BYTES;
		int32_t offset = read_i32(type);
		if (offset < OFFSET_MIN || offset > OFFSET_MAX || type[4] > 1 ||
				type[5] >= h->character) {
			return corrupt(err, "a time type out of range");
		}
		if (memchr(names + type[5], '\0', h->character - type[5]) == NULL) {
			return corrupt(err, "an abbreviation without an end");
		}
	}
	return BELFRY_OK;
}

static enum belfry_status check_changes(const struct bf_tzif *tzif, struct belfry_error *err)
{
	for (size_t i = 0; i < tzif->change_count; i++) {
		if (tzif->indices[i] >= tzif->type_count) {
			return corrupt(err, "a change to an unknown time type");
		}
		if (i > 0 && bf_tzif_time(tzif, i) <= bf_tzif_time(tzif, i - 1)) {
			return corrupt(err, "changes out of order");
		}
	}
	return BELFRY_OK;
}

/* The indicators behind everything else are 0 or 1 each; nothing here needs them. */
static bool are_flags(const unsigned char *flags, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (flags[i] > 1) {
			return false;
		}
	}
	return true;
}

static enum belfry_status read_block(const unsigned char *p, const struct header *h,
		size_t time_bytes, struct bf_tzif *ret, struct belfry_error *err)
{
	if (h->leap != 0) {
		return corrupt(err, "it counts leap seconds");
	}
	*ret = (struct bf_tzif){
			.change_count = h->time,
			.time_bytes = time_bytes,
			.times = p,
			.indices = p + h->time * time_bytes,
			.type_count = h->type,
			.types = p + h->time * (time_bytes + 1),
	};
	const unsigned char *flags = ret->types + h->type * (size_t)TYPE_BYTES + h->character;
	if (!are_flags(flags, (size_t)h->isstd + h->isut)) {
		return corrupt(err, "an indicator that is neither 0 nor 1");
	}
	enum belfry_status status = check_types(h, ret->types, err);
	return status != BELFRY_OK ? status : check_changes(ret, err);
}

static enum belfry_status read_footer(const unsigned char *p, size_t left, struct belfry_str *ret,
		struct belfry_error *err)
{
	if (left < 2 || p[0] != '\n' || memchr(p + 1, '\n', left - 1) != p + left - 1) {
		return corrupt(err, "no footer");
	}
	*ret = (struct belfry_str){(const char *)p + 1, left - 2};
	return BELFRY_OK;
}

enum belfry_status bf_tzif_open(const unsigned char *bytes, size_t len, struct bf_tzif *ret_tzif,
		struct belfry_error *err)
{
	struct header h;
	struct bf_tzif tzif;

	if (len > BF_TZIF_BYTES_MAX) {
		return corrupt(err, "too large");
	}
	enum belfry_status status = read_header(bytes, len, &h, err);
	if (status != BELFRY_OK) {
		return status;
	}
	size_t at = HEADER_BYTES;
	size_t time_bytes = 4;
	if (h.version != '\0') { /* the second block has everything that the first has */
		if (block_bytes(&h, 4) > len - at) {
			return corrupt(err, "cut short");
		}
		at += block_bytes(&h, 4);
		status = read_header(bytes + at, len - at, &h, err);
		if (status != BELFRY_OK) {
			return status;
		}
		at += HEADER_BYTES;
		time_bytes = 8;
	}
	size_t need = block_bytes(&h, time_bytes);
	if (need > len - at || (time_bytes == 4 && need != len - at)) {
		return corrupt(err, "not as long as its counts say");
	}
	status = read_block(bytes + at, &h, time_bytes, &tzif, err);
	if (status == BELFRY_OK && time_bytes == 8) {
		status = read_footer(bytes + at + need, len - at - need, &tzif.footer, err);
	}
	if (status == BELFRY_OK) {
		*ret_tzif = tzif;
	}
	return status;
}

int64_t bf_tzif_time(const struct bf_tzif *tzif, size_t index)
{
	const unsigned char *p = tzif->times + index * tzif->time_bytes;

	return tzif->time_bytes == 8 ? read_i64(p) : read_i32(p);
}

int32_t bf_tzif_offset(const struct bf_tzif *tzif, size_t type)
{
	return read_i32(tzif->types + type * TYPE_BYTES);
}
