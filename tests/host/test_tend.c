/* What the host does by the clock: it reconciles in time, tells of a failure and tries again, and comes
 * early where a change left something over. The clock is the test's. */
#include "host_cases.h"

#include "base/fault.h"
#include "base/json.h"
#include "host/deployments.h"

static int setup(void **state)
{
	struct host_fixture *fixture = malloc(sizeof(*fixture));

	assert_non_null(fixture);
	host_fixture_begin(fixture);
	host_fixture_open(fixture);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	host_fixture_end(*state);
	free(*state);
	return 0;
}

static json_t *body(void)
{
	json_t *value = NULL;
	struct belfry_str text = BF_STR(
			"{\"name\":\"a\",\"rule\":{\"cron\":\"0 9 * * *\"},\"target\":"
			"{\"kind\":\"webhook\",\"url\":\"https://hooks.example.org/"
			"x\"}}");

	assert_int_equal(bf_json_parse(text, SIZE_MAX, &value, NULL), BELFRY_OK);
	return value;
}

static enum belfry_status create(struct host_fixture *f, char *ret_id)
{
	struct bf_deployment_view view = {0};
	json_t *content = body();
	enum belfry_status status = bf_deployments_create(f->host, content, &view, NULL);

	json_decref(content);
	if (status == BELFRY_OK) {
		memcpy(ret_id, view.id, sizeof(view.id));
		json_decref(view.json);
	}
	return status;
}

/* How many reconciliations a tend at this moment makes. */
static unsigned tend(struct host_fixture *f)
{
	unsigned before = f->fake.calls[FAKE_RECONCILE];

	bf_host_tend(f->host, false);
	return f->fake.calls[FAKE_RECONCILE] - before;
}

static void it_reconciles_every_few_minutes(void **state)
{
	struct host_fixture *f = *state;

	assert_int_equal(tend(f), 0);
	for (int i = 0; i < 3; i++) {
		f->boot_shift += BF_HOST_RECONCILE_EVERY - 2 * BELFRY_SECOND;
		assert_int_equal(tend(f), 0);
		f->boot_shift += 2 * BELFRY_SECOND;
		assert_int_equal(tend(f), 1);
		assert_int_equal(tend(f), 0);
	}
}

static void it_heals_what_the_engine_lost(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	assert_int_equal(create(f, id), BELFRY_OK);
	fake_provider_forget(&f->fake);
	f->boot_shift += BF_HOST_RECONCILE_EVERY;
	assert_int_equal(tend(f), 1);
	assert_non_null(fake_find_schedule(&f->fake, id));
}

/* After each failure the wait is longer, and never longer than the period. */
static void a_failure_is_told_and_tried_again(void **state)
{
	struct host_fixture *f = *state;
	belfry_duration waited[12];

	f->fake.fails[FAKE_RECONCILE] = BELFRY_UNAVAILABLE;
	f->fake.detail = "the engine's own words";
	f->boot_shift += BF_HOST_RECONCILE_EVERY;
	assert_int_equal(tend(f), 1);
	assert_true(host_fixture_has_logged(f, "event=reconcile_failed status=UNAVAILABLE"));
	assert_true(host_fixture_has_logged(f, "the engine's own words"));
	for (size_t i = 0; i < BF_COUNT(waited); i++) {
		waited[i] = 0;
		while (tend(f) == 0) {
			f->boot_shift += BELFRY_SECOND;
			waited[i] += BELFRY_SECOND;
			assert_true(waited[i] <= BF_HOST_RECONCILE_EVERY + BELFRY_SECOND);
		}
		assert_true(waited[i] > 0);
	}
	assert_true(waited[0] <= 6 * BELFRY_SECOND);
	assert_true(waited[BF_COUNT(waited) - 1] >= BF_HOST_RECONCILE_EVERY / 2 - BELFRY_SECOND);
	f->fake.fails[FAKE_RECONCILE] = BELFRY_OK;
	f->boot_shift += BF_HOST_RECONCILE_EVERY;
	assert_int_equal(tend(f), 1);
	assert_true(host_fixture_has_logged(f, "event=reconciled after_failures=13"));
	f->boot_shift += BF_HOST_RECONCILE_EVERY - 2 * BELFRY_SECOND;
	assert_int_equal(tend(f), 0);
}

static void who_asks_does_not_wait(void **state)
{
	struct host_fixture *f = *state;
	unsigned before = f->fake.calls[FAKE_RECONCILE];

	bf_host_tend(f->host, true);
	assert_int_equal(f->fake.calls[FAKE_RECONCILE], before + 1);
	f->fake.fails[FAKE_RECONCILE] = BELFRY_UNAVAILABLE;
	bf_host_tend(f->host, true);
	bf_host_tend(f->host, true);
	assert_int_equal(f->fake.calls[FAKE_RECONCILE], before + 3);
}

static void t090_what_an_undone_create_left_over_goes_at_once(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];

	/* Carried out, the answer lost, and then no engine any more. */
	bf_fault_arm(bf_scheduler_fault_after(f->scheduler, BF_PROVIDER_APPLY), 1, 1);
	bf_fault_arm(bf_scheduler_fault_before(f->scheduler, BF_PROVIDER_REMOVE), 1, 1);
	assert_int_equal(create(f, id), BELFRY_UNKNOWN);
	assert_int_equal(f->fake.schedule_count, 1);
	assert_false(f->fake.schedules[0].is_removed);
	assert_int_equal(tend(f), 1);
	assert_true(f->fake.schedules[0].is_removed);
	assert_int_equal(tend(f), 0);
}

static void a_removal_that_goes_on_failing_does_not_reconcile_every_second(void **state)
{
	struct host_fixture *f = *state;
	char id[BELFRY_ID_TEXT_BYTES];
	unsigned rounds = 0;

	assert_int_equal(create(f, id), BELFRY_OK);
	f->fake.fails[FAKE_REMOVE] = BELFRY_UNAVAILABLE;
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_UNAVAILABLE);
	for (int second = 0; second < 600; second++) {
		rounds += tend(f);
		f->boot_shift += BELFRY_SECOND;
	}
	assert_in_range(rounds, 2, 12);
	f->fake.fails[FAKE_REMOVE] = BELFRY_OK;
	f->boot_shift += BF_HOST_RECONCILE_EVERY;
	assert_int_equal(tend(f), 1);
	assert_int_equal(bf_deployments_remove(f->host, bf_str(id), 0, NULL), BELFRY_NOT_FOUND);
	assert_null(fake_find_schedule(&f->fake, id));
}

int run_tend_tests(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup, teardown)
			CASE(it_reconciles_every_few_minutes),
			CASE(it_heals_what_the_engine_lost),
			CASE(a_failure_is_told_and_tried_again),
			CASE(who_asks_does_not_wait),
			CASE(t090_what_an_undone_create_left_over_goes_at_once),
			CASE(a_removal_that_goes_on_failing_does_not_reconcile_every_second),
#undef CASE
	};

	return cmocka_run_group_tests_name("tend", tests, NULL, NULL);
}
