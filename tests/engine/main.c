/* Runs every group of the engine's tests; the exit status is the number of failed cases. */
#include "cases.h"

#include <stddef.h>

#include "support.h"

int main(void)
{
	int (*const groups[])(void) = {
			run_coverage_tests,
			run_settle_tests,
			run_planner_tests,
			run_planner_put_tests,
			run_dispatcher_tests,
			run_dispatcher_cancel_tests,
			run_dispatcher_claims_tests,
			run_fires_tests,
			run_keeper_tests,
			run_rules_kept_tests,
			run_sweep_tests,
			run_zones_tests,
	};
	int failed = 0;

	for (size_t i = 0; i < BF_COUNT(groups); i++) {
		failed += groups[i]();
	}
	zones_free();
	return failed;
}
