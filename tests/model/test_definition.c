/* A definition survives its trip through the store, and bytes that are none are refused whole. */
#include "cases.h"

#include "model/definition.h"

struct dice {
	uint64_t state;
};

static uint64_t roll(struct dice *dice, uint64_t end)
{
	dice->state = dice->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (dice->state >> 33) % end;
}

static belfry_duration roll_duration(struct dice *dice)
{
	return (belfry_duration)roll(dice, 2000000) * (belfry_duration)roll(dice, 6000000);
}

static struct belfry_policies roll_policies(struct dice *dice)
{
	return (struct belfry_policies){
			.missed = (enum belfry_missed)roll(dice, BELFRY_MISSED_COUNT),
			.missed_max_age = roll_duration(dice),
			.missed_max_count = (uint32_t)roll(dice, UINT64_C(1) << 31),
			.grace = roll_duration(dice),
			.late_limit = roll_duration(dice),
			.overlap = (enum belfry_overlap)roll(dice, BELFRY_OVERLAP_COUNT),
			.interrupted = (enum belfry_interrupted)roll(dice,
					BELFRY_INTERRUPTED_COUNT),
			.max_attempts = (uint32_t)roll(dice, UINT64_C(1) << 31),
			.first_delay = roll_duration(dice),
			.max_delay = roll_duration(dice),
			.timeout = roll_duration(dice),
			.session_timeout = roll_duration(dice),
			.on_exhausted = (enum belfry_on_exhausted)roll(dice,
					BELFRY_EXHAUSTED_COUNT),
			.disable_after = (uint32_t)roll(dice, UINT64_C(1) << 31),
			.dst_gap = (enum belfry_dst_gap)roll(dice, BELFRY_DST_GAP_COUNT),
			.dst_fold = (enum belfry_dst_fold)roll(dice, BELFRY_DST_FOLD_COUNT),
			.deadline = roll_duration(dice),
	};
}

static char long_text[BELFRY_RULE_BYTES];

static struct bf_definition roll_definition(struct dice *dice)
{
	memset(long_text, 'r', sizeof(long_text));
	return (struct bf_definition){
			.flags = (uint32_t)roll(dice, 8),
			.anchor = (belfry_time)roll(dice, UINT64_C(1) << 31) * 1000000,
			.rule = {long_text, roll(dice, sizeof(long_text) + 1)},
			.zone = {long_text, roll(dice, BELFRY_ZONE_BYTES + 1)},
			.policies = roll_policies(dice),
	};
}

static void check_policies_equal(const struct belfry_policies *a, const struct belfry_policies *b)
{
	assert_int_equal(a->missed, b->missed);
	assert_true(a->missed_max_age == b->missed_max_age);
	assert_int_equal(a->missed_max_count, b->missed_max_count);
	assert_true(a->grace == b->grace);
	assert_true(a->late_limit == b->late_limit);
	assert_int_equal(a->overlap, b->overlap);
	assert_int_equal(a->interrupted, b->interrupted);
	assert_int_equal(a->max_attempts, b->max_attempts);
	assert_true(a->first_delay == b->first_delay);
	assert_true(a->max_delay == b->max_delay);
	assert_true(a->timeout == b->timeout);
	assert_true(a->session_timeout == b->session_timeout);
	assert_int_equal(a->on_exhausted, b->on_exhausted);
	assert_int_equal(a->disable_after, b->disable_after);
	assert_int_equal(a->dst_gap, b->dst_gap);
	assert_int_equal(a->dst_fold, b->dst_fold);
	assert_true(a->deadline == b->deadline);
}

static void every_definition_reads_back_as_it_was(void **state)
{
	struct dice dice = {1};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
		struct bf_definition d = roll_definition(&dice);
		struct bf_definition back;
		bf_definition_encode(&d, &bytes);
		assert_int_equal(bf_buf_status(&bytes), BELFRY_OK);
		assert_int_equal(bf_definition_decode(bf_buf_str(&bytes), &back, NULL), BELFRY_OK);
		assert_int_equal(back.flags, d.flags);
		assert_true(back.anchor == d.anchor);
		assert_true(bf_str_equal(back.rule, d.rule));
		assert_true(bf_str_equal(back.zone, d.zone));
		check_policies_equal(&back.policies, &d.policies);
	}
}

