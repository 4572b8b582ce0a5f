/* The inside of the provider `embedded`, shared by its files. */
#ifndef BF_EMBEDDED_PRIV_H
#define BF_EMBEDDED_PRIV_H

#include "base/str.h"
#include "model/definition.h"
#include "provider/provider.h"
#include "runtime/runtime.h"

struct bf_embedded {
	struct belfry_provider base; /* first */
	struct belfry_provider_options options;
	struct bf_env env;      /* the system's, with the host's log */
	struct bf_store *store; /* a wrapper around the host's */
	struct belfry_zones *zones;
	struct bf_runtime *runtime;
};

/* A schedule as a request of the planner, with the memory that it points into. */
struct bf_put {
	struct bf_plan_request request;
	struct bf_buf text; /* id, definition, fair key, payload */
};

/* Checks everything that can be checked without the store, and encodes: BELFRY_OK,
 * BELFRY_INVALID_SCHEDULE, BELFRY_INVALID, BELFRY_NOMEM. On success bf_put_fini is owed. */
BF_MUST_CHECK enum belfry_status bf_put_init(struct bf_put *put, struct bf_embedded *embedded,
		const struct belfry_schedule *schedule, struct belfry_error *err);
void bf_put_fini(struct bf_put *put);

/* The answer of a request as a status with its words. */
enum belfry_status bf_embedded_explain(enum belfry_status status, struct belfry_error *err);

/* One row by id. BELFRY_NOT_FOUND. The row is in the arena. */
BF_MUST_CHECK enum belfry_status bf_embedded_row(struct bf_embedded *embedded, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_schedule_row *ret_row,
		belfry_time *ret_now, struct belfry_error *err);
/* The rule of a row, owned by the caller. */
BF_MUST_CHECK enum belfry_status bf_embedded_rule(struct bf_embedded *embedded,
		const struct belfry_schedule_row *row, struct bf_definition *ret_definition,
		struct belfry_rule **ret_rule, struct belfry_error *err);

struct bf_embedded *bf_embedded_of(struct belfry_provider *provider);

/* ---- the methods, as in provider.h --------------------------------------------------------------- */

enum belfry_status bf_embedded_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err);
enum belfry_status bf_embedded_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err);
enum belfry_status bf_embedded_remove(struct belfry_provider *provider, struct belfry_str schedule,
		int64_t revision, struct belfry_error *err);
enum belfry_status bf_embedded_enqueue(struct belfry_provider *provider,
		struct belfry_enqueue *request, struct belfry_error *err);
enum belfry_status bf_embedded_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err);
enum belfry_status bf_embedded_get_run(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err);
enum belfry_status bf_embedded_state(struct belfry_provider *provider, const struct belfry_str *ids,
		size_t count, struct belfry_arena *arena, struct belfry_schedule_state **ret_states,
		struct belfry_error *err);
enum belfry_status bf_embedded_why(struct belfry_provider *provider, struct belfry_why *why,
		struct belfry_arena *arena, struct belfry_error *err);
enum belfry_status bf_embedded_conclude(struct belfry_provider *provider, struct belfry_id run,
		const struct belfry_outcome *outcome, struct belfry_error *err);
enum belfry_status bf_embedded_cancel(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_str message, struct belfry_error *err);
enum belfry_status bf_embedded_attempts(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err);
enum belfry_status bf_embedded_metrics(struct belfry_provider *provider,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err);
enum belfry_status bf_embedded_due(struct belfry_provider *provider, struct belfry_str schedule,
		belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
		struct belfry_error *err);

BF_CLEANUP_POINTER(rule, struct belfry_rule, belfry_rule_free)

#endif
