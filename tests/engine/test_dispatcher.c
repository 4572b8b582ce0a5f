/* The dispatcher, driven event by event with a store and a handler made up here. */
#include "cases.h"

#include "engine/dispatcher.h"
#include "support.h"

#define TICK BELFRY_SECOND
#define US   ((belfry_fence)1000)

struct bench {
	struct bf_dispatcher *dispatcher;
	struct bf_dispatcher_orders orders;
	struct bf_boot_time now;
	struct bf_tickets tickets; /* summed up over all orders */
	struct belfry_id low;
	size_t low_count;
	size_t released;
	size_t cancelled;
	struct bf_answer answers[64];
	size_t answer_count;
	struct bf_buf definition;
};

static void set_up_with(void **state, uint32_t max_runs, uint64_t seed)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct bf_dispatcher_config config = {.max_runs = max_runs,
			.max_bytes = 1000,
			.recovery_limit = 3,
			.tick = TICK,
			.seed = seed};

	assert_int_equal(bf_dispatcher_new(&config, &b->dispatcher), BELFRY_OK);
	b->now = boot(1000 * BELFRY_SECOND);
	b->definition = definition_of("* * * * *", NULL);
	*state = b;
}

static int set_up(void **state)
{
	set_up_with(state, 100, 5);
	return 0;
}

static int set_up_one_place(void **state)
{
	set_up_with(state, 1, 5);
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	bf_dispatcher_free(b->dispatcher, NULL);
	bf_buf_fini(&b->definition);
	test_free(b);
	return 0;
}

static void note_orders(struct bench *b, const struct bf_dispatcher_orders *before, bool was_done)
{
	struct bf_dispatcher_orders *o = &b->orders;
	int operations = (o->claim != NULL) + (o->records != NULL) + (o->list != NULL);

	assert_in_range(operations, 0, 1);
	assert_true(o->wake.us > b->now.us);
	for (const struct bf_answer *a = o->released; a != NULL; a = a->next) {
		b->released++;
	}
	b->cancelled += o->cancel_count;
	if (o->has_tickets) {
		b->tickets.places += o->tickets.places;
		b->tickets.bytes += o->tickets.bytes;
		b->tickets.incarnation = o->tickets.incarnation;
		b->tickets.floor = o->tickets.floor;
		b->tickets.is_backlog = o->tickets.is_backlog;
	}
	if (o->has_low) {
		b->low = o->low;
		b->low_count++;
	}
	if (!was_done && operations == 0) {
		o->claim = before->claim; /* still under way */
		o->records = before->records;
		o->record_count = before->record_count;
		o->list = before->list;
	}
}

static void step(struct bench *b, struct bf_dispatcher_event event)
{
	struct bf_dispatcher_orders before = b->orders;

	event.now = b->now;
	bf_dispatcher_step(b->dispatcher, &event, &b->orders);
	note_orders(b, &before, event.kind == BF_DISPATCHER_DONE);
}

static void wake(struct bench *b)
{
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_WAKE});
}

static void pass_time(struct bench *b, belfry_duration d)
{
	b->now = bf_boot_add(b->now, d);
}

static void done(struct bench *b, enum belfry_status status)
{
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_DONE, .status = status});
}

static void cover(struct bench *b, unsigned id)
{
	struct bf_cover news = {.incarnation = id_of(id),
			.from = at_time(9, 0, 0),
			.to = at_time(11, 0, 0),
			.act_until = bf_boot_add(b->now, 6 * BELFRY_SECOND),
			.store_now = at_time(10, 0, 0),
			.at = boot(1000 * BELFRY_SECOND)};

	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_COVER, .cover = news});
}

/* The queue, takeovers and what is ours: nothing there. */
static void answer_claims(struct bench *b)
{
	for (int i = 0; i < 10 && b->orders.claim != NULL; i++) {
		b->orders.claim->is_short = true;
		b->orders.claim->now = at_time(10, 0, 0);
		b->orders.claim->next_ready = BELFRY_TIME_NEVER;
		done(b, BELFRY_OK);
	}
	assert_null(b->orders.claim);
}

static void begin(struct bench *b)
{
	cover(b, 1);
	answer_claims(b);
}

static struct bf_owned_run owned(unsigned n)
{
	struct bf_owned_run run = {.fence = 100 * US,
			.trigger = BELFRY_TRIGGER_SCHEDULE,
			.attempt = 1,
			.payload_bytes = 10,
			.stands_for = 1,
			.revision = 1,
			.due_at = at_time(10, 0, 0) + n,
			.ready_at = at_time(10, 0, 0),
			.started_at = at_time(10, 0, 0),
			.is_first_start = true,
			.is_born = true,
			.policy = {BELFRY_INTERRUPTED_RESUME, 5, BELFRY_SECOND, BELFRY_MINUTE,
					BELFRY_MINUTE}};

	assert_int_equal(belfry_run_id(BF_STR("s"), run.due_at, &run.id), BELFRY_OK);
	bf_owned_set_schedule(&run, BF_STR("s"));
	run.fence = (belfry_fence)run.started_at + n;
	return run;
}

static void bear(struct bench *b, const struct bf_owned_run *runs, size_t count)
{
	struct bf_born *born = bf_alloc(sizeof(*born));

	assert_non_null(born);
	born->incarnation = id_of(1);
	born->floor = bf_run_id_floor(at_time(9, 59, 0));
	born->runs = bf_alloc_array(count, sizeof(*runs));
	assert_non_null(born->runs);
	memcpy(born->runs, runs, count * sizeof(*runs));
	born->run_count = count;
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN, .born = born});
}

