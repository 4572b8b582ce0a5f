/* Shared calendars: questions about them, and changes. A change is checked with every deployment that uses
 * the calendar before anything is stored; then the mark, the calendar, and its users (calendar_plan.c says
 * why a death in between loses nothing).
 *
 * Changes of calendars go one after another, whichever they are. */
#include "host/calendars.h"

#include "base/crash.h"
#include "base/error.h"
#include "host/backend.h"
#include "host/calendars_priv.h"
#include "host/deployments_priv.h"
#include "host/host_priv.h"

#define LIST_MAX     200
#define NAMED        5    /* users that a refusal names */
#define PLANNED_MAX  1000 /* users that one request plans; the others follow at once */
#define REMOVE_TRIES 3    /* so often a rule may come to name it meanwhile */

/* --- the answer --- */

static void write_users(struct bf_json_writer *writer, struct bf_calendar_users *users,
		bool is_whole)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_int(&w, "count", users->count);
	bf_json_write_bool(&w, "at_least", users->is_at_least);
	if (is_whole) {
		bf_json_write_value(&w, "deployments", json_incref(users->names));
	}
	if (bf_json_writer_end(&w, &object) != BELFRY_OK) {
		writer->is_failed = true;
		return;
	}
	bf_json_write_value(writer, "used_by", object);
}

static void write_calendar(struct bf_json_writer *w, const struct bf_calendar *calendar,
		struct bf_calendar_users *users, bool is_whole)
{
	bf_json_write_text(w, "name", calendar->name);
	bf_json_write_str_or_null(w, "description", calendar->description);
	if (is_whole) {
		bf_json_write_value(w, "except",
				json_incref((json_t *)(uintptr_t)calendar->except));
	} else {
		bf_json_write_int(w, "except_count", (int64_t)json_array_size(calendar->except));
	}
	bf_json_write_int(w, "revision", calendar->revision);
	bf_json_write_time(w, "created_at", calendar->created_at);
	bf_json_write_time(w, "updated_at", calendar->updated_at);
	write_users(w, users, is_whole);
}

/* What came of a change. */
struct outcome {
	struct bf_calendar calendar; /* owned; as it is now */
	size_t planned;
	bool is_pending; /* users are left to be planned */
	bool is_new;
};

static void outcome_fini(struct outcome *outcome)
{
	bf_calendar_fini(&outcome->calendar);
}

/* outcome NULL: nothing was changed. */
static enum belfry_status fill_view(struct bf_host *host, const struct bf_calendar *calendar,
		const struct outcome *outcome, struct bf_calendar_view *ret_view,
		struct belfry_error *err)
{
	struct bf_calendar_users users = {.max = BF_CALENDAR_LOOKED_AT};
	struct bf_json_writer w;
	struct bf_calendar_view view = {.revision = calendar->revision};
	enum belfry_status status = bf_calendar_find_users(host, bf_str(calendar->name), &users,
			err);

	/* A change that has taken place is not answered with a failure to count. */
	if (status != BELFRY_OK && (outcome == NULL || users.names == NULL)) {
		json_decref(users.names);
		return status;
	}
	users.is_at_least = users.is_at_least || status != BELFRY_OK;
	bf_json_writer_begin(&w);
	write_calendar(&w, calendar, &users, true);
	if (outcome != NULL) {
		bf_json_write_int(&w, "planned", (int64_t)outcome->planned);
		bf_json_write_bool(&w, "pending", outcome->is_pending);
		view.is_new = outcome->is_new;
	}
	json_decref(users.names);
	if (bf_json_writer_end(&w, &view.json) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	*ret_view = view;
	return BELFRY_OK;
}

/* --- questions --- */

enum belfry_status bf_calendars_show(struct bf_host *host, struct belfry_str name,
		struct bf_calendar_view *ret_view, struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_fini) struct bf_calendar calendar = {0};
	enum belfry_status status = bf_calendar_load(host, name, &calendar, err);

	return status == BELFRY_OK ? fill_view(host, &calendar, NULL, ret_view, err) : status;
}

