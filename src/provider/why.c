/* Why a due time has its Run, or none: the Run by its computed id, else the ledger's row that covers the
 * time, else what the present revision says (architecture.md, decision 3). Nothing is recomputed that
 * was written. */
#include "base/error.h"
#include "base/timefmt.h"
#include "calendar/advance.h"
#include "calendar/excluded.h"
#include "model/run.h"
#include "provider/embedded_priv.h"

/* How far back the nearest earlier due time is looked for. */
#define BACK (400 * BELFRY_DAY)

#define PAGE_ROWS 1000u

struct question {
	struct bf_embedded *embedded;
	struct belfry_why *why;
	struct belfry_arena *arena;
	struct belfry_schedule_row row;
	struct bf_definition definition;
	struct belfry_rule *rule; /* NULL: cannot be read here */
	belfry_time now;
	belfry_time history_from;
};

static enum belfry_status find_run(struct question *q, struct belfry_error *err)
{
	struct belfry_id id;
	struct belfry_list list = {.size = sizeof(list), .kind = BELFRY_LIST_RUN_IDS, .limit = 1};

	if (belfry_run_id(q->why->schedule, q->why->at, &id) != BELFRY_OK) {
		return BELFRY_NOT_FOUND;
	}
	list.run_ids = &id;
	list.run_id_count = 1;
	enum belfry_status status = bf_store_list(q->embedded->store, &list, q->arena, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (list.count == 0) {
		return BELFRY_NOT_FOUND;
	}
	q->why->kind = BELFRY_WHY_RUN;
	q->why->run = list.runs;
	return BELFRY_OK;
}

static bool is_due(const struct question *q, belfry_time at)
{
	return q->rule != NULL && bf_advance_is_due(q->rule, at);
}

static enum belfry_status find_gap(struct question *q, struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_GAPS,
			.schedule = q->why->schedule,
			.from = q->why->at,
			.to = q->why->at,
			.limit = 1,
	};
	enum belfry_status status = bf_store_list(q->embedded->store, &list, q->arena, err);

	if (status != BELFRY_OK) {
		return status;
	}
	q->history_from = list.history_from;
	/* A gap is a stretch: a time inside it that its revision does not name is no due time. */
	bool is_same_revision = list.count > 0 && list.gaps[0].revision == q->row.revision;
	if (list.count == 0 || (is_same_revision && q->rule != NULL && !is_due(q, q->why->at))) {
		return BELFRY_NOT_FOUND;
	}
	q->why->kind = BELFRY_WHY_GAP;
	q->why->gap = list.gaps;
	return BELFRY_OK;
}

/* What an exhausted row's rule names behind its last due time was none any more. */
static bool is_behind_end(const struct question *q, belfry_time at)
{
	belfry_time end = q->row.decided_due != 0 ? q->row.decided_due : q->row.idle_since;

	return q->row.phase == BELFRY_PHASE_EXHAUSTED && at > end;
}

static void put_nearest(struct question *q)
{
	size_t count = 0;

	q->why->nearest_after = BELFRY_TIME_NEVER;
	if (q->rule == NULL) {
		return;
	}
	bf_advance_latest(q->rule, bf_time_add(q->why->at, -BACK), bf_time_add(q->why->at, -1), 1,
			&q->why->nearest_before, &count);
	if (count == 0 || q->why->nearest_before <= q->definition.anchor) {
		q->why->nearest_before = 0; /* none, or before the schedule existed */
	}
	if (belfry_rule_next(q->rule, q->why->at, &q->why->nearest_after) != BELFRY_OK ||
			is_behind_end(q, q->why->nearest_after)) {
		q->why->nearest_after = BELFRY_TIME_NEVER;
	}
}

static void answer_from(struct question *q, enum belfry_why_kind kind, belfry_time from)
{
	q->why->kind = kind;
	q->why->from = from;
}

