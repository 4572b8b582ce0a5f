/* Reading: one function a kind. Everything is copied into the caller's arena under the lock. Each
 * answer array has room for at most the limit and one more count tells whether there is more. */
#include "store/memory/memory_priv.h"

/* Room for `most` elements, but not for more than the limit. */
static void *new_array(const struct belfry_list *list, struct belfry_arena *arena, size_t most,
		size_t size)
{
	return belfry_arena_alloc(arena, BF_MIN(most, (size_t)list->limit) * size);
}

/* False: the limit is reached, and there is more. */
static bool has_room(struct belfry_list *list)
{
	list->has_more = list->count >= list->limit;
	return !list->has_more;
}

/* --- schedules --- */

static enum belfry_status append_row(struct belfry_list *list, const struct mem_schedule *schedule,
		struct belfry_arena *arena)
{
	struct belfry_schedule_row *row = &list->rows[list->count++];
	*row = schedule->row;
	struct belfry_str *texts[] = {&row->id, &row->definition, &row->fair_key, &row->tz_version,
			&row->phase_reason};

	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		if (belfry_arena_copy(arena, *texts[i], texts[i]) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status list_due(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	struct mem_key after_now = {.time = list->now + 1};
	struct mem_node *later = mem_tree_find_from(&db->due, &after_now);

	list->next_due = later != NULL ? BF_CONTAINER(later, struct mem_schedule, due)->row.cursor
				       : BELFRY_TIME_NEVER;
	list->rows = new_array(list, arena, mem_tree_rank(&db->due, &after_now),
			sizeof(*list->rows));
	if (list->rows == NULL) {
		return BELFRY_NOMEM;
	}
	struct mem_key from = {.time = list->from};
	for (struct mem_node *node = mem_tree_find_from(&db->due, &from);
			node != NULL && node != later && has_room(list);
			node = mem_tree_next(node)) {
		if (append_row(list, BF_CONTAINER(node, struct mem_schedule, due), arena) !=
				BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status list_named_schedules(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	list->rows = belfry_arena_alloc(arena, list->id_count * sizeof(*list->rows));
	if (list->rows == NULL) {
		return BELFRY_NOMEM;
	}
	for (size_t i = 0; i < list->id_count; i++) {
		const struct mem_schedule *schedule = mem_schedule_find(db, list->ids[i]);
		if (schedule != NULL && append_row(list, schedule, arena) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status append_brief(struct belfry_list *list,
		const struct mem_schedule *schedule, struct belfry_arena *arena)
{
	struct belfry_schedule_row *row = &list->rows[list->count++];

	*row = (struct belfry_schedule_row){.revision = schedule->row.revision,
			.is_removed = schedule->row.is_removed};
	return belfry_arena_copy(arena, schedule->row.id, &row->id);
}

/* Looks at every row, as no other store may: this one holds few. */
static bool is_listed_version(const struct belfry_list *list, struct belfry_str version)
{
	for (size_t i = 0; i < list->count; i++) {
		if (bf_str_equal(list->rows[i].tz_version, version)) {
			return true;
		}
	}
	return version.len == 0;
}

static bool is_wanted_by_id(const struct belfry_list *list, const struct mem_schedule *schedule)
{
	struct belfry_str version = schedule->row.tz_version;

	if (list->kind == BELFRY_LIST_TZ_VERSIONS) {
		return !is_listed_version(list, version);
	}
	return list->kind != BELFRY_LIST_SCHEDULES || list->tz_version.len == 0 ||
			bf_str_equal(version, list->tz_version);
}

static enum belfry_status append_tz(struct belfry_list *list, const struct mem_schedule *schedule,
		struct belfry_arena *arena)
{
	struct belfry_schedule_row *row = &list->rows[list->count++];

	*row = (struct belfry_schedule_row){.cursor = BELFRY_TIME_NEVER};
	return belfry_arena_copy(arena, schedule->row.tz_version, &row->tz_version);
}

typedef enum belfry_status (*append_fn)(struct belfry_list *list,
		const struct mem_schedule *schedule, struct belfry_arena *arena);

static enum belfry_status list_by_id(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena, append_fn append)
{
	list->rows = new_array(list, arena, mem_tree_count(&db->schedules), sizeof(*list->rows));
	if (list->rows == NULL) {
		return BELFRY_NOMEM;
	}
	struct mem_key after = {.text = {list->after_text}, .sequence = list->after_text.len > 0};
	for (struct mem_node *node = mem_tree_find_from(&db->schedules, &after); node != NULL;
			node = mem_tree_next(node)) {
		const struct mem_schedule *schedule = BF_CONTAINER(node, struct mem_schedule,
				by_id);
		if (!is_wanted_by_id(list, schedule)) {
			continue;
		}
		if (!has_room(list)) {
			break;
		}
		if (append(list, schedule, arena) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status list_schedules(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	if (list->id_count > 0) {
		return list_named_schedules(db, list, arena);
	}
	return list_by_id(db, list, arena, append_row);
}

/* --- Runs --- */

static bool is_wanted(const struct belfry_list *list, const struct belfry_run *run)
{
	belfry_time time = run->due_at != 0 ? run->due_at : run->created_at;

	return (list->statuses == 0 || (list->statuses >> run->status & 1) != 0) &&
			(list->triggers == 0 || (list->triggers >> run->trigger & 1) != 0) &&
			time >= list->from;
}

/* The tree and the place that the list begins below: of one schedule, or of all. */
static struct mem_node *newest(const struct mem_db *db, const struct belfry_list *list)
{
	struct mem_key key = {.text = {list->schedule}, .id = list->before};

	if (bf_id_is_zero(list->before)) {
		memset(key.id.bytes, 0xff, sizeof(key.id.bytes));
		key.sequence = 1;
	}
	return mem_tree_find_below(list->schedule.len > 0 ? &db->history : &db->runs, &key);
}

static struct mem_run *run_at(const struct belfry_list *list, struct mem_node *node)
{
	if (node == NULL) {
		return NULL;
	}
	if (list->schedule.len == 0) {
		return BF_CONTAINER(node, struct mem_run, by_id);
	}
	struct mem_run *run = BF_CONTAINER(node, struct mem_run, history);
	return bf_str_equal(run->run.schedule, list->schedule) ? run : NULL;
}

static void answer_history_from(const struct mem_db *db, struct belfry_list *list)
{
	const struct mem_schedule *schedule = mem_schedule_find(db, list->schedule);

	list->history_from = schedule != NULL ? schedule->history_from : 0;
}

static enum belfry_status list_runs(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	struct mem_run *run;

	answer_history_from(db, list);
	list->runs = new_array(list, arena, mem_tree_count(&db->runs), sizeof(*list->runs));
	if (list->runs == NULL) {
		return BELFRY_NOMEM;
	}
	for (struct mem_node *node = newest(db, list); (run = run_at(list, node)) != NULL;
			node = mem_tree_previous(node)) {
		if (!is_wanted(list, &run->run)) {
			continue;
		}
		if (!has_room(list)) {
			break;
		}
		if (mem_run_copy(run, arena, &list->runs[list->count++]) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status list_run_ids(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	list->runs = belfry_arena_alloc(arena, list->run_id_count * sizeof(*list->runs));
	if (list->runs == NULL) {
		return BELFRY_NOMEM;
	}
	for (size_t i = 0; i < list->run_id_count; i++) {
		const struct mem_run *run = mem_run_find(db, list->run_ids[i]);
		if (run != NULL &&
				mem_run_copy(run, arena, &list->runs[list->count++]) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status list_invocations(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	list->invocations = belfry_arena_alloc(arena,
			list->run_id_count * sizeof(*list->invocations));
	if (list->invocations == NULL) {
		return BELFRY_NOMEM;
	}
	for (size_t i = 0; i < list->run_id_count; i++) {
		const struct mem_run *run = mem_run_find(db, list->run_ids[i]);
		if (run == NULL) {
			continue;
		}
		struct belfry_invocation_row *row = &list->invocations[list->count++];
		row->run = run->run.id;
		if (belfry_arena_copy(arena, run->revision->payload->bytes, &row->payload) !=
				BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status append_attempt(struct belfry_list *list,
		const struct belfry_attempt *attempt, struct belfry_arena *arena)
{
	struct belfry_attempt *row = &list->attempts[list->count++];

	*row = *attempt;
	if (belfry_arena_copy(arena, attempt->message, &row->message) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return belfry_arena_copy(arena, attempt->detail, &row->detail);
}

static enum belfry_status list_attempts(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	struct mem_key first = {.id = list->run_ids[0]};
	struct mem_key last = {.id = list->run_ids[0], .number = INT64_MAX};
	struct mem_node *end = mem_tree_find_from(&db->attempts, &last);

	list->attempts = new_array(list, arena,
			mem_tree_rank(&db->attempts, &last) - mem_tree_rank(&db->attempts, &first),
			sizeof(*list->attempts));
	if (list->attempts == NULL) {
		return BELFRY_NOMEM;
	}
	for (struct mem_node *node = mem_tree_find_from(&db->attempts, &first);
			node != end && has_room(list); node = mem_tree_next(node)) {
		const struct mem_attempt *row = BF_CONTAINER(node, struct mem_attempt, by_run);
		if (append_attempt(list, &row->attempt, arena) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

/* --- the ledger, incarnations, counts --- */

static enum belfry_status append_gap(struct belfry_list *list, const struct belfry_gap *gap,
		struct belfry_arena *arena)
{
	struct belfry_gap *row = &list->gaps[list->count++];

	*row = *gap;
	if (belfry_arena_copy(arena, gap->schedule, &row->schedule) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return belfry_arena_copy(arena, gap->who, &row->who);
}

static bool touches(const struct belfry_gap *gap, const struct belfry_list *list)
{
	return gap->to >= list->from && (list->to == 0 || gap->from <= list->to);
}

static enum belfry_status list_gaps(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	struct mem_key first = {.text = {list->schedule}, .number = INT64_MIN};
	struct mem_key last = {.text = {list->schedule},
			.number = INT64_MAX,
			.sequence = INT64_MAX};
	struct mem_node *end = mem_tree_find_from(&db->gaps, &last);

	answer_history_from(db, list);
	list->gaps = new_array(list, arena,
			mem_tree_rank(&db->gaps, &last) - mem_tree_rank(&db->gaps, &first),
			sizeof(*list->gaps));
	if (list->gaps == NULL) {
		return BELFRY_NOMEM;
	}
	for (struct mem_node *node = mem_tree_find_from(&db->gaps, &first); node != end;
			node = mem_tree_next(node)) {
		const struct belfry_gap *gap = &BF_CONTAINER(node, struct mem_gap, by_time)->gap;
		if (!touches(gap, list)) {
			continue;
		}
		if (!has_room(list)) {
			break;
		}
		if (append_gap(list, gap, arena) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status list_incarnations(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	return mem_incarnations_copy(db, false, list->from, arena, &list->incarnations,
			&list->count);
}

static enum belfry_status list_counts(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	struct mem_node *oldest = mem_tree_first(&db->queue);

	list->counts = belfry_arena_alloc(arena, sizeof(*list->counts));
	if (list->counts == NULL) {
		return BELFRY_NOMEM;
	}
	list->count = 1;
	memcpy(list->counts->by_state, db->by_state, sizeof(db->by_state));
	list->counts->schedules = db->schedule_count;
	list->counts->active_schedules = db->active_count;
	list->counts->is_on = db->is_on;
	if (oldest != NULL) {
		belfry_time ready_at = BF_CONTAINER(oldest, struct mem_run, queue)->run.ready_at;
		list->counts->oldest_queued = ready_at <= list->now ? ready_at : 0;
	}
	return BELFRY_OK;
}

static enum belfry_status list_kind(struct mem_db *db, struct belfry_list *list,
		struct belfry_arena *arena)
{
	switch (list->kind) {
	case BELFRY_LIST_DUE: return list_due(db, list, arena);
	case BELFRY_LIST_SCHEDULES: return list_schedules(db, list, arena);
	case BELFRY_LIST_REVISIONS: return list_by_id(db, list, arena, append_brief);
	case BELFRY_LIST_RUNS: return list_runs(db, list, arena);
	case BELFRY_LIST_RUN_IDS: return list_run_ids(db, list, arena);
	case BELFRY_LIST_INVOCATIONS: return list_invocations(db, list, arena);
	case BELFRY_LIST_ATTEMPTS: return list_attempts(db, list, arena);
	case BELFRY_LIST_GAPS: return list_gaps(db, list, arena);
	case BELFRY_LIST_INCARNATIONS: return list_incarnations(db, list, arena);
	case BELFRY_LIST_COUNTS: return list_counts(db, list, arena);
	case BELFRY_LIST_TZ_VERSIONS: return list_by_id(db, list, arena, append_tz);
	}
	return BELFRY_INVALID;
}

enum belfry_status mem_list(struct belfry_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	enum belfry_status status = mem_owed_finish_all(db);

	(void)err;
	list->now = mem_now(db);
	list->count = 0;
	list->has_more = false;
	list->next_due = BELFRY_TIME_NEVER;
	list->history_from = 0;
	return status == BELFRY_OK ? list_kind(db, list, arena) : status;
}
