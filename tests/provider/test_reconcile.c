/* Reconcile: what is in the list is there, what is not goes, and nothing fires because of it. */
#include "cases.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "host.h"

struct list {
	const struct belfry_schedule *schedules;
	size_t count;
	size_t at;
	enum belfry_status end; /* NEVER, or a failure of the host's own */
	/* While the list is being read: what is put when element `put_at` is asked for. */
	struct host *host;
	const struct belfry_schedule *put;
	size_t put_at;
	bool is_put;
	/* What was asked, and what was refused. */
	size_t loads;
	const char *broken; /* the id of one that cannot be loaded */
	enum belfry_status broken_by;
	size_t refusals;
	char refused[65];
	struct belfry_error why;
};

static enum belfry_status next(void *data, struct belfry_str *ret_id, int64_t *ret_revision,
		struct belfry_error *err)
{
	struct list *list = data;

	(void)err;
	if (list->put != NULL && !list->is_put && list->at == list->put_at) {
		assert_int_equal(host_apply(list->host, list->put), BELFRY_OK);
		list->is_put = true;
	}
	if (list->at == list->count) {
		return list->end;
	}
	*ret_id = list->schedules[list->at].id;
	*ret_revision = list->schedules[list->at++].revision;
	return BELFRY_OK;
}

static enum belfry_status load(void *data, struct belfry_str id,
		struct belfry_schedule *ret_schedule, struct belfry_error *err)
{
	struct list *list = data;

	list->loads++;
	if (list->broken != NULL && bf_str_equal(id, bf_str(list->broken))) {
		return bf_error_set(err, list->broken_by, "it cannot be loaded");
	}
	if (list->is_put && bf_str_equal(id, list->put->id)) {
		*ret_schedule = *list->put;
		return BELFRY_OK;
	}
	for (size_t i = 0; i < list->count; i++) {
		if (bf_str_equal(id, list->schedules[i].id)) {
			*ret_schedule = list->schedules[i];
			return BELFRY_OK;
		}
	}
	return BELFRY_NOT_FOUND;
}

static void refused(void *data, struct belfry_str id, int64_t revision,
		const struct belfry_error *why)
{
	struct list *list = data;

	(void)revision;
	list->refusals++;
	(void)snprintf(list->refused, sizeof(list->refused), "%.*s", BF_STR_ARGS(id));
	list->why = *why;
}

static enum belfry_status reconcile_list(struct host *host, struct list *list)
{
	struct belfry_schedule_iterator iterator = {list, next, load, refused};

	list->end = list->end != BELFRY_OK ? list->end : BELFRY_NEVER;
	return belfry_scheduler_reconcile(host->scheduler, &iterator, &host->err);
}

/* Nobody hears of refusals but by the answer. */
static enum belfry_status reconcile(struct host *host, const struct belfry_schedule *schedules,
		size_t count)
{
	struct list list = {.schedules = schedules, .count = count, .end = BELFRY_NEVER};
	struct belfry_schedule_iterator iterator = {&list, next, load, NULL};

	return belfry_scheduler_reconcile(host->scheduler, &iterator, &host->err);
}

static struct belfry_schedule_state state_of(struct host *host, const char *id)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_str ids[] = {bf_str(id)};
	struct belfry_schedule_state *states = NULL;

	assert_int_equal(belfry_scheduler_state(host->scheduler, ids, 1, &arena, &states, NULL),
			BELFRY_OK);
	return states[0]; /* its text is not looked at */
}

static int set_up(void **state)
{
	struct shelf *shelf = bf_alloc(sizeof(*shelf));

	shelf_init(shelf, false);
	*state = shelf;
	return 0;
}

static int tear_down(void **state)
{
	shelf_fini(*state);
	bf_free(*state);
	return 0;
}

