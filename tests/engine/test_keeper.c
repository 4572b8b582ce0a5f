/* The keeper, driven event by event with a store's answers made up here. */
#include "cases.h"

#include "engine/keeper.h"
#include "support.h"

#define LEASE (8 * BELFRY_SECOND)
#define BEAT  (2 * BELFRY_SECOND)

struct bench {
	struct bf_keeper *keeper;
	struct bf_keeper_orders orders;
	struct bf_boot_time now;
	belfry_time store_now;
	uint64_t beat;
	struct belfry_incarnation living[8];
	size_t living_count;
	size_t lost;
	size_t covers;
	size_t clock_backs;
	struct bf_cover cover;
};

static int set_up(void **state)
{
	struct bench *b = test_calloc(1, sizeof(*b));
	struct bf_keeper_config config = {.lease = LEASE,
			.beat = BEAT,
			.identity = BF_STR("host"),
			.version = BF_STR("0.1"),
			.zones = zones(),
			.seed = {3, 4},
			.prune = {.keep_age = BELFRY_DAY}};

	assert_int_equal(bf_keeper_new(&config, &b->keeper), BELFRY_OK);
	b->now = boot(1000 * BELFRY_SECOND);
	b->store_now = at_time(10, 0, 0);
	*state = b;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *b = *state;

	bf_keeper_free(b->keeper);
	test_free(b);
	return 0;
}

static void step(struct bench *b, struct bf_keeper_event event)
{
	struct bf_keeper_orders before = b->orders;

	event.now = b->now;
	bf_keeper_step(b->keeper, &event, &b->orders);
	assert_true(b->orders.wake.us > b->now.us);
	assert_in_range((b->orders.beat != NULL) + (b->orders.list != NULL) +
					(b->orders.prune != NULL),
			0, 1);
	b->lost += b->orders.is_lost;
	b->covers += b->orders.has_cover;
	b->clock_backs += b->orders.is_clock_back;
	if (b->orders.has_cover) {
		b->cover = b->orders.cover;
	}
	if (event.kind != BF_KEEPER_DONE && b->orders.beat == NULL && b->orders.list == NULL &&
			b->orders.prune == NULL) {
		b->orders.beat = before.beat;
		b->orders.list = before.list;
		b->orders.prune = before.prune;
	}
}

static void wake(struct bench *b)
{
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_WAKE});
}

static void done(struct bench *b, enum belfry_status status)
{
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_DONE, .status = status});
}

static void pass_time(struct bench *b, belfry_duration d)
{
	b->now = bf_boot_add(b->now, d);
	b->store_now += d;
}

static bool is_beat(const struct bench *b, enum belfry_beat_kind kind)
{
	return b->orders.beat != NULL && b->orders.beat->kind == kind;
}

static void see_other(struct bench *b, unsigned id, uint64_t beat)
{
	for (size_t i = 1; i < b->living_count; i++) {
		if (bf_id_compare(b->living[i].id, id_of(id)) == 0) {
			b->living[i].beat = beat;
			return;
		}
	}
	b->living_count = BF_MAX(b->living_count, 1);
	b->living[b->living_count++] = (struct belfry_incarnation){.id = id_of(id), .beat = beat};
}

/* A renewal succeeds. */
static void answer_renew(struct bench *b)
{
	assert_true(is_beat(b, BELFRY_BEAT_RENEW));
	struct belfry_incarnation *self = &b->living[0];
	if (bf_id_compare(self->id, b->orders.beat->incarnation) != 0) {
		*self = (struct belfry_incarnation){.id = b->orders.beat->incarnation,
				.covers_from = b->store_now};
	}
	self->beat = ++b->beat;
	self->covered_until = b->store_now + BEAT;
	b->living_count = BF_MAX(b->living_count, 1);
	b->orders.beat->now = b->store_now;
	b->orders.beat->beat = b->beat;
	b->orders.beat->living = b->living;
	b->orders.beat->living_count = b->living_count;
	done(b, BELFRY_OK);
}

