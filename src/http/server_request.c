/* The request as the handler sees it, and answering it.
 *
 * A request has two holders: its connection, and whoever is to answer. Either may go first: the
 * connection when the server stops, the answerer always else. What both touch is under request->lock.
 * Reading, judging and dispatching are done in server_mhd.c. */
#include "http/server_priv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/str.h"

#include "model/run.h"

const char *bf_http_method_text(enum bf_http_method method)
{
	static const char *const texts[BF_HTTP_METHOD_COUNT] = {
			[BF_HTTP_METHOD_GET] = "GET",
			[BF_HTTP_METHOD_HEAD] = "HEAD",
			[BF_HTTP_METHOD_POST] = "POST",
			[BF_HTTP_METHOD_PUT] = "PUT",
			[BF_HTTP_METHOD_PATCH] = "PATCH",
			[BF_HTTP_METHOD_DELETE] = "DELETE",
			[BF_HTTP_METHOD_OPTIONS] = "OPTIONS",
	};

	BF_ASSERT(method < BF_HTTP_METHOD_COUNT);
	return texts[method];
}

struct bf_http_request *bf_http_request_new(struct bf_http_server *server)
{
	struct bf_http_request *request = bf_alloc(sizeof(*request));

	if (request == NULL) {
		return NULL;
	}
	if (pthread_mutex_init(&request->lock, NULL) != 0) {
		bf_free(request);
		return NULL;
	}
	atomic_init(&request->references, 1);
	request->server = server;
	belfry_id_format(bf_id_random(server->options.env), request->id);
	return request;
}

void bf_http_request_hold(struct bf_http_request *request)
{
	(void)atomic_fetch_add(&request->references, 1);
}

void bf_http_request_release(struct bf_http_request *request)
{
	if (request == NULL || atomic_fetch_sub(&request->references, 1) > 1) {
		return;
	}
	bf_http_response_fini(&request->answer);
	bf_http_target_fini(&request->target);
	bf_buf_fini(&request->body);
	bf_free(request->target_text);
	bf_free(request->header_items);
	bf_free(request->header_text);
	(void)pthread_mutex_destroy(&request->lock); /* nobody else is left */
	bf_free(request);
}

void bf_http_respond(struct bf_http_request **request, struct bf_http_response *response)
{
	struct bf_http_request *taken = BF_TAKE(*request);

	BF_ASSERT(taken != NULL);
	(void)pthread_mutex_lock(&taken->lock); /* cannot fail on a plain mutex */
	if (!taken->is_answered) {
		taken->answer = *response;
		*response = (struct bf_http_response){0};
		taken->is_answered = true;
		if (taken->is_asleep) {
			taken->is_asleep = false;
			bf_http_library_wake(taken->transport);
		}
	}
	(void)pthread_mutex_unlock(&taken->lock);
	bf_http_response_fini(response);
	bf_http_request_release(taken);
}

enum bf_http_method bf_http_request_method(const struct bf_http_request *request)
{
	return request->method;
}

struct belfry_str bf_http_request_path(const struct bf_http_request *request)
{
	return request->target.path;
}

size_t bf_http_request_segment_count(const struct bf_http_request *request)
{
	return request->target.segment_count;
}

struct belfry_str bf_http_request_segment(const struct bf_http_request *request, size_t index)
{
	BF_ASSERT(index < request->target.segment_count);
	return request->target.segments[index];
}

size_t bf_http_request_parameter_count(const struct bf_http_request *request)
{
	return request->target.parameter_count;
}

struct bf_http_pair bf_http_request_parameter(const struct bf_http_request *request, size_t index)
{
	BF_ASSERT(index < request->target.parameter_count);
	return request->target.parameters[index];
}

struct belfry_str bf_http_request_find_parameter(const struct bf_http_request *request,
		const char *name)
{
	for (size_t i = 0; i < request->target.parameter_count; i++) {
		if (bf_str_equal(request->target.parameters[i].name, bf_str(name))) {
			return request->target.parameters[i].value;
		}
	}
	return (struct belfry_str){0};
}

struct belfry_str bf_http_request_header(const struct bf_http_request *request, const char *name)
{
	return bf_http_headers_get(&request->headers, name);
}

const struct bf_http_headers *bf_http_request_headers(const struct bf_http_request *request)
{
	return &request->headers;
}

bool bf_http_request_has_body(const struct bf_http_request *request)
{
	return request->framing.is_chunked || request->framing.length_bytes > 0;
}

struct belfry_str bf_http_request_body(const struct bf_http_request *request)
{
	return bf_buf_str(&request->body);
}

struct belfry_str bf_http_request_peer(const struct bf_http_request *request)
{
	return bf_str(request->peer);
}

struct belfry_str bf_http_request_id(const struct bf_http_request *request)
{
	return bf_str(request->id);
}
