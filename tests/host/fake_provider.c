/* The provider of the tests. */
#include "fake_provider.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/str.h"

static struct fake_provider *fake_of(struct belfry_provider *provider)
{
	return (struct fake_provider *)(void *)provider;
}

/* Counts the call; the failure that the test has set, with its words in every text that there
 * is. */
static enum belfry_status enter(struct fake_provider *fake, enum fake_method method,
		struct belfry_error *err)
{
	(void)pthread_mutex_lock(&fake->lock);
	fake->calls[method]++;
	enum belfry_status status = fake->fails[method];
	if (fake->has_no_more && method >= FAKE_STATE) {
		status = BELFRY_CANNOT;
	}
	if (status != BELFRY_OK && err != NULL) {
		*err = (struct belfry_error){.status = status, .driver_code = 13};
		if (fake->detail != NULL) {
			(void)snprintf(err->message, sizeof(err->message), "%s", fake->detail);
			(void)snprintf(err->detail, sizeof(err->detail), "%s", fake->detail);
		}
	}
	if (status != BELFRY_OK) {
		(void)pthread_mutex_unlock(&fake->lock);
	}
	return status;
}

static enum belfry_status leave(struct fake_provider *fake, enum belfry_status status)
{
	(void)pthread_mutex_unlock(&fake->lock);
	return status;
}

static struct fake_schedule *find(struct fake_provider *fake, struct belfry_str id)
{
	for (size_t i = 0; i < fake->schedule_count; i++) {
		if (bf_str_equal(id, bf_str(fake->schedules[i].id))) {
			return &fake->schedules[i];
		}
	}
	return NULL;
}

struct fake_schedule *fake_find_schedule(struct fake_provider *fake, const char *id)
{
	struct fake_schedule *schedule = find(fake, bf_str(id));

	return schedule != NULL && !schedule->is_removed ? schedule : NULL;
}

static char *copy(struct belfry_str text)
{
	char *bytes = malloc(text.len + 1);

	assert_non_null(bytes);
	if (text.len > 0) {
		memcpy(bytes, text.ptr, text.len);
	}
	bytes[text.len] = '\0';
	return bytes;
}

static void schedule_fini(struct fake_schedule *schedule)
{
	free(schedule->rule);
	free(schedule->zone);
	free(schedule->payload);
}

static void put_schedule(struct fake_provider *fake, const struct belfry_schedule *given)
{
	struct fake_schedule *schedule = find(fake, given->id);

	if (schedule == NULL) {
		assert_true(fake->schedule_count < FAKE_SCHEDULES);
		schedule = &fake->schedules[fake->schedule_count++];
	} else if (schedule->revision >= given->revision) {
		return;
	} else {
		schedule_fini(schedule);
	}
	*schedule = (struct fake_schedule){
			.revision = given->revision,
			.flags = given->flags,
			.rule = copy(given->rule),
			.zone = copy(given->zone),
			.payload = copy(given->payload),
			.payload_len = given->payload.len,
			.policies = given->policies,
	};
	(void)snprintf(schedule->id, sizeof(schedule->id), "%.*s", BF_STR_ARGS(given->id));
}

/* --- required methods --- */

/* The tests have theirs already, and share it. */
static enum belfry_status fake_create(const struct belfry_provider_options *options,
		struct belfry_provider **ret_provider, struct belfry_error *err)
{
	(void)options;
	(void)ret_provider;
	(void)err;
	return BELFRY_CANNOT;
}

static void fake_free(struct belfry_provider *provider)
{
	(void)provider;
}

static void fake_properties(struct belfry_provider *provider, struct belfry_properties *properties)
{
	(void)provider;
	*properties = (struct belfry_properties){.size = sizeof(*properties), .name = "fake"};
}

static enum belfry_status fake_start(struct belfry_provider *provider,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_START, err);

	if (status != BELFRY_OK) {
		return status;
	}
	fake->handler = handler;
	fake->metrics.is_started = true;
	return leave(fake, BELFRY_OK);
}

static enum belfry_status fake_stop(struct belfry_provider *provider, belfry_duration drain,
		struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);

	(void)drain;
	(void)err;
	fake->handler = NULL;
	fake->metrics.is_started = false;
	return BELFRY_OK;
}

