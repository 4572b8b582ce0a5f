/* The rules of what goes into a store. They are about our own callers, but a caller may be a
 * program that embeds the library: so a broken rule is a status, and not an assertion.
 *
 * Lengths keep one row from spoiling a store for all others. */
#include "store/store_priv.h"

#define DEFINITION_BYTES (BELFRY_RULE_BYTES + (size_t)16384) /* the longest rule, and all else */
#define TEXT_BYTES       ((size_t)1024) /* reasons, messages, versions, identities */
#define DETAIL_BYTES     ((size_t)16384)
#define KEY_BYTES        ((size_t)256)
#define SESSION_BYTES    ((size_t)1024)
#define KIND_BYTES       ((size_t)32)
#define ID_BYTES         ((size_t)64)
#define NAME_BYTES       ((size_t)200)
#define BATCH_COUNT      ((size_t)100000)

#define REFUSE(err, ...) return bf_error_set((err), BELFRY_INVALID, __VA_ARGS__)

static bool is_text(struct belfry_str text, size_t max)
{
	return text.len <= max && (text.len == 0 || text.ptr != NULL);
}

static bool is_schedule_id(struct belfry_str id)
{
	return id.len > 0 && is_text(id, BELFRY_SCHEDULE_ID_BYTES);
}

/* A computed id begins with its due time's milliseconds. */
static bool id_fits_due(struct belfry_id id, belfry_time due)
{
	return due > 0 && bf_run_id_time(id) == due - due % BELFRY_MILLISECOND;
}

/* --- beats --- */

enum belfry_status bf_check_beat(const struct belfry_beat *beat, struct belfry_error *err)
{
	if ((unsigned)beat->kind > BELFRY_BEAT_END) {
		REFUSE(err, "beat: kind %u is unknown", (unsigned)beat->kind);
	}
	if (bf_id_is_zero(beat->incarnation)) {
		REFUSE(err, "beat: no incarnation is named");
	}
	if (beat->kind == BELFRY_BEAT_RENEW && beat->length <= 0) {
		REFUSE(err, "beat: its length must be positive");
	}
	if (beat->tolerance < 0 || beat->expect_now < 0) {
		REFUSE(err, "beat: the expected time and its tolerance must not be negative");
	}
	if (!is_text(beat->identity, TEXT_BYTES) || !is_text(beat->version, TEXT_BYTES) ||
			!is_text(beat->tz_version, TEXT_BYTES)) {
		REFUSE(err, "beat: a text is too long");
	}
	return BELFRY_OK;
}

/* --- advance --- */

static enum belfry_status check_new_run(const struct belfry_advance *advance,
		const struct belfry_advance_item *item, const struct belfry_new_run *run,
		struct belfry_error *err)
{
	bool is_born_claimed = run->state == BELFRY_RUN_DISPATCHING;

	if (bf_id_is_zero(run->id) || (unsigned)run->trigger >= BELFRY_TRIGGER_COUNT ||
			!bf_sm_can_start(&bf_run_states, run->state) ||
			(unsigned)run->error >= BELFRY_RUN_ERROR_COUNT) {
		REFUSE(err, "advance: a new Run has no id, or an unknown trigger, state or error");
	}
	if (!id_fits_due(run->id, run->due_at)) {
		REFUSE(err, "advance: a new Run's id does not belong to its due time");
	}
	if (run->ready_at < 0 || run->stands_for == 0) {
		REFUSE(err, "advance: a new Run is ready at a time and stands for one or more");
	}
	if (is_born_claimed && bf_id_is_zero(advance->holder)) {
		REFUSE(err, "advance: a Run born claimed needs a holder");
	}
	if (is_born_claimed && (item->flags & BELFRY_ADVANCE_F_END_UNSTARTED) != 0) {
		REFUSE(err, "advance: a Run born claimed has started and cannot be ended so");
	}
	return BELFRY_OK;
}

static enum belfry_status check_gap(const struct belfry_gap *gap, struct belfry_error *err)
{
	if (gap->from > gap->to || gap->count < 0 || gap->reason < 0 ||
			gap->reason >= BELFRY_GAP_REASON_COUNT || !is_text(gap->who, TEXT_BYTES)) {
		REFUSE(err, "advance: a gap's times, count, reason or name cannot be");
	}
	return BELFRY_OK;
}

static enum belfry_status check_put(const struct belfry_schedule_put *put, struct belfry_error *err)
{
	if (put->revision < 1) {
		REFUSE(err, "advance: revision %lld is below 1", (long long)put->revision);
	}
	if (!is_text(put->definition, DEFINITION_BYTES) ||
			!is_text(put->fair_key, BELFRY_FAIR_KEY_BYTES) ||
			!is_text(put->payload, BELFRY_PAYLOAD_BYTES)) {
		REFUSE(err, "advance: definition, fair key or payload is too long");
	}
	return BELFRY_OK;
}

static enum belfry_status check_item(const struct belfry_advance_item *item,
		struct belfry_error *err)
{
	bool is_removal = (item->flags & BELFRY_ADVANCE_F_REMOVE) != 0;

