/* The blocking pool: a fixed number of threads over a queue of calls.
 *
 * Bound      a call waits here only while it is open for the provider, so the queue is no longer than its
 *            places (max_concurrent), and no larger than its bytes.
 * Protocol   waiting -> running -> answered. A call that is over for the provider leaves the queue at once;
 *            one that runs is marked, and its thread counts as lost until the function returns. The
 *            reply is given back exactly once, by whoever takes the call out of its list. */
#include <unistd.h>

#include "base/alloc.h"
#include "base/env.h"
#include "base/error.h"
#include "runtime/pool_priv.h"
#include "runtime/thread.h"

#define THREADS_LEAST 4
#define THREADS_MOST  4096

struct belfry_pool {
	struct belfry_pool_options options;
	struct belfry_handler handler;
	pthread_t *threads;
	uint32_t thread_count;

	pthread_mutex_t lock; /* over everything below */
	pthread_cond_t changed;
	struct bf_list waiting;
	struct bf_list running;
	uint32_t lost;
	bool is_closing;
	uint32_t users; /* the program, and each scheduler that it is given to: the last one frees */
};

/* ---- threads ----------------------------------------------------------------------------------- */

/* The next call, now running; NULL: the pool closes. */
static struct belfry_work *take(struct belfry_pool *pool)
{
	struct belfry_work *work = NULL;

	(void)pthread_mutex_lock(&pool->lock);
	while (pool->waiting.first == NULL && !pool->is_closing) {
		(void)pthread_cond_wait(&pool->changed, &pool->lock);
	}
	if (pool->waiting.first != NULL) {
		work = BF_CONTAINER(pool->waiting.first, struct belfry_work, link);
		bf_list_move(&pool->running, &work->link);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return work;
}

static void finish(struct belfry_pool *pool, struct belfry_work *work, enum belfry_status result)
{
	(void)pthread_mutex_lock(&pool->lock);
	bf_list_remove(&work->link);
	pool->lost -= atomic_load(&work->is_over) ? 1 : 0;
	(void)pthread_mutex_unlock(&pool->lock);
	bf_work_answer(work, result);
	bf_work_free(work);
}

static void *thread_main(void *data)
{
	struct belfry_pool *pool = data;
	struct belfry_work *work;

	while ((work = take(pool)) != NULL) {
		belfry_work_fn function = work->step == BELFRY_STEP_SESSION
				? pool->options.start_session
				: pool->options.run;
		finish(pool, work, function(pool->options.data, &work->call.invocation, work));
	}
	return NULL;
}

/* ---- the handler ------------------------------------------------------------------------------- */

static void enqueue(struct belfry_pool *pool, enum belfry_step step,
		const struct belfry_invocation *invocation, struct belfry_str session,
		struct belfry_reply *reply)
{
	struct belfry_work *work = bf_work_new(step, invocation, session, reply);

	if (work == NULL) {
		(void)belfry_reply_retry(&reply, BELFRY_SECOND, BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("no memory was left for the call"), BF_STR(""));
		return;
	}
	(void)pthread_mutex_lock(&pool->lock);
	bool is_closing = pool->is_closing;
	if (!is_closing) {
		bf_list_append(&pool->waiting, &work->link);
		(void)pthread_cond_signal(&pool->changed);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	if (is_closing) {
		/* Freed before the scheduler was stopped. A wait that is asked for costs no attempt. */
		(void)belfry_reply_retry(&work->reply, BELFRY_SECOND,
				BELFRY_RUN_ERROR_TARGET_UNREACHABLE,
				BF_STR("the pool that was to take the call is freed"), BF_STR(""));
		bf_work_free(work);
	}
}

static void start_session(void *data, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	struct belfry_pool *pool = data;
	char id[BELFRY_ID_TEXT_BYTES];

	if (pool->options.start_session == NULL) {
		belfry_id_format(invocation->run, id);
		(void)belfry_reply_session(&reply, bf_str(id));
		return;
	}
	enqueue(pool, BELFRY_STEP_SESSION, invocation, BF_STR(""), reply);
}

static void admit_turn(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	enqueue(data, BELFRY_STEP_TURN, invocation, session, reply);
}

/* The call of this attempt in a list; NULL: none, or none any more. */
static struct belfry_work *find(const struct bf_list *list, struct belfry_id run,
		belfry_fence fence)
{
	for (struct bf_link *link = list->first; link != NULL; link = link->next) {
		struct belfry_work *work = BF_CONTAINER(link, struct belfry_work, link);
		if (bf_call_copy_is(&work->call, run, fence) && !atomic_load(&work->is_over)) {
			return work;
		}
	}
	return NULL;
}

static void mark_over(struct belfry_pool *pool, struct belfry_work *work)
{
	if (!atomic_exchange(&work->is_over, true)) {
		pool->lost++;
	}
}

static void cancel(void *data, struct belfry_id run, belfry_fence fence)
{
	struct belfry_pool *pool = data;

	(void)pthread_mutex_lock(&pool->lock);
	struct belfry_work *waiting = find(&pool->waiting, run, fence);
	struct belfry_work *running = find(&pool->running, run, fence);
	if (waiting != NULL) {
		bf_list_remove(&waiting->link);
	}
	if (running != NULL) {
		mark_over(pool, running);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	bf_work_free(waiting);
}

/* ---- life -------------------------------------------------------------------------------------- */

static void hold(void *data)
{
	struct belfry_pool *pool = data;

	(void)pthread_mutex_lock(&pool->lock);
	pool->users++;
	(void)pthread_mutex_unlock(&pool->lock);
}

static void release(void *data)
{
	struct belfry_pool *pool = data;

	(void)pthread_mutex_lock(&pool->lock);
	bool is_last = --pool->users == 0;
	(void)pthread_mutex_unlock(&pool->lock);
	if (is_last) {
		(void)pthread_cond_destroy(&pool->changed);
		(void)pthread_mutex_destroy(&pool->lock);
		bf_free(pool->threads);
		bf_free(pool);
	}
}

static enum belfry_status check(const struct belfry_pool_options *options, struct belfry_error *err)
{
	if (options == NULL || options->size < sizeof(*options)) {
		return bf_error_set(err, BELFRY_INVALID,
				"pool: there are no options, or their size is not set: begin with "
				"BELFRY_POOL_OPTIONS_INIT");
	}
	if (options->run == NULL) {
		return bf_error_set(err, BELFRY_INVALID,
				"pool: `run`, the function that does the work, is missing: set it");
	}
	if (options->threads > THREADS_MOST) {
		return bf_error_set(err, BELFRY_INVALID,
				"pool: threads: %u is above %d: name fewer, or 0 for as many as "
				"processors",
				options->threads, THREADS_MOST);
	}
	return BELFRY_OK;
}

static uint32_t count_threads(const struct belfry_pool_options *options)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);

