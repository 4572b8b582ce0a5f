/* YAML as a second way to write JSON: each document of a file becomes one JSON value, by the core schema
 * of YAML 1.2, so that `no`, `on` and `12:30` stay text. What JSON has no word for is refused with its
 * line and column: anchors and aliases, tags but !!str, !!map and !!seq, keys that are no text, a key
 * given twice, numbers that do not fit, more than BF_JSON_DEPTH levels, bytes that are not UTF-8.
 *
 * Ownership  what is handed out is the caller's.
 * Threads    none. */
#ifndef BF_CLI_YAML_H
#define BF_CLI_YAML_H

#include "base/json.h"

/* Where a mapping began: of those at the top of a document and in a list right below it. */
struct bf_yaml_mark {
	const json_t *value; /* compared alone; valid as long as the documents */
	size_t line;         /* from 1 */
};

struct bf_yaml {
	json_t *documents; /* an array; empty documents are left out */
	struct bf_yaml_mark *marks;
	size_t mark_count;
	size_t mark_capacity;
	size_t mark_next; /* where the next question is likely answered: they come in order */
};

/* BELFRY_OK; BELFRY_INVALID with line and column in err->message; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_yaml_parse(struct belfry_str text, struct bf_yaml *ret_yaml,
		struct belfry_error *err);
void bf_yaml_fini(struct bf_yaml *yaml);

/* The line on which `value` began, 0 where that is not known. */
size_t bf_yaml_line(struct bf_yaml *yaml, const json_t *value);

/* "line 3, column 5": of the byte at `position` of `text`. */
void bf_yaml_put_place(struct bf_buf *buf, struct belfry_str text, size_t position);

/* What the core schema reads an unquoted scalar as. */
enum bf_yaml_kind { BF_YAML_TEXT, BF_YAML_NULL, BF_YAML_BOOL, BF_YAML_NUMBER, BF_YAML_NOT_FINITE };
enum bf_yaml_kind bf_yaml_kind(struct belfry_str scalar);

/* Appends `value` as one document in block style, which bf_yaml_parse reads back to an equal value.
 * `indent` is the column of its lines. BELFRY_OK or BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_yaml_write(const json_t *value, unsigned indent,
		struct bf_buf *buf);

#endif
