/* The hub: one log of changes that all readers share, and a position in it for each reader.
 *
 * Invariants  a deployment has at most one entry. An entry waits (it is in `waiting`), or is in the log
 *             under the number of its last published change, or both: published before, and changed
 *             again since. Between two publications the log only loses entries, at its old end, so a
 *             reader that comes at any moment finds what it has not seen, however often that changes.
 *             A reader whose position is below `floor` may have missed an entry that was dropped.
 *             A change that finds nobody listening is forgotten: a reader joins first, and is then
 *             told to read.
 * Not here    threads and clients (http/api_events.c). */
#include "host/events.h"

#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/list.h"
#include "model/run.h"

#define BUCKETS 1024

struct entry {
	struct bf_link log_link;
	struct bf_link waiting_link;
	struct entry *next; /* in its bucket, or among the free ones */
	struct belfry_id id;
	uint64_t number; /* in the log */
};

struct bf_events {
	const struct bf_env *env;
	atomic_uint listeners;
	pthread_mutex_t lock;
	pthread_cond_t news;
	struct bf_list log;     /* by rising number */
	struct bf_list waiting; /* for the next batch, in the order of their first change in it */
	bool is_lost;           /* the next batch is: read everything again */
	bool is_end;
	uint64_t last; /* number given */
	uint64_t floor;
	struct bf_boot_time published_at; /* 0: never */
	struct entry *free;
	struct entry *buckets[BUCKETS];
	uint64_t seed;
	struct entry entries[BF_EVENTS_KEPT];
};

/* ---- entries ----------------------------------------------------------------------------------- */

static struct entry **bucket_of(struct bf_events *events, struct belfry_id id)
{
	return &events->buckets[bf_hash64(events->seed, id.bytes, sizeof(id.bytes)) % BUCKETS];
}

static struct entry *find_entry(struct bf_events *events, struct belfry_id id)
{
	struct entry *entry = *bucket_of(events, id);

	while (entry != NULL && bf_id_compare(entry->id, id) != 0) {
		entry = entry->next;
	}
	return entry;
}

static void drop_entry(struct bf_events *events, struct entry *entry)
{
	struct entry **at = bucket_of(events, entry->id);

	while (*at != entry) {
		at = &(*at)->next;
	}
	*at = entry->next;
	bf_list_remove(&entry->log_link);
	bf_list_remove(&entry->waiting_link);
	entry->next = events->free;
	events->free = entry;
}

/* The oldest that is not about to be published anew; NULL: all of them are. */
static struct entry *oldest_idle(struct bf_events *events)
{
	for (struct bf_link *link = events->log.first; link != NULL; link = link->next) {
		struct entry *entry = BF_CONTAINER(link, struct entry, log_link);
		if (entry->waiting_link.list == NULL) {
			return entry;
		}
	}
	return NULL;
}

/* A free one, at the cost of an old one in the log; NULL: all of them wait. */
static struct entry *take_entry(struct bf_events *events)
{
	struct entry *entry = events->free;

	if (entry == NULL) {
		entry = oldest_idle(events);
		if (entry == NULL) {
			return NULL;
		}
		events->floor = BF_MAX(events->floor, entry->number);
		drop_entry(events, entry);
	}
	events->free = entry->next;
	return entry;
}

/* false: there is no room for it. */
static bool note_change(struct bf_events *events, struct belfry_id id)
{
	struct entry *entry = find_entry(events, id);

	if (entry == NULL) {
		entry = take_entry(events);
		if (entry == NULL) {
			return false;
		}
		entry->id = id;
		entry->next = *bucket_of(events, id);
		*bucket_of(events, id) = entry;
	}
	if (entry->waiting_link.list == NULL) {
		bf_list_append(&events->waiting, &entry->waiting_link);
	}
	return true;
}

/* ---- changes ----------------------------------------------------------------------------------- */

void bf_events_changed(struct bf_events *events, struct belfry_str deployment)
{
	struct belfry_id id;

	if (events == NULL || atomic_load(&events->listeners) == 0) {
		return;
	}
	bool is_known = belfry_id_parse(deployment, &id) == BELFRY_OK;
	(void)pthread_mutex_lock(&events->lock); /* cannot fail on a plain mutex */
	if (!events->is_lost && (!is_known || !note_change(events, id))) {
		events->is_lost = true;
	}
	(void)pthread_cond_signal(&events->news);
	(void)pthread_mutex_unlock(&events->lock);
}

void bf_events_lost(struct bf_events *events)
{
	if (events == NULL || atomic_load(&events->listeners) == 0) {
		return;
	}
	(void)pthread_mutex_lock(&events->lock);
	events->is_lost = true;
	(void)pthread_cond_signal(&events->news);
	(void)pthread_mutex_unlock(&events->lock);
}

/* ---- publishing -------------------------------------------------------------------------------- */

