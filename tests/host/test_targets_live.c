/* The webhook target against a server on loopback: answers, limits, queues, names, cancelling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/str.h"
#include "host/targets/signature.h"
#include "host/targets/webhook.h"
#include "test_targets_server.h"

#define DEADLINE_S 60

/* Where calls end: counts them, and keeps the last one. */
struct sink {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int count;
	int kinds[BF_ANSWER_CANCELLED + 1];
	struct bf_answer last; /* without its text */
	struct bf_buf body;
	struct bf_buf detail;
	char content_type[64];
	struct bf_webhook *webhook; /* call once more from within */
	struct bf_webhook_request *again;
};

struct place {
	struct test_server *server;
	struct bf_allow_list *allow;
	struct bf_webhook *webhook;
	struct bf_webhook_options options;
	struct sink sink;
};

static void take_answer(void *data, const struct bf_answer *answer)
{
	struct sink *sink = data;

	if (sink->again != NULL) {
		struct bf_webhook_request *again = sink->again;
		sink->again = NULL;
		assert_int_equal(bf_webhook_call(sink->webhook, again, NULL), BELFRY_OK);
	}
	(void)pthread_mutex_lock(&sink->lock);
	sink->count++;
	sink->kinds[answer->kind]++;
	sink->last = *answer;
	bf_buf_clear(&sink->body);
	bf_buf_append_str(&sink->body, answer->body);
	bf_buf_clear(&sink->detail);
	bf_buf_append_str(&sink->detail, answer->detail);
	(void)snprintf(sink->content_type, sizeof(sink->content_type), "%.*s",
			BF_STR_ARGS(answer->content_type));
	(void)pthread_cond_broadcast(&sink->changed);
	(void)pthread_mutex_unlock(&sink->lock);
}

static void wait_for(struct sink *sink, int count)
{
	struct timespec until;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &until), 0);
	until.tv_sec += DEADLINE_S;
	(void)pthread_mutex_lock(&sink->lock);
	while (sink->count < count) {
		if (pthread_cond_timedwait(&sink->changed, &sink->lock, &until) == ETIMEDOUT) {
			(void)pthread_mutex_unlock(&sink->lock);
			fail_msg("%d of %d answers", sink->count, count);
		}
	}
	(void)pthread_mutex_unlock(&sink->lock);
}

static int64_t now_us(void)
{
	const struct bf_env *env = bf_env_system();

	return env->boot(env->data).us;
}

static void begin(struct place *place)
{
	const struct bf_webhook_options options = BF_WEBHOOK_OPTIONS_INIT;

	*place = (struct place){.options = options};
	place->server = test_server_new();
	assert_int_equal(bf_allow_list_new(&place->allow), BELFRY_OK);
	bf_allow_list_set_private(place->allow, true);
	assert_int_equal(pthread_mutex_init(&place->sink.lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&place->sink.changed, NULL), 0);
	place->options.env = bf_env_system();
	place->options.allow = place->allow;
}

static void start(struct place *place)
{
	struct belfry_error err = {0};

	assert_int_equal(bf_webhook_new(&place->options, &place->webhook, &err), BELFRY_OK);
}

static void end(struct place *place)
{
	bf_webhook_free(place->webhook);
	test_server_free(place->server);
	bf_allow_list_free(place->allow);
	bf_buf_fini(&place->sink.body);
	bf_buf_fini(&place->sink.detail);
	(void)pthread_cond_destroy(&place->sink.changed);
	(void)pthread_mutex_destroy(&place->sink.lock);
}

static struct bf_webhook_request request_for(struct place *place, unsigned run)
{
	struct bf_webhook_request request = BF_WEBHOOK_REQUEST_INIT;

	request.run.bytes[0] = 1;
	request.run.bytes[14] = (unsigned char)(run >> 8);
	request.run.bytes[15] = (unsigned char)run;
	request.fence = 7;
	request.body = BF_STR("{\"type\":\"belfry.run\"}");
	request.timeout = DEADLINE_S * BELFRY_SECOND;
	request.done = take_answer;
	request.data = &place->sink;
	return request;
}

