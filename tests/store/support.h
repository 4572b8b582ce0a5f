/* What the tests of this layer share: a clock that stands still, short words for one schedule and
 * its Runs, and the whole contents of a store as text, to compare before and after. */
#ifndef BF_TESTS_STORE_SUPPORT_H
#define BF_TESTS_STORE_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/str.h"
#include "model/run.h"
#include "store/memory/memory.h"
#include "store/store.h"

#define NOW ((belfry_time)1767323045000000)

/* A clock at NOW, moved by the test. */
struct test_clock {
	belfry_time now;
	struct bf_env env;
};

struct test_store {
	struct test_clock clock;
	struct bf_store *store;
	struct belfry_store *raw; /* the memory store inside, borrowed */
	struct belfry_arena arena;
};

void test_store_init(struct test_store *test, bool single_document);
void test_store_fini(struct test_store *test);

belfry_time test_due(int n); /* a second apart, an hour ago */
struct belfry_id test_run_id(const char *schedule, int n);
struct belfry_id test_incarnation(unsigned n);
void test_begin(struct bf_store *store, unsigned n);
void test_put(struct bf_store *store, const char *schedule, int64_t revision, uint32_t flags);
uint64_t test_version(struct bf_store *store, const char *schedule);
struct belfry_run test_run(struct test_store *test, struct belfry_id id);
/* Plans due times [first, first + count) as queued Runs. */
void test_plan(struct bf_store *store, const char *schedule, int first, int count);

/* Everything that can be read, as text; owned by the caller (bf_buf_fini). */
struct bf_buf test_dump(struct bf_store *store);

int test_wrapper(void);
int test_lies(void);
int test_document_mode(void);
int test_no_memory(void);
int test_revisions(void);
int test_tree(void);

#endif
