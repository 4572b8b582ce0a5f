/* The JSON layer: what is refused, where it says so, and that short memory is never called invalid. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/json.h"

static enum belfry_status parse(struct belfry_str text, json_t **ret_value,
		struct belfry_error *err)
{
	*ret_value = NULL;
	*err = (struct belfry_error){0};
	return bf_json_parse(text, 1u << 20, ret_value, err);
}

static void check_refused(struct belfry_str text, int64_t position, const char *words)
{
	json_t *value;
	struct belfry_error err;

	assert_int_equal(parse(text, &value, &err), BELFRY_INVALID);
	assert_null(value);
	assert_int_equal(err.position, position);
	if (strstr(err.message, words) == NULL) {
		fail_msg("\"%s\" does not say \"%s\"", err.message, words);
	}
}

static void check_round_trip(const char *in, const char *out)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct belfry_error err;

	assert_int_equal(parse(bf_str(in), &value, &err), BELFRY_OK);
	assert_int_equal(bf_json_dump(value, &text), BELFRY_OK);
	assert_string_equal(text.ptr, out);
}

static void what_is_valid_is_read_and_written_in_order(void **state)
{
	(void)state;
	check_round_trip(" { \"z\" : [ 1 , -2 , true , null ] , \"a\" : \"\\u00e9\" } ",
			"{\"z\":[1,-2,true,null],\"a\":\"\xc3\xa9\"}");
	check_round_trip("9223372036854775807", "9223372036854775807");
	check_round_trip("-9223372036854775808", "-9223372036854775808");
	check_round_trip("\"\\ud83d\\ude00\"", "\"\xf0\x9f\x98\x80\"");
	check_round_trip("\"\\\\u0000\"", "\"\\\\u0000\"");
	check_round_trip("\"[[{{\\\"\"", "\"[[{{\\\"\"");
	check_round_trip("{\"\":{}}", "{\"\":{}}");
}

static void a_member_given_twice_is_refused_by_name(void **state)
{
	(void)state;
	check_refused(bf_str("{\"a\":1,\"a\":2}"), 10, "\"a\"");
	check_refused(bf_str("{\"c\":1,\"\\u0063\":2}"), 15, "given twice");
	check_refused(bf_str("[{\"x\":{\"\\u0079\":0,\"y\":0}}]"), 21, "\"y\"");
}

static void a_member_given_twice_among_many_is_refused(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	json_t *value;
	struct belfry_error err;

	(void)state;
	bf_buf_append_byte(&text, '{');
	for (int i = 0; i < 50000; i++) {
		bf_buf_appendf(&text, "\"k%d\":0,", i);
	}
	bf_buf_append_text(&text, "\"\\u006b49999\":0}");
	assert_int_equal(bf_buf_status(&text), BELFRY_OK);
	assert_int_equal(parse(bf_buf_str(&text), &value, &err), BELFRY_INVALID);
	assert_non_null(strstr(err.message, "given twice"));
}

static void nest(struct bf_buf *text, const char *open, const char *close, int depth)
{
	for (int i = 0; i < depth; i++) {
		bf_buf_append_text(text, open);
	}
	bf_buf_append_byte(text, '1');
	for (int i = 0; i < depth; i++) {
		bf_buf_append_text(text, close);
	}
	assert_int_equal(bf_buf_status(text), BELFRY_OK);
}

static void nesting_is_limited(void **state)
{
	static const struct {
		const char *open;
		const char *close;
		int depth;
		int64_t position; /* 0: taken */
	} rows[] = {
			{"[", "]", 64, 0},
			{"[", "]", 65, 65},
			{"[", "]", 10000, 65},
			{"{\"a\":", "}", 64, 0},
			{"{\"a\":", "}", 10000, 64 * 5 + 1},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
		BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
		struct belfry_error err;
		nest(&text, rows[i].open, rows[i].close, rows[i].depth);
		if (rows[i].position > 0) {
			check_refused(bf_buf_str(&text), rows[i].position, "64 deep");
		} else {
			assert_int_equal(parse(bf_buf_str(&text), &value, &err), BELFRY_OK);
		}
	}
}

