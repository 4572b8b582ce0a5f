/* The real clocks, random bytes and log sink. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* CLOCK_BOOTTIME, getrandom */
#endif
#include "base/env.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/timefmt.h"

static int64_t clock_us(clockid_t clock)
{
	struct timespec now;

	BF_ASSERT(clock_gettime(clock, &now) == 0);
	return (int64_t)now.tv_sec * BELFRY_SECOND + now.tv_nsec / 1000;
}

static belfry_time system_wall(void *data)
{
	(void)data;
	return clock_us(CLOCK_REALTIME);
}

static struct bf_boot_time system_boot(void *data)
{
	(void)data;
	return (struct bf_boot_time){clock_us(CLOCK_BOOTTIME)};
}

static void system_random(void *data, void *bytes, size_t len)
{
	(void)data;
	char *at = bytes;

	while (len > 0) {
		ssize_t got = getrandom(at, len, 0);
		BF_ASSERT(got > 0);
		at += got;
		len -= (size_t)got;
	}
}

static void system_log(void *data, enum bf_log_level level, const char *line)
{
	static const char *names[] = {"error", "warning", "info", "debug"};
	char time[BF_TIME_TEXT_BYTES];

	(void)data;
	if (level > BF_LOG_INFO) {
		return; /* debug lines are for sinks of those who look for them */
	}
	bf_time_format(clock_us(CLOCK_REALTIME) / 1000 * 1000, 0, time);
	(void)fprintf(stderr, "%s level=%s %s\n", time, names[level], line);
}

const struct bf_env *bf_env_system(void)
{
	static const struct bf_env env = {
			.wall = system_wall,
			.boot = system_boot,
			.random = system_random,
			.log = system_log,
	};
	return &env;
}

struct timespec bf_monotonic_in(belfry_duration wait)
{
	int64_t at = clock_us(CLOCK_MONOTONIC) + wait;

	return (struct timespec){.tv_sec = at / BELFRY_SECOND,
			.tv_nsec = at % BELFRY_SECOND * 1000};
}

enum belfry_status bf_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	(void)pthread_condattr_init(&attributes);
	(void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	int code = pthread_cond_init(condition, &attributes);
	(void)pthread_condattr_destroy(&attributes);
	return code == 0 ? BELFRY_OK : BELFRY_NOMEM;
}

void bf_log(const struct bf_env *env, enum bf_log_level level, const char *format, ...)
{
	char line[1024];

	if (env->log == NULL) {
		return;
	}
	va_list args;
	va_start(args, format);
	int len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len >= 0) {
		env->log(env->data, level, line);
	}
}
