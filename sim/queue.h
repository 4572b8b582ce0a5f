/* The event queue: a heap ordered by (time, sequence), so that equal times keep the order in which they
 * were put, and a seed repeats exactly. */
#ifndef SIM_QUEUE_H
#define SIM_QUEUE_H

#include <stddef.h>
#include <stdint.h>

struct bf_sim;

/* Takes the event's two words with it. */
typedef void (*sim_event_fn)(struct bf_sim *sim, void *data, int64_t number);

struct sim_event {
	int64_t at; /* virtual time, microseconds */
	uint64_t sequence;
	sim_event_fn fn;
	void *data;
	int64_t number;
};

struct sim_queue {
	struct sim_event *events;
	size_t count;
	size_t capacity;
	uint64_t sequence;
};

void sim_queue_put(struct sim_queue *queue, struct sim_event event);
/* The earliest; NULL: empty. Borrowed until the next put or take. */
const struct sim_event *sim_queue_first(const struct sim_queue *queue);
struct sim_event sim_queue_take(struct sim_queue *queue); /* not empty */
void sim_queue_fini(struct sim_queue *queue);

#endif
