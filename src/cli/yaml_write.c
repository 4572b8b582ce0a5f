/* JSON values as YAML that people like to read, and that reads back to the same value here and in parsers
 * of YAML 1.1: whatever those might take for something else is in quotes.
 *
 * Three forms of text: plain; a block behind "|" where it has lines; double quotes with escapes for all
 * that is left. A literal block has no blank at a line's end and none at the first line's begin, because
 * editors and indentation would eat them.
 * Recursion is bounded by the depth that the JSON parser takes (BF_JSON_DEPTH). */
#include "cli/yaml.h"

#define KEY_BYTES_MAX 900 /* a longer key is written behind "? " */

static void put_indent(struct bf_buf *buf, unsigned indent)
{
	for (unsigned i = 0; i < indent; i++) {
		bf_buf_append_byte(buf, ' ');
	}
}

/* --- text --- */

/* The code of the character at `at` of good UTF-8, and its length. */
static uint32_t decode(struct belfry_str text, size_t at, size_t *ret_len)
{
	const unsigned char *p = (const unsigned char *)text.ptr + at;
	size_t len = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	uint32_t code = len == 1 ? p[0] : p[0] & (0xffu >> (len + 1));

	for (size_t i = 1; i < len; i++) {
		code = code << 6 | (p[i] & 0x3fu);
	}
	*ret_len = len;
	return code;
}

/* Controls, line separators, what turns the direction of writing, and what YAML calls not printable. */
static bool needs_escape(uint32_t code)
{
	return code < 0x20 || (code >= 0x7f && code <= 0x9f) || code == 0xa0 || code == 0x061c ||
			(code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
			(code >= 0x2066 && code <= 0x2069) || code == 0xfeff ||
			(code >= 0xfff0 && code <= 0xfffb) || (code & 0xfffe) == 0xfffe ||
			(code >= 0xe0000 && code <= 0xe007f);
}

/* `but`: a character that is fine all the same, 0: none. */
static bool is_printable(struct belfry_str text, char but)
{
	size_t len;

	for (size_t at = 0; at < text.len; at += len) {
		uint32_t code = decode(text, at, &len);

		if (needs_escape(code) && !(but != 0 && code == (uint32_t)but)) {
			return false;
		}
	}
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ((unsigned char)c & 0x80) != 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* What YAML 1.1 reads as something else than text. */
static bool is_old_word(struct belfry_str text)
{
	static const char *const words[] = {"y", "n", "yes", "no", "on", "off", "true", "false",
			"null"};

	for (size_t i = 0; i < BF_COUNT(words); i++) {
		if (bf_str_equal_nocase(text, bf_str(words[i]))) {
			return true;
		}
	}
	return is_digit(text.ptr[0]) && memchr(text.ptr, ' ', text.len) == NULL;
}

static bool is_plain(struct belfry_str text)
{
	if (text.len == 0 ||
			!(is_letter(text.ptr[0]) || is_digit(text.ptr[0]) || text.ptr[0] == '/' ||
					text.ptr[0] == '_')) {
		return false;
	}
	if (text.ptr[text.len - 1] == ' ' || !is_printable(text, 0) || is_old_word(text) ||
			bf_yaml_kind(text) != BF_YAML_TEXT) {
		return false;
	}
	for (size_t i = 0; i < text.len; i++) {
		char next = i + 1 < text.len ? text.ptr[i + 1] : ' ';

		if (text.ptr[i] == '#' || (text.ptr[i] == ':' && next == ' ')) {
			return false;
		}
	}
	return true;
}

static bool is_block(struct belfry_str text)
{
	if (text.len < 2 || memchr(text.ptr, '\n', text.len) == NULL || text.ptr[0] == ' ' ||
			text.ptr[0] == '\n' || !is_printable(text, '\n')) {
		return false;
	}
	for (size_t i = 0; i < text.len; i++) {
		char next = i + 1 < text.len ? text.ptr[i + 1] : '\n';

		if (text.ptr[i] == ' ' && next == '\n') {
			return false;
		}
	}
	return text.ptr[text.len - 1] != '\n' || text.ptr[text.len - 2] != '\n';
}

static void put_block(struct bf_buf *buf, struct belfry_str text, unsigned indent)
{
	bf_buf_append_text(buf, text.ptr[text.len - 1] == '\n' ? "|" : "|-");
	for (size_t at = 0; at < text.len;) {
		const char *end = memchr(text.ptr + at, '\n', text.len - at);
		size_t len = (end != NULL ? (size_t)(end - text.ptr) : text.len) - at;

		bf_buf_append_byte(buf, '\n');
		put_indent(buf, len > 0 ? indent : 0);
		bf_buf_append_str(buf, bf_str_slice(text, at, at + len));
		at += len + 1;
	}
}

static void put_escape(struct bf_buf *buf, uint32_t code)
{
	if (code == '\n' || code == '\t') {
		bf_buf_append_text(buf, code == '\n' ? "\\n" : "\\t");
	} else if (code <= 0xffff) {
		bf_buf_appendf(buf, "\\u%04X", (unsigned)code);
	} else {
		bf_buf_appendf(buf, "\\U%08X", (unsigned)code);
	}
}

static void put_quoted(struct bf_buf *buf, struct belfry_str text)
{
	size_t len;

	bf_buf_append_byte(buf, '"');
	for (size_t at = 0; at < text.len; at += len) {
		uint32_t code = decode(text, at, &len);

		if (needs_escape(code)) {
			put_escape(buf, code);
			continue;
		}
		bf_buf_append_text(buf, code == '"' || code == '\\' ? "\\" : "");
		bf_buf_append(buf, text.ptr + at, len);
	}
	bf_buf_append_byte(buf, '"');
}

static void put_text(struct bf_buf *buf, struct belfry_str text, unsigned indent)
{
	if (is_plain(text)) {
		bf_buf_append_str(buf, text);
	} else if (is_block(text)) {
		put_block(buf, text, indent);
	} else {
		put_quoted(buf, text);
	}
}

static void put_key(struct bf_buf *buf, struct belfry_str key)
{
	if (is_plain(key)) {
		bf_buf_append_str(buf, key);
	} else {
		put_quoted(buf, key);
	}
}

/* --- values --- */

static void put_list(struct bf_buf *buf, const json_t *list, unsigned indent);
static void put_map(struct bf_buf *buf, const json_t *map, unsigned indent);

/* Text, number, word, or an empty container: what stands on the line of its key. */
static bool is_short(const json_t *value)
{
	return !((json_is_object(value) && json_object_size(value) > 0) ||
			(json_is_array(value) && json_array_size(value) > 0));
}

static void put_short(struct bf_buf *buf, const json_t *value, unsigned indent)
{
	if (json_is_string(value)) {
		put_text(buf, bf_json_str(value), indent);
	} else if (bf_json_dump(value, buf) != BELFRY_OK) {
		buf->is_failed = true;
	}
}

/* The lines of a container; the first one's indentation is there already. */
static void put_container(struct bf_buf *buf, const json_t *value, unsigned indent)
{
	if (json_is_object(value)) {
		put_map(buf, value, indent);
	} else {
		put_list(buf, value, indent);
	}
}

static void put_list(struct bf_buf *buf, const json_t *list, unsigned indent)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);

		put_indent(buf, i > 0 ? indent : 0);
		bf_buf_append_text(buf, "- ");
		if (is_short(item)) {
			put_short(buf, item, indent + 2);
			bf_buf_append_byte(buf, '\n');
		} else {
			put_container(buf, item, indent + 2);
		}
	}
}

