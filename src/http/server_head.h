/* The smuggling guard: what makes the head of a request ambiguous is refused before anything is read
 * from it. Pure functions; the server calls them in the first moment that the head is complete. */
#ifndef BF_HTTP_SERVER_HEAD_H
#define BF_HTTP_SERVER_HEAD_H

#include <belfry/status.h>

#include "base/compiler.h"

#include "http/server.h"

struct bf_http_head {
	struct belfry_str method;
	struct belfry_str version; /* "HTTP/1.1" */
	struct bf_http_headers headers;
};

/* What the head says about the body. */
struct bf_http_framing {
	bool is_chunked;
	int64_t length_bytes; /* 0 where there is no body; not set when chunked */
};

/* BELFRY_OK; BELFRY_INVALID when the head is not what exactly one reader would make of it. Refused
 * are: an unknown method; a version other than 1.0 and 1.1; a name that is no token; a control
 * character in a value; more than one Host or Content-Length; Host missing in 1.1; a Content-Length
 * that is not plain digits; Content-Length together with Transfer-Encoding; Transfer-Encoding in 1.0,
 * twice, or other than "chunked". */
BF_MUST_CHECK enum belfry_status bf_http_head_check(const struct bf_http_head *head,
		enum bf_http_method *ret_method, struct bf_http_framing *ret_framing,
		struct belfry_error *err);

/* The same head where it lies in the parser's memory, which writes a NUL over each separator.
 * All pointers point into [bytes, bytes + len), or the head is refused. */
struct bf_http_raw_head {
	const char *bytes; /* begins with the method, ends behind the empty line */
	size_t len;
	const char *target; /* as it came, with the query */
	size_t target_len;
	const char *version;
};

/* Proves that no byte of the head was lost on the way to the fields: a parser that takes a NUL for the
 * end of a text would hide what follows it, and one that joins folded lines badly would invent a name.
 * Between the parts there may be one separator, white space in front of a value, and nothing else.
 * Lines ended by a bare LF are refused with it; a NUL for the CR cannot be told from it there, and ends a
 * line for everybody who ends one at the LF. BELFRY_OK or BELFRY_INVALID. */
BF_MUST_CHECK enum belfry_status bf_http_head_check_raw(const struct bf_http_raw_head *raw,
		const struct bf_http_headers *headers, struct belfry_error *err);

#endif
