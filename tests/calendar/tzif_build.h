/* Makes TZif files for tests, byte by byte. */
#ifndef CALENDAR_TZIF_BUILD_H
#define CALENDAR_TZIF_BUILD_H

#include "base/str.h"

struct tzif_change {
	int64_t time;
	unsigned char type;
};

struct tzif_spec {
	char version; /* NUL: 32 bits and no footer */
	const struct tzif_change *changes;
	uint32_t change_count;
	const int32_t *offsets; /* of each type */
	uint32_t type_count;
	const char *footer;
	uint32_t leap_count;
};

/* Appends the file to out. */
void tzif_build(const struct tzif_spec *spec, struct bf_buf *out);

/* Reads a whole file of the system's database, such as "Europe/Berlin". */
void tzif_read_system(const char *name, struct bf_buf *out);

#endif
