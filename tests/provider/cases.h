/* The test groups of the providers: each runs its cases and returns how many failed. */
#ifndef PROVIDER_CASES_H
#define PROVIDER_CASES_H

int run_life_tests(void);
int run_reconcile_tests(void);
int run_runs_tests(void);
int run_rules_tests(void);
int run_races_tests(void);
int run_fault_tests(void);
int run_wrapper_tests(void);

#endif
