/* The runtime: carries out what the engine's machines order, with threads, clocks and a store, and
 * feeds the results back.
 *
 * Three threads, one for each machine, that may block in the store; a pulse that notices when the
 * process stood still. The planner's lives from new to free (hosts put and remove before start, B22);
 * the other two from start to stop. No thread per schedule, no thread per Run. */
#ifndef BF_RUNTIME_H
#define BF_RUNTIME_H

#include <belfry/handler.h>
#include <belfry/provider.h>

#include "engine/planner.h"
#include "store/store.h"

struct bf_runtime;

struct bf_runtime_config {
	const struct bf_env *env;   /* borrowed; NULL: the system's */
	struct bf_store *store;     /* borrowed, migrated */
	struct belfry_zones *zones; /* borrowed */
	struct belfry_str identity; /* copied, as `version` */
	struct belfry_str version;
	int64_t max_active;
	uint32_t max_concurrent;
	uint64_t max_bytes;
	uint32_t recovery_limit;
	belfry_duration lease;
	belfry_duration beat;
	belfry_duration tick;
	belfry_duration timeout;     /* of requests */
	belfry_duration zones_check; /* between looks at the tz database; 0: 30 s */
	struct belfry_prune prune;   /* ages and counts */
	void *changed_data;
	belfry_changed_fn changed; /* may be NULL: then nothing is noted of changes */
};

BF_MUST_CHECK enum belfry_status bf_runtime_new(const struct bf_runtime_config *config,
		struct bf_runtime **ret_runtime, struct belfry_error *err);
/* Stops first. NULL is fine. */
void bf_runtime_free(struct bf_runtime *runtime);

/* A second start changes nothing (T082). The handler is borrowed until stop. */
BF_MUST_CHECK enum belfry_status bf_runtime_start(struct bf_runtime *runtime,
		const struct belfry_handler *handler, struct belfry_error *err);
/* Drains for `drain`, hands back what is open, ends the incarnation. BELFRY_BUSY: the handler still
 * holds reply handles (they are over). A stopped runtime cannot be started again. */
enum belfry_status bf_runtime_stop(struct bf_runtime *runtime, belfry_duration drain,
		struct belfry_error *err);

/* Put and remove; blocks until each request carries its answer. */
void bf_runtime_apply(struct bf_runtime *runtime, struct bf_plan_request *requests, size_t count);
/* Runs were queued: look at once. */
void bf_runtime_kick(struct bf_runtime *runtime);
/* The host has ended a Run: a record of CONCLUDED or CANCELLED_BY_HOST, answered with OK. The dispatcher
 * lets go of a cancelled one at once, without waiting for the beat that names it. */
void bf_runtime_ended(struct bf_runtime *runtime, const struct belfry_record *record);
/* The host is told, from a thread of ours, that something of this schedule has changed (a Run was queued). */
void bf_runtime_changed(struct bf_runtime *runtime, struct belfry_str schedule);
/* What is counted here and in the machines (not what only the store knows). Any thread. */
void bf_runtime_metrics(struct bf_runtime *runtime, struct belfry_provider_metrics *ret_metrics);

#endif
