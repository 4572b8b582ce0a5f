/* See believable.h. A time that is not set is 0, and no time is negative. */
#include "model/believable.h"

#include <belfry/schedule.h>

#include "model/run.h"

bool bf_text_is_believable(struct belfry_str text)
{
	return text.len == 0 || text.ptr != NULL;
}

static bool has_ranges(const struct belfry_run *run)
{
	return !bf_id_is_zero(run->id) && run->schedule.len > 0 &&
			run->schedule.len <= BELFRY_SCHEDULE_ID_BYTES &&
			(unsigned)run->trigger < BELFRY_TRIGGER_COUNT &&
			(unsigned)run->state < BELFRY_RUN_STATE_COUNT &&
			(unsigned)run->status < BELFRY_RUN_STATUS_COUNT &&
			(unsigned)run->error < BELFRY_RUN_ERROR_COUNT && run->revision > 0;
}

/* A public status that goes with the state. */
static bool has_status_of_state(const struct belfry_run *run)
{
	if (run->state == BELFRY_RUN_DISPATCHED) {
		return run->status == BELFRY_STATUS_RUNNING ||
				run->status == BELFRY_STATUS_WAITING_INPUT ||
				belfry_run_status_is_terminal(run->status);
	}
	return run->status == bf_run_state_status(run->state);
}

static bool has_times(const struct belfry_run *run)
{
	return run->due_at >= 0 && run->ready_at >= 0 && run->created_at > 0 &&
			run->started_at >= 0 && run->dispatched_at >= 0 && run->finished_at >= 0;
}

bool bf_run_is_believable(const struct belfry_run *run)
{
	return has_ranges(run) && has_status_of_state(run) && has_times(run) &&
			bf_text_is_believable(run->schedule) &&
			bf_text_is_believable(run->session) && bf_text_is_believable(run->turn) &&
			bf_text_is_believable(run->message) && bf_text_is_believable(run->detail) &&
			bf_text_is_believable(run->tz_version);
}

bool bf_attempt_is_believable(const struct belfry_attempt *attempt)
{
	return (unsigned)attempt->step <= BELFRY_STEP_TURN &&
			(unsigned)attempt->error < BELFRY_RUN_ERROR_COUNT &&
			bf_text_is_believable(attempt->message) &&
			bf_text_is_believable(attempt->detail);
}

bool bf_gap_is_believable(const struct belfry_gap *gap)
{
	return bf_text_is_believable(gap->schedule) && bf_text_is_believable(gap->who) &&
			gap->from <= gap->to && gap->count >= 0 && gap->reason >= 0 &&
			gap->reason < BELFRY_GAP_REASON_COUNT;
}
