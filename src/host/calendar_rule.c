/* The expansion of a rule. Its objects are walked without recursion: a row of them, to whose end the
 * members of each `any` are put. The rule is copied, the copy is changed in place, and written out once.
 *
 * Each calendar is looked up once for a rule, so that all places that name it show the same revision. */
#include "host/calendar_rule.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/grow.h"

#define POINTER_BYTES BELFRY_ERROR_POINTER_BYTES

struct pending {
	json_t *rule; /* borrowed from the copy */
	char pointer[POINTER_BYTES];
};

struct walk {
	bf_calendar_find_fn find;
	void *data;
	struct pending *row;
	size_t count;
	size_t capacity;
	json_t *found;     /* name -> except */
	json_t *calendars; /* of the expansion */
	struct belfry_error *err;
};

static void walk_fini(struct walk *walk)
{
	bf_free(walk->row);
	json_decref(walk->found);
	json_decref(walk->calendars);
}

void bf_expansion_fini(struct bf_expansion *expansion)
{
	bf_buf_fini(&expansion->text);
	json_decref(expansion->calendars);
	*expansion = (struct bf_expansion){0};
}

bool bf_calendar_name_is_good(struct belfry_str name)
{
	/* "." and ".." mean another path to whoever takes a URL apart. */
	bool is_good = name.len > 0 && name.len <= BF_CALENDAR_NAME_BYTES && name.ptr[0] != '.';

	for (size_t i = 0; i < name.len && is_good; i++) {
		char c = name.ptr[i];
		is_good = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				(c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
	}
	return is_good;
}

static enum belfry_status no_memory(struct walk *walk)
{
	return bf_error_set(walk->err, BELFRY_NOMEM, "out of memory");
}

/* `place` and what follows it, cut where it is too long. */
BF_PRINTF(3, 4)
static void make_pointer(char *pointer, const char *place, const char *format, ...)
{
	char rest[48];
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(rest, sizeof(rest), format, arguments);
	va_end(arguments);
	if (snprintf(pointer, POINTER_BYTES, "%s%s", place, rest) < 0) {
		pointer[0] = '\0';
	}
}

/* --- one calendar --- */

static enum belfry_status refuse_unknown(struct walk *walk, const char *place,
		struct belfry_str name)
{
	struct belfry_str shown = bf_str_slice(name, 0, BF_CALENDAR_NAME_BYTES);
	const char *remedy = bf_calendar_name_is_good(name)
			? "make it with PUT /v1/calendars or `belfry calendars set`, or give dates instead"
			: "a calendar's name has 1 to 64 letters, digits, \"-\", \"_\" and \".\", and does not "
			  "begin with \".\"";
	char pointer[POINTER_BYTES];

	make_pointer(pointer, place, "/calendar");
	return bf_error_at(walk->err, BELFRY_INVALID_SCHEDULE, pointer,
			"rule: there is no shared calendar \"%.*s\" here: %s", BF_STR_ARGS(shown),
			remedy);
}

static enum belfry_status note_found(struct walk *walk, struct belfry_str name, json_t *except,
		int64_t revision)
{
	BF_CLEANUP(bf_cleanup_json)
	json_t *used = json_pack("{s:s%, s:I}", "name", name.ptr, name.len, "revision",
			(json_int_t)revision);

	if (json_object_setn(walk->found, name.ptr, name.len, except) != 0 ||
			json_array_append(walk->calendars, used) != 0) {
		return no_memory(walk);
	}
	return BELFRY_OK;
}

/* *ret_except is borrowed. */
static enum belfry_status look_up(struct walk *walk, struct belfry_str name, const char *place,
		json_t **ret_except)
{
	BF_CLEANUP(bf_cleanup_json) json_t *except = NULL;
	int64_t revision = 0;

	*ret_except = json_object_getn(walk->found, name.ptr, name.len);
	if (*ret_except != NULL) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_calendar_name_is_good(name)
			? walk->find(walk->data, name, &except, &revision, walk->err)
			: BELFRY_NOT_FOUND;
	if (status == BELFRY_NOT_FOUND) {
		return refuse_unknown(walk, place, name);
	}
	if (status == BELFRY_OK) {
		status = note_found(walk, name, except, revision);
	}
	*ret_except = status == BELFRY_OK ? json_object_getn(walk->found, name.ptr, name.len)
					  : NULL;
	return status;
}

static enum belfry_status expand_item(struct walk *walk, json_t *item, const char *place)
{
	const json_t *name = json_object_get(item, "calendar");
	json_t *except = NULL;
	char pointer[POINTER_BYTES];

	if (!json_is_string(name)) {
		return BELFRY_OK; /* a date, a cron, or what the parser refuses */
	}
	if (json_object_get(item, "except") != NULL) {
		make_pointer(pointer, place, "/except");
		return bf_error_at(walk->err, BELFRY_INVALID_SCHEDULE, pointer,
				"rule: this host keeps shared calendars: name the calendar alone, or "
				"list the dates without a name");
	}
	enum belfry_status status = look_up(walk, bf_json_str(name), place, &except);
	if (status == BELFRY_OK && json_object_set(item, "except", except) != 0) {
		status = no_memory(walk);
	}
	return status;
}

/* --- the rule --- */

static enum belfry_status expand_list(struct walk *walk, const struct pending *at)
{
	json_t *list = json_object_get(at->rule, "except");
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < json_array_size(list) && status == BELFRY_OK; i++) {
		char place[POINTER_BYTES];
		make_pointer(place, at->pointer, "/except/%zu", i);
		status = expand_item(walk, json_array_get(list, i), place);
	}
	return status;
}

