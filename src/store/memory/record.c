/* What became of a Run: Session stored, turn stored, retry, end, handed back; and what the host says of
 * it, whoever holds it: concluded, cancelled.
 *
 * Each record is judged against the Run as it is now (judge) and then carried out (apply), which
 * cannot fail: its texts and its row in `attempts` were made before. A refusal is an answer of that
 * record alone. */
#include "store/memory/memory_priv.h"

/* What one record may need; whatever it did not use is freed at the end. */
struct texts {
	struct belfry_str session;
	struct belfry_str turn;
	struct belfry_str message;
	struct belfry_str detail;
	struct mem_attempt *attempt;
};

static void texts_fini(struct texts *texts)
{
	mem_text_free(&texts->session);
	mem_text_free(&texts->turn);
	mem_text_free(&texts->message);
	mem_text_free(&texts->detail);
	mem_attempt_free(texts->attempt);
}

static enum belfry_status prepare_attempt(struct texts *texts, const struct belfry_record *record)
{
	struct mem_attempt *row = bf_alloc(sizeof(*row));

	texts->attempt = row;
	if (row == NULL || mem_text_copy(&row->attempt.message, record->message) != BELFRY_OK ||
			mem_text_copy(&row->attempt.detail, record->detail) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	row->attempt.run = record->run;
	row->attempt.number = record->attempt;
	row->attempt.step = record->step;
	row->attempt.fence = record->fence;
	row->attempt.started_at = record->attempt_started_at;
	row->attempt.error = record->attempt_error != BELFRY_RUN_ERROR_NONE ? record->attempt_error
									    : record->error;
	return BELFRY_OK;
}

/* Asked for by the host, whoever holds the Run. */
static bool is_hosts(const struct belfry_record *record)
{
	return record->kind == BELFRY_RECORD_CONCLUDED ||
			record->kind == BELFRY_RECORD_CANCELLED_BY_HOST;
}

static enum belfry_status prepare(struct texts *texts, const struct belfry_record *record)
{
	if (mem_text_copy(&texts->session, record->session) != BELFRY_OK ||
			mem_text_copy(&texts->turn, record->turn) != BELFRY_OK ||
			mem_text_copy(&texts->message, record->message) != BELFRY_OK ||
			mem_text_copy(&texts->detail, record->detail) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	return record->write_attempt && !is_hosts(record) ? prepare_attempt(texts, record)
							  : BELFRY_OK;
}

/* --- judging --- */

/* The first terminal status stays; to say the same again is no conflict. */
static enum belfry_status judge_conclusion(const struct mem_run *run,
		const struct belfry_record *record)
{
	if (belfry_run_status_is_terminal(run->run.status)) {
		return run->run.status == record->status ? BELFRY_OK : BELFRY_CONFLICT;
	}
	bool may_have_ended = run->run.started_at != 0 && mem_run_session(run).len > 0;
	return run->run.state == BELFRY_RUN_DISPATCHED || may_have_ended ? BELFRY_OK : BELFRY_STALE;
}

/* Only before its turn is stored; to say it again is no conflict. */
static enum belfry_status judge_cancel(const struct mem_run *run)
{
	bool is_cancelled = run->run.status == BELFRY_STATUS_CANCELLED;

	return is_cancelled || bf_run_state_is_open(run->run.state) ? BELFRY_OK : BELFRY_CONFLICT;
}

static enum belfry_status judge(const struct mem_run *run, const struct belfry_record *record)
{
	if (run == NULL) {
		return BELFRY_NOT_FOUND;
	}
	if (record->kind == BELFRY_RECORD_CONCLUDED) {
		return judge_conclusion(run, record);
	}
	if (record->kind == BELFRY_RECORD_CANCELLED_BY_HOST) {
		return judge_cancel(run);
	}
	if (run->run.fence != record->fence || run->run.state != BELFRY_RUN_DISPATCHING) {
		return BELFRY_STALE;
	}
	struct belfry_str stored = mem_run_session(run);
	if (record->kind == BELFRY_RECORD_SESSION && stored.len > 0 &&
			!bf_str_equal(stored, record->session)) {
		return BELFRY_CONFLICT;
	}
	return BELFRY_OK;
}

/* --- carrying out --- */

static void set_outcome(struct mem_run *run, const struct belfry_record *record,
		struct texts *texts)
{
	run->run.error = record->error;
	mem_text_move(&run->run.message, &texts->message);
	mem_text_move(&run->run.detail, &texts->detail);
}

static void set_status(struct mem_run *run, enum belfry_run_status status, belfry_time now)
{
	run->run.status = status;
	if (belfry_run_status_is_terminal(status) && run->run.finished_at == 0) {
		run->run.finished_at = now;
	}
}

static void apply_session(struct mem_run *run, struct texts *texts)
{
	mem_text_move(&run->run.session, &texts->session);
	run->run.failures = 0;
	run->run.takeovers = 0;
}

static void apply_turn(struct mem_db *db, struct mem_run *run, const struct belfry_record *record,
		struct texts *texts, belfry_time now)
{
	mem_run_move(db, run,
			&(struct mem_move){BELFRY_RUN_DISPATCHED, .holder = run->run.holder,
					.now = now});
	mem_text_move(&run->run.turn, &texts->turn);
	run->run.dispatched_at = now;
	set_outcome(run, record, texts);
	set_status(run, record->status, now);
}

static void apply_retry(struct mem_db *db, struct mem_run *run, const struct belfry_record *record,
		belfry_time now)
{
	mem_run_move(db, run,
			&(struct mem_move){BELFRY_RUN_DELAYED, .ready_at = record->ready_at,
					.now = now});
	run->run.failures += record->is_failure;
	run->run.takeovers = 0;
}

static void apply_end(struct mem_db *db, struct mem_run *run, const struct belfry_record *record,
		struct texts *texts, belfry_time now)
{
	enum belfry_run_state state = record->kind == BELFRY_RECORD_FAILED ? BELFRY_RUN_FAILED
									   : BELFRY_RUN_CANCELLED;

