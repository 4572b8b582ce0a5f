/* The planner's thread: messages and time become events, orders become store calls and messages. */
#include "runtime/runtime_priv.h"

static void finish_requests(struct bf_runtime *runtime, struct bf_list *done)
{
	if (done->count == 0) {
		return;
	}
	(void)pthread_mutex_lock(&runtime->lock);
	while (done->first != NULL) {
		struct bf_plan_request *request = BF_CONTAINER(done->first, struct bf_plan_request,
				link);
		bf_list_remove(&request->link);
		request->is_open = false; /* what the waiting caller looks at */
	}
	(void)pthread_cond_broadcast(&runtime->changed);
	(void)pthread_mutex_unlock(&runtime->lock);
}

static void tell(struct bf_runtime *runtime, struct bf_planner_orders *orders)
{
	if (orders->born != NULL) {
		struct bf_message *message = bf_alloc(sizeof(*message));
		if (message == NULL) {
			bf_planner_untold(runtime->planner, orders->born);
		} else {
			*message = (struct bf_message){.kind = BF_MESSAGE_BORN,
					.born = orders->born};
			bf_inbox_post(&runtime->inboxes[BF_THREAD_DISPATCHER], &message->link);
		}
	}
	if (orders->wants_beat) {
		struct bf_message message = {.kind = BF_MESSAGE_BEAT_NOW};
		bf_runtime_post(runtime, BF_THREAD_KEEPER, &message);
	}
	if (orders->is_lost) {
		struct bf_message message = {.kind = BF_MESSAGE_LOST};
		bf_runtime_post(runtime, BF_THREAD_KEEPER, &message);
	}
	finish_requests(runtime, &orders->done);
}

/* Each schedule that was put, removed, or moved on. */
static void tell_changes(struct bf_runtime *runtime, const struct belfry_advance *advance)
{
	struct bf_changes changes = {.runtime = runtime};

	for (size_t i = 0; runtime->config.changed != NULL && i < advance->item_count; i++) {
		if (advance->items[i].result == BELFRY_OK) {
			bf_changes_tell(&changes, advance->items[i].schedule);
		}
	}
}

/* Carries out the one store call of the orders. False: there is none. */
static bool call_store(struct bf_runtime *runtime, struct bf_planner_orders *orders,
		struct bf_planner_event *event)
{
	struct belfry_error err;
	enum belfry_status status;

	if (orders->list != NULL) {
		status = bf_store_list(runtime->config.store, orders->list,
				bf_planner_arena(runtime->planner), &err);
	} else if (orders->advance != NULL) {
		BF_CRASH_POINT("plan-before-commit");
		status = bf_store_advance(runtime->config.store, orders->advance, &err);
		BF_CRASH_POINT("plan-after-commit");
		if (status == BELFRY_OK) {
			tell_changes(runtime, orders->advance);
		}
	} else {
		return false;
	}
	bf_runtime_report(runtime, "planner", status, &err);
	*event = (struct bf_planner_event){.kind = BF_PLANNER_DONE,
			.status = status,
			.now = bf_runtime_now(runtime),
			.has_more = !bf_inbox_is_empty(&runtime->inboxes[BF_THREAD_PLANNER])};
	return true;
}

/* One event, and every store call that follows from it. Returns when to wake. */
static struct bf_boot_time step(struct bf_runtime *runtime, struct bf_planner_event event)
{
	struct bf_planner_orders orders;
	bool has_called;

	do {
		bf_planner_step(runtime->planner, &event, &orders);
		tell(runtime, &orders);
		has_called = call_store(runtime, &orders, &event);
	} while (has_called);
	(void)pthread_mutex_lock(&runtime->lock);
	runtime->planner_counts = *bf_planner_counts(runtime->planner);
	runtime->turned_at[BF_THREAD_PLANNER] = runtime->planner_counts.last_step;
	if (runtime->is_stopped && !runtime->is_planner_stopped &&
			bf_planner_has_stopped(runtime->planner)) {
		runtime->is_planner_stopped = true;
		(void)pthread_cond_broadcast(&runtime->changed);
	}
	(void)pthread_mutex_unlock(&runtime->lock);
	return orders.wake;
}

/* A newer tz database while we run, and rows of an older one in the store: looked for now and then, on the thread
 * that computes due times, so that no pass sees half of a change. */
