/* The allocator sweep: fail call 1, 2, 3, ... until none fires. Whatever fails, the command says so and
 * leaves nothing behind (the sanitizer build looks). */
#include "base/alloc.h"
#include "base/str.h"
#include "cases.h"

#define SWEEP_MAX 20000

static void sweep(const char *const *argv, int good)
{
	for (int64_t call = 1; call < SWEEP_MAX; call++) {
		struct fixture fixture;

		fixture_open(&fixture);
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

static void a_refusal_bears_every_lack_of_memory(void **state)
{
	const char *const rule[] = {"belfry", "next", "0 24 * * *", NULL};
	const char *const usage[] = {"belfry", "deployments", "create", "x", "--cron", "x",
			"--input", "{\"a\": [1, 2, 3]}", "--label", "a=b", "--exec", NULL};

	(void)state;
	sweep(rule, 1);
	sweep(usage, 2);
}

int run_memory_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(next_bears_every_lack_of_memory),
			cmocka_unit_test(a_refusal_bears_every_lack_of_memory),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
