/* The pull interface: calls wait in a queue until the program takes them, and a descriptor tells while some
 * do.
 *
 * Bound      calls that wait: `max_waiting`; past it they are answered with a retry. Of the cancels that
 *            wait there is no more than one for each call that was taken.
 * Invariant  under the lock, the descriptor (an eventfd) holds 1 exactly while the queue is not empty. */
#include <belfry/pull.h>

#include <errno.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/list.h"
#include "runtime/call_copy.h"

#define WAITING_DEFAULT 1000
#define RETRY_AFTER     BELFRY_SECOND /* where no place is left; it costs no attempt */

struct item {
	struct belfry_pull_item item; /* first: what the program holds */
	struct bf_link link;
	struct bf_call_copy call;
};

struct belfry_pull {
	struct belfry_handler handler;
	uint32_t max_waiting;
	int fd;

	pthread_mutex_t lock; /* over what is below, and the descriptor's value */
	struct bf_list waiting;
	size_t calls; /* of those, the ones that are no cancel */
	bool is_closed;
	uint32_t users; /* the program, and each scheduler that it is given to: the last one frees */
};

/* ---- the queue --------------------------------------------------------------------------------- */

static void write_fd(const struct belfry_pull *pull)
{
	const uint64_t one = 1;

	while (write(pull->fd, &one, sizeof(one)) < 0 && errno == EINTR) {
	}
}

static void empty_fd(const struct belfry_pull *pull)
{
	uint64_t value;

	while (read(pull->fd, &value, sizeof(value)) < 0 && errno == EINTR) {
	}
}

/* Both with the lock held. */
static void append(struct belfry_pull *pull, struct item *item)
{
	bf_list_append(&pull->waiting, &item->link);
	pull->calls += item->item.reply != NULL ? 1 : 0;
	if (pull->waiting.count == 1) {
		write_fd(pull);
	}
}

static void take_out(struct belfry_pull *pull, struct item *item)
{
	bf_list_remove(&item->link);
	pull->calls -= item->item.reply != NULL ? 1 : 0;
	if (pull->waiting.count == 0) {
		empty_fd(pull);
	}
}

/* ---- items ------------------------------------------------------------------------------------- */

static struct item *item_of(struct belfry_pull_item *item)
{
	return (struct item *)(void *)item;
}

static struct item *new_item(enum belfry_pull_kind kind, const struct belfry_invocation *invocation,
		struct belfry_str session)
{
	struct item *item = bf_alloc(sizeof(*item));

	if (item == NULL || bf_call_copy_init(&item->call, invocation, session) != BELFRY_OK) {
		bf_free(item);
		return NULL;
	}
	item->item = (struct belfry_pull_item){
			.size = sizeof(item->item),
			.kind = kind,
			.invocation = &item->call.invocation,
			.session = item->call.session,
	};
	return item;
}

void belfry_pull_item_free(struct belfry_pull_item *pulled)
{
	if (pulled == NULL) {
		return;
	}
	struct item *item = item_of(pulled);
	if (pulled->reply != NULL) {
		(void)belfry_reply_retry(&pulled->reply, 0, BELFRY_RUN_ERROR_TARGET_ANSWERED,
				BF_STR("the call was given back without an answer"), BF_STR(""));
	}
	bf_call_copy_fini(&item->call);
	bf_free(item);
}

/* ---- the handler ------------------------------------------------------------------------------- */

static void refuse(struct belfry_reply *reply, struct belfry_str why)
{
	(void)belfry_reply_retry(&reply, RETRY_AFTER, BELFRY_RUN_ERROR_TARGET_UNREACHABLE, why,
			BF_STR(""));
}

static void enqueue(struct belfry_pull *pull, enum belfry_pull_kind kind,
		const struct belfry_invocation *invocation, struct belfry_str session,
		struct belfry_reply *reply)
{
	struct item *item = new_item(kind, invocation, session);

	if (item == NULL) {
		refuse(reply, BF_STR("no memory was left for the call"));
		return;
	}
	item->item.reply = reply;
	(void)pthread_mutex_lock(&pull->lock);
	bool is_closed = pull->is_closed;
	bool has_room = !is_closed && pull->calls < pull->max_waiting;
	if (has_room) {
		append(pull, item);
	}
	(void)pthread_mutex_unlock(&pull->lock);
	if (!has_room) {
		refuse(BF_TAKE(item->item.reply),
				is_closed ? BF_STR("the queue that was to take the call is freed")
					  : BF_STR("too many calls wait to be taken"));
		belfry_pull_item_free(&item->item);
	}
}

static void start_session(void *data, const struct belfry_invocation *invocation,
		struct belfry_reply *reply)
{
	enqueue(data, BELFRY_PULL_START_SESSION, invocation, BF_STR(""), reply);
}

static void admit_turn(void *data, const struct belfry_invocation *invocation,
		struct belfry_str session, struct belfry_reply *reply)
{
	enqueue(data, BELFRY_PULL_ADMIT_TURN, invocation, session, reply);
}

