/* Belfry's own statements that virtual time proves most. */
#include "scene.h"

#include "engine/jitter.h"

/* ---- B01 --------------------------------------------------------------------------------------- */

#define DEPLOYMENTS 64
#define TRIALS      1000

static void check_deployment(struct scene *s, unsigned i, bool was_covered)
{
	char id[BF_SIM_ID_BYTES];

	(void)snprintf(id, sizeof(id), "d%02u", i);
	belfry_arena_reset(&s->arena);
	bool is_made = has_run(s, id, "2026-12-01T12:01:00Z");
	int64_t missed = count_missed(s, id, "2026-12-01T12:01:00Z", "2026-12-01T12:01:00Z");
	assert_int_equal(count_runs(s, id), is_made);
	assert_int_equal(is_made + missed, 1);
	assert_true(is_made || !was_covered);
	if (is_made) {
		enum belfry_run_state state = run_due(s, id, "2026-12-01T12:01:00Z").state;
		assert_false(bf_run_state_is_open(state));
	}
}

/* One due time each, a kill at any moment around it, and a new start. */
static void kill_once(bool is_single, belfry_duration moment)
{
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:50Z", 1, 40, 0);
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;
	char id[BF_SIM_ID_BYTES];

	deployment.id = id;
	deployment.rule = "1 12 * * *";
	for (unsigned i = 0; i < DEPLOYMENTS; i++) {
		(void)snprintf(id, sizeof(id), "d%02u", i);
		bf_sim_put(s.sim, &deployment);
	}
	bf_sim_run_until(s.sim, at("2026-12-01T12:01:00Z") + moment);
	bf_sim_crash(s.sim, 0);
	pass(&s, 500 * MS);
	bf_sim_start(s.sim, 0);
	pass(&s, 30 * SEC);
	for (unsigned i = 0; i < DEPLOYMENTS; i++) {
		check_deployment(&s, i, moment >= 0);
	}
	scene_leave(&s);
}

static void b01_a_kill_at_any_moment_loses_and_doubles_nothing(void **state)
{
	struct bf_jitter chance = {2026};

	(void)state;
	for (int i = 0; i < TRIALS; i++) {
		/* Half of them in the first milliseconds, where the commits are. */
		belfry_duration moment = i % 2 == 0 ? bf_jitter_between(&chance, 0, 60 * MS)
						    : bf_jitter_between(&chance, -2 * SEC, 2 * SEC);
		kill_once(i % 4 < 2, moment);
	}
}

/* ---- the others -------------------------------------------------------------------------------- */

SCENE(b03_an_edit_fires_nothing_by_itself)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:00Z", 2);

	put(&s, "a", "* * * * *");
	until(&s, "2026-12-01T12:01:30Z");
	size_t before = count_runs(&s, "a");
	put(&s, "a", "*/2 * * * *");
	until(&s, "2026-12-01T12:01:59Z");
	assert_int_equal(count_runs(&s, "a"), before);
	until(&s, "2026-12-01T12:03:59Z");
	assert_int_equal(count_runs(&s, "a"), before + 1);
	assert_int_equal(run_due(&s, "a", "2026-12-01T12:02:00Z").revision, 2);
	scene_end(&s);
}

SCENE(b07_a_clock_stepped_a_day_forward_and_back_fires_nothing_twice)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 2);

	put(&s, "a", "*/10 * * * *");
	until(&s, "2026-12-01T12:11:00Z");
	bf_sim_step_clock(s.sim, BELFRY_DAY);
	pass(&s, 10 * MIN);
	assert_true(has_run(&s, "a", "2026-12-02T12:20:00Z"));
	assert_false(has_run(&s, "a", "2026-12-01T18:00:00Z"));
	assert_int_equal(count_missed(&s, "a", "2026-12-01T12:20:00Z", "2026-12-02T12:10:00Z"),
			144);
	bf_sim_step_clock(s.sim, -BELFRY_DAY);
	pass(&s, 10 * MIN);
	assert_true(has_run(&s, "a", "2026-12-01T12:30:00Z"));
	assert_int_equal(run_due(&s, "a", "2026-12-01T12:30:00Z").state, BELFRY_RUN_DISPATCHED);
	assert_int_equal(count_runs(&s, "a"), 3);
	pass(&s, BELFRY_DAY);
	struct belfry_id again = run_due(&s, "a", "2026-12-02T12:20:00Z").id;
	assert_int_equal(count_calls(&s, again, BELFRY_STEP_SESSION), 1);
	scene_end(&s);
}

SCENE(b08_a_process_frozen_for_an_hour_misses_what_it_did_not_cover)
{
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	put(&s, "a", "*/10 * * * *");
	until(&s, "2026-12-01T12:15:00Z");
	bf_sim_freeze(s.sim, 0);
	until(&s, "2026-12-01T13:15:00Z");
	bf_sim_unfreeze(s.sim, 0);
	until(&s, "2026-12-01T13:21:00Z");
	assert_int_equal(count_runs(&s, "a"), 2);
	assert_true(has_run(&s, "a", "2026-12-01T13:20:00Z"));
	assert_int_equal(count_missed(&s, "a", "2026-12-01T12:20:00Z", "2026-12-01T13:10:00Z"), 6);
	scene_end(&s);
}

