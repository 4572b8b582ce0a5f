/* Files that the command line names. */
#ifndef BF_CLI_FILE_H
#define BF_CLI_FILE_H

#include "base/str.h"

/* The whole of a file, or of standard input for "-", appended to `buf`. BELFRY_INVALID: it cannot be read; BELFRY_TOO_LARGE: it has more than
 * `max_bytes`; BELFRY_NOMEM. */
BF_MUST_CHECK enum belfry_status bf_file_read(const char *path, size_t max_bytes,
		struct bf_buf *buf, struct belfry_error *err);

#endif
