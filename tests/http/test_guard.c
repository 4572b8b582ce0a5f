/* The rule for requests without a token, as a pure function and over the wire (B15). */
#include "client.h"
#include "fixture.h"

#include "http/guard.h"

static struct bf_http_pair pair(const char *name, const char *value)
{
	return (struct bf_http_pair){bf_str(name), bf_str(value)};
}

static enum belfry_status check_host_and_origin(const char *host, const char *origin)
{
	struct bf_http_pair items[] = {pair("hOsT", host), pair("oRiGiN", origin)};
	struct bf_http_headers headers = {items, origin != NULL ? 2 : 1};
	struct belfry_error err = {0};
	enum belfry_status status = bf_http_guard_check_without_token(&headers, false, &err);

	assert_int_equal(status == BELFRY_OK, err.message[0] == '\0');
	return status;
}

static enum belfry_status check_type(const char *type)
{
	struct bf_http_pair items[] = {pair("Host", "localhost"), pair("Content-Type", type)};
	struct bf_http_headers headers = {items, type != NULL ? 2 : 1};

	return bf_http_guard_check_without_token(&headers, true, NULL);
}

static void b15_a_host_other_than_loopback_is_refused(void **state)
{
	(void)state;
	static const char *const good[] = {"localhost", "127.0.0.1", "[::1]", "localhost:8377",
			"127.0.0.1:80", "[::1]:65535", "localhost:0"};
	static const char *const bad[] = {"", "localhost.", "localhost.evil.example", "Localhost",
			"evil.example", "evil.example:8377", "localhost:", "localhost:65536",
			"localhost:-1", "localhost:+1", "localhost:1x", "localhost:000001",
			"127.0.0.2", "127.1", "127.0.0.1.evil.example", "0.0.0.0", "::1", "[::1",
			"[::1]x", "[::]", "[::ffff:127.0.0.1]", "localhost localhost",
			"x@localhost", "localhost/", "localhost, localhost"};
	struct bf_http_pair twice[] = {pair("Host", "localhost"), pair("Host", "localhost")};
	struct bf_http_headers none = {NULL, 0};
	struct bf_http_headers two = {twice, 2};

	for (size_t i = 0; i < BF_COUNT(good); i++) {
		assert_int_equal(check_host_and_origin(good[i], NULL), BELFRY_OK);
	}
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		if (check_host_and_origin(bad[i], NULL) != BELFRY_FORBIDDEN) {
			fail_msg("Host: %s was let in", bad[i]);
		}
	}
	assert_int_equal(bf_http_guard_check_without_token(&none, false, NULL), BELFRY_FORBIDDEN);
	assert_int_equal(bf_http_guard_check_without_token(&two, false, NULL), BELFRY_FORBIDDEN);
}

static void b15_an_origin_other_than_the_host_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "null", "http://localhost", "https://localhost:8377",
			"http://localhost:8378", "http://127.0.0.1:8377", "http://localhost:8377/",
			"http://localhost:8377.evil.example", "http://evil.example",
			"HTTP://localhost:8377", "localhost:8377", "http://",
			"http://localhost:8377 http://localhost:8377"};
	struct bf_http_pair twice[] = {pair("Host", "localhost"),
			pair("Origin", "http://localhost"), pair("Origin", "http://localhost")};
	struct bf_http_headers two = {twice, 3};

	assert_int_equal(check_host_and_origin("localhost:8377", "http://localhost:8377"),
			BELFRY_OK);
	assert_int_equal(check_host_and_origin("[::1]:1", "http://[::1]:1"), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		if (check_host_and_origin("localhost:8377", bad[i]) != BELFRY_FORBIDDEN) {
			fail_msg("Origin: %s was let in", bad[i]);
		}
	}
	assert_int_equal(bf_http_guard_check_without_token(&two, false, NULL), BELFRY_FORBIDDEN);
}

