/* The target `exec` with real commands, under a supervisor that is this program itself (main, below). The
 * provider is the tests' own, so that a host can be closed and opened again while a command runs. */
#include "host_cases.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/json.h"
#include "host/deployments.h"
#include "host/targets/exec_priv.h"
#include "model/run.h"

struct exec_fixture {
	struct host_fixture host;
	struct bf_host_exec exec;
	char folder[64];
};

static const char *const programs[] = {"/bin/sh", "/nonexistent/program"};
static const char run_text[] = "018f0000-0000-8000-8000-000000000001";

static int setup(void **state)
{
	struct exec_fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	memcpy(f->folder, "/tmp/belfry-exec-XXXXXX", sizeof("/tmp/belfry-exec-XXXXXX"));
	assert_non_null(mkdtemp(f->folder));
	f->exec = (struct bf_host_exec){.data_folder = f->folder,
			.programs = programs,
			.program_count = BF_COUNT(programs)};
	host_fixture_begin(&f->host);
	f->host.exec = &f->exec;
	/* Open in the provider: what it does not know is over. */
	struct belfry_run *run = fake_add_run(&f->host.fake, "a", 0);
	assert_int_equal(belfry_id_parse(bf_str(run_text), &run->id), BELFRY_OK);
	host_fixture_open(&f->host);
	*state = f;
	return 0;
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
	(void)info;
	(void)kind;
	(void)at;
	return remove(path);
}

