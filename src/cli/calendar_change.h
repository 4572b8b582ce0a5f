/* A shared calendar before and after a change. */
#ifndef BF_CLI_CALENDAR_CHANGE_H
#define BF_CLI_CALENDAR_CHANGE_H

#include "base/json.h"

/* Does `list` (an array) have such an item? */
bool bf_calendar_has(const json_t *list, const json_t *item);

/* The items of `list` (an array) that `other` does not have, each as often as it is there: a new array
 * (json_decref); NULL: no memory. Both are borrowed, and may be NULL, which is empty. */
json_t *bf_calendar_items_beyond(const json_t *list, const json_t *other);

/* Takes out of `body` what `calendars show --json` has beside the content, and an API answer beside that:
 * nobody can set it. */
void bf_calendar_strip(json_t *body);

#endif
