/* `belfry import crontab`: the lines of a crontab become deployments, by way of POST /v1/apply.
 *
 * Asks the server by a dry run first: what it refuses, and what would change a deployment that no import
 * made, is left out and reported; the rest is applied. */
#include "base/error.h"
#include "base/str.h"
#include "cli/apply_send.h"
#include "cli/cli.h"
#include "cli/crontab_import.h"
#include "cli/file.h"
#include "cli/machine.h"
#include "cli/resolve.h"
#include "cli/show.h"

#define FILE_BYTES_MAX (16u << 20)

struct import {
	struct bf_cli *cli;
	const char *file;
	bool is_dry_run;
	bool is_asked; /* the server answered */
	bool is_done;  /* what was not refused was sent to be carried out */
	struct bf_import local;
	json_t *items; /* owned; the server's answers, NULL: none */
	struct bf_buf zone;
	struct bf_buf user;
	struct bf_buf home;
	struct bf_buf text;
};

static void import_fini(struct import *import)
{
	bf_import_fini(&import->local);
	json_decref(import->items);
	bf_buf_fini(&import->zone);
	bf_buf_fini(&import->user);
	bf_buf_fini(&import->home);
	bf_buf_fini(&import->text);
}

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_set(err, BELFRY_NOMEM, "out of memory");
}

/* --- reading --- */

/* /etc/crontab and the files of /etc/cron.d have a user column. */
static bool is_system_table(const char *file)
{
	return strcmp(file, "/etc/crontab") == 0 || strstr(file, "/cron.d/") != NULL;
}

static enum belfry_status find_zone(const struct import *import, const struct bf_args *args,
		struct bf_buf *zone, struct belfry_error *err)
{
	if (bf_args_has(args, "tz")) {
		bf_buf_append_text(zone, bf_args_value(args, "tz"));
	} else {
		bf_machine_zone(zone);
	}
	if (zone->len == 0) {
		(void)fputs("warning: this machine's zone is not known, UTC is taken: --tz ZONE names another\n",
				import->cli->err);
		bf_buf_append_text(zone, "UTC");
	}
	return bf_buf_status(zone) == BELFRY_OK ? BELFRY_OK : no_memory(err);
}

static enum belfry_status read_table(struct import *import, const struct bf_args *args,
		struct belfry_error *err)
{
	struct bf_import_options options = {
			.has_user = bf_args_has(args, "system") || is_system_table(import->file)};
	enum belfry_status status = bf_file_read(import->file, FILE_BYTES_MAX, &import->text, err);

