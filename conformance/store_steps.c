/* The step of a schedule: cursor, Runs and gaps in one commit; the ends that go with a disable. */
#include "conformance/store_priv.h"

static const struct belfry_id nobody = {{0}};

static void t017_one_due_time_makes_one_run(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);

	(void)bf_suite_put(trial, "a", 1, due);
	CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	struct belfry_run first = bf_suite_run(trial, bf_suite_run_id("a", due));
	CHECK(trial, !bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	struct belfry_run second = bf_suite_run(trial, bf_suite_run_id("a", due));
	CHECK(trial, first.created_at == second.created_at);
	struct belfry_list runs = {.kind = BELFRY_LIST_RUNS, .schedule = bf_suite_str("a")};
	bf_suite_list(trial, &runs);
	CHECK(trial, runs.count == 1);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_QUEUED] == 1);
}

static void t019_two_schedules_make_two_runs(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);

	(void)bf_suite_put(trial, "a", 1, due);
	(void)bf_suite_put(trial, "b", 1, due);
	CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	CHECK(trial, bf_suite_plan(trial, "b", due, BELFRY_RUN_QUEUED, nobody));
	CHECK(trial, bf_suite_is(bf_suite_run(trial, bf_suite_run_id("a", due)).schedule, "a"));
	CHECK(trial, bf_suite_is(bf_suite_run(trial, bf_suite_run_id("b", due)).schedule, "b"));
}

static void t020_the_instant_is_the_key(struct belfry_store_trial *trial)
{
	/* 09:00+08:00 and 01:00Z are one instant, whatever wrote it: one number, one id. */
	belfry_time utc = bf_suite_due(trial, 0);
	belfry_time shanghai = utc + 8 * BELFRY_HOUR - 8 * BELFRY_HOUR;

	(void)bf_suite_put(trial, "a", 1, utc);
	CHECK(trial, bf_suite_plan(trial, "a", utc, BELFRY_RUN_QUEUED, nobody));
	CHECK(trial, !bf_suite_plan(trial, "a", shanghai, BELFRY_RUN_QUEUED, nobody));
}

static void a_new_run_is_read_as_it_was_made(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);

	(void)bf_suite_put(trial, "a", 4, due);
	CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	struct belfry_run run = bf_suite_run(trial, bf_suite_run_id("a", due));
	CHECK(trial, run.trigger == BELFRY_TRIGGER_SCHEDULE);
	CHECK(trial, run.state == BELFRY_RUN_QUEUED && run.status == BELFRY_STATUS_QUEUED);
	CHECK(trial, run.revision == 4);
	CHECK(trial, run.due_at == due && run.ready_at == due);
	CHECK(trial, run.created_at >= trial->start);
	CHECK(trial, run.started_at == 0 && run.dispatched_at == 0 && run.finished_at == 0);
	CHECK(trial, bf_suite_is_zero(run.holder) && bf_suite_is_zero(run.replayed_from));
	CHECK(trial, run.fence == 0 && run.attempt == 0 && run.failures == 0);
	CHECK(trial, run.takeovers == 0 && run.stands_for == 1);
	CHECK(trial, run.session.len == 0 && run.turn.len == 0);
	CHECK(trial, run.error == BELFRY_RUN_ERROR_NONE);
	CHECK(trial, bf_suite_is(run.tz_version, "2026a"));
}

static void l25_the_count_rises_with_the_step(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);

	(void)bf_suite_put(trial, "a", 1, due);
	(void)bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.fired_count == 1 && row.last_fire_at == due);
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = row.version,
			.cursor = due + BELFRY_MINUTE};
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	row = bf_suite_row(trial, "a");
	CHECK(trial, row.fired_count == 1 && row.last_fire_at == due);
	CHECK(trial, row.cursor == due + BELFRY_MINUTE);
}

