/* The wrapper around a provider's method table: the only caller of its methods.
 *
 * Every operation goes the same way: check the arguments, count, pass the fault point before, call, pass the
 * fault point after, verify the answer, put the words of a failure right. The provider writes into copies,
 * so that nobody reads what was not answered. What all have in common is in provider_call.c, the rules in
 * provider_table.c, provider_check.c, provider_verify.c and provider_list.c.
 *
 * Life: not started, started, stopped, in this order alone, under `lock`. So the provider sees one start
 * (T082) and none after its stop.
 *
 * Not here  which provider it is, and its store (scheduler.c). */
#include "base/alloc.h"
#include "provider/provider_priv.h"

/* ---- making one --------------------------------------------------------------------------------- */

static enum belfry_status copy_properties(struct belfry_scheduler *scheduler,
		struct belfry_error *err)
{
	struct belfry_properties properties = {.size = sizeof(properties)};

	scheduler->ops.properties(scheduler->inner, &properties);
	if (!bf_verify_properties(&properties, scheduler->ops.name)) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"provider %s: its properties cannot be", scheduler->ops.name);
	}
	scheduler->name = bf_str_dup(bf_str(properties.name));
	if (scheduler->name == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "scheduler");
	}
	scheduler->properties = properties;
	scheduler->properties.name = scheduler->name;
	return BELFRY_OK;
}

/* An empty wrapper, with the table's methods. */
static enum belfry_status wrapper_new(const struct belfry_provider_ops *ops,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err)
{
	enum belfry_status status = bf_provider_check_ops(ops, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_scheduler *scheduler = bf_alloc(sizeof(*scheduler));
	if (scheduler == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "scheduler");
	}
	(void)pthread_mutex_init(&scheduler->lock, NULL); /* default kind: cannot fail */
	bf_provider_copy_ops(ops, &scheduler->ops, &scheduler->more);
	*ret_scheduler = scheduler;
	return BELFRY_OK;
}

static enum belfry_status create(struct belfry_scheduler *scheduler,
		const struct belfry_provider_ops *ops,
		const struct belfry_provider_options *options, struct belfry_error *err)
{
	struct belfry_provider *inner = NULL;
	enum belfry_status status = ops->create(options, &inner, err);

	if ((unsigned)status >= BELFRY_STATUS_COUNT) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"provider %s: create answered status %u", ops->name,
				(unsigned)status);
	}
	if (status != BELFRY_OK) {
		return bf_provider_settle(status, err);
	}
	if (inner == NULL || inner->ops != ops) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"provider %s: create answered something that is not its own",
				ops->name);
	}
	scheduler->inner = inner;
	return copy_properties(scheduler, err);
}

enum belfry_status bf_scheduler_new(const struct belfry_provider_ops *ops,
		const struct belfry_provider_options *options, struct bf_store **store,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err)
{
	struct bf_store *taken = store != NULL ? BF_TAKE(*store) : NULL;
	struct belfry_scheduler *scheduler = NULL;
	enum belfry_status status = wrapper_new(ops, &scheduler, err);

	if (status != BELFRY_OK) {
		bf_store_close(taken);
		return status;
	}
	scheduler->store = taken;
	status = create(scheduler, ops, options, err);
	if (status != BELFRY_OK) {
		belfry_scheduler_close(scheduler);
		return status;
	}
	*ret_scheduler = scheduler;
	return BELFRY_OK;
}

enum belfry_status bf_scheduler_share(struct belfry_provider *inner,
		struct belfry_scheduler **ret_scheduler, struct belfry_error *err)
{
	struct belfry_scheduler *scheduler = NULL;
	enum belfry_status status = wrapper_new(inner->ops, &scheduler, err);

	if (status != BELFRY_OK) {
		return status;
	}
	scheduler->inner = inner;
	scheduler->is_shared = true;
	status = copy_properties(scheduler, err);
	if (status != BELFRY_OK) {
		belfry_scheduler_close(scheduler);
		return status;
	}
	*ret_scheduler = scheduler;
	return BELFRY_OK;
}

const struct belfry_properties *belfry_scheduler_properties(
		const struct belfry_scheduler *scheduler)
{
	return scheduler != NULL ? &scheduler->properties : NULL;
}

/* ---- life --------------------------------------------------------------------------------------- */

