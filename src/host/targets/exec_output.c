/* From the supervisor's files to the store: the head while the command runs, the rest when it has ended,
 * with a mark where bytes were left out. What is in the store is only added to, so that readers can follow
 * it by its length.
 *
 * Runs on the writer's thread. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/backend.h"
#include "host/targets/exec_priv.h"

#define PIECE_BYTES  (256 * 1024)
#define CONTENT_TYPE BF_STR("application/octet-stream")
#define END_BYTES    4096
#define FINISH_TRIES 60 /* a second apart */

/* --- the store --- */

static void append(struct bf_exec_command *command, struct belfry_str bytes)
{
	struct belfry_error err = {0};
	const struct belfry_output output = {
			.size = sizeof(output),
			.run = command->request.run,
			.fence = command->request.fence,
			.offset = command->is_output_begun ? command->streamed : 0,
			.content_type = CONTENT_TYPE,
			.bytes = bytes,
	};

	if (command->is_output_lost) {
		return; /* a hole is worse than an end */
	}
	enum belfry_status status = bf_backend_write_output(command->exec->options.store, &output,
			&err);
	if (status == BELFRY_OK) {
		command->is_output_begun = true;
		command->streamed += bytes.len;
		return;
	}
	if (belfry_status_class(status) == BELFRY_CLASS_RETRY) {
		command->is_output_delayed = true; /* the next look tries again */
		return;
	}
	command->is_output_lost = true;
	bf_log(command->exec->options.env, BF_LOG_WARNING, "event=output_lost run=%s detail=\"%s\"",
			command->run_text, err.detail[0] != '\0' ? err.detail : err.message);
}

/* Bytes [from, to) of a file, appended. */
static void append_range(struct bf_exec_command *command, int fd, uint64_t from, uint64_t to)
{
	BF_CLEANUP(bf_free_pointer) char *bytes = bf_realloc_array(NULL, 1, PIECE_BYTES);

	if (bytes == NULL) {
		command->is_output_lost = true;
	}
	while (from < to && !command->is_output_lost) {
		uint64_t before = command->streamed;
		ssize_t got = pread(fd, bytes, (size_t)BF_MIN(to - from, (uint64_t)PIECE_BYTES),
				(off_t)from);
		if (got < 0 && errno == EINTR) {
			continue;
		}
		if (got <= 0) {
			command->is_output_lost = true;
			return;
		}
		append(command, (struct belfry_str){bytes, (size_t)got});
		from += (uint64_t)got;
		if (command->streamed == before) {
			return; /* not now */
		}
	}
}

/* --- while it runs --- */

static uint64_t file_length(int fd)
{
	struct stat info;

	return fd >= 0 && fstat(fd, &info) == 0 ? (uint64_t)info.st_size : 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0) {
		(void)close(*fd); /* nothing was written */
	}
}

bool bf_exec_has_news(const struct bf_exec_command *command)
{
	BF_CLEANUP(close_fd) int fd = bf_exec_open_file(command, "head");

	return file_length(fd) > command->streamed && !command->is_output_lost;
}

void bf_exec_begin_output(struct bf_exec_command *command)
{
	struct belfry_str none = {"", 0};

	command->is_output_begun = false;
	command->streamed = 0;
	append(command, none);
}

void bf_exec_stream(struct bf_exec_command *command)
{
	BF_CLEANUP(close_fd) int fd = bf_exec_open_file(command, "head");

	if (fd >= 0) {
		append_range(command, fd, command->streamed, file_length(fd));
	}
}

/* --- when it has ended --- */

static bool read_end(struct bf_exec_command *command, struct bf_exec_end *ret_end)
{
	BF_CLEANUP(close_fd) int fd = bf_exec_open_file(command, "end");
	char text[END_BYTES];
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text)) : 0;

	return got > 0 &&
			bf_exec_end_parse((struct belfry_str){text, (size_t)got}, ret_end) ==
			BELFRY_OK;
}

