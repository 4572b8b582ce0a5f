/* Rule JSON: what each form means, windows, unions, and every refusal by name. */
#include "cases.h"

#include "base/timefmt.h"

static void cron_within_json_is_the_same_cron(void **state)
{
	(void)state;
	check_rule("{\"cron\": \"0 9 * * 1-5\"}", "Europe/Berlin", "2026-01-02T12:00:00Z",
			"2026-01-05T08:00:00Z,2026-01-06T08:00:00Z");
	check_rule(" \n{\"cron\":\"@daily\"}\n", "UTC", "2026-01-02T12:00:00Z",
			"2026-01-03T00:00:00Z");
}

static void every_counts_elapsed_time_from_its_anchor(void **state)
{
	(void)state;
	check_rule("{\"every\":\"PT30M\",\"anchor\":\"2026-01-01T00:10:00Z\"}", "UTC",
			"2025-06-01T00:00:00Z",
			"2026-01-01T00:10:00Z,2026-01-01T00:40:00Z,2026-01-01T01:10:00Z");
	check_rule("{\"every\":\"1d\",\"anchor\":\"2026-03-28T12:00:00+01:00\"}", "Europe/Berlin",
			"2026-03-28T11:00:00Z", "2026-03-29T11:00:00Z,2026-03-30T11:00:00Z");
	check_rule("{\"every\":\"90s\",\"anchor\":\"2026-01-01T00:00:00.5Z\"}", "UTC",
			"2026-01-01T00:00:00Z",
			"2026-01-01T00:00:00.500Z,2026-01-01T00:01:30.500Z,2026-01-01T00:03:00.500Z");
	check_rule("{\"every\":\"P7D\",\"anchor\":\"9999-12-20T00:00:00Z\"}", "UTC",
			"9999-12-21T00:00:00Z", "9999-12-27T00:00:00Z,never");
}

static void every_without_an_anchor_counts_from_the_creation(void **state)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule;

	(void)state;
	options.anchor = at("2026-05-05T05:05:05Z");
	assert_int_equal(belfry_rule_new(shared_zones(), BF_STR("{\"every\":\"10m\"}"),
					 BF_STR("UTC"), &options, &rule, NULL),
			BELFRY_OK);
	check_dues(rule, "2026-05-05T05:05:05Z", "2026-05-05T05:15:05Z,2026-05-05T05:25:05Z");
	belfry_rule_free(rule);
}

static void at_fires_once_each(void **state)
{
	(void)state;
	check_rule("{\"at\":\"2026-12-24T18:00:00\"}", "Europe/Berlin", "2026-01-01T00:00:00Z",
			"2026-12-24T17:00:00Z,never");
	check_rule("{\"at\":\"2026-12-24T18:00:00-05:00\"}", "Europe/Berlin",
			"2026-01-01T00:00:00Z", "2026-12-24T23:00:00Z,never");
	check_rule("{\"at\":[\"2026-12-24T18:00:00\",\"2026-02-01T00:00:00\",\"2026-12-24T17:00:00Z\"]}",
			"Europe/Berlin", "2026-01-01T00:00:00Z",
			"2026-01-31T23:00:00Z,2026-12-24T17:00:00Z,never");
}

static void t020_one_instant_in_two_offsets_is_one_due_time(void **state)
{
	(void)state;
	check_rule("{\"at\":[\"2026-12-24T18:00:00+01:00\",\"2026-12-24T12:00:00-05:00\"]}", "UTC",
			"2026-01-01T00:00:00Z", "2026-12-24T17:00:00Z,never");
}

static void check_at(const char *text, enum belfry_dst_gap gap, enum belfry_dst_fold fold,
		const char *expected)
{
	struct belfry_rule *rule = new_rule_with(text, "Europe/Berlin", gap, fold);

	check_dues(rule, "2026-01-01T00:00:00Z", expected);
	belfry_rule_free(rule);
}

static void local_times_of_at_follow_the_policies(void **state)
{
	const char *gap = "{\"at\":\"2026-03-29T02:30:00\"}";
	const char *fold = "{\"at\":\"2026-10-25T02:30:00\"}";
	const char *mixed = "{\"at\":[\"2026-03-29T02:30:00\",\"2026-10-25T02:30:00\"]}";

	(void)state;
	check_at(gap, BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST, "2026-03-29T01:00:00Z,never");
	check_at(gap, BELFRY_DST_GAP_SHIFT, BELFRY_DST_FOLD_FIRST, "2026-03-29T01:30:00Z,never");
	check_at(fold, BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST, "2026-10-25T00:30:00Z,never");
	check_at(fold, BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_LAST, "2026-10-25T01:30:00Z,never");
	check_at(fold, BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_BOTH,
			"2026-10-25T00:30:00Z,2026-10-25T01:30:00Z,never");
	check_at(mixed, BELFRY_DST_GAP_SKIP, BELFRY_DST_FOLD_FIRST, "2026-10-25T00:30:00Z,never");
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule;
	options.gap = BELFRY_DST_GAP_SKIP;
	assert_int_equal(belfry_rule_new(shared_zones(), bf_str(gap), BF_STR("Europe/Berlin"),
					 &options, &rule, NULL),
			BELFRY_INVALID_SCHEDULE);
}

