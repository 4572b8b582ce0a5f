/* Runs every group of the host; the exit status is the number of failed cases. */
#include "host_cases.h"

int main(void)
{
	int (*const groups[])(void) = {
			run_calendar_rule_tests,
			run_calendar_tests,
			run_compensation_tests,
			run_deployment_tests,
			run_dispatch_tests,
			run_event_tests,
			run_removal_tests,
			run_settings_tests,
			run_tend_tests,
			run_token_tests,
	};
	int failed = 0;

	for (size_t i = 0; i < BF_COUNT(groups); i++) {
		failed += groups[i]();
	}
	return failed;
}
