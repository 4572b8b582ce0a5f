/* The routes preview and apply, and the settings: what is answered, what is refused, and that nothing is
 * half-done. */
#include <pthread.h>

#include "api_fixture.h"

#include "base/alloc.h"
#include "host/apply.h"
#include "host/preview.h"
#include "host/settings_live.h"

#define HOOK             "{\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/x\"}"
#define TARGET           "\"target\":" HOOK
#define ITEM(name, more) "{\"name\":\"" name "\",\"rule\":{\"cron\":\"0 9 * * *\"}," TARGET more "}"
#define SET(items)       "{\"deployments\":[" items "]}"

static int setup(void **state)
{
	struct api_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	api_fixture_start(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	api_fixture_stop(*state);
	free(*state);
	return 0;
}

/* --- apply --- */

static json_t *item_at(const struct api_fixture *f, size_t index)
{
	return json_array_get(api_member(f, "items"), index);
}

static const char *text_in(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text != NULL ? text : "";
}

static void expect_outcomes(struct api_fixture *f, const char *body, int status,
		const char *const *outcomes)
{
	api_expect(f, "POST", "/v1/apply", body, status, status == 200 ? "" : api_text(f, "code"));
	for (size_t i = 0; outcomes[i] != NULL; i++) {
		assert_string_equal(text_in(item_at(f, i), "outcome"), outcomes[i]);
	}
}

static size_t count_deployments(struct api_fixture *f)
{
	api_expect(f, "GET", "/v1/deployments?limit=200", NULL, 200, "");
	return json_array_size(api_member(f, "items"));
}

static void a_set_is_created_then_unchanged_then_changed(void **state)
{
	struct api_fixture *f = *state;

	expect_outcomes(f, SET(ITEM("a", "") "," ITEM("b", ",\"prompt\":\"p\"")), 200,
			(const char *const[]){"created", "created", NULL});
	assert_int_equal(json_array_size(json_object_get(item_at(f, 0), "appears")), 5);
	assert_int_equal(json_array_size(json_object_get(item_at(f, 0), "changes")), 0);
	assert_int_equal(count_deployments(f), 2);
	unsigned calls = f->host.fake.calls[FAKE_APPLY];
	expect_outcomes(f, SET(ITEM("a", "") "," ITEM("b", ",\"prompt\":\"p\"")), 200,
			(const char *const[]){"unchanged", "unchanged", NULL});
	assert_int_equal(f->host.fake.calls[FAKE_APPLY], calls);
	assert_int_equal(json_integer_value(json_object_get(item_at(f, 0), "revision")), 1);
	expect_outcomes(f, SET(ITEM("b", ",\"policies\":{\"grace\":\"PT2M\"}")), 200,
			(const char *const[]){"changed", NULL});
	json_t *changes = json_object_get(item_at(f, 0), "changes");
	assert_int_equal(json_array_size(changes), 2);
	assert_string_equal(text_in(json_array_get(changes, 0), "pointer"), "/prompt");
	assert_string_equal(text_in(json_array_get(changes, 0), "old"), "p");
	assert_string_equal(text_in(json_array_get(changes, 0), "new"), "");
	assert_string_equal(text_in(json_array_get(changes, 1), "pointer"), "/policies/grace");
	assert_string_equal(text_in(json_array_get(changes, 1), "old"), "PT1M");
	assert_string_equal(text_in(json_array_get(changes, 1), "new"), "PT2M");
	assert_int_equal(json_integer_value(json_object_get(item_at(f, 0), "revision")), 2);
	assert_int_equal(json_array_size(json_object_get(item_at(f, 0), "appears")), 0);
}

static void a_dry_run_says_the_same_and_changes_nothing(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	api_make_deployment(f, "a", id);
	unsigned calls = f->host.fake.calls[FAKE_APPLY];
	api_expect(f, "POST", "/v1/apply?dry_run=true",
			SET("{\"name\":\"a\",\"rule\":{\"cron\":\"0 */12 * * *\"}," TARGET
			    "}," ITEM("b", "")),
			200, "");
	assert_true(json_is_true(api_member(f, "dry_run")));
	assert_string_equal(text_in(item_at(f, 0), "outcome"), "changed");
	assert_string_equal(text_in(item_at(f, 0), "id"), id);
	assert_string_equal(text_in(item_at(f, 1), "outcome"), "created");
	assert_true(json_is_null(json_object_get(item_at(f, 1), "id")));
	json_t *appears = json_object_get(item_at(f, 0), "appears");
	json_t *vanishes = json_object_get(item_at(f, 0), "vanishes");
	assert_int_equal(json_array_size(appears), 5);
	assert_int_equal(json_array_size(vanishes), 5);
	assert_non_null(strstr(json_string_value(json_array_get(vanishes, 0)), "T09:00:00Z"));
	assert_int_equal(f->host.fake.calls[FAKE_APPLY], calls);
	assert_int_equal(count_deployments(f), 1);
	/* An item that is refused: the answer of the real one, too. */
	api_expect(f, "POST", "/v1/apply?dry_run=true", SET(ITEM("b", ",\"colour\":1")), 400,
			"INVALID_REQUEST");
	api_expect(f, "POST", "/v1/apply?dry_run=maybe", SET(ITEM("b", "")), 400,
			"INVALID_REQUEST");
}

static void one_that_is_refused_keeps_all_from_being_changed(void **state)
{
	struct api_fixture *f = *state;

	api_expect(f, "POST", "/v1/apply",
			SET(ITEM("a", "") ",{\"name\":\"b\",\"rule\":{\"cron\":\"0 99 * * *\"}," TARGET
					  "}," ITEM("c", ",\"id\":\"x\"")),
			400, "INVALID_SCHEDULE");
	assert_string_equal(api_text(f, "pointer"), "/deployments/1/rule/cron");
	check_text(api_field(f, "Content-Type"), "application/problem+json");
	check_contains(bf_str(api_text(f, "detail")), "item 2");
	assert_string_equal(text_in(item_at(f, 0), "outcome"), "created");
	json_t *error = json_object_get(item_at(f, 1), "error");
	assert_string_equal(text_in(error, "code"), "INVALID_SCHEDULE");
	assert_string_equal(text_in(error, "pointer"), "/rule/cron");
	assert_int_equal(json_integer_value(json_object_get(error, "position")), 2);
	error = json_object_get(item_at(f, 2), "error");
	assert_string_equal(text_in(error, "pointer"), "/id");
	assert_int_equal(json_integer_value(json_object_get(api_member(f, "counts"), "refused")),
			2);
	assert_int_equal(f->host.fake.calls[FAKE_APPLY], 0);
	assert_int_equal(count_deployments(f), 0);
}

static void every_refusal_of_a_set_names_its_place(void **state)
{
	static const struct {
		const char *body;
		int status;
		const char *code;
		const char *pointer;
	} rows[] = {
			{"", 400, "INVALID_REQUEST", ""},
			{"[]", 400, "INVALID_REQUEST", ""},
			{"{}", 400, "INVALID_REQUEST", "/deployments"},
			{"{\"deployments\":{}}", 400, "INVALID_REQUEST", "/deployments"},
			{"{\"deployments\":[]}", 400, "INVALID_REQUEST", "/deployments"},
			{"{\"deployments\":null}", 400, "INVALID_REQUEST", "/deployments"},
			{"{\"deployments\":[],\"set\":\"x\"}", 400, "INVALID_REQUEST", "/set"},
			{"{\"deployments\":[],\"prune\":true}", 400, "INVALID_REQUEST", "/prune"},
			{"{\"deployments\":[],\"x\":1}", 400, "INVALID_REQUEST", ""},
			{SET("7"), 400, "INVALID_REQUEST", "/deployments/0"},
			{SET("null"), 400, "INVALID_REQUEST", "/deployments/0"},
			{SET("[]"), 400, "INVALID_REQUEST", "/deployments/0"},
			{SET("{}"), 400, "INVALID_REQUEST", "/deployments/0/name"},
			{SET("{\"name\":7}"), 400, "INVALID_REQUEST", "/deployments/0/name"},
			{SET(ITEM("a", "") "," ITEM("a", "")), 400, "INVALID_REQUEST",
					"/deployments/1/name"},
			{SET(ITEM("a", ",\"owner\":\"x\"")), 400, "INVALID_REQUEST",
					"/deployments/0/owner"},
			{SET(ITEM("a", ",\"revision\":1")), 400, "INVALID_REQUEST",
					"/deployments/0/revision"},
			{SET(ITEM("a", ",\"disabled_reason\":\"x\"")), 400, "INVALID_REQUEST",
					"/deployments/0/disabled_reason"},
			{SET(ITEM("a", ",\"timezone\":\"Mars/Base\"")), 400, "INVALID_SCHEDULE",
					"/deployments/0/timezone"},
			{SET("{\"name\":\"a\",\"rule\":{\"cron\":\"0 9 * * *\"},\"target\":{\"kind\":"
			     "\"webhook\",\"url\":\"http://10.0.0.1/\"}}"),
					422, "TARGET_NOT_ALLOWED", "/deployments/0/target/url"},
	};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		api_expect(f, "POST", "/v1/apply", rows[i].body, rows[i].status, rows[i].code);
		if (strcmp(rows[i].pointer, "") != 0 &&
				strcmp(api_text(f, "pointer"), rows[i].pointer) != 0) {
			fail_msg("%s: pointer %s (%s)", rows[i].body, api_text(f, "pointer"),
					api_text(f, "detail"));
		}
	}
	api_expect(f, "POST", "/v1/apply?prune=true", SET(ITEM("a", "")), 400, "INVALID_REQUEST");
	check_contains(bf_str(api_text(f, "detail")), "this version does not offer");
	assert_int_equal(count_deployments(f), 0);
}

