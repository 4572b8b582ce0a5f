/* The route of a Run's output: text, whole or one range of bytes (RFC 9110, 14). It is always sent
 * as plain text: what a target answered is not ours, and must not run as a page of ours. */
#include "base/error.h"
#include "host/runs.h"
#include "http/api_priv.h"

/* An output is at most as long as the setting output_limit, whose own maximum this is, and a mark where
 * bytes were left out. */
#define OUTPUT_MAX ((size_t)64 * 1024 * 1024 + 1024)

enum range_kind { RANGE_NONE, RANGE_GOOD, RANGE_OUTSIDE };

/* Both ends count. */
struct range {
	enum range_kind kind;
	uint64_t first;
	uint64_t last;
};

static bool read_number(struct belfry_str text, int64_t *ret_value)
{
	return text.len > 0 && text.ptr[0] != '-' &&
			bf_str_parse_int(text, 0, INT64_MAX, ret_value) == BELFRY_OK;
}

/* "-500": the last 500 bytes. */
static struct range suffix_range(struct belfry_str text, uint64_t length)
{
	struct range range = {.kind = RANGE_NONE};
	int64_t count;

	if (!read_number(text, &count)) {
		return range;
	}
	if (count == 0 || length == 0) {
		range.kind = RANGE_OUTSIDE;
		return range;
	}
	range.kind = RANGE_GOOD;
	range.first = length - BF_MIN((uint64_t)count, length);
	range.last = length - 1;
	return range;
}

/* A field that is no single range of bytes is passed over, as the RFC says: the whole is sent. */
static struct range parse_range(struct belfry_str field, uint64_t length)
{
	struct belfry_str unit = BF_STR("bytes=");
	struct belfry_str text = bf_str_slice(field, unit.len, field.len);
	struct range range = {.kind = RANGE_NONE};
	int64_t first;
	int64_t last = INT64_MAX;
	size_t dash = 0;

	if (!bf_str_starts_with(field, unit) || text.len == 0) {
		return range;
	}
	if (text.ptr[0] == '-') {
		return suffix_range(bf_str_slice(text, 1, text.len), length);
	}
	while (dash < text.len && text.ptr[dash] != '-') {
		dash++;
	}
	struct belfry_str end = bf_str_slice(text, dash + 1, text.len);
	if (dash == text.len || !read_number(bf_str_slice(text, 0, dash), &first) ||
			(end.len > 0 && !read_number(end, &last)) || last < first) {
		return range;
	}
	if ((uint64_t)first >= length) {
		range.kind = RANGE_OUTSIDE;
		return range;
	}
	range.kind = RANGE_GOOD;
	range.first = (uint64_t)first;
	range.last = BF_MIN((uint64_t)last, length - 1);
	return range;
}

static void put_content_range(struct bf_api_call *call, const struct range *range, uint64_t length)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	if (range->kind == RANGE_GOOD) {
		bf_buf_appendf(&text, "bytes %llu-%llu/%llu", (unsigned long long)range->first,
				(unsigned long long)range->last, (unsigned long long)length);
	} else {
		bf_buf_appendf(&text, "bytes */%llu", (unsigned long long)length);
	}
	if (bf_buf_status(&text) != BELFRY_OK) {
		call->response.is_failed = true;
		return;
	}
	bf_http_response_put_header(&call->response, "Content-Range", bf_buf_str(&text));
}

/* `bytes` are those of the range, or the whole. */
static enum belfry_status answer_bytes(struct bf_api_call *call, const struct range *range,
		struct belfry_str bytes, uint64_t length, struct belfry_error *err)
{
	call->response.status = range->kind == RANGE_GOOD ? 206
			: range->kind == RANGE_OUTSIDE    ? 416
							  : 200;
	call->response.content_type = "text/plain; charset=utf-8";
	bf_http_response_put_header(&call->response, "Accept-Ranges", BF_STR("bytes"));
	if (range->kind != RANGE_NONE) {
		put_content_range(call, range, length);
	}
	bf_buf_append_str(&call->response.body, bytes);
	return bf_buf_status(&call->response.body) == BELFRY_OK ? BELFRY_OK : bf_api_no_memory(err);
}

/* What is asked for alone is read: those who follow a command ask for a little, often. An output that grows
 * meanwhile is answered as long as it was at first; one that was begun anew may be shorter by now. */
static enum belfry_status answer_output(struct bf_api_call *call, struct belfry_id run,
		struct belfry_error *err)
{
	struct belfry_str bytes = {0};
	uint64_t length = 0;
	uint64_t now_length = 0;
	enum belfry_status status = bf_runs_read_output(call->host, run, 0, 0, &call->arena, &bytes,
			&length, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct range range = parse_range(bf_http_request_header(call->request, "Range"), length);
	uint64_t first = range.kind == RANGE_GOOD ? range.first : 0;
	uint64_t last = range.kind == RANGE_GOOD ? range.last + 1 : length;
	if (range.kind != RANGE_OUTSIDE && last > first) {
		status = bf_runs_read_output(call->host, run, first,
				(size_t)BF_MIN(last - first, (uint64_t)OUTPUT_MAX), &call->arena,
				&bytes, &now_length, err);
	}
	if (status == BELFRY_OK && range.kind == RANGE_GOOD && bytes.len == 0) {
		range.kind = RANGE_OUTSIDE;
	}
	if (range.kind == RANGE_GOOD) {
		range.last = range.first + bytes.len - 1;
	}
	return status == BELFRY_OK ? answer_bytes(call, &range, bytes, length, err) : status;
}

enum belfry_status bf_api_show_output(struct bf_api_call *call, struct belfry_error *err)
{
	static const char *const no_parameters[] = {NULL};
	struct belfry_run run;

	enum belfry_status status = bf_api_check_parameters(call, no_parameters, NULL, err);
	if (status == BELFRY_OK) {
		status = bf_api_refuse_body(call, err);
	}
	if (status == BELFRY_OK) {
		status = bf_runs_get(call->host, call->words[0], &call->arena, &run, err);
	}
	return status == BELFRY_OK ? answer_output(call, run.id, err) : status;
}
