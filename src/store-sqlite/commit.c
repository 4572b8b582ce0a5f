/* Group commit: what queued while the last commit ran is the next transaction. There is no thread and
 * no timer of its own: of the callers that wait, one leads. It takes what is queued, carries it all out
 * in one transaction, each operation under a savepoint of its own, commits once, and wakes the others.
 *
 * Invariants  - one leader at a time; the writing connection is the leader's.
 *             - an operation answers OK only after the commit that holds it has answered.
 *             - an operation that fails leaves nothing behind and stops no other one. Where a failure
 *               ends the transaction of all, each is carried out again alone.
 *             - a commit that fails in the file has an unknown outcome (its record may be in the log
 *               and be found when the file is opened anew): BELFRY_UNKNOWN, and the connection is not
 *               used again. A full disk is known to have kept nothing: BELFRY_UNAVAILABLE.
 *             - an operation answers OK only while the database is under its name, looked at before each
 *               transaction and after each commit: what is committed into a removed file is lost.
 *             - the log is brought into the file by the leader alone, between transactions.
 * Not here    what an operation does (beat.c, advance.c, ...). */
#include "store-sqlite/sqlite_priv.h"

#define BATCH_MAX 64
/* Log length (pages) at which it is brought into the file, and at which readers are kept out for that.
 * Longer is faster under load, because the pages of the history index are written again and again;
 * shorter is less to read after a crash. */
#define CHECKPOINT_FRAMES 8192
#define LOG_LIMIT_FRAMES  (4 * CHECKPOINT_FRAMES)
/* A log longer than this is cut when nothing else goes on. */
#define IDLE_FRAMES 256
#define IDLE_AFTER  BELFRY_SECOND
#define PAUSE       (BELFRY_SECOND / 4)

struct write {
	struct bf_link link; /* in the queue until a leader takes it */
	bf_write_fn run;
	void *call;
	struct belfry_error *err; /* may be NULL */
	struct bf_boot_time deadline;
	enum belfry_status status;
	bool is_done;
	pthread_cond_t wake;
};

static struct bf_boot_time boot_now(void)
{
	const struct bf_env *env = bf_env_system();

	return env->boot(env->data);
}

static void settle(const struct bf_sqlite *store, struct write *write, enum belfry_status status)
{
	write->status = status;
	switch (belfry_status_class(status)) {
	case BELFRY_CLASS_OK: break;
	case BELFRY_CLASS_RETRY:
	case BELFRY_CLASS_SYSTEM:
	case BELFRY_CLASS_DATA:
		if (store->is_out_of_place) {
			(void)bf_error_system(write->err, status, 0, BF_OUT_OF_PLACE);
		} else {
			(void)bf_db_fail(&store->writer, status, write->err);
		}
		break;
	case BELFRY_CLASS_CONFLICT:
	case BELFRY_CLASS_GONE:
	case BELFRY_CLASS_CALLER:
		(void)bf_error_set(write->err, status, "%s", belfry_status_text(status));
		break;
	}
}

static enum belfry_status command(struct bf_db *db, enum bf_statement which)
{
	return bf_db_run_values(db, which, NULL, 0);
}

static void roll_back(struct bf_sqlite *store)
{
	store->name_count = 0;
	if (store->writer.handle != NULL && !bf_db_is_rolled_back(&store->writer)) {
		int code = store->writer.code;
		if (command(&store->writer, BF_ST_ROLLBACK) != BELFRY_OK) {
			store->writer.is_broken = true;
		}
		store->writer.code = code; /* what is told is the first failure */
	}
}

/* The file is open and believed, or every operation of the batch is refused. */
static enum belfry_status ready(struct bf_sqlite *store, struct bf_boot_time deadline)
{
	struct bf_boot_time now = boot_now();

	store->is_out_of_place = !bf_sqlite_is_in_place(store);
	if (store->is_out_of_place) {
		return BELFRY_UNAVAILABLE;
	}
	if (store->writer.handle != NULL && !store->writer.is_broken) {
		return BELFRY_OK;
	}
	if (now.us < store->retry_at.us) {
		return BELFRY_UNAVAILABLE;
	}
	enum belfry_status status = bf_sqlite_reconnect(store, deadline);
	if (status != BELFRY_OK) {
		store->retry_at = bf_boot_add(boot_now(), PAUSE);
		return BELFRY_UNAVAILABLE;
	}
	store->reopened++;
	return BELFRY_OK;
}

/* Carry out one operation inside the open transaction. False: the transaction is lost. */
static bool carry_out(struct bf_sqlite *store, struct write *write, bool is_alone)
{
	struct bf_db *db = &store->writer;
	enum belfry_status status = is_alone ? BELFRY_OK : command(db, BF_ST_SAVEPOINT);

	if (status == BELFRY_OK) {
		db->deadline = write->deadline;
		status = write->run(store, write->call);
		db->deadline = (struct bf_boot_time){0};
	}
	settle(store, write, status);
	bool is_lost = bf_db_is_rolled_back(db) || db->is_broken;
	if (!is_lost && status != BELFRY_OK) {
		store->name_count = 0;
		is_lost = is_alone || command(db, BF_ST_ROLLBACK_TO) != BELFRY_OK;
	}
	if (!is_lost && !is_alone) {
		is_lost = command(db, BF_ST_RELEASE) != BELFRY_OK;
	}
	if (is_lost && status == BELFRY_OK) {
		settle(store, write, BELFRY_UNAVAILABLE);
	}
	return !is_lost;
}

