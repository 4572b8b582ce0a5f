/* Reading: order, filters, pages, and that nothing of another deployment appears. */
#include "conformance/store_priv.h"

static const struct belfry_id nobody = {{0}};

static void l14_due_rows_come_oldest_first(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_DUE, .limit = 2};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 2));
	(void)bf_suite_put(trial, "b", 1, bf_suite_due(trial, 0));
	(void)bf_suite_put(trial, "c", 1, bf_suite_due(trial, 1));
	(void)bf_suite_put(trial, "d", 1, trial->start + BELFRY_HOUR);
	(void)bf_suite_put(trial, "e", 1, BELFRY_TIME_NEVER);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2 && list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "b") && bf_suite_is(list.rows[1].id, "c"));
	CHECK(trial, list.next_due == trial->start + BELFRY_HOUR);
	list.limit = 9;
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 3 && !list.has_more);
	list.from = bf_suite_due(trial, 1); /* only those that are due since then */
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2 && !list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "c") && bf_suite_is(list.rows[1].id, "a"));
	CHECK(trial, list.next_due == trial->start + BELFRY_HOUR);
}

static void schedules_are_read_page_by_page(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_SCHEDULES, .limit = 2};

	(void)bf_suite_put(trial, "b", 1, BELFRY_TIME_NEVER);
	(void)bf_suite_put(trial, "ab", 1, BELFRY_TIME_NEVER);
	(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2 && list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "a") && bf_suite_is(list.rows[1].id, "ab"));
	list.after_text = list.rows[1].id;
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1 && !list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "b"));
}

static void revisions_are_read_without_what_they_say(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_REVISIONS, .limit = 2};

	(void)bf_suite_put(trial, "b", 3, BELFRY_TIME_NEVER);
	(void)bf_suite_put(trial, "ab", 2, bf_suite_due(trial, 0));
	struct belfry_advance_item removal = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER),
			.flags = BELFRY_ADVANCE_F_REMOVE,
			.remove_revision = 7,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start};
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &removal) == BELFRY_OK);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2 && list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "a") && list.rows[0].is_removed);
	CHECK(trial, list.rows[0].revision == 7);
	CHECK(trial, bf_suite_is(list.rows[1].id, "ab") && !list.rows[1].is_removed);
	CHECK(trial, list.rows[1].revision == 2 && list.rows[1].definition.len == 0);
	list.after_text = list.rows[1].id;
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1 && !list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "b") && list.rows[0].revision == 3);
}

static void named_schedules_are_those_alone(struct belfry_store_trial *trial)
{
	struct belfry_str ids[3] = {bf_suite_str("a"), bf_suite_str("b"), bf_suite_str("x")};
	struct belfry_list list = {.kind = BELFRY_LIST_SCHEDULES, .ids = ids, .id_count = 3};

	(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	(void)bf_suite_put(trial, "ab", 1, BELFRY_TIME_NEVER);
	(void)bf_suite_put(trial, "b", 1, BELFRY_TIME_NEVER);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2);
	CHECK(trial, bf_suite_is(list.rows[0].id, "a") && bf_suite_is(list.rows[1].id, "b"));
}

/* Three scheduled Runs, one manual and one backfill of "a"; one scheduled Run of "ab". */
static void make_history(struct belfry_store_trial *trial)
{
	struct belfry_add backfill = {.schedule = bf_suite_str("a"),
			.id = bf_suite_run_id("a", bf_suite_due(trial, 3)),
			.trigger = BELFRY_TRIGGER_BACKFILL,
			.due_at = bf_suite_due(trial, 3)};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	(void)bf_suite_put(trial, "ab", 1, bf_suite_due(trial, 0));
	for (int i = 0; i < 3; i++) {
		CHECK(trial,
				bf_suite_plan(trial, "a", bf_suite_due(trial, i), BELFRY_RUN_QUEUED,
						nobody));
	}
	CHECK(trial, bf_suite_plan(trial, "ab", bf_suite_due(trial, 0), BELFRY_RUN_QUEUED, nobody));
	CHECK(trial, bf_suite_add(trial, &backfill) == BELFRY_OK);
	(void)bf_suite_request(trial, "a", 1);
}

