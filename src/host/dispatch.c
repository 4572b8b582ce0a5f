/* The handler that the provider calls: it turns an invocation into a call of its target, and the
 * answer into the Run's end.
 *
 * One Session and one turn for each Run (contract.md, B16): the Session is the host's own and its
 * id is the Run's; so is the turn's; and the output is kept by the Run's id alone. The same
 * invocation twice, at once or from two processes, therefore names the same Session and the same
 * turn, and there is one place for the output. What the target sees twice carries one
 * Idempotency-Key.
 *
 * Not here  attempts, waits and fences (the provider's), and the call (targets/webhook.c). */
#include <stdio.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/host_priv.h"

/* One open attempt; owned by whoever answers it. */
struct call {
	struct bf_host *host;
	struct belfry_reply *reply;
	struct belfry_id run;
	belfry_fence fence;
	bool is_truncated;
};

/* The text of an id, as Session and as turn. */
struct id_text {
	char text[BELFRY_ID_TEXT_BYTES];
};

static struct id_text text_of(struct belfry_id id)
{
	struct id_text text;

	belfry_id_format(id, text.text);
	return text;
}

/* Each of the replies may be too late (BELFRY_STALE): then nothing is done with it, and nothing is
 * left for us to do either. */
static void reply_permanent(struct belfry_reply **reply, enum belfry_run_error error,
		const char *message, const char *detail)
{
	(void)belfry_reply_permanent(reply, error, bf_str(message), bf_str(detail));
}

static void reply_retry(struct belfry_reply **reply, belfry_duration after,
		enum belfry_run_error error, const char *message, struct belfry_str detail)
{
	(void)belfry_reply_retry(reply, after, error, bf_str(message), detail);
}

static void start_session(void *data, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	struct id_text session = text_of(invocation->run);

	(void)data;
	(void)belfry_reply_session(&reply, bf_str(session.text));
}

/* --- the answer --- */

static void reply_completed(struct call *call)
{
	struct id_text turn = text_of(call->run);
	struct belfry_outcome outcome = {
			.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED,
			.run_flags = call->is_truncated ? BELFRY_RUN_F_OUTPUT_TRUNCATED : 0,
	};

	(void)belfry_reply_turn(&call->reply, bf_str(turn.text), &outcome);
}

/* After the write was tried: a Run that is COMPLETED has its output, or says that it is not whole. The
 * target has done its work, so a lost output is no reason to have it done again. */
static void on_output_written(void *data, bool is_written)
{
	struct call *call = data;

	call->is_truncated = call->is_truncated || !is_written;
	reply_completed(call);
	bf_free(call);
}

static void complete(struct call *call, const struct bf_answer *answer)
{
	const struct belfry_output output = {
			.size = sizeof(output),
			.run = call->run,
			.fence = call->fence,
			.content_type = answer->content_type,
			.bytes = answer->body,
	};

	call->is_truncated = answer->is_truncated;
	if (answer->body.len > 0 &&
			bf_outputs_put(call->host->outputs, &output, on_output_written, call) ==
					BELFRY_OK) {
		return;
	}
	if (answer->body.len > 0) {
		bf_log(call->host->options.env, BF_LOG_WARNING,
				"event=output_lost run=%s detail=\"out of memory\"",
				text_of(call->run).text);
		call->is_truncated = true;
	}
	reply_completed(call);
	bf_free(call);
}

static void answer_message(const struct bf_answer *answer, enum belfry_run_error error, char *out,
		size_t size)
{
	if (error == BELFRY_RUN_ERROR_TARGET_ANSWERED) {
		(void)snprintf(out, size, "the target answered %d", answer->status);
	} else if (answer->is_unreadable) {
		(void)snprintf(out, size, "the target's answer could not be read");
	} else if (error == BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED) {
		(void)snprintf(out, size, "%s",
				answer->is_private
						? "the target is at a private address, which is "
						  "not allowed: start the host with --allow-target "
						  "or --allow-private-targets"
						: "the target is at a link-local, metadata, "
						  "multicast or reserved address: neither "
						  "--allow-target nor --allow-private-targets "
						  "allows these");
	} else {
		(void)snprintf(out, size, "%s", belfry_run_error_text(error));
	}
}

