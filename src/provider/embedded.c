/* The provider `embedded`: our engine, its runtime, and a store. Its life is here, and its table; each other
 * method asks the runtime or the store, and puts the answer into the seam's words (embedded_schedules.c,
 * embedded_runs.c, reconcile.c, enqueue.c, why.c). Arguments come checked (provider_check.c). No rule of the
 * engine lives here. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"
#include "provider/embedded_priv.h"
#include "provider/provider_priv.h"

struct bf_embedded *bf_embedded_of(struct belfry_provider *provider)
{
	return (struct bf_embedded *)(void *)provider;
}

enum belfry_status bf_embedded_explain(enum belfry_status status, struct belfry_error *err)
{
	if (status == BELFRY_OK) {
		return status;
	}
	if (status == BELFRY_CAPACITY) {
		return bf_error_set(err, status,
				"no more enabled schedules fit: disable one, or raise "
				"max_active_schedules");
	}
	if (err != NULL && err->status == status && err->message[0] != '\0') {
		return status;
	}
	return bf_error_set(err, status, "%s", belfry_status_text(status));
}

static void forward_log(void *data, enum bf_log_level level, const char *line)
{
	const struct bf_embedded *embedded = data;

	embedded->options.log(embedded->options.log_data, (int)level, line);
}

static void embedded_free(struct belfry_provider *provider)
{
	struct bf_embedded *embedded = bf_embedded_of(provider);

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
			.zones_check = o->zones_check,
			.changed_data = o->changed_data,
			.changed = o->changed,
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

#define NEEDS "the provider \"embedded\" "

/* Durations that cannot be meant are refused by name. */
static enum belfry_status check_durations(const struct belfry_provider_options *o,
		struct belfry_error *err)
{
	const struct {
		const char *name;
		belfry_duration value;
		belfry_duration max;
	} rows[] = {
			{"lease", o->lease, BELFRY_DAY},
			{"beat", o->beat, BELFRY_DAY},
			{"tick", o->tick, BELFRY_DAY},
			{"timeout", o->timeout, BELFRY_DAY},
			{"zones_check", o->zones_check, BELFRY_DAY},
			{"keep_age", o->keep_age, 400 * 366 * BELFRY_DAY},
			{"keep_failed_age", o->keep_failed_age, 400 * 366 * BELFRY_DAY},
	};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		char max[BF_DURATION_TEXT_BYTES];
		bf_duration_format(rows[i].max, max);
		if (rows[i].value < 0 || rows[i].value > rows[i].max) {
			return bf_error_set(err, BELFRY_CONFIGURATION,
					NEEDS "takes a %s from 0 (its default) to %s: correct it, "
					      "or " BF_PROVIDER_REMEDY,
					rows[i].name, max);
		}
	}
	return BELFRY_OK;
}

/* A lease shorter than two beats would let a healthy process be declared dead. */
static enum belfry_status check_options(const struct belfry_provider_options *o,
		struct belfry_error *err)
{
	if (o->size < sizeof(*o) || o->store == NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				NEEDS "needs a store, and there is none: name one (sqlite:PATH, "
				      "memory:), or " BF_PROVIDER_REMEDY);
	}
	enum belfry_status status = check_durations(o, err);
	if (status != BELFRY_OK) {
		return status;
	}
	bool is_short = o->lease != 0 && o->beat != 0 && o->lease < 2 * o->beat;
	if (is_short || (o->lease != 0 && o->lease < 4 * BELFRY_MILLISECOND)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				NEEDS "needs a lease of two beats or more, and of 4 ms at least: "
				      "correct it, or " BF_PROVIDER_REMEDY);
	}
	if (o->max_active_schedules < 0 || o->keep_runs < 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				NEEDS "takes no number below zero for max_active_schedules and "
				      "keep_runs: correct it, or " BF_PROVIDER_REMEDY);
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
			bf_provider_add_remedy(err);
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
			.max_active_schedules = bf_embedded_of(provider)
								->options.max_active_schedules,
			.pause_visibility = 0,
	};
}

static enum belfry_status embedded_start(struct belfry_provider *provider,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	return bf_runtime_start(bf_embedded_of(provider)->runtime, handler, err);
}

static enum belfry_status embedded_stop(struct belfry_provider *provider, belfry_duration drain,
		struct belfry_error *err)
{
	return bf_runtime_stop(bf_embedded_of(provider)->runtime, drain, err);
}

static const struct belfry_provider_more_ops embedded_more_ops = {
		.size = sizeof(struct belfry_provider_more_ops),
		.state = bf_embedded_state,
		.why = bf_embedded_why,
		.conclude = bf_embedded_conclude,
		.attempts = bf_embedded_attempts,
		.metrics = bf_embedded_metrics,
		.due = bf_embedded_due,
		.cancel = bf_embedded_cancel,
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
		.apply = bf_embedded_apply,
		.remove = bf_embedded_remove,
		.enqueue = bf_embedded_enqueue,
		.list_runs = bf_embedded_list_runs,
		.get_run = bf_embedded_get_run,
		.more = &embedded_more_ops,
};
