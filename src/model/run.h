/* A Run as a value: its machine's table, its ids, the names of its states. */
#ifndef BF_MODEL_RUN_H
#define BF_MODEL_RUN_H

#include <belfry/run.h>

#include "base/env.h"
#include "base/id.h"
#include "base/sm.h"

/* From run_state.def. */
extern const struct bf_sm_table bf_run_states;

/* The public status that goes with a dispatch state until a turn is known. */
enum belfry_run_status bf_run_state_status(enum belfry_run_state state);
bool bf_run_state_is_open(enum belfry_run_state state); /* may still call its target */

/* The smallest id that a Run due at or after `due` can have (no id of an earlier millisecond is as
 * large): bounds of scans by time. Times before 1970 give zero. */
struct belfry_id bf_run_id_floor(belfry_time due);
/* The time that an id begins with, to the millisecond. */
belfry_time bf_run_id_time(struct belfry_id id);
/* A UUID version 7: for Runs that somebody asked for. */
struct belfry_id bf_run_id_new(const struct bf_env *env);

#endif
