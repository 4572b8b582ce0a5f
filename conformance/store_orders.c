/* The contended operations of two actors as named steps, in every order in which the two sequences
 * can be merged. Each order runs on a store of its own; what must hold is checked after every step
 * and at the end. Here the actors never overlap inside a call: store_races.c lets them.
 *
 * Actors do what the engine does: they act on what they read last, and go on when they are
 * refused. */
#include <stdio.h>

#include "conformance/store_priv.h"

#define MOST_STEPS 12

/* What an actor knows. */
struct actor {
	struct belfry_id id;
	uint64_t beat;
	uint64_t version;      /* of the schedule, as read */
	struct belfry_run run; /* as claimed; no fence: none */
	bool stored_session;
	bool stored_turn;
	bool is_stale; /* was told that it is over */
	bool has_disabled;
	bool has_concluded; /* and thereby dispatched it */
};

struct world {
	struct belfry_store_trial *trial;
	struct belfry_id run;
	struct actor actors[2];
	struct belfry_run seen; /* the Run after the step before */
};

struct step {
	const char *name;
	void (*act)(struct world *world, struct actor *self, struct actor *other);
};

/* --- steps --- */

static void adopt(struct world *world, struct actor *self, enum belfry_claim_kind kind)
{
	struct belfry_claim claim = {.size = sizeof(claim),
			.kind = kind,
			.holder = self->id,
			.max_runs = 1,
			.max_bytes = UINT64_MAX / 2};
	struct belfry_store *store = world->trial->store;
	enum belfry_status status = store->ops->claim_runs(store, &claim, &world->trial->arena,
			NULL);

	if (status == BELFRY_STALE) {
		self->is_stale = true;
		return;
	}
	CHECK(world->trial, status == BELFRY_OK);
	if (status == BELFRY_OK && claim.run_count == 1) {
		self->run = claim.runs[0].run;
		CHECK(world->trial, self->run.fence > world->seen.fence);
	}
}

static void claim(struct world *world, struct actor *self, struct actor *other)
{
	(void)other;
	adopt(world, self, BELFRY_CLAIM_QUEUE);
}

static void take_over(struct world *world, struct actor *self, struct actor *other)
{
	(void)other;
	adopt(world, self, BELFRY_CLAIM_TAKEOVER);
}

static void renew(struct world *world, struct actor *self, struct actor *other)
{
	struct belfry_beat beat;
	enum belfry_status status = bf_suite_renew(world->trial, self->id, &beat);

	(void)other;
	CHECK(world->trial, status == BELFRY_OK || status == BELFRY_STALE);
	self->is_stale |= status == BELFRY_STALE;
	if (status == BELFRY_OK) {
		bool is_told = beat.cancelled_count > 0;
		CHECK(world->trial,
				is_told ==
						(world->seen.state == BELFRY_RUN_CANCELLED &&
								bf_suite_same_id(world->seen.holder,
										self->id)));
	}
	self->beat = status == BELFRY_OK ? beat.beat : self->beat;
}

/* Reads what the later steps act on: the other's beat and the schedule's version. */
static void observe(struct world *world, struct actor *self, struct actor *other)
{
	struct belfry_incarnation row = bf_suite_incarnation(world->trial, other->id);

	self->beat = row.beat;
	self->version = bf_suite_row(world->trial, "a").version;
}

static void declare_dead(struct world *world, struct actor *self, struct actor *other)
{
	struct belfry_incarnation before = bf_suite_incarnation(world->trial, other->id);
	enum belfry_status status = bf_suite_declare_dead(world->trial, other->id, self->beat);

	CHECK(world->trial, status == (before.beat == self->beat ? BELFRY_OK : BELFRY_CONFLICT));
}

static enum belfry_status record(struct world *world, struct actor *self,
		enum belfry_record_kind kind, const char *text)
{
	struct belfry_record record = bf_suite_record_of(&self->run, kind);
	bool is_current = world->seen.fence == self->run.fence &&
			world->seen.state == BELFRY_RUN_DISPATCHING;

	record.session = bf_suite_str(kind == BELFRY_RECORD_SESSION ? text : "");
	record.turn = bf_suite_str(kind == BELFRY_RECORD_TURN ? text : "");
	record.status = BELFRY_STATUS_RUNNING;
	record.ready_at = world->trial->start;
	record.is_failure = true;
	enum belfry_status status = bf_suite_record(world->trial, &record);
	CHECK(world->trial, (status == BELFRY_STALE) == !is_current);
	return status;
}

static const char *session_of(const struct world *world, const struct actor *self)
{
	return self == &world->actors[0] ? "session of a" : "session of b";
}

