/* A deployment as a file: what is read-only or the default is left out, and nothing else. */
#include "base/alloc.h"
#include "base/str.h"
#include "cases.h"
#include "cli/deployment_file.h"

/* What the API shows of a deployment that nobody gave more than it needs. */
static const char plain[] =
		"{\"id\":\"i\",\"name\":\"a\",\"owner\":\"default\",\"enabled\":true,\"phase\":\"active\","
		"\"rule\":{\"cron\":\"0 9 * * *\"},\"timezone\":null,\"prompt\":\"\",\"input\":null,"
		"\"target\":{\"kind\":\"webhook\",\"url\":\"http://h/\",\"method\":\"POST\",\"headers\":{},"
		"\"body\":null,\"secret\":null},\"policies\":{\"missed\":{\"policy\":\"skip\","
		"\"max_age\":\"PT1H\",\"max_count\":10},\"grace\":\"PT1M\",\"late_limit\":\"PT1H\","
		"\"overlap\":\"allow\",\"interrupted\":\"resume\",\"retry\":{\"max_attempts\":8,"
		"\"first_delay\":\"PT1S\",\"max_delay\":\"PT1M\"},\"timeout\":\"PT1M\","
		"\"session_timeout\":\"P1D\",\"on_exhausted\":\"keep\",\"on_failure\":"
		"{\"disable_after\":null},\"dst\":{\"gap\":\"at_end\",\"fold\":\"first\"},"
		"\"deadline\":null},\"notify\":[],\"labels\":{},\"managed_by\":null,"
		"\"phase_reason\":null,\"paused_until\":null,\"next_due\":[],\"last_error\":null,"
		"\"timezone_used\":\"UTC\",\"revision\":3,\"created_at\":\"x\",\"updated_at\":\"y\"}";

static json_t *load(const char *text)
{
	json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);

	assert_non_null(value);
	return value;
}

static void expect_file(const json_t *shape, const char *grace, const char *wanted)
{
	BF_CLEANUP(bf_cleanup_json) json_t *file = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	assert_int_equal(bf_deployment_file(shape, bf_str(grace), &file, NULL), BELFRY_OK);
	assert_int_equal(bf_json_dump(file, &text), BELFRY_OK);
	assert_string_equal(text.ptr, wanted);
}

static void what_is_the_default_is_left_out(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *shape = load(plain);

	(void)state;
	expect_file(shape, "PT60S",
			"{\"name\":\"a\",\"rule\":{\"cron\":\"0 9 * * *\"},"
			"\"target\":{\"kind\":\"webhook\",\"url\":\"http://h/\"}}");
}

static void a_default_that_is_not_known_stays(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *shape = load(plain);

	(void)state;
	expect_file(shape, "",
			"{\"name\":\"a\",\"rule\":{\"cron\":\"0 9 * * *\"},"
			"\"target\":{\"kind\":\"webhook\",\"url\":\"http://h/\"},"
			"\"policies\":{\"grace\":\"PT1M\"}}");
}

static void what_differs_stays_and_so_does_what_is_not_known(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *shape = load(plain);
	BF_CLEANUP(bf_cleanup_json)
	json_t *other = load(
			"{\"enabled\":false,\"timezone\":\"Asia/Shanghai\",\"prompt\":\" on \","
			"\"input\":{\"policies\":{},\"n\":null},\"labels\":{\"a\":\"\"},\"later\":1,"
			"\"target\":{\"kind\":\"exec\",\"command\":[\"/bin/x\"],\"cwd\":null,"
			"\"env\":{\"A\":\"\"},\"permanent_exit\":[],\"output_limit\":1048576},"
			"\"policies\":{\"missed\":{\"policy\":\"fire_once\",\"max_age\":\"PT168H\","
			"\"max_count\":10},\"interrupted\":\"resume\",\"retry\":{\"max_attempts\":1},"
			"\"timeout\":\"PT0S\",\"later\":{}}}");

	(void)state;
	assert_int_equal(json_object_update(shape, other), 0);
	expect_file(shape, "PT1M",
			"{\"name\":\"a\",\"enabled\":false,\"rule\":{\"cron\":\"0 9 * * *\"},"
			"\"timezone\":\"Asia/Shanghai\",\"prompt\":\" on \","
			"\"input\":{\"policies\":{},\"n\":null},"
			"\"target\":{\"kind\":\"exec\",\"command\":[\"/bin/x\"],\"env\":{\"A\":\"\"}},"
			"\"policies\":{\"missed\":{\"policy\":\"fire_once\"},\"interrupted\":\"resume\","
			"\"later\":{}},\"labels\":{\"a\":\"\"},\"later\":1}");
}

static void a_file_bears_every_lack_of_memory(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *shape = load(plain);
	bool is_over = false;

	(void)state;
	for (int64_t call = 1; !is_over && call < 10000; call++) {
		BF_CLEANUP(bf_cleanup_json) json_t *file = NULL;

		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = bf_deployment_file(shape, BF_STR("PT1M"), &file, NULL);
		is_over = bf_fault_fired(bf_alloc_fault()) == 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, is_over ? BELFRY_OK : BELFRY_NOMEM);
	}
	assert_true(is_over);
}

int run_file_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(what_is_the_default_is_left_out),
			cmocka_unit_test(a_default_that_is_not_known_stays),
			cmocka_unit_test(what_differs_stays_and_so_does_what_is_not_known),
			cmocka_unit_test(a_file_bears_every_lack_of_memory),
	};

	return cmocka_run_group_tests_name("file", tests, NULL, NULL);
}
