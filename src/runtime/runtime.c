/* The runtime: makes the machines, their threads and inboxes, starts and stops them. The loops are in
 * planner_loop.c, dispatcher_loop.c and keeper_loop.c. */
#include "runtime/runtime.h"

#include "base/error.h"
#include "base/id.h"
#include "base/timefmt.h"
#include "runtime/runtime_priv.h"
#include "runtime/thread.h"

struct bf_boot_time bf_runtime_now(const struct bf_runtime *runtime)
{
	return runtime->env->boot(runtime->env->data);
}

void bf_message_free(struct bf_message *message)
{
	if (message != NULL && !message->is_embedded) {
		bf_free(message);
	}
}

void bf_message_drop(struct bf_message *message)
{
	if (message->kind == BF_MESSAGE_BORN) {
		bf_born_free(message->born);
	}
	if (message->kind == BF_MESSAGE_CANCELLED) {
		bf_free(message->cancelled.runs);
	}
	if (message->kind == BF_MESSAGE_ANSWER) {
		bf_answer_release(message->answer);
		return;
	}
	bf_message_free(message);
}

static bool is_same_id(struct belfry_id a, struct belfry_id b)
{
	return bf_id_compare(a, b) == 0;
}

/* What is told again: the waiting message takes the news over, at its own place, because what follows it
 * may build on it. Only within an incarnation, so that no news get before the loss of the last one. */
static enum bf_inbox_merge merge(struct bf_link *waiting_link, struct bf_link *news_link)
{
	struct bf_message *waiting = BF_CONTAINER(waiting_link, struct bf_message, link);
	struct bf_message *news = BF_CONTAINER(news_link, struct bf_message, link);

	if (waiting->kind != news->kind) {
		return BF_INBOX_KEEP_BOTH;
	}
	switch (news->kind) {
	case BF_MESSAGE_KICK:
	case BF_MESSAGE_BEAT_NOW: return BF_INBOX_KEEP_WAITING;
	case BF_MESSAGE_LOW: return BF_INBOX_KEEP_NEWS; /* an older mark may go untold */
	case BF_MESSAGE_COVER:
		if (!is_same_id(waiting->cover.incarnation, news->cover.incarnation)) {
			return BF_INBOX_KEEP_BOTH;
		}
		waiting->cover = news->cover;
		return BF_INBOX_KEEP_WAITING;
	case BF_MESSAGE_TICKETS:
		if (!is_same_id(waiting->tickets.incarnation, news->tickets.incarnation)) {
			return BF_INBOX_KEEP_BOTH;
		}
		news->tickets.places += waiting->tickets.places;
		news->tickets.bytes += waiting->tickets.bytes;
		waiting->tickets = news->tickets;
		return BF_INBOX_KEEP_WAITING;
	case BF_MESSAGE_CANCELLED: /* a beat names all that the last one did and still matters */
		return waiting->cancelled.is_beats && news->cancelled.is_beats ? BF_INBOX_KEEP_NEWS
									       : BF_INBOX_KEEP_BOTH;
	case BF_MESSAGE_LOST:
	case BF_MESSAGE_BORN:
	case BF_MESSAGE_REQUEST:
	case BF_MESSAGE_ANSWER:
	case BF_MESSAGE_CLOCK_BACK:
	case BF_MESSAGE_CHANGED:
	case BF_MESSAGE_STOP:
	case BF_MESSAGE_END: break;
	}
	return BF_INBOX_KEEP_BOTH;
}

bool bf_runtime_post(struct bf_runtime *runtime, int thread, const struct bf_message *message)
{
	struct bf_message *copy = bf_alloc(sizeof(*copy));

	if (copy == NULL) {
		return false;
	}
	*copy = *message;
	struct bf_link *left = bf_inbox_post_merged(&runtime->inboxes[thread], &copy->link, merge);
	if (left != NULL) {
		bf_message_drop(BF_CONTAINER(left, struct bf_message, link));
	}
	return true;
}

/* Of the same failure of the same step one line is enough for so long. */
#define REPORT_EVERY (5 * BELFRY_SECOND)

