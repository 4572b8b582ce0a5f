/* The inbox of a machine's thread: messages in order, a descriptor that wakes, a timer on the boot
 * clock, and the news that the wall clock was set.
 *
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
/* Without a message: the owner looks again. */
void bf_inbox_wake(struct bf_inbox *inbox);
/* The oldest message, NULL: none. *ret_has_more: another one waits behind it. */
struct bf_link *bf_inbox_take(struct bf_inbox *inbox, bool *ret_has_more);
bool bf_inbox_is_empty(struct bf_inbox *inbox);
/* Until a message comes, `until` has come, or the wall clock was set (then *ret_clock_set). */
void bf_inbox_wait(struct bf_inbox *inbox, struct bf_boot_time until, bool *ret_clock_set);

#endif
