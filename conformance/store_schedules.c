/* Definitions: put, remove, tombstones, versions, the ceiling of enabled schedules, the switch. */
#include "conformance/store_priv.h"

static const struct belfry_id nobody = {{0}};

static void a_put_is_read_as_it_was_written(struct belfry_store_trial *trial)
{
	belfry_time cursor = bf_suite_due(trial, 0);
	uint64_t version = bf_suite_put(trial, "a", 3, cursor);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");

	CHECK(trial, row.version == version && version != 0);
	CHECK(trial, row.revision == 3);
	CHECK(trial, row.flags == BELFRY_SCHEDULE_F_ENABLED);
	CHECK(trial, !row.is_removed);
	CHECK(trial, row.phase == BELFRY_PHASE_ACTIVE);
	CHECK(trial, row.cursor == cursor);
	CHECK(trial, row.idle_since == 0);
	CHECK(trial, row.fired_count == 0);
	CHECK(trial, row.last_fire_at == 0);
	CHECK(trial, row.payload_bytes == strlen("payload 3"));
	CHECK(trial, bf_suite_is(row.definition, "definition 3"));
	CHECK(trial, bf_suite_is(row.fair_key, "owner"));
	CHECK(trial, bf_suite_is(row.tz_version, "2026a"));
}

static void a_put_that_answered_outlives_a_restart(struct belfry_store_trial *trial)
{
	uint64_t version = bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));

	REQUIRE(trial, bf_suite_reopen(trial));
	CHECK(trial, bf_suite_row(trial, "a").version == version);
	CHECK(trial, bf_suite_row(trial, "a").revision == 1);
}

static void every_step_changes_the_version(struct belfry_store_trial *trial)
{
	uint64_t first = bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	uint64_t second = bf_suite_put(trial, "a", 2, bf_suite_due(trial, 0));

	(void)bf_suite_plan(trial, "a", bf_suite_due(trial, 0), BELFRY_RUN_QUEUED, nobody);
	uint64_t third = bf_suite_row(trial, "a").version;
	CHECK(trial, first != second && second != third && first != third);
}

static struct belfry_advance_item put_item(const struct belfry_schedule_put *put, uint64_t version)
{
	return (struct belfry_advance_item){.schedule = bf_suite_str("a"),
			.expect_version = version,
			.put = put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = 1};
}

/* The longest rule, and all else that goes with one. */
#define LONGEST ((size_t)BELFRY_RULE_BYTES + 16384)

static char byte_at(size_t i)
{
	return (char)('a' + (i / 7) % 26);
}

static bool is_longest(struct belfry_str definition)
{
	size_t i = 0;

	while (i < definition.len && definition.ptr[i] == byte_at(i)) {
		i++;
	}
	return i == LONGEST && definition.len == LONGEST;
}

static void the_longest_definition_is_kept_whole(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	belfry_time due = bf_suite_due(trial, 0);
	char *bytes = belfry_arena_alloc(&trial->arena, LONGEST);

	REQUIRE(trial, bytes != NULL);
	for (size_t i = 0; i < LONGEST; i++) {
		bytes[i] = byte_at(i);
	}
	struct belfry_schedule_put put = {.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED,
			.definition = {bytes, LONGEST}};
	struct belfry_advance_item item = put_item(&put, 0);
	item.cursor = due;
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	CHECK(trial, is_longest(bf_suite_row(trial, "a").definition));
	REQUIRE(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 5);
	REQUIRE(trial, claim.run_count == 1);
	CHECK(trial, is_longest(claim.runs[0].definition));
	REQUIRE(trial, bf_suite_reopen(trial));
	CHECK(trial, is_longest(bf_suite_row(trial, "a").definition));
}

