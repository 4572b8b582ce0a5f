/* What an answer means for a Run, and what the store says when it is recorded. */
#include "base/grow.h"
#include "base/timefmt.h"
#include "engine/dispatcher_priv.h"

/* How long, and how long in all, a target's own Retry-After is honoured without costing an attempt. */
#define AFTER_MAX    BELFRY_HOUR
#define AFTER_WITHIN BELFRY_DAY

static struct belfry_record draft(const struct bf_held *held, enum belfry_record_kind kind)
{
	return (struct belfry_record){
			.kind = kind,
			.run = held->run.id,
			.fence = held->run.fence,
			.attempt = held->run.attempt,
			.step = held->step,
			.attempt_started_at = held->attempt_started_at,
			.write_attempt = held->run.attempt > 1,
	};
}

static void put_draft(struct bf_dispatcher *dispatcher, struct bf_held *held,
		struct belfry_record record)
{
	held->record = record;
	bf_list_move(&dispatcher->answered, &held->link);
}

/* first_delay, doubled so often, up to max_delay. */
static belfry_duration doubled(const struct bf_call_policy *policy, uint32_t times)
{
	belfry_duration wait = policy->first_delay;

	for (uint32_t i = 0; i < times && wait < policy->max_delay; i++) {
		wait *= 2;
	}
	return BF_MIN(wait, policy->max_delay);
}

/* Half of it fixed and half random (T029, T034). */
static belfry_duration backoff(struct bf_dispatcher *dispatcher, const struct bf_held *held)
{
	belfry_duration wait = doubled(&held->run.policy, held->run.failures);

	return wait / 2 + bf_jitter_between(&dispatcher->jitter, 0, wait - wait / 2);
}

/* A wait that the target asked for. It costs no attempt, so it is not shorter than what so many attempts
 * as there were would have cost: "in a second", said for a day, is not a call a second. A tenth more, so
 * that those who were sent away together do not come back together. */
static belfry_duration asked_wait(struct bf_dispatcher *dispatcher, const struct bf_held *held,
		belfry_duration after)
{
	uint32_t attempts_before = held->run.attempt > 0 ? held->run.attempt - 1 : 0;
	belfry_duration wait = BF_MAX(after, doubled(&held->run.policy, attempts_before));

	return wait + bf_jitter_between(&dispatcher->jitter, 0, wait / 10);
}

static void draft_failed(struct bf_dispatcher *dispatcher, struct bf_held *held,
		enum belfry_run_error error, struct belfry_str message, struct belfry_str detail)
{
	struct belfry_record record = draft(held, BELFRY_RECORD_FAILED);

	record.error = error != BELFRY_RUN_ERROR_NONE ? error : BELFRY_RUN_ERROR_PERMANENT;
	record.message = message;
	record.detail = detail;
	record.write_attempt = true;
	put_draft(dispatcher, held, record);
}

static void draft_retry(struct bf_dispatcher *dispatcher, struct bf_held *held,
		const struct bf_answer *answer, struct bf_boot_time now)
{
	struct belfry_record record = draft(held, BELFRY_RECORD_RETRY);
	belfry_time store_now = bf_dispatch_store_now(dispatcher, now);
	belfry_duration after = BF_MIN(answer->after, AFTER_MAX);
	belfry_duration wait = after > 0 ? asked_wait(dispatcher, held, after) : 0;
	bool is_free = after > 0 &&
			bf_time_add(store_now, wait) <=
					bf_time_add(held->run.started_at, AFTER_WITHIN);
	bool is_spent = held->run.failures + 1 >= held->run.policy.max_attempts;
	/* What went wrong last is said also where the Run ends because attempts are spent. */
	struct belfry_str message = answer->message.len > 0
			? answer->message
			: bf_str(belfry_run_error_text(answer->error));

	if (!is_free && is_spent) {
		/* With one attempt its own error says more than that attempts are spent. */
		bool is_only = held->run.policy.max_attempts == 1;
		draft_failed(dispatcher, held,
				is_only ? answer->error : BELFRY_RUN_ERROR_RETRIES_SPENT, message,
				answer->detail);
		held->record.attempt_error = answer->error; /* the attempt keeps its own */
		return;
	}
	wait = is_free ? wait : BF_MAX(after, backoff(dispatcher, held));
	record.ready_at = bf_time_add(store_now, wait);
	record.is_failure = !is_free;
	record.error = answer->error;
	record.message = message;
	record.detail = answer->detail;
	record.write_attempt = true;
	put_draft(dispatcher, held, record);
}

static void draft_turn(struct bf_dispatcher *dispatcher, struct bf_held *held,
		const struct bf_answer *answer)
{
	struct belfry_record record = draft(held, BELFRY_RECORD_TURN);

	record.turn = answer->name;
	record.status = answer->has_outcome ? answer->status : BELFRY_STATUS_RUNNING;
	record.run_flags = answer->run_flags;
	record.error = answer->error;
	record.message = answer->message;
	record.detail = answer->detail;
	put_draft(dispatcher, held, record);
}

