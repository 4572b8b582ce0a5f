/* The handler: what a host gives a provider, so that a Run can start a Session and a turn.
 *
 * Asynchronous by completion: the provider calls start_session or admit_turn, which return at once;
 * the host answers later through the reply handle, from any thread. Thousands of calls may be open
 * while one thread waits for them.
 *
 * At least once: either call may be repeated with an equal invocation (same Run id) after a crash.
 * The host makes both idempotent by the Run's id (contract.md, guarantee 3).
 *
 * Threads    the provider calls from one dispatching thread of its own; a call must not block.
 * Ownership  the invocation and its text are borrowed until the call returns: copy what outlives it.
 *            The reply handle is the host's to give back, exactly once, by one of the functions below,
 *            which take it (the pointer comes back NULL).
 * See also   pool.h and pull.h, two handlers that are ready to be used.
 * Since      0.1 */
#ifndef BELFRY_HANDLER_H
#define BELFRY_HANDLER_H

#include <belfry/run.h>

BELFRY_BEGIN_DECLS

struct belfry_reply; /* opaque: one attempt of one step of one Run */

struct belfry_invocation {
	size_t size;
	struct belfry_id run;
	enum belfry_trigger trigger;
	struct belfry_str schedule;
	struct belfry_str payload; /* byte for byte what was applied with `revision` */
	int64_t revision;
	belfry_time due_at; /* 0 for manual and replay */
	struct belfry_id replayed_from;
	uint32_t attempt;   /* from 1 */
	belfry_fence fence; /* pass it on: the far end can refuse a lower one */
	uint32_t stands_for;
	belfry_duration timeout; /* of this attempt; 0: none */
	/* How many processes were lost while they had the Run in this step, since anything new was stored
	 * of it. Above 0: this call may repeat one that was cut off, with the same attempt and a higher
	 * fence. */
	uint32_t takeovers;
};

/* How a turn ended, where it has ended by the time it is admitted (webhook, exec, chat). */
struct belfry_outcome {
	size_t size;                   /* begin with BELFRY_OUTCOME_INIT: COMPLETED */
	enum belfry_run_status status; /* a terminal one: COMPLETED, FAILED or CANCELLED */
	enum belfry_run_error error;   /* NONE with COMPLETED */
	uint32_t run_flags;            /* BELFRY_RUN_F_OUTPUT_TRUNCATED or 0 */
	struct belfry_str message;     /* public sentence; may be empty */
};

#define BELFRY_OUTCOME_INIT                                                                        \
	{                                                                                          \
		sizeof(struct belfry_outcome), BELFRY_STATUS_COMPLETED, BELFRY_RUN_ERROR_NONE, 0,  \
		{                                                                                  \
			NULL, 0                                                                    \
		}                                                                                  \
	}

/* Where a handler is given to belfry_scheduler_start the struct itself is copied; `data` and what it leads
 * to is borrowed until stop has answered BELFRY_OK, or close. */
struct belfry_handler {
	size_t size; /* sizeof(struct belfry_handler) */
	void *data;  /* the host's own, passed to each call */

	/* Start the Session of a Run. Answer with belfry_reply_session, _retry or _permanent. */
	void (*start_session)(void *data, const struct belfry_invocation *invocation,
			struct belfry_reply *reply);

	/* Admit the turn in the Session named. Answer with belfry_reply_turn, _retry or _permanent. */
	void (*admit_turn)(void *data, const struct belfry_invocation *invocation,
			struct belfry_str session, struct belfry_reply *reply);

	/* May be NULL. The attempt is over for the provider (its time limit, or the Run was
	 * cancelled): stop working on it. The reply handle still has to be given back. */
	void (*cancel)(void *data, struct belfry_id run, belfry_fence fence);

	/* May be NULL; both or none. belfry_scheduler_start calls hold once, before the provider has the
	 * handler, and release before it returns where it fails; a start of what is started already calls
	 * neither. After a start that is OK release is called once, when nothing will be called any more: by
	 * the stop that answers BELFRY_OK, or by close. `data` is not touched after release. For handlers that
	 * count who uses them (pool.h, pull.h). */
	void (*hold)(void *data);
	void (*release)(void *data);
};

/* The four answers. Each takes *reply and sets it to NULL; texts are copied. Callable also from within
 * start_session and admit_turn. Never blocks; any thread.
 * Returns BELFRY_OK when the answer was handed to the provider; BELFRY_STALE when the attempt was
 * over (time limit, lost lease, stop): nothing will be done with it; BELFRY_INVALID: *reply is NULL. */

/* session  its name, 1 to 200 bytes of UTF-8, stored before the turn is asked for. Any other fails the Run. */
BELFRY_API enum belfry_status belfry_reply_session(struct belfry_reply **reply,
		struct belfry_str session);
/* turn     its name, at most 200 bytes of UTF-8, may be empty.
 * outcome  how it ended, where it has ended; NULL: it goes on, and conclude will say. */
BELFRY_API enum belfry_status belfry_reply_turn(struct belfry_reply **reply, struct belfry_str turn,
		const struct belfry_outcome *outcome);
/* This attempt failed: again, by the schedule's retry policy.
 * after    microseconds: the target's own Retry-After, 0 where it gave none. One that is given costs no
 *          attempt, and is honoured up to an hour, within a day of the Run's start. It is not shorter than
 *          first_delay, doubled with each attempt before up to max_delay; up to a tenth is added by chance.
 * error    kept with the attempt. A Run without attempts left is FAILED, RETRIES_SPENT
 * message  a sentence for people, may be empty; detail: for the operator's log alone */
BELFRY_API enum belfry_status belfry_reply_retry(struct belfry_reply **reply, belfry_duration after,
		enum belfry_run_error error, struct belfry_str message, struct belfry_str detail);
/* The Run is FAILED for good, with `error`; NONE: BELFRY_RUN_ERROR_PERMANENT. Texts as above. */
BELFRY_API enum belfry_status belfry_reply_permanent(struct belfry_reply **reply,
		enum belfry_run_error error, struct belfry_str message, struct belfry_str detail);

BELFRY_END_DECLS

#endif
