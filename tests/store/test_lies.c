/* An adapter that lies: whatever cannot be is answered BELFRY_CORRUPT, and nothing of it gets
 * through. */
#include "support.h"

#include "liar.h"

static char long_id[BELFRY_SCHEDULE_ID_BYTES + 2];

/* One schedule with a queued Run, one claimed, one gap, one document, behind a liar. */
struct lie {
	struct test_clock clock;
	struct liar_spoil spoil;
	struct bf_store *store;
	struct belfry_arena arena;
	struct belfry_run claimed;
};

static belfry_time read_clock(void *data)
{
	return ((struct test_clock *)data)->now;
}

static void begin(struct lie *lie)
{
	struct belfry_store *raw = NULL;
	struct belfry_gap gap = {.from = 1, .to = 2, .count = 1};
	struct belfry_document document = {.kind = BF_STR("deployment"), .id = BF_STR("d")};
	struct belfry_claim claim = {.kind = BELFRY_CLAIM_QUEUE,
			.holder = test_incarnation(1),
			.max_runs = 1,
			.max_bytes = 100};

	*lie = (struct lie){.clock = {.now = NOW}, .arena = BELFRY_ARENA_INIT};
	lie->clock.env = (struct bf_env){.data = &lie->clock, .wall = read_clock};
	assert_int_equal(bf_memory_store_new(&lie->clock.env, false, &raw), BELFRY_OK);
	raw = liar_new(raw, &lie->spoil);
	assert_non_null(raw);
	assert_int_equal(bf_store_wrap(&raw, &lie->store, NULL), BELFRY_OK);
	test_begin(lie->store, 1);
	test_put(lie->store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	test_plan(lie->store, "a", 0, 2);
	struct belfry_advance_item item = {.schedule = BF_STR("a"),
			.expect_version = test_version(lie->store, "a"),
			.cursor = test_due(2),
			.gaps = &gap,
			.gap_count = 1};
	struct belfry_advance advance = {.items = &item, .item_count = 1};
	assert_int_equal(bf_store_advance(lie->store, &advance, NULL), BELFRY_OK);
	assert_int_equal(bf_store_claim_runs(lie->store, &claim, &lie->arena, NULL), BELFRY_OK);
	lie->claimed = claim.runs[0].run;
	assert_int_equal(bf_store_document_put(lie->store, &document, 0, NULL), BELFRY_OK);
}

static void end(struct lie *lie)
{
	bf_store_close(lie->store);
	belfry_arena_fini(&lie->arena);
}

/* --- lists --- */

struct list_lie {
	enum belfry_list_kind kind;
	void (*spoil)(struct belfry_list *list);
};

#define LIE(name, statement)                                                                       \
	static void name(struct belfry_list *list)                                                 \
	{                                                                                          \
		statement;                                                                         \
	}

LIE(no_time, list->now = 0)
LIE(too_many, list->count = (size_t)list->limit + 1)
LIE(no_rows, list->rows = NULL)
LIE(no_runs, list->runs = NULL)
LIE(no_gaps, list->gaps = NULL)
LIE(no_counts, list->counts = NULL)
LIE(row_without_id, list->rows[0].id.len = 0)
LIE(row_id_too_long, (list->rows[0].id = (struct belfry_str){long_id, sizeof(long_id)}))
LIE(row_phase, list->rows[0].phase = (enum belfry_phase)99)
LIE(row_version, list->rows[0].version = 0)
LIE(row_revision, list->rows[0].revision = -1)
LIE(row_cursor, list->rows[0].cursor = INT64_MIN)
LIE(row_payload, list->rows[0].payload_bytes = UINT32_MAX)
LIE(row_definition, (list->rows[0].definition = (struct belfry_str){NULL, 7}))
LIE(row_not_due, list->rows[0].cursor = list->now + 1)
LIE(row_before_from, list->from = list->rows[0].cursor + 1)
LIE(due_before_now, list->next_due = list->now)
LIE(run_without_id, (list->runs[0].id = (struct belfry_id){0}))
LIE(run_state, list->runs[0].state = (enum belfry_run_state)99)
LIE(run_status, list->runs[0].status = (enum belfry_run_status)99)
LIE(run_error, list->runs[0].error = (enum belfry_run_error)99)
LIE(run_trigger, list->runs[0].trigger = (enum belfry_trigger)99)
LIE(run_mismatch, list->runs[0].status = BELFRY_STATUS_COMPLETED)
LIE(run_revision, list->runs[0].revision = 0)
LIE(run_session, (list->runs[0].session = (struct belfry_str){NULL, 3}))
LIE(run_time, list->runs[0].created_at = 0)
LIE(run_order, (list->runs[0] = list->runs[1]))
LIE(gap_order, list->gaps[0].from = list->gaps[0].to + 1)
LIE(gap_reason, list->gaps[0].reason = 99)
LIE(gap_count, list->gaps[0].count = -1)
LIE(incarnation_id, (list->incarnations[0].id = (struct belfry_id){0}))
LIE(counts_negative, list->counts->by_state[BELFRY_RUN_QUEUED] = -1)
LIE(counts_active, list->counts->active_schedules = list->counts->schedules + 1)

static void no_lie_of_a_list_gets_through(void **state)
{
	static const struct list_lie lies[] = {{BELFRY_LIST_COUNTS, no_time},
			{BELFRY_LIST_DUE, too_many}, {BELFRY_LIST_DUE, no_rows},
			{BELFRY_LIST_DUE, row_not_due}, {BELFRY_LIST_DUE, row_before_from},
			{BELFRY_LIST_DUE, due_before_now}, {BELFRY_LIST_SCHEDULES, row_without_id},
			{BELFRY_LIST_SCHEDULES, row_id_too_long},
			{BELFRY_LIST_SCHEDULES, row_phase}, {BELFRY_LIST_SCHEDULES, row_version},
			{BELFRY_LIST_SCHEDULES, row_revision}, {BELFRY_LIST_SCHEDULES, row_cursor},
			{BELFRY_LIST_SCHEDULES, row_payload},
			{BELFRY_LIST_SCHEDULES, row_definition}, {BELFRY_LIST_RUNS, no_runs},
			{BELFRY_LIST_RUNS, too_many}, {BELFRY_LIST_RUNS, run_without_id},
			{BELFRY_LIST_RUNS, run_state}, {BELFRY_LIST_RUNS, run_status},
			{BELFRY_LIST_RUNS, run_error}, {BELFRY_LIST_RUNS, run_trigger},
			{BELFRY_LIST_RUNS, run_mismatch}, {BELFRY_LIST_RUNS, run_revision},
			{BELFRY_LIST_RUNS, run_session}, {BELFRY_LIST_RUNS, run_time},
			{BELFRY_LIST_RUNS, run_order}, {BELFRY_LIST_GAPS, no_gaps},
			{BELFRY_LIST_GAPS, gap_order}, {BELFRY_LIST_GAPS, gap_reason},
			{BELFRY_LIST_GAPS, gap_count}, {BELFRY_LIST_INCARNATIONS, incarnation_id},
			{BELFRY_LIST_COUNTS, no_counts}, {BELFRY_LIST_COUNTS, counts_negative},
			{BELFRY_LIST_COUNTS, counts_active}};
	struct lie lie;

	(void)state;
	begin(&lie);
	lie.clock.now += BELFRY_SECOND;
	for (size_t i = 0; i < BF_COUNT(lies); i++) {
		struct belfry_list list = {.kind = lies[i].kind,
				.schedule = lies[i].kind == BELFRY_LIST_GAPS ? BF_STR("a")
									     : BF_STR("")};
		struct belfry_error err = {0};
		assert_int_equal(bf_store_list(lie.store, &list, &lie.arena, NULL), BELFRY_OK);
		lie.spoil.list = lies[i].spoil;
		assert_int_equal(bf_store_list(lie.store, &list, &lie.arena, &err), BELFRY_CORRUPT);
		assert_int_equal(list.count, 0);
		assert_null(list.rows);
		assert_null(list.runs);
		assert_string_equal(err.message, belfry_status_text(BELFRY_CORRUPT));
		lie.spoil.list = NULL;
	}
	end(&lie);
}

/* --- the other methods --- */

static void time_of_zero(belfry_time *now)
{
	*now = 0;
}

static void beat_without_itself(struct belfry_beat *beat)
{
	beat->living_count = 0;
}

static void beat_with_the_dead(struct belfry_beat *beat)
{
	beat->living[0].ended_at = 1;
}

static void beat_with_nothing_cancelled(struct belfry_beat *beat)
{
	beat->cancelled = NULL;
	beat->cancelled_count = 1;
}

static void beat_with_nobody_cancelled(struct belfry_beat *beat)
{
	static struct belfry_id none;

	beat->cancelled = &none;
	beat->cancelled_count = 1;
}

static void no_lie_of_time_or_a_beat_gets_through(void **state)
{
	struct belfry_beat beat = {.kind = BELFRY_BEAT_RENEW,
			.incarnation = test_incarnation(1),
			.length = BELFRY_MINUTE};
	belfry_time now = 7;
	struct lie lie;

	(void)state;
	begin(&lie);
	lie.spoil.time = time_of_zero;
	assert_int_equal(bf_store_time(lie.store, &now, NULL), BELFRY_CORRUPT);
	assert_int_equal(now, 7);
	lie.spoil.beat = beat_without_itself;
	assert_int_equal(bf_store_beat(lie.store, &beat, &lie.arena, NULL), BELFRY_CORRUPT);
	lie.spoil.beat = beat_with_nothing_cancelled;
	assert_int_equal(bf_store_beat(lie.store, &beat, &lie.arena, NULL), BELFRY_CORRUPT);
	lie.spoil.beat = beat_with_nobody_cancelled;
	assert_int_equal(bf_store_beat(lie.store, &beat, &lie.arena, NULL), BELFRY_CORRUPT);
	assert_null(beat.cancelled);
	assert_int_equal(beat.cancelled_count, 0);
	lie.spoil.beat = beat_with_the_dead;
	assert_int_equal(bf_store_beat(lie.store, &beat, &lie.arena, NULL), BELFRY_CORRUPT);
	assert_null(beat.living);
	assert_int_equal(beat.now, 0);
	end(&lie);
}

static void ok_without_version(struct belfry_advance *advance)
{
	advance->items[0].version = 0;
}

static void strange_result(struct belfry_advance *advance)
{
	advance->items[0].result = BELFRY_UNAVAILABLE;
}

static void inserted_and_refused(struct belfry_advance *advance)
{
	advance->items[0].result = BELFRY_CONFLICT;
}

static void no_lie_of_an_advance_gets_through(void **state)
{
	void (*const lies[])(struct belfry_advance *) = {ok_without_version, strange_result,
			inserted_and_refused};
	struct lie lie;

	(void)state;
	begin(&lie);
	for (int i = 0; i < (int)BF_COUNT(lies); i++) {
		struct belfry_new_run run = {.id = test_run_id("a", 10 + i),
				.due_at = test_due(10 + i),
				.stands_for = 1};
		struct belfry_advance_item item = {.schedule = BF_STR("a"),
				.expect_version = test_version(lie.store, "a"),
				.cursor = test_due(20),
				.runs = &run,
				.run_count = 1};
		struct belfry_advance advance = {.items = &item, .item_count = 1};
		lie.spoil.advance = lies[i];
		assert_int_equal(bf_store_advance(lie.store, &advance, NULL), BELFRY_CORRUPT);
		assert_false(run.is_inserted);
		assert_int_equal(item.version, 0);
		lie.spoil.advance = NULL;
	}
	end(&lie);
}

static void not_new_without_key(struct belfry_add *add)
{
	add->is_new = false;
}

static void unknown_refusal(struct belfry_record *record)
{
	record->result = BELFRY_NOMEM;
}

static void stale_without_a_fence(struct belfry_record *record)
{
	record->result = BELFRY_STALE;
}

static void no_progress(struct belfry_prune *prune)
{
	prune->is_done = false;
	prune->next = prune->after;
}

static void no_lie_of_a_writing_call_gets_through(void **state)
{
	struct belfry_add add = {.schedule = BF_STR("a"),
			.id = {{9}},
			.trigger = BELFRY_TRIGGER_MANUAL};
	struct belfry_prune prune = {.keep_age = BELFRY_DAY, .max_rows = 9};
	struct lie lie;

	(void)state;
	begin(&lie);
	struct belfry_record record = {.kind = BELFRY_RECORD_SESSION,
			.run = lie.claimed.id,
			.fence = lie.claimed.fence,
			.session = BF_STR("s")};
	lie.spoil.add = not_new_without_key;
	assert_int_equal(bf_store_add_runs(lie.store, &add, 1, NULL), BELFRY_CORRUPT);
	lie.spoil.record = unknown_refusal;
	assert_int_equal(bf_store_record(lie.store, &record, 1, NULL), BELFRY_CORRUPT);
	assert_int_equal(record.result, BELFRY_UNKNOWN);
	struct belfry_record cancel = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST,
			.run = lie.claimed.id};
	lie.spoil.record = stale_without_a_fence;
	assert_int_equal(bf_store_record(lie.store, &cancel, 1, NULL), BELFRY_CORRUPT);
	lie.spoil.prune = no_progress;
	assert_int_equal(bf_store_prune(lie.store, &prune, NULL), BELFRY_CORRUPT);
	end(&lie);
}

