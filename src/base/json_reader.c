/* Reading one JSON object strictly: each member is asked for, anything else is refused by name.
 *
 * Invariants  the first failure is kept in `status`, and err is written for that one alone; every
 *             refusal carries the pointer of the member (RFC 6901) and says what would be right.
 * Not here    the meaning of members; nothing is converted beyond text, numbers, times and words. */
#include "base/json.h"

#include <stdio.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/timefmt.h"

#define NAME_BYTES 64

/* --- names and pointers --- */

/* Appends as much as fits, never part of a character. */
static void append_char(char *out, size_t size, struct belfry_str text)
{
	size_t used = strlen(out);

	if (used + text.len < size) {
		memcpy(out + used, text.ptr, text.len);
		out[used + text.len] = '\0';
	}
}

/* Bytes of the character that begins with `first`; the text is UTF-8 already. */
static size_t char_bytes(char first)
{
	unsigned char c = (unsigned char)first;

	return c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static void append_token(char *pointer, size_t size, const char *name)
{
	append_char(pointer, size, BF_STR("/"));
	for (size_t i = 0; name[i] != '\0';) {
		size_t step = char_bytes(name[i]);
		if (name[i] == '~') {
			append_char(pointer, size, BF_STR("~0"));
		} else if (name[i] == '/') {
			append_char(pointer, size, BF_STR("~1"));
		} else {
			append_char(pointer, size, (struct belfry_str){name + i, step});
		}
		i += step;
	}
}

/* A name or word of the caller, fit for a sentence: cut, and without control characters. */
static void quote(char *out, size_t size, struct belfry_str text)
{
	out[0] = '\0';
	for (size_t i = 0; i < text.len;) {
		size_t step = BF_MIN(char_bytes(text.ptr[i]), text.len - i);
		bool is_control = (unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f;
		if (strlen(out) + step + 4 > size) {
			append_char(out, size, BF_STR("..."));
			return;
		}
		append_char(out, size, is_control ? BF_STR("?") : bf_str_slice(text, i, i + step));
		i += step;
	}
}

/* --- near names --- */

static char fold(char c)
{
	if (c >= 'A' && c <= 'Z') {
		return (char)(c + ('a' - 'A'));
	}
	return c == '-' ? '_' : c;
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b, case and - / _ not counted. Both are
 * shorter than NAME_BYTES. */
static unsigned name_distance(struct belfry_str a, struct belfry_str b)
{
	unsigned rows[3][NAME_BYTES + 1];
	unsigned *before = rows[0];
	unsigned *above = rows[1];
	unsigned *row = rows[2];

	for (size_t j = 0; j <= b.len; j++) {
		above[j] = (unsigned)j;
		before[j] = 0;
	}
	for (size_t i = 1; i <= a.len; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b.len; j++) {
			char x = fold(a.ptr[i - 1]);
			char y = fold(b.ptr[j - 1]);
			row[j] = BF_MIN(above[j - 1] + (x == y ? 0 : 1), above[j] + 1);
			row[j] = BF_MIN(row[j], row[j - 1] + 1);
			if (i > 1 && j > 1 && x == fold(b.ptr[j - 2]) && y == fold(a.ptr[i - 2])) {
				row[j] = BF_MIN(row[j], before[j - 2] + 1);
			}
		}
		unsigned *oldest = before;
		before = above;
		above = row;
		row = oldest;
	}
	return above[b.len];
}

static bool is_near(struct belfry_str given, const char *name, unsigned *best)
{
	struct belfry_str known = bf_str(name);

	if (given.len >= NAME_BYTES || known.len >= NAME_BYTES) {
		return false;
	}
	unsigned distance = name_distance(given, known);
	unsigned limit = known.len < 4 ? 1 : 2;
	if (distance > limit || distance >= *best || distance >= known.len) {
		return false;
	}
	*best = distance;
	return true;
}

static const char *find_near(struct belfry_str given, const char *const *names, size_t count)
{
	const char *found = NULL;
	unsigned best = UINT32_MAX;

	for (size_t i = 0; i < count; i++) {
		if (is_near(given, names[i], &best)) {
			found = names[i];
		}
	}
	return found;
}

/* Is `given` made of letters of `name`, in their order and from the first: "tz" of "timezone"? */
static bool is_short_for(struct belfry_str given, const char *name)
{
	size_t at = 0;

	if (given.len < 2 || given.ptr[0] != name[0]) {
		return false;
	}
	for (; *name != '\0' && at < given.len; name++) {
		at += *name == given.ptr[at] ? 1 : 0;
	}
	return at == given.len;
}

/* The shortest name that `given` is short for. */
static const char *find_long(struct belfry_str given, const char *const *names, size_t count)
{
	const char *found = NULL;

	for (size_t i = 0; i < count; i++) {
		if (is_short_for(given, names[i]) &&
				(found == NULL || strlen(names[i]) < strlen(found))) {
			found = names[i];
		}
	}
	return found;
}

/* --- refusing --- */

static void keep_status(struct bf_json_reader *reader, enum belfry_status status)
{
	for (struct bf_json_reader *at = reader; at != NULL; at = at->parent) {
		if (at->status == BELFRY_OK) {
			at->status = status;
		}
	}
}

static void format_pointer(const struct bf_json_reader *reader, const char *name, const char *key,
		char *pointer)
{
	(void)snprintf(pointer, BELFRY_ERROR_POINTER_BYTES, "%s", reader->pointer);
	if (name != NULL) {
		append_token(pointer, BELFRY_ERROR_POINTER_BYTES, name);
	}
	if (key != NULL) {
		append_token(pointer, BELFRY_ERROR_POINTER_BYTES, key);
	}
}

void bf_json_reader_refuse(struct bf_json_reader *reader, const char *name, const char *key,
		enum belfry_status status, const char *format, ...)
{
	char pointer[BELFRY_ERROR_POINTER_BYTES];
	char message[BELFRY_ERROR_MESSAGE_BYTES];
	va_list args;

	if (reader->status != BELFRY_OK) {
		return;
	}
	va_start(args, format);
	int len = vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	format_pointer(reader, name, key, pointer);
	(void)bf_error_at(reader->err, status, pointer, "%s", len > 0 ? message : "");
	keep_status(reader, status);
}

void bf_json_reader_refuse_from(struct bf_json_reader *reader, const char *name,
		enum belfry_status status)
{
	if (reader->status != BELFRY_OK || status == BELFRY_OK) {
		return;
	}
	if (reader->err != NULL && reader->err->pointer[0] == '\0') {
		format_pointer(reader, name, NULL, reader->err->pointer);
	}
	keep_status(reader, status);
}

static const char *type_text(const json_t *value)
{
	if (value == NULL) {
		return "nothing";
	}
	switch (json_typeof(value)) {
	case JSON_OBJECT: return "an object";
	case JSON_ARRAY: return "a list";
	case JSON_STRING: return "text";
	case JSON_INTEGER: return "a number";
	case JSON_REAL: return "a number with a fraction";
	case JSON_TRUE: return "true";
	case JSON_FALSE: return "false";
	case JSON_NULL: return "null";
	}
	return "something else";
}

/* "name" or "name/key" for sentences. */
static void label(char *out, size_t size, const char *name, const char *key)
{
	char part[NAME_BYTES];

	quote(out, size, bf_str(name));
	if (key != NULL) {
		size_t used = strlen(out);
		quote(part, sizeof(part), bf_str(key));
		(void)snprintf(out + used, size - used, "/%s", part);
	}
}

static void refuse_type(struct bf_json_reader *reader, const char *name, const char *key,
		const char *wanted, const json_t *value)
{
	char text[2 * NAME_BYTES + 8];

	label(text, sizeof(text), name, key);
	bf_json_reader_refuse(reader, name, key, BELFRY_INVALID, "\"%s\" must be %s, and is %s",
			text, wanted, type_text(value));
}

/* --- finding --- */

static void make_known(struct bf_json_reader *reader, const char *name)
{
	for (unsigned i = 0; i < reader->known_count; i++) {
		if (strcmp(reader->known[i], name) == 0) {
			return;
		}
	}
	BF_ASSERT(reader->known_count < BF_JSON_READER_NAMES);
	reader->known[reader->known_count++] = name;
}

static void refuse_missing(struct bf_json_reader *reader, const char *name)
{
	const char *near = NULL;
	unsigned best = UINT32_MAX;
	const char *key;
	json_t *value;
	char given[NAME_BYTES];

	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)reader->object, key, value)
	{
		if (is_near(bf_str(key), name, &best)) {
			near = key;
		}
	}
	if (near == NULL) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" is missing: it must be given", name);
		return;
	}
	quote(given, sizeof(given), bf_str(near));
	bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
			"\"%s\" is missing: it must be given (\"%s\" is there; is that it?)", name,
			given);
}

