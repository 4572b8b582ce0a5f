/* The test groups of the host: each runs its cases and returns how many failed. */
#ifndef HOST_CASES_H
#define HOST_CASES_H

#include "host_fixture.h"

int run_calendar_rule_tests(void);
int run_calendar_tests(void);
int run_compensation_tests(void);
int run_deployment_tests(void);
int run_dispatch_tests(void);
int run_exec_part_tests(void);
int run_event_tests(void);
int run_removal_tests(void);
int run_settings_tests(void);
int run_tend_tests(void);
int run_token_tests(void);

#endif
