/* See faulty.h: every method goes through the wrapper, which is where faults enter. */
#include "faulty.h"

#include "base/alloc.h"

struct faulty {
	struct belfry_store base;
	struct belfry_store_ops ops;
	struct bf_store *inner;
};

static struct bf_store *inner_of(struct belfry_store *store)
{
	return ((struct faulty *)store)->inner;
}

static enum belfry_status faulty_open(const struct belfry_store_options *options,
		struct belfry_store **ret_store, struct belfry_error *err)
{
	(void)options;
	(void)ret_store;
	(void)err;
	return BELFRY_CANNOT;
}

static enum belfry_status faulty_migrate(struct belfry_store *store, struct belfry_error *err)
{
	return bf_store_migrate(inner_of(store), err);
}

static enum belfry_status faulty_time(struct belfry_store *store, belfry_time *ret_now,
		struct belfry_error *err)
{
	return bf_store_time(inner_of(store), ret_now, err);
}

static enum belfry_status faulty_beat(struct belfry_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err)
{
	return bf_store_beat(inner_of(store), beat, arena, err);
}

static enum belfry_status faulty_advance(struct belfry_store *store, struct belfry_advance *advance,
		struct belfry_error *err)
{
	return bf_store_advance(inner_of(store), advance, err);
}

static enum belfry_status faulty_add_runs(struct belfry_store *store, struct belfry_add *adds,
		size_t count, struct belfry_error *err)
{
	return bf_store_add_runs(inner_of(store), adds, count, err);
}

static enum belfry_status faulty_claim_runs(struct belfry_store *store, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err)
{
	return bf_store_claim_runs(inner_of(store), claim, arena, err);
}

static enum belfry_status faulty_record(struct belfry_store *store, struct belfry_record *records,
		size_t count, struct belfry_error *err)
{
	return bf_store_record(inner_of(store), records, count, err);
}

static enum belfry_status faulty_prune(struct belfry_store *store, struct belfry_prune *prune,
		struct belfry_error *err)
{
	return bf_store_prune(inner_of(store), prune, err);
}

static enum belfry_status faulty_list(struct belfry_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err)
{
	return bf_store_list(inner_of(store), list, arena, err);
}

void faulty_free(struct belfry_store *store)
{
	bf_free(store);
}

struct belfry_store *faulty_new(struct bf_store *inner)
{
	struct faulty *faulty = bf_alloc(sizeof(*faulty));

	if (faulty == NULL) {
		return NULL;
	}
	faulty->inner = inner;
	faulty->ops = (struct belfry_store_ops){
			.seams_abi = BELFRY_SEAMS_ABI,
			.size = sizeof(faulty->ops),
			.name = "faulty",
			.caps = bf_store_caps(inner),
			.open = faulty_open,
			.migrate = faulty_migrate,
			.close = faulty_free,
			.time = faulty_time,
			.beat = faulty_beat,
			.advance = faulty_advance,
			.add_runs = faulty_add_runs,
			.claim_runs = faulty_claim_runs,
			.record = faulty_record,
			.prune = faulty_prune,
			.list = faulty_list,
	};
	faulty->base.ops = &faulty->ops;
	return &faulty->base;
}
