/* Is a method table one that this build can call? Size and version come first: nothing else of a
 * foreign table may be read before them. Calls nothing. */
#include "store/store_priv.h"

static const char *missing_method(const struct belfry_store_ops *ops)
{
	return ops->open == NULL                  ? "open"
			: ops->migrate == NULL    ? "migrate"
			: ops->close == NULL      ? "close"
			: ops->time == NULL       ? "time"
			: ops->beat == NULL       ? "beat"
			: ops->advance == NULL    ? "advance"
			: ops->add_runs == NULL   ? "add_runs"
			: ops->claim_runs == NULL ? "claim_runs"
			: ops->record == NULL     ? "record"
			: ops->prune == NULL      ? "prune"
			: ops->list == NULL       ? "list"
						  : NULL;
}

static const char *missing_document_method(const struct belfry_document_ops *ops)
{
	return ops->get == NULL                     ? "documents.get"
			: ops->put == NULL          ? "documents.put"
			: ops->remove == NULL       ? "documents.remove"
			: ops->list == NULL         ? "documents.list"
			: ops->write_output == NULL ? "documents.write_output"
			: ops->read_output == NULL  ? "documents.read_output"
						    : NULL;
}

void bf_store_copy_ops(struct belfry_store_ops *to, const struct belfry_store_ops *from)
{
	*to = (struct belfry_store_ops){0};
	memcpy(to, from, BF_MIN(from->size, sizeof(*to)));
}

static enum belfry_status check_documents(const struct belfry_store_ops *ops,
		struct belfry_error *err)
{
	if (ops->documents == NULL) {
		return BELFRY_OK;
	}
	if (ops->documents->size < sizeof(*ops->documents)) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"store %s: its documents table is too short: build it anew",
				ops->name);
	}
	const char *missing = missing_document_method(ops->documents);
	if (missing != NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"store %s: the required method %s is missing", ops->name, missing);
	}
	return BELFRY_OK;
}

enum belfry_status bf_store_check_ops(const struct belfry_store_ops *ops, struct belfry_error *err)
{
	struct belfry_store_ops copy;

	if (ops == NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION, "store: it has no method table");
	}
	if (ops->seams_abi != BELFRY_SEAMS_ABI) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"store: built for version %u of the seams, not %u: build it anew",
				(unsigned)ops->seams_abi, BELFRY_SEAMS_ABI);
	}
	if (ops->size < BF_STORE_REQUIRED_SIZE || ops->name == NULL || ops->name[0] == '\0') {
		return bf_error_set(err, BELFRY_CONFIGURATION, "store %s: its method table %s",
				ops->name != NULL ? ops->name : "",
				ops->size < BF_STORE_REQUIRED_SIZE ? "is too short: build it anew"
								   : "has no name");
	}
	bf_store_copy_ops(&copy, ops);
	const char *missing = missing_method(&copy);
	if (missing != NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"store %s: the required method %s is missing", ops->name, missing);
	}
	return check_documents(&copy, err);
}
