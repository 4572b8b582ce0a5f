/* Shared calendars in the host: what is kept, what a rule that names one becomes, and that a change reaches
 * every deployment that uses it, wherever it is interrupted. */
#include "host_cases.h"

#include "base/alloc.h"
#include "base/fault.h"
#include "base/json.h"
#include "host/calendars.h"
#include "host/calendars_priv.h"
#include "host/deployments.h"
#include "host/host_priv.h"
#include "host/preview.h"

static int setup(void **state)
{
	struct host_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	host_fixture_begin(fixture);
	assert_int_equal(bf_events_new(&fixture->env, &fixture->events), BELFRY_OK);
	host_fixture_open(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	host_fixture_end(*state);
	free(*state);
	return 0;
}

static void restart(struct host_fixture *f)
{
	host_fixture_close(f);
	host_fixture_open(f);
}

static json_t *parse(const char *text)
{
	json_t *value = NULL;

	assert_int_equal(bf_json_parse(bf_str(text), SIZE_MAX, &value, NULL), BELFRY_OK);
	return value;
}

/* ---- calendars ---------------------------------------------------------------------------------- */

static const struct bf_calendar_match whatever;

static enum belfry_status put_match(struct host_fixture *f, const char *name,
		const struct bf_calendar_match *match, const char *body, json_t **ret_json,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *json = parse(body);
	struct bf_calendar_view view = {0};
	enum belfry_status status = bf_calendars_put(f->host, bf_str(name), match, json, &view,
			err);

	if (ret_json != NULL) {
		*ret_json = json_incref(view.json);
	}
	json_decref(view.json);
	return status;
}

/* *ret_planned: how many deployments were planned anew. */
static enum belfry_status put(struct host_fixture *f, const char *name, const char *except,
		int64_t *ret_planned, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf body = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *answer = NULL;

	bf_buf_appendf(&body, "{\"except\":%s}", except);
	enum belfry_status status = put_match(f, name, &whatever, body.ptr, &answer, err);
	if (ret_planned != NULL) {
		*ret_planned = json_integer_value(json_object_get(answer, "planned"));
	}
	return status;
}

static json_t *show(struct host_fixture *f, const char *name)
{
	struct bf_calendar_view view;

	assert_int_equal(bf_calendars_show(f->host, bf_str(name), &view, NULL), BELFRY_OK);
	return view.json;
}

static int64_t revision_of(struct host_fixture *f, const char *name)
{
	int64_t revision = 0;
	enum belfry_status status = bf_calendars_get_revision(f->host, bf_str(name), &revision,
			NULL);

	return status == BELFRY_NOT_FOUND ? 0 : revision;
}

/* ---- deployments -------------------------------------------------------------------------------- */

/* `rule` without its braces: "\"cron\":\"0 9 * * *\"". */
static enum belfry_status create(struct host_fixture *f, const char *name, const char *rule,
		char *ret_id, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct bf_deployment_view view = {0};

	bf_buf_appendf(&text,
			"{\"name\":\"%s\",\"rule\":{%s},\"target\":{\"kind\":\"webhook\","
			"\"url\":\"https://hooks.example.org/x\"}}",
			name, rule);
	BF_CLEANUP(bf_cleanup_json) json_t *body = parse(text.ptr);
	enum belfry_status status = bf_deployments_create(f->host, body, &view, err);
	if (status == BELFRY_OK && ret_id != NULL) {
		memcpy(ret_id, view.id, sizeof(view.id));
	}
	json_decref(view.json);
	return status;
}

#define DAILY(calendar) "\"cron\":\"0 9 * * *\",\"except\":[{\"calendar\":\"" calendar "\"}]"

static enum belfry_status edit(struct host_fixture *f, const char *id, const char *patch,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *body = parse(patch);
	struct bf_deployment_view view = {0};
	enum belfry_status status = bf_deployments_edit(f->host, bf_str(id), 0, body, &view, err);

	json_decref(view.json);
	return status;
}

static enum belfry_status enable(struct host_fixture *f, const char *id, bool is_enabled,
		struct belfry_error *err)
{
	struct bf_deployment_view view = {0};
	enum belfry_status status = bf_deployments_enable(f->host, bf_str(id), 0, is_enabled,
			BF_STR("why not"), &view, err);

	json_decref(view.json);
	return status;
}

static void load(struct host_fixture *f, const char *id, struct bf_deployment *ret_deployment)
{
	assert_int_equal(bf_record_load(f->host, bf_str(id), ret_deployment, NULL), BELFRY_OK);
}

static int64_t record_revision(struct host_fixture *f, const char *id)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};

	load(f, id, &d);
	return d.revision;
}

static void expect_rule(struct host_fixture *f, const char *id, const char *text)
{
	const struct fake_schedule *schedule = fake_find_schedule(&f->fake, id);

	assert_non_null(schedule);
	assert_string_equal(schedule->rule, text);
}

/* A record and the provider agree on the calendars as they are now. */
static void expect_planned(struct host_fixture *f, const char *id)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	const struct fake_schedule *schedule = fake_find_schedule(&f->fake, id);

	load(f, id, &d);
	assert_non_null(schedule);
	assert_int_equal(schedule->revision, d.revision);
	assert_string_equal(schedule->rule, bf_deployment_rule(&d).ptr);
	for (size_t i = 0; i < json_array_size(d.expansion.calendars); i++) {
		const json_t *used = json_array_get(d.expansion.calendars, i);
		assert_int_equal(json_integer_value(json_object_get(used, "revision")),
				revision_of(f, json_string_value(json_object_get(used, "name"))));
	}
	struct bf_expansion kept = d.expansion;
	d.expansion = (struct bf_expansion){0};
	assert_int_equal(bf_calendars_expand(f->host, NULL, &d, NULL), BELFRY_OK);
	assert_string_equal(d.expansion.text.ptr, kept.text.ptr);
	bf_expansion_fini(&kept);
}

static size_t count_documents(struct host_fixture *f, const char *kind)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document_query query = {.kind = bf_str(kind), .limit = 200};

	assert_int_equal(bf_store_document_list(f->store, &query, &arena, NULL), BELFRY_OK);
	return query.count;
}

/* ---- what is kept ------------------------------------------------------------------------------- */