static void t058_runs_of_every_trigger_come_newest_first(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS, .schedule = bf_suite_str("a")};

	make_history(trial);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 5 && !list.has_more);
	CHECK(trial, list.history_from == 0);
	CHECK(trial, list.runs[0].trigger == BELFRY_TRIGGER_MANUAL);
	CHECK(trial, list.runs[1].trigger == BELFRY_TRIGGER_BACKFILL);
	for (size_t i = 1; i < list.count; i++) {
		CHECK(trial, memcmp(list.runs[i - 1].id.bytes, list.runs[i].id.bytes, 16) > 0);
	}
	CHECK(trial, list.runs[4].due_at == bf_suite_due(trial, 0));
}

static void t059_no_more_rows_than_the_limit(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS,
			.schedule = bf_suite_str("a"),
			.limit = 1};
	size_t seen = 0;

	make_history(trial);
	for (;;) {
		bf_suite_list(trial, &list);
		REQUIRE(trial, list.count == 1);
		seen++;
		if (!list.has_more || seen > 9) {
			break;
		}
		list.before = list.runs[0].id;
	}
	CHECK(trial, seen == 5);
	list.before = (struct belfry_id){0};
	list.limit = 5;
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 5 && !list.has_more);
}

static void t062_no_run_of_another_deployment_appears(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS, .schedule = bf_suite_str("ab")};

	make_history(trial);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1);
	CHECK(trial, bf_suite_is(list.runs[0].schedule, "ab"));
	list.schedule = bf_suite_str("abc");
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 0 && !list.has_more);
	list.schedule = bf_suite_str("");
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 6);
}

static void t061_runs_of_one_millisecond_have_one_order(struct belfry_store_trial *trial)
{
	struct belfry_list once = {.kind = BELFRY_LIST_RUNS, .schedule = bf_suite_str("a")};
	struct belfry_list again = {.kind = BELFRY_LIST_RUNS, .schedule = bf_suite_str("a")};

	(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	for (unsigned i = 0; i < 20; i++) {
		(void)bf_suite_request(trial, "a", (i * 7) % 20);
	}
	bf_suite_list(trial, &once);
	bf_suite_list(trial, &again);
	REQUIRE(trial, once.count == 20 && again.count == 20);
	for (size_t i = 0; i < once.count; i++) {
		CHECK(trial, bf_suite_same_id(once.runs[i].id, again.runs[i].id));
	}
}

static void runs_are_filtered(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_list list = {.kind = BELFRY_LIST_RUNS,
			.schedule = bf_suite_str("a"),
			.triggers = 1u << BELFRY_TRIGGER_MANUAL | 1u << BELFRY_TRIGGER_BACKFILL};

	make_history(trial);
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 2);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	REQUIRE(trial, claim.run_count == 1);
	list.triggers = 0;
	list.statuses = 1u << BELFRY_STATUS_RUNNING;
	list.schedule = bf_suite_str("");
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1);
	CHECK(trial, bf_suite_same_id(list.runs[0].id, claim.runs[0].run.id));
	list.statuses = 0;
	list.schedule = bf_suite_str("a");
	list.from = bf_suite_due(trial, 2);
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 3);
}

static void runs_by_id_come_in_the_order_asked_for(struct belfry_store_trial *trial)
{
	struct belfry_id ids[3];
	struct belfry_list list = {.kind = BELFRY_LIST_RUN_IDS, .run_ids = ids, .run_id_count = 3};

	make_history(trial);
	ids[0] = bf_suite_run_id("a", bf_suite_due(trial, 2));
	ids[1] = bf_suite_request_id(trial, 999);
	ids[2] = bf_suite_run_id("a", bf_suite_due(trial, 0));
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2);
	CHECK(trial, bf_suite_same_id(list.runs[0].id, ids[0]));
	CHECK(trial, bf_suite_same_id(list.runs[1].id, ids[2]));
}

