/* Run now and replay: one insert, stored when it answers (contract.md, guarantee 6). */
#include "base/error.h"
#include "model/run.h"
#include "provider/embedded_priv.h"

#define TRIES 5

/* A replay carries the revision of the Run that it repeats, and so its payload (T053, T054). */
static enum belfry_status find_source(struct bf_embedded *embedded,
		const struct belfry_enqueue *request, int64_t *ret_revision,
		struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_RUN_IDS,
			.run_ids = &request->replayed_from,
			.run_id_count = 1,
			.limit = 1,
	};
	enum belfry_status status = bf_store_list(embedded->store, &list, &arena, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (list.count == 0 || !bf_str_equal(list.runs[0].schedule, request->schedule)) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"this schedule has no Run with the id of replayed_from, or none that is kept");
	}
	*ret_revision = list.runs[0].revision;
	return BELFRY_OK;
}

/* An answer that was lost is asked for again with the same id: what is there by then is ours. */
static enum belfry_status add(struct bf_embedded *embedded, struct belfry_add *run,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_UNKNOWN;
	bool is_again = false;

	for (int try = 0; try < TRIES && status == BELFRY_UNKNOWN; try++) {
		is_again = try > 0;
		status = bf_store_add_runs(embedded->store, run, 1, err);
	}
	if (status != BELFRY_OK) {
		return status == BELFRY_UNKNOWN ? BELFRY_UNAVAILABLE : status;
	}
	if (run->result == BELFRY_CONFLICT && is_again) {
		run->existing = run->id;
		run->is_new = true;
		return BELFRY_OK;
	}
	/* The first try was stored, and its key finds it. */
	bool is_ours = run->result == BELFRY_OK && bf_id_compare(run->existing, run->id) == 0;
	run->is_new = run->is_new || (is_again && is_ours);
	return run->result;
}

enum belfry_status bf_embedded_enqueue(struct belfry_provider *provider,
		struct belfry_enqueue *request, struct belfry_error *err)
{
	struct bf_embedded *embedded = (struct bf_embedded *)provider;
	struct belfry_add run = {
			.schedule = request->schedule,
			.id = bf_run_id_new(&embedded->env),
			.trigger = request->trigger,
			.tz_version = bf_str(belfry_zones_version(embedded->zones)),
			.request_key = request->request_key,
			.request_hash = request->request_hash,
	};
	enum belfry_status status = BELFRY_OK;

	if (request->trigger == BELFRY_TRIGGER_REPLAY) {
		run.replayed_from = request->replayed_from;
		status = find_source(embedded, request, &run.revision, err);
	}
	if (status == BELFRY_NOT_FOUND) {
		return status; /* said there */
	}
	if (status == BELFRY_OK) {
		status = add(embedded, &run, err);
	}
	if (status == BELFRY_NOT_FOUND) {
		return bf_error_set(err, status, "there is no such schedule%s",
				run.revision != 0 ? ", or what the Run was made with is not kept"
						  : "");
	}
	if (status == BELFRY_KEY_REUSED) {
		return bf_error_set(err, status,
				"this request key came with another request before: use a new one");
	}
	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	request->run = run.existing;
	request->is_new = run.is_new;
	bf_runtime_kick(embedded->runtime);
	if (run.is_new) {
		bf_runtime_changed(embedded->runtime, request->schedule);
	}
	return BELFRY_OK;
}
