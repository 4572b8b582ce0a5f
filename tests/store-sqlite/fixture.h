/* What the tests of the one-file store share: a folder of its own, a clock that can be moved, a raw
 * look into the file while the store is closed, and short ways to say common operations. */
#ifndef TEST_STORE_SQLITE_FIXTURE_H
#define TEST_STORE_SQLITE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/alloc.h"
#include "base/fault.h"
#include "base/str.h"
#include "model/run.h"
#include "store-sqlite/sqlite.h"

struct place {
	char folder[128];
	char path[160];
	char url[192];
};

/* A new empty folder. in_memory: on the memory file system where there is one (sweeps, for speed). */
void place_init(struct place *place, bool in_memory);
void place_fini(struct place *place);

/* Open with owner "test"; migrated or not. */
enum belfry_status try_open(const struct place *place, struct belfry_store **ret_store,
		struct belfry_error *err);
enum belfry_status try_open_migrated(const struct place *place, struct belfry_store **ret_store,
		struct belfry_error *err);
struct belfry_store *open_migrated(const struct place *place);
void close_store(struct belfry_store *store);

/* Statements on the closed file. */
void raw_exec(const struct place *place, const char *text);
int64_t raw_number(const struct place *place, const char *text);

/* The store's clock: the real one and an offset. */
void clock_move(belfry_duration step);
belfry_time clock_now(void);

/* --- operations --- */

struct belfry_id incarnation_id(unsigned n);
struct belfry_id run_id(const char *schedule, belfry_time due);
/* Revision 1 of a schedule, enabled, due at `cursor`; its version. */
uint64_t put_schedule(struct belfry_store *store, const char *id, belfry_time cursor);
enum belfry_status try_register(struct belfry_store *store, unsigned n);
void begin_incarnation(struct belfry_store *store, unsigned n);
/* One Run of the schedule; the cursor goes on by a second. *version is moved on. */
enum belfry_status plan_run(struct belfry_store *store, const char *schedule, uint64_t *version,
		belfry_time due, enum belfry_run_state state, unsigned holder,
		belfry_fence *ret_fence);
enum belfry_status add_run(struct belfry_store *store, const char *schedule, struct belfry_id id,
		const char *key);
struct belfry_claim claim(struct belfry_store *store, enum belfry_claim_kind kind, unsigned holder,
		uint32_t max, struct belfry_arena *arena);
enum belfry_status turn_run(struct belfry_store *store, struct belfry_id run, belfry_fence fence);
bool find_run(struct belfry_store *store, struct belfry_id id, struct belfry_run *ret_run);

/* --- faults (faults.c) --- */

enum fault_kind { FAULT_IO, FAULT_FULL };
/* Stands between the store and the file system from now on; the n-th call that touches a file fails. */
void vfs_install(void);
struct bf_fault *vfs_fault(void);
void vfs_set_kind(enum fault_kind kind);
/* Every allocation of the database client; to be installed before anything else uses it. */
void client_memory_install(void);
struct bf_fault *client_memory_fault(void);

extern const struct CMUnitTest open_tests[];
extern const size_t open_test_count;
extern const struct CMUnitTest operation_tests[];
extern const size_t operation_test_count;
extern const struct CMUnitTest fault_tests[];
extern const size_t fault_test_count;
extern const struct CMUnitTest process_tests[];
extern const size_t process_test_count;
extern const struct CMUnitTest thread_tests[];
extern const size_t thread_test_count;

#endif
