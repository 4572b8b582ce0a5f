/* What is told beside the machines' own messages: Runs that the host has ended, and to the host that
 * something of a schedule has changed. */
#include "base/timefmt.h"
#include "runtime/runtime_priv.h"

/* ---- to the host ------------------------------------------------------------------------------- */

void bf_changes_tell(struct bf_changes *changes, struct belfry_str schedule)
{
	const struct bf_runtime_config *config = &changes->runtime->config;
	bool is_same = schedule.len == changes->last.len &&
			memcmp(schedule.ptr, changes->last.ptr, schedule.len) == 0;

	if (schedule.len > 0 && !is_same) {
		config->changed(config->changed_data, schedule);
		changes->last = schedule;
	}
}

void bf_runtime_changed(struct bf_runtime *runtime, struct belfry_str schedule)
{
	struct bf_message *message = runtime->config.changed != NULL ? bf_alloc(sizeof(*message))
								     : NULL;

	if (message != NULL) { /* without memory: only a hint is lost */
		*message = (struct bf_message){.kind = BF_MESSAGE_CHANGED};
		message->schedule_len = (unsigned char)BF_MIN(schedule.len,
				sizeof(message->schedule));
		memcpy(message->schedule, schedule.ptr, message->schedule_len);
		bf_inbox_post(&runtime->inboxes[BF_THREAD_PLANNER], &message->link);
	}
}

/* ---- to the dispatcher ------------------------------------------------------------------------- */

void bf_runtime_post_cancelled(struct bf_runtime *runtime, const struct bf_cancelled *news)
{
	struct bf_message message = {.kind = BF_MESSAGE_CANCELLED, .cancelled = *news};
	struct belfry_id *runs = bf_alloc_array(news->run_count, sizeof(*runs));

	if (runs == NULL) {
		return; /* each beat says it again */
	}
	memcpy(runs, news->runs, news->run_count * sizeof(*runs));
	message.cancelled.runs = runs;
	if (!bf_runtime_post(runtime, BF_THREAD_DISPATCHER, &message)) {
		bf_free(runs);
	}
}

static bool is_dispatching(struct bf_runtime *runtime)
{
	(void)pthread_mutex_lock(&runtime->lock);
	bool is_it = runtime->is_started && !runtime->is_stopped;
	(void)pthread_mutex_unlock(&runtime->lock);
	return is_it;
}

static void count_end(struct bf_runtime *runtime, const struct belfry_run *run)
{
	(void)pthread_mutex_lock(&runtime->lock);
	runtime->host_ended[run->trigger][run->status]++;
	(void)pthread_mutex_unlock(&runtime->lock);
}

void bf_runtime_ended(struct bf_runtime *runtime, const struct belfry_record *record)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {
			.size = sizeof(list),
			.kind = BELFRY_LIST_RUN_IDS,
			.run_ids = &record->run,
			.run_id_count = 1,
			.limit = 1,
	};
	enum belfry_status status = bf_store_list(runtime->config.store, &list, &arena, NULL);

	if (record->kind == BELFRY_RECORD_CANCELLED_BY_HOST && is_dispatching(runtime)) {
		struct belfry_id run = record->run;
		struct bf_cancelled news = {.runs = &run, .run_count = 1, .at = list.now};
		bf_runtime_post_cancelled(runtime, &news);
	}
	if (status == BELFRY_OK && list.count == 1 && !record->is_again) {
		count_end(runtime, &list.runs[0]);
		bf_runtime_changed(runtime, list.runs[0].schedule);
	}
}
