/* See tender.h. One loop: wait for a second or for news, tend. The host is tended without the lock. */
#include "belfry/tender.h"

#include "base/env.h"
#include "runtime/thread.h"

/* Until there is news, or for a second; false: it is time to end. */
static bool wait_for_news(struct bf_tender *tender, bool *ret_is_asked)
{
	struct timespec until = bf_monotonic_in(BELFRY_SECOND);

	(void)pthread_mutex_lock(&tender->lock);
	int code = 0;
	while (code == 0 && !tender->is_asked && !tender->is_stopping) {
		code = pthread_cond_timedwait(&tender->news, &tender->lock, &until);
	}
	*ret_is_asked = tender->is_asked;
	tender->is_asked = false;
	bool goes_on = !tender->is_stopping;
	(void)pthread_mutex_unlock(&tender->lock);
	return goes_on;
}

static void *tend(void *data)
{
	struct bf_tender *tender = data;
	bool is_asked;

	while (wait_for_news(tender, &is_asked)) {
		bf_host_tend(tender->host, is_asked);
	}
	return NULL;
}

static void fini(struct bf_tender *tender)
{
	(void)pthread_cond_destroy(&tender->news); /* nobody waits any more */
	(void)pthread_mutex_destroy(&tender->lock);
}

enum belfry_status bf_tender_start(struct bf_tender *tender, struct bf_host *host)
{
	*tender = (struct bf_tender){.host = host};
	enum belfry_status status = bf_condition_init(&tender->news);
	if (status != BELFRY_OK) {
		return status;
	}
	(void)pthread_mutex_init(&tender->lock, NULL); /* a plain mutex: it cannot fail */
	status = bf_thread_start(&tender->thread, tend, tender);
	if (status != BELFRY_OK) {
		fini(tender);
	}
	return status;
}

static void tell(struct bf_tender *tender, bool *what)
{
	(void)pthread_mutex_lock(&tender->lock);
	*what = true;
	(void)pthread_cond_signal(&tender->news);
	(void)pthread_mutex_unlock(&tender->lock);
}

void bf_tender_ask(struct bf_tender *tender)
{
	tell(tender, &tender->is_asked);
}

void bf_tender_stop(struct bf_tender *tender)
{
	tell(tender, &tender->is_stopping);
	(void)pthread_join(tender->thread, NULL);
	fini(tender);
}