static int teardown(void **state)
{
	struct exec_fixture *f = *state;

	host_fixture_end(&f->host);
	assert_int_equal(nftw(f->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(f);
	return 0;
}

/* --- asking --- */

/* A deployment of a shell script; more members of the target and of itself. */
static const struct fake_schedule *make(struct exec_fixture *f, const char *script,
		const char *target_members, const char *members)
{
	struct bf_buf text = {0};
	struct bf_deployment_view view;
	struct belfry_error err = {0};
	json_t *body = NULL;

	bf_buf_appendf(&text,
			"{\"name\":\"a\",\"rule\":{\"cron\":\"* * * * *\"},\"target\":{\"kind\":"
			"\"exec\",\"command\":[\"/bin/sh\",\"-c\",\"%s\"]%s}%s}",
			script, target_members, members);
	assert_int_equal(bf_json_parse(bf_buf_str(&text), SIZE_MAX, &body, &err), BELFRY_OK);
	if (bf_deployments_create(f->host.host, body, &view, &err) != BELFRY_OK) {
		fail_msg("%s: %s", err.pointer, err.message);
	}
	const struct fake_schedule *schedule = fake_find_schedule(&f->host.fake, view.id);
	json_decref(view.json);
	json_decref(body);
	bf_buf_fini(&text);
	return schedule;
}

static struct belfry_invocation invocation_of(const struct fake_schedule *schedule,
		belfry_fence fence)
{
	struct belfry_invocation invocation = {
			.size = sizeof(invocation),
			.trigger = BELFRY_TRIGGER_SCHEDULE,
			.schedule = bf_str(schedule->id),
			.payload = {schedule->payload, schedule->payload_len},
			.revision = schedule->revision,
			.due_at = 1700000000 * BELFRY_SECOND,
			.attempt = 1,
			.fence = fence,
			.stands_for = 1,
	};

	assert_int_equal(belfry_id_parse(bf_str(run_text), &invocation.run), BELFRY_OK);
	return invocation;
}

static void admit(struct exec_fixture *f, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	const struct belfry_handler *handler = f->host.fake.handler;

	fake_reply_init(reply);
	handler->admit_turn(handler->data, invocation, bf_str(run_text), reply);
}

/* Again while the answer is that something is being settled, which costs no attempt. */
static void admit_settled(struct exec_fixture *f, struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	for (;;) {
		admit(f, invocation, reply);
		fake_reply_wait(reply);
		if (reply->after == 0) {
			return;
		}
		assert_int_equal(reply->kind, FAKE_REPLY_RETRY);
		fake_reply_fini(reply);
		invocation->fence++;
	}
}

static bool output_is(struct exec_fixture *f, struct belfry_id run, const char *wanted)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str type;
	struct belfry_str bytes;
	uint64_t length;
	bool is = bf_store_output_read(f->host.store, run, 0, 100000, &arena, &type, &bytes,
				  &length, NULL) == BELFRY_OK &&
			bf_str_equal(bytes, bf_str(wanted));

	belfry_arena_fini(&arena);
	return is;
}

/* Until the output is as wanted: a moment of another thread and process. */
static void wait_output(struct exec_fixture *f, struct belfry_id run, const char *wanted)
{
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time until = bf_boot_add(env->boot(env->data), 20 * BELFRY_SECOND);

	while (!output_is(f, run, wanted)) {
		assert_true(env->boot(env->data).us < until.us);
	}
}

static void touch(struct exec_fixture *f, const char *name)
{
	char path[96];

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
}

/* --- cases --- */

static void each_end_of_a_command_has_its_meaning(void **state)
{
	static const struct {
		const char *script;
		const char *target;
		const char *members;
		enum fake_reply_kind kind;
		enum belfry_run_error error;
		const char *message;
	} rows[] = {
			{"exit 0", "", "", FAKE_REPLY_TURN, BELFRY_RUN_ERROR_NONE, ""},
			{"exit 3", "", "", FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_ANSWERED,
					"exit status 3"},
			{"exit 3", ",\"permanent_exit\":[3]",
					",\"policies\":{\"retry\":{\"max_attempts\":2}}",
					FAKE_REPLY_PERMANENT, BELFRY_RUN_ERROR_TARGET_ANSWERED,
					"exit status 3"},
			{"kill -15 $$", "", ",\"policies\":{\"retry\":{\"max_attempts\":2}}",
					FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TARGET_ANSWERED,
					"ended by signal 15"},
			{"sleep 60", "",
					",\"policies\":{\"timeout\":\"PT0.2S\","
					"\"retry\":{\"max_attempts\":2}}",
					FAKE_REPLY_RETRY, BELFRY_RUN_ERROR_TIMEOUT,
					"the command ran past its time limit and was ended"},
			{"exit 0", ",\"cwd\":\"/nonexistent\"", "", FAKE_REPLY_PERMANENT,
					BELFRY_RUN_ERROR_PERMANENT,
					"the command was not started: its folder (cwd) is not there"},
			{"exit 0", ",\"env\":{\"A\":{\"secret\":\"NONE\"}}", "",
					FAKE_REPLY_PERMANENT, BELFRY_RUN_ERROR_PERMANENT,
					"there is no secret NONE: this host has no secrets"},
	};
	struct exec_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		const struct fake_schedule *schedule = make(f, rows[i].script, rows[i].target,
				rows[i].members);
		struct belfry_invocation invocation = invocation_of(schedule, 10 + i);
		struct belfry_reply reply;

		invocation.attempt = (uint32_t)i + 1; /* of one Run, one after the other */
		admit_settled(f, &invocation, &reply);
		assert_string_equal(reply.message, rows[i].message);
		assert_int_equal(reply.error, rows[i].error);
		/* A single attempt that failed is for good, whichever way it is said. */
		assert_true(reply.kind == rows[i].kind ||
				(rows[i].kind == FAKE_REPLY_RETRY &&
						reply.kind == FAKE_REPLY_PERMANENT &&
						rows[i].members[0] == '\0'));
		fake_reply_fini(&reply);
		assert_int_equal(bf_deployments_remove(f->host.host, bf_str(schedule->id), 0, NULL),
				BELFRY_OK);
	}
}

static void output_past_its_limit_is_marked_also_where_it_failed(void **state)
{
	struct exec_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(
			make(f, "printf 0123456789; exit 1", ",\"output_limit\":4", ""), 7);
	struct belfry_reply reply;

	admit(f, &invocation, &reply);
	fake_reply_wait(&reply);
	assert_int_equal(reply.kind, FAKE_REPLY_TURN);
	assert_int_equal(reply.outcome.status, BELFRY_STATUS_FAILED);
	assert_int_equal(reply.outcome.run_flags, BELFRY_RUN_F_OUTPUT_TRUNCATED);
	fake_reply_fini(&reply);
	assert_true(output_is(f, invocation.run, "01\n[... 6 bytes left out ...]\n89"));
}

