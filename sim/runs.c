/* What is known of each Run, and the invariants that one look at it can check. A Run is looked at after
 * every operation that names it: its past is kept here, so a row that went backwards is seen. */
#include "sim/sim_priv.h"

#include "base/hash.h"

struct sim_run *sim_run_find(struct bf_sim *sim, struct belfry_id id)
{
	struct sim_run *run = NULL;

	HASH_FIND(hh, sim->runs, id.bytes, sizeof(id.bytes), run);
	return run;
}

struct sim_incarnation *sim_incarnation_see(struct bf_sim *sim, struct belfry_id id)
{
	struct sim_incarnation *seen = NULL;

	HASH_FIND(hh, sim->incarnations, id.bytes, sizeof(id.bytes), seen);
	if (seen == NULL) {
		seen = sim_alloc(sizeof(*seen));
		seen->id = id;
		HASH_ADD(hh, sim->incarnations, id.bytes, sizeof(seen->id.bytes), seen);
	}
	return seen;
}

/* ---- the first look ---------------------------------------------------------------------------- */

static void check_identity(struct bf_sim *sim, const struct belfry_run *row)
{
	struct belfry_id expected;
	bool is_of_due_time = row->trigger == BELFRY_TRIGGER_SCHEDULE ||
			row->trigger == BELFRY_TRIGGER_BACKFILL;

	if (!is_of_due_time) {
		if (row->due_at != 0) {
			sim_fail(sim, "a Run asked for has no due time", "Run %s",
					sim_short_id(row->id).text);
		}
		return;
	}
	if (belfry_run_id(row->schedule, row->due_at, &expected) != BELFRY_OK ||
			bf_id_compare(expected, row->id) != 0) {
		sim_fail(sim, "one Run for each due time",
				"Run %s of %.*s has another id than its due time gives",
				sim_short_id(row->id).text, BF_STR_ARGS(row->schedule));
	}
	if (row->due_at > sim_wall(sim)) {
		sim_fail(sim, "no Run before its due time", "Run %s of %.*s",
				sim_short_id(row->id).text, BF_STR_ARGS(row->schedule));
	}
}

/* At its birth: later a retry moves it. */
static void check_ready(struct bf_sim *sim, const struct sim_run *run, const struct belfry_run *row)
{
	const struct sim_revision *revision = sim_revision_find(run->deployment, row->revision);
	bool is_born = row->trigger == BELFRY_TRIGGER_SCHEDULE && row->attempt <= 1 &&
			(row->state == BELFRY_RUN_QUEUED || row->state == BELFRY_RUN_DISPATCHING);

	if (!is_born || revision == NULL || revision->compiled == NULL) {
		return;
	}
	belfry_duration offset = bf_id_spread(row->id, belfry_rule_spread(revision->compiled));
	if (row->ready_at != row->due_at + offset) {
		sim_fail(sim, "a Run gets ready when its spread says", "Run %s of %s",
				sim_short_id(row->id).text, run->deployment->id);
	}
}

static struct sim_run *new_run(struct bf_sim *sim, const struct belfry_run *row)
{
	struct sim_run *run = sim_alloc(sizeof(*run));

	run->id = row->id;
	run->deployment = sim_deployment_find(sim, row->schedule);
	BF_ASSERT(run->deployment != NULL);
	run->trigger = row->trigger;
	run->revision = row->revision;
	run->due_at = row->due_at;
	run->made = sim->now;
	run->started = -1;
	run->state = row->state;
	HASH_ADD(hh, sim->runs, id.bytes, sizeof(run->id.bytes), run);
	check_identity(sim, row);
	check_ready(sim, run, row);
	if (row->trigger == BELFRY_TRIGGER_SCHEDULE) {
		sim->counts.runs_scheduled++;
	} else {
		sim->counts.runs_asked_for++;
	}
	sim_trace(sim, "Run %s of %.*s is made: %s, revision %lld", sim_short_id(row->id).text,
			BF_STR_ARGS(row->schedule), belfry_run_state_name(row->state),
			(long long)row->revision);
	return run;
}

/* ---- every look -------------------------------------------------------------------------------- */

static void check_start(struct bf_sim *sim, struct sim_run *run, const struct belfry_run *row)
{
	const struct sim_deployment *deployment = run->deployment;

	if (row->started_at == 0) {
		if (run->started >= 0) {
			sim_fail(sim, "a start stays", "Run %s has none any more",
					sim_short_id(run->id).text);
		}
		return;
	}
	if (run->started >= 0) {
		if (row->started_at != run->started_at) {
			sim_fail(sim, "a start stays", "Run %s", sim_short_id(run->id).text);
		}
		return;
	}
	run->started = sim->now;
	run->started_at = row->started_at;
	if (row->ready_at > sim_wall(sim)) {
		sim_fail(sim, "no Run starts before it is ready", "Run %s",
				sim_short_id(run->id).text);
	}
	if (run->trigger == BELFRY_TRIGGER_SCHEDULE &&
			run->revision <= deployment->stopped_revision) {
		sim_fail(sim, "nothing starts after a disable or removal has answered",
				"Run %s of %s (revision %lld) starts, revision %lld stopped it",
				sim_short_id(run->id).text, deployment->id,
				(long long)run->revision, (long long)deployment->stopped_revision);
	}
}

