/* What an adapter answers is foreign data: out of range, out of order or pointing nowhere, it must
 * not get further than this. Each function is asked only where the adapter said BELFRY_OK (and is
 * harmless where it did not). What a definition's bytes hold is not looked at here: model/ decodes
 * them. */
#include "model/believable.h"
#include "store/store_priv.h"

static bool is_time(belfry_time time)
{
	return time >= 0;
}

/* --- incarnations --- */

static bool is_incarnation(const struct belfry_incarnation *row)
{
	return !bf_id_is_zero(row->id) && is_time(row->registered_at) &&
			is_time(row->covers_from) && is_time(row->covered_until) &&
			is_time(row->ended_at) && bf_text_is_believable(row->identity) &&
			bf_text_is_believable(row->version) &&
			bf_text_is_believable(row->tz_version);
}

static bool are_incarnations(const struct belfry_incarnation *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_incarnation(&rows[i])) {
			return false;
		}
	}
	return true;
}

static bool are_cancelled(const struct belfry_beat *beat)
{
	if (beat->cancelled_count > 0 &&
			(beat->cancelled == NULL || beat->kind != BELFRY_BEAT_RENEW)) {
		return false;
	}
	for (size_t i = 0; i < beat->cancelled_count; i++) {
		if (bf_id_is_zero(beat->cancelled[i])) {
			return false;
		}
	}
	return true;
}

bool bf_verify_beat(const struct belfry_beat *beat)
{
	bool has_itself = beat->kind != BELFRY_BEAT_RENEW;

	if (beat->now <= 0 || (beat->living_count > 0 && beat->living == NULL) ||
			!are_incarnations(beat->living, beat->living_count) ||
			!are_cancelled(beat)) {
		return false;
	}
	for (size_t i = 0; i < beat->living_count; i++) {
		if (beat->living[i].ended_at != 0) {
			return false;
		}
		has_itself |= bf_id_compare(beat->living[i].id, beat->incarnation) == 0;
	}
	return has_itself && (beat->kind != BELFRY_BEAT_RENEW || beat->beat > 0);
}

/* --- schedules and Runs that were made --- */

static bool is_item_answer(const struct belfry_advance_item *item)
{
	switch ((unsigned)item->result) {
	case BELFRY_OK: return item->version != 0;
	case BELFRY_CONFLICT:
	case BELFRY_CAPACITY:
	case BELFRY_CORRUPT: break;
	default: return false;
	}
	for (size_t i = 0; i < item->run_count; i++) {
		if (item->runs[i].is_inserted) {
			return false;
		}
	}
	return true;
}

bool bf_verify_advance(const struct belfry_advance *advance)
{
	for (size_t i = 0; i < advance->item_count; i++) {
		if (!is_item_answer(&advance->items[i])) {
			return false;
		}
	}
	return advance->now > 0 && advance->fence > 0;
}

static bool is_add_answer(const struct belfry_add *add)
{
	switch ((unsigned)add->result) {
	case BELFRY_OK:
		return add->is_new ? bf_id_compare(add->existing, add->id) == 0
				   : !bf_id_is_zero(add->existing) && add->request_key.len > 0;
	case BELFRY_NOT_FOUND:
	case BELFRY_KEY_REUSED:
	case BELFRY_CONFLICT: return !add->is_new;
	default: return false;
	}
}

bool bf_verify_adds(const struct belfry_add *adds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!is_add_answer(&adds[i])) {
			return false;
		}
	}
	return true;
}

static bool is_claimed(const struct belfry_claimed *claimed, const struct belfry_claim *claim)
{
	const struct belfry_run *run = &claimed->run;

	return bf_run_is_believable(run) && run->state == BELFRY_RUN_DISPATCHING &&
			run->fence > 0 && run->attempt > 0 && run->started_at > 0 &&
			bf_id_compare(run->holder, claim->holder) == 0 &&
			bf_text_is_believable(claimed->definition) &&
			claimed->payload_bytes <= BELFRY_PAYLOAD_BYTES;
}

bool bf_verify_claim(const struct belfry_claim *claim)
{
	if (claim->now <= 0 || claim->run_count > claim->max_runs ||
			(claim->run_count > 0 && claim->runs == NULL)) {
		return false;
	}
	for (size_t i = 0; i < claim->run_count; i++) {
		if (!is_claimed(&claim->runs[i], claim)) {
			return false;
		}
	}
	return true;
}

