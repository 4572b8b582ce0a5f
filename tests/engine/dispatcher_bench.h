/* A dispatcher, driven event by event with a store and a handler made up here: what its tests share. */
#ifndef ENGINE_DISPATCHER_BENCH_H
#define ENGINE_DISPATCHER_BENCH_H

#include "engine/dispatcher.h"
#include "support.h"

#define TICK BELFRY_SECOND
#define US   ((belfry_fence)1000)

struct bench {
	struct bf_dispatcher *dispatcher;
	struct bf_dispatcher_orders orders;
	struct bf_boot_time now;
	struct bf_tickets tickets; /* summed up over all orders */
	struct belfry_id low;
	size_t low_count;
	size_t released;
	size_t cancelled;
	struct bf_answer answers[64];
	size_t answer_count;
	struct bf_buf definition;
};

static const struct bf_answer session_s = {.kind = BF_ANSWER_SESSION, .name = {"s-1", 3}};
static const struct bf_answer turn_t = {.kind = BF_ANSWER_TURN, .name = {"t-1", 3}};
static const struct bf_answer retry_r = {.kind = BF_ANSWER_RETRY,
		.error = BELFRY_RUN_ERROR_TARGET_UNREACHABLE};

void set_up_dispatcher_with(void **state, uint32_t max_runs, uint64_t seed);
int set_up_dispatcher(void **state);
int set_up_one_place(void **state);
int tear_down_dispatcher(void **state);
void feed(struct bench *b, struct bf_dispatcher_event event);
void wake_up(struct bench *b);
void let_pass(struct bench *b, belfry_duration d);
void store_done(struct bench *b, enum belfry_status status);
void give_cover(struct bench *b, unsigned id);
/* The queue, takeovers and what is ours: nothing there. */
void answer_claims(struct bench *b);
void begin_dispatch(struct bench *b);
struct bf_owned_run owned(unsigned n);
void bear(struct bench *b, const struct bf_owned_run *runs, size_t count);
/* The payloads that were asked for. */
void answer_load(struct bench *b);
void answer_records(struct bench *b, enum belfry_status result);
void answer_call(struct bench *b, struct bf_token token, struct bf_answer answer);
/* One Run of ours whose call of the given step is open. */
struct bf_token open_call(struct bench *b, struct bf_owned_run run);
void claim_one(struct bench *b, struct belfry_claimed claimed);
struct belfry_claimed claimed_run(unsigned n, uint32_t takeovers, const char *session);
/* Runs the claims that come until a payload is read or a record is written. */
void finish_claims(struct bench *b);

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up_dispatcher, tear_down_dispatcher)

#endif