static void check_holder(struct bf_sim *sim, struct sim_run *run, const struct belfry_run *row)
{
	bool is_new_holder = !bf_id_is_zero(row->holder) &&
			bf_id_compare(row->holder, run->holder) != 0;

	if (row->fence < run->fence ||
			(is_new_holder && run->fence != 0 && row->fence <= run->fence)) {
		sim_fail(sim, "fences rise", "Run %s: from %llu to %llu",
				sim_short_id(run->id).text, (unsigned long long)run->fence,
				(unsigned long long)row->fence);
	}
	if (is_new_holder) {
		sim_trace(sim, "Run %s is held by %s, fence %llu, takeovers %u",
				sim_short_id(run->id).text, sim_short_id(row->holder).text,
				(unsigned long long)row->fence, row->takeovers);
	}
	run->fence = row->fence;
	run->holder = row->holder;
	run->takeovers = row->takeovers;
}

static void check_session(struct bf_sim *sim, struct sim_run *run, const struct belfry_run *row)
{
	uint64_t hash = row->session.len > 0 ? bf_hash64(7, row->session.ptr, row->session.len) | 1
					     : 0;

	if (run->session_hash != 0 && hash != run->session_hash) {
		sim_fail(sim, "a stored Session stays", "Run %s", sim_short_id(run->id).text);
	}
	run->session_hash = hash;
}

static void check_end(struct bf_sim *sim, struct sim_run *run, const struct belfry_run *row)
{
	bool was_open = bf_run_state_is_open(run->state);
	bool was_terminal = belfry_run_status_is_terminal(run->status);

	if ((!was_open && row->state != run->state) ||
			(was_terminal && row->status != run->status)) {
		sim_fail(sim, "an end stays", "Run %s: %s %s after %s %s",
				sim_short_id(run->id).text, belfry_run_state_name(row->state),
				belfry_run_status_name(row->status),
				belfry_run_state_name(run->state),
				belfry_run_status_name(run->status));
	}
	if (row->revision != run->revision || row->due_at != run->due_at) {
		sim_fail(sim, "a Run keeps its revision and due time", "Run %s",
				sim_short_id(run->id).text);
	}
	run->state = row->state;
	run->status = row->status;
	run->ready_at = row->ready_at;
	/* Once it has waited in the queue it is found there. */
	run->is_born = run->is_born && row->state == BELFRY_RUN_DISPATCHING;
	if (bf_run_state_is_open(row->state)) {
		if (run->open.list == NULL) {
			bf_list_append(&sim->open, &run->open);
		}
	} else {
		bf_list_remove(&run->open);
	}
}

struct sim_run *sim_run_see(struct bf_sim *sim, const struct belfry_run *row)
{
	struct sim_run *run = sim_run_find(sim, row->id);

	if (run == NULL) {
		run = new_run(sim, row);
		run->status = row->status;
	}
	check_start(sim, run, row);
	check_holder(sim, run, row);
	check_session(sim, run, row);
	check_end(sim, run, row);
	return run;
}

void sim_runs_look(struct bf_sim *sim, const struct belfry_id *ids, size_t count)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUN_IDS,
			.run_ids = ids,
			.run_id_count = count};

	belfry_arena_reset(&sim->scratch);
	sim_read(sim, &list, &sim->scratch);
	for (size_t i = 0; i < list.count; i++) {
		(void)sim_run_see(sim, &list.runs[i]);
	}
}

void sim_runs_sweep(struct bf_sim *sim)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS};

	belfry_arena_reset(&sim->scratch);
	sim_read(sim, &list, &sim->scratch);
	for (size_t i = 0; i < list.count; i++) {
		(void)sim_run_see(sim, &list.runs[i]);
	}
}

/* A takeover scans from the low mark on: an open Run below it would never be found. */
void sim_runs_check_low(struct bf_sim *sim, struct sim_incarnation *incarnation)
{
	for (struct bf_link *link = sim->open.first; link != NULL; link = link->next) {
		const struct sim_run *run = BF_CONTAINER(link, struct sim_run, open);
		bool is_theirs = run->is_born && run->state == BELFRY_RUN_DISPATCHING &&
				bf_id_compare(run->holder, incarnation->id) == 0 &&
				bf_id_compare(run->born_to, incarnation->id) == 0;
		if (is_theirs && bf_id_compare(run->id, incarnation->low) < 0) {
			sim_fail(sim, "the low mark lies below every open Run born to it",
					"Run %s of %s", sim_short_id(run->id).text,
					run->deployment->id);
		}
	}
}

void sim_runs_free(struct bf_sim *sim)
{
	while (sim->runs != NULL) {
		struct sim_run *run = sim->runs;
		bf_list_remove(&run->open);
		HASH_DEL(sim->runs, run);
		bf_free(run);
	}
	while (sim->incarnations != NULL) {
		struct sim_incarnation *incarnation = sim->incarnations;
		HASH_DEL(sim->incarnations, incarnation);
		bf_free(incarnation);
	}
}

/* ---- for tests --------------------------------------------------------------------------------- */

void bf_sim_list_runs(struct bf_sim *sim, const char *deployment, struct belfry_arena *arena,
		struct belfry_run **ret_runs, size_t *ret_count)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS, .schedule = bf_str(deployment)};

	sim_read(sim, &list, arena);
	*ret_runs = list.runs;
	*ret_count = list.count;
}

bool bf_sim_find_run(struct bf_sim *sim, struct belfry_id run, struct belfry_arena *arena,
		struct belfry_run *ret_run)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUN_IDS, .run_ids = &run, .run_id_count = 1};

	sim_read(sim, &list, arena);
	if (list.count == 0) {
		return false;
	}
	*ret_run = list.runs[0];
	return true;
}

void bf_sim_list_gaps(struct bf_sim *sim, const char *deployment, struct belfry_arena *arena,
		struct belfry_gap **ret_gaps, size_t *ret_count)
{
	struct belfry_list list = {.kind = BELFRY_LIST_GAPS,
			.schedule = bf_str(deployment),
			.from = INT64_MIN / 2};

	sim_read(sim, &list, arena);
	*ret_gaps = list.gaps;
	*ret_count = list.count;
}
