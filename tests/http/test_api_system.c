/* Who may ask, what is not offered, and the routes about the host itself. */
#include "api_fixture.h"

#define NONE "00000000-0000-4000-8000-000000000000"

static int setup(void **state)
{
	struct api_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	api_fixture_start(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	api_fixture_stop(*state);
	free(*state);
	return 0;
}

static const struct {
	const char *method;
	const char *path;
	bool is_health;
} all_routes[] = {
		{"GET", "/healthz", true},
		{"GET", "/readyz", true},
		{"GET", "/metrics", false},
		{"GET", "/v1/deployments", false},
		{"POST", "/v1/deployments", false},
		{"GET", "/v1/deployments/" NONE, false},
		{"PATCH", "/v1/deployments/" NONE, false},
		{"DELETE", "/v1/deployments/" NONE, false},
		{"POST", "/v1/deployments/" NONE "/enable", false},
		{"POST", "/v1/deployments/" NONE "/disable", false},
		{"GET", "/v1/deployments/" NONE "/due", false},
		{"GET", "/v1/deployments/" NONE "/why", false},
		{"GET", "/v1/deployments/" NONE "/runs", false},
		{"POST", "/v1/deployments/" NONE "/runs", false},
		{"GET", "/v1/runs", false},
		{"GET", "/v1/runs/" NONE, false},
		{"GET", "/v1/runs/" NONE "/output", false},
		{"POST", "/v1/runs/" NONE "/replay", false},
		{"GET", "/v1/settings", false},
		{"GET", "/nothing", false},
};

static int ask_raw(struct api_fixture *f, const char *method, const char *path, const char *fields,
		const char *body)
{
	struct bf_buf request = {0};

	bf_buf_appendf(&request, "%s %s HTTP/1.1\r\n%sContent-Length: %zu\r\n\r\n%s", method, path,
			fields, strlen(body), body);
	struct reply reply = client_ask(f->port, bf_buf_str(&request));
	int status = reply.status;
	if (bf_str_starts_with(bf_buf_str(&reply.head), BF_STR("Access-Control"))) {
		fail_msg("a CORS field");
	}
	reply_fini(&reply);
	bf_buf_fini(&request);
	return status;
}

static void b15_a_foreign_host_is_refused_on_every_route(void **state)
{
	static const char *const hosts[] = {"Host: evil.example\r\n",
			"Host: localhost.evil.example\r\n", "Host: 127.0.0.1.nip.io\r\n",
			"Host: 0.0.0.0\r\n", "Host: 127.0.0.2\r\n"};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(all_routes); i++) {
		for (size_t h = 0; h < BF_COUNT(hosts); h++) {
			assert_int_equal(ask_raw(f, all_routes[i].method, all_routes[i].path,
							 hosts[h], ""),
					403);
		}
	}
}

static void b15_a_foreign_origin_is_refused_on_every_route(void **state)
{
	static const char *const origins[] = {"http://evil.example", "null", "https://localhost",
			"http://localhost:1"};
	struct api_fixture *f = *state;
	char fields[100];

	for (size_t i = 0; i < BF_COUNT(all_routes); i++) {
		for (size_t o = 0; o < BF_COUNT(origins) && !all_routes[i].is_health; o++) {
			(void)snprintf(fields, sizeof(fields), "Host: localhost\r\nOrigin: %s\r\n",
					origins[o]);
			assert_int_equal(ask_raw(f, all_routes[i].method, all_routes[i].path,
							 fields, ""),
					403);
		}
	}
	assert_int_equal(ask_raw(f, "GET", "/v1/runs",
					 "Host: localhost:7\r\nOrigin: http://localhost:7\r\n", ""),
			200);
}

