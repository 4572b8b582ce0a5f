/* The host's records and the output of Sessions. A store without a documents table skips these. */
#include <stdio.h>

#include "conformance/store_priv.h"

static const struct belfry_document_ops *documents(struct belfry_store_trial *trial)
{
	trial->is_skipped = trial->store->ops->documents == NULL;
	return trial->store->ops->documents;
}

static struct belfry_document make(const char *id, const char *owner, const char *name)
{
	return (struct belfry_document){.kind = bf_suite_str("deployment"),
			.id = bf_suite_str(id),
			.owner = bf_suite_str(owner),
			.name = bf_suite_str(name),
			.flags = 5,
			.bytes = {"bytes\0of it", 11}};
}

static enum belfry_status put(struct belfry_store_trial *trial, struct belfry_document *document,
		int64_t expect_etag)
{
	return trial->store->ops->documents->put(trial->store, document, expect_etag, NULL);
}

static enum belfry_status get(struct belfry_store_trial *trial, const char *id, const char *owner,
		const char *name, struct belfry_document *ret_document)
{
	return trial->store->ops->documents->get(trial->store, bf_suite_str("deployment"),
			bf_suite_str(id), bf_suite_str(owner), bf_suite_str(name), &trial->arena,
			ret_document, NULL);
}

static void a_document_comes_back_as_it_was_put(struct belfry_store_trial *trial)
{
	struct belfry_document document = make("d1", "ann", "nightly");
	struct belfry_document got;

	if (documents(trial) == NULL) {
		return;
	}
	REQUIRE(trial, put(trial, &document, 0) == BELFRY_OK);
	CHECK(trial, document.etag == 1 && document.created_at >= trial->start);
	CHECK(trial, document.updated_at == document.created_at);
	REQUIRE(trial, bf_suite_reopen(trial));
	REQUIRE(trial, get(trial, "d1", "", "", &got) == BELFRY_OK);
	CHECK(trial, bf_suite_is(got.kind, "deployment") && bf_suite_is(got.id, "d1"));
	CHECK(trial, bf_suite_is(got.owner, "ann") && bf_suite_is(got.name, "nightly"));
	CHECK(trial, got.flags == 5 && got.etag == 1);
	CHECK(trial, got.created_at == document.created_at);
	CHECK(trial, got.bytes.len == 11 && memcmp(got.bytes.ptr, "bytes\0of it", 11) == 0);
	REQUIRE(trial, get(trial, "", "ann", "nightly", &got) == BELFRY_OK);
	CHECK(trial, bf_suite_is(got.id, "d1"));
	CHECK(trial, get(trial, "d2", "", "", &got) == BELFRY_NOT_FOUND);
	CHECK(trial, get(trial, "", "bob", "nightly", &got) == BELFRY_NOT_FOUND);
}

static void the_etag_guards_a_put(struct belfry_store_trial *trial)
{
	struct belfry_document document = make("d1", "ann", "nightly");

	if (documents(trial) == NULL) {
		return;
	}
	CHECK(trial, put(trial, &document, 1) == BELFRY_PRECONDITION);
	REQUIRE(trial, put(trial, &document, 0) == BELFRY_OK);
	belfry_time created_at = document.created_at;
	CHECK(trial, put(trial, &document, 0) == BELFRY_CONFLICT);
	CHECK(trial, put(trial, &document, 2) == BELFRY_PRECONDITION);
	document.bytes = bf_suite_str("second");
	REQUIRE(trial, put(trial, &document, 1) == BELFRY_OK);
	CHECK(trial, document.etag == 2 && document.created_at == created_at);
	CHECK(trial, put(trial, &document, 1) == BELFRY_PRECONDITION);
	struct belfry_document got;
	REQUIRE(trial, get(trial, "d1", "", "", &got) == BELFRY_OK);
	CHECK(trial, bf_suite_is(got.bytes, "second"));
}

