/* What the host says of a Run, whoever holds it: cancelled, concluded. Neither asks for a fence; the first
 * terminal status stays. */
#include "conformance/store_priv.h"

static struct belfry_run begin(struct belfry_store_trial *trial)
{
	return bf_suite_claimed_run(trial, "a", bf_suite_begin_incarnation(trial, 1));
}

/* The Run's second revision, as a Session of the host's own; claimed. */
static struct belfry_run begin_local(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	struct belfry_claim claim;

	(void)bf_suite_put_flags(trial, "a", 1,
			BELFRY_SCHEDULE_F_ENABLED | BELFRY_SCHEDULE_F_LOCAL_SESSION, 0,
			BELFRY_TIME_NEVER);
	(void)bf_suite_request(trial, "a", 1);
	claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	return CHECK(trial, claim.run_count == 1) ? claim.runs[0].run : (struct belfry_run){0};
}

static enum belfry_status cancel(struct belfry_store_trial *trial, struct belfry_id run,
		const char *message)
{
	struct belfry_record record = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST,
			.run = run,
			.error = BELFRY_RUN_ERROR_CANCELLED,
			.message = bf_suite_str(message)};

	return bf_suite_record(trial, &record);
}

static enum belfry_status conclude(struct belfry_store_trial *trial, struct belfry_id run,
		enum belfry_run_status status)
{
	struct belfry_record record = {.kind = BELFRY_RECORD_CONCLUDED,
			.run = run,
			.status = status};

	return bf_suite_record(trial, &record);
}

static enum belfry_status record_session(struct belfry_store_trial *trial,
		const struct belfry_run *run)
{
	struct belfry_record record = bf_suite_record_of(run, BELFRY_RECORD_SESSION);

	record.session = bf_suite_str("s-1");
	return bf_suite_record(trial, &record);
}

static enum belfry_status record_retry(struct belfry_store_trial *trial,
		const struct belfry_run *run)
{
	struct belfry_record record = bf_suite_record_of(run, BELFRY_RECORD_RETRY);

	record.ready_at = trial->start;
	record.is_failure = true;
	return bf_suite_record(trial, &record);
}

/* How often the next beat of `holder` names the Run. */
static unsigned count_told(struct belfry_store_trial *trial, struct belfry_id holder,
		struct belfry_id run)
{
	struct belfry_beat beat;
	unsigned count = 0;

	if (!CHECK(trial, bf_suite_renew(trial, holder, &beat) == BELFRY_OK)) {
		return 99;
	}
	for (size_t i = 0; i < beat.cancelled_count; i++) {
		count += bf_suite_same_id(beat.cancelled[i], run);
	}
	return count;
}

static void check_cancelled(struct belfry_store_trial *trial, struct belfry_id run,
		const char *message)
{
	struct belfry_run stored = bf_suite_run(trial, run);

	CHECK(trial, stored.state == BELFRY_RUN_CANCELLED);
	CHECK(trial, stored.status == BELFRY_STATUS_CANCELLED);
	CHECK(trial, stored.error == BELFRY_RUN_ERROR_CANCELLED);
	CHECK(trial, bf_suite_is(stored.message, message));
	CHECK(trial, stored.finished_at >= trial->start && stored.turn.len == 0);
}

/* --- cancelled --- */

static void a_run_that_waits_is_cancelled_and_leaves_the_queue(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);

	REQUIRE(trial, bf_suite_put(trial, "a", 1, bf_suite_due(trial, 0)) != 0);
	struct belfry_id run = bf_suite_request(trial, "a", 1);
	REQUIRE(trial, cancel(trial, run, "by a test") == BELFRY_OK);
	check_cancelled(trial, run, "by a test");
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_QUEUED] == 0);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, holder, 1);
	CHECK(trial, claim.run_count == 0 && claim.next_ready == BELFRY_TIME_NEVER);
	CHECK(trial, count_told(trial, holder, run) == 0);
	CHECK(trial, bf_suite_is_zero(bf_suite_run(trial, run).holder));
}

