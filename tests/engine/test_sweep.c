/* Create, plan, dispatch, record, crash and recover, with one allocation after another failing: each due
 * time has its Run all the same, each Run ends, and nothing leaks. The same for the store's calls. */
#include "cases.h"

#include "rig.h"

static void check_world(struct rig_world *world, struct belfry_arena *arena, belfry_time from,
		belfry_time to)
{
	for (belfry_time due = from; due <= to; due += BELFRY_SECOND) {
		struct belfry_id id;
		struct belfry_list list = {.kind = BELFRY_LIST_RUN_IDS,
				.run_ids = &id,
				.run_id_count = 1,
				.limit = 1};
		size_t sessions = 0;
		size_t turns = 0;
		assert_int_equal(belfry_run_id(BF_STR("a"), due, &id), BELFRY_OK);
		assert_int_equal(bf_store_list(world->store, &list, arena, NULL), BELFRY_OK);
		assert_int_equal(list.count, 1);
		assert_int_equal(list.runs[0].state, BELFRY_RUN_DISPATCHED);
		for (size_t i = 0; i < world->call_count; i++) {
			bool is_it = bf_id_compare(world->calls[i].run, id) == 0;
			sessions += is_it && world->calls[i].step == BELFRY_STEP_SESSION;
			turns += is_it && world->calls[i].step == BELFRY_STEP_TURN;
		}
		assert_true(sessions >= 1 && turns >= 1);
	}
}

/* The whole story; the fault is armed inside it. */
static int64_t tell_story(struct bf_fault *(*fault_of)(struct rig_world *), int64_t call,
		int64_t repeat)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	static struct rig_world world;

	rig_world_init(&world);
	struct rig *rig = rig_new(&world, 7);
	assert_non_null(rig);
	bf_fault_arm(fault_of(&world), call, repeat);
	rig_run(rig, 100 * BELFRY_MILLISECOND);
	for (int i = 0; i < 5; i++) {
		if (rig_put(rig, "a", 1, true) == BELFRY_OK) {
			break;
		}
	}
	/* The first due times may come while the fault delays the coverage. */
	belfry_time from = world.wall - world.wall % BELFRY_SECOND + 3 * BELFRY_SECOND;
	rig_run(rig, 6 * BELFRY_SECOND);
	rig_free(rig); /* a crash */
	rig = rig_new(&world, 100 + (uint64_t)call);
	for (int i = 0; i < 20 && rig == NULL; i++) {
		rig = rig_new(&world, 200);
	}
	assert_non_null(rig);
	rig_run(rig, 20 * BELFRY_SECOND);
	for (int i = 0; i < 5; i++) {
		if (rig_put(rig, "a", 2, false) == BELFRY_OK) {
			break;
		}
	}
	rig_run(rig, 2 * BELFRY_SECOND);
	int64_t fired = bf_fault_fired(fault_of(&world));
	bf_fault_arm(fault_of(&world), 0, 0);
	rig_run(rig, 10 * BELFRY_SECOND);
	check_world(&world, &arena, from, from + 2 * BELFRY_SECOND);
	assert_true(rig_stop(rig));
	rig_free(rig);
	rig_world_fini(&world);
	return fired;
}

static struct bf_fault *allocator(struct rig_world *world)
{
	(void)world;
	return bf_alloc_fault();
}

static struct bf_fault *before(struct rig_world *world)
{
	return bf_store_fault_before(world->store);
}

static struct bf_fault *after(struct rig_world *world)
{
	return bf_store_fault_after(world->store);
}

static void without_faults_the_story_ends_well(void **state)
{
	(void)state;
	assert_int_equal(tell_story(before, 0, 0), 0);
}

static void it_ends_well_with_each_allocation_failing(void **state)
{
	int64_t call = 1;

	(void)state;
	while (tell_story(allocator, call, 1) > 0 && call < 20000) {
		call++;
	}
	assert_in_range(call, 101, 19999);
}

static void it_ends_well_with_ten_allocations_failing_in_a_row(void **state)
{
	int64_t call = 30; /* the machines are made by then */

	(void)state;
	while (tell_story(allocator, call, 10) > 0 && call < 20000) {
		call += 3;
	}
	assert_in_range(call, 101, 19999);
}

static void t021_it_ends_well_with_each_store_call_failing(void **state)
{
	int64_t call = 1;

	(void)state;
	while (tell_story(before, call, 1) > 0 && call < 5000) {
		call++;
	}
	assert_in_range(call, 51, 4999); /* it came to an end by itself */
}

static void t021_it_ends_well_with_each_store_answer_lost(void **state)
{
	int64_t call = 1;

	(void)state;
	while (tell_story(after, call, 1) > 0 && call < 5000) {
		call++;
	}
	assert_in_range(call, 51, 4999); /* it came to an end by itself */
}

int run_sweep_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(without_faults_the_story_ends_well),
			cmocka_unit_test(it_ends_well_with_each_allocation_failing),
			cmocka_unit_test(it_ends_well_with_ten_allocations_failing_in_a_row),
			cmocka_unit_test(t021_it_ends_well_with_each_store_call_failing),
			cmocka_unit_test(t021_it_ends_well_with_each_store_answer_lost),
	};
	return cmocka_run_group_tests_name("sweep", tests, NULL, NULL);
}
