/* `belfry export`: deployments as a file that `belfry apply` takes, and the calendars that they share.
 * Goes page by page, and writes as it goes; calendars come last, since which of them are needed is known
 * then. */
#include "base/error.h"
#include "base/grow.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/deployment_file.h"
#include "cli/progress.h"
#include "cli/resolve.h"
#include "cli/text.h"
#include "cli/yaml.h"

struct exporter {
	struct bf_cli *cli;
	bool is_json;
	json_t *grace; /* owned; the server's default, NULL: not known */
	json_t *names; /* owned: of calendars that rules name */
	size_t count;
};

static void exporter_fini(struct exporter *exporter)
{
	json_decref(exporter->grace);
	json_decref(exporter->names);
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* A default that the server was started with is no default of another: where it cannot be asked for, the
 * member is written. */
static void ask_grace(struct exporter *exporter)
{
	BF_CLEANUP(bf_cleanup_json) json_t *settings = NULL;

	if (bf_client_json(exporter->cli, &(struct bf_request){.path = "/v1/settings"}, &settings,
			    NULL) == BELFRY_OK) {
		const json_t *grace = json_object_get(settings, "grace");

		exporter->grace = json_incref(json_object_get(grace, "value"));
	}
}

static void put_separator(const struct exporter *exporter)
{
	if (exporter->is_json) {
		(void)fputs(exporter->count == 0 ? "{\"deployments\":[" : ",", exporter->cli->out);
	} else {
		(void)fputs(exporter->count == 0 ? "deployments:\n" : "", exporter->cli->out);
	}
}

static enum belfry_status write_one(const struct exporter *exporter, const json_t *file,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *list = json_pack("[O]", file);
	enum belfry_status status = list == NULL ? BELFRY_NOMEM
			: exporter->is_json      ? bf_json_dump(file, &text)
						 : bf_yaml_write(list, 2, &text);

	if (status != BELFRY_OK) {
		return no_memory(err);
	}
	(void)fwrite(text.ptr, 1, text.len, exporter->cli->out);
	return BELFRY_OK;
}

/* --- calendars --- */

static bool note_calendars(struct exporter *exporter, const json_t *except)
{
	bool is_ok = true;

	for (size_t i = 0; i < json_array_size(except) && is_ok; i++) {
		struct belfry_str name = bf_member(json_array_get(except, i), "calendar");

		is_ok = name.len == 0 ||
				json_object_setn_new(exporter->names, name.ptr, name.len,
						json_true()) == 0;
	}
	return is_ok;
}

/* Each level of a rule may name some. */
static enum belfry_status note_rule(struct exporter *exporter, const json_t *rule,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_free_pointer) const json_t **row = NULL;
	size_t capacity = 0;
	size_t count = 1;
	bool is_ok = BF_GROW(row, capacity, 1) == BELFRY_OK;

	if (is_ok) {
		row[0] = rule;
	}
	for (size_t at = 0; at < count && is_ok; at++) {
		const json_t *any = json_object_get(row[at], "any");

		is_ok = note_calendars(exporter, json_object_get(row[at], "except")) &&
				BF_GROW(row, capacity, count + json_array_size(any)) == BELFRY_OK;
		for (size_t i = 0; i < json_array_size(any) && is_ok; i++) {
			row[count++] = json_array_get(any, i);
		}
	}
	return is_ok ? BELFRY_OK : no_memory(err);
}

/* All of them, also those that no rule names. */
static enum belfry_status note_all(struct exporter *exporter, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = NULL;
	enum belfry_status status = bf_client_list(exporter->cli, "/v1/calendars", 0, &items, err);

	for (size_t i = 0; status == BELFRY_OK && i < json_array_size(items); i++) {
		struct belfry_str name = bf_member(json_array_get(items, i), "name");

		if (json_object_setn_new(exporter->names, name.ptr, name.len, json_true()) != 0) {
			status = no_memory(err);
		}
	}
	return status;
}

static enum belfry_status write_calendar(struct exporter *exporter, const char *name, bool is_first,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *shape = NULL;
	BF_CLEANUP(bf_cleanup_json) json_t *file = NULL;
	enum belfry_status status = bf_resolve_get(exporter->cli, "calendars", bf_str(name), &shape,
			err);

	if (status != BELFRY_OK) {
		return status;
	}
	const json_t *words = json_object_get(shape, "description");
	file = json_pack("{s:O, s:O*, s:O}", "name", json_object_get(shape, "name"), "description",
			json_is_string(words) ? words : NULL, "except",
			json_object_get(shape, "except"));
	if (exporter->is_json) {
		(void)fputs(is_first ? ",\"calendars\":[" : ",", exporter->cli->out);
	} else {
		(void)fputs(is_first ? "calendars:\n" : "", exporter->cli->out);
	}
	return file != NULL ? write_one(exporter, file, err) : no_memory(err);
}

