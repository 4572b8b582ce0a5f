/* Counted text, the number parser and the growable buffer. */
#include "cases.h"

#include "base/alloc.h"

static void texts_compare_as_bytes(void **state)
{
	(void)state;
	static const struct belfry_str rising[] = {{NULL, 0}, {"\0", 1}, {"a", 1}, {"a\0", 2},
			{"ab", 2}, {"b", 1}, {"\x7f", 1}, {"\x80", 1}, {"\xff", 1}};

	for (size_t i = 0; i < BF_COUNT(rising); i++) {
		for (size_t k = 0; k < BF_COUNT(rising); k++) {
			int order = bf_str_compare(rising[i], rising[k]);
			assert_int_equal(order < 0, i < k);
			assert_int_equal(order > 0, i > k);
			assert_int_equal(bf_str_equal(rising[i], rising[k]), i == k);
		}
	}
	assert_true(bf_str_equal(bf_str(NULL), bf_str("")));
}

static void case_is_folded_in_ascii_alone(void **state)
{
	(void)state;
	assert_true(bf_str_equal_nocase(BF_STR("MON-Fri"), BF_STR("mon-fRI")));
	assert_false(bf_str_equal_nocase(BF_STR("mon"), BF_STR("monday")));
	assert_false(bf_str_equal_nocase(BF_STR("\xc3\x84"), BF_STR("\xc3\xa4")));
	assert_false(bf_str_equal_nocase(BF_STR("@"), BF_STR("`")));
	assert_false(bf_str_equal_nocase(BF_STR("["), BF_STR("{")));
}

static void slices_are_clamped(void **state)
{
	(void)state;
	struct belfry_str text = BF_STR("abcdef");

	check_text(bf_str_slice(text, 0, 3), "abc");
	check_text(bf_str_slice(text, 4, 99), "ef");
	check_text(bf_str_slice(text, 5, 2), "");
	check_text(bf_str_slice(text, 99, 100), "");
	check_text(bf_str_slice((struct belfry_str){NULL, 0}, 1, 2), "");
	assert_true(bf_str_starts_with(text, BF_STR("abc")));
	assert_true(bf_str_starts_with(text, BF_STR("")));
	assert_true(bf_str_starts_with(text, text));
	assert_false(bf_str_starts_with(text, BF_STR("abcdefg")));
	assert_false(bf_str_starts_with(text, BF_STR("b")));
}

static void a_duplicate_keeps_every_byte(void **state)
{
	(void)state;
	BF_CLEANUP(bf_free_pointer) char *copy = bf_str_dup(BF_STR("a\0b"));

	assert_memory_equal(copy, "a\0b", 4);
}

static void utf8_is_what_rfc_3629_says(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool is_valid;
	} rows[] = {
			{"", true}, {"plain", true}, {"\x01\x7f", true}, {"\xc2\x80", true},
			{"\xdf\xbf", true}, {"\xe0\xa0\x80", true}, {"\xed\x9f\xbf", true},
			{"\xee\x80\x80", true}, {"\xef\xbf\xbf", true}, {"\xf0\x90\x80\x80", true},
			{"\xf4\x8f\xbf\xbf", true}, {"quote \" and \xf0\x9f\x94\x94 bell", true},
			{"\x80", false},             /* a continuation alone */
			{"\xbf", false},             /**/
			{"\xc0\xaf", false},         /* overlong '/' */
			{"\xc1\xbf", false},         /**/
			{"\xe0\x9f\xbf", false},     /* overlong, three bytes */
			{"\xf0\x8f\xbf\xbf", false}, /* overlong, four bytes */
			{"\xed\xa0\x80", false},     /* the first surrogate */
			{"\xed\xbf\xbf", false},     /* the last surrogate */
			{"\xf4\x90\x80\x80", false}, /* past U+10FFFF */
			{"\xf5\x80\x80\x80", false}, /**/
			{"\xff", false},             /**/
			{"\xc2", false},             /* cut off */
			{"\xe0\xa0", false},         /**/
			{"\xf0\x90\x80", false},     /**/
			{"\xc2\x41", false},         /* the wrong byte behind */
			{"\xe1\x80\x41", false},     /**/
			{"\xf1\x80\x80\xc0", false}, /**/
	};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (bf_str_is_utf8(bf_str(rows[i].text)) != rows[i].is_valid) {
			fail_msg("row %zu", i);
		}
	}
	assert_false(bf_str_is_utf8(BF_STR("a\0b")));
}

