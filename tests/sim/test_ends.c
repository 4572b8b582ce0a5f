/* Runs that the host ends while they wait or are being called, and calls that never end by themselves. */
#include "scene.h"

#define ROOM 16

static struct bf_sim_reply hang = {.kind = BF_SIM_REPLY_HANG};

/* A minute's rule, until its first Run is made and called. */
static struct belfry_id first_run(struct scene *s)
{
	put(s, "a", "1 12 * * *");
	until(s, "2026-12-01T12:01:02Z");
	return run_due(s, "a", "2026-12-01T12:01:00Z").id;
}

static bool is_told(struct scene *s, struct belfry_id run, enum belfry_step step)
{
	struct bf_sim_call calls[ROOM];
	size_t count = calls_of(s, run, step, calls, ROOM);

	assert_in_range(count, 1, ROOM);
	return calls[count - 1].is_cancelled;
}

static void assert_cancelled(struct scene *s, struct belfry_id id)
{
	struct belfry_run run = run_of(s, id);

	assert_int_equal(run.state, BELFRY_RUN_CANCELLED);
	assert_int_equal(run.status, BELFRY_STATUS_CANCELLED);
	assert_int_equal(run.error, BELFRY_RUN_ERROR_CANCELLED);
}

SCENE(a_cancel_reaches_the_holder_within_a_beat_whichever_host_asked)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 3);

	bf_sim_set_handler(s.sim, answer_always, &hang);
	struct belfry_id id = first_run(&s);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	assert_int_equal(bf_sim_cancel(s.sim, id), BELFRY_OK);
	assert_int_equal(bf_sim_cancel(s.sim, id), BELFRY_OK);
	pass(&s, 3 * SEC);
	assert_true(is_told(&s, id, BELFRY_STEP_SESSION));
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(bf_sim_held(s.sim, i), 0);
	}
	pass(&s, 10 * MIN);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	assert_cancelled(&s, id);
	scene_end(&s);
}

SCENE(a_cancel_between_session_and_turn_keeps_the_turn_from_being_called)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	put(&s, "a", "1 12 * * *");
	trap(&s, BF_SIM_RECORD, BELFRY_RECORD_SESSION, BF_SIM_LATE_ACK, 20 * SEC);
	until(&s, "2026-12-01T12:01:05Z");
	struct belfry_id id = run_due(&s, "a", "2026-12-01T12:01:00Z").id;
	assert_int_equal(run_of(&s, id).session.len > 0, 1);
	assert_int_equal(bf_sim_cancel(s.sim, id), BELFRY_OK);
	pass(&s, MIN);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_TURN), 0);
	assert_cancelled(&s, id);
	scene_end(&s);
}

SCENE(a_cancel_that_comes_before_the_news_of_the_birth_keeps_it_from_being_called)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	put(&s, "a", "1 12 * * *");
	trap(&s, BF_SIM_ADVANCE, BF_SIM_ANY_RECORD, BF_SIM_LATE_ACK, MIN);
	until(&s, "2026-12-01T12:01:10Z");
	struct belfry_id id = run_due(&s, "a", "2026-12-01T12:01:00Z").id;
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHING);
	assert_int_equal(bf_sim_cancel(s.sim, id), BELFRY_OK);
	pass(&s, 5 * MIN);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 0);
	assert_cancelled(&s, id);
	scene_end(&s);
}

SCENE(a_run_that_waits_is_cancelled_without_a_call)
{
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:30Z", 1, 1, 10);

	bf_sim_set_handler(s.sim, answer_always, &hang);
	struct belfry_id open = first_run(&s);
	struct belfry_id waiting = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, SEC);
	assert_int_equal(count_calls(&s, waiting, BELFRY_STEP_SESSION), 0);
	assert_int_equal(bf_sim_cancel(s.sim, waiting), BELFRY_OK);
	assert_int_equal(bf_sim_cancel(s.sim, open), BELFRY_OK); /* and its place is free */
	struct belfry_id next = bf_sim_enqueue(s.sim, "a", NULL);
	pass(&s, 5 * SEC);
	assert_int_equal(count_calls(&s, waiting, BELFRY_STEP_SESSION), 0);
	assert_int_equal(count_calls(&s, next, BELFRY_STEP_SESSION), 1);
	assert_cancelled(&s, waiting);
	assert_int_equal(bf_sim_cancel(s.sim, next), BELFRY_OK); /* it would hang for ever */
	scene_end(&s);
}

SCENE(a_frozen_holder_drops_a_cancelled_run_when_it_goes_on)
{
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OK, .delay = 3 * SEC};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);
	struct bf_sim_call calls[ROOM];

	bf_sim_set_handler(s.sim, answer_always, &slow);
	struct belfry_id id = first_run(&s);
	assert_int_equal(calls_of(&s, id, BELFRY_STEP_SESSION, calls, ROOM), 1);
	bf_sim_freeze(s.sim, calls[0].replica);
	assert_int_equal(bf_sim_cancel(s.sim, id), BELFRY_OK);
	pass(&s, MIN); /* it is declared dead, and nobody takes the Run over */
	bf_sim_unfreeze(s.sim, calls[0].replica);
	pass(&s, MIN);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_TURN), 0);
	assert_cancelled(&s, id);
	scene_end(&s);
}

