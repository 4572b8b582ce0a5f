/* Questions about deployments: one, many, and the shape in which they are answered. What the engine knows
 * (phase, next due time) is asked for all of a page in one read; a provider that cannot say leaves it to
 * the calendar. */
#include "base/error.h"
#include "host/backend.h"
#include "host/deployments_priv.h"
#include "host/host_priv.h"

#define LIST_MAX 200

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

static struct bf_deployment_state state_of(struct bf_host *host, const struct bf_deployment *d,
		const struct belfry_schedule_state *known)
{
	if (known == NULL || !known->is_known) {
		return state_by_calendar(host, d);
	}
	return (struct bf_deployment_state){
			.phase = known->phase,
			.phase_reason = known->phase_reason,
			.next_due = known->next_due,
	};
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
	enum belfry_status status = bf_backend_state(host->options.provider, ids, count, arena,
			ret_states, err);
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
	struct belfry_schedule_state *known = NULL;
	struct belfry_str id = bf_str(d->id);

	if (ask_states(host, &id, 1, &arena, &known, NULL) != BELFRY_OK) {
		known = NULL;
	}
	struct bf_deployment_state state = state_of(host, d, known);
	return fill_view(d, &state, ret_view, err);
}

enum belfry_status bf_deployments_show(struct bf_host *host, struct belfry_str id,
		struct bf_deployment_view *ret_view, struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	struct belfry_schedule_state *known = NULL;

	enum belfry_status status = bf_record_load(host, id, &d, err);
	if (status == BELFRY_OK) {
		status = ask_states(host, &id, 1, &arena, &known, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	struct bf_deployment_state state = state_of(host, &d, known);
	return fill_view(&d, &state, ret_view, err);
}

enum belfry_status bf_deployments_check_id(struct bf_host *host, struct belfry_str id,
		struct belfry_error *err)
{
	int64_t revision;

	return bf_record_get_revision(host, id, &revision, err);
}

/* --- cursors: the position (name, NUL, id) of the last one, in hexadecimal --- */

static void encode_cursor(const struct belfry_document *last, struct bf_buf *buf)
{
	static const char digits[] = "0123456789abcdef";
	const struct belfry_str parts[] = {last->name, BF_STR("\0"), last->id};

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

static enum belfry_status append_item(struct bf_host *host, const struct belfry_document *document,
		const struct belfry_schedule_state *known, json_t *items, struct belfry_error *err)
{
	BF_CLEANUP(bf_deployment_fini) struct bf_deployment d = {0};
	struct bf_deployment_view view;

	enum belfry_status status = bf_record_decode(host, document, &d, err);
	if (status != BELFRY_OK) {
		return status;
	}
	struct bf_deployment_state state = state_of(host, &d, known);
	status = fill_view(&d, &state, &view, err);
	if (status == BELFRY_OK && json_array_append_new(items, view.json) != 0) {
		status = bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	return status;
}

static enum belfry_status append_items(struct bf_host *host,
		const struct belfry_document *documents, size_t count, struct belfry_arena *arena,
		json_t *items, struct belfry_error *err)
{
	struct belfry_schedule_state *known = NULL;
	struct belfry_str ids[LIST_MAX];

	for (size_t i = 0; i < count; i++) {
		ids[i] = documents[i].id;
	}
	enum belfry_status status = ask_states(host, ids, count, arena, &known, err);
	for (size_t i = 0; i < count && status == BELFRY_OK; i++) {
		status = append_item(host, &documents[i], known != NULL ? &known[i] : NULL, items,
				err);
	}
	return status;
}

/* By its whole name: one or none. */
static enum belfry_status find_by_name(struct bf_host *host,
		const struct bf_deployment_query *query, struct belfry_document_query *found,
		struct belfry_arena *arena, struct belfry_error *err)
{
	struct belfry_document *document = belfry_arena_alloc(arena, sizeof(*document));

	if (document == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = bf_backend_find_document(host->options.store,
			BF_STR(BF_RECORD_KIND), BF_STR(BF_OWNER_DEFAULT), query->name, arena,
			document, err);
	if (status == BELFRY_NOT_FOUND) {
		return BELFRY_OK;
	}
	if (status == BELFRY_OK && (document->flags & found->flags_mask) == found->flags_value &&
			bf_str_starts_with(document->name, query->q)) {
		found->documents = document;
		found->count = 1;
	}
	return status;
}

static enum belfry_status find_documents(struct bf_host *host,
		const struct bf_deployment_query *query, struct belfry_document_query *found,
		struct belfry_arena *arena, struct belfry_error *err)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf position = {0};

	*found = (struct belfry_document_query){
			.size = sizeof(*found),
			.kind = BF_STR(BF_RECORD_KIND),
			.owner = BF_STR(BF_OWNER_DEFAULT),
			.name_prefix = query->q,
			.flags_mask = query->is_enabled_asked ? BF_RECORD_F_ENABLED : 0,
			.flags_value = query->is_enabled_asked && query->is_enabled
					? BF_RECORD_F_ENABLED
					: 0,
			.limit = (uint32_t)BF_MIN(BF_MAX(query->limit, 1), LIST_MAX),
	};
	if (query->name.len > 0) {
		return find_by_name(host, query, found, arena, err);
	}
	if (query->cursor.len > 0) {
		enum belfry_status status = decode_cursor(query->cursor, &position, found, err);
		if (status != BELFRY_OK) {
			return status;
		}
	}
	enum belfry_status status = bf_backend_list_documents(host->options.store, found, arena,
			err);
	found->after_name = found->after_id = (struct belfry_str){0}; /* they borrowed */
	return status;
}

static enum belfry_status write_list(const struct belfry_document_query *found, json_t *items,
		json_t **ret_list)
{
	BF_CLEANUP(bf_buf_fini) struct bf_buf cursor = {0};
	struct bf_json_writer writer;

	if (found->has_more && found->count > 0) {
		encode_cursor(&found->documents[found->count - 1], &cursor);
	}
	if (bf_buf_status(&cursor) != BELFRY_OK) {
		return BELFRY_NOMEM;
	}
	bf_json_writer_begin(&writer);
	bf_json_write_value(&writer, "items", json_incref(items));
	bf_json_write_str_or_null(&writer, "next_cursor", bf_buf_str(&cursor));
	return bf_json_writer_end(&writer, ret_list);
}

enum belfry_status bf_deployments_list(struct bf_host *host,
		const struct bf_deployment_query *query, json_t **ret_list,
		struct belfry_error *err)
{
	BF_CLEANUP(belfry_arena_fini) struct belfry_arena arena = BELFRY_ARENA_INIT;
	BF_CLEANUP(bf_cleanup_json) json_t *items = json_array();
	struct belfry_document_query found;

	if (items == NULL) {
		return bf_error_set(err, BELFRY_NOMEM, "out of memory");
	}
	enum belfry_status status = find_documents(host, query, &found, &arena, err);
	if (status == BELFRY_OK) {
		status = append_items(host, found.documents, BF_MIN(found.count, (size_t)LIST_MAX),
				&arena, items, err);
	}
	if (status != BELFRY_OK) {
		return status;
	}
	status = write_list(&found, items, ret_list);
	return status == BELFRY_OK ? status : bf_error_set(err, status, "out of memory");
}