/* The member, where it is there and not null; else NULL, having refused what the flags do not allow. */
static json_t *find_member(struct bf_json_reader *reader, const char *name, unsigned flags,
		const char *wanted)
{
	make_known(reader, name);
	if (reader->status != BELFRY_OK) {
		return NULL;
	}
	json_t *value = json_object_get(reader->object, name);
	if (value == NULL) {
		if ((flags & BF_JSON_REQUIRED) != 0) {
			refuse_missing(reader, name);
		}
		return NULL;
	}
	if (json_is_null(value)) {
		if ((flags & BF_JSON_NULLABLE) == 0) {
			refuse_type(reader, name, NULL, wanted, value);
		}
		return NULL;
	}
	return value;
}

void bf_json_reader_begin(struct bf_json_reader *reader, const json_t *value, const char *pointer,
		struct belfry_error *err)
{
	*reader = (struct bf_json_reader){.err = err};
	(void)snprintf(reader->pointer, sizeof(reader->pointer), "%s", pointer);
	if (!json_is_object(value)) {
		bf_json_reader_refuse(reader, NULL, NULL, BELFRY_INVALID,
				"an object is needed here, and this is %s", type_text(value));
		return;
	}
	reader->object = value;
}

static bool is_known(const struct bf_json_reader *reader, const char *key)
{
	for (unsigned i = 0; i < reader->known_count; i++) {
		if (strcmp(reader->known[i], key) == 0) {
			return true;
		}
	}
	return false;
}

