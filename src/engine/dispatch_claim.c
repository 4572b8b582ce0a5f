/* Where Runs come from: born to us by the planner, claimed from the queue, taken over from incarnations
 * that are over, or found to be ours after a lost answer. And the tickets that bound it all. */
#include "base/timefmt.h"
#include "engine/dispatcher_priv.h"
#include "model/definition.h"
#include "model/run.h"

/* Runs planned later than this are not born claimed: the low mark may follow that closely. */
#define FLOOR_AGE BELFRY_MINUTE

uint32_t bf_dispatch_free_places(const struct bf_dispatcher *dispatcher)
{
	uint64_t used = (uint64_t)HASH_COUNT(dispatcher->by_id) + dispatcher->granted;

	return used < dispatcher->config.max_runs ? dispatcher->config.max_runs - (uint32_t)used
						  : 0;
}

static uint64_t free_bytes(const struct bf_dispatcher *dispatcher)
{
	uint64_t used = dispatcher->held_bytes + dispatcher->granted_bytes;

	return used < dispatcher->config.max_bytes ? dispatcher->config.max_bytes - used : 0;
}

void bf_dispatch_begin_claim(struct bf_dispatcher *dispatcher)
{
	enum belfry_claim_kind kind = dispatcher->wants_owned ? BELFRY_CLAIM_OWNED
			: dispatcher->wants_takeover          ? BELFRY_CLAIM_TAKEOVER
							      : BELFRY_CLAIM_QUEUE;
	uint32_t places = bf_dispatch_free_places(dispatcher);
	uint64_t bytes = free_bytes(dispatcher);

	if (dispatcher->by_id == NULL) {
		/* Whatever the planner has been granted: with nothing in memory the queue goes on. */
		bytes = BF_MAX(bytes, dispatcher->config.max_bytes / 4);
	}
	/* Whoever asks from now on asks for what this claim may not see any more. */
	switch (kind) {
	case BELFRY_CLAIM_OWNED: dispatcher->wants_owned = false; break;
	case BELFRY_CLAIM_TAKEOVER: dispatcher->wants_takeover = false; break;
	case BELFRY_CLAIM_QUEUE: dispatcher->wants_claim = false; break;
	}
	belfry_arena_reset(&dispatcher->arena);
	dispatcher->claim = (struct belfry_claim){
			.size = sizeof(dispatcher->claim),
			.kind = kind,
			.holder = dispatcher->cover.incarnation,
			.max_runs = kind == BELFRY_CLAIM_OWNED
					? BF_DISPATCH_CLAIM_MAX
					: BF_MIN(places, BF_DISPATCH_CLAIM_MAX),
			.max_bytes = kind == BELFRY_CLAIM_OWNED ? UINT64_MAX : bytes,
			.after = dispatcher->owned_after,
	};
}

static struct bf_owned_run from_claimed(const struct belfry_claimed *claimed, bool is_new_start,
		const struct belfry_policies *policies)
{
	const struct belfry_run *run = &claimed->run;
	struct bf_owned_run owned = {
			.id = run->id,
			.fence = run->fence,
			.trigger = run->trigger,
			.run_flags = run->flags,
			.attempt = run->attempt,
			.failures = run->failures,
			.payload_bytes = claimed->payload_bytes,
			.stands_for = run->stands_for,
			.takeovers = run->takeovers,
			.revision = run->revision,
			.replayed_from = run->replayed_from,
			.due_at = run->due_at,
			.ready_at = run->ready_at,
			.started_at = run->started_at,
			.is_first_start = is_new_start,
			.policy = {policies->interrupted, policies->max_attempts,
					policies->first_delay, policies->max_delay,
					policies->timeout},
	};
	bf_owned_set_schedule(&owned, run->schedule);
	return owned;
}

