/* Runs every group of the API; the exit status is the number of failed cases. */
#include "api_fixture.h"

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
			run_api_apply_tests,
			run_api_deployment_tests,
			run_api_event_tests,
			run_api_run_tests,
			run_api_system_tests,
			run_api_token_tests,
	};
	int failed = 0;

	for (size_t i = 0; i < BF_COUNT(groups); i++) {
		failed += groups[i]();
	}
	return failed;
}
