/* From argv to an exit status: finds the command in the table, parses its options, runs it, and says on
 * standard error what went wrong and what to do. Knows no command by name. */
#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/help.h"
#include "cli/text.h"

const char *bf_command_name(const struct bf_command *command)
{
	const char *blank = strrchr(command->path, ' ');

	return blank != NULL ? blank + 1 : command->path;
}

enum belfry_status bf_cli_zones(struct bf_cli *cli, struct belfry_zones **ret_zones,
		struct belfry_error *err)
{
	if (cli->zones == NULL) {
		enum belfry_status status = belfry_zones_new(cli->tz_directory, &cli->zones, err);

		if (status != BELFRY_OK) {
			return status;
		}
	}
	*ret_zones = cli->zones;
	return BELFRY_OK;
}

enum belfry_status bf_cli_put_json(struct bf_cli *cli, const json_t *value,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf text = {0};

	if (value == NULL || bf_json_dump(value, &text) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	(void)fprintf(cli->out, "%.*s\n", BF_STR_ARGS(bf_buf_str(&text)));
	return BELFRY_OK;
}

static const struct bf_command *find_command(const struct bf_command *const *commands,
		const char *name)
{
	for (size_t i = 0; commands[i] != NULL; i++) {
		if (strcmp(bf_command_name(commands[i]), name) == 0) {
			return commands[i];
		}
	}
	return NULL;
}

/* `group` NULL: at the top. */
static enum belfry_status refuse_command(const struct bf_command *const *commands,
		const struct bf_command *group, const char *name, struct belfry_error *err)
{
	const char *prefix = group != NULL ? group->path : "";
	const char *blank = group != NULL ? " " : "";
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	struct bf_nearest nearest;

	bf_buf_appendf(&path, "%s%s%.60s", prefix, blank, name);
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (bf_help_is_later(bf_buf_str(&path))) {
		return bf_error_set(err, BELFRY_USAGE, "this version does not offer `%s`",
				path.ptr);
	}
	bf_nearest_begin(&nearest, bf_str(name));
	for (size_t i = 0; commands[i] != NULL; i++) {
		bf_nearest_offer(&nearest, bf_command_name(commands[i]));
	}
	if (nearest.best != NULL) {
		return bf_error_set(err, BELFRY_USAGE,
				"there is no command `%s`: did you mean `belfry %s%s%s`?", path.ptr,
				prefix, blank, nearest.best);
	}
	return bf_error_set(err, BELFRY_USAGE,
			"there is no command `%s`: `belfry %s%s--help` lists the commands",
			path.ptr, prefix, blank);
}

/* Follows argv through the groups. *at moves to the first argument that is no command's name. */
static enum belfry_status walk(const struct bf_cli *cli, size_t argc, char *const *argv, size_t *at,
		const struct bf_command **ret_command, struct belfry_error *err)
{
	const struct bf_command *const *commands = cli->commands;
	const struct bf_command *command = NULL;

	while (commands != NULL && *at < argc && argv[*at][0] != '-') {
		const struct bf_command *found = find_command(commands, argv[*at]);

		if (found == NULL) {
			return refuse_command(commands, command, argv[*at], err);
		}
		(*at)++;
		command = found;
		commands = command->children;
	}
	*ret_command = command;
	return BELFRY_OK;
}

static enum belfry_status help_command(const struct bf_cli *cli, size_t argc, char *const *argv,
		struct belfry_error *err)
{
	const struct bf_command *command = NULL;
	size_t at = 0;
	enum belfry_status status = walk(cli, argc, argv, &at, &command, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (at < argc && strcmp(argv[at], "--help") != 0 && strcmp(argv[at], "-h") != 0) {
		return bf_error_set(err, BELFRY_USAGE,
				"\"%.60s\" is too much: use belfry help [COMMAND]", argv[at]);
	}
	if (command != NULL) {
		bf_help_print_command(cli->out, command);
	} else {
		bf_help_print_all(cli, cli->out);
	}
	return BELFRY_OK;
}

static enum belfry_status run_command(struct bf_cli *cli, const struct bf_command *command,
		size_t argc, char *const *argv, struct belfry_error *err)
{
	BF_CLEANUP(bf_args_fini) struct bf_args args = {0};
	enum belfry_status status = bf_args_parse(command, argc, argv, &args, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (bf_args_has(&args, "help")) {
		bf_help_print_command(cli->out, command);
		return BELFRY_OK;
	}
	if (command->run == NULL) {
		return bf_error_set(err, BELFRY_USAGE,
				"a command is missing: `belfry %s --help` lists them",
				command->path);
	}
	cli->is_json = cli->is_json || bf_args_has(&args, "json");
	return command->run(cli, &args, err);
}

static enum belfry_status put_version(struct bf_cli *cli, struct belfry_error *err)
{
	if (cli->is_json) {
		BF_CLEANUP(bf_cleanup_json)
		json_t *answer = json_pack("{s:s}", "version", cli->version);

		return bf_cli_put_json(cli, answer, err);
	}
	(void)fprintf(cli->out, "belfry %s\n", cli->version);
	return BELFRY_OK;
}

/* What may stand before a command. True: that was all. */
static bool run_global(struct bf_cli *cli, size_t argc, char *const *argv, size_t *at,
		enum belfry_status *ret_status, struct belfry_error *err)
{
	const char *word = *at < argc ? argv[*at] : "";

	*ret_status = BELFRY_OK;
	if (strcmp(word, "--json") == 0) {
		cli->is_json = true;
		(*at)++;
		word = *at < argc ? argv[*at] : "";
	}
	if (strcmp(word, "--version") == 0) {
		cli->is_json = cli->is_json ||
				(*at + 1 < argc && strcmp(argv[*at + 1], "--json") == 0);
		*ret_status = put_version(cli, err);
	} else if (strcmp(word, "help") == 0 || strcmp(word, "--help") == 0 ||
			strcmp(word, "-h") == 0) {
		*ret_status = help_command(cli, argc - *at - 1, argv + *at + 1, err);
	} else if (*at >= argc) {
		bf_help_print_all(cli, cli->err);
		*ret_status = bf_error_set(err, BELFRY_USAGE, "a command is missing");
	} else if (word[0] == '-') {
		*ret_status = bf_error_set(err, BELFRY_USAGE,
				"there is no option %.60s here: options follow the command", word);
	} else {
		return false;
	}
	return true;
}

static enum belfry_status run(struct bf_cli *cli, size_t argc, char *const *argv,
		const struct bf_command **ret_command, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;
	size_t at = 1;

	if (run_global(cli, argc, argv, &at, &status, err)) {
		return status;
	}
	status = walk(cli, argc, argv, &at, ret_command, err);
	if (status != BELFRY_OK) {
		return status;
	}
	return run_command(cli, *ret_command, argc - at, argv + at, err);
}

static void print_failure(const struct bf_cli *cli, const struct bf_command *command,
		enum belfry_status status, const struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf line = {0};
	const char *message = err->message[0] != '\0' ? err->message : belfry_status_text(status);

	bf_text_print(cli->err, cli->is_err_coloured, BF_COLOUR_RED,
			command != NULL ? BF_STR("error: ") : BF_STR("belfry: "));
	bf_buf_append_text(&line, message);
	const char *member = strrchr(err->pointer, '/');
	if (member != NULL && strstr(message, member + 1) == NULL) {
		bf_buf_appendf(&line, " (at %s)", err->pointer);
	}
	bf_text_print(cli->err, false, BF_COLOUR_NONE, bf_buf_str(&line));
	(void)fputc('\n', cli->err);
	if (err->position > 0 && cli->text_at_fault != NULL) {
		bf_text_print_caret(cli->err, bf_str(cli->text_at_fault),
				(size_t)err->position - 1);
	}
}

int bf_cli_run(struct bf_cli *cli, int argc, char *const *argv)
{
	struct belfry_error err = {0};
	const struct bf_command *command = NULL;
	enum belfry_status status = run(cli, (size_t)BF_MAX(argc, 1), argv, &command, &err);

	if (fflush(cli->out) != 0 && status == BELFRY_OK) {
		status = bf_error_set(&err, BELFRY_INTERNAL,
				"the output could not be written: is the disk full?");
	}
	if (status != BELFRY_OK) {
		print_failure(cli, command, status, &err);
	}
	bf_client_free(cli->client);
	cli->client = NULL;
	belfry_zones_free(cli->zones);
	cli->zones = NULL;
	return status != BELFRY_OK ? belfry_status_exit(status) : cli->exit_status;
}
