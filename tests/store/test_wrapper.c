/* The wrapper: tables that it refuses, arguments that it refuses, faults before and after,
 * counts. */
#include "support.h"

/* --- tables --- */

static void check_refused(const struct belfry_store_ops *ops, const char *word)
{
	struct belfry_error err = {0};

	assert_int_equal(bf_store_check_ops(ops, &err), BELFRY_CONFIGURATION);
	assert_non_null(strstr(err.message, word));
}

static void t083_a_foreign_table_is_refused(void **state)
{
	struct belfry_store_ops ops = bf_memory_store_ops;

	(void)state;
	check_refused(NULL, "no method table");
	ops.seams_abi = BELFRY_SEAMS_ABI + 1;
	check_refused(&ops, "version 3");
	ops.seams_abi = 1; /* its structs have other members in their middle */
	check_refused(&ops, "version 1 of the seams, not 2");
	ops = bf_memory_store_ops;
	ops.size = offsetof(struct belfry_store_ops, list);
	check_refused(&ops, "too short");
	ops = bf_memory_store_ops;
	ops.name = NULL;
	check_refused(&ops, "no name");
	ops.name = "";
	check_refused(&ops, "no name");
	assert_int_equal(bf_store_check_ops(&bf_memory_store_ops, NULL), BELFRY_OK);
}