static void a_calendar_is_kept_with_its_revision_and_equal_content_changes_nothing(void **state)
{
	struct host_fixture *f = *state;
	json_t *answer = NULL;

	assert_int_equal(put_match(f, "a", &whatever,
					 "{\"description\":\"d\",\"except\":[\"2026-12-25\"]}",
					 &answer, NULL),
			BELFRY_OK);
	assert_int_equal(json_integer_value(json_object_get(answer, "revision")), 1);
	json_decref(answer);
	restart(f);
	assert_int_equal(
			put_match(f, "a", &whatever,
					"{\"name\":\"a\",\"description\":\"d\",\"except\":[\"2026-12-25\"]}",
					NULL, NULL),
			BELFRY_OK);
	assert_int_equal(revision_of(f, "a"), 1);
	BF_CLEANUP(bf_cleanup_json) json_t *shown = show(f, "a");
	assert_string_equal(json_string_value(json_object_get(shown, "description")), "d");
	assert_int_equal(json_array_size(json_object_get(shown, "except")), 1);
	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(revision_of(f, "a"), 2); /* without the description */
}

static void a_change_finds_the_calendar_that_it_named_or_none(void **state)
{
	struct host_fixture *f = *state;
	const struct bf_calendar_match made = {.is_forbidden = true};
	const struct bf_calendar_match there = {.is_needed = true};
	const struct bf_calendar_match second = {.is_needed = true, .revision = 2};
	const char *body = "{\"except\":[]}";
	const char *other = "{\"except\":[\"2026-12-25\"]}";

	assert_int_equal(put_match(f, "a", &there, body, NULL, NULL), BELFRY_PRECONDITION);
	assert_int_equal(put_match(f, "a", &second, body, NULL, NULL), BELFRY_PRECONDITION);
	assert_int_equal(put_match(f, "a", &made, body, NULL, NULL), BELFRY_OK);
	assert_int_equal(put_match(f, "a", &made, other, NULL, NULL), BELFRY_PRECONDITION);
	assert_int_equal(put_match(f, "a", &second, other, NULL, NULL), BELFRY_PRECONDITION);
	assert_int_equal(put_match(f, "a", &there, other, NULL, NULL), BELFRY_OK);
	assert_int_equal(put_match(f, "a", &second, body, NULL, NULL), BELFRY_OK);
	assert_int_equal(revision_of(f, "a"), 3);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 2, NULL), BELFRY_PRECONDITION);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 3, NULL), BELFRY_OK);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 0, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
}

static void a_calendar_that_is_made_again_has_no_revision_of_the_one_before(void **state)
{
	struct host_fixture *f = *state;
	const struct bf_calendar_match old = {.is_needed = true, .revision = 1};
	const struct bf_calendar_match made = {.is_forbidden = true};
	const struct bf_calendar_query all = {.limit = 5};
	json_t *list = NULL;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 1, NULL), BELFRY_OK);
	restart(f);
	assert_int_equal(revision_of(f, "a"), 0);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 0, NULL), BELFRY_NOT_FOUND);
	assert_int_equal(create(f, "x", DAILY("a"), NULL, NULL), BELFRY_INVALID_SCHEDULE);
	assert_int_equal(bf_calendars_list(f->host, &all, &list, NULL), BELFRY_OK);
	assert_int_equal(json_array_size(json_object_get(list, "items")), 0);
	json_decref(list);
	assert_int_equal(put_match(f, "a", &old, "{\"except\":[]}", NULL, NULL),
			BELFRY_PRECONDITION);
	assert_int_equal(put_match(f, "a", &made, "{\"except\":[]}", NULL, NULL), BELFRY_OK);
	assert_in_range(revision_of(f, "a"), 2, INT64_MAX);
	assert_int_equal(put_match(f, "a", &old, "{\"except\":[\"2026-12-25\"]}", NULL, NULL),
			BELFRY_PRECONDITION);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 1, NULL), BELFRY_PRECONDITION);
	assert_int_equal(create(f, "x", DAILY("a"), NULL, NULL), BELFRY_OK);
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(bf_calendars_list(f->host, &all, &list, NULL), BELFRY_OK);
	assert_int_equal(json_array_size(json_object_get(list, "items")), 1);
	json_decref(list);
}

static void calendars_are_listed_by_name_page_by_page(void **state)
{
	static const char *const names[] = {"b", "a", "c"};
	struct host_fixture *f = *state;
	struct bf_calendar_query query = {.limit = 2};
	BF_CLEANUP(bf_cleanup_json) json_t *first = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *second = NULL;

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		assert_int_equal(put(f, names[i], "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	}
	assert_int_equal(bf_calendars_list(f->host, &query, &first, NULL), BELFRY_OK);
	const json_t *items = json_object_get(first, "items");
	assert_int_equal(json_array_size(items), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(items, 0), "name")),
			"a");
	assert_int_equal(json_integer_value(
					 json_object_get(json_array_get(items, 0), "except_count")),
			1);
	query.cursor = bf_json_str(json_object_get(first, "next_cursor"));
	assert_int_equal(bf_calendars_list(f->host, &query, &second, NULL), BELFRY_OK);
	assert_int_equal(json_array_size(json_object_get(second, "items")), 1);
	assert_true(json_is_null(json_object_get(second, "next_cursor")));
	query = (struct bf_calendar_query){.limit = 5, .cursor = BF_STR("no cursor")};
	json_t *none = NULL;
	assert_int_equal(bf_calendars_list(f->host, &query, &none, NULL), BELFRY_INVALID);
}

static void expect_refused(struct host_fixture *f, const char *name, const char *body,
		enum belfry_status wanted, const char *pointer, const char *words)
{
	struct belfry_error err = {0};

	assert_int_equal(put_match(f, name, &whatever, body, NULL, &err), wanted);
	assert_string_equal(err.pointer, pointer);
	if (strstr(err.message, words) == NULL) {
		fail_msg("\"%s\" is not in \"%s\"", words, err.message);
	}
	assert_int_equal(count_documents(f, "calendar"), 0);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
}

