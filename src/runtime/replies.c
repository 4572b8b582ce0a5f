/* Reply handles: single use, from any thread, good until the attempt is over. */
#include "runtime/replies.h"

#include "base/alloc.h"
#include "runtime/message.h"

#define HASH_NONFATAL_OOM          1
#define uthash_malloc(size)        bf_alloc(size)
#define uthash_free(pointer, size) bf_free(pointer)
#include <uthash.h>

#define MESSAGE_MAX_BYTES ((size_t)300)
#define DETAIL_MAX_BYTES  ((size_t)1000)

struct belfry_reply {
	UT_hash_handle hh; /* in the book, by token */
	struct bf_token key;
	struct bf_reply_book *book;
	bool is_over;
	struct bf_message message;
	struct bf_answer answer;
	struct bf_buf text; /* what the answer's three texts point into */
};

struct bf_reply_book {
	pthread_mutex_t lock;
	pthread_cond_t empty;   /* told when the last handle comes back */
	struct bf_inbox *inbox; /* NULL: closed */
	struct belfry_reply *open;
	size_t handle_count;
	bool is_closed;
};

enum belfry_status bf_reply_book_new(struct bf_inbox *inbox, struct bf_reply_book **ret_book)
{
	struct bf_reply_book *book = bf_alloc(sizeof(*book));

	if (book == NULL) {
		return BELFRY_NOMEM;
	}
	if (bf_condition_init(&book->empty) != BELFRY_OK) {
		bf_free(book);
		return BELFRY_NOMEM;
	}
	(void)pthread_mutex_init(&book->lock, NULL); /* ours: cannot fail */
	book->inbox = inbox;
	*ret_book = book;
	return BELFRY_OK;
}

static void free_book(struct bf_reply_book *book)
{
	(void)pthread_cond_destroy(&book->empty);
	(void)pthread_mutex_destroy(&book->lock);
	bf_free(book);
}

/* Every open call is over. Under the lock. */
static void strike_out(struct bf_reply_book *book)
{
	struct belfry_reply *reply;
	struct belfry_reply *next;

	HASH_ITER(hh, book->open, reply, next)
	{
		HASH_DEL(book->open, reply);
		reply->is_over = true;
	}
}

void bf_reply_book_close(struct bf_reply_book *book)
{
	if (book == NULL) {
		return;
	}
	(void)pthread_mutex_lock(&book->lock);
	book->is_closed = true;
	book->inbox = NULL;
	strike_out(book);
	bool is_last = book->handle_count == 0;
	(void)pthread_mutex_unlock(&book->lock);
	if (is_last) {
		free_book(book);
	}
}

void bf_reply_book_end(struct bf_reply_book *book)
{
	(void)pthread_mutex_lock(&book->lock);
	strike_out(book);
	(void)pthread_mutex_unlock(&book->lock);
}

size_t bf_reply_book_wait(struct bf_reply_book *book, struct timespec until)
{
	int code = 0;

	(void)pthread_mutex_lock(&book->lock);
	while (book->handle_count > 0 && code == 0) {
		code = pthread_cond_timedwait(&book->empty, &book->lock, &until);
	}
	size_t count = book->handle_count;
	(void)pthread_mutex_unlock(&book->lock);
	return count;
}

/* The token without the padding that its struct has. */
static struct bf_token clean_token(const struct bf_token *token)
{
	struct bf_token clean;

	memset(&clean, 0, sizeof(clean));
	clean.run = token->run;
	clean.fence = token->fence;
	clean.attempt = token->attempt;
	clean.step = token->step;
	return clean;
}

struct belfry_reply *bf_reply_new(struct bf_reply_book *book, const struct bf_token *token)
{
	struct belfry_reply *reply = bf_alloc(sizeof(*reply));

	if (reply == NULL) {
		return NULL;
	}
	reply->key = clean_token(token);
	reply->book = book;
	reply->message = (struct bf_message){.kind = BF_MESSAGE_ANSWER,
			.is_embedded = true,
			.answer = &reply->answer};
	reply->answer.token = *token;
	reply->answer.owner = reply;
	(void)pthread_mutex_lock(&book->lock);
	HASH_ADD(hh, book->open, key, sizeof(reply->key), reply);
	bool is_added = reply->hh.tbl != NULL;
	book->handle_count += is_added ? 1 : 0;
	(void)pthread_mutex_unlock(&book->lock);
	if (!is_added) {
		bf_free(reply);
		return NULL;
	}
	return reply;
}

void bf_reply_cancel(struct bf_reply_book *book, const struct bf_token *token)
{
	struct bf_token key = clean_token(token);
	struct belfry_reply *reply = NULL;

	(void)pthread_mutex_lock(&book->lock);
	HASH_FIND(hh, book->open, &key, sizeof(key), reply);
	if (reply != NULL) {
		HASH_DEL(book->open, reply);
		reply->is_over = true;
	}
	(void)pthread_mutex_unlock(&book->lock);
}

static void free_reply(struct belfry_reply *reply)
{
	bf_buf_fini(&reply->text);
	bf_free(reply);
}

void bf_answer_release(struct bf_answer *answer)
{
	free_reply(answer->owner);
}

/* Cut where a UTF-8 sequence ends. */
static struct belfry_str cut(struct belfry_str text, size_t max)
{
	size_t len = BF_MIN(text.len, max);

	while (len > 0 && len < text.len && ((unsigned char)text.ptr[len] & 0xc0) == 0x80) {
		len--;
	}
	return bf_str_slice(text, 0, len);
}