/* May it be said now? Then *ret_untold is how often it was not said since the last time. */
static bool may_report(struct bf_runtime *runtime, const char *who, enum belfry_status status,
		unsigned *ret_untold)
{
	struct bf_boot_time now = bf_runtime_now(runtime);
	struct bf_report *mine = &runtime->reports[0];

	(void)pthread_mutex_lock(&runtime->lock);
	for (size_t i = 0; i < BF_THREAD_COUNT; i++) {
		struct bf_report *report = &runtime->reports[i];
		if (report->who == NULL || strcmp(report->who, who) == 0) {
			mine = report;
			break;
		}
	}
	bool is_new = mine->who == NULL || mine->status != status || now.us >= mine->again_at.us;
	*ret_untold = is_new && mine->who != NULL && mine->status == status ? mine->untold : 0;
	mine->who = who;
	mine->status = status;
	mine->untold = is_new ? 0 : mine->untold + 1;
	mine->again_at = is_new ? bf_boot_add(now, REPORT_EVERY) : mine->again_at;
	(void)pthread_mutex_unlock(&runtime->lock);
	return is_new;
}

void bf_runtime_report(struct bf_runtime *runtime, const char *who, enum belfry_status status,
		const struct belfry_error *err)
{
	enum belfry_class class_ = belfry_status_class(status);

	if (class_ == BELFRY_CLASS_OK || class_ == BELFRY_CLASS_CONFLICT ||
			class_ == BELFRY_CLASS_GONE) {
		return;
	}
	unsigned untold;
	if (!may_report(runtime, who, status, &untold)) {
		return;
	}
	bf_log(runtime->env, BF_LOG_WARNING,
			"what=store-call-failed step=%s status=%s code=%d untold=%u detail=\"%s\"",
			who, belfry_status_name(status), err->driver_code, untold,
			err->detail[0] != '\0' ? err->detail : err->message);
}

/* ---- making ------------------------------------------------------------------------------------ */

static uint64_t random64(const struct bf_env *env)
{
	uint64_t value;

	env->random(env->data, &value, sizeof(value));
	return value;
}

static enum belfry_status new_machines(struct bf_runtime *runtime)
{
	const struct bf_runtime_config *c = &runtime->config;
	struct bf_planner_config planner = {
			.zones = c->zones,
			.tick = c->tick,
			.max_active = c->max_active,
			.seed = random64(runtime->env),
	};
	struct bf_dispatcher_config dispatcher = {
			.max_runs = c->max_concurrent,
			.max_bytes = c->max_bytes,
			.recovery_limit = c->recovery_limit,
			.tick = c->tick,
			.seed = random64(runtime->env),
	};
	struct bf_keeper_config keeper = {
			.lease = c->lease,
			.beat = c->beat,
			.identity = bf_str(runtime->identity),
			.version = bf_str(runtime->version),
			.zones = c->zones,
			.seed = {random64(runtime->env), random64(runtime->env)},
			.prune = c->prune,
	};
	enum belfry_status status = bf_planner_new(&planner, &runtime->planner);
	if (status == BELFRY_OK) {
		status = bf_dispatcher_new(&dispatcher, &runtime->dispatcher);
	}
	return status == BELFRY_OK ? bf_keeper_new(&keeper, &runtime->keeper) : status;
}

static enum belfry_status new_inboxes(struct bf_runtime *runtime)
{
	enum belfry_status status = BELFRY_OK;

	while (status == BELFRY_OK && runtime->inbox_count < BF_THREAD_COUNT) {
		status = bf_inbox_init(&runtime->inboxes[runtime->inbox_count]);
		runtime->inbox_count += status == BELFRY_OK ? 1 : 0;
	}
	if (status == BELFRY_OK) {
		status = bf_reply_book_new(&runtime->inboxes[BF_THREAD_DISPATCHER], &runtime->book);
	}
	return status;
}

static enum belfry_status start_loop(struct bf_runtime *runtime, int thread,
		void *(*main_fn)(void *))
{
	enum belfry_status status = bf_thread_start(&runtime->threads[thread], main_fn, runtime);

	runtime->has_thread[thread] = status == BELFRY_OK;
	return status;
}

static void set_defaults(struct bf_runtime_config *config)
{
	config->max_concurrent = config->max_concurrent != 0 ? config->max_concurrent : 1000;
	config->max_bytes = config->max_bytes != 0 ? config->max_bytes : UINT64_C(256) << 20;
	config->recovery_limit = config->recovery_limit != 0 ? config->recovery_limit : 10;
	config->lease = config->lease != 0 ? config->lease : 8 * BELFRY_SECOND;
	config->beat = config->beat != 0 ? config->beat : 2 * BELFRY_SECOND;
	config->tick = config->tick != 0 ? config->tick : BELFRY_SECOND;
	config->zones_check = config->zones_check != 0 ? config->zones_check : 30 * BELFRY_SECOND;
	config->timeout = config->timeout != 0 ? config->timeout : 10 * BELFRY_SECOND;
}

