/* `belfry completion`: scripts for bash, zsh and fish, made from the command table, so that what completes
 * is what is there. Names of deployments come from the command itself, within a second.
 *
 * The table is walked once into lines; each shell then has its own way to write them down. Nothing that a
 * server sends becomes part of a script. */
#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/client.h"
#include "cli/resolve.h"

#define NAMES_MAX   100
#define NAMES_MILLI 1000L

/* What words of a command complete to. */
enum words { WORDS_NONE, WORDS_NAMES, WORDS_FILES };

static enum words words_of(const struct bf_command *command)
{
	const char *synopsis = command->synopsis;
	size_t len = strcspn(synopsis, " .\n]");
	struct belfry_str first = {synopsis, len};

	if (command->children != NULL) {
		return WORDS_NONE;
	}
	first = first.len > 0 && first.ptr[0] == '[' ? bf_str_slice(first, 1, first.len) : first;
	if (bf_str_equal(first, BF_STR("FILE"))) {
		return WORDS_FILES;
	}
	return bf_str_starts_with(first, BF_STR("DEPLOYMENT")) ||
					bf_str_starts_with(first, BF_STR("RUN"))
			? WORDS_NAMES
			: WORDS_NONE;
}

static bool takes_file(const struct bf_option *option)
{
	return option->argument != NULL &&
			(strstr(option->argument, "FILE") != NULL ||
					strcmp(option->argument, "DIR") == 0);
}

typedef void (*visit_fn)(const struct bf_command *command, struct bf_buf *script);

/* All commands, groups before what is in them. Groups lie two deep at most. */
static void visit_all(const struct bf_command *const *commands, visit_fn visit,
		struct bf_buf *script)
{
	for (size_t i = 0; commands[i] != NULL; i++) {
		visit(commands[i], script);
		if (commands[i]->children != NULL) {
			visit_all(commands[i]->children, visit, script);
		}
	}
}

static void put_names(const struct bf_command *const *commands, struct bf_buf *script)
{
	for (size_t i = 0; commands[i] != NULL; i++) {
		bf_buf_appendf(script, "%s%s", i > 0 ? " " : "", bf_command_name(commands[i]));
	}
}

/* "a|b|c" in front of a synopsis: the words to choose from. */
static void put_choices(const struct bf_command *command, struct bf_buf *script)
{
	size_t len = strcspn(command->synopsis, " ");

	if (command->children != NULL || memchr(command->synopsis, '|', len) == NULL ||
			command->synopsis[0] < 'a' || command->synopsis[0] > 'z') {
		return;
	}
	for (size_t i = 0; i < len; i++) {
		bf_buf_append_byte(script,
				command->synopsis[i] == '|' ? ' ' : command->synopsis[i]);
	}
	bf_buf_append_byte(script, ' ');
}

static void put_options(const struct bf_option *options, struct bf_buf *script)
{
	for (; bf_option_exists(options); options++) {
		bf_buf_appendf(script, "--%s ", options->name);
	}
}

static void put_path_pattern(const struct bf_command *command, struct bf_buf *script)
{
	bf_buf_appendf(script, "|' %s'", command->path);
}

/* --- bash and zsh: the same cases, and each its own way to hand the words over --- */

static const char *word_kind(enum words words)
{
	static const char *const kinds[] = {"", " kind=names", " kind=files"};

	return kinds[words];
}

static void put_command_case(const struct bf_command *command, struct bf_buf *script)
{
	bf_buf_appendf(script, "\t' %s') choices='", command->path);
	if (command->children != NULL) {
		put_names(command->children, script);
		bf_buf_append_byte(script, ' ');
	}
	put_choices(command, script);
	put_options(command->options, script);
	put_options(bf_options_common, script);
	script->len -= script->is_failed ? 0 : 1; /* the last blank */
	bf_buf_appendf(script, "'%s ;;\n", word_kind(words_of(command)));
}

/* Behind an option that takes a value comes nothing but that. */
static void put_option_cases(const struct bf_command *command, struct bf_buf *script)
{
	for (const struct bf_option *o = command->options; bf_option_exists(o); o++) {
		if (o->argument != NULL) {
			bf_buf_appendf(script, "\t' %s --%s') choices='' kind=%s ;;\n",
					command->path, o->name, takes_file(o) ? "files" : "''");
		}
	}
}

static void put_cases(const struct bf_cli *cli, struct bf_buf *script)
{
	bf_buf_append_text(script, "\t\tcase \"$at $word\" in\n\t\t''");
	visit_all(cli->commands, put_path_pattern, script);
	bf_buf_append_text(script,
			") at=\"$at $word\" ;;\n\t\tesac\n\tdone\n"
			"\tcase \"$at\" in\n\t'') choices='");
	put_names(cli->commands, script);
	bf_buf_append_text(script, " help --help --version --json' ;;\n");
	visit_all(cli->commands, put_command_case, script);
	bf_buf_append_text(script, "\tesac\n\tcase \"$at $previous\" in\n");
	visit_all(cli->commands, put_option_cases, script);
	bf_buf_append_text(script, "\tesac\n");
}

