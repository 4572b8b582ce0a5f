/* The API over a real server, a host with a memory store, and the fake provider. */
#ifndef HTTP_API_FIXTURE_H
#define HTTP_API_FIXTURE_H

#include "host_fixture.h"

#include "client.h"

#include "base/json.h"
#include "host/token_file.h"
#include "host/tokens.h"
#include "http/api.h"

int run_api_apply_tests(void);
int run_api_deployment_tests(void);
int run_api_event_tests(void);
int run_api_run_tests(void);
int run_api_system_tests(void);
int run_api_token_tests(void);

struct api_fixture {
	struct host_fixture host;
	struct bf_api api;
	struct bf_api_events *events;
	struct bf_tokens *tokens; /* NULL: the host has none */
	char token[BF_TOKEN_TEXT_BYTES + 1];
	struct bf_http_server *server;
	uint16_t port;
	struct reply reply; /* of the last request */
	json_t *json;       /* its body, NULL where it is no JSON */
};

void api_fixture_start(struct api_fixture *fixture);
/* The same, on a host that needs a token. */
void api_fixture_start_with_token(struct api_fixture *fixture);
/* With limits of a test's own; the rest is filled in here. */
void api_fixture_start_with(struct api_fixture *fixture, struct bf_http_server_options *server,
		struct bf_api_events_options *events, bool has_token);
void api_fixture_stop(struct api_fixture *fixture);

/* One request with Host, and with Content-Type where there is a body; `fields` are more header
 * lines, each with its CR LF, or NULL. Returns the status. */
int api_ask(struct api_fixture *fixture, const char *method, const char *path, const char *fields,
		const char *body);
/* The same, and fails the test unless status and code are these ("" for an answer without one). */
void api_expect(struct api_fixture *fixture, const char *method, const char *path, const char *body,
		int status, const char *code);
/* Makes a deployment of this name, enabled, daily; its id is written to `id`. */
void api_make_deployment(struct api_fixture *fixture, const char *name, char *id);

/* Text of a member of the last answer; "" where it is none. */
const char *api_text(const struct api_fixture *fixture, const char *member);
json_t *api_member(const struct api_fixture *fixture, const char *member);
/* Value of a header field of the last answer; empty where it has none. */
struct belfry_str api_field(const struct api_fixture *fixture, const char *name);

#endif
