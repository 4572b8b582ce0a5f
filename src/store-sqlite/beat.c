/* Incarnations: register, renew, declare dead, end.
 *
 * An incarnation's row holds `low`, below which no open Run was born to it, and from its end on `high`,
 * above which none was: what a dead one left is found between the two (claim.c). */
#include "store-sqlite/sqlite_priv.h"

#include "base/timefmt.h"

struct found {
	int64_t key; /* 0: there is none */
	int64_t beat;
	belfry_time ended_at;
};

struct beat_call {
	struct belfry_beat *beat; /* answers are written into it as they come */
	struct belfry_arena *arena;
	enum belfry_status result; /* CONFLICT is an answer that goes with `now` */
};

static enum belfry_status find(struct bf_db *db, const struct belfry_id *id,
		struct found *ret_found)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_INCARNATION_FIND, bf_v_id(id));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	*ret_found = (struct found){0};
	if (status == BELFRY_OK && has_row) {
		*ret_found = (struct found){bf_db_int(row, 0), bf_db_int(row, 1),
				bf_db_int(row, 2)};
	}
	return status;
}

/* Again after a lost answer: the same row, as long as it lives and has not renewed. */
static enum belfry_status insert(struct bf_db *db, struct belfry_beat *beat,
		const struct found *found)
{
	if (found->key != 0) {
		return found->ended_at == 0 && found->beat == 0 ? BELFRY_OK : BELFRY_CONFLICT;
	}
	struct belfry_id low = bf_run_id_floor(beat->now - BELFRY_HOUR);
	beat->beat = 0;
	return bf_db_run(db, BF_ST_INCARNATION_INSERT, bf_v_id(&beat->incarnation),
			bf_v_int(beat->now), bf_v_id(&low), bf_v_text(beat->identity),
			bf_v_text(beat->version), bf_v_text(beat->tz_version));
}

static enum belfry_status read_living(struct bf_db *db, struct belfry_beat *beat,
		struct belfry_arena *arena)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind_values(db, BF_ST_INCARNATIONS_LIVING, NULL, 0);

	return bf_sqlite_read_incarnations(db, row, arena, &beat->living, &beat->living_count);
}

/* Runs that were cancelled under this holder; those of long ago are forgotten. */
static enum belfry_status read_cancelled(struct bf_db *db, struct belfry_beat *beat,
		struct belfry_arena *arena, int64_t holder)
{
	belfry_time from = beat->now - BF_MAX(BELFRY_CANCELLED_TOLD, 4 * beat->length);
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_CANCELS_OF, bf_v_int(holder), bf_v_int(from));
	void *ids = NULL;
	size_t capacity = 0;
	bool has_row = true;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	beat->cancelled_count = 0;
	while (status == BELFRY_OK && has_row) {
		status = bf_sqlite_grow(arena, sizeof(*beat->cancelled), beat->cancelled_count,
				&capacity, &ids);
		if (status == BELFRY_OK) {
			beat->cancelled = ids;
			beat->cancelled[beat->cancelled_count++] = bf_db_id(row, 0);
			status = bf_db_step(db, row, &has_row);
		}
	}
	bf_db_reset(&row);
	return status == BELFRY_OK
			? bf_db_run(db, BF_ST_CANCELS_FORGET, bf_v_int(holder), bf_v_int(from))
			: status;
}

static bool is_stepped(const struct belfry_beat *beat)
{
	belfry_duration off = bf_time_since(beat->now, beat->expect_now);

	return beat->expect_now != 0 && (off > beat->tolerance || off < -beat->tolerance);
}

static enum belfry_status renew(struct bf_db *db, struct beat_call *call, const struct found *found)
{
	struct belfry_beat *beat = call->beat;

	if (found->key == 0 || found->ended_at != 0) {
		return BELFRY_STALE;
	}
	if (is_stepped(beat)) {
		call->result = BELFRY_CONFLICT;
		return BELFRY_OK;
	}
	enum belfry_status status = bf_db_run(db, BF_ST_INCARNATION_RENEW, bf_v_int(found->key),
			bf_v_int(beat->now), bf_v_int(bf_time_add(beat->now, beat->length)),
			bf_v_optional_id(&beat->low), bf_v_text(beat->tz_version));
	beat->beat = (uint64_t)found->beat + 1;
	if (status == BELFRY_OK) {
		status = read_living(db, beat, call->arena);
	}
	return status == BELFRY_OK ? read_cancelled(db, beat, call->arena, found->key) : status;
}

static enum belfry_status declare_dead(struct bf_db *db, struct beat_call *call,
		const struct found *found)
{
	call->beat->beat = (uint64_t)found->beat;
	if (found->key == 0 || found->ended_at != 0) {
		return BELFRY_OK; /* also where it ended so long ago that its row is gone */
	}
	if ((uint64_t)found->beat != call->beat->expect_beat) {
		call->result = BELFRY_CONFLICT;
		return BELFRY_OK;
	}
	return bf_db_run(db, BF_ST_INCARNATION_DEAD, bf_v_int(found->key),
			bf_v_int(call->beat->now));
}

static enum belfry_status end(struct bf_db *db, struct belfry_beat *beat, const struct found *found)
{
	if (found->key == 0 || found->ended_at != 0) {
		return BELFRY_STALE;
	}
	beat->beat = (uint64_t)found->beat;
	return bf_db_run(db, BF_ST_INCARNATION_END, bf_v_int(found->key), bf_v_int(beat->now));
}

static enum belfry_status run_beat(struct bf_sqlite *store, void *data)
{
	struct beat_call *call = data;
	struct bf_db *db = &store->writer;
	struct found found;
	enum belfry_status status = find(db, &call->beat->incarnation, &found);

	call->result = BELFRY_OK;
	call->beat->now = bf_sqlite_now(store);
	if (status != BELFRY_OK) {
		return status;
	}
	switch (call->beat->kind) {
	case BELFRY_BEAT_REGISTER: return insert(db, call->beat, &found);
	case BELFRY_BEAT_RENEW: return renew(db, call, &found);
	case BELFRY_BEAT_DEAD: return declare_dead(db, call, &found);
	case BELFRY_BEAT_END: return end(db, call->beat, &found);
	}
	return BELFRY_INVALID;
}

enum belfry_status bf_sqlite_beat(struct belfry_store *base, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct belfry_beat work = *beat;
	struct beat_call call = {.beat = &work, .arena = arena};
	enum belfry_status status = bf_sqlite_write(bf_sqlite_of(base), run_beat, &call, err);

	if (status == BELFRY_OK) {
		*beat = work;
		return call.result == BELFRY_OK ? BELFRY_OK
						: bf_error_set(err, call.result, "%s",
								  belfry_status_text(call.result));
	}
	return status;
}

static enum belfry_status bury(struct bf_sqlite *store, void *data)
{
	(void)data;
	return bf_db_run(&store->writer, BF_ST_INCARNATION_BURY, bf_v_int(bf_sqlite_now(store)));
}

enum belfry_status bf_sqlite_bury_predecessors(struct bf_sqlite *store, struct belfry_error *err)
{
	return bf_sqlite_write(store, bury, NULL, err);
}
