/* Settings: every one has its default, takes what is right, and names what is wrong. */
#include "host_cases.h"

#include "host/settings.h"

static void the_defaults_are_those_of_the_papers(void **state)
{
	struct bf_settings settings;

	(void)state;
	bf_settings_init(&settings, 0);
	assert_int_equal(settings.exec_concurrent, 1);
	assert_int_equal(settings.max_concurrent, 1000);
	assert_int_equal(settings.lease, 8 * BELFRY_SECOND);
	assert_int_equal(settings.beat, 2 * BELFRY_SECOND);
	assert_int_equal(settings.max_active_schedules, 0);
	assert_int_equal(bf_settings_check(&settings, NULL), BELFRY_OK);
}

static void right_values_are_taken(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		size_t offset;
		int64_t value;
	} rows[] = {
			{"max_concurrent", "3", offsetof(struct bf_settings, max_concurrent), 3},
			{"tick_seconds", "0", offsetof(struct bf_settings, tick_seconds), 1},
			{"tick_seconds", "-9", offsetof(struct bf_settings, tick_seconds), 1},
			{"tick_seconds", "301", offsetof(struct bf_settings, tick_seconds), 300},
			{"lease", "PT1S", offsetof(struct bf_settings, lease), BELFRY_SECOND},
			{"grace", "0s", offsetof(struct bf_settings, grace), 0},
			{"grace", "1h30m", offsetof(struct bf_settings, grace), 90 * BELFRY_MINUTE},
			{"max_active_schedules", "64",
					offsetof(struct bf_settings, max_active_schedules), 64},
			{"max_active_schedules", "null",
					offsetof(struct bf_settings, max_active_schedules), 0},
			{"enabled", "true", offsetof(struct bf_settings, enabled), 1},
			{"streams", "1024", offsetof(struct bf_settings, streams), 1024},
	};
	struct bf_settings settings;

	(void)state;
	bf_settings_init(&settings, 1);
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		assert_int_equal(bf_settings_set(&settings, bf_str(rows[i].name),
						 bf_str(rows[i].text), NULL),
				BELFRY_OK);
		assert_int_equal(*(int64_t *)(void *)((char *)&settings + rows[i].offset),
				rows[i].value);
	}
}

static void wrong_values_are_refused_by_name(void **state)
{
	static const char *const rows[][2] = {{"max_concurrent", "0"}, {"max_concurrent", "-1"},
			{"max_concurrent", ""}, {"max_concurrent", "many"},
			{"max_concurrent", "1.5"}, {"max_concurrent", "99999999999999999999"},
			{"tick_seconds", "x"}, {"lease", "0s"}, {"lease", "8"}, {"lease", "soon"},
			{"beat", "-PT1S"}, {"grace", "-1s"}, {"keep_runs", "0"},
			{"output_limit", "0"}, {"max_active_schedules", "0"}, {"enabled", "yes"},
			{"enabled", "false"}, {"exec_concurrent", "10001"}, {"audit_age", "P1D"},
			{"streams", "0"}, {"streams_per_token", "0"}, {"per_host", "0"},
			{"recovery_limit", "0"}, {"colour", "red"}, {"", "1"}};
	struct bf_settings settings;
	struct bf_settings before;

	(void)state;
	bf_settings_init(&settings, 1);
	before = settings;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		struct belfry_error err = {0};
		assert_int_equal(bf_settings_set(&settings, bf_str(rows[i][0]), bf_str(rows[i][1]),
						 &err),
				BELFRY_INVALID);
		assert_non_null(strstr(err.message, rows[i][0]));
		assert_memory_equal(&settings, &before, sizeof(settings));
	}
}