	if (!is_schedule_id(item->schedule)) {
		REFUSE(err, "advance: a schedule's id has 1 to %d bytes", BELFRY_SCHEDULE_ID_BYTES);
	}
	if (is_removal && (item->put != NULL || item->remove_revision < 1)) {
		REFUSE(err, "advance: a removal has a revision, and no new definition");
	}
	if (item->expect_version == 0 && item->put == NULL && !is_removal) {
		REFUSE(err, "advance: a schedule that is not there can only be put or removed");
	}
	if (item->cursor < 0 || item->decided_at < 0 || item->last_fire_at < 0 ||
			item->decided_due < 0 || (unsigned)item->phase >= BELFRY_PHASE_COUNT) {
		REFUSE(err, "advance: a time is negative, or the phase unknown");
	}
	if (!is_text(item->tz_version, TEXT_BYTES) || !is_text(item->phase_reason, TEXT_BYTES)) {
		REFUSE(err, "advance: a text is too long");
	}
	if ((item->run_count > 0 && item->runs == NULL) ||
			(item->gap_count > 0 && item->gaps == NULL) ||
			item->run_count > BATCH_COUNT || item->gap_count > BATCH_COUNT) {
		REFUSE(err, "advance: too many Runs or gaps, or none where some are counted");
	}
	return item->put != NULL ? check_put(item->put, err) : BELFRY_OK;
}

enum belfry_status bf_check_advance(const struct belfry_advance *advance, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	if (advance->item_count > BATCH_COUNT || advance->max_active < 0 ||
			(advance->item_count > 0 && advance->items == NULL)) {
		REFUSE(err, "advance: too many items, or a negative ceiling");
	}
	for (size_t i = 0; status == BELFRY_OK && i < advance->item_count; i++) {
		const struct belfry_advance_item *item = &advance->items[i];
		status = check_item(item, err);
		for (size_t j = 0; status == BELFRY_OK && j < item->run_count; j++) {
			status = check_new_run(advance, item, &item->runs[j], err);
		}
		for (size_t j = 0; status == BELFRY_OK && j < item->gap_count; j++) {
			status = check_gap(&item->gaps[j], err);
		}
	}
	return status;
}

/* --- Runs --- */

static enum belfry_status check_add(const struct belfry_add *add, struct belfry_error *err)
{
	if (!is_schedule_id(add->schedule) || bf_id_is_zero(add->id)) {
		REFUSE(err, "add: a Run needs a schedule and an id");
	}
	if ((unsigned)add->trigger >= BELFRY_TRIGGER_COUNT ||
			add->trigger == BELFRY_TRIGGER_SCHEDULE) {
		REFUSE(err, "add: a Run on request is manual, a replay or a backfill");
	}
	if (add->trigger == BELFRY_TRIGGER_BACKFILL ? !id_fits_due(add->id, add->due_at)
						    : add->due_at != 0) {
		REFUSE(err, "add: a backfill has its due time's id, no other Run has one");
	}
	if (add->trigger == BELFRY_TRIGGER_REPLAY && bf_id_is_zero(add->replayed_from)) {
		REFUSE(err, "add: a replay names the Run that it repeats");
	}
	if (add->ready_at < 0 || add->revision < 0 || !is_text(add->tz_version, TEXT_BYTES) ||
			!is_text(add->request_key, KEY_BYTES)) {
		REFUSE(err, "add: a time or revision is negative, or a text too long");
	}
	return BELFRY_OK;
}

enum belfry_status bf_check_adds(const struct belfry_add *adds, size_t count,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	if (count > BATCH_COUNT || (count > 0 && adds == NULL)) {
		REFUSE(err, "add: too many Runs");
	}
	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		status = check_add(&adds[i], err);
	}
	return status;
}

enum belfry_status bf_check_claim(const struct belfry_claim *claim, struct belfry_error *err)
{
	if ((unsigned)claim->kind > BELFRY_CLAIM_OWNED) {
		REFUSE(err, "claim: kind %u is unknown", (unsigned)claim->kind);
	}
	if (bf_id_is_zero(claim->holder)) {
		REFUSE(err, "claim: no holder is named");
	}
	if (claim->max_runs == 0) {
		REFUSE(err, "claim: at least one Run must be asked for");
	}
	return BELFRY_OK;
}

static bool is_end_status(enum belfry_run_status status)
{
	return status == BELFRY_STATUS_RUNNING || belfry_run_status_is_terminal(status);
}

static enum belfry_status check_record(const struct belfry_record *record, struct belfry_error *err)
{
	bool has_status = record->kind == BELFRY_RECORD_TURN ||
			record->kind == BELFRY_RECORD_CONCLUDED;

	bool is_hosts = record->kind == BELFRY_RECORD_CONCLUDED ||
			record->kind == BELFRY_RECORD_CANCELLED_BY_HOST;

