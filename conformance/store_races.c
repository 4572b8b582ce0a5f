/* Two actors at once: threads that a barrier lets go together, many rounds. Each has a handle of
 * its own where the fixture offers one. What must hold does not depend on who comes first. */
#include <pthread.h>

#include "conformance/store_priv.h"

#define ROUNDS       25
#define RUNS_IN_RACE 40

/* One side of a race. The sides of one round differ in `side` alone. */
struct racer {
	struct belfry_store *store;
	pthread_barrier_t *barrier;
	int side;
	struct belfry_arena arena;
	enum belfry_status status;
	void (*act)(struct racer *racer);

	/* what the acts work on */
	char schedule[8];
	belfry_time due;
	uint64_t version;
	struct belfry_id holder;
	struct belfry_run run;
	struct belfry_new_run new_run;
	struct belfry_advance_item item;
	struct belfry_add add;
	struct belfry_claim claim;
	struct belfry_schedule_put put;
};

static void *race_main(void *data)
{
	struct racer *racer = data;

	(void)pthread_barrier_wait(racer->barrier);
	racer->act(racer);
	return NULL;
}

/* Both sides act on copies of `common`, at the same moment. */
static bool race(struct belfry_store_trial *trial, struct racer *sides,
		void (*first)(struct racer *), void (*second)(struct racer *))
{
	pthread_barrier_t barrier;
	pthread_t thread;

	if (!CHECK(trial, pthread_barrier_init(&barrier, NULL, 2) == 0)) {
		return false;
	}
	sides[0].act = first;
	sides[1].act = second;
	for (int i = 0; i < 2; i++) {
		sides[i].side = i;
		sides[i].barrier = &barrier;
		sides[i].arena = (struct belfry_arena)BELFRY_ARENA_INIT;
	}
	sides[0].store = trial->store;
	sides[1].store = bf_suite_share(trial);
	bool is_started = CHECK(trial, pthread_create(&thread, NULL, race_main, &sides[1]) == 0);
	if (is_started) {
		(void)race_main(&sides[0]);
		CHECK(trial, pthread_join(thread, NULL) == 0);
	}
	bf_suite_unshare(trial, sides[1].store);
	CHECK(trial, pthread_barrier_destroy(&barrier) == 0);
	return is_started;
}

static void end_race(struct racer *sides)
{
	belfry_arena_fini(&sides[0].arena);
	belfry_arena_fini(&sides[1].arena);
}

static enum belfry_status advance_one(struct racer *racer, int64_t max_active)
{
	struct belfry_advance advance = {.size = sizeof(advance),
			.holder = racer->holder,
			.max_active = max_active,
			.items = &racer->item,
			.item_count = 1};
	enum belfry_status status = racer->store->ops->advance(racer->store, &advance, NULL);

	return status != BELFRY_OK ? status : racer->item.result;
}

/* --- one due time, two planners --- */

static void plan(struct racer *racer)
{
	racer->new_run = (struct belfry_new_run){.id = bf_suite_run_id("a", racer->due),
			.state = BELFRY_RUN_DISPATCHING,
			.due_at = racer->due,
			.ready_at = racer->due,
			.stands_for = 1};
	racer->item = (struct belfry_advance_item){.schedule = bf_suite_str("a"),
			.expect_version = racer->version,
			.cursor = racer->due + BELFRY_SECOND,
			.runs = &racer->new_run,
			.run_count = 1};
	racer->status = advance_one(racer, 0);
}

static void t016_two_planners_make_one_run(struct belfry_store_trial *trial)
{
	struct racer sides[2] = {{.holder = bf_suite_begin_incarnation(trial, 1)},
			{.holder = bf_suite_begin_incarnation(trial, 2)}};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++) {
			sides[i].due = bf_suite_due(trial, round);
			sides[i].version = bf_suite_row(trial, "a").version;
		}
		REQUIRE(trial, race(trial, sides, plan, plan));
		int winner = sides[0].status == BELFRY_OK ? 0 : 1;
		CHECK(trial, sides[winner].status == BELFRY_OK);
		CHECK(trial, sides[1 - winner].status == BELFRY_CONFLICT);
		CHECK(trial, sides[winner].new_run.is_inserted);
		CHECK(trial, !sides[1 - winner].new_run.is_inserted);
		struct belfry_run run = bf_suite_run(trial, sides[0].new_run.id);
		CHECK(trial, bf_suite_same_id(run.holder, sides[winner].holder));
		end_race(sides);
	}
	CHECK(trial, bf_suite_row(trial, "a").fired_count == ROUNDS);
}