/* Copies the texts; without memory the answer goes on without them. */
static void copy_texts(struct belfry_reply *reply, struct belfry_str name,
		struct belfry_str message, struct belfry_str detail)
{
	message = cut(message, MESSAGE_MAX_BYTES);
	detail = cut(detail, DETAIL_MAX_BYTES);
	bf_buf_append_str(&reply->text, name);
	bf_buf_append_str(&reply->text, message);
	bf_buf_append_str(&reply->text, detail);
	if (bf_buf_status(&reply->text) != BELFRY_OK) {
		return;
	}
	struct belfry_str all = bf_buf_str(&reply->text);
	reply->answer.name = bf_str_slice(all, 0, name.len);
	reply->answer.message = bf_str_slice(all, name.len, name.len + message.len);
	reply->answer.detail = bf_str_slice(all, name.len + message.len, all.len);
}

/* Give the handle back: to the machine, or, when the attempt is over, to the allocator. */
static enum belfry_status give_back(struct belfry_reply **reply_pointer)
{
	struct belfry_reply *reply = bf_take(reply_pointer);
	struct bf_reply_book *book = reply->book;

	(void)pthread_mutex_lock(&book->lock);
	bool is_over = reply->is_over;
	book->handle_count--;
	if (!is_over) {
		HASH_DEL(book->open, reply);
		bf_inbox_post(book->inbox, &reply->message.link);
	}
	bool is_last = book->is_closed && book->handle_count == 0;
	if (book->handle_count == 0) {
		(void)pthread_cond_broadcast(&book->empty);
	}
	(void)pthread_mutex_unlock(&book->lock);
	if (is_over) {
		free_reply(reply);
	}
	if (is_last) {
		free_book(book);
	}
	return is_over ? BELFRY_STALE : BELFRY_OK;
}

enum belfry_status belfry_reply_session(struct belfry_reply **reply, struct belfry_str session)
{
	if (reply == NULL || *reply == NULL) {
		return BELFRY_INVALID;
	}
	if (session.len == 0 || session.len > BF_NAME_MAX_BYTES || !bf_str_is_utf8(session)) {
		return belfry_reply_permanent(reply, BELFRY_RUN_ERROR_PERMANENT,
				BF_STR("the handler answered with a Session that is no id of 1 to 200 bytes"),
				BF_STR(""));
	}
	(*reply)->answer.kind = BF_ANSWER_SESSION;
	copy_texts(*reply, session, BF_STR(""), BF_STR(""));
	if ((*reply)->answer.name.len == 0) {
		(*reply)->answer.kind = BF_ANSWER_RETRY; /* no memory for the name: ask again */
	}
	return give_back(reply);
}

/* What could not be stored would be refused with every record that is written beside it. */
static bool is_outcome(const struct belfry_outcome *outcome)
{
	bool is_status = outcome->status == BELFRY_STATUS_COMPLETED ||
			outcome->status == BELFRY_STATUS_FAILED ||
			outcome->status == BELFRY_STATUS_CANCELLED;

	return is_status && (unsigned)outcome->error < BELFRY_RUN_ERROR_COUNT &&
			bf_str_is_utf8(outcome->message);
}

enum belfry_status belfry_reply_turn(struct belfry_reply **reply, struct belfry_str turn,
		const struct belfry_outcome *outcome)
{
	if (reply == NULL || *reply == NULL) {
		return BELFRY_INVALID;
	}
	if (turn.len > BF_NAME_MAX_BYTES || !bf_str_is_utf8(turn) ||
			(outcome != NULL && !is_outcome(outcome))) {
		return belfry_reply_permanent(reply, BELFRY_RUN_ERROR_PERMANENT,
				BF_STR("the handler answered with a turn that cannot be stored"),
				BF_STR(""));
	}
	struct bf_answer *answer = &(*reply)->answer;
	answer->kind = BF_ANSWER_TURN;
	if (outcome != NULL) {
		answer->has_outcome = true;
		answer->status = outcome->status;
		answer->error = outcome->error;
		answer->run_flags = outcome->run_flags & BELFRY_RUN_F_OUTPUT_TRUNCATED;
	}
	copy_texts(*reply, turn, outcome != NULL ? outcome->message : BF_STR(""), BF_STR(""));
	return give_back(reply);
}

static enum belfry_status reply_error(struct belfry_reply **reply, enum bf_answer_kind kind,
		enum belfry_run_error error, struct belfry_str message, struct belfry_str detail)
{
	(*reply)->answer.kind = kind;
	(*reply)->answer.error = (unsigned)error < BELFRY_RUN_ERROR_COUNT
			? error
			: BELFRY_RUN_ERROR_PERMANENT;
	copy_texts(*reply, BF_STR(""), bf_str_is_utf8(message) ? message : BF_STR(""),
			bf_str_is_utf8(detail) ? detail : BF_STR(""));
	return give_back(reply);
}

enum belfry_status belfry_reply_retry(struct belfry_reply **reply, belfry_duration after,
		enum belfry_run_error error, struct belfry_str message, struct belfry_str detail)
{
	if (reply == NULL || *reply == NULL) {
		return BELFRY_INVALID;
	}
	(*reply)->answer.after = BF_MAX(after, 0);
	return reply_error(reply, BF_ANSWER_RETRY, error, message, detail);
}

enum belfry_status belfry_reply_permanent(struct belfry_reply **reply, enum belfry_run_error error,
		struct belfry_str message, struct belfry_str detail)
{
	if (reply == NULL || *reply == NULL) {
		return BELFRY_INVALID;
	}
	return reply_error(reply, BF_ANSWER_PERMANENT, error, message, detail);
}