/* The payloads that were asked for. */
static void answer_load(struct bench *b)
{
	struct belfry_invocation_row rows[64];

	assert_non_null(b->orders.list);
	assert_int_equal(b->orders.list->kind, BELFRY_LIST_INVOCATIONS);
	for (size_t i = 0; i < b->orders.list->run_id_count; i++) {
		rows[i] = (struct belfry_invocation_row){b->orders.list->run_ids[i],
				BF_STR("payload")};
	}
	b->orders.list->invocations = rows;
	b->orders.list->count = b->orders.list->run_id_count;
	done(b, BELFRY_OK);
}

static void answer_records(struct bench *b, enum belfry_status result)
{
	assert_non_null(b->orders.records);
	for (size_t i = 0; i < b->orders.record_count; i++) {
		b->orders.records[i].result = result;
	}
	done(b, BELFRY_OK);
}

static void reply(struct bench *b, struct bf_token token, struct bf_answer answer)
{
	struct bf_answer *mine = &b->answers[b->answer_count++ % BF_COUNT(b->answers)];

	*mine = answer;
	mine->token = token;
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_ANSWER, .answer = mine});
}

/* One Run of ours whose call of the given step is open. */
static struct bf_token open_call(struct bench *b, struct bf_owned_run run)
{
	bear(b, &run, 1);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
	return b->orders.calls[0].token;
}

static const struct bf_answer session_s = {.kind = BF_ANSWER_SESSION, .name = {"s-1", 3}};
static const struct bf_answer turn_t = {.kind = BF_ANSWER_TURN, .name = {"t-1", 3}};
static const struct bf_answer retry_r = {.kind = BF_ANSWER_RETRY,
		.error = BELFRY_RUN_ERROR_TARGET_UNREACHABLE};

/* ---- the two steps ----------------------------------------------------------------------------- */

static void t024_session_is_stored_before_the_turn_is_admitted(void **state)
{
	struct bench *b = *state;

	begin(b);
	struct bf_token token = open_call(b, owned(1));
	assert_int_equal(token.step, BELFRY_STEP_SESSION);
	reply(b, token, session_s);
	assert_int_equal(b->orders.call_count, 0);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_SESSION);
	assert_true(bf_str_equal(b->orders.records[0].session, BF_STR("s-1")));
	answer_records(b, BELFRY_OK); /* its small payload was kept: the turn follows at once */
	assert_null(b->orders.list);
	assert_int_equal(b->orders.call_count, 1);
	assert_int_equal(b->orders.calls[0].token.step, BELFRY_STEP_TURN);
	assert_int_equal(b->orders.calls[0].token.fence, token.fence);
	assert_true(bf_str_equal(b->orders.calls[0].session, BF_STR("s-1")));
	reply(b, b->orders.calls[0].token, turn_t);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_TURN);
	assert_int_equal(b->orders.records[0].status, BELFRY_STATUS_RUNNING);
	answer_records(b, BELFRY_OK);
	/* t035: it leaves memory although the agent still works. */
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	assert_int_equal(b->released, 2);
}

static void a_local_session_goes_straight_to_the_turn(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.run_flags = BELFRY_RUN_F_LOCAL_SESSION;
	begin(b);
	struct bf_token token = open_call(b, run);
	assert_int_equal(token.step, BELFRY_STEP_TURN);
	assert_int_equal(b->orders.calls[0].session.len, 0);
	struct bf_answer ended = turn_t;
	ended.has_outcome = true;
	ended.status = BELFRY_STATUS_COMPLETED;
	reply(b, token, ended);
	assert_int_equal(b->orders.records[0].status, BELFRY_STATUS_COMPLETED);
	answer_records(b, BELFRY_OK);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)
					 ->ended[BELFRY_TRIGGER_SCHEDULE][BELFRY_STATUS_COMPLETED],
			1);
}

static void t027_t028_a_permanent_answer_fails_the_run_with_its_reason(void **state)
{
	struct bench *b = *state;
	struct bf_answer no = {.kind = BF_ANSWER_PERMANENT,
			.error = BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED,
			.message = BF_STR("not allowed")};

	begin(b);
	reply(b, open_call(b, owned(1)), no);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED);
	assert_true(b->orders.records[0].write_attempt);
	answer_records(b, BELFRY_OK);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
}

static void an_answer_to_another_question_fails_the_run(void **state)
{
	struct bench *b = *state;

	begin(b);
	reply(b, open_call(b, owned(1)), turn_t);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	answer_records(b, BELFRY_OK);
}

static void a_run_whose_payload_is_gone_ends(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin(b);
	bear(b, &run, 1);
	b->orders.list->count = 0;
	done(b, BELFRY_OK);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	answer_records(b, BELFRY_OK);
}

/* ---- retries ----------------------------------------------------------------------------------- */

static belfry_duration wait_after(struct bench *b, uint32_t failures, struct bf_answer answer)
{
	struct bf_owned_run run = owned(failures + 1);

	run.failures = failures;
	run.policy.max_attempts = 100;
	reply(b, open_call(b, run), answer);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RETRY);
	belfry_duration wait = b->orders.records[0].ready_at - at_time(10, 0, 0);
	answer_records(b, BELFRY_OK);
	return wait;
}

