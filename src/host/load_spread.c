/* The plan: which schedules to spread, and how far, so that the busiest minute has half as many.
 *
 * It tries windows from short to long and takes the first that does. With one window it goes from the busiest
 * minute down: of those that get ready there it changes as many as must leave it, first those that are due
 * in most of the crowded minutes, so that few are changed. Where a Run then lies is decided by its id; so
 * each change is carried out on a copy of the counts, and the busiest minute is looked for anew.
 *
 * Invariants  no window is longer than the shortest time between two due times of its schedule: a Run is
 *             never ready after the next one is due. A window that is there already is never made shorter.
 *             What is answered was counted anew from the rules, not taken from the copy.
 * Not here    counting (load.c). */
#include "host/load.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/str.h"
#include "base/timefmt.h"

/* Minutes. A window of one minute leaves whoever is due at its beginning where it is. */
static const belfry_duration windows[] = {2 * BELFRY_MINUTE, 5 * BELFRY_MINUTE, 10 * BELFRY_MINUTE,
		15 * BELFRY_MINUTE, 30 * BELFRY_MINUTE, BELFRY_HOUR};
#define FIRST_WINDOW 1 /* that is tried for all; the shorter one is for who has no time for more */

struct candidate {
	uint32_t group;
	uint32_t crowded;
	uint32_t in_minute; /* what each of its members has in the minute in question */
};

struct planning {
	struct bf_load *load;
	struct bf_load_plan *plan;
	uint32_t *work; /* the counts with the changes so far */
	struct candidate *candidates;
	size_t candidate_count;
	belfry_duration window; /* the longest of this try */
	uint32_t target;
};

static void planning_fini(struct planning *p)
{
	bf_free(p->work);
	bf_free(p->candidates);
}

static bool is_late(const struct bf_load *load)
{
	return load->is_late != NULL && load->is_late(load->data);
}

/* --- what may be changed --- */

/* The shortest time between two due times around and within the counted time; stops below the shortest
 * window. A rule that is due once at most has all the time. */
static belfry_duration find_gap(const struct bf_load *load, const struct belfry_rule *rule)
{
	belfry_time end = load->from + (belfry_duration)load->minute_count * BELFRY_MINUTE;
	belfry_duration gap = INT64_MAX;
	belfry_time due;
	belfry_time next;

	if (belfry_rule_next(rule, load->from - BELFRY_HOUR, &due) != BELFRY_OK) {
		return gap;
	}
	while (due < end && gap >= windows[0] && belfry_rule_next(rule, due, &next) == BELFRY_OK) {
		gap = BF_MIN(gap, bf_time_since(next, due));
		due = next;
	}
	return gap;
}

/* The longest window up to this try's that the group's rule has time for. 0: it is left alone. */
static belfry_duration window_of(const struct planning *p, const struct bf_load_group *group)
{
	belfry_duration window = 0;

	for (size_t i = 0; i < BF_COUNT(windows); i++) {
		if (windows[i] <= p->window && windows[i] <= group->gap) {
			window = windows[i];
		}
	}
	return group->max_fires == 0 && window > group->spread ? window : 0;
}

/* How many of a member's Runs get ready in the minute, as it is now. */
static enum belfry_status count_in_minute(const struct bf_load *load,
		const struct bf_load_group *group, uint32_t minute, uint32_t *ret_count)
{
	struct belfry_forecast_options options = BELFRY_FORECAST_OPTIONS_INIT;
	char id[BELFRY_ID_TEXT_BYTES];

	*ret_count = 0;
	belfry_id_format(load->members[group->first].id, id);
	options.from = load->from + (belfry_duration)minute * BELFRY_MINUTE;
	options.to = options.from + BELFRY_MINUTE;
	options.since = group->since;
	options.schedule = bf_str(id);
	options.spread = group->spread;
	return belfry_rule_forecast(group->rule, &options, ret_count, 1, NULL);
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *left = a;
	const struct candidate *right = b;

	if (left->crowded != right->crowded) {
		return left->crowded > right->crowded ? -1 : 1;
	}
	return left->group < right->group ? -1 : 1;
}

/* The groups of which members can still be changed, and get ready in the minute. */
static enum belfry_status find_candidates(struct planning *p, uint32_t minute)
{
	enum belfry_status status = BELFRY_OK;