static void call_as(struct place *place, struct bf_webhook_request *request, const char *host,
		const char *path)
{
	char url[256];
	struct belfry_error err = {0};

	(void)snprintf(url, sizeof(url), "http://%s:%u%s", host, test_server_port(place->server),
			path);
	request->url = bf_str(url);
	if (bf_webhook_call(place->webhook, request, &err) != BELFRY_OK) {
		fail_msg("%s: %s", url, err.message);
	}
}

/* One call, and its end. */
static const struct bf_answer *call(struct place *place, const char *path)
{
	struct bf_webhook_request request = request_for(place, 1);
	int before = place->sink.count;

	call_as(place, &request, "127.0.0.1", path);
	wait_for(&place->sink, before + 1);
	return &place->sink.last;
}

static void check_holds(const char *text, const char *words)
{
	if (strstr(text, words) == NULL) {
		fail_msg("no \"%s\" in \"%s\"", words, text);
	}
}

/* --- what is sent --- */

static void a_call_carries_its_run_its_fence_and_a_trace(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf sent = {0};
	struct place place;

	(void)state;
	begin(&place);
	start(&place);
	const struct bf_answer *answer = call(&place, "/status/200?a=b");
	assert_int_equal(answer->kind, BF_ANSWER_ANSWERED);
	assert_int_equal(answer->status, 200);
	assert_int_equal(bf_answer_verdict(answer), BF_VERDICT_OK);
	assert_string_equal(place.sink.body.ptr, "xx");
	assert_string_equal(place.sink.content_type, "text/plain");
	test_server_latest(place.server, &sent);
	check_holds(sent.ptr, "POST /status/200?a=b HTTP/1.1\r\n");
	check_holds(sent.ptr, "\r\nIdempotency-Key: 01000000-0000-0000-0000-000000000001\r\n");
	check_holds(sent.ptr, "\r\nBelfry-Fence: 7\r\n");
	check_holds(sent.ptr, "\r\ntraceparent: 00-01000000000000000000000000000001-");
	check_holds(sent.ptr, "\r\nUser-Agent: belfry/");
	check_holds(sent.ptr, "\r\nContent-Type: application/json\r\n");
	check_holds(sent.ptr, "\r\n\r\n{\"type\":\"belfry.run\"}");
	assert_null(strstr(sent.ptr, "Expect"));
	assert_null(strstr(sent.ptr, "webhook-"));
	end(&place);
}

static void a_large_body_is_sent_without_expecting_leave(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf body = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf sent = {0};
	struct place place;

	(void)state;
	begin(&place);
	start(&place);
	for (int i = 0; i < 2000000; i++) {
		bf_buf_append_byte(&body, '1');
	}
	struct bf_webhook_request request = request_for(&place, 1);
	request.body = bf_buf_str(&body);
	request.method = BF_STR("PUT");
	call_as(&place, &request, "127.0.0.1", "/status/204");
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.status, 204);
	test_server_latest(place.server, &sent);
	check_holds(sent.ptr, "PUT /status/204");
	assert_null(strstr(sent.ptr, "Expect"));
	assert_true(sent.len > 2000000);
	end(&place);
}

static void a_get_has_no_body(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf sent = {0};
	struct place place;

	(void)state;
	begin(&place);
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	request.method = BF_STR("GET");
	call_as(&place, &request, "127.0.0.1", "/status/200");
	wait_for(&place.sink, 1);
	test_server_latest(place.server, &sent);
	check_holds(sent.ptr, "GET /status/200");
	assert_null(strstr(sent.ptr, "belfry.run"));
	assert_null(strstr(sent.ptr, "Content-Length"));
	end(&place);
}

static void check_signature(const char *sent, const char *const *values)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf expected = {0};
	struct bf_secret secret = {.count = 2, .values = {bf_str(values[0]), bf_str(values[1])}};
	static const char stamp[] = "\r\nwebhook-timestamp: ";
	const char *at = strstr(sent, stamp);
	int64_t timestamp;

	assert_non_null(at);
	at += sizeof(stamp) - 1;
	assert_int_equal(bf_str_parse_int((struct belfry_str){at, strcspn(at, "\r")}, 1, INT64_MAX,
					 &timestamp),
			BELFRY_OK);
	bf_buf_append_text(&expected, "\r\nwebhook-signature: ");
	assert_int_equal(bf_signature_append(&expected, &secret,
					 BF_STR("01000000-0000-0000-0000-000000000001"), timestamp,
					 BF_STR("{\"type\":\"belfry.run\"}")),
			BELFRY_OK);
	bf_buf_append_text(&expected, "\r\n");
	check_holds(sent, expected.ptr);
	check_holds(sent, "\r\nwebhook-id: 01000000-0000-0000-0000-000000000001\r\n");
}

