/* What the check of policies lets through: each limit at its edge and one past it, and each value that
 * interface.md names and a later version carries out, refused by name. */
#include "cases.h"

#include "model/definition.h"

#define LONGEST (400 * 366 * BELFRY_DAY)

static const struct belfry_policies defaults = BELFRY_POLICIES_INIT;

static void refused(const struct belfry_policies *policies, const char *pointer)
{
	struct belfry_error err = {0};

	assert_int_equal(bf_policies_check(policies, &err), BELFRY_INVALID);
	assert_string_equal(err.pointer, pointer);
	/* The sentence names the member as well. */
	assert_non_null(strstr(err.message, pointer + 1));
}

static void taken(const struct belfry_policies *policies)
{
	assert_int_equal(bf_policies_check(policies, NULL), BELFRY_OK);
}

static void the_defaults_are_those_of_the_contract(void **state)
{
	(void)state;
	taken(&defaults);
	assert_int_equal(defaults.missed, BELFRY_MISSED_SKIP);
	assert_true(defaults.grace == 0);
	assert_true(defaults.late_limit == BELFRY_HOUR);
	assert_int_equal(defaults.overlap, BELFRY_OVERLAP_ALLOW);
	assert_int_equal(defaults.interrupted, BELFRY_INTERRUPTED_RESUME);
	assert_int_equal(defaults.max_attempts, 5);
	assert_true(defaults.first_delay == BELFRY_SECOND);
	assert_true(defaults.max_delay == BELFRY_MINUTE);
	assert_true(defaults.session_timeout == BELFRY_DAY);
	assert_int_equal(defaults.on_exhausted, BELFRY_EXHAUSTED_KEEP);
}

static void every_duration_has_its_limits(void **state)
{
	static const struct {
		size_t offset;
		belfry_duration min;
		const char *pointer;
		bool is_offered; /* another one than the default */
	} rows[] = {
			{offsetof(struct belfry_policies, missed_max_age), 0,
					"/policies/missed/max_age", false},
			{offsetof(struct belfry_policies, grace), 0, "/policies/grace", true},
			{offsetof(struct belfry_policies, late_limit), 0, "/policies/late_limit",
					true},
			{offsetof(struct belfry_policies, first_delay), BELFRY_MILLISECOND,
					"/policies/retry/first_delay", true},
			{offsetof(struct belfry_policies, max_delay), BELFRY_MILLISECOND,
					"/policies/retry/max_delay", true},
			{offsetof(struct belfry_policies, timeout), 0, "/policies/timeout", true},
			{offsetof(struct belfry_policies, session_timeout), BELFRY_MILLISECOND,
					"/policies/session_timeout", false},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_policies p = defaults;
		belfry_duration *value = (belfry_duration *)(void *)((char *)&p + rows[i].offset);
		p.max_delay = LONGEST; /* never shorter than first_delay, whatever that is */
		*value = rows[i].min - 1;
		refused(&p, rows[i].pointer);
		*value = LONGEST + 1;
		refused(&p, rows[i].pointer);
		*value = INT64_MIN;
		refused(&p, rows[i].pointer);
		if (!rows[i].is_offered) {
			continue;
		}
		*value = LONGEST;
		taken(&p);
		p.first_delay = BELFRY_MILLISECOND;
		*value = rows[i].min;
		taken(&p);
	}
}

static void attempts_go_from_1_to_1000(void **state)
{
	struct belfry_policies p = defaults;

	(void)state;
	p.max_attempts = 0;
	refused(&p, "/policies/retry/max_attempts");
	p.max_attempts = 1001;
	refused(&p, "/policies/retry/max_attempts");
	p.max_attempts = UINT32_MAX;
	refused(&p, "/policies/retry/max_attempts");
	p.max_attempts = 1;
	taken(&p);
	p.max_attempts = 1000;
	taken(&p);
}

static void the_longest_wait_is_no_shorter_than_the_first(void **state)
{
	struct belfry_policies p = defaults;

	(void)state;
	p.first_delay = 2 * BELFRY_MINUTE;
	refused(&p, "/policies/retry/max_delay");
	p.max_delay = p.first_delay;
	taken(&p);
}

static void values_of_a_later_version_are_refused_by_name(void **state)
{
	struct belfry_policies p = defaults;

	(void)state;
	for (int missed = BELFRY_MISSED_SKIP + 1; missed < BELFRY_MISSED_COUNT; missed++) {
		p = defaults;
		p.missed = (enum belfry_missed)missed;
		refused(&p, "/policies/missed/policy");
	}
	for (int overlap = BELFRY_OVERLAP_ALLOW + 1; overlap < BELFRY_OVERLAP_COUNT; overlap++) {
		p = defaults;
		p.overlap = (enum belfry_overlap)overlap;
		refused(&p, "/policies/overlap");
	}
	p = defaults;
	p.on_exhausted = BELFRY_EXHAUSTED_DISABLE;
	refused(&p, "/policies/on_exhausted");
	p = defaults;
	p.disable_after = 1;
	refused(&p, "/policies/on_failure/disable_after");
	p = defaults;
	p.deadline = BELFRY_HOUR;
	refused(&p, "/policies/deadline");
	p = defaults;
	p.session_timeout = BELFRY_DAY + 1;
	refused(&p, "/policies/session_timeout");
	p = defaults;
	p.missed_max_age = BELFRY_HOUR;
	p.missed_max_count = 10;
	taken(&p);
	p.missed_max_age = 7 * BELFRY_DAY;
	refused(&p, "/policies/missed/max_age");
	p.missed_max_age = 0;
	p.missed_max_count = 11;
	refused(&p, "/policies/missed/max_count");
}

/* A number that is in no list would be cut to one byte on its way into the store, and come back as
 * another policy. */
static void values_outside_their_lists_are_refused(void **state)
{
	static const int outside[] = {2, 7, 256, 257, -1};
	struct belfry_policies p = defaults;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(outside); i++) {
		p = defaults;
		p.interrupted = (enum belfry_interrupted)outside[i];
		refused(&p, "/policies/interrupted");
	}
	p = defaults;
	p.dst_gap = (enum belfry_dst_gap)256;
	refused(&p, "/policies/dst/gap");
	p.dst_gap = BELFRY_DST_GAP_COUNT;
	refused(&p, "/policies/dst/gap");
	p = defaults;
	p.dst_fold = (enum belfry_dst_fold)256;
	refused(&p, "/policies/dst/fold");
	p.dst_fold = BELFRY_DST_FOLD_COUNT;
	refused(&p, "/policies/dst/fold");
	p = defaults;
	p.missed = (enum belfry_missed)256;
	refused(&p, "/policies/missed/policy");
	p = defaults;
	p.overlap = (enum belfry_overlap)256;
	refused(&p, "/policies/overlap");
}

int run_policies_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_defaults_are_those_of_the_contract),
			cmocka_unit_test(every_duration_has_its_limits),
			cmocka_unit_test(attempts_go_from_1_to_1000),
			cmocka_unit_test(the_longest_wait_is_no_shorter_than_the_first),
			cmocka_unit_test(values_of_a_later_version_are_refused_by_name),
			cmocka_unit_test(values_outside_their_lists_are_refused),
	};
	return cmocka_run_group_tests_name("policies", tests, NULL, NULL);
}
