/* What became of a Run: Session stored, turn stored, retry, end, handed back; and what the host says of
 * it, whoever holds it: concluded, cancelled.
 *
 * The common one, a turn of a Run that was born claimed, is one conditional update by primary key. Every
 * other one is read and judged first; both happen inside the transaction, so nothing comes between.
 * A refusal is an answer of that record alone. */
#include "store-sqlite/sqlite_priv.h"

struct record_call {
	struct belfry_record *records;
	size_t count;
	bool is_careful;
};

/* The Run as the record finds it. */
struct facts {
	bool is_found;
	enum belfry_run_state state;
	enum belfry_run_status status;
	belfry_fence fence;
	uint32_t flags;
	bool has_session;
	bool is_same_session;
	int64_t holder;
	belfry_time ready_at;
	int64_t schedule;
	bool is_in_queue;
	belfry_time started_at;
};

/* Asked for by the host, whoever holds the Run. */
static bool is_hosts(const struct belfry_record *record)
{
	return record->kind == BELFRY_RECORD_CONCLUDED ||
			record->kind == BELFRY_RECORD_CANCELLED_BY_HOST;
}

static bool is_stored_session(sqlite3_stmt *row, const struct belfry_record *record,
		struct facts *facts)
{
	char text[BELFRY_ID_TEXT_BYTES];
	struct belfry_str stored = {(const char *)sqlite3_column_blob(row, 4),
			(size_t)sqlite3_column_bytes(row, 4)};

	if (stored.len == 0 && (facts->flags & BELFRY_RUN_F_LOCAL_SESSION) != 0) {
		belfry_id_format(record->run, text);
		stored = bf_str(text);
	}
	facts->has_session = stored.len > 0;
	return bf_str_equal(stored, record->session);
}

static enum belfry_status read_facts(struct bf_db *db, const struct belfry_record *record,
		struct facts *facts)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_RUN_FACTS, bf_v_id(&record->run));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	*facts = (struct facts){.is_found = has_row};
	if (status == BELFRY_OK && has_row) {
		facts->state = (enum belfry_run_state)bf_db_u32(row, 0);
		facts->status = (enum belfry_run_status)bf_db_u32(row, 1);
		facts->fence = (belfry_fence)bf_db_int(row, 2);
		facts->flags = bf_db_u32(row, 3);
		facts->is_same_session = is_stored_session(row, record, facts);
		facts->holder = bf_db_int(row, 5);
		facts->ready_at = bf_db_int(row, 6);
		facts->schedule = bf_db_int(row, 7);
		facts->is_in_queue = bf_db_int(row, 8) != 0;
		facts->started_at = bf_db_int(row, 9);
	}
	return status;
}

/* --- judging --- */

/* The first terminal status stays; to say the same again is no conflict. */
static enum belfry_status judge_conclusion(const struct facts *facts,
		const struct belfry_record *record)
{
	if (belfry_run_status_is_terminal(facts->status)) {
		return facts->status == record->status ? BELFRY_OK : BELFRY_CONFLICT;
	}
	bool may_have_ended = facts->started_at != 0 && facts->has_session;
	return facts->state == BELFRY_RUN_DISPATCHED || may_have_ended ? BELFRY_OK : BELFRY_STALE;
}

/* Only before its turn is stored; to say it again is no conflict. */
static enum belfry_status judge_cancel(const struct facts *facts)
{
	bool is_cancelled = facts->status == BELFRY_STATUS_CANCELLED;

	return is_cancelled || bf_run_state_is_open(facts->state) ? BELFRY_OK : BELFRY_CONFLICT;
}

static enum belfry_status judge(const struct facts *facts, const struct belfry_record *record)
{
	if (!facts->is_found) {
		return BELFRY_NOT_FOUND;
	}
	if (record->kind == BELFRY_RECORD_CONCLUDED) {
		return judge_conclusion(facts, record);
	}
	if (record->kind == BELFRY_RECORD_CANCELLED_BY_HOST) {
		return judge_cancel(facts);
	}
	if (facts->fence != record->fence || facts->state != BELFRY_RUN_DISPATCHING) {
		return BELFRY_STALE;
	}
	if (record->kind == BELFRY_RECORD_SESSION && facts->has_session &&
			!facts->is_same_session) {
		return BELFRY_CONFLICT;
	}
	return BELFRY_OK;
}

