/* The target `exec`: local commands, each under a supervisor (exec_supervisor.h) that outlives the host.
 *
 * Never twice  before a command may start, its supervisor's pid and start time are a document of the store
 *              (kind "exec", id the Run's). Whoever finds the document does not start the command again:
 *              it is adopted while it lives, or its end is read from its folder, or nobody knows how it
 *              ended (BF_EXEC_INTERRUPTED). A host that died in between leaves a closed gate.
 * Folders      DATA/exec/RUN is the supervisor's and goes when the Run's end is on record; DATA/sessions/RUN
 *              is the Session's, where the command runs; it goes then where it is empty.
 * Threads      all but new, recover and free from any, and none blocks. `done` is called once for each
 *              start that was taken, on the target's own thread, and must not block.
 * Not here     what an end means for the Run (dispatch_exec.c). */
#ifndef BF_HOST_TARGETS_EXEC_H
#define BF_HOST_TARGETS_EXEC_H

#include <belfry/scheduler.h>

#include "host/outputs.h"
#include "host/targets/exec_supervisor.h"
#include "host/targets/secrets.h"

struct bf_exec;

/* What is named by --allow-exec: exactly these, as text. */
struct bf_exec_allowed {
	const char *const *programs;
	size_t count;
};

struct bf_exec_options {
	size_t size;
	const struct bf_env *env; /* borrowed until free, like all that follows */
	struct bf_outputs *outputs;
	struct bf_store *store;
	struct belfry_scheduler *scheduler; /* asked what became of Runs */
	const struct bf_secrets *secrets;   /* NULL: there are none */
	const char *data_folder;            /* absolute */
	const char *program;                /* the supervisor's; NULL: this one */
	const struct bf_exec_allowed *allowed;
	unsigned concurrent;   /* commands at once */
	uint64_t output_limit; /* no command's is higher */
};

enum bf_exec_kind {
	BF_EXEC_ENDED,       /* `end` says how */
	BF_EXEC_REFUSED,     /* not started: `message` says why (a secret, the list) */
	BF_EXEC_NOT_NOW,     /* not started: no resources, or the store is away */
	BF_EXEC_BUSY,        /* not started: the attempt before is not settled yet */
	BF_EXEC_INTERRUPTED, /* its host went away: it was ended, or nobody knows how it ended */
	BF_EXEC_CANCELLED,   /* by bf_exec_cancel or free */
};

/* Text is borrowed for the length of the callback. */
struct bf_exec_result {
	enum bf_exec_kind kind;
	enum belfry_status status; /* with REFUSED */
	struct bf_exec_end end;
	bool is_truncated; /* the output is not whole */
	struct belfry_str message;
	struct belfry_str detail;
};

typedef void (*bf_exec_done_fn)(void *data, const struct bf_exec_result *result);

struct bf_exec_variable {
	struct belfry_str name;
	struct belfry_str value;
	struct belfry_str secret; /* its name, where the value is one */
};

/* All text is copied. */
struct bf_exec_request {
	size_t size;
	struct belfry_id run;
	belfry_fence fence;
	uint32_t attempt;
	const struct belfry_str *arguments; /* the first is the program */
	size_t argument_count;
	const struct bf_exec_variable
			*variables; /* all but what is the process's own (exec_start.c) */
	size_t variable_count;
	struct belfry_str cwd; /* empty: the Session's own folder */
	struct belfry_str prompt;
	struct belfry_str input; /* JSON; empty: none */
	uint64_t output_limit;
	belfry_duration timeout; /* of the command, not of its wait; 0: none */
	bool is_abandoned;       /* after an interruption it is ended, and not adopted */
	bf_exec_done_fn done;
	void *data;
};

BF_MUST_CHECK enum belfry_status bf_exec_new(const struct bf_exec_options *options,
		struct bf_exec **ret_exec, struct belfry_error *err);
/* Waiting starts end as CANCELLED. What runs goes on under its supervisor. NULL is fine. */
void bf_exec_free(struct bf_exec *exec);

/* BELFRY_OK, or BELFRY_TARGET_NOT_ALLOWED: the message names the flag. */
BF_MUST_CHECK enum belfry_status bf_exec_check(const struct bf_exec_allowed *allowed,
		struct belfry_str program, struct belfry_error *err);

/* What an earlier process of this data folder left: adopted, or noted how it ended. Before the first
 * start; blocks for the store. */
BF_MUST_CHECK enum belfry_status bf_exec_recover(struct bf_exec *exec, struct belfry_error *err);

/* BELFRY_OK: taken, `done` will be called. Else BELFRY_NOMEM, BELFRY_UNAVAILABLE (stopping). */
BF_MUST_CHECK enum belfry_status bf_exec_start(struct bf_exec *exec,
		const struct bf_exec_request *request, struct belfry_error *err);
/* The attempt is over for the provider. The command is ended, but for one that may be adopted while its
 * Run is not over: that goes on. */
void bf_exec_cancel(struct bf_exec *exec, struct belfry_id run, belfry_fence fence);

#endif
