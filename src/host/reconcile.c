/* The reconciliation's stream. Documents are listed by name and the provider wants ids in order,
 * so the ids are gathered first (16 bytes each) and sorted, and each record is read when its turn
 * comes.
 *
 * Changes wait meanwhile: a deployment that was made after its id could have been gathered would
 * be in the provider and not in the list, and be taken for one that is to go. A record that
 * another process takes away meanwhile is passed over. */
#include "host/reconcile.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "host/backend.h"
#include "host/host_priv.h"
#include "model/run.h"

#define PAGE_ROWS 200

struct walk {
	struct bf_host *host;
	struct belfry_id *ids;
	size_t count;
	size_t capacity;
	size_t at;
	struct bf_deployment current; /* what the last schedule borrows from */
	struct bf_buf payload;
};

static void walk_fini(struct walk *walk)
{
	bf_deployment_fini(&walk->current);
	bf_buf_fini(&walk->payload);
	bf_free(walk->ids);
}

static enum belfry_status append_id(struct walk *walk, struct belfry_str text,
		struct belfry_error *err)
{
	if (walk->count == walk->capacity) {
		size_t capacity = walk->capacity > 0 ? walk->capacity * 2 : PAGE_ROWS;
		struct belfry_id *ids = bf_realloc_array(walk->ids, capacity, sizeof(*ids));
		if (ids == NULL) {
			return bf_error_set(err, BELFRY_NOMEM, "out of memory");
		}
		walk->ids = ids;
		walk->capacity = capacity;
	}
	if (belfry_id_parse(text, &walk->ids[walk->count]) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"the record of a deployment has the id \"%.*s\", which is none",
				BF_STR_ARGS(text));
	}
	walk->count++;
	return BELFRY_OK;
}

static enum belfry_status append_page(struct walk *walk, struct belfry_document_query *query,
		struct belfry_arena *arena, struct belfry_error *err)
{
	enum belfry_status status = bf_backend_list_documents(walk->host->options.store, query,
			arena, err);

	for (size_t i = 0; i < query->count && status == BELFRY_OK; i++) {
		status = append_id(walk, query->documents[i].id, err);
	}
	return status;
}

static enum belfry_status gather_ids(struct walk *walk, struct belfry_error *err)
{
	/* Two arenas by turns: a page's position lies in the one before it. */
	struct belfry_arena arenas[2] = {BELFRY_ARENA_INIT, BELFRY_ARENA_INIT};
	struct belfry_document_query query = {
			.kind = BF_STR(BF_RECORD_KIND),
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.limit = PAGE_ROWS,
	};
	enum belfry_status status = BELFRY_OK;

	for (size_t page = 0; status == BELFRY_OK; page++) {
		belfry_arena_reset(&arenas[page % 2]);
		status = append_page(walk, &query, &arenas[page % 2], err);
		if (status != BELFRY_OK || !query.has_more || query.count == 0) {
			break;
		}
		const struct belfry_document *last = &query.documents[query.count - 1];
		query.after_owner = last->owner;
		query.after_name = last->name;
		query.after_id = last->id;
	}
	belfry_arena_fini(&arenas[0]);
	belfry_arena_fini(&arenas[1]);
	return status;
}

static int compare_ids(const void *a, const void *b)
{
	const struct belfry_id *left = a;
	const struct belfry_id *right = b;

	return bf_id_compare(*left, *right);
}

static enum belfry_status next_schedule(void *data, struct belfry_schedule *ret_schedule,
		struct belfry_error *err)
{
	struct walk *walk = data;

	while (walk->at < walk->count) {
		char id[BELFRY_ID_TEXT_BYTES];
		belfry_id_format(walk->ids[walk->at++], id);
		bf_deployment_fini(&walk->current);
		enum belfry_status status = bf_record_load(walk->host, bf_str(id), &walk->current,
				err);
		if (status == BELFRY_NOT_FOUND) {
			continue;
		}
		if (status != BELFRY_OK) {
			return status;
		}
		return bf_deployment_fill_schedule(&walk->current, &walk->payload, ret_schedule,
				err);
	}
	return BELFRY_NEVER;
}

static enum belfry_status hand_over(struct bf_host *host, struct belfry_error *err)
{
	BF_CLEANUP(walk_fini) struct walk walk = {.host = host};
	struct belfry_schedule_iterator iterator = {.data = &walk, .next = next_schedule};

	enum belfry_status status = gather_ids(&walk, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (walk.count > 0) {
		qsort(walk.ids, walk.count, sizeof(walk.ids[0]), compare_ids);
	}
	return bf_backend_reconcile(host->options.provider, &iterator, err);
}

enum belfry_status bf_reconcile(struct bf_host *host, struct belfry_error *err)
{
	bf_host_lock_all(host);
	enum belfry_status status = hand_over(host, err);
	bf_host_unlock_all(host);
	return status;
}