/* max_fires rests on it: what was there already, and what is skipped, is no firing. */
static void l25_only_what_is_inserted_and_not_skipped_counts(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 1);

	(void)bf_suite_put(trial, "a", 1, due);
	CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	CHECK(trial, !bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	CHECK(trial, bf_suite_row(trial, "a").fired_count == 1);
	CHECK(trial, bf_suite_plan(trial, "a", bf_suite_due(trial, 2), BELFRY_RUN_SKIPPED, nobody));
	CHECK(trial, bf_suite_row(trial, "a").fired_count == 1);
	CHECK(trial,
			bf_suite_plan(trial, "a", bf_suite_due(trial, 3), BELFRY_RUN_CANCELLED,
					nobody));
	(void)bf_suite_request(trial, "a", 1);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.fired_count == 2);
	CHECK(trial, row.last_fire_at == bf_suite_due(trial, 3));
	/* The clock was set back: an earlier due time fires, and the latest stays the latest. */
	CHECK(trial, bf_suite_plan(trial, "a", bf_suite_due(trial, 0), BELFRY_RUN_QUEUED, nobody));
	row = bf_suite_row(trial, "a");
	CHECK(trial, row.fired_count == 3);
	CHECK(trial, row.last_fire_at == bf_suite_due(trial, 3));
}

static void l02_a_step_moves_the_cursor_with_its_runs(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);

	(void)bf_suite_put(trial, "a", 1, due);
	(void)bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody);
	REQUIRE(trial, bf_suite_reopen(trial));
	CHECK(trial, bf_suite_row(trial, "a").cursor == due + BELFRY_SECOND);
	CHECK(trial, bf_suite_run(trial, bf_suite_run_id("a", due)).due_at == due);
}

static void l09_a_step_writes_phase_and_zone_version(struct belfry_store_trial *trial)
{
	uint64_t version = bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = version,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start,
			.phase = BELFRY_PHASE_QUARANTINED,
			.phase_reason = bf_suite_str("the rule cannot be read"),
			.tz_version = bf_suite_str("2026b")};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.phase == BELFRY_PHASE_QUARANTINED);
	CHECK(trial, bf_suite_is(row.phase_reason, "the rule cannot be read"));
	CHECK(trial, row.tz_version.len == 0); /* no cursor was computed */
	CHECK(trial, bf_suite_is(row.definition, "definition 1"));
	item.expect_version = row.version;
	item.cursor = bf_suite_due(trial, 1);
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	CHECK(trial, bf_suite_is(bf_suite_row(trial, "a").tz_version, "2026b"));
}

static void a_step_writes_what_a_newer_tz_database_needs(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, due),
			.cursor = due + BELFRY_HOUR,
			.decided_due = due,
			.decided_local = due + 2 * BELFRY_HOUR,
			.cursor_local = due + 3 * BELFRY_HOUR,
			.tz_version = bf_suite_str("2026b")};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	REQUIRE(trial, bf_suite_reopen(trial));
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.decided_due == due);
	CHECK(trial, row.decided_local == due + 2 * BELFRY_HOUR);
	CHECK(trial, row.cursor_local == due + 3 * BELFRY_HOUR);
	item.expect_version = row.version;
	item.cursor = BELFRY_TIME_NEVER;
	item.decided_due = due + BELFRY_HOUR;
	item.decided_local = due + 3 * BELFRY_HOUR;
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	row = bf_suite_row(trial, "a");
	CHECK(trial, row.decided_due == due + BELFRY_HOUR && row.cursor_local == 0);
}

