/* The demo's result, for people and for machines. */
#ifndef BF_BELFRY_DEMO_TABLE_H
#define BF_BELFRY_DEMO_TABLE_H

#include "belfry/demo_count.h"
#include "cli/cli.h"

/* open_at_kill: how many calls waited for their answer when the host was killed. As JSON where the
 * command line asked for it. */
BF_MUST_CHECK enum belfry_status bf_demo_print(struct bf_cli *cli, const struct bf_demo_sum *sum,
		size_t deployments, unsigned open_at_kill, struct belfry_error *err);

#endif
