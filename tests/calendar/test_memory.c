/* Memory that runs out at every place where it can: a status each time, nothing leaked, nothing broken. */
#include "cases.h"

#include "base/alloc.h"

/* Fails allocation 1, 2, 3, ... of making a rule from nothing until none fails; says how many there were. */
static int64_t sweep(const char *text)
{
	for (int64_t call = 1;; call++) {
		struct belfry_zones *zones = NULL;
		struct belfry_rule *rule = NULL;
		struct belfry_error err = {0};
		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = belfry_zones_new(NULL, &zones, &err);
		if (status == BELFRY_OK) {
			status = belfry_rule_new(zones, bf_str(text), BF_STR("Europe/Berlin"), NULL,
					&rule, &err);
		}
		bool has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		if (status != BELFRY_OK) {
			assert_true(has_fired);
			assert_int_equal(status, BELFRY_NOMEM);
			assert_int_equal(err.status, BELFRY_NOMEM);
			assert_null(rule);
		} else {
			belfry_time due;
			assert_int_equal(belfry_rule_next(rule, 0, &due), BELFRY_OK);
		}
		belfry_rule_free(rule);
		belfry_zones_free(zones);
		if (!has_fired) {
			return call - 1;
		}
	}
}

static void every_failed_allocation_is_a_status(void **state)
{
	(void)state;
	assert_true(sweep("30 2 * * *") >= 7);
	assert_true(sweep("{\"cron\":\"30 2 * * *\"}") >= 10);
	assert_true(sweep("{\"any\":[{\"at\":[\"2026-12-24T18:00:00\",\"2026-12-25T18:00:00\"]},"
			  "{\"every\":\"PT30M\",\"not_before\":\"2026-01-01T00:00:00\"},"
			  "{\"any\":[{\"cron\":\"@daily\"}]}]}") >= 20);
	assert_true(sweep("{\"any\":[{\"every\":\"1h\"},{\"cron\":\"0 9 * * *\"}],\"except\":["
			  "\"2026-12-25\",{\"cron\":\"* 1 * * *\"},{\"calendar\":\"x\","
			  "\"except\":[\"2026-12-24T09:00:00\",{\"cron\":\"* * 1 1 *\"}]}]}") >=
			30);
}

/* The same for what a rule is printed and told with. */
static void every_failed_allocation_of_a_text_is_a_status(void **state)
{
	static const char *const texts[] = {"30 2 * * 1-5",
			"{\"any\":[{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\","
			"{\"cron\":\"* * * 1 *\"}]},{\"at\":\"2026-12-24T18:00:00\"},{\"every\":\"1d\","
			"\"except\":[{\"calendar\":\"x\",\"except\":[\"2026-12-26T09:00:00\"]}]}],"
			"\"spread\":\"PT1M\"}"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		struct belfry_rule *rule = new_rule(texts[i], "Europe/Berlin");
		bool has_fired = true;
		for (int64_t call = 1; has_fired; call++) {
			BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
			struct belfry_str text;
			bf_fault_arm(bf_alloc_fault(), call, 1);
			enum belfry_status status = belfry_rule_print(rule, &arena, &text);
			has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
			bf_fault_arm(bf_alloc_fault(), 0, 0);
			assert_int_equal(status, has_fired ? BELFRY_NOMEM : BELFRY_OK);
		}
		belfry_rule_free(rule);
	}
}

/* Asks a thousand times while every allocation would fail, and be counted. */
static void check_allocates_nothing(const char *text)
{
	struct belfry_rule *rule = new_rule(text, "Europe/Berlin");
	belfry_time due = 0;
	int answers = 0;

	bf_fault_arm(bf_alloc_fault(), 1, -1);
	while (answers < 1000 && belfry_rule_next(rule, due, &due) == BELFRY_OK) {
		answers++;
	}
	int64_t fired = bf_fault_fired(bf_alloc_fault());
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_int_equal(fired, 0);
	assert_true(answers >= 2);
	belfry_rule_free(rule);
}

static void an_answer_allocates_nothing(void **state)
{
	(void)state;
	check_allocates_nothing("{\"cron\":\"*/7 1-5 L,15W 2,10 1#2\","
				"\"except\":[{\"cron\":\"* 3 * * *\"}]}");
	check_allocates_nothing("*/5 * * * *");
	check_allocates_nothing("0 9 * * 1-5");
	check_allocates_nothing("0 0 29 2 *");
	check_allocates_nothing("30 2 * * *");
	check_allocates_nothing("* * * * * *");
	check_allocates_nothing("{\"at\":[\"2026-12-24T18:00:00\",\"2027-03-28T02:30:00\"]}");
	check_allocates_nothing("{\"any\":[{\"every\":\"PT30M\"},{\"cron\":\"30 2 * * *\"}],"
				"\"not_before\":\"2026-01-01T00:00:00\","
				"\"except\":[\"2026-03-29\",{\"cron\":\"* * * 1 *\"}]}");
}

int run_memory_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_failed_allocation_is_a_status),
			cmocka_unit_test(every_failed_allocation_of_a_text_is_a_status),
			cmocka_unit_test(an_answer_allocates_nothing),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
