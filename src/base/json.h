/* JSON: the one thin layer over jansson, strict both ways.
 *
 * Parse      bf_json_parse refuses what RFC 8259 leaves open: duplicate members (compared after
 *            unescaping), U+0000, nesting above BF_JSON_DEPTH, and numbers that do not fit.
 * Read       struct bf_json_reader walks one object: ask for each member that may be there, then end.
 *            The first failure is kept, so that only the end needs a check; what was asked for
 *            is what is known, and anything else is refused by name.
 * Write      struct bf_json_writer builds one object; a failed step is kept until the end.
 *
 * Ownership  text and values that a reader hands out are borrowed from the object that it reads.
 * Threads    none of its own; a json_t belongs to one thread at a time. bf_json_init goes first. */
#ifndef BF_JSON_H
#define BF_JSON_H

#include <jansson.h>

#include <belfry/run.h>

#include "base/compiler.h"
#include "base/str.h"

#define BF_JSON_DEPTH 64

/* For BF_CLEANUP(bf_cleanup_json) json_t *value = NULL; */
BF_CLEANUP_POINTER(json, json_t, json_decref)

/* Lets jansson allocate by bf_alloc and seeds its tables. Before any thread exists; twice is harmless. */
void bf_json_init(void);

/* Parses any JSON value. `max_bytes` is checked before anything else.
 * Returns BELFRY_OK; BELFRY_TOO_LARGE; BELFRY_INVALID (err->position is set); BELFRY_NOMEM.
 * *ret_value is owned by the caller (json_decref). */
BF_MUST_CHECK enum belfry_status bf_json_parse(struct belfry_str text, size_t max_bytes,
		json_t **ret_value, struct belfry_error *err);

/* Appends `value` as compact JSON, members in the order of their making. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_json_dump(const json_t *value, struct bf_buf *buf);

/* A new text value; bytes that are not UTF-8 become U+FFFD. NULL: no memory. */
BF_MUST_CHECK json_t *bf_json_new_str(struct belfry_str text);

/* The text of a JSON string, borrowed; empty for anything else. */
struct belfry_str bf_json_str(const json_t *value);

/* --- reading one object --- */

#define BF_JSON_OPTIONAL 0u
#define BF_JSON_REQUIRED 1u
#define BF_JSON_NULLABLE 2u /* null is allowed, and reads as "not given" (bf_json_reader_is_null) */

#define BF_JSON_READER_NAMES 64

struct bf_json_reader {
	const json_t *object; /* NULL where it was no object */
	struct bf_json_reader *parent;
	struct belfry_error *err;
	enum belfry_status status; /* the first failure */
	unsigned known_count;
	const char *known[BF_JSON_READER_NAMES];  /* every name that was asked for; static text */
	char pointer[BELFRY_ERROR_POINTER_BYTES]; /* of the object itself */
};

/* Begins to read `value`, which must be an object. `pointer`: its place in the document, "" for the
 * whole. err is borrowed until the end, may be NULL. */
void bf_json_reader_begin(struct bf_json_reader *reader, const json_t *value, const char *pointer,
		struct belfry_error *err);

/* Refuses every member that was not asked for, and returns the first failure of all (BELFRY_OK,
 * BELFRY_INVALID or what bf_json_reader_refuse was given). A reader that was entered hands its failure
 * to the one above it too, so its own status may be ignored. */
enum belfry_status bf_json_reader_end(struct bf_json_reader *reader);

/* Each of these is true when the member is there and good, and only then writes *ret. After a failure
 * they are all false. `name` is static text. */
bool bf_json_reader_string(struct bf_json_reader *reader, const char *name, unsigned flags,
		size_t min_bytes, size_t max_bytes, struct belfry_str *ret_text);
bool bf_json_reader_int(struct bf_json_reader *reader, const char *name, unsigned flags,
		int64_t min, int64_t max, int64_t *ret_value);
bool bf_json_reader_bool(struct bf_json_reader *reader, const char *name, unsigned flags,
		bool *ret_value);
bool bf_json_reader_duration(struct bf_json_reader *reader, const char *name, unsigned flags,
		belfry_duration min, belfry_duration max, belfry_duration *ret_value);
bool bf_json_reader_time(struct bf_json_reader *reader, const char *name, unsigned flags,
		belfry_time *ret_time);
/* names: the allowed words, ended by NULL; *ret_index is the place of the one given. */
bool bf_json_reader_enum(struct bf_json_reader *reader, const char *name, unsigned flags,
		const char *const *names, unsigned *ret_index);
