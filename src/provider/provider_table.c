/* Is a provider's method table one that this build can call? Size and version come first: nothing else of a
 * foreign table may be read before them. Calls nothing. */
#include "provider/provider_priv.h"

static const char *missing_method(const struct belfry_provider_ops *ops)
{
	return ops->create == NULL                ? "create"
			: ops->free == NULL       ? "free"
			: ops->properties == NULL ? "properties"
			: ops->start == NULL      ? "start"
			: ops->stop == NULL       ? "stop"
			: ops->reconcile == NULL  ? "reconcile"
			: ops->apply == NULL      ? "apply"
			: ops->remove == NULL     ? "remove"
			: ops->enqueue == NULL    ? "enqueue"
			: ops->list_runs == NULL  ? "list_runs"
			: ops->get_run == NULL    ? "get_run"
						  : NULL;
}

void bf_provider_copy_ops(const struct belfry_provider_ops *from, struct belfry_provider_ops *to,
		struct belfry_provider_more_ops *to_more)
{
	*to = (struct belfry_provider_ops){0};
	*to_more = (struct belfry_provider_more_ops){0};
	memcpy(to, from, BF_MIN(from->size, sizeof(*to)));
	if (to->more != NULL) {
		memcpy(to_more, to->more, BF_MIN(to->more->size, sizeof(*to_more)));
	}
}

enum belfry_status bf_provider_check_ops(const struct belfry_provider_ops *ops,
		struct belfry_error *err)
{
	if (ops == NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the provider has no method table: " BF_PROVIDER_REMEDY);
	}
	if (ops->seams_abi != BELFRY_SEAMS_ABI || ops->size < BF_PROVIDER_REQUIRED_SIZE) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the provider was built for another version of Belfry (seams %u, not "
				"%u): build it anew, or " BF_PROVIDER_REMEDY,
				(unsigned)ops->seams_abi, BELFRY_SEAMS_ABI);
	}
	if (ops->name == NULL || ops->name[0] == '\0') {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the provider's method table has no name: correct it, or " BF_PROVIDER_REMEDY);
	}
	const char *missing = missing_method(ops);
	if (missing != NULL) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the provider %s lacks the required method %s: correct it, or " BF_PROVIDER_REMEDY,
				ops->name, missing);
	}
	return BELFRY_OK;
}
