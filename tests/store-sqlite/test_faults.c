/* Sweeps: the n-th call into the file system, the client's allocator or our own fails, for n = 1, 2, ...
 * until none does. After each the file is opened anew, and what was answered must be what is there. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "fixture.h"

#define START (1700000000 * BELFRY_SECOND)
/* Far more calls than the work below makes; a sweep that gets here does not end. */
#define SWEEP_MAX 5000

struct work {
	struct place place;
	struct belfry_store *store;
	uint64_t version;
	belfry_fence fences[2];
};

static struct belfry_id asked_id(void)
{
	return (struct belfry_id){{1, 0x8b, 0, 0, 0, 0, 0x70, 0, 0x80, 7}};
}

static enum belfry_status do_put(struct work *work)
{
	struct belfry_schedule_put put = {.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED,
			.definition = BF_STR("definition"),
			.payload = BF_STR("payload")};
	struct belfry_advance_item item = {.schedule = BF_STR("s"),
			.put = &put,
			.cursor = START,
			.tz_version = BF_STR("2026a")};
	struct belfry_advance advance = {.size = sizeof(advance), .items = &item, .item_count = 1};
	enum belfry_status status = bf_sqlite_store_ops.advance(work->store, &advance, NULL);

	if (status == BELFRY_OK && item.result == BELFRY_OK) {
		work->version = item.version;
	}
	return status == BELFRY_OK ? item.result : status;
}

static enum belfry_status do_register(struct work *work)
{
	return try_register(work->store, 1);
}

static enum belfry_status do_born(struct work *work)
{
	return plan_run(work->store, "s", &work->version, START, BELFRY_RUN_DISPATCHING, 1,
			&work->fences[0]);
}

static enum belfry_status do_queued(struct work *work)
{
	return plan_run(work->store, "s", &work->version, START + BELFRY_SECOND, BELFRY_RUN_QUEUED,
			0, NULL);
}

static enum belfry_status do_turn(struct work *work)
{
	return turn_run(work->store, run_id("s", START), work->fences[0]);
}

static enum belfry_status do_claim(struct work *work)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_claim claim = {.size = sizeof(claim),
			.kind = BELFRY_CLAIM_QUEUE,
			.holder = incarnation_id(1),
			.max_runs = 10,
			.max_bytes = 1000};
	enum belfry_status status = bf_sqlite_store_ops.claim_runs(work->store, &claim, &arena,
			NULL);

	if (status == BELFRY_OK && claim.run_count > 0) {
		work->fences[1] = claim.runs[0].run.fence;
	} else if (status == BELFRY_OK) {
		status = BELFRY_NOT_FOUND;
	}
	belfry_arena_fini(&arena);
	return status;
}

static enum belfry_status do_fail(struct work *work)
{
	struct belfry_record record = {.kind = BELFRY_RECORD_FAILED,
			.run = run_id("s", START + BELFRY_SECOND),
			.fence = work->fences[1],
			.error = BELFRY_RUN_ERROR_PERMANENT,
			.message = BF_STR("no"),
			.write_attempt = true,
			.attempt = 1};
	enum belfry_status status = bf_sqlite_store_ops.record(work->store, &record, 1, NULL);

	return status == BELFRY_OK ? record.result : status;
}

static enum belfry_status do_ask(struct work *work)
{
	return add_run(work->store, "s", asked_id(), "key");
}

static enum belfry_status do_document(struct work *work)
{
	struct belfry_document document = {.kind = BF_STR("k"),
			.id = BF_STR("d"),
			.name = BF_STR("n"),
			.bytes = BF_STR("bytes")};

	return bf_sqlite_store_ops.documents->put(work->store, &document, 0, NULL);
}

static enum belfry_status do_output(struct work *work)
{
	struct belfry_output output = {.size = sizeof(output),
			.run = run_id("s", START),
			.content_type = BF_STR("text/plain"),
			.bytes = BF_STR("output")};
	const struct belfry_document_ops *documents = bf_sqlite_store_ops.documents;
	enum belfry_status status = documents->write_output(work->store, &output, NULL);

	output.offset = output.bytes.len;
	return status == BELFRY_OK ? documents->write_output(work->store, &output, NULL) : status;
}

static enum belfry_status do_list(struct work *work)
{
	struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_list list = {.size = sizeof(list),
			.kind = BELFRY_LIST_RUNS,
			.schedule = BF_STR("s"),
			.limit = 10};
	enum belfry_status status = bf_sqlite_store_ops.list(work->store, &list, &arena, NULL);

	belfry_arena_fini(&arena);
	return status;
}