static void t076_t077_t078_it_adds_changes_removes_and_is_idempotent(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct host *host = host_new(*state);
	struct belfry_schedule orphan = schedule_of("b", 1, "0 0 1 1 *");
	struct belfry_schedule kept = schedule_of("c", 5, "0 0 1 1 *");
	struct belfry_schedule list[] = {schedule_of("a", 1, "0 0 2 1 *"),
			schedule_of("c", 6, "0 0 3 1 *"), schedule_of("d", 1, "0 0 4 1 *")};
	struct belfry_run_query query = {.size = sizeof(query), .limit = 10};

	list[2].flags = 0;
	assert_int_equal(host_apply(host, &orphan), BELFRY_OK);
	assert_int_equal(host_apply(host, &kept), BELFRY_OK);
	struct belfry_id run = host_run_now(host, "b");
	for (int i = 0; i < 2; i++) {
		assert_int_equal(reconcile(host, list, BF_COUNT(list)), BELFRY_OK);
		assert_true(state_of(host, "a").is_known);
		assert_true(state_of(host, "a").next_due != BELFRY_TIME_NEVER);
		assert_false(state_of(host, "b").is_known);
		assert_int_equal(state_of(host, "c").revision, 6);
		assert_true(state_of(host, "d").is_known);
		assert_true(state_of(host, "d").next_due == BELFRY_TIME_NEVER);
	}
	/* The orphan's Runs stay listed; none was made. */
	assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &query, &arena, NULL),
			BELFRY_OK);
	assert_int_equal(query.count, 1);
	assert_int_equal(bf_id_compare(query.runs[0].id, run), 0);
	host_free(host, 0);
}

static void an_older_list_does_not_bring_back_what_is_newer(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule newer = schedule_of("a", 7, "0 0 1 1 *");
	struct belfry_schedule older = schedule_of("a", 6, "0 0 2 1 *");

	assert_int_equal(host_apply(host, &newer), BELFRY_OK);
	belfry_time due = state_of(host, "a").next_due;
	assert_int_equal(reconcile(host, &older, 1), BELFRY_OK);
	assert_int_equal(state_of(host, "a").revision, 7);
	assert_true(state_of(host, "a").next_due == due);
	host_free(host, 0);
}

static void a_bad_element_is_named_and_the_others_go_on(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule list[] = {schedule_of("a", 1, "0 0 2 1 *"),
			schedule_of("bad", 1, "0 0 31 2 *"), schedule_of("c", 1, "0 0 2 1 *")};
	struct list told = {.schedules = list, .count = BF_COUNT(list)};

	assert_int_equal(reconcile_list(host, &told), BELFRY_OK);
	assert_int_equal(told.refusals, 1);
	assert_string_equal(told.refused, "bad");
	assert_int_equal(told.why.status, BELFRY_INVALID_SCHEDULE);
	assert_true(told.why.message[0] != '\0');
	assert_true(state_of(host, "a").is_known && state_of(host, "c").is_known);
	assert_false(state_of(host, "bad").is_known);
	/* Where nobody hears of it, it is the answer. */
	assert_int_equal(reconcile(host, list, BF_COUNT(list)), BELFRY_INVALID_SCHEDULE);
	assert_non_null(strstr(host->err.message, "bad"));
	/* Repaired, it goes through. */
	list[1].rule = BF_STR("0 0 28 2 *");
	assert_int_equal(reconcile(host, list, BF_COUNT(list)), BELFRY_OK);
	assert_true(state_of(host, "bad").is_known);
	host_free(host, 0);
}

static void one_that_cannot_be_loaded_stays_as_it_was(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule list[] = {schedule_of("a", 1, "0 0 2 1 *"),
			schedule_of("b", 1, "0 0 2 1 *")};
	struct list told = {.schedules = list, .count = BF_COUNT(list), .broken = "a"};

	assert_int_equal(reconcile(host, list, BF_COUNT(list)), BELFRY_OK);
	list[0].revision = list[1].revision = 2;
	told.broken_by = BELFRY_CORRUPT;
	assert_int_equal(reconcile_list(host, &told), BELFRY_OK);
	assert_string_equal(told.refused, "a");
	assert_int_equal(told.why.status, BELFRY_CORRUPT);
	assert_int_equal(state_of(host, "a").revision, 1);
	assert_int_equal(state_of(host, "b").revision, 2);
	/* The same, where the list does not even have it. */
	told = (struct list){.schedules = &list[1], .count = 1, .broken = "a"};
	told.broken_by = BELFRY_CORRUPT;
	assert_int_equal(reconcile_list(host, &told), BELFRY_OK);
	assert_int_equal(told.refusals, 1);
	assert_true(state_of(host, "a").is_known);
	/* A failure of the host's store is no such thing. */
	told = (struct list){.schedules = list, .count = 2, .broken = "a"};
	told.broken_by = BELFRY_UNAVAILABLE;
	assert_int_equal(reconcile_list(host, &told), BELFRY_UNAVAILABLE);
	assert_int_equal(told.refusals, 0);
	host_free(host, 0);
}

