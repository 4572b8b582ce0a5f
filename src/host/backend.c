/* Calls of the store's documents. One decision alone is made here: an answer that was lost is settled by
 * reading back what is there. */
#include "host/backend.h"

#include "base/error.h"
#include "base/str.h"
#include "provider/provider.h"

enum belfry_status bf_backend_get_document(struct bf_store *store, struct belfry_str kind,
		struct belfry_str id, struct belfry_arena *arena,
		struct belfry_document *ret_document, struct belfry_error *err)
{
	struct belfry_str none = {0};

	return bf_provider_settle(bf_store_document_get(store, kind, id, none, none, arena,
						  ret_document, err),
			err);
}

enum belfry_status bf_backend_find_document(struct bf_store *store, struct belfry_str kind,
		struct belfry_str owner, struct belfry_str name, struct belfry_arena *arena,
		struct belfry_document *ret_document, struct belfry_error *err)
{
	struct belfry_str none = {0};

	return bf_provider_settle(bf_store_document_get(store, kind, none, owner, name, arena,
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
		return bf_provider_settle(BELFRY_UNKNOWN, err);
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
	return bf_provider_settle(status, err);
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
	return bf_provider_settle(status, err);
}

enum belfry_status bf_backend_list_documents(struct bf_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	return bf_provider_settle(bf_store_document_list(store, query, arena, err), err);
}

enum belfry_status bf_backend_write_output(struct bf_store *store,
		const struct belfry_output *output, struct belfry_error *err)
{
	return bf_provider_settle(bf_store_output_write(store, output, err), err);
}

enum belfry_status bf_backend_read_output(struct bf_store *store, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_bytes, uint64_t *ret_length, struct belfry_error *err)
{
	struct belfry_str content_type;

	return bf_provider_settle(bf_store_output_read(store, run, offset, max, arena,
						  &content_type, ret_bytes, ret_length, err),
			err);
}
