/* The shapes of Runs and of answers to "why", with the fixed member names of interface.md, and all
 * sentences of `why` in one table. Only what is public goes in: `detail` of a Run or an attempt
 * stays inside. */
#include "base/str.h"
#include "base/timefmt.h"
#include "http/api_priv.h"

/* Puts what `inner` has built under `name`; a failure goes up. */
static void write_object(struct bf_json_writer *outer, const char *name,
		struct bf_json_writer *inner)
{
	json_t *object = NULL;

	if (bf_json_writer_end(inner, &object) != BELFRY_OK) {
		outer->is_failed = true;
		return;
	}
	bf_json_write_value(outer, name, object);
}

static void write_error(struct bf_json_writer *writer, enum belfry_run_error error,
		struct belfry_str message)
{
	struct bf_json_writer w;

	if (error == BELFRY_RUN_ERROR_NONE) {
		bf_json_write_null(writer, "error");
		return;
	}
	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "code", belfry_run_error_name(error));
	bf_json_write_str(&w, "message",
			message.len > 0 ? message : bf_str(belfry_run_error_text(error)));
	write_object(writer, "error", &w);
}

/* --- a Run --- */

static json_t *new_attempt(const struct belfry_attempt *attempt)
{
	struct bf_json_writer w;
	json_t *object = NULL;
	bool is_open = attempt->ended_at == 0;
	bool is_ok = attempt->error == BELFRY_RUN_ERROR_NONE;

	bf_json_writer_begin(&w);
	bf_json_write_int(&w, "number", attempt->number);
	bf_json_write_text(&w, "step",
			attempt->step == BELFRY_STEP_SESSION ? "start_session" : "admit_turn");
	bf_json_write_int(&w, "fence", (int64_t)attempt->fence);
	bf_json_write_id(&w, "holder", attempt->holder);
	bf_json_write_time(&w, "started_at", attempt->started_at);
	bf_json_write_time(&w, "ended_at", attempt->ended_at);
	if (is_open) {
		bf_json_write_null(&w, "outcome");
	} else {
		bf_json_write_text(&w, "outcome", is_ok ? "ok" : "failed");
	}
	write_error(&w, attempt->error, attempt->message);
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

static void write_attempts(struct bf_json_writer *writer, const struct belfry_attempt *attempts,
		size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count && list != NULL; i++) {
		if (json_array_append_new(list, new_attempt(&attempts[i])) != 0) {
			writer->is_failed = true;
		}
	}
	bf_json_write_value(writer, "attempts", list);
}

/* When it was ready to start. A wait for a later attempt moves ready_at past the start. */
static belfry_time first_ready_at(const struct belfry_run *run)
{
	if (run->ready_at <= run->started_at) {
		return run->ready_at;
	}
	return run->due_at != 0 ? run->due_at : run->created_at;
}

static void write_progress(struct bf_json_writer *w, const struct belfry_run *run)
{
	bf_json_write_int(w, "revision", run->revision);
	bf_json_write_id(w, "replayed_from", run->replayed_from);
	bf_json_write_str_or_null(w, "session_id", run->session);
	bf_json_write_str_or_null(w, "turn_id", run->turn);
	write_error(w, run->error, run->message);
	bf_json_write_int(w, "attempt", run->attempt);
	bf_json_write_id(w, "holder", run->holder);
	if (run->started_at == 0) {
		bf_json_write_null(w, "lateness_ms");
	} else {
		bf_json_write_int(w, "lateness_ms",
				(run->started_at - first_ready_at(run)) / BELFRY_MILLISECOND);
	}
	bf_json_write_int(w, "stands_for", BF_MAX(run->stands_for, 1));
	bf_json_write_str_or_null(w, "tz_version", run->tz_version);
	bf_json_write_bool(w, "output_truncated",
			(run->flags & BELFRY_RUN_F_OUTPUT_TRUNCATED) != 0);
}

json_t *bf_api_new_run(const struct belfry_run *run, const struct belfry_attempt *attempts,
		size_t attempt_count)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_id(&w, "id", run->id);
	bf_json_write_str(&w, "deployment_id", run->schedule);
	bf_json_write_text(&w, "trigger", belfry_trigger_name(run->trigger));
	bf_json_write_text(&w, "status", belfry_run_status_name(run->status));
	bf_json_write_text(&w, "dispatch_state", belfry_run_state_name(run->state));
	bf_json_write_time(&w, "due_at", run->due_at);
	bf_json_write_time(&w, "ready_at", run->ready_at);
	write_progress(&w, run);
	bf_json_write_time(&w, "created_at", run->created_at);
	bf_json_write_time(&w, "started_at", run->started_at);
	bf_json_write_time(&w, "dispatched_at", run->dispatched_at);
	bf_json_write_time(&w, "finished_at", run->finished_at);
	if (attempts != NULL) {
		write_attempts(&w, attempts, attempt_count);
	}
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

/* --- why --- */

static const char *outcome_name(enum belfry_why_kind kind)
{
	switch (kind) {
	case BELFRY_WHY_RUN: return "run";
	case BELFRY_WHY_GAP: return "gap";
	case BELFRY_WHY_NOT_DUE: return "not_due";
	case BELFRY_WHY_COMING: return "coming";
	case BELFRY_WHY_PENDING: return "pending";
	case BELFRY_WHY_BEFORE: return "before";
	case BELFRY_WHY_OLDER: return "older";
	case BELFRY_WHY_DISABLED: return "disabled";
	case BELFRY_WHY_REMOVED: return "removed";
	}
	return "?";
}

