/* Many stored deployments, none of them due: how long it takes to make them, and what a host costs that
 * opens such a file and has nothing to do (docs/performance.md). Prints one line a figure.
 *
 *   bench-million make FOLDER COUNT             COUNT deployments into FOLDER, created as the API does
 *   bench-million idle FOLDER SECONDS           start on FOLDER, and so long without work
 *   bench-million both COUNT SECONDS            in a folder of its own, which is removed: the benchmark
 *
 * The deployments are made by the host's own function, from as many threads as the API has no place for:
 * what waits while one commit runs is the next. Exit 1: below a floor. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/str.h"
#include "ceiling.h"
#include "host.h"
#include "host/deployments.h"
#include "process.h"

#define MAKERS          64
#define MEMORY_FLOOR_MB 300
#define CPU_FLOOR       2.0 /* percent of one processor */
#define READY_FLOOR_S   10

/* ---- making ------------------------------------------------------------------------------------ */

struct making {
	struct bench_host *bench;
	atomic_llong next;
	long long count;
};

static void make_one(struct bf_host *host, long long number)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	struct bf_deployment_view view = {0};
	struct belfry_error err = {0};

	/* Once a year, at any minute of January the first: not soon, and not all at once. */
	bf_buf_appendf(&text,
			"{\"name\":\"deployment-%07lld\",\"rule\":{\"cron\":\"%lld %lld 1 1 *\"},"
			"\"target\":{\"kind\":\"webhook\",\"url\":\"http://127.0.0.1:9/hook\"},"
			"\"prompt\":\"Summarise what happened since the last time.\"}",
			number, number % 60, number / 60 % 24);
	enum belfry_status status = bf_json_parse(bf_buf_str(&text), text.len, &body, &err);
	if (status == BELFRY_OK) {
		status = bf_deployments_create(host, body, &view, &err);
	}
	if (status != BELFRY_OK) {
		(void)fprintf(stderr, "bench: deployment %lld: %s (%s)\n", number, err.message,
				err.detail);
		exit(2);
	}
	json_decref(view.json);
}

static void *make_some(void *data)
{
	struct making *making = data;
	long long number;

	while ((number = atomic_fetch_add(&making->next, 1)) < making->count) {
		make_one(making->bench->host, number);
	}
	return NULL;
}

static void make(const char *folder, long long count)
{
	struct bench_host bench;
	struct making making = {.bench = &bench, .count = count};
	pthread_t threads[MAKERS];

	bench_host_open(&bench, folder, NULL);
	int64_t began = bench_now_us();
	for (size_t i = 0; i < MAKERS; i++) {
		bench_need(pthread_create(&threads[i], NULL, make_some, &making) == 0, "thread");
	}
	for (size_t i = 0; i < MAKERS; i++) {
		(void)pthread_join(threads[i], NULL); /* ours: cannot fail */
	}
	double took = (double)(bench_now_us() - began) / 1e6;
	(void)printf("create\t%.0f deployments/s\t%.1f us of processor time each\tn=%lld s=%.1f\n",
			(double)count / took, (double)bench_cpu_us() / (double)count, count, took);
	(void)fflush(stdout);
	bench_host_close(&bench);
}

/* ---- idle -------------------------------------------------------------------------------------- */

static double megabytes(const char *field)
{
	return (double)bench_memory(field) / 1e6;
}

static void rest(int64_t seconds)
{
	const struct timespec wait = {.tv_sec = seconds};

	(void)nanosleep(&wait, NULL);
}

/* Is anything below its floor? */
static bool idle(const char *folder, int64_t seconds)
{
	struct bench_host bench;
	struct belfry_error err = {0};

	int64_t cpu = bench_cpu_us();
	int64_t began = bench_now_us();
	bench_host_open(&bench, folder, NULL);
	double ready = (double)(bench_now_us() - began) / 1e6;
	(void)printf("ready after\t%.2f s\tprocessor %.2f s\tmemory %.0f MB (aims: 2 s, 150 MB)\n",
			ready, (double)(bench_cpu_us() - cpu) / 1e6, megabytes("VmRSS:"));

	cpu = bench_cpu_us();
	began = bench_now_us();
	bench_need(bf_host_reconcile(bench.host, &err) == BELFRY_OK, err.message);
	int64_t again = bench_cpu_us() - cpu;
	(void)printf("compare again\t%.2f s\tprocessor %.2f s\n",
			(double)(bench_now_us() - began) / 1e6, (double)again / 1e6);

	cpu = bench_cpu_us();
	began = bench_now_us();
	uint64_t calls = bench_host_calls(&bench);
	rest(seconds);
	double took = (double)(bench_now_us() - began) / 1e6;
	double share = (double)(bench_cpu_us() - cpu) / 1e4 / took;
	/* Every five minutes the records are compared again. */
	double with_compare = share + (double)again / 1e4 / 300;
	double peak = megabytes("VmHWM:");
	(void)printf("idle\t%.2f %% of a processor, %.2f %% with the comparison every 5 minutes (aim 1, floor %.0f)\t"
		     "%.1f calls of the store/s (aim 5)\tmemory %.0f MB, at most %.0f MB (floor %d)\n",
			share, with_compare, CPU_FLOOR,
			(double)(bench_host_calls(&bench) - calls) / took, megabytes("VmRSS:"),
			peak, MEMORY_FLOOR_MB);
	bench_host_close(&bench);
	return ready > READY_FLOOR_S || with_compare > CPU_FLOOR || peak > MEMORY_FLOOR_MB;
}

/* ---- main -------------------------------------------------------------------------------------- */

static int64_t number(const char *text)
{
	int64_t value = 0;

	bench_need(bf_str_parse_int(bf_str(text), 1, 10000000, &value) == BELFRY_OK, "a number");
	return value;
}

/* In a process of its own, so that its memory is not counted. */
static void make_apart(const char *folder, long long count)
{
	int status = 0;
	pid_t child = fork();

	bench_need(child >= 0, "fork");
	if (child == 0) {
		make(folder, count);
		exit(0);
	}
	bench_need(waitpid(child, &status, 0) == child && status == 0, "making");
}

int main(int argc, char **argv)
{
	char folder[] = "./bench-million-XXXXXX";

	if (argc == 4 && strcmp(argv[1], "make") == 0) {
		make(argv[2], number(argv[3]));
		return 0;
	}
	if (argc == 4 && strcmp(argv[1], "idle") == 0) {
		return idle(argv[2], number(argv[3])) ? 1 : 0;
	}
	if (argc != 4 || strcmp(argv[1], "both") != 0) {
		(void)fprintf(stderr,
				"usage: bench-million make FOLDER COUNT|idle FOLDER "
				"SECONDS|both COUNT SECONDS\n");
		return 2;
	}
	bench_need(mkdtemp(folder) != NULL, "a folder under the working folder");
	make_apart(folder, number(argv[2]));
	bool is_below = idle(folder, number(argv[3]));
	bench_host_forget(folder);
	(void)rmdir(folder);
	return is_below ? 1 : 0;
}
