/* See tz_folder.h. */
#include "tz_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void write_file(const struct tz_folder *folder, const char *name, const void *bytes,
		size_t len)
{
	char path[128];
	char fresh[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder->path, name);
	(void)snprintf(fresh, sizeof(fresh), "%s/fresh", folder->path);
	FILE *file = fopen(fresh, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, path), 0);
}

void tz_folder_init(struct tz_folder *folder)
{
	char path[128];

	(void)snprintf(folder->path, sizeof(folder->path), "/tmp/belfry-tz-XXXXXX");
	assert_non_null(mkdtemp(folder->path));
	(void)snprintf(path, sizeof(path), "%s/Test", folder->path);
	assert_int_equal(mkdir(path, 0700), 0);
}

void tz_folder_put(struct tz_folder *folder, const char *content_of, const char *version)
{
	char path[128];
	static char bytes[65536];

	(void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", content_of);
	FILE *file = fopen(path, "rb");
	assert_non_null(file);
	size_t len = fread(bytes, 1, sizeof(bytes), file);
	assert_true(len > 0 && len < sizeof(bytes));
	(void)fclose(file); /* it was only read */
	write_file(folder, "Test/Zone", bytes, len);
	write_file(folder, "+VERSION", version, strlen(version));
}

void tz_folder_fini(struct tz_folder *folder)
{
	static const char *const names[] = {"Test/Zone", "Test", "+VERSION", "fresh", ""};
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder->path, names[i]);
		(void)remove(path); /* what is not there need not go */
	}
}
