/* The routes of deployments: every one of them, and every refusal. */
#include "api_fixture.h"

#include "base/alloc.h"

#define TARGET "\"target\":{\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/x\"}"
#define RULE   "\"rule\":{\"cron\":\"0 9 * * 1-5\"}"
#define BASE   "\"name\":\"a\"," RULE "," TARGET
#define NONE   "00000000-0000-4000-8000-000000000000"

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

static void path_of(char *path, size_t size, const char *id, const char *rest)
{
	assert_true(snprintf(path, size, "/v1/deployments/%s%s", id, rest) < (int)size);
}

/* Is `expected`, as JSON, what the member holds? */
static void expect_member(const struct api_fixture *f, const char *member, const char *expected)
{
	json_t *wanted = NULL;

	assert_int_equal(bf_json_parse(bf_str(expected), SIZE_MAX, &wanted, NULL), BELFRY_OK);
	if (!json_equal(api_member(f, member), wanted)) {
		fail_msg("%s is not %s in %.*s", member, expected,
				BF_STR_ARGS(bf_buf_str(&f->reply.body)));
	}
	json_decref(wanted);
}

static void a_created_deployment_has_every_member_with_its_default(void **state)
{
	static const char *const members[] = {"id", "name", "owner", "enabled", "phase", "rule",
			"timezone", "prompt", "input", "target", "policies", "notify", "labels",
			"managed_by", "phase_reason", "paused_until", "next_due", "last_error",
			"timezone_used", "revision", "created_at", "updated_at"};
	struct api_fixture *f = *state;
	char location[80];

	f->host.fake.next_due = 1796086800 * BELFRY_SECOND;
	api_expect(f, "POST", "/v1/deployments", "{" BASE "}", 201, "");
	for (size_t i = 0; i < BF_COUNT(members); i++) {
		(void)api_member(f, members[i]);
	}
	assert_int_equal(json_object_size(f->json), BF_COUNT(members));
	(void)snprintf(location, sizeof(location), "/v1/deployments/%s", api_text(f, "id"));
	check_text(api_field(f, "Location"), location);
	check_text(api_field(f, "ETag"), "\"1\"");
	check_text(api_field(f, "Content-Type"), "application/json");
	assert_string_equal(api_text(f, "owner"), "default");
	assert_string_equal(api_text(f, "phase"), "active");
	assert_string_equal(api_text(f, "timezone_used"), "UTC");
	expect_member(f, "next_due", "[\"2026-12-01T01:00:00Z\"]");
	expect_member(f, "target",
			"{\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/x\","
			"\"method\":\"POST\",\"headers\":{},\"body\":null,\"secret\":null}");
	expect_member(f, "policies",
			"{\"missed\":{\"policy\":\"skip\",\"max_age\":\"PT1H\",\"max_count\":10},"
			"\"grace\":\"PT1M\",\"late_limit\":\"PT1H\",\"overlap\":\"allow\","
			"\"interrupted\":\"resume\",\"retry\":{\"max_attempts\":8,"
			"\"first_delay\":\"PT1S\",\"max_delay\":\"PT1M\"},\"timeout\":\"PT1M\","
			"\"session_timeout\":\"P1D\",\"on_exhausted\":\"keep\",\"on_failure\":"
			"{\"disable_after\":null},\"dst\":{\"gap\":\"at_end\",\"fold\":\"first\"},"
			"\"deadline\":null}");
}

static void what_is_given_is_what_is_shown(void **state)
{
	struct api_fixture *f = *state;
	char path[100];

	api_expect(f, "POST", "/v1/deployments",
			"{\"name\":\"b\",\"enabled\":false,\"rule\":{\"cron\":\"*/5 * * * *\"},"
			"\"timezone\":\"Asia/Shanghai\",\"prompt\":\"p\",\"input\":{\"a\":[1,null]},"
			"\"labels\":{\"team\":\"ops\"},\"notify\":[],\"target\":{\"kind\":\"webhook\","
			"\"url\":\"https://hooks.example.org/x\",\"method\":\"PUT\",\"headers\":"
			"{\"X-Team\":\"ops\",\"Authorization\":{\"secret\":\"KEY\"}},\"body\":"
			"{\"x\":1},\"secret\":\"SIGN\"},\"policies\":{\"grace\":\"2m\",\"timeout\":"
			"\"PT5S\",\"retry\":{\"max_attempts\":3},\"interrupted\":\"abandon\","
			"\"dst\":{\"gap\":\"skip\",\"fold\":\"both\"}}}",
			201, "");
	path_of(path, sizeof(path), api_text(f, "id"), "");
	api_expect(f, "GET", path, NULL, 200, "");
	expect_member(f, "enabled", "false");
	expect_member(f, "input", "{\"a\":[1,null]}");
	expect_member(f, "labels", "{\"team\":\"ops\"}");
	expect_member(f, "timezone", "\"Asia/Shanghai\"");
	expect_member(f, "next_due", "[]");
	expect_member(f, "target",
			"{\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/x\",\"method\":"
			"\"PUT\",\"headers\":{\"X-Team\":\"ops\",\"Authorization\":{\"secret\":"
			"\"KEY\"}},\"body\":{\"x\":1},\"secret\":\"SIGN\"}");
	json_t *policies = api_member(f, "policies");
	assert_string_equal(json_string_value(json_object_get(policies, "grace")), "PT2M");
	assert_string_equal(json_string_value(json_object_get(policies, "timeout")), "PT5S");
	assert_string_equal(json_string_value(json_object_get(policies, "interrupted")), "abandon");
}

