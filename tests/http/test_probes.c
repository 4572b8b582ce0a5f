/* Hostile requests: each gets the named refusal and a closed connection, and neither it nor the request
 * that is hidden behind it reaches the handler. */
#include "client.h"
#include "fixture.h"

#define H      "Host: localhost\r\n"
#define HIDDEN "GET /echo/hidden HTTP/1.1\r\n" H "\r\n"

struct probe {
	const char *name;
	struct belfry_str bytes;
	int status; /* 0: closed without a word will do, and so will any refusal */
};

#define PROBE(name, text, status)                                                                  \
	{                                                                                          \
		(name), {(text), sizeof(text) - 1}, (status)                                       \
	}

static const struct probe probes[] = {
		PROBE("no Host", "GET / HTTP/1.1\r\n\r\n", 400),
		PROBE("two Host", "GET / HTTP/1.1\r\n" H "Host: other\r\n\r\n", 400),
		PROBE("Host twice the same", "GET / HTTP/1.1\r\n" H H "\r\n", 400),
		PROBE("both lengths",
				"POST / HTTP/1.1\r\n" H
				"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
				400),
		PROBE("both lengths, the other way round",
				"POST / HTTP/1.1\r\n" H
				"Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
				400),
		PROBE("two Content-Length",
				"POST / HTTP/1.1\r\n" H
				"Content-Length: 4\r\nContent-Length: 9\r\n\r\nabcd",
				400),
		PROBE("Content-Length twice the same",
				"POST / HTTP/1.1\r\n" H
				"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
				400),
		PROBE("Content-Length +4", "POST / HTTP/1.1\r\n" H "Content-Length: +4\r\n\r\nabcd",
				400),
		PROBE("Content-Length -4", "POST / HTTP/1.1\r\n" H "Content-Length: -4\r\n\r\nabcd",
				400),
		PROBE("Content-Length -0", "POST / HTTP/1.1\r\n" H "Content-Length: -0\r\n\r\n",
				400),
		PROBE("Content-Length 0x4",
				"POST / HTTP/1.1\r\n" H "Content-Length: 0x4\r\n\r\nabcd", 400),
		PROBE("Content-Length 4, 4",
				"POST / HTTP/1.1\r\n" H "Content-Length: 4, 4\r\n\r\nabcd", 400),
		PROBE("Content-Length empty", "POST / HTTP/1.1\r\n" H "Content-Length:\r\n\r\n",
				400),
		PROBE("Content-Length beyond 2^64",
				"POST / HTTP/1.1\r\n" H
				"Content-Length: 99999999999999999999999\r\n\r\n",
				413),
		PROBE("space before the colon of Host",
				"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n", 400),
		PROBE("space before a colon",
				"POST / HTTP/1.1\r\n" H "Content-Length : 4\r\n\r\nabcd", 400),
		PROBE("tab before a colon",
				"POST / HTTP/1.1\r\n" H "Content-Length\t: 4\r\n\r\nabcd", 400),
		PROBE("NUL in a value", "GET / HTTP/1.1\r\n" H "X-A: a\0b\r\n\r\n", 400),
		PROBE("NUL at the end of a value", "GET / HTTP/1.1\r\n" H "X-A: a\0\r\n\r\n", 400),
		PROBE("NUL in Host", "GET / HTTP/1.1\r\nHost: localhost\0.evil\r\n\r\n", 400),
		PROBE("NUL in front of a value", "GET / HTTP/1.1\r\n" H "X-A: \0b\r\n\r\n", 400),
		PROBE("NUL in a name", "GET / HTTP/1.1\r\n" H "X\0A: b\r\n\r\n", 400),
		PROBE("NUL in the target", "GET /a\0b HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("NUL in the method", "GET\0 / HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("NUL in the version", "GET / HTTP/1.1\0\r\n" H "\r\n", 0),
		PROBE("control character in a value", "GET / HTTP/1.1\r\n" H "X-A: a\001b\r\n\r\n",
				400),
		PROBE("lone CR in a value", "GET / HTTP/1.1\r\n" H "X-A: a\rX-B: b\r\n\r\n", 400),
		PROBE("folded line", "GET / HTTP/1.1\r\n" H "X-A: a\r\n b\r\n\r\n", 400),
		PROBE("folded line that makes a name",
				"POST / HTTP/1.1\r\n" H "Content-: 4\r\n Length\r\n\r\nabcd", 400),
		PROBE("folded first line", "GET / HTTP/1.1\r\n " H "\r\n", 400),
		PROBE("bare line feeds", "GET / HTTP/1.1\nHost: localhost\n\n", 400),
		PROBE("one bare line feed", "GET / HTTP/1.1\r\n" H "X-A: a\nX-B: b\r\n\r\n", 400),
		PROBE("no colon", "GET / HTTP/1.1\r\n" H "nonsense\r\n\r\n", 400),
		PROBE("empty name", "GET / HTTP/1.1\r\n" H ": x\r\n\r\n", 400),
		PROBE("unknown coding",
				"POST / HTTP/1.1\r\n" H "Transfer-Encoding: gzip\r\n\r\nabcd", 400),
		PROBE("coding that looks chunked",
				"POST / HTTP/1.1\r\n" H
				"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
				400),
		PROBE("two codings",
				"POST / HTTP/1.1\r\n" H
				"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
				400),
		PROBE("coding twice",
				"POST / HTTP/1.1\r\n" H "Transfer-Encoding: chunked\r\n"
				"Transfer-Encoding: identity\r\n\r\n0\r\n\r\n",
				400),
		PROBE("coding in HTTP/1.0",
				"POST / HTTP/1.0\r\n" H
				"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
				400),
		PROBE("bad chunk size",
				"POST / HTTP/1.1\r\n" H
				"Transfer-Encoding: chunked\r\n\r\nzz\r\nabcd\r\n0\r\n\r\n",
				400),
		PROBE("negative chunk size",
				"POST / HTTP/1.1\r\n" H
				"Transfer-Encoding: chunked\r\n\r\n-4\r\nabcd\r\n0\r\n\r\n",
				400),
		PROBE("chunk longer than it says",
				"POST / HTTP/1.1\r\n" H
				"Transfer-Encoding: chunked\r\n\r\n2\r\nabcd\r\n0\r\n\r\n",
				400),
		PROBE("unknown method", "FETCH / HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("method in small letters", "get / HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("TRACE", "TRACE / HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("CONNECT", "CONNECT localhost:1 HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("absolute form", "GET http://localhost/ HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("asterisk", "OPTIONS * HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("fragment", "GET /a#b HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("bytes above 127 in the target", "GET /\xc3\xa4 HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("broken escape", "GET /a%zz HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("cut escape", "GET /a%4 HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("escaped NUL", "GET /a%00 HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("escaped NUL in the query", "GET /a?b=%00 HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("escapes that are not UTF-8", "GET /%ff HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("two spaces", "GET  / HTTP/1.1\r\n" H "\r\n", 400),
		PROBE("space in the target", "GET /a b HTTP/1.1\r\n" H "\r\n", 0),
		PROBE("no target", "GET HTTP/1.1\r\n" H "\r\n", 0),
		PROBE("HTTP/0.9", "GET /\r\n" H "\r\n", 0),
		PROBE("HTTP/1.2", "GET / HTTP/1.2\r\n" H "\r\n", 0),
		PROBE("HTTP/2.0", "GET / HTTP/2.0\r\n" H "\r\n", 0),
		PROBE("http in small letters", "GET / http/1.1\r\n" H "\r\n", 0),
};

static void check_refusal(struct fixture *fixture, const char *name, struct belfry_str bytes,
		int status)
{
	struct client client = client_open(fixture->port);

	client_send(&client, bytes);
	client_send_text(&client, HIDDEN);
	struct reply reply = client_read(&client, false);
	if (status != 0 ? reply.status != status : reply.status != 0 && reply.status < 400) {
		fail_msg("%s: answered %d, not %d", name, reply.status, status);
	}
	client_expect_close(&client);
	/* The library writes the head of some of its own refusals twice; never another answer. */
	if (client.got.len > 0 && strstr(client.got.ptr, " 200 ") != NULL) {
		fail_msg("%s: what was hidden behind it was answered", name);
	}
	if (fixture->called_count > 0) {
		fail_msg("%s: the handler was called", name);
	}
	reply_fini(&reply);
	client_close(&client);
}

static void hostile_requests_are_refused_and_the_connection_is_closed(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(probes); i++) {
		check_refusal(&fixture, probes[i].name, probes[i].bytes, probes[i].status);
	}
	fixture_stop(&fixture);
}

static void a_head_too_large_is_refused(void **state)
{
	(void)state;
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;
	struct bf_buf many = {0};
	struct bf_buf wide = {0};
	struct bf_buf line = {0};

	bf_buf_append_text(&many, "GET / HTTP/1.1\r\n" H);
	for (int i = 0; i < 2000; i++) {
		bf_buf_appendf(&many, "X-%d: %d\r\n", i, i);
	}
	bf_buf_append_text(&wide, "GET / HTTP/1.1\r\n" H "X-A: ");
	bf_buf_append_text(&line, "GET /");
	for (int i = 0; i < 100 * 1024; i++) {
		bf_buf_append_byte(&wide, 'a');
		bf_buf_append_byte(&line, 'a');
	}
	bf_buf_append_text(&many, "\r\n");
	bf_buf_append_text(&wide, "\r\n\r\n");
	bf_buf_append_text(&line, " HTTP/1.1\r\n" H "\r\n");
	fixture_start(&fixture, &options);
	check_refusal(&fixture, "2,000 headers", bf_buf_str(&many), 431);
	check_refusal(&fixture, "a header of 100 KiB", bf_buf_str(&wide), 431);
	check_refusal(&fixture, "a target of 100 KiB", bf_buf_str(&line), 0);
	fixture_stop(&fixture);
	bf_buf_fini(&many);
	bf_buf_fini(&wide);
	bf_buf_fini(&line);
}

/* In the other direction: what is odd and still has one reading is served. */
static void odd_but_clear_requests_are_served(void **state)
{
	(void)state;
	static const char *const texts[] = {
			"GET /echo HTTP/1.1\r\nhOsT:localhost\r\n\r\n",
			"GET /echo HTTP/1.1\r\n" H "X-A:\r\nX-B: \t b\t \r\n\r\n",
			"\r\nGET /echo HTTP/1.1\r\n" H "\r\n",
			"GET /echo HTTP/1.0\r\n\r\n",
			"POST /echo HTTP/1.1\r\n" H "transfer-encoding: Chunked\r\n\r\n"
			"3;ext=1\r\nabc\r\n0\r\nX-Trailer: t\r\n\r\n",
			"POST /echo HTTP/1.1\r\n" H "Content-Length: 0\r\n\r\n",
			"GET /echo/?a&&b= HTTP/1.1\r\n" H "X-A: \xc3\xa4\r\n\r\n",
	};
	struct bf_http_server_options options = fixture_options();
	struct fixture fixture;

	fixture_start(&fixture, &options);
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		struct reply reply = client_ask(fixture.port, bf_str(texts[i]));
		if (reply.status != 200) {
			fail_msg("%s: answered %d", texts[i], reply.status);
		}
		reply_fini(&reply);
	}
	fixture_stop(&fixture);
}

int run_probe_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(hostile_requests_are_refused_and_the_connection_is_closed),
			cmocka_unit_test(a_head_too_large_is_refused),
			cmocka_unit_test(odd_but_clear_requests_are_served),
	};

	return cmocka_run_group_tests_name("probes", tests, NULL, NULL);
}
