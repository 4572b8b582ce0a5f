/* Building a response. Failures are kept in the response and checked once, where it is sent: a header
 * that could not be put makes the whole answer a 500, never an answer without it. */
#include "http/server.h"

#include "base/alloc.h"
#include "base/str.h"

#include "http/server_priv.h"

void bf_http_response_put_header(struct bf_http_response *response, const char *name,
		struct belfry_str value)
{
	if (response->header_count == BF_HTTP_RESPONSE_HEADERS || !bf_http_is_field_value(value)) {
		response->is_failed = true;
		return;
	}
	char *copy = bf_str_dup(value);
	if (copy == NULL) {
		response->is_failed = true;
		return;
	}
	response->headers[response->header_count].name = name;
	response->headers[response->header_count].value = copy;
	response->header_count++;
}

void bf_http_response_fini(struct bf_http_response *response)
{
	for (size_t i = 0; i < response->header_count; i++) {
		bf_free(response->headers[i].value);
	}
	bf_buf_fini(&response->body);
	if (response->stream != NULL) {
		bf_http_stream_end(response->stream);
	}
	*response = (struct bf_http_response){0};
}
