/* One replica in virtual time: the three machines over a memory store, in one thread. */
#ifndef ENGINE_RIG_H
#define ENGINE_RIG_H

#include "engine/dispatcher.h"
#include "engine/keeper.h"
#include "engine/planner.h"
#include "store/store.h"
#include "support.h"

enum { RIG_CALLS_MAX = 2000 };

struct rig_call {
	struct belfry_id run;
	enum belfry_step step;
};

/* What outlives a crash: the store, the clocks, and what the handler has seen. */
struct rig_world {
	belfry_time wall;
	struct bf_boot_time boot;
	struct bf_env env;
	struct bf_store *store;
	struct bf_buf definition; /* "* * * * * *": made before any fault */
	struct rig_call calls[RIG_CALLS_MAX];
	size_t call_count;
};

struct rig;

void rig_world_init(struct rig_world *world);
void rig_world_fini(struct rig_world *world);

/* NULL: no memory. */
struct rig *rig_new(struct rig_world *world, uint64_t seed);
/* Without a clean end: as a crash. */
void rig_free(struct rig *rig);
/* Lets virtual time pass. */
void rig_run(struct rig *rig, belfry_duration duration);
/* Posts the request and runs until it is answered. */
enum belfry_status rig_put(struct rig *rig, const char *id, int64_t revision, bool is_enabled);
/* Drains, hands back and ends. False: it did not come to an end. */
bool rig_stop(struct rig *rig);

#endif
