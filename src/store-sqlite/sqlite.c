/* The store in one file: opening, migrating, closing, and the table of methods.
 *
 * The protocol   open takes the lock file and holds the database (lock.c), which proves that nobody
 *                else uses the files;
 *                migrate brings the schema up (schema.c), declares every earlier incarnation dead
 *                (beat.c) and lets calls in; close waits for the last call, brings the log into the
 *                file and gives the lock back last.
 * A crash        leaves the log beside the file: the next open reads it, and finds every commit that was
 *                acknowledged, because each was synced before its answer (synchronous=FULL).
 * One connection writes and checkpoints (commit.c): with two, releases of the client that are common
 *                today can lose commits. */
#include <unistd.h>

#include "store-sqlite/sqlite_priv.h"

#define DEFAULT_TIMEOUT (10 * BELFRY_SECOND)

static const struct bf_env *current_env;

void bf_sqlite_set_env(const struct bf_env *env)
{
	current_env = env;
}

/* What was refused is left as it was found: the files beside it that this call made, and nobody has filled, go.
 * Under the lock: who waits for a lock file that is gone takes the next one (lock.c). */
static void remove_made(const struct bf_sqlite *store)
{
	if (store->is_ready || store->lock_file < 0) {
		return;
	}
	if (store->made_output && bf_file_is_empty(store->paths.output)) {
		(void)unlink(store->paths.output); /* else it stays, empty */
	}
	if (store->made_lock && bf_file_is_current(store->lock_file, store->paths.lock)) {
		(void)unlink(store->paths.lock); /* else it stays, and holds nobody back */
	}
}

static void free_store(struct bf_sqlite *store)
{
	bf_sqlite_disconnect(store, false);
	bf_db_close(&store->output, false);
	remove_made(store);
	bf_paths_fini(&store->paths);
	(void)pthread_mutex_destroy(&store->mutex);
	bf_door_fini(&store->reader_door);
	bf_door_fini(&store->output_door);
	(void)pthread_cond_destroy(&store->idle);
	if (store->held_file >= 0) {
		bf_lock_release(store->held_file);
	}
	if (store->lock_file >= 0) {
		bf_lock_release(store->lock_file);
	}
	bf_free(store);
}

static struct bf_sqlite *new_store(const struct belfry_store_options *options)
{
	struct bf_sqlite *store = bf_alloc(sizeof(*store));

	if (store == NULL) {
		return NULL;
	}
	store->base.ops = &bf_sqlite_store_ops;
	store->env = current_env != NULL ? current_env : bf_env_system();
	store->timeout = options->timeout > 0 ? options->timeout : DEFAULT_TIMEOUT;
	store->lock_file = -1;
	store->held_file = -1;
	/* With default attributes these cannot fail on this system. */
	(void)pthread_mutex_init(&store->mutex, NULL);
	(void)pthread_cond_init(&store->idle, NULL);
	if (bf_door_init(&store->reader_door) != BELFRY_OK) {
		bf_free(store);
		return NULL;
	}
	if (bf_door_init(&store->output_door) != BELFRY_OK) {
		bf_door_fini(&store->reader_door);
		bf_free(store);
		return NULL;
	}
	return store;
}

static enum belfry_status check_client(struct belfry_error *err)
{
	if (sqlite3_threadsafe() == 0) {
		return bf_error_set(err, BELFRY_CONFIGURATION,
				"the installed store library was built without threads: install the "
				"distribution's own");
	}
	return BELFRY_OK;
}

static enum belfry_status open_files(struct bf_sqlite *store,
		const struct belfry_store_options *options, struct belfry_error *err)
{
	enum belfry_status status = bf_paths_init(&store->paths, options->url, err);

	if (status == BELFRY_OK) {
		status = bf_paths_check(&store->paths, err);
	}
	if (status == BELFRY_OK) {
		store->made_lock = !bf_file_is_there(store->paths.lock);
		status = bf_lock_take(store->paths.lock, options->owner, options->is_standby,
				&store->lock_file, err);
	}
	if (status == BELFRY_OK) {
		status = bf_paths_check(&store->paths, err); /* the wait may have been long */
	}
	if (status == BELFRY_OK) {
		status = bf_paths_check_traces(&store->paths, err);
	}
	if (status == BELFRY_OK) {
		status = bf_file_check(store->paths.database, err);
	}
	if (status == BELFRY_OK) {
		status = bf_file_hold(store->paths.database, options->is_standby, &store->held_file,
				err);
	}
	if (status == BELFRY_OK) {
		store->made_output = !bf_file_is_there(store->paths.output);
		status = bf_file_check(store->paths.output, err);
	}
	return status;
}

