/* The inbox of a machine's thread: messages in order, a descriptor that wakes, a timer on the boot
 * clock, and the news that the wall clock was set.
 *
 * Bound    while its owner sits in a slow store call, of what is told again and again (cover, tickets, the
 *          low mark, a kick, a beat) one waits for each incarnation: bf_runtime_post merges them. Of the
 *          rest there is a request for each waiting caller, an answer for each open call, a born for
 *          each commit of the planner, one for each loss, step of the clock and stop, and one
 *          for each Run that a host has just asked for or ended.
 * Threads  post from any; everything else from the one thread that owns it. */
#ifndef BF_INBOX_H
#define BF_INBOX_H

#include <pthread.h>

#include <belfry/status.h>

#include "base/env.h"
#include "base/list.h"

struct bf_inbox {
	pthread_mutex_t lock;
	struct bf_list messages;
	int wake_fd;
	int timer_fd; /* boot clock */
	int clock_fd; /* wall clock, armed for a far day: readable when the clock was set */
};

BF_MUST_CHECK enum belfry_status bf_inbox_init(struct bf_inbox *inbox);
/* Messages that are still inside are the caller's to free: take them first. */
void bf_inbox_fini(struct bf_inbox *inbox);

/* The link is the inbox's until it is taken. */
void bf_inbox_post(struct bf_inbox *inbox, struct bf_link *link);

enum bf_inbox_merge {
	BF_INBOX_KEEP_BOTH,
	BF_INBOX_KEEP_WAITING, /* it says what the news say, or has been told */
	BF_INBOX_KEEP_NEWS
};
/* Compares the news with a message that waits, and may write into that one. The inbox is locked. */
typedef enum bf_inbox_merge (*bf_inbox_merge_fn)(struct bf_link *waiting, struct bf_link *news);
/* Post, where at most one of two messages is to wait: `merge` is asked about each that waits, from the
 * newest on, until it keeps one of the two. Returns the other one, which is the caller's again; NULL:
 * both are kept. */
struct bf_link *bf_inbox_post_merged(struct bf_inbox *inbox, struct bf_link *link,
		bf_inbox_merge_fn merge);
/* Without a message: the owner looks again. */
void bf_inbox_wake(struct bf_inbox *inbox);
/* The oldest message, NULL: none. *ret_has_more: another one waits behind it. */
struct bf_link *bf_inbox_take(struct bf_inbox *inbox, bool *ret_has_more);
bool bf_inbox_is_empty(struct bf_inbox *inbox);
/* Until a message comes, `until` has come, or the wall clock was set (then *ret_clock_set). */
void bf_inbox_wait(struct bf_inbox *inbox, struct bf_boot_time until, bool *ret_clock_set);

#endif
