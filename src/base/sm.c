/* The state-machine kit. */
#include "base/sm.h"

#include "base/assert.h"

bool bf_sm_can_start(const struct bf_sm_table *table, unsigned state)
{
	return state < table->count && (table->states[state].flags & BF_SM_INITIAL) != 0;
}

bool bf_sm_can_move(const struct bf_sm_table *table, unsigned from, unsigned to)
{
	return from < table->count && to < table->count &&
			(table->states[from].next >> to & 1) != 0;
}

bool bf_sm_is_final(const struct bf_sm_table *table, unsigned state)
{
	return state < table->count && (table->states[state].flags & BF_SM_FINAL) != 0;
}

void bf_sm_move(const struct bf_sm_table *table, unsigned *state, unsigned to,
		const struct bf_env *env, const char *subject)
{
	BF_ASSERT(bf_sm_can_move(table, *state, to));
	if (env != NULL && env->log != NULL) {
		bf_log(env, BF_LOG_DEBUG, "machine=%s subject=%s from=%s to=%s", table->name,
				subject, table->states[*state].name, table->states[to].name);
	}
	*state = to;
}
