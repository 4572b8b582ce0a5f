/* Parsing of options by a table. */
#include <string.h>

#include "base/str.h"
#include "cases.h"
#include "cli/help.h"

static const struct bf_option options[] = {
		{.name = "zone", .argument = "Z", .help = "A zone"},
		{.name = "number", .letter = 'n', .argument = "N", .help = "A number"},
		{.name = "label", .argument = "K=V", .help = "A label", .is_repeatable = true},
		{.name = "follow", .help = "A flag"},
		{.name = NULL},
};

static const struct bf_command command = {
		.path = "group probe",
		.synopsis = "WORD [WORD]",
		.summary = "A probe",
		.example = "belfry group probe x",
		.options = options,
		.min_words = 1,
		.max_words = 2,
};

static enum belfry_status parse(const struct bf_command *of, const char *const *argv,
		struct bf_args *args, struct belfry_error *err)
{
	size_t argc = 0;

	*err = (struct belfry_error){0};
	while (argv[argc] != NULL) {
		argc++;
	}
	return bf_args_parse(of, argc, (char *const *)(uintptr_t)argv, args, err);
}

static void options_stand_anywhere_in_every_spelling(void **state)
{
	const char *const argv[] = {"--zone=A=B", "first", "-n5", "--label", "a=1", "--label=b=2",
			"second", "--follow", NULL};
	struct bf_args args = {0};
	struct belfry_error err;
	size_t cursor = 0;

	(void)state;
	assert_int_equal(parse(&command, argv, &args, &err), BELFRY_OK);
	assert_string_equal(bf_args_value(&args, "zone"), "A=B");
	assert_string_equal(bf_args_value(&args, "number"), "5");
	assert_string_equal(bf_args_next(&args, "label", &cursor), "a=1");
	assert_string_equal(bf_args_next(&args, "label", &cursor), "b=2");
	assert_null(bf_args_next(&args, "label", &cursor));
	assert_true(bf_args_has(&args, "follow"));
	assert_false(bf_args_has(&args, "json"));
	assert_string_equal(bf_args_word(&args, 0), "first");
	assert_string_equal(bf_args_word(&args, 1), "second");
	assert_null(bf_args_word(&args, 2));
	bf_args_fini(&args);
}

static void a_word_with_a_minus_that_is_no_option_stays_a_word(void **state)
{
	static const char *const words[] = {"-2h", "-1 * * * *", "- * * * *", "-", "--x y", "",
			"-\n"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(words); i++) {
		const char *const argv[] = {words[i], NULL};
		struct bf_args args = {0};
		struct belfry_error err;

		assert_int_equal(parse(&command, argv, &args, &err), BELFRY_OK);
		assert_string_equal(bf_args_word(&args, 0), words[i]);
		bf_args_fini(&args);
	}
}

static void two_dashes_end_the_options(void **state)
{
	const char *const argv[] = {"a", "--", "--zone", NULL};
	struct bf_command with_rest = command;
	struct bf_args args = {0};
	struct belfry_error err;

	(void)state;
	assert_int_equal(parse(&command, argv, &args, &err), BELFRY_OK);
	assert_string_equal(bf_args_word(&args, 1), "--zone");
	bf_args_fini(&args);
	with_rest.has_rest = true;
	assert_int_equal(parse(&with_rest, argv, &args, &err), BELFRY_OK);
	assert_int_equal(args.word_count, 1);
	assert_int_equal(args.rest_count, 1);
	assert_string_equal(args.rest[0], "--zone");
	bf_args_fini(&args);
}

static void what_is_wrong_is_refused_with_a_remedy(void **state)
{
	static const struct {
		const char *argv[5];
		const char *words;
	} rows[] = {
			{{"a", "--zoen", "x", NULL}, "did you mean --zone?"},
			{{"a", "--qqqqqq", NULL}, "`belfry group probe --help`"},
			{{"a", "-x", NULL}, "there is no option -x"},
			{{"a", "--zone", NULL}, "--zone needs a value"},
			{{"a", "-n", NULL}, "--number needs a value"},
			{{"a", "--follow=1", NULL}, "takes no value"},
			{{"a", "--zone=1", "--zone=2", NULL}, "given twice"},
			{{"a", "b", "c", NULL}, "\"c\" is too much"},
			{{NULL}, "WORD is missing: belfry group probe WORD ..."},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct bf_args args = {0};
		struct belfry_error err;

		assert_int_equal(parse(&command, rows[i].argv, &args, &err), BELFRY_USAGE);
		if (strstr(err.message, rows[i].words) == NULL) {
			fail_msg("row %zu: \"%s\"", i, err.message);
		}
	}
}

static void numbers_keep_to_their_range(void **state)
{
	static const char *const wrong[] = {"0", "11", "x", "", "5x", "99999999999999999999", "+5"};
	struct belfry_error err;
	int64_t value = 0;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(wrong); i++) {
		const char *const argv[] = {"a", "-n", wrong[i], NULL};
		struct bf_args args = {0};

		assert_int_equal(parse(&command, argv, &args, &err), BELFRY_OK);
		assert_int_equal(bf_args_int(&args, "number", 1, 10, 7, &value, &err),
				BELFRY_USAGE);
		bf_args_fini(&args);
	}
	const char *const none[] = {"a", NULL};
	struct bf_args args = {0};
	assert_int_equal(parse(&command, none, &args, &err), BELFRY_OK);
	assert_int_equal(bf_args_int(&args, "number", 1, 10, 7, &value, &err), BELFRY_OK);
	assert_int_equal(value, 7);
	bf_args_fini(&args);
}

static void the_nearest_name_is_suggested_and_a_far_one_is_not(void **state)
{
	struct bf_nearest nearest;

	(void)state;
	bf_nearest_begin(&nearest, BF_STR("deploymnets"));
	bf_nearest_offer(&nearest, "runs");
	bf_nearest_offer(&nearest, "deployments");
	assert_string_equal(nearest.best, "deployments");
	bf_nearest_begin(&nearest, BF_STR("dep"));
	bf_nearest_offer(&nearest, "doctor");
	bf_nearest_offer(&nearest, "deployments");
	assert_string_equal(nearest.best, "deployments");
	bf_nearest_begin(&nearest, BF_STR("xyzzy"));
	bf_nearest_offer(&nearest, "runs");
	assert_null(nearest.best);
	bf_nearest_begin(&nearest, BF_STR("a-word-that-is-longer-than-all-the-names-there-are"));
	bf_nearest_offer(&nearest, "runs");
	assert_null(nearest.best);
}

int run_args_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(options_stand_anywhere_in_every_spelling),
			cmocka_unit_test(a_word_with_a_minus_that_is_no_option_stays_a_word),
			cmocka_unit_test(two_dashes_end_the_options),
			cmocka_unit_test(what_is_wrong_is_refused_with_a_remedy),
			cmocka_unit_test(numbers_keep_to_their_range),
			cmocka_unit_test(the_nearest_name_is_suggested_and_a_far_one_is_not),
	};

	return cmocka_run_group_tests_name("args", tests, NULL, NULL);
}
