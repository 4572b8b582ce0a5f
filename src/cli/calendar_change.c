/* Compares the contents of shared calendars. Items are equal where they are the same JSON: what two ways to
 * write one day have in common is for the server to say. */
#include "cli/calendar_change.h"

bool bf_calendar_has(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		if (json_equal(json_array_get(list, i), item)) {
			return true;
		}
	}
	return false;
}

json_t *bf_calendar_items_beyond(const json_t *list, const json_t *other)
{
	json_t *beyond = json_array();

	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *item = json_array_get(list, i);

		if (!bf_calendar_has(other, item) && json_array_append(beyond, item) != 0) {
			json_decref(beyond);
			return NULL;
		}
	}
	return beyond;
}

void bf_calendar_strip(json_t *body)
{
	static const char *const names[] = {"name", "revision", "created_at", "updated_at",
			"used_by", "planned", "pending"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		(void)json_object_del(body, names[i]); /* it need not be there */
	}
}