static void what_somebody_switched_off_stays_off_unless_the_item_says_so(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	(void)snprintf(path, sizeof(path), "/v1/deployments/%s/disable", id);
	api_expect(f, "POST", path, "{\"reason\":\"incident\"}", 200, "");
	expect_outcomes(f, SET(ITEM("a", "")), 200, (const char *const[]){"unchanged", NULL});
	expect_outcomes(f, SET(ITEM("a", ",\"prompt\":\"p\",\"enabled\":null")), 200,
			(const char *const[]){"changed", NULL});
	assert_int_equal(json_array_size(json_object_get(item_at(f, 0), "appears")), 0);
	(void)snprintf(path, sizeof(path), "/v1/deployments/%s", id);
	api_expect(f, "GET", path, NULL, 200, "");
	assert_true(json_is_false(api_member(f, "enabled")));
	assert_string_equal(api_text(f, "phase_reason"), "incident");
	expect_outcomes(f, SET(ITEM("a", ",\"prompt\":\"p\",\"enabled\":true")), 200,
			(const char *const[]){"changed", NULL});
	assert_int_equal(json_array_size(json_object_get(item_at(f, 0), "appears")), 5);
	api_expect(f, "GET", path, NULL, 200, "");
	assert_true(json_is_true(api_member(f, "enabled")));
}

