/* The table of routes, and its search. A path is matched part by part, each decoded once, so that
 * an id with an escaped slash is one part. {} stands for one part of any text. */
#include "http/routes.h"

#include "base/error.h"

struct route {
	enum bf_http_method method;
	const char *path;
	bf_api_fn function; /* NULL: a later version offers it */
};

static const struct route routes[] = {
		{BF_HTTP_METHOD_GET, "healthz", bf_api_show_health},
		{BF_HTTP_METHOD_GET, "readyz", bf_api_show_readiness},
		{BF_HTTP_METHOD_GET, "metrics", bf_api_show_metrics},
		{BF_HTTP_METHOD_GET, "openapi.json", bf_api_show_openapi},
		{BF_HTTP_METHOD_GET, "v1/deployments", bf_api_list_deployments},
		{BF_HTTP_METHOD_POST, "v1/deployments", bf_api_create_deployment},
		{BF_HTTP_METHOD_GET, "v1/deployments/{}", bf_api_show_deployment},
		{BF_HTTP_METHOD_PATCH, "v1/deployments/{}", bf_api_edit_deployment},
		{BF_HTTP_METHOD_DELETE, "v1/deployments/{}", bf_api_delete_deployment},
		{BF_HTTP_METHOD_POST, "v1/deployments/{}/enable", bf_api_enable_deployment},
		{BF_HTTP_METHOD_POST, "v1/deployments/{}/disable", bf_api_disable_deployment},
		{BF_HTTP_METHOD_GET, "v1/deployments/{}/due", bf_api_list_due},
		{BF_HTTP_METHOD_GET, "v1/deployments/{}/why", bf_api_show_why},
		{BF_HTTP_METHOD_GET, "v1/deployments/{}/runs", bf_api_list_deployment_runs},
		{BF_HTTP_METHOD_POST, "v1/deployments/{}/runs", bf_api_run_now},
		{BF_HTTP_METHOD_POST, "v1/deployments/{}/backfill", NULL},
		{BF_HTTP_METHOD_PUT, "v1/deployments/{}/occurrences/{}", NULL},
		{BF_HTTP_METHOD_DELETE, "v1/deployments/{}/occurrences/{}", NULL},
		{BF_HTTP_METHOD_GET, "v1/runs", bf_api_list_runs},
		{BF_HTTP_METHOD_GET, "v1/runs/{}", bf_api_show_run},
		{BF_HTTP_METHOD_GET, "v1/runs/{}/output", bf_api_show_output},
		{BF_HTTP_METHOD_POST, "v1/runs/{}/replay", bf_api_replay_run},
		{BF_HTTP_METHOD_POST, "v1/runs/{}/cancel", bf_api_cancel_run},
		{BF_HTTP_METHOD_GET, "v1/sessions/{}", NULL},
		{BF_HTTP_METHOD_PATCH, "v1/sessions/{}", NULL},
		{BF_HTTP_METHOD_GET, "v1/sessions/{}/events", NULL},
		{BF_HTTP_METHOD_POST, "v1/preview", bf_api_preview},
		{BF_HTTP_METHOD_GET, "v1/forecast", bf_api_forecast},
		{BF_HTTP_METHOD_POST, "v1/apply", bf_api_apply},
		{BF_HTTP_METHOD_POST, "v1/pause", NULL},
		{BF_HTTP_METHOD_POST, "v1/resume", NULL},
		{BF_HTTP_METHOD_GET, "v1/settings", bf_api_show_settings},
		{BF_HTTP_METHOD_PATCH, "v1/settings", bf_api_change_settings},
		{BF_HTTP_METHOD_GET, "v1/calendars", bf_api_list_calendars},
		{BF_HTTP_METHOD_GET, "v1/calendars/{}", bf_api_show_calendar},
		{BF_HTTP_METHOD_PUT, "v1/calendars/{}", bf_api_put_calendar},
		{BF_HTTP_METHOD_DELETE, "v1/calendars/{}", bf_api_delete_calendar},
		{BF_HTTP_METHOD_GET, "v1/owners", NULL},
		{BF_HTTP_METHOD_GET, "v1/owners/{}", NULL},
		{BF_HTTP_METHOD_GET, "v1/tokens", NULL},
		{BF_HTTP_METHOD_GET, "v1/tokens/{}", NULL},
		{BF_HTTP_METHOD_GET, "v1/audit", NULL},
		{BF_HTTP_METHOD_GET, "v1/replicas", NULL},
		{BF_HTTP_METHOD_GET, "v1/events", bf_api_stream_events},
		{BF_HTTP_METHOD_POST, "v1/login", NULL},
		{BF_HTTP_METHOD_POST, "v1/logout", NULL},
};

