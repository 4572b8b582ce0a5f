/* Runs through the seam, on the memory store and on SQLite: dispatch, retries, recovery, disable, Run
 * now and replay. */
#include "cases.h"

#include <stdlib.h>
#include <string.h>

#include "host.h"

static int set_up_with(void **state, bool is_sqlite)
{
	struct shelf *shelf = bf_alloc(sizeof(*shelf));

	shelf_init(shelf, is_sqlite);
	*state = shelf;
	return 0;
}

static int set_up_memory(void **state)
{
	return set_up_with(state, false);
}

static int set_up_sqlite(void **state)
{
	return set_up_with(state, true);
}

static int tear_down(void **state)
{
	shelf_fini(*state);
	bf_free(*state);
	return 0;
}

/* A started host with one deployment "a" that is not due for months. */
static struct host *quiet_host(struct shelf *shelf, enum behaviour behaviour)
{
	struct host *host = host_new(shelf);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");

	host_behave(host, behaviour);
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	return host;
}

static struct belfry_run run_to_its_end(struct host *host, struct belfry_id run,
		struct belfry_arena *arena)
{
	wait_until(host, run_is_over, &run, "the Run ends");
	return host_run(host, run, arena);
}

static void t024_t035_a_run_goes_from_session_to_turn_and_leaves(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, ANSWER_THREAD);
	struct belfry_id id = host_run_now(host, "a");
	struct belfry_run run = run_to_its_end(host, id, &arena);
	struct call turn;
	char text[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(id, text);
	assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run.status, BELFRY_STATUS_RUNNING);
	assert_true(bf_str_equal(run.session, bf_str(text)));
	assert_true(bf_str_equal(run.turn, BF_STR("turn")));
	assert_int_equal(run.due_at, 0); /* T057 */
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_SESSION, NULL), 1);
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_TURN, &turn), 1);
	assert_string_equal(turn.session, text);
	assert_string_equal(turn.payload, "payload");
	/* conclude: the first terminal status stays. */
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};
	assert_int_equal(belfry_scheduler_conclude(host->scheduler, id, &outcome, NULL), BELFRY_OK);
	outcome.status = BELFRY_STATUS_FAILED;
	outcome.error = BELFRY_RUN_ERROR_PERMANENT;
	assert_int_equal(belfry_scheduler_conclude(host->scheduler, id, &outcome, NULL),
			BELFRY_CONFLICT);
	outcome.status = BELFRY_STATUS_RUNNING;
	assert_int_equal(belfry_scheduler_conclude(host->scheduler, id, &outcome, NULL),
			BELFRY_INVALID);
	host_free(host, 0);
}

static void t027_t028_permanent_answers_fail_the_run(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, REFUSE_SESSION);
	struct belfry_id id = host_run_now(host, "a");
	struct belfry_run run = run_to_its_end(host, id, &arena);

	assert_int_equal(run.state, BELFRY_RUN_FAILED);
	assert_int_equal(run.status, BELFRY_STATUS_FAILED);
	assert_int_equal(run.session.len, 0);
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_TURN, NULL), 0);
	host_behave(host, REFUSE_TURN);
	id = host_run_now(host, "a");
	run = run_to_its_end(host, id, &arena);
	assert_int_equal(run.state, BELFRY_RUN_FAILED);
	assert_true(run.session.len > 0);
	assert_true(bf_str_equal(run.message, BF_STR("never")));
	host_free(host, 0);
}

static void t029_retries_end_in_success_with_growing_waits(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, RETRY_SESSION);
	struct belfry_attempt *attempts = NULL;
	size_t count = 0;

	host->retries = 3;
	struct belfry_id id = host_run_now(host, "a");
	struct belfry_run run = run_to_its_end(host, id, &arena);
	assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_SESSION, NULL), 4);
	assert_int_equal(belfry_scheduler_attempts(host->scheduler, id, &arena, &attempts, &count,
					 NULL),
			BELFRY_OK);
	assert_in_range(count, 3, 6);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(attempts[i].number, i + 1);
		assert_int_equal(attempts[i].error, BELFRY_RUN_ERROR_TARGET_UNREACHABLE);
	}
	host_free(host, 0);
}

