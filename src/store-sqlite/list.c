/* Reading: one function a kind. All of a call is one picture of the file; everything is copied into the
 * caller's arena. Each page asks for one row more than its limit: whether there is more is known then. */
#include "store-sqlite/sqlite_priv.h"

#include <string.h>

struct listing {
	struct bf_db *db;
	struct belfry_list *list;
	struct belfry_arena *arena;
	size_t capacity;
};

/* Room for one row more in `array`. BELFRY_CONFLICT: the limit is reached, and there is more. */
static enum belfry_status next_place(struct listing *listing, size_t limit, size_t size,
		void **array)
{
	struct belfry_list *list = listing->list;

	if (list->count >= limit) {
		list->has_more = true;
		return BELFRY_CONFLICT;
	}
	return bf_sqlite_grow(listing->arena, size, list->count, &listing->capacity, array);
}

typedef enum belfry_status (*append_fn)(struct listing *listing, sqlite3_stmt *row, size_t limit);

/* Every row of the statement until the limit. Takes the statement. */
static enum belfry_status append_all(struct listing *listing, sqlite3_stmt *statement, size_t limit,
		append_fn append)
{
	BF_CLEANUP(bf_db_reset) sqlite3_stmt *row = statement;
	bool has_row = true;
	enum belfry_status status = bf_db_step(listing->db, row, &has_row);

	while (status == BELFRY_OK && has_row) {
		status = append(listing, row, limit);
		if (status == BELFRY_OK) {
			status = bf_db_step(listing->db, row, &has_row);
		}
	}
	return status == BELFRY_CONFLICT ? BELFRY_OK : status;
}

static struct bf_value one_more(const struct belfry_list *list)
{
	return bf_v_int((int64_t)list->limit + 1);
}

/* --- schedules --- */

static enum belfry_status append_schedule(struct listing *listing, sqlite3_stmt *row, size_t limit)
{
	struct belfry_list *list = listing->list;
	void *array = list->rows;
	enum belfry_status status = next_place(listing, limit, sizeof(*list->rows), &array);

	if (status != BELFRY_OK) {
		return status;
	}
	list->rows = array;
	return bf_sqlite_read_schedule(row, listing->arena, &list->rows[list->count++]);
}

static enum belfry_status append_revision(struct listing *listing, sqlite3_stmt *row, size_t limit)
{
	struct belfry_list *list = listing->list;
	void *array = list->rows;
	enum belfry_status status = next_place(listing, limit, sizeof(*list->rows), &array);

	if (status != BELFRY_OK) {
		return status;
	}
	list->rows = array;
	struct belfry_schedule_row *brief = &list->rows[list->count++];
	*brief = (struct belfry_schedule_row){.revision = bf_db_int(row, 1),
			.is_removed = bf_db_int(row, 2) != 0};
	return bf_db_text(row, 0, listing->arena, &brief->id);
}

static enum belfry_status list_revisions(struct listing *listing)
{
	struct belfry_list *list = listing->list;

	return append_all(listing,
			bf_db_bind(listing->db, BF_ST_SCHEDULES_REVISIONS,
					bf_v_text(list->after_text), one_more(list)),
			list->limit, append_revision);
}

static enum belfry_status append_tz_version(struct listing *listing, sqlite3_stmt *row,
		size_t limit)
{
	struct belfry_list *list = listing->list;
	void *array = list->rows;
	enum belfry_status status = next_place(listing, limit, sizeof(*list->rows), &array);

	if (status != BELFRY_OK) {
		return status;
	}
	list->rows = array;
	struct belfry_schedule_row *version = &list->rows[list->count++];
	*version = (struct belfry_schedule_row){.cursor = BELFRY_TIME_NEVER};
	return bf_db_text(row, 0, listing->arena, &version->tz_version);
}

static enum belfry_status list_due(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	enum belfry_status status = bf_db_number(listing->db, BF_ST_SCHEDULES_NEXT_DUE,
			BELFRY_TIME_NEVER, &list->next_due, bf_v_int(list->now));

	if (status != BELFRY_OK) {
		return status;
	}
	return append_all(listing,
			bf_db_bind(listing->db, BF_ST_SCHEDULES_DUE, bf_v_int(list->now),
					one_more(list), bf_v_int(list->from)),
			list->limit, append_schedule);
}

