/* Rows whose cursor was computed with another tz database (architecture.md, Zones).
 *
 * Protocol. A row with an older version is computed anew before anything is made of its cursor: where it is due
 * or put, in the same commit; else by a sweep, which asks the store for the versions in use and goes through
 * the rows of each older one, page by page, with conditional commits. A database whose version text stayed the
 * same is told by no row, so after such a reload every row of ours is gone through, once; and so is every row
 * whose version cannot be compared with ours ("unknown"), in the first sweep of a process. That reads each of
 * them once a start, and writes those that move.
 * A row with a NEWER version is another replica's knowledge: its cursor is fired as it stands, under the local
 * time that is stored with it, and what follows it is ours.
 *
 * Crash argument. A row that was not swept keeps its version, and the next sweep, of whoever, finds it. Where the
 * version does not tell, the row's own local time does, at the latest when it is due: a cursor that our zones
 * read otherwise is computed anew before it fires. */
#include "engine/plan_zones.h"

#include "base/timefmt.h"
#include "calendar/anew.h"

/* "2026a" and the like can be compared; "unknown", and what has another form, cannot. */
static bool is_dated(struct belfry_str version)
{
	bool is_year = version.len >= 5;

	for (size_t i = 0; is_year && i < 4; i++) {
		is_year = version.ptr[i] >= '0' && version.ptr[i] <= '9';
	}
	return is_year && version.ptr[4] >= 'a' && version.ptr[4] <= 'z';
}

static struct belfry_str own_version(const struct bf_planner *planner)
{
	return bf_str(planner->tz_version);
}

/* ---- which row is whose ------------------------------------------------------------------------ */

/* What a version says beside our own. */
enum order { OLDER, SAME, NEWER, UNTOLD };

static enum order order_of(const struct bf_planner *planner, struct belfry_str version)
{
	if (!is_dated(version) || !is_dated(own_version(planner))) {
		return UNTOLD;
	}
	int order = bf_str_compare(version, own_version(planner));
	return order < 0 ? OLDER : order > 0 ? NEWER : SAME;
}

/* Does the sweep that is wanted go through the rows of this version? */
static bool is_swept(const struct bf_planner *planner, struct belfry_str version)
{
	const struct bf_plan_sweep *sweep = &planner->sweep;

	switch (order_of(planner, version)) {
	case OLDER: return true;
	case SAME: return sweep->is_wanted && sweep->is_full;
	case NEWER: return false;
	case UNTOLD: return sweep->is_wanted && (sweep->is_full || sweep->is_first);
	}
	return false;
}

bool bf_plan_is_foreign(const struct bf_planner *planner, const struct belfry_schedule_row *row)
{
	return order_of(planner, row->tz_version) == NEWER;
}

/* ---- rows that were read for another reason ---------------------------------------------------- */

/* Our zones read the cursor otherwise than those it was computed with. */
static bool is_read_otherwise(const struct belfry_schedule_row *row, const struct belfry_rule *rule)
{
	return row->cursor_local != 0 && row->cursor_local != bf_rule_local(rule, row->cursor);
}

static void compute_anew(struct bf_planner *planner, struct belfry_schedule_row *row)
{
	struct bf_definition definition;
	const struct belfry_rule *rule;
	struct bf_anew old = {row->decided_due, row->decided_local, row->cursor};

	if (bf_plan_is_foreign(planner, row) ||
			bf_plan_rule(planner, row, &definition, &rule, NULL) != BELFRY_OK) {
		return; /* whoever plans it finds the same, and says so */
	}
	if (!is_swept(planner, row->tz_version) && !is_read_otherwise(row, rule)) {
		return;
	}
	row->cursor = bf_rule_anew(rule, &old, planner->rows.now);
	row->cursor_local = bf_rule_local(rule, row->cursor);
	row->tz_version = own_version(planner);
}

enum belfry_status bf_plan_compute_anew(struct bf_planner *planner)
{
	planner->stored_cursors = belfry_arena_alloc(&planner->arena,
			BF_MAX(planner->rows.count, 1) * sizeof(*planner->stored_cursors));
	if (planner->stored_cursors == NULL) {
		return BELFRY_NOMEM;
	}
	for (size_t i = 0; i < planner->rows.count; i++) {
		struct belfry_schedule_row *row = &planner->rows.rows[i];
		planner->stored_cursors[i] = row->cursor;
		if (!row->is_removed && row->cursor != BELFRY_TIME_NEVER) {
			compute_anew(planner, row);
		}
	}
	return BELFRY_OK;
}

