/* Routes of Runs, and of due times: lists, one, Run now, replay, cancel, why, due. */
#include <stdio.h>

#include "base/error.h"
#include "host/runs.h"
#include "http/api_priv.h"

static const char *const no_parameters[] = {NULL};

#define LIMIT_DEFAULT 50
#define LIMIT_MAX     200
#define DUE_DEFAULT   10

/* --- lists --- */

static const char *status_word(unsigned index)
{
	return belfry_run_status_name((enum belfry_run_status)index);
}

static const char *trigger_word(unsigned index)
{
	return belfry_trigger_name((enum belfry_trigger)index);
}

/* A word of a list, as its bit; 0: it is none. */
static uint32_t bit_of_word(struct belfry_str word, const char *(*name_of)(unsigned),
		unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		if (bf_str_equal(word, bf_str(name_of(i)))) {
			return 1u << i;
		}
	}
	return 0;
}

static enum belfry_status refuse_word(const char *parameter, const char *(*name_of)(unsigned),
		unsigned count, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf all = {0};

	for (unsigned i = 0; i < count; i++) {
		bf_buf_appendf(&all, "%s%s", i > 0 ? ", " : "", name_of(i));
	}
	return bf_error_set(err, BELFRY_INVALID,
			"%s: one or more of these are taken, with a comma between: %.*s", parameter,
			BF_STR_ARGS(bf_buf_str(&all)));
}

static enum belfry_status read_words(const struct bf_api_call *call, const char *parameter,
		const char *(*name_of)(unsigned), unsigned count, uint32_t *bits,
		struct belfry_error *err)
{
	struct belfry_str rest = bf_api_text(call, parameter);

	if (rest.ptr == NULL) {
		return BELFRY_OK;
	}
	for (;;) {
		size_t end = 0;
		while (end < rest.len && rest.ptr[end] != ',') {
			end++;
		}
		uint32_t bit = bit_of_word(bf_str_slice(rest, 0, end), name_of, count);
		if (bit == 0) {
			return refuse_word(parameter, name_of, count, err);
		}
		*bits |= bit;
		if (end == rest.len) {
			return BELFRY_OK;
		}
		rest = bf_str_slice(rest, end + 1, rest.len);
	}
}

/* A cursor is the id of the last Run that was given. */
static enum belfry_status read_cursor(const struct bf_api_call *call, struct belfry_id *before,
		struct belfry_error *err)
{
	struct belfry_str cursor = bf_api_text(call, "cursor");

	if (cursor.len > 0 && belfry_id_parse(cursor, before) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_INVALID,
				"cursor: it is not one that an earlier list gave as next_cursor");
	}
	return BELFRY_OK;
}

static enum belfry_status read_query(const struct bf_api_call *call, struct belfry_run_query *query,
		struct belfry_error *err)
{
	static const char *const names[] = {"cursor", "limit", "status", "trigger", "since", NULL};
	int64_t limit = LIMIT_DEFAULT;

