/* The rules of what goes into a provider: whoever calls may be a program that embeds the library, so a
 * broken rule is a status that names the place, and not an assertion. What needs the zone data (does the
 * rule parse, does it ever fire) is the provider's to judge. */
#include "model/definition.h"
#include "provider/provider_priv.h"

#define REFUSE(err, ...) return bf_error_set((err), BELFRY_INVALID, __VA_ARGS__)
#define REFUSE_AT(err, pointer, ...)                                                               \
	return bf_error_at((err), BELFRY_INVALID, (pointer), __VA_ARGS__)

static bool is_text(struct belfry_str text, size_t max)
{
	return text.len <= max && (text.len == 0 || text.ptr != NULL);
}

/* An older program has smaller structs than this build; there are none yet. */
static bool has_size(size_t size, size_t needed)
{
	return size >= needed;
}

static enum belfry_status check_pointers(const struct belfry_arena *arena, const void *answer,
		struct belfry_error *err)
{
	if (arena == NULL) {
		REFUSE(err, "an arena for the answer is missing");
	}
	if (answer == NULL) {
		REFUSE(err, "a place for the answer is missing");
	}
	return BELFRY_OK;
}

/* A size that is not the first one of a struct, or a later one. */
#define CHECK_SIZE(err, what, given, init)                                                         \
	do {                                                                                       \
		if (!has_size((given)->size, sizeof(*(given)))) {                                  \
			REFUSE((err),                                                              \
					what                                                       \
					": its size is %zu, and %zu is needed: begin with " init,  \
					(given)->size, sizeof(*(given)));                          \
		}                                                                                  \
	} while (0)

enum belfry_status bf_check_handler(const struct belfry_handler *handler, struct belfry_error *err)
{
	if (handler == NULL) {
		REFUSE(err, "start: a handler is needed");
	}
	if (handler->size < offsetof(struct belfry_handler, cancel)) {
		REFUSE(err, "handler: its size is not set; set it to sizeof(struct belfry_handler)");
	}
	if (handler->start_session == NULL || handler->admit_turn == NULL) {
		REFUSE(err, "handler: start_session and admit_turn are both needed");
	}
	bool is_whole = handler->size >= sizeof(*handler);
	if (is_whole && (handler->hold == NULL) != (handler->release == NULL)) {
		REFUSE(err, "handler: hold and release are needed both, or neither");
	}
	return BELFRY_OK;
}

/* ---- schedules ---------------------------------------------------------------------------------- */

enum belfry_status bf_check_schedule_id(struct belfry_str id, struct belfry_error *err)
{
	bool is_ok = id.len > 0 && is_text(id, BELFRY_SCHEDULE_ID_BYTES);

	for (size_t i = 0; is_ok && i < id.len; i++) {
		is_ok = id.ptr[i] > ' ' && id.ptr[i] < 0x7f;
	}
	if (!is_ok) {
		REFUSE_AT(err, "/id", "id: 1 to %d printable ASCII characters are needed",
				BELFRY_SCHEDULE_ID_BYTES);
	}
	return BELFRY_OK;
}

static enum belfry_status check_texts(const struct belfry_schedule *s, struct belfry_error *err)
{
	if (!is_text(s->rule, BELFRY_RULE_BYTES)) {
		return bf_error_at(err, BELFRY_INVALID_SCHEDULE, "/rule", "rule: at most %d bytes",
				BELFRY_RULE_BYTES);
	}
	if (!is_text(s->zone, BELFRY_ZONE_BYTES)) {
		return bf_error_at(err, BELFRY_INVALID_SCHEDULE, "/zone", "zone: at most %d bytes",
				BELFRY_ZONE_BYTES);
	}
	if (!is_text(s->fair_key, BELFRY_FAIR_KEY_BYTES)) {
		REFUSE_AT(err, "/fair_key", "fair_key: at most %d bytes", BELFRY_FAIR_KEY_BYTES);
	}
	if (!is_text(s->payload, SIZE_MAX)) {
		REFUSE_AT(err, "/payload", "payload: it has a length and no bytes");
	}
	if (s->payload.len > BELFRY_PAYLOAD_BYTES) {
		return bf_error_at(err, BELFRY_TOO_LARGE, "/payload", "payload: at most %u bytes",
				BELFRY_PAYLOAD_BYTES);
	}
	return BELFRY_OK;
}