static enum belfry_status list_schedules(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	enum belfry_status status = BELFRY_OK;

	if (list->id_count == 0 && list->tz_version.len > 0) {
		return append_all(listing,
				bf_db_bind(listing->db, BF_ST_SCHEDULES_OF_TZ,
						bf_v_text(list->after_text), one_more(list),
						bf_v_text(list->tz_version)),
				list->limit, append_schedule);
	}
	if (list->id_count == 0) {
		return append_all(listing,
				bf_db_bind(listing->db, BF_ST_SCHEDULES_BY_ID,
						bf_v_text(list->after_text), one_more(list)),
				list->limit, append_schedule);
	}
	for (size_t i = 0; status == BELFRY_OK && i < list->id_count; i++) {
		status = append_all(listing,
				bf_db_bind(listing->db, BF_ST_SCHEDULE_ONE,
						bf_v_text(list->ids[i])),
				list->id_count, append_schedule);
	}
	return status;
}

/* Key of the schedule that is asked about; 0: nobody knows it. */
static enum belfry_status find_schedule(struct listing *listing, int64_t *ret_key)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(listing->db, BF_ST_SCHEDULE_KEY,
			bf_v_text(listing->list->schedule));
	bool has_row = false;
	enum belfry_status status = bf_db_step(listing->db, row, &has_row);

	*ret_key = 0;
	if (status == BELFRY_OK && has_row) {
		*ret_key = bf_db_int(row, 0);
		listing->list->history_from = bf_db_int(row, 1);
	}
	return status;
}

/* --- Runs --- */

static enum belfry_status append_run(struct listing *listing, sqlite3_stmt *row, size_t limit)
{
	struct belfry_list *list = listing->list;
	void *array = list->runs;
	enum belfry_status status = next_place(listing, limit, sizeof(*list->runs), &array);

	if (status != BELFRY_OK) {
		return status;
	}
	list->runs = array;
	return bf_sqlite_read_run(row, listing->arena, &list->runs[list->count++]);
}

/* Only failed, cancelled, skipped, unknown ones: they have an index of their own. */
static bool asks_for_rare(const struct belfry_list *list)
{
	return list->statuses != 0 && (list->statuses & ((2u << BELFRY_STATUS_COMPLETED) - 1)) == 0;
}

static enum belfry_status list_runs(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	struct belfry_id above, below = list->before;
	int64_t key = 0;
	enum bf_statement which = BF_ST_RUNS_ALL;

	if (list->schedule.len > 0) {
		enum belfry_status status = find_schedule(listing, &key);
		if (status != BELFRY_OK || key == 0) {
			return status;
		}
		which = asks_for_rare(list) ? BF_ST_RUNS_RARE_OF : BF_ST_RUNS_OF;
	}
	if (bf_id_is_zero(below)) {
		memset(&below, 0xff, sizeof(below));
	}
	above = bf_run_id_floor(list->from);
	const struct bf_value values[] = {bf_v_id(&below), bf_v_id(&above),
			bf_v_int(list->statuses), bf_v_int(list->triggers), bf_v_int(list->from),
			one_more(list), bf_v_int(key)};
	return append_all(listing,
			bf_db_bind_values(listing->db, which, values,
					BF_COUNT(values) - (which == BF_ST_RUNS_ALL ? 1 : 0)),
			list->limit, append_run);
}

static enum belfry_status list_run_ids(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < list->run_id_count; i++) {
		status = append_all(listing,
				bf_db_bind(listing->db, BF_ST_RUN_ONE, bf_v_id(&list->run_ids[i])),
				list->run_id_count, append_run);
	}
	return status;
}

