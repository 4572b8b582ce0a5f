/* The suite's frame: trials, expectations, the table of all cases and the report. */
#include <stdio.h>

#include "conformance/store_priv.h"

#define REPORT_BYTES 512

static const struct belfry_store_case *const tables[] = {bf_suite_beats, bf_suite_schedules,
		bf_suite_steps, bf_suite_requests, bf_suite_claims, bf_suite_records,
		bf_suite_hosts, bf_suite_lists, bf_suite_prunes, bf_suite_documents, bf_suite_races,
		bf_suite_orders};

#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

static void report(const struct belfry_store_fixture *fixture, const char *line)
{
	if (fixture->report != NULL) {
		fixture->report(fixture->data, line);
	} else {
		(void)puts(line);
	}
}

bool bf_suite_check(struct belfry_store_trial *trial, bool holds, const char *file, int line,
		const char *expression)
{
	char text[REPORT_BYTES];

	if (!holds) {
		trial->failures++;
		(void)snprintf(text, sizeof(text), "# %s:%d: %s", file, line, expression);
		report(trial->fixture, text);
	}
	return holds;
}

bool bf_suite_reset(struct belfry_store_trial *trial)
{
	if (trial->store != NULL) {
		trial->store->ops->close(trial->store);
		trial->store = NULL;
	}
	enum belfry_status status = trial->fixture->open(trial->fixture->data, &trial->store);
	if (!CHECK(trial, status == BELFRY_OK && trial->store != NULL)) {
		return false;
	}
	trial->start = bf_suite_now(trial);
	return trial->start > 0;
}

bool bf_suite_reopen(struct belfry_store_trial *trial)
{
	enum belfry_status status = trial->fixture->reopen(trial->fixture->data, &trial->store);

	return CHECK(trial, status == BELFRY_OK && trial->store != NULL);
}

struct belfry_store *bf_suite_share(struct belfry_store_trial *trial)
{
	struct belfry_store *store = NULL;

	if (trial->fixture->share == NULL) {
		return trial->store;
	}
	enum belfry_status status = trial->fixture->share(trial->fixture->data, trial->store,
			&store);
	return CHECK(trial, status == BELFRY_OK && store != NULL) ? store : trial->store;
}

void bf_suite_unshare(struct belfry_store_trial *trial, struct belfry_store *store)
{
	if (store != trial->store) {
		store->ops->close(store);
	}
}

bool bf_suite_can_move_clock(struct belfry_store_trial *trial)
{
	trial->is_skipped = trial->fixture->move_clock == NULL;
	return !trial->is_skipped;
}

const struct belfry_store_case *belfry_conformance_store_case(size_t index)
{
	for (size_t i = 0; i < TABLE_COUNT; i++) {
		for (const struct belfry_store_case *item = tables[i]; item->name != NULL; item++) {
			if (index-- == 0) {
				return item;
			}
		}
	}
	return NULL;
}

enum belfry_case_result belfry_conformance_store_run_case(
		const struct belfry_store_fixture *fixture, const struct belfry_store_case *item)
{
	struct belfry_store_trial trial = {.fixture = fixture, .arena = BELFRY_ARENA_INIT};

	if (bf_suite_reset(&trial)) {
		item->run(&trial);
	}
	if (trial.store != NULL) {
		trial.store->ops->close(trial.store);
	}
	belfry_arena_fini(&trial.arena);
	if (trial.failures > 0) {
		return BELFRY_CASE_FAILED;
	}
	return trial.is_skipped ? BELFRY_CASE_SKIPPED : BELFRY_CASE_PASSED;
}

static bool is_wanted(const char *name, const char *prefix)
{
	return prefix == NULL || strncmp(name, prefix, strlen(prefix)) == 0;
}

static void report_case(const struct belfry_store_fixture *fixture, unsigned number,
		const char *name, enum belfry_case_result result)
{
	char text[REPORT_BYTES];

	(void)snprintf(text, sizeof(text), "%sok %u - %s%s",
			result == BELFRY_CASE_FAILED ? "not " : "", number, name,
			result == BELFRY_CASE_SKIPPED ? " # SKIP the store's clock cannot be moved"
						      : "");
	report(fixture, text);
}

unsigned belfry_conformance_store_run(const struct belfry_store_fixture *fixture,
		const char *prefix)
{
	char text[REPORT_BYTES];
	unsigned number = 0;
	unsigned failed = 0;
	const struct belfry_store_case *item;

	for (size_t i = 0; (item = belfry_conformance_store_case(i)) != NULL; i++) {
		if (is_wanted(item->name, prefix)) {
			enum belfry_case_result result = belfry_conformance_store_run_case(fixture,
					item);
			failed += result == BELFRY_CASE_FAILED;
			report_case(fixture, ++number, item->name, result);
		}
	}
	(void)snprintf(text, sizeof(text), "1..%u", number);
	report(fixture, text);
	return failed;
}
