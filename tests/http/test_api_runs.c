/* The routes of Runs and of due times. */
#include "api_fixture.h"

#include "base/timefmt.h"
#include "store/store.h"

#define NONE "00000000-0000-4000-8000-000000000000"
#define DUE  (1700000000 * BELFRY_SECOND)

struct runs_fixture {
	struct api_fixture api;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[120];
};

static int setup(void **state)
{
	struct runs_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	api_fixture_start(&fixture->api);
	api_make_deployment(&fixture->api, "a", fixture->id);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct runs_fixture *fixture = *state;

	api_fixture_stop(&fixture->api);
	free(fixture);
	return 0;
}

static const char *path_of(struct runs_fixture *f, const char *rest)
{
	(void)snprintf(f->path, sizeof(f->path), "/v1/deployments/%s%s", f->id, rest);
	return f->path;
}

static const char *run_path(struct runs_fixture *f, const struct belfry_run *run, const char *rest)
{
	char id[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(run->id, id);
	(void)snprintf(f->path, sizeof(f->path), "/v1/runs/%s%s", id, rest);
	return f->path;
}

/* A status needs a state that it goes with. */
static void put_status(struct belfry_run *run, enum belfry_run_status status)
{
	run->state = status == BELFRY_STATUS_QUEUED ? BELFRY_RUN_QUEUED : BELFRY_RUN_DISPATCHED;
	run->status = status;
	run->finished_at = belfry_run_status_is_terminal(status) ? run->created_at : 0;
}

static size_t count_items(struct runs_fixture *f, const char *path)
{
	api_expect(&f->api, "GET", path, NULL, 200, "");
	return json_array_size(api_member(&f->api, "items"));
}

static void t059_a_limit_is_clamped(void **state)
{
	static const struct {
		const char *query;
		size_t count;
	} rows[] = {{"/runs?limit=0", 1}, {"/runs?limit=-5", 1}, {"/runs?limit=1", 1},
			{"/runs?limit=200", 200}, {"/runs?limit=999", 200}, {"/runs", 50}};
	struct runs_fixture *f = *state;

	for (int i = 0; i < 250; i++) {
		(void)fake_add_run(&f->api.host.fake, f->id, DUE + i * BELFRY_SECOND);
	}
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		assert_int_equal(count_items(f, path_of(f, rows[i].query)), rows[i].count);
	}
	assert_int_equal(count_items(f, "/v1/runs?limit=999"), 200);
}

static void t058_t061_runs_are_newest_first_page_by_page(void **state)
{
	struct runs_fixture *f = *state;
	char path[200];
	char last[BELFRY_ID_TEXT_BYTES] = "z";
	size_t seen = 0;

	for (int i = 0; i < 25; i++) {
		(void)fake_add_run(&f->api.host.fake, f->id, DUE);
	}
	(void)snprintf(path, sizeof(path), "%s", path_of(f, "/runs?limit=10"));
	for (;;) {
		api_expect(&f->api, "GET", path, NULL, 200, "");
		json_t *items = api_member(&f->api, "items");
		for (size_t i = 0; i < json_array_size(items); i++) {
			const char *id = json_string_value(
					json_object_get(json_array_get(items, i), "id"));
			assert_true(strcmp(id, last) < 0);
			(void)snprintf(last, sizeof(last), "%s", id);
			seen++;
		}
		if (json_is_null(api_member(&f->api, "next_cursor"))) {
			break;
		}
		(void)snprintf(path, sizeof(path), "%s&cursor=%s", path_of(f, "/runs?limit=10"),
				api_text(&f->api, "next_cursor"));
	}
	assert_int_equal(seen, 25);
}

static void t062_runs_are_filtered_by_deployment_status_trigger_and_time(void **state)
{
	struct runs_fixture *f = *state;
	struct fake_provider *fake = &f->api.host.fake;

	put_status(fake_add_run(fake, f->id, DUE), BELFRY_STATUS_COMPLETED);
	put_status(fake_add_run(fake, f->id, DUE + BELFRY_HOUR), BELFRY_STATUS_FAILED);
	fake_add_run(fake, f->id, 0)->trigger = BELFRY_TRIGGER_MANUAL;
	put_status(fake_add_run(fake, "other", DUE), BELFRY_STATUS_FAILED);
	assert_int_equal(count_items(f, path_of(f, "/runs")), 3);
	assert_int_equal(count_items(f, path_of(f, "/runs?status=FAILED")), 1);
	assert_int_equal(count_items(f, path_of(f, "/runs?status=FAILED,COMPLETED")), 2);
	assert_int_equal(count_items(f, path_of(f, "/runs?trigger=manual")), 1);
	assert_int_equal(count_items(f, path_of(f, "/runs?trigger=manual,schedule")), 3);
	assert_int_equal(count_items(f, "/v1/runs?status=FAILED"), 2);
	assert_int_equal(count_items(f, "/v1/runs?since=2023-11-14T22:30:00Z"), 1);
}