enum belfry_status bf_check_schedule(const struct belfry_schedule *s, struct belfry_error *err)
{
	uint32_t known = BELFRY_SCHEDULE_F_ENABLED | BELFRY_SCHEDULE_F_FIVE_FIELDS |
			BELFRY_SCHEDULE_F_LOCAL_SESSION;

	if (s == NULL) {
		REFUSE(err, "schedule: there is none");
	}
	CHECK_SIZE(err, "schedule", s, "BELFRY_SCHEDULE_INIT");
	enum belfry_status status = bf_check_schedule_id(s->id, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (s->revision < 1) {
		REFUSE_AT(err, "/revision", "revision: a number from 1 is needed");
	}
	if (s->created_at < 0 || s->created_at == BELFRY_TIME_NEVER) {
		REFUSE_AT(err, "/created_at", "created_at: a time from 1970 on is needed");
	}
	if ((s->flags & ~known) != 0) {
		REFUSE_AT(err, "/flags", "flags: this version knows %u alone", known);
	}
	status = check_texts(s, err);
	return status == BELFRY_OK ? bf_policies_check(&s->policies, err) : status;
}

enum belfry_status bf_check_iterator(const struct belfry_schedule_iterator *schedules,
		struct belfry_error *err)
{
	if (schedules == NULL || schedules->next == NULL || schedules->load == NULL) {
		REFUSE(err, "reconcile: an iterator with next and load is needed");
	}
	return BELFRY_OK;
}

enum belfry_status bf_check_removal(struct belfry_str schedule, int64_t revision,
		struct belfry_error *err)
{
	if (revision < 1) {
		REFUSE_AT(err, "/revision", "revision: a number from 1 is needed");
	}
	if (!is_text(schedule, SIZE_MAX)) {
		REFUSE_AT(err, "/id", "id: it has a length and no bytes");
	}
	return BELFRY_OK;
}

/* ---- Runs --------------------------------------------------------------------------------------- */

enum belfry_status bf_check_enqueue(const struct belfry_enqueue *request, struct belfry_error *err)
{
	if (request == NULL) {
		REFUSE(err, "enqueue: there is no request");
	}
	CHECK_SIZE(err, "enqueue", request, "BELFRY_ENQUEUE_INIT");
	if (request->trigger != BELFRY_TRIGGER_MANUAL &&
			request->trigger != BELFRY_TRIGGER_REPLAY) {
		REFUSE_AT(err, "/trigger", "trigger: only MANUAL and REPLAY can be asked for");
	}
	bool is_replay = request->trigger == BELFRY_TRIGGER_REPLAY;
	if (is_replay == bf_id_is_zero(request->replayed_from)) {
		REFUSE_AT(err, "/replayed_from",
				"replayed_from: a replay names the Run that it repeats, no other "
				"request does");
	}
	if (!is_text(request->request_key, BELFRY_REQUEST_KEY_BYTES)) {
		REFUSE_AT(err, "/request_key", "request_key: at most %u bytes",
				BELFRY_REQUEST_KEY_BYTES);
	}
	return bf_check_schedule_id(request->schedule, err);
}

enum belfry_status bf_check_run_query(const struct belfry_run_query *query,
		const struct belfry_arena *arena, struct belfry_error *err)
{
	if (query == NULL) {
		REFUSE(err, "list_runs: there is no query");
	}
	if (arena == NULL) {
		REFUSE(err, "list_runs: an arena for the answer is missing");
	}
	CHECK_SIZE(err, "list_runs", query, "BELFRY_RUN_QUERY_INIT");
	if (query->statuses >> BELFRY_RUN_STATUS_COUNT != 0) {
		REFUSE_AT(err, "/statuses", "statuses: a bit of no status is set");
	}
	if (query->triggers >> BELFRY_TRIGGER_COUNT != 0) {
		REFUSE_AT(err, "/triggers", "triggers: a bit of no trigger is set");
	}
	return query->schedule.len > 0 ? bf_check_schedule_id(query->schedule, err) : BELFRY_OK;
}

static enum belfry_status check_run_id(struct belfry_id run, struct belfry_error *err)
{
	if (bf_id_is_zero(run)) {
		REFUSE_AT(err, "/run", "run: an id is needed");
	}
	return BELFRY_OK;
}

static enum belfry_status check_message(struct belfry_str message, struct belfry_error *err)
{
	if (!is_text(message, BELFRY_MESSAGE_BYTES) || !bf_str_is_utf8(message)) {
		REFUSE_AT(err, "/message", "message: at most %u bytes of UTF-8 without NUL",
				BELFRY_MESSAGE_BYTES);
	}
	return BELFRY_OK;
}

static enum belfry_status check_outcome(const struct belfry_outcome *outcome,
		struct belfry_error *err)
{
	if (outcome == NULL) {
		REFUSE(err, "conclude: there is no outcome");
	}
	CHECK_SIZE(err, "conclude", outcome, "BELFRY_OUTCOME_INIT");
	if (outcome->status != BELFRY_STATUS_COMPLETED && outcome->status != BELFRY_STATUS_FAILED &&
			outcome->status != BELFRY_STATUS_CANCELLED) {
		REFUSE_AT(err, "/status", "status: a Run ends COMPLETED, FAILED or CANCELLED");
	}
	if ((unsigned)outcome->error >= BELFRY_RUN_ERROR_COUNT ||
			(outcome->status == BELFRY_STATUS_COMPLETED &&
					outcome->error != BELFRY_RUN_ERROR_NONE)) {
		REFUSE_AT(err, "/error", "error: one of the list, and NONE with COMPLETED");
	}
	if ((outcome->run_flags & ~BELFRY_RUN_F_OUTPUT_TRUNCATED) != 0) {
		REFUSE_AT(err, "/run_flags", "run_flags: OUTPUT_TRUNCATED, or none");
	}
	return check_message(outcome->message, err);
}

enum belfry_status bf_check_run_question(struct belfry_id run, const struct belfry_arena *arena,
		const void *answer, struct belfry_error *err)
{
	enum belfry_status status = check_pointers(arena, answer, err);

	return status == BELFRY_OK ? check_run_id(run, err) : status;
}

enum belfry_status bf_check_cancel(struct belfry_id run, struct belfry_str message,
		struct belfry_error *err)
{
	enum belfry_status status = check_run_id(run, err);

