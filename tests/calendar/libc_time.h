/* Local time by the C library, for comparison alone. One zone at a time, and global to the process. */
#ifndef CALENDAR_LIBC_TIME_H
#define CALENDAR_LIBC_TIME_H

#include <stdint.h>

/* name as in "Europe/Berlin"; or an absolute path of a zone file. */
void libc_set_zone(const char *name);

/* Seconds east of UTC at an instant, by localtime_r. */
int32_t libc_offset(int64_t at);

#endif