SCENE(b19_conclude_is_idempotent_and_the_first_terminal_status_stays)
{
	struct bf_sim_reply open = {.kind = BF_SIM_REPLY_OPEN, .delay = 10 * MS};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	bf_sim_set_handler(s.sim, answer_always, &open);
	struct belfry_id id = first_run(&s);
	assert_int_equal(run_of(&s, id).status, BELFRY_STATUS_RUNNING);
	assert_int_equal(bf_sim_conclude(s.sim, id, BELFRY_STATUS_FAILED), BELFRY_OK);
	assert_int_equal(bf_sim_conclude(s.sim, id, BELFRY_STATUS_FAILED), BELFRY_OK);
	assert_int_equal(bf_sim_conclude(s.sim, id, BELFRY_STATUS_COMPLETED), BELFRY_CONFLICT);
	assert_int_equal(bf_sim_cancel(s.sim, id), BELFRY_CONFLICT);
	pass(&s, MIN);
	assert_int_equal(run_of(&s, id).status, BELFRY_STATUS_FAILED);
	scene_end(&s);
}

/* The host says how the turn ended while its admission is still on its way. */
SCENE(b19_a_turn_that_was_concluded_before_its_answer_came_is_dispatched_once)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OPEN, .delay = 4 * SEC};

	bf_sim_set_handler(s.sim, answer_always, &slow);
	put(&s, "a", "1 12 * * *");
	until(&s, "2026-12-01T12:01:06Z");
	struct belfry_id id = run_due(&s, "a", "2026-12-01T12:01:00Z").id;
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_TURN), 1);
	assert_int_equal(bf_sim_conclude(s.sim, id, BELFRY_STATUS_COMPLETED), BELFRY_OK);
	pass(&s, 5 * MIN);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(run_of(&s, id).status, BELFRY_STATUS_COMPLETED);
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_TURN), 1);
	assert_int_equal(bf_sim_held(s.sim, 0), 0);
	scene_end(&s);
}

/* Only one deployment's handler hangs. */
static struct bf_sim_reply hang_a(void *data, const struct bf_sim_call *call)
{
	(void)data;
	return strcmp(call->deployment, "a") == 0
			? hang
			: (struct bf_sim_reply){.kind = BF_SIM_REPLY_OK, .delay = 10 * MS};
}

SCENE(b10_a_call_that_hangs_ends_by_its_limit_while_beats_and_others_go_on)
{
	struct bf_sim_deployment a = BF_SIM_DEPLOYMENT_INIT;
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:30Z", 1, 4, 10);

	a.id = "a";
	a.rule = "1 12 * * *";
	a.policies.timeout = 2 * MIN;
	a.policies.max_attempts = 1;
	bf_sim_set_handler(s.sim, hang_a, NULL);
	put_as(&s, &a);
	put(&s, "b", "* * * * *");
	struct belfry_id incarnation = bf_sim_incarnation(s.sim, 0);
	until(&s, "2026-12-01T12:02:55Z"); /* many leases of eight seconds */
	struct belfry_id id = run_due(&s, "a", "2026-12-01T12:01:00Z").id;
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_DISPATCHING);
	assert_int_equal(run_due(&s, "b", "2026-12-01T12:01:00Z").status, BELFRY_STATUS_COMPLETED);
	assert_int_equal(run_due(&s, "b", "2026-12-01T12:02:00Z").status, BELFRY_STATUS_COMPLETED);
	pass(&s, 10 * SEC);
	assert_int_equal(run_of(&s, id).state, BELFRY_RUN_FAILED);
	assert_int_equal(run_of(&s, id).error, BELFRY_RUN_ERROR_TIMEOUT);
	assert_true(is_told(&s, id, BELFRY_STEP_SESSION));
	assert_int_equal(count_calls(&s, id, BELFRY_STEP_SESSION), 1);
	assert_int_equal(bf_id_compare(bf_sim_incarnation(s.sim, 0), incarnation), 0);
	scene_end(&s);
}

int scene_ends_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(
					a_cancel_reaches_the_holder_within_a_beat_whichever_host_asked),
			cmocka_unit_test(
					a_cancel_between_session_and_turn_keeps_the_turn_from_being_called),
			cmocka_unit_test(
					a_cancel_that_comes_before_the_news_of_the_birth_keeps_it_from_being_called),
			cmocka_unit_test(a_run_that_waits_is_cancelled_without_a_call),
			cmocka_unit_test(a_frozen_holder_drops_a_cancelled_run_when_it_goes_on),
			cmocka_unit_test(
					b19_conclude_is_idempotent_and_the_first_terminal_status_stays),
			cmocka_unit_test(
					b19_a_turn_that_was_concluded_before_its_answer_came_is_dispatched_once),
			cmocka_unit_test(
					b10_a_call_that_hangs_ends_by_its_limit_while_beats_and_others_go_on),
	};

	return cmocka_run_group_tests_name("ends", tests, NULL, NULL);
}