static void t030_for_ever_failing_it_fails_once(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, RETRY_TURN);
	struct belfry_attempt *attempts = NULL;
	size_t count = 0;

	host->retries = UINT32_MAX;
	struct belfry_id id = host_run_now(host, "a");
	struct belfry_run run = run_to_its_end(host, id, &arena);
	assert_int_equal(run.state, BELFRY_RUN_FAILED);
	assert_int_equal(run.error, BELFRY_RUN_ERROR_RETRIES_SPENT);
	assert_int_equal(belfry_scheduler_attempts(host->scheduler, id, &arena, &attempts, &count,
					 NULL),
			BELFRY_OK);
	assert_in_range(count, 5, 6);
	assert_int_equal(attempts[count - 1].error, BELFRY_RUN_ERROR_TARGET_UNREACHABLE);
	assert_true(attempts[count - 1].message.len > 0);
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_SESSION, NULL), 1);
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_TURN, NULL), 5);
	host_free(host, 0);
}

static void t031_b10_others_go_on_while_one_hangs(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, HOLD_SESSION);
	struct belfry_schedule s = schedule_of("t", 1, "0 0 1 1 *");

	s.policies.timeout = 300 * BELFRY_MILLISECOND;
	s.policies.max_attempts = 2;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	struct belfry_id hanging = host_run_now(host, "t");
	struct belfry_id held = host_run_now(host, "a");
	wait_until(host, run_is_held, &hanging, "it hangs");
	wait_until(host, run_is_held, &held, "it hangs");
	host_behave(host, ANSWER);
	struct belfry_id other = host_run_now(host, "a");
	assert_int_equal(run_to_its_end(host, other, &arena).state, BELFRY_RUN_DISPATCHED);
	/* Its time limit ends the attempt; the second one succeeds. */
	struct belfry_run run = run_to_its_end(host, hanging, &arena);
	assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run.attempt, 2);
	assert_true(host->cancel_count >= 1);
	assert_int_equal(host_run(host, held, &arena).state, BELFRY_RUN_DISPATCHING);
	host_free(host, 0);
}

static void t032_a_call_longer_than_the_lease_stays_ours(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, HOLD_SESSION);
	struct belfry_id id = host_run_now(host, "a");

	wait_until(host, run_is_held, &id, "the call is open");
	struct belfry_fence_at {
		belfry_fence fence;
	} at = {host_run(host, id, &arena).fence};
	belfry_time before = now_wall();
	while (now_wall() < before + host->options.lease + BELFRY_SECOND) {
		(void)all_are_over(host, NULL);
		belfry_arena_reset(&arena);
		struct belfry_run run = host_run(host, id, &arena);
		assert_int_equal(run.state, BELFRY_RUN_DISPATCHING);
	}
	struct belfry_run run = host_run(host, id, &arena);
	if (run.fence != at.fence) {
		print_message("the machine stood still for a lease: nothing to see here\n");
	} else {
		struct belfry_reply *reply = host->held[0];
		host->held_count = 0;
		assert_int_equal(belfry_reply_session(&reply, BF_STR("late")), BELFRY_OK);
		host_behave(host, ANSWER);
		run = run_to_its_end(host, id, &arena);
		assert_true(bf_str_equal(run.session, BF_STR("late")));
	}
	host_free(host, 0);
}

/* Crash with an open call of the step; the next start goes on from what is stored. */
static void crash_and_resume(struct shelf *shelf, enum behaviour behaviour, size_t sessions,
		size_t turns)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(shelf, behaviour);
	struct belfry_id id = host_run_now(host, "a");

	wait_until(host, run_is_held, &id, "the call is open");
	belfry_fence first = host_run(host, id, &arena).fence;
	host_crash(host);
	shelf_reopen(shelf);
	host = host_new(shelf);
	host_start(host);
	struct belfry_run run = run_to_its_end(host, id, &arena);
	struct call call;
	assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_SESSION, NULL), sessions);
	assert_int_equal(host_calls_of(host, id, BELFRY_STEP_TURN, &call), turns);
	assert_true(call.fence > first);
	assert_string_equal(call.payload, "payload");
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};
	assert_int_equal(belfry_scheduler_metrics(host->scheduler, &metrics, NULL), BELFRY_OK);
	assert_int_equal(metrics.takeovers, 1);
	host_free(host, 0);
}

static void t025_t043_a_session_that_was_not_stored_is_started_again(void **state)
{
	crash_and_resume(*state, HOLD_SESSION, 1, 1);
}

static void t026_t037_a_stored_session_is_kept(void **state)
{
	crash_and_resume(*state, HOLD_TURN, 0, 1);
}

static void t040_t051_a_run_that_nobody_claimed_is_dispatched_by_the_next(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	struct belfry_id id = host_run_now(host, "a"); /* stored when it answers */
	host_crash(host);
	shelf_reopen(*state);
	host = host_new(*state);
	host_start(host);
	assert_int_equal(run_to_its_end(host, id, &arena).state, BELFRY_RUN_DISPATCHED);
	host_free(host, 0);
}