static enum belfry_status put_pending(struct walk *walk, json_t *rule, const char *pointer)
{
	if (BF_GROW(walk->row, walk->capacity, walk->count + 1) != BELFRY_OK) {
		return no_memory(walk);
	}
	struct pending *item = &walk->row[walk->count++];
	item->rule = rule;
	make_pointer(item->pointer, pointer, "%s", "");
	return BELFRY_OK;
}

static enum belfry_status put_members(struct walk *walk, size_t index)
{
	json_t *any = json_object_get(walk->row[index].rule, "any");
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < json_array_size(any) && status == BELFRY_OK; i++) {
		char pointer[POINTER_BYTES];
		make_pointer(pointer, walk->row[index].pointer, "/any/%zu", i);
		status = put_pending(walk, json_array_get(any, i), pointer);
	}
	return status;
}

static enum belfry_status expand_all(struct walk *walk, json_t *rule)
{
	enum belfry_status status = put_pending(walk, rule, "/rule");

	for (size_t i = 0; i < walk->count && status == BELFRY_OK; i++) {
		status = expand_list(walk, &walk->row[i]);
		if (status == BELFRY_OK) {
			status = put_members(walk, i);
		}
	}
	return status;
}

static enum belfry_status write_text(struct walk *walk, const json_t *rule,
		struct bf_expansion *expansion)
{
	if (bf_json_dump(rule, &expansion->text) != BELFRY_OK) {
		return no_memory(walk);
	}
	if (expansion->text.len > BELFRY_RULE_BYTES) {
		return bf_error_at(walk->err, BELFRY_INVALID_SCHEDULE, "/rule/except",
				"rule: with its shared calendars it has %zu bytes, and at most %d are "
				"taken: name fewer or shorter calendars",
				expansion->text.len, BELFRY_RULE_BYTES);
	}
	expansion->calendars = json_incref(walk->calendars);
	return BELFRY_OK;
}

enum belfry_status bf_calendar_expand(const json_t *rule, bf_calendar_find_fn find, void *data,
		struct bf_expansion *ret_expansion, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *copy = json_deep_copy(rule);
	BF_CLEANUP(bf_expansion_fini) struct bf_expansion expansion = {0};
	BF_CLEANUP(walk_fini)
	struct walk walk = {
			.find = find,
			.data = data,
			.found = json_object(),
			.calendars = json_array(),
			.err = err,
	};

	if (copy == NULL || walk.found == NULL || walk.calendars == NULL) {
		return no_memory(&walk);
	}
	enum belfry_status status = expand_all(&walk, copy);
	if (status == BELFRY_OK && json_array_size(walk.calendars) > 0) {
		status = write_text(&walk, copy, &expansion);
	}
	if (status == BELFRY_OK) {
		*ret_expansion = expansion;
		expansion = (struct bf_expansion){0};
	}
	return status;
}