static enum belfry_status commit(struct bf_sqlite *store)
{
	struct bf_db *db = &store->writer;
	enum belfry_status status = command(db, BF_ST_COMMIT);

	if (status == BELFRY_OK) {
		store->commits++;
		store->wal_bytes = store->wal_frames > 0 ? (uint64_t)store->wal_frames * 4120 + 32
							 : 0;
		/* In the file that was there before; in the one that is there now, if it came back. */
		store->is_out_of_place = !bf_sqlite_is_in_place(store);
		return store->is_out_of_place ? BELFRY_UNKNOWN : BELFRY_OK;
	}
	int code = db->code & 0xff;
	if (code != SQLITE_FULL && code != SQLITE_BUSY) {
		db->is_broken = true;
		status = BELFRY_UNKNOWN;
	}
	roll_back(store);
	return status;
}

/* The operations of one transaction. False: it was lost on the way, nothing of it stays. */
static bool transact(struct bf_sqlite *store, struct write **batch, size_t count)
{
	enum belfry_status status = command(&store->writer, BF_ST_BEGIN);
	size_t kept = 0;

	for (size_t i = 0; status == BELFRY_OK && i < count; i++) {
		if (!carry_out(store, batch[i], count == 1)) {
			roll_back(store);
			return false;
		}
		kept += batch[i]->status == BELFRY_OK ? 1 : 0;
	}
	if (status == BELFRY_OK && kept == 0) {
		roll_back(store);
		return true;
	}
	if (status == BELFRY_OK) {
		status = commit(store);
	}
	for (size_t i = 0; status != BELFRY_OK && i < count; i++) {
		if (batch[i]->status == BELFRY_OK) {
			settle(store, batch[i], status);
		}
	}
	store->operations += status == BELFRY_OK ? kept : 0;
	return true;
}

static bool is_hopeless(const struct bf_sqlite *store)
{
	return store->writer.is_broken || (store->writer.code & 0xff) == SQLITE_FULL;
}

/* Nothing of the batch stayed: each operation by itself, where there is hope. */
static void write_apart(struct bf_sqlite *store, struct write **batch, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (is_hopeless(store)) {
			settle(store, batch[i], BELFRY_UNAVAILABLE);
		} else {
			(void)transact(store, &batch[i], 1); /* the answer is the operation's */
		}
	}
}

static void write_batch(struct bf_sqlite *store, struct write **batch, size_t count)
{
	enum belfry_status status = ready(store, batch[0]->deadline);

	for (size_t i = 0; status != BELFRY_OK && i < count; i++) {
		settle(store, batch[i], status);
	}
	if (status == BELFRY_OK && !transact(store, batch, count) && count > 1) {
		write_apart(store, batch, count);
	}
	if (store->writer.is_broken && store->retry_at.us < boot_now().us) {
		store->retry_at = bf_boot_add(boot_now(), PAUSE);
	}
}

static void checkpoint(struct bf_sqlite *store, int mode)
{
	int frames = 0;
	int code = sqlite3_wal_checkpoint_v2(store->writer.handle, NULL, mode, &frames, NULL);

	if (code == SQLITE_OK) {
		/* All that is left is copied: the next commit begins the log anew. */
		store->wal_frames = mode == SQLITE_CHECKPOINT_PASSIVE ? frames : 0;
	} else if ((code & 0xff) == SQLITE_IOERR) {
		(void)bf_db_failure(&store->writer, code);
	}
	/* BUSY: somebody reads; FULL: the log goes on growing, and is all there. The next one tries. */
}

static void cut_log(struct bf_sqlite *store)
{
	bf_door_pass(&store->reader_door);
	checkpoint(store, SQLITE_CHECKPOINT_TRUNCATE);
	bf_door_leave(&store->reader_door);
}

/* By the leader, between transactions. */
static void tend_log(struct bf_sqlite *store)
{
	struct bf_boot_time now = boot_now();
	bool is_idle = bf_boot_since(now, store->last_write) > IDLE_AFTER;

	store->last_write = now;
	if (store->writer.handle == NULL || store->writer.is_broken) {
		return;
	}
	if (store->wal_frames >= LOG_LIMIT_FRAMES ||
			(is_idle && store->wal_frames >= IDLE_FRAMES)) {
		cut_log(store);
	} else if (store->wal_frames >= CHECKPOINT_FRAMES) {
		checkpoint(store, SQLITE_CHECKPOINT_PASSIVE);
	}
}

static size_t take_batch(struct bf_sqlite *store, struct write **batch)
{
	size_t count = 0;

	while (count < BATCH_MAX && store->queue.first != NULL) {
		struct write *write = BF_CONTAINER(store->queue.first, struct write, link);
		bf_list_remove(&write->link);
		batch[count++] = write;
	}
	return count;
}

