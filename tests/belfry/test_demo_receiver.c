/* The demo's receiver: what it remembers of calls, in pieces, one after the other, and without sense. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/json.h"
#include "base/timefmt.h"
#include "belfry/demo_receiver.h"

#define WAIT_MS 10000
#define RUN     "0193c0de-0000-8000-8000-000000000001"
#define BODY                                                                                       \
	"{\"type\": \"belfry.run\", \"run\": {\"id\": \"" RUN "\", \"due_at\": "                   \
	"\"2026-12-01T12:00:00Z\"}, \"deployment\": {\"id\": \"bell\", \"name\": \"b\"}}"

static struct bf_demo_receiver *start(void)
{
	struct bf_demo_receiver *receiver = NULL;
	struct belfry_error err = {0};

	assert_int_equal(bf_demo_receiver_start(bf_env_system(), &receiver, &err), BELFRY_OK);
	return receiver;
}

static int dial(const struct bf_demo_receiver *receiver)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
			.sin_port = htons(bf_demo_receiver_port(receiver))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void put(int fd, const char *text)
{
	size_t len = strlen(text);

	assert_int_equal(send(fd, text, len, MSG_NOSIGNAL), (ssize_t)len);
}

static void put_request(int fd, const char *body)
{
	char head[128];

	(void)snprintf(head, sizeof(head),
			"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: %zu\r\n\r\n", strlen(body));
	put(fd, head);
	put(fd, body);
}

/* One answer, in however many pieces it comes. */
static void expect_answer(int fd)
{
	char got[512];
	size_t len = 0;

	while (len < 5 || memcmp(got + len - 5, "dong\n", 5) != 0) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};

		assert_int_equal(poll(&wait, 1, WAIT_MS), 1);
		ssize_t piece = recv(fd, got + len, sizeof(got) - len, 0);
		assert_true(piece > 0);
		len += (size_t)piece;
	}
	assert_memory_equal(got, "HTTP/1.1 200 OK\r\n", 17);
}

static void calls_are_remembered_with_run_and_due_time(void **state)
{
	struct bf_demo_receiver *receiver = start();
	BF_CLEANUP(bf_free_pointer) struct bf_demo_call *calls = NULL;
	int fd = dial(receiver);
	size_t count = 0;
	belfry_time due;
	char id[BELFRY_ID_TEXT_BYTES];

	(void)state;
	put_request(fd, BODY);
	expect_answer(fd);
	put_request(fd, BODY);
	expect_answer(fd);
	(void)close(fd);
	assert_int_equal(bf_demo_receiver_copy(receiver, &calls, &count), BELFRY_OK);
	assert_int_equal(count, 2);
	belfry_id_format(calls[1].run, id);
	assert_string_equal(id, RUN);
	assert_string_equal(calls[1].deployment, "bell");
	assert_int_equal(bf_time_parse(BF_STR("2026-12-01T12:00:00Z"), &due), BELFRY_OK);
	assert_int_equal(calls[1].due, due);
	assert_true(calls[1].arrived >= calls[0].arrived);
	assert_int_equal(bf_demo_receiver_open_calls(receiver), 0);
	bf_demo_receiver_stop(receiver);
}

static void what_makes_no_sense_is_answered_and_forgotten(void **state)
{
	static const char *const bodies[] = {"", "{", "{}", "{\"run\": {\"id\": \"x\"}}", "[1]"};
	struct bf_demo_receiver *receiver = start();
	BF_CLEANUP(bf_free_pointer) struct bf_demo_call *calls = NULL;
	size_t count = 1;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(bodies); i++) {
		int fd = dial(receiver);

		put_request(fd, bodies[i]);
		expect_answer(fd);
		(void)close(fd);
	}
	assert_int_equal(bf_demo_receiver_copy(receiver, &calls, &count), BELFRY_OK);
	assert_int_equal(count, 0);
	bf_demo_receiver_stop(receiver);
}

static void it_stops_with_calls_open_and_halves_of_requests(void **state)
{
	struct bf_demo_receiver *receiver = start();
	int open = dial(receiver);
	int half = dial(receiver);

	(void)state;
	put(half, "POST / HTTP/1.1\r\nContent-Length: 99");
	put_request(open, BODY);
	for (int waited = 0; bf_demo_receiver_open_calls(receiver) == 0 && waited < WAIT_MS;
			waited++) {
		(void)poll(NULL, 0, 1);
	}
	bf_demo_receiver_stop(receiver);
	bf_demo_receiver_stop(NULL);
	(void)close(open);
	(void)close(half);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(calls_are_remembered_with_run_and_due_time),
			cmocka_unit_test(what_makes_no_sense_is_answered_and_forgotten),
			cmocka_unit_test(it_stops_with_calls_open_and_halves_of_requests),
	};

	bf_json_init();
	return cmocka_run_group_tests_name("receiver", tests, NULL, NULL);
}