/* --- carrying out --- */

static belfry_time end_time(enum belfry_run_status status, belfry_time now)
{
	return belfry_run_status_is_terminal(status) ? now : 0;
}

static enum belfry_status leave_queue(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts)
{
	return facts->is_in_queue ? bf_db_run(db, BF_ST_QUEUE_DELETE, bf_v_id(&record->run))
				  : BELFRY_OK;
}

static enum belfry_status write_session(struct bf_db *db, const struct belfry_record *record)
{
	return bf_db_run(db, BF_ST_RUN_SESSION, bf_v_id(&record->run), bf_v_text(record->session),
			bf_v_int(record->run_flags));
}

/* No way to call the target any more: dispatched, failed, cancelled. */
static enum belfry_status write_end(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts, enum belfry_run_state state, belfry_time now)
{
	bool is_turn = state == BELFRY_RUN_DISPATCHED;
	enum belfry_run_status status = is_turn ? record->status : bf_run_state_status(state);
	enum belfry_status answer = bf_db_run(db, BF_ST_RUN_END, bf_v_id(&record->run),
			bf_v_int(state), bf_v_int(status),
			bf_v_text(record->kind == BELFRY_RECORD_TURN ? record->turn : BF_STR("")),
			bf_v_int(is_turn ? now : 0), bf_v_int(end_time(status, now)),
			bf_v_int(record->run_flags), bf_v_int(record->error),
			bf_v_text(record->message), bf_v_text(record->detail));

	return answer == BELFRY_OK ? leave_queue(db, record, facts) : answer;
}

static enum belfry_status write_retry(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts)
{
	enum belfry_status status = bf_db_run(db, BF_ST_RUN_RETRY, bf_v_id(&record->run),
			bf_v_int(record->ready_at), bf_v_int(record->is_failure ? 1 : 0),
			bf_v_int(record->run_flags));

	return status == BELFRY_OK
			? bf_db_run(db, BF_ST_QUEUE_PUT, bf_v_id(&record->run),
					  bf_v_int(record->ready_at), bf_v_int(facts->schedule),
					  bf_v_null(), bf_v_int(1))
			: status;
}

static enum belfry_status write_release(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts)
{
	enum belfry_status status = bf_db_run(db, BF_ST_RUN_RELEASE, bf_v_id(&record->run),
			bf_v_int(record->run_flags));

	return status == BELFRY_OK
			? bf_db_run(db, BF_ST_QUEUE_PUT, bf_v_id(&record->run),
					  bf_v_int(facts->ready_at), bf_v_int(facts->schedule),
					  bf_v_null(), bf_v_int(0))
			: status;
}

static enum belfry_status write_conclusion(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts, belfry_time now)
{
	if (belfry_run_status_is_terminal(facts->status)) {
		return BELFRY_OK;
	}
	if (facts->state != BELFRY_RUN_DISPATCHED) {
		return write_end(db, record, facts, BELFRY_RUN_DISPATCHED, now);
	}
	return bf_db_run(db, BF_ST_RUN_CONCLUDE, bf_v_id(&record->run), bf_v_int(record->status),
			bf_v_int(end_time(record->status, now)), bf_v_int(record->run_flags),
			bf_v_int(record->error), bf_v_text(record->message),
			bf_v_text(record->detail));
}

/* The holder, where there is one, is told by its next beat. */
static enum belfry_status write_cancel(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts, belfry_time now)
{
	if (!bf_run_state_is_open(facts->state)) {
		return BELFRY_OK;
	}
	enum belfry_status status = write_end(db, record, facts, BELFRY_RUN_CANCELLED, now);
	return status == BELFRY_OK && facts->state == BELFRY_RUN_DISPATCHING
			? bf_db_run(db, BF_ST_CANCEL_PUT, bf_v_int(facts->holder), bf_v_int(now),
					  bf_v_id(&record->run))
			: status;
}