static void refuse_unknown(struct bf_json_reader *reader, const char *key)
{
	char given[NAME_BYTES];
	const char *near = find_near(bf_str(key), reader->known, reader->known_count);

	if (near == NULL) {
		near = find_long(bf_str(key), reader->known, reader->known_count);
	}
	quote(given, sizeof(given), bf_str(key));
	if (near != NULL) {
		bf_json_reader_refuse(reader, key, NULL, BELFRY_INVALID,
				"there is no member \"%s\" here; did you mean \"%s\"?", given,
				near);
	} else {
		bf_json_reader_refuse(reader, key, NULL, BELFRY_INVALID,
				"there is no member \"%s\" here: leave it out", given);
	}
}

enum belfry_status bf_json_reader_end(struct bf_json_reader *reader)
{
	const char *key;
	json_t *value;

	if (reader->status == BELFRY_OK) {
		json_object_foreach((json_t *)(uintptr_t)reader->object, key, value)
		{
			if (!is_known(reader, key)) {
				refuse_unknown(reader, key);
				break;
			}
		}
	}
	return reader->status;
}

/* --- members --- */

static bool check_string(struct bf_json_reader *reader, const char *name, const char *key,
		const json_t *value, size_t min_bytes, size_t max_bytes,
		struct belfry_str *ret_text)
{
	struct belfry_str text = bf_json_str(value);
	char shown[2 * NAME_BYTES + 8];

	if (!json_is_string(value)) {
		refuse_type(reader, name, key, "text", value);
		return false;
	}
	label(shown, sizeof(shown), name, key);
	if (text.len < min_bytes && text.len == 0) {
		bf_json_reader_refuse(reader, name, key, BELFRY_INVALID, "\"%s\" must not be empty",
				shown);
		return false;
	}
	if (text.len < min_bytes || text.len > max_bytes) {
		bf_json_reader_refuse(reader, name, key, BELFRY_INVALID,
				"\"%s\" has %zu bytes: it must have %s %zu", shown, text.len,
				text.len < min_bytes ? "at least" : "at most",
				text.len < min_bytes ? min_bytes : max_bytes);
		return false;
	}
	*ret_text = text;
	return true;
}

bool bf_json_reader_string(struct bf_json_reader *reader, const char *name, unsigned flags,
		size_t min_bytes, size_t max_bytes, struct belfry_str *ret_text)
{
	json_t *value = find_member(reader, name, flags, "text");

	return value != NULL &&
			check_string(reader, name, NULL, value, min_bytes, max_bytes, ret_text);
}

