/* How often a rule may fire, and when its Runs get ready: max_fires and spread through settling and the
 * planner. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

#include "engine/settle.h"
#include "planner_bench.h"

#define EVERY_MINUTE_3 "{\"cron\":\"* * * * *\",\"max_fires\":3}"
#define SPREAD_HOUR    "{\"cron\":\"* * * * *\",\"spread\":\"PT1H\"}"

/* ---- settling ---------------------------------------------------------------------------------- */

struct settled {
	struct bf_batch batch;
	struct bf_settlement s;
};

/* Covered since nine; the cursor is at ten. */
static void settle(struct settled *ret, const char *rule_text, int64_t left,
		belfry_time last_fire_at, belfry_time now)
{
	static const struct belfry_policies defaults = BELFRY_POLICIES_INIT;
	struct belfry_rule *rule = rule_of(rule_text);
	struct bf_coverage coverage = {.own = {at_time(9, 0, 0), at_time(20, 0, 0)},
			.undecided_from = BELFRY_TIME_NEVER,
			.is_known = true};
	struct bf_settle_input in = {.schedule = BF_STR("s"),
			.revision = 1,
			.policies = &defaults,
			.rule = rule,
			.coverage = &coverage,
			.cursor = at_time(10, 0, 0),
			.now = now,
			.max_runs = 1000,
			.fires_left = left,
			.last_fire_at = last_fire_at};

	*ret = (struct settled){0};
	assert_int_equal(bf_settle(&in, &ret->batch, &ret->s), BELFRY_OK);
	belfry_rule_free(rule);
}

static void l08_the_last_allowed_firing_is_owed_and_leaves_no_cursor(void **state)
{
	struct settled got;

	(void)state;
	settle(&got, EVERY_MINUTE_3, 3, 0, at_time(10, 30, 0));
	assert_int_equal(got.s.run_count, 3);
	assert_true(got.batch.runs[2].due_at == at_time(10, 2, 0));
	assert_true(got.s.is_spent && got.s.is_complete);
	assert_true(got.s.cursor == BELFRY_TIME_NEVER);
	assert_int_equal(got.s.gap_count, 0); /* behind it nothing is due, so nothing is missed */
	bf_batch_fini(&got.batch);
}

static void one_firing_less_than_allowed_leaves_the_next_due_time(void **state)
{
	struct settled got;

	(void)state;
	settle(&got, EVERY_MINUTE_3, 3, 0, at_time(10, 1, 0));
	assert_int_equal(got.s.run_count, 2);
	assert_false(got.s.is_spent);
	assert_true(got.s.is_complete);
	assert_true(got.s.cursor == at_time(10, 2, 0));
	bf_batch_fini(&got.batch);
}

static void l07_a_rule_whose_count_is_spent_owes_nothing(void **state)
{
	struct settled got;

	(void)state;
	for (int64_t left = 0; left >= -3; left -= 3) { /* below zero: max_fires was lowered */
		settle(&got, EVERY_MINUTE_3, left, 0, at_time(10, 30, 0));
		assert_int_equal(got.s.run_count + got.s.gap_count, 0);
		assert_true(got.s.is_spent && got.s.is_complete);
		assert_true(got.s.cursor == BELFRY_TIME_NEVER);
		bf_batch_fini(&got.batch);
	}
}

static void what_was_missed_does_not_count(void **state)
{
	struct settled got;

	(void)state;
	/* Older than late_limit: the ledger has all but the last hour's. */
	settle(&got, "{\"cron\":\"0 * * * *\",\"max_fires\":2}", 2, 0, at_time(13, 0, 0));
	assert_int_equal(got.s.run_count, 2);
	assert_true(got.s.missed == 2);
	assert_true(got.batch.runs[0].due_at == at_time(12, 0, 0));
	assert_true(got.s.is_spent);
	bf_batch_fini(&got.batch);
}

/* After the clock was set back: these due times may have their Runs, which were counted then. */
static void what_may_have_fired_before_spends_nothing_before_the_store_has_counted(void **state)
{
	struct settled got;

	(void)state;
	settle(&got, EVERY_MINUTE_3, 2, at_time(10, 5, 0), at_time(10, 30, 0));
	assert_int_equal(got.s.run_count, 2); /* never more than could be allowed */
	assert_int_equal(got.s.again_count, 2);
	assert_false(got.s.is_spent || got.s.is_complete);
	assert_true(got.s.cursor == at_time(10, 2, 0));
	bf_batch_fini(&got.batch);
	/* One of them may have fired, the others are new: still the store counts first. */
	settle(&got, EVERY_MINUTE_3, 2, at_time(10, 0, 0), at_time(10, 30, 0));
	assert_int_equal(got.s.run_count, 2);
	assert_false(got.s.is_spent || got.s.is_complete);
	bf_batch_fini(&got.batch);
}