/* The fake provider refuses what it is told to: the second item is not carried out. */
static void what_fails_while_it_is_carried_out_ends_it_there(void **state)
{
	struct api_fixture *f = *state;

	f->host.fake.fails[FAKE_APPLY] = BELFRY_UNAVAILABLE;
	api_expect(f, "POST", "/v1/apply", SET(ITEM("a", "") "," ITEM("b", "")), 503,
			"SCHEDULE_EXECUTION_UNAVAILABLE");
	check_text(api_field(f, "Retry-After"), "1");
	assert_string_equal(text_in(item_at(f, 0), "outcome"), "refused");
	assert_string_equal(text_in(item_at(f, 1), "outcome"), "refused");
	check_contains(bf_str(text_in(json_object_get(item_at(f, 1), "error"), "detail")),
			"not tried");
	f->host.fake.fails[FAKE_APPLY] = BELFRY_OK;
	assert_int_equal(count_deployments(f), 0);
	f->host.fake.fails[FAKE_APPLY] = BELFRY_CAPACITY;
	api_expect(f, "POST", "/v1/apply", SET(ITEM("a", "")), 409, "SCHEDULE_CAPACITY_EXCEEDED");
	f->host.fake.fails[FAKE_APPLY] = BELFRY_OK;
	expect_outcomes(f, SET(ITEM("a", "") "," ITEM("b", "")), 200,
			(const char *const[]){"created", "created", NULL});
}

