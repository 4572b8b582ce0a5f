/* The blocking pool: a handler (handler.h) for programs whose work is a plain function call. A Run is
 * given to one of a fixed number of threads, which calls the function; what it returns is the answer.
 *
 * Ownership  the pool owns its threads and copies what a waiting call needs.
 * Threads    the functions are called from the pool's threads, several at once: as many as `threads`.
 *            These threads have every signal blocked; a child that a function starts inherits that,
 *            unless the function clears the mask (posix_spawnattr_setsigmask) for it.
 *            Everything declared here from any thread.
 *            An unfinished call holds its reply handle: stop answers BELFRY_BUSY until it returns.
 * Limits     a call past its attempt's time limit (the schedule's policies.timeout) is over for the
 *            provider: what it returns is dropped, its Run goes on by the retry policy, and its thread is
 *            lost until it returns. When every thread is lost nothing runs: see belfry_pool_state.
 * Since      0.2 */
#ifndef BELFRY_POOL_H
#define BELFRY_POOL_H

#include <belfry/handler.h>

BELFRY_BEGIN_DECLS

struct belfry_pool; /* opaque */
struct belfry_work; /* opaque: one call under way, borrowed until the function returns */

/* Does the work of one attempt; may block. What it returns:
 *   BELFRY_OK                     the Run is COMPLETED, or what belfry_work_end said
 *   a status of class RETRY       (BELFRY_UNAVAILABLE) the attempt failed: again, by the retry policy
 *   any other                     the Run is FAILED for good
 * The sentence that belfry_work_say gave goes with the Run, else the status's own.
 * May be called again for the same Run (same invocation->run) after a crash: handler.h. */
typedef enum belfry_status (*belfry_work_fn)(void *data, const struct belfry_invocation *invocation,
		struct belfry_work *work);

struct belfry_pool_options {
	size_t size;
	uint32_t threads; /* at most 4096; 0: as many as processors, 4 at least */
	void *data;       /* the program's own, passed to each call */
	/* Required. The turn: the work itself. */
	belfry_work_fn run;
	/* Optional: start a Session first, named with belfry_work_name (it is stored before `run` is
	 * called, and `run` finds it with belfry_work_session). NULL: a Session is the Run itself and
	 * carries its id. */
	belfry_work_fn start_session;
};

#define BELFRY_POOL_OPTIONS_INIT                                                                   \
	{                                                                                          \
		sizeof(struct belfry_pool_options), 0, NULL, NULL, NULL                            \
	}

/* ret_pool  owned: belfry_pool_free. BELFRY_INVALID (`run` is missing), BELFRY_NOMEM,
 * BELFRY_UNAVAILABLE (no thread could be started; with fewer than were asked for it goes on). */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_pool_new(
		const struct belfry_pool_options *options, struct belfry_pool **ret_pool,
		struct belfry_error *err);
/* Gives back what waits, marks what runs as over, and waits until it has returned, however long that takes.
 * NULL is fine. Stop the scheduler first: while it goes on, each call that comes is put off by a second and
 * more, which costs no attempt, and the memory is kept until the scheduler is stopped or closed. */
BELFRY_API void belfry_pool_free(struct belfry_pool *pool);
/* What belfry_scheduler_start wants; borrowed from the pool. NULL has none. */
BELFRY_API const struct belfry_handler *belfry_pool_handler(struct belfry_pool *pool);

struct belfry_pool_state {
	size_t size;
	uint32_t threads;
	uint32_t busy;  /* in a call, the lost ones included */
	uint32_t lost;  /* in a call that is over for the provider; all lost: not ready */
	size_t waiting; /* calls that no thread has taken yet */
};

#define BELFRY_POOL_STATE_INIT                                                                     \
	{                                                                                          \
		sizeof(struct belfry_pool_state), 0, 0, 0, 0                                       \
	}

/* ret_state  written whole, its size included; all zero where there is no pool. */
BELFRY_API void belfry_pool_get_state(struct belfry_pool *pool,
		struct belfry_pool_state *ret_state);

/* ---- inside a call: `work` is the one that the function was called with, never NULL --------------- */

/* Is the attempt over for the provider (time limit, cancelled, stop)? Look now and then in long work
 * and return: nothing comes of it any more. */
BELFRY_API bool belfry_work_is_over(const struct belfry_work *work);
/* The Session that is stored on the Run. Borrowed until the function returns. */
BELFRY_API struct belfry_str belfry_work_session(const struct belfry_work *work);
/* Names the Session (in start_session) or the turn (in run). Copied. Where a function names nothing,
 * the Run's id is the name. BELFRY_OK; BELFRY_INVALID (not 1 to 200 bytes of UTF-8 without NUL), BELFRY_NOMEM. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_work_name(struct belfry_work *work,
		struct belfry_str name);
/* What people read with the Run, and what only operators do (`detail`, kept with a failed attempt alone).
 * Copied; cut at 300 and 1000 bytes; a byte that is not UTF-8 becomes U+FFFD. The last one counts. */
BELFRY_API void belfry_work_say(struct belfry_work *work, struct belfry_str message,
		struct belfry_str detail);
/* With a returned status of class RETRY: not before so long (microseconds; 0 or less: by the retry policy).
 * Costs no attempt, but is not taken at its word for ever: the wait is at most an hour, and at least what the
 * retry policy's delays would have grown to after as many attempts (first_delay, doubled each time up to
 * max_delay), and a tenth more by chance. From a day after the Run's start on each one costs an attempt. */
BELFRY_API void belfry_work_retry_after(struct belfry_work *work, belfry_duration after);
/* With BELFRY_OK: how the turn ended, where that is not COMPLETED: FAILED, CANCELLED, or
 * BELFRY_STATUS_RUNNING: it goes on elsewhere, and belfry_scheduler_conclude will say how it ended. With any
 * other returned status only `error` counts: what the attempt failed of (else TARGET_ANSWERED, and PERMANENT
 * where it failed for good). */
BELFRY_API void belfry_work_end(struct belfry_work *work, enum belfry_run_status status,
		enum belfry_run_error error);

BELFRY_END_DECLS

#endif