static void put_bash(const struct bf_cli *cli, struct bf_buf *script)
{
	bf_buf_append_text(script,
			"# bash completion for belfry: source <(belfry completion bash)\n"
			"_belfry() {\n"
			"\tlocal current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}\n"
			"\tlocal at= word= choices= kind= name= i\n"
			"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
			"\t\tword=${COMP_WORDS[i]}\n");
	put_cases(cli, script);
	bf_buf_append_text(script,
			"\tCOMPREPLY=()\n"
			"\tfor word in $choices; do\n"
			"\t\t[[ $word == \"$current\"* && ( $word != -* || $current == -* || -z $kind ) ]] && COMPREPLY+=(\"$word\")\n"
			"\tdone\n"
			"\tif [[ $kind == files ]]; then\n"
			"\t\twhile IFS= read -r name; do COMPREPLY+=(\"$name\"); done < <(compgen -f -- \"$current\")\n"
			"\t\tcompopt -o filenames 2>/dev/null\n"
			"\telif [[ $kind == names && $current != -* ]]; then\n"
			"\t\twhile IFS= read -r name; do COMPREPLY+=(\"$(printf %q \"$name\")\"); done \\\n"
			"\t\t\t< <(\"$1\" completion names \"$current\" 2>/dev/null)\n"
			"\tfi\n"
			"\treturn 0\n"
			"}\n"
			"complete -F _belfry belfry\n");
}

static void put_zsh(const struct bf_cli *cli, struct bf_buf *script)
{
	bf_buf_append_text(script,
			"#compdef belfry\n"
			"# zsh completion for belfry: source <(belfry completion zsh)\n"
			"_belfry() {\n"
			"\tlocal previous=${words[CURRENT - 1]} at='' word='' choices='' kind=''\n"
			"\tlocal -a found\n"
			"\tfor word in \"${(@)words[2,CURRENT - 1]}\"; do\n");
	put_cases(cli, script);
	bf_buf_append_text(script,
			"\tfound=(${=choices})\n"
			"\tcompadd -a found\n"
			"\tif [[ $kind == files ]]; then\n"
			"\t\t_files\n"
			"\telif [[ $kind == names ]]; then\n"
			"\t\tfound=(\"${(@f)$(\"$words[1]\" completion names \"$PREFIX\" 2>/dev/null)}\")\n"
			"\t\tcompadd -a found\n"
			"\tfi\n"
			"}\n"
			"if [[ \"$funcstack[1]\" == _belfry ]]; then\n"
			"\t_belfry \"$@\"\n"
			"else\n"
			"\tcompdef _belfry belfry\n"
			"fi\n");
}

/* --- fish --- */

/* Within single quotes. */
static void put_quoted(const char *text, struct bf_buf *script)
{
	bf_buf_append_byte(script, '\'');
	for (; *text != '\0'; text++) {
		bf_buf_append_text(script, *text == '\'' || *text == '\\' ? "\\" : "");
		bf_buf_append_byte(script, *text);
	}
	bf_buf_append_byte(script, '\'');
}

static void put_fish_at(const char *at, struct bf_buf *script)
{
	bf_buf_appendf(script, "complete -c belfry -n \"__belfry_at '%s'\"", at);
}

static void put_fish_path(const struct bf_command *command, struct bf_buf *script)
{
	bf_buf_appendf(script, " ' %s'", command->path);
}

static void put_fish_options(const char *at, const struct bf_option *options, struct bf_buf *script)
{
	for (; bf_option_exists(options); options++) {
		put_fish_at(at, script);
		bf_buf_appendf(script, " -l %s", options->name);
		if (options->letter != 0) {
			bf_buf_appendf(script, " -s %c", options->letter);
		}
		bf_buf_append_text(script,
				takes_file(options)                         ? " -r -F"
						: options->argument != NULL ? " -x"
									    : "");
		bf_buf_append_text(script, " -d ");
		put_quoted(options->help, script);
		bf_buf_append_byte(script, '\n');
	}
}

static void put_fish_command(const char *at, const struct bf_command *command,
		struct bf_buf *script)
{
	put_fish_at(at, script);
	bf_buf_appendf(script, " -a %s -d ", bf_command_name(command));
	put_quoted(command->summary, script);
	bf_buf_append_byte(script, '\n');
}

