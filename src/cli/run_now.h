/* A Run that somebody asked for: what `trigger` and `runs replay` share. */
#ifndef BF_CLI_RUN_NOW_H
#define BF_CLI_RUN_NOW_H

#include "cli/cli.h"

#define BF_RUN_NOW_OPTIONS                                                                         \
	{.name = "wait", .help = "Wait until the Run ends"},                                       \
			{.name = "timeout", .argument = "D", .help = "Wait no longer than this"},  \
	{                                                                                          \
		.name = "request-key", .argument = "KEY", .help = "Makes repeating this safe"      \
	}

/* Sends the request, waits with --wait, prints the Run. cli->exit_status is 1 when it was waited for
 * and did not end as COMPLETED. */
BF_MUST_CHECK enum belfry_status bf_run_now(struct bf_cli *cli, const struct bf_args *args,
		const char *path, const json_t *body, struct belfry_error *err);

#endif