	enum belfry_status status = bf_api_check_parameters(call, names, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = read_cursor(call, &query->before, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_int(call, "limit", &limit, err);
	}
	if (status == BELFRY_OK) {
		status = read_words(call, "status", status_word, BELFRY_RUN_STATUS_COUNT,
				&query->statuses, err);
	}
	if (status == BELFRY_OK) {
		status = read_words(call, "trigger", trigger_word, BELFRY_TRIGGER_COUNT,
				&query->triggers, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_time(call, "since", &query->since, err);
	}
	query->limit = (uint32_t)BF_MIN(BF_MAX(limit, 1), LIMIT_MAX);
	return status;
}

static enum belfry_status answer_runs(struct bf_api_call *call,
		const struct belfry_run_query *query, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();
	char cursor[BELFRY_ID_TEXT_BYTES] = "";
	size_t count = BF_MIN(query->count, (size_t)LIMIT_MAX);

	for (size_t i = 0; i < count; i++) {
		if (json_array_append_new(items, bf_api_new_run(&query->runs[i], NULL, 0)) != 0) {
			return bf_api_no_memory(err);
		}
	}
	if (query->has_more && count > 0) {
		belfry_id_format(query->runs[count - 1].id, cursor);
	}
	return bf_api_answer_list(call, &items, bf_str(cursor), err);
}

static enum belfry_status list_runs(struct bf_api_call *call, struct belfry_str deployment,
		struct belfry_error *err)
{
	struct belfry_run_query query = {.size = sizeof(query), .schedule = deployment};

	enum belfry_status status = read_query(call, &query, err);
	if (status == BELFRY_OK) {
		status = bf_runs_list(call->host, &query, &call->arena, err);
	}
	return status == BELFRY_OK ? answer_runs(call, &query, err) : status;
}

enum belfry_status bf_api_list_runs(struct bf_api_call *call, struct belfry_error *err)
{
	return list_runs(call, (struct belfry_str){0}, err);
}

enum belfry_status bf_api_list_deployment_runs(struct bf_api_call *call, struct belfry_error *err)
{
	return list_runs(call, call->words[0], err);
}

/* --- one --- */

/* With its attempts. */
static enum belfry_status answer_run(struct bf_api_call *call, const struct belfry_run *run,
		struct belfry_error *err)
{
	static const struct belfry_attempt none;
	struct belfry_attempt *attempts = NULL;
	size_t count = 0;

	enum belfry_status status = bf_runs_list_attempts(call->host, run->id, &call->arena,
			&attempts, &count, err);
	if (status != BELFRY_OK) {
		return status;
	}
	json_t *object = bf_api_new_run(run, attempts != NULL ? attempts : &none, count);
	return bf_api_answer(call, 200, &object, err);
}

enum belfry_status bf_api_show_run(struct bf_api_call *call, struct belfry_error *err)
{
	struct belfry_run run;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_runs_get(call->host, call->words[0], &call->arena, &run, err);
	}
	return status == BELFRY_OK ? answer_run(call, &run, err) : status;
}

/* --- Run now, replay --- */

/* The Run was made; where it cannot be read just now, what is known of it is answered. */
static enum belfry_status answer_made(struct bf_api_call *call, struct belfry_id id,
		enum belfry_trigger trigger, struct belfry_error *err)
{
	char text[BELFRY_ID_TEXT_BYTES];
	char location[sizeof("/v1/runs/") + BELFRY_ID_TEXT_BYTES];
	struct belfry_error reading = {0};
	struct belfry_run run = {0};

	belfry_id_format(id, text);
	(void)snprintf(location, sizeof(location), "/v1/runs/%s", text);
	if (bf_runs_get(call->host, bf_str(text), &call->arena, &run, &reading) != BELFRY_OK) {
		run = (struct belfry_run){.id = id, .trigger = trigger};
	}
	bf_http_response_put_header(&call->response, "Location", bf_str(location));
	json_t *object = bf_api_new_run(&run, NULL, 0);
	return bf_api_answer(call, 202, &object, err);
}

/* With the only overlap policy of this version a Run that respects it starts at once as well. */
static enum belfry_status read_run_now(struct bf_api_call *call, bool *respects_overlap,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	struct bf_json_reader reader;

	enum belfry_status status = bf_api_read_body(call, false, &body, err);
	if (status != BELFRY_OK) {
		return status;
	}
	bf_json_reader_begin(&reader, body, "", err);
	(void)bf_json_reader_bool(&reader, "respect_overlap", BF_JSON_NULLABLE, respects_overlap);
	return bf_json_reader_end(&reader);
}

enum belfry_status bf_api_run_now(struct bf_api_call *call, struct belfry_error *err)
{
	struct bf_run_request request = {0};
	bool respects_overlap = false;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_key(call, &request.key, err);
	}
	if (status == BELFRY_OK) {
		status = read_run_now(call, &respects_overlap, err);
	}
	request.request = respects_overlap ? BF_STR("run respect_overlap") : BF_STR("run");
	if (status == BELFRY_OK) {
		status = bf_runs_trigger(call->host, call->words[0], &request, err);
	}
	return status == BELFRY_OK ? answer_made(call, request.run, BELFRY_TRIGGER_MANUAL, err)
				   : status;
}

/* What a later version carries out is refused by name. `body` (owned by the caller) holds the text. */
static enum belfry_status read_replay(struct bf_api_call *call, json_t **body,
		struct belfry_str *deployment, struct belfry_error *err)
{
	static const char *const later[] = {"as_of", "dry_run"};
	struct bf_json_reader reader;

