/* The runtime as a whole, over the memory store: what the host ends, what it is told, and how the pool and
 * the pull stand to a stop. Beats are an hour apart, so what comes at once has not waited for one. */
#include "cases.h"

#include <poll.h>

#include <belfry/pool.h>
#include <belfry/pull.h>

#include "base/alloc.h"
#include "base/env.h"
#include "model/definition.h"
#include "model/run.h"
#include "runtime/runtime.h"
#include "runtime/runtime_priv.h"
#include "store/memory/memory.h"

struct bench {
	struct bf_store *store;
	struct belfry_zones *zones;
	struct bf_runtime *runtime;
	struct belfry_pull *pull;
	struct belfry_arena arena;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned hints;
	unsigned hints_of_others;
	bool is_let_through;
	unsigned working;
};

static void note_change(void *data, struct belfry_str schedule)
{
	struct bench *b = data;

	(void)pthread_mutex_lock(&b->lock);
	b->hints++;
	b->hints_of_others += !bf_str_equal(schedule, BF_STR("a"));
	(void)pthread_cond_broadcast(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
}

static void put(struct bench *b, uint32_t flags)
{
	struct belfry_policies policies = BELFRY_POLICIES_INIT;
	struct bf_definition definition = {.flags = flags,
			.rule = BF_STR("0 0 1 1 *"),
			.zone = BF_STR("UTC"),
			.policies = policies};
	BF_CLEANUP(bf_buf_fini) struct bf_buf bytes = {0};

	bf_definition_encode(&definition, &bytes);
	struct bf_plan_request request = {.schedule = BF_STR("a"),
			.revision = 1,
			.put = {.revision = 1,
					.flags = flags,
					.definition = bf_buf_str(&bytes),
					.payload = BF_STR("payload")}};
	bf_runtime_apply(b->runtime, &request, 1);
	assert_int_equal(request.status, BELFRY_OK);
}

static void begin(struct bench *b, uint32_t flags)
{
	struct belfry_store *raw = NULL;
	struct bf_runtime_config config = {.lease = 4 * BELFRY_HOUR,
			.beat = BELFRY_HOUR,
			.tick = 50 * BELFRY_MILLISECOND,
			.prune = {.keep_age = BELFRY_DAY, .keep_failed_age = BELFRY_DAY},
			.changed_data = b,
			.changed = note_change};

	*b = (struct bench){.arena = BELFRY_ARENA_INIT};
	assert_int_equal(pthread_mutex_init(&b->lock, NULL), 0);
	assert_int_equal(bf_condition_init(&b->changed), BELFRY_OK);
	assert_int_equal(bf_memory_store_new(bf_env_system(), false, &raw), BELFRY_OK);
	assert_int_equal(bf_store_wrap(&raw, &b->store, NULL), BELFRY_OK);
	assert_int_equal(belfry_zones_new(NULL, &b->zones, NULL), BELFRY_OK);
	assert_int_equal(belfry_pull_new(NULL, &b->pull, NULL), BELFRY_OK);
	config.store = b->store;
	config.zones = b->zones;
	assert_int_equal(bf_runtime_new(&config, &b->runtime, NULL), BELFRY_OK);
	put(b, BELFRY_SCHEDULE_F_ENABLED | flags);
}

static void end(struct bench *b)
{
	bf_runtime_free(b->runtime);
	belfry_pull_free(b->pull);
	belfry_zones_free(b->zones);
	bf_store_close(b->store);
	belfry_arena_fini(&b->arena);
	(void)pthread_cond_destroy(&b->changed);
	(void)pthread_mutex_destroy(&b->lock);
}

static void start(struct bench *b)
{
	assert_int_equal(bf_runtime_start(b->runtime, belfry_pull_handler(b->pull), NULL),
			BELFRY_OK);
}

static struct belfry_id enqueue(struct bench *b)
{
	struct belfry_add add = {.schedule = BF_STR("a"),
			.id = bf_run_id_new(bf_env_system()),
			.trigger = BELFRY_TRIGGER_MANUAL};

	assert_int_equal(bf_store_add_runs(b->store, &add, 1, NULL), BELFRY_OK);
	assert_int_equal(add.result, BELFRY_OK);
	bf_runtime_kick(b->runtime);
	return add.id;
}

static struct belfry_pull_item *pull_next(struct bench *b)
{
	struct pollfd poll_fd = {.fd = belfry_pull_fd(b->pull), .events = POLLIN};
	struct belfry_pull_item *item = NULL;

	assert_int_equal(poll(&poll_fd, 1, 10000), 1);
	assert_int_equal(belfry_pull_next(b->pull, &item), BELFRY_OK);
	return item;
}

static struct belfry_run run_of(struct bench *b, struct belfry_id id)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUN_IDS, .run_ids = &id, .run_id_count = 1};

	assert_int_equal(bf_store_list(b->store, &list, &b->arena, NULL), BELFRY_OK);
	assert_int_equal(list.count, 1);
	return list.runs[0];
}