static void changes_are_named_by_their_deepest_member_and_cut(void **state)
{
	struct api_fixture *f = *state;
	struct bf_buf body = {0};

	expect_outcomes(f,
			SET(ITEM("a",
					",\"input\":{\"x/y\":{\"~\":1},\"gone\":1,\"same\":[1]},"
					"\"labels\":{\"a\":\"1\"}")),
			200, (const char *const[]){"created", NULL});
	bf_buf_append_text(&body,
			"{\"deployments\":[{\"name\":\"a\",\"rule\":{\"every\":\"PT1H\"}," TARGET
			",\"input\":{\"x/y\":{\"~\":2},\"new\":null,\"same\":[1]},\"prompt\":\"");
	for (int i = 0; i < 2000; i++) {
		bf_buf_append_text(&body, "\xc3\xa9");
	}
	bf_buf_append_text(&body, "\"}]}");
	api_expect(f, "POST", "/v1/apply", body.ptr, 200, "");
	static const char *const pointers[] = {"/rule/cron", "/rule/every", "/prompt",
			"/input/x~1y/~0", "/input/gone", "/input/new", "/labels/a"};
	json_t *changes = json_object_get(item_at(f, 0), "changes");
	assert_int_equal(json_array_size(changes), BF_COUNT(pointers));
	for (size_t i = 0; i < BF_COUNT(pointers); i++) {
		assert_string_equal(text_in(json_array_get(changes, i), "pointer"), pointers[i]);
	}
	assert_int_equal(strlen(text_in(json_array_get(changes, 2), "new")), 1003);
	bf_buf_fini(&body);
}

static void a_set_has_a_thousand_items_at_most(void **state)
{
	struct api_fixture *f = *state;
	struct bf_buf body = {0};

	bf_buf_append_text(&body, "{\"deployments\":[");
	for (int i = 0; i < 1001; i++) {
		bf_buf_appendf(&body, "%s" ITEM("n%04d", ""), i > 0 ? "," : "", i);
	}
	bf_buf_append_text(&body, "]}");
	api_expect(f, "POST", "/v1/apply?dry_run=true", body.ptr, 400, "INVALID_REQUEST");
	assert_string_equal(api_text(f, "pointer"), "/deployments");
	bf_buf_clear(&body);
	bf_buf_append_text(&body, "{\"deployments\":[{\"name\":\"a\",\"prompt\":\"");
	while (body.len < (size_t)16 * 1024 * 1024) {
		bf_buf_append_text(&body, "0123456789012345678901234567890123456789012345678");
	}
	bf_buf_append_text(&body, "\"}]}");
	api_expect(f, "POST", "/v1/apply", body.ptr, 413, "PAYLOAD_TOO_LARGE");
	bf_buf_fini(&body);
}

/* --- preview --- */

