/* Takes a request target apart: RFC 9112 origin form, RFC 3986 percent escapes, and the form encoding
 * of the query ('+' is a space).
 *
 * Invariant  the path is split before it is decoded, so an escaped slash never makes a segment; each
 *            part is decoded exactly once.
 * It does not resolve "." and "..": segments are compared with the words of the route table, and are
 * never a path of a file. */
#include "http/server_target.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	if (c >= 'a' && c <= 'f') {
		return c - 'a' + 10;
	}
	return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte at raw[*at], an escape read as one; -1 where the escape is broken or gives NUL. */
static int decode_byte(struct belfry_str raw, size_t *at)
{
	if (raw.ptr[*at] != '%') {
		return (unsigned char)raw.ptr[(*at)++];
	}
	if (raw.len - *at < 3) {
		return -1;
	}
	int high = hex_digit(raw.ptr[*at + 1]);
	int low = hex_digit(raw.ptr[*at + 2]);
	*at += 3;
	return high < 0 || low < 0 || (high == 0 && low == 0) ? -1 : high * 16 + low;
}

/* Writes the decoded part behind *out, which has room for raw.len bytes, and moves *out on. */
static enum belfry_status decode(struct belfry_str raw, bool is_query, char **out,
		struct belfry_str *ret_text, struct belfry_error *err)
{
	char *begin = *out;
	size_t at = 0;

	while (at < raw.len) {
		size_t before = at;
		int byte = decode_byte(raw, &at);
		if (byte < 0) {
			return bf_error_set(err, BELFRY_INVALID,
					"the address has a broken percent escape: write %% as %%25, and "
					"no %%00");
		}
		*(*out)++ = is_query && raw.ptr[before] == '+' ? ' ' : (char)byte;
	}
	*ret_text = (struct belfry_str){begin, (size_t)(*out - begin)};
	if (!bf_str_is_utf8(*ret_text)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the address is not UTF-8 after its percent escapes are read");
	}
	return BELFRY_OK;
}

/* RFC 3986 has visible ASCII alone; a fragment never reaches a server. */
static enum belfry_status check_form(struct belfry_str raw, struct belfry_error *err)
{
	if (raw.len == 0 || raw.ptr[0] != '/') {
		return bf_error_set(err, BELFRY_INVALID, "the address must begin with \"/\"");
	}
	for (size_t i = 0; i < raw.len; i++) {
		if (raw.ptr[i] <= ' ' || raw.ptr[i] > '~' || raw.ptr[i] == '#') {
			return bf_error_position(err, BELFRY_INVALID, i,
					"the address has a character that must be percent-escaped");
		}
	}
	return BELFRY_OK;
}

static size_t count_byte(struct belfry_str text, char byte)
{
	size_t count = 0;

	for (size_t i = 0; i < text.len; i++) {
		count += text.ptr[i] == byte ? 1 : 0;
	}
	return count;
}

static size_t find_byte(struct belfry_str text, size_t from, char byte)
{
	while (from < text.len && text.ptr[from] != byte) {
		from++;
	}
	return from;
}

static enum belfry_status split_path(struct bf_http_target *target, char **out,
		struct belfry_error *err)
{
	size_t at = 1;

	while (target->path.len > 1 && at <= target->path.len) {
		size_t end = find_byte(target->path, at, '/');
		enum belfry_status status = decode(bf_str_slice(target->path, at, end), false, out,
				&target->segments[target->segment_count], err);
		if (status != BELFRY_OK) {
			return status;
		}
		target->segment_count++;
		at = end + 1;
	}
	return BELFRY_OK;
}

static enum belfry_status split_query(struct bf_http_target *target, struct belfry_str query,
		char **out, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t at = 0; at < query.len && status == BELFRY_OK;) {
		size_t end = find_byte(query, at, '&');
		struct belfry_str part = bf_str_slice(query, at, end);
		struct bf_http_pair *pair = &target->parameters[target->parameter_count];
		size_t equals = find_byte(part, 0, '=');
		at = end + 1;
		if (part.len == 0) {
			continue;
		}
		status = decode(bf_str_slice(part, 0, equals), true, out, &pair->name, err);
		if (status == BELFRY_OK) {
			status = decode(bf_str_slice(part, equals + 1, part.len), true, out,
					&pair->value, err);
		}
		target->parameter_count++;
	}
	return status;
}

/* Room for the raw text and everything decoded from it (never longer). */
static enum belfry_status make_room(struct bf_http_target *target, struct belfry_str raw,
		size_t segment_count, size_t parameter_count)
{
	target->text = bf_alloc_array(2, raw.len + 1);
	target->segments = bf_alloc_array(segment_count, sizeof(*target->segments));
	target->parameters = bf_alloc_array(parameter_count, sizeof(*target->parameters));
	if (target->text == NULL || target->segments == NULL || target->parameters == NULL) {
		return BELFRY_NOMEM;
	}
	memcpy(target->text, raw.ptr, raw.len);
	return BELFRY_OK;
}

static enum belfry_status parse(struct belfry_str raw, struct bf_http_target *target,
		struct belfry_error *err)
{
	size_t mark = find_byte(raw, 0, '?');
	struct belfry_str query = bf_str_slice(raw, mark + 1, raw.len);
	size_t segment_count = count_byte(bf_str_slice(raw, 0, mark), '/');
	size_t parameter_count = count_byte(query, '&') + 1;

	if (segment_count > BF_HTTP_SEGMENTS || parameter_count > BF_HTTP_PARAMETERS) {
		return bf_error_set(err, BELFRY_INVALID,
				"the address has too many parts: at most %d segments and %d parameters",
				BF_HTTP_SEGMENTS, BF_HTTP_PARAMETERS);
	}
	enum belfry_status status = make_room(target, raw, segment_count, parameter_count);
	if (status != BELFRY_OK) {
		return bf_error_set(err, status, "%s", belfry_status_text(status));
	}
	char *out = target->text + raw.len + 1;
	target->path = (struct belfry_str){target->text, mark};
	status = split_path(target, &out, err);
	return status == BELFRY_OK ? split_query(target, query, &out, err) : status;
}

enum belfry_status bf_http_target_parse(struct belfry_str raw, struct bf_http_target *ret_target,
		struct belfry_error *err)
{
	struct bf_http_target target = {0};
	enum belfry_status status = check_form(raw, err);

	if (status == BELFRY_OK) {
		status = parse(raw, &target, err);
	}
	if (status != BELFRY_OK) {
		bf_http_target_fini(&target);
		return status;
	}
	*ret_target = target;
	return BELFRY_OK;
}

void bf_http_target_fini(struct bf_http_target *target)
{
	bf_free(target->text);
	bf_free(target->segments);
	bf_free(target->parameters);
	*target = (struct bf_http_target){0};
}