static void what_is_no_calendar_is_refused_with_its_place(void **state)
{
	struct host_fixture *f = *state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf many = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf large = {0};

	expect_refused(f, "a b", "{\"except\":[]}", BELFRY_INVALID, "", "letters, digits");
	expect_refused(f, "a", "[]", BELFRY_INVALID, "", "object");
	expect_refused(f, "a", "{}", BELFRY_INVALID, "/except", "except");
	expect_refused(f, "a", "{\"except\":[],\"colour\":1}", BELFRY_INVALID, "/colour", "colour");
	expect_refused(f, "a", "{\"except\":[],\"revision\":1}", BELFRY_INVALID, "/revision",
			"read-only");
	expect_refused(f, "a", "{\"except\":[],\"name\":\"b\"}", BELFRY_INVALID, "/name",
			"leave it out");
	expect_refused(f, "a", "{\"except\":[\"2026-12-25\",\"2026-13-01\"]}",
			BELFRY_INVALID_SCHEDULE, "/except/1", "item 1");
	expect_refused(f, "a", "{\"except\":[{\"cron\":\"* 24 * * *\"}]}", BELFRY_INVALID_SCHEDULE,
			"/except/0/cron", "24 is past 23");
	expect_refused(f, "a", "{\"except\":[\"2026-12-25\",{\"calendar\":\"b\"}]}",
			BELFRY_INVALID_SCHEDULE, "/except/1", "another calendar");
	expect_refused(f, "a", "{\"except\":[{\"cron\":\"* * * * *\"}]}", BELFRY_INVALID_SCHEDULE,
			"/except", "leave nothing");
	bf_buf_append_text(&many, "{\"except\":[0");
	for (int i = 0; i < BF_CALENDAR_ITEMS; i++) {
		bf_buf_append_text(&many, ",0");
	}
	bf_buf_append_text(&many, "]}");
	expect_refused(f, "a", many.ptr, BELFRY_INVALID, "/except", "1000");
	bf_buf_append_text(&large, "{\"except\":[\"");
	for (int i = 0; i < 70000; i++) {
		bf_buf_append_byte(&large, '1');
	}
	bf_buf_append_text(&large, "\"]}");
	expect_refused(f, "a", large.ptr, BELFRY_TOO_LARGE, "/except", "two calendars");
}

static void the_largest_calendar_is_taken_and_used(void **state)
{
	struct host_fixture *f = *state;
	BF_CLEANUP(bf_buf_fini) struct bf_buf except = {0};
	char id[BELFRY_ID_TEXT_BYTES];

	for (int i = 0; i < BF_CALENDAR_ITEMS; i++) {
		bf_buf_appendf(&except, "%s\"%04d-%02d-%02dT09:00:00\"", i > 0 ? "," : "[",
				2030 + i / 336, 1 + i / 28 % 12, 1 + i % 28);
	}
	bf_buf_append_byte(&except, ']');
	assert_int_equal(put(f, "a", except.ptr, NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), id, NULL), BELFRY_OK);
	expect_planned(f, id);
}

/* ---- rules that name one ------------------------------------------------------------------------ */

static void a_rule_that_names_a_calendar_is_handed_over_with_its_content(void **state)
{
	struct host_fixture *f = *state;
	struct bf_deployment_view view;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), id, NULL), BELFRY_OK);
	expect_rule(f, id,
			"{\"cron\":\"0 9 * * *\",\"except\":[{\"calendar\":\"a\",\"except\":"
			"[\"2026-12-25\"]}]}");
	assert_int_equal(bf_deployments_show(f->host, bf_str(id), &view, NULL), BELFRY_OK);
	BF_CLEANUP(bf_cleanup_json) json_t *wanted = parse("{" DAILY("a") "}");
	assert_true(json_equal(json_object_get(view.json, "rule"), wanted));
	assert_null(json_object_get(view.json, "calendars"));
	json_decref(view.json);
	restart(f);
	expect_planned(f, id);
	/* Any other edit leaves the rule as it is; one of the rule alone may let the calendar go. */
	assert_int_equal(edit(f, id, "{\"prompt\":\"p\"}", NULL), BELFRY_OK);
	expect_planned(f, id);
	assert_int_equal(edit(f, id, "{\"calendars\":[]}", NULL), BELFRY_INVALID);
	assert_int_equal(edit(f, id, "{\"rule\":{\"except\":null}}", NULL), BELFRY_OK);
	expect_rule(f, id, "0 9 * * *");
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(record_revision(f, id), 3);
}

static void a_rule_that_names_what_is_not_there_is_refused_with_its_place(void **state)
{
	struct host_fixture *f = *state;
	struct belfry_error err = {0};
	char id[BELFRY_ID_TEXT_BYTES];
	json_t *answer = NULL;
	BF_CLEANUP(bf_cleanup_json)
	json_t *preview = parse(
			"{\"rule\":{" DAILY("a") "},\"from\":\"2026-12-24T12:00:00Z\",\"n\":1}");

	assert_int_equal(create(f, "x", DAILY("a"), NULL, &err), BELFRY_INVALID_SCHEDULE);
	assert_string_equal(err.pointer, "/rule/except/0/calendar");
	assert_int_equal(bf_preview(f->host, preview, &answer, NULL), BELFRY_INVALID_SCHEDULE);
	assert_int_equal(create(f, "x", "\"cron\":\"0 9 * * *\"", id, NULL), BELFRY_OK);
	assert_int_equal(edit(f, id, "{\"rule\":{" DAILY("a") "}}", &err), BELFRY_INVALID_SCHEDULE);
	assert_int_equal(record_revision(f, id), 1);
	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(edit(f, id, "{\"rule\":{" DAILY("a") "}}", &err), BELFRY_OK);
	assert_int_equal(bf_preview(f->host, preview, &answer, NULL), BELFRY_OK);
	assert_string_equal(
			json_string_value(json_object_get(
					json_array_get(json_object_get(answer, "due"), 0), "at")),
			"2026-12-26T09:00:00Z");
	json_decref(answer);
}

static void a_calendar_in_use_says_by_whom_and_is_not_removed(void **state)
{
	struct host_fixture *f = *state;
	struct belfry_error err = {0};
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "morning", DAILY("a"), id, NULL), BELFRY_OK);
	BF_CLEANUP(bf_cleanup_json) json_t *shown = show(f, "a");
	const json_t *users = json_object_get(shown, "used_by");
	assert_int_equal(json_integer_value(json_object_get(users, "count")), 1);
	assert_true(json_is_false(json_object_get(users, "at_least")));
	assert_string_equal(
			json_string_value(json_array_get(json_object_get(users, "deployments"), 0)),
			"morning");
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 0, &err), BELFRY_CONFLICT);
	assert_non_null(strstr(err.message, "\"morning\""));
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_OK);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 0, NULL), BELFRY_OK);
}

