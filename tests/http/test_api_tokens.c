/* A host with a token: nobody without it is answered, however the request looks (B15). */
#include "api_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define NONE "00000000-0000-4000-8000-000000000000"

static const char *const methods[] = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"};

/* Every path of interface.md, and some of nobody. */
static const char *const paths[] = {"/", "/v1", "/v1/", "/metrics", "/openapi.json",
		"/v1/deployments", "/v1/deployments/" NONE, "/v1/deployments/" NONE "/enable",
		"/v1/deployments/" NONE "/disable", "/v1/deployments/" NONE "/due",
		"/v1/deployments/" NONE "/why", "/v1/deployments/" NONE "/runs",
		"/v1/deployments/" NONE "/backfill",
		"/v1/deployments/" NONE "/occurrences/2026-12-01T00:00:00Z", "/v1/runs",
		"/v1/runs/" NONE, "/v1/runs/" NONE "/output", "/v1/runs/" NONE "/replay",
		"/v1/runs/" NONE "/cancel", "/v1/sessions/" NONE, "/v1/sessions/" NONE "/events",
		"/v1/preview", "/v1/forecast", "/v1/apply", "/v1/pause", "/v1/resume",
		"/v1/settings", "/v1/calendars", "/v1/calendars/x", "/v1/owners", "/v1/tokens",
		"/v1/tokens/x", "/v1/audit", "/v1/replicas", "/v1/events", "/v1/login",
		"/v1/logout", "/nothing", "/healthz/x", "/v1/healthz", "/%68ealthz%2f", "//healthz",
		"/healthz/", "/readyz%20", "/HEALTHZ"};

