/* Sizes and times: what is too large, too slow or too much at once. */
#include "client.h"
#include "fixture.h"

#include <malloc.h>
#include <poll.h>

#define H     "Host: localhost\r\n"
#define SHORT (300 * BELFRY_MILLISECOND)

static belfry_duration since(struct bf_boot_time start)
{
	const struct bf_env *env = bf_env_system();

	return bf_boot_since(env->boot(env->data), start);
}

static struct bf_boot_time now(void)
{
	const struct bf_env *env = bf_env_system();

	return env->boot(env->data);
}

/* Sends one byte after another as long as the server takes them; true when it has closed. A spinning
 * client is the worst drip there is. */
static void drip_until_closed(struct client *client, const char *byte)
{
	struct bf_boot_time start = now();

	while (!client_is_closed(client)) {
		(void)client_try_send(client, bf_str(byte));
		if (since(start) > 15 * BELFRY_SECOND) {
			fail_msg("still open after 15 s");
		}
	}
	assert_true(since(start) >= SHORT / 2);
}

static struct bf_http_server_options short_times(void)
{
	struct bf_http_server_options options = fixture_options();

	options.head_time = options.body_time = options.idle_time = SHORT;
	return options;
}

static void a_head_that_drips_is_cut_off(void **state)
{
	(void)state;
	struct bf_http_server_options options = short_times();
	struct fixture fixture;

	/* Memory enough for the bytes that a fast drip sends in the time. */
	options.connection_bytes = (size_t)16 * 1024 * 1024;
	fixture_start(&fixture, &options);
	struct client client = client_open(fixture.port);
	client_send_text(&client, "GET /echo HTTP/1.1\r\n" H "X-A: ");
	drip_until_closed(&client, "a");
	assert_int_equal(fixture.called_count, 0);
	client_close(&client);
	fixture_stop(&fixture);
}

static void a_silent_connection_is_cut_off(void **state)
{
	(void)state;
	struct bf_http_server_options options = short_times();
	struct fixture fixture;

	fixture_start(&fixture, &options);
	struct client silent = client_open(fixture.port);
	struct client used = client_open(fixture.port);
	client_send_text(&used, "GET /echo HTTP/1.1\r\n" H "\r\n");
	struct reply reply = client_read(&used, false);
	assert_int_equal(reply.status, 200);
	client_expect_close(&silent);
	client_expect_close(&used);
	reply_fini(&reply);
	client_close(&silent);
	client_close(&used);
	fixture_stop(&fixture);
}

static void a_body_that_drips_is_cut_off(void **state)
{
	(void)state;
	static const char *const heads[] = {
			"POST /echo HTTP/1.1\r\n" H "Content-Length: 900000000\r\n\r\n",
			"POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nFFFFFFF\r\n",
	};
	struct bf_http_server_options options = short_times();
	struct fixture fixture;

	options.body_bytes = (size_t)1024 * 1024 * 1024;
	options.all_bodies_bytes = options.body_bytes;
	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(heads); i++) {
		struct client client = client_open(fixture.port);
		client_send_text(&client, heads[i]);
		drip_until_closed(&client, "a");
		client_close(&client);
	}
	assert_int_equal(fixture.called_count, 0);
	fixture_stop(&fixture);
}

static void the_second_request_of_a_connection_has_its_own_deadline(void **state)
{
	(void)state;
	struct bf_http_server_options options = short_times();
	struct fixture fixture;

	options.idle_time = 60 * BELFRY_SECOND;
	options.connection_bytes = (size_t)16 * 1024 * 1024;
	fixture_start(&fixture, &options);
	struct client client = client_open(fixture.port);
	client_send_text(&client, "GET /echo HTTP/1.1\r\n" H "\r\n");
	struct reply reply = client_read(&client, false);
	assert_int_equal(reply.status, 200);
	client_send_text(&client, "GET /echo HTTP/1.1\r\n" H "X-A: ");
	drip_until_closed(&client, "a");
	reply_fini(&reply);
	client_close(&client);
	fixture_stop(&fixture);
}

