/* See host.h. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "host.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "store-sqlite/sqlite.h"
#include "store/memory/memory.h"

#define WAIT_S 30

belfry_time now_wall(void)
{
	const struct bf_env *env = bf_env_system();

	return env->wall(env->data);
}

/* ---- the shelf --------------------------------------------------------------------------------- */

static void open_sqlite(struct shelf *shelf)
{
	char url[128];
	struct belfry_error err;
	struct belfry_store_options options = {.size = sizeof(options), .owner = BF_STR("test")};

	(void)snprintf(url, sizeof(url), "sqlite:%s/belfry.db", shelf->folder);
	options.url = bf_str(url);
	assert_int_equal(bf_store_open(&bf_sqlite_store_ops, &options, &shelf->store, &err),
			BELFRY_OK);
	assert_int_equal(bf_store_migrate(shelf->store, &err), BELFRY_OK);
}

void shelf_init(struct shelf *shelf, bool is_sqlite)
{
	*shelf = (struct shelf){.is_sqlite = is_sqlite, .folder = "/tmp/belfry-test-XXXXXX"};
	if (is_sqlite) {
		assert_non_null(mkdtemp(shelf->folder));
		open_sqlite(shelf);
		return;
	}
	struct belfry_store *raw = NULL;
	assert_int_equal(bf_memory_store_new(bf_env_system(), false, &raw), BELFRY_OK);
	assert_int_equal(bf_store_wrap(&raw, &shelf->store, NULL), BELFRY_OK);
}

void shelf_reopen(struct shelf *shelf)
{
	if (shelf->is_sqlite) {
		bf_store_close(shelf->store);
		open_sqlite(shelf);
	}
}

void shelf_fini(struct shelf *shelf)
{
	char path[400];

	bf_store_close(shelf->store);
	if (!shelf->is_sqlite) {
		return;
	}
	DIR *folder = opendir(shelf->folder);
	assert_non_null(folder);
	for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
		(void)snprintf(path, sizeof(path), "%s/%s", shelf->folder, entry->d_name);
		(void)unlink(path); /* "." and ".." refuse */
	}
	(void)closedir(folder);
	assert_int_equal(rmdir(shelf->folder), 0);
}

/* ---- the handler ------------------------------------------------------------------------------- */

struct answering {
	struct host *host;
	struct belfry_reply *reply;
	enum belfry_step step;
	char session[BELFRY_ID_TEXT_BYTES];
};

static void answer(struct host *host, struct belfry_reply *reply, enum belfry_step step,
		const char *session)
{
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};

	if (step == BELFRY_STEP_SESSION) {
		(void)belfry_reply_session(&reply, bf_str(session));
	} else {
		(void)belfry_reply_turn(&reply, BF_STR("turn"),
				host->has_outcome ? &outcome : NULL);
	}
	assert_null(reply);
}

static void *answer_main(void *data)
{
	struct answering *mine = data;

	answer(mine->host, mine->reply, mine->step, mine->session);
	bf_free(mine);
	return NULL;
}

static void answer_from_thread(struct host *host, struct belfry_reply *reply, enum belfry_step step,
		const char *session)
{
	struct answering *mine = bf_alloc(sizeof(*mine));

	assert_non_null(mine);
	*mine = (struct answering){.host = host, .reply = reply, .step = step};
	memcpy(mine->session, session, sizeof(mine->session));
	(void)pthread_mutex_lock(&host->lock);
	assert_true(host->thread_count < CALLS_MAX);
	pthread_t *thread = &host->threads[host->thread_count++];
	(void)pthread_mutex_unlock(&host->lock);
	assert_int_equal(pthread_create(thread, NULL, answer_main, mine), 0);
}

static void copy_text(char *to, size_t size, struct belfry_str text)
{
	size_t len = BF_MIN(text.len, size - 1);

	memcpy(to, text.ptr != NULL ? text.ptr : "", len);
	to[len] = '\0';
}

static void note(struct host *host, const struct belfry_invocation *invocation,
		enum belfry_step step, struct belfry_str session)
{
	if (host->call_count == CALLS_MAX) {
		return;
	}
	struct call *call = &host->calls[host->call_count++];
	*call = (struct call){.run = invocation->run,
			.fence = invocation->fence,
			.attempt = invocation->attempt,
			.step = step,
			.trigger = invocation->trigger,
			.at = now_wall()};
	copy_text(call->session, sizeof(call->session), session);
	copy_text(call->payload, sizeof(call->payload), invocation->payload);
}

static void handle(struct host *host, const struct belfry_invocation *invocation,
		enum belfry_step step, struct belfry_str session, struct belfry_reply *reply)
{
	char text[BELFRY_ID_TEXT_BYTES];

