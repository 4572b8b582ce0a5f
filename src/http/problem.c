/* Building problem documents. The text comes from struct belfry_error alone, and of that only what is
 * public; the document is written by the JSON layer, never pasted. */
#include "http/problem.h"

#include "base/json.h"
#include "base/str.h"

static const char out_of_memory[] =
		"{\"type\":\"about:blank\",\"title\":\"Internal Server Error\",\"status\":500,"
		"\"code\":\"INTERNAL\",\"detail\":\"out of memory\"}";

const char *bf_http_status_title(int http_status)
{
	static const struct {
		int status;
		const char *title;
	} titles[] = {
			{400, "Bad Request"},
			{401, "Unauthorized"},
			{403, "Forbidden"},
			{404, "Not Found"},
			{405, "Method Not Allowed"},
			{409, "Conflict"},
			{412, "Precondition Failed"},
			{413, "Content Too Large"},
			{415, "Unsupported Media Type"},
			{422, "Unprocessable Content"},
			{429, "Too Many Requests"},
			{500, "Internal Server Error"},
			{503, "Service Unavailable"},
	};

	for (size_t i = 0; i < BF_COUNT(titles); i++) {
		if (titles[i].status == http_status) {
			return titles[i].title;
		}
	}
	return "Error";
}

static enum belfry_status write_document(const struct belfry_error *err,
		struct belfry_str request_id, const json_t *more, struct bf_buf *buf)
{
	struct bf_json_writer writer;
	int http_status = belfry_status_http(err->status);
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;

	bf_json_writer_begin(&writer);
	bf_json_write_text(&writer, "type", "about:blank");
	bf_json_write_text(&writer, "title", bf_http_status_title(http_status));
	bf_json_write_int(&writer, "status", http_status);
	bf_json_write_text(&writer, "code", belfry_status_code(err->status));
	bf_json_write_text(&writer, "detail",
			err->message[0] != '\0' ? err->message : belfry_status_text(err->status));
	if (err->pointer[0] != '\0') {
		bf_json_write_text(&writer, "pointer", err->pointer);
	}
	if (err->position > 0) {
		bf_json_write_int(&writer, "position", err->position - 1);
	}
	if (request_id.len > 0) {
		bf_json_write_str(&writer, "request_id", request_id);
	}
	enum belfry_status status = bf_json_writer_end(&writer, &object);
	if (status == BELFRY_OK && more != NULL &&
			json_object_update_missing(object, (json_t *)(uintptr_t)more) != 0) {
		status = BELFRY_NOMEM;
	}
	return status == BELFRY_OK ? bf_json_dump(object, buf) : status;
}

void bf_http_problem(const struct belfry_error *err, struct belfry_str request_id,
		struct bf_http_response *ret_response)
{
	bf_http_problem_with(err, request_id, NULL, ret_response);
}

void bf_http_problem_with(const struct belfry_error *err, struct belfry_str request_id,
		const json_t *more, struct bf_http_response *ret_response)
{
	struct bf_http_response response = {
			.status = belfry_status_http(err->status),
			.content_type = "application/problem+json",
	};

	if (write_document(err, request_id, more, &response.body) != BELFRY_OK) {
		bf_buf_fini(&response.body);
		response.status = 500;
		response.borrowed = BF_STR(out_of_memory);
	}
	if (response.status == 503) {
		bf_http_response_put_header(&response, "Retry-After", BF_STR("1"));
	} else if (response.status == 429) {
		bf_http_response_put_header(&response, "Retry-After", BF_STR("10"));
	} else if (response.status == 401) {
		bf_http_response_put_header(&response, "WWW-Authenticate", BF_STR("Bearer"));
	}
	*ret_response = response;
}

void bf_http_problem_status(enum belfry_status status, struct belfry_str request_id,
		struct bf_http_response *ret_response)
{
	bf_http_problem(&(struct belfry_error){.status = status}, request_id, ret_response);
}
