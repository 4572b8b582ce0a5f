/* The inbox: eventfd, timerfd on CLOCK_BOOTTIME, and a timerfd on CLOCK_REALTIME that the kernel cancels
 * when the wall clock is set (TFD_TIMER_CANCEL_ON_SET). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "runtime/inbox.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* 2100: a timer that is there only to be cancelled. */
#define FAR_DAY_S INT64_C(4102444800)

static void arm_clock(struct bf_inbox *inbox)
{
	struct itimerspec far = {.it_value = {.tv_sec = FAR_DAY_S}};

	(void)timerfd_settime(inbox->clock_fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &far,
			NULL); /* where it cannot be armed, beats notice the step */
}

enum belfry_status bf_inbox_init(struct bf_inbox *inbox)
{
	*inbox = (struct bf_inbox){
			.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
			.timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK),
			.clock_fd = timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC | TFD_NONBLOCK),
	};
	if (inbox->wake_fd < 0 || inbox->timer_fd < 0 || inbox->clock_fd < 0 ||
			pthread_mutex_init(&inbox->lock, NULL) != 0) {
		bf_inbox_fini(inbox);
		return BELFRY_NOMEM;
	}
	arm_clock(inbox);
	return BELFRY_OK;
}

static void close_fd(int *fd)
{
	if (*fd >= 0) {
		(void)close(*fd); /* nothing was written that could be lost */
	}
	*fd = -1;
}

void bf_inbox_fini(struct bf_inbox *inbox)
{
	close_fd(&inbox->wake_fd);
	close_fd(&inbox->timer_fd);
	close_fd(&inbox->clock_fd);
	(void)pthread_mutex_destroy(&inbox->lock);
}

void bf_inbox_wake(struct bf_inbox *inbox)
{
	uint64_t one = 1;

	/* A full counter wakes as well as a new one. */
	if (write(inbox->wake_fd, &one, sizeof(one)) < 0 && errno != EAGAIN) {
		BF_ASSERT(errno == EINTR);
	}
}

void bf_inbox_post(struct bf_inbox *inbox, struct bf_link *link)
{
	(void)pthread_mutex_lock(&inbox->lock);
	bool was_empty = inbox->messages.count == 0;
	bf_list_append(&inbox->messages, link);
	(void)pthread_mutex_unlock(&inbox->lock);
	if (was_empty) {
		bf_inbox_wake(inbox);
	}
}

struct bf_link *bf_inbox_post_merged(struct bf_inbox *inbox, struct bf_link *link,
		bf_inbox_merge_fn merge)
{
	enum bf_inbox_merge kept = BF_INBOX_KEEP_BOTH;
	struct bf_link *waiting;

	(void)pthread_mutex_lock(&inbox->lock);
	bool was_empty = inbox->messages.count == 0;
	for (waiting = inbox->messages.last; waiting != NULL; waiting = waiting->previous) {
		kept = merge(waiting, link);
		if (kept != BF_INBOX_KEEP_BOTH) {
			break;
		}
	}
	if (kept == BF_INBOX_KEEP_NEWS) {
		bf_list_remove(waiting);
	}
	if (kept != BF_INBOX_KEEP_WAITING) {
		bf_list_append(&inbox->messages, link);
	}
	(void)pthread_mutex_unlock(&inbox->lock);
	if (was_empty) {
		bf_inbox_wake(inbox);
	}
	return kept == BF_INBOX_KEEP_WAITING ? link : waiting;
}

struct bf_link *bf_inbox_take(struct bf_inbox *inbox, bool *ret_has_more)
{
	(void)pthread_mutex_lock(&inbox->lock);
	struct bf_link *link = inbox->messages.first;
	if (link != NULL) {
		bf_list_remove(link);
	}
	*ret_has_more = inbox->messages.count > 0;
	(void)pthread_mutex_unlock(&inbox->lock);
	return link;
}

bool bf_inbox_is_empty(struct bf_inbox *inbox)
{
	(void)pthread_mutex_lock(&inbox->lock);
	bool is_empty = inbox->messages.count == 0;
	(void)pthread_mutex_unlock(&inbox->lock);
	return is_empty;
}

static void set_timer(struct bf_inbox *inbox, struct bf_boot_time until)
{
	/* Zero would disarm it, and a time before the boot is refused: one nanosecond is as good as now. */
	int64_t at = BF_MAX(until.us, 0);
	struct itimerspec timer = {.it_value = {
						   .tv_sec = at / BELFRY_SECOND,
						   .tv_nsec = at % BELFRY_SECOND * 1000 + 1,
				   }};

	(void)timerfd_settime(inbox->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

static void drain_fd(int fd)
{
	uint64_t count;

	while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR) {
	}
}

void bf_inbox_wait(struct bf_inbox *inbox, struct bf_boot_time until, bool *ret_clock_set)
{
	struct pollfd fds[] = {
			{.fd = inbox->wake_fd, .events = POLLIN},
			{.fd = inbox->timer_fd, .events = POLLIN},
			{.fd = inbox->clock_fd, .events = POLLIN},
	};

	*ret_clock_set = false;
	if (!bf_inbox_is_empty(inbox)) {
		drain_fd(inbox->wake_fd);
		return;
	}
	set_timer(inbox, until);
	/* A bound of its own, in case the timer could not be set. */
	if (poll(fds, BF_COUNT(fds), 60 * 1000) < 0) {
		return;
	}
	if (fds[0].revents != 0) {
		drain_fd(inbox->wake_fd);
	}
	if (fds[1].revents != 0) {
		drain_fd(inbox->timer_fd);
	}
	if (fds[2].revents != 0) {
		drain_fd(inbox->clock_fd);
		arm_clock(inbox);
		*ret_clock_set = true;
	}
}
