/* The scheduler's checks, against a provider that lies: what cannot be gets no further than BELFRY_CORRUPT, a
 * call that is wrong never reaches the provider, and no word of an engine reaches who asked. */
#include "cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/str.h"
#include "liar.h"
#include "provider/provider.h"

struct bench {
	struct liar liar;
	struct belfry_scheduler *scheduler;
	struct belfry_arena arena;
	struct belfry_error err;
};

static int set_up(void **state)
{
	struct bench *bench = bf_alloc(sizeof(*bench));

	assert_non_null(bench);
	liar_init(&bench->liar);
	assert_int_equal(bf_scheduler_share(&bench->liar.base, &bench->scheduler, NULL), BELFRY_OK);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	bench->liar.status = BELFRY_OK;
	belfry_scheduler_close(bench->scheduler);
	belfry_arena_fini(&bench->arena);
	bf_free(bench);
	return 0;
}

/* ---- one call of each method, with arguments that are right ------------------------------------- */

static void no_session(void *data, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	(void)data;
	(void)invocation;
	(void)reply;
}

static void no_turn(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	(void)data;
	(void)invocation;
	(void)session;
	(void)reply;
}

static const struct belfry_handler handler = {.size = sizeof(handler),
		.start_session = no_session,
		.admit_turn = no_turn};
static const struct belfry_id run = {{9}};

static struct belfry_schedule schedule(void)
{
	struct belfry_schedule s = BELFRY_SCHEDULE_INIT;

	s.id = BF_STR("a");
	s.revision = 1;
	s.rule = BF_STR("* * * * *");
	s.zone = BF_STR("UTC");
	return s;
}

struct one {
	struct belfry_schedule schedule;
	bool is_told;
	struct belfry_error why;
	bool is_read;
};

static enum belfry_status one_next(void *data, struct belfry_str *ret_id, int64_t *ret_revision,
		struct belfry_error *err)
{
	struct one *one = data;

	(void)err;
	if (one->is_read) {
		return BELFRY_NEVER;
	}
	one->is_read = true;
	*ret_id = one->schedule.id;
	*ret_revision = one->schedule.revision;
	return BELFRY_OK;
}

static enum belfry_status one_load(void *data, struct belfry_str id,
		struct belfry_schedule *ret_schedule, struct belfry_error *err)
{
	struct one *one = data;

	(void)id;
	(void)err;
	*ret_schedule = one->schedule;
	return BELFRY_OK;
}

static void one_refused(void *data, struct belfry_str id, int64_t revision,
		const struct belfry_error *why)
{
	struct one *one = data;

	(void)id;
	(void)revision;
	one->is_told = true;
	one->why = *why;
}

static enum belfry_status reconcile_one(struct bench *b, struct one *one)
{
	struct belfry_schedule_iterator list = {one, one_next, one_load, one_refused};

	return belfry_scheduler_reconcile(b->scheduler, &list, &b->err);
}

static enum belfry_status call_runs(struct bench *b, enum bf_provider_method method)
{
	struct belfry_enqueue request = {.size = sizeof(request),
			.schedule = BF_STR("a"),
			.trigger = BELFRY_TRIGGER_MANUAL};
	struct belfry_run_query query = {.size = sizeof(query), .limit = 10};
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};
	struct belfry_attempt *attempts;
	struct belfry_run found;
	size_t count;

	switch ((int)method) {
	case BF_PROVIDER_ENQUEUE: return belfry_scheduler_enqueue(b->scheduler, &request, &b->err);
	case BF_PROVIDER_LIST_RUNS:
		return belfry_scheduler_list_runs(b->scheduler, &query, &b->arena, &b->err);
	case BF_PROVIDER_GET_RUN:
		return belfry_scheduler_get_run(b->scheduler, run, &b->arena, &found, &b->err);
	case BF_PROVIDER_CANCEL:
		return belfry_scheduler_cancel(b->scheduler, run, BF_STR("why"), &b->err);
	case BF_PROVIDER_CONCLUDE:
		return belfry_scheduler_conclude(b->scheduler, run, &outcome, &b->err);
	case BF_PROVIDER_ATTEMPTS:
		return belfry_scheduler_attempts(b->scheduler, run, &b->arena, &attempts, &count,
				&b->err);
	default: return BELFRY_INTERNAL;
	}
}

