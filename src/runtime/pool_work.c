/* One call of the blocking pool: what its function says while it works, and the answer that its return
 * value becomes. */
#include "base/alloc.h"
#include "runtime/pool_priv.h"
#include "runtime/replies.h"

struct belfry_work *bf_work_new(enum belfry_step step, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	struct belfry_work *work = bf_alloc(sizeof(*work));

	if (work == NULL || bf_call_copy_init(&work->call, invocation, session) != BELFRY_OK) {
		bf_free(work);
		return NULL;
	}
	work->step = step;
	work->reply = reply;
	return work;
}

void bf_work_free(struct belfry_work *work)
{
	if (work == NULL) {
		return;
	}
	if (work->reply != NULL) {
		(void)belfry_reply_retry(&work->reply, 0, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("the call was given back before a thread took it"),
				BF_STR(""));
	}
	bf_call_copy_fini(&work->call);
	bf_buf_fini(&work->name);
	bf_buf_fini(&work->message);
	bf_buf_fini(&work->detail);
	bf_free(work);
}

/* ---- the answer -------------------------------------------------------------------------------- */

static void answer_turn(struct belfry_work *work, struct belfry_str name)
{
	struct belfry_outcome outcome = {
			.size = sizeof(outcome),
			.status = work->has_end ? work->end : BELFRY_STATUS_COMPLETED,
			.error = work->error,
			.message = bf_buf_str(&work->message),
	};
	bool goes_on = outcome.status == BELFRY_STATUS_RUNNING;

	(void)belfry_reply_turn(&work->reply, name, goes_on ? NULL : &outcome);
}

static void answer_failure(struct belfry_work *work, enum belfry_status result)
{
	struct belfry_str message = bf_buf_str(&work->message);
	struct belfry_str detail = bf_buf_str(&work->detail);
	bool is_retry = belfry_status_class(result) == BELFRY_CLASS_RETRY;
	enum belfry_run_error error = work->error != BELFRY_RUN_ERROR_NONE ? work->error
			: is_retry ? BELFRY_RUN_ERROR_TARGET_ANSWERED
				   : BELFRY_RUN_ERROR_PERMANENT;

	if (message.len == 0) {
		message = bf_str(belfry_status_text(result));
	}
	if (is_retry) {
		(void)belfry_reply_retry(&work->reply, work->after, error, message, detail);
	} else {
		(void)belfry_reply_permanent(&work->reply, error, message, detail);
	}
}

void bf_work_answer(struct belfry_work *work, enum belfry_status result)
{
	char id[BELFRY_ID_TEXT_BYTES];
	struct belfry_str name = bf_buf_str(&work->name);

	if (name.len == 0) {
		belfry_id_format(work->call.invocation.run, id);
		name = bf_str(id);
	}
	if (result != BELFRY_OK) {
		answer_failure(work, result);
	} else if (work->step == BELFRY_STEP_SESSION) {
		(void)belfry_reply_session(&work->reply, name);
	} else {
		answer_turn(work, name);
	}
}

/* ---- inside a call ----------------------------------------------------------------------------- */

bool belfry_work_is_over(const struct belfry_work *work)
{
	return atomic_load(&work->is_over);
}

struct belfry_str belfry_work_session(const struct belfry_work *work)
{
	return work->call.session;
}

static enum belfry_status keep(struct bf_buf *buf, struct belfry_str text)
{
	bf_buf_clear(buf);
	bf_buf_append_str(buf, text);
	return bf_buf_status(buf);
}

enum belfry_status belfry_work_name(struct belfry_work *work, struct belfry_str name)
{
	if (name.len == 0 || name.ptr == NULL || name.len > BF_NAME_MAX_BYTES ||
			!bf_str_is_utf8(name)) {
		return BELFRY_INVALID;
	}
	return keep(&work->name, name);
}

/* What people read is UTF-8 whatever the work brought back, and a bad byte is no reason to lose the rest. */
static void keep_said(struct bf_buf *buf, struct belfry_str text)
{
	bf_buf_clear(buf);
	bf_buf_append_repaired(buf, text.ptr != NULL ? text : BF_STR(""));
}

void belfry_work_say(struct belfry_work *work, struct belfry_str message, struct belfry_str detail)
{
	/* Without memory the status's own words are said. */
	keep_said(&work->message, message);
	keep_said(&work->detail, detail);
}

void belfry_work_retry_after(struct belfry_work *work, belfry_duration after)
{
	work->after = after;
}

void belfry_work_end(struct belfry_work *work, enum belfry_run_status status,
		enum belfry_run_error error)
{
	work->has_end = true;
	work->end = status;
	work->error = error;
}
