/* The store's calls fail one after another: call 1, 2, 3, ... until none fires; after each the store is
 * opened again, every due time has its Run, and every Run ends. Many hosts at once, each on a store of
 * its own, because a due time takes a second to come. */
#include "cases.h"

#include "host.h"

enum { LANES = 12, CALLS_SWEPT = 36, SQLITE_CALLS_SWEPT = 24 };

struct lane {
	struct shelf shelf;
	struct host *host;
	belfry_time from;
	belfry_time to;
	int64_t fired;
	struct belfry_id manual;
	pthread_t thread;
};

static struct bf_fault *fault_of(struct lane *lane, bool is_after)
{
	return is_after ? bf_store_fault_after(lane->shelf.store)
			: bf_store_fault_before(lane->shelf.store);
}

/* A host that retries what answers "not available", as every host does. */
static void insist_apply(struct host *host, const struct belfry_schedule *schedule)
{
	enum belfry_status status = BELFRY_UNAVAILABLE;

	for (int i = 0; i < 5 && status == BELFRY_UNAVAILABLE; i++) {
		status = host_apply(host, schedule);
	}
	assert_int_equal(status, BELFRY_OK);
}

static void begin_lane(struct lane *lane, bool is_sqlite, bool is_after, int64_t call)
{
	struct belfry_schedule s = schedule_of("a", 1, "* * * * * *");
	struct belfry_enqueue request = {.size = sizeof(request),
			.schedule = BF_STR("a"),
			.trigger = BELFRY_TRIGGER_MANUAL,
			.request_key = BF_STR("key")};
	enum belfry_status status = BELFRY_UNAVAILABLE;

	shelf_init(&lane->shelf, is_sqlite);
	lane->host = host_new(&lane->shelf);
	bf_fault_arm(fault_of(lane, is_after), call, 1);
	insist_apply(lane->host, &s);
	lane->from = now_wall();
	for (int i = 0; i < 5 && status == BELFRY_UNAVAILABLE; i++) {
		status = belfry_scheduler_enqueue(lane->host->scheduler, &request, NULL);
	}
	assert_int_equal(status, BELFRY_OK);
	lane->manual = request.run;
	host_start(lane->host);
}

/* It takes as long as a stop that gets no answers: all at once. */
static void *crash_main(void *data)
{
	host_crash(((struct lane *)data)->host);
	return NULL;
}

static void crash_lane(struct lane *lane, bool is_after)
{
	lane->to = now_wall();
	lane->fired = bf_fault_fired(fault_of(lane, is_after));
	bf_fault_arm(fault_of(lane, is_after), 0, 0);
	assert_int_equal(pthread_create(&lane->thread, NULL, crash_main, lane), 0);
}

static void reopen_lane(struct lane *lane)
{
	assert_int_equal(pthread_join(lane->thread, NULL), 0);
	shelf_reopen(&lane->shelf);
	lane->host = host_new(&lane->shelf);
	host_start(lane->host);
}

static void check_lane(struct lane *lane)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	belfry_time first = lane->from - lane->from % BELFRY_SECOND + 2 * BELFRY_SECOND;
	struct belfry_schedule s = schedule_of("a", 2, "* * * * * *");

	s.flags = 0;
	wait_until(lane->host, run_is_over, &lane->manual, "the manual Run ends");
	insist_apply(lane->host, &s);
	wait_until(lane->host, all_are_over, NULL, "every Run ends");
	for (belfry_time due = first; due <= lane->to; due += BELFRY_SECOND) {
		struct belfry_id id;
		assert_int_equal(belfry_run_id(BF_STR("a"), due, &id), BELFRY_OK);
		struct belfry_run run = host_run(lane->host, id, &arena);
		assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
		belfry_arena_reset(&arena);
	}
	host_free(lane->host, BELFRY_SECOND);
	shelf_fini(&lane->shelf);
}

static void sweep(bool is_sqlite, bool is_after)
{
	static struct lane lanes[LANES];
	int64_t last = is_sqlite ? SQLITE_CALLS_SWEPT : CALLS_SWEPT;
	size_t some = 2;

	for (int64_t call = 1; call <= last; call += LANES) {
		int64_t fired = 0;
		for (size_t i = 0; i < LANES; i++) {
			begin_lane(&lanes[i], is_sqlite, is_after, call + (int64_t)i);
		}
		for (size_t i = 0; i < LANES; i++) {
			wait_until(lanes[i].host, has_calls, &some, "calls are made");
		}
		for (size_t i = 0; i < LANES; i++) {
			crash_lane(&lanes[i], is_after);
			fired += lanes[i].fired;
		}
		for (size_t i = 0; i < LANES; i++) {
			reopen_lane(&lanes[i]);
		}
		for (size_t i = 0; i < LANES; i++) {
			check_lane(&lanes[i]);
		}
		if (fired == 0) {
			return;
		}
	}
}

static void t021_each_call_fails_before_it_is_carried_out(void **state)
{
	(void)state;
	sweep(false, false);
}

static void t021_each_answer_is_lost_after_it_was_carried_out(void **state)
{
	(void)state;
	sweep(false, true);
}

static void t021_each_call_fails_before_it_is_carried_out_on_sqlite(void **state)
{
	(void)state;
	sweep(true, false);
}

static void t021_each_answer_is_lost_on_sqlite(void **state)
{
	(void)state;
	sweep(true, true);
}

/* A store that is away for a while, again and again, at moments that nobody chose. */
static void t074_outages_of_all_lengths_lose_nothing(void **state)
{
	struct lane lane;
	uint64_t seed = 11;

	(void)state;
	begin_lane(&lane, false, false, 0);
	belfry_time end = now_wall() + 6 * BELFRY_SECOND;
	while (now_wall() < end) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		bf_fault_arm(fault_of(&lane, seed >> 63 != 0), 1 + (int64_t)(seed >> 60 & 3),
				(int64_t)(seed >> 56 & 7));
		(void)all_are_over(lane.host, NULL);
		belfry_time pause = now_wall() + 50 * BELFRY_MILLISECOND;
		wait_past(lane.host, pause);
	}
	bf_fault_arm(fault_of(&lane, true), 0, 0);
	crash_lane(&lane, false);
	reopen_lane(&lane);
	check_lane(&lane);
}

int run_fault_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(t021_each_call_fails_before_it_is_carried_out),
			cmocka_unit_test(t021_each_answer_is_lost_after_it_was_carried_out),
			cmocka_unit_test(t021_each_call_fails_before_it_is_carried_out_on_sqlite),
			cmocka_unit_test(t021_each_answer_is_lost_on_sqlite),
			cmocka_unit_test(t074_outages_of_all_lengths_lose_nothing),
	};
	return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