static void a_missing_method_is_named(void **state)
{
	struct belfry_store_ops ops = bf_memory_store_ops;
	struct belfry_document_ops documents = *bf_memory_store_ops.documents;

	(void)state;
#define MISSING(method)                                                                            \
	do {                                                                                       \
		ops = bf_memory_store_ops;                                                         \
		ops.method = NULL;                                                                 \
		check_refused(&ops, "method " #method " is missing");                              \
	} while (0)
	MISSING(open);
	MISSING(migrate);
	MISSING(close);
	MISSING(time);
	MISSING(beat);
	MISSING(advance);
	MISSING(add_runs);
	MISSING(claim_runs);
	MISSING(record);
	MISSING(prune);
	MISSING(list);
#undef MISSING
	ops = bf_memory_store_ops;
	ops.documents = &documents;
	documents.remove = NULL;
	check_refused(&ops, "documents.remove");
	documents.size = 8;
	check_refused(&ops, "too short");
}

/* An adapter of an older seam: its table ends before what came later. */
static void a_shorter_table_has_no_options(void **state)
{
	struct test_store test;
	struct belfry_store_ops ops = bf_memory_store_ops;

	(void)state;
	ops.size = offsetof(struct belfry_store_ops, wait_fd);
	test_store_init(&test, false);
	struct bf_store *store = NULL;
	test.raw->ops = &ops;
	assert_int_equal(bf_store_share(test.raw, &store, NULL), BELFRY_OK);
	assert_false(bf_store_has_switch(store));
	assert_false(bf_store_has_documents(store));
	struct belfry_document document = {.kind = BF_STR("k"), .id = BF_STR("d")};
	assert_int_equal(bf_store_document_put(store, &document, 0, NULL), BELFRY_CANNOT);
	bf_store_close(store);
	test.raw->ops = &bf_memory_store_ops;
	test_store_fini(&test);
}

static void a_store_is_opened_by_its_table(void **state)
{
	struct belfry_store_options options = {.url = BF_STR("memory:")};
	struct bf_store *store = NULL;
	belfry_time now;

	(void)state;
	assert_int_equal(bf_store_open(&bf_memory_store_ops, &options, &store, NULL), BELFRY_OK);
	assert_int_equal(bf_store_migrate(store, NULL), BELFRY_OK);
	assert_string_equal(bf_store_name(store), "memory");
	assert_int_equal(bf_store_caps(store), 0);
	assert_int_equal(bf_store_time(store, &now, NULL), BELFRY_OK);
	bf_store_close(store);
	assert_int_equal(bf_store_open(&bf_memory_document_store_ops, &options, &store, NULL),
			BELFRY_OK);
	assert_int_equal(bf_store_caps(store), BELFRY_STORE_CAP_SINGLE_DOCUMENT);
	bf_store_close(store);
	bf_store_close(NULL);
}

static void handles_share_one_database(void **state)
{
	struct test_store test;
	struct belfry_store *raw = NULL;
	struct bf_store *other = NULL;

	(void)state;
	test_store_init(&test, false);
	assert_int_equal(bf_memory_store_share(test.raw, &raw), BELFRY_OK);
	assert_int_equal(bf_store_wrap(&raw, &other, NULL), BELFRY_OK);
	test_put(test.store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	assert_int_equal(test_version(other, "a"), test_version(test.store, "a"));
	bf_store_close(test.store);
	test.store = other;
	assert_int_not_equal(test_version(other, "a"), 0);
	test_store_fini(&test);
}

/* --- arguments --- */

static void check_invalid(struct test_store *test, struct belfry_advance_item *item,
		struct belfry_id holder)
{
	struct belfry_advance advance = {.holder = holder, .items = item, .item_count = 1};
	struct belfry_error err = {0};

	assert_int_equal(bf_store_advance(test->store, &advance, &err), BELFRY_INVALID);
	assert_int_not_equal(err.message[0], '\0');
}

static struct belfry_advance_item good_item(struct belfry_new_run *run)
{
	*run = (struct belfry_new_run){.id = test_run_id("a", 1),
			.due_at = test_due(1),
			.stands_for = 1};
	return (struct belfry_advance_item){.schedule = BF_STR("a"),
			.expect_version = 1,
			.cursor = test_due(2),
			.runs = run,
			.run_count = 1};
}

static void an_advance_is_checked_first(void **state)
{
	static char long_text[BELFRY_SCHEDULE_ID_BYTES + 2];
	struct belfry_schedule_put put = {.revision = 0};
	struct belfry_gap gap = {.from = 2, .to = 1};
	struct belfry_id nobody = {{0}};
	struct belfry_new_run run;
	struct test_store test;

	(void)state;
	memset(long_text, 'a', sizeof(long_text) - 1);
	test_store_init(&test, false);
#define BAD(change)                                                                                \
	do {                                                                                       \
		struct belfry_advance_item item = good_item(&run);                                 \
		change;                                                                            \
		check_invalid(&test, &item, nobody);                                               \
	} while (0)
	BAD(item.schedule = BF_STR(""));
	BAD(item.schedule = bf_str(long_text));
	BAD(item.expect_version = 0);
	BAD(item.cursor = -1);
	BAD(item.phase = (enum belfry_phase)99);
	BAD(item.put = &put);
	BAD(item.flags = BELFRY_ADVANCE_F_REMOVE);
	BAD((item.gaps = &gap, item.gap_count = 1));
	BAD(item.runs = NULL);
	BAD((run.id = (struct belfry_id){0}));
	BAD(run.due_at += BELFRY_MILLISECOND);
	BAD(run.stands_for = 0);
	BAD(run.state = BELFRY_RUN_DELAYED);
	BAD(run.state = BELFRY_RUN_DISPATCHING); /* and no holder */
	BAD(run.trigger = (enum belfry_trigger)99);
#undef BAD
	struct belfry_advance_item item = good_item(&run);
	run.state = BELFRY_RUN_DISPATCHING;
	item.flags = BELFRY_ADVANCE_F_END_UNSTARTED;
	check_invalid(&test, &item, test_incarnation(1));
	test_store_fini(&test);
}

static void requests_and_records_are_checked_first(void **state)
{
	struct belfry_add add = {.schedule = BF_STR("a"), .id = {{1}}};
	struct belfry_record record = {.kind = BELFRY_RECORD_SESSION, .run = {{1}}, .fence = 1};
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	assert_int_equal(bf_store_add_runs(test.store, &add, 1, NULL), BELFRY_INVALID);
	add.trigger = BELFRY_TRIGGER_MANUAL;
	add.due_at = 5;
	assert_int_equal(bf_store_add_runs(test.store, &add, 1, NULL), BELFRY_INVALID);
	add.trigger = BELFRY_TRIGGER_BACKFILL;
	assert_int_equal(bf_store_add_runs(test.store, &add, 1, NULL), BELFRY_INVALID);
	add.trigger = BELFRY_TRIGGER_REPLAY;
	add.due_at = 0;
	assert_int_equal(bf_store_add_runs(test.store, &add, 1, NULL), BELFRY_INVALID);
	assert_int_equal(bf_store_record(test.store, &record, 1, NULL), BELFRY_INVALID);
	record.session = BF_STR("s");
	record.fence = 0;
	assert_int_equal(bf_store_record(test.store, &record, 1, NULL), BELFRY_INVALID);
	record = (struct belfry_record){.kind = BELFRY_RECORD_CONCLUDED, .run = {{1}}};
	assert_int_equal(bf_store_record(test.store, &record, 1, NULL), BELFRY_INVALID);
	record = (struct belfry_record){.kind = BELFRY_RECORD_RETRY, .run = {{1}}, .fence = 1};
	assert_int_equal(bf_store_record(test.store, &record, 1, NULL), BELFRY_INVALID);
	test_store_fini(&test);
}

static void reads_beats_and_claims_are_checked_first(void **state)
{
	struct belfry_beat beat = {.kind = BELFRY_BEAT_REGISTER};
	struct belfry_claim claim = {.kind = BELFRY_CLAIM_QUEUE, .max_runs = 1};
	struct belfry_list list = {.kind = BELFRY_LIST_GAPS};
	struct belfry_prune prune = {.max_rows = 0};
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	assert_int_equal(bf_store_beat(test.store, &beat, &test.arena, NULL), BELFRY_INVALID);
	beat = (struct belfry_beat){.kind = BELFRY_BEAT_RENEW, .incarnation = test_incarnation(1)};
	assert_int_equal(bf_store_beat(test.store, &beat, &test.arena, NULL), BELFRY_INVALID);
	assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL),
			BELFRY_INVALID);
	claim = (struct belfry_claim){.holder = test_incarnation(1)};
	assert_int_equal(bf_store_claim_runs(test.store, &claim, &test.arena, NULL),
			BELFRY_INVALID);
	assert_int_equal(bf_store_list(test.store, &list, &test.arena, NULL), BELFRY_INVALID);
	list.kind = BELFRY_LIST_ATTEMPTS;
	assert_int_equal(bf_store_list(test.store, &list, &test.arena, NULL), BELFRY_INVALID);
	list.kind = (enum belfry_list_kind)99;
	assert_int_equal(bf_store_list(test.store, &list, &test.arena, NULL), BELFRY_INVALID);
	assert_int_equal(bf_store_prune(test.store, &prune, NULL), BELFRY_INVALID);
	test_store_fini(&test);
}

