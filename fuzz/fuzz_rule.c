/* Fuzzes rule text: cron in both dialects and rule JSON, in a zone with folds and gaps.
 *
 * The first byte chooses dialect and policies, the rest is the text. Besides memory errors it looks for
 * broken promises: a refusal has words and a position within the text, answers rise strictly, and what
 * was answered is answered again from one microsecond before; what is printed is taken again, prints the same
 * and has the same due times; every rule can be told in words. */
#include <belfry/calendar.h>

#include "base/json.h"
#include "fuzz.h"

static struct belfry_zones *zones;

static void ask(const struct belfry_rule *rule)
{
	belfry_time due = INT64_C(1767225600) * BELFRY_SECOND;

	for (int i = 0; i < 8; i++) {
		belfry_time before = due;
		belfry_time again;
		if (belfry_rule_next(rule, before, &due) != BELFRY_OK) {
			return;
		}
		fuzz_require(due > before);
		fuzz_require(belfry_rule_next(rule, due - 1, &again) == BELFRY_OK && again == due);
	}
}

/* Words never fail, and are bounded. */
static void tell(const struct belfry_rule *rule)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_explanation told = BELFRY_EXPLANATION_INIT;

	fuzz_require(belfry_rule_explain(rule, INT64_C(1767225600) * BELFRY_SECOND, &arena,
				     &told) == BELFRY_OK);
	fuzz_require(told.sentence.len > 0 && told.sentence.len <= 2048);
	for (size_t i = 0; i < told.warning_count; i++) {
		fuzz_require(told.warnings[i].text.len > 0 && told.warnings[i].text.len <= 2048);
	}
	belfry_arena_fini(&arena);
}

static struct belfry_rule *make(struct belfry_str text, const struct belfry_rule_options *options)
{
	struct belfry_rule *rule;

	fuzz_require(belfry_rule_new(zones, text, BF_STR("Europe/Berlin"), options, &rule, NULL) ==
			BELFRY_OK);
	return rule;
}

static void compare(const struct belfry_rule *a, const struct belfry_rule *b)
{
	belfry_time due[2] = {INT64_C(1767225600) * BELFRY_SECOND,
			INT64_C(1767225600) * BELFRY_SECOND};

	for (int i = 0; i < 8; i++) {
		enum belfry_status status = belfry_rule_next(a, due[0], &due[0]);
		fuzz_require(belfry_rule_next(b, due[1], &due[1]) == status && due[0] == due[1]);
	}
}

static void print(const struct belfry_rule *rule, const struct belfry_rule_options *options)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str once;
	struct belfry_str twice;

	if (belfry_rule_print(rule, &arena, &once) != BELFRY_OK) {
		return; /* too long */
	}
	struct belfry_rule *again = make(once, options);
	fuzz_require(belfry_rule_print(again, &arena, &twice) == BELFRY_OK);
	fuzz_require(bf_str_equal(once, twice));
	compare(rule, again);
	belfry_rule_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct belfry_rule_options options = BELFRY_RULE_OPTIONS_INIT;
	struct belfry_error err = {0};
	struct belfry_rule *rule;

	if (zones == NULL) {
		bf_json_init();
		fuzz_require(belfry_zones_new(NULL, &zones, NULL) == BELFRY_OK);
	}
	if (size == 0) {
		return 0;
	}
	options.five_fields = data[0] & 1;
	options.gap = (enum belfry_dst_gap)(data[0] / 2 % BELFRY_DST_GAP_COUNT);
	options.fold = (enum belfry_dst_fold)(data[0] / 8 % BELFRY_DST_FOLD_COUNT);
	struct belfry_str text = {(const char *)data + 1, size - 1};
	enum belfry_status status = belfry_rule_new(zones, text, BF_STR("Europe/Berlin"), &options,
			&rule, &err);
	if (status == BELFRY_OK) {
		ask(rule);
		tell(rule);
		print(rule, &options);
		belfry_rule_free(rule);
	} else {
		fuzz_require(status == BELFRY_INVALID_SCHEDULE && err.message[0] != '\0');
		fuzz_require(err.position >= 0 && (size_t)err.position <= size);
	}
	return 0;
}
