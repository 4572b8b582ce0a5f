/* JSON text to values and back, through jansson.
 *
 * Invariants  no value is made from text that was not first scanned without recursion: size, UTF-8,
 *             nesting, U+0000. jansson's own recursion is therefore at most BF_JSON_DEPTH deep.
 *             A refusal never says "invalid" where memory was short.
 * Not here    what members mean (json_reader.c and its callers). */
#include "base/json.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"

/* jansson does not always say that memory was short; its allocation hook has no context, so the fact
 * is kept per thread for the length of one call. */
static _Thread_local bool is_memory_short;

static void *json_malloc(size_t size)
{
	void *pointer = bf_realloc_array(NULL, 1, size);

	if (pointer == NULL) {
		is_memory_short = true;
	}
	return pointer;
}

void bf_json_init(void)
{
	json_set_alloc_funcs(json_malloc, bf_free);
	json_object_seed(0);
}

/* --- the scan before the parse --- */

/* Only on the way to a refusal: where the first sequence that is not UTF-8 begins. */
static size_t find_bad_utf8(struct belfry_str text)
{
	size_t at = 0;

	while (at < text.len) {
		size_t step = 1;
		while (step <= 4 && !bf_str_is_utf8(bf_str_slice(text, at, at + step))) {
			step++;
		}
		if (step > 4) {
			break;
		}
		at += step;
	}
	return at;
}

struct scan {
	size_t depth;
	bool is_in_string;
	bool is_escaped;
};

static void scan_outside(struct scan *scan, char c)
{
	if (c == '"') {
		scan->is_in_string = true;
	} else if (c == '[' || c == '{') {
		scan->depth++;
	} else if ((c == ']' || c == '}') && scan->depth > 0) {
		scan->depth--;
	}
}

/* True: the escape that ends here is \u0000. */
static bool scan_inside(struct scan *scan, struct belfry_str rest)
{
	char c = rest.ptr[0];

	if (scan->is_escaped) {
		scan->is_escaped = false;
		return bf_str_starts_with(rest, BF_STR("u0000"));
	}
	scan->is_escaped = c == '\\';
	scan->is_in_string = c != '"';
	return false;
}

static enum belfry_status scan_text(struct belfry_str text, struct belfry_error *err)
{
	struct scan scan = {0};

	if (!bf_str_is_utf8(text)) {
		size_t at = find_bad_utf8(text);
		return bf_error_position(err, BELFRY_INVALID, at,
				"the byte at position %zu is not UTF-8 text (or is a zero byte): "
				"send the JSON as UTF-8",
				at + 1);
	}
	for (size_t i = 0; i < text.len; i++) {
		if (!scan.is_in_string) {
			scan_outside(&scan, text.ptr[i]);
		} else if (scan_inside(&scan, bf_str_slice(text, i, i + 5))) {
			return bf_error_position(err, BELFRY_INVALID, i - 1,
					"\\u0000 at position %zu is not allowed: leave the "
					"character out",
					i);
		}
		if (scan.depth > BF_JSON_DEPTH) {
			return bf_error_position(err, BELFRY_INVALID, i,
					"the JSON is nested more than %d deep at position %zu: "
					"make it flatter",
					BF_JSON_DEPTH, i + 1);
		}
	}
	return BELFRY_OK;
}

/* --- the parse --- */

/* The raw text of the last string token that ends at or before `end`, without its quotes. */
static struct belfry_str last_string(struct belfry_str text, size_t end)
{
	struct belfry_str found = {0};
	struct scan scan = {0};
	size_t begin = 0;

	for (size_t i = 0; i < text.len && i < end; i++) {
		bool was_in_string = scan.is_in_string;
		if (was_in_string) {
			(void)scan_inside(&scan,
					bf_str_slice(text, i, i + 5)); /* \u0000 is not here */
		} else {
			scan_outside(&scan, text.ptr[i]);
		}
		if (!was_in_string && scan.is_in_string) {
			begin = i + 1;
		} else if (was_in_string && !scan.is_in_string) {
			found = bf_str_slice(text, begin, i);
		}
	}
	return found;
}

static enum belfry_status refuse_duplicate(struct belfry_str text, size_t at,
		struct belfry_error *err)
{
	struct belfry_str name = last_string(text, at + 1);

	if (name.len > 64) {
		name = (struct belfry_str){0};
	}
	return bf_error_position(err, BELFRY_INVALID, at,
			"the member \"%.*s\" at position %zu is given twice: name each member once",
			BF_STR_ARGS(name), at + 1);
}

static const char *parse_text(enum json_error_code code)
{
	if (code == json_error_premature_end_of_input) {
		return "the JSON ends before it is complete: close every text, list and object";
	}
	if (code == json_error_end_of_input_expected) {
		return "something follows the end of the JSON: send one value alone";
	}
	if (code == json_error_numeric_overflow) {
		return "a number does not fit: whole numbers go from -2^63 to 2^63-1, others to "
		       "1.7e308";
	}
	return "this is not JSON: look for a missing comma, quote or bracket, or a wrong escape";
}

static enum belfry_status refuse_parse(struct belfry_str text, const json_error_t *error,
		struct belfry_error *err)
{
	enum json_error_code code = json_error_code(error);
	/* jansson counts the bytes that it has taken: the last of them ends the token at fault. */
	size_t at = error->position > 0 ? (size_t)error->position - 1 : 0;

