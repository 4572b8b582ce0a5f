/* `belfry apply`: deployments, and the calendars that they share, declared in files, in YAML or JSON. Reads the files, says where in them
 * something is wrong, and leaves all else to the server. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/str.h"
#include "cli/apply_send.h"
#include "cli/cli.h"
#include "cli/document.h"
#include "cli/file.h"
#include "cli/resolve.h"

/* Where a deployment stands. */
struct place {
	const char *file;
	size_t line; /* 0: not known */
};

/* What the files declare of one kind. */
struct declared {
	json_t *items; /* owned */
	json_t *seen;  /* owned: name -> index */
	struct place *places;
	size_t place_capacity;
};

struct set {
	struct declared deployments;
	struct declared calendars;
	bool has_document; /* an empty list is a set too */
};

static void declared_fini(struct declared *declared)
{
	json_decref(declared->items);
	json_decref(declared->seen);
	bf_free(declared->places);
}

static void set_fini(struct set *set)
{
	declared_fini(&set->deployments);
	declared_fini(&set->calendars);
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

static enum belfry_status refuse_at(struct place place, const char *words, struct belfry_error *err)
{
	(void)bf_error_set(err, BELFRY_INVALID, "%s", words);
	if (place.line > 0) {
		bf_error_prefix(err, "line %zu: ", place.line);
	}
	bf_error_prefix(err, "%.100s: ", place.file);
	return BELFRY_INVALID;
}

static enum belfry_status refuse_twice(const struct declared *set, struct belfry_str name,
		struct place place, size_t first, struct belfry_error *err)
{
	char words[160];

	(void)snprintf(words, sizeof(words),
			"\"%.60s\" is declared twice, first in %.40s line %zu: name each once",
			name.ptr, set->places[first].file, set->places[first].line);
	return refuse_at(place, words, err);
}

static enum belfry_status put_one(struct declared *set, json_t *item, struct place place,
		const char *words, struct belfry_error *err)
{
	struct belfry_str name = bf_member(item, "name");
	size_t index = json_array_size(set->items);

	if (name.len == 0) {
		return refuse_at(place, words, err);
	}
	const json_t *first = json_object_getn(set->seen, name.ptr, name.len);
	if (first != NULL) {
		return refuse_twice(set, name, place, (size_t)json_integer_value(first), err);
	}
	if (BF_GROW(set->places, set->place_capacity, index + 1) != BELFRY_OK ||
			json_object_setn_new(set->seen, name.ptr, name.len,
					json_integer((json_int_t)index)) != 0 ||
			json_array_append(set->items, item) != 0) {
		return no_memory(err);
	}
	set->places[index] = place;
	return BELFRY_OK;
}

static enum belfry_status put_deployment(struct set *set, json_t *item, struct place place,
		struct belfry_error *err)
{
	if (!json_is_object(item)) {
		return refuse_at(place,
				"a deployment is a mapping with name, rule and target; several stand in a list below deployments:",
				err);
	}
	return put_one(&set->deployments, item, place, "a deployment needs a name, which is text",
			err);
}

static enum belfry_status put_calendar(struct set *set, json_t *item, struct place place,
		struct belfry_error *err)
{
	if (!json_is_object(item)) {
		return refuse_at(place, "a calendar is a mapping with name and except", err);
	}
	return put_one(&set->calendars, item, place, "a calendar needs a name, which is text", err);
}

typedef enum belfry_status (*put_item_fn)(struct set *set, json_t *item, struct place place,
		struct belfry_error *err);

static enum belfry_status put_list(struct set *set, const json_t *list, put_item_fn put_item,
		struct bf_yaml *yaml, const char *file, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < json_array_size(list) && status == BELFRY_OK; i++) {
		json_t *item = json_array_get(list, i);
		struct place own = {file, bf_yaml_line(yaml, item)};

		status = put_item(set, item, own, err);
	}
	return status;
}

static bool is_list(const json_t *value)
{
	return value == NULL || json_is_array(value) || json_is_null(value);
}

/* A document: one deployment, or {"deployments": [...], "calendars": [...]} or one of the two. */
static enum belfry_status put_document(struct set *set, json_t *document, struct bf_yaml *yaml,
		const char *file, struct belfry_error *err)
{
	const json_t *deployments = json_object_get(document, "deployments");
	const json_t *calendars = json_object_get(document, "calendars");
	struct place place = {file, bf_yaml_line(yaml, document)};
	size_t known = (deployments != NULL ? 1u : 0u) + (calendars != NULL ? 1u : 0u);

	set->has_document = true;
	if (known == 0) {
		return put_deployment(set, document, place, err);
	}
	if (json_object_size(document) != known || !is_list(deployments) || !is_list(calendars)) {
		return refuse_at(place,
				"deployments: and calendars: each must be a list, and they stand alone",
				err);
	}
	enum belfry_status status = put_list(set, calendars, put_calendar, yaml, file, err);
	return status == BELFRY_OK ? put_list(set, deployments, put_deployment, yaml, file, err)
				   : status;
}

static enum belfry_status read_one(struct set *set, const char *file, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_yaml_fini) struct bf_yaml yaml = {0};
	enum belfry_status status = bf_file_read(file, BF_DOCUMENT_BYTES, &text, err);

	if (status != BELFRY_OK) {
		return status;
	}
	status = bf_document_parse(file, bf_buf_str(&text), &yaml, err);
	if (status != BELFRY_OK) {
		bf_error_prefix(err, "%.100s: ", file);
		return status;
	}
	for (size_t i = 0; i < json_array_size(yaml.documents) && status == BELFRY_OK; i++) {
		status = put_document(set, json_array_get(yaml.documents, i), &yaml, file, err);
	}
	return status;
}