static enum belfry_status init_lock(struct bf_runtime *runtime)
{
	(void)pthread_mutex_init(&runtime->lock, NULL);
	(void)pthread_mutex_init(&runtime->life, NULL);
	return bf_condition_init(&runtime->changed);
}

enum belfry_status bf_runtime_new(const struct bf_runtime_config *config,
		struct bf_runtime **ret_runtime, struct belfry_error *err)
{
	struct bf_runtime *runtime = bf_alloc(sizeof(*runtime));

	if (runtime == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "runtime");
	}
	runtime->config = *config;
	set_defaults(&runtime->config);
	runtime->env = config->env != NULL ? config->env : bf_env_system();
	enum belfry_status status = init_lock(runtime);
	runtime->identity = bf_str_dup(config->identity);
	runtime->version = bf_str_dup(config->version);
	if (runtime->identity == NULL || runtime->version == NULL) {
		status = BELFRY_NOMEM;
	}
	if (status == BELFRY_OK) {
		status = new_machines(runtime);
	}
	if (status == BELFRY_OK) {
		status = new_inboxes(runtime);
	}
	if (status == BELFRY_OK) {
		status = start_loop(runtime, BF_THREAD_PLANNER, bf_runtime_planner_main);
	}
	if (status != BELFRY_OK) {
		bf_runtime_free(runtime);
		return bf_error_system(err, status, 0, "runtime: cannot make machines and threads");
	}
	*ret_runtime = runtime;
	return BELFRY_OK;
}

static void stop_loop(struct bf_runtime *runtime, int thread)
{
	if (!runtime->has_thread[thread]) {
		return;
	}
	atomic_store(&runtime->quits[thread], true);
	bf_inbox_wake(&runtime->inboxes[thread]);
	(void)pthread_join(runtime->threads[thread], NULL);
	runtime->has_thread[thread] = false;
}

static void stop_pulse(struct bf_runtime *runtime)
{
	if (runtime->has_pulse) {
		(void)pthread_mutex_lock(&runtime->lock);
		runtime->pulse_quits = true;
		(void)pthread_cond_broadcast(&runtime->changed);
		(void)pthread_mutex_unlock(&runtime->lock);
		(void)pthread_join(runtime->pulse, NULL);
		runtime->has_pulse = false;
	}
}

static void empty_inbox(struct bf_inbox *inbox)
{
	bool has_more;
	struct bf_link *link;

	while ((link = bf_inbox_take(inbox, &has_more)) != NULL) {
		bf_message_drop(BF_CONTAINER(link, struct bf_message, link));
	}
}

void bf_runtime_free(struct bf_runtime *runtime)
{
	if (runtime == NULL) {
		return;
	}
	if (runtime->is_started && !runtime->is_stopped) {
		(void)bf_runtime_stop(runtime, 0, NULL); /* handles that are open are over */
	}
	for (int thread = 0; thread < BF_THREAD_COUNT; thread++) {
		stop_loop(runtime, thread);
	}
	stop_pulse(runtime);
	bf_reply_book_close(runtime->book);
	for (size_t i = 0; i < runtime->inbox_count; i++) {
		empty_inbox(&runtime->inboxes[i]);
		bf_inbox_fini(&runtime->inboxes[i]);
	}
	bf_planner_free(runtime->planner);
	bf_dispatcher_free(runtime->dispatcher, bf_answer_release);
	bf_keeper_free(runtime->keeper);
	(void)pthread_cond_destroy(&runtime->changed);
	(void)pthread_mutex_destroy(&runtime->lock);
	(void)pthread_mutex_destroy(&runtime->life);
	bf_free(runtime->identity);
	bf_free(runtime->version);
	bf_free(runtime);
}

/* ---- start and stop ---------------------------------------------------------------------------- */

static enum belfry_status start_threads(struct bf_runtime *runtime)
{
	atomic_store(&runtime->pulse_at, bf_runtime_now(runtime).us);
	enum belfry_status status = bf_thread_start(&runtime->pulse, bf_runtime_pulse_main,
			runtime);

	runtime->has_pulse = status == BELFRY_OK;
	if (status == BELFRY_OK) {
		status = start_loop(runtime, BF_THREAD_DISPATCHER, bf_runtime_dispatcher_main);
	}
	if (status == BELFRY_OK) {
		status = start_loop(runtime, BF_THREAD_KEEPER, bf_runtime_keeper_main);
	}
	if (status != BELFRY_OK) {
		stop_loop(runtime, BF_THREAD_DISPATCHER);
		stop_pulse(runtime);
		atomic_store(&runtime->quits[BF_THREAD_DISPATCHER], false);
		runtime->pulse_quits = false;
	}
	return status;
}

