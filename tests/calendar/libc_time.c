/* The C library's local time. */
#define _DEFAULT_SOURCE /* tm_gmtoff */
#include "libc_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void libc_set_zone(const char *name)
{
	char value[600];

	(void)snprintf(value, sizeof(value), ":%s", name);
	(void)setenv("TZ", value, 1);
	tzset();
}

int32_t libc_offset(int64_t at)
{
	time_t time = at;
	struct tm tm;

	return localtime_r(&time, &tm) != NULL ? (int32_t)tm.tm_gmtoff : INT32_MIN;
}