/* What has no part in a test: looking ahead, and pruning. */
static void answer_chores(struct bench *b)
{
	for (int i = 0; i < 5 && (b->orders.list != NULL || b->orders.prune != NULL); i++) {
		if (b->orders.prune != NULL) {
			b->orders.prune->is_done = true;
		}
		done(b, BELFRY_OK);
	}
}

static void begin(struct bench *b)
{
	wake(b);
	assert_true(is_beat(b, BELFRY_BEAT_REGISTER));
	done(b, BELFRY_OK);
	answer_renew(b);
	answer_chores(b);
}

static void beat(struct bench *b)
{
	pass_time(b, BEAT);
	wake(b);
	answer_renew(b);
	answer_chores(b);
}

/* ---- our own incarnation ----------------------------------------------------------------------- */

static void coverage_begins_with_the_first_renewal_not_with_the_registration(void **state)
{
	struct bench *b = *state;

	wake(b);
	assert_true(is_beat(b, BELFRY_BEAT_REGISTER));
	assert_true(bf_str_equal(b->orders.beat->identity, BF_STR("host")));
	assert_int_equal(b->orders.beat->incarnation.bytes[6] >> 4, 4);
	pass_time(b, BELFRY_SECOND);
	done(b, BELFRY_OK);
	assert_int_equal(b->covers, 0);
	belfry_time asked = b->store_now;
	answer_renew(b);
	assert_int_equal(b->covers, 1);
	assert_true(b->cover.from == asked);
	assert_true(b->cover.to == asked + BEAT);
	/* Lease minus margin after the beat was SENT. */
	assert_true(b->cover.act_until.us == b->now.us + LEASE - LEASE / 4);
}

static void a_slow_answer_shortens_how_long_we_may_act(void **state)
{
	struct bench *b = *state;

	begin(b);
	pass_time(b, BEAT);
	wake(b);
	struct bf_boot_time sent = b->now;
	pass_time(b, 3 * BELFRY_SECOND);
	answer_renew(b);
	assert_true(b->cover.act_until.us == sent.us + LEASE - LEASE / 4);
}

static void beats_come_every_beat_and_sooner_when_asked_but_not_without_end(void **state)
{
	struct bench *b = *state;

	begin(b);
	pass_time(b, BEAT - 1);
	wake(b);
	assert_null(b->orders.beat);
	pass_time(b, 1);
	wake(b);
	answer_renew(b);
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_BEAT_NOW});
	assert_null(b->orders.beat);
	pass_time(b, 100 * BELFRY_MILLISECOND);
	wake(b);
	assert_true(is_beat(b, BELFRY_BEAT_RENEW));
}

static void a_failed_registration_is_repeated_under_another_id(void **state)
{
	struct bench *b = *state;

	wake(b);
	struct belfry_id first = b->orders.beat->incarnation;
	done(b, BELFRY_UNKNOWN);
	assert_null(b->orders.beat);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	assert_true(is_beat(b, BELFRY_BEAT_REGISTER));
	assert_int_not_equal(bf_id_compare(first, b->orders.beat->incarnation), 0);
}

static void t041_declared_dead_we_are_lost_and_begin_anew(void **state)
{
	struct bench *b = *state;

	begin(b);
	struct belfry_id first = b->living[0].id;
	pass_time(b, BEAT);
	wake(b);
	done(b, BELFRY_STALE);
	assert_int_equal(b->lost, 1);
	assert_true(is_beat(b, BELFRY_BEAT_REGISTER));
	assert_int_not_equal(bf_id_compare(first, b->orders.beat->incarnation), 0);
	done(b, BELFRY_OK);
	answer_renew(b);
	assert_int_equal(b->covers, 2);
	assert_int_equal(bf_keeper_counts(b->keeper)->lost, 1);
}

