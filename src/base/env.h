/* What is not pure: clocks, random bytes and the sink of trace lines. Everything above base gets them
 * through this one struct, so that the simulator can own them (raft and SQLite do the same).
 *
 * Wall time is a belfry_time. The boot clock (CLOCK_BOOTTIME: runs on while the machine sleeps, never
 * stepped) is another type, so that the two cannot be mixed. */
#ifndef BF_ENV_H
#define BF_ENV_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

#include <belfry/status.h>
#include <belfry/types.h>

#include "base/compiler.h"

struct bf_boot_time {
	int64_t us;
};

enum bf_log_level { BF_LOG_ERROR, BF_LOG_WARNING, BF_LOG_INFO, BF_LOG_DEBUG };

struct bf_env {
	void *data;
	belfry_time (*wall)(void *data);
	struct bf_boot_time (*boot)(void *data);
	void (*random)(void *data, void *bytes,
			size_t len); /* cannot fail: aborts where the system does */
	/* One line, key=value, without a newline. May be NULL: nothing is written. */
	void (*log)(void *data, enum bf_log_level level, const char *line);
};

/* The real one: clock_gettime, getrandom, one line to standard error with time and level. */
const struct bf_env *bf_env_system(void);

/* The monotonic clock `wait` from now: what condition variables are waited on with. */
struct timespec bf_monotonic_in(belfry_duration wait);
/* A condition variable that goes by that clock, so that no wait gets longer by a wall clock set back.
 * BELFRY_NOMEM: the system gives none. */
BF_MUST_CHECK enum belfry_status bf_condition_init(pthread_cond_t *condition);

BF_PRINTF(3, 4)
void bf_log(const struct bf_env *env, enum bf_log_level level, const char *format, ...);

static inline struct bf_boot_time bf_boot_add(struct bf_boot_time t, belfry_duration d)
{
	int64_t sum;

	if (__builtin_add_overflow(t.us, d, &sum)) {
		sum = d > 0 ? INT64_MAX : INT64_MIN;
	}
	return (struct bf_boot_time){sum};
}

static inline belfry_duration bf_boot_since(struct bf_boot_time later, struct bf_boot_time earlier)
{
	return later.us - earlier.us;
}

#endif
