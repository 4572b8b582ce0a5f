/* Short words for directed scenes. */
#include "scene.h"

struct belfry_zones *scene_zones;

belfry_time at(const char *rfc3339)
{
	belfry_time time = 0;

	assert_int_equal(bf_time_parse(bf_str(rfc3339), &time), BELFRY_OK);
	return time;
}

struct scene scene_begin_small(bool is_single, const char *start, unsigned replicas,
		uint32_t max_runs, uint32_t recovery_limit)
{
	struct bf_sim_config config = {.seed = 7,
			.zones = scene_zones,
			.replicas = replicas,
			.single_document = is_single,
			.start = at(start),
			.max_runs = max_runs,
			.recovery_limit = recovery_limit};
	struct scene scene = {.is_single = is_single};

	bf_sim_new(&config, &scene.sim);
	for (unsigned i = 0; i < replicas; i++) {
		bf_sim_start(scene.sim, i);
	}
	bf_sim_run(scene.sim, 2500 * MS);
	return scene;
}

struct scene scene_begin(bool is_single, const char *start, unsigned replicas)
{
	return scene_begin_small(is_single, start, replicas, 0, 0);
}

static void assert_held(struct scene *scene)
{
	const char *failure = bf_sim_failure(scene->sim);

	if (failure != NULL) {
		(void)fprintf(stderr, "%s", failure);
	}
	assert_null(failure);
}

void scene_leave(struct scene *scene)
{
	assert_held(scene);
	bf_sim_free(scene->sim);
	belfry_arena_fini(&scene->arena);
}

void scene_end(struct scene *scene)
{
	bf_sim_finish(scene->sim);
	scene_leave(scene);
}

void put_as(struct scene *scene, const struct bf_sim_deployment *deployment)
{
	bf_sim_put(scene->sim, deployment);
	bf_sim_settle(scene->sim, deployment->id);
	assert_held(scene);
	assert_true(bf_sim_is_settled(scene->sim, deployment->id));
}

void put(struct scene *scene, const char *id, const char *rule)
{
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;

	deployment.id = id;
	deployment.rule = rule;
	put_as(scene, &deployment);
}

void disable(struct scene *scene, const char *id, const char *rule)
{
	struct bf_sim_deployment deployment = BF_SIM_DEPLOYMENT_INIT;

	deployment.id = id;
	deployment.rule = rule;
	deployment.is_disabled = true;
	put_as(scene, &deployment);
}

void remove_it(struct scene *scene, const char *id)
{
	bf_sim_remove(scene->sim, id);
	bf_sim_settle(scene->sim, id);
	assert_held(scene);
	assert_true(bf_sim_is_settled(scene->sim, id));
}

void until(struct scene *scene, const char *rfc3339)
{
	belfry_time time = at(rfc3339);

	assert_true(time >= bf_sim_now(scene->sim));
	bf_sim_run_until(scene->sim, time);
	assert_held(scene);
}

void pass(struct scene *scene, belfry_duration duration)
{
	bf_sim_run(scene->sim, duration);
	assert_held(scene);
}

size_t count_runs(struct scene *scene, const char *id)
{
	struct belfry_run *runs;
	size_t count;

	bf_sim_list_runs(scene->sim, id, &scene->arena, &runs, &count);
	return count;
}

static bool find_due(struct scene *scene, const char *id, const char *rfc3339,
		struct belfry_run *ret_run)
{
	struct belfry_id run;

	assert_int_equal(belfry_run_id(bf_str(id), at(rfc3339), &run), BELFRY_OK);
	return bf_sim_find_run(scene->sim, run, &scene->arena, ret_run);
}

bool has_run(struct scene *scene, const char *id, const char *rfc3339)
{
	struct belfry_run run;

	return find_due(scene, id, rfc3339, &run);
}

struct belfry_run run_due(struct scene *scene, const char *id, const char *rfc3339)
{
	struct belfry_run run = {0};

	if (!find_due(scene, id, rfc3339, &run)) {
		fail_msg("%s has no Run for %s", id, rfc3339);
	}
	assert_int_equal(run.due_at, at(rfc3339));
	return run;
}

struct belfry_run run_of(struct scene *scene, struct belfry_id id)
{
	struct belfry_run run = {0};

	assert_true(bf_sim_find_run(scene->sim, id, &scene->arena, &run));
	return run;
}

int64_t count_missed(struct scene *scene, const char *id, const char *from, const char *to)
{
	struct belfry_gap *gaps;
	size_t count;
	int64_t missed = 0;

	bf_sim_list_gaps(scene->sim, id, &scene->arena, &gaps, &count);
	for (size_t i = 0; i < count; i++) {
		if (gaps[i].from >= at(from) && gaps[i].to <= at(to)) {
			missed += gaps[i].count;
		}
	}
	return missed;
}

size_t calls_of(struct scene *scene, struct belfry_id run, enum belfry_step step,
		struct bf_sim_call *ret_calls, size_t room)
{
	size_t count;
	size_t found = 0;
	const struct bf_sim_call *calls = bf_sim_calls(scene->sim, &count);

	for (size_t i = 0; i < count; i++) {
		bool fits = calls[i].step == step && bf_id_compare(calls[i].run, run) == 0;
		if (fits && found < room) {
			ret_calls[found] = calls[i];
		}
		found += fits;
	}
	return found;
}

size_t count_calls(struct scene *scene, struct belfry_id run, enum belfry_step step)
{
	return calls_of(scene, run, step, NULL, 0);
}

struct bf_sim_reply answer_always(void *data, const struct bf_sim_call *call)
{
	const struct bf_sim_reply *reply = data;

	(void)call;
	return *reply;
}

void trap(struct scene *scene, enum bf_sim_op op, int record, enum bf_sim_fate fate,
		belfry_duration delay)
{
	bf_sim_set_trap(scene->sim,
			(struct bf_sim_trap){.replica = BF_SIM_ANY_REPLICA,
					.op = op,
					.record = record,
					.fate = fate,
					.delay = delay});
}