static enum belfry_status call_questions(struct bench *b, enum bf_provider_method method)
{
	struct belfry_str ids[] = {BF_STR("a"), BF_STR("b")};
	struct belfry_schedule_state *states;
	struct belfry_why why = {.size = sizeof(why), .schedule = BF_STR("a"), .at = 15};
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};
	belfry_time due[3];
	size_t count;

	switch ((int)method) {
	case BF_PROVIDER_STATE:
		return belfry_scheduler_state(b->scheduler, ids, 2, &b->arena, &states, &b->err);
	case BF_PROVIDER_WHY: return belfry_scheduler_why(b->scheduler, &why, &b->arena, &b->err);
	case BF_PROVIDER_METRICS: return belfry_scheduler_metrics(b->scheduler, &metrics, &b->err);
	case BF_PROVIDER_DUE:
		return belfry_scheduler_due(b->scheduler, BF_STR("a"), 5, due, 3, &count, &b->err);
	default: return call_runs(b, method);
	}
}

static enum belfry_status call(struct bench *b, enum bf_provider_method method)
{
	struct belfry_schedule s = schedule();
	struct one one = {.schedule = s};

	switch ((int)method) {
	case BF_PROVIDER_START: return belfry_scheduler_start(b->scheduler, &handler, &b->err);
	case BF_PROVIDER_STOP: return belfry_scheduler_stop(b->scheduler, 0, &b->err);
	case BF_PROVIDER_RECONCILE: return reconcile_one(b, &one);
	case BF_PROVIDER_APPLY: return belfry_scheduler_apply(b->scheduler, &s, &b->err);
	case BF_PROVIDER_REMOVE:
		return belfry_scheduler_remove(b->scheduler, BF_STR("a"), 2, &b->err);
	default: return call_questions(b, method);
	}
}

static const enum bf_provider_method all[] = {BF_PROVIDER_START, BF_PROVIDER_RECONCILE,
		BF_PROVIDER_APPLY, BF_PROVIDER_REMOVE, BF_PROVIDER_ENQUEUE, BF_PROVIDER_LIST_RUNS,
		BF_PROVIDER_GET_RUN, BF_PROVIDER_STATE, BF_PROVIDER_WHY, BF_PROVIDER_CANCEL,
		BF_PROVIDER_CONCLUDE, BF_PROVIDER_ATTEMPTS, BF_PROVIDER_METRICS, BF_PROVIDER_DUE,
		BF_PROVIDER_STOP};

static void the_truth_gets_through_and_is_counted(void **state)
{
	struct bench *b = *state;

	assert_int_equal(BF_COUNT(all), BF_PROVIDER_METHOD_COUNT);
	for (size_t i = 0; i < BF_COUNT(all); i++) {
		assert_int_equal(call(b, all[i]), BELFRY_OK);
		assert_int_equal(bf_scheduler_calls(b->scheduler, all[i]), 1);
		assert_int_equal(bf_scheduler_failures(b->scheduler, all[i]), 0);
		assert_string_not_equal(bf_provider_method_name(all[i]), "?");
	}
	assert_string_equal(bf_provider_method_name(BF_PROVIDER_METHOD_COUNT), "?");
}

/* ---- answers ------------------------------------------------------------------------------------ */

static void statuses_outside_the_list_are_corrupt(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < BF_COUNT(all); i++) {
		b->liar.status = (enum belfry_status)(BELFRY_STATUS_COUNT + (int)i);
		assert_int_equal(call(b, all[i]), BELFRY_CORRUPT);
		assert_string_equal(b->err.message, belfry_status_text(BELFRY_CORRUPT));
		assert_non_null(strstr(b->err.detail, bf_provider_method_name(all[i])));
		assert_int_equal(bf_scheduler_failures(b->scheduler, all[i]), 1);
	}
}

/* Its own words in every text, and one that no text is. */
static void t066_no_word_of_a_provider_that_fails_is_told_to_the_public(void **state)
{
	static const enum belfry_status failures[] = {BELFRY_UNAVAILABLE, BELFRY_UNKNOWN,
			BELFRY_NOMEM, BELFRY_INTERNAL, BELFRY_CORRUPT, BELFRY_BUSY};
	struct bench *b = *state;
	struct belfry_error words = {.status = BELFRY_UNAVAILABLE,
			.position = 3,
			.pointer = "/engine",
			.message = "engine: disk I/O error",
			.detail = "engine"};

	b->liar.err = &words;
	for (size_t i = 0; i < BF_COUNT(failures); i++) {
		b->liar.status = failures[i];
		assert_int_equal(call(b, BF_PROVIDER_APPLY), failures[i]);
		assert_string_equal(b->err.message, belfry_status_text(failures[i]));
		assert_string_equal(b->err.pointer, "");
		assert_int_equal(b->err.position, 0);
		assert_int_equal(b->err.status, failures[i]);
		assert_string_equal(b->err.detail, "engine");
	}
	/* A refusal is written for people, and keeps its words. */
	b->liar.status = BELFRY_INVALID_SCHEDULE;
	assert_int_equal(call(b, BF_PROVIDER_APPLY), BELFRY_INVALID_SCHEDULE);
	assert_string_equal(b->err.message, "engine: disk I/O error");
	assert_string_equal(b->err.pointer, "/engine");
	/* Unless they are none. */
	memset(words.message, 0xff, sizeof(words.message));
	memset(words.pointer, 'x', sizeof(words.pointer));
	assert_int_equal(call(b, BF_PROVIDER_APPLY), BELFRY_INVALID_SCHEDULE);
	assert_string_equal(b->err.message, belfry_status_text(BELFRY_INVALID_SCHEDULE));
	assert_int_equal(strlen(b->err.pointer), sizeof(words.pointer) - 1);
}

