/* The demo's sum: due times against Runs and calls. Pure: knows no clock, no host. */
#ifndef BF_BELFRY_DEMO_COUNT_H
#define BF_BELFRY_DEMO_COUNT_H

#include <belfry/run.h>

#include "base/json.h"
#include "belfry/demo_receiver.h"

/* Every whole second of one deployment is a due time, from `from` to `to`, both counting. */
struct bf_demo_bell {
	char id[BELFRY_ID_TEXT_BYTES];
	belfry_time from;
	belfry_time to;
};

/* Between the kill and the second beat after the restart no process covers; grace makes up for it. */
struct bf_demo_pause {
	belfry_time from;
	belfry_time to;
};

struct bf_demo_sum {
	uint64_t due;
	uint64_t made;
	uint64_t lost;       /* covered, and no Run; or a Run that never called */
	uint64_t doubled;    /* Runs beyond the one, or calls under another id */
	uint64_t unfinished; /* Runs that did not end as COMPLETED */
	uint64_t early;      /* calls before their due time */
	uint64_t repeated;   /* calls again under the same id */
	uint64_t calls;      /* all that the receiver had */
	uint64_t beyond; /* calls of due times that are not counted: before a bell's `from`, after its `to` */
	uint64_t paused_due;   /* due times in the pause */
	uint64_t paused_made;  /* of them those with a Run */
	belfry_duration p50;   /* lateness of first calls, outside the pause */
	belfry_duration worst; /* the same */
	belfry_duration worst_paused;
};

/* `runs`: per bell an array of Runs as the API shows them. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_demo_count(const struct bf_demo_bell *bells,
		json_t *const *runs, size_t bell_count, const struct bf_demo_call *calls,
		size_t call_count, struct bf_demo_pause pause, struct bf_demo_sum *ret_sum);

/* Was the promise kept? */
bool bf_demo_sum_is_good(const struct bf_demo_sum *sum);

#endif
