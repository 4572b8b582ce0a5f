/* What the files of the API share. A route's function reads its call and fills the response, or
 * returns a failure with err, which becomes a problem document. */
#ifndef BF_HTTP_API_PRIV_H
#define BF_HTTP_API_PRIV_H

#include <belfry/arena.h>

#include "base/json.h"
#include "http/api.h"

#define BF_API_PATH_WORDS 2

struct bf_api_call {
	struct bf_api *api;
	struct bf_host *host;
	struct belfry_id token; /* who asks; all zero where the host has no tokens */
	const struct bf_http_request *request;
	struct belfry_str words[BF_API_PATH_WORDS]; /* what stood for each {} of the path */
	struct belfry_arena arena;                  /* lives as long as the call */
	struct bf_http_response response;
};

typedef enum belfry_status (*bf_api_fn)(struct bf_api_call *call, struct belfry_error *err);

/* --- who asks (api_auth.c) --- */

/* BELFRY_OK, with the id of the token that was sent; BELFRY_UNAUTHENTICATED; and what guard.h refuses. Any
 * thread; does not block. */
BF_MUST_CHECK enum belfry_status bf_api_guard(const struct bf_api *api,
		const struct bf_http_request *request, struct belfry_id *ret_token,
		struct belfry_error *err);

/* --- asking (api_request.c) --- */

/* Refuses every query parameter that is not named, and one that is given twice. `names` ends with
 * NULL; `later` (may be NULL) are those of a later version. */
BF_MUST_CHECK enum belfry_status bf_api_check_parameters(const struct bf_api_call *call,
		const char *const *names, const char *const *later, struct belfry_error *err);
/* Each leaves *value as it is where the parameter is not there. */
BF_MUST_CHECK enum belfry_status bf_api_read_int(const struct bf_api_call *call, const char *name,
		int64_t *value, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_api_read_time(const struct bf_api_call *call, const char *name,
		belfry_time *value, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_api_read_bool(const struct bf_api_call *call, const char *name,
		bool *is_there, bool *value, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_api_read_duration(const struct bf_api_call *call,
		const char *name, belfry_duration *value, struct belfry_error *err);
/* label=NAME=VALUE, the value perhaps empty. */
BF_MUST_CHECK enum belfry_status bf_api_read_label(const struct bf_api_call *call,
		struct belfry_str *ret_name, struct belfry_str *ret_value,
		struct belfry_error *err);
struct belfry_str bf_api_text(const struct bf_api_call *call, const char *name);

/* The guard lets both media types of JSON in; a merge patch is for PATCH alone. */
BF_MUST_CHECK enum belfry_status bf_api_check_media_type(const struct bf_api_call *call,
		struct belfry_error *err);
/* The body as JSON, owned by the caller. Where there is none: BELFRY_INVALID if it is needed, else
 * an empty object. */
BF_MUST_CHECK enum belfry_status bf_api_read_body(const struct bf_api_call *call, bool is_needed,
		json_t **ret_body, struct belfry_error *err);
/* Words of the request, cut, for a sentence. */
struct belfry_str bf_api_cut(struct belfry_str text);
BF_MUST_CHECK enum belfry_status bf_api_refuse_body(const struct bf_api_call *call,
		struct belfry_error *err);
/* The same, of another size than BF_API_BODY_BYTES. */
BF_MUST_CHECK enum belfry_status bf_api_read_long_body(const struct bf_api_call *call,
		bool is_needed, size_t max_bytes, json_t **ret_body, struct belfry_error *err);
/* The revision that the deployment of the path must have by If-Match; 0: there is no such field, or
 * it is a star. BELFRY_PRECONDITION (api_match.c). */
BF_MUST_CHECK enum belfry_status bf_api_read_if_match(const struct bf_api_call *call,
		int64_t *ret_revision, struct belfry_error *err);
/* The same of anything that has revisions: `get` answers the present one of the path's first word. */
typedef enum belfry_status (*bf_api_get_revision_fn)(struct bf_host *host, struct belfry_str id,
		int64_t *ret_revision, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_api_read_match_of(const struct bf_api_call *call,
		bf_api_get_revision_fn get, int64_t *ret_revision, struct belfry_error *err);
/* Idempotency-Key; empty: there is none. */
BF_MUST_CHECK enum belfry_status bf_api_read_key(const struct bf_api_call *call,
		struct belfry_str *ret_key, struct belfry_error *err);

/* --- answering (api.c) --- */

/* *json is taken. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_api_answer(struct bf_api_call *call, int http_status,
		json_t **json, struct belfry_error *err);
enum belfry_status bf_api_no_memory(struct belfry_error *err);
/* {"items": items (taken), "next_cursor": cursor or null}. */
BF_MUST_CHECK enum belfry_status bf_api_answer_list(struct bf_api_call *call, json_t **items,
		struct belfry_str next_cursor, struct belfry_error *err);

/* --- shapes (api_shapes.c) --- */

/* A Run; attempts NULL: without them. NULL: no memory. Owned by the caller. */
BF_MUST_CHECK json_t *bf_api_new_run(const struct belfry_run *run,
		const struct belfry_attempt *attempts, size_t attempt_count);
/* What became of a due time. */
BF_MUST_CHECK json_t *bf_api_new_why(const struct belfry_why *why);
/* The same in short, as an item of a list. */
BF_MUST_CHECK json_t *bf_api_new_due(const struct belfry_why *why);

/* --- the routes --- */

enum belfry_status bf_api_list_deployments(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_create_deployment(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_deployment(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_edit_deployment(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_delete_deployment(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_enable_deployment(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_disable_deployment(struct bf_api_call *call, struct belfry_error *err);

enum belfry_status bf_api_list_calendars(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_calendar(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_put_calendar(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_delete_calendar(struct bf_api_call *call, struct belfry_error *err);

enum belfry_status bf_api_list_runs(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_list_deployment_runs(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_run_now(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_run(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_replay_run(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_cancel_run(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_output(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_why(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_list_due(struct bf_api_call *call, struct belfry_error *err);

enum belfry_status bf_api_forecast(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_preview(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_apply(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_change_settings(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_openapi(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_settings(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_health(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_readiness(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_stream_events(struct bf_api_call *call, struct belfry_error *err);
enum belfry_status bf_api_show_metrics(struct bf_api_call *call, struct belfry_error *err);

#endif