static void documents_are_checked_first(void **state)
{
	struct belfry_document document = {.kind = BF_STR(""), .id = BF_STR("d")};
	struct belfry_document_query query = {.limit = 1};
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	assert_int_equal(bf_store_document_put(test.store, &document, 0, NULL), BELFRY_INVALID);
	document.kind = BF_STR("k");
	assert_int_equal(bf_store_document_put(test.store, &document, -1, NULL), BELFRY_INVALID);
	document.id = BF_STR("");
	assert_int_equal(bf_store_document_put(test.store, &document, 0, NULL), BELFRY_INVALID);
	assert_int_equal(bf_store_document_list(test.store, &query, &test.arena, NULL),
			BELFRY_INVALID);
	struct belfry_output output = {0};
	assert_int_equal(bf_store_output_write(test.store, &output, NULL), BELFRY_INVALID);
	output.run = test_run_id("a", 0);
	output.offset = INT64_MAX;
	output.bytes = BF_STR("x");
	assert_int_equal(bf_store_output_write(test.store, &output, NULL), BELFRY_INVALID);
	output.offset = 0;
	output.bytes.ptr = NULL;
	assert_int_equal(bf_store_output_write(test.store, &output, NULL), BELFRY_INVALID);
	test_store_fini(&test);
}

/* --- faults --- */

static enum belfry_status plan_one(struct test_store *test, struct belfry_new_run *run)
{
	struct belfry_advance_item item = good_item(run);
	struct belfry_advance advance = {.items = &item, .item_count = 1};

	return bf_store_advance(test->store, &advance, NULL);
}

