/* The set of zones behind belfry_zones_new, as the rule parser needs it. */
#ifndef BF_CALENDAR_ZONES_H
#define BF_CALENDAR_ZONES_H

#include <belfry/calendar.h>

#include "calendar/zone.h"

/* Whether a name may be looked up at all: letters, digits, "_+-." in parts between single slashes; no
 * part begins with a dot; not below posix/ or right/. Opens nothing. The message says what is wrong. */
BF_MUST_CHECK enum belfry_status bf_zones_check_name(struct belfry_str name,
		struct belfry_error *err);

/* The zone of this name, loaded the first time; the caller owns one reference. Takes the set's lock.
 * BELFRY_OK; BELFRY_INVALID_SCHEDULE with pointer "/timezone" (no such zone); BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_zones_find(struct belfry_zones *zones, struct belfry_str name,
		struct bf_zone **ret_zone, struct belfry_error *err);

#endif
