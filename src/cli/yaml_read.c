/* Builds JSON from the events of libyaml, with a stack of its own.
 *
 * Invariants  depth, and with it the stack, is bounded; no alias is ever followed, so that a file makes
 *             no more values than it has bytes; every refusal names line and column.
 * Not here    what a scalar without quotes is (yaml_scalar.c), and what members mean. */
#include <yaml.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "cli/yaml.h"

#define MARK_DEPTH 3 /* document, list, its items */

struct frame {
	json_t *container; /* borrowed: from its parent, or from the documents */
	bool is_map;
	bool has_key;
	struct bf_buf key;
};

struct reader {
	yaml_parser_t parser;
	struct bf_yaml *yaml;
	struct frame frames[BF_JSON_DEPTH];
	size_t depth;
	struct belfry_error *err;
};

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

BF_PRINTF(3, 4)
static enum belfry_status refuse(const struct reader *reader, yaml_mark_t mark, const char *format,
		...)
{
	char text[200];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return bf_error_set(reader->err, BELFRY_INVALID, "line %zu, column %zu: %s", mark.line + 1,
			mark.column + 1, text);
}

static struct frame *top(struct reader *reader)
{
	return reader->depth > 0 ? &reader->frames[reader->depth - 1] : NULL;
}

static bool wants_key(struct reader *reader)
{
	const struct frame *frame = top(reader);

	return frame != NULL && frame->is_map && !frame->has_key;
}

/* Takes `value`; NULL is a lack of memory. */
static enum belfry_status put_value(struct reader *reader, json_t *value)
{
	struct frame *frame = top(reader);
	int failed;

	if (frame == NULL && json_is_null(value)) {
		return BELFRY_OK; /* an empty document */
	}
	if (frame == NULL) {
		failed = json_array_append_new(reader->yaml->documents, value);
	} else if (!frame->is_map) {
		failed = json_array_append_new(frame->container, value);
	} else {
		failed = json_object_setn_new(frame->container, frame->key.ptr, frame->key.len,
				value);
		frame->has_key = false;
	}
	return failed == 0 ? BELFRY_OK : no_memory(reader->err);
}

/* --- scalars --- */

/* 0o17 and 0x1f; what does not fit is negative. */
static int64_t read_prefixed(struct belfry_str text)
{
	unsigned base = text.ptr[1] == 'o' ? 8 : 16;
	uint64_t sum = 0;

	for (size_t i = 2; i < text.len; i++) {
		char c = text.ptr[i];
		unsigned digit = (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10);

		if (sum > ((uint64_t)INT64_MAX - digit) / base) {
			return -1;
		}
		sum = sum * base + digit;
	}
	return (int64_t)sum;
}

/* The same number as JSON writes it: no plus, no zeros in front, digits on both sides of a point. */
static void put_json_number(struct bf_buf *buf, struct belfry_str text)
{
	size_t at = text.ptr[0] == '-' || text.ptr[0] == '+' ? 1 : 0;

	bf_buf_append_text(buf, text.ptr[0] == '-' ? "-" : "");
	while (at + 1 < text.len && text.ptr[at] == '0' && text.ptr[at + 1] >= '0' &&
			text.ptr[at + 1] <= '9') {
		at++;
	}
	bf_buf_append_text(buf, text.ptr[at] == '.' ? "0" : "");
	for (; at < text.len; at++) {
		bool is_point = text.ptr[at] == '.';
		bool has_digit = at + 1 < text.len && text.ptr[at + 1] >= '0' &&
				text.ptr[at + 1] <= '9';

		bf_buf_append_byte(buf, text.ptr[at]);
		bf_buf_append_text(buf, is_point && !has_digit ? "0" : "");
	}
}

static enum belfry_status make_number(const struct reader *reader, struct belfry_str text,
		yaml_mark_t mark, json_t **ret_value)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf number = {0};
	bool is_prefixed = text.len > 2 && (text.ptr[1] == 'o' || text.ptr[1] == 'x');
	enum belfry_status status = BELFRY_INVALID;

	if (is_prefixed) {
		int64_t value = read_prefixed(text);

		bf_buf_appendf(&number, "%lld", (long long)value);
		status = value < 0 ? BELFRY_INVALID : bf_buf_status(&number);
	} else {
		put_json_number(&number, text);
		status = bf_buf_status(&number);
	}
	if (status == BELFRY_OK) {
		status = bf_json_parse(bf_buf_str(&number), SIZE_MAX, ret_value, NULL);
	}
	if (status == BELFRY_NOMEM) {
		return no_memory(reader->err);
	}
	return status == BELFRY_OK ? BELFRY_OK
				   : refuse(reader, mark,
						     "the number does not fit: put it in quotes "
						     "where it is meant as text");
}

