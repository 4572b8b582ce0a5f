/* Output of Sessions, in the file beside the store's (PATH.output); documents.h says what is promised. */
#ifndef BF_STORE_SQLITE_OUTPUT_H
#define BF_STORE_SQLITE_OUTPUT_H

#include <belfry/documents.h>

enum belfry_status bf_sqlite_write_output(struct belfry_store *base,
		const struct belfry_output *output, struct belfry_error *err);
enum belfry_status bf_sqlite_read_output(struct belfry_store *base, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err);

#endif
