/* The host's records: the documents of a store, the one place where the host calls them. The provider is
 * called by <belfry/scheduler.h>.
 *
 * No word of a database gets into err->message: what a store says about its own failures goes to err->detail,
 * for the log, and the caller reads the public sentence of the status (contract.md, T066).
 *
 * Threads, blocking, ownership: documents.h. Private to this folder. */
#ifndef BF_HOST_BACKEND_H
#define BF_HOST_BACKEND_H

#include <belfry/documents.h>

#include "base/compiler.h"
#include "store/store.h"

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
