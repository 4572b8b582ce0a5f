/* Ordinary service: what the handler sees, what the client gets, in what order, and from whom. */
#include "client.h"
#include "fixture.h"

#define H "Host: localhost\r\n"

static struct fixture fixture;

static int start_server(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();

	fixture_start(&fixture, &options);
	return 0;
}

static int stop_server(void **state)
{
	(void)state;
	fixture_stop(&fixture);
	return 0;
}

static void check_answer(const char *request, int status, const char *body)
{
	struct reply reply = client_ask(fixture.port, bf_str(request));

	assert_int_equal(reply.status, status);
	check_text(bf_buf_str(&reply.body), body);
	reply_fini(&reply);
}

static void a_request_reaches_the_handler_decoded(void **state)
{
	(void)state;
	check_answer("GET /echo/a%20b%2Fc/%F0%9F%A6%9C/+/?q=x+y%2B&q=2&empty=&%C3%A4 HTTP/1.1\r\n" H
		     "X-ECHO:  some words \r\n\r\n",
			200,
			"GET [echo] [a b/c] [\xf0\x9f\xa6\x9c] [+] [] q=x y+ q=2 empty= \xc3\xa4= "
			"x=some words peer=127.0.0.1 body=");
}

static void bodies_come_whole_by_length_and_by_chunks(void **state)
{
	(void)state;
	check_answer("POST /echo HTTP/1.1\r\n" H "Content-Length: 5\r\n\r\nhello", 200,
			"POST [echo] x= peer=127.0.0.1 body=hello");
	check_answer("PUT /echo HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n\r\n"
		     "2\r\nhe\r\n003\r\nllo\r\n0\r\n\r\n",
			200, "PUT [echo] x= peer=127.0.0.1 body=hello");
}

static void every_method_is_told_apart(void **state)
{
	(void)state;
	check_answer("PATCH /echo HTTP/1.1\r\n" H "\r\n", 200,
			"PATCH [echo] x= peer=127.0.0.1 body=");
	check_answer("DELETE /echo HTTP/1.1\r\n" H "\r\n", 200,
			"DELETE [echo] x= peer=127.0.0.1 body=");
	check_answer("OPTIONS /echo HTTP/1.1\r\n" H "\r\n", 200,
			"OPTIONS [echo] x= peer=127.0.0.1 body=");
}

static void head_has_the_fields_and_no_body(void **state)
{
	(void)state;
	struct client client = client_open(fixture.port);

	client_send_text(&client,
			"HEAD /fixed HTTP/1.1\r\n" H "\r\n"
			"GET /fixed HTTP/1.1\r\n" H "\r\n");
	struct reply head = client_read(&client, true);
	struct reply get = client_read(&client, false);
	assert_int_equal(head.status, 200);
	check_contains(bf_buf_str(&head.head), "Content-Length: 5\r\n");
	check_text(bf_buf_str(&get.body), "fixed");
	reply_fini(&head);
	reply_fini(&get);
	client_close(&client);
}

static void answers_without_a_body_have_none(void **state)
{
	(void)state;
	struct client client = client_open(fixture.port);

	client_send_text(&client,
			"GET /status/204 HTTP/1.1\r\n" H "\r\n"
			"GET /status/304 HTTP/1.1\r\n" H "\r\n"
			"GET /status/418 HTTP/1.1\r\n" H "\r\n");
	struct reply first = client_read(&client, true);
	struct reply second = client_read(&client, true);
	struct reply third = client_read(&client, false);
	assert_int_equal(first.status, 204);
	assert_int_equal(second.status, 304);
	assert_int_equal(third.status, 418);
	check_text(bf_buf_str(&third.body), "told to");
	reply_fini(&first);
	reply_fini(&second);
	reply_fini(&third);
	client_close(&client);
}

static void answers_carry_the_fields_of_safety(void **state)
{
	(void)state;
	struct reply reply = client_ask(fixture.port, BF_STR("GET /echo HTTP/1.1\r\n" H "\r\n"));
	struct belfry_str head = bf_buf_str(&reply.head);

	check_contains(head, "X-Content-Type-Options: nosniff\r\n");
	check_contains(head, "Referrer-Policy: no-referrer\r\n");
	check_contains(head, "Cache-Control: no-store\r\n");
	check_contains(head, "Content-Type: text/plain\r\n");
	assert_null(strstr(reply.head.ptr, "Server:"));
	assert_null(strstr(reply.head.ptr, "Access-Control"));
	reply_fini(&reply);
	reply = client_ask(fixture.port, BF_STR("GET /fixed HTTP/1.1\r\n" H "\r\n"));
	check_contains(bf_buf_str(&reply.head), "ETag: \"1\"\r\n");
	check_contains(bf_buf_str(&reply.head), "cache-control: no-cache\r\n");
	assert_null(strstr(reply.head.ptr, "no-store"));
	reply_fini(&reply);
}

