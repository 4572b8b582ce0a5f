/* The API's frame: guard, route, answer. Every failure leaves as a problem document, made of
 * public words alone; its detail goes to the log, once, here. */
#include "http/api.h"

#include "base/error.h"
#include "http/problem.h"
#include "http/routes.h"

enum belfry_status bf_api_no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

enum belfry_status bf_api_answer(struct bf_api_call *call, int http_status, json_t **json,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = *json;

	*json = NULL;
	call->response.status = http_status;
	call->response.content_type = "application/json";
	if (value == NULL || bf_json_dump(value, &call->response.body) != BELFRY_OK) {
		return bf_api_no_memory(err);
	}
	bf_buf_append_byte(&call->response.body, '\n');
	return bf_buf_status(&call->response.body) == BELFRY_OK ? BELFRY_OK : bf_api_no_memory(err);
}

enum belfry_status bf_api_answer_list(struct bf_api_call *call, json_t **items,
		struct belfry_str next_cursor, struct belfry_error *err)
{
	struct bf_json_writer writer;
	json_t *list = NULL;

	bf_json_writer_begin(&writer);
	bf_json_write_value(&writer, "items", *items);
	*items = NULL;
	bf_json_write_str_or_null(&writer, "next_cursor", next_cursor);
	if (bf_json_writer_end(&writer, &list) != BELFRY_OK) {
		return bf_api_no_memory(err);
	}
	return bf_api_answer(call, 200, &list, err);
}

static void log_failure(const struct bf_api_call *call, const struct belfry_error *err)
{
	struct belfry_str path = bf_http_request_path(call->request);

	if (belfry_status_http(err->status) < 500) {
		return;
	}
	bf_log(bf_host_env(call->host), BF_LOG_ERROR,
			"event=request_failed request=%.*s method=%s path=%.*s status=%s "
			"driver_code=%d detail=\"%s\"",
			BF_STR_ARGS(bf_http_request_id(call->request)),
			bf_http_method_text(bf_http_request_method(call->request)),
			BF_STR_ARGS(bf_str_slice(path, 0, 200)), belfry_status_name(err->status),
			err->driver_code, err->detail);
}

static void fail(struct bf_api_call *call, const struct bf_buf *allow,
		const struct belfry_error *err)
{
	log_failure(call, err);
	bf_http_response_fini(&call->response);
	bf_http_problem(err, bf_http_request_id(call->request), &call->response);
	if (err->status == BELFRY_METHOD_NOT_ALLOWED) {
		bf_http_response_put_header(&call->response, "Allow", bf_buf_str(allow));
	}
}

static enum belfry_status run(struct bf_api_call *call, struct bf_buf *allow,
		struct belfry_error *err)
{
	bf_api_fn function = NULL;

	enum belfry_status status = bf_api_guard(call->api, call->request, &call->token, err);
	if (status == BELFRY_OK) {
		status = bf_api_check_media_type(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_routes_find(call, &function, allow, err);
	}
	return status == BELFRY_OK ? function(call, err) : status;
}

void bf_api_handle(void *data, struct bf_http_request **request)
{
	struct bf_api *api = data;
	struct bf_api_call call = {
			.api = api,
			.host = api->host,
			.request = *request,
			.arena = BELFRY_ARENA_INIT,
	};
	struct belfry_error err = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf allow = {0};

	enum belfry_status status = run(&call, &allow, &err);
	if (status != BELFRY_OK) {
		err.status = status;
		fail(&call, &allow, &err);
	}
	belfry_arena_fini(&call.arena);
	bf_http_respond(request, &call.response);
}