static void t063_a_prompt_returns_as_it_was_sent(void **state)
{
	struct api_fixture *f = *state;
	const char *prompt = "quotes \" ' \\\" back\\slash \\n, tab\t, \xf0\x9f\x94\x94, "
			     "\xe4\xb8\xad\xe6\x96\x87, <script>, %s %n, ${HOME}, '; DROP TABLE x";
	json_t *body = json_pack("{s:s, s:{s:s}, s:s, s:{s:s, s:s}}", "name", "prompt", "rule",
			"cron", "0 9 * * *", "prompt", prompt, "target", "kind", "webhook", "url",
			"https://hooks.example.org/x");
	char *text = json_dumps(body, 0);
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_expect(f, "POST", "/v1/deployments", text, 201, "");
	memcpy(id, api_text(f, "id"), sizeof(id));
	path_of(path, sizeof(path), id, "");
	api_expect(f, "GET", path, NULL, 200, "");
	assert_string_equal(api_text(f, "prompt"), prompt);
	struct fake_schedule *schedule = fake_find_schedule(&f->host.fake, id);
	json_t *payload = json_loadb(schedule->payload, schedule->payload_len, 0, NULL);
	assert_string_equal(json_string_value(json_object_get(payload, "prompt")), prompt);
	json_decref(payload);
	json_decref(body);
	bf_free(text);
}

struct refusal {
	const char *body;
	int status;
	const char *code;
	const char *pointer; /* "" none */
	const char *words;   /* of the detail */
};

static void check_refusal(struct api_fixture *f, const char *method, const char *path,
		const struct refusal *row)
{
	api_expect(f, method, path, row->body, row->status, row->code);
	if (strcmp(api_text(f, "pointer"), row->pointer) != 0) {
		fail_msg("%.200s: pointer %s, not %s (%s)", row->body, api_text(f, "pointer"),
				row->pointer, api_text(f, "detail"));
	}
	check_contains(bf_str(api_text(f, "detail")), row->words);
	check_text(api_field(f, "Content-Type"), "application/problem+json");
}

#define BAD(body, pointer, words)                                                                  \
	{                                                                                          \
		body, 400, "INVALID_REQUEST", pointer, words                                       \
	}
#define POLICY(text)  "{" BASE ",\"policies\":{" text "}}"
#define WEBHOOK(text) "{\"name\":\"a\"," RULE ",\"target\":{\"kind\":\"webhook\"," text "}}"
#define HOOK_URL      "\"url\":\"https://hooks.example.org/x\""