static void t063_payload_bytes_come_back_unchanged(struct belfry_store_trial *trial)
{
	static const char text[] = "{\"a\": \"\\\"'; \xc3\xa9 \xf0\x9f\x94\x94\"}";
	char bytes[700];

	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = (char)(unsigned char)(i % 256);
	}
	memcpy(bytes, text, sizeof(text) - 1);
	struct belfry_schedule_put put = {.revision = 1, .payload = {bytes, sizeof(bytes)}};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.put = &put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = trial->start};
	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	struct belfry_str got = bf_suite_payload(trial, bf_suite_request(trial, "a", 1));
	REQUIRE(trial, got.len == sizeof(bytes));
	CHECK(trial, memcmp(got.ptr, bytes, sizeof(bytes)) == 0);
	CHECK(trial, bf_suite_row(trial, "a").payload_bytes == sizeof(bytes));
}

static void invocations_skip_what_is_not_there(struct belfry_store_trial *trial)
{
	struct belfry_id ids[2] = {bf_suite_request_id(trial, 99)};
	struct belfry_list list = {.kind = BELFRY_LIST_INVOCATIONS,
			.run_ids = ids,
			.run_id_count = 2};

	(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	ids[1] = bf_suite_request(trial, "a", 1);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1);
	CHECK(trial, bf_suite_same_id(list.invocations[0].run, ids[1]));
	CHECK(trial, bf_suite_is(list.invocations[0].payload, "payload 1"));
}

static void gaps_touch_the_stretch_asked_for(struct belfry_store_trial *trial)
{
	belfry_time due = bf_suite_due(trial, 0);
	struct belfry_gap gaps[3] = {{.from = due, .to = due + 10, .count = 1},
			{.from = due + 20, .to = due + 30, .count = 2},
			{.from = due + 40, .to = due + 50, .count = 3}};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = bf_suite_put(trial, "a", 1, due),
			.cursor = due + BELFRY_HOUR,
			.gaps = gaps,
			.gap_count = 3};
	struct belfry_list list = {.kind = BELFRY_LIST_GAPS,
			.schedule = bf_suite_str("a"),
			.from = due + 10,
			.to = due + 20};

	REQUIRE(trial, bf_suite_advance_item(trial, nobody, &item) == BELFRY_OK);
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 2); /* both ends count */
	CHECK(trial, list.gaps[0].count == 1 && list.gaps[1].count == 2);
	list.from = due + 31;
	list.to = 0;
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 1 && list.gaps[0].count == 3);
	list.from = 0;
	list.limit = 2;
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 2 && list.has_more);
	list.schedule = bf_suite_str("ab");
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 0);
}

static void b13_open_runs_are_counted(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);

	struct belfry_counts empty = bf_suite_counts(trial);
	CHECK(trial, empty.oldest_queued == 0 && empty.schedules == 0);
	make_history(trial);
	struct belfry_counts counts = bf_suite_counts(trial);
	CHECK(trial, counts.by_state[BELFRY_RUN_QUEUED] == 6);
	CHECK(trial, counts.oldest_queued == bf_suite_due(trial, 0));
	CHECK(trial, counts.schedules == 2 && counts.active_schedules == 2);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 3);
	REQUIRE(trial, claim.run_count == 3);
	CHECK(trial,
			bf_suite_finish_run(trial, &claim.runs[0].run, BELFRY_STATUS_RUNNING) ==
					BELFRY_OK);
	struct belfry_record retry = bf_suite_record_of(&claim.runs[1].run, BELFRY_RECORD_RETRY);
	retry.ready_at = trial->start + BELFRY_HOUR;
	CHECK(trial, bf_suite_record(trial, &retry) == BELFRY_OK);
	counts = bf_suite_counts(trial);
	CHECK(trial, counts.by_state[BELFRY_RUN_QUEUED] == 3);
	CHECK(trial, counts.by_state[BELFRY_RUN_DELAYED] == 1);
	CHECK(trial, counts.by_state[BELFRY_RUN_DISPATCHING] == 1);
	CHECK(trial, counts.by_state[BELFRY_RUN_DISPATCHED] == 0);
}

