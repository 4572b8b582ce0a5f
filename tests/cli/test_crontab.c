/* Lines of crontabs as cron reads them, and what they become. Whole tables are in tests/blackbox. */
#include "base/alloc.h"
#include "base/str.h"
#include "cases.h"
#include "cli/crontab.h"
#include "cli/crontab_import.h"

BF_CLEANUP_POINTER(zones, struct belfry_zones, belfry_zones_free)

static void expect_str(struct belfry_str got, const char *wanted)
{
	if (!bf_str_equal(got, bf_str(wanted))) {
		fail_msg("\"%.*s\" is not \"%s\"", BF_STR_ARGS(got), wanted);
	}
}

static struct bf_crontab_line parse(const char *text, bool has_user)
{
	struct bf_crontab_line line = {0};
	struct belfry_error err = {0};

	if (bf_crontab_parse_line(bf_str(text), has_user, &line, &err) != BELFRY_OK) {
		fail_msg("%s\n   %s", text, err.message);
	}
	return line;
}

static void expect_variable(const char *text, const char *name, const char *value)
{
	struct bf_crontab_line line = parse(text, false);

	assert_int_equal(line.kind, BF_CRONTAB_VARIABLE);
	expect_str(line.name, name);
	expect_str(line.value, value);
}

static void variables_are_read_with_their_quotes(void **state)
{
	(void)state;
	expect_variable("A=b", "A", "b");
	expect_variable("  A  =  b c  ", "A", "b c");
	expect_variable("A=\" b \"", "A", " b ");
	expect_variable("A=' b '  ", "A", " b ");
	expect_variable("\"A\" = b", "A", "b");
	expect_variable("A=\"\"", "A", "");
	expect_variable("A=", "A", "");
	expect_variable("A=\"b\" c", "A", "\"b\" c");
	expect_variable("A='b", "A", "'b");
	expect_variable("A=b=c # d", "A", "b=c # d");
	expect_variable("PATH=$HOME/bin:/bin", "PATH", "$HOME/bin:/bin");
}

static void expect_command(const char *text, bool has_user, const char *rule, const char *user,
		const char *command)
{
	struct bf_crontab_line line = parse(text, has_user);
	BF_CLEANUP(bf_buf_fini) struct bf_buf put = {0};

	assert_int_equal(line.kind, BF_CRONTAB_COMMAND);
	bf_crontab_put_rule(&put, line.rule);
	expect_str(bf_buf_str(&put), rule);
	expect_str(line.user, user);
	expect_str(line.command, command);
}

static void fields_user_and_command_are_apart(void **state)
{
	(void)state;
	expect_command("0 9 * * 1-5 echo  a", false, "0 9 * * 1-5", "", "echo  a");
	expect_command(" \t0\t9 *\t* \t*\techo # a ", false, "0 9 * * *", "", "echo # a ");
	expect_command("0 9 * * * A=b echo", false, "0 9 * * *", "", "A=b echo");
	expect_command("*/5 * * * * root\techo", true, "*/5 * * * *", "root", "echo");
	expect_command("@daily\techo", false, "@daily", "", "echo");
	expect_command("@hourly www-data echo", true, "@hourly", "www-data", "echo");
	assert_true(parse("-0 9 * * * echo", false).is_quiet);
	expect_command("-0 9 * * * echo", false, "0 9 * * *", "", "echo");
	assert_int_equal(parse("", false).kind, BF_CRONTAB_NOTHING);
	assert_int_equal(parse(" \t", false).kind, BF_CRONTAB_NOTHING);
	assert_int_equal(parse("  # 0 9 * * * echo", false).kind, BF_CRONTAB_NOTHING);
}

static void expect_refusal(const char *text, bool has_user, int64_t position, const char *words)
{
	struct bf_crontab_line line = {0};
	struct belfry_error err = {0};

	assert_int_equal(bf_crontab_parse_line(bf_str(text), has_user, &line, &err),
			BELFRY_INVALID);
	assert_int_equal(err.position, position);
	if (strstr(err.message, words) == NULL) {
		fail_msg("%s\n   %s", text, err.message);
	}
}

