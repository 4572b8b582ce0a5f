/* The host's own records: in the same file as the schedules, one commit a call. */
#include "store-sqlite/output.h"
#include "store-sqlite/sqlite_priv.h"

#include <string.h>

#define NAME_END_BYTES ((size_t)200)

/* Columns of DOCUMENT_COLUMNS. */
static enum belfry_status read_document(sqlite3_stmt *row, struct belfry_arena *arena,
		struct belfry_document *ret_document)
{
	struct belfry_document document = {
			.flags = (uint64_t)bf_db_int(row, 4),
			.etag = bf_db_int(row, 5),
			.created_at = bf_db_int(row, 6),
			.updated_at = bf_db_int(row, 7),
	};
	const struct {
		int column;
		struct belfry_str *text;
	} texts[] = {{0, &document.kind}, {1, &document.id}, {2, &document.owner},
			{3, &document.name}, {8, &document.bytes}};

	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		enum belfry_status status = bf_db_text(row, texts[i].column, arena, texts[i].text);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	*ret_document = document;
	return BELFRY_OK;
}

static enum belfry_status get(struct belfry_store *base, struct belfry_str kind,
		struct belfry_str id, struct belfry_str owner, struct belfry_str name,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err)
{
	struct bf_sqlite *store = bf_sqlite_of(base);
	bool has_row = false;
	enum belfry_status status = bf_sqlite_read_begin(store, err);

	if (status != BELFRY_OK) {
		return status;
	}
	sqlite3_stmt *row = id.len > 0
			? bf_db_bind(&store->reader, BF_ST_DOCUMENT_BY_ID, bf_v_text(kind),
					  bf_v_text(id))
			: bf_db_bind(&store->reader, BF_ST_DOCUMENT_BY_NAME, bf_v_text(kind),
					  bf_v_text(owner), bf_v_text(name));
	status = bf_db_step(&store->reader, row, &has_row);
	if (status == BELFRY_OK && has_row) {
		status = read_document(row, arena, ret_document);
	}
	bf_db_reset(&row);
	status = bf_sqlite_read_end(store, status, err);
	return status == BELFRY_OK && !has_row
			? bf_error_set(err, BELFRY_NOT_FOUND, "%s",
					  belfry_status_text(BELFRY_NOT_FOUND))
			: status;
}

/* --- put --- */

struct put_call {
	struct belfry_document *document;
	int64_t expect_etag;
};

struct facts {
	int64_t etag; /* 0: there is none */
	belfry_time created_at;
};

static enum belfry_status find_facts(struct bf_db *db, struct belfry_str kind, struct belfry_str id,
		struct facts *ret_facts)
{
	BF_CLEANUP(bf_db_reset)
	sqlite3_stmt *row = bf_db_bind(db, BF_ST_DOCUMENT_FACTS, bf_v_text(kind), bf_v_text(id));
	bool has_row = false;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	*ret_facts = (struct facts){0};
	if (status == BELFRY_OK && has_row) {
		*ret_facts = (struct facts){bf_db_int(row, 0), bf_db_int(row, 1)};
	}
	return status;
}

/* The unique key on the name would refuse as well; asked first, so that the refusal has its name. */
static enum belfry_status judge_put(struct bf_db *db, const struct put_call *call,
		const struct facts *facts)
{
	const struct belfry_document *document = call->document;
	int64_t is_taken = 0;

	if (call->expect_etag == 0 && facts->etag != 0) {
		return BELFRY_CONFLICT;
	}
	if (call->expect_etag != 0 && facts->etag != call->expect_etag) {
		return BELFRY_PRECONDITION;
	}
	enum belfry_status status = bf_db_number(db, BF_ST_DOCUMENT_NAMED, 0, &is_taken,
			bf_v_text(document->kind), bf_v_text(document->owner),
			bf_v_text(document->name), bf_v_text(document->id));
	return status == BELFRY_OK && is_taken != 0 ? BELFRY_CONFLICT : status;
}

static enum belfry_status run_put(struct bf_sqlite *store, void *data)
{
	struct put_call *call = data;
	struct belfry_document *document = call->document;
	struct bf_db *db = &store->writer;
	struct facts facts;
	belfry_time now = bf_sqlite_now(store);
	enum belfry_status status = find_facts(db, document->kind, document->id, &facts);

