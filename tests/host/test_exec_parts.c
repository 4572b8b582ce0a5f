/* What the target `exec` reads back: how a command ended, the document of one that may run, and a process's
 * own line in /proc. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* POSIX_SPAWN_SETSID */
#endif
#include "host_cases.h"

#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <sys/wait.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "host/targets/exec_priv.h"

static void an_end_reads_back(void **state)
{
	static const struct bf_exec_end ends[] = {
			{BF_EXEC_EXITED, BF_EXEC_BY_ITSELF, 0, 0, false, false},
			{BF_EXEC_SIGNALLED, BF_EXEC_BY_TIMEOUT, 9, UINT64_C(1) << 40, true, false},
			{BF_EXEC_UNSTARTED, BF_EXEC_BY_STOP, 2, 7, false, true},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(ends); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
		struct bf_exec_end read;

		bf_exec_end_format(&ends[i], &text);
		assert_int_equal(bf_exec_end_parse(bf_buf_str(&text), &read), BELFRY_OK);
		assert_int_equal(read.how, ends[i].how);
		assert_int_equal(read.by, ends[i].by);
		assert_int_equal(read.code, ends[i].code);
		assert_int_equal(read.total, ends[i].total);
		assert_int_equal(read.is_lost, ends[i].is_lost);
		assert_int_equal(read.is_cwd_failed, ends[i].is_cwd_failed);
	}
}

static void what_is_no_end_is_corrupt(void **state)
{
	static const char *const texts[] = {"", "{}", "{\"how\":\"exited\"}", "null",
			"{\"how\":\"flew\",\"by\":\"itself\",\"code\":0,\"total\":0,\"lost\":false,"
			"\"cwd\":false}",
			"{\"how\":\"exited\",\"by\":\"itself\",\"code\":-1,\"total\":0,\"lost\":false,"
			"\"cwd\":false}",
			"{\"how\":\"exited\",\"by\":\"itself\",\"code\":0,\"total\":0,\"lost\":false,"
			"\"cwd\":false,\"more\":1}"};
	struct bf_exec_end end;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		assert_int_equal(bf_exec_end_parse(bf_str(texts[i]), &end), BELFRY_CORRUPT);
	}
}

static const struct bf_exec_note note = {
		.identity = {4711, 123456789, "boot pid:[1]"},
		.fence = 1700000000000001,
		.attempt = 2,
		.output_limit = 1000,
		.is_abandoned = true,
		.folder = {"/var/lib/belfry", 15},
};

static void check_note(const struct bf_exec_note *read)
{
	assert_int_equal(read->identity.pid, note.identity.pid);
	assert_int_equal(read->identity.start_time, note.identity.start_time);
	assert_string_equal(read->identity.boot, note.identity.boot);
	assert_int_equal(read->fence, note.fence);
	assert_int_equal(read->attempt, note.attempt);
	assert_int_equal(read->output_limit, note.output_limit);
	assert_true(read->is_abandoned);
	assert_true(bf_str_equal(read->folder, note.folder));
}

static void a_note_reads_back(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct bf_exec_note read;

	(void)state;
	bf_exec_note_format(&note, &text);
	assert_int_equal(bf_exec_note_parse(bf_buf_str(&text), &arena, &read), BELFRY_OK);
	check_note(&read);
	assert_int_equal(bf_exec_note_parse(BF_STR("{\"pid\":1}"), &arena, &read), BELFRY_CORRUPT);
	assert_int_equal(bf_exec_note_parse(BF_STR("x"), &arena, &read), BELFRY_CORRUPT);
}

static void without_memory_a_note_is_neither_written_nor_read_wrong(void **state)
{
	bool is_spent = false;

	(void)state;
	for (int64_t n = 1; !is_spent; n++) {
		BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
		struct bf_exec_note read;
		enum belfry_status status = BELFRY_NOMEM;

		bf_fault_arm(bf_alloc_fault(), n, 1);
		bf_exec_note_format(&note, &text);
		if (bf_buf_status(&text) == BELFRY_OK) {
			status = bf_exec_note_parse(bf_buf_str(&text), &arena, &read);
		}
		is_spent = bf_fault_fired(bf_alloc_fault()) == 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		if (status == BELFRY_OK) {
			check_note(&read);
		} else {
			assert_int_equal(status, BELFRY_NOMEM);
			assert_false(is_spent);
		}
	}
}