static void end_run(struct bench *b, struct belfry_record record)
{
	record.error = record.kind == BELFRY_RECORD_CANCELLED_BY_HOST ? BELFRY_RUN_ERROR_CANCELLED
								      : BELFRY_RUN_ERROR_NONE;
	assert_int_equal(bf_store_record(b->store, &record, 1, NULL), BELFRY_OK);
	assert_int_equal(record.result, BELFRY_OK);
	bf_runtime_ended(b->runtime, &record);
}

static void wait_for_hints(struct bench *b, unsigned wanted)
{
	struct timespec until = bf_monotonic_in(10 * BELFRY_SECOND);
	int code = 0;

	(void)pthread_mutex_lock(&b->lock);
	while (b->hints < wanted && code == 0) {
		code = pthread_cond_timedwait(&b->changed, &b->lock, &until);
	}
	assert_in_range(b->hints, wanted, UINT32_MAX);
	assert_int_equal(b->hints_of_others, 0);
	(void)pthread_mutex_unlock(&b->lock);
}

static unsigned count_hints(struct bench *b)
{
	(void)pthread_mutex_lock(&b->lock);
	unsigned hints = b->hints;
	(void)pthread_mutex_unlock(&b->lock);
	return hints;
}

static int64_t count_cancelled(struct bench *b)
{
	struct belfry_provider_metrics metrics;

	bf_runtime_metrics(b->runtime, &metrics);
	return metrics.runs[BELFRY_TRIGGER_MANUAL][BELFRY_STATUS_CANCELLED];
}

static void a_cancel_is_told_at_once_and_the_late_answer_dropped(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0);
	start(&b);
	struct belfry_id id = enqueue(&b);
	struct belfry_pull_item *call = pull_next(&b);
	struct belfry_record cancelled = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST, .run = id};
	end_run(&b, cancelled);
	struct belfry_pull_item *news = pull_next(&b);
	assert_int_equal(news->kind, BELFRY_PULL_CANCEL);
	assert_int_equal(bf_id_compare(news->invocation->run, id), 0);
	assert_true(news->invocation->fence == call->invocation->fence);
	assert_int_equal(belfry_reply_session(&call->reply, BF_STR("s")), BELFRY_STALE);
	assert_int_equal(run_of(&b, id).state, BELFRY_RUN_CANCELLED);
	assert_int_equal(count_cancelled(&b), 1);
	belfry_pull_item_free(news);
	belfry_pull_item_free(call);
	end(&b);
}

static void what_is_said_again_is_counted_once(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, 0); /* not started: nothing is dispatched, and a Run that waits can be ended */
	struct belfry_id id = enqueue(&b);
	struct belfry_record cancelled = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST, .run = id};
	end_run(&b, cancelled);
	end_run(&b, cancelled);
	assert_int_equal(count_cancelled(&b), 1);
	end(&b);
}

static void a_session_of_the_hosts_own_is_never_asked_for(void **state)
{
	struct bench b;
	char text[BELFRY_ID_TEXT_BYTES];

	(void)state;
	begin(&b, BELFRY_SCHEDULE_F_LOCAL_SESSION);
	start(&b);
	struct belfry_id id = enqueue(&b);
	struct belfry_pull_item *call = pull_next(&b);
	belfry_id_format(id, text);
	assert_int_equal(call->kind, BELFRY_PULL_ADMIT_TURN);
	assert_true(bf_str_equal(call->session, bf_str(text)));
	assert_int_equal(belfry_reply_turn(&call->reply, BF_STR("t"), NULL), BELFRY_OK);
	belfry_pull_item_free(call);
	end(&b);
}

static void the_host_hears_of_what_changes(void **state)
{
	struct bench b;
	struct belfry_outcome outcome = {.size = sizeof(outcome),
			.status = BELFRY_STATUS_COMPLETED};

	(void)state;
	begin(&b, BELFRY_SCHEDULE_F_LOCAL_SESSION);
	wait_for_hints(&b, 1); /* it was put */
	start(&b);
	unsigned hints = count_hints(&b);
	(void)enqueue(&b);
	struct belfry_pull_item *call = pull_next(&b);
	wait_for_hints(&b, hints + 1); /* it was claimed */
	hints = count_hints(&b);
	assert_int_equal(belfry_reply_turn(&call->reply, BF_STR("t"), &outcome), BELFRY_OK);
	wait_for_hints(&b, hints + 1); /* it has ended */
	belfry_pull_item_free(call);
	hints = count_hints(&b);
	bf_runtime_changed(b.runtime, BF_STR("a"));
	wait_for_hints(&b, hints + 1);
	end(&b);
}

