/* Arguments of a command line, parsed by a table of options: long names with "=" or a blank, short ones
 * with the value attached or behind, "--" before what is no option. A word like -2h is no option. */
#ifndef BF_CLI_ARGS_H
#define BF_CLI_ARGS_H

#include <belfry/status.h>

#include "base/compiler.h"

struct bf_command;

struct bf_option {
	const char *name;     /* "request-key" */
	const char *argument; /* "KEY"; NULL: a flag */
	const char *help;
	char letter; /* 0: none */
	bool is_repeatable;
};

/* Does a table go on here? NULL, and an element without a name (NULL or ""), end it. */
static inline bool bf_option_exists(const struct bf_option *option)
{
	return option != NULL && option->name != NULL && option->name[0] != '\0';
}

struct bf_args_given {
	const struct bf_option *option;
	const char *value; /* "" for a flag */
};

/* All text is borrowed from argv. */
struct bf_args {
	const struct bf_command *command;
	struct bf_args_given *given;
	size_t given_count;
	const char **words;
	size_t word_count;
	char *const *rest; /* behind "--", where the command takes it */
	size_t rest_count;
};

/* Options that every command has: --json, --help. Ended by an empty name. */
extern const struct bf_option bf_options_common[];

/* argv: what follows the command's own words. BELFRY_OK; BELFRY_USAGE with the remedy in err;
 * BELFRY_NOMEM. With --help the count of words is not checked. Emptied by bf_args_fini. */
BF_MUST_CHECK enum belfry_status bf_args_parse(const struct bf_command *command, size_t argc,
		char *const *argv, struct bf_args *ret_args, struct belfry_error *err);
void bf_args_fini(struct bf_args *args);

/* The value given, NULL where it was not. `name` must be in the command's table. */
const char *bf_args_value(const struct bf_args *args, const char *name);
bool bf_args_has(const struct bf_args *args, const char *name);
/* The same, of text that goes into JSON: BELFRY_USAGE where it is not UTF-8. */
BF_MUST_CHECK enum belfry_status bf_args_text(const struct bf_args *args, const char *name,
		const char **ret_text, struct belfry_error *err);
/* The values of a repeatable option, one a call, then NULL. *cursor begins at 0. */
const char *bf_args_next(const struct bf_args *args, const char *name, size_t *cursor);
/* Word `index`, NULL past the end. */
const char *bf_args_word(const struct bf_args *args, size_t index);
/* A whole number; `otherwise` where it was not given. BELFRY_USAGE names option and range. */
BF_MUST_CHECK enum belfry_status bf_args_int(const struct bf_args *args, const char *name,
		int64_t min, int64_t max, int64_t otherwise, int64_t *ret_value,
		struct belfry_error *err);
/* One of `names` (ended by NULL); *ret_index stays as it is where it was not given. */
BF_MUST_CHECK enum belfry_status bf_args_enum(const struct bf_args *args, const char *name,
		const char *const *names, unsigned *ret_index, struct belfry_error *err);

#endif
