/* The handler's part for the target `exec`: an invocation becomes a command, and how it ended the Run's end.
 *
 * What a command gets besides its own variables is written down in interface.md ("Commands"). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/timefmt.h"
#include "host/host_priv.h"
#include "model/run.h"

#define OWN_VARIABLES 12
#define BUSY_AFTER    BELFRY_SECOND /* costs no attempt: nothing of the command has run */

/* One open attempt; owned by whoever answers it. */
struct call {
	struct bf_host *host;
	struct belfry_reply *reply;
	struct belfry_id run;
	bool is_single; /* there is no other attempt */
	bool is_permanent[256];
};

/* --- the end --- */

static void reply_ended(struct call *call, const struct belfry_outcome *outcome)
{
	char turn[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(call->run, turn);
	(void)belfry_reply_turn(&call->reply, bf_str(turn), outcome); /* may be too late */
}

/* A failure that another attempt may not have. With output that is not whole it is said as an outcome, where
 * alone that can be said. */
static void reply_failed(struct call *call, const struct bf_exec_result *result,
		enum belfry_run_error error, const char *message, bool is_final)
{
	if (is_final && result->is_truncated) {
		const struct belfry_outcome outcome = {
				.size = sizeof(outcome),
				.status = BELFRY_STATUS_FAILED,
				.error = error,
				.run_flags = BELFRY_RUN_F_OUTPUT_TRUNCATED,
				.message = bf_str(message),
		};
		reply_ended(call, &outcome);
	} else if (is_final) {
		(void)belfry_reply_permanent(&call->reply, error, bf_str(message), result->detail);
	} else {
		(void)belfry_reply_retry(&call->reply, 0, error, bf_str(message), result->detail);
	}
}

static void reply_unstarted(struct call *call, const struct bf_exec_result *result)
{
	char message[BELFRY_ERROR_MESSAGE_BYTES];
	const char *what = result->end.is_cwd_failed ? "its folder (cwd)" : "the command";
	const char *why = "could not be used";

	switch (result->end.code) {
	case ENOENT: why = "is not there"; break;
	case ENOTDIR: why = "is not there: a part of its path is no folder"; break;
	case EACCES: why = "may not be used by the host's account"; break;
	case ENOEXEC: why = "is no program that the machine can run"; break;
	case ENOMEM:
	case EAGAIN:
	case EMFILE:
	case ENFILE:
	case ENOSPC:
		reply_failed(call, result, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				"the command could not be started just now", false);
		return;
	default: break;
	}
	(void)snprintf(message, sizeof(message), "the command was not started: %s %s", what, why);
	reply_failed(call, result, BELFRY_RUN_ERROR_PERMANENT, message, true);
}

static void reply_by_itself(struct call *call, const struct bf_exec_result *result)
{
	const struct bf_exec_end *end = &result->end;
	char message[64];

	if (end->how == BF_EXEC_SIGNALLED) {
		(void)snprintf(message, sizeof(message), "ended by signal %d", end->code);
		reply_failed(call, result, BELFRY_RUN_ERROR_TARGET_ANSWERED, message,
				call->is_single);
	} else if (end->code == 0) {
		const struct belfry_outcome outcome = {
				.size = sizeof(outcome),
				.status = BELFRY_STATUS_COMPLETED,
				.run_flags = result->is_truncated ? BELFRY_RUN_F_OUTPUT_TRUNCATED
								  : 0,
		};
		reply_ended(call, &outcome);
	} else {
		(void)snprintf(message, sizeof(message), "exit status %d", end->code);
		reply_failed(call, result, BELFRY_RUN_ERROR_TARGET_ANSWERED, message,
				call->is_single || call->is_permanent[end->code & 0xff]);
	}
}

static void reply_end(struct call *call, const struct bf_exec_result *result)
{
	if (result->end.how == BF_EXEC_UNSTARTED) {
		reply_unstarted(call, result);
	} else if (result->end.by == BF_EXEC_BY_TIMEOUT) {
		reply_failed(call, result, BELFRY_RUN_ERROR_TIMEOUT,
				"the command ran past its time limit and was ended",
				call->is_single);
	} else {
		reply_by_itself(call, result);
	}
}

static void on_done(void *data, const struct bf_exec_result *result)
{
	struct call *call = data;

	switch (result->kind) {
	case BF_EXEC_ENDED: reply_end(call, result); break;
	case BF_EXEC_REFUSED:
		(void)belfry_reply_permanent(&call->reply,
				result->status == BELFRY_TARGET_NOT_ALLOWED
						? BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED
						: BELFRY_RUN_ERROR_PERMANENT,
				result->message, result->detail);
		break;
	case BF_EXEC_NOT_NOW:
	case BF_EXEC_CANCELLED:
		(void)belfry_reply_retry(&call->reply, BUSY_AFTER,
				BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("the command could not be started just now"),
				result->detail);
		break;
	case BF_EXEC_BUSY:
		(void)belfry_reply_retry(&call->reply, BUSY_AFTER,
				BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("an earlier start of the same Run is still being settled"),
				result->detail);
		break;
	case BF_EXEC_INTERRUPTED:
		reply_failed(call, result, BELFRY_RUN_ERROR_INTERRUPTED,
				"the host went away while the command ran, and it is not run twice",
				true);
		break;
	}
	bf_free(call);
}

/* --- the start --- */

struct texts {
	char run[BELFRY_ID_TEXT_BYTES];
	char source[BELFRY_ID_TEXT_BYTES];
	char due[BF_TIME_TEXT_BYTES];
	char fence[24];
	char attempt[24];
	char revision[24];
	char stands_for[24];
};

static void add(struct bf_exec_variable *variables, size_t *count, const char *name,
		struct belfry_str value)
{
	variables[(*count)++] = (struct bf_exec_variable){.name = bf_str(name), .value = value};
}

/* The host's own, behind which the deployment's follow. */
static size_t list_own(const struct belfry_invocation *invocation, const struct bf_payload *payload,
		struct texts *texts, struct bf_exec_variable *variables)
{
	size_t count = 0;

	belfry_id_format(invocation->run, texts->run);
	(void)snprintf(texts->fence, sizeof(texts->fence), "%llu",
			(unsigned long long)invocation->fence);
	(void)snprintf(texts->attempt, sizeof(texts->attempt), "%u", invocation->attempt);
	(void)snprintf(texts->revision, sizeof(texts->revision), "%lld",
			(long long)invocation->revision);
	(void)snprintf(texts->stands_for, sizeof(texts->stands_for), "%u",
			BF_MAX(invocation->stands_for, 1u));
	add(variables, &count, "TZ", payload->limits.timezone);
	add(variables, &count, "BELFRY_RUN", bf_str(texts->run));
	add(variables, &count, "BELFRY_FENCE", bf_str(texts->fence));
	add(variables, &count, "BELFRY_ATTEMPT", bf_str(texts->attempt));
	add(variables, &count, "BELFRY_DEPLOYMENT", invocation->schedule);
	add(variables, &count, "BELFRY_DEPLOYMENT_NAME",
			bf_json_str(json_object_get(payload->deployment, "name")));
	add(variables, &count, "BELFRY_REVISION", bf_str(texts->revision));
	add(variables, &count, "BELFRY_TRIGGER", bf_str(belfry_trigger_name(invocation->trigger)));
	add(variables, &count, "BELFRY_STANDS_FOR", bf_str(texts->stands_for));
	if (invocation->due_at != 0) {
		bf_time_format(invocation->due_at, 0, texts->due);
		add(variables, &count, "BELFRY_DUE_AT", bf_str(texts->due));
	}
	if (!bf_id_is_zero(invocation->replayed_from)) {
		belfry_id_format(invocation->replayed_from, texts->source);
		add(variables, &count, "BELFRY_REPLAYED_FROM", bf_str(texts->source));
	}
	return count;
}

static size_t list_given(const struct bf_target_exec *target, struct bf_exec_variable *variables)
{
	const char *key;
	json_t *value;
	size_t count = 0;

	if (target->env == NULL) {
		return 0;
	}
	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)target->env, key, value)
	{
		if (count == BF_EXEC_VARIABLES) {
			break; /* none was saved with more */
		}
		variables[count++] = (struct bf_exec_variable){
				.name = bf_str(key),
				.value = bf_json_str(value),
				.secret = bf_json_str(json_object_get(value, "secret")),
		};
	}
	return count;
}

