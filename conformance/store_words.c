/* The short ways in which the cases speak to a store. They call its method table as it is: a
 * fixture that wants a wrapper between puts one into the table. */
#include <stdio.h>

#include "conformance/store_priv.h"

/* --- values --- */

struct belfry_str bf_suite_str(const char *text)
{
	return (struct belfry_str){text, text != NULL ? strlen(text) : 0};
}

bool bf_suite_is(struct belfry_str text, const char *expected)
{
	size_t len = strlen(expected);

	return text.len == len && (len == 0 || memcmp(text.ptr, expected, len) == 0);
}

bool bf_suite_same_id(struct belfry_id a, struct belfry_id b)
{
	return memcmp(a.bytes, b.bytes, sizeof(a.bytes)) == 0;
}

bool bf_suite_is_zero(struct belfry_id id)
{
	return bf_suite_same_id(id, (struct belfry_id){0});
}

belfry_time bf_suite_due(const struct belfry_store_trial *trial, int n)
{
	belfry_time base = trial->start - trial->start % BELFRY_SECOND - BELFRY_HOUR;

	return base + n * BELFRY_SECOND;
}

struct belfry_id bf_suite_run_id(const char *schedule, belfry_time due)
{
	struct belfry_id id = {0};

	if (belfry_run_id(bf_suite_str(schedule), due, &id) != BELFRY_OK) {
		return (struct belfry_id){0};
	}
	return id;
}

struct belfry_id bf_suite_request_id(const struct belfry_store_trial *trial, unsigned n)
{
	uint64_t ms = (uint64_t)(trial->start / BELFRY_MILLISECOND);
	struct belfry_id id = {0};

	for (unsigned i = 0; i < 6; i++) {
		id.bytes[i] = (unsigned char)(ms >> (8 * (5 - i)));
	}
	id.bytes[6] = 0x70;
	id.bytes[8] = 0x80;
	id.bytes[14] = (unsigned char)(n >> 8);
	id.bytes[15] = (unsigned char)n;
	return id;
}

struct belfry_id bf_suite_incarnation_id(unsigned n)
{
	struct belfry_id id = {{0x5a, 0, 0, 0, 0, 0, 0x40, 0, 0x80}};

	id.bytes[14] = (unsigned char)(n >> 8);
	id.bytes[15] = (unsigned char)n;
	return id;
}

/* --- beats --- */

belfry_time bf_suite_now(struct belfry_store_trial *trial)
{
	belfry_time now = 0;

	CHECK(trial, trial->store->ops->time(trial->store, &now, NULL) == BELFRY_OK);
	CHECK(trial, now > 0);
	return now;
}

enum belfry_status bf_suite_beat_on(struct belfry_store_trial *trial, struct belfry_store *store,
		struct belfry_beat *beat)
{
	beat->size = sizeof(*beat);
	return store->ops->beat(store, beat, &trial->arena, NULL);
}

struct belfry_id bf_suite_begin_incarnation(struct belfry_store_trial *trial, unsigned n)
{
	struct belfry_beat beat = {.kind = BELFRY_BEAT_REGISTER,
			.incarnation = bf_suite_incarnation_id(n),
			.length = BELFRY_MINUTE,
			.identity = bf_suite_str("host-1"),
			.version = bf_suite_str("0.1.0"),
			.tz_version = bf_suite_str("2026a")};

	CHECK(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	CHECK(trial, bf_suite_renew(trial, beat.incarnation, &beat) == BELFRY_OK);
	return bf_suite_incarnation_id(n);
}

enum belfry_status bf_suite_renew(struct belfry_store_trial *trial, struct belfry_id id,
		struct belfry_beat *ret_beat)
{
	*ret_beat = (struct belfry_beat){.kind = BELFRY_BEAT_RENEW,
			.incarnation = id,
			.length = BELFRY_MINUTE};
	return bf_suite_beat_on(trial, trial->store, ret_beat);
}

enum belfry_status bf_suite_declare_dead(struct belfry_store_trial *trial, struct belfry_id id,
		uint64_t beat)
{
	struct belfry_beat dead = {.kind = BELFRY_BEAT_DEAD,
			.incarnation = id,
			.expect_beat = beat};

	return bf_suite_beat_on(trial, trial->store, &dead);
}

enum belfry_status bf_suite_end_incarnation(struct belfry_store_trial *trial, struct belfry_id id)
{
	struct belfry_beat end = {.kind = BELFRY_BEAT_END, .incarnation = id};

	return bf_suite_beat_on(trial, trial->store, &end);
}

/* --- schedules --- */

enum belfry_status bf_suite_advance(struct belfry_store_trial *trial,
		struct belfry_advance *advance)
{
	advance->size = sizeof(*advance);
	return trial->store->ops->advance(trial->store, advance, NULL);
}

enum belfry_status bf_suite_advance_item(struct belfry_store_trial *trial, struct belfry_id holder,
		struct belfry_advance_item *item)
{
	struct belfry_advance advance = {.holder = holder, .items = item, .item_count = 1};
	enum belfry_status status = bf_suite_advance(trial, &advance);

