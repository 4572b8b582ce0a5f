/* The planner's loop: which operation comes next, and what its answer means. The computing is in
 * plan_rows.c and plan_put.c, the reads in plan_read.c, the messages in plan_news.c.
 *
 *   idle -> reading rows (due, requested, or all) -> [reading coverage] -> committing -> idle
 *
 * Every failure ends in idle with a wait: what is owed is owed because it is stored. */
#include "engine/planner.h"

#include "base/grow.h"
#include "base/sm.h"
#include "base/timefmt.h"
#include "engine/plan_zones.h"
#include "model/run.h"

#define INITIAL     BF_SM_INITIAL
#define NEXT(state) (UINT64_C(1) << BF_PLANNER_##state)

static const struct bf_sm_state planner_states[] = {
#define BF_PLANNER_STATE(name, text, flags, next) {text, flags, next},
#include "engine/planner_state.def"
#undef BF_PLANNER_STATE
};

static const struct bf_sm_table planner_table = {"planner", planner_states, BF_PLANNER_STATE_COUNT};

#define ROWS_DEFAULT 1000u
#define RULES_MAX    ((size_t)65536)
#define RULES_BYTES  ((size_t)128 << 20)

enum belfry_status bf_planner_new(const struct bf_planner_config *config,
		struct bf_planner **ret_planner)
{
	struct bf_planner *planner = bf_alloc(sizeof(*planner));

	if (planner == NULL) {
		return BELFRY_NOMEM;
	}
	planner->config = *config;
	if (planner->config.max_rows == 0) {
		planner->config.max_rows = ROWS_DEFAULT;
	}
	planner->rows_max = planner->config.max_rows;
	planner->requests_max = BF_PLAN_REQUESTS_MAX;
	planner->jitter.state = config->seed;
	planner->coverage.undecided_from = BELFRY_TIME_NEVER;
	enum belfry_status status = bf_rules_new(config->zones, RULES_MAX, RULES_BYTES,
			&planner->rules);
	if (status != BELFRY_OK) {
		bf_free(planner);
		return status;
	}
	*ret_planner = planner;
	return BELFRY_OK;
}

void bf_planner_free(struct bf_planner *planner)
{
	if (planner == NULL) {
		return;
	}
	bf_rules_free(planner->rules);
	bf_coverage_fini(&planner->coverage);
	bf_batch_fini(&planner->batch);
	belfry_arena_fini(&planner->arena);
	bf_free(planner->items);
	bf_free(planner->notes);
	bf_free(planner);
}

struct belfry_arena *bf_planner_arena(struct bf_planner *planner)
{
	return &planner->arena;
}

const struct bf_planner_counts *bf_planner_counts(const struct bf_planner *planner)
{
	return &planner->counts;
}

bool bf_planner_is_idle(const struct bf_planner *planner)
{
	return planner->state == BF_PLANNER_IDLE && planner->requests.count == 0 &&
			planner->working.count == 0;
}

bool bf_planner_has_stopped(const struct bf_planner *planner)
{
	return planner->is_stopping && planner->state == BF_PLANNER_IDLE && !planner->owes_news;
}

void bf_plan_move(struct bf_planner *planner, enum bf_planner_state to)
{
	bf_sm_move(&planner_table, &planner->state, to, planner->config.trace, "planner");
}

static bool is_before(struct bf_boot_time a, struct bf_boot_time b)
{
	return a.us < b.us;
}

/* May we begin a plan? Not without coverage, and not when our last beat was sent too long ago. */
static bool may_plan(const struct bf_planner *planner, struct bf_boot_time now)
{
	return planner->has_cover && planner->cover.from != 0 && !planner->is_stopping &&
			is_before(now, planner->cover.act_until);
}

void bf_plan_retry_requests(struct bf_planner *planner)
{
	while (planner->working.first != NULL) {
		bf_list_move(&planner->requests, planner->working.first);
	}
}

static void end_pass(struct bf_planner *planner)
{
	bf_plan_retry_requests(planner);
	bf_plan_move(planner, BF_PLANNER_IDLE);
}

/* ---- from rows to a commit --------------------------------------------------------------------- */