static void a_run_born_claimed_has_its_holder(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_new_run new_run = {.id = bf_suite_run_id("a", due),
			.state = BELFRY_RUN_DISPATCHING,
			.due_at = due,
			.ready_at = due,
			.stands_for = 3};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, due),
			.cursor = due + BELFRY_SECOND,
			.runs = &new_run,
			.run_count = 1};
	struct belfry_advance advance = {.holder = holder, .items = &item, .item_count = 1};

	REQUIRE(trial, bf_suite_advance(trial, &advance) == BELFRY_OK);
	REQUIRE(trial, item.result == BELFRY_OK && new_run.is_inserted);
	struct belfry_run run = bf_suite_run(trial, new_run.id);
	CHECK(trial, run.state == BELFRY_RUN_DISPATCHING && run.status == BELFRY_STATUS_RUNNING);
	CHECK(trial, bf_suite_same_id(run.holder, holder));
	CHECK(trial, run.fence == advance.fence && run.fence > 0);
	CHECK(trial, run.attempt == 1);
	CHECK(trial, run.started_at == advance.now);
	CHECK(trial, run.stands_for == 3);
	struct belfry_record record = bf_suite_record_of(&run, BELFRY_RECORD_SESSION);
	record.session = bf_suite_str("s");
	CHECK(trial, bf_suite_record(trial, &record) == BELFRY_OK);
}

static void one_that_ended_holds_no_new_run(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	belfry_time due = bf_suite_due(trial, 0);
	uint64_t version = bf_suite_put(trial, "a", 1, due);
	struct belfry_new_run run = {.id = bf_suite_run_id("a", due),
			.state = BELFRY_RUN_DISPATCHING,
			.due_at = due,
			.ready_at = due,
			.stands_for = 1};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = version,
			.cursor = due + BELFRY_SECOND,
			.runs = &run,
			.run_count = 1};

	REQUIRE(trial, bf_suite_declare_dead(trial, holder, 1) == BELFRY_OK);
	CHECK(trial, bf_suite_advance_item(trial, holder, &item) == BELFRY_STALE);
	CHECK(trial, bf_suite_row(trial, "a").version == version);
	CHECK(trial,
			bf_suite_advance_item(trial, bf_suite_incarnation_id(77), &item) ==
					BELFRY_STALE);
	struct belfry_run found;
	CHECK(trial, !bf_suite_find_run(trial, run.id, &found));
	run.state = BELFRY_RUN_QUEUED;
	CHECK(trial, bf_suite_advance_item(trial, holder, &item) == BELFRY_OK);
}

static void no_run_is_made_before_its_time(struct belfry_store_trial *trial)
{
	belfry_time due = trial->start - trial->start % BELFRY_SECOND + BELFRY_HOUR;
	uint64_t version = bf_suite_put(trial, "a", 1, due);
	struct belfry_new_run run = {.id = bf_suite_run_id("a", due),
			.due_at = due,
			.ready_at = due,
			.stands_for = 1};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = version,
			.cursor = due + BELFRY_SECOND,
			.runs = &run,
			.run_count = 1};
	struct belfry_run found;

	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) != BELFRY_OK);
	CHECK(trial, !bf_suite_find_run(trial, run.id, &found));
	CHECK(trial, bf_suite_row(trial, "a").cursor == due);
}

static void a_run_may_be_made_ended(struct belfry_store_trial *trial)
{
	belfry_time first = bf_suite_due(trial, 0);
	belfry_time second = bf_suite_due(trial, 1);
	struct belfry_new_run runs[2] = {{.id = bf_suite_run_id("a", first),
							 .state = BELFRY_RUN_SKIPPED,
							 .due_at = first,
							 .ready_at = first,
							 .stands_for = 1,
							 .error = BELFRY_RUN_ERROR_OVERLAP},
			{.id = bf_suite_run_id("a", second),
					.state = BELFRY_RUN_CANCELLED,
					.due_at = second,
					.ready_at = second,
					.stands_for = 1,
					.error = BELFRY_RUN_ERROR_SCHEDULE_DISABLED}};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, first),
			.cursor = second + BELFRY_SECOND,
			.runs = runs,
			.run_count = 2};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	CHECK(trial, runs[0].is_inserted && runs[1].is_inserted);
	struct belfry_run skipped = bf_suite_run(trial, runs[0].id);
	CHECK(trial, skipped.state == BELFRY_RUN_SKIPPED);
	CHECK(trial, skipped.status == BELFRY_STATUS_SKIPPED);
	CHECK(trial, skipped.error == BELFRY_RUN_ERROR_OVERLAP && skipped.finished_at != 0);
	struct belfry_run cancelled = bf_suite_run(trial, runs[1].id);
	CHECK(trial, cancelled.status == BELFRY_STATUS_CANCELLED && cancelled.finished_at != 0);
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 9).run_count == 0);
}