static void release_handler(struct belfry_scheduler *s)
{
	s->is_handler_held = false;
	if (s->handler.release != NULL) {
		s->handler.release(s->handler.data);
	}
}

/* Under the lock. What the handler is too short for is NULL in the copy. */
static enum belfry_status start_inner(struct bf_provider_call *call,
		const struct belfry_handler *handler)
{
	struct belfry_scheduler *s = call->scheduler;

	if (s->life == BF_PROVIDER_STOPPED) {
		return bf_error_set(&call->err, BELFRY_INVALID,
				"a scheduler that was stopped is not started again: open a new one");
	}
	if (s->life == BF_PROVIDER_STARTED) {
		return BELFRY_OK;
	}
	s->handler = (struct belfry_handler){0};
	memcpy(&s->handler, handler, BF_MIN(handler->size, sizeof(s->handler)));
	s->handler.size = sizeof(s->handler);
	if (s->handler.hold != NULL) {
		s->handler.hold(s->handler.data); /* before the first call can come */
	}
	enum belfry_status status = bf_provider_end(call,
			s->ops.start(s->inner, &s->handler, &call->err), true);
	if (status == BELFRY_OK) {
		s->life = BF_PROVIDER_STARTED;
		s->is_handler_held = true;
	} else {
		release_handler(s);
	}
	return status;
}

enum belfry_status belfry_scheduler_start(struct belfry_scheduler *scheduler,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_START, err);
	enum belfry_status status = bf_provider_begin(&call, bf_check_handler(handler, &call.err));

	if (status == BELFRY_OK) {
		(void)pthread_mutex_lock(&scheduler->lock); /* ours: cannot fail */
		status = start_inner(&call, handler);
		(void)pthread_mutex_unlock(&scheduler->lock);
	}
	return bf_provider_finish(&call, status);
}

/* Under the lock. Whatever the provider answers, nothing begins any more. */
static enum belfry_status stop_inner(struct bf_provider_call *call, belfry_duration drain)
{
	struct belfry_scheduler *s = call->scheduler;

	if (s->is_at_rest) {
		return BELFRY_OK;
	}
	s->life = BF_PROVIDER_STOPPED;
	enum belfry_status status = bf_provider_end(call, s->ops.stop(s->inner, drain, &call->err),
			true);
	s->is_at_rest = status == BELFRY_OK;
	if (s->is_at_rest && s->is_handler_held) {
		release_handler(s);
	}
	return status;
}

enum belfry_status belfry_scheduler_stop(struct belfry_scheduler *scheduler, belfry_duration drain,
		struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_STOP, err);
	enum belfry_status status = bf_provider_begin(&call, BELFRY_OK);

	if (status == BELFRY_OK) {
		(void)pthread_mutex_lock(&scheduler->lock); /* ours: cannot fail */
		status = stop_inner(&call, BF_MAX(drain, 0));
		(void)pthread_mutex_unlock(&scheduler->lock);
	}
	return bf_provider_finish(&call, status);
}

void belfry_scheduler_close(struct belfry_scheduler *scheduler)
{
	if (scheduler == NULL) {
		return;
	}
	if (scheduler->inner != NULL && scheduler->life == BF_PROVIDER_STARTED) {
		(void)belfry_scheduler_stop(scheduler, 0, NULL); /* the rest goes on elsewhere */
	}
	if (scheduler->inner != NULL && !scheduler->is_shared) {
		scheduler->ops.free(scheduler->inner);
	}
	if (scheduler->is_handler_held) {
		release_handler(scheduler); /* what it holds still, goes back to nobody */
	}
	bf_store_close(scheduler->store);
	(void)pthread_mutex_destroy(&scheduler->lock); /* nobody holds it */
	bf_free(scheduler->name);
	bf_free(scheduler);
}

/* ---- schedules ---------------------------------------------------------------------------------- */