static void t010_b08_a_standstill_longer_than_the_lease_ends_the_incarnation(void **state)
{
	struct bench *b = *state;

	begin(b);
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_WAKE, .standstill = LEASE});
	assert_int_equal(b->lost, 0); /* not longer */
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_WAKE, .standstill = LEASE + 1});
	assert_int_equal(b->lost, 1);
	assert_true(is_beat(b,
			BELFRY_BEAT_DEAD)); /* its coverage stays where the last beat left it */
	assert_int_equal(bf_id_compare(b->orders.beat->incarnation, b->living[0].id), 0);
	done(b, BELFRY_OK);
	assert_true(is_beat(b, BELFRY_BEAT_REGISTER));
}

static void a_standstill_during_a_renewal_publishes_no_coverage(void **state)
{
	struct bench *b = *state;

	begin(b);
	pass_time(b, BEAT);
	wake(b);
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_WAKE, .standstill = LEASE + 1});
	assert_int_equal(b->lost, 0); /* the answer is waited for */
	size_t covers = b->covers;
	answer_renew(b);
	assert_int_equal(b->covers, covers);
	assert_int_equal(b->lost, 1);
}

static void t074_an_outage_does_not_end_coverage(void **state)
{
	struct bench *b = *state;

	begin(b);
	pass_time(b, BEAT);
	wake(b);
	for (int i = 0; i < 60; i++) {
		done(b, BELFRY_UNAVAILABLE);
		pass_time(b, BELFRY_SECOND);
		wake(b);
		assert_true(is_beat(b, BELFRY_BEAT_RENEW));
	}
	answer_renew(b);
	assert_int_equal(b->lost, 0);
	assert_true(b->cover.from == at_time(10, 0, 0));
}

/* ---- clocks ------------------------------------------------------------------------------------ */

static void renewals_say_where_the_stores_clock_should_be(void **state)
{
	struct bench *b = *state;

	begin(b);
	pass_time(b, BEAT);
	wake(b);
	assert_true(b->orders.beat->expect_now == b->store_now);
	assert_true(b->orders.beat->tolerance == LEASE);
}

static void answer_conflict(struct bench *b)
{
	b->orders.beat->now = b->store_now;
	done(b, BELFRY_CONFLICT);
}

static void b07_a_step_forward_is_a_gap_and_a_step_back_tells_the_planner(void **state)
{
	struct bench *b = *state;

	begin(b);
	pass_time(b, BEAT);
	b->store_now += BELFRY_DAY;
	wake(b);
	answer_conflict(b);
	assert_int_equal(b->lost, 1);
	done(b, BELFRY_OK); /* the old one is declared dead */
	done(b, BELFRY_OK); /* registered */
	answer_renew(b);
	assert_int_equal(b->clock_backs, 0);
	pass_time(b, BEAT);
	b->store_now -= BELFRY_DAY;
	wake(b);
	answer_conflict(b);
	assert_int_equal(b->lost, 2);
	done(b, BELFRY_OK);
	done(b, BELFRY_OK);
	assert_int_equal(b->clock_backs, 0); /* with the first coverage on the new clock */
	answer_renew(b);
	assert_int_equal(b->clock_backs, 1);
	assert_true(b->orders.has_cover || b->covers == 3);
}