/* With the lock held. */
static struct item *find_call(const struct belfry_pull *pull, struct belfry_id run,
		belfry_fence fence)
{
	for (struct bf_link *link = pull->waiting.first; link != NULL; link = link->next) {
		struct item *item = BF_CONTAINER(link, struct item, link);
		if (item->item.reply != NULL && bf_call_copy_is(&item->call, run, fence)) {
			return item;
		}
	}
	return NULL;
}

/* A call that nobody has taken leaves the queue; of any other the program is told. */
static void cancel(void *data, struct belfry_id run, belfry_fence fence)
{
	struct belfry_pull *pull = data;
	struct belfry_invocation invocation = {.size = sizeof(invocation),
			.run = run,
			.fence = fence};
	/* Without memory it is not told; its answer is dropped all the same. */
	struct item *news = new_item(BELFRY_PULL_CANCEL, &invocation, BF_STR(""));

	(void)pthread_mutex_lock(&pull->lock);
	struct item *untaken = find_call(pull, run, fence);
	if (untaken != NULL) {
		take_out(pull, untaken);
	} else if (news != NULL && !pull->is_closed) {
		append(pull, news);
		news = NULL;
	}
	(void)pthread_mutex_unlock(&pull->lock);
	if (untaken != NULL) {
		belfry_pull_item_free(&untaken->item);
	}
	if (news != NULL) {
		belfry_pull_item_free(&news->item);
	}
}

/* ---- life -------------------------------------------------------------------------------------- */

static void hold(void *data)
{
	struct belfry_pull *pull = data;

	(void)pthread_mutex_lock(&pull->lock);
	pull->users++;
	(void)pthread_mutex_unlock(&pull->lock);
}

static void release(void *data)
{
	struct belfry_pull *pull = data;

	(void)pthread_mutex_lock(&pull->lock);
	bool is_last = --pull->users == 0;
	(void)pthread_mutex_unlock(&pull->lock);
	if (is_last) {
		(void)close(pull->fd);
		(void)pthread_mutex_destroy(&pull->lock);
		bf_free(pull);
	}
}

enum belfry_status belfry_pull_new(const struct belfry_pull_options *options,
		struct belfry_pull **ret_pull, struct belfry_error *err)
{
	bool is_short = options != NULL && options->size < sizeof(*options);

	if (ret_pull == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "pull: a place for the answer is missing");
	}
	if (is_short) {
		return bf_error_set(err, BELFRY_INVALID,
				"pull: the options have no size: begin with "
				"BELFRY_PULL_OPTIONS_INIT");
	}
	struct belfry_pull *pull = bf_alloc(sizeof(*pull));
	if (pull == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "pull");
	}
	pull->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (pull->fd < 0) {
		int code = errno;
		bf_free(pull);
		return bf_error_system(err, BELFRY_UNAVAILABLE, code,
				"pull: no descriptor is free");
	}
	(void)pthread_mutex_init(&pull->lock, NULL);
	pull->users = 1;
	pull->max_waiting = options != NULL && options->max_waiting != 0 ? options->max_waiting
									 : WAITING_DEFAULT;
	pull->handler = (struct belfry_handler){
			.size = sizeof(pull->handler),
			.data = pull,
			.start_session = start_session,
			.admit_turn = admit_turn,
			.cancel = cancel,
			.hold = hold,
			.release = release,
	};
	*ret_pull = pull;
	return BELFRY_OK;
}

void belfry_pull_free(struct belfry_pull *pull)
{
	struct belfry_pull_item *item;

	if (pull == NULL) {
		return;
	}
	(void)pthread_mutex_lock(&pull->lock);
	pull->is_closed = true;
	(void)pthread_mutex_unlock(&pull->lock);
	while (belfry_pull_next(pull, &item) == BELFRY_OK) {
		belfry_pull_item_free(item);
	}
	release(pull);
}

const struct belfry_handler *belfry_pull_handler(struct belfry_pull *pull)
{
	return pull != NULL ? &pull->handler : NULL;
}

int belfry_pull_fd(const struct belfry_pull *pull)
{
	return pull != NULL ? pull->fd : -1;
}

enum belfry_status belfry_pull_next(struct belfry_pull *pull, struct belfry_pull_item **ret_item)
{
	struct item *item = NULL;

	if (pull == NULL || ret_item == NULL) {
		return BELFRY_INVALID;
	}
	(void)pthread_mutex_lock(&pull->lock);
	if (pull->waiting.first != NULL) {
		item = BF_CONTAINER(pull->waiting.first, struct item, link);
		take_out(pull, item);
	}
	(void)pthread_mutex_unlock(&pull->lock);
	if (item == NULL) {
		return BELFRY_NOT_FOUND;
	}
	*ret_item = &item->item;
	return BELFRY_OK;
}
