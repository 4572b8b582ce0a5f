/* The keeper's thread, and the pulse beside it that notices when the process stood still. */
#include "runtime/runtime_priv.h"

#define PULSE (250 * BELFRY_MILLISECOND)

static void turn(struct bf_runtime *runtime)
{
	int64_t now = bf_runtime_now(runtime).us;
	long long gap = now - atomic_exchange(&runtime->pulse_at, now) - PULSE;
	long long longest = atomic_load(&runtime->standstill);

	while (gap > longest &&
			!atomic_compare_exchange_weak(&runtime->standstill, &longest, gap)) {
	}
}

void *bf_runtime_pulse_main(void *data)
{
	struct bf_runtime *runtime = data;

	(void)pthread_mutex_lock(&runtime->lock);
	while (!runtime->pulse_quits) {
		struct timespec until = bf_monotonic_in(PULSE);
		turn(runtime);
		(void)pthread_cond_timedwait(&runtime->changed, &runtime->lock, &until);
	}
	(void)pthread_mutex_unlock(&runtime->lock);
	return NULL;
}

/* What the pulse has seen, or what it has not got round to yet: after a SIGCONT the keeper may run
 * before it. */
belfry_duration bf_runtime_standstill(struct bf_runtime *runtime)
{
	long long seen = atomic_exchange(&runtime->standstill, 0);
	long long since = bf_runtime_now(runtime).us - atomic_load(&runtime->pulse_at) - PULSE;

	return BF_MAX(seen, since);
}

static void tell(struct bf_runtime *runtime, const struct bf_keeper_orders *orders)
{
	if (orders->is_lost) {
		struct bf_message message = {.kind = BF_MESSAGE_LOST};
		bf_log(runtime->env, BF_LOG_WARNING,
				"what=incarnation-lost remedy=\"none needed: a new "
				"one begins\"");
		bf_runtime_post(runtime, BF_THREAD_PLANNER, &message);
		bf_runtime_post(runtime, BF_THREAD_DISPATCHER, &message);
	}
	if (orders->has_cover) {
		struct bf_message message = {.kind = BF_MESSAGE_COVER, .cover = orders->cover};
		bf_runtime_post(runtime, BF_THREAD_PLANNER, &message);
		bf_runtime_post(runtime, BF_THREAD_DISPATCHER, &message);
	}
	if (orders->cancelled.run_count > 0) {
		bf_runtime_post_cancelled(runtime, &orders->cancelled);
	}
	if (orders->is_clock_back || runtime->owes_clock_back) {
		struct bf_message message = {.kind = BF_MESSAGE_CLOCK_BACK};
		bf_log(runtime->env, BF_LOG_WARNING, "what=clock-set-back");
		runtime->owes_clock_back = !bf_runtime_post(runtime, BF_THREAD_PLANNER, &message);
	}
	if (orders->is_ended) {
		/* Hosts may still put and remove: nothing of it is to wait for another beat of ours. */
		struct bf_message message = {.kind = BF_MESSAGE_LOST};
		bf_runtime_post(runtime, BF_THREAD_PLANNER, &message);
	}
}

static bool call_store(struct bf_runtime *runtime, const struct bf_keeper_orders *orders,
		struct bf_keeper_event *event)
{
	struct belfry_arena *arena = bf_keeper_arena(runtime->keeper);
	struct bf_store *store = runtime->config.store;
	struct belfry_error err;
	enum belfry_status status;

	if (orders->beat != NULL) {
		status = bf_store_beat(store, orders->beat, arena, &err);
	} else if (orders->list != NULL) {
		status = bf_store_list(store, orders->list, arena, &err);
	} else if (orders->prune != NULL) {
		status = bf_store_prune(store, orders->prune, &err);
	} else {
		return false;
	}
	bf_runtime_report(runtime, "keeper", status, &err);
	*event = (struct bf_keeper_event){.kind = BF_KEEPER_DONE,
			.status = status,
			.now = bf_runtime_now(runtime),
			.standstill = bf_runtime_standstill(runtime)};
	return true;
}

static struct bf_boot_time step(struct bf_runtime *runtime, struct bf_keeper_event event)
{
	struct bf_keeper_orders orders;
	bool has_called;

	do {
		bf_keeper_step(runtime->keeper, &event, &orders);
		tell(runtime, &orders);
		(void)pthread_mutex_lock(&runtime->lock);
		runtime->keeper_counts = *bf_keeper_counts(runtime->keeper);
		runtime->turned_at[BF_THREAD_KEEPER] = runtime->keeper_counts.last_step;
		if (orders.is_ended) {
			runtime->is_keeper_ended = true;
			(void)pthread_cond_broadcast(&runtime->changed);
		}
		(void)pthread_mutex_unlock(&runtime->lock);
		has_called = call_store(runtime, &orders, &event);
	} while (has_called);
	return orders.wake;
}

static struct bf_keeper_event event_of(struct bf_runtime *runtime, const struct bf_message *message)
{
	struct bf_keeper_event event = {.now = bf_runtime_now(runtime),
			.standstill = bf_runtime_standstill(runtime)};

	switch (message->kind) {
	case BF_MESSAGE_LOW:
		event.kind = BF_KEEPER_LOW;
		event.low = message->low;
		break;
	case BF_MESSAGE_BEAT_NOW: event.kind = BF_KEEPER_BEAT_NOW; break;
	case BF_MESSAGE_LOST: event.kind = BF_KEEPER_LOST; break;
	case BF_MESSAGE_END: event.kind = BF_KEEPER_END; break;
	case BF_MESSAGE_COVER:
	case BF_MESSAGE_TICKETS:
	case BF_MESSAGE_BORN:
	case BF_MESSAGE_REQUEST:
	case BF_MESSAGE_ANSWER:
	case BF_MESSAGE_KICK:
	case BF_MESSAGE_CLOCK_BACK:
	case BF_MESSAGE_CANCELLED:
	case BF_MESSAGE_CHANGED:
	case BF_MESSAGE_STOP: event.kind = BF_KEEPER_WAKE; break;
	}
	return event;
}

void *bf_runtime_keeper_main(void *data)
{
	struct bf_runtime *runtime = data;
	struct bf_inbox *inbox = &runtime->inboxes[BF_THREAD_KEEPER];
	struct bf_keeper_event event = {.kind = BF_KEEPER_WAKE, .now = bf_runtime_now(runtime)};
	struct bf_boot_time wake = step(runtime, event);

	while (!atomic_load(&runtime->quits[BF_THREAD_KEEPER])) {
		bool has_more;
		bool clock_set;
		struct bf_link *link = bf_inbox_take(inbox, &has_more);
		if (link != NULL) {
			struct bf_message *message = BF_CONTAINER(link, struct bf_message, link);
			event = event_of(runtime, message);
			bf_message_free(message);
			wake = step(runtime, event);
			continue;
		}
		bf_inbox_wait(inbox, wake, &clock_set);
		event = (struct bf_keeper_event){.kind = clock_set ? BF_KEEPER_BEAT_NOW
								   : BF_KEEPER_WAKE,
				.now = bf_runtime_now(runtime),
				.standstill = bf_runtime_standstill(runtime)};
		wake = step(runtime, event);
	}
	return NULL;
}