static void t056_t057_run_now_makes_a_run_each_time_without_due_time(void **state)
{
	struct runs_fixture *f = *state;
	char location[100];

	api_expect(&f->api, "POST", path_of(f, "/runs"), NULL, 202, "");
	assert_string_equal(api_text(&f->api, "trigger"), "manual");
	assert_string_equal(api_text(&f->api, "deployment_id"), f->id);
	assert_true(json_is_null(api_member(&f->api, "due_at")));
	(void)snprintf(location, sizeof(location), "/v1/runs/%s", api_text(&f->api, "id"));
	check_text(api_field(&f->api, "Location"), location);
	api_expect(&f->api, "POST", path_of(f, "/runs"), "{\"respect_overlap\":true}", 202, "");
	assert_int_equal(f->api.host.fake.run_count, 2);
	api_expect(&f->api, "POST", path_of(f, "/runs"), "{\"overlap\":true}", 400,
			"INVALID_REQUEST");
	api_expect(&f->api, "POST", path_of(f, "/runs"), "{\"respect_overlap\":1}", 400,
			"INVALID_REQUEST");
	api_expect(&f->api, "POST", "/v1/deployments/" NONE "/runs", NULL, 404, "NOT_FOUND");
	assert_int_equal(f->api.host.fake.run_count, 2);
}

/* "Here" is the deployment that the request names. */
static void t055_a_run_of_another_deployment_is_not_replayed_here(void **state)
{
	struct runs_fixture *f = *state;
	struct belfry_run *source = fake_add_run(&f->api.host.fake, f->id, DUE);
	char other[BELFRY_ID_TEXT_BYTES];
	char body[100];

	api_make_deployment(&f->api, "b", other);
	(void)snprintf(body, sizeof(body), "{\"deployment_id\":\"%s\"}", other);
	api_expect(&f->api, "POST", run_path(f, source, "/replay"), body, 404, "NOT_FOUND");
	api_expect(&f->api, "POST", f->path, "{\"deployment_id\":\"x\"}", 404, "NOT_FOUND");
	api_expect(&f->api, "POST", f->path, "{\"deployment_id\":7}", 400, "INVALID_REQUEST");
	assert_string_equal(api_text(&f->api, "pointer"), "/deployment_id");
	assert_int_equal(f->api.host.fake.run_count, 1);
	(void)snprintf(body, sizeof(body), "{\"deployment_id\":\"%s\"}", f->id);
	api_expect(&f->api, "POST", run_path(f, source, "/replay"), body, 202, "");
	assert_string_equal(api_text(&f->api, "deployment_id"), f->id);
}

static void an_end_before_the_beginning_is_refused(void **state)
{
	struct runs_fixture *f = *state;

	api_expect(&f->api, "GET",
			path_of(f, "/due?from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z"), NULL,
			400, "INVALID_REQUEST");
	check_contains(bf_str(api_text(&f->api, "detail")), "to: ");
}

static void a_cancelled_run_is_answered_and_again_the_same(void **state)
{
	struct runs_fixture *f = *state;
	struct belfry_run *run = fake_add_run(&f->api.host.fake, f->id, DUE);

	api_expect(&f->api, "POST", run_path(f, run, "/cancel"), "{\"reason\":\"no need\"}", 200,
			"");
	assert_string_equal(api_text(&f->api, "status"), "CANCELLED");
	assert_string_equal(api_text(&f->api, "dispatch_state"), "cancelled");
	assert_true(json_is_array(api_member(&f->api, "attempts")));
	api_expect(&f->api, "POST", f->path, NULL, 200, "");
	assert_string_equal(api_text(&f->api, "status"), "CANCELLED");
}