static void a_name_is_given_once(struct belfry_store_trial *trial)
{
	struct belfry_document first = make("d1", "ann", "nightly");
	struct belfry_document same_name = make("d2", "ann", "nightly");
	struct belfry_document other_owner = make("d3", "bob", "nightly");
	struct belfry_document no_name = make("d4", "ann", "");
	struct belfry_document no_name_too = make("d5", "ann", "");

	if (documents(trial) == NULL) {
		return;
	}
	REQUIRE(trial, put(trial, &first, 0) == BELFRY_OK);
	CHECK(trial, put(trial, &same_name, 0) == BELFRY_CONFLICT);
	CHECK(trial, put(trial, &other_owner, 0) == BELFRY_OK);
	CHECK(trial, put(trial, &no_name, 0) == BELFRY_OK);
	CHECK(trial, put(trial, &no_name_too, 0) == BELFRY_OK);
	no_name.name = bf_suite_str("nightly");
	CHECK(trial, put(trial, &no_name, 1) == BELFRY_CONFLICT);
	first.name = bf_suite_str("daily");
	REQUIRE(trial, put(trial, &first, 1) == BELFRY_OK);
	CHECK(trial, put(trial, &no_name, 1) == BELFRY_OK);
}

static void a_document_is_removed_once(struct belfry_store_trial *trial)
{
	struct belfry_document document = make("d1", "ann", "nightly");
	const struct belfry_document_ops *ops = documents(trial);
	struct belfry_str kind = bf_suite_str("deployment");

	if (ops == NULL) {
		return;
	}
	CHECK(trial,
			ops->remove(trial->store, kind, bf_suite_str("d1"), 0, NULL) ==
					BELFRY_NOT_FOUND);
	REQUIRE(trial, put(trial, &document, 0) == BELFRY_OK);
	CHECK(trial,
			ops->remove(trial->store, kind, bf_suite_str("d1"), 7, NULL) ==
					BELFRY_PRECONDITION);
	CHECK(trial, ops->remove(trial->store, kind, bf_suite_str("d1"), 1, NULL) == BELFRY_OK);
	CHECK(trial,
			ops->remove(trial->store, kind, bf_suite_str("d1"), 0, NULL) ==
					BELFRY_NOT_FOUND);
	CHECK(trial, put(trial, &document, 0) == BELFRY_OK && document.etag == 1);
}

static void documents_are_listed_page_by_page(struct belfry_store_trial *trial)
{
	const struct belfry_document_ops *ops = documents(trial);
	static const char *const rows[][3] = {{"d3", "bob", "a"}, {"d1", "ann", "b"},
			{"d2", "ann", "a"}, {"d4", "ann", "ab"}};
	struct belfry_document_query query = {.size = sizeof(query),
			.kind = bf_suite_str("deployment"),
			.limit = 3};

	if (ops == NULL) {
		return;
	}
	for (size_t i = 0; i < 4; i++) {
		struct belfry_document document = make(rows[i][0], rows[i][1], rows[i][2]);
		document.flags = i;
		CHECK(trial, put(trial, &document, 0) == BELFRY_OK);
	}
	struct belfry_document setting = make("s1", "ann", "a");
	setting.kind = bf_suite_str("setting");
	CHECK(trial, put(trial, &setting, 0) == BELFRY_OK);
	REQUIRE(trial, ops->list(trial->store, &query, &trial->arena, NULL) == BELFRY_OK);
	REQUIRE(trial, query.count == 3 && query.has_more);
	CHECK(trial, bf_suite_is(query.documents[0].id, "d2"));
	CHECK(trial, bf_suite_is(query.documents[1].id, "d4"));
	CHECK(trial, bf_suite_is(query.documents[2].id, "d1"));
	query.after_owner = query.documents[2].owner;
	query.after_name = query.documents[2].name;
	query.after_id = query.documents[2].id;
	REQUIRE(trial, ops->list(trial->store, &query, &trial->arena, NULL) == BELFRY_OK);
	CHECK(trial, query.count == 1 && !query.has_more);
	query = (struct belfry_document_query){.size = sizeof(query),
			.kind = bf_suite_str("deployment"),
			.owner = bf_suite_str("ann"),
			.name_prefix = bf_suite_str("a"),
			.limit = 9};
	REQUIRE(trial, ops->list(trial->store, &query, &trial->arena, NULL) == BELFRY_OK);
	CHECK(trial, query.count == 2 && !query.has_more);
	query.flags_mask = 1;
	query.flags_value = 1;
	REQUIRE(trial, ops->list(trial->store, &query, &trial->arena, NULL) == BELFRY_OK);
	CHECK(trial, query.count == 1 && bf_suite_is(query.documents[0].id, "d4"));
}