/* ---- changes ------------------------------------------------------------------------------------ */

static void a_change_is_planned_like_an_edit_for_each_user_and_nobody_else(void **state)
{
	struct host_fixture *f = *state;
	char users[3][BELFRY_ID_TEXT_BYTES];
	char other[BELFRY_ID_TEXT_BYTES];
	int64_t planned = 0;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(put(f, "b", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), users[0], NULL), BELFRY_OK);
	assert_int_equal(create(f, "y", DAILY("a") ",\"not_after\":\"2030-01-01\"", NULL, NULL),
			BELFRY_INVALID_SCHEDULE);
	assert_int_equal(create(f, "y",
					 "\"any\":[{" DAILY("b") "},{\"every\":\"PT1H\",\"except\":"
								 "[{\"calendar\":\"a\"}]}]",
					 users[1], NULL),
			BELFRY_OK);
	assert_int_equal(create(f, "z", DAILY("a"), users[2], NULL), BELFRY_OK);
	assert_int_equal(enable(f, users[2], false, NULL), BELFRY_OK);
	assert_int_equal(create(f, "other", DAILY("b"), other, NULL), BELFRY_OK);
	unsigned calls = f->fake.calls[FAKE_APPLY];
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", &planned, NULL), BELFRY_OK);
	assert_int_equal(planned, 3);
	assert_int_equal(f->fake.calls[FAKE_APPLY] - calls, 3);
	for (size_t i = 0; i < BF_COUNT(users); i++) {
		expect_planned(f, users[i]);
		assert_non_null(strstr(fake_find_schedule(&f->fake, users[i])->rule, "2026-12-26"));
	}
	assert_int_equal(record_revision(f, users[0]), 2);
	assert_int_equal(record_revision(f, users[2]), 3);
	assert_int_equal(fake_find_schedule(&f->fake, users[2])->flags & BELFRY_SCHEDULE_F_ENABLED,
			0);
	assert_int_equal(record_revision(f, other), 1);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", &planned, NULL), BELFRY_OK);
	assert_int_equal(planned, 0);
	assert_int_equal(record_revision(f, users[0]), 2);
}

/* Two names may have the same bit: the user of the one is none of the other. */
static void users_of_another_calendar_with_the_same_bit_are_left_alone(void **state)
{
	struct host_fixture *f = *state;
	BF_CLEANUP(bf_cleanup_json) json_t *a = parse("[{\"name\":\"a\"}]");
	char other[16];
	char rule[100];
	char id[BELFRY_ID_TEXT_BYTES];
	int64_t planned = -1;

	for (int i = 0;; i++) {
		(void)snprintf(other, sizeof(other), "c%d", i);
		BF_CLEANUP(bf_cleanup_json) json_t *used = json_pack("[{s:s}]", "name", other);
		if (bf_calendar_flags(used) == bf_calendar_flags(a)) {
			break;
		}
	}
	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(put(f, other, "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	(void)snprintf(rule, sizeof(rule),
			"\"cron\":\"0 9 * * *\",\"except\":[{\"calendar\":\"%s\"}]", other);
	assert_int_equal(create(f, "x", rule, id, NULL), BELFRY_OK);
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", &planned, NULL), BELFRY_OK);
	assert_int_equal(planned, 0);
	assert_int_equal(record_revision(f, id), 1);
	BF_CLEANUP(bf_cleanup_json) json_t *shown = show(f, "a");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(shown, "used_by"),
					 "count")),
			0);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 0, NULL), BELFRY_OK);
	assert_int_equal(bf_calendars_remove(f->host, bf_str(other), 0, NULL), BELFRY_CONFLICT);
}

/* Its bit is stored: another value would lose all users. */
static void the_bit_of_a_name_never_changes(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *used = parse("[{\"name\":\"holidays-de\"}]");

	(void)state;
	assert_int_equal(bf_calendar_flags(NULL), 0);
	assert_int_equal(bf_calendar_flags(used), UINT64_C(1) << 39);
}

static void a_change_that_leaves_a_deployment_nothing_is_refused_and_names_it(void **state)
{
	struct host_fixture *f = *state;
	struct belfry_error err = {0};
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "late", DAILY("a"), id, NULL), BELFRY_OK);
	assert_int_equal(
			edit(f, id,
					"{\"rule\":{\"cron\":null,\"at\":\"2030-01-01T09:00:00\",\"except\":[{"
					"\"calendar\":\"a\"}]}}",
					NULL),
			BELFRY_OK);
	assert_int_equal(put(f, "a", "[\"2030-01-01\"]", NULL, &err), BELFRY_CONFLICT);
	assert_non_null(strstr(err.message, "\"late\""));
	assert_string_equal(err.pointer, "/except");
	assert_int_equal(revision_of(f, "a"), 1);
	assert_int_equal(record_revision(f, id), 2);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
	assert_int_equal(put(f, "a", "[\"2030-01-02\"]", NULL, &err), BELFRY_OK);
	expect_planned(f, id);
}

/* As a process writes it that has not seen the deployment. */
static void write_calendar(struct host_fixture *f, const char *name, const char *except)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};
	struct belfry_document mark = {.kind = BF_STR("calendar-change"),
			.id = bf_str(name),
			.bytes = BF_STR("{}")};

	bf_buf_appendf(&bytes, "{\"description\":null,\"except\":%s}", except);
	assert_int_equal(bf_store_document_put(f->store, &mark, 0, NULL), BELFRY_OK);
	struct belfry_document document = {.kind = BF_STR("calendar"),
			.id = bf_str(name),
			.owner = BF_STR("default"),
			.name = bf_str(name),
			.bytes = bf_buf_str(&bytes)};
	assert_int_equal(bf_store_document_put(f->store, &document, revision_of(f, name), NULL),
			BELFRY_OK);
}

