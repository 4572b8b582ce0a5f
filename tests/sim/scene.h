/* What the directed scenes share: a simulator without faults of its own, short words for the world, and
 * questions about it. Every scene is played in both modes of the store. */
#ifndef TEST_SIM_SCENE_H
#define TEST_SIM_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "base/timefmt.h"
#include "model/run.h"
#include "sim/sim.h"

#define MS  BELFRY_MILLISECOND
#define SEC BELFRY_SECOND
#define MIN BELFRY_MINUTE

struct scene {
	struct bf_sim *sim;
	struct belfry_arena arena; /* of answers: until the scene is over */
	bool is_single;
};

extern struct belfry_zones *scene_zones;

belfry_time at(const char *rfc3339);
/* `replicas` of them run and cover. 2 s beats, 8 s lease; the handler answers after 10 ms. */
struct scene scene_begin(bool is_single, const char *start, unsigned replicas);
/* The same with other places, and a recovery limit. */
struct scene scene_begin_small(bool is_single, const char *start, unsigned replicas,
		uint32_t max_runs, uint32_t recovery_limit);
/* Runs the quiet hours and checks every invariant; then everything is freed. */
void scene_end(struct scene *scene);
/* Frees, and asks only for the invariants seen so far. */
void scene_leave(struct scene *scene);

void put(struct scene *scene, const char *id, const char *rule);
void put_as(struct scene *scene, const struct bf_sim_deployment *deployment);
void disable(struct scene *scene, const char *id, const char *rule);
void remove_it(struct scene *scene, const char *id);
void until(struct scene *scene, const char *rfc3339);
void pass(struct scene *scene, belfry_duration duration);

size_t count_runs(struct scene *scene, const char *id);
/* The Run of a due time; fails where there is none. */
struct belfry_run run_due(struct scene *scene, const char *id, const char *rfc3339);
bool has_run(struct scene *scene, const char *id, const char *rfc3339);
struct belfry_run run_of(struct scene *scene, struct belfry_id id);
/* Due times that the ledger counts between (both ends count). */
int64_t count_missed(struct scene *scene, const char *id, const char *from, const char *to);
/* The calls of a Run, of one step; ret_calls has room for `room`. */
size_t calls_of(struct scene *scene, struct belfry_id run, enum belfry_step step,
		struct bf_sim_call *ret_calls, size_t room);
size_t count_calls(struct scene *scene, struct belfry_id run, enum belfry_step step);

/* A handler that answers the same to everything: data is a struct bf_sim_reply. */
struct bf_sim_reply answer_always(void *data, const struct bf_sim_call *call);
void trap(struct scene *scene, enum bf_sim_op op, int record, enum bf_sim_fate fate,
		belfry_duration delay);

/* Defines a cmocka test that plays `name_in(bool is_single)` in both modes. */
#define SCENE(name)                                                                                \
	static void name##_in(bool is_single);                                                     \
	static void name(void **state)                                                             \
	{                                                                                          \
		(void)state;                                                                       \
		name##_in(false);                                                                  \
		name##_in(true);                                                                   \
	}                                                                                          \
	static void name##_in(bool is_single)

/* Each file's group. */
int scene_due_tests(void);
int scene_dispatch_tests(void);
int scene_ends_tests(void);
int scene_host_tests(void);
int scene_belfry_tests(void);

#endif
