/* The environment: the boot clock's sums, the line builder, and the system's own clocks. */
#include "cases.h"

#include "base/env.h"

static void keep_line(void *data, enum bf_log_level level, const char *line)
{
	(void)level;
	bf_buf_clear(data);
	bf_buf_append_text(data, line);
}

static void boot_times_add_and_saturate(void **state)
{
	(void)state;
	struct bf_boot_time t = {5};

	assert_int_equal(bf_boot_add(t, 3).us, 8);
	assert_int_equal(bf_boot_add(t, -3).us, 2);
	assert_int_equal(bf_boot_add(t, INT64_MAX).us, INT64_MAX);
	assert_int_equal(bf_boot_add(t, INT64_MAX - 5).us, INT64_MAX);
	assert_int_equal(bf_boot_since(bf_boot_add(t, 9), t), 9);
}

static void a_line_is_formatted_and_cut(void **state)
{
	(void)state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};
	struct bf_env env = {.data = &line, .log = keep_line};
	char longer[3000];

	bf_log(&env, BF_LOG_INFO, "run=%d state=%s", 7, "queued");
	check_text(bf_buf_str(&line), "run=7 state=queued");
	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	bf_log(&env, BF_LOG_INFO, "%s", longer);
	assert_int_equal(line.len, 1023);
	env.log = NULL;
	bf_log(&env, BF_LOG_INFO, "goes nowhere");
}

static void the_systems_clocks_run_forward(void **state)
{
	(void)state;
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time before = env->boot(env->data);
	belfry_time wall = env->wall(env->data);

	assert_true(wall > INT64_C(1700000000) * BELFRY_SECOND);
	assert_true(wall < INT64_C(4100000000) * BELFRY_SECOND);
	assert_true(bf_boot_since(env->boot(env->data), before) >= 0);
}

static void random_bytes_fill_all_that_was_asked(void **state)
{
	(void)state;
	const struct bf_env *env = bf_env_system();
	unsigned char bytes[2][600] = {{0}};

	env->random(env->data, bytes[0], sizeof(bytes[0]));
	env->random(env->data, bytes[1], sizeof(bytes[1]));
	assert_memory_not_equal(bytes[0], bytes[1], sizeof(bytes[0]));
	static const unsigned char zeros[32];
	assert_memory_not_equal(bytes[0] + sizeof(bytes[0]) - 32, zeros, 32);
}

int run_env_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(boot_times_add_and_saturate),
			cmocka_unit_test(a_line_is_formatted_and_cut),
			cmocka_unit_test(the_systems_clocks_run_forward),
			cmocka_unit_test(random_bytes_fill_all_that_was_asked),
	};

	return cmocka_run_group_tests_name("env", tests, NULL, NULL);
}