static enum belfry_status make_text(const struct reader *reader, struct belfry_str text,
		yaml_mark_t mark, json_t **ret_value)
{
	if (!bf_str_is_utf8(text)) {
		return refuse(reader, mark, "the text holds the character U+0000: leave it out");
	}
	*ret_value = json_stringn(text.len > 0 ? text.ptr : "", text.len);
	return *ret_value != NULL ? BELFRY_OK : no_memory(reader->err);
}

static enum belfry_status make_scalar(const struct reader *reader, const yaml_event_t *event,
		json_t **ret_value)
{
	struct belfry_str text = {(const char *)event->data.scalar.value,
			event->data.scalar.length};
	bool is_plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
			event->data.scalar.tag == NULL;

	switch (is_plain ? bf_yaml_kind(text) : BF_YAML_TEXT) {
	case BF_YAML_NULL: *ret_value = json_null(); return BELFRY_OK;
	case BF_YAML_BOOL:
		*ret_value = json_boolean(text.ptr[0] == 't' || text.ptr[0] == 'T');
		return BELFRY_OK;
	case BF_YAML_NUMBER: return make_number(reader, text, event->start_mark, ret_value);
	case BF_YAML_NOT_FINITE:
		return refuse(reader, event->start_mark,
				"JSON has no such number: put it in quotes where it is meant as text");
	case BF_YAML_TEXT: break;
	}
	return make_text(reader, text, event->start_mark, ret_value);
}

static enum belfry_status take_key(struct reader *reader, const yaml_event_t *event)
{
	struct frame *frame = top(reader);
	struct belfry_str key = {(const char *)event->data.scalar.value, event->data.scalar.length};

	if (!bf_str_is_utf8(key)) {
		return refuse(reader, event->start_mark, "the key holds the character U+0000");
	}
	bf_buf_clear(&frame->key);
	bf_buf_append_text(&frame->key, "");
	bf_buf_append_str(&frame->key, key);
	if (bf_buf_status(&frame->key) != BELFRY_OK) {
		return no_memory(reader->err);
	}
	if (json_object_getn(frame->container, frame->key.ptr, frame->key.len) != NULL) {
		return refuse(reader, event->start_mark,
				"\"%.60s\" is given twice: name each member once", frame->key.ptr);
	}
	frame->has_key = true;
	return BELFRY_OK;
}

/* --- what JSON has no word for --- */

static enum belfry_status refuse_anchor(const struct reader *reader, yaml_mark_t mark)
{
	return refuse(reader, mark,
			"anchors and aliases (& and *) are not taken: write the value out, and quote "
			"text that begins with * or &");
}

/* `own`: the tag that says what the node is anyway. */
static enum belfry_status check_node(const struct reader *reader, const yaml_char_t *anchor,
		const yaml_char_t *tag, const char *own, yaml_mark_t mark)
{
	if (anchor != NULL) {
		return refuse_anchor(reader, mark);
	}
	if (tag != NULL && strcmp((const char *)tag, own) != 0 &&
			strcmp((const char *)tag, "!") != 0) {
		return refuse(reader, mark, "the tag %.60s is not taken: leave it out",
				(const char *)tag);
	}
	return BELFRY_OK;
}

/* --- events --- */

static enum belfry_status put_mark(struct reader *reader, const json_t *value, yaml_mark_t mark)
{
	struct bf_yaml *yaml = reader->yaml;

	if (reader->depth >= MARK_DEPTH) {
		return BELFRY_OK;
	}
	if (BF_GROW(yaml->marks, yaml->mark_capacity, yaml->mark_count + 1) != BELFRY_OK) {
		return no_memory(reader->err);
	}
	yaml->marks[yaml->mark_count++] = (struct bf_yaml_mark){value, mark.line + 1};
	return BELFRY_OK;
}

static enum belfry_status enter(struct reader *reader, bool is_map, yaml_mark_t mark)
{
	json_t *container = is_map ? json_object() : json_array();

	if (wants_key(reader) || reader->depth >= BF_JSON_DEPTH) {
		json_decref(container);
		return wants_key(reader)
				? refuse(reader, mark,
						  "a key must be text: quote what begins with { or [")
				: refuse(reader, mark,
						  "it is nested more than %d deep: make it flatter",
						  BF_JSON_DEPTH);
	}
	enum belfry_status status = put_value(reader, container);
	if (status == BELFRY_OK) {
		status = put_mark(reader, container, mark);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	struct frame *frame = &reader->frames[reader->depth++];
	frame->container = container;
	frame->is_map = is_map;
	frame->has_key = false;
	return BELFRY_OK;
}

static enum belfry_status take_scalar(struct reader *reader, const yaml_event_t *event)
{
	json_t *value = NULL;
	enum belfry_status status = check_node(reader, event->data.scalar.anchor,
			event->data.scalar.tag, YAML_STR_TAG, event->start_mark);

	if (status != BELFRY_OK) {
		return status;
	}
	if (wants_key(reader)) {
		return take_key(reader, event);
	}
	status = make_scalar(reader, event, &value);
	return status == BELFRY_OK ? put_value(reader, value) : status;
}

static enum belfry_status take_event(struct reader *reader, const yaml_event_t *event)
{
	enum belfry_status status = BELFRY_OK;

