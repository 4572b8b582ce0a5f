/* What the planner reads first: due rows, the rows that requests are about, or a page of all rows. Each
 * begins a pass, and leaves nothing behind of the one before. */
#include "base/timefmt.h"
#include "engine/planner_priv.h"

static void begin_read(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now, enum belfry_list_kind kind, enum bf_plan_purpose purpose)
{
	belfry_arena_reset(&planner->arena);
	bf_batch_clear(&planner->batch);
	planner->advance = (struct belfry_advance){.size = sizeof(planner->advance),
			.max_active = planner->config.max_active};
	planner->is_undecided = false;
	planner->is_cut = false;
	planner->runs_max = BF_PLAN_RUNS_MAX;
	planner->purpose = purpose;
	planner->own_purpose = purpose == BF_PLAN_ROWS ? planner->own_purpose : purpose;
	planner->stored_cursors = NULL;
	/* Before any rule is asked: what is computed is at least as new as what it is marked with. */
	planner->tz_version = planner->config.tz_version != NULL
			? planner->config.tz_version
			: belfry_zones_version(planner->config.zones);
	planner->read_at = now;
	planner->rows = (struct belfry_list){.size = sizeof(planner->rows),
			.kind = kind,
			.limit = planner->config.max_rows};
	orders->list = &planner->rows;
}

/* The store's clock, as far as we know it: only for what is worth looking at first. */
static belfry_time store_time(const struct bf_planner *planner, struct bf_boot_time now)
{
	return bf_time_add(planner->cover.store_now, bf_boot_since(now, planner->cover.at));
}

void bf_plan_read_due(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	planner->wants_pass = false;
	planner->is_fresh = planner->is_crowded && !planner->is_fresh;
	begin_read(planner, orders, now, BELFRY_LIST_DUE, BF_PLAN_DUE);
	if (planner->is_fresh) {
		planner->rows.from = BF_MAX(store_time(planner, now) - BF_PLAN_FRESH,
				planner->crowd + 1);
	}
	if (planner->places > 0 && !planner->is_backlog) {
		/* No more than can be born claimed: the rest stays owed, and is planned next. */
		uint32_t kept = planner->is_crowded && !planner->is_fresh ? planner->places / 4 : 0;
		planner->runs_max = BF_MIN(planner->places - kept, BF_PLAN_RUNS_MAX);
	}
	/* Rows that we must leave to others stay in front: read past them. */
	planner->rows.limit = (uint32_t)planner->rows_max + BF_MIN(planner->unreadable, 100000u);
	bf_plan_move(planner, BF_PLANNER_READING_DUE);
}

static bool is_working_on(const struct bf_planner *planner, struct belfry_str schedule)
{
	for (struct bf_link *link = planner->working.first; link != NULL; link = link->next) {
		if (bf_str_equal(BF_CONTAINER(link, struct bf_plan_request, link)->schedule,
				    schedule)) {
			return true;
		}
	}
	return false;
}

/* Take waiting requests into this commit: at most one of each schedule, in the order they came. */
static void take_requests(struct bf_planner *planner)
{
	struct bf_link *next;

	for (struct bf_link *link = planner->requests.first;
			link != NULL && planner->working.count < planner->requests_max;
			link = next) {
		next = link->next;
		struct bf_plan_request *request = BF_CONTAINER(link, struct bf_plan_request, link);
		if (!is_working_on(planner, request->schedule)) {
			bf_list_move(&planner->working, link);
		}
	}
}

void bf_plan_read_requested(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	begin_read(planner, orders, now, BELFRY_LIST_SCHEDULES, BF_PLAN_ROWS);
	take_requests(planner);
	struct belfry_str *ids = belfry_arena_alloc(&planner->arena,
			planner->working.count * sizeof(*ids));
	if (ids == NULL) {
		bf_plan_retry_requests(planner);
		orders->list = NULL;
		return;
	}
	planner->rows.ids = ids;
	for (struct bf_link *link = planner->working.first; link != NULL; link = link->next) {
		ids[planner->rows.id_count++] = BF_CONTAINER(link, struct bf_plan_request, link)
								->schedule;
	}
	bf_plan_move(planner, BF_PLANNER_READING_ROWS);
}

void bf_plan_read_page(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	begin_read(planner, orders, now, BELFRY_LIST_SCHEDULES, BF_PLAN_PAGE);
	planner->rows.after_text = (struct belfry_str){planner->page_after,
			planner->page_after_len};
	bf_plan_move(planner, BF_PLANNER_READING_PAGE);
}

void bf_plan_read_sweep(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	struct bf_plan_sweep *sweep = &planner->sweep;

	if (sweep->is_paging) {
		begin_read(planner, orders, now, BELFRY_LIST_SCHEDULES, BF_PLAN_SWEEP);
		planner->rows.tz_version = (struct belfry_str){sweep->version, sweep->version_len};
		planner->rows.after_text = (struct belfry_str){sweep->after, sweep->after_len};
	} else {
		begin_read(planner, orders, now, BELFRY_LIST_TZ_VERSIONS, BF_PLAN_VERSIONS);
	}
	bf_plan_move(planner, BF_PLANNER_READING_PAGE);
}
