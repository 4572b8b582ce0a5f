/* A Run's ids, byte for byte, and its machine, move for move. The ids below were computed apart from
 * this code, from the words of run.h alone. */
#include "cases.h"

#include <stdio.h>

#include <belfry/schedule.h>

#include "base/timefmt.h"
#include "model/run.h"

#define X16 "xxxxxxxxxxxxxxxx"

static const struct {
	const char *schedule;
	belfry_time due;
	const char *id;
} vectors[] = {
		{"daily", 0, "00000000-0000-86ad-a97e-cdd9d84be177"},
		{"daily", 1, "00000000-0000-8c57-b27a-3b6d1e850bc0"},
		{"daily", 999, "00000000-0000-89bc-9e03-17fba0a6df5f"},
		{"daily", 1000, "00000000-0001-8871-b717-7cae620de144"},
		{"a", INT64_C(1767225600000000), "019b76da-a800-8c62-9e96-015af441ae7d"},
		{"a", INT64_C(1767225600000001), "019b76da-a800-8377-833e-6477f8d130e2"},
		{"b", INT64_C(1767225600000000), "019b76da-a800-810f-a637-4c5a82099318"},
		{"ab", INT64_C(1767225600000000), "019b76da-a800-8628-bb59-32b4da9f56a7"},
		{"0197f3c2-1d2e-7a4b-8c3d-9e0f1a2b3c4d", INT64_C(1767229200000000),
				"019b7711-9680-8d07-a251-84b5d577f99d"},
		{X16 X16 X16 X16, INT64_C(4102444800000000),
				"03bb2cc3-d800-857c-8675-c95164a3e30c"},
		{"~!", INT64_C(253402300799999999), "e677d21f-dbff-8a47-b3fc-2aac38e0e44c"},
};

static struct belfry_id run_id(const char *schedule, belfry_time due)
{
	struct belfry_id id;

	assert_int_equal(belfry_run_id(bf_str(schedule), due, &id), BELFRY_OK);
	return id;
}

static void the_bytes_of_a_run_id_are_fixed(void **state)
{
	char text[BELFRY_ID_TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < BF_COUNT(vectors); i++) {
		struct belfry_id id = run_id(vectors[i].schedule, vectors[i].due);
		belfry_id_format(id, text);
		assert_string_equal(text, vectors[i].id);
		assert_int_equal(id.bytes[6] >> 4, 8);
		assert_int_equal(id.bytes[8] >> 6, 2);
		assert_true(bf_run_id_time(id) ==
				vectors[i].due - vectors[i].due % BELFRY_MILLISECOND);
	}
}

/* The table of contract.md, "Spread". */
static const struct {
	const char *schedule;
	belfry_time due;
	belfry_duration second, minute, hour, day; /* milliseconds */
} spreads[] = {
		{"daily", 0, 448, 40448, 3520448, 53920448},
		{"a", INT64_C(1767225600000000), 629, 56629, 3356629, 21356629},
		{"b", INT64_C(1767225600000000), 433, 32433, 3212433, 57212433},
		{"~!", INT64_C(253402300799999999), 4, 17004, 377004, 3977004},
};

static void b11_the_offsets_of_a_spread_are_fixed(void **state)
{
	(void)state;
	for (size_t i = 0; i < BF_COUNT(spreads); i++) {
		struct belfry_id id = run_id(spreads[i].schedule, spreads[i].due);
		assert_int_equal(bf_id_spread(id, BELFRY_SECOND),
				spreads[i].second * BELFRY_MILLISECOND);
		assert_int_equal(bf_id_spread(id, BELFRY_MINUTE),
				spreads[i].minute * BELFRY_MILLISECOND);
		assert_int_equal(bf_id_spread(id, 60 * BELFRY_MINUTE),
				spreads[i].hour * BELFRY_MILLISECOND);
		assert_int_equal(bf_id_spread(id, 24 * 60 * BELFRY_MINUTE),
				spreads[i].day * BELFRY_MILLISECOND);
		assert_int_equal(bf_id_spread(id, 0), 0);
		assert_int_equal(bf_id_spread(id, -BELFRY_MINUTE), 0);
	}
}