/* A schedule whose cursor was computed with `version`. */
static void put_of_tz(struct belfry_store_trial *trial, const char *schedule, const char *version,
		belfry_time cursor)
{
	struct belfry_advance_item item = {.schedule = bf_suite_str(schedule),
			.expect_version = bf_suite_put(trial, schedule, 1, bf_suite_due(trial, 0)),
			.cursor = cursor,
			.decided_at = trial->start,
			.tz_version = bf_suite_str(version)};

	CHECK(trial, bf_suite_advance_item(trial, (struct belfry_id){{0}}, &item) == BELFRY_OK);
}

static bool lists_version(const struct belfry_list *list, const char *version)
{
	size_t times = 0;

	for (size_t i = 0; i < list->count; i++) {
		times += bf_suite_is(list->rows[i].tz_version, version) ? 1 : 0;
	}
	return times == 1;
}

static void each_tz_version_that_a_cursor_has_is_listed_once(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_TZ_VERSIONS};
	belfry_time cursor = bf_suite_due(trial, 1);

	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 0);
	put_of_tz(trial, "a", "2025c", cursor);
	put_of_tz(trial, "b", "2026b", cursor);
	put_of_tz(trial, "c", "2025c", cursor);
	put_of_tz(trial, "d", "2024a", BELFRY_TIME_NEVER); /* no cursor: no version */
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 2 && !list.has_more);
	CHECK(trial, lists_version(&list, "2025c") && lists_version(&list, "2026b"));
	put_of_tz(trial, "e", "2027a", cursor);
	list.limit = 2;
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 2 && list.has_more);
}

static void schedules_are_listed_by_the_tz_version_of_their_cursor(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_SCHEDULES,
			.tz_version = bf_suite_str("2025c"),
			.limit = 2};
	const char *ids[] = {"e", "a", "c", "d", "b"};
	const char *versions[] = {"2025c", "2025c", "2026b", "2025c", "2025c"};

	for (int i = 0; i < 5; i++) {
		put_of_tz(trial, ids[i], versions[i], bf_suite_due(trial, 1));
	}
	put_of_tz(trial, "f", "2025c", BELFRY_TIME_NEVER);
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 2 && list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "a") && bf_suite_is(list.rows[1].id, "b"));
	CHECK(trial, bf_suite_is(list.rows[0].definition, "definition 1"));
	list.after_text = bf_suite_str("b");
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 2 && !list.has_more);
	CHECK(trial, bf_suite_is(list.rows[0].id, "d") && bf_suite_is(list.rows[1].id, "e"));
	list.after_text = bf_suite_str("");
	list.tz_version = bf_suite_str("1999a"); /* nobody has heard of it */
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 0 && !list.has_more);
}

const struct belfry_store_case bf_suite_lists[] = {
		{"l14_due_rows_come_oldest_first", l14_due_rows_come_oldest_first},
		{"schedules_are_read_page_by_page", schedules_are_read_page_by_page},
		{"revisions_are_read_without_what_they_say",
				revisions_are_read_without_what_they_say},
		{"named_schedules_are_those_alone", named_schedules_are_those_alone},
		{"t058_runs_of_every_trigger_come_newest_first",
				t058_runs_of_every_trigger_come_newest_first},
		{"t059_no_more_rows_than_the_limit", t059_no_more_rows_than_the_limit},
		{"t061_runs_of_one_millisecond_have_one_order",
				t061_runs_of_one_millisecond_have_one_order},
		{"t062_no_run_of_another_deployment_appears",
				t062_no_run_of_another_deployment_appears},
		{"runs_are_filtered", runs_are_filtered},
		{"runs_by_id_come_in_the_order_asked_for", runs_by_id_come_in_the_order_asked_for},
		{"t063_payload_bytes_come_back_unchanged", t063_payload_bytes_come_back_unchanged},
		{"invocations_skip_what_is_not_there", invocations_skip_what_is_not_there},
		{"gaps_touch_the_stretch_asked_for", gaps_touch_the_stretch_asked_for},
		{"b13_open_runs_are_counted", b13_open_runs_are_counted},
		{"each_tz_version_that_a_cursor_has_is_listed_once",
				each_tz_version_that_a_cursor_has_is_listed_once},
		{"schedules_are_listed_by_the_tz_version_of_their_cursor",
				schedules_are_listed_by_the_tz_version_of_their_cursor},
		{NULL, NULL},
};
