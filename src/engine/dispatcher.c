/* The dispatcher's loop: which store operation comes next, and what events mean. Runs in memory are in
 * dispatch_hold.c, answers in dispatch_record.c, claims and tickets in dispatch_claim.c.
 *
 * One store operation at a time; records first (they free places), then payloads of Runs to be called,
 * then claims. */
#include "engine/dispatcher.h"

#include "base/timefmt.h"
#include "engine/dispatcher_priv.h"
#include "model/run.h"

enum belfry_status bf_dispatcher_new(const struct bf_dispatcher_config *config,
		struct bf_dispatcher **ret_dispatcher)
{
	struct bf_dispatcher *dispatcher = bf_alloc(sizeof(*dispatcher));

	if (dispatcher == NULL) {
		return BELFRY_NOMEM;
	}
	dispatcher->config = *config;
	dispatcher->jitter.state = config->seed;
	dispatcher->next_deadline = INT64_MAX;
	dispatcher->record_max = BF_DISPATCH_BATCH_MAX;
	*ret_dispatcher = dispatcher;
	return BELFRY_OK;
}

void bf_dispatcher_free(struct bf_dispatcher *dispatcher, void (*release)(struct bf_answer *))
{
	if (dispatcher == NULL) {
		return;
	}
	while (dispatcher->by_id != NULL) {
		struct bf_held *held = dispatcher->by_id;
		if (held->answer != NULL && release != NULL) {
			release(held->answer);
		}
		held->answer = NULL;
		bf_dispatch_drop(dispatcher, held);
	}
	belfry_arena_fini(&dispatcher->arena);
	bf_free(dispatcher->records);
	bf_free(dispatcher->load_ids);
	bf_free(dispatcher->calls);
	bf_free(dispatcher->cancels);
	bf_free(dispatcher->told);
	bf_free(dispatcher);
}

struct belfry_arena *bf_dispatcher_arena(struct bf_dispatcher *dispatcher)
{
	return &dispatcher->arena;
}

const struct bf_dispatcher_counts *bf_dispatcher_counts(const struct bf_dispatcher *dispatcher)
{
	return &dispatcher->counts;
}

struct belfry_str bf_dispatcher_schedule(struct bf_dispatcher *dispatcher, struct belfry_id run)
{
	const struct bf_held *held = bf_dispatch_find(dispatcher, run);

	return held != NULL ? (struct belfry_str){held->run.schedule, held->run.schedule_len}
			    : (struct belfry_str){NULL, 0};
}

bool bf_dispatcher_is_idle(const struct bf_dispatcher *dispatcher)
{
	return dispatcher->by_id == NULL && dispatcher->work == BF_WORK_NONE;
}

belfry_time bf_dispatch_store_now(const struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	return bf_time_add(dispatcher->cover.store_now, bf_boot_since(now, dispatcher->cover.at));
}

bool bf_dispatch_may_act(const struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	return dispatcher->has_cover && now.us < dispatcher->cover.act_until.us;
}

/* ---- payloads, then calls ---------------------------------------------------------------------- */

static enum belfry_status begin_load(struct bf_dispatcher *dispatcher)
{
	size_t count = BF_MIN(dispatcher->ready.count, BF_DISPATCH_BATCH_MAX);
	enum belfry_status status = BF_GROW(dispatcher->load_ids, dispatcher->load_capacity, count);

	if (status != BELFRY_OK) {
		return status;
	}
	belfry_arena_reset(&dispatcher->arena);
	for (size_t i = 0; i < count; i++) {
		struct bf_held *held = BF_CONTAINER(dispatcher->ready.first, struct bf_held, link);
		dispatcher->load_ids[i] = held->run.id;
		bf_list_move(&dispatcher->loading, &held->link);
	}
	dispatcher->list = (struct belfry_list){
			.size = sizeof(dispatcher->list),
			.kind = BELFRY_LIST_INVOCATIONS,
			.run_ids = dispatcher->load_ids,
			.run_id_count = count,
			.limit = (uint32_t)count,
	};
	return BELFRY_OK;
}

static void unload(struct bf_dispatcher *dispatcher)
{
	while (dispatcher->loading.first != NULL) {
		bf_list_move(&dispatcher->ready, dispatcher->loading.first);
	}
}

