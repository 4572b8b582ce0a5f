/* Assertions that stay on in releases. */
#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

/* The one global of this layer: an assertion has no object to hang a handler on. */
static bf_assert_fn assert_handler;

void bf_assert_set_handler(bf_assert_fn handler)
{
	assert_handler = handler;
}

void bf_assert_fail(const char *file, int line, const char *expression)
{
	if (assert_handler != NULL) {
		assert_handler(file, line, expression);
	}
	(void)fprintf(stderr, "belfry: %s:%d: assertion failed: %s\n", file, line, expression);
	abort();
}
