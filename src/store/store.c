/* The wrapper around a store's method table: the only caller of its methods.
 *
 * Every operation goes the same way: check the arguments, count, pass the fault point before, call,
 * pass the fault point after, verify the answer, and on anything but BELFRY_OK clear the answer, so
 * that nobody reads what was not answered. The rules are in store_table.c, store_check.c and
 * store_verify.c. */
#include "store/store.h"

#include <stdatomic.h>

#include "base/alloc.h"
#include "store/store_priv.h"

struct bf_store {
	struct belfry_store *inner;
	bool is_shared;              /* somebody else closes inner */
	struct belfry_store_ops ops; /* a copy; methods that the table is too short for are NULL */
	struct belfry_document_ops documents;
	struct bf_fault before;
	struct bf_fault after;
	atomic_ullong calls[BF_STORE_METHOD_COUNT];
	atomic_ullong failures[BF_STORE_METHOD_COUNT];
};

/* --- life --- */

/* Puts a checked store into a new wrapper. */
static enum belfry_status wrapper_new(struct belfry_store *inner, bool is_shared,
		struct bf_store **ret_store, struct belfry_error *err)
{
	struct bf_store *store = bf_alloc(sizeof(*store));

	if (store == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "%s", belfry_status_text(BELFRY_NOMEM));
	}
	store->inner = inner;
	store->is_shared = is_shared;
	bf_store_copy_ops(&store->ops, inner->ops);
	if (store->ops.documents != NULL) {
		store->documents = *store->ops.documents;
	}
	*ret_store = store;
	return BELFRY_OK;
}

/* Closes what was taken and could not be wrapped, if its table can be believed that far. */
static void close_taken(struct belfry_store *taken)
{
	const struct belfry_store_ops *ops = taken->ops;

	if (ops != NULL && ops->seams_abi == BELFRY_SEAMS_ABI &&
			ops->size >= BF_STORE_REQUIRED_SIZE && ops->close != NULL) {
		ops->close(taken);
	}
}

enum belfry_status bf_store_wrap(struct belfry_store **inner, struct bf_store **ret_store,
		struct belfry_error *err)
{
	struct belfry_store *taken = BF_TAKE(*inner);

	if (taken == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "store: there is none to wrap");
	}
	enum belfry_status status = bf_store_check_ops(taken->ops, err);
	if (status == BELFRY_OK) {
		status = wrapper_new(taken, false, ret_store, err);
	}
	if (status != BELFRY_OK) {
		close_taken(taken);
	}
	return status;
}

enum belfry_status bf_store_share(struct belfry_store *inner, struct bf_store **ret_store,
		struct belfry_error *err)
{
	enum belfry_status status = bf_store_check_ops(inner != NULL ? inner->ops : NULL, err);

	return status == BELFRY_OK ? wrapper_new(inner, true, ret_store, err) : status;
}

struct belfry_store *bf_store_inner(struct bf_store *store)
{
	return store->inner;
}

/* Adapters may leave err alone: whoever reads it finds the status's own sentence at least. */
static enum belfry_status explain(enum belfry_status status, struct belfry_error *err)
{
	if ((unsigned)status >= BELFRY_STATUS_COUNT) {
		return bf_error_system(err, BELFRY_CORRUPT, 0, "the store answered status %u",
				(unsigned)status);
	}
	if (status != BELFRY_OK && err != NULL && err->status != status) {
		return bf_error_set(err, status, "%s", belfry_status_text(status));
	}
	return status;
}

enum belfry_status bf_store_open(const struct belfry_store_ops *ops,
		const struct belfry_store_options *options, struct bf_store **ret_store,
		struct belfry_error *err)
{
	struct belfry_store *inner = NULL;
	struct belfry_store_options copy = *options;
	enum belfry_status status = bf_store_check_ops(ops, err);