static const struct refusal refusals[] = {
		BAD("", "", "body"),
		BAD("[]", "", "object"),
		BAD("{", "", "ends"),
		BAD("{\"a\":1,\"a\":2}", "", "twice"),
		BAD("{\"name\":\"\xff\"}", "", "UTF-8"),
		BAD("{\"name\":\"\\u0000\"}", "", "u0000"),
		BAD("{}", "/name", "name"),
		BAD("{\"name\":\"\"," RULE "," TARGET "}", "/name", "empty"),
		BAD("{\"name\":null," RULE "," TARGET "}", "/name", "name"),
		BAD("{\"name\":7," RULE "," TARGET "}", "/name", "text"),
		BAD("{\"name\":\"a\\nb\"," RULE "," TARGET "}", "/name", "control"),
		BAD("{\"name\":\"a\"," TARGET "}", "/rule", "rule"),
		BAD("{\"name\":\"a\"," RULE "}", "/target", "target"),
		BAD("{" BASE ",\"colour\":1}", "/colour", "colour"),
		BAD("{" BASE ",\"disabled_reason\":\"x\"}", "/disabled_reason", "disabled_reason"),
		BAD("{" BASE ",\"id\":\"x\"}", "/id", "read-only"),
		BAD("{" BASE ",\"owner\":\"x\"}", "/owner", "read-only"),
		BAD("{" BASE ",\"phase\":\"active\"}", "/phase", "read-only"),
		BAD("{" BASE ",\"phase_reason\":null}", "/phase_reason", "read-only"),
		BAD("{" BASE ",\"managed_by\":null}", "/managed_by", "read-only"),
		BAD("{" BASE ",\"paused_until\":null}", "/paused_until", "read-only"),
		BAD("{" BASE ",\"next_due\":[]}", "/next_due", "read-only"),
		BAD("{" BASE ",\"last_error\":null}", "/last_error", "read-only"),
		BAD("{" BASE ",\"revision\":1}", "/revision", "read-only"),
		BAD("{" BASE ",\"created_at\":\"2026-01-01T00:00:00Z\"}", "/created_at",
				"read-only"),
		BAD("{" BASE ",\"updated_at\":\"2026-01-01T00:00:00Z\"}", "/updated_at",
				"read-only"),
		BAD("{" BASE ",\"timezone_used\":\"UTC\"}", "/timezone_used", "read-only"),
		BAD("{" BASE ",\"enabled\":\"yes\"}", "/enabled", "true or false"),
		BAD("{" BASE ",\"prompt\":{}}", "/prompt", "text"),
		BAD("{" BASE ",\"labels\":[]}", "/labels", "object"),
		BAD("{" BASE ",\"labels\":{\"a\":1}}", "/labels/a", "text"),
		BAD("{" BASE ",\"labels\":{\"\":\"x\"}}", "/labels", "label"),
		BAD("{" BASE ",\"notify\":[{\"on\":[\"failed\"],\"to\":\"x\"}]}", "/notify",
				"this version does not offer"),
		/* rule and zone */
		BAD("{\"name\":\"a\",\"rule\":\"0 9 * * *\"," TARGET "}", "/rule", "object"),
		{"{\"name\":\"a\",\"rule\":{\"cron\":\"0 9 * *\"}," TARGET "}", 400,
				"INVALID_SCHEDULE", "/rule/cron", "rule"},
		{"{\"name\":\"a\",\"rule\":{\"cron\":\"61 9 * * *\"}," TARGET "}", 400,
				"INVALID_SCHEDULE", "/rule/cron", "rule"},
		{"{\"name\":\"a\",\"rule\":{\"cron\":\"0 0 30 2 *\"}," TARGET "}", 400,
				"INVALID_SCHEDULE", "/rule/cron", "rule"},
		{"{" BASE ",\"timezone\":\"../../etc/passwd\"}", 400, "INVALID_SCHEDULE",
				"/timezone", "zone"},
		{"{" BASE ",\"timezone\":\"Mars/Olympus\"}", 400, "INVALID_SCHEDULE", "/timezone",
				"zone"},
		BAD("{" BASE ",\"timezone\":7}", "/timezone", "text"),
		/* targets */
		BAD("{\"name\":\"a\"," RULE ",\"target\":{}}", "/target/kind", "kind"),
		BAD("{\"name\":\"a\"," RULE ",\"target\":{\"kind\":\"exec\",\"command\":[\"x\"]}}",
				"/target/command/0", "absolute path"),
		BAD("{\"name\":\"a\"," RULE ",\"target\":{\"kind\":\"remote\",\"url\":\"x\"}}",
				"/target/kind", "this version does not offer \"remote\""),
		BAD("{\"name\":\"a\"," RULE ",\"target\":{\"kind\":\"chat\",\"url\":\"x\"}}",
				"/target/kind", "this version does not offer \"chat\""),
		BAD("{\"name\":\"a\"," RULE ",\"target\":{\"kind\":\"mail\"}}", "/target/kind",
				"webhook"),
		BAD(WEBHOOK("\"method\":\"POST\""), "/target/url", "url"),
		BAD(WEBHOOK("\"url\":\"ftp://example.org/\""), "/target/url", "http"),
		BAD(WEBHOOK("\"url\":\"https://a:b@example.org/\""), "/target/url", ""),
		BAD(WEBHOOK(HOOK_URL ",\"method\":\"TRACE\""), "/target/method", "POST"),
		BAD(WEBHOOK(HOOK_URL ",\"headers\":{\"Host\":\"x\"}"), "/target/headers", ""),
		BAD(WEBHOOK(HOOK_URL ",\"headers\":{\"X-A\":\"a\\r\\nb\"}"), "/target/headers", ""),
		BAD(WEBHOOK(HOOK_URL ",\"headers\":{\"X-A\":{\"secret\":\"../x\"}}"),
				"/target/headers", ""),
		BAD(WEBHOOK(HOOK_URL ",\"headers\":{\"X-A\":5}"), "/target/headers/X-A", "secret"),
		BAD(WEBHOOK(HOOK_URL ",\"secret\":\"../../etc/shadow\""), "/target/secret", ""),
		BAD(WEBHOOK(HOOK_URL ",\"command\":[]"), "/target/command", "command"),
		{WEBHOOK("\"url\":\"http://127.0.0.1/x\""), 422, "TARGET_NOT_ALLOWED",
				"/target/url", "--allow"},
		{WEBHOOK("\"url\":\"http://169.254.169.254/\""), 422, "TARGET_NOT_ALLOWED",
				"/target/url", ""},
		{WEBHOOK("\"url\":\"http://localhost/\""), 422, "TARGET_NOT_ALLOWED", "/target/url",
				"--allow"},
		/* policies */
		BAD(POLICY("\"grce\":\"PT1M\""), "/policies/grce", "grce"),
		BAD(POLICY("\"grace\":\"soon\""), "/policies/grace", "grace"),
		BAD(POLICY("\"grace\":60"), "/policies/grace", "grace"),
		BAD(POLICY("\"missed\":{\"policy\":\"fire_once\"}"), "/policies/missed/policy",
				"this version offers"),
		BAD(POLICY("\"missed\":{\"policy\":\"catch_up\"}"), "/policies/missed/policy",
				"this version offers"),
		BAD(POLICY("\"missed\":{\"max_count\":0}"), "/policies/missed/max_count", "1"),
		BAD(POLICY("\"overlap\":\"skip\""), "/policies/overlap", "this version offers"),
		BAD(POLICY("\"overlap\":\"queue\""), "/policies/overlap", "this version offers"),
		BAD(POLICY("\"overlap\":\"never\""), "/policies/overlap", "allow"),
		BAD(POLICY("\"on_exhausted\":\"disable\""), "/policies/on_exhausted",
				"this version offers"),
		BAD(POLICY("\"on_failure\":{\"disable_after\":3}"),
				"/policies/on_failure/disable_after", "this version offers"),
		BAD(POLICY("\"deadline\":\"PT1H\""), "/policies/deadline", "this version offers"),
		BAD(POLICY("\"retry\":{\"max_attempts\":0}"), "/policies/retry/max_attempts", "1"),
		BAD(POLICY("\"retry\":{\"max_attempts\":1001}"), "/policies/retry/max_attempts",
				"1000"),
		BAD(POLICY("\"retry\":{\"first_delay\":\"2m\"}"), "/policies/retry/max_delay",
				"first_delay"),
		BAD(POLICY("\"retry\":{\"tries\":1}"), "/policies/retry/tries", "tries"),
		BAD(POLICY("\"dst\":{\"gap\":\"maybe\"}"), "/policies/dst/gap", "at_end"),
		BAD(POLICY("\"session_timeout\":\"PT0S\""), "/policies/session_timeout", ""),
		BAD(POLICY("\"late_limit\":\"-PT1S\""), "/policies/late_limit", ""),
};