static void t029_t034_waits_double_within_half_of_themselves_and_are_bounded(void **state)
{
	struct bench *b = *state;
	belfry_duration nominal = BELFRY_SECOND;
	belfry_duration before = 0;

	begin(b);
	for (uint32_t failures = 0; failures < 40; failures++) {
		belfry_duration wait = wait_after(b, failures, retry_r);
		assert_true(wait >= nominal / 2);
		assert_true(wait <= nominal);
		if (nominal < BELFRY_MINUTE) {
			assert_true(wait >= before); /* half fixed: they grow */
			before = wait;
		}
		nominal = BF_MIN(2 * nominal, BELFRY_MINUTE);
	}
}

/* What failed together at two replicas does not come back together. */
static void t034_two_seeds_wait_differently_and_one_seed_the_same(void **state)
{
	belfry_duration waits[3][8];
	size_t different = 0;

	for (size_t i = 0; i < BF_COUNT(waits); i++) {
		void *bench = NULL;
		set_up_with(&bench, 100, i == 2 ? 6 : 5);
		begin(bench);
		for (uint32_t failures = 0; failures < BF_COUNT(waits[i]); failures++) {
			waits[i][failures] = wait_after(bench, failures, retry_r);
		}
		(void)tear_down(&bench);
	}
	assert_memory_equal(waits[0], waits[1], sizeof(waits[0]));
	for (size_t i = 0; i < BF_COUNT(waits[0]); i++) {
		different += waits[0][i] != waits[2][i];
	}
	assert_true(different >= BF_COUNT(waits[0]) - 1);
	(void)state;
}

static void t030_retries_that_are_spent_fail_the_run_once(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.failures = 4;
	run.attempt = 5;
	begin(b);
	reply(b, open_call(b, run), retry_r);
	assert_int_equal(b->orders.record_count, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_RETRIES_SPENT);
	answer_records(b, BELFRY_OK);
}

static void with_one_attempt_its_own_error_is_the_runs(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.policy.max_attempts = 1;
	begin(b);
	reply(b, open_call(b, run), retry_r);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_TARGET_UNREACHABLE);
	answer_records(b, BELFRY_OK);
}

static void a_wait_that_the_target_asks_for_is_no_attempt_for_a_day(void **state)
{
	struct bench *b = *state;
	struct bf_answer later = retry_r;
	struct bf_owned_run run = owned(1);

	later.after = 10 * BELFRY_MINUTE;
	run.failures = 4; /* the last one, if it counted */
	begin(b);
	reply(b, open_call(b, run), later);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RETRY);
	assert_false(b->orders.records[0].is_failure);
	assert_in_range(b->orders.records[0].ready_at, at_time(10, 10, 0), at_time(10, 11, 0));
	answer_records(b, BELFRY_OK);
	/* At most an hour, and a tenth. */
	later.after = BELFRY_DAY;
	reply(b, open_call(b, run = owned(2)), later);
	assert_in_range(b->orders.records[0].ready_at, at_time(11, 0, 0), at_time(11, 6, 0));
	answer_records(b, BELFRY_OK);
	/* A day after its start it counts, however short ago it got ready again. */
	run = owned(3);
	run.failures = 4;
	run.started_at = at_time(10, 0, 0) - BELFRY_DAY;
	run.ready_at = at_time(9, 59, 0);
	later.after = 10 * BELFRY_MINUTE;
	reply(b, open_call(b, run), later);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	answer_records(b, BELFRY_OK);
}

static void waits_that_a_target_asks_for_get_no_shorter_than_its_policys(void **state)
{
	struct bench *b = *state;
	struct bf_answer soon = retry_r;
	belfry_duration floor = BELFRY_SECOND;
	size_t different = 0;
	belfry_duration before = 0;

	soon.after = 1; /* a microsecond, for a day */
	begin(b);
	for (uint32_t attempt = 1; attempt < 40; attempt++) {
		struct bf_owned_run run = owned(attempt);
		run.attempt = attempt;
		reply(b, open_call(b, run), soon);
		assert_false(b->orders.records[0].is_failure);
		belfry_duration wait = b->orders.records[0].ready_at - at_time(10, 0, 0);
		assert_in_range(wait, floor, floor + floor / 10);
		different += wait != before;
		before = wait;
		answer_records(b, BELFRY_OK);
		floor = BF_MIN(2 * floor, BELFRY_MINUTE);
	}
	assert_true(different > 30); /* those sent away together come back apart */
}

static void b10_a_call_past_its_limit_is_told_and_its_late_answer_dropped(void **state)
{
	struct bench *b = *state;

	begin(b);
	struct bf_token token = open_call(b, owned(1));
	pass_time(b, BELFRY_MINUTE - 1);
	cover(b, 1);
	answer_claims(b);
	assert_int_equal(b->cancelled, 0);
	pass_time(b, 1);
	wake(b);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RETRY);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_TIMEOUT);
	reply(b, token, session_s); /* too late */
	assert_int_equal(b->released, 1);
	answer_records(b, BELFRY_OK);
	reply(b, token, session_s);
	assert_int_equal(b->released, 2);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
}

static void a_call_without_limit_stays_open(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.policy.timeout = 0;
	begin(b);
	(void)open_call(b, run);
	pass_time(b, 1000 * BELFRY_DAY);
	cover(b, 1);
	answer_claims(b);
	assert_int_equal(b->cancelled, 0);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

/* ---- stale, lost, uncertain -------------------------------------------------------------------- */

static void t036_a_record_that_is_refused_drops_the_run(void **state)
{
	struct bench *b = *state;

	begin(b);
	reply(b, open_call(b, owned(1)), session_s);
	answer_records(b, BELFRY_STALE);
	assert_int_equal(b->orders.call_count, 0);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->stale, 1);
}

