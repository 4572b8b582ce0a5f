/* The honest ceiling: what the machine does with exactly the product's rows, indexes and commits, when the
 * database's library is called directly; and what both sides of a comparison share. */
#ifndef BENCH_CEILING_H
#define BENCH_CEILING_H

#include <belfry/store.h>

#define BENCH_SCHEDULES 1000
#define BENCH_START     (1700000000 * BELFRY_SECOND)

struct bench {
	char path[512];
	int batches;
	struct belfry_str ids[BENCH_SCHEDULES];
	char texts[BENCH_SCHEDULES][24];
	uint64_t versions[BENCH_SCHEDULES];
};

/* A file of its own in `folder`. */
void bench_init(struct bench *bench, const char *folder, int batches);
/* Ends the program with a sentence where it does not hold. */
void bench_need(bool holds, const char *what);
/* Microseconds of a clock that is never stepped. */
int64_t bench_now_us(void);
struct belfry_id bench_run_id(const struct bench *bench, int schedule, belfry_time due);
struct belfry_id bench_holder(void);
/* Remove the file and what stands beside it. */
void bench_forget(const struct bench *bench);
struct belfry_store *bench_open_store(const struct bench *bench);
/* An incarnation and BENCH_SCHEDULES schedules. */
void bench_begin_store(struct bench *bench, struct belfry_store *store);

/* Runs a second, whole life, in batches of BENCH_SCHEDULES: cursors moved and Runs inserted in one
 * commit, the Session stored in a second one (has_session), the turn in a last one. */
double bench_measure_ceiling(struct bench *bench, bool has_session);

#endif