/* ---- due times --------------------------------------------------------------------------------- */

/* Every second of [from, to] has its Run, once, and each Run was called once for each step. */
static void check_every_second(struct host *host, const char *schedule, belfry_time from,
		belfry_time to)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	belfry_time first = from - from % BELFRY_SECOND + BELFRY_SECOND;

	for (belfry_time due = first; due <= to; due += BELFRY_SECOND) {
		struct belfry_why why = {.size = sizeof(why),
				.schedule = bf_str(schedule),
				.at = due};
		assert_int_equal(belfry_scheduler_why(host->scheduler, &why, &arena, NULL),
				BELFRY_OK);
		assert_int_equal(why.kind, BELFRY_WHY_RUN);
		assert_true(why.run->due_at == due);
	}
}

/* `count` rows of the ledger, a minute each, from `first` on. */
static void write_gaps(struct host *host, const char *schedule, belfry_time first, size_t count)
{
	enum { AT_ONCE = 200 };
	struct belfry_gap gaps[AT_ONCE];

	for (size_t done = 0; done < count; done += AT_ONCE) {
		BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_str id = bf_str(schedule);
		struct belfry_list list = {.size = sizeof(list),
				.kind = BELFRY_LIST_SCHEDULES,
				.ids = &id,
				.id_count = 1,
				.limit = 1};
		struct belfry_advance_item item = {.schedule = id,
				.cursor = BELFRY_TIME_NEVER,
				.decided_at = now_wall(),
				.gaps = gaps,
				.gap_count = AT_ONCE};
		struct belfry_advance advance = {.size = sizeof(advance),
				.items = &item,
				.item_count = 1};
		for (size_t i = 0; i < AT_ONCE; i++) {
			belfry_time from = first + (belfry_time)(done + i) * BELFRY_MINUTE;
			gaps[i] = (struct belfry_gap){.from = from,
					.to = from + BELFRY_SECOND,
					.count = 1,
					.reason = BELFRY_GAP_DISABLED,
					.revision = 1,
					.who = BF_STR("test")};
		}
		assert_int_equal(bf_store_list(host->store, &list, &arena, NULL), BELFRY_OK);
		item.expect_version = list.rows[0].version;
		assert_int_equal(bf_store_advance(host->store, &advance, NULL), BELFRY_OK);
		assert_int_equal(item.result, BELFRY_OK);
	}
}

static void expect_latest(struct host *host, const char *schedule, belfry_time to)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_why why = {.size = sizeof(why), .schedule = bf_str(schedule)};

	assert_int_equal(belfry_scheduler_why(host->scheduler, &why, &arena, NULL), BELFRY_OK);
	assert_int_equal(why.kind, BELFRY_WHY_GAP);
	assert_true(why.gap->to == to);
	assert_true(why.at == 0 && why.due == to);
}

/* More rows than any page has, old and new. */
static void why_without_a_time_tells_of_the_newest_row_of_a_long_ledger(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	belfry_time now = now_wall();

	s.flags = 0;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	for (int years = 3; years >= 0; years--) {
		belfry_time first = now - years * 365 * BELFRY_DAY - 6001 * BELFRY_MINUTE;
		write_gaps(host, "a", first, 6000);
		expect_latest(host, "a", first + 5999 * BELFRY_MINUTE + BELFRY_SECOND);
	}
	host_free(host, 0);
}

static void t016_t017_every_due_time_has_one_run_with_two_providers_on_one_store(void **state)
{
	struct shelf *shelf = *state;
	struct host *hosts[2] = {host_new(shelf), host_new(shelf)};
	struct belfry_schedule s = schedule_of("a", 1, "* * * * * *");
	struct call calls[64];
	size_t count = 0;

	assert_int_equal(host_apply(hosts[0], &s), BELFRY_OK);
	belfry_time from = now_wall();
	host_start(hosts[0]);
	host_start(hosts[1]);
	while (host_call_count(hosts[0]) + host_call_count(hosts[1]) < 8) {
		wait_until(hosts[0], covers, NULL, "it covers");
	}
	for (int i = 0; i < 2; i++) {
		wait_until(hosts[0], all_are_over, NULL, "the Runs end");
	}
	belfry_time to = now_wall();
	s.revision = 2;
	s.flags = 0;
	assert_int_equal(host_apply(hosts[1], &s), BELFRY_OK);
	check_every_second(hosts[0], "a", from + BELFRY_SECOND, to - BELFRY_SECOND);
	for (int h = 0; h < 2; h++) {
		(void)pthread_mutex_lock(&hosts[h]->lock);
		for (size_t i = 0; i < hosts[h]->call_count && count < BF_COUNT(calls); i++) {
			calls[count++] = hosts[h]->calls[i];
		}
		(void)pthread_mutex_unlock(&hosts[h]->lock);
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t k = i + 1; k < count; k++) {
			bool is_same = bf_id_compare(calls[i].run, calls[k].run) == 0 &&
					calls[i].step == calls[k].step;
			assert_false(is_same); /* nobody lost a lease: one call each */
		}
	}
	host_free(hosts[0], BELFRY_SECOND);
	host_free(hosts[1], BELFRY_SECOND);
}

