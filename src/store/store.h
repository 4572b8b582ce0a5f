/* The store, as the rest of the tree sees it: the only place that calls through a belfry_store_ops
 * table. The wrapper checks what goes in, never believes what comes out, counts, supplies what an
 * adapter left out, and is where tests let faults in.
 *
 * Shapes     the operations are the structs of <belfry/store.h>; `size` is filled in here.
 * Ownership  a struct bf_store owns the belfry_store inside it; everything else as in
 *            <belfry/store.h>.
 * Threads    those of <belfry/store.h>: all but open, wrap, migrate and close from several at once.
 * Answers    those of <belfry/store.h>, and from every function
 *            BELFRY_INVALID  what was asked for breaks a rule of the seam; the adapter was not
 *            called
 *            BELFRY_CORRUPT  also where the adapter's answer cannot be: nothing of it may be used
 *            BELFRY_CANNOT   an optional part that this adapter does not have
 *            On any answer but BELFRY_OK the answers in the struct are cleared (a beat's `now` and
 *            `beat` stay with BELFRY_CONFLICT), and err, reset when the call begins, holds a public
 *            sentence. */
#ifndef BF_STORE_STORE_H
#define BF_STORE_STORE_H

#include <belfry/documents.h>

#include "base/compiler.h"
#include "base/fault.h"

struct bf_store;

/* For counting. Append only: metrics are labelled with the names. */
enum bf_store_method {
	BF_STORE_TIME,
	BF_STORE_BEAT,
	BF_STORE_ADVANCE,
	BF_STORE_ADD_RUNS,
	BF_STORE_CLAIM_RUNS,
	BF_STORE_RECORD,
	BF_STORE_PRUNE,
	BF_STORE_LIST,
	BF_STORE_TURN_SWITCH,
	BF_STORE_DOCUMENTS, /* get, put, remove, list */
	BF_STORE_OUTPUT,    /* write, read */
	BF_STORE_METHOD_COUNT
};

/* A list that names no limit gets this one. */
#define BF_STORE_LIST_LIMIT 10000u

/* Is the table one that this build can call? Names the method that is missing, or what is foreign.
 * BELFRY_OK or BELFRY_CONFIGURATION. */
BF_MUST_CHECK enum belfry_status bf_store_check_ops(const struct belfry_store_ops *ops,
		struct belfry_error *err);

/* Check the table, open by it, wrap what it opened. `options` is borrowed for the call. */
BF_MUST_CHECK enum belfry_status bf_store_open(const struct belfry_store_ops *ops,
		const struct belfry_store_options *options, struct bf_store **ret_store,
		struct belfry_error *err);
/* Wrap one that is open. *inner is taken, also on failure. */
BF_MUST_CHECK enum belfry_status bf_store_wrap(struct belfry_store **inner,
		struct bf_store **ret_store, struct belfry_error *err);
/* Wrap one that somebody else opened and closes: `inner` is borrowed until the wrapper is
 * closed. */
BF_MUST_CHECK enum belfry_status bf_store_share(struct belfry_store *inner,
		struct bf_store **ret_store, struct belfry_error *err);
/* What is inside, borrowed: to hand it through a seam. */
struct belfry_store *bf_store_inner(struct bf_store *store);
BF_MUST_CHECK enum belfry_status bf_store_migrate(struct bf_store *store, struct belfry_error *err);
void bf_store_close(struct bf_store *store); /* NULL is fine */
BF_CLEANUP_POINTER(store, struct bf_store, bf_store_close)

const char *bf_store_name(const struct bf_store *store); /* the adapter's */
uint32_t bf_store_caps(const struct bf_store *store);    /* BELFRY_STORE_CAP_... */
bool bf_store_has_documents(const struct bf_store *store);
bool bf_store_has_switch(const struct bf_store *store);

/* --- counts and faults --- */

const char *bf_store_method_name(enum bf_store_method method);
/* Calls that reached the wrapper, and those that did not end with OK, CONFLICT, STALE, NOT_FOUND or
 * PRECONDITION: with those the store did its work. */
uint64_t bf_store_calls(const struct bf_store *store, enum bf_store_method method);
uint64_t bf_store_failures(const struct bf_store *store, enum bf_store_method method);

/* Fault points, borrowed. `before`: the call answers BELFRY_UNAVAILABLE, nothing was done. `after`:
 * it is carried out and then answers BELFRY_UNKNOWN; BELFRY_UNAVAILABLE where it only reads. */
struct bf_fault *bf_store_fault_before(struct bf_store *store);
struct bf_fault *bf_store_fault_after(struct bf_store *store);

/* --- operations --- */

BF_MUST_CHECK enum belfry_status bf_store_time(struct bf_store *store, belfry_time *ret_now,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_beat(struct bf_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_advance(struct bf_store *store,
		struct belfry_advance *advance, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_add_runs(struct bf_store *store, struct belfry_add *adds,
		size_t count, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_claim_runs(struct bf_store *store,
		struct belfry_claim *claim, struct belfry_arena *arena, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_record(struct bf_store *store,
		struct belfry_record *records, size_t count, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_prune(struct bf_store *store, struct belfry_prune *prune,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_list(struct bf_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_turn_switch(struct bf_store *store, bool is_on,
		struct belfry_error *err);
/* -1: this store has none, and is polled. */
int bf_store_wait_fd(struct bf_store *store);
void bf_store_drain(struct bf_store *store);

BF_MUST_CHECK enum belfry_status bf_store_document_get(struct bf_store *store,
		struct belfry_str kind, struct belfry_str id, struct belfry_str owner,
		struct belfry_str name, struct belfry_arena *arena,
		struct belfry_document *ret_document, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_document_put(struct bf_store *store,
		struct belfry_document *document, int64_t expect_etag, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_document_remove(struct bf_store *store,
		struct belfry_str kind, struct belfry_str id, int64_t expect_etag,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_document_list(struct bf_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_output_write(struct bf_store *store,
		const struct belfry_output *output, struct belfry_error *err);
BF_MUST_CHECK enum belfry_status bf_store_output_read(struct bf_store *store, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err);

#endif