static enum belfry_status start(struct bf_runtime *runtime, const struct belfry_handler *handler,
		struct belfry_error *err)
{
	if (runtime->is_stopped) {
		return bf_error_set(err, BELFRY_CANNOT,
				"a provider that was stopped is not started again");
	}
	if (runtime->is_started) {
		return BELFRY_OK;
	}
	if (handler == NULL || handler->start_session == NULL || handler->admit_turn == NULL) {
		return bf_error_set(err, BELFRY_INVALID,
				"the handler lacks start_session or admit_turn");
	}
	runtime->handler = handler;
	if (start_threads(runtime) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "runtime: cannot start its threads");
	}
	(void)pthread_mutex_lock(&runtime->lock);
	runtime->started_at = bf_runtime_now(runtime);
	runtime->is_started = true;
	(void)pthread_mutex_unlock(&runtime->lock);
	return BELFRY_OK;
}

enum belfry_status bf_runtime_start(struct bf_runtime *runtime,
		const struct belfry_handler *handler, struct belfry_error *err)
{
	(void)pthread_mutex_lock(&runtime->life);
	enum belfry_status status = start(runtime, handler, err);
	(void)pthread_mutex_unlock(&runtime->life);
	return status;
}

/* Until *flag is set, at most until then. */
static bool wait_for(struct bf_runtime *runtime, const bool *flag, struct timespec until)
{
	int code = 0;

	(void)pthread_mutex_lock(&runtime->lock);
	while (!*flag && code == 0) {
		code = pthread_cond_timedwait(&runtime->changed, &runtime->lock, &until);
	}
	bool is_set = *flag;
	(void)pthread_mutex_unlock(&runtime->lock);
	return is_set;
}

/* After the drain the rest is handed back, which takes a commit or two: so long it may take. */
#define HAND_BACK_TIME (2 * BELFRY_SECOND)
#define DRAIN_MAX      BELFRY_DAY

/* The planner first: what it bears in its last commit, the dispatcher still has to hand back. */
static bool drain_machines(struct bf_runtime *runtime, belfry_duration drain)
{
	struct timespec until = bf_monotonic_in(drain + HAND_BACK_TIME);
	struct bf_message stop = {.kind = BF_MESSAGE_STOP,
			.until = bf_boot_add(bf_runtime_now(runtime), drain)};

	bf_runtime_post(runtime, BF_THREAD_PLANNER, &stop);
	bf_runtime_post(runtime, BF_THREAD_DISPATCHER, &stop);
	bool is_told = wait_for(runtime, &runtime->is_planner_stopped, until);
	(void)pthread_mutex_lock(&runtime->lock);
	runtime->is_dispatcher_idle = false; /* it may have said so before the last news came */
	(void)pthread_mutex_unlock(&runtime->lock);
	bf_inbox_wake(&runtime->inboxes[BF_THREAD_DISPATCHER]);
	bool is_idle = wait_for(runtime, &runtime->is_dispatcher_idle, until);
	stop_loop(runtime, BF_THREAD_DISPATCHER);
	return is_told && is_idle;
}

/* The machines and their threads end; what the handler still holds is over. */
static void stop(struct bf_runtime *runtime, belfry_duration drain)
{
	struct bf_message end = {.kind = BF_MESSAGE_END};

	(void)pthread_mutex_lock(&runtime->lock);
	runtime->is_stopped = true;
	(void)pthread_mutex_unlock(&runtime->lock);
	bool is_idle = drain_machines(runtime, drain);
	bf_reply_book_end(runtime->book);
	bf_runtime_post(runtime, BF_THREAD_KEEPER, &end);
	bool is_ended = wait_for(runtime, &runtime->is_keeper_ended,
			bf_monotonic_in(HAND_BACK_TIME));
	stop_loop(runtime, BF_THREAD_KEEPER);
	stop_pulse(runtime);
	if (!is_idle || !is_ended) {
		bf_log(runtime->env, BF_LOG_WARNING,
				"what=stop-incomplete idle=%d ended=%d remedy=\"the "
				"next start resumes what is open\"",
				is_idle, is_ended);
	}
}

