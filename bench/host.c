/* Putting a host together for a measurement, as belfry/service.c does for `belfry serve`. */
#include "host.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "base/str.h"
#include "ceiling.h"
#include "provider/provider.h"
#include "store/store.h"

static void need_ok(enum belfry_status status, const struct belfry_error *err, const char *what)
{
	if (status != BELFRY_OK) {
		(void)fprintf(stderr, "bench: %s: %s (%s)\n", what, err->message, err->detail);
		exit(2);
	}
}

static void open_store(struct bench_host *bench, const char *folder)
{
	struct belfry_error err = {0};
	char url[600];
	struct belfry_store_options options = {.size = sizeof(options), .owner = BF_STR("bench")};

	(void)snprintf(url, sizeof(url), "sqlite:%s/bench.db", folder);
	options.url = bf_str(url);
	need_ok(bf_store_open(&bf_sqlite_store_ops, &options, &bench->store, &err), &err, "store");
	need_ok(bf_store_migrate(bench->store, &err), &err, "store");
}

static void open_scheduler(struct bench_host *bench)
{
	struct belfry_error err = {0};
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;

	options.engine.store = bf_store_inner(bench->store);
	options.engine.version = BF_STR("bench");
	bf_settings_fill_provider(&bench->settings, &options.engine);
	need_ok(belfry_scheduler_open(&options, &bench->scheduler, &err), &err, "scheduler");
}

static void open_webhook(struct bench_host *bench)
{
	struct belfry_error err = {0};
	struct bf_webhook_options options = BF_WEBHOOK_OPTIONS_INIT;

	need_ok(bf_allow_list_new(&bench->allow), &err, "allow list");
	bf_allow_list_set_private(bench->allow, true);
	options.env = bf_env_system();
	options.allow = bench->allow;
	options.per_host = (unsigned)bench->settings.per_host;
	need_ok(bf_webhook_new(&options, &bench->webhook, &err), &err, "webhook");
}

void bench_host_open(struct bench_host *bench, const char *folder,
		void (*adjust)(struct bf_settings *settings))
{
	struct belfry_error err = {0};

	*bench = (struct bench_host){0};
	bf_json_init();
	bf_settings_init(&bench->settings, sysconf(_SC_NPROCESSORS_ONLN));
	if (adjust != NULL) {
		adjust(&bench->settings);
	}
	open_store(bench, folder);
	need_ok(belfry_zones_new(NULL, &bench->zones, &err), &err, "zones");
	open_scheduler(bench);
	open_webhook(bench);
	struct bf_host_options options = {
			.size = sizeof(options),
			.env = bf_env_system(),
			.scheduler = bench->scheduler,
			.store = bench->store,
			.zones = bench->zones,
			.webhook = bench->webhook,
			.allow = bench->allow,
			.settings = &bench->settings,
			.version = "bench",
	};
	need_ok(bf_host_new(&options, &bench->host, &err), &err, "host");
	need_ok(bf_host_start(bench->host, &err), &err, "start");
}

void bench_host_close(struct bench_host *bench)
{
	(void)bf_host_stop(bench->host, NULL); /* what is open is no matter of ours */
	bf_webhook_free(bench->webhook);
	bf_host_free(bench->host);
	belfry_scheduler_close(bench->scheduler);
	bf_allow_list_free(bench->allow);
	belfry_zones_free(bench->zones);
	bf_store_close(bench->store);
}

void bench_host_forget(const char *folder)
{
	static const char *const endings[] = {"", "-wal", "-shm", ".lock", ".output", ".output-wal",
			".output-shm"};
	char path[600];

	for (size_t i = 0; i < BF_COUNT(endings); i++) {
		(void)snprintf(path, sizeof(path), "%s/bench.db%s", folder, endings[i]);
		(void)unlink(path);
	}
}

uint64_t bench_host_calls(const struct bench_host *bench)
{
	struct bf_sqlite_counts counts;

	bf_sqlite_get_counts(bf_store_inner(bench->store), &counts);
	return counts.operations + counts.reads;
}
