/* Shared calendars within a rule: {"calendar": "holidays-de"} in an `except` stands for what the host
 * keeps under that name. A rule that names one is expanded before anybody parses it: its content is put
 * beside the name, {"calendar": "holidays-de", "except": [...]}, which the calendar library reads.
 *
 * Pure but for the look-up that the caller gives. */
#ifndef BF_HOST_CALENDAR_RULE_H
#define BF_HOST_CALENDAR_RULE_H

#include <belfry/schedule.h>

#include "base/compiler.h"
#include "base/json.h"

/* A calendar's name: letters, digits, "-", "_" and "."; it does not begin with "." */
#define BF_CALENDAR_NAME_BYTES 64
bool bf_calendar_name_is_good(struct belfry_str name);

/* Finds a calendar: *ret_except is its list, owned by the caller. BELFRY_OK; BELFRY_NOT_FOUND; anything
 * else ends the expansion. */
typedef enum belfry_status (*bf_calendar_find_fn)(void *data, struct belfry_str name,
		json_t **ret_except, int64_t *ret_revision, struct belfry_error *err);

/* What came of it: both are empty where the rule names no calendar. */
struct bf_expansion {
	struct bf_buf text; /* rule JSON */
	json_t *calendars;  /* [{"name", "revision"}], each once; NULL: none */
};

void bf_expansion_fini(struct bf_expansion *expansion);

/* `rule` as it was written, an object. What is wrong with it otherwise is for the parser to say.
 * BELFRY_OK; BELFRY_INVALID_SCHEDULE with the pointer in a deployment (an unknown calendar, one whose
 * content is given along, more than BELFRY_RULE_BYTES in all); what `find` answers; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_calendar_expand(const json_t *rule, bf_calendar_find_fn find,
		void *data, struct bf_expansion *ret_expansion, struct belfry_error *err);

#endif