	return options->threads != 0
			? options->threads
			: (uint32_t)BF_MIN(BF_MAX(processors, THREADS_LEAST), THREADS_MOST);
}

/* Fewer than were asked for do as well; none does not. */
static enum belfry_status start_threads(struct belfry_pool *pool, struct belfry_error *err)
{
	uint32_t wanted = count_threads(&pool->options);

	pool->threads = bf_alloc_array(wanted, sizeof(*pool->threads));
	if (pool->threads == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "pool");
	}
	while (pool->thread_count < wanted &&
			bf_thread_start(&pool->threads[pool->thread_count], thread_main, pool) ==
					BELFRY_OK) {
		pool->thread_count++;
	}
	return pool->thread_count > 0 ? BELFRY_OK
				      : bf_error_system(err, BELFRY_UNAVAILABLE, 0,
							"pool: the system starts no thread");
}

enum belfry_status belfry_pool_new(const struct belfry_pool_options *options,
		struct belfry_pool **ret_pool, struct belfry_error *err)
{
	if (ret_pool == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "pool: a place for the answer is missing");
	}
	enum belfry_status status = check(options, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct belfry_pool *pool = bf_alloc(sizeof(*pool));
	if (pool == NULL || bf_condition_init(&pool->changed) != BELFRY_OK) {
		bf_free(pool);
		return bf_error_system(err, BELFRY_NOMEM, 0, "pool");
	}
	(void)pthread_mutex_init(&pool->lock, NULL);
	pool->users = 1;
	pool->options = *options;
	pool->handler = (struct belfry_handler){
			.size = sizeof(pool->handler),
			.data = pool,
			.start_session = start_session,
			.admit_turn = admit_turn,
			.cancel = cancel,
			.hold = hold,
			.release = release,
	};
	status = start_threads(pool, err);
	if (status != BELFRY_OK) {
		belfry_pool_free(pool);
		return status;
	}
	*ret_pool = pool;
	return BELFRY_OK;
}

static struct belfry_work *take_waiting(struct belfry_pool *pool)
{
	struct belfry_work *work = NULL;

	(void)pthread_mutex_lock(&pool->lock);
	if (pool->waiting.first != NULL) {
		work = BF_CONTAINER(pool->waiting.first, struct belfry_work, link);
		bf_list_remove(&work->link);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return work;
}

/* What waits is given back, what runs is told. */
static void empty(struct belfry_pool *pool)
{
	struct belfry_work *work;

	while ((work = take_waiting(pool)) != NULL) {
		bf_work_free(work);
	}
	(void)pthread_mutex_lock(&pool->lock);
	for (struct bf_link *link = pool->running.first; link != NULL; link = link->next) {
		mark_over(pool, BF_CONTAINER(link, struct belfry_work, link));
	}
	pool->is_closing = true;
	(void)pthread_cond_broadcast(&pool->changed);
	(void)pthread_mutex_unlock(&pool->lock);
}

void belfry_pool_free(struct belfry_pool *pool)
{
	if (pool == NULL) {
		return;
	}
	empty(pool);
	for (uint32_t i = 0; i < pool->thread_count; i++) {
		(void)pthread_join(pool->threads[i], NULL);
	}
	release(pool);
}

const struct belfry_handler *belfry_pool_handler(struct belfry_pool *pool)
{
	return pool != NULL ? &pool->handler : NULL;
}

void belfry_pool_get_state(struct belfry_pool *pool, struct belfry_pool_state *ret_state)
{
	if (ret_state == NULL) {
		return;
	}
	if (pool == NULL) {
		*ret_state = (struct belfry_pool_state)BELFRY_POOL_STATE_INIT;
		return;
	}
	(void)pthread_mutex_lock(&pool->lock);
	*ret_state = (struct belfry_pool_state){
			.size = sizeof(*ret_state),
			.threads = pool->thread_count,
			.busy = (uint32_t)pool->running.count,
			.lost = pool->lost,
			.waiting = pool->waiting.count,
	};
	(void)pthread_mutex_unlock(&pool->lock);
}