enum belfry_status bf_calendars_get_revision(struct bf_host *host, struct belfry_str name,
		int64_t *ret_revision, struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_fini) struct bf_calendar calendar = {0};
	enum belfry_status status = bf_calendar_load(host, name, &calendar, err);

	if (status == BELFRY_OK) {
		*ret_revision = calendar.revision;
	}
	return status;
}

/* *looked_at: records that are looked at for its users; at most, then in fact. */
static enum belfry_status append_item(struct bf_host *host, const struct belfry_document *document,
		size_t *looked_at, json_t *items, struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_fini) struct bf_calendar calendar = {0};
	struct bf_calendar_users users = {.max = *looked_at};
	struct bf_json_writer w;
	json_t *item = NULL;
	enum belfry_status status = bf_calendar_decode(document, &calendar, err);

	if (status == BELFRY_OK) {
		status = bf_calendar_find_users(host, document->id, &users, err);
	}
	if (status == BELFRY_OK) {
		bf_json_writer_begin(&w);
		write_calendar(&w, &calendar, &users, false);
		status = bf_json_writer_end(&w, &item);
	}
	json_decref(users.names);
	*looked_at = users.looked_at;
	if (status == BELFRY_OK && json_array_append_new(items, item) != 0) {
		status = BELFRY_NOMEM;
	}
	return status == BELFRY_NOMEM ? bf_error_set(err, status, "out of memory") : status;
}

/* They share what one answer may look at; what one leaves is for those behind it. */
static enum belfry_status append_items(struct bf_host *host,
		const struct belfry_document_query *found, json_t *items, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;
	size_t left = BF_CALENDAR_LOOKED_AT;

	for (size_t i = 0; i < found->count && status == BELFRY_OK; i++) {
		size_t looked_at = left / (found->count - i);
		status = append_item(host, &found->documents[i], &looked_at, items, err);
		left -= looked_at;
	}
	return status;
}

