/* From our response to the library's, and the refusals that the server makes by itself.
 *
 * Every answer leaves through here, so this is where the fields that all of them carry are put. Whether
 * and when there is an answer is decided in server_mhd.c. */
#include "http/server_mhd_priv.h"

#include <sys/socket.h>

#include "base/alloc.h"
#include "base/str.h"

#include "http/problem.h"

/* What every answer carries, unless the response has a field of the same name. */
static const struct {
	const char *name;
	const char *value;
} standard_fields[] = {
		{"X-Content-Type-Options", "nosniff"},
		{"Referrer-Policy", "no-referrer"},
		{"Cache-Control", "no-store"},
};

static bool response_has(const struct bf_http_response *response, const char *name)
{
	for (size_t i = 0; i < response->header_count; i++) {
		if (bf_str_equal_nocase(bf_str(response->headers[i].name), bf_str(name))) {
			return true;
		}
	}
	return false;
}

static bool add_fields(struct MHD_Response *out, const struct bf_http_response *response)
{
	bool is_whole = true;

	for (size_t i = 0; i < BF_COUNT(standard_fields); i++) {
		if (!response_has(response, standard_fields[i].name)) {
			is_whole = MHD_add_response_header(out, standard_fields[i].name,
						   standard_fields[i].value) == MHD_YES &&
					is_whole;
		}
	}
	for (size_t i = 0; i < response->header_count; i++) {
		/* An empty value is not worth a field to the library, which refuses it. */
		if (response->headers[i].value[0] != '\0') {
			is_whole = MHD_add_response_header(out, response->headers[i].name,
						   response->headers[i].value) == MHD_YES &&
					is_whole;
		}
	}
	if (response->content_type != NULL) {
		is_whole = MHD_add_response_header(out, "Content-Type", response->content_type) ==
						MHD_YES &&
				is_whole;
	}
	if (response->is_close) {
		is_whole = MHD_add_response_header(out, "Connection", "close") == MHD_YES &&
				is_whole;
	}
	return is_whole;
}

/* The body goes to the library without a copy. */
static struct MHD_Response *make_body(struct bf_http_response *response)
{
	size_t len = response->body.len;

	if (response->stream != NULL) {
		return bf_http_mhd_stream(&response->stream);
	}
	if (len == 0) {
		/* The library promises not to write where the memory is persistent. */
		return MHD_create_response_from_buffer(response->borrowed.len,
				(void *)(uintptr_t)response->borrowed.ptr, MHD_RESPMEM_PERSISTENT);
	}
	char *bytes = bf_buf_take(&response->body);
	if (bytes == NULL) {
		return NULL;
	}
	struct MHD_Response *out = MHD_create_response_from_buffer_with_free_callback(len, bytes,
			bf_free);
	if (out == NULL) {
		bf_free(bytes);
	}
	return out;
}

enum MHD_Result bf_http_mhd_send(struct bf_http_request *request, struct MHD_Connection *mhd,
		struct bf_http_response *response)
{
	enum MHD_Result result = MHD_NO;

	if (response->is_failed || response->body.is_failed || response->status < 200 ||
			response->status > 599) {
		bf_http_response_fini(response);
		bf_http_problem_status(BELFRY_INTERNAL, bf_str(request->id), response);
	}
	unsigned status = (unsigned)response->status;
	if (response->stream != NULL) {
		bf_http_stream_begin(response->stream, request, mhd);
	}
	struct MHD_Response *out = make_body(response);
	if (out != NULL) {
		if (add_fields(out, response)) {
			bf_http_reaper_arm(request->connection, BF_HTTP_STAGE_ANSWER,
					request->server->options.send_time);
			result = MHD_queue_response(mhd, status, out);
		}
		MHD_destroy_response(out);
	}
	bf_http_response_fini(response);
	return result;
}

static void log_refusal(const struct bf_http_request *request, const struct belfry_error *err)
{
	bf_log(request->server->options.env, BF_LOG_DEBUG,
			"event=http_refused request=%s peer=%s status=%d message=\"%s\"",
			request->id, request->peer, belfry_status_http(err->status), err->message);
}

enum MHD_Result bf_http_mhd_refuse(struct bf_http_request *request, struct MHD_Connection *mhd,
		const struct belfry_error *err)
{
	struct bf_http_response response;

	log_refusal(request, err);
	bf_http_problem(err, bf_str(request->id), &response);
	response.is_close = true;
	return bf_http_mhd_send(request, mhd, &response);
}

void bf_http_mhd_write_refusal(struct bf_http_request *request, const struct belfry_error *err)
{
	struct bf_http_response response;
	BF_CLEANUP(bf_buf_fini) struct bf_buf out = {0};

	log_refusal(request, err);
	bf_http_problem(err, bf_str(request->id), &response);
	struct belfry_str body = response.body.len > 0 ? bf_buf_str(&response.body)
						       : response.borrowed;
	bf_buf_appendf(&out, "HTTP/1.1 %d %s\r\nConnection: close\r\nContent-Type: %s\r\n",
			response.status, bf_http_status_title(response.status),
			response.content_type);
	for (size_t i = 0; i < BF_COUNT(standard_fields); i++) {
		bf_buf_appendf(&out, "%s: %s\r\n", standard_fields[i].name,
				standard_fields[i].value);
	}
	for (size_t i = 0; i < response.header_count; i++) {
		bf_buf_appendf(&out, "%s: %s\r\n", response.headers[i].name,
				response.headers[i].value);
	}
	bf_buf_appendf(&out, "Content-Length: %zu\r\n\r\n", body.len);
	bf_buf_append_str(&out, body);
	if (bf_buf_status(&out) == BELFRY_OK) {
		/* The connection ends whether or not the client hears why. */
		(void)send(request->connection->fd, out.ptr, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	bf_http_response_fini(&response);
}

enum MHD_Result bf_http_mhd_refuse_midway(struct bf_http_request *request,
		const struct belfry_error *err)
{
	bf_http_mhd_write_refusal(request, err);
	return MHD_NO;
}
