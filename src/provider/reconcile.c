/* Reconcile: the host's ordered list against the store's, page by page, by revision. Nothing is decoded
 * that did not change; what is in the store and not in the list goes.
 *
 * What the store holds is noted BEFORE the first element of the list is asked for. What was there had been
 * applied by then, and its record was written before that: so if the list, read later, does not have it,
 * it was deleted. What is put while the list is read was not there, or had another revision: it survives,
 * wherever the list had got to (T079). */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "base/hash.h"
#include "provider/embedded_priv.h"

#define PAGE_ROWS 1000u
#define BATCH_MAX ((size_t)256)

struct reconcile {
	struct bf_embedded *embedded;
	struct belfry_schedule_iterator *source;
	struct belfry_schedule next; /* the list's next one, borrowed from the source */
	bool has_next;
	struct bf_put *puts; /* the batch under way; removals have no text of their own */
	size_t put_count;
	uint64_t *noted; /* one number for each (id, revision) of the store, ordered */
	size_t noted_count;
	size_t noted_capacity;
};

static enum belfry_status pull(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = r->source->next(r->source->data, &r->next, err);

	r->has_next = status == BELFRY_OK;
	return status == BELFRY_NEVER ? BELFRY_OK : status;
}

static enum belfry_status flush(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	/* One after another where there is one, all in one commit where there are many. */
	struct bf_plan_request *requests = bf_alloc_array(BF_MAX(r->put_count, 1),
			sizeof(*requests));
	if (requests == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "reconcile");
	}
	for (size_t i = 0; i < r->put_count; i++) {
		requests[i] = r->puts[i].request;
	}
	bf_runtime_apply(r->embedded->runtime, requests, r->put_count);
	for (size_t i = 0; i < r->put_count; i++) {
		if (requests[i].status != BELFRY_OK && status == BELFRY_OK) {
			status = bf_embedded_explain(requests[i].status, err);
			bf_error_prefix(err,
					"deployment %.*s: ", BF_STR_ARGS(requests[i].schedule));
		}
		bf_put_fini(&r->puts[i]);
	}
	bf_free(requests);
	r->put_count = 0;
	return status;
}

static enum belfry_status put_next(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = bf_put_init(&r->puts[r->put_count], r->embedded, &r->next, err);

	if (status != BELFRY_OK) {
		bf_error_prefix(err, "deployment %.*s: ", BF_STR_ARGS(r->next.id));
		return status;
	}
	r->put_count++;
	return r->put_count == BATCH_MAX ? flush(r, err) : BELFRY_OK;
}

static enum belfry_status remove_row(struct reconcile *r, const struct belfry_schedule_row *row,
		struct belfry_error *err)
{
	struct bf_put *put = &r->puts[r->put_count];

	*put = (struct bf_put){0};
	bf_buf_append_str(&put->text, row->id);
	if (bf_buf_status(&put->text) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "reconcile");
	}
	put->request = (struct bf_plan_request){
			.schedule = bf_buf_str(&put->text),
			.revision = row->revision + 1,
			.is_remove = true,
	};
	r->put_count++;
	return r->put_count == BATCH_MAX ? flush(r, err) : BELFRY_OK;
}

static uint64_t note_of(const struct belfry_schedule_row *row)
{
	return bf_hash64((uint64_t)row->revision, row->id.ptr, row->id.len);
}