static void a_run_that_is_delayed_is_cancelled_too(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_retry(trial, &run) == BELFRY_OK);
	REQUIRE(trial, cancel(trial, run.id, "") == BELFRY_OK);
	check_cancelled(trial, run.id, "");
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_DELAYED] == 0);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, run.holder, 1).run_count == 0);
	CHECK(trial, count_told(trial, run.holder, run.id) == 0);
}

static void the_holder_is_told_and_records_nothing_more(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_id other = bf_suite_begin_incarnation(trial, 2);
	const enum belfry_record_kind kinds[] = {BELFRY_RECORD_SESSION, BELFRY_RECORD_TURN,
			BELFRY_RECORD_RETRY, BELFRY_RECORD_FAILED, BELFRY_RECORD_CANCELLED,
			BELFRY_RECORD_RELEASED};

	REQUIRE(trial, cancel(trial, run.id, "by a test") == BELFRY_OK);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, bf_suite_same_id(stored.holder, run.holder) && stored.fence == run.fence);
	CHECK(trial, count_told(trial, run.holder, run.id) == 1);
	CHECK(trial, count_told(trial, run.holder, run.id) == 1);
	CHECK(trial, count_told(trial, other, run.id) == 0);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct belfry_record record = bf_suite_record_of(&run, kinds[i]);
		record.session = bf_suite_str(kinds[i] == BELFRY_RECORD_SESSION ? "s-1" : "");
		record.status = BELFRY_STATUS_COMPLETED;
		record.ready_at = trial->start;
		CHECK(trial, bf_suite_record(trial, &record) == BELFRY_STALE);
	}
	check_cancelled(trial, run.id, "by a test");
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_OWNED, run.holder, 1).run_count == 0);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_DISPATCHING] == 0);
}

static void a_run_born_claimed_is_told_of_as_well(struct belfry_store_trial *trial)
{
	struct belfry_id holder = bf_suite_begin_incarnation(trial, 1);
	belfry_time due = bf_suite_due(trial, 0);

	REQUIRE(trial, bf_suite_put(trial, "a", 1, due) != 0);
	REQUIRE(trial, bf_suite_plan(trial, "a", due, BELFRY_RUN_DISPATCHING, holder));
	struct belfry_id run = bf_suite_run_id("a", due);
	REQUIRE(trial, cancel(trial, run, "") == BELFRY_OK);
	CHECK(trial, count_told(trial, holder, run) == 1);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_OWNED, holder, 1).run_count == 0);
	struct belfry_run stored = bf_suite_run(trial, run);
	CHECK(trial, bf_suite_finish_run(trial, &stored, BELFRY_STATUS_COMPLETED) == BELFRY_STALE);
}

static void a_cancelled_run_is_taken_over_by_nobody(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_id other = bf_suite_begin_incarnation(trial, 2);

	REQUIRE(trial, cancel(trial, run.id, "") == BELFRY_OK);
	REQUIRE(trial, bf_suite_declare_dead(trial, run.holder, 1) == BELFRY_OK);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, other, 1).run_count == 0);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, other, 1).run_count == 0);
	CHECK(trial, count_told(trial, other, run.id) == 0);
	check_cancelled(trial, run.id, "");
}

static void a_successor_is_told_and_not_the_one_before(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_id other = bf_suite_begin_incarnation(trial, 2);

	REQUIRE(trial, bf_suite_declare_dead(trial, run.holder, 1) == BELFRY_OK);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_TAKEOVER, other, 1);
	REQUIRE(trial, claim.run_count == 1);
	REQUIRE(trial, cancel(trial, run.id, "") == BELFRY_OK);
	CHECK(trial, count_told(trial, other, run.id) == 1);
	CHECK(trial, record_session(trial, &run) == BELFRY_STALE);
	CHECK(trial, record_session(trial, &claim.runs[0].run) == BELFRY_STALE);
}

