/* The test groups of the HTTP layer: each runs its cases and returns how many failed. */
#ifndef HTTP_CASES_H
#define HTTP_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

int run_guard_tests(void);
int run_head_tests(void);
int run_limit_tests(void);
int run_probe_tests(void);
int run_problem_tests(void);
int run_serve_tests(void);
int run_stop_tests(void);
int run_stream_tests(void);
int run_target_tests(void);

/* Fails the test unless the two texts are the same, and prints both. */
void check_text(struct belfry_str text, const char *expected);
/* Fails the test unless `part` stands somewhere in the text. */
void check_contains(struct belfry_str text, const char *part);

#endif