/* The handler's time is not the client's: no deadline runs while a request is with it. */
static void a_handler_may_take_longer_than_every_deadline(void **state)
{
	(void)state;
	struct bf_http_server_options options = short_times();
	struct fixture fixture;

	options.send_time = SHORT;
	fixture_start(&fixture, &options);
	struct client waiting = client_open(fixture.port);
	client_send_text(&waiting, "GET /hold HTTP/1.1\r\n" H "\r\n");
	fixture_wait_held(&fixture, 1);
	/* Another connection lives through a whole deadline meanwhile. */
	struct client silent = client_open(fixture.port);
	client_expect_close(&silent);
	assert_false(client_is_closed(&waiting));
	fixture_release(&fixture);
	struct reply reply = client_read(&waiting, false);
	assert_int_equal(reply.status, 200);
	reply_fini(&reply);
	client_close(&silent);
	client_close(&waiting);
	fixture_stop(&fixture);
}

/* The client does not read its answer. */
static void an_answer_that_is_not_read_is_given_up(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct bf_buf body = {0};

	options.send_time = SHORT;
	options.body_bytes = (size_t)32 * 1024 * 1024;
	options.all_bodies_bytes = options.body_bytes;
	bf_buf_appendf(&body, "POST /echo HTTP/1.1\r\n" H "Content-Length: %d\r\n\r\n",
			24 * 1024 * 1024);
	for (int i = 0; i < 24 * 1024 * 1024; i++) {
		bf_buf_append_byte(&body, 'a');
	}
	assert_int_equal(bf_buf_status(&body), BELFRY_OK);
	fixture_start(&fixture, &options);
	struct client client = client_open(fixture.port);
	client_send(&client, bf_buf_str(&body));
	/* The server lets go of the connection although nothing is read: a send fails then. */
	struct bf_boot_time start = now();
	while (client_try_send(&client, BF_STR("a"))) {
		assert_true(since(start) < 15 * BELFRY_SECOND);
	}
	client_close(&client);
	fixture_stop(&fixture);
	bf_buf_fini(&body);
}

static void a_body_of_10_mb_is_refused_before_it_is_read(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	fixture_start(&fixture, &options);
	struct client client = client_open(fixture.port);
	/* Not one byte of the body is sent: the answer comes all the same. */
	client_send_text(&client, "POST /echo HTTP/1.1\r\n" H "Content-Length: 10000000\r\n\r\n");
	struct reply reply = client_read(&client, false);
	assert_int_equal(reply.status, 413);
	check_contains(bf_buf_str(&reply.body), "\"code\":\"PAYLOAD_TOO_LARGE\"");
	client_expect_close(&client);
	reply_fini(&reply);
	client_close(&client);
	fixture_stop(&fixture);
}

/* Clients of the plain kind send it all and read then: the refusal must still be there. */
static void a_refusal_survives_a_client_that_sends_10_mb_first(void **state)
{
	(void)state;
	static const char *const heads[] = {
			"POST /echo HTTP/1.1\r\n" H "Content-Length: 10485760\r\n\r\n",
			"POST /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\nA00000\r\n",
	};
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct bf_buf body = {0};

	for (int i = 0; i < 10 * 1024 * 1024; i++) {
		bf_buf_append_byte(&body, 'a');
	}
	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(heads); i++) {
		struct client client = client_open(fixture.port);
		client_send_text(&client, heads[i]);
		client_send(&client, bf_buf_str(&body));
		struct reply reply = client_read(&client, false);
		assert_int_equal(reply.status, 413);
		check_contains(bf_buf_str(&reply.head), "Connection: close");
		check_contains(bf_buf_str(&reply.head), "application/problem+json");
		check_contains(bf_buf_str(&reply.head), "nosniff");
		check_contains(bf_buf_str(&reply.body), "\"status\":413");
		client_expect_close(&client);
		reply_fini(&reply);
		client_close(&client);
	}
	assert_int_equal(fixture.called_count, 0);
	fixture_stop(&fixture);
	bf_buf_fini(&body);
}

static void a_body_at_the_limit_is_taken(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct bf_buf request = {0};

	bf_buf_appendf(&request, "POST /echo HTTP/1.1\r\n" H "Content-Length: %zu\r\n\r\n",
			options.body_bytes);
	for (size_t i = 0; i < options.body_bytes; i++) {
		bf_buf_append_byte(&request, 'a');
	}
	fixture_start(&fixture, &options);
	struct reply reply = client_ask(fixture.port, bf_buf_str(&request));
	assert_int_equal(reply.status, 200);
	assert_true(reply.body.len > options.body_bytes);
	reply_fini(&reply);
	fixture_stop(&fixture);
	bf_buf_fini(&request);
}