/* The oldest instant of the rows that our own coverage does not answer for; NEVER: none. */
static belfry_time oldest_unknown(const struct bf_planner *planner)
{
	belfry_time oldest = BELFRY_TIME_NEVER;

	for (size_t i = 0; i < planner->rows.count; i++) {
		const struct belfry_schedule_row *row = &planner->rows.rows[i];
		bool is_owed = row->cursor <= planner->rows.now && !row->is_removed;
		if (is_owed && !bf_coverage_reaches(&planner->coverage, row->cursor)) {
			oldest = BF_MIN(oldest, row->cursor);
		}
	}
	return oldest;
}

/* Born claimed, honestly (decision 8): while tickets last, not before its ready time, and never below the floor that the
 * dispatcher was told, because a takeover looks for our Runs from there on. */
static void give_places(struct bf_planner *planner, struct bf_boot_time now)
{
	bool may_claim = may_plan(planner, now) && !planner->is_backlog;
	uint32_t places = may_claim ? planner->places : 0;
	uint64_t bytes = planner->bytes;

	for (size_t i = 0; i < planner->advance.item_count; i++) {
		struct belfry_advance_item *item = &planner->items[i];
		bool is_ending = (item->flags & BELFRY_ADVANCE_F_END_UNSTARTED) != 0;
		for (size_t k = 0; k < item->run_count; k++) {
			bool is_ready = item->runs[k].ready_at <= planner->rows.now;
			bool fits = is_ready && places > 0 &&
					bytes >= planner->notes[i].payload_bytes &&
					bf_id_compare(item->runs[k].id, planner->floor) >= 0;
			if (fits && !is_ending) {
				item->runs[k].state = BELFRY_RUN_DISPATCHING;
				planner->advance.holder = planner->cover.incarnation;
				places--;
				bytes -= planner->notes[i].payload_bytes;
			}
		}
	}
}

static void commit(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	for (size_t i = 0; i < planner->advance.item_count; i++) {
		const struct bf_settlement *s = &planner->notes[i].settlement;
		planner->items[i].runs = planner->batch.runs + s->first_run;
		planner->items[i].run_count = s->run_count;
		planner->items[i].gaps = planner->batch.gaps + s->first_gap;
		planner->items[i].gap_count = s->gap_count;
	}
	planner->advance.items = planner->items;
	give_places(planner, now);
	orders->advance = &planner->advance;
	bf_plan_move(planner, BF_PLANNER_COMMITTING);
}

/* Rows of a page that was not committed may lie ahead still. */
static void restart_pages(struct bf_planner *planner)
{
	planner->wants_page = true;
	planner->page_after_len = 0;
}

/* The store could not write this row; every other one went on. */
static void remember_bad(struct bf_planner *planner, struct belfry_str id)
{
	if (planner->bad_count < BF_PLAN_BAD_MAX && id.len <= BELFRY_SCHEDULE_ID_BYTES) {
		struct bf_plan_bad *bad = &planner->bad[planner->bad_count++];
		bad->len = id.len;
		memcpy(bad->id, id.ptr, id.len);
	}
}

static void answer_working(struct bf_planner *planner, struct bf_planner_orders *orders,
		enum belfry_status status)
{
	while (planner->working.first != NULL) {
		bf_planner_finish(orders,
				BF_CONTAINER(planner->working.first, struct bf_plan_request, link),
				status, 0);
	}
}

/* Not the store's being away, and not somebody else's being faster: something in what was asked. */
static bool is_statements_fault(enum belfry_status status)
{
	enum belfry_class class_ = belfry_status_class(status);

	return class_ == BELFRY_CLASS_CALLER || class_ == BELFRY_CLASS_DATA;
}

/* The row at fault is found by halving, so that it spoils nothing for the others. */
static void halve(struct bf_planner *planner, struct bf_planner_orders *orders,
		enum belfry_status status)
{
	if (planner->purpose == BF_PLAN_ROWS && planner->working.count > 1) {
		planner->requests_max = planner->working.count / 2;
	} else if (planner->purpose == BF_PLAN_ROWS) {
		answer_working(planner, orders,
				status == BELFRY_CORRUPT ? BELFRY_UNAVAILABLE : status);
	} else if (planner->purpose == BF_PLAN_DUE && planner->advance.item_count > 1) {
		planner->rows_max = BF_MAX(planner->rows.count / 2, 1);
	} else if (planner->purpose == BF_PLAN_DUE && planner->advance.item_count == 1) {
		remember_bad(planner, planner->items[0].schedule);
	}
}

