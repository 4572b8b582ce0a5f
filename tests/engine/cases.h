/* The test groups of the engine: each runs its cases and returns how many failed. */
#ifndef ENGINE_CASES_H
#define ENGINE_CASES_H

int run_coverage_tests(void);
int run_dispatcher_tests(void);
int run_dispatcher_cancel_tests(void);
int run_dispatcher_claims_tests(void);
int run_fires_tests(void);
int run_keeper_tests(void);
int run_planner_tests(void);
int run_planner_put_tests(void);
int run_settle_tests(void);
int run_rules_kept_tests(void);
int run_sweep_tests(void);
int run_zones_tests(void);

#endif