/* On the heap in its exact size, so that the address sanitizer sees a byte read too far. */
static enum belfry_status decode_copy(struct belfry_str bytes, struct bf_definition *ret_definition,
		struct belfry_error *err)
{
	char *copy = test_malloc(bytes.len + (bytes.len == 0));

	memcpy(copy, bytes.ptr, bytes.len);
	enum belfry_status status = bf_definition_decode((struct belfry_str){copy, bytes.len},
			ret_definition, err);
	test_free(copy);
	return status;
}

static void each_truncation_and_each_byte_too_many_is_corrupt(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	struct bf_definition d = {.rule = BF_STR("*/5 * * * *"),
			.zone = BF_STR("Europe/Vienna"),
			.policies = BELFRY_POLICIES_INIT};
	struct bf_definition back;
	struct belfry_error err;

	(void)state;
	bf_definition_encode(&d, &bytes);
	for (size_t len = 0; len < bytes.len; len++) {
		struct belfry_str cut = {bytes.ptr, len};
		assert_int_equal(decode_copy(cut, &back, &err), BELFRY_CORRUPT);
		assert_true(err.detail[0] != '\0');
	}
	bf_buf_append_byte(&bytes, '\0');
	assert_int_equal(decode_copy(bf_buf_str(&bytes), &back, &err), BELFRY_CORRUPT);
	assert_non_null(strstr(err.detail, "behind its end"));
}

static void a_flipped_byte_is_corrupt_or_another_definition(void **state)
{
	struct dice dice = {42};
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	struct bf_definition d = {.rule = BF_STR("0 9 * * 1-5"),
			.zone = BF_STR("UTC"),
			.policies = BELFRY_POLICIES_INIT};

	(void)state;
	bf_definition_encode(&d, &bytes);
	for (int i = 0; i < 20000; i++) {
		struct bf_definition back;
		size_t at = roll(&dice, bytes.len);
		char old = bytes.ptr[at];
		bytes.ptr[at] = (char)roll(&dice, 256);
		enum belfry_status status = decode_copy(bf_buf_str(&bytes), &back, NULL);
		assert_true(status == BELFRY_OK || status == BELFRY_CORRUPT);
		if (status == BELFRY_OK) {
			const struct belfry_policies *p = &back.policies;
			assert_true((unsigned)p->missed < BELFRY_MISSED_COUNT);
			assert_true((unsigned)p->interrupted < BELFRY_INTERRUPTED_COUNT);
			assert_true((unsigned)p->dst_gap < BELFRY_DST_GAP_COUNT);
			assert_true((unsigned)p->dst_fold < BELFRY_DST_FOLD_COUNT);
			assert_true(p->late_limit >= 0 && p->first_delay >= 0);
			assert_true(back.rule.len <= BELFRY_RULE_BYTES);
		}
		bytes.ptr[at] = old;
	}
}

static void the_longest_rule_comes_back(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	struct bf_definition back;
	struct bf_definition d = {.rule = {long_text, sizeof(long_text)},
			.zone = BF_STR("UTC"),
			.policies = BELFRY_POLICIES_INIT};

	(void)state;
	memset(long_text, 'r', sizeof(long_text));
	bf_definition_encode(&d, &bytes);
	assert_int_equal(decode_copy(bf_buf_str(&bytes), &back, NULL), BELFRY_OK);
	assert_int_equal(back.rule.len, BELFRY_RULE_BYTES);
}

static void noise_is_corrupt(void **state)
{
	struct dice dice = {9};
	char noise[512];

	(void)state;
	for (int i = 0; i < 5000; i++) {
		struct bf_definition back;
		size_t len = roll(&dice, sizeof(noise));
		for (size_t k = 0; k < len; k++) {
			noise[k] = (char)roll(&dice, 256);
		}
		noise[0] = (char)(roll(&dice, 2) != 0 ? 1 : noise[0]);
		assert_int_equal(decode_copy((struct belfry_str){noise, len}, &back, NULL),
				BELFRY_CORRUPT);
	}
}

int run_definition_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_definition_reads_back_as_it_was),
			cmocka_unit_test(each_truncation_and_each_byte_too_many_is_corrupt),
			cmocka_unit_test(a_flipped_byte_is_corrupt_or_another_definition),
			cmocka_unit_test(the_longest_rule_comes_back),
			cmocka_unit_test(noise_is_corrupt),
	};
	return cmocka_run_group_tests_name("definition", tests, NULL, NULL);
}
