/* Runs that the host has cancelled: their calls are told, and they leave the memory at once. The store
 * refuses what we would still record of them, so nothing here has to be exact; it saves work. */
#include "engine/dispatcher_priv.h"
#include "model/run.h"

/* The handler works on it, or may: a call is open, or what it answered is not stored. */
static bool is_with_handler(const struct bf_dispatcher *dispatcher, const struct bf_held *held)
{
	bool is_answered = held->link.list == &dispatcher->answered ||
			held->link.list == &dispatcher->recording;

	return held->link.list == &dispatcher->calling ||
			(is_answered && bf_dispatch_is_success(&held->record));
}

void bf_dispatch_forget(struct bf_dispatcher *dispatcher, struct bf_held *held)
{
	if (is_with_handler(dispatcher, held)) {
		bf_dispatch_cancel(dispatcher, held);
	}
	bf_dispatch_drop(dispatcher, held);
}

/* Told again, by each beat of a minute, and each time in the same order: *place is where the last one was
 * found. */
static bool was_told(const struct bf_dispatcher *dispatcher, struct belfry_id run, size_t *place)
{
	for (size_t i = 0; i < dispatcher->told_count; i++) {
		size_t at = (*place + i) % dispatcher->told_count;
		if (bf_id_compare(dispatcher->told[at], run) == 0) {
			*place = at + 1;
			return true;
		}
	}
	return false;
}

/* Without memory the next beat is taken for news. */
static void remember(struct bf_dispatcher *dispatcher, const struct bf_cancelled *news)
{
	dispatcher->told_count = 0;
	if (BF_GROW(dispatcher->told, dispatcher->told_capacity, news->run_count) == BELFRY_OK) {
		memcpy(dispatcher->told, news->runs, news->run_count * sizeof(*news->runs));
		dispatcher->told_count = news->run_count;
	}
}

void bf_dispatch_cancelled(struct bf_dispatcher *dispatcher, const struct bf_cancelled *news,
		struct bf_boot_time now)
{
	belfry_time seen = BF_MAX(news->at, bf_dispatch_store_now(dispatcher, now));
	size_t place = 0;

	for (size_t i = 0; i < news->run_count; i++) {
		struct bf_held *held = bf_dispatch_find(dispatcher, news->runs[i]);
		if (held != NULL) {
			bf_dispatch_forget(dispatcher, held);
		} else if (dispatcher->has_cover && !was_told(dispatcher, news->runs[i], &place)) {
			/* It may be on its way to us: born in a commit whose answer is late. What was
			 * born until now is asked of the store before it is held. */
			dispatcher->owned_seen = BF_MAX(dispatcher->owned_seen, (belfry_fence)seen);
		}
	}
	if (news->is_beats) {
		remember(dispatcher, news);
	}
}