static const struct step {
	enum belfry_status (*run)(struct work *work);
	const char *effect; /* a number other than 0 where it took place; NULL: it has none */
} steps[] = {
		{do_put, "SELECT count(*) FROM schedules WHERE id='s' AND revision=1"},
		{do_register, "SELECT count(*) FROM incarnations"},
		{do_born, "SELECT count(*) FROM runs WHERE due_at=1700000000000000"},
		{do_turn, "SELECT count(*) FROM runs WHERE due_at=1700000000000000 AND state=3"},
		{do_queued, "SELECT count(*) FROM runs WHERE due_at=1700000001000000"},
		{do_claim, "SELECT count(*) FROM runs WHERE due_at=1700000001000000 AND state>=2"},
		{do_list, NULL},
		{do_fail, "SELECT count(*) FROM runs WHERE due_at=1700000001000000 AND state=4"},
		{do_ask, "SELECT count(*) FROM runs r JOIN request_keys k ON k.run=r.id"},
		{do_document, "SELECT count(*) FROM documents"},
		{do_output, NULL},
};
#define STEPS (sizeof(steps) / sizeof(steps[0]))

static const char *const invariants[] = {
		"SELECT count(*)-1 FROM pragma_integrity_check",
		"SELECT count(*) FROM pragma_integrity_check WHERE integrity_check<>'ok'",
		"SELECT count(*) FROM runs WHERE in_queue<>(id IN (SELECT id FROM queue))",
		"SELECT count(*) FROM queue WHERE id NOT IN (SELECT id FROM runs)",
		"SELECT count(*) FROM runs WHERE schedule NOT IN (SELECT key FROM schedules)",
		"SELECT count(*) FROM schedules s WHERE s.presence=0 AND NOT EXISTS(SELECT 1 FROM"
		" schedule_revisions v WHERE v.schedule=s.key AND v.revision=s.revision)",
		"SELECT (SELECT value FROM meta WHERE key='schedules')-"
		"(SELECT count(*) FROM schedules WHERE presence=0)",
};

static void check(const struct work *work, const enum belfry_status *answers, int64_t n)
{
	for (size_t i = 0; i < STEPS; i++) {
		if (steps[i].effect == NULL) {
			continue;
		}
		bool is_there = raw_number(&work->place, steps[i].effect) != 0;
		if ((answers[i] == BELFRY_OK && !is_there) ||
				((answers[i] == BELFRY_UNAVAILABLE || answers[i] == BELFRY_NOMEM) &&
						is_there)) {
			fail_msg("fault %lld: step %zu answered %s and its effect is %sthere",
					(long long)n, i, belfry_status_name(answers[i]),
					is_there ? "" : "not ");
		}
	}
	for (size_t i = 0; i < sizeof(invariants) / sizeof(invariants[0]); i++) {
		if (raw_number(&work->place, invariants[i]) != 0) {
			fail_msg("fault %lld: %s", (long long)n, invariants[i]);
		}
	}
}

static bool may_answer(enum belfry_status status)
{
	switch (belfry_status_class(status)) {
	case BELFRY_CLASS_OK:
	case BELFRY_CLASS_CONFLICT:
	case BELFRY_CLASS_GONE: return true;
	case BELFRY_CLASS_RETRY:
	case BELFRY_CLASS_DATA:
	case BELFRY_CLASS_CALLER:
	case BELFRY_CLASS_SYSTEM: break;
	}
	return status == BELFRY_UNAVAILABLE || status == BELFRY_UNKNOWN || status == BELFRY_NOMEM;
}

struct sweep {
	struct bf_fault *fault;
	bool before_open; /* armed before the store is opened, or after */
	int64_t repeat;   /* how many calls fail from the n-th on; -1: all */
};

/* One round. True: the fault fired. */
static bool round_with(const struct sweep *sweep, int64_t n)
{
	struct bf_fault *fault = sweep->fault;
	bool before_open = sweep->before_open;
	struct work work = {0};
	enum belfry_status answers[STEPS];
	struct belfry_error err = {0};

	for (size_t i = 0; i < STEPS; i++) {
		answers[i] = BELFRY_CONFLICT;
	}
	place_init(&work.place, true);
	if (!before_open) {
		work.store = open_migrated(&work.place);
	}
	bf_fault_arm(fault, n, sweep->repeat);
	enum belfry_status status = before_open ? try_open_migrated(&work.place, &work.store, &err)
						: BELFRY_OK;
	for (size_t i = 0; status == BELFRY_OK && i < STEPS; i++) {
		answers[i] = steps[i].run(&work);
		if (!may_answer(answers[i])) {
			fail_msg("fault %lld: step %zu answered %s", (long long)n, i,
					belfry_status_name(answers[i]));
		}
	}
	if (status == BELFRY_OK) {
		close_store(work.store);
	}
	bool has_fired = bf_fault_fired(fault) > 0;
	bf_fault_arm(fault, 0, 0);
	close_store(open_migrated(&work.place));
	check(&work, answers, n);
	place_fini(&work.place);
	return has_fired;
}

static void sweep(struct bf_fault *fault, bool before_open, int64_t repeat)
{
	const struct sweep sweep = {fault, before_open, repeat};
	int64_t n = 1;

	while (round_with(&sweep, n)) {
		assert_true(++n < SWEEP_MAX);
	}
	assert_true(n > 10 || fault == bf_alloc_fault());
}

static void every_file_call_may_fail_while_opening(void **state)
{
	(void)state;
	vfs_set_kind(FAULT_IO);
	sweep(vfs_fault(), true, 1);
}

static void b14_every_file_call_may_fail_while_working(void **state)
{
	(void)state;
	vfs_set_kind(FAULT_IO);
	sweep(vfs_fault(), false, 1);
}

