/* Parses a command's arguments by its table of options. Does not know what the values mean, prints
 * nothing, and never guesses: a mistyped name is refused, with the nearest one as a suggestion. */
#include "cli/args.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "base/error.h"
#include "base/str.h"
#include "cli/cli.h"
#include "cli/help.h"

const struct bf_option bf_options_common[] = {
		{.name = "json", .help = "Write JSON, for machines"},
		{.name = "help", .letter = 'h', .help = "Show this text"},
		{.name = NULL},
};

struct parser {
	struct bf_args *args;
	char *const *argv;
	size_t argc;
	size_t at;
	struct belfry_error *err;
};

static const struct bf_option *find_in(const struct bf_option *options, struct belfry_str name)
{
	for (; bf_option_exists(options); options++) {
		if (bf_str_equal(bf_str(options->name), name) ||
				(name.len == 1 && options->letter == name.ptr[0])) {
			return options;
		}
	}
	return NULL;
}

static const struct bf_option *find_option(const struct bf_command *command, struct belfry_str name)
{
	const struct bf_option *option = find_in(command->options, name);

	return option != NULL ? option : find_in(bf_options_common, name);
}

/* "-2h" is a time and "-1 * * * *" a (wrong) rule; names of options hold neither blanks nor controls. */
static bool is_option(const char *text)
{
	if (text[0] != '-' || text[1] == '\0' || (text[1] >= '0' && text[1] <= '9')) {
		return false;
	}
	for (const char *p = text + 1; *p != '\0' && *p != '='; p++) {
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f) {
			return false;
		}
	}
	return true;
}

static enum belfry_status refuse_unknown(const struct parser *parser, const char *word)
{
	const struct bf_command *command = parser->args->command;
	struct belfry_str name = bf_str(word);
	const char *equals = memchr(name.ptr, '=', name.len);
	struct bf_nearest nearest = {0};

	name.len = equals != NULL ? (size_t)(equals - word) : name.len;
	bf_nearest_begin(&nearest,
			bf_str_slice(name, name.len > 1 && word[1] == '-' ? 2 : 1, name.len));
	for (const struct bf_option *o = command->options; bf_option_exists(o); o++) {
		bf_nearest_offer(&nearest, o->name);
	}
	for (const struct bf_option *o = bf_options_common; bf_option_exists(o); o++) {
		bf_nearest_offer(&nearest, o->name);
	}
	if (nearest.best != NULL) {
		return bf_error_set(parser->err, BELFRY_USAGE,
				"there is no option %.*s: did you mean --%s?",
				(int)BF_MIN(name.len, (size_t)60), name.ptr, nearest.best);
	}
	return bf_error_set(parser->err, BELFRY_USAGE,
			"there is no option %.*s: `belfry %s --help` lists them",
			(int)BF_MIN(name.len, (size_t)60), name.ptr, command->path);
}

static enum belfry_status put_given(const struct parser *parser, const struct bf_option *option,
		const char *value)
{
	struct bf_args *args = parser->args;

	for (size_t i = 0; i < args->given_count && !option->is_repeatable; i++) {
		if (args->given[i].option == option && option->argument != NULL) {
			return bf_error_set(parser->err, BELFRY_USAGE,
					"--%s is given twice: leave one out", option->name);
		}
	}
	args->given[args->given_count++] = (struct bf_args_given){option, value};
	return BELFRY_OK;
}

/* Takes the value behind "=" (attached), or the next argument. */
static enum belfry_status put_option(struct parser *parser, const struct bf_option *option,
		const char *attached)
{
	if (option->argument == NULL) {
		if (attached != NULL) {
			return bf_error_set(parser->err, BELFRY_USAGE,
					"--%s takes no value: leave out what follows it",
					option->name);
		}
		return put_given(parser, option, "");
	}
	if (attached == NULL) {
		if (parser->at >= parser->argc) {
			return bf_error_set(parser->err, BELFRY_USAGE,
					"--%s needs a value: --%s %s", option->name, option->name,
					option->argument);
		}
		attached = parser->argv[parser->at++];
	}
	return put_given(parser, option, attached);
}

