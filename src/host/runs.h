/* Runs as the host sees them: lists, one with its attempts and output, Run now, replay, and why a
 * due time became no Run. What is handed out points into the caller's arena. An id that names
 * nothing is answered BELFRY_NOT_FOUND with the same words as a deployment's. */
#ifndef BF_HOST_RUNS_H
#define BF_HOST_RUNS_H

#include "host/host.h"

#define BF_REQUEST_KEY_BYTES 255
#define BF_DUE_MAX           200

/* query->schedule: a deployment's id, or empty for all. One that was deleted has its Runs still;
 * BELFRY_NOT_FOUND: there never was one, or no Run of it is kept. */
BF_MUST_CHECK enum belfry_status bf_runs_list(struct bf_host *host, struct belfry_run_query *query,
		struct belfry_arena *arena, struct belfry_error *err);

BF_MUST_CHECK enum belfry_status bf_runs_get(struct bf_host *host, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err);

/* Oldest first; none where the provider keeps none. */
BF_MUST_CHECK enum belfry_status bf_runs_list_attempts(struct bf_host *host, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err);

/* Bytes [offset, offset + max) of a Run's output and its whole length; empty where there is none
 * yet. */
BF_MUST_CHECK enum belfry_status bf_runs_read_output(struct bf_host *host, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_bytes, uint64_t *ret_length, struct belfry_error *err);

/* Run now and replay are stored when these answer. `key` (Idempotency-Key) may be empty; the same
 * key with another `request` (any text that says what was asked for) is BELFRY_KEY_REUSED. */
struct bf_run_request {
	struct belfry_str key;
	struct belfry_str request;
	/* answers */
	struct belfry_id run;
	bool is_new; /* false: the key had made this Run before */
};
BF_MUST_CHECK enum belfry_status bf_runs_trigger(struct bf_host *host, struct belfry_str deployment,
		struct bf_run_request *request, struct belfry_error *err);
/* `deployment`: only a Run of this one is replayed (T055); empty: of any. */
BF_MUST_CHECK enum belfry_status bf_runs_replay(struct bf_host *host, struct belfry_str run,
		struct belfry_str deployment, struct bf_run_request *request,
		struct belfry_error *err);

#define BF_CANCEL_REASON_BYTES 200
/* Ends a Run whose turn is not admitted yet, as CANCELLED; again, it changes nothing. `reason` is shown
 * with the Run, and may be empty. BELFRY_CONFLICT: it has ended otherwise, or its turn is admitted. */
BF_MUST_CHECK enum belfry_status bf_runs_cancel(struct bf_host *host, struct belfry_str run,
		struct belfry_str reason, struct belfry_arena *arena, struct belfry_run *ret_run,
		struct belfry_error *err);

/* at: 0 for the latest due time that is decided. */
BF_MUST_CHECK enum belfry_status bf_runs_why(struct bf_host *host, struct belfry_str deployment,
		belfry_time at, struct belfry_arena *arena, struct belfry_why *ret_why,
		struct belfry_error *err);

/* Due times strictly after `from` and not after `to` (NEVER: no end), `max` of them at most (1 to
 * BF_DUE_MAX), with what became of those that have passed. */
BF_MUST_CHECK enum belfry_status bf_runs_list_due(struct bf_host *host,
		struct belfry_str deployment, belfry_time from, belfry_time to, size_t max,
		struct belfry_arena *arena, struct belfry_why **ret_items, size_t *ret_count,
		struct belfry_error *err);

/* --- how the host is --- */

BF_MUST_CHECK enum belfry_status bf_host_get_metrics(struct bf_host *host,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err);

#define BF_HOST_FAULTS 8
/* Why the host is not ready; 0: it is. A planner, dispatcher or keeper that has stood still for
 * three leases counts (contract.md, B21). A change is logged. Also what a watchdog is fed by. */
size_t bf_host_list_faults(struct bf_host *host, const char *ret_reasons[BF_HOST_FAULTS]);

#endif