	CHECK(trial, status != BELFRY_OK || advance.now > 0);
	return status != BELFRY_OK ? status : item->result;
}

uint64_t bf_suite_put_flags(struct belfry_store_trial *trial, const char *schedule,
		int64_t revision, uint32_t flags, uint32_t item_flags, belfry_time cursor)
{
	char payload[64];
	char definition[64];
	struct belfry_schedule_row row;
	bool is_there = bf_suite_find_row(trial, schedule, &row);

	(void)snprintf(payload, sizeof(payload), "payload %lld", (long long)revision);
	(void)snprintf(definition, sizeof(definition), "definition %lld", (long long)revision);
	struct belfry_schedule_put put = {.revision = revision,
			.flags = flags,
			.definition = bf_suite_str(definition),
			.fair_key = bf_suite_str("owner"),
			.payload = bf_suite_str(payload)};
	struct belfry_advance_item item = {.schedule = bf_suite_str(schedule),
			.expect_version = is_there && !row.is_removed ? row.version : 0,
			.flags = item_flags,
			.put = &put,
			.cursor = cursor,
			.decided_at = trial->start,
			.tz_version = bf_suite_str("2026a")};
	enum belfry_status status = bf_suite_advance_item(trial, (struct belfry_id){0}, &item);
	return status == BELFRY_OK ? item.version : 0;
}

uint64_t bf_suite_put(struct belfry_store_trial *trial, const char *schedule, int64_t revision,
		belfry_time cursor)
{
	uint64_t version = bf_suite_put_flags(trial, schedule, revision, BELFRY_SCHEDULE_F_ENABLED,
			0, cursor);

	CHECK(trial, version != 0);
	return version;
}

bool bf_suite_plan(struct belfry_store_trial *trial, const char *schedule, belfry_time due,
		enum belfry_run_state state, struct belfry_id holder)
{
	struct belfry_new_run run = {.id = bf_suite_run_id(schedule, due),
			.trigger = BELFRY_TRIGGER_SCHEDULE,
			.state = state,
			.due_at = due,
			.ready_at = due,
			.stands_for = 1};
	struct belfry_advance_item item = {.schedule = bf_suite_str(schedule),
			.expect_version = bf_suite_row(trial, schedule).version,
			.cursor = due + BELFRY_SECOND,
			.tz_version = bf_suite_str("2026a"),
			.last_fire_at = due,
			.runs = &run,
			.run_count = 1};

	CHECK(trial, bf_suite_advance_item(trial, holder, &item) == BELFRY_OK);
	return run.is_inserted;
}

/* --- Runs --- */

enum belfry_status bf_suite_add(struct belfry_store_trial *trial, struct belfry_add *add)
{
	enum belfry_status status = trial->store->ops->add_runs(trial->store, add, 1, NULL);

	return status != BELFRY_OK ? status : add->result;
}

struct belfry_id bf_suite_request(struct belfry_store_trial *trial, const char *schedule,
		unsigned n)
{
	struct belfry_add add = {.schedule = bf_suite_str(schedule),
			.id = bf_suite_request_id(trial, n),
			.trigger = BELFRY_TRIGGER_MANUAL,
			.tz_version = bf_suite_str("2026a")};

	CHECK(trial, bf_suite_add(trial, &add) == BELFRY_OK);
	CHECK(trial, add.is_new && bf_suite_same_id(add.existing, add.id));
	return add.id;
}

struct belfry_claim bf_suite_claim(struct belfry_store_trial *trial, enum belfry_claim_kind kind,
		struct belfry_id holder, uint32_t max_runs)
{
	struct belfry_claim claim = {.size = sizeof(claim),
			.kind = kind,
			.holder = holder,
			.max_runs = max_runs,
			.max_bytes = UINT64_MAX / 2};

	CHECK(trial,
			trial->store->ops->claim_runs(trial->store, &claim, &trial->arena, NULL) ==
					BELFRY_OK);
	return claim;
}

enum belfry_status bf_suite_claim_status(struct belfry_store_trial *trial,
		enum belfry_claim_kind kind, struct belfry_id holder)
{
	struct belfry_claim claim = {.size = sizeof(claim),
			.kind = kind,
			.holder = holder,
			.max_runs = 1,
			.max_bytes = UINT64_MAX / 2};

	return trial->store->ops->claim_runs(trial->store, &claim, &trial->arena, NULL);
}

struct belfry_run bf_suite_claimed_run(struct belfry_store_trial *trial, const char *schedule,
		struct belfry_id holder)
{
	belfry_time due = bf_suite_due(trial, 0);

