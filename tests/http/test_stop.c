/* Starting where it cannot, and stopping in the middle of everything. */
#include "client.h"
#include "fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

#define H "Host: localhost\r\n"

static void handle_nothing(void *data, struct bf_http_request **request)
{
	(void)data;
	(void)request;
}

static void check_start(struct bf_http_server_options *options, enum belfry_status status,
		const char *message)
{
	struct bf_http_server *server = NULL;
	struct belfry_error err = {0};

	assert_int_equal(bf_http_server_start(options, handle_nothing, NULL, &server, &err),
			status);
	assert_null(server);
	check_contains(bf_str(err.message), message);
}

static void a_bad_address_is_refused_with_its_reason(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	static const char *const wrong[] = {"", "localhost", "127.0.0.1:80", "[::1", "300.0.0.1",
			"../../etc/passwd",
			"::1::1::1::1::1::1::1::1::1::1::1::1::1::1::1::1::1::1::1"};

	for (size_t i = 0; i < BF_COUNT(wrong); i++) {
		options.address = wrong[i];
		check_start(&options, BELFRY_CONFIGURATION, "listen address");
	}
	options.address = "192.0.2.1"; /* reserved for documents: never ours */
	check_start(&options, BELFRY_UNAVAILABLE, "not an address of this machine");
	options.address = "127.0.0.1";
	options.worker_count = 0;
	check_start(&options, BELFRY_CONFIGURATION, "out of range");
}

static void a_port_in_use_is_named(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	fixture_start(&fixture, &options);
	options.port = fixture.port;
	check_start(&options, BELFRY_UNAVAILABLE, "in use already");
	fixture_stop(&fixture);
}

static void one_thread_and_no_limit_by_address_will_do(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	options.thread_count = 1;
	options.per_ip_count = 0;
	fixture_start(&fixture, &options);
	struct reply reply = client_ask(fixture.port, BF_STR("GET /fixed HTTP/1.1\r\n" H "\r\n"));
	assert_int_equal(reply.status, 200);
	reply_fini(&reply);
	fixture_stop(&fixture);
}

static void it_starts_and_stops_many_times_on_one_port(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	for (int i = 0; i < 20; i++) {
		fixture_start(&fixture, &options);
		options.port = fixture.port;
		struct client client = client_open(fixture.port);
		client_send_text(&client, "GET /echo HTTP/1.1\r\n" H "\r\n");
		struct reply reply = client_read(&client, false);
		assert_int_equal(reply.status, 200);
		reply_fini(&reply);
		fixture_stop(&fixture);
		client_expect_close(&client);
		client_close(&client);
	}
}

/* What was begun is answered: the handler is inside, and comes out while the server stops. */
static void *open_gate(void *data)
{
	fixture_open_gate(data);
	return NULL;
}

static void *stop_server(void *data)
{
	bf_http_server_stop(((struct fixture *)data)->server);
	return NULL;
}

static void a_stop_lets_what_was_begun_be_answered(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	pthread_t thread;

	fixture_start(&fixture, &options);
	struct client client = client_open(fixture.port);
	client_send_text(&client, "GET /block HTTP/1.1\r\n" H "\r\n");
	fixture_wait_blocked(&fixture, 1);
	assert_int_equal(pthread_create(&thread, NULL, open_gate, &fixture), 0);
	bf_http_server_stop(fixture.server);
	assert_int_equal(pthread_join(thread, NULL), 0);
	fixture.server = NULL;
	struct reply reply = client_read(&client, false);
	assert_int_equal(reply.status, 200);
	check_text(bf_buf_str(&reply.body), "opened");
	client_expect_close(&client);
	reply_fini(&reply);
	client_close(&client);
	fixture_stop(&fixture);
}

static void a_stop_with_suspended_requests_answers_503_and_returns(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct client clients[20];

	options.stop_time = 50 * BELFRY_MILLISECOND;
	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		clients[i] = client_open(fixture.port);
		client_send_text(&clients[i], "GET /hold HTTP/1.1\r\n" H "\r\n");
	}
	fixture_wait_held(&fixture, BF_COUNT(clients));
	/* Not released: the server has to give them up, and their late answers are dropped. */
	bf_http_server_stop(fixture.server);
	fixture.server = NULL;
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		struct reply reply = client_read(&clients[i], false);
		assert_int_equal(reply.status, 503);
		check_contains(bf_buf_str(&reply.head), "Retry-After: 1");
		client_expect_close(&clients[i]);
		reply_fini(&reply);
		client_close(&clients[i]);
	}
	fixture_stop(&fixture);
}