static void whole_numbers_are_read_to_the_last_one(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = {{"0", 0}, {"-0", 0}, {"7", 7}, {"007", 7}, {"-1", -1}, {"123456789", 123456789},
			{"9223372036854775807", INT64_MAX}, {"-9223372036854775808", INT64_MIN},
			{"-9223372036854775807", -INT64_MAX}};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		int64_t value = 42;
		assert_int_equal(bf_str_parse_int(bf_str(rows[i].text), INT64_MIN, INT64_MAX,
						 &value),
				BELFRY_OK);
		assert_true(value == rows[i].value);
	}
}

static void what_is_no_whole_number_is_refused(void **state)
{
	(void)state;
	static const char *rows[] = {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x10", "--1", "1-",
			"a", "9223372036854775808", "-9223372036854775809", "99999999999999999999",
			"/", ":", "\xd9\xa1"};
	int64_t value = 42;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		assert_int_equal(bf_str_parse_int(bf_str(rows[i]), INT64_MIN, INT64_MAX, &value),
				BELFRY_INVALID);
	}
	assert_int_equal(bf_str_parse_int(BF_STR("1\0"), 0, 9, &value), BELFRY_INVALID);
	assert_int_equal(value, 42);
}

static void the_range_of_a_number_counts_both_ends(void **state)
{
	(void)state;
	int64_t value;

	assert_int_equal(bf_str_parse_int(BF_STR("1"), 1, 200, &value), BELFRY_OK);
	assert_int_equal(bf_str_parse_int(BF_STR("200"), 1, 200, &value), BELFRY_OK);
	assert_int_equal(bf_str_parse_int(BF_STR("0"), 1, 200, &value), BELFRY_INVALID);
	assert_int_equal(bf_str_parse_int(BF_STR("201"), 1, 200, &value), BELFRY_INVALID);
}

static void a_buffer_builds_text_piece_by_piece(void **state)
{
	(void)state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

	bf_buf_append_text(&buf, "one ");
	bf_buf_append_byte(&buf, 't');
	bf_buf_append(&buf, "wo", 2);
	bf_buf_append_str(&buf, BF_STR(" three"));
	bf_buf_append(&buf, NULL, 0);
	bf_buf_appendf(&buf, " %d-%s", 4, "5");
	assert_int_equal(bf_buf_status(&buf), BELFRY_OK);
	assert_string_equal(buf.ptr, "one two three 4-5");
	bf_buf_remove_front(&buf, 4);
	check_text(bf_buf_str(&buf), "two three 4-5");
	bf_buf_remove_front(&buf, 1000);
	check_text(bf_buf_str(&buf), "");
	assert_string_equal(buf.ptr, "");
}

static void a_buffer_grows_over_every_size(void **state)
{
	(void)state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};

	for (int i = 0; i < 10000; i++) {
		bf_buf_appendf(&buf, "%d,", i % 10);
		assert_int_equal(buf.len, 2 * (i + 1));
		assert_int_equal(buf.ptr[buf.len], '\0');
	}
	bf_buf_appendf(&buf, "%20000s", "x");
	assert_int_equal(buf.len, 40000);
	assert_int_equal(bf_buf_status(&buf), BELFRY_OK);
}

static void an_empty_buffer_needs_no_memory(void **state)
{
	(void)state;
	struct bf_buf buf = {0};

	bf_buf_remove_front(&buf, 3);
	bf_buf_clear(&buf);
	assert_int_equal(bf_buf_status(&buf), BELFRY_OK);
	assert_int_equal(bf_buf_str(&buf).len, 0);
	bf_buf_fini(&buf);
}

