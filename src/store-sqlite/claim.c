/* Claiming: from the queue, from those who have ended, and reading what a holder owns.
 *
 * What a dead incarnation left is of two kinds: Runs that have a row in `queue` with it as holder, and
 * Runs that were born to it, which lie between its `low` and its `high` and are found by walking
 * through `runs` there. The walk is remembered in `low`; when it has come to the end and nothing is
 * held, the incarnation is settled and never looked at again: no commit of its can land later, because
 * each one checks in its own transaction that its holder lives.
 * A Run that was taken over was not born to its new holder, so it gets a row in `queue`. */
#include "store-sqlite/sqlite_priv.h"

/* Rows of `runs` that one call walks over at most, and at a time. */
#define WALK_MAX   65536
#define WALK_CHUNK 2048

struct ids {
	struct belfry_id *ids;
	size_t count;
	size_t capacity;
};

struct claim_call {
	struct belfry_claim *claim;
	struct belfry_arena *arena;
	bool is_careful;
};

struct claiming {
	struct bf_sqlite *store;
	struct bf_db *db;
	struct belfry_claim *claim;
	struct belfry_arena *arena;
	struct bf_holder holder;
	bool is_careful;
	bool is_full; /* no room for the next Run: there is more */
	uint64_t bytes;
	size_t capacity;
	int64_t walked;
};

static enum belfry_status append_id(struct claiming *claiming, struct ids *ids, struct belfry_id id)
{
	void *array = ids->ids;
	enum belfry_status status = bf_sqlite_grow(claiming->arena, sizeof(id), ids->count,
			&ids->capacity, &array);

	if (status == BELFRY_OK) {
		ids->ids = array;
		ids->ids[ids->count++] = id;
	}
	return status;
}

/* First column of every row. */
static enum belfry_status collect(struct claiming *claiming, sqlite3_stmt *row, struct ids *ids)
{
	bool has_row = true;
	enum belfry_status status = bf_db_step(claiming->db, row, &has_row);

	while (status == BELFRY_OK && has_row) {
		status = append_id(claiming, ids, bf_db_id(row, 0));
		if (status == BELFRY_OK) {
			status = bf_db_step(claiming->db, row, &has_row);
		}
	}
	return status;
}

/* One more than there is room for: whether more wait is known then. */
static int64_t room(const struct claiming *claiming)
{
	return (int64_t)claiming->claim->max_runs - (int64_t)claiming->claim->run_count + 1;
}

/* --- one Run --- */

struct candidate {
	struct belfry_claimed claimed;
	bool is_found;
	bool is_in_queue;
	int64_t holder;
};

static enum belfry_status read_candidate(struct claiming *claiming, const struct belfry_id *id,
		struct candidate *candidate)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(claiming->db, BF_ST_CLAIMED_ONE, bf_v_id(id));
	bool has_row = false;
	enum belfry_status status = bf_db_step(claiming->db, row, &has_row);

	*candidate = (struct candidate){.is_found = has_row};
	if (status != BELFRY_OK || !has_row) {
		return status;
	}
	struct belfry_claimed *claimed = &candidate->claimed;
	status = bf_sqlite_read_run(row, claiming->arena, &claimed->run);
	if (status == BELFRY_OK) {
		status = bf_db_text(row, BF_RUN_COLUMN_COUNT, claiming->arena,
				&claimed->definition);
	}
	claimed->payload_bytes = bf_db_u32(row, BF_RUN_COLUMN_COUNT + 1);
	candidate->is_in_queue = bf_db_int(row, BF_RUN_COLUMN_COUNT + 2) != 0;
	candidate->holder = bf_db_int(row, BF_RUN_COLUMN_COUNT + 3);
	return status;
}

/* Does the kind of claim fit what the Run is? A row in `queue` that does not is a leftover. */
static bool fits(const struct claiming *claiming, const struct candidate *candidate)
{
	enum belfry_run_state state = candidate->claimed.run.state;

	if (!candidate->is_found) {
		return false;
	}
	if (claiming->claim->kind == BELFRY_CLAIM_QUEUE) {
		return state == BELFRY_RUN_QUEUED || state == BELFRY_RUN_DELAYED;
	}
	return state == BELFRY_RUN_DISPATCHING;
}

/* Fence and holder: the one place where a Run changes hands. */
static enum belfry_status take(struct claiming *claiming, struct candidate *candidate)
{
	struct bf_db *db = claiming->db;
	struct belfry_claim *claim = claiming->claim;
	struct belfry_run *run = &candidate->claimed.run;
	bool is_queue = claim->kind == BELFRY_CLAIM_QUEUE;