static void what_did_not_change_is_not_loaded(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule list[] = {schedule_of("a", 1, "0 0 2 1 *"),
			schedule_of("b", 1, "0 0 2 1 *"), schedule_of("c", 1, "0 0 2 1 *")};
	struct list told = {.schedules = list, .count = BF_COUNT(list)};

	assert_int_equal(reconcile_list(host, &told), BELFRY_OK);
	assert_int_equal(told.loads, 3);
	list[1].revision = 2;
	told = (struct list){.schedules = list, .count = BF_COUNT(list)};
	assert_int_equal(reconcile_list(host, &told), BELFRY_OK);
	assert_int_equal(told.loads, 1);
	host_free(host, 0);
}

/* Two would be taken for one that went: so nothing goes, and nothing comes. */
static void a_list_that_is_not_ordered_changes_nothing(void **state)
{
	static const char *const bad[][3] = {{"a", "c", "b"}, {"b", "a", "c"}, {"a", "b", "b"},
			{"", "a", "b"}};
	struct host *host = host_new(*state);
	struct belfry_schedule there[] = {schedule_of("a", 1, "0 0 2 1 *"),
			schedule_of("b", 1, "0 0 2 1 *"), schedule_of("orphan", 1, "0 0 2 1 *")};

	assert_int_equal(reconcile(host, there, BF_COUNT(there)), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		struct belfry_schedule list[3];
		for (size_t j = 0; j < 3; j++) {
			list[j] = schedule_of(bad[i][j], 2, "0 0 2 1 *");
		}
		assert_int_equal(reconcile(host, list, 3), BELFRY_INVALID);
		if (i == 0) {
			assert_non_null(strstr(host->err.message, "\"b\" may not follow \"c\""));
		}
		assert_int_equal(state_of(host, "a").revision, 1);
		assert_int_equal(state_of(host, "b").revision, 1);
		assert_true(state_of(host, "orphan").is_known);
		assert_false(state_of(host, "c").is_known);
	}
	host_free(host, 0);
}

static void a_list_that_breaks_off_removes_nothing(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule there = schedule_of("z", 1, "0 0 2 1 *");
	struct list list = {.end = BELFRY_UNAVAILABLE};

	assert_int_equal(host_apply(host, &there), BELFRY_OK);
	assert_int_equal(reconcile_list(host, &list), BELFRY_UNAVAILABLE);
	assert_true(state_of(host, "z").is_known);
	host_free(host, 0);
}

static void thousands_are_reconciled_in_pages(void **state)
{
	enum { COUNT = 2500 };
	static struct belfry_schedule list[COUNT];
	static char ids[COUNT][6];
	struct host *host = host_new(*state);

	for (size_t i = 0; i < COUNT; i++) {
		ids[i][0] = 's';
		ids[i][1] = (char)('0' + i / 1000);
		ids[i][2] = (char)('0' + i / 100 % 10);
		ids[i][3] = (char)('0' + i / 10 % 10);
		ids[i][4] = (char)('0' + i % 10);
		list[i] = schedule_of(ids[i], 1, "0 0 1 1 *");
	}
	assert_int_equal(reconcile(host, list, COUNT), BELFRY_OK);
	assert_true(state_of(host, "s0000").is_known && state_of(host, "s2499").is_known);
	/* Every second one goes. */
	for (size_t i = 0; i < COUNT / 2; i++) {
		list[i] = list[2 * i];
	}
	assert_int_equal(reconcile(host, list, COUNT / 2), BELFRY_OK);
	for (size_t i = 0; i < COUNT; i += 97) {
		assert_int_equal(state_of(host, ids[i]).is_known, i % 2 == 0);
	}
	assert_int_equal(reconcile(host, NULL, 0), BELFRY_OK);
	assert_false(state_of(host, "s0000").is_known || state_of(host, "s2498").is_known);
	host_free(host, 0);
}