static void t033_another_session_is_stored_so_the_store_is_asked(void **state)
{
	struct bench *b = *state;

	begin(b);
	reply(b, open_call(b, owned(1)), session_s);
	answer_records(b, BELFRY_CONFLICT);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
}

static void t041_a_lost_holder_cancels_its_calls_and_begins_none(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	begin(b);
	struct bf_token token = open_call(b, runs[0]);
	bear(b, &runs[1], 1); /* loading */
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_LOST});
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 0);
	reply(b, token, session_s);
	assert_null(b->orders.records);
	assert_int_equal(b->released, 1);
	wake(b);
	assert_null(b->orders.claim);
}

static void no_call_is_begun_past_the_lease(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin(b);
	bear(b, &run, 1);
	pass_time(b, 6 * BELFRY_SECOND); /* the store took so long */
	answer_load(b);
	assert_int_equal(b->orders.call_count, 0);
	assert_null(b->orders.list);
	cover(b, 1);
	while (b->orders.claim != NULL) {
		answer_claims(b);
	}
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
}

static void a_new_incarnation_ends_the_old_one_also_without_its_news(void **state)
{
	struct bench *b = *state;

	begin(b);
	struct bf_token token = open_call(b, owned(1));
	cover(b, 2);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 0);
	answer_claims(b);
	reply(b, token, session_s);
	assert_null(b->orders.records);
}

static void a_lost_claim_answer_asks_what_is_ours_and_repeats_the_claim(void **state)
{
	struct bench *b = *state;

	cover(b, 1);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	done(b, BELFRY_UNKNOWN);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	b->orders.claim->now = at_time(10, 0, 0);
	done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	done(b, BELFRY_UNAVAILABLE);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	b->orders.claim->now = at_time(10, 0, 0);
	done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
}

/* The question that comes while an answer is under way is not answered by it. */
static void what_is_asked_during_a_claim_is_asked_again_after_it(void **state)
{
	struct bench *b = *state;
	struct bf_born *born = bf_alloc(sizeof(*born));

	assert_non_null(born);
	*born = (struct bf_born){.incarnation = id_of(1), .is_unknown = true};
	cover(b, 1);
	done(b, BELFRY_UNKNOWN);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN, .born = born});
	b->orders.claim->now = at_time(10, 0, 0);
	done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	b->orders.claim->now = at_time(10, 0, 0);
	done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	b->orders.claim->now = at_time(10, 0, 0);
	done(b, BELFRY_OK);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	/* Run now, stored after the claim read the queue: looked for at once, not at the tick. */
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	b->orders.claim->now = at_time(10, 0, 0);
	b->orders.claim->is_short = true;
	b->orders.claim->next_ready = BELFRY_TIME_NEVER;
	done(b, BELFRY_OK);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	answer_claims(b);
}

static void while_a_commit_is_uncertain_no_low_mark_is_told(void **state)
{
	struct bench *b = *state;
	struct bf_born *born = bf_alloc(sizeof(*born));

	begin(b);
	size_t told = b->low_count;
	assert_non_null(born);
	*born = (struct bf_born){.incarnation = id_of(1), .is_unknown = true};
	step(b,
			(struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN,
					.born = born,
					.has_more = true});
	cover(b, 1);
	assert_int_equal(b->low_count, told);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	cover(b, 1); /* the question is under way */
	assert_int_equal(b->low_count, told);
	answer_claims(b);
	cover(b, 1);
	assert_int_equal(b->low_count, told + 1);
	answer_claims(b);
}

static void the_low_mark_is_the_oldest_open_run_that_was_born_to_us(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	runs[0].id = bf_run_id_floor(at_time(9, 0, 0));
	begin(b);
	bear(b, runs, 2);
	answer_load(b);
	cover(b, 1);
	assert_int_equal(bf_id_compare(b->low, runs[0].id), 0);
	answer_claims(b);
}

/* ---- takeover ---------------------------------------------------------------------------------- */

static void claim_one(struct bench *b, struct belfry_claimed claimed)
{
	claimed.definition = claimed.definition.len > 0 ? claimed.definition
							: bf_buf_str(&b->definition);
	b->orders.claim->runs = &claimed;
	b->orders.claim->run_count = 1;
	b->orders.claim->now = at_time(10, 0, 0);
	b->orders.claim->is_short = true;
	b->orders.claim->next_ready = BELFRY_TIME_NEVER;
	done(b, BELFRY_OK);
}

static struct belfry_claimed claimed_run(unsigned n, uint32_t takeovers, const char *session)
{
	struct bf_owned_run run = owned(n);

	return (struct belfry_claimed){.run = {.id = run.id,
						       .schedule = BF_STR("s"),
						       .state = BELFRY_RUN_DISPATCHING,
						       .fence = run.fence,
						       .attempt = 2,
						       .takeovers = takeovers,
						       .stands_for = 1,
						       .session = bf_str(session),
						       .started_at = at_time(9, 0, 0)},
			.payload_bytes = 10};
}

/* Runs the claims that come until a payload is read or a record is written. */
static void finish_claims(struct bench *b)
{
	while (b->orders.claim != NULL) {
		b->orders.claim->is_short = true;
		b->orders.claim->now = at_time(10, 0, 0);
		b->orders.claim->next_ready = BELFRY_TIME_NEVER;
		done(b, BELFRY_OK);
	}
}

