/* The host's own records behind a small seam: a repository of documents, and the output of Sessions.
 * A store adapter offers it beside its method table (belfry_store_ops.documents).
 *
 * A document is (kind, id) with an owner, a name that is unique for (kind, owner), and bytes that the
 * store does not read. Each call is one commit, durable when it answers, except output (below).
 * Threads, answers, blocking and ownership are those of store.h. Since 0.1. */
#ifndef BELFRY_DOCUMENTS_H
#define BELFRY_DOCUMENTS_H

#include <belfry/store.h>

BELFRY_BEGIN_DECLS

struct belfry_document {
	struct belfry_str kind;  /* "deployment", "setting": the host's word, 1 to 32 bytes */
	struct belfry_str id;    /* 1 to 64 bytes */
	struct belfry_str owner; /* may be empty */
	struct belfry_str
			name; /* unique for (kind, owner) where it is not empty; 200 bytes at most */
	uint64_t flags;       /* the host's own bits; `list` can ask for some of them */
	int64_t etag;         /* rises by one with each put, from 1 */
	belfry_time created_at;
	belfry_time updated_at;
	struct belfry_str bytes;
};

struct belfry_document_query {
	size_t size;
	struct belfry_str kind;
	struct belfry_str owner;       /* empty: all owners */
	struct belfry_str name_prefix; /* empty: all names */
	uint64_t flags_mask;           /* only documents with (flags & mask) == flags_value */
	uint64_t flags_value;
	struct belfry_str
			after_owner; /* position of the last one returned, in the order (owner, name, id) */
	struct belfry_str after_name;
	struct belfry_str after_id;
	uint32_t limit;
	/* In the order of ids, of all owners, behind `after_id`; of each kind, id, flags and etag alone.
	 * `owner`, `name_prefix` and the other positions are not looked at. For whoever compares a million
	 * records with something: nothing of their content is read. */
	bool is_brief;
	/* answers */
	struct belfry_document *documents;
	size_t count;
	bool has_more;
};

/* One write of a Run's output. What is there up to `offset` stays, `bytes` follow, and what was behind is
 * gone: the same write twice leaves the same, and one at 0 begins anew. */
struct belfry_output {
	size_t size;
	struct belfry_id run;
	belfry_fence fence; /* of the attempt that wrote it */
	uint64_t offset;
	struct belfry_str content_type;
	struct belfry_str bytes;
};

struct belfry_document_ops {
	size_t size;
	/* One by (kind, id), or where id is empty by (kind, owner, name). BELFRY_NOT_FOUND. */
	enum belfry_status (*get)(struct belfry_store *store, struct belfry_str kind,
			struct belfry_str id, struct belfry_str owner, struct belfry_str name,
			struct belfry_arena *arena, struct belfry_document *ret_document,
			struct belfry_error *err);
	/* Insert (expect_etag 0) or replace. Writes the new etag and times into *document.
	 * BELFRY_PRECONDITION: another etag, or there is none; BELFRY_CONFLICT: the name is taken, or
	 * with expect_etag 0 the id is. */
	enum belfry_status (*put)(struct belfry_store *store, struct belfry_document *document,
			int64_t expect_etag, struct belfry_error *err);
	/* expect_etag 0: whatever it is. BELFRY_NOT_FOUND, BELFRY_PRECONDITION. */
	enum belfry_status (*remove)(struct belfry_store *store, struct belfry_str kind,
			struct belfry_str id, int64_t expect_etag, struct belfry_error *err);
	/* In the order (owner, name, id); is_brief: by id. */
	enum belfry_status (*list)(struct belfry_store *store, struct belfry_document_query *query,
			struct belfry_arena *arena, struct belfry_error *err);

	/* The output of a Session, by the Run's id: bytes that may be lost in a power cut (they are
	 * not synced), but not in a crash of the process. Each write is atomic.
	 * write: BELFRY_STALE: somebody with a higher fence has written; BELFRY_PRECONDITION: there are
	 * fewer bytes than `offset`. Either changes nothing.
	 * read: bytes [offset, offset + max) and the whole length; BELFRY_NOT_FOUND. */
	enum belfry_status (*write_output)(struct belfry_store *store,
			const struct belfry_output *output, struct belfry_error *err);
	enum belfry_status (*read_output)(struct belfry_store *store, struct belfry_id run,
			uint64_t offset, size_t max, struct belfry_arena *arena,
			struct belfry_str *ret_content_type, struct belfry_str *ret_bytes,
			uint64_t *ret_length, struct belfry_error *err);
};

BELFRY_END_DECLS

#endif
