/* The scheduler: what a program that embeds Belfry holds. It opens a provider (our own engine, unless
 * another is named) and the store that the provider works on, and calls both with every argument and
 * every answer checked.
 *
 *   open -> reconcile and start, in either order (B22) -> apply, enqueue, ... -> stop -> close
 *
 * Shapes     option structs with their size first: initialise with the _INIT macro, or with zeros and
 *            the size. `engine`, a struct within one, has a size of its own; it may be all zero.
 * Ownership  arguments are borrowed for the call; answers that point somewhere point into the caller's
 *            arena and live as long as that.
 * Threads    all functions but open and close from any thread, at once. They may block for as long as
 *            `engine.timeout` says.
 * Answers    `err` may be NULL, and is written on failure alone; its message is a sentence for people
 *            without a word of an engine, a database or a path, its detail is for the operator's log.
 *            (What open refuses is for whoever set it up, and may name a path.) From every function,
 *            besides what each names:
 *            BELFRY_UNAVAILABLE, BELFRY_UNKNOWN, BELFRY_BUSY  store or engine cannot now: ask again
 *            BELFRY_CANNOT    this provider does not offer it
 *            BELFRY_INVALID   a pointer is missing, a value is outside its list
 *            BELFRY_CORRUPT   the provider's answer cannot be: nothing of it is used
 *            BELFRY_NOMEM
 * Numbers    T043, B22 and the like are statements of docs/contract.md (installed: share/doc/belfry), which
 *            every provider is tested by; "decision 6" is one of docs/architecture.md of the sources.
 * Since      0.2 */
#ifndef BELFRY_SCHEDULER_H
#define BELFRY_SCHEDULER_H

#include <belfry/provider.h>

BELFRY_BEGIN_DECLS

struct belfry_scheduler; /* opaque */

struct belfry_scheduler_options {
	size_t size;
	/* "embedded", or "none" (the program runs without schedules: apply, enqueue and the lists answer
	 * BELFRY_CANNOT); NULL: "embedded". */
	const char *provider;
	/* A provider of the program's own, borrowed until close; goes before `provider`. What it must
	 * keep: docs/contract-provider.md. */
	const struct belfry_provider_ops *provider_ops;
	/* Where the engine keeps its state: "sqlite:PATH" (a file of its own, made where there is none)
	 * or "memory:" (gone with the process). NULL where `engine.store` is set, or no store is needed. */
	const char *store;
	/* What the provider is told. `engine.store`: a store that the program opened and migrated,
	 * borrowed until close; goes before `store`. */
	struct belfry_provider_options engine;
};

#define BELFRY_SCHEDULER_OPTIONS_INIT                                                              \
	{                                                                                          \
		sizeof(struct belfry_scheduler_options), NULL, NULL, NULL,                         \
				BELFRY_PROVIDER_OPTIONS_INIT                                       \
	}

/* Opens the store, brings it to this version's schema, and makes the provider. Nothing is dispatched
 * yet. Logs the provider's three properties once (T086).
 *
 * ret_scheduler  owned: belfry_scheduler_close.
 * BELFRY_CONFIGURATION names what is missing or wrong and both remedies (B23); BELFRY_BUSY: another
 * process has the file open, the message says which. Blocks while a schema is migrated. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_open(
		const struct belfry_scheduler_options *options,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err);

/* Stops with no time to drain where stop was not called, and frees: what is open goes on at the next start.
 * Reply handles that the handler still holds may be given back afterwards. NULL is fine. */
BELFRY_API void belfry_scheduler_close(struct belfry_scheduler *scheduler);

/* Copied when the scheduler was opened: they do not change. Any thread, never blocks. */
BELFRY_API const struct belfry_properties *belfry_scheduler_properties(
		const struct belfry_scheduler *scheduler);

/* Begin to dispatch. What an earlier process left resumes by itself (T043). A second call changes
 * nothing (T082); after stop it is BELFRY_INVALID.
 *
 * handler  copied; what its `data` leads to is borrowed until stop has answered BELFRY_OK, or until close. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_start(
		struct belfry_scheduler *scheduler, const struct belfry_handler *handler,
		struct belfry_error *err);

/* Let open calls end for at most `drain`, hand back the rest (another process, or the next start, goes
 * on with them), end the incarnation. BELFRY_BUSY: the handler still holds reply handles; nothing comes
 * of them any more, and stop may be called again to wait for them. Everything but start works on. */
BELFRY_API enum belfry_status belfry_scheduler_stop(struct belfry_scheduler *scheduler,
		belfry_duration drain, struct belfry_error *err);

/* Revisions. Each apply and each remove of an id comes with a number of the program's own, and the engine
 * keeps the highest that it knows of that id, that of a removal for seven days. An apply takes effect where its
 * number is higher than the known one, a removal also where it is equal (it takes back what was applied under
 * that number). Everything else is BELFRY_OK and changes nothing: it is known already, or something later is. So
 * a call may be repeated, and one that comes late cannot undo a newer one. To apply an id again after its
 * removal takes a number higher than the removal's; reconcile removes under the known number plus one.
 * A program that keeps no number of its own takes the clock's microseconds at each change. With a log
 * (options.engine.log) a line of level 3 says where a call was known already, and belfry_scheduler_state which
 * revision is. */

