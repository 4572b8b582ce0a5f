/* What the host does by the clock: it reconciles in time, tells of a failure and tries again, and comes
 * early where a change left something over. The clock is the test's. */
#include "host_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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

/* ---- the tz database --------------------------------------------------------------------------- */

/* A database of a version and one zone, in a folder of the test; the zone's bytes are of a system's zone. */
struct zones_fixture {
	struct host_fixture host;
	char folder[64];
};

static void put_file(const struct zones_fixture *f, const char *name, const char *bytes, size_t len)
{
	char path[128];
	char fresh[128];

	(void)snprintf(path, sizeof(path), "%s/%s", f->folder, name);
	(void)snprintf(fresh, sizeof(fresh), "%s/fresh", f->folder);
	FILE *file = fopen(fresh, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, path), 0);
}

static void put_zone(const struct zones_fixture *f, const char *system_zone)
{
	char path[128];
	char bytes[8192];

	(void)snprintf(path, sizeof(path), "/usr/share/zoneinfo/%s", system_zone);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	size_t len = fread(bytes, 1, sizeof(bytes), file);
	assert_int_equal(fclose(file), 0);
	put_file(f, "City", bytes, len);
}

static void put_version(const struct zones_fixture *f, const char *version)
{
	char text[64];
	int len = snprintf(text, sizeof(text), "# version %s\n", version);

	put_file(f, "tzdata.zi", text, (size_t)len);
}

static int setup_zones(void **state)
{
	struct zones_fixture *f = malloc(sizeof(*f));

	assert_non_null(f);
	host_fixture_begin(&f->host);
	(void)snprintf(f->folder, sizeof(f->folder), "/tmp/belfry-tend-XXXXXX");
	assert_non_null(mkdtemp(f->folder));
	put_zone(f, "Asia/Tokyo");
	put_version(f, "2031a");
	belfry_zones_free(f->host.zones);
	assert_int_equal(belfry_zones_new(f->folder, &f->host.zones, NULL), BELFRY_OK);
	host_fixture_open(&f->host);
	*state = f;
	return 0;
}

static int teardown_zones(void **state)
{
	static const char *const names[] = {"City", "tzdata.zi"};
	struct zones_fixture *f = *state;
	char path[128];

	for (size_t i = 0; i < BF_COUNT(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", f->folder, names[i]);
		(void)unlink(path); /* one of the cases has none */
	}
	assert_int_equal(rmdir(f->folder), 0);
	host_fixture_end(&f->host);
	free(f);
	return 0;
}

/* Where the host's zones have noon in City, in hours UTC. */
static int noon_of(struct zones_fixture *f)
{
	struct belfry_rule *rule = NULL;
	belfry_time due = 0;

	assert_int_equal(belfry_rule_new(f->host.zones, BF_STR("0 12 * * *"), BF_STR("City"), NULL,
					 &rule, NULL),
			BELFRY_OK);
	assert_int_equal(belfry_rule_next(rule, INT64_C(1767225600) * BELFRY_SECOND, &due),
			BELFRY_OK);
	belfry_rule_free(rule);
	return (int)(due / BELFRY_HOUR % 24);
}

static void a_newer_tz_database_is_taken_over_in_time_and_told(void **state)
{
	struct zones_fixture *f = *state;

	assert_int_equal(noon_of(f), 3);
	put_zone(f, "Africa/Lagos");
	put_version(f, "2031b");
	f->host.boot_shift += 30 * BELFRY_SECOND - 2 * BELFRY_SECOND;
	bf_host_tend(f->host.host, false);
	assert_int_equal(noon_of(f), 3);
	f->host.boot_shift += 2 * BELFRY_SECOND;
	bf_host_tend(f->host.host, false);
	assert_int_equal(noon_of(f), 11);
	assert_string_equal(bf_host_tz_version(f->host.host), "2031b");
	assert_true(host_fixture_has_logged(&f->host,
			"event=tz_database_changed old=2031a new=2031b"));
	put_version(f, "2031c");
	bf_host_tend(f->host.host, true); /* who asks does not wait */
	assert_true(host_fixture_has_logged(&f->host, "old=2031b new=2031c"));
}

static size_t count_lines(struct host_fixture *f, const char *text)
{
	size_t count = 0;

	(void)pthread_mutex_lock(&f->log_lock);
	for (const char *p = f->log.ptr; p != NULL && (p = strstr(p, text)) != NULL; p++) {
		count++;
	}
	(void)pthread_mutex_unlock(&f->log_lock);
	return count;
}

static void a_tz_database_that_is_away_is_told_once_and_its_return_too(void **state)
{
	struct zones_fixture *f = *state;

	assert_int_equal(noon_of(f), 3);
	for (int round = 1; round <= 2; round++) {
		put_file(f, "City", "TZif", 4);
		for (int look = 0; look < 3; look++) {
			f->host.boot_shift += 30 * BELFRY_SECOND;
			bf_host_tend(f->host.host, false);
		}
		assert_int_equal(noon_of(f), 3);
		assert_int_equal(count_lines(&f->host, "event=tz_database_unreadable"), round);
		put_zone(f, "Asia/Tokyo");
		f->host.boot_shift += 30 * BELFRY_SECOND;
		bf_host_tend(f->host.host, false);
		assert_int_equal(count_lines(&f->host, "event=tz_database_readable version=2031a"),
				round);
	}
	assert_int_equal(count_lines(&f->host, "event=tz_database_changed"), 0);
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
#define CASE(function) cmocka_unit_test_setup_teardown(function, setup_zones, teardown_zones)
			CASE(a_newer_tz_database_is_taken_over_in_time_and_told),
			CASE(a_tz_database_that_is_away_is_told_once_and_its_return_too),
#undef CASE
	};

	return cmocka_run_group_tests_name("tend", tests, NULL, NULL);
}