static void a_preview_shows_due_times_in_their_zone(void **state)
{
	struct api_fixture *f = *state;

	api_expect(f, "POST", "/v1/preview",
			"{\"rule\":{\"cron\":\"0 9 * * 1-5\"},\"timezone\":\"Asia/Shanghai\",\"from\":"
			"\"2026-12-01T00:00:00Z\",\"n\":2}",
			200, "");
	json_t *due = api_member(f, "due");
	assert_int_equal(json_array_size(due), 2);
	assert_string_equal(text_in(json_array_get(due, 0), "at"), "2026-12-01T01:00:00Z");
	assert_string_equal(text_in(json_array_get(due, 0), "local"), "2026-12-01T09:00:00+08:00");
	assert_string_equal(api_text(f, "timezone_used"), "Asia/Shanghai");
	assert_int_equal(json_array_size(api_member(f, "warnings")), 0);
	assert_int_equal(json_object_size(f->json), 6);
	assert_string_equal(api_text(f, "sentence"),
			"At 09:00 on Monday to Friday, Shanghai time; next: today 09:00 (01:00 UTC)");
	assert_string_equal(api_text(f, "class"), "fixed-time");
	api_expect(f, "POST", "/v1/preview", "{\"rule\":{\"every\":\"PT1H\"}}", 200, "");
	assert_int_equal(json_array_size(api_member(f, "due")), 5);
	assert_string_equal(api_text(f, "timezone_used"), "UTC");
	assert_string_equal(api_text(f, "class"), "interval-like");
	api_expect(f, "POST", "/v1/preview", "{\"rule\":{\"every\":\"PT1H\"},\"n\":-1}", 200, "");
	assert_int_equal(json_array_size(api_member(f, "due")), 1);
	api_expect(f, "POST", "/v1/preview", "{\"rule\":{\"every\":\"PT1H\"},\"n\":1000}", 200, "");
	assert_int_equal(json_array_size(api_member(f, "due")), 200);
	assert_int_equal(count_deployments(f), 0);
}

static void a_preview_tells_of_shared_calendars_by_name(void **state)
{
	struct api_fixture *f = *state;

	api_expect(f, "PUT", "/v1/calendars/holidays-de", "{\"except\":[\"2026-12-25\"]}", 201, "");
	api_expect(f, "POST", "/v1/preview",
			"{\"rule\":{\"cron\":\"0 9 24-26 12 *\",\"except\":[{\"calendar\":\"holidays-de\"}]},"
			"\"from\":\"2026-12-24T12:00:00Z\",\"n\":1}",
			200, "");
	assert_string_equal(api_text(f, "sentence"),
			"At 09:00 from the 24th to the 26th of December, UTC, except on the days of the "
			"calendar \"holidays-de\"; next: Saturday 09:00");
}

