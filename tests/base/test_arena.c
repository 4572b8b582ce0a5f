/* The arena: aligned zeroed pieces, memory kept over a reset, and short memory as a status. */
#include "cases.h"

#include <stdalign.h>

#include <belfry/arena.h>
#include <belfry/run.h>

#include "base/alloc.h"

static void pieces_are_aligned_zeroed_and_apart(void **state)
{
	(void)state;
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	static const char zeros[3000];
	char *last = NULL;

	for (size_t size = 0; size <= sizeof(zeros); size += 7) {
		char *piece = belfry_arena_alloc(&arena, size);
		assert_non_null(piece);
		assert_int_equal((uintptr_t)piece % alignof(max_align_t), 0);
		assert_memory_equal(piece, zeros, size);
		memset(piece, 0xff, size);
		assert_true(size == 0 || piece != last);
		last = piece;
	}
}

static void a_copy_does_not_follow_its_source(void **state)
{
	(void)state;
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	char source[] = "before";
	struct belfry_str copy;

	assert_int_equal(belfry_arena_copy(&arena, bf_str(source), &copy), BELFRY_OK);
	memset(source, 'x', sizeof(source) - 1);
	check_text(copy, "before");
	assert_int_equal(copy.ptr[copy.len], '\0');
}

static void a_reset_arena_serves_the_same_again_without_allocating(void **state)
{
	(void)state;
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	static const char zeros[500];

	for (int round = 0; round < 3; round++) {
		if (round > 0) {
			bf_fault_arm(bf_alloc_fault(), 1, -1);
		}
		for (int i = 0; i < 50; i++) {
			char *piece = belfry_arena_alloc(&arena, sizeof(zeros));
			if (piece == NULL) {
				bf_fault_arm(bf_alloc_fault(), 0, 0);
			}
			assert_non_null(piece);
			assert_memory_equal(piece, zeros, sizeof(zeros));
			memset(piece, 0xff, sizeof(zeros));
		}
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		belfry_arena_reset(&arena);
	}
}

static void no_memory_is_an_answer(void **state)
{
	(void)state;
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str copy;

	bf_fault_arm(bf_alloc_fault(), 1, -1);
	void *piece = belfry_arena_alloc(&arena, 10);
	enum belfry_status status = belfry_arena_copy(&arena, BF_STR("text"), &copy);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_null(piece);
	assert_int_equal(status, BELFRY_NOMEM);
	assert_null(belfry_arena_alloc(&arena, SIZE_MAX));
	assert_null(belfry_arena_alloc(&arena, SIZE_MAX - 64));
	assert_non_null(belfry_arena_alloc(&arena, 10));
}

static void what_is_missing_is_refused_and_ends_quietly(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str copy = {NULL, 0};
	struct belfry_id id;

	(void)state;
	assert_null(belfry_arena_alloc(NULL, 1));
	assert_int_equal(belfry_arena_copy(NULL, BF_STR("a"), &copy), BELFRY_INVALID);
	assert_int_equal(belfry_arena_copy(&arena, BF_STR("a"), NULL), BELFRY_INVALID);
	assert_int_equal(belfry_arena_copy(&arena, (struct belfry_str){NULL, 5}, &copy),
			BELFRY_INVALID);
	assert_int_equal(belfry_arena_copy(&arena, (struct belfry_str){NULL, 0}, &copy), BELFRY_OK);
	belfry_arena_reset(NULL);
	belfry_arena_fini(NULL);
	assert_int_equal(belfry_run_id((struct belfry_str){NULL, 5}, 1, &id), BELFRY_INVALID);
	assert_int_equal(belfry_run_id(BF_STR("a"), 1, NULL), BELFRY_INVALID);
	assert_int_equal(belfry_id_parse((struct belfry_str){NULL, 36}, &id), BELFRY_INVALID);
}

int run_arena_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(pieces_are_aligned_zeroed_and_apart),
			cmocka_unit_test(a_copy_does_not_follow_its_source),
			cmocka_unit_test(a_reset_arena_serves_the_same_again_without_allocating),
			cmocka_unit_test(no_memory_is_an_answer),
			cmocka_unit_test(what_is_missing_is_refused_and_ends_quietly),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