belfry_time bf_plan_stored_cursor(const struct bf_planner *planner,
		const struct belfry_schedule_row *row)
{
	return planner->stored_cursors[row - planner->rows.rows];
}

/* ---- the sweep --------------------------------------------------------------------------------- */

void bf_plan_want_sweep(struct bf_planner *planner, bool is_full)
{
	struct bf_plan_sweep *sweep = &planner->sweep;
	bool was_full = sweep->is_wanted && sweep->is_full;

	if (sweep->is_wanted && !is_full) {
		return; /* it is under way */
	}
	*sweep = (struct bf_plan_sweep){.is_wanted = true,
			.is_full = is_full || was_full,
			.is_first = !planner->has_swept};
}

/* Of the versions in use the first in order behind the last one that was gone through. */
void bf_plan_choose_version(struct bf_planner *planner)
{
	struct bf_plan_sweep *sweep = &planner->sweep;
	struct belfry_str last = {sweep->version, sweep->version_len};
	struct belfry_str next = {NULL, 0};

	for (size_t i = 0; i < planner->rows.count; i++) {
		struct belfry_str version = planner->rows.rows[i].tz_version;
		bool is_behind = bf_str_compare(version, last) > 0 &&
				version.len <= sizeof(sweep->version);
		bool is_least = next.len == 0 || bf_str_compare(version, next) < 0;
		if (is_behind && is_least && is_swept(planner, version)) {
			next = version;
		}
	}
	if (next.len == 0) {
		planner->has_swept = true;
		*sweep = (struct bf_plan_sweep){0};
		return;
	}
	sweep->is_paging = true;
	sweep->version_len = next.len;
	memcpy(sweep->version, next.ptr, next.len);
	sweep->after_len = 0;
}

static bool is_unchanged(const struct belfry_schedule_row *row,
		const struct belfry_schedule_row *mine)
{
	return mine->cursor == row->cursor && mine->cursor_local == row->cursor_local &&
			bf_str_equal(mine->tz_version, row->tz_version);
}

static enum belfry_status sweep_row(struct bf_planner *planner,
		const struct belfry_schedule_row *row)
{
	struct belfry_schedule_row mine = *row;
	struct bf_plan_note *note;

	if (row->is_removed || row->cursor == BELFRY_TIME_NEVER) {
		return BELFRY_OK;
	}
	compute_anew(planner, &mine);
	if (mine.tz_version.ptr != planner->tz_version) {
		return BELFRY_OK; /* our zones cannot evaluate it: left to others */
	}
	if (is_unchanged(row, &mine)) {
		return BELFRY_OK;
	}
	struct belfry_advance_item *item = bf_plan_item(planner, &note);
	if (item == NULL) {
		return BELFRY_NOMEM;
	}
	bf_plan_begin_item(item, &mine);
	item->cursor = mine.cursor;
	item->cursor_local = mine.cursor_local;
	if (mine.cursor == BELFRY_TIME_NEVER) {
		bf_plan_exhaust(item, false);
	}
	return BELFRY_OK;
}

static void remember_place(struct bf_planner *planner)
{
	struct bf_plan_sweep *sweep = &planner->sweep;

	sweep->is_paging = planner->rows.has_more && planner->rows.count > 0;
	if (sweep->is_paging) {
		struct belfry_str last = planner->rows.rows[planner->rows.count - 1].id;
		sweep->after_len = BF_MIN(last.len, sizeof(sweep->after));
		memcpy(sweep->after, last.ptr, sweep->after_len);
	}
}

enum belfry_status bf_plan_sweep(struct bf_planner *planner)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < planner->rows.count; i++) {
		status = sweep_row(planner, &planner->rows.rows[i]);
	}
	remember_place(planner);
	return status;
}

void bf_plan_restart_sweep(struct bf_planner *planner)
{
	struct bf_plan_sweep *sweep = &planner->sweep;

	*sweep = (struct bf_plan_sweep){.is_wanted = true,
			.is_full = sweep->is_full,
			.is_first = sweep->is_first};
}
