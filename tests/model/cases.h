/* The test groups of the model layer: each runs its cases and returns how many failed. */
#ifndef MODEL_CASES_H
#define MODEL_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"

int run_definition_tests(void);
int run_policies_tests(void);
int run_run_tests(void);

#endif