static void t066_what_a_reconcile_refuses_is_told_in_public_words(void **state)
{
	struct bench *b = *state;
	struct belfry_error words = {.status = BELFRY_CORRUPT, .message = "engine: page 3"};
	struct one one = {.schedule = schedule()};

	b->liar.err = &words;
	assert_int_equal(reconcile_one(b, &one), BELFRY_OK);
	assert_true(one.is_told);
	assert_int_equal(one.why.status, BELFRY_CORRUPT);
	assert_string_equal(one.why.message, belfry_status_text(BELFRY_CORRUPT));
	assert_string_equal(one.why.detail, "engine: page 3");
}

/* Each changes an answer into one that cannot be. */
#define LIE(name, type, statement)                                                                 \
	static void name(void *answer)                                                             \
	{                                                                                          \
		type *a = answer;                                                                  \
		statement;                                                                         \
	}
LIE(no_run, struct belfry_enqueue, a->run = (struct belfry_id){{0}})
LIE(old_without_key, struct belfry_enqueue, a->is_new = false)
LIE(no_runs, struct belfry_run_query, a->runs = NULL)
LIE(too_many, struct belfry_run_query, a->count = 1000)
LIE(endless, struct belfry_run_query, a->count = 0; a->has_more = true)
LIE(unsorted, struct belfry_run_query, a->runs[1].id = a->runs[0].id)
LIE(foreign, struct belfry_run_query, a->runs[2].schedule = BF_STR("b"))
LIE(unasked_status, struct belfry_run_query, a->runs[0].state = BELFRY_RUN_DISPATCHING;
		a->runs[0].status = BELFRY_STATUS_RUNNING)
LIE(unasked_trigger, struct belfry_run_query, a->runs[0].trigger = BELFRY_TRIGGER_REPLAY)
LIE(not_before, struct belfry_run_query, a->runs[0].id = (struct belfry_id){{200}})
LIE(no_text, struct belfry_run_query, a->runs[1].message = ((struct belfry_str){NULL, 3}))
LIE(other_run, struct belfry_run, a->id = (struct belfry_id){{8}})
LIE(status_of_another_state, struct belfry_run, a->status = BELFRY_STATUS_COMPLETED)
LIE(ended_without_time, struct belfry_run, a->state = BELFRY_RUN_DISPATCHED;
		a->status = BELFRY_STATUS_COMPLETED)
LIE(time_without_end, struct belfry_run, a->finished_at = 5)
LIE(unknown_state, struct belfry_run, a->state = BELFRY_RUN_STATE_COUNT)
LIE(unknown_error, struct belfry_run, a->error = (enum belfry_run_error)77)
LIE(negative_time, struct belfry_run, a->ready_at = -1)
LIE(no_states, struct belfry_schedule_state *, *a = NULL)
LIE(other_state, struct belfry_schedule_state *, (*a)[1].id = BF_STR("c"))
LIE(unknown_phase, struct belfry_schedule_state *, (*a)[0].phase = BELFRY_PHASE_COUNT)
LIE(known_without_revision, struct belfry_schedule_state *, (*a)[0].revision = 0)
LIE(reason_nowhere, struct belfry_schedule_state *,
		(*a)[0].phase_reason = ((struct belfry_str){NULL, 1}))
LIE(unknown_why, struct belfry_why, a->kind = (enum belfry_why_kind)99)
LIE(why_without_run, struct belfry_why, a->run = NULL)
LIE(why_foreign_run, struct belfry_why, a->run->schedule = BF_STR("b"))
LIE(why_without_gap, struct belfry_why, a->kind = BELFRY_WHY_GAP; a->gap = NULL)
LIE(why_gap_elsewhere, struct belfry_why, a->kind = BELFRY_WHY_GAP; a->gap->to = 14)
LIE(why_foreign_gap, struct belfry_why, a->kind = BELFRY_WHY_GAP; a->gap->schedule = BF_STR("b"))
LIE(no_attempts, struct liar_array, a->items = NULL)
LIE(foreign_attempt, struct liar_array,
		((struct belfry_attempt *)a->items)[1].run = (struct belfry_id){{3}})
