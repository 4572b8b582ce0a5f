/* Runs every group of the base layer; the exit status is the number of failed cases. */
#include "cases.h"

#include "base/assert.h"

static void hand_to_cmocka(const char *file, int line, const char *expression)
{
	mock_assert(0, expression, file, line);
}

void catch_assertions(void)
{
	bf_assert_set_handler(hand_to_cmocka);
}

void check_text(struct belfry_str text, const char *expected)
{
	if (!bf_str_equal(text, bf_str(expected))) {
		fail_msg("\"%.*s\" is not \"%s\"", BF_STR_ARGS(text), expected);
	}
}

int main(void)
{
	int (*const groups[])(void) = {
			run_alloc_tests,
			run_arena_tests,
			run_duration_tests,
			run_env_tests,
			run_error_tests,
			run_hash_tests,
			run_list_tests,
			run_sm_tests,
			run_str_tests,
			run_timefmt_tests,
	};
	int failed = 0;

	for (size_t i = 0; i < BF_COUNT(groups); i++) {
		failed += groups[i]();
	}
	return failed;
}
