/* The test groups of the base layer: each runs its cases and returns how many failed. */
#ifndef BASE_CASES_H
#define BASE_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

int run_alloc_tests(void);
int run_arena_tests(void);
int run_duration_tests(void);
int run_env_tests(void);
int run_error_tests(void);
int run_hash_tests(void);
int run_list_tests(void);
int run_sm_tests(void);
int run_str_tests(void);
int run_timefmt_tests(void);

/* From here to the end of a test a failed BF_ASSERT is cmocka's to catch (expect_assert_failure). */
void catch_assertions(void);

/* Fails the test unless the two texts are the same, and prints both. */
void check_text(struct belfry_str text, const char *expected);

#endif