static enum belfry_status open_store(const struct belfry_store_options *options,
		struct belfry_store **ret_store, struct belfry_error *err)
{
	struct bf_sqlite *store = new_store(options);

	if (store == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = check_client(err);
	if (status == BELFRY_OK) {
		status = open_files(store, options, err);
	}
	if (status == BELFRY_OK) {
		status = bf_sqlite_connect(store);
		if (status != BELFRY_OK) {
			status = bf_schema_refuse(&store->writer, status, err);
		}
	}
	if (status != BELFRY_OK) {
		free_store(store);
		return status;
	}
	*ret_store = &store->base;
	return BELFRY_OK;
}

static enum belfry_status migrate_output(struct bf_sqlite *store, struct belfry_error *err)
{
	enum belfry_status status = bf_sqlite_connect_output(store);

	if (status != BELFRY_OK) {
		return bf_schema_refuse(&store->output, status, err);
	}
	status = bf_schema_migrate_output(&store->output, err);
	if (status != BELFRY_OK) {
		bf_error_prefix(err, "output file: ");
	}
	return status;
}

static enum belfry_status migrate(struct belfry_store *base, struct belfry_error *err)
{
	struct bf_sqlite *store = bf_sqlite_of(base);

	if (store->is_ready) {
		return BELFRY_OK;
	}
	enum belfry_status status = bf_schema_migrate(&store->writer, err);
	if (status == BELFRY_OK) {
		status = migrate_output(store, err);
	}
	if (status == BELFRY_OK) {
		status = bf_sqlite_connect_reader(store);
		if (status != BELFRY_OK) {
			(void)bf_db_fail(&store->reader, status, err);
		}
	}
	if (status == BELFRY_OK) {
		store->is_ready = true;
		status = bf_sqlite_bury_predecessors(store, err);
		store->is_ready = status == BELFRY_OK;
	}
	return status;
}

static void close_store(struct belfry_store *base)
{
	if (base == NULL) {
		return;
	}
	struct bf_sqlite *store = bf_sqlite_of(base);
	pthread_mutex_lock(&store->mutex);
	while (store->calls > 0) {
		pthread_cond_wait(&store->idle, &store->mutex);
	}
	pthread_mutex_unlock(&store->mutex);
	/* Files beside a database that has taken the name are not ours to tidy up. */
	bool is_sound = store->is_ready && bf_sqlite_is_in_place(store);
	bf_sqlite_disconnect(store, is_sound && !store->writer.is_broken);
	bf_db_close(&store->output, is_sound && !store->output.is_broken);
	free_store(store);
}

static enum belfry_status read_time(struct belfry_store *base, belfry_time *ret_now,
		struct belfry_error *err)
{
	(void)err;
	*ret_now = bf_sqlite_now(bf_sqlite_of(base));
	return BELFRY_OK;
}

void bf_sqlite_get_counts(struct belfry_store *base, struct bf_sqlite_counts *ret_counts)
{
	struct bf_sqlite *store = bf_sqlite_of(base);

	*ret_counts = (struct bf_sqlite_counts){
			.operations = store->operations,
			.reads = store->reads,
			.commits = store->commits,
			.reopened = store->reopened,
			.wal_bytes = store->wal_bytes,
	};
}

const struct belfry_store_ops bf_sqlite_store_ops = {
		.seams_abi = BELFRY_SEAMS_ABI,
		.size = sizeof(struct belfry_store_ops),
		.name = "sqlite",
		.caps = BELFRY_STORE_CAP_EXCLUSIVE,
		.open = open_store,
		.migrate = migrate,
		.close = close_store,
		.time = read_time,
		.beat = bf_sqlite_beat,
		.advance = bf_sqlite_advance,
		.add_runs = bf_sqlite_add_runs,
		.claim_runs = bf_sqlite_claim_runs,
		.record = bf_sqlite_record,
		.prune = bf_sqlite_prune,
		.list = bf_sqlite_list,
		.turn_switch = bf_sqlite_turn_switch,
		.documents = &bf_sqlite_document_ops,
};