static bool refresh_zones(struct bf_runtime *runtime)
{
	struct belfry_zones *zones = runtime->config.zones;
	const char *before = belfry_zones_version(zones);
	struct belfry_error err = {0};
	bool is_changed = false;
	enum belfry_status status = belfry_zones_refresh(zones, &is_changed, &err);

	if (status != BELFRY_OK && !runtime->are_zones_unreadable) {
		bf_log(runtime->env, BF_LOG_WARNING,
				"what=tz-database-unreadable status=%s detail=\"%s\" next=\"what was "
				"read before stays in use\"",
				belfry_status_name(status), err.message);
	}
	runtime->are_zones_unreadable = status != BELFRY_OK;
	if (is_changed) {
		bf_log(runtime->env, BF_LOG_INFO,
				"what=tz-database-changed old=%s new=%s next=\"due times that lie ahead "
				"are computed anew\"",
				before, belfry_zones_version(zones));
	}
	return is_changed;
}

static bool look_at_zones(struct bf_runtime *runtime, struct bf_planner_event *ret_event)
{
	struct bf_boot_time now = bf_runtime_now(runtime);

	if (now.us < runtime->zones_at.us) {
		return false;
	}
	runtime->zones_at = bf_boot_add(now, runtime->config.zones_check);
	*ret_event = (struct bf_planner_event){.kind = BF_PLANNER_ZONES,
			.now = now,
			.has_more = !bf_inbox_is_empty(&runtime->inboxes[BF_THREAD_PLANNER]),
			.is_changed = refresh_zones(runtime)};
	return true;
}

static struct bf_planner_event event_of(struct bf_runtime *runtime,
		const struct bf_message *message, bool has_more)
{
	struct bf_planner_event event = {.now = bf_runtime_now(runtime), .has_more = has_more};

	switch (message->kind) {
	case BF_MESSAGE_COVER:
		event.kind = BF_PLANNER_COVER;
		event.cover = message->cover;
		break;
	case BF_MESSAGE_LOST: event.kind = BF_PLANNER_LOST; break;
	case BF_MESSAGE_TICKETS:
		event.kind = BF_PLANNER_TICKETS;
		event.tickets = message->tickets;
		break;
	case BF_MESSAGE_REQUEST:
		event.kind = BF_PLANNER_REQUEST;
		event.request = message->request;
		break;
	case BF_MESSAGE_CLOCK_BACK: event.kind = BF_PLANNER_CLOCK_BACK; break;
	case BF_MESSAGE_CHANGED:
		bf_changes_tell(&(struct bf_changes){.runtime = runtime},
				(struct belfry_str){message->schedule, message->schedule_len});
		event.kind = BF_PLANNER_WAKE;
		break;
	case BF_MESSAGE_STOP: event.kind = BF_PLANNER_STOP; break;
	case BF_MESSAGE_BORN:
	case BF_MESSAGE_ANSWER:
	case BF_MESSAGE_KICK:
	case BF_MESSAGE_LOW:
	case BF_MESSAGE_BEAT_NOW:
	case BF_MESSAGE_CANCELLED:
	case BF_MESSAGE_END: event.kind = BF_PLANNER_WAKE; break;
	}
	return event;
}

void *bf_runtime_planner_main(void *data)
{
	struct bf_runtime *runtime = data;
	struct bf_inbox *inbox = &runtime->inboxes[BF_THREAD_PLANNER];
	struct bf_planner_event event = {.kind = BF_PLANNER_WAKE, .now = bf_runtime_now(runtime)};
	struct bf_boot_time wake = step(runtime, event);

	while (!atomic_load(&runtime->quits[BF_THREAD_PLANNER])) {
		bool has_more;
		bool clock_set;
		if (look_at_zones(runtime, &event)) {
			wake = step(runtime, event);
		}
		struct bf_link *link = bf_inbox_take(inbox, &has_more);
		if (link != NULL) {
			struct bf_message *message = BF_CONTAINER(link, struct bf_message, link);
			event = event_of(runtime, message, has_more);
			bf_message_free(message);
			wake = step(runtime, event);
			continue;
		}
		wake.us = BF_MIN(wake.us, runtime->zones_at.us);
		bf_inbox_wait(inbox, wake, &clock_set);
		if (clock_set) {
			runtime->zones_at = (struct bf_boot_time){
					0}; /* the machine may have slept */
			/* Whether it was a step that matters is the keeper's to find out. */
			struct bf_message now = {.kind = BF_MESSAGE_BEAT_NOW};
			bf_runtime_post(runtime, BF_THREAD_KEEPER, &now);
		}
		event = (struct bf_planner_event){.kind = BF_PLANNER_WAKE,
				.now = bf_runtime_now(runtime),
				.has_more = !bf_inbox_is_empty(inbox)};
		wake = step(runtime, event);
	}
	return NULL;
}
