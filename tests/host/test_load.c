/* The load of many schedules, and the plan that halves its peak. Each plan is checked by carrying it out:
 * the same schedules with the windows written into their rules are counted anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "base/timefmt.h"
#include "host/load.h"

#define DAY     INT64_C(1780272000) /* 2026-06-01T00:00:00Z */
#define ALL_MAX 20000

static struct belfry_zones *zones;

/* What was put, so that it can be put again with a plan. */
struct world {
	struct bf_load load;
	struct bf_load_plan plan;
	struct {
		struct belfry_id id;
		char text[160];
	} all[ALL_MAX];
	size_t count;
};

static struct world world;

static struct belfry_id id_of(size_t number)
{
	struct belfry_id id = {{0x01, 0x90, 0xd8, 0xa1}};

	for (size_t i = 0; i < 8; i++) {
		id.bytes[15 - i] = (unsigned char)(number >> 8 * i);
	}
	return id;
}

static void put_into(struct bf_load *load, struct belfry_id id, const char *text,
		uint64_t fired_count)
{
	struct bf_load_rule rule = {
			.text = bf_str(text),
			.zone = BF_STR("UTC"),
			.options = BELFRY_RULE_OPTIONS_INIT,
			.fired_count = fired_count,
	};
	struct belfry_error err;

	if (bf_load_put(load, zones, id, &rule, &err) != BELFRY_OK) {
		fail_msg("%s: %s", text, err.message);
	}
}

static void put(size_t count, const char *text)
{
	for (size_t i = 0; i < count; i++) {
		world.all[world.count].id = id_of(world.count);
		(void)snprintf(world.all[world.count].text, sizeof(world.all[0].text), "%s", text);
		put_into(&world.load, world.all[world.count].id, text, 0);
		world.count++;
	}
}

static void begin(size_t hours)
{
	world.count = 0;
	assert_int_equal(bf_load_init(&world.load, DAY * BELFRY_SECOND, hours * 60, NULL, NULL),
			BELFRY_OK);
}

static void count_and_plan(void)
{
	assert_int_equal(bf_load_count(&world.load, NULL), BELFRY_OK);
	assert_true(world.load.is_complete);
	assert_int_equal(bf_load_plan(&world.load, &world.plan, NULL), BELFRY_OK);
}

/* The window that the plan gives to a member; 0: none. */
static belfry_duration window_for(size_t number)
{
	for (size_t i = 0; i < world.load.group_count; i++) {
		const struct bf_load_group *group = &world.load.groups[i];
		for (uint32_t j = 0; j < group->changed_count; j++) {
			if (world.load.members[group->first + j].order == number) {
				return group->window;
			}
		}
	}
	return 0;
}

/* Writes the plan into the rules, and counts those. Every window must end before the rule's next due time. */
static void carry_out(void)
{
	struct bf_load after;
	uint32_t changes = 0;

	assert_int_equal(bf_load_init(&after, world.load.from, world.load.minute_count, NULL, NULL),
			BELFRY_OK);
	for (size_t i = 0; i < world.count; i++) {
		belfry_duration window = window_for(i);
		char text[200];
		(void)snprintf(text, sizeof(text), "%s", world.all[i].text);
		if (window > 0) {
			(void)snprintf(text, sizeof(text), "{\"cron\":\"%s\",\"spread\":\"PT%dM\"}",
					world.all[i].text, (int)(window / BELFRY_MINUTE));
			changes++;
		}
		put_into(&after, world.all[i].id, text, 0);
	}
	assert_int_equal(bf_load_count(&after, NULL), BELFRY_OK);
	assert_int_equal(changes, world.plan.change_count);
	assert_int_equal(after.peaks[0].count, world.plan.after);
	assert_true(world.plan.after <= world.plan.before / 2);
	bf_load_fini(&after);
}

static void end(void)
{
	bf_load_fini(&world.load);
}

static void refuse(enum bf_load_obstacle obstacle)
{
	count_and_plan();
	assert_int_equal(world.plan.obstacle, obstacle);
	assert_int_equal(world.plan.change_count, 0);
	assert_int_equal(world.plan.after, world.plan.before);
}

/* --- counting --- */

