/* The provider `embedded`: our engine, its runtime, and a store. Each method checks, asks the runtime or
 * the store, and puts the answer into the seam's words; no rule of the engine lives here. */
#include "base/alloc.h"
#include "base/error.h"
#include "calendar/advance.h"
#include "provider/embedded_priv.h"

static struct bf_embedded *self(struct belfry_provider *provider)
{
	return (struct bf_embedded *)provider;
}

enum belfry_status bf_embedded_explain(enum belfry_status status, struct belfry_error *err)
{
	if (status == BELFRY_OK) {
		return status;
	}
	if (status == BELFRY_CAPACITY) {
		return bf_error_set(err, status,
				"no more enabled deployments fit: disable one, or raise "
				"max_active_schedules");
	}
	if (err != NULL && err->status == status && err->message[0] != '\0') {
		return status;
	}
	return bf_error_set(err, status, "%s", belfry_status_text(status));
}

/* ---- life -------------------------------------------------------------------------------------- */

static void forward_log(void *data, enum bf_log_level level, const char *line)
{
	const struct bf_embedded *embedded = data;

	embedded->options.log(embedded->options.log_data, (int)level, line);
}

static void embedded_free(struct belfry_provider *provider)
{
	struct bf_embedded *embedded = self(provider);

	if (embedded == NULL) {
		return;
	}
	bf_runtime_free(embedded->runtime);
	belfry_zones_free(embedded->zones);
	bf_store_close(embedded->store);
	bf_free(embedded);
}

static enum belfry_status new_runtime(struct bf_embedded *embedded, struct belfry_error *err)
{
	const struct belfry_provider_options *o = &embedded->options;
	struct bf_runtime_config config = {
			.env = &embedded->env,
			.store = embedded->store,
			.zones = embedded->zones,
			.identity = o->identity,
			.version = o->version,
			.max_active = o->max_active_schedules,
			.max_concurrent = o->max_concurrent,
			.max_bytes = o->max_payload_bytes,
			.recovery_limit = o->recovery_limit,
			.lease = o->lease,
			.beat = o->beat != 0 ? o->beat : o->lease / 4,
			.tick = o->tick,
			.timeout = o->timeout,
			.prune =
					{
							.keep_age = o->keep_age != 0
									? o->keep_age
									: 30 * BELFRY_DAY,
							.keep_runs = o->keep_runs != 0
									? o->keep_runs
									: 10000,
							.keep_failed_age = o->keep_failed_age != 0
									? o->keep_failed_age
									: 90 * BELFRY_DAY,
							.keep_tombstones = 7 * BELFRY_DAY,
					},
	};
	if (o->lease == 0 && o->beat != 0) {
		config.lease = 4 * o->beat;
	}
	return bf_runtime_new(&config, &embedded->runtime, err);
}

#define REMEDY "choose another provider, or \"none\" to run without scheduled deployments"

/* A lease shorter than two beats would let a healthy process be declared dead. */
static enum belfry_status check_options(const struct belfry_provider_options *o,
		struct belfry_error *err)
{
	const belfry_duration durations[] = {o->lease, o->beat, o->tick, o->timeout, o->keep_age,
			o->keep_failed_age};

	if (o->size < sizeof(*o) || o->store == NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the provider \"embedded\" needs a store, and there is none: " REMEDY);
	}
	for (size_t i = 0; i < BF_COUNT(durations); i++) {
		if (durations[i] < 0 || durations[i] > 400 * 366 * BELFRY_DAY) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					"the provider \"embedded\" was given a duration below zero or above "
					"400 years: correct it, " REMEDY);
		}
	}
	bool is_short = o->lease != 0 && o->beat != 0 && o->lease < 2 * o->beat;
	if (is_short || (o->lease != 0 && o->lease < 4 * BELFRY_MILLISECOND) ||
			o->max_active_schedules < 0 || o->keep_runs < 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the provider \"embedded\" needs a lease of two beats or more, and no "
				"number below zero: correct it, " REMEDY);
	}
	return BELFRY_OK;
}

static enum belfry_status embedded_create(const struct belfry_provider_options *options,
		struct belfry_provider **ret_provider, struct belfry_error *err)
{
	enum belfry_status status = check_options(options, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct bf_embedded *embedded = bf_alloc(sizeof(*embedded));
	if (embedded == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "provider embedded");
	}
	embedded->base.ops = &bf_embedded_provider_ops;
	embedded->options = *options;
	embedded->env = *bf_env_system();
	embedded->env.data = embedded;
	embedded->env.log = options->log != NULL ? forward_log : NULL;
	status = bf_store_share(options->store, &embedded->store, err);
	if (status == BELFRY_OK) {
		status = belfry_zones_new(options->tz_directory, &embedded->zones, err);
		if (status == BELFRY_CONFIGURATION) {
			bf_error_prefix(err, "correct it, or " REMEDY ": ");
		}
	}
	if (status == BELFRY_OK) {
		status = new_runtime(embedded, err);
	}
	if (status != BELFRY_OK) {
		embedded_free(&embedded->base);
		return status;
	}
	*ret_provider = &embedded->base;
	return BELFRY_OK;
}

