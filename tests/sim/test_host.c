/* Disable, remove, Run now, replay and payloads, through the real machines. */
#include "scene.h"

#include "engine/jitter.h"

#define ROOM ((size_t)16)

/* One place, and a call that keeps it: what comes due meanwhile waits in the queue. */
static struct scene busy_scene(bool is_single, struct bf_sim_reply *slow)
{
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:30Z", 1, 1, 0);

	*slow = (struct bf_sim_reply){.kind = BF_SIM_REPLY_OK, .delay = 5 * MIN};
	bf_sim_set_handler(s.sim, answer_always, slow);
	put(&s, "a", "* * * * *");
	until(&s, "2026-12-01T12:03:30Z");
	assert_int_equal(run_due(&s, "a", "2026-12-01T12:01:00Z").state, BELFRY_RUN_DISPATCHING);
	assert_int_equal(run_due(&s, "a", "2026-12-01T12:03:00Z").state, BELFRY_RUN_QUEUED);
	return s;
}

SCENE(t045_nothing_starts_after_a_disable_has_answered)
{
	struct bf_sim_reply slow;
	struct scene s = busy_scene(is_single, &slow);

	disable(&s, "a", "* * * * *");
	struct belfry_run waited = run_due(&s, "a", "2026-12-01T12:02:00Z");
	assert_int_equal(waited.state, BELFRY_RUN_CANCELLED);
	assert_int_equal(waited.error, BELFRY_RUN_ERROR_SCHEDULE_DISABLED);
	pass(&s, 30 * MIN);
	assert_int_equal(count_runs(&s, "a"), 3);
	assert_int_equal(count_calls(&s, waited.id, BELFRY_STEP_SESSION), 0);
	scene_end(&s);
}

SCENE(t046_runs_that_have_started_go_on_under_a_disable)
{
	struct bf_sim_reply slow;
	struct scene s = busy_scene(is_single, &slow);
	struct belfry_id id = run_due(&s, "a", "2026-12-01T12:01:00Z").id;

	disable(&s, "a", "* * * * *");
	pass(&s, 15 * MIN);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run_of(&s, id).status, BELFRY_STATUS_COMPLETED);
	scene_end(&s);
}

SCENE(t047_run_now_and_replay_work_under_a_disable)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	disable(&s, "a", "* * * * *");
	struct belfry_id manual = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, 5 * SEC);
	struct belfry_id replay = bf_sim_enqueue(s.sim, "a", &manual);
	pass(&s, 5 * SEC);
	assert_int_equal(run_of(&s, manual).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run_of(&s, replay).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run_of(&s, replay).trigger, BELFRY_TRIGGER_REPLAY);
	assert_int_equal(count_runs(&s, "a"), 2);
	scene_end(&s);
}

SCENE(t048_a_started_run_that_the_host_refuses_fails_one_not_started_is_never_called)
{
	struct bf_sim_reply slow;
	struct scene s = busy_scene(is_single, &slow);

	bf_sim_stop(s.sim, 0, 0); /* its Run is handed back: started, and waits */
	pass(&s, 5 * SEC);
	slow = (struct bf_sim_reply){.kind = BF_SIM_REPLY_PERMANENT, .delay = 10 * MS};
	bf_sim_start(s.sim, 0);
	disable(&s, "a", "* * * * *");
	pass(&s, MIN);
	struct belfry_run started = run_due(&s, "a", "2026-12-01T12:01:00Z");
	struct belfry_run waited = run_due(&s, "a", "2026-12-01T12:03:00Z");
	assert_int_equal(started.state, BELFRY_RUN_FAILED);
	assert_int_equal(waited.state, BELFRY_RUN_CANCELLED);
	assert_int_equal(count_calls(&s, waited.id, BELFRY_STEP_SESSION), 0);
	scene_end(&s);
}

SCENE(t050_enable_after_disable_fires_future_times_alone)
{
	struct bf_sim_reply slow;
	struct scene s = busy_scene(is_single, &slow);

	disable(&s, "a", "* * * * *");
	until(&s, "2026-12-01T12:10:30Z");
	slow.delay = 10 * MS;
	put(&s, "a", "* * * * *");
	until(&s, "2026-12-01T12:11:30Z");
	assert_int_equal(count_runs(&s, "a"), 4);
	assert_true(has_run(&s, "a", "2026-12-01T12:11:00Z"));
	assert_int_equal(count_missed(&s, "a", "2026-12-01T12:04:00Z", "2026-12-01T12:10:00Z"), 7);
	scene_end(&s);
}

