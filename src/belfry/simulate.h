/* `belfry simulate`: worlds of random faults over the engine, in virtual time. */
#ifndef BF_BELFRY_SIMULATE_H
#define BF_BELFRY_SIMULATE_H

#include "cli/cli.h"

extern const struct bf_command bf_command_simulate;

#endif