static void a_call_is_signed_by_every_secret_that_holds(void **state)
{
	static const char *const values[] = {"whsec_aGVsbG8gaGVsbG8gaGVsbG8=",
			"whsec_d29ybGQgd29ybGQgd29ybGQ="};
	BF_CLEANUP(bf_buf_fini) struct bf_buf sent = {0};
	const struct bf_webhook_header headers[] = {
			{.name = BF_STR("Authorization"), .secret = BF_STR("auth")},
			{.name = BF_STR("X-Team"), .value = BF_STR("ops")},
			{.name = BF_STR("X-Empty")},
	};
	struct bf_secrets *secrets;
	struct place place;

	(void)state;
	assert_int_equal(
			setenv("BELFRY_SECRET_HOOK",
					"whsec_aGVsbG8gaGVsbG8gaGVsbG8=\nwhsec_d29ybGQgd29ybGQgd29ybGQ=\n",
					1),
			0);
	assert_int_equal(setenv("BELFRY_SECRET_AUTH", "Bearer hunter2\n", 1), 0);
	assert_int_equal(bf_secrets_new(NULL, NULL, &secrets), BELFRY_OK);
	begin(&place);
	place.options.secrets = secrets;
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	request.secret = BF_STR("hook");
	request.headers = headers;
	request.header_count = BF_COUNT(headers);
	call_as(&place, &request, "127.0.0.1", "/status/200");
	wait_for(&place.sink, 1);
	test_server_latest(place.server, &sent);
	check_signature(sent.ptr, values);
	check_holds(sent.ptr, "\r\nAuthorization: Bearer hunter2\r\n");
	check_holds(sent.ptr, "\r\nX-Team: ops\r\n");
	check_holds(sent.ptr, "\r\nX-Empty:\r\n");
	end(&place);
	bf_secrets_free(secrets);
}

static void a_call_that_cannot_be_made_is_refused_at_once(void **state)
{
	const struct bf_webhook_header reserved = {BF_STR("Host"), BF_STR("b"), {NULL, 0}};
	struct bf_secrets *secrets;
	struct place place;
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(bf_secrets_new(NULL, NULL, &secrets), BELFRY_OK);
	begin(&place);
	place.options.secrets = secrets;
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	request.url = BF_STR("ftp://a.example/");
	assert_int_equal(bf_webhook_call(place.webhook, &request, &err), BELFRY_INVALID);
	request.url = BF_STR("http://a.example/");
	request.method = BF_STR("TRACE");
	assert_int_equal(bf_webhook_call(place.webhook, &request, &err), BELFRY_INVALID);
	request.method = BF_STR("");
	request.secret = BF_STR("nowhere");
	assert_int_equal(bf_webhook_call(place.webhook, &request, &err), BELFRY_NOT_FOUND);
	check_holds(err.message, "BELFRY_SECRET_NOWHERE");
	request.secret = BF_STR("");
	request.headers = &reserved;
	request.header_count = 1;
	assert_int_equal(bf_webhook_call(place.webhook, &request, &err), BELFRY_INVALID);
	end(&place);
	assert_int_equal(place.sink.count, 0);
	bf_secrets_free(secrets);
}

/* --- what comes back --- */

static void answers_keep_their_status(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	start(&place);
	assert_int_equal(call(&place, "/status/500")->status, 500);
	assert_int_equal(bf_answer_verdict(&place.sink.last), BF_VERDICT_RETRY);
	assert_int_equal(place.sink.last.retry_after, 0);
	assert_int_equal(call(&place, "/status/404")->status, 404);
	assert_int_equal(bf_answer_verdict(&place.sink.last), BF_VERDICT_PERMANENT);
	assert_int_equal(call(&place, "/status/429?retry=7")->status, 429);
	assert_int_equal(place.sink.last.retry_after, 7 * BELFRY_SECOND);
	assert_int_equal(call(&place, "/status/503?retry=99999")->status, 503);
	assert_int_equal(place.sink.last.retry_after, BELFRY_HOUR);
	assert_int_equal(call(&place, "/status/503?retry=Fri,+01+Jan+2100+00:00:00+GMT")->status,
			503);
	assert_int_equal(place.sink.last.retry_after, BELFRY_HOUR);
	end(&place);
}