static enum belfry_status write_attempt(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts, belfry_time now)
{
	if (!record->write_attempt || is_hosts(record)) {
		return BELFRY_OK;
	}
	enum belfry_run_error error = record->attempt_error != BELFRY_RUN_ERROR_NONE
			? record->attempt_error
			: record->error;
	enum belfry_status status = bf_db_run(db, BF_ST_ATTEMPT_PUT, bf_v_id(&record->run),
			bf_v_int(record->attempt), bf_v_bits(record->fence), bf_v_int(record->step),
			bf_v_int(facts->holder), bf_v_int(record->attempt_started_at),
			bf_v_int(now), bf_v_int(error), bf_v_text(record->message),
			bf_v_text(record->detail));
	bool is_many = record->attempt > BELFRY_ATTEMPTS_KEPT;
	return status == BELFRY_OK && is_many
			? bf_db_run(db, BF_ST_ATTEMPTS_TRIM, bf_v_id(&record->run),
					  bf_v_int((int64_t)record->attempt - BELFRY_ATTEMPTS_KEPT))
			: status;
}

static enum belfry_status carry_out(struct bf_db *db, const struct belfry_record *record,
		const struct facts *facts, belfry_time now)
{
	switch (record->kind) {
	case BELFRY_RECORD_SESSION: return write_session(db, record);
	case BELFRY_RECORD_TURN: return write_end(db, record, facts, BELFRY_RUN_DISPATCHED, now);
	case BELFRY_RECORD_RETRY: return write_retry(db, record, facts);
	case BELFRY_RECORD_FAILED: return write_end(db, record, facts, BELFRY_RUN_FAILED, now);
	case BELFRY_RECORD_CANCELLED:
		return write_end(db, record, facts, BELFRY_RUN_CANCELLED, now);
	case BELFRY_RECORD_RELEASED: return write_release(db, record, facts);
	case BELFRY_RECORD_CONCLUDED: return write_conclusion(db, record, facts, now);
	case BELFRY_RECORD_CANCELLED_BY_HOST: return write_cancel(db, record, facts, now);
	}
	return BELFRY_INVALID;
}

/* *ret_is_done false: it was not the common case, nothing was changed. */
static enum belfry_status write_common_turn(struct bf_db *db, const struct belfry_record *record,
		belfry_time now, bool *ret_is_done)
{
	enum belfry_status status = bf_db_run(db, BF_ST_RUN_TURN_BORN, bf_v_id(&record->run),
			bf_v_bits(record->fence), bf_v_int(record->status), bf_v_text(record->turn),
			bf_v_int(now), bf_v_int(end_time(record->status, now)),
			bf_v_int(record->run_flags), bf_v_int(record->error),
			bf_v_text(record->message), bf_v_text(record->detail));

	*ret_is_done = status == BELFRY_OK && bf_db_changes(db) == 1;
	return status;
}

static enum belfry_status record_one(struct bf_db *db, struct belfry_record *record,
		belfry_time now)
{
	struct facts facts;
	bool is_done = false;
	enum belfry_status status = BELFRY_OK;

	if (record->kind == BELFRY_RECORD_TURN && !record->write_attempt) {
		status = write_common_turn(db, record, now, &is_done);
	}
	if (status != BELFRY_OK || is_done) {
		record->result = BELFRY_OK;
		return status;
	}
	status = read_facts(db, record, &facts);
	if (status != BELFRY_OK) {
		return status;
	}
	record->result = judge(&facts, record);
	if (record->result != BELFRY_OK) {
		return BELFRY_OK;
	}
	record->is_again = is_hosts(record) && belfry_run_status_is_terminal(facts.status);
	status = write_attempt(db, record, &facts, now);
	return status == BELFRY_OK ? carry_out(db, record, &facts, now) : status;
}

static enum belfry_status run_record(struct bf_sqlite *store, void *data)
{
	struct record_call *call = data;
	belfry_time now = bf_sqlite_now(store);
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < call->count; i++) {
		status = bf_sqlite_item_begin(store, call->is_careful);
		if (status == BELFRY_OK) {
			status = record_one(&store->writer, &call->records[i], now);
		}
		status = bf_sqlite_item_end(store, call->is_careful, status);
		if (status == BELFRY_CORRUPT && call->is_careful) {
			call->records[i].result = BELFRY_CORRUPT;
			status = BELFRY_OK;
		}
	}
	return status;
}

enum belfry_status bf_sqlite_record(struct belfry_store *base, struct belfry_record *records,
		size_t count, struct belfry_error *err)
{
	struct record_call call = {.records = records, .count = count};

	return bf_sqlite_write_items(bf_sqlite_of(base), run_record, &call, &call.is_careful, err);
}