/* ---- two replicas ------------------------------------------------------------------------------- */

enum { ROUNDS = 20, PAIRS = 40 };

struct replica {
	struct host *host;
	struct belfry_schedule schedules[PAIRS];
	enum belfry_status answer;
};

static void *reconcile_main(void *data)
{
	struct replica *replica = data;

	replica->answer = reconcile(replica->host, replica->schedules, PAIRS);
	return NULL;
}

static void fill_round(struct belfry_schedule *schedules, char (*ids)[8], int64_t round)
{
	for (size_t i = 0; i < PAIRS; i++) {
		/* Some stay, some change, some come, some go with each round. */
		bool is_new = i % 4 == 3;
		unsigned of_round = is_new ? (unsigned)round : 0;
		(void)snprintf(ids[i], sizeof(ids[i]), "%02u-%02u", (unsigned)i % 100u,
				of_round % 100u);
		schedules[i] = schedule_of(ids[i], i % 4 == 1 ? round + 1 : 1, "0 0 1 1 *");
		schedules[i].flags = i % 4 == 2 ? 0 : BELFRY_SCHEDULE_F_ENABLED;
	}
}

static void expect_round(struct host *host, const struct belfry_schedule *schedules, int64_t round)
{
	char id[8];

	for (size_t i = 0; i < PAIRS; i++) {
		struct belfry_schedule_state known = state_of(host, schedules[i].id.ptr);
		bool is_enabled = schedules[i].flags != 0;
		assert_true(known.is_known);
		assert_int_equal(known.revision, schedules[i].revision);
		assert_int_equal(known.next_due != BELFRY_TIME_NEVER, is_enabled);
		/* That of the round before is gone. */
		(void)snprintf(id, sizeof(id), "%02u-%02u", (unsigned)i % 100u,
				(unsigned)(round - 1) % 100u);
		assert_true(i % 4 != 3 || round == 0 || !state_of(host, id).is_known);
	}
}

static void t077_two_replicas_that_reconcile_at_once_come_to_the_same(void **state)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_run_query query = {.size = sizeof(query), .limit = 1};
	struct replica replicas[2] = {{.host = host_new(*state)}, {.host = host_new(*state)}};
	static char ids[2][PAIRS][8];

	host_start(replicas[0].host); /* one dispatches, the other does not: it makes no difference */
	for (int64_t round = 0; round < ROUNDS; round++) {
		pthread_t threads[2];
		for (size_t i = 0; i < 2; i++) {
			fill_round(replicas[i].schedules, ids[i], round);
			assert_int_equal(pthread_create(&threads[i], NULL, reconcile_main,
							 &replicas[i]),
					0);
		}
		for (size_t i = 0; i < 2; i++) {
			assert_int_equal(pthread_join(threads[i], NULL), 0);
			assert_int_equal(replicas[i].answer, BELFRY_OK);
		}
		expect_round(replicas[round % 2].host, replicas[0].schedules, round);
	}
	assert_int_equal(belfry_scheduler_list_runs(replicas[1].host->scheduler, &query, &arena,
					 NULL),
			BELFRY_OK);
	assert_int_equal(query.count, 0);
	host_free(replicas[0].host, 0);
	host_free(replicas[1].host, 0);
}