/* 6,000 Runs over a minute: about 100 begin in each second, whole milliseconds all of them. */
static void a_spread_fills_its_window_evenly(void **state)
{
	unsigned counts[60] = {0};

	(void)state;
	for (int i = 0; i < 6000; i++) {
		struct belfry_id id = run_id("daily",
				INT64_C(1767225600000000) + i * BELFRY_MINUTE);
		belfry_duration offset = bf_id_spread(id, BELFRY_MINUTE);
		assert_in_range(offset, 0, BELFRY_MINUTE - 1);
		assert_int_equal(offset % BELFRY_MILLISECOND, 0);
		counts[offset / BELFRY_SECOND]++;
	}
	for (size_t i = 0; i < BF_COUNT(counts); i++) {
		assert_in_range(counts[i], 50, 150);
	}
}

static void times_before_1970_and_never_have_no_id(void **state)
{
	const belfry_time bad[] = {-1, INT64_MIN, BELFRY_TIME_NEVER};
	struct belfry_id id;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		assert_int_equal(belfry_run_id(BF_STR("a"), bad[i], &id), BELFRY_INVALID);
	}
}

static void ids_stand_in_the_order_of_their_times(void **state)
{
	const char *schedules[] = {"zzz", "a", "m", "0"};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		belfry_time due = INT64_C(1767225600000000) + i * BELFRY_MILLISECOND;
		struct belfry_id id = run_id(schedules[i % 4], due);
		struct belfry_id next = run_id(schedules[(i + 1) % 4], due + BELFRY_MILLISECOND);
		assert_true(bf_id_compare(id, next) < 0);
		/* The floor is below every id of its millisecond, above every earlier one. */
		assert_true(bf_id_compare(bf_run_id_floor(due), id) < 0);
		assert_true(bf_id_compare(bf_run_id_floor(due + BELFRY_MILLISECOND), id) > 0);
	}
	assert_true(bf_id_is_zero(bf_run_id_floor(-5)));
	assert_false(bf_id_is_zero(bf_run_id_floor(BELFRY_TIME_NEVER)));
}

static void t020_one_instant_in_two_offsets_is_one_run(void **state)
{
	const char *texts[] = {"2026-03-29T01:00:00Z", "2026-03-29T09:00:00+08:00",
			"2026-03-28T20:00:00-05:00", "2026-03-29T01:00:00+00:00"};
	struct belfry_id first = run_id("daily", INT64_C(1774746000000000));

	(void)state;
	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		belfry_time due;
		assert_int_equal(bf_time_parse(bf_str(texts[i]), &due), BELFRY_OK);
		assert_int_equal(bf_id_compare(run_id("daily", due), first), 0);
	}
}

static void the_schedule_and_the_time_cannot_flow_into_each_other(void **state)
{
	(void)state;
	/* The zero byte between them keeps "a" and "ab" apart whatever the time's bytes are. */
	assert_int_not_equal(bf_id_compare(run_id("a", 1000), run_id("ab", 1000)), 0);
	assert_int_not_equal(bf_id_compare(run_id("", 1000), run_id("a", 1000)), 0);
}

static void an_id_reads_back_as_it_was_written(void **state)
{
	char text[BELFRY_ID_TEXT_BYTES];
	uint64_t seed = 7;

	(void)state;
	for (int i = 0; i < 1000; i++) {
		struct belfry_id id;
		struct belfry_id back;
		for (size_t k = 0; k < sizeof(id.bytes); k++) {
			seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
			id.bytes[k] = (unsigned char)(seed >> 56);
		}
		belfry_id_format(id, text);
		assert_int_equal(strlen(text), BELFRY_ID_TEXT_BYTES - 1);
		assert_int_equal(belfry_id_parse(bf_str(text), &back), BELFRY_OK);
		assert_int_equal(bf_id_compare(id, back), 0);
	}
}

static void an_id_in_capitals_is_the_same_id(void **state)
{
	struct belfry_id a;
	struct belfry_id b;

	(void)state;
	assert_int_equal(belfry_id_parse(BF_STR("019B76DA-A800-8C62-9E96-015AF441AE7D"), &a),
			BELFRY_OK);
	assert_int_equal(belfry_id_parse(BF_STR("019b76da-a800-8c62-9e96-015af441ae7d"), &b),
			BELFRY_OK);
	assert_int_equal(bf_id_compare(a, b), 0);
}