	run->state = BELFRY_RUN_DISPATCHING;
	run->status = BELFRY_STATUS_RUNNING;
	run->holder = claim->holder;
	run->fence = BF_MAX(run->fence + 1, (belfry_fence)claim->now);
	run->started_at = run->started_at != 0 ? run->started_at : claim->now;
	run->attempt += is_queue ? 1 : 0;
	run->takeovers += is_queue ? 0 : 1;
	enum belfry_status status = bf_db_run(db, BF_ST_RUN_TAKE, bf_v_id(&run->id),
			bf_v_int(claiming->holder.key), bf_v_bits(run->fence),
			bf_v_int(run->started_at), bf_v_int(run->attempt),
			bf_v_int(run->takeovers));
	if (status != BELFRY_OK || candidate->is_in_queue) {
		return status != BELFRY_OK ? status
					   : bf_db_run(db, BF_ST_QUEUE_HOLD, bf_v_id(&run->id),
							     bf_v_int(claiming->holder.key));
	}
	int64_t schedule;
	status = bf_db_number(db, BF_ST_RUN_SCHEDULE, 0, &schedule, bf_v_id(&run->id));
	return status != BELFRY_OK ? status
				   : bf_db_run(db, BF_ST_QUEUE_PUT, bf_v_id(&run->id),
						     bf_v_int(run->ready_at), bf_v_int(schedule),
						     bf_v_int(claiming->holder.key), bf_v_int(0));
}

static enum belfry_status append(struct claiming *claiming, const struct candidate *candidate)
{
	struct belfry_claim *claim = claiming->claim;
	void *array = claim->runs;
	enum belfry_status status = bf_sqlite_grow(claiming->arena, sizeof(*claim->runs),
			claim->run_count, &claiming->capacity, &array);

	if (status == BELFRY_OK) {
		claim->runs = array;
		claim->runs[claim->run_count++] = candidate->claimed;
		claiming->bytes += candidate->claimed.payload_bytes;
	}
	return status;
}

static bool has_room(const struct claiming *claiming, const struct candidate *candidate)
{
	const struct belfry_claim *claim = claiming->claim;

	return claim->run_count < claim->max_runs &&
			(claim->run_count == 0 ||
					claiming->bytes + candidate->claimed.payload_bytes <=
							claim->max_bytes);
}

static enum belfry_status claim_one(struct claiming *claiming, const struct belfry_id *id)
{
	struct candidate candidate;
	enum belfry_status status = read_candidate(claiming, id, &candidate);

	if (status != BELFRY_OK) {
		return status;
	}
	if (!fits(claiming, &candidate)) {
		return claiming->claim->kind == BELFRY_CLAIM_OWNED
				? BELFRY_OK
				: bf_db_run(claiming->db, BF_ST_QUEUE_DELETE, bf_v_id(id));
	}
	if (!has_room(claiming, &candidate)) {
		claiming->is_full = true;
		return BELFRY_OK;
	}
	if (claiming->claim->kind != BELFRY_CLAIM_OWNED) {
		status = take(claiming, &candidate);
	}
	return status == BELFRY_OK ? append(claiming, &candidate) : status;
}

/* Stops where there is no more room. A Run that cannot be read is left out by a careful call. */
static enum belfry_status claim_each(struct claiming *claiming, const struct ids *ids)
{
	bool is_careful = claiming->is_careful;
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < ids->count && !claiming->is_full; i++) {
		status = bf_sqlite_item_begin(claiming->store, is_careful);
		if (status == BELFRY_OK) {
			status = claim_one(claiming, &ids->ids[i]);
		}
		status = bf_sqlite_item_end(claiming->store, is_careful, status);
		if (status == BELFRY_CORRUPT && is_careful) {
			status = BELFRY_OK;
		}
	}
	return status;
}

/* --- the kinds --- */

static enum belfry_status claim_queue(struct claiming *claiming)
{
	struct belfry_claim *claim = claiming->claim;
	struct ids ids = {0};
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(claiming->db, BF_ST_CLAIM_WAITING, bf_v_int(claim->now),
			bf_v_int(room(claiming)));
	enum belfry_status status = collect(claiming, row, &ids);

	bf_db_reset(&row);
	if (status == BELFRY_OK) {
		status = claim_each(claiming, &ids);
	}
	if (status == BELFRY_OK) {
		status = bf_db_number_values(claiming->db, BF_ST_NEXT_READY, BELFRY_TIME_NEVER,
				&claim->next_ready, NULL, 0);
	}
	return status;
}

static enum belfry_status claim_owned(struct claiming *claiming)
{
	struct ids ids = {0};
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(claiming->db, BF_ST_CLAIM_OWNED,
			bf_v_int(claiming->holder.key), bf_v_id(&claiming->claim->after),
			bf_v_id(&claiming->holder.low), bf_v_int(room(claiming)));
	enum belfry_status status = collect(claiming, row, &ids);

	bf_db_reset(&row);
	return status == BELFRY_OK ? claim_each(claiming, &ids) : status;
}

struct dead {
	int64_t key; /* 0: there is none */
	struct belfry_id low;
	struct belfry_id high;
};

static enum belfry_status next_dead(struct bf_db *db, int64_t after, struct dead *ret_dead)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_INCARNATIONS_DEAD, bf_v_int(after));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	*ret_dead = (struct dead){0};
	if (status == BELFRY_OK && has_row) {
		*ret_dead = (struct dead){bf_db_int(row, 0), bf_db_id(row, 1), bf_db_id(row, 2)};
	}
	return status;
}

