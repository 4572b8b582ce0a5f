/* Statuses and errors: the one list as the API tells it, and a message on its way up. */
#include "cases.h"

#include "base/error.h"

struct published {
	enum belfry_status status;
	const char *code;
	int http;
	int exit_status;
};

static void the_list_is_what_the_interface_publishes(void **state)
{
	(void)state;
	static const struct published rows[] = {
			{BELFRY_OK, "OK", 200, 0},
			{BELFRY_INVALID, "INVALID_REQUEST", 400, 1},
			{BELFRY_INVALID_SCHEDULE, "INVALID_SCHEDULE", 400, 1},
			{BELFRY_USAGE, "INVALID_REQUEST", 400, 2},
			{BELFRY_UNAUTHENTICATED, "UNAUTHENTICATED", 401, 4},
			{BELFRY_FORBIDDEN, "FORBIDDEN", 403, 4},
			{BELFRY_NOT_FOUND, "NOT_FOUND", 404, 3},
			{BELFRY_NEVER, "NOT_FOUND", 404, 3},
			{BELFRY_METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", 405, 1},
			{BELFRY_CONFLICT, "CONFLICT", 409, 1},
			{BELFRY_CAPACITY, "SCHEDULE_CAPACITY_EXCEEDED", 409, 1},
			{BELFRY_CANNOT, "SCHEDULE_UNAVAILABLE", 409, 1},
			{BELFRY_QUOTA, "QUOTA_EXCEEDED", 409, 1},
			{BELFRY_PRECONDITION, "PRECONDITION_FAILED", 412, 1},
			{BELFRY_TOO_LARGE, "PAYLOAD_TOO_LARGE", 413, 1},
			{BELFRY_MEDIA_TYPE, "UNSUPPORTED_MEDIA_TYPE", 415, 1},
			{BELFRY_TARGET_NOT_ALLOWED, "TARGET_NOT_ALLOWED", 422, 1},
			{BELFRY_KEY_REUSED, "IDEMPOTENCY_KEY_REUSED", 422, 1},
			{BELFRY_RATE_LIMITED, "RATE_LIMITED", 429, 1},
			{BELFRY_INTERNAL, "INTERNAL", 500, 1},
			{BELFRY_UNAVAILABLE, "SCHEDULE_EXECUTION_UNAVAILABLE", 503, 5},
	};

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		assert_string_equal(belfry_status_code(rows[i].status), rows[i].code);
		assert_int_equal(belfry_status_http(rows[i].status), rows[i].http);
		assert_int_equal(belfry_status_exit(rows[i].status), rows[i].exit_status);
	}
	assert_string_equal(belfry_status_name(BELFRY_STALE), "STALE");
	assert_int_equal(belfry_status_class(BELFRY_STALE), BELFRY_CLASS_GONE);
}

static void t066_no_public_text_holds_an_inner_word(void **state)
{
	(void)state;
	static const char *inner[] = {"SQL", "sqlite", "driver", "engine", "/", "libcurl", "errno"};

	for (int i = 0; i < BELFRY_STATUS_COUNT; i++) {
		const char *text = belfry_status_text((enum belfry_status)i);
		assert_true(strlen(text) > 0);
		for (size_t k = 0; k < BF_COUNT(inner); k++) {
			if (strcmp(text, "the body must be application/json") != 0) {
				assert_null(strstr(text, inner[k]));
			}
		}
	}
}

static void a_number_outside_the_list_reads_as_internal(void **state)
{
	(void)state;
	static const int outside[] = {BELFRY_STATUS_COUNT, -1, 100000};

	for (size_t i = 0; i < BF_COUNT(outside); i++) {
		enum belfry_status status = (enum belfry_status)outside[i];
		assert_string_equal(belfry_status_name(status), "INTERNAL");
		assert_int_equal(belfry_status_http(status), 500);
		assert_int_equal(belfry_status_class(status), BELFRY_CLASS_SYSTEM);
	}
}