	mem_run_move(db, run, &(struct mem_move){state, .holder = run->run.holder, .now = now});
	set_outcome(run, record, texts);
}

static void apply_release(struct mem_db *db, struct mem_run *run, belfry_time now)
{
	mem_run_move(db, run, &(struct mem_move){BELFRY_RUN_QUEUED, .now = now});
	run->run.attempt -= run->run.attempt > 0;
}

static void apply_conclusion(struct mem_db *db, struct mem_run *run,
		const struct belfry_record *record, struct texts *texts, belfry_time now)
{
	if (belfry_run_status_is_terminal(run->run.status)) {
		return;
	}
	run->run.flags |= record->run_flags;
	if (run->run.state != BELFRY_RUN_DISPATCHED) {
		mem_run_move(db, run,
				&(struct mem_move){BELFRY_RUN_DISPATCHED, .holder = run->run.holder,
						.now = now});
		run->run.dispatched_at = now;
	}
	set_outcome(run, record, texts);
	set_status(run, record->status, now);
}

static void apply_cancel(struct mem_db *db, struct mem_run *run, const struct belfry_record *record,
		struct texts *texts, belfry_time now)
{
	if (!bf_run_state_is_open(run->run.state)) {
		return;
	}
	if (run->run.state == BELFRY_RUN_DISPATCHING) {
		bf_list_append(&db->told, &run->told);
	}
	run->run.flags |= record->run_flags;
	apply_end(db, run, record, texts, now);
}

/* Those that are too many by now. */
static void trim_attempts(struct mem_db *db, struct belfry_id run, uint32_t latest)
{
	struct mem_key first = {.id = run, .sequence = INT64_MIN};
	struct mem_node *node = mem_tree_find_from(&db->attempts, &first);

	while (node != NULL) {
		struct mem_attempt *attempt = BF_CONTAINER(node, struct mem_attempt, by_run);
		node = mem_tree_next(node);
		if (bf_id_compare(attempt->attempt.run, run) != 0 ||
				(uint64_t)attempt->attempt.number + BELFRY_ATTEMPTS_KEPT > latest) {
			return;
		}
		mem_tree_remove(&db->attempts, &attempt->by_run);
		mem_attempt_free(attempt);
	}
}

static void keep_attempt(struct mem_db *db, const struct mem_run *run, struct texts *texts,
		belfry_time now)
{
	struct mem_attempt *attempt = BF_TAKE(texts->attempt);

	attempt->attempt.holder = run->run.holder;
	attempt->attempt.ended_at = now;
	struct mem_key key = db->attempts.key(&attempt->by_run);
	struct mem_node *before = mem_tree_find(&db->attempts, &key);
	if (before != NULL) {
		mem_tree_remove(&db->attempts, before);
		mem_attempt_free(BF_CONTAINER(before, struct mem_attempt, by_run));
	}
	BF_ASSERT(mem_tree_put(&db->attempts, &attempt->by_run));
	trim_attempts(db, run->run.id, attempt->attempt.number);
}

static void apply(struct mem_db *db, struct mem_run *run, const struct belfry_record *record,
		struct texts *texts)
{
	belfry_time now = mem_now(db);

	if (texts->attempt != NULL) {
		keep_attempt(db, run, texts, now);
	}
	run->run.flags |= is_hosts(record) ? 0 : record->run_flags;
	switch (record->kind) {
	case BELFRY_RECORD_SESSION: apply_session(run, texts); break;
	case BELFRY_RECORD_TURN: apply_turn(db, run, record, texts, now); break;
	case BELFRY_RECORD_RETRY: apply_retry(db, run, record, now); break;
	case BELFRY_RECORD_FAILED:
	case BELFRY_RECORD_CANCELLED: apply_end(db, run, record, texts, now); break;
	case BELFRY_RECORD_RELEASED: apply_release(db, run, now); break;
	case BELFRY_RECORD_CONCLUDED: apply_conclusion(db, run, record, texts, now); break;
	case BELFRY_RECORD_CANCELLED_BY_HOST: apply_cancel(db, run, record, texts, now); break;
	}
}

static enum belfry_status record_all(struct mem_db *db, struct belfry_record *records, size_t count,
		struct texts *texts)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		status = prepare(&texts[i], &records[i]);
	}
	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		struct mem_run *run = mem_run_find(db, records[i].run);
		records[i].result = judge(run, &records[i]);
		if (records[i].result == BELFRY_OK) {
			records[i].is_again = is_hosts(&records[i]) &&
					belfry_run_status_is_terminal(run->run.status);
			apply(db, run, &records[i], &texts[i]);
			status = mem_step(db, "record: run written");
		}
	}
	return status;
}

enum belfry_status mem_record(struct belfry_store *store, struct belfry_record *records,
		size_t count, struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) struct texts *texts = bf_alloc_array(count, sizeof(*texts));
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);

	(void)err;
	if (texts == NULL) {
		return BELFRY_NOMEM;
	}
	enum belfry_status status = record_all(db, records, count, texts);
	for (size_t i = 0; i < count; i++) {
		texts_fini(&texts[i]);
	}
	return status;
}
