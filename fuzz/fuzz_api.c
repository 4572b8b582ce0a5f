/* Fuzzes the API with whole requests (request.h), on a host with one shared calendar, one deployment that uses
 * it and one Run, on the memory store: routes, parameters, cursors, bodies, If-Match, Idempotency-Key, Range. Whatever is asked, the answer
 * is whole: a status, JSON where it says so, and no failure of our own making. */
#include "fuzz_host.h"
#include "http/problem.h"
#include "request.h"

static void check_answer(const struct bf_http_response *answer)
{
	struct belfry_str body = answer->body.len > 0 ? bf_buf_str(&answer->body)
						      : answer->borrowed;
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;

	fuzz_require(answer->status >= 200 && answer->status < 600 && answer->status != 500);
	fuzz_require(!answer->is_failed);
	if (answer->content_type != NULL && strstr(answer->content_type, "json") != NULL) {
		fuzz_require(bf_json_parse(body, SIZE_MAX, &value, NULL) == BELFRY_OK);
	}
	if (answer->status >= 400 && answer->status != 416) {
		fuzz_require(json_string_length(json_object_get(value, "code")) > 0);
		fuzz_require(json_string_length(json_object_get(value, "detail")) > 0);
	}
}

/* As the server does before it hands a request out; what it refuses is not asked. */
static void ask(struct bf_api *api, const struct fuzz_request *text)
{
	struct bf_http_server server = {.options = {.env = bf_host_env(api->host)}};
	struct bf_http_request *request = bf_http_request_new(&server);
	struct bf_http_request *taken = request;

	fuzz_require(request != NULL);
	request->headers = text->head.headers;
	bf_buf_append_str(&request->body, text->body);
	if (bf_http_head_check(&text->head, &request->method, &request->framing, NULL) ==
					BELFRY_OK &&
			bf_http_target_parse(text->target, &request->target, NULL) == BELFRY_OK) {
		request->framing.length_bytes = (int64_t)text->body.len;
		bf_http_request_hold(request);
		bf_api_handle(api, &taken);
		fuzz_require(taken == NULL && request->is_answered);
		check_answer(&request->answer);
	}
	bf_http_request_release(request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const make[] = {
			"PUT /v1/calendars/h HTTP/1.0\nHost: localhost\n"
			"Content-Type: application/json\n\n{\"except\":[\"2026-12-25\"]}",
			"POST /v1/deployments HTTP/1.0\nHost: localhost\n"
			"Content-Type: application/json\n\n{\"name\":\"nightly\",\"rule\":{\"cron\":"
			"\"0 9 * * *\",\"except\":[{\"calendar\":\"h\"}]},\"target\":{\"kind\":"
			"\"webhook\",\"url\":\"https://1.1.1.1/\"}}"};
	struct fuzz_host host;
	struct fuzz_request request = {0};

	fuzz_host_open(&host);
	for (size_t i = 0; i < BF_COUNT(make); i++) {
		fuzz_take_request(bf_str(make[i]), &request);
		ask(&host.api, &request);
		request = (struct fuzz_request){0};
	}
	fuzz_take_request((struct belfry_str){(const char *)data, size}, &request);
	ask(&host.api, &request);
	fuzz_host_close(&host);
	return 0;
}