/* "the clocks of Europe/Berlin skip 02:00 to 03:00 on 2027-03-28, ..." where that is why. */
static enum belfry_status find_skip(struct question *q)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf words = {0};
	struct bf_rule_skip skip;
	char from[BF_TIME_TEXT_BYTES]; /* "2027-03-28T02:00:00Z" */
	char to[BF_TIME_TEXT_BYTES];

	if (!bf_rule_skipped(q->rule, q->why->at, &skip)) {
		return BELFRY_OK;
	}
	bf_time_format(skip.from * BELFRY_SECOND, 0, from);
	bf_time_format(skip.to * BELFRY_SECOND, 0, to);
	bf_buf_appendf(&words,
			"the clocks of %.*s skip %.5s to %.5s on %.10s, and what the rule names there is "
			"not due",
			BF_STR_ARGS(q->definition.zone), from + 11, to + 11, from);
	if (bf_buf_status(&words) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return belfry_arena_copy(q->arena, bf_buf_str(&words), &q->why->because);
}

/* The present revision does not name it, or names it and leaves it out, or names what the clocks leave out. */
static enum belfry_status answer_not_due(struct question *q)
{
	struct belfry_str calendar = {0};

	answer_from(q, BELFRY_WHY_NOT_DUE, 0);
	q->why->is_excluded = q->rule != NULL && bf_rule_excluded(q->rule, q->why->at, &calendar);
	if (q->rule != NULL && !q->why->is_excluded) {
		return find_skip(q);
	}
	return calendar.len > 0 ? belfry_arena_copy(q->arena, calendar, &q->why->calendar)
				: BELFRY_OK;
}

/* The present rule names it, and it was none all the same. */
static void answer_no_more(struct question *q, struct belfry_str because)
{
	answer_from(q, BELFRY_WHY_NOT_DUE, 0);
	q->why->because = because;
}

/* No Run, no ledger row: what the row itself says. */
static enum belfry_status answer_by_row(struct question *q)
{
	belfry_time at = q->why->at;

	put_nearest(q);
	if (at < q->definition.anchor && q->definition.anchor != 0) {
		answer_from(q, BELFRY_WHY_BEFORE, q->definition.anchor);
	} else if (q->history_from != 0 && at < q->history_from) {
		answer_from(q, BELFRY_WHY_OLDER, q->history_from);
	} else if (q->row.is_removed) {
		answer_from(q, BELFRY_WHY_REMOVED, q->row.idle_since);
	} else if (q->rule == NULL && at >= q->row.cursor && at <= q->now) {
		/* Nobody here can say whether it is one; it is not decided. */
		answer_from(q, BELFRY_WHY_PENDING, 0);
	} else if (!is_due(q, at)) {
		return answer_not_due(q);
	} else if (is_behind_end(q, at)) {
		answer_no_more(q, q->row.phase_reason);
	} else if (q->row.idle_since != 0 && at > q->row.idle_since) {
		answer_from(q, BELFRY_WHY_DISABLED, q->row.idle_since);
	} else if (at > q->now) {
		answer_from(q, BELFRY_WHY_COMING, 0);
	} else if (q->row.cursor <= at) {
		answer_from(q, BELFRY_WHY_PENDING, 0);
	} else {
		answer_no_more(q, BF_STR("it came into force later"));
	}
	return BELFRY_OK;
}

static enum belfry_status answer(struct question *q, struct belfry_error *err)
{
	enum belfry_status status = find_run(q, err);

	if (status == BELFRY_NOT_FOUND) {
		status = find_gap(q, err);
	}
	if (status == BELFRY_NOT_FOUND) {
		status = answer_by_row(q);
		if (status != BELFRY_OK) {
			(void)bf_error_system(err, status, 0, "why"); /* returned below */
		}
	}
	q->why->due = q->why->at;
	q->why->revision = q->why->run != NULL ? q->why->run->revision
			: q->why->gap != NULL  ? q->why->gap->revision
					       : q->row.revision;
	return status;
}

/* Rows that end at `from` or later, oldest first. */
static enum belfry_status list_gaps(struct question *q, belfry_time from, struct belfry_list *list,
		struct belfry_error *err)
{
	*list = (struct belfry_list){
			.size = sizeof(*list),
			.kind = BELFRY_LIST_GAPS,
			.schedule = q->why->schedule,
			.from = from,
			.limit = PAGE_ROWS,
	};
	return bf_store_list(q->embedded->store, list, q->arena, err);
}

/* The last rows of the ledger that end at `low` or later. They come oldest first, so where there are
 * more than a page, `low` is moved up to an instant with a page or less behind it: by growing steps
 * back from now, and by halves once there are rows. */