static void a_conclusion_ends_the_run_and_is_told(void **state)
{
	struct bench b;

	(void)state;
	begin(&b, BELFRY_SCHEDULE_F_LOCAL_SESSION);
	start(&b);
	struct belfry_id id = enqueue(&b);
	struct belfry_pull_item *call = pull_next(&b);
	struct belfry_record concluded = {.kind = BELFRY_RECORD_CONCLUDED,
			.run = id,
			.status = BELFRY_STATUS_FAILED};
	wait_for_hints(&b, 2);
	unsigned hints = count_hints(&b);
	end_run(&b, concluded);
	wait_for_hints(&b, hints + 1);
	assert_int_equal(belfry_reply_turn(&call->reply, BF_STR("t"), NULL), BELFRY_OK);
	assert_int_equal(bf_runtime_stop(b.runtime, BELFRY_SECOND, NULL), BELFRY_OK);
	assert_int_equal(run_of(&b, id).status, BELFRY_STATUS_FAILED); /* the first end stays */
	belfry_pull_item_free(call);
	end(&b);
}

/* ---- the pool and a stop ------------------------------------------------------------------------- */

static enum belfry_status work_until_let_through(void *data,
		const struct belfry_invocation *invocation, struct belfry_work *work)
{
	struct bench *b = data;

	(void)invocation;
	(void)work;
	(void)pthread_mutex_lock(&b->lock);
	b->working++;
	(void)pthread_cond_broadcast(&b->changed);
	while (!b->is_let_through) {
		(void)pthread_cond_wait(&b->changed, &b->lock);
	}
	b->working--;
	(void)pthread_mutex_unlock(&b->lock);
	return BELFRY_OK;
}

static void wait_for_work(struct bench *b)
{
	struct timespec until = bf_monotonic_in(10 * BELFRY_SECOND);
	int code = 0;

	(void)pthread_mutex_lock(&b->lock);
	while (b->working == 0 && code == 0) {
		code = pthread_cond_timedwait(&b->changed, &b->lock, &until);
	}
	assert_int_equal(b->working, 1);
	(void)pthread_mutex_unlock(&b->lock);
}

static void a_stop_is_busy_until_the_functions_have_returned(void **state)
{
	struct belfry_pool_options options = BELFRY_POOL_OPTIONS_INIT;
	struct belfry_pool *pool = NULL;
	struct belfry_pool_state pool_state;
	struct bench b;

	(void)state;
	begin(&b, 0);
	options.threads = 1;
	options.data = &b;
	options.run = work_until_let_through;
	assert_int_equal(belfry_pool_new(&options, &pool, NULL), BELFRY_OK);
	assert_int_equal(bf_runtime_start(b.runtime, belfry_pool_handler(pool), NULL), BELFRY_OK);
	struct belfry_id id = enqueue(&b);
	wait_for_work(&b);
	struct belfry_id waiting = enqueue(&b);
	assert_int_equal(bf_runtime_stop(b.runtime, 0, NULL), BELFRY_BUSY);
	belfry_pool_get_state(pool, &pool_state);
	assert_int_equal(pool_state.lost, 1);
	assert_int_equal(pool_state.waiting, 0);
	assert_int_equal(run_of(&b, id).state, BELFRY_RUN_QUEUED); /* handed back */
	assert_int_equal(run_of(&b, waiting).state, BELFRY_RUN_QUEUED);
	(void)pthread_mutex_lock(&b.lock);
	b.is_let_through = true;
	(void)pthread_cond_broadcast(&b.changed);
	(void)pthread_mutex_unlock(&b.lock);
	belfry_pool_free(pool); /* waits for the function */
	assert_int_equal(bf_runtime_stop(b.runtime, 0, NULL), BELFRY_OK);
	end(&b);
}

static void *let_through_soon(void *data)
{
	struct bench *b = data;
	struct timespec soon = bf_monotonic_in(100 * BELFRY_MILLISECOND);
	int code = 0;

	(void)pthread_mutex_lock(&b->lock);
	while (code == 0) { /* nobody tells: until the stop is under way, or soon will be */
		code = pthread_cond_timedwait(&b->changed, &b->lock, &soon);
	}
	b->is_let_through = true;
	(void)pthread_cond_broadcast(&b->changed);
	(void)pthread_mutex_unlock(&b->lock);
	return NULL;
}