static void fail(struct bf_planner *planner, struct bf_planner_orders *orders,
		enum belfry_status status, struct bf_boot_time now)
{
	belfry_duration longest = BELFRY_SECOND << BF_MIN(planner->failures, 2u);

	planner->failures++;
	planner->wants_pass = true;
	if (planner->purpose == BF_PLAN_PAGE) {
		restart_pages(planner);
	}
	if (planner->purpose == BF_PLAN_SWEEP) {
		bf_plan_restart_sweep(planner);
	}
	planner->not_before = bf_boot_add(now,
			bf_jitter_between(&planner->jitter, longest / 10, longest / 4));
	if (status == BELFRY_UNAVAILABLE) {
		answer_working(planner, orders,
				BELFRY_UNAVAILABLE); /* now, not at a deadline (T065) */
	} else if (is_statements_fault(status)) {
		planner->not_before = bf_boot_add(now,
				bf_jitter_between(&planner->jitter, 20 * BELFRY_MILLISECOND,
						50 * BELFRY_MILLISECOND));
		halve(planner, orders, status);
	}
	end_pass(planner);
}

/* Rows are left, and the rows read, which are older than those, wait already. */
static void look_for_crowd(struct bf_planner *planner)
{
	const struct belfry_list *rows = &planner->rows;

	planner->is_crowded = false;
	if (planner->wants_pass && rows->count > 0) {
		planner->crowd = rows->rows[rows->count - 1].cursor;
		planner->is_crowded = rows->now - planner->crowd > BF_PLAN_CROWD;
	}
}

static void schedule_wake(struct bf_planner *planner, struct bf_boot_time now)
{
	belfry_duration until = bf_time_since(planner->rows.next_due, planner->rows.now);

	for (size_t i = 0; i < planner->advance.item_count; i++) {
		until = BF_MIN(until, bf_time_since(planner->items[i].cursor, planner->rows.now));
	}
	until = BF_MAX(BF_MIN(until, planner->config.tick), 0);
	planner->wake = bf_boot_add(planner->read_at, until);
	if (planner->is_undecided || planner->unreadable > 0) {
		/* Something is due that cannot be decided yet: look again soon, do not spin. */
		struct bf_boot_time soon = bf_boot_add(now,
				bf_jitter_between(&planner->jitter, 20 * BELFRY_MILLISECOND,
						50 * BELFRY_MILLISECOND));
		planner->wake = is_before(planner->wake, soon) ? soon : planner->wake;
	}
	planner->wants_pass = planner->is_cut || planner->is_fresh ||
			(planner->rows.has_more && planner->advance.item_count > 0);
	if (!planner->is_fresh) {
		look_for_crowd(planner);
	}
}

static void remember_page(struct bf_planner *planner)
{
	planner->wants_page = planner->rows.has_more && planner->rows.count > 0;
	planner->page_after_len = 0;
	if (planner->wants_page) {
		struct belfry_str last = planner->rows.rows[planner->rows.count - 1].id;
		planner->page_after_len = BF_MIN(last.len, sizeof(planner->page_after));
		memcpy(planner->page_after, last.ptr, planner->page_after_len);
	}
}

/* The rows (and coverage, where it was needed) are here: compute, then commit or rest. */
static void compute(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	enum belfry_status status = BELFRY_OK;

	switch (planner->purpose) {
	case BF_PLAN_DUE: status = bf_plan_due(planner); break;
	case BF_PLAN_ROWS: status = bf_plan_rows(planner, orders); break;
	case BF_PLAN_PAGE:
		status = bf_plan_page(planner);
		remember_page(planner);
		break;
	case BF_PLAN_VERSIONS: bf_plan_choose_version(planner); break;
	case BF_PLAN_SWEEP: status = bf_plan_sweep(planner); break;
	}
	if (status != BELFRY_OK) {
		fail(planner, orders, status, now);
		return;
	}
	if (planner->is_undecided) {
		/* Others may have gone on since they were read; our own beat may be due. */
		planner->coverage.is_known = false;
		orders->wants_beat = true;
	}
	if (planner->purpose == BF_PLAN_DUE) {
		schedule_wake(planner, now);
	}
	if (planner->advance.item_count > 0) {
		commit(planner, orders, now);
		return;
	}
	if (planner->is_undecided) {
		planner->not_before = bf_boot_add(now,
				bf_jitter_between(&planner->jitter, 20 * BELFRY_MILLISECOND,
						50 * BELFRY_MILLISECOND));
	}
	end_pass(planner);
}

