/* Threads that make and ask rules on one set of zones, for the thread sanitizer to watch. */
#include "cases.h"

#include <pthread.h>
#include <stdio.h>

#include "base/json.h"

#define THREADS 4
#define ROUNDS  40

static const char *const names[] = {"Europe/Berlin", "America/New_York", "Asia/Tokyo",
		"Pacific/Apia", "Africa/Cairo", "Asia/Gaza", "America/Nuuk", "UTC"};

struct worker {
	pthread_t thread;
	struct belfry_zones *zones;
	const struct belfry_rule *shared;
	belfry_time sum; /* of all answers: the same for every thread */
	int failures;
};

static void *work(void *data)
{
	struct worker *w = data;

	for (size_t i = 0; i < ROUNDS; i++) {
		struct belfry_rule *rule;
		belfry_time due = 0;
		const char *text = i % 2 == 0 ? "30 2 * * *" : "{\"cron\":\"*/5 * * * *\"}";
		if (belfry_rule_new(w->zones, bf_str(text), bf_str(names[i % BF_COUNT(names)]),
				    NULL, &rule, NULL) != BELFRY_OK) {
			w->failures++;
			continue;
		}
		for (int n = 0; n < 100; n++) {
			w->failures += belfry_rule_next(rule, due, &due) != BELFRY_OK ? 1 : 0;
			w->sum += due / BELFRY_SECOND;
		}
		belfry_rule_free(rule);
		due = (belfry_time)i * BELFRY_DAY;
		w->failures += belfry_rule_next(w->shared, due, &due) != BELFRY_OK ? 1 : 0;
		w->sum += due / BELFRY_SECOND;
	}
	return NULL;
}

static void threads_share_zones_and_rules(void **state)
{
	struct worker workers[THREADS] = {0};
	struct belfry_zones *zones;
	struct belfry_rule *shared;

	(void)state;
	assert_int_equal(belfry_zones_new(NULL, &zones, NULL), BELFRY_OK);
	assert_int_equal(belfry_rule_new(zones, BF_STR("0 0 29 2 *"), BF_STR("Asia/Tokyo"), NULL,
					 &shared, NULL),
			BELFRY_OK);
	for (size_t i = 0; i < THREADS; i++) {
		workers[i].zones = zones;
		workers[i].shared = shared;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].failures, 0);
		assert_int_equal(workers[i].sum, workers[0].sum);
	}
	belfry_rule_free(shared);
	belfry_zones_free(zones);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(threads_share_zones_and_rules),
	};

	bf_json_init();
	return cmocka_run_group_tests_name("calendar threads", tests, NULL, NULL);
}