static void record_session(struct world *world, struct actor *self, struct actor *other)
{
	(void)other;
	if (self->run.fence == 0) {
		return;
	}
	bool is_free = world->seen.session.len == 0;
	enum belfry_status status = record(world, self, BELFRY_RECORD_SESSION,
			session_of(world, self));
	self->stored_session |= status == BELFRY_OK;
	if (status != BELFRY_STALE) {
		bool is_own = !is_free && bf_suite_is(world->seen.session, session_of(world, self));
		CHECK(world->trial, (status == BELFRY_OK) == (is_free || is_own));
	}
}

static void record_turn(struct world *world, struct actor *self, struct actor *other)
{
	(void)other;
	if (self->run.fence == 0) {
		return;
	}
	enum belfry_status status = record(world, self, BELFRY_RECORD_TURN, "turn");
	CHECK(world->trial, status == BELFRY_OK || status == BELFRY_STALE);
	self->stored_turn |= status == BELFRY_OK;
}

static void retry(struct world *world, struct actor *self, struct actor *other)
{
	(void)other;
	if (self->run.fence != 0) {
		enum belfry_status status = record(world, self, BELFRY_RECORD_RETRY, "");
		CHECK(world->trial, status == BELFRY_OK || status == BELFRY_STALE);
	}
}

static void plan(struct world *world, struct actor *self, struct actor *other)
{
	belfry_time due = bf_suite_due(world->trial, 1);
	struct belfry_new_run run = {.id = bf_suite_run_id("a", due),
			.state = BELFRY_RUN_DISPATCHING,
			.due_at = due,
			.ready_at = due,
			.stands_for = 1};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = self->version,
			.cursor = due + BELFRY_SECOND,
			.runs = &run,
			.run_count = 1};
	uint64_t version = bf_suite_row(world->trial, "a").version;
	struct belfry_run found;
	bool is_there = bf_suite_find_run(world->trial, run.id, &found);
	enum belfry_status status = bf_suite_advance_item(world->trial, self->id, &item);

	(void)other;
	if (status == BELFRY_STALE) {
		self->is_stale = true;
		return;
	}
	CHECK(world->trial, status == (version == self->version ? BELFRY_OK : BELFRY_CONFLICT));
	CHECK(world->trial, run.is_inserted == (status == BELFRY_OK && !is_there));
}

static void disable(struct world *world, struct actor *self, struct actor *other)
{
	struct belfry_schedule_put put = {.revision = 2};
	struct belfry_advance_item item = {.schedule = bf_suite_str("a"),
			.expect_version = self->version,
			.flags = BELFRY_ADVANCE_F_END_UNSTARTED,
			.put = &put,
			.cursor = BELFRY_TIME_NEVER,
			.decided_at = world->trial->start};
	uint64_t version = bf_suite_row(world->trial, "a").version;
	enum belfry_status status = bf_suite_advance_item(world->trial, (struct belfry_id){0},
			&item);

	(void)other;
	CHECK(world->trial, status == (version == self->version ? BELFRY_OK : BELFRY_CONFLICT));
	self->has_disabled |= status == BELFRY_OK;
}

/* --- what the host says --- */

static bool is_final(enum belfry_run_state state)
{
	return state != BELFRY_RUN_QUEUED && state != BELFRY_RUN_DELAYED &&
			state != BELFRY_RUN_DISPATCHING;
}

static bool is_terminal(enum belfry_run_status status)
{
	return belfry_run_status_is_terminal(status);
}

static void cancel(struct world *world, struct actor *self, struct actor *other)
{
	const struct belfry_run *seen = &world->seen;
	struct belfry_record record = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST,
			.run = world->run,
			.error = BELFRY_RUN_ERROR_CANCELLED};
	bool is_allowed = seen->status == BELFRY_STATUS_CANCELLED || !is_final(seen->state);

	(void)self;
	(void)other;
	CHECK(world->trial,
			bf_suite_record(world->trial, &record) ==
					(is_allowed ? BELFRY_OK : BELFRY_CONFLICT));
}

static void conclude(struct world *world, struct actor *self, struct actor *other)
{
	const struct belfry_run *seen = &world->seen;
	struct belfry_record record = {.kind = BELFRY_RECORD_CONCLUDED,
			.run = world->run,
			.status = BELFRY_STATUS_COMPLETED};
	bool may_have_ended = seen->started_at != 0 && seen->session.len > 0;
	enum belfry_status expected = BELFRY_STALE;

	(void)other;
	if (is_terminal(seen->status)) {
		expected = seen->status == record.status ? BELFRY_OK : BELFRY_CONFLICT;
	} else if (seen->state == BELFRY_RUN_DISPATCHED || may_have_ended) {
		expected = BELFRY_OK;
		self->has_concluded |= seen->state != BELFRY_RUN_DISPATCHED;
	}
	CHECK(world->trial, bf_suite_record(world->trial, &record) == expected);
}