static void a_preview_warns_of_what_surprises(void **state)
{
	static const struct {
		const char *body;
		const char *codes; /* of all warnings, in order */
	} rows[] = {
			{"{\"rule\":{\"cron\":\"0 9 * * *\"},\"timezone\":\"Europe/Berlin\",\"from\":"
			 "\"2026-03-28T00:00:00Z\"}",
					""},
			{"{\"rule\":{\"cron\":\"30 2 * * *\"},\"timezone\":\"Europe/Berlin\",\"from\":"
			 "\"2026-03-28T00:00:00Z\"}",
					"DST_GAP DST_FOLD"},
			{"{\"rule\":{\"cron\":\"30 2 * * *\"},\"timezone\":\"Europe/Berlin\",\"from\":"
			 "\"2026-03-28T00:00:00Z\",\"dst\":{\"gap\":\"skip\"}}",
					"DST_GAP DST_FOLD"},
			{"{\"rule\":{\"cron\":\"30 2 * * *\"},\"timezone\":\"Europe/Berlin\",\"from\":"
			 "\"2026-10-24T00:00:00Z\"}",
					"DST_FOLD DST_GAP"},
			{"{\"rule\":{\"cron\":\"30 2 * * *\"},\"timezone\":\"Europe/Berlin\",\"from\":"
			 "\"2026-10-24T00:00:00Z\",\"dst\":{\"fold\":\"both\"}}",
					"DST_FOLD DST_GAP"},
			{"{\"rule\":{\"cron\":\"0 0 31 * *\"}}", "SHORT_MONTHS"},
			{"{\"rule\":{\"cron\":\"0 0 0 29,30 * *\"}}", "SHORT_MONTHS"},
			{"{\"rule\":{\"cron\":\"0 0 28 * *\"}}", ""},
			{"{\"rule\":{\"cron\":\"0 0 31 12 *\"}}", ""},
			{"{\"rule\":{\"cron\":\"0 0 1 * 1\"}}", "EITHER_DAY"},
			{"{\"rule\":{\"cron\":\"0 0 29 2 *\"},\"from\":\"2028-03-01T00:00:00Z\"}",
					"RARE LEAP_DAY"},
			{"{\"rule\":{\"at\":\"2026-01-01T00:00:00Z\"},\"from\":"
			 "\"2027-01-01T00:00:00Z\"}",
					"NEVER"},
			{"{\"rule\":{\"at\":\"2026-03-29T02:30:00\"},\"timezone\":\"Europe/Berlin\","
			 "\"from\":\"2026-03-28T00:00:00Z\"}",
					"DST_GAP"},
			{"{\"rule\":{\"cron\":\"*/7 * * * *\"}}", "UNEVEN_STEP"},
			{"{\"rule\":{\"cron\":\"@daily\"}}", ""},
	};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		api_expect(f, "POST", "/v1/preview", rows[i].body, 200, "");
		json_t *warnings = api_member(f, "warnings");
		BF_CLEANUP(bf_buf_fini) struct bf_buf codes = {0};
		for (size_t k = 0; k < json_array_size(warnings); k++) {
			bf_buf_appendf(&codes, "%s%s", k > 0 ? " " : "",
					text_in(json_array_get(warnings, k), "code"));
		}
		if (!bf_str_equal(bf_buf_str(&codes), bf_str(rows[i].codes))) {
			fail_msg("%s: %.*s", rows[i].body, BF_STR_ARGS(bf_buf_str(&f->reply.body)));
		}
	}
}

static void a_preview_refuses_what_a_create_refuses(void **state)
{
	static const struct {
		const char *body;
		const char *code;
		const char *pointer;
		int position;
	} rows[] = {
			{"", "INVALID_REQUEST", "", -1},
			{"[]", "INVALID_REQUEST", "", -1},
			{"{}", "INVALID_REQUEST", "/rule", -1},
			{"{\"rule\":\"0 9 * * *\"}", "INVALID_REQUEST", "/rule", -1},
			{"{\"rule\":{\"cron\":\"0 99 * * *\"}}", "INVALID_SCHEDULE", "/rule/cron",
					2},
			{"{\"rule\":{\"cron\":\"0 0 30 2 *\"}}", "INVALID_SCHEDULE", "/rule/cron",
					-1},
			{"{\"rule\":{\"cron\":\"0 0 * * *\"},\"timezone\":\"Mars/Base\"}",
					"INVALID_SCHEDULE", "/timezone", -1},
			{"{\"rule\":{\"cron\":\"0 0 * * *\"},\"timezone\":7}", "INVALID_REQUEST",
					"/timezone", -1},
			{"{\"rule\":{\"cron\":\"0 0 * * *\"},\"from\":\"now\"}", "INVALID_REQUEST",
					"/from", -1},
			{"{\"rule\":{\"cron\":\"0 0 * * *\"},\"n\":\"5\"}", "INVALID_REQUEST", "/n",
					-1},
			{"{\"rule\":{\"cron\":\"0 0 * * *\"},\"dst\":{\"gap\":\"x\"}}",
					"INVALID_REQUEST", "/dst/gap", -1},
			{"{\"rule\":{\"cron\":\"0 0 * * *\"},\"sentence\":true}", "INVALID_REQUEST",
					"/sentence", -1},
	};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		api_expect(f, "POST", "/v1/preview", rows[i].body, 400, rows[i].code);
		assert_string_equal(api_text(f, "pointer"), rows[i].pointer);
		json_t *position = json_object_get(f->json, "position");
		if (rows[i].position >= 0) {
			assert_int_equal(json_integer_value(position), rows[i].position);
		}
	}
	api_expect(f, "POST", "/v1/preview?x=1", "{}", 400, "INVALID_REQUEST");
}

