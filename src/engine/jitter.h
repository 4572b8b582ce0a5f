/* Random numbers for waits alone: seeded, so that a simulated run repeats exactly (splitmix64). */
#ifndef BF_JITTER_H
#define BF_JITTER_H

#include <belfry/types.h>

struct bf_jitter {
	uint64_t state;
};

static inline uint64_t bf_jitter_next(struct bf_jitter *jitter)
{
	uint64_t z = (jitter->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Evenly from [min, max]. */
static inline belfry_duration bf_jitter_between(struct bf_jitter *jitter, belfry_duration min,
		belfry_duration max)
{
	uint64_t span = (uint64_t)(max - min) + 1;

	return min + (belfry_duration)(bf_jitter_next(jitter) % span);
}

#endif
