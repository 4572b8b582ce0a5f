/* Rules as text again: chosen rows, and the round trip of random rules. */
#include "cases.h"

#include <stdio.h>

#include "calendar/cron_print.h"
#include "calendar/rule.h"
#include "walk.h"

static const char *print(const char *text, struct belfry_arena *arena)
{
	struct belfry_rule *rule = new_rule(text, "Europe/Berlin");
	struct belfry_str printed;

	assert_int_equal(belfry_rule_print(rule, arena, &printed), BELFRY_OK);
	belfry_rule_free(rule);
	return printed.ptr;
}

static void the_canonical_text_is_what_a_person_would_write(void **state)
{
	static const char *const rows[][2] = {
			{"0 9 * * 1-5", "0 9 * * 1-5"},
			{" 00\t9  *  * MON-FRI ", "0 9 * * 1-5"},
			{"@daily", "0 0 * * *"},
			{"@hourly", "0 * * * *"},
			{"*/5 * * * *", "*/5 * * * *"},
			{"0,5,10,15,20,25,30,35,40,45,50,55 * * * *", "0-55/5 * * * *"},
			{"0-59 * * * *", "0-59 * * * *"},
			{"*/120 4-22 * * *", "*/60 4-22 * * *"},
			{"*/7,3 * * * *", "*/7,3 * * * *"},
			{"*,3 * * * *", "* * * * *"},
			{"5,1,3 * * * *", "1-5/2 * * * *"},
			{"1,3 * * * *", "1,3 * * * *"},
			{"1,2,4,7 * * * *", "1-7/3,2 * * * *"},
			{"0 0 ? * 1", "0 0 * * 1"},
			{"0 0 1 * FRI-MON", "0 0 1 * 0-1,5-6"},
			{"0 0 * * 7", "0 0 * * 0"},
			{"0 0 * * */2", "0 0 * * */2"},
			{"0 0 * * 1/2", "0 0 * * 0-1,3,5"},
			{"0 0 L,L-3,15W,LW,1 * *", "0 0 1,L,L-3,LW,15W * *"},
			{"0 0 * JAN,dec FRIL,MON#2,0#5", "0 0 * 1,12 5L,1#2,0#5"},
			{"30 0 9 * * *", "30 0 9 * * *"},
			{"0 0 9 * * *", "0 0 9 * * *"},
			{"* * * * * *", "* * * * * *"},
			{"{\"cron\":\"0 9 * * 1-5\"}", "0 9 * * 1-5"},
			{"{\"any\":[{\"any\":[{\"cron\":\"@daily\"}]}]}", "0 0 * * *"},
			{"{\"cron\":\"@daily\",\"max_fires\":3,\"spread\":\"300s\"}",
					"{\"cron\":\"0 0 * * *\",\"max_fires\":3,\"spread\":\"PT5M\"}"},
			{"{\"every\":\"90m\",\"anchor\":\"2026-01-01T01:00:00+01:00\"}",
					"{\"every\":\"PT1H30M\",\"anchor\":\"2026-01-01T00:00:00Z\"}"},
			{"{\"at\":[\"2026-12-24T18:00:00\",\"2026-02-01T00:00:00\"]}",
					"{\"at\":[\"2026-01-31T23:00:00Z\",\"2026-12-24T17:00:00Z\"]}"},
			{"{\"cron\":\"@daily\",\"not_before\":\"2026-02-01T00:00:00\","
			 "\"not_after\":\"2026-03-01T00:00:00\"}",
					"{\"cron\":\"0 0 * * *\",\"not_before\":\"2026-01-31T23:00:00Z\","
					"\"not_after\":\"2026-02-28T23:00:00Z\"}"},
			{"{\"any\":[{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-26\"]},"
			 "{\"cron\":\"0 10 * * *\"}],\"except\":[\"2026-12-25\",{\"cron\":\"* * * 1 *\"}]}",
					"{\"any\":[{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\","
					"\"2026-12-26\",{\"cron\":\"* * * 1 *\"}]},{\"cron\":\"0 10 * * *\","
					"\"except\":[\"2026-12-25\",{\"cron\":\"* * * 1 *\"}]}]}"},
			{"{\"any\":[{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\"]},"
			 "{\"at\":\"2026-12-25T09:00:00Z\"}]}",
					"{\"any\":[{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\"]},"
					"{\"at\":[\"2026-12-25T09:00:00Z\"]}]}"},
			{"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"at\":\"2026-12-26T00:00:00Z\"}],"
			 "\"except\":[{\"calendar\":\"holidays \\\"de\\\"\",\"except\":["
			 "{\"cron\":\"0 5 * * * *\"},\"2026-12-25\"]},\"2026-12-24T09:00:00\"]}",
					"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"at\":"
					"[\"2026-12-26T00:00:00Z\"]}],\"except\":"
					"[\"2026-12-24T08:00:00Z\",{\"calendar\":\"holidays \\\"de\\\"\","
					"\"except\":[\"2026-12-25\",{\"cron\":\"0 5 * * * *\"}]}]}"},
	};
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		assert_string_equal(print(rows[i][0], &arena), rows[i][1]);
		assert_string_equal(print(rows[i][1], &arena), rows[i][1]);
	}
}