static void what_cron_would_not_run_is_refused_at_its_place(void **state)
{
	(void)state;
	expect_refusal("0 9 * *", false, 8, "4 of five fields");
	expect_refusal("0 9 * * *", false, 10, "the command is missing");
	expect_refusal("0 9 * * *  ", false, 12, "the command is missing");
	expect_refusal("@daily", false, 7, "the command is missing");
	expect_refusal("0 9 * * * ", true, 11, "the user is missing");
	expect_refusal("0 9 * * * root ", true, 16, "the command is missing");
	expect_refusal("1A=b", false, 1, "no name of a variable");
	expect_refusal("  a-b=c", false, 3, "no name of a variable");
	expect_refusal("0 9 * * * -q echo", false, 11, "flags");
}

static void expect_split(const char *raw, const char *wanted_command, const char *wanted_input)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf command = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf input = {0};
	bool has_input = bf_crontab_split_command(bf_str(raw), &command, &input);

	expect_str(bf_buf_str(&command), wanted_command);
	assert_int_equal(has_input, wanted_input != NULL);
	expect_str(bf_buf_str(&input), wanted_input != NULL ? wanted_input : "");
}

static void the_first_percent_sign_ends_the_command(void **state)
{
	(void)state;
	expect_split("echo", "echo", NULL);
	expect_split("mail x%Hello%%you", "mail x", "Hello\n\nyou\n");
	expect_split("date +\\%Y-\\%m", "date +%Y-%m", NULL);
	expect_split("cat%a\\%b%", "cat", "a%b\n");
	expect_split("cat%", "cat", "\n");
	expect_split("cat%a\n", "cat", "a\n");
	expect_split("%a", "", "a\n");
	expect_split("printf 'a\\nb'", "printf 'a\\nb'", NULL);
	expect_split("a\\\\%b", "a\\\\", "b\n");
	expect_split("a%b\\nc\\", "a", "b\\nc\\\n");
	expect_split("a\\", "a\\", NULL);
}

static void expect_name(const char *command, const char *wanted)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf name = {0};

	assert_int_equal(bf_crontab_put_name(&name, bf_str(command)), BELFRY_OK);
	expect_str(bf_buf_str(&name), wanted);
}

static void a_name_comes_from_the_command(void **state)
{
	(void)state;
	expect_name("/usr/local/bin/backup.sh --full >/dev/null 2>&1", "backup.sh-full");
	expect_name("cd /srv/app && ./manage.py clearsessions", "manage.py-clearsessions");
	expect_name("backup 2> log", "backup");
	expect_name("/usr/bin/", "bin");
	expect_name("echo \"a b\" # nightly", "echo-a-b");
	expect_name("echo \xc3\xa4", "echo");
	expect_name("", "cron-e3b0c442");
	expect_name("/usr/bin/env bash -c 'a very long line that goes on and on and on for ever'",
			"env-bash-c-a-very-long-line-that-goes-on-and-on-and-4c7b21c2");
}

static const char table[] = "# ours\n"
			    "MAILTO=ops@example.org\n"
			    "SHELL=/bin/bash\n"
			    "CRON_TZ=Europe/Berlin\n"
			    "0 9 * * 1-5 report%a%b\n"
			    "5 9 * * * report\n"
			    "-5 9 * * * report\r\n"
			    "@reboot start\n"
			    "61 9 * * * report\n"
			    "CRON_TZ=Nowhere/Land\n"
			    "0 9 * * * other\n";

static enum belfry_status import_table(struct belfry_zones *zones, struct bf_import *ret_import,
		struct belfry_error *err)
{
	struct bf_import_options options = {.zones = zones,
			.zone = BF_STR("UTC"),
			.user = BF_STR("ann"),
			.home = BF_STR("/home/ann")};

