/* A host for one input of fuzz_api.c: memory store, a clock that stands still, ids that are the same each
 * time, and a provider that takes every schedule, has one Run with output, and runs nothing. */
#ifndef BF_FUZZ_HOST_H
#define BF_FUZZ_HOST_H

#include "host/backend.h"
#include "http/api.h"
#include "http/server_priv.h"
#include "provider/provider.h"
#include "store/memory/memory.h"

#include "fuzz.h"

struct fuzz_host {
	struct bf_env env;
	unsigned char next_id;
	struct bf_store *store;
	struct belfry_scheduler *scheduler;
	struct bf_api api;
};

static struct belfry_provider_ops fuzz_provider;
static struct belfry_zones *fuzz_zones;

static belfry_time fuzz_wall(void *data)
{
	(void)data;
	return INT64_C(1796126400) * BELFRY_SECOND;
}

static struct bf_boot_time fuzz_boot(void *data)
{
	(void)data;
	return (struct bf_boot_time){BELFRY_HOUR};
}

static void fuzz_random(void *data, void *bytes, size_t len)
{
	struct fuzz_host *host = data;

	memset(bytes, ++host->next_id, len);
}

static enum belfry_status fuzz_create(const struct belfry_provider_options *options,
		struct belfry_provider **ret_provider, struct belfry_error *err)
{
	enum belfry_status status = bf_none_provider_ops.create(options, ret_provider, err);

	if (status == BELFRY_OK) {
		(*ret_provider)->ops = &fuzz_provider;
	}
	return status;
}

static enum belfry_status fuzz_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	(void)provider;
	(void)schedule;
	(void)err;
	return BELFRY_OK;
}

static enum belfry_status fuzz_get_run(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	(void)provider;
	(void)arena;
	(void)err;
	*ret_run = (struct belfry_run){.id = run,
			.schedule = BF_STR("x"),
			.revision = 1,
			.created_at = 1};
	return BELFRY_OK;
}

static enum belfry_status fuzz_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	query->runs = belfry_arena_alloc(arena, sizeof(*query->runs));
	fuzz_require(query->limit >= 1 && query->limit <= 200 && query->runs != NULL);
	struct belfry_id last = {{1}};
	enum belfry_status status = fuzz_get_run(provider, last, arena, query->runs, err);
	query->runs->schedule = query->schedule.len > 0 ? query->schedule : BF_STR("x");
	/* One that answers with what was not asked for is not believed. */
	const struct belfry_id none = {{0}};
	bool is_below = memcmp(&query->before, &none, sizeof(none)) == 0 ||
			memcmp(&last, &query->before, sizeof(last)) < 0;
	bool is_asked = (query->statuses == 0 ||
					(query->statuses >> query->runs->status & 1) != 0) &&
			(query->triggers == 0 ||
					(query->triggers >> query->runs->trigger & 1) != 0);
	query->count = is_below && is_asked ? 1 : 0;
	query->has_more = query->count == 1;
	return status;
}

static inline void fuzz_host_open(struct fuzz_host *host)
{
	struct belfry_scheduler_options own = BELFRY_SCHEDULER_OPTIONS_INIT;
	struct belfry_store *raw;
	struct bf_settings settings;

	*host = (struct fuzz_host){.env = {.data = host,
						   .wall = fuzz_wall,
						   .boot = fuzz_boot,
						   .random = fuzz_random}};
	if (fuzz_zones == NULL) {
		bf_json_init();
		fuzz_require(belfry_zones_new(NULL, &fuzz_zones, NULL) == BELFRY_OK);
		fuzz_provider = bf_none_provider_ops;
		fuzz_provider.create = fuzz_create;
		fuzz_provider.apply = fuzz_apply;
		fuzz_provider.get_run = fuzz_get_run;
		fuzz_provider.list_runs = fuzz_list_runs;
	}
	bf_settings_init(&settings, 1);
	own.provider_ops = &fuzz_provider;
	fuzz_require(belfry_scheduler_open(&own, &host->scheduler, NULL) == BELFRY_OK);
	fuzz_require(bf_memory_store_new(&host->env, false, &raw) == BELFRY_OK);
	fuzz_require(bf_store_wrap(&raw, &host->store, NULL) == BELFRY_OK);
	struct bf_host_options options = {.size = sizeof(options),
			.env = &host->env,
			.scheduler = host->scheduler,
			.store = host->store,
			.zones = fuzz_zones,
			.settings = &settings,
			.version = "0"};
	fuzz_require(bf_host_new(&options, &host->api.host, NULL) == BELFRY_OK);
	fuzz_require(bf_host_start(host->api.host, NULL) == BELFRY_OK);
	struct belfry_output output = {.size = sizeof(output),
			.run = {{1}},
			.fence = 1,
			.content_type = BF_STR("text/plain"),
			.bytes = BF_STR("0123456789")};
	fuzz_require(bf_store_output_write(host->store, &output, NULL) == BELFRY_OK);
}

static inline void fuzz_host_close(struct fuzz_host *host)
{
	(void)bf_host_stop(host->api.host, NULL); /* nothing runs */
	bf_host_free(host->api.host);
	belfry_scheduler_close(host->scheduler);
	bf_store_close(host->store);
}

#endif
