/* See liar.h. */
#include "liar.h"

#include <string.h>

#include "base/str.h"

static struct liar *liar_of(struct belfry_provider *provider)
{
	return (struct liar *)(void *)provider;
}

static enum belfry_status answer(struct liar *liar, void *value, struct belfry_error *err)
{
	liar->calls++;
	if (liar->err != NULL && err != NULL) {
		*err = *liar->err;
	}
	if (liar->spoil != NULL && value != NULL) {
		liar->spoil(value);
	}
	return liar->status;
}

/* The liar comes in by the log's data, and nothing else is looked at. */
static enum belfry_status liar_create(const struct belfry_provider_options *options,
		struct belfry_provider **ret_provider, struct belfry_error *err)
{
	struct liar *liar = options->log_data;

	*ret_provider = &liar->base;
	return answer(liar, ret_provider, err);
}

static void liar_free(struct belfry_provider *provider)
{
	liar_of(provider)->frees++;
}

static void liar_properties(struct belfry_provider *provider,
		struct belfry_properties *ret_properties)
{
	struct liar *liar = liar_of(provider);

	*ret_properties = (struct belfry_properties){.size = sizeof(*ret_properties),
			.name = "liar"};
	if (liar->spoil != NULL) {
		liar->spoil(ret_properties);
	}
}

static enum belfry_status liar_start(struct belfry_provider *provider,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);

	liar->starts++;
	liar->handler = handler;
	return answer(liar, NULL, err);
}

static enum belfry_status liar_stop(struct belfry_provider *provider, belfry_duration drain,
		struct belfry_error *err)
{
	(void)drain;
	return answer(liar_of(provider), NULL, err);
}

/* Reads one, and refuses it with the words that the test has set. */
static enum belfry_status liar_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);
	struct belfry_str id;
	int64_t revision;
	struct belfry_schedule schedule;
	enum belfry_status status = schedules->next(schedules->data, &id, &revision, err);

	if (status == BELFRY_OK) {
		status = schedules->load(schedules->data, id, &schedule, err);
	}
	if (status == BELFRY_OK && liar->err != NULL) {
		schedules->refused(schedules->data, id, revision, liar->err);
	}
	return status != BELFRY_OK && status != BELFRY_NEVER ? status : answer(liar, NULL, NULL);
}

static enum belfry_status liar_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	(void)schedule;
	return answer(liar_of(provider), NULL, err);
}

static enum belfry_status liar_remove(struct belfry_provider *provider, struct belfry_str schedule,
		int64_t revision, struct belfry_error *err)
{
	(void)schedule;
	(void)revision;
	return answer(liar_of(provider), NULL, err);
}

static enum belfry_status liar_enqueue(struct belfry_provider *provider,
		struct belfry_enqueue *request, struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);

	request->run = liar->runs[0].id;
	request->is_new = true;
	return answer(liar, request, err);
}

static enum belfry_status liar_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);

	(void)arena;
	liar->limit = query->limit;
	query->runs = liar->runs;
	query->count = LIAR_RUNS;
	query->has_more = false;
	return answer(liar, query, err);
}

static enum belfry_status liar_get_run(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);

	(void)arena;
	*ret_run = liar->runs[0];
	ret_run->id = run;
	return answer(liar, ret_run, err);
}

static enum belfry_status liar_state(struct belfry_provider *provider, const struct belfry_str *ids,
		size_t count, struct belfry_arena *arena, struct belfry_schedule_state **ret_states,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);

	(void)arena;
	for (size_t i = 0; i < count; i++) {
		liar->states[i] = (struct belfry_schedule_state){.id = ids[i],
				.is_known = true,
				.revision = 1};
	}
	*ret_states = liar->states;
	return answer(liar, ret_states, err);
}

static enum belfry_status liar_why(struct belfry_provider *provider, struct belfry_why *why,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);

	(void)arena;
	why->kind = BELFRY_WHY_RUN;
	why->run = &liar->runs[0];
	why->gap = &liar->gap;
	why->due = why->at;
	return answer(liar, why, err);
}

static enum belfry_status liar_cancel(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_str message, struct belfry_error *err)
{
	(void)run;
	(void)message;
	return answer(liar_of(provider), NULL, err);
}

static enum belfry_status liar_conclude(struct belfry_provider *provider, struct belfry_id run,
		const struct belfry_outcome *outcome, struct belfry_error *err)
{
	(void)run;
	(void)outcome;
	return answer(liar_of(provider), NULL, err);
}

static enum belfry_status liar_attempts(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);
	struct liar_array array = {liar->attempts, BF_COUNT(liar->attempts)};

	(void)arena;
	for (size_t i = 0; i < array.count; i++) {
		liar->attempts[i] = (struct belfry_attempt){.run = run};
	}
	enum belfry_status status = answer(liar, &array, err);
	*ret_attempts = array.items;
	*ret_count = array.count;
	return status;
}

static enum belfry_status liar_metrics(struct belfry_provider *provider,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err)
{
	ret_metrics->takeovers = 3;
	return answer(liar_of(provider), ret_metrics, err);
}

static enum belfry_status liar_due(struct belfry_provider *provider, struct belfry_str schedule,
		belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(provider);
	struct liar_array array = {ret_due, max};

	(void)schedule;
	for (size_t i = 0; i < max; i++) {
		ret_due[i] = from + 1 + (belfry_time)i;
	}
	enum belfry_status status = answer(liar, &array, err);
	*ret_count = array.count;
	return status;
}

static void fill_runs(struct liar *liar)
{
	for (size_t i = 0; i < LIAR_RUNS; i++) {
		liar->runs[i] = (struct belfry_run){.id = {{(unsigned char)(LIAR_RUNS - i)}},
				.schedule = BF_STR("a"),
				.revision = 1,
				.ready_at = 1,
				.created_at = 1};
	}
	liar->gap = (struct belfry_gap){.schedule = BF_STR("a"), .from = 10, .to = 20, .count = 2};
}

void liar_init(struct liar *liar)
{
	*liar = (struct liar){0};
	liar->more = (struct belfry_provider_more_ops){.size = sizeof(liar->more),
			.state = liar_state,
			.why = liar_why,
			.conclude = liar_conclude,
			.attempts = liar_attempts,
			.metrics = liar_metrics,
			.due = liar_due,
			.cancel = liar_cancel};
	liar->ops = (struct belfry_provider_ops){.seams_abi = BELFRY_SEAMS_ABI,
			.size = sizeof(liar->ops),
			.name = "liar",
			.create = liar_create,
			.free = liar_free,
			.properties = liar_properties,
			.start = liar_start,
			.stop = liar_stop,
			.reconcile = liar_reconcile,
			.apply = liar_apply,
			.remove = liar_remove,
			.enqueue = liar_enqueue,
			.list_runs = liar_list_runs,
			.get_run = liar_get_run,
			.more = &liar->more};
	liar->base.ops = &liar->ops;
	fill_runs(liar);
}