static enum belfry_status parse_long(struct parser *parser, const char *word)
{
	struct belfry_str name = bf_str(word + 2);
	const char *equals = memchr(name.ptr, '=', name.len);

	name.len = equals != NULL ? (size_t)(equals - name.ptr) : name.len;
	const struct bf_option *option = name.len > 1 ? find_option(parser->args->command, name)
						      : NULL;
	if (option == NULL) {
		return refuse_unknown(parser, word);
	}
	return put_option(parser, option, equals != NULL ? equals + 1 : NULL);
}

/* One letter, its value attached ("-n5") or behind. */
static enum belfry_status parse_short(struct parser *parser, const char *word)
{
	const struct bf_option *option = find_option(parser->args->command,
			(struct belfry_str){word + 1, 1});

	if (option == NULL) {
		return refuse_unknown(parser, word);
	}
	return put_option(parser, option, word[2] != '\0' ? word + 2 : NULL);
}

static enum belfry_status parse_words(struct parser *parser)
{
	struct bf_args *args = parser->args;

	while (parser->at < parser->argc) {
		const char *word = parser->argv[parser->at++];
		enum belfry_status status = BELFRY_OK;

		if (strcmp(word, "--") == 0) {
			args->rest = parser->argv + parser->at;
			args->rest_count = parser->argc - parser->at;
			return BELFRY_OK;
		}
		if (!is_option(word)) {
			args->words[args->word_count++] = word;
		} else if (word[1] == '-') {
			status = parse_long(parser, word);
		} else {
			status = parse_short(parser, word);
		}
		if (status != BELFRY_OK) {
			return status;
		}
	}
	return BELFRY_OK;
}

/* Where the command takes no rest, "--" only ends the options. */
static void rest_to_words(struct bf_args *args)
{
	for (size_t i = 0; i < args->rest_count; i++) {
		args->words[args->word_count++] = args->rest[i];
	}
	args->rest = NULL;
	args->rest_count = 0;
}

/* Names the first word that is missing, and shows the form: the synopsis begins with the words that are
 * needed. */
static enum belfry_status refuse_missing(const struct bf_args *args, struct belfry_error *err)
{
	const struct bf_command *command = args->command;
	const char *end = command->synopsis;
	struct belfry_str missing = {0};

	for (size_t i = 0; i < command->min_words; i++) {
		const char *word = end + strspn(end, " ");

		end = word + strcspn(word, " \n");
		if (i == args->word_count) {
			missing = (struct belfry_str){word, (size_t)(end - word)};
		}
	}
	return bf_error_set(err, BELFRY_USAGE, "%.*s is missing: belfry %s %.*s%s",
			BF_STR_ARGS(missing), command->path, (int)(end - command->synopsis),
			command->synopsis, *end != '\0' ? " ..." : "");
}

/* A cron rule without quotes is the usual reason for too many words. */
static enum belfry_status refuse_surplus(const struct bf_args *args, struct belfry_error *err)
{
	const struct bf_command *command = args->command;
	const char *word = args->words[command->max_words];

	if (command->is_rule_first) {
		return bf_error_set(err, BELFRY_USAGE,
				"\"%.60s\" is too much: quote the rule, as in belfry %s \"0 9 * * 1-5\"",
				word, command->path);
	}
	if (find_in(command->options, BF_STR("cron")) != NULL && bf_args_has(args, "cron")) {
		return bf_error_set(err, BELFRY_USAGE,
				"\"%.60s\" is too much: quote the rule, as in --cron \"0 9 * * 1-5\"",
				word);
	}
	return bf_error_set(err, BELFRY_USAGE,
			"\"%.60s\" is too much: `belfry %s --help` shows the form", word,
			command->path);
}

static enum belfry_status check_count(const struct bf_args *args, struct belfry_error *err)
{
	const struct bf_command *command = args->command;