static void one_that_came_meanwhile_and_has_nothing_left_is_disabled_with_the_reason(void **state)
{
	struct host_fixture *f = *state;
	struct belfry_error err = {0};
	struct bf_deployment_view view;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x",
					 "\"at\":\"2030-01-01T09:00:00\",\"except\":[{\"calendar\":"
					 "\"a\"}]",
					 id, NULL),
			BELFRY_OK);
	write_calendar(f, "a", "[\"2030-01-01\"]");
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_int_equal(fake_find_schedule(&f->fake, id)->flags & BELFRY_SCHEDULE_F_ENABLED, 0);
	assert_int_equal(bf_deployments_show(f->host, bf_str(id), &view, NULL), BELFRY_OK);
	assert_non_null(strstr(json_string_value(json_object_get(view.json, "phase_reason")),
			"a shared calendar was changed"));
	json_decref(view.json);
	assert_true(host_fixture_has_logged(f, "event=deployment_disabled"));
	assert_int_equal(count_documents(f, "calendar-change"), 0);
	/* It is not enabled by what the calendar was. */
	assert_int_equal(enable(f, id, true, &err), BELFRY_INVALID_SCHEDULE);
	assert_int_equal(put(f, "a", "[\"2030-01-02\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(enable(f, id, true, NULL), BELFRY_OK);
	expect_planned(f, id);
}

/* Its zone is gone here: that passes, and it would not fire by itself again if it were disabled. */
static void one_that_could_not_be_read_before_gets_the_content_and_stays_enabled(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment changed = {0};
	int64_t planned = 0;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), id, NULL), BELFRY_OK);
	load(f, id, &d);
	d.timezone = BF_STR("Gone/Away");
	assert_int_equal(bf_record_save(f->host, &d, NULL), BELFRY_OK);
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", &planned, NULL), BELFRY_OK);
	assert_int_equal(planned, 1);
	load(f, id, &changed);
	assert_true(changed.is_enabled);
	assert_int_equal(changed.reason.len, 0);
	assert_non_null(strstr(bf_deployment_rule(&changed).ptr, "2026-12-26"));
	assert_false(host_fixture_has_logged(f, "event=deployment_disabled"));
	assert_int_equal(count_documents(f, "calendar-change"), 0);
}

static bool is_pending(struct host_fixture *f, const char *name, const char *body)
{
	BF_CLEANUP(bf_cleanup_json) json_t *answer = NULL;

	assert_int_equal(put_match(f, name, &whatever, body, &answer, NULL), BELFRY_OK);
	return json_is_true(json_object_get(answer, "pending"));
}

static void equal_content_says_whether_users_of_the_last_change_are_left(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), id, NULL), BELFRY_OK);
	write_calendar(f, "a", "[\"2026-12-26\"]");
	assert_true(is_pending(f, "a", "{\"except\":[\"2026-12-26\"]}"));
	bf_host_tend(f->host, true);
	expect_planned(f, id);
	assert_false(is_pending(f, "a", "{\"except\":[\"2026-12-26\"]}"));
}

/* As something else than this host leaves it. */
static void write_raw(struct host_fixture *f, const char *kind, const char *id, uint64_t flags,
		const char *bytes)
{
	struct belfry_document document = {
			.kind = bf_str(kind),
			.id = bf_str(id),
			.owner = BF_STR("default"),
			.flags = flags,
			.bytes = bf_str(bytes),
	};
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document present = {0};
	struct belfry_str none = {0};
	enum belfry_status status = bf_store_document_get(f->store, document.kind, document.id,
			none, none, &arena, &present, NULL);

	document.name = status == BELFRY_OK ? present.name : none;
	assert_int_equal(bf_store_document_put(f->store, &document, present.etag, NULL), BELFRY_OK);
}

static void a_calendar_that_cannot_be_read_stops_no_other_and_no_start(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "b", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("b"), id, NULL), BELFRY_OK);
	write_raw(f, "calendar", "a", 0, "no calendar");
	write_raw(f, "calendar-change", "a", 0, "{}");
	write_calendar(f, "b", "[\"2026-12-26\"]");
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_true(host_fixture_has_logged(f,
			"event=calendar_unfinished calendar=a status=CORRUPT"));
	expect_planned(f, id);
	assert_int_equal(count_documents(f, "calendar-change"), 1);
	restart(f);
	expect_planned(f, id);
	assert_int_equal(count_documents(f, "calendar-change"), 1);
}

/* x uses another calendar too, which cannot be read now. */
static void a_user_that_cannot_be_planned_stops_no_other_and_is_tried_again(void **state)
{
	struct host_fixture *f = *state;
	char x[BELFRY_ID_TEXT_BYTES];
	char others[4][BELFRY_ID_TEXT_BYTES];
	int64_t planned = 0;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(put(f, "b", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a") ",\"not_before\":\"2026-01-01T00:00:00Z\"", x,
					 NULL),
			BELFRY_OK);
	assert_int_equal(
			edit(f, x,
					"{\"rule\":{\"except\":[{\"calendar\":\"a\"},{\"calendar\":"
					"\"b\"}]}}",
					NULL),
			BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(others); i++) {
		char name[2] = {(char)('p' + i), '\0'};
		assert_int_equal(create(f, name, DAILY("a"), others[i], NULL), BELFRY_OK);
	}
	write_calendar(f, "a", "[\"2026-12-26\"]");
	write_raw(f, "calendar", "b", 0, "no calendar");
	restart(f);
	for (size_t i = 0; i < BF_COUNT(others); i++) {
		expect_planned(f, others[i]);
	}
	assert_int_equal(record_revision(f, x), 2);
	assert_true(host_fixture_has_logged(f, "event=calendar_unfinished calendar=a deployment="));
	assert_int_equal(count_documents(f, "calendar-change"), 1);
	write_raw(f, "calendar", "b", 0, "{\"description\":null,\"except\":[\"2026-12-27\"]}");
	bf_host_tend(f->host, false); /* it was told to come soon */
	expect_planned(f, x);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
	assert_int_equal(put(f, "a", "[\"2026-12-28\"]", &planned, NULL), BELFRY_OK);
	assert_int_equal(planned, 5);
}

