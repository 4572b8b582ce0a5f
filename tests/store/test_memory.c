/* Binds the conformance suite to the memory store. Usage: test-store-memory MODE [PREFIX], where
 * MODE is "memory" or "memory-document". Prints TAP.
 *
 * The suite speaks to the wrapper's rules too: each call of the table below goes through src/store,
 * so that a case fails where the wrapper refuses what store.h allows. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "conformance/store.h"
#include "store/memory/memory.h"
#include "store/store.h"

/* 2026-01-02T03:04:05.678901Z */
#define BEGIN_US ((belfry_time)1767323045678901)

struct memory_fixture {
	bool is_single_document;
	atomic_llong now;
	struct bf_env env;
};

/* A store whose methods go through a wrapper around the memory store. */
struct wrapped {
	struct belfry_store base;
	struct bf_store *store;
	struct belfry_store *inner; /* borrowed from the wrapper: to share its database */
};

static struct bf_store *wrapper_of(struct belfry_store *store)
{
	return ((struct wrapped *)(void *)store)->store;
}

static enum belfry_status wrapped_open(const struct belfry_store_options *options,
		struct belfry_store **ret_store, struct belfry_error *err)
{
	(void)options;
	(void)ret_store;
	(void)err;
	return BELFRY_CANNOT;
}

static enum belfry_status wrapped_migrate(struct belfry_store *store, struct belfry_error *err)
{
	return bf_store_migrate(wrapper_of(store), err);
}

static void wrapped_close(struct belfry_store *store)
{
	bf_store_close(wrapper_of(store));
	bf_free(store);
}

static enum belfry_status wrapped_time(struct belfry_store *store, belfry_time *ret_now,
		struct belfry_error *err)
{
	return bf_store_time(wrapper_of(store), ret_now, err);
}

static enum belfry_status wrapped_beat(struct belfry_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err)
{
	return bf_store_beat(wrapper_of(store), beat, arena, err);
}

static enum belfry_status wrapped_advance(struct belfry_store *store,
		struct belfry_advance *advance, struct belfry_error *err)
{
	return bf_store_advance(wrapper_of(store), advance, err);
}

static enum belfry_status wrapped_add_runs(struct belfry_store *store, struct belfry_add *adds,
		size_t count, struct belfry_error *err)
{
	return bf_store_add_runs(wrapper_of(store), adds, count, err);
}

static enum belfry_status wrapped_claim_runs(struct belfry_store *store, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err)
{
	return bf_store_claim_runs(wrapper_of(store), claim, arena, err);
}

static enum belfry_status wrapped_record(struct belfry_store *store, struct belfry_record *records,
		size_t count, struct belfry_error *err)
{
	return bf_store_record(wrapper_of(store), records, count, err);
}

static enum belfry_status wrapped_prune(struct belfry_store *store, struct belfry_prune *prune,
		struct belfry_error *err)
{
	return bf_store_prune(wrapper_of(store), prune, err);
}

static enum belfry_status wrapped_list(struct belfry_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err)
{
	return bf_store_list(wrapper_of(store), list, arena, err);
}

static enum belfry_status wrapped_turn_switch(struct belfry_store *store, bool is_on,
		struct belfry_error *err)
{
	return bf_store_turn_switch(wrapper_of(store), is_on, err);
}

static enum belfry_status wrapped_get(struct belfry_store *store, struct belfry_str kind,
		struct belfry_str id, struct belfry_str owner, struct belfry_str name,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err)
{
	return bf_store_document_get(wrapper_of(store), kind, id, owner, name, arena, ret_document,
			err);
}

static enum belfry_status wrapped_put(struct belfry_store *store, struct belfry_document *document,
		int64_t expect_etag, struct belfry_error *err)
{
	return bf_store_document_put(wrapper_of(store), document, expect_etag, err);
}

static enum belfry_status wrapped_remove(struct belfry_store *store, struct belfry_str kind,
		struct belfry_str id, int64_t expect_etag, struct belfry_error *err)
{
	return bf_store_document_remove(wrapper_of(store), kind, id, expect_etag, err);
}

static enum belfry_status wrapped_query(struct belfry_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	return bf_store_document_list(wrapper_of(store), query, arena, err);
}

