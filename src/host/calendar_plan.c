/* What the change of a calendar does to the deployments that use it: each gets a new record, and is put to
 * the provider like an edit.
 *
 * Invariant  while a user's record has another revision of a calendar than the calendar itself, there is a
 *            mark (BF_CALENDAR_MARK_KIND) in the store. The mark is put before the calendar, and goes once
 *            every user has its record; it goes by its etag, so that one that a later change has renewed
 *            stays. Whoever dies in between leaves it, and the next reconcile goes through the users again:
 *            those that are planned already have the present revision, and are left alone.
 *            What a record says and the provider does not know is the reconcile's, as for any record.
 *
 * Locks      whoever finishes a change goes on in parts, each under the lock of changes, and reads mark and
 *            calendar anew in each: a change in between makes it begin again, and a mark goes only where
 *            the calendar that it stands for is the one that the users were given.
 *
 * What fails for one user, or for one calendar, is logged, and the others go on; the mark stays. */
#include "base/crash.h"
#include "base/error.h"
#include "host/backend.h"
#include "host/calendars_priv.h"
#include "host/deployments_priv.h"
#include "host/events.h"
#include "host/host_priv.h"

#define MARKS_MAX  500 /* of one look; the next takes the others */
#define PART       200 /* records that are looked at while no calendar can change */
#define SAVE_TRIES 10  /* so often somebody else may be quicker */
#define MARK_TRIES 10
#define NO_CONTENT "{}"

/* --- one user --- */

/* The calendars as they are now, of a record whose rule does not do with them. */
static enum belfry_status note_present(struct bf_host *host, struct bf_deployment *d,
		struct belfry_error *err)
{
	size_t count = json_array_size(d->expansion.calendars);
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < count && status == BELFRY_OK; i++) {
		json_t *used = json_array_get(d->expansion.calendars, i);
		BF_CLEANUP(bf_calendar_fini) struct bf_calendar calendar = {0};
		status = bf_calendar_load(host, bf_json_str(json_object_get(used, "name")),
				&calendar, err);
		if (status == BELFRY_OK &&
				json_object_set_new(used, "revision",
						json_integer(calendar.revision)) != 0) {
			status = bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
		status = status == BELFRY_NOT_FOUND ? BELFRY_OK : status;
	}
	return status;
}

/* It came to use the calendar after the change was checked, and has no due time left: nothing may fire
 * that the calendar takes away, so it is disabled, and whoever enables it is told why not. `reason` is what
 * the deployment borrows. */
