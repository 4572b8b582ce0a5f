/* The cache of compiled rules: bounded in number and in bytes, the oldest first. */
#include "cases.h"

#include <stdio.h>

#include "base/str.h"
#include "calendar/rule_bytes.h"
#include "engine/rules.h"
#include "support.h"

#define DATES 1000

/* "0 9 * * *" but for a thousand dates, as a shared calendar puts them there. */
static struct bf_buf rule_with_dates(void)
{
	struct bf_buf text = {0};

	bf_buf_appendf(&text,
			"{\"cron\":\"0 9 * * *\",\"except\":[{\"calendar\":\"c\",\"except\":[");
	for (int i = 0; i < DATES; i++) {
		bf_buf_appendf(&text, "%s\"2%03d-%02d-%02d\"", i == 0 ? "" : ",", i, i % 12 + 1,
				i % 28 + 1);
	}
	bf_buf_appendf(&text, "]}]}");
	assert_int_equal(bf_buf_status(&text), BELFRY_OK);
	return text;
}

static const struct belfry_rule *find(struct bf_rules *rules, int number, const struct bf_buf *text)
{
	static const struct belfry_policies defaults = BELFRY_POLICIES_INIT;
	struct bf_definition definition = {.anchor = DAY0,
			.rule = bf_buf_str(text),
			.zone = BF_STR("UTC"),
			.policies = defaults};
	const struct belfry_rule *rule = NULL;
	char id[16];

	(void)snprintf(id, sizeof(id), "s%d", number);
	assert_int_equal(bf_rules_find(rules, bf_str(id), 1, &definition, &rule, NULL), BELFRY_OK);
	return rule;
}

static void a_rule_keeps_no_more_than_its_exceptions_need(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = rule_with_dates();
	struct belfry_rule *plain = rule_of("0 9 * * *");
	struct belfry_rule *rule = rule_of(text.ptr);
	size_t more = bf_rule_bytes(rule) - bf_rule_bytes(plain);

	(void)state;
	assert_true(more >= DATES * sizeof(int64_t));
	assert_true(more <= DATES * sizeof(int64_t) + 2048);
	belfry_rule_free(plain);
	belfry_rule_free(rule);
}

static void rules_with_many_exceptions_push_the_oldest_out(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = rule_with_dates();
	struct belfry_rule *one = rule_of(text.ptr);
	size_t each = bf_rule_bytes(one);
	struct bf_rules *rules = NULL;

	(void)state;
	belfry_rule_free(one);
	assert_int_equal(bf_rules_new(zones(), 1000, 5 * each, &rules), BELFRY_OK);
	for (int i = 0; i < 20; i++) {
		const struct belfry_rule *made = find(rules, i, &text);
		assert_ptr_equal(find(rules, i, &text), made); /* kept */
		assert_true(bf_rules_bytes(rules) <= 5 * each);
		assert_true(i < 5 || bf_rules_bytes(rules) >= 3 * each);
	}
	bf_rules_clear(rules);
	assert_int_equal(bf_rules_bytes(rules), 0);
	bf_rules_free(rules);
	/* What is larger than the bound is kept while it is used. */
	assert_int_equal(bf_rules_new(zones(), 1000, 1, &rules), BELFRY_OK);
	assert_ptr_equal(find(rules, 0, &text), find(rules, 0, &text));
	bf_rules_free(rules);
}

int run_rules_kept_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_rule_keeps_no_more_than_its_exceptions_need),
			cmocka_unit_test(rules_with_many_exceptions_push_the_oldest_out),
	};
	return cmocka_run_group_tests_name("rules kept", tests, NULL, NULL);
}