/* --- settings --- */

static const json_t *setting(const struct api_fixture *f, const char *name)
{
	return api_member(f, name);
}

static void settings_are_changed_at_once_or_from_the_next_start_on(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	api_expect(f, "PATCH", "/v1/settings", "{\"grace\":\"2m\",\"max_concurrent\":7}", 200, "");
	assert_string_equal(text_in(setting(f, "grace"), "value"), "PT2M");
	assert_string_equal(text_in(setting(f, "grace"), "source"), "api");
	assert_string_equal(text_in(setting(f, "grace"), "default"), "PT1M");
	const json_t *concurrent = setting(f, "max_concurrent");
	assert_int_equal(json_integer_value(json_object_get(concurrent, "value")), 1000);
	assert_int_equal(json_integer_value(json_object_get(concurrent, "next_value")), 7);
	assert_true(json_is_true(json_object_get(concurrent, "needs_restart")));
	api_make_deployment(f, "a", id);
	assert_string_equal(text_in(api_member(f, "policies"), "grace"), "PT2M");
	api_expect(f, "PATCH", "/v1/settings", "{\"grace\":null}", 200, "");
	assert_string_equal(text_in(setting(f, "grace"), "value"), "PT1M");
	assert_string_equal(text_in(setting(f, "grace"), "source"), "default");
	assert_int_equal(json_integer_value(json_object_get(setting(f, "max_concurrent"),
					 "next_value")),
			7);
}

static void a_refused_setting_changes_none_of_them(void **state)
{
	static const struct {
		const char *body;
		const char *pointer;
		const char *words;
	} rows[] = {
			{"", "", "body"},
			{"[]", "", "object"},
			{"{\"grace\":\"2m\",\"colour\":1}", "/colour", "no such setting"},
			{"{\"grace\":\"soon\"}", "/grace", "duration"},
			{"{\"grace\":60}", "/grace", "duration"},
			{"{\"grace\":true}", "/grace", "duration"},
			{"{\"grace\":{}}", "/grace", "duration"},
			{"{\"max_concurrent\":0}", "/max_concurrent", "from 1"},
			{"{\"max_concurrent\":\"5\"}", "/max_concurrent", "whole number"},
			{"{\"max_concurrent\":1.5}", "/max_concurrent", "whole number"},
			{"{\"max_active_schedules\":false}", "/max_active_schedules", "null"},
			{"{\"enabled\":false}", "/enabled", "does not offer"},
			{"{\"audit_age\":\"P1D\"}", "/audit_age", "does not offer"},
			{"{\"grace\":\"2m\",\"beat\":\"PT7S\"}", "", "half of lease"},
			{"{\"answer_limit\":60000000}", "", "output_limit"},
	};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		api_expect(f, "PATCH", "/v1/settings", rows[i].body, 400, "INVALID_REQUEST");
		assert_string_equal(api_text(f, "pointer"), rows[i].pointer);
		check_contains(bf_str(api_text(f, "detail")), rows[i].words);
	}
	api_expect(f, "GET", "/v1/settings", NULL, 200, "");
	assert_string_equal(text_in(setting(f, "grace"), "value"), "PT1M");
	assert_string_equal(text_in(setting(f, "beat"), "next_value"), "PT2S");
}

/* For the thread sanitizer: whoever shows settings or makes a deployment sees a whole value. */
static void *keep_changing(void *data)
{
	struct bf_host *host = data;
	json_t *changes = json_pack("{s:s, s:i}", "grace", "PT2M", "keep_runs", 5);

	for (int i = 0; i < 200; i++) {
		assert_int_equal(bf_host_change_settings(host, changes, NULL), BELFRY_OK);
	}
	json_decref(changes);
	return NULL;
}

