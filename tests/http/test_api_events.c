/* GET /v1/events over the wire: what is heard, how many may listen, and how listening ends. */
#include "api_fixture.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "base/alloc.h"

#define LISTENERS 1000

static struct client listen_to(struct api_fixture *f, const char *fields)
{
	struct bf_buf request = {0};
	struct client client = client_open(f->port);

	bf_buf_appendf(&request, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n%s\r\n", fields);
	client_send(&client, bf_buf_str(&request));
	bf_buf_fini(&request);
	return client;
}

/* Until it is told to read everything: from then on it hears of each change. */
static struct client open_listener(struct api_fixture *f)
{
	struct client client = listen_to(f, "");

	client_expect_text(&client, "event: resync\ndata: {}\n\n");
	return client;
}

static void expect_change(struct client *client, const char *id)
{
	char text[128];

	(void)snprintf(text, sizeof(text), "event: changed\ndata: {\"deployment_id\": \"%s\"}\n\n",
			id);
	client_expect_text(client, text);
}

static void wait_for_listeners(struct api_fixture *f, size_t count)
{
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time until = bf_boot_add(env->boot(env->data), 30 * BELFRY_SECOND);

	while (bf_api_events_count(f->events) != count) {
		assert_true(env->boot(env->data).us < until.us);
		(void)sched_yield();
	}
}

static void a_listener_is_told_to_read_and_then_of_each_change(void **state)
{
	struct api_fixture f;
	char first[BELFRY_ID_TEXT_BYTES];
	char second[BELFRY_ID_TEXT_BYTES];
	char path[96];

	(void)state;
	api_fixture_start(&f);
	struct client client = listen_to(&f, "Accept: text/event-stream\r\nLast-Event-ID: 7\r\n");
	struct reply reply = client_read(&client, false);
	assert_int_equal(reply.status, 200);
	struct belfry_str head = bf_buf_str(&reply.head);
	check_contains(head, "Content-Type: text/event-stream\r\n");
	check_contains(head, "Cache-Control: no-store\r\n");
	check_contains(head, "X-Accel-Buffering: no\r\n");
	reply_fini(&reply);
	client_expect_text(&client, "retry: ");
	client_expect_text(&client, "\n\n");
	client_expect_text(&client, "event: resync\ndata: {}\n\n");
	api_make_deployment(&f, "first", first);
	expect_change(&client, first);
	api_make_deployment(&f, "second", second);
	expect_change(&client, second);
	(void)snprintf(path, sizeof(path), "/v1/deployments/%s/disable", first);
	api_expect(&f, "POST", path, "{\"reason\":\"x\"}", 200, "");
	expect_change(&client, first);
	(void)snprintf(path, sizeof(path), "/v1/deployments/%s", second);
	assert_int_equal(api_ask(&f, "DELETE", path, NULL, NULL), 204);
	expect_change(&client, second);
	/* What the engine says of a Run. */
	bf_events_changed(f.host.events, bf_str(first));
	expect_change(&client, first);
	bf_events_lost(f.host.events);
	client_expect_text(&client, "event: resync\ndata: {}\n\n");
	assert_int_equal(client.got.len > 0 && strstr(client.got.ptr, "id:") != NULL, 0);
	client_close(&client);
	api_fixture_stop(&f);
}

static void many_changes_of_one_deployment_are_one_hint(void **state)
{
	static const char id[] = "00000000-0000-4000-8000-000000000001";
	static const char last[] = "00000000-0000-4000-8000-000000000002";
	struct api_fixture f;
	size_t count = 0;

	(void)state;
	api_fixture_start(&f);
	struct client client = open_listener(&f);
	bf_events_changed(f.host.events, bf_str(id));
	expect_change(&client, id);
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time begin = env->boot(env->data);
	for (int i = 0; i < 10000; i++) {
		bf_events_changed(f.host.events, bf_str(id));
	}
	bf_events_changed(f.host.events, bf_str(last));
	while (client.got.len == 0 || strstr(client.got.ptr, last) == NULL) {
		char bytes[4096];
		client_wait_readable(&client);
		ssize_t got = recv(client.fd, bytes, sizeof(bytes), 0);
		assert_true(got > 0);
		bf_buf_append(&client.got, bytes, (size_t)got);
	}
	for (const char *at = client.got.ptr; (at = strstr(at, id)) != NULL; at++) {
		count++;
	}
	belfry_duration took = bf_boot_since(env->boot(env->data), begin);
	assert_true(count >= 1 && count <= 1 + (size_t)(took / BF_EVENTS_PAUSE) + 1);
	client_close(&client);
	api_fixture_stop(&f);
}

static void a_silent_stream_gives_a_sign_of_life(void **state)
{
	struct bf_http_server_options server = BF_HTTP_SERVER_OPTIONS_INIT;
	struct bf_api_events_options events = BF_API_EVENTS_OPTIONS_INIT;
	struct api_fixture f;

	(void)state;
	assert_int_equal(events.quiet_time, 15 * BELFRY_SECOND);
	events.quiet_time = BELFRY_MILLISECOND;
	api_fixture_start_with(&f, &server, &events, false);
	struct client client = open_listener(&f);
	client_expect_text(&client, ": still here\n\n");
	client_close(&client);
	api_fixture_stop(&f);
}

static void expect_full(struct api_fixture *f, const char *fields, const char *setting)
{
	struct client client = listen_to(f, fields);
	struct reply reply = client_read(&client, false);

	assert_int_equal(reply.status, 429);
	check_contains(bf_buf_str(&reply.head), "Retry-After: ");
	check_contains(bf_buf_str(&reply.body), "\"code\":\"RATE_LIMITED\"");
	check_contains(bf_buf_str(&reply.body), setting);
	reply_fini(&reply);
	client_close(&client);
}

static void more_streams_than_the_limits_are_refused_until_one_ends(void **state)
{
	struct bf_http_server_options server = BF_HTTP_SERVER_OPTIONS_INIT;
	struct bf_api_events_options events = BF_API_EVENTS_OPTIONS_INIT;
	struct api_fixture f;
	struct client clients[3];

	(void)state;
	for (int is_total = 0; is_total < 2; is_total++) {
		events.stream_count = is_total == 1 ? 3 : 1024;
		events.token_count = is_total == 1 ? 64 : 3;
		api_fixture_start_with(&f, &server, &events, false);
		for (size_t i = 0; i < BF_COUNT(clients); i++) {
			clients[i] = open_listener(&f);
		}
		expect_full(&f, "", is_total == 1 ? "streams:" : "streams_per_token:");
		assert_int_equal(bf_api_events_count(f.events), 3);
		/* A client that has closed frees its place. */
		client_close(&clients[0]);
		wait_for_listeners(&f, 2);
		clients[0] = open_listener(&f);
		expect_full(&f, "", "streams");
		for (size_t i = 0; i < BF_COUNT(clients); i++) {
			client_close(&clients[i]);
		}
		api_fixture_stop(&f);
	}
}

static void a_head_and_a_refusal_take_no_place(void **state)
{
	struct api_fixture f;

	(void)state;
	api_fixture_start(&f);
	assert_int_equal(api_ask(&f, "HEAD", "/v1/events", NULL, NULL), 200);
	check_text(api_field(&f, "Content-Type"), "text/event-stream");
	assert_int_equal(bf_api_events_count(f.events), 0);
	api_expect(&f, "GET", "/v1/events?after=1", NULL, 400, "INVALID_REQUEST");
	api_expect(&f, "POST", "/v1/events", NULL, 405, "METHOD_NOT_ALLOWED");
	assert_int_equal(api_ask(&f, "GET", "/v1/events", "Origin: http://evil.example\r\n", NULL),
			403);
	assert_int_equal(bf_api_events_count(f.events), 0);
	api_fixture_stop(&f);
}

static void a_stop_ends_every_stream_at_once(void **state)
{
	struct api_fixture f;
	struct client clients[20];

	(void)state;
	api_fixture_start(&f);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		clients[i] = open_listener(&f);
	}
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time begin = env->boot(env->data);
	api_fixture_stop(&f);
	assert_true(bf_boot_since(env->boot(env->data), begin) < 4 * BELFRY_SECOND);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		client_expect_text(&clients[i], "0\r\n\r\n");
		client_expect_close(&clients[i]);
		client_close(&clients[i]);
	}
}