static void t071_a_refused_edit_changes_nothing(struct belfry_store_trial *trial)
{
	uint64_t version = bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	struct belfry_gap gap = {.from = 1, .to = 2, .count = 1, .reason = BELFRY_GAP_DISABLED};
	struct belfry_new_run run = {.id = bf_suite_run_id("a", bf_suite_due(trial, 0)),
			.due_at = bf_suite_due(trial, 0),
			.ready_at = bf_suite_due(trial, 0),
			.stands_for = 1};
	struct belfry_schedule_put put = {.revision = 2,
			.definition = bf_suite_str("other"),
			.flags = 0};
	struct belfry_advance_item item = put_item(&put, version + 1000);

	item.gaps = &gap;
	item.gap_count = 1;
	item.runs = &run;
	item.run_count = 1;
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_CONFLICT);
	item.expect_version = 0;
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_CONFLICT);
	CHECK(trial, !run.is_inserted);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.version == version && row.revision == 1 && row.fired_count == 0);
	CHECK(trial, bf_suite_is(row.definition, "definition 1"));
	CHECK(trial, row.cursor == bf_suite_due(trial, 0));
	struct belfry_run found;
	CHECK(trial, !bf_suite_find_run(trial, run.id, &found));
	struct belfry_list gaps = {.kind = BELFRY_LIST_GAPS, .schedule = bf_suite_str("a")};
	bf_suite_list(trial, &gaps);
	CHECK(trial, gaps.count == 0);
}

static void an_idle_schedule_says_since_when(struct belfry_store_trial *trial)
{
	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	REQUIRE(trial, bf_suite_put_flags(trial, "a", 2, 0, 0, BELFRY_TIME_NEVER) != 0);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.cursor == BELFRY_TIME_NEVER);
	CHECK(trial, row.idle_since == trial->start);
	(void)bf_suite_put(trial, "a", 3, bf_suite_due(trial, 0));
	CHECK(trial, bf_suite_row(trial, "a").idle_since == 0);
}

static void l23_without_a_cursor_nothing_is_due(struct belfry_store_trial *trial)
{
	struct belfry_list due = {.kind = BELFRY_LIST_DUE};

	(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	bf_suite_list(trial, &due);
	CHECK(trial, due.count == 0);
	CHECK(trial, due.next_due == BELFRY_TIME_NEVER);
}

static enum belfry_status remove_schedule(struct belfry_store_trial *trial, const char *schedule,
		uint64_t version, int64_t revision)
{
	struct belfry_advance_item item = {.schedule = bf_suite_str(schedule),
			.expect_version = version,
			.flags = BELFRY_ADVANCE_F_REMOVE | BELFRY_ADVANCE_F_END_UNSTARTED,
			.remove_revision = revision,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start};

	return bf_suite_advance_item(trial, nobody, &item);
}

static void t064_a_removed_schedule_leaves_a_tombstone(struct belfry_store_trial *trial)
{
	uint64_t version = bf_suite_put(trial, "a", 5, bf_suite_due(trial, 0));
	struct belfry_list due = {.kind = BELFRY_LIST_DUE};

	REQUIRE(trial, remove_schedule(trial, "a", version, 6) == BELFRY_OK);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.is_removed);
	CHECK(trial, row.revision == 6);
	CHECK(trial, row.version != version);
	CHECK(trial, row.cursor == BELFRY_TIME_NEVER);
	bf_suite_list(trial, &due);
	CHECK(trial, due.count == 0);
	CHECK(trial, bf_suite_counts(trial).schedules == 0);
	CHECK(trial, bf_suite_counts(trial).active_schedules == 0);
}

static void t078_runs_stay_when_their_schedule_goes(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_run run = bf_suite_claimed_run(trial, "a", holder);

	REQUIRE(trial,
			remove_schedule(trial, "a", bf_suite_row(trial, "a").version, 2) ==
					BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).state == BELFRY_RUN_DISPATCHING);
	CHECK(trial, bf_suite_is(bf_suite_payload(trial, run.id), "payload 1"));
	CHECK(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
}

