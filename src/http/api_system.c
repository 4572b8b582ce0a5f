/* Routes about the host itself: settings, health, readiness, and the document of the API. */
#include "base/error.h"
#include "host/runs.h"
#include "host/settings_live.h"
#include "http/api_priv.h"
#include "http/openapi.h"
#include "http/problem.h"

static const char *const no_parameters[] = {NULL};

static enum belfry_status check_plain(const struct bf_api_call *call, struct belfry_error *err)
{
	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);

	return status == BELFRY_OK ? bf_api_refuse_body(call, err) : status;
}

static enum belfry_status answer_settings(struct bf_api_call *call, struct belfry_error *err)
{
	json_t *object = NULL;
	enum belfry_status status = bf_host_write_settings(call->host, &object, err);

	return status == BELFRY_OK ? bf_api_answer(call, 200, &object, err) : status;
}

enum belfry_status bf_api_show_settings(struct bf_api_call *call, struct belfry_error *err)
{
	enum belfry_status status = check_plain(call, err);

	return status == BELFRY_OK ? answer_settings(call, err) : status;
}

enum belfry_status bf_api_change_settings(struct bf_api_call *call, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_body(call, true, &body, err);
	}
	if (status == BELFRY_OK) {
		status = bf_host_change_settings(call->host, body, err);
	}
	return status == BELFRY_OK ? answer_settings(call, err) : status;
}

enum belfry_status bf_api_show_openapi(struct bf_api_call *call, struct belfry_error *err)
{
	enum belfry_status status = check_plain(call, err);

	if (status == BELFRY_OK) {
		call->response.status = 200;
		call->response.content_type = "application/json";
		call->response.borrowed = (struct belfry_str){bf_openapi, bf_openapi_len};
	}
	return status;
}

static enum belfry_status answer_word(struct bf_api_call *call, const char *word,
		struct belfry_error *err)
{
	struct bf_json_writer writer;
	json_t *object = NULL;

	bf_json_writer_begin(&writer);
	bf_json_write_text(&writer, "status", word);
	if (bf_json_writer_end(&writer, &object) != BELFRY_OK) {
		return bf_api_no_memory(err);
	}
	return bf_api_answer(call, 200, &object, err);
}

/* The process lives and its workers answer; nothing else is asked. */
enum belfry_status bf_api_show_health(struct bf_api_call *call, struct belfry_error *err)
{
	enum belfry_status status = check_plain(call, err);

	return status == BELFRY_OK ? answer_word(call, "ok", err) : status;
}

/* The 503 is an answer here, not a failure of the request: the host logs the change itself. */
static void answer_not_ready(struct bf_api_call *call, const char *const *reasons, size_t count)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf all = {0};
	struct belfry_error why = {0};

	for (size_t i = 0; i < count; i++) {
		bf_buf_appendf(&all, "%s%s", i > 0 ? "; " : "", reasons[i]);
	}
	(void)bf_error_set(&why, BELFRY_UNAVAILABLE, "%.*s", BF_STR_ARGS(bf_buf_str(&all)));
	bf_http_problem(&why, bf_http_request_id(call->request), &call->response);
}

enum belfry_status bf_api_show_readiness(struct bf_api_call *call, struct belfry_error *err)
{
	const char *reasons[BF_HOST_FAULTS];

	enum belfry_status status = check_plain(call, err);
	if (status != BELFRY_OK) {
		return status;
	}
	size_t count = bf_host_list_faults(call->host, reasons);
	if (count == 0) {
		return answer_word(call, "ready", err);
	}
	answer_not_ready(call, reasons, count);
	return BELFRY_OK;
}
