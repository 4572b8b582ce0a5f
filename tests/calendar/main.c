/* Runs every group of the calendar layer; the exit status is the number of failed cases. */
#include "cases.h"

#include <stdio.h>

#include "base/error.h"
#include "base/json.h"
#include "base/timefmt.h"

static struct belfry_zones *zones;

struct belfry_zones *shared_zones(void)
{
	return zones;
}

belfry_time at(const char *text)
{
	belfry_time time = 0;

	if (bf_time_parse(bf_str(text), &time) != BELFRY_OK) {
		fail_msg("\"%s\" is no time", text);
	}
	return time;
}

struct belfry_rule *new_rule_with(const char *text, const char *zone, enum belfry_dst_gap gap,
		enum belfry_dst_fold fold)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_rule *rule = NULL;
	struct belfry_error err;

	options.gap = gap;
	options.fold = fold;
	if (belfry_rule_new(zones, bf_str(text), bf_str(zone), &options, &rule, &err) !=
			BELFRY_OK) {
		fail_msg("\"%s\" in %s: %s", text, zone, err.message);
	}
	return rule;
}

struct belfry_rule *new_rule(const char *text, const char *zone)
{
	return new_rule_with(text, zone, BELFRY_DST_GAP_AT_END, BELFRY_DST_FOLD_FIRST);
}

void check_dues(const struct belfry_rule *rule, const char *from, const char *expected)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf found = {0};
	belfry_time after = at(from);
	size_t count = 1;

	for (const char *p = expected; *p != '\0'; p++) {
		count += *p == ',' ? 1 : 0;
	}
	for (size_t i = 0; i < count; i++) {
		char text[BF_TIME_TEXT_BYTES] = "never";
		belfry_time due;
		enum belfry_status status = belfry_rule_next(rule, after, &due);
		if (status == BELFRY_OK) {
			assert_true(due > after);
			bf_time_format(due, 0, text);
			after = due;
		} else {
			assert_int_equal(status, BELFRY_NEVER);
		}
		bf_buf_appendf(&found, "%s%s", i > 0 ? "," : "", text);
	}
	assert_string_equal(found.ptr, expected);
}

void check_rule(const char *text, const char *zone, const char *from, const char *expected)
{
	struct belfry_rule *rule = new_rule(text, zone);

	check_dues(rule, from, expected);
	belfry_rule_free(rule);
}

void check_refused(const char *text, const char *zone, int64_t position, const char *words)
{
	struct belfry_rule *rule = NULL;
	struct belfry_error err = {0};

	enum belfry_status status = belfry_rule_new(zones, bf_str(text), bf_str(zone), NULL, &rule,
			&err);
	if (status != BELFRY_INVALID_SCHEDULE || err.status != BELFRY_INVALID_SCHEDULE) {
		fail_msg("\"%s\" in %s: status %s", text, zone, belfry_status_name(status));
	}
	assert_null(rule);
	if (err.position != position + 1 || strstr(err.message, words) == NULL) {
		fail_msg("\"%s\": position %d, not %d; \"%s\", not \"%s\"", text,
				(int)err.position - 1, (int)position, err.message, words);
	}
}

int main(void)
{
	int (*const groups[])(void) = {
			run_advance_tests,
			run_dialect_tests,
			run_dst_tests,
			run_except_tests,
			run_excluded_tests,
			run_kinds_tests,
			run_print_tests,
			run_explain_tests,
			run_explain_any_tests,
			run_footer_tests,
			run_forecast_tests,
			run_golden_tests,
			run_memory_tests,
			run_refresh_tests,
			run_rule_json_tests,
			run_tzif_tests,
			run_walk_tests,
			run_zones_tests,
	};
	struct belfry_error err;
	int failed = 0;

	bf_json_init();
	if (belfry_zones_new(NULL, &zones, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	for (size_t i = 0; i < BF_COUNT(groups); i++) {
		failed += groups[i]();
	}
	belfry_zones_free(zones);
	return failed;
}
