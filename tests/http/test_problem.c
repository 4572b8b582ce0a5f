/* Problem documents: every member, and nothing that is not public. */
#include "cases.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"

#include "http/problem.h"

static void a_problem_has_all_its_members(void **state)
{
	(void)state;
	struct belfry_error err = {0};
	struct bf_http_response response;

	(void)bf_error_at(&err, BELFRY_INVALID_SCHEDULE, "/rule/cron", "\"61\" is no minute");
	err.position = 5;
	bf_http_problem(&err, BF_STR("id-1"), &response);
	assert_int_equal(response.status, 400);
	assert_string_equal(response.content_type, "application/problem+json");
	check_text(bf_buf_str(&response.body),
			"{\"type\":\"about:blank\",\"title\":\"Bad Request\",\"status\":400,"
			"\"code\":\"INVALID_SCHEDULE\",\"detail\":\"\\\"61\\\" is no minute\","
			"\"pointer\":\"/rule/cron\",\"position\":4,\"request_id\":\"id-1\"}");
	bf_http_response_fini(&response);
}

static void the_operators_detail_stays_inside(void **state)
{
	(void)state;
	struct belfry_error err = {0};
	struct bf_http_response response;

	(void)bf_error_system(&err, BELFRY_UNAVAILABLE, 14, "cannot open /var/lib/secret.db");
	bf_http_problem(&err, BF_STR(""), &response);
	check_text(bf_buf_str(&response.body),
			"{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,"
			"\"code\":\"SCHEDULE_EXECUTION_UNAVAILABLE\","
			"\"detail\":\"the scheduler is not available now\"}");
	assert_int_equal(response.header_count, 1);
	assert_string_equal(response.headers[0].name, "Retry-After");
	assert_string_equal(response.headers[0].value, "1");
	bf_http_response_fini(&response);
}

static void every_status_makes_a_document(void **state)
{
	(void)state;
	for (int i = 1; i < BELFRY_STATUS_COUNT; i++) {
		enum belfry_status status = (enum belfry_status)i;
		struct bf_http_response response;
		json_t *document = NULL;
		bf_http_problem_status(status, BF_STR("id"), &response);
		assert_int_equal(response.status, belfry_status_http(status));
		assert_int_equal(bf_json_parse(bf_buf_str(&response.body), 4096, &document, NULL),
				BELFRY_OK);
		check_text(bf_json_str(json_object_get(document, "detail")),
				belfry_status_text(status));
		assert_string_not_equal(bf_http_status_title(response.status), "Error");
		json_decref(document);
		bf_http_response_fini(&response);
	}
	assert_string_equal(bf_http_status_title(299), "Error");
}

static void bytes_that_are_not_text_do_not_break_the_document(void **state)
{
	(void)state;
	struct belfry_error err = {0};
	struct bf_http_response response;
	json_t *document = NULL;

	(void)bf_error_set(&err, BELFRY_INVALID, "name \"\xff\x01\n\" is not allowed");
	bf_http_problem(&err, BF_STR("\xfe"), &response);
	assert_int_equal(response.status, 400);
	assert_int_equal(bf_json_parse(bf_buf_str(&response.body), 4096, &document, NULL),
			BELFRY_OK);
	json_decref(document);
	bf_http_response_fini(&response);
}

static void without_memory_there_is_a_fixed_answer(void **state)
{
	(void)state;
	struct bf_http_response response;
	int failed = 0;

	for (int64_t n = 1; n < 200; n++) {
		bf_fault_arm(bf_alloc_fault(), n, -1);
		bf_http_problem_status(BELFRY_NOT_FOUND, BF_STR("id"), &response);
		bool is_hit = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(response.status, is_hit ? 500 : 404);
		assert_true(is_hit ? response.borrowed.len > 0 : response.body.len > 0);
		failed += is_hit ? 1 : 0;
		bf_http_response_fini(&response);
	}
	assert_true(failed > 0 && failed < 199);
}

static void a_header_that_would_split_the_answer_is_a_failure(void **state)
{
	(void)state;
	struct bf_http_response response = {.status = 200};

	bf_http_response_put_header(&response, "Location", BF_STR("/a\r\nSet-Cookie: b"));
	assert_true(response.is_failed);
	assert_int_equal(response.header_count, 0);
	bf_http_response_fini(&response);
	assert_false(response.is_failed);
	for (int i = 0; i < BF_HTTP_RESPONSE_HEADERS; i++) {
		bf_http_response_put_header(&response, "X-A", BF_STR("b"));
	}
	assert_false(response.is_failed);
	bf_http_response_put_header(&response, "X-A", BF_STR("b"));
	assert_true(response.is_failed);
	bf_http_response_fini(&response);
}

int run_problem_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_problem_has_all_its_members),
			cmocka_unit_test(the_operators_detail_stays_inside),
			cmocka_unit_test(every_status_makes_a_document),
			cmocka_unit_test(bytes_that_are_not_text_do_not_break_the_document),
			cmocka_unit_test(without_memory_there_is_a_fixed_answer),
			cmocka_unit_test(a_header_that_would_split_the_answer_is_a_failure),
	};

	return cmocka_run_group_tests_name("problem", tests, NULL, NULL);
}