/* Whatever place the list has got to, and wherever the new one stands; put by another replica. */
static void t079_what_is_put_while_an_older_list_is_read_survives(void **state)
{
	enum { COUNT = 1500 };
	static struct belfry_schedule schedules[COUNT];
	static char ids[COUNT][6];
	static const size_t moments[] = {0, 1, 999, 1000, 1001, 1499, 1500};
	static const char *const news[] = {"a", "s0500x", "s0999x", "s1000x", "s1400x", "z"};
	struct host *host = host_new(*state);
	struct host *other = host_new(*state);

	for (size_t i = 0; i < COUNT; i++) {
		(void)snprintf(ids[i], sizeof(ids[i]), "s%04u", (unsigned)i % 10000u);
		schedules[i] = schedule_of(ids[i], 1, "0 0 1 1 *");
	}
	assert_int_equal(reconcile(host, schedules, COUNT), BELFRY_OK);
	for (size_t m = 0; m < BF_COUNT(moments); m++) {
		for (size_t n = 0; n < BF_COUNT(news); n++) {
			struct belfry_schedule put = schedule_of(news[n], 1 + 2 * (int64_t)m,
					"0 0 1 1 *");
			struct list list = {.schedules = schedules,
					.count = COUNT,
					.end = BELFRY_NEVER,
					.host = other,
					.put = &put,
					.put_at = moments[m]};
			assert_int_equal(reconcile_list(host, &list), BELFRY_OK);
			assert_true(state_of(host, news[n]).is_known);
			/* The next list does not have it: it was deleted meanwhile. */
			assert_int_equal(reconcile(host, schedules, COUNT), BELFRY_OK);
			assert_false(state_of(host, news[n]).is_known);
		}
	}
	host_free(host, 0);
	host_free(other, 0);
}

/* A list that cannot be read starts nothing and stops nothing: what is there fires as before. */
static void b22_a_reconcile_that_fails_changes_nothing_before_or_after_start(void **state)
{
	struct host *host = host_new(*state);
	struct belfry_schedule there = schedule_of("a", 1, "* * * * * *");
	struct list list = {.end = BELFRY_UNAVAILABLE};

	assert_int_equal(reconcile(host, &there, 1), BELFRY_OK);
	assert_int_equal(reconcile_list(host, &list), BELFRY_UNAVAILABLE);
	host_start(host);
	size_t some = 2;
	wait_until(host, has_calls, &some, "it fires");
	assert_int_equal(reconcile_list(host, &list), BELFRY_UNAVAILABLE);
	some = host_call_count(host) + 2;
	wait_until(host, has_calls, &some, "it goes on");
	host_free(host, 0);
}

static void b22_before_and_after_start_the_result_is_the_same(void **state)
{
	struct belfry_schedule list[] = {schedule_of("a", 1, "* * * * * *"),
			schedule_of("b", 1, "* * * * * *")};

	for (int order = 0; order < 2; order++) {
		struct shelf shelf;
		shelf_init(&shelf, false);
		struct host *host = host_new(&shelf);
		if (order == 0) {
			assert_int_equal(reconcile(host, list, 2), BELFRY_OK);
			host_start(host);
		} else {
			host_start(host);
			assert_int_equal(reconcile(host, list, 2), BELFRY_OK);
		}
		size_t some = 8;
		wait_until(host, has_calls, &some, "both fire");
		host_free(host, 0);
		shelf_fini(&shelf);
	}
	(void)state;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int run_reconcile_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(t076_t077_t078_it_adds_changes_removes_and_is_idempotent),
			CASE(an_older_list_does_not_bring_back_what_is_newer),
			CASE(a_bad_element_is_named_and_the_others_go_on),
			CASE(one_that_cannot_be_loaded_stays_as_it_was),
			CASE(what_did_not_change_is_not_loaded),
			CASE(a_list_that_is_not_ordered_changes_nothing),
			CASE(a_list_that_breaks_off_removes_nothing),
			CASE(thousands_are_reconciled_in_pages),
			CASE(t077_two_replicas_that_reconcile_at_once_come_to_the_same),
			CASE(t079_what_is_put_while_an_older_list_is_read_survives),
			CASE(b22_a_reconcile_that_fails_changes_nothing_before_or_after_start),
			CASE(b22_before_and_after_start_the_result_is_the_same),
	};
	return cmocka_run_group_tests_name("reconcile", tests, NULL, NULL);
}
