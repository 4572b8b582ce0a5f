/* YAML read as JSON by the core schema, what is refused and where, and values written that read back. */
#include "base/alloc.h"
#include "base/str.h"
#include "cases.h"
#include "cli/yaml.h"

static enum belfry_status parse(const char *text, struct bf_yaml *ret_yaml,
		struct belfry_error *err)
{
	*err = (struct belfry_error){0};
	return bf_yaml_parse(bf_str(text), ret_yaml, err);
}

static void expect(const char *text, const char *documents)
{
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf got = {0};
	struct belfry_error err;

	if (parse(text, &yaml, &err) != BELFRY_OK) {
		fail_msg("%s\n   %s", text, err.message);
	}
	assert_int_equal(bf_json_dump(yaml.documents, &got), BELFRY_OK);
	assert_string_equal(got.ptr, documents);
}

static void expect_refusal(const char *text, const char *place, const char *words)
{
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
	struct belfry_error err;

	assert_int_equal(parse(text, &yaml, &err), BELFRY_INVALID);
	if (strncmp(err.message, place, strlen(place)) != 0 || strstr(err.message, words) == NULL) {
		fail_msg("%s\n   %s", text, err.message);
	}
}

static void what_older_yaml_takes_for_booleans_and_times_stays_text(void **state)
{
	(void)state;
	expect("[no, on, yes, off, y, N, 12:30, 1:00:00, 2026-12-01, 1_000, 0b1, 017x, =]",
			"[[\"no\",\"on\",\"yes\",\"off\",\"y\",\"N\",\"12:30\",\"1:00:00\",\"2026-12-01\","
			"\"1_000\",\"0b1\",\"017x\",\"=\"]]");
	expect("on: 1\n", "[{\"on\":1}]");
}

static void the_core_schema_reads_numbers_words_and_null(void **state)
{
	(void)state;
	expect("[null, ~, Null, true, FALSE, 1, -7, +7, 0o17, 0x1F, 007, 0, 9223372036854775807]",
			"[[null,null,null,true,false,1,-7,7,15,31,7,0,9223372036854775807]]");
	expect("[1.0, .5, 1., 1e3, -2.5E-1, 01.5]", "[[1.0,0.5,1.0,1000.0,-0.25,1.5]]");
	expect("['1', \"true\", !!str 12, ! no, '~']", "[[\"1\",\"true\",\"12\",\"no\",\"~\"]]");
	expect("a:\nb: ''\n", "[{\"a\":null,\"b\":\"\"}]");
}

static void a_stream_has_documents_and_empty_ones_are_none(void **state)
{
	(void)state;
	expect("", "[]");
	expect("# only words\n", "[]");
	expect("---\na: 1\n---\n---\nb: 2\n...\n", "[{\"a\":1},{\"b\":2}]");
	expect("\xef\xbb\xbf"
	       "a: 1\n",
			"[{\"a\":1}]");
	expect("{\"a\": [1, {\"b\": \"\\u00e4\\n\"}]}", "[{\"a\":[1,{\"b\":\"\xc3\xa4\\n\"}]}]");
	expect("a: |\n  one\n  two\nb: >-\n  three\n  four\n",
			"[{\"a\":\"one\\ntwo\\n\",\"b\":\"three four\"}]");
}

static void what_json_has_no_word_for_is_refused_at_its_place(void **state)
{
	(void)state;
	expect_refusal("a: 1\nb: 2\na: 3\n", "line 3, column 1: ", "\"a\" is given twice");
	expect_refusal("a: &x [1]\nb: *x\n", "line 1, column 4: ", "anchors and aliases");
	expect_refusal("rule: {cron: * * * * *}\n", "line 1, ", "not YAML");
	expect_refusal("a: *x\n", "line 1, column 4: ", "quote text that begins with *");
	expect_refusal("a: !secret x\n", "line 1, column 4: ", "the tag !secret");
	expect_refusal("a: !!binary aGk=\n", "line 1, ", "the tag ");
	expect_refusal("? [1]\n: 2\n", "line 1, column 3: ", "a key must be text");
	expect_refusal("a: .inf\n", "line 1, column 4: ", "no such number");
	expect_refusal("a: 9223372036854775808\n", "line 1, column 4: ", "does not fit");
	expect_refusal("a: 0xffffffffffffffff\n", "line 1, column 4: ", "does not fit");
	expect_refusal("a: 1e999\n", "line 1, column 4: ", "does not fit");
	expect_refusal("a: \"x\\0y\"\n", "line 1, column 4: ", "U+0000");
	expect_refusal("ok: 1\nb\xff: 2\n", "line 2, column 2: ", "not UTF-8");
	expect_refusal("a: [1\nb: 2\n", "line 2, ", "not YAML");
	expect_refusal("a: 1\n\tb: 2\n", "line 2, ", "not YAML");
}

static void depth_is_bounded(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	(void)state;
	for (int i = 0; i < 100000; i++) {
		bf_buf_append_byte(&text, '[');
	}
	expect_refusal(text.ptr, "line 1, column 65: ", "nested more than 64 deep");
}

static void a_mapping_remembers_its_line(void **state)
{
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
	struct belfry_error err;

	(void)state;
	assert_int_equal(parse("deployments:\n  - name: a\n  # b\n  - name: b\n", &yaml, &err),
			BELFRY_OK);
	const json_t *list = json_object_get(json_array_get(yaml.documents, 0), "deployments");
	assert_int_equal(bf_yaml_line(&yaml, json_array_get(list, 0)), 2);
	assert_int_equal(bf_yaml_line(&yaml, json_array_get(list, 1)), 4);
	assert_int_equal(bf_yaml_line(&yaml, NULL), 0);
}