	return status == BELFRY_OK ? check_message(message, err) : status;
}

enum belfry_status bf_check_conclude(struct belfry_id run, const struct belfry_outcome *outcome,
		struct belfry_error *err)
{
	enum belfry_status status = check_run_id(run, err);

	return status == BELFRY_OK ? check_outcome(outcome, err) : status;
}

/* ---- questions ---------------------------------------------------------------------------------- */

static enum belfry_status check_ids(const struct belfry_str *ids, size_t count,
		struct belfry_error *err)
{
	if (count > BF_IDS_MAX || (count > 0 && ids == NULL)) {
		REFUSE_AT(err, "/ids", "ids: at most %zu at once, and none may be missing",
				BF_IDS_MAX);
	}
	for (size_t i = 0; i < count; i++) {
		enum belfry_status status = bf_check_schedule_id(ids[i], err);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

static enum belfry_status check_question(const struct belfry_why *why, struct belfry_error *err)
{
	CHECK_SIZE(err, "why", why, "BELFRY_WHY_INIT");
	return bf_check_schedule_id(why->schedule, err);
}

enum belfry_status bf_check_state(const struct belfry_str *ids, size_t count,
		const struct belfry_arena *arena, const void *answer, struct belfry_error *err)
{
	enum belfry_status status = check_pointers(arena, answer, err);

	return status == BELFRY_OK ? check_ids(ids, count, err) : status;
}

enum belfry_status bf_check_why(const struct belfry_why *why, const struct belfry_arena *arena,
		struct belfry_error *err)
{
	if (why == NULL) {
		REFUSE(err, "why: there is no question");
	}
	if (arena == NULL) {
		REFUSE(err, "why: an arena for the answer is missing");
	}
	return check_question(why, err);
}

enum belfry_status bf_check_metrics(const struct belfry_provider_metrics *metrics,
		struct belfry_error *err)
{
	if (metrics == NULL) {
		REFUSE(err, "metrics: there is no place for them");
	}
	if (metrics->size < sizeof(metrics->size)) {
		REFUSE(err,
				"metrics: their size is not set: begin with "
				"BELFRY_PROVIDER_METRICS_INIT");
	}
	return BELFRY_OK;
}

enum belfry_status bf_check_due(struct belfry_str schedule, const belfry_time *due, size_t max,
		const size_t *ret_count, struct belfry_error *err)
{
	if (due == NULL || ret_count == NULL) {
		REFUSE(err, "due: a place for the answer is missing: the times, or their count");
	}
	if (max == 0 || max > BF_DUE_TIMES_MAX) {
		return bf_error_set(err, BELFRY_INVALID, "due: room for 1 to %zu times is needed",
				BF_DUE_TIMES_MAX);
	}
	return bf_check_schedule_id(schedule, err);
}
