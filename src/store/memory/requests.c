/* Runs that somebody asked for: Run now, replay, backfill. Each Run carries its request key, so key
 * and Run are one write. */
#include "store/memory/memory_priv.h"

static struct mem_run *find_by_key(const struct mem_db *db, const struct belfry_add *add)
{
	if (add->request_key.len == 0) {
		return NULL;
	}
	struct mem_node *node = mem_tree_find(&db->request_keys,
			&(struct mem_key){.text = {add->schedule, add->request_key}});
	return node != NULL ? BF_CONTAINER(node, struct mem_run, by_key) : NULL;
}

/* The revision that the Run is made with; NULL: there is no such schedule or revision. */
static struct mem_revision *find_revision(const struct mem_db *db, const struct belfry_add *add)
{
	const struct mem_schedule *schedule = mem_schedule_find(db, add->schedule);

	if (schedule == NULL || schedule->row.is_removed) {
		return NULL;
	}
	return add->revision == 0 ? schedule->present
				  : mem_revision_find(db, add->schedule, add->revision);
}

static void fill_run(struct mem_run *run, const struct belfry_add *add,
		struct mem_revision *revision, belfry_time now)
{
	run->revision = revision;
	run->request_hash = add->request_hash;
	run->run.revision = revision->revision;
	run->run.trigger = add->trigger;
	run->run.state = BELFRY_RUN_QUEUED;
	run->run.status = bf_run_state_status(BELFRY_RUN_QUEUED);
	run->run.due_at = add->due_at;
	run->run.ready_at = add->ready_at != 0 ? add->ready_at : now;
	run->run.created_at = now;
	run->run.replayed_from = add->replayed_from;
	run->run.stands_for = 1;
	if ((revision->flags & BELFRY_SCHEDULE_F_LOCAL_SESSION) != 0) {
		run->run.flags = BELFRY_RUN_F_LOCAL_SESSION;
	}
}

/* Uses up *run where the Run is made. */
static void add_one(struct mem_db *db, struct belfry_add *add, struct mem_run **run)
{
	const struct mem_run *before = find_by_key(db, add);
	struct mem_revision *revision = find_revision(db, add);

	add->is_new = false;
	if (before != NULL) {
		bool is_same = before->request_hash == add->request_hash;
		add->result = is_same ? BELFRY_OK : BELFRY_KEY_REUSED;
		add->existing = before->run.id;
	} else if (revision == NULL) {
		add->result = BELFRY_NOT_FOUND;
	} else if (mem_run_find(db, add->id) != NULL) {
		add->result = BELFRY_CONFLICT;
	} else {
		fill_run(*run, add, revision, mem_now(db));
		BF_ASSERT(mem_run_insert(db, *run));
		*run = NULL;
		add->result = BELFRY_OK;
		add->existing = add->id;
		add->is_new = true;
	}
}

static enum belfry_status prepare(struct belfry_add *adds, size_t count, struct mem_run **runs)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		status = mem_run_new(adds[i].schedule, adds[i].id, adds[i].tz_version, &runs[i]);
		if (status == BELFRY_OK) {
			status = mem_text_copy(&runs[i]->request_key, adds[i].request_key);
		}
	}
	return status;
}

static enum belfry_status add_all(struct mem_db *db, struct belfry_add *adds, size_t count,
		struct mem_run **runs)
{
	enum belfry_status status = prepare(adds, count, runs);

	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		status = mem_owed_finish(db, adds[i].schedule);
		if (status == BELFRY_OK) {
			add_one(db, &adds[i], &runs[i]);
			status = mem_step(db, "add: run inserted");
		}
	}
	return status;
}

enum belfry_status mem_add_runs(struct belfry_store *store, struct belfry_add *adds, size_t count,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) struct mem_run **runs = bf_alloc_array(count, sizeof(*runs));
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);

	(void)err;
	if (runs == NULL) {
		return BELFRY_NOMEM;
	}
	enum belfry_status status = add_all(db, adds, count, runs);
	for (size_t i = 0; i < count; i++) {
		mem_run_free(runs[i]);
	}
	return status;
}
