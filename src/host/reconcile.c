/* The reconciliation's list. Documents are listed by name and the provider wants ids in order, so
 * ids and revisions are gathered first (24 bytes each) and sorted; a record is read only when the
 * provider asks for it, that is where something changed.
 *
 * Changes go on meanwhile, and no lock is held. What the list lacks, since it is younger or was renamed
 * while the names were listed, the provider asks for before it removes it; and an id is never given out
 * twice. What it is handed and what a change applies are ordered by revision.
 *
 * A record that cannot be read, or that the provider refuses, is logged, and kept for last_error
 * (refusals.h); the others go on.
 *
 * Records that are marked as ones that go are left out, and their removal is finished once the
 * list was carried out. */
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

struct entry {
	struct belfry_id id;
	int64_t revision;
};

struct entries {
	struct entry *items;
	size_t count;
	size_t capacity;
};

struct walk {
	struct bf_host *host;
	struct entries present;
	struct entries going;
	bool is_gathered;
	size_t at; /* in present */
	char id[BELFRY_ID_TEXT_BYTES];
	struct bf_deployment current; /* what the last schedule borrows from */
	struct bf_buf payload;
};

static void walk_fini(struct walk *walk)
{
	bf_deployment_fini(&walk->current);
	bf_buf_fini(&walk->payload);
	bf_free(walk->present.items);
	bf_free(walk->going.items);
}

/* --- the list --- */

/* An id that is none is of no deployment: nothing shows it, and no engine has it. */
static enum belfry_status append_entry(struct walk *walk, const struct belfry_document *document,
		struct belfry_error *err)
{
	bool is_going = (document->flags & BF_RECORD_F_GOING) != 0;
	struct entries *entries = is_going ? &walk->going : &walk->present;

	if (BF_GROW(entries->items, entries->capacity, entries->count + 1) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	struct entry *entry = &entries->items[entries->count];
	if (belfry_id_parse(document->id, &entry->id) != BELFRY_OK) {
		bf_log(walk->host->options.env, BF_LOG_ERROR,
				"event=record_unreadable detail=\"the record of a deployment has the id "
				"\'%.*s\', which is none\"",
				BF_STR_ARGS(document->id));
		return BELFRY_OK;
	}
	entry->revision = document->etag;
	entries->count++;
	return BELFRY_OK;
}

static enum belfry_status append_page(struct walk *walk, struct belfry_document_query *query,
		struct belfry_arena *arena, struct belfry_error *err)
{
	enum belfry_status status = bf_backend_list_documents(walk->host->options.store, query,
			arena, err);

	for (size_t i = 0; i < query->count && status == BELFRY_OK; i++) {
		status = append_entry(walk, &query->documents[i], err);
	}
	return status;
}

static enum belfry_status list_records(struct walk *walk, struct belfry_error *err)
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

static int compare_entries(const void *a, const void *b)
{
	const struct entry *left = a;
	const struct entry *right = b;

	return bf_id_compare(left->id, right->id);
}

static enum belfry_status gather(struct walk *walk, struct belfry_error *err)
{
	struct entries *present = &walk->present;
	size_t kept = 0;
	enum belfry_status status = list_records(walk, err);

	if (status != BELFRY_OK || present->count == 0) {
		return status;
	}
	qsort(present->items, present->count, sizeof(present->items[0]), compare_entries);
	/* One that was renamed while the names were listed may have been met twice. */
	for (size_t i = 1; i < present->count; i++) {
		if (compare_entries(&present->items[kept], &present->items[i]) != 0) {
			kept++;
		}
		present->items[kept] = present->items[i];
	}
	present->count = kept + 1;
	return BELFRY_OK;
}

static enum belfry_status next_entry(void *data, struct belfry_str *ret_id, int64_t *ret_revision,
		struct belfry_error *err)
{
	struct walk *walk = data;

	if (!walk->is_gathered) {
		enum belfry_status status = gather(walk, err);
		if (status != BELFRY_OK) {
			return status;
		}
		walk->is_gathered = true;
	}
	if (walk->at == walk->present.count) {
		return BELFRY_NEVER;
	}
	const struct entry *entry = &walk->present.items[walk->at++];
	belfry_id_format(entry->id, walk->id);
	*ret_id = bf_str(walk->id);
	*ret_revision = entry->revision;
	return BELFRY_OK;
}

static enum belfry_status load_schedule(void *data, struct belfry_str id,
		struct belfry_schedule *ret_schedule, struct belfry_error *err)
{
	struct walk *walk = data;

	bf_deployment_fini(&walk->current);
	enum belfry_status status = bf_record_load(walk->host, id, &walk->current, err);
	if (status != BELFRY_OK) {
		return status;
	}
	return bf_deployment_fill_schedule(&walk->current, &walk->payload, ret_schedule, err);
}

static void note_refusal(void *data, struct belfry_str id, int64_t revision,
		const struct belfry_error *why)
{
	struct walk *walk = data;

	if (bf_refusals_note(&walk->host->refusals, id, revision, why->message)) {
		bf_log(walk->host->options.env, BF_LOG_ERROR,
				"event=deployment_refused deployment=%.*s revision=%lld status=%s "
				"detail=\"%s\" next=\"the next reconcile tries again\"",
				BF_STR_ARGS(id), (long long)revision,
				belfry_status_name(why->status),
				why->detail[0] != '\0' ? why->detail : why->message);
	}
}

/* --- what is left of removals --- */

/* What fails is left for the next time: nobody sees these records, and the stream was without
 * them. */
static void finish_removals(const struct walk *walk)
{
	for (size_t i = 0; i < walk->going.count; i++) {
		struct belfry_error failure = {0};
		BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
		char id[BELFRY_ID_TEXT_BYTES];
		int64_t revision = 0;
		bool is_going = false;
		belfry_id_format(walk->going.items[i].id, id);
		bf_host_lock(walk->host, bf_str(id), &lock);
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

enum belfry_status bf_reconcile(struct bf_host *host, struct belfry_error *err)
{
	BF_CLEANUP(walk_fini) struct walk walk = {.host = host};
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = &host->reconcile_lock;
	struct belfry_schedule_iterator iterator = {
			.data = &walk,
			.next = next_entry,
			.load = load_schedule,
			.refused = note_refusal,
	};

	(void)pthread_mutex_lock(lock); /* not held by this thread: cannot fail */
	enum belfry_status status = belfry_scheduler_reconcile(host->options.scheduler, &iterator,
			err);
	bf_refusals_end(&host->refusals, status == BELFRY_OK);
	if (status == BELFRY_OK && walk.is_gathered) {
		finish_removals(&walk);
	}
	return status;
}
