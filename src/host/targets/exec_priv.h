/* Between the files of the target `exec`.
 *
 * A command is the loop's (exec.c), but while its job is with the writer's thread (is_busy): then it is the
 * job's, and the loop looks only at what the lock guards. */
#ifndef BF_HOST_TARGETS_EXEC_PRIV_H
#define BF_HOST_TARGETS_EXEC_PRIV_H

#include <pthread.h>
#include <sys/types.h>

#include <belfry/arena.h>

#include "host/targets/exec.h"

#define BF_EXEC_KIND       "exec"
#define BF_EXEC_BUCKETS    64
#define BF_EXEC_BOOT_BYTES 100

enum bf_exec_state {
	BF_EXEC_LOOKING,   /* has it been started before? */
	BF_EXEC_WAITING,   /* for a place */
	BF_EXEC_PREPARING, /* its folders, files and variables are made */
	BF_EXEC_STORING,   /* its supervisor waits at the gate */
	BF_EXEC_RUNNING,
	BF_EXEC_ENDING,  /* the rest of its output is stored, its end is read */
	BF_EXEC_SETTLED, /* waits for the Run's record */
	BF_EXEC_LEAVING  /* its document and folders go */
};

/* What the document says of a command: who it is. */
struct bf_exec_identity {
	pid_t pid;
	uint64_t start_time; /* /proc/PID/stat, field 22 */
	char boot[BF_EXEC_BOOT_BYTES];
};

/* What the document says besides. */
struct bf_exec_note {
	struct bf_exec_identity identity;
	belfry_fence fence;
	uint32_t attempt;
	uint64_t output_limit;
	bool is_abandoned;
	struct belfry_str folder; /* of the host's data */
};

struct bf_exec_command {
	struct bf_exec *exec;
	struct bf_link all;       /* in a bucket; its list is guarded by the lock */
	struct bf_link link;      /* in `arrived`, `returned`, `waiting`, or in none */
	struct bf_link cancelled; /* in the list of that name */
	struct bf_output_job job;
	enum bf_exec_state state;
	bool is_busy;
	struct bf_exec_command
			*successor; /* waits for its job, to meet it; owned; under the lock */
	/* the request; its fence and callback change under the lock */
	struct belfry_arena arena; /* its text */
	struct bf_exec_request request;
	char run_text[BELFRY_ID_TEXT_BYTES];
	char **argv;       /* of the supervisor, in the arena */
	char **envp;       /* the same */
	struct bf_buf env; /* what envp points into; may hold secrets */
	/* the supervisor */
	struct bf_exec_identity identity;
	int pidfd;   /* -1: none */
	int gate_fd; /* -1: none, or opened */
	bool is_child;
	bool is_recovered; /* an earlier host started it */
	bool is_gone;      /* it has ended */
	bool is_placed;    /* counts among those that run */
	bool needs_note;   /* the document has an older fence */
	int64_t etag;      /* of the document; 0: there is none */
	/* its output */
	uint64_t streamed; /* bytes in the store */
	bool is_output_begun;
	bool is_output_lost;
	bool is_output_delayed; /* the store was away */
	unsigned finish_tries;
	/* what became of it */
	bool is_cancelled; /* before it ran: it goes */
	bool is_told;      /* it shall end */
	bool is_orphan;    /* because its Run was over before */
	bool is_run_over;
	belfry_fence fence_seen; /* the Run's own, where it is over */
	bool has_result;
	struct bf_exec_result result;
	struct belfry_error failure; /* what the result's text points to */
	struct bf_boot_time check_at;
	belfry_duration check_after;
};

