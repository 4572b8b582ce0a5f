/* Looking at header fields by name. Names compare without ASCII case (RFC 9110, 5.1).
 * It does not judge what the fields say: that is server_head.c and guard.c. */
#include "http/server_headers.h"

#include "base/str.h"

size_t bf_http_headers_count(const struct bf_http_headers *headers, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < headers->count; i++) {
		count += bf_str_equal_nocase(headers->items[i].name, bf_str(name)) ? 1 : 0;
	}
	return count;
}

struct belfry_str bf_http_headers_get(const struct bf_http_headers *headers, const char *name)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (bf_str_equal_nocase(headers->items[i].name, bf_str(name))) {
			return headers->items[i].value;
		}
	}
	return (struct belfry_str){0};
}

static bool is_token_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
			(c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

bool bf_http_is_token(struct belfry_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!is_token_char(text.ptr[i])) {
			return false;
		}
	}
	return text.len > 0;
}

bool bf_http_is_field_value(struct belfry_str text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		if ((c < 0x20 && c != '\t') || c == 0x7f) {
			return false;
		}
	}
	return true;
}
