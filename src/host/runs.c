/* Runs: questions and requests, passed to the provider, with the host's rules in front: the
 * deployment must be there, and a request key goes with a hash of what was asked for.
 *
 * Not here  the JSON of a Run, and the words of `why`: the HTTP layer's. */
#include "host/runs.h"

#include "base/error.h"
#include "base/hash.h"
#include "host/backend.h"
#include "host/deployments.h"
#include "host/host_priv.h"

/* A deployment that was deleted is found by its Runs, as long as these are kept; one that never was has
 * none. */
static enum belfry_status list_deleted(struct bf_host *host, struct belfry_run_query *query,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct belfry_run_query any = {.size = sizeof(any),
			.schedule = query->schedule,
			.limit = 1};
	struct belfry_id id;

	if (belfry_id_parse(query->schedule, &id) != BELFRY_OK) {
		return bf_record_not_found(err);
	}
	enum belfry_status status = belfry_scheduler_list_runs(host->options.scheduler, &any, arena,
			err);
	if (status == BELFRY_CANNOT || (status == BELFRY_OK && any.count == 0)) {
		return bf_record_not_found(err);
	}
	return status != BELFRY_OK
			? status
			: belfry_scheduler_list_runs(host->options.scheduler, query, arena, err);
}

enum belfry_status bf_runs_list(struct bf_host *host, struct belfry_run_query *query,
		struct belfry_arena *arena, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	query->size = sizeof(*query);
	if (query->schedule.len > 0) {
		status = bf_deployments_check_id(host, query->schedule, err);
	}
	if (status == BELFRY_NOT_FOUND) {
		return list_deleted(host, query, arena, err);
	}
	return status != BELFRY_OK
			? status
			: belfry_scheduler_list_runs(host->options.scheduler, query, arena, err);
}

enum belfry_status bf_runs_get(struct bf_host *host, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	struct belfry_id run;

	if (belfry_id_parse(id, &run) != BELFRY_OK) {
		return bf_record_not_found(err);
	}
	enum belfry_status status = belfry_scheduler_get_run(host->options.scheduler, run, arena,
			ret_run, err);
	return status == BELFRY_NOT_FOUND ? bf_record_not_found(err) : status;
}

enum belfry_status bf_runs_list_attempts(struct bf_host *host, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err)
{
	*ret_attempts = NULL;
	*ret_count = 0;
	enum belfry_status status = belfry_scheduler_attempts(host->options.scheduler, run, arena,
			ret_attempts, ret_count, err);
	return status == BELFRY_CANNOT ? BELFRY_OK : status;
}

enum belfry_status bf_runs_read_output(struct bf_host *host, struct belfry_id run, uint64_t offset,
		size_t max, struct belfry_arena *arena, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err)
{
	enum belfry_status status = bf_backend_read_output(host->options.store, run, offset, max,
			arena, ret_bytes, ret_length, err);

	if (status == BELFRY_NOT_FOUND) {
		*ret_bytes = (struct belfry_str){0};
		*ret_length = 0;
		return BELFRY_OK;
	}
	return status;
}

/* --- Run now, replay --- */

static enum belfry_status hash_request(struct belfry_str request, uint64_t *ret_hash,
		struct belfry_error *err)
{
	unsigned char digest[BF_SHA256_BYTES];
	uint64_t hash = 0;

	if (bf_sha256(&request, 1, digest) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	for (size_t i = 0; i < 8; i++) {
		hash = hash << 8 | digest[i];
	}
	*ret_hash = hash;
	return BELFRY_OK;
}

static enum belfry_status enqueue(struct bf_host *host, struct belfry_enqueue *enqueued,
		struct bf_run_request *request, struct belfry_error *err)
{
	enqueued->size = sizeof(*enqueued);
	enqueued->request_key = request->key;
	enum belfry_status status = hash_request(request->request, &enqueued->request_hash, err);
	if (status != BELFRY_OK) {
		return status;
	}
	status = belfry_scheduler_enqueue(host->options.scheduler, enqueued, err);
	if (status == BELFRY_KEY_REUSED) {
		return bf_error_set(err, status,
				"Idempotency-Key: this key came with another request before; use a "
				"new key for a new request");
	}
	if (status == BELFRY_NOT_FOUND) {
		return bf_record_not_found(err);
	}
	if (status == BELFRY_OK) {
		request->run = enqueued->run;
		request->is_new = enqueued->is_new;
	}
	return status;
}

enum belfry_status bf_runs_trigger(struct bf_host *host, struct belfry_str deployment,
		struct bf_run_request *request, struct belfry_error *err)
{
	struct belfry_enqueue enqueued = {
			.schedule = deployment,
			.trigger = BELFRY_TRIGGER_MANUAL,
	};
	enum belfry_status status = bf_deployments_check_id(host, deployment, err);

