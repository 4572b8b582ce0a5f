/* The reconciliation's stream. Documents are listed by name and the provider wants ids in order,
 * so the ids are gathered first (16 bytes each) and sorted, and each record is read when its turn
 * comes.
 *
 * Changes wait meanwhile: a deployment that was made after its id could have been gathered would
 * be in the provider and not in the list, and be taken for one that is to go. A record that
 * another process takes away meanwhile is passed over.
 *
 * Records that are marked as ones that go are left out, and their removal is finished once the
 * stream was carried out. */
#include "host/reconcile.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "host/backend.h"
#include "host/deployments_priv.h"
#include "host/host_priv.h"
#include "model/run.h"

#define PAGE_ROWS 200

struct ids {
	struct belfry_id *ids;
	size_t count;
	size_t capacity;
};

struct walk {
	struct bf_host *host;
	struct ids present;
	struct ids going;
	size_t at;                    /* in present */
	struct bf_deployment current; /* what the last schedule borrows from */
	struct bf_buf payload;
};

static void walk_fini(struct walk *walk)
{
	bf_deployment_fini(&walk->current);
	bf_buf_fini(&walk->payload);
	bf_free(walk->present.ids);
	bf_free(walk->going.ids);
}

static enum belfry_status append_id(struct ids *ids, struct belfry_str text,
		struct belfry_error *err)
{
	if (BF_GROW(ids->ids, ids->capacity, ids->count + 1) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	if (belfry_id_parse(text, &ids->ids[ids->count]) != BELFRY_OK) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"the record of a deployment has the id \"%.*s\", which is none",
				BF_STR_ARGS(text));
	}
	ids->count++;
	return BELFRY_OK;
}

static enum belfry_status append_page(struct walk *walk, struct belfry_document_query *query,
		struct belfry_arena *arena, struct belfry_error *err)
{
	enum belfry_status status = bf_backend_list_documents(walk->host->options.store, query,
			arena, err);

	for (size_t i = 0; i < query->count && status == BELFRY_OK; i++) {
		const struct belfry_document *document = &query->documents[i];
		bool is_going = (document->flags & BF_RECORD_F_GOING) != 0;
		status = append_id(is_going ? &walk->going : &walk->present, document->id, err);
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

	while (walk->at < walk->present.count) {
		char id[BELFRY_ID_TEXT_BYTES];
		belfry_id_format(walk->present.ids[walk->at++], id);
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

/* What fails is left for the next time: nobody sees these records, and the stream was without
 * them. */
static void finish_removals(const struct walk *walk)
{
	for (size_t i = 0; i < walk->going.count; i++) {
		struct belfry_error failure = {0};
		char id[BELFRY_ID_TEXT_BYTES];
		int64_t revision = 0;
		bool is_going = false;
		belfry_id_format(walk->going.ids[i], id);
		enum belfry_status status = bf_record_get_stage(walk->host, bf_str(id), &revision,
				&is_going, &failure);
		if (status == BELFRY_OK && is_going) {
			status = bf_removal_finish(walk->host, bf_str(id), revision, &failure);
		}
		if (status != BELFRY_OK && status != BELFRY_NOT_FOUND) {
			bf_log(walk->host->options.env, BF_LOG_WARNING,
					"event=removal_unfinished deployment=%s detail=\"%s\" "
					"next=\"the next reconcile tries again\"",
					id,
					failure.detail[0] != '\0' ? failure.detail
								  : failure.message);
		}
	}
}

static enum belfry_status hand_over(struct bf_host *host, struct belfry_error *err)
{
	BF_CLEANUP(walk_fini) struct walk walk = {.host = host};
	struct belfry_schedule_iterator iterator = {.data = &walk, .next = next_schedule};

	enum belfry_status status = gather_ids(&walk, err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (walk.present.count > 0) {
		qsort(walk.present.ids, walk.present.count, sizeof(walk.present.ids[0]),
				compare_ids);
	}
	status = bf_backend_reconcile(host->options.provider, &iterator, err);
	if (status == BELFRY_OK) {
		finish_removals(&walk);
	}
	return status;
}

enum belfry_status bf_reconcile(struct bf_host *host, struct belfry_error *err)
{
	bf_host_lock_all(host);
	enum belfry_status status = hand_over(host, err);
	bf_host_unlock_all(host);
	return status;
}