static void bad_text_is_refused_where_it_is(void **state)
{
	(void)state;
	check_refused(bf_str("[\"\xc0\x80\"]"), 3, "UTF-8");
	check_refused(bf_str("\"a\xed\xa0\x80\""), 3, "UTF-8");
	check_refused(bf_str("\"\xf4\x90\x80\x80\""), 2, "UTF-8");
	check_refused(bf_str("\"\xc3\xa9\xff\""), 4, "UTF-8");
	check_refused(bf_str("\"\xe2\x82"), 2, "UTF-8");
	check_refused((struct belfry_str){"\"a\0b\"", 5}, 3, "UTF-8");
	check_refused(bf_str("\"\\u0000\""), 2, "\\u0000");
	check_refused(bf_str("{\"a\\u0000\":1}"), 4, "\\u0000");
	check_refused(bf_str("\"\\ud800\""), 8, "not JSON");
	check_refused(bf_str("\"\\udc00\""), 8, "not JSON");
	check_refused(bf_str("\"\\ud800\\u0041\""), 14, "not JSON");
}

static void what_is_not_json_is_refused(void **state)
{
	static const char *const rows[] = {"01", "+1", ".5", "1.", "NaN", "Infinity", "'a'",
			"{a:1}", "[1,]", "{\"a\":1,}", "[1 2]", "{\"a\" 1}", "\"\t\"", "\"\\x\"",
			"tru", "[", "{", "\"", "]", "}", "[}", "/* */ 1", "\xef\xbb\xbf{}", " ",
			"{\"a\":}", "{1:1}"};
	json_t *value;
	struct belfry_error err;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		if (parse(bf_str(rows[i]), &value, &err) != BELFRY_INVALID || err.position < 1) {
			fail_msg("%s: %s (%lld)", rows[i], err.message, (long long)err.position);
		}
	}
	check_refused(bf_str(""), 1, "empty");
	check_refused(bf_str("{} x"), 4, "follows the end");
	check_refused(bf_str("{}{}"), 3, "follows the end");
	check_refused(bf_str("{\"a\":1"), 6, "ends before");
}

static void numbers_that_do_not_fit_are_refused(void **state)
{
	(void)state;
	check_refused(bf_str("[1e999]"), 6, "does not fit");
	check_refused(bf_str("[-1e999]"), 7, "does not fit");
	check_refused(bf_str("[9223372036854775808]"), 20, "does not fit");
	check_refused(bf_str("[-9223372036854775809]"), 21, "does not fit");
	check_refused(bf_str("[18446744073709551616]"), 21, "does not fit");
}

static void what_is_too_large_is_not_looked_at(void **state)
{
	json_t *value = NULL;
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(bf_json_parse(bf_str("\xff\xff\xff\xff\xff"), 4, &value, &err),
			BELFRY_TOO_LARGE);
	assert_non_null(strstr(err.message, "5 bytes"));
	assert_int_equal(bf_json_parse(bf_str("1234"), 4, &value, NULL), BELFRY_OK);
	json_decref(value);
}

/* --- the reader --- */

static const char *const colours[] = {"red", "green", "light_blue", NULL};

struct thing {
	struct belfry_str name;
	int64_t count;
	bool is_on;
	belfry_duration grace;
	belfry_time at;
	unsigned colour;
	struct belfry_str inner;
	struct belfry_str items[4];
	size_t item_count;
	struct belfry_str label;
	const json_t *any;
	bool has_null_note;
};

static void read_items(struct bf_json_reader *reader, struct thing *thing)
{
	const json_t *array;

	if (!bf_json_reader_array(reader, "items", BF_JSON_OPTIONAL, 1, 4, &array)) {
		return;
	}
	thing->item_count = json_array_size(array);
	for (size_t i = 0; i < thing->item_count; i++) {
		(void)bf_json_reader_item_string(reader, "items", array, i, 1, 8, &thing->items[i]);
	}
}

