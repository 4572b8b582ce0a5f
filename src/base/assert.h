/* Assertions about our own bugs, kept in releases. What comes from disk, wire, database or plug-in is
 * checked and becomes a status; it never reaches one of these. */
#ifndef BF_ASSERT_H
#define BF_ASSERT_H

#include "base/compiler.h"

typedef void (*bf_assert_fn)(const char *file, int line, const char *expression);

/* Replace what a failed assertion does before the process aborts (tests). NULL: the default, one line
 * on standard error. */
void bf_assert_set_handler(bf_assert_fn handler);

BF_NORETURN void bf_assert_fail(const char *file, int line, const char *expression);

#define BF_ASSERT(expression)                                                                      \
	((expression) ? (void)0 : bf_assert_fail(__FILE__, __LINE__, #expression))

#endif
