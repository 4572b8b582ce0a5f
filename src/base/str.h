/* Text with a counted length (struct belfry_str), and the growable buffer. */
#ifndef BF_STR_H
#define BF_STR_H

#include <stdarg.h>
#include <string.h>

#include <belfry/status.h>

#include "base/compiler.h"

#define BF_STR(literal) ((struct belfry_str){(literal), sizeof(literal) - 1})
/* printf("%.*s", BF_STR_ARGS(text)) */
#define BF_STR_ARGS(text) (int)(text).len, (text).ptr != NULL ? (text).ptr : ""

struct belfry_str bf_str(const char *text); /* borrows; NULL is empty */
bool bf_str_equal(struct belfry_str a, struct belfry_str b);
bool bf_str_equal_nocase(struct belfry_str a, struct belfry_str b); /* ASCII alone */
int bf_str_compare(struct belfry_str a, struct belfry_str b);       /* as bytes */
bool bf_str_starts_with(struct belfry_str text, struct belfry_str prefix);
struct belfry_str bf_str_slice(struct belfry_str text, size_t from, size_t to); /* clamped */
/* A copy with a NUL behind, freed by bf_free. NULL: no memory. */
BF_MUST_CHECK char *bf_str_dup(struct belfry_str text);
/* Well-formed UTF-8 (RFC 3629) without U+0000. */
bool bf_str_is_utf8(struct belfry_str text);
/* Decimal digits with an optional minus, nothing else; BELFRY_INVALID otherwise or on overflow. The
 * one number parser of the tree. */
BF_MUST_CHECK enum belfry_status bf_str_parse_int(struct belfry_str text, int64_t min, int64_t max,
		int64_t *ret_value);

/* A growable buffer. Starts valid as {0} without allocating; a failed append is remembered, so that a
 * chain of them needs one check at the end (bf_buf_status). Always ended by a NUL that len does not
 * count. Owned by the caller, emptied by bf_buf_fini. */
struct bf_buf {
	char *ptr;
	size_t len;
	size_t capacity;
	bool is_failed;
};

void bf_buf_fini(struct bf_buf *buf);
void bf_buf_clear(struct bf_buf *buf); /* keeps the memory, forgets a failure */
void bf_buf_append(struct bf_buf *buf, const void *bytes, size_t len);
void bf_buf_append_str(struct bf_buf *buf, struct belfry_str text);
void bf_buf_append_text(struct bf_buf *buf, const char *text);
/* UTF-8 without NUL: each byte that is none of it becomes U+FFFD. */
void bf_buf_append_repaired(struct bf_buf *buf, struct belfry_str text);
void bf_buf_append_byte(struct bf_buf *buf, char byte);
BF_PRINTF(2, 3) void bf_buf_appendf(struct bf_buf *buf, const char *format, ...);
void bf_buf_remove_front(struct bf_buf *buf, size_t len);
struct belfry_str bf_buf_str(const struct bf_buf *buf); /* borrowed until the next append */
BF_MUST_CHECK enum belfry_status bf_buf_status(const struct bf_buf *buf); /* OK or NOMEM */
/* The text, owned by the caller (bf_free); buf is empty afterwards. NULL after a failure. */
BF_MUST_CHECK char *bf_buf_take(struct bf_buf *buf);

#endif
