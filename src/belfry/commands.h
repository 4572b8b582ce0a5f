/* The table of all commands of the program `belfry`. */
#ifndef BF_BELFRY_COMMANDS_H
#define BF_BELFRY_COMMANDS_H

#include "cli/cli.h"

/* Ended by NULL. */
extern const struct bf_command *const bf_commands[];

#endif
