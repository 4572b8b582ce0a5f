/* Streamed answers: no wake-up is lost, the end of a client is found, and a stop ends them at once. */
#include "client.h"
#include "fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>

#include "base/alloc.h"
#include "base/assert.h"

#define STREAMS 64
#define ASK     "GET /stream HTTP/1.1\r\nHost: localhost\r\n\r\n"

/* A source that says the highest number that it was told, once each. */
struct numbers {
	struct stand *stand;
	struct bf_http_stream *stream;
	atomic_uint told;
	unsigned said; /* by the thread that reads it */
	atomic_bool is_closed;
};

struct stand {
	struct bf_http_server *server;
	uint16_t port;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct numbers streams[STREAMS];
	size_t count;
	size_t closed_count;
	bool is_endless; /* the source always has more */
	bool is_held;    /* the request is kept for a test to answer */
	struct bf_http_request *held;
	belfry_duration quiet_time;
};

static size_t read_numbers(void *data, char *bytes, size_t size, bool is_quiet)
{
	struct numbers *numbers = data;
	unsigned told = atomic_load(&numbers->told);

	BF_ASSERT(size >= 128);
	if (numbers->stand->is_endless) {
		memset(bytes, 'x', size);
		return size;
	}
	if (told == numbers->said) {
		return is_quiet ? (size_t)snprintf(bytes, size, "quiet\n") : 0;
	}
	numbers->said = told;
	return (size_t)snprintf(bytes, size, "<%u>\n", told);
}

static void close_numbers(void *data)
{
	struct numbers *numbers = data;
	struct stand *stand = numbers->stand;

	(void)pthread_mutex_lock(&stand->lock);
	BF_ASSERT(!atomic_load(&numbers->is_closed));
	atomic_store(&numbers->is_closed, true);
	stand->closed_count++;
	(void)pthread_cond_broadcast(&stand->changed);
	(void)pthread_mutex_unlock(&stand->lock);
}

static void answer_stream(struct stand *stand, struct bf_http_request **request)
{
	struct bf_http_response response = {.status = 200, .content_type = "text/plain"};

	(void)pthread_mutex_lock(&stand->lock);
	struct numbers *numbers = &stand->streams[stand->count];
	*numbers = (struct numbers){.stand = stand};
	struct bf_http_source source = {numbers, read_numbers, close_numbers, stand->quiet_time};
	BF_ASSERT(bf_http_response_stream(&response, &source, &numbers->stream) == BELFRY_OK);
	stand->count++;
	(void)pthread_cond_broadcast(&stand->changed);
	(void)pthread_mutex_unlock(&stand->lock);
	bf_http_respond(request, &response);
}

static void handle(void *data, struct bf_http_request **request)
{
	struct stand *stand = data;

	(void)pthread_mutex_lock(&stand->lock);
	bool is_held = stand->is_held;
	if (is_held) {
		stand->held = *request;
		*request = NULL;
		(void)pthread_cond_broadcast(&stand->changed);
	}
	(void)pthread_mutex_unlock(&stand->lock);
	if (!is_held) {
		answer_stream(stand, request);
	}
}

static void open_stand(struct stand *stand, struct bf_http_server_options *options)
{
	struct belfry_error err = {0};

	*stand = (struct stand){.quiet_time = BELFRY_MINUTE};
	assert_int_equal(pthread_mutex_init(&stand->lock, NULL), 0);
	assert_int_equal(bf_condition_init(&stand->changed), BELFRY_OK);
	assert_int_equal(bf_http_server_start(options, handle, stand, &stand->server, &err),
			BELFRY_OK);
	stand->port = bf_http_server_port(stand->server);
}

static void wait_for(struct stand *stand, const size_t *counter, size_t count)
{
	struct timespec until = bf_monotonic_in(20 * BELFRY_SECOND);
	int code = 0;

	(void)pthread_mutex_lock(&stand->lock);
	while (*counter < count && code == 0) {
		code = pthread_cond_timedwait(&stand->changed, &stand->lock, &until);
	}
	size_t reached = *counter;
	(void)pthread_mutex_unlock(&stand->lock);
	assert_true(reached >= count);
}

static void close_stand(struct stand *stand)
{
	bf_http_server_stop(stand->server);
	assert_int_equal(stand->closed_count, stand->count);
	for (size_t i = 0; i < stand->count; i++) {
		bf_http_stream_wake(stand->streams[i].stream); /* over: nothing happens */
		bf_http_stream_release(stand->streams[i].stream);
	}
	(void)pthread_cond_destroy(&stand->changed);
	(void)pthread_mutex_destroy(&stand->lock);
}

