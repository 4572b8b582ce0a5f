/* The calendars of a set: planned before its deployments, which may name them, and carried out before them.
 *
 * Not here   the deployments (apply.c). */
#include "base/alloc.h"
#include "base/error.h"
#include "host/apply_priv.h"
#include "host/host_priv.h"

#define CALENDARS_MAX 100

static const char *const outcome_names[] = {"created", "changed", "unchanged", "refused"};

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

void bf_apply_calendars_fini(struct bf_apply_calendars *set)
{
	for (size_t i = 0; i < set->count; i++) {
		json_decref(set->items[i].error);
		bf_calendar_fini(&set->planned[i]);
	}
	bf_free(set->items);
	bf_free(set->planned);
	*set = (struct bf_apply_calendars){0};
}

enum belfry_status bf_apply_calendars_read(struct bf_json_reader *reader,
		struct bf_apply_calendars *set)
{
	const json_t *list = NULL;

	if (!bf_json_reader_array(reader, "calendars", BF_JSON_NULLABLE, 0, CALENDARS_MAX, &list) ||
			json_array_size(list) == 0) {
		return BELFRY_OK; /* the reader keeps a failure */
	}
	set->items = bf_alloc_array(json_array_size(list), sizeof(*set->items));
	set->planned = bf_alloc_array(json_array_size(list), sizeof(*set->planned));
	if (set->items == NULL || set->planned == NULL) {
		return BELFRY_NOMEM;
	}
	set->count = json_array_size(list);
	for (size_t i = 0; i < set->count; i++) {
		set->items[i].body = json_array_get(list, i);
	}
	return BELFRY_OK;
}

/* --- the plan --- */

static enum belfry_status check_name(const struct bf_apply_calendars *set, size_t index,
		struct belfry_str name, struct belfry_error *err)
{
	if (name.len == 0) {
		return bf_error_at(err, BELFRY_INVALID, "/name", "name: a calendar needs one");
	}
	for (size_t i = 0; i < index; i++) {
		if (bf_str_equal(name, bf_json_str(json_object_get(set->items[i].body, "name")))) {
			return bf_error_at(err, BELFRY_INVALID, "/name",
					"name: an earlier calendar has the same; leave one of the two out");
		}
	}
	return BELFRY_OK;
}

static enum belfry_status plan(struct bf_host *host, struct bf_apply_calendars *set, size_t index,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_calendar_fini) struct bf_calendar old = {0};
	struct bf_apply_calendar *item = &set->items[index];
	struct bf_calendar *changed = &set->planned[index];
	struct belfry_str name = bf_json_str(json_object_get(item->body, "name"));
	enum belfry_status status = check_name(set, index, name, err);

	if (status == BELFRY_OK) {
		status = bf_calendar_read(host, name, item->body, changed, err);
	}
	if (status == BELFRY_OK) {
		status = bf_calendar_load(host, name, &old, err);
		status = status == BELFRY_NOT_FOUND ? BELFRY_OK : status;
	}
	if (status != BELFRY_OK) {
		return status;
	}
	item->revision = old.revision;
	changed->revision = old.revision;
	if (bf_calendar_is_equal(&old, changed)) {
		item->outcome = BF_APPLY_UNCHANGED;
		return BELFRY_OK;
	}
	item->outcome = old.revision > 0 ? BF_APPLY_CHANGED : BF_APPLY_CREATED;
	return bf_calendar_check_users(host, changed, err);
}

static enum belfry_status refuse(struct bf_apply_calendars *set, size_t index,
		enum belfry_status status, struct belfry_error *why)
{
	struct bf_apply_calendar *item = &set->items[index];

	why->status = status;
	item->outcome = BF_APPLY_REFUSED;
	json_decref(item->error);
	item->error = bf_apply_new_error(why);
	if (set->refused == BELFRY_OK) {
		set->refused = status;
		set->first = *why;
		bf_apply_place_error(&set->first, "calendars", index);
		bf_error_prefix(&set->first, "calendar %zu: ", index + 1);
	}
	return item->error != NULL ? BELFRY_OK : BELFRY_NOMEM;
}

enum belfry_status bf_apply_calendars_plan(struct bf_host *host, struct bf_apply_calendars *set,
		struct belfry_error *err)
{
	for (size_t i = 0; i < set->count; i++) {
		struct belfry_error why = {0};
		enum belfry_status status = plan(host, set, i, &why);
		if (status != BELFRY_OK && bf_apply_is_of_item(status)) {
			status = refuse(set, i, status, &why) == BELFRY_OK ? BELFRY_OK
									   : no_memory(&why);
		}
		if (status != BELFRY_OK) {
			*err = why;
			err->status = status;
			return status;
		}
	}
	return BELFRY_OK;
}

struct bf_calendar_overlay bf_apply_calendars_overlay(const struct bf_apply_calendars *set)
{
	return (struct bf_calendar_overlay){set->planned, set->count};
}

/* --- carrying out --- */

static enum belfry_status carry_out(struct bf_host *host, struct bf_apply_calendar *item,
		struct belfry_error *err)
{
	struct belfry_str name = bf_json_str(json_object_get(item->body, "name"));
	struct bf_calendar_match match = {
			.revision = item->revision,
			.is_needed = item->outcome == BF_APPLY_CHANGED,
			.is_forbidden = item->outcome == BF_APPLY_CREATED,
	};
	struct bf_calendar_view view = {0};
	enum belfry_status status = bf_calendars_put(host, name, &match, item->body, &view, err);

	if (status == BELFRY_PRECONDITION) {
		return bf_error_set(err, BELFRY_CONFLICT,
				"somebody else changed it in between: apply again");
	}
	if (status == BELFRY_OK) {
		item->revision = view.revision;
		json_decref(view.json);
	}
	return status;
}

static enum belfry_status leave_out(struct bf_apply_calendars *set, size_t index,
		enum belfry_status status)
{
	struct belfry_error why = {0};

	(void)bf_error_set(&why, status,
			"not tried, since an earlier one failed: nothing of it is changed; apply again");
	return refuse(set, index, status, &why);
}

enum belfry_status bf_apply_calendars_carry_out(struct bf_host *host,
		struct bf_apply_calendars *set)
{
	enum belfry_status failed = BELFRY_OK;
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < set->count && status == BELFRY_OK; i++) {
		struct belfry_error why = {0};
		if (set->items[i].outcome == BF_APPLY_UNCHANGED) {
			continue;
		}
		if (failed != BELFRY_OK) {
			status = leave_out(set, i, failed);
			continue;
		}
		failed = carry_out(host, &set->items[i], &why);
		set->is_changed |= failed == BELFRY_OK;
		if (failed != BELFRY_OK) {
			status = refuse(set, i, failed, &why);
		}
	}
	return status;
}

/* --- the answer --- */

static json_t *new_item(const struct bf_apply_calendar *item)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_str_or_null(&w, "name", bf_json_str(json_object_get(item->body, "name")));
	bf_json_write_text(&w, "outcome", outcome_names[item->outcome]);
	if (item->revision > 0) {
		bf_json_write_int(&w, "revision", item->revision);
	} else {
		bf_json_write_null(&w, "revision");
	}
	bf_json_write_value(&w, "error",
			item->error != NULL ? json_incref(item->error) : json_null());
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

json_t *bf_apply_calendars_answer(const struct bf_apply_calendars *set)
{
	json_t *list = json_array();

	for (size_t i = 0; i < set->count && list != NULL; i++) {
		if (json_array_append_new(list, new_item(&set->items[i])) != 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}
