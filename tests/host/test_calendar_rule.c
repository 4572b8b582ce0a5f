/* The expansion of a rule that names shared calendars: what is put where, what is refused and where, and
 * that a lack of memory leaves nothing. */
#include "host_cases.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/json.h"
#include "host/calendar_rule.h"

struct shelf {
	const char *text; /* {"name": [...]} */
	unsigned asked;
	enum belfry_status fails;
};

static json_t *parse(const char *text)
{
	json_t *value = NULL;

	assert_int_equal(bf_json_parse(bf_str(text), SIZE_MAX, &value, NULL), BELFRY_OK);
	return value;
}

static enum belfry_status find(void *data, struct belfry_str name, json_t **ret_except,
		int64_t *ret_revision, struct belfry_error *err)
{
	struct shelf *shelf = data;
	BF_CLEANUP(bf_cleanup_json) json_t *all = NULL;

	(void)err;
	shelf->asked++;
	if (shelf->fails != BELFRY_OK) {
		return shelf->fails;
	}
	enum belfry_status status = bf_json_parse(bf_str(shelf->text), SIZE_MAX, &all, NULL);
	if (status != BELFRY_OK) {
		return status;
	}
	json_t *found = json_object_getn(all, name.ptr, name.len);
	if (found == NULL) {
		return BELFRY_NOT_FOUND;
	}
	*ret_except = json_incref(found);
	*ret_revision = 7;
	return BELFRY_OK;
}

static enum belfry_status expand(struct shelf *shelf, const char *rule,
		struct bf_expansion *ret_expansion, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = parse(rule);
	BF_CLEANUP(bf_cleanup_json) json_t *before = json_deep_copy(value);
	enum belfry_status status = bf_calendar_expand(value, find, shelf, ret_expansion, err);

	assert_true(json_equal(value, before)); /* as it was written */
	return status;
}

static void expect_text(const char *rule, const char *wanted, const char *calendars)
{
	BF_CLEANUP(bf_expansion_fini) struct bf_expansion expansion = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf used = {0};
	struct shelf shelf = {
			.text = "{\"a\":[\"2026-12-25\"],\"b\":[],\"c\":[{\"cron\":\"* * * 1 *\"}]}"};

	assert_int_equal(expand(&shelf, rule, &expansion, NULL), BELFRY_OK);
	assert_string_equal(expansion.text.len > 0 ? expansion.text.ptr : "", wanted);
	if (calendars == NULL) {
		assert_null(expansion.calendars);
		return;
	}
	assert_int_equal(bf_json_dump(expansion.calendars, &used), BELFRY_OK);
	assert_string_equal(used.ptr, calendars);
	assert_int_equal(shelf.asked, json_array_size(expansion.calendars));
}

#define A "{\"name\":\"a\",\"revision\":7}"
#define C "{\"name\":\"c\",\"revision\":7}"

static void a_rule_that_names_no_calendar_is_left_as_it_is(void **state)
{
	(void)state;
	expect_text("{\"cron\":\"0 9 * * *\"}", "", NULL);
	expect_text("{\"cron\":\"0 9 * * *\",\"except\":[\"2026-12-25\",{\"cron\":\"* * 1 * *\"}]}",
			"", NULL);
	/* What is odd is for the parser to refuse. */
	expect_text("{\"cron\":\"0 9 * * *\",\"except\":{\"calendar\":\"a\"}}", "", NULL);
	expect_text("{\"any\":[5,\"x\",{\"except\":[{\"calendar\":5}]}]}", "", NULL);
	expect_text("{\"calendar\":\"a\"}", "", NULL);
}

static void a_calendar_gets_its_content_beside_its_name_at_every_level(void **state)
{
	(void)state;
	expect_text("{\"cron\":\"0 9 * * *\",\"except\":[\"2026-01-01\",{\"calendar\":\"a\"}]}",
			"{\"cron\":\"0 9 * * *\",\"except\":[\"2026-01-01\",{\"calendar\":\"a\","
			"\"except\":[\"2026-12-25\"]}]}",
			"[" A "]");
	expect_text("{\"any\":[{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"c\"}]},"
		    "{\"any\":[{\"at\":\"2026-12-25T09:00:00\",\"except\":[{\"calendar\":\"a\"}]}]}],"
		    "\"except\":[{\"calendar\":\"b\"}]}",
			"{\"any\":[{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"c\",\"except\":"
			"[{\"cron\":\"* * * 1 *\"}]}]},{\"any\":[{\"at\":\"2026-12-25T09:00:00\","
			"\"except\":[{\"calendar\":\"a\",\"except\":[\"2026-12-25\"]}]}]}],"
			"\"except\":[{\"calendar\":\"b\",\"except\":[]}]}",
			"[{\"name\":\"b\",\"revision\":7}," C "," A "]");
}

static void a_calendar_that_is_named_twice_is_asked_for_once(void **state)
{
	(void)state;
	expect_text("{\"any\":[{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"a\"}]}],"
		    "\"except\":[{\"calendar\":\"a\"},{\"calendar\":\"a\"}]}",
			"{\"any\":[{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"a\",\"except\":"
			"[\"2026-12-25\"]}]}],\"except\":[{\"calendar\":\"a\",\"except\":[\"2026-12-25\"]},"
			"{\"calendar\":\"a\",\"except\":[\"2026-12-25\"]}]}",
			"[" A "]");
}

static void expect_refusal(struct shelf *shelf, const char *rule, enum belfry_status wanted,
		const char *pointer, const char *words)
{
	struct bf_expansion expansion = {0};
	struct belfry_error err = {0};

	assert_int_equal(expand(shelf, rule, &expansion, &err), wanted);
	assert_null(expansion.calendars);
	assert_null(expansion.text.ptr);
	assert_string_equal(err.pointer, pointer);
	if (strstr(err.message, words) == NULL) {
		fail_msg("\"%s\" is not in \"%s\"", words, err.message);
	}
}