/* --- what must hold --- */

static void check_world(struct world *world)
{
	struct belfry_store_trial *trial = world->trial;
	struct belfry_run now = bf_suite_run(trial, world->run);
	const struct belfry_run *before = &world->seen;

	CHECK(trial, now.fence >= before->fence);
	CHECK(trial, now.attempt >= before->attempt);
	if (before->session.len > 0) {
		CHECK(trial, now.session.len == before->session.len);
		CHECK(trial, memcmp(now.session.ptr, before->session.ptr, now.session.len) == 0);
	}
	if (is_final(before->state)) {
		CHECK(trial, now.state == before->state);
	}
	if (is_terminal(before->status)) {
		CHECK(trial, now.status == before->status);
		CHECK(trial, now.finished_at == before->finished_at);
	}
	CHECK(trial, before->started_at == 0 || now.started_at == before->started_at);
	CHECK(trial, (now.state == BELFRY_RUN_DISPATCHING) <= !bf_suite_is_zero(now.holder));
	/* T045: nothing starts once the disable has answered. */
	bool is_disabled = world->actors[0].has_disabled || world->actors[1].has_disabled;
	CHECK(trial, !(is_disabled && now.started_at == 0 && now.state == BELFRY_RUN_QUEUED));
	world->seen = now;
}

static void check_end(struct world *world)
{
	const struct actor *a = &world->actors[0];
	const struct actor *b = &world->actors[1];

	CHECK(world->trial, !(a->stored_turn && b->stored_turn));
	CHECK(world->trial,
			(world->seen.state == BELFRY_RUN_DISPATCHED) ==
					(a->stored_turn || b->stored_turn || a->has_concluded ||
							b->has_concluded));
	CHECK(world->trial, !(a->stored_session && b->stored_session));
}

/* --- every order --- */

static bool begin_world(struct world *world, struct belfry_store_trial *trial)
{
	*world = (struct world){.trial = trial};
	if (!bf_suite_reset(trial)) {
		return false;
	}
	belfry_arena_reset(&trial->arena);
	world->actors[0].id = bf_suite_begin_incarnation(trial, 1);
	world->actors[1].id = bf_suite_begin_incarnation(trial, 2);
	world->actors[0].beat = world->actors[1].beat = 1;
	(void)bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0));
	(void)bf_suite_plan(trial, "a", bf_suite_due(trial, 0), BELFRY_RUN_QUEUED,
			(struct belfry_id){0});
	world->run = bf_suite_run_id("a", bf_suite_due(trial, 0));
	world->seen = bf_suite_run(trial, world->run);
	world->actors[0].version = world->actors[1].version = bf_suite_row(trial, "a").version;
	return true;
}

static size_t count_steps(const struct step *steps)
{
	size_t count = 0;

	while (steps[count].name != NULL) {
		count++;
	}
	return count;
}

/* Runs one order: bit i of `order` says whose turn is turn i. On a failure the order is
 * reported. */
static void run_order(struct belfry_store_trial *trial, const struct step *const *scripts,
		size_t turns, unsigned order)
{
	char names[240] = "in this order:";
	size_t len = strlen(names);
	size_t next[2] = {0, 0};
	struct world world;
	unsigned failures = trial->failures;

	if (!begin_world(&world, trial)) {
		return;
	}
	for (size_t i = 0; i < turns; i++) {
		unsigned who = order >> i & 1;
		const struct step *step = &scripts[who][next[who]++];
		int n = snprintf(names + len, sizeof(names) - len, " %c.%s", who == 0 ? 'a' : 'b',
				step->name);
		len += n > 0 && (size_t)n < sizeof(names) - len ? (size_t)n : 0;
		step->act(&world, &world.actors[who], &world.actors[1 - who]);
		check_world(&world);
	}
	check_end(&world);
	if (trial->failures != failures) {
		(void)bf_suite_check(trial, false, __FILE__, __LINE__, names);
	}
}

static unsigned count_bits(unsigned value)
{
	unsigned count = 0;

	for (; value != 0; value >>= 1) {
		count += value & 1;
	}
	return count;
}