/* Runs made faster than dispatched: memory stays within its places, the oldest are served first. */
SCENE(b13_an_overload_stays_bounded_and_serves_the_oldest_first)
{
	struct bf_sim_reply slow = {.kind = BF_SIM_REPLY_OK, .delay = 90 * SEC};
	struct scene s = scene_begin_small(is_single, "2026-12-01T12:00:30Z", 2, 4, 0);
	char id[BF_SIM_ID_BYTES];
	size_t count;

	bf_sim_set_handler(s.sim, answer_always, &slow);
	for (unsigned i = 0; i < 10; i++) {
		(void)snprintf(id, sizeof(id), "d%02u", i);
		put(&s, id, "* * * * *");
	}
	for (int i = 0; i < 300; i++) {
		pass(&s, 7 * SEC);
		assert_true(bf_sim_held(s.sim, 0) <= 4);
		assert_true(bf_sim_held(s.sim, 1) <= 4);
	}
	const struct bf_sim_call *calls = bf_sim_calls(s.sim, &count);
	belfry_time latest = 0;
	for (size_t i = 0; i < count; i++) {
		if (calls[i].step == BELFRY_STEP_SESSION && calls[i].attempt == 1) {
			/* Two replicas claim side by side: a minute's Runs may be mixed. */
			assert_true(calls[i].due_at >= latest - 2 * MIN);
			latest = calls[i].due_at > latest ? calls[i].due_at : latest;
		}
	}
	assert_true(latest < bf_sim_now(s.sim) - 15 * MIN);
	scene_end(&s);
}

static void start_late(bool is_single, const char *start, bool is_fired)
{
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;
	struct scene s = scene_begin(is_single, "2026-12-01T11:50:00Z", 1);

	deployment.id = "a";
	deployment.rule = "0 12 * * *";
	deployment.policies.grace = MIN;
	put_as(&s, &deployment);
	bf_sim_stop(s.sim, 0, SEC);
	until(&s, start);
	bf_sim_start(s.sim, 0);
	pass(&s, MIN);
	assert_int_equal(count_runs(&s, "a"), is_fired);
	assert_int_equal(count_missed(&s, "a", "2026-12-01T12:00:00Z", "2026-12-01T12:00:00Z"),
			!is_fired);
	scene_end(&s);
}

SCENE(b24_a_start_within_the_grace_fires_once_a_later_one_misses)
{
	start_late(is_single, "2026-12-01T12:00:03Z", true);
	start_late(is_single, "2026-12-01T12:02:00Z", false);
}

/* ---- found by worlds --------------------------------------------------------------------------- */

/* The takeover's answer is lost: the Run is found among what is ours, and is abandoned all the same. */
SCENE(an_abandoned_run_is_not_called_when_the_takeovers_answer_is_lost)
{
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;
	struct bf_sim_reply hang = {.kind = BF_SIM_REPLY_HANG};
	struct scene s = scene_begin(is_single, "2026-12-01T12:00:30Z", 1);

	bf_sim_set_handler(s.sim, answer_always, &hang);
	deployment.id = "a";
	deployment.rule = "1 12 * * *";
	deployment.policies.interrupted = BELFRY_INTERRUPTED_ABANDON;
	put_as(&s, &deployment);
	until(&s, "2026-12-01T12:01:02Z");
	bf_sim_crash(s.sim, 0);
	bf_sim_start(s.sim, 0);
	bf_sim_set_trap(s.sim,
			(struct bf_sim_trap){.replica = BF_SIM_ANY_REPLICA,
					.op = BF_SIM_CLAIM,
					.record = BELFRY_CLAIM_TAKEOVER,
					.fate = BF_SIM_LOST_ACK,
					.count = 1000});
	while (run_due(&s, "a", "2026-12-01T12:01:00Z").takeovers == 0) {
		pass(&s, 50 * MS);
	}
	scene_end(&s);
}

int scene_belfry_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(b01_a_kill_at_any_moment_loses_and_doubles_nothing),
			cmocka_unit_test(b03_an_edit_fires_nothing_by_itself),
			cmocka_unit_test(
					b07_a_clock_stepped_a_day_forward_and_back_fires_nothing_twice),
			cmocka_unit_test(
					b08_a_process_frozen_for_an_hour_misses_what_it_did_not_cover),
			cmocka_unit_test(b13_an_overload_stays_bounded_and_serves_the_oldest_first),
			cmocka_unit_test(
					b24_a_start_within_the_grace_fires_once_a_later_one_misses),
			cmocka_unit_test(
					an_abandoned_run_is_not_called_when_the_takeovers_answer_is_lost),
	};

	return cmocka_run_group_tests_name("belfry", tests, NULL, NULL);
}
