/* The handler: Sessions and turns of the far end, and what must hold of each call that reaches it.
 *
 * Half of the worlds have a host that is not idempotent by the Run's id and answers each start_session
 * with another Session: the store must keep the first one all the same (T033). */
#include "sim/sim_priv.h"

#include "base/hash.h"

struct late_answer {
	struct sim_process *process;
	struct bf_token token;
	struct bf_sim_reply reply;
	char name[BF_SIM_NAME_BYTES];
};

void bf_sim_set_handler(struct bf_sim *sim, bf_sim_handler_fn handler, void *data)
{
	sim->handler = handler;
	sim->handler_data = data;
}

const struct bf_sim_call *bf_sim_calls(const struct bf_sim *sim, size_t *ret_count)
{
	*ret_count = sim->call_count;
	return sim->calls;
}

/* ---- what must hold of a call ------------------------------------------------------------------ */

static void check_caller(struct sim_process *process, const struct bf_call *call,
		const struct sim_run *run)
{
	struct bf_sim *sim = process->sim;

	if (!process->has_cover || sim_boot(process).us >= process->act_until) {
		sim_fail(sim, "no call by a holder that can know it is lost", "r%u calls Run %s",
				process->replica, sim_short_id(run->id).text);
	}
	if (run->called_fence > call->token.fence) {
		sim->counts.stale_calls++;
	}
	bool is_other = bf_id_compare(run->called_by, process->incarnation) != 0;
	if (run->called_fence == call->token.fence && is_other) {
		sim_fail(sim, "fences rise from holder to holder", "Run %s, fence %llu",
				sim_short_id(run->id).text, (unsigned long long)call->token.fence);
	}
	if (run->heard[process->replica] == process->generation) {
		sim_fail(sim, "no call begins for a Run whose cancel was heard", "r%u calls Run %s",
				process->replica, sim_short_id(run->id).text);
	}
	if (call->run->takeovers > sim->config.recovery_limit) {
		sim_fail(sim, "the recovery limit ends a Run", "Run %s is called, takeovers %u",
				sim_short_id(run->id).text, call->run->takeovers);
	}
}

static void check_row(struct sim_process *process, const struct bf_call *call,
		const struct sim_run *run)
{
	struct bf_sim *sim = process->sim;
	struct belfry_run row;
	bool is_local = (call->run->run_flags & BELFRY_RUN_F_LOCAL_SESSION) != 0;

	belfry_arena_reset(&sim->outer);
	if (!bf_sim_find_run(sim, run->id, &sim->outer, &row)) {
		return;
	}
	bool is_turn = call->token.step == BELFRY_STEP_TURN;
	if (is_turn && !is_local &&
			(row.session.len == 0 || !bf_str_equal(row.session, call->session))) {
		sim_fail(sim, "the Session is stored before the turn", "Run %s: \"%.*s\" is stored",
				sim_short_id(run->id).text, BF_STR_ARGS(row.session));
	}
	if (row.fence != call->token.fence) {
		return; /* lost, and it cannot know */
	}
	if (row.state == BELFRY_RUN_DISPATCHING &&
			bf_id_compare(row.holder, process->incarnation) != 0) {
		sim_fail(sim, "no call by a holder that can know it is lost",
				"r%u calls Run %s, which an incarnation of its holds that is over",
				process->replica, sim_short_id(run->id).text);
	}
	if (row.state != BELFRY_RUN_DISPATCHING && !run->is_ended_by_host) {
		sim_fail(sim, "a Run that has ended is not called", "Run %s is %s",
				sim_short_id(run->id).text, belfry_run_state_name(row.state));
	}
	if (!is_turn && row.session.len > 0) {
		sim_fail(sim, "a stored Session is not asked for again", "Run %s",
				sim_short_id(run->id).text);
	}
}

static uint64_t hash_invocation(const struct bf_call *call)
{
	const struct bf_owned_run *run = call->run;
	uint64_t hash = bf_hash64(1, call->payload.ptr, call->payload.len);

	hash = bf_hash64(hash, run->schedule, run->schedule_len);
	hash = bf_hash64(hash, &run->revision, sizeof(run->revision));
	hash = bf_hash64(hash, &run->due_at, sizeof(run->due_at));
	hash = bf_hash64(hash, &run->trigger, sizeof(run->trigger));
	hash = bf_hash64(hash, run->replayed_from.bytes, sizeof(run->replayed_from.bytes));
	return bf_hash64(hash, &run->stands_for, sizeof(run->stands_for)) | 1;
}

