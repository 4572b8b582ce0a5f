/* Forgetting: terminal Runs that no rule keeps, then tombstones and incarnations, in the order of age.
 *
 * A Run stays while it is open, or young, or among the newest of its deployment. With it go its
 * attempts, its request key, its output, and the revision and payload that it was the last to need.
 * Output goes first: it is in another file, and must not outlive its Run after a crash in between.
 * A tombstone goes once it is old and the last of its Runs has gone. */
#include "store-sqlite/sqlite_priv.h"

#include "base/timefmt.h"

/* Coverage decides what was missed; no policy looks further back than this. */
#define KEEP_INCARNATIONS (30 * BELFRY_DAY)
#define BOUND_CACHE       64

/* Below this id the Runs of a schedule are not among the newest that stay. */
struct bound {
	int64_t schedule;
	struct belfry_id id; /* all zero: all of them stay */
};

struct old_run {
	struct belfry_id id;
	int64_t schedule;
	enum belfry_run_status status;
	belfry_time finished_at;
	belfry_time time; /* due, or creation where it was asked for */
	int64_t revision;
};

struct pruning {
	struct bf_sqlite *store;
	struct bf_db *db;
	struct belfry_prune *prune;
	struct belfry_arena *arena;
	belfry_time now;
	struct bound bounds[BOUND_CACHE];
};

static enum belfry_status find_bound(struct pruning *pruning, int64_t schedule,
		struct bound **ret_bound)
{
	struct bound *bound = &pruning->bounds[(uint64_t)schedule % BOUND_CACHE];

	*ret_bound = bound;
	if (bound->schedule == schedule) {
		return BELFRY_OK;
	}
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(pruning->db, BF_ST_PRUNE_BOUND, bf_v_int(schedule),
			bf_v_int(pruning->prune->keep_runs - 1));
	bool has_row = false;
	enum belfry_status status = bf_db_step(pruning->db, row, &has_row);
	if (status == BELFRY_OK) {
		bound->schedule = schedule;
		bound->id = has_row ? bf_db_id(row, 0) : (struct belfry_id){{0}};
	}
	return status;
}

static bool is_young(const struct pruning *pruning, const struct old_run *run)
{
	belfry_duration age = bf_time_since(pruning->now, run->finished_at);

	return age < pruning->prune->keep_age ||
			(run->status == BELFRY_STATUS_FAILED &&
					age < pruning->prune->keep_failed_age);
}

static enum belfry_status is_kept(struct pruning *pruning, const struct old_run *run,
		bool *ret_is_kept)
{
	struct bound *bound;

	*ret_is_kept = !belfry_run_status_is_terminal(run->status) || is_young(pruning, run);
	if (*ret_is_kept || pruning->prune->keep_runs <= 0) {
		return BELFRY_OK;
	}
	enum belfry_status status = find_bound(pruning, run->schedule, &bound);
	if (status == BELFRY_OK) {
		*ret_is_kept = bf_id_compare(run->id, bound->id) >= 0;
	}
	return status;
}

static enum belfry_status drop_revision_unless_used(struct bf_db *db, const struct old_run *run)
{
	int64_t is_used = 0;
	enum belfry_status status = bf_db_number(db, BF_ST_REVISION_IS_PRESENT, 0, &is_used,
			bf_v_int(run->schedule), bf_v_int(run->revision));

	if (status == BELFRY_OK && is_used == 0) {
		status = bf_db_number(db, BF_ST_REVISION_HAS_RUNS, 0, &is_used,
				bf_v_int(run->schedule), bf_v_int(run->revision));
	}
	return status == BELFRY_OK && is_used == 0
			? bf_sqlite_drop_revision(db, run->schedule, run->revision)
			: status;
}

/* Since when the history is kept, and gaps before that which are not young themselves. */
static enum belfry_status move_history(struct pruning *pruning, const struct old_run *run)
{
	belfry_time from = run->time + 1;
	enum belfry_status status = bf_db_run(pruning->db, BF_ST_SCHEDULE_HISTORY_FROM,
			bf_v_int(run->schedule), bf_v_int(from));

	if (status != BELFRY_OK || bf_db_changes(pruning->db) == 0) {
		return status;
	}
	return bf_db_run(pruning->db, BF_ST_GAPS_PRUNE, bf_v_int(run->schedule), bf_v_int(from),
			bf_v_int(pruning->now - pruning->prune->keep_age));
}

static enum belfry_status delete_run(struct pruning *pruning, const struct old_run *run)
{
	struct bf_db *db = pruning->db;
	enum belfry_status status = bf_sqlite_drop_output(pruning->store, &run->id);

	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_ST_ATTEMPTS_DELETE, bf_v_id(&run->id));
	}
	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_ST_KEYS_DELETE, bf_v_id(&run->id));
	}
	if (status == BELFRY_OK) {
		status = bf_db_run(db, BF_ST_RUN_DELETE, bf_v_id(&run->id));
	}
	if (status == BELFRY_OK) {
		status = drop_revision_unless_used(db, run);
	}
	return status == BELFRY_OK ? move_history(pruning, run) : status;
}