/* The name of the last one is the cursor: what is shown anyway. */
static enum belfry_status write_list(json_t *items, const struct belfry_document_query *found,
		json_t **ret_list, struct belfry_error *err)
{
	struct bf_json_writer w;
	bool is_end = !found->has_more || found->count == 0;

	bf_json_writer_begin(&w);
	bf_json_write_value(&w, "items", json_incref(items));
	bf_json_write_str_or_null(&w, "next_cursor",
			is_end ? (struct belfry_str){0} : found->documents[found->count - 1].id);
	if (bf_json_writer_end(&w, ret_list) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

enum belfry_status bf_calendars_list(struct bf_host *host, const struct bf_calendar_query *query,
		json_t **ret_list, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();
	struct belfry_document_query found = {
			.size = sizeof(found),
			.kind = BF_STR(BF_CALENDAR_KIND),
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.name_prefix = query->q,
			.flags_mask = BF_CALENDAR_F_GONE,
			.limit = (uint32_t)BF_MIN(BF_MAX(query->limit, 1), LIST_MAX),
	};

	if (items == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (query->cursor.len > 0 && !bf_calendar_name_is_good(query->cursor)) {
		return bf_error_set(err, BELFRY_INVALID,
				"cursor: it is not one that an earlier list gave as next_cursor");
	}
	if (query->cursor.len > 0) {
		found.after_owner = found.owner;
		found.after_name = query->cursor;
		found.after_id = query->cursor;
	}
	enum belfry_status status = bf_backend_list_documents(host->options.store, &found, &arena,
			err);
	if (status == BELFRY_OK) {
		status = append_items(host, &found, items, err);
	}
	return status == BELFRY_OK ? write_list(items, &found, ret_list, err) : status;
}

/* --- changes --- */

/* While no rule is between its expansion and its record. */
static void keep_out(struct bf_host *host)
{
	(void)pthread_rwlock_wrlock(&host->calendars_lock); /* not held: cannot fail */
}

static void let_in(struct bf_host *host)
{
	(void)pthread_rwlock_unlock(&host->calendars_lock); /* ours: cannot fail */
}

static enum belfry_status check_match(const struct bf_calendar *present,
		const struct bf_calendar_match *match, struct belfry_error *err)
{
	bool is_there = present->revision > 0;

	if (is_there && match->is_forbidden) {
		return bf_error_set(err, BELFRY_PRECONDITION,
				"If-None-Match: there is a calendar of this name already; choose another "
				"name, or change that one");
	}
	if (!is_there && match->is_needed) {
		return bf_error_set(err, BELFRY_PRECONDITION,
				"If-Match: there is no calendar of this name; leave the field out to make "
				"one");
	}
	return is_there ? bf_revision_check(present->revision, match->revision, err) : BELFRY_OK;
}

/* Another process, where there is one, was quicker. */
static enum belfry_status explain_race(enum belfry_status status, struct belfry_error *err)
{
	if (status == BELFRY_PRECONDITION || status == BELFRY_CONFLICT ||
			status == BELFRY_NOT_FOUND) {
		return bf_error_set(err, BELFRY_CONFLICT,
				"somebody else changed it first: read it again, and decide again");
	}
	return status;
}

/* Mark, then calendar. Whether an answer that was lost stored it or not, the mark is there. */
static enum belfry_status store(struct bf_host *host, struct bf_calendar *calendar,
		int64_t *ret_mark, struct belfry_error *err)
{
	enum belfry_status status = bf_calendar_mark(host, bf_str(calendar->name), ret_mark, err);

	if (status == BELFRY_OK) {
		BF_CRASH_POINT("calendar-marked");
		keep_out(host);
		status = bf_calendar_save(host, calendar, err);
		let_in(host);
	}
	/* Without an answer it may be there, and its users are not planned. */
	if (status == BELFRY_UNKNOWN) {
		bf_host_reconcile_soon(host);
	}
	return explain_race(status, err);
}

/* The calendar is stored: what fails from here on is made up for by the reconcile. */
static void plan(struct bf_host *host, int64_t mark, struct outcome *outcome)
{
	const struct bf_calendar *calendar = &outcome->calendar;
	struct belfry_error failure = {0};
	struct bf_calendar_plan plan = {
			.name = bf_str(calendar->name),
			.max = PLANNED_MAX,
			.max_looked_at = BF_CALENDAR_LOOKED_AT,
			.is_handed_over = true,
	};
	enum belfry_status status = bf_calendar_plan_users(host, &plan, calendar->revision,
			&failure);
	bool is_left = plan.has_more || plan.failed_count > 0;

	if (status == BELFRY_OK && !is_left) {
		BF_CRASH_POINT("calendar-planned");
		status = bf_calendar_unmark(host, bf_str(calendar->name), mark, &failure);
	}
	if (status != BELFRY_OK) {
		bf_log(host->options.env, BF_LOG_WARNING,
				"event=calendar_unfinished calendar=%s detail=\"%s\" "
				"next=\"the next reconcile finishes it\"",
				calendar->name,
				failure.detail[0] != '\0' ? failure.detail : failure.message);
	}
	outcome->planned = plan.count;
	outcome->is_pending = status != BELFRY_OK || is_left;
	if (outcome->is_pending) {
		bf_host_reconcile_soon(host);
	}
}

/* Equal content. Users may still be left of the change that made it so. */
static enum belfry_status leave(struct bf_host *host, struct outcome *outcome,
		struct belfry_error *err)
{
	int64_t mark = 0;
	enum belfry_status status = bf_calendar_get_mark(host, bf_str(outcome->calendar.name),
			&mark, err);

	outcome->is_pending = mark > 0;
	return status;
}

static enum belfry_status change(struct bf_host *host, struct outcome *outcome,
		struct belfry_error *err)
{
	int64_t mark = 0;
	enum belfry_status status = bf_calendar_check_users(host, &outcome->calendar, err);

	if (status == BELFRY_OK) {
		status = store(host, &outcome->calendar, &mark, err);
	}
	if (status == BELFRY_OK) {
		BF_CRASH_POINT("calendar-saved");
		plan(host, mark, outcome);
	}
	return status;
}

static enum belfry_status put_content(struct bf_host *host, struct belfry_str name,
		const struct bf_calendar_match *match, const json_t *body, struct outcome *outcome,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_fini) struct bf_calendar old = {0};
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;

	bf_calendars_begin_change(host, &lock);
	enum belfry_status status = bf_calendar_read(host, name, body, &outcome->calendar, err);
	if (status == BELFRY_OK) {
		status = bf_calendar_load(host, name, &old, err);
		status = status == BELFRY_NOT_FOUND ? BELFRY_OK : status;
	}
	if (status == BELFRY_OK) {
		status = check_match(&old, match, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	outcome->is_new = old.revision == 0;
	outcome->calendar.revision = old.revision;
	if (!bf_calendar_is_equal(&old, &outcome->calendar)) {
		return change(host, outcome, err);
	}
	outcome->calendar.created_at = old.created_at;
	outcome->calendar.updated_at = old.updated_at;
	return leave(host, outcome, err);
}

/* The users are counted once the next change may begin. */
enum belfry_status bf_calendars_put(struct bf_host *host, struct belfry_str name,
		const struct bf_calendar_match *match, const json_t *body,
		struct bf_calendar_view *ret_view, struct belfry_error *err)
{
	BF_CLEANUP(outcome_fini) struct outcome outcome = {0};
	enum belfry_status status = put_content(host, name, match, body, &outcome, err);

	return status == BELFRY_OK ? fill_view(host, &outcome.calendar, &outcome, ret_view, err)
				   : status;
}

/* --- removals --- */

static enum belfry_status refuse_used(const struct bf_calendar_users *users,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf names = {0};

	for (size_t i = 0; i < BF_MIN(json_array_size(users->names), (size_t)NAMED); i++) {
		struct belfry_str name = bf_json_str(json_array_get(users->names, i));
		bf_buf_appendf(&names, "%s\"%.*s\"", i > 0 ? ", " : "",
				BF_STR_ARGS(bf_str_slice(name, 0, 40)));
	}
	if (users->count > NAMED) {
		bf_buf_appendf(&names, " and %s%lld more", users->is_at_least ? "at least " : "",
				(long long)users->count - NAMED);
	}
	return bf_error_set(err, BELFRY_CONFLICT,
			"the calendar is in use: take it out of the rule of %.*s first",
			BF_STR_ARGS(bf_buf_str(&names)));
}

static enum belfry_status check_unused(struct bf_host *host, struct belfry_str name,
		struct belfry_error *err)
{
	struct bf_calendar_users users = {.max = BF_CALENDAR_LOOKED_AT, .is_sure = true};
	enum belfry_status status = bf_calendar_find_users(host, name, &users, err);

	if (status == BELFRY_OK && users.count > 0) {
		status = refuse_used(&users, err);
	}
	json_decref(users.names);
	return status;
}

/* Its users are looked for while rules go on being stored, however many records that takes; it goes only if
 * none named it meanwhile. */
static enum belfry_status remove_unused(struct bf_host *host, struct belfry_str name,
		int64_t revision, struct belfry_error *err)
{
	for (int i = 0; i < REMOVE_TRIES; i++) {
		keep_out(host);
		bf_calendar_watch(host, name);
		let_in(host);
		enum belfry_status status = check_unused(host, name, err);
		if (status != BELFRY_OK) {
			return status;
		}
		keep_out(host);
		bool is_named = bf_calendar_was_named(host, name);
		if (!is_named) {
			status = bf_calendar_remove(host, name, revision, err);
		}
		let_in(host);
		if (!is_named) {
			return explain_race(status, err);
		}
	}
	return bf_error_set(err, BELFRY_CONFLICT,
			"rules that may name the calendar are stored at this moment: try again");
}

enum belfry_status bf_calendars_remove(struct bf_host *host, struct belfry_str name,
		int64_t revision, struct belfry_error *err)
{
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
	int64_t present = 0;

	bf_calendars_begin_change(host, &lock);
	enum belfry_status status = bf_calendars_get_revision(host, name, &present, err);
	if (status == BELFRY_OK) {
		status = bf_revision_check(present, revision, err);
	}
	return status == BELFRY_OK ? remove_unused(host, name, present, err) : status;
}
