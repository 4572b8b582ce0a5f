/* Forgetting: terminal Runs that no rule keeps, then tombstones, in the order of age.
 *
 * A Run stays while it is open, or young, or among the newest of its deployment. A schedule whose
 * Runs were pruned says since when its history is kept; gaps before that go too. A tombstone goes
 * once it is old and the last of its Runs has gone, and takes revisions and gaps along. A replaced
 * revision goes like a Run of its age, once no Run needs it. */
#include "store/memory/memory_priv.h"

/* Coverage decides what was missed; no policy looks further back than this. */
#define KEEP_INCARNATIONS (30 * BELFRY_DAY)

static bool is_young(const struct belfry_run *run, const struct belfry_prune *prune,
		belfry_time now)
{
	belfry_duration age = bf_time_since(now, run->finished_at);

	return age < prune->keep_age ||
			(run->status == BELFRY_STATUS_FAILED && age < prune->keep_failed_age);
}

/* Are fewer than `keep` Runs of the same deployment newer? */
static bool is_among_newest(const struct mem_db *db, const struct mem_run *run, int64_t keep)
{
	struct mem_key own = {.text = {run->run.schedule}, .id = run->run.id};
	/* No id of this deployment is above it, and the next deployment's texts are. */
	struct mem_key end = {.text = {run->run.schedule}, .number = 1};

	memset(end.id.bytes, 0xff, sizeof(end.id.bytes));
	size_t newer = mem_tree_rank(&db->history, &end) - mem_tree_rank(&db->history, &own) - 1;
	return keep > 0 && newer < (uint64_t)keep;
}

static bool is_kept(const struct mem_db *db, const struct mem_run *run,
		const struct belfry_prune *prune, belfry_time now)
{
	return !belfry_run_status_is_terminal(run->run.status) || is_young(&run->run, prune, now) ||
			is_among_newest(db, run, prune->keep_runs);
}

/* Gaps that end before the kept history, and are not young themselves. */
static void prune_gaps(struct mem_db *db, const struct mem_schedule *schedule,
		const struct belfry_prune *prune, belfry_time now)
{
	struct mem_node *node = mem_tree_find_from(&db->gaps,
			&(struct mem_key){.text = {schedule->row.id}, .number = INT64_MIN});

	while (node != NULL) {
		struct mem_gap *gap = BF_CONTAINER(node, struct mem_gap, by_time);
		node = mem_tree_next(node);
		if (!bf_str_equal(gap->gap.schedule, schedule->row.id) ||
				gap->gap.from >= schedule->history_from) {
			return;
		}
		if (gap->gap.to < schedule->history_from &&
				bf_time_since(now, gap->gap.written_at) >= prune->keep_age) {
			mem_tree_remove(&db->gaps, &gap->by_time);
			mem_gap_free(gap);
		}
	}
}

static void prune_run(struct mem_db *db, struct mem_run *run, const struct belfry_prune *prune,
		belfry_time now)
{
	struct mem_schedule *schedule = mem_schedule_find(db, run->run.schedule);
	belfry_time time = run->run.due_at != 0 ? run->run.due_at : run->run.created_at;

	mem_run_delete(db, run);
	if (schedule != NULL) {
		schedule->history_from = BF_MAX(schedule->history_from, time + 1);
		prune_gaps(db, schedule, prune, now);
	}
}

static bool has_runs(const struct mem_db *db, struct belfry_str schedule)
{
	struct mem_node *node = mem_tree_find_from(&db->history,
			&(struct mem_key){.text = {schedule}});

	return node != NULL &&
			bf_str_equal(BF_CONTAINER(node, struct mem_run, history)->run.schedule,
					schedule);
}

static void delete_revisions(struct mem_db *db, struct belfry_str schedule)
{
	struct mem_key key = {.text = {schedule}, .number = INT64_MIN};

	for (struct mem_node *node; (node = mem_tree_find_from(&db->revisions, &key)) != NULL;) {
		struct mem_revision *revision = BF_CONTAINER(node, struct mem_revision, by_number);
		if (!bf_str_equal(revision->schedule, schedule)) {
			return;
		}
		mem_revision_delete(db, revision);
	}
}