	if (status == BELFRY_OK) {
		status = judge_put(db, call, &facts);
	}
	if (status == BELFRY_OK) {
		status = bf_db_run(db,
				facts.etag == 0 ? BF_ST_DOCUMENT_INSERT : BF_ST_DOCUMENT_UPDATE,
				bf_v_text(document->kind), bf_v_text(document->id),
				bf_v_text(document->owner), bf_v_text(document->name),
				bf_v_bits(document->flags), bf_v_int(now),
				bf_v_blob(document->bytes));
	}
	if (status == BELFRY_OK) {
		document->etag = facts.etag + 1;
		document->created_at = facts.etag == 0 ? now : facts.created_at;
		document->updated_at = now;
	}
	return status;
}

static enum belfry_status put(struct belfry_store *base, struct belfry_document *document,
		int64_t expect_etag, struct belfry_error *err)
{
	struct belfry_document work = *document;
	struct put_call call = {&work, expect_etag};
	enum belfry_status status = bf_sqlite_write(bf_sqlite_of(base), run_put, &call, err);

	if (status == BELFRY_OK) {
		document->etag = work.etag;
		document->created_at = work.created_at;
		document->updated_at = work.updated_at;
	}
	return status;
}

/* --- remove --- */

struct remove_call {
	struct belfry_str kind;
	struct belfry_str id;
	int64_t expect_etag;
};

static enum belfry_status run_remove(struct bf_sqlite *store, void *data)
{
	const struct remove_call *call = data;
	struct facts facts;
	enum belfry_status status = find_facts(&store->writer, call->kind, call->id, &facts);

	if (status != BELFRY_OK) {
		return status;
	}
	if (facts.etag == 0) {
		return BELFRY_NOT_FOUND;
	}
	if (call->expect_etag != 0 && call->expect_etag != facts.etag) {
		return BELFRY_PRECONDITION;
	}
	return bf_db_run(&store->writer, BF_ST_DOCUMENT_DELETE, bf_v_text(call->kind),
			bf_v_text(call->id));
}

static enum belfry_status remove_document(struct belfry_store *base, struct belfry_str kind,
		struct belfry_str id, int64_t expect_etag, struct belfry_error *err)
{
	struct remove_call call = {kind, id, expect_etag};

	return bf_sqlite_write(bf_sqlite_of(base), run_remove, &call, err);
}

/* --- list --- */

/* The place behind which an owner's list goes on: nothing where the owner comes later. */
static struct belfry_str position(const struct belfry_document_query *query, struct belfry_str text)
{
	bool counts = query->after_id.len > 0 &&
			(query->owner.len == 0 ||
					bf_str_compare(query->after_owner, query->owner) == 0);

	return counts ? text : BF_STR("");
}

/* Columns of DOCUMENTS_BRIEF. `kind` is the query's, in the arena. */
static enum belfry_status read_brief(sqlite3_stmt *row, struct belfry_str kind,
		struct belfry_arena *arena, struct belfry_document *ret_document)
{
	*ret_document = (struct belfry_document){
			.kind = kind,
			.flags = (uint64_t)bf_db_int(row, 1),
			.etag = bf_db_int(row, 2),
	};
	return bf_db_text(row, 0, arena, &ret_document->id);
}

static sqlite3_stmt *bind_brief(struct bf_db *db, const struct belfry_document_query *query)
{
	return bf_db_bind(db, BF_ST_DOCUMENTS_BRIEF, bf_v_text(query->kind),
			bf_v_text(query->after_id), bf_v_bits(query->flags_mask),
			bf_v_bits(query->flags_value), bf_v_int((int64_t)query->limit + 1));
}

/* The first name behind all that begin with `prefix`, so that a few of a million names are found without
 * reading them all. Bytes follow each other as names do; without a prefix a blob stands behind all text. */
static struct bf_value behind_prefix(struct belfry_str prefix, char end[NAME_END_BYTES])
{
	size_t len = BF_MIN(prefix.len, NAME_END_BYTES);