static void claimed_for_another(struct belfry_claim *claim)
{
	claim->runs[0].run.holder = test_incarnation(8);
}

static void claimed_and_queued(struct belfry_claim *claim)
{
	claim->runs[0].run.state = BELFRY_RUN_QUEUED;
	claim->runs[0].run.status = BELFRY_STATUS_QUEUED;
}

static void claimed_without_fence(struct belfry_claim *claim)
{
	claim->runs[0].run.fence = 0;
}

static void claimed_too_many(struct belfry_claim *claim)
{
	claim->run_count = claim->max_runs + 1;
}

static void no_lie_of_a_claim_gets_through(void **state)
{
	void (*const lies[])(struct belfry_claim *) = {claimed_for_another, claimed_and_queued,
			claimed_without_fence, claimed_too_many};
	struct lie lie;

	(void)state;
	begin(&lie);
	for (size_t i = 0; i < BF_COUNT(lies); i++) {
		struct belfry_claim claim = {.kind = BELFRY_CLAIM_OWNED,
				.holder = test_incarnation(1),
				.max_runs = 1,
				.max_bytes = 100};
		lie.spoil.claim = lies[i];
		assert_int_equal(bf_store_claim_runs(lie.store, &claim, &lie.arena, NULL),
				BELFRY_CORRUPT);
		assert_null(claim.runs);
		assert_int_equal(claim.run_count, 0);
	}
	end(&lie);
}