static void every_refusal_names_what_is_wrong_and_stores_nothing(void **state)
{
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(refusals); i++) {
		check_refusal(f, "POST", "/v1/deployments", &refusals[i]);
	}
	assert_int_equal(f->host.fake.calls[FAKE_APPLY], 0);
	api_expect(f, "GET", "/v1/deployments", NULL, 200, "");
	assert_int_equal(json_array_size(api_member(f, "items")), 0);
}

static void a_cron_fault_carries_its_position_in_the_expression(void **state)
{
	struct api_fixture *f = *state;

	api_expect(f, "POST", "/v1/deployments",
			"{\"name\":\"a\",\"rule\":{\"cron\":\"0 99 * * *\"}," TARGET "}", 400,
			"INVALID_SCHEDULE");
	assert_int_equal(json_integer_value(api_member(f, "position")), 2);
	api_expect(f, "POST", "/v1/deployments",
			"{\"name\":\"a\",\"rule\":{\"any\":[{\"every\":\"5m\"},{\"cron\":\"0 99 * * "
			"*\"}]}," TARGET "}",
			400, "INVALID_SCHEDULE");
	assert_string_equal(api_text(f, "pointer"), "/rule/any/1/cron");
	assert_int_equal(json_integer_value(api_member(f, "position")), 2);
}

/* {"name":"aaa...","rule":...} with `count` letters in the member. */
static char *long_body(const char *member, size_t count)
{
	struct bf_buf body = {0};

	bf_buf_appendf(&body, "{%s\"%s\":\"",
			strcmp(member, "name") == 0 ? "" : "\"name\":\"long\",", member);
	for (size_t i = 0; i < count; i++) {
		bf_buf_append_byte(&body, 'a');
	}
	bf_buf_append_text(&body, "\"," RULE "," TARGET "}");
	char *text = bf_buf_take(&body);
	assert_non_null(text);
	return text;
}

static void sizes_are_limited_at_the_byte(void **state)
{
	static const struct {
		const char *member;
		size_t count;
		int status;
		const char *code;
	} rows[] = {
			{"name", 200, 201, ""},
			{"name", 201, 400, "INVALID_REQUEST"},
			{"prompt", 1024 * 1024, 201, ""},
			{"prompt", 1024 * 1024 + 1, 400, "INVALID_REQUEST"},
			{"input", 1024 * 1024 - 2, 409, "CONFLICT"}, /* the name "long" is there */
			{"input", 1024 * 1024 - 1, 413, "PAYLOAD_TOO_LARGE"},
			{"prompt", 10 * 1024 * 1024, 413, "PAYLOAD_TOO_LARGE"},
	};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		char *body = long_body(rows[i].member, rows[i].count);
		api_expect(f, "POST", "/v1/deployments", body, rows[i].status, rows[i].code);
		bf_free(body);
	}
}

static void a_rule_is_limited_and_deep_json_refused(void **state)
{
	struct api_fixture *f = *state;
	struct bf_buf body = {0};

	bf_buf_append_text(&body, "{\"name\":\"a\",\"rule\":{\"cron\":\"");
	for (size_t i = 0; i < 4097; i++) {
		bf_buf_append_byte(&body, '0');
	}
	bf_buf_append_text(&body, "\"}," TARGET "}");
	api_expect(f, "POST", "/v1/deployments", body.ptr, 400, "INVALID_REQUEST");
	check_contains(bf_str(api_text(f, "detail")), "4096");
	bf_buf_clear(&body);
	bf_buf_append_text(&body, "{" BASE ",\"input\":");
	for (size_t i = 0; i < 10000; i++) {
		bf_buf_append_byte(&body, '[');
	}
	for (size_t i = 0; i < 10000; i++) {
		bf_buf_append_byte(&body, ']');
	}
	bf_buf_append_text(&body, "}");
	api_expect(f, "POST", "/v1/deployments", body.ptr, 400, "INVALID_REQUEST");
	check_contains(bf_str(api_text(f, "detail")), "deep");
	bf_buf_fini(&body);
}

static void names_are_unique_and_the_refusal_says_so(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	api_expect(f, "POST", "/v1/deployments", "{" BASE "}", 409, "CONFLICT");
	assert_string_equal(api_text(f, "pointer"), "/name");
	api_make_deployment(f, "b", id);
	path_of(path, sizeof(path), id, "");
	api_expect(f, "PATCH", path, "{\"name\":\"a\"}", 409, "CONFLICT");
	api_expect(f, "GET", path, NULL, 200, "");
	assert_string_equal(api_text(f, "name"), "b");
}

static void a_patch_merges_and_null_is_the_default(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	path_of(path, sizeof(path), id, "");
	api_expect(f, "PATCH", path,
			"{\"prompt\":\"p\",\"policies\":{\"timeout\":\"PT5S\"},\"labels\":{\"a\":\"1\","
			"\"b\":\"2\"},\"input\":{\"x\":1,\"y\":{\"z\":2}}}",
			200, "");
	check_text(api_field(f, "ETag"), "\"2\"");
	expect_member(f, "prompt", "\"p\"");
	assert_string_equal(
			json_string_value(json_object_get(api_member(f, "policies"), "timeout")),
			"PT5S");
	api_expect(f, "PATCH", path,
			"{\"prompt\":null,\"policies\":{\"timeout\":null},\"labels\":{\"a\":null},"
			"\"input\":{\"y\":{\"z\":null}}}",
			200, "");
	expect_member(f, "prompt", "\"\"");
	expect_member(f, "labels", "{\"b\":\"2\"}");
	expect_member(f, "input", "{\"x\":1,\"y\":{}}");
	assert_string_equal(
			json_string_value(json_object_get(api_member(f, "policies"), "timeout")),
			"PT1M");
	api_expect(f, "PATCH", path, "{\"rule\":{\"cron\":null,\"every\":\"PT30M\"}}", 200, "");
	expect_member(f, "rule", "{\"every\":\"PT30M\"}");
	assert_int_equal(fake_find_schedule(&f->host.fake, id)->revision, 4);
}

