/* Whole worlds by their seeds: run one, say what failed, count seconds of neither. */
#ifndef TEST_SIM_WORLDS_H
#define TEST_SIM_WORLDS_H

#include "sim/sim.h"

/* Runs the world and adds up its counts. The invariant that failed, after its trace went to standard
 * error (unless is_quiet); NULL: all held. Static text. */
const char *world_run(struct bf_sim_config config, belfry_duration duration, bool is_quiet,
		struct bf_sim_counts *counts, uint64_t *ret_digest);

#endif
