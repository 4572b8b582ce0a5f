/* What rules ask of the engine through the seam, on the memory store and on SQLite: refusals, max_fires, spread,
 * and a tz database that changes while the host runs. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"
#include "host.h"
#include "tz_folder.h"

static int set_up_memory(void **state)
{
	struct shelf *shelf = bf_alloc(sizeof(*shelf));

	shelf_init(shelf, false);
	*state = shelf;
	return 0;
}

static int set_up_sqlite(void **state)
{
	struct shelf *shelf = bf_alloc(sizeof(*shelf));

	shelf_init(shelf, true);
	*state = shelf;
	return 0;
}

static int tear_down(void **state)
{
	shelf_fini(*state);
	bf_free(*state);
	return 0;
}

static struct belfry_schedule_state state_of(struct host *host, struct belfry_arena *arena)
{
	struct belfry_str id = BF_STR("a");
	struct belfry_schedule_state *states = NULL;

	assert_int_equal(belfry_scheduler_state(host->scheduler, &id, 1, arena, &states, NULL),
			BELFRY_OK);
	return states[0];
}

static bool is_exhausted(struct host *host, const void *unused)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;

	(void)unused;
	return state_of(host, &arena).phase == BELFRY_PHASE_EXHAUSTED;
}

static bool has_fired(struct host *host, const void *count)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;

	return state_of(host, &arena).fired_count >= *(const int64_t *)count;
}

static struct belfry_run_query list_runs(struct host *host, struct belfry_arena *arena)
{
	struct belfry_run_query runs = {.size = sizeof(runs),
			.schedule = BF_STR("a"),
			.limit = 100};

	assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &runs, arena, NULL),
			BELFRY_OK);
	return runs;
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void t003_t015_a_rule_that_cannot_be_is_refused_and_nothing_changes(void **state)
{
	static const char *const rules[] = {"* * * *", "0 0 9 * * *", "0 0 30 2 *",
			"{\"cron\":\"0 0 30 2 *\"}", "{\"cron\":\"0 9 * * *\",\"max_fires\":0}",
			"{\"any\":[{\"cron\":\"0 9 * * *\",\"spread\":\"PT1M\"}]}",
			/* six fields, within a union and within its exceptions */
			"{\"any\":[{\"every\":\"1h\"},{\"any\":[{\"cron\":\"0 0 9 * * *\"}]}]}",
			"{\"every\":\"1h\",\"except\":[{\"cron\":\"0 0 9 * * *\"}]}",
			/* what can never be: a part of it, or what exceptions leave */
			"{\"any\":[{\"every\":\"1h\"},{\"any\":[{\"cron\":\"0 0 30 2 *\"}]}]}",
			"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* 9 * * *\"}]}",
			"{\"every\":\"1h\",\"except\":[{\"cron\":\"* * * * *\"}]}",
			"{\"at\":[\"2030-01-05T09:00:00Z\"],\"except\":[\"2030-01-05\"]}",
			"{\"any\":[{\"every\":\"1h\",\"max_fires\":2}]}"};
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule good = schedule_of("a", 1, "0 9 * * *");

	assert_int_equal(host_apply(host, &good), BELFRY_OK);
	belfry_time next = state_of(host, &arena).next_due;
	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		struct belfry_schedule bad = schedule_of("a", 2, rules[i]);
		bad.flags |= BELFRY_SCHEDULE_F_FIVE_FIELDS;
		assert_int_equal(host_apply(host, &bad), BELFRY_INVALID_SCHEDULE);
		assert_true(state_of(host, &arena).next_due == next);
		assert_int_equal(state_of(host, &arena).revision, 1);
	}
	host_free(host, 0);
}

/* ---- due times --------------------------------------------------------------------------------- */