/* The store held a renewal up for longer than the lease before it looked at its clock. */
static void waiting_for_the_store_is_no_step_of_its_clock(void **state)
{
	struct bench *b = *state;

	begin(b);
	pass_time(b, BEAT);
	wake(b);
	pass_time(b, LEASE + BELFRY_SECOND);
	answer_conflict(b);
	assert_int_equal(b->lost, 0);
	assert_true(is_beat(b, BELFRY_BEAT_RENEW));
	/* And it goes on from there, with the room that the slow answer leaves open. */
	assert_true(b->orders.beat->tolerance > LEASE);
	answer_renew(b);
	assert_int_equal(b->lost, 0);
	/* It looked at once, but the answer took that long. */
	pass_time(b, BEAT);
	wake(b);
	struct belfry_beat *slow = b->orders.beat;
	belfry_time looked = b->store_now;
	pass_time(b, LEASE + BELFRY_SECOND);
	belfry_time now = b->store_now;
	b->store_now = looked;
	answer_renew(b);
	b->store_now = now;
	assert_non_null(slow);
	answer_chores(b);
	wake(b);
	assert_true(is_beat(b, BELFRY_BEAT_RENEW));
	assert_true(b->store_now <= b->orders.beat->expect_now + b->orders.beat->tolerance);
	assert_true(b->store_now >= b->orders.beat->expect_now - b->orders.beat->tolerance);
}

static void coverage_that_lies_ahead_at_the_start_means_a_clock_set_back(void **state)
{
	struct bench *b = *state;
	struct belfry_incarnation ahead = {.id = id_of(9),
			.covers_from = at_time(12, 0, 0),
			.covered_until = at_time(13, 0, 0),
			.ended_at = at_time(13, 0, 0)};

	wake(b);
	done(b, BELFRY_OK);
	answer_renew(b);
	assert_non_null(b->orders.list);
	b->orders.list->incarnations = &ahead;
	b->orders.list->count = 1;
	done(b, BELFRY_OK);
	assert_int_equal(b->clock_backs, 1);
	answer_chores(b);
	beat(b);
	assert_int_equal(b->clock_backs, 1); /* once */
}

/* ---- the others -------------------------------------------------------------------------------- */

static void t038_another_is_judged_after_a_whole_lease_of_the_same_beat(void **state)
{
	struct bench *b = *state;

	see_other(b, 50, 7);
	begin(b);
	for (belfry_duration seen = BEAT; seen < LEASE; seen += BEAT) {
		beat(b);
		assert_null(b->orders.beat);
	}
	pass_time(b, BEAT);
	wake(b);
	answer_renew(b);
	assert_true(is_beat(b, BELFRY_BEAT_DEAD));
	assert_int_equal(bf_id_compare(b->orders.beat->incarnation, id_of(50)), 0);
	assert_int_equal(b->orders.beat->expect_beat, 7);
	done(b, BELFRY_OK);
	/* At once another beat: its news lets the dispatcher take over. */
	assert_true(is_beat(b, BELFRY_BEAT_RENEW));
	assert_int_equal(bf_keeper_counts(b->keeper)->judged, 1);
}

static void a_beat_that_moves_is_a_life(void **state)
{
	struct bench *b = *state;

	see_other(b, 50, 1);
	begin(b);
	for (uint64_t i = 0; i < 20; i++) {
		see_other(b, 50, 1 + i / 3); /* slow, but within a lease */
		beat(b);
		assert_null(b->orders.beat);
	}
}

static void an_outage_restarts_every_observation(void **state)
{
	struct bench *b = *state;

	see_other(b, 50, 7);
	begin(b);
	beat(b);
	beat(b);
	pass_time(b, BEAT);
	wake(b);
	done(b, BELFRY_UNAVAILABLE);
	pass_time(b, 15 * BELFRY_SECOND);
	wake(b);
	answer_renew(b);
	answer_chores(b);
	assert_null(b->orders.beat);
	for (belfry_duration seen = BEAT; seen < LEASE; seen += BEAT) {
		beat(b);
		assert_null(b->orders.beat);
	}
	pass_time(b, BEAT);
	wake(b);
	answer_renew(b);
	assert_true(is_beat(b, BELFRY_BEAT_DEAD));
}