static void a_run_that_cannot_be_cancelled_says_why(void **state)
{
	static const char *const bad[] = {"{\"reason\":7}", "{\"why\":\"x\"}", "[]", "{"};
	struct runs_fixture *f = *state;
	struct belfry_run *run = fake_add_run(&f->api.host.fake, f->id, DUE);

	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		api_expect(&f->api, "POST", run_path(f, run, "/cancel"), bad[i], 400,
				"INVALID_REQUEST");
	}
	assert_int_equal(f->api.host.fake.calls[FAKE_CANCEL], 0);
	put_status(run, BELFRY_STATUS_COMPLETED);
	api_expect(&f->api, "POST", f->path, NULL, 409, "CONFLICT");
	check_contains(bf_str(api_text(&f->api, "detail")), "as COMPLETED");
	put_status(run, BELFRY_STATUS_RUNNING);
	api_expect(&f->api, "POST", f->path, NULL, 409, "CONFLICT");
	check_contains(bf_str(api_text(&f->api, "detail")), "admitted");
	api_expect(&f->api, "POST", "/v1/runs/" NONE "/cancel", NULL, 404, "NOT_FOUND");
	api_expect(&f->api, "POST", "/v1/runs/x/cancel", NULL, 404, "NOT_FOUND");
	f->api.host.fake.fails[FAKE_CANCEL] = BELFRY_CANNOT;
	api_expect(&f->api, "POST", run_path(f, run, "/cancel"), NULL, 409, "SCHEDULE_UNAVAILABLE");
}

static void a_request_key_makes_one_run(void **state)
{
	struct runs_fixture *f = *state;
	const char *key = "Idempotency-Key: press-1\r\n";
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(api_ask(&f->api, "POST", path_of(f, "/runs"), key, NULL), 202);
	memcpy(id, api_text(&f->api, "id"), sizeof(id));
	assert_int_equal(api_ask(&f->api, "POST", path_of(f, "/runs"), key, "{}"), 202);
	assert_string_equal(api_text(&f->api, "id"), id);
	assert_int_equal(api_ask(&f->api, "POST", path_of(f, "/runs"), key,
					 "{\"respect_overlap\":true}"),
			422);
	assert_string_equal(api_text(&f->api, "code"), "IDEMPOTENCY_KEY_REUSED");
	assert_int_equal(f->api.host.fake.run_count, 1);
}

static void a_request_key_has_a_form(void **state)
{
	static const char *const bad[] = {"Idempotency-Key: \r\n", "Idempotency-Key: \xc3\xa9\r\n",
			"Idempotency-Key: a\r\nIdempotency-Key: b\r\n"};
	struct runs_fixture *f = *state;
	struct bf_buf field = {0};

	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		assert_int_equal(api_ask(&f->api, "POST", path_of(f, "/runs"), bad[i], NULL), 400);
	}
	bf_buf_append_text(&field, "Idempotency-Key: ");
	for (int i = 0; i < 256; i++) {
		bf_buf_append_byte(&field, 'k');
	}
	bf_buf_append_text(&field, "\r\n");
	assert_int_equal(api_ask(&f->api, "POST", path_of(f, "/runs"), field.ptr, NULL), 400);
	bf_buf_fini(&field);
	assert_int_equal(f->api.host.fake.run_count, 0);
}

