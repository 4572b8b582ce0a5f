/* Applying a set of deployments, in two passes: every item is planned, and only where none is refused
 * they are carried out, one after another in their order.
 *
 * Invariants  an item is one change of one record (deployments.c), so that it is carried out whole or
 * not at all; and it carries the revision that its plan was made from, so that somebody else's change
 * in between is a conflict and not lost. What fails while it is carried out ends it there.
 *
 * Not here  what differs, and which due times (apply_changes.c). */
#include "host/apply.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/apply_priv.h"
#include "host/backend.h"
#include "host/deployments_priv.h"
#include "host/host_priv.h"

static const char *const outcome_names[] = {"created", "changed", "unchanged", "refused"};

struct item {
	const json_t *body;
	enum bf_apply_outcome outcome;
	char id[BELFRY_ID_TEXT_BYTES]; /* empty: none yet */
	int64_t revision;
	json_t *changes; /* these are owned; NULL: empty, null */
	json_t *appears;
	json_t *vanishes;
	json_t *error;
};

struct set {
	struct bf_host *host;
	bool is_dry_run;
	struct item *items;
	size_t count;
	struct bf_apply_calendars calendars;
	json_t *names;              /* of the items so far */
	enum belfry_status refused; /* of the first that is; OK: none is */
	struct belfry_error first;
};

/* As it was before the plan. */
static void item_reset(struct item *item)
{
	json_decref(item->changes);
	json_decref(item->appears);
	json_decref(item->vanishes);
	json_decref(item->error);
	*item = (struct item){.body = item->body};
}

static void set_fini(struct set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		item_reset(&set->items[i]);
	}
	bf_free(set->items);
	json_decref(set->names);
	bf_apply_calendars_fini(&set->calendars);
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* --- refusals --- */

json_t *bf_apply_new_error(const struct belfry_error *why)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "code", belfry_status_code(why->status));
	bf_json_write_text(&w, "detail",
			why->message[0] != '\0' ? why->message : belfry_status_text(why->status));
	bf_json_write_str_or_null(&w, "pointer", bf_str(why->pointer));
	if (why->position > 0) {
		bf_json_write_int(&w, "position", why->position - 1);
	} else {
		bf_json_write_null(&w, "position");
	}
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

void bf_apply_place_error(struct belfry_error *err, const char *name, size_t index)
{
	char inner[BELFRY_ERROR_POINTER_BYTES];

	memcpy(inner, err->pointer, sizeof(inner));
	int len = snprintf(err->pointer, sizeof(err->pointer), "/%s/%zu", name, index);
	size_t room = sizeof(err->pointer) - 1 - (size_t)len;
	struct belfry_str rest = bf_str_slice(bf_str(inner), 0, room); /* a long one is cut */
	memcpy(err->pointer + len, rest.ptr, rest.len);
	err->pointer[(size_t)len + rest.len] = '\0';
}

/* The first one is the whole request's answer, with its place in the body. */
static void keep_first(struct set *set, size_t index, const struct belfry_error *why)
{
	if (set->refused != BELFRY_OK) {
		return;
	}
	set->refused = why->status;
	set->first = *why;
	bf_apply_place_error(&set->first, "deployments", index);
	bf_error_prefix(&set->first, "item %zu: ", index + 1);
}

/* BELFRY_OK: it is refused, and noted. */
static enum belfry_status refuse(struct set *set, size_t index, enum belfry_status status,
		struct belfry_error *why)
{
	struct item *item = &set->items[index];

	why->status = status;
	item->outcome = BF_APPLY_REFUSED;
	item->error = bf_apply_new_error(why);
	keep_first(set, index, why);
	return item->error != NULL ? BELFRY_OK : BELFRY_NOMEM;
}

bool bf_apply_is_of_item(enum belfry_status status)
{
	enum belfry_class class = belfry_status_class(status);

	return class != BELFRY_CLASS_RETRY && class != BELFRY_CLASS_SYSTEM;
}

/* --- the plan --- */

static enum belfry_status note_name(struct set *set, struct belfry_str name,
		struct belfry_error *err)
{
	if (json_object_get(set->names, name.ptr) != NULL) {
		return bf_error_at(err, BELFRY_INVALID, "/name",
				"name: an earlier item has the same; leave one of the two out");
	}
	return json_object_set_new(set->names, name.ptr, json_true()) == 0 ? BELFRY_OK
									   : no_memory(err);
}

/* `old` is zero where there is none of this name. */
static enum belfry_status find_old(struct set *set, struct belfry_str name,
		struct bf_deployment *old, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	if (name.len == 0 || name.len > BF_DEPLOYMENT_NAME_BYTES) {
		return BELFRY_OK; /* reading it says what is wrong */
	}
	enum belfry_status status = bf_backend_find_document(set->host->options.store,
			BF_STR(BF_RECORD_KIND), BF_STR(BF_OWNER_DEFAULT), name, &arena, &document,
			err);
	if (status == BELFRY_NOT_FOUND) {
		return BELFRY_OK;
	}
	return status == BELFRY_OK ? bf_record_decode(set->host, &document, old, err) : status;
}

