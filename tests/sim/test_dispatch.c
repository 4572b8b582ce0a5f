/* Dispatch, recovery and failures, through the real machines. */
#include "scene.h"

#define ROOM ((size_t)16)

static struct belfry_id first_run(struct scene *s)
{
	put(s, "a", "1 12 * * *");
	until(s, "2026-12-01T12:01:00.4Z"); /* made, and called */
	return run_due(s, "a", "2026-12-01T12:01:00Z").id;
}

SCENE(t024_the_session_is_asked_for_then_stored_then_the_turn_is_admitted)
{
	struct bf_sim_call session[ROOM];
	struct bf_sim_call turn[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);
	struct belfry_id id = first_run(&s);

	pass(&s, 5 * SEC);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, session, ROOM), 1);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_TURN, turn, ROOM), 1);
	assert_true(session[0].elapsed < turn[0].elapsed);
	struct belfry_run run = run_of(&s, id);
	assert_true(bf_str_equal(run.session, bf_str(turn[0].session)));
	assert_true(run.session.len > 0);
	scene_end(&s);
}

SCENE(t025_a_crash_before_the_session_is_stored_asks_for_it_again_alike)
{
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	trap(&s, BF_SIM_RECORD, BELFRY_RECORD_SESSION, BF_SIM_CRASH_BEFORE, 0);
	struct belfry_id id = first_run(&s);
	pass(&s, 40 * SEC);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 2);
	assert_string_equal(calls[0].payload, calls[1].payload);
	assert_int_equal(calls[0].attempt, calls[1].attempt);
	assert_true(calls[0].fence < calls[1].fence);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	scene_end(&s);
}

SCENE(t026_a_crash_after_the_session_is_stored_goes_on_with_the_turn)
{
	struct bf_sim_call turns[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	trap(&s, BF_SIM_RECORD, BELFRY_RECORD_SESSION, BF_SIM_CRASH_AFTER, 0);
	struct belfry_id id = first_run(&s);
	pass(&s, 40 * SEC);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_TURN, turns, ROOM), 1);
	assert_true(bf_str_equal(run_of(&s, id).session, bf_str(turns[0].session)));
	scene_end(&s);
}

SCENE(t027_a_permanent_error_of_start_session_fails_the_run)
{
	struct bf_sim_reply no = {.kind = BF_SIM_REPLY_PERMANENT, .delay = 10 * MS};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, answer_always, &no);
	struct belfry_id id = first_run(&s);
	pass(&s, MIN);
	struct belfry_run run = run_of(&s, id);
	assert_int_equal(run.state, BELFRY_RUN_FAILED);
	assert_int_equal(run.session.len, 0);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_TURN), 0);
	scene_end(&s);
}

static struct bf_sim_reply refuse_turns(void *data, const struct bf_sim_call *call)
{
	const struct bf_sim_reply *reply = data;

	return call->step == BELFRY_STEP_TURN
			? *reply
			: (struct bf_sim_reply){.kind = BF_SIM_REPLY_OK, .delay = 10 * MS};
}

SCENE(t028_a_permanent_error_of_admit_turn_keeps_the_session)
{
	struct bf_sim_reply no = {.kind = BF_SIM_REPLY_PERMANENT, .delay = 10 * MS};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, refuse_turns, &no);
	struct belfry_id id = first_run(&s);
	pass(&s, MIN);
	struct belfry_run run = run_of(&s, id);
	assert_int_equal(run.state, BELFRY_RUN_FAILED);
	assert_true(run.session.len > 0);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_TURN), 1);
	scene_end(&s);
}

static struct bf_sim_reply fail_thrice(void *data, const struct bf_sim_call *call)
{
	unsigned *left = data;
	struct bf_sim_reply reply = {.kind = BF_SIM_REPLY_OK, .delay = 10 * MS};

	if (call->step == BELFRY_STEP_SESSION && *left > 0) {
		--*left;
		reply.kind = BF_SIM_REPLY_RETRY;
	}
	return reply;
}

SCENE(t029_failures_below_the_limit_end_well_with_growing_waits)
{
	struct bf_sim_call calls[ROOM];
	unsigned left = 3;
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, fail_thrice, &left);
	struct belfry_id id = first_run(&s);
	pass(&s, 2 * MIN);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 4);
	for (size_t i = 2; i < 4; i++) {
		assert_true(calls[i].elapsed - calls[i - 1].elapsed >
				(calls[i - 1].elapsed - calls[i - 2].elapsed) * 8 / 10);
		assert_true(calls[i].elapsed - calls[i - 1].elapsed <= 65 * SEC);
	}
	scene_end(&s);
}