static void a_cancel_is_told_for_a_minute_and_then_forgotten(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_beat beat = {.kind = BELFRY_BEAT_RENEW,
			.incarnation = run.holder,
			.length = BELFRY_SECOND};

	if (!bf_suite_can_move_clock(trial)) {
		return;
	}
	REQUIRE(trial, cancel(trial, run.id, "") == BELFRY_OK);
	trial->fixture->move_clock(trial->fixture->data, BELFRY_CANCELLED_TOLD - BELFRY_SECOND);
	REQUIRE(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	CHECK(trial, beat.cancelled_count == 1);
	trial->fixture->move_clock(trial->fixture->data, 3 * BELFRY_SECOND);
	REQUIRE(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	CHECK(trial, beat.cancelled_count == 0);
	trial->fixture->move_clock(trial->fixture->data, -3 * BELFRY_SECOND);
	REQUIRE(trial, bf_suite_beat_on(trial, trial->store, &beat) == BELFRY_OK);
	CHECK(trial, beat.cancelled_count == 0);
}

static void slow_beats_are_told_for_longer(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial); /* whose beats take a minute */

	if (!bf_suite_can_move_clock(trial)) {
		return;
	}
	REQUIRE(trial, cancel(trial, run.id, "") == BELFRY_OK);
	trial->fixture->move_clock(trial->fixture->data, 3 * BELFRY_MINUTE);
	CHECK(trial, count_told(trial, run.holder, run.id) == 1);
}

static void a_cancel_again_changes_nothing(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, cancel(trial, run.id, "the first") == BELFRY_OK);
	belfry_time finished_at = bf_suite_run(trial, run.id).finished_at;
	CHECK(trial, cancel(trial, run.id, "the second") == BELFRY_OK);
	check_cancelled(trial, run.id, "the first");
	CHECK(trial, bf_suite_run(trial, run.id).finished_at == finished_at);
	CHECK(trial, count_told(trial, run.holder, run.id) == 1);
}

static void what_is_said_again_is_marked_so(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record cancelled = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST, .run = run.id};
	struct belfry_record concluded = {.kind = BELFRY_RECORD_CONCLUDED,
			.run = run.id,
			.status = BELFRY_STATUS_CANCELLED};

	REQUIRE(trial, bf_suite_record(trial, &cancelled) == BELFRY_OK && !cancelled.is_again);
	REQUIRE(trial, bf_suite_record(trial, &cancelled) == BELFRY_OK && cancelled.is_again);
	REQUIRE(trial, bf_suite_record(trial, &concluded) == BELFRY_OK && concluded.is_again);
}

static void what_has_a_turn_or_an_end_is_not_cancelled(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_RUNNING) == BELFRY_OK);
	CHECK(trial, cancel(trial, run.id, "") == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_run(trial, run.id).status == BELFRY_STATUS_RUNNING);
	REQUIRE(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	CHECK(trial, cancel(trial, run.id, "") == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_run(trial, run.id).status == BELFRY_STATUS_COMPLETED);
	CHECK(trial, count_told(trial, run.holder, run.id) == 0);
	CHECK(trial, cancel(trial, bf_suite_request_id(trial, 99), "") == BELFRY_NOT_FOUND);
}

static void a_failed_run_is_not_cancelled(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record failed = bf_suite_record_of(&run, BELFRY_RECORD_FAILED);

	failed.error = BELFRY_RUN_ERROR_PERMANENT;
	REQUIRE(trial, bf_suite_record(trial, &failed) == BELFRY_OK);
	CHECK(trial, cancel(trial, run.id, "") == BELFRY_CONFLICT);
	CHECK(trial, bf_suite_run(trial, run.id).status == BELFRY_STATUS_FAILED);
}

static void the_hosts_word_is_no_attempt(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	struct belfry_record record = {.kind = BELFRY_RECORD_CANCELLED_BY_HOST,
			.run = run.id,
			.error = BELFRY_RUN_ERROR_CANCELLED,
			.write_attempt = true};
	struct belfry_list list = {.kind = BELFRY_LIST_ATTEMPTS,
			.run_ids = &run.id,
			.run_id_count = 1};

	REQUIRE(trial, bf_suite_record(trial, &record) == BELFRY_OK);
	bf_suite_list(trial, &list);
	CHECK(trial, list.count == 0);
}

/* --- concluded --- */