static enum belfry_status wrapped_write_output(struct belfry_store *store,
		const struct belfry_output *output, struct belfry_error *err)
{
	return bf_store_output_write(wrapper_of(store), output, err);
}

static enum belfry_status wrapped_read_output(struct belfry_store *store, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err)
{
	return bf_store_output_read(wrapper_of(store), run, offset, max, arena, ret_content_type,
			ret_bytes, ret_length, err);
}

static const struct belfry_document_ops wrapped_documents = {
		.size = sizeof(struct belfry_document_ops),
		.get = wrapped_get,
		.put = wrapped_put,
		.remove = wrapped_remove,
		.list = wrapped_query,
		.write_output = wrapped_write_output,
		.read_output = wrapped_read_output,
};

static const struct belfry_store_ops wrapped_ops = {
		.seams_abi = BELFRY_SEAMS_ABI,
		.size = sizeof(struct belfry_store_ops),
		.name = "wrapped",
		.open = wrapped_open,
		.migrate = wrapped_migrate,
		.close = wrapped_close,
		.time = wrapped_time,
		.beat = wrapped_beat,
		.advance = wrapped_advance,
		.add_runs = wrapped_add_runs,
		.claim_runs = wrapped_claim_runs,
		.record = wrapped_record,
		.prune = wrapped_prune,
		.list = wrapped_list,
		.turn_switch = wrapped_turn_switch,
		.documents = &wrapped_documents,
};

static enum belfry_status wrap(struct belfry_store *inner, struct belfry_store **ret_store)
{
	struct wrapped *wrapped = bf_alloc(sizeof(*wrapped));

	if (wrapped == NULL) {
		inner->ops->close(inner);
		return BELFRY_NOMEM;
	}
	wrapped->base.ops = &wrapped_ops;
	wrapped->inner = inner;
	enum belfry_status status = bf_store_wrap(&inner, &wrapped->store, NULL);
	if (status != BELFRY_OK) {
		bf_free(wrapped);
		return status;
	}
	*ret_store = &wrapped->base;
	return BELFRY_OK;
}

/* --- the fixture --- */

/* A microsecond passes with each look at the clock, as with a real one. */
static belfry_time read_clock(void *data)
{
	struct memory_fixture *fixture = data;

	return atomic_fetch_add(&fixture->now, 1);
}

static enum belfry_status open_fresh(void *data, struct belfry_store **ret_store)
{
	struct memory_fixture *fixture = data;
	struct belfry_store *inner;

	atomic_store(&fixture->now, BEGIN_US);
	enum belfry_status status = bf_memory_store_new(&fixture->env, fixture->is_single_document,
			&inner);
	return status == BELFRY_OK ? wrap(inner, ret_store) : status;
}

static enum belfry_status share(void *data, struct belfry_store *store,
		struct belfry_store **ret_store)
{
	struct belfry_store *inner;
	enum belfry_status status = bf_memory_store_share(((struct wrapped *)(void *)store)->inner,
			&inner);

	(void)data;
	return status == BELFRY_OK ? wrap(inner, ret_store) : status;
}

/* The data live as long as a handle does. */
static enum belfry_status reopen(void *data, struct belfry_store **store)
{
	struct belfry_store *fresh;
	enum belfry_status status = share(data, *store, &fresh);

	if (status == BELFRY_OK) {
		(*store)->ops->close(*store);
		*store = fresh;
	}
	return status;
}

static void move_clock(void *data, belfry_duration step)
{
	struct memory_fixture *fixture = data;

	(void)atomic_fetch_add(&fixture->now, step);
}

int main(int argc, char **argv)
{
	struct memory_fixture fixture = {.is_single_document = argc > 1 &&
					strcmp(argv[1], "memory-document") == 0,
			.env = {.wall = read_clock}};
	struct belfry_store_fixture binding = {.data = &fixture,
			.open = open_fresh,
			.reopen = reopen,
			.share = share,
			.move_clock = move_clock};

	fixture.env.data = &fixture;
	return belfry_conformance_store_run(&binding, argc > 2 ? argv[2] : NULL) > 0 ? 1 : 0;
}