static enum belfry_status read_set(const struct bf_args *args, struct set *set,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;
	const char *file;

	set->deployments.items = json_array();
	set->deployments.seen = json_object();
	set->calendars.items = json_array();
	set->calendars.seen = json_object();
	if (set->deployments.items == NULL || set->deployments.seen == NULL ||
			set->calendars.items == NULL || set->calendars.seen == NULL) {
		return no_memory(err);
	}
	for (size_t i = 0; (file = bf_args_word(args, i)) != NULL && status == BELFRY_OK; i++) {
		status = read_one(set, file, err);
	}
	return status;
}

/* Says in each item where it stands. */
static enum belfry_status put_places(const struct declared *set, json_t *items,
		struct belfry_error *err)
{
	for (size_t i = 0; i < json_array_size(items); i++) {
		json_t *item = json_array_get(items, i);
		struct place place = set->places[i];

		if (json_object_set_new(item, "file", bf_json_new_str(bf_str(place.file))) != 0 ||
				(place.line > 0 &&
						json_object_set_new(item, "line",
								json_integer((json_int_t)place.line)) !=
								0)) {
			return no_memory(err);
		}
	}
	return BELFRY_OK;
}

/* For people: "calendar NAME" in front of the deployments. */
static enum belfry_status put_rows(const json_t *calendars, json_t *items, json_t *rows,
		struct belfry_error *err)
{
	for (size_t i = 0; i < json_array_size(calendars); i++) {
		BF_CLEANUP(bf_buf_fini) struct bf_buf name = {0};
		BF_CLEANUP(bf_cleanup_json) json_t *row = json_copy(json_array_get(calendars, i));

		bf_buf_appendf(&name, "calendar %.*s", BF_STR_ARGS(bf_member(row, "name")));
		if (bf_buf_status(&name) != BELFRY_OK ||
				json_object_set_new(row, "name",
						bf_json_new_str(bf_buf_str(&name))) != 0 ||
				json_array_append(rows, row) != 0) {
			return no_memory(err);
		}
	}
	return json_array_extend(rows, items) == 0 ? BELFRY_OK : no_memory(err);
}

static enum belfry_status show(struct bf_cli *cli, const struct bf_apply_set *sent, json_t *items,
		bool is_dry_run, bool is_done, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *rows = json_array();

	if (!cli->is_json) {
		enum belfry_status status = put_rows(sent->calendar_items, items, rows, err);

		return status == BELFRY_OK ? bf_apply_show(cli, rows, is_dry_run, is_done, err)
					   : status;
	}
	BF_CLEANUP(bf_cleanup_json)
	json_t *answer = json_pack("{s:b, s:b, s:o, s:O, s:O*}", "dry_run", is_dry_run, "done",
			is_done, "counts", bf_apply_counts(items), "items", items, "calendars",
			sent->calendar_items);
	return bf_cli_put_json(cli, answer, err);
}

static enum belfry_status refuse_later(const struct bf_args *args, struct belfry_error *err)
{
	static const char *const later[] = {"set", "prune"};

	for (size_t i = 0; i < BF_COUNT(later); i++) {
		if (bf_args_has(args, later[i])) {
			return bf_error_set(err, BELFRY_USAGE,
					"--%s: this version does not offer it; leave it out",
					later[i]);
		}
	}
	return BELFRY_OK;
}

static enum belfry_status run_apply(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(set_fini) struct set set = {0};
	BF_CLEANUP(bf_apply_set_fini) struct bf_apply_set sent = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
	bool is_dry_run = bf_args_has(args, "dry-run");
	bool is_done = false;
	enum belfry_status status = refuse_later(args, err);

	if (status == BELFRY_OK) {
		status = read_set(args, &set, err);
	}
	if (status == BELFRY_OK && !set.has_document) {
		status = bf_error_set(err, BELFRY_INVALID,
				"there is no deployment in it: `belfry export` shows the form");
	}
	sent.deployments = set.deployments.items;
	sent.calendars = set.calendars.items;
	if (status == BELFRY_OK) {
		status = bf_apply_send(cli, &sent,
				is_dry_run ? BF_APPLY_LOOK : BF_APPLY_LOOK_AND_DO, &items, &is_done,
				err);
	}
	if (status == BELFRY_OK && is_dry_run) {
		status = bf_apply_compare_calendars(cli, &sent, err);
	}
	if (status == BELFRY_OK) {
		status = put_places(&set.deployments, items, err);
	}
	if (status == BELFRY_OK) {
		status = put_places(&set.calendars, sent.calendar_items, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	cli->exit_status = bf_apply_is_refused(&sent, items) ? 1 : 0;
	return show(cli, &sent, items, is_dry_run, is_done, err);
}

static const struct bf_option options[] = {
		{.name = "dry-run", .help = "Show what would change, and change nothing"},
		{.name = "set",
				.argument = "NAME",
				.help = "Mark them as one set: not in this version"},
		{.name = "prune", .help = "Remove what the set no longer has: not in this version"},
		{.name = NULL},
};

const struct bf_command bf_command_apply = {
		.path = "apply",
		.synopsis = "FILE... [--dry-run]",
		.summary = "Make and change deployments as files declare them",
		.details = "A file is YAML or JSON: one deployment a document, or lists below deployments:\n"
			   "and calendars: (shared calendars; they come first).\n"
			   "Each is matched by its name and becomes what the file says; a member that is not\n"
			   "named gets its default, but enabled, which stays. Where one is refused nothing is\n"
			   "changed, and the exit status is 1. FILE - is standard input.",
		.example = "belfry apply deployments.yaml --dry-run",
		.options = options,
		.min_words = 1,
		.max_words = 1000,
		.run = run_apply,
};