static void read_parts(struct bf_json_reader *reader)
{
	const json_t *array;
	struct bf_json_reader part;
	int64_t number;

	if (!bf_json_reader_array(reader, "parts", BF_JSON_OPTIONAL, 0, 8, &array)) {
		return;
	}
	for (size_t i = 0; i < json_array_size(array); i++) {
		if (bf_json_reader_enter_item(reader, "parts", array, i, &part)) {
			(void)bf_json_reader_int(&part, "n", BF_JSON_REQUIRED, 0, 9, &number);
			(void)bf_json_reader_end(&part);
		}
	}
}

static void read_labels(struct bf_json_reader *reader, struct thing *thing)
{
	const json_t *map;

	if (bf_json_reader_map(reader, "labels", BF_JSON_OPTIONAL, 2, &map) &&
			json_object_size(map) > 0) {
		const char *key = json_object_iter_key(json_object_iter((json_t *)(uintptr_t)map));
		(void)bf_json_reader_map_string(reader, "labels", map, key, 0, 4, &thing->label);
	}
}

static enum belfry_status read_thing(const char *text, struct thing *thing, json_t **value,
		struct belfry_error *err)
{
	struct bf_json_reader reader;
	struct bf_json_reader inner;

	*thing = (struct thing){0};
	*err = (struct belfry_error){0};
	assert_int_equal(bf_json_parse(bf_str(text), 1000, value, err), BELFRY_OK);
	bf_json_reader_begin(&reader, *value, "", err);
	(void)bf_json_reader_string(&reader, "name", BF_JSON_REQUIRED, 1, 8, &thing->name);
	(void)bf_json_reader_int(&reader, "count", BF_JSON_OPTIONAL, 1, 200, &thing->count);
	(void)bf_json_reader_bool(&reader, "on", BF_JSON_OPTIONAL, &thing->is_on);
	(void)bf_json_reader_duration(&reader, "grace", BF_JSON_OPTIONAL, BELFRY_SECOND,
			BELFRY_HOUR, &thing->grace);
	(void)bf_json_reader_time(&reader, "at", BF_JSON_NULLABLE, &thing->at);
	(void)bf_json_reader_enum(&reader, "colour", BF_JSON_OPTIONAL, colours, &thing->colour);
	(void)bf_json_reader_value(&reader, "any", BF_JSON_NULLABLE, &thing->any);
	thing->has_null_note = bf_json_reader_is_null(&reader, "note");
	bf_json_reader_ignore(&reader, "id");
	if (bf_json_reader_enter(&reader, "policy", BF_JSON_NULLABLE, &inner)) {
		(void)bf_json_reader_string(&inner, "a/b~c", BF_JSON_OPTIONAL, 0, 8, &thing->inner);
		(void)bf_json_reader_end(&inner);
	}
	read_items(&reader, thing);
	read_parts(&reader);
	read_labels(&reader, thing);
	return bf_json_reader_end(&reader);
}

static void a_full_object_is_read(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	struct thing thing;
	struct belfry_error err;

	(void)state;
	assert_int_equal(read_thing("{\"name\":\"x\",\"count\":200,\"on\":true,\"grace\":\"1m\","
				    "\"at\":\"1970-01-01T00:00:01Z\",\"colour\":\"green\","
				    "\"policy\":{\"a/b~c\":\"in\"},\"items\":[\"p\",\"q\"],"
				    "\"labels\":{\"k\":\"v\"},\"any\":[1],\"note\":null,\"id\":7,"
				    "\"parts\":[{\"n\":1},{\"n\":2}]}",
					 &thing, &value, &err),
			BELFRY_OK);
	assert_true(bf_str_equal(thing.name, BF_STR("x")));
	assert_int_equal(thing.count, 200);
	assert_true(thing.is_on);
	assert_int_equal(thing.grace, BELFRY_MINUTE);
	assert_int_equal(thing.at, BELFRY_SECOND);
	assert_int_equal(thing.colour, 1);
	assert_true(bf_str_equal(thing.inner, BF_STR("in")));
	assert_int_equal(thing.item_count, 2);
	assert_true(bf_str_equal(thing.items[1], BF_STR("q")));
	assert_true(bf_str_equal(thing.label, BF_STR("v")));
	assert_true(json_is_array(thing.any));
	assert_true(thing.has_null_note);
}