static void check_invocation(struct bf_sim *sim, const struct bf_call *call, struct sim_run *run)
{
	struct sim_revision *revision = sim_revision_find(run->deployment, run->revision);
	uint64_t hash = hash_invocation(call);

	if (revision != NULL && !bf_str_equal(bf_str(revision->payload), call->payload)) {
		sim_fail(sim, "a Run carries the payload of its revision", "Run %s: \"%.*s\"",
				sim_short_id(run->id).text, BF_STR_ARGS(call->payload));
	}
	if (run->invocation_hash != 0 && run->invocation_hash != hash) {
		sim_fail(sim, "a call repeated is an equal invocation", "Run %s",
				sim_short_id(run->id).text);
	}
	run->invocation_hash = hash;
	bool is_abandoned = revision != NULL && call->run->takeovers > 0 &&
			revision->policies.interrupted == BELFRY_INTERRUPTED_ABANDON;
	if (is_abandoned) {
		sim_fail(sim, "an abandoned Run is not called again", "Run %s",
				sim_short_id(run->id).text);
	}
}

/* ---- answers ----------------------------------------------------------------------------------- */

static struct sim_answer *new_answer(const struct late_answer *late)
{
	struct sim_answer *answer = sim_alloc(sizeof(*answer));
	bool is_turn = late->token.step == BELFRY_STEP_TURN;

	answer->answer.token = late->token;
	answer->answer.owner = answer;
	memcpy(answer->name, late->name, sizeof(answer->name));
	switch (late->reply.kind) {
	case BF_SIM_REPLY_OK:
	case BF_SIM_REPLY_OPEN:
		answer->answer.kind = is_turn ? BF_ANSWER_TURN : BF_ANSWER_SESSION;
		answer->answer.name = bf_str(answer->name);
		answer->answer.has_outcome = is_turn && late->reply.kind == BF_SIM_REPLY_OK;
		answer->answer.status = BELFRY_STATUS_COMPLETED;
		break;
	case BF_SIM_REPLY_RETRY:
		answer->answer.kind = BF_ANSWER_RETRY;
		answer->answer.after = late->reply.after;
		answer->answer.error = BELFRY_RUN_ERROR_TARGET_UNREACHABLE;
		break;
	case BF_SIM_REPLY_PERMANENT:
	case BF_SIM_REPLY_HANG:
	case BF_SIM_REPLY_CRASH:
		answer->answer.kind = BF_ANSWER_PERMANENT;
		answer->answer.error = BELFRY_RUN_ERROR_PERMANENT;
		break;
	}
	return answer;
}

static void come_back(struct bf_sim *sim, void *data, int64_t number)
{
	struct late_answer *late = data;
	struct sim_process *process = late->process;

	(void)number;
	if (!process->is_dead && !sim->is_closing) {
		struct sim_message message = {.kind = SIM_MESSAGE_ANSWER,
				.answer = &new_answer(late)->answer};
		sim_post(process, SIM_DISPATCHER, &message);
	}
	bf_free(late);
	sim_process_drop(&process);
}

static void answer_later(struct sim_process *process, const struct bf_call *call,
		struct bf_sim_reply reply, const char *name, belfry_duration delay)
{
	struct late_answer *late = sim_alloc(sizeof(*late));

	*late = (struct late_answer){process, call->token, reply, ""};
	(void)snprintf(late->name, sizeof(late->name), "%s", name);
	sim_process_hold(process);
	sim_at(process->sim, process->sim->now + delay, come_back, late, 0);
}

static void name_answer(struct bf_sim *sim, const struct bf_call *call, struct sim_run *run,
		char name[BF_SIM_NAME_BYTES])
{
	char id[BELFRY_ID_TEXT_BYTES];
	bool is_session = call->token.step == BELFRY_STEP_SESSION;
	unsigned count = is_session ? ++run->sessions_asked : ++run->turns_asked;

	belfry_id_format(run->id, id);
	if (sim->config.seed % 2 == 0) {
		(void)snprintf(name, BF_SIM_NAME_BYTES, "%s-%s", is_session ? "session" : "turn",
				id);
	} else {
		(void)snprintf(name, BF_SIM_NAME_BYTES, "%s-%u-%s", is_session ? "session" : "turn",
				count, id);
	}
}