LIE(unknown_step, struct liar_array,
		((struct belfry_attempt *)a->items)[0].step = (enum belfry_step)5)
LIE(negative_count, struct belfry_provider_metrics, a->open[1] = -1)
LIE(negative_age, struct belfry_provider_metrics, a->step_age[2] = -1)
LIE(negative_ended, struct belfry_provider_metrics, a->runs[1][2] = -1)
LIE(more_than_asked, struct liar_array, a->count = 4)
LIE(due_unsorted, struct liar_array, ((belfry_time *)a->items)[1] = 6)
LIE(due_before, struct liar_array, ((belfry_time *)a->items)[0] = 5)
LIE(due_never, struct liar_array, ((belfry_time *)a->items)[2] = BELFRY_TIME_NEVER)

static enum belfry_status list_narrowly(struct bench *b)
{
	struct belfry_run_query query = {.size = sizeof(query),
			.schedule = BF_STR("a"),
			.statuses = 1u << BELFRY_STATUS_QUEUED,
			.triggers = 1u << BELFRY_TRIGGER_SCHEDULE,
			.before = {{100}},
			.limit = 10};
	enum belfry_status status = belfry_scheduler_list_runs(b->scheduler, &query, &b->arena,
			&b->err);

	/* Nothing of an answer that cannot be is shown. */
	assert_true(status == BELFRY_OK || (query.runs == NULL && query.count == 0));
	return status;
}

static void answers_that_cannot_be_are_corrupt(void **state)
{
	static const struct {
		enum bf_provider_method method;
		void (*lie)(void *answer);
	} rows[] = {
			{BF_PROVIDER_ENQUEUE, no_run},
			{BF_PROVIDER_ENQUEUE, old_without_key},
			{BF_PROVIDER_LIST_RUNS, no_runs},
			{BF_PROVIDER_LIST_RUNS, too_many},
			{BF_PROVIDER_LIST_RUNS, endless},
			{BF_PROVIDER_LIST_RUNS, unsorted},
			{BF_PROVIDER_LIST_RUNS, foreign},
			{BF_PROVIDER_LIST_RUNS, unasked_status},
			{BF_PROVIDER_LIST_RUNS, unasked_trigger},
			{BF_PROVIDER_LIST_RUNS, not_before},
			{BF_PROVIDER_LIST_RUNS, no_text},
			{BF_PROVIDER_GET_RUN, other_run},
			{BF_PROVIDER_GET_RUN, status_of_another_state},
			{BF_PROVIDER_GET_RUN, ended_without_time},
			{BF_PROVIDER_GET_RUN, time_without_end},
			{BF_PROVIDER_GET_RUN, unknown_state},
			{BF_PROVIDER_GET_RUN, unknown_error},
			{BF_PROVIDER_GET_RUN, negative_time},
			{BF_PROVIDER_STATE, no_states},
			{BF_PROVIDER_STATE, other_state},
			{BF_PROVIDER_STATE, unknown_phase},
			{BF_PROVIDER_STATE, known_without_revision},
			{BF_PROVIDER_STATE, reason_nowhere},
			{BF_PROVIDER_WHY, unknown_why},
			{BF_PROVIDER_WHY, why_without_run},
			{BF_PROVIDER_WHY, why_foreign_run},
			{BF_PROVIDER_WHY, why_without_gap},
			{BF_PROVIDER_WHY, why_gap_elsewhere},
			{BF_PROVIDER_WHY, why_foreign_gap},
			{BF_PROVIDER_ATTEMPTS, no_attempts},
			{BF_PROVIDER_ATTEMPTS, foreign_attempt},
			{BF_PROVIDER_ATTEMPTS, unknown_step},
			{BF_PROVIDER_METRICS, negative_count},
			{BF_PROVIDER_METRICS, negative_age},
			{BF_PROVIDER_METRICS, negative_ended},
			{BF_PROVIDER_DUE, more_than_asked},
			{BF_PROVIDER_DUE, due_unsorted},
			{BF_PROVIDER_DUE, due_before},
			{BF_PROVIDER_DUE, due_never},
	};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		void *fresh = NULL;
		assert_int_equal(set_up(&fresh), 0);
		struct bench *b = fresh;
		bool is_list = rows[i].method == BF_PROVIDER_LIST_RUNS;
		assert_int_equal(is_list ? list_narrowly(b) : call(b, rows[i].method), BELFRY_OK);
		b->liar.spoil = rows[i].lie;
		if ((is_list ? list_narrowly(b) : call(b, rows[i].method)) != BELFRY_CORRUPT) {
			fail_msg("row %zu: %s was believed", i,
					bf_provider_method_name(rows[i].method));
		}
		assert_string_equal(b->err.message, belfry_status_text(BELFRY_CORRUPT));
		/* A failure's answer is not even looked at. */
		b->liar.status = BELFRY_UNAVAILABLE;
		assert_int_equal(call(b, rows[i].method), BELFRY_UNAVAILABLE);
		b->liar.spoil = NULL;
		assert_int_equal(tear_down(&fresh), 0);
	}
	(void)state;
}

