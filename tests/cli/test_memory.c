/* The allocator sweep: fail call 1, 2, 3, ... until none fires. Whatever fails, the command says so and
 * leaves nothing behind (the sanitizer build looks). */
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/str.h"
#include "cases.h"
#include "cli/calendar_change.h"

#define SWEEP_MAX 40000
#define NOWHERE   "http://127.0.0.1:1" /* nobody listens there */

static void sweep(const char *const *argv, int good)
{
	for (int64_t call = 1; call < SWEEP_MAX; call++) {
		struct fixture fixture;

		fixture_open(&fixture);
		fixture.cli.url = NOWHERE;
		bf_fault_arm(bf_alloc_fault(), call, 1);
		int status = fixture_run(&fixture, argv);
		bool has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		bool is_whole = status == good;
		if (!has_fired) {
			assert_int_equal(status, good);
		} else if (!is_whole) {
			assert_int_equal(status, 1);
		}
		fixture_close(&fixture);
		if (!has_fired) {
			return;
		}
	}
	fail_msg("the sweep did not end");
}

static void next_bears_every_lack_of_memory(void **state)
{
	const char *const text[] = {"belfry", "next", "0 9 * * *", "--tz", "Europe/Berlin",
			"--from", "2026-12-01 10:00", "-n", "2", NULL};
	const char *const json[] = {"belfry", "next", "0 9 * * *", "--json", NULL};

	(void)state;
	sweep(text, 0);
	sweep(json, 0);
}

static void explain_bears_every_lack_of_memory(void **state)
{
	const char *const text[] = {"belfry", "explain", "30 2 31 * *", "--tz", "Europe/Berlin",
			NULL};
	const char *const json[] = {"belfry", "explain", "30 2 31 * *", "--json", NULL};

	(void)state;
	sweep(text, 0);
	sweep(json, 0);
}

static void a_refusal_bears_every_lack_of_memory(void **state)
{
	const char *const rule[] = {"belfry", "next", "0 24 * * *", NULL};
	const char *const usage[] = {"belfry", "deployments", "create", "x", "--cron", "x",
			"--input", "{\"a\": [1, 2, 3]}", "--label", "a=b", "--exec", NULL};

	(void)state;
	sweep(rule, 1);
	sweep(usage, 2);
}

static void a_comparison_of_calendars_is_whole_or_none(void **state)
{
	BF_CLEANUP(bf_cleanup_json)
	json_t *list = json_loads("[\"a\", {\"cron\": \"x\"}, \"b\", \"a\", \"c\", \"d\", \"e\","
				  " \"f\", \"g\", \"h\"]",
			0, NULL);
	BF_CLEANUP(bf_cleanup_json)
	json_t *other = json_loads("[{\"cron\": \"x\"}, \"b\"]", 0, NULL);
	bool has_fired = true;
	size_t failures = 0;

	(void)state;
	for (int64_t call = 1; has_fired; call++) {
		bf_fault_arm(bf_alloc_fault(), call, 1);
		BF_CLEANUP(bf_cleanup_json) json_t *beyond = bf_calendar_items_beyond(list, other);
		has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(has_fired == (beyond == NULL));
		assert_true(beyond == NULL || json_array_size(beyond) == 8);
		failures += has_fired ? 1 : 0;
	}
	assert_true(failures > 0);
}

static void completion_bears_every_lack_of_memory(void **state)
{
	static const char *const shells[] = {"bash", "zsh", "fish"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(shells); i++) {
		const char *const argv[] = {"belfry", "completion", shells[i], NULL};

		sweep(argv, 0);
	}
}

/* `path` is a template of mkstemp. */
static void write_file(char *path, const char *text)
{
	int file = mkstemp(path);

	assert_true(file >= 0);
	assert_int_equal(write(file, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(close(file), 0);
}

static void reading_files_bears_every_lack_of_memory(void **state)
{
	char table[] = "/tmp/belfry-test-XXXXXX";
	char set[] = "/tmp/belfry-test-XXXXXX";
	const char *const text[] = {"belfry", "import", "crontab", table, "--dry-run", "--tz",
			"UTC", NULL};
	const char *const json[] = {"belfry", "import", "crontab", table, "--dry-run", "--tz",
			"UTC", "--json", NULL};
	const char *const apply[] = {"belfry", "apply", set, NULL};

	(void)state;
	write_file(table, "MAILTO=a\n0 9 * * * report%a\n@reboot x\n");
	write_file(set, "name: a\n---\nname: a\n");
	sweep(text, 1);
	sweep(json, 1);
	sweep(apply, 1);
	assert_int_equal(unlink(table), 0);
	assert_int_equal(unlink(set), 0);
}

int run_memory_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(next_bears_every_lack_of_memory),
			cmocka_unit_test(explain_bears_every_lack_of_memory),
			cmocka_unit_test(a_refusal_bears_every_lack_of_memory),
			cmocka_unit_test(a_comparison_of_calendars_is_whole_or_none),
			cmocka_unit_test(completion_bears_every_lack_of_memory),
			cmocka_unit_test(reading_files_bears_every_lack_of_memory),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