static void the_busiest_minutes_are_levels_with_those_who_make_them(void **state)
{
	(void)state;
	begin(24);
	put(12, "0 2 * * *");
	put(3, "0 * * * *");
	put(1, "0,30 2 * * *");
	put(2, "*/20 * 2 * * *"); /* three times in each minute from 02:00 to 02:59 */
	count_and_plan();
	assert_int_equal(world.load.member_count, 18);
	assert_int_equal(world.load.total, 12 + 72 + 2 + 360);
	assert_int_equal(world.load.counts[0], 3);
	assert_int_equal(world.load.counts[120], 22);
	assert_int_equal(world.load.counts[150], 7);
	assert_int_equal(world.load.peaks[0].minute, 120);
	assert_int_equal(world.load.peaks[0].minute_count, 1);
	assert_int_equal(world.load.peaks[0].count, 22);
	assert_int_equal(world.load.peaks[0].member_count, 18);
	assert_int_equal(world.load.peaks[0].named_count, BF_LOAD_NAMED);
	assert_int_equal(world.load.members[world.load.peaks[0].named[0].member].order, 16);
	assert_int_equal(world.load.peaks[0].named[0].count, 3);
	assert_int_equal(world.load.members[world.load.peaks[0].named[2].member].order, 0);
	assert_int_equal(world.load.members[world.load.peaks[0].named[9].member].order, 7);
	assert_int_equal(world.load.members[world.load.peaks[1].named[2].member].order, 15);
	assert_int_equal(world.load.peaks[1].count, 7); /* 02:30 */
	assert_int_equal(world.load.peaks[1].named_count, 3);
	assert_int_equal(world.load.peaks[2].count, 6); /* the rest of that hour */
	assert_int_equal(world.load.peaks[2].minute_count, 58);
	assert_int_equal(world.load.peak_count, 3); /* 3 an hour are less than a quarter of 22 */
	end();
}

static void what_has_fired_enough_has_no_load_and_the_rest_what_is_left(void **state)
{
	(void)state;
	begin(24);
	put_into(&world.load, id_of(1), "{\"cron\":\"0 * * * *\",\"max_fires\":5}", 5);
	put_into(&world.load, id_of(2), "{\"cron\":\"0 * * * *\",\"max_fires\":5}", 3);
	put_into(&world.load, id_of(3), "0 * * * *", 9);
	assert_int_equal(bf_load_count(&world.load, NULL), BELFRY_OK);
	assert_int_equal(world.load.member_count, 2);
	assert_int_equal(world.load.total, 26);
	assert_int_equal(world.load.counts[60], 2);
	assert_int_equal(world.load.counts[120], 1);
	end();
}

static void minutes_begin_whole_and_nothing_is_due_before_the_first_instant_or_the_schedule(
		void **state)
{
	struct bf_load_rule late = {
			.text = BF_STR("* * * * *"),
			.zone = BF_STR("UTC"),
			.options = BELFRY_RULE_OPTIONS_INIT,
			.since = (DAY + 3 * 60) * BELFRY_SECOND,
	};
	struct bf_load_rule limited = late;

	(void)state;
	limited.text = BF_STR("{\"cron\":\"* * * * *\",\"max_fires\":3}");
	limited.fired_count = 1;
	world.count = 0;
	assert_int_equal(bf_load_init(&world.load, (DAY + 27) * BELFRY_SECOND, 10, NULL, NULL),
			BELFRY_OK);
	world.load.now = (DAY + 5 * 60 + 1) * BELFRY_SECOND;
	put(2, "* * * * *");
	assert_int_equal(bf_load_put(&world.load, zones, id_of(7), &late, NULL), BELFRY_OK);
	assert_int_equal(bf_load_put(&world.load, zones, id_of(8), &limited, NULL), BELFRY_OK);
	assert_int_equal(bf_load_count(&world.load, NULL), BELFRY_OK);
	assert_int_equal(world.load.from, DAY * BELFRY_SECOND);
	static const uint32_t wanted[] = {0, 2, 2, 4, 4, 4, 4, 4, 3, 3};
	for (size_t i = 0; i < BF_COUNT(wanted); i++) {
		assert_int_equal(world.load.counts[i], wanted[i]);
	}
	end();
}