static void b11_a_run_is_ready_its_own_offset_after_its_due_time(void **state)
{
	struct settled got;
	belfry_duration sum = 0;

	(void)state;
	settle(&got, SPREAD_HOUR, INT64_MAX, 0, at_time(10, 30, 0));
	assert_int_equal(got.s.run_count, 31);
	for (size_t i = 0; i < got.s.run_count; i++) {
		const struct belfry_new_run *run = &got.batch.runs[i];
		assert_true(run->due_at == at_time(10, (int)i, 0));
		assert_true(run->ready_at == run->due_at + bf_id_spread(run->id, BELFRY_HOUR));
		sum += run->ready_at - run->due_at;
	}
	assert_in_range(sum / 31, 15 * BELFRY_MINUTE, 45 * BELFRY_MINUTE);
	bf_batch_fini(&got.batch);
}

/* ---- every kind of rule ------------------------------------------------------------------------ */

/* Each names 10:00 to 10:09, minute by minute, but for 10:01; then other times or nothing. */
static const char *const kinds[] = {
		"{\"cron\":\"* * * * *\",\"except\":[{\"cron\":\"1 10 * * *\"}],%s}",
		"{\"every\":\"PT1M\",\"except\":[{\"cron\":\"1 10 * * *\"}],%s}",
		"{\"every\":\"PT1M\",\"except\":[\"2026-01-05T10:01:00\"],%s}",
		"{\"any\":[{\"any\":[{\"cron\":\"*/2 * * * *\"},{\"cron\":\"0 10 * * *\"}]},"
		"{\"any\":[{\"cron\":\"1-59/2 * * * *\"}]}],\"except\":[{\"calendar\":\"c\",\"except\":["
		"\"2026-01-05T10:01:00Z\"]}],%s}",
		"{\"any\":[{\"every\":\"PT2M\"},{\"any\":[{\"cron\":\"3-59/2 * * * *\",\"not_before\":"
		"\"2026-01-05T10:02:00Z\"}]},{\"at\":[\"2026-01-05T10:00:00Z\",\"2026-01-05T10:05:00Z\"]}],%s}",
};

static const int minutes[] = {0, 2, 3, 4, 5, 6, 7, 8, 9};

#define KIND_BYTES 512

static void put_kind(char (*ret_text)[KIND_BYTES], size_t kind, const char *member)
{
	const char *at = strstr(kinds[kind], "%s");
	int before = (int)(at - kinds[kind]);

	(void)snprintf(*ret_text, KIND_BYTES, "%.*s%s%s", before, kinds[kind], member, at + 2);
}

static void l07_l08_max_fires_ends_every_kind_of_rule_with_its_last_firing(void **state)
{
	struct settled got;
	char text[KIND_BYTES];

	(void)state;
	for (size_t kind = 0; kind < BF_COUNT(kinds); kind++) {
		put_kind(&text, kind, "\"max_fires\":5");
		settle(&got, text, 5, 0, at_time(10, 9, 0));
		assert_int_equal(got.s.run_count, 5);
		for (size_t i = 0; i < 5; i++) {
			assert_true(got.batch.runs[i].due_at == at_time(10, minutes[i], 0));
		}
		assert_true(got.s.is_spent && got.s.cursor == BELFRY_TIME_NEVER);
		bf_batch_fini(&got.batch);
		settle(&got, text, 2, 0,
				at_time(10, 0, 30)); /* three have fired, one of two comes */
		assert_int_equal(got.s.run_count, 1);
		assert_true(!got.s.is_spent && got.s.cursor == at_time(10, 2, 0));
		bf_batch_fini(&got.batch);
		settle(&got, text, 0, 0, at_time(10, 9, 0));
		assert_int_equal(got.s.run_count + got.s.gap_count, 0);
		assert_true(got.s.is_spent && got.s.cursor == BELFRY_TIME_NEVER);
		bf_batch_fini(&got.batch);
	}
}

/* What coincides in a union is one Run, spread as whoever names it alone would spread it. */
static void b11_every_kind_of_rule_spreads_the_same_due_time_alike(void **state)
{
	struct settled got;
	char text[KIND_BYTES];

	(void)state;
	for (size_t kind = 0; kind < BF_COUNT(kinds); kind++) {
		put_kind(&text, kind, "\"spread\":\"PT1H\"");
		settle(&got, text, INT64_MAX, 0, at_time(10, 9, 0));
		assert_int_equal(got.s.run_count, BF_COUNT(minutes));
		for (size_t i = 0; i < BF_COUNT(minutes); i++) {
			const struct belfry_new_run *run = &got.batch.runs[i];
			struct belfry_id id;
			belfry_time due = at_time(10, minutes[i], 0);
			assert_int_equal(belfry_run_id(BF_STR("s"), due, &id), BELFRY_OK);
			assert_int_equal(bf_id_compare(run->id, id), 0);
			assert_true(run->ready_at == due + bf_id_spread(id, BELFRY_HOUR));
		}
		bf_batch_fini(&got.batch);
	}
}

