/* Reconcile: the host's ordered list against the store's, page by page, by revision. Nothing is loaded
 * that did not change; what is in the store and not in the list goes.
 *
 * First everything is compared, and noted by id; then it is carried out. So a list whose ids do not rise,
 * or that breaks off, has changed nothing; and what goes makes room before what comes asks for it.
 *
 * The list may be older than the store: what was put while it was read looks like something that was
 * deleted. So before one goes, its record is asked for, and it goes only where there is none (T079). The
 * tombstone is one above the revision that was seen here, which is below any put that comes later.
 *
 * A schedule that cannot be read, or that the engine refuses, is told to the host, and the rest goes on;
 * a failure of the store or the engine ends it. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "provider/embedded_priv.h"

/* Large, so that a million compared every few minutes are few calls; about a megabyte of memory. */
#define PAGE_ROWS 5000u
#define BATCH_MAX ((size_t)256)

/* One that is to be put or to go; its id is in the text of its list. */
struct change {
	size_t at;
	size_t len;
	int64_t revision; /* the list's; of one that is to go, the store's */
};

struct changes {
	struct change *items;
	size_t count;
	size_t capacity;
	struct bf_buf ids;
};

struct reconcile {
	struct bf_embedded *embedded;
	struct belfry_schedule_iterator *source;
	struct bf_buf next; /* the id of the list's next one */
	struct bf_buf last; /* and of the one before it */
	int64_t next_revision;
	bool has_next;
	struct changes puts;
	struct changes removals;
	struct bf_put *batch; /* under way; removals have their id alone as text */
	size_t batch_count;
	enum belfry_status refused; /* the first refusal, where nobody hears of them */
	struct belfry_error refusal;
};

static enum belfry_status no_memory(struct belfry_error *err)
{
	return bf_error_system(err, BELFRY_NOMEM, 0, "reconcile");
}

/* ---- what is refused --------------------------------------------------------------------------- */

static bool is_of_one(enum belfry_status status)
{
	enum belfry_class class_ = belfry_status_class(status);

	return class_ != BELFRY_CLASS_OK && class_ != BELFRY_CLASS_RETRY &&
			class_ != BELFRY_CLASS_SYSTEM;
}

/* BELFRY_OK where this one alone is concerned: the others go on. */
static enum belfry_status refuse(struct reconcile *r, struct belfry_str id, int64_t revision,
		enum belfry_status status, struct belfry_error *why, struct belfry_error *err)
{
	if (!is_of_one(status)) {
		bf_error_prefix(why, "schedule %.*s: ", BF_STR_ARGS(id));
		if (err != NULL) {
			*err = *why;
		}
		return status;
	}
	why->status = status;
	if (r->source->refused != NULL) {
		r->source->refused(r->source->data, id, revision, why);
	} else if (r->refused == BELFRY_OK) {
		bf_error_prefix(why, "schedule %.*s: ", BF_STR_ARGS(id));
		r->refused = status;
		r->refusal = *why;
	}
	return BELFRY_OK;
}

/* ---- the list ---------------------------------------------------------------------------------- */

static enum belfry_status pull(struct reconcile *r, struct belfry_error *err)
{
	struct bf_buf spare = r->last;
	struct belfry_str id = {0};
	enum belfry_status status = r->source->next(r->source->data, &id, &r->next_revision, err);

	r->has_next = status == BELFRY_OK;
	if (status != BELFRY_OK) {
		return status == BELFRY_NEVER ? BELFRY_OK : status;
	}
	r->last = r->next;
	r->next = spare;
	bf_buf_clear(&r->next);
	bf_buf_append_str(&r->next, id);
	if (bf_buf_status(&r->next) != BELFRY_OK) {
		return no_memory(err);
	}
	if (bf_str_compare(bf_buf_str(&r->next), bf_buf_str(&r->last)) <= 0) {
		return bf_error_set(err, BELFRY_INVALID,
				"the list of schedules is not ordered: \"%.*s\" may not follow "
				"\"%.*s\"",
				BF_STR_ARGS(bf_str_slice(id, 0, BELFRY_SCHEDULE_ID_BYTES)),
				BF_STR_ARGS(bf_str_slice(bf_buf_str(&r->last), 0,
						BELFRY_SCHEDULE_ID_BYTES)));
	}
	return BELFRY_OK;
}