static void rows_read(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_planner_event *event)
{
	if (planner->coverage.own.from == 0) {
		/* Without coverage of our own, others may have begun and ended since they were read. */
		planner->coverage.is_known = false;
	}
	bool is_settling = planner->purpose == BF_PLAN_DUE || planner->purpose == BF_PLAN_ROWS;
	if (is_settling && bf_plan_compute_anew(planner) != BELFRY_OK) {
		fail(planner, orders, BELFRY_NOMEM, event->now);
		return;
	}
	belfry_time oldest = is_settling ? oldest_unknown(planner) : BELFRY_TIME_NEVER;
	planner->read_at = event->now;
	if (oldest == BELFRY_TIME_NEVER) {
		compute(planner, orders, event->now);
		return;
	}
	planner->incarnations = (struct belfry_list){
			.size = sizeof(planner->incarnations),
			.kind = BELFRY_LIST_INCARNATIONS,
			.from = oldest - 1, /* one that ends at that very instant covers it */
			.limit = UINT32_MAX,
	};
	orders->list = &planner->incarnations;
	bf_plan_move(planner, BF_PLANNER_READING_COVERAGE);
}

static void coverage_read(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_planner_event *event)
{
	static const struct belfry_id nobody;
	struct belfry_id self = planner->has_cover ? planner->cover.incarnation : nobody;
	enum belfry_status status = bf_coverage_read(&planner->coverage,
			planner->incarnations.incarnations, planner->incarnations.count, self);

	if (status != BELFRY_OK) {
		fail(planner, orders, status, event->now);
		return;
	}
	/* Of older instants nothing was asked: a pass that meets one reads again. */
	planner->coverage.known_from = planner->incarnations.from + 1;
	compute(planner, orders, event->now);
}

/* ---- after a commit ---------------------------------------------------------------------------- */

static void count_item(struct bf_planner *planner, const struct belfry_advance_item *item,
		const struct bf_plan_note *note)
{
	for (size_t i = 0; i < item->run_count; i++) {
		planner->counts.due_runs += item->runs[i].is_inserted ? 1 : 0;
	}
	planner->counts.due_missed += note->settlement.missed - note->idle_count;
	planner->counts.due_disabled += note->idle_count;
	planner->counts.ended += item->ended;
}

static void answer_request(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct belfry_advance_item *item, struct bf_plan_request *request)
{
	bool is_whole = item->put != NULL || (item->flags & BELFRY_ADVANCE_F_REMOVE) != 0;

	if (item->result == BELFRY_OK && !is_whole) {
		return; /* a part of what was owed; it comes again */
	}
	if (item->result == BELFRY_CONFLICT && ++request->tries < BF_PLAN_TRIES_MAX) {
		return;
	}
	enum belfry_status status = item->result == BELFRY_CONFLICT ? BELFRY_BUSY : item->result;
	bf_planner_finish(orders, request, status, planner->rows.now);
}

