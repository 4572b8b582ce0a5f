/* Questions about deployments: one, many, and the shape in which they are answered. What the
 * engine knows (phase, next due time) is asked for all of a page in one read; a provider that
 * cannot say leaves it to the calendar. */
#include "base/error.h"
#include "host/backend.h"
#include "host/deployments_priv.h"
#include "host/host_priv.h"

#define LIST_MAX   200
#define PART_FIRST 8 /* rows of the first part: how large they are is not known yet */
#define PART_ROWS  25
#define PAGE_BYTES ((size_t)8 * 1024 * 1024)

/* Of an enabled deployment, by its rule alone. */
static struct bf_deployment_state state_by_calendar(struct bf_host *host,
		const struct bf_deployment *d)
{
	struct bf_deployment_state state = {.next_due = BELFRY_TIME_NEVER};
	belfry_time now = host->options.env->wall(host->options.env->data);
	struct belfry_rule *rule = NULL;
	belfry_time due;

	if (!d->is_enabled ||
			bf_deployment_parse_rule(d, host->options.zones, &rule, NULL) !=
					BELFRY_OK) {
		return state;
	}
	if (belfry_rule_next(rule, now, &due) == BELFRY_OK) {
		state.next_due = due;
	}
	belfry_rule_free(rule);
	return state;
}

/* `reason` holds what the answer borrows; there may be one already. What the last reconcile could not hand
 * over does not fire, unless the engine has an earlier revision of it, which goes on. */
static struct bf_deployment_state state_of(struct bf_host *host, const struct bf_deployment *d,
		const struct belfry_schedule_state *known, struct bf_buf *reason)
{
	struct bf_deployment_state state = {.next_due = BELFRY_TIME_NEVER};
	bool is_known = known != NULL && known->is_known;

	if (reason->len == 0) {
		bf_refusals_get(&host->refusals, bf_str(d->id), d->revision, reason);
	}
	if (is_known) {
		state.phase = known->phase;
		state.phase_reason = known->phase_reason;
		state.next_due = known->next_due;
	} else if (reason->len > 0) {
		state.phase = BELFRY_PHASE_QUARANTINED;
		state.phase_reason = bf_buf_str(reason);
	} else {
		state = state_by_calendar(host, d);
	}
	state.last_error = bf_buf_str(reason);
	return state;
}

static enum belfry_status fill_view(const struct bf_deployment *d,
		const struct bf_deployment_state *state, struct bf_deployment_view *ret_view,
		struct belfry_error *err)
{
	struct bf_deployment_view view = {.revision = d->revision};

	if (bf_deployment_write(d, state, &view.json) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	memcpy(view.id, d->id, sizeof(view.id));
	*ret_view = view;
	return BELFRY_OK;
}

/* *ret_states is NULL where the provider has no such method. */
static enum belfry_status ask_states(struct bf_host *host, const struct belfry_str *ids,
		size_t count, struct belfry_arena *arena, struct belfry_schedule_state **ret_states,
		struct belfry_error *err)
{
	*ret_states = NULL;
	if (count == 0) {
		return BELFRY_OK;
	}
	enum belfry_status status = belfry_scheduler_state(host->options.scheduler, ids, count,
			arena, ret_states, err);
	if (status == BELFRY_CANNOT) {
		*ret_states = NULL;
		return BELFRY_OK;
	}
	return status;
}

enum belfry_status bf_deployment_view_changed(struct bf_host *host, const struct bf_deployment *d,
		struct bf_deployment_view *ret_view, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf reason = {0};
	struct belfry_schedule_state *known = NULL;
	struct belfry_str id = bf_str(d->id);

	if (ask_states(host, &id, 1, &arena, &known, NULL) != BELFRY_OK) {
		known = NULL;
	}
	struct bf_deployment_state state = state_of(host, d, known, &reason);
	return fill_view(d, &state, ret_view, err);
}

/* One whose content cannot be read is shown all the same, with what the record says beside the
 * content, and the reason as last_error: so that it can be found, and removed or saved anew. It borrows
 * from the document. */
static enum belfry_status decode_to_show(struct bf_host *host,
		const struct belfry_document *document, struct bf_deployment *ret_deployment,
		struct bf_buf *reason, struct belfry_error *err)
{
	enum belfry_status status = bf_record_decode(host, document, ret_deployment, err);