static void what_cannot_be_expanded_is_refused_with_its_place_and_remedy(void **state)
{
	struct shelf shelf = {.text = "{\"a\":[]}"};
	struct shelf away = {.fails = BELFRY_UNAVAILABLE};

	(void)state;
	expect_refusal(&shelf,
			"{\"every\":\"PT1H\",\"except\":[\"2026-12-25\",{\"calendar\":\"x\"}]}",
			BELFRY_INVALID_SCHEDULE, "/rule/except/1/calendar",
			"no shared calendar \"x\" here: make it with");
	expect_refusal(&shelf,
			"{\"any\":[{\"every\":\"PT1H\"},{\"every\":\"PT1H\",\"except\":[{\"calendar\":"
			"\"a b\"}]}]}",
			BELFRY_INVALID_SCHEDULE, "/rule/any/1/except/0/calendar",
			"1 to 64 letters");
	expect_refusal(&shelf,
			"{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"a\",\"except\":[]}]}",
			BELFRY_INVALID_SCHEDULE, "/rule/except/0/except",
			"name the calendar alone");
	expect_refusal(&away, "{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"a\"}]}",
			BELFRY_UNAVAILABLE, "", "");
}

static void what_gets_too_long_is_refused(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct shelf shelf = {0};

	(void)state;
	bf_buf_append_text(&text, "{\"a\":[\"2026-12-25\"");
	while (text.len < BELFRY_RULE_BYTES / 2) {
		bf_buf_append_text(&text, ",\"2026-12-25\"");
	}
	bf_buf_append_text(&text, "]}");
	assert_int_equal(bf_buf_status(&text), BELFRY_OK);
	shelf.text = text.ptr;
	expect_refusal(&shelf,
			"{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"a\"},{\"calendar\":\"a\"}]}",
			BELFRY_INVALID_SCHEDULE, "/rule/except", "name fewer or shorter calendars");
}

static void a_pointer_that_is_too_long_is_cut(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf rule = {0};
	struct shelf shelf = {.text = "{}"};
	struct bf_expansion expansion = {0};
	struct belfry_error err = {0};

	(void)state;
	for (int i = 0; i < 30; i++) {
		bf_buf_append_text(&rule, "{\"any\":[");
	}
	bf_buf_append_text(&rule, "{\"except\":[{\"calendar\":\"x\"}]}");
	for (int i = 0; i < 30; i++) {
		bf_buf_append_text(&rule, "]}");
	}
	assert_int_equal(expand(&shelf, rule.ptr, &expansion, &err), BELFRY_INVALID_SCHEDULE);
	assert_int_equal(strlen(err.pointer), BELFRY_ERROR_POINTER_BYTES - 1);
}

static void a_lack_of_memory_at_any_step_is_told_and_leaves_nothing(void **state)
{
	BF_CLEANUP(bf_cleanup_json)
	json_t *rule = parse("{\"any\":[{\"every\":\"PT1H\",\"except\":[{\"calendar\":\"a\"}]}]}");
	bool is_over = false;

	(void)state;
	for (int64_t call = 1; !is_over && call < 10000; call++) {
		struct shelf shelf = {.text = "{\"a\":[\"2026-12-25\"]}"};
		struct bf_expansion expansion = {0};
		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = bf_calendar_expand(rule, find, &shelf, &expansion,
				NULL);
		is_over = bf_fault_fired(bf_alloc_fault()) == 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, is_over ? BELFRY_OK : BELFRY_NOMEM);
		assert_int_equal(expansion.calendars != NULL, is_over);
		bf_expansion_fini(&expansion);
	}
	assert_true(is_over);
}

static void names_are_letters_digits_and_three_signs(void **state)
{
	char name[BF_CALENDAR_NAME_BYTES + 1];

	(void)state;
	memset(name, 'a', sizeof(name));
	assert_true(bf_calendar_name_is_good(BF_STR("holidays-de_2026.v1")));
	assert_true(bf_calendar_name_is_good((struct belfry_str){name, sizeof(name) - 1}));
	assert_false(bf_calendar_name_is_good((struct belfry_str){name, sizeof(name)}));
	assert_false(bf_calendar_name_is_good(BF_STR("")));
	assert_false(bf_calendar_name_is_good(BF_STR("a b")));
	assert_false(bf_calendar_name_is_good(BF_STR(".")));
	assert_false(bf_calendar_name_is_good(BF_STR("..")));
	assert_false(bf_calendar_name_is_good(BF_STR("a/b")));
	assert_false(bf_calendar_name_is_good(BF_STR("\xc3\xa4")));
	assert_false(bf_calendar_name_is_good(BF_STR("a\0b")));
}

int run_calendar_rule_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_rule_that_names_no_calendar_is_left_as_it_is),
			cmocka_unit_test(
					a_calendar_gets_its_content_beside_its_name_at_every_level),
			cmocka_unit_test(a_calendar_that_is_named_twice_is_asked_for_once),
			cmocka_unit_test(
					what_cannot_be_expanded_is_refused_with_its_place_and_remedy),
			cmocka_unit_test(what_gets_too_long_is_refused),
			cmocka_unit_test(a_pointer_that_is_too_long_is_cut),
			cmocka_unit_test(a_lack_of_memory_at_any_step_is_told_and_leaves_nothing),
			cmocka_unit_test(names_are_letters_digits_and_three_signs),
	};

	return cmocka_run_group_tests_name("calendar rules", tests, NULL, NULL);
}
