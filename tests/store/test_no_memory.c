/* Memory that runs out at the first, second, third ... allocation of a call: the answer is
 * BELFRY_NOMEM and nothing was done. The last round, in which none fails, proves that the sweep
 * ended. */
#include "support.h"

#include "base/alloc.h"

struct sweep {
	struct test_store *test;
	struct belfry_claim claimed; /* by incarnation 1, before the sweep */
	struct belfry_arena arena;   /* of the call: empty, so that it allocates */
};

typedef enum belfry_status (*sweep_fn)(struct sweep *sweep);

static void begin(struct sweep *sweep, struct test_store *test)
{
	test_store_init(test, false);
	*sweep = (struct sweep){.test = test, .arena = BELFRY_ARENA_INIT};
	test_begin(test->store, 1);
	test_put(test->store, "a", 1, BELFRY_SCHEDULE_F_ENABLED);
	test_plan(test->store, "a", 0, 2);
	sweep->claimed = (struct belfry_claim){.kind = BELFRY_CLAIM_QUEUE,
			.holder = test_incarnation(1),
			.max_runs = 2,
			.max_bytes = 1000};
	assert_int_equal(bf_store_claim_runs(test->store, &sweep->claimed, &test->arena, NULL),
			BELFRY_OK);
	test_plan(test->store, "a", 2, 3);
}

static void sweep_call(sweep_fn call)
{
	for (int64_t n = 1;; n++) {
		struct sweep sweep;
		struct test_store test;

		begin(&sweep, &test);
		BF_CLEANUP(bf_buf_fini) struct bf_buf before = test_dump(test.store);
		bf_fault_arm(bf_alloc_fault(), n, -1);
		enum belfry_status status = call(&sweep);
		bool has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_int_equal(status, has_fired ? BELFRY_NOMEM : BELFRY_OK);
		BF_CLEANUP(bf_buf_fini) struct bf_buf after = test_dump(test.store);
		if (has_fired) {
			assert_string_equal(before.ptr, after.ptr);
		}
		belfry_arena_fini(&sweep.arena);
		test_store_fini(&test);
		if (!has_fired) {
			assert_true(n > 1);
			return;
		}
	}
}

static enum belfry_status call_advance(struct sweep *sweep)
{
	struct belfry_gap gap = {.from = 1, .to = 2, .count = 1, .who = BF_STR("planner")};
	struct belfry_new_run runs[2] = {{.id = test_run_id("a", 5),
							 .state = BELFRY_RUN_DISPATCHING,
							 .due_at = test_due(5),
							 .stands_for = 1},
			{.id = test_run_id("a", 6), .due_at = test_due(6), .stands_for = 1}};
	struct belfry_schedule_put put = {.revision = 1, .payload = BF_STR("other")};
	struct belfry_advance_item items[2] = {{.schedule = BF_STR("a"),
							       .expect_version = 3,
							       .cursor = test_due(7),
							       .tz_version = BF_STR("2026b"),
							       .runs = runs,
							       .run_count = 2,
							       .gaps = &gap,
							       .gap_count = 1},
			{.schedule = BF_STR("b"), .put = &put, .cursor = BELFRY_TIME_NEVER}};
	struct belfry_advance advance = {.holder = test_incarnation(1),
			.items = items,
			.item_count = 2};
	enum belfry_status status = bf_store_advance(sweep->test->store, &advance, NULL);

	assert_true(status != BELFRY_OK || items[0].result == BELFRY_OK);
	return status;
}

static enum belfry_status call_claim(struct sweep *sweep)
{
	struct belfry_claim claim = {.kind = BELFRY_CLAIM_QUEUE,
			.holder = test_incarnation(1),
			.max_runs = 9,
			.max_bytes = 1000};

	return bf_store_claim_runs(sweep->test->store, &claim, &sweep->arena, NULL);
}