/* ---- questions ---------------------------------------------------------------------------------- */

static void t059_the_provider_sees_a_limit_that_is_clamped(void **state)
{
	static const uint32_t rows[][2] = {{0, 1}, {(uint32_t)-5, 1}, {3, 3}, {200, 200},
			{999, 200}};
	struct bench *b = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_run_query query = {.size = sizeof(query), .limit = rows[i][0]};
		enum belfry_status status = belfry_scheduler_list_runs(b->scheduler, &query,
				&b->arena, NULL);
		assert_int_equal(b->liar.limit, rows[i][1]);
		/* It always answers three. */
		assert_int_equal(status, rows[i][1] < LIAR_RUNS ? BELFRY_CORRUPT : BELFRY_OK);
		assert_int_equal(query.limit, rows[i][0]);
	}
}

/* Each way to say a schedule wrongly, and the place that the refusal names. */
static void schedules_that_cannot_be_never_reach_the_provider(void **state)
{
	static char large[BELFRY_PAYLOAD_BYTES + 1];
	struct bench *b = *state;
	struct belfry_schedule bad[12];
	static const char *const pointers[BF_COUNT(bad)] = {"/id", "/id", "/id", "/revision",
			"/created_at", "/flags", "/rule", "/rule", "/zone", "/fair_key", "/payload",
			"/payload"};

	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		bad[i] = schedule();
	}
	bad[0].id = BF_STR("");
	bad[1].id = BF_STR("a b");
	bad[2].id = (struct belfry_str){large, BELFRY_SCHEDULE_ID_BYTES + 1};
	bad[3].revision = 0;
	bad[4].created_at = -1;
	bad[5].flags = 1u << 31;
	bad[6].rule = (struct belfry_str){large, BELFRY_RULE_BYTES + 1};
	bad[7].rule = (struct belfry_str){NULL, 4};
	bad[8].zone = (struct belfry_str){large, BELFRY_ZONE_BYTES + 1};
	bad[9].fair_key = (struct belfry_str){large, BELFRY_FAIR_KEY_BYTES + 1};
	bad[10].payload = (struct belfry_str){large, sizeof(large)};
	bad[11].payload = (struct belfry_str){NULL, 4};
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		struct one one = {.schedule = bad[i]};
		assert_int_not_equal(belfry_scheduler_apply(b->scheduler, &bad[i], &b->err),
				BELFRY_OK);
		assert_string_equal(b->err.pointer, pointers[i]);
		assert_int_equal(belfry_status_class(b->err.status), BELFRY_CLASS_CALLER);
		assert_int_not_equal(reconcile_one(b, &one), BELFRY_OK);
	}
	bad[0] = schedule();
	bad[0].size = 0;
	assert_int_equal(belfry_scheduler_apply(b->scheduler, &bad[0], &b->err), BELFRY_INVALID);
	assert_int_equal(b->liar.calls, 0);
}

/* The list answers with another schedule than the one that was asked for. */
static enum belfry_status other_load(void *data, struct belfry_str id,
		struct belfry_schedule *ret_schedule, struct belfry_error *err)
{
	(void)data;
	(void)id;
	(void)err;
	*ret_schedule = schedule();
	ret_schedule->id = BF_STR("b");
	return BELFRY_OK;
}

static enum belfry_status odd_load(void *data, struct belfry_str id,
		struct belfry_schedule *ret_schedule, struct belfry_error *err)
{
	(void)data;
	(void)id;
	(void)ret_schedule;
	(void)err;
	return (enum belfry_status)12345;
}

