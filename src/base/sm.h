/* The state-machine kit: one table per machine, one mover, one check of every move, one trace line.
 * The tables come from .def lists (run_state.def); a machine never changes its state but by bf_sm_move. */
#ifndef BF_SM_H
#define BF_SM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

#define BF_SM_INITIAL 1u
#define BF_SM_FINAL   2u

struct bf_sm_state {
	const char *name;
	unsigned flags; /* BF_SM_... */
	uint64_t next;  /* bit n: the move to state n is allowed */
};

struct bf_sm_table {
	const char *name;
	const struct bf_sm_state *states;
	unsigned count;
};

bool bf_sm_can_start(const struct bf_sm_table *table, unsigned state);
bool bf_sm_can_move(const struct bf_sm_table *table, unsigned from, unsigned to);
bool bf_sm_is_final(const struct bf_sm_table *table, unsigned state);

/* Move *state to `to`. A move that the table does not allow is a bug of ours and asserts. `env` may be
 * NULL; else one debug line names machine, subject and move. */
void bf_sm_move(const struct bf_sm_table *table, unsigned *state, unsigned to,
		const struct bf_env *env, const char *subject);

#endif
