/* Calls through the provider's table, and of the store's documents. No decision is made here but
 * two: a method that is missing cannot be done, and a seam's own failure is told to the public in
 * our words. */
#include "host/backend.h"

#include <stdio.h>

#include "base/error.h"
#include "base/str.h"

enum belfry_status bf_backend_settle(enum belfry_status status, struct belfry_error *err)
{
	if (status == BELFRY_OK || err == NULL) {
		return status;
	}
	err->status = status;
	switch (belfry_status_class(status)) {
	case BELFRY_CLASS_RETRY:
	case BELFRY_CLASS_DATA:
	case BELFRY_CLASS_SYSTEM:
		if (err->detail[0] == '\0') {
			memcpy(err->detail, err->message, sizeof(err->detail));
		}
		(void)snprintf(err->message, sizeof(err->message), "%s",
				belfry_status_text(status));
		err->pointer[0] = '\0';
		err->position = 0;
		return status;
	case BELFRY_CLASS_OK:
	case BELFRY_CLASS_CONFLICT:
	case BELFRY_CLASS_GONE:
	case BELFRY_CLASS_CALLER: break;
	}
	if (err->message[0] == '\0') {
		(void)snprintf(err->message, sizeof(err->message), "%s",
				belfry_status_text(status));
	}
	return status;
}

static enum belfry_status cannot(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_CANNOT, "this provider cannot do that");
}

/* --- the provider --- */

enum belfry_status bf_backend_start(struct belfry_provider *provider,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->start(provider, handler, err), err);
}

enum belfry_status bf_backend_stop(struct belfry_provider *provider, belfry_duration drain,
		struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->stop(provider, drain, err), err);
}

enum belfry_status bf_backend_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->reconcile(provider, schedules, err), err);
}

enum belfry_status bf_backend_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->apply(provider, schedule, err), err);
}

enum belfry_status bf_backend_remove(struct belfry_provider *provider, struct belfry_str schedule,
		int64_t revision, struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->remove(provider, schedule, revision, err), err);
}

enum belfry_status bf_backend_enqueue(struct belfry_provider *provider,
		struct belfry_enqueue *request, struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->enqueue(provider, request, err), err);
}

enum belfry_status bf_backend_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->list_runs(provider, query, arena, err), err);
}

enum belfry_status bf_backend_get_run(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	return bf_backend_settle(provider->ops->get_run(provider, run, arena, ret_run, err), err);
}

enum belfry_status bf_backend_state(struct belfry_provider *provider, const struct belfry_str *ids,
		size_t count, struct belfry_arena *arena, struct belfry_schedule_state **ret_states,
		struct belfry_error *err)
{
	const struct belfry_provider_more_ops *more = provider->ops->more;

	if (more == NULL || more->state == NULL) {
		return cannot(err);
	}
	return bf_backend_settle(more->state(provider, ids, count, arena, ret_states, err), err);
}

enum belfry_status bf_backend_why(struct belfry_provider *provider, struct belfry_why *why,
		struct belfry_arena *arena, struct belfry_error *err)
{
	const struct belfry_provider_more_ops *more = provider->ops->more;

	if (more == NULL || more->why == NULL) {
		return cannot(err);
	}
	return bf_backend_settle(more->why(provider, why, arena, err), err);
}

enum belfry_status bf_backend_attempts(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err)
{
	const struct belfry_provider_more_ops *more = provider->ops->more;

	if (more == NULL || more->attempts == NULL) {
		return cannot(err);
	}
	return bf_backend_settle(more->attempts(provider, run, arena, ret_attempts, ret_count, err),
			err);
}

enum belfry_status bf_backend_cancel(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_str message, struct belfry_error *err)
{
	const struct belfry_provider_more_ops *more = provider->ops->more;

	if (more == NULL || more->cancel == NULL) {
		return cannot(err);
	}
	return bf_backend_settle(more->cancel(provider, run, message, err), err);
}