static void random_member(uint64_t *seed, char *out, size_t size, int min, int max)
{
	int from = min + (int)walk_random(seed, (uint64_t)(max - min + 1));
	int to = from + (int)walk_random(seed, (uint64_t)(max - from + 1));
	int step = 1 + (int)walk_random(seed, 20);

	switch (walk_random(seed, 6)) {
	case 0: (void)snprintf(out, size, "*"); break;
	case 1: (void)snprintf(out, size, "*/%d", step); break;
	case 2: (void)snprintf(out, size, "%d/%d", from, step); break;
	case 3: (void)snprintf(out, size, "%d-%d/%d", from, to, step); break;
	case 4: (void)snprintf(out, size, "%d-%d", from, to); break;
	default: (void)snprintf(out, size, "%d", from);
	}
}

static void random_special(uint64_t *seed, char *out, size_t size, bool is_dom)
{
	int n = 1 + (int)walk_random(seed, is_dom ? 30 : 5);

	switch (walk_random(seed, 4)) {
	case 0: (void)snprintf(out, size, is_dom ? "L" : "%dL", n); break;
	case 1: (void)snprintf(out, size, is_dom ? "L-%d" : "%d#1", n); break;
	case 2: (void)snprintf(out, size, is_dom ? "LW" : "3#%d", n); break;
	default: (void)snprintf(out, size, is_dom ? "%dW" : "0#%d", n);
	}
}

static void random_field(uint64_t *seed, char *out, size_t size, int field)
{
	static const int max[] = {59, 59, 23, 31, 12, 7};
	size_t members = 1 + walk_random(seed, 3);
	size_t len = 0;

	for (size_t i = 0; i < members; i++) {
		char member[24];
		if (field != 3 && field != 5) {
			random_member(seed, member, sizeof(member), field == 4 ? 1 : 0, max[field]);
		} else if (walk_random(seed, 3) == 0) {
			random_special(seed, member, sizeof(member), field == 3);
		} else {
			random_member(seed, member, sizeof(member), field == 3 ? 1 : 0, max[field]);
		}
		len += (size_t)snprintf(out + len, size - len, "%s%s", i > 0 ? "," : "", member);
	}
}

/* All but the pointer to what is left of it. */
static void check_equal(const struct bf_cron *a, const struct bf_cron *b, const char *text)
{
	bool is_equal = a->seconds == b->seconds && a->minutes == b->minutes &&
			a->hours == b->hours && a->months == b->months &&
			a->is_fixed == b->is_fixed && a->has_seconds == b->has_seconds &&
			a->starred == b->starred &&
			memcmp(a->days, b->days, sizeof(a->days)) == 0 &&
			memcmp(a->year_months, b->year_months, sizeof(a->year_months)) == 0 &&
			memcmp(&a->special, &b->special, sizeof(a->special)) == 0;

	if (!is_equal) {
		fail_msg("%s", text);
	}
}

static void parsing_what_is_printed_is_the_identity(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf once = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf twice = {0};
	uint64_t seed = 7;
	int tried = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		struct bf_cron first;
		struct bf_cron second;
		char text[512];
		size_t len = 0;
		for (int field = (int)walk_random(&seed, 2); field < 6; field++) {
			random_field(&seed, text + len, sizeof(text) - len, field);
			len = strlen(text);
			text[len++] = field < 5 ? ' ' : '\0';
		}
		if (bf_cron_parse(bf_str(text), false, &first, NULL) != BELFRY_OK) {
			continue; /* "30 2", "31W 4" and the like */
		}
		bf_buf_clear(&once);
		bf_buf_clear(&twice);
		bf_cron_print(&first, &once);
		if (bf_cron_parse(bf_buf_str(&once), false, &second, NULL) != BELFRY_OK) {
			fail_msg("%s: \"%s\" is refused", text, once.ptr);
		}
		check_equal(&first, &second, text);
		bf_cron_print(&second, &twice);
		assert_string_equal(once.ptr, twice.ptr);
		tried++;
	}
	assert_true(tried > 15000);
}

static void what_prints_too_long_is_a_status(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str printed;

	(void)state;
	bf_buf_append_text(&text, "{\"any\":[");
	for (int i = 0; i < 90; i++) {
		bf_buf_appendf(&text, "{\"cron\":\"%d 9 * * *\",\"except\":[\"2030-01-01\"]},",
				i % 60);
	}
	bf_buf_append_text(&text, "{\"every\":\"1d\"}],\"except\":[\"2026-01-01\"");
	for (int i = 0; i < 100; i++) {
		bf_buf_appendf(&text, ",\"20%02d-%02d-%02d\"", 27 + i / 20, 1 + i % 12, 1 + i % 28);
	}
	bf_buf_append_text(&text, "]}");
	struct belfry_rule *rule = new_rule(text.ptr, "UTC");
	assert_int_equal(belfry_rule_print(rule, &arena, &printed), BELFRY_TOO_LARGE);
	assert_int_equal(belfry_rule_print(NULL, &arena, &printed), BELFRY_INVALID);
	assert_int_equal(belfry_rule_print(rule, NULL, &printed), BELFRY_INVALID);
	assert_int_equal(belfry_rule_print(rule, &arena, NULL), BELFRY_INVALID);
	belfry_rule_free(rule);
}

int run_print_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_canonical_text_is_what_a_person_would_write),
			cmocka_unit_test(parsing_what_is_printed_is_the_identity),
			cmocka_unit_test(what_prints_too_long_is_a_status),
	};

	return cmocka_run_group_tests_name("rules as text", tests, NULL, NULL);
}