static void check_concluded(struct belfry_store_trial *trial, struct belfry_id run,
		enum belfry_run_status status)
{
	struct belfry_run stored = bf_suite_run(trial, run);

	CHECK(trial, stored.state == BELFRY_RUN_DISPATCHED && stored.status == status);
	CHECK(trial, stored.turn.len == 0 && stored.dispatched_at >= trial->start);
	CHECK(trial, stored.finished_at == stored.dispatched_at);
}

static void a_run_with_its_session_is_dispatched_by_its_end(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_session(trial, &run) == BELFRY_OK);
	REQUIRE(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	check_concluded(trial, run.id, BELFRY_STATUS_COMPLETED);
	struct belfry_run stored = bf_suite_run(trial, run.id);
	CHECK(trial, bf_suite_is(stored.session, "s-1") && stored.fence == run.fence);
	CHECK(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_FAILED) == BELFRY_STALE);
	CHECK(trial, record_retry(trial, &run) == BELFRY_STALE);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_OWNED, run.holder, 1).run_count == 0);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_DISPATCHING] == 0);
	check_concluded(trial, run.id, BELFRY_STATUS_COMPLETED);
}

static void a_session_of_the_hosts_own_is_stored(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin_local(trial);

	REQUIRE(trial, conclude(trial, run.id, BELFRY_STATUS_FAILED) == BELFRY_OK);
	check_concluded(trial, run.id, BELFRY_STATUS_FAILED);
}

/* Its turn was admitted, and only the answer got lost: no other attempt is needed. */
static void a_run_that_waits_for_another_attempt_is_concluded(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_session(trial, &run) == BELFRY_OK);
	REQUIRE(trial, record_retry(trial, &run) == BELFRY_OK);
	REQUIRE(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	check_concluded(trial, run.id, BELFRY_STATUS_COMPLETED);
	struct belfry_claim claim = bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, run.holder, 1);
	CHECK(trial, claim.run_count == 0 && claim.next_ready == BELFRY_TIME_NEVER);
	CHECK(trial, bf_suite_counts(trial).by_state[BELFRY_RUN_DELAYED] == 0);
}

static void a_run_handed_back_is_concluded(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin_local(trial);
	struct belfry_record released = bf_suite_record_of(&run, BELFRY_RECORD_RELEASED);

	REQUIRE(trial, bf_suite_record(trial, &released) == BELFRY_OK);
	REQUIRE(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	check_concluded(trial, run.id, BELFRY_STATUS_COMPLETED);
	CHECK(trial, bf_suite_claim(trial, BELFRY_CLAIM_QUEUE, run.holder, 1).run_count == 0);
}

static void what_has_not_started_cannot_have_ended(struct belfry_store_trial *trial)
{
	(void)bf_suite_put_flags(trial, "a", 1,
			BELFRY_SCHEDULE_F_ENABLED | BELFRY_SCHEDULE_F_LOCAL_SESSION, 0,
			BELFRY_TIME_NEVER);
	struct belfry_id run = bf_suite_request(trial, "a", 1);

	CHECK(trial, conclude(trial, run, BELFRY_STATUS_COMPLETED) == BELFRY_STALE);
	CHECK(trial, bf_suite_run(trial, run).state == BELFRY_RUN_QUEUED);
}

static void without_a_session_nothing_can_have_ended(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_retry(trial, &run) == BELFRY_OK);
	CHECK(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_STALE);
	CHECK(trial, bf_suite_run(trial, run.id).state == BELFRY_RUN_DELAYED);
}

static void conclude_is_idempotent_and_the_first_terminal_status_stays(
		struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);
	const enum belfry_run_status others[] = {BELFRY_STATUS_FAILED, BELFRY_STATUS_CANCELLED,
			BELFRY_STATUS_UNKNOWN};

	REQUIRE(trial, record_session(trial, &run) == BELFRY_OK);
	REQUIRE(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	struct belfry_run first = bf_suite_run(trial, run.id);
	CHECK(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_OK);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		CHECK(trial, conclude(trial, run.id, others[i]) == BELFRY_CONFLICT);
	}
	CHECK(trial, cancel(trial, run.id, "") == BELFRY_CONFLICT);
	struct belfry_run last = bf_suite_run(trial, run.id);
	CHECK(trial, last.status == BELFRY_STATUS_COMPLETED);
	CHECK(trial, last.finished_at == first.finished_at && last.error == first.error);
}