static void a_failed_append_is_remembered(void **state)
{
	(void)state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};
	char large[200];

	memset(large, 'x', sizeof(large));
	bf_buf_append_text(&buf, "kept");
	bf_fault_arm(bf_alloc_fault(), 1, 1);
	bf_buf_append(&buf, large, sizeof(large));
	bf_buf_append_text(&buf, "behind it");
	bf_buf_appendf(&buf, "%d", 1);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_int_equal(bf_buf_status(&buf), BELFRY_NOMEM);
	check_text(bf_buf_str(&buf), "kept");
	bf_buf_clear(&buf);
	assert_int_equal(bf_buf_status(&buf), BELFRY_OK);
	bf_buf_append_text(&buf, "again");
	assert_string_equal(buf.ptr, "again");
}

static void taking_the_text_empties_the_buffer(void **state)
{
	(void)state;
	struct bf_buf buf = {0};
	BF_CLEANUP(bf_free_pointer) char *empty = bf_buf_take(&buf);

	assert_string_equal(empty, "");
	bf_buf_append_text(&buf, "text");
	BF_CLEANUP(bf_free_pointer) char *text = bf_buf_take(&buf);
	assert_string_equal(text, "text");
	assert_null(buf.ptr);
	assert_int_equal(buf.len, 0);
}

static void taking_after_a_failure_gives_nothing_and_leaks_nothing(void **state)
{
	(void)state;
	struct bf_buf buf = {0};

	bf_buf_append_text(&buf, "begun");
	bf_fault_arm(bf_alloc_fault(), 1, -1);
	bf_buf_appendf(&buf, "%500d", 1);
	char *text = bf_buf_take(&buf);
	char *nothing = bf_buf_take(&(struct bf_buf){0});
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_null(text);
	assert_null(nothing);
	assert_null(buf.ptr);
}

static void what_is_not_utf8_is_repaired_byte_by_byte(void **state)
{
	static const struct {
		struct belfry_str text;
		const char *repaired;
	} rows[] = {
			{{"", 0}, ""},
			{{"a\xc3\xa9", 3}, "a\xc3\xa9"},
			{{"\xe9 b", 3}, "\xef\xbf\xbd b"},
			{{"a\0b", 3},
					"a\xef\xbf\xbd"
					"b"},
			{{"\xe2\x82", 2}, "\xef\xbf\xbd\xef\xbf\xbd"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf buf = {0};
		bf_buf_append_repaired(&buf, rows[i].text);
		assert_true(bf_str_equal(bf_buf_str(&buf), bf_str(rows[i].repaired)));
		assert_true(bf_str_is_utf8(bf_buf_str(&buf)));
	}
}

int run_str_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(texts_compare_as_bytes),
			cmocka_unit_test(case_is_folded_in_ascii_alone),
			cmocka_unit_test(slices_are_clamped),
			cmocka_unit_test(a_duplicate_keeps_every_byte),
			cmocka_unit_test(utf8_is_what_rfc_3629_says),
			cmocka_unit_test(what_is_not_utf8_is_repaired_byte_by_byte),
			cmocka_unit_test(whole_numbers_are_read_to_the_last_one),
			cmocka_unit_test(what_is_no_whole_number_is_refused),
			cmocka_unit_test(the_range_of_a_number_counts_both_ends),
			cmocka_unit_test(a_buffer_builds_text_piece_by_piece),
			cmocka_unit_test(a_buffer_grows_over_every_size),
			cmocka_unit_test(an_empty_buffer_needs_no_memory),
			cmocka_unit_test(a_failed_append_is_remembered),
			cmocka_unit_test(taking_the_text_empties_the_buffer),
			cmocka_unit_test(taking_after_a_failure_gives_nothing_and_leaks_nothing),
	};

	return cmocka_run_group_tests_name("str", tests, NULL, NULL);
}