	if (status != BELFRY_OK) {
		return status;
	}
	copy.size = sizeof(copy);
	copy.timeout = copy.timeout != 0 ? copy.timeout : 10 * BELFRY_SECOND;
	status = explain(ops->open(&copy, &inner, err), err);
	if (status != BELFRY_OK) {
		return status;
	}
	if (inner == NULL || inner->ops != ops) {
		return bf_error_system(err, BELFRY_CORRUPT, 0,
				"store %s: open answered something that is not its own", ops->name);
	}
	return bf_store_wrap(&inner, ret_store, err);
}

enum belfry_status bf_store_migrate(struct bf_store *store, struct belfry_error *err)
{
	return explain(store->ops.migrate(store->inner, err), err);
}

void bf_store_close(struct bf_store *store)
{
	if (store == NULL) {
		return;
	}
	if (!store->is_shared) {
		store->ops.close(store->inner);
	}
	bf_free(store);
}

const char *bf_store_name(const struct bf_store *store)
{
	return store->ops.name;
}

uint32_t bf_store_caps(const struct bf_store *store)
{
	return store->ops.caps;
}

bool bf_store_has_documents(const struct bf_store *store)
{
	return store->ops.documents != NULL;
}

bool bf_store_has_switch(const struct bf_store *store)
{
	return store->ops.turn_switch != NULL;
}

/* --- counts and faults --- */

const char *bf_store_method_name(enum bf_store_method method)
{
	static const char *const names[] = {"time", "beat", "advance", "add_runs", "claim_runs",
			"record", "prune", "list", "turn_switch", "documents", "output"};

	return (unsigned)method < BF_COUNT(names) ? names[method] : "?";
}

uint64_t bf_store_calls(const struct bf_store *store, enum bf_store_method method)
{
	return atomic_load(&store->calls[method]);
}

uint64_t bf_store_failures(const struct bf_store *store, enum bf_store_method method)
{
	return atomic_load(&store->failures[method]);
}

struct bf_fault *bf_store_fault_before(struct bf_store *store)
{
	return &store->before;
}

struct bf_fault *bf_store_fault_after(struct bf_store *store)
{
	return &store->after;
}

/* --- one call --- */

/* What goes the same way for every operation. */
struct call {
	struct bf_store *store;
	enum bf_store_method method;
	bool is_write;
	struct belfry_error *err;
};

static bool is_failure(enum belfry_status status)
{
	return status != BELFRY_OK && status != BELFRY_CONFLICT && status != BELFRY_STALE &&
			status != BELFRY_NOT_FOUND && status != BELFRY_PRECONDITION;
}

/* The end of a call whose arguments were wrong, too. */
static enum belfry_status finish(const struct call *call, enum belfry_status status)
{
	if (is_failure(status)) {
		(void)atomic_fetch_add(&call->store->failures[call->method], 1);
	}
	return explain(status, call->err);
}

/* `status` is what the argument check said. BELFRY_OK: go on and call the adapter. */
static enum belfry_status begin(const struct call *call, enum belfry_status status)
{
	if (call->err != NULL) {
		call->err->status = status; /* no word of an earlier failure stays */
	}
	(void)atomic_fetch_add(&call->store->calls[call->method], 1);
	if (status == BELFRY_OK && bf_fault_hit(&call->store->before)) {
		status = BELFRY_UNAVAILABLE;
	}
	return status;
}

/* `status` is the adapter's; `is_believable` whether its answer can be. */
static enum belfry_status end(const struct call *call, enum belfry_status status,
		bool is_believable)
{
	if (status == BELFRY_OK && !is_believable) {
		return bf_error_system(call->err, BELFRY_CORRUPT, 0,
				"store %s: the answer of %s cannot be", call->store->ops.name,
				bf_store_method_name(call->method));
	}
	if (status == BELFRY_OK && bf_fault_hit(&call->store->after)) {
		return call->is_write ? BELFRY_UNKNOWN : BELFRY_UNAVAILABLE;
	}
	return status;
}

enum belfry_status bf_store_time(struct bf_store *store, belfry_time *ret_now,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_TIME, false, err};
	belfry_time now = 0;
	enum belfry_status status = begin(&call, BELFRY_OK);

	if (status == BELFRY_OK) {
		status = store->ops.time(store->inner, &now, err);
		status = end(&call, status, now > 0);
	}
	if (status == BELFRY_OK) {
		*ret_now = now;
	}
	return finish(&call, status);
}