static void t054_a_replay_names_its_source(void **state)
{
	struct runs_fixture *f = *state;
	struct belfry_run *source = fake_add_run(&f->api.host.fake, f->id, DUE);
	char id[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(source->id, id);
	api_expect(&f->api, "POST", run_path(f, source, "/replay"), NULL, 202, "");
	assert_string_equal(api_text(&f->api, "trigger"), "replay");
	assert_string_equal(api_text(&f->api, "replayed_from"), id);
	assert_true(json_is_null(api_member(&f->api, "due_at")));
	api_expect(&f->api, "POST", run_path(f, source, "/replay"), "{\"dry_run\":true}", 400,
			"INVALID_REQUEST");
	check_contains(bf_str(api_text(&f->api, "detail")), "does not offer");
	api_expect(&f->api, "POST", run_path(f, source, "/replay"),
			"{\"as_of\":\"2026-01-01T00:00:00Z\"}", 400, "INVALID_REQUEST");
	api_expect(&f->api, "POST", "/v1/runs/" NONE "/replay", NULL, 404, "NOT_FOUND");
	assert_int_equal(f->api.host.fake.run_count, 2);
}

static void a_run_is_shown_with_every_member_and_its_attempts(void **state)
{
	static const char *const members[] = {"id", "deployment_id", "trigger", "status",
			"dispatch_state", "due_at", "ready_at", "revision", "replayed_from",
			"session_id", "turn_id", "error", "attempt", "holder", "lateness_ms",
			"stands_for", "tz_version", "output_truncated", "created_at", "started_at",
			"dispatched_at", "finished_at", "attempts"};
	struct runs_fixture *f = *state;
	struct fake_provider *fake = &f->api.host.fake;
	struct belfry_run *run = fake_add_run(fake, f->id, DUE);

	put_status(run, BELFRY_STATUS_FAILED);
	run->error = BELFRY_RUN_ERROR_TIMEOUT;
	run->detail = BF_STR("curl: (28) at /var/lib");
	run->started_at = DUE + 4 * BELFRY_MILLISECOND;
	run->session = BF_STR("s");
	run->attempt = 2;
	run->flags = BELFRY_RUN_F_OUTPUT_TRUNCATED;
	fake->attempts[0] = (struct belfry_attempt){.run = run->id,
			.number = 1,
			.step = BELFRY_STEP_TURN,
			.fence = 7,
			.started_at = DUE,
			.ended_at = DUE + BELFRY_SECOND,
			.error = BELFRY_RUN_ERROR_TARGET_ANSWERED,
			.message = BF_STR("the target answered 503"),
			.detail = BF_STR("curl /var/lib")};
	fake->attempts[1] = (struct belfry_attempt){.run = run->id,
			.number = 2,
			.step = BELFRY_STEP_SESSION,
			.started_at = DUE};
	fake->attempt_count = 2;
	api_expect(&f->api, "GET", run_path(f, run, ""), NULL, 200, "");
	for (size_t i = 0; i < BF_COUNT(members); i++) {
		(void)api_member(&f->api, members[i]);
	}
	assert_int_equal(json_object_size(f->api.json), BF_COUNT(members));
	assert_null(strstr(f->api.reply.body.ptr, "/var/lib"));
	assert_int_equal(json_integer_value(api_member(&f->api, "lateness_ms")), 4);
	json_t *error = api_member(&f->api, "error");
	assert_string_equal(json_string_value(json_object_get(error, "code")), "TIMEOUT");
	json_t *attempts = api_member(&f->api, "attempts");
	assert_int_equal(json_array_size(attempts), 2);
	json_t *first = json_array_get(attempts, 0);
	assert_string_equal(json_string_value(json_object_get(first, "step")), "admit_turn");
	assert_string_equal(json_string_value(json_object_get(first, "outcome")), "failed");
	assert_string_equal(json_string_value(json_object_get(json_object_get(first, "error"),
					    "message")),
			"the target answered 503");
	assert_true(json_is_null(json_object_get(json_array_get(attempts, 1), "outcome")));
}

/* The wait for a later attempt moves ready_at, and is not lateness. */
static void lateness_is_that_of_the_start(void **state)
{
	struct runs_fixture *f = *state;
	struct belfry_run *run = fake_add_run(&f->api.host.fake, f->id, DUE);

	run->started_at = DUE + 2 * BELFRY_MILLISECOND;
	run->ready_at = DUE + BELFRY_MINUTE;
	api_expect(&f->api, "GET", run_path(f, run, ""), NULL, 200, "");
	assert_int_equal(json_integer_value(api_member(&f->api, "lateness_ms")), 2);
	run->due_at = 0;
	run->created_at = DUE + BELFRY_MILLISECOND;
	api_expect(&f->api, "GET", run_path(f, run, ""), NULL, 200, "");
	assert_int_equal(json_integer_value(api_member(&f->api, "lateness_ms")), 1);
}

static void output_is_text_and_can_be_had_in_ranges(void **state)
{
	static const struct {
		const char *range;
		int status;
		const char *body;
		const char *content_range;
	} rows[] = {
			{NULL, 200, "0123456789", ""},
			{"bytes=0-3", 206, "0123", "bytes 0-3/10"},
			{"bytes=4-", 206, "456789", "bytes 4-9/10"},
			{"bytes=-3", 206, "789", "bytes 7-9/10"},
			{"bytes=-99", 206, "0123456789", "bytes 0-9/10"},
			{"bytes=8-99", 206, "89", "bytes 8-9/10"},
			{"bytes=10-", 416, "", "bytes */10"},
			{"bytes=-0", 416, "", "bytes */10"},
			{"bytes=99999999999999999999-", 200, "0123456789", ""},
			{"bytes=5-2", 200, "0123456789", ""},
			{"bytes=0-1,3-4", 200, "0123456789", ""},
			{"bytes=x", 200, "0123456789", ""},
			{"lines=1-2", 200, "0123456789", ""},
	};
	struct runs_fixture *f = *state;
	struct belfry_run *run = fake_add_run(&f->api.host.fake, f->id, DUE);
	char field[80];

	const struct belfry_output output = {
			.run = run->id,
			.fence = 1,
			.content_type = BF_STR("text/html"),
			.bytes = BF_STR("0123456789"),
	};
	assert_int_equal(bf_store_output_write(f->api.host.store, &output, NULL), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		(void)snprintf(field, sizeof(field), rows[i].range != NULL ? "Range: %s\r\n" : "%s",
				rows[i].range != NULL ? rows[i].range : "");
		assert_int_equal(api_ask(&f->api, "GET", run_path(f, run, "/output"), field, NULL),
				rows[i].status);
		check_text(bf_buf_str(&f->api.reply.body), rows[i].body);
		check_text(api_field(&f->api, "Content-Range"), rows[i].content_range);
		check_text(api_field(&f->api, "Content-Type"), "text/plain; charset=utf-8");
		check_text(api_field(&f->api, "X-Content-Type-Options"), "nosniff");
	}
}

static void a_run_without_output_has_an_empty_one(void **state)
{
	struct runs_fixture *f = *state;
	struct belfry_run *run = fake_add_run(&f->api.host.fake, f->id, DUE);

	assert_int_equal(api_ask(&f->api, "GET", run_path(f, run, "/output"), NULL, NULL), 200);
	assert_int_equal(f->api.reply.body.len, 0);
	assert_int_equal(api_ask(&f->api, "GET", run_path(f, run, "/output"), "Range: bytes=0-\r\n",
					 NULL),
			416);
	assert_int_equal(api_ask(&f->api, "HEAD", run_path(f, run, "/output"), NULL, NULL), 200);
}

static void why_tells_what_made_it_none_where_the_rule_names_it(void **state)
{
	struct runs_fixture *f = *state;

	f->api.host.fake.why = (struct belfry_why){.kind = BELFRY_WHY_NOT_DUE,
			.revision = 3,
			.nearest_after = BELFRY_TIME_NEVER,
			.because = BF_STR("it came into force later")};
	api_expect(&f->api, "GET", path_of(f, "/why?at=2023-11-14T22:13:20Z"), NULL, 200, "");
	check_contains(bf_str(api_text(&f->api, "reason")),
			"not a due time of revision 3: it came into force later");
}

static void why_without_a_time_says_that_nothing_was_due_yet(void **state)
{
	struct runs_fixture *f = *state;

	f->api.host.fake.why = (struct belfry_why){.kind = BELFRY_WHY_COMING,
			.revision = 3,
			.nearest_after = BELFRY_TIME_NEVER};
	api_expect(&f->api, "GET", path_of(f, "/why"), NULL, 200, "");
	assert_string_equal(api_text(&f->api, "reason"),
			"nothing was due yet, and this comes first");
}

static void why_answers_every_kind_in_words(void **state)
{
	static struct belfry_gap gap = {.from = DUE,
			.to = DUE + BELFRY_HOUR,
			.count = 3,
			.reason = BELFRY_GAP_MISSED,
			.who = {"planner", 7}};
	static const struct {
		enum belfry_why_kind kind;
		const char *outcome;
		const char *words;
	} rows[] = {
			{BELFRY_WHY_GAP, "gap", "missed: no process covered it"},
			{BELFRY_WHY_NOT_DUE, "not_due", "not a due time of revision 3"},
			{BELFRY_WHY_COMING, "coming", "due in the future"},
			{BELFRY_WHY_PENDING, "pending", "not decided yet"},
			{BELFRY_WHY_BEFORE, "before", "before the deployment existed"},
			{BELFRY_WHY_OLDER, "older", "older than the ledger (kept since 2023-11-14"},
			{BELFRY_WHY_DISABLED, "disabled", "disabled since 2023-11-14"},
			{BELFRY_WHY_REMOVED, "removed", "deleted"},
	};
	struct runs_fixture *f = *state;
	struct fake_provider *fake = &f->api.host.fake;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		fake->why = (struct belfry_why){.kind = rows[i].kind,
				.gap = &gap,
				.revision = 3,
				.from = DUE,
				.nearest_before = DUE,
				.nearest_after = BELFRY_TIME_NEVER};
		api_expect(&f->api, "GET", path_of(f, "/why?at=2023-11-14T22:13:20Z"), NULL, 200,
				"");
		assert_string_equal(api_text(&f->api, "outcome"), rows[i].outcome);
		check_contains(bf_str(api_text(&f->api, "reason")), rows[i].words);
		assert_true(json_is_null(api_member(&f->api, "run")));
		assert_int_equal(json_is_null(api_member(&f->api, "gap")),
				rows[i].kind != BELFRY_WHY_GAP);
	}
	struct belfry_run *run = fake_add_run(fake, f->id, DUE);
	fake->why = (struct belfry_why){.kind = BELFRY_WHY_RUN, .run = run};
	api_expect(&f->api, "GET", path_of(f, "/why"), NULL, 200, "");
	assert_string_equal(api_text(&f->api, "outcome"), "run");
	assert_string_equal(json_string_value(json_object_get(api_member(&f->api, "run"),
					    "deployment_id")),
			f->id);
}

