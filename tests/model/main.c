/* Runs every group of the model layer; the exit status is the number of failed cases. */
#include "cases.h"

int main(void)
{
	int failed = run_definition_tests();

	failed += run_policies_tests();
	return failed + run_run_tests();
}