static void committed(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_planner_event *event)
{
	size_t conflicts = 0;

	planner->rows_max = BF_MIN(planner->rows_max * 2, planner->config.max_rows);
	planner->requests_max = BF_MIN(planner->requests_max * 2, BF_PLAN_REQUESTS_MAX);
	for (size_t i = 0; i < planner->advance.item_count; i++) {
		const struct belfry_advance_item *item = &planner->items[i];
		conflicts += item->result == BELFRY_CONFLICT ? 1 : 0;
		if (item->result == BELFRY_OK) {
			count_item(planner, item, &planner->notes[i]);
		}
		if (item->result == BELFRY_CORRUPT && planner->purpose == BF_PLAN_DUE) {
			remember_bad(planner, item->schedule);
		}
		if (planner->notes[i].request != NULL) {
			answer_request(planner, orders, item, planner->notes[i].request);
		}
	}
	bf_plan_collect_born(planner, orders, event->now);
	planner->counts.conflicts += (int64_t)conflicts;
	planner->wants_pass = planner->wants_pass || conflicts > 0;
	if (conflicts > 0 && planner->purpose == BF_PLAN_PAGE) {
		restart_pages(planner);
	}
	if (conflicts > 0 && planner->purpose == BF_PLAN_SWEEP) {
		bf_plan_restart_sweep(planner);
	}
	if (conflicts == planner->advance.item_count) {
		/* Somebody else was faster with every row: give him room. */
		planner->not_before = bf_boot_add(event->now,
				bf_jitter_between(&planner->jitter, 20 * BELFRY_MILLISECOND,
						50 * BELFRY_MILLISECOND));
	}
	if (planner->purpose != BF_PLAN_DUE) {
		planner->wants_pass = true; /* a new cursor may come before the present wake */
	}
	end_pass(planner);
}

static void commit_unknown(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_planner_event *event)
{
	planner->owes_news = true;
	fail(planner, orders, BELFRY_UNKNOWN, event->now);
}

/* ---- events ------------------------------------------------------------------------------------ */

static void answered(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_planner_event *event)
{
	enum belfry_status status = event->status;
	bool is_commit = planner->state == BF_PLANNER_COMMITTING;

	if (status == BELFRY_STALE) {
		orders->is_lost = true;
		fail(planner, orders, status, event->now);
		return;
	}
	if (is_commit && status == BELFRY_UNKNOWN) {
		commit_unknown(planner, orders, event);
		return;
	}
	if (status != BELFRY_OK) {
		fail(planner, orders, status, event->now);
		return;
	}
	planner->failures = 0;
	planner->counts.last_step = event->now;
	switch ((enum bf_planner_state)planner->state) {
	case BF_PLANNER_READING_DUE:
	case BF_PLANNER_READING_ROWS:
	case BF_PLANNER_READING_PAGE: rows_read(planner, orders, event); break;
	case BF_PLANNER_READING_COVERAGE: coverage_read(planner, orders, event); break;
	case BF_PLANNER_COMMITTING: committed(planner, orders, event); break;
	case BF_PLANNER_IDLE:
	case BF_PLANNER_STATE_COUNT: BF_ASSERT(false); break;
	}
}

static void cover(struct bf_planner *planner, const struct bf_cover *news, struct bf_boot_time now)
{
	bool is_new = !planner->has_cover ||
			bf_id_compare(news->incarnation, planner->cover.incarnation) != 0;

	planner->cover = *news;
	planner->has_cover = true;
	planner->coverage.own = (struct bf_span){news->from, news->to};
	if (is_new) {
		/* Also where nobody told us that the one before was over: its tickets went with it. */
		planner->coverage.is_known = false;
		planner->places = 0;
		planner->bytes = 0;
		planner->owes_news = false;
		planner->awaits_tickets = true;
		planner->spent_until = bf_boot_add(now, BF_PLAN_TICKET_WAIT);
	}
	planner->wants_pass = planner->wants_pass || is_new || planner->is_undecided;
}

/* Everything that we held as this incarnation is for others to take over. */
static void lose(struct bf_planner *planner)
{
	planner->has_cover = false;
	planner->coverage.own = (struct bf_span){0, 0};
	planner->coverage.is_known = false;
	planner->places = 0;
	planner->bytes = 0;
	planner->owes_news = false;
}

static void handle_event(struct bf_planner *planner, struct bf_planner_orders *orders,
		const struct bf_planner_event *event)
{
	switch (event->kind) {
	case BF_PLANNER_WAKE: break;
	case BF_PLANNER_COVER: cover(planner, &event->cover, event->now); break;
	case BF_PLANNER_LOST: lose(planner); break;
	case BF_PLANNER_TICKETS: bf_plan_take_tickets(planner, orders, &event->tickets); break;
	case BF_PLANNER_REQUEST: bf_list_append(&planner->requests, &event->request->link); break;
	case BF_PLANNER_DONE: answered(planner, orders, event); break;
	case BF_PLANNER_CLOCK_BACK:
		restart_pages(planner);
		planner->coverage.is_known = false;
		break;
	case BF_PLANNER_ZONES: bf_plan_want_sweep(planner, event->is_changed); break;
	case BF_PLANNER_STOP: planner->is_stopping = true; break;
	}
}