static int compare_notes(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a;
	uint64_t y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Two rows with one number, which is as good as impossible, would only put a removal off. */
static bool is_noted(const struct reconcile *r, const struct belfry_schedule_row *row)
{
	uint64_t note = note_of(row);

	return r->noted_count > 0 &&
			bsearch(&note, r->noted, r->noted_count, sizeof(note), compare_notes) !=
			NULL;
}

/* Everything of the list that comes before `row` is new. */
static enum belfry_status put_before(struct reconcile *r, const struct belfry_schedule_row *row,
		struct belfry_error *err)
{
	enum belfry_status status = BELFRY_OK;

	while (status == BELFRY_OK && r->has_next && bf_str_compare(r->next.id, row->id) < 0) {
		status = put_next(r, err);
		if (status == BELFRY_OK) {
			status = pull(r, err);
		}
	}
	return status;
}

static enum belfry_status compare_row(struct reconcile *r, const struct belfry_schedule_row *row,
		struct belfry_error *err)
{
	enum belfry_status status = put_before(r, row, err);

	if (status != BELFRY_OK) {
		return status;
	}
	if (!r->has_next || !bf_str_equal(r->next.id, row->id)) {
		bool is_orphan = !row->is_removed && is_noted(r, row);
		return is_orphan ? remove_row(r, row, err) : BELFRY_OK;
	}
	if (r->next.revision > row->revision) {
		status = put_next(r, err);
	}
	return status == BELFRY_OK ? pull(r, err) : status;
}

static enum belfry_status read_page(struct reconcile *r, struct belfry_str after,
		struct belfry_list *list, struct belfry_arena *arena, struct belfry_error *err)
{
	*list = (struct belfry_list){
			.size = sizeof(*list),
			.kind = BELFRY_LIST_SCHEDULES,
			.after_text = after,
			.limit = PAGE_ROWS,
	};
	return bf_store_list(r->embedded->store, list, arena, err);
}

static enum belfry_status note_row(struct reconcile *r, const struct belfry_schedule_row *row,
		struct belfry_error *err)
{
	if (BF_GROW(r->noted, r->noted_capacity, r->noted_count + 1) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "reconcile");
	}
	r->noted[r->noted_count++] = note_of(row);
	return BELFRY_OK;
}

/* Each row of the store, page by page. */
static enum belfry_status for_each_row(struct reconcile *r,
		enum belfry_status (*visit)(struct reconcile *, const struct belfry_schedule_row *,
				struct belfry_error *),
		struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf after = {0};
	struct belfry_list list = {.has_more = true};
	enum belfry_status status = BELFRY_OK;

	while (status == BELFRY_OK && list.has_more) {
		belfry_arena_reset(&arena);
		status = read_page(r, bf_buf_str(&after), &list, &arena, err);
		for (size_t i = 0; status == BELFRY_OK && i < list.count; i++) {
			status = visit(r, &list.rows[i], err);
		}
		if (status == BELFRY_OK && list.count > 0) {
			bf_buf_clear(&after);
			bf_buf_append_str(&after, list.rows[list.count - 1].id);
			status = bf_buf_status(&after);
		}
	}
	return status;
}

static enum belfry_status run(struct reconcile *r, struct belfry_error *err)
{
	enum belfry_status status = for_each_row(r, note_row, err);

	if (status == BELFRY_OK && r->noted_count > 0) {
		qsort(r->noted, r->noted_count, sizeof(*r->noted), compare_notes);
	}
	if (status == BELFRY_OK) {
		status = pull(r, err);
	}
	if (status == BELFRY_OK) {
		status = for_each_row(r, compare_row, err);
	}
	while (status == BELFRY_OK && r->has_next) {
		status = put_next(r, err);
		if (status == BELFRY_OK) {
			status = pull(r, err);
		}
	}
	return status == BELFRY_OK ? flush(r, err) : status;
}

enum belfry_status bf_embedded_reconcile(struct belfry_provider *provider,
		struct belfry_schedule_iterator *schedules, struct belfry_error *err)
{
	struct reconcile r = {.embedded = (struct bf_embedded *)provider, .source = schedules};

	r.puts = bf_alloc_array(BATCH_MAX, sizeof(*r.puts));
	if (r.puts == NULL) {
		return bf_error_system(err, BELFRY_NOMEM, 0, "reconcile");
	}
	enum belfry_status status = run(&r, err);
	for (size_t i = 0; i < r.put_count; i++) {
		bf_put_fini(&r.puts[i]);
	}
	bf_free(r.puts);
	bf_free(r.noted);
	return status;
}