	(void)bf_suite_put(trial, schedule, 1, due);
	CHECK(trial, bf_suite_plan(trial, schedule, due, BELFRY_RUN_QUEUED, (struct belfry_id){0}));
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	if (!CHECK(trial, claim.run_count == 1)) {
		return (struct belfry_run){0};
	}
	return claim.runs[0].run;
}

struct belfry_record bf_suite_record_of(const struct belfry_run *run, enum belfry_record_kind kind)
{
	return (struct belfry_record){.kind = kind,
			.run = run->id,
			.fence = run->fence,
			.attempt = run->attempt,
			.step = kind == BELFRY_RECORD_SESSION ? BELFRY_STEP_SESSION
							      : BELFRY_STEP_TURN,
			.attempt_started_at = run->started_at};
}

enum belfry_status bf_suite_record(struct belfry_store_trial *trial, struct belfry_record *record)
{
	enum belfry_status status = trial->store->ops->record(trial->store, record, 1, NULL);

	return status != BELFRY_OK ? status : record->result;
}

enum belfry_status bf_suite_finish_run(struct belfry_store_trial *trial,
		const struct belfry_run *run, enum belfry_run_status status)
{
	struct belfry_record record = bf_suite_record_of(run, BELFRY_RECORD_TURN);

	record.turn = bf_suite_str("turn");
	record.status = status;
	return bf_suite_record(trial, &record);
}

/* --- reading --- */

void bf_suite_list(struct belfry_store_trial *trial, struct belfry_list *list)
{
	list->size = sizeof(*list);
	list->limit = list->limit != 0 ? list->limit : 1000;
	enum belfry_status status = trial->store->ops->list(trial->store, list, &trial->arena,
			NULL);
	if (!CHECK(trial, status == BELFRY_OK)) {
		list->count = 0;
	}
	CHECK(trial, status != BELFRY_OK || list->now > 0);
}

bool bf_suite_find_row(struct belfry_store_trial *trial, const char *schedule,
		struct belfry_schedule_row *ret_row)
{
	struct belfry_str id = bf_suite_str(schedule);
	struct belfry_list list = {.kind = BELFRY_LIST_SCHEDULES, .ids = &id, .id_count = 1};

	bf_suite_list(trial, &list);
	if (list.count == 0) {
		return false;
	}
	*ret_row = list.rows[0];
	return CHECK(trial, list.count == 1 && bf_suite_is(list.rows[0].id, schedule));
}

struct belfry_schedule_row bf_suite_row(struct belfry_store_trial *trial, const char *schedule)
{
	struct belfry_schedule_row row = {0};

	CHECK(trial, bf_suite_find_row(trial, schedule, &row));
	return row;
}

bool bf_suite_find_run(struct belfry_store_trial *trial, struct belfry_id id,
		struct belfry_run *ret_run)
{
	struct belfry_list list = {.kind = BELFRY_LIST_RUN_IDS, .run_ids = &id, .run_id_count = 1};

	bf_suite_list(trial, &list);
	if (list.count == 0) {
		return false;
	}
	*ret_run = list.runs[0];
	return CHECK(trial, list.count == 1 && bf_suite_same_id(list.runs[0].id, id));
}

struct belfry_run bf_suite_run(struct belfry_store_trial *trial, struct belfry_id id)
{
	struct belfry_run run = {0};

	CHECK(trial, bf_suite_find_run(trial, id, &run));
	return run;
}

struct belfry_str bf_suite_payload(struct belfry_store_trial *trial, struct belfry_id run)
{
	struct belfry_list list = {.kind = BELFRY_LIST_INVOCATIONS,
			.run_ids = &run,
			.run_id_count = 1};

	bf_suite_list(trial, &list);
	if (!CHECK(trial, list.count == 1)) {
		return (struct belfry_str){0};
	}
	return list.invocations[0].payload;
}

struct belfry_counts bf_suite_counts(struct belfry_store_trial *trial)
{
	struct belfry_list list = {.kind = BELFRY_LIST_COUNTS};

	bf_suite_list(trial, &list);
	if (!CHECK(trial, list.counts != NULL)) {
		return (struct belfry_counts){0};
	}
	return *list.counts;
}

bool bf_suite_find_incarnation(struct belfry_store_trial *trial, struct belfry_id id,
		struct belfry_incarnation *ret_row)
{
	struct belfry_list list = {.kind = BELFRY_LIST_INCARNATIONS};

	bf_suite_list(trial, &list);
	for (size_t i = 0; i < list.count; i++) {
		if (bf_suite_same_id(list.incarnations[i].id, id)) {
			*ret_row = list.incarnations[i];
			return true;
		}
	}
	return false;
}

struct belfry_incarnation bf_suite_incarnation(struct belfry_store_trial *trial,
		struct belfry_id id)
{
	struct belfry_incarnation row = {0};

	CHECK(trial, bf_suite_find_incarnation(trial, id, &row));
	return row;
}
