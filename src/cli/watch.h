/* Waiting for what the server does: polls, with a limit on how long the server may be away. */
#ifndef BF_CLI_WATCH_H
#define BF_CLI_WATCH_H

#include "cli/cli.h"

/* How a watch goes on: starts as {0}. */
struct bf_watch {
	belfry_time away_since; /* 0: the server answered last time */
	unsigned polls;
};

/* Waits before the next poll: short at first, a second at most. */
void bf_watch_pause(struct bf_watch *watch);
/* Is this failure to be borne a while longer? A restart of the server is (30 s), a refusal is not. */
bool bf_watch_bears(struct bf_cli *cli, struct bf_watch *watch, enum belfry_status status);

/* A status by its name in the API; terminal ones never change. */
bool bf_watch_is_over(struct belfry_str run_status);

/* Polls the Run until its status is terminal, with progress on a terminal. Replaces *run (owned by the
 * caller) by its newest state. `limit` 0: none; BELFRY_UNAVAILABLE when it is over. */
BF_MUST_CHECK enum belfry_status bf_watch_run(struct bf_cli *cli, json_t **run,
		belfry_duration limit, struct belfry_error *err);

#endif
