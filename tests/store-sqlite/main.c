/* The tests of the one-file store, group by group. */
#include "fixture.h"

int main(void)
{
	int failed = 0;

	client_memory_install();
	vfs_install();
	failed += _cmocka_run_group_tests("process", process_tests, process_test_count, NULL, NULL);
	failed += _cmocka_run_group_tests("open", open_tests, open_test_count, NULL, NULL);
	failed += _cmocka_run_group_tests("operations", operation_tests, operation_test_count, NULL,
			NULL);
	failed += _cmocka_run_group_tests("threads", thread_tests, thread_test_count, NULL, NULL);
	failed += _cmocka_run_group_tests("faults", fault_tests, fault_test_count, NULL, NULL);
	return failed;
}
