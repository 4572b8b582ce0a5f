/* A host of its own for a measurement: store, provider, targets and host on one SQLite file, without
 * HTTP. */
#ifndef BENCH_HOST_H
#define BENCH_HOST_H

#include "host/host.h"
#include "store-sqlite/sqlite.h"

struct bench_host {
	struct bf_store *store;
	struct belfry_zones *zones;
	struct belfry_scheduler *scheduler;
	struct bf_allow_list *allow;
	struct bf_webhook *webhook;
	struct bf_settings settings;
	struct bf_host *host;
};

/* Opens FOLDER/bench.db, made where it is missing, and starts the host; ends the program where it does
 * not. Settings are the defaults until `adjust` (may be NULL) has changed them. */
void bench_host_open(struct bench_host *bench, const char *folder,
		void (*adjust)(struct bf_settings *settings));
void bench_host_close(struct bench_host *bench);
/* FOLDER/bench.db and what stands beside it. */
void bench_host_forget(const char *folder);

/* Calls of the store so far, reading and writing. */
uint64_t bench_host_calls(const struct bench_host *bench);

#endif
