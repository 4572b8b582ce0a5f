/* The host's two seams, provider and documents: the one place where the host calls them.
 *
 * Each wrapper answers BELFRY_CANNOT for an optional method that is not there, and lets no word of
 * an engine or a database into err->message: what a seam says about its own failures goes to
 * err->detail, for the log, and the caller reads the public sentence of the status (contract.md,
 * T066). Refusals of the request itself (invalid schedule, capacity) keep their words, which the
 * seams write for people.
 *
 * Threads, blocking, ownership: provider.h and documents.h. Private to this folder. */
#ifndef BF_HOST_BACKEND_H
#define BF_HOST_BACKEND_H

#include <belfry/provider.h>

#include "base/compiler.h"
#include "store/store.h"

/* Puts the public sentence in place of a seam's own words where it is the seam that failed. */
enum belfry_status bf_backend_settle(enum belfry_status status, struct belfry_error *err);

/* --- the provider --- */

BF_MUST_CHECK enum belfry_status bf_backend_start(struct belfry_provider *provider,
		const struct belfry_handler *handler, struct belfry_error *err);
enum belfry_status bf_backend_stop(struct belfry_provider *provider, belfry_duration drain,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_remove(struct belfry_provider *provider,
		struct belfry_str schedule, int64_t revision, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_enqueue(struct belfry_provider *provider,
		struct belfry_enqueue *request, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_get_run(struct belfry_provider *provider,
		struct belfry_id run, struct belfry_arena *arena, struct belfry_run *ret_run,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_state(struct belfry_provider *provider,
		const struct belfry_str *ids, size_t count, struct belfry_arena *arena,
		struct belfry_schedule_state **ret_states, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_why(struct belfry_provider *provider,
		struct belfry_why *why, struct belfry_arena *arena, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_attempts(struct belfry_provider *provider,
		struct belfry_id run, struct belfry_arena *arena,
		struct belfry_attempt **ret_attempts, size_t *ret_count, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_cancel(struct belfry_provider *provider,
		struct belfry_id run, struct belfry_str message, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_metrics(struct belfry_provider *provider,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_due(struct belfry_provider *provider,
		struct belfry_str schedule, belfry_time from, belfry_time *ret_due, size_t max,
		size_t *ret_count, struct belfry_error *err);

/* --- documents --- */

BF_MUST_CHECK enum belfry_status bf_backend_get_document(struct bf_store *store,
		struct belfry_str kind, struct belfry_str id, struct belfry_arena *arena,
		struct belfry_document *ret_document, struct belfry_error *err);
/* By (kind, owner, name). */
BF_MUST_CHECK enum belfry_status bf_backend_find_document(struct bf_store *store,
		struct belfry_str kind, struct belfry_str owner, struct belfry_str name,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err);
/* An answer that was lost (BELFRY_UNKNOWN) is settled by reading back what is there. */
BF_MUST_CHECK enum belfry_status bf_backend_put_document(struct bf_store *store,
		struct belfry_document *document, int64_t expect_etag, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_remove_document(struct bf_store *store,
		struct belfry_str kind, struct belfry_str id, int64_t expect_etag,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_list_documents(struct bf_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_write_output(struct bf_store *store,
		const struct belfry_output *output, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_backend_read_output(struct bf_store *store,
		struct belfry_id run, uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_bytes, uint64_t *ret_length, struct belfry_error *err);

#endif
