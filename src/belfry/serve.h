/* The command `serve`. */
#ifndef BF_BELFRY_SERVE_H
#define BF_BELFRY_SERVE_H

#include "cli/cli.h"

extern const struct bf_command bf_command_serve;

#endif
