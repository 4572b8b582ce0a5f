/* Fuzzes command lines, an argument in each line: of a command with every kind of option, and of
 * `deployments create`, whose options become a deployment's JSON. Nothing is lost and nothing invented:
 * every argument is an option, a value, a word or the rest. */
#include "base/str.h"
#include "cli/deployment_body.h"
#include "fuzz.h"

#define ARGUMENTS 24

static const struct bf_option options[] = {
		{.name = "zone", .argument = "Z", .help = "A zone"},
		{.name = "number", .letter = 'n', .argument = "N", .help = "A number"},
		{.name = "tag", .argument = "T", .help = "A tag", .is_repeatable = true},
		{.name = "follow", .letter = 'f', .help = "A flag"},
		BF_DEPLOYMENT_OPTIONS,
		{.name = NULL},
};

static void check_values(const struct bf_args *args)
{
	static const char *const names[] = {"allow", "skip", NULL};
	struct belfry_error err = {0};
	unsigned name = 2;
	int64_t number;

	if (bf_args_int(args, "number", 1, 10, 5, &number, &err) == BELFRY_OK) {
		fuzz_require(number >= 1 && number <= 10);
	} else {
		fuzz_require_refusal(&err, 0);
	}
	if (bf_args_enum(args, "overlap", names, &name, &err) == BELFRY_OK) {
		fuzz_require(name < 2 || bf_args_value(args, "overlap") == NULL);
	}
}

static void check_body(const struct bf_args *args)
{
	struct bf_cli cli = {0};
	BF_CLEANUP(bf_cleanup_json) json_t *body = NULL;
	struct belfry_error err = {0};

	if (bf_deployment_body(&cli, args, false, &body, &err) != BELFRY_OK) {
		fuzz_require(err.message[0] != '\0');
		return;
	}
	fuzz_require(bf_deployment_patch(body, args, body, &err) == BELFRY_OK);
}

static void check(const struct bf_command *command, size_t argc, char *const *argv)
{
	BF_CLEANUP(bf_args_fini) struct bf_args args = {0};
	struct belfry_error err = {0};

	if (bf_args_parse(command, argc, argv, &args, &err) != BELFRY_OK) {
		fuzz_require_refusal(&err, 0);
		return;
	}
	fuzz_require(args.given_count + args.word_count + args.rest_count <= argc);
	fuzz_require(bf_args_has(&args, "help") || args.word_count <= command->max_words);
	fuzz_require(bf_args_word(&args, args.word_count) == NULL);
	check_values(&args);
	check_body(&args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_command command = {.path = "probe", .options = options, .max_words = 2};
	char *argv[ARGUMENTS + 1] = {NULL};
	char *lines = malloc(size + 1);
	size_t argc = 0;

	bf_json_init();
	fuzz_require(lines != NULL);
	for (size_t i = 0; i < size; i++) {
		/* "@" would read a file. */
		lines[i] = data[i] == '\n' ? '\0' : data[i] == '@' ? 'A' : (char)data[i];
	}
	lines[size] = '\0';
	for (size_t at = 0; at < size && argc < ARGUMENTS; at += strlen(lines + at) + 1) {
		argv[argc++] = lines + at;
	}
	check(&command, argc, argv);
	command.has_rest = true;
	check(&command, argc, argv);
	free(lines);
	return 0;
}