static void drop_all(struct bf_events *events)
{
	while (events->log.first != NULL) {
		drop_entry(events, BF_CONTAINER(events->log.first, struct entry, log_link));
	}
	while (events->waiting.first != NULL) {
		drop_entry(events, BF_CONTAINER(events->waiting.first, struct entry, waiting_link));
	}
	events->floor = ++events->last;
	events->is_lost = false;
}

static void publish(struct bf_events *events)
{
	if (events->is_lost) {
		drop_all(events);
	}
	while (events->waiting.first != NULL) {
		struct entry *entry = BF_CONTAINER(events->waiting.first, struct entry,
				waiting_link);
		bf_list_remove(&entry->waiting_link);
		entry->number = ++events->last;
		bf_list_move(&events->log, &entry->log_link);
	}
}

/* How long the next batch has to wait yet. */
static belfry_duration pause_left(const struct bf_events *events, struct bf_boot_time now)
{
	return events->published_at.us == 0
			? 0
			: BF_EVENTS_PAUSE - bf_boot_since(now, events->published_at);
}

/* true: a batch is due. Gives the lock up while it waits. */
static bool wait_once(struct bf_events *events)
{
	if (events->waiting.first == NULL && !events->is_lost) {
		(void)pthread_cond_wait(&events->news, &events->lock);
		return false;
	}
	struct bf_boot_time now = events->env->boot(events->env->data);
	belfry_duration left = pause_left(events, now);
	if (left > 0) {
		struct timespec until = bf_monotonic_in(left);
		(void)pthread_cond_timedwait(&events->news, &events->lock, &until);
		return false;
	}
	events->published_at = now;
	return true;
}

bool bf_events_wait(struct bf_events *events)
{
	bool is_due = false;

	(void)pthread_mutex_lock(&events->lock);
	while (!events->is_end && !is_due) {
		is_due = wait_once(events);
	}
	if (is_due) {
		publish(events);
	}
	(void)pthread_mutex_unlock(&events->lock);
	return is_due;
}

void bf_events_end(struct bf_events *events)
{
	(void)pthread_mutex_lock(&events->lock);
	events->is_end = true;
	(void)pthread_cond_signal(&events->news);
	(void)pthread_mutex_unlock(&events->lock);
}

/* ---- reading ----------------------------------------------------------------------------------- */

void bf_events_join(struct bf_events *events, struct bf_events_reader *ret_reader)
{
	(void)atomic_fetch_add(&events->listeners, 1);
	*ret_reader = (struct bf_events_reader){.is_resync = true};
}

void bf_events_leave(struct bf_events *events)
{
	(void)atomic_fetch_sub(&events->listeners, 1);
}

/* The oldest entry that this reader has not seen; NULL: none. Looked for from the new end, where the
 * readers that keep up are. */
static struct bf_link *first_unseen(const struct bf_events *events, uint64_t seen)
{
	struct bf_link *found = NULL;

	for (struct bf_link *link = events->log.last; link != NULL; link = link->previous) {
		if (BF_CONTAINER(link, struct entry, log_link)->number <= seen) {
			break;
		}
		found = link;
	}
	return found;
}

size_t bf_events_read(struct bf_events *events, struct bf_events_reader *reader, size_t max,
		struct belfry_id *ret_deployments, bool *ret_is_resync)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&events->lock);
	*ret_is_resync = reader->is_resync || reader->seen < events->floor;
	if (*ret_is_resync) {
		reader->is_resync = false;
		reader->seen = events->last;
	}
	struct bf_link *link = first_unseen(events, reader->seen);
	for (; link != NULL && count < max; link = link->next) {
		const struct entry *entry = BF_CONTAINER(link, struct entry, log_link);
		ret_deployments[count++] = entry->id;
		reader->seen = entry->number;
	}
	(void)pthread_mutex_unlock(&events->lock);
	return count;
}

/* ---- life -------------------------------------------------------------------------------------- */

enum belfry_status bf_events_new(const struct bf_env *env, struct bf_events **ret_events)
{
	struct bf_events *events = bf_alloc(sizeof(*events));

	if (events == NULL) {
		return BELFRY_NOMEM;
	}
	if (bf_condition_init(&events->news) != BELFRY_OK) {
		bf_free(events);
		return BELFRY_NOMEM;
	}
	events->env = env;
	env->random(env->data, &events->seed, sizeof(events->seed));
	(void)pthread_mutex_init(&events->lock, NULL); /* default kind: cannot fail */
	for (size_t i = 0; i < BF_EVENTS_KEPT; i++) {
		events->entries[i].next = events->free;
		events->free = &events->entries[i];
	}
	*ret_events = events;
	return BELFRY_OK;
}

void bf_events_free(struct bf_events *events)
{
	if (events != NULL) {
		(void)pthread_mutex_destroy(&events->lock); /* nobody holds it */
		(void)pthread_cond_destroy(&events->news);
		bf_free(events);
	}
}
