/* The host's records and the output of Sessions. Each is one document in either mode. */
#include "store/memory/memory_priv.h"

static struct mem_document *find_by_id(const struct mem_db *db, struct belfry_str kind,
		struct belfry_str id)
{
	struct mem_node *node = mem_tree_find(&db->documents,
			&(struct mem_key){.text = {kind, id}});

	return node != NULL ? BF_CONTAINER(node, struct mem_document, by_id) : NULL;
}

static struct mem_document *find_by_name(const struct mem_db *db, struct belfry_str kind,
		struct belfry_str owner, struct belfry_str name)
{
	struct mem_node *node = mem_tree_find_from(&db->document_names,
			&(struct mem_key){.text = {kind, owner, name}});

	if (node == NULL) {
		return NULL;
	}
	struct mem_document *row = BF_CONTAINER(node, struct mem_document, by_name);
	bool is_it = bf_str_equal(row->document.kind, kind) &&
			bf_str_equal(row->document.owner, owner) &&
			bf_str_equal(row->document.name, name);
	return is_it ? row : NULL;
}

static enum belfry_status copy_document(const struct belfry_document *from,
		struct belfry_arena *arena, struct belfry_document *ret_document)
{
	struct belfry_document copy = *from;
	struct belfry_str *texts[] = {&copy.kind, &copy.id, &copy.owner, &copy.name, &copy.bytes};

