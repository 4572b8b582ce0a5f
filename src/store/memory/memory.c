/* The memory store's method tables, its database's life, lock and clock.
 *
 * Both tables share one implementation. A method enters by mem_enter, which holds the one lock
 * until the method leaves; in the single-document mode mem_step lets it go between two document
 * writes, so that other callers see every state that a real database of that kind would show
 * them. */
#include "store/memory/memory_priv.h"

struct mem_db *mem_enter(struct belfry_store *store)
{
	struct mem_db *db = ((struct mem_store *)(void *)store)->db;

	BF_ASSERT(pthread_mutex_lock(&db->lock) == 0);
	return db;
}

void mem_leave(struct mem_db **db)
{
	BF_ASSERT(pthread_mutex_unlock(&(*db)->lock) == 0);
}

belfry_time mem_now(const struct mem_db *db)
{
	return db->env->wall(db->env->data);
}

enum belfry_status mem_step(struct mem_db *db, const char *step)
{
	if (!db->is_single_document || db->step == NULL) {
		return BELFRY_OK;
	}
	mem_leave(&db);
	bool is_crash = db->step(db->step_data, step);
	BF_ASSERT(pthread_mutex_lock(&db->lock) == 0);
	return is_crash ? BELFRY_UNKNOWN : BELFRY_OK;
}

static void db_free(struct mem_db *db)
{
	if (db != NULL) {
		mem_db_clear(db);
		BF_ASSERT(pthread_mutex_destroy(&db->lock) == 0);
		bf_free(db);
	}
}

static enum belfry_status handle_new(struct mem_db *db, struct belfry_store **ret_store)
{
	struct mem_store *store = bf_alloc(sizeof(*store));

	if (store == NULL) {
		return BELFRY_NOMEM;
	}
	store->base.ops = db->is_single_document ? &bf_memory_document_store_ops
						 : &bf_memory_store_ops;
	store->db = db;
	*ret_store = &store->base;
	return BELFRY_OK;
}

enum belfry_status bf_memory_store_new(const struct bf_env *env, bool single_document,
		struct belfry_store **ret_store)
{
	struct mem_db *db = bf_alloc(sizeof(*db));

	if (db == NULL || pthread_mutex_init(&db->lock, NULL) != 0) {
		bf_free(db);
		return BELFRY_NOMEM;
	}
	db->env = env;
	db->is_single_document = single_document;
	db->is_on = true;
	db->handles = 1;
	mem_db_init_trees(db);
	if (handle_new(db, ret_store) != BELFRY_OK) {
		db_free(db);
		return BELFRY_NOMEM;
	}
	return BELFRY_OK;
}

enum belfry_status bf_memory_store_share(struct belfry_store *store,
		struct belfry_store **ret_store)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	enum belfry_status status = handle_new(db, ret_store);

	if (status == BELFRY_OK) {
		db->handles++;
	}
	return status;
}

void bf_memory_store_set_step(struct belfry_store *store, bf_memory_step_fn step, void *data)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);

	db->step = step;
	db->step_data = data;
}

static enum belfry_status open_atomic(const struct belfry_store_options *options,
		struct belfry_store **ret_store, struct belfry_error *err)
{
	(void)options;
	(void)err;
	return bf_memory_store_new(bf_env_system(), false, ret_store);
}

static enum belfry_status open_single_document(const struct belfry_store_options *options,
		struct belfry_store **ret_store, struct belfry_error *err)
{
	(void)options;
	(void)err;
	return bf_memory_store_new(bf_env_system(), true, ret_store);
}

static enum belfry_status migrate(struct belfry_store *store, struct belfry_error *err)
{
	(void)store;
	(void)err;
	return BELFRY_OK;
}

static void close_handle(struct belfry_store *store)
{
	if (store == NULL) {
		return;
	}
	struct mem_db *db = mem_enter(store);
	bool is_last = --db->handles == 0;
	mem_leave(&db);
	bf_free(store);
	if (is_last) {
		db_free(db);
	}
}

static enum belfry_status read_time(struct belfry_store *store, belfry_time *ret_now,
		struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);

	(void)err;
	*ret_now = mem_now(db);
	return BELFRY_OK;
}

/* Off: nothing new by a plan, and the scheduled Runs that have not started end. */
static enum belfry_status turn_switch(struct belfry_store *store, bool is_on,
		struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	enum belfry_status status;

	(void)err;
	db->is_on = is_on;
	status = mem_step(db, "switch: turned");
	if (status == BELFRY_OK) {
		status = mem_owed_finish_all(db);
	}
	while (status == BELFRY_OK && !db->is_on && db->unstarted.root != NULL) {
		mem_run_end_unstarted(db,
				BF_CONTAINER(mem_tree_first(&db->unstarted), struct mem_run,
						unstarted));
		status = mem_step(db, "switch: unstarted run ended");
	}
	return status;
}

#define METHODS                                                                                    \
	.seams_abi = BELFRY_SEAMS_ABI, .size = sizeof(struct belfry_store_ops),                    \
	.migrate = migrate, .close = close_handle, .time = read_time, .beat = mem_beat,            \
	.advance = mem_advance, .add_runs = mem_add_runs, .claim_runs = mem_claim_runs,            \
	.record = mem_record, .prune = mem_prune, .list = mem_list, .turn_switch = turn_switch,    \
	.documents = &mem_document_ops

const struct belfry_store_ops bf_memory_store_ops = {
		METHODS,
		.name = "memory",
		.open = open_atomic,
};

const struct belfry_store_ops bf_memory_document_store_ops = {
		METHODS,
		.name = "memory-document",
		.caps = BELFRY_STORE_CAP_SINGLE_DOCUMENT,
		.open = open_single_document,
};
