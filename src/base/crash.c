/* Named crash points; empty unless they are compiled in. */
#include "base/crash.h"

#ifdef BF_CRASH_POINTS

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/str.h"

static atomic_llong passes;

void bf_crash_point(const char *name)
{
	struct belfry_str wanted = bf_str(getenv("BELFRY_CRASH_POINT"));
	struct belfry_str own = bf_str(name);
	int64_t count = 1;

	if (wanted.len == 0 || !bf_str_starts_with(wanted, own)) {
		return;
	}
	struct belfry_str rest = bf_str_slice(wanted, own.len, wanted.len);
	if (rest.len > 0 &&
			(rest.ptr[0] != ':' ||
					bf_str_parse_int(bf_str_slice(rest, 1, rest.len), 1,
							INT32_MAX, &count) != BELFRY_OK)) {
		return;
	}
	if (atomic_fetch_add(&passes, 1) + 1 >= count) {
		(void)raise(SIGKILL);
	}
}

#endif