	for (size_t i = 0; i < BF_COUNT(texts); i++) {
		if (belfry_arena_copy(arena, *texts[i], texts[i]) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	*ret_document = copy;
	return BELFRY_OK;
}

static enum belfry_status document_get(struct belfry_store *store, struct belfry_str kind,
		struct belfry_str id, struct belfry_str owner, struct belfry_str name,
		struct belfry_arena *arena, struct belfry_document *ret_document,
		struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	const struct mem_document *row = id.len > 0 ? find_by_id(db, kind, id)
						    : find_by_name(db, kind, owner, name);

	(void)err;
	return row != NULL ? copy_document(&row->document, arena, ret_document) : BELFRY_NOT_FOUND;
}

static enum belfry_status document_new(const struct belfry_document *document,
		struct mem_document **ret_row)
{
	struct mem_document *row = bf_alloc(sizeof(*row));

	if (row == NULL) {
		return BELFRY_NOMEM;
	}
	row->document.flags = document->flags;
	if (mem_text_copy(&row->document.kind, document->kind) != BELFRY_OK ||
			mem_text_copy(&row->document.id, document->id) != BELFRY_OK ||
			mem_text_copy(&row->document.owner, document->owner) != BELFRY_OK ||
			mem_text_copy(&row->document.name, document->name) != BELFRY_OK ||
			mem_text_copy(&row->document.bytes, document->bytes) != BELFRY_OK) {
		mem_document_free(row);
		return BELFRY_NOMEM;
	}
	*ret_row = row;
	return BELFRY_OK;
}

static void unlink_document(struct mem_db *db, struct mem_document *row)
{
	mem_tree_remove(&db->documents, &row->by_id);
	mem_tree_remove(&db->document_names, &row->by_name);
}

static enum belfry_status judge_put(const struct mem_db *db, const struct mem_document *old,
		const struct belfry_document *document, int64_t expect_etag)
{
	if (expect_etag == 0 && old != NULL) {
		return BELFRY_CONFLICT;
	}
	if (expect_etag != 0 && (old == NULL || old->document.etag != expect_etag)) {
		return BELFRY_PRECONDITION;
	}
	if (document->name.len == 0) {
		return BELFRY_OK;
	}
	const struct mem_document *named = find_by_name(db, document->kind, document->owner,
			document->name);
	return named != NULL && named != old ? BELFRY_CONFLICT : BELFRY_OK;
}

static enum belfry_status document_put(struct belfry_store *store, struct belfry_document *document,
		int64_t expect_etag, struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	struct mem_document *old = find_by_id(db, document->kind, document->id);
	struct mem_document *row;
	enum belfry_status status = judge_put(db, old, document, expect_etag);

	(void)err;
	if (status == BELFRY_OK) {
		status = document_new(document, &row);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	row->document.updated_at = mem_now(db);
	row->document.created_at = old != NULL ? old->document.created_at
					       : row->document.updated_at;
	row->document.etag = expect_etag + 1;
	if (old != NULL) {
		unlink_document(db, old);
		mem_document_free(old);
	}
	BF_ASSERT(mem_tree_put(&db->documents, &row->by_id));
	BF_ASSERT(mem_tree_put(&db->document_names, &row->by_name));
	document->etag = row->document.etag;
	document->created_at = row->document.created_at;
	document->updated_at = row->document.updated_at;
	return mem_step(db, "document: put");
}

static enum belfry_status document_remove(struct belfry_store *store, struct belfry_str kind,
		struct belfry_str id, int64_t expect_etag, struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	struct mem_document *row = find_by_id(db, kind, id);

	(void)err;
	if (row == NULL) {
		return BELFRY_NOT_FOUND;
	}
	if (expect_etag != 0 && row->document.etag != expect_etag) {
		return BELFRY_PRECONDITION;
	}
	unlink_document(db, row);
	mem_document_free(row);
	return mem_step(db, "document: removed");
}

static bool is_wanted(const struct belfry_document_query *query,
		const struct belfry_document *document)
{
	bool is_named = query->is_brief ||
			((query->owner.len == 0 || bf_str_equal(document->owner, query->owner)) &&
					bf_str_starts_with(document->name, query->name_prefix));

	return is_named && (document->flags & query->flags_mask) == query->flags_value;
}

/* The first document that may be wanted: behind the position, else of the owner. */
static struct mem_node *first_document(const struct mem_db *db,
		const struct belfry_document_query *query)
{
	struct mem_key key = {.text = {query->kind, query->after_owner, query->after_name,
					      query->after_id}};

	if (query->after_id.len > 0) {
		key.sequence = 1;
	} else {
		key = (struct mem_key){.text = {query->kind, query->owner}};
	}
	return mem_tree_find_from(&db->document_names, &key);
}

static enum belfry_status append_brief(struct belfry_document_query *query,
		const struct belfry_document *document, struct belfry_arena *arena)
{
	struct belfry_document *brief = &query->documents[query->count++];

	*brief = (struct belfry_document){.flags = document->flags, .etag = document->etag};
	enum belfry_status status = belfry_arena_copy(arena, document->kind, &brief->kind);
	return status == BELFRY_OK ? belfry_arena_copy(arena, document->id, &brief->id) : status;
}

/* What the two orders differ in. */
static struct mem_node *first_of(const struct mem_db *db, const struct belfry_document_query *query)
{
	struct mem_key key = {.text = {query->kind, query->after_id},
			.sequence = query->after_id.len > 0};

	return query->is_brief ? mem_tree_find_from(&db->documents, &key)
			       : first_document(db, query);
}

static const struct belfry_document *document_at(const struct belfry_document_query *query,
		struct mem_node *node)
{
	const struct mem_document *row = query->is_brief
			? BF_CONTAINER(node, struct mem_document, by_id)
			: BF_CONTAINER(node, struct mem_document, by_name);

	return &row->document;
}

static enum belfry_status append_wanted(struct belfry_document_query *query,
		const struct belfry_document *document, struct belfry_arena *arena)
{
	if (query->count >= query->limit) {
		query->has_more = true;
		return BELFRY_OK;
	}
	return query->is_brief ? append_brief(query, document, arena)
			       : copy_document(document, arena, &query->documents[query->count++]);
}

static enum belfry_status document_list(struct belfry_store *store,
		struct belfry_document_query *query, struct belfry_arena *arena,
		struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);

	(void)err;
	query->count = 0;
	query->has_more = false;
	query->documents = belfry_arena_alloc(arena,
			BF_MIN(mem_tree_count(&db->document_names), (size_t)query->limit) *
					sizeof(*query->documents));
	if (query->documents == NULL) {
		return BELFRY_NOMEM;
	}
	for (struct mem_node *node = first_of(db, query); node != NULL && !query->has_more;
			node = mem_tree_next(node)) {
		const struct belfry_document *document = document_at(query, node);
		if (!bf_str_equal(document->kind, query->kind)) {
			break;
		}
		if (is_wanted(query, document) &&
				append_wanted(query, document, arena) != BELFRY_OK) {
			return BELFRY_NOMEM;
		}
	}
	return BELFRY_OK;
}

/* What is kept of the old bytes, and the new ones behind it; owned by the caller. */
static enum belfry_status join(const struct mem_output *old, const struct belfry_output *output,
		struct belfry_str *ret_bytes)
{
	struct bf_buf joined = {0};

	if (old != NULL) {
		bf_buf_append_str(&joined, bf_str_slice(old->bytes, 0, (size_t)output->offset));
	}
	bf_buf_append_str(&joined, output->bytes);
	enum belfry_status status = bf_buf_status(&joined);
	if (status == BELFRY_OK) {
		status = mem_text_copy(ret_bytes, bf_buf_str(&joined));
	}
	bf_buf_fini(&joined);
	return status;
}

static enum belfry_status write_output(struct belfry_store *store,
		const struct belfry_output *output, struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	struct mem_node *node = mem_tree_find(&db->outputs, &(struct mem_key){.id = output->run});
	struct mem_output *old = node != NULL ? BF_CONTAINER(node, struct mem_output, by_run)
					      : NULL;

	(void)err;
	if (old != NULL && old->fence > output->fence) {
		return BELFRY_STALE;
	}
	if (output->offset > (old != NULL ? old->bytes.len : 0)) {
		return BELFRY_PRECONDITION;
	}
	struct mem_output *row = bf_alloc(sizeof(*row));
	if (row == NULL || mem_text_copy(&row->content_type, output->content_type) != BELFRY_OK ||
			join(old, output, &row->bytes) != BELFRY_OK) {
		mem_output_free(row);
		return BELFRY_NOMEM;
	}
	row->run = output->run;
	row->fence = output->fence;
	if (old != NULL) {
		mem_tree_remove(&db->outputs, node);
		mem_output_free(old);
	}
	BF_ASSERT(mem_tree_put(&db->outputs, &row->by_run));
	return BELFRY_OK;
}

static enum belfry_status read_output(struct belfry_store *store, struct belfry_id run,
		uint64_t offset, size_t max, struct belfry_arena *arena,
		struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
		uint64_t *ret_length, struct belfry_error *err)
{
	BF_CLEANUP(mem_leave) struct mem_db *db = mem_enter(store);
	struct mem_node *node = mem_tree_find(&db->outputs, &(struct mem_key){.id = run});

	(void)err;
	if (node == NULL) {
		return BELFRY_NOT_FOUND;
	}
	const struct mem_output *row = BF_CONTAINER(node, struct mem_output, by_run);
	size_t from = (size_t)BF_MIN(offset, (uint64_t)row->bytes.len);
	size_t len = BF_MIN(max, row->bytes.len - from);
	if (belfry_arena_copy(arena, row->content_type, ret_content_type) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	*ret_length = row->bytes.len;
	return belfry_arena_copy(arena, bf_str_slice(row->bytes, from, from + len), ret_bytes);
}

const struct belfry_document_ops mem_document_ops = {
		.size = sizeof(struct belfry_document_ops),
		.get = document_get,
		.put = document_put,
		.remove = document_remove,
		.list = document_list,
		.write_output = write_output,
		.read_output = read_output,
};
