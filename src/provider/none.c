/* The provider `none`: a host without scheduled deployments starts, answers questions about its records,
 * and refuses everything that would need an engine (contract.md, T085). */
#include "base/alloc.h"
#include "base/error.h"
#include "provider/provider.h"

static enum belfry_status refuse(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_CANNOT,
			"no scheduler provider is configured: choose \"embedded\" to run schedules");
}

static enum belfry_status none_create(const struct belfry_provider_options *options,
		struct belfry_provider **ret_provider, struct belfry_error *err)
{
	(void)options;
	struct belfry_provider *provider = bf_alloc(sizeof(*provider));
	if (provider == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "provider none");
	}
	provider->ops = &bf_none_provider_ops;
	*ret_provider = provider;
	return BELFRY_OK;
}

static void none_free(struct belfry_provider *provider)
{
	bf_free(provider);
}

static void none_properties(struct belfry_provider *provider,
		struct belfry_properties *ret_properties)
{
	(void)provider;
	*ret_properties = (struct belfry_properties){.size = sizeof(*ret_properties),
			.name = "none"};
}

static enum belfry_status none_start(struct belfry_provider *provider,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	(void)provider;
	(void)handler;
	(void)err;
	return BELFRY_OK;
}

static enum belfry_status none_stop(struct belfry_provider *provider, belfry_duration drain,
		struct belfry_error *err)
{
	(void)provider;
	(void)drain;
	(void)err;
	return BELFRY_OK;
}

static enum belfry_status none_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err)
{
	(void)provider;
	(void)schedules;
	(void)err;
	return BELFRY_OK;
}

static enum belfry_status none_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	(void)provider;
	(void)schedule;
	return refuse(err);
}

/* What it does not have is removed already. */
static enum belfry_status none_remove(struct belfry_provider *provider, struct belfry_str schedule,
		int64_t revision, struct belfry_error *err)
{
	(void)provider;
	(void)schedule;
	(void)revision;
	(void)err;
	return BELFRY_OK;
}

static enum belfry_status none_enqueue(struct belfry_provider *provider,
		struct belfry_enqueue *request, struct belfry_error *err)
{
	(void)provider;
	(void)request;
	return refuse(err);
}

static enum belfry_status none_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	(void)provider;
	(void)query;
	(void)arena;
	return refuse(err);
}

static enum belfry_status none_get_run(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	(void)provider;
	(void)run;
	(void)arena;
	(void)ret_run;
	return refuse(err);
}

const struct belfry_provider_ops bf_none_provider_ops = {
		.seams_abi = BELFRY_SEAMS_ABI,
		.size = sizeof(struct belfry_provider_ops),
		.name = "none",
		.create = none_create,
		.free = none_free,
		.properties = none_properties,
		.start = none_start,
		.stop = none_stop,
		.reconcile = none_reconcile,
		.apply = none_apply,
		.remove = none_remove,
		.enqueue = none_enqueue,
		.list_runs = none_list_runs,
		.get_run = none_get_run,
};
