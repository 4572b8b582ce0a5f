/* Rows that another tz database was asked for: see plan_zones.c. */
#ifndef BF_PLAN_ZONES_H
#define BF_PLAN_ZONES_H

#include "engine/planner_priv.h"

/* A newer database computed its cursor: it is fired as it stands. */
bool bf_plan_is_foreign(const struct bf_planner *planner, const struct belfry_schedule_row *row);

/* The rows read get the cursors of our own database where theirs is older. BELFRY_OK, BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_plan_compute_anew(struct bf_planner *planner);
/* Of a row of such a read: its cursor as it is stored. */
belfry_time bf_plan_stored_cursor(const struct bf_planner *planner,
		const struct belfry_schedule_row *row);

/* Look for rows with older versions; is_full: and go through all of our own too, once. */
void bf_plan_want_sweep(struct bf_planner *planner, bool is_full);
/* From the versions that were read: which comes next, or that the sweep is over. */
void bf_plan_choose_version(struct bf_planner *planner);
/* The items of a page. BELFRY_OK, BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_plan_sweep(struct bf_planner *planner);
/* A page was not committed, or not as a whole. */
void bf_plan_restart_sweep(struct bf_planner *planner);

#endif
