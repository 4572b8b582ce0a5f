/* The test groups of the calendar layer, and what they share. */
#ifndef CALENDAR_CASES_H
#define CALENDAR_CASES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <belfry/calendar.h>

#include "base/str.h"

int run_advance_tests(void);
int run_dialect_tests(void);
int run_dst_tests(void);
int run_except_tests(void);
int run_excluded_tests(void);
int run_kinds_tests(void);
int run_print_tests(void);
int run_explain_tests(void);
int run_explain_any_tests(void);
int run_footer_tests(void);
int run_forecast_tests(void);
int run_golden_tests(void);
int run_memory_tests(void);
int run_refresh_tests(void);
int run_rule_json_tests(void);
int run_tzif_tests(void);
int run_walk_tests(void);
int run_zones_tests(void);

/* The system's database, opened once by main. */
struct belfry_zones *shared_zones(void);

/* "2026-03-29T01:00:00Z" as an instant; fails the test on bad text. */
belfry_time at(const char *text);

/* A rule that must parse. Freed by belfry_rule_free. */
struct belfry_rule *new_rule(const char *text, const char *zone);
struct belfry_rule *new_rule_with(const char *text, const char *zone, enum belfry_dst_gap gap,
		enum belfry_dst_fold fold);

/* The due times after `from`, as many as `expected` has between its commas. A trailing "never" stands for
 * the end of all. */
void check_dues(const struct belfry_rule *rule, const char *from, const char *expected);
/* The same for a rule made and freed here. */
void check_rule(const char *text, const char *zone, const char *from, const char *expected);

/* The rule must be refused: position of the fault (-1: none), and words of the message. */
void check_refused(const char *text, const char *zone, int64_t position, const char *words);

/* The rule in words, as told at `now`; it must be one, and there must be words (test_explain.c). */
void explain_at(const char *text, const char *zone, const char *now, struct belfry_arena *arena,
		struct belfry_explanation *ret);

#endif