bool bf_verify_records(const struct belfry_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		unsigned result = records[i].result;
		bool is_hosts = records[i].kind == BELFRY_RECORD_CONCLUDED ||
				records[i].kind == BELFRY_RECORD_CANCELLED_BY_HOST;
		bool is_stale_cancel = result == BELFRY_STALE &&
				records[i].kind == BELFRY_RECORD_CANCELLED_BY_HOST;
		if (result != BELFRY_OK && result != BELFRY_STALE && result != BELFRY_CONFLICT &&
				result != BELFRY_NOT_FOUND) {
			return false;
		}
		if (is_stale_cancel || (records[i].is_again && !is_hosts)) {
			return false; /* a cancel asks for no fence; a holder ends a Run once */
		}
	}
	return true;
}

/* A pass that is not done must get on, or it would never end. */
bool bf_verify_prune(const struct belfry_prune *prune)
{
	return prune->is_done || bf_id_compare(prune->next, prune->after) > 0;
}

/* --- lists --- */

static bool is_row(const struct belfry_schedule_row *row)
{
	return bf_text_is_believable(row->id) && row->id.len > 0 &&
			row->id.len <= BELFRY_SCHEDULE_ID_BYTES && row->version > 0 &&
			row->revision > 0 && (unsigned)row->phase < BELFRY_PHASE_COUNT &&
			is_time(row->cursor) && is_time(row->idle_since) &&
			is_time(row->last_fire_at) && is_time(row->decided_due) &&
			row->fired_count >= 0 && row->payload_bytes <= BELFRY_PAYLOAD_BYTES &&
			bf_text_is_believable(row->definition) &&
			bf_text_is_believable(row->fair_key) &&
			bf_text_is_believable(row->tz_version) &&
			bf_text_is_believable(row->phase_reason);
}

/* All that a comparison asks for. */
static bool is_brief_row(const struct belfry_schedule_row *row)
{
	return bf_text_is_believable(row->id) && row->id.len > 0 &&
			row->id.len <= BELFRY_SCHEDULE_ID_BYTES && row->revision > 0;
}

static bool are_tz_versions(const struct belfry_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!bf_text_is_believable(list->rows[i].tz_version) ||
				list->rows[i].tz_version.len == 0) {
			return false;
		}
	}
	return true;
}

static bool are_rows(const struct belfry_list *list)
{
	bool is_by_id = list->kind == BELFRY_LIST_REVISIONS ||
			(list->kind == BELFRY_LIST_SCHEDULES && list->id_count == 0);

	for (size_t i = 0; i < list->count; i++) {
		const struct belfry_schedule_row *row = &list->rows[i];
		if (list->kind == BELFRY_LIST_REVISIONS ? !is_brief_row(row) : !is_row(row)) {
			return false;
		}
		if (list->kind == BELFRY_LIST_DUE &&
				(row->cursor > list->now || row->cursor < list->from ||
						(i > 0 && row->cursor < row[-1].cursor))) {
			return false;
		}
		if (is_by_id && i > 0 && bf_str_compare(row[-1].id, row->id) >= 0) {
			return false;
		}
	}
	return true;
}

static bool are_runs(const struct belfry_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (!bf_run_is_believable(&list->runs[i])) {
			return false;
		}
		if (list->kind == BELFRY_LIST_RUNS && i > 0 &&
				bf_id_compare(list->runs[i - 1].id, list->runs[i].id) <= 0) {
			return false;
		}
	}
	return true;
}

static bool are_invocations(const struct belfry_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		if (bf_id_is_zero(list->invocations[i].run) ||
				!bf_text_is_believable(list->invocations[i].payload) ||
				list->invocations[i].payload.len > BELFRY_PAYLOAD_BYTES) {
			return false;
		}
	}
	return true;
}

static bool are_attempts(const struct belfry_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct belfry_attempt *row = &list->attempts[i];
		if (bf_id_compare(row->run, list->run_ids[0]) != 0 ||
				!bf_attempt_is_believable(row)) {
			return false;
		}
	}
	return true;
}

static bool are_gaps(const struct belfry_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		const struct belfry_gap *gap = &list->gaps[i];
		if (!bf_gap_is_believable(gap) || (i > 0 && gap->from < gap[-1].from)) {
			return false;
		}
	}
	return true;
}

static bool are_counts(const struct belfry_counts *counts)
{
	for (size_t i = 0; i < BELFRY_RUN_STATE_COUNT; i++) {
		if (counts->by_state[i] < 0) {
			return false;
		}
	}
	return is_time(counts->oldest_queued) && counts->active_schedules >= 0 &&
			counts->active_schedules <= counts->schedules;
}

