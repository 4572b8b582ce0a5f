/* Every zone of a tz database on disk, and databases made with zic. Fails the test where something is
 * missing. */
#ifndef CALENDAR_ZONE_LIST_H
#define CALENDAR_ZONE_LIST_H

#include <stddef.h>

#define ZONE_LIST_MAX 1024

struct zone_list {
	size_t count;
	char *names[ZONE_LIST_MAX]; /* "Europe/Berlin"; a zone of several names has its first one alone */
};

/* Every zone file below a folder, in the order of the names: what begins with the magic bytes, and has a
 * name that may be looked up. */
void zone_list_read(const char *directory, struct zone_list *ret_list);
void zone_list_fini(struct zone_list *list);

/* Compiles the system's rules for time into a new folder below /tmp, "/tmp/belfry-zic-XXXXXX". arguments:
 * those of zic that come first, at most four, ended by NULL. */
void zic_make(const char *const *arguments, char *directory);
/* Removes it with all that is in it. */
void zic_remove(const char *directory);

#endif