	if (status == BELFRY_OK) {
		status = find_zone(import, args, &import->zone, err);
	}
	if (status == BELFRY_OK) {
		status = bf_cli_zones(import->cli, &options.zones, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	bf_machine_user(bf_args_value(args, "user"), &import->user, &import->home);
	if (bf_buf_status(&import->user) != BELFRY_OK ||
			bf_buf_status(&import->home) != BELFRY_OK) {
		return no_memory(err);
	}
	options.zone = bf_buf_str(&import->zone);
	options.user = bf_buf_str(&import->user);
	options.home = bf_buf_str(&import->home);
	return bf_crontab_import(bf_buf_str(&import->text), &options, &import->local, err);
}

/* --- asking --- */

static bool is_refused(const json_t *item)
{
	return bf_str_equal(bf_member(item, "outcome"), BF_STR("refused"));
}

static enum belfry_status refuse_item(json_t *item, const char *detail, struct belfry_error *err)
{
	json_t *error = json_pack("{s:s, s:s}", "code", belfry_status_code(BELFRY_CONFLICT),
			"detail", detail);

	if (json_object_set_new(item, "outcome", json_string("refused")) != 0 ||
			json_object_set_new(item, "error", error) != 0) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

/* Somebody's own deployment of the same name is not ours to change. */
static enum belfry_status check_owner(struct bf_cli *cli, json_t *item, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *there = NULL;
	struct belfry_str outcome = bf_member(item, "outcome");

	if (!bf_str_equal(outcome, BF_STR("changed"))) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_resolve_get(cli, "deployments", bf_member(item, "id"),
			&there, err);
	if (status != BELFRY_OK) {
		return status;
	}
	const json_t *label = json_object_get(json_object_get(there, "labels"), BF_IMPORT_LABEL);
	if (bf_str_equal(bf_json_str(label), BF_STR(BF_IMPORT_VALUE))) {
		return BELFRY_OK;
	}
	return refuse_item(item,
			"a deployment of this name is there that no import made: rename it with "
			"`belfry deployments edit --name`",
			err);
}

/* The deployments that nothing speaks against. NULL: no memory. */
static json_t *pick_good(const json_t *deployments, const json_t *items)
{
	BF_CLEANUP(bf_cleanup_json) json_t *good = json_array();

	for (size_t i = 0; good != NULL && i < json_array_size(items); i++) {
		if (!is_refused(json_array_get(items, i)) &&
				json_array_append(good, json_array_get(deployments, i)) != 0) {
			return NULL;
		}
	}
	return json_incref(good);
}

/* Puts the answers to the good ones in the places of those to the questions. */
static enum belfry_status put_answers(json_t *items, const json_t *answers,
		struct belfry_error *err)
{
	size_t next = 0;

	for (size_t i = 0; i < json_array_size(items); i++) {
		if (is_refused(json_array_get(items, i))) {
			continue;
		}
		if (json_array_set(items, i, json_array_get(answers, next++)) != 0) {
			return no_memory(err);
		}
	}
	return BELFRY_OK;
}

static enum belfry_status ask(struct import *import, struct belfry_error *err)
{
	struct bf_apply_set set = {.deployments = import->local.deployments};
	enum belfry_status status = bf_apply_send(import->cli, &set, BF_APPLY_LOOK, &import->items,
			&import->is_done, err);

	import->is_asked = status == BELFRY_OK;
	for (size_t i = 0; status == BELFRY_OK && i < json_array_size(import->items); i++) {
		status = check_owner(import->cli, json_array_get(import->items, i), err);
	}
	return status;
}

static enum belfry_status apply(struct import *import, struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json)
	json_t *good = pick_good(import->local.deployments, import->items);
	BF_CLEANUP(bf_cleanup_json) json_t *answers = NULL;

	if (good == NULL) {
		return no_memory(err);
	}
	if (json_array_size(good) == 0) {
		return BELFRY_OK;
	}
	struct bf_apply_set set = {.deployments = good};
	enum belfry_status status = bf_apply_send(import->cli, &set, BF_APPLY_DO, &answers,
			&import->is_done, err);
	return status == BELFRY_OK ? put_answers(import->items, answers, err) : status;
}

/* Says in each item which line it comes from: the lines with a rule are the deployments, in order. */
static enum belfry_status put_lines(const struct import *import, struct belfry_error *err)
{
	size_t next = 0;

	for (size_t i = 0; i < json_array_size(import->local.lines); i++) {
		const json_t *line = json_array_get(import->local.lines, i);
		json_t *item = json_array_get(import->items, next);

		if (!json_is_string(json_object_get(line, "rule")) || item == NULL) {
			continue;
		}
		if (json_object_set(item, "line", json_object_get(line, "line")) != 0) {
			return no_memory(err);
		}
		next++;
	}
	return BELFRY_OK;
}

static enum belfry_status talk(struct import *import, struct belfry_error *err)
{
	if (json_array_size(import->local.deployments) == 0) {
		import->items = json_array();
		return import->items != NULL ? BELFRY_OK : no_memory(err);
	}
	enum belfry_status status = ask(import, err);
	if (status == BELFRY_OK && !import->is_dry_run) {
		status = apply(import, err);
	}
	if (status == BELFRY_OK) {
		status = put_lines(import, err);
	}
	if (status == BELFRY_UNAVAILABLE && import->is_dry_run) {
		(void)fputs("warning: the server was not asked: ", import->cli->err);
		bf_text_print(import->cli->err, false, BF_COLOUR_NONE,
				bf_str(err != NULL ? err->message : ""));
		(void)fputc('\n', import->cli->err);
		return BELFRY_OK;
	}
	return status;
}

/* --- telling --- */

static enum bf_colour colour_of(struct belfry_str result)
{
	return bf_str_equal(result, BF_STR("refused"))            ? BF_COLOUR_RED
			: bf_str_equal(result, BF_STR("changed")) ? BF_COLOUR_YELLOW
								  : BF_COLOUR_GREEN;
}

static void put_text(struct bf_table *table, struct belfry_str text)
{
	bf_table_put(table, text.len > 0 ? text : BF_STR("-"), BF_COLOUR_NONE);
}

/* The reason with its column, or the notes. */
static void put_words(struct bf_table *table, const json_t *line)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf words = {0};
	const json_t *notes = json_object_get(line, "notes");
	const json_t *column = json_object_get(line, "column");

	if (json_is_integer(column)) {
		bf_buf_appendf(&words, "column %lld: ", (long long)json_integer_value(column));
	}
	bf_buf_append_str(&words, bf_member(line, "reason"));
	for (size_t i = 0; i < json_array_size(notes); i++) {
		bf_buf_append_text(&words, words.len > 0 ? "; " : "");
		bf_buf_append_str(&words, bf_json_str(json_array_get(notes, i)));
	}
	table->is_failed = table->is_failed || words.is_failed;
	put_text(table, bf_buf_str(&words));
}

static enum belfry_status show_lines(const struct import *import, struct belfry_error *err)
{
	static const char *const heading[] = {"LINE", "RESULT", "NAME", "RULE", "ZONE", "WORDS"};
	BF_CLEANUP(bf_table_fini)
	struct bf_table table = {.columns = BF_COUNT(heading), .width = import->cli->out_columns};

