/* Removing a deployment, in three steps of which each is durable before the next: the record is
 * marked as one that goes, the provider removes the schedule, the record is removed.
 *
 * Invariant  a record that is not marked has its schedule in the provider, or gets it at the next
 *            reconcile. So the mark comes first: whoever dies, or fails, behind it leaves a
 *            deployment that is gone for everybody, and that the next reconcile or a repeated
 *            removal clears away. The mark is a put, and raises the revision: a change that was
 *            under way elsewhere is refused by the record, or comes late by its revision at the
 *            provider (T092).
 *
 * Not here  what a marked record looks like (record.c). */
#include "base/crash.h"
#include "base/error.h"
#include "host/backend.h"
#include "host/deployments_priv.h"
#include "host/events.h"
#include "host/host_priv.h"

/* So often another process may be quicker. */
#define MARK_TRIES 10

enum belfry_status bf_removal_finish(struct bf_host *host, struct belfry_str id, int64_t revision,
		struct belfry_error *err)
{
	enum belfry_status status = belfry_scheduler_remove(host->options.scheduler, id, revision,
			err);

	if (status != BELFRY_OK) {
		bf_host_reconcile_soon(host);
		return status;
	}
	BF_CRASH_POINT("remove-after-schedule");
	struct belfry_error failure = {0};
	status = bf_record_remove(host, id, 0, &failure);
	if (status != BELFRY_OK && status != BELFRY_NOT_FOUND) {
		/* Nobody sees it any more, and nothing of it fires: done, as far as was asked. */
		bf_log(host->options.env, BF_LOG_WARNING,
				"event=removal_unfinished deployment=%.*s step=remove_record "
				"detail=\"%s\" next=\"the next reconcile removes it\"",
				BF_STR_ARGS(id),
				failure.detail[0] != '\0' ? failure.detail : failure.message);
		bf_host_reconcile_soon(host);
	}
	return BELFRY_OK;
}

/* The revision that the mark has, whoever made it. */
static enum belfry_status mark(struct bf_host *host, struct belfry_str id, int64_t named_revision,
		int64_t *ret_revision, struct belfry_error *err)
{
	for (int i = 0; i < MARK_TRIES; i++) {
		bool is_marked = false;
		enum belfry_status status = bf_record_get_stage(host, id, ret_revision, &is_marked,
				err);
		if (status != BELFRY_OK || is_marked) {
			return status;
		}
		status = bf_revision_check(*ret_revision, named_revision, err);
		if (status != BELFRY_OK) {
			return status;
		}
		status = bf_record_mark(host, id, ret_revision, err);
		if (status != BELFRY_PRECONDITION) {
			return status;
		}
	}
	return bf_error_set(err, BELFRY_CONFLICT,
			"others keep changing it: read it again, and decide again");
}

enum belfry_status bf_deployments_remove(struct bf_host *host, struct belfry_str id,
		int64_t revision, struct belfry_error *err)
{
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
	int64_t marked = 0;

	bf_host_lock(host, id, &lock);
	enum belfry_status status = mark(host, id, revision, &marked, err);
	/* It may be marked, and its schedule still there. */
	if (status == BELFRY_UNKNOWN) {
		bf_host_reconcile_soon(host);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	BF_CRASH_POINT("remove-after-mark");
	status = bf_removal_finish(host, id, marked, err);
	bf_events_changed(host->options.events, id); /* gone for everybody, whatever it answered */
	return status;
}
