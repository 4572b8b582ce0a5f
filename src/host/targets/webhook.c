/* The target `webhook`.
 *
 * Invariants  secrets are read when the call is made and wiped when it is done; the signature and its
 *             time are made when the call starts to run, because verifiers refuse an old one.
 * Not here    the body's shape and what an answer means for the Run (the host; answer.h). */
#include "host/targets/webhook.h"

#include "base/alloc.h"
#include "base/error.h"
#include "host/targets/http_client.h"
#include "host/targets/signature.h"
#include "host/targets/url.h"

#define TRACEPARENT_BYTES 55

struct bf_webhook {
	const struct bf_env *env;
	const struct bf_secrets *secrets;
	struct bf_http_client *client;
};

/* One open call. */
struct delivery {
	const struct bf_env *env;
	char *body;
	size_t body_bytes;
	char run[BELFRY_ID_TEXT_BYTES];
	struct bf_secret secret; /* count 0: unsigned */
	bf_webhook_done_fn done;
	void *data;
};

static void free_delivery(struct delivery *delivery)
{
	if (delivery != NULL) {
		bf_secret_fini(&delivery->secret);
		bf_free(delivery->body);
		bf_free(delivery);
	}
}

BF_CLEANUP_POINTER(delivery, struct delivery, free_delivery)

/* --- headers --- */

static void append_header(struct bf_buf *headers, struct belfry_str name, struct belfry_str value)
{
	/* The semicolon is how curl is told to send a header without a value. */
	bf_buf_append_str(headers, name);
	bf_buf_append_text(headers, value.len > 0 ? ": " : ";");
	bf_buf_append_str(headers, value);
	bf_buf_append_byte(headers, '\n');
}

static enum belfry_status get_secret(const struct bf_webhook *webhook, struct belfry_str name,
		struct bf_secret *ret_secret, struct belfry_error *err)
{
	if (webhook->secrets == NULL) {
		return bf_error_set(err, BELFRY_NOT_FOUND,
				"there is no secret %.*s: this host has no secrets",
				BF_STR_ARGS(name));
	}
	return bf_secrets_get(webhook->secrets, name, ret_secret, err);
}

static enum belfry_status append_own(const struct bf_webhook *webhook,
		const struct bf_webhook_header *header, struct bf_buf *headers,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_secret_fini) struct bf_secret secret = {0};
	struct belfry_str value = header->value;
	enum belfry_status status = BELFRY_OK;

	if (header->secret.len > 0) {
		status = get_secret(webhook, header->secret, &secret, err);
		value = secret.count > 0 ? secret.values[0] : value;
	}
	if (status == BELFRY_OK) {
		status = bf_target_header_check(header->name, value, err);
	}
	if (status == BELFRY_OK) {
		append_header(headers, header->name, value);
	}
	return status;
}

static bool is_traceparent(struct belfry_str text)
{
	if (text.len != TRACEPARENT_BYTES) {
		return false;
	}
	for (size_t i = 0; i < text.len; i++) {
		char c = text.ptr[i];
		bool is_dash = i == 2 || i == 35 || i == 52;
		if (is_dash ? c != '-' : !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) {
			return false;
		}
	}
	return true;
}

/* Every attempt of a Run is one trace: its id has the form of a trace's. */
static void append_traceparent(const struct bf_webhook *webhook,
		const struct bf_webhook_request *request, struct bf_buf *headers)
{
	unsigned char span[8];

	if (is_traceparent(request->traceparent)) {
		append_header(headers, BF_STR("traceparent"), request->traceparent);
		return;
	}
	webhook->env->random(webhook->env->data, span, sizeof(span));
	span[0] |= 1; /* all zero is no span */
	bf_buf_append_text(headers, "traceparent: 00-");
	for (size_t i = 0; i < sizeof(request->run.bytes); i++) {
		bf_buf_appendf(headers, "%02x", request->run.bytes[i]);
	}
	bf_buf_append_byte(headers, '-');
	for (size_t i = 0; i < sizeof(span); i++) {
		bf_buf_appendf(headers, "%02x", span[i]);
	}
	bf_buf_append_text(headers, "-01\n");
}

static enum belfry_status append_headers(const struct bf_webhook *webhook,
		const struct bf_webhook_request *request, const struct delivery *delivery,
		struct bf_buf *headers, struct belfry_error *err)
{
	append_header(headers, BF_STR("Content-Type"), BF_STR("application/json"));
	append_header(headers, BF_STR("Idempotency-Key"), bf_str(delivery->run));
	bf_buf_appendf(headers, "Belfry-Fence: %llu\n", (unsigned long long)request->fence);
	append_traceparent(webhook, request, headers);
	/* Without a value: not sent at all. */
	bf_buf_append_text(headers, "Expect:\n");
	for (size_t i = 0; i < request->header_count; i++) {
		enum belfry_status status = append_own(webhook, &request->headers[i], headers, err);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	if (bf_buf_status(headers) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a webhook's headers");
	}
	return BELFRY_OK;
}

/* --- on the client's thread --- */

static enum belfry_status sign(void *data, struct bf_buf *headers)
{
	const struct delivery *delivery = data;
	int64_t now_s = delivery->env->wall(delivery->env->data) / BELFRY_SECOND;