/* By the rules of a merge patch: what the other kind has not is taken away. The command is what is refused
 * then: so all of the rest was taken. */
static void a_patch_can_change_the_kind_of_a_target(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	path_of(path, sizeof(path), id, "");
	api_expect(f, "PATCH", path, "{\"target\":{\"kind\":\"exec\",\"command\":[\"/bin/true\"]}}",
			400, "INVALID_REQUEST");
	api_expect(f, "PATCH", path,
			"{\"target\":{\"kind\":\"exec\",\"command\":[\"/bin/true\"],\"url\":null,"
			"\"method\":null,\"headers\":null,\"body\":null,\"secret\":null}}",
			422, "TARGET_NOT_ALLOWED");
	assert_string_equal(api_text(f, "pointer"), "/target/command/0");
	/* A member of another kind may be taken away where there is none: the patch may be sent again. */
	api_expect(f, "PATCH", path, "{\"target\":{\"cwd\":null,\"env\":null}}", 200, "");
	api_expect(f, "PATCH", path, "{\"target\":{\"colour\":null}}", 400, "INVALID_REQUEST");
}

static void a_patch_is_refused_like_a_create(void **state)
{
	static const struct refusal rows[] = {
			BAD("[]", "", "object"),
			BAD("{\"colour\":null}", "/colour", "colour"),
			BAD("{\"policies\":{\"colour\":null}}", "/policies/colour", "colour"),
			BAD("{\"id\":null}", "/id", "read-only"),
			BAD("{\"disabled_reason\":null}", "/disabled_reason", "disabled_reason"),
			BAD("{\"name\":null}", "/name", "name"),
			BAD("{\"target\":null}", "/target", "target"),
			BAD("{\"target\":{\"url\":null}}", "/target/url", "url"),
			{"{\"rule\":{\"cron\":\"x\"}}", 400, "INVALID_SCHEDULE", "/rule/cron",
					"rule"},
			{"{\"enabled\":false,\"rule\":{\"cron\":\"x\"}}", 400, "INVALID_SCHEDULE",
					"/rule/cron", "rule"},
			{"{\"target\":{\"url\":\"http://10.0.0.1/\"}}", 422, "TARGET_NOT_ALLOWED",
					"/target/url", "--allow"},
	};
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	path_of(path, sizeof(path), id, "");
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		check_refusal(f, "PATCH", path, &rows[i]);
	}
	api_expect(f, "GET", path, NULL, 200, "");
	assert_int_equal(json_integer_value(api_member(f, "revision")), 1);
}

static void if_match_decides_between_two_editors(void **state)
{
	static const char *const stale[] = {"If-Match: \"1\"\r\n", "If-Match: W/\"2\"\r\n",
			"If-Match: 2\r\n", "If-Match: \"x\"\r\n", "If-Match: \"-2\"\r\n",
			"If-Match: \r\n", "If-Match: ,\r\n", "If-Match: \"2\r\n",
			"If-Match: \"2\" \"2\"\r\n", "If-Match: \"1\", \"3\"\r\n",
			"If-Match: \"1\", W/\"2\"\r\n", "If-Match: \"1\"\r\nIf-Match: \"7\"\r\n"};
	static const char *const good[] = {"If-Match: \"1\", \"3\"\r\n",
			"If-Match: \"a,\\b\" , ,\"4\"\r\n", "If-Match: W/\"1\",\"5\"\r\n",
			"If-Match: \"1\"\r\nIf-Match: \"6\"\r\n"};
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	path_of(path, sizeof(path), id, "");
	assert_int_equal(api_ask(f, "PATCH", path, "If-Match: \"1\"\r\n", "{\"prompt\":\"1\"}"),
			200);
	for (size_t i = 0; i < BF_COUNT(stale); i++) {
		assert_int_equal(api_ask(f, "PATCH", path, stale[i], "{\"prompt\":\"2\"}"), 412);
		assert_string_equal(api_text(f, "code"), "PRECONDITION_FAILED");
	}
	assert_int_equal(api_ask(f, "DELETE", path, "If-Match: \"1\"\r\n", NULL), 412);
	assert_int_equal(api_ask(f, "PATCH", path, "If-Match: *\r\n", "{\"prompt\":\"3\"}"), 200);
	assert_string_equal(api_text(f, "prompt"), "3");
	for (size_t i = 0; i < BF_COUNT(good); i++) {
		assert_int_equal(api_ask(f, "PATCH", path, good[i], "{\"prompt\":\"4\"}"), 200);
	}
	assert_int_equal(api_ask(f, "DELETE", path, "If-Match: \"3\"\r\n", NULL), 412);
	assert_int_equal(api_ask(f, "DELETE", path, "If-Match: \"3\", \"7\"\r\n", NULL), 204);
	assert_int_equal(api_ask(f, "DELETE", path, "If-Match: \"3\", \"7\"\r\n", NULL), 404);
}

