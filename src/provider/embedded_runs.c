/* Runs in the provider `embedded`: read from the store, and what the host says of one, recorded there. */
#include "base/error.h"
#include "provider/embedded_priv.h"

enum belfry_status bf_embedded_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_RUNS,
			.schedule = query->schedule,
			.statuses = query->statuses,
			.triggers = query->triggers,
			.from = query->since,
			.before = query->before,
			.limit = query->limit,
	};
	enum belfry_status status = bf_store_list(bf_embedded_of(provider)->store, &list, arena,
			err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	query->runs = list.runs;
	query->count = list.count;
	query->has_more = list.has_more;
	return BELFRY_OK;
}

enum belfry_status bf_embedded_get_run(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_RUN_IDS,
			.run_ids = &run,
			.run_id_count = 1,
			.limit = 1,
	};
	enum belfry_status status = bf_store_list(bf_embedded_of(provider)->store, &list, arena,
			err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	if (list.count == 0) {
		return bf_error_set(err, BELFRY_NOT_FOUND, "there is no such Run");
	}
	*ret_run = list.runs[0];
	return BELFRY_OK;
}

enum belfry_status bf_embedded_attempts(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_ATTEMPTS,
			.run_ids = &run,
			.run_id_count = 1,
			.limit = 1000,
	};
	enum belfry_status status = bf_store_list(bf_embedded_of(provider)->store, &list, arena,
			err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	if (list.count == 0) { /* as with most Runs; is there such a one? */
		struct belfry_run found;
		status = bf_embedded_get_run(provider, run, arena, &found, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	*ret_attempts = list.attempts;
	*ret_count = list.count;
	return BELFRY_OK;
}

/* ---- what the host says of one ------------------------------------------------------------------- */

#define TRIES 5

/* An answer that was lost is asked for again: to say the same twice changes nothing. */
static enum belfry_status record(struct bf_embedded *embedded, struct belfry_record *record,
		const char *conflict, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_UNKNOWN;

	for (int try = 0; try < TRIES && status == BELFRY_UNKNOWN; try++) {
		status = bf_store_record(embedded->store, record, 1, err);
	}
	if (status == BELFRY_OK) {
		status = record->result;
	}
	if (status == BELFRY_OK) {
		bf_runtime_ended(embedded->runtime, record);
	}
	if (status == BELFRY_CONFLICT) {
		return bf_error_set(err, status, "%s", conflict);
	}
	if (status == BELFRY_STALE) {
		return bf_error_set(err, status,
				"no Session of this Run is stored: there is nothing that could have "
				"ended");
	}
	if (status == BELFRY_NOT_FOUND) {
		return bf_error_set(err, status, "there is no such Run");
	}
	return bf_embedded_explain(status, err);
}

enum belfry_status bf_embedded_conclude(struct belfry_provider *provider, struct belfry_id run,
		const struct belfry_outcome *outcome, struct belfry_error *err)
{
	struct belfry_record concluded = {
			.kind = BELFRY_RECORD_CONCLUDED,
			.run = run,
			.status = outcome->status,
			.run_flags = outcome->run_flags,
			.error = outcome->error,
			.message = outcome->message,
	};

	return record(bf_embedded_of(provider), &concluded,
			"this Run has ended otherwise, and its first end stays", err);
}

enum belfry_status bf_embedded_cancel(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_str message, struct belfry_error *err)
{
	struct belfry_record cancelled = {
			.kind = BELFRY_RECORD_CANCELLED_BY_HOST,
			.run = run,
			.error = BELFRY_RUN_ERROR_CANCELLED,
			.message = message,
	};

	return record(bf_embedded_of(provider), &cancelled,
			"this Run has ended otherwise, or its turn is admitted: then its Session "
			"alone can end it",
			err);
}

/* ---- counts -------------------------------------------------------------------------------------- */

enum belfry_status bf_embedded_metrics(struct belfry_provider *provider,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {.size = sizeof(list), .kind = BELFRY_LIST_COUNTS, .limit = 1};

	(void)err;
	bf_runtime_metrics(bf_embedded_of(provider)->runtime, ret_metrics);
	if (bf_store_list(bf_embedded_of(provider)->store, &list, &arena, NULL) != BELFRY_OK) {
		ret_metrics->is_store_up = false; /* metrics answer all the same */
		return BELFRY_OK;
	}
	memcpy(ret_metrics->open, list.counts->by_state, sizeof(ret_metrics->open));
	ret_metrics->oldest_queued = list.counts->oldest_queued;
	return BELFRY_OK;
}