static void note_exits(const struct bf_target_exec *target, struct call *call)
{
	for (size_t i = 0; i < json_array_size(target->permanent_exit); i++) {
		json_int_t code = json_integer_value(json_array_get(target->permanent_exit, i));
		call->is_permanent[code & 0xff] = true;
	}
}

static enum belfry_status start(struct call *call, const struct bf_payload *payload,
		const struct belfry_invocation *invocation, struct belfry_error *err)
{
	const struct bf_target_exec *target = &payload->target.exec;
	struct bf_exec_variable variables[OWN_VARIABLES + BF_EXEC_VARIABLES];
	struct belfry_str arguments[BF_EXEC_ARGUMENTS];
	size_t count = BF_MIN(json_array_size(target->command), (size_t)BF_EXEC_ARGUMENTS);
	BF_CLEANUP(bf_buf_fini) struct bf_buf input = {0};
	struct texts texts;

	for (size_t i = 0; i < count; i++) {
		arguments[i] = bf_json_str(json_array_get(target->command, i));
	}
	if (payload->input != NULL && bf_json_dump(payload->input, &input) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	size_t own = list_own(invocation, payload, &texts, variables);
	const struct bf_exec_request request = {
			.size = sizeof(request),
			.run = invocation->run,
			.fence = invocation->fence,
			.attempt = invocation->attempt,
			.arguments = arguments,
			.argument_count = count,
			.variables = variables,
			.variable_count = own + list_given(target, variables + own),
			.cwd = target->cwd,
			.prompt = payload->prompt,
			.input = bf_buf_str(&input),
			.output_limit = (uint64_t)target->output_limit,
			.timeout = payload->limits.timeout,
			.is_abandoned = payload->limits.is_abandoned,
			.done = on_done,
			.data = call,
	};
	return bf_exec_start(call->host->exec, &request, err);
}

void bf_dispatch_exec(struct bf_host *host, const struct bf_payload *payload,
		const struct belfry_invocation *invocation, struct belfry_reply *reply)
{
	struct belfry_error err = {0};
	struct call *call = bf_alloc(sizeof(*call));

	if (call == NULL || host->exec == NULL) {
		bf_free(call);
		if (host->exec == NULL) {
			(void)belfry_reply_permanent(&reply, BELFRY_RUN_ERROR_TARGET_NOT_ALLOWED,
					BF_STR("this host runs no commands: start it with "
					       "--allow-exec"),
					BF_STR(""));
			return;
		}
		(void)belfry_reply_retry(&reply, BUSY_AFTER, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("the command could not be started just now"),
				BF_STR("out of memory"));
		return;
	}
	*call = (struct call){.host = host,
			.reply = reply,
			.run = invocation->run,
			.is_single = payload->limits.is_single};
	note_exits(&payload->target.exec, call);
	if (start(call, payload, invocation, &err) != BELFRY_OK) {
		(void)belfry_reply_retry(&call->reply, BUSY_AFTER,
				BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("the command could not be started just now"),
				bf_str(err.message));
		bf_free(call);
	}
}