static enum belfry_status list_newest_gaps(struct question *q, belfry_time low,
		struct belfry_list *list, struct belfry_error *err)
{
	belfry_time high = bf_time_add(q->now, BELFRY_DAY); /* nothing is behind it */
	belfry_duration back = BELFRY_DAY;
	enum belfry_status status = list_gaps(q, low, list, err);

	while (status == BELFRY_OK && list->has_more && high - low > 1) {
		struct belfry_list page;
		belfry_duration half = (high - low) / 2;
		bool is_far = half > back;
		belfry_time from = is_far ? high - back : low + half;
		status = list_gaps(q, from, &page, err);
		if (status == BELFRY_OK && page.count == 0) {
			high = from;
			back *= is_far ? 8 : 1;
		} else if (status == BELFRY_OK) {
			low = from;
			*list = page;
		}
	}
	return status;
}

static struct belfry_gap *latest_of(const struct belfry_list *list)
{
	struct belfry_gap *latest = NULL;

	for (size_t i = 0; i < list->count; i++) {
		if (latest == NULL || list->gaps[i].to >= latest->to) {
			latest = &list->gaps[i];
		}
	}
	return latest;
}

/* The latest due time that was decided: of the newest scheduled Run, or in the newest ledger row. */
static enum belfry_status find_latest(struct question *q, struct belfry_error *err)
{
	struct belfry_list runs = {
			.size = sizeof(runs),
			.kind = BELFRY_LIST_RUNS,
			.schedule = q->why->schedule,
			.triggers = 1u << BELFRY_TRIGGER_SCHEDULE,
			.limit = 1,
	};
	struct belfry_list gaps;

	enum belfry_status status = bf_store_list(q->embedded->store, &runs, q->arena, err);
	if (status != BELFRY_OK) {
		return status;
	}
	q->why->at = runs.count > 0 ? runs.runs[0].due_at : 0;
	status = list_newest_gaps(q, q->why->at, &gaps, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_gap *latest = latest_of(&gaps);
	if (latest != NULL && latest->to > q->why->at) {
		q->why->at = latest->to;
		q->why->kind = BELFRY_WHY_GAP;
		q->why->gap = latest;
	}
	return BELFRY_OK;
}

/* Nothing has been decided yet: what comes first, or why nothing will. */
static enum belfry_status answer_first(struct question *q)
{
	bool is_coming = q->row.cursor != BELFRY_TIME_NEVER;

	q->why->revision = q->row.revision;
	q->why->due = is_coming ? q->row.cursor : q->row.idle_since;
	q->why->nearest_after = q->row.cursor;
	answer_from(q, is_coming ? BELFRY_WHY_COMING : BELFRY_WHY_DISABLED, q->row.idle_since);
	if (q->row.is_removed) {
		q->why->kind = BELFRY_WHY_REMOVED;
	}
	return BELFRY_OK;
}

static enum belfry_status ask(struct question *q, struct belfry_error *err)
{
	if (q->why->at == 0) {
		enum belfry_status status = find_latest(q, err);
		if (status != BELFRY_OK) {
			return status;
		}
		if (q->why->gap != NULL) {
			q->why->due = q->why->at;
			q->why->revision = q->why->gap->revision;
			return BELFRY_OK;
		}
		if (q->why->at == 0) {
			return answer_first(q);
		}
	}
	return answer(q, err);
}

enum belfry_status bf_embedded_why(struct belfry_provider *provider, struct belfry_why *why,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct question q = {.embedded = (struct bf_embedded *)provider,
			.why = why,
			.arena = arena};
	enum belfry_status status = bf_embedded_row(q.embedded, why->schedule, arena, &q.row,
			&q.now, err);

	if (status != BELFRY_OK) {
		return status;
	}
	why->run = NULL;
	why->gap = NULL;
	why->nearest_after = BELFRY_TIME_NEVER;
	why->is_excluded = false;
	why->calendar = (struct belfry_str){0};
	why->because = (struct belfry_str){0};
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	if (bf_embedded_rule(q.embedded, &q.row, &q.definition, &rule, NULL) == BELFRY_OK) {
		q.rule = rule;
	}
	return ask(&q, err);
}
