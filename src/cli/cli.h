/* The command line: one table of commands, and what each of them is given.
 *
 * A command is a constant: its words, its options, one example, and a function. From the table come the
 * parser, --help, the suggestions for a mistyped word, and the lists of tests and completions.
 *
 * Ownership  the table and its text are static. struct bf_cli belongs to main; a command borrows it.
 * Threads    one.
 * Errors     a command returns a status with err filled; bf_cli_run prints it and makes the exit status
 *            of it. What a command prints itself goes to cli->out; hints and progress to cli->err. */
#ifndef BF_CLI_CLI_H
#define BF_CLI_CLI_H

#include <stdio.h>

#include <belfry/calendar.h>

#include "base/env.h"
#include "base/json.h"
#include "cli/args.h"

#define BF_CLI_URL "http://127.0.0.1:8377"

struct bf_client;

struct bf_cli {
	const struct bf_env *env;
	const struct bf_command *const *commands; /* ended by NULL */
	const char *version;
	const char *url;          /* where the server is */
	const char *token;        /* NULL: none is sent. Never printed */
	const char *tz_directory; /* NULL: the system's folders */
	FILE *out;
	FILE *err;
	bool is_out_terminal;
	bool is_err_terminal;
	size_t out_columns; /* of the terminal, 0: none */
	bool is_out_coloured;
	bool is_err_coloured;
	/* From here on bf_cli_run fills in; zero before. */
	bool is_json;
	int exit_status;           /* wanted by a command that did its work (trigger --wait) */
	const char *text_at_fault; /* what err->position counts in: shown with a caret */
	struct bf_client *client;
	struct belfry_zones *zones;
};

struct bf_command {
	const char *path;                         /* "deployments create" */
	const char *synopsis;                     /* what follows the path: "NAME [option]..." */
	const char *summary;                      /* one sentence, no full stop */
	const char *details;                      /* may be NULL */
	const char *example;                      /* whole command lines, one or more */
	const struct bf_option *options;          /* ended by an empty name; may be NULL */
	const struct bf_command *const *children; /* ended by NULL; a group has these alone */
	unsigned min_words;
	unsigned max_words;
	bool has_rest;      /* takes what stands behind -- */
	bool is_rule_first; /* the first word is a rule, which needs quotes */
	enum belfry_status (*run)(struct bf_cli *cli, const struct bf_args *args,
			struct belfry_error *err);
};

/* Find the command that argv names, parse its options, run it, print what went wrong.
 * argv[0] is the program's name. Returns the exit status of the process. */
int bf_cli_run(struct bf_cli *cli, int argc, char *const *argv);

/* The zone database, opened at the first use, closed by bf_cli_run. *ret_zones is borrowed. */
BF_MUST_CHECK enum belfry_status bf_cli_zones(struct bf_cli *cli, struct belfry_zones **ret_zones,
		struct belfry_error *err);

/* Writes `value` as one line of JSON. */
BF_MUST_CHECK enum belfry_status bf_cli_put_json(struct bf_cli *cli, const json_t *value,
		struct belfry_error *err);

/* The last word of a command's path. */
const char *bf_command_name(const struct bf_command *command);

/* The commands of this layer. */
extern const struct bf_command bf_command_apply;
extern const struct bf_command bf_command_calendars;
extern const struct bf_command bf_command_calendars_set; /* one of its children */
extern const struct bf_command bf_command_completion;
extern const struct bf_command bf_command_deployments;
extern const struct bf_command bf_command_doctor;
extern const struct bf_command bf_command_explain;
extern const struct bf_command bf_command_export;
extern const struct bf_command bf_command_forecast;
extern const struct bf_command bf_command_import;
extern const struct bf_command bf_command_logs;
extern const struct bf_command bf_command_next;
extern const struct bf_command bf_command_runs;
extern const struct bf_command bf_command_settings;
extern const struct bf_command bf_command_trigger;
extern const struct bf_command bf_command_why;

#endif
