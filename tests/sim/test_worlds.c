/* Worlds of random faults: every invariant holds over hundreds of days, a seed repeats exactly, the
 * invariants themselves can fail, and what was found once stays found.
 *
 * With the argument "short": the same with fewer seeds, for the sanitizers, which make a world ten times
 * slower. With an argument N: N seeds from 100000 on in each mode, for `make torture`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/assert.h"
#include "base/str.h"
#include "seeds.h"
#include "tz_folder.h"
#include "worlds.h"

#define DAYS      (2 * BELFRY_DAY)
#define SEEDS     75u
#define SHORT     10u
#define LONG_FROM UINT64_C(100000)

static struct belfry_zones *zones;
static struct belfry_zones *one_hour; /* east of UTC is Test/Zone, by the older database */
static struct belfry_zones *two_hours;
static uint64_t seed_count = SEEDS;

static void run_worlds(bool is_single, uint64_t first, uint64_t count)
{
	struct bf_sim_counts counts = {0};
	unsigned failed = 0;

	for (uint64_t seed = first; seed < first + count; seed++) {
		failed += world_run(bf_sim_world_config(seed, zones, is_single), DAYS, failed > 0,
					  &counts, NULL) != NULL;
	}
	print_message("%.0f days, %llu Runs, %llu crashes (%llu inside a commit), %llu takeovers, "
		      "%llu answers lost, %llu late, %llu clock steps\n",
			(double)counts.virtual_us / (double)BELFRY_DAY,
			(unsigned long long)counts.runs_scheduled,
			(unsigned long long)counts.crashes,
			(unsigned long long)counts.crashes_in_commit,
			(unsigned long long)counts.takeovers, (unsigned long long)counts.lost_acks,
			(unsigned long long)counts.late_acks,
			(unsigned long long)counts.clock_steps);
	assert_int_equal(failed, 0);
	/* A world without faults would prove nothing. */
	assert_true(counts.crashes > 10 * count && counts.takeovers > 10 * count);
	assert_true(counts.lost_acks > 10 * count && counts.late_acks > 10 * count);
	assert_true(counts.cancels > 10 * count && counts.conclusions > 10 * count);
	assert_true(counts.outages > count && counts.freezes > count && counts.clock_steps > 0);
	assert_true(!is_single || (counts.crashes_in_commit > 0 && counts.interleaved > count));
}

static void every_invariant_holds_with_a_store_of_transactions(void **state)
{
	(void)state;
	run_worlds(false, 1, seed_count);
}

static void every_invariant_holds_with_a_store_of_single_documents(void **state)
{
	(void)state;
	run_worlds(true, 1, seed_count);
}

static void many_more_worlds_of_transactions(void **state)
{
	run_worlds(false, LONG_FROM, *(uint64_t *)*state);
}

static void many_more_worlds_of_single_documents(void **state)
{
	run_worlds(true, LONG_FROM, *(uint64_t *)*state);
}

static void beats_of_two_seconds_hold_too(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		struct bf_sim_config config = bf_sim_world_config(seed, zones, seed % 2 == 0);
		config.beat = 2 * BELFRY_SECOND;
		assert_null(world_run(config, 3 * BELFRY_HOUR, false, NULL, NULL));
	}
}

/* Processes with one of two databases, each start with another: an hour apart in the only zone. */
static struct bf_sim_config two_databases(uint64_t seed, bool is_single)
{
	struct bf_sim_config config = bf_sim_world_config(seed, one_hour, is_single);

	config.newer_zones = two_hours;
	config.may_step_clock = false;
	return config;
}

static void with_two_databases_each_local_time_fires_once(void **state)
{
	uint64_t count = BF_MAX(seed_count / 6, 5);

	(void)state;
	for (uint64_t seed = 1; seed <= 2 * count; seed++) {
		assert_null(world_run(two_databases(seed, seed % 2 == 0), 3 * BELFRY_DAY, false,
				NULL, NULL));
	}
}

static void a_seed_repeats_exactly(void **state)
{
	uint64_t first = 0;
	uint64_t second = 0;
	uint64_t other = 0;

	(void)state;
	(void)world_run(bf_sim_world_config(5, zones, true), BELFRY_DAY, true, NULL, &first);
	(void)world_run(bf_sim_world_config(5, zones, true), BELFRY_DAY, true, NULL, &second);
	(void)world_run(bf_sim_world_config(6, zones, true), BELFRY_DAY, true, NULL, &other);
	assert_true(first == second);
	assert_true(first != other);
}

static void what_was_found_once_stays_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < BF_COUNT(found_seeds); i++) {
		struct bf_sim_config config = bf_sim_world_config(found_seeds[i].seed, zones,
				found_seeds[i].is_single);
		config.replicas = found_seeds[i].replicas;
		config.beat = found_seeds[i].beat != 0 ? found_seeds[i].beat : config.beat;
		assert_null(world_run(config, DAYS, false, NULL, NULL));
	}
}

