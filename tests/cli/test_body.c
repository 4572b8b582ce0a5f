/* A deployment's JSON from options, and the merge patch of an edit. */
#include <string.h>

#include "base/str.h"
#include "cases.h"
#include "cli/deployment_body.h"

static const struct bf_option options[] = {BF_DEPLOYMENT_OPTIONS, {.name = NULL}};
static const struct bf_command command = {.path = "probe",
		.synopsis = "",
		.options = options,
		.max_words = 1,
		.has_rest = true};

/* The body that argv makes; with `old` as the patch of it. */
static enum belfry_status make_of(const char *const *argv, bool needs_all, const json_t *old,
		json_t **ret_body, struct belfry_error *err)
{
	struct fixture fixture;
	struct bf_args args = {0};
	size_t argc = 0;

	*err = (struct belfry_error){0};
	while (argv[argc] != NULL) {
		argc++;
	}
	fixture_open(&fixture);
	enum belfry_status status = bf_args_parse(&command, argc, (char *const *)(uintptr_t)argv,
			&args, err);
	if (status == BELFRY_OK) {
		status = bf_deployment_body(&fixture.cli, &args, needs_all, ret_body, err);
	}
	if (status == BELFRY_OK && old != NULL) {
		status = bf_deployment_patch(*ret_body, &args, old, err);
	}
	bf_args_fini(&args);
	fixture_close(&fixture);
	return status;
}

static enum belfry_status make(const char *const *argv, bool needs_all, json_t **ret_body,
		struct belfry_error *err)
{
	return make_of(argv, needs_all, NULL, ret_body, err);
}

static void expect_json(const json_t *got, const char *wanted)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = json_loads(wanted, JSON_DECODE_ANY, NULL);
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	assert_non_null(value);
	assert_int_equal(bf_json_dump(got, &text), BELFRY_OK);
	if (!json_equal(got, value)) {
		fail_msg("%s\n   is not\n%s", text.ptr, wanted);
	}
}

static void every_option_has_its_place(void **state)
{
	const char *const argv[] = {"--cron", "0 9 * * *", "--tz", "Europe/Berlin", "--webhook",
			"http://h/", "--method", "PUT", "--header", "X-A=b=c", "--body",
			"{\"a\": [1]}", "--secret", "S", "--prompt", "say \"hi\"", "--input",
			"null", "--label", "k=v", "--missed", "skip", "--grace", "90s",
			"--attempts", "3", "--first-delay", "1s", "--gap", "shift",
			"--disable-after", "4", "--deadline", "1h30m", NULL};
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	struct belfry_error err;

	(void)state;
	assert_int_equal(make(argv, true, &body, &err), BELFRY_OK);
	expect_json(body,
			"{\"rule\": {\"cron\": \"0 9 * * *\"}, \"timezone\": \"Europe/Berlin\","
			" \"target\": {\"kind\": \"webhook\", \"url\": \"http://h/\", \"method\": \"PUT\","
			"  \"headers\": {\"X-A\": \"b=c\"}, \"body\": {\"a\": [1]}, \"secret\": \"S\"},"
			" \"prompt\": \"say \\\"hi\\\"\", \"input\": null, \"labels\": {\"k\": \"v\"},"
			" \"policies\": {\"missed\": {\"policy\": \"skip\"}, \"grace\": \"PT1M30S\","
			"  \"retry\": {\"max_attempts\": 3, \"first_delay\": \"PT1S\"},"
			"  \"dst\": {\"gap\": \"shift\"}, \"on_failure\": {\"disable_after\": 4},"
			"  \"deadline\": \"PT1H30M\"}}");
}

static void other_rules_and_targets_are_passed_on(void **state)
{
	const char *const exec[] = {"--every", "30m", "--exec", "--", "/bin/echo", "--json", NULL};
	const char *const chat[] = {"--rule", "{\"any\": [{\"cron\": \"* * * * *\"}]}", "--chat",
			"http://h/v1", "--model", "m", NULL};
	BF_CLEANUP(bf_cleanup_json) json_t *first = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *second = NULL;
	struct belfry_error err;

	(void)state;
	assert_int_equal(make(exec, true, &first, &err), BELFRY_OK);
	expect_json(first,
			"{\"rule\": {\"every\": \"PT30M\"}, \"target\": {\"kind\": \"exec\","
			" \"command\": [\"/bin/echo\", \"--json\"]}}");
	assert_int_equal(make(chat, true, &second, &err), BELFRY_OK);
	expect_json(second,
			"{\"rule\": {\"any\": [{\"cron\": \"* * * * *\"}]}, \"target\":"
			" {\"kind\": \"chat\", \"url\": \"http://h/v1\", \"model\": \"m\"}}");
}

