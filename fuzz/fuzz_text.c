/* Fuzzes what is printed of text from elsewhere: escaped it is UTF-8, holds nothing that moves a cursor or
 * changes a terminal, and takes no more columns than bytes. */
#include <stdio.h>

#include "cli/text.h"
#include "fuzz.h"

static void require_harmless(struct belfry_str text, bool has_lines)
{
	fuzz_require(bf_str_is_utf8(text));
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.ptr[i];
		bool is_line = has_lines && (c == '\n' || c == '\t');
		fuzz_require((c >= ' ' && c != 0x7f) || is_line);
		/* U+0080 to U+009F are controls too. */
		fuzz_require(c != 0xc2 || (unsigned char)text.ptr[i + 1] >= 0xa0);
	}
}

static void check_escape(struct belfry_str text, unsigned flags)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf once = {0};

	bf_text_escape(&once, text, flags);
	fuzz_require(bf_buf_status(&once) == BELFRY_OK);
	require_harmless(bf_buf_str(&once), (flags & BF_TEXT_F_LINES) != 0);
	fuzz_require(bf_text_width(bf_buf_str(&once)) <= once.len);
}

static void check_printed(struct belfry_str text, size_t position)
{
	char *printed = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&printed, &len);

	fuzz_require(file != NULL);
	bf_text_print_caret(file, text, position);
	(void)fclose(file);
	require_harmless((struct belfry_str){printed, len}, true);
	free(printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_str text = {(const char *)data, size};

	check_escape(text, 0);
	check_escape(text, BF_TEXT_F_LINES);
	check_printed(text, size > 0 ? data[0] % (size + 1) : 0);
	check_printed(text, size);
	return 0;
}