static void a_redirect_is_not_followed(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	start(&place);
	assert_int_equal(call(&place, "/redirect")->status, 302);
	assert_int_equal(bf_answer_verdict(&place.sink.last), BF_VERDICT_PERMANENT);
	assert_int_equal(test_server_requests(place.server), 1);
	end(&place);
}

static void a_body_above_the_limit_is_cut(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	place.options.answer_limit = 1000;
	start(&place);
	assert_int_equal(call(&place, "/big/1000")->status, 200);
	assert_int_equal(place.sink.body.len, 1000);
	assert_false(place.sink.last.is_truncated);
	assert_int_equal(call(&place, "/big/5000000")->status, 200);
	assert_int_equal(place.sink.last.kind, BF_ANSWER_ANSWERED);
	assert_int_equal(place.sink.body.len, 1000);
	assert_true(place.sink.last.is_truncated);
	end(&place);
}

static void a_slow_answer_is_a_timeout(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	request.timeout = 100 * BELFRY_MILLISECOND;
	call_as(&place, &request, "127.0.0.1", "/hang");
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.kind, BF_ANSWER_TIMEOUT);
	assert_int_equal(bf_answer_verdict(&place.sink.last), BF_VERDICT_RETRY);
	assert_true(place.sink.last.took >= 100 * BELFRY_MILLISECOND);
	end(&place);
}

/* A port that was free a moment ago. */
static uint16_t closed_port(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
	assert_int_equal(close(fd), 0);
	return ntohs(address.sin_port);
}

static void broken_connections_are_unreachable(void **state)
{
	struct place place;
	char url[64];

	(void)state;
	begin(&place);
	start(&place);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", closed_port());
	struct bf_webhook_request request = request_for(&place, 1);
	request.url = bf_str(url);
	assert_int_equal(bf_webhook_call(place.webhook, &request, NULL), BELFRY_OK);
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.kind, BF_ANSWER_UNREACHABLE);
	check_holds(place.sink.detail.ptr, "127.0.0.1");
	assert_int_equal(call(&place, "/close")->kind, BF_ANSWER_UNREACHABLE);
	assert_int_equal(call(&place, "/cut")->kind, BF_ANSWER_UNREACHABLE);
	end(&place);
}

static void a_target_that_speaks_no_tls_is_unreachable(void **state)
{
	struct place place;
	char url[64];

	(void)state;
	begin(&place);
	start(&place);
	(void)snprintf(url, sizeof(url), "https://127.0.0.1:%u/status/200",
			test_server_port(place.server));
	struct bf_webhook_request request = request_for(&place, 1);
	request.url = bf_str(url);
	/* The test's server waits for more, as it sees no request in what it got. */
	request.timeout = 200 * BELFRY_MILLISECOND;
	assert_int_equal(bf_webhook_call(place.webhook, &request, NULL), BELFRY_OK);
	wait_for(&place.sink, 1);
	assert_true(place.sink.last.kind == BF_ANSWER_UNREACHABLE ||
			place.sink.last.kind == BF_ANSWER_TIMEOUT);
	assert_int_equal(test_server_requests(place.server), 0);
	end(&place);
}

/* A listener whose queue is full lets no connection through, and refuses none. */
static void a_connection_that_does_not_come_is_unreachable(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET};
	socklen_t len = sizeof(address);
	int fds[5];
	struct place place;
	char url[64];

	(void)state;
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fds[0], (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fds[0], 0), 0);
	assert_int_equal(getsockname(fds[0], (struct sockaddr *)&address, &len), 0);
	for (size_t i = 1; i < BF_COUNT(fds); i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		int code = connect(fds[i], (struct sockaddr *)&address, sizeof(address));
		assert_true(code == 0 || errno == EINPROGRESS);
	}
	begin(&place);
	place.options.connect_timeout = 100 * BELFRY_MILLISECOND;
	start(&place);
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/", ntohs(address.sin_port));
	struct bf_webhook_request request = request_for(&place, 1);
	request.url = bf_str(url);
	assert_int_equal(bf_webhook_call(place.webhook, &request, NULL), BELFRY_OK);
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.kind, BF_ANSWER_UNREACHABLE);
	end(&place);
	for (size_t i = 0; i < BF_COUNT(fds); i++) {
		assert_int_equal(close(fds[i]), 0);
	}
}