static void document_of_another_kind(struct belfry_document *document)
{
	document->kind = BF_STR("setting");
	document->etag = 77;
}

static void query_past_its_limit(struct belfry_document_query *query)
{
	query->count = (size_t)query->limit + 1;
}

static void no_lie_of_documents_gets_through(void **state)
{
	struct belfry_document document = {.kind = BF_STR("deployment"), .id = BF_STR("e")};
	struct belfry_document_query query = {.kind = BF_STR("deployment"), .limit = 5};
	struct belfry_str type;
	struct belfry_str bytes;
	uint64_t length;
	struct lie lie;

	(void)state;
	begin(&lie);
	lie.spoil.document = document_of_another_kind;
	assert_int_equal(bf_store_document_put(lie.store, &document, 0, NULL), BELFRY_CORRUPT);
	assert_int_equal(document.etag, 0);
	assert_int_equal(bf_store_document_get(lie.store, document.kind, BF_STR("d"), BF_STR(""),
					 BF_STR(""), &lie.arena, &document, NULL),
			BELFRY_CORRUPT);
	lie.spoil.query = query_past_its_limit;
	assert_int_equal(bf_store_document_list(lie.store, &query, &lie.arena, NULL),
			BELFRY_CORRUPT);
	assert_int_equal(bf_store_output_read(lie.store, test_run_id("a", 0), 0, 10, &lie.arena,
					 &type, &bytes, &length, NULL),
			BELFRY_CORRUPT);
	end(&lie);
}

