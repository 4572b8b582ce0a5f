/* Threads that make and ask rules on one set of zones, and others that look whether its database has
 * changed while it does, for the thread sanitizer to watch. */
#include "cases.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json.h"
#include "tzif_build.h"

#define THREADS 4
#define ROUNDS  40

static const char *const names[] = {"Europe/Berlin", "America/New_York", "Asia/Tokyo",
		"Pacific/Apia", "Africa/Cairo", "Asia/Gaza", "America/Nuuk", "UTC"};

struct worker {
	pthread_t thread;
	struct belfry_zones *zones;
	const struct belfry_rule *shared;
	belfry_time sum; /* of all answers: the same for every thread */
	int failures;
};

static void *work(void *data)
{
	struct worker *w = data;

	for (size_t i = 0; i < ROUNDS; i++) {
		struct belfry_rule *rule;
		belfry_time due = 0;
		const char *text = i % 2 == 0 ? "30 2 * * *" : "{\"cron\":\"*/5 * * * *\"}";
		if (belfry_rule_new(w->zones, bf_str(text), bf_str(names[i % BF_COUNT(names)]),
				    NULL, &rule, NULL) != BELFRY_OK) {
			w->failures++;
			continue;
		}
		for (int n = 0; n < 100; n++) {
			w->failures += belfry_rule_next(rule, due, &due) != BELFRY_OK ? 1 : 0;
			w->sum += due / BELFRY_SECOND;
		}
		belfry_rule_free(rule);
		due = (belfry_time)i * BELFRY_DAY;
		w->failures += belfry_rule_next(w->shared, due, &due) != BELFRY_OK ? 1 : 0;
		w->sum += due / BELFRY_SECOND;
	}
	return NULL;
}

static void threads_share_zones_and_rules(void **state)
{
	struct worker workers[THREADS] = {0};
	struct belfry_zones *zones;
	struct belfry_rule *shared;

	(void)state;
	assert_int_equal(belfry_zones_new(NULL, &zones, NULL), BELFRY_OK);
	assert_int_equal(belfry_rule_new(zones, BF_STR("0 0 29 2 *"), BF_STR("Asia/Tokyo"), NULL,
					 &shared, NULL),
			BELFRY_OK);
	for (size_t i = 0; i < THREADS; i++) {
		workers[i].zones = zones;
		workers[i].shared = shared;
		assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
		assert_int_equal(workers[i].failures, 0);
		assert_int_equal(workers[i].sum, workers[0].sum);
	}
	belfry_rule_free(shared);
	belfry_zones_free(zones);
}

#define VERSIONS 200

/* Database number n has the version "n", and one zone that is n % 10 hours east of Greenwich. */
struct moving {
	char folder[64];
	struct belfry_zones *zones;
	atomic_bool is_over;
	atomic_int failures;
	atomic_llong rules;
};

static void put_file(const struct moving *m, const char *name, const void *bytes, size_t len)
{
	char path[128];
	char fresh[128];

	(void)snprintf(path, sizeof(path), "%s/%s", m->folder, name);
	(void)snprintf(fresh, sizeof(fresh), "%s/fresh", m->folder);
	FILE *file = fopen(fresh, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, path), 0);
}

static void put_database(const struct moving *m, int number)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf file = {0};
	int32_t offset = number % 10 * 3600;
	struct tzif_spec spec = {'2', NULL, 0, &offset, 1, "", 0};
	char text[64];

	tzif_build(&spec, &file);
	put_file(m, "City", file.ptr, file.len);
	(void)snprintf(text, sizeof(text), "# version %d\n", number);
	put_file(m, "tzdata.zi", text, strlen(text));
}

/* Nobody ever sees a zone go back to what it was. */
static void *make_rules(void *data)
{
	struct moving *m = data;
	int64_t newest = 0;

	do {
		struct belfry_rule *rule;
		int64_t version = 0;
		uint64_t generation = belfry_zones_generation(m->zones);
		bool is_good = bf_str_parse_int(bf_str(belfry_zones_version(m->zones)), 0, VERSIONS,
					       &version) == BELFRY_OK &&
				version >= newest && generation <= 2 * VERSIONS + 1;
		newest = version;
		if (belfry_rule_new(m->zones, BF_STR("0 12 * * *"), BF_STR("City"), NULL, &rule,
				    NULL) != BELFRY_OK) {
			is_good = false;
		} else {
			is_good = is_good && belfry_rule_offset(rule, 0) % 3600 == 0;
			belfry_rule_free(rule);
		}
		atomic_fetch_add(&m->failures, is_good ? 0 : 1);
		atomic_fetch_add(&m->rules, 1);
	} while (!atomic_load(&m->is_over));
	return NULL;
}

static void *refresh_too(void *data)
{
	struct moving *m = data;

	while (!atomic_load(&m->is_over)) {
		atomic_fetch_add(&m->failures,
				belfry_zones_refresh(m->zones, NULL, NULL) == BELFRY_OK ? 0 : 1);
	}
	return NULL;
}

static int city_hours(const struct moving *m)
{
	struct belfry_rule *rule = NULL;

	assert_int_equal(belfry_rule_new(m->zones, BF_STR("0 12 * * *"), BF_STR("City"), NULL,
					 &rule, NULL),
			BELFRY_OK);
	int hours = belfry_rule_offset(rule, 0) / 3600;
	belfry_rule_free(rule);
	return hours;
}

static void threads_make_rules_while_the_database_changes(void **state)
{
	struct moving m = {.folder = "/tmp/belfry-moving-XXXXXX"};
	void *(*const tasks[])(void *) = {make_rules, make_rules, refresh_too};
	pthread_t threads[BF_COUNT(tasks)];
	char path[128];
	uint64_t before = 1;

	(void)state;
	assert_non_null(mkdtemp(m.folder));
	put_database(&m, 0);
	assert_int_equal(belfry_zones_new(m.folder, &m.zones, NULL), BELFRY_OK);
	for (size_t i = 0; i < BF_COUNT(tasks); i++) {
		assert_int_equal(pthread_create(&threads[i], NULL, tasks[i], &m), 0);
	}
	for (int number = 1; number <= VERSIONS; number++) {
		put_database(&m, number);
		assert_int_equal(belfry_zones_refresh(m.zones, NULL, NULL), BELFRY_OK);
		char text[16];
		(void)snprintf(text, sizeof(text), "%d", number);
		assert_string_equal(belfry_zones_version(m.zones), text);
		assert_int_equal(city_hours(&m), number % 10);
		assert_true(belfry_zones_generation(m.zones) > before);
		before = belfry_zones_generation(m.zones);
	}
	atomic_store(&m.is_over, true);
	for (size_t i = 0; i < BF_COUNT(tasks); i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	}
	assert_int_equal(atomic_load(&m.failures), 0);
	assert_true(atomic_load(&m.rules) > 0);
	belfry_zones_free(m.zones);
	(void)snprintf(path, sizeof(path), "%s/City", m.folder);
	assert_int_equal(unlink(path), 0);
	(void)snprintf(path, sizeof(path), "%s/tzdata.zi", m.folder);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(m.folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
			cmocka_unit_test(threads_share_zones_and_rules),
			cmocka_unit_test(threads_make_rules_while_the_database_changes),
	};

	bf_json_init();
	return cmocka_run_group_tests_name("calendar threads", tests, NULL, NULL);
}
