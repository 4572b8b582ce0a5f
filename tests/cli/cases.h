/* The groups of this binary, and what they share. */
#ifndef BF_TESTS_CLI_CASES_H
#define BF_TESTS_CLI_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/cli.h"

int run_args_tests(void);
int run_body_tests(void);
int run_crontab_tests(void);
int run_file_tests(void);
int run_memory_tests(void);
int run_plot_tests(void);
int run_table_tests(void);
int run_text_tests(void);
int run_time_tests(void);
int run_yaml_tests(void);

/* A command line whose streams are memory and whose clock stands at 2026-12-01T12:00:00Z. */
struct fixture {
	struct bf_cli cli;
	char *out;
	size_t out_len;
	char *err;
	size_t err_len;
};

extern const struct bf_command *const test_commands[];

void fixture_open(struct fixture *fixture);
/* Runs one command line, ended by NULL, and flushes the streams. */
int fixture_run(struct fixture *fixture, const char *const *argv);
void fixture_close(struct fixture *fixture);

#endif