enum belfry_status belfry_scheduler_reconcile(struct belfry_scheduler *scheduler,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_RECONCILE, err);
	enum belfry_status status = bf_provider_begin(&call,
			bf_check_iterator(schedules, &call.err));

	if (status == BELFRY_OK) {
		struct bf_checked_list list;
		bf_checked_list_init(&list, schedules);
		status = scheduler->ops.reconcile(scheduler->inner, &list.checked, &call.err);
		status = bf_provider_end(&call, status, true);
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_apply(struct belfry_scheduler *scheduler,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_APPLY, err);
	enum belfry_status status = bf_provider_begin(&call,
			bf_check_schedule(schedule, &call.err));

	if (status == BELFRY_OK) {
		status = scheduler->ops.apply(scheduler->inner, schedule, &call.err);
		status = bf_provider_end(&call, status, true);
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_remove(struct belfry_scheduler *scheduler,
		struct belfry_str schedule, int64_t revision, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_REMOVE, err);
	enum belfry_status status = bf_provider_begin(&call,
			bf_check_removal(schedule, revision, &call.err));

	/* No schedule has an id that none can have (T087). */
	if (status == BELFRY_OK && bf_check_schedule_id(schedule, NULL) == BELFRY_OK) {
		status = scheduler->ops.remove(scheduler->inner, schedule, revision, &call.err);
		status = bf_provider_end(&call, status, true);
	}
	return bf_provider_finish(&call, status);
}

/* ---- Runs --------------------------------------------------------------------------------------- */

enum belfry_status belfry_scheduler_enqueue(struct belfry_scheduler *scheduler,
		struct belfry_enqueue *request, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_ENQUEUE, err);
	enum belfry_status status = bf_provider_begin(&call, bf_check_enqueue(request, &call.err));

	if (status == BELFRY_OK) {
		struct belfry_enqueue mine = *request;
		mine.size = sizeof(mine);
		status = scheduler->ops.enqueue(scheduler->inner, &mine, &call.err);
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_enqueue(&mine));
		if (status == BELFRY_OK) {
			request->run = mine.run;
			request->is_new = mine.is_new;
		}
	}
	return bf_provider_finish(&call, status);
}

/* 1 to 200; a negative number that became unsigned is below 1 all the same (T059). */
static uint32_t clamp_limit(uint32_t limit)
{
	return limit == 0 || limit > INT32_MAX ? 1 : BF_MIN(limit, BF_LIST_MAX);
}

enum belfry_status belfry_scheduler_list_runs(struct belfry_scheduler *scheduler,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_LIST_RUNS, err);
	enum belfry_status status = bf_provider_begin(&call,
			bf_check_run_query(query, arena, &call.err));

	if (status == BELFRY_OK) {
		struct belfry_run_query mine = *query;
		mine.size = sizeof(mine);
		mine.limit = clamp_limit(query->limit);
		mine.runs = NULL;
		mine.count = 0;
		mine.has_more = false;
		struct belfry_run_query asked = mine;
		status = scheduler->ops.list_runs(scheduler->inner, &mine, arena, &call.err);
		asked.runs = mine.runs;
		asked.count = mine.count;
		asked.has_more = mine.has_more;
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_runs(&asked));
		if (status == BELFRY_OK) {
			query->runs = mine.runs;
			query->count = mine.count;
			query->has_more = mine.has_more;
		}
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_get_run(struct belfry_scheduler *scheduler,
		struct belfry_id run, struct belfry_arena *arena, struct belfry_run *ret_run,
		struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_GET_RUN, err);
	struct belfry_run mine = {0};
	enum belfry_status status = bf_provider_begin(&call,
			bf_check_run_question(run, arena, ret_run, &call.err));

	if (status == BELFRY_OK) {
		status = scheduler->ops.get_run(scheduler->inner, run, arena, &mine, &call.err);
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_run(&mine, run));
		if (status == BELFRY_OK) {
			*ret_run = mine;
		}
	}
	return bf_provider_finish(&call, status);
}

/* ---- what a provider may offer ------------------------------------------------------------------ */