	if ((unsigned)record->kind > BELFRY_RECORD_CANCELLED_BY_HOST ||
			bf_id_is_zero(record->run)) {
		REFUSE(err, "record: no Run is named, or kind %u is unknown",
				(unsigned)record->kind);
	}
	if (!is_hosts && record->fence == 0) {
		REFUSE(err, "record: a holder shows its fence");
	}
	if ((unsigned)record->error >= BELFRY_RUN_ERROR_COUNT ||
			(unsigned)record->attempt_error >= BELFRY_RUN_ERROR_COUNT ||
			(unsigned)record->step > BELFRY_STEP_TURN ||
			(has_status && !is_end_status(record->status))) {
		REFUSE(err, "record: error, step or status is unknown, or the Run cannot end so");
	}
	if (record->kind == BELFRY_RECORD_SESSION && record->session.len == 0) {
		REFUSE(err, "record: the Session has no id");
	}
	if (record->kind == BELFRY_RECORD_RETRY && record->ready_at <= 0) {
		REFUSE(err, "record: a retry has a time");
	}
	if (!is_text(record->session, SESSION_BYTES) || !is_text(record->turn, SESSION_BYTES) ||
			!is_text(record->message, TEXT_BYTES) ||
			!is_text(record->detail, DETAIL_BYTES)) {
		REFUSE(err, "record: a text is too long");
	}
	return BELFRY_OK;
}

enum belfry_status bf_check_records(const struct belfry_record *records, size_t count,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	if (count > BATCH_COUNT || (count > 0 && records == NULL)) {
		REFUSE(err, "record: too many records");
	}
	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		status = check_record(&records[i], err);
	}
	return status;
}

enum belfry_status bf_check_prune(const struct belfry_prune *prune, struct belfry_error *err)
{
	if (prune->keep_age < 0 || prune->keep_runs < 0 || prune->keep_failed_age < 0 ||
			prune->keep_tombstones < 0 || prune->max_rows == 0) {
		REFUSE(err, "prune: what is kept is not negative, and a row or more is looked at");
	}
	return BELFRY_OK;
}

/* --- reading --- */

enum belfry_status bf_check_list(const struct belfry_list *list, struct belfry_error *err)
{
	bool needs_ids = list->kind == BELFRY_LIST_RUN_IDS ||
			list->kind == BELFRY_LIST_INVOCATIONS || list->kind == BELFRY_LIST_ATTEMPTS;

	if ((unsigned)list->kind > BELFRY_LIST_TZ_VERSIONS) {
		REFUSE(err, "list: kind %u is unknown", (unsigned)list->kind);
	}
	if (!is_text(list->schedule, BELFRY_SCHEDULE_ID_BYTES) ||
			!is_text(list->after_text, BELFRY_SCHEDULE_ID_BYTES)) {
		REFUSE(err, "list: a schedule's id has at most %d bytes", BELFRY_SCHEDULE_ID_BYTES);
	}
	if (!is_text(list->tz_version, TEXT_BYTES)) {
		REFUSE(err, "list: a tz version is too long");
	}
	if (list->kind == BELFRY_LIST_GAPS && list->schedule.len == 0) {
		REFUSE(err, "list: gaps are those of one schedule");
	}
	if (list->kind == BELFRY_LIST_ATTEMPTS && list->run_id_count != 1) {
		REFUSE(err, "list: attempts are those of one Run");
	}
	if ((needs_ids && list->run_id_count > 0 && list->run_ids == NULL) ||
			(list->id_count > 0 && list->ids == NULL) ||
			list->run_id_count > BATCH_COUNT || list->id_count > BATCH_COUNT) {
		REFUSE(err, "list: too many ids, or none where some are counted");
	}
	if (list->to != 0 && list->from > list->to) {
		REFUSE(err, "list: it ends before it begins");
	}
	return BELFRY_OK;
}

/* --- documents --- */

enum belfry_status bf_check_document_key(struct belfry_str kind, struct belfry_str id,
		struct belfry_error *err)
{
	if (kind.len == 0 || !is_text(kind, KIND_BYTES)) {
		REFUSE(err, "document: its kind has 1 to %zu bytes", KIND_BYTES);
	}
	if (id.len == 0 || !is_text(id, NAME_BYTES)) {
		REFUSE(err, "document: neither id nor name is given, or it is too long");
	}
	return BELFRY_OK;
}

enum belfry_status bf_check_document(const struct belfry_document *document, int64_t expect_etag,
		struct belfry_error *err)
{
	if (document->id.len == 0 || !is_text(document->id, ID_BYTES)) {
		REFUSE(err, "document: its id has 1 to %zu bytes", ID_BYTES);
	}
	if (!is_text(document->owner, NAME_BYTES) || !is_text(document->name, NAME_BYTES) ||
			!is_text(document->bytes, SIZE_MAX)) {
		REFUSE(err, "document: owner or name has more than %zu bytes", NAME_BYTES);
	}
	if (expect_etag < 0) {
		REFUSE(err, "document: the etag is negative");
	}
	return bf_check_document_key(document->kind, document->id, err);
}