static void a_tombstone_yields_to_a_higher_revision_alone(struct belfry_store_trial *trial)
{
	struct belfry_schedule_put put = {.revision = 5, .definition = bf_suite_str("back")};

	(void)bf_suite_put(trial, "a", 5, bf_suite_due(trial, 0));
	(void)bf_suite_plan(trial, "a", bf_suite_due(trial, 0), BELFRY_RUN_QUEUED, nobody);
	uint64_t version = bf_suite_row(trial, "a").version;
	REQUIRE(trial, remove_schedule(trial, "a", version, 6) == BELFRY_OK);
	struct belfry_advance_item item = put_item(&put, 0);
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_CONFLICT);
	put.revision = 6;
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_row(trial, "a").is_removed);
	put.revision = 7;
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, !row.is_removed && row.revision == 7);
	CHECK(trial, row.fired_count == 0 && row.last_fire_at == 0);
}

static void a_put_is_taken_back_under_its_own_revision(struct belfry_store_trial *trial)
{
	uint64_t version = bf_suite_put(trial, "a", 5, bf_suite_due(trial, 0));
	struct belfry_schedule_put put = {.revision = 5, .definition = bf_suite_str("back")};
	struct belfry_advance_item item = put_item(&put, 0);

	REQUIRE(trial, remove_schedule(trial, "a", version, 5) == BELFRY_OK);
	struct belfry_schedule_row row = bf_suite_row(trial, "a");
	CHECK(trial, row.is_removed && row.revision == 5);
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_CONFLICT);
	put.revision = 6;
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	CHECK(trial, !bf_suite_row(trial, "a").is_removed);
}

static void t087_one_that_never_was_can_be_removed(struct belfry_store_trial *trial)
{
	struct belfry_schedule_put put = {.revision = 3};
	struct belfry_advance_item item = put_item(&put, 0);

	REQUIRE(trial, remove_schedule(trial, "a", 0, 3) == BELFRY_OK);
	CHECK(trial, bf_suite_row(trial, "a").is_removed);
	CHECK(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_CONFLICT);
}

static void one_refused_item_stops_no_other(struct belfry_store_trial *trial)
{
	uint64_t version = bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	struct belfry_schedule_put put = {.revision = 2, .definition = bf_suite_str("new")};
	struct belfry_advance_item items[3] = {put_item(&put, version + 1), put_item(&put, 0),
			put_item(&put, version)};
	struct belfry_advance advance = {.items = items, .item_count = 3};

	items[1].schedule = bf_suite_str("b");
	REQUIRE(trial, bf_suite_advance(trial, &advance) == BELFRY_OK);
	CHECK(trial, items[0].result == BELFRY_CONFLICT);
	CHECK(trial, items[1].result == BELFRY_OK && items[1].version != 0);
	CHECK(trial, items[2].result == BELFRY_OK && items[2].version != version);
	CHECK(trial, bf_suite_row(trial, "a").version == items[2].version);
	CHECK(trial, bf_suite_row(trial, "b").version == items[1].version);
}

/* --- the ceiling --- */

static enum belfry_status put_under_ceiling(struct belfry_store_trial *trial, const char *schedule,
		int64_t revision, uint32_t flags)
{
	struct belfry_schedule_row row = {0};
	struct belfry_schedule_put put = {.revision = revision, .flags = flags};
	bool is_there = bf_suite_find_row(trial, schedule, &row);
	struct belfry_advance_item item = {.schedule = bf_suite_str(schedule),
			.expect_version = is_there ? row.version : 0,
			.put = &put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start};
	struct belfry_advance advance = {.max_active = 2, .items = &item, .item_count = 1};
	enum belfry_status status = bf_suite_advance(trial, &advance);

	return status != BELFRY_OK ? status : item.result;
}

static void fill_to_ceiling(struct belfry_store_trial *trial)
{
	CHECK(trial, put_under_ceiling(trial, "a", 1, BELFRY_SCHEDULE_F_ENABLED) == BELFRY_OK);
	CHECK(trial, put_under_ceiling(trial, "b", 1, BELFRY_SCHEDULE_F_ENABLED) == BELFRY_OK);
}