struct bf_exec {
	struct bf_exec_options options;
	struct bf_buf folder;   /* DATA/exec */
	struct bf_buf sessions; /* DATA/sessions */
	struct bf_buf account;  /* HOME=..., USER=..., LOGNAME=..., each ended by a NUL */
	char boot[BF_EXEC_BOOT_BYTES];
	pthread_t thread;
	int epoll_fd;
	int wake_fd;
	pthread_mutex_t lock; /* guards the next seven, and what is said above */
	struct bf_list arrived;
	struct bf_list returned; /* commands whose job is done */
	struct bf_list cancelled;
	bool is_stopping;
	bool is_swept;    /* the job is done */
	bool wants_sweep; /* at once */
	struct bf_list commands[BF_EXEC_BUCKETS];
	/* the loop's own */
	struct bf_list waiting;
	size_t running; /* places taken */
	size_t busy;    /* jobs out */
	bool is_winding_up;
	bool is_sweeping; /* its job is out */
	struct bf_output_job sweep;
	struct bf_boot_time sweep_at;
	belfry_duration sweep_after;
};

/* --- exec.c: the loop --- */

static inline void bf_exec_lock(struct bf_exec *exec)
{
	(void)pthread_mutex_lock(&exec->lock); /* fails only for what is a bug */
}

static inline void bf_exec_unlock(struct bf_exec *exec)
{
	(void)pthread_mutex_unlock(&exec->lock);
}

/* Under the lock: else the loop may be gone as soon as it has what it waited for. */
void bf_exec_wake(struct bf_exec *exec);
struct bf_boot_time bf_exec_now(const struct bf_exec *exec);

/* --- exec_steps.c: what comes next for a command; on the loop's thread, like exec_arrive.c --- */

/* Is there a document of this Run? The first step. */
void bf_exec_look(struct bf_exec_command *command);
/* A job is done. */
void bf_exec_come_back(struct bf_exec_command *command);
/* The supervisor's end is to be seen. */
void bf_exec_watch(struct bf_exec_command *command);
/* The supervisor has ended. */
void bf_exec_reap(struct bf_exec_command *command);
void bf_exec_tell_to_end(struct bf_exec_command *command);
/* Whether its Run is over is asked for after so long; at first after: */
#define BF_EXEC_CHECK_FIRST BELFRY_SECOND
void bf_exec_check_in(struct bf_exec_command *command, belfry_duration after);
/* Tells the caller, once. */
void bf_exec_deliver(struct bf_exec_command *command, const struct bf_exec_result *result);
void bf_exec_deliver_kind(struct bf_exec_command *command, enum bf_exec_kind kind);
void bf_exec_deliver_end(struct bf_exec_command *command);
/* Its document goes, and then itself. */
void bf_exec_leave(struct bf_exec_command *command);
/* Itself alone. */
void bf_exec_forget(struct bf_exec_command *command);
/* Whatever is due for those without a job. Returns when to look again without being woken. */
struct bf_boot_time bf_exec_consider_all(struct bf_exec *exec);
/* Who waits gets the places that are free. */
void bf_exec_fill_places(struct bf_exec *exec);

/* --- exec_arrive.c --- */

struct bf_list *bf_exec_bucket_of(struct bf_exec *exec, struct belfry_id run);
/* NULL: none. */
struct bf_exec_command *bf_exec_find(struct bf_exec *exec, struct belfry_id run);
void bf_exec_arrive(struct bf_exec_command *command);
/* Its call is over. */
void bf_exec_let_go(struct bf_exec_command *command);

/* --- exec_command.c: one command in memory, and its jobs (on the writer's thread) --- */

/* NULL: no memory. `request` may be NULL: one that is recovered. */
struct bf_exec_command *bf_exec_command_new(struct bf_exec *exec,
		const struct bf_exec_request *request);
void bf_exec_command_free(struct bf_exec_command *command);
/* Text and secrets that are not needed any more. */
void bf_exec_command_release(struct bf_exec_command *command);
/* Sets the result that a failed start has. */
void bf_exec_command_fail(struct bf_exec_command *command, enum belfry_status status,
		const struct belfry_error *err);

