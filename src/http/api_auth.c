/* Who may ask (docs/interface.md, "Who"; contract.md, B15).
 *
 * Two moments: when the head is there, a request without a known token is refused before a byte of its
 * body is read; and before any route is looked for, everything is checked. A host either has tokens, and
 * needs one, or has none, and then a request must come from this machine and from no other page.
 * Not here: what a token may do. There is one, and it may do everything. */
#include "base/error.h"
#include "base/id.h"
#include "host/tokens.h"
#include "http/api_priv.h"
#include "http/guard.h"

/* Whether somebody is alive may be asked by what knows no token: a probe, a proxy. */
static bool is_health(const struct bf_http_request *request)
{
	enum bf_http_method method = bf_http_request_method(request);

	if (bf_http_request_segment_count(request) != 1 ||
			(method != BF_HTTP_METHOD_GET && method != BF_HTTP_METHOD_HEAD)) {
		return false;
	}
	struct belfry_str word = bf_http_request_segment(request, 0);
	return bf_str_equal(word, BF_STR("healthz")) || bf_str_equal(word, BF_STR("readyz"));
}

/* Names under which others take a token in an address. */
static const char *find_token_parameter(const struct bf_http_request *request)
{
	static const char *const names[] = {"token", "access_token"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		if (bf_http_request_find_parameter(request, names[i]).ptr != NULL) {
			return names[i];
		}
	}
	return NULL;
}

static enum belfry_status refuse_address(const char *name, enum belfry_status status,
		struct belfry_error *err)
{
	return bf_error_set(err, status,
			"%s: a token is never taken from an address, where logs and histories keep "
			"it; send it as Authorization: Bearer TOKEN",
			name);
}

static enum belfry_status refuse_stranger(const struct bf_http_request *request,
		struct belfry_str bearer, struct belfry_error *err)
{
	const char *name = find_token_parameter(request);

	if (name != NULL) {
		return refuse_address(name, BELFRY_UNAUTHENTICATED, err);
	}
	return bf_error_set(err, BELFRY_UNAUTHENTICATED,
			bearer.ptr != NULL
					? "Authorization: this token is not known here"
					: "Authorization: a token is needed; send it as Authorization: "
					  "Bearer TOKEN");
}

static enum belfry_status check_token(const struct bf_api *api,
		const struct bf_http_request *request, struct belfry_id *ret_token,
		struct belfry_error *err)
{
	struct belfry_str bearer = bf_http_guard_read_bearer(bf_http_request_headers(request));
	struct belfry_id token = bf_tokens_find(api->tokens, bearer);

	if (bf_id_is_zero(token)) {
		bf_tokens_note_refusal(api->tokens, bf_http_request_peer(request));
		return refuse_stranger(request, bearer, err);
	}
	*ret_token = token;
	return BELFRY_OK;
}

enum belfry_status bf_api_judge(void *data, const struct bf_http_request *request,
		struct belfry_error *err)
{
	const struct bf_api *api = data;
	struct belfry_id token;

	if (!bf_tokens_are_needed(api->tokens) || is_health(request)) {
		return BELFRY_OK;
	}
	return check_token(api, request, &token, err);
}

static enum belfry_status guard_with_token(const struct bf_api *api,
		const struct bf_http_request *request, struct belfry_id *ret_token,
		struct belfry_error *err)
{
	enum belfry_status status = check_token(api, request, ret_token, err);

	return status == BELFRY_OK
			? bf_http_guard_check_with_token(bf_http_request_headers(request),
					  bf_http_request_has_body(request), err)
			: status;
}

enum belfry_status bf_api_guard(const struct bf_api *api, const struct bf_http_request *request,
		struct belfry_id *ret_token, struct belfry_error *err)
{
	const struct bf_http_headers *headers = bf_http_request_headers(request);
	bool is_needed = bf_tokens_are_needed(api->tokens);
	enum belfry_status status = BELFRY_OK;

	*ret_token = (struct belfry_id){{0}};
	if (is_health(request)) {
		return is_needed ? BELFRY_OK : bf_http_guard_check_loopback_host(headers, err);
	}
	if (is_needed) {
		status = guard_with_token(api, request, ret_token, err);
	} else {
		status = bf_http_guard_check_without_token(headers,
				bf_http_request_has_body(request), err);
	}
	const char *name = find_token_parameter(request);
	if (status == BELFRY_OK && name != NULL) {
		return refuse_address(name, BELFRY_INVALID, err);
	}
	return status;
}
