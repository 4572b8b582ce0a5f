/* What a set would change in the shared calendars that are there: asked for by a dry run, item by item. The
 * calendars are read one by one, so that what another changes meanwhile may be missing here; what is done
 * does not go by it. */
#include "base/error.h"
#include "base/str.h"
#include "cli/apply_send.h"
#include "cli/calendar_change.h"
#include "cli/resolve.h"

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* "changes", as deployments have it; the description alone can be in it. */
static json_t *new_changes(const json_t *old, const json_t *wanted)
{
	struct belfry_str before = bf_member(old, "description");
	struct belfry_str after = bf_member(wanted, "description");

	if (bf_str_equal(before, after)) {
		return json_array();
	}
	return json_pack("[{s:s, s:o, s:o}]", "pointer", "/description", "old",
			before.len > 0 ? bf_json_new_str(before) : json_null(), "new",
			after.len > 0 ? bf_json_new_str(after) : json_null());
}

static enum belfry_status put_difference(const json_t *old, const json_t *wanted, json_t *item,
		struct belfry_error *err)
{
	const json_t *before = json_object_get(old, "except");
	const json_t *after = json_object_get(wanted, "except");

	if (json_object_set_new(item, "changes", new_changes(old, wanted)) != 0 ||
			json_object_set_new(item, "gone",
					bf_calendar_items_beyond(before, after)) != 0 ||
			json_object_set_new(item, "new", bf_calendar_items_beyond(after, before)) !=
					0 ||
			json_object_set(item, "used_by", json_object_get(old, "used_by")) != 0) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

static enum belfry_status compare_one(struct bf_cli *cli, const json_t *wanted, json_t *item,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *old = NULL;
	struct belfry_error failure = {0};
	enum belfry_status status = bf_resolve_get(cli, "calendars", bf_member(item, "name"), &old,
			&failure);

	if (status == BELFRY_OK) {
		return put_difference(old, wanted, item, err);
	}
	if (status != BELFRY_NOT_FOUND && err != NULL) {
		*err = failure;
	}
	return status == BELFRY_NOT_FOUND ? BELFRY_OK : status; /* removed just now */
}

enum belfry_status bf_apply_compare_calendars(struct bf_cli *cli, const struct bf_apply_set *set,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < json_array_size(set->calendar_items) && status == BELFRY_OK; i++) {
		json_t *item = json_array_get(set->calendar_items, i);

		if (bf_str_equal(bf_member(item, "outcome"), BF_STR("changed"))) {
			status = compare_one(cli, json_array_get(set->calendars, i), item, err);
		}
	}
	return status;
}