static enum belfry_status give_up(struct bf_host *host, struct bf_deployment *d,
		const struct belfry_error *why, struct bf_buf *reason, struct belfry_error *err)
{
	bf_buf_appendf(reason, "a shared calendar was changed: %s", why->message);
	if (bf_buf_status(reason) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (d->is_enabled) {
		d->is_enabled = false;
		d->reason = bf_str_slice(bf_buf_str(reason), 0, BF_DEPLOYMENT_REASON_BYTES);
		bf_log(host->options.env, BF_LOG_WARNING,
				"event=deployment_disabled deployment=%s detail=\"%s\" "
				"next=\"change its rule, and enable it\"",
				d->id, reason->ptr);
	}
	return note_present(host, d, err);
}

/* A rule that could not be read before either does not fire, and was broken by something else, which may
 * pass: its zone is not known here now. It gets the new content, and stays as enabled as it is. */
static enum belfry_status renew(struct bf_host *host, struct bf_deployment *d,
		struct bf_buf *reason, struct belfry_error *err)
{
	struct belfry_error why = {0};
	bool was_broken = bf_deployment_parse_rule(d, host->options.zones, NULL, NULL) ==
			BELFRY_INVALID_SCHEDULE;
	struct bf_expansion old = d->expansion;

	d->expansion = (struct bf_expansion){0};
	enum belfry_status status = bf_calendars_expand(host, NULL, d, &why);
	if (status == BELFRY_OK) {
		status = bf_deployment_parse_rule(d, host->options.zones, NULL, &why);
		status = status == BELFRY_INVALID_SCHEDULE && was_broken ? BELFRY_OK : status;
	}
	if (status == BELFRY_OK) {
		bf_expansion_fini(&old);
		return BELFRY_OK;
	}
	bf_expansion_fini(&d->expansion);
	d->expansion = old;
	if (status == BELFRY_INVALID_SCHEDULE) {
		return give_up(host, d, &why, reason, err);
	}
	if (err != NULL) {
		*err = why;
	}
	return status;
}

/* Saves it anew. BELFRY_PRECONDITION: somebody was quicker. */
static enum belfry_status renew_and_save(struct bf_host *host, struct bf_deployment *d,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf reason = {0};
	BF_CLEANUP(bf_calendars_release) struct bf_host *held = NULL;

	bf_calendars_hold(host, &held);
	enum belfry_status status = renew(host, d, &reason, err);
	if (status == BELFRY_OK) {
		status = bf_record_save(host, d, err);
	}
	if (status == BELFRY_UNKNOWN) {
		bf_host_reconcile_soon(host);
	}
	d->reason = (struct belfry_str){0};
	return status;
}

/* What the provider does not take now, the reconcile hands over, and says what is wrong with it. */
static void hand_over(struct bf_host *host, const struct bf_deployment *d)
{
	struct belfry_error failure = {0};

	BF_CRASH_POINT("calendar-user-saved");
	if (bf_deployment_apply(host, d, &failure) != BELFRY_OK) {
		bf_log(host->options.env, BF_LOG_WARNING,
				"event=calendar_unfinished deployment=%s detail=\"%s\" "
				"next=\"the next reconcile hands it over\"",
				d->id,
				failure.detail[0] != '\0' ? failure.detail : failure.message);
		bf_host_reconcile_soon(host);
	}
	BF_CRASH_POINT("calendar-user-planned");
}

/* *ret_is_new: it has a new record. */
static enum belfry_status plan_user(struct bf_host *host, const struct bf_calendar_plan *plan,
		struct belfry_str id, int64_t revision, bool *ret_is_new, struct belfry_error *err)
{
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
	enum belfry_status status = BELFRY_PRECONDITION;

	*ret_is_new = false;
	bf_host_lock(host, id, &lock);
	for (int i = 0; i < SAVE_TRIES && status == BELFRY_PRECONDITION; i++) {
		BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
		status = bf_record_load(host, id, &d, err);
		int64_t used = status == BELFRY_OK ? bf_calendar_used_revision(&d, plan->name) : 0;
		/* One that is gone, or cannot be read, has no rule to plan. */
		if (status == BELFRY_NOT_FOUND || status == BELFRY_CORRUPT) {
			return BELFRY_OK;
		}
		if (status != BELFRY_OK || used == 0 || used == revision) {
			return status;
		}
		status = renew_and_save(host, &d, err);
		if (status == BELFRY_OK) {
			*ret_is_new = true;
			if (plan->is_handed_over) {
				hand_over(host, &d);
			}
			bf_events_changed(host->options.events, id);
		}
	}
	return status;
}

/* It concerns more than the one record or calendar: each of the others would wait for its time limit. */
static bool is_general(enum belfry_status status)
{
	return belfry_status_class(status) == BELFRY_CLASS_RETRY || status == BELFRY_NOMEM;
}

/* The first user that fails is told; the others go on. */
static void note_failure(const struct bf_host *host, struct bf_calendar_plan *plan,
		struct belfry_str id, const struct belfry_error *why)
{
	if (plan->failed_count++ == 0) {
		bf_log(host->options.env, BF_LOG_WARNING,
				"event=calendar_unfinished calendar=%.*s deployment=%.*s status=%s "
				"detail=\"%s\" next=\"the next reconcile tries again\"",
				BF_STR_ARGS(plan->name), BF_STR_ARGS(id),
				belfry_status_name(why->status),
				why->detail[0] != '\0' ? why->detail : why->message);
	}
}

/* From where the walk is to its end, or to where it is cut. */
static enum belfry_status plan_walk(struct bf_host *host, struct bf_calendar_plan *plan,
		struct bf_calendar_walk *walk, int64_t revision, struct belfry_error *err)
{
	struct belfry_str id;
	enum belfry_status status = bf_calendar_walk_next(walk, &id, err);

	while (status == BELFRY_OK) {
		struct belfry_error why = {0};
		bool is_new = false;
		status = plan_user(host, plan, id, revision, &is_new, &why);
		if (is_general(status)) {
			if (err != NULL) {
				*err = why;
			}
			return status;
		}
		if (status != BELFRY_OK) {
			why.status = status;
			note_failure(host, plan, id, &why);
		}
		plan->count += is_new ? 1 : 0;
		if (plan->max > 0 && plan->count == plan->max) {
			walk->max = walk->looked_at;
		}
		status = bf_calendar_walk_next(walk, &id, err);
	}
	plan->has_more = status == BELFRY_NEVER && walk->is_cut;
	return status == BELFRY_NEVER ? BELFRY_OK : status;
}

enum belfry_status bf_calendar_plan_users(struct bf_host *host, struct bf_calendar_plan *plan,
		int64_t revision, struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_walk_fini) struct bf_calendar_walk walk;

	bf_calendar_walk_init(&walk, host, plan->name);
	walk.max = plan->max_looked_at;
	plan->count = 0;
	plan->failed_count = 0;
	plan->has_more = false;
	return plan_walk(host, plan, &walk, revision, err);
}