static void a_list_that_answers_wrongly_is_not_believed(void **state)
{
	struct bench *b = *state;
	struct one one = {.schedule = schedule()};
	struct belfry_schedule_iterator list = {&one, one_next, other_load, one_refused};

	assert_int_equal(belfry_scheduler_reconcile(b->scheduler, &list, &b->err), BELFRY_INVALID);
	one.is_read = false;
	list.load = odd_load;
	assert_int_equal(belfry_scheduler_reconcile(b->scheduler, &list, &b->err), BELFRY_INTERNAL);
	list.load = NULL;
	assert_int_equal(belfry_scheduler_reconcile(b->scheduler, &list, &b->err), BELFRY_INVALID);
	assert_int_equal(b->liar.calls, 0);
}

static void requests_that_cannot_be_never_reach_the_provider(void **state)
{
	struct bench *b = *state;
	struct belfry_enqueue requests[6];
	struct belfry_outcome outcomes[6];
	char large[1025] = "";

	for (size_t i = 0; i < BF_COUNT(requests); i++) {
		requests[i] = (struct belfry_enqueue){.size = sizeof(requests[i]),
				.schedule = BF_STR("a"),
				.trigger = BELFRY_TRIGGER_MANUAL};
		outcomes[i] = (struct belfry_outcome){.size = sizeof(outcomes[i]),
				.status = BELFRY_STATUS_FAILED};
	}
	requests[0].size = 3;
	requests[1].schedule.len = 0;
	requests[2].trigger = BELFRY_TRIGGER_SCHEDULE;
	requests[3].trigger = BELFRY_TRIGGER_REPLAY; /* of nothing */
	requests[4].replayed_from = run;             /* and no replay */
	requests[5].request_key = (struct belfry_str){large, 257};
	memset(large, 'x', sizeof(large));
	outcomes[0].size = 0;
	outcomes[1].status = BELFRY_STATUS_RUNNING;
	outcomes[2].status = BELFRY_STATUS_COMPLETED;
	outcomes[2].error = BELFRY_RUN_ERROR_TIMEOUT;
	outcomes[3].error = BELFRY_RUN_ERROR_COUNT;
	outcomes[4].message = (struct belfry_str){large, sizeof(large)};
	outcomes[5].run_flags = BELFRY_RUN_F_LOCAL_SESSION;
	for (size_t i = 0; i < BF_COUNT(requests); i++) {
		assert_int_equal(belfry_scheduler_enqueue(b->scheduler, &requests[i], &b->err),
				BELFRY_INVALID);
		assert_int_equal(
				belfry_scheduler_conclude(b->scheduler, run, &outcomes[i], &b->err),
				BELFRY_INVALID);
	}
	assert_int_equal(belfry_scheduler_cancel(b->scheduler, (struct belfry_id){{0}}, BF_STR(""),
					 NULL),
			BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_cancel(b->scheduler, run, BF_STR("\xff"), NULL),
			BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_remove(b->scheduler, BF_STR("a"), 0, NULL),
			BELFRY_INVALID);
	/* T087: an id that no schedule can have is unknown. */
	assert_int_equal(belfry_scheduler_remove(b->scheduler, BF_STR(""), 1, NULL), BELFRY_OK);
	assert_int_equal(b->liar.calls, 0);
}