	if (delivery->secret.count == 0) {
		return BELFRY_OK;
	}
	bf_buf_appendf(headers, "webhook-id: %s\nwebhook-timestamp: %lld\nwebhook-signature: ",
			delivery->run, (long long)now_s);
	enum belfry_status status = bf_signature_append(headers, &delivery->secret,
			bf_str(delivery->run), now_s,
			(struct belfry_str){delivery->body, delivery->body_bytes});
	bf_buf_append_byte(headers, '\n');
	return status;
}

static void finish(void *data, const struct bf_answer *answer)
{
	struct delivery *delivery = data;

	delivery->done(delivery->data, answer);
	free_delivery(delivery);
}

/* --- from any thread --- */

static enum belfry_status make_delivery(const struct bf_webhook *webhook,
		const struct bf_webhook_request *request, struct delivery **ret_delivery,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_delivery) struct delivery *delivery = bf_alloc(sizeof(*delivery));
	bool has_body = !bf_str_equal(request->method, BF_STR("GET"));

	if (delivery == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a webhook");
	}
	delivery->env = webhook->env;
	delivery->done = request->done;
	delivery->data = request->data;
	delivery->body_bytes = has_body ? request->body.len : 0;
	delivery->body = bf_strndup(request->body.ptr, delivery->body_bytes);
	belfry_id_format(request->run, delivery->run);
	if (delivery->body == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for a webhook's body");
	}
	if (request->secret.len > 0) {
		enum belfry_status status = get_secret(webhook, request->secret, &delivery->secret,
				err);
		if (status == BELFRY_OK) {
			status = bf_signature_check(&delivery->secret, request->secret, err);
		}
		if (status != BELFRY_OK) {
			return status;
		}
	}
	*ret_delivery = BF_TAKE(delivery);
	return BELFRY_OK;
}

enum belfry_status bf_webhook_call(struct bf_webhook *webhook,
		const struct bf_webhook_request *request, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_delivery) struct delivery *delivery = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf headers = {0};

	enum belfry_status status = make_delivery(webhook, request, &delivery, err);
	if (status == BELFRY_OK) {
		status = append_headers(webhook, request, delivery, &headers, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	const struct bf_http_request http = {
			.size = sizeof(http),
			.run = request->run,
			.fence = request->fence,
			.method = request->method.len > 0 ? request->method : BF_STR("POST"),
			.url = request->url,
			.body = {delivery->body, delivery->body_bytes},
			.headers = bf_buf_str(&headers),
			.timeout = request->timeout,
			.on_start = sign,
			.on_done = finish,
			.data = delivery,
	};
	/* Once it is taken the delivery belongs to the client's thread, which may be done with it before
	 * this one goes on. */
	struct delivery *taken = BF_TAKE(delivery);
	status = bf_http_client_start(webhook->client, &http, err);
	if (status != BELFRY_OK) {
		free_delivery(taken);
	}
	return status;
}

void bf_webhook_cancel(struct bf_webhook *webhook, struct belfry_id run, belfry_fence fence)
{
	bf_http_client_cancel(webhook->client, run, fence);
}

enum belfry_status bf_webhook_new(const struct bf_webhook_options *options,
		struct bf_webhook **ret_webhook, struct belfry_error *err)
{
	struct bf_http_client_options client = BF_HTTP_CLIENT_OPTIONS_INIT;
	struct bf_webhook *webhook = bf_alloc(sizeof(*webhook));

	if (webhook == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "no memory for the webhook target");
	}
	webhook->env = options->env;
	webhook->secrets = options->secrets;
	client.env = options->env;
	client.allow = options->allow;
	client.per_host = options->per_host;
	client.answer_bytes = options->answer_limit;
	client.max_lookups = options->max_lookups;
	client.connect_timeout = options->connect_timeout;
	client.lookup = options->lookup;
	client.lookup_data = options->lookup_data;
	enum belfry_status status = bf_http_client_new(&client, &webhook->client, err);
	if (status != BELFRY_OK) {
		bf_free(webhook);
		return status;
	}
	*ret_webhook = webhook;
	return BELFRY_OK;
}

void bf_webhook_free(struct bf_webhook *webhook)
{
	if (webhook != NULL) {
		bf_http_client_free(webhook->client);
		bf_free(webhook);
	}
}
