/* Warnings with their facts; and what holds for the explanation of any rule. */
#include "cases.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/timefmt.h"

#define NOW            "2026-12-01T10:00:00Z" /* a Tuesday */
#define SENTENCE_BYTES 2048

static void a_warning_names_its_facts(void **state)
{
	static const struct {
		const char *rule;
		const char *zone;
		const char *warnings; /* all of them, "CODE: text" with a bar between */
	} rows[] = {
			{"0 9 * * *", "Europe/Berlin", ""},
			{"* * * * * *", "Europe/Berlin", ""},
			{"*/5 * * * *", "Europe/Berlin", ""},
			{"0 0 28 * *", "UTC", ""},
			{"0 0 31 12 *", "UTC", ""},
			{"0 0 15-31 * *", "UTC", ""},
			{"0 0 28-31 * *", "UTC", ""},
			{"0 0 13 * 5", "UTC",
					"EITHER_DAY: both day fields are given, and either is enough: it is due on "
					"the 13th of the month and also every Friday, and not only on days that "
					"both name"},
			{"0 0 13 * 0-7", "UTC", ""},
			{"0 0 */2 * 1", "UTC",
					"STAR_STEP: a day field that begins with a star only leaves days out: it is "
					"due every Monday, but only on the 1st, 3rd, ..., 31st of the month, because "
					"both day fields must name the day|"
					"UNEVEN_STEP: a step of 2 days starts anew on the 1st of each month: it is 1 "
					"day from the 31st to the 1st of the next, where a month has 31 days"},
			{"*/7 * * * *", "UTC",
					"UNEVEN_STEP: a step of 7 minutes does not divide the hour: the last one is "
					"4 minutes, from :56 to :00"},
			{"0-56/7 * * * *", "UTC", ""},
			{"*/7 * * * * *", "UTC",
					"UNEVEN_STEP: a step of 7 seconds does not divide the minute: the last one "
					"is 4 seconds, from :56 to :00"},
			{"0 */5 * * *", "UTC",
					"UNEVEN_STEP: a step of 5 hours does not divide the day: the last one is 4 "
					"hours, from 20:00 to 00:00"},
			{"0 0 1 */5 *", "UTC",
					"UNEVEN_STEP: a step of 5 months does not divide the year: the last one is "
					"2 months, from November to January"},
			{"0 0 * * */2", "UTC",
					"UNEVEN_STEP: a step of 2 days does not divide the week: the last one is 1 "
					"day, from Saturday to Sunday"},
			{"*/90 * * * *", "UTC",
					"UNEVEN_STEP: a step as long as the hour or longer leaves minute 0 alone"},
			{"0 */48 * * *", "UTC",
					"UNEVEN_STEP: a step as long as the day or longer leaves hour 00 alone"},
			{"0 0 */40 * *", "UTC",
					"UNEVEN_STEP: a step as long as the month or longer leaves the 1st alone"},
			{"0 0 * * 1#5", "UTC",
					"FIFTH_WEEKDAY: not every month has a fifth Monday: in 2026 there is one in "
					"March, June, August and November"},
			{"0 0 * 2 1#5", "UTC",
					"RARE: nothing is due for more than a year before midnight on 29 February "
					"2044|FIFTH_WEEKDAY: not every month has a fifth Monday: in 2026 none of the "
					"months named here has"},
			{"0 0 31 * *", "UTC",
					"SHORT_MONTHS: February, April, June, September and November have no 31st, "
					"and nothing is due for it there; L is the last day of each month"},
			{"0 0 30,31 2,3 *", "UTC",
					"SHORT_MONTHS: February has no 31st, and nothing is due for it there; L is "
					"the last day of each month"},
			{"0 0 31W * *", "UTC",
					"SHORT_MONTHS: February, April, June, September and November have no 31st, "
					"and nothing is due for it there; L is the last day of each month"},
			{"0 0 29 * *", "UTC",
					"SHORT_MONTHS: February has a 29th in leap years alone, and else nothing is "
					"due for it; L is the last day of each month"},
			{"0 0 29 2 *", "UTC",
					"RARE: nothing is due for more than a year before midnight on 29 February "
					"2028|LEAP_DAY: 29 February comes in leap years alone, next in 2028"},
			{"30 2 * * *", "Europe/Berlin",
					"DST_GAP: 02:30 does not exist on 28 March 2027, where the clocks go from "
					"02:00 to 03:00: it is due at 03:00 instead (gap: at_end)|DST_FOLD: 02:30 "
					"comes twice on 31 October 2027, where the clocks go back: it is due the "
					"first time alone, at 00:30 UTC (fold: first)"},
			{"30 2 * * 1", "Europe/Berlin", ""},
			{"*/20 2 * * *", "Europe/Berlin",
					"DST_GAP: the clocks go from 02:00 to 03:00 on 28 March 2027, and nothing is "
					"due between: 0 due that day instead of 3|DST_FOLD: the clocks show 02:00 to "
					"03:00 twice on 31 October 2027, and it is due in both: 6 due that day "
					"instead of 3"},
			{"*/30 1-2 * * *", "Europe/Berlin",
					"DST_GAP: the clocks go from 02:00 to 03:00 on 28 March 2027, and nothing is "
					"due between: 2 due that day instead of 4|DST_FOLD: the clocks show 02:00 to "
					"03:00 twice on 31 October 2027, and it is due in both: 6 due that day "
					"instead of 4"},
			{"*/30 2 * 4 *", "Europe/Berlin", ""},
			{"*/30 3-9 * * *", "Europe/Berlin", ""},
			{"*/30 2 * * *", "Asia/Shanghai", ""},
			{"{\"any\":[{\"cron\":\"*/30 2 * 3 *\"},{\"cron\":\"0 9 * * *\"}]}",
					"Europe/Berlin",
					"DST_GAP: the clocks go from 02:00 to 03:00 on 28 March 2027, and nothing is "
					"due between"},
			{"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"0 0 * 8 *\"}]}", "UTC",
					"EXCEPT_NOTHING: the exception at midnight in August leaves nothing out: the "
					"rule has no time that it names"},
			{"{\"any\":[{\"cron\":\"0 9 * 1-6 *\"},{\"cron\":\"0 10 * 1-7 *\"}],\"except\":"
			 "[{\"cron\":\"* * * 8 *\"}]}",
					"UTC",
					"EXCEPT_NOTHING: the exception in August leaves nothing out: the rule has no "
					"time that it names"},
			{"{\"any\":[{\"cron\":\"0 9 * 1-6 *\"},{\"cron\":\"0 10 * 1-8 *\"}],\"except\":"
			 "[{\"cron\":\"* * * 8 *\"}]}",
					"UTC", ""},
			{"{\"cron\":\"0 9 * * *\",\"except\":[{\"cron\":\"* * * 8 *\"},{\"cron\":"
			 "\"0 9 1 1 *\"}]}",
					"UTC", ""},
			{"{\"cron\":\"30 0 9 * * *\",\"except\":[{\"cron\":\"0 9 1 1 *\"}]}", "UTC",
					""},
			{"{\"every\":\"PT24H\",\"anchor\":\"2026-01-01T09:00:00Z\",\"except\":[{\"cron\":"
			 "\"0 0 * 8 *\"}]}",
					"UTC", ""},
			{"{\"cron\":\"0 9 * * *\",\"except\":[{\"calendar\":\"a\",\"except\":[{\"cron\":"
			 "\"0 0 * 8 *\"}]}]}",
					"UTC", ""},
			{"{\"cron\":\"30 2 * * *\",\"except\":[\"2027-03-28\",{\"cron\":\"* * * 10 *\"}]}",
					"Europe/Berlin", ""},
			{"{\"at\":[\"2027-10-31T02:30:00\",\"2027-10-30T02:30:00\"],\"except\":"
			 "[\"2027-10-31\"]}",
					"Europe/Berlin", ""},
			{"{\"cron\":\"30 2 * * *\",\"not_after\":\"2027-01-01T00:00:00Z\"}",
					"Europe/Berlin", ""},
			{"{\"cron\":\"30 2 * * *\",\"not_before\":\"2027-04-01T00:00:00Z\",\"not_after\":"
			 "\"2027-10-01T00:00:00Z\"}",
					"Europe/Berlin", ""},
			{"{\"at\":\"2027-03-28T02:30:00\"}", "Europe/Berlin",
					"DST_GAP: 02:30 does not exist on 28 March 2027, where the clocks go from "
					"02:00 to 03:00: it is due at 03:00 instead (gap: at_end)"},
			{"{\"at\":[\"2027-10-31T02:30:00\",\"2027-10-30T02:30:00\"]}",
					"Europe/Berlin",
					"DST_FOLD: 02:30 comes twice on 31 October 2027, where the clocks go back: "
					"it is due the first time alone, at 00:30 UTC (fold: first)"},
			{"{\"at\":[\"2027-10-31T02:30:00+01:00\",\"2027-03-28T03:00:00\"]}",
					"Europe/Berlin", ""},
			{"{\"at\":\"2026-11-01T00:00:00Z\"}", "UTC",
					"NEVER: it is not due any more"},
			{"{\"any\":[{\"cron\":\"0 0 31 * *\"},{\"cron\":\"0 1 31 * *\"}]}", "UTC",
					"SHORT_MONTHS: February, April, June, September and November have no 31st, "
					"and nothing is due for it there; L is the last day of each month"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation;
		BF_CLEANUP(bf_buf_fini) struct bf_buf found = {0};
		explain_at(rows[i].rule, rows[i].zone, NOW, &arena, &explanation);
		for (size_t k = 0; k < explanation.warning_count; k++) {
			bf_buf_appendf(&found, "%s%s: %.*s", k > 0 ? "|" : "",
					explanation.warnings[k].code,
					BF_STR_ARGS(explanation.warnings[k].text));
		}
		const char *text = found.len > 0 ? found.ptr : "";
		if (strcmp(text, rows[i].warnings) != 0) {
			fail_msg("\"%s\":\nis     \"%s\"\nwanted \"%s\"", rows[i].rule, text,
					rows[i].warnings);
		}
		belfry_arena_fini(&arena);
	}
}

static void a_change_of_the_clocks_says_what_the_policy_does(void **state)
{
	static const struct {
		enum belfry_dst_gap gap;
		enum belfry_dst_fold fold;
		const char *gap_words;
		const char *fold_words;
	} rows[] = {
			{BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST,
					"it is due at 03:00 instead (gap: at_end)",
					"it is due the first time alone, at 05:45 UTC (fold: first)"},
			{BELFRY_DST_GAP_SKIP, BELFRY_DST_FOLD_LAST,
					"it is not due that day (gap: skip)",
					"it is due the second time alone, at 06:45 UTC (fold: last)"},
			{BELFRY_DST_GAP_SHIFT, BELFRY_DST_FOLD_BOTH,
					"it is due at 03:45 instead (gap: shift)",
					"it is due both times, at 05:45 UTC and 06:45 UTC (fold: both)"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation gap = BELFRY_EXPLANATION_INIT;
		struct belfry_explanation fold = BELFRY_EXPLANATION_INIT;
		struct belfry_rule *rule = new_rule_with("45 1,2 * * *", "America/New_York",
				rows[i].gap, rows[i].fold);
		assert_int_equal(belfry_rule_explain(rule, at(NOW), &arena, &gap), BELFRY_OK);
		assert_int_equal(gap.warning_count, 2);
		assert_string_equal(gap.warnings[0].code, "DST_GAP");
		assert_non_null(strstr(gap.warnings[0].text.ptr, rows[i].gap_words));
		assert_string_equal(gap.warnings[1].code, "DST_FOLD");
		assert_non_null(strstr(gap.warnings[1].text.ptr, rows[i].fold_words));
		/* Each is told for the year ahead: what is past is not told. */
		assert_int_equal(belfry_rule_explain(rule, at("2026-04-01T00:00:00Z"), &arena,
						 &fold),
				BELFRY_OK);
		assert_string_equal(fold.warnings[0].code, "DST_FOLD");
		assert_non_null(strstr(fold.warnings[0].text.ptr, "1 November 2026"));
		assert_non_null(strstr(fold.warnings[1].text.ptr, "14 March 2027"));
		belfry_rule_free(rule);
		belfry_arena_fini(&arena);
	}
}

static void the_class_is_fixed_time_only_if_every_part_is(void **state)
{
	static const struct {
		const char *rule;
		enum belfry_rule_class class_;
	} rows[] = {
			{"0 9 * * *", BELFRY_RULE_FIXED_TIME},
			{"* 0 9 * * *", BELFRY_RULE_FIXED_TIME},
			{"0 0-23 * * *", BELFRY_RULE_FIXED_TIME},
			{"@hourly", BELFRY_RULE_INTERVAL_LIKE},
			{"*/5 9 * * *", BELFRY_RULE_INTERVAL_LIKE},
			{"{\"every\":\"PT1H\"}", BELFRY_RULE_INTERVAL_LIKE},
			{"{\"at\":\"2026-12-24T18:00:00\"}", BELFRY_RULE_FIXED_TIME},
			{"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"at\":\"2026-12-24T18:00:00\"}]}",
					BELFRY_RULE_FIXED_TIME},
			{"{\"any\":[{\"cron\":\"0 9 * * *\"},{\"cron\":\"* 9 * * *\"}]}",
					BELFRY_RULE_INTERVAL_LIKE},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation;
		struct belfry_rule *rule = new_rule(rows[i].rule, "UTC");
		explain_at(rows[i].rule, "UTC", NOW, &arena, &explanation);
		assert_int_equal(explanation.class_, rows[i].class_);
		assert_int_equal(belfry_rule_class(rule), rows[i].class_);
		belfry_rule_free(rule);
		belfry_arena_fini(&arena);
	}
}

/* --- properties of random rules --- */

struct random {
	uint64_t state;
};

static int draw(struct random *random, int below)
{
	random->state = random->state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (int)((random->state >> 33) % (uint64_t)below);
}

/* One field: a star, a step, a value, a range, a list, or one of the specials. */
static void put_field(struct random *random, struct bf_buf *text, int min, int max, bool is_dom,
		bool is_dow)
{
	int span = max - min + 1;
	int from = min + draw(random, span);
	int to = from + draw(random, max - from + 1);

	switch (draw(random, is_dom || is_dow ? 10 : 7)) {
	case 0:
	case 1: bf_buf_append_text(text, "*"); return;
	case 2: bf_buf_appendf(text, "*/%d", 1 + draw(random, span + 2)); return;
	case 3: bf_buf_appendf(text, "%d-%d/%d", from, to, 1 + draw(random, span)); return;
	case 4: bf_buf_appendf(text, "%d-%d", from, to); return;
	case 5: bf_buf_appendf(text, "%d,%d,%d", from, to, min + draw(random, span)); return;
	case 6: bf_buf_appendf(text, "%d", from); return;
	case 7: bf_buf_appendf(text, is_dom ? "L-%d,%d" : "%dL,%d", from % 7, to); return;
	case 8: bf_buf_appendf(text, is_dom ? "%dW" : "%d#%d", from, 1 + draw(random, 5)); return;
	default: bf_buf_append_text(text, is_dom ? "L" : "MON#5"); return;
	}
}

static void put_cron(struct random *random, struct bf_buf *text)
{
	bf_buf_clear(text);
	if (draw(random, 3) == 0) {
		put_field(random, text, 0, 59, false, false);
		bf_buf_append_byte(text, ' ');
	}
	put_field(random, text, 0, 59, false, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 0, 23, false, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 1, 31, true, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 1, 12, false, false);
	bf_buf_append_byte(text, ' ');
	put_field(random, text, 0, 6, false, true);
}

/* NULL where the drawn text can never be due. */
static struct belfry_rule *draw_rule(struct random *random, struct bf_buf *text)
{
	struct belfry_rule *rule = NULL;

	put_cron(random, text);
	enum belfry_status status = belfry_rule_new(shared_zones(), bf_buf_str(text),
			BF_STR("America/New_York"), NULL, &rule, NULL);
	assert_true(status == BELFRY_OK || status == BELFRY_INVALID_SCHEDULE);
	return rule;
}

static void check_text(const char *rule, struct belfry_str text)
{
	static const char *const stray[] = {"  ", " ,", ",,", " ;", "; ;", "{", "}", "()", ",;"};

	assert_true(text.len > 0 && text.len <= SENTENCE_BYTES && bf_str_is_utf8(text));
	assert_int_equal(text.ptr[text.len], '\0');
	for (size_t i = 0; i < BF_COUNT(stray); i++) {
		if (strstr(text.ptr, stray[i]) != NULL) {
			fail_msg("\"%s\": \"%s\" in \"%s\"", rule, stray[i], text.ptr);
		}
	}
	assert_true(text.ptr[0] != ' ' && text.ptr[text.len - 1] != ' ' &&
			text.ptr[text.len - 1] != ',');
}

static void a_random_rule_is_told_in_bounds_and_without_stray_marks(void **state)
{
	struct random random = {20261201};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	int told = 0;

	(void)state;
	for (int i = 0; i < 4000; i++) {
		struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
		struct belfry_rule *rule = draw_rule(&random, &text);
		if (rule == NULL) {
			continue;
		}
		assert_int_equal(belfry_rule_explain(rule, at(NOW), &arena, &explanation),
				BELFRY_OK);
		check_text(text.ptr, explanation.sentence);
		assert_true(explanation.sentence.ptr[0] >= 'A' &&
				explanation.sentence.ptr[0] <= 'Z');
		for (size_t k = 0; k < explanation.warning_count; k++) {
			check_text(text.ptr, explanation.warnings[k].text);
		}
		belfry_rule_free(rule);
		belfry_arena_reset(&arena);
		told++;
	}
	assert_true(told > 2000);
	belfry_arena_fini(&arena);
}

/* The longest that an expression, an exception and a window come to. */
static void the_longest_rule_is_told_in_bounds(void **state)
{
	static const char longest[] =
			"1,3,6,8,11,13,16,18 1,3,6,8,11,13,16 L-2,L-4,L-7,L-9,L-12 1,3,4,6,"
			"8,9,11 1#1,2#1,3#1,4#1,5#1,6#1,0#1,1#2,2#2,3#2,4#2,5#2,6#2,0#2,1#3,"
			"2#3,3#3,4#3,5#3,6#3,0#3,1#4,2#4,3#4,4#4,5#4,6#4,0#4,1#5,2#5,3#5,4#5,"
			"5#5,6#5,0#5,1L,2L,3L,4L";
	static const char *const forms[] = {
			"{\"cron\":\"%s\",\"not_before\":\"2026-01-01T00:00:00.123456Z\",\"not_after\":"
			"\"2028-01-01T00:00:00.123456Z\",\"max_fires\":2000000000,\"spread\":"
			"\"PT23H59M59.999999S\",\"except\":[{\"cron\":\"30 9 1,4,6,9,11 * *\"},"
			"{\"cron\":\"5 5 L-3,L-5,L-8 2,5,10 1#1,2#1,3#1,4#1,5#1,6#1,0#1,1#2,2#2,3#2,4#2,5#2\"},\"2026-12-24\",{\"calendar\":"
			"\"0123456789012345678901234567890123456789012345678901234567890123\","
			"\"except\":[]}]}",
			"{\"any\":[{\"cron\":\"%s\"},{\"cron\":\"%s\"},{\"cron\":\"0 9 * * *\"}]}"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(forms); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation;
		char text[2048];
		const char *in = forms[i];
		size_t len = 0;
		for (; *in != '\0'; in++) {
			if (in[0] == '%') {
				memcpy(text + len, longest, sizeof(longest) - 1);
				len += sizeof(longest) - 1;
				in++;
			} else {
				text[len++] = *in;
			}
		}
		text[len] = '\0';
		explain_at(text, "America/Argentina/ComodRivadavia", NOW, &arena, &explanation);
		check_text(text, explanation.sentence);
		assert_true(explanation.sentence.len > 700);
		assert_int_equal(i == 1, strstr(explanation.sentence.ptr, "more rules") != NULL);
		for (size_t k = 0; k < explanation.warning_count; k++) {
			check_text(text, explanation.warnings[k].text);
		}
		belfry_arena_fini(&arena);
	}
}

/* The rule written as text again says the same, and is warned of the same. */
static void a_rule_that_was_printed_is_told_alike(void **state)
{
	struct random random = {815};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	(void)state;
	for (int i = 0; i < 2000; i++) {
		struct belfry_explanation first = BELFRY_EXPLANATION_INIT;
		struct belfry_explanation second;
		struct belfry_str printed;
		struct belfry_rule *rule = draw_rule(&random, &text);
		if (rule == NULL) {
			continue;
		}
		assert_int_equal(belfry_rule_explain(rule, at(NOW), &arena, &first), BELFRY_OK);
		assert_int_equal(belfry_rule_print(rule, &arena, &printed), BELFRY_OK);
		explain_at(printed.ptr, "America/New_York", NOW, &arena, &second);
		if (!bf_str_equal(first.sentence, second.sentence) ||
				first.warning_count != second.warning_count) {
			fail_msg("\"%s\" is \"%s\", printed \"%s\" is \"%s\"", text.ptr,
					first.sentence.ptr, printed.ptr, second.sentence.ptr);
		}
		belfry_rule_free(rule);
		belfry_arena_reset(&arena);
	}
	belfry_arena_fini(&arena);
}

/* A rule's text, its sentence without the next due time, and its due times for a while as one number. */
struct told {
	char rule[128];
	char *sentence;
	uint64_t dues;
};

static uint64_t sum_dues(const struct belfry_rule *rule, belfry_time from, belfry_time to)
{
	uint64_t sum = UINT64_C(1469598103934665603);
	belfry_time due = from;

	for (int i = 0; i < 1000 && belfry_rule_next(rule, due, &due) == BELFRY_OK && due <= to;
			i++) {
		sum = (sum ^ (uint64_t)due) * UINT64_C(1099511628211);
	}
	return sum;
}

static int by_sentence(const void *a, const void *b)
{
	return strcmp(((const struct told *)a)->sentence, ((const struct told *)b)->sentence);
}

/* False: the rule can never be due. */
static bool tell(const char *text, struct belfry_arena *arena, struct told *ret)
{
	struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
	struct belfry_rule *rule = NULL;

	if (belfry_rule_new(shared_zones(), bf_str(text), BF_STR("America/New_York"), NULL, &rule,
			    NULL) != BELFRY_OK) {
		return false;
	}
	assert_int_equal(belfry_rule_explain(rule, at(NOW), arena, &explanation), BELFRY_OK);
	assert_true(strlen(text) < sizeof(ret->rule));
	memcpy(ret->rule, text, strlen(text) + 1);
	ret->sentence = (char *)explanation.sentence.ptr;
	*strrchr(ret->sentence, ';') = '\0';
	/* Both changes of the clocks with a month around each, and some years for what is rare. */
	ret->dues = sum_dues(rule, at("2026-03-01T00:00:00Z"), at("2026-04-01T00:00:00Z")) ^
			3 * sum_dues(rule, at("2026-10-20T00:00:00Z"), at("2026-11-20T00:00:00Z")) ^
			5 * sum_dues(rule, at("2027-11-01T00:00:00Z"), at("2032-12-20T00:00:00Z"));
	belfry_rule_free(rule);
	return true;
}

static void check_told_alike(struct told *told, size_t count, int at_least)
{
	int same = 0;

	qsort(told, count, sizeof(*told), by_sentence);
	for (size_t i = 1; i < count; i++) {
		if (strcmp(told[i].sentence, told[i - 1].sentence) != 0) {
			continue;
		}
		same++;
		if (told[i].dues != told[i - 1].dues) {
			fail_msg("\"%s\" and \"%s\" are both \"%s\"", told[i - 1].rule,
					told[i].rule, told[i].sentence);
		}
	}
	assert_true(same >= at_least);
}

/* Rules that are told alike are due alike: no sentence says less than the rule. */
static void random_rules_of_one_sentence_are_due_at_the_same_times(void **state)
{
	enum { COUNT = 3000 };
	struct random random = {4711};
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_free_pointer) struct told *told = bf_alloc_array(COUNT, sizeof(*told));
	size_t count = 0;

	(void)state;
	assert_non_null(told);
	while (count < COUNT) {
		put_cron(&random, &text);
		count += tell(text.ptr, &arena, &told[count]) ? 1 : 0;
	}
	check_told_alike(told, count, 1);
	belfry_arena_fini(&arena);
}

/* All combinations of fields that lie close to each other. */
static void near_rules_of_one_sentence_are_due_at_the_same_times(void **state)
{
	static const char *const minutes[] = {"0", "*/30", "0,30", "*", "*/60", "*/40", "5-7"};
	static const char *const hours[] = {"*", "2", "1-2", "*/12", "0,12", "0-23", "0-3,22-23"};
	static const char *const doms[] = {"*", "1", "*/2", "1-31/2", "L", "15W"};
	static const char *const months[] = {"*", "3", "1-3", "1-2,11-12"};
	static const char *const dows[] = {"*", "1", "1-5", "5L", "*/2", "MON#1", "0-7"};
	enum { COUNT = 7 * 7 * 6 * 4 * 7 };
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_free_pointer) struct told *told = bf_alloc_array(COUNT, sizeof(*told));
	size_t count = 0;

	(void)state;
	assert_non_null(told);
	for (size_t i = 0; i < COUNT; i++) {
		char text[64];
		(void)snprintf(text, sizeof(text), "%s %s %s %s %s", minutes[i % 7],
				hours[i / 7 % 7], doms[i / 49 % 6], months[i / 294 % 4],
				dows[i / 1176]);
		count += tell(text, &arena, &told[count]) ? 1 : 0;
	}
	assert_true(count > COUNT - 100);
	check_told_alike(told, count, 500);
	belfry_arena_fini(&arena);
}

