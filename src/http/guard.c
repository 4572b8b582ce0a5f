/* The rules for requests (contract.md, B15).
 *
 * Everything compares as bytes: a browser writes these values in one way, and whoever writes them in
 * another has no reason to be let in. It keeps no state, and knows what a token looks
 * like, not which ones there are (host/tokens.h). */
#include "http/guard.h"

#include "base/error.h"
#include "base/str.h"

/* Nothing, or a colon and a port. */
static bool is_port_or_nothing(struct belfry_str text)
{
	int64_t port;

	if (text.len == 0) {
		return true;
	}
	return text.ptr[0] == ':' && text.len <= 6 &&
			bf_str_parse_int(bf_str_slice(text, 1, text.len), 0, 65535, &port) ==
			BELFRY_OK &&
			text.ptr[1] != '-';
}

static bool is_loopback_host(struct belfry_str host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		struct belfry_str name = bf_str(names[i]);
		if (bf_str_starts_with(host, name) &&
				is_port_or_nothing(bf_str_slice(host, name.len, host.len))) {
			return true;
		}
	}
	return false;
}

enum belfry_status bf_http_guard_check_loopback_host(const struct bf_http_headers *headers,
		struct belfry_error *err)
{
	if (bf_http_headers_count(headers, "Host") != 1 ||
			!is_loopback_host(bf_http_headers_get(headers, "Host"))) {
		return bf_error_set(err, BELFRY_FORBIDDEN,
				"Host: without a token only requests to localhost, 127.0.0.1 or [::1] are "
				"answered; use one of these names, or make a token");
	}
	return BELFRY_OK;
}

/* Is the only Origin this scheme and the Host? */
static bool is_origin(const struct bf_http_headers *headers, struct belfry_str scheme)
{
	struct belfry_str origin = bf_http_headers_get(headers, "Origin");

	return bf_http_headers_count(headers, "Origin") == 1 &&
			bf_http_headers_count(headers, "Host") == 1 &&
			bf_str_starts_with(origin, scheme) &&
			bf_str_equal(bf_str_slice(origin, scheme.len, origin.len),
					bf_http_headers_get(headers, "Host"));
}

enum belfry_status bf_http_guard_check_origin(const struct bf_http_headers *headers,
		struct belfry_error *err)
{
	if (bf_http_headers_count(headers, "Origin") > 0 &&
			!is_origin(headers, BF_STR("http://"))) {
		return bf_error_set(err, BELFRY_FORBIDDEN,
				"Origin: without a token only the page served from this very address may "
				"ask; requests of other pages are refused");
	}
	return BELFRY_OK;
}

enum belfry_status bf_http_guard_check_media_type(const struct bf_http_headers *headers,
		struct belfry_error *err)
{
	struct belfry_str text = bf_http_headers_get(headers, "Content-Type");
	size_t end = 0;

	while (end < text.len && text.ptr[end] != ';') {
		end++;
	}
	while (end > 0 && (text.ptr[end - 1] == ' ' || text.ptr[end - 1] == '\t')) {
		end--;
	}
	text = bf_str_slice(text, 0, end);
	/* A merge patch is JSON too; whether it may be one here the routes say. */
	if (bf_http_headers_count(headers, "Content-Type") != 1 ||
			(!bf_str_equal_nocase(text, BF_STR("application/json")) &&
					!bf_str_equal_nocase(text,
							BF_STR("application/merge-patch+json")))) {
		return bf_error_set(err, BELFRY_MEDIA_TYPE,
				"Content-Type: the body must be application/json");
	}
	return BELFRY_OK;
}

enum belfry_status bf_http_guard_check_without_token(const struct bf_http_headers *headers,
		bool has_body, struct belfry_error *err)
{
	enum belfry_status status = bf_http_guard_check_loopback_host(headers, err);

	if (status == BELFRY_OK) {
		status = bf_http_guard_check_origin(headers, err);
	}
	if (status == BELFRY_OK && has_body) {
		status = bf_http_guard_check_media_type(headers, err);
	}
	return status;
}

/* ---- with a token ------------------------------------------------------------------------------ */

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			(c != '\0' && strchr("-._~+/", c) != NULL);
}

static bool is_token(struct belfry_str text)
{
	size_t at = 0;

	while (at < text.len && is_token_char(text.ptr[at])) {
		at++;
	}
	if (at == 0) {
		return false;
	}
	while (at < text.len && text.ptr[at] == '=') {
		at++;
	}
	return at == text.len;
}

struct belfry_str bf_http_guard_read_bearer(const struct bf_http_headers *headers)
{
	struct belfry_str scheme = BF_STR("Bearer ");
	struct belfry_str text = bf_http_headers_get(headers, "Authorization");
	size_t from = scheme.len;

	if (bf_http_headers_count(headers, "Authorization") != 1 ||
			!bf_str_equal_nocase(bf_str_slice(text, 0, scheme.len), scheme)) {
		return (struct belfry_str){0};
	}
	while (from < text.len && text.ptr[from] == ' ') {
		from++;
	}
	text = bf_str_slice(text, from, text.len);
	return is_token(text) ? text : (struct belfry_str){0};
}

enum belfry_status bf_http_guard_check_with_token(const struct bf_http_headers *headers,
		bool has_body, struct belfry_error *err)
{
	if (bf_http_headers_count(headers, "Origin") > 0 &&
			!is_origin(headers, BF_STR("http://")) &&
			!is_origin(headers, BF_STR("https://"))) {
		return bf_error_set(err, BELFRY_FORBIDDEN,
				"Origin: it is another one than Host, and requests of other pages are "
				"refused; a proxy in front must pass on the Host that the browser sent");
	}
	return has_body ? bf_http_guard_check_media_type(headers, err) : BELFRY_OK;
}
