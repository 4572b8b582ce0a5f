/* Reading requests strictly: parameters, header fields, bodies. Each refusal begins with the name
 * of what is wrong and says what would be right. */
#include "base/error.h"
#include "base/timefmt.h"
#include "host/runs.h"
#include "http/api_priv.h"

static bool is_listed(struct belfry_str name, const char *const *names)
{
	for (; names != NULL && *names != NULL; names++) {
		if (bf_str_equal(name, bf_str(*names))) {
			return true;
		}
	}
	return false;
}

struct belfry_str bf_api_cut(struct belfry_str text)
{
	size_t len = BF_MIN(text.len, 60);

	while (len < text.len && len > 0 && ((unsigned char)text.ptr[len] & 0xc0) == 0x80) {
		len--; /* not within a character */
	}
	return bf_str_slice(text, 0, len);
}

static enum belfry_status refuse_parameter(struct belfry_str name, const char *const *names,
		const char *const *later, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf all = {0};

	name = bf_api_cut(name);
	if (is_listed(name, later)) {
		return bf_error_set(err, BELFRY_INVALID,
				"%.*s: this version does not offer this parameter; leave it out",
				BF_STR_ARGS(name));
	}
	for (size_t i = 0; names[i] != NULL; i++) {
		bf_buf_appendf(&all, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	if (all.len == 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"%.*s: there is no such parameter; none is known here",
				BF_STR_ARGS(name));
	}
	return bf_error_set(err, BELFRY_INVALID,
			"%.*s: there is no such parameter; these are known here: %.*s",
			BF_STR_ARGS(name), BF_STR_ARGS(bf_buf_str(&all)));
}

enum belfry_status bf_api_check_parameters(const struct bf_api_call *call, const char *const *names,
		const char *const *later, struct belfry_error *err)
{
	size_t count = bf_http_request_parameter_count(call->request);

	for (size_t i = 0; i < count; i++) {
		struct belfry_str name = bf_http_request_parameter(call->request, i).name;
		if (!is_listed(name, names)) {
			return refuse_parameter(name, names, later, err);
		}
		for (size_t j = 0; j < i; j++) {
			if (bf_str_equal(name, bf_http_request_parameter(call->request, j).name)) {
				return bf_error_set(err, BELFRY_INVALID,
						"%.*s: it is given twice; give it once",
						BF_STR_ARGS(bf_api_cut(name)));
			}
		}
	}
	return BELFRY_OK;
}

struct belfry_str bf_api_text(const struct bf_api_call *call, const char *name)
{
	return bf_http_request_find_parameter(call->request, name);
}

enum belfry_status bf_api_read_int(const struct bf_api_call *call, const char *name, int64_t *value,
		struct belfry_error *err)
{
	struct belfry_str text = bf_api_text(call, name);

	if (text.ptr == NULL) {
		return BELFRY_OK;
	}
	if (bf_str_parse_int(text, INT64_MIN, INT64_MAX, value) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_INVALID, "%s: \"%.*s\" is not a whole number", name,
				BF_STR_ARGS(bf_api_cut(text)));
	}
	return BELFRY_OK;
}

enum belfry_status bf_api_read_time(const struct bf_api_call *call, const char *name,
		belfry_time *value, struct belfry_error *err)
{
	struct belfry_str text = bf_api_text(call, name);

	if (text.ptr == NULL) {
		return BELFRY_OK;
	}
	if (bf_time_parse(text, value) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_INVALID,
				"%s: \"%.*s\" is not a time like 2026-12-01T09:00:00Z or "
				"2026-12-01T09:00:00%%2B08:00 (a plus is written %%2B here)",
				name, BF_STR_ARGS(bf_api_cut(text)));
	}
	return BELFRY_OK;
}

enum belfry_status bf_api_read_bool(const struct bf_api_call *call, const char *name,
		bool *is_there, bool *value, struct belfry_error *err)
{
	struct belfry_str text = bf_api_text(call, name);

	if (text.ptr == NULL) {
		return BELFRY_OK;
	}
	*value = bf_str_equal(text, BF_STR("true"));
	if (!*value && !bf_str_equal(text, BF_STR("false"))) {
		return bf_error_set(err, BELFRY_INVALID, "%s: \"%.*s\" is not true or false", name,
				BF_STR_ARGS(bf_api_cut(text)));
	}
	*is_there = true;
	return BELFRY_OK;
}

