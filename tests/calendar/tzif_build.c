/* TZif files for tests. */
#include "cases.h"

#include "tzif_build.h"

#include <stdio.h>

static void put_u32(struct bf_buf *out, uint32_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8) {
		bf_buf_append_byte(out, (char)(value >> shift & 0xff));
	}
}

static void put_time(struct bf_buf *out, int64_t time, bool is_long)
{
	if (is_long) {
		put_u32(out, (uint32_t)((uint64_t)time >> 32));
	}
	put_u32(out, (uint32_t)((uint64_t)time & 0xffffffffu));
}

static void put_block(struct bf_buf *out, const struct tzif_spec *spec, bool is_long)
{
	bf_buf_append_text(out, "TZif");
	bf_buf_append_byte(out, spec->version);
	for (int i = 0; i < 15; i++) {
		bf_buf_append_byte(out, '\0');
	}
	put_u32(out, 0);
	put_u32(out, 0);
	put_u32(out, spec->leap_count);
	put_u32(out, spec->change_count);
	put_u32(out, spec->type_count);
	put_u32(out, 4);
	for (uint32_t i = 0; i < spec->change_count; i++) {
		put_time(out, spec->changes[i].time, is_long);
	}
	for (uint32_t i = 0; i < spec->change_count; i++) {
		bf_buf_append_byte(out, (char)spec->changes[i].type);
	}
	for (uint32_t i = 0; i < spec->type_count; i++) {
		put_u32(out, (uint32_t)spec->offsets[i]);
		bf_buf_append(out, "\0\0", 2);
	}
	bf_buf_append(out, "ABC\0", 4);
	for (uint32_t i = 0; i < spec->leap_count; i++) {
		put_time(out, 78796800 + i, is_long);
		put_u32(out, i + 1);
	}
}

void tzif_build(const struct tzif_spec *spec, struct bf_buf *out)
{
	put_block(out, spec, false);
	if (spec->version != '\0') {
		put_block(out, spec, true);
		bf_buf_appendf(out, "\n%s\n", spec->footer);
	}
}

void tzif_read_system(const char *name, struct bf_buf *out)
{
	char path[256];
	char bytes[4096];
	size_t got;

	(void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", name);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	while ((got = fread(bytes, 1, sizeof(bytes), file)) > 0) {
		bf_buf_append(out, bytes, got);
	}
	assert_int_equal(fclose(file), 0);
}