static void a_judgement_that_came_too_late_begins_anew(void **state)
{
	struct bench *b = *state;

	see_other(b, 50, 7);
	begin(b);
	for (int i = 0; i < 3; i++) {
		beat(b);
	}
	pass_time(b, BEAT);
	wake(b);
	answer_renew(b);
	assert_true(is_beat(b, BELFRY_BEAT_DEAD));
	done(b, BELFRY_CONFLICT); /* it has beaten meanwhile */
	assert_int_equal(bf_keeper_counts(b->keeper)->judged, 0);
	assert_int_equal(b->lost, 0);
	answer_chores(b);
	assert_null(b->orders.beat);
	beat(b);
	assert_null(b->orders.beat);
}

static void many_dead_are_judged_one_after_another(void **state)
{
	struct bench *b = *state;
	size_t judged = 0;

	for (unsigned i = 0; i < 5; i++) {
		see_other(b, 50 + i, 7);
	}
	begin(b);
	for (int i = 0; i < 60 && judged < 5; i++) {
		if (is_beat(b, BELFRY_BEAT_DEAD)) {
			judged++;
			/* The store lists it no more. */
			for (size_t k = 1; k < b->living_count; k++) {
				if (bf_id_compare(b->living[k].id, b->orders.beat->incarnation) ==
						0) {
					b->living[k] = b->living[--b->living_count];
				}
			}
			done(b, BELFRY_OK);
		} else if (is_beat(b, BELFRY_BEAT_RENEW)) {
			answer_renew(b);
		} else if (b->orders.list != NULL || b->orders.prune != NULL) {
			answer_chores(b);
		} else {
			pass_time(b, BEAT);
			wake(b);
		}
	}
	assert_int_equal(judged, 5);
}

/* ---- chores, and the end ----------------------------------------------------------------------- */

static void pruning_goes_on_page_by_page_and_rests(void **state)
{
	struct bench *b = *state;

	wake(b);
	done(b, BELFRY_OK);
	answer_renew(b);
	done(b, BELFRY_OK); /* looked ahead */
	assert_non_null(b->orders.prune);
	assert_true(b->orders.prune->keep_age == BELFRY_DAY);
	b->orders.prune->removed = 3;
	b->orders.prune->next = id_of(5);
	done(b, BELFRY_OK);
	assert_null(b->orders.prune);
	pass_time(b, 100 * BELFRY_MILLISECOND);
	wake(b);
	assert_non_null(b->orders.prune);
	assert_int_equal(bf_id_compare(b->orders.prune->after, id_of(5)), 0);
	b->orders.prune->is_done = true;
	done(b, BELFRY_OK);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	assert_null(b->orders.prune);
	assert_int_equal(bf_keeper_counts(b->keeper)->pruned, 3);
}

static void a_clean_stop_writes_the_end(void **state)
{
	struct bench *b = *state;

	begin(b);
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_END});
	assert_true(is_beat(b, BELFRY_BEAT_END));
	done(b, BELFRY_UNAVAILABLE);
	assert_false(b->orders.is_ended);
	pass_time(b, BELFRY_SECOND);
	wake(b);
	assert_true(is_beat(b, BELFRY_BEAT_END));
	done(b, BELFRY_OK);
	assert_true(b->orders.is_ended);
	pass_time(b, LEASE);
	wake(b);
	assert_null(b->orders.beat);
	/* Even what it hears later begins nothing. */
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_LOST, .standstill = 2 * LEASE});
	assert_null(b->orders.beat);
}

static void an_end_before_anything_was_registered_is_an_end(void **state)
{
	struct bench *b = *state;

	wake(b);
	done(b, BELFRY_UNAVAILABLE);
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_END});
	pass_time(b, BELFRY_SECOND);
	if (!b->orders.is_ended) {
		wake(b);
	}
	assert_true(b->orders.is_ended);
}

static void low_marks_travel_with_the_beats(void **state)
{
	struct bench *b = *state;

	begin(b);
	step(b, (struct bf_keeper_event){.kind = BF_KEEPER_LOW, .low = id_of(77)});
	pass_time(b, BEAT);
	wake(b);
	assert_int_equal(bf_id_compare(b->orders.beat->low, id_of(77)), 0);
	/* They are not those of the next incarnation. */
	done(b, BELFRY_STALE);
	assert_true(bf_id_is_zero(b->orders.beat->low));
}

