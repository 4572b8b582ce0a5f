/* Which revisions the memory store keeps: the present one, those with a Run, and young ones. */
#include "support.h"

static enum belfry_status request(struct test_store *test, unsigned n, int64_t revision)
{
	struct belfry_add add = {.schedule = BF_STR("a"),
			.id = {{1, 0, 0, 0, 0, 0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0,
					(unsigned char)n}},
			.trigger = BELFRY_TRIGGER_MANUAL,
			.revision = revision};

	assert_int_equal(bf_store_add_runs(test->store, &add, 1, NULL), BELFRY_OK);
	return add.result;
}

static void prune(struct test_store *test)
{
	struct belfry_prune prune = {.keep_age = BELFRY_DAY,
			.keep_tombstones = BELFRY_DAY,
			.max_rows = 100};

	assert_int_equal(bf_store_prune(test->store, &prune, NULL), BELFRY_OK);
	assert_true(prune.is_done);
}

static void b04_a_replaced_revision_is_kept_like_a_run(void **state)
{
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	for (int64_t revision = 1; revision <= 3; revision++) {
		test_put(test.store, "a", revision, BELFRY_SCHEDULE_F_ENABLED);
	}
	assert_int_equal(request(&test, 1, 1), BELFRY_OK);
	prune(&test);
	assert_int_equal(request(&test, 2, 3), BELFRY_OK);
	test.clock.now += 2 * BELFRY_DAY;
	prune(&test);
	assert_int_equal(request(&test, 3, 1), BELFRY_OK); /* its Run is open */
	assert_int_equal(request(&test, 4, 2), BELFRY_NOT_FOUND);
	assert_int_equal(request(&test, 5, 3), BELFRY_OK);
	test_store_fini(&test);
}

/* Removed and made anew while old Runs still need the old revisions. */
static void t060_runs_of_a_removed_schedule_keep_their_payload(void **state)
{
	struct test_store test;
	struct belfry_id id = test_run_id("a", 0);
	struct belfry_list list = {.kind = BELFRY_LIST_INVOCATIONS,
			.run_ids = &id,
			.run_id_count = 1};
	struct belfry_advance_item item = {.schedule = BF_STR("a"),
			.flags = BELFRY_ADVANCE_F_REMOVE,
			.remove_revision = 2,
			.cursor = BELFRY_TIME_NEVER};
	struct belfry_advance advance = {.items = &item, .item_count = 1};

	(void)state;
	test_store_init(&test, false);
	test_put(test.store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	test_plan(test.store, "a", 0, 1);
	item.expect_version = test_version(test.store, "a");
	assert_int_equal(bf_store_advance(test.store, &advance, NULL), BELFRY_OK);
	assert_int_equal(item.result, BELFRY_OK);
	test.clock.now += 30 * BELFRY_DAY;
	prune(&test);
	test_put(test.store, "a", 3, BELFRY_SCHEDULE_F_ENABLED);
	assert_int_equal(bf_store_list(test.store, &list, &test.arena, NULL), BELFRY_OK);
	assert_int_equal(list.count, 1);
	assert_true(bf_str_equal(list.invocations[0].payload, BF_STR("payload")));
	test_store_fini(&test);
}

int test_revisions(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(b04_a_replaced_revision_is_kept_like_a_run),
			cmocka_unit_test(t060_runs_of_a_removed_schedule_keep_their_payload),
	};

	return cmocka_run_group_tests_name("revisions", tests, NULL, NULL);
}