	p->candidate_count = 0;
	for (size_t i = 0; i < p->load->group_count && status == BELFRY_OK; i++) {
		const struct bf_load_group *group = &p->load->groups[i];
		uint32_t count = 0;
		if (group->changed_count == group->member_count || group->crowded == 0 ||
				window_of(p, group) == 0) {
			continue;
		}
		status = count_in_minute(p->load, group, minute, &count);
		if (count > 0) {
			p->candidates[p->candidate_count++] = (struct candidate){
					.group = (uint32_t)i,
					.crowded = group->crowded,
					.in_minute = count,
			};
		}
	}
	if (p->candidate_count > 1) {
		qsort(p->candidates, p->candidate_count, sizeof(*p->candidates),
				compare_candidates);
	}
	return status;
}

/* --- changing --- */

/* Adds to `work`, or takes from it, what the member has with a spread. */
static enum belfry_status put_load(struct planning *p, const struct bf_load_group *group,
		uint32_t member, belfry_duration spread, bool is_added)
{
	struct bf_load *load = p->load;

	memset(load->scratch, 0, load->minute_count * sizeof(*load->scratch));
	enum belfry_status status = bf_load_add(load, group, member, spread, load->scratch);
	for (size_t i = 0; i < load->minute_count && status == BELFRY_OK; i++) {
		if (is_added) {
			p->work[i] += load->scratch[i];
		} else {
			p->work[i] -= BF_MIN(p->work[i], load->scratch[i]);
		}
	}
	return status;
}

static enum belfry_status change_next(struct planning *p, struct bf_load_group *group)
{
	uint32_t member = group->first + group->changed_count;

	group->window = window_of(p, group);
	enum belfry_status status = put_load(p, group, member, group->spread, false);
	if (status == BELFRY_OK) {
		status = put_load(p, group, member, group->window, true);
	}
	group->changed_count++;
	p->plan->change_count++;
	return status;
}

/* Changes as many as must leave the minute, as if each window were cut into minutes of equal shares: one
 * share stays. *ret_is_changed: there was something to change. */
static enum belfry_status relieve(struct planning *p, uint32_t minute, bool *ret_is_changed)
{
	enum belfry_status status = find_candidates(p, minute);
	int64_t excess = (int64_t)(p->work[minute] - p->target) * BELFRY_MINUTE;

	*ret_is_changed = p->candidate_count > 0;
	for (size_t i = 0; i < p->candidate_count && excess > 0; i++) {
		const struct candidate *candidate = &p->candidates[i];
		struct bf_load_group *group = &p->load->groups[candidate->group];
		belfry_duration window = window_of(p, group);
		int64_t relief = BELFRY_MINUTE - BELFRY_MINUTE * BELFRY_MINUTE / window;
		while (status == BELFRY_OK && group->changed_count < group->member_count &&
				excess > 0 && p->plan->change_count < BF_LOAD_CHANGES) {
			status = change_next(p, group);
			excess -= relief * candidate->in_minute;
		}
	}
	return status;
}

static uint32_t busiest(const uint32_t *counts, size_t minute_count)
{
	uint32_t busiest = 0;

	for (size_t i = 1; i < minute_count; i++) {
		if (counts[i] > counts[busiest]) {
			busiest = (uint32_t)i;
		}
	}
	return busiest;
}

/* --- why not --- */

/* What most of the minute's load is, that is not changed. */
static enum belfry_status find_obstacle(struct planning *p, uint32_t minute)
{
	uint64_t close = 0;
	uint64_t held = 0;
	uint64_t rest = 0;
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < p->load->group_count && status == BELFRY_OK; i++) {
		const struct bf_load_group *group = &p->load->groups[i];
		uint32_t count = 0;
		status = count_in_minute(p->load, group, minute, &count);
		uint64_t all = (uint64_t)count * (group->member_count - group->changed_count);
		if (count > p->target) {
			p->plan->obstacle = BF_LOAD_ONE_ALONE;
			p->plan->member = group->first;
			return status;
		}
		if (group->spread > 0 || group->max_fires > 0) {
			held += all;
		} else if (group->gap < windows[0]) {
			close += all;
		} else {
			rest += all;
		}
	}
	if (close > held && close > rest) {
		p->plan->obstacle = BF_LOAD_TOO_CLOSE;
	} else {
		p->plan->obstacle = held > rest ? BF_LOAD_IS_SPREAD : BF_LOAD_NOT_ENOUGH;
	}
	return status;
}

/* --- trying --- */

static void begin_try(struct planning *p, belfry_duration window)
{
	p->window = window;
	p->plan->obstacle = BF_LOAD_POSSIBLE;
	p->plan->change_count = 0;
	memcpy(p->work, p->load->counts, p->load->minute_count * sizeof(*p->work));
	for (size_t i = 0; i < p->load->group_count; i++) {
		p->load->groups[i].changed_count = 0;
		p->load->groups[i].window = 0;
	}
}