enum belfry_status belfry_scheduler_state(struct belfry_scheduler *scheduler,
		const struct belfry_str *ids, size_t count, struct belfry_arena *arena,
		struct belfry_schedule_state **ret_states, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_STATE, err);
	struct belfry_schedule_state *states = NULL;
	enum belfry_status status = bf_provider_begin_optional(&call,
			bf_check_state(ids, count, arena, ret_states, &call.err),
			scheduler != NULL && scheduler->more.state != NULL);

	if (status == BELFRY_OK) {
		status = scheduler->more.state(scheduler->inner, ids, count, arena, &states,
				&call.err);
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_states(states, ids, count));
	}
	if (status == BELFRY_OK) {
		*ret_states = states;
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_why(struct belfry_scheduler *scheduler, struct belfry_why *why,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_WHY, err);
	enum belfry_status status = bf_provider_begin_optional(&call,
			bf_check_why(why, arena, &call.err),
			scheduler != NULL && scheduler->more.why != NULL);

	if (status == BELFRY_OK) {
		struct belfry_why mine = {.size = sizeof(mine),
				.schedule = why->schedule,
				.at = why->at,
				.nearest_after = BELFRY_TIME_NEVER};
		status = scheduler->more.why(scheduler->inner, &mine, arena, &call.err);
		mine.size = why->size;
		mine.schedule = why->schedule;
		mine.at = why->at;
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_why(&mine));
		if (status == BELFRY_OK) {
			*why = mine;
		}
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_cancel(struct belfry_scheduler *scheduler, struct belfry_id run,
		struct belfry_str message, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_CANCEL, err);
	enum belfry_status status = bf_provider_begin_optional(&call,
			bf_check_cancel(run, message, &call.err),
			scheduler != NULL && scheduler->more.cancel != NULL);

	if (status == BELFRY_OK) {
		status = scheduler->more.cancel(scheduler->inner, run, message, &call.err);
		status = bf_provider_end(&call, status, true);
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_conclude(struct belfry_scheduler *scheduler,
		struct belfry_id run, const struct belfry_outcome *outcome,
		struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_CONCLUDE, err);
	enum belfry_status status = bf_provider_begin_optional(&call,
			bf_check_conclude(run, outcome, &call.err),
			scheduler != NULL && scheduler->more.conclude != NULL);

	if (status == BELFRY_OK) {
		status = scheduler->more.conclude(scheduler->inner, run, outcome, &call.err);
		status = bf_provider_end(&call, status, true);
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_attempts(struct belfry_scheduler *scheduler,
		struct belfry_id run, struct belfry_arena *arena,
		struct belfry_attempt **ret_attempts, size_t *ret_count, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_ATTEMPTS, err);
	struct belfry_attempt *attempts = NULL;
	size_t count = 0;
	const void *answers = ret_count != NULL ? ret_attempts : NULL;
	enum belfry_status status = bf_provider_begin_optional(&call,
			bf_check_run_question(run, arena, answers, &call.err),
			scheduler != NULL && scheduler->more.attempts != NULL);

	if (status == BELFRY_OK) {
		status = scheduler->more.attempts(scheduler->inner, run, arena, &attempts, &count,
				&call.err);
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_attempts(attempts, count, run));
	}
	if (status == BELFRY_OK) {
		*ret_attempts = attempts;
		*ret_count = count;
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_metrics(struct belfry_scheduler *scheduler,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_METRICS, err);
	enum belfry_status status = bf_provider_begin_optional(&call,
			bf_check_metrics(ret_metrics, &call.err),
			scheduler != NULL && scheduler->more.metrics != NULL);

	if (status == BELFRY_OK) {
		struct belfry_provider_metrics mine = {.size = sizeof(mine)};
		status = scheduler->more.metrics(scheduler->inner, &mine, &call.err);
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_metrics(&mine));
		if (status == BELFRY_OK) {
			mine.size = BF_MIN(ret_metrics->size, sizeof(mine));
			memcpy(ret_metrics, &mine, mine.size);
		}
	}
	return bf_provider_finish(&call, status);
}

enum belfry_status belfry_scheduler_due(struct belfry_scheduler *scheduler,
		struct belfry_str schedule, belfry_time from, belfry_time *ret_due, size_t max,
		size_t *ret_count, struct belfry_error *err)
{
	struct bf_provider_call call = bf_provider_call_of(scheduler, BF_PROVIDER_DUE, err);
	size_t count = 0;
	enum belfry_status status = bf_provider_begin_optional(&call,
			bf_check_due(schedule, ret_due, max, ret_count, &call.err),
			scheduler != NULL && scheduler->more.due != NULL);

	if (status == BELFRY_OK) {
		status = scheduler->more.due(scheduler->inner, schedule, from, ret_due, max, &count,
				&call.err);
		status = bf_provider_end(&call, status,
				status != BELFRY_OK || bf_verify_due(ret_due, count, max, from));
	}
	if (status == BELFRY_OK) {
		*ret_count = count;
	}
	return bf_provider_finish(&call, status);
}
