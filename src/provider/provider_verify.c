/* What a provider answers is foreign data: out of range, out of order, of another Run than the one asked for
 * or pointing nowhere, it must not get further than this. Each function is asked only where the provider
 * said BELFRY_OK. */
#include "model/believable.h"
#include "provider/provider_priv.h"

static bool is_array(const void *items, size_t count, size_t max)
{
	return count <= max && (count == 0 || items != NULL);
}

bool bf_verify_properties(const struct belfry_properties *properties, const char *name)
{
	return properties->name != NULL && strcmp(properties->name, name) == 0 &&
			(unsigned)properties->recovery_scope <= BELFRY_RECOVERY_EXECUTOR &&
			properties->max_active_schedules >= 0 && properties->pause_visibility >= 0;
}

bool bf_verify_enqueue(const struct belfry_enqueue *request)
{
	return !bf_id_is_zero(request->run) && (request->is_new || request->request_key.len > 0);
}

/* ---- Runs --------------------------------------------------------------------------------------- */

/* A Run that has ended has a time of its end, and no other has one. */
static bool is_run(const struct belfry_run *run)
{
	return bf_run_is_believable(run) &&
			belfry_run_status_is_terminal(run->status) == (run->finished_at != 0);
}

bool bf_verify_run(const struct belfry_run *run, struct belfry_id id)
{
	return is_run(run) && bf_id_compare(run->id, id) == 0;
}

static bool is_asked_for(const struct belfry_run *run, const struct belfry_run_query *query)
{
	return (query->schedule.len == 0 || bf_str_equal(run->schedule, query->schedule)) &&
			(query->statuses == 0 || (query->statuses >> run->status & 1) != 0) &&
			(query->triggers == 0 || (query->triggers >> run->trigger & 1) != 0) &&
			(bf_id_is_zero(query->before) || bf_id_compare(run->id, query->before) < 0);
}

bool bf_verify_runs(const struct belfry_run_query *query)
{
	/* More behind an empty page could never be asked for. */
	if (!is_array(query->runs, query->count, query->limit) ||
			(query->has_more && query->count == 0)) {
		return false;
	}
	for (size_t i = 0; i < query->count; i++) {
		const struct belfry_run *run = &query->runs[i];
		if (!is_run(run) || !is_asked_for(run, query) ||
				(i > 0 && bf_id_compare(run[-1].id, run->id) <= 0)) {
			return false;
		}
	}
	return true;
}

bool bf_verify_attempts(const struct belfry_attempt *attempts, size_t count, struct belfry_id run)
{
	if (!is_array(attempts, count, BF_ATTEMPTS_MAX)) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (!bf_attempt_is_believable(&attempts[i]) ||
				bf_id_compare(attempts[i].run, run) != 0) {
			return false;
		}
	}
	return true;
}

/* ---- schedules ---------------------------------------------------------------------------------- */

static bool is_state(const struct belfry_schedule_state *state, struct belfry_str id)
{
	return bf_text_is_believable(state->id) && bf_str_equal(state->id, id) &&
			(!state->is_known || state->revision > 0) &&
			(unsigned)state->phase < BELFRY_PHASE_COUNT &&
			bf_text_is_believable(state->phase_reason) && state->next_due >= 0 &&
			state->last_fire_at >= 0 && state->fired_count >= 0;
}

bool bf_verify_states(const struct belfry_schedule_state *states, const struct belfry_str *ids,
		size_t count)
{
	if (!is_array(states, count, BF_IDS_MAX)) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (!is_state(&states[i], ids[i])) {
			return false;
		}
	}
	return true;
}

bool bf_verify_due(const belfry_time *due, size_t count, size_t max, belfry_time from)
{
	if (count > max) {
		return false;
	}
	for (size_t i = 0; i < count; i++) {
		if (due[i] <= (i > 0 ? due[i - 1] : from) || due[i] == BELFRY_TIME_NEVER) {
			return false;
		}
	}
	return true;
}

/* ---- why ---------------------------------------------------------------------------------------- */

static bool is_gap_of(const struct belfry_why *why)
{
	const struct belfry_gap *gap = why->gap;

	return gap != NULL && bf_gap_is_believable(gap) &&
			(gap->schedule.len == 0 || bf_str_equal(gap->schedule, why->schedule)) &&
			(why->at == 0 || (gap->from <= why->at && why->at <= gap->to));
}

bool bf_verify_why(const struct belfry_why *why)
{
	if (why->from < 0 || why->revision < 0 || !bf_text_is_believable(why->because)) {
		return false;
	}
	switch ((unsigned)why->kind) {
	case BELFRY_WHY_RUN:
		return why->run != NULL && is_run(why->run) &&
				bf_str_equal(why->run->schedule, why->schedule);
	case BELFRY_WHY_GAP: return is_gap_of(why);
	case BELFRY_WHY_NOT_DUE:
	case BELFRY_WHY_COMING:
	case BELFRY_WHY_PENDING:
	case BELFRY_WHY_BEFORE:
	case BELFRY_WHY_OLDER:
	case BELFRY_WHY_DISABLED:
	case BELFRY_WHY_REMOVED: return true;
	default: return false;
	}
}

/* ---- metrics ------------------------------------------------------------------------------------ */

static bool are_counts(const int64_t *counts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (counts[i] < 0) {
			return false;
		}
	}
	return true;
}

bool bf_verify_metrics(const struct belfry_provider_metrics *m)
{
	for (size_t i = 0; i < BF_COUNT(m->runs); i++) {
		if (!are_counts(m->runs[i], BF_COUNT(m->runs[i]))) {
			return false;
		}
	}
	return are_counts(m->due_times, BF_COUNT(m->due_times)) &&
			are_counts(m->lateness, BF_COUNT(m->lateness)) &&
			are_counts(m->open, BF_COUNT(m->open)) &&
			are_counts(m->step_age, BF_COUNT(m->step_age)) && m->lateness_count >= 0 &&
			m->takeovers >= 0 && m->oldest_queued >= 0 && m->lease >= 0;
}