	at = BF_MIN(at, text.len);
	if (is_memory_short || code == json_error_out_of_memory) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for %zu bytes of JSON",
				text.len);
	}
	if (code == json_error_duplicate_key) {
		return refuse_duplicate(text, at, err);
	}
	return bf_error_position(err, BELFRY_INVALID, at, "%s (position %zu)", parse_text(code),
			at + 1);
}

enum belfry_status bf_json_parse(struct belfry_str text, size_t max_bytes, json_t **ret_value,
		struct belfry_error *err)
{
	json_error_t error = {.position = 0};

	if (text.len > max_bytes) {
		return bf_error_set(err, BELFRY_TOO_LARGE,
				"the JSON has %zu bytes, and at most %zu are taken: send less",
				text.len, max_bytes);
	}
	if (text.len == 0) {
		return bf_error_position(err, BELFRY_INVALID, 0,
				"there is no JSON: the text is empty");
	}
	enum belfry_status status = scan_text(text, err);
	if (status != BELFRY_OK) {
		return status;
	}
	is_memory_short = false;
	json_t *value = json_loadb(text.ptr, text.len, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY,
			&error);
	if (value == NULL || is_memory_short) {
		/* jansson 2.14 drops a byte of a text and goes on where its buffer cannot grow. */
		json_decref(value);
		return refuse_parse(text, &error, err);
	}
	*ret_value = value;
	return BELFRY_OK;
}

/* --- writing --- */

static int append_part(const char *bytes, size_t len, void *data)
{
	struct bf_buf *buf = data;

	bf_buf_append(buf, bytes, len);
	return buf->is_failed ? -1 : 0;
}

enum belfry_status bf_json_dump(const json_t *value, struct bf_buf *buf)
{
	/* Values of ours are UTF-8 and finite, so memory is all that can be short. */
	if (json_dump_callback(value, append_part, buf, JSON_COMPACT | JSON_ENCODE_ANY) != 0) {
		buf->is_failed = true;
	}
	return bf_buf_status(buf);
}

json_t *bf_json_new_str(struct belfry_str text)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf repaired = {0};

	if (text.len == 0) {
		return json_stringn("", 0);
	}
	if (bf_str_is_utf8(text)) {
		return json_stringn(text.ptr, text.len);
	}
	bf_buf_append_repaired(&repaired, text);
	if (bf_buf_status(&repaired) != BELFRY_OK) {
		return NULL;
	}
	return json_stringn(repaired.ptr, repaired.len);
}

struct belfry_str bf_json_str(const json_t *value)
{
	if (!json_is_string(value)) {
		return (struct belfry_str){0};
	}
	return (struct belfry_str){json_string_value(value), json_string_length(value)};
}

void bf_json_writer_begin(struct bf_json_writer *writer)
{
	json_t *object = json_object();

	*writer = (struct bf_json_writer){.object = object, .is_failed = object == NULL};
}

void bf_json_writer_fini(struct bf_json_writer *writer)
{
	json_decref(writer->object);
	*writer = (struct bf_json_writer){0};
}

enum belfry_status bf_json_writer_end(struct bf_json_writer *writer, json_t **ret_object)
{
	if (writer->is_failed) {
		bf_json_writer_fini(writer);
		return BELFRY_NOMEM;
	}
	*ret_object = writer->object;
	*writer = (struct bf_json_writer){0};
	return BELFRY_OK;
}

void bf_json_write_value(struct bf_json_writer *writer, const char *name, json_t *value)
{
	/* Takes the reference whether it succeeds or not. */
	if (json_object_set_new(writer->object, name, value) != 0) {
		writer->is_failed = true;
	}
}

void bf_json_write_null(struct bf_json_writer *writer, const char *name)
{
	bf_json_write_value(writer, name, json_null());
}

void bf_json_write_bool(struct bf_json_writer *writer, const char *name, bool value)
{
	bf_json_write_value(writer, name, json_boolean(value));
}

void bf_json_write_int(struct bf_json_writer *writer, const char *name, int64_t value)
{
	bf_json_write_value(writer, name, json_integer(value));
}

void bf_json_write_str(struct bf_json_writer *writer, const char *name, struct belfry_str text)
{
	bf_json_write_value(writer, name, bf_json_new_str(text));
}

void bf_json_write_str_or_null(struct bf_json_writer *writer, const char *name,
		struct belfry_str text)
{
	if (text.len == 0) {
		bf_json_write_null(writer, name);
	} else {
		bf_json_write_str(writer, name, text);
	}
}

void bf_json_write_text(struct bf_json_writer *writer, const char *name, const char *text)
{
	bf_json_write_str(writer, name, bf_str(text));
}

void bf_json_write_time(struct bf_json_writer *writer, const char *name, belfry_time time)
{
	char text[BF_TIME_TEXT_BYTES];

	if (time == 0 || time == BELFRY_TIME_NEVER) {
		bf_json_write_null(writer, name);
		return;
	}
	bf_time_format(time, 0, text);
	bf_json_write_text(writer, name, text);
}

void bf_json_write_duration(struct bf_json_writer *writer, const char *name,
		belfry_duration duration)
{
	char text[BF_DURATION_TEXT_BYTES];

	bf_duration_format(duration, text);
	bf_json_write_text(writer, name, text);
}

void bf_json_write_duration_or_null(struct bf_json_writer *writer, const char *name,
		belfry_duration duration)
{
	if (duration == 0) {
		bf_json_write_null(writer, name);
	} else {
		bf_json_write_duration(writer, name, duration);
	}
}