	if (args->word_count < command->min_words) {
		return refuse_missing(args, err);
	}
	if (args->word_count > command->max_words) {
		return refuse_surplus(args, err);
	}
	return BELFRY_OK;
}

enum belfry_status bf_args_parse(const struct bf_command *command, size_t argc, char *const *argv,
		struct bf_args *ret_args, struct belfry_error *err)
{
	BF_CLEANUP(bf_args_fini) struct bf_args args = {.command = command};
	struct parser parser = {.args = &args, .argv = argv, .argc = argc, .err = err};

	args.given = bf_alloc_array(argc + 1, sizeof(*args.given));
	args.words = bf_alloc_array(argc + 1, sizeof(*args.words));
	if (args.given == NULL || args.words == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = parse_words(&parser);
	if (status == BELFRY_OK && !command->has_rest) {
		rest_to_words(&args);
	}
	if (status == BELFRY_OK && !bf_args_has(&args, "help")) {
		status = check_count(&args, err);
	}
	if (status == BELFRY_OK) {
		*ret_args = args;
		args = (struct bf_args){0};
	}
	return status;
}

void bf_args_fini(struct bf_args *args)
{
	bf_free(args->given);
	bf_free(args->words);
	*args = (struct bf_args){0};
}

const char *bf_args_next(const struct bf_args *args, const char *name, size_t *cursor)
{
	BF_ASSERT(find_option(args->command, bf_str(name)) != NULL);
	while (*cursor < args->given_count) {
		const struct bf_args_given *given = &args->given[(*cursor)++];

		if (strcmp(given->option->name, name) == 0) {
			return given->value;
		}
	}
	return NULL;
}

const char *bf_args_value(const struct bf_args *args, const char *name)
{
	size_t cursor = 0;

	return bf_args_next(args, name, &cursor);
}

enum belfry_status bf_args_text(const struct bf_args *args, const char *name, const char **ret_text,
		struct belfry_error *err)
{
	const char *text = bf_args_value(args, name);

	if (text != NULL && !bf_str_is_utf8(bf_str(text))) {
		return bf_error_set(err, BELFRY_USAGE, "--%s: the text is not UTF-8", name);
	}
	*ret_text = text;
	return BELFRY_OK;
}

bool bf_args_has(const struct bf_args *args, const char *name)
{
	return bf_args_value(args, name) != NULL;
}

const char *bf_args_word(const struct bf_args *args, size_t index)
{
	return index < args->word_count ? args->words[index] : NULL;
}

enum belfry_status bf_args_int(const struct bf_args *args, const char *name, int64_t min,
		int64_t max, int64_t otherwise, int64_t *ret_value, struct belfry_error *err)
{
	const char *text = bf_args_value(args, name);

	if (text == NULL) {
		*ret_value = otherwise;
		return BELFRY_OK;
	}
	if (bf_str_parse_int(bf_str(text), min, max, ret_value) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_USAGE,
				"--%s: \"%.60s\" is not a whole number from %lld to %lld", name,
				text, (long long)min, (long long)max);
	}
	return BELFRY_OK;
}

enum belfry_status bf_args_enum(const struct bf_args *args, const char *name,
		const char *const *names, unsigned *ret_index, struct belfry_error *err)
{
	const char *text = bf_args_value(args, name);
	BF_CLEANUP(bf_buf_fini) struct bf_buf list = {0};

	if (text == NULL) {
		return BELFRY_OK;
	}
	for (unsigned i = 0; names[i] != NULL; i++) {
		if (strcmp(names[i], text) == 0) {
			*ret_index = i;
			return BELFRY_OK;
		}
		bf_buf_appendf(&list, "%s%s", i > 0 ? ", " : "", names[i]);
	}
	if (bf_buf_status(&list) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return bf_error_set(err, BELFRY_USAGE, "--%s: \"%.60s\" is none of %s", name, text,
			list.ptr);
}
