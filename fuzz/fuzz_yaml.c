/* Fuzzes YAML: whatever is read can be written, reads back to an equal value, and the second writing is
 * the first one. What is refused has words that name a line. */
#include "base/str.h"
#include "cli/yaml.h"
#include "fuzz.h"

static void check_back(const json_t *value)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf first = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf second = {0};
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml back = {0};
	struct belfry_error err = {0};

	if (json_is_null(value)) {
		return; /* an empty document */
	}
	fuzz_require(bf_yaml_write(value, 0, &first) == BELFRY_OK);
	fuzz_require(bf_yaml_parse(bf_buf_str(&first), &back, &err) == BELFRY_OK);
	fuzz_require(json_equal(json_array_get(back.documents, 0), value));
	fuzz_require(bf_yaml_write(json_array_get(back.documents, 0), 0, &second) == BELFRY_OK);
	fuzz_require(bf_str_equal(bf_buf_str(&first), bf_buf_str(&second)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
	struct belfry_str text = {(const char *)data, size};
	struct belfry_error err = {0};

	bf_json_init();
	if (bf_yaml_parse(text, &yaml, &err) != BELFRY_OK) {
		fuzz_require(bf_str_starts_with(bf_str(err.message), BF_STR("line ")));
		return 0;
	}
	for (size_t i = 0; i < json_array_size(yaml.documents); i++) {
		check_back(json_array_get(yaml.documents, i));
	}
	return 0;
}
