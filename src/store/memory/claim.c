/* Claiming: from the queue, from those who have ended, and reading what a holder owns.
 *
 * First the candidates are chosen and copied out, which may fail and changes nothing; then each is
 * given its holder by a conditional write of its own. In the atomic mode the condition cannot have
 * changed between the two; in the single-document mode it can, and such a Run is left out. */
#include "store/memory/memory_priv.h"

static belfry_time ready_time(const struct mem_node *node)
{
	return BF_CONTAINER(node, const struct mem_run, queue)->run.ready_at;
}

static struct mem_run *queue_run(struct mem_node *node, belfry_time now)
{
	return node != NULL && ready_time(node) <= now ? BF_CONTAINER(node, struct mem_run, queue)
						       : NULL;
}

static struct mem_run *owned_run(struct mem_node *node)
{
	return node != NULL ? BF_CONTAINER(node, struct mem_run, owned) : NULL;
}

static struct mem_key owned_from(const struct belfry_id *holder, struct belfry_id id)
{
	return (struct mem_key){.text = {{(const char *)holder->bytes, sizeof(holder->bytes)}},
			.id = id};
}

/* From `run` on, the first Run whose holder has ended. A living holder's Runs are stepped over as
 * one. */
static struct mem_run *skip_living(const struct mem_db *db, struct mem_run *run)
{
	static const struct belfry_id last = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};

	while (run != NULL && mem_incarnation_lives(db, run->run.holder)) {
		struct mem_key key = owned_from(&run->run.holder, last);
		run = owned_run(mem_tree_find_from(&db->owned, &key));
	}
	return run;
}

static struct mem_run *first_candidate(const struct mem_db *db, const struct belfry_claim *claim)
{
	switch (claim->kind) {
	case BELFRY_CLAIM_QUEUE: return queue_run(mem_tree_first(&db->queue), claim->now);
	case BELFRY_CLAIM_TAKEOVER: return skip_living(db, owned_run(mem_tree_first(&db->owned)));
	case BELFRY_CLAIM_OWNED: break;
	}
	struct mem_key key = owned_from(&claim->holder, claim->after);
	key.sequence = 1; /* above `after` itself */
	struct mem_run *run = owned_run(mem_tree_find_from(&db->owned, &key));
	return run != NULL && bf_id_compare(run->run.holder, claim->holder) == 0 ? run : NULL;
}

static struct mem_run *next_candidate(const struct mem_db *db, const struct belfry_claim *claim,
		struct mem_run *run)
{
	switch (claim->kind) {
	case BELFRY_CLAIM_QUEUE: return queue_run(mem_tree_next(&run->queue), claim->now);
	case BELFRY_CLAIM_TAKEOVER: return skip_living(db, owned_run(mem_tree_next(&run->owned)));
	case BELFRY_CLAIM_OWNED: break;
	}
	struct mem_run *next = owned_run(mem_tree_next(&run->owned));
	return next != NULL && bf_id_compare(next->run.holder, claim->holder) == 0 ? next : NULL;
}

static enum belfry_status copy_out(const struct mem_run *run, struct belfry_arena *arena,
		struct belfry_claimed *out)
{
	out->payload_bytes = (uint32_t)run->revision->payload->bytes.len;
	if (belfry_arena_copy(arena, run->revision->definition, &out->definition) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return mem_run_copy(run, arena, &out->run);
}

static size_t most_runs(const struct mem_db *db, const struct belfry_claim *claim)
{
	size_t there = mem_tree_count(claim->kind == BELFRY_CLAIM_QUEUE ? &db->queue : &db->owned);

	return BF_MIN((size_t)claim->max_runs, there);
}

/* Copies out as many as the claim has room for; is_short: these were all. */
static enum belfry_status choose(struct mem_db *db, struct belfry_claim *claim,
		struct belfry_arena *arena)
{
	uint64_t bytes = 0;
	size_t count = 0;
	struct mem_run *run = first_candidate(db, claim);

	claim->runs = belfry_arena_alloc(arena, most_runs(db, claim) * sizeof(*claim->runs));
	if (claim->runs == NULL) {
		return BELFRY_NOMEM;
	}
	while (run != NULL && count < claim->max_runs) {
		bytes += run->revision->payload->bytes.len;
		if (count > 0 && bytes > claim->max_bytes) {
			break;
		}
		if (copy_out(run, arena, &claim->runs[count++]) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
		run = next_candidate(db, claim, run);
	}
	claim->run_count = count;
	claim->is_short = run == NULL;
	return BELFRY_OK;
}

static bool is_still_free(const struct mem_db *db, const struct belfry_claim *claim,
		const struct mem_run *run)
{
	if (claim->kind == BELFRY_CLAIM_QUEUE) {
		return run->queue.size > 0 && run->run.ready_at <= claim->now;
	}
	return run->owned.size > 0 && !mem_incarnation_lives(db, run->run.holder);
}

/* The conditional write of one Run; false: somebody else has it by now. */
static bool take(struct mem_db *db, const struct belfry_claim *claim, struct belfry_claimed *out)
{
	struct mem_run *run = mem_run_find(db, out->run.id);

	if (run == NULL || !is_still_free(db, claim, run)) {
		return false;
	}
	mem_run_move(db, run,
			&(struct mem_move){BELFRY_RUN_DISPATCHING, .holder = claim->holder,
					.fence = BF_MAX(run->run.fence + 1,
							(belfry_fence)claim->now),
					.now = claim->now});
	if (claim->kind == BELFRY_CLAIM_QUEUE) {
		run->run.attempt++;
	} else {
		run->run.takeovers++;
	}
	out->run.state = run->run.state;
	out->run.status = run->run.status;
	out->run.holder = run->run.holder;
	out->run.fence = run->run.fence;
	out->run.started_at = run->run.started_at;
	out->run.attempt = run->run.attempt;
	out->run.takeovers = run->run.takeovers;
	return true;
}

static enum belfry_status take_all(struct mem_db *db, struct belfry_claim *claim)
{
	enum belfry_status status = BELFRY_OK;
	size_t taken = 0;

	for (size_t i = 0; status == BELFRY_OK && i < claim->run_count; i++) {
		if (take(db, claim, &claim->runs[i])) {
			claim->runs[taken++] = claim->runs[i];
			status = mem_step(db, "claim: run taken");
		}
	}
	claim->run_count = taken;
	return status;
}

enum belfry_status mem_claim_runs(struct belfry_store *store, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	enum belfry_status status = mem_owed_finish_all(db);

	(void)err;
	claim->now = mem_now(db);
	claim->next_ready = BELFRY_TIME_NEVER;
	if (status == BELFRY_OK && !mem_incarnation_lives(db, claim->holder)) {
		status = BELFRY_STALE;
	}
	if (status == BELFRY_OK) {
		status = choose(db, claim, arena);
	}
	if (status == BELFRY_OK && claim->kind != BELFRY_CLAIM_OWNED) {
		status = take_all(db, claim);
	}
	if (status == BELFRY_OK && claim->kind == BELFRY_CLAIM_QUEUE && db->queue.root != NULL) {
		claim->next_ready = ready_time(mem_tree_first(&db->queue));
	}
	return status;
}
