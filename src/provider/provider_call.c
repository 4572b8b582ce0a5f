/* What goes the same way for every operation of the scheduler: counting, the fault points, what may be believed,
 * and the words of a failure. Calls nothing itself: provider.c does. */
#include "provider/provider_priv.h"

/* ---- counts and faults -------------------------------------------------------------------------- */

const char *bf_provider_method_name(enum bf_provider_method method)
{
	static const char *const names[] = {"start", "stop", "reconcile", "apply", "remove",
			"enqueue", "list_runs", "get_run", "state", "why", "cancel", "conclude",
			"attempts", "metrics", "due"};

	return (unsigned)method < BF_COUNT(names) ? names[method] : "?";
}

uint64_t bf_scheduler_calls(const struct belfry_scheduler *scheduler,
		enum bf_provider_method method)
{
	return atomic_load(&scheduler->calls[method]);
}

uint64_t bf_scheduler_failures(const struct belfry_scheduler *scheduler,
		enum bf_provider_method method)
{
	return atomic_load(&scheduler->failures[method]);
}

struct bf_fault *bf_scheduler_fault_before(struct belfry_scheduler *scheduler,
		enum bf_provider_method method)
{
	return &scheduler->before[method];
}

struct bf_fault *bf_scheduler_fault_after(struct belfry_scheduler *scheduler,
		enum bf_provider_method method)
{
	return &scheduler->after[method];
}

/* ---- one call ----------------------------------------------------------------------------------- */

struct bf_provider_call bf_provider_call_of(struct belfry_scheduler *scheduler,
		enum bf_provider_method method, struct belfry_error *ret_err)
{
	return (struct bf_provider_call){.scheduler = scheduler,
			.method = method,
			.ret_err = ret_err};
}

static bool is_write(enum bf_provider_method method)
{
	switch (method) {
	case BF_PROVIDER_RECONCILE:
	case BF_PROVIDER_APPLY:
	case BF_PROVIDER_REMOVE:
	case BF_PROVIDER_ENQUEUE:
	case BF_PROVIDER_CANCEL:
	case BF_PROVIDER_CONCLUDE: return true;
	case BF_PROVIDER_START:
	case BF_PROVIDER_STOP:
	case BF_PROVIDER_LIST_RUNS:
	case BF_PROVIDER_GET_RUN:
	case BF_PROVIDER_STATE:
	case BF_PROVIDER_WHY:
	case BF_PROVIDER_ATTEMPTS:
	case BF_PROVIDER_METRICS:
	case BF_PROVIDER_DUE:
	case BF_PROVIDER_METHOD_COUNT: break;
	}
	return false;
}

/* `status` is what the argument check said. BELFRY_OK: go on and call the provider. */
enum belfry_status bf_provider_begin(struct bf_provider_call *call, enum belfry_status status)
{
	if (call->scheduler == NULL) {
		return bf_error_set(&call->err, BELFRY_INVALID, "%s: there is no scheduler",
				bf_provider_method_name(call->method));
	}
	(void)atomic_fetch_add(&call->scheduler->calls[call->method], 1);
	if (status == BELFRY_OK && bf_fault_hit(&call->scheduler->before[call->method])) {
		status = BELFRY_UNAVAILABLE;
	}
	return status;
}

/* The same for a method that may be missing. */
enum belfry_status bf_provider_begin_optional(struct bf_provider_call *call,
		enum belfry_status status, bool has_it)
{
	if (status == BELFRY_OK && call->scheduler != NULL && !has_it) {
		status = bf_error_set(&call->err, BELFRY_CANNOT, "this provider cannot do that");
	}
	return bf_provider_begin(call, status);
}

/* `status` is the provider's; `is_believable` whether its answer can be. */
enum belfry_status bf_provider_end(struct bf_provider_call *call, enum belfry_status status,
		bool is_believable)
{
	const char *method = bf_provider_method_name(call->method);

	if ((unsigned)status >= BELFRY_STATUS_COUNT) {
		return bf_error_system(&call->err, BELFRY_CORRUPT, 0,
				"provider %s: %s answered status %u", call->scheduler->name, method,
				(unsigned)status);
	}
	if (status == BELFRY_OK && !is_believable) {
		return bf_error_system(&call->err, BELFRY_CORRUPT, 0,
				"provider %s: the answer of %s cannot be", call->scheduler->name,
				method);
	}
	if (status == BELFRY_OK && bf_fault_hit(&call->scheduler->after[call->method])) {
		return is_write(call->method) ? BELFRY_UNKNOWN : BELFRY_UNAVAILABLE;
	}
	return status;
}

/* The end of a call whose arguments were wrong, too. */
enum belfry_status bf_provider_finish(struct bf_provider_call *call, enum belfry_status status)
{
	if (status == BELFRY_OK) {
		return status;
	}
	if (call->scheduler != NULL && bf_provider_is_failure(status)) {
		(void)atomic_fetch_add(&call->scheduler->failures[call->method], 1);
	}
	(void)bf_provider_settle(status, &call->err);
	if (call->ret_err != NULL) {
		*call->ret_err = call->err;
	}
	return status;
}