	return status == BELFRY_OK ? enqueue(host, &enqueued, request, err) : status;
}

enum belfry_status bf_runs_replay(struct bf_host *host, struct belfry_str run,
		struct belfry_str deployment, struct bf_run_request *request,
		struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_run source;

	enum belfry_status status = bf_runs_get(host, run, &arena, &source, err);
	if (status == BELFRY_OK && deployment.len > 0 &&
			!bf_str_equal_nocase(deployment, source.schedule)) {
		status = bf_record_not_found(err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployments_check_id(host, source.schedule, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_enqueue enqueued = {
			.schedule = source.schedule,
			.trigger = BELFRY_TRIGGER_REPLAY,
			.replayed_from = source.id,
	};
	return enqueue(host, &enqueued, request, err);
}

/* --- cancel --- */

/* The seam's own words, where it has said nothing more than the status. */
static void explain_conflict(const struct belfry_run *run, struct belfry_error *err)
{
	if (belfry_run_status_is_terminal(run->status)) {
		(void)bf_error_set(err, BELFRY_CONFLICT,
				"it has ended already, as %s: there is nothing to cancel",
				belfry_run_status_name(run->status));
	} else {
		(void)bf_error_set(err, BELFRY_CONFLICT,
				"its turn is admitted: only the Session that it started can end it "
				"now");
	}
}

enum belfry_status bf_runs_cancel(struct bf_host *host, struct belfry_str run,
		struct belfry_str reason, struct belfry_arena *arena, struct belfry_run *ret_run,
		struct belfry_error *err)
{
	struct belfry_id id;

	if (belfry_id_parse(run, &id) != BELFRY_OK) {
		return bf_record_not_found(err);
	}
	enum belfry_status status = belfry_scheduler_cancel(host->options.scheduler, id, reason,
			err);
	if (status == BELFRY_NOT_FOUND) {
		return bf_record_not_found(err);
	}
	if (status != BELFRY_OK && status != BELFRY_CONFLICT) {
		return status;
	}
	bool is_conflict = status == BELFRY_CONFLICT;
	status = bf_runs_get(host, run, arena, ret_run, err);
	if (status == BELFRY_OK && is_conflict) {
		explain_conflict(ret_run, err);
		return BELFRY_CONFLICT;
	}
	return status;
}

/* --- why, due --- */

enum belfry_status bf_runs_why(struct bf_host *host, struct belfry_str deployment, belfry_time at,
		struct belfry_arena *arena, struct belfry_why *ret_why, struct belfry_error *err)
{
	enum belfry_status status = bf_deployments_check_id(host, deployment, err);

	if (status != BELFRY_OK) {
		return status;
	}
	*ret_why = (struct belfry_why){
			.size = sizeof(*ret_why),
			.schedule = deployment,
			.at = at,
			.nearest_after = BELFRY_TIME_NEVER,
	};
	return belfry_scheduler_why(host->options.scheduler, ret_why, arena, err);
}

/* Where the provider cannot say, the calendar does. */
static enum belfry_status due_by_calendar(struct bf_host *host, const struct bf_deployment *d,
		belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
		struct belfry_error *err)
{
	struct belfry_rule *rule = NULL;
	size_t count = 0;

	enum belfry_status status = bf_deployment_parse_rule(d, host->options.zones, &rule, err);
	if (status != BELFRY_OK) {
		return status;
	}
	while (count < max && belfry_rule_next(rule, from, &ret_due[count]) == BELFRY_OK) {
		from = ret_due[count++];
	}
	belfry_rule_free(rule);
	*ret_count = count;
	return BELFRY_OK;
}

static enum belfry_status fill_item(struct bf_host *host, const struct bf_deployment *d,
		belfry_time due, belfry_time now, struct belfry_arena *arena,
		struct belfry_why *item, struct belfry_error *err)
{
	*item = (struct belfry_why){.size = sizeof(*item), .schedule = bf_str(d->id), .at = due};
	if (due > now) {
		item->due = due;
		item->kind = d->is_enabled ? BELFRY_WHY_COMING : BELFRY_WHY_DISABLED;
		return BELFRY_OK;
	}
	enum belfry_status status = belfry_scheduler_why(host->options.scheduler, item, arena, err);
	item->due = due;
	if (status == BELFRY_CANNOT) {
		item->kind = BELFRY_WHY_PENDING;
		return BELFRY_OK;
	}
	return status;
}

static enum belfry_status fill_items(struct bf_host *host, const struct bf_deployment *d,
		const belfry_time *due, size_t count, struct belfry_arena *arena,
		struct belfry_why *items, struct belfry_error *err)
{
	belfry_time now = host->options.env->wall(host->options.env->data);
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < count && status == BELFRY_OK; i++) {
		status = fill_item(host, d, due[i], now, arena, &items[i], err);
	}
	return status;
}

enum belfry_status bf_runs_list_due(struct bf_host *host, struct belfry_str deployment,
		belfry_time from, belfry_time to, size_t max, struct belfry_arena *arena,
		struct belfry_why **ret_items, size_t *ret_count, struct belfry_error *err)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	belfry_time due[BF_DUE_MAX];
	size_t count = 0;

	max = BF_MIN(BF_MAX(max, 1), BF_DUE_MAX);
	if (to < from) {
		return bf_error_set(err, BELFRY_INVALID,
				"to: it is before from; give a later time, or leave it out");
	}
	enum belfry_status status = bf_record_load(host, deployment, &d, err);
	if (status != BELFRY_OK) {
		return status;
	}
	status = belfry_scheduler_due(host->options.scheduler, deployment, from, due, max, &count,
			err);
	if (status == BELFRY_CANNOT || status == BELFRY_NOT_FOUND) {
		status = due_by_calendar(host, &d, from, due, max, &count, err);
	}
	while (status == BELFRY_OK && count > 0 && due[count - 1] > to) {
		count--;
	}
	struct belfry_why *items = belfry_arena_alloc(arena, (count + 1) * sizeof(*items));
	if (status == BELFRY_OK && items == NULL) {
		status = bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (status == BELFRY_OK) {
		status = fill_items(host, &d, due, count, arena, items, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	for (size_t i = 0; i < count; i++) {
		items[i].schedule = deployment; /* d goes */
	}
	*ret_items = items;
	*ret_count = count;
	return BELFRY_OK;
}