static void draft_answer(struct bf_dispatcher *dispatcher, struct bf_held *held,
		const struct bf_answer *answer, struct bf_boot_time now)
{
	struct belfry_record record;

	switch (answer->kind) {
	case BF_ANSWER_SESSION:
		record = draft(held, BELFRY_RECORD_SESSION);
		record.session = answer->name;
		put_draft(dispatcher, held, record);
		break;
	case BF_ANSWER_TURN: draft_turn(dispatcher, held, answer); break;
	case BF_ANSWER_RETRY: draft_retry(dispatcher, held, answer, now); break;
	case BF_ANSWER_PERMANENT:
		draft_failed(dispatcher, held, answer->error, answer->message, answer->detail);
		break;
	}
}

static bool is_same_attempt(const struct bf_held *held, const struct bf_token *token)
{
	return held->run.fence == token->fence && held->run.attempt == token->attempt &&
			held->step == token->step;
}

void bf_dispatch_answer(struct bf_dispatcher *dispatcher, struct bf_answer *answer,
		struct bf_boot_time now)
{
	struct bf_held *held = bf_dispatch_find(dispatcher, answer->token.run);
	bool is_open = held != NULL && held->link.list == &dispatcher->calling &&
			is_same_attempt(held, &answer->token);

	if (!is_open) {
		bf_dispatch_release(dispatcher, answer);
		return;
	}
	bool is_wrong_step = (answer->kind == BF_ANSWER_SESSION &&
					     held->step != BELFRY_STEP_SESSION) ||
			(answer->kind == BF_ANSWER_TURN && held->step != BELFRY_STEP_TURN);
	held->answer = answer;
	if (is_wrong_step) {
		draft_failed(dispatcher, held, BELFRY_RUN_ERROR_PERMANENT,
				BF_STR("the handler answered another question than it was asked"),
				BF_STR(""));
		return;
	}
	draft_answer(dispatcher, held, answer, now);
}

void bf_dispatch_time_out(struct bf_dispatcher *dispatcher, struct bf_held *held,
		struct bf_boot_time now)
{
	struct bf_answer answer = {.kind = BF_ANSWER_RETRY, .error = BELFRY_RUN_ERROR_TIMEOUT};

	bf_dispatch_cancel(dispatcher, held);
	draft_retry(dispatcher, held, &answer, now);
}

void bf_dispatch_fail(struct bf_dispatcher *dispatcher, struct bf_held *held,
		enum belfry_run_error error, struct belfry_str message)
{
	draft_failed(dispatcher, held, error, message, BF_STR(""));
}

void bf_dispatch_hand_back(struct bf_dispatcher *dispatcher, struct bf_held *held)
{
	put_draft(dispatcher, held, draft(held, BELFRY_RECORD_RELEASED));
}

enum belfry_status bf_dispatch_begin_records(struct bf_dispatcher *dispatcher)
{
	size_t count = BF_MIN(dispatcher->answered.count, dispatcher->record_max);
	enum belfry_status status = BF_GROW(dispatcher->records, dispatcher->record_capacity,
			count);

	if (status != BELFRY_OK) {
		return status;
	}
	dispatcher->record_count = 0;
	while (dispatcher->record_count < count) {
		struct bf_held *held = BF_CONTAINER(dispatcher->answered.first, struct bf_held,
				link);
		dispatcher->records[dispatcher->record_count++] = held->record;
		bf_list_move(&dispatcher->recording, &held->link);
	}
	return BELFRY_OK;
}

bool bf_dispatch_is_success(const struct belfry_record *record)
{
	return record->kind == BELFRY_RECORD_SESSION ||
			(record->kind == BELFRY_RECORD_TURN &&
					!belfry_run_status_is_terminal(record->status));
}

static void count_end(struct bf_dispatcher *dispatcher, const struct bf_held *held)
{
	enum belfry_run_status status = BELFRY_STATUS_QUEUED;

	switch (held->record.kind) {
	case BELFRY_RECORD_TURN: status = held->record.status; break;
	case BELFRY_RECORD_FAILED: status = BELFRY_STATUS_FAILED; break;
	case BELFRY_RECORD_CANCELLED: status = BELFRY_STATUS_CANCELLED; break;
	case BELFRY_RECORD_SESSION:
	case BELFRY_RECORD_RETRY:
	case BELFRY_RECORD_RELEASED:
	case BELFRY_RECORD_CONCLUDED:
	case BELFRY_RECORD_CANCELLED_BY_HOST: return;
	}
	dispatcher->counts.ended[held->run.trigger][status]++;
}