static void b15_a_body_that_is_not_json_is_refused_on_every_route(void **state)
{
	static const char *const types[] = {"", "Content-Type: text/plain\r\n",
			"Content-Type: application/x-www-form-urlencoded\r\n",
			"Content-Type: application/merge-patch+json\r\n"};
	struct api_fixture *f = *state;
	char fields[100];

	for (size_t i = 0; i < BF_COUNT(all_routes); i++) {
		for (size_t t = 0; t < BF_COUNT(types) && !all_routes[i].is_health; t++) {
			(void)snprintf(fields, sizeof(fields), "Host: localhost\r\n%s", types[t]);
			/* The one exception: a merge patch for PATCH (RFC 7396). */
			bool is_patch = strcmp(all_routes[i].method, "PATCH") == 0 && t == 3;
			int status = ask_raw(f, all_routes[i].method, all_routes[i].path, fields,
					"{}");
			assert_true(is_patch ? status != 415 : status == 415);
		}
	}
}

static void b15_a_page_of_another_site_learns_nothing_by_options(void **state)
{
	struct api_fixture *f = *state;

	assert_int_equal(ask_raw(f, "OPTIONS", "/v1/deployments",
					 "Host: localhost\r\nOrigin: http://evil.example\r\n", ""),
			403);
	assert_int_equal(api_ask(f, "OPTIONS", "/v1/deployments", NULL, NULL), 405);
	assert_int_equal(api_field(f, "Access-Control-Allow-Origin").len, 0);
}

static void a_wrong_method_is_told_the_right_ones(void **state)
{
	static const struct {
		const char *method;
		const char *path;
		const char *allow;
	} rows[] = {
			{"PUT", "/v1/deployments", "GET, HEAD, POST"},
			{"POST", "/v1/deployments/" NONE, "GET, HEAD, PATCH, DELETE"},
			{"GET", "/v1/deployments/" NONE "/enable", "POST"},
			{"DELETE", "/v1/runs/" NONE, "GET, HEAD"},
			{"POST", "/healthz", "GET, HEAD"},
			{"DELETE", "/v1/settings", "GET, HEAD, PATCH"},
	};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		api_expect(f, rows[i].method, rows[i].path, NULL, 405, "METHOD_NOT_ALLOWED");
		check_text(api_field(f, "Allow"), rows[i].allow);
	}
	assert_int_equal(api_ask(f, "HEAD", "/v1/deployments", NULL, NULL), 200);
}

static void what_a_later_version_offers_is_said_to_be_so(void **state)
{
	static const struct {
		const char *method;
		const char *path;
	} rows[] = {{"POST", "/v1/pause"}, {"POST", "/v1/resume"}, {"GET", "/v1/owners"},
			{"GET", "/v1/tokens"}, {"GET", "/v1/audit"}, {"GET", "/v1/replicas"},
			{"POST", "/v1/login"}, {"POST", "/v1/logout"}, {"GET", "/v1/sessions/x"},
			{"GET", "/v1/sessions/x/events"}, {"PATCH", "/v1/sessions/x"},
			{"POST", "/v1/deployments/" NONE "/backfill"},
			{"PUT", "/v1/deployments/" NONE "/occurrences/x"}, {"POST", "/v1/tokens"}};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		api_expect(f, rows[i].method, rows[i].path, NULL, 404, "NOT_FOUND");
		assert_string_equal(api_text(f, "detail"), "this version does not offer it");
	}
	api_expect(f, "GET", "/", NULL, 404, "NOT_FOUND");
	assert_non_null(strstr(api_text(f, "detail"), "this version has no page yet"));
}

