/* Fuzzes JSON: what is taken is written and read back to the same value, what is refused says where; and
 * the reader of objects keeps to the types, lengths and ranges that it was asked for. */
#include "base/json.h"
#include "fuzz.h"

static void check_same(const json_t *value)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *again = NULL;

	fuzz_require(bf_json_dump(value, &text) == BELFRY_OK);
	fuzz_require(bf_json_parse(bf_buf_str(&text), SIZE_MAX, &again, NULL) == BELFRY_OK);
	fuzz_require(json_equal(again, value) == 1);
}

static void read_list(struct bf_json_reader *reader)
{
	struct bf_json_reader child;
	struct belfry_str text;
	const json_t *list;

	if (!bf_json_reader_array(reader, "list", BF_JSON_OPTIONAL, 1, 3, &list)) {
		return;
	}
	fuzz_require(json_array_size(list) >= 1 && json_array_size(list) <= 3);
	if (bf_json_reader_item_string(reader, "list", list, 0, 1, 5, &text)) {
		fuzz_require(text.len >= 1 && text.len <= 5);
	}
	if (bf_json_reader_enter_item(reader, "list", list, json_array_size(list) - 1, &child)) {
		bf_json_reader_ignore(&child, "x");
		(void)bf_json_reader_end(&child); /* the failure went up */
	}
}

static void read_members(struct bf_json_reader *reader)
{
	static const char *const words[] = {"one", "two", NULL};
	struct belfry_str text;
	belfry_time time;
	int64_t number;
	unsigned word = 2;
	const json_t *map;

	if (bf_json_reader_string(reader, "text", BF_JSON_REQUIRED, 1, 20, &text)) {
		fuzz_require(text.len >= 1 && text.len <= 20 && bf_str_is_utf8(text));
	}
	if (bf_json_reader_int(reader, "number", BF_JSON_NULLABLE, -5, 5, &number)) {
		fuzz_require(number >= -5 && number <= 5);
	}
	if (bf_json_reader_duration(reader, "duration", BF_JSON_NULLABLE, 1, 9, &number)) {
		fuzz_require(number >= 1 && number <= 9);
	}
	(void)bf_json_reader_time(reader, "time", BF_JSON_OPTIONAL, &time);
	if (bf_json_reader_enum(reader, "word", BF_JSON_OPTIONAL, words, &word)) {
		fuzz_require(word < 2);
	}
	if (bf_json_reader_map(reader, "map", BF_JSON_OPTIONAL, 2, &map)) {
		fuzz_require(json_object_size(map) <= 2);
		(void)bf_json_reader_map_string(reader, "map", map, "key", 0, 9, &text);
	}
	read_list(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BF_CLEANUP(bf_cleanup_json) json_t *value = NULL;
	struct belfry_error err = {0};
	struct bf_json_reader reader;

	bf_json_init();
	if (bf_json_parse((struct belfry_str){(const char *)data, size}, 4096, &value, &err) !=
			BELFRY_OK) {
		fuzz_require_refusal(&err, size);
		return 0;
	}
	check_same(value);
	bf_json_reader_begin(&reader, value, "", &err);
	read_members(&reader);
	if (bf_json_reader_end(&reader) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
	}
	return 0;
}