/* Monday to Friday at nine in Shanghai for a week, said in each kind of rule. */
static void t001_due_times_of_a_week_are_the_same_in_every_kind_of_rule(void **state)
{
	static const char *const rules[] = {"0 9 * * 1-5",
			"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* * * * 0,6\"}]}",
			"{\"every\":\"PT24H\",\"anchor\":\"2036-01-07T01:00:00Z\","
			"\"except\":[{\"cron\":\"* * * * 0,6\"}]}",
			"{\"any\":[{\"any\":[{\"cron\":\"0 9 * * 1-3\"},{\"cron\":\"0 9 * * 3-4\"}]},"
			"{\"any\":[{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* * * * 0-4,6\"}]}]}]}"};
	struct host *host = host_new(*state);
	belfry_time monday = INT64_C(2083280400000000); /* 2036-01-07T01:00:00Z */
	belfry_time due[6];
	size_t count = 0;

	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		struct belfry_schedule s = schedule_of("a", (int64_t)i + 1, rules[i]);
		s.zone = BF_STR("Asia/Shanghai");
		assert_int_equal(host_apply(host, &s), BELFRY_OK);
		assert_int_equal(belfry_scheduler_due(host->scheduler, BF_STR("a"), monday - 1, due,
						 6, &count, NULL),
				BELFRY_OK);
		assert_int_equal(count, 6);
		for (size_t k = 0; k < 6; k++) {
			belfry_duration days = k < 5 ? (belfry_duration)k : 7;
			assert_true(due[k] == monday + days * BELFRY_DAY);
		}
	}
	host_free(host, 0);
}

/* ---- max_fires --------------------------------------------------------------------------------- */

#define THREE_TIMES "{\"cron\":\"* * * * * *\",\"max_fires\":3}"

static void check_due(struct host *host, size_t expected)
{
	belfry_time due[10];
	size_t count = 0;

	assert_int_equal(belfry_scheduler_due(host->scheduler, BF_STR("a"), now_wall(), due, 10,
					 &count, NULL),
			BELFRY_OK);
	assert_int_equal(count, expected);
}

/* The same over the whole way: a nested union with exceptions, and an interval. */
static void l07_l08_b11_limits_and_spread_hold_for_other_kinds_of_rules(void **state)
{
	static const char *const rules[] = {
			"{\"every\":\"PT1S\",\"except\":[\"2001-01-01\"],\"max_fires\":3,"
			"\"spread\":\"PT1S\"}",
			"{\"any\":[{\"any\":[{\"cron\":\"*/2 * * * * *\"}]},{\"cron\":\"* * * * * *\"}],"
			"\"except\":[{\"calendar\":\"c\",\"except\":[\"2001-01-01\"]}],\"max_fires\":6,"
			"\"spread\":\"PT1S\"}"};
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	int64_t fired = 0;

	host_start(host);
	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		struct belfry_schedule s = schedule_of("a", (int64_t)i + 1, rules[i]);
		assert_int_equal(host_apply(host, &s), BELFRY_OK);
		wait_until(host, is_exhausted, NULL, "it has fired as often as it may");
		wait_until(host, all_are_over, NULL, "its Runs are over");
		fired += 3; /* the second rule's limit counts what the first one fired */
		assert_int_equal(state_of(host, &arena).fired_count, fired);
		assert_true(state_of(host, &arena).next_due == BELFRY_TIME_NEVER);
		struct belfry_run_query runs = list_runs(host, &arena);
		assert_int_equal(runs.count, (size_t)fired);
		for (size_t k = 0; k < runs.count; k++) {
			const struct belfry_run *run = &runs.runs[k];
			assert_true(run->ready_at ==
					run->due_at + bf_id_spread(run->id, BELFRY_SECOND));
			assert_true(run->started_at >= run->ready_at);
		}
	}
	host_free(host, 0);
}