	if (status != BELFRY_CORRUPT || document->id.len >= sizeof(ret_deployment->id)) {
		return status;
	}
	bf_deployment_fini(ret_deployment);
	*ret_deployment = (struct bf_deployment){
			.revision = document->etag,
			.created_at = document->created_at,
			.updated_at = document->updated_at,
			.name = document->name,
			.is_enabled = (document->flags & BF_RECORD_F_ENABLED) != 0,
			.policies = BELFRY_POLICIES_INIT,
	};
	memcpy(ret_deployment->id, document->id.ptr, document->id.len);
	bf_buf_append_text(reason, belfry_status_text(status));
	return BELFRY_OK;
}

enum belfry_status bf_deployments_show(struct bf_host *host, struct belfry_str id,
		struct bf_deployment_view *ret_view, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_buf_fini) struct bf_buf reason = {0};
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	struct belfry_document document;
	struct belfry_schedule_state *known = NULL;

	enum belfry_status status = bf_record_get(host, id, &arena, &document, err);
	if (status == BELFRY_OK) {
		status = decode_to_show(host, &document, &d, &reason, err);
	}
	if (status == BELFRY_OK) {
		status = ask_states(host, &id, 1, &arena, &known, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	struct bf_deployment_state state = state_of(host, &d, known, &reason);
	return fill_view(&d, &state, ret_view, err);
}

enum belfry_status bf_deployments_check_id(struct bf_host *host, struct belfry_str id,
		struct belfry_error *err)
{
	int64_t revision;

	return bf_record_get_revision(host, id, &revision, err);
}

enum belfry_status bf_deployments_get_revision(struct bf_host *host, struct belfry_str id,
		int64_t *ret_revision, struct belfry_error *err)
{
	return bf_record_get_revision(host, id, ret_revision, err);
}

/* --- cursors: the position (name, NUL, id) of the last one, in hexadecimal --- */

static void encode_cursor(struct belfry_str name, struct belfry_str id, struct bf_buf *buf)
{
	static const char digits[] = "0123456789abcdef";
	const struct belfry_str parts[] = {name, BF_STR("\0"), id};

	for (size_t i = 0; i < BF_COUNT(parts); i++) {
		for (size_t j = 0; j < parts[i].len; j++) {
			unsigned char byte = (unsigned char)parts[i].ptr[j];
			bf_buf_append_byte(buf, digits[byte >> 4]);
			bf_buf_append_byte(buf, digits[byte & 15]);
		}
	}
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9') {
		return c - '0';
	}
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool decode_hex(struct belfry_str text, struct bf_buf *bytes)
{
	for (size_t i = 0; i + 1 < text.len; i += 2) {
		int high = hex_value(text.ptr[i]);
		int low = hex_value(text.ptr[i + 1]);
		if (high < 0 || low < 0) {
			return false;
		}
		bf_buf_append_byte(bytes, (char)(unsigned char)(high << 4 | low));
	}
	return text.len % 2 == 0 && bf_buf_status(bytes) == BELFRY_OK;
}

/* `bytes` holds what the query's position borrows. */
static enum belfry_status decode_cursor(struct belfry_str cursor, struct bf_buf *bytes,
		struct belfry_document_query *query, struct belfry_error *err)
{
	const char *end = NULL;

	if (decode_hex(cursor, bytes) && bytes->len > 0) {
		end = memchr(bytes->ptr, '\0', bytes->len);
	}
	if (end == NULL) {
		return bf_error_set(err, BELFRY_INVALID,
				"cursor: it is not one that an earlier list gave as next_cursor");
	}
	size_t name_len = (size_t)(end - bytes->ptr);
	query->after_owner = BF_STR(BF_OWNER_DEFAULT);
	query->after_name = bf_str_slice(bf_buf_str(bytes), 0, name_len);
	query->after_id = bf_str_slice(bf_buf_str(bytes), name_len + 1, bytes->len);
	return BELFRY_OK;
}

/* --- lists --- */

static bool has_label(const struct bf_deployment *d, const struct bf_deployment_query *query)
{
	const char *key;
	json_t *value;

	if (query->label_name.len == 0) {
		return true;
	}
	/* jansson iterates without changing; its macro wants the object writable. */
	json_object_foreach((json_t *)(uintptr_t)d->labels, key, value)
	{
		if (bf_str_equal(bf_str(key), query->label_name)) {
			return bf_str_equal(bf_json_str(value), query->label_value);
		}
	}
	return false;
}

static enum belfry_status append_item(struct bf_host *host, const struct bf_deployment_query *query,
		const struct belfry_document *document, const struct belfry_schedule_state *known,
		json_t *items, struct belfry_error *err)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	BF_CLEANUP(bf_buf_fini) struct bf_buf reason = {0};
	struct bf_deployment_view view;

	enum belfry_status status = decode_to_show(host, document, &d, &reason, err);
	if (status != BELFRY_OK || !has_label(&d, query)) {
		return status;
	}
	struct bf_deployment_state state = state_of(host, &d, known, &reason);
	status = fill_view(&d, &state, &view, err);
	if (status == BELFRY_OK && json_array_append_new(items, view.json) != 0) {
		status = bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return status;
}

static enum belfry_status append_items(struct bf_host *host,
		const struct bf_deployment_query *query, const struct belfry_document *documents,
		size_t count, struct belfry_arena *arena, json_t *items, struct belfry_error *err)
{
	struct belfry_schedule_state *known = NULL;
	struct belfry_str ids[LIST_MAX];

	for (size_t i = 0; i < count; i++) {
		ids[i] = documents[i].id;
	}
	enum belfry_status status = ask_states(host, ids, count, arena, &known, err);
	for (size_t i = 0; i < count && status == BELFRY_OK; i++) {
		status = append_item(host, query, &documents[i], known != NULL ? &known[i] : NULL,
				items, err);
	}
	return status;
}

/* By its whole name: one or none. */
static enum belfry_status list_by_name(struct bf_host *host,
		const struct bf_deployment_query *query, const struct belfry_document_query *found,
		json_t *items, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	struct belfry_document document;

	enum belfry_status status = bf_backend_find_document(host->options.store, found->kind,
			found->owner, query->name, &arena, &document, err);
	if (status == BELFRY_NOT_FOUND) {
		return BELFRY_OK;
	}
	if (status != BELFRY_OK || (document.flags & found->flags_mask) != found->flags_value ||
			!bf_str_starts_with(document.name, query->q)) {
		return status;
	}
	return append_items(host, query, &document, 1, &arena, items, err);
}

/* Reads part after part, so that a page of large deployments does not fill the memory: it ends early
 * once PAGE_BYTES were read, and says that there is more. */
struct page {
	struct belfry_arena arenas[2]; /* by turns: a part's position lies in the one before it */
	unsigned turn;
	size_t count;
	size_t bytes;
};

static void page_fini(struct page *page)
{
	belfry_arena_fini(&page->arenas[0]);
	belfry_arena_fini(&page->arenas[1]);
}

/* As many as the page has room for, if they are like those before. */
static size_t part_rows(const struct page *page, size_t limit)
{
	size_t left = limit - page->count;

	if (page->count == 0) {
		return BF_MIN(left, PART_FIRST);
	}
	size_t each = page->bytes / page->count + 1;
	return BF_MIN(left, BF_MIN(PART_ROWS, (PAGE_BYTES - page->bytes) / each + 1));
}

static enum belfry_status append_part(struct bf_host *host, const struct bf_deployment_query *query,
		struct page *page, size_t limit, struct belfry_document_query *found, json_t *items,
		struct belfry_error *err)
{
	struct belfry_arena *arena = &page->arenas[page->turn++ % 2];

	belfry_arena_reset(arena);
	found->limit = (uint32_t)part_rows(page, limit);
	enum belfry_status status = bf_backend_list_documents(host->options.store, found, arena,
			err);
	size_t count = BF_MIN(found->count, (size_t)found->limit);
	if (status == BELFRY_OK) {
		status = append_items(host, query, found->documents, count, arena, items, err);
	}
	if (status != BELFRY_OK || count == 0) {
		found->has_more = false;
		return status;
	}
	for (size_t i = 0; i < count; i++) {
		page->bytes += found->documents[i].bytes.len;
	}
	page->count = json_array_size(items);
	found->after_owner = found->documents[count - 1].owner;
	found->after_name = found->documents[count - 1].name;
	found->after_id = found->documents[count - 1].id;
	return BELFRY_OK;
}

/* *cursor: of the next page; empty at the end. */
static enum belfry_status list_page(struct bf_host *host, const struct bf_deployment_query *query,
		struct belfry_document_query *found, json_t *items, struct bf_buf *cursor,
		struct belfry_error *err)
{
	BF_CLEANUP(page_fini) struct page page = {.arenas = {BELFRY_ARENA_INIT, BELFRY_ARENA_INIT}};
	BF_CLEANUP(bf_buf_fini) struct bf_buf position = {0};
	size_t limit = (size_t)BF_MIN(BF_MAX(query->limit, 1), LIST_MAX);
	enum belfry_status status = BELFRY_OK;

	if (query->cursor.len > 0) {
		status = decode_cursor(query->cursor, &position, found, err);
	}
	found->has_more = true;
	while (status == BELFRY_OK && found->has_more && page.count < limit &&
			page.bytes < PAGE_BYTES) {
		status = append_part(host, query, &page, limit, found, items, err);
	}
	if (status == BELFRY_OK && found->has_more) {
		encode_cursor(found->after_name, found->after_id, cursor);
		status = bf_buf_status(cursor);
	}
	return status;
}

static enum belfry_status write_list(json_t *items, struct belfry_str cursor, json_t **ret_list,
		struct belfry_error *err)
{
	struct bf_json_writer writer;

	bf_json_writer_begin(&writer);
	bf_json_write_value(&writer, "items", json_incref(items));
	bf_json_write_str_or_null(&writer, "next_cursor", cursor);
	if (bf_json_writer_end(&writer, ret_list) != BELFRY_OK) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return BELFRY_OK;
}

enum belfry_status bf_deployments_list(struct bf_host *host,
		const struct bf_deployment_query *query, json_t **ret_list,
		struct belfry_error *err)
{
	BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();
	BF_CLEANUP(bf_buf_fini) struct bf_buf cursor = {0};
	uint64_t wanted = query->is_enabled ? BF_RECORD_F_ENABLED : 0;
	struct belfry_document_query found = {
			.size = sizeof(found),
			.kind = BF_STR(BF_RECORD_KIND),
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.name_prefix = query->q,
			.flags_mask = BF_RECORD_F_GOING |
					(query->is_enabled_asked ? BF_RECORD_F_ENABLED : 0),
			.flags_value = query->is_enabled_asked ? wanted : 0,
	};

	if (items == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = query->name.len > 0
			? list_by_name(host, query, &found, items, err)
			: list_page(host, query, &found, items, &cursor, err);
	return status == BELFRY_OK ? write_list(items, bf_buf_str(&cursor), ret_list, err) : status;
}
