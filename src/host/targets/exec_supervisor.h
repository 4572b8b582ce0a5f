/* The supervisor: one small process for each command that runs, so that the command, its output and its
 * end outlive the host. It is the host's own program, started with BF_EXEC_SUPERVISOR as first argument.
 *
 *   PROGRAM exec-supervisor FOLDER CWD LIMIT TIMEOUT COMMAND [ARGUMENT]...
 *
 * Descriptor 3 is the gate, the reading end of a pipe: a byte lets the command start, an end without one
 * makes the supervisor go away. The environment is the command's. LIMIT is in bytes of output, TIMEOUT in
 * microseconds (0: none). SIGTERM ends the command. In FOLDER:
 *
 *   prompt   read by the command as its standard input
 *   going    made once the gate was passed: from then on the command may have run
 *   head     the first half of the output
 *   tail     what follows; past its own half it is a ring
 *   end      how the command ended (struct bf_exec_end), put there in one piece
 *
 * The command has a process group of its own within the supervisor's session. What it started and left
 * running is ended with it, also where it left group and session: orphans come back to the supervisor. */
#ifndef BF_HOST_TARGETS_EXEC_SUPERVISOR_H
#define BF_HOST_TARGETS_EXEC_SUPERVISOR_H

#include "base/str.h"

#define BF_EXEC_SUPERVISOR "exec-supervisor"
#define BF_EXEC_GATE_FD    3
#define BF_EXEC_GRACE      (5 * BELFRY_SECOND) /* from SIGTERM to SIGKILL */

/* The first half is the larger one. */
static inline uint64_t bf_exec_head_bytes(uint64_t limit)
{
	return limit - limit / 2;
}

enum bf_exec_how { BF_EXEC_EXITED, BF_EXEC_SIGNALLED, BF_EXEC_UNSTARTED };
/* Who made it end. */
enum bf_exec_by { BF_EXEC_BY_ITSELF, BF_EXEC_BY_TIMEOUT, BF_EXEC_BY_STOP };

struct bf_exec_end {
	enum bf_exec_how how;
	enum bf_exec_by by;
	int code;           /* exit status, signal, or errno */
	uint64_t total;     /* bytes that were printed */
	bool is_lost;       /* not all of what was to be kept could be written */
	bool is_cwd_failed; /* with UNSTARTED: it was the folder */
};

/* BELFRY_OK or BELFRY_NOMEM (in the buffer's status). */
void bf_exec_end_format(const struct bf_exec_end *end, struct bf_buf *out);
/* BELFRY_OK; BELFRY_CORRUPT; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_exec_end_parse(struct belfry_str text,
		struct bf_exec_end *ret_end);

/* The whole life of one; the exit status of the process. Of a process without threads. */
int bf_exec_supervise(int argc, char **argv);

#endif