static void a_merge_patch_has_a_media_type_of_its_own(void **state)
{
	struct api_fixture *f = *state;
	struct bf_buf request = {0};
	char id[BELFRY_ID_TEXT_BYTES];

	api_make_deployment(f, "a", id);
	bf_buf_appendf(&request,
			"PATCH /v1/deployments/%s HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
			"application/merge-patch+json; charset=utf-8\r\nContent-Length: 14\r\n"
			"Connection: close\r\n\r\n{\"prompt\":\"p\"}",
			id);
	struct client client = client_open(f->port);
	client_send(&client, bf_buf_str(&request));
	struct reply reply = client_read(&client, false);
	client_close(&client);
	assert_int_equal(reply.status, 200);
	reply_fini(&reply);
	bf_buf_fini(&request);
}

static size_t count_items(struct api_fixture *f, const char *path)
{
	api_expect(f, "GET", path, NULL, 200, "");
	return json_array_size(api_member(f, "items"));
}

static void a_list_can_be_asked_for_by_label(void **state)
{
	static const char *const bad[] = {"", "team", "=ops"};
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[200];

	for (int i = 0; i < 60; i++) {
		(void)snprintf(path, sizeof(path), "n%02d", i);
		api_make_deployment(f, path, id);
		if (i % 20 == 19) {
			path_of(path, sizeof(path), id, "");
			api_expect(f, "PATCH", path, "{\"labels\":{\"team\":\"a=b\",\"x\":\"\"}}",
					200, "");
		}
	}
	assert_int_equal(count_items(f, "/v1/deployments?label=team=a=b"), 3);
	assert_int_equal(count_items(f, "/v1/deployments?label=x="), 3);
	assert_int_equal(count_items(f, "/v1/deployments?label=team=a"), 0);
	assert_int_equal(count_items(f, "/v1/deployments?label=tea=a=b"), 0);
	assert_int_equal(count_items(f, "/v1/deployments?label=team=a%3Db&limit=2"), 2);
	(void)snprintf(path, sizeof(path), "/v1/deployments?label=x=&limit=2&cursor=%s",
			api_text(f, "next_cursor"));
	assert_int_equal(count_items(f, path), 1);
	assert_true(json_is_null(api_member(f, "next_cursor")));
	assert_int_equal(count_items(f, "/v1/deployments?label=x=&name=n19"), 1);
	assert_int_equal(count_items(f, "/v1/deployments?label=x=&name=n18"), 0);
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		(void)snprintf(path, sizeof(path), "/v1/deployments?label=%s", bad[i]);
		api_expect(f, "GET", path, NULL, 400, "INVALID_REQUEST");
	}
}

static void disable_says_why_and_enable_forgets_it(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	path_of(path, sizeof(path), id, "/disable");
	api_expect(f, "POST", path, "{\"reason\":\"holidays\"}", 200, "");
	expect_member(f, "enabled", "false");
	expect_member(f, "phase_reason", "\"holidays\"");
	struct fake_schedule *schedule = fake_find_schedule(&f->host.fake, id);
	assert_int_equal(schedule->flags & BELFRY_SCHEDULE_F_ENABLED, 0);
	assert_int_equal(schedule->revision, 2);
	api_expect(f, "POST", path, "{\"why\":\"x\"}", 400, "INVALID_REQUEST");
	api_expect(f, "POST", path, NULL, 200, "");
	expect_member(f, "phase_reason", "null");
	path_of(path, sizeof(path), id, "/enable");
	api_expect(f, "POST", path, "{\"reason\":\"x\"}", 400, "INVALID_REQUEST");
	api_expect(f, "POST", path, NULL, 200, "");
	expect_member(f, "enabled", "true");
	assert_int_equal(schedule->flags & BELFRY_SCHEDULE_F_ENABLED, BELFRY_SCHEDULE_F_ENABLED);
	assert_true((schedule->flags & BELFRY_SCHEDULE_F_LOCAL_SESSION) != 0);
	path_of(path, sizeof(path), NONE, "/disable");
	api_expect(f, "POST", path, NULL, 404, "NOT_FOUND");
}

static void a_deleted_deployment_is_gone_and_its_runs_stay(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	(void)fake_add_run(&f->host.fake, id, 1700000000 * BELFRY_SECOND);
	path_of(path, sizeof(path), id, "");
	api_expect(f, "DELETE", path, NULL, 204, "");
	assert_int_equal(f->reply.body.len, 0);
	assert_null(fake_find_schedule(&f->host.fake, id));
	api_expect(f, "GET", path, NULL, 404, "NOT_FOUND");
	api_expect(f, "DELETE", path, NULL, 404, "NOT_FOUND");
	api_expect(f, "GET", "/v1/runs", NULL, 200, "");
	assert_int_equal(json_array_size(api_member(f, "items")), 1);
	api_make_deployment(f, "a", id); /* the name is free again */
}

static void what_is_not_there_is_answered_alike(void **state)
{
	static const char *const paths[] = {"/v1/deployments/" NONE, "/v1/deployments/x",
			"/v1/deployments/..%2F..%2Fetc", "/v1/runs/" NONE, "/v1/runs/x",
			"/v1/deployments/" NONE "/runs", "/v1/deployments/" NONE "/why",
			"/v1/deployments/" NONE "/due", "/v1/runs/" NONE "/output", "/v1/nothing",
			"/v1/deployments/"};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(paths); i++) {
		api_expect(f, "GET", paths[i], NULL, 404, "NOT_FOUND");
		assert_string_equal(api_text(f, "detail"), "there is no such thing here");
		assert_int_equal(json_object_del(f->json, "request_id"), 0);
		assert_int_equal(json_object_size(f->json), 5);
	}
}

