/* Fuzzes request targets: what is decoded is UTF-8 without NUL, and written anew with every odd byte
 * escaped it decodes to the same segments and parameters. */
#include "base/str.h"
#include "fuzz.h"
#include "http/server_target.h"

static void append_escaped(struct bf_buf *out, struct belfry_str part)
{
	fuzz_require(bf_str_is_utf8(part));
	for (size_t i = 0; i < part.len; i++) {
		bf_buf_appendf(out, "%%%02X", (unsigned)(unsigned char)part.ptr[i]);
	}
}

static void append_target(struct bf_buf *out, const struct bf_http_target *target)
{
	for (size_t i = 0; i < target->segment_count; i++) {
		bf_buf_append_byte(out, '/');
		append_escaped(out, target->segments[i]);
	}
	if (target->segment_count == 0) {
		bf_buf_append_byte(out, '/');
	}
	for (size_t i = 0; i < target->parameter_count; i++) {
		bf_buf_append_byte(out, i == 0 ? '?' : '&');
		append_escaped(out, target->parameters[i].name);
		bf_buf_append_byte(out, '=');
		append_escaped(out, target->parameters[i].value);
	}
}

static void require_same(const struct bf_http_target *a, const struct bf_http_target *b)
{
	fuzz_require(a->segment_count == b->segment_count);
	fuzz_require(a->parameter_count == b->parameter_count);
	for (size_t i = 0; i < a->segment_count; i++) {
		fuzz_require(bf_str_equal(a->segments[i], b->segments[i]));
	}
	for (size_t i = 0; i < a->parameter_count; i++) {
		fuzz_require(bf_str_equal(a->parameters[i].name, b->parameters[i].name));
		fuzz_require(bf_str_equal(a->parameters[i].value, b->parameters[i].value));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_http_target_fini) struct bf_http_target target = {0};
	BF_CLEANUP(bf_http_target_fini) struct bf_http_target again = {0};
	struct belfry_error err = {0};

	if (bf_http_target_parse((struct belfry_str){(const char *)data, size}, &target, &err) !=
			BELFRY_OK) {
		fuzz_require_refusal(&err, size);
		return 0;
	}
	append_target(&text, &target);
	fuzz_require(bf_buf_status(&text) == BELFRY_OK);
	fuzz_require(bf_http_target_parse(bf_buf_str(&text), &again, &err) == BELFRY_OK);
	require_same(&target, &again);
	return 0;
}