/* As the seam says: what is not in the stream goes. */
static void remove_unlisted(struct fake_provider *fake)
{
	for (size_t i = 0; i < fake->schedule_count; i++) {
		struct fake_schedule *schedule = &fake->schedules[i];
		if (schedule->is_old && !schedule->is_listed && !schedule->is_removed) {
			schedule->is_removed = true;
			schedule->revision++;
		}
	}
}

static void list_entry(struct fake_provider *fake, struct belfry_str id)
{
	(void)pthread_mutex_lock(&fake->lock);
	struct fake_schedule *known = find(fake, id);
	if (known != NULL) {
		known->is_listed = true;
	}
	(void)pthread_mutex_unlock(&fake->lock);
}

static bool is_news(struct fake_provider *fake, struct belfry_str id, int64_t revision)
{
	(void)pthread_mutex_lock(&fake->lock);
	const struct fake_schedule *known = find(fake, id);
	bool is_newer = known == NULL || known->revision < revision;
	(void)pthread_mutex_unlock(&fake->lock);
	return is_newer;
}

/* No lock is held while the host is asked: changes go on meanwhile. */
static void take_entry(struct fake_provider *fake, struct belfry_schedule_iterator *schedules,
		struct belfry_str id, int64_t revision)
{
	struct belfry_schedule schedule;
	struct belfry_error why = {0};
	enum belfry_status status = BELFRY_OK;

	if (is_news(fake, id, revision)) {
		status = schedules->load(schedules->data, id, &schedule, &why);
		fake->loads++;
		if (fake->on_loaded != NULL) {
			fake->on_loaded(fake->on_data);
		}
		if (status == BELFRY_OK && bf_str_equal(id, bf_str(fake->refused_id))) {
			status = BELFRY_CAPACITY;
			why = (struct belfry_error){.status = status, .message = "it is full"};
		}
		if (status != BELFRY_OK) {
			schedules->refused(schedules->data, id, revision, &why);
		} else {
			(void)pthread_mutex_lock(&fake->lock);
			put_schedule(fake, &schedule);
			(void)pthread_mutex_unlock(&fake->lock);
		}
	}
	list_entry(fake, id);
}

static enum belfry_status fake_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	char last[65] = "";
	enum belfry_status status = enter(fake, FAKE_RECONCILE, err);

	if (status != BELFRY_OK) {
		return status;
	}
	for (size_t i = 0; i < fake->schedule_count; i++) {
		/* What comes while the list is read is not removed by it. */
		fake->schedules[i].is_listed = false;
		fake->schedules[i].is_old = true;
	}
	(void)leave(fake, BELFRY_OK);
	struct belfry_str id;
	int64_t revision;
	while ((status = schedules->next(schedules->data, &id, &revision, err)) == BELFRY_OK) {
		/* In the order of the ids, as the seam asks. */
		assert_true(bf_str_compare(id, bf_str(last)) > 0);
		(void)snprintf(last, sizeof(last), "%.*s", BF_STR_ARGS(id));
		take_entry(fake, schedules, bf_str(last), revision);
	}
	(void)pthread_mutex_lock(&fake->lock);
	if (status == BELFRY_NEVER) {
		remove_unlisted(fake);
	}
	return leave(fake, status == BELFRY_NEVER ? BELFRY_OK : status);
}

static enum belfry_status fake_apply(struct belfry_provider *provider,
		const struct belfry_schedule *schedule, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);

	if (fake->on_apply != NULL) {
		fake->on_apply(fake->on_data);
	}
	enum belfry_status status = enter(fake, FAKE_APPLY, err);
	if (status != BELFRY_OK) {
		return status;
	}
	put_schedule(fake, schedule);
	return leave(fake, BELFRY_OK);
}

static enum belfry_status fake_remove(struct belfry_provider *provider, struct belfry_str id,
		int64_t revision, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_REMOVE, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct fake_schedule *schedule = find(fake, id);
	if (schedule == NULL) { /* the tombstone holds against a put that comes late */
		assert_true(fake->schedule_count < FAKE_SCHEDULES);
		schedule = &fake->schedules[fake->schedule_count++];
		*schedule = (struct fake_schedule){0};
		(void)snprintf(schedule->id, sizeof(schedule->id), "%.*s", BF_STR_ARGS(id));
	}
	if (revision > schedule->revision) {
		schedule->is_removed = true;
		schedule->revision = revision;
	}
	return leave(fake, BELFRY_OK);
}

