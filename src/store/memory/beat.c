/* Incarnations: each start of a process is a row with a counter. Whoever ends one compares the
 * counter first, so a living one that renewed meanwhile is not ended by an old observation. */
#include "store/memory/memory_priv.h"

static enum belfry_status incarnation_new(const struct belfry_beat *beat, belfry_time now,
		struct mem_incarnation **ret_row)
{
	struct mem_incarnation *row = bf_alloc(sizeof(*row));

	if (row == NULL) {
		return BELFRY_NOMEM;
	}
	row->incarnation.id = beat->incarnation;
	row->incarnation.registered_at = now;
	if (mem_text_copy(&row->incarnation.identity, beat->identity) != BELFRY_OK ||
			mem_text_copy(&row->incarnation.version, beat->version) != BELFRY_OK ||
			mem_text_copy(&row->incarnation.tz_version, beat->tz_version) !=
					BELFRY_OK) {
		mem_incarnation_free(row);
		return BELFRY_NOMEM;
	}
	*ret_row = row;
	return BELFRY_OK;
}

/* Again after a lost answer: the same row, as long as it lives and has not renewed. */
static enum belfry_status register_one(struct mem_db *db, struct belfry_beat *beat)
{
	struct mem_incarnation *row = mem_incarnation_find(db, beat->incarnation);

	if (row != NULL) {
		return row->incarnation.ended_at == 0 && row->incarnation.beat == 0
				? BELFRY_OK
				: BELFRY_CONFLICT;
	}
	enum belfry_status status = incarnation_new(beat, beat->now, &row);
	if (status == BELFRY_OK) {
		BF_ASSERT(mem_tree_put(&db->incarnations, &row->by_id));
		status = mem_step(db, "beat: registered");
	}
	return status;
}

static bool is_living(const struct mem_node *node)
{
	return BF_CONTAINER(node, const struct mem_incarnation, by_id)->incarnation.ended_at == 0;
}