static void on_answer(void *data, const struct bf_answer *answer)
{
	struct call *call = data;
	enum belfry_run_error error = bf_answer_error(answer);
	char message[BELFRY_ERROR_MESSAGE_BYTES];

	answer_message(answer, error, message, sizeof(message));
	switch (bf_answer_verdict(answer)) {
	case BF_VERDICT_OK: complete(call, answer); return;
	case BF_VERDICT_RETRY:
		reply_retry(&call->reply, answer->retry_after, error, message, answer->detail);
		break;
	case BF_VERDICT_PERMANENT:
		(void)belfry_reply_permanent(&call->reply, error, bf_str(message), answer->detail);
		break;
	}
	bf_free(call);
}

/* --- the request --- */

static json_t *write_run(const struct belfry_invocation *invocation)
{
	struct bf_json_writer w;
	json_t *run = NULL;

	bf_json_writer_begin(&w);
	bf_json_write_id(&w, "id", invocation->run);
	bf_json_write_str(&w, "deployment_id", invocation->schedule);
	bf_json_write_text(&w, "trigger", belfry_trigger_name(invocation->trigger));
	bf_json_write_time(&w, "due_at", invocation->due_at);
	bf_json_write_int(&w, "revision", invocation->revision);
	bf_json_write_id(&w, "replayed_from", invocation->replayed_from);
	bf_json_write_int(&w, "attempt", invocation->attempt);
	bf_json_write_int(&w, "stands_for", BF_MAX(invocation->stands_for, 1));
	return bf_json_writer_end(&w, &run) == BELFRY_OK ? run : NULL;
}

/* A value of the payload, shared; null where there is none. */
static json_t *share(const json_t *value)
{
	return value != NULL ? json_incref((json_t *)(uintptr_t)value) : json_null();
}

static enum belfry_status write_body(const struct bf_payload *payload,
		const struct belfry_invocation *invocation, struct bf_buf *body)
{
	struct bf_json_writer w;
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;

	if (payload->target.webhook.body != NULL) {
		return bf_json_dump(payload->target.webhook.body, body);
	}
	bf_json_writer_begin(&w);
	bf_json_write_text(&w, "type", "belfry.run");
	bf_json_write_value(&w, "run", write_run(invocation));
	bf_json_write_value(&w, "deployment", share(payload->deployment));
	bf_json_write_str(&w, "prompt", payload->prompt);
	bf_json_write_value(&w, "input", share(payload->input));
	enum belfry_status status = bf_json_writer_end(&w, &object);
	return status == BELFRY_OK ? bf_json_dump(object, body) : status;
}

static size_t list_headers(const struct bf_payload *payload,
		struct bf_webhook_header headers[BF_DEPLOYMENT_HEADERS])
{
	const char *key;
	json_t *value;
	size_t count = 0;

	if (payload->target.webhook.headers == NULL) {
		return 0;
	}
	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)payload->target.webhook.headers, key, value)
	{
		if (count == BF_DEPLOYMENT_HEADERS) {
			break; /* none was saved with more */
		}
		headers[count++] = (struct bf_webhook_header){
				.name = bf_str(key),
				.value = bf_json_str(value),
				.secret = bf_json_str(json_object_get(value, "secret")),
		};
	}
	return count;
}