static void a_time_is_sent_as_the_rules_have_it(void **state)
{
	static const struct {
		const char *text;
		const char *wanted;
	} rows[] = {
			{"2020-01-01 09:00", "{\"at\": \"2020-01-01T09:00:00\"}"},
			{"2020-01-01 09:00:05", "{\"at\": \"2020-01-01T09:00:05\"}"},
			{"2020-01-01", "{\"at\": \"2020-01-01T00:00:00\"}"},
			{"2020-01-01T09:00:00+02:00", "{\"at\": \"2020-01-01T09:00:00+02:00\"}"},
			{"tomorrow", "{\"at\": \"tomorrow\"}"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		const char *const argv[] = {"--at", rows[i].text, NULL};
		BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
		struct belfry_error err;

		assert_int_equal(make(argv, false, &body, &err), BELFRY_OK);
		expect_json(json_object_get(body, "rule"), rows[i].wanted);
	}
}

static void what_cannot_be_meant_is_refused(void **state)
{
	static const struct {
		const char *argv[8];
		enum belfry_status status;
		const char *words;
	} rows[] = {
			{{"--webhook", "x", NULL}, BELFRY_USAGE,
					"one of --cron, --every, --at and --rule"},
			{{"--cron", "x", NULL}, BELFRY_USAGE, "--webhook URL is needed"},
			{{"--cron", "x", "--every", "1m", NULL}, BELFRY_USAGE,
					"exclude each other"},
			{{"--cron", "x", "--webhook", "x", "--remote", "x", NULL}, BELFRY_USAGE,
					"--webhook and --remote exclude each other"},
			{{"--cron", "x", "--exec", NULL}, BELFRY_USAGE,
					"needs the command behind --"},
			{{"--cron", "x", "--webhook", "x", "--", "y", NULL}, BELFRY_USAGE,
					"is the command of --exec"},
			{{"--every", "soon", "--webhook", "x", NULL}, BELFRY_USAGE,
					"is no duration"},
			{{"--rule", "[]", "--webhook", "x", "--spread", "5m", NULL}, BELFRY_USAGE,
					"--spread: what --rule gives"},
			{{"--spread", "5m", "--webhook", "x", NULL}, BELFRY_USAGE,
					"one of --cron, --every, --at and --rule"},
			{{"--cron", "x", "--spread", "often", "--webhook", "x", NULL}, BELFRY_USAGE,
					"--spread: \"often\" is no duration"},
			{{"--cron", "x", "--webhook", "x", "--attempts", "many", NULL},
					BELFRY_USAGE, "not a whole number"},
			{{"--cron", "x", "--webhook", "x", "--input", "{\"a\":}", NULL},
					BELFRY_INVALID, "--input: "},
			{{"--cron", "x", "--webhook", "x", "--prompt", "\xff", NULL},
					BELFRY_INVALID, "not UTF-8"},
			{{"--cron", "x", "--webhook", "x", "--prompt", "@/nonexistent/file", NULL},
					BELFRY_INVALID, "cannot read"},
			{{"--cron", "x", "--webhook", "x", "--notify", "x", NULL}, BELFRY_USAGE,
					"--notify: this version does not offer"},
			{{"--cron", "x", "--webhook", "x", "--label", "=v", NULL}, BELFRY_USAGE,
					"KEY=VALUE"},
			{{"--cron", "x", "--webhook", "x", "--label", "a", NULL}, BELFRY_USAGE,
					"--label: \"a\" is not of the form KEY=VALUE"},
			{{"--cron", "x", "--webhook", "x", "--header", "novalue", NULL},
					BELFRY_USAGE,
					"--header: \"novalue\" is not of the form NAME=VALUE"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
		struct belfry_error err;

		assert_int_equal(make(rows[i].argv, true, &body, &err), rows[i].status);
		if (strstr(err.message, rows[i].words) == NULL) {
			fail_msg("row %zu: \"%s\"", i, err.message);
		}
	}
}

static void an_edit_leaves_nothing_of_what_it_replaces(void **state)
{
	const char *const argv[] = {"--cron", "0 9 * * *", "--remote", "http://r/", "--input",
			"{\"b\": 2}", "--label", "old", NULL};
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	BF_CLEANUP(bf_cleanup_json)
	json_t *old = json_loads(
			"{\"rule\": {\"every\": \"PT1M\", \"anchor\": \"2026-01-01T00:00:00Z\"}, \"input\": {\"a\": 1},"
			" \"target\": {\"kind\": \"webhook\", \"url\": \"http://h/\", \"body\": null,"
			" \"headers\": {\"A\": \"b\"}}, \"labels\": {\"old\": \"x\", \"kept\": \"y\"}}",
			0, NULL);
	struct belfry_error err;

	(void)state;
	assert_int_equal(make_of(argv, false, old, &body, &err), BELFRY_OK);
	expect_json(body,
			"{\"rule\": {\"cron\": \"0 9 * * *\", \"every\": null, \"anchor\": null},"
			" \"input\": {\"b\": 2, \"a\": null}, \"target\": {\"kind\": \"remote\","
			" \"url\": \"http://r/\", \"headers\": null}, \"labels\": {\"old\": null}}");
}

#define OLD_LIMITS                                                                                 \
	"\"max_fires\": 4, \"spread\": \"PT1S\", \"except\": [\"2030-01-01\"],"                    \
	" \"not_before\": \"2026-01-01\", \"not_after\": \"2031-01-01\""
#define OLD_GONE                                                                                   \
	"\"max_fires\": null, \"spread\": null, \"except\": null, \"not_before\": null,"           \
	" \"not_after\": null"

/* What is not named stays: the limits of a rule are no part of how its times are told. */
static void an_edit_of_the_times_keeps_the_limits_of_a_rule(void **state)
{
	static const struct {
		const char *old; /* how it told its times */
		const char *argv[5];
		const char *wanted;
	} rows[] = {
			{"\"cron\": \"@daily\"", {"--cron", "0 9 * * *", NULL},
					"{\"rule\": {\"cron\": \"0 9 * * *\"}}"},
			{"\"every\": \"PT1M\", \"anchor\": \"2026-01-01T00:00:00Z\"",
					{"--cron", "@daily", NULL},
					"{\"rule\": {\"cron\": \"@daily\", \"every\": null,"
					" \"anchor\": null}}"},
			{"\"every\": \"PT1M\", \"anchor\": \"2026-01-01T00:00:00Z\"",
					{"--every", "5m", NULL},
					"{\"rule\": {\"every\": \"PT5M\"}}"},
			{"\"any\": [{\"cron\": \"@daily\"}]", {"--every", "5m", NULL},
					"{\"rule\": {\"every\": \"PT5M\", \"any\": null}}"},
			{"\"cron\": \"@daily\"", {"--at", "2030-01-01", NULL},
					"{\"rule\": {\"at\": \"2030-01-01T00:00:00\", \"cron\": null}}"},
			{"\"cron\": \"@daily\"", {"--cron", "0 9 * * *", "--spread", "5m", NULL},
					"{\"rule\": {\"cron\": \"0 9 * * *\", \"spread\": \"PT5M\"}}"},
			{"\"cron\": \"@daily\"", {"--cron", "0 9 * * *", "--spread", "none", NULL},
					"{\"rule\": {\"cron\": \"0 9 * * *\", \"spread\": null}}"},
			/* --rule is the whole of it. */
			{"\"cron\": \"@daily\"", {"--rule", "{\"cron\": \"0 9 * * *\"}", NULL},
					"{\"rule\": {\"cron\": \"0 9 * * *\", " OLD_GONE "}}"},
			{"\"every\": \"PT1M\", \"anchor\": \"2026-01-01T00:00:00Z\"",
					{"--rule", "{\"every\": \"PT2M\"}", NULL},
					"{\"rule\": {\"every\": \"PT2M\", \"anchor\": null, " OLD_GONE
					"}}"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
		BF_CLEANUP(bf_cleanup_json) json_t *old = NULL;
		BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
		struct belfry_error err;

		bf_buf_appendf(&text, "{\"rule\": {%s, " OLD_LIMITS "}}", rows[i].old);
		old = json_loads(text.ptr, 0, NULL);
		assert_int_equal(make_of(rows[i].argv, false, old, &body, &err), BELFRY_OK);
		expect_json(body, rows[i].wanted);
	}
}

static void b11_a_spread_and_a_limit_go_into_the_rule_and_leave_the_rest_of_it(void **state)
{
	static const struct {
		const char *argv[9];
		bool needs_all;
		const char *wanted;
	} rows[] = {
			{{"--spread", "10m", NULL}, false, "{\"rule\": {\"spread\": \"PT10M\"}}"},
			{{"--max-fires", "3", NULL}, false, "{\"rule\": {\"max_fires\": 3}}"},
			{{"--spread", "none", NULL}, false, "{\"rule\": {\"spread\": null}}"},
			{{"--max-fires", "none", NULL}, false, "{\"rule\": {\"max_fires\": null}}"},
			{{"--rule", "{\"every\": \"PT2M\"}", "--max-fires", "9", NULL}, false,
					"{\"rule\": {\"every\": \"PT2M\", \"max_fires\": 9,"
					" \"spread\": null}}"},
			{{"--cron", "@daily", "--spread", "5m", "--webhook", "http://h/", NULL},
					true,
					"{\"rule\": {\"cron\": \"@daily\", \"spread\": \"PT5M\"},"
					" \"target\": {\"kind\": \"webhook\", \"url\": \"http://h/\"}}"},
			/* Where everything is new there is nothing to remove but what --rule says. */
			{{"--cron", "@daily", "--spread", "none", "--webhook", "http://h/", NULL},
					true,
					"{\"rule\": {\"cron\": \"@daily\"}, \"target\":"
					" {\"kind\": \"webhook\", \"url\": \"http://h/\"}}"},
			{{"--rule", "{\"every\": \"PT2M\", \"max_fires\": 2}", "--max-fires",
					 "none", "--webhook", "http://h/", NULL},
					true,
					"{\"rule\": {\"every\": \"PT2M\"}, \"target\":"
					" {\"kind\": \"webhook\", \"url\": \"http://h/\"}}"},
	};
	BF_CLEANUP(bf_cleanup_json)
	json_t *old = json_loads("{\"rule\": {\"every\": \"PT1M\", \"max_fires\": 4,"
				 " \"spread\": \"PT1S\"}}",
			0, NULL);

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
		struct belfry_error err;

		assert_int_equal(make_of(rows[i].argv, rows[i].needs_all,
						 rows[i].needs_all ? NULL : old, &body, &err),
				BELFRY_OK);
		expect_json(body, rows[i].wanted);
	}
}

static void an_edit_of_the_same_target_keeps_its_other_members(void **state)
{
	const char *const argv[] = {"--webhook", "http://new/", NULL};
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	BF_CLEANUP(bf_cleanup_json)
	json_t *old = json_loads("{\"target\": {\"kind\": \"webhook\", \"url\": \"http://h/\","
				 " \"headers\": {\"A\": \"b\"}}}",
			0, NULL);
	struct belfry_error err;

	(void)state;
	assert_int_equal(make_of(argv, false, old, &body, &err), BELFRY_OK);
	expect_json(body, "{\"target\": {\"kind\": \"webhook\", \"url\": \"http://new/\"}}");
}

int run_body_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(every_option_has_its_place),
			cmocka_unit_test(other_rules_and_targets_are_passed_on),
			cmocka_unit_test(a_time_is_sent_as_the_rules_have_it),
			cmocka_unit_test(what_cannot_be_meant_is_refused),
			cmocka_unit_test(an_edit_leaves_nothing_of_what_it_replaces),
			cmocka_unit_test(an_edit_of_the_times_keeps_the_limits_of_a_rule),
			cmocka_unit_test(
					b11_a_spread_and_a_limit_go_into_the_rule_and_leave_the_rest_of_it),
			cmocka_unit_test(an_edit_of_the_same_target_keeps_its_other_members),
	};

	return cmocka_run_group_tests_name("body", tests, NULL, NULL);
}
