/* Taking a request target apart. */
#include "cases.h"

#include "base/alloc.h"

#include "http/server_target.h"

/* "path|segment|segment?name=value?name=value" */
static void check_target(const char *raw, const char *expected)
{
	struct bf_http_target target;
	struct belfry_error err = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	if (bf_http_target_parse(bf_str(raw), &target, &err) != BELFRY_OK) {
		fail_msg("%s: %s", raw, err.message);
	}
	bf_buf_append_str(&text, target.path);
	for (size_t i = 0; i < target.segment_count; i++) {
		bf_buf_appendf(&text, "|%.*s", BF_STR_ARGS(target.segments[i]));
	}
	for (size_t i = 0; i < target.parameter_count; i++) {
		bf_buf_appendf(&text, "?%.*s=%.*s", BF_STR_ARGS(target.parameters[i].name),
				BF_STR_ARGS(target.parameters[i].value));
	}
	check_text(bf_buf_str(&text), expected);
	bf_http_target_fini(&target);
}

static void paths_are_split_first_and_decoded_once(void **state)
{
	(void)state;
	check_target("/", "/");
	check_target("/a", "/a|a");
	check_target("/a/", "/a/|a|");
	check_target("//", "//||");
	check_target("/a/b%2Fc/%2e%2e", "/a/b%2Fc/%2e%2e|a|b/c|..");
	check_target("/%2525", "/%2525|%25");
	check_target("/a+b", "/a+b|a+b");
	check_target("/%C3%A4%f0%9f%a6%9c", "/%C3%A4%f0%9f%a6%9c|\xc3\xa4\xf0\x9f\xa6\x9c");
}

static void queries_are_split_first_and_decoded_once(void **state)
{
	(void)state;
	check_target("/?", "/");
	check_target("/?a", "/?a=");
	check_target("/?a=", "/?a=");
	check_target("/?=b", "/?=b");
	check_target("/?a=b=c&d", "/?a=b=c?d=");
	check_target("/?&&a=1&", "/?a=1");
	check_target("/x?a=1&a=2", "/x|x?a=1?a=2");
	check_target("/?a%26b=c%3Dd+e%2B", "/?a&b=c=d e+");
	check_target("/?a=/b?c", "/?a=/b?c");
}

static void what_is_broken_is_refused(void **state)
{
	(void)state;
	static const char *const bad[] = {"", "a", "*", "http://x/", "/%", "/%4", "/%zz", "/%4z",
			"/%00", "/a?%00", "/a?b=%0", "/%ff", "/%c0%80", "/%ed%a0%80", "/?a=%80",
			"/a b", "/a#b", "/\x7f", "/\xc3\xa4", "/a\tb"};
	struct bf_http_target target;

	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		struct belfry_error err = {0};
		if (bf_http_target_parse(bf_str(bad[i]), &target, &err) != BELFRY_INVALID) {
			fail_msg("%s was taken", bad[i]);
		}
		assert_true(err.message[0] != '\0');
	}
}

static void the_number_of_parts_is_bounded(void **state)
{
	(void)state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct bf_http_target target;

	for (int i = 0; i < BF_HTTP_SEGMENTS; i++) {
		bf_buf_append_text(&text, "/a");
	}
	assert_int_equal(bf_http_target_parse(bf_buf_str(&text), &target, NULL), BELFRY_OK);
	assert_int_equal(target.segment_count, BF_HTTP_SEGMENTS);
	bf_http_target_fini(&target);
	bf_buf_append_text(&text, "/a");
	assert_int_equal(bf_http_target_parse(bf_buf_str(&text), &target, NULL), BELFRY_INVALID);
	bf_buf_clear(&text);
	bf_buf_append_text(&text, "/?");
	for (int i = 0; i < BF_HTTP_PARAMETERS; i++) {
		bf_buf_append_text(&text, "&a");
	}
	assert_int_equal(bf_http_target_parse(bf_buf_str(&text), &target, NULL), BELFRY_INVALID);
}

static void every_allocation_may_fail(void **state)
{
	(void)state;
	struct bf_http_target target;
	enum belfry_status status = BELFRY_NOMEM;

	for (int64_t n = 1; status != BELFRY_OK; n++) {
		bf_fault_arm(bf_alloc_fault(), n, 1);
		status = bf_http_target_parse(BF_STR("/a/b?c=d"), &target, NULL);
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(status == BELFRY_OK || status == BELFRY_NOMEM);
		assert_true(n < 100);
	}
	bf_http_target_fini(&target);
}

int run_target_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(paths_are_split_first_and_decoded_once),
			cmocka_unit_test(queries_are_split_first_and_decoded_once),
			cmocka_unit_test(what_is_broken_is_refused),
			cmocka_unit_test(the_number_of_parts_is_bounded),
			cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
