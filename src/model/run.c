/* A Run as a value. The id that follows from a due time is made in base/id.c. */
#include "model/run.h"

#include "base/str.h"

#define INITIAL     BF_SM_INITIAL
#define FINAL       BF_SM_FINAL
#define OPEN        4u
#define NEXT(state) (UINT64_C(1) << BELFRY_RUN_##state)

static const struct bf_sm_state run_states[] = {
#define BELFRY_RUN_STATE(name, text, flags, status, next) {text, flags, next},
#include <belfry/run_state.def>
#undef BELFRY_RUN_STATE
};

static const enum belfry_run_status state_statuses[] = {
#define BELFRY_RUN_STATE(name, text, flags, status, next) BELFRY_STATUS_##status,
#include <belfry/run_state.def>
#undef BELFRY_RUN_STATE
};

const struct bf_sm_table bf_run_states = {
		.name = "run",
		.states = run_states,
		.count = BELFRY_RUN_STATE_COUNT,
};

enum belfry_run_status bf_run_state_status(enum belfry_run_state state)
{
	return (unsigned)state < BELFRY_RUN_STATE_COUNT ? state_statuses[state]
							: BELFRY_STATUS_UNKNOWN;
}

bool bf_run_state_is_open(enum belfry_run_state state)
{
	return (unsigned)state < BELFRY_RUN_STATE_COUNT && (run_states[state].flags & OPEN) != 0;
}

static const char *name_at(const char *const *names, size_t count, unsigned index)
{
	return index < count ? names[index] : "?";
}

const char *belfry_run_state_name(enum belfry_run_state state)
{
	return (unsigned)state < BELFRY_RUN_STATE_COUNT ? run_states[state].name : "?";
}

const char *belfry_run_status_name(enum belfry_run_status status)
{
	static const char *const names[] = {
#define BELFRY_RUN_STATUS(name, terminal) #name,
#include <belfry/run_status.def>
#undef BELFRY_RUN_STATUS
	};
	return name_at(names, BF_COUNT(names), status);
}

bool belfry_run_status_is_terminal(enum belfry_run_status status)
{
	static const bool terminals[] = {
#define BELFRY_RUN_STATUS(name, terminal) terminal,
#include <belfry/run_status.def>
#undef BELFRY_RUN_STATUS
	};
	return (unsigned)status < BF_COUNT(terminals) && terminals[status];
}

const char *belfry_run_error_name(enum belfry_run_error error)
{
	static const char *const names[] = {
#define BELFRY_RUN_ERROR(name, text) #name,
#include <belfry/run_error.def>
#undef BELFRY_RUN_ERROR
	};
	return name_at(names, BF_COUNT(names), error);
}

const char *belfry_run_error_text(enum belfry_run_error error)
{
	static const char *const texts[] = {
#define BELFRY_RUN_ERROR(name, text) text,
#include <belfry/run_error.def>
#undef BELFRY_RUN_ERROR
	};
	return name_at(texts, BF_COUNT(texts), error);
}

const char *belfry_trigger_name(enum belfry_trigger trigger)
{
	static const char *const names[] = {"schedule", "manual", "replay", "backfill"};

	return name_at(names, BF_COUNT(names), trigger);
}

const char *belfry_gap_reason_text(enum belfry_gap_reason reason)
{
	static const char *const texts[] = {
#define BELFRY_GAP_REASON(name, text) text,
#include <belfry/gap_reason.def>
#undef BELFRY_GAP_REASON
	};
	return name_at(texts, BF_COUNT(texts), reason);
}

struct belfry_id bf_run_id_floor(belfry_time due)
{
	struct belfry_id id = {{0}};

	bf_id_put_time(&id, BF_MAX(due, 0));
	return id;
}

belfry_time bf_run_id_time(struct belfry_id id)
{
	uint64_t ms = 0;

	for (size_t i = 0; i < 6; i++) {
		ms = ms << 8 | id.bytes[i];
	}
	return (belfry_time)ms * BELFRY_MILLISECOND;
}

struct belfry_id bf_run_id_new(const struct bf_env *env)
{
	struct belfry_id id = bf_id_random(env);

	bf_id_put_time(&id, env->wall(env->data));
	bf_id_put_version(&id, 7);
	return id;
}