/* ---- the planner ------------------------------------------------------------------------------- */

/* A due pass over one row with this rule, that fired so often; the commit is under way. */
static const struct belfry_advance_item *plan(struct bench *b, const struct bf_buf *definition,
		belfry_time cursor, int64_t fired)
{
	struct belfry_schedule_row rows[] = {row(b, "a", cursor)};

	rows[0].definition = bf_buf_str(definition);
	rows[0].fired_count = fired;
	begin_pass(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	tickets(b, 1, 50);
	pass_time(b, TICK);
	wake(b);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_non_null(b->orders.advance);
	return &b->orders.advance->items[0];
}

static void l08_the_last_firing_and_the_end_are_one_commit(void **state)
{
	struct bench *b = *state;
	struct bf_buf rule = definition_of(EVERY_MINUTE_3, NULL);
	const struct belfry_advance_item *item = plan(b, &rule, at_time(9, 55, 0), 2);

	assert_int_equal(item->run_count, 1);
	assert_true(item->runs[0].due_at == at_time(9, 55, 0));
	assert_int_equal(item->phase, BELFRY_PHASE_EXHAUSTED);
	assert_true(item->cursor == BELFRY_TIME_NEVER);
	assert_true(bf_str_equal(item->phase_reason,
			BF_STR("it has fired as often as max_fires allows")));
	answer_commit(b, BELFRY_OK);
	bf_buf_fini(&rule);
}

static void l08_the_last_time_of_a_window_fires_and_ends_it_too(void **state)
{
	struct bench *b = *state;
	struct bf_buf rule = definition_of(
			"{\"cron\":\"* * * * *\",\"not_after\":\"2026-01-05T10:00:00Z\"}", NULL);
	const struct belfry_advance_item *item = plan(b, &rule, at_time(10, 0, 0), 0);

	assert_int_equal(item->run_count, 1);
	assert_int_equal(item->phase, BELFRY_PHASE_EXHAUSTED);
	assert_true(item->cursor == BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	bf_buf_fini(&rule);
}

static void l08_the_last_instant_of_a_list_fires_and_ends_it_too(void **state)
{
	struct bench *b = *state;
	struct bf_buf rule = definition_of(
			"{\"at\":[\"2026-01-05T09:59:00Z\",\"2026-01-05T10:00:00Z\"]}", NULL);
	const struct belfry_advance_item *item = plan(b, &rule, at_time(9, 59, 0), 0);

	assert_int_equal(item->run_count, 2);
	assert_int_equal(item->phase, BELFRY_PHASE_EXHAUSTED);
	assert_true(item->cursor == BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	bf_buf_fini(&rule);
}

static void l07_a_row_with_nothing_left_is_switched_off_and_fires_nothing(void **state)
{
	struct bench *b = *state;
	struct bf_buf rule = definition_of(EVERY_MINUTE_3, NULL);
	const struct belfry_advance_item *item = plan(b, &rule, at_time(9, 55, 0), 3);

	assert_int_equal(item->run_count + item->gap_count, 0);
	assert_int_equal(item->phase, BELFRY_PHASE_EXHAUSTED);
	assert_true(item->cursor == BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	bf_buf_fini(&rule);
}

static void b11_a_run_that_is_not_ready_is_born_to_nobody(void **state)
{
	struct bench *b = *state;
	struct bf_buf rule = definition_of("{\"cron\":\"* * * * * *\",\"spread\":\"PT20S\"}", NULL);
	const struct belfry_advance_item *item = plan(b, &rule, at_time(9, 59, 32), 0);
	size_t ready = 0;

	assert_int_equal(item->run_count, 30);
	for (size_t i = 0; i < item->run_count; i++) {
		const struct belfry_new_run *run = &item->runs[i];
		bool is_ready = run->ready_at <= b->store_now;
		assert_int_equal(run->state, is_ready ? BELFRY_RUN_DISPATCHING : BELFRY_RUN_QUEUED);
		ready += is_ready;
	}
	assert_in_range(ready, 1, 29); /* fired late: what was spread until now is ready at once */
	answer_commit(b, BELFRY_OK);
	assert_int_equal(b->born->run_count, ready);
	assert_true(b->born->has_queued); /* the dispatcher learns when the next one is ready */
	assert_int_equal(bf_planner_counts(b->planner)->places, 50 - ready);
	bf_buf_fini(&rule);
}

/* ---- edits ------------------------------------------------------------------------------------- */

/* A put of revision 2 with `rule`, over a row that has fired three times and is exhausted. */
static const struct belfry_advance_item *edit(struct bench *b, const struct bf_buf *old,
		const struct bf_buf *new_, struct bf_plan_request *request, uint32_t flags)
{
	struct belfry_schedule_row rows[] = {row(b, "a", BELFRY_TIME_NEVER)};

	rows[0].definition = bf_buf_str(old);
	rows[0].fired_count = 3;
	rows[0].phase = BELFRY_PHASE_EXHAUSTED;
	rows[0].idle_since = at_time(9, 50, 0);
	*request = put_of(b, "a", 2, flags, new_);
	post(b, request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	assert_non_null(b->orders.advance);
	return &b->orders.advance->items[0];
}

static void a_higher_max_fires_opens_an_exhausted_schedule_again(void **state)
{
	struct bench *b = *state;
	struct bf_buf three = definition_of(EVERY_MINUTE_3, NULL);
	struct bf_buf four = definition_of("{\"cron\":\"* * * * *\",\"max_fires\":4}", NULL);
	struct bf_plan_request request;
	const struct belfry_advance_item *item = edit(b, &three, &four, &request,
			BELFRY_SCHEDULE_F_ENABLED);

	assert_int_equal(item->phase, BELFRY_PHASE_ACTIVE);
	assert_int_equal(item->phase_reason.len, 0);
	assert_true(item->cursor == at_time(10, 1, 0));
	/* While it was exhausted nothing was due: nothing is written of that time. */
	assert_int_equal(item->gap_count + item->run_count, 0);
	answer_commit(b, BELFRY_OK);
	assert_true(is_done(b, &request));
	bf_buf_fini(&three);
	bf_buf_fini(&four);
}

static void an_edit_never_resets_what_has_fired(void **state)
{
	struct bench *b = *state;
	struct bf_buf three = definition_of(EVERY_MINUTE_3, NULL);
	struct bf_buf other = definition_of("{\"cron\":\"0 * * * *\",\"max_fires\":3}", NULL);
	struct bf_plan_request request;
	const struct belfry_advance_item *item = edit(b, &three, &other, &request,
			BELFRY_SCHEDULE_F_ENABLED);

	assert_int_equal(item->phase, BELFRY_PHASE_EXHAUSTED);
	assert_true(item->cursor == BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	bf_buf_fini(&three);
	bf_buf_fini(&other);
}

static void what_a_put_settles_counts_for_the_new_limit(void **state)
{
	struct bench *b = *state;
	struct bf_buf two = definition_of("{\"cron\":\"* * * * *\",\"max_fires\":2}", NULL);
	struct belfry_schedule_row rows[] = {row(b, "a", at_time(9, 59, 0))};
	struct bf_plan_request request = put_of(b, "a", 2, BELFRY_SCHEDULE_F_ENABLED, &two);

	begin_pass(b);
	answer_rows(b, NULL, 0, BELFRY_TIME_NEVER);
	post(b, &request);
	answer_rows(b, rows, 1, BELFRY_TIME_NEVER);
	const struct belfry_advance_item *item = &b->orders.advance->items[0];
	assert_int_equal(item->run_count, 2); /* 9:59 and 10:00, under the old revision */
	assert_int_equal(item->phase, BELFRY_PHASE_EXHAUSTED);
	assert_true(item->cursor == BELFRY_TIME_NEVER);
	answer_commit(b, BELFRY_OK);
	bf_buf_fini(&two);
}

int run_fires_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(l08_the_last_allowed_firing_is_owed_and_leaves_no_cursor),
			cmocka_unit_test(one_firing_less_than_allowed_leaves_the_next_due_time),
			cmocka_unit_test(l07_a_rule_whose_count_is_spent_owes_nothing),
			cmocka_unit_test(what_was_missed_does_not_count),
			cmocka_unit_test(
					what_may_have_fired_before_spends_nothing_before_the_store_has_counted),
			cmocka_unit_test(b11_a_run_is_ready_its_own_offset_after_its_due_time),
			cmocka_unit_test(
					l07_l08_max_fires_ends_every_kind_of_rule_with_its_last_firing),
			cmocka_unit_test(b11_every_kind_of_rule_spreads_the_same_due_time_alike),
			CASE(l08_the_last_firing_and_the_end_are_one_commit),
			CASE(l08_the_last_time_of_a_window_fires_and_ends_it_too),
			CASE(l08_the_last_instant_of_a_list_fires_and_ends_it_too),
			CASE(l07_a_row_with_nothing_left_is_switched_off_and_fires_nothing),
			CASE(b11_a_run_that_is_not_ready_is_born_to_nobody),
			CASE(a_higher_max_fires_opens_an_exhausted_schedule_again),
			CASE(an_edit_never_resets_what_has_fired),
			CASE(what_a_put_settles_counts_for_the_new_limit),
	};
	return cmocka_run_group_tests_name("fires", tests, NULL, NULL);
}