/* --- many at once --- */

static void a_thousand_slow_calls_run_at_once(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	place.options.per_host = 1000;
	start(&place);
	int64_t began = now_us();
	for (unsigned i = 0; i < 1000; i++) {
		struct bf_webhook_request request = request_for(&place, i);
		call_as(&place, &request, "127.0.0.1", "/delay/200");
	}
	wait_for(&place.sink, 1000);
	int64_t took = now_us() - began;
	assert_int_equal(place.sink.kinds[BF_ANSWER_ANSWERED], 1000);
	/* One after another they would take 200 s. */
	assert_true(took >= 200000 && took < 20 * BELFRY_SECOND);
	print_message("1000 calls of 200 ms: %lld ms, %d at once\n", (long long)took / 1000,
			test_server_most_open(place.server));
	end(&place);
}

static void a_host_has_its_own_queue_and_waiting_costs_no_time_limit(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	place.options.per_host = 2;
	start(&place);
	for (unsigned i = 0; i < 20; i++) {
		struct bf_webhook_request request = request_for(&place, i);
		request.timeout = BELFRY_SECOND;
		call_as(&place, &request, "127.0.0.1", "/delay/120");
	}
	wait_for(&place.sink, 20);
	assert_int_equal(place.sink.kinds[BF_ANSWER_ANSWERED], 20);
	assert_int_equal(test_server_most_open(place.server), 2);
	end(&place);
}

static void a_call_may_be_made_from_within_an_answer(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	place.options.per_host = 1;
	start(&place);
	struct bf_webhook_request again = request_for(&place, 2);
	char url[64];
	(void)snprintf(url, sizeof(url), "http://127.0.0.1:%u/status/202",
			test_server_port(place.server));
	again.url = bf_str(url);
	place.sink.webhook = place.webhook;
	place.sink.again = &again;
	(void)call(&place, "/status/200");
	wait_for(&place.sink, 2);
	assert_int_equal(place.sink.last.status, 202);
	end(&place);
}

/* --- cancelling --- */

static void wait_for_requests(struct place *place, int count)
{
	int64_t until = now_us() + DEADLINE_S * BELFRY_SECOND;

	while (test_server_requests(place->server) < count) {
		assert_true(now_us() < until);
		(void)sched_yield();
	}
}

static void a_cancelled_call_ends_where_it_is(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	place.options.per_host = 1;
	start(&place);
	struct bf_webhook_request running = request_for(&place, 1);
	struct bf_webhook_request waiting = request_for(&place, 2);
	call_as(&place, &running, "127.0.0.1", "/hang");
	call_as(&place, &waiting, "127.0.0.1", "/status/200");
	wait_for_requests(&place, 1);
	bf_webhook_cancel(place.webhook, waiting.run, 8); /* another attempt's */
	bf_webhook_cancel(place.webhook, waiting.run, 7);
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.kind, BF_ANSWER_CANCELLED);
	assert_int_equal(test_server_requests(place.server), 1);
	bf_webhook_cancel(place.webhook, running.run, 7);
	bf_webhook_cancel(place.webhook, running.run, 7);
	wait_for(&place.sink, 2);
	assert_int_equal(place.sink.kinds[BF_ANSWER_CANCELLED], 2);
	bf_webhook_cancel(place.webhook, running.run, 7); /* it is over: nothing happens */
	assert_int_equal(call(&place, "/status/200")->status, 200);
	assert_int_equal(place.sink.count, 3);
	end(&place);
}

static void cancelling_at_any_moment_gives_one_answer(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	place.options.per_host = 8;
	start(&place);
	for (unsigned i = 0; i < 500; i++) {
		struct bf_webhook_request request = request_for(&place, i);
		call_as(&place, &request, "127.0.0.1", i % 2 == 0 ? "/delay/1" : "/status/200");
		if (i >= 3) {
			request = request_for(&place, i - i % 4);
			bf_webhook_cancel(place.webhook, request.run, 7);
		}
	}
	wait_for(&place.sink, 500);
	end(&place);
	assert_int_equal(place.sink.count, 500);
	assert_int_equal(place.sink.kinds[BF_ANSWER_ANSWERED] +
					place.sink.kinds[BF_ANSWER_CANCELLED],
			500);
}

