/* Runs the groups that are named, or all of them; the exit status is the number of failed cases. */
#include "cases.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static const struct {
	const char *name;
	int (*run)(void);
} groups[] = {
		{"life", run_life_tests},
		{"reconcile", run_reconcile_tests},
		{"runs", run_runs_tests},
		{"rules", run_rules_tests},
		{"races", run_races_tests},
		{"faults", run_fault_tests},
		{"wrapper", run_wrapper_tests},
};

int main(int argc, char **argv)
{
	int failed = 0;

	for (size_t i = 0; i < BF_COUNT(groups); i++) {
		bool is_named = argc < 2;
		for (int k = 1; k < argc; k++) {
			is_named = is_named || strcmp(argv[k], groups[i].name) == 0;
		}
		failed += is_named ? groups[i].run() : 0;
	}
	return failed;
}