static void t021_a_fault_before_does_nothing(void **state)
{
	struct belfry_new_run run;
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	test_put(test.store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	BF_CLEANUP(bf_buf_fini) struct bf_buf before = test_dump(test.store);
	bf_fault_arm(bf_store_fault_before(test.store), 1, 1);
	assert_int_equal(plan_one(&test, &run), BELFRY_UNAVAILABLE);
	BF_CLEANUP(bf_buf_fini) struct bf_buf after = test_dump(test.store);
	assert_string_equal(before.ptr, after.ptr);
	assert_int_equal(plan_one(&test, &run), BELFRY_OK);
	assert_true(run.is_inserted);
	test_store_fini(&test);
}

static void t021_a_fault_after_leaves_it_unknown(void **state)
{
	struct belfry_new_run run;
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	test_put(test.store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	bf_fault_arm(bf_store_fault_after(test.store), 1, 1);
	assert_int_equal(plan_one(&test, &run), BELFRY_UNKNOWN);
	assert_false(run.is_inserted); /* not answered */
	assert_int_equal(test_run(&test, run.id).due_at, test_due(1));
	struct belfry_new_run again;
	struct belfry_advance_item item = good_item(&again);
	struct belfry_advance advance = {.items = &item, .item_count = 1};
	assert_int_equal(bf_store_advance(test.store, &advance, NULL), BELFRY_OK);
	assert_int_equal(item.result, BELFRY_CONFLICT);
	test_store_fini(&test);
}

static void a_read_is_unavailable_and_never_unknown(void **state)
{
	struct belfry_list list = {.kind = BELFRY_LIST_SCHEDULES};
	struct belfry_error err = {0};
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	test_put(test.store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	bf_fault_arm(bf_store_fault_after(test.store), 1, -1);
	assert_int_equal(bf_store_list(test.store, &list, &test.arena, &err), BELFRY_UNAVAILABLE);
	assert_int_equal(list.count, 0);
	assert_null(list.rows);
	assert_string_equal(err.message, belfry_status_text(BELFRY_UNAVAILABLE));
	bf_fault_arm(bf_store_fault_after(test.store), 0, 0);
	test_store_fini(&test);
}

static void b20_calls_and_failures_are_counted(void **state)
{
	struct belfry_new_run run;
	struct test_store test;

	(void)state;
	test_store_init(&test, false);
	test_put(test.store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	uint64_t calls = bf_store_calls(test.store, BF_STORE_ADVANCE);
	assert_int_equal(bf_store_failures(test.store, BF_STORE_ADVANCE), 0);
	bf_fault_arm(bf_store_fault_before(test.store), 1, 1);
	assert_int_equal(plan_one(&test, &run), BELFRY_UNAVAILABLE);
	assert_int_equal(bf_store_calls(test.store, BF_STORE_ADVANCE), calls + 1);
	assert_int_equal(bf_store_failures(test.store, BF_STORE_ADVANCE), 1);
	struct belfry_beat beat = {.kind = BELFRY_BEAT_END, .incarnation = test_incarnation(9)};
	assert_int_equal(bf_store_beat(test.store, &beat, &test.arena, NULL), BELFRY_STALE);
	assert_int_equal(bf_store_calls(test.store, BF_STORE_BEAT), 1);
	assert_int_equal(bf_store_failures(test.store, BF_STORE_BEAT), 0);
	assert_string_equal(bf_store_method_name(BF_STORE_CLAIM_RUNS), "claim_runs");
	assert_string_equal(bf_store_method_name(BF_STORE_OUTPUT), "output");
	assert_string_equal(bf_store_method_name(BF_STORE_METHOD_COUNT), "?");
	test_store_fini(&test);
}

int test_wrapper(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(t083_a_foreign_table_is_refused),
			cmocka_unit_test(a_missing_method_is_named),
			cmocka_unit_test(a_shorter_table_has_no_options),
			cmocka_unit_test(a_store_is_opened_by_its_table),
			cmocka_unit_test(handles_share_one_database),
			cmocka_unit_test(an_advance_is_checked_first),
			cmocka_unit_test(requests_and_records_are_checked_first),
			cmocka_unit_test(reads_beats_and_claims_are_checked_first),
			cmocka_unit_test(documents_are_checked_first),
			cmocka_unit_test(t021_a_fault_before_does_nothing),
			cmocka_unit_test(t021_a_fault_after_leaves_it_unknown),
			cmocka_unit_test(a_read_is_unavailable_and_never_unknown),
			cmocka_unit_test(b20_calls_and_failures_are_counted),
	};

	return cmocka_run_group_tests_name("wrapper", tests, NULL, NULL);
}