static void *open_gate_when_answered(void *data)
{
	struct fixture *fixture = ((void **)data)[0];
	struct client *clients = ((void **)data)[1];

	/* The queued ones are refused although the only worker is still inside the handler. */
	for (int i = 0; i < 4; i++) {
		struct reply reply = client_read(&clients[i], false);
		assert_int_equal(reply.status, 503);
		reply_fini(&reply);
	}
	fixture_open_gate(fixture);
	return NULL;
}

static void a_stop_refuses_what_waits_behind_a_busy_handler(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct client clients[4];
	void *both[] = {&fixture, clients};
	pthread_t thread;

	options.stop_time = 0;
	options.worker_count = 1;
	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		clients[i] = client_open(fixture.port);
		client_send_text(&clients[i], "GET /fixed HTTP/1.1\r\n" H "\r\n");
		struct reply reply = client_read(&clients[i], false); /* so it has been accepted */
		reply_fini(&reply);
	}
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		client_send_text(&clients[i], "GET /block HTTP/1.1\r\n" H "\r\n");
	}
	fixture_wait_blocked(&fixture, 1);
	assert_int_equal(pthread_create(&thread, NULL, open_gate_when_answered, both), 0);
	bf_http_server_stop(fixture.server);
	fixture.server = NULL;
	assert_int_equal(pthread_join(thread, NULL), 0);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		client_close(&clients[i]);
	}
	fixture_stop(&fixture);
}

static void a_stop_does_not_wait_for_clients_that_are_half_done(void **state)
{
	(void)state;
	static const char *const parts[] = {"", "GET /echo", "GET /echo HTTP/1.1\r\n" H "X-A: ",
			"POST /echo HTTP/1.1\r\n" H "Content-Length: 100\r\n\r\nabc",
			"POST /echo HTTP/1.1\r\n" H "Content-Length: 99999999\r\n\r\nabc"};
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct client clients[BF_COUNT(parts)];

	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(parts); i++) {
		clients[i] = client_open(fixture.port);
		client_send_text(&clients[i], parts[i]);
	}
	struct reply reply = client_ask(fixture.port, BF_STR("GET /echo HTTP/1.1\r\n" H "\r\n"));
	reply_fini(&reply);
	fixture_stop(&fixture);
	for (size_t i = 0; i < BF_COUNT(parts); i++) {
		client_expect_close(&clients[i]);
		client_close(&clients[i]);
	}
}

/* Reads /proc/self/FOLDER/ENTRY/FILE for every entry, and counts those whose number in the line that
 * begins with `label` satisfies `test`. */
static size_t count_entries(const char *folder, const char *file, const char *label, int base,
		bool (*test)(unsigned long number))
{
	char path[600];
	char line[256];
	size_t count = 0;

	DIR *entries = opendir(folder);
	assert_non_null(entries);
	for (struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
		(void)snprintf(path, sizeof(path), "%s/%s%s", folder, entry->d_name, file);
		FILE *lines = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		while (lines != NULL && fgets(line, sizeof(line), lines) != NULL) {
			if (strncmp(line, label, strlen(label)) == 0 &&
					test(strtoul(line + strlen(label), NULL, base))) {
				count++;
			}
		}
		if (lines != NULL) {
			(void)fclose(lines);
		}
	}
	(void)closedir(entries);
	return count;
}

/* SIGINT is 2 and SIGTERM 15: bits 1 and 14. */
static bool blocks_signals(unsigned long mask)
{
	return (mask & (1UL << 1)) != 0 && (mask & (1UL << 14)) != 0;
}

static void the_threads_of_the_server_block_signals(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	sigset_t mine;

	fixture_start(&fixture, &options);
	assert_true(count_entries("/proc/self/task", "/status", "SigBlk:", 16, blocks_signals) >=
			options.thread_count + options.worker_count + 1);
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
	assert_int_equal(sigismember(&mine, SIGTERM), 0);
	fixture_stop(&fixture);
}

static bool survives_exec(unsigned long flags)
{
	return (flags & O_CLOEXEC) == 0;
}

static size_t count_surviving(void)
{
	return count_entries("/proc/self/fdinfo", "", "flags:", 8, survives_exec);
}