/* Make the schedules exactly those of the iterator (provider.h): what has a higher revision is put, what is
 * not in it removed. Makes no Run. BELFRY_INVALID (the ids do not rise: nothing was changed), and, where the
 * iterator has no `refused`, what the first schedule that is refused was refused with. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_reconcile(
		struct belfry_scheduler *scheduler, struct belfry_schedule_iterator *schedules,
		struct belfry_error *err);

/* Put one schedule that is new or has a higher revision than the known one; a lower or equal revision
 * changes nothing and answers BELFRY_OK (Revisions, above). Disabled is final when it answers.
 *
 * schedule  borrowed; begin with BELFRY_SCHEDULE_INIT.
 * BELFRY_INVALID_SCHEDULE (rule or zone; err->position is the byte of the rule, from 1), BELFRY_INVALID (id,
 * revision, created_at, flags, policies or size), BELFRY_TOO_LARGE (the payload), BELFRY_CAPACITY
 * (max_active_schedules). err->pointer says which member, as a path with the names that JSON has for it
 * ("/policies/retry/max_attempts", "/timezone"); empty where it is none. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_apply(
		struct belfry_scheduler *scheduler, const struct belfry_schedule *schedule,
		struct belfry_error *err);

/* Remove one; its Runs stay. An unknown id succeeds, and so does a revision below the known one, which
 * removes nothing.
 *
 * revision  that of the last apply, or a higher one (Revisions, above); from 1. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_remove(
		struct belfry_scheduler *scheduler, struct belfry_str schedule, int64_t revision,
		struct belfry_error *err);

/* Run now, or replay: the Run is stored when this answers. Begin with BELFRY_ENQUEUE_INIT (Run now). With a
 * request_key it may be repeated: the Run that the key made is the answer.
 * BELFRY_NOT_FOUND, BELFRY_KEY_REUSED. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_enqueue(
		struct belfry_scheduler *scheduler, struct belfry_enqueue *request,
		struct belfry_error *err);

/* Newest first, at most 200; older ones with `before`, the id of the last one had. Begin with
 * BELFRY_RUN_QUERY_INIT. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_list_runs(
		struct belfry_scheduler *scheduler, struct belfry_run_query *query,
		struct belfry_arena *arena, struct belfry_error *err);

/* ret_run  its texts are borrowed from the arena. BELFRY_NOT_FOUND. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_get_run(
		struct belfry_scheduler *scheduler, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err);

/* ---- what a provider may offer (struct belfry_provider_more_ops); else BELFRY_CANNOT ------------ */

/* ids -> as many states, in their order, in one read; is_known is false where there is no such schedule. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_state(
		struct belfry_scheduler *scheduler, const struct belfry_str *ids, size_t count,
		struct belfry_arena *arena, struct belfry_schedule_state **ret_states,
		struct belfry_error *err);
/* What became of a due time: its Run, or the reason that there is none. Begin with BELFRY_WHY_INIT.
 * BELFRY_NOT_FOUND. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_why(
		struct belfry_scheduler *scheduler, struct belfry_why *why,
		struct belfry_arena *arena, struct belfry_error *err);
/* End a Run whose turn is not stored yet. BELFRY_CONFLICT: it has ended otherwise, or its turn is
 * admitted. BELFRY_NOT_FOUND. More with the method in provider.h. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_cancel(
		struct belfry_scheduler *scheduler, struct belfry_id run, struct belfry_str message,
		struct belfry_error *err);
/* Say how a dispatched Run ended; the first answer stays. Begin with BELFRY_OUTCOME_INIT. BELFRY_CONFLICT:
 * it has ended otherwise. BELFRY_STALE: nothing was started that could have ended. BELFRY_NOT_FOUND. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_conclude(
		struct belfry_scheduler *scheduler, struct belfry_id run,
		const struct belfry_outcome *outcome, struct belfry_error *err);
/* The attempts that are kept of a Run, oldest first. BELFRY_NOT_FOUND. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_attempts(
		struct belfry_scheduler *scheduler, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err);
/* Counts since it was opened, and what is open now. Begin with
 * BELFRY_PROVIDER_METRICS_INIT: ret_metrics->size says how much of it is written. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_metrics(
		struct belfry_scheduler *scheduler, struct belfry_provider_metrics *ret_metrics,
		struct belfry_error *err);
/* Coming due times after `from` (microseconds UTC): at most `max` of them into ret_due. Those of a disabled
 * schedule too. BELFRY_NOT_FOUND. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_scheduler_due(
		struct belfry_scheduler *scheduler, struct belfry_str schedule, belfry_time from,
		belfry_time *ret_due, size_t max, size_t *ret_count, struct belfry_error *err);

BELFRY_END_DECLS

#endif