bool bf_json_reader_int(struct bf_json_reader *reader, const char *name, unsigned flags,
		int64_t min, int64_t max, int64_t *ret_value)
{
	json_t *value = find_member(reader, name, flags, "a whole number");

	if (value == NULL) {
		return false;
	}
	if (!json_is_integer(value)) {
		refuse_type(reader, name, NULL, "a whole number", value);
		return false;
	}
	int64_t number = json_integer_value(value);
	if (number < min || number > max) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" is %lld: it must be from %lld to %lld", name,
				(long long)number, (long long)min, (long long)max);
		return false;
	}
	*ret_value = number;
	return true;
}

bool bf_json_reader_bool(struct bf_json_reader *reader, const char *name, unsigned flags,
		bool *ret_value)
{
	json_t *value = find_member(reader, name, flags, "true or false");

	if (value == NULL) {
		return false;
	}
	if (!json_is_boolean(value)) {
		refuse_type(reader, name, NULL, "true or false", value);
		return false;
	}
	*ret_value = json_is_true(value);
	return true;
}

bool bf_json_reader_duration(struct bf_json_reader *reader, const char *name, unsigned flags,
		belfry_duration min, belfry_duration max, belfry_duration *ret_value)
{
	static const char wanted[] = "a duration such as \"PT10M\" or \"10m\"";
	json_t *value = find_member(reader, name, flags, wanted);
	belfry_duration duration;
	char text[NAME_BYTES];
	char low[BF_DURATION_TEXT_BYTES];
	char high[BF_DURATION_TEXT_BYTES];

	if (value == NULL) {
		return false;
	}
	if (!json_is_string(value)) {
		refuse_type(reader, name, NULL, wanted, value);
		return false;
	}
	quote(text, sizeof(text), bf_json_str(value));
	if (bf_duration_parse(bf_json_str(value), &duration) != BELFRY_OK) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" is \"%s\": it must be %s", name, text, wanted);
		return false;
	}
	if (duration < min || duration > max) {
		bf_duration_format(min, low);
		bf_duration_format(max, high);
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" is \"%s\": it must be from %s to %s", name, text, low,
				high);
		return false;
	}
	*ret_value = duration;
	return true;
}

bool bf_json_reader_time(struct bf_json_reader *reader, const char *name, unsigned flags,
		belfry_time *ret_time)
{
	static const char wanted[] = "a time such as \"2026-12-01T09:00:00Z\"";
	json_t *value = find_member(reader, name, flags, wanted);
	char text[NAME_BYTES];

	if (value == NULL) {
		return false;
	}
	if (!json_is_string(value)) {
		refuse_type(reader, name, NULL, wanted, value);
		return false;
	}
	if (bf_time_parse(bf_json_str(value), ret_time) != BELFRY_OK) {
		quote(text, sizeof(text), bf_json_str(value));
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" is \"%s\": it must be %s (RFC 3339)", name, text, wanted);
		return false;
	}
	return true;
}

static size_t count_names(const char *const *names)
{
	size_t count = 0;

	while (names[count] != NULL) {
		count++;
	}
	return count;
}

static void refuse_word(struct bf_json_reader *reader, const char *name, struct belfry_str word,
		const char *const *names)
{
	char list[192] = "";
	char text[NAME_BYTES];
	const char *near = find_near(word, names, count_names(names));

	for (size_t i = 0; names[i] != NULL; i++) {
		size_t used = strlen(list);
		(void)snprintf(list + used, sizeof(list) - used, "%s%s", i > 0 ? ", " : "",
				names[i]);
	}
	quote(text, sizeof(text), word);
	if (near != NULL) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" is \"%s\"; did you mean \"%s\"? It is one of: %s", name,
				text, near, list);
	} else {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" is \"%s\": it must be one of: %s", name, text, list);
	}
}

bool bf_json_reader_enum(struct bf_json_reader *reader, const char *name, unsigned flags,
		const char *const *names, unsigned *ret_index)
{
	json_t *value = find_member(reader, name, flags, "text");

	if (value == NULL) {
		return false;
	}
	if (!json_is_string(value)) {
		refuse_type(reader, name, NULL, "text", value);
		return false;
	}
	for (unsigned i = 0; names[i] != NULL; i++) {
		if (bf_str_equal(bf_json_str(value), bf_str(names[i]))) {
			*ret_index = i;
			return true;
		}
	}
	refuse_word(reader, name, bf_json_str(value), names);
	return false;
}