enum belfry_status bf_api_read_duration(const struct bf_api_call *call, const char *name,
		belfry_duration *value, struct belfry_error *err)
{
	struct belfry_str text = bf_api_text(call, name);

	if (text.ptr == NULL) {
		return BELFRY_OK;
	}
	if (bf_duration_parse(text, value) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_INVALID,
				"%s: \"%.*s\" is not a duration like PT15M or 15m", name,
				BF_STR_ARGS(bf_api_cut(text)));
	}
	return BELFRY_OK;
}

enum belfry_status bf_api_read_label(const struct bf_api_call *call, struct belfry_str *ret_name,
		struct belfry_str *ret_value, struct belfry_error *err)
{
	struct belfry_str text = bf_api_text(call, "label");
	size_t equals = 0;

	if (text.ptr == NULL) {
		return BELFRY_OK;
	}
	while (equals < text.len && text.ptr[equals] != '=') {
		equals++;
	}
	if (equals == 0 || equals == text.len) {
		return bf_error_set(err, BELFRY_INVALID,
				"label: \"%.*s\" is not NAME=VALUE, like label=team=ops",
				BF_STR_ARGS(bf_api_cut(text)));
	}
	*ret_name = bf_str_slice(text, 0, equals);
	*ret_value = bf_str_slice(text, equals + 1, text.len);
	return BELFRY_OK;
}

enum belfry_status bf_api_check_media_type(const struct bf_api_call *call, struct belfry_error *err)
{
	struct belfry_str patch = BF_STR("application/merge-patch+json");
	struct belfry_str type = bf_http_request_header(call->request, "Content-Type");

	if (bf_http_request_has_body(call->request) &&
			bf_http_request_method(call->request) != BF_HTTP_METHOD_PATCH &&
			bf_str_equal_nocase(bf_str_slice(type, 0, patch.len), patch)) {
		return bf_error_set(err, BELFRY_MEDIA_TYPE,
				"Content-Type: the body must be application/json; a merge patch is "
				"for PATCH alone");
	}
	return BELFRY_OK;
}

enum belfry_status bf_api_read_body(const struct bf_api_call *call, bool is_needed,
		json_t **ret_body, struct belfry_error *err)
{
	return bf_api_read_long_body(call, is_needed, BF_API_BODY_BYTES, ret_body, err);
}

enum belfry_status bf_api_read_long_body(const struct bf_api_call *call, bool is_needed,
		size_t max_bytes, json_t **ret_body, struct belfry_error *err)
{
	struct belfry_str body = bf_http_request_body(call->request);

	if (body.len == 0 && !is_needed) {
		*ret_body = json_object();
		return *ret_body != NULL ? BELFRY_OK : bf_api_no_memory(err);
	}
	if (body.len == 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"there is no body: send a JSON object, as application/json");
	}
	return bf_json_parse(body, max_bytes, ret_body, err);
}

enum belfry_status bf_api_refuse_body(const struct bf_api_call *call, struct belfry_error *err)
{
	if (bf_http_request_body(call->request).len > 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"this request takes no body: leave it out");
	}
	return BELFRY_OK;
}

enum belfry_status bf_api_read_key(const struct bf_api_call *call, struct belfry_str *ret_key,
		struct belfry_error *err)
{
	const struct bf_http_headers *headers = bf_http_request_headers(call->request);
	size_t count = bf_http_headers_count(headers, "Idempotency-Key");
	struct belfry_str key = bf_http_headers_get(headers, "Idempotency-Key");
	bool is_good = count == 0 || (count == 1 && key.len > 0 && key.len <= BF_REQUEST_KEY_BYTES);

	for (size_t i = 0; i < key.len && is_good; i++) {
		is_good = key.ptr[i] >= 0x20 && key.ptr[i] < 0x7f;
	}
	if (!is_good) {
		return bf_error_set(err, BELFRY_INVALID,
				"Idempotency-Key: one field of 1 to %d printable ASCII characters is "
				"taken",
				BF_REQUEST_KEY_BYTES);
	}
	*ret_key = key;
	return BELFRY_OK;
}