static void rules_of_one_text_are_counted_once_and_others_apart(void **state)
{
	(void)state;
	begin(1);
	put(1000, "0 0 * * *");
	put(500, "0 0 * * *");
	put(2, "{\"every\":\"PT1H\",\"anchor\":\"2026-01-01T00:00:00Z\"}");
	assert_int_equal(world.load.group_count, 3);
	count_and_plan();
	assert_int_equal(world.load.counts[0], 1502);
	end();
}

/* --- plans --- */

static void b11_a_plan_halves_a_peak_at_night_and_its_spread_is_kept_everywhere(void **state)
{
	(void)state;
	begin(24);
	put(412, "0 2 * * *");
	put(40, "15 * * * *");
	put(20, "*/15 * * * *");
	count_and_plan();
	assert_int_equal(world.plan.obstacle, BF_LOAD_POSSIBLE);
	assert_int_equal(world.plan.before, 432);
	assert_true(world.plan.change_count < 320);
	carry_out();
	end();
}

static void those_that_are_due_in_many_crowded_minutes_are_changed_first(void **state)
{
	(void)state;
	begin(24);
	put(60, "0 * * * *");
	put(30, "0 3 * * *");
	put(30, "0 4 * * *");
	count_and_plan();
	assert_int_equal(world.plan.obstacle, BF_LOAD_POSSIBLE);
	assert_int_equal(world.load.groups[1].changed_count, 0);
	assert_int_equal(world.load.groups[2].changed_count, 0);
	carry_out();
	end();
}

static void a_window_ends_before_the_next_due_time(void **state)
{
	(void)state;
	begin(6);
	put(50, "*/2 * * * *");
	put(50, "0 * * * *");
	put(60, "0 3 * * *");
	count_and_plan();
	for (size_t i = 0; i < world.load.group_count; i++) {
		assert_true(world.load.groups[i].window <= world.load.groups[i].gap);
	}
	assert_int_equal(world.load.groups[0].gap, 2 * BELFRY_MINUTE);
	end();
}

static void a_short_spread_is_made_longer_and_a_long_one_left_alone(void **state)
{
	(void)state;
	begin(24);
	for (size_t i = 0; i < 100; i++) {
		put_into(&world.load, id_of(i), "{\"cron\":\"0 2 * * *\",\"spread\":\"PT1S\"}", 0);
	}
	count_and_plan();
	assert_int_equal(world.plan.obstacle, BF_LOAD_POSSIBLE);
	end();
	begin(24);
	for (size_t i = 0; i < 100; i++) {
		put_into(&world.load, id_of(i), "{\"cron\":\"0 2 * * 1\",\"spread\":\"PT2H\"}", 0);
	}
	refuse(BF_LOAD_IS_SPREAD); /* longer than any window that is tried */
	end();
}

static void why_no_plan_halves_the_peak_is_told(void **state)
{
	(void)state;
	begin(24);
	refuse(BF_LOAD_NO_PEAK);
	end();
	begin(24);
	put(1, "0 2 * * *");
	put(1, "0 3 * * *");
	refuse(BF_LOAD_NO_PEAK);
	end();
	begin(24);
	put(10, "* * * * *");
	put(5, "0 2 * * *");
	refuse(BF_LOAD_FLAT);
	end();
	begin(24);
	put(1, "*/2 0 2 * * *"); /* thirty times in one minute */
	put(10, "0 2 * * *");
	refuse(BF_LOAD_ONE_ALONE);
	assert_int_equal(world.load.members[world.plan.member].order, 0);
	end();
	begin(24);
	put(40, "0-9 2 * * *"); /* each minute, for ten of them */
	put(5, "5 2 * * *");
	refuse(BF_LOAD_TOO_CLOSE);
	end();
	begin(24);
	for (size_t i = 0; i < 20; i++) {
		put_into(&world.load, id_of(i), "{\"cron\":\"0 2 * * *\",\"max_fires\":9}", 0);
	}
	refuse(BF_LOAD_IS_SPREAD);
	end();
	begin(24);
	put(ALL_MAX, "0 2 * * *");
	put_into(&world.load, id_of(ALL_MAX), "0 2 * * *", 0);
	put_into(&world.load, id_of(ALL_MAX + 1), "0 2 * * *", 0);
	refuse(BF_LOAD_TOO_MANY);
	end();
}