static void t052_t023_run_now_leaves_the_schedule_alone(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, ANSWER);
	struct belfry_str ids[] = {BF_STR("a")};
	struct belfry_schedule_state *before = NULL;
	struct belfry_schedule_state *after = NULL;

	assert_int_equal(belfry_scheduler_state(host->scheduler, ids, 1, &arena, &before, NULL),
			BELFRY_OK);
	struct belfry_id first = host_run_now(host, "a");
	struct belfry_id second = host_run_now(host, "a"); /* T056 */
	assert_int_not_equal(bf_id_compare(first, second), 0);
	(void)run_to_its_end(host, first, &arena);
	(void)run_to_its_end(host, second, &arena);
	assert_int_equal(belfry_scheduler_state(host->scheduler, ids, 1, &arena, &after, NULL),
			BELFRY_OK);
	assert_true(before->next_due == after->next_due);
	assert_int_equal(after->fired_count, 0);
	host_free(host, 0);
}

static void t053_t054_t055_a_replay_carries_the_old_payload(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, ANSWER);
	struct belfry_schedule s = schedule_of("a", 2, "0 0 1 1 *");
	struct belfry_id first = host_run_now(host, "a");
	struct belfry_enqueue replay = {.size = sizeof(replay),
			.schedule = BF_STR("a"),
			.trigger = BELFRY_TRIGGER_REPLAY,
			.replayed_from = first};
	struct call call;

	(void)run_to_its_end(host, first, &arena);
	s.payload = BF_STR("edited");
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &replay, NULL), BELFRY_OK);
	struct belfry_id second = replay.run;
	struct belfry_run run = run_to_its_end(host, second, &arena);
	assert_int_equal(run.trigger, BELFRY_TRIGGER_REPLAY);
	assert_int_equal(bf_id_compare(run.replayed_from, first), 0);
	assert_int_equal(host_calls_of(host, second, BELFRY_STEP_TURN, &call), 1);
	assert_string_equal(call.payload, "payload");
	/* A replay of the replay names its predecessor, with the original payload. */
	replay.replayed_from = second;
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &replay, NULL), BELFRY_OK);
	run = run_to_its_end(host, replay.run, &arena);
	assert_int_equal(bf_id_compare(run.replayed_from, second), 0);
	assert_int_equal(host_calls_of(host, replay.run, BELFRY_STEP_TURN, &call), 1);
	assert_string_equal(call.payload, "payload");
	/* A Run of another deployment is none of ours. */
	struct belfry_schedule other = schedule_of("b", 1, "0 0 1 1 *");
	assert_int_equal(host_apply(host, &other), BELFRY_OK);
	replay.schedule = BF_STR("b");
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &replay, NULL),
			BELFRY_NOT_FOUND);
	host_free(host, 0);
}

static void a_request_key_makes_one_run(void **state)
{
	struct host *host = quiet_host(*state, ANSWER);
	struct belfry_enqueue request = {.size = sizeof(request),
			.schedule = BF_STR("a"),
			.trigger = BELFRY_TRIGGER_MANUAL,
			.request_key = BF_STR("key"),
			.request_hash = 1};

	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &request, NULL), BELFRY_OK);
	struct belfry_id first = request.run;
	assert_true(request.is_new);
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &request, NULL), BELFRY_OK);
	assert_false(request.is_new);
	assert_int_equal(bf_id_compare(first, request.run), 0);
	request.request_hash = 2;
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &request, NULL),
			BELFRY_KEY_REUSED);
	host_free(host, 0);
}