static enum belfry_status append_invocation(struct listing *listing, sqlite3_stmt *row,
		size_t limit)
{
	struct belfry_list *list = listing->list;
	void *array = list->invocations;
	enum belfry_status status = next_place(listing, limit, sizeof(*list->invocations), &array);

	if (status != BELFRY_OK) {
		return status;
	}
	list->invocations = array;
	return bf_db_text(row, 0, listing->arena, &list->invocations[list->count++].payload);
}

static enum belfry_status list_invocations(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < list->run_id_count; i++) {
		size_t before = list->count;
		status = append_all(listing,
				bf_db_bind(listing->db, BF_ST_INVOCATION,
						bf_v_id(&list->run_ids[i])),
				list->run_id_count, append_invocation);
		if (status == BELFRY_OK && list->count > before) {
			list->invocations[before].run = list->run_ids[i];
		}
	}
	return status;
}

static enum belfry_status append_attempt(struct listing *listing, sqlite3_stmt *row, size_t limit)
{
	struct belfry_list *list = listing->list;
	void *array = list->attempts;
	enum belfry_status status = next_place(listing, limit, sizeof(*list->attempts), &array);

	if (status != BELFRY_OK) {
		return status;
	}
	list->attempts = array;
	struct belfry_attempt *attempt = &list->attempts[list->count++];
	*attempt = (struct belfry_attempt){
			.run = list->run_ids[0],
			.number = bf_db_u32(row, 0),
			.step = (enum belfry_step)bf_db_u32(row, 1),
			.fence = (belfry_fence)bf_db_int(row, 2),
			.holder = bf_db_id(row, 3),
			.started_at = bf_db_int(row, 4),
			.ended_at = bf_db_int(row, 5),
			.error = (enum belfry_run_error)bf_db_u32(row, 6),
	};
	status = bf_db_text(row, 7, listing->arena, &attempt->message);
	return status == BELFRY_OK ? bf_db_text(row, 8, listing->arena, &attempt->detail) : status;
}

static enum belfry_status list_attempts(struct listing *listing)
{
	struct belfry_list *list = listing->list;

	if (list->run_id_count == 0) {
		return BELFRY_OK;
	}
	return append_all(listing,
			bf_db_bind(listing->db, BF_ST_ATTEMPTS_OF, bf_v_id(&list->run_ids[0]),
					one_more(list)),
			list->limit, append_attempt);
}

/* --- the ledger, incarnations, counts --- */

static enum belfry_status append_gap(struct listing *listing, sqlite3_stmt *row, size_t limit)
{
	struct belfry_list *list = listing->list;
	void *array = list->gaps;
	enum belfry_status status = next_place(listing, limit, sizeof(*list->gaps), &array);

	if (status != BELFRY_OK) {
		return status;
	}
	list->gaps = array;
	struct belfry_gap *gap = &list->gaps[list->count++];
	*gap = (struct belfry_gap){
			.from = bf_db_int(row, 0),
			.to = bf_db_int(row, 1),
			.count = bf_db_int(row, 2),
			.is_at_least = bf_db_int(row, 3) != 0,
			.reason = (int32_t)bf_db_u32(row, 4),
			.revision = bf_db_int(row, 5),
			.written_at = bf_db_int(row, 6),
	};
	status = bf_db_text(row, 7, listing->arena, &gap->who);
	return status == BELFRY_OK
			? belfry_arena_copy(listing->arena, list->schedule, &gap->schedule)
			: status;
}

static enum belfry_status list_gaps(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	int64_t key;
	enum belfry_status status = find_schedule(listing, &key);

	if (status != BELFRY_OK || key == 0) {
		return status;
	}
	return append_all(listing,
			bf_db_bind(listing->db, BF_ST_GAPS_LIST, bf_v_int(key),
					bf_v_int(list->from),
					bf_v_int(list->to != 0 ? list->to : BELFRY_TIME_NEVER),
					one_more(list)),
			list->limit, append_gap);
}

static enum belfry_status list_incarnations(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(listing->db, BF_ST_INCARNATIONS_COVERING,
			bf_v_int(list->from));

	return bf_sqlite_read_incarnations(listing->db, row, listing->arena, &list->incarnations,
			&list->count);
}

