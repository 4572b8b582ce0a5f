/* See support.h. */
#include "support.h"

static belfry_time read_clock(void *data)
{
	return ((struct test_clock *)data)->now;
}

void test_store_init(struct test_store *test, bool single_document)
{
	*test = (struct test_store){.clock = {.now = NOW}, .arena = BELFRY_ARENA_INIT};
	test->clock.env = (struct bf_env){.data = &test->clock, .wall = read_clock};
	struct belfry_store *raw = NULL;
	assert_int_equal(bf_memory_store_new(&test->clock.env, single_document, &raw), BELFRY_OK);
	test->raw = raw;
	assert_int_equal(bf_store_wrap(&raw, &test->store, NULL), BELFRY_OK);
	assert_null(raw);
}

void test_store_fini(struct test_store *test)
{
	bf_store_close(test->store);
	belfry_arena_fini(&test->arena);
}

belfry_time test_due(int n)
{
	return NOW - BELFRY_HOUR + n * BELFRY_SECOND;
}

struct belfry_id test_run_id(const char *schedule, int n)
{
	struct belfry_id id;

	assert_int_equal(belfry_run_id(bf_str(schedule), test_due(n), &id), BELFRY_OK);
	return id;
}

struct belfry_id test_incarnation(unsigned n)
{
	return (struct belfry_id){{0x11, 0x22, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0,
			(unsigned char)n}};
}

void test_begin(struct bf_store *store, unsigned n)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_beat beat = {.kind = BELFRY_BEAT_REGISTER,
			.incarnation = test_incarnation(n),
			.length = BELFRY_MINUTE};

	assert_int_equal(bf_store_beat(store, &beat, &arena, NULL), BELFRY_OK);
	beat.kind = BELFRY_BEAT_RENEW;
	assert_int_equal(bf_store_beat(store, &beat, &arena, NULL), BELFRY_OK);
}

uint64_t test_version(struct bf_store *store, const char *schedule)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str id = bf_str(schedule);
	struct belfry_list list = {.kind = BELFRY_LIST_SCHEDULES, .ids = &id, .id_count = 1};

	assert_int_equal(bf_store_list(store, &list, &arena, NULL), BELFRY_OK);
	return list.count > 0 ? list.rows[0].version : 0;
}

void test_put(struct bf_store *store, const char *schedule, int64_t revision, uint32_t flags)
{
	struct belfry_schedule_put put = {.revision = revision,
			.flags = flags,
			.definition = BF_STR("definition"),
			.fair_key = BF_STR("owner"),
			.payload = BF_STR("payload")};
	struct belfry_advance_item item = {.schedule = bf_str(schedule),
			.expect_version = test_version(store, schedule),
			.put = &put,
			.cursor = test_due(0),
			.tz_version = BF_STR("2026a")};
	struct belfry_advance advance = {.items = &item, .item_count = 1};

	assert_int_equal(bf_store_advance(store, &advance, NULL), BELFRY_OK);
	assert_int_equal(item.result, BELFRY_OK);
}

void test_plan(struct bf_store *store, const char *schedule, int first, int count)
{
	struct belfry_new_run runs[16];
	struct belfry_advance_item item = {.schedule = bf_str(schedule),
			.expect_version = test_version(store, schedule),
			.cursor = test_due(first + count),
			.runs = runs,
			.run_count = (size_t)count};
	struct belfry_advance advance = {.items = &item, .item_count = 1};

	assert_in_range(count, 1, 16);
	for (int i = 0; i < count; i++) {
		runs[i] = (struct belfry_new_run){.id = test_run_id(schedule, first + i),
				.due_at = test_due(first + i),
				.ready_at = test_due(first + i),
				.stands_for = 1};
	}
	assert_int_equal(bf_store_advance(store, &advance, NULL), BELFRY_OK);
	assert_int_equal(item.result, BELFRY_OK);
}

struct belfry_run test_run(struct test_store *test, struct belfry_id id)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUN_IDS, .run_ids = &id, .run_id_count = 1};

	assert_int_equal(bf_store_list(test->store, &list, &test->arena, NULL), BELFRY_OK);
	return list.count > 0 ? list.runs[0] : (struct belfry_run){0};
}