static void freeing_ends_every_open_call(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	place.options.per_host = 10;
	start(&place);
	for (unsigned i = 0; i < 100; i++) {
		struct bf_webhook_request request = request_for(&place, i);
		call_as(&place, &request, "127.0.0.1", "/hang");
	}
	end(&place);
	assert_int_equal(place.sink.kinds[BF_ANSWER_CANCELLED], 100);
}

/* --- names and addresses --- */

static void a_name_that_does_not_exist_is_unreachable(void **state)
{
	struct place place;

	(void)state;
	begin(&place);
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	request.url = BF_STR("http://no-such-host.invalid/");
	assert_int_equal(bf_webhook_call(place.webhook, &request, NULL), BELFRY_OK);
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.kind, BF_ANSWER_UNREACHABLE);
	check_holds(place.sink.detail.ptr, "no-such-host.invalid was not found");
	end(&place);
}

/* The tests' own names: dead.test is not found, slow.test hangs until it is let go, others are where
 * `address` says. */
struct names {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	const char *address;
	const char *second;
	bool is_let_go;
	int asked;
	int open;
	int most_open;
};

static void begin_names(struct names *names, const char *address)
{
	*names = (struct names){.address = address};
	assert_int_equal(pthread_mutex_init(&names->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&names->changed, NULL), 0);
}

static void add_address(struct bf_lookup *lookup, const char *text)
{
	assert_int_equal(bf_address_parse(bf_str(text), &lookup->addresses[lookup->count++]),
			BELFRY_OK);
	lookup->is_found = true;
}

static void find_name(void *data, struct bf_lookup *lookup)
{
	struct names *names = data;

	(void)pthread_mutex_lock(&names->lock);
	names->asked++;
	names->open++;
	names->most_open = BF_MAX(names->most_open, names->open);
	while (strstr(lookup->host, "slow") != NULL && !names->is_let_go) {
		(void)pthread_cond_wait(&names->changed, &names->lock);
	}
	if (strstr(lookup->host, "dead") != NULL) {
		(void)snprintf(lookup->failure, sizeof(lookup->failure), "it is dead");
	} else {
		add_address(lookup, names->address);
		if (names->second != NULL) {
			add_address(lookup, names->second);
		}
	}
	names->open--;
	(void)pthread_cond_broadcast(&names->changed);
	(void)pthread_mutex_unlock(&names->lock);
}

/* The threads that hang in find_name must be out of it before `names` goes. */
static void end_names(struct names *names)
{
	(void)pthread_mutex_lock(&names->lock);
	names->is_let_go = true;
	(void)pthread_cond_broadcast(&names->changed);
	while (names->open > 0) {
		(void)pthread_cond_wait(&names->changed, &names->lock);
	}
	(void)pthread_mutex_unlock(&names->lock);
}

static void use_names(struct place *place, struct names *names)
{
	place->options.lookup = find_name;
	place->options.lookup_data = names;
}

static void a_name_is_looked_up_once_for_many_calls(void **state)
{
	struct place place;
	static struct names names;

	(void)state;
	begin_names(&names, "127.0.0.1");
	begin(&place);
	use_names(&place, &names);
	start(&place);
	for (unsigned i = 0; i < 50; i++) {
		struct bf_webhook_request request = request_for(&place, i);
		call_as(&place, &request, "hooks.test", "/status/200");
	}
	for (unsigned i = 0; i < 50; i++) {
		struct bf_webhook_request request = request_for(&place, 50 + i);
		call_as(&place, &request, "dead.test", "/status/200");
	}
	wait_for(&place.sink, 100);
	assert_int_equal(place.sink.kinds[BF_ANSWER_ANSWERED], 50);
	assert_int_equal(place.sink.kinds[BF_ANSWER_UNREACHABLE], 50);
	assert_int_equal(names.asked, 2);
	end(&place);
	end_names(&names);
}