static void each_way_of_setting_fills_its_own_members(void **state)
{
	(void)state;
	struct belfry_error err;

	memset(&err, 0xff, sizeof(err));
	assert_int_equal(bf_error_set(&err, BELFRY_INVALID, "limit: %d", 0), BELFRY_INVALID);
	assert_int_equal(err.status, BELFRY_INVALID);
	assert_string_equal(err.message, "limit: 0");
	assert_string_equal(err.pointer, "");
	assert_string_equal(err.detail, "");
	assert_int_equal(err.position, 0);
	(void)bf_error_at(&err, BELFRY_INVALID, "/policies/retry", "is %s", "wrong");
	assert_string_equal(err.pointer, "/policies/retry");
	assert_string_equal(err.message, "is wrong");
	(void)bf_error_position(&err, BELFRY_INVALID_SCHEDULE, 4, "minute %d", 61);
	assert_int_equal(err.position, 5);
	assert_string_equal(err.pointer, "");
}

static void t066_a_systems_failure_keeps_its_words_for_the_operator(void **state)
{
	(void)state;
	struct belfry_error err;

	assert_int_equal(bf_error_system(&err, BELFRY_UNAVAILABLE, 13, "cannot open %s", "x.db"),
			BELFRY_UNAVAILABLE);
	assert_string_equal(err.message, belfry_status_text(BELFRY_UNAVAILABLE));
	assert_string_equal(err.detail, "cannot open x.db");
	assert_int_equal(err.driver_code, 13);
}

static void no_error_to_fill_is_allowed_everywhere(void **state)
{
	(void)state;
	assert_int_equal(bf_error_set(NULL, BELFRY_INVALID, "x"), BELFRY_INVALID);
	assert_int_equal(bf_error_at(NULL, BELFRY_INVALID, "/x", "x"), BELFRY_INVALID);
	assert_int_equal(bf_error_position(NULL, BELFRY_INVALID, 0, "x"), BELFRY_INVALID);
	assert_int_equal(bf_error_system(NULL, BELFRY_NOMEM, 0, "x"), BELFRY_NOMEM);
	bf_error_prefix(NULL, "x");
}

static void a_prefix_goes_in_front_and_keeps_the_rest(void **state)
{
	(void)state;
	struct belfry_error err;

	(void)bf_error_at(&err, BELFRY_INVALID, "/rule", "too long");
	bf_error_prefix(&err, "%s: ", "morning");
	bf_error_prefix(&err, "file %d: ", 2);
	assert_string_equal(err.message, "file 2: morning: too long");
	assert_string_equal(err.pointer, "/rule");
	assert_int_equal(err.status, BELFRY_INVALID);
}

static void what_does_not_fit_is_cut(void **state)
{
	(void)state;
	struct belfry_error err;
	char longer[1000];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	(void)bf_error_at(&err, BELFRY_INVALID, longer, "%s", longer);
	assert_int_equal(strlen(err.message), BELFRY_ERROR_MESSAGE_BYTES - 1);
	assert_int_equal(strlen(err.pointer), BELFRY_ERROR_POINTER_BYTES - 1);
	bf_error_prefix(&err, "front: ");
	assert_int_equal(strlen(err.message), BELFRY_ERROR_MESSAGE_BYTES - 1);
	assert_memory_equal(err.message, "front: xx", 9);
	bf_error_prefix(&err, "%s", longer);
	assert_int_equal(strlen(err.message), BELFRY_ERROR_MESSAGE_BYTES - 1);
}

int run_error_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_list_is_what_the_interface_publishes),
			cmocka_unit_test(t066_no_public_text_holds_an_inner_word),
			cmocka_unit_test(a_number_outside_the_list_reads_as_internal),
			cmocka_unit_test(each_way_of_setting_fills_its_own_members),
			cmocka_unit_test(t066_a_systems_failure_keeps_its_words_for_the_operator),
			cmocka_unit_test(no_error_to_fill_is_allowed_everywhere),
			cmocka_unit_test(a_prefix_goes_in_front_and_keeps_the_rest),
			cmocka_unit_test(what_does_not_fit_is_cut),
	};

	return cmocka_run_group_tests_name("error", tests, NULL, NULL);
}
