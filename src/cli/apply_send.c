/* Cuts a set into requests and puts the answers together. What may be done is for the server to say. */
#include "cli/apply_send.h"

#include "base/error.h"
#include "base/str.h"
#include "cli/client.h"
#include "cli/progress.h"

/* Below the server's own limits, and few enough that progress shows and no request takes long. */
#define PART_COUNT 100
#define PART_BYTES (4u << 20)
/* Each deployment is on the disk when its part is answered: on a slow one that takes its time. */
#define PART_MILLI 300000L

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* Takes deployments from *at on, at least one; *at moves behind them. NULL: no memory. */
static json_t *take_part(const json_t *deployments, size_t *at)
{
	BF_CLEANUP(bf_cleanup_json) json_t *part = json_array();
	size_t bytes = 0;

	while (*at < json_array_size(deployments) && json_array_size(part) < PART_COUNT) {
		json_t *one = json_array_get(deployments, *at);

		bytes += json_dumpb(one, NULL, 0, JSON_COMPACT);
		if (json_array_size(part) > 0 && bytes > PART_BYTES) {
			break;
		}
		if (json_array_append(part, one) != 0) {
			return NULL;
		}
		(*at)++;
	}
	return json_incref(part);
}

void bf_apply_set_fini(struct bf_apply_set *set)
{
	json_decref(set->calendar_items);
	set->calendar_items = NULL;
}

/* Each part has the calendars, so that it can be looked at alone; what the first says is what was done. */
static enum belfry_status read_calendars(struct bf_apply_set *set, const json_t *answer,
		struct belfry_error *err)
{
	json_t *items = json_object_get(answer, "calendars");

	if (json_array_size(set->calendars) == 0 || set->calendar_items != NULL) {
		return BELFRY_OK;
	}
	if (json_array_size(items) != json_array_size(set->calendars)) {
		return bf_error_set(err, BELFRY_CONFLICT,
				"this server takes no calendars: in a set: make them with `belfry "
				"calendars set`");
	}
	set->calendar_items = json_incref(items);
	return BELFRY_OK;
}

/* The items of an answer, also of a refusal that has one for each of `count`. */
static enum belfry_status read_items(const struct bf_cli *cli, struct bf_apply_set *set,
		const struct bf_answer *answer, size_t count, json_t *items,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	bool is_done = answer->http_status >= 200 && answer->http_status <= 299;
	enum belfry_status status = bf_json_parse(bf_buf_str(&answer->body), BF_CLIENT_MAX_BYTES,
			&value, NULL);
	json_t *own = json_object_get(value, "items");

	if (status == BELFRY_NOMEM) {
		return no_memory(err);
	}
	if (json_is_array(own) && json_array_size(own) == count) {
		return json_array_extend(items, own) == 0 ? read_calendars(set, value, err)
							  : no_memory(err);
	}
	if (!is_done) {
		return bf_client_problem(cli, answer, err);
	}
	return bf_error_set(err, BELFRY_INTERNAL,
			"the answer of %.120s is not Belfry's: check BELFRY_URL", cli->url);
}

static enum belfry_status send_part(struct bf_cli *cli, struct bf_apply_set *set, json_t *part,
		bool is_dry_run, json_t *items, struct belfry_error *err)
{
	BF_CLEANUP(bf_answer_fini) struct bf_answer answer = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_pack("{s:O}", "deployments", part);

	if (body == NULL ||
			(json_array_size(set->calendars) > 0 &&
					json_object_set(body, "calendars",
							(json_t *)(uintptr_t)set->calendars) !=
							0)) {
		return no_memory(err);
	}
	struct bf_request request = {.method = "POST",
			.path = is_dry_run ? "/v1/apply?dry_run=true" : "/v1/apply",
			.body = body,
			.limit_ms = PART_MILLI,
			.takes_any_status = true};
	enum belfry_status status = bf_client_call(cli, &request, &answer, err);
	return status == BELFRY_OK
			? read_items(cli, set, &answer, json_array_size(part), items, err)
			: status;
}

static enum belfry_status send_all(struct bf_cli *cli, struct bf_apply_set *set, bool is_dry_run,
		json_t **ret_items, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();
	size_t total = json_array_size(set->deployments);
	bool is_alone = total == 0 && json_array_size(set->calendars) > 0;
	enum belfry_status status = items != NULL ? BELFRY_OK : no_memory(err);

	bf_apply_set_fini(set);
	for (size_t at = 0; status == BELFRY_OK && (at < total || is_alone);) {
		BF_CLEANUP(bf_cleanup_json) json_t *part = take_part(set->deployments, &at);

		is_alone = false;
		status = part != NULL ? send_part(cli, set, part, is_dry_run, items, err)
				      : no_memory(err);
		bf_progress_show(cli, is_dry_run ? "looked at" : "applied", json_array_size(items),
				total);
	}
	bf_progress_end(cli);
	if (status == BELFRY_OK) {
		*ret_items = json_incref(items);
	}
	return status;
}

bool bf_apply_is_refused(const struct bf_apply_set *set, const json_t *items)
{
	return bf_apply_count(items, "refused") > 0 ||
			bf_apply_count(set->calendar_items, "refused") > 0;
}

enum belfry_status bf_apply_send(struct bf_cli *cli, struct bf_apply_set *set,
		enum bf_apply_mode mode, json_t **ret_items, bool *ret_is_done,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *looked = NULL;

	*ret_is_done = false;
	if (mode != BF_APPLY_DO) {
		enum belfry_status status = send_all(cli, set, true, &looked, err);

		if (status != BELFRY_OK) {
			return status;
		}
		if (mode == BF_APPLY_LOOK || bf_apply_is_refused(set, looked)) {
			*ret_items = json_incref(looked);
			return BELFRY_OK;
		}
	}
	*ret_is_done = true;
	return send_all(cli, set, false, ret_items, err);
}

size_t bf_apply_count(const json_t *items, const char *outcome)
{
	size_t count = 0;

	for (size_t i = 0; i < json_array_size(items); i++) {
		const json_t *item = json_array_get(items, i);

		count += bf_str_equal(bf_json_str(json_object_get(item, "outcome")),
				bf_str(outcome));
	}
	return count;
}

json_t *bf_apply_counts(const json_t *items)
{
	return json_pack("{s:I, s:I, s:I, s:I}", "created",
			(json_int_t)bf_apply_count(items, "created"), "changed",
			(json_int_t)bf_apply_count(items, "changed"), "unchanged",
			(json_int_t)bf_apply_count(items, "unchanged"), "refused",
			(json_int_t)bf_apply_count(items, "refused"));
}