/* The answer of the insert is lost: asked again, the Run is found to be the one just made. */
static void a_lost_answer_to_run_now_makes_one_new_run(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	struct belfry_run_query query = {.size = sizeof(query), .limit = 10};
	struct belfry_enqueue request = {.size = sizeof(request),
			.schedule = BF_STR("a"),
			.trigger = BELFRY_TRIGGER_MANUAL,
			.request_key = BF_STR("key")};

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	bf_fault_arm(bf_store_fault_after(host->store), 1, 1);
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &request, NULL), BELFRY_OK);
	assert_true(request.is_new);
	bf_fault_arm(bf_store_fault_after(host->store), 0, 0);
	assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &query, &arena, NULL),
			BELFRY_OK);
	assert_int_equal(query.count, 1);
	host_free(host, 0);
}

static void t061_t059_lists_are_stable_and_bounded(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	const uint32_t limits[] = {0, (uint32_t)-5, 1, 200, 999};
	const size_t expected[] = {1, 1, 1, 200, 200};

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	for (int i = 0; i < 210; i++) {
		(void)host_run_now(host, "a");
	}
	for (size_t i = 0; i < BF_COUNT(limits); i++) {
		struct belfry_run_query once = {.size = sizeof(once), .limit = limits[i]};
		struct belfry_run_query twice = once;
		assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &once, &arena, NULL),
				BELFRY_OK);
		assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &twice, &arena, NULL),
				BELFRY_OK);
		assert_int_equal(once.count, expected[i]);
		for (size_t k = 0; k < once.count; k++) {
			assert_int_equal(bf_id_compare(once.runs[k].id, twice.runs[k].id), 0);
			assert_true(k == 0 ||
					bf_id_compare(once.runs[k - 1].id, once.runs[k].id) > 0);
		}
	}
	host_free(host, 0);
}

/* ---- disable ----------------------------------------------------------------------------------- */

static size_t scheduled_calls_after(struct host *host, belfry_time at)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&host->lock);
	for (size_t i = 0; i < host->call_count; i++) {
		count += host->calls[i].trigger == BELFRY_TRIGGER_SCHEDULE &&
				host->calls[i].at > at;
	}
	(void)pthread_mutex_unlock(&host->lock);
	return count;
}

static void t045_t047_t048_after_a_disable_nothing_scheduled_starts(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "* * * * * *");

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	size_t some = 4;
	wait_until(host, has_calls, &some, "it fires");
	s.revision = 2;
	s.flags = 0;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	wait_until(host, all_are_over, NULL, "started Runs end");
	belfry_time quiet = now_wall();
	struct belfry_id manual = host_run_now(host, "a");
	assert_int_equal(run_to_its_end(host, manual, &arena).state, BELFRY_RUN_DISPATCHED);
	wait_past(host, quiet + 2500 * BELFRY_MILLISECOND);
	assert_int_equal(scheduled_calls_after(host, quiet), 0);
	/* T050: enabled again, only what comes fires. */
	s.revision = 3;
	s.flags = BELFRY_SCHEDULE_F_ENABLED;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	belfry_time enabled = now_wall();
	some = host_call_count(host) + 2;
	wait_until(host, has_calls, &some, "it fires again");
	struct belfry_run_query query = {.size = sizeof(query),
			.schedule = BF_STR("a"),
			.triggers = 1u << BELFRY_TRIGGER_SCHEDULE,
			.limit = 200};
	assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &query, &arena, NULL),
			BELFRY_OK);
	for (size_t i = 0; i < query.count; i++) {
		bool is_between = query.runs[i].due_at > quiet &&
				query.runs[i].due_at < enabled - BELFRY_SECOND;
		assert_false(is_between);
	}
	host_free(host, BELFRY_SECOND);
}

static void t064_t087_remove_ends_what_has_not_started_and_is_idempotent(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "* * * * * *");
	struct belfry_enqueue request = {.size = sizeof(request),
			.schedule = BF_STR("a"),
			.trigger = BELFRY_TRIGGER_MANUAL};

	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("unknown"), 1, NULL),
			BELFRY_OK);
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR(""), 1, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 0, NULL),
			BELFRY_INVALID);
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	host_start(host);
	size_t some = 2;
	wait_until(host, has_calls, &some, "it fires");
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 2, NULL), BELFRY_OK);
	wait_until(host, all_are_over, NULL, "started Runs end");
	belfry_time quiet = now_wall();
	wait_past(host, quiet + 1500 * BELFRY_MILLISECOND);
	assert_int_equal(scheduled_calls_after(host, quiet), 0);
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 3, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &request, NULL),
			BELFRY_NOT_FOUND);
	host_free(host, 0);
}

