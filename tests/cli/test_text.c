/* Escaping, width, caret and tables. */
#include <stdlib.h>
#include <string.h>

#include "cases.h"
#include "cli/text.h"

static void what_could_harm_a_terminal_is_escaped(void **state)
{
	static const struct {
		struct belfry_str text;
		const char *wanted;
	} rows[] = {
			{{"\x1b[31mred\x1b]0;t\x07", 14}, "\\x1b[31mred\\x1b]0;t\\x07"},
			{{"a\nb\tc\r", 6}, "a\\nb\\tc\\r"},
			{{"\xc2\x9b"
			  "31m",
					 5},
					"\\u{9b}31m"},
			{{"\xe2\x80\xae"
			  "evil",
					 7},
					"\\u{202e}evil"},
			{{"\xff\xc3", 2}, "\\xff\\xc3"},
			{{"a\0b", 3}, "a\\x00b"},
			{{"\x7f", 1}, "\\x7f"},
			{{NULL, 0}, ""},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

		bf_text_escape(&buf, rows[i].text, 0);
		assert_string_equal(buf.len > 0 ? buf.ptr : "", rows[i].wanted);
	}
}

static void good_text_and_wanted_lines_stay_as_they_are(void **state)
{
	static const char text[] = "caf\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x94\x94\n\tx";
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

	(void)state;
	bf_text_escape(&buf, BF_STR(text), BF_TEXT_F_LINES);
	assert_string_equal(buf.ptr, text);
}

static void width_counts_columns(void **state)
{
	(void)state;
	assert_int_equal(bf_text_width(BF_STR("caf\xc3\xa9")), 4);
	assert_int_equal(bf_text_width(BF_STR("\xe6\x97\xa5\xe6\x9c\xac")), 4);
	assert_int_equal(bf_text_width(BF_STR("\xf0\x9f\x94\x94")), 2);
	assert_int_equal(bf_text_width(BF_STR("e\xcc\x81")), 1);
	assert_int_equal(bf_text_width(BF_STR("")), 0);
}

static void expect_caret(struct belfry_str text, size_t position, const char *wanted)
{
	char *got = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&got, &len);

	assert_non_null(file);
	bf_text_print_caret(file, text, position);
	(void)fclose(file);
	assert_string_equal(got, wanted);
	free(got);
}

static void the_caret_stands_below_the_fault(void **state)
{
	char text[201];

	(void)state;
	expect_caret(BF_STR("0 24 * * *"), 2, "  0 24 * * *\n    ^\n");
	expect_caret(BF_STR("0\n24"), 2, "  0\\n24\n     ^\n");
	expect_caret(BF_STR("\xe6\x97\xa5 x"), 4, "  \xe6\x97\xa5 x\n     ^\n");
	expect_caret(BF_STR(""), 9, "  \n  ^\n");
	memset(text, 'a', 200);
	text[150] = 'X';
	char *got = NULL;
	size_t len = 0;
	FILE *file = open_memstream(&got, &len);
	bf_text_print_caret(file, (struct belfry_str){text, 200}, 150);
	(void)fclose(file);
	char *second = strchr(got, '\n') + 1;
	assert_int_equal(strchr(got, 'X') - got, strchr(second, '^') - second);
	assert_true(len < 250);
	free(got);
}

static void columns_line_up_and_colour_only_where_asked(void **state)
{
	BF_CLEANUP(bf_table_fini) struct bf_table table = {.columns = 2};
	char *got = NULL;
	size_t len = 0;

	(void)state;
	bf_table_put(&table, BF_STR("\xe6\x97\xa5"), BF_COLOUR_BOLD);
	bf_table_put(&table, BF_STR("b"), BF_COLOUR_NONE);
	bf_table_put(&table, BF_STR("wide"), BF_COLOUR_NONE);
	bf_table_put(&table, BF_STR("\x1b[1m"), BF_COLOUR_RED);
	FILE *file = open_memstream(&got, &len);
	assert_int_equal(bf_table_print(&table, file, false), BELFRY_OK);
	(void)fclose(file);
	assert_string_equal(got, "\xe6\x97\xa5    b\nwide  \\x1b[1m\n");
	free(got);
	file = open_memstream(&got, &len);
	assert_int_equal(bf_table_print(&table, file, true), BELFRY_OK);
	(void)fclose(file);
	assert_non_null(strstr(got, "\033[31m\\x1b[1m\033[0m"));
	free(got);
}

static void expect_rows(size_t width, const char *wanted)
{
	BF_CLEANUP(bf_table_fini) struct bf_table table = {.columns = 2, .width = width};
	char *got = NULL;
	size_t len = 0;

	bf_table_put(&table, BF_STR("name"), BF_COLOUR_NONE);
	bf_table_put(&table, BF_STR("one two three four five six seven"), BF_COLOUR_NONE);
	bf_table_put(&table, BF_STR("b"), BF_COLOUR_NONE);
	bf_table_put(&table, BF_STR("a-word-that-is-wider-than-the-rest and more"), BF_COLOUR_NONE);
	FILE *file = open_memstream(&got, &len);
	assert_int_equal(bf_table_print(&table, file, false), BELFRY_OK);
	(void)fclose(file);
	assert_string_equal(got, wanted);
	free(got);
}

static void the_last_column_is_broken_at_blanks_to_fit_a_terminal(void **state)
{
	static const char whole[] = "name  one two three four five six seven\n"
				    "b     a-word-that-is-wider-than-the-rest and more\n";

	(void)state;
	expect_rows(0, whole);
	expect_rows(200, whole);
	expect_rows(20, whole);
	expect_rows(31,
			"name  one two three four five\n"
			"      six seven\n"
			"b     a-word-that-is-wider-than-the-rest\n"
			"      and more\n");
}

int run_text_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(what_could_harm_a_terminal_is_escaped),
			cmocka_unit_test(good_text_and_wanted_lines_stay_as_they_are),
			cmocka_unit_test(width_counts_columns),
			cmocka_unit_test(the_caret_stands_below_the_fault),
			cmocka_unit_test(columns_line_up_and_colour_only_where_asked),
			cmocka_unit_test(the_last_column_is_broken_at_blanks_to_fit_a_terminal),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
