/* The provider seam as the rest of the tree sees it: the providers that are built in, by name, and the
 * wrapper through which alone a provider's table is called. The wrapper is what <belfry/scheduler.h> hands
 * out: its operations are those of that header; here is what only our own code asks of it.
 *
 * Threads    those of <belfry/scheduler.h>. Counts and fault points from any.
 * Answers    from every operation, besides what <belfry/scheduler.h> names: a seam's own failure reads as
 *            the public sentence of its status, and its words are in err->detail (contract.md, T066). */
#ifndef BF_PROVIDER_H
#define BF_PROVIDER_H

#include <belfry/scheduler.h>

#include "base/compiler.h"
#include "base/fault.h"

struct bf_store;

/* ---- which there are ---------------------------------------------------------------------------- */

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

/* ---- making one --------------------------------------------------------------------------------- */

/* Makes the provider by its table (which is checked) and wraps it. `options` is borrowed for the call, what
 * it points to as provider.h says. *store is taken where it is not NULL, also on failure: it is closed
 * when the provider is gone. */
BF_MUST_CHECK enum belfry_status bf_scheduler_new(const struct belfry_provider_ops *ops,
		const struct belfry_provider_options *options, struct bf_store **store,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err);
/* Wraps one that somebody else made and frees: `inner` is borrowed until close. */
BF_MUST_CHECK enum belfry_status bf_scheduler_share(struct belfry_provider *inner,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err);

/* ---- counts and faults -------------------------------------------------------------------------- */

/* For counting. Append only. */
enum bf_provider_method {
	BF_PROVIDER_START,
	BF_PROVIDER_STOP,
	BF_PROVIDER_RECONCILE,
	BF_PROVIDER_APPLY,
	BF_PROVIDER_REMOVE,
	BF_PROVIDER_ENQUEUE,
	BF_PROVIDER_LIST_RUNS,
	BF_PROVIDER_GET_RUN,
	BF_PROVIDER_STATE,
	BF_PROVIDER_WHY,
	BF_PROVIDER_CANCEL,
	BF_PROVIDER_CONCLUDE,
	BF_PROVIDER_ATTEMPTS,
	BF_PROVIDER_METRICS,
	BF_PROVIDER_DUE,
	BF_PROVIDER_METHOD_COUNT
};

/* "list_runs"; "?" for a value outside the list. */
const char *bf_provider_method_name(enum bf_provider_method method);
/* Calls that reached the wrapper, and those of them in which the provider failed (the classes RETRY, DATA
 * and SYSTEM). */
uint64_t bf_scheduler_calls(const struct belfry_scheduler *scheduler,
		enum bf_provider_method method);
uint64_t bf_scheduler_failures(const struct belfry_scheduler *scheduler,
		enum bf_provider_method method);

/* Fault points, borrowed. `before`: the call answers BELFRY_UNAVAILABLE, and the provider was not called.
 * `after`: it was, and the answer is lost: BELFRY_UNKNOWN, or BELFRY_UNAVAILABLE where it only reads. */
struct bf_fault *bf_scheduler_fault_before(struct belfry_scheduler *scheduler,
		enum bf_provider_method method);
struct bf_fault *bf_scheduler_fault_after(struct belfry_scheduler *scheduler,
		enum bf_provider_method method);

/* Puts the public sentence in place of a seam's own words where it is the seam that failed; a text that is
 * none is replaced. NULL err is allowed. Also for the host's documents. */
enum belfry_status bf_provider_settle(enum belfry_status status, struct belfry_error *err);

#endif