static void settings_are_shown_with_their_defaults(void **state)
{
	static const struct {
		const char *name;
		const char *value; /* as JSON */
		bool is_changeable;
		bool needs_restart;
	} rows[] = {
			{"enabled", "true", false, true},
			{"max_concurrent", "1000", true, true},
			{"per_host", "100", true, true},
			{"tick_seconds", "1", true, true},
			{"lease", "\"PT8S\"", true, true},
			{"beat", "\"PT2S\"", true, true},
			{"grace", "\"PT1M\"", true, false},
			{"stop_time", "\"PT25S\"", true, false},
			{"keep_age", "\"P30D\"", true, true},
			{"keep_runs", "10000", true, true},
			{"keep_failed_age", "\"P90D\"", true, true},
			{"output_limit", "1048576", true, true},
			{"answer_limit", "65536", true, true},
			{"audit_age", "\"P365D\"", false, true},
			{"max_active_schedules", "null", true, true},
			{"recovery_limit", "10", true, true},
			{"zones_check", "\"PT30S\"", true, true},
	};
	struct api_fixture *f = *state;

	api_expect(f, "GET", "/v1/settings", NULL, 200, "");
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		json_t *wanted = NULL;
		const json_t *shown = api_member(f, rows[i].name);
		assert_int_equal(bf_json_parse(bf_str(rows[i].value), SIZE_MAX, &wanted, NULL),
				BELFRY_OK);
		assert_true(json_equal(json_object_get(shown, "value"), wanted));
		assert_true(json_equal(json_object_get(shown, "default"), wanted));
		assert_true(json_equal(json_object_get(shown, "next_value"), wanted));
		assert_string_equal(json_string_value(json_object_get(shown, "source")), "default");
		assert_int_equal(json_is_true(json_object_get(shown, "changeable")),
				rows[i].is_changeable);
		assert_int_equal(json_is_true(json_object_get(shown, "needs_restart")),
				rows[i].needs_restart);
		json_decref(wanted);
	}
}

static void b21_a_step_that_stands_still_for_three_leases_is_not_ready(void **state)
{
	static const char *const names[] = {"planner", "dispatcher", "keeper"};
	struct api_fixture *f = *state;
	struct belfry_provider_metrics *m = &f->host.fake.metrics;

	api_expect(f, "GET", "/readyz", NULL, 200, "");
	for (size_t i = 0; i < BF_COUNT(names); i++) {
		m->step_age[i] = 3 * m->lease;
		api_expect(f, "GET", "/readyz", NULL, 200, "");
		m->step_age[i] = 3 * m->lease + 1;
		api_expect(f, "GET", "/readyz", NULL, 503, "SCHEDULE_EXECUTION_UNAVAILABLE");
		check_contains(bf_str(api_text(f, "detail")), names[i]);
		assert_true(host_fixture_has_logged(&f->host, names[i])); /* the log says which */
		api_expect(f, "GET", "/healthz", NULL, 200, "");
		m->step_age[i] = 0;
	}
	api_expect(f, "GET", "/readyz", NULL, 200, "");
	assert_true(host_fixture_has_logged(&f->host, "event=ready"));
}

static void readiness_tells_every_reason(void **state)
{
	struct api_fixture *f = *state;

	f->host.fake.metrics.is_store_up = false;
	f->host.fake.metrics.is_started = false;
	api_expect(f, "GET", "/readyz", NULL, 503, "SCHEDULE_EXECUTION_UNAVAILABLE");
	check_contains(bf_str(api_text(f, "detail")), "the store does not answer");
	check_contains(bf_str(api_text(f, "detail")), "not started");
	assert_true(api_field(f, "Retry-After").len > 0);
	f->host.fake.fails[FAKE_METRICS] = BELFRY_UNAVAILABLE;
	api_expect(f, "GET", "/readyz", NULL, 503, "SCHEDULE_EXECUTION_UNAVAILABLE");
}

/* The value that stands behind `sample` at the beginning of a line; "" where there is none. */
static void expect_sample(struct api_fixture *f, const char *sample, const char *value)
{
	struct bf_buf line = {0};

	bf_buf_appendf(&line, "\n%s %s\n", sample, value);
	assert_int_equal(api_ask(f, "GET", "/metrics", NULL, NULL), 200);
	check_contains(bf_buf_str(&f->reply.body), line.ptr);
	bf_buf_fini(&line);
}