static void all_bodies_together_have_a_limit(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	options.body_bytes = options.all_bodies_bytes = 100;
	fixture_start(&fixture, &options);
	struct client first = client_open(fixture.port);
	client_send_text(&first, "POST /hold HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabcdefghi");
	fixture_wait_held(&fixture, 1);
	struct bf_buf large = {0};
	bf_buf_appendf(&large, "POST /echo HTTP/1.1\r\n" H "Content-Length: 95\r\n\r\n%095d", 0);
	struct reply reply = client_ask(fixture.port, bf_buf_str(&large));
	assert_int_equal(reply.status, 503);
	check_contains(bf_buf_str(&reply.head), "Retry-After: 1");
	reply_fini(&reply);
	fixture_release(&fixture);
	reply = client_read(&first, false);
	assert_int_equal(reply.status, 200);
	reply_fini(&reply);
	client_send_text(&first, "GET /echo HTTP/1.1\r\n" H "\r\n");
	reply = client_read(&first, false); /* its body has been given back by now */
	reply_fini(&reply);
	reply = client_ask(fixture.port, bf_buf_str(&large));
	assert_int_equal(reply.status, 200);
	reply_fini(&reply);
	client_close(&first);
	fixture_stop(&fixture);
	bf_buf_fini(&large);
}

static void wait_any_readable(const struct client *clients, size_t count)
{
	struct pollfd waited[8];

	for (size_t i = 0; i < count; i++) {
		waited[i] = (struct pollfd){.fd = clients[i].fd, .events = POLLIN};
	}
	assert_true(poll(waited, count, 20000) > 0);
}

static void a_full_queue_answers_503(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct client blocking;
	struct client clients[4];
	int refused = 0;

	options.worker_count = 1;
	options.queue_count = 3;
	fixture_start(&fixture, &options);
	blocking = client_open(fixture.port);
	client_send_text(&blocking, "GET /block HTTP/1.1\r\n" H "\r\n");
	fixture_wait_blocked(&fixture, 1);
	/* Three fit behind it, so exactly one of four is refused, and at once. */
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		clients[i] = client_open(fixture.port);
		client_send_text(&clients[i], "GET /echo HTTP/1.1\r\n" H "\r\n");
	}
	wait_any_readable(clients, BF_COUNT(clients));
	fixture_open_gate(&fixture);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		struct reply reply = client_read(&clients[i], false);
		if (reply.status == 503) {
			refused++;
			check_contains(bf_buf_str(&reply.head), "Retry-After: 1");
			check_contains(bf_buf_str(&reply.body),
					"\"code\":\"SCHEDULE_EXECUTION_UNAVAILABLE\"");
		} else {
			assert_int_equal(reply.status, 200);
		}
		reply_fini(&reply);
		client_close(&clients[i]);
	}
	assert_int_equal(refused, 1);
	client_close(&blocking);
	fixture_stop(&fixture);
}

static struct reply ask_parameters(uint16_t port, size_t count, size_t len)
{
	struct bf_buf request = {0};

	bf_buf_append_text(&request, "GET /echo?");
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < len; j++) {
			bf_buf_append_byte(&request, 'a');
		}
		bf_buf_append_byte(&request, '&');
	}
	bf_buf_append_text(&request, " HTTP/1.1\r\n" H "\r\n");
	struct reply reply = client_ask(port, bf_buf_str(&request));
	bf_buf_fini(&request);
	return reply;
}

/* Also where the library has no memory to take them apart, and never calls back. */
static void every_number_of_parameters_is_answered_at_once(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct bf_boot_time start = now();

	fixture_start(&fixture, &options);
	for (size_t count = 1; count < 1200; count += count < 220 ? 3 : 97) {
		for (size_t len = 1; len * count < 11000; len = len * 2 + 7) {
			struct reply reply = ask_parameters(fixture.port, count, len);
			if (reply.status != 400 && reply.status != 431 &&
					(reply.status != 200 || count > 64)) {
				fail_msg("%zu of %zu bytes: %d", count, len, reply.status);
			}
			reply_fini(&reply);
		}
	}
	assert_true(since(start) < options.head_time);
	fixture_stop(&fixture);
}

/* Nothing of them stays while the server runs on; after the stop a leak would be one as well, which the
 * address sanitizer looks for. */