static void t064_a_run_that_has_begun_goes_on_after_the_removal(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, HOLD_SESSION);
	struct belfry_id id = host_run_now(host, "a");

	wait_until(host, run_is_held, &id, "the call is open");
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 2, NULL), BELFRY_OK);
	assert_int_equal(host_run(host, id, &arena).state, BELFRY_RUN_DISPATCHING);
	struct belfry_reply *reply = host->held[0];
	host->held_count = 0;
	host_behave(host, ANSWER);
	assert_int_equal(belfry_reply_session(&reply, BF_STR("s")), BELFRY_OK);
	struct belfry_run run = run_to_its_end(host, id, &arena);
	assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
	assert_true(bf_str_equal(run.session, BF_STR("s")));
	host_free(host, 0);
}

/* Said again until it is known: to say the same twice changes nothing. */
static void a_lost_answer_to_cancel_or_conclude_is_asked_for_again(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state); /* not started: the Runs wait */
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	struct belfry_outcome outcome = BELFRY_OUTCOME_INIT;

	outcome.status = BELFRY_STATUS_COMPLETED;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	struct belfry_id waiting = host_run_now(host, "a");
	bf_fault_arm(bf_store_fault_after(host->store), 1, 3);
	assert_int_equal(belfry_scheduler_cancel(host->scheduler, waiting, BF_STR("by hand"), NULL),
			BELFRY_OK);
	struct belfry_run run = host_run(host, waiting, &arena);
	assert_int_equal(run.state, BELFRY_RUN_CANCELLED);
	assert_int_equal(run.error, BELFRY_RUN_ERROR_CANCELLED);
	assert_true(bf_str_equal(run.message, BF_STR("by hand")));
	/* Its first end stays. */
	assert_int_equal(belfry_scheduler_conclude(host->scheduler, waiting, &outcome, &host->err),
			BELFRY_CONFLICT);
	assert_true(host->err.message[0] != '\0');
	struct belfry_id other = host_run_now(host, "a");
	bf_fault_arm(bf_store_fault_after(host->store), 1, 3);
	assert_int_equal(belfry_scheduler_conclude(host->scheduler, other, &outcome, &host->err),
			BELFRY_STALE); /* it has not begun */
	bf_fault_arm(bf_store_fault_after(host->store), 1, -1);
	assert_int_equal(belfry_scheduler_cancel(host->scheduler, other, BF_STR(""), NULL),
			BELFRY_UNKNOWN);
	bf_fault_arm(bf_store_fault_after(host->store), 0, 0);
	assert_int_equal(host_run(host, other, &arena).state, BELFRY_RUN_CANCELLED);
	host_free(host, 0);
}

static void what_is_not_there_is_not_found(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, ANSWER);
	struct belfry_scheduler *s = host->scheduler;
	struct belfry_id unknown = {{1, 2, 3}};
	struct belfry_str id = BF_STR("a");
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};
	struct belfry_why why = {.size = sizeof(why), .schedule = BF_STR("b"), .at = 5};
	struct belfry_schedule_state *states;
	struct belfry_attempt *attempts;
	struct belfry_run run;
	belfry_time due;
	size_t count;

	assert_int_equal(belfry_scheduler_get_run(s, unknown, &arena, &run, NULL),
			BELFRY_NOT_FOUND);
	assert_int_equal(belfry_scheduler_attempts(s, unknown, &arena, &attempts, &count, NULL),
			BELFRY_NOT_FOUND);
	assert_int_equal(belfry_scheduler_cancel(s, unknown, BF_STR(""), NULL), BELFRY_NOT_FOUND);
	assert_int_equal(belfry_scheduler_conclude(s, unknown, &outcome, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(belfry_scheduler_why(s, &why, &arena, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(belfry_scheduler_due(s, id, 0, &due, 1, &count, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_remove(s, id, 9, NULL), BELFRY_OK);
	assert_int_equal(belfry_scheduler_due(s, id, 0, &due, 1, &count, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(belfry_scheduler_state(s, &id, 1, &arena, &states, NULL), BELFRY_OK);
	assert_false(states[0].is_known);
	host_free(host, 0);
}

/* Its definition is deleted: whoever applies it late has a lower revision, and is told that all is well. */
static void t087_an_apply_of_a_deleted_definition_leaves_it_deleted(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "* * * * * *");

	host_start(host);
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 5, NULL), BELFRY_OK);
	/* Never known, and deleted all the same. */
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("b"), 5, NULL), BELFRY_OK);
	for (int64_t revision = 1; revision <= 5; revision++) {
		s.revision = revision;
		s.id = BF_STR("a");
		assert_int_equal(host_apply(host, &s), BELFRY_OK);
		s.id = BF_STR("b");
		assert_int_equal(host_apply(host, &s), BELFRY_OK);
	}
	wait_until(host, all_are_over, NULL, "started Runs end");
	belfry_time quiet = now_wall();
	wait_past(host, quiet + 1500 * BELFRY_MILLISECOND);
	assert_int_equal(scheduled_calls_after(host, quiet), 0);
	/* A new definition is another matter. */
	s.revision = 6;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	size_t more = host_call_count(host) + 1;
	wait_until(host, has_calls, &more, "it fires");
	host_free(host, 0);
}

struct known_lines {
	size_t puts;
	size_t removals;
};

static void count_known(void *data, int level, const char *line)
{
	struct known_lines *lines = data;

	assert_true(level >= 0);
	if (strcmp(line, "what=schedule-known-already schedule=a revision=1 known=1") == 0) {
		lines->puts++;
	}
	if (strcmp(line, "what=removal-known-already schedule=a revision=1 known=2") == 0) {
		lines->removals++;
	}
}

static bool is_known(struct host *host, const char *id)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str ids[] = {bf_str(id)};
	struct belfry_schedule_state *states = NULL;

	assert_int_equal(belfry_scheduler_state(host->scheduler, ids, 1, &arena, &states, NULL),
			BELFRY_OK);
	return states[0].is_known;
}