bool bf_json_reader_value(struct bf_json_reader *reader, const char *name, unsigned flags,
		const json_t **ret_value)
{
	json_t *value = find_member(reader, name, flags, "a value");

	if (value == NULL) {
		return false;
	}
	*ret_value = value;
	return true;
}

bool bf_json_reader_map(struct bf_json_reader *reader, const char *name, unsigned flags,
		size_t max_count, const json_t **ret_object)
{
	json_t *value = find_member(reader, name, flags, "an object");

	if (value == NULL) {
		return false;
	}
	if (!json_is_object(value)) {
		refuse_type(reader, name, NULL, "an object", value);
		return false;
	}
	if (json_object_size(value) > max_count) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" has %zu members: at most %zu are taken", name,
				json_object_size(value), max_count);
		return false;
	}
	*ret_object = value;
	return true;
}

bool bf_json_reader_array(struct bf_json_reader *reader, const char *name, unsigned flags,
		size_t min_count, size_t max_count, const json_t **ret_array)
{
	json_t *value = find_member(reader, name, flags, "a list");

	if (value == NULL) {
		return false;
	}
	if (!json_is_array(value)) {
		refuse_type(reader, name, NULL, "a list", value);
		return false;
	}
	size_t count = json_array_size(value);
	if (count < min_count || count > max_count) {
		bf_json_reader_refuse(reader, name, NULL, BELFRY_INVALID,
				"\"%s\" has %zu items: it must have %s %zu", name, count,
				count < min_count ? "at least" : "at most",
				count < min_count ? min_count : max_count);
		return false;
	}
	*ret_array = value;
	return true;
}

/* --- one level down --- */

static void begin_child(struct bf_json_reader *reader, const char *name, const char *key,
		const json_t *value, struct bf_json_reader *child)
{
	*child = (struct bf_json_reader){.err = reader->err, .parent = reader, .object = value};
	format_pointer(reader, name, key, child->pointer);
}

bool bf_json_reader_enter(struct bf_json_reader *reader, const char *name, unsigned flags,
		struct bf_json_reader *child)
{
	const json_t *value;

	if (!bf_json_reader_map(reader, name, flags, SIZE_MAX, &value)) {
		return false;
	}
	begin_child(reader, name, NULL, value, child);
	return true;
}

static void format_index(char *out, size_t size, size_t index)
{
	(void)snprintf(out, size, "%zu", index);
}

bool bf_json_reader_enter_item(struct bf_json_reader *reader, const char *name, const json_t *array,
		size_t index, struct bf_json_reader *child)
{
	char key[24];
	const json_t *value = json_array_get(array, index);

	if (reader->status != BELFRY_OK) {
		return false;
	}
	format_index(key, sizeof(key), index);
	if (!json_is_object(value)) {
		refuse_type(reader, name, key, "an object", value);
		return false;
	}
	begin_child(reader, name, key, value, child);
	return true;
}

bool bf_json_reader_item_string(struct bf_json_reader *reader, const char *name,
		const json_t *array, size_t index, size_t min_bytes, size_t max_bytes,
		struct belfry_str *ret_text)
{
	char key[24];

	format_index(key, sizeof(key), index);
	return reader->status == BELFRY_OK &&
			check_string(reader, name, key, json_array_get(array, index), min_bytes,
					max_bytes, ret_text);
}

bool bf_json_reader_map_string(struct bf_json_reader *reader, const char *name, const json_t *map,
		const char *key, size_t min_bytes, size_t max_bytes, struct belfry_str *ret_text)
{
	return reader->status == BELFRY_OK &&
			check_string(reader, name, key, json_object_get(map, key), min_bytes,
					max_bytes, ret_text);
}

bool bf_json_reader_has(struct bf_json_reader *reader, const char *name)
{
	make_known(reader, name);
	return json_object_get(reader->object, name) != NULL;
}

bool bf_json_reader_is_null(struct bf_json_reader *reader, const char *name)
{
	make_known(reader, name);
	return json_is_null(json_object_get(reader->object, name));
}

bool bf_json_reader_is_ok(const struct bf_json_reader *reader)
{
	return reader->status == BELFRY_OK;
}

void bf_json_reader_ignore(struct bf_json_reader *reader, const char *name)
{
	make_known(reader, name);
}
