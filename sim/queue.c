/* A binary heap of events. Owns its array, not what the events point to. */
#include "sim/queue.h"

#include "base/assert.h"
#include "base/grow.h"

static bool is_before(const struct sim_event *a, const struct sim_event *b)
{
	return a->at < b->at || (a->at == b->at && a->sequence < b->sequence);
}

static void swap(struct sim_event *a, struct sim_event *b)
{
	struct sim_event kept = *a;

	*a = *b;
	*b = kept;
}

void sim_queue_put(struct sim_queue *queue, struct sim_event event)
{
	size_t at = queue->count;

	BF_ASSERT(BF_GROW(queue->events, queue->capacity, at + 1) == BELFRY_OK);
	event.sequence = queue->sequence++;
	queue->events[at] = event;
	queue->count++;
	while (at > 0 && is_before(&queue->events[at], &queue->events[(at - 1) / 2])) {
		swap(&queue->events[at], &queue->events[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
}

const struct sim_event *sim_queue_first(const struct sim_queue *queue)
{
	return queue->count > 0 ? queue->events : NULL;
}

struct sim_event sim_queue_take(struct sim_queue *queue)
{
	struct sim_event first = queue->events[0];
	size_t at = 0;

	queue->events[0] = queue->events[--queue->count];
	for (;;) {
		size_t least = at;
		for (size_t child = 2 * at + 1; child <= 2 * at + 2; child++) {
			if (child < queue->count &&
					is_before(&queue->events[child], &queue->events[least])) {
				least = child;
			}
		}
		if (least == at) {
			return first;
		}
		swap(&queue->events[at], &queue->events[least]);
		at = least;
	}
}

void sim_queue_fini(struct sim_queue *queue)
{
	bf_free(queue->events);
	*queue = (struct sim_queue){0};
}