/* --- marks --- */

enum belfry_status bf_calendar_get_mark(struct bf_host *host, struct belfry_str name,
		int64_t *ret_etag, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document = {0};
	enum belfry_status status = bf_backend_get_document(host->options.store,
			BF_STR(BF_CALENDAR_MARK_KIND), name, &arena, &document, err);

	if (status == BELFRY_OK || status == BELFRY_NOT_FOUND) {
		*ret_etag = status == BELFRY_OK ? document.etag : 0;
		return BELFRY_OK;
	}
	return status;
}

enum belfry_status bf_calendar_mark(struct bf_host *host, struct belfry_str name, int64_t *ret_etag,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_PRECONDITION;

	for (int i = 0; i < MARK_TRIES &&
			(status == BELFRY_PRECONDITION || status == BELFRY_CONFLICT);
			i++) {
		int64_t etag = 0;
		status = bf_calendar_get_mark(host, name, &etag, err);
		if (status != BELFRY_OK) {
			return status;
		}
		struct belfry_document document = {
				.kind = BF_STR(BF_CALENDAR_MARK_KIND),
				.id = name,
				.bytes = BF_STR(NO_CONTENT),
		};
		status = bf_backend_put_document(host->options.store, &document, etag, err);
		*ret_etag = document.etag;
	}
	return status;
}

enum belfry_status bf_calendar_unmark(struct bf_host *host, struct belfry_str name, int64_t etag,
		struct belfry_error *err)
{
	enum belfry_status status = bf_backend_remove_document(host->options.store,
			BF_STR(BF_CALENDAR_MARK_KIND), name, etag, err);

	return status == BELFRY_PRECONDITION || status == BELFRY_NOT_FOUND ? BELFRY_OK : status;
}

/* --- what was left in between --- */

struct finish {
	struct bf_host *host;
	struct bf_calendar_plan plan;
	struct bf_calendar_walk walk;
	int64_t revision; /* of the calendar whose users the walk goes through; 0: not begun */
};

static void finish_fini(struct finish *finish)
{
	bf_calendar_walk_fini(&finish->walk);
}

/* Anew from the first user on: the calendar is another one than in the last part. */
static void begin_walk(struct finish *finish, int64_t revision)
{
	bf_calendar_walk_fini(&finish->walk);
	bf_calendar_walk_init(&finish->walk, finish->host, finish->plan.name);
	finish->plan.failed_count = 0;
	finish->revision = revision;
}