static void what_is_not_given_stays_as_it_was(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	struct thing thing;
	struct belfry_error err;

	(void)state;
	assert_int_equal(read_thing("{\"name\":\"x\",\"at\":null,\"policy\":null,\"any\":null}",
					 &thing, &value, &err),
			BELFRY_OK);
	assert_int_equal(thing.at, 0);
	assert_null(thing.any);
	assert_false(thing.has_null_note);
}

static void refusals_name_the_member_and_the_remedy(void **state)
{
	static const struct {
		const char *text;
		const char *pointer;
		const char *words;
	} rows[] = {
			{"[]", "", "an object is needed here, and this is a list"},
			{"{}", "/name", "\"name\" is missing"},
			{"{\"nmae\":\"x\"}", "/name", "\"nmae\" is there; is that it?"},
			{"{\"name\":\"\"}", "/name", "must not be empty"},
			{"{\"name\":\"123456789\"}", "/name",
					"has 9 bytes: it must have at most 8"},
			{"{\"name\":1}", "/name", "must be text, and is a number"},
			{"{\"name\":null}", "/name", "must be text, and is null"},
			{"{\"name\":\"x\",\"count\":0}", "/count",
					"is 0: it must be from 1 to 200"},
			{"{\"name\":\"x\",\"count\":1.0}", "/count",
					"a whole number, and is a number with"},
			{"{\"name\":\"x\",\"count\":\"1\"}", "/count", "and is text"},
			{"{\"name\":\"x\",\"on\":0}", "/on", "must be true or false"},
			{"{\"name\":\"x\",\"grace\":60}", "/grace",
					"\"PT10M\" or \"10m\", and is a number"},
			{"{\"name\":\"x\",\"grace\":\"6x\"}", "/grace",
					"is \"6x\": it must be a duration"},
			{"{\"name\":\"x\",\"grace\":\"2h\"}", "/grace", "from PT1S to PT1H"},
			{"{\"name\":\"x\",\"at\":\"soon\"}", "/at",
					"is \"soon\": it must be a time"},
			{"{\"name\":\"x\",\"colour\":\"gren\"}", "/colour",
					"did you mean \"green\"?"},
			{"{\"name\":\"x\",\"colour\":\"Light-Blue\"}", "/colour",
					"did you mean \"light_blue\"?"},
			{"{\"name\":\"x\",\"colour\":\"black\"}", "/colour",
					"must be one of: red, green, light_blue"},
			{"{\"name\":\"x\",\"colour\":1}", "/colour", "must be text"},
			{"{\"name\":\"x\",\"cuont\":1}", "/cuont", "did you mean \"count\"?"},
			{"{\"name\":\"x\",\"cnt\":1}", "/cnt", "did you mean \"count\"?"},
			{"{\"name\":\"x\",\"ply\":1}", "/ply", "did you mean \"policy\"?"},
			{"{\"name\":\"x\",\"pyl\":1}", "/pyl", "\"pyl\" here: leave it out"},
			{"{\"name\":\"x\",\"p\":1}", "/p", "\"p\" here: leave it out"},
			{"{\"name\":\"x\",\"zebra/~\":1}", "/zebra~1~0",
					"no member \"zebra/~\" here: leave it out"},
			{"{\"name\":\"x\",\"policy\":{\"a/b~c\":1}}", "/policy/a~1b~0c",
					"must be text"},
			{"{\"name\":\"x\",\"policy\":{\"b\":1}}", "/policy/b", "no member \"b\""},
			{"{\"name\":\"x\",\"policy\":[]}", "/policy",
					"must be an object, and is a list"},
			{"{\"name\":\"x\",\"items\":[]}", "/items",
					"has 0 items: it must have at least 1"},
			{"{\"name\":\"x\",\"items\":[\"a\",2]}", "/items/1",
					"\"items/1\" must be text"},
			{"{\"name\":\"x\",\"items\":[\"a\",\"\"]}", "/items/1",
					"must not be empty"},
			{"{\"name\":\"x\",\"parts\":[{\"n\":1},{\"n\":10}]}", "/parts/1/n",
					"from 0 to 9"},
			{"{\"name\":\"x\",\"parts\":[{\"n\":1},{\"m\":1}]}", "/parts/1/n",
					"is missing"},
			{"{\"name\":\"x\",\"parts\":[7]}", "/parts/0", "must be an object"},
			{"{\"name\":\"x\",\"labels\":{\"a\":1}}", "/labels/a",
					"\"labels/a\" must be text"},
			{"{\"name\":\"x\",\"labels\":{\"a\":\"\",\"b\":\"\",\"c\":\"\"}}",
					"/labels", "at most 2"},
			{"{\"name\":\"x\",\"a\\nb\":1}", "/a\nb", "\"a?b\""},
	};

	(void)state;
	for (size_t i = 0; i < BF_COUNT(rows); i++) {
		BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
		struct thing thing;
		struct belfry_error err;
		assert_int_equal(read_thing(rows[i].text, &thing, &value, &err), BELFRY_INVALID);
		assert_int_equal(err.status, BELFRY_INVALID);
		if (strcmp(err.pointer, rows[i].pointer) != 0 ||
				strstr(err.message, rows[i].words) == NULL) {
			fail_msg("%s: %s: %s", rows[i].text, err.pointer, err.message);
		}
	}
}