static void clear_beat(struct belfry_beat *beat, enum belfry_status status)
{
	if (status != BELFRY_OK && status != BELFRY_CONFLICT) {
		beat->now = 0;
		beat->beat = 0;
	}
	if (status != BELFRY_OK) {
		beat->living = NULL;
		beat->living_count = 0;
		beat->cancelled = NULL;
		beat->cancelled_count = 0;
	}
}

enum belfry_status bf_store_beat(struct bf_store *store, struct belfry_beat *beat,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct call call = {store, BF_STORE_BEAT, true, err};
	enum belfry_status status = begin(&call, bf_check_beat(beat, err));

	beat->size = sizeof(*beat);
	clear_beat(beat, BELFRY_UNAVAILABLE);
	if (status == BELFRY_OK) {
		status = store->ops.beat(store->inner, beat, arena, err);
		status = end(&call, status, bf_verify_beat(beat));
	}
	clear_beat(beat, status);
	return finish(&call, status);
}

static void clear_advance(struct belfry_advance *advance)
{
	advance->now = 0;
	advance->fence = 0;
	for (size_t i = 0; i < advance->item_count; i++) {
		struct belfry_advance_item *item = &advance->items[i];
		item->result = BELFRY_CONFLICT;
		item->version = 0;
		for (size_t j = 0; j < item->run_count; j++) {
			item->runs[j].is_inserted = false;
		}
	}
}

enum belfry_status bf_store_advance(struct bf_store *store, struct belfry_advance *advance,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_ADVANCE, true, err};
	enum belfry_status status = begin(&call, bf_check_advance(advance, err));

	if (status == BELFRY_OK) {
		advance->size = sizeof(*advance);
		clear_advance(advance);
		status = store->ops.advance(store->inner, advance, err);
		status = end(&call, status, bf_verify_advance(advance));
		if (status != BELFRY_OK) {
			clear_advance(advance);
		}
	}
	return finish(&call, status);
}

static void clear_adds(struct belfry_add *adds, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		adds[i].result = BELFRY_CONFLICT;
		adds[i].existing = (struct belfry_id){0};
		adds[i].is_new = false;
	}
}

enum belfry_status bf_store_add_runs(struct bf_store *store, struct belfry_add *adds, size_t count,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_ADD_RUNS, true, err};
	enum belfry_status status = begin(&call, bf_check_adds(adds, count, err));

	if (status == BELFRY_OK) {
		clear_adds(adds, count);
		status = store->ops.add_runs(store->inner, adds, count, err);
		status = end(&call, status, bf_verify_adds(adds, count));
		if (status != BELFRY_OK) {
			clear_adds(adds, count);
		}
	}
	return finish(&call, status);
}

static void clear_claim(struct belfry_claim *claim)
{
	claim->now = 0;
	claim->runs = NULL;
	claim->run_count = 0;
	claim->is_short = false;
	claim->next_ready = BELFRY_TIME_NEVER;
}

enum belfry_status bf_store_claim_runs(struct bf_store *store, struct belfry_claim *claim,
		struct belfry_arena *arena, struct belfry_error *err)
{
	bool is_write = claim->kind != BELFRY_CLAIM_OWNED;
	struct call call = {store, BF_STORE_CLAIM_RUNS, is_write, err};
	enum belfry_status status = begin(&call, bf_check_claim(claim, err));

	claim->size = sizeof(*claim);
	clear_claim(claim);
	if (status == BELFRY_OK) {
		status = store->ops.claim_runs(store->inner, claim, arena, err);
		status = end(&call, status, bf_verify_claim(claim));
	}
	if (status != BELFRY_OK) {
		clear_claim(claim);
	}
	return finish(&call, status);
}

static void clear_records(struct belfry_record *records, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		records[i].result = BELFRY_UNKNOWN;
		records[i].is_again = false;
	}
}