/* --- one due time, a planner and a backfill: they meet at the primary key --- */

static void backfill(struct racer *racer)
{
	racer->add = (struct belfry_add){.schedule = bf_suite_str("a"),
			.id = bf_suite_run_id("a", racer->due),
			.trigger = BELFRY_TRIGGER_BACKFILL,
			.due_at = racer->due};
	racer->status = racer->store->ops->add_runs(racer->store, &racer->add, 1, NULL);
}

static void t018_the_unique_key_rejects_one_and_nobody_fails(struct belfry_store_trial *trial)
{
	struct racer sides[2] = {{.holder = bf_suite_begin_incarnation(trial, 1)}};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (int round = 0; round < ROUNDS; round++) {
		sides[0].due = sides[1].due = bf_suite_due(trial, round);
		sides[0].version = bf_suite_row(trial, "a").version;
		REQUIRE(trial, race(trial, sides, plan, backfill));
		CHECK(trial, sides[0].status == BELFRY_OK && sides[1].status == BELFRY_OK);
		bool is_added = sides[1].add.result == BELFRY_OK;
		CHECK(trial, is_added || sides[1].add.result == BELFRY_CONFLICT);
		CHECK(trial, sides[0].new_run.is_inserted != is_added);
		struct belfry_run run = bf_suite_run(trial, sides[0].new_run.id);
		CHECK(trial, (run.trigger == BELFRY_TRIGGER_BACKFILL) == is_added);
		end_race(sides);
	}
}

/* --- the last place under the ceiling --- */

static void put_last(struct racer *racer)
{
	racer->put = (struct belfry_schedule_put){.revision = 1,
			.flags = BELFRY_SCHEDULE_F_ENABLED};
	racer->item = (struct belfry_advance_item){.schedule = bf_suite_str(racer->schedule),
			.put = &racer->put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = racer->due};
	racer->status = advance_one(racer, (int64_t)racer->version);
}

static void t070_one_of_two_creators_gets_the_last_place(struct belfry_store_trial *trial)
{
	struct racer sides[2] = {{.schedule = "x0"}, {.schedule = "y0"}};

	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++) {
			sides[i].due = trial->start;
			sides[i].schedule[1] = (char)('a' + round);
			sides[i].version = (uint64_t)round + 1; /* the ceiling */
		}
		REQUIRE(trial, race(trial, sides, put_last, put_last));
		int winner = sides[0].status == BELFRY_OK ? 0 : 1;
		CHECK(trial, sides[winner].status == BELFRY_OK);
		CHECK(trial, sides[1 - winner].status == BELFRY_CAPACITY);
		CHECK(trial, bf_suite_counts(trial).active_schedules == round + 1);
		end_race(sides);
	}
}

/* --- one queue, two claimers --- */

static void claim_all(struct racer *racer)
{
	racer->claim = (struct belfry_claim){.size = sizeof(racer->claim),
			.kind = BELFRY_CLAIM_QUEUE,
			.holder = racer->holder,
			.max_runs = RUNS_IN_RACE / 2,
			.max_bytes = UINT64_MAX / 2};
	racer->status = racer->store->ops->claim_runs(racer->store, &racer->claim, &racer->arena,
			NULL);
}