	enum belfry_status status = bf_api_read_body(call, false, body, err);
	if (status != BELFRY_OK) {
		return status;
	}
	bf_json_reader_begin(&reader, *body, "", err);
	(void)bf_json_reader_string(&reader, "deployment_id", BF_JSON_NULLABLE, 1, SIZE_MAX,
			deployment);
	for (size_t i = 0; i < BF_COUNT(later); i++) {
		if (bf_json_reader_has(&reader, later[i])) {
			bf_json_reader_refuse(&reader, later[i], NULL, BELFRY_INVALID,
					"%s: this version does not offer it; leave it out",
					later[i]);
		}
	}
	return bf_json_reader_end(&reader);
}

enum belfry_status bf_api_replay_run(struct bf_api_call *call, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf words = {0};
	struct bf_run_request request = {0};
	struct belfry_str deployment = {0};

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_key(call, &request.key, err);
	}
	if (status == BELFRY_OK) {
		status = read_replay(call, &body, &deployment, err);
	}
	bf_buf_appendf(&words, "replay %.*s", BF_STR_ARGS(call->words[0]));
	if (status == BELFRY_OK && bf_buf_status(&words) != BELFRY_OK) {
		status = bf_api_no_memory(err);
	}
	request.request = bf_buf_str(&words);
	if (status == BELFRY_OK) {
		status = bf_runs_replay(call->host, call->words[0], deployment, &request, err);
	}
	return status == BELFRY_OK ? answer_made(call, request.run, BELFRY_TRIGGER_REPLAY, err)
				   : status;
}

/* --- cancel --- */

static enum belfry_status cancel_run(struct bf_api_call *call, const json_t *body,
		struct belfry_error *err)
{
	struct bf_json_reader reader;
	struct belfry_str reason = {0};
	struct belfry_run run = {0};

	bf_json_reader_begin(&reader, body, "", err);
	(void)bf_json_reader_string(&reader, "reason", BF_JSON_NULLABLE, 0, BF_CANCEL_REASON_BYTES,
			&reason);
	enum belfry_status status = bf_json_reader_end(&reader);
	if (status == BELFRY_OK) {
		status = bf_runs_cancel(call->host, call->words[0], reason, &call->arena, &run,
				err);
	}
	return status == BELFRY_OK ? answer_run(call, &run, err) : status;
}

enum belfry_status bf_api_cancel_run(struct bf_api_call *call, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_read_body(call, false, &body, err);
	}
	return status == BELFRY_OK ? cancel_run(call, body, err) : status;
}

/* --- due times --- */

enum belfry_status bf_api_show_why(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const names[] = {"at", NULL};
	struct belfry_why why;
	belfry_time at = 0;

	enum belfry_status status = bf_api_check_parameters(call, names, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_time(call, "at", &at, err);
	}
	if (status == BELFRY_OK) {
		status = bf_runs_why(call->host, call->words[0], at, &call->arena, &why, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	json_t *object = bf_api_new_why(&why);
	return bf_api_answer(call, 200, &object, err);
}

static enum belfry_status answer_due(struct bf_api_call *call, const struct belfry_why *items,
		size_t count, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *list = json_array();

	for (size_t i = 0; i < count; i++) {
		if (json_array_append_new(list, bf_api_new_due(&items[i])) != 0) {
			return bf_api_no_memory(err);
		}
	}
	return bf_api_answer_list(call, &list, (struct belfry_str){0}, err);
}

enum belfry_status bf_api_list_due(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const names[] = {"from", "to", "n", NULL};
	const struct bf_env *env = bf_host_env(call->host);
	belfry_time from = env->wall(env->data);
	belfry_time to = BELFRY_TIME_NEVER;
	int64_t n = DUE_DEFAULT;
	struct belfry_why *items = NULL;
	size_t count = 0;

	enum belfry_status status = bf_api_check_parameters(call, names, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_time(call, "from", &from, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_time(call, "to", &to, err);
	}
	if (status == BELFRY_OK) {
		status = bf_api_read_int(call, "n", &n, err);
	}
	if (status == BELFRY_OK) {
		status = bf_runs_list_due(call->host, call->words[0], from, to,
				(size_t)BF_MIN(BF_MAX(n, 1), BF_DUE_MAX), &call->arena, &items,
				&count, err);
	}
	return status == BELFRY_OK ? answer_due(call, items, count, err) : status;
}