static void l07_l08_a_rule_fires_as_often_as_it_may_and_ends_with_the_last(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, THREE_TIMES);
	struct belfry_schedule more = schedule_of("a", 2,
			"{\"cron\":\"* * * * * *\",\"max_fires\":4}");
	struct belfry_schedule other = schedule_of("a", 3,
			"{\"cron\":\"0 9 * * *\",\"max_fires\":4}");

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	check_due(host, 3); /* what is left */
	host_start(host);
	wait_until(host, is_exhausted, NULL, "three have fired");
	struct belfry_schedule_state after = state_of(host, &arena);
	assert_int_equal(after.fired_count, 3);
	assert_true(after.next_due == BELFRY_TIME_NEVER);
	assert_int_equal(list_runs(host, &arena).count, 3);
	check_due(host, 0);
	/* A due time that the rule would name was none any more. */
	struct belfry_why why = {.size = sizeof(why),
			.schedule = BF_STR("a"),
			.at = after.last_fire_at + BELFRY_MINUTE};
	assert_int_equal(belfry_scheduler_why(host->scheduler, &why, &arena, NULL), BELFRY_OK);
	assert_int_equal(why.kind, BELFRY_WHY_NOT_DUE);
	assert_true(bf_str_equal(why.because, BF_STR("it has fired as often as max_fires allows")));
	assert_true(why.nearest_after == BELFRY_TIME_NEVER);
	/* Of a time before its end the next one is told, though nothing comes after that. */
	why.at = after.last_fire_at - BELFRY_MILLISECOND;
	assert_int_equal(belfry_scheduler_why(host->scheduler, &why, &arena, NULL), BELFRY_OK);
	assert_int_equal(why.kind, BELFRY_WHY_NOT_DUE);
	assert_true(why.nearest_after == after.last_fire_at);
	why.at = after.last_fire_at + BELFRY_MILLISECOND;
	assert_int_equal(belfry_scheduler_why(host->scheduler, &why, &arena, NULL), BELFRY_OK);
	assert_true(why.nearest_before == after.last_fire_at);
	assert_true(why.nearest_after == BELFRY_TIME_NEVER);
	/* A higher limit opens it again, and counts what has fired. */
	assert_int_equal(host_apply(host, &more), BELFRY_OK);
	int64_t four = 4;
	wait_until(host, has_fired, &four, "the fourth has fired");
	wait_until(host, is_exhausted, NULL, "and was the last");
	assert_int_equal(list_runs(host, &arena).count, 4);
	assert_int_equal(host_apply(host, &other), BELFRY_OK);
	assert_int_equal(state_of(host, &arena).phase, BELFRY_PHASE_EXHAUSTED);
	host_free(host, 0);
}

static void why_says_of_an_earlier_time_that_the_revision_came_later(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "* * * * *");

	s.created_at = now_wall() -
			BELFRY_HOUR; /* the record is older than what the engine knows */
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	belfry_time now = now_wall();
	struct belfry_why why = {.size = sizeof(why),
			.schedule = BF_STR("a"),
			.at = now - now % BELFRY_MINUTE - 5 * BELFRY_MINUTE};
	assert_int_equal(belfry_scheduler_why(host->scheduler, &why, &arena, NULL), BELFRY_OK);
	assert_int_equal(why.kind, BELFRY_WHY_NOT_DUE);
	assert_true(bf_str_equal(why.because, BF_STR("it came into force later")));
	/* The nearest before is none that lies before the record. */
	assert_true(why.nearest_before == why.at - BELFRY_MINUTE);
	why.at = s.created_at + 1;
	assert_int_equal(belfry_scheduler_why(host->scheduler, &why, &arena, NULL), BELFRY_OK);
	assert_true(why.nearest_before == 0 && why.nearest_after > s.created_at);
	host_free(host, 0);
}

/* ---- spread ------------------------------------------------------------------------------------ */

static void check_spread(const struct belfry_run *run, belfry_duration window)
{
	assert_true(run->ready_at == run->due_at + bf_id_spread(run->id, window));
}

static void b11_a_spread_run_waits_for_its_ready_time_over_a_crash_and_a_disable(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1,
			"{\"cron\":\"* * * * * *\",\"spread\":\"PT24H\",\"max_fires\":3}");
	struct belfry_schedule off = schedule_of("a", 2, "* * * * * *");

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	wait_until(host, is_exhausted, NULL, "three are made");
	struct belfry_run_query before = list_runs(host, &arena);
	host_crash(host);
	shelf_reopen(*state);
	host = host_new(*state);
	host_start(host);
	wait_until(host, covers, NULL, "the next process works");
	struct belfry_run_query after = list_runs(host, &arena);
	assert_int_equal(after.count, 3);
	for (size_t i = 0; i < 3; i++) {
		check_spread(&after.runs[i], BELFRY_DAY);
		assert_true(after.runs[i].ready_at == before.runs[i].ready_at);
		assert_true(after.runs[i].state == BELFRY_RUN_QUEUED ||
				after.runs[i].ready_at <= now_wall());
	}
	off.flags &= ~BELFRY_SCHEDULE_F_ENABLED;
	assert_int_equal(host_apply(host, &off), BELFRY_OK);
	after = list_runs(host, &arena);
	for (size_t i = 0; i < 3; i++) {
		assert_true(after.runs[i].state == BELFRY_RUN_CANCELLED ||
				after.runs[i].ready_at <= now_wall());
	}
	host_free(host, 0);
}

