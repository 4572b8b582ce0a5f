/* The Runs that the dispatcher holds in memory, by id, each in the list of the state it is in. */
#include <belfry/provider.h>

#include "base/grow.h"
#include "engine/dispatcher_priv.h"

struct bf_held *bf_dispatch_find(struct bf_dispatcher *dispatcher, struct belfry_id run)
{
	struct bf_held *held = NULL;

	HASH_FIND(hh, dispatcher->by_id, run.bytes, sizeof(run.bytes), held);
	return held;
}

static struct bf_held *new_held(const struct bf_owned_run *run, struct belfry_str session)
{
	struct bf_held *held = bf_alloc(sizeof(*held));

	if (held == NULL) {
		return NULL;
	}
	bool is_local = (run->run_flags & BELFRY_RUN_F_LOCAL_SESSION) != 0;
	held->run = *run;
	held->step = is_local || session.len > 0 ? BELFRY_STEP_TURN : BELFRY_STEP_SESSION;
	if (!is_local && session.len > 0) {
		held->session = bf_str_dup(session);
		if (held->session == NULL) {
			bf_free(held);
			return NULL;
		}
	}
	return held;
}

/* What the contract counts as lateness: from ready to the commit that first gave it a holder. */
static void count_start(struct bf_dispatcher *dispatcher, const struct bf_owned_run *run)
{
	static const belfry_duration bounds[BELFRY_LATENESS_BUCKETS - 1] = BELFRY_LATENESS_BOUNDS;
	belfry_duration late = BF_MAX(run->started_at - run->ready_at, 0);
	size_t bucket = 0;

	if (!run->is_first_start) {
		return;
	}
	while (bucket < BF_COUNT(bounds) && late > bounds[bucket]) {
		bucket++;
	}
	dispatcher->counts.lateness[bucket]++;
	dispatcher->counts.lateness_sum_us += late;
	dispatcher->counts.lateness_count++;
}

void bf_dispatch_ask_owned(struct bf_dispatcher *dispatcher)
{
	dispatcher->wants_owned = true;
	dispatcher->owned_after = (struct belfry_id){{0}};
}

struct bf_held *bf_dispatch_hold(struct bf_dispatcher *dispatcher, const struct bf_owned_run *run,
		struct belfry_str session)
{
	struct bf_held *held = bf_dispatch_find(dispatcher, run->id);

	if (held != NULL) {
		return held;
	}
	held = new_held(run, session);
	if (held == NULL) {
		bf_dispatch_ask_owned(dispatcher);
		dispatcher->is_short_of_memory = true;
		return NULL;
	}
	HASH_ADD(hh, dispatcher->by_id, run.id.bytes, sizeof(held->run.id.bytes), held);
	if (held->hh.tbl == NULL) {
		bf_dispatch_ask_owned(dispatcher);
		dispatcher->is_short_of_memory = true;
		bf_free(held->session);
		bf_free(held);
		return NULL;
	}
	bf_list_append(&dispatcher->ready, &held->link);
	dispatcher->held_bytes += run->payload_bytes;
	count_start(dispatcher, run);
	return held;
}

void bf_dispatch_release(struct bf_dispatcher *dispatcher, struct bf_answer *answer)
{
	if (answer != NULL) {
		answer->next = dispatcher->released;
		dispatcher->released = answer;
	}
}

void bf_dispatch_drop(struct bf_dispatcher *dispatcher, struct bf_held *held)
{
	bf_list_remove(&held->link);
	HASH_DEL(dispatcher->by_id, held);
	dispatcher->held_bytes -= held->run.payload_bytes;
	bf_dispatch_release(dispatcher, held->answer);
	bf_free(held->session);
	bf_free(held->payload);
	bf_free(held);
}

void bf_dispatch_drop_all(struct bf_dispatcher *dispatcher)
{
	while (dispatcher->calling.first != NULL) {
		struct bf_held *held = BF_CONTAINER(dispatcher->calling.first, struct bf_held,
				link);
		bf_dispatch_cancel(dispatcher, held);
		bf_dispatch_drop(dispatcher, held);
	}
	while (dispatcher->by_id != NULL) {
		bf_dispatch_drop(dispatcher, dispatcher->by_id);
	}
}

struct bf_token bf_dispatch_token(const struct bf_held *held)
{
	return (struct bf_token){held->run.id, held->run.fence, held->run.attempt, held->step};
}

void bf_dispatch_cancel(struct bf_dispatcher *dispatcher, struct bf_held *held)
{
	/* Without memory for the message the call is not told; its answer is dropped all the same. */
	if (BF_GROW(dispatcher->cancels, dispatcher->cancel_capacity,
			    dispatcher->cancel_count + 1) == BELFRY_OK) {
		dispatcher->cancels[dispatcher->cancel_count++] = bf_dispatch_token(held);
	}
}