static void a_pointer_that_is_missing_is_named(void **state)
{
	struct bench *b = *state;
	struct belfry_run found;
	struct belfry_schedule s = schedule();
	size_t count;

	assert_int_equal(belfry_scheduler_apply(NULL, &s, &b->err), BELFRY_INVALID);
	assert_non_null(strstr(b->err.message, "apply"));
	assert_int_equal(belfry_scheduler_apply(b->scheduler, NULL, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_start(b->scheduler, NULL, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_stop(NULL, 0, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_reconcile(b->scheduler, NULL, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_enqueue(b->scheduler, NULL, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_list_runs(b->scheduler, NULL, &b->arena, NULL),
			BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_get_run(b->scheduler, run, NULL, &found, NULL),
			BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_get_run(b->scheduler, run, &b->arena, NULL, NULL),
			BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_state(b->scheduler, NULL, 1, &b->arena, NULL, NULL),
			BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_why(b->scheduler, NULL, &b->arena, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_conclude(b->scheduler, run, NULL, NULL), BELFRY_INVALID);
	assert_int_equal(
			belfry_scheduler_attempts(b->scheduler, run, &b->arena, NULL, &count, NULL),
			BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_metrics(b->scheduler, NULL, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_scheduler_due(b->scheduler, BF_STR("a"), 0, NULL, 1, &count,
					 &b->err),
			BELFRY_INVALID);
	assert_null(strstr(b->err.message, "arena")); /* it has none */
	assert_int_equal(belfry_scheduler_why(b->scheduler, NULL, &b->arena, &b->err),
			BELFRY_INVALID);
	assert_null(strstr(b->err.message, "arena"));
	s.size = 24;
	assert_int_equal(belfry_scheduler_apply(b->scheduler, &s, &b->err), BELFRY_INVALID);
	assert_non_null(strstr(b->err.message, "its size is 24"));
	assert_null(belfry_scheduler_properties(NULL));
	assert_int_equal(b->liar.calls, 0);
}

/* ---- what may be missing ------------------------------------------------------------------------ */

static bool is_optional(enum bf_provider_method method)
{
	return method >= BF_PROVIDER_STATE;
}

static void check_optional(const struct liar *like, bool has_state)
{
	struct bench b = {.liar = *like};

	b.liar.ops.more = b.liar.ops.more != NULL ? &b.liar.more : NULL;
	b.liar.base.ops = &b.liar.ops;
	assert_int_equal(bf_scheduler_share(&b.liar.base, &b.scheduler, NULL), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(all); i++) {
		bool is_there = !is_optional(all[i]) || (has_state && all[i] == BF_PROVIDER_STATE);
		assert_int_equal(call(&b, all[i]), is_there ? BELFRY_OK : BELFRY_CANNOT);
	}
	belfry_scheduler_close(b.scheduler);
	belfry_arena_fini(&b.arena);
}

static void what_a_provider_lacks_it_cannot(void **state)
{
	struct liar liar;

	(void)state;
	liar_init(&liar);
	liar.ops.more = NULL;
	check_optional(&liar, false);
	/* An older one, whose table ends before `more`, or inside it. */
	liar_init(&liar);
	liar.ops.size = offsetof(struct belfry_provider_ops, more);
	check_optional(&liar, false);
	liar_init(&liar);
	liar.more.size = offsetof(struct belfry_provider_more_ops, why);
	check_optional(&liar, true);
	liar_init(&liar);
	liar.more = (struct belfry_provider_more_ops){.size = sizeof(liar.more),
			.state = liar.more.state};
	check_optional(&liar, true);
}

/* ---- life --------------------------------------------------------------------------------------- */

static void t082_the_provider_sees_one_start_and_none_after_the_stop(void **state)
{
	struct bench *b = *state;
	struct belfry_handler short_one = handler;

	short_one.size = offsetof(struct belfry_handler, cancel); /* of an older program */
	short_one.cancel = (void (*)(void *, struct belfry_id, belfry_fence))1;
	b->liar.status = BELFRY_UNAVAILABLE;
	assert_int_equal(belfry_scheduler_start(b->scheduler, &short_one, NULL),
			BELFRY_UNAVAILABLE);
	b->liar.status = BELFRY_OK;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(belfry_scheduler_start(b->scheduler, &short_one, NULL), BELFRY_OK);
	}
	assert_int_equal(b->liar.starts, 2); /* the one that failed, and one */
	assert_null(b->liar.handler->cancel);
	b->liar.status = BELFRY_BUSY;
	assert_int_equal(belfry_scheduler_stop(b->scheduler, 0, NULL), BELFRY_BUSY);
	assert_int_equal(belfry_scheduler_start(b->scheduler, &handler, &b->err), BELFRY_INVALID);
	assert_non_null(strstr(b->err.message, "open a new one"));
	b->liar.status = BELFRY_OK;
	unsigned calls = b->liar.calls;
	for (int i = 0; i < 3; i++) {
		assert_int_equal(belfry_scheduler_stop(b->scheduler, 0, NULL), BELFRY_OK);
	}
	assert_int_equal(b->liar.calls, calls + 1);
	assert_int_equal(b->liar.starts, 2);
}

static enum belfry_status open_liar(struct liar *liar, struct belfry_scheduler **ret_scheduler,
		struct belfry_error *err)
{
	struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;

	options.provider = "no matter";
	options.provider_ops = &liar->ops;
	options.engine.log_data = liar;
	return belfry_scheduler_open(&options, ret_scheduler, err);
}

LIE(nothing_made, struct belfry_provider *, *a = NULL)
LIE(no_name, struct belfry_properties, a->name = NULL)
LIE(other_name, struct belfry_properties, a->name = "embedded")
LIE(unknown_scope, struct belfry_properties, a->recovery_scope = (enum belfry_recovery_scope)7)
LIE(negative_ceiling, struct belfry_properties, a->max_active_schedules = -1)

/* `spoil` is asked at create and for the properties; each lie is for one of them. */
static void (*lie_of_properties)(void *answer);

static void spoil_properties(void *answer)
{
	struct belfry_properties *p = answer;

	if (p->size == sizeof(*p)) { /* create hands a pointer */
		lie_of_properties(answer);
	}
}

static void a_program_may_bring_its_own_provider(void **state)
{
	static void (*const lies[])(
			void *) = {no_name, other_name, unknown_scope, negative_ceiling};
	struct belfry_scheduler *scheduler = NULL;
	struct belfry_error err = {0};
	struct liar liar;

	(void)state;
	liar_init(&liar);
	assert_int_equal(open_liar(&liar, &scheduler, &err), BELFRY_OK);
	assert_string_equal(belfry_scheduler_properties(scheduler)->name, "liar");
	belfry_scheduler_close(scheduler);
	assert_int_equal(liar.frees, 1);
	scheduler = NULL;
	for (size_t i = 0; i < BF_COUNT(lies); i++) {
		liar_init(&liar);
		liar.spoil = spoil_properties;
		lie_of_properties = lies[i];
		assert_int_equal(open_liar(&liar, &scheduler, &err), BELFRY_CORRUPT);
		assert_int_equal(liar.frees, 1);
	}
	liar_init(&liar);
	liar.spoil = nothing_made;
	assert_int_equal(open_liar(&liar, &scheduler, &err), BELFRY_CORRUPT);
	liar_init(&liar);
	liar.status = (enum belfry_status)4711;
	assert_int_equal(open_liar(&liar, &scheduler, &err), BELFRY_CORRUPT);
	liar.status = BELFRY_CONFIGURATION;
	assert_int_equal(open_liar(&liar, &scheduler, &err), BELFRY_CONFIGURATION);
	assert_true(err.message[0] != '\0');
	assert_null(scheduler);
}

/* ---- faults ------------------------------------------------------------------------------------- */

static void each_method_has_its_fault_points(void **state)
{
	struct bench *b = *state;

	for (size_t i = 0; i < BF_COUNT(all); i++) {
		bool is_write = all[i] == BF_PROVIDER_RECONCILE || all[i] == BF_PROVIDER_APPLY ||
				all[i] == BF_PROVIDER_REMOVE || all[i] == BF_PROVIDER_ENQUEUE ||
				all[i] == BF_PROVIDER_CANCEL || all[i] == BF_PROVIDER_CONCLUDE;
		unsigned calls = b->liar.calls;
		bf_fault_arm(bf_scheduler_fault_before(b->scheduler, all[i]), 1, 1);
		assert_int_equal(call(b, all[i]), BELFRY_UNAVAILABLE);
		assert_int_equal(b->liar.calls, calls);
		bf_fault_arm(bf_scheduler_fault_after(b->scheduler, all[i]), 1, 1);
		assert_int_equal(call(b, all[i]), is_write ? BELFRY_UNKNOWN : BELFRY_UNAVAILABLE);
		assert_int_equal(b->liar.calls, calls + 1);
		assert_int_equal(call(b, all[i]), BELFRY_OK);
	}
}

static void memory_that_fails_at_the_opening_leaves_nothing(void **state)
{
	bool has_fired = true;

	(void)state;
	for (int64_t first = 1; has_fired; first++) {
		struct belfry_scheduler_options options = BELFRY_SCHEDULER_OPTIONS_INIT;
		struct belfry_scheduler *scheduler = NULL;
		options.store = "memory:";
		bf_fault_arm(bf_alloc_fault(), first, 1);
		enum belfry_status status = belfry_scheduler_open(&options, &scheduler, NULL);
		has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(status == BELFRY_OK || status == BELFRY_NOMEM);
		assert_int_equal(status == BELFRY_OK, scheduler != NULL);
		belfry_scheduler_close(scheduler);
	}
}

int run_wrapper_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
			CASE(the_truth_gets_through_and_is_counted),
			CASE(statuses_outside_the_list_are_corrupt),
			CASE(t066_no_word_of_a_provider_that_fails_is_told_to_the_public),
			CASE(t066_what_a_reconcile_refuses_is_told_in_public_words),
			cmocka_unit_test(answers_that_cannot_be_are_corrupt),
			CASE(t059_the_provider_sees_a_limit_that_is_clamped),
			CASE(schedules_that_cannot_be_never_reach_the_provider),
			CASE(a_list_that_answers_wrongly_is_not_believed),
			CASE(requests_that_cannot_be_never_reach_the_provider),
			CASE(a_pointer_that_is_missing_is_named),
			cmocka_unit_test(what_a_provider_lacks_it_cannot),
			CASE(t082_the_provider_sees_one_start_and_none_after_the_stop),
			cmocka_unit_test(a_program_may_bring_its_own_provider),
			CASE(each_method_has_its_fault_points),
			cmocka_unit_test(memory_that_fails_at_the_opening_leaves_nothing),
#undef CASE
	};

	return cmocka_run_group_tests_name("wrapper", tests, NULL, NULL);
}
