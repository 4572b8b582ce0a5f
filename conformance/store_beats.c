/* Incarnations: coverage, and who may end whom. */
#include "conformance/store_priv.h"

static void a_new_incarnation_covers_nothing(struct belfry_store_trial *trial)
{
	struct belfry_beat beat = {.kind = BELFRY_BEAT_REGISTER,
			.incarnation = bf_suite_incarnation_id(1),
			.length = BELFRY_MINUTE,
			.identity = bf_suite_str("host-1"),
			.version = bf_suite_str("0.1.0"),
			.tz_version = bf_suite_str("2026a")};

	REQUIRE(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	CHECK(trial, beat.now >= trial->start);
	CHECK(trial, beat.beat == 0);
	struct belfry_incarnation row = bf_suite_incarnation(trial, beat.incarnation);
	CHECK(trial, row.registered_at == beat.now);
	CHECK(trial, row.covers_from == 0);
	CHECK(trial, row.ended_at == 0);
	CHECK(trial, !row.was_declared_dead);
	CHECK(trial, bf_suite_is(row.identity, "host-1"));
	CHECK(trial, bf_suite_is(row.version, "0.1.0"));
	CHECK(trial, bf_suite_is(row.tz_version, "2026a"));
}

static void the_first_renewal_starts_coverage(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_incarnation first = bf_suite_incarnation(trial, id);
	struct belfry_beat beat;

	CHECK(trial, first.beat == 1);
	CHECK(trial, first.covers_from >= first.registered_at);
	CHECK(trial, first.covered_until == first.covers_from + BELFRY_MINUTE);
	REQUIRE(trial, bf_suite_renew(trial, id, &beat) == BELFRY_OK);
	CHECK(trial, beat.beat == 2);
	struct belfry_incarnation second = bf_suite_incarnation(trial, id);
	CHECK(trial, second.beat == 2);
	CHECK(trial, second.covers_from == first.covers_from);
	CHECK(trial, second.covered_until == beat.now + BELFRY_MINUTE);
}

static void renewing_names_all_that_live(struct belfry_store_trial *trial)
{
	struct belfry_id a = bf_suite_begin_incarnation(trial, 1);
	struct belfry_id b = bf_suite_begin_incarnation(trial, 2);
	struct belfry_id c = bf_suite_begin_incarnation(trial, 3);
	struct belfry_beat beat;
	unsigned seen = 0;

	REQUIRE(trial, bf_suite_end_incarnation(trial, b) == BELFRY_OK);
	REQUIRE(trial, bf_suite_renew(trial, a, &beat) == BELFRY_OK);
	REQUIRE(trial, beat.living_count == 2);
	for (size_t i = 0; i < beat.living_count; i++) {
		seen |= bf_suite_same_id(beat.living[i].id, a) ? 1u : 0u;
		seen |= bf_suite_same_id(beat.living[i].id, c) ? 2u : 0u;
		CHECK(trial, beat.living[i].ended_at == 0);
	}
	CHECK(trial, seen == 3);
}

static void a_clean_stop_ends_coverage_exactly(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_beat end = {.kind = BELFRY_BEAT_END, .incarnation = id};

	REQUIRE(trial, bf_suite_beat_on(trial, trial->store, &end) == BELFRY_OK);
	struct belfry_incarnation row = bf_suite_incarnation(trial, id);
	CHECK(trial, row.ended_at == end.now);
	CHECK(trial, row.covered_until == end.now);
	CHECK(trial, !row.was_declared_dead);
}

static void one_that_ended_renews_no_more(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_beat beat;

	REQUIRE(trial, bf_suite_end_incarnation(trial, id) == BELFRY_OK);
	CHECK(trial, bf_suite_renew(trial, id, &beat) == BELFRY_STALE);
	CHECK(trial, bf_suite_end_incarnation(trial, id) == BELFRY_STALE);
	CHECK(trial, bf_suite_incarnation(trial, id).beat == 1);
}

static void one_declared_dead_renews_no_more(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_beat beat;

	REQUIRE(trial, bf_suite_declare_dead(trial, id, 1) == BELFRY_OK);
	CHECK(trial, bf_suite_renew(trial, id, &beat) == BELFRY_STALE);
	CHECK(trial, bf_suite_end_incarnation(trial, id) == BELFRY_STALE);
}

static void an_unknown_one_cannot_renew(struct belfry_store_trial *trial)
{
	struct belfry_beat beat;

	CHECK(trial, bf_suite_renew(trial, bf_suite_incarnation_id(9), &beat) == BELFRY_STALE);
}

static void death_is_declared_by_comparing_the_beat(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_beat dead = {.kind = BELFRY_BEAT_DEAD, .incarnation = id, .expect_beat = 7};
	belfry_time covered_until = bf_suite_incarnation(trial, id).covered_until;

	CHECK(trial, bf_suite_beat_on(trial, trial->store, &dead) == BELFRY_CONFLICT);
	CHECK(trial, dead.now >= trial->start);
	CHECK(trial, bf_suite_incarnation(trial, id).ended_at == 0);
	dead.expect_beat = 1;
	REQUIRE(trial, bf_suite_beat_on(trial, trial->store, &dead) == BELFRY_OK);
	struct belfry_incarnation row = bf_suite_incarnation(trial, id);
	CHECK(trial, row.ended_at == dead.now);
	CHECK(trial, row.was_declared_dead);
	CHECK(trial, row.covered_until == covered_until);
}

static void dead_already_is_dead(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);

	REQUIRE(trial, bf_suite_declare_dead(trial, id, 1) == BELFRY_OK);
	belfry_time ended_at = bf_suite_incarnation(trial, id).ended_at;
	CHECK(trial, bf_suite_declare_dead(trial, id, 1) == BELFRY_OK);
	CHECK(trial, bf_suite_declare_dead(trial, id, 99) == BELFRY_OK);
	CHECK(trial, bf_suite_incarnation(trial, id).ended_at == ended_at);
}

