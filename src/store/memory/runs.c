/* Runs: how one is inserted, moved, copied out and deleted. Every change of a Run's state goes
 * through mem_run_move, which keeps state, status, counts and indexes together:
 *
 *   queue      holds exactly the Runs in QUEUED and DELAYED
 *   owned      holds exactly the Runs in DISPATCHING, under their holder
 *   unstarted  holds exactly the scheduled Runs of `queue` that never had a holder */
#include "store/memory/memory_priv.h"

static bool is_waiting(const struct mem_run *run)
{
	return run->run.state == BELFRY_RUN_QUEUED || run->run.state == BELFRY_RUN_DELAYED;
}

static void unlink_state(struct mem_db *db, struct mem_run *run)
{
	mem_tree_remove(&db->queue, &run->queue);
	mem_tree_remove(&db->owned, &run->owned);
	mem_tree_remove(&db->unstarted, &run->unstarted);
	if (bf_run_state_is_open(run->run.state)) {
		db->by_state[run->run.state]--;
	}
}

static void link_state(struct mem_db *db, struct mem_run *run)
{
	if (is_waiting(run)) {
		BF_ASSERT(mem_tree_put(&db->queue, &run->queue));
		if (run->run.trigger == BELFRY_TRIGGER_SCHEDULE && run->run.started_at == 0) {
			BF_ASSERT(mem_tree_put(&db->unstarted, &run->unstarted));
		}
	}
	if (run->run.state == BELFRY_RUN_DISPATCHING) {
		BF_ASSERT(mem_tree_put(&db->owned, &run->owned));
	}
	if (bf_run_state_is_open(run->run.state)) {
		db->by_state[run->run.state]++;
	}
}

bool mem_run_insert(struct mem_db *db, struct mem_run *run)
{
	if (run->request_key.len > 0 && !mem_tree_put(&db->request_keys, &run->by_key)) {
		return false;
	}
	if (!mem_tree_put(&db->runs, &run->by_id)) {
		mem_tree_remove(&db->request_keys, &run->by_key);
		return false;
	}
	BF_ASSERT(mem_tree_put(&db->history, &run->history));
	run->revision->users++;
	link_state(db, run);
	return true;
}

static void delete_attempts(struct mem_db *db, struct belfry_id run)
{
	struct mem_key key = {.id = run};

	for (struct mem_node *node; (node = mem_tree_find_from(&db->attempts, &key)) != NULL;) {
		struct mem_attempt *attempt = BF_CONTAINER(node, struct mem_attempt, by_run);
		if (bf_id_compare(attempt->attempt.run, run) != 0) {
			return;
		}
		mem_tree_remove(&db->attempts, node);
		mem_attempt_free(attempt);
	}
}

void mem_run_delete(struct mem_db *db, struct mem_run *run)
{
	struct mem_node *output = mem_tree_find(&db->outputs, &(struct mem_key){.id = run->run.id});

	if (output != NULL) {
		mem_tree_remove(&db->outputs, output);
		mem_output_free(BF_CONTAINER(output, struct mem_output, by_run));
	}
	delete_attempts(db, run->run.id);
	unlink_state(db, run);
	bf_list_remove(&run->told);
	mem_tree_remove(&db->request_keys, &run->by_key);
	mem_tree_remove(&db->history, &run->history);
	mem_tree_remove(&db->runs, &run->by_id);
	run->revision->users--;
	mem_run_free(run);
}

void mem_run_move(struct mem_db *db, struct mem_run *run, const struct mem_move *move)
{
	unsigned state = run->run.state;

	unlink_state(db, run);
	bf_sm_move(&bf_run_states, &state, move->state, db->env, run->id_text);
	run->run.state = (enum belfry_run_state)state;
	run->run.status = bf_run_state_status(run->run.state);
	run->run.holder = move->holder;
	if (move->ready_at != 0) {
		run->run.ready_at = move->ready_at;
	}
	if (run->run.state == BELFRY_RUN_DISPATCHING) {
		run->run.fence = move->fence;
		if (run->run.started_at == 0) {
			run->run.started_at = move->now;
		}
	}
	if (belfry_run_status_is_terminal(run->run.status)) {
		run->run.finished_at = move->now;
	}
	link_state(db, run);
}

void mem_run_end_unstarted(struct mem_db *db, struct mem_run *run)
{
	mem_run_move(db, run, &(struct mem_move){BELFRY_RUN_CANCELLED, .now = mem_now(db)});
	run->run.error = BELFRY_RUN_ERROR_SCHEDULE_DISABLED;
	db->ended_unstarted++;
}

struct belfry_str mem_run_session(const struct mem_run *run)
{
	if (run->run.session.len == 0 && (run->run.flags & BELFRY_RUN_F_LOCAL_SESSION) != 0) {
		return bf_str(run->id_text);
	}
	return run->run.session;
}

enum belfry_status mem_run_copy(const struct mem_run *run, struct belfry_arena *arena,
		struct belfry_run *ret_run)
{
	struct belfry_run copy = run->run;

	copy.session = mem_run_session(run);
	struct belfry_str *texts[] = {&copy.schedule, &copy.session, &copy.turn, &copy.message,
			&copy.detail, &copy.tz_version};
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		if (belfry_arena_copy(arena, *texts[i], texts[i]) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	*ret_run = copy;
	return BELFRY_OK;
}