/* --- bounds --- */

static bool count_down(void *data)
{
	int *left = data;

	return (*left)-- <= 0;
}

static void what_takes_too_long_is_left_and_told(void **state)
{
	int left = 0;

	(void)state;
	assert_int_equal(bf_load_init(&world.load, DAY * BELFRY_SECOND, 60, count_down, &left),
			BELFRY_OK);
	world.count = 0;
	for (int i = 0; i < 60; i++) {
		char text[32];
		for (int j = 0; j < 4; j++) {
			(void)snprintf(text, sizeof(text), "%d 0 %d * *", i, j + 1);
			put(1, text);
		}
	}
	assert_int_equal(bf_load_count(&world.load, NULL), BELFRY_OK);
	assert_false(world.load.is_complete);
	assert_int_equal(world.load.member_count, 64);
	assert_int_equal(world.load.total, 16);
	end();
	left = 0;
	assert_int_equal(bf_load_init(&world.load, DAY * BELFRY_SECOND, 1440, count_down, &left),
			BELFRY_OK);
	world.count = 0;
	put(50, "0 2 * * *");
	refuse(BF_LOAD_TOO_LATE);
	end();
}

static void what_is_full_says_so(void **state)
{
	size_t count = 0;

	(void)state;
	begin(1);
	while (!bf_load_is_full(&world.load)) {
		char text[32];
		(void)snprintf(text, sizeof(text), "%d %d %d * *", (int)(count % 60),
				(int)(count / 60 % 24), (int)(count / 1440 % 28) + 1);
		put_into(&world.load, id_of(count), text, 0);
		count++;
	}
	assert_true(count > 100000);
	end();
}

static void every_lack_of_memory_is_a_status(void **state)
{
	(void)state;
	for (int64_t call = 1;; call++) {
		struct bf_load_rule rule = {
				.text = BF_STR("0 2 * * *"),
				.zone = BF_STR("UTC"),
				.options = BELFRY_RULE_OPTIONS_INIT,
		};
		struct bf_load_plan plan;
		struct bf_load load;
		bf_fault_arm(bf_alloc_fault(), call, 1);
		enum belfry_status status = bf_load_init(&load, DAY * BELFRY_SECOND, 1440, NULL,
				NULL);
		for (size_t i = 0; i < 40 && status == BELFRY_OK; i++) {
			status = bf_load_put(&load, zones, id_of(i), &rule, NULL);
		}
		status = status == BELFRY_OK ? bf_load_count(&load, NULL) : status;
		status = status == BELFRY_OK ? bf_load_plan(&load, &plan, NULL) : status;
		bool has_fired = bf_fault_fired(bf_alloc_fault()) > 0;
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		bf_load_fini(&load);
		assert_int_equal(status, has_fired ? BELFRY_NOMEM : BELFRY_OK);
		if (!has_fired) {
			assert_true(call > 8);
			return;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_busiest_minutes_are_levels_with_those_who_make_them),
			cmocka_unit_test(
					what_has_fired_enough_has_no_load_and_the_rest_what_is_left),
			cmocka_unit_test(
					minutes_begin_whole_and_nothing_is_due_before_the_first_instant_or_the_schedule),
			cmocka_unit_test(rules_of_one_text_are_counted_once_and_others_apart),
			cmocka_unit_test(
					b11_a_plan_halves_a_peak_at_night_and_its_spread_is_kept_everywhere),
			cmocka_unit_test(
					those_that_are_due_in_many_crowded_minutes_are_changed_first),
			cmocka_unit_test(a_window_ends_before_the_next_due_time),
			cmocka_unit_test(a_short_spread_is_made_longer_and_a_long_one_left_alone),
			cmocka_unit_test(why_no_plan_halves_the_peak_is_told),
			cmocka_unit_test(what_takes_too_long_is_left_and_told),
			cmocka_unit_test(what_is_full_says_so),
			cmocka_unit_test(every_lack_of_memory_is_a_status),
	};
	struct belfry_error err;

	bf_json_init();
	if (belfry_zones_new(NULL, &zones, &err) != BELFRY_OK) {
		(void)fprintf(stderr, "%s\n", err.message);
		return 1;
	}
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	belfry_zones_free(zones);
	return failed;
}
