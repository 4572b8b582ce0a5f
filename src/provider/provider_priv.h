/* The inside of the wrapper, for its files: what it keeps, and the rules of what goes in and comes out. */
#ifndef BF_PROVIDER_PRIV_H
#define BF_PROVIDER_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/id.h"
#include "base/str.h"
#include "provider/provider.h"
#include "store/store.h"

/* Everything up to `get_run` must be there. */
#define BF_PROVIDER_REQUIRED_SIZE                                                                  \
	(offsetof(struct belfry_provider_ops, get_run) +                                           \
			sizeof(((struct belfry_provider_ops *)0)->get_run))

#define BF_PROVIDER_REMEDY "choose another provider, or \"none\" to run without schedules"

/* Bounds of what a caller may hand in (and a provider out) that the public headers do not name. */
#define BF_IDS_MAX       ((size_t)100000)
#define BF_ATTEMPTS_MAX  ((size_t)100000)
#define BF_DUE_TIMES_MAX ((size_t)100000)
#define BF_LIST_MAX      200u

enum bf_provider_life { BF_PROVIDER_NOT_STARTED, BF_PROVIDER_STARTED, BF_PROVIDER_STOPPED };

struct belfry_scheduler {
	struct belfry_provider *inner;
	bool is_shared;                       /* somebody else frees inner */
	struct belfry_provider_ops ops;       /* a copy: what the table is too short for is NULL */
	struct belfry_provider_more_ops more; /* the same */
	struct belfry_properties properties;
	char *name;             /* what properties.name points to */
	struct bf_store *store; /* owned, outlives inner; NULL: none, or somebody else's */
	pthread_mutex_t lock;   /* of what follows; held while the provider starts or stops */
	enum bf_provider_life life;
	bool is_at_rest;               /* the stop has answered BELFRY_OK */
	struct belfry_handler handler; /* a copy, whole */
	bool is_handler_held;
	struct bf_fault before[BF_PROVIDER_METHOD_COUNT];
	struct bf_fault after[BF_PROVIDER_METHOD_COUNT];
	atomic_ullong calls[BF_PROVIDER_METHOD_COUNT];
	atomic_ullong failures[BF_PROVIDER_METHOD_COUNT];
};

/* Was it the provider that failed (RETRY, DATA, SYSTEM), and not the request? (provider_words.c) */
bool bf_provider_is_failure(enum belfry_status status);

/* Behind what is wrong with a configuration: what to do instead (B23). */
void bf_provider_add_remedy(struct belfry_error *err);

/* ---- one call (provider_call.c) ------------------------------------------------------------------ */

struct bf_provider_call {
	struct belfry_scheduler *scheduler;
	enum bf_provider_method method;
	struct belfry_error *ret_err; /* the caller's; may be NULL */
	struct belfry_error err;      /* what is written on the way */
};

struct bf_provider_call bf_provider_call_of(struct belfry_scheduler *scheduler,
		enum bf_provider_method method, struct belfry_error *ret_err);
/* `status` is what the argument check said. BELFRY_OK: go on and call the provider. */
enum belfry_status bf_provider_begin(struct bf_provider_call *call, enum belfry_status status);
/* The same for a method that may be missing. */
enum belfry_status bf_provider_begin_optional(struct bf_provider_call *call,
		enum belfry_status status, bool has_it);
/* `status` is the provider's; `is_believable` whether its answer can be. */
enum belfry_status bf_provider_end(struct bf_provider_call *call, enum belfry_status status,
		bool is_believable);
/* The end of a call whose arguments were wrong, too. */
enum belfry_status bf_provider_finish(struct bf_provider_call *call, enum belfry_status status);

/* ---- the table (provider_table.c) --------------------------------------------------------------- */

/* A table may be longer than ours (newer) or shorter (older): what it has not, is NULL in the copy. */
void bf_provider_copy_ops(const struct belfry_provider_ops *from, struct belfry_provider_ops *to,
		struct belfry_provider_more_ops *to_more);

/* ---- what goes in (provider_check.c): BELFRY_OK, or a refusal that names the place -------------- */

enum belfry_status bf_check_handler(const struct belfry_handler *handler, struct belfry_error *err);
enum belfry_status bf_check_schedule(const struct belfry_schedule *schedule,
		struct belfry_error *err);
enum belfry_status bf_check_iterator(const struct belfry_schedule_iterator *schedules,
		struct belfry_error *err);
enum belfry_status bf_check_removal(struct belfry_str schedule, int64_t revision,
		struct belfry_error *err);
enum belfry_status bf_check_enqueue(const struct belfry_enqueue *request, struct belfry_error *err);
enum belfry_status bf_check_run_query(const struct belfry_run_query *query,
		const struct belfry_arena *arena, struct belfry_error *err);
enum belfry_status bf_check_schedule_id(struct belfry_str id, struct belfry_error *err);
enum belfry_status bf_check_run_question(struct belfry_id run, const struct belfry_arena *arena,
		const void *answer, struct belfry_error *err);
enum belfry_status bf_check_cancel(struct belfry_id run, struct belfry_str message,
		struct belfry_error *err);
enum belfry_status bf_check_conclude(struct belfry_id run, const struct belfry_outcome *outcome,
		struct belfry_error *err);
enum belfry_status bf_check_state(const struct belfry_str *ids, size_t count,
		const struct belfry_arena *arena, const void *answer, struct belfry_error *err);
enum belfry_status bf_check_why(const struct belfry_why *why, const struct belfry_arena *arena,
		struct belfry_error *err);
enum belfry_status bf_check_metrics(const struct belfry_provider_metrics *metrics,
		struct belfry_error *err);
enum belfry_status bf_check_due(struct belfry_str schedule, const belfry_time *due, size_t max,
		const size_t *ret_count, struct belfry_error *err);

/* ---- what comes out (provider_verify.c): true where it can be ------------------------------------ */

bool bf_verify_properties(const struct belfry_properties *properties, const char *name);
bool bf_verify_enqueue(const struct belfry_enqueue *request);
/* `query` is as it was asked, its limit clamped, with the answers. */
bool bf_verify_runs(const struct belfry_run_query *query);
bool bf_verify_run(const struct belfry_run *run, struct belfry_id id);
bool bf_verify_states(const struct belfry_schedule_state *states, const struct belfry_str *ids,
		size_t count);
/* `why` has the question, and the answers. */
bool bf_verify_why(const struct belfry_why *why);
bool bf_verify_attempts(const struct belfry_attempt *attempts, size_t count, struct belfry_id run);
bool bf_verify_metrics(const struct belfry_provider_metrics *metrics);
bool bf_verify_due(const belfry_time *due, size_t count, size_t max, belfry_time from);

/* ---- the host's list (provider_list.c) ----------------------------------------------------------- */

/* What a provider reads in place of the host's own iterator: the same answers, checked. */
struct bf_checked_list {
	struct belfry_schedule_iterator *source;
	struct belfry_schedule_iterator checked;
};
void bf_checked_list_init(struct bf_checked_list *list, struct belfry_schedule_iterator *source);

#endif