static void t067_one_above_the_ceiling_is_refused(struct belfry_store_trial *trial)
{
	struct belfry_schedule_row row;

	fill_to_ceiling(trial);
	CHECK(trial,
			put_under_ceiling(trial, "c", 1, BELFRY_SCHEDULE_F_ENABLED) ==
					BELFRY_CAPACITY);
	CHECK(trial, !bf_suite_find_row(trial, "c", &row));
	CHECK(trial, bf_suite_counts(trial).active_schedules == 2);
}

static void t068_an_edit_at_the_ceiling_is_accepted(struct belfry_store_trial *trial)
{
	fill_to_ceiling(trial);
	CHECK(trial, put_under_ceiling(trial, "b", 2, BELFRY_SCHEDULE_F_ENABLED) == BELFRY_OK);
	CHECK(trial, bf_suite_counts(trial).active_schedules == 2);
}

static void t069_a_disabled_one_needs_no_place(struct belfry_store_trial *trial)
{
	fill_to_ceiling(trial);
	CHECK(trial, put_under_ceiling(trial, "c", 1, 0) == BELFRY_OK);
	CHECK(trial,
			put_under_ceiling(trial, "c", 2, BELFRY_SCHEDULE_F_ENABLED) ==
					BELFRY_CAPACITY);
	CHECK(trial, bf_suite_row(trial, "c").revision == 1);
	CHECK(trial, put_under_ceiling(trial, "a", 2, 0) == BELFRY_OK);
	CHECK(trial, put_under_ceiling(trial, "c", 2, BELFRY_SCHEDULE_F_ENABLED) == BELFRY_OK);
	struct belfry_counts counts = bf_suite_counts(trial);
	CHECK(trial, counts.active_schedules == 2 && counts.schedules == 3);
}

static void t067_the_ceiling_holds_within_one_call(struct belfry_store_trial *trial)
{
	struct belfry_schedule_put put = {.revision = 1, .flags = BELFRY_SCHEDULE_F_ENABLED};
	struct belfry_advance_item items[3] = {put_item(&put, 0), put_item(&put, 0),
			put_item(&put, 0)};
	struct belfry_advance advance = {.max_active = 2, .items = items, .item_count = 3};

	items[1].schedule = bf_suite_str("b");
	items[2].schedule = bf_suite_str("c");
	REQUIRE(trial, bf_suite_advance(trial, &advance) == BELFRY_OK);
	CHECK(trial, items[0].result == BELFRY_OK && items[1].result == BELFRY_OK);
	CHECK(trial, items[2].result == BELFRY_CAPACITY);
}

/* --- the switch --- */

static bool has_switch(struct belfry_store_trial *trial)
{
	trial->is_skipped = trial->store->ops->turn_switch == NULL;
	return !trial->is_skipped;
}

static enum belfry_status plan_under_switch(struct belfry_store_trial *trial, bool is_plan)
{
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_new_run run = {.id = bf_suite_run_id("a", due),
			.due_at = due,
			.ready_at = due,
			.stands_for = 1};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_row(trial, "a").version,
			.cursor = due + BELFRY_SECOND,
			.runs = &run,
			.run_count = 1};
	struct belfry_advance advance = {.is_plan = is_plan, .items = &item, .item_count = 1};
	enum belfry_status status = bf_suite_advance(trial, &advance);

	CHECK(trial, (item.result == BELFRY_OK) == run.is_inserted);
	return status != BELFRY_OK ? status : item.result;
}

static void l11_with_the_switch_off_nothing_is_planned(struct belfry_store_trial *trial)
{
	if (!has_switch(trial)) {
		return;
	}
	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	CHECK(trial, bf_suite_counts(trial).is_on);
	REQUIRE(trial, trial->store->ops->turn_switch(trial->store, false, NULL) == BELFRY_OK);
	CHECK(trial, !bf_suite_counts(trial).is_on);
	CHECK(trial, plan_under_switch(trial, true) == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_row(trial, "a").cursor == bf_suite_due(trial, 0));
	REQUIRE(trial, trial->store->ops->turn_switch(trial->store, true, NULL) == BELFRY_OK);
	CHECK(trial, plan_under_switch(trial, true) == BELFRY_OK);
}