enum belfry_status bf_runtime_stop(struct bf_runtime *runtime, belfry_duration drain,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	drain = BF_MIN(BF_MAX(drain, 0), DRAIN_MAX);
	(void)pthread_mutex_lock(&runtime->life);
	struct timespec until = bf_monotonic_in(drain);
	if (runtime->is_started && !runtime->is_stopped) {
		stop(runtime, drain);
	}
	size_t open = bf_reply_book_wait(runtime->book, until);
	if (open > 0) {
		status = bf_error_set(err, BELFRY_BUSY,
				"%zu calls of the handler are still open: give them back and stop "
				"again",
				open);
	}
	(void)pthread_mutex_unlock(&runtime->life);
	return status;
}

/* ---- requests ---------------------------------------------------------------------------------- */

void bf_runtime_apply(struct bf_runtime *runtime, struct bf_plan_request *requests, size_t count)
{
	struct bf_boot_time deadline = bf_boot_add(bf_runtime_now(runtime),
			runtime->config.timeout);

	for (size_t i = 0; i < count; i++) {
		struct bf_message *message = bf_alloc(sizeof(*message));
		requests[i].deadline = deadline;
		requests[i].tries = 0;
		requests[i].known_revision = 0;
		if (message == NULL) {
			requests[i].status = BELFRY_NOMEM;
			continue;
		}
		requests[i].is_open = true;
		*message = (struct bf_message){.kind = BF_MESSAGE_REQUEST, .request = &requests[i]};
		bf_inbox_post(&runtime->inboxes[BF_THREAD_PLANNER], &message->link);
	}
	(void)pthread_mutex_lock(&runtime->lock);
	for (size_t i = 0; i < count; i++) {
		while (requests[i].is_open) {
			(void)pthread_cond_wait(&runtime->changed, &runtime->lock);
		}
	}
	(void)pthread_mutex_unlock(&runtime->lock);
}

void bf_runtime_kick(struct bf_runtime *runtime)
{
	struct bf_message message = {.kind = BF_MESSAGE_KICK};

	bf_runtime_post(runtime, BF_THREAD_DISPATCHER, &message);
}

/* ---- metrics ----------------------------------------------------------------------------------- */

void bf_runtime_metrics(struct bf_runtime *runtime, struct belfry_provider_metrics *ret_metrics)
{
	struct belfry_provider_metrics m = {.size = sizeof(m)};

	(void)pthread_mutex_lock(&runtime->lock);
	struct bf_boot_time now = bf_runtime_now(runtime); /* not before a turn that is noted */
	m.due_times[BELFRY_DUE_RUN] = runtime->planner_counts.due_runs;
	m.due_times[BELFRY_DUE_MISSED] = runtime->planner_counts.due_missed;
	m.due_times[BELFRY_DUE_DISABLED] = runtime->planner_counts.due_disabled;
	memcpy(m.runs, runtime->dispatcher_counts.ended, sizeof(m.runs));
	for (int trigger = 0; trigger < BELFRY_TRIGGER_COUNT; trigger++) {
		for (int status = 0; status < BELFRY_RUN_STATUS_COUNT; status++) {
			m.runs[trigger][status] += runtime->host_ended[trigger][status];
		}
	}
	m.runs[BELFRY_TRIGGER_SCHEDULE][BELFRY_STATUS_CANCELLED] += runtime->planner_counts.ended;
	memcpy(m.lateness, runtime->dispatcher_counts.lateness, sizeof(m.lateness));
	m.lateness_sum_us = runtime->dispatcher_counts.lateness_sum_us;
	m.lateness_count = runtime->dispatcher_counts.lateness_count;
	m.takeovers = runtime->dispatcher_counts.takeovers;
	m.is_started = runtime->is_started && !runtime->is_stopped &&
			runtime->keeper_counts.store_now != 0;
	m.lease = runtime->config.lease;
	for (int thread = 0; thread < BF_THREAD_COUNT; thread++) {
		struct bf_boot_time turned_at = runtime->turned_at[thread];
		bool is_new = turned_at.us < runtime->started_at.us;
		m.step_age[thread] = bf_boot_since(now, is_new ? runtime->started_at : turned_at);
	}
	if (runtime->keeper_counts.store_now != 0) {
		belfry_time expected = bf_time_add(runtime->keeper_counts.store_now,
				bf_boot_since(now, runtime->keeper_counts.last_beat));
		m.clock_offset = expected - runtime->env->wall(runtime->env->data);
	}
	m.is_store_up = m.step_age[BF_THREAD_KEEPER] <= 3 * runtime->config.lease;
	(void)pthread_mutex_unlock(&runtime->lock);
	*ret_metrics = m;
}