SCENE(t030_failures_for_ever_end_failed_once)
{
	struct bf_sim_reply again = {.kind = BF_SIM_REPLY_RETRY, .delay = 10 * MS};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, answer_always, &again);
	struct belfry_id id = first_run(&s);
	pass(&s, 5 * MIN);
	struct belfry_run run = run_of(&s, id);
	assert_int_equal(run.state, BELFRY_RUN_FAILED);
	assert_int_equal(run.error, BELFRY_RUN_ERROR_RETRIES_SPENT);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 5);
	scene_end(&s);
}

static struct bf_sim_reply fail_deployment_a(void *data, const struct bf_sim_call *call)
{
	struct bf_sim_reply reply = {.kind = BF_SIM_REPLY_OK, .delay = 10 * MS};

	(void)data;
	if (strcmp(call->deployment, "a") == 0) {
		reply.kind = BF_SIM_REPLY_RETRY;
	}
	return reply;
}

SCENE(t031_other_runs_are_dispatched_while_one_waits_to_retry)
{
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:30Z", 1, 1, 0);

	bf_sim_set_handler(s.sim, fail_deployment_a, NULL);
	put(&s, "a", "1 12 * * *");
	put(&s, "b", "1,2 12 * * *");
	until(&s, "2026-12-01T12:01:03Z");
	assert_int_equal(run_due(&s, "b", "2026-12-01T12:01:00Z").state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run_due(&s, "a", "2026-12-01T12:01:00Z").state, BELFRY_RUN_DELAYED);
	scene_end(&s);
}

SCENE(t032_a_call_longer_than_the_lease_keeps_its_run)
{
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OK, .delay = 2 * MIN};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 3);

	bf_sim_set_handler(s.sim, answer_always, &slow);
	struct belfry_id id = first_run(&s);
	struct belfry_id holder = run_of(&s, id).holder;
	pass(&s, 110 * SEC);
	struct belfry_run run = run_of(&s, id);
	assert_int_equal(bf_id_compare(run.holder, holder), 0);
	assert_int_equal(run.takeovers, 0);
	pass(&s, 5 * MIN);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	scene_end(&s);
}

SCENE(t034_five_attempts_wait_one_two_four_eight_seconds_half_of_it_random)
{
	struct bf_sim_reply again = {.kind = BF_SIM_REPLY_RETRY, .delay = MS};
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	bf_sim_set_handler(s.sim, answer_always, &again);
	struct belfry_id id = first_run(&s);
	pass(&s, MIN);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 5);
	for (size_t i = 1; i < 5; i++) {
		belfry_duration whole = SEC << (i - 1);
		belfry_duration wait = calls[i].elapsed - calls[i - 1].elapsed;
		assert_true(wait >= whole / 2);
		assert_true(wait <= whole + 700 * MS); /* and the way to the store and back */
	}
	scene_end(&s);
}

SCENE(t035_an_admitted_turn_leaves_the_active_set_while_the_agent_works)
{
	struct bf_sim_reply open = {.kind = BF_SIM_REPLY_OPEN, .delay = 10 * MS};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	bf_sim_set_handler(s.sim, answer_always, &open);
	struct belfry_id id = first_run(&s);
	pass(&s, 5 * SEC);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run_of(&s, id).status, BELFRY_STATUS_RUNNING);
	assert_int_equal(bf_sim_held(s.sim, 0), 0);
	scene_end(&s);
}

/* The holder's record is on its way when it is frozen, and arrives when the Run is another's. */
SCENE(t036_a_stale_holder_writes_nothing)
{
	struct bf_sim_call turns[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	trap(&s, BF_SIM_RECORD, BELFRY_RECORD_SESSION, BF_SIM_LATE_EFFECT, MIN);
	struct belfry_id id = first_run(&s);
	pass(&s, 100 * MS);
	unsigned holder = bf_id_compare(run_of(&s, id).holder, bf_sim_incarnation(s.sim, 1)) == 0;
	bf_sim_freeze(s.sim, holder);
	pass(&s, 40 * SEC);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	struct belfry_str session = run_of(&s, id).session;
	pass(&s, MIN);
	bf_sim_unfreeze(s.sim, holder);
	pass(&s, MIN);
	assert_true(bf_str_equal(run_of(&s, id).session, session));
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_TURN, turns, ROOM), 1);
	assert_int_not_equal(turns[0].replica, holder);
	assert_true(bf_str_equal(session, bf_str(turns[0].session)));
	scene_end(&s);
}

