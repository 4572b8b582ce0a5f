/* Changes of deployments, each in the same order: check, record, apply, and on a refusal the old
 * content back under a new revision. Invariant: whatever fails, the record with the highest
 * revision is what the provider gets, here or at the next reconcile; nothing is half-stored.
 *
 * Not here  removals (removal.c), lists and the shape that is answered (deployments_view.c), JSON
 *           (deployment_read.c). */
#include "host/deployments.h"

#include "base/crash.h"
#include "base/error.h"
#include "host/backend.h"
#include "host/calendars_priv.h"
#include "host/deployments_priv.h"
#include "host/events.h"
#include "host/host_priv.h"
#include "host/merge_patch.h"
#include "host/targets/url.h"
#include "model/run.h"

static enum belfry_status check_command(struct bf_host *host, const struct bf_target_exec *exec,
		struct belfry_error *err)
{
	enum belfry_status status = bf_exec_check(&host->allowed,
			bf_json_str(json_array_get(exec->command, 0)), err);

	if (status != BELFRY_OK && err != NULL) {
		struct belfry_str pointer = BF_STR("/target/command/0");
		memcpy(err->pointer, pointer.ptr, pointer.len + 1);
	}
	return status;
}

/* What needs the outside: the shared calendars, the zone's data, and the lists of allowed addresses and
 * commands. */
static enum belfry_status check_outside(struct bf_host *host,
		const struct bf_calendar_overlay *overlay, struct bf_deployment *d,
		struct belfry_error *err)
{
	enum belfry_status status = bf_calendars_expand(host, overlay, d, err);

