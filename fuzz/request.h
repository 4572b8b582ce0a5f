/* A request in lines, for the fuzzers that need one whole: "METHOD TARGET VERSION", fields, an empty line, and
 * the body as it comes. It judges nothing: text is borrowed from the input, whatever it holds. */
#ifndef BF_FUZZ_REQUEST_H
#define BF_FUZZ_REQUEST_H

#include "base/str.h"
#include "fuzz.h"
#include "http/server_head.h"

#define FUZZ_FIELDS 16

struct fuzz_request {
	struct belfry_str target;
	struct belfry_str body;
	struct bf_http_pair fields[FUZZ_FIELDS];
	struct bf_http_head head; /* its headers point to `fields` */
};

/* Fields until an empty line, at most FUZZ_FIELDS. */
static inline void fuzz_take_fields(struct belfry_str *rest, struct fuzz_request *request)
{
	size_t count = 0;

	while (rest->len > 0 && count < FUZZ_FIELDS) {
		struct belfry_str line = fuzz_take_until(rest, '\n');
		if (line.len == 0) {
			break;
		}
		request->fields[count].name = fuzz_take_until(&line, ':');
		while (line.len > 0 && line.ptr[0] == ' ') {
			line = bf_str_slice(line, 1, line.len);
		}
		request->fields[count++].value = line;
	}
	request->head.headers = (struct bf_http_headers){request->fields, count};
}

static inline void fuzz_take_request(struct belfry_str rest, struct fuzz_request *request)
{
	struct belfry_str line = fuzz_take_until(&rest, '\n');

	request->head.method = fuzz_take_until(&line, ' ');
	request->target = fuzz_take_until(&line, ' ');
	request->head.version = line;
	fuzz_take_fields(&rest, request);
	request->body = rest;
}

#endif