static struct bf_sim_reply slow_turns(void *data, const struct bf_sim_call *call)
{
	bool is_turn = call->step == BELFRY_STEP_TURN;

	(void)data;
	return (struct bf_sim_reply){.kind = BF_SIM_REPLY_OK,
			.delay = is_turn ? 30 * SEC : 10 * MS};
}

SCENE(t037_a_kill_during_admit_turn_goes_on_with_the_same_run_and_session)
{
	struct bf_sim_call turns[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, slow_turns, NULL);
	struct belfry_id id = first_run(&s);
	pass(&s, 5 * SEC);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_TURN, turns, ROOM), 1);
	bf_sim_crash(s.sim, turns[0].replica);
	pass(&s, 30 * SEC);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_TURN, turns, ROOM), 2);
	assert_string_equal(turns[0].session, turns[1].session);
	assert_int_not_equal(turns[0].replica, turns[1].replica);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	scene_end(&s);
}

SCENE(t040_a_queued_run_outlives_its_creator)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	put(&s, "a", "0 0 1 1 *");
	bf_sim_freeze(s.sim, 0);
	struct belfry_id id = bf_sim_enqueue(s.sim, "a", NULL);
	bf_sim_crash(s.sim, 0);
	pass(&s, MIN);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_QUEUED);
	bf_sim_start(s.sim, 0);
	pass(&s, 10 * SEC);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	scene_end(&s);
}

SCENE(t041_a_frozen_holder_notices_its_loss_and_calls_no_more)
{
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OK, .delay = 5 * SEC};
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, answer_always, &slow);
	struct belfry_id id = first_run(&s);
	pass(&s, 100 * MS);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 1);
	unsigned frozen = calls[0].replica;
	struct belfry_id lost = bf_sim_incarnation(s.sim, frozen);
	bf_sim_freeze(s.sim, frozen);
	pass(&s, MIN);
	bf_sim_unfreeze(s.sim, frozen);
	pass(&s, MIN);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 2);
	assert_int_not_equal(calls[1].replica, frozen);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_TURN, calls, ROOM), 1);
	assert_int_not_equal(calls[0].replica, frozen);
	assert_int_not_equal(bf_id_compare(bf_sim_incarnation(s.sim, frozen), lost), 0);
	scene_end(&s);
}

static struct bf_sim_reply kill_of_a(void *data, const struct bf_sim_call *call)
{
	(void)data;
	return (struct bf_sim_reply){.kind = strcmp(call->deployment, "a") == 0 ? BF_SIM_REPLY_CRASH
										: BF_SIM_REPLY_OK,
			.delay = 10 * MS};
}

SCENE(t042_a_run_that_kills_its_process_ends_at_the_recovery_limit)
{
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:30Z", 1, 0, 3);

	bf_sim_set_handler(s.sim, kill_of_a, NULL);
	put(&s, "b", "* * * * *");
	struct belfry_id id = first_run(&s);
	for (int i = 0; i < 6; i++) {
		bf_sim_start(s.sim, 0);
		pass(&s, 30 * SEC);
	}
	struct belfry_run run = run_of(&s, id);
	assert_int_equal(run.state, BELFRY_RUN_FAILED);
	assert_int_equal(run.error, BELFRY_RUN_ERROR_RECOVERY_LIMIT);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 4);
	pass(&s, 2 * MIN);
	assert_true(bf_sim_is_up(s.sim, 0));
	scene_end(&s);
}

SCENE(t043_a_start_after_a_crash_resumes_what_is_unfinished)
{
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OK, .delay = 10 * SEC};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	bf_sim_set_handler(s.sim, answer_always, &slow);
	struct belfry_id id = first_run(&s);
	pass(&s, 3 * SEC);
	bf_sim_crash(s.sim, 0);
	pass(&s, 10 * SEC);
	bf_sim_start(s.sim, 0);
	pass(&s, MIN);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 2);
	scene_end(&s);
}

/* The lease has run out while the first holder's call is still open: both have called, one Run id, and
 * the Session that is stored stays (this host answers with another one each time). */