static void b15_a_body_that_is_not_json_is_refused(void **state)
{
	(void)state;
	static const char *const good[] = {"application/json", "application/json; charset=utf-8",
			"application/json;charset=utf-8", "Application/JSON ;x=y",
			"application/json;"};
	static const char *const bad[] = {"", "text/plain", "text/plain; application/json",
			"application/jsonp", "application/json, text/plain",
			"application/problem+json", "application/x-www-form-urlencoded",
			"multipart/form-data", "json", " ;application/json",
			"application/json text/plain"};
	struct bf_http_pair twice[] = {pair("Host", "localhost"),
			pair("Content-Type", "application/json"),
			pair("Content-Type", "text/plain")};
	struct bf_http_headers two = {twice, 3};

	for (size_t i = 0; i < BF_COUNT(good); i++) {
		assert_int_equal(check_type(good[i]), BELFRY_OK);
	}
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		if (check_type(bad[i]) != BELFRY_MEDIA_TYPE) {
			fail_msg("Content-Type: %s was let in", bad[i]);
		}
	}
	assert_int_equal(check_type(NULL), BELFRY_MEDIA_TYPE);
	assert_int_equal(bf_http_guard_check_without_token(&two, true, NULL), BELFRY_MEDIA_TYPE);
	/* Without a body nobody asks for its type. */
	assert_int_equal(bf_http_guard_check_without_token(&two, false, NULL), BELFRY_OK);
}

struct wire_case {
	const char *request;
	int status;
	const char *code;
};

static void b15_the_rule_holds_over_the_wire(void **state)
{
	(void)state;
	static const struct wire_case cases[] = {
			{"GET /guarded HTTP/1.1\r\nHost: localhost:8377\r\n\r\n", 200, "welcome"},
			{"GET /guarded HTTP/1.1\r\nHost: [::1]\r\nOrigin: http://[::1]\r\n\r\n",
					200, "welcome"},
			{"GET /guarded HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 403,
					"FORBIDDEN"},
			{"GET /guarded HTTP/1.0\r\n\r\n", 403, "FORBIDDEN"},
			{"GET /guarded HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n\r\n",
					403, "FORBIDDEN"},
			{"GET /guarded HTTP/1.1\r\nHost: localhost\r\nOrigin: null\r\n\r\n", 403,
					"FORBIDDEN"},
			{"OPTIONS /guarded HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\n"
			 "Access-Control-Request-Method: POST\r\n\r\n",
					403, "FORBIDDEN"},
			{"POST /guarded HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
			 "Content-Type: text/plain\r\n\r\n{}",
					415, "UNSUPPORTED_MEDIA_TYPE"},
			{"POST /guarded HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}",
					415, "UNSUPPORTED_MEDIA_TYPE"},
			{"POST /guarded HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "2\r\n{}\r\n0\r\n\r\n",
					415, "UNSUPPORTED_MEDIA_TYPE"},
			{"POST /guarded HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
					200, "welcome"},
			{"POST /guarded HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n"
			 "Content-Type: application/json; charset=utf-8\r\n\r\n{}",
					200, "welcome"},
	};
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(cases); i++) {
		struct reply reply = client_ask(fixture.port, bf_str(cases[i].request));
		if (reply.status != cases[i].status) {
			fail_msg("%s: answered %d", cases[i].request, reply.status);
		}
		check_contains(bf_buf_str(&reply.body), cases[i].code);
		assert_null(strstr(reply.head.ptr, "Access-Control"));
		reply_fini(&reply);
	}
	fixture_stop(&fixture);
}

int run_guard_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(b15_a_host_other_than_loopback_is_refused),
			cmocka_unit_test(b15_an_origin_other_than_the_host_is_refused),
			cmocka_unit_test(b15_a_body_that_is_not_json_is_refused),
			cmocka_unit_test(b15_the_rule_holds_over_the_wire),
	};

	return cmocka_run_group_tests_name("guard", tests, NULL, NULL);
}