static void call(struct bf_dispatcher *dispatcher, struct bf_held *held, struct belfry_str payload,
		struct bf_boot_time now)
{
	static const char no_session[1] = "";
	belfry_duration timeout = held->run.policy.timeout;

	held->attempt_started_at = bf_dispatch_store_now(dispatcher, now);
	held->call_deadline = timeout > 0 ? bf_boot_add(now, timeout)
					  : (struct bf_boot_time){INT64_MAX};
	dispatcher->next_deadline = BF_MIN(dispatcher->next_deadline, held->call_deadline.us);
	dispatcher->calls[dispatcher->call_count++] = (struct bf_call){
			.token = bf_dispatch_token(held),
			.run = &held->run,
			.session = bf_str(held->session != NULL ? held->session : no_session),
			.payload = payload,
	};
	bf_list_move(&dispatcher->calling, &held->link);
}

/* A copy for the turn; without memory it is read again. */
static void keep_payload(struct bf_held *held, struct belfry_str payload)
{
	bool is_worth = held->step == BELFRY_STEP_SESSION && payload.len <= BF_DISPATCH_KEEP_BYTES;

	if (is_worth && held->payload == NULL) {
		held->payload = bf_str_dup(payload);
		held->payload_len = payload.len;
	}
}

/* Turns whose payload is at hand, as soon as their Session is stored. */
static void call_again(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	size_t count = dispatcher->call_count + dispatcher->again.count;

	if (dispatcher->again.count == 0 || dispatcher->is_stopping ||
			!bf_dispatch_may_act(dispatcher, now) ||
			BF_GROW(dispatcher->calls, dispatcher->call_capacity, count) != BELFRY_OK) {
		return;
	}
	while (dispatcher->again.first != NULL) {
		struct bf_held *held = BF_CONTAINER(dispatcher->again.first, struct bf_held, link);
		call(dispatcher, held, (struct belfry_str){held->payload, held->payload_len}, now);
	}
}

/* A Run whose payload is gone cannot be called: it ends, with a reason. */
static void fail_unloaded(struct bf_dispatcher *dispatcher)
{
	while (dispatcher->loading.first != NULL) {
		bf_dispatch_fail(dispatcher,
				BF_CONTAINER(dispatcher->loading.first, struct bf_held, link),
				BELFRY_RUN_ERROR_PERMANENT,
				BF_STR("the payload that it was to be called with is gone"));
	}
}

static void fail(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	belfry_duration longest = BELFRY_SECOND << BF_MIN(dispatcher->failures, 2u);

	dispatcher->failures++;
	dispatcher->not_before = bf_boot_add(now,
			bf_jitter_between(&dispatcher->jitter, longest / 10, longest / 4));
	unload(dispatcher);
}

static void loaded(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	const struct belfry_list *list = &dispatcher->list;

	/* No call is begun by a holder that can know that it is lost (decision 5). */
	if (!bf_dispatch_may_act(dispatcher, now) || dispatcher->is_stopping) {
		unload(dispatcher);
		return;
	}
	if (BF_GROW(dispatcher->calls, dispatcher->call_capacity, list->count) != BELFRY_OK) {
		fail(dispatcher, now);
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		struct bf_held *held = bf_dispatch_find(dispatcher, list->invocations[i].run);
		if (held != NULL && held->link.list == &dispatcher->loading) {
			keep_payload(held, list->invocations[i].payload);
			call(dispatcher, held, list->invocations[i].payload, now);
		}
	}
	fail_unloaded(dispatcher);
}

/* ---- the store's answers ----------------------------------------------------------------------- */

static void answered(struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders,
		const struct bf_dispatcher_event *event)
{
	enum bf_dispatch_work work = dispatcher->work;

	dispatcher->work = BF_WORK_NONE;
	if (event->status == BELFRY_STALE) {
		orders->is_lost = true;
	}
	if (event->status != BELFRY_OK) {
		if (work == BF_WORK_CLAIM) {
			bf_dispatch_unclaimed(dispatcher, event->status);
		}
		bf_dispatch_unrecorded(dispatcher, event->status);
		fail(dispatcher, event->now);
		return;
	}
	dispatcher->failures = 0;
	dispatcher->counts.last_step = event->now;
	switch (work) {
	case BF_WORK_RECORD: bf_dispatch_recorded(dispatcher, event->now); break;
	case BF_WORK_LOAD: loaded(dispatcher, event->now); break;
	case BF_WORK_CLAIM: bf_dispatch_claimed(dispatcher, event->now); break;
	case BF_WORK_NONE: BF_ASSERT(false); break;
	}
}