	belfry_id_format(invocation->run, text);
	(void)pthread_mutex_lock(&host->lock);
	note(host, invocation, step, session);
	enum behaviour b = host->behaviour;
	bool is_session = step == BELFRY_STEP_SESSION;
	bool is_held = b == (is_session ? HOLD_SESSION : HOLD_TURN) && host->held_count < HELD_MAX;
	bool is_retry = b == (is_session ? RETRY_SESSION : RETRY_TURN) && host->retries > 0;
	bool is_refused = b == (is_session ? REFUSE_SESSION : REFUSE_TURN);
	host->retries -= is_retry ? 1 : 0;
	if (is_held) {
		host->held[host->held_count++] = reply;
	}
	(void)pthread_cond_broadcast(&host->changed);
	(void)pthread_mutex_unlock(&host->lock);
	if (is_held) {
		return;
	}
	if (is_retry) {
		(void)belfry_reply_retry(&reply, 0, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("not now"), BF_STR("detail"));
	} else if (is_refused) {
		(void)belfry_reply_permanent(&reply, BELFRY_RUN_ERROR_PERMANENT, BF_STR("never"),
				BF_STR(""));
	} else if (b == ANSWER_THREAD) {
		answer_from_thread(host, reply, step, text);
	} else {
		answer(host, reply, step, text);
	}
}

static void on_session(void *data, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	handle(data, invocation, BELFRY_STEP_SESSION, BF_STR(""), reply);
}

static void on_turn(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	handle(data, invocation, BELFRY_STEP_TURN, session, reply);
}

static void on_cancel(void *data, struct belfry_id run, belfry_fence fence)
{
	struct host *host = data;

	(void)run;
	(void)fence;
	(void)pthread_mutex_lock(&host->lock);
	host->cancel_count++;
	(void)pthread_cond_broadcast(&host->changed);
	(void)pthread_mutex_unlock(&host->lock);
}

/* ---- life -------------------------------------------------------------------------------------- */

struct belfry_provider_options host_options(void)
{
	return (struct belfry_provider_options){.size = sizeof(struct belfry_provider_options),
			.identity = BF_STR("test"),
			.version = BF_STR("1"),
			.lease = 4 * BELFRY_SECOND,
			.beat = 200 * BELFRY_MILLISECOND,
			.tick = 200 * BELFRY_MILLISECOND,
			.timeout = 5 * BELFRY_SECOND};
}

struct host *host_new_with(struct shelf *shelf, const struct belfry_provider_options *options)
{
	struct host *host = bf_alloc(sizeof(*host));

	assert_non_null(host);
	(void)pthread_mutex_init(&host->lock, NULL);
	(void)pthread_cond_init(&host->changed, NULL);
	host->store = shelf->store;
	host->faulty = faulty_new(shelf->store);
	assert_non_null(host->faulty);
	host->options = *options;
	host->options.store = host->faulty;
	host->handler = (struct belfry_handler){.size = sizeof(host->handler),
			.data = host,
			.start_session = on_session,
			.admit_turn = on_turn,
			.cancel = on_cancel};
	struct belfry_scheduler_options open = BELFRY_SCHEDULER_OPTIONS_INIT;
	open.engine = host->options;
	assert_int_equal(belfry_scheduler_open(&open, &host->scheduler, &host->err), BELFRY_OK);
	return host;
}

struct host *host_new(struct shelf *shelf)
{
	struct belfry_provider_options options = host_options();

	return host_new_with(shelf, &options);
}

void host_start(struct host *host)
{
	assert_int_equal(belfry_scheduler_start(host->scheduler, &host->handler, &host->err),
			BELFRY_OK);
}

void host_behave(struct host *host, enum behaviour behaviour)
{
	(void)pthread_mutex_lock(&host->lock);
	host->behaviour = behaviour;
	(void)pthread_mutex_unlock(&host->lock);
}

void host_release(struct host *host)
{
	struct belfry_reply *held[HELD_MAX];

	(void)pthread_mutex_lock(&host->lock);
	size_t count = host->held_count;
	memcpy(held, host->held, sizeof(held));
	host->held_count = 0;
	(void)pthread_mutex_unlock(&host->lock);
	for (size_t i = 0; i < count; i++) {
		(void)belfry_reply_permanent(&held[i], BELFRY_RUN_ERROR_PERMANENT, BF_STR(""),
				BF_STR(""));
	}
}

void host_free(struct host *host, belfry_duration drain)
{
	enum belfry_status status = belfry_scheduler_stop(host->scheduler, drain, NULL);

	assert_true(status == BELFRY_OK || status == BELFRY_BUSY);
	belfry_scheduler_close(host->scheduler);
	host_release(host); /* also after the provider is gone */
	for (size_t i = 0; i < host->thread_count; i++) {
		assert_int_equal(pthread_join(host->threads[i], NULL), 0);
	}
	faulty_free(host->faulty);
	(void)pthread_mutex_destroy(&host->lock);
	(void)pthread_cond_destroy(&host->changed);
	bf_free(host);
}

void host_crash(struct host *host)
{
	struct bf_store *store = host->store;

	bf_fault_arm(bf_store_fault_before(store), 1, -1);
	host_free(host, 0);
	bf_fault_arm(bf_store_fault_before(store), 0, 0);
}