static enum belfry_status call_record(struct sweep *sweep)
{
	struct belfry_record records[2] = {
			{.kind = BELFRY_RECORD_SESSION,
					.run = sweep->claimed.runs[0].run.id,
					.fence = sweep->claimed.runs[0].run.fence,
					.session = BF_STR("session")},
			{.kind = BELFRY_RECORD_FAILED,
					.run = sweep->claimed.runs[1].run.id,
					.fence = sweep->claimed.runs[1].run.fence,
					.error = BELFRY_RUN_ERROR_PERMANENT,
					.message = BF_STR("no"),
					.detail = BF_STR("because"),
					.write_attempt = true}};
	enum belfry_status status = bf_store_record(sweep->test->store, records, 2, NULL);

	assert_true(status != BELFRY_OK || records[0].result == BELFRY_OK);
	return status;
}

static enum belfry_status call_add(struct sweep *sweep)
{
	struct belfry_add add = {.schedule = BF_STR("a"),
			.id = {{1, 2, 3, 4, 5, 6, 0x70, 0, 0x80}},
			.trigger = BELFRY_TRIGGER_MANUAL,
			.tz_version = BF_STR("2026a"),
			.request_key = BF_STR("key")};

	return bf_store_add_runs(sweep->test->store, &add, 1, NULL);
}

static enum belfry_status call_register(struct sweep *sweep)
{
	struct belfry_beat beat = {.kind = BELFRY_BEAT_REGISTER,
			.incarnation = test_incarnation(5),
			.identity = BF_STR("host"),
			.version = BF_STR("1"),
			.tz_version = BF_STR("2026a")};

	return bf_store_beat(sweep->test->store, &beat, &sweep->arena, NULL);
}

static enum belfry_status call_renew(struct sweep *sweep)
{
	struct belfry_beat beat = {.kind = BELFRY_BEAT_RENEW,
			.incarnation = test_incarnation(1),
			.length = BELFRY_MINUTE};

	return bf_store_beat(sweep->test->store, &beat, &sweep->arena, NULL);
}

static enum belfry_status call_put_document(struct sweep *sweep)
{
	struct belfry_document document = {.kind = BF_STR("deployment"),
			.id = BF_STR("d"),
			.owner = BF_STR("ann"),
			.name = BF_STR("n"),
			.bytes = BF_STR("bytes")};

	return bf_store_document_put(sweep->test->store, &document, 0, NULL);
}

static void an_advance_is_whole_or_nothing(void **state)
{
	(void)state;
	sweep_call(call_advance);
}

static void a_claim_is_whole_or_nothing(void **state)
{
	(void)state;
	sweep_call(call_claim);
}

static void a_record_is_whole_or_nothing(void **state)
{
	(void)state;
	sweep_call(call_record);
}

static void a_request_is_whole_or_nothing(void **state)
{
	(void)state;
	sweep_call(call_add);
}

static void a_beat_is_whole_or_nothing(void **state)
{
	(void)state;
	sweep_call(call_register);
	sweep_call(call_renew);
}

static void a_document_is_whole_or_nothing(void **state)
{
	(void)state;
	sweep_call(call_put_document);
}

/* Opening, too, leaves nothing behind. */
static void a_store_opens_or_does_not(void **state)
{
	struct test_clock clock = {.now = NOW};
	struct belfry_store *raw = NULL;
	struct bf_store *store = NULL;
	enum belfry_status status = BELFRY_NOMEM;

	(void)state;
	for (int64_t n = 1; status != BELFRY_OK; n++) {
		bf_fault_arm(bf_alloc_fault(), n, 1);
		status = bf_memory_store_new(&clock.env, false, &raw);
		status = status == BELFRY_OK ? bf_store_wrap(&raw, &store, NULL) : status;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(status == BELFRY_OK || status == BELFRY_NOMEM);
	}
	bf_store_close(store);
}

int test_no_memory(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(an_advance_is_whole_or_nothing),
			cmocka_unit_test(a_claim_is_whole_or_nothing),
			cmocka_unit_test(a_record_is_whole_or_nothing),
			cmocka_unit_test(a_request_is_whole_or_nothing),
			cmocka_unit_test(a_beat_is_whole_or_nothing),
			cmocka_unit_test(a_document_is_whole_or_nothing),
			cmocka_unit_test(a_store_opens_or_does_not),
	};

	return cmocka_run_group_tests_name("no memory", tests, NULL, NULL);
}
