/* A planner, driven event by event with a store's answers made up here: what its tests share. */
#ifndef ENGINE_PLANNER_BENCH_H
#define ENGINE_PLANNER_BENCH_H

#include "engine/planner.h"
#include "support.h"

#define TICK  BELFRY_SECOND
#define LEASE (8 * BELFRY_SECOND)

struct bench {
	struct bf_planner *planner;
	struct bf_planner_orders orders;
	struct bf_boot_time now;
	belfry_time store_now;
	struct bf_buf definition; /* "* * * * *" */
	struct bf_list done;      /* requests that were answered */
	struct bf_born *born;     /* the last news, kept until the next */
};

int set_up(void **state);
int tear_down(void **state);
void step(struct bench *b, struct bf_planner_event event);
void wake(struct bench *b);
void pass_time(struct bench *b, belfry_duration d);
void done(struct bench *b, enum belfry_status status);
void cover_alone(struct bench *b, unsigned id, belfry_time from);
void tickets(struct bench *b, unsigned id, uint32_t places);
/* A cover as it comes: the dispatcher sends tickets with it, here none yet. */
void cover(struct bench *b, unsigned id, belfry_time from);
struct belfry_schedule_row row(const struct bench *b, const char *id, belfry_time cursor);
/* The answer to a read that is under way. */
void answer_rows(struct bench *b, struct belfry_schedule_row *rows, size_t count,
		belfry_time next_due);
void answer_incarnations(struct bench *b, struct belfry_incarnation *rows, size_t count);
/* The answer to a commit: every item the same, every Run inserted. */
void answer_commit(struct bench *b, enum belfry_status result);
/* Covered since nine, with a due pass under way. */
void begin_pass(struct bench *b);
void post(struct bench *b, struct bf_plan_request *request);
struct bf_plan_request put_of(const struct bench *b, const char *id, int64_t revision,
		uint32_t flags, const struct bf_buf *definition);
bool is_done(const struct bench *b, const struct bf_plan_request *request);

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
