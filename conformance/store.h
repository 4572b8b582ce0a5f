/* The conformance suite of a store: what every adapter of <belfry/store.h> must do, as named cases.
 * Whoever writes an adapter binds it by a fixture and runs them.
 *
 * Names      a case that proves a statement of the contract begins with its number ("t033_...");
 *            the others say the sentence of store.h that they hold the adapter to.
 * Needs      the public headers, the C library and POSIX threads; link with libbelfry.
 * Time       no case sleeps. Due times are in the past of the store's clock; a fixture that can
 *            move that clock lets a few more cases run.
 * Threads    cases run one after another on the caller's thread; some make threads of their own. */
#ifndef BELFRY_CONFORMANCE_STORE_H
#define BELFRY_CONFORMANCE_STORE_H

#include <belfry/documents.h>

BELFRY_BEGIN_DECLS

/* How the suite gets at a store. `data` is handed to each function. */
struct belfry_store_fixture {
	void *data;

	/* Required. Open an empty store, migrated; nothing of an earlier one is in it. */
	enum belfry_status (*open)(void *data, struct belfry_store **ret_store);

	/* Required. Close *store (without a clean stop of anything in it) and open the same
	 * data. */
	enum belfry_status (*reopen)(void *data, struct belfry_store **store);

	/* Optional. A second handle on the data of `store`, as another replica has it; the suite
	 * closes it first. NULL: two actors use one handle. */
	enum belfry_status (*share)(void *data, struct belfry_store *store,
			struct belfry_store **ret_store);

	/* Optional. Move the store's clock by `step`, also backwards. NULL: it cannot be moved. */
	void (*move_clock)(void *data, belfry_duration step);

	/* Optional. One line of the report (without a newline). NULL: standard output. */
	void (*report)(void *data, const char *line);
};

struct belfry_store_trial; /* one run of one case */

struct belfry_store_case {
	const char *name;
	void (*run)(struct belfry_store_trial *trial);
};

enum belfry_case_result { BELFRY_CASE_PASSED, BELFRY_CASE_FAILED, BELFRY_CASE_SKIPPED };

/* Case number `index`, from 0; NULL behind the last. Static, any thread. */
const struct belfry_store_case *belfry_conformance_store_case(size_t index);

/* Run one case on a store of its own. Each broken expectation is reported: "# FILE:LINE: ...". */
enum belfry_case_result belfry_conformance_store_run_case(
		const struct belfry_store_fixture *fixture, const struct belfry_store_case *item);

/* Run all of them, or those whose name begins with `prefix` where it is not NULL, and report in
 * TAP. Returns how many failed. */
unsigned belfry_conformance_store_run(const struct belfry_store_fixture *fixture,
		const char *prefix);

BELFRY_END_DECLS

#endif