static void b17_a_command_outlives_its_host_and_is_adopted(void **state)
{
	struct exec_fixture *f = *state;
	struct bf_buf script = {0};

	bf_buf_appendf(&script, "echo a; while [ ! -e %s/go ]; do sleep 0.02; done; echo b",
			f->folder);
	struct belfry_invocation invocation = invocation_of(
			make(f, script.ptr, "",
					",\"policies\":{\"interrupted\":"
					"\"resume\"}"),
			7);
	struct belfry_reply first;
	struct belfry_reply second;
	admit(f, &invocation, &first);
	wait_output(f, invocation.run, "a\n");
	host_fixture_close(&f->host);
	fake_reply_wait(&first); /* it has its handle back */
	fake_reply_fini(&first);
	host_fixture_open(&f->host);
	invocation.fence = 8;
	touch(f, "go");
	admit_settled(f, &invocation, &second);
	assert_int_equal(second.kind, FAKE_REPLY_TURN);
	assert_int_equal(second.outcome.status, BELFRY_STATUS_COMPLETED);
	fake_reply_fini(&second);
	assert_true(output_is(f, invocation.run, "a\nb\n"));
	bf_buf_fini(&script);
}

static void b17_with_abandon_it_is_ended_and_not_run_again(void **state)
{
	struct exec_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(make(f, "echo a; sleep 60", "", ""), 7);
	const struct belfry_handler *handler = f->host.fake.handler;
	struct belfry_reply reply;

	admit(f, &invocation, &reply);
	wait_output(f, invocation.run, "a\n");
	handler->cancel(handler->data, invocation.run, invocation.fence);
	fake_reply_wait(&reply);
	fake_reply_fini(&reply);
	host_fixture_close(&f->host);
	host_fixture_open(&f->host);
	invocation.fence = 8;
	admit_settled(f, &invocation, &reply);
	assert_int_equal(reply.error, BELFRY_RUN_ERROR_INTERRUPTED);
	fake_reply_fini(&reply);
	assert_true(output_is(f, invocation.run, "a\n"));
}

/* The gate stays shut where the document could not be stored. */
static void b17_without_its_document_a_command_does_not_start(void **state)
{
	struct exec_fixture *f = *state;
	struct bf_buf script = {0};
	struct belfry_reply reply;
	char path[96];

	bf_buf_appendf(&script, "echo x >> %s/ran", f->folder);
	struct belfry_invocation invocation = invocation_of(make(f, script.ptr, "", ""), 7);
	for (int64_t call = 2; call <= 3; call++) { /* the output's beginning; the document */
		bf_fault_arm(bf_store_fault_before(f->host.store), call, -1);
		admit(f, &invocation, &reply);
		fake_reply_wait(&reply);
		bf_fault_arm(bf_store_fault_before(f->host.store), 0, 0);
		assert_int_equal(reply.kind, FAKE_REPLY_RETRY);
		fake_reply_fini(&reply);
		invocation.attempt++;
		invocation.fence++;
	}
	host_fixture_close(&f->host); /* nothing of it is left */
	(void)snprintf(path, sizeof(path), "%s/ran", f->folder);
	assert_int_not_equal(access(path, F_OK), 0);
	bf_buf_fini(&script);
	host_fixture_open(&f->host);
}

/* The document of a start by an earlier host; its supervisor does not live. */
static void put_note(struct exec_fixture *f, const char *boot)
{
	struct bf_buf bytes = {0};
	struct bf_exec_note note = {.identity = {.pid = INT32_MAX, .start_time = 1},
			.fence = 5,
			.attempt = 1,
			.output_limit = 1000,
			.folder = bf_str(f->folder)};

	bf_exec_boot_read(note.identity.boot);
	if (boot != NULL) {
		(void)snprintf(note.identity.boot, sizeof(note.identity.boot), "%s", boot);
	}
	bf_exec_note_format(&note, &bytes);
	struct belfry_document document = {.kind = BF_STR(BF_EXEC_KIND),
			.id = bf_str(run_text),
			.bytes = bf_buf_str(&bytes)};
	assert_int_equal(bf_store_document_put(f->host.store, &document, 0, NULL), BELFRY_OK);
	bf_buf_fini(&bytes);
}

