/* Routes of deployments: reading the request, asking the host, writing the answer. */
#include "base/error.h"
#include "host/deployment.h"
#include "host/deployments.h"
#include "http/api_priv.h"

static const char *const no_parameters[] = {NULL};

#define LIMIT_DEFAULT 50

static void put_etag(struct bf_api_call *call, int64_t revision)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf etag = {0};

	bf_buf_appendf(&etag, "\"%lld\"", (long long)revision);
	if (bf_buf_status(&etag) != BELFRY_OK) {
		call->response.is_failed = true;
		return;
	}
	bf_http_response_put_header(&call->response, "ETag", bf_buf_str(&etag));
}

static enum belfry_status answer_view(struct bf_api_call *call, int http_status,
		struct bf_deployment_view *view, struct belfry_error *err)
{
	put_etag(call, view->revision);
	return bf_api_answer(call, http_status, &view->json, err);
}

enum belfry_status bf_api_list_deployments(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const names[] = {"cursor", "limit", "q", "name", "enabled", "owner",
			"label", NULL};
	struct bf_deployment_query query = {
			.cursor = bf_api_text(call, "cursor"),
			.limit = LIMIT_DEFAULT,
			.q = bf_api_text(call, "q"),
			.name = bf_api_text(call, "name"),
	};
	struct belfry_str owner = bf_api_text(call, "owner");
	json_t *list = NULL;

	enum belfry_status status = bf_api_check_parameters(call, names, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK && query.name.ptr != NULL && query.name.len == 0) {
		status = bf_error_set(err, BELFRY_INVALID,
				"name: it is empty; give a whole name, or leave it out");
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_label(call, &query.label_name, &query.label_value, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_int(call, "limit", &query.limit, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_bool(call, "enabled", &query.is_enabled_asked,
				&query.is_enabled, err);
	}
	if (status == BELFRY_OK && owner.ptr != NULL &&
			!bf_str_equal(owner, BF_STR(BF_OWNER_DEFAULT))) {
		/* There is one owner; whatever else is named has nothing. */
		json_t *none = json_array();
		return bf_api_answer_list(call, &none, (struct belfry_str){0}, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployments_list(call->host, &query, &list, err);
	}
	return status == BELFRY_OK ? bf_api_answer(call, 200, &list, err) : status;
}

enum belfry_status bf_api_create_deployment(struct bf_api_call *call, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf location = {0};
	struct bf_deployment_view view;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_body(call, true, &body, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployments_create(call->host, body, &view, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	bf_buf_appendf(&location, "/v1/deployments/%s", view.id);
	bf_http_response_put_header(&call->response, "Location", bf_buf_str(&location));
	return answer_view(call, 201, &view, err);
}

enum belfry_status bf_api_show_deployment(struct bf_api_call *call, struct belfry_error *err)
{
	struct bf_deployment_view view;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployments_show(call->host, call->words[0], &view, err);
	}
	return status == BELFRY_OK ? answer_view(call, 200, &view, err) : status;
}

enum belfry_status bf_api_edit_deployment(struct bf_api_call *call, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	struct bf_deployment_view view;
	int64_t revision = 0;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_if_match(call, &revision, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_body(call, true, &body, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployments_edit(call->host, call->words[0], revision, body, &view,
				err);
	}
	return status == BELFRY_OK ? answer_view(call, 200, &view, err) : status;
}

enum belfry_status bf_api_delete_deployment(struct bf_api_call *call, struct belfry_error *err)
{
	int64_t revision = 0;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_if_match(call, &revision, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployments_remove(call->host, call->words[0], revision, err);
	}
	if (status == BELFRY_OK) {
		call->response.status = 204;
	}
	return status;
}

static enum belfry_status switch_deployment(struct bf_api_call *call, bool is_enabled,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	struct bf_deployment_view view;
	struct bf_json_reader reader;
	struct belfry_str reason = {0};
	int64_t revision = 0;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_if_match(call, &revision, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_body(call, false, &body, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	bf_json_reader_begin(&reader, body, "", err);
	if (!is_enabled) {
		(void)bf_json_reader_string(&reader, "reason", BF_JSON_NULLABLE, 0,
				BF_DEPLOYMENT_REASON_BYTES, &reason);
	}
	status = bf_json_reader_end(&reader);
	if (status == BELFRY_OK) {
		status = bf_deployments_enable(call->host, call->words[0], revision, is_enabled,
				reason, &view, err);
	}
	return status == BELFRY_OK ? answer_view(call, 200, &view, err) : status;
}

enum belfry_status bf_api_enable_deployment(struct bf_api_call *call, struct belfry_error *err)
{
	return switch_deployment(call, true, err);
}

enum belfry_status bf_api_disable_deployment(struct bf_api_call *call, struct belfry_error *err)
{
	return switch_deployment(call, false, err);
}