static void tell(struct numbers *numbers, unsigned number)
{
	atomic_store(&numbers->told, number);
	bf_http_stream_wake(numbers->stream);
}

static struct client open_stream(struct stand *stand)
{
	size_t before = stand->count;
	struct client client = client_open(stand->port);

	client_send_text(&client, ASK);
	wait_for(stand, &stand->count, before + 1);
	return client;
}

static void what_the_source_has_is_sent_and_then_it_sleeps(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct stand stand;
	char text[16];

	(void)state;
	open_stand(&stand, &options);
	struct client client = open_stream(&stand);
	client_expect_text(&client, "200 OK\r\n");
	client_expect_text(&client, "\r\n\r\n");
	for (unsigned i = 1; i <= 100; i++) {
		tell(&stand.streams[0], i);
		(void)snprintf(text, sizeof(text), "<%u>\n", i);
		client_expect_text(&client, text);
		assert_false(client_is_closed(&client));
	}
	client_close(&client);
	close_stand(&stand);
}

static void *tell_many(void *data)
{
	struct stand *stand = data;

	for (unsigned i = 0; i < 5000; i++) {
		struct numbers *numbers = &stand->streams[i % 4];
		(void)atomic_fetch_add(&numbers->told, 1);
		bf_http_stream_wake(numbers->stream);
	}
	return NULL;
}

static void no_wake_up_is_lost(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct stand stand;
	struct client clients[4];
	pthread_t threads[2];

	(void)state;
	open_stand(&stand, &options);
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		clients[i] = open_stream(&stand);
	}
	for (size_t i = 0; i < BF_COUNT(threads); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, tell_many, &stand), 0);
	}
	/* Whatever was folded, the last one comes. */
	for (size_t i = 0; i < BF_COUNT(clients); i++) {
		client_expect_text(&clients[i], "<2500>\n");
		client_close(&clients[i]);
	}
	for (size_t i = 0; i < BF_COUNT(threads); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	close_stand(&stand);
}

static void a_quiet_stream_gives_a_sign_of_life(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct stand stand;

	(void)state;
	open_stand(&stand, &options);
	stand.quiet_time = BELFRY_MILLISECOND;
	struct client client = open_stream(&stand);
	client_expect_text(&client, "quiet\n");
	tell(&stand.streams[0], 7);
	client_expect_text(&client, "<7>\n");
	client_expect_text(&client, "quiet\n");
	client_close(&client);
	close_stand(&stand);
}

static void a_client_that_left_is_found_and_its_stream_closed(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct stand stand;

	(void)state;
	open_stand(&stand, &options);
	for (size_t i = 0; i < 8; i++) {
		struct client client = open_stream(&stand);
		client_expect_text(&client, "\r\n\r\n");
		if (i % 2 == 0) {
			struct linger hard = {.l_onoff = 1}; /* a reset instead of an end */
			assert_int_equal(setsockopt(client.fd, SOL_SOCKET, SO_LINGER, &hard,
							 sizeof(hard)),
					0);
		}
		client_close(&client);
	}
	wait_for(&stand, &stand.closed_count, 8);
	close_stand(&stand);
}

static void a_client_that_does_not_read_is_ended(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct stand stand;

	(void)state;
	options.send_time = 300 * BELFRY_MILLISECOND;
	open_stand(&stand, &options);
	stand.is_endless = true;
	struct client client = open_stream(&stand);
	wait_for(&stand, &stand.closed_count, 1);
	client_close(&client);
	close_stand(&stand);
}

/* However long it lasts: a stream is no idle client. */
static void a_stream_is_never_ended_to_make_room(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct stand stand;
	struct client streams[4];
	struct client idle[40];

	(void)state;
	options.per_ip_count = 16;
	options.idle_time = options.head_time = options.send_time = 200 * BELFRY_MILLISECOND;
	open_stand(&stand, &options);
	for (size_t i = 0; i < BF_COUNT(streams); i++) {
		streams[i] = open_stream(&stand);
		client_expect_text(&streams[i], "\r\n\r\n");
	}
	for (size_t i = 0; i < BF_COUNT(idle); i++) {
		idle[i] = client_open(stand.port);
	}
	for (size_t i = 0; i < BF_COUNT(idle); i++) {
		client_expect_close(&idle[i]);
		client_close(&idle[i]);
	}
	for (size_t i = 0; i < BF_COUNT(streams); i++) {
		assert_false(client_is_closed(&streams[i]));
		tell(&stand.streams[i], 3);
		client_expect_text(&streams[i], "<3>\n");
		client_close(&streams[i]);
	}
	close_stand(&stand);
}