void bf_exec_job_look(struct bf_exec_command *command);
void bf_exec_job_prepare(struct bf_exec_command *command);
void bf_exec_job_store(struct bf_exec_command *command);
void bf_exec_job_note(struct bf_exec_command *command);
void bf_exec_job_check(struct bf_exec_command *command);
void bf_exec_job_leave(struct bf_exec_command *command);

/* --- exec_record.c: the document --- */

void bf_exec_note_format(const struct bf_exec_note *note, struct bf_buf *out);
/* BELFRY_OK; BELFRY_CORRUPT; BELFRY_NOMEM. Text is copied to the arena. */
BF_MUST_CHECK enum belfry_status bf_exec_note_parse(struct belfry_str bytes,
		struct belfry_arena *arena, struct bf_exec_note *ret_note);
/* Blocking, like all that follows. Puts the document of a command, and takes its etag. */
BF_MUST_CHECK enum belfry_status bf_exec_note_put(struct bf_exec_command *command,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_exec_note_get(struct bf_exec_command *command,
		struct belfry_arena *arena, struct bf_exec_note *ret_note,
		struct belfry_error *err);
void bf_exec_note_remove(struct bf_exec_command *command);

/* --- exec_process.c: processes by pid and start time --- */

/* The boot, and the space of pids that we are in. */
void bf_exec_boot_read(char boot[BF_EXEC_BOOT_BYTES]);
BF_MUST_CHECK enum belfry_status bf_exec_start_time(pid_t pid, uint64_t *ret_start_time);
/* -1: it does not live. Else a descriptor that is readable once it does not. */
int bf_exec_process_open(const struct bf_exec_identity *identity);
void bf_exec_process_signal(int pidfd, int signal);
/* What lives of the session of a supervisor that was killed, and was started for this Run. */
void bf_exec_session_kill(pid_t session, struct belfry_str run);
/* Fields 22 (start time) and 6 (session) of /proc/PID/stat. BELFRY_OK or BELFRY_CORRUPT. */
BF_MUST_CHECK enum belfry_status bf_exec_stat_parse(struct belfry_str text,
		uint64_t *ret_start_time, int64_t *ret_session);

/* --- exec_start.c: folders, variables, the supervisor --- */

/* BELFRY_OK; else err has the words: of class CALLER or TARGET_NOT_ALLOWED for good. */
BF_MUST_CHECK enum belfry_status bf_exec_prepare(struct bf_exec_command *command,
		struct belfry_error *err);
/* The supervisor at its gate; on the loop. */
BF_MUST_CHECK enum belfry_status bf_exec_spawn(struct bf_exec_command *command,
		struct belfry_error *err);
void bf_exec_open_gate(struct bf_exec_command *command);
void bf_exec_close_gate(struct bf_exec_command *command);
/* Makes a folder, its parents too. */
BF_MUST_CHECK enum belfry_status bf_exec_make_folder(const char *path, struct belfry_error *err);
void bf_exec_remove_folders(struct bf_exec_command *command);
/* A file of the command's folder. -1: there is none. */
int bf_exec_open_file(const struct bf_exec_command *command, const char *name);

/* --- exec_sweep.c --- */

void bf_exec_sweep(struct bf_exec *exec);
/* Is there a command of this Run in memory? (exec.c) */
bool bf_exec_knows(struct bf_exec *exec, struct belfry_id run);

/* --- exec_output.c --- */

/* Begins anew: an output of an earlier attempt goes. */
void bf_exec_begin_output(struct bf_exec_command *command);
/* Brings what is new in the head to the store. */
void bf_exec_stream(struct bf_exec_command *command);
/* Is there anything new? Blocks for no more than a look at the file. */
bool bf_exec_has_news(const struct bf_exec_command *command);
/* After the supervisor's end: the rest of the output, and the result. Without has_result it is to be called
 * again: the store was away. */
void bf_exec_finish(struct bf_exec_command *command);

#endif
