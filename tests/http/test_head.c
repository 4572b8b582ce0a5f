/* The smuggling guard as a pure function: what the wire tests cannot see from outside. */
#include "cases.h"

#include "http/server_head.h"

#define COUNT 4

static enum belfry_status check(const char *method, const char *version, const char *const *fields,
		struct bf_http_framing *ret_framing)
{
	struct bf_http_pair items[COUNT];
	struct bf_http_head head = {bf_str(method), bf_str(version), {items, 0}};
	enum bf_http_method known;

	for (; fields[0] != NULL; fields += 2) {
		items[head.headers.count++] = (struct bf_http_pair){bf_str(fields[0]),
				bf_str(fields[1])};
	}
	return bf_http_head_check(&head, &known, ret_framing, NULL);
}

static void the_framing_is_told(void **state)
{
	(void)state;
	struct bf_http_framing framing;
	static const char *const none[] = {"Host", "x", NULL};
	static const char *const length[] = {"Host", "x", "content-length", "0042", NULL};
	static const char *const chunked[] = {"Host", "x", "transfer-encoding", "CHUNKED", NULL};

	assert_int_equal(check("GET", "HTTP/1.1", none, &framing), BELFRY_OK);
	assert_false(framing.is_chunked);
	assert_int_equal(framing.length_bytes, 0);
	assert_int_equal(check("POST", "HTTP/1.1", length, &framing), BELFRY_OK);
	assert_false(framing.is_chunked);
	assert_int_equal(framing.length_bytes, 42);
	assert_int_equal(check("POST", "HTTP/1.1", chunked, &framing), BELFRY_OK);
	assert_true(framing.is_chunked);
	assert_int_equal(check("POST", "HTTP/1.0", chunked, &framing), BELFRY_INVALID);
}

static void lengths_beyond_the_largest_number_are_refused(void **state)
{
	(void)state;
	struct bf_http_framing framing;
	static const char *const fits[] = {"Host", "x", "Content-Length", "9223372036854775807",
			NULL};
	static const char *const over[] = {"Host", "x", "Content-Length", "9223372036854775808",
			NULL};

	assert_int_equal(check("POST", "HTTP/1.1", fits, &framing), BELFRY_OK);
	assert_true(framing.length_bytes == INT64_MAX);
	assert_int_equal(check("POST", "HTTP/1.1", over, &framing), BELFRY_INVALID);
}

/* The head as the parser leaves it: separators overwritten by NUL. */
static const char parsed[] = "GET\0/a\0HTTP/1.1\0\0Host\0 x\0\0A\0b\0\0\0";

static enum belfry_status check_raw(size_t host_value_at, size_t host_value_len, size_t a_at)
{
	struct bf_http_raw_head raw = {parsed, sizeof(parsed), parsed + 4, 2, parsed + 7};
	struct bf_http_pair items[] = {
			{{parsed + 17, 4}, {parsed + host_value_at, host_value_len}},
			{{parsed + a_at, 1}, {parsed + a_at + 2, 1}},
	};
	struct bf_http_headers headers = {items, 2};

	return bf_http_head_check_raw(&raw, &headers, NULL);
}

static void a_head_is_whole_only_when_every_byte_is_accounted_for(void **state)
{
	(void)state;
	assert_int_equal(check_raw(23, 1, 26), BELFRY_OK);
	assert_int_equal(check_raw(23, 0, 26), BELFRY_INVALID); /* a byte of the value is lost */
	assert_int_equal(check_raw(23, 2, 26), BELFRY_INVALID); /* a separator is in the value */
	assert_int_equal(check_raw(22, 2, 26), BELFRY_OK);      /* white space belongs to either */
	assert_int_equal(check_raw(26, 1, 26), BELFRY_INVALID); /* overlap */
}

static void a_field_from_elsewhere_is_refused(void **state)
{
	(void)state;
	static const char elsewhere[] = "Host\0 x";
	struct bf_http_raw_head raw = {parsed, sizeof(parsed), parsed + 4, 2, parsed + 7};
	struct bf_http_pair items[] = {
			{{elsewhere, 4}, {elsewhere + 6, 1}},
			{{parsed + 26, 1}, {parsed + 28, 1}},
	};
	struct bf_http_headers headers = {items, 2};

	assert_int_equal(bf_http_head_check_raw(&raw, &headers, NULL), BELFRY_INVALID);
}

int run_head_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_framing_is_told),
			cmocka_unit_test(lengths_beyond_the_largest_number_are_refused),
			cmocka_unit_test(a_head_is_whole_only_when_every_byte_is_accounted_for),
			cmocka_unit_test(a_field_from_elsewhere_is_refused),
	};

	return cmocka_run_group_tests_name("head", tests, NULL, NULL);
}