/* --- edges --- */

static void any_instant_may_be_now(void **state)
{
	static const belfry_time nows[] = {INT64_MIN, -1, 0, INT64_C(253402300799999999),
			INT64_MAX - 1, INT64_MAX};
	static const char *const rules[] = {"30 2 * * *", "0 0 29 2 *", "0 0 * * 1#5",
			"{\"every\":\"PT1S\"}", "{\"at\":\"9999-12-31T23:59:59Z\"}",
			"{\"at\":\"0001-01-01T00:00:00Z\"}"};
	static const char *const zones[] = {"UTC", "Europe/Berlin", "Pacific/Kiritimati",
			"Etc/GMT+12"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(nows) * BF_COUNT(rules) * BF_COUNT(zones); i++) {
		struct belfry_arena arena = BELFRY_ARENA_INIT;
		struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
		const char *text = rules[i % BF_COUNT(rules)];
		struct belfry_rule *rule = new_rule(text,
				zones[i / BF_COUNT(rules) % BF_COUNT(zones)]);
		belfry_time now = nows[i / BF_COUNT(rules) / BF_COUNT(zones)];
		assert_int_equal(belfry_rule_explain(rule, now, &arena, &explanation), BELFRY_OK);
		check_text(text, explanation.sentence);
		belfry_rule_free(rule);
		belfry_arena_fini(&arena);
	}
}