/* ---- the call ---------------------------------------------------------------------------------- */

static void copy_text(char *to, size_t size, struct belfry_str text)
{
	(void)snprintf(to, size, "%.*s", BF_STR_ARGS(text));
}

static struct bf_sim_call *log_call(struct sim_process *process, const struct bf_call *call)
{
	struct bf_sim *sim = process->sim;

	BF_ASSERT(BF_GROW(sim->calls, sim->call_capacity, sim->call_count + 1) == BELFRY_OK);
	struct bf_sim_call *log = &sim->calls[sim->call_count++];
	*log = (struct bf_sim_call){.at = sim_wall(sim),
			.elapsed = sim->now,
			.replica = process->replica,
			.run = call->token.run,
			.trigger = call->run->trigger,
			.step = call->token.step,
			.fence = call->token.fence,
			.attempt = call->token.attempt,
			.takeovers = call->run->takeovers,
			.revision = call->run->revision,
			.due_at = call->run->due_at,
			.replayed_from = call->run->replayed_from};
	copy_text(log->deployment, sizeof(log->deployment),
			(struct belfry_str){call->run->schedule, call->run->schedule_len});
	copy_text(log->session, sizeof(log->session), call->session);
	copy_text(log->payload, sizeof(log->payload), call->payload);
	return log;
}

static struct bf_sim_reply decide(struct bf_sim *sim, const struct bf_sim_call *call)
{
	if (sim->is_quiet || (sim->handler == NULL && !sim->config.has_faults)) {
		return (struct bf_sim_reply){.kind = BF_SIM_REPLY_OK,
				.delay = 10 * BELFRY_MILLISECOND};
	}
	return sim->handler != NULL ? sim->handler(sim->handler_data, call)
				    : sim_handler_world(sim, call);
}

void sim_handler_call(struct sim_process *process, const struct bf_call *call)
{
	struct bf_sim *sim = process->sim;
	struct sim_run *run = sim_run_find(sim, call->token.run);
	char name[BF_SIM_NAME_BYTES];
	bool is_session = call->token.step == BELFRY_STEP_SESSION;

	if (run == NULL) {
		sim_fail(sim, "only Runs that are stored are called", "Run %s",
				sim_short_id(call->token.run).text);
		return;
	}
	check_caller(process, call, run);
	check_row(process, call, run);
	check_invocation(sim, call, run);
	run->called_fence = BF_MAX(run->called_fence, call->token.fence);
	if (run->called_fence == call->token.fence) {
		run->called_by = process->incarnation;
	}
	sim->counts.session_calls += is_session;
	sim->counts.turn_calls += !is_session;
	struct bf_sim_reply reply = decide(sim, log_call(process, call));
	sim_trace(sim, "r%u calls %s of Run %s, fence %llu, attempt %u", process->replica,
			is_session ? "start_session" : "admit_turn", sim_short_id(run->id).text,
			(unsigned long long)call->token.fence, call->token.attempt);
	name_answer(sim, call, run, name);
	if (reply.kind == BF_SIM_REPLY_CRASH) {
		sim->counts.crashes++;
		sim_process_kill(process, "a call killed it");
		return;
	}
	if (reply.kind != BF_SIM_REPLY_HANG) {
		answer_later(process, call, reply, name, reply.delay);
	}
	if (reply.is_doubled) {
		answer_later(process, call, reply, name, reply.delay + 17 * BELFRY_MINUTE);
	}
}

void sim_handler_cancel(struct sim_process *process, const struct bf_token *token)
{
	struct bf_sim *sim = process->sim;

	for (size_t i = sim->call_count; i > 0; i--) {
		struct bf_sim_call *call = &sim->calls[i - 1];
		if (call->fence == token->fence && bf_id_compare(call->run, token->run) == 0) {
			call->is_cancelled = true;
			return;
		}
	}
}