/* ---- asking ------------------------------------------------------------------------------------ */

struct belfry_schedule schedule_of(const char *id, int64_t revision, const char *rule)
{
	struct belfry_schedule s = BELFRY_SCHEDULE_INIT;

	s.id = bf_str(id);
	s.revision = revision;
	s.rule = bf_str(rule);
	s.zone = BF_STR("UTC");
	s.payload = BF_STR("payload");
	s.policies.grace = BELFRY_HOUR; /* what a slow machine misses is fired all the same */
	s.policies.first_delay = 10 * BELFRY_MILLISECOND;
	s.policies.max_delay = 100 * BELFRY_MILLISECOND;
	return s;
}

enum belfry_status host_apply(struct host *host, const struct belfry_schedule *schedule)
{
	return belfry_scheduler_apply(host->scheduler, schedule, &host->err);
}

struct belfry_id host_run_now(struct host *host, const char *schedule)
{
	struct belfry_enqueue request = {.size = sizeof(request),
			.schedule = bf_str(schedule),
			.trigger = BELFRY_TRIGGER_MANUAL};

	assert_int_equal(belfry_scheduler_enqueue(host->scheduler, &request, &host->err),
			BELFRY_OK);
	assert_true(request.is_new);
	return request.run;
}

struct belfry_run host_run(struct host *host, struct belfry_id run, struct belfry_arena *arena)
{
	struct belfry_run found = {.state = BELFRY_RUN_STATE_COUNT};

	enum belfry_status status = belfry_scheduler_get_run(host->scheduler, run, arena, &found,
			NULL);
	assert_true(status == BELFRY_OK || found.state == BELFRY_RUN_STATE_COUNT);
	return found;
}

size_t host_call_count(struct host *host)
{
	(void)pthread_mutex_lock(&host->lock);
	size_t count = host->call_count;
	(void)pthread_mutex_unlock(&host->lock);
	return count;
}

size_t host_calls_of(struct host *host, struct belfry_id run, enum belfry_step step,
		struct call *ret_last)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&host->lock);
	for (size_t i = 0; i < host->call_count; i++) {
		if (host->calls[i].step == step && bf_id_compare(host->calls[i].run, run) == 0) {
			count++;
			if (ret_last != NULL) {
				*ret_last = host->calls[i];
			}
		}
	}
	(void)pthread_mutex_unlock(&host->lock);
	return count;
}

bool run_is_over(struct host *host, const void *run)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_run r = host_run(host, *(const struct belfry_id *)run, &arena);

	return r.state < BELFRY_RUN_STATE_COUNT && !bf_run_state_is_open(r.state);
}

bool run_is_held(struct host *host, const void *run)
{
	struct belfry_id id = *(const struct belfry_id *)run;
	enum belfry_step step = host->behaviour == HOLD_TURN ? BELFRY_STEP_TURN
							     : BELFRY_STEP_SESSION;

	return host_calls_of(host, id, step, NULL) > 0;
}

bool has_calls(struct host *host, const void *size)
{
	return host_call_count(host) >= *(const size_t *)size;
}

bool covers(struct host *host, const void *unused)
{
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};

	(void)unused;
	assert_int_equal(belfry_scheduler_metrics(host->scheduler, &metrics, NULL), BELFRY_OK);
	return metrics.is_started;
}

bool all_are_over(struct host *host, const void *unused)
{
	struct belfry_provider_metrics metrics = {.size = sizeof(metrics)};

	(void)unused;
	assert_int_equal(belfry_scheduler_metrics(host->scheduler, &metrics, NULL), BELFRY_OK);
	return metrics.open[BELFRY_RUN_QUEUED] == 0 && metrics.open[BELFRY_RUN_DELAYED] == 0 &&
			metrics.open[BELFRY_RUN_DISPATCHING] == 0;
}

void wait_until(struct host *host, condition_fn condition, const void *data, const char *what)
{
	belfry_time end = now_wall() + WAIT_S * BELFRY_SECOND;

	while (!condition(host, data)) {
		struct timespec soon;
		if (now_wall() > end) {
			fail_msg("it did not come about: %s", what);
		}
		assert_int_equal(clock_gettime(CLOCK_REALTIME, &soon), 0);
		soon.tv_nsec += 10 * 1000 * 1000;
		soon.tv_sec += soon.tv_nsec / 1000000000;
		soon.tv_nsec %= 1000000000;
		(void)pthread_mutex_lock(&host->lock);
		(void)pthread_cond_timedwait(&host->changed, &host->lock, &soon);
		(void)pthread_mutex_unlock(&host->lock);
	}
}

static bool is_past(struct host *host, const void *at)
{
	(void)host;
	return now_wall() >= *(const belfry_time *)at;
}

void wait_past(struct host *host, belfry_time at)
{
	wait_until(host, is_past, &at, "time passes");
}
