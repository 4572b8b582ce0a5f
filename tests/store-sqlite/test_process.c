/* Processes that die in the middle, and files that cannot grow: in children of their own. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixture.h"

#define START (1700000000 * BELFRY_SECOND)

/* Makes and finishes Runs for ever; writes the number of each that was acknowledged. */
static void write_for_ever(const struct place *place, int answers)
{
	struct belfry_store *store = open_migrated(place);
	uint64_t version = put_schedule(store, "s", START);

	begin_incarnation(store, 1);
	for (int32_t i = 0;; i++) {
		belfry_time due = START + i * BELFRY_SECOND;
		belfry_fence fence = 0;
		if (plan_run(store, "s", &version, due, BELFRY_RUN_DISPATCHING, 1, &fence) !=
						BELFRY_OK ||
				turn_run(store, run_id("s", due), fence) != BELFRY_OK ||
				write(answers, &i, sizeof(i)) != sizeof(i)) {
			_exit(1);
		}
	}
}

static int32_t kill_after(const struct place *place, int32_t count)
{
	int answers[2], result;
	int32_t last = -1;

	assert_int_equal(pipe(answers), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		close(answers[0]);
		write_for_ever(place, answers[1]);
	}
	close(answers[1]);
	while (last < count && read(answers[0], &last, sizeof(last)) == sizeof(last)) {
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	while (read(answers[0], &last, sizeof(last)) == sizeof(last)) {
	}
	close(answers[0]);
	assert_int_equal(waitpid(child, &result, 0), child);
	assert_true(WIFSIGNALED(result));
	return last;
}

static void what_was_acknowledged_is_there_after_a_kill(void **state)
{
	static const int32_t counts[] = {3, 40, 150};

	(void)state;
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct place place;
		place_init(&place, false);
		int32_t last = kill_after(&place, counts[i]);
		assert_true(last >= counts[i]);
		struct belfry_store *store = open_migrated(&place);
		for (int32_t n = 0; n <= last; n++) {
			struct belfry_run run;
			assert_true(find_run(store, run_id("s", START + n * BELFRY_SECOND), &run));
			assert_int_equal(run.state, BELFRY_RUN_DISPATCHED);
		}
		close_store(store);
		assert_int_equal(raw_number(&place,
						 "SELECT count(*) FROM pragma_integrity_check"
						 " WHERE integrity_check='ok'"),
				1);
		place_fini(&place);
	}
}

/* --- a file that may not grow --- */

static bool set_file_limit(rlim_t bytes)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) != 0) {
		return false;
	}
	limit.rlim_cur = bytes;
	return setrlimit(RLIMIT_FSIZE, &limit) == 0;
}

static enum belfry_status put_large(struct belfry_store *store, unsigned n)
{
	static char bytes[65536];
	char id[16];
	struct belfry_document document = {
			.kind = BF_STR("large"),
			.bytes = {bytes, sizeof(bytes)},
	};

	(void)snprintf(id, sizeof(id), "%u", n);
	document.id = bf_str(id);
	return bf_sqlite_store_ops.documents->put(store, &document, 0, NULL);
}

/* Exit 0: refused while it could not grow, read all the time, went on by itself afterwards. */
static void run_without_room(const struct place *place)
{
	struct belfry_store *store = open_migrated(place);
	enum belfry_status status = BELFRY_OK;
	unsigned n = 0, tries = 0;
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	(void)signal(SIGXFSZ, SIG_IGN);
	if (!set_file_limit(1 << 20)) {
		_exit(2);
	}
	while (status == BELFRY_OK && n < 100) {
		status = put_large(store, n++);
	}
	if (status != BELFRY_UNAVAILABLE && status != BELFRY_UNKNOWN) {
		_exit(3);
	}
	(void)set_file_limit(RLIM_INFINITY);
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time deadline = bf_boot_add(env->boot(NULL), 20 * BELFRY_SECOND);
	while (put_large(store, 1000 + tries++) != BELFRY_OK) {
		if (env->boot(NULL).us > deadline.us) {
			_exit(4);
		}
		(void)poll(NULL, 0, 1);
	}
	if (bf_sqlite_store_ops.documents->get(store, BF_STR("large"), BF_STR("0"), BF_STR(""),
			    BF_STR(""), &arena, &document, NULL) != BELFRY_OK) {
		_exit(5);
	}
	belfry_arena_fini(&arena);
	close_store(store);
	_exit(0);
}

static void b14_a_file_that_cannot_grow_is_unavailable_and_then_goes_on(void **state)
{
	struct place place;
	int result;

	(void)state;
	place_init(&place, true);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		run_without_room(&place);
	}
	assert_int_equal(waitpid(child, &result, 0), child);
	assert_int_equal(result, 0);
	assert_int_equal(raw_number(&place,
					 "SELECT count(*) FROM pragma_integrity_check"
					 " WHERE integrity_check='ok'"),
			1);
	place_fini(&place);
}

/* Whoever starts it must learn why it cannot be. */
static void a_file_that_cannot_begin_tells_the_cause(void **state)
{
	struct place place;
	int result;

	(void)state;
	place_init(&place, true);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		struct belfry_store *store = NULL;
		struct belfry_error err = {0};
		(void)signal(SIGXFSZ, SIG_IGN);
		if (!set_file_limit(8192) ||
				try_open_migrated(&place, &store, &err) != BELFRY_UNAVAILABLE) {
			_exit(2);
		}
		_exit(err.detail[0] != '\0' && err.driver_code != 0 ? 0 : 3);
	}
	assert_int_equal(waitpid(child, &result, 0), child);
	assert_int_equal(result, 0);
	close_store(open_migrated(&place));
	place_fini(&place);
}

const struct CMUnitTest process_tests[] = {
		cmocka_unit_test(what_was_acknowledged_is_there_after_a_kill),
		cmocka_unit_test(b14_a_file_that_cannot_grow_is_unavailable_and_then_goes_on),
		cmocka_unit_test(a_file_that_cannot_begin_tells_the_cause),
};
const size_t process_test_count = sizeof(process_tests) / sizeof(process_tests[0]);
