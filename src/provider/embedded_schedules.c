/* Schedules in the provider `embedded`: put and removed through the planner, read from the store. Removed ones
 * leave their tombstone, so that nothing older brings them back. */
#include "base/error.h"
#include "calendar/advance.h"
#include "provider/embedded_priv.h"

/* Answered with OK and nothing done: whoever wonders why finds it in the log. */
static void log_known(const struct bf_embedded *embedded, const struct bf_plan_request *request)
{
	if (request->status == BELFRY_OK && request->known_revision != 0) {
		bf_log(&embedded->env, BF_LOG_DEBUG,
				"what=%s-known-already schedule=%.*s revision=%lld known=%lld",
				request->is_remove ? "removal" : "schedule",
				BF_STR_ARGS(request->schedule), (long long)request->revision,
				(long long)request->known_revision);
	}
}

enum belfry_status bf_embedded_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	struct bf_put put;
	enum belfry_status status = bf_put_init(&put, bf_embedded_of(provider), schedule, err);

	if (status != BELFRY_OK) {
		return status;
	}
	bf_runtime_apply(bf_embedded_of(provider)->runtime, &put.request, 1);
	log_known(bf_embedded_of(provider), &put.request);
	bf_put_fini(&put);
	return bf_embedded_explain(put.request.status, err);
}

enum belfry_status bf_embedded_remove(struct belfry_provider *provider, struct belfry_str schedule,
		int64_t revision, struct belfry_error *err)
{
	struct bf_plan_request request = {
			.schedule = schedule,
			.revision = revision,
			.is_remove = true,
	};

	bf_runtime_apply(bf_embedded_of(provider)->runtime, &request, 1);
	log_known(bf_embedded_of(provider), &request);
	return bf_embedded_explain(request.status, err);
}

enum belfry_status bf_embedded_row(struct bf_embedded *embedded, struct belfry_str id,
		struct belfry_arena *arena, struct belfry_schedule_row *ret_row,
		belfry_time *ret_now, struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_SCHEDULES,
			.ids = &id,
			.id_count = 1,
			.limit = 1,
	};
	enum belfry_status status = bf_store_list(embedded->store, &list, arena, err);

	if (status != BELFRY_OK) {
		return bf_embedded_explain(status, err);
	}
	if (list.count == 0) {
		return bf_error_set(err, BELFRY_NOT_FOUND, "there is no such schedule");
	}
	*ret_row = list.rows[0];
	*ret_now = list.now;
	return BELFRY_OK;
}

static struct belfry_schedule_state state_of(const struct belfry_schedule_row *row)
{
	return (struct belfry_schedule_state){
			.id = row->id,
			.is_known = !row->is_removed,
			.revision = row->revision,
			.phase = row->phase,
			.phase_reason = row->phase_reason,
			.next_due = row->cursor,
			.last_fire_at = row->last_fire_at,
			.fired_count = row->fired_count,
	};
}

/* A row that this process cannot evaluate says so: it stands still, and somebody must know why. */
static void explain_unreadable(struct bf_embedded *embedded, const struct belfry_schedule_row *row,
		struct belfry_arena *arena, struct belfry_schedule_state *state)
{
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	struct bf_definition definition;
	struct belfry_error err = {0};

	if (row->is_removed || row->phase != BELFRY_PHASE_ACTIVE ||
			bf_embedded_rule(embedded, row, &definition, &rule, &err) == BELFRY_OK) {
		return;
	}
	bf_error_prefix(&err, "it cannot be evaluated here: ");
	if (belfry_arena_copy(arena, bf_str(err.message), &state->phase_reason) != BELFRY_OK) {
		state->phase_reason = BF_STR("it cannot be evaluated here");
	}
}

static void put_state(struct bf_embedded *embedded, struct belfry_schedule_state *state,
		const struct belfry_list *list, struct belfry_str id, struct belfry_arena *arena)
{
	*state = (struct belfry_schedule_state){.id = id, .next_due = BELFRY_TIME_NEVER};
	for (size_t i = 0; i < list->count; i++) {
		if (bf_str_equal(list->rows[i].id, id)) {
			*state = state_of(&list->rows[i]);
			explain_unreadable(embedded, &list->rows[i], arena, state);
			return;
		}
	}
}

enum belfry_status bf_embedded_state(struct belfry_provider *provider, const struct belfry_str *ids,
		size_t count, struct belfry_arena *arena, struct belfry_schedule_state **ret_states,
		struct belfry_error *err)
{
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_SCHEDULES,
			.ids = ids,
			.id_count = count,
			.limit = (uint32_t)BF_MAX(count, 1),
	};
	struct belfry_schedule_state *states = belfry_arena_alloc(arena,
			BF_MAX(count, 1) * sizeof(*states));

	if (states == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "state");
	}
	if (count > 0) {
		enum belfry_status status = bf_store_list(bf_embedded_of(provider)->store, &list,
				arena, err);
		if (status != BELFRY_OK) {
			return bf_embedded_explain(status, err);
		}
	}
	for (size_t i = 0; i < count; i++) {
		put_state(bf_embedded_of(provider), &states[i], &list, ids[i], arena);
	}
	*ret_states = states;
	return BELFRY_OK;
}

/* A limit further away than this is none to who asks for a few due times. */
#define LEFT_MAX UINT64_C(1000000)

/* How often the rule may fire after *from, which is moved to where that counting begins. */
static uint64_t fires_left(const struct belfry_rule *rule, const struct belfry_schedule_row *row,
		belfry_time now, belfry_time *from)
{
	uint32_t max = belfry_rule_max_fires(rule);
	belfry_time begin = row->cursor != BELFRY_TIME_NEVER ? row->cursor - 1 : now;
	belfry_time last = 0;
	uint64_t before = 0;

	if (max == 0) {
		return UINT64_MAX;
	}
	if (row->phase == BELFRY_PHASE_EXHAUSTED || (int64_t)max <= row->fired_count) {
		return 0;
	}
	uint64_t left = max - (uint64_t)row->fired_count;
	*from = BF_MAX(*from, begin);
	if (left <= LEFT_MAX) {
		bf_advance_count(rule, begin, *from, left, &before, &last);
	}
	return left - before;
}

enum belfry_status bf_embedded_due(struct belfry_provider *provider, struct belfry_str schedule,
		belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
		struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_cleanup_rule) struct belfry_rule *rule = NULL;
	struct belfry_schedule_row row;
	struct bf_definition definition;
	belfry_time now;
	size_t count = 0;
	enum belfry_status status = bf_embedded_row(bf_embedded_of(provider), schedule, &arena,
			&row, &now, err);

	if (status == BELFRY_OK && row.is_removed) {
		status = bf_error_set(err, BELFRY_NOT_FOUND, "there is no such schedule");
	}
	if (status == BELFRY_OK) {
		status = bf_embedded_rule(bf_embedded_of(provider), &row, &definition, &rule, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	uint64_t left = fires_left(rule, &row, now, &from);
	while (count < BF_MIN(max, left) &&
			belfry_rule_next(rule, from, &ret_due[count]) == BELFRY_OK) {
		from = ret_due[count++];
	}
	*ret_count = count;
	return BELFRY_OK;
}