static void a_stepped_clock_renews_nothing(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_beat beat = {.kind = BELFRY_BEAT_RENEW,
			.incarnation = id,
			.length = BELFRY_MINUTE,
			.expect_now = bf_suite_now(trial) + BELFRY_HOUR,
			.tolerance = BELFRY_MINUTE};
	struct belfry_incarnation before = bf_suite_incarnation(trial, id);

	CHECK(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_CONFLICT);
	CHECK(trial, beat.now >= trial->start && beat.now < trial->start + BELFRY_HOUR);
	beat.expect_now = bf_suite_now(trial) - BELFRY_HOUR;
	CHECK(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_CONFLICT);
	struct belfry_incarnation after = bf_suite_incarnation(trial, id);
	CHECK(trial, after.beat == before.beat);
	CHECK(trial, after.covered_until == before.covered_until);
	beat.expect_now = bf_suite_now(trial) + BELFRY_SECOND;
	CHECK(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
}

static void what_covers_nothing_later_is_left_out(struct belfry_store_trial *trial)
{
	struct belfry_id ended = bf_suite_begin_incarnation(trial, 1);
	struct belfry_id living = bf_suite_begin_incarnation(trial, 2);

	REQUIRE(trial, bf_suite_end_incarnation(trial, ended) == BELFRY_OK);
	struct belfry_list list = {.kind = BELFRY_LIST_INCARNATIONS,
			.from = bf_suite_now(trial) + BELFRY_HOUR};
	bf_suite_list(trial, &list);
	REQUIRE(trial, list.count == 1);
	CHECK(trial, bf_suite_same_id(list.incarnations[0].id, living));
}

static void a_beat_that_answered_outlives_a_restart(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_incarnation before = bf_suite_incarnation(trial, id);
	struct belfry_incarnation after = {0};

	REQUIRE(trial, bf_suite_reopen(trial));
	bool is_exclusive = (trial->store->ops->caps & BELFRY_STORE_CAP_EXCLUSIVE) != 0;
	REQUIRE(trial, bf_suite_find_incarnation(trial, id, &after));
	CHECK(trial, after.beat == before.beat);
	CHECK(trial, after.covers_from == before.covers_from);
	CHECK(trial, after.covered_until == before.covered_until);
	/* An exclusive store proves at open that every earlier incarnation is dead. */
	CHECK(trial, (after.ended_at != 0) == is_exclusive);
}

static void a_renewal_tells_of_another_tz_database(struct belfry_store_trial *trial)
{
	struct belfry_id id = bf_suite_begin_incarnation(trial, 1);
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_RENEW,
			.incarnation = id,
			.length = BELFRY_MINUTE,
			.tz_version = bf_suite_str("2099z")};

	CHECK(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	CHECK(trial, bf_suite_is(bf_suite_incarnation(trial, id).tz_version, "2099z"));
	beat.tz_version = bf_suite_str("");
	CHECK(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	CHECK(trial, bf_suite_is(bf_suite_incarnation(trial, id).tz_version, "2099z"));
}

const struct belfry_store_case bf_suite_beats[] = {
		{"a_new_incarnation_covers_nothing", a_new_incarnation_covers_nothing},
		{"the_first_renewal_starts_coverage", the_first_renewal_starts_coverage},
		{"renewing_names_all_that_live", renewing_names_all_that_live},
		{"a_clean_stop_ends_coverage_exactly", a_clean_stop_ends_coverage_exactly},
		{"one_that_ended_renews_no_more", one_that_ended_renews_no_more},
		{"one_declared_dead_renews_no_more", one_declared_dead_renews_no_more},
		{"an_unknown_incarnation_cannot_renew", an_unknown_one_cannot_renew},
		{"death_is_declared_by_comparing_the_beat",
				death_is_declared_by_comparing_the_beat},
		{"an_incarnation_dead_already_is_dead", dead_already_is_dead},
		{"b07_a_stepped_clock_renews_nothing", a_stepped_clock_renews_nothing},
		{"incarnations_that_cover_nothing_later_are_left_out",
				what_covers_nothing_later_is_left_out},
		{"a_beat_that_answered_outlives_a_restart",
				a_beat_that_answered_outlives_a_restart},
		{"a_renewal_tells_of_another_tz_database", a_renewal_tells_of_another_tz_database},
		{NULL, NULL},
};