/* The canary: each sabotage is seen, by the invariant that it breaks. */
static void each_sabotage_is_caught(void **state)
{
	static const struct {
		enum bf_sim_sabotage sabotage;
		const char *invariant;
		uint64_t first; /* seed to begin with; 0: the first */
	} expected[] = {
			{BF_SIM_SABOTAGE_IGNORE_FENCES, "a lower fence writes nothing", 60},
			{BF_SIM_SABOTAGE_DUPLICATE, "one Run for each due time"},
			{BF_SIM_SABOTAGE_LOSE_SESSION, "the Session is stored before the turn"},
			{BF_SIM_SABOTAGE_LOSE_RUNS, "each due time has a Run or one ledger row"},
			{BF_SIM_SABOTAGE_LOSE_GAPS, "each due time has a Run or one ledger row"},
			{BF_SIM_SABOTAGE_START_DISABLED,
					"nothing starts after a disable or removal has answered",
					60},
			{BF_SIM_SABOTAGE_EARLY, "no Run before its due time"},
			{BF_SIM_SABOTAGE_NO_TAKEOVER, "every Run ends"},
			{BF_SIM_SABOTAGE_LEAK_PLACES, "places never leak"},
			{BF_SIM_SABOTAGE_LOW_MARK,
					"the low mark lies below every open Run born to it"},
			{BF_SIM_SABOTAGE_CALL_LOST, "no call by a holder that can know it is lost"},
			{BF_SIM_SABOTAGE_SAME_FENCE, "fences rise from holder to holder"},
			{BF_SIM_SABOTAGE_DEAF, "no call begins for a Run whose cancel was heard"},
			{BF_SIM_SABOTAGE_FORGET_LOCAL, "a local time fires once"},
			{BF_SIM_SABOTAGE_FORGET_COUNT,
					"a rule fires no more often than max_fires allows"},
	};

	(void)state;
	assert_int_equal(BF_COUNT(expected), BF_SIM_SABOTAGE_COUNT - 1);
	for (size_t i = 0; i < BF_COUNT(expected); i++) {
		const char *seen = NULL;
		uint64_t seed = 0;
		uint64_t first = expected[i].first;
		for (seed = first + 1; seed <= first + 40; seed++) {
			bool is_local = expected[i].sabotage == BF_SIM_SABOTAGE_FORGET_LOCAL;
			struct bf_sim_config config = is_local
					? two_databases(seed, false)
					: bf_sim_world_config(seed, zones, false);
			config.sabotage = expected[i].sabotage;
			seen = world_run(config, is_local ? 3 * BELFRY_DAY : BELFRY_DAY, true, NULL,
					NULL);
			if (seen != NULL && strcmp(seen, expected[i].invariant) == 0) {
				break;
			}
		}
		print_message("%s: %s (seed %llu)\n", bf_sim_sabotage_name(expected[i].sabotage),
				seen != NULL ? seen : "NOT CAUGHT", (unsigned long long)seed);
		assert_non_null(seen);
		assert_string_equal(seen, expected[i].invariant);
	}
}

static void open_database(struct tz_folder *folder, const char *content_of, const char *version,
		struct belfry_zones **ret_zones)
{
	struct belfry_error err;

	tz_folder_init(folder);
	tz_folder_put(folder, content_of, version);
	BF_ASSERT(belfry_zones_new(folder->path, ret_zones, &err) == BELFRY_OK);
}

int main(int argc, char **argv)
{
	struct belfry_error err;
	int64_t count = 0;
	int failed;
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(a_seed_repeats_exactly),
			cmocka_unit_test(each_sabotage_is_caught),
			cmocka_unit_test(what_was_found_once_stays_found),
			cmocka_unit_test(beats_of_two_seconds_hold_too),
			cmocka_unit_test(with_two_databases_each_local_time_fires_once),
			cmocka_unit_test(every_invariant_holds_with_a_store_of_transactions),
			cmocka_unit_test(every_invariant_holds_with_a_store_of_single_documents),
	};

	if (belfry_zones_new(NULL, &zones, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "no time zones: %s\n", err.message);
		return 77; /* skipped */
	}
	struct tz_folder folders[2];
	open_database(&folders[0], "Etc/GMT-1", "2026a", &one_hour);
	open_database(&folders[1], "Etc/GMT-2", "2026b", &two_hours);
	if (argc > 1 && bf_str_parse_int(bf_str(argv[1]), 1, 1000000, &count) == BELFRY_OK) {
		uint64_t seeds = (uint64_t)count;
		const struct CMUnitTest many[] = {
				cmocka_unit_test_prestate(many_more_worlds_of_transactions, &seeds),
				cmocka_unit_test_prestate(many_more_worlds_of_single_documents,
						&seeds),
		};
		failed = cmocka_run_group_tests_name("many worlds", many, NULL, NULL);
	} else {
		seed_count = argc > 1 ? SHORT : SEEDS;
		failed = cmocka_run_group_tests_name("worlds", tests, NULL, NULL);
	}
	belfry_zones_free(zones);
	belfry_zones_free(one_hour);
	belfry_zones_free(two_hours);
	tz_folder_fini(&folders[0]);
	tz_folder_fini(&folders[1]);
	return failed;
}
