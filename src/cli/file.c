/* Reading a whole file with a limit on its size. Knows nothing of what is in it. */
#include "cli/file.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"

enum belfry_status bf_file_read(const char *path, size_t max_bytes, struct bf_buf *buf,
		struct belfry_error *err)
{
	char chunk[4096];
	bool is_stdin = strcmp(path, "-") == 0;
	FILE *file = is_stdin ? stdin : fopen(path, "rbe");

	if (file == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "cannot read \"%.100s\": %s", path,
				strerror(errno));
	}
	for (size_t got; buf->len <= max_bytes &&
			(got = fread(chunk, 1, sizeof(chunk), file)) > 0;) {
		bf_buf_append(buf, chunk, got);
	}
	bool is_failed = ferror(file) != 0;
	if (!is_stdin) {
		(void)fclose(file);
	}
	if (is_failed) {
		return bf_error_set(err, BELFRY_INVALID, "cannot read \"%.100s\"", path);
	}
	if (buf->len > max_bytes) {
		return bf_error_set(err, BELFRY_TOO_LARGE, "\"%.100s\" is larger than %zu MiB",
				path, max_bytes >> 20);
	}
	if (bf_buf_status(buf) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}