static void the_environment_is_read_by_name(void **state)
{
	static const char *const good[] = {"PATH=/bin", "BELFRY_URL=http://x", "BELFRY_TOKEN=t",
			"BELFRY_MAX_CONCURRENT=5", "BELFRY_GRACE=PT0S", "belfry_lease=1s",
			"BELFRY_SECRET_HOOK=x", "BELFRY_SCHEDULER_PROVIDER=none",
			"BELFRY_PLUGIN_PATH=/x", "BELFRY_CRASH_POINT=x", "BELFRY_BINARY=x",
			"BELFRY_TEST_BINARY=x", "BELFRY", "X", NULL};
	static const char *const bad[] = {"BELFRY_KEEP_AGE=never", NULL};
	struct bf_settings settings;
	struct belfry_error err = {0};

	(void)state;
	bf_settings_init(&settings, 1);
	assert_int_equal(bf_settings_read_environment(&settings, good, NULL), BELFRY_OK);
	assert_int_equal(settings.max_concurrent, 5);
	assert_int_equal(settings.grace, 0);
	assert_int_equal(settings.lease, 8 * BELFRY_SECOND);
	assert_int_equal(bf_settings_read_environment(&settings, bad, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "BELFRY_KEEP_AGE"));
}

static void variables_that_nothing_reads_are_refused_by_name(void **state)
{
	static const struct {
		const char *pair;
		const char *says;
	} rows[] = {
			{"BELFRY_METRICS_PER_DEPLOYMENT=true",
					"BELFRY_METRICS_PER_DEPLOYMENT: this version does not offer"},
			{"BELFRY_LISTEN=1.2.3.4:1", "BELFRY_LISTEN: this is an option"},
			{"BELFRY_MAX_CONCURENT=5", "did you mean max_concurrent"},
			{"BELFRY_XYZ=5", "BELFRY_XYZ: there is no such setting"},
			{"BELFRY_=5", "BELFRY_: there is no such setting"},
			{"BELFRY_max_concurrent=5", "did you mean max_concurrent"},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		const char *const environment[] = {"A=b", rows[i].pair, NULL};
		struct bf_settings settings;
		struct belfry_error err = {0};
		bf_settings_init(&settings, 1);
		assert_int_equal(bf_settings_read_environment(&settings, environment, &err),
				BELFRY_INVALID);
		if (strstr(err.message, rows[i].says) == NULL) {
			fail_msg("%s", err.message);
		}
	}
}

static void values_that_do_not_go_together_are_refused(void **state)
{
	struct bf_settings settings;
	struct belfry_error err = {0};

	(void)state;
	bf_settings_init(&settings, 1);
	settings.beat = settings.lease;
	assert_int_equal(bf_settings_check(&settings, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "beat"));
	bf_settings_init(&settings, 1);
	settings.answer_limit = settings.output_limit + 1;
	assert_int_equal(bf_settings_check(&settings, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "answer_limit"));
}

/* What the operator gave at the start is changed where it was given. */
static void the_environment_goes_before_what_is_changed_over_the_api(void **state)
{
	const char *const environment[] = {"BELFRY_GRACE=PT5M", NULL};
	json_t *pinned = json_pack("{s:s}", "grace", "PT2M");
	json_t *free_one = json_pack("{s:i, s:n}", "keep_runs", 5, "lease");
	struct bf_settings settings;
	struct belfry_error err = {0};

	(void)state;
	bf_settings_init(&settings, 1);
	assert_int_equal(bf_settings_read_environment(&settings, environment, &err), BELFRY_OK);
	assert_int_equal(bf_settings_change(&settings, pinned, &err), BELFRY_CONFLICT);
	assert_non_null(strstr(err.message, "BELFRY_GRACE"));
	assert_string_equal(err.pointer, "/grace");
	assert_int_equal(settings.grace, 5 * BELFRY_MINUTE);
	assert_int_equal(bf_settings_change(&settings, free_one, &err), BELFRY_OK);
	assert_int_equal(settings.keep_runs, 5);
	json_decref(pinned);
	json_decref(free_one);
}

int run_settings_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_defaults_are_those_of_the_papers),
			cmocka_unit_test(right_values_are_taken),
			cmocka_unit_test(wrong_values_are_refused_by_name),
			cmocka_unit_test(the_environment_goes_before_what_is_changed_over_the_api),
			cmocka_unit_test(the_environment_is_read_by_name),
			cmocka_unit_test(variables_that_nothing_reads_are_refused_by_name),
			cmocka_unit_test(values_that_do_not_go_together_are_refused),
	};

	return cmocka_run_group_tests_name("settings", tests, NULL, NULL);
}