	if (len == 0) {
		return bf_v_blob(BF_STR(""));
	}
	memcpy(end, prefix.ptr, len);
	end[len - 1]++; /* no byte of UTF-8 is the largest */
	return bf_v_text((struct belfry_str){end, len});
}

static sqlite3_stmt *bind_list_of(struct bf_db *db, const struct belfry_document_query *query,
		char end[NAME_END_BYTES])
{
	struct belfry_str name = position(query, query->after_name);
	bool is_before = bf_str_compare(name, query->name_prefix) < 0;

	return bf_db_bind(db, BF_ST_DOCUMENTS_LIST_OF, bf_v_text(query->kind),
			bf_v_text(query->owner), bf_v_text(is_before ? query->name_prefix : name),
			bf_v_text(is_before ? BF_STR("") : position(query, query->after_id)),
			bf_v_bits(query->flags_mask), bf_v_bits(query->flags_value),
			bf_v_text(query->name_prefix), bf_v_int((int64_t)query->limit + 1),
			behind_prefix(query->name_prefix, end));
}

static sqlite3_stmt *bind_list(struct bf_db *db, const struct belfry_document_query *query)
{
	return bf_db_bind(db, BF_ST_DOCUMENTS_LIST, bf_v_text(query->kind),
			bf_v_text(position(query, query->after_owner)),
			bf_v_text(position(query, query->after_name)),
			bf_v_text(position(query, query->after_id)), bf_v_bits(query->flags_mask),
			bf_v_bits(query->flags_value), bf_v_text(query->name_prefix),
			bf_v_int((int64_t)query->limit + 1));
}

/* `end` is borrowed while the statement runs. */
static sqlite3_stmt *bind_query(struct bf_db *db, const struct belfry_document_query *query,
		char end[NAME_END_BYTES])
{
	if (query->is_brief) {
		return bind_brief(db, query);
	}
	return query->owner.len > 0 ? bind_list_of(db, query, end) : bind_list(db, query);
}

static enum belfry_status read_list(struct bf_db *db, struct belfry_document_query *query,
		struct belfry_arena *arena)
{
	char end[NAME_END_BYTES];
	BF_CLEANUP(bf_db_reset) sqlite3_stmt *row = bind_query(db, query, end);
	struct belfry_str kind;
	void *documents = NULL;
	size_t capacity = 0;
	bool has_row = true;
	enum belfry_status status = bf_db_step(db, row, &has_row);

	if (status == BELFRY_OK) {
		status = belfry_arena_copy(arena, query->kind, &kind);
	}
	while (status == BELFRY_OK && has_row) {
		if (query->count == query->limit) {
			query->has_more = true;
			break;
		}
		status = bf_sqlite_grow(arena, sizeof(*query->documents), query->count, &capacity,
				&documents);
		query->documents = documents;
		if (status == BELFRY_OK) {
			struct belfry_document *document = &query->documents[query->count++];
			status = query->is_brief ? read_brief(row, kind, arena, document)
						 : read_document(row, arena, document);
		}
		if (status == BELFRY_OK) {
			status = bf_db_step(db, row, &has_row);
		}
	}
	return status;
}

static enum belfry_status list(struct belfry_store *base, struct belfry_document_query *query,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct bf_sqlite *store = bf_sqlite_of(base);
	struct belfry_document_query work = *query;
	enum belfry_status status = bf_sqlite_read_begin(store, err);

	if (status != BELFRY_OK) {
		return status;
	}
	work.count = 0;
	work.has_more = false;
	work.documents = NULL;
	bool is_past = !query->is_brief && query->owner.len > 0 && query->after_id.len > 0 &&
			bf_str_compare(query->after_owner, query->owner) > 0;
	status = is_past ? BELFRY_OK : read_list(&store->reader, &work, arena);
	status = bf_sqlite_read_end(store, status, err);
	if (status == BELFRY_OK) {
		*query = work;
	}
	return status;
}

const struct belfry_document_ops bf_sqlite_document_ops = {
		.size = sizeof(struct belfry_document_ops),
		.get = get,
		.put = put,
		.remove = remove_document,
		.list = list,
		.write_output = bf_sqlite_write_output,
		.read_output = bf_sqlite_read_output,
};
