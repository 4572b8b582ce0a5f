/* What the cases share: expectations that are reported and counted, and short ways to say what a
 * case is about. Every helper reports by itself when the store does not answer BELFRY_OK. */
#ifndef BELFRY_CONFORMANCE_STORE_PRIV_H
#define BELFRY_CONFORMANCE_STORE_PRIV_H

#include <string.h>

#include "conformance/store.h"

struct belfry_store_trial {
	const struct belfry_store_fixture *fixture;
	struct belfry_store *store;
	struct belfry_arena arena;
	belfry_time start; /* the store's time when the trial began */
	unsigned failures;
	bool is_skipped;
};

/* The tables of the files; each ends with a NULL name. */
extern const struct belfry_store_case bf_suite_beats[];
extern const struct belfry_store_case bf_suite_schedules[];
extern const struct belfry_store_case bf_suite_steps[];
extern const struct belfry_store_case bf_suite_requests[];
extern const struct belfry_store_case bf_suite_claims[];
extern const struct belfry_store_case bf_suite_records[];
extern const struct belfry_store_case bf_suite_hosts[];
extern const struct belfry_store_case bf_suite_lists[];
extern const struct belfry_store_case bf_suite_prunes[];
extern const struct belfry_store_case bf_suite_documents[];
extern const struct belfry_store_case bf_suite_races[];
extern const struct belfry_store_case bf_suite_orders[];

/* Counts and reports where it does not hold; returns whether it holds. */
bool bf_suite_check(struct belfry_store_trial *trial, bool holds, const char *file, int line,
		const char *expression);
#define CHECK(trial, expression)                                                                   \
	bf_suite_check((trial), (expression), __FILE__, __LINE__, #expression)
/* Leaves the case where it does not hold. */
#define REQUIRE(trial, expression)                                                                 \
	do {                                                                                       \
		if (!CHECK(trial, expression)) {                                                   \
			return;                                                                    \
		}                                                                                  \
	} while (0)

/* An empty store in place of the one there is. False: it could not be opened. */
bool bf_suite_reset(struct belfry_store_trial *trial);
bool bf_suite_reopen(struct belfry_store_trial *trial);
/* Another handle, or the same where the fixture has none; given back by unshare. */
struct belfry_store *bf_suite_share(struct belfry_store_trial *trial);
void bf_suite_unshare(struct belfry_store_trial *trial, struct belfry_store *store);
/* Names the store's clock as the reason why this case does not run here. */
bool bf_suite_can_move_clock(struct belfry_store_trial *trial);

/* --- values --- */

struct belfry_str bf_suite_str(const char *text);
bool bf_suite_is(struct belfry_str text, const char *expected);
bool bf_suite_same_id(struct belfry_id a, struct belfry_id b);
bool bf_suite_is_zero(struct belfry_id id);
/* The due time number `n` of the trial, a second after number n - 1; all are past. */
belfry_time bf_suite_due(const struct belfry_store_trial *trial, int n);
/* The computed id of a due time; a version 7 id of a Run on request; an incarnation's. */
struct belfry_id bf_suite_run_id(const char *schedule, belfry_time due);
struct belfry_id bf_suite_request_id(const struct belfry_store_trial *trial, unsigned n);
struct belfry_id bf_suite_incarnation_id(unsigned n);

/* --- operations, on any handle --- */

belfry_time bf_suite_now(struct belfry_store_trial *trial);
enum belfry_status bf_suite_beat_on(struct belfry_store_trial *trial, struct belfry_store *store,
		struct belfry_beat *beat);
/* Registers incarnation `n` and renews it once, with beats of a minute. */
struct belfry_id bf_suite_begin_incarnation(struct belfry_store_trial *trial, unsigned n);
enum belfry_status bf_suite_renew(struct belfry_store_trial *trial, struct belfry_id id,
		struct belfry_beat *ret_beat);
enum belfry_status bf_suite_declare_dead(struct belfry_store_trial *trial, struct belfry_id id,
		uint64_t beat);
enum belfry_status bf_suite_end_incarnation(struct belfry_store_trial *trial, struct belfry_id id);

enum belfry_status bf_suite_advance(struct belfry_store_trial *trial,
		struct belfry_advance *advance);
/* One item alone, by nobody; returns what became of it. */
enum belfry_status bf_suite_advance_item(struct belfry_store_trial *trial, struct belfry_id holder,
		struct belfry_advance_item *item);
/* Puts revision `revision` (flags: ENABLED) with `cursor` and payload "payload REVISION"; expects
 * the version that is there. Returns the new version; 0: it did not take place. */
uint64_t bf_suite_put(struct belfry_store_trial *trial, const char *schedule, int64_t revision,
		belfry_time cursor);
uint64_t bf_suite_put_flags(struct belfry_store_trial *trial, const char *schedule,
		int64_t revision, uint32_t flags, uint32_t item_flags, belfry_time cursor);
/* Plans due time `due` as one Run in `state`; the cursor goes on by a second. True: inserted. */
bool bf_suite_plan(struct belfry_store_trial *trial, const char *schedule, belfry_time due,
		enum belfry_run_state state, struct belfry_id holder);
/* A Run on request, manual, ready at once; its id. */
struct belfry_id bf_suite_request(struct belfry_store_trial *trial, const char *schedule,
		unsigned n);
enum belfry_status bf_suite_add(struct belfry_store_trial *trial, struct belfry_add *add);

struct belfry_claim bf_suite_claim(struct belfry_store_trial *trial, enum belfry_claim_kind kind,
		struct belfry_id holder, uint32_t max_runs);
enum belfry_status bf_suite_claim_status(struct belfry_store_trial *trial,
		enum belfry_claim_kind kind, struct belfry_id holder);
/* One Run, queued by a plan of `schedule` at due time 0 and claimed by `holder`. */
struct belfry_run bf_suite_claimed_run(struct belfry_store_trial *trial, const char *schedule,
		struct belfry_id holder);
/* A record for the Run as its holder would write it; the case fills in the rest. */
struct belfry_record bf_suite_record_of(const struct belfry_run *run, enum belfry_record_kind kind);
enum belfry_status bf_suite_record(struct belfry_store_trial *trial, struct belfry_record *record);
/* Claims nothing: records a turn with this status. */
enum belfry_status bf_suite_finish_run(struct belfry_store_trial *trial,
		const struct belfry_run *run, enum belfry_run_status status);

/* Reads: each reports where the store does not answer; a missing row reads as zero. */
void bf_suite_list(struct belfry_store_trial *trial, struct belfry_list *list);
bool bf_suite_find_row(struct belfry_store_trial *trial, const char *schedule,
		struct belfry_schedule_row *ret_row);
struct belfry_schedule_row bf_suite_row(struct belfry_store_trial *trial, const char *schedule);
bool bf_suite_find_run(struct belfry_store_trial *trial, struct belfry_id id,
		struct belfry_run *ret_run);
struct belfry_run bf_suite_run(struct belfry_store_trial *trial, struct belfry_id id);
struct belfry_str bf_suite_payload(struct belfry_store_trial *trial, struct belfry_id run);
struct belfry_counts bf_suite_counts(struct belfry_store_trial *trial);
bool bf_suite_find_incarnation(struct belfry_store_trial *trial, struct belfry_id id,
		struct belfry_incarnation *ret_row);
struct belfry_incarnation bf_suite_incarnation(struct belfry_store_trial *trial,
		struct belfry_id id);

#endif
