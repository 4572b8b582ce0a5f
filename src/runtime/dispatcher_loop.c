/* The dispatcher's thread: events in, store calls, handler calls and messages out. */
#include "runtime/runtime_priv.h"

static struct belfry_invocation invocation_of(const struct bf_call *call)
{
	const struct bf_owned_run *run = call->run;

	return (struct belfry_invocation){
			.size = sizeof(struct belfry_invocation),
			.run = run->id,
			.trigger = run->trigger,
			.schedule = {run->schedule, run->schedule_len},
			.payload = call->payload,
			.revision = run->revision,
			.due_at = run->due_at,
			.replayed_from = run->replayed_from,
			.attempt = run->attempt,
			.fence = run->fence,
			.stands_for = run->stands_for,
			.timeout = run->policy.timeout,
			.takeovers = run->takeovers,
	};
}

static void call_handler(struct bf_runtime *runtime, const struct bf_call *call)
{
	struct belfry_invocation invocation = invocation_of(call);
	struct bf_boot_time now = bf_runtime_now(runtime);
	/* The last look at the clock before the call: other calls were made in between. */
	bool is_late = now.us >= atomic_load(&runtime->act_until);
	struct belfry_reply *reply = is_late ? NULL : bf_reply_new(runtime->book, &call->token);

	if (reply == NULL) {
		bf_dispatcher_uncalled(runtime->dispatcher, &call->token, now);
		return;
	}
	if (call->token.step == BELFRY_STEP_SESSION) {
		BF_CRASH_POINT("before-start-session");
		runtime->handler->start_session(runtime->handler->data, &invocation, reply);
	} else {
		BF_CRASH_POINT("before-admit-turn");
		struct belfry_str session = call->session;
		char own[BELFRY_ID_TEXT_BYTES];
		if (session.len == 0) {
			/* A local Session carries the Run's id (BELFRY_RUN_F_LOCAL_SESSION). */
			belfry_id_format(call->token.run, own);
			session = bf_str(own);
		}
		runtime->handler->admit_turn(runtime->handler->data, &invocation, session, reply);
	}
}

static void cancel_call(struct bf_runtime *runtime, const struct bf_token *token)
{
	bf_reply_cancel(runtime->book, token);
	if (runtime->handler->cancel != NULL) {
		runtime->handler->cancel(runtime->handler->data, token->run, token->fence);
	}
}

static void tell(struct bf_runtime *runtime, const struct bf_dispatcher_orders *orders)
{
	for (size_t i = 0; i < orders->cancel_count; i++) {
		cancel_call(runtime, &orders->cancels[i]);
	}
	for (size_t i = 0; i < orders->call_count; i++) {
		call_handler(runtime, &orders->calls[i]);
	}
	for (struct bf_answer *answer = orders->released; answer != NULL;) {
		struct bf_answer *next = answer->next;
		bf_answer_release(answer);
		answer = next;
	}
	if (orders->has_tickets) {
		struct bf_message message = {.kind = BF_MESSAGE_TICKETS,
				.tickets = orders->tickets};
		if (!bf_runtime_post(runtime, BF_THREAD_PLANNER, &message)) {
			bf_dispatcher_untold(runtime->dispatcher, &orders->tickets);
		}
	}
	if (orders->has_low) {
		struct bf_message message = {.kind = BF_MESSAGE_LOW, .low = orders->low};
		bf_runtime_post(runtime, BF_THREAD_KEEPER, &message);
	}
	if (orders->is_lost) {
		struct bf_message message = {.kind = BF_MESSAGE_LOST};
		bf_runtime_post(runtime, BF_THREAD_KEEPER, &message);
	}
}

/* ---- what the host may show ---------------------------------------------------------------------- */

static void tell_recorded(struct bf_runtime *runtime, const struct belfry_record *records,
		size_t count)
{
	struct bf_changes changes = {.runtime = runtime};

	for (size_t i = 0; runtime->config.changed != NULL && i < count; i++) {
		if (records[i].result == BELFRY_OK) {
			bf_changes_tell(&changes,
					bf_dispatcher_schedule(runtime->dispatcher,
							records[i].run));
		}
	}
}

static void tell_claimed(struct bf_runtime *runtime, const struct belfry_claim *claim)
{
	struct bf_changes changes = {.runtime = runtime};
	bool has_changed = claim->kind != BELFRY_CLAIM_OWNED && runtime->config.changed != NULL;

	for (size_t i = 0; has_changed && i < claim->run_count; i++) {
		bf_changes_tell(&changes, claim->runs[i].run.schedule);
	}
}

static bool call_store(struct bf_runtime *runtime, const struct bf_dispatcher_orders *orders,
		struct bf_dispatcher_event *event)
{
	struct belfry_arena *arena = bf_dispatcher_arena(runtime->dispatcher);
	struct bf_store *store = runtime->config.store;
	struct belfry_error err;
	enum belfry_status status;