/* Any value, as it is. */
bool bf_json_reader_value(struct bf_json_reader *reader, const char *name, unsigned flags,
		const json_t **ret_value);
/* An object whose member names are free (labels, headers). */
bool bf_json_reader_map(struct bf_json_reader *reader, const char *name, unsigned flags,
		size_t max_count, const json_t **ret_object);
bool bf_json_reader_array(struct bf_json_reader *reader, const char *name, unsigned flags,
		size_t min_count, size_t max_count, const json_t **ret_array);

/* An object with known members: true when it is there, and then `child` has begun and must be ended. */
bool bf_json_reader_enter(struct bf_json_reader *reader, const char *name, unsigned flags,
		struct bf_json_reader *child);
/* The same for item `index` of an array member that bf_json_reader_array gave out. */
bool bf_json_reader_enter_item(struct bf_json_reader *reader, const char *name, const json_t *array,
		size_t index, struct bf_json_reader *child);
/* Item `index` as text. */
bool bf_json_reader_item_string(struct bf_json_reader *reader, const char *name,
		const json_t *array, size_t index, size_t min_bytes, size_t max_bytes,
		struct belfry_str *ret_text);
/* Member `key` of a map member, as text. */
bool bf_json_reader_map_string(struct bf_json_reader *reader, const char *name, const json_t *map,
		const char *key, size_t min_bytes, size_t max_bytes, struct belfry_str *ret_text);

/* Is the member there at all, or there and null? Both make the name known. */
bool bf_json_reader_has(struct bf_json_reader *reader, const char *name);
bool bf_json_reader_is_null(struct bf_json_reader *reader, const char *name);
bool bf_json_reader_is_ok(const struct bf_json_reader *reader);
/* Makes a name known without reading it (members that are read-only and ignored). */
void bf_json_reader_ignore(struct bf_json_reader *reader, const char *name);

/* The caller's own refusal, kept like any other. `name` NULL: of the object itself. `key` NULL, or a
 * member within the member (of a map). */
BF_PRINTF(5, 6)
void bf_json_reader_refuse(struct bf_json_reader *reader, const char *name, const char *key,
		enum belfry_status status, const char *format, ...);
/* A failure that a parser further down has put into the reader's err already: adds the pointer where
 * it left none, and keeps the status. */
void bf_json_reader_refuse_from(struct bf_json_reader *reader, const char *name,
		enum belfry_status status);

/* --- writing one object --- */

struct bf_json_writer {
	json_t *object;
	bool is_failed;
};

/* The writer owns its object until the end; bf_json_writer_fini drops it early. */
void bf_json_writer_begin(struct bf_json_writer *writer);
/* The object, owned by the caller. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_json_writer_end(struct bf_json_writer *writer,
		json_t **ret_object);
void bf_json_writer_fini(struct bf_json_writer *writer);

/* `value` is taken (a reference), NULL is a failure. */
void bf_json_write_value(struct bf_json_writer *writer, const char *name, json_t *value);
void bf_json_write_null(struct bf_json_writer *writer, const char *name);
void bf_json_write_bool(struct bf_json_writer *writer, const char *name, bool value);
void bf_json_write_int(struct bf_json_writer *writer, const char *name, int64_t value);
void bf_json_write_str(struct bf_json_writer *writer, const char *name, struct belfry_str text);
/* Empty text is null. */
void bf_json_write_str_or_null(struct bf_json_writer *writer, const char *name,
		struct belfry_str text);
void bf_json_write_text(struct bf_json_writer *writer, const char *name, const char *text);
/* RFC 3339 UTC; 0 and BELFRY_TIME_NEVER are null. */
void bf_json_write_time(struct bf_json_writer *writer, const char *name, belfry_time time);
/* ISO 8601. */
void bf_json_write_duration(struct bf_json_writer *writer, const char *name,
		belfry_duration duration);
/* 0 is null. */
void bf_json_write_duration_or_null(struct bf_json_writer *writer, const char *name,
		belfry_duration duration);

/* Inline, because the format of ids belongs to a higher layer that base does not link. All zero is
 * null. */
static inline void bf_json_write_id(struct bf_json_writer *writer, const char *name,
		struct belfry_id id)
{
	char text[BELFRY_ID_TEXT_BYTES] = "";

	if (memcmp(id.bytes, (const unsigned char[16]){0}, 16) == 0) {
		bf_json_write_null(writer, name);
		return;
	}
	belfry_id_format(id, text);
	bf_json_write_text(writer, name, text);
}

#endif