static void the_switch_outlives_a_restart(struct belfry_store_trial *trial)
{
	if (!has_switch(trial)) {
		return;
	}
	REQUIRE(trial, trial->store->ops->turn_switch(trial->store, false, NULL) == BELFRY_OK);
	REQUIRE(trial, bf_suite_reopen(trial));
	CHECK(trial, !bf_suite_counts(trial).is_on);
}

static void turning_off_ends_what_has_not_started(struct belfry_store_trial *trial)
{
	if (!has_switch(trial)) {
		return;
	}
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	belfry_time due = bf_suite_due(trial, 0);
	(void)bf_suite_put(trial, "a", 1, due);
	CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, nobody));
	CHECK(trial,
			bf_suite_plan(trial, "a", bf_suite_due(trial, 1), BELFRY_RUN_DISPATCHING,
					holder));
	struct belfry_id manual = bf_suite_request(trial, "a", 1);
	REQUIRE(trial, trial->store->ops->turn_switch(trial->store, false, NULL) == BELFRY_OK);
	struct belfry_run ended = bf_suite_run(trial, bf_suite_run_id("a", due));
	CHECK(trial, ended.state == BELFRY_RUN_CANCELLED);
	CHECK(trial, ended.error == BELFRY_RUN_ERROR_SCHEDULE_DISABLED);
	CHECK(trial,
			bf_suite_run(trial, bf_suite_run_id("a", bf_suite_due(trial, 1))).state ==
					BELFRY_RUN_DISPATCHING);
	CHECK(trial, bf_suite_run(trial, manual).state == BELFRY_RUN_QUEUED);
}

const struct belfry_store_case bf_suite_schedules[] = {
		{"a_put_is_read_as_it_was_written", a_put_is_read_as_it_was_written},
		{"a_put_that_answered_outlives_a_restart", a_put_that_answered_outlives_a_restart},
		{"every_step_changes_the_version", every_step_changes_the_version},
		{"the_longest_definition_is_kept_whole", the_longest_definition_is_kept_whole},
		{"t071_a_refused_edit_changes_nothing", t071_a_refused_edit_changes_nothing},
		{"an_idle_schedule_says_since_when", an_idle_schedule_says_since_when},
		{"l23_without_a_cursor_nothing_is_due", l23_without_a_cursor_nothing_is_due},
		{"t064_a_removed_schedule_leaves_a_tombstone",
				t064_a_removed_schedule_leaves_a_tombstone},
		{"t078_runs_stay_when_their_schedule_goes",
				t078_runs_stay_when_their_schedule_goes},
		{"t079_a_tombstone_yields_to_a_higher_revision_alone",
				a_tombstone_yields_to_a_higher_revision_alone},
		{"a_put_is_taken_back_under_its_own_revision",
				a_put_is_taken_back_under_its_own_revision},
		{"t087_one_that_never_was_can_be_removed", t087_one_that_never_was_can_be_removed},
		{"l09_one_refused_item_stops_no_other", one_refused_item_stops_no_other},
		{"t067_one_above_the_ceiling_is_refused", t067_one_above_the_ceiling_is_refused},
		{"t068_an_edit_at_the_ceiling_is_accepted",
				t068_an_edit_at_the_ceiling_is_accepted},
		{"t069_a_disabled_one_needs_no_place", t069_a_disabled_one_needs_no_place},
		{"t067_the_ceiling_holds_within_one_call", t067_the_ceiling_holds_within_one_call},
		{"l11_with_the_switch_off_nothing_is_planned",
				l11_with_the_switch_off_nothing_is_planned},
		{"the_switch_outlives_a_restart", the_switch_outlives_a_restart},
		{"turning_off_ends_what_has_not_started", turning_off_ends_what_has_not_started},
		{NULL, NULL},
};