static enum belfry_status try_window(struct planning *p, belfry_duration window)
{
	enum belfry_status status = BELFRY_OK;
	bool is_changed = true;

	begin_try(p, window);
	uint32_t minute = busiest(p->work, p->load->minute_count);
	while (status == BELFRY_OK && p->work[minute] > p->target && is_changed) {
		p->plan->minute = minute;
		if (is_late(p->load)) {
			p->plan->obstacle = BF_LOAD_TOO_LATE;
			return BELFRY_OK;
		}
		if (p->plan->change_count >= BF_LOAD_CHANGES) {
			p->plan->obstacle = BF_LOAD_TOO_MANY;
			return BELFRY_OK;
		}
		status = relieve(p, minute, &is_changed);
		minute = busiest(p->work, p->load->minute_count);
	}
	if (status == BELFRY_OK && p->work[minute] > p->target) {
		p->plan->minute = minute;
		status = find_obstacle(p, minute);
	}
	return status;
}

/* Counts everything anew, with the plan. */
static enum belfry_status count_anew(struct planning *p)
{
	struct bf_load *load = p->load;
	enum belfry_status status = BELFRY_OK;

	memset(p->work, 0, load->minute_count * sizeof(*p->work));
	for (size_t i = 0; i < load->group_count; i++) {
		const struct bf_load_group *group = &load->groups[i];
		uint32_t kept = group->member_count - group->changed_count;
		memset(load->scratch, 0, load->minute_count * sizeof(*load->scratch));
		if (kept > 0) {
			status = bf_load_add(load, group, group->first, group->spread,
					load->scratch);
		}
		for (size_t m = 0; m < load->minute_count; m++) {
			p->work[m] += load->scratch[m] * kept;
		}
		for (uint32_t j = 0; j < group->changed_count && status == BELFRY_OK; j++) {
			status = bf_load_add(load, group, group->first + j, group->window, p->work);
		}
		if (status != BELFRY_OK) {
			return status;
		}
	}
	p->plan->after = p->work[busiest(p->work, load->minute_count)];
	if (p->plan->after > p->target) {
		p->plan->obstacle = BF_LOAD_NOT_ENOUGH;
	}
	return BELFRY_OK;
}

/* Nothing has to be tried to know these. */
static bool is_hopeless(struct planning *p)
{
	if (p->plan->before <= 1) {
		p->plan->obstacle = BF_LOAD_NO_PEAK;
	} else if (p->load->total > (uint64_t)p->target * p->load->minute_count) {
		p->plan->obstacle = BF_LOAD_FLAT;
	}
	return p->plan->obstacle != BF_LOAD_POSSIBLE;
}

static enum belfry_status make_plan(struct planning *p)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < p->load->group_count; i++) {
		struct bf_load_group *group = &p->load->groups[i];
		group->gap = group->crowded > 0 ? find_gap(p->load, group->rule) : 0;
	}
	for (size_t i = FIRST_WINDOW; i < BF_COUNT(windows) && status == BELFRY_OK; i++) {
		status = try_window(p, windows[i]);
		if (status == BELFRY_OK && p->plan->obstacle == BF_LOAD_POSSIBLE) {
			status = count_anew(p);
		}
		if (p->plan->obstacle == BF_LOAD_POSSIBLE ||
				p->plan->obstacle == BF_LOAD_TOO_LATE ||
				p->plan->obstacle == BF_LOAD_ONE_ALONE) {
			break;
		}
	}
	return status;
}

enum belfry_status bf_load_plan(struct bf_load *load, struct bf_load_plan *ret_plan,
		struct belfry_error *err)
{
	BF_CLEANUP(planning_fini) struct planning p = {.load = load, .plan = ret_plan};
	enum belfry_status status = BELFRY_OK;

	*ret_plan = (struct bf_load_plan){0};
	if (load->peak_count > 0) {
		ret_plan->minute = load->peaks[0].minute;
		ret_plan->before = load->peaks[0].count;
		ret_plan->after = ret_plan->before;
	}
	p.target = ret_plan->before / 2;
	if (is_hopeless(&p)) {
		return BELFRY_OK;
	}
	p.work = bf_alloc_array(load->minute_count, sizeof(*p.work));
	p.candidates = bf_alloc_array(load->group_count, sizeof(*p.candidates));
	if (p.work == NULL || p.candidates == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	status = make_plan(&p);
	if (ret_plan->obstacle != BF_LOAD_POSSIBLE) {
		ret_plan->after = ret_plan->before;
		ret_plan->change_count = 0;
	}
	return status == BELFRY_OK ? BELFRY_OK
				   : bf_error_set(err, status, "%s", belfry_status_text(status));
}