static void any_is_a_union_with_one_due_time_where_several_agree(void **state)
{
	(void)state;
	check_rule("{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"0 9,10 * * *\"},"
		   "{\"at\":\"2026-01-01T09:30:00Z\"}]}",
			"UTC", "2026-01-01T00:00:00Z",
			"2026-01-01T09:00:00Z,2026-01-01T09:30:00Z,2026-01-01T10:00:00Z,"
			"2026-01-02T09:00:00Z");
	check_rule("{\"any\":[{\"any\":[{\"at\":\"2026-01-03T00:00:00Z\"}],"
		   "\"not_before\":\"2026-01-01T00:00:00Z\"},{\"at\":\"2026-01-02T00:00:00Z\"}]}",
			"UTC", "2026-01-01T00:00:00Z",
			"2026-01-02T00:00:00Z,2026-01-03T00:00:00Z,never");
}

static void both_ends_of_a_window_count(void **state)
{
	(void)state;
	check_rule("{\"cron\":\"0 9 * * *\",\"not_before\":\"2026-02-01T09:00:00\","
		   "\"not_after\":\"2026-02-03T09:00:00\"}",
			"Europe/Berlin", "2026-01-01T00:00:00Z",
			"2026-02-01T08:00:00Z,2026-02-02T08:00:00Z,2026-02-03T08:00:00Z,never");
	/* A window around a union cuts every member; the narrower one counts. */
	check_rule("{\"any\":[{\"cron\":\"0 0 * * *\",\"not_after\":\"2026-01-02T00:00:00Z\"},"
		   "{\"cron\":\"0 12 * * *\"}],\"not_after\":\"2026-01-03T12:00:00Z\"}",
			"UTC", "2026-01-01T00:00:00Z",
			"2026-01-01T12:00:00Z,2026-01-02T00:00:00Z,2026-01-02T12:00:00Z,"
			"2026-01-03T12:00:00Z,never");
	check_rule("{\"every\":\"1h\",\"anchor\":\"2026-01-01T00:00:00Z\","
		   "\"not_before\":\"2026-01-01T02:30:00Z\"}",
			"UTC", "2025-01-01T00:00:00Z", "2026-01-01T03:00:00Z,2026-01-01T04:00:00Z");
}

static void check_pointer(const char *text, const char *pointer, const char *words)
{
	struct belfry_rule *rule = NULL;
	struct belfry_error err = {0};

	enum belfry_status status = belfry_rule_new(shared_zones(), bf_str(text), BF_STR("UTC"),
			NULL, &rule, &err);
	if (status != BELFRY_INVALID_SCHEDULE || err.status != BELFRY_INVALID_SCHEDULE) {
		fail_msg("%s: status %s", text, belfry_status_name(status));
	}
	if (strcmp(err.pointer, pointer) != 0 || strstr(err.message, words) == NULL) {
		fail_msg("%s: at \"%s\": %s", text, err.pointer, err.message);
	}
}