static void a_change_tells_the_readers_of_events_of_each_user(void **state)
{
	struct host_fixture *f = *state;
	struct bf_events_reader reader;
	struct belfry_id seen[8];
	char id[BELFRY_ID_TEXT_BYTES];
	char text[BELFRY_ID_TEXT_BYTES];
	bool is_resync = false;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), id, NULL), BELFRY_OK);
	assert_int_equal(create(f, "y", "\"cron\":\"0 9 * * *\"", NULL, NULL), BELFRY_OK);
	bf_events_join(f->events, &reader);
	assert_int_equal(bf_events_read(f->events, &reader, 8, seen, &is_resync), 0);
	assert_true(is_resync);
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", NULL, NULL), BELFRY_OK);
	assert_true(bf_events_wait(f->events));
	assert_int_equal(bf_events_read(f->events, &reader, 8, seen, &is_resync), 1);
	belfry_id_format(seen[0], text);
	assert_string_equal(text, id);
	bf_events_leave(f->events);
}

/* ---- deaths ------------------------------------------------------------------------------------- */

/* From which call on nothing is answered any more; 0: always something is. */
struct death {
	int64_t store;
	int64_t apply;
	bool is_after; /* the calls are carried out, their answers are lost */
	bool lives_on; /* the host is the same afterwards */
};

static struct bf_fault *store_fault(struct host_fixture *f, const struct death *death)
{
	return death->is_after ? bf_store_fault_after(f->store) : bf_store_fault_before(f->store);
}

static struct bf_fault *apply_fault(struct host_fixture *f, const struct death *death)
{
	return death->is_after ? bf_scheduler_fault_after(f->scheduler, BF_PROVIDER_APPLY)
			       : bf_scheduler_fault_before(f->scheduler, BF_PROVIDER_APPLY);
}

/* True: it ended before it came to the death. */
static bool die(struct host_fixture *f, const struct death *death, const char *except,
		const char (*ids)[BELFRY_ID_TEXT_BYTES], size_t count)
{
	int64_t before = revision_of(f, "a");

	bf_fault_arm(store_fault(f, death), death->store, death->store != 0 ? -1 : 0);
	bf_fault_arm(apply_fault(f, death), death->apply, death->apply != 0 ? -1 : 0);
	enum belfry_status status = put(f, "a", except, NULL, NULL);
	bool is_over = bf_fault_fired(store_fault(f, death)) == 0 &&
			bf_fault_fired(apply_fault(f, death)) == 0;
	bf_fault_arm(store_fault(f, death), 0, 0);
	bf_fault_arm(apply_fault(f, death), 0, 0);
	int64_t after = revision_of(f, "a");
	assert_true(after == before || after == before + 1);
	if (status == BELFRY_OK) {
		assert_int_equal(after, before + 1);
	}
	if (death->lives_on) {
		bf_host_tend(f->host, true);
	} else {
		restart(f);
	}
	for (size_t i = 0; i < count; i++) {
		expect_planned(f, ids[i]);
	}
	assert_int_equal(count_documents(f, "calendar-change"), 0);
	return is_over;
}

static void t071_a_change_of_a_calendar_that_ends_at_any_step_heals_by_itself(void **state)
{
	struct host_fixture *f = *state;
	char ids[3][BELFRY_ID_TEXT_BYTES];
	unsigned turn = 0;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), ids[0], NULL), BELFRY_OK);
	assert_int_equal(create(f, "y", DAILY("a"), ids[1], NULL), BELFRY_OK);
	assert_int_equal(create(f, "z", DAILY("a"), ids[2], NULL), BELFRY_OK);
	assert_int_equal(enable(f, ids[2], false, NULL), BELFRY_OK);
	for (unsigned kind = 0; kind < 8; kind++) {
		bool is_over = false;
		for (int64_t step = 1; !is_over; step++) {
			char except[32];
			struct death death = {
					.store = (kind & 4) == 0 ? step : 0,
					.apply = (kind & 4) != 0 ? step : 0,
					.is_after = (kind & 1) != 0,
					.lives_on = (kind & 2) != 0,
			};
			(void)snprintf(except, sizeof(except), "[\"%04u-01-01\"]", 2030 + turn++);
			is_over = die(f, &death, except, (const char(*)[BELFRY_ID_TEXT_BYTES])ids,
					3);
			assert_true(step < 200);
		}
	}
	assert_true(turn > 50);
}

/* Where a user cannot be handed over, the next reconcile does. */
static void a_provider_that_fails_gets_the_users_by_the_next_reconcile(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), id, NULL), BELFRY_OK);
	f->fake.fails[FAKE_APPLY] = BELFRY_UNAVAILABLE;
	assert_int_equal(put(f, "a", "[\"2026-12-26\"]", NULL, NULL), BELFRY_OK);
	f->fake.fails[FAKE_APPLY] = BELFRY_OK;
	assert_int_equal(record_revision(f, id), 2);
	assert_int_equal(fake_find_schedule(&f->fake, id)->revision, 1);
	bf_host_tend(f->host, false); /* it was told to come soon */
	expect_planned(f, id);
}

static void a_lack_of_memory_at_any_step_heals_too(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	bool is_over = false;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), id, NULL), BELFRY_OK);
	for (int64_t call = 1; !is_over; call++) {
		char text[64];
		struct bf_calendar_view view = {0};
		(void)snprintf(text, sizeof(text), "{\"except\":[\"%04d-01-01\"]}",
				2030 + (int)(call % 5000));
		BF_CLEANUP(bf_cleanup_json) json_t *body = parse(text);
		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = bf_calendars_put(f->host, BF_STR("a"), &whatever, body,
				&view, NULL);
		is_over = bf_fault_fired(bf_alloc_fault()) == 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(status == BELFRY_OK || (status == BELFRY_NOMEM && !is_over));
		json_decref(view.json);
		bf_host_tend(f->host, true);
		expect_planned(f, id);
		assert_int_equal(count_documents(f, "calendar-change"), 0);
		assert_true(call < 5000);
	}
}

/* ---- crowds ------------------------------------------------------------------------------------- */

#define CROWD 1250 /* more than a request plans, and more than a start does */

static void create_crowd(struct host_fixture *f, char (*ret_ids)[BELFRY_ID_TEXT_BYTES])
{
	for (unsigned i = 0; i < CROWD; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "c%u", i);
		assert_int_equal(create(f, name, DAILY("a"), ret_ids[i], NULL), BELFRY_OK);
	}
}

static unsigned count_planned(struct host_fixture *f, const char (*ids)[BELFRY_ID_TEXT_BYTES])
{
	int64_t revision = revision_of(f, "a");
	unsigned count = 0;

	for (unsigned i = 0; i < CROWD; i++) {
		BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
		load(f, ids[i], &d);
		count += bf_calendar_used_revision(&d, BF_STR("a")) == revision ? 1 : 0;
	}
	return count;
}