static void lookups_at_once_are_bounded(void **state)
{
	struct place place;
	static struct names names;

	(void)state;
	begin_names(&names, "127.0.0.1");
	begin(&place);
	use_names(&place, &names);
	place.options.max_lookups = 3;
	place.options.connect_timeout = 50 * BELFRY_MILLISECOND;
	start(&place);
	for (unsigned i = 0; i < 40; i++) {
		char host[32];
		struct bf_webhook_request request = request_for(&place, i);
		(void)snprintf(host, sizeof(host), "slow-%u.test", i % 20);
		call_as(&place, &request, host, "/status/200");
	}
	wait_for(&place.sink, 40);
	assert_int_equal(place.sink.kinds[BF_ANSWER_UNREACHABLE], 40);
	check_holds(place.sink.detail.ptr, "took too long");
	/* Freed while the lookups still hang. */
	end(&place);
	end_names(&names);
	assert_true(names.most_open <= 3);
}

static void an_answer_that_comes_late_is_used_by_the_next_call(void **state)
{
	struct place place;
	static struct names names;

	(void)state;
	begin_names(&names, "127.0.0.1");
	begin(&place);
	use_names(&place, &names);
	place.options.connect_timeout = 500 * BELFRY_MILLISECOND;
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	call_as(&place, &request, "slow.test", "/status/200");
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.kind, BF_ANSWER_UNREACHABLE);
	end_names(&names);
	int64_t until = now_us() + DEADLINE_S * BELFRY_SECOND;
	do {
		int before = place.sink.count;
		assert_true(now_us() < until);
		call_as(&place, &request, "slow.test", "/status/200");
		wait_for(&place.sink, before + 1);
	} while (place.sink.last.kind != BF_ANSWER_ANSWERED);
	assert_int_equal(names.asked, 1);
	end(&place);
}

static void check_guard(const char *rule, bool is_private_allowed, const char *host,
		const char *address, enum bf_answer_kind kind)
{
	struct place place;
	static struct names names;

	begin_names(&names, address);
	begin(&place);
	use_names(&place, &names);
	bf_allow_list_set_private(place.allow, is_private_allowed);
	if (rule != NULL) {
		assert_int_equal(bf_allow_list_add(place.allow, bf_str(rule), NULL), BELFRY_OK);
	}
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	call_as(&place, &request, host, "/status/200");
	wait_for(&place.sink, 1);
	if (place.sink.last.kind != kind) {
		fail_msg("%s at %s: kind %d, %s", host, address, (int)place.sink.last.kind,
				place.sink.detail.ptr);
	}
	assert_int_equal(test_server_requests(place.server), kind == BF_ANSWER_ANSWERED ? 1 : 0);
	if (kind == BF_ANSWER_NOT_ALLOWED) {
		check_holds(place.sink.detail.ptr, "--allow-private-targets");
		assert_int_equal(bf_answer_verdict(&place.sink.last), BF_VERDICT_PERMANENT);
	}
	end(&place);
	end_names(&names);
}

static void addresses_that_are_not_allowed_are_never_called(void **state)
{
	(void)state;
	check_guard(NULL, false, "127.0.0.1", "", BF_ANSWER_NOT_ALLOWED);
	check_guard(NULL, false, "[::1]", "", BF_ANSWER_NOT_ALLOWED);
	check_guard(NULL, false, "[::ffff:127.0.0.1]", "", BF_ANSWER_NOT_ALLOWED);
	check_guard(NULL, false, "0177.0.0.1", "", BF_ANSWER_NOT_ALLOWED);
	check_guard(NULL, false, "hooks.test", "127.0.0.1", BF_ANSWER_NOT_ALLOWED);
	check_guard(NULL, false, "hooks.test", "::ffff:127.0.0.1", BF_ANSWER_NOT_ALLOWED);
	check_guard("10.0.0.0/8", false, "hooks.test", "127.0.0.1", BF_ANSWER_NOT_ALLOWED);
	check_guard("other.test", false, "hooks.test", "127.0.0.1", BF_ANSWER_NOT_ALLOWED);
	check_guard("0.0.0.0/0", true, "hooks.test", "169.254.169.254", BF_ANSWER_NOT_ALLOWED);
	check_guard("hooks.test", true, "hooks.test", "fe80::1", BF_ANSWER_NOT_ALLOWED);
	check_guard("0.0.0.0/0", true, "169.254.169.254", "", BF_ANSWER_NOT_ALLOWED);
	check_guard("127.0.0.0/8", false, "127.0.0.1", "", BF_ANSWER_ANSWERED);
	check_guard("127.0.0.0/8", false, "hooks.test", "127.0.0.1", BF_ANSWER_ANSWERED);
	check_guard("hooks.test", false, "hooks.test", "127.0.0.1", BF_ANSWER_ANSWERED);
	check_guard(NULL, true, "hooks.test", "127.0.0.1", BF_ANSWER_ANSWERED);
}