static void expire_requests(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	struct bf_link *next;

	for (struct bf_link *link = planner->requests.first; link != NULL; link = next) {
		next = link->next;
		struct bf_plan_request *request = BF_CONTAINER(link, struct bf_plan_request, link);
		if (!is_before(now, request->deadline)) {
			bf_planner_finish(orders, request, BELFRY_UNAVAILABLE, 0);
		}
	}
}

/* More is owed than there were tickets for; they are on their way back, if the handler is quick. */
static bool waits_for_tickets(const struct bf_planner *planner, struct bf_boot_time now)
{
	return planner->places == 0 && is_before(now, planner->spent_until);
}

/* By turns with what is due, which is computed anew where it is planned; whatever requests come between. */
static bool wants_sweep(const struct bf_planner *planner, bool is_due)
{
	bool was_last = planner->own_purpose == BF_PLAN_VERSIONS ||
			planner->own_purpose == BF_PLAN_SWEEP;

	return planner->sweep.is_wanted && !(is_due && was_last);
}

static void begin_next(struct bf_planner *planner, struct bf_planner_orders *orders,
		struct bf_boot_time now)
{
	bool is_due = (planner->wants_pass || !is_before(now, planner->wake)) &&
			!waits_for_tickets(planner, now);

	if (planner->state != BF_PLANNER_IDLE || is_before(now, planner->not_before)) {
		return;
	}
	/* Requests and passes of our own take turns, so that a stream of either does not starve the other. */
	bool has_own = is_due || planner->wants_page || planner->sweep.is_wanted;
	bool is_requests_turn = planner->purpose != BF_PLAN_ROWS || !has_own ||
			!may_plan(planner, now);
	if (planner->requests.count > 0 && is_requests_turn) {
		bf_plan_read_requested(planner, orders, now);
	} else if (planner->wants_page && may_plan(planner, now)) {
		bf_plan_read_page(planner, orders, now);
	} else if (wants_sweep(planner, is_due) && may_plan(planner, now)) {
		bf_plan_read_sweep(planner, orders, now);
	} else if (is_due && may_plan(planner, now)) {
		bf_plan_read_due(planner, orders, now);
	} else if (planner->requests.count > 0) {
		bf_plan_read_requested(planner, orders, now);
	}
}

static struct bf_boot_time next_wake(const struct bf_planner *planner, struct bf_boot_time now)
{
	struct bf_boot_time wake = bf_boot_add(now, planner->config.tick);
	bool has_work = planner->wants_pass || planner->wants_page ||
			(planner->sweep.is_wanted && may_plan(planner, now)) ||
			planner->requests.count > 0;

	if (is_before(planner->wake, wake) && may_plan(planner, now)) {
		wake = planner->wake;
	}
	if (has_work && is_before(planner->not_before, wake)) {
		wake = planner->not_before;
	}
	/* Nothing is gained before `not_before`, and nothing by an instant that has passed. */
	if (is_before(wake, planner->not_before)) {
		wake = planner->not_before;
	}
	bool is_late = !is_before(now, wake);
	if (is_late && waits_for_tickets(planner, now)) {
		return planner->spent_until;
	}
	return is_late ? bf_boot_add(now,
					 may_plan(planner, now) ? BELFRY_MILLISECOND
								: planner->config.tick / 4)
		       : wake;
}

void bf_planner_step(struct bf_planner *planner, const struct bf_planner_event *event,
		struct bf_planner_orders *orders)
{
	*orders = (struct bf_planner_orders){0};
	handle_event(planner, orders, event);
	expire_requests(planner, orders, event->now);
	bf_plan_tell_news(planner, orders);
	if (!event->has_more) {
		begin_next(planner, orders, event->now);
	}
	if (planner->state == BF_PLANNER_IDLE && planner->failures == 0) {
		planner->counts.last_step = event->now; /* nothing to ask is no standstill */
	}
	orders->wake = next_wake(planner, event->now);
	planner->counts.places = planner->places;
}