static void a_stop_ends_streams_at_once(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct client clients[STREAMS];
	struct stand stand;

	(void)state;
	options.stop_time = BELFRY_MINUTE;
	open_stand(&stand, &options);
	for (size_t i = 0; i < STREAMS; i++) {
		clients[i] = open_stream(&stand);
		client_expect_text(&clients[i], "\r\n\r\n");
	}
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time begin = env->boot(env->data);
	bf_http_server_stop(stand.server);
	assert_true(bf_boot_since(env->boot(env->data), begin) < 10 * BELFRY_SECOND);
	stand.server = NULL;
	for (size_t i = 0; i < STREAMS; i++) {
		client_expect_text(&clients[i], "0\r\n\r\n"); /* a whole answer: the last chunk */
		client_expect_close(&clients[i]);
		client_close(&clients[i]);
	}
	close_stand(&stand);
}

static void *stop(void *data)
{
	bf_http_server_stop(((struct stand *)data)->server);
	return NULL;
}

/* Is there a 503 yet? */
static bool is_stopping(const struct stand *stand)
{
	struct client client = client_open(stand->port);

	client_send_text(&client, ASK);
	struct reply reply = client_read(&client, false);
	int status = reply.status;
	reply_fini(&reply);
	client_close(&client);
	return status == 503;
}

static void a_stream_that_begins_during_the_stop_ends_at_once(void **state)
{
	struct bf_http_server_options options = fixture_options();
	struct stand stand;
	pthread_t thread;

	(void)state;
	options.stop_time = BELFRY_MINUTE;
	open_stand(&stand, &options);
	stand.is_held = true;
	struct client client = client_open(stand.port);
	client_send_text(&client, ASK);
	(void)pthread_mutex_lock(&stand.lock);
	while (stand.held == NULL) {
		(void)pthread_cond_wait(&stand.changed, &stand.lock);
	}
	stand.is_held = false;
	(void)pthread_mutex_unlock(&stand.lock);
	struct bf_http_request *held = stand.held;
	assert_int_equal(pthread_create(&thread, NULL, stop, &stand), 0);
	while (!is_stopping(&stand)) {
	}
	answer_stream(&stand, &held);
	client_expect_text(&client, "0\r\n\r\n");
	assert_int_equal(pthread_join(thread, NULL), 0);
	stand.server = NULL;
	client_close(&client);
	close_stand(&stand);
}

static void a_response_that_is_not_sent_closes_its_source(void **state)
{
	struct stand stand = {.count = 0};
	struct numbers numbers = {.stand = &stand};
	struct bf_http_source source = {&numbers, read_numbers, close_numbers, BELFRY_SECOND};
	struct bf_http_response response = {.status = 200};

	(void)state;
	assert_int_equal(pthread_mutex_init(&stand.lock, NULL), 0);
	assert_int_equal(bf_condition_init(&stand.changed), BELFRY_OK);
	bf_fault_arm(bf_alloc_fault(), 1, 1);
	assert_int_equal(bf_http_response_stream(&response, &source, &numbers.stream),
			BELFRY_NOMEM);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_false(atomic_load(&numbers.is_closed));
	assert_int_equal(bf_http_response_stream(&response, &source, &numbers.stream), BELFRY_OK);
	bf_http_stream_wake(numbers.stream);
	bf_http_response_fini(&response);
	assert_true(atomic_load(&numbers.is_closed));
	bf_http_stream_wake(numbers.stream);
	bf_http_stream_release(numbers.stream);
	bf_http_stream_release(NULL);
	(void)pthread_cond_destroy(&stand.changed);
	(void)pthread_mutex_destroy(&stand.lock);
}

int run_stream_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(what_the_source_has_is_sent_and_then_it_sleeps),
			cmocka_unit_test(no_wake_up_is_lost),
			cmocka_unit_test(a_quiet_stream_gives_a_sign_of_life),
			cmocka_unit_test(a_client_that_left_is_found_and_its_stream_closed),
			cmocka_unit_test(a_client_that_does_not_read_is_ended),
			cmocka_unit_test(a_stream_is_never_ended_to_make_room),
			cmocka_unit_test(a_stop_ends_streams_at_once),
			cmocka_unit_test(a_stream_that_begins_during_the_stop_ends_at_once),
			cmocka_unit_test(a_response_that_is_not_sent_closes_its_source),
	};

	return cmocka_run_group_tests_name("streams", tests, NULL, NULL);
}