static void append_mark(struct bf_exec_command *command, uint64_t left_out)
{
	char mark[64];

	(void)snprintf(mark, sizeof(mark), "\n[... %llu bytes left out ...]\n",
			(unsigned long long)left_out);
	append(command, bf_str(mark));
}

/* The ring, from its oldest byte on. */
static void append_tail(struct bf_exec_command *command, uint64_t total)
{
	BF_CLEANUP(close_fd) int fd = bf_exec_open_file(command, "tail");
	uint64_t limit = command->request.output_limit;
	uint64_t head = bf_exec_head_bytes(limit);
	uint64_t size = limit - head;

	if (total <= limit) {
		append_range(command, fd, 0, total - head);
		return;
	}
	append_mark(command, total - limit);
	if (size > 0) {
		uint64_t oldest = (total - head) % size;
		append_range(command, fd, oldest, size);
		append_range(command, fd, 0, oldest);
	}
}

static void store_output(struct bf_exec_command *command, const struct bf_exec_end *end)
{
	uint64_t head = bf_exec_head_bytes(command->request.output_limit);

	/* From the end of the head on it is stored as a whole, and again as a whole. */
	command->streamed = BF_MIN(command->streamed, head);
	bf_exec_stream(command);
	if (end->total > head && command->streamed == head) {
		append_tail(command, end->total);
	}
	if (command->is_orphan && end->by == BF_EXEC_BY_STOP) {
		append(command, BF_STR("\n[the host ended this command: its Run was over]\n"));
	}
	if (command->streamed < BF_MIN(end->total, command->request.output_limit) &&
			!command->is_output_delayed) {
		command->is_output_lost = true;
	}
}

/* What the supervisor itself has to say is a fault of ours. */
static void log_supervisor(const struct bf_exec_command *command)
{
	BF_CLEANUP(close_fd) int fd = bf_exec_open_file(command, "log");
	char text[1024];
	ssize_t got = fd >= 0 ? read(fd, text, sizeof(text)) : 0;

	for (ssize_t i = 0; i < got; i++) {
		text[i] = text[i] >= ' ' && text[i] <= '~' && text[i] != '"' ? text[i] : ' ';
	}
	if (got > 0) {
		bf_log(command->exec->options.env, BF_LOG_ERROR,
				"event=exec_supervisor run=%s detail=\"%.*s\"", command->run_text,
				(int)got, text);
	}
}

/* Was the gate passed? */
static bool has_gone(const struct bf_exec_command *command)
{
	BF_CLEANUP(close_fd) int fd = bf_exec_open_file(command, "going");

	return fd >= 0;
}

static void finish_ended(struct bf_exec_command *command)
{
	struct bf_exec_result *result = &command->result;
	bool is_last = ++command->finish_tries > FINISH_TRIES;

	command->is_output_delayed = false;
	store_output(command, &result->end);
	command->has_result = is_last || !command->is_output_delayed;
	result->kind = BF_EXEC_ENDED;
	result->is_truncated = result->end.is_lost || command->is_output_lost ||
			command->is_output_delayed ||
			result->end.total > command->request.output_limit;
}

void bf_exec_finish(struct bf_exec_command *command)
{
	struct bf_exec_result *result = &command->result;
	bool is_here = bf_str_equal(bf_str(command->identity.boot), bf_str(command->exec->boot));

	if (command->finish_tries == 0) {
		log_supervisor(command);
	}
	if (read_end(command, &result->end)) {
		finish_ended(command);
		return;
	}
	command->has_result = true;
	if (is_here && !has_gone(command)) {
		result->kind = BF_EXEC_NOT_NOW; /* it never began, and may be started again */
		result->detail = BF_STR("the supervisor went away at its gate");
		return;
	}
	bf_exec_stream(command);
	if (is_here) {
		bf_exec_session_kill(command->identity.pid, bf_str(command->run_text));
	}
	result->kind = BF_EXEC_INTERRUPTED;
	result->is_truncated = true;
	result->detail = is_here ? BF_STR("the command's supervisor was killed")
				 : BF_STR("the machine was started anew since");
}