SCENE(t033_two_holders_use_one_run_and_its_session_stays)
{
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OK, .delay = 30 * SEC};
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, answer_always, &slow);
	struct belfry_id id = first_run(&s);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 1);
	bf_sim_freeze(s.sim, calls[0].replica);
	pass(&s, 20 * SEC);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 2);
	bf_sim_unfreeze(s.sim, calls[0].replica); /* its answer comes while the second still runs */
	pass(&s, 3 * MIN);
	assert_int_equal(bf_id_compare(calls[0].run, calls[1].run), 0);
	assert_true(calls[0].fence < calls[1].fence);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_TURN, calls, ROOM), 1);
	assert_true(bf_str_equal(run_of(&s, id).session, bf_str(calls[0].session)));
	assert_non_null(strstr(calls[0].session, "session-2-"));
	scene_end(&s);
}

SCENE(t038_another_replica_resumes_within_the_lease_and_a_look)
{
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OK, .delay = 5 * SEC};
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 3);

	bf_sim_set_handler(s.sim, answer_always, &slow);
	struct belfry_id id = first_run(&s);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 1);
	belfry_duration killed = bf_sim_elapsed(s.sim);
	bf_sim_crash(s.sim, calls[0].replica);
	pass(&s, MIN);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 2);
	assert_int_not_equal(calls[0].replica, calls[1].replica);
	/* A lease of 8 s from its last beat, seen at a beat of 2 s, and the next one takes it over. */
	assert_true(calls[1].elapsed - killed <= 13 * SEC);
	scene_end(&s);
}

/* The plan's answer comes a minute late. Meanwhile a claim's answer is lost, so the Run is found among
 * what is ours, and is over when its birth is heard of. */
SCENE(a_run_is_not_called_again_when_its_birth_is_heard_of_after_its_end)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	put(&s, "a", "1 12 * * *");
	trap(&s, BF_SIM_ADVANCE, BF_SIM_ANY_RECORD, BF_SIM_LATE_ACK, MIN);
	until(&s, "2026-12-01T12:01:01Z");
	trap(&s, BF_SIM_CLAIM, BF_SIM_ANY_RECORD, BF_SIM_LOST_ACK, 0);
	until(&s, "2026-12-01T12:01:50Z");
	struct belfry_run run = run_due(&s, "a", "2026-12-01T12:01:00Z");
	assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
	pass(&s, MIN);
	assert_int_equal(count_calls(&s, run.id, BELFRY_STEP_SESSION), 1);
	assert_int_equal(count_calls(&s, run.id, BELFRY_STEP_TURN), 1);
	scene_end(&s);
}

int scene_dispatch_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					t024_the_session_is_asked_for_then_stored_then_the_turn_is_admitted),
			cmocka_unit_test(
					t025_a_crash_before_the_session_is_stored_asks_for_it_again_alike),
			cmocka_unit_test(
					t026_a_crash_after_the_session_is_stored_goes_on_with_the_turn),
			cmocka_unit_test(t027_a_permanent_error_of_start_session_fails_the_run),
			cmocka_unit_test(t028_a_permanent_error_of_admit_turn_keeps_the_session),
			cmocka_unit_test(t029_failures_below_the_limit_end_well_with_growing_waits),
			cmocka_unit_test(t030_failures_for_ever_end_failed_once),
			cmocka_unit_test(t031_other_runs_are_dispatched_while_one_waits_to_retry),
			cmocka_unit_test(t032_a_call_longer_than_the_lease_keeps_its_run),
			cmocka_unit_test(t033_two_holders_use_one_run_and_its_session_stays),
			cmocka_unit_test(t038_another_replica_resumes_within_the_lease_and_a_look),
			cmocka_unit_test(
					a_run_is_not_called_again_when_its_birth_is_heard_of_after_its_end),
			cmocka_unit_test(
					t034_five_attempts_wait_one_two_four_eight_seconds_half_of_it_random),
			cmocka_unit_test(
					t035_an_admitted_turn_leaves_the_active_set_while_the_agent_works),
			cmocka_unit_test(t036_a_stale_holder_writes_nothing),
			cmocka_unit_test(
					t037_a_kill_during_admit_turn_goes_on_with_the_same_run_and_session),
			cmocka_unit_test(t040_a_queued_run_outlives_its_creator),
			cmocka_unit_test(t041_a_frozen_holder_notices_its_loss_and_calls_no_more),
			cmocka_unit_test(
					t042_a_run_that_kills_its_process_ends_at_the_recovery_limit),
			cmocka_unit_test(t043_a_start_after_a_crash_resumes_what_is_unfinished),
	};

	return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