/* What a death left is finished while it serves, and not before. */
static void a_start_plans_some_of_a_crowd_and_the_next_look_the_others(void **state)
{
	static char ids[CROWD][BELFRY_ID_TEXT_BYTES];
	struct host_fixture *f = *state;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	create_crowd(f, ids);
	write_calendar(f, "a", "[\"2026-12-26\"]");
	restart(f);
	unsigned planned = count_planned(f, (const char(*)[BELFRY_ID_TEXT_BYTES])ids);
	assert_in_range(planned, 1, CROWD - 1);
	assert_int_equal(count_documents(f, "calendar-change"), 1);
	bf_host_tend(f->host, false);
	assert_int_equal(count_planned(f, (const char(*)[BELFRY_ID_TEXT_BYTES])ids), CROWD);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
	expect_planned(f, ids[0]);
	expect_planned(f, ids[CROWD - 1]);
}

static void *reconcile_main(void *data)
{
	struct host_fixture *f = data;

	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	return NULL;
}

/* Whoever finishes one change leaves the mark of the next. */
static void b03_a_change_while_another_is_finished_leaves_nobody_behind(void **state)
{
	static char ids[CROWD][BELFRY_ID_TEXT_BYTES];
	struct host_fixture *f = *state;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	create_crowd(f, ids);
	for (int i = 0; i < 5; i++) {
		char except[2][32];
		pthread_t thread;
		(void)snprintf(except[0], sizeof(except[0]), "[\"%04d-01-01\"]", 2030 + i);
		(void)snprintf(except[1], sizeof(except[1]), "[\"%04d-01-02\"]", 2030 + i);
		write_calendar(f, "a", except[0]);
		assert_int_equal(pthread_create(&thread, NULL, reconcile_main, f), 0);
		assert_int_equal(put(f, "a", except[1], NULL, NULL), BELFRY_OK);
		assert_int_equal(pthread_join(thread, NULL), 0);
		unsigned planned = count_planned(f, (const char(*)[BELFRY_ID_TEXT_BYTES])ids);
		assert_true(planned == CROWD || count_documents(f, "calendar-change") == 1);
		bf_host_tend(f->host, true);
		assert_int_equal(count_planned(f, (const char(*)[BELFRY_ID_TEXT_BYTES])ids), CROWD);
		assert_int_equal(count_documents(f, "calendar-change"), 0);
	}
}

#define OTHERS 10100 /* records that may be users', and are none: more than one request looks at */

/* They come before every other. */
static void write_others(struct host_fixture *f, const char *name, unsigned count)
{
	BF_CLEANUP(bf_cleanup_json) json_t *used = json_pack("[{s:s}]", "name", name);

	for (unsigned i = 0; i < count; i++) {
		char id[BELFRY_ID_TEXT_BYTES];
		(void)snprintf(id, sizeof(id), "00000000-0000-4000-8000-%012u", i);
		write_raw(f, "deployment", id, bf_calendar_flags(used), "{}");
	}
}

/* How many calls it takes of the store's documents, for each of which a record or a page is read. */
static uint64_t count_calls(struct host_fixture *f, bool is_list)
{
	uint64_t before = bf_store_calls(f->store, BF_STORE_DOCUMENTS);
	const struct bf_calendar_query query = {.limit = 200};
	json_t *answer = NULL;

	if (is_list) {
		assert_int_equal(bf_calendars_list(f->host, &query, &answer, NULL), BELFRY_OK);
	} else {
		answer = show(f, "a");
	}
	json_decref(answer);
	return bf_store_calls(f->store, BF_STORE_DOCUMENTS) - before;
}

static void what_one_request_looks_at_is_bounded_and_a_removal_is_sure(void **state)
{
	struct host_fixture *f = *state;
	struct belfry_error err = {0};
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(put(f, "b", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(put(f, "c", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "last", DAILY("a"), id, NULL), BELFRY_OK);
	write_others(f, "a", OTHERS);
	assert_in_range(count_calls(f, false), 10000, 10100);
	write_others(f, "b", OTHERS);
	assert_in_range(count_calls(f, true), 5000, 10100);
	write_others(f, "a", OTHERS);
	BF_CLEANUP(bf_cleanup_json) json_t *shown = show(f, "a");
	const json_t *users = json_object_get(shown, "used_by");
	assert_int_equal(json_integer_value(json_object_get(users, "count")), 0);
	assert_true(json_is_true(json_object_get(users, "at_least")));
	/* Who is behind that is still found where it matters. */
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 0, &err), BELFRY_CONFLICT);
	assert_non_null(strstr(err.message, "\"last\""));
	assert_true(is_pending(f, "a", "{\"except\":[\"2026-12-26\"]}"));
	assert_int_equal(record_revision(f, id), 1);
	bf_host_tend(f->host, false);
	expect_planned(f, id);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
	assert_int_equal(edit(f, id, "{\"rule\":{\"except\":null}}", NULL), BELFRY_OK);
	assert_int_equal(bf_calendars_remove(f->host, BF_STR("a"), 0, NULL), BELFRY_OK);
	assert_int_equal(revision_of(f, "a"), 0);
}

static struct host_fixture *watched;
static int seen_free; /* how often a change could have begun: -1: it was not looked */

static void watch_log(void *data, enum bf_log_level level, const char *line)
{
	pthread_mutex_t *lock = &watched->host->calendars_change_lock;

	(void)data;
	(void)level;
	if (strstr(line, "event=calendar_finished") == NULL) {
		return;
	}
	seen_free = 0;
	if (pthread_mutex_trylock(lock) == 0) {
		seen_free = 1;
		(void)pthread_mutex_unlock(lock);
	}
}

/* Between the users and the end of the mark. */
static void no_change_begins_between_the_last_user_and_the_end_of_the_mark(void **state)
{
	struct host_fixture *f = *state;

	assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
	assert_int_equal(create(f, "x", DAILY("a"), NULL, NULL), BELFRY_OK);
	write_calendar(f, "a", "[\"2026-12-26\"]");
	watched = f;
	seen_free = -1;
	f->env.log = watch_log;
	assert_int_equal(bf_host_reconcile(f->host, NULL), BELFRY_OK);
	assert_int_equal(seen_free, 0);
	assert_int_equal(count_documents(f, "calendar-change"), 0);
}

