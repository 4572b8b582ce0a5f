/* Runs every group of the runtime's tests; the exit status is the number of failed cases. */
#include "cases.h"

int main(void)
{
	int failed = run_inbox_tests();

	failed += run_replies_tests();
	failed += run_pool_tests();
	failed += run_pull_tests();
	return failed + run_runtime_tests();
}
