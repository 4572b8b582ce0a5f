/* The pull interface: a handler (handler.h) for event loops and language bindings. Calls wait in a
 * queue; a descriptor is readable while some do; the program takes one, works as it likes, and reports
 * with the reply handle.
 *
 *   poll(belfry_pull_fd) -> belfry_pull_next until BELFRY_NOT_FOUND -> belfry_reply_...(&item->reply)
 *
 * Ownership  an item is the program's until belfry_pull_item_free; what it points to lives as long.
 * Threads    any, also several that take items at once. No function here blocks.
 * Since      0.2 */
#ifndef BELFRY_PULL_H
#define BELFRY_PULL_H

#include <belfry/handler.h>

BELFRY_BEGIN_DECLS

struct belfry_pull; /* opaque */

enum belfry_pull_kind {
	BELFRY_PULL_START_SESSION, /* report with belfry_reply_session, _retry or _permanent */
	BELFRY_PULL_ADMIT_TURN,    /* report with belfry_reply_turn, _retry or _permanent */
	BELFRY_PULL_CANCEL /* the attempt of that Run and fence is over: stop working on it, and on the
			    * Session or turn that it has reported. Nothing is to be reported with this
			    * item; a reply handle of the call that it speaks of still has to be given
			    * back. A call that was not taken leaves the queue without one. */
};

struct belfry_pull_item {
	size_t size;
	enum belfry_pull_kind kind;
	const struct belfry_invocation
			*invocation; /* the item's; CANCEL: `run` and `fence` alone */
	struct belfry_str session;   /* ADMIT_TURN: the one that is stored */
	/* The handle to report with; NULL with CANCEL, and once it was reported. One that is still here
	 * when the item is freed is answered with belfry_reply_retry. */
	struct belfry_reply *reply;
};

struct belfry_pull_options {
	size_t size;
	uint32_t max_waiting; /* calls that wait untaken; past it they are put off, by a second and
			       * more, which costs no attempt. 0: 1000 */
};

#define BELFRY_PULL_OPTIONS_INIT                                                                   \
	{                                                                                          \
		sizeof(struct belfry_pull_options), 0                                              \
	}

/* ret_pull  owned: belfry_pull_free. options may be NULL. BELFRY_NOMEM, BELFRY_UNAVAILABLE (no
 * descriptor is free). */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_pull_new(
		const struct belfry_pull_options *options, struct belfry_pull **ret_pull,
		struct belfry_error *err);
/* Calls that were not taken are given back to the provider. Items that were taken outlive it. NULL is fine.
 * Stop the scheduler first: while it goes on, each call that comes is put off by a second and more, which costs
 * no attempt, and the memory and the descriptor are kept until the scheduler is stopped or closed. */
BELFRY_API void belfry_pull_free(struct belfry_pull *pull);
/* What belfry_scheduler_start wants; borrowed from the pull. NULL has none. */
BELFRY_API const struct belfry_handler *belfry_pull_handler(struct belfry_pull *pull);
/* Readable (POLLIN) while belfry_pull_next has an item. Poll it, never read it. Borrowed. -1 for
 * NULL. */
BELFRY_API int belfry_pull_fd(const struct belfry_pull *pull);
/* The next item, oldest call first. BELFRY_NOT_FOUND: none waits. BELFRY_INVALID: an argument is NULL. */
BELFRY_API BELFRY_MUST_CHECK enum belfry_status belfry_pull_next(struct belfry_pull *pull,
		struct belfry_pull_item **ret_item);
/* NULL is fine. */
BELFRY_API void belfry_pull_item_free(struct belfry_pull_item *item);

BELFRY_END_DECLS

#endif