static enum belfry_status note(struct changes *changes, struct belfry_str id, int64_t revision,
		struct belfry_error *err)
{
	if (BF_GROW(changes->items, changes->capacity, changes->count + 1) != BELFRY_OK) {
		return no_memory(err);
	}
	changes->items[changes->count++] = (struct change){changes->ids.len, id.len, revision};
	bf_buf_append_str(&changes->ids, id);
	return bf_buf_status(&changes->ids) == BELFRY_OK ? BELFRY_OK : no_memory(err);
}

static struct belfry_str id_of(const struct changes *changes, const struct change *change)
{
	return bf_str_slice(bf_buf_str(&changes->ids), change->at, change->at + change->len);
}

static void changes_fini(struct changes *changes)
{
	bf_free(changes->items);
	bf_buf_fini(&changes->ids);
}

static enum belfry_status note_next(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = note(&r->puts, bf_buf_str(&r->next), r->next_revision, err);

	return status == BELFRY_OK ? pull(r, err) : status;
}

/* ---- comparing --------------------------------------------------------------------------------- */

static enum belfry_status compare_row(struct reconcile *r, const struct belfry_schedule_row *row,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	/* Everything of the list that comes before the row is new. */
	while (status == BELFRY_OK && r->has_next &&
			bf_str_compare(bf_buf_str(&r->next), row->id) < 0) {
		status = note_next(r, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	if (!r->has_next || !bf_str_equal(bf_buf_str(&r->next), row->id)) {
		return row->is_removed ? BELFRY_OK
				       : note(&r->removals, row->id, row->revision, err);
	}
	return r->next_revision > row->revision ? note_next(r, err) : pull(r, err);
}

static enum belfry_status read_page(struct reconcile *r, struct belfry_str after,
		struct belfry_list *list, struct belfry_arena *arena, struct belfry_error *err)
{
	*list = (struct belfry_list){
			.size = sizeof(*list),
			.kind = BELFRY_LIST_REVISIONS,
			.after_text = after,
			.limit = PAGE_ROWS,
	};
	return bf_store_list(r->embedded->store, list, arena, err);
}

/* With each row of the store, page by page. */
static enum belfry_status compare_rows(struct reconcile *r, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf after = {0};
	struct belfry_list list = {.has_more = true};
	enum belfry_status status = BELFRY_OK;

	while (status == BELFRY_OK && list.has_more) {
		belfry_arena_reset(&arena);
		status = read_page(r, bf_buf_str(&after), &list, &arena, err);
		for (size_t i = 0; status == BELFRY_OK && i < list.count; i++) {
			status = compare_row(r, &list.rows[i], err);
		}
		if (status == BELFRY_OK && list.count > 0) {
			bf_buf_clear(&after);
			bf_buf_append_str(&after, list.rows[list.count - 1].id);
			status = bf_buf_status(&after);
		}
	}
	return status;
}

static enum belfry_status compare(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = pull(r, err);

	if (status == BELFRY_OK) {
		status = compare_rows(r, err);
	}
	while (status == BELFRY_OK && r->has_next) {
		status = note_next(r, err);
	}
	return status;
}

/* ---- carrying out ------------------------------------------------------------------------------ */

static enum belfry_status judge_answer(struct reconcile *r, const struct bf_plan_request *request,
		struct belfry_error *err)
{
	struct belfry_error why = {0};

	if (request->status == BELFRY_OK) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_embedded_explain(request->status, &why);
	return refuse(r, request->schedule, request->revision, status, &why, err);
}

static enum belfry_status flush(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	/* One after another where there is one, all in one commit where there are many. */
	struct bf_plan_request *requests = bf_alloc_array(BF_MAX(r->batch_count, 1),
			sizeof(*requests));
	if (requests == NULL) {
		return no_memory(err);
	}
	for (size_t i = 0; i < r->batch_count; i++) {
		requests[i] = r->batch[i].request;
	}
	bf_runtime_apply(r->embedded->runtime, requests, r->batch_count);
	for (size_t i = 0; i < r->batch_count; i++) {
		if (status == BELFRY_OK) {
			status = judge_answer(r, &requests[i], err);
		}
		bf_put_fini(&r->batch[i]);
	}
	bf_free(requests);
	r->batch_count = 0;
	return status;
}

static enum belfry_status flush_full(struct reconcile *r, struct belfry_error *err)
{
	return r->batch_count == BATCH_MAX ? flush(r, err) : BELFRY_OK;
}

static enum belfry_status remove_one(struct reconcile *r, struct belfry_str id, int64_t revision,
		struct belfry_error *err)
{
	struct bf_put *put = &r->batch[r->batch_count];

	*put = (struct bf_put){0};
	bf_buf_append_str(&put->text, id);
	if (bf_buf_status(&put->text) != BELFRY_OK) {
		bf_put_fini(put);
		return no_memory(err);
	}
	put->request = (struct bf_plan_request){
			.schedule = bf_buf_str(&put->text),
			.revision = revision + 1,
			.is_remove = true,
	};
	r->batch_count++;
	return flush_full(r, err);
}

/* What is there after all was put while the list was read, or comes to be put. */
static enum belfry_status remove_gone(struct reconcile *r, const struct change *change,
		struct belfry_error *err)
{
	struct belfry_error why = {0};
	struct belfry_schedule schedule;
	struct belfry_str id = id_of(&r->removals, change);
	enum belfry_status status = r->source->load(r->source->data, id, &schedule, &why);

	if (status == BELFRY_NOT_FOUND) {
		return remove_one(r, id, change->revision, err);
	}
	if (status != BELFRY_OK) {
		return refuse(r, id, 0, status, &why, err);
	}
	return schedule.revision > change->revision ? note(&r->puts, id, schedule.revision, err)
						    : BELFRY_OK;
}

static enum belfry_status put_one(struct reconcile *r, const struct change *change,
		struct belfry_error *err)
{
	struct belfry_error why = {0};
	struct belfry_schedule schedule;
	struct belfry_str id = id_of(&r->puts, change);
	enum belfry_status status = r->source->load(r->source->data, id, &schedule, &why);

	if (status == BELFRY_NOT_FOUND) {
		return BELFRY_OK; /* it was deleted meanwhile */
	}
	if (status == BELFRY_OK) {
		status = bf_put_init(&r->batch[r->batch_count], r->embedded, &schedule, &why);
	}
	if (status != BELFRY_OK) {
		return refuse(r, id, change->revision, status, &why, err);
	}
	r->batch_count++;
	return flush_full(r, err);
}

static enum belfry_status carry_out(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0; status == BELFRY_OK && i < r->removals.count; i++) {
		status = remove_gone(r, &r->removals.items[i], err);
	}
	if (status == BELFRY_OK) {
		status = flush(r, err);
	}
	for (size_t i = 0; status == BELFRY_OK && i < r->puts.count; i++) {
		status = put_one(r, &r->puts.items[i], err);
	}
	return status == BELFRY_OK ? flush(r, err) : status;
}

static void reconcile_fini(struct reconcile *r)
{
	for (size_t i = 0; i < r->batch_count; i++) {
		bf_put_fini(&r->batch[i]);
	}
	bf_free(r->batch);
	bf_buf_fini(&r->next);
	bf_buf_fini(&r->last);
	changes_fini(&r->puts);
	changes_fini(&r->removals);
}

enum belfry_status bf_embedded_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err)
{
	BF_CLEANUP(reconcile_fini)
	struct reconcile r = {
			.embedded = (struct bf_embedded *)provider,
			.source = schedules,
	};

	r.batch = bf_alloc_array(BATCH_MAX, sizeof(*r.batch));
	if (r.batch == NULL) {
		return no_memory(err);
	}
	enum belfry_status status = compare(&r, err);
	if (status == BELFRY_OK) {
		status = carry_out(&r, err);
	}
	if (status == BELFRY_OK && r.refused != BELFRY_OK) {
		status = r.refused;
		if (err != NULL) {
			*err = r.refusal;
		}
	}
	return status;
}
