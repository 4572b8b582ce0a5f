/* Due times by walking over every minute: slow, plain, and written without looking at due.c. Local time is
 * given as an array; times are whole minutes. */
#ifndef CALENDAR_WALK_H
#define CALENDAR_WALK_H

#include <belfry/schedule.h>

#include "calendar/zone.h"

#define WALK_DAYS    5
#define WALK_MINUTES (WALK_DAYS * 1440)
/* How near to the ends of a walk its due times count: folds further away are not seen. */
#define WALK_EDGE_S (28 * INT64_C(3600))

struct walk {
	int64_t start;               /* seconds UTC, on a minute */
	int64_t local[WALK_MINUTES]; /* local minute at each minute from start on */
};

/* An expression in sets of its own, and as text. */
struct naive {
	uint64_t minutes;
	uint32_t hours;
	uint32_t weekdays;
	bool is_fixed;
	char text[128];
};

extern const struct naive walk_chosen[];
extern const size_t walk_chosen_count;

struct naive walk_random_expression(uint64_t *seed);
uint64_t walk_random(uint64_t *seed, uint64_t limit);

/* Compares what bf_due_next says between the ends of the walk with what the walk finds, under all nine
 * policies; fails the test where they differ. */
void walk_compare(const struct walk *walk, const struct naive *expression,
		const struct bf_zone *zone);

#endif