/* ---- events ------------------------------------------------------------------------------------ */

static void lose(struct bf_dispatcher *dispatcher)
{
	dispatcher->has_cover = false;
	dispatcher->granted = 0;
	dispatcher->granted_bytes = 0;
	dispatcher->wants_owned = false;
	dispatcher->owned_seen = 0;
	bf_dispatch_drop_all(dispatcher);
}

static void cover(struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders,
		const struct bf_cover *news)
{
	bool is_new = !dispatcher->has_cover ||
			bf_id_compare(news->incarnation, dispatcher->cover.incarnation) != 0;

	if (is_new && dispatcher->has_cover) {
		lose(dispatcher); /* the news of it did not reach us */
	}
	dispatcher->cover = *news;
	dispatcher->has_cover = true;
	dispatcher->wants_takeover = true;
	if (is_new) {
		dispatcher->wants_claim = true;
		dispatcher->granted = 0;
		dispatcher->granted_bytes = 0;
		/* No ticket is given out yet; the first one will carry a floor that is higher. */
		dispatcher->planner_floor = bf_dispatch_floor(dispatcher, news->at);
		dispatcher->tickets_at = (struct bf_boot_time){0};
	}
	bf_dispatch_low(dispatcher, orders);
}

static void handle_event(struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders,
		const struct bf_dispatcher_event *event)
{
	switch (event->kind) {
	case BF_DISPATCHER_WAKE: break;
	case BF_DISPATCHER_COVER: cover(dispatcher, orders, &event->cover); break;
	case BF_DISPATCHER_LOST: lose(dispatcher); break;
	case BF_DISPATCHER_BORN:
		bf_dispatch_born(dispatcher, event->born);
		bf_born_free(event->born);
		break;
	case BF_DISPATCHER_KICK: dispatcher->wants_claim = true; break;
	case BF_DISPATCHER_ANSWER: bf_dispatch_answer(dispatcher, event->answer, event->now); break;
	case BF_DISPATCHER_CANCELLED:
		bf_dispatch_cancelled(dispatcher, &event->cancelled, event->now);
		break;
	case BF_DISPATCHER_DONE: answered(dispatcher, orders, event); break;
	case BF_DISPATCHER_STOP:
		dispatcher->is_stopping = true;
		dispatcher->stop_until = event->until;
		break;
	}
}

static void time_out_calls(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	struct bf_link *next;

	if (now.us < dispatcher->next_deadline) {
		return;
	}
	dispatcher->next_deadline = INT64_MAX;
	for (struct bf_link *link = dispatcher->calling.first; link != NULL; link = next) {
		next = link->next;
		struct bf_held *held = BF_CONTAINER(link, struct bf_held, link);
		if (now.us >= held->call_deadline.us) {
			bf_dispatch_time_out(dispatcher, held, now);
		} else {
			dispatcher->next_deadline = BF_MIN(dispatcher->next_deadline,
					held->call_deadline.us);
		}
	}
}

/* Stopping: what was not called goes back at once, what is open goes back when the time is up. */
static void hand_back(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	while (dispatcher->ready.first != NULL) {
		bf_dispatch_hand_back(dispatcher,
				BF_CONTAINER(dispatcher->ready.first, struct bf_held, link));
	}
	while (dispatcher->again.first != NULL) {
		bf_dispatch_hand_back(dispatcher,
				BF_CONTAINER(dispatcher->again.first, struct bf_held, link));
	}
	while (now.us >= dispatcher->stop_until.us && dispatcher->calling.first != NULL) {
		struct bf_held *held = BF_CONTAINER(dispatcher->calling.first, struct bf_held,
				link);
		bf_dispatch_cancel(dispatcher, held);
		bf_dispatch_hand_back(dispatcher, held);
	}
}