static void records_are_compared_in_the_order_of_ids(struct belfry_store_trial *trial)
{
	const struct belfry_document_ops *ops = documents(trial);
	static const char *const rows[][3] = {{"d3", "bob", "a"}, {"d1", "ann", "b"},
			{"d2", "ann", ""}, {"d4", "ann", "c"}};
	struct belfry_document_query query = {.size = sizeof(query),
			.kind = bf_suite_str("deployment"),
			.flags_mask = 4,
			.limit = 2,
			.is_brief = true};

	if (ops == NULL) {
		return;
	}
	for (size_t i = 0; i < 4; i++) {
		struct belfry_document document = make(rows[i][0], rows[i][1], rows[i][2]);
		document.flags = i < 3 ? i : 4;
		CHECK(trial, put(trial, &document, 0) == BELFRY_OK);
		CHECK(trial, i != 1 || put(trial, &document, 1) == BELFRY_OK);
	}
	struct belfry_document setting = make("d0", "ann", "a");
	setting.kind = bf_suite_str("setting");
	CHECK(trial, put(trial, &setting, 0) == BELFRY_OK);
	REQUIRE(trial, ops->list(trial->store, &query, &trial->arena, NULL) == BELFRY_OK);
	REQUIRE(trial, query.count == 2 && query.has_more);
	CHECK(trial, bf_suite_is(query.documents[0].id, "d1") && query.documents[0].etag == 2);
	CHECK(trial, query.documents[0].flags == 1 && query.documents[0].bytes.len == 0);
	CHECK(trial, bf_suite_is(query.documents[1].id, "d2") && query.documents[1].etag == 1);
	query.after_id = query.documents[1].id;
	REQUIRE(trial, ops->list(trial->store, &query, &trial->arena, NULL) == BELFRY_OK);
	CHECK(trial, query.count == 1 && !query.has_more);
	CHECK(trial, bf_suite_is(query.documents[0].id, "d3"));
}

static enum belfry_status write_output(struct belfry_store_trial *trial, belfry_fence fence,
		uint64_t offset, const char *bytes)
{
	struct belfry_output output = {.size = sizeof(output),
			.run = bf_suite_request_id(trial, 1),
			.fence = fence,
			.offset = offset,
			.content_type = bf_suite_str("text/plain"),
			.bytes = bf_suite_str(bytes)};

	return trial->store->ops->documents->write_output(trial->store, &output, NULL);
}

static bool output_is(struct belfry_store_trial *trial, const char *wanted)
{
	struct belfry_str type = {0};
	struct belfry_str bytes = {0};
	uint64_t length = 0;

	return trial->store->ops->documents->read_output(trial->store,
			       bf_suite_request_id(trial, 1), 0, 999, &trial->arena, &type, &bytes,
			       &length, NULL) == BELFRY_OK &&
			bf_suite_is(bytes, wanted) && length == strlen(wanted);
}

static void output_is_written_piece_by_piece(struct belfry_store_trial *trial)
{
	const struct belfry_document_ops *ops = documents(trial);
	struct belfry_str type = {0};
	struct belfry_str bytes = {0};
	uint64_t length = 0;

	if (ops == NULL) {
		return;
	}
	CHECK(trial, write_output(trial, 5, 1, "x") == BELFRY_PRECONDITION);
	REQUIRE(trial, write_output(trial, 5, 0, "one ") == BELFRY_OK);
	REQUIRE(trial, write_output(trial, 5, 4, "two ") == BELFRY_OK);
	REQUIRE(trial, write_output(trial, 5, 8, "three") == BELFRY_OK);
	CHECK(trial, output_is(trial, "one two three"));
	CHECK(trial, write_output(trial, 5, 14, "x") == BELFRY_PRECONDITION);
	/* The same again, and from the middle of each piece on. */
	REQUIRE(trial, write_output(trial, 5, 8, "three") == BELFRY_OK);
	CHECK(trial, output_is(trial, "one two three"));
	REQUIRE(trial,
			ops->read_output(trial->store, bf_suite_request_id(trial, 1), 2, 8,
					&trial->arena, &type, &bytes, &length, NULL) == BELFRY_OK);
	CHECK(trial, bf_suite_is(bytes, "e two th") && length == 13);
	REQUIRE(trial, write_output(trial, 5, 6, "ast") == BELFRY_OK);
	CHECK(trial, output_is(trial, "one twast"));
	REQUIRE(trial, write_output(trial, 5, 2, "") == BELFRY_OK);
	CHECK(trial, output_is(trial, "on"));
	REQUIRE(trial, write_output(trial, 5, 0, "anew") == BELFRY_OK);
	CHECK(trial, output_is(trial, "anew"));
	REQUIRE(trial, bf_suite_reopen(trial));
	REQUIRE(trial, write_output(trial, 5, 4, ", too") == BELFRY_OK);
	CHECK(trial, output_is(trial, "anew, too"));
}