static void a_wrong_call_is_refused(void **state)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
	struct belfry_rule *rule = new_rule("@daily", "UTC");

	(void)state;
	assert_int_equal(belfry_rule_explain(NULL, 0, &arena, &explanation), BELFRY_INVALID);
	assert_int_equal(belfry_rule_explain(rule, 0, NULL, &explanation), BELFRY_INVALID);
	assert_int_equal(belfry_rule_explain(rule, 0, &arena, NULL), BELFRY_INVALID);
	explanation.size--;
	assert_int_equal(belfry_rule_explain(rule, 0, &arena, &explanation), BELFRY_INVALID);
	assert_null(explanation.sentence.ptr);
	belfry_rule_free(rule);
}

static void every_failed_allocation_of_an_explanation_is_a_status(void **state)
{
	static const char *const rules[] = {"*/7 1-5,9 */2 1,5 1",
			"{\"any\":[{\"at\":[\"2026-12-24T18:00:00\",\"2026-12-25T18:00:00\"]},{\"every\":"
			"\"PT30M\"}],\"not_before\":\"2026-01-01T00:00:00\"}"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rules); i++) {
		struct belfry_rule *rule = new_rule(rules[i], "Europe/Berlin");
		bool has_fired = true;
		for (int64_t call = 1; has_fired; call++) {
			struct belfry_arena arena = BELFRY_ARENA_INIT;
			struct belfry_explanation explanation = BELFRY_EXPLANATION_INIT;
			bf_fault_arm(bf_alloc_fault(), call, 1);
			enum belfry_status status = belfry_rule_explain(rule, 0, &arena,
					&explanation);
			has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
			bf_fault_arm(bf_alloc_fault(), 0, 0);
			assert_int_equal(status, has_fired ? BELFRY_NOMEM : BELFRY_OK);
			assert_int_equal(explanation.sentence.ptr == NULL, has_fired);
			assert_true(has_fired || call > 20);
			belfry_arena_fini(&arena);
		}
		belfry_rule_free(rule);
	}
}

int run_explain_any_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_warning_names_its_facts),
			cmocka_unit_test(a_change_of_the_clocks_says_what_the_policy_does),
			cmocka_unit_test(the_class_is_fixed_time_only_if_every_part_is),
			cmocka_unit_test(a_random_rule_is_told_in_bounds_and_without_stray_marks),
			cmocka_unit_test(the_longest_rule_is_told_in_bounds),
			cmocka_unit_test(a_rule_that_was_printed_is_told_alike),
			cmocka_unit_test(random_rules_of_one_sentence_are_due_at_the_same_times),
			cmocka_unit_test(near_rules_of_one_sentence_are_due_at_the_same_times),
			cmocka_unit_test(any_instant_may_be_now),
			cmocka_unit_test(a_wrong_call_is_refused),
			cmocka_unit_test(every_failed_allocation_of_an_explanation_is_a_status),
	};

	return cmocka_run_group_tests_name("explain-any", tests, NULL, NULL);
}
