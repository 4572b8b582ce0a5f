/* Fuzzes the rules for requests: without a token only the page of this very address gets in, whatever fields
 * come; with one no page of another address does, and nothing is taken for a token but the only word
 * behind Bearer. The promise is said here a second time, in the words of the contract (B15). */
#include "http/guard.h"
#include "request.h"

static bool is_port(struct belfry_str text)
{
	unsigned port = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (text.ptr[i] < '0' || text.ptr[i] > '9') {
			return false;
		}
		port = port * 10 + (unsigned)(text.ptr[i] - '0');
	}
	return text.len >= 1 && text.len <= 5 && port <= 65535;
}

static bool is_ours(struct belfry_str host)
{
	static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		size_t len = strlen(names[i]);
		struct belfry_str rest = bf_str_slice(host, len, host.len);
		if (bf_str_equal(bf_str_slice(host, 0, len), bf_str(names[i])) &&
				(rest.len == 0 ||
						(rest.ptr[0] == ':' &&
								is_port(bf_str_slice(rest, 1,
										rest.len))))) {
			return true;
		}
	}
	return false;
}

/* The only value of the field; ptr NULL where it is not there once. */
static struct belfry_str only(const struct bf_http_headers *headers, const char *name)
{
	return bf_http_headers_count(headers, name) == 1 ? bf_http_headers_get(headers, name)
							 : (struct belfry_str){0};
}

static void require_let_in(const struct bf_http_headers *headers, bool has_body)
{
	struct belfry_str scheme = BF_STR("http://");
	struct belfry_str host = only(headers, "Host");
	struct belfry_str origin = only(headers, "Origin");
	struct belfry_str type = only(headers, "Content-Type");

	fuzz_require(is_ours(host));
	if (bf_http_headers_count(headers, "Origin") > 0) {
		fuzz_require(bf_str_starts_with(origin, scheme));
		fuzz_require(bf_str_equal(host, bf_str_slice(origin, scheme.len, origin.len)));
	}
	if (has_body) {
		struct belfry_str json = BF_STR("application/json");
		struct belfry_str patch = BF_STR("application/merge-patch+json");
		json = bf_str_equal_nocase(patch, bf_str_slice(type, 0, patch.len)) ? patch : json;
		fuzz_require(bf_str_equal_nocase(json, bf_str_slice(type, 0, json.len)));
		fuzz_require(type.len == json.len || strchr("; \t", type.ptr[json.len]) != NULL);
	}
}

static void require_let_in_with_token(const struct bf_http_headers *headers)
{
	struct belfry_str host = only(headers, "Host");
	struct belfry_str origin = only(headers, "Origin");

	if (bf_http_headers_count(headers, "Origin") > 0) {
		size_t from = bf_str_starts_with(origin, BF_STR("https://")) ? 8 : 7;
		fuzz_require(host.ptr != NULL && origin.len >= from);
		fuzz_require(bf_str_starts_with(origin, BF_STR("http://")) || from == 8);
		fuzz_require(bf_str_equal(host, bf_str_slice(origin, from, origin.len)));
	}
}

static void require_token(const struct bf_http_headers *headers, struct belfry_str token)
{
	struct belfry_str field = only(headers, "Authorization");

	fuzz_require(field.len > token.len && token.len > 0);
	fuzz_require(bf_str_equal_nocase(bf_str_slice(field, 0, 7), BF_STR("Bearer ")));
	fuzz_require(token.ptr + token.len == field.ptr + field.len);
	for (size_t i = 0; i < token.len; i++) {
		fuzz_require(token.ptr[i] > ' ' && token.ptr[i] <= '~' && token.ptr[i] != ',' &&
				token.ptr[i] != '"');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str text = {(const char *)data, size};
	struct fuzz_request request = {0};

	fuzz_take_fields(&text, &request);
	for (int has_body = 0; has_body < 2; has_body++) {
		struct belfry_error err = {0};
		if (bf_http_guard_check_without_token(&request.head.headers, has_body == 1, &err) ==
				BELFRY_OK) {
			require_let_in(&request.head.headers, has_body == 1);
		} else {
			fuzz_require_refusal(&err, 0);
		}
		err = (struct belfry_error){0};
		if (bf_http_guard_check_with_token(&request.head.headers, has_body == 1, &err) ==
				BELFRY_OK) {
			require_let_in_with_token(&request.head.headers);
		} else {
			fuzz_require_refusal(&err, 0);
		}
	}
	struct belfry_str token = bf_http_guard_read_bearer(&request.head.headers);
	if (token.ptr != NULL) {
		require_token(&request.head.headers, token);
	}
	return 0;
}