enum belfry_status bf_store_record(struct bf_store *store, struct belfry_record *records,
		size_t count, struct belfry_error *err)
{
	struct call call = {store, BF_STORE_RECORD, true, err};
	enum belfry_status status = begin(&call, bf_check_records(records, count, err));

	if (status == BELFRY_OK) {
		clear_records(records, count);
		status = store->ops.record(store->inner, records, count, err);
		status = end(&call, status, bf_verify_records(records, count));
		if (status != BELFRY_OK) {
			clear_records(records, count);
		}
	}
	return finish(&call, status);
}

enum belfry_status bf_store_prune(struct bf_store *store, struct belfry_prune *prune,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_PRUNE, true, err};
	enum belfry_status status = begin(&call, bf_check_prune(prune, err));

	prune->size = sizeof(*prune);
	if (status == BELFRY_OK) {
		status = store->ops.prune(store->inner, prune, err);
		status = end(&call, status, bf_verify_prune(prune));
	}
	if (status != BELFRY_OK) {
		prune->removed = 0;
		prune->next = prune->after;
		prune->is_done = false;
	}
	return finish(&call, status);
}

static void clear_list(struct belfry_list *list)
{
	list->now = 0;
	list->count = 0;
	list->has_more = false;
	list->next_due = BELFRY_TIME_NEVER;
	list->history_from = 0;
	list->rows = NULL;
	list->runs = NULL;
	list->invocations = NULL;
	list->attempts = NULL;
	list->gaps = NULL;
	list->incarnations = NULL;
	list->counts = NULL;
}

enum belfry_status bf_store_list(struct bf_store *store, struct belfry_list *list,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct call call = {store, BF_STORE_LIST, false, err};
	enum belfry_status status = begin(&call, bf_check_list(list, err));

	list->size = sizeof(*list);
	list->limit = list->limit != 0 ? list->limit : BF_STORE_LIST_LIMIT;
	clear_list(list);
	if (status == BELFRY_OK) {
		status = store->ops.list(store->inner, list, arena, err);
		status = end(&call, status, bf_verify_list(list));
	}
	if (status != BELFRY_OK) {
		clear_list(list);
	}
	return finish(&call, status);
}

enum belfry_status bf_store_turn_switch(struct bf_store *store, bool is_on,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_TURN_SWITCH, true, err};
	enum belfry_status status = begin(&call, BELFRY_OK);

	if (store->ops.turn_switch == NULL) {
		status = bf_error_set(err, BELFRY_CANNOT, "this store cannot pause everything");
	}
	if (status == BELFRY_OK) {
		status = store->ops.turn_switch(store->inner, is_on, err);
		status = end(&call, status, true);
	}
	return finish(&call, status);
}

int bf_store_wait_fd(struct bf_store *store)
{
	return store->ops.wait_fd != NULL ? store->ops.wait_fd(store->inner) : -1;
}

void bf_store_drain(struct bf_store *store)
{
	if (store->ops.drain != NULL) {
		store->ops.drain(store->inner);
	}
}

/* --- documents --- */

static enum belfry_status begin_documents(const struct call *call, enum belfry_status status)
{
	if (call->store->ops.documents == NULL) {
		return begin(call,
				bf_error_set(call->err, BELFRY_CANNOT,
						"this store keeps no documents"));
	}
	return begin(call, status);
}

enum belfry_status bf_store_document_get(struct bf_store *store, struct belfry_str kind,
		struct belfry_str id, struct belfry_str owner, struct belfry_str name,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_DOCUMENTS, false, err};
	struct belfry_document document = {0};
	enum belfry_status status = begin_documents(&call,
			bf_check_document_key(kind, id.len > 0 ? id : name, err));

	if (status == BELFRY_OK) {
		status = store->documents.get(store->inner, kind, id, owner, name, arena, &document,
				err);
		status = end(&call, status, bf_verify_document(&document, kind));
	}
	if (status == BELFRY_OK) {
		*ret_document = document;
	}
	return finish(&call, status);
}

