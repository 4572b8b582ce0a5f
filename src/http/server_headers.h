/* The header fields of a request, as the guard and the routes read them. */
#ifndef BF_HTTP_SERVER_HEADERS_H
#define BF_HTTP_SERVER_HEADERS_H

#include <belfry/types.h>

/* A field, or a parameter of the query. Both texts are borrowed from the request. */
struct bf_http_pair {
	struct belfry_str name;
	struct belfry_str value;
};

/* In the order of the wire. Zero is "none". */
struct bf_http_headers {
	const struct bf_http_pair *items;
	size_t count;
};

/* How many fields have this name; ASCII case does not count. */
size_t bf_http_headers_count(const struct bf_http_headers *headers, const char *name);
/* The first field of this name; ptr NULL where there is none (a field may be there and empty). */
struct belfry_str bf_http_headers_get(const struct bf_http_headers *headers, const char *name);

/* RFC 9110: a token, the form of a field name; and a field value without control characters. */
bool bf_http_is_token(struct belfry_str text);
bool bf_http_is_field_value(struct belfry_str text);

#endif
