/* A pool of threads that look names up.
 *
 * Invariants  at most max_threads threads, made when there is work and none is idle. The struct is
 *             counted: one reference for the owner, one for each thread, because a thread may hang in
 *             the system's lookup long after the owner is gone.
 * Not here    what is found is neither judged nor remembered. */
#include "host/targets/resolver.h"

#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/str.h"

struct bf_resolver {
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t has_work;
	pthread_cond_t is_gone; /* an idle thread has left */
	struct bf_list pending;
	unsigned references;
	unsigned threads;
	unsigned idle;
	bool is_stopped;
	/* constant */
	unsigned max_threads;
	bf_lookup_fn find;
	void *find_data;
	bf_lookup_done_fn done;
	void *done_data;
};

void bf_lookup_free(struct bf_lookup *lookup)
{
	if (lookup != NULL) {
		bf_free(lookup->host);
		bf_free(lookup);
	}
}

static void take_addresses(const struct addrinfo *list, struct bf_lookup *lookup)
{
	for (const struct addrinfo *at = list; at != NULL && lookup->count < BF_LOOKUP_ADDRESSES;
			at = at->ai_next) {
		if (bf_address_from_sockaddr(at->ai_addr, at->ai_addrlen,
				    &lookup->addresses[lookup->count], NULL) == BELFRY_OK) {
			lookup->count++;
		}
	}
}

static void find_by_system(void *data, struct bf_lookup *lookup)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;

	(void)data;
	int code = getaddrinfo(lookup->host, NULL, &hints, &list);
	if (code != 0) {
		(void)snprintf(lookup->failure, sizeof(lookup->failure), "%s", gai_strerror(code));
		return;
	}
	take_addresses(list, lookup);
	freeaddrinfo(list);
	lookup->is_found = lookup->count > 0;
}

enum belfry_status bf_resolver_new(unsigned max_threads, bf_lookup_fn find, void *find_data,
		bf_lookup_done_fn done, void *done_data, struct bf_resolver **ret_resolver)
{
	struct bf_resolver *resolver = bf_alloc(sizeof(*resolver));

	if (resolver == NULL) {
		return BELFRY_NOMEM;
	}
	/* Default attributes cannot fail on this system. */
	(void)pthread_mutex_init(&resolver->lock, NULL);
	(void)pthread_cond_init(&resolver->has_work, NULL);
	(void)pthread_cond_init(&resolver->is_gone, NULL);
	resolver->references = 1;
	resolver->max_threads = BF_MAX(max_threads, 1);
	resolver->find = find != NULL ? find : find_by_system;
	resolver->find_data = find_data;
	resolver->done = done;
	resolver->done_data = done_data;
	*ret_resolver = resolver;
	return BELFRY_OK;
}

/* Called with the lock held, which is given up. */
static void drop_reference(struct bf_resolver *resolver)
{
	bool is_last = --resolver->references == 0;

	(void)pthread_mutex_unlock(&resolver->lock);
	if (is_last) {
		(void)pthread_cond_destroy(&resolver->has_work);
		(void)pthread_cond_destroy(&resolver->is_gone);
		(void)pthread_mutex_destroy(&resolver->lock);
		bf_free(resolver);
	}
}

static struct bf_lookup *take_pending(struct bf_resolver *resolver)
{
	struct bf_link *link = resolver->pending.first;

	if (link == NULL) {
		return NULL;
	}
	bf_list_remove(link);
	return BF_CONTAINER(link, struct bf_lookup, link);
}

/* Waits for work with the lock held. NULL: stop. */
static struct bf_lookup *wait_for_work(struct bf_resolver *resolver)
{
	struct bf_lookup *lookup = NULL;

	resolver->idle++;
	while (!resolver->is_stopped && (lookup = take_pending(resolver)) == NULL) {
		(void)pthread_cond_wait(&resolver->has_work, &resolver->lock);
	}
	resolver->idle--;
	return lookup;
}

static void *run(void *data)
{
	struct bf_resolver *resolver = data;
	struct bf_lookup *lookup;

	(void)pthread_mutex_lock(&resolver->lock);
	while ((lookup = wait_for_work(resolver)) != NULL) {
		(void)pthread_mutex_unlock(&resolver->lock);
		resolver->find(resolver->find_data, lookup);
		(void)pthread_mutex_lock(&resolver->lock);
		if (resolver->is_stopped) {
			bf_lookup_free(lookup);
			break;
		}
		resolver->done(resolver->done_data, lookup);
	}
	(void)pthread_cond_broadcast(&resolver->is_gone);
	drop_reference(resolver);
	return NULL;
}

/* With the lock held. No thread at all is a failure; fewer than wanted is not. */
static enum belfry_status start_thread(struct bf_resolver *resolver)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all;
	sigset_t old;

	if (pthread_attr_init(&attributes) != 0) {
		return BELFRY_NOMEM;
	}
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* Signals belong to the main thread. */
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	int code = pthread_create(&thread, &attributes, run, resolver);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attributes);
	if (code != 0) {
		return resolver->threads > 0 ? BELFRY_OK : BELFRY_UNAVAILABLE;
	}
	resolver->threads++;
	resolver->references++;
	return BELFRY_OK;
}

enum belfry_status bf_resolver_ask(struct bf_resolver *resolver, struct belfry_str host,
		uint16_t port)
{
	enum belfry_status status = BELFRY_OK;
	struct bf_lookup *lookup = bf_alloc(sizeof(*lookup));

	if (lookup == NULL || (lookup->host = bf_str_dup(host)) == NULL) {
		bf_lookup_free(lookup);
		return BELFRY_NOMEM;
	}
	lookup->port = port;
	(void)pthread_mutex_lock(&resolver->lock);
	bf_list_append(&resolver->pending, &lookup->link);
	if (resolver->pending.count > resolver->idle && resolver->threads < resolver->max_threads) {
		status = start_thread(resolver);
	}
	if (status != BELFRY_OK) {
		bf_list_remove(&lookup->link);
	}
	(void)pthread_cond_signal(&resolver->has_work);
	(void)pthread_mutex_unlock(&resolver->lock);
	if (status != BELFRY_OK) {
		bf_lookup_free(lookup);
	}
	return status;
}

void bf_resolver_free(struct bf_resolver *resolver)
{
	struct bf_lookup *lookup;

	if (resolver == NULL) {
		return;
	}
	(void)pthread_mutex_lock(&resolver->lock);
	resolver->is_stopped = true;
	while ((lookup = take_pending(resolver)) != NULL) {
		bf_lookup_free(lookup);
	}
	(void)pthread_cond_broadcast(&resolver->has_work);
	while (resolver->idle > 0) {
		(void)pthread_cond_wait(&resolver->is_gone, &resolver->lock);
	}
	drop_reference(resolver);
}
