/* The command table itself: every command can be asked for help, and explains itself by an example that
 * its own parser takes. */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "cases.h"
#include "cli/help.h"

#define WORDS_MAX 32

typedef void (*visit_fn)(const struct bf_command *command);

static void visit_all(const struct bf_command *const *commands, visit_fn visit)
{
	for (size_t i = 0; commands[i] != NULL; i++) {
		visit(commands[i]);
		if (commands[i]->children != NULL) {
			visit_all(commands[i]->children, visit);
		}
	}
}

static void expect_sentence(const struct bf_command *command)
{
	assert_non_null(command->summary);
	assert_non_null(command->synopsis);
	assert_true(command->summary[0] >= 'A' && command->summary[0] <= 'Z');
	assert_true(command->summary[strlen(command->summary) - 1] != '.');
	assert_true((command->run != NULL) != (command->children != NULL));
	for (const struct bf_option *o = command->options; bf_option_exists(o); o++) {
		assert_non_null(o->help);
		assert_true(strlen(o->name) > 1);
	}
}

static void every_command_explains_itself(void **state)
{
	(void)state;
	visit_all(test_commands, expect_sentence);
}

/* Splits a line as a shell would that knows blanks, double quotes and a backslash at a line's end. */
static size_t split(char *line, char **words)
{
	size_t count = 0;
	char *to = line;

	for (char *p = line; *p != '\0' && count < WORDS_MAX;) {
		bool is_quoted = false;

		while (*p == ' ' || *p == '\\') {
			p++;
		}
		if (*p == '\0') {
			break;
		}
		words[count++] = to;
		for (; *p != '\0' && (is_quoted || *p != ' '); p++) {
			if (*p == '"') {
				is_quoted = !is_quoted;
			} else {
				*to++ = *p;
			}
		}
		p += *p != '\0' ? 1 : 0;
		*to++ = '\0';
	}
	return count;
}

static void expect_line_parses(const struct bf_command *command, char *line)
{
	char *words[WORDS_MAX];
	size_t count = split(line, words);
	struct bf_args args = {0};
	struct belfry_error err = {0};
	size_t own = 1;

	for (const char *p = command->path; p != NULL; p = strchr(p + 1, ' ')) {
		own++;
	}
	assert_true(count >= own);
	if (command->children == NULL &&
			bf_args_parse(command, count - own, words + own, &args, &err) !=
					BELFRY_OK) {
		fail_msg("example of %s: %s", command->path, err.message);
	}
	bf_args_fini(&args);
}

static void expect_example(const struct bf_command *command)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf start = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};

	bf_buf_appendf(&start, "belfry %s", command->path);
	for (const char *p = command->example; *p != '\0';) {
		size_t len = strcspn(p, "\n");

		bf_buf_append(&line, p, len);
		p += len + (p[len] == '\n' ? 1 : 0);
		if (line.ptr[line.len - 1] == '\\') {
			continue;
		}
		assert_true(bf_str_starts_with(bf_buf_str(&line), bf_buf_str(&start)));
		expect_line_parses(command, line.ptr);
		bf_buf_clear(&line);
	}
}

static void every_example_is_one_that_parses(void **state)
{
	(void)state;
	visit_all(test_commands, expect_example);
}

static void expect_help(const struct bf_command *command)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};
	char *words[WORDS_MAX + 1] = {NULL};
	struct fixture fixture;

	bf_buf_appendf(&line, "belfry %s --help", command->path);
	(void)split(line.ptr, words);
	fixture_open(&fixture);
	assert_int_equal(fixture_run(&fixture, (const char *const *)words), 0);
	assert_non_null(strstr(fixture.out, "Usage:\n  belfry "));
	assert_non_null(strstr(fixture.out, "Example:\n  belfry "));
	assert_non_null(strstr(fixture.out, "--json"));
	for (const struct bf_option *o = command->options; bf_option_exists(o); o++) {
		assert_non_null(strstr(fixture.out, o->name));
	}
	assert_int_equal(fixture.err_len, 0);
	fixture_close(&fixture);
}

static void every_command_has_help_with_an_example(void **state)
{
	(void)state;
	visit_all(test_commands, expect_help);
}

static void what_another_version_offers_is_refused_by_name(void **state)
{
	static const char *const later[] = {"backfill", "skip", "undo", "move", "pause", "resume",
			"owners", "token", "secrets", "notify", "backup", "restore", "conformance",
			"bench"};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(later); i++) {
		const char *const argv[] = {"belfry", later[i], "--whatever", NULL};
		struct fixture fixture;

		fixture_open(&fixture);
		assert_int_equal(fixture_run(&fixture, argv), 2);
		assert_non_null(strstr(fixture.err, "this version does not offer `"));
		assert_non_null(strstr(fixture.err, later[i]));
		fixture_close(&fixture);
	}
}

int run_table_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_command_explains_itself),
			cmocka_unit_test(every_example_is_one_that_parses),
			cmocka_unit_test(every_command_has_help_with_an_example),
			cmocka_unit_test(what_another_version_offers_is_refused_by_name),
	};

	return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