	return bf_crontab_import(BF_STR(table), &options, ret_import, err);
}

static void expect_line(const json_t *lines, size_t index, const char *result, const char *name,
		const char *words)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	const json_t *line = json_array_get(lines, index);

	assert_int_equal(bf_json_dump(line, &text), BELFRY_OK);
	expect_str(bf_json_str(json_object_get(line, "result")), result);
	expect_str(bf_json_str(json_object_get(line, "name")), name);
	if (strstr(text.ptr, words) == NULL) {
		fail_msg("\"%s\" is not in %s", words, text.ptr);
	}
}

static void a_table_becomes_deployments_and_a_report(void **state)
{
	BF_CLEANUP(bf_import_fini) struct bf_import import = {0};
	BF_CLEANUP(bf_cleanup_zones) struct belfry_zones *zones = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf first = {0};
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(belfry_zones_new(NULL, &zones, &err), BELFRY_OK);
	assert_int_equal(import_table(zones, &import, &err), BELFRY_OK);
	assert_int_equal(json_array_size(import.lines), 10);
	assert_int_equal(json_array_size(import.deployments), 3);
	assert_int_equal(import.refused_count, 3);
	expect_line(import.lines, 0, "changed", "MAILTO", "sends no mail");
	expect_line(import.lines, 3, "taken", "report", "\"timezone\":\"Europe/Berlin\"");
	expect_line(import.lines, 4, "taken", "report-2", "\"line\":6");
	expect_line(import.lines, 5, "changed", "report-3", "carriage return");
	expect_line(import.lines, 6, "refused", "", "machine's start");
	expect_line(import.lines, 7, "refused", "", "\"column\":1,");
	expect_line(import.lines, 9, "refused", "", "Nowhere/Land");
	assert_int_equal(bf_json_dump(json_array_get(import.deployments, 0), &first), BELFRY_OK);
	assert_string_equal(first.ptr,
			"{\"name\":\"report\",\"rule\":{\"cron\":\"0 9 * * 1-5\"},"
			"\"timezone\":\"Europe/Berlin\",\"target\":{\"kind\":\"exec\","
			"\"command\":[\"/bin/bash\",\"-c\",\"report\"],"
			"\"env\":{\"MAILTO\":\"ops@example.org\",\"SHELL\":\"/bin/bash\","
			"\"CRON_TZ\":\"Europe/Berlin\"},\"cwd\":\"/home/ann\"},"
			"\"labels\":{\"imported\":\"crontab\"},\"prompt\":\"a\\nb\\n\"}");
}

static void an_import_bears_every_lack_of_memory(void **state)
{
	BF_CLEANUP(bf_cleanup_zones) struct belfry_zones *zones = NULL;
	bool is_over = false;

	(void)state;
	assert_int_equal(belfry_zones_new(NULL, &zones, NULL), BELFRY_OK);
	for (int64_t call = 1; !is_over && call < 20000; call++) {
		BF_CLEANUP(bf_import_fini) struct bf_import import = {0};
		struct belfry_error err = {0};

		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = import_table(zones, &import, &err);
		is_over = bf_fault_fired(bf_alloc_fault()) == 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, is_over ? BELFRY_OK : BELFRY_NOMEM);
	}
	assert_true(is_over);
}

int run_crontab_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(variables_are_read_with_their_quotes),
			cmocka_unit_test(fields_user_and_command_are_apart),
			cmocka_unit_test(what_cron_would_not_run_is_refused_at_its_place),
			cmocka_unit_test(the_first_percent_sign_ends_the_command),
			cmocka_unit_test(a_name_comes_from_the_command),
			cmocka_unit_test(a_table_becomes_deployments_and_a_report),
			cmocka_unit_test(an_import_bears_every_lack_of_memory),
	};

	return cmocka_run_group_tests_name("crontab", tests, NULL, NULL);
}
