/* Worlds in which a fault of the engine was found, with what it was. A seed is kept after its fault is
 * gone; the world behind a seed moves when the engine or the simulator changes, so the fault itself has
 * a directed scene as well. */
#ifndef TEST_SIM_SEEDS_H
#define TEST_SIM_SEEDS_H

#include "sim/sim.h"

static const struct found_seed {
	uint64_t seed;
	bool is_single;
	belfry_duration beat; /* 0: the world's own */
	unsigned replicas;    /* 0: three */
} found_seeds[] = {
		/* A takeover whose answer was lost was not judged: an abandoned Run was called. */
		{6, false, BELFRY_MINUTE},
		/* The answer to a birth came after the Run's end: it was called once more. */
		{9, false, BELFRY_MINUTE},
		/* Runs that wait for a time from which the clock was set back. */
		{82, false, 0},
		{149, false, 0},
		{33, true, 0},
		/* Coverage that was read for a save answered for an older cursor. */
		{30027, false, 0, 1},
		{30075, false, 0, 1},
};

#endif
