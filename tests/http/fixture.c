/* The server of the tests and its handler. */
#include "fixture.h"

#include <stdio.h>
#include <time.h>

#include "http/guard.h"
#include "http/problem.h"

#define WAIT_S 20

static void answer_text(struct bf_http_request **request, int status, const char *text)
{
	struct bf_http_response response = {.status = status, .content_type = "text/plain"};

	bf_buf_append_text(&response.body, text);
	bf_http_respond(request, &response);
}

static void answer_echo(struct bf_http_request **request)
{
	struct bf_http_response response = {.status = 200, .content_type = "text/plain"};
	struct bf_buf *out = &response.body;

	bf_buf_append_text(out, bf_http_method_text(bf_http_request_method(*request)));
	for (size_t i = 0; i < bf_http_request_segment_count(*request); i++) {
		bf_buf_appendf(out, " [%.*s]", BF_STR_ARGS(bf_http_request_segment(*request, i)));
	}
	for (size_t i = 0; i < bf_http_request_parameter_count(*request); i++) {
		struct bf_http_pair pair = bf_http_request_parameter(*request, i);
		bf_buf_appendf(out, " %.*s=%.*s", BF_STR_ARGS(pair.name), BF_STR_ARGS(pair.value));
	}
	bf_buf_appendf(out, " x=%.*s peer=%.*s body=",
			BF_STR_ARGS(bf_http_request_header(*request, "x-echo")),
			BF_STR_ARGS(bf_http_request_peer(*request)));
	bf_buf_append_str(out, bf_http_request_body(*request));
	bf_http_respond(request, &response);
}

static void hold(struct fixture *fixture, struct bf_http_request **request)
{
	(void)pthread_mutex_lock(&fixture->lock);
	fixture->held[fixture->held_count++] = *request;
	*request = NULL;
	(void)pthread_cond_broadcast(&fixture->changed);
	(void)pthread_mutex_unlock(&fixture->lock);
}

static void block(struct fixture *fixture, struct bf_http_request **request)
{
	(void)pthread_mutex_lock(&fixture->lock);
	fixture->blocked_count++;
	(void)pthread_cond_broadcast(&fixture->changed);
	while (!fixture->is_gate_open) {
		(void)pthread_cond_wait(&fixture->changed, &fixture->lock);
	}
	fixture->blocked_count--;
	(void)pthread_mutex_unlock(&fixture->lock);
	answer_text(request, 200, "opened");
}

static void answer_guarded(struct bf_http_request **request)
{
	struct belfry_error err = {0};
	struct bf_http_response response;

	if (bf_http_guard_check_without_token(bf_http_request_headers(*request),
			    bf_http_request_has_body(*request), &err) == BELFRY_OK) {
		answer_text(request, 200, "welcome");
		return;
	}
	bf_http_problem(&err, bf_http_request_id(*request), &response);
	bf_http_respond(request, &response);
}

static void answer_status(struct bf_http_request **request)
{
	int64_t status = 500;

	if (bf_str_parse_int(bf_http_request_segment(*request, 1), 200, 599, &status) !=
			BELFRY_OK) {
		status = 500;
	}
	answer_text(request, (int)status, "told to");
}

static void handle(void *data, struct bf_http_request **request)
{
	struct fixture *fixture = data;
	struct belfry_str word = bf_http_request_segment_count(*request) > 0
			? bf_http_request_segment(*request, 0)
			: BF_STR("");

	(void)pthread_mutex_lock(&fixture->lock);
	fixture->called_count++;
	(void)pthread_mutex_unlock(&fixture->lock);
	if (bf_str_equal(word, BF_STR("echo"))) {
		answer_echo(request);
	} else if (bf_str_equal(word, BF_STR("hold"))) {
		hold(fixture, request);
	} else if (bf_str_equal(word, BF_STR("block"))) {
		block(fixture, request);
	} else if (bf_str_equal(word, BF_STR("guarded"))) {
		answer_guarded(request);
	} else if (bf_str_equal(word, BF_STR("status"))) {
		answer_status(request);
	} else if (!bf_str_equal(word, BF_STR("forget"))) {
		struct bf_http_response response = {.status = 200, .borrowed = BF_STR("fixed")};
		bf_http_response_put_header(&response, "ETag", BF_STR("\"1\""));
		bf_http_response_put_header(&response, "cache-control", BF_STR("no-cache"));
		bf_http_respond(request, &response);
	}
}

static void stay_silent(void *data, enum bf_log_level level, const char *line)
{
	(void)data;
	(void)level;
	(void)line;
}

struct bf_http_server_options fixture_options(void)
{
	static struct bf_env env;
	struct bf_http_server_options options = BF_HTTP_SERVER_OPTIONS_INIT;

	env = *bf_env_system();
	env.log = stay_silent;
	options.env = &env;
	return options;
}

void fixture_start(struct fixture *fixture, const struct bf_http_server_options *options)
{
	struct belfry_error err = {0};

	*fixture = (struct fixture){0};
	assert_int_equal(pthread_mutex_init(&fixture->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&fixture->changed, NULL), 0);
	if (bf_http_server_start(options, handle, fixture, &fixture->server, &err) != BELFRY_OK) {
		fail_msg("%s (%s)", err.message, err.detail);
	}
	fixture->port = bf_http_server_port(fixture->server);
	assert_int_not_equal(fixture->port, 0);
}

void fixture_release(struct fixture *fixture)
{
	(void)pthread_mutex_lock(&fixture->lock);
	while (fixture->held_count > 0) {
		answer_text(&fixture->held[--fixture->held_count], 200, "late");
	}
	(void)pthread_mutex_unlock(&fixture->lock);
}

void fixture_open_gate(struct fixture *fixture)
{
	(void)pthread_mutex_lock(&fixture->lock);
	fixture->is_gate_open = true;
	(void)pthread_cond_broadcast(&fixture->changed);
	(void)pthread_mutex_unlock(&fixture->lock);
}

void fixture_stop(struct fixture *fixture)
{
	fixture_open_gate(fixture);
	fixture_release(fixture);
	bf_http_server_stop(fixture->server);
	fixture_release(fixture);
	(void)pthread_cond_destroy(&fixture->changed);
	(void)pthread_mutex_destroy(&fixture->lock);
}

static void wait_count(struct fixture *fixture, const size_t *counter, size_t count)
{
	struct timespec until;
	int code = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	(void)pthread_mutex_lock(&fixture->lock);
	while (*counter < count && code == 0) {
		code = pthread_cond_timedwait(&fixture->changed, &fixture->lock, &until);
	}
	size_t reached = *counter;
	(void)pthread_mutex_unlock(&fixture->lock);
	if (reached < count) {
		fail_msg("%zu of %zu requests reached the handler in %d s", reached, count, WAIT_S);
	}
}

void fixture_wait_held(struct fixture *fixture, size_t count)
{
	wait_count(fixture, &fixture->held_count, count);
}

void fixture_wait_blocked(struct fixture *fixture, size_t count)
{
	wait_count(fixture, &fixture->blocked_count, count);
}