static void settings_are_changed_while_they_are_used(void **state)
{
	struct api_fixture *f = *state;
	pthread_t changer;
	char name[16];
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(pthread_create(&changer, NULL, keep_changing, f->host.host), 0);
	for (int i = 0; i < 20; i++) {
		(void)snprintf(name, sizeof(name), "n%d", i);
		api_make_deployment(f, name, id);
		api_expect(f, "GET", "/v1/settings", NULL, 200, "");
	}
	assert_int_equal(pthread_join(changer, NULL), 0);
	api_expect(f, "GET", "/v1/settings", NULL, 200, "");
	assert_string_equal(text_in(setting(f, "grace"), "value"), "PT2M");
}

/* --- memory --- */

static enum belfry_status preview(struct bf_host *host, const json_t *body, json_t **ret_answer,
		struct belfry_error *err)
{
	return bf_preview(host, body, ret_answer, err);
}

static enum belfry_status apply(struct bf_host *host, const json_t *body, json_t **ret_answer,
		struct belfry_error *err)
{
	return bf_apply(host, body, true, ret_answer, err);
}

static enum belfry_status change(struct bf_host *host, const json_t *body, json_t **ret_answer,
		struct belfry_error *err)
{
	enum belfry_status status = bf_host_change_settings(host, body, err);

	return status == BELFRY_OK ? bf_host_write_settings(host, ret_answer, err) : status;
}

/* Each allocation fails once: the answer is whole, or there is none and it says why. */
static void every_allocation_may_fail(void **state)
{
	static const struct {
		enum belfry_status (*call)(struct bf_host *host, const json_t *body,
				json_t **ret_answer, struct belfry_error *err);
		const char *body;
	} rows[] = {
			{preview, "{\"rule\":{\"cron\":\"30 2 31 * *\"},\"timezone\":\"Europe/Berlin\"}"},
			{apply,
					SET(ITEM("a", ",\"prompt\":\"x\",\"labels\":{\"b\":\"c\"}") "," ITEM(
							"n", ""))},
			{apply, SET(ITEM("a", "") "," ITEM("n", ",\"colour\":1"))},
			{change, "{\"grace\":\"PT3M\",\"max_concurrent\":7}"},
	};
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	api_make_deployment(f, "a", id);
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		json_t *body = NULL;
		bool has_fired = true;
		assert_int_equal(bf_json_parse(bf_str(rows[i].body), SIZE_MAX, &body, NULL),
				BELFRY_OK);
		for (int64_t at = 1; has_fired; at++) {
			json_t *answer = NULL;
			struct belfry_error err = {0};
			bf_fault_arm(bf_alloc_fault(), at, 1);
			enum belfry_status status = rows[i].call(f->host.host, body, &answer, &err);
			has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
			bf_fault_arm(bf_alloc_fault(), 0, 0);
			assert_true(status != BELFRY_OK || answer != NULL);
			assert_true(status == BELFRY_OK || err.message[0] != '\0');
			json_decref(answer);
		}
		json_decref(body);
	}
}

int run_api_apply_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(a_set_is_created_then_unchanged_then_changed),
			CASE(a_dry_run_says_the_same_and_changes_nothing),
			CASE(one_that_is_refused_keeps_all_from_being_changed),
			CASE(every_refusal_of_a_set_names_its_place),
			CASE(what_somebody_switched_off_stays_off_unless_the_item_says_so),
			CASE(what_fails_while_it_is_carried_out_ends_it_there),
			CASE(changes_are_named_by_their_deepest_member_and_cut),
			CASE(a_set_has_a_thousand_items_at_most),
			CASE(a_preview_shows_due_times_in_their_zone),
			CASE(a_preview_tells_of_shared_calendars_by_name),
			CASE(a_preview_warns_of_what_surprises),
			CASE(a_preview_refuses_what_a_create_refuses),
			CASE(settings_are_changed_at_once_or_from_the_next_start_on),
			CASE(a_refused_setting_changes_none_of_them),
			CASE(settings_are_changed_while_they_are_used),
			CASE(every_allocation_may_fail),
#undef CASE
	};

	return cmocka_run_group_tests_name("api apply", tests, NULL, NULL);
}