static void a_second_stop_waits_for_what_the_first_left_open(void **state)
{
	struct belfry_pool_options options = BELFRY_POOL_OPTIONS_INIT;
	struct belfry_error err = BELFRY_ERROR_INIT;
	struct belfry_pool *pool = NULL;
	pthread_t helper;
	struct bench b;

	(void)state;
	begin(&b, 0);
	options.threads = 1;
	options.data = &b;
	options.run = work_until_let_through;
	assert_int_equal(belfry_pool_new(&options, &pool, NULL), BELFRY_OK);
	assert_int_equal(bf_runtime_start(b.runtime, belfry_pool_handler(pool), NULL), BELFRY_OK);
	(void)enqueue(&b);
	wait_for_work(&b);
	assert_int_equal(bf_runtime_stop(b.runtime, 0, &err), BELFRY_BUSY);
	assert_non_null(strstr(err.message, "1 calls"));
	assert_int_equal(bf_runtime_stop(b.runtime, BELFRY_MILLISECOND, NULL), BELFRY_BUSY);
	assert_int_equal(pthread_create(&helper, NULL, let_through_soon, &b), 0);
	assert_int_equal(bf_runtime_stop(b.runtime, BELFRY_MINUTE, NULL), BELFRY_OK);
	assert_int_equal(pthread_join(helper, NULL), 0);
	belfry_pool_free(pool);
	end(&b);
}

/* ---- what goes on failing ------------------------------------------------------------------------ */

struct watch {
	atomic_llong ahead; /* of the real clock, microseconds */
	unsigned lines;
	unsigned with_untold;
};

static struct bf_boot_time boot_ahead(void *data)
{
	struct watch *watch = data;
	struct bf_boot_time now = bf_env_system()->boot(NULL);

	return bf_boot_add(now, atomic_load(&watch->ahead));
}

static void count_lines(void *data, enum bf_log_level level, const char *line)
{
	struct watch *watch = data;

	if (level == BF_LOG_WARNING && strstr(line, "what=store-call-failed") != NULL) {
		watch->lines++;
		watch->with_untold += strstr(line, "untold=2") != NULL;
	}
}

static void a_failure_that_goes_on_is_told_now_and_then(void **state)
{
	struct watch watch = {0};
	struct bf_env env = *bf_env_system();
	struct bf_runtime *runtime = NULL;
	struct belfry_error err = {.detail = "the disk is full"};
	struct bench b;

	(void)state;
	env.data = &watch;
	env.boot = boot_ahead;
	env.log = count_lines;
	begin(&b, 0);
	struct bf_runtime_config config = {.env = &env, .store = b.store, .zones = b.zones};
	assert_int_equal(bf_runtime_new(&config, &runtime, NULL), BELFRY_OK);
	for (int i = 0; i < 3; i++) {
		bf_runtime_report(runtime, "a", BELFRY_UNAVAILABLE, &err);
	}
	assert_int_equal(watch.lines, 1);
	bf_runtime_report(runtime, "b", BELFRY_UNAVAILABLE, &err); /* another step */
	assert_int_equal(watch.lines, 2);
	atomic_store(&watch.ahead, BELFRY_MINUTE);
	bf_runtime_report(runtime, "a", BELFRY_UNAVAILABLE, &err);
	assert_int_equal(watch.lines, 3);
	assert_int_equal(watch.with_untold, 1);
	bf_runtime_report(runtime, "a", BELFRY_CORRUPT, &err); /* another failure */
	assert_int_equal(watch.lines, 4);
	bf_runtime_free(runtime);
	end(&b);
}

int run_runtime_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_cancel_is_told_at_once_and_the_late_answer_dropped),
			cmocka_unit_test(what_is_said_again_is_counted_once),
			cmocka_unit_test(a_session_of_the_hosts_own_is_never_asked_for),
			cmocka_unit_test(the_host_hears_of_what_changes),
			cmocka_unit_test(a_conclusion_ends_the_run_and_is_told),
			cmocka_unit_test(a_stop_is_busy_until_the_functions_have_returned),
			cmocka_unit_test(a_second_stop_waits_for_what_the_first_left_open),
			cmocka_unit_test(a_failure_that_goes_on_is_told_now_and_then),
	};

	return cmocka_run_group_tests_name("runtime", tests, NULL, NULL);
}