static void t026_t037_a_takeover_goes_on_where_the_store_says(void **state)
{
	struct bench *b = *state;

	cover(b, 1);
	claim_one(b, claimed_run(1, 1, "stored-session"));
	answer_load(b);
	assert_int_equal(b->orders.calls[0].token.step, BELFRY_STEP_TURN);
	assert_true(bf_str_equal(b->orders.calls[0].session, BF_STR("stored-session")));
	assert_int_equal(b->orders.calls[0].token.attempt, 2);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->takeovers, 1);
}

static void t025_without_a_stored_session_the_session_is_started_again(void **state)
{
	struct bench *b = *state;

	cover(b, 1);
	claim_one(b, claimed_run(1, 1, ""));
	answer_load(b);
	assert_int_equal(b->orders.calls[0].token.step, BELFRY_STEP_SESSION);
}

static void t042_past_the_recovery_limit_a_run_is_failed_without_a_call(void **state)
{
	struct bench *b = *state;

	cover(b, 1);
	claim_one(b, claimed_run(1, 3, ""));
	answer_load(b); /* the limit itself is still taken */
	assert_int_equal(b->orders.call_count, 1);
	finish_claims(b);
	cover(b, 1);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_TAKEOVER);
	claim_one(b, claimed_run(2, 4, ""));
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_RECOVERY_LIMIT);
}

static void an_abandoned_takeover_is_failed_as_interrupted(void **state)
{
	struct bench *b = *state;
	struct belfry_policies policies = BELFRY_POLICIES_INIT;

	policies.interrupted = BELFRY_INTERRUPTED_ABANDON;
	struct bf_buf definition = definition_of("* * * * *", &policies);
	struct belfry_claimed run = claimed_run(1, 1, "");
	run.definition = bf_buf_str(&definition);
	cover(b, 1);
	claim_one(b, run);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_FAILED);
	assert_int_equal(b->orders.records[0].error, BELFRY_RUN_ERROR_INTERRUPTED);
	bf_buf_fini(&definition);
}

/* ---- tickets ----------------------------------------------------------------------------------- */

static void tickets_leave_a_quarter_for_the_queue_and_are_counted(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[30];

	begin(b);
	assert_int_equal(b->tickets.places, 75);
	assert_int_equal(b->tickets.bytes, 750);
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		runs[i] = owned(i);
	}
	bear(b, runs, BF_COUNT(runs));
	/* 30 are held and 45 granted still: nothing more may be given out. */
	assert_int_equal(b->tickets.places, 75);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 30);
}

static void t031_a_single_place_is_kept_for_the_queue(void **state)
{
	struct bench *b = *state;

	begin(b);
	assert_int_equal(b->tickets.places, 0);
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->max_runs, 1);
}

static void a_backlog_calls_the_tickets_back(void **state)
{
	struct bench *b = *state;

	begin(b);
	assert_int_equal(b->tickets.places, 75);
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	struct belfry_claimed run = claimed_run(1, 0, "");
	run.definition = bf_buf_str(&b->definition);
	b->orders.claim->runs = &run;
	b->orders.claim->run_count = 1;
	b->orders.claim->now = at_time(10, 0, 0);
	b->orders.claim->is_short = false;
	done(b, BELFRY_OK);
	assert_true(b->tickets.is_backlog);
	assert_int_equal(b->tickets.places, 75); /* no more */
	answer_load(b);
	/* It sits in a slow commit: told once, and again at the tick. */
	for (int i = 0; i < 10; i++) {
		wake(b);
		assert_false(b->orders.has_tickets);
	}
	pass_time(b, TICK);
	wake(b);
	assert_true(b->orders.has_tickets && b->orders.tickets.is_backlog);
	wake(b);
	assert_false(b->orders.has_tickets);
	/* It has answered, and what it has still is asked for once more. */
	bear(b, (struct bf_owned_run[]){owned(2)}, 1);
	assert_true(b->orders.has_tickets && b->orders.tickets.is_backlog);
}

static void bytes_go_with_places_and_the_queue_keeps_its_own(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[30];

	begin(b);
	assert_int_equal(b->tickets.bytes, 750);
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		runs[i] = owned(i);
	}
	bear(b, runs, BF_COUNT(runs));
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		/* Whatever is granted again and again, the queue's quarter of the bytes is left. */
		pass_time(b, TICK);
		cover(b, 1);
		step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
		assert_true(bf_dispatcher_counts(b->dispatcher)->held_bytes + b->tickets.bytes -
						10 * BF_COUNT(runs) <=
				750);
	}
	answer_load(b);
	finish_claims(b);
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_QUEUE);
	assert_in_range(b->orders.claim->max_bytes, 250, 1000);
}

/* A Run that was handed back by a stop has its first attempt again, but not its first start. */
static void a_start_is_counted_once_for_the_latency(void **state)
{
	struct bench *b = *state;
	struct belfry_claimed again = claimed_run(1, 0, "");
	struct belfry_claimed first = claimed_run(2, 0, "");

	begin(b);
	again.run.attempt = 1; /* started at 9 */
	first.run.attempt = 1;
	first.run.started_at = at_time(10, 0, 0);
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	claim_one(b, again);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->lateness_count, 0);
	answer_load(b);
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_KICK});
	claim_one(b, first);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->lateness_count, 1);
}