	for (size_t i = 0; i < BF_COUNT(heading); i++) {
		bf_table_put(&table, bf_str(heading[i]), BF_COLOUR_BOLD);
	}
	for (size_t i = 0; i < json_array_size(import->local.lines); i++) {
		const json_t *line = json_array_get(import->local.lines, i);
		struct belfry_str result = bf_member(line, "result");
		char number[24];

		(void)snprintf(number, sizeof(number), "%lld",
				(long long)json_integer_value(json_object_get(line, "line")));
		put_text(&table, bf_str(number));
		bf_table_put(&table, result, colour_of(result));
		put_text(&table, bf_member(line, "name"));
		put_text(&table, bf_member(line, "rule"));
		put_text(&table, bf_member(line, "timezone"));
		put_words(&table, line);
	}
	if (bf_table_print(&table, import->cli->out, import->cli->is_out_coloured) != BELFRY_OK) {
		return no_memory(err);
	}
	return BELFRY_OK;
}

/* Did the server refuse one because its command is not allowed? */
static bool needs_allowing(const struct import *import)
{
	struct belfry_str code = bf_str(belfry_status_code(BELFRY_TARGET_NOT_ALLOWED));

	for (size_t i = 0; i < json_array_size(import->items); i++) {
		const json_t *error = json_object_get(json_array_get(import->items, i), "error");

		if (bf_str_equal(bf_member(error, "code"), code)) {
			return true;
		}
	}
	return !import->is_asked;
}

/* How the shells are allowed: said where the server did not, or could not be asked. */
static void show_allow(const struct import *import)
{
	const char *shell;
	json_t *value;

	if (json_object_size(import->local.shells) == 0 || !needs_allowing(import)) {
		return;
	}
	(void)fputs("\nBelfry runs commands only where it was started with: belfry serve",
			import->cli->out);
	json_object_foreach(import->local.shells, shell, value)
	{
		(void)fputs(" --allow-exec ", import->cli->out);
		bf_text_print(import->cli->out, false, BF_COLOUR_NONE, bf_str(shell));
	}
	(void)fputc('\n', import->cli->out);
}

static enum belfry_status show(const struct import *import, struct belfry_error *err)
{
	enum belfry_status status = show_lines(import, err);

	if (status == BELFRY_OK && json_array_size(import->items) > 0) {
		(void)fputc('\n', import->cli->out);
		status = bf_apply_show(import->cli, import->items, import->is_dry_run,
				import->is_done, err);
	}
	show_allow(import);
	return status;
}

static json_t *shell_names(const struct import *import)
{
	json_t *names = json_array();
	const char *shell;
	json_t *value;

	json_object_foreach(import->local.shells, shell, value)
	{
		if (json_array_append_new(names, json_string(shell)) != 0) {
			json_decref(names);
			return NULL;
		}
	}
	return names;
}

static enum belfry_status show_json(const struct import *import, struct belfry_error *err)
{
	json_t *counts = import->items != NULL ? bf_apply_counts(import->items) : json_null();
	BF_CLEANUP(bf_cleanup_json)
	json_t *answer = json_pack("{s:o, s:b, s:b, s:O, s:o, s:o, s:O?}", "file",
			bf_json_new_str(bf_str(import->file)), "dry_run", import->is_dry_run,
			"asked", import->is_asked, "lines", import->local.lines, "allow_exec",
			shell_names(import), "counts", counts, "items", import->items);

	return bf_cli_put_json(import->cli, answer, err);
}

static enum belfry_status run_crontab(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	BF_CLEANUP(import_fini)
	struct import import = {.cli = cli,
			.file = bf_args_word(args, 0),
			.is_dry_run = bf_args_has(args, "dry-run")};
	enum belfry_status status = read_table(&import, args, err);

	if (status == BELFRY_OK) {
		status = talk(&import, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (import.local.refused_count > 0 || bf_apply_count(import.items, "refused") > 0) {
		cli->exit_status = 1;
	}
	return cli->is_json ? show_json(&import, err) : show(&import, err);
}

static const struct bf_option crontab_options[] = {
		{.name = "dry-run", .help = "Show what would be made, and make nothing"},
		{.name = "system", .help = "The lines have a user column, as in /etc/crontab"},
		{.name = "user",
				.argument = "NAME",
				.help = "Who runs Belfry (who runs this): lines of others are refused"},
		{.name = "tz",
				.argument = "ZONE",
				.help = "Zone of the due times (this machine's)"},
		{.name = NULL},
};

static const struct bf_command command_crontab = {
		.path = "import crontab",
		.synopsis = "FILE [--dry-run] [--system] [--user NAME] [--tz ZONE]",
		.summary = "Make deployments of the lines of a crontab",
		.details = "Each line becomes a deployment that runs /bin/sh -c LINE, named after its command.\n"
			   "The same import again changes nothing. Variables hold for the lines below: SHELL,\n"
			   "HOME and CRON_TZ as in cron. Refused lines are named with the reason, and the exit\n"
			   "status is 1. FILE - is standard input: crontab -l | belfry import crontab -",
		.example = "belfry import crontab /etc/crontab --dry-run",
		.options = crontab_options,
		.min_words = 1,
		.max_words = 1,
		.run = run_crontab,
};

static const struct bf_command *const children[] = {&command_crontab, NULL};

const struct bf_command bf_command_import = {
		.path = "import",
		.synopsis = "COMMAND ...",
		.summary = "Take over what another scheduler runs",
		.example = "belfry import crontab /etc/crontab --dry-run",
		.children = children,
};
