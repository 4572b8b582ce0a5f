/* The test groups of the runtime: each runs its cases and returns how many failed. */
#ifndef RUNTIME_CASES_H
#define RUNTIME_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int run_inbox_tests(void);
int run_pool_tests(void);
int run_pull_tests(void);
int run_replies_tests(void);
int run_runtime_tests(void);

#endif
