/* Several threads on one store. Run again under the thread sanitizer. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "fixture.h"

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

const struct CMUnitTest thread_tests[] = {
		cmocka_unit_test(four_threads_write_and_read_what_they_wrote),
		cmocka_unit_test(a_refused_operation_undoes_no_other_of_its_commit),
		cmocka_unit_test(b14_a_fault_in_a_shared_commit_is_answered_rightly_to_each),
};
const size_t thread_test_count = sizeof(thread_tests) / sizeof(thread_tests[0]);