/* The Runs that this call looks at, read before any of them is deleted. */
static enum belfry_status scan(struct pruning *pruning, struct old_run **ret_runs,
		size_t *ret_count)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(pruning->db, BF_ST_PRUNE_SCAN,
			bf_v_id(&pruning->prune->after), bf_v_int(pruning->prune->max_rows));
	void *runs = NULL;
	size_t count = 0, capacity = 0;
	bool has_row = true;
	enum belfry_status status = bf_db_step(pruning->db, row, &has_row);

	while (status == BELFRY_OK && has_row) {
		status = bf_sqlite_grow(pruning->arena, sizeof(struct old_run), count, &capacity,
				&runs);
		if (status != BELFRY_OK) {
			break;
		}
		belfry_time due = bf_db_int(row, 4);
		((struct old_run *)runs)[count++] = (struct old_run){
				.id = bf_db_id(row, 0),
				.schedule = bf_db_int(row, 1),
				.status = (enum belfry_run_status)bf_db_u32(row, 2),
				.finished_at = bf_db_int(row, 3),
				.time = due != 0 ? due : bf_db_int(row, 5),
				.revision = bf_db_int(row, 6),
		};
		status = bf_db_step(pruning->db, row, &has_row);
	}
	*ret_runs = runs;
	*ret_count = count;
	return status;
}

static enum belfry_status prune_runs(struct pruning *pruning)
{
	struct belfry_prune *prune = pruning->prune;
	struct old_run *runs;
	size_t count;
	bool is_run_kept;
	enum belfry_status status = scan(pruning, &runs, &count);

	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		status = is_kept(pruning, &runs[i], &is_run_kept);
		if (status == BELFRY_OK && !is_run_kept) {
			status = delete_run(pruning, &runs[i]);
			prune->removed++;
		}
		prune->next = runs[i].id;
	}
	prune->is_done = status == BELFRY_OK && count < prune->max_rows;
	return status;
}

static enum belfry_status delete_schedule(struct bf_db *db, int64_t key)
{
	static const enum bf_statement rest[] = {BF_ST_GAPS_DELETE, BF_ST_EDITS_DELETE,
			BF_ST_SCHEDULE_DELETE};
	int64_t revision = -1;
	enum belfry_status status = bf_db_number(db, BF_ST_REVISION_FIRST, -1, &revision,
			bf_v_int(key));

	while (status == BELFRY_OK && revision >= 0) {
		status = bf_sqlite_drop_revision(db, key, revision);
		if (status == BELFRY_OK) {
			status = bf_db_number(db, BF_ST_REVISION_FIRST, -1, &revision,
					bf_v_int(key));
		}
	}
	for (size_t i = 0; status == BELFRY_OK && i < BF_COUNT(rest); i++) {
		status = bf_db_run(db, rest[i], bf_v_int(key));
	}
	return status;
}

static enum belfry_status prune_tombstones(struct pruning *pruning)
{
	belfry_time before = pruning->now - pruning->prune->keep_tombstones;

	for (uint32_t i = 0; i < pruning->prune->max_rows; i++) {
		int64_t key = 0;
		enum belfry_status status = bf_db_number(pruning->db, BF_ST_TOMBSTONE_OLD, 0, &key,
				bf_v_int(before));
		if (status == BELFRY_OK && key != 0) {
			status = delete_schedule(pruning->db, key);
			pruning->prune->removed++;
		}
		if (status != BELFRY_OK || key == 0) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* An incarnation that ended before the oldest Run was due cannot have held any that is left. */
static enum belfry_status prune_incarnations(struct pruning *pruning)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind_values(pruning->db, BF_ST_RUN_OLDEST, NULL, 0);
	bool has_row = false;
	enum belfry_status status = bf_db_step(pruning->db, row, &has_row);
	belfry_time before = pruning->now - KEEP_INCARNATIONS;

	if (status == BELFRY_OK && has_row) {
		before = BF_MIN(before, bf_run_id_time(bf_db_id(row, 0)));
	}
	return status == BELFRY_OK
			? bf_db_run(pruning->db, BF_ST_INCARNATIONS_PRUNE, bf_v_int(before))
			: status;
}

struct prune_call {
	struct belfry_prune *prune;
	struct belfry_arena arena;
};

static enum belfry_status run_prune(struct bf_sqlite *store, void *data)
{
	struct prune_call *call = data;
	struct pruning pruning = {
			.store = store,
			.db = &store->writer,
			.prune = call->prune,
			.arena = &call->arena,
			.now = bf_sqlite_now(store),
	};

	call->prune->removed = 0;
	call->prune->next = call->prune->after;
	enum belfry_status status = prune_runs(&pruning);
	if (status == BELFRY_OK && call->prune->is_done) {
		call->prune->next = (struct belfry_id){{0}};
		status = prune_tombstones(&pruning);
	}
	if (status == BELFRY_OK && call->prune->is_done) {
		status = prune_incarnations(&pruning);
	}
	return status;
}

enum belfry_status bf_sqlite_prune(struct belfry_store *base, struct belfry_prune *prune,
		struct belfry_error *err)
{
	struct belfry_prune work = *prune;
	struct prune_call call = {.prune = &work, .arena = BELFRY_ARENA_INIT};
	enum belfry_status status = bf_sqlite_write(bf_sqlite_of(base), run_prune, &call, err);

	belfry_arena_fini(&call.arena);
	if (status == BELFRY_OK) {
		*prune = work;
	}
	return status;
}
