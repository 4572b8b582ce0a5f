/* Where local times meet a zone: what a cron expression, or one local time, means as instants.
 * Pure; allocates nothing. Instants are seconds UTC. */
#ifndef BF_CALENDAR_DUE_H
#define BF_CALENDAR_DUE_H

#include <belfry/schedule.h>

#include "calendar/cron.h"
#include "calendar/zone.h"

#define BF_DUE_NEVER BF_CRON_NEVER

/* How fixed times are read in one zone. zone is borrowed. */
struct bf_due_policy {
	const struct bf_zone *zone;
	enum belfry_dst_gap gap;
	enum belfry_dst_fold fold;
};

/* The first due second >= from; BF_DUE_NEVER past the year 9999, or where 400 years hold none. */
int64_t bf_due_next(const struct bf_due_policy *policy, const struct bf_cron *cron, int64_t from);

/* What one local second means, taken as a fixed time. */
struct bf_due_local {
	bool is_missing; /* it lies in a gap; then both instants are what the gap policy says */
	bool is_due;     /* false: missing, and the policy is to skip */
	int64_t first;   /* instants at which it is due: one, or two different ones under "both" */
	int64_t last;
};
/* Where the policy is to skip, first and last are still the end of the gap. local: years 1 to 9999. */
struct bf_due_local bf_due_local(const struct bf_due_policy *policy, int64_t local);

#endif