static int setup(void **state)
{
	struct api_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	api_fixture_start_with_token(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct api_fixture *f = *state;

	assert_false(host_fixture_has_logged(&f->host, f->token + sizeof(BF_TOKEN_PREFIX) - 1));
	api_fixture_stop(f);
	free(f);
	return 0;
}

/* Asks with these header lines alone. */
static int ask_bare(struct api_fixture *f, const char *method, const char *path, const char *fields,
		const char *body)
{
	struct bf_buf request = {0};
	struct client client = client_open(f->port);

	reply_fini(&f->reply);
	bf_buf_appendf(&request, "%s %s HTTP/1.1\r\n%s", method, path, fields);
	if (body != NULL) {
		bf_buf_appendf(&request, "Content-Length: %zu\r\n", strlen(body));
	}
	bf_buf_appendf(&request, "Connection: close\r\n\r\n%s", body != NULL ? body : "");
	client_send(&client, bf_buf_str(&request));
	f->reply = client_read(&client, strcmp(method, "HEAD") == 0);
	client_close(&client);
	bf_buf_fini(&request);
	if (f->reply.body.len > 0 && strstr(f->reply.body.ptr, f->token) != NULL) {
		fail_msg("the token is in an answer");
	}
	return f->reply.status;
}

static int ask_with_token(struct api_fixture *f, const char *method, const char *path,
		const char *more, const char *body)
{
	char fields[512];

	(void)snprintf(fields, sizeof(fields), "Host: localhost\r\nAuthorization: Bearer %s\r\n%s",
			f->token, more);
	return ask_bare(f, method, path, fields, body);
}

static void expect_stranger(struct api_fixture *f, const char *method, const char *path,
		const char *fields, const char *body)
{
	int status = ask_bare(f, method, path, fields, body);

	if (status != 401) {
		fail_msg("%s %s %s: answered %d", method, path, fields, status);
	}
	check_text(api_field(f, "WWW-Authenticate"), "Bearer");
	check_text(api_field(f, "Cache-Control"), "no-store");
	if (strcmp(method, "HEAD") != 0) {
		check_contains(bf_buf_str(&f->reply.body), "\"code\":\"UNAUTHENTICATED\"");
	}
}

static void b15_without_the_token_no_path_and_no_method_is_answered(void **state)
{
	struct api_fixture *f = *state;

	for (size_t m = 0; m < BF_COUNT(methods); m++) {
		for (size_t p = 0; p < BF_COUNT(paths); p++) {
			expect_stranger(f, methods[m], paths[p], "Host: localhost\r\n", NULL);
		}
		if (m > 1) {
			expect_stranger(f, methods[m], "/healthz", "Host: localhost\r\n", NULL);
			expect_stranger(f, methods[m], "/readyz", "Host: localhost\r\n", "x");
		}
	}
	assert_int_equal(f->host.fake.calls[FAKE_METRICS], 0);
	assert_int_equal(bf_api_events_count(f->events), 0);
}

static void b15_nothing_that_is_not_the_token_is_taken_for_it(void **state)
{
	struct api_fixture *f = *state;
	static const char *const forms[] = {"Authorization: %s\r\n", "Authorization: Basic %s\r\n",
			"Authorization: Bearer\r\n", "Authorization: Bearer %s x\r\n",
			"Authorization: Bearer x%s\r\n", "Authorization: Bearer %sx\r\n",
			"Authorization: Bearer %s=\r\n", "Authorization: Bearer=%s\r\n",
			"Authorization: \"Bearer %s\"\r\n", "Authorization: Bearer \"%s\"\r\n",
			"Authorization: Bearer\t%s\r\n", "Authorization: Token %s\r\n",
			"Authorization: Bearer %s,Bearer x\r\n",
			"Proxy-Authorization: Bearer %s\r\n", "X-Authorization: Bearer %s\r\n",
			"Cookie: token=%s\r\n", "X-Token: %s\r\n",
			"Authorization: Bearer %s\r\nAuthorization: Bearer x\r\n",
			"Authorization: Bearer x\r\nAuthorization: Bearer %s\r\n"};

	for (size_t i = 0; i < BF_COUNT(forms); i++) {
		struct bf_buf fields = {0};
		const char *hole = strstr(forms[i], "%s");
		bf_buf_append_text(&fields, "Host: localhost\r\n");
		bf_buf_append(&fields, forms[i],
				hole != NULL ? (size_t)(hole - forms[i]) : strlen(forms[i]));
		if (hole != NULL) {
			bf_buf_append_text(&fields, f->token);
			bf_buf_append_text(&fields, hole + 2);
		}
		expect_stranger(f, "GET", "/v1/deployments", fields.ptr, NULL);
		bf_buf_fini(&fields);
	}
}

static void b15_the_token_opens_what_a_host_without_one_offers(void **state)
{
	struct api_fixture *f = *state;
	char fields[256];

	assert_int_equal(ask_with_token(f, "GET", "/v1/deployments", "", NULL), 200);
	assert_int_equal(ask_with_token(f, "GET", "/v1/settings", "", NULL), 200);
	assert_int_equal(ask_with_token(f, "HEAD", "/v1/deployments", "", NULL), 200);
	assert_int_equal(ask_with_token(f, "GET", "/metrics", "", NULL), 200);
	assert_int_equal(ask_with_token(f, "GET", "/nothing", "", NULL), 404);
	assert_int_equal(ask_with_token(f, "POST", "/v1/deployments",
					 "Content-Type: application/json\r\n", "{}"),
			400);
	assert_int_equal(ask_with_token(f, "POST", "/v1/deployments",
					 "Content-Type: text/plain\r\n", "{}"),
			415);
	/* The word Bearer in any case, and more than one space (RFC 9110). */
	(void)snprintf(fields, sizeof(fields), "Host: x\r\nauthorization:   bEARER   %s  \r\n",
			f->token);
	assert_int_equal(ask_bare(f, "GET", "/v1/deployments", fields, NULL), 200);
}

static void health_needs_no_token_and_no_particular_host(void **state)
{
	struct api_fixture *f = *state;
	static const char *const health[] = {"/healthz", "/readyz", "/%68ealthz"};

	for (size_t i = 0; i < BF_COUNT(health); i++) {
		assert_int_equal(ask_bare(f, "GET", health[i], "Host: 10.0.0.7:80\r\n", NULL), 200);
		assert_int_equal(ask_bare(f, "HEAD", health[i], "Host: probe\r\n", NULL), 200);
	}
}

static void b15_with_a_token_host_is_free_and_a_foreign_origin_is_not(void **state)
{
	struct api_fixture *f = *state;
	static const struct {
		const char *fields;
		int status;
	} cases[] = {
			{"Host: belfry.example.org\r\n", 200},
			{"Host: belfry.example.org\r\nOrigin: https://belfry.example.org\r\n", 200},
			{"Host: belfry.example.org\r\nOrigin: http://belfry.example.org\r\n", 200},
			{"Host: belfry.example.org:8443\r\nOrigin: "
			 "https://belfry.example.org:8443\r\n",
					200},
			{"Host: belfry.example.org\r\nOrigin: https://evil.example\r\n", 403},
			{"Host: belfry.example.org\r\nOrigin: https://belfry.example.org.evil\r\n",
					403},
			{"Host: belfry.example.org\r\nOrigin: https://belfry.example.org:8443\r\n",
					403},
			{"Host: belfry.example.org\r\nOrigin: null\r\n", 403},
			{"Host: belfry.example.org\r\nOrigin: \r\n", 403},
			{"Host: belfry.example.org\r\nOrigin: ftp://belfry.example.org\r\n", 403},
			{"Host: belfry.example.org\r\nOrigin: https://belfry.example.org\r\n"
			 "Origin: https://belfry.example.org\r\n",
					403},
	};

	for (size_t i = 0; i < BF_COUNT(cases); i++) {
		char fields[512];
		(void)snprintf(fields, sizeof(fields), "%sAuthorization: Bearer %s\r\n",
				cases[i].fields, f->token);
		if (ask_bare(f, "GET", "/v1/deployments", fields, NULL) != cases[i].status) {
			fail_msg("%s: answered %d", cases[i].fields, f->reply.status);
		}
		assert_null(strstr(f->reply.head.ptr, "Access-Control"));
		/* And none of it helps who has no token. */
		expect_stranger(f, "GET", "/v1/deployments", cases[i].fields, NULL);
	}
}

static void b15_a_token_is_never_taken_from_an_address(void **state)
{
	struct api_fixture *f = *state;
	static const char *const names[] = {"token", "access_token"};

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		char path[160];
		(void)snprintf(path, sizeof(path), "/v1/deployments?%s=%s", names[i], f->token);
		expect_stranger(f, "GET", path, "Host: localhost\r\n", NULL);
		check_contains(bf_buf_str(&f->reply.body), "never taken from an address");
		assert_int_equal(ask_with_token(f, "GET", path, "", NULL), 400);
		check_contains(bf_buf_str(&f->reply.body), "never taken from an address");
	}
}