/* Who keeps no record of numbers removes with the one that was applied. */
static void a_removal_under_the_revision_that_was_applied_takes_effect(void **state)
{
	struct known_lines lines = {0};
	struct belfry_provider_options options = host_options();
	options.log = count_known;
	options.log_data = &lines;
	struct host *host = host_new_with(*state, &options);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 1, NULL), BELFRY_OK);
	assert_false(is_known(host, "a"));
	assert_int_equal(lines.puts + lines.removals, 0);
	/* What was removed stays away, until something newer comes. */
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	assert_false(is_known(host, "a"));
	assert_int_equal(lines.puts, 1);
	s.revision = 2;
	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	assert_true(is_known(host, "a"));
	/* A removal that is older than the definition is not of this one. */
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 1, NULL), BELFRY_OK);
	assert_true(is_known(host, "a"));
	assert_int_equal(lines.removals, 1);
	host_free(host, 0);
}

/* ---- refusals ---------------------------------------------------------------------------------- */

static void t071_t072_a_refused_edit_leaves_everything_as_it_was(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule s = schedule_of("a", 1, "0 0 1 1 *");
	struct belfry_str ids[] = {BF_STR("a")};
	struct belfry_schedule_state *states = NULL;

	assert_int_equal(host_apply(host, &s), BELFRY_OK);
	s.revision = 2;
	s.rule = BF_STR("0 0 30 2 *"); /* T015 */
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID_SCHEDULE);
	s.flags = 0;
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID_SCHEDULE);
	s.rule = BF_STR("0 0 1 1 *");
	s.zone = BF_STR("Nowhere/City"); /* T004 */
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID_SCHEDULE);
	s.zone = BF_STR("UTC");
	s.policies.max_attempts = 0;
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID);
	s.policies.max_attempts = 1;
	s.flags = 1u << 20;
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID);
	s.flags = BELFRY_SCHEDULE_F_ENABLED | BELFRY_SCHEDULE_F_FIVE_FIELDS;
	s.created_at = BELFRY_TIME_NEVER;
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID);
	s.created_at = -1;
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID);
	s.created_at = 0;
	s.rule = BF_STR("0 0 0 1 1 *"); /* T003 */
	assert_int_equal(host_apply(host, &s), BELFRY_INVALID_SCHEDULE);
	assert_int_equal(belfry_scheduler_state(host->scheduler, ids, 1, &arena, &states, NULL),
			BELFRY_OK);
	assert_int_equal(states[0].revision, 1);
	assert_true(states[0].next_due != BELFRY_TIME_NEVER);
	host_free(host, 0);
}