/* The host's own Session carries the Run's id and is stored with it (T024, no commit more). */
static void check_local_session(struct belfry_store_trial *trial, struct belfry_id id)
{
	struct belfry_run run = bf_suite_run(trial, id);
	char text[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(id, text);
	CHECK(trial, (run.flags & BELFRY_RUN_F_LOCAL_SESSION) != 0);
	CHECK(trial, bf_suite_is(run.session, text));
}

static void t024_a_local_session_is_stored_with_the_run(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	belfry_time due = bf_suite_due(trial, 0);

	REQUIRE(trial,
			bf_suite_put_flags(trial, "a", 1,
					BELFRY_SCHEDULE_F_ENABLED | BELFRY_SCHEDULE_F_LOCAL_SESSION,
					0, due) != 0);
	CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	check_local_session(trial, bf_suite_run_id("a", due));
	check_local_session(trial, bf_suite_request(trial, "a", 1));
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, claim.runs[0].run.session.len == BELFRY_ID_TEXT_BYTES - 1);
	struct belfry_record record = bf_suite_record_of(&claim.runs[0].run, BELFRY_RECORD_SESSION);
	record.session = bf_suite_str("another");
	CHECK(trial, bf_suite_record(trial, &record) == BELFRY_CONFLICT);
	check_local_session(trial, bf_suite_run_id("a", due));
}

/* --- the ledger --- */

static void gaps_are_written_with_the_cursor(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_gap gaps[2] = {{.from = due,
						     .to = due + 9 * BELFRY_SECOND,
						     .count = 10,
						     .is_at_least = true,
						     .reason = BELFRY_GAP_MISSED,
						     .revision = 1,
						     .who = {"planner", 7}},
			{.from = due + BELFRY_MINUTE,
					.to = due + BELFRY_MINUTE,
					.count = 1,
					.reason = BELFRY_GAP_LATE,
					.revision = 1}};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, due),
			.cursor = due + BELFRY_HOUR,
			.gaps = gaps,
			.gap_count = 2};
	struct belfry_list list = {.kind = BELFRY_LIST_GAPS, .schedule = bf_suite_str("a")};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2);
	CHECK(trial, bf_suite_is(list.gaps[0].schedule, "a"));
	CHECK(trial, list.gaps[0].from == due && list.gaps[0].to == due + 9 * BELFRY_SECOND);
	CHECK(trial, list.gaps[0].count == 10 && list.gaps[0].is_at_least);
	CHECK(trial, list.gaps[0].reason == BELFRY_GAP_MISSED && list.gaps[0].revision == 1);
	CHECK(trial, bf_suite_is(list.gaps[0].who, "planner"));
	CHECK(trial, list.gaps[0].written_at >= trial->start);
	CHECK(trial, list.gaps[1].reason == BELFRY_GAP_LATE && !list.gaps[1].is_at_least);
}

static void b07_a_clock_set_back_forgets_later_gaps(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_gap gaps[3] = {{.from = due, .to = due + 5 * BELFRY_SECOND, .count = 6},
			{.from = due + 10 * BELFRY_SECOND,
					.to = due + 30 * BELFRY_SECOND,
					.count = 21},
			{.from = due + 40 * BELFRY_SECOND,
					.to = due + 50 * BELFRY_SECOND,
					.count = 11}};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, due),
			.cursor = due + BELFRY_HOUR,
			.gaps = gaps,
			.gap_count = 3};
	struct belfry_list list = {.kind = BELFRY_LIST_GAPS, .schedule = bf_suite_str("a")};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	item = (struct belfry_advance_item){.schedule = bf_suite_str("a"),
			.expect_version = item.version,
			.flags = BELFRY_ADVANCE_F_DROP_LATER_GAPS,
			.cursor = due + 21 * BELFRY_SECOND,
			.decided_at = due + 20 * BELFRY_SECOND};
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2);
	CHECK(trial, list.gaps[0].to == due + 5 * BELFRY_SECOND);
	CHECK(trial, list.gaps[0].count == 6 && !list.gaps[0].is_at_least);
	CHECK(trial, list.gaps[1].from == due + 10 * BELFRY_SECOND);
	CHECK(trial, list.gaps[1].to == due + 20 * BELFRY_SECOND);
	/* How many of its due times were later the store cannot know: no more than is sure. */
	CHECK(trial, list.gaps[1].count == 1 && list.gaps[1].is_at_least);
}