/* The array that the kind names; NULL: it is missing. */
static const void *answer_of(const struct belfry_list *list)
{
	switch (list->kind) {
	case BELFRY_LIST_DUE:
	case BELFRY_LIST_SCHEDULES:
	case BELFRY_LIST_TZ_VERSIONS:
	case BELFRY_LIST_REVISIONS: return list->rows;
	case BELFRY_LIST_RUNS:
	case BELFRY_LIST_RUN_IDS: return list->runs;
	case BELFRY_LIST_INVOCATIONS: return list->invocations;
	case BELFRY_LIST_ATTEMPTS: return list->attempts;
	case BELFRY_LIST_GAPS: return list->gaps;
	case BELFRY_LIST_INCARNATIONS: return list->incarnations;
	case BELFRY_LIST_COUNTS: return list->counts;
	}
	return NULL;
}

/* Those that name what they want are bounded by that, incarnations by their number. */
static size_t most(const struct belfry_list *list)
{
	switch (list->kind) {
	case BELFRY_LIST_DUE:
	case BELFRY_LIST_REVISIONS:
	case BELFRY_LIST_TZ_VERSIONS:
	case BELFRY_LIST_RUNS:
	case BELFRY_LIST_ATTEMPTS:
	case BELFRY_LIST_GAPS: return list->limit;
	case BELFRY_LIST_SCHEDULES: return list->id_count > 0 ? list->id_count : list->limit;
	case BELFRY_LIST_RUN_IDS:
	case BELFRY_LIST_INVOCATIONS: return list->run_id_count;
	case BELFRY_LIST_INCARNATIONS: break;
	case BELFRY_LIST_COUNTS: return 1;
	}
	return SIZE_MAX;
}

bool bf_verify_list(const struct belfry_list *list)
{
	if (list->now <= 0 || list->count > most(list) ||
			(list->count > 0 && answer_of(list) == NULL)) {
		return false;
	}
	switch (list->kind) {
	case BELFRY_LIST_DUE:
		if (list->next_due <= list->now) {
			return false;
		}
		return are_rows(list);
	case BELFRY_LIST_SCHEDULES:
	case BELFRY_LIST_REVISIONS: return are_rows(list);
	case BELFRY_LIST_RUNS:
	case BELFRY_LIST_RUN_IDS: return is_time(list->history_from) && are_runs(list);
	case BELFRY_LIST_INVOCATIONS: return are_invocations(list);
	case BELFRY_LIST_ATTEMPTS: return are_attempts(list);
	case BELFRY_LIST_GAPS: return is_time(list->history_from) && are_gaps(list);
	case BELFRY_LIST_INCARNATIONS: return are_incarnations(list->incarnations, list->count);
	case BELFRY_LIST_COUNTS: return list->counts != NULL && are_counts(list->counts);
	case BELFRY_LIST_TZ_VERSIONS: return are_tz_versions(list);
	}
	return false;
}

/* --- documents --- */

bool bf_verify_document(const struct belfry_document *document, struct belfry_str kind)
{
	return bf_text_is_believable(document->kind) && bf_str_equal(document->kind, kind) &&
			document->id.len > 0 && bf_text_is_believable(document->id) &&
			bf_text_is_believable(document->owner) &&
			bf_text_is_believable(document->name) &&
			bf_text_is_believable(document->bytes) && document->etag > 0 &&
			document->created_at > 0 && document->updated_at > 0;
}

static bool is_brief_document(const struct belfry_document *document,
		const struct belfry_document_query *query)
{
	return bf_text_is_believable(document->kind) && bf_str_equal(document->kind, query->kind) &&
			document->id.len > 0 && bf_text_is_believable(document->id) &&
			document->etag > 0;
}

bool bf_verify_documents(const struct belfry_document_query *query)
{
	if (query->count > query->limit || (query->count > 0 && query->documents == NULL)) {
		return false;
	}
	for (size_t i = 0; i < query->count; i++) {
		const struct belfry_document *document = &query->documents[i];
		bool is_it = query->is_brief ? is_brief_document(document, query)
					     : bf_verify_document(document, query->kind);
		if (!is_it ||
				(query->is_brief && i > 0 &&
						bf_str_compare(document[-1].id, document->id) >=
								0)) {
			return false;
		}
	}
	return true;
}