/* The part of a path that begins at *at; moves *at behind its slash, or to NULL at the end. */
static struct belfry_str next_part(const char **at)
{
	const char *slash = strchr(*at, '/');
	struct belfry_str part = bf_str(*at);

	if (slash != NULL) {
		part.len = (size_t)(slash - *at);
	}
	*at = slash != NULL ? slash + 1 : NULL;
	return part;
}

static bool is_match(const struct route *route, struct bf_api_call *call)
{
	size_t count = bf_http_request_segment_count(call->request);
	const char *at = route->path;
	size_t index = 0;
	size_t word = 0;

	while (at != NULL && index < count) {
		struct belfry_str part = next_part(&at);
		struct belfry_str given = bf_http_request_segment(call->request, index++);
		bool is_word = bf_str_equal(part, BF_STR("{}"));
		if (is_word ? given.len == 0 : !bf_str_equal(part, given)) {
			return false;
		}
		if (is_word && word < BF_API_PATH_WORDS) {
			call->words[word++] = given;
		}
	}
	return at == NULL && index == count;
}

static void append_method(struct bf_buf *allow, enum bf_http_method method)
{
	bf_buf_append_text(allow, allow->len > 0 ? ", " : "");
	bf_buf_append_text(allow, bf_http_method_text(method));
	if (method == BF_HTTP_METHOD_GET) {
		bf_buf_append_text(allow, ", HEAD");
	}
}

static enum belfry_status refuse(bool is_page, bool is_later, const struct bf_buf *allow,
		struct belfry_error *err)
{
	/* Somebody with a browser: told what there is instead. */
	if (is_page) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"this version has no page yet: use the command line, or the API under /v1");
	}
	if (is_later) {
		return bf_error_set(err, BELFRY_NOT_FOUND, "this version does not offer it");
	}
	if (allow->len > 0) {
		return bf_error_set(err, BELFRY_METHOD_NOT_ALLOWED,
				"this method is not offered here; these are: %.*s",
				BF_STR_ARGS(bf_buf_str(allow)));
	}
	return bf_error_set(err, BELFRY_NOT_FOUND, "%s", belfry_status_text(BELFRY_NOT_FOUND));
}

enum belfry_status bf_routes_find(struct bf_api_call *call, bf_api_fn *ret_function,
		struct bf_buf *ret_allow, struct belfry_error *err)
{
	enum bf_http_method method = bf_http_request_method(call->request);
	bool is_later = false;
	bool is_known = false;

	if (method == BF_HTTP_METHOD_HEAD) {
		method = BF_HTTP_METHOD_GET;
	}
	for (size_t i = 0; i < BF_COUNT(routes); i++) {
		if (!is_match(&routes[i], call)) {
			continue;
		}
		if (routes[i].function != NULL && routes[i].method == method) {
			*ret_function = routes[i].function;
			return BELFRY_OK;
		}
		is_known = true;
		is_later |= routes[i].function == NULL && routes[i].method == method;
		if (routes[i].function != NULL) {
			append_method(ret_allow, routes[i].method);
		}
	}
	/* Where nothing of a path is offered yet, no method of it is. */
	bool is_page = bf_http_request_segment_count(call->request) == 0;
	return refuse(is_page, is_later || (is_known && ret_allow->len == 0), ret_allow, err);
}