SCENE(t051_a_run_now_that_has_answered_survives_a_kill)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	put(&s, "a", "0 0 1 1 *");
	struct belfry_id id = bf_sim_enqueue(s.sim, "a", NULL);
	bf_sim_crash(s.sim, 0);
	pass(&s, SEC);
	bf_sim_start(s.sim, 0);
	pass(&s, 30 * SEC);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	scene_end(&s);
}

SCENE(t052_run_now_leaves_the_next_due_time)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	put(&s, "a", "5 12 * * *");
	(void)bf_sim_enqueue(s.sim, "a", NULL);
	until(&s, "2026-12-01T12:05:10Z");
	assert_int_equal(count_runs(&s, "a"), 2);
	assert_true(has_run(&s, "a", "2026-12-01T12:05:00Z"));
	scene_end(&s);
}

SCENE(t056_two_presses_make_two_runs)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	put(&s, "a", "0 0 1 1 *");
	struct belfry_id one = bf_sim_enqueue(s.sim, "a", NULL);
	struct belfry_id two = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, 5 * SEC);
	assert_int_not_equal(bf_id_compare(one, two), 0);
	assert_int_equal(count_runs(&s, "a"), 2);
	scene_end(&s);
}

SCENE(t057_a_run_asked_for_has_no_due_time)
{
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	put(&s, "a", "0 0 1 1 *");
	struct belfry_id manual = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, 5 * SEC);
	struct belfry_id replay = bf_sim_enqueue(s.sim, "a", &manual);
	pass(&s, 5 * SEC);
	assert_int_equal(run_of(&s, manual).due_at, 0);
	assert_int_equal(run_of(&s, replay).due_at, 0);
	assert_int_equal(bf_id_compare(run_of(&s, replay).replayed_from, manual), 0);
	assert_int_equal(calls_of(&s, replay, BELFRY_STEP_SESSION, calls, ROOM), 1);
	assert_int_equal(calls[0].due_at, 0);
	scene_end(&s);
}

SCENE(t060_an_edit_leaves_the_payload_of_runs_that_exist)
{
	struct bf_sim_reply slow;
	struct bf_sim_call calls[ROOM];
	struct scene s = busy_scene(is_single, &slow);
	struct bf_sim_deployment edited = BF_SIM_DEPLOYMENT_INIT;
	struct belfry_id waiting = run_due(&s, "a", "2026-12-01T12:02:00Z").id;

	edited.id = "a";
	edited.rule = "0 0 1 1 *";
	edited.payload = "edited";
	put_as(&s, &edited);
	struct belfry_id fresh = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, BELFRY_HOUR);
	struct belfry_id replay = bf_sim_enqueue(s.sim, "a", &waiting);
	pass(&s, 30 * MIN);
	assert_int_equal(calls_of(&s, waiting, BELFRY_STEP_SESSION, calls, ROOM), 1);
	assert_string_equal(calls[0].payload, "a revision 1");
	assert_int_equal(calls_of(&s, replay, BELFRY_STEP_SESSION, calls, ROOM), 1);
	assert_string_equal(calls[0].payload, "a revision 1");
	assert_int_equal(calls_of(&s, fresh, BELFRY_STEP_SESSION, calls, ROOM), 1);
	assert_string_equal(calls[0].payload, "edited");
	scene_end(&s);
}

SCENE(t064_a_removed_deployment_fires_no_more_and_its_started_runs_go_on)
{
	struct bf_sim_reply slow;
	struct scene s = busy_scene(is_single, &slow);

	remove_it(&s, "a");
	pass(&s, 15 * MIN);
	assert_int_equal(count_runs(&s, "a"), 3);
	assert_int_equal(run_due(&s, "a", "2026-12-01T12:01:00Z").state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run_due(&s, "a", "2026-12-01T12:02:00Z").state, BELFRY_RUN_CANCELLED);
	scene_end(&s);
}

SCENE(a_removal_holds_against_a_put_that_lands_late)
{
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	deployment.id = "a";
	deployment.rule = "* * * * *";
	trap(&s, BF_SIM_ADVANCE, BF_SIM_ANY_RECORD, BF_SIM_LATE_EFFECT, MIN);
	bf_sim_put(s.sim, &deployment);
	pass(&s, 2 * SEC);
	bf_sim_crash(s.sim, 0);
	bf_sim_crash(s.sim, 1);
	bf_sim_start(s.sim, 0);
	bf_sim_start(s.sim, 1);
	bf_sim_remove(s.sim, "a");
	pass(&s, 5 * MIN);
	scene_end(&s);
}