static void tickets_that_could_not_be_carried_are_given_again(void **state)
{
	struct bench *b = *state;

	begin(b);
	assert_int_equal(b->tickets.places, 75);
	bf_dispatcher_untold(b->dispatcher, &b->tickets);
	b->tickets.places = 0;
	wake(b);
	assert_int_equal(b->tickets.places, 75);
}

static void a_call_that_could_not_be_made_is_made_later(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	run.policy.timeout = 0; /* no time limit would bring it back */
	begin(b);
	struct bf_token token = open_call(b, run);
	bf_dispatcher_uncalled(b->dispatcher, &token, b->now);
	wake(b);
	assert_null(b->orders.list); /* not at once */
	pass_time(b, 50 * BELFRY_MILLISECOND);
	wake(b);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
}

/* ---- a batch that fails ------------------------------------------------------------------------ */

static void an_outage_repeats_the_records_word_for_word(void **state)
{
	struct bench *b = *state;

	begin(b);
	reply(b, open_call(b, owned(1)), session_s);
	for (int i = 0; i < 5; i++) {
		done(b, i % 2 == 0 ? BELFRY_UNKNOWN : BELFRY_UNAVAILABLE);
		assert_null(b->orders.records);
		pass_time(b, BELFRY_SECOND);
		cover(b, 1);
		assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_SESSION);
		assert_true(bf_str_equal(b->orders.records[0].session, BF_STR("s-1")));
	}
	answer_records(b, BELFRY_OK);
}

static void one_record_that_the_store_refuses_spoils_no_other(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[9];
	struct bf_token tokens[9];

	begin(b);
	for (unsigned i = 0; i < BF_COUNT(runs); i++) {
		runs[i] = owned(i);
	}
	bear(b, runs, BF_COUNT(runs));
	answer_load(b);
	for (size_t i = 0; i < BF_COUNT(runs); i++) {
		tokens[i] = b->orders.calls[i].token;
	}
	for (size_t i = 0; i < BF_COUNT(runs); i++) {
		reply(b, tokens[i], session_s);
	}
	size_t written = 0;
	size_t failed = 0;
	for (int turns = 0; turns < 60 && written + failed < BF_COUNT(runs); turns++) {
		bool is_bad = false;
		for (size_t i = 0; i < b->orders.record_count && b->orders.records != NULL; i++) {
			const struct belfry_record *r = &b->orders.records[i];
			bool is_it = bf_id_compare(r->run, runs[4].id) == 0;
			is_bad = is_bad || (is_it && r->kind == BELFRY_RECORD_SESSION);
			failed += is_it && r->kind == BELFRY_RECORD_FAILED;
		}
		if (b->orders.records != NULL && is_bad) {
			done(b, BELFRY_INVALID);
		} else if (b->orders.records != NULL) {
			for (size_t i = 0; i < b->orders.record_count; i++) {
				written += b->orders.records[i].kind == BELFRY_RECORD_SESSION;
			}
			answer_records(b, BELFRY_OK);
		} else if (b->orders.list != NULL) {
			done(b, BELFRY_UNAVAILABLE);
		} else if (b->orders.claim != NULL) {
			answer_claims(b);
		} else {
			pass_time(b, BELFRY_SECOND);
			cover(b, 1);
		}
	}
	assert_int_equal(written, 8);
	assert_int_equal(failed, 1);
}

/* ---- stop -------------------------------------------------------------------------------------- */

static void t080_t081_stop_drains_and_then_hands_back(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2), owned(3)};

	begin(b);
	bear(b, runs, 2);
	answer_load(b);
	struct bf_token first = b->orders.calls[0].token;
	bear(b, &runs[2], 1); /* loading */
	step(b,
			(struct bf_dispatcher_event){.kind = BF_DISPATCHER_STOP,
					.until = bf_boot_add(b->now, BELFRY_SECOND)});
	answer_load(b);
	assert_int_equal(b->orders.call_count, 0);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_false(bf_dispatcher_is_idle(b->dispatcher));
	reply(b, first, session_s); /* in time: its result is stored */
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_SESSION);
	answer_records(b, BELFRY_OK);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_int_equal(b->cancelled, 0);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_true(bf_dispatcher_is_idle(b->dispatcher));
	wake(b);
	assert_null(b->orders.claim);
	/* What the planner bore in the last moment goes back as well. */
	runs[0] = owned(9);
	bear(b, runs, 1);
	assert_int_equal(b->orders.records[0].kind, BELFRY_RECORD_RELEASED);
	answer_records(b, BELFRY_OK);
	assert_true(bf_dispatcher_is_idle(b->dispatcher));
}

static void b21_a_dispatcher_that_has_nothing_to_ask_does_not_stand_still(void **state)
{
	struct bench *b = *state;

	begin(b);
	(void)open_call(b, owned(1));
	pass_time(b, 30 * BELFRY_SECOND);
	cover(b, 1);
	answer_claims(b);
	pass_time(b, 100 * BELFRY_MILLISECOND);
	wake(b); /* under its lease, and not time yet to look into the queue */
	assert_null(b->orders.claim);
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == b->now.us);
}