static enum belfry_status export_calendars(struct exporter *exporter, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;
	const char *name;
	json_t *unused;
	bool is_first = true;

	json_object_foreach(exporter->names, name, unused)
	{
		(void)unused;
		if (status == BELFRY_OK) {
			status = write_calendar(exporter, name, is_first, err);
		}
		is_first = false;
	}
	if (exporter->is_json && !is_first) {
		(void)fputs("]", exporter->cli->out);
	}
	return status;
}

/* --- deployments --- */

/* One whose stored content cannot be read has no rule: a file of it would not bring it back. */
static enum belfry_status export_one(struct exporter *exporter, const json_t *shape,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *file = NULL;

	if (!json_is_object(json_object_get(shape, "rule"))) {
		(void)fputs("left out: ", exporter->cli->err);
		bf_text_print(exporter->cli->err, false, BF_COLOUR_NONE, bf_member(shape, "name"));
		(void)fputs(": its record cannot be read; save it anew or delete it\n",
				exporter->cli->err);
		exporter->cli->exit_status = 1;
		return BELFRY_OK;
	}
	enum belfry_status status = bf_deployment_file(shape, bf_json_str(exporter->grace), &file,
			err);
	if (status != BELFRY_OK) {
		return status;
	}
	put_separator(exporter);
	status = write_one(exporter, file, err);
	exporter->count++;
	return status == BELFRY_OK ? note_rule(exporter, json_object_get(shape, "rule"), err)
				   : status;
}

static enum belfry_status export_items(struct exporter *exporter, const json_t *items,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; i < json_array_size(items) && status == BELFRY_OK; i++) {
		status = export_one(exporter, json_array_get(items, i), err);
	}
	bf_progress_show(exporter->cli, "exported", exporter->count, 0);
	return status;
}

static enum belfry_status export_all(struct exporter *exporter, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf cursor = {0};
	enum belfry_status status;

	do {
		BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();

		status = bf_client_page(exporter->cli, "/v1/deployments", BF_CLIENT_PAGE, &cursor,
				items, err);
		if (status == BELFRY_OK) {
			status = export_items(exporter, items, err);
		}
	} while (status == BELFRY_OK && cursor.len > 0 && ferror(exporter->cli->out) == 0);
	bf_progress_end(exporter->cli);
	return status;
}

static enum belfry_status export_named(struct exporter *exporter, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *found = json_array();
	enum belfry_status status = found != NULL ? BELFRY_OK : no_memory(err);
	const char *name;

	for (size_t i = 0; status == BELFRY_OK && (name = bf_args_word(args, i)) != NULL; i++) {
		json_t *one = NULL;

		status = bf_resolve_deployment(exporter->cli, name, &one, err);
		if (status == BELFRY_OK && json_array_append_new(found, one) != 0) {
			status = no_memory(err);
		}
	}
	return status == BELFRY_OK ? export_items(exporter, found, err) : status;
}

static void put_end_of_deployments(const struct exporter *exporter)
{
	bool is_empty = exporter->count == 0;

	if (exporter->is_json) {
		(void)fputs(is_empty ? "{\"deployments\":[]" : "]", exporter->cli->out);
	} else if (is_empty) {
		(void)fputs("deployments: []\n", exporter->cli->out);
	}
}

static enum belfry_status run_export(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	static const char *const formats[] = {"yaml", "json", NULL};
	BF_CLEANUP(exporter_fini) struct exporter exporter = {.cli = cli};
	unsigned format = cli->is_json ? 1 : 0;
	enum belfry_status status = bf_args_enum(args, "format", formats, &format, err);

	if (status != BELFRY_OK) {
		return status;
	}
	exporter.is_json = format == 1;
	exporter.names = json_object();
	if (exporter.names == NULL) {
		return no_memory(err);
	}
	ask_grace(&exporter);
	bool is_all = bf_args_word(args, 0) == NULL;
	status = is_all ? export_all(&exporter, err) : export_named(&exporter, args, err);
	if (status == BELFRY_OK && is_all) {
		status = note_all(&exporter, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	put_end_of_deployments(&exporter);
	status = export_calendars(&exporter, err);
	(void)fputs(exporter.is_json && status == BELFRY_OK ? "}\n" : "", cli->out);
	return status;
}

static const struct bf_option options[] = {
		{.name = "format", .argument = "F", .help = "yaml, json (yaml)"},
		{.name = NULL},
};

const struct bf_command bf_command_export = {
		.path = "export",
		.synopsis = "[DEPLOYMENT]... [--format yaml|json]",
		.summary = "Write deployments as a file for `belfry apply`",
		.details = "Without DEPLOYMENT all of them, and all shared calendars; else those that they name.\n"
			   "Left out is what is read-only, and what is the default anyway.\n"
			   "`belfry export | belfry apply --dry-run -` shows no change.",
		.example = "belfry export > deployments.yaml\nbelfry export morning-brief --format json",
		.options = options,
		.max_words = 1000,
		.run = run_export,
};
