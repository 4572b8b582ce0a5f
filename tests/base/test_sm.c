/* The state-machine kit: what the table allows, the trace line of a move, and what it refuses. */
#include "cases.h"

#include "base/assert.h"
#include "base/sm.h"

enum { IDLE, BUSY, DONE, STATE_COUNT };

static const struct bf_sm_state states[] = {
		[IDLE] = {"idle", BF_SM_INITIAL, 1u << BUSY},
		[BUSY] = {"busy", 0, 1u << IDLE | 1u << DONE},
		[DONE] = {"done", BF_SM_FINAL, 0},
};
static const struct bf_sm_table table = {"test", states, STATE_COUNT};

static void keep_line(void *data, enum bf_log_level level, const char *line)
{
	assert_int_equal(level, BF_LOG_DEBUG);
	bf_buf_append_text(data, line);
}

static void the_table_decides_every_pair(void **state)
{
	(void)state;
	static const bool allowed[STATE_COUNT][STATE_COUNT] = {
			[IDLE] = {[BUSY] = true},
			[BUSY] = {[IDLE] = true, [DONE] = true},
	};

	for (unsigned from = 0; from < STATE_COUNT; from++) {
		for (unsigned to = 0; to < STATE_COUNT; to++) {
			assert_int_equal(bf_sm_can_move(&table, from, to), allowed[from][to]);
		}
		assert_int_equal(bf_sm_can_start(&table, from), from == IDLE);
		assert_int_equal(bf_sm_is_final(&table, from), from == DONE);
	}
}

static void a_state_outside_the_table_may_do_nothing(void **state)
{
	(void)state;
	assert_false(bf_sm_can_move(&table, STATE_COUNT, IDLE));
	assert_false(bf_sm_can_move(&table, IDLE, STATE_COUNT));
	assert_false(bf_sm_can_move(&table, IDLE, 4000000000u));
	assert_false(bf_sm_can_start(&table, STATE_COUNT));
	assert_false(bf_sm_is_final(&table, STATE_COUNT));
}

static void a_move_changes_the_state_and_leaves_one_line(void **state)
{
	(void)state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf lines = {0};
	struct bf_env env = {.data = &lines, .log = keep_line};
	unsigned current = IDLE;

	bf_sm_move(&table, &current, BUSY, &env, "run-7");
	assert_int_equal(current, BUSY);
	check_text(bf_buf_str(&lines), "machine=test subject=run-7 from=idle to=busy");
	bf_sm_move(&table, &current, DONE, NULL, "run-7");
	assert_int_equal(current, DONE);
}

static void a_move_that_is_not_allowed_asserts(void **state)
{
	(void)state;
	unsigned current = IDLE;

	catch_assertions();
	expect_assert_failure(bf_sm_move(&table, &current, DONE, NULL, "run-7"));
	assert_int_equal(current, IDLE);
	bf_assert_set_handler(NULL);
}

int run_sm_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_table_decides_every_pair),
			cmocka_unit_test(a_state_outside_the_table_may_do_nothing),
			cmocka_unit_test(a_move_changes_the_state_and_leaves_one_line),
			cmocka_unit_test(a_move_that_is_not_allowed_asserts),
	};

	return cmocka_run_group_tests_name("sm", tests, NULL, NULL);
}