	if (status == BELFRY_OK) {
		status = bf_deployment_parse_rule(d, host->options.zones, NULL, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (d->target.kind == BF_TARGET_EXEC) {
		return check_command(host, &d->target.exec, err);
	}
	status = bf_target_url_check(d->target.webhook.url, host->options.allow, err);
	if (status != BELFRY_OK && err != NULL && err->pointer[0] == '\0') {
		struct belfry_str pointer = BF_STR("/target/url");
		memcpy(err->pointer, pointer.ptr, pointer.len + 1);
	}
	return status;
}

enum belfry_status bf_deployment_apply(struct bf_host *host, const struct bf_deployment *d,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf payload = {0};
	struct belfry_schedule schedule;

	enum belfry_status status = bf_deployment_fill_schedule(d, &payload, &schedule, err);
	if (status != BELFRY_OK) {
		return status;
	}
	return belfry_scheduler_apply(host->options.scheduler, &schedule, err);
}

/* A payload that does not fit is refused before anything is stored. */
static enum belfry_status check_payload(const struct bf_deployment *d, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf payload = {0};

	return bf_payload_encode(d, &payload, err);
}

enum belfry_status bf_deployment_check(struct bf_host *host,
		const struct bf_calendar_overlay *overlay, struct bf_deployment *d,
		struct belfry_error *err)
{
	enum belfry_status status = check_outside(host, overlay, d, err);

	return status == BELFRY_OK ? check_payload(d, err) : status;
}

/* The record says what is to be: the next reconcile carries it out, and comes at once. */
static void leave_over(struct bf_host *host, const char *id, const char *what,
		const struct belfry_error *failure)
{
	bf_log(host->options.env, BF_LOG_ERROR,
			"event=compensation_failed deployment=%s step=%s detail=\"%s\" "
			"next=\"the next reconcile goes by the record\"",
			id, what, failure->detail[0] != '\0' ? failure->detail : failure->message);
	bf_host_reconcile_soon(host);
}

/* A record of which nobody knows whether it was stored may be without its schedule. */
static enum belfry_status save(struct bf_host *host, struct bf_deployment *d,
		struct belfry_error *err)
{
	enum belfry_status status = bf_record_save(host, d, err);

	if (status == BELFRY_UNKNOWN) {
		bf_host_reconcile_soon(host);
	}
	return status;
}

/* --- create --- */

/* T090: the record goes, and the provider's code is what the caller gets. The provider is told of the
 * removal too, also where it has refused the schedule: an apply whose answer was lost may have taken place,
 * and a reconcile that has read the record meanwhile may still put it, which the tombstone forbids. But only
 * once there is no record: one that stays must not find its schedule removed under a higher revision. */
static void undo_create(struct bf_host *host, const struct bf_deployment *d)
{
	struct belfry_error failure = {0};

	BF_CRASH_POINT("undo-begun");
	enum belfry_status status = bf_record_remove(host, bf_str(d->id), 0, &failure);
	if (status != BELFRY_OK && status != BELFRY_NOT_FOUND) {
		leave_over(host, d->id, "remove_record", &failure);
		return;
	}
	BF_CRASH_POINT("undo-record-removed");
	if (belfry_scheduler_remove(host->options.scheduler, bf_str(d->id), d->revision + 1,
			    &failure) != BELFRY_OK) {
		leave_over(host, d->id, "remove_schedule", &failure);
	}
}

static enum belfry_status store_new(struct bf_host *host, struct bf_deployment *d,
		struct belfry_error *err)
{
	enum belfry_status status = save(host, d, err);

	if (status != BELFRY_OK) {
		return status;
	}
	BF_CRASH_POINT("record-saved");
	status = bf_deployment_apply(host, d, err);
	if (status != BELFRY_OK) {
		undo_create(host, d);
	}
	bf_events_changed(host->options.events, bf_str(d->id));
	return status;
}

enum belfry_status bf_deployments_create(struct bf_host *host, json_t *body,
		struct bf_deployment_view *ret_view, struct belfry_error *err)
{
	struct bf_deployment_options options = {.grace = bf_host_grace(host)};
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
	BF_CLEANUP(bf_calendars_release) struct bf_host *held = NULL;

	enum belfry_status status = bf_deployment_read(body, &options, &d, err);
	if (status != BELFRY_OK) {
		return status;
	}
	belfry_id_format(bf_id_random(host->options.env), d.id);
	d.created_at = host->options.env->wall(host->options.env->data);
	bf_host_lock(host, bf_str(d.id), &lock);
	bf_calendars_hold(host, &held);
	status = bf_deployment_check(host, NULL, &d, err);
	if (status == BELFRY_OK) {
		status = store_new(host, &d, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_deployment_view_changed(host, &d, ret_view, err);
}

/* --- change --- */

enum belfry_status bf_revision_check(int64_t present, int64_t named, struct belfry_error *err)
{
	if (named != 0 && named != present) {
		return bf_error_set(err, BELFRY_PRECONDITION,
				"If-Match names revision %lld, and the present one is %lld: read it "
				"again, and decide again",
				(long long)named, (long long)present);
	}
	return BELFRY_OK;
}

/* T071: the old content under a new revision, for the record and for the provider. */
static void restore(struct bf_host *host, struct bf_deployment *old, int64_t revision)
{
	struct belfry_error failure = {0};

	BF_CRASH_POINT("restore-begun");
	old->revision = revision;
	if (save(host, old, &failure) != BELFRY_OK) {
		leave_over(host, old->id, "restore_record", &failure);
		return;
	}
	BF_CRASH_POINT("restore-saved");
	if (bf_deployment_apply(host, old, &failure) != BELFRY_OK) {
		leave_over(host, old->id, "restore_schedule", &failure);
	}
}

/* `changed` was read from the record `old` and carries its revision. */
static enum belfry_status store_change(struct bf_host *host, struct bf_deployment *old,
		struct bf_deployment *changed, int64_t named_revision, struct belfry_error *err)
{
	enum belfry_status status = save(host, changed, err);

	if (status == BELFRY_PRECONDITION && named_revision == 0) {
		return bf_error_set(err, BELFRY_CONFLICT,
				"somebody else changed it first: read it again, and decide again");
	}
	if (status != BELFRY_OK) {
		return status;
	}
	BF_CRASH_POINT("change-saved");
	status = bf_deployment_apply(host, changed, err);
	if (status != BELFRY_OK) {
		restore(host, old, changed->revision);
	}
	bf_events_changed(host->options.events, bf_str(changed->id)); /* a restored one too */
	return status;
}

static void carry_identity(const struct bf_deployment *old, struct bf_deployment *changed)
{
	memcpy(changed->id, old->id, sizeof(changed->id));
	changed->revision = old->revision;
	changed->created_at = old->created_at;
	changed->updated_at = old->updated_at;
}

typedef enum belfry_status (*read_change_fn)(struct bf_host *host, const struct bf_deployment *old,
		const json_t *body, struct bf_deployment *ret_changed, struct belfry_error *err);

/* The content with the patch laid over it, read as if somebody had sent it whole. */
static enum belfry_status patch_content(struct bf_host *host, const struct bf_deployment *old,
		const json_t *patch, struct bf_deployment *ret_changed, struct belfry_error *err)
{
	struct bf_deployment_options options = {.grace = bf_host_grace(host)};
	BF_CLEANUP(bf_cleanup_json) json_t *content = json_deep_copy(old->content);

	if (content == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	/* Members of the record alone: whoever names one in a patch names what is not known. */
	(void)json_object_del(content, "disabled_reason"); /* may be absent, here and below */
	(void)json_object_del(content, "calendars");
	(void)json_object_del(content, "rule_expanded");
	enum belfry_status status = bf_merge_patch(content, patch, err);
	if (status == BELFRY_OK) {
		status = bf_deployment_read(content, &options, ret_changed, err);
	}
	return status;
}

enum belfry_status bf_deployment_read_whole(struct bf_host *host, const struct bf_deployment *old,
		const json_t *body, struct bf_deployment *ret_changed, struct belfry_error *err)
{
	struct bf_deployment_options options = {.grace = bf_host_grace(host)};
	BF_CLEANUP(bf_cleanup_json) json_t *content = json_copy((json_t *)(uintptr_t)body);

	if (content == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	const json_t *enabled = json_object_get(content, "enabled");
	if (old != NULL && json_is_object(content) && (enabled == NULL || json_is_null(enabled)) &&
			json_object_set_new(content, "enabled", json_boolean(old->is_enabled)) !=
					0) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_deployment_read(content, &options, ret_changed, err);
}

/* `read` makes the new content of the old one and the body. */
static enum belfry_status change_content(struct bf_host *host, struct belfry_str id,
		int64_t revision, const json_t *body, read_change_fn read,
		struct bf_deployment_view *ret_view, struct belfry_error *err)
{
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
	BF_CLEANUP(bf_calendars_release) struct bf_host *held = NULL;
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment old = {0};
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment changed = {0};

	bf_host_lock(host, id, &lock);
	bf_calendars_hold(host, &held);
	enum belfry_status status = bf_record_load(host, id, &old, err);
	if (status == BELFRY_OK) {
		status = bf_revision_check(old.revision, revision, err);
	}
	if (status == BELFRY_OK) {
		status = read(host, &old, body, &changed, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	carry_identity(&old, &changed);
	changed.reason = changed.is_enabled ? (struct belfry_str){0} : old.reason;
	status = bf_deployment_check(host, NULL, &changed, err);
	if (status == BELFRY_OK) {
		status = store_change(host, &old, &changed, revision, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_deployment_view_changed(host, &changed, ret_view, err);
}

enum belfry_status bf_deployments_edit(struct bf_host *host, struct belfry_str id, int64_t revision,
		const json_t *patch, struct bf_deployment_view *ret_view, struct belfry_error *err)
{
	return change_content(host, id, revision, patch, patch_content, ret_view, err);
}

enum belfry_status bf_deployments_replace(struct bf_host *host, struct belfry_str id,
		int64_t revision, const json_t *body, struct bf_deployment_view *ret_view,
		struct belfry_error *err)
{
	return change_content(host, id, revision, body, bf_deployment_read_whole, ret_view, err);
}

/* One that may have been disabled because a shared calendar left it nothing is not enabled to fire by what
 * that calendar was. */
static enum belfry_status renew_rule(struct bf_host *host, struct bf_deployment *d,
		struct belfry_error *err)
{
	if (d->expansion.calendars == NULL) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_calendars_expand(host, NULL, d, err);
	return status == BELFRY_OK ? bf_deployment_parse_rule(d, host->options.zones, NULL, err)
				   : status;
}

/* Nothing but the switch: neither the rule nor the address is judged anew, so that a deployment
 * can be disabled whatever has become of them; but for shared calendars where it is enabled. The change is
 * made even where the record says so already: the apply of the last one may have been lost. */
enum belfry_status bf_deployments_enable(struct bf_host *host, struct belfry_str id,
		int64_t revision, bool is_enabled, struct belfry_str reason,
		struct bf_deployment_view *ret_view, struct belfry_error *err)
{
	struct bf_deployment_options options = {.grace = bf_host_grace(host), .is_stored = true};
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
	BF_CLEANUP(bf_calendars_release) struct bf_host *held = NULL;
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment old = {0};
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment changed = {0};

	bf_host_lock(host, id, &lock);
	bf_calendars_hold(host, &held);
	enum belfry_status status = bf_record_load(host, id, &old, err);
	if (status == BELFRY_OK) {
		status = bf_revision_check(old.revision, revision, err);
	}
	if (status == BELFRY_OK) {
		status = bf_deployment_read(old.content, &options, &changed, err);
	}
	if (status == BELFRY_OK) {
		changed.created_at = old.created_at;
		status = is_enabled ? renew_rule(host, &changed, err) : BELFRY_OK;
	}
	if (status != BELFRY_OK) {
		return status;
	}
	carry_identity(&old, &changed);
	changed.is_enabled = is_enabled;
	changed.reason = is_enabled ? (struct belfry_str){0} : reason;
	status = store_change(host, &old, &changed, revision, err);
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_deployment_view_changed(host, &changed, ret_view, err);
}
