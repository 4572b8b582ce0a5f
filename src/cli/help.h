/* Help made from the table, and the nearest name to a mistyped one. */
#ifndef BF_CLI_HELP_H
#define BF_CLI_HELP_H

#include "cli/cli.h"

/* Synopsis, options and example of one command, or the commands of a group. */
void bf_help_print_command(FILE *file, const struct bf_command *command);
/* The list of all commands. */
void bf_help_print_all(const struct bf_cli *cli, FILE *file);

/* Collects the name nearest to `word`: begin, offer each, read `best` (NULL: none is near). */
struct bf_nearest {
	struct belfry_str word;
	const char *best;
	unsigned distance;
};
void bf_nearest_begin(struct bf_nearest *nearest, struct belfry_str word);
void bf_nearest_offer(struct bf_nearest *nearest, const char *name);

/* Is this ("apply", "runs cancel") a command that another version of Belfry has? */
bool bf_help_is_later(struct belfry_str path);

#endif
