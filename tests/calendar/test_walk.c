/* Zones that nobody has: changes minutes or hours apart, forwards and backwards, gaps within folds. Due
 * times against the walk over every minute, under every policy. */
#include "cases.h"

#include "calendar/civil.h"
#include "tzif_build.h"
#include "walk.h"

#define ZONES   400
#define CHANGES 12

/* Offsets of -3 h to 3 h in steps of ten minutes; changes 10 minutes to about seven hours apart, all in the
 * middle of the walk. */
static struct bf_zone *random_zone(uint64_t *seed, int64_t start)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	struct tzif_change changes[CHANGES];
	int32_t offsets[CHANGES + 1];
	struct bf_zone *zone = NULL;
	int64_t time = start + 44 * INT64_C(3600);

	for (size_t i = 0; i <= CHANGES; i++) {
		offsets[i] = ((int32_t)walk_random(seed, 37) - 18) * 600;
	}
	for (size_t i = 0; i < CHANGES; i++) {
		time += 600 * (int64_t)(1 + walk_random(seed, i % 3 == 0 ? 40 : 6));
		changes[i] = (struct tzif_change){time, (unsigned char)(i + 1)};
	}
	struct tzif_spec spec = {'2', changes, CHANGES, offsets, CHANGES + 1, "", 0};
	tzif_build(&spec, &file);
	assert_int_equal(bf_zone_new(BF_STR("Test/Random"), (const unsigned char *)file.ptr,
					 file.len, &zone, NULL),
			BELFRY_OK);
	return zone;
}

static void changes_of_every_kind_agree_with_a_walk(void **state)
{
	static struct walk walk;
	uint64_t seed = 9636;

	(void)state;
	walk.start = INT64_C(1767225600);
	for (int i = 0; i < ZONES; i++) {
		struct bf_zone *zone = random_zone(&seed, walk.start);
		for (int minute = 0; minute < WALK_MINUTES; minute++) {
			int64_t at = walk.start + minute * INT64_C(60);
			walk.local[minute] = bf_floor_div(at + bf_zone_span(zone, at).offset, 60);
		}
		for (size_t n = 0; n < walk_chosen_count + 4; n++) {
			struct naive expression = n < walk_chosen_count
					? walk_chosen[n]
					: walk_random_expression(&seed);
			walk_compare(&walk, &expression, zone);
		}
		bf_zone_free(zone);
	}
}

int run_walk_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(changes_of_every_kind_agree_with_a_walk),
	};

	return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