static void every_descriptor_is_closed_on_exec(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	size_t before = count_surviving();

	fixture_start(&fixture, &options);
	struct client client = client_open(fixture.port);
	client_send_text(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
	fixture_wait_held(&fixture, 1);
	struct client refused = client_open(fixture.port);
	client_send_text(&refused, "POST / HTTP/1.1\r\n" H "Content-Length: 99999999\r\n\r\n");
	struct reply reply = client_read(&refused, false); /* lingers: its descriptor was copied */
	assert_int_equal(reply.status, 413);
	client_expect_close(&refused);
	assert_int_equal(count_surviving(), before);
	reply_fini(&reply);
	client_close(&refused);
	client_close(&client);
	fixture_stop(&fixture);
}

static bool always(unsigned long flags)
{
	(void)flags;
	return true;
}

/* Also where it fails half-way: every allocation of a start fails once. */
static void a_start_that_fails_leaves_nothing_behind(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct bf_http_server *server = NULL;
	enum belfry_status status = BELFRY_NOMEM;
	size_t before = count_entries("/proc/self/fdinfo", "", "flags:", 8, always);

	for (int64_t n = 1; status != BELFRY_OK; n++) {
		bf_fault_arm(bf_alloc_fault(), n, 1);
		status = bf_http_server_start(&options, handle_nothing, NULL, &server, NULL);
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(status == BELFRY_OK || status == BELFRY_NOMEM);
		assert_true(n < 20);
	}
	bf_http_server_stop(server);
	assert_int_equal(count_entries("/proc/self/fdinfo", "", "flags:", 8, always), before);
}

/* Each allocation of a request fails once: it is answered with an error or closed, and the next request
 * is served. */
static void a_request_without_memory_is_refused_and_the_next_one_served(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	int64_t fired = 0;

	options.thread_count = options.worker_count = 1;
	fixture_start(&fixture, &options);
	for (int64_t n = 1; n < 40; n++) {
		struct client client = client_open(fixture.port);
		bf_fault_arm(bf_alloc_fault(), n, 1);
		client_send_text(&client,
				"POST /status/201/%C3%A4?a=b HTTP/1.1\r\n" H
				"Content-Length: 3\r\n\r\nabc");
		client_wait_readable(&client); /* the client's own memory is not to fail */
		fired += bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		struct reply reply = client_read(&client, false);
		assert_true(reply.status == 0 || reply.status == 201 || reply.status == 500);
		reply_fini(&reply);
		client_close(&client);
		reply = client_ask(fixture.port, BF_STR("GET /fixed HTTP/1.1\r\n" H "\r\n"));
		assert_int_equal(reply.status, 200);
		reply_fini(&reply);
	}
	assert_true(fired > 5 && fired < 39); /* the sweep met every allocation, and ended */
	fixture_stop(&fixture);
}

static void what_comes_during_a_stop_gets_503(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	pthread_t thread;
	bool is_refused = false;

	fixture_start(&fixture, &options);
	struct client begun = client_open(fixture.port);
	client_send_text(&begun, "GET /block HTTP/1.1\r\n" H "\r\n");
	fixture_wait_blocked(&fixture, 1);
	assert_int_equal(pthread_create(&thread, NULL, stop_server, &fixture), 0);
	/* Served until the stop has begun, refused from then on. */
	while (!is_refused) {
		struct reply reply = client_ask(fixture.port,
				BF_STR("GET /fixed HTTP/1.1\r\n" H "\r\n"));
		assert_true(reply.status == 200 || reply.status == 503);
		is_refused = reply.status == 503;
		if (is_refused) {
			check_contains(bf_buf_str(&reply.head), "Connection: close");
		}
		reply_fini(&reply);
	}
	fixture_open_gate(&fixture);
	struct reply reply = client_read(&begun, false);
	assert_int_equal(reply.status, 200);
	assert_int_equal(pthread_join(thread, NULL), 0);
	reply_fini(&reply);
	client_close(&begun);
	fixture.server = NULL;
	fixture_stop(&fixture);
}

int run_stop_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_bad_address_is_refused_with_its_reason),
			cmocka_unit_test(a_port_in_use_is_named),
			cmocka_unit_test(one_thread_and_no_limit_by_address_will_do),
			cmocka_unit_test(it_starts_and_stops_many_times_on_one_port),
			cmocka_unit_test(a_stop_lets_what_was_begun_be_answered),
			cmocka_unit_test(a_stop_with_suspended_requests_answers_503_and_returns),
			cmocka_unit_test(a_stop_refuses_what_waits_behind_a_busy_handler),
			cmocka_unit_test(a_stop_does_not_wait_for_clients_that_are_half_done),
			cmocka_unit_test(what_comes_during_a_stop_gets_503),
			cmocka_unit_test(the_threads_of_the_server_block_signals),
			cmocka_unit_test(every_descriptor_is_closed_on_exec),
			cmocka_unit_test(a_start_that_fails_leaves_nothing_behind),
			cmocka_unit_test(
					a_request_without_memory_is_refused_and_the_next_one_served),
	};

	return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}