static void t033_two_claimers_share_no_run(struct belfry_store_trial *trial)
{
	struct racer sides[2] = {{.holder = bf_suite_begin_incarnation(trial, 1)},
			{.holder = bf_suite_begin_incarnation(trial, 2)}};
	struct belfry_id none = {{0}};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (int i = 0; i < RUNS_IN_RACE; i++) {
		CHECK(trial,
				bf_suite_plan(trial, "a", bf_suite_due(trial, i), BELFRY_RUN_QUEUED,
						none));
	}
	REQUIRE(trial, race(trial, sides, claim_all, claim_all));
	CHECK(trial, sides[0].status == BELFRY_OK && sides[1].status == BELFRY_OK);
	for (size_t i = 0; i < sides[0].claim.run_count; i++) {
		for (size_t j = 0; j < sides[1].claim.run_count; j++) {
			CHECK(trial,
					!bf_suite_same_id(sides[0].claim.runs[i].run.id,
							sides[1].claim.runs[j].run.id));
		}
	}
	for (int i = 0; i < 2; i++) {
		struct belfry_claim owned = bf_suite_claim(trial, BELFRY_CLAIM_OWNED,
				sides[i].holder, RUNS_IN_RACE);
		CHECK(trial, owned.run_count == sides[i].claim.run_count);
	}
	end_race(sides);
}

/* --- one Run, two Sessions --- */

static void record_own_session(struct racer *racer)
{
	struct belfry_record record = bf_suite_record_of(&racer->run, BELFRY_RECORD_SESSION);

	record.session = bf_suite_str(racer->side == 0 ? "s-0" : "s-1");
	racer->status = racer->store->ops->record(racer->store, &record, 1, NULL);
	racer->status = racer->status != BELFRY_OK ? racer->status : record.result;
}

static void t033_one_of_two_sessions_is_stored(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct racer sides[2] = {{.side = 0}, {.side = 1}};
	struct belfry_id none = {{0}};

	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(trial,
				bf_suite_plan(trial, "a", bf_suite_due(trial, round),
						BELFRY_RUN_QUEUED, none));
		struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
		REQUIRE(trial, claim.run_count == 1);
		sides[0].run = sides[1].run = claim.runs[0].run;
		REQUIRE(trial, race(trial, sides, record_own_session, record_own_session));
		int winner = sides[0].status == BELFRY_OK ? 0 : 1;
		CHECK(trial, sides[winner].status == BELFRY_OK);
		CHECK(trial, sides[1 - winner].status == BELFRY_CONFLICT);
		CHECK(trial,
				bf_suite_is(bf_suite_run(trial, claim.runs[0].run.id).session,
						winner == 0 ? "s-0" : "s-1"));
		end_race(sides);
	}
}

/* --- a beat against a declaration of death --- */

static void renew(struct racer *racer)
{
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_RENEW,
			.incarnation = racer->holder,
			.length = BELFRY_MINUTE};

	racer->status = racer->store->ops->beat(racer->store, &beat, &racer->arena, NULL);
}

static void declare_dead(struct racer *racer)
{
	struct belfry_beat beat = {.size = sizeof(beat),
			.kind = BELFRY_BEAT_DEAD,
			.incarnation = racer->holder,
			.expect_beat = 1};

	racer->status = racer->store->ops->beat(racer->store, &beat, &racer->arena, NULL);
}

static void a_beat_and_a_declared_death_exclude_each_other(struct belfry_store_trial *trial)
{
	struct racer sides[2] = {{.side = 0}, {.side = 1}};

	for (int round = 0; round < ROUNDS; round++) {
		sides[0].holder = sides[1].holder = bf_suite_begin_incarnation(trial,
				(unsigned)round + 1);
		REQUIRE(trial, race(trial, sides, renew, declare_dead));
		bool is_renewed = sides[0].status == BELFRY_OK;
		CHECK(trial, sides[0].status == (is_renewed ? BELFRY_OK : BELFRY_STALE));
		CHECK(trial, sides[1].status == (is_renewed ? BELFRY_CONFLICT : BELFRY_OK));
		struct belfry_incarnation row = bf_suite_incarnation(trial, sides[0].holder);
		CHECK(trial, (row.ended_at == 0) == is_renewed);
		CHECK(trial, row.beat == (is_renewed ? 2u : 1u));
		end_race(sides);
	}
}

/* --- a claim against a disable: whoever was claimed has started before it answered --- */