/* A disable against due times, claims and retries, each time at another moment: no scheduled Run starts
 * after it has answered (the simulator fails at the first that does), and what has not started by then
 * is cancelled. */
static void race_once(bool is_single, struct bf_jitter *chance)
{
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:55Z", 2,
			(uint32_t)bf_jitter_between(chance, 1, 4), 0);
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;
	struct belfry_run *runs;
	size_t count;

	deployment.id = "a";
	deployment.rule = "* * * * * *"; /* every second */
	put_as(&s, &deployment);
	pass(&s, 3 * SEC + bf_jitter_between(chance, 0, 20 * MS));
	pass(&s, bf_jitter_between(chance, 0, SEC));
	deployment.is_disabled = true;
	put_as(&s, &deployment);
	bf_sim_list_runs(s.sim, "a", &s.arena, &runs, &count);
	for (size_t i = 0; i < count; i++) {
		assert_true(runs[i].started_at != 0 || runs[i].state == BELFRY_RUN_CANCELLED);
	}
	pass(&s, 3 * SEC);
	assert_int_equal(count_runs(&s, "a"), count);
	scene_leave(&s);
}

static void t049_a_thousand_races_start_nothing_after_the_answer(void **state)
{
	struct bf_jitter chance = {49};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		race_once(i % 2 == 0, &chance);
	}
}

SCENE(t053_a_replay_carries_the_captured_payload_and_names_its_source)
{
	struct bf_sim_deployment edited = BF_SIM_DEPLOYMENT_INIT;
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	put(&s, "a", "0 0 1 1 *");
	struct belfry_id old = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, 5 * SEC);
	edited.id = "a";
	edited.rule = "0 0 1 1 *";
	edited.payload = "edited";
	put_as(&s, &edited);
	struct belfry_id replay = bf_sim_enqueue(s.sim, "a", &old);
	pass(&s, 5 * SEC);
	assert_int_equal(calls_of(&s, replay, BELFRY_STEP_SESSION, calls, ROOM), 1);
	assert_string_equal(calls[0].payload, "a revision 1");
	assert_int_equal(bf_id_compare(calls[0].replayed_from, old), 0);
	scene_end(&s);
}

SCENE(t054_a_replay_of_a_replay_names_the_one_before_and_keeps_the_payload)
{
	struct bf_sim_call calls[ROOM];
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	put(&s, "a", "0 0 1 1 *");
	struct belfry_id first = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, 2 * SEC);
	struct belfry_id second = bf_sim_enqueue(s.sim, "a", &first);
	put(&s, "a", "0 0 2 1 *");
	pass(&s, 2 * SEC);
	struct belfry_id third = bf_sim_enqueue(s.sim, "a", &second);
	pass(&s, 5 * SEC);
	assert_int_equal(calls_of(&s, third, BELFRY_STEP_SESSION, calls, ROOM), 1);
	assert_int_equal(bf_id_compare(calls[0].replayed_from, second), 0);
	assert_string_equal(calls[0].payload, "a revision 1");
	scene_end(&s);
}

int scene_host_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(t045_nothing_starts_after_a_disable_has_answered),
			cmocka_unit_test(t046_runs_that_have_started_go_on_under_a_disable),
			cmocka_unit_test(t047_run_now_and_replay_work_under_a_disable),
			cmocka_unit_test(
					t048_a_started_run_that_the_host_refuses_fails_one_not_started_is_never_called),
			cmocka_unit_test(t049_a_thousand_races_start_nothing_after_the_answer),
			cmocka_unit_test(t050_enable_after_disable_fires_future_times_alone),
			cmocka_unit_test(t051_a_run_now_that_has_answered_survives_a_kill),
			cmocka_unit_test(t052_run_now_leaves_the_next_due_time),
			cmocka_unit_test(
					t053_a_replay_carries_the_captured_payload_and_names_its_source),
			cmocka_unit_test(
					t054_a_replay_of_a_replay_names_the_one_before_and_keeps_the_payload),
			cmocka_unit_test(t056_two_presses_make_two_runs),
			cmocka_unit_test(t057_a_run_asked_for_has_no_due_time),
			cmocka_unit_test(t060_an_edit_leaves_the_payload_of_runs_that_exist),
			cmocka_unit_test(
					t064_a_removed_deployment_fires_no_more_and_its_started_runs_go_on),
			cmocka_unit_test(a_removal_holds_against_a_put_that_lands_late),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
