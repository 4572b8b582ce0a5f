/* Starting where it cannot, and stopping in the middle of everything. */
#include "client.h"
#include "fixture.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

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

/* Every thread of the process but this one must have every signal blocked. */
static void the_threads_of_the_server_block_signals(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	size_t seen = 0;

	fixture_start(&fixture, &options);
	DIR *folder = opendir("/proc/self/task");
	assert_non_null(folder);
	for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
		char path[300];
		char line[256];
		(void)snprintf(path, sizeof(path), "/proc/self/task/%s/status", entry->d_name);
		FILE *file = entry->d_name[0] != '.' ? fopen(path, "re") : NULL;
		while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
			/* SIGINT is 2, SIGTERM is 15: bits 1 and 14. */
			if (strncmp(line, "SigBlk:", 7) == 0 && (line[22] - '0') >= 0) {
				unsigned long mask = strtoul(line + 7, NULL, 16);
				seen += (mask & (1UL << 1)) != 0 && (mask & (1UL << 14)) != 0 ? 1
											      : 0;
			}
		}
		if (file != NULL) {
			(void)fclose(file);
		}
	}
	(void)closedir(folder);
	assert_true(seen >= options.thread_count + options.worker_count + 1);
	sigset_t mine;
	assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &mine), 0);
	assert_int_equal(sigismember(&mine, SIGTERM), 0);
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
			cmocka_unit_test(the_threads_of_the_server_block_signals),
	};

	return cmocka_run_group_tests_name("stop", tests, NULL, NULL);
}