static void put_member(struct bf_buf *buf, struct belfry_str key, const json_t *value,
		unsigned indent)
{
	bool is_long = key.len > KEY_BYTES_MAX;

	bf_buf_append_text(buf, is_long ? "? " : "");
	put_key(buf, key);
	if (is_long) {
		bf_buf_append_byte(buf, '\n');
		put_indent(buf, indent);
	}
	bf_buf_append_byte(buf, ':');
	if (is_short(value)) {
		bf_buf_append_byte(buf, ' ');
		put_short(buf, value, indent + 2);
		bf_buf_append_byte(buf, '\n');
		return;
	}
	bf_buf_append_byte(buf, '\n');
	put_indent(buf, indent + 2);
	put_container(buf, value, indent + 2);
}

static void put_map(struct bf_buf *buf, const json_t *map, unsigned indent)
{
	const char *key;
	size_t key_len;
	json_t *value;
	bool is_first = true;

	json_object_keylen_foreach((json_t *)(uintptr_t)map, key, key_len, value)
	{
		put_indent(buf, is_first ? 0 : indent);
		put_member(buf, (struct belfry_str){key, key_len}, value, indent);
		is_first = false;
	}
}

enum belfry_status bf_yaml_write(const json_t *value, unsigned indent, struct bf_buf *buf)
{
	put_indent(buf, indent);
	if (is_short(value)) {
		put_short(buf, value, indent + 2);
		bf_buf_append_byte(buf, '\n');
	} else {
		put_container(buf, value, indent);
	}
	return bf_buf_status(buf);
}