static void a_request_that_is_forgotten_gets_500(void **state)
{
	(void)state;
	struct reply reply = client_ask(fixture.port, BF_STR("GET /forget HTTP/1.1\r\n" H "\r\n"));

	assert_int_equal(reply.status, 500);
	check_contains(bf_buf_str(&reply.body), "\"code\":\"INTERNAL\"");
	check_contains(bf_buf_str(&reply.body), "\"request_id\":\"");
	reply_fini(&reply);
}

static void a_connection_serves_many_requests_one_after_another(void **state)
{
	(void)state;
	struct client client = client_open(fixture.port);

	for (int i = 0; i < 500; i++) {
		client_send_text(&client,
				"POST /echo HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nok");
		struct reply reply = client_read(&client, false);
		assert_int_equal(reply.status, 200);
		reply_fini(&reply);
	}
	client_close(&client);
}

static void pipelined_requests_are_answered_in_their_order(void **state)
{
	(void)state;
	struct client client = client_open(fixture.port);
	struct bf_buf many = {0};
	struct bf_buf expected = {0};

	for (int i = 0; i < 200; i++) {
		bf_buf_appendf(&many, "POST /echo/%d HTTP/1.1\r\n" H "Content-Length: 2\r\n\r\nok",
				i);
	}
	client_send(&client, bf_buf_str(&many));
	for (int i = 0; i < 200; i++) {
		struct reply reply = client_read(&client, false);
		bf_buf_clear(&expected);
		bf_buf_appendf(&expected, "POST [echo] [%d] x= peer=127.0.0.1 body=ok", i);
		check_text(bf_buf_str(&reply.body), expected.ptr);
		reply_fini(&reply);
	}
	client_close(&client);
	bf_buf_fini(&many);
	bf_buf_fini(&expected);
}

static void a_client_that_waits_for_100_gets_it(void **state)
{
	(void)state;
	struct client client = client_open(fixture.port);

	client_send_text(&client,
			"POST /echo HTTP/1.1\r\n" H
			"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n");
	struct reply reply = client_read(&client, true);
	assert_int_equal(reply.status, 100);
	reply_fini(&reply);
	client_send_text(&client, "ok");
	reply = client_read(&client, false);
	assert_int_equal(reply.status, 200);
	reply_fini(&reply);
	client_close(&client);
}

static void answers_may_come_late_from_another_thread(void **state)
{
	(void)state;
	struct client clients[32];

	/* More requests wait for their answer than there are workers, and others are served. */
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		clients[i] = client_open(fixture.port);
		client_send_text(&clients[i], "GET /hold HTTP/1.1\r\n" H "\r\n");
	}
	fixture_wait_held(&fixture, BF_COUNT(clients));
	check_answer("GET /fixed HTTP/1.1\r\n" H "\r\n", 200, "fixed");
	fixture_release(&fixture);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		struct reply reply = client_read(&clients[i], false);
		check_text(bf_buf_str(&reply.body), "late");
		reply_fini(&reply);
		client_close(&clients[i]);
	}
}

static void a_client_that_leaves_before_its_answer_does_no_harm(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) {
		struct client client = client_open(fixture.port);
		client_send_text(&client, "GET /hold HTTP/1.1\r\n" H "\r\n");
		fixture_wait_held(&fixture, 1);
		client_close(&client);
		fixture_release(&fixture);
	}
	check_answer("GET /fixed HTTP/1.1\r\n" H "\r\n", 200, "fixed");
}

static void two_hundred_connections_are_served_at_once(void **state)
{
	(void)state;
	static struct client clients[200];

	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		clients[i] = client_open(fixture.port);
	}
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < BF_COUNT(clients); i++) {
			client_send_text(&clients[i], "GET /hold HTTP/1.1\r\n" H "\r\n");
			/* No more than the queue holds wait for a worker at once. */
			if (i % 100 == 99) {
				fixture_wait_held(&fixture, i + 1);
			}
		}
		fixture_release(&fixture);
		for (size_t i = 0; i < BF_COUNT(clients); i++) {
			struct reply reply = client_read(&clients[i], false);
			assert_int_equal(reply.status, 200);
			reply_fini(&reply);
		}
	}
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		client_close(&clients[i]);
	}
}

int run_serve_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_request_reaches_the_handler_decoded),
			cmocka_unit_test(bodies_come_whole_by_length_and_by_chunks),
			cmocka_unit_test(every_method_is_told_apart),
			cmocka_unit_test(head_has_the_fields_and_no_body),
			cmocka_unit_test(answers_without_a_body_have_none),
			cmocka_unit_test(answers_carry_the_fields_of_safety),
			cmocka_unit_test(a_request_that_is_forgotten_gets_500),
			cmocka_unit_test(a_connection_serves_many_requests_one_after_another),
			cmocka_unit_test(pipelined_requests_are_answered_in_their_order),
			cmocka_unit_test(a_client_that_waits_for_100_gets_it),
			cmocka_unit_test(answers_may_come_late_from_another_thread),
			cmocka_unit_test(a_client_that_leaves_before_its_answer_does_no_harm),
			cmocka_unit_test(two_hundred_connections_are_served_at_once),
	};

	return cmocka_run_group_tests_name("serve", tests, start_server, stop_server);
}