static void due_lists_coming_times_and_what_became_of_past_ones(void **state)
{
	struct runs_fixture *f = *state;
	struct fake_provider *fake = &f->api.host.fake;

	fake->why = (struct belfry_why){.kind = BELFRY_WHY_RUN,
			.run = fake_add_run(fake, f->id, DUE)};
	api_expect(&f->api, "GET", path_of(f, "/due"), NULL, 200, "");
	json_t *items = api_member(&f->api, "items");
	assert_int_equal(json_array_size(items), 10);
	assert_string_equal(json_string_value(json_object_get(json_array_get(items, 0), "outcome")),
			"coming");
	api_expect(&f->api, "GET",
			path_of(f, "/due?from=2023-11-14T22:13:20Z&to=2023-11-14T22:16:00Z&n=200"),
			NULL, 200, "");
	items = api_member(&f->api, "items");
	assert_int_equal(json_array_size(items), 3);
	json_t *first = json_array_get(items, 0);
	assert_string_equal(json_string_value(json_object_get(first, "due_at")),
			"2023-11-14T22:14:00Z");
	assert_string_equal(json_string_value(json_object_get(first, "outcome")), "run");
	assert_string_equal(json_string_value(json_object_get(first, "status")), "QUEUED");
	api_expect(&f->api, "GET", path_of(f, "/due?n=0"), NULL, 200, "");
	assert_int_equal(json_array_size(api_member(&f->api, "items")), 1);
}