static enum belfry_status take_held(struct claiming *claiming, const struct dead *dead)
{
	struct ids ids = {0};
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(claiming->db, BF_ST_CLAIM_DEAD_HELD, bf_v_int(dead->key),
			bf_v_int(room(claiming)));
	enum belfry_status status = collect(claiming, row, &ids);

	bf_db_reset(&row);
	return status == BELFRY_OK ? claim_each(claiming, &ids) : status;
}

/* The Runs of one stretch that were born to the dead one; *ret_last is where it ended. */
static enum belfry_status walk(struct claiming *claiming, const struct dead *dead, struct ids *ids,
		struct belfry_id *ret_last, int64_t *ret_rows)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(claiming->db, BF_ST_CLAIM_DEAD_BORN, bf_v_int(dead->key),
			bf_v_id(&dead->low), bf_v_id(&dead->high), bf_v_int(WALK_CHUNK));
	bool has_row = true;
	enum belfry_status status = bf_db_step(claiming->db, row, &has_row);

	*ret_rows = 0;
	while (status == BELFRY_OK && has_row) {
		++*ret_rows;
		*ret_last = bf_db_id(row, 0);
		if (bf_db_int(row, 1) != 0) {
			status = append_id(claiming, ids, *ret_last);
		}
		if (status == BELFRY_OK) {
			status = bf_db_step(claiming->db, row, &has_row);
		}
	}
	return status;
}

/* *ret_is_over: the walk has come to the end and took all that it found. */
static enum belfry_status take_born(struct claiming *claiming, struct dead *dead, bool *ret_is_over)
{
	enum belfry_status status = BELFRY_OK;

	*ret_is_over = false;
	while (status == BELFRY_OK && !*ret_is_over && !claiming->is_full &&
			claiming->walked < WALK_MAX) {
		struct ids ids = {0};
		struct belfry_id last = dead->low;
		int64_t rows;
		status = walk(claiming, dead, &ids, &last, &rows);
		if (status == BELFRY_OK) {
			status = claim_each(claiming, &ids);
		}
		claiming->walked += rows;
		if (status == BELFRY_OK && !claiming->is_full) {
			*ret_is_over = rows < WALK_CHUNK;
			dead->low = last;
			status = bf_db_run(claiming->db, BF_ST_INCARNATION_LOW, bf_v_int(dead->key),
					bf_v_id(&last));
		}
	}
	return status;
}

/* Nothing of it is left to take over, and nobody is left to be told of anything. */
static enum belfry_status settle(struct bf_db *db, int64_t dead)
{
	enum belfry_status status = bf_db_run(db, BF_ST_INCARNATION_SETTLE, bf_v_int(dead));

	return status == BELFRY_OK ? bf_db_run(db, BF_ST_CANCELS_FORGET, bf_v_int(dead),
						     bf_v_int(BELFRY_TIME_NEVER))
				   : status;
}

static enum belfry_status claim_takeover(struct claiming *claiming)
{
	struct dead dead = {0};
	enum belfry_status status = next_dead(claiming->db, 0, &dead);

	while (status == BELFRY_OK && dead.key != 0 && !claiming->is_full) {
		bool is_over = false;
		status = take_held(claiming, &dead);
		if (status == BELFRY_OK && !claiming->is_full) {
			status = take_born(claiming, &dead, &is_over);
		}
		if (status == BELFRY_OK && is_over && !claiming->is_careful) {
			status = settle(claiming->db, dead.key);
		}
		claiming->is_full = claiming->is_full || !is_over;
		if (status == BELFRY_OK && !claiming->is_full) {
			status = next_dead(claiming->db, dead.key, &dead);
		}
	}
	return status;
}

static enum belfry_status claim_kind(struct claiming *claiming)
{
	switch (claiming->claim->kind) {
	case BELFRY_CLAIM_QUEUE: return claim_queue(claiming);
	case BELFRY_CLAIM_TAKEOVER: return claim_takeover(claiming);
	case BELFRY_CLAIM_OWNED: return claim_owned(claiming);
	}
	return BELFRY_INVALID;
}

static enum belfry_status run_claim(struct bf_sqlite *store, void *data)
{
	struct claim_call *call = data;
	struct belfry_claim *claim = call->claim;
	struct claiming claiming = {
			.store = store,
			.db = &store->writer,
			.claim = claim,
			.arena = call->arena,
			.is_careful = call->is_careful,
	};

	claim->now = bf_sqlite_now(store);
	claim->next_ready = BELFRY_TIME_NEVER;
	claim->runs = NULL;
	claim->run_count = 0;
	enum belfry_status status = bf_sqlite_find_holder(store, &claim->holder, &claiming.holder);
	if (status == BELFRY_OK) {
		status = claim_kind(&claiming);
	}
	claim->is_short = !claiming.is_full;
	return status;
}

enum belfry_status bf_sqlite_claim_runs(struct belfry_store *base, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct belfry_claim work = *claim;
	struct claim_call call = {.claim = &work, .arena = arena};
	enum belfry_status status = bf_sqlite_write_items(bf_sqlite_of(base), run_claim, &call,
			&call.is_careful, err);

	if (status == BELFRY_OK) {
		*claim = work;
	}
	return status;
}
