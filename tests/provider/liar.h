/* A provider whose answers can be, until a test spoils one: each method answers something true to its
 * question, lets the test change it, and returns the status that the test has set. It runs nothing. */
#ifndef PROVIDER_LIAR_H
#define PROVIDER_LIAR_H

#include <belfry/provider.h>

#define LIAR_RUNS 3

struct liar {
	struct belfry_provider base;
	struct belfry_provider_ops ops;
	struct belfry_provider_more_ops more;
	/* What a test sets. */
	enum belfry_status status;      /* what every method answers */
	const struct belfry_error *err; /* and says; NULL: nothing */
	void (*spoil)(void *answer); /* the answer of the method that is asked; NULL: the truth */
	/* What it saw. */
	unsigned calls;
	unsigned starts;
	unsigned frees;
	const struct belfry_handler *handler;
	uint32_t limit; /* of the last list */
	/* What it answers with. */
	struct belfry_run runs[LIAR_RUNS];
	struct belfry_attempt attempts[2];
	struct belfry_schedule_state states[2];
	struct belfry_gap gap;
};

/* Fills it, with both tables of its own, which a test may change before it is wrapped. */
void liar_init(struct liar *liar);

/* What `spoil` is handed where the answer has no struct of its own (attempts, due). */
struct liar_array {
	void *items; /* may be set to NULL */
	size_t count;
};

#endif