static void delete_gaps(struct mem_db *db, struct belfry_str schedule)
{
	struct mem_key key = {.text = {schedule}, .number = INT64_MIN};

	for (struct mem_node *node; (node = mem_tree_find_from(&db->gaps, &key)) != NULL;) {
		struct mem_gap *gap = BF_CONTAINER(node, struct mem_gap, by_time);
		if (!bf_str_equal(gap->gap.schedule, schedule)) {
			return;
		}
		mem_tree_remove(&db->gaps, node);
		mem_gap_free(gap);
	}
}

static void prune_tombstones(struct mem_db *db, struct belfry_prune *prune, belfry_time now)
{
	struct bf_link *link = db->tombstones.first;

	while (link != NULL) {
		struct mem_schedule *schedule = BF_CONTAINER(link, struct mem_schedule,
				tombstone_link);
		link = link->next;
		if (bf_time_since(now, schedule->removed_at) < prune->keep_tombstones) {
			return;
		}
		if (!has_runs(db, schedule->row.id) && schedule->owed == NULL) {
			delete_revisions(db, schedule->row.id);
			delete_gaps(db, schedule->row.id);
			bf_list_remove(&schedule->tombstone_link);
			mem_tree_remove(&db->schedules, &schedule->by_id);
			mem_schedule_free(schedule);
			prune->removed++;
		}
	}
}

static bool owns_runs(const struct mem_db *db, const struct belfry_id *holder)
{
	struct mem_node *node = mem_tree_find_from(&db->owned,
			&(struct mem_key){.text = {{(const char *)holder->bytes,
							  sizeof(holder->bytes)}}});

	return node != NULL &&
			bf_id_compare(BF_CONTAINER(node, struct mem_run, owned)->run.holder,
					*holder) == 0;
}

static void prune_incarnations(struct mem_db *db, belfry_time now)
{
	struct mem_node *node = mem_tree_first(&db->incarnations);

	while (node != NULL) {
		struct mem_incarnation *row = BF_CONTAINER(node, struct mem_incarnation, by_id);
		node = mem_tree_next(node);
		if (row->incarnation.ended_at != 0 &&
				bf_time_since(now, row->incarnation.ended_at) > KEEP_INCARNATIONS &&
				!owns_runs(db, &row->incarnation.id)) {
			mem_tree_remove(&db->incarnations, &row->by_id);
			mem_incarnation_free(row);
		}
	}
}

/* Old ones that no Run needs; until then a replay may still ask for them. A Run that is owed is not
 * counted yet, so while anything is owed they all stay for the next pass. */
static void prune_revisions(struct mem_db *db, const struct belfry_prune *prune, belfry_time now)
{
	struct mem_node *node = db->owed.first == NULL ? mem_tree_first(&db->revisions) : NULL;

	while (node != NULL) {
		struct mem_revision *row = BF_CONTAINER(node, struct mem_revision, by_number);
		node = mem_tree_next(node);
		if (row->users == 0 && row->replaced_at != 0 &&
				bf_time_since(now, row->replaced_at) >= prune->keep_age) {
			mem_revision_delete(db, row);
		}
	}
}

static enum belfry_status prune_runs(struct mem_db *db, struct belfry_prune *prune, belfry_time now)
{
	for (uint32_t looked_at = 0; looked_at < prune->max_rows; looked_at++) {
		struct mem_node *node = mem_tree_find_from(&db->runs,
				&(struct mem_key){.id = prune->next, .sequence = 1});
		if (node == NULL) {
			prune->is_done = true;
			return BELFRY_OK;
		}
		struct mem_run *run = BF_CONTAINER(node, struct mem_run, by_id);
		prune->next = run->run.id;
		if (!is_kept(db, run, prune, now)) {
			prune_run(db, run, prune, now);
			prune->removed++;
			enum belfry_status status = mem_step(db, "prune: run removed");
			if (status != BELFRY_OK) {
				return status;
			}
		}
	}
	return BELFRY_OK;
}

enum belfry_status mem_prune(struct belfry_store *store, struct belfry_prune *prune,
		struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	belfry_time now = mem_now(db);

	(void)err;
	prune->removed = 0;
	prune->next = prune->after;
	prune->is_done = false;
	enum belfry_status status = prune_runs(db, prune, now);
	if (status == BELFRY_OK && prune->is_done) {
		prune->next = (struct belfry_id){0};
		prune_revisions(db, prune, now);
		prune_tombstones(db, prune, now);
		prune_incarnations(db, now);
	}
	return status;
}