static void take_claimed(struct bf_dispatcher *dispatcher, const struct belfry_claimed *claimed)
{
	static const struct belfry_policies defaults = BELFRY_POLICIES_INIT;
	struct bf_definition definition = {.policies = defaults};
	/* A takeover whose answer was lost is found among what is ours, and is one all the same. */
	bool is_takeover = dispatcher->claim.kind == BELFRY_CLAIM_TAKEOVER ||
			(dispatcher->claim.kind == BELFRY_CLAIM_OWNED &&
					claimed->run.takeovers > 0);
	/* Not by the attempt: a Run that was handed back got its first one back. */
	bool is_start = dispatcher->claim.kind == BELFRY_CLAIM_QUEUE &&
			claimed->run.started_at == dispatcher->claim.now;

	/* A definition that cannot be read leaves the defaults: the Run still ends. */
	if (bf_definition_decode(claimed->definition, &definition, NULL) != BELFRY_OK) {
		definition.policies = defaults;
	}
	if (dispatcher->claim.kind == BELFRY_CLAIM_OWNED &&
			bf_dispatch_find(dispatcher, claimed->run.id) != NULL) {
		return;
	}
	struct bf_owned_run run = from_claimed(claimed, is_start, &definition.policies);
	/* What is ours without our knowing it was born to us by a commit whose answer was lost. */
	run.is_born = dispatcher->claim.kind == BELFRY_CLAIM_OWNED;
	struct bf_held *held = bf_dispatch_hold(dispatcher, &run, claimed->run.session);
	if (held == NULL || !is_takeover) {
		return;
	}
	dispatcher->counts.takeovers++;
	if (run.policy.interrupted == BELFRY_INTERRUPTED_ABANDON) {
		bf_dispatch_fail(dispatcher, held, BELFRY_RUN_ERROR_INTERRUPTED,
				bf_str(belfry_run_error_text(BELFRY_RUN_ERROR_INTERRUPTED)));
	} else if (run.takeovers > dispatcher->config.recovery_limit) {
		bf_dispatch_fail(dispatcher, held, BELFRY_RUN_ERROR_RECOVERY_LIMIT,
				bf_str(belfry_run_error_text(BELFRY_RUN_ERROR_RECOVERY_LIMIT)));
	}
}

static void queue_claimed(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	const struct belfry_claim *claim = &dispatcher->claim;
	belfry_duration until = BF_MIN(bf_time_since(claim->next_ready, claim->now),
			dispatcher->config.tick);

	dispatcher->is_backlog = !claim->is_short;
	dispatcher->wants_claim = dispatcher->wants_claim || dispatcher->is_backlog;
	dispatcher->claim_at = bf_boot_add(now, BF_MAX(until, BELFRY_MILLISECOND));
}

static void owned_claimed(struct bf_dispatcher *dispatcher)
{
	const struct belfry_claim *claim = &dispatcher->claim;

	dispatcher->owned_seen = BF_MAX(dispatcher->owned_seen, (belfry_fence)claim->now);
	for (size_t i = 0; i < claim->run_count; i++) {
		dispatcher->owned_seen = BF_MAX(dispatcher->owned_seen, claim->runs[i].run.fence);
	}
	if (dispatcher->wants_owned) {
		return; /* asked for again meanwhile: from the start */
	}
	dispatcher->wants_owned = claim->run_count == claim->max_runs;
	dispatcher->owned_after = dispatcher->wants_owned ? claim->runs[claim->run_count - 1].run.id
							  : (struct belfry_id){{0}};
}

void bf_dispatch_unclaimed(struct bf_dispatcher *dispatcher, enum belfry_status status)
{
	enum belfry_claim_kind kind = dispatcher->claim.kind;

	dispatcher->wants_claim = dispatcher->wants_claim || kind == BELFRY_CLAIM_QUEUE;
	dispatcher->wants_takeover = dispatcher->wants_takeover || kind == BELFRY_CLAIM_TAKEOVER;
	/* A claim that may have been made without our hearing of it is found among what is ours. */
	if (kind == BELFRY_CLAIM_OWNED || status == BELFRY_UNKNOWN) {
		bf_dispatch_ask_owned(dispatcher);
	}
}

void bf_dispatch_claimed(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	const struct belfry_claim *claim = &dispatcher->claim;

	if (!dispatcher->has_cover ||
			bf_id_compare(claim->holder, dispatcher->cover.incarnation) != 0) {
		return; /* claimed by an incarnation that is over: to be taken over like any other */
	}
	switch (claim->kind) {
	case BELFRY_CLAIM_QUEUE: queue_claimed(dispatcher, now); break;
	case BELFRY_CLAIM_TAKEOVER:
		dispatcher->wants_takeover = dispatcher->wants_takeover || claim->run_count > 0;
		break;
	case BELFRY_CLAIM_OWNED: owned_claimed(dispatcher); break;
	}
	for (size_t i = 0; i < claim->run_count; i++) {
		take_claimed(dispatcher, &claim->runs[i]);
	}
	if (dispatcher->is_short_of_memory) {
		/* What could not be held is ours all the same: asked for again, but not at once. */
		dispatcher->not_before = bf_boot_add(now,
				bf_jitter_between(&dispatcher->jitter, 20 * BELFRY_MILLISECOND,
						50 * BELFRY_MILLISECOND));
		dispatcher->is_short_of_memory = false;
	}
}

/* A commit's answer may come so late that the store has shown us the Run meanwhile, and it is over by
 * now: then only the store knows whether it is still to be done. */