/* The Session is stored: on to the turn, as a new attempt of a new step under the same fence. */
static void next_step(struct bf_dispatcher *dispatcher, struct bf_held *held)
{
	held->session = bf_str_dup(held->record.session);
	bf_dispatch_release(dispatcher, held->answer);
	held->answer = NULL;
	if (held->session == NULL) {
		bf_dispatch_ask_owned(dispatcher); /* the store knows it: from there again */
		bf_dispatch_drop(dispatcher, held);
		return;
	}
	held->step = BELFRY_STEP_TURN;
	held->run.failures = 0;
	held->run.takeovers = 0; /* as in the store: the turn is not asked for again, but anew */
	bf_list_move(held->payload != NULL ? &dispatcher->again : &dispatcher->ready, &held->link);
}

/* Not the store's being away: something in the batch that it will refuse each time. */
static bool is_records_fault(enum belfry_status status)
{
	enum belfry_class class_ = belfry_status_class(status);

	return class_ == BELFRY_CLASS_CALLER || class_ == BELFRY_CLASS_DATA;
}

/* A record that the store refuses to keep ends its Run in few words; those it refuses too, and the Run
 * stays with this incarnation until it is taken over. */
static void refuse(struct bf_dispatcher *dispatcher, struct bf_held *held)
{
	bool is_bare = held->record.kind == BELFRY_RECORD_FAILED && held->record.message.len == 0 &&
			held->record.detail.len == 0;

	if (is_bare) {
		bf_dispatch_drop(dispatcher, held);
	} else {
		bf_dispatch_fail(dispatcher, held, BELFRY_RUN_ERROR_PERMANENT, BF_STR(""));
	}
}

void bf_dispatch_unrecorded(struct bf_dispatcher *dispatcher, enum belfry_status status)
{
	size_t count = dispatcher->recording.count;

	if (count == 0) {
		return; /* it was another call that failed */
	}
	if (is_records_fault(status) && count == 1) {
		refuse(dispatcher, BF_CONTAINER(dispatcher->recording.first, struct bf_held, link));
		return;
	}
	dispatcher->record_max = is_records_fault(status) ? count / 2 : dispatcher->record_max;
	/* Records say the same again: what was written the first time is refused the second. */
	while (dispatcher->recording.last != NULL) {
		bf_list_move(&dispatcher->answered, dispatcher->recording.first);
	}
}

void bf_dispatcher_uncalled(struct bf_dispatcher *dispatcher, const struct bf_token *token,
		struct bf_boot_time now)
{
	struct bf_held *held = bf_dispatch_find(dispatcher, token->run);

	if (held != NULL && held->link.list == &dispatcher->calling &&
			is_same_attempt(held, token)) {
		bf_list_move(&dispatcher->ready, &held->link);
		dispatcher->not_before = bf_boot_add(now,
				bf_jitter_between(&dispatcher->jitter, 20 * BELFRY_MILLISECOND,
						50 * BELFRY_MILLISECOND));
	}
}

/* A Run that is delayed is asked for when it gets ready, not with the next tick. */
static void look_again(struct bf_dispatcher *dispatcher, belfry_time ready_at,
		struct bf_boot_time now)
{
	belfry_duration wait = bf_time_since(ready_at, bf_dispatch_store_now(dispatcher, now));

	if (dispatcher->has_cover) {
		dispatcher->claim_at.us = BF_MIN(dispatcher->claim_at.us,
				bf_boot_add(now, BF_MAX(wait, 0)).us);
	}
}

void bf_dispatch_recorded(struct bf_dispatcher *dispatcher, struct bf_boot_time now)
{
	dispatcher->record_max = BF_MIN(dispatcher->record_max * 2, BF_DISPATCH_BATCH_MAX);
	for (size_t i = 0; i < dispatcher->record_count; i++) {
		const struct belfry_record *record = &dispatcher->records[i];
		struct bf_held *held = bf_dispatch_find(dispatcher, record->run);
		if (held == NULL || held->link.list != &dispatcher->recording) {
			continue; /* lost meanwhile */
		}
		if (record->result != BELFRY_OK) {
			dispatcher->counts.stale++;
			if (record->result == BELFRY_CONFLICT) {
				/* Another Session is stored, and the Run may be ours still. */
				bf_dispatch_ask_owned(dispatcher);
				bf_dispatch_drop(dispatcher, held);
			} else {
				bf_dispatch_forget(dispatcher, held);
			}
		} else if (record->kind == BELFRY_RECORD_SESSION) {
			next_step(dispatcher, held);
		} else {
			/* A Run that was delayed or handed back waits in the queue. */
			if (record->kind == BELFRY_RECORD_RETRY) {
				look_again(dispatcher, record->ready_at, now);
			}
			count_end(dispatcher, held);
			bf_dispatch_drop(dispatcher, held);
		}
	}
	dispatcher->record_count = 0;
}
