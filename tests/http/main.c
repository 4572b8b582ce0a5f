/* Runs every group of the HTTP layer; the exit status is the number of failed cases. */
#include "cases.h"

#include "base/json.h"

void check_text(struct belfry_str text, const char *expected)
{
	if (!bf_str_equal(text, bf_str(expected))) {
		fail_msg("\"%.*s\" is not \"%s\"", BF_STR_ARGS(text), expected);
	}
}

void check_contains(struct belfry_str text, const char *part)
{
	struct belfry_str wanted = bf_str(part);

	for (size_t i = 0; i + wanted.len <= text.len; i++) {
		if (memcmp(text.ptr + i, wanted.ptr, wanted.len) == 0) {
			return;
		}
	}
	fail_msg("\"%s\" is not in \"%.*s\"", part, BF_STR_ARGS(text));
}

int main(void)
{
	int (*const groups[])(void) = {
			run_guard_tests,
			run_head_tests,
			run_limit_tests,
			run_probe_tests,
			run_problem_tests,
			run_serve_tests,
			run_stop_tests,
			run_stream_tests,
			run_target_tests,
	};
	int failed = 0;

	bf_json_init();
	for (size_t i = 0; i < BF_COUNT(groups); i++) {
		failed += groups[i]();
	}
	return failed;
}