static void expect_back(const json_t *value)
{
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct belfry_error err;

	assert_int_equal(bf_yaml_write(value, 0, &text), BELFRY_OK);
	if (parse(text.ptr, &yaml, &err) != BELFRY_OK) {
		fail_msg("%s\n   %s", text.ptr, err.message);
	}
	if (!json_equal(json_array_get(yaml.documents, 0), value)) {
		fail_msg("does not read back:\n%s", text.ptr);
	}
}

static void expect_text_back(const char *text)
{
	BF_CLEANUP(bf_cleanup_json)
	json_t *value = json_pack("{s:s, s:[s, [s, {s:s}]], s:{s:{s:s}}}", "a", text, "b", text,
			text, "c", text, "d", "e", text, text);

	assert_non_null(value);
	expect_back(value);
}

static void every_text_reads_back(void **state)
{
	static const char *const texts[] = {"", " ", "plain", " leading", "trailing ", "on", "No",
			"1.0", "1", "-1", "~", "null", ".5", "0x1f", "12:30", "a: b", "a #b", "#b",
			"'", "\"", "say \"hi\"", "\\", "a\\nb", "- a", "-", "?", ": x", "x:", "*x",
			"&x", "!x", "|", ">", "%x", "@x", "`x", "[x", "{x", "---", "--- a", "...",
			"a\nb", "a\nb\n", "a\nb\n\n", "\n", "\n\na", " a\nb", "a \nb",
			"a\n  b\n\nc", "a\tb", "\ta", "a\n\tb", "a\r\nb", "# not a comment\nb",
			"a\n# b\n---\n...\n", "\x01\x7f\x1b[31m", "\xc2\x85 \xc2\xa0",
			"\xe2\x80\xa8x\xe2\x80\xae", "\xef\xbb\xbfx", "\xef\xbf\xbe",
			"\xf0\x9f\x98\x80", "\xc3\xa4\xc3\xb6", "\xf0\x9f\x98\x80\n\xc3\xa4",
			"0 9 * * 1-5", "*/5 * * * *", "http://h:9/x?y=z#w", "2026-12-01", "PT1M",
			"<<", "="};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		expect_text_back(texts[i]);
	}
}

static void large_and_odd_values_read_back(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf large = {0};
	BF_CLEANUP(bf_cleanup_json)
	json_t *odd = json_loads(
			"[[],{},[[]],[{}],[[1,[2,{\"a\":[]}]]],null,true,1.0,1e+99,"
			"-0.5,-9223372036854775808,{\"\":{\"\":\"\"}},{\"1\":1,\"true\":2}]",
			0, NULL);

	(void)state;
	assert_non_null(odd);
	expect_back(odd);
	for (int i = 0; i < 40000; i++) {
		bf_buf_append_text(&large, "eine Zeile \xf0\x9f\x98\x80 of text\n\n");
	}
	BF_CLEANUP(bf_cleanup_json)
	json_t *value = json_pack("{s:s, s:s}", "prompt", large.ptr, "quoted", large.ptr + 1);
	assert_non_null(value);
	assert_int_equal(json_object_setn_new(value, large.ptr, 2000, json_integer(1)), 0);
	expect_back(value);
}

static void it_looks_as_people_write_it(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_cleanup_json)
	json_t *value = json_pack("{s:s, s:{s:s}, s:s, s:[s, {s:i, s:{}}], s:b}", "name",
			"morning-brief", "rule", "cron", "0 9 * * 1-5", "prompt", "one\ntwo\n",
			"list", "on", "a", 1, "b", "enabled", 0);

	(void)state;
	assert_int_equal(bf_yaml_write(value, 2, &text), BELFRY_OK);
	assert_string_equal(text.ptr,
			"  name: morning-brief\n"
			"  rule:\n"
			"    cron: 0 9 * * 1-5\n"
			"  prompt: |\n"
			"    one\n"
			"    two\n"
			"  list:\n"
			"    - \"on\"\n"
			"    - a: 1\n"
			"      b: {}\n"
			"  enabled: false\n");
}

static void reading_and_writing_bear_every_lack_of_memory(void **state)
{
	const char *text =
			"deployments:\n  - name: a\n    input: [1.5, 0x1f, {b: c}]\n    prompt: |\n      x\n";
	bool is_over = false;

	(void)state;
	for (int64_t call = 1; !is_over && call < 10000; call++) {
		BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
		BF_CLEANUP(bf_buf_fini) struct bf_buf back = {0};
		struct belfry_error err;

		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = parse(text, &yaml, &err);
		if (status == BELFRY_OK) {
			status = bf_yaml_write(yaml.documents, 0, &back);
		}
		is_over = bf_fault_fired(bf_alloc_fault()) == 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, is_over ? BELFRY_OK : BELFRY_NOMEM);
	}
	assert_true(is_over);
}

int run_yaml_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(what_older_yaml_takes_for_booleans_and_times_stays_text),
			cmocka_unit_test(the_core_schema_reads_numbers_words_and_null),
			cmocka_unit_test(a_stream_has_documents_and_empty_ones_are_none),
			cmocka_unit_test(what_json_has_no_word_for_is_refused_at_its_place),
			cmocka_unit_test(depth_is_bounded),
			cmocka_unit_test(a_mapping_remembers_its_line),
			cmocka_unit_test(every_text_reads_back),
			cmocka_unit_test(large_and_odd_values_read_back),
			cmocka_unit_test(it_looks_as_people_write_it),
			cmocka_unit_test(reading_and_writing_bear_every_lack_of_memory),
	};

	return cmocka_run_group_tests_name("yaml", tests, NULL, NULL);
}