static struct fake_run *add_run(struct fake_provider *fake, struct belfry_str schedule)
{
	assert_true(fake->run_count < FAKE_RUNS);
	struct fake_run *run = &fake->runs[fake->run_count++];
	*run = (struct fake_run){0};
	(void)snprintf(run->schedule, sizeof(run->schedule), "%.*s", BF_STR_ARGS(schedule));
	run->run.schedule = bf_str(run->schedule);
	/* Ids rise with each Run, as version 7 ones do. */
	run->run.id.bytes[0] = 1;
	run->run.id.bytes[4] = (unsigned char)(fake->run_count >> 8);
	run->run.id.bytes[5] = (unsigned char)fake->run_count;
	run->run.created_at = run->run.ready_at = 1700000000 * BELFRY_SECOND;
	run->run.stands_for = 1;
	run->run.revision = 1;
	run->run.tz_version = BF_STR("2026f");
	return run;
}

struct belfry_run *fake_add_run(struct fake_provider *fake, const char *schedule, belfry_time due)
{
	struct belfry_run *run = &add_run(fake, bf_str(schedule))->run;

	run->due_at = run->ready_at = due;
	return run;
}

static struct fake_run *find_key(struct fake_provider *fake, const struct belfry_enqueue *request)
{
	for (size_t i = 0; i < fake->run_count && request->request_key.len > 0; i++) {
		struct fake_run *run = &fake->runs[i];
		if (bf_str_equal(request->request_key, bf_str(run->key)) &&
				bf_str_equal(request->schedule, bf_str(run->schedule))) {
			return run;
		}
	}
	return NULL;
}

static enum belfry_status fake_enqueue(struct belfry_provider *provider,
		struct belfry_enqueue *request, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_ENQUEUE, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct fake_run *run = find_key(fake, request);
	request->is_new = run == NULL;
	if (run != NULL && run->hash != request->request_hash) {
		return leave(fake, BELFRY_KEY_REUSED);
	}
	if (run == NULL) {
		run = add_run(fake, request->schedule);
		run->run.trigger = request->trigger;
		run->run.replayed_from = request->replayed_from;
		run->hash = request->request_hash;
		(void)snprintf(run->key, sizeof(run->key), "%.*s",
				BF_STR_ARGS(request->request_key));
	}
	request->run = run->run.id;
	return leave(fake, BELFRY_OK);
}

static bool is_asked(const struct belfry_run *run, const struct belfry_run_query *query)
{
	static const struct belfry_id none;

	return (query->schedule.len == 0 || bf_str_equal(query->schedule, run->schedule)) &&
			(query->statuses == 0 || (query->statuses & 1u << run->status) != 0) &&
			(query->triggers == 0 || (query->triggers & 1u << run->trigger) != 0) &&
			(run->due_at != 0 ? run->due_at : run->created_at) >= query->since &&
			(memcmp(&query->before, &none, sizeof(none)) == 0 ||
					memcmp(&run->id, &query->before, sizeof(none)) < 0);
}

static enum belfry_status fake_list_runs(struct belfry_provider *provider,
		struct belfry_run_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_LIST_RUNS, err);

	if (status != BELFRY_OK) {
		return status;
	}
	query->runs = belfry_arena_alloc(arena, (FAKE_RUNS + 1) * sizeof(*query->runs));
	if (query->runs == NULL) {
		return leave(fake, BELFRY_NOMEM);
	}
	query->count = 0;
	query->has_more = false;
	for (size_t i = fake->run_count; i > 0; i--) {
		if (!is_asked(&fake->runs[i - 1].run, query)) {
			continue;
		}
		if (query->count == query->limit) {
			query->has_more = true;
			break;
		}
		query->runs[query->count++] = fake->runs[i - 1].run;
	}
	return leave(fake, BELFRY_OK);
}

static enum belfry_status fake_get_run(struct belfry_provider *provider, struct belfry_id id,
		struct belfry_arena *arena, struct belfry_run *ret_run, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_GET_RUN, err);

	(void)arena;
	if (status != BELFRY_OK) {
		return status;
	}
	for (size_t i = 0; i < fake->run_count; i++) {
		if (memcmp(&fake->runs[i].run.id, &id, sizeof(id)) == 0) {
			*ret_run = fake->runs[i].run;
			return leave(fake, BELFRY_OK);
		}
	}
	return leave(fake, BELFRY_NOT_FOUND);
}

/* --- optional methods --- */

