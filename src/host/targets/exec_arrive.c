/* Who comes to the target `exec`: a new call, one for a command that runs or ran already, and the end of a
 * call. Two calls of one Run meet here, on the loop's thread: the one with the higher fence goes on with
 * what there is, and a command is never started beside another of its Run. */
#include "base/alloc.h"
#include "base/hash.h"
#include "base/id.h"
#include "host/targets/exec_priv.h"

struct bf_list *bf_exec_bucket_of(struct bf_exec *exec, struct belfry_id run)
{
	return &exec->commands[bf_hash64(0, run.bytes, sizeof(run.bytes)) % BF_EXEC_BUCKETS];
}

struct bf_exec_command *bf_exec_find(struct bf_exec *exec, struct belfry_id run)
{
	for (struct bf_link *link = bf_exec_bucket_of(exec, run)->first; link != NULL;
			link = link->next) {
		struct bf_exec_command *command = BF_CONTAINER(link, struct bf_exec_command, all);
		if (bf_id_compare(command->request.run, run) == 0) {
			return command;
		}
	}
	return NULL;
}

static void insert(struct bf_exec_command *command)
{
	bf_exec_lock(command->exec);
	bf_list_append(bf_exec_bucket_of(command->exec, command->request.run), &command->all);
	bf_exec_unlock(command->exec);
}

/* The earlier one's document is written over by the new one's. */
static void replace(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	fresh->etag = old->etag;
	bf_exec_forget(old);
	insert(fresh);
	fresh->state = BF_EXEC_WAITING;
	bf_list_append(&fresh->exec->waiting, &fresh->link);
}

/* The one that runs, or ran, is what the new call asks for. */
static void take_over(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	struct bf_exec *exec = old->exec;

	bf_exec_lock(exec);
	bf_list_move(bf_exec_bucket_of(exec, old->request.run), &old->all);
	old->request.fence = fresh->request.fence;
	old->request.attempt = fresh->request.attempt;
	old->request.done = fresh->request.done;
	old->request.data = fresh->request.data;
	fresh->request.done = NULL;
	bf_list_remove(&fresh->cancelled);
	bf_exec_unlock(exec);
	bf_exec_command_free(fresh);
	bf_log(exec->options.env, BF_LOG_INFO, "event=exec_adopted run=%s pid=%d state=%s",
			old->run_text, (int)old->identity.pid,
			old->state == BF_EXEC_SETTLED ? "ended" : "running");
	if (old->state == BF_EXEC_SETTLED) {
		bf_exec_check_in(old, BF_EXEC_CHECK_FIRST);
		bf_exec_deliver_end(old);
		return;
	}
	old->needs_note = true;
	if (old->request.is_abandoned) {
		bf_exec_tell_to_end(old);
	}
}

void bf_exec_let_go(struct bf_exec_command *command)
{
	if (command->state == BF_EXEC_WAITING) {
		bf_exec_leave(command);
		bf_exec_deliver_kind(command, BF_EXEC_CANCELLED);
	} else if (command->state < BF_EXEC_RUNNING) {
		command->is_cancelled = true; /* its job is out */
	} else {
		bf_exec_deliver_kind(command, BF_EXEC_CANCELLED);
		bf_exec_check_in(command, 0);
		if (command->state == BF_EXEC_RUNNING && command->request.is_abandoned) {
			bf_exec_tell_to_end(command);
		}
	}
}

/* It meets the old one when that has no job out. Who waited for the same has a lower fence. */
static void succeed(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	bf_exec_lock(old->exec);
	struct bf_exec_command *earlier = old->successor;
	old->successor = fresh;
	bf_exec_unlock(old->exec);
	if (earlier != NULL) {
		bf_exec_deliver_kind(earlier, BF_EXEC_CANCELLED);
		bf_exec_command_free(earlier);
	}
}

static void meet(struct bf_exec_command *old, struct bf_exec_command *fresh)
{
	bool is_settled = old->state == BF_EXEC_SETTLED;
	bool is_next = old->request.attempt < fresh->request.attempt ||
			(is_settled && old->result.kind == BF_EXEC_NOT_NOW);

	if (old->request.done != NULL) {
		bf_exec_let_go(old); /* of a lower fence */
	}
	if (old->is_busy) {
		succeed(old, fresh);
	} else if (is_settled && is_next) {
		replace(old, fresh);
	} else if (!is_next && old->state >= BF_EXEC_RUNNING && old->state <= BF_EXEC_SETTLED) {
		take_over(old, fresh);
	} else {
		bf_exec_deliver_kind(fresh, BF_EXEC_BUSY);
		bf_exec_command_free(fresh);
	}
}

void bf_exec_arrive(struct bf_exec_command *command)
{
	struct bf_exec_command *old = bf_exec_find(command->exec, command->request.run);

	if (command->is_cancelled) { /* while it waited to meet another */
		bf_exec_deliver_kind(command, BF_EXEC_CANCELLED);
		bf_exec_command_free(command);
		return;
	}
	if (old != NULL) {
		meet(old, command);
		return;
	}
	insert(command);
	if (command->state == BF_EXEC_RUNNING) {
		command->is_placed = command->pidfd >= 0;
		command->exec->running += command->is_placed;
		bf_exec_watch(command);
	} else {
		bf_exec_look(command);
	}
}
