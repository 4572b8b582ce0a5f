/* The API of the tests. */
#include "api_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void start_events(struct api_fixture *fixture, struct bf_api_events_options *options)
{
	struct belfry_error err = {0};

	options->env = &fixture->host.env;
	options->events = fixture->host.events;
	assert_int_equal(bf_api_events_start(options, &fixture->events, &err), BELFRY_OK);
}

/* A token of the host's store; its file is read and gone. */
static void make_token(struct api_fixture *fixture)
{
	char folder[] = "/tmp/belfry-api-XXXXXX";
	struct bf_token_text text;
	struct belfry_error err = {0};
	char file[64];

	assert_non_null(mkdtemp(folder));
	struct bf_tokens_options options = {.size = sizeof(options),
			.env = &fixture->host.env,
			.store = fixture->host.store,
			.data_folder = folder,
			.is_needed = true};
	assert_int_equal(bf_tokens_open(&options, &fixture->tokens, &err), BELFRY_OK);
	assert_int_equal(bf_token_file_read(folder, &text, &err), BELFRY_OK);
	memcpy(fixture->token, text.text, sizeof(fixture->token));
	(void)snprintf(file, sizeof(file), "%s/" BF_TOKEN_FILE, folder);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(folder), 0);
}

void api_fixture_start_with(struct api_fixture *fixture, struct bf_http_server_options *server,
		struct bf_api_events_options *events, bool has_token)
{
	struct belfry_error err = {0};

	memset(fixture, 0, sizeof(*fixture));
	host_fixture_begin(&fixture->host);
	assert_int_equal(bf_events_new(&fixture->host.env, &fixture->host.events), BELFRY_OK);
	host_fixture_open(&fixture->host);
	if (has_token) {
		make_token(fixture);
	}
	start_events(fixture, events);
	fixture->api = (struct bf_api){fixture->host.host, fixture->tokens, fixture->events};
	server->env = &fixture->host.env;
	server->body_bytes = BF_API_BODY_BYTES;
	server->judge = bf_api_judge;
	if (bf_http_server_start(server, bf_api_handle, &fixture->api, &fixture->server, &err) !=
			BELFRY_OK) {
		fail_msg("%s (%s)", err.message, err.detail);
	}
	fixture->port = bf_http_server_port(fixture->server);
}

void api_fixture_start(struct api_fixture *fixture)
{
	struct bf_http_server_options server = BF_HTTP_SERVER_OPTIONS_INIT;
	struct bf_api_events_options events = BF_API_EVENTS_OPTIONS_INIT;

	api_fixture_start_with(fixture, &server, &events, false);
}

void api_fixture_start_with_token(struct api_fixture *fixture)
{
	struct bf_http_server_options server = BF_HTTP_SERVER_OPTIONS_INIT;
	struct bf_api_events_options events = BF_API_EVENTS_OPTIONS_INIT;

	api_fixture_start_with(fixture, &server, &events, true);
}

static void forget_answer(struct api_fixture *fixture)
{
	json_decref(fixture->json);
	fixture->json = NULL;
	reply_fini(&fixture->reply);
}

void api_fixture_stop(struct api_fixture *fixture)
{
	forget_answer(fixture);
	bf_http_server_stop(fixture->server);
	bf_api_events_stop(fixture->events);
	bf_tokens_close(fixture->tokens);
	host_fixture_end(&fixture->host);
}

int api_ask(struct api_fixture *fixture, const char *method, const char *path, const char *fields,
		const char *body)
{
	struct bf_buf request = {0};
	bool is_head = strcmp(method, "HEAD") == 0;

	forget_answer(fixture);
	bf_buf_appendf(&request, "%s %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", method, path,
			(unsigned)fixture->port);
	if (body != NULL) {
		bf_buf_appendf(&request,
				"Content-Type: application/json\r\nContent-Length: %zu\r\n",
				strlen(body));
	}
	bf_buf_appendf(&request, "%sConnection: close\r\n\r\n", fields != NULL ? fields : "");
	bf_buf_append_text(&request, body != NULL ? body : "");
	struct client client = client_open(fixture->port);
	client_send(&client, bf_buf_str(&request));
	fixture->reply = client_read(&client, is_head);
	client_close(&client);
	bf_buf_fini(&request);
	if (fixture->reply.body.len > 0) {
		(void)!bf_json_parse(bf_buf_str(&fixture->reply.body), SIZE_MAX, &fixture->json,
				NULL);
	}
	return fixture->reply.status;
}

void api_expect(struct api_fixture *fixture, const char *method, const char *path, const char *body,
		int status, const char *code)
{
	int got = api_ask(fixture, method, path, NULL, body);

	if (got != status || strcmp(api_text(fixture, "code"), code) != 0) {
		fail_msg("%s %s %.300s: %d instead of %d %s: %.*s", method, path,
				body != NULL ? body : "", got, status, code,
				BF_STR_ARGS(bf_buf_str(&fixture->reply.body)));
	}
}

void api_make_deployment(struct api_fixture *fixture, const char *name, char *id)
{
	struct bf_buf body = {0};

	bf_buf_appendf(&body,
			"{\"name\":\"%s\",\"rule\":{\"cron\":\"0 9 * * *\"},\"target\":{\"kind\":"
			"\"webhook\",\"url\":\"https://hooks.example.org/x\"}}",
			name);
	api_expect(fixture, "POST", "/v1/deployments", body.ptr, 201, "");
	bf_buf_fini(&body);
	memcpy(id, api_text(fixture, "id"), BELFRY_ID_TEXT_BYTES);
}

const char *api_text(const struct api_fixture *fixture, const char *member)
{
	const char *text = json_string_value(json_object_get(fixture->json, member));

	return text != NULL ? text : "";
}

json_t *api_member(const struct api_fixture *fixture, const char *member)
{
	json_t *value = json_object_get(fixture->json, member);

	if (value == NULL) {
		fail_msg("no member %s in %.*s", member,
				BF_STR_ARGS(bf_buf_str(&fixture->reply.body)));
	}
	return value;
}

struct belfry_str api_field(const struct api_fixture *fixture, const char *name)
{
	struct belfry_str rest = bf_buf_str(&fixture->reply.head);
	struct belfry_str wanted = bf_str(name);

	while (rest.len > 0) {
		size_t end = 0;
		while (end < rest.len && rest.ptr[end] != '\r') {
			end++;
		}
		struct belfry_str line = bf_str_slice(rest, 0, end);
		if (line.len > wanted.len + 1 && line.ptr[wanted.len] == ':' &&
				bf_str_equal_nocase(bf_str_slice(line, 0, wanted.len), wanted)) {
			size_t from = wanted.len + 1;
			while (from < line.len && line.ptr[from] == ' ') {
				from++;
			}
			return bf_str_slice(line, from, line.len);
		}
		rest = bf_str_slice(rest, end + 2, rest.len);
	}
	return (struct belfry_str){0};
}