static void a_list_goes_page_by_page_and_can_be_filtered(void **state)
{
	static const char *const names[] = {"alpha", "beta", "beta-2", "gamma", "\xc3\xa9tude"};
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[700] = "/v1/deployments?limit=2";
	size_t seen = 0;

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		api_make_deployment(f, names[i], id);
	}
	while (path[0] != '\0') {
		api_expect(f, "GET", path, NULL, 200, "");
		json_t *items = api_member(f, "items");
		for (size_t i = 0; i < json_array_size(items); i++) {
			assert_string_equal(json_string_value(json_object_get(
							    json_array_get(items, i), "name")),
					names[seen++]);
		}
		const char *cursor = api_text(f, "next_cursor");
		(void)snprintf(path, sizeof(path),
				cursor[0] != '\0' ? "/v1/deployments?limit=2&cursor=%s" : "%s",
				cursor);
	}
	assert_int_equal(seen, BF_COUNT(names));
	api_expect(f, "PATCH", "/v1/deployments/x", "{}", 404, "NOT_FOUND");
	path_of(path, sizeof(path), id, "/disable");
	api_expect(f, "POST", path, NULL, 200, "");
	assert_int_equal(count_items(f, "/v1/deployments?q=beta"), 2);
	assert_int_equal(count_items(f, "/v1/deployments?name=beta"), 1);
	assert_int_equal(count_items(f, "/v1/deployments?name=bet&limit=200"), 0);
	assert_int_equal(count_items(f, "/v1/deployments?enabled=true"), 4);
	assert_int_equal(count_items(f, "/v1/deployments?enabled=false"), 1);
	assert_int_equal(count_items(f, "/v1/deployments?owner=default"), 5);
	assert_int_equal(count_items(f, "/v1/deployments?owner=else"), 0);
	assert_int_equal(count_items(f, "/v1/deployments?limit=0"), 1);
	assert_int_equal(count_items(f, "/v1/deployments?limit=-5"), 1);
	assert_int_equal(count_items(f, "/v1/deployments?limit=999"), 5);
}

static void unknown_and_wrong_parameters_are_refused_by_name(void **state)
{
	static const char *const paths[] = {"/v1/deployments?color=red", "/v1/deployments?limit=x",
			"/v1/deployments?limit=", "/v1/deployments?limit=1&limit=2",
			"/v1/deployments?enabled=yes", "/v1/deployments?cursor=zz",
			"/v1/deployments?cursor=abc", "/v1/deployments?label=a",
			"/v1/deployments?name=", "/v1/deployments/" NONE "?x=1", "/v1/settings?x=1",
			"/healthz?x=1", "/metrics?x=1", "/v1/runs?status=DONE",
			"/v1/runs?status=", "/v1/runs?trigger=cron", "/v1/runs?since=yesterday",
			"/v1/runs?cursor=7", "/v1/deployments/" NONE "/why?at=x",
			"/v1/deployments/" NONE "/due?n=x",
			"/v1/deployments/" NONE "/due?from=2026-01-01T00:00:00+08:00"};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(paths); i++) {
		api_expect(f, "GET", paths[i], NULL, 400, "INVALID_REQUEST");
		const char *query = strchr(paths[i], '?') + 1;
		struct belfry_str name = {query, strcspn(query, "=")};
		assert_true(bf_str_starts_with(bf_str(api_text(f, "detail")), name));
	}
}

static void t065_a_provider_that_is_down_is_answered_503(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	for (size_t i = 0; i < FAKE_METHOD_COUNT; i++) {
		f->host.fake.fails[i] = BELFRY_UNAVAILABLE;
	}
	api_expect(f, "POST", "/v1/deployments", "{\"name\":\"z\"," RULE "," TARGET "}", 503,
			"SCHEDULE_EXECUTION_UNAVAILABLE");
	check_text(api_field(f, "Retry-After"), "1");
	path_of(path, sizeof(path), id, "");
	api_expect(f, "PATCH", path, "{\"prompt\":\"x\"}", 503, "SCHEDULE_EXECUTION_UNAVAILABLE");
	path_of(path, sizeof(path), id, "/runs");
	api_expect(f, "POST", path, NULL, 503, "SCHEDULE_EXECUTION_UNAVAILABLE");
	check_text(api_field(f, "Retry-After"), "1");
	api_expect(f, "GET", path, NULL, 503, "SCHEDULE_EXECUTION_UNAVAILABLE");
	for (size_t i = 0; i < FAKE_METHOD_COUNT; i++) {
		f->host.fake.fails[i] = BELFRY_OK;
	}
	assert_int_equal(count_items(f, "/v1/deployments"), 1);
}

/* Gone from the first request on; the second one finishes what the provider could not do. */
static void t065_a_removal_that_the_provider_fails_is_finished_by_asking_again(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	path_of(path, sizeof(path), id, "");
	f->host.fake.fails[FAKE_REMOVE] = BELFRY_UNAVAILABLE;
	api_expect(f, "DELETE", path, NULL, 503, "SCHEDULE_EXECUTION_UNAVAILABLE");
	api_expect(f, "GET", path, NULL, 404, "NOT_FOUND");
	api_expect(f, "PATCH", path, "{\"prompt\":\"x\"}", 404, "NOT_FOUND");
	assert_int_equal(count_items(f, "/v1/deployments"), 0);
	f->host.fake.fails[FAKE_REMOVE] = BELFRY_OK;
	assert_int_equal(api_ask(f, "DELETE", path, "If-Match: \"1\"\r\n", NULL), 204);
	assert_null(fake_find_schedule(&f->host.fake, id));
	api_expect(f, "DELETE", path, NULL, 404, "NOT_FOUND");
}