static void b21_a_dispatcher_that_may_not_ask_stands_still(void **state)
{
	struct bench *b = *state;

	begin(b);
	(void)open_call(b, owned(1));
	struct bf_boot_time last = b->now;
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == last.us);
	for (int i = 0; i < 30; i++) {
		pass_time(b, BELFRY_SECOND);
		wake(b); /* the lease runs out meanwhile */
		answer_claims(b);
		if (i < 5) {
			last = b->now;
		}
	}
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == last.us);
	cover(b, 1);
	answer_claims(b);
	assert_true(bf_dispatcher_counts(b->dispatcher)->last_step.us == b->now.us);
}

/* Fail the allocations of one Run's way one after another: no leak, and it ends once they work. */
static void a_run_survives_each_failed_allocation(void **state)
{
	struct bench *b = *state;
	int64_t fired = 1;

	begin(b);
	for (int64_t n = 1; n < 60 && fired > 0; n++) {
		struct bf_owned_run run = owned((unsigned)n);
		struct bf_born *born = bf_alloc(sizeof(*born));
		bool is_over = false;
		assert_non_null(born);
		born->incarnation = id_of(1);
		born->runs = bf_alloc_array(1, sizeof(run));
		born->runs[0] = run;
		born->run_count = 1;
		bf_fault_arm(bf_alloc_fault(), n, 1);
		step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_BORN, .born = born});
		for (int turns = 0; turns < 200 && !is_over; turns++) {
			if (b->orders.call_count > 0) {
				reply(b, b->orders.calls[0].token,
						b->orders.calls[0].token.step == BELFRY_STEP_TURN
								? turn_t
								: session_s);
			} else if (b->orders.list != NULL) {
				answer_load(b);
			} else if (b->orders.records != NULL) {
				is_over = b->orders.records[0].kind == BELFRY_RECORD_TURN;
				answer_records(b, BELFRY_OK);
			} else if (b->orders.claim != NULL &&
					b->orders.claim->kind == BELFRY_CLAIM_OWNED) {
				struct belfry_claimed mine = claimed_run((unsigned)n, 0, "");
				mine.run.attempt = 1;
				claim_one(b, mine);
			} else if (b->orders.claim != NULL) {
				answer_claims(b);
			} else {
				pass_time(b, BELFRY_SECOND);
				cover(b, 1);
			}
		}
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(is_over);
	}
	assert_int_equal(fired, 0);
}

/* ---- cancelled by the host --------------------------------------------------------------------- */

static void cancel(struct bench *b, const struct bf_owned_run *run, bool is_beats)
{
	struct belfry_id id = run->id;
	struct bf_cancelled news = {.runs = &id,
			.run_count = 1,
			.at = at_time(10, 0, 1),
			.is_beats = is_beats};

	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_CANCELLED, .cancelled = news});
}

static void assert_nothing_held(const struct bench *b)
{
	const struct bf_dispatcher_counts *counts = bf_dispatcher_counts(b->dispatcher);

	assert_int_equal(counts->held, 0);
	assert_int_equal(counts->held_bytes, 0);
}

static void a_cancelled_run_leaves_its_call_and_its_place(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin(b);
	struct bf_token token = open_call(b, run);
	cancel(b, &run, false);
	assert_int_equal(b->cancelled, 1);
	assert_memory_equal(b->orders.cancels[0].run.bytes, run.id.bytes, sizeof(run.id.bytes));
	assert_true(b->orders.cancels[0].fence == run.fence);
	assert_nothing_held(b);
	reply(b, token, session_s);
	assert_int_equal(b->released, 1);
	assert_null(b->orders.records);
	cancel(b, &run, true); /* by the beat, again */
	assert_int_equal(b->cancelled, 1);
}

static void a_cancelled_run_that_is_loading_is_not_called(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	begin(b);
	bear(b, runs, 2);
	cancel(b, &runs[0], true);
	answer_load(b);
	assert_int_equal(b->orders.call_count, 1);
	assert_memory_equal(b->orders.calls[0].token.run.bytes, runs[1].id.bytes,
			sizeof(runs[1].id.bytes));
	assert_int_equal(b->cancelled, 0); /* no handler has heard of it */
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

static void a_cancelled_run_between_its_steps_is_not_called_again(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);

	begin(b);
	reply(b, open_call(b, run), session_s);
	cancel(b, &run, false); /* while its Session is being stored */
	assert_int_equal(b->cancelled, 1);
	answer_records(b, BELFRY_OK);
	assert_int_equal(b->orders.call_count, 0);
	assert_nothing_held(b);
}

static void an_answer_of_a_cancelled_run_is_not_recorded(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run runs[] = {owned(1), owned(2)};

	begin(b);
	struct bf_token first = open_call(b, runs[0]);
	struct bf_token second = open_call(b, runs[1]);
	reply(b, first, session_s);
	reply(b, second, session_s); /* waits for the record of the first */
	cancel(b, &runs[1], false);
	assert_int_equal(b->cancelled, 1);
	assert_int_equal(b->released, 1);
	answer_records(b, BELFRY_OK);
	assert_null(b->orders.records);
}

static void a_refused_session_or_open_turn_is_told_to_the_handler(void **state)
{
	struct bench *b = *state;

	begin(b);
	reply(b, open_call(b, owned(1)), session_s);
	answer_records(b, BELFRY_STALE);
	assert_int_equal(b->cancelled, 1);
	reply(b, open_call(b, owned(2)), (struct bf_answer){.kind = BF_ANSWER_RETRY});
	answer_records(b, BELFRY_STALE);
	assert_int_equal(b->cancelled, 1); /* nobody works on it */
	assert_nothing_held(b);
}