	if (orders->records != NULL) {
		BF_CRASH_POINT("record-before-commit");
		status = bf_store_record(store, orders->records, orders->record_count, &err);
		BF_CRASH_POINT("record-after-commit");
		if (status == BELFRY_OK) {
			tell_recorded(runtime, orders->records, orders->record_count);
		}
	} else if (orders->list != NULL) {
		status = bf_store_list(store, orders->list, arena, &err);
	} else if (orders->claim != NULL) {
		status = bf_store_claim_runs(store, orders->claim, arena, &err);
		BF_CRASH_POINT("claim-after-commit");
		if (status == BELFRY_OK) {
			tell_claimed(runtime, orders->claim);
		}
	} else {
		return false;
	}
	bf_runtime_report(runtime, "dispatcher", status, &err);
	*event = (struct bf_dispatcher_event){.kind = BF_DISPATCHER_DONE,
			.status = status,
			.now = bf_runtime_now(runtime),
			.has_more = !bf_inbox_is_empty(&runtime->inboxes[BF_THREAD_DISPATCHER])};
	return true;
}

static struct bf_boot_time step(struct bf_runtime *runtime, struct bf_dispatcher_event event)
{
	struct bf_dispatcher_orders orders;
	bool has_called;

	do {
		bf_dispatcher_step(runtime->dispatcher, &event, &orders);
		tell(runtime, &orders);
		has_called = call_store(runtime, &orders, &event);
	} while (has_called);
	(void)pthread_mutex_lock(&runtime->lock);
	runtime->dispatcher_counts = *bf_dispatcher_counts(runtime->dispatcher);
	runtime->turned_at[BF_THREAD_DISPATCHER] = runtime->dispatcher_counts.last_step;
	bool is_idle = runtime->is_draining && bf_dispatcher_is_idle(runtime->dispatcher) &&
			bf_inbox_is_empty(&runtime->inboxes[BF_THREAD_DISPATCHER]);
	if (is_idle != runtime->is_dispatcher_idle) {
		runtime->is_dispatcher_idle = is_idle;
		(void)pthread_cond_broadcast(&runtime->changed);
	}
	(void)pthread_mutex_unlock(&runtime->lock);
	return orders.wake;
}

static struct bf_dispatcher_event event_of(struct bf_runtime *runtime,
		const struct bf_message *message, bool has_more)
{
	struct bf_dispatcher_event event = {.now = bf_runtime_now(runtime), .has_more = has_more};

	switch (message->kind) {
	case BF_MESSAGE_COVER:
		atomic_store(&runtime->act_until, message->cover.act_until.us);
		event.kind = BF_DISPATCHER_COVER;
		event.cover = message->cover;
		break;
	case BF_MESSAGE_LOST:
		atomic_store(&runtime->act_until, 0);
		event.kind = BF_DISPATCHER_LOST;
		break;
	case BF_MESSAGE_BORN:
		event.kind = BF_DISPATCHER_BORN;
		event.born = message->born;
		break;
	case BF_MESSAGE_ANSWER:
		event.kind = BF_DISPATCHER_ANSWER;
		event.answer = message->answer;
		break;
	case BF_MESSAGE_KICK: event.kind = BF_DISPATCHER_KICK; break;
	case BF_MESSAGE_CANCELLED:
		event.kind = BF_DISPATCHER_CANCELLED;
		event.cancelled = message->cancelled;
		break;
	case BF_MESSAGE_STOP:
		runtime->is_draining = true;
		event.kind = BF_DISPATCHER_STOP;
		event.until = message->until;
		break;
	case BF_MESSAGE_TICKETS:
	case BF_MESSAGE_REQUEST:
	case BF_MESSAGE_LOW:
	case BF_MESSAGE_BEAT_NOW:
	case BF_MESSAGE_CLOCK_BACK:
	case BF_MESSAGE_CHANGED:
	case BF_MESSAGE_END: event.kind = BF_DISPATCHER_WAKE; break;
	}
	return event;
}

void *bf_runtime_dispatcher_main(void *data)
{
	struct bf_runtime *runtime = data;
	struct bf_inbox *inbox = &runtime->inboxes[BF_THREAD_DISPATCHER];
	struct bf_dispatcher_event event = {.kind = BF_DISPATCHER_WAKE,
			.now = bf_runtime_now(runtime)};
	struct bf_boot_time wake = step(runtime, event);

	while (!atomic_load(&runtime->quits[BF_THREAD_DISPATCHER])) {
		bool has_more;
		bool clock_set;
		struct bf_link *link = bf_inbox_take(inbox, &has_more);
		if (link != NULL) {
			struct bf_message *message = BF_CONTAINER(link, struct bf_message, link);
			event = event_of(runtime, message, has_more);
			bf_message_free(message);
			wake = step(runtime, event);
			bf_free(event.cancelled.runs); /* was borrowed for the step */
			continue;
		}
		bf_inbox_wait(inbox, wake, &clock_set);
		event = (struct bf_dispatcher_event){.kind = BF_DISPATCHER_WAKE,
				.now = bf_runtime_now(runtime),
				.has_more = !bf_inbox_is_empty(inbox)};
		wake = step(runtime, event);
	}
	return NULL;
}