/* ---- at the same time --------------------------------------------------------------------------- */

#define REMOVALS 300

struct maker {
	struct host_fixture *f;
	char id[BELFRY_ID_TEXT_BYTES];
	enum belfry_status status;
};

static void *create_main(void *data)
{
	struct maker *maker = data;

	maker->status = create(maker->f, "x", DAILY("a"), maker->id, NULL);
	return NULL;
}

/* Others make the look for users long enough for the rule to come within it. */
static void a_rule_never_names_a_calendar_that_was_removed_meanwhile(void **state)
{
	struct host_fixture *f = *state;

	write_others(f, "a", 400);
	for (int i = 0; i < REMOVALS; i++) {
		struct maker maker = {.f = f};
		pthread_t thread;
		assert_int_equal(put(f, "a", "[\"2026-12-25\"]", NULL, NULL), BELFRY_OK);
		assert_int_equal(pthread_create(&thread, NULL, create_main, &maker), 0);
		enum belfry_status status = bf_calendars_remove(f->host, BF_STR("a"), 0, NULL);
		assert_int_equal(pthread_join(thread, NULL), 0);
		if (maker.status == BELFRY_OK) {
			assert_int_equal(status, BELFRY_CONFLICT);
			expect_planned(f, maker.id);
			assert_int_equal(bf_deployments_remove(f->host, bf_str(maker.id), 0, NULL),
					BELFRY_OK);
		} else {
			assert_int_equal(maker.status, BELFRY_INVALID_SCHEDULE);
			assert_int_equal(status, BELFRY_OK);
		}
	}
}

#define EDITS 60

struct editor {
	struct host_fixture *f;
	const char *id;
	int number;
	int conflicts;
};

static void *edit_main(void *data)
{
	struct editor *editor = data;

	for (int i = 0; i < EDITS; i++) {
		char patch[64];
		(void)snprintf(patch, sizeof(patch), "{\"labels\":{\"e%d\":\"%d\"}}",
				editor->number, i);
		enum belfry_status status = edit(editor->f, editor->id, patch, NULL);
		editor->conflicts += status != BELFRY_OK ? 1 : 0;
	}
	return NULL;
}

static void b03_edits_and_changes_of_the_calendar_lose_nothing_of_each_other(void **state)
{
	struct host_fixture *f = *state;
	char ids[2][BELFRY_ID_TEXT_BYTES];
	pthread_t threads[2];
	struct editor editors[2];

	assert_int_equal(put(f, "a", "[\"2029-01-01\"]", NULL, NULL), BELFRY_OK);
	for (int i = 0; i < 2; i++) {
		char name[2] = {(char)('x' + i), '\0'};
		assert_int_equal(create(f, name, DAILY("a"), ids[i], NULL), BELFRY_OK);
		editors[i] = (struct editor){.f = f, .id = ids[i], .number = i};
		assert_int_equal(pthread_create(&threads[i], NULL, edit_main, &editors[i]), 0);
	}
	for (unsigned i = 0; i < EDITS; i++) {
		char except[32];
		(void)snprintf(except, sizeof(except), "[\"%04u-01-01\"]", 2030 + i);
		assert_int_equal(put(f, "a", except, NULL, NULL), BELFRY_OK);
	}
	for (int i = 0; i < 2; i++) {
		BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
		char last[16];
		char key[16];
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(editors[i].conflicts, 0);
		expect_planned(f, ids[i]);
		load(f, ids[i], &d);
		(void)snprintf(last, sizeof(last), "%d", EDITS - 1);
		(void)snprintf(key, sizeof(key), "e%d", i);
		assert_string_equal(json_string_value(json_object_get(d.labels, key)), last);
		/* A change may find that an edit has taken the new content already. */
		assert_in_range(d.revision, 1 + EDITS, 1 + 2 * EDITS);
	}
}

int run_calendar_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(a_calendar_is_kept_with_its_revision_and_equal_content_changes_nothing),
			CASE(a_change_finds_the_calendar_that_it_named_or_none),
			CASE(a_calendar_that_is_made_again_has_no_revision_of_the_one_before),
			CASE(calendars_are_listed_by_name_page_by_page),
			CASE(what_is_no_calendar_is_refused_with_its_place),
			CASE(the_largest_calendar_is_taken_and_used),
			CASE(a_rule_that_names_a_calendar_is_handed_over_with_its_content),
			CASE(a_rule_that_names_what_is_not_there_is_refused_with_its_place),
			CASE(a_calendar_in_use_says_by_whom_and_is_not_removed),
			CASE(a_change_is_planned_like_an_edit_for_each_user_and_nobody_else),
			CASE(users_of_another_calendar_with_the_same_bit_are_left_alone),
			CASE(the_bit_of_a_name_never_changes),
			CASE(a_change_that_leaves_a_deployment_nothing_is_refused_and_names_it),
			CASE(one_that_came_meanwhile_and_has_nothing_left_is_disabled_with_the_reason),
			CASE(one_that_could_not_be_read_before_gets_the_content_and_stays_enabled),
			CASE(equal_content_says_whether_users_of_the_last_change_are_left),
			CASE(a_calendar_that_cannot_be_read_stops_no_other_and_no_start),
			CASE(a_user_that_cannot_be_planned_stops_no_other_and_is_tried_again),
			CASE(a_change_tells_the_readers_of_events_of_each_user),
			CASE(t071_a_change_of_a_calendar_that_ends_at_any_step_heals_by_itself),
			CASE(a_provider_that_fails_gets_the_users_by_the_next_reconcile),
			CASE(a_lack_of_memory_at_any_step_heals_too),
			CASE(a_start_plans_some_of_a_crowd_and_the_next_look_the_others),
			CASE(b03_a_change_while_another_is_finished_leaves_nobody_behind),
			CASE(what_one_request_looks_at_is_bounded_and_a_removal_is_sure),
			CASE(a_rule_never_names_a_calendar_that_was_removed_meanwhile),
			CASE(no_change_begins_between_the_last_user_and_the_end_of_the_mark),
			CASE(b03_edits_and_changes_of_the_calendar_lose_nothing_of_each_other),
#undef CASE
	};

	return cmocka_run_group_tests_name("calendars", tests, NULL, NULL);
}