static void a_cancelled_run_is_concluded_as_nothing_else(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, record_session(trial, &run) == BELFRY_OK);
	REQUIRE(trial, cancel(trial, run.id, "by a test") == BELFRY_OK);
	CHECK(trial, conclude(trial, run.id, BELFRY_STATUS_COMPLETED) == BELFRY_CONFLICT);
	CHECK(trial, conclude(trial, run.id, BELFRY_STATUS_CANCELLED) == BELFRY_OK);
	check_cancelled(trial, run.id, "by a test");
}

static void a_turn_concluded_as_cancelled_is_cancelled_already(struct belfry_store_trial *trial)
{
	struct belfry_run run = begin(trial);

	REQUIRE(trial, bf_suite_finish_run(trial, &run, BELFRY_STATUS_RUNNING) == BELFRY_OK);
	REQUIRE(trial, conclude(trial, run.id, BELFRY_STATUS_CANCELLED) == BELFRY_OK);
	CHECK(trial, cancel(trial, run.id, "") == BELFRY_OK);
	CHECK(trial, bf_suite_run(trial, run.id).state == BELFRY_RUN_DISPATCHED);
}

const struct belfry_store_case bf_suite_hosts[] = {
		{"a_run_that_waits_is_cancelled_and_leaves_the_queue",
				a_run_that_waits_is_cancelled_and_leaves_the_queue},
		{"a_run_that_is_delayed_is_cancelled_too", a_run_that_is_delayed_is_cancelled_too},
		{"the_holder_is_told_and_records_nothing_more",
				the_holder_is_told_and_records_nothing_more},
		{"a_run_born_claimed_is_told_of_as_well", a_run_born_claimed_is_told_of_as_well},
		{"a_cancelled_run_is_taken_over_by_nobody",
				a_cancelled_run_is_taken_over_by_nobody},
		{"a_successor_is_told_and_not_the_one_before",
				a_successor_is_told_and_not_the_one_before},
		{"a_cancel_is_told_for_a_minute_and_then_forgotten",
				a_cancel_is_told_for_a_minute_and_then_forgotten},
		{"slow_beats_are_told_for_longer", slow_beats_are_told_for_longer},
		{"a_cancel_again_changes_nothing", a_cancel_again_changes_nothing},
		{"what_is_said_again_is_marked_so", what_is_said_again_is_marked_so},
		{"what_has_a_turn_or_an_end_is_not_cancelled",
				what_has_a_turn_or_an_end_is_not_cancelled},
		{"a_failed_run_is_not_cancelled", a_failed_run_is_not_cancelled},
		{"the_hosts_word_is_no_attempt", the_hosts_word_is_no_attempt},
		{"a_run_with_its_session_is_dispatched_by_its_end",
				a_run_with_its_session_is_dispatched_by_its_end},
		{"a_session_of_the_hosts_own_is_stored", a_session_of_the_hosts_own_is_stored},
		{"a_run_that_waits_for_another_attempt_is_concluded",
				a_run_that_waits_for_another_attempt_is_concluded},
		{"a_run_handed_back_is_concluded", a_run_handed_back_is_concluded},
		{"what_has_not_started_cannot_have_ended", what_has_not_started_cannot_have_ended},
		{"without_a_session_nothing_can_have_ended",
				without_a_session_nothing_can_have_ended},
		{"b19_conclude_is_idempotent_and_the_first_terminal_status_stays",
				conclude_is_idempotent_and_the_first_terminal_status_stays},
		{"b19_a_cancelled_run_is_concluded_as_nothing_else",
				a_cancelled_run_is_concluded_as_nothing_else},
		{"a_turn_concluded_as_cancelled_is_cancelled_already",
				a_turn_concluded_as_cancelled_is_cancelled_already},
		{NULL, NULL},
};
