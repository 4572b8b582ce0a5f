/* Several threads on one store. Run again under the thread sanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"
#include "store-sqlite/sqlite_priv.h"

#define THREADS 4
#define ROUNDS  150

struct worker {
	struct belfry_store *store;
	unsigned number;
	unsigned failures;
	pthread_t thread;
};

static struct belfry_id request_id(unsigned worker, unsigned round)
{
	struct belfry_id id = {{1, 0x90, 0, 0, 0, 0, 0x70, 0, 0x80}};

	id.bytes[9] = (unsigned char)worker;
	id.bytes[14] = (unsigned char)(round >> 8);
	id.bytes[15] = (unsigned char)round;
	return id;
}

static bool read_back(struct belfry_store *store, struct belfry_id id)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {.size = sizeof(list),
			.kind = BELFRY_LIST_RUN_IDS,
			.run_ids = &id,
			.run_id_count = 1,
			.limit = 1};
	enum belfry_status status = bf_sqlite_store_ops.list(store, &list, &arena, NULL);

	belfry_arena_fini(&arena);
	return status == BELFRY_OK && list.count == 1;
}

static void *work(void *data)
{
	struct worker *worker = data;
	char name[16];

	(void)snprintf(name, sizeof(name), "s%u", worker->number);
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct belfry_id id = request_id(worker->number, i);
		worker->failures += add_run(worker->store, name, id, "") != BELFRY_OK;
		worker->failures += !read_back(worker->store, id);
	}
	return NULL;
}

static void four_threads_write_and_read_what_they_wrote(void **state)
{
	struct place place;
	struct worker workers[THREADS];
	struct bf_sqlite_counts before, after;

	(void)state;
	place_init(&place, false);
	struct belfry_store *store = open_migrated(&place);
	for (unsigned i = 0; i < THREADS; i++) {
		char name[16];
		(void)snprintf(name, sizeof(name), "s%u", i);
		assert_true(put_schedule(store, name, clock_now() + BELFRY_HOUR) != 0);
	}
	bf_sqlite_get_counts(store, &before);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.store = store, .number = i};
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].failures, 0);
	}
	bf_sqlite_get_counts(store, &after);
	assert_int_equal(after.operations - before.operations, THREADS * ROUNDS);
	assert_true(after.commits - before.commits < THREADS * ROUNDS);
	close_store(store);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM runs"), THREADS * ROUNDS);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM queue"), THREADS * ROUNDS);
	place_fini(&place);
}

/* --- an operation that fails undoes no other of its commit --- */

static void *work_in_vain(void *data)
{
	struct worker *worker = data;

	for (unsigned i = 0; i < ROUNDS; i++) {
		struct belfry_document document = {.kind = BF_STR("k"),
				.id = BF_STR("same"),
				.bytes = BF_STR("x")};
		worker->failures += bf_sqlite_store_ops.documents->put(worker->store, &document, 0,
						    NULL) != BELFRY_CONFLICT;
	}
	return NULL;
}

static void a_refused_operation_undoes_no_other_of_its_commit(void **state)
{
	struct place place;
	struct worker workers[THREADS];

	(void)state;
	place_init(&place, false);
	struct belfry_store *store = open_migrated(&place);
	struct belfry_document document = {.kind = BF_STR("k"),
			.id = BF_STR("same"),
			.bytes = BF_STR("first")};
	assert_int_equal(bf_sqlite_store_ops.documents->put(store, &document, 0, NULL), BELFRY_OK);
	assert_true(put_schedule(store, "s0", clock_now() + BELFRY_HOUR) != 0);
	assert_true(put_schedule(store, "s1", clock_now() + BELFRY_HOUR) != 0);
	for (unsigned i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.store = store, .number = i};
		assert_int_equal(pthread_create(&workers[i].thread, NULL,
						 i < 2 ? work : work_in_vain, &workers[i]),
				0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].failures, 0);
	}
	close_store(store);
	assert_int_equal(raw_number(&place, "SELECT count(*) FROM runs"), 2 * ROUNDS);
	assert_int_equal(raw_number(&place, "SELECT etag FROM documents"), 1);
	place_fini(&place);
}

