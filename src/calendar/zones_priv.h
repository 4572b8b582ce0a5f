/* The set of zones from inside, for zones.c and zones_refresh.c. */
#ifndef BF_CALENDAR_ZONES_PRIV_H
#define BF_CALENDAR_ZONES_PRIV_H

#include <pthread.h>
#include <stdatomic.h>

#include "calendar/zones.h"
#include "calendar/zones_disk.h"

/* A version that the database has or had; never freed before the set, so that it may be borrowed. */
struct bf_zones_version {
	struct bf_zones_version *older;
	char text[BF_ZONES_VERSION_BYTES];
};

/* A name that was found once. Never removed: a zone that the database loses may come back. */
struct bf_zones_entry {
	char *name;
	struct bf_zone *zone; /* one reference; NULL: the last look at the disk found no such zone */
	struct bf_file_mark mark; /* of the file that it was read from */
};

struct belfry_zones {
	pthread_mutex_t looking;        /* held through a look at the disk; taken before `lock` */
	pthread_mutex_t lock;           /* around the table */
	struct bf_zones_entry *entries; /* by name */
	size_t count;
	size_t capacity;
	char *directory;
	/* Under `looking`: */
	struct bf_file_mark version_marks[2]; /* of tzdata.zi and +VERSION */
	bool has_version;                     /* the database says one */
	struct bf_zones_version *versions;    /* all that it had, each once */
	/* Written under both locks, read under none: */
	_Atomic(struct bf_zones_version *) version;
	atomic_uint_least64_t generation;
};

/* Where name is, or belongs, in the table. Under the lock. */
size_t bf_zones_locate(const struct belfry_zones *zones, struct belfry_str name,
		bool *ret_is_there);

/* The marks of the files that hold the version. */
void bf_zones_mark_version(const struct belfry_zones *zones, struct bf_file_mark *ret_marks);

#endif