static void b11_a_spread_run_starts_when_it_is_ready_and_not_before(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1,
			"{\"cron\":\"* * * * * *\",\"spread\":\"PT2S\",\"max_fires\":4}");

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	wait_until(host, is_exhausted, NULL, "four are made");
	wait_until(host, all_are_over, NULL, "four are over");
	struct belfry_run_query runs = list_runs(host, &arena);
	assert_int_equal(runs.count, 4);
	for (size_t i = 0; i < runs.count; i++) {
		check_spread(&runs.runs[i], 2 * BELFRY_SECOND);
		assert_int_equal(runs.runs[i].state, BELFRY_RUN_DISPATCHED);
		assert_true(runs.runs[i].started_at >= runs.runs[i].ready_at);
	}
	host_free(host, 0);
}

/* ---- a tz database that changes ---------------------------------------------------------------- */

static bool is_due_at(struct host *host, const void *hour)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	belfry_time next = state_of(host, &arena).next_due;

	return next % BELFRY_DAY == *(const belfry_duration *)hour;
}

static bool has_new_run(struct host *host, const void *unused)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_run_query runs = {.size = sizeof(runs), .schedule = BF_STR("b"), .limit = 1};

	(void)unused;
	assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &runs, &arena, NULL),
			BELFRY_OK);
	return runs.count > 0 && bf_str_equal(runs.runs[0].tz_version, BF_STR("2026b"));
}

static void a_newer_tz_database_moves_due_times_while_the_host_runs(void **state)
{
	struct belfry_provider_options options = host_options();
	struct belfry_schedule daily = schedule_of("a", 1, "0 12 * * *");
	struct belfry_schedule busy = schedule_of("b", 1, "* * * * * *");
	belfry_duration eleven = 11 * BELFRY_HOUR;
	belfry_duration ten = 10 * BELFRY_HOUR;
	struct tz_folder folder;

	tz_folder_init(&folder);
	tz_folder_put(&folder, "Etc/GMT-1", "2026a");
	options.tz_directory = folder.path;
	options.zones_check = 10 * BELFRY_MILLISECOND;
	struct host *host = host_new_with(*state, &options);
	daily.zone = busy.zone = BF_STR("Test/Zone");
	assert_int_equal(host_apply(host, &daily), BELFRY_OK);
	assert_int_equal(host_apply(host, &busy), BELFRY_OK);
	host_start(host);
	assert_true(is_due_at(host, &eleven));
	tz_folder_put(&folder, "Etc/GMT-2", "2026b");
	wait_until(host, is_due_at, &ten, "the due time has moved");
	wait_until(host, has_new_run, NULL, "a Run carries the new version");
	host_free(host, 0);
	tz_folder_fini(&folder);
}

#define BOTH(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                           \
			cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)

int run_rules_tests(void)
{
	const struct CMUnitTest tests[] = {
			BOTH(t003_t015_a_rule_that_cannot_be_is_refused_and_nothing_changes),
			BOTH(l07_l08_a_rule_fires_as_often_as_it_may_and_ends_with_the_last),
			BOTH(t001_due_times_of_a_week_are_the_same_in_every_kind_of_rule),
			BOTH(l07_l08_b11_limits_and_spread_hold_for_other_kinds_of_rules),
			BOTH(why_says_of_an_earlier_time_that_the_revision_came_later),
			BOTH(b11_a_spread_run_waits_for_its_ready_time_over_a_crash_and_a_disable),
			BOTH(b11_a_spread_run_starts_when_it_is_ready_and_not_before),
			BOTH(a_newer_tz_database_moves_due_times_while_the_host_runs),
	};
	return cmocka_run_group_tests_name("rules", tests, NULL, NULL);
}