static enum belfry_status fake_state(struct belfry_provider *provider, const struct belfry_str *ids,
		size_t count, struct belfry_arena *arena, struct belfry_schedule_state **ret_states,
		struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_STATE, err);

	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_schedule_state *states = belfry_arena_alloc(arena,
			(count + 1) * sizeof(*states));
	if (states == NULL) {
		return leave(fake, BELFRY_NOMEM);
	}
	for (size_t i = 0; i < count; i++) {
		struct fake_schedule *schedule = find(fake, ids[i]);
		states[i] = (struct belfry_schedule_state){
				.id = ids[i],
				.is_known = schedule != NULL && !schedule->is_removed,
				.revision = schedule != NULL ? schedule->revision : 0,
				.phase = fake->phase,
				.next_due = fake->next_due != 0 ? fake->next_due
								: BELFRY_TIME_NEVER,
		};
	}
	*ret_states = states;
	return leave(fake, BELFRY_OK);
}

static enum belfry_status fake_why(struct belfry_provider *provider, struct belfry_why *why,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_WHY, err);

	(void)arena;
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_why answer = fake->why;
	answer.size = why->size;
	answer.schedule = why->schedule;
	answer.at = why->at;
	answer.due = why->at;
	*why = answer;
	return leave(fake, BELFRY_OK);
}

static enum belfry_status fake_attempts(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_arena *arena, struct belfry_attempt **ret_attempts, size_t *ret_count,
		struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_ATTEMPTS, err);

	(void)arena;
	(void)run;
	if (status != BELFRY_OK) {
		return status;
	}
	*ret_attempts = fake->attempts;
	*ret_count = fake->attempt_count;
	return leave(fake, BELFRY_OK);
}

static enum belfry_status fake_metrics(struct belfry_provider *provider,
		struct belfry_provider_metrics *ret_metrics, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_METRICS, err);

	if (status != BELFRY_OK) {
		return status;
	}
	*ret_metrics = fake->metrics;
	return leave(fake, BELFRY_OK);
}

static enum belfry_status fake_due(struct belfry_provider *provider, struct belfry_str schedule,
		belfry_time from, belfry_time *ret_due, size_t max, size_t *ret_count,
		struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_DUE, err);

	(void)schedule;
	if (status != BELFRY_OK) {
		return status;
	}
	/* Every minute. */
	for (size_t i = 0; i < max; i++) {
		from = (from / BELFRY_MINUTE + 1) * BELFRY_MINUTE;
		ret_due[i] = from;
	}
	*ret_count = max;
	return leave(fake, BELFRY_OK);
}

/* Those that are queued can be, and those that were. */
static enum belfry_status fake_cancel(struct belfry_provider *provider, struct belfry_id run,
		struct belfry_str message, struct belfry_error *err)
{
	struct fake_provider *fake = fake_of(provider);
	enum belfry_status status = enter(fake, FAKE_CANCEL, err);

	(void)message;
	if (status != BELFRY_OK) {
		return status;
	}
	for (size_t i = 0; i < fake->run_count; i++) {
		struct belfry_run *found = &fake->runs[i].run;
		if (memcmp(&found->id, &run, sizeof(run)) != 0) {
			continue;
		}
		if (found->status != BELFRY_STATUS_QUEUED &&
				found->status != BELFRY_STATUS_CANCELLED) {
			return leave(fake, BELFRY_CONFLICT);
		}
		found->state = BELFRY_RUN_CANCELLED;
		found->status = BELFRY_STATUS_CANCELLED;
		found->finished_at = found->created_at;
		found->error = BELFRY_RUN_ERROR_CANCELLED;
		return leave(fake, BELFRY_OK);
	}
	return leave(fake, BELFRY_NOT_FOUND);
}

static const struct belfry_provider_more_ops more_ops = {
		.size = sizeof(more_ops),
		.state = fake_state,
		.why = fake_why,
		.attempts = fake_attempts,
		.metrics = fake_metrics,
		.due = fake_due,
		.cancel = fake_cancel,
};

static const struct belfry_provider_ops ops = {
		.seams_abi = BELFRY_SEAMS_ABI,
		.size = sizeof(ops),
		.name = "fake",
		.create = fake_create,
		.free = fake_free,
		.properties = fake_properties,
		.start = fake_start,
		.stop = fake_stop,
		.reconcile = fake_reconcile,
		.apply = fake_apply,
		.remove = fake_remove,
		.enqueue = fake_enqueue,
		.list_runs = fake_list_runs,
		.get_run = fake_get_run,
		.more = &more_ops,
};