static void a_status_outside_the_list_is_corrupt(void **state)
{
	struct belfry_error err = {0};
	belfry_time now;
	struct lie lie;

	(void)state;
	begin(&lie);
	lie.spoil.status = (enum belfry_status)4711;
	assert_int_equal(bf_store_time(lie.store, &now, &err), BELFRY_CORRUPT);
	assert_int_equal(err.status, BELFRY_CORRUPT);
	lie.spoil.status = BELFRY_OK;
	end(&lie);
}

static void a_failure_without_words_gets_the_public_ones(void **state)
{
	struct belfry_error err = {0};
	belfry_time now;
	struct lie lie;

	(void)state;
	begin(&lie);
	lie.spoil.status = BELFRY_UNAVAILABLE;
	assert_int_equal(bf_store_time(lie.store, &now, &err), BELFRY_UNAVAILABLE);
	assert_int_equal(err.status, BELFRY_UNAVAILABLE);
	assert_string_equal(err.message, belfry_status_text(BELFRY_UNAVAILABLE));
	lie.spoil.status = BELFRY_OK;
	end(&lie);
}

static void what_is_optional_may_be_missing(void **state)
{
	struct lie lie;

	(void)state;
	begin(&lie);
	assert_int_equal(bf_store_wait_fd(lie.store), -1);
	bf_store_drain(lie.store);
	assert_false(bf_store_has_switch(lie.store));
	assert_int_equal(bf_store_turn_switch(lie.store, true, NULL), BELFRY_CANNOT);
	assert_true(bf_store_has_documents(lie.store));
	end(&lie);
}

int test_lies(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(no_lie_of_a_list_gets_through),
			cmocka_unit_test(no_lie_of_time_or_a_beat_gets_through),
			cmocka_unit_test(no_lie_of_an_advance_gets_through),
			cmocka_unit_test(no_lie_of_a_writing_call_gets_through),
			cmocka_unit_test(no_lie_of_a_claim_gets_through),
			cmocka_unit_test(no_lie_of_documents_gets_through),
			cmocka_unit_test(a_status_outside_the_list_is_corrupt),
			cmocka_unit_test(a_failure_without_words_gets_the_public_ones),
			cmocka_unit_test(what_is_optional_may_be_missing),
	};

	return cmocka_run_group_tests_name("lies", tests, NULL, NULL);
}
