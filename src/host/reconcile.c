/* The reconciliation's list: ids and revisions of the records, page by page in the order of ids, and
 * nothing of their content; a record is read only when the provider asks for it, that is where
 * something changed. So a million cost no memory and little time.
 *
 * Changes go on meanwhile, and no lock is held. What the list lacks, since it is younger than its page,
 * the provider asks for before it removes it; and an id is never given out twice. What it is handed and
 * what a change applies are ordered by revision.
 *
 * A record that cannot be read, or that the provider refuses, is logged, and kept for last_error
 * (refusals.h); the others go on.
 *
 * Changes of shared calendars that were left in between are finished first: what the records of their users
 * say then is handed over here. A start finishes some, and leaves the others for the time when it serves;
 * what cannot be finished is logged, and stops nothing.
 *
 * Records that are marked as ones that go are left out, and their removal is finished once the
 * list was carried out. */
#include "host/reconcile.h"

#include "base/alloc.h"
#include "base/error.h"
#include "base/grow.h"
#include "host/backend.h"
#include "host/calendars_priv.h"
#include "host/deployments_priv.h"
#include "host/host_priv.h"
#include "model/run.h"

/* Large, so that a million compared every few minutes are few calls; about a megabyte of memory. */
#define PAGE_ROWS 5000

/* Records whose calendars changed, that are looked at before a host serves. */
#define AT_START 1000

/* The ids of records that are marked as ones that go: few. */
struct goings {
	struct belfry_id *items;
	size_t count;
	size_t capacity;
};

struct walk {
	struct bf_host *host;
	struct belfry_arena arenas[2]; /* by turns: a page's position lies in the one before it */
	unsigned turn;
	struct belfry_document_query page;
	size_t at; /* in the page */
	struct goings going;
	bool is_at_end;
	struct bf_deployment current; /* what the last schedule borrows from */
	struct bf_buf payload;
};

static void walk_init(struct walk *walk, struct bf_host *host)
{
	*walk = (struct walk){
			.host = host,
			.arenas = {BELFRY_ARENA_INIT, BELFRY_ARENA_INIT},
			.page = {.kind = BF_STR(BF_RECORD_KIND),
					.limit = PAGE_ROWS,
					.is_brief = true,
					.has_more = true},
	};
}

static void walk_fini(struct walk *walk)
{
	bf_deployment_fini(&walk->current);
	bf_buf_fini(&walk->payload);
	bf_free(walk->going.items);
	belfry_arena_fini(&walk->arenas[0]);
	belfry_arena_fini(&walk->arenas[1]);
}

/* --- the list --- */

static enum belfry_status read_page(struct walk *walk, struct belfry_error *err)
{
	struct belfry_arena *arena = &walk->arenas[walk->turn++ % 2];

	if (walk->page.count > 0) {
		walk->page.after_id = walk->page.documents[walk->page.count - 1].id;
	}
	walk->at = 0;
	belfry_arena_reset(arena);
	enum belfry_status status = bf_backend_list_documents(walk->host->options.store,
			&walk->page, arena, err);
	/* A store that had no more and said otherwise would be asked for ever. */
	walk->page.has_more = walk->page.has_more && walk->page.count > 0;
	return status;
}

static enum belfry_status note_going(struct walk *walk, struct belfry_id id,
		struct belfry_error *err)
{
	struct goings *going = &walk->going;

	if (BF_GROW(going->items, going->capacity, going->count + 1) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	going->items[going->count++] = id;
	return BELFRY_OK;
}

/* An id that is none is of no deployment: nothing shows it, and no engine has it. */
static bool is_listed(struct walk *walk, const struct belfry_document *document,
		struct belfry_id *ret_id)
{
	if (belfry_id_parse(document->id, ret_id) == BELFRY_OK) {
		return true;
	}
	bf_log(walk->host->options.env, BF_LOG_ERROR,
			"event=record_unreadable detail=\"the record of a deployment has the id "
			"'%.*s', which is none\"",
			BF_STR_ARGS(document->id));
	return false;
}

/* The next document, from the next page where this one is used up. BELFRY_NEVER: there is none. */
static enum belfry_status next_document(struct walk *walk,
		const struct belfry_document **ret_document, struct belfry_error *err)
{
	while (walk->at == walk->page.count) {
		walk->is_at_end = !walk->page.has_more;
		enum belfry_status status = walk->is_at_end ? BELFRY_NEVER : read_page(walk, err);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	*ret_document = &walk->page.documents[walk->at++];
	return BELFRY_OK;
}

static enum belfry_status next_entry(void *data, struct belfry_str *ret_id, int64_t *ret_revision,
		struct belfry_error *err)
{
	struct walk *walk = data;
	const struct belfry_document *document;
	enum belfry_status status = next_document(walk, &document, err);

	while (status == BELFRY_OK) {
		struct belfry_id id;
		bool is_going = (document->flags & BF_RECORD_F_GOING) != 0;
		bool is_it = is_listed(walk, document, &id);
		if (is_it && !is_going) {
			*ret_id = document->id;
			*ret_revision = document->etag;
			break;
		}
		status = is_it ? note_going(walk, id, err) : BELFRY_OK;
		if (status == BELFRY_OK) {
			status = next_document(walk, &document, err);
		}
	}
	return status;
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

/* What fails is left for the next time: nobody sees these records, and the stream was without them. Where
 * the store is away the rest is left too: each would wait for its time limit. */
static void finish_removals(const struct walk *walk)
{
	enum belfry_status status = BELFRY_OK;

	for (size_t i = 0;
			i < walk->going.count && belfry_status_class(status) != BELFRY_CLASS_RETRY;
			i++) {
		struct belfry_error failure = {0};
		BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = NULL;
		char id[BELFRY_ID_TEXT_BYTES];
		int64_t revision = 0;
		bool is_going = false;
		belfry_id_format(walk->going.items[i], id);
		bf_host_lock(walk->host, bf_str(id), &lock);
		status = bf_record_get_stage(walk->host, bf_str(id), &revision, &is_going,
				&failure);
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
	BF_CLEANUP(walk_fini) struct walk walk;
	BF_CLEANUP(bf_host_unlock) pthread_mutex_t *lock = &host->reconcile_lock;
	struct belfry_schedule_iterator iterator = {
			.data = &walk,
			.next = next_entry,
			.load = load_schedule,
			.refused = note_refusal,
	};

	walk_init(&walk, host);
	(void)pthread_mutex_lock(lock); /* not held by this thread: cannot fail */
	enum belfry_status status = bf_calendars_finish(host,
			atomic_load(&host->is_started) ? 0 : AT_START, err);
	if (status == BELFRY_OK) {
		status = belfry_scheduler_reconcile(host->options.scheduler, &iterator, err);
	}
	bf_refusals_end(&host->refusals, status == BELFRY_OK);
	if (status == BELFRY_OK && walk.is_at_end) {
		finish_removals(&walk);
	}
	return status;
}