static void embedded_properties(struct belfry_provider *provider,
		struct belfry_properties *ret_properties)
{
	*ret_properties = (struct belfry_properties){
			.size = sizeof(*ret_properties),
			.name = bf_embedded_provider_ops.name,
			.recovery_scope = BELFRY_RECOVERY_CLUSTER,
			.max_active_schedules = self(provider)->options.max_active_schedules,
			.pause_visibility = 0,
	};
}

static enum belfry_status embedded_start(struct belfry_provider *provider,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	return bf_runtime_start(self(provider)->runtime, handler, err);
}

static enum belfry_status embedded_stop(struct belfry_provider *provider, belfry_duration drain,
		struct belfry_error *err)
{
	return bf_runtime_stop(self(provider)->runtime, drain, err);
}

/* ---- schedules --------------------------------------------------------------------------------- */

static enum belfry_status embedded_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	struct bf_put put;
	enum belfry_status status = bf_put_init(&put, self(provider), schedule, err);

	if (status != BELFRY_OK) {
		return status;
	}
	bf_runtime_apply(self(provider)->runtime, &put.request, 1);
	bf_put_fini(&put);
	return bf_embedded_explain(put.request.status, err);
}

static enum belfry_status embedded_remove(struct belfry_provider *provider,
		struct belfry_str schedule, int64_t revision, struct belfry_error *err)
{
	struct bf_plan_request request = {
			.schedule = schedule,
			.revision = revision,
			.is_remove = true,
	};

	if (revision < 1) {
		return bf_error_at(err, BELFRY_INVALID, "/revision",
				"revision: a number from 1 is needed");
	}
	if (schedule.len == 0 || schedule.len > BELFRY_SCHEDULE_ID_BYTES) {
		return BELFRY_OK; /* no schedule has such an id */
	}
	bf_runtime_apply(self(provider)->runtime, &request, 1);
	return bf_embedded_explain(request.status, err);
}

enum belfry_status bf_embedded_row(struct bf_embedded *embedded, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_schedule_row *ret_row,
		belfry_time *ret_now, struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_SCHEDULES,
			.ids = &id,
			.id_count = 1,
			.limit = 1,
	};
	enum belfry_status status = bf_store_list(embedded->store, &list, arena, err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	if (list.count == 0) {
		return bf_error_set(err, BELFRY_NOT_FOUND, "there is no such deployment");
	}
	*ret_row = list.rows[0];
	*ret_now = list.now;
	return BELFRY_OK;
}

static struct belfry_schedule_state state_of(const struct belfry_schedule_row *row)
{
	return (struct belfry_schedule_state){
			.id = row->id,
			.is_known = !row->is_removed,
			.revision = row->revision,
			.phase = row->phase,
			.phase_reason = row->phase_reason,
			.next_due = row->cursor,
			.last_fire_at = row->last_fire_at,
			.fired_count = row->fired_count,
	};
}

/* A row that this process cannot evaluate says so: it stands still, and somebody must know why. */
static void explain_unreadable(struct bf_embedded *embedded, const struct belfry_schedule_row *row,
		struct belfry_arena *arena, struct belfry_schedule_state *state)
{
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	struct bf_definition definition;
	struct belfry_error err = {0};

	if (row->is_removed || row->phase != BELFRY_PHASE_ACTIVE ||
			bf_embedded_rule(embedded, row, &definition, &rule, &err) == BELFRY_OK) {
		return;
	}
	bf_error_prefix(&err, "it cannot be evaluated here: ");
	if (belfry_arena_copy(arena, bf_str(err.message), &state->phase_reason) != BELFRY_OK) {
		state->phase_reason = BF_STR("it cannot be evaluated here");
	}
}

static void put_state(struct bf_embedded *embedded, struct belfry_schedule_state *state,
		const struct belfry_list *list, struct belfry_str id, struct belfry_arena *arena)
{
	*state = (struct belfry_schedule_state){.id = id, .next_due = BELFRY_TIME_NEVER};
	for (size_t i = 0; i < list->count; i++) {
		if (bf_str_equal(list->rows[i].id, id)) {
			*state = state_of(&list->rows[i]);
			explain_unreadable(embedded, &list->rows[i], arena, state);
			return;
		}
	}
}

