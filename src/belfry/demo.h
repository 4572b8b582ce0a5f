/* `belfry demo`: the promise, shown in half a minute. */
#ifndef BF_BELFRY_DEMO_H
#define BF_BELFRY_DEMO_H

#include "cli/cli.h"

extern const struct bf_command bf_command_demo;

#endif