static void b14_the_file_may_fail_for_good_at_every_call(void **state)
{
	(void)state;
	vfs_set_kind(FAULT_IO);
	sweep(vfs_fault(), false, -1);
}

static void b14_the_disk_may_stay_full_from_every_write_on(void **state)
{
	(void)state;
	vfs_set_kind(FAULT_FULL);
	sweep(vfs_fault(), false, -1);
}

static void b14_the_disk_may_be_full_at_every_write(void **state)
{
	(void)state;
	vfs_set_kind(FAULT_FULL);
	sweep(vfs_fault(), false, 1);
}

static void every_allocation_of_the_client_may_fail(void **state)
{
	(void)state;
	sweep(client_memory_fault(), false, 1);
}

static void every_allocation_of_ours_may_fail(void **state)
{
	(void)state;
	sweep(bf_alloc_fault(), true, 1);
}

/* --- the disk stays full, or broken, and then it is not --- */

static bool works_in_time(struct work *work)
{
	const struct bf_env *env = bf_env_system();
	struct bf_boot_time deadline = bf_boot_add(env->boot(NULL), 20 * BELFRY_SECOND);

	while (do_document(work) != BELFRY_OK) {
		if (env->boot(NULL).us > deadline.us) {
			return false;
		}
		(void)poll(NULL, 0, 1);
	}
	return true;
}

static void b14_a_full_disk_is_unavailable_and_still_read(void **state)
{
	struct work work = {0};

	(void)state;
	place_init(&work.place, true);
	work.store = open_migrated(&work.place);
	assert_int_equal(do_put(&work), BELFRY_OK);
	vfs_set_kind(FAULT_FULL);
	bf_fault_arm(vfs_fault(), 1, -1);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(do_document(&work), BELFRY_UNAVAILABLE);
		assert_int_equal(do_list(&work), BELFRY_OK);
	}
	bf_fault_arm(vfs_fault(), 0, 0);
	assert_int_equal(do_document(&work), BELFRY_OK);
	close_store(work.store);
	assert_int_equal(raw_number(&work.place, "SELECT count(*) FROM documents"), 1);
	place_fini(&work.place);
}

static void t074_a_broken_file_is_opened_anew_by_itself(void **state)
{
	struct work work = {0};
	struct bf_sqlite_counts counts;

	(void)state;
	place_init(&work.place, true);
	work.store = open_migrated(&work.place);
	assert_int_equal(do_put(&work), BELFRY_OK);
	vfs_set_kind(FAULT_IO);
	bf_fault_arm(vfs_fault(), 1, -1);
	for (int i = 0; i < 5; i++) {
		enum belfry_status status = do_register(&work);
		assert_true(status == BELFRY_UNAVAILABLE || status == BELFRY_UNKNOWN);
	}
	bf_fault_arm(vfs_fault(), 0, 0);
	assert_true(works_in_time(&work));
	assert_int_equal(do_list(&work), BELFRY_OK);
	bf_sqlite_get_counts(work.store, &counts);
	assert_true(counts.reopened >= 1);
	close_store(work.store);
	place_fini(&work.place);
}

/* A failure is told without the words of what is below. */
static void t066_a_failure_names_no_engine(void **state)
{
	struct work work = {0};
	struct belfry_error err = {0};
	struct belfry_document document = {.kind = BF_STR("k"),
			.id = BF_STR("d"),
			.bytes = BF_STR("bytes")};

	(void)state;
	place_init(&work.place, true);
	work.store = open_migrated(&work.place);
	vfs_set_kind(FAULT_FULL);
	bf_fault_arm(vfs_fault(), 1, -1);
	assert_int_equal(bf_sqlite_store_ops.documents->put(work.store, &document, 0, &err),
			BELFRY_UNAVAILABLE);
	bf_fault_arm(vfs_fault(), 0, 0);
	assert_string_equal(err.message, belfry_status_text(BELFRY_UNAVAILABLE));
	assert_non_null(strstr(err.detail, "full"));
	assert_int_equal(err.driver_code, SQLITE_FULL);
	close_store(work.store);
	place_fini(&work.place);
}

const struct CMUnitTest fault_tests[] = {
		cmocka_unit_test(b14_a_full_disk_is_unavailable_and_still_read),
		cmocka_unit_test(t074_a_broken_file_is_opened_anew_by_itself),
		cmocka_unit_test(t066_a_failure_names_no_engine),
		cmocka_unit_test(b14_every_file_call_may_fail_while_working),
		cmocka_unit_test(b14_the_file_may_fail_for_good_at_every_call),
		cmocka_unit_test(b14_the_disk_may_be_full_at_every_write),
		cmocka_unit_test(b14_the_disk_may_stay_full_from_every_write_on),
		cmocka_unit_test(every_file_call_may_fail_while_opening),
		cmocka_unit_test(every_allocation_of_the_client_may_fail),
		cmocka_unit_test(every_allocation_of_ours_may_fail),
};
const size_t fault_test_count = sizeof(fault_tests) / sizeof(fault_tests[0]);