static bool has_room(const struct bf_dispatcher *dispatcher)
{
	uint32_t free_places = bf_dispatch_free_places(dispatcher);
	/* With a backlog, claim in batches: not one Run for each place that gets free. */
	bool is_small = dispatcher->is_backlog && dispatcher->by_id != NULL &&
			free_places < dispatcher->config.max_runs / 8;

	return free_places > 0 && !is_small;
}

static bool may_claim(const struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	bool is_asked = dispatcher->wants_claim || now.us >= dispatcher->claim_at.us ||
			dispatcher->wants_takeover;

	if (dispatcher->is_stopping || !bf_dispatch_may_act(dispatcher, now)) {
		return false;
	}
	return dispatcher->wants_owned || (is_asked && has_room(dispatcher));
}

static void begin_next(struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders,
		struct bf_boot_time now)
{
	if (dispatcher->work != BF_WORK_NONE || now.us < dispatcher->not_before.us) {
		return;
	}
	if (dispatcher->answered.count > 0 && bf_dispatch_begin_records(dispatcher) == BELFRY_OK) {
		dispatcher->work = BF_WORK_RECORD;
		orders->records = dispatcher->records;
		orders->record_count = dispatcher->record_count;
	} else if (dispatcher->ready.count > 0 && bf_dispatch_may_act(dispatcher, now) &&
			begin_load(dispatcher) == BELFRY_OK) {
		dispatcher->work = BF_WORK_LOAD;
		orders->list = &dispatcher->list;
	} else if (may_claim(dispatcher, now)) {
		bf_dispatch_begin_claim(dispatcher);
		dispatcher->work = BF_WORK_CLAIM;
		orders->claim = &dispatcher->claim;
	}
}

static struct bf_boot_time next_wake(const struct bf_dispatcher *dispatcher,
		struct bf_boot_time now)
{
	int64_t wake = bf_boot_add(now, dispatcher->config.tick).us;

	if (has_room(dispatcher) && bf_dispatch_may_act(dispatcher, now)) {
		wake = BF_MIN(wake, dispatcher->claim_at.us);
	}
	if (now.us < dispatcher->not_before.us) {
		wake = dispatcher->not_before.us; /* the store is asked nothing before */
	}
	if (dispatcher->is_stopping && now.us < dispatcher->stop_until.us) {
		wake = BF_MIN(wake, dispatcher->stop_until.us);
	}
	wake = BF_MIN(wake, dispatcher->next_deadline);
	return (struct bf_boot_time){BF_MAX(wake, now.us + BELFRY_MILLISECOND)};
}

static void publish(struct bf_dispatcher *dispatcher, struct bf_dispatcher_orders *orders,
		struct bf_boot_time now)
{
	orders->calls = dispatcher->calls;
	orders->call_count = dispatcher->call_count;
	orders->cancels = dispatcher->cancels;
	orders->cancel_count = dispatcher->cancel_count;
	orders->released = dispatcher->released;
	dispatcher->counts.held = HASH_COUNT(dispatcher->by_id);
	dispatcher->counts.held_bytes = dispatcher->held_bytes;
	/* Nothing to ask of the store is no standstill, but not to be allowed to ask is one (B21). */
	if (dispatcher->work == BF_WORK_NONE && dispatcher->failures == 0 &&
			bf_dispatch_may_act(dispatcher, now)) {
		dispatcher->counts.last_step = now;
	}
	dispatcher->counts.granted = dispatcher->granted;
}

void bf_dispatcher_step(struct bf_dispatcher *dispatcher, const struct bf_dispatcher_event *event,
		struct bf_dispatcher_orders *orders)
{
	*orders = (struct bf_dispatcher_orders){0};
	dispatcher->call_count = 0;
	dispatcher->cancel_count = 0;
	dispatcher->released = NULL;
	handle_event(dispatcher, orders, event);
	time_out_calls(dispatcher, event->now);
	if (dispatcher->is_stopping) {
		hand_back(dispatcher, event->now);
	}
	call_again(dispatcher, event->now);
	if (!event->has_more) {
		begin_next(dispatcher, orders, event->now);
	}
	bf_dispatch_give_tickets(dispatcher, orders, event->now);
	orders->wake = next_wake(dispatcher, event->now);
	publish(dispatcher, orders, event->now);
}