/* The head alone is enough: nothing of the body has to come, and it is never read. */
static void b15_a_stranger_is_refused_before_a_body_is_read(void **state)
{
	struct api_fixture *f = *state;
	static const char *const heads[] = {
			"POST /v1/deployments HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
			"POST /v1/deployments HTTP/1.1\r\nHost: localhost\r\n"
			"Transfer-Encoding: chunked\r\n\r\n",
			"POST /v1/deployments HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n"
			"Expect: 100-continue\r\n\r\n",
			"POST /v1/deployments HTTP/1.1\r\nHost: localhost\r\n"
			"Content-Length: 99999999999\r\n\r\n"};

	for (size_t i = 0; i < BF_COUNT(heads); i++) {
		struct client client = client_open(f->port);
		client_send_text(&client, heads[i]);
		struct reply reply = client_read(&client, false);
		assert_int_equal(reply.status, 401);
		client_expect_close(&client);
		reply_fini(&reply);
		client_close(&client);
	}
}

static void what_later_versions_do_with_tokens_is_refused_by_name(void **state)
{
	struct api_fixture *f = *state;
	static const char *const later[] = {"/v1/tokens", "/v1/tokens/x", "/v1/login",
			"/v1/logout"};

	for (size_t i = 0; i < BF_COUNT(later); i++) {
		for (size_t m = 0; m < BF_COUNT(methods); m++) {
			assert_int_equal(ask_with_token(f, methods[m], later[i], "", NULL), 404);
			if (strcmp(methods[m], "HEAD") != 0) {
				check_contains(bf_buf_str(&f->reply.body),
						"this version does not offer it");
			}
		}
	}
}

static void strangers_are_counted_in_the_log(void **state)
{
	struct api_fixture *f = *state;

	for (int i = 0; i < 50; i++) {
		expect_stranger(f, "GET", "/v1/deployments",
				"Host: localhost\r\nAuthorization: Bearer belfry_guess\r\n", NULL);
	}
	assert_true(host_fixture_has_logged(&f->host, "event=token_refused count="));
	assert_true(host_fixture_has_logged(&f->host, "peer=127.0.0.1"));
	assert_false(host_fixture_has_logged(&f->host, "belfry_guess"));
}

int run_api_token_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(b15_without_the_token_no_path_and_no_method_is_answered),
			cmocka_unit_test(b15_nothing_that_is_not_the_token_is_taken_for_it),
			cmocka_unit_test(b15_the_token_opens_what_a_host_without_one_offers),
			cmocka_unit_test(health_needs_no_token_and_no_particular_host),
			cmocka_unit_test(b15_with_a_token_host_is_free_and_a_foreign_origin_is_not),
			cmocka_unit_test(b15_a_token_is_never_taken_from_an_address),
			cmocka_unit_test(b15_a_stranger_is_refused_before_a_body_is_read),
			cmocka_unit_test(what_later_versions_do_with_tokens_is_refused_by_name),
			cmocka_unit_test(strangers_are_counted_in_the_log),
	};

	return cmocka_run_group_tests_name("api tokens", tests, setup, teardown);
}