/* --- faults in commits that hold operations of several threads --- */

#define FAULT_ROUNDS 40

struct answers {
	struct worker worker;
	enum belfry_status status[FAULT_ROUNDS];
};

static void *work_and_note(void *data)
{
	struct answers *answers = data;

	for (unsigned i = 0; i < FAULT_ROUNDS; i++) {
		answers->status[i] = add_run(answers->worker.store, "s",
				request_id(answers->worker.number, i), "");
	}
	return NULL;
}

/* OK: it is there. UNAVAILABLE, NOMEM: it is not. UNKNOWN: either. */
static void check_answers(struct belfry_store *store, const struct answers *answers)
{
	struct belfry_run run;

	for (unsigned i = 0; i < FAULT_ROUNDS; i++) {
		enum belfry_status status = answers->status[i];
		bool is_there = find_run(store, request_id(answers->worker.number, i), &run);
		if (status == BELFRY_OK) {
			assert_true(is_there);
		} else if (status != BELFRY_UNKNOWN) {
			assert_true(status == BELFRY_UNAVAILABLE || status == BELFRY_NOMEM);
			assert_false(is_there);
		}
	}
}

static void work_with_fault(struct bf_fault *fault, int64_t first, int64_t repeat)
{
	struct place place;
	struct answers answers[THREADS];

	place_init(&place, true);
	struct belfry_store *store = open_migrated(&place);
	assert_true(put_schedule(store, "s", clock_now() + BELFRY_HOUR) != 0);
	bf_fault_arm(fault, first, repeat);
	for (unsigned i = 0; i < THREADS; i++) {
		answers[i] = (struct answers){.worker = {.store = store, .number = i}};
		assert_int_equal(pthread_create(&answers[i].worker.thread, NULL, work_and_note,
						 &answers[i]),
				0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(answers[i].worker.thread, NULL), 0);
	}
	bf_fault_arm(fault, 0, 0);
	close_store(store);
	store = open_migrated(&place);
	for (unsigned i = 0; i < THREADS; i++) {
		check_answers(store, &answers[i]);
	}
	close_store(store);
	place_fini(&place);
}

static void b14_a_fault_in_a_shared_commit_is_answered_rightly_to_each(void **state)
{
	(void)state;
	for (int64_t first = 1; first < 400; first += 13) {
		vfs_set_kind(FAULT_FULL);
		work_with_fault(vfs_fault(), first, 1 + first % 5);
		vfs_set_kind(FAULT_IO);
		work_with_fault(vfs_fault(), first, 1);
		work_with_fault(client_memory_fault(), 3 * first, 1 + first % 3);
	}
}

/* --- who waits --- */

static struct bf_boot_time in(belfry_duration wait)
{
	const struct bf_env *env = bf_env_system();

	return bf_boot_add(env->boot(env->data), wait);
}

static bool is_past(struct bf_boot_time deadline)
{
	return in(0).us >= deadline.us;
}

struct caller {
	struct bf_sqlite *store;
	enum belfry_status status;
	pthread_t thread;
};

static enum belfry_status do_nothing(struct bf_sqlite *store, void *data)
{
	(void)store;
	(void)data;
	return BELFRY_OK;
}

static void *write_nothing(void *data)
{
	struct caller *caller = data;

	caller->status = bf_sqlite_write(caller->store, do_nothing, NULL, NULL);
	return NULL;
}

/* A caller with this timeout, which is in the queue when this returns. */
static void queue_up(struct caller *caller, struct bf_sqlite *store, belfry_duration timeout)
{
	struct bf_boot_time deadline = in(30 * BELFRY_SECOND);
	size_t before = store->queue.count;
	size_t count = before;

	*caller = (struct caller){.store = store, .status = BELFRY_INVALID};
	store->timeout = timeout;
	assert_int_equal(pthread_create(&caller->thread, NULL, write_nothing, caller), 0);
	while (count == before && !is_past(deadline)) {
		pthread_mutex_lock(&store->mutex);
		count = store->queue.count;
		pthread_mutex_unlock(&store->mutex);
	}
	assert_int_equal(count, before + 1);
}