/* --- the dump --- */

static void dump_row(struct bf_buf *buf, struct bf_store *store, struct belfry_arena *arena,
		const struct belfry_schedule_row *row)
{
	struct belfry_list gaps = {.kind = BELFRY_LIST_GAPS, .schedule = row->id};

	bf_buf_appendf(buf, "schedule %.*s version %llu revision %lld flags %u removed %d ",
			BF_STR_ARGS(row->id), (unsigned long long)row->version,
			(long long)row->revision, row->flags, row->is_removed);
	bf_buf_appendf(buf, "cursor %lld idle %lld fired %lld %.*s\n", (long long)row->cursor,
			(long long)row->idle_since, (long long)row->fired_count,
			BF_STR_ARGS(row->definition));
	assert_int_equal(bf_store_list(store, &gaps, arena, NULL), BELFRY_OK);
	for (size_t i = 0; i < gaps.count; i++) {
		bf_buf_appendf(buf, "  gap %lld %lld %lld\n", (long long)gaps.gaps[i].from,
				(long long)gaps.gaps[i].to, (long long)gaps.gaps[i].count);
	}
}

static void dump_run(struct bf_buf *buf, struct bf_store *store, struct belfry_arena *arena,
		const struct belfry_run *run)
{
	char id[BELFRY_ID_TEXT_BYTES];
	char holder[BELFRY_ID_TEXT_BYTES];
	struct belfry_list attempts = {.kind = BELFRY_LIST_ATTEMPTS,
			.run_ids = &run->id,
			.run_id_count = 1};

	belfry_id_format(run->id, id);
	belfry_id_format(run->holder, holder);
	assert_int_equal(bf_store_list(store, &attempts, arena, NULL), BELFRY_OK);
	bf_buf_appendf(buf, "run %s of %.*s %s %s error %s holder %s fence %llu attempt %u ", id,
			BF_STR_ARGS(run->schedule), belfry_run_state_name(run->state),
			belfry_run_status_name(run->status), belfry_run_error_name(run->error),
			holder, (unsigned long long)run->fence, run->attempt);
	bf_buf_appendf(buf, "failures %u takeovers %u ready %lld session %.*s turn %.*s rows %zu\n",
			run->failures, run->takeovers, (long long)run->ready_at,
			BF_STR_ARGS(run->session), BF_STR_ARGS(run->turn), attempts.count);
}

static void dump_incarnations(struct bf_buf *buf, struct bf_store *store,
		struct belfry_arena *arena)
{
	struct belfry_list list = {.kind = BELFRY_LIST_INCARNATIONS};

	assert_int_equal(bf_store_list(store, &list, arena, NULL), BELFRY_OK);
	for (size_t i = 0; i < list.count; i++) {
		bf_buf_appendf(buf, "incarnation %u beat %llu until %lld ended %lld\n",
				list.incarnations[i].id.bytes[15],
				(unsigned long long)list.incarnations[i].beat,
				(long long)list.incarnations[i].covered_until,
				(long long)list.incarnations[i].ended_at);
	}
}

struct bf_buf test_dump(struct bf_store *store)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct bf_buf buf = {0};
	struct belfry_list rows = {.kind = BELFRY_LIST_SCHEDULES};
	struct belfry_list runs = {.kind = BELFRY_LIST_RUNS};

	assert_int_equal(bf_store_list(store, &rows, &arena, NULL), BELFRY_OK);
	for (size_t i = 0; i < rows.count; i++) {
		dump_row(&buf, store, &arena, &rows.rows[i]);
	}
	assert_int_equal(bf_store_list(store, &runs, &arena, NULL), BELFRY_OK);
	for (size_t i = 0; i < runs.count; i++) {
		dump_run(&buf, store, &arena, &runs.runs[i]);
	}
	dump_incarnations(&buf, store, &arena);
	assert_int_equal(bf_buf_status(&buf), BELFRY_OK);
	return buf;
}