static void output_of_a_lower_fence_is_refused(struct belfry_store_trial *trial)
{
	if (documents(trial) == NULL) {
		return;
	}
	REQUIRE(trial, write_output(trial, 7, 0, "old") == BELFRY_OK);
	REQUIRE(trial, write_output(trial, 8, 0, "new") == BELFRY_OK);
	CHECK(trial, write_output(trial, 7, 3, " late") == BELFRY_STALE);
	CHECK(trial, write_output(trial, 7, 0, "late") == BELFRY_STALE);
	CHECK(trial, output_is(trial, "new"));
	REQUIRE(trial, write_output(trial, 9, 3, "er") == BELFRY_OK);
	CHECK(trial, write_output(trial, 8, 0, "late") == BELFRY_STALE);
	CHECK(trial, output_is(trial, "newer"));
}

static void output_is_read_in_pieces(struct belfry_store_trial *trial)
{
	const struct belfry_document_ops *ops = documents(trial);
	struct belfry_id run = bf_suite_request_id(trial, 1);
	struct belfry_str type = {0};
	struct belfry_str bytes = {0};
	uint64_t length = 0;

	if (ops == NULL) {
		return;
	}
	CHECK(trial,
			ops->read_output(trial->store, run, 0, 9, &trial->arena, &type, &bytes,
					&length, NULL) == BELFRY_NOT_FOUND);
	struct belfry_output output = {.size = sizeof(output),
			.run = run,
			.fence = 1,
			.content_type = bf_suite_str("text/html"),
			.bytes = bf_suite_str("0123456789")};
	REQUIRE(trial, write_output(trial, 1, 0, "old") == BELFRY_OK);
	REQUIRE(trial, ops->write_output(trial->store, &output, NULL) == BELFRY_OK);
	REQUIRE(trial,
			ops->read_output(trial->store, run, 2, 3, &trial->arena, &type, &bytes,
					&length, NULL) == BELFRY_OK);
	CHECK(trial, bf_suite_is(type, "text/html") && bf_suite_is(bytes, "234"));
	CHECK(trial, length == 10);
	REQUIRE(trial,
			ops->read_output(trial->store, run, 8, 99, &trial->arena, &type, &bytes,
					&length, NULL) == BELFRY_OK);
	CHECK(trial, bf_suite_is(bytes, "89"));
	REQUIRE(trial,
			ops->read_output(trial->store, run, 50, 9, &trial->arena, &type, &bytes,
					&length, NULL) == BELFRY_OK);
	CHECK(trial, bytes.len == 0 && length == 10);
}

const struct belfry_store_case bf_suite_documents[] = {
		{"a_document_comes_back_as_it_was_put", a_document_comes_back_as_it_was_put},
		{"the_etag_guards_a_put", the_etag_guards_a_put},
		{"a_name_is_given_once", a_name_is_given_once},
		{"a_document_is_removed_once", a_document_is_removed_once},
		{"documents_are_listed_page_by_page", documents_are_listed_page_by_page},
		{"records_are_compared_in_the_order_of_ids",
				records_are_compared_in_the_order_of_ids},
		{"output_is_read_in_pieces", output_is_read_in_pieces},
		{"output_is_written_piece_by_piece", output_is_written_piece_by_piece},
		{"output_of_a_lower_fence_is_refused", output_of_a_lower_fence_is_refused},
		{NULL, NULL},
};