void fake_provider_init(struct fake_provider *fake)
{
	memset(fake, 0, sizeof(*fake));
	fake->base.ops = &ops;
	fake->metrics.size = sizeof(fake->metrics);
	fake->metrics.is_store_up = true;
	fake->metrics.lease = 8 * BELFRY_SECOND;
	assert_int_equal(pthread_mutex_init(&fake->lock, NULL), 0);
}

void fake_provider_forget(struct fake_provider *fake)
{
	for (size_t i = 0; i < fake->schedule_count; i++) {
		schedule_fini(&fake->schedules[i]);
	}
	fake->schedule_count = 0;
}

void fake_provider_fini(struct fake_provider *fake)
{
	fake_provider_forget(fake);
	(void)pthread_mutex_destroy(&fake->lock);
}

/* --- replies --- */

void fake_reply_init(struct belfry_reply *reply)
{
	*reply = (struct belfry_reply){0};
	assert_int_equal(pthread_mutex_init(&reply->lock, NULL), 0);
	assert_int_equal(pthread_cond_init(&reply->changed, NULL), 0);
}

void fake_reply_wait(struct belfry_reply *reply)
{
	struct timespec until;
	int code = 0;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 20;
	(void)pthread_mutex_lock(&reply->lock);
	while (reply->kind == FAKE_REPLY_NONE && code == 0) {
		code = pthread_cond_timedwait(&reply->changed, &reply->lock, &until);
	}
	bool is_answered = reply->kind != FAKE_REPLY_NONE;
	(void)pthread_mutex_unlock(&reply->lock);
	assert_true(is_answered);
	assert_int_equal(reply->count, 1);
}

void fake_reply_fini(struct belfry_reply *reply)
{
	(void)pthread_cond_destroy(&reply->changed);
	(void)pthread_mutex_destroy(&reply->lock);
}

static enum belfry_status answer(struct belfry_reply **taken, const struct belfry_reply *with)
{
	struct belfry_reply *reply = *taken;

	*taken = NULL;
	(void)pthread_mutex_lock(&reply->lock);
	reply->kind = with->kind;
	reply->count++;
	memcpy(reply->text, with->text, sizeof(reply->text));
	reply->outcome = with->outcome;
	reply->after = with->after;
	reply->error = with->error;
	memcpy(reply->message, with->message, sizeof(reply->message));
	memcpy(reply->detail, with->detail, sizeof(reply->detail));
	(void)pthread_cond_broadcast(&reply->changed);
	(void)pthread_mutex_unlock(&reply->lock);
	return BELFRY_OK;
}

enum belfry_status belfry_reply_session(struct belfry_reply **reply, struct belfry_str session)
{
	struct belfry_reply with = {.kind = FAKE_REPLY_SESSION};

	(void)snprintf(with.text, sizeof(with.text), "%.*s", BF_STR_ARGS(session));
	return answer(reply, &with);
}

enum belfry_status belfry_reply_turn(struct belfry_reply **reply, struct belfry_str turn,
		const struct belfry_outcome *outcome)
{
	struct belfry_reply with = {.kind = FAKE_REPLY_TURN};

	(void)snprintf(with.text, sizeof(with.text), "%.*s", BF_STR_ARGS(turn));
	if (outcome != NULL) {
		with.outcome = *outcome;
	}
	return answer(reply, &with);
}

static enum belfry_status answer_failure(struct belfry_reply **reply, enum fake_reply_kind kind,
		belfry_duration after, enum belfry_run_error error, struct belfry_str message,
		struct belfry_str detail)
{
	struct belfry_reply with = {.kind = kind, .after = after, .error = error};

	(void)snprintf(with.message, sizeof(with.message), "%.*s", BF_STR_ARGS(message));
	(void)snprintf(with.detail, sizeof(with.detail), "%.*s", BF_STR_ARGS(detail));
	return answer(reply, &with);
}

enum belfry_status belfry_reply_retry(struct belfry_reply **reply, belfry_duration after,
		enum belfry_run_error error, struct belfry_str message, struct belfry_str detail)
{
	return answer_failure(reply, FAKE_REPLY_RETRY, after, error, message, detail);
}

enum belfry_status belfry_reply_permanent(struct belfry_reply **reply, enum belfry_run_error error,
		struct belfry_str message, struct belfry_str detail)
{
	return answer_failure(reply, FAKE_REPLY_PERMANENT, 0, error, message, detail);
}
