/* Routes that work on rules and sets before anything is stored: preview and apply. */
#include "base/error.h"
#include "host/apply.h"
#include "host/preview.h"
#include "http/api_priv.h"
#include "http/problem.h"

enum belfry_status bf_api_preview(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const no_parameters[] = {NULL};
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	json_t *answer = NULL;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_body(call, true, &body, err);
	}
	if (status == BELFRY_OK) {
		status = bf_preview(call->host, body, &answer, err);
	}
	return status == BELFRY_OK ? bf_api_answer(call, 200, &answer, err) : status;
}

/* A refusal of items is a problem document that has the answer's members too. */
static enum belfry_status answer_refused(struct bf_api_call *call, json_t *answer,
		const struct belfry_error *err)
{
	bf_http_problem_with(err, bf_http_request_id(call->request), answer, &call->response);
	json_decref(answer);
	return BELFRY_OK;
}

enum belfry_status bf_api_apply(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const names[] = {"dry_run", NULL};
	static const char *const later[] = {"set", "prune", NULL};
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	json_t *answer = NULL;
	bool is_there = false;
	bool is_dry_run = false;

	enum belfry_status status = bf_api_check_parameters(call, names, later, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_bool(call, "dry_run", &is_there, &is_dry_run, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_long_body(call, true, BF_API_LARGEST_BODY_BYTES, &body, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_apply(call->host, body, is_dry_run, &answer, err);
	if (status != BELFRY_OK) {
		return answer != NULL ? answer_refused(call, answer, err) : status;
	}
	return bf_api_answer(call, 200, &answer, err);
}