static void a_provider_without_optional_methods_is_answered_for(void **state)
{
	struct runs_fixture *f = *state;
	struct belfry_run *run = fake_add_run(&f->api.host.fake, f->id, DUE);

	f->api.host.fake.has_no_more = true;
	api_expect(&f->api, "GET", path_of(f, ""), NULL, 200, "");
	assert_int_equal(json_array_size(api_member(&f->api, "next_due")), 1); /* by calendar */
	api_expect(&f->api, "GET", path_of(f, "/due"), NULL, 200, "");
	assert_int_equal(json_array_size(api_member(&f->api, "items")), 10);
	api_expect(&f->api, "GET", path_of(f, "/why"), NULL, 409, "SCHEDULE_UNAVAILABLE");
	api_expect(&f->api, "GET", run_path(f, run, ""), NULL, 200, "");
	assert_int_equal(json_array_size(api_member(&f->api, "attempts")), 0);
	api_expect(&f->api, "GET", "/readyz", NULL, 200, "");
}

int run_api_run_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(t059_a_limit_is_clamped),
			CASE(t058_t061_runs_are_newest_first_page_by_page),
			CASE(t062_runs_are_filtered_by_deployment_status_trigger_and_time),
			CASE(t056_t057_run_now_makes_a_run_each_time_without_due_time),
			CASE(a_request_key_makes_one_run),
			CASE(a_request_key_has_a_form),
			CASE(t054_a_replay_names_its_source),
			CASE(t055_a_run_of_another_deployment_is_not_replayed_here),
			CASE(an_end_before_the_beginning_is_refused),
			CASE(a_cancelled_run_is_answered_and_again_the_same),
			CASE(a_run_that_cannot_be_cancelled_says_why),
			CASE(a_run_is_shown_with_every_member_and_its_attempts),
			CASE(lateness_is_that_of_the_start),
			CASE(output_is_text_and_can_be_had_in_ranges),
			CASE(a_run_without_output_has_an_empty_one),
			CASE(why_without_a_time_says_that_nothing_was_due_yet),
			CASE(why_tells_what_made_it_none_where_the_rule_names_it),
			CASE(why_answers_every_kind_in_words),
			CASE(due_lists_coming_times_and_what_became_of_past_ones),
			CASE(a_provider_without_optional_methods_is_answered_for),
#undef CASE
	};

	return cmocka_run_group_tests_name("api runs", tests, NULL, NULL);
}