static enum belfry_status count_open(struct bf_db *db, struct belfry_counts *counts)
{
	int64_t waiting, delayed, held, born;
	enum belfry_status status = bf_db_number_values(db, BF_ST_COUNT_WAITING, 0, &waiting, NULL,
			0);

	if (status == BELFRY_OK) {
		status = bf_db_number_values(db, BF_ST_COUNT_DELAYED, 0, &delayed, NULL, 0);
	}
	if (status == BELFRY_OK) {
		status = bf_db_number_values(db, BF_ST_COUNT_HELD, 0, &held, NULL, 0);
	}
	if (status == BELFRY_OK) {
		status = bf_db_number_values(db, BF_ST_COUNT_BORN, 0, &born, NULL, 0);
	}
	if (status == BELFRY_OK) {
		counts->by_state[BELFRY_RUN_QUEUED] = waiting - delayed;
		counts->by_state[BELFRY_RUN_DELAYED] = delayed;
		counts->by_state[BELFRY_RUN_DISPATCHING] = held + born;
	}
	return status;
}

static enum belfry_status list_counts(struct listing *listing)
{
	struct belfry_list *list = listing->list;
	struct bf_db *db = listing->db;
	struct belfry_counts *counts = belfry_arena_alloc(listing->arena, sizeof(*counts));
	int64_t is_on = 1;
	belfry_time oldest = 0;

	if (counts == NULL) {
		return BELFRY_NOMEM;
	}
	enum belfry_status status = count_open(db, counts);
	if (status == BELFRY_OK) {
		status = bf_db_number_values(db, BF_ST_NEXT_READY, 0, &oldest, NULL, 0);
	}
	if (status == BELFRY_OK) {
		status = bf_sqlite_get_meta(db, "schedules", &counts->schedules);
	}
	if (status == BELFRY_OK) {
		status = bf_sqlite_get_meta(db, "active_schedules", &counts->active_schedules);
	}
	if (status == BELFRY_OK) {
		status = bf_sqlite_get_meta(db, "is_on", &is_on);
	}
	counts->is_on = is_on != 0;
	counts->oldest_queued = oldest <= list->now ? oldest : 0;
	list->counts = counts;
	list->count = 1;
	return status;
}

static enum belfry_status list_kind(struct listing *listing)
{
	switch (listing->list->kind) {
	case BELFRY_LIST_DUE: return list_due(listing);
	case BELFRY_LIST_SCHEDULES: return list_schedules(listing);
	case BELFRY_LIST_REVISIONS: return list_revisions(listing);
	case BELFRY_LIST_RUNS: return list_runs(listing);
	case BELFRY_LIST_RUN_IDS: return list_run_ids(listing);
	case BELFRY_LIST_INVOCATIONS: return list_invocations(listing);
	case BELFRY_LIST_ATTEMPTS: return list_attempts(listing);
	case BELFRY_LIST_GAPS: return list_gaps(listing);
	case BELFRY_LIST_INCARNATIONS: return list_incarnations(listing);
	case BELFRY_LIST_COUNTS: return list_counts(listing);
	case BELFRY_LIST_TZ_VERSIONS:
		return append_all(listing,
				bf_db_bind_values(listing->db, BF_ST_SCHEDULES_TZ, NULL, 0),
				listing->list->limit, append_tz_version);
	}
	return BELFRY_INVALID;
}

enum belfry_status bf_sqlite_list(struct belfry_store *base, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct bf_sqlite *store = bf_sqlite_of(base);
	struct belfry_list work = *list;
	struct listing listing = {.db = &store->reader, .list = &work, .arena = arena};
	enum belfry_status status = bf_sqlite_read_begin(store, err);

	if (status != BELFRY_OK) {
		return status;
	}
	work.now = bf_sqlite_now(store);
	work.count = 0;
	work.has_more = false;
	work.next_due = BELFRY_TIME_NEVER;
	work.history_from = 0;
	status = bf_sqlite_read_end(store, list_kind(&listing), err);
	if (status == BELFRY_OK) {
		*list = work;
	}
	return status;
}