static void b20_every_metric_moves_with_its_event(void **state)
{
	struct api_fixture *f = *state;
	struct belfry_provider_metrics *m = &f->host.fake.metrics;

	expect_sample(f, "belfry_due_times_total{outcome=\"run\"}", "0");
	m->due_times[BELFRY_DUE_RUN] = 5;
	m->due_times[BELFRY_DUE_MISSED] = 6;
	m->due_times[BELFRY_DUE_DISABLED] = 7;
	m->runs[BELFRY_TRIGGER_MANUAL][BELFRY_STATUS_FAILED] = 8;
	m->lateness[0] = 2;
	m->lateness[1] = 3;
	m->lateness[BELFRY_LATENESS_BUCKETS - 1] = 1;
	m->lateness_count = 6;
	m->lateness_sum_us = 400123456;
	m->open[BELFRY_RUN_DELAYED] = 9;
	m->takeovers = 4;
	m->clock_offset = -1500;
	m->step_age[1] = 2500000;
	expect_sample(f, "belfry_due_times_total{outcome=\"run\"}", "5");
	expect_sample(f, "belfry_due_times_total{outcome=\"missed\"}", "6");
	expect_sample(f, "belfry_due_times_total{outcome=\"disabled\"}", "7");
	expect_sample(f, "belfry_runs_total{trigger=\"manual\",status=\"FAILED\"}", "8");
	expect_sample(f, "belfry_start_lateness_seconds_bucket{le=\"0.001\"}", "2");
	expect_sample(f, "belfry_start_lateness_seconds_bucket{le=\"0.0025\"}", "5");
	expect_sample(f, "belfry_start_lateness_seconds_bucket{le=\"300.0\"}", "5");
	expect_sample(f, "belfry_start_lateness_seconds_bucket{le=\"+Inf\"}", "6");
	expect_sample(f, "belfry_start_lateness_seconds_count", "6");
	expect_sample(f, "belfry_start_lateness_seconds_sum", "400.123456");
	expect_sample(f, "belfry_runs_open{state=\"delayed\"}", "9");
	expect_sample(f, "belfry_takeovers_total", "4");
	expect_sample(f, "belfry_clock_offset_seconds", "-0.0015");
	expect_sample(f, "belfry_step_last_seconds{step=\"dispatcher\"}", "2.5");
	expect_sample(f, "belfry_store_up", "1");
	expect_sample(f, "belfry_oldest_queued_seconds", "0.0");
	m->oldest_queued = 1700000000 * BELFRY_SECOND;
	assert_int_equal(api_ask(f, "GET", "/metrics", NULL, NULL), 200);
	assert_null(strstr(f->reply.body.ptr, "belfry_oldest_queued_seconds 0.0"));
	check_contains(bf_buf_str(&f->reply.body),
			"belfry_build_info{version=\"0.1.0\",tz_version=");
	m->is_store_up = false;
	expect_sample(f, "belfry_store_up", "0");
}

static void metrics_are_open_metrics_text(void **state)
{
	struct api_fixture *f = *state;
	struct belfry_str end = BF_STR("# EOF\n");

	assert_int_equal(api_ask(f, "GET", "/metrics", NULL, NULL), 200);
	check_text(api_field(f, "Content-Type"),
			"application/openmetrics-text; version=1.0.0; charset=utf-8");
	struct belfry_str body = bf_buf_str(&f->reply.body);
	check_text(bf_str_slice(body, body.len - end.len, body.len), "# EOF\n");
	f->host.fake.fails[FAKE_METRICS] = BELFRY_UNAVAILABLE;
	expect_sample(f, "belfry_store_up", "0");
	assert_null(strstr(f->reply.body.ptr, "belfry_runs_total"));
}

int run_api_system_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(b15_a_foreign_host_is_refused_on_every_route),
			CASE(b15_a_foreign_origin_is_refused_on_every_route),
			CASE(b15_a_body_that_is_not_json_is_refused_on_every_route),
			CASE(b15_a_page_of_another_site_learns_nothing_by_options),
			CASE(a_wrong_method_is_told_the_right_ones),
			CASE(what_a_later_version_offers_is_said_to_be_so),
			CASE(settings_are_shown_with_their_defaults),
			CASE(b21_a_step_that_stands_still_for_three_leases_is_not_ready),
			CASE(readiness_tells_every_reason),
			CASE(b20_every_metric_moves_with_its_event),
			CASE(metrics_are_open_metrics_text),
#undef CASE
	};

	return cmocka_run_group_tests_name("api system", tests, NULL, NULL);
}
