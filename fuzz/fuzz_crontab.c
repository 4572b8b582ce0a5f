/* Fuzzes crontabs: every line is in the report or says nothing, what is refused makes no deployment, names
 * are unique, and the same text again makes the same. The first byte says whether there is a user column. */
#include "base/str.h"
#include "cli/crontab_import.h"
#include "fuzz.h"

static struct belfry_zones *zones_once(void)
{
	static struct belfry_zones *zones;

	if (zones == NULL) {
		fuzz_require(belfry_zones_new(NULL, &zones, NULL) == BELFRY_OK);
	}
	return zones;
}

static void check_lines(const struct bf_import *import)
{
	size_t refused = 0;
	json_int_t before = 0;

	for (size_t i = 0; i < json_array_size(import->lines); i++) {
		const json_t *line = json_array_get(import->lines, i);
		json_int_t number = json_integer_value(json_object_get(line, "line"));
		bool is_refused = bf_str_equal(bf_json_str(json_object_get(line, "result")),
				BF_STR("refused"));

		fuzz_require(number > before);
		fuzz_require(is_refused == json_is_string(json_object_get(line, "reason")));
		before = number;
		refused += is_refused ? 1 : 0;
	}
	fuzz_require(refused == import->refused_count);
	fuzz_require(json_array_size(import->deployments) + refused <=
			json_array_size(import->lines));
}

static void check_names(const struct bf_import *import)
{
	BF_CLEANUP(bf_cleanup_json) json_t *names = json_object();

	for (size_t i = 0; i < json_array_size(import->deployments); i++) {
		struct belfry_str name = bf_json_str(
				json_object_get(json_array_get(import->deployments, i), "name"));

		fuzz_require(name.len > 0 && name.len <= 200);
		fuzz_require(json_object_getn(names, name.ptr, name.len) == NULL);
		fuzz_require(json_object_setn_new(names, name.ptr, name.len, json_true()) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	BF_CLEANUP(bf_import_fini) struct bf_import first = {0};
	BF_CLEANUP(bf_import_fini) struct bf_import second = {0};
	struct belfry_str text = {(const char *)data + 1, size > 0 ? size - 1 : 0};
	struct bf_import_options options = {.zone = BF_STR("UTC"),
			.user = BF_STR("root"),
			.has_user = size > 0 && data[0] == 'u'};
	struct belfry_error err = {0};

	bf_json_init();
	if (size == 0) {
		return 0;
	}
	options.zones = zones_once();
	fuzz_require(bf_crontab_import(text, &options, &first, &err) == BELFRY_OK);
	fuzz_require(bf_crontab_import(text, &options, &second, &err) == BELFRY_OK);
	fuzz_require(json_equal(first.lines, second.lines));
	fuzz_require(json_equal(first.deployments, second.deployments));
	check_lines(&first);
	check_names(&first);
	return 0;
}
