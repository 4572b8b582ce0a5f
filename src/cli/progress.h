/* How far long work has come: a line on the terminal that is written over, and nothing elsewhere. */
#ifndef BF_CLI_PROGRESS_H
#define BF_CLI_PROGRESS_H

#include "cli/cli.h"

/* "export: 400"; with a `total` above 0 "apply: 400 of 1200". */
void bf_progress_show(const struct bf_cli *cli, const char *what, size_t done, size_t total);
/* Takes the line away. */
void bf_progress_end(const struct bf_cli *cli);

#endif