static void t067_t068_t069_the_ceiling_counts_the_enabled(void **state)
{
	struct belfry_provider_options options = host_options();
	options.max_active_schedules = 2;
	struct host *host = host_new_with(*state, &options);
	struct belfry_schedule s[] = {schedule_of("a", 1, "0 0 1 1 *"),
			schedule_of("b", 1, "0 0 1 1 *"), schedule_of("c", 1, "0 0 1 1 *")};

	assert_int_equal(host_apply(host, &s[0]), BELFRY_OK);
	assert_int_equal(host_apply(host, &s[1]), BELFRY_OK);
	assert_int_equal(host_apply(host, &s[2]), BELFRY_CAPACITY);
	s[1].revision = 2;
	s[1].rule = BF_STR("0 0 2 1 *");
	assert_int_equal(host_apply(host, &s[1]), BELFRY_OK);
	s[2].flags = 0;
	assert_int_equal(host_apply(host, &s[2]), BELFRY_OK);
	s[2].flags = BELFRY_SCHEDULE_F_ENABLED;
	s[2].revision = 2;
	assert_int_equal(host_apply(host, &s[2]), BELFRY_CAPACITY);
	host_free(host, 0);
}

static void t065_t066_with_the_store_down_every_call_answers_unavailable(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = quiet_host(*state, ANSWER);
	struct belfry_schedule s = schedule_of("a", 2, "0 0 1 1 *");
	struct belfry_enqueue request = {.size = sizeof(request),
			.schedule = BF_STR("a"),
			.trigger = BELFRY_TRIGGER_MANUAL};
	struct belfry_run_query query = {.size = sizeof(query), .limit = 10};
	belfry_time before = now_wall();

	bf_fault_arm(bf_store_fault_before(host->store), 1, -1);
	assert_int_equal(host_apply(host, &s), BELFRY_UNAVAILABLE);
	assert_null(strstr(host->err.message, "sqlite"));
	assert_int_equal(belfry_scheduler_remove(host->scheduler, BF_STR("a"), 3, NULL),
			BELFRY_UNAVAILABLE);
	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &request, NULL),
			BELFRY_UNAVAILABLE);
	assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &query, &arena, NULL),
			BELFRY_UNAVAILABLE);
	assert_true(now_wall() - before < 20 * BELFRY_SECOND);
	bf_fault_arm(bf_store_fault_before(host->store), 0, 0);
	/* T074: it goes on by itself. */
	struct belfry_id run = host_run_now(host, "a");
	assert_int_equal(run_to_its_end(host, run, &arena).state, BELFRY_RUN_DISPATCHED);
	host_free(host, 0);
}

#define BOTH(name)                                                                                 \
	cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down),                           \
			cmocka_unit_test_setup_teardown(name, set_up_sqlite, tear_down)
#define MEMORY(name) cmocka_unit_test_setup_teardown(name, set_up_memory, tear_down)

int run_runs_tests(void)
{
	const struct CMUnitTest tests[] = {
			BOTH(t024_t035_a_run_goes_from_session_to_turn_and_leaves),
			BOTH(t027_t028_permanent_answers_fail_the_run),
			BOTH(t029_retries_end_in_success_with_growing_waits),
			BOTH(t030_for_ever_failing_it_fails_once),
			BOTH(t031_b10_others_go_on_while_one_hangs),
			MEMORY(t032_a_call_longer_than_the_lease_stays_ours),
			BOTH(t025_t043_a_session_that_was_not_stored_is_started_again),
			BOTH(t026_t037_a_stored_session_is_kept),
			BOTH(t040_t051_a_run_that_nobody_claimed_is_dispatched_by_the_next),
			BOTH(why_without_a_time_tells_of_the_newest_row_of_a_long_ledger),
			MEMORY(t016_t017_every_due_time_has_one_run_with_two_providers_on_one_store),
			BOTH(t052_t023_run_now_leaves_the_schedule_alone),
			BOTH(t053_t054_t055_a_replay_carries_the_old_payload),
			BOTH(a_request_key_makes_one_run),
			BOTH(a_lost_answer_to_run_now_makes_one_new_run),
			BOTH(t061_t059_lists_are_stable_and_bounded),
			BOTH(t045_t047_t048_after_a_disable_nothing_scheduled_starts),
			BOTH(a_removal_under_the_revision_that_was_applied_takes_effect),
			BOTH(t064_t087_remove_ends_what_has_not_started_and_is_idempotent),
			BOTH(a_lost_answer_to_cancel_or_conclude_is_asked_for_again),
			BOTH(what_is_not_there_is_not_found),
			BOTH(t064_a_run_that_has_begun_goes_on_after_the_removal),
			BOTH(t087_an_apply_of_a_deleted_definition_leaves_it_deleted),
			BOTH(t071_t072_a_refused_edit_leaves_everything_as_it_was),
			BOTH(t067_t068_t069_the_ceiling_counts_the_enabled),
			BOTH(t065_t066_with_the_store_down_every_call_answers_unavailable),
	};
	return cmocka_run_group_tests_name("runs", tests, NULL, NULL);
}
