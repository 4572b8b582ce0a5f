/* Counted text and the growable buffer. */
#include "base/str.h"

#include <stdio.h>

#include "base/alloc.h"

struct belfry_str bf_str(const char *text)
{
	return (struct belfry_str){text, text != NULL ? strlen(text) : 0};
}

int bf_str_compare(struct belfry_str a, struct belfry_str b)
{
	size_t len = BF_MIN(a.len, b.len);
	int order = len > 0 ? memcmp(a.ptr, b.ptr, len) : 0;

	if (order != 0) {
		return order;
	}
	return a.len < b.len ? -1 : a.len > b.len;
}

bool bf_str_equal(struct belfry_str a, struct belfry_str b)
{
	return a.len == b.len && bf_str_compare(a, b) == 0;
}

static char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

bool bf_str_equal_nocase(struct belfry_str a, struct belfry_str b)
{
	if (a.len != b.len) {
		return false;
	}
	for (size_t i = 0; i < a.len; i++) {
		if (ascii_lower(a.ptr[i]) != ascii_lower(b.ptr[i])) {
			return false;
		}
	}
	return true;
}

bool bf_str_starts_with(struct belfry_str text, struct belfry_str prefix)
{
	return bf_str_equal(bf_str_slice(text, 0, prefix.len), prefix);
}

struct belfry_str bf_str_slice(struct belfry_str text, size_t from, size_t to)
{
	to = BF_MIN(to, text.len);
	from = BF_MIN(from, to);
	return (struct belfry_str){text.ptr != NULL ? text.ptr + from : NULL, to - from};
}

char *bf_str_dup(struct belfry_str text)
{
	return bf_strndup(text.ptr, text.len);
}

/* Length of the well-formed sequence at the start of text, 0 where there is none (RFC 3629, 4). */
static size_t utf8_sequence(const unsigned char *p, size_t len)
{
	size_t need = p[0] < 0x80 ? 1 : p[0] < 0xc2 ? 0 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	unsigned char low = 0x80;
	unsigned char high = 0xbf;

	if (need == 0 || p[0] > 0xf4 || need > len || p[0] == 0) {
		return 0;
	}
	if (p[0] == 0xe0) {
		low = 0xa0;
	} else if (p[0] == 0xed) {
		high = 0x9f;
	} else if (p[0] == 0xf0) {
		low = 0x90;
	} else if (p[0] == 0xf4) {
		high = 0x8f;
	}
	for (size_t i = 1; i < need; i++) {
		if (p[i] < low || p[i] > high) {
			return 0;
		}
		low = 0x80;
		high = 0xbf;
	}
	return need;
}

bool bf_str_is_utf8(struct belfry_str text)
{
	size_t i = 0;

	while (i < text.len) {
		size_t step = utf8_sequence((const unsigned char *)text.ptr + i, text.len - i);
		if (step == 0) {
			return false;
		}
		i += step;
	}
	return true;
}

enum belfry_status bf_str_parse_int(struct belfry_str text, int64_t min, int64_t max,
		int64_t *ret_value)
{
	bool is_negative = text.len > 0 && text.ptr[0] == '-';
	size_t i = is_negative ? 1 : 0;
	int64_t value = 0;

	if (i == text.len) {
		return BELFRY_INVALID;
	}
	for (; i < text.len; i++) {
		int digit = text.ptr[i] - '0';
		if (digit < 0 || digit > 9 || __builtin_mul_overflow(value, 10, &value) ||
				__builtin_sub_overflow(value, digit, &value)) {
			return BELFRY_INVALID;
		}
	}
	/* Summed below zero, where the range is one larger. */
	if (!is_negative && __builtin_sub_overflow(0, value, &value)) {
		return BELFRY_INVALID;
	}
	if (value < min || value > max) {
		return BELFRY_INVALID;
	}
	*ret_value = value;
	return BELFRY_OK;
}

void bf_buf_fini(struct bf_buf *buf)
{
	bf_free(buf->ptr);
	*buf = (struct bf_buf){0};
}

void bf_buf_clear(struct bf_buf *buf)
{
	buf->len = 0;
	buf->is_failed = false;
	if (buf->ptr != NULL) {
		buf->ptr[0] = '\0';
	}
}

/* Room for `more` bytes and the NUL; false and a remembered failure when there is none. */
static bool reserve(struct bf_buf *buf, size_t more)
{
	size_t need;

	if (buf->is_failed || __builtin_add_overflow(buf->len, more, &need) ||
			need >= SIZE_MAX / 2) {
		buf->is_failed = true;
		return false;
	}
	if (need < buf->capacity) {
		return true;
	}
	size_t capacity = BF_MAX(need + 1, buf->capacity * 2);
	capacity = BF_MAX(capacity, 64);
	char *ptr = bf_realloc_array(buf->ptr, capacity, 1);
	if (ptr == NULL) {
		buf->is_failed = true;
		return false;
	}
	buf->ptr = ptr;
	buf->capacity = capacity;
	return true;
}

void bf_buf_append(struct bf_buf *buf, const void *bytes, size_t len)
{
	if (!reserve(buf, len)) {
		return;
	}
	if (len > 0) {
		memcpy(buf->ptr + buf->len, bytes, len);
	}
	buf->len += len;
	buf->ptr[buf->len] = '\0';
}

void bf_buf_append_str(struct bf_buf *buf, struct belfry_str text)
{
	bf_buf_append(buf, text.ptr, text.len);
}

void bf_buf_append_text(struct bf_buf *buf, const char *text)
{
	bf_buf_append(buf, text, strlen(text));
}

void bf_buf_append_repaired(struct bf_buf *buf, struct belfry_str text)
{
	for (size_t i = 0; i < text.len;) {
		size_t step = utf8_sequence((const unsigned char *)text.ptr + i, text.len - i);
		if (step == 0) {
			bf_buf_append_text(buf, "\xef\xbf\xbd");
		} else {
			bf_buf_append(buf, text.ptr + i, step);
		}
		i += BF_MAX(step, 1);
	}
}

void bf_buf_append_byte(struct bf_buf *buf, char byte)
{
	bf_buf_append(buf, &byte, 1);
}

void bf_buf_appendf(struct bf_buf *buf, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	va_list again;
	va_copy(again, args);
	int len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0) {
		buf->is_failed = true;
	} else if (reserve(buf, (size_t)len)) {
		(void)vsnprintf(buf->ptr + buf->len, (size_t)len + 1, format, again);
		buf->len += (size_t)len;
	}
	va_end(again);
}

void bf_buf_remove_front(struct bf_buf *buf, size_t len)
{
	len = BF_MIN(len, buf->len);
	if (len == 0) {
		return;
	}
	memmove(buf->ptr, buf->ptr + len, buf->len - len + 1);
	buf->len -= len;
}

struct belfry_str bf_buf_str(const struct bf_buf *buf)
{
	return (struct belfry_str){buf->ptr, buf->len};
}

enum belfry_status bf_buf_status(const struct bf_buf *buf)
{
	return buf->is_failed ? BELFRY_NOMEM : BELFRY_OK;
}

char *bf_buf_take(struct bf_buf *buf)
{
	if (buf->is_failed || !reserve(buf, 0)) {
		bf_buf_fini(buf);
		return NULL;
	}
	buf->ptr[buf->len] = '\0';
	char *text = buf->ptr;
	*buf = (struct bf_buf){0};
	return text;
}