static enum belfry_status send_request(struct call *call, const struct bf_payload *payload,
		const struct belfry_invocation *invocation, struct belfry_error *err)
{
	struct bf_webhook_header headers[BF_DEPLOYMENT_HEADERS];
	struct bf_webhook_request request = BF_WEBHOOK_REQUEST_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf body = {0};

	if (write_body(payload, invocation, &body) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	request.run = invocation->run;
	request.fence = invocation->fence;
	request.url = payload->target.webhook.url;
	request.method = payload->target.webhook.method;
	request.body = bf_buf_str(&body);
	request.headers = headers;
	request.header_count = list_headers(payload, headers);
	request.secret = payload->target.webhook.secret;
	request.timeout = invocation->timeout;
	request.done = on_answer;
	request.data = call;
	return bf_webhook_call(call->host->options.webhook, &request, err);
}

/* The call was not made, so there will be no answer. */
static void refuse(struct call *call, enum belfry_status status, const struct belfry_error *err)
{
	struct belfry_str detail = bf_str(err->detail[0] != '\0' ? err->detail : err->message);

	switch (belfry_status_class(status)) {
	case BELFRY_CLASS_RETRY:
	case BELFRY_CLASS_SYSTEM:
	case BELFRY_CLASS_CONFLICT:
		reply_retry(&call->reply, 0, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				"the call could not be made just now", detail);
		break;
	case BELFRY_CLASS_DATA:
		(void)belfry_reply_permanent(&call->reply, BELFRY_RUN_ERROR_PERMANENT,
				BF_STR("the stored deployment cannot be read: save it again"),
				detail);
		break;
	case BELFRY_CLASS_OK:
	case BELFRY_CLASS_GONE:
	case BELFRY_CLASS_CALLER:
		/* The URL, a header, or a secret that is not there: its words name it. */
		(void)belfry_reply_permanent(&call->reply,
				status == BELFRY_TARGET_NOT_ALLOWED
						? BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED
						: BELFRY_RUN_ERROR_PERMANENT,
				bf_str(err->message), detail);
		break;
	}
	bf_free(call);
}

static void admit_webhook(struct bf_host *host, const struct bf_payload *payload,
		const struct belfry_invocation *invocation, struct belfry_reply *reply)
{
	struct belfry_error err = {0};
	struct call *call = bf_alloc(sizeof(*call));

	if (call == NULL) {
		reply_retry(&reply, 0, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				"the call could not be made just now", BF_STR("out of memory"));
		return;
	}
	if (host->options.webhook == NULL) {
		reply_permanent(&reply, BELFRY_RUN_ERROR_PERMANENT, "this host calls no target",
				"");
		bf_free(call);
		return;
	}
	*call = (struct call){.host = host,
			.reply = reply,
			.run = invocation->run,
			.fence = invocation->fence};
	enum belfry_status status = send_request(call, payload, invocation, &err);
	if (status != BELFRY_OK) {
		refuse(call, status, &err);
	}
}

static void refuse_unread(struct belfry_reply *reply, enum belfry_status status)
{
	if (status == BELFRY_NOMEM) {
		reply_retry(&reply, 0, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				"the call could not be made just now", BF_STR("out of memory"));
	} else {
		reply_permanent(&reply, BELFRY_RUN_ERROR_PERMANENT,
				"the stored deployment cannot be read: save it again", "");
	}
}

static void admit_turn(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	struct bf_host *host = data;
	BF_CLEANUP(bf_payload_fini) struct bf_payload payload = {0};
	struct belfry_error err = {0};
	enum belfry_status status = bf_payload_decode(invocation->payload, &payload, &err);

	(void)session; /* the Run's id again */
	if (status != BELFRY_OK) {
		refuse_unread(reply, status);
		return;
	}
	switch (payload.target.kind) {
	case BF_TARGET_WEBHOOK: admit_webhook(host, &payload, invocation, reply); break;
	case BF_TARGET_EXEC: bf_dispatch_exec(host, &payload, invocation, reply); break;
	}
}

static void cancel(void *data, struct belfry_id run, belfry_fence fence)
{
	struct bf_host *host = data;

	if (host->options.webhook != NULL) {
		bf_webhook_cancel(host->options.webhook, run, fence);
	}
	if (host->exec != NULL) {
		bf_exec_cancel(host->exec, run, fence);
	}
}

void bf_dispatch_init(struct bf_host *host)
{
	host->handler = (struct belfry_handler){
			.size = sizeof(host->handler),
			.data = host,
			.start_session = start_session,
			.admit_turn = admit_turn,
			.cancel = cancel,
	};
}
