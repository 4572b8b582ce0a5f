/* The provider seam as the rest of the tree sees it: which providers there are, by name. A provider's
 * table is called by the host (host/backend.c); this layer holds the two that are built in. */
#ifndef BF_PROVIDER_H
#define BF_PROVIDER_H

#include <belfry/provider.h>

#include "base/compiler.h"

/* Our own engine over a store. */
extern const struct belfry_provider_ops bf_embedded_provider_ops;
/* No provider: the host runs without scheduled deployments. */
extern const struct belfry_provider_ops bf_none_provider_ops;

/* Is the table one that this build can call? BELFRY_OK, or BELFRY_CONFIGURATION naming what is wrong. */
BF_MUST_CHECK enum belfry_status bf_provider_check_ops(const struct belfry_provider_ops *ops,
		struct belfry_error *err);

/* "embedded" or "none". BELFRY_CONFIGURATION names both remedies (B23). */
BF_MUST_CHECK enum belfry_status bf_provider_find(struct belfry_str name,
		const struct belfry_provider_ops **ret_ops, struct belfry_error *err);

/* The store adapter that a URL names ("sqlite:PATH", "memory:"). Borrowed, static. */
BF_MUST_CHECK enum belfry_status bf_store_ops_find(struct belfry_str url,
		const struct belfry_store_ops **ret_ops, struct belfry_error *err);

#endif