/* --- what a disable ends --- */

/* A delayed Run that has started, a queued one, a claimed one, a Run on request; then the step. */
struct ends {
	struct belfry_id delayed;
	struct belfry_id queued;
	struct belfry_id claimed;
	struct belfry_id manual;
	struct belfry_id other;
};

static struct ends make_runs(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run delayed = bf_suite_claimed_run(trial, "a", holder);
	struct belfry_record retry = bf_suite_record_of(&delayed, BELFRY_RECORD_RETRY);

	retry.ready_at = trial->start;
	retry.is_failure = true;
	CHECK(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	CHECK(trial,
			bf_suite_plan(trial, "a", bf_suite_due(trial, 1), BELFRY_RUN_DISPATCHING,
					holder));
	CHECK(trial, bf_suite_plan(trial, "a", bf_suite_due(trial, 2), BELFRY_RUN_QUEUED, nobody));
	(void)bf_suite_put(trial, "ab", 1, bf_suite_due(trial, 2));
	CHECK(trial, bf_suite_plan(trial, "ab", bf_suite_due(trial, 2), BELFRY_RUN_QUEUED, nobody));
	return (struct ends){.delayed = delayed.id,
			.claimed = bf_suite_run_id("a", bf_suite_due(trial, 1)),
			.queued = bf_suite_run_id("a", bf_suite_due(trial, 2)),
			.manual = bf_suite_request(trial, "a", 1),
			.other = bf_suite_run_id("ab", bf_suite_due(trial, 2))};
}

static void check_ends(struct belfry_store_trial *trial, const struct ends *ends)
{
	struct belfry_run ended = bf_suite_run(trial, ends->queued);

	CHECK(trial, ended.state == BELFRY_RUN_CANCELLED);
	CHECK(trial, ended.status == BELFRY_STATUS_CANCELLED);
	CHECK(trial, ended.error == BELFRY_RUN_ERROR_SCHEDULE_DISABLED);
	CHECK(trial, ended.started_at == 0 && ended.finished_at >= trial->start);
	CHECK(trial, bf_suite_run(trial, ends->delayed).state == BELFRY_RUN_DELAYED);
	CHECK(trial, bf_suite_run(trial, ends->claimed).state == BELFRY_RUN_DISPATCHING);
	CHECK(trial, bf_suite_run(trial, ends->manual).state == BELFRY_RUN_QUEUED);
	CHECK(trial, bf_suite_run(trial, ends->other).state == BELFRY_RUN_QUEUED);
}

static void t045_a_disable_ends_what_has_not_started(struct belfry_store_trial *trial)
{
	struct ends ends = make_runs(trial);

	REQUIRE(trial,
			bf_suite_put_flags(trial, "a", 2, 0, BELFRY_ADVANCE_F_END_UNSTARTED,
					BELFRY_TIME_NEVER) != 0);
	check_ends(trial, &ends);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_QUEUED] == 2);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_DELAYED] == 1);
	struct belfry_id other = bf_suite_begin_incarnation(trial, 2);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, other, 9);
	CHECK(trial, claim.run_count == 3);
	for (size_t i = 0; i < claim.run_count; i++) {
		CHECK(trial, !bf_suite_same_id(claim.runs[i].run.id, ends.queued));
	}
}