static void what_is_no_id_is_refused(void **state)
{
	static const char with_nul[] = "019b76da-a800-8c62-9e96-015af441ae\0d";
	const struct belfry_str bad[] = {
			BF_STR(""),
			BF_STR("019b76daa8008c629e96015af441ae7d"),
			BF_STR("019b76da-a800-8c62-9e96-015af441ae7"),
			BF_STR("019b76da-a800-8c62-9e96-015af441ae7d0"),
			BF_STR("019b76da-a800-8c62-9e96-015af441ae7g"),
			BF_STR("019b76da-a800-8c62-9e96-015af441ae7 "),
			BF_STR("019b76da+a800-8c62-9e96-015af441ae7d"),
			BF_STR("019b76d-aa800-8c62-9e96-015af441ae7d"),
			BF_STR("{19b76da-a800-8c62-9e96-015af441ae7}"),
			BF_STR("------------------------------------"),
			{with_nul, sizeof(with_nul) - 1},
			{NULL, 0},
	};
	struct belfry_id id;

	(void)state;
	for (size_t i = 0; i < BF_COUNT(bad); i++) {
		assert_int_equal(belfry_id_parse(bad[i], &id), BELFRY_INVALID);
	}
	/* Every byte that is not a hexadecimal digit, at every place. */
	for (size_t at = 0; at < BELFRY_ID_TEXT_BYTES - 1; at++) {
		char text[] = "019b76da-a800-8c62-9e96-015af441ae7d";
		text[at] = '\x80';
		assert_int_equal(belfry_id_parse(bf_str(text), &id), BELFRY_INVALID);
		text[at] = '/';
		assert_int_equal(belfry_id_parse(bf_str(text), &id), BELFRY_INVALID);
	}
}

static void asked_for_runs_have_version_7_and_incarnations_4(void **state)
{
	const struct bf_env *env = bf_env_system();

	(void)state;
	belfry_time before = env->wall(env->data);
	struct belfry_id run = bf_run_id_new(env);
	struct belfry_id incarnation = bf_id_random(env);
	assert_int_equal(run.bytes[6] >> 4, 7);
	assert_int_equal(run.bytes[8] >> 6, 2);
	assert_true(bf_run_id_time(run) + BELFRY_MILLISECOND > before);
	assert_int_equal(incarnation.bytes[6] >> 4, 4);
	assert_int_equal(incarnation.bytes[8] >> 6, 2);
	assert_int_not_equal(bf_id_compare(run, bf_run_id_new(env)), 0);
}

/* ---- the machine ------------------------------------------------------------------------------- */

/* contract.md, "A Run's life", written down a second time. */
static const char *const moves[] = {
		"queued>dispatching",
		"queued>dispatched",
		"queued>failed",
		"queued>cancelled",
		"queued>skipped",
		"delayed>dispatching",
		"delayed>dispatched",
		"delayed>failed",
		"delayed>cancelled",
		"dispatching>dispatching",
		"dispatching>queued",
		"dispatching>delayed",
		"dispatching>dispatched",
		"dispatching>failed",
		"dispatching>cancelled",
};

static bool is_listed(unsigned from, unsigned to)
{
	char move[64];

	(void)snprintf(move, sizeof(move), "%s>%s", belfry_run_state_name(from),
			belfry_run_state_name(to));
	for (size_t i = 0; i < BF_COUNT(moves); i++) {
		if (strcmp(move, moves[i]) == 0) {
			return true;
		}
	}
	return false;
}

static void a_run_moves_as_the_contract_says_and_not_otherwise(void **state)
{
	(void)state;
	for (unsigned from = 0; from < BELFRY_RUN_STATE_COUNT; from++) {
		for (unsigned to = 0; to < BELFRY_RUN_STATE_COUNT; to++) {
			assert_int_equal(bf_sm_can_move(&bf_run_states, from, to),
					is_listed(from, to));
		}
	}
}

static void final_states_are_never_left_and_call_nothing(void **state)
{
	(void)state;
	for (unsigned s = 0; s < BELFRY_RUN_STATE_COUNT; s++) {
		bool is_final = bf_sm_is_final(&bf_run_states, s);
		assert_int_equal(is_final, !bf_run_state_is_open(s));
		for (unsigned to = 0; is_final && to < BELFRY_RUN_STATE_COUNT; to++) {
			assert_false(bf_sm_can_move(&bf_run_states, s, to));
		}
	}
	assert_true(bf_sm_can_start(&bf_run_states, BELFRY_RUN_QUEUED));
	assert_true(bf_sm_can_start(&bf_run_states, BELFRY_RUN_DISPATCHING));
	assert_false(bf_sm_can_start(&bf_run_states, BELFRY_RUN_DELAYED));
	assert_false(bf_sm_can_start(&bf_run_states, BELFRY_RUN_DISPATCHED));
	assert_false(bf_sm_can_start(&bf_run_states, BELFRY_RUN_FAILED));
}

