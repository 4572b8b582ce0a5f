/* The routes of shared calendars. */
#include "base/error.h"
#include "host/calendars.h"
#include "http/api_priv.h"

#define LIMIT_DEFAULT 50

static const char *const no_parameters[] = {NULL};

/* view->json is taken. */
static enum belfry_status answer_view(struct bf_api_call *call, struct bf_calendar_view *view,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf etag = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf location = {0};

	bf_buf_appendf(&etag, "\"%lld\"", (long long)view->revision);
	bf_buf_appendf(&location, "/v1/calendars/%.*s", BF_STR_ARGS(call->words[0]));
	if (bf_buf_status(&etag) != BELFRY_OK || bf_buf_status(&location) != BELFRY_OK) {
		call->response.is_failed = true;
	}
	bf_http_response_put_header(&call->response, "ETag", bf_buf_str(&etag));
	if (view->is_new) {
		bf_http_response_put_header(&call->response, "Location", bf_buf_str(&location));
	}
	return bf_api_answer(call, view->is_new ? 201 : 200, &view->json, err);
}

enum belfry_status bf_api_list_calendars(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const names[] = {"cursor", "limit", "q", NULL};
	struct bf_calendar_query query = {
			.cursor = bf_api_text(call, "cursor"),
			.limit = LIMIT_DEFAULT,
			.q = bf_api_text(call, "q"),
	};
	json_t *list = NULL;

	enum belfry_status status = bf_api_check_parameters(call, names, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_int(call, "limit", &query.limit, err);
	}
	if (status == BELFRY_OK) {
		status = bf_calendars_list(call->host, &query, &list, err);
	}
	return status == BELFRY_OK ? bf_api_answer(call, 200, &list, err) : status;
}

enum belfry_status bf_api_show_calendar(struct bf_api_call *call, struct belfry_error *err)
{
	struct bf_calendar_view view;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_calendars_show(call->host, call->words[0], &view, err);
	}
	return status == BELFRY_OK ? answer_view(call, &view, err) : status;
}

/* If-None-Match: * is the one form that a change has a use for: make it, or leave what is there. */
static enum belfry_status read_match(const struct bf_api_call *call,
		struct bf_calendar_match *match, struct belfry_error *err)
{
	const struct bf_http_headers *headers = bf_http_request_headers(call->request);
	size_t count = bf_http_headers_count(headers, "If-None-Match");

	match->is_forbidden = count > 0;
	match->is_needed = bf_http_headers_count(headers, "If-Match") > 0;
	if (count > 1 ||
			(count == 1 &&
					!bf_str_equal(bf_http_headers_get(headers, "If-None-Match"),
							BF_STR("*")))) {
		return bf_error_set(err, BELFRY_INVALID,
				"If-None-Match: one star alone is taken: make it where there is none");
	}
	return bf_api_read_match_of(call, bf_calendars_get_revision, &match->revision, err);
}

enum belfry_status bf_api_put_calendar(struct bf_api_call *call, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	struct bf_calendar_match match = {0};
	struct bf_calendar_view view;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = read_match(call, &match, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_body(call, true, &body, err);
	}
	if (status == BELFRY_OK) {
		status = bf_calendars_put(call->host, call->words[0], &match, body, &view, err);
	}
	return status == BELFRY_OK ? answer_view(call, &view, err) : status;
}

enum belfry_status bf_api_delete_calendar(struct bf_api_call *call, struct belfry_error *err)
{
	int64_t revision = 0;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_match_of(call, bf_calendars_get_revision, &revision, err);
	}
	if (status == BELFRY_OK) {
		status = bf_calendars_remove(call->host, call->words[0], revision, err);
	}
	if (status == BELFRY_OK) {
		call->response.status = 204;
	}
	return status;
}