/* The commit's answer comes later than the news of the cancel: only the store knows. */
static void a_run_born_before_its_cancel_was_heard_is_asked_for(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run run = owned(1);
	struct bf_owned_run later = owned(2);

	begin(b);
	cancel(b, &run, false);
	bear(b, &run, 1);
	assert_nothing_held(b);
	assert_non_null(b->orders.claim);
	assert_int_equal(b->orders.claim->kind, BELFRY_CLAIM_OWNED);
	answer_claims(b);
	later.fence = (belfry_fence)at_time(10, 0, 2);
	bear(b, &later, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

/* Each beat of a minute names it: what is born meanwhile is held all the same. */
static void a_cancel_told_again_is_no_news(void **state)
{
	struct bench *b = *state;
	struct bf_owned_run gone = owned(1);
	struct bf_owned_run run = owned(2);
	struct bf_cancelled again = {.runs = &gone.id,
			.run_count = 1,
			.at = at_time(10, 0, 30),
			.is_beats = true};

	begin(b);
	cancel(b, &gone, true);
	step(b, (struct bf_dispatcher_event){.kind = BF_DISPATCHER_CANCELLED, .cancelled = again});
	run.fence = (belfry_fence)at_time(10, 0, 20);
	bear(b, &run, 1);
	assert_int_equal(bf_dispatcher_counts(b->dispatcher)->held, 1);
}

/* Without memory for the order the call is not told; the Run goes all the same. */
static void a_cancel_survives_each_failed_allocation(void **state)
{
	struct bench *b = *state;
	int64_t fired = 1;

	begin(b);
	for (int64_t n = 1; fired > 0; n++) {
		struct bf_owned_run run = owned((unsigned)n);
		(void)open_call(b, run);
		bf_fault_arm(bf_alloc_fault(), n, 1);
		cancel(b, &run, true);
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_nothing_held(b);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int run_dispatcher_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(t024_session_is_stored_before_the_turn_is_admitted),
			CASE(a_local_session_goes_straight_to_the_turn),
			CASE(t027_t028_a_permanent_answer_fails_the_run_with_its_reason),
			CASE(an_answer_to_another_question_fails_the_run),
			CASE(a_run_whose_payload_is_gone_ends),
			CASE(t029_t034_waits_double_within_half_of_themselves_and_are_bounded),
			cmocka_unit_test(t034_two_seeds_wait_differently_and_one_seed_the_same),
			CASE(t030_retries_that_are_spent_fail_the_run_once),
			CASE(with_one_attempt_its_own_error_is_the_runs),
			CASE(a_wait_that_the_target_asks_for_is_no_attempt_for_a_day),
			CASE(waits_that_a_target_asks_for_get_no_shorter_than_its_policys),
			CASE(b10_a_call_past_its_limit_is_told_and_its_late_answer_dropped),
			CASE(a_call_without_limit_stays_open),
			CASE(t036_a_record_that_is_refused_drops_the_run),
			CASE(t033_another_session_is_stored_so_the_store_is_asked),
			CASE(t041_a_lost_holder_cancels_its_calls_and_begins_none),
			CASE(no_call_is_begun_past_the_lease),
			CASE(a_new_incarnation_ends_the_old_one_also_without_its_news),
			CASE(a_lost_claim_answer_asks_what_is_ours_and_repeats_the_claim),
			CASE(what_is_asked_during_a_claim_is_asked_again_after_it),
			CASE(while_a_commit_is_uncertain_no_low_mark_is_told),
			CASE(the_low_mark_is_the_oldest_open_run_that_was_born_to_us),
			CASE(t026_t037_a_takeover_goes_on_where_the_store_says),
			CASE(t025_without_a_stored_session_the_session_is_started_again),
			CASE(t042_past_the_recovery_limit_a_run_is_failed_without_a_call),
			CASE(an_abandoned_takeover_is_failed_as_interrupted),
			CASE(tickets_leave_a_quarter_for_the_queue_and_are_counted),
			cmocka_unit_test_setup_teardown(t031_a_single_place_is_kept_for_the_queue,
					set_up_one_place, tear_down),
			CASE(a_backlog_calls_the_tickets_back),
			CASE(bytes_go_with_places_and_the_queue_keeps_its_own),
			CASE(a_start_is_counted_once_for_the_latency),
			CASE(tickets_that_could_not_be_carried_are_given_again),
			CASE(a_call_that_could_not_be_made_is_made_later),
			CASE(an_outage_repeats_the_records_word_for_word),
			CASE(one_record_that_the_store_refuses_spoils_no_other),
			CASE(t080_t081_stop_drains_and_then_hands_back),
			CASE(b21_a_dispatcher_that_has_nothing_to_ask_does_not_stand_still),
			CASE(b21_a_dispatcher_that_may_not_ask_stands_still),
			CASE(a_run_survives_each_failed_allocation),
			CASE(a_cancelled_run_leaves_its_call_and_its_place),
			CASE(a_cancelled_run_that_is_loading_is_not_called),
			CASE(a_cancelled_run_between_its_steps_is_not_called_again),
			CASE(an_answer_of_a_cancelled_run_is_not_recorded),
			CASE(a_refused_session_or_open_turn_is_told_to_the_handler),
			CASE(a_run_born_before_its_cancel_was_heard_is_asked_for),
			CASE(a_cancel_told_again_is_no_news),
			CASE(a_cancel_survives_each_failed_allocation),
	};
	return cmocka_run_group_tests_name("dispatcher", tests, NULL, NULL);
}
