/* See liar.h. */
#include "liar.h"

#include "base/alloc.h"

struct liar {
	struct belfry_store base;
	struct belfry_store *inner;
	const struct liar_spoil *spoil;
};

static struct liar *liar_of(struct belfry_store *store)
{
	return (struct liar *)(void *)store;
}

/* The status is the adapter's own, or the lie about it. */
static enum belfry_status answer(const struct liar *liar, enum belfry_status status)
{
	return liar->spoil->status != BELFRY_OK ? liar->spoil->status : status;
}

#define SPOIL(liar, member, value)                                                                 \
	do {                                                                                       \
		if ((liar)->spoil->member != NULL) {                                               \
			(liar)->spoil->member(value);                                              \
		}                                                                                  \
	} while (0)

static enum belfry_status liar_open(const struct belfry_store_options *options,
		struct belfry_store **ret_store, struct belfry_error *err)
{
	(void)options;
	(void)ret_store;
	(void)err;
	return BELFRY_OK; /* and there is no store */
}

static enum belfry_status liar_migrate(struct belfry_store *store, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);

	return answer(liar, liar->inner->ops->migrate(liar->inner, err));
}

static void liar_close(struct belfry_store *store)
{
	struct liar *liar = liar_of(store);

	liar->inner->ops->close(liar->inner);
	bf_free(liar);
}

static enum belfry_status liar_time(struct belfry_store *store, belfry_time *ret_now,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->time(liar->inner, ret_now, err);

	SPOIL(liar, time, ret_now);
	return answer(liar, status);
}

static enum belfry_status liar_beat(struct belfry_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->beat(liar->inner, beat, arena, err);

	SPOIL(liar, beat, beat);
	return answer(liar, status);
}

static enum belfry_status liar_advance(struct belfry_store *store, struct belfry_advance *advance,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->advance(liar->inner, advance, err);

	SPOIL(liar, advance, advance);
	return answer(liar, status);
}

static enum belfry_status liar_add_runs(struct belfry_store *store, struct belfry_add *adds,
		size_t count, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->add_runs(liar->inner, adds, count, err);

	SPOIL(liar, add, &adds[0]);
	return answer(liar, status);
}

static enum belfry_status liar_claim_runs(struct belfry_store *store, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->claim_runs(liar->inner, claim, arena, err);

	SPOIL(liar, claim, claim);
	return answer(liar, status);
}

static enum belfry_status liar_record(struct belfry_store *store, struct belfry_record *records,
		size_t count, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->record(liar->inner, records, count, err);

	SPOIL(liar, record, &records[0]);
	return answer(liar, status);
}

static enum belfry_status liar_prune(struct belfry_store *store, struct belfry_prune *prune,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->prune(liar->inner, prune, err);

	SPOIL(liar, prune, prune);
	return answer(liar, status);
}

static enum belfry_status liar_list(struct belfry_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->list(liar->inner, list, arena, err);

	SPOIL(liar, list, list);
	return answer(liar, status);
}

static enum belfry_status liar_get(struct belfry_store *store, struct belfry_str kind,
		struct belfry_str id, struct belfry_str owner, struct belfry_str name,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->documents->get(liar->inner, kind, id, owner,
			name, arena, ret_document, err);

	SPOIL(liar, document, ret_document);
	return answer(liar, status);
}

static enum belfry_status liar_put(struct belfry_store *store, struct belfry_document *document,
		int64_t expect_etag, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->documents->put(liar->inner, document,
			expect_etag, err);

	SPOIL(liar, document, document);
	return answer(liar, status);
}

static enum belfry_status liar_remove(struct belfry_store *store, struct belfry_str kind,
		struct belfry_str id, int64_t expect_etag, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);

	return answer(liar,
			liar->inner->ops->documents->remove(liar->inner, kind, id, expect_etag,
					err));
}

static enum belfry_status liar_query(struct belfry_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	struct liar *liar = liar_of(store);
	enum belfry_status status = liar->inner->ops->documents->list(liar->inner, query, arena,
			err);

	SPOIL(liar, query, query);
	return answer(liar, status);
}

static enum belfry_status liar_write_output(struct belfry_store *store,
		const struct belfry_output *output, struct belfry_error *err)
{
	struct liar *liar = liar_of(store);

	return answer(liar, liar->inner->ops->documents->write_output(liar->inner, output, err));
}

/* Always more than was asked for. */
static enum belfry_status liar_read_output(struct belfry_store *store, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err)
{
	(void)store;
	(void)run;
	(void)offset;
	(void)arena;
	(void)err;
	*ret_content_type = (struct belfry_str){0};
	*ret_bytes = (struct belfry_str){"", max + 1};
	*ret_length = max + 1;
	return BELFRY_OK;
}

static const struct belfry_document_ops liar_documents = {
		.size = sizeof(struct belfry_document_ops),
		.get = liar_get,
		.put = liar_put,
		.remove = liar_remove,
		.list = liar_query,
		.write_output = liar_write_output,
		.read_output = liar_read_output,
};

/* Nothing that is optional but documents. */
static const struct belfry_store_ops liar_ops = {
		.seams_abi = BELFRY_SEAMS_ABI,
		.size = sizeof(struct belfry_store_ops),
		.name = "liar",
		.open = liar_open,
		.migrate = liar_migrate,
		.close = liar_close,
		.time = liar_time,
		.beat = liar_beat,
		.advance = liar_advance,
		.add_runs = liar_add_runs,
		.claim_runs = liar_claim_runs,
		.record = liar_record,
		.prune = liar_prune,
		.list = liar_list,
		.documents = &liar_documents,
};

struct belfry_store *liar_new(struct belfry_store *inner, const struct liar_spoil *spoil)
{
	struct liar *liar = bf_alloc(sizeof(*liar));

	if (liar == NULL) {
		return NULL;
	}
	*liar = (struct liar){.base = {&liar_ops}, .inner = inner, .spoil = spoil};
	return &liar->base;
}