static void a_process_is_told_by_its_start_time(void **state)
{
	struct bf_exec_identity self = {.pid = getpid()};
	uint64_t start_time;
	int64_t session;

	(void)state;
	assert_int_equal(bf_exec_start_time(self.pid, &self.start_time), BELFRY_OK);
	int fd = bf_exec_process_open(&self);
	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	self.start_time++;
	assert_int_equal(bf_exec_process_open(&self), -1);
	assert_int_equal(
			bf_exec_stat_parse(
					BF_STR("7 (a) b (c)) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 99 1"),
					&start_time, &session),
			BELFRY_OK);
	assert_int_equal(session, 5);
	assert_int_equal(start_time, 99);
}

/* The leader of a session, as if it had been given the number of one that is gone. */
static pid_t start_leader(char *variable)
{
	char *argv[] = {(char[]){"/bin/sleep"}, (char[]){"600"}, NULL};
	char *envp[] = {variable, NULL};
	posix_spawnattr_t attributes;
	pid_t pid;

	assert_int_equal(posix_spawnattr_init(&attributes), 0);
	assert_int_equal(posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID), 0);
	assert_int_equal(posix_spawn(&pid, argv[0], NULL, &attributes, argv, envp), 0);
	assert_int_equal(posix_spawnattr_destroy(&attributes), 0);
	return pid;
}

static int signal_of_end(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void only_who_was_started_for_the_run_is_ended_with_its_session(void **state)
{
	char variable[] = "BELFRY_RUN=0190a5b1";
	pid_t pid = start_leader(variable);
	pid_t other = start_leader(variable);

	(void)state;
	bf_exec_session_kill(other, BF_STR("0190a5b2"));
	bf_exec_session_kill(other, BF_STR("0190a5b"));
	bf_exec_session_kill(pid, BF_STR("0190a5b1"));
	assert_int_equal(signal_of_end(pid), SIGKILL);
	/* An earlier signal would be what it ended by. */
	assert_int_equal(kill(other, SIGTERM), 0);
	assert_int_equal(signal_of_end(other), SIGTERM);
}

static void what_is_no_line_of_a_process_is_corrupt(void **state)
{
	static const char *const texts[] = {"", ")", "7 (a)", "7 (a) S 1 7 5", "7 a S 1 7 5 0 -1",
			"7 (a) S 1 7 x 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 99",
			"7 (a) S 1 7 5 0 -1 0 0 0 0 0 0 0 0 0 0 0 0 0 -9"};
	uint64_t start_time;
	int64_t session;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		assert_int_equal(bf_exec_stat_parse(bf_str(texts[i]), &start_time, &session),
				BELFRY_CORRUPT);
	}
}

static void a_command_must_be_named_exactly(void **state)
{
	static const char *const programs[] = {"/bin/a", "/bin/b"};
	const struct bf_exec_allowed allowed = {programs, 2};
	struct belfry_error err;

	(void)state;
	assert_int_equal(bf_exec_check(&allowed, BF_STR("/bin/b"), &err), BELFRY_OK);
	assert_int_equal(bf_exec_check(&allowed, BF_STR("/bin/bb"), &err),
			BELFRY_TARGET_NOT_ALLOWED);
	assert_int_equal(bf_exec_check(&allowed, BF_STR("/bin//b"), &err),
			BELFRY_TARGET_NOT_ALLOWED);
	assert_non_null(strstr(err.message, "--allow-exec /bin//b"));
	assert_int_equal(bf_exec_check(NULL, BF_STR("/bin/b"), &err), BELFRY_TARGET_NOT_ALLOWED);
}

int run_exec_part_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(an_end_reads_back),
			cmocka_unit_test(what_is_no_end_is_corrupt),
			cmocka_unit_test(a_note_reads_back),
			cmocka_unit_test(without_memory_a_note_is_neither_written_nor_read_wrong),
			cmocka_unit_test(a_process_is_told_by_its_start_time),
			cmocka_unit_test(
					only_who_was_started_for_the_run_is_ended_with_its_session),
			cmocka_unit_test(what_is_no_line_of_a_process_is_corrupt),
			cmocka_unit_test(a_command_must_be_named_exactly),
	};

	return cmocka_run_group_tests_name("exec parts", tests, NULL, NULL);
}
