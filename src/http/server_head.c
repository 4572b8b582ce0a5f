/* The smuggling guard (RFC 9112, 3.2, 6.1, 6.3, 11.2).
 *
 * Behind a proxy two parsers read the same bytes. Where they could disagree about who is asked, or
 * where the request ends, the second half of one person's request becomes the beginning of another's.
 * So nothing is repaired here: one reading, or 400 and the connection is closed.
 *
 * It does not look at who may ask (guard.c), nor at sizes (the server's limits). */
#include "http/server_head.h"

#include <stdint.h>

#include "base/error.h"
#include "base/str.h"

static enum belfry_status check_fields(const struct bf_http_headers *headers,
		struct belfry_error *err)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (!bf_http_is_token(headers->items[i].name)) {
			return bf_error_set(err, BELFRY_INVALID,
					"a header has a name that is not allowed: letters, digits and "
					"hyphens, directly followed by a colon");
		}
		if (!bf_http_is_field_value(headers->items[i].value)) {
			return bf_error_set(err, BELFRY_INVALID,
					"a header has a control character in its value");
		}
	}
	return BELFRY_OK;
}

static enum belfry_status check_host(const struct bf_http_head *head, struct belfry_error *err)
{
	size_t count = bf_http_headers_count(&head->headers, "Host");

	if (count > 1) {
		return bf_error_set(err, BELFRY_INVALID, "Host: give it once, not %zu times",
				count);
	}
	if (count == 0 && bf_str_equal(head->version, BF_STR("HTTP/1.1"))) {
		return bf_error_set(err, BELFRY_INVALID, "Host: HTTP/1.1 needs this header");
	}
	return BELFRY_OK;
}

static enum belfry_status check_length(const struct bf_http_headers *headers, int64_t *ret_length,
		struct belfry_error *err)
{
	size_t count = bf_http_headers_count(headers, "Content-Length");
	struct belfry_str text = bf_http_headers_get(headers, "Content-Length");

	*ret_length = 0;
	if (count > 1) {
		return bf_error_set(err, BELFRY_INVALID,
				"Content-Length: give it once, not %zu times", count);
	}
	/* The parser of numbers would take "-0". */
	if (count == 1 &&
			(bf_str_starts_with(text, BF_STR("-")) ||
					bf_str_parse_int(text, 0, INT64_MAX, ret_length) !=
							BELFRY_OK)) {
		return bf_error_set(err, BELFRY_INVALID,
				"Content-Length: write the number of bytes in plain digits");
	}
	return BELFRY_OK;
}

static enum belfry_status check_coding(const struct bf_http_head *head, bool *ret_is_chunked,
		struct belfry_error *err)
{
	size_t count = bf_http_headers_count(&head->headers, "Transfer-Encoding");

	*ret_is_chunked = count > 0;
	if (count == 0) {
		return BELFRY_OK;
	}
	if (count > 1 ||
			!bf_str_equal_nocase(
					bf_http_headers_get(&head->headers, "Transfer-Encoding"),
					BF_STR("chunked"))) {
		return bf_error_set(err, BELFRY_INVALID,
				"Transfer-Encoding: only \"chunked\" is understood, once");
	}
	if (bf_http_headers_count(&head->headers, "Content-Length") > 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"Content-Length and Transfer-Encoding: give one of them, not both");
	}
	if (!bf_str_equal(head->version, BF_STR("HTTP/1.1"))) {
		return bf_error_set(err, BELFRY_INVALID, "Transfer-Encoding: needs HTTP/1.1");
	}
	return BELFRY_OK;
}

static enum belfry_status check_start(const struct bf_http_head *head,
		enum bf_http_method *ret_method, struct belfry_error *err)
{
	if (!bf_str_equal(head->version, BF_STR("HTTP/1.1")) &&
			!bf_str_equal(head->version, BF_STR("HTTP/1.0"))) {
		return bf_error_set(err, BELFRY_INVALID,
				"only HTTP/1.1 and HTTP/1.0 are spoken here");
	}
	for (int i = 0; i < BF_HTTP_METHOD_COUNT; i++) {
		enum bf_http_method method = (enum bf_http_method)i;
		if (bf_str_equal(head->method, bf_str(bf_http_method_text(method)))) {
			*ret_method = method;
			return BELFRY_OK;
		}
	}
	return bf_error_set(err, BELFRY_INVALID, "this method is not known here");
}

enum belfry_status bf_http_head_check(const struct bf_http_head *head,
		enum bf_http_method *ret_method, struct bf_http_framing *ret_framing,
		struct belfry_error *err)
{
	struct bf_http_framing framing = {0};
	enum bf_http_method method = BF_HTTP_METHOD_GET;
	enum belfry_status status = check_start(head, &method, err);

	if (status == BELFRY_OK) {
		status = check_fields(&head->headers, err);
	}
	if (status == BELFRY_OK) {
		status = check_host(head, err);
	}
	if (status == BELFRY_OK) {
		status = check_length(&head->headers, &framing.length_bytes, err);
	}
	if (status == BELFRY_OK) {
		status = check_coding(head, &framing.is_chunked, err);
	}
	if (status == BELFRY_OK) {
		*ret_method = method;
		*ret_framing = framing;
	}
	return status;
}

/* Where in raw->bytes a part begins; SIZE_MAX when it lies elsewhere. */
static size_t offset_of(const struct bf_http_raw_head *raw, const char *part, size_t len)
{
	uintptr_t begin = (uintptr_t)raw->bytes;
	uintptr_t at = (uintptr_t)part;

	if (at < begin || at - begin > raw->len || len > raw->len - (at - begin)) {
		return SIZE_MAX;
	}
	return at - begin;
}

/* Steps over the separators between *at and the part, then over the part. False: something else is
 * there. `spaces` allows white space behind them. */
static bool step(const struct bf_http_raw_head *raw, size_t *at, size_t separators, bool spaces,
		const char *part, size_t len)
{
	size_t to = offset_of(raw, part, len);

	if (to == SIZE_MAX || to < *at || to - *at < separators ||
			(!spaces && to - *at > separators)) {
		return false;
	}
	for (size_t i = 0; *at < to; (*at)++, i++) {
		char c = raw->bytes[*at];
		if (i < separators ? c != '\0' : c != ' ' && c != '\t') {
			return false;
		}
	}
	*at += len;
	return true;
}

enum belfry_status bf_http_head_check_raw(const struct bf_http_raw_head *raw,
		const struct bf_http_headers *headers, struct belfry_error *err)
{
	size_t at = strlen(raw->bytes);
	bool is_whole = step(raw, &at, 1, false, raw->target, raw->target_len) &&
			step(raw, &at, 1, false, raw->version, strlen(raw->version));

	for (size_t i = 0; is_whole && i < headers->count; i++) {
		const struct bf_http_pair *pair = &headers->items[i];
		is_whole = step(raw, &at, 2, false, pair->name.ptr, pair->name.len) &&
				step(raw, &at, 1, true, pair->value.ptr, pair->value.len);
	}
	if (!is_whole || !step(raw, &at, 4, false, raw->bytes + raw->len, 0)) {
		return bf_error_set(err, BELFRY_INVALID,
				"the head of the request has a NUL, a folded line or a bare line feed");
	}
	return BELFRY_OK;
}