enum belfry_status bf_backend_metrics(struct belfry_provider *provider,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err)
{
	const struct belfry_provider_more_ops *more = provider->ops->more;

	if (more == NULL || more->metrics == NULL) {
		return cannot(err);
	}
	ret_metrics->size = sizeof(*ret_metrics);
	return bf_backend_settle(more->metrics(provider, ret_metrics, err), err);
}

enum belfry_status bf_backend_due(struct belfry_provider *provider, struct belfry_str schedule,
		belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
		struct belfry_error *err)
{
	const struct belfry_provider_more_ops *more = provider->ops->more;

	if (more == NULL || more->due == NULL) {
		return cannot(err);
	}
	return bf_backend_settle(more->due(provider, schedule, from, ret_due, max, ret_count, err),
			err);
}

/* --- documents --- */

enum belfry_status bf_backend_get_document(struct bf_store *store, struct belfry_str kind,
		struct belfry_str id, struct belfry_arena *arena,
		struct belfry_document *ret_document, struct belfry_error *err)
{
	struct belfry_str none = {0};

	return bf_backend_settle(bf_store_document_get(store, kind, id, none, none, arena,
						 ret_document, err),
			err);
}

enum belfry_status bf_backend_find_document(struct bf_store *store, struct belfry_str kind,
		struct belfry_str owner, struct belfry_str name, struct belfry_arena *arena,
		struct belfry_document *ret_document, struct belfry_error *err)
{
	struct belfry_str none = {0};

	return bf_backend_settle(bf_store_document_get(store, kind, none, owner, name, arena,
						 ret_document, err),
			err);
}

/* Was the put whose answer was lost carried out? Its etag and bytes say so. */
static enum belfry_status read_back(struct bf_store *store, struct belfry_document *document,
		int64_t expect_etag, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document present;
	struct belfry_error reading = {0};

	if (bf_backend_get_document(store, document->kind, document->id, &arena, &present,
			    &reading) != BELFRY_OK ||
			present.etag != expect_etag + 1 ||
			!bf_str_equal(present.bytes, document->bytes)) {
		return bf_backend_settle(BELFRY_UNKNOWN, err);
	}
	document->etag = present.etag;
	document->created_at = present.created_at;
	document->updated_at = present.updated_at;
	return BELFRY_OK;
}

enum belfry_status bf_backend_put_document(struct bf_store *store, struct belfry_document *document,
		int64_t expect_etag, struct belfry_error *err)
{
	enum belfry_status status = bf_store_document_put(store, document, expect_etag, err);

	if (status == BELFRY_UNKNOWN) {
		return read_back(store, document, expect_etag, err);
	}
	return bf_backend_settle(status, err);
}

enum belfry_status bf_backend_remove_document(struct bf_store *store, struct belfry_str kind,
		struct belfry_str id, int64_t expect_etag, struct belfry_error *err)
{
	enum belfry_status status = bf_store_document_remove(store, kind, id, expect_etag, err);

	if (status == BELFRY_UNKNOWN) {
		BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_document present;
		if (bf_backend_get_document(store, kind, id, &arena, &present, NULL) ==
				BELFRY_NOT_FOUND) {
			return BELFRY_OK;
		}
	}
	return bf_backend_settle(status, err);
}

enum belfry_status bf_backend_list_documents(struct bf_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	return bf_backend_settle(bf_store_document_list(store, query, arena, err), err);
}

enum belfry_status bf_backend_write_output(struct bf_store *store,
		const struct belfry_output *output, struct belfry_error *err)
{
	return bf_backend_settle(bf_store_output_write(store, output, err), err);
}

enum belfry_status bf_backend_read_output(struct bf_store *store, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_bytes, uint64_t *ret_length, struct belfry_error *err)
{
	struct belfry_str content_type;

	return bf_backend_settle(bf_store_output_read(store, run, offset, max, arena, &content_type,
						 ret_bytes, ret_length, err),
			err);
}