static void what_is_wrong_is_named(void **state)
{
	static const char *const rows[][3] = {
			{"{}", "", "exactly one of"},
			{"{\"cron\":\"* * * * *\",\"every\":\"1h\"}", "", "exactly one of"},
			{"{\"cron\":\"0 24 * * *\"}", "/cron", "field 2 (hour): 24 is past 23"},
			{"{\"cron\":7}", "/cron", "cron"},
			{"{\"cron\":null}", "/cron", "cron"},
			{"{\"cron\":\"\"}", "/cron", "cron"},
			{"{\"cron\":\"@daily\",\"tz\":\"UTC\"}", "/tz", "tz"},
			{"{\"cron\":\"@daily\",\"anchor\":\"2026-01-01T00:00:00Z\"}", "/anchor",
					"anchor"},
			{"{\"cron\":\"@daily\",\"max_fires\":0}", "/max_fires", "max_fires"},
			{"{\"cron\":\"@daily\",\"max_fires\":2147483648}", "/max_fires",
					"max_fires"},
			{"{\"cron\":\"@daily\",\"max_fires\":\"3\"}", "/max_fires", "max_fires"},
			{"{\"any\":[{\"cron\":\"@daily\",\"max_fires\":3}]}", "/any/0/max_fires",
					"move it out of \"any\""},
			{"{\"any\":[{\"cron\":\"@daily\"},{\"any\":[{\"cron\":\"@daily\","
			 "\"spread\":\"PT1M\"}]}]}",
					"/any/1/any/0/spread", "move it out of \"any\""},
			{"{\"cron\":\"@daily\",\"spread\":\"PT0.9S\"}", "/spread", "spread"},
			{"{\"cron\":\"@daily\",\"spread\":\"PT24H0.1S\"}", "/spread", "spread"},
			{"{\"cron\":\"@daily\",\"spread\":300}", "/spread", "spread"},
			{"{\"every\":\"0s\"}", "/every", "every"},
			{"{\"every\":\"10ms\"}", "/every", "every"},
			{"{\"every\":\"often\"}", "/every", "every"},
			{"{\"every\":\"1h\",\"anchor\":\"2026-01-01T00:00:00\"}", "/anchor",
					"anchor"},
			{"{\"at\":\"2026-12-24\"}", "/at", "neither a local time"},
			{"{\"at\":\"2026-12-24T25:00:00\"}", "/at", "neither a local time"},
			{"{\"at\":[]}", "/at", "at"},
			{"{\"at\":{}}", "/at", "at"},
			{"{\"at\":[\"2026-12-24T18:00:00\",\"x\"]}", "/at", "item 1"},
			{"{\"at\":[7]}", "/at/0", "at"},
			{"{\"any\":[]}", "/any", "any"},
			{"{\"any\":{}}", "/any", "any"},
			{"{\"any\":[{\"cron\":\"@daily\"},{\"cron\":\"x\"}]}", "/any/1/cron",
					"field"},
			{"{\"any\":[{\"any\":[{\"oops\":1}]}]}", "/any/0/any/0", "exactly one of"},
			{"{\"any\":[7]}", "/any/0", "object"},
			{"{\"cron\":\"@daily\",\"not_before\":\"soon\"}", "/not_before", "neither"},
			{"{\"cron\":\"@daily\",\"not_before\":\"2026-02-01T00:00:00Z\","
			 "\"not_after\":\"2026-01-01T00:00:00Z\"}",
					"", "window is empty"},
			{"{\"cron\":\"0 0 1 1 *\",\"not_before\":\"2026-02-01T00:00:00Z\","
			 "\"not_after\":\"2026-03-01T00:00:00Z\"}",
					"", "can never fire"},
			{"{\"cron\":\"@daily\",\"cron\":\"@hourly\"}", "", "cron"},
			{"{\"cron\":\"@daily\"} x", "", ""},
			{"{\"cron\":\"@daily\"", "", ""},
			{"{", "", ""},
			{"{\"cron\":\"\xff\"}", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		check_pointer(rows[i][0], rows[i][1], rows[i][2]);
	}
}

static void check_whole(const char *text, uint32_t max_fires, belfry_duration spread,
		enum belfry_rule_class class_)
{
	struct belfry_rule *rule = new_rule(text, "Europe/Berlin");

	assert_int_equal(belfry_rule_max_fires(rule), max_fires);
	assert_int_equal(belfry_rule_spread(rule), spread);
	assert_int_equal(belfry_rule_class(rule), class_);
	belfry_rule_free(rule);
}

static void a_rule_tells_its_limit_its_spread_and_its_class(void **state)
{
	(void)state;
	check_whole("0 9 * * *", 0, 0, BELFRY_RULE_FIXED_TIME);
	check_whole("0 * * * *", 0, 0, BELFRY_RULE_INTERVAL_LIKE);
	check_whole("{\"cron\":\"0 9 * * *\",\"max_fires\":1,\"spread\":\"1s\"}", 1, BELFRY_SECOND,
			BELFRY_RULE_FIXED_TIME);
	check_whole("{\"every\":\"1h\",\"max_fires\":2147483647,\"spread\":\"PT24H\"}", 2147483647,
			BELFRY_DAY, BELFRY_RULE_INTERVAL_LIKE);
	check_whole("{\"at\":\"2026-12-24T18:00:00\",\"spread\":\"PT1M30S\"}", 0,
			90 * BELFRY_SECOND, BELFRY_RULE_FIXED_TIME);
	check_whole("{\"any\":[{\"cron\":\"0 9 * * *\"},{\"at\":\"2026-12-24T18:00:00Z\"}],"
		    "\"max_fires\":3}",
			3, 0, BELFRY_RULE_FIXED_TIME);
	check_whole("{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"*/5 9 * * *\"}]}", 0, 0,
			BELFRY_RULE_INTERVAL_LIKE);
}

/* What has fired is not the rule's to know. */
static void a_limit_of_firings_does_not_end_the_answers(void **state)
{
	(void)state;
	check_rule("{\"cron\":\"0 9 * * *\",\"max_fires\":1}", "UTC", "2026-01-01T00:00:00Z",
			"2026-01-01T09:00:00Z,2026-01-02T09:00:00Z");
}

static void a_union_of_rules_that_never_fire_is_refused_soon(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	const char *dead =
			"{\"cron\":\"*/20 2 * 3 SUN#2\",\"not_before\":\"2030-01-01T00:00:00Z\"},";
	struct belfry_error err = {0};
	struct belfry_rule *rule;

	(void)state;
	for (int count = 2; count <= 3; count++) {
		bf_buf_clear(&text);
		bf_buf_append_text(&text, "{\"any\":[");
		for (int i = 0; i < count; i++) {
			bf_buf_append_text(&text, dead);
		}
		bf_buf_append_text(&text, "{\"cron\":\"@daily\"}]}");
		enum belfry_status status = belfry_rule_new(shared_zones(), bf_buf_str(&text),
				BF_STR("America/New_York"), NULL, &rule, &err);
		assert_int_equal(status, count == 2 ? BELFRY_OK : BELFRY_INVALID_SCHEDULE);
		if (status == BELFRY_OK) {
			belfry_rule_free(rule);
		}
	}
	assert_non_null(strstr(err.message, "more than 2 rules"));
}

/* Its last due time is found again behind the years that are not looked at any more. */
static void a_rule_of_skipped_times_fires_while_it_did(void **state)
{
	(void)state;
	check_rule("*/20 2 * 3 SUN#2", "America/New_York", "2006-03-01T00:00:00Z",
			"2006-03-12T07:00:00Z,2006-03-12T07:20:00Z,2006-03-12T07:40:00Z,never");
	check_rule("{\"any\":[{\"cron\":\"*/20 2 * 3 SUN#2\"},{\"at\":\"2030-01-01T00:00:00Z\"}]}",
			"America/New_York", "2006-03-12T07:20:00Z",
			"2006-03-12T07:40:00Z,2030-01-01T00:00:00Z,never");
}

static void a_fault_in_an_expression_has_its_place_in_the_document(void **state)
{
	(void)state;
	check_refused("{\"cron\": \"0 24 * * *\"}", "UTC", 12, "field 2 (hour): 24 is past 23");
	check_refused("{\"any\":[{\"cron\":\"@daily\"},{\"cron\":\"x\"}]}", "UTC", 36, "1 field");
	/* Written with an escape: the pointer has to do. */
	check_refused("{\"cron\": \"0\\u002024 * * *\"}", "UTC", -1,
			"field 2 (hour): 24 is past 23");
}

static void size_and_count_are_bounded(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct belfry_rule *rule;
	struct belfry_error err;

	(void)state;
	bf_buf_append_text(&text, "{\"any\":[");
	for (int i = 0; i < 99; i++) {
		bf_buf_append_text(&text, "{\"cron\":\"* * * * *\"},");
	}
	bf_buf_append_text(&text, "{\"every\":\"1d\"}]}");
	/* The root is one rule of the hundred. */
	check_pointer(text.ptr, "/any", "more than 100 rules");
	bf_buf_clear(&text);
	bf_buf_append_text(&text, "{\"cron\":\"@daily\"}");
	while (text.len < BELFRY_RULE_BYTES) {
		bf_buf_append_byte(&text, ' ');
	}
	assert_int_equal(belfry_rule_new(shared_zones(), bf_buf_str(&text), BF_STR("UTC"), NULL,
					 &rule, &err),
			BELFRY_OK);
	belfry_rule_free(rule);
	bf_buf_append_byte(&text, ' ');
	assert_int_equal(belfry_rule_new(shared_zones(), bf_buf_str(&text), BF_STR("UTC"), NULL,
					 &rule, &err),
			BELFRY_INVALID_SCHEDULE);
}

int run_rule_json_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(cron_within_json_is_the_same_cron),
			cmocka_unit_test(every_counts_elapsed_time_from_its_anchor),
			cmocka_unit_test(every_without_an_anchor_counts_from_the_creation),
			cmocka_unit_test(at_fires_once_each),
			cmocka_unit_test(t020_one_instant_in_two_offsets_is_one_due_time),
			cmocka_unit_test(local_times_of_at_follow_the_policies),
			cmocka_unit_test(any_is_a_union_with_one_due_time_where_several_agree),
			cmocka_unit_test(both_ends_of_a_window_count),
			cmocka_unit_test(what_is_wrong_is_named),
			cmocka_unit_test(a_rule_tells_its_limit_its_spread_and_its_class),
			cmocka_unit_test(a_limit_of_firings_does_not_end_the_answers),
			cmocka_unit_test(a_union_of_rules_that_never_fire_is_refused_soon),
			cmocka_unit_test(a_rule_of_skipped_times_fires_while_it_did),
			cmocka_unit_test(a_fault_in_an_expression_has_its_place_in_the_document),
			cmocka_unit_test(size_and_count_are_bounded),
	};

	return cmocka_run_group_tests_name("rule JSON", tests, NULL, NULL);
}