static void put_fish_lines(const struct bf_command *command, struct bf_buf *script)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf at = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf choices = {0};

	bf_buf_appendf(&at, " %s", command->path);
	put_choices(command, &choices);
	if (at.is_failed || choices.is_failed) {
		script->is_failed = true;
		return;
	}
	for (size_t i = 0; command->children != NULL && command->children[i] != NULL; i++) {
		put_fish_command(at.ptr, command->children[i], script);
	}
	if (choices.len > 0) {
		put_fish_at(at.ptr, script);
		bf_buf_appendf(script, " -a '%s'\n", choices.ptr);
	}
	if (words_of(command) == WORDS_NAMES) {
		put_fish_at(at.ptr, script);
		bf_buf_append_text(script,
				" -a '(belfry completion names (commandline -ct) 2>/dev/null)'\n");
	} else if (words_of(command) == WORDS_FILES) {
		put_fish_at(at.ptr, script);
		bf_buf_append_text(script, " -F\n");
	}
	put_fish_options(at.ptr, command->options, script);
	put_fish_options(at.ptr, bf_options_common, script);
}

static void put_fish(const struct bf_cli *cli, struct bf_buf *script)
{
	bf_buf_append_text(script,
			"# fish completion for belfry: belfry completion fish | source\n"
			"function __belfry_at\n"
			"    set -l at ''\n"
			"    for word in (commandline -opc)[2..-1]\n"
			"        switch \"$at $word\"\n"
			"            case");
	visit_all(cli->commands, put_fish_path, script);
	bf_buf_append_text(script,
			"\n"
			"                set at \"$at $word\"\n"
			"        end\n"
			"    end\n"
			"    test \"$at\" = \"$argv[1]\"\n"
			"end\n"
			"complete -c belfry -f\n");
	for (size_t i = 0; cli->commands[i] != NULL; i++) {
		put_fish_command("", cli->commands[i], script);
	}
	visit_all(cli->commands, put_fish_lines, script);
}

/* --- names --- */

/* A page at most, and a second: nobody waits for a completion. Names that would break a line are left
 * out. */
static enum belfry_status print_names(struct bf_cli *cli, const char *prefix,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf path = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *page = NULL;

	bf_buf_appendf(&path, "/v1/deployments?limit=%d&q=", NAMES_MAX);
	bf_client_encode(&path, bf_str(prefix != NULL ? prefix : ""));
	if (bf_buf_status(&path) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	struct bf_request request = {.path = path.ptr, .limit_ms = NAMES_MILLI};
	enum belfry_status status = bf_client_json(cli, &request, &page, err);
	const json_t *items = json_object_get(page, "items");
	if (status == BELFRY_OK && cli->is_json) {
		return bf_cli_put_json(cli, page, err);
	}
	for (size_t i = 0; i < json_array_size(items); i++) {
		struct belfry_str name = bf_member(json_array_get(items, i), "name");

		if (name.len > 0 && memchr(name.ptr, '\n', name.len) == NULL) {
			(void)fprintf(cli->out, "%.*s\n", BF_STR_ARGS(name));
		}
	}
	return status;
}

/* --- the command --- */

static enum belfry_status print_script(struct bf_cli *cli, const struct bf_buf *script,
		struct belfry_error *err)
{
	if (bf_buf_status(script) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (cli->is_json) {
		BF_CLEANUP(bf_cleanup_json)
		json_t *answer = json_pack("{s:s%}", "script", script->ptr, script->len);

		return bf_cli_put_json(cli, answer, err);
	}
	(void)fwrite(script->ptr, 1, script->len, cli->out);
	return BELFRY_OK;
}

static enum belfry_status run_completion(struct bf_cli *cli, const struct bf_args *args,
		struct belfry_error *err)
{
	static const struct {
		const char *shell;
		void (*put)(const struct bf_cli *cli, struct bf_buf *script);
	} shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
	BF_CLEANUP(bf_buf_fini) struct bf_buf script = {0};
	const char *shell = bf_args_word(args, 0);

	if (strcmp(shell, "names") == 0) {
		return print_names(cli, bf_args_word(args, 1), err);
	}
	for (size_t i = 0; i < BF_COUNT(shells) && args->word_count == 1; i++) {
		if (strcmp(shell, shells[i].shell) == 0) {
			shells[i].put(cli, &script);
			return print_script(cli, &script, err);
		}
	}
	return bf_error_set(err, BELFRY_USAGE,
			"there is completion for bash, zsh and fish: belfry completion bash");
}

const struct bf_command bf_command_completion = {
		.path = "completion",
		.synopsis = "bash|zsh|fish",
		.summary = "Print the completion script of a shell",
		.details = "For this shell: source <(belfry completion bash). For all to come: put the script where the\n"
			   "shell looks, /etc/bash_completion.d/belfry or ~/.config/fish/completions/belfry.fish.\n"
			   "The script asks for names with `belfry completion names PREFIX`, which prints those\n"
			   "of deployments, one a line, within a second.",
		.example = "belfry completion bash",
		.min_words = 1,
		.max_words = 2,
		.run = run_completion,
};