static void t066_no_answer_holds_an_engine_word(void **state)
{
	static const enum belfry_status statuses[] = {BELFRY_UNAVAILABLE, BELFRY_UNKNOWN,
			BELFRY_BUSY, BELFRY_INTERNAL, BELFRY_CORRUPT, BELFRY_NOMEM};
	const char *words = "SELECT * FROM /var/lib/x.db SQLITE_FULL";
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char paths[5][100];

	api_make_deployment(f, "a", id);
	path_of(paths[0], 100, id, "");
	path_of(paths[1], 100, id, "/runs");
	path_of(paths[2], 100, id, "/why");
	path_of(paths[3], 100, id, "/due");
	(void)snprintf(paths[4], 100, "/v1/runs/" NONE);
	f->host.fake.detail = words;
	for (size_t s = 0; s < BF_COUNT(statuses); s++) {
		for (size_t i = 0; i < FAKE_METHOD_COUNT; i++) {
			f->host.fake.fails[i] = statuses[s];
		}
		for (size_t p = 0; p < BF_COUNT(paths); p++) {
			assert_true(api_ask(f, "GET", paths[p], NULL, NULL) >= 500);
			assert_null(strstr(f->reply.body.ptr, "SELECT"));
			assert_null(strstr(f->reply.body.ptr, "SQLITE"));
			assert_null(strstr(f->reply.body.ptr, ".db"));
			assert_null(strstr(f->reply.head.ptr, "SQLITE"));
		}
		assert_true(api_ask(f, "POST", "/v1/deployments", NULL,
					    "{\"name\":\"z\"," RULE "," TARGET "}") >= 500);
		assert_null(strstr(f->reply.body.ptr, "SQLITE"));
		(void)api_ask(f, "GET", "/readyz", NULL, NULL);
		assert_null(strstr(f->reply.body.ptr, "SQLITE"));
		(void)api_ask(f, "GET", "/metrics", NULL, NULL);
		assert_null(strstr(f->reply.body.ptr, "SQLITE"));
	}
	assert_true(host_fixture_has_logged(&f->host, words)); /* the operator does read it */
}

static void t071_a_refused_edit_leaves_the_old_definition(void **state)
{
	struct api_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	char path[100];

	api_make_deployment(f, "a", id);
	path_of(path, sizeof(path), id, "");
	f->host.fake.fails[FAKE_APPLY] = BELFRY_CAPACITY;
	api_expect(f, "PATCH", path, "{\"prompt\":\"new\"}", 409, "SCHEDULE_CAPACITY_EXCEEDED");
	f->host.fake.fails[FAKE_APPLY] = BELFRY_OK;
	api_expect(f, "GET", path, NULL, 200, "");
	expect_member(f, "prompt", "\"\"");
	expect_member(f, "revision", "3"); /* the old content under a new revision */
	api_expect(f, "PATCH", path, "{\"prompt\":\"newer\"}", 200, "");
	assert_int_equal(fake_find_schedule(&f->host.fake, id)->revision, 4);
}

static void t090_a_create_that_the_provider_refuses_leaves_no_record(void **state)
{
	static const struct {
		enum belfry_status status;
		int http;
		const char *code;
	} rows[] = {
			{BELFRY_CAPACITY, 409, "SCHEDULE_CAPACITY_EXCEEDED"},
			{BELFRY_CANNOT, 409, "SCHEDULE_UNAVAILABLE"},
			{BELFRY_INVALID_SCHEDULE, 400, "INVALID_SCHEDULE"},
			{BELFRY_UNAVAILABLE, 503, "SCHEDULE_EXECUTION_UNAVAILABLE"},
			{BELFRY_UNKNOWN, 503, "SCHEDULE_EXECUTION_UNAVAILABLE"},
	};
	struct api_fixture *f = *state;

	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		f->host.fake.fails[FAKE_APPLY] = rows[i].status;
		api_expect(f, "POST", "/v1/deployments", "{" BASE "}", rows[i].http, rows[i].code);
		assert_int_equal(count_items(f, "/v1/deployments"), 0);
	}
}

int run_api_deployment_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(a_created_deployment_has_every_member_with_its_default),
			CASE(what_is_given_is_what_is_shown),
			CASE(t063_a_prompt_returns_as_it_was_sent),
			CASE(every_refusal_names_what_is_wrong_and_stores_nothing),
			CASE(a_cron_fault_carries_its_position_in_the_expression),
			CASE(sizes_are_limited_at_the_byte),
			CASE(a_rule_is_limited_and_deep_json_refused),
			CASE(names_are_unique_and_the_refusal_says_so),
			CASE(a_patch_merges_and_null_is_the_default),
			CASE(a_patch_can_change_the_kind_of_a_target),
			CASE(a_patch_is_refused_like_a_create),
			CASE(if_match_decides_between_two_editors),
			CASE(a_merge_patch_has_a_media_type_of_its_own),
			CASE(a_list_can_be_asked_for_by_label),
			CASE(disable_says_why_and_enable_forgets_it),
			CASE(a_deleted_deployment_is_gone_and_its_runs_stay),
			CASE(what_is_not_there_is_answered_alike),
			CASE(a_list_goes_page_by_page_and_can_be_filtered),
			CASE(unknown_and_wrong_parameters_are_refused_by_name),
			CASE(t065_a_provider_that_is_down_is_answered_503),
			CASE(t065_a_removal_that_the_provider_fails_is_finished_by_asking_again),
			CASE(t066_no_answer_holds_an_engine_word),
			CASE(t071_a_refused_edit_leaves_the_old_definition),
			CASE(t090_a_create_that_the_provider_refuses_leaves_no_record),
#undef CASE
	};

	return cmocka_run_group_tests_name("api deployments", tests, NULL, NULL);
}