static void run_orders(struct belfry_store_trial *trial, const struct step *a, const struct step *b)
{
	const struct step *scripts[2] = {a, b};
	size_t of_b = count_steps(b);
	size_t turns = count_steps(a) + of_b;

	REQUIRE(trial, turns <= MOST_STEPS);
	for (unsigned order = 0; order < 1u << turns; order++) {
		if (count_bits(order) == of_b) {
			run_order(trial, scripts, turns, order);
		}
	}
}

static void two_claimers(struct belfry_store_trial *trial)
{
	static const struct step steps[] = {{"claim", claim}, {"session", record_session},
			{"turn", record_turn}, {NULL, NULL}};

	run_orders(trial, steps, steps);
}

static void a_holder_and_its_successor(struct belfry_store_trial *trial)
{
	static const struct step holder[] = {{"claim", claim}, {"renew", renew},
			{"session", record_session}, {"turn", record_turn}, {NULL, NULL}};
	static const struct step successor[] = {{"observe", observe}, {"dead", declare_dead},
			{"take-over", take_over}, {"session", record_session},
			{"turn", record_turn}, {NULL, NULL}};

	run_orders(trial, holder, successor);
}

static void a_retry_and_two_claimers(struct belfry_store_trial *trial)
{
	static const struct step first[] = {{"claim", claim}, {"retry", retry}, {"claim", claim},
			{"turn", record_turn}, {NULL, NULL}};
	static const struct step second[] = {{"claim", claim}, {"session", record_session},
			{"turn", record_turn}, {NULL, NULL}};

	run_orders(trial, first, second);
}

static void two_planners_and_a_death(struct belfry_store_trial *trial)
{
	static const struct step first[] = {{"observe", observe}, {"plan", plan}, {"renew", renew},
			{NULL, NULL}};
	static const struct step second[] = {{"observe", observe}, {"plan", plan},
			{"dead", declare_dead}, {NULL, NULL}};

	run_orders(trial, first, second);
}

static void a_claimer_and_a_disable(struct belfry_store_trial *trial)
{
	static const struct step claimer[] = {{"observe", observe}, {"plan", plan},
			{"claim", claim}, {"turn", record_turn}, {NULL, NULL}};
	static const struct step editor[] = {{"observe", observe}, {"disable", disable},
			{NULL, NULL}};

	run_orders(trial, claimer, editor);
}

static void a_holder_and_the_host(struct belfry_store_trial *trial)
{
	static const struct step holder[] = {{"claim", claim}, {"session", record_session},
			{"retry", retry}, {"claim", claim}, {"turn", record_turn}, {"renew", renew},
			{NULL, NULL}};
	static const struct step host[] = {{"cancel", cancel}, {"conclude", conclude},
			{"cancel", cancel}, {NULL, NULL}};

	run_orders(trial, holder, host);
}

static void a_holder_and_a_host_that_concludes(struct belfry_store_trial *trial)
{
	static const struct step holder[] = {{"claim", claim}, {"session", record_session},
			{"turn", record_turn}, {"renew", renew}, {NULL, NULL}};
	static const struct step host[] = {{"conclude", conclude}, {"conclude", conclude},
			{"cancel", cancel}, {"conclude", conclude}, {NULL, NULL}};

	run_orders(trial, holder, host);
}

static void a_holder_and_a_successor_that_cancels(struct belfry_store_trial *trial)
{
	static const struct step holder[] = {{"claim", claim}, {"session", record_session},
			{"renew", renew}, {"turn", record_turn}, {NULL, NULL}};
	static const struct step successor[] = {{"observe", observe}, {"dead", declare_dead},
			{"take-over", take_over}, {"cancel", cancel}, {"renew", renew},
			{"turn", record_turn}, {NULL, NULL}};

	run_orders(trial, holder, successor);
}

const struct belfry_store_case bf_suite_orders[] = {
		{"t033_two_claimers_in_every_order", two_claimers},
		{"t036_a_holder_and_its_successor_in_every_order", a_holder_and_its_successor},
		{"t036_a_retry_and_two_claimers_in_every_order", a_retry_and_two_claimers},
		{"t016_two_planners_and_a_death_in_every_order", two_planners_and_a_death},
		{"t045_a_claimer_and_a_disable_in_every_order", a_claimer_and_a_disable},
		{"a_holder_and_a_host_that_cancels_in_every_order", a_holder_and_the_host},
		{"b19_a_holder_and_a_host_that_concludes_in_every_order",
				a_holder_and_a_host_that_concludes},
		{"a_holder_and_a_successor_that_cancels_in_every_order",
				a_holder_and_a_successor_that_cancels},
		{NULL, NULL},
};
