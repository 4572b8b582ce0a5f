/* How many Runs a second the one-file store takes through their whole life, against a ceiling measured in
 * the same run: the client library called directly with exactly the same rows, indexes and commits.
 *
 * One batch is 1000 Runs of 1000 schedules in two commits: cursors moved and Runs inserted as already
 * owned; then turns recorded as completed. Rounds of both sides take turns, and each side's best one
 * counts, because a shared disk is noisy in one direction.
 *
 * Usage: bench-store-sqlite [FOLDER [BATCHES [ROUNDS]]]. Exit 1: below the floor of 60 %. */
#include <stdio.h>
#include <stdlib.h>

#include "base/str.h"
#include "ceiling.h"
#include "store-sqlite/sqlite.h"

#define FLOOR 60

/* --- the product --- */

static void plan_batch(struct bench *bench, struct belfry_store *store, belfry_time due,
		struct belfry_new_run *runs, belfry_fence *ret_fence)
{
	static struct belfry_advance_item items[BENCH_SCHEDULES];

	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		runs[i] = (struct belfry_new_run){.id = bench_run_id(bench, i, due),
				.state = BELFRY_RUN_DISPATCHING,
				.due_at = due,
				.ready_at = due,
				.stands_for = 1};
		items[i] = (struct belfry_advance_item){.schedule = bench->ids[i],
				.expect_version = bench->versions[i],
				.cursor = due + BELFRY_SECOND,
				.tz_version = BF_STR("2026a"),
				.last_fire_at = due,
				.runs = &runs[i],
				.run_count = 1};
	}
	struct belfry_advance advance = {.size = sizeof(advance),
			.holder = bench_holder(),
			.is_plan = true,
			.items = items,
			.item_count = BENCH_SCHEDULES};
	bench_need(bf_sqlite_store_ops.advance(store, &advance, NULL) == BELFRY_OK, "plan");
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		bench_need(items[i].result == BELFRY_OK && runs[i].is_inserted, "plan of one");
		bench->versions[i] = items[i].version;
	}
	*ret_fence = advance.fence;
}

static void record_batch(struct belfry_store *store, const struct belfry_new_run *runs,
		belfry_fence fence)
{
	static struct belfry_record records[BENCH_SCHEDULES];

	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		records[i] = (struct belfry_record){.kind = BELFRY_RECORD_TURN,
				.run = runs[i].id,
				.fence = fence,
				.attempt = 1,
				.step = BELFRY_STEP_TURN,
				.status = BELFRY_STATUS_COMPLETED};
	}
	bench_need(bf_sqlite_store_ops.record(store, records, BENCH_SCHEDULES, NULL) == BELFRY_OK,
			"record");
	for (int i = 0; i < BENCH_SCHEDULES; i++) {
		bench_need(records[i].result == BELFRY_OK, "record of one");
	}
}

static double measure_product(struct bench *bench)
{
	static struct belfry_new_run runs[BENCH_SCHEDULES];
	struct belfry_store *store = bench_open_store(bench);

	bench_begin_store(bench, store);
	int64_t begun = bench_now_us();
	for (int i = 0; i < bench->batches; i++) {
		belfry_fence fence;
		plan_batch(bench, store, BENCH_START + i * BELFRY_SECOND, runs, &fence);
		record_batch(store, runs, fence);
	}
	int64_t took = bench_now_us() - begun;
	bf_sqlite_store_ops.close(store);
	bench_forget(bench);
	return (double)bench->batches * BENCH_SCHEDULES * 1e6 / (double)took;
}

static int argument(int argc, char **argv, int at, int otherwise)
{
	int64_t value = otherwise;

	if (argc > at && bf_str_parse_int(bf_str(argv[at]), 1, 100000, &value) != BELFRY_OK) {
		(void)fprintf(stderr, "bench: argument %d is no number\n", at);
		exit(2);
	}
	return (int)value;
}

int main(int argc, char **argv)
{
	static struct bench bench;
	double product = 0, ceiling = 0;
	int rounds = argument(argc, argv, 3, 3);

	bench_init(&bench, argc > 1 ? argv[1] : ".", argument(argc, argv, 2, 100));
	for (int i = 0; i < rounds; i++) {
		ceiling = BF_MAX(ceiling, bench_measure_ceiling(&bench, false));
		product = BF_MAX(product, measure_product(&bench));
	}
	double ratio = 100 * product / ceiling;
	(void)printf("store-sqlite: %.0f Runs/s whole life, ceiling %.0f, ratio %.0f %% (floor %d)\n",
			product, ceiling, ratio, FLOOR);
	return ratio < FLOOR ? 1 : 0;
}