	switch (event->type) {
	case YAML_SCALAR_EVENT: return take_scalar(reader, event);
	case YAML_ALIAS_EVENT: return refuse_anchor(reader, event->start_mark);
	case YAML_SEQUENCE_START_EVENT:
		status = check_node(reader, event->data.sequence_start.anchor,
				event->data.sequence_start.tag, YAML_SEQ_TAG, event->start_mark);
		return status == BELFRY_OK ? enter(reader, false, event->start_mark) : status;
	case YAML_MAPPING_START_EVENT:
		status = check_node(reader, event->data.mapping_start.anchor,
				event->data.mapping_start.tag, YAML_MAP_TAG, event->start_mark);
		return status == BELFRY_OK ? enter(reader, true, event->start_mark) : status;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT: reader->depth--; return BELFRY_OK;
	case YAML_NO_EVENT:
	case YAML_STREAM_START_EVENT:
	case YAML_STREAM_END_EVENT:
	case YAML_DOCUMENT_START_EVENT:
	case YAML_DOCUMENT_END_EVENT: break;
	}
	return BELFRY_OK;
}

/* libyaml counts the place of a fault in one of two ways. */
static enum belfry_status refuse_syntax(const struct reader *reader)
{
	const yaml_parser_t *parser = &reader->parser;

	if (parser->error == YAML_MEMORY_ERROR) {
		return no_memory(reader->err);
	}
	return refuse(reader,
			parser->error == YAML_READER_ERROR ? parser->mark : parser->problem_mark,
			"this is not YAML: %s", parser->problem != NULL ? parser->problem : "?");
}

static enum belfry_status read_events(struct reader *reader)
{
	for (bool is_over = false; !is_over;) {
		yaml_event_t event;

		if (yaml_parser_parse(&reader->parser, &event) == 0) {
			return refuse_syntax(reader);
		}
		is_over = event.type == YAML_STREAM_END_EVENT;
		enum belfry_status status = take_event(reader, &event);
		yaml_event_delete(&event);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

void bf_yaml_put_place(struct bf_buf *buf, struct belfry_str text, size_t position)
{
	size_t line = 1;
	size_t column = 1;

	for (size_t i = 0; i < BF_MIN(position, text.len); i++) {
		bool is_break = text.ptr[i] == '\n';

		line += is_break ? 1 : 0;
		column = is_break ? 1 : column + (((unsigned char)text.ptr[i] & 0xc0) != 0x80);
	}
	bf_buf_appendf(buf, "line %zu, column %zu", line, column);
}

/* Before libyaml: where the bytes are no text, its own words would be about encodings. */
static enum belfry_status check_bytes(struct belfry_str text, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf place = {0};
	size_t good = 0;

	if (bf_str_is_utf8(text)) {
		return BELFRY_OK;
	}
	for (size_t step; good < text.len; good += step) {
		for (step = 1; step <= 4; step++) {
			if (bf_str_is_utf8(bf_str_slice(text, good, good + step))) {
				break;
			}
		}
		if (step > 4) {
			break;
		}
	}
	bf_yaml_put_place(&place, text, good);
	return bf_error_set(err, BELFRY_INVALID,
			"%.*s: the byte is not UTF-8 text (or is a zero byte): save the file as UTF-8",
			BF_STR_ARGS(bf_buf_str(&place)));
}

enum belfry_status bf_yaml_parse(struct belfry_str text, struct bf_yaml *ret_yaml,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {.documents = json_array()};
	struct reader reader = {.yaml = &yaml, .err = err};
	enum belfry_status status = yaml.documents != NULL ? check_bytes(text, err)
							   : no_memory(err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (yaml_parser_initialize(&reader.parser) == 0) {
		return no_memory(err);
	}
	yaml_parser_set_encoding(&reader.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reader.parser,
			(const unsigned char *)(text.len > 0 ? text.ptr : ""), text.len);
	status = read_events(&reader);
	yaml_parser_delete(&reader.parser);
	for (size_t i = 0; i < BF_JSON_DEPTH; i++) {
		bf_buf_fini(&reader.frames[i].key);
	}
	if (status == BELFRY_OK) {
		*ret_yaml = yaml;
		yaml = (struct bf_yaml){0};
	}
	return status;
}

void bf_yaml_fini(struct bf_yaml *yaml)
{
	json_decref(yaml->documents);
	bf_free(yaml->marks);
	*yaml = (struct bf_yaml){0};
}

size_t bf_yaml_line(struct bf_yaml *yaml, const json_t *value)
{
	for (size_t i = 0; i < yaml->mark_count; i++) {
		size_t at = (yaml->mark_next + i) % yaml->mark_count;

		if (yaml->marks[at].value == value) {
			yaml->mark_next = at + 1;
			return yaml->marks[at].line;
		}
	}
	return 0;
}