static int compare_times(const void *a, const void *b)
{
	belfry_duration x = *(const belfry_duration *)a;
	belfry_duration y = *(const belfry_duration *)b;

	return (x > y) - (x < y);
}

static void raise_descriptors(void)
{
	struct rlimit limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void a_thousand_listeners_hear_of_a_change(void **state)
{
	static const char id[] = "00000000-0000-4000-8000-000000000001";
	struct bf_http_server_options server = BF_HTTP_SERVER_OPTIONS_INIT;
	struct bf_api_events_options events = BF_API_EVENTS_OPTIONS_INIT;
	static struct client clients[LISTENERS];
	static belfry_duration times[LISTENERS];
	const struct bf_env *env = bf_env_system();
	struct api_fixture f;

	(void)state;
	raise_descriptors();
	server.connection_count = 2 * LISTENERS;
	server.per_ip_count = 0;
	events.token_count = LISTENERS;
	api_fixture_start_with(&f, &server, &events, false);
	for (size_t i = 0; i < LISTENERS; i++) {
		clients[i] = open_listener(&f);
	}
	struct bf_boot_time begin = env->boot(env->data);
	bf_events_changed(f.host.events, bf_str(id));
	for (size_t i = 0; i < LISTENERS; i++) {
		expect_change(&clients[i], id);
		times[i] = bf_boot_since(env->boot(env->data), begin);
	}
	qsort(times, LISTENERS, sizeof(times[0]), compare_times);
	print_message("heard by %d listeners: p50 %lld us, p99 %lld us\n", LISTENERS,
			(long long)times[LISTENERS / 2], (long long)times[LISTENERS / 100 * 99]);
	for (size_t i = 0; i < LISTENERS; i++) {
		client_close(&clients[i]);
	}
	wait_for_listeners(&f, 0);
	api_fixture_stop(&f);
}

/* Reads what has come; true: this is in it. */
static bool has_heard(struct client *client, const char *text)
{
	char bytes[16384];
	ssize_t got;

	while ((got = recv(client->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		bf_buf_append(&client->got, bytes, (size_t)got);
	}
	return client->got.len > 0 && strstr(client->got.ptr, text) != NULL;
}

/* More deployments change within one pause than are kept. On a machine that stands still now and then
 * it may take more than one burst; and what changes before a gap is told may be told by it. */
static void a_burst_is_told_as_a_gap_and_then_it_goes_on(void **state)
{
	static const char last[] = "ffffffff-0000-4000-8000-000000000000";
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time until = bf_boot_add(env->boot(env->data), 20 * BELFRY_SECOND);
	struct api_fixture f;
	char id[BELFRY_ID_TEXT_BYTES];

	(void)state;
	api_fixture_start(&f);
	struct client client = open_listener(&f);
	do {
		assert_true(env->boot(env->data).us < until.us);
		for (unsigned i = 0; i < 3 * BF_EVENTS_KEPT; i++) {
			(void)snprintf(id, sizeof(id), "%08x-0000-4000-8000-000000000000", i);
			bf_events_changed(f.host.events, bf_str(id));
		}
	} while (!has_heard(&client, "event: resync"));
	do {
		assert_true(env->boot(env->data).us < until.us);
		bf_events_changed(f.host.events, bf_str(last));
	} while (!has_heard(&client, last));
	client_close(&client);
	api_fixture_stop(&f);
}

/* Fails allocation 1, 2, 3, ... of a request for a stream: it is refused or opened, and no place is lost. */
static void every_lack_of_memory_is_borne(void **state)
{
	struct api_fixture f;
	bool has_fired = true;

	(void)state;
	api_fixture_start(&f);
	for (int64_t call = 1; has_fired; call++) {
		struct client client = client_open(f.port);
		assert_true(call < 500);
		bf_fault_arm(bf_alloc_fault(), call, 1);
		client_send_text(&client, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
		client_wait_readable(&client);
		has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		client_close(&client);
		wait_for_listeners(&f, 0);
	}
	struct client client = open_listener(&f);
	client_close(&client);
	api_fixture_stop(&f);
}

int run_api_event_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_listener_is_told_to_read_and_then_of_each_change),
			cmocka_unit_test(many_changes_of_one_deployment_are_one_hint),
			cmocka_unit_test(a_silent_stream_gives_a_sign_of_life),
			cmocka_unit_test(more_streams_than_the_limits_are_refused_until_one_ends),
			cmocka_unit_test(a_head_and_a_refusal_take_no_place),
			cmocka_unit_test(a_stop_ends_every_stream_at_once),
			cmocka_unit_test(a_thousand_listeners_hear_of_a_change),
			cmocka_unit_test(a_burst_is_told_as_a_gap_and_then_it_goes_on),
			cmocka_unit_test(every_lack_of_memory_is_borne),
	};

	return cmocka_run_group_tests_name("api events", tests, NULL, NULL);
}
