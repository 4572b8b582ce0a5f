/* Open calls: the reply handles that the handler holds. A handle may outlive the runtime: the book that
 * it is entered in is counted, and a call that is over is struck out of it.
 *
 * Threads  all functions from any. */
#ifndef BF_REPLIES_H
#define BF_REPLIES_H

#include <belfry/handler.h>

#include "engine/dispatcher.h"
#include "runtime/inbox.h"

/* Of a Session's or turn's name. */
#define BF_NAME_MAX_BYTES ((size_t)200)

struct bf_reply_book;

/* Answers are posted into `inbox` as the `link` of a struct bf_message of kind `kind` (message.h). */
BF_MUST_CHECK enum belfry_status bf_reply_book_new(struct bf_inbox *inbox,
		struct bf_reply_book **ret_book);
/* No answer is posted from now on; the book goes with its last handle. */
void bf_reply_book_close(struct bf_reply_book *book);

/* A handle for one attempt; NULL: no memory. Owned by whoever answers. */
BF_MUST_CHECK struct belfry_reply *bf_reply_new(struct bf_reply_book *book,
		const struct bf_token *token);
/* The attempt is over: whatever is answered is BELFRY_STALE from now on. */
void bf_reply_cancel(struct bf_reply_book *book, const struct bf_token *token);
/* Every open attempt is over: nobody takes answers any more. */
void bf_reply_book_end(struct bf_reply_book *book);
/* Waits, until then at most (bf_monotonic_in), for every handle to be given back: how many have not been. */
size_t bf_reply_book_wait(struct bf_reply_book *book, struct timespec until);
/* Free a handle that came back as an answer. */
void bf_answer_release(struct bf_answer *answer);

#endif