static void b17_a_start_that_never_passed_its_gate_is_made_good(void **state)
{
	struct exec_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(
			make(f, "echo a", "", ",\"policies\":{\"interrupted\":\"resume\"}"), 7);
	struct belfry_reply reply;

	host_fixture_close(&f->host);
	put_note(f, NULL);
	host_fixture_open(&f->host);
	admit_settled(f, &invocation, &reply);
	assert_int_equal(reply.kind, FAKE_REPLY_TURN);
	assert_int_equal(reply.outcome.status, BELFRY_STATUS_COMPLETED);
	fake_reply_fini(&reply);
	assert_true(output_is(f, invocation.run, "a\n"));
}

static void b17_what_nobody_can_know_is_interrupted_and_not_run(void **state)
{
	struct exec_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(
			make(f, "echo a", "", ",\"policies\":{\"interrupted\":\"resume\"}"), 7);
	struct belfry_reply reply;

	host_fixture_close(&f->host);
	put_note(f, "another boot");
	host_fixture_open(&f->host);
	admit_settled(f, &invocation, &reply);
	assert_int_equal(reply.kind, FAKE_REPLY_TURN);
	assert_int_equal(reply.outcome.status, BELFRY_STATUS_FAILED);
	assert_int_equal(reply.outcome.error, BELFRY_RUN_ERROR_INTERRUPTED);
	fake_reply_fini(&reply);
	assert_false(output_is(f, invocation.run, "a\n"));
}

static void without_memory_each_start_is_answered_once(void **state)
{
	struct exec_fixture *f = *state;
	struct belfry_invocation invocation = invocation_of(
			make(f, "cat; echo $A", ",\"env\":{\"A\":\"b\"}",
					",\"prompt\":\"p\",\"input\":[1]"),
			7);
	bool is_spent = false;

	for (int64_t n = 1; !is_spent; n++) {
		struct belfry_reply reply;

		bf_fault_arm(bf_alloc_fault(), n, 1);
		admit(f, &invocation, &reply);
		fake_reply_wait(&reply);
		is_spent = bf_fault_fired(bf_alloc_fault()) == 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(reply.count, 1);
		fake_reply_fini(&reply);
		invocation.attempt++;
		invocation.fence++;
		assert_true(n < 1000);
	}
}

static void waiting_starts_are_given_back_at_the_end(void **state)
{
	struct exec_fixture *f = *state;
	struct belfry_reply replies[8];
	const struct fake_schedule *schedule = make(f, "sleep 1", "", "");

	for (size_t i = 0; i < BF_COUNT(replies); i++) {
		struct belfry_invocation invocation = invocation_of(schedule, 7);
		invocation.run.bytes[15] = (unsigned char)i;
		admit(f, &invocation, &replies[i]);
	}
	host_fixture_close(&f->host);
	for (size_t i = 0; i < BF_COUNT(replies); i++) {
		fake_reply_wait(&replies[i]);
		assert_int_equal(replies[i].count, 1);
		fake_reply_fini(&replies[i]);
	}
}

static int run_exec_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
			CASE(each_end_of_a_command_has_its_meaning),
			CASE(output_past_its_limit_is_marked_also_where_it_failed),
			CASE(b17_a_command_outlives_its_host_and_is_adopted),
			CASE(b17_with_abandon_it_is_ended_and_not_run_again),
			CASE(b17_without_its_document_a_command_does_not_start),
			CASE(b17_a_start_that_never_passed_its_gate_is_made_good),
			CASE(b17_what_nobody_can_know_is_interrupted_and_not_run),
			CASE(without_memory_each_start_is_answered_once),
			CASE(waiting_starts_are_given_back_at_the_end),
#undef CASE
	};

	return cmocka_run_group_tests_name("exec", tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], BF_EXEC_SUPERVISOR) == 0) {
		return bf_exec_supervise(argc, argv);
	}
	return run_exec_part_tests() + run_exec_tests();
}