static void long_names_are_cut_at_a_character(void **state)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	struct thing thing;
	struct belfry_error err;

	(void)state;
	bf_buf_append_text(&text, "{\"name\":\"x\",\"");
	for (int i = 0; i < 100; i++) {
		bf_buf_append_text(&text, "\xc3\xa9");
	}
	bf_buf_append_text(&text, "\":1}");
	assert_int_equal(bf_buf_status(&text), BELFRY_OK);
	assert_int_equal(read_thing(text.ptr, &thing, &value, &err), BELFRY_INVALID);
	assert_true(bf_str_is_utf8(bf_str(err.message)));
	assert_true(bf_str_is_utf8(bf_str(err.pointer)));
	assert_non_null(strstr(err.message, "...\""));
}

static void the_first_failure_is_kept(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	struct bf_json_reader reader;
	struct belfry_error err = {0};
	int64_t number = 5;

	(void)state;
	assert_int_equal(parse(bf_str("{\"a\":\"x\",\"b\":2}"), &value, &err), BELFRY_OK);
	bf_json_reader_begin(&reader, value, "/in", &err);
	assert_false(bf_json_reader_int(&reader, "a", BF_JSON_OPTIONAL, 0, 9, &number));
	assert_false(bf_json_reader_int(&reader, "b", BF_JSON_OPTIONAL, 0, 9, &number));
	bf_json_reader_refuse(&reader, "b", NULL, BELFRY_TARGET_NOT_ALLOWED, "later");
	assert_int_equal(number, 5);
	assert_false(bf_json_reader_is_ok(&reader));
	assert_int_equal(bf_json_reader_end(&reader), BELFRY_INVALID);
	assert_string_equal(err.pointer, "/in/a");
}

static void a_callers_own_refusal_keeps_its_status(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	struct bf_json_reader reader;
	struct belfry_error err = {0};

	(void)state;
	assert_int_equal(parse(bf_str("{\"a\":1}"), &value, &err), BELFRY_OK);
	bf_json_reader_begin(&reader, value, "", &err);
	assert_true(bf_json_reader_has(&reader, "a"));
	assert_false(bf_json_reader_has(&reader, "b"));
	err = (struct belfry_error){.status = BELFRY_INVALID_SCHEDULE, .position = 3};
	bf_json_reader_refuse_from(&reader, "a", BELFRY_INVALID_SCHEDULE);
	assert_int_equal(bf_json_reader_end(&reader), BELFRY_INVALID_SCHEDULE);
	assert_string_equal(err.pointer, "/a");
	assert_int_equal(err.position, 3);
}

/* --- the writer --- */

static enum belfry_status write_all(json_t **ret_object)
{
	struct bf_json_writer writer;