static void of_several_addresses_only_the_allowed_are_tried(void **state)
{
	struct place place;
	static struct names names;

	(void)state;
	begin_names(&names, "169.254.169.254");
	names.second = "127.0.0.1";
	begin(&place);
	use_names(&place, &names);
	start(&place);
	struct bf_webhook_request request = request_for(&place, 1);
	call_as(&place, &request, "hooks.test", "/status/200");
	wait_for(&place.sink, 1);
	assert_int_equal(place.sink.last.status, 200);
	end(&place);
	end_names(&names);
}

/* --- short memory --- */

static void short_memory_ends_a_call_one_way_or_the_other(void **state)
{
	int64_t number = 0;
	int64_t fired;
	int taken = 0;
	struct place place;
	static struct names names;

	(void)state;
	begin_names(&names, "127.0.0.1");
	begin(&place);
	use_names(&place, &names);
	do {
		start(&place);
		char url[64];
		(void)snprintf(url, sizeof(url), "http://hooks.test:%u/hang",
				test_server_port(place.server));
		struct bf_webhook_request request = request_for(&place, 1);
		request.url = bf_str(url);
		request.timeout = BELFRY_MILLISECOND;
		bf_fault_arm(bf_alloc_fault(), ++number, 1);
		enum belfry_status status = bf_webhook_call(place.webhook, &request, NULL);
		if (status == BELFRY_OK) {
			wait_for(&place.sink, ++taken);
		} else {
			assert_int_equal(status, BELFRY_NOMEM);
		}
		/* The threads are gone before the counter is read. */
		bf_webhook_free(place.webhook);
		place.webhook = NULL;
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
	} while (fired > 0 && number < 500);
	assert_true(number > 8 && number < 500);
	assert_int_equal(place.sink.count, taken);
	end(&place);
	end_names(&names);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_call_carries_its_run_its_fence_and_a_trace),
			cmocka_unit_test(a_large_body_is_sent_without_expecting_leave),
			cmocka_unit_test(a_get_has_no_body),
			cmocka_unit_test(a_call_is_signed_by_every_secret_that_holds),
			cmocka_unit_test(a_call_that_cannot_be_made_is_refused_at_once),
			cmocka_unit_test(answers_keep_their_status),
			cmocka_unit_test(a_redirect_is_not_followed),
			cmocka_unit_test(a_body_above_the_limit_is_cut),
			cmocka_unit_test(a_slow_answer_is_a_timeout),
			cmocka_unit_test(broken_connections_are_unreachable),
			cmocka_unit_test(a_target_that_speaks_no_tls_is_unreachable),
			cmocka_unit_test(a_connection_that_does_not_come_is_unreachable),
			cmocka_unit_test(a_thousand_slow_calls_run_at_once),
			cmocka_unit_test(a_host_has_its_own_queue_and_waiting_costs_no_time_limit),
			cmocka_unit_test(a_call_may_be_made_from_within_an_answer),
			cmocka_unit_test(a_cancelled_call_ends_where_it_is),
			cmocka_unit_test(cancelling_at_any_moment_gives_one_answer),
			cmocka_unit_test(freeing_ends_every_open_call),
			cmocka_unit_test(a_name_that_does_not_exist_is_unreachable),
			cmocka_unit_test(a_name_is_looked_up_once_for_many_calls),
			cmocka_unit_test(lookups_at_once_are_bounded),
			cmocka_unit_test(an_answer_that_comes_late_is_used_by_the_next_call),
			cmocka_unit_test(addresses_that_are_not_allowed_are_never_called),
			cmocka_unit_test(of_several_addresses_only_the_allowed_are_tried),
			cmocka_unit_test(short_memory_ends_a_call_one_way_or_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