static void t064_a_removal_ends_what_has_not_started(struct belfry_store_trial *trial)
{
	struct ends ends = make_runs(trial);
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_row(trial, "a").version,
			.flags = BELFRY_ADVANCE_F_REMOVE | BELFRY_ADVANCE_F_END_UNSTARTED,
			.remove_revision = 2,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	check_ends(trial, &ends);
}

static void t045_a_disable_ends_its_own_new_runs(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_new_run run = {.id = bf_suite_run_id("a", due),
			.due_at = due,
			.ready_at = due,
			.stands_for = 1};
	struct belfry_schedule_put put = {.revision = 2, .payload = bf_suite_str("new")};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, due),
			.flags = BELFRY_ADVANCE_F_END_UNSTARTED,
			.put = &put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start,
			.runs = &run,
			.run_count = 1};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	CHECK(trial, run.is_inserted);
	CHECK(trial, item.ended == 1);
	struct belfry_run ended = bf_suite_run(trial, run.id);
	CHECK(trial, ended.state == BELFRY_RUN_CANCELLED);
	CHECK(trial, ended.error == BELFRY_RUN_ERROR_SCHEDULE_DISABLED);
}

static void t014_what_a_put_settles_has_the_old_revision(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_new_run run = {.id = bf_suite_run_id("a", due),
			.due_at = due,
			.ready_at = due,
			.stands_for = 1};
	struct belfry_schedule_put put = {.revision = 2,
			.flags = BELFRY_SCHEDULE_F_ENABLED,
			.payload = bf_suite_str("new")};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, due),
			.put = &put,
			.cursor = trial->start + BELFRY_HOUR,
			.runs = &run,
			.run_count = 1};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).revision == 1);
	CHECK(trial, bf_suite_is(bf_suite_payload(trial, run.id), "payload 1"));
	CHECK(trial, bf_suite_row(trial, "a").revision == 2);
}

const struct belfry_store_case bf_suite_steps[] = {
		{"t017_one_due_time_makes_one_run", t017_one_due_time_makes_one_run},
		{"t019_two_schedules_make_two_runs", t019_two_schedules_make_two_runs},
		{"t020_the_instant_is_the_key", t020_the_instant_is_the_key},
		{"a_new_run_is_read_as_it_was_made", a_new_run_is_read_as_it_was_made},
		{"l25_the_count_rises_with_the_step", l25_the_count_rises_with_the_step},
		{"l25_only_what_is_inserted_and_not_skipped_counts",
				l25_only_what_is_inserted_and_not_skipped_counts},
		{"l02_a_step_moves_the_cursor_with_its_runs",
				l02_a_step_moves_the_cursor_with_its_runs},
		{"l09_a_step_writes_phase_and_zone_version",
				l09_a_step_writes_phase_and_zone_version},
		{"a_step_writes_what_a_newer_tz_database_needs",
				a_step_writes_what_a_newer_tz_database_needs},
		{"a_run_born_claimed_has_its_holder", a_run_born_claimed_has_its_holder},
		{"one_that_ended_holds_no_new_run", one_that_ended_holds_no_new_run},
		{"no_run_is_made_before_its_time", no_run_is_made_before_its_time},
		{"a_run_may_be_made_ended", a_run_may_be_made_ended},
		{"t024_a_local_session_is_stored_with_the_run",
				t024_a_local_session_is_stored_with_the_run},
		{"gaps_are_written_with_the_cursor", gaps_are_written_with_the_cursor},
		{"b07_a_clock_set_back_forgets_later_gaps",
				b07_a_clock_set_back_forgets_later_gaps},
		{"t045_a_disable_ends_what_has_not_started",
				t045_a_disable_ends_what_has_not_started},
		{"t064_a_removal_ends_what_has_not_started",
				t064_a_removal_ends_what_has_not_started},
		{"t045_a_disable_ends_its_own_new_runs", t045_a_disable_ends_its_own_new_runs},
		{"t014_what_a_put_settles_has_the_old_revision",
				t014_what_a_put_settles_has_the_old_revision},
		{NULL, NULL},
};