/* Under the lock of changes. A calendar that is not there was marked, and never stored; or it went, and has
 * no users. */
static enum belfry_status plan_part(struct finish *finish, struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_fini) struct bf_calendar calendar = {0};
	enum belfry_status status = bf_calendar_load(finish->host, finish->plan.name, &calendar,
			err);

	if (status != BELFRY_OK) {
		return status == BELFRY_NOT_FOUND ? BELFRY_OK : status;
	}
	if (finish->revision != calendar.revision) {
		begin_walk(finish, calendar.revision);
	}
	finish->walk.max = finish->walk.looked_at + PART;
	return plan_walk(finish->host, &finish->plan, &finish->walk, calendar.revision, err);
}

/* plan.has_more: so far. */
static enum belfry_status finish_part(struct finish *finish, struct belfry_error *err)
{
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
	struct bf_host *host = finish->host;
	int64_t mark = 0;

	finish->plan.has_more = false;
	bf_calendars_begin_change(host, &lock);
	enum belfry_status status = bf_calendar_get_mark(host, finish->plan.name, &mark, err);
	if (status != BELFRY_OK || mark == 0) {
		return status; /* or whoever changed it came to the end */
	}
	status = plan_part(finish, err);
	if (status == BELFRY_OK && !finish->plan.has_more && finish->plan.failed_count == 0) {
		bf_log(host->options.env, BF_LOG_INFO,
				"event=calendar_finished calendar=%.*s planned=%zu",
				BF_STR_ARGS(finish->plan.name), finish->plan.count);
		status = bf_calendar_unmark(host, finish->plan.name, mark, err);
	}
	return status;
}

/* *max: records that may be looked at yet; 0: any number. */
static enum belfry_status finish_one(struct bf_host *host, struct belfry_str name, size_t *max,
		struct belfry_error *err)
{
	BF_CLEANUP(finish_fini) struct finish finish = {.host = host, .plan = {.name = name}};
	enum belfry_status status = BELFRY_OK;
	bool is_bounded = *max > 0;

	bf_calendar_walk_init(&finish.walk, host, name);
	do {
		size_t before = finish.walk.looked_at;
		status = finish_part(&finish, err);
		size_t looked_at = finish.walk.looked_at;
		looked_at -= looked_at < before ? 0 : before; /* it may have begun anew */
		*max -= BF_MIN(*max, looked_at);
	} while (status == BELFRY_OK && finish.plan.has_more && (!is_bounded || *max > 0));
	if (finish.plan.has_more || finish.plan.failed_count > 0) {
		bf_host_reconcile_soon(host);
	}
	return status;
}

static void log_unfinished(struct bf_host *host, struct belfry_str name,
		const struct belfry_error *why)
{
	bf_log(host->options.env, BF_LOG_WARNING,
			"event=calendar_unfinished calendar=%.*s status=%s detail=\"%s\" "
			"next=\"the next reconcile tries again\"",
			BF_STR_ARGS(name), belfry_status_name(why->status),
			why->detail[0] != '\0' ? why->detail : why->message);
	bf_host_reconcile_soon(host);
}

enum belfry_status bf_calendars_finish(struct bf_host *host, size_t max, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document_query marks = {
			.size = sizeof(marks),
			.kind = BF_STR(BF_CALENDAR_MARK_KIND),
			.limit = MARKS_MAX,
			.is_brief = true,
	};
	enum belfry_status status = bf_backend_list_documents(host->options.store, &marks, &arena,
			err);
	bool is_bounded = max > 0;

	if (status != BELFRY_OK) {
		return status;
	}
	for (size_t i = 0; i < marks.count && !is_general(status); i++) {
		struct belfry_error why = {0};
		if (is_bounded && max == 0) {
			bf_host_reconcile_soon(host);
			break;
		}
		status = finish_one(host, marks.documents[i].id, &max, &why);
		if (status != BELFRY_OK) {
			why.status = status;
			log_unfinished(host, marks.documents[i].id, &why);
		}
	}
	return BELFRY_OK;
}
