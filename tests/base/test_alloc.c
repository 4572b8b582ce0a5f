/* The allocator: zeroed memory, overflow, the fault counter behind it, and handing pointers on. */
#include "cases.h"

#include <stdlib.h>

#include "base/alloc.h"

static int live_blocks;

static void *counting_resize(void *pointer, size_t size)
{
	live_blocks += pointer == NULL ? 1 : 0;
	return realloc(pointer, size);
}

static void counting_release(void *pointer)
{
	live_blocks--;
	free(pointer);
}

static void new_memory_is_zeroed(void **state)
{
	(void)state;
	static const char zeros[4096];

	for (size_t size = 1; size <= sizeof(zeros); size *= 2) {
		BF_CLEANUP(bf_free_pointer) char *block = bf_alloc(size);
		assert_non_null(block);
		assert_memory_equal(block, zeros, size);
	}
}

static void no_bytes_are_still_a_block(void **state)
{
	(void)state;
	BF_CLEANUP(bf_free_pointer) void *block = bf_alloc(0);
	BF_CLEANUP(bf_free_pointer) void *array = bf_alloc_array(0, 8);

	assert_non_null(block);
	assert_non_null(array);
}

static void a_count_that_overflows_is_no_memory(void **state)
{
	(void)state;
	BF_CLEANUP(bf_free_pointer) char *block = bf_strndup("kept", 4);

	assert_null(bf_alloc_array(SIZE_MAX / 2, 3));
	assert_null(bf_realloc_array(block, SIZE_MAX, 2));
	assert_null(bf_strndup("x", SIZE_MAX));
	assert_string_equal(block, "kept");
}

static void a_copy_ends_with_a_nul(void **state)
{
	(void)state;
	BF_CLEANUP(bf_free_pointer) char *copy = bf_strndup("abcdef", 3);
	BF_CLEANUP(bf_free_pointer) char *empty = bf_strndup(NULL, 0);

	assert_string_equal(copy, "abc");
	assert_string_equal(empty, "");
}

static void a_failed_growth_keeps_the_old_block(void **state)
{
	(void)state;
	BF_CLEANUP(bf_free_pointer) char *block = bf_strndup("kept", 4);

	bf_fault_arm(bf_alloc_fault(), 1, 1);
	assert_null(bf_realloc_array(block, 100, 1));
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_string_equal(block, "kept");
	char *larger = bf_realloc_array(block, 100, 1);
	assert_non_null(larger);
	block = larger;
	assert_string_equal(block, "kept");
}

static void taking_leaves_null_behind(void **state)
{
	(void)state;
	char *first = bf_strndup("x", 1);
	char *given = first;
	BF_CLEANUP(bf_free_pointer) char *taken = BF_TAKE(given);

	assert_ptr_equal(taken, first);
	assert_null(given);
}

static void the_table_is_replaceable_and_every_block_goes_back(void **state)
{
	(void)state;
	static const struct bf_allocator counting = {counting_resize, counting_release};

	live_blocks = 0;
	bf_alloc_set(&counting);
	char *block = bf_alloc(3);
	char *copy = bf_strndup("x", 1);
	int while_held = live_blocks;
	bf_free_pointer(&block);
	bf_free(copy);
	bf_free(NULL);
	bf_alloc_set(NULL);
	assert_int_equal(while_held, 2);
	assert_int_equal(live_blocks, 0);
	assert_null(block);
}

/* Which of ten calls fail, as a text of '.' and 'x'. */
static void check_fault(int64_t first, int64_t repeat, const char *expected)
{
	struct bf_fault fault = {0};
	char calls[11] = {0};
	int64_t fired = 0;

	bf_fault_arm(&fault, first, repeat);
	for (size_t i = 0; i < 10; i++) {
		calls[i] = bf_fault_hit(&fault) ? 'x' : '.';
		fired += calls[i] == 'x' ? 1 : 0;
	}
	assert_string_equal(calls, expected);
	assert_int_equal(bf_fault_fired(&fault), fired);
}

static void the_fault_counter_passes_n_calls_and_fails_m(void **state)
{
	(void)state;
	check_fault(0, 0, "..........");
	check_fault(0, -1, "..........");
	check_fault(1, 1, "x.........");
	check_fault(3, 2, "..xx......");
	check_fault(9, 5, "........xx");
	check_fault(4, -1, "...xxxxxxx");
	check_fault(11, 1, "..........");
}

static void arming_again_begins_anew(void **state)
{
	(void)state;
	struct bf_fault fault = {0};

	bf_fault_arm(&fault, 1, 1);
	assert_true(bf_fault_hit(&fault));
	assert_false(bf_fault_hit(&fault));
	bf_fault_arm(&fault, 1, 1);
	assert_int_equal(bf_fault_fired(&fault), 0);
	assert_true(bf_fault_hit(&fault));
}

int run_alloc_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(new_memory_is_zeroed),
			cmocka_unit_test(no_bytes_are_still_a_block),
			cmocka_unit_test(a_count_that_overflows_is_no_memory),
			cmocka_unit_test(a_copy_ends_with_a_nul),
			cmocka_unit_test(a_failed_growth_keeps_the_old_block),
			cmocka_unit_test(taking_leaves_null_behind),
			cmocka_unit_test(the_table_is_replaceable_and_every_block_goes_back),
			cmocka_unit_test(the_fault_counter_passes_n_calls_and_fails_m),
			cmocka_unit_test(arming_again_begins_anew),
	};

	return cmocka_run_group_tests_name("alloc", tests, NULL, NULL);
}