static void refused_targets_keep_no_memory(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	fixture_start(&fixture, &options);
	struct reply reply = ask_parameters(fixture.port, 200, 1);
	reply_fini(&reply);
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 6000; i++) {
		reply = ask_parameters(fixture.port, 200, 1);
		assert_int_equal(reply.status, 400);
		check_contains(bf_buf_str(&reply.body), "at most 32 segments and 64 parameters");
		reply_fini(&reply);
	}
	assert_true(mallinfo2().uordblks < before + 512 * (size_t)1024);
	fixture_stop(&fixture);
}

static void one_address_may_not_take_every_connection(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct client clients[4];

	options.per_ip_count = 3;
	options.thread_count = 1;
	fixture_start(&fixture, &options);
	for (size_t i = 0; i < 3; i++) {
		clients[i] = client_open(fixture.port);
		client_send_text(&clients[i], "GET /hold HTTP/1.1\r\n" H "\r\n");
	}
	fixture_wait_held(&fixture, 3);
	clients[3] = client_open(fixture.port);
	client_expect_close(&clients[3]);
	assert_int_equal(clients[3].got.len, 0);
	fixture_release(&fixture);
	for (size_t i = 0; i < 3; i++) {
		struct reply reply = client_read(&clients[i], false);
		assert_int_equal(reply.status, 200);
		reply_fini(&reply);
	}
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		client_close(&clients[i]);
	}
	fixture_stop(&fixture);
}

#define CROWD 300

/* Sends nothing, half a request line, half a head, or half a body; or has been served and idles. */
static struct client crowd_client(uint16_t port, int kind)
{
	static const char *const parts[] = {"", "GET /ec", "GET /echo HTTP/1.1\r\n" H "X: ",
			"POST /echo HTTP/1.1\r\n" H "Content-Length: 9\r\n\r\nabc",
			"GET /echo HTTP/1.1\r\n" H "\r\n"};
	struct client client = client_open(port);

	client_send_text(&client, parts[kind]);
	return client;
}

static void clients_that_want_nothing_keep_nobody_out(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct client crowd[CROWD];

	for (int kind = 0; kind < 5; kind++) {
		struct fixture fixture;
		struct bf_boot_time start = now();
		options.connection_count = kind % 2 == 0 ? 64 : 512;
		options.per_ip_count = kind % 2 == 0 ? 512 : 64;
		fixture_start(&fixture, &options);
		struct client busy = client_open(fixture.port);
		client_send_text(&busy, "GET /hold HTTP/1.1\r\n" H "\r\n");
		fixture_wait_held(&fixture, 1);
		for (size_t i = 0; i < CROWD; i++) {
			crowd[i] = crowd_client(fixture.port, kind);
		}
		for (int i = 0; i < 20; i++) {
			struct reply reply = client_ask(fixture.port,
					BF_STR("GET /echo HTTP/1.1\r\n" H "\r\n"));
			assert_int_equal(reply.status, 200);
			reply_fini(&reply);
		}
		assert_true(since(start) < options.head_time);
		/* One whose request was taken is not given up. */
		fixture_release(&fixture);
		struct reply late = client_read(&busy, false);
		assert_int_equal(late.status, 200);
		reply_fini(&late);
		client_close(&busy);
		for (size_t i = 0; i < CROWD; i++) {
			client_close(&crowd[i]);
		}
		fixture_stop(&fixture);
	}
}

int run_limit_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_head_that_drips_is_cut_off),
			cmocka_unit_test(a_silent_connection_is_cut_off),
			cmocka_unit_test(a_body_that_drips_is_cut_off),
			cmocka_unit_test(the_second_request_of_a_connection_has_its_own_deadline),
			cmocka_unit_test(a_handler_may_take_longer_than_every_deadline),
			cmocka_unit_test(an_answer_that_is_not_read_is_given_up),
			cmocka_unit_test(a_body_of_10_mb_is_refused_before_it_is_read),
			cmocka_unit_test(a_refusal_survives_a_client_that_sends_10_mb_first),
			cmocka_unit_test(a_body_at_the_limit_is_taken),
			cmocka_unit_test(all_bodies_together_have_a_limit),
			cmocka_unit_test(a_full_queue_answers_503),
			cmocka_unit_test(every_number_of_parameters_is_answered_at_once),
			cmocka_unit_test(refused_targets_keep_no_memory),
			cmocka_unit_test(one_address_may_not_take_every_connection),
			cmocka_unit_test(clients_that_want_nothing_keep_nobody_out),
	};

	return cmocka_run_group_tests_name("limits", tests, NULL, NULL);
}