static void hold_born(struct bf_dispatcher *dispatcher, const struct bf_owned_run *run)
{
	bool may_be_over = run->fence <= dispatcher->owned_seen &&
			bf_dispatch_find(dispatcher, run->id) == NULL;

	if (may_be_over) {
		bf_dispatch_ask_owned(dispatcher);
		return;
	}
	(void)bf_dispatch_hold(dispatcher, run, BF_STR("")); /* else wants_owned */
}

void bf_dispatch_born(struct bf_dispatcher *dispatcher, const struct bf_born *born)
{
	if (!dispatcher->has_cover ||
			bf_id_compare(born->incarnation, dispatcher->cover.incarnation) != 0) {
		return;
	}
	dispatcher->planner_floor = born->floor;
	dispatcher->is_recalled = false;
	for (size_t i = 0; i < born->run_count; i++) {
		hold_born(dispatcher, &born->runs[i]);
		dispatcher->granted_bytes -= BF_MIN(dispatcher->granted_bytes,
				born->runs[i].payload_bytes);
	}
	uint64_t places = born->run_count + (uint64_t)born->places_back;
	dispatcher->granted -= (uint32_t)BF_MIN(dispatcher->granted, places);
	dispatcher->granted_bytes -= BF_MIN(dispatcher->granted_bytes, born->bytes_back);
	if (born->is_unknown) {
		bf_dispatch_ask_owned(dispatcher);
	}
	dispatcher->wants_claim = dispatcher->wants_claim || born->has_queued;
}

struct belfry_id bf_dispatch_floor(const struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	return bf_run_id_floor(bf_time_add(bf_dispatch_store_now(dispatcher, now), -FLOOR_AGE));
}

/* A quarter of the places is kept for Runs from the queue: retries, Run now, takeovers. A single place is
 * kept as a whole: the planner would hold it until the next due time, and nothing else would start. */
void bf_dispatch_give_tickets(struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders,
		struct bf_boot_time now)
{
	uint32_t total = dispatcher->config.max_runs;
	uint32_t free_places = bf_dispatch_free_places(dispatcher);
	uint32_t reserve = BF_MAX(total / 4, 1);
	uint32_t grant = free_places > reserve && !dispatcher->is_backlog ? free_places - reserve
									  : 0;
	bool is_tick = bf_boot_since(now, dispatcher->tickets_at) >= dispatcher->config.tick;
	/* In lots: a plan for each place that gets free would be a commit for each Run. */
	bool is_worth = grant >= BF_MAX(total / 8, 1);
	/* Once, until the planner has answered: it may sit in a slow commit. */
	bool is_recall = dispatcher->is_backlog && dispatcher->granted > 0 &&
			!dispatcher->is_recalled;

	if (!dispatcher->has_cover || dispatcher->is_stopping ||
			(!is_tick && !is_worth && !is_recall)) {
		return;
	}
	/* As many of the bytes as of the places: what the queue's places need is left to them. */
	uint64_t bytes = grant > 0 ? free_bytes(dispatcher) / free_places * grant : 0;
	dispatcher->floor = bf_dispatch_floor(dispatcher, now);
	orders->tickets = (struct bf_tickets){
			.incarnation = dispatcher->cover.incarnation,
			.places = grant,
			.bytes = bytes,
			.floor = dispatcher->floor,
			.is_backlog = dispatcher->is_backlog,
	};
	orders->has_tickets = true;
	dispatcher->granted += grant;
	dispatcher->granted_bytes += bytes;
	dispatcher->tickets_at = now;
	dispatcher->is_recalled = dispatcher->is_backlog;
}

void bf_dispatcher_untold(struct bf_dispatcher *dispatcher, const struct bf_tickets *tickets)
{
	if (dispatcher->has_cover &&
			bf_id_compare(tickets->incarnation, dispatcher->cover.incarnation) == 0) {
		dispatcher->is_recalled = false;
		dispatcher->granted -= BF_MIN(dispatcher->granted, tickets->places);
		dispatcher->granted_bytes -= BF_MIN(dispatcher->granted_bytes, tickets->bytes);
	}
}

void bf_dispatch_low(const struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders)
{
	/* While a commit's answer is lost, Runs may be ours that we do not know. */
	bool is_asking = dispatcher->work == BF_WORK_CLAIM &&
			dispatcher->claim.kind == BELFRY_CLAIM_OWNED;
	if (dispatcher->wants_owned || is_asking) {
		return;
	}
	orders->low = dispatcher->planner_floor;
	for (const struct bf_held *held = dispatcher->by_id; held != NULL; held = held->hh.next) {
		if (held->run.is_born && bf_id_compare(held->run.id, orders->low) < 0) {
			orders->low = held->run.id;
		}
	}
	orders->has_low = true;
}