/* What a person may write of it. */
static enum belfry_status write_content(const struct bf_deployment *d, json_t **ret_content)
{
	enum belfry_status status = bf_deployment_write_content(d, ret_content);

	if (status == BELFRY_OK) {
		(void)json_object_del(*ret_content, "disabled_reason"); /* may be absent */
	}
	return status;
}

static enum belfry_status compare(struct set *set, struct item *item,
		const struct bf_deployment *old, const struct bf_deployment *changed,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *before = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *after = NULL;
	enum belfry_status status = write_content(changed, &after);

	if (status == BELFRY_OK && old != NULL) {
		status = write_content(old, &before);
	}
	if (status == BELFRY_OK && json_equal(before, after)) {
		item->outcome = BF_APPLY_UNCHANGED;
		return BELFRY_OK;
	}
	item->outcome = old != NULL ? BF_APPLY_CHANGED : BF_APPLY_CREATED;
	if (status == BELFRY_OK) {
		status = bf_apply_list_due(set->host, old, changed, &item->appears,
				&item->vanishes);
	}
	if (status == BELFRY_OK) {
		item->changes = bf_apply_list_changes(before, after);
	}
	return status == BELFRY_OK && item->changes != NULL ? BELFRY_OK : no_memory(err);
}

static enum belfry_status plan(struct set *set, struct item *item, struct belfry_error *err)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment old = {0};
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment changed = {0};
	struct belfry_str name = bf_json_str(json_object_get(item->body, "name"));
	const struct bf_env *env = set->host->options.env;

	enum belfry_status status = find_old(set, name, &old, err);
	bool is_new = old.revision == 0;
	if (status == BELFRY_OK) {
		memcpy(item->id, old.id, sizeof(item->id));
		item->revision = old.revision;
		status = bf_deployment_read_whole(set->host, is_new ? NULL : &old, item->body,
				&changed, err);
	}
	if (status == BELFRY_OK) {
		status = note_name(set, name, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	changed.created_at = is_new ? env->wall(env->data) : old.created_at;
	struct bf_calendar_overlay overlay = bf_apply_calendars_overlay(&set->calendars);
	status = bf_deployment_check(set->host, &overlay, &changed, err);
	return status == BELFRY_OK ? compare(set, item, is_new ? NULL : &old, &changed, err)
				   : status;
}

static enum belfry_status plan_all(struct set *set, struct belfry_error *err)
{
	for (size_t i = 0; i < set->count; i++) {
		struct belfry_error why = {0};
		enum belfry_status status = plan(set, &set->items[i], &why);
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

/* --- carrying out --- */

static enum belfry_status carry_out(struct set *set, struct item *item, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = json_deep_copy(item->body);
	struct bf_deployment_view view = {0};

	if (body == NULL) {
		return no_memory(err);
	}
	enum belfry_status status = item->outcome == BF_APPLY_CREATED
			? bf_deployments_create(set->host, body, &view, err)
			: bf_deployments_replace(set->host, bf_str(item->id), item->revision, body,
					  &view, err);
	if (status == BELFRY_PRECONDITION || status == BELFRY_NOT_FOUND) {
		return bf_error_set(err, BELFRY_CONFLICT,
				"somebody else changed it in between: apply again");
	}
	if (status == BELFRY_OK) {
		memcpy(item->id, view.id, sizeof(item->id));
		item->revision = view.revision;
		json_decref(view.json);
	}
	return status;
}

static enum belfry_status leave_out(struct set *set, size_t index, enum belfry_status status)
{
	struct belfry_error why = {0};

	(void)bf_error_set(&why, status,
			"not tried, since an earlier item failed: nothing of it is changed; apply "
			"again");
	return refuse(set, index, status, &why);
}

static enum belfry_status carry_out_all(struct set *set)
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
		failed = carry_out(set, &set->items[i], &why);
		if (failed != BELFRY_OK) {
			status = refuse(set, i, failed, &why);
		}
	}
	return status;
}

/* --- the answer --- */

/* A list of the item, or an empty one. */
static json_t *list_of(json_t *list, const struct item *item)
{
	return list != NULL && item->outcome != BF_APPLY_REFUSED ? json_incref(list) : json_array();
}

static json_t *new_item(const struct item *item)
{
	struct bf_json_writer w;
	json_t *object = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_str_or_null(&w, "name", bf_json_str(json_object_get(item->body, "name")));
	bf_json_write_text(&w, "outcome", outcome_names[item->outcome]);
	bf_json_write_str_or_null(&w, "id", bf_str(item->id));
	if (item->revision > 0) {
		bf_json_write_int(&w, "revision", item->revision);
	} else {
		bf_json_write_null(&w, "revision");
	}
	bf_json_write_value(&w, "changes", list_of(item->changes, item));
	bf_json_write_value(&w, "appears", list_of(item->appears, item));
	bf_json_write_value(&w, "vanishes", list_of(item->vanishes, item));
	bf_json_write_value(&w, "error",
			item->error != NULL ? json_incref(item->error) : json_null());
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

static json_t *new_counts(const struct set *set)
{
	struct bf_json_writer w;
	json_t *object = NULL;
	int64_t counts[BF_APPLY_OUTCOME_COUNT] = {0};

	for (size_t i = 0; i < set->count; i++) {
		counts[set->items[i].outcome]++;
	}
	bf_json_writer_begin(&w);
	for (size_t i = 0; i < BF_APPLY_OUTCOME_COUNT; i++) {
		bf_json_write_int(&w, outcome_names[i], counts[i]);
	}
	return bf_json_writer_end(&w, &object) == BELFRY_OK ? object : NULL;
}

static enum belfry_status write_answer(const struct set *set, json_t **ret_answer,
		struct belfry_error *err)
{
	struct bf_json_writer w;
	json_t *items = json_array();

	for (size_t i = 0; i < set->count && items != NULL; i++) {
		if (json_array_append_new(items, new_item(&set->items[i])) != 0) {
			json_decref(items);
			items = NULL;
		}
	}
	bf_json_writer_begin(&w);
	bf_json_write_bool(&w, "dry_run", set->is_dry_run);
	bf_json_write_value(&w, "counts", new_counts(set));
	bf_json_write_value(&w, "items", items);
	bf_json_write_value(&w, "calendars", bf_apply_calendars_answer(&set->calendars));
	if (bf_json_writer_end(&w, ret_answer) != BELFRY_OK) {
		return no_memory(err);
	}
	/* Calendars come first. */
	bool is_calendar = set->calendars.refused != BELFRY_OK;
	enum belfry_status refused = is_calendar ? set->calendars.refused : set->refused;
	if (refused != BELFRY_OK) {
		*err = is_calendar ? set->calendars.first : set->first;
		err->status = refused;
	}
	return refused;
}

static enum belfry_status read_set(struct set *set, const json_t *body, struct belfry_error *err)
{
	static const char *const later[] = {"set", "prune"};
	struct bf_json_reader reader;
	const json_t *deployments = NULL;

	bf_json_reader_begin(&reader, body, "", err);
	for (size_t i = 0; i < BF_COUNT(later); i++) {
		if (bf_json_reader_has(&reader, later[i])) {
			bf_json_reader_refuse(&reader, later[i], NULL, BELFRY_INVALID,
					"%s: this version does not offer it; leave it out",
					later[i]);
		}
	}
	enum belfry_status status = bf_apply_calendars_read(&reader, &set->calendars);
	if (status != BELFRY_OK) {
		return no_memory(err);
	}
	/* Calendars may come alone. */
	(void)bf_json_reader_array(&reader, "deployments", BF_JSON_REQUIRED,
			set->calendars.count > 0 ? 0 : 1, BF_APPLY_ITEMS, &deployments);
	status = bf_json_reader_end(&reader);
	if (status != BELFRY_OK) {
		return status;
	}
	set->names = json_object();
	set->items = bf_alloc_array(BF_MAX(json_array_size(deployments), (size_t)1),
			sizeof(*set->items));
	if (set->names == NULL || set->items == NULL) {
		return no_memory(err);
	}
	set->count = json_array_size(deployments);
	for (size_t i = 0; i < set->count; i++) {
		set->items[i].body = json_array_get(deployments, i);
	}
	return BELFRY_OK;
}

static bool is_refused(const struct set *set)
{
	return set->calendars.refused != BELFRY_OK || set->refused != BELFRY_OK;
}

/* A calendar that changed has given its users another revision: their items are planned again. */
static enum belfry_status plan_again(struct set *set, struct belfry_error *err)
{
	for (size_t i = 0; i < set->count; i++) {
		item_reset(&set->items[i]);
	}
	(void)json_object_clear(set->names); /* an object: cannot fail */
	return plan_all(set, err);
}

static enum belfry_status carry_out_set(struct set *set, struct belfry_error *err)
{
	enum belfry_status status = bf_apply_calendars_carry_out(set->host, &set->calendars);

	if (status == BELFRY_OK && set->calendars.is_changed) {
		status = plan_again(set, err);
	}
	if (status == BELFRY_OK && set->calendars.refused != BELFRY_OK) {
		for (size_t i = 0; i < set->count && status == BELFRY_OK; i++) {
			status = leave_out(set, i, set->calendars.refused);
		}
	} else if (status == BELFRY_OK && set->refused == BELFRY_OK) {
		status = carry_out_all(set);
	}
	return status == BELFRY_NOMEM ? no_memory(err) : status;
}

enum belfry_status bf_apply(struct bf_host *host, const json_t *body, bool is_dry_run,
		json_t **ret_answer, struct belfry_error *err)
{
	BF_CLEANUP(set_fini) struct set set = {.host = host, .is_dry_run = is_dry_run};

	*ret_answer = NULL;
	enum belfry_status status = read_set(&set, body, err);
	if (status == BELFRY_OK) {
		status = bf_apply_calendars_plan(host, &set.calendars, err);
	}
	if (status == BELFRY_OK) {
		status = plan_all(&set, err);
	}
	if (status == BELFRY_OK && !is_refused(&set) && !is_dry_run) {
		status = carry_out_set(&set, err);
	}
	return status == BELFRY_OK ? write_answer(&set, ret_answer, err) : status;
}
