/* If-Match (RFC 9110, 13.1.1): which revision a change must find.
 *
 * An ETag of ours is a revision in quotes, of a deployment or a calendar, and strong. A list matches
 * where one of its strong tags is the present one; weak tags never do, and neither does what is no ETag
 * at all: then the change is not made. No question is answered by If-None-Match: next_due and phase
 * change without the revision, so that a 304 would hide what is news. */
#include "base/error.h"
#include "host/deployments.h"
#include "http/api_priv.h"

#define TAGS_MAX 32

struct tags {
	int64_t revisions[TAGS_MAX];
	size_t count;
	bool is_any; /* a star */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

/* One tag from the front of *rest, or false. Whoever's it is: only ours are kept. */
static bool take_tag(struct belfry_str *rest, struct tags *tags)
{
	struct belfry_str text = *rest;
	bool is_weak = bf_str_starts_with(text, BF_STR("W/"));
	size_t end = 1;
	int64_t revision;

	text = bf_str_slice(text, is_weak ? 2 : 0, text.len);
	if (text.len < 2 || text.ptr[0] != '"') {
		return false;
	}
	while (end < text.len && text.ptr[end] != '"') {
		end++;
	}
	if (end == text.len) {
		return false;
	}
	if (!is_weak && tags->count < TAGS_MAX &&
			bf_str_parse_int(bf_str_slice(text, 1, end), 1, INT64_MAX, &revision) ==
					BELFRY_OK) {
		tags->revisions[tags->count++] = revision;
	}
	*rest = bf_str_slice(text, end + 1, text.len);
	return true;
}

/* The value of one field: tags with commas between, of which some may have nothing between them. */
static bool take_field(struct belfry_str rest, struct tags *tags)
{
	bool needs_comma = false;

	while (rest.len > 0) {
		if (is_blank(rest.ptr[0])) {
			rest = bf_str_slice(rest, 1, rest.len);
		} else if (rest.ptr[0] == ',') {
			rest = bf_str_slice(rest, 1, rest.len);
			needs_comma = false;
		} else if (needs_comma || !take_tag(&rest, tags)) {
			return false;
		} else {
			needs_comma = true;
		}
	}
	return true;
}

static bool take_fields(const struct bf_http_headers *headers, struct tags *tags)
{
	for (size_t i = 0; i < headers->count; i++) {
		struct belfry_str value = headers->items[i].value;
		if (!bf_str_equal_nocase(headers->items[i].name, BF_STR("If-Match"))) {
			continue;
		}
		if (bf_str_equal(value, BF_STR("*"))) {
			tags->is_any = true;
		} else if (!take_field(value, tags)) {
			return false;
		}
	}
	return true;
}

static enum belfry_status refuse(const struct bf_http_headers *headers, struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_PRECONDITION,
			"If-Match: \"%.*s\" holds no ETag of ours; send the ETag as it came, like "
			"\"3\" with its quotes",
			BF_STR_ARGS(bf_api_cut(bf_http_headers_get(headers, "If-Match"))));
}

/* Several: the present one, where it is among them. */
static enum belfry_status choose(const struct bf_api_call *call, const struct tags *tags,
		bf_api_get_revision_fn get, int64_t *ret_revision, struct belfry_error *err)
{
	int64_t present = 0;
	enum belfry_status status = get(call->host, call->words[0], &present, err);

	if (status != BELFRY_OK) {
		return status;
	}
	for (size_t i = 0; i < tags->count; i++) {
		if (tags->revisions[i] == present) {
			*ret_revision = present;
			return BELFRY_OK;
		}
	}
	return bf_error_set(err, BELFRY_PRECONDITION,
			"If-Match names %zu revisions, and the present one, %lld, is not among them: "
			"read it again, and decide again",
			tags->count, (long long)present);
}

enum belfry_status bf_api_read_match_of(const struct bf_api_call *call, bf_api_get_revision_fn get,
		int64_t *ret_revision, struct belfry_error *err)
{
	const struct bf_http_headers *headers = bf_http_request_headers(call->request);
	struct tags tags = {0};

	*ret_revision = 0;
	if (bf_http_headers_count(headers, "If-Match") == 0) {
		return BELFRY_OK;
	}
	if (!take_fields(headers, &tags) || (tags.count == 0 && !tags.is_any)) {
		return refuse(headers, err);
	}
	if (tags.is_any) {
		return BELFRY_OK;
	}
	if (tags.count > 1) {
		return choose(call, &tags, get, ret_revision, err);
	}
	*ret_revision = tags.revisions[0];
	return BELFRY_OK;
}

enum belfry_status bf_api_read_if_match(const struct bf_api_call *call, int64_t *ret_revision,
		struct belfry_error *err)
{
	return bf_api_read_match_of(call, bf_deployments_get_revision, ret_revision, err);
}
