/* The output of Runs. */
#ifndef BF_CLI_LOGS_H
#define BF_CLI_LOGS_H

#include "cli/cli.h"

/* Prints the output of a Run; with is_following what is added until the Run ends. *run is replaced by its
 * newest state. */
BF_MUST_CHECK enum belfry_status bf_logs_run(struct bf_cli *cli, json_t **run, bool is_following,
		struct belfry_error *err);

#endif