/* The leader's signal goes to the first of the queue: one that gives up just then passes it on. */
static void a_writer_that_gives_up_leaves_its_turn_to_the_next(void **state)
{
	struct place place;
	struct caller first, next;

	(void)state;
	place_init(&place, true);
	struct belfry_store *base = open_migrated(&place);
	struct bf_sqlite *store = bf_sqlite_of(base);
	belfry_duration timeout = store->timeout;
	store->has_leader = true; /* played by this thread */
	queue_up(&first, store, 300 * BELFRY_MILLISECOND);
	queue_up(&next, store, 10 * BELFRY_SECOND);
	store->timeout = timeout;
	pthread_mutex_lock(&store->mutex);
	struct bf_boot_time late = in(350 * BELFRY_MILLISECOND);
	while (!is_past(late)) {
	}
	store->has_leader = false; /* told to the first one, whose time is over */
	pthread_mutex_unlock(&store->mutex);
	assert_int_equal(pthread_join(first.thread, NULL), 0);
	assert_int_equal(pthread_join(next.thread, NULL), 0);
	assert_int_equal(first.status, BELFRY_UNAVAILABLE);
	assert_int_equal(next.status, BELFRY_OK);
	close_store(base);
	place_fini(&place);
}

struct visitor {
	struct bf_door *door;
	unsigned *inside; /* changed by whoever is inside */
	unsigned failures;
	pthread_t thread;
};

static void *visit(void *data)
{
	struct visitor *visitor = data;

	for (unsigned i = 0; i < 2000; i++) {
		if (i % 2 == 0) {
			bf_door_pass(visitor->door);
		} else if (!bf_door_pass_until(visitor->door, in(30 * BELFRY_SECOND))) {
			visitor->failures++;
			continue;
		}
		visitor->failures += ++*visitor->inside != 1;
		--*visitor->inside;
		bf_door_leave(visitor->door);
	}
	return NULL;
}

static void a_door_lets_one_in_at_a_time_and_a_wait_for_it_ends(void **state)
{
	struct bf_door door;
	struct visitor visitors[THREADS];
	unsigned inside = 0;

	(void)state;
	assert_int_equal(bf_door_init(&door), BELFRY_OK);
	for (unsigned i = 0; i < THREADS; i++) {
		visitors[i] = (struct visitor){.door = &door, .inside = &inside};
		assert_int_equal(pthread_create(&visitors[i].thread, NULL, visit, &visitors[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(visitors[i].thread, NULL), 0);
		assert_int_equal(visitors[i].failures, 0);
	}
	bf_door_pass(&door);
	struct bf_boot_time deadline = in(50 * BELFRY_MILLISECOND);
	assert_false(bf_door_pass_until(&door, deadline));
	assert_true(is_past(deadline));
	assert_false(bf_door_pass_until(&door, in(-BELFRY_HOUR)));
	bf_door_leave(&door);
	assert_true(bf_door_pass_until(&door, in(-BELFRY_HOUR))); /* nobody is inside */
	bf_door_leave(&door);
	bf_door_fini(&door);
}

const struct CMUnitTest thread_tests[] = {
		cmocka_unit_test(a_writer_that_gives_up_leaves_its_turn_to_the_next),
		cmocka_unit_test(a_door_lets_one_in_at_a_time_and_a_wait_for_it_ends),
		cmocka_unit_test(four_threads_write_and_read_what_they_wrote),
		cmocka_unit_test(a_refused_operation_undoes_no_other_of_its_commit),
		cmocka_unit_test(b14_a_fault_in_a_shared_commit_is_answered_rightly_to_each),
};
const size_t thread_test_count = sizeof(thread_tests) / sizeof(thread_tests[0]);