	bf_json_writer_begin(&writer);
	bf_json_write_text(&writer, "t", "x");
	bf_json_write_str(&writer, "bad", BF_STR("a\xff\xc3\xa9\xe2\x82"));
	bf_json_write_str(&writer, "empty", (struct belfry_str){0});
	bf_json_write_str_or_null(&writer, "none", (struct belfry_str){0});
	bf_json_write_int(&writer, "n", INT64_MIN);
	bf_json_write_bool(&writer, "b", true);
	bf_json_write_null(&writer, "null");
	bf_json_write_time(&writer, "at", 1500000);
	bf_json_write_time(&writer, "unset", 0);
	bf_json_write_time(&writer, "never", BELFRY_TIME_NEVER);
	bf_json_write_duration(&writer, "d", 90 * BELFRY_SECOND);
	bf_json_write_duration_or_null(&writer, "nd", 0);
	bf_json_write_value(&writer, "list", json_array());
	return bf_json_writer_end(&writer, ret_object);
}

static void an_object_is_written(void **state)
{
	BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	(void)state;
	assert_int_equal(write_all(&object), BELFRY_OK);
	assert_int_equal(bf_json_dump(object, &text), BELFRY_OK);
	assert_string_equal(text.ptr,
			"{\"t\":\"x\",\"bad\":\"a\xef\xbf\xbd\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\","
			"\"empty\":\"\",\"none\":null,\"n\":-9223372036854775808,\"b\":true,"
			"\"null\":null,"
			"\"at\":\"1970-01-01T00:00:01.500Z\",\"unset\":null,\"never\":null,\"d\":"
			"\"PT1M30S\","
			"\"nd\":null,\"list\":[]}");
}

/* --- short memory --- */

static const char swept[] =
		"{\"a\":[1,2.5,\"\\u00e9\",{\"b\":{\"c\":\"0123456789012345678901234567890\"}}],"
		"\"k1\":1,\"k2\":2,\"k3\":3,\"k4\":4,\"k5\":5,\"k6\":6,\"k7\":7,\"k8\":8,\"k9\":9}";

static void parsing_without_memory_says_so(void **state)
{
	int64_t call = 0;
	int64_t fired;

	(void)state;
	do {
		BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
		struct belfry_error err = {0};
		bf_fault_arm(bf_alloc_fault(), ++call, 1);
		enum belfry_status status = parse(bf_str(swept), &value, &err);
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, fired > 0 ? BELFRY_NOMEM : BELFRY_OK);
	} while (fired > 0);
	assert_true(call > 20);
}

static void writing_without_memory_says_so(void **state)
{
	int64_t call = 0;
	int64_t fired;

	(void)state;
	do {
		BF_CLEANUP(bf_cleanup_json) json_t *object = NULL;
		BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
		bf_fault_arm(bf_alloc_fault(), ++call, 1);
		enum belfry_status status = write_all(&object);
		if (status == BELFRY_OK) {
			status = bf_json_dump(object, &text);
		}
		fired = bf_fault_fired(bf_alloc_fault());
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, fired > 0 ? BELFRY_NOMEM : BELFRY_OK);
	} while (fired > 0);
	assert_true(call > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(what_is_valid_is_read_and_written_in_order),
			cmocka_unit_test(a_member_given_twice_is_refused_by_name),
			cmocka_unit_test(a_member_given_twice_among_many_is_refused),
			cmocka_unit_test(nesting_is_limited),
			cmocka_unit_test(bad_text_is_refused_where_it_is),
			cmocka_unit_test(what_is_not_json_is_refused),
			cmocka_unit_test(numbers_that_do_not_fit_are_refused),
			cmocka_unit_test(what_is_too_large_is_not_looked_at),
			cmocka_unit_test(a_full_object_is_read),
			cmocka_unit_test(what_is_not_given_stays_as_it_was),
			cmocka_unit_test(refusals_name_the_member_and_the_remedy),
			cmocka_unit_test(long_names_are_cut_at_a_character),
			cmocka_unit_test(the_first_failure_is_kept),
			cmocka_unit_test(a_callers_own_refusal_keeps_its_status),
			cmocka_unit_test(an_object_is_written),
			cmocka_unit_test(parsing_without_memory_says_so),
			cmocka_unit_test(writing_without_memory_says_so),
	};

	bf_json_init();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