static enum belfry_status copy_incarnation(const struct belfry_incarnation *from,
		struct belfry_arena *arena, struct belfry_incarnation *to)
{
	*to = *from;
	if (belfry_arena_copy(arena, from->identity, &to->identity) != BELFRY_OK ||
			belfry_arena_copy(arena, from->version, &to->version) != BELFRY_OK ||
			belfry_arena_copy(arena, from->tz_version, &to->tz_version) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

enum belfry_status mem_incarnations_copy(const struct mem_db *db, bool only_living,
		belfry_time from, struct belfry_arena *arena, struct belfry_incarnation **ret_rows,
		size_t *ret_count)
{
	size_t count = 0;
	struct belfry_incarnation *rows = belfry_arena_alloc(arena,
			mem_tree_count(&db->incarnations) * sizeof(*rows));

	if (rows == NULL) {
		return BELFRY_NOMEM;
	}
	for (struct mem_node *node = mem_tree_first(&db->incarnations); node != NULL;
			node = mem_tree_next(node)) {
		const struct belfry_incarnation *row =
				&BF_CONTAINER(node, struct mem_incarnation, by_id)->incarnation;
		bool covers = row->covers_from != 0 && row->covered_until > from;
		if (!is_living(node) && (only_living || !covers)) {
			continue;
		}
		if (copy_incarnation(row, arena, &rows[count++]) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	*ret_rows = rows;
	*ret_count = count;
	return BELFRY_OK;
}

static bool is_stepped(const struct belfry_beat *beat)
{
	belfry_duration off = bf_time_since(beat->now, beat->expect_now);

	return beat->expect_now != 0 && (off > beat->tolerance || off < -beat->tolerance);
}

static void count_renewal(struct belfry_incarnation *row, const struct belfry_beat *beat)
{
	row->beat++;
	if (row->covers_from == 0) {
		row->covers_from = beat->now;
	}
	row->covered_until = bf_time_add(beat->now, beat->length);
}

/* Runs that were cancelled under this holder, those of long ago and of the dead forgotten. */
static enum belfry_status name_cancelled(struct mem_db *db, struct belfry_beat *beat,
		struct belfry_arena *arena)
{
	belfry_time from = beat->now - BF_MAX(BELFRY_CANCELLED_TOLD, 4 * beat->length);
	struct bf_link *next;

	beat->cancelled_count = 0;
	beat->cancelled = belfry_arena_alloc(arena,
			(db->told.count + 1) * sizeof(*beat->cancelled));
	if (beat->cancelled == NULL) {
		return BELFRY_NOMEM;
	}
	for (struct bf_link *link = db->told.first; link != NULL; link = next) {
		struct mem_run *run = BF_CONTAINER(link, struct mem_run, told);
		bool is_own = bf_id_compare(run->run.holder, beat->incarnation) == 0;
		next = link->next;
		if (is_own ? run->run.finished_at < from
			   : !mem_incarnation_lives(db, run->run.holder)) {
			bf_list_remove(link);
		} else if (is_own) {
			beat->cancelled[beat->cancelled_count++] = run->run.id;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status renew(struct mem_db *db, struct belfry_beat *beat,
		struct belfry_arena *arena)
{
	struct mem_incarnation *row = mem_incarnation_find(db, beat->incarnation);

	if (row == NULL || row->incarnation.ended_at != 0) {
		return BELFRY_STALE;
	}
	if (is_stepped(beat)) {
		return BELFRY_CONFLICT;
	}
	struct belfry_incarnation before = row->incarnation;
	struct belfry_str tz_version = {NULL, 0};
	if (beat->tz_version.len > 0) {
		if (mem_text_copy(&tz_version, beat->tz_version) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
		mem_text_move(&row->incarnation.tz_version, &tz_version);
	}
	count_renewal(&row->incarnation, beat);
	enum belfry_status status = mem_incarnations_copy(db, true, 0, arena, &beat->living,
			&beat->living_count);
	if (status == BELFRY_OK) {
		status = name_cancelled(db, beat, arena);
	}
	if (status != BELFRY_OK) {
		row->incarnation = before;
		return status;
	}
	beat->beat = row->incarnation.beat;
	return mem_step(db, "beat: renewed");
}

static enum belfry_status declare_dead(struct mem_db *db, struct belfry_beat *beat)
{
	struct mem_incarnation *row = mem_incarnation_find(db, beat->incarnation);

	if (row == NULL) {
		return BELFRY_OK; /* ended so long ago that its row is gone */
	}
	beat->beat = row->incarnation.beat;
	if (row->incarnation.ended_at != 0) {
		return BELFRY_OK;
	}
	if (row->incarnation.beat != beat->expect_beat) {
		return BELFRY_CONFLICT;
	}
	row->incarnation.ended_at = beat->now;
	row->incarnation.was_declared_dead = true;
	return mem_step(db, "beat: declared dead");
}

static enum belfry_status end(struct mem_db *db, struct belfry_beat *beat)
{
	struct mem_incarnation *row = mem_incarnation_find(db, beat->incarnation);

	if (row == NULL || row->incarnation.ended_at != 0) {
		return BELFRY_STALE;
	}
	row->incarnation.covered_until = row->incarnation.ended_at = beat->now;
	beat->beat = row->incarnation.beat;
	return mem_step(db, "beat: ended");
}

enum belfry_status mem_beat(struct belfry_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);

	(void)err;
	beat->now = mem_now(db);
	switch (beat->kind) {
	case BELFRY_BEAT_REGISTER: return register_one(db, beat);
	case BELFRY_BEAT_RENEW: return renew(db, beat, arena);
	case BELFRY_BEAT_DEAD: return declare_dead(db, beat);
	case BELFRY_BEAT_END: return end(db, beat);
	}
	return BELFRY_INVALID;
}