static enum belfry_status embedded_state(struct belfry_provider *provider,
		const struct belfry_str *ids, size_t count, struct belfry_arena *arena,
		struct belfry_schedule_state **ret_states, struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_SCHEDULES,
			.ids = ids,
			.id_count = count,
			.limit = (uint32_t)BF_MAX(count, 1),
	};
	struct belfry_schedule_state *states = belfry_arena_alloc(arena,
			BF_MAX(count, 1) * sizeof(*states));

	if (states == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "state");
	}
	if (count > 0) {
		enum belfry_status status = bf_store_list(self(provider)->store, &list, arena, err);
		if (status != BELFRY_OK) {
			return bf_embedded_explain(status, err);
		}
	}
	for (size_t i = 0; i < count; i++) {
		put_state(self(provider), &states[i], &list, ids[i], arena);
	}
	*ret_states = states;
	return BELFRY_OK;
}

static enum belfry_status embedded_due(struct belfry_provider *provider, struct belfry_str schedule,
		belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
		struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	struct belfry_schedule_row row;
	struct bf_definition definition;
	belfry_time now;
	size_t count = 0;
	enum belfry_status status = bf_embedded_row(self(provider), schedule, &arena, &row, &now,
			err);

	if (status == BELFRY_OK) {
		status = bf_embedded_rule(self(provider), &row, &definition, &rule, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	while (count < max && belfry_rule_next(rule, from, &ret_due[count]) == BELFRY_OK) {
		from = ret_due[count++];
	}
	*ret_count = count;
	return BELFRY_OK;
}

/* ---- Runs -------------------------------------------------------------------------------------- */

static uint32_t clamp_limit(uint32_t limit)
{
	/* A negative number that became unsigned is below 1 all the same (T059). */
	return limit == 0 || limit > INT32_MAX ? 1 : BF_MIN(limit, 200);
}

static enum belfry_status embedded_list_runs(struct belfry_provider *provider,
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
			.limit = clamp_limit(query->limit),
	};
	enum belfry_status status = bf_store_list(self(provider)->store, &list, arena, err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	query->runs = list.runs;
	query->count = list.count;
	query->has_more = list.has_more;
	return BELFRY_OK;
}

static enum belfry_status embedded_get_run(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_RUN_IDS,
			.run_ids = &run,
			.run_id_count = 1,
			.limit = 1,
	};
	enum belfry_status status = bf_store_list(self(provider)->store, &list, arena, err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	if (list.count == 0) {
		return bf_error_set(err, BELFRY_NOT_FOUND, "there is no such Run");
	}
	*ret_run = list.runs[0];
	return BELFRY_OK;
}

static enum belfry_status embedded_attempts(struct belfry_provider *provider, struct belfry_id run,
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
	enum belfry_status status = bf_store_list(self(provider)->store, &list, arena, err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	*ret_attempts = list.attempts;
	*ret_count = list.count;
	return BELFRY_OK;
}

static enum belfry_status embedded_conclude(struct belfry_provider *provider, struct belfry_id run,
		const struct belfry_outcome *outcome, struct belfry_error *err)
{
	struct belfry_record record = {
			.kind = BELFRY_RECORD_CONCLUDED,
			.run = run,
			.status = outcome->status,
			.run_flags = outcome->run_flags,
			.error = outcome->error,
			.message = outcome->message,
	};

	if (!belfry_run_status_is_terminal(outcome->status)) {
		return bf_error_set(err, BELFRY_INVALID, "a Run is concluded with a final status");
	}
	enum belfry_status code = bf_store_record(self(provider)->store, &record, 1, err);
	return bf_embedded_explain(code == BELFRY_OK ? record.result : code, err);
}

static enum belfry_status embedded_metrics(struct belfry_provider *provider,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {.size = sizeof(list), .kind = BELFRY_LIST_COUNTS, .limit = 1};

	(void)err;
	bf_runtime_metrics(self(provider)->runtime, ret_metrics);
	if (bf_store_list(self(provider)->store, &list, &arena, NULL) != BELFRY_OK) {
		ret_metrics->is_store_up = false; /* metrics answer all the same */
		return BELFRY_OK;
	}
	memcpy(ret_metrics->open, list.counts->by_state, sizeof(ret_metrics->open));
	ret_metrics->oldest_queued = list.counts->oldest_queued;
	return BELFRY_OK;
}

static const struct belfry_provider_more_ops embedded_more_ops = {
		.size = sizeof(struct belfry_provider_more_ops),
		.state = embedded_state,
		.why = bf_embedded_why,
		.conclude = embedded_conclude,
		.attempts = embedded_attempts,
		.metrics = embedded_metrics,
		.due = embedded_due,
};

const struct belfry_provider_ops bf_embedded_provider_ops = {
		.seams_abi = BELFRY_SEAMS_ABI,
		.size = sizeof(struct belfry_provider_ops),
		.name = "embedded",
		.create = embedded_create,
		.free = embedded_free,
		.properties = embedded_properties,
		.start = embedded_start,
		.stop = embedded_stop,
		.reconcile = bf_embedded_reconcile,
		.apply = embedded_apply,
		.remove = embedded_remove,
		.enqueue = bf_embedded_enqueue,
		.list_runs = embedded_list_runs,
		.get_run = embedded_get_run,
		.more = &embedded_more_ops,
};
