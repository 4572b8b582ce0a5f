/* Fuzzes settings as environment, a variable in each line, and as changes over the API (what begins with a
 * brace): what is taken is within its range, and what is shown of it is taken again as the same. */
#include "fuzz.h"
#include "host/settings.h"

#define VARIABLES 8

/* The text of a shown value: of a number or a word, as it would be typed. */
static void put_text(struct bf_buf *out, const json_t *value)
{
	bf_buf_clear(out);
	if (json_is_string(value)) {
		bf_buf_append_str(out, bf_json_str(value));
	} else {
		fuzz_require(bf_json_dump(value, out) == BELFRY_OK);
	}
}

static void check_shown(const struct bf_settings *settings)
{
	BF_CLEANUP(bf_cleanup_json) json_t *shown = NULL;
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	struct bf_settings again;
	const char *name;
	json_t *value;

	fuzz_require(bf_settings_write(settings, settings, &shown) == BELFRY_OK);
	bf_settings_init(&again, 1);
	json_object_foreach(shown, name, value)
	{
		put_text(&text, json_object_get(value, "value"));
		fuzz_require(bf_settings_set(&again, bf_str(name), bf_buf_str(&text), NULL) ==
				BELFRY_OK);
	}
	memcpy(again.sources, settings->sources, sizeof(again.sources));
	fuzz_require(memcmp(&again, settings, sizeof(again)) == 0);
}

static void check(const char *const *environment)
{
	struct bf_settings settings;
	struct belfry_error err = {0};

	bf_settings_init(&settings, 1);
	if (bf_settings_read_environment(&settings, environment, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
	} else if (bf_settings_check(&settings, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
	}
	check_shown(&settings);
}

static void check_changes(struct belfry_str text)
{
	BF_CLEANUP(bf_cleanup_json) json_t *changes = NULL;
	struct bf_settings settings;
	struct belfry_error err = {0};

	if (bf_json_parse(text, SIZE_MAX, &changes, NULL) != BELFRY_OK) {
		return;
	}
	bf_settings_init(&settings, 1);
	if (bf_settings_change(&settings, changes, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
	}
	check_shown(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *environment[VARIABLES + 1] = {NULL};
	char *lines = malloc(size + 1);
	size_t count = 0;

	bf_json_init();
	fuzz_require(lines != NULL);
	if (size > 0 && data[0] == '{') {
		check_changes((struct belfry_str){(const char *)data, size});
	}
	for (size_t i = 0; i < size; i++) {
		lines[i] = data[i] == '\n' ? '\0' : (char)data[i];
	}
	lines[size] = '\0';
	for (size_t at = 0; at <= size && count < VARIABLES; at += strlen(lines + at) + 1) {
		environment[count++] = lines + at;
	}
	check(environment);
	free(lines);
	return 0;
}
