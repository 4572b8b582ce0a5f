/* What the wrapper asks of its two sides: the rules of what goes in, and of what comes out. */
#ifndef BF_STORE_STORE_PRIV_H
#define BF_STORE_STORE_PRIV_H

#include "base/error.h"
#include "base/str.h"
#include "model/run.h"
#include "store/store.h"

/* The table (store_table.c). Everything up to `list` must be there; one may be longer than ours
 * (newer) or shorter (older): what it has not, is NULL in the copy. */
#define BF_STORE_REQUIRED_SIZE                                                                     \
	(offsetof(struct belfry_store_ops, list) + sizeof(((struct belfry_store_ops *)0)->list))
void bf_store_copy_ops(struct belfry_store_ops *to, const struct belfry_store_ops *from);

/* What goes in (store_check.c): BELFRY_OK, or BELFRY_INVALID with the rule that was broken. */
enum belfry_status bf_check_beat(const struct belfry_beat *beat, struct belfry_error *err);
enum belfry_status bf_check_advance(const struct belfry_advance *advance, struct belfry_error *err);
enum belfry_status bf_check_adds(const struct belfry_add *adds, size_t count,
		struct belfry_error *err);
enum belfry_status bf_check_claim(const struct belfry_claim *claim, struct belfry_error *err);
enum belfry_status bf_check_records(const struct belfry_record *records, size_t count,
		struct belfry_error *err);
enum belfry_status bf_check_prune(const struct belfry_prune *prune, struct belfry_error *err);
enum belfry_status bf_check_list(const struct belfry_list *list, struct belfry_error *err);
enum belfry_status bf_check_document_key(struct belfry_str kind, struct belfry_str id,
		struct belfry_error *err);
enum belfry_status bf_check_document(const struct belfry_document *document, int64_t expect_etag,
		struct belfry_error *err);

/* What comes out (store_verify.c): true where it can be. */
bool bf_verify_beat(const struct belfry_beat *beat);
bool bf_verify_advance(const struct belfry_advance *advance);
bool bf_verify_adds(const struct belfry_add *adds, size_t count);
bool bf_verify_claim(const struct belfry_claim *claim);
bool bf_verify_records(const struct belfry_record *records, size_t count);
bool bf_verify_prune(const struct belfry_prune *prune);
bool bf_verify_list(const struct belfry_list *list);
bool bf_verify_document(const struct belfry_document *document, struct belfry_str kind);
bool bf_verify_documents(const struct belfry_document_query *query);

#endif
