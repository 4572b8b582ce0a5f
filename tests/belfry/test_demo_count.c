/* The demo's sum must not be kinder than the truth: each way of breaking the promise shows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/json.h"
#include "base/timefmt.h"
#include "belfry/demo_count.h"

#define SECOND_0 (INT64_C(1796126400) * BELFRY_SECOND)
#define CALLS    5

/* One bell, due at seconds 1 to 5; every Run COMPLETED, every call 2 ms late. */
struct scene {
	struct bf_demo_bell bell;
	struct bf_demo_call calls[CALLS + 2];
	size_t call_count;
	json_t *runs;
	struct bf_demo_pause pause;
};

static belfry_time second(int number)
{
	return SECOND_0 + number * BELFRY_SECOND;
}

static void put_run(struct scene *scene, int number, const char *status)
{
	char due[BF_TIME_TEXT_BYTES];

	bf_time_format(second(number), 0, due);
	assert_int_equal(json_array_append_new(scene->runs,
					 json_pack("{s:s, s:s}", "due_at", due, "status", status)),
			0);
}

static void put_call(struct scene *scene, int number, belfry_duration late)
{
	struct bf_demo_call *call = &scene->calls[scene->call_count++];

	*call = (struct bf_demo_call){.due = second(number), .arrived = second(number) + late};
	memcpy(call->deployment, scene->bell.id, sizeof(call->deployment));
	assert_int_equal(belfry_run_id(bf_str(scene->bell.id), call->due, &call->run), BELFRY_OK);
}

static void open_scene(struct scene *scene)
{
	*scene = (struct scene){.bell = {.id = "bell", .from = SECOND_0 + 1, .to = second(5)},
			.runs = json_array()};
	for (int i = 1; i <= CALLS; i++) {
		put_run(scene, i, "COMPLETED");
		put_call(scene, i, 2 * BELFRY_MILLISECOND);
	}
}

static struct bf_demo_sum close_scene(struct scene *scene)
{
	struct bf_demo_sum sum = {0};

	assert_int_equal(bf_demo_count(&scene->bell, &scene->runs, 1, scene->calls,
					 scene->call_count, scene->pause, &sum),
			BELFRY_OK);
	json_decref(scene->runs);
	return sum;
}

static void a_kept_promise_is_good(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene);
	put_call(&scene, 3, 900 * BELFRY_MILLISECOND);
	struct bf_demo_sum sum = close_scene(&scene);
	assert_true(bf_demo_sum_is_good(&sum));
	assert_int_equal(sum.due, CALLS);
	assert_int_equal(sum.made, CALLS);
	assert_int_equal(sum.repeated, 1);
	assert_int_equal(sum.calls, CALLS + 1);
	assert_int_equal(sum.beyond, 0);
	assert_int_equal(sum.p50, 2 * BELFRY_MILLISECOND);
	assert_int_equal(sum.worst, 2 * BELFRY_MILLISECOND);
}

static void a_due_time_without_a_run_is_lost(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene);
	assert_int_equal(json_array_remove(scene.runs, 2), 0);
	scene.calls[2].due = 0;
	struct bf_demo_sum sum = close_scene(&scene);
	assert_int_equal(sum.lost, 1);
	assert_int_equal(sum.calls, CALLS);
	assert_int_equal(sum.beyond, 1);
	assert_false(bf_demo_sum_is_good(&sum));
}

static void a_run_that_never_called_is_lost(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene);
	scene.call_count--;
	struct bf_demo_sum sum = close_scene(&scene);
	assert_int_equal(sum.lost, 1);
	assert_false(bf_demo_sum_is_good(&sum));
}

static void a_due_time_in_the_pause_is_not_lost(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene);
	scene.pause = (struct bf_demo_pause){.from = second(2) + 1, .to = second(3)};
	assert_int_equal(json_array_remove(scene.runs, 2), 0);
	scene.calls[2].due = 0;
	struct bf_demo_sum sum = close_scene(&scene);
	assert_int_equal(sum.lost, 0);
	assert_int_equal(sum.paused_due, 1);
	assert_int_equal(sum.paused_made, 0);
	assert_true(bf_demo_sum_is_good(&sum));
}

static void two_runs_or_another_id_are_doubled(void **state)
{
	struct scene scene;
	struct bf_demo_sum sum;

	(void)state;
	open_scene(&scene);
	put_run(&scene, 4, "COMPLETED");
	sum = close_scene(&scene);
	assert_int_equal(sum.doubled, 1);
	assert_false(bf_demo_sum_is_good(&sum));
	open_scene(&scene);
	put_call(&scene, 4, BELFRY_MILLISECOND);
	scene.calls[CALLS].run.bytes[15] ^= 1;
	sum = close_scene(&scene);
	assert_int_equal(sum.doubled, 1);
	assert_false(bf_demo_sum_is_good(&sum));
}

static void what_did_not_end_or_came_early_shows(void **state)
{
	struct scene scene;
	struct bf_demo_sum sum;

	(void)state;
	open_scene(&scene);
	assert_int_equal(json_array_remove(scene.runs, 0), 0);
	put_run(&scene, 1, "FAILED");
	sum = close_scene(&scene);
	assert_int_equal(sum.unfinished, 1);
	assert_false(bf_demo_sum_is_good(&sum));
	open_scene(&scene);
	scene.calls[0].arrived = second(1) - 1;
	sum = close_scene(&scene);
	assert_int_equal(sum.early, 1);
	assert_false(bf_demo_sum_is_good(&sum));
}

static void nothing_at_all_is_no_success(void **state)
{
	struct scene scene;

	(void)state;
	open_scene(&scene);
	scene.bell.to = scene.bell.from - BELFRY_SECOND;
	struct bf_demo_sum sum = close_scene(&scene);
	assert_int_equal(sum.due, 0);
	assert_false(bf_demo_sum_is_good(&sum));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_kept_promise_is_good),
			cmocka_unit_test(a_due_time_without_a_run_is_lost),
			cmocka_unit_test(a_run_that_never_called_is_lost),
			cmocka_unit_test(a_due_time_in_the_pause_is_not_lost),
			cmocka_unit_test(two_runs_or_another_id_are_doubled),
			cmocka_unit_test(what_did_not_end_or_came_early_shows),
			cmocka_unit_test(nothing_at_all_is_no_success),
	};

	bf_json_init();
	return cmocka_run_group_tests_name("demo", tests, NULL, NULL);
}