static void append_time(struct bf_buf *buf, const char *before, belfry_time time)
{
	char text[BF_TIME_TEXT_BYTES];

	if (time != 0 && time != BELFRY_TIME_NEVER) {
		bf_time_format(time, 0, text);
		bf_buf_appendf(buf, "%s%s", before, text);
	}
}

static void append_not_due(struct bf_buf *buf, const struct belfry_why *why)
{
	bf_buf_appendf(buf, "not a due time of revision %lld", (long long)why->revision);
	if (why->is_excluded && why->calendar.len > 0) {
		bf_buf_appendf(buf, ": excluded by the calendar %.*s", BF_STR_ARGS(why->calendar));
	} else if (why->is_excluded) {
		bf_buf_append_text(buf, ": excluded by the rule's except");
	} else if (why->because.len > 0) {
		bf_buf_appendf(buf, ": %.*s", BF_STR_ARGS(why->because));
	}
	append_time(buf, "; the nearest before is ", why->nearest_before);
	append_time(buf, "; the nearest after is ", why->nearest_after);
}

static void append_gap(struct bf_buf *buf, const struct belfry_gap *gap)
{
	if (gap == NULL) {
		bf_buf_append_text(buf, "no Run was made");
		return;
	}
	bf_buf_append_text(buf, belfry_gap_reason_text((enum belfry_gap_reason)gap->reason));
	append_time(buf, ", from ", gap->from);
	append_time(buf, " to ", gap->to);
}

static void append_reason(struct bf_buf *buf, const struct belfry_why *why)
{
	switch (why->kind) {
	case BELFRY_WHY_RUN: bf_buf_append_text(buf, "there is a Run"); return;
	case BELFRY_WHY_GAP: append_gap(buf, why->gap); return;
	case BELFRY_WHY_NOT_DUE: append_not_due(buf, why); return;
	case BELFRY_WHY_COMING:
		bf_buf_append_text(buf,
				why->at == 0 ? "nothing was due yet, and this comes first"
					     : "it is due in the future");
		return;
	case BELFRY_WHY_PENDING: bf_buf_append_text(buf, "it is due, and not decided yet"); return;
	case BELFRY_WHY_BEFORE:
		bf_buf_append_text(buf, "before the deployment existed");
		append_time(buf, ", which was made at ", why->from);
		return;
	case BELFRY_WHY_OLDER:
		bf_buf_append_text(buf, "older than the ledger");
		append_time(buf, " (kept since ", why->from);
		bf_buf_append_text(buf, why->from != 0 ? ")" : "");
		return;
	case BELFRY_WHY_DISABLED:
		bf_buf_append_text(buf, "the deployment is disabled");
		append_time(buf, " since ", why->from);
		return;
	case BELFRY_WHY_REMOVED: bf_buf_append_text(buf, "the deployment was deleted"); return;
	}
}

static void write_reason(struct bf_json_writer *writer, const struct belfry_why *why)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	append_reason(&text, why);
	if (bf_buf_status(&text) != BELFRY_OK) {
		writer->is_failed = true;
	}
	bf_json_write_str(writer, "reason", bf_buf_str(&text));
}

static void write_gap(struct bf_json_writer *writer, const struct belfry_gap *gap)
{
	struct bf_json_writer w;

	if (gap == NULL) {
		bf_json_write_null(writer, "gap");
		return;
	}
	bf_json_writer_begin(&w);
	bf_json_write_time(&w, "from", gap->from);
	bf_json_write_time(&w, "to", gap->to);
	bf_json_write_int(&w, "count", gap->count);
	bf_json_write_bool(&w, "at_least", gap->is_at_least);
	bf_json_write_text(&w, "reason",
			belfry_gap_reason_text((enum belfry_gap_reason)gap->reason));
	bf_json_write_int(&w, "revision", gap->revision);
	bf_json_write_str_or_null(&w, "who", gap->who);
	bf_json_write_time(&w, "written_at", gap->written_at);
	write_object(writer, "gap", &w);
}

json_t *bf_api_new_why(const struct belfry_why *why)
{
	struct bf_json_writer w;
	json_t *object = NULL;
	bool has_run = why->kind == BELFRY_WHY_RUN && why->run != NULL;

	bf_json_writer_begin(&w);
	bf_json_write_str(&w, "deployment_id", why->schedule);
	bf_json_write_time(&w, "due_at", why->due != 0 ? why->due : why->at);
	bf_json_write_text(&w, "outcome", outcome_name(why->kind));
	write_reason(&w, why);
	if (has_run) {
		bf_json_write_value(&w, "run", bf_api_new_run(why->run, NULL, 0));
	} else {
		bf_json_write_null(&w, "run");
	}
	write_gap(&w, why->kind == BELFRY_WHY_GAP ? why->gap : NULL);
	bf_json_write_int(&w, "revision", why->revision);
	bf_json_write_time(&w, "since", why->from);
	bf_json_write_time(&w, "nearest_before", why->nearest_before);
	bf_json_write_time(&w, "nearest_after", why->nearest_after);
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

json_t *bf_api_new_due(const struct belfry_why *why)
{
	static const struct belfry_id none;
	struct bf_json_writer w;
	json_t *object = NULL;
	bool has_run = why->kind == BELFRY_WHY_RUN && why->run != NULL;

	bf_json_writer_begin(&w);
	bf_json_write_time(&w, "due_at", why->due);
	bf_json_write_text(&w, "outcome", outcome_name(why->kind));
	write_reason(&w, why);
	bf_json_write_id(&w, "run_id", has_run ? why->run->id : none);
	if (has_run) {
		bf_json_write_text(&w, "status", belfry_run_status_name(why->run->status));
	} else {
		bf_json_write_null(&w, "status");
	}
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}