static void disable(struct racer *racer)
{
	racer->put = (struct belfry_schedule_put){.revision = (int64_t)racer->due};
	racer->item = (struct belfry_advance_item){.schedule = bf_suite_str("a"),
			.expect_version = racer->version,
			.flags = BELFRY_ADVANCE_F_END_UNSTARTED,
			.put = &racer->put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = racer->due};
	racer->status = advance_one(racer, 0);
}

static void t049_no_run_starts_after_a_disable_answered(struct belfry_store_trial *trial)
{
	struct racer sides[2] = {{.holder = bf_suite_begin_incarnation(trial, 1)}};
	struct belfry_id none = {{0}};

	for (int round = 0; round < ROUNDS; round++) {
		belfry_time due = bf_suite_due(trial, round);
		(void)bf_suite_put(trial, "a", trial->start + 2 * round, due);
		CHECK(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_QUEUED, none));
		sides[1].version = bf_suite_row(trial, "a").version;
		sides[1].due = trial->start + 2 * round + 1; /* the revision */
		REQUIRE(trial, race(trial, sides, claim_all, disable));
		CHECK(trial, sides[0].status == BELFRY_OK && sides[1].status == BELFRY_OK);
		struct belfry_run run = bf_suite_run(trial, bf_suite_run_id("a", due));
		bool is_claimed = sides[0].claim.run_count == 1;
		CHECK(trial,
				run.state ==
						(is_claimed ? BELFRY_RUN_DISPATCHING
							    : BELFRY_RUN_CANCELLED));
		CHECK(trial, (run.started_at != 0) == is_claimed);
		CHECK(trial,
				bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, sides[0].holder, 9)
								.run_count == 0);
		end_race(sides);
	}
}

/* --- one request key, two presses --- */

static void press(struct racer *racer)
{
	racer->add = (struct belfry_add){.schedule = bf_suite_str("a"),
			.id = racer->run.id,
			.trigger = BELFRY_TRIGGER_MANUAL,
			.request_key = bf_suite_str(racer->schedule),
			.request_hash = 1};
	racer->status = racer->store->ops->add_runs(racer->store, &racer->add, 1, NULL);
}

static void two_presses_with_one_key_make_one_run(struct belfry_store_trial *trial)
{
	struct racer sides[2] = {{.schedule = "k0"}, {.schedule = "k0"}};

	(void)bf_suite_put(trial, "a", 1, BELFRY_TIME_NEVER);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < 2; i++) {
			sides[i].schedule[1] = (char)('a' + round);
			sides[i].run.id = bf_suite_request_id(trial, (unsigned)(2 * round + i) + 1);
		}
		REQUIRE(trial, race(trial, sides, press, press));
		CHECK(trial, sides[0].status == BELFRY_OK && sides[1].status == BELFRY_OK);
		CHECK(trial, sides[0].add.result == BELFRY_OK);
		CHECK(trial, sides[1].add.result == BELFRY_OK);
		CHECK(trial, sides[0].add.is_new != sides[1].add.is_new);
		CHECK(trial, bf_suite_same_id(sides[0].add.existing, sides[1].add.existing));
		end_race(sides);
	}
}

const struct belfry_store_case bf_suite_races[] = {
		{"t016_two_planners_make_one_run", t016_two_planners_make_one_run},
		{"t018_the_unique_key_rejects_one_and_nobody_fails",
				t018_the_unique_key_rejects_one_and_nobody_fails},
		{"t070_one_of_two_creators_gets_the_last_place",
				t070_one_of_two_creators_gets_the_last_place},
		{"t033_two_claimers_share_no_run", t033_two_claimers_share_no_run},
		{"t033_one_of_two_sessions_is_stored", t033_one_of_two_sessions_is_stored},
		{"a_beat_and_a_declared_death_exclude_each_other",
				a_beat_and_a_declared_death_exclude_each_other},
		{"t049_no_run_starts_after_a_disable_answered",
				t049_no_run_starts_after_a_disable_answered},
		{"two_presses_with_one_key_make_one_run", two_presses_with_one_key_make_one_run},
		{NULL, NULL},
};