static void each_state_has_the_status_of_the_contract(void **state)
{
	(void)state;
	assert_int_equal(bf_run_state_status(BELFRY_RUN_QUEUED), BELFRY_STATUS_QUEUED);
	assert_int_equal(bf_run_state_status(BELFRY_RUN_DELAYED), BELFRY_STATUS_QUEUED);
	assert_int_equal(bf_run_state_status(BELFRY_RUN_DISPATCHING), BELFRY_STATUS_RUNNING);
	assert_int_equal(bf_run_state_status(BELFRY_RUN_DISPATCHED), BELFRY_STATUS_RUNNING);
	assert_int_equal(bf_run_state_status(BELFRY_RUN_FAILED), BELFRY_STATUS_FAILED);
	assert_int_equal(bf_run_state_status(BELFRY_RUN_CANCELLED), BELFRY_STATUS_CANCELLED);
	assert_int_equal(bf_run_state_status(BELFRY_RUN_SKIPPED), BELFRY_STATUS_SKIPPED);
}

static void names_outside_their_lists_read_as_a_question_mark(void **state)
{
	(void)state;
	assert_string_equal(belfry_run_state_name(BELFRY_RUN_STATE_COUNT), "?");
	assert_string_equal(belfry_run_status_name(BELFRY_RUN_STATUS_COUNT), "?");
	assert_string_equal(belfry_run_error_name(BELFRY_RUN_ERROR_COUNT), "?");
	assert_string_equal(belfry_run_error_text(BELFRY_RUN_ERROR_COUNT), "?");
	assert_string_equal(belfry_trigger_name(BELFRY_TRIGGER_COUNT), "?");
	assert_string_equal(belfry_gap_reason_text(BELFRY_GAP_REASON_COUNT), "?");
	assert_false(belfry_run_status_is_terminal(BELFRY_RUN_STATUS_COUNT));
	assert_false(bf_run_state_is_open(BELFRY_RUN_STATE_COUNT));
	assert_string_equal(belfry_run_state_name(BELFRY_RUN_DISPATCHING), "dispatching");
	assert_string_equal(belfry_run_status_name(BELFRY_STATUS_WAITING_INPUT), "WAITING_INPUT");
	assert_string_equal(belfry_trigger_name(BELFRY_TRIGGER_BACKFILL), "backfill");
}

static void each_phase_has_its_name(void **state)
{
	(void)state;
	assert_string_equal(belfry_phase_name(BELFRY_PHASE_ACTIVE), "active");
	assert_string_equal(belfry_phase_name(BELFRY_PHASE_PAUSED), "paused");
	assert_string_equal(belfry_phase_name(BELFRY_PHASE_EXHAUSTED), "exhausted");
	assert_string_equal(belfry_phase_name(BELFRY_PHASE_QUARANTINED), "quarantined");
	assert_string_equal(belfry_phase_name((enum belfry_phase)4), "?");
	assert_string_equal(belfry_phase_name((enum belfry_phase) - 1), "?");
}

int run_run_tests(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(the_bytes_of_a_run_id_are_fixed),
			cmocka_unit_test(b11_the_offsets_of_a_spread_are_fixed),
			cmocka_unit_test(a_spread_fills_its_window_evenly),
			cmocka_unit_test(times_before_1970_and_never_have_no_id),
			cmocka_unit_test(ids_stand_in_the_order_of_their_times),
			cmocka_unit_test(t020_one_instant_in_two_offsets_is_one_run),
			cmocka_unit_test(the_schedule_and_the_time_cannot_flow_into_each_other),
			cmocka_unit_test(an_id_reads_back_as_it_was_written),
			cmocka_unit_test(an_id_in_capitals_is_the_same_id),
			cmocka_unit_test(what_is_no_id_is_refused),
			cmocka_unit_test(asked_for_runs_have_version_7_and_incarnations_4),
			cmocka_unit_test(a_run_moves_as_the_contract_says_and_not_otherwise),
			cmocka_unit_test(final_states_are_never_left_and_call_nothing),
			cmocka_unit_test(each_state_has_the_status_of_the_contract),
			cmocka_unit_test(names_outside_their_lists_read_as_a_question_mark),
			cmocka_unit_test(each_phase_has_its_name),
	};
	return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