static void observations_without_memory_begin_with_a_later_beat(void **state)
{
	struct bench *b = *state;

	begin(b);
	see_other(b, 50, 7);
	bf_fault_arm(bf_alloc_fault(), 1, -1);
	beat(b);
	bf_fault_arm(bf_alloc_fault(), 0, 0);
	assert_int_equal(b->lost, 0);
	for (belfry_duration seen = 0; seen < LEASE; seen += BEAT) {
		beat(b);
		assert_null(b->orders.beat);
	}
	pass_time(b, BEAT);
	wake(b);
	answer_renew(b);
	assert_true(is_beat(b, BELFRY_BEAT_DEAD));
}

static void what_the_host_cancelled_is_passed_on_by_each_beat(void **state)
{
	struct bench *b = *state;
	struct belfry_id gone[] = {id_of(60), id_of(61)};

	begin(b);
	assert_int_equal(b->orders.cancelled.run_count, 0);
	for (int i = 0; i < 3; i++) {
		pass_time(b, BEAT);
		wake(b);
		answer_chores(b);
		assert_true(is_beat(b, BELFRY_BEAT_RENEW));
		b->orders.beat->cancelled = gone;
		b->orders.beat->cancelled_count = 2;
		/* Without memory it is told by the next one. */
		bf_fault_arm(bf_alloc_fault(), i == 0 ? 1 : 0, i == 0 ? -1 : 0);
		answer_renew(b);
		bf_fault_arm(bf_alloc_fault(), 0, 0);
		assert_true(b->orders.has_cover);
		assert_int_equal(b->orders.cancelled.run_count, i == 0 ? 0 : 2);
	}
	assert_memory_equal(b->orders.cancelled.runs, gone, sizeof(gone));
	assert_int_equal(b->orders.cancelled.at, b->store_now);
	assert_true(b->orders.cancelled.is_beats);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int run_keeper_tests(void)
{
	const struct CMUnitTest tests[] = {
			CASE(coverage_begins_with_the_first_renewal_not_with_the_registration),
			CASE(a_slow_answer_shortens_how_long_we_may_act),
			CASE(beats_come_every_beat_and_sooner_when_asked_but_not_without_end),
			CASE(a_failed_registration_is_repeated_under_another_id),
			CASE(t041_declared_dead_we_are_lost_and_begin_anew),
			CASE(t010_b08_a_standstill_longer_than_the_lease_ends_the_incarnation),
			CASE(a_standstill_during_a_renewal_publishes_no_coverage),
			CASE(t074_an_outage_does_not_end_coverage),
			CASE(renewals_say_where_the_stores_clock_should_be),
			CASE(b07_a_step_forward_is_a_gap_and_a_step_back_tells_the_planner),
			CASE(waiting_for_the_store_is_no_step_of_its_clock),
			CASE(coverage_that_lies_ahead_at_the_start_means_a_clock_set_back),
			CASE(t038_another_is_judged_after_a_whole_lease_of_the_same_beat),
			CASE(a_beat_that_moves_is_a_life),
			CASE(an_outage_restarts_every_observation),
			CASE(a_judgement_that_came_too_late_begins_anew),
			CASE(many_dead_are_judged_one_after_another),
			CASE(pruning_goes_on_page_by_page_and_rests),
			CASE(a_clean_stop_writes_the_end),
			CASE(an_end_before_anything_was_registered_is_an_end),
			CASE(low_marks_travel_with_the_beats),
			CASE(observations_without_memory_begin_with_a_later_beat),
			CASE(what_the_host_cancelled_is_passed_on_by_each_beat),
	};
	return cmocka_run_group_tests_name("keeper", tests, NULL, NULL);
}
