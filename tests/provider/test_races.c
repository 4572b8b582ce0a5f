/* Races of the provider's calls against its own planner and dispatcher, on the memory store and on
 * SQLite. */
#include "cases.h"

#include <stdio.h>

#include "host.h"

static int set_up_memory(void **state)
{
	struct shelf *shelf = bf_alloc(sizeof(*shelf));

	shelf_init(shelf, false);
	*state = shelf;
	return 0;
}

static int set_up_sqlite(void **state)
{
	struct shelf *shelf = bf_alloc(sizeof(*shelf));

	shelf_init(shelf, true);
	*state = shelf;
	return 0;
}

static int tear_down(void **state)
{
	shelf_fini(*state);
	bf_free(*state);
	return 0;
}

enum { RACERS = 8, RACES_EACH = 16, RACE_ROUNDS = 8, RACES = RACERS * RACES_EACH };

/* One thread's schedules, which it disables one after another. */
struct racer {
	struct host *host;
	int64_t revision;
	size_t first;
	enum belfry_status statuses[RACES_EACH];
	belfry_time answered[RACES_EACH];
};

static const char *race_id(size_t i, char *text, size_t size)
{
	(void)snprintf(text, size, "r%03zu", i);
	return text;
}

static void *disable_each(void *data)
{
	struct racer *racer = data;
	char id[8];

	for (size_t i = 0; i < RACES_EACH; i++) {
		struct belfry_schedule s = schedule_of(race_id(racer->first + i, id, sizeof(id)),
				racer->revision, "* * * * * *");
		s.flags = 0;
		racer->statuses[i] = belfry_scheduler_apply(racer->host->scheduler, &s, NULL);
		racer->answered[i] = now_wall();
	}
	return NULL;
}

static void disable_all(struct host *host, int64_t revision, belfry_time *ret_answered)
{
	pthread_t threads[RACERS];
	struct racer racers[RACERS];

	for (size_t i = 0; i < RACERS; i++) {
		racers[i] = (struct racer){.host = host,
				.revision = revision,
				.first = i * RACES_EACH};
		assert_int_equal(pthread_create(&threads[i], NULL, disable_each, &racers[i]), 0);
	}
	for (size_t i = 0; i < RACERS; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		for (size_t k = 0; k < RACES_EACH; k++) {
			assert_int_equal(racers[i].statuses[k], BELFRY_OK);
			ret_answered[racers[i].first + k] = racers[i].answered[k];
		}
	}
}

/* Runs of the schedule that started after the answer, or that have neither started nor ended. */
static size_t count_losses(struct host *host, size_t race, belfry_time answered)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	char id[8];
	struct belfry_run_query query = {.size = sizeof(query),
			.schedule = bf_str(race_id(race, id, sizeof(id))),
			.limit = 200};
	size_t losses = 0;

	assert_int_equal(belfry_scheduler_list_runs(host->scheduler, &query, &arena, NULL),
			BELFRY_OK);
	for (size_t k = 0; k < query.count; k++) {
		bool is_ended = query.runs[k].started_at != 0 ||
				query.runs[k].state == BELFRY_RUN_CANCELLED;
		losses += query.runs[k].started_at > answered || !is_ended ? 1 : 0;
	}
	return losses;
}

/* Disable against starts: whatever the moment, no Run starts after the answer. The disables come from
 * several threads at moments around the due time; the store says when each Run started. */
static void t049_a_thousand_races_of_disable_against_starts(void **state)
{
	struct host *host = host_new(*state);
	belfry_time answered[RACES];
	char id[8];
	int64_t revision = 0;
	size_t losses = 0;

	host_start(host);
	for (int round = 0; round < RACE_ROUNDS; round++) {
		revision++;
		for (size_t i = 0; i < RACES; i++) {
			struct belfry_schedule s = schedule_of(race_id(i, id, sizeof(id)), revision,
					"* * * * * *");
			s.flags |= BELFRY_SCHEDULE_F_LOCAL_SESSION;
			assert_int_equal(host_apply(host, &s), BELFRY_OK);
		}
		revision++;
		belfry_time due = now_wall() / BELFRY_SECOND * BELFRY_SECOND + BELFRY_SECOND;
		wait_past(host, due - 10 * BELFRY_MILLISECOND);
		disable_all(host, revision, answered);
		wait_until(host, all_are_over, NULL, "started Runs end");
		for (size_t i = 0; i < RACES; i++) {
			losses += count_losses(host, i, answered[i]);
		}
	}
	assert_int_equal(losses, 0);
	assert_true(RACES * RACE_ROUNDS >= 1000);
	host_free(host, BELFRY_SECOND);
}

int run_races_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test_setup_teardown(
					t049_a_thousand_races_of_disable_against_starts,
					set_up_memory, tear_down),
			cmocka_unit_test_setup_teardown(
					t049_a_thousand_races_of_disable_against_starts,
					set_up_sqlite, tear_down),
	};
	return cmocka_run_group_tests_name("provider: races", tests, NULL, NULL);
}
