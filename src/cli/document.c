/* Reads a file that a person wrote: in JSON, which is most of YAML and yet not all of it, or in YAML. */
#include "cli/document.h"

#include "base/error.h"

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static bool has_ending(const char *file, const char *ending)
{
	size_t len = strlen(file);

	return len >= strlen(ending) && strcmp(file + len - strlen(ending), ending) == 0;
}

/* JSON where it is JSON: YAML reads nearly all of it, but not pairs of \u escapes. `yaml` then has the
 * value as its one document, and knows no lines. */
static enum belfry_status parse_json(struct belfry_str text, struct bf_yaml *yaml,
		struct belfry_error *err)
{
	json_t *value = NULL;
	enum belfry_status status = bf_json_parse(text, BF_DOCUMENT_BYTES, &value, err);

	if (status == BELFRY_INVALID && err != NULL && err->position > 0) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf place = {0};

		bf_yaml_put_place(&place, text, (size_t)err->position - 1);
		bf_error_prefix(err, "%.*s: ", BF_STR_ARGS(bf_buf_str(&place)));
	}
	if (status != BELFRY_OK) {
		return status;
	}
	yaml->documents = json_pack("[o]", value);
	return yaml->documents != NULL ? BELFRY_OK : no_memory(err);
}

enum belfry_status bf_document_parse(const char *file, struct belfry_str text, struct bf_yaml *yaml,
		struct belfry_error *err)
{
	size_t begin = 0;

	while (begin < text.len && strchr(" \t\r\n", text.ptr[begin]) != NULL) {
		begin++;
	}
	if (has_ending(file, ".json")) {
		return parse_json(text, yaml, err);
	}
	if (begin < text.len && text.ptr[begin] == '{' &&
			parse_json(text, yaml, NULL) == BELFRY_OK) {
		return BELFRY_OK;
	}
	return bf_yaml_parse(text, yaml, err);
}