enum belfry_status bf_store_document_put(struct bf_store *store, struct belfry_document *document,
		int64_t expect_etag, struct belfry_error *err)
{
	struct call call = {store, BF_STORE_DOCUMENTS, true, err};
	struct belfry_document copy = *document;
	enum belfry_status status = begin_documents(&call,
			bf_check_document(document, expect_etag, err));

	if (status == BELFRY_OK) {
		status = store->documents.put(store->inner, &copy, expect_etag, err);
		status = end(&call, status, copy.etag == expect_etag + 1 && copy.created_at > 0);
	}
	if (status == BELFRY_OK) {
		document->etag = copy.etag;
		document->created_at = copy.created_at;
		document->updated_at = copy.updated_at;
	}
	return finish(&call, status);
}

enum belfry_status bf_store_document_remove(struct bf_store *store, struct belfry_str kind,
		struct belfry_str id, int64_t expect_etag, struct belfry_error *err)
{
	struct call call = {store, BF_STORE_DOCUMENTS, true, err};
	enum belfry_status status = begin_documents(&call, bf_check_document_key(kind, id, err));

	if (status == BELFRY_OK) {
		status = store->documents.remove(store->inner, kind, id, expect_etag, err);
		status = end(&call, status, true);
	}
	return finish(&call, status);
}

static void clear_query(struct belfry_document_query *query)
{
	query->documents = NULL;
	query->count = 0;
	query->has_more = false;
}

enum belfry_status bf_store_document_list(struct bf_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_DOCUMENTS, false, err};
	enum belfry_status status = begin_documents(&call,
			bf_check_document_key(query->kind, query->kind, err));

	query->size = sizeof(*query);
	query->limit = query->limit != 0 ? query->limit : BF_STORE_LIST_LIMIT;
	clear_query(query);
	if (status == BELFRY_OK) {
		status = store->documents.list(store->inner, query, arena, err);
		status = end(&call, status, bf_verify_documents(query));
	}
	if (status != BELFRY_OK) {
		clear_query(query);
	}
	return finish(&call, status);
}

static enum belfry_status check_run_id(struct belfry_id run, struct belfry_error *err)
{
	return bf_id_is_zero(run) ? bf_error_set(err, BELFRY_INVALID, "output: no Run is named")
				  : BELFRY_OK;
}

static enum belfry_status check_output(const struct belfry_output *output, struct belfry_error *err)
{
	if (output->bytes.len > 0 && output->bytes.ptr == NULL) {
		return bf_error_set(err, BELFRY_INVALID, "output: bytes are missing");
	}
	if (output->offset > INT64_MAX - output->bytes.len || output->fence > INT64_MAX) {
		return bf_error_set(err, BELFRY_INVALID,
				"output: the place or the fence is out of range");
	}
	return check_run_id(output->run, err);
}

enum belfry_status bf_store_output_write(struct bf_store *store, const struct belfry_output *output,
		struct belfry_error *err)
{
	struct call call = {store, BF_STORE_OUTPUT, true, err};
	struct belfry_output copy = *output;
	enum belfry_status status = begin_documents(&call, check_output(output, err));

	copy.size = sizeof(copy);
	if (status == BELFRY_OK) {
		status = store->documents.write_output(store->inner, &copy, err);
		status = end(&call, status, true);
	}
	return finish(&call, status);
}

enum belfry_status bf_store_output_read(struct bf_store *store, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err)
{
	struct call call = {store, BF_STORE_OUTPUT, false, err};
	struct belfry_str content_type = {0};
	struct belfry_str bytes = {0};
	uint64_t length = 0;
	enum belfry_status status = begin_documents(&call, check_run_id(run, err));

	if (status == BELFRY_OK) {
		status = store->documents.read_output(store->inner, run, offset, max, arena,
				&content_type, &bytes, &length, err);
		status = end(&call, status,
				bytes.len <= max && bytes.len <= length &&
						(bytes.len == 0 || bytes.ptr != NULL) &&
						(content_type.len == 0 ||
								content_type.ptr != NULL));
	}
	if (status == BELFRY_OK) {
		*ret_content_type = content_type;
		*ret_bytes = bytes;
		*ret_length = length;
	}
	return finish(&call, status);
}