/* The next one in the queue is told that it may lead. With the mutex held and no leader. */
static void call_first(struct bf_sqlite *store)
{
	if (store->queue.first != NULL) {
		pthread_cond_signal(&BF_CONTAINER(store->queue.first, struct write, link)->wake);
	}
}

/* With the mutex held; lets it go while it writes. */
static void lead(struct bf_sqlite *store)
{
	struct write *batch[BATCH_MAX];
	size_t count = take_batch(store, batch);

	store->has_leader = true;
	pthread_mutex_unlock(&store->mutex);
	write_batch(store, batch, count);
	pthread_mutex_lock(&store->mutex);
	for (size_t i = 0; i < count; i++) {
		batch[i]->is_done = true;
		pthread_cond_signal(&batch[i]->wake);
	}
	pthread_mutex_unlock(&store->mutex);
	tend_log(store);
	pthread_mutex_lock(&store->mutex);
	store->has_leader = false;
	call_first(store);
}

/* False: the time ran out while the operation was still queued; it has left the queue. */
static bool wait_turn(struct bf_sqlite *store, struct write *write)
{
	if (write->link.list == NULL) {
		pthread_cond_wait(&write->wake, &store->mutex);
		return true;
	}
	if (bf_wait_until(&write->wake, &store->mutex, write->deadline) ||
			write->link.list == NULL) {
		return true;
	}
	bf_list_remove(&write->link);
	if (!store->has_leader) {
		call_first(store); /* the signal that its turn had come may have been to this one */
	}
	return false;
}

void bf_sqlite_enter(struct bf_sqlite *store)
{
	pthread_mutex_lock(&store->mutex);
	store->calls++;
	pthread_mutex_unlock(&store->mutex);
}

void bf_sqlite_leave(struct bf_sqlite *store)
{
	pthread_mutex_lock(&store->mutex);
	if (--store->calls == 0) {
		pthread_cond_broadcast(&store->idle);
	}
	pthread_mutex_unlock(&store->mutex);
}

enum belfry_status bf_sqlite_write(struct bf_sqlite *store, bf_write_fn run, void *call,
		struct belfry_error *err)
{
	struct write write = {
			.run = run,
			.call = call,
			.err = err,
			.deadline = bf_sqlite_deadline(store),
			.status = BELFRY_UNAVAILABLE,
	};

	if (!store->is_ready) {
		return bf_error_set(err, BELFRY_CONFIGURATION, "the store was not migrated");
	}
	if (bf_condition_init(&write.wake) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	bf_sqlite_enter(store);
	pthread_mutex_lock(&store->mutex);
	bf_list_append(&store->queue, &write.link);
	while (!write.is_done) {
		if (!store->has_leader && write.link.list != NULL) {
			lead(store);
		} else if (!wait_turn(store, &write)) {
			(void)bf_error_system(err, write.status, 0, "waited too long for the file");
			break;
		}
	}
	pthread_mutex_unlock(&store->mutex);
	(void)pthread_cond_destroy(&write.wake);
	bf_sqlite_leave(store);
	return write.status;
}

enum belfry_status bf_sqlite_write_items(struct bf_sqlite *store, bf_write_fn run, void *call,
		bool *is_careful, struct belfry_error *err)
{
	*is_careful = false;
	enum belfry_status status = bf_sqlite_write(store, run, call, err);
	if (status != BELFRY_CORRUPT) {
		return status;
	}
	*is_careful = true;
	status = bf_sqlite_write(store, run, call, err);
	if (status == BELFRY_OK && err != NULL) {
		*err = (struct belfry_error){0};
	}
	return status;
}

enum belfry_status bf_sqlite_item_begin(struct bf_sqlite *store, bool is_careful)
{
	return is_careful ? command(&store->writer, BF_ST_ITEM_SAVEPOINT) : BELFRY_OK;
}

enum belfry_status bf_sqlite_item_end(struct bf_sqlite *store, bool is_careful,
		enum belfry_status status)
{
	struct bf_db *db = &store->writer;
	enum belfry_status answer = status;

	if (!is_careful || (status != BELFRY_OK && status != BELFRY_CORRUPT)) {
		return status;
	}
	if (status == BELFRY_CORRUPT) {
		store->name_count = 0;
		status = bf_db_is_rolled_back(db) ? BELFRY_UNAVAILABLE
						  : command(db, BF_ST_ITEM_ROLLBACK_TO);
	}
	if (status == BELFRY_OK) {
		status = command(db, BF_ST_ITEM_RELEASE);
	}
	return status == BELFRY_OK                 ? answer
			: status == BELFRY_CORRUPT ? BELFRY_UNAVAILABLE
						   : status;
}

bool bf_sqlite_pass_door(struct bf_sqlite *store, struct bf_door *door)
{
	return bf_door_pass_until(door, bf_sqlite_deadline(store));
}

struct bf_boot_time bf_sqlite_deadline(const struct bf_sqlite *store)
{
	return bf_boot_add(boot_now(), store->timeout);
}
