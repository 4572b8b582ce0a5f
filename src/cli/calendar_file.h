/* What a file says of a shared calendar: JSON or YAML, or one date a line. */
#ifndef BF_CLI_CALENDAR_FILE_H
#define BF_CLI_CALENDAR_FILE_H

#include "base/json.h"

struct bf_calendar_file {
	json_t *body;  /* owned: {"description", "except"} */
	size_t *lines; /* owned: where each item stands; NULL: not known */
	size_t line_count;
};

void bf_calendar_file_fini(struct bf_calendar_file *file);

/* Three forms are read: an object with "except" (and "description"); a list alone; or text of one item a
 * line, a date, a local time or an instant, where "#" begins a comment. `path` is for messages, and says
 * by .json that it is JSON. BELFRY_OK; BELFRY_INVALID with file and line in the message; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_calendar_file_parse(const char *path, struct belfry_str text,
		struct bf_calendar_file *ret_file, struct belfry_error *err);

#endif
